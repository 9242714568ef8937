//! Who wrote something: feeds name people in elements of their own, or in one text with name and address.

use super::markup::Element;

/// Somebody.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Person {
    pub(super) name: String,
    pub(super) email: String,
    pub(super) url: String,
}

impl Person {
    /// What people call the person.
    pub(super) fn shown(&self) -> &str {
        if self.name.is_empty() { &self.email } else { &self.name }
    }
}

/// The person that an element names.
pub(super) fn of(element: &Element<'_>) -> Person {
    if !element.has_children() {
        return named(&element.text());
    }
    let mut person = Person::default();
    for child in element.children() {
        let text = child.text();
        match child.name.rsplit(':').next().unwrap_or_default() {
            "name" => person.name = text,
            "email" => person.email = text,
            "uri" | "url" | "homepage" => person.url = child.scope.address(&text),
            _ => {}
        }
    }
    // Some names have the address in them.
    let in_name = named(&person.name);
    if person.email.is_empty() && !in_name.email.is_empty() {
        (person.name, person.email) = (in_name.name, in_name.email);
    }
    person
}

/// The person in a text such as `name (a@b)`, `name <a@b>`, `a@b (name)` or `a@b`.
pub(super) fn named(text: &str) -> Person {
    let is_around = |c: char| c.is_whitespace() || "()<>[],;\"".contains(c);
    let is_address = |word: &str| {
        word.split_once('@')
            .is_some_and(|(user, host)| !user.is_empty() && host.contains('.') && !host.contains('@'))
    };
    let words = || text.split(is_around).map(|word| word.strip_prefix("mailto:").unwrap_or(word));
    let Some(email) = words().find(|word| is_address(word)) else {
        return Person { name: text.trim().to_owned(), ..Person::default() };
    };
    let rest = text.replacen(&format!("mailto:{email}"), "", 1).replacen(email, "", 1);
    let rest = rest.replace("()", "").replace("<>", "").replace("[]", "");
    let name = rest.trim_matches(is_around).split_whitespace().collect::<Vec<_>>().join(" ");
    Person { name, email: email.to_owned(), url: String::new() }
}

#[cfg(test)]
mod tests {
    use super::named;

    #[test]
    fn names_and_addresses_are_told_apart() {
        for (text, name, email) in [
            ("Ann B (a@b.c)", "Ann B", "a@b.c"),
            ("Ann B <a@b.c>", "Ann B", "a@b.c"),
            ("a@b.c (Ann B)", "Ann B", "a@b.c"),
            ("\"Ann B\" <mailto:a@b.c>", "Ann B", "a@b.c"),
            ("a@b.c", "", "a@b.c"),
            ("Ann (B)", "Ann (B)", ""),
            ("me @ home", "me @ home", ""),
        ] {
            let person = named(text);
            assert_eq!((person.name.as_str(), person.email.as_str()), (name, email), "{text}");
        }
    }
}
