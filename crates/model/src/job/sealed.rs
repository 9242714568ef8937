//! How a secret looks where it is stored sealed (decision 0036): an object of one member, in the place of the value.

use serde_json::{Map, Value};

use super::Definition;

/// The member that holds a sealed secret. No setting may have it from outside.
pub const SEALED: &str = "$sealed";
/// Beside it, in memory alone: why it could not be opened.
const UNOPENED: &str = "$unopened";

/// The text of a sealed secret; none where the value is not one.
pub fn sealed(value: &Value) -> Option<&str> {
    value.as_object()?.get(SEALED)?.as_str()
}

/// A sealed secret as it is stored.
pub fn stored(text: &str) -> Value {
    Value::Object(Map::from_iter([(SEALED.to_owned(), text.into())]))
}

/// A sealed secret that could not be opened, with the sentence that says why: whoever needs it is told.
pub fn unopened(text: &str, why: &str) -> Value {
    let members = [(SEALED.to_owned(), text.into()), (UNOPENED.to_owned(), why.into())];
    Value::Object(Map::from_iter(members))
}

/// The first secret of settings that is still sealed: its place, such as `servers[1].password`, and a sentence that says why.
pub fn still_sealed(settings: &Value) -> Option<(String, String)> {
    match settings {
        Value::Object(fields) => match fields.get(SEALED) {
            Some(_) => {
                let why = fields.get(UNOPENED).and_then(Value::as_str).unwrap_or(
                    "a value with the member `$sealed` is how the store keeps secrets; give the secret itself",
                );
                Some((String::new(), why.to_owned()))
            }
            None => fields.iter().find_map(|(name, value)| {
                let (inner, why) = still_sealed(value)?;
                let point = if inner.is_empty() || inner.starts_with('[') { "" } else { "." };
                Some((format!("{name}{point}{inner}"), why))
            }),
        },
        Value::Array(all) => all.iter().enumerate().find_map(|(at, value)| {
            let (inner, why) = still_sealed(value)?;
            let point = if inner.is_empty() || inner.starts_with('[') { "" } else { "." };
            Some((format!("[{at}]{point}{inner}"), why))
        }),
        _ => None,
    }
}

impl Definition {
    /// The first secret that is still sealed, with its place and why.
    pub fn still_sealed(&self) -> Option<(String, String)> {
        let stages = self.stages.iter().enumerate().find_map(|(at, stage)| {
            let (place, why) = still_sealed(&stage.settings)?;
            Some((format!("stages[{at}].settings.{place}"), why))
        });
        stages.or_else(|| still_sealed(&self.source).map(|(place, why)| (format!("source.{place}"), why)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_still_sealed_is_found_with_its_place_and_its_reason() {
        let settings = json!({"a": 1, "servers": [{}, {"password": unopened("1.k.x", "no key")}]});
        assert_eq!(still_sealed(&settings), Some(("servers[1].password".to_owned(), "no key".to_owned())));
        let (place, why) = still_sealed(&json!({"passwords": {"$sealed": 7}})).unwrap();
        assert_eq!(place, "passwords");
        assert!(why.contains("give the secret itself"), "{why}");
        assert_eq!(still_sealed(&json!({"passwords": ["$sealed"]})), None);
    }

    #[test]
    fn what_is_stored_has_no_reason() {
        assert_eq!(stored("1.k.x"), json!({"$sealed": "1.k.x"}));
        assert_eq!(sealed(&unopened("1.k.x", "why")), Some("1.k.x"));
        assert_eq!(sealed(&json!("1.k.x")), None);
    }
}
