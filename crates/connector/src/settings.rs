//! Settings of a connector: one Rust struct from which schema, validation, form and manual page are derived.

use garde::Validate;
use ingather_model::fault::Fault;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

pub use schemars::Schema;

/// The JSON Schema of a settings struct.
pub fn schema_of<S: JsonSchema>() -> Schema {
    schemars::schema_for!(S)
}

/// Reads settings; unknown keys and values outside their bounds are refused with the path of the field.
///
/// # Errors
/// `Refused` with code `settings` and one sentence for each field that is wrong.
pub fn read<S>(value: &serde_json::Value) -> Result<S, Fault>
where
    S: DeserializeOwned + Validate<Context = ()>,
{
    let settings: S = serde_json::from_value(value.clone())
        .map_err(|error| Fault::refused("settings", error.to_string()))?;
    settings.validate().map_err(|report| {
        let lines: Vec<String> = report.iter().map(|(path, error)| format!("{path}: {error}")).collect();
        Fault::refused("settings", lines.join("; "))
    })?;
    Ok(settings)
}

/// No settings at all.
#[derive(Debug, Default, Clone, serde::Deserialize, serde::Serialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct NoSettings {}
