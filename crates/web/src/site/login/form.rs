//! Forms of a page, as far as filling one in takes: where it is sent, and what it says of its fields. The page is read for nothing else
//! here, so a few dozen lines stand for a reader of HTML.

use ingather_model::limits::{WEB_FORM_FIELDS_MAX, WEB_FORMS_MAX};
use quick_xml::escape;

/// A form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Form {
    /// Where it is sent; the page itself when it does not say.
    pub(super) action: Option<String>,
    /// Whether it is sent in a body: otherwise it is sent as an address, which is no place for secrets.
    pub(super) is_posted: bool,
    fields: Vec<Field>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Field {
    name: String,
    value: String,
    is_hidden: bool,
}

/// The forms of a page, and against what its addresses are resolved.
#[derive(Debug, Default)]
pub(super) struct Forms {
    pub(super) list: Vec<Form>,
    pub(super) base: Option<String>,
    /// Whether anything on the page wants a password, in a form or beside one.
    pub(super) wants_password: bool,
}

/// Elements whose content is no markup.
const RAW: &[&str] = &["script", "style", "textarea", "title", "template", "noscript"];

impl Form {
    /// Whether it has fields with all of these names, and there is at least one name.
    pub(super) fn has<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> bool {
        let mut names = names.into_iter().peekable();
        names.peek().is_some() && names.all(|name| self.fields.iter().any(|field| field.name == name))
    }

    /// What is sent: hidden fields as they are, such as the token against requests of other sites, and these values.
    pub(super) fn filled<'v>(&self, values: impl IntoIterator<Item = (&'v str, &'v str)>) -> String {
        let values: Vec<(&str, &str)> = values.into_iter().collect();
        let is_given = |name: &str| values.iter().any(|(given, _)| *given == name);
        let hidden = self.fields.iter().filter(|field| field.is_hidden && !is_given(&field.name));
        let all =
            hidden.map(|field| (field.name.as_str(), field.value.as_str())).chain(values.iter().copied());
        url::form_urlencoded::Serializer::new(String::new()).extend_pairs(all).finish()
    }
}

impl Forms {
    /// Reads a page.
    pub(super) fn of(page: &str) -> Forms {
        let mut forms = Forms::default();
        let mut is_open = false;
        let mut rest = page;
        while let Some(at) = rest.find('<') {
            rest = &rest[at..];
            if let Some(comment) = rest.strip_prefix("<!--") {
                rest = comment.split_once("-->").map_or("", |(_, behind)| behind);
                continue;
            }
            let (tag, behind) = tag(&rest[1..]);
            rest = behind;
            let name_end = tag.find(|c: char| c.is_ascii_whitespace() || c == '/').unwrap_or(tag.len());
            // A slash in front is part of the name of a closing tag.
            let name =
                if tag.starts_with('/') { tag } else { &tag[..name_end] }.trim_end().to_ascii_lowercase();
            forms.take(&name, tag, &mut is_open);
            if RAW.contains(&name.as_str()) {
                rest = behind_raw(rest, &name);
            }
        }
        forms
    }

    fn take(&mut self, name: &str, tag: &str, is_open: &mut bool) {
        let is_of = |kind: &str| attribute(tag, "type").is_some_and(|its| its.eq_ignore_ascii_case(kind));
        self.wants_password |= name == "input" && is_of("password");
        match name {
            "base" => self.base = self.base.take().or_else(|| attribute(tag, "href")),
            "form" if self.list.len() < WEB_FORMS_MAX => {
                *is_open = true;
                let is_posted = attribute(tag, "method").is_some_and(|way| way.eq_ignore_ascii_case("post"));
                let action = attribute(tag, "action").filter(|action| !action.is_empty());
                self.list.push(Form { action, is_posted, fields: Vec::new() });
            }
            "/form" => *is_open = false,
            "input" | "select" | "textarea" | "button" if *is_open => {
                let Some(form) = self.list.last_mut().filter(|form| form.fields.len() < WEB_FORM_FIELDS_MAX)
                else {
                    return;
                };
                let Some(field) = attribute(tag, "name").filter(|field| !field.is_empty()) else { return };
                let is_hidden = name == "input" && is_of("hidden");
                let value = attribute(tag, "value").unwrap_or_default();
                form.fields.push(Field { name: field, value, is_hidden });
            }
            _ => {}
        }
    }
}

/// What stands in a tag, and what is behind it; a quoted value may have a bracket.
fn tag(text: &str) -> (&str, &str) {
    let mut quote = None;
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            (None, '>') => return (&text[..at], &text[at + 1..]),
            // Quotes that begin no value are letters.
            (None, '"' | '\'') if text[..at].trim_end().ends_with('=') => quote = Some(letter),
            (Some(open), letter) if open == letter => quote = None,
            _ => {}
        }
    }
    (text, "")
}

/// What is behind the end of an element whose content is no markup.
fn behind_raw<'t>(text: &'t str, name: &str) -> &'t str {
    let mut rest = text;
    while let Some(at) = rest.find("</") {
        rest = &rest[at + 2..];
        if rest.get(..name.len()).is_some_and(|word| word.eq_ignore_ascii_case(name)) {
            return rest;
        }
    }
    ""
}

/// Value of an attribute of a tag.
fn attribute(tag: &str, wanted: &str) -> Option<String> {
    let is_apart = |c: char| c.is_ascii_whitespace() || c == '/';
    let begin = tag.find(is_apart)?;
    let mut rest = tag[begin..].trim_start_matches(is_apart);
    while !rest.is_empty() {
        let end = rest.find(|c: char| is_apart(c) || c == '=').unwrap_or(rest.len());
        let name = &rest[..end];
        rest = rest[end..].trim_start();
        let mut value = "";
        if let Some(behind) = rest.strip_prefix('=') {
            let behind = behind.trim_start();
            (value, rest) = match behind.chars().next() {
                Some(quote @ ('"' | '\'')) => behind[1..].split_once(quote).unwrap_or((&behind[1..], "")),
                _ => behind.split_at(behind.find(|c: char| c.is_ascii_whitespace()).unwrap_or(behind.len())),
            };
        }
        if name.eq_ignore_ascii_case(wanted) {
            // Entities that are none, as in addresses that are not escaped, stay as they are.
            return Some(escape::unescape(value).map_or_else(|_| value.to_owned(), |text| text.into_owned()));
        }
        rest = rest.trim_start_matches(is_apart);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "<!DOCTYPE html><html><head><base href='/app/'><script>'<form action=/evil><input name=pass>'</script></head><body>\
        <!-- <form action=/old method=post><input name=pass></form> --><form action=/search><input name=q></form>\
        <FORM Method=POST Action=\"login?a=1&amp;b=2>\" ><input type=hidden name=token value='a&quot;b&lt;>'/>\
        <input name = 'user' value=old><input type=password name=pass><button name=go value=1>x</button>\
        <input type=hidden value=nameless></form><input type=hidden name=outside value=x></body>";

    #[test]
    fn the_form_with_the_fields_is_found_and_filled_with_what_it_hides() {
        let forms = Forms::of(PAGE);
        assert_eq!(forms.base.as_deref(), Some("/app/"));
        assert_eq!(forms.list.len(), 2);
        assert!(forms.wants_password && !Forms::of("<input type=text name=password>").wants_password);
        let found = forms.list.iter().find(|form| form.has(["user", "pass"])).unwrap();
        assert_eq!((found.action.as_deref(), found.is_posted), (Some("login?a=1&b=2>"), true));
        assert_eq!(
            found.filled([("user", "ann"), ("pass", "a&b=c ü")]),
            "token=a%22b%3C%3E&user=ann&pass=a%26b%3Dc+%C3%BC"
        );
        assert_eq!(found.filled([("token", "own")]), "token=own");
        assert!(!found.has(["user", "outside"]) && !found.has(Vec::new()));
        assert!(!forms.list[0].is_posted);
    }

    #[test]
    fn forms_without_end_stay_few() {
        let many = format!(
            "{}{}",
            "<form>".repeat(WEB_FORMS_MAX * 2),
            "<input name=a>".repeat(WEB_FORM_FIELDS_MAX * 2)
        );
        let forms = Forms::of(&many);
        assert_eq!(forms.list.len(), WEB_FORMS_MAX);
        assert_eq!(forms.list.last().unwrap().fields.len(), WEB_FORM_FIELDS_MAX);
    }

    proptest::proptest! {
        #[test]
        fn any_page_has_some_forms_or_none(text in "(<form|<input|</|script|>|<|=|\"|'| |name|type|&|;|\\PC){0,60}") {
            for form in Forms::of(&text).list {
                form.filled([("a", "b")]);
            }
        }
    }
}
