//! What no answer shows: secrets in settings, as the schema of their connector marks them (design 4.16).

use ingather_contract::registry::Registry;
use ingather_contract::secrets::{self, HIDDEN};
use ingather_contract::settings::Schema;
use ingather_engine::THROTTLE;
use ingather_model::job::{Definition, Role, Stage};
use ingather_store::secrets::{self as secrets_at_rest, SecretPlaces, SettingsOf};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::context::{Caller, Context};
use crate::operation::{Answering, Effect, Operation, Rest, Role as Roles, Shape, Words};
use crate::problem::Result;

/// Seals all secrets with a new key.
pub static ROTATE: Answering<RotateKey, RotatedKey> = Answering {
    operation: Operation {
        name: "secrets.rotate",
        summary: "Seals all secrets in definitions with a new key, which takes the place of the old one.",
        request: Shape::of::<RotateKey>("RotateKey", &["{}"]),
        item: None,
        answer: Shape::of::<RotatedKey>("RotatedKey", &[ROTATED]),
        role: Roles::Admin,
        effect: Effect::Changes,
        rest: Rest::Not("it replaces a file of this machine, of which its owner keeps a copy"),
        words: Words::Are("secrets rotate"),
        tool: false,
        problems: &[],
    },
    run: rotate,
};

const ROTATED: &str =
    r#"{"file": "/srv/ingather/secrets.key", "before": "7d1f0a52c9e3b684", "key": "0be2c33f91d47a65"}"#;

/// Asks for a new key of secrets.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RotateKey {}

/// The key that all secrets are sealed with now.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RotatedKey {
    /// Its file, of which a copy is to be kept.
    pub file: String,
    /// The key before, which opens nothing of this store any more; none where nothing is sealed, and nothing was done.
    pub before: Option<String>,
    /// What tells it from others; none where nothing is sealed.
    pub key: Option<String>,
}

fn rotate(context: &Context<'_>, _: &Caller<'_>, _: RotateKey) -> Result<RotatedKey> {
    context.existing()?;
    let writing = context.host.write_alone("secrets rotate")?;
    let rotated = secrets_at_rest::rotate(&writing.store, &writing.lease)?;
    let (before, key) = rotated.map(|done| (done.before, done.after)).unzip();
    Ok(RotatedKey { file: context.host.secrets_key().display().to_string(), before, key })
}

/// Which settings the store seals: those that the kinds of this program mark.
pub struct Marked(pub Registry);

impl SecretPlaces for Marked {
    fn each(&self, of: SettingsOf<'_>, settings: &mut Value, change: &mut dyn FnMut(&str, &mut Value)) {
        let schema = match of {
            SettingsOf::Source(kind) => self.0.repository(kind).map(|kind| kind.source_schema),
            SettingsOf::Stage(kind) => self.0.transform(kind).map(|kind| kind.schema),
            SettingsOf::Output(kind) => self.0.output(kind).map(|kind| kind.schema),
            SettingsOf::Authority(kind) => self.0.authority(kind).map(|kind| kind.schema),
        };
        // Settings of a connector that this program has not stay as they are stored.
        if let Some(schema) = schema {
            secrets::each_secret(&schema(), settings, change);
        }
    }
}

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
        Role::Authority => registry.authority(kind).map(|kind| kind.schema),
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
