//! What no answer shows: secrets in settings, as the schema of their connector marks them (design 4.16).

use ingather_contract::registry::Registry;
use ingather_contract::secrets::{self, HIDDEN};
use ingather_contract::settings::Schema;
use ingather_engine::THROTTLE;
use ingather_model::job::{Definition, Role, Stage};
use serde_json::Value;

/// Settings of a connection without its secrets.
pub(crate) fn hidden(registry: &Registry, role: Role, kind: &str, settings: Value) -> Value {
    let schema = match role {
        // A repository has settings for each job, and rules of how much is read of it, which are no secret.
        Role::Repository => {
            let throttle = settings.get(THROTTLE).cloned();
            let mut hidden = by_schema(None, settings);
            if let (Some(throttle), Some(fields)) = (throttle, hidden.as_object_mut()) {
                fields.insert(THROTTLE.to_owned(), throttle);
            }
            return hidden;
        }
        Role::Output => registry.output(kind).map(|kind| kind.schema),
    };
    by_schema(schema, settings)
}

/// A definition without secrets; `connector` is the kind of its repository, where that is known.
pub(crate) fn hidden_in(
    registry: &Registry,
    connector: Option<&str>,
    mut definition: Definition,
) -> Definition {
    let source = connector.and_then(|kind| registry.repository(kind)).map(|kind| kind.source_schema);
    definition.source = by_schema(source, definition.source);
    for Stage { transform, settings, .. } in &mut definition.stages {
        let schema = registry.transform(transform).map(|kind| kind.schema);
        *settings = by_schema(schema, std::mem::take(settings));
    }
    definition
}

/// Where nobody knows which settings are secrets, all are.
fn by_schema(schema: Option<fn() -> Schema>, settings: Value) -> Value {
    match (schema, settings) {
        (Some(schema), settings) => secrets::hidden(&schema(), settings),
        (None, Value::Object(fields)) => {
            fields.into_iter().map(|(name, _)| (name, Value::from(HIDDEN))).collect()
        }
        (None, Value::Null) => Value::Null,
        (None, _) => HIDDEN.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ingather_contract::settings::schema_of;
    use ingather_contract::transform::TransformKind;
    use ingather_model::fault::Fault;
    use schemars::JsonSchema;
    use serde_json::json;

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Settings {
        user: String,
        #[schemars(extend("writeOnly" = true))]
        key: Vec<String>,
    }

    static STAGE: TransformKind = TransformKind {
        name: "stage",
        about: "",
        version: "1",
        schema: schema_of::<Settings>,
        open: |_| Err(Fault::refused("test", "never opened")),
    };

    #[test]
    fn secrets_are_hidden_by_their_schema_and_all_settings_of_what_nobody_knows() {
        static STAGES: [&TransformKind; 1] = [&STAGE];
        let registry = Registry { repositories: &[], transforms: &STAGES, outputs: &[], authorities: &[] };
        let stage = |name: &str| Stage {
            transform: name.to_owned(),
            settings: json!({"user": "ann", "key": ["narwhal", "orca"]}),
            ..Stage::default()
        };
        let definition = Definition {
            source: json!({"root": "/"}),
            stages: vec![stage("stage"), stage("unknown")],
            ..serde_json::from_value(json!({"name": "n", "repository": "r", "source": {}, "outputs": []}))
                .unwrap()
        };
        let shown = hidden_in(&registry, Some("gone"), definition);
        assert_eq!(shown.source, json!({"root": "(hidden)"}));
        assert_eq!(shown.stages[0].settings, json!({"user": "ann", "key": ["(hidden)", "(hidden)"]}));
        assert_eq!(shown.stages[1].settings, json!({"user": "(hidden)", "key": "(hidden)"}));
        let output = hidden(&registry, Role::Output, "gone", json!({"password": "narwhal"}));
        assert_eq!(output, json!({"password": "(hidden)"}));
        assert_eq!(hidden(&registry, Role::Repository, "gone", json!({})), json!({}));
    }
}
