//! Paths of RFC 7644: which part of a person or a group a change is about.

use ingather_model::limits;

use super::filter::Filter;
use super::resource::without_core;

/// Which part is meant.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Path {
    /// The schema whose object has it, where it is not the first one.
    pub(super) extension: Option<String>,
    pub(super) attribute: String,
    /// Which of several values.
    pub(super) filter: Option<Filter>,
    /// A part of the value.
    pub(super) sub: Option<String>,
}

impl Path {
    /// Reads it; a sentence where it cannot be meant.
    pub(super) fn read(text: &str) -> Result<Path, String> {
        if text.len() > limits::PUSHED_FILTER_BYTES_MAX {
            return Err(format!("a path has at most {} bytes", limits::PUSHED_FILTER_BYTES_MAX));
        }
        let wrong =
            || format!("`{text}` is no path, such as `name.givenName` or `emails[type eq \"work\"].value`");
        let whole =
            |name: &str| Path { extension: None, attribute: name.to_owned(), filter: None, sub: None };
        let (extension, rest) = match without_core(text) {
            Some(rest) => (None, rest),
            None if is_urn(text) => {
                let before = text.find('[').unwrap_or(text.len());
                let (schema, rest) = text[..before]
                    .rsplit_once(':')
                    .map_or(("", text), |(schema, _)| (schema, &text[schema.len() + 1..]));
                // The object of a schema itself, whose name ends so.
                if rest.eq_ignore_ascii_case("User") || rest.eq_ignore_ascii_case("Group") {
                    return Ok(whole(text));
                }
                (Some(schema.to_owned()), rest)
            }
            None => (None, text),
        };
        let end = rest.find(['[', '.']).unwrap_or(rest.len());
        let (attribute, behind) = rest.split_at(end);
        let (filter, behind) = match behind.strip_prefix('[') {
            Some(inner) => {
                let end = closing(inner).ok_or_else(wrong)?;
                (Some(Filter::read(&inner[..end])?), &inner[end + 1..])
            }
            None => (None, behind),
        };
        let sub = match behind.strip_prefix('.') {
            Some(sub) if is_name(sub) => Some(sub.to_owned()),
            None if behind.is_empty() => None,
            _ => return Err(wrong()),
        };
        match is_name(attribute) {
            true => Ok(Path { extension, attribute: attribute.to_owned(), filter, sub }),
            false => Err(wrong()),
        }
    }
}

fn is_urn(text: &str) -> bool {
    text.get(..4).is_some_and(|begin| begin.eq_ignore_ascii_case("urn:"))
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-$".contains(c))
}

/// Where the bracket closes: none in a text between quotes does.
fn closing(text: &str) -> Option<usize> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            ']' if !is_quoted => return Some(at),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_an_attribute_a_value_of_it_and_a_part_of_that() {
        let shown = |text: &str| {
            let Path { extension, attribute, filter, sub } = Path::read(text).unwrap();
            let filter = filter.map_or(0, |filter| filter.0.len());
            format!("{}|{attribute}|{filter}|{}", extension.unwrap_or_default(), sub.unwrap_or_default())
        };
        let enterprise = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
        for (text, expected) in [
            ("active", "|active|0|".to_owned()),
            ("name.givenName", "|name|0|givenName".to_owned()),
            ("members[value eq \"a]b\\\"]\"]", "|members|1|".to_owned()),
            ("emails[type eq \"work\" and primary eq true].value", "|emails|2|value".to_owned()),
            ("urn:ietf:params:scim:schemas:core:2.0:User:userName", "|userName|0|".to_owned()),
            (enterprise, format!("|{enterprise}|0|")),
            (&format!("{enterprise}:manager.value"), format!("{enterprise}|manager|0|value")),
        ] {
            assert_eq!(shown(text), expected);
        }
        for wrong in [
            "",
            "a b",
            "emails[",
            "emails[type eq \"a\"]x",
            "name.",
            "name.a.b",
            "a[b]",
            "urn:",
            "[a eq 1]",
            "a[b eq \"]",
        ] {
            assert!(Path::read(wrong).is_err(), "{wrong}");
        }
    }
}
