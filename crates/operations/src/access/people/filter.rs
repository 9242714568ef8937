//! Filters of RFC 7644, as far as providers send them: conditions with `eq`, joined by `and`.

use ingather_model::limits;
use serde_json::{Map, Value};

use super::resource::flag;

/// Conditions, all of which hold.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Filter(pub(super) Vec<Condition>);

/// An attribute and the value that it has.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Condition {
    pub(super) attribute: String,
    pub(super) value: Value,
}

impl Filter {
    /// Reads it; a sentence where it cannot be meant.
    pub(super) fn read(text: &str) -> Result<Filter, String> {
        if text.len() > limits::PUSHED_FILTER_BYTES_MAX {
            return Err(format!("a filter has at most {} bytes", limits::PUSHED_FILTER_BYTES_MAX));
        }
        let mut conditions = Vec::new();
        let mut rest = text;
        loop {
            let (attribute, after) = word(rest);
            let (operator, after) = word(after);
            if attribute.is_empty() || !operator.eq_ignore_ascii_case("eq") {
                return Err(
                    "a filter has conditions such as `userName eq \"ann\"`, joined by `and`".to_owned()
                );
            }
            let mut values = serde_json::Deserializer::from_str(after).into_iter::<Value>();
            let value = match values.next() {
                Some(Ok(Value::String(text))) if text.chars().any(char::is_control) => {
                    return Err(format!("no `{attribute}` has a control character"));
                }
                Some(Ok(value)) if !value.is_object() && !value.is_array() => value,
                _ => return Err(format!("`{attribute} eq` has no value behind it, such as \"ann\" or true")),
            };
            let after = &after[values.byte_offset()..];
            conditions.push(Condition { attribute: attribute.to_owned(), value });
            if conditions.len() > limits::PUSHED_CONDITIONS_MAX {
                return Err(format!("a filter has at most {} conditions", limits::PUSHED_CONDITIONS_MAX));
            }
            if after.trim().is_empty() {
                return Ok(Filter(conditions));
            }
            let (joint, after_joint) = word(after);
            if !joint.eq_ignore_ascii_case("and") || !after.starts_with(char::is_whitespace) {
                return Err("conditions of a filter are joined by `and`, and by nothing else".to_owned());
            }
            rest = after_joint;
        }
    }

    /// Whether a value of an attribute that has several fits. Letters count but for case, as the words of such values do.
    pub(super) fn fits(&self, value: &Value) -> bool {
        self.0.iter().all(|condition| {
            let found = match value {
                Value::Object(fields) => field(fields, &condition.attribute),
                plain if condition.attribute.eq_ignore_ascii_case("value") => Some(plain),
                _ => None,
            };
            match (found, &condition.value) {
                (Some(Value::String(one)), Value::String(other)) => {
                    one.to_lowercase() == other.to_lowercase()
                }
                (Some(Value::Bool(one)), other) => flag(other) == Some(*one),
                (found, other) => found == Some(other),
            }
        })
    }

    /// What a value has that fits.
    pub(super) fn example(&self) -> Value {
        Value::Object(self.0.iter().map(|one| (one.attribute.clone(), one.value.clone())).collect())
    }
}

/// A field by its name, however its letters are written (RFC 7643, 2.1).
pub(super) fn field<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    fields.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}

/// The next word, and what stands behind it.
fn word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    text.find(char::is_whitespace).map_or((text, ""), |end| text.split_at(end))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn conditions_are_read_with_their_values_and_anything_else_is_refused() {
        let read = |text: &str| {
            let told = |filter: Filter| {
                filter.0.into_iter().map(|one| (one.attribute, one.value)).collect::<Vec<_>>()
            };
            Filter::read(text).map(told).ok()
        };
        let one = |name: &str, value: Value| Some(vec![(name.to_owned(), value)]);
        assert_eq!(read(r#"userName eq "a \"b\" and c""#), one("userName", json!("a \"b\" and c")));
        assert_eq!(read("active EQ true "), one("active", json!(true)));
        let both = read(r#"externalId eq "7" AND active eq "True""#).unwrap();
        assert_eq!(both[1], ("active".to_owned(), json!("True")));
        for wrong in [
            "",
            "userName",
            "userName eq",
            "userName eq ann",
            r#"userName co "a""#,
            "userName pr",
            r#"userName eq "a" or active eq true"#,
            r#"userName eq "a"and active eq true"#,
            r#"(userName eq "a")"#,
            r#"not (userName eq "a")"#,
            r#"userName eq "a" and"#,
            r#"emails[type eq "work"]"#,
            r#"userName eq ["a"]"#,
            &format!("userName eq \"{}\"", "a".repeat(limits::PUSHED_FILTER_BYTES_MAX)),
            &vec!["a eq 1"; limits::PUSHED_CONDITIONS_MAX + 1].join(" and "),
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
