//! What no answer shows: passwords that stand in settings (design 4.16).

use ingather_model::job::Definition;
use serde_json::Value;

/// The setting that holds them, whatever it is a setting of.
pub const NAME: &str = "passwords";
/// What stands in the place of one.
const HIDDEN: &str = "(hidden)";

/// A value without them.
pub fn hidden(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let one = |(name, value): (String, Value)| match (name == NAME, value) {
                (true, Value::Array(all)) => (name, all.iter().map(|_| Value::from(HIDDEN)).collect()),
                (true, _) => (name, HIDDEN.into()),
                (false, value) => (name, hidden(value)),
            };
            Value::Object(fields.into_iter().map(one).collect())
        }
        Value::Array(all) => all.into_iter().map(hidden).collect(),
        other => other,
    }
}

/// A definition without them.
pub(crate) fn hidden_in(mut definition: Definition) -> Definition {
    definition.source = hidden(definition.source);
    for stage in &mut definition.stages {
        stage.settings = hidden(std::mem::take(&mut stage.settings));
    }
    definition
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn passwords_are_counted_and_nothing_else_changes() {
        let settings = json!([{"text": {"passwords": ["a", "b"], "parts": "none"}}, {"passwords": "c"}]);
        let shown = json!([{"text": {"passwords": ["(hidden)", "(hidden)"], "parts": "none"}}, {"passwords": "(hidden)"}]);
        assert_eq!(hidden(settings), shown);
    }
}
