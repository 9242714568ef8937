//! Settings of a connector: one Rust struct from which schema, validation, form and manual page are derived.

use garde::Validate;
use ingather_model::fault::Fault;
use ingather_model::job::sealed::still_sealed;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

pub use schemars::Schema;

use crate::secrets;

/// The JSON Schema of a settings struct.
pub fn schema_of<S: JsonSchema>() -> Schema {
    schemars::schema_for!(S)
}

/// Reads settings; unknown keys and values outside their bounds are refused with the path of the field and what is expected there,
/// and without any value: what was typed there may be a password that was meant for another field.
///
/// # Errors
/// `Refused` with code `settings` and one sentence for each field that is wrong.
pub fn read<S>(value: &serde_json::Value) -> Result<S, Fault>
where
    S: DeserializeOwned + Validate<Context = ()> + JsonSchema,
{
    // Before anything reads them: what is sealed is no setting, and the reason why it is has no secret in it.
    if let Some((place, why)) = still_sealed(value) {
        let it = if place.is_empty() { "it".to_owned() } else { format!("`{place}`") };
        return Err(Fault::refused("settings", format!("{it} cannot be used: {why}")));
    }
    unscrubbed(value).map_err(|said: String| {
        Fault::refused("settings", secrets::scrubbed(&schema_of::<S>(), value, &said))
    })
}

fn unscrubbed<S>(value: &serde_json::Value) -> Result<S, String>
where
    S: DeserializeOwned + Validate<Context = ()>,
{
    let settings: S = form(value)?;
    settings.validate().map_err(|report| {
        let said = |path: String, error: String| format!("{path} {}", bound_in_words(&error));
        let lines: Vec<String> =
            report.iter().map(|(path, error)| said(path.to_string(), error.to_string())).collect();
        lines.join("; ")
    })?;
    Ok(settings)
}

/// Reads a value as a type.
///
/// # Errors
/// A sentence with the place and what is expected there, without what is there.
pub fn form<S: DeserializeOwned>(value: &serde_json::Value) -> Result<S, String> {
    serde_path_to_error::deserialize(value.clone()).map_err(|error: serde_path_to_error::Error<_>| {
        let place = error.path().to_string();
        in_words(if place == "." { "" } else { &place }, &error.inner().to_string(), value)
    })
}

/// What a reader of JSON says is wrong at a place of `value`, in words that need no knowledge of it.
fn in_words(place: &str, said: &str, value: &serde_json::Value) -> String {
    let list = |rest: &str| rest.trim_start_matches("one of ").replace('`', "").replace(" or ", ", ");
    let it = if place.is_empty() { "it".to_owned() } else { format!("`{place}`") };
    if let Some(rest) = said.strip_prefix("unknown field ") {
        let (name, known) = rest.split_once(", ").unwrap_or((rest, ""));
        return match known.strip_prefix("expected ") {
            Some(known) => format!("{name} is no setting; there are {}", list(known)),
            None => format!("{name} is no setting; there are none"),
        };
    }
    if let Some(rest) = said.strip_prefix("unknown variant ") {
        let (_, known) = rest.rsplit_once(", expected ").unwrap_or((rest, ""));
        return format!("{it} must be one of {}", list(known));
    }
    if let Some(name) = said.strip_prefix("missing field ") {
        return format!("{name} is missing");
    }
    let wrong = said.strip_prefix("invalid type: ").or_else(|| said.strip_prefix("invalid value: "));
    match wrong.and_then(|rest| rest.rsplit_once(", expected ")) {
        Some((_, expected)) => format!("{it} must be {}", kind_in_words(expected)),
        None if secrets::tells(value, said) => format!("{it} cannot be that"),
        None => format!("{it}: {said}"),
    }
}

fn kind_in_words(expected: &str) -> &str {
    match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number, 0 or more",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a string" | "a borrowed string" => "a text",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a map" => "a table",
        other if other.starts_with("struct ") => "a table",
        other => other,
    }
}

/// What a validation says is wrong with a length or a number.
fn bound_in_words(said: &str) -> String {
    if said == "length is lower than 1" {
        return "must not be empty".to_owned();
    }
    let bounds = [
        ("length is lower than ", "must not be shorter than "),
        ("length is greater than ", "must not be longer than "),
        ("lower than ", "must be at least "),
        ("greater than ", "must be at most "),
    ];
    let known =
        bounds.iter().find_map(|(begins, word)| Some(format!("{word}{}", said.strip_prefix(begins)?)));
    known.unwrap_or_else(|| said.to_owned())
}

/// No settings at all.
#[derive(Debug, Default, Clone, serde::Deserialize, serde::Serialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct NoSettings {}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use serde_json::json;

    #[derive(Debug, PartialEq, Deserialize, JsonSchema, Validate)]
    #[serde(deny_unknown_fields)]
    struct Sample {
        #[garde(length(min = 1, max = 3))]
        name: String,
        #[serde(default)]
        #[garde(range(max = 9))]
        count: u64,
        #[serde(default)]
        #[garde(skip)]
        word: Option<Word>,
        #[serde(default)]
        #[garde(inner(length(max = 8)))]
        #[schemars(extend("writeOnly" = true))]
        passwords: Vec<String>,
    }

    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum Word {
        Yes,
        No,
    }

    #[test]
    fn a_secret_that_is_sealed_is_refused_with_the_reason_whole() {
        let refused = |settings| read::<Sample>(&settings).unwrap_err().to_string();
        let unopened = ingather_model::job::sealed::unopened("1.k.x", "secrets.key is not there");
        let said = refused(json!({"name": unopened}));
        assert!(said.contains("`name` cannot be used: secrets.key is not there"), "{said}");
        let said = refused(json!({"name": {"$sealed": "1.k.x"}}));
        assert!(said.contains("give the secret itself") && !said.contains("1.k.x"), "{said}");
    }

    #[test]
    fn what_is_wrong_with_settings_is_said_without_the_words_of_a_parser() {
        let told = |value: serde_json::Value| read::<Sample>(&value).err().unwrap().reason().message;
        assert_eq!(
            told(json!({"name": "a", "size": 1})),
            "`size` is no setting; there are name, count, word, passwords"
        );
        assert_eq!(told(json!({})), "`name` is missing");
        assert_eq!(told(json!({"name": ""})), "name must not be empty");
        assert_eq!(told(json!({"name": "a", "count": 10})), "count must be at most 9");
        assert_eq!(told(json!({"name": "a", "count": "ten"})), "`count` must be a whole number, 0 or more");
        assert_eq!(told(json!({"name": 1})), "`name` must be a text");
        assert_eq!(told(json!({"name": "a", "word": "maybe"})), "`word` must be one of yes, no");
        let good = Sample { name: "a".to_owned(), count: 9, word: Some(Word::No), passwords: Vec::new() };
        assert_eq!(read::<Sample>(&json!({"name": "a", "count": 9, "word": "no"})), Ok(good));
        for (passwords, said) in [
            (json!("hunter2"), "`passwords` must be a list"),
            (json!(["hunter3", 7_301]), "`passwords[1]` must be a text"),
            (json!(["hunter2 and more"]), "passwords[0] must not be longer than 8"),
        ] {
            assert_eq!(told(json!({"name": "n", "passwords": passwords})), said);
        }
        let none = read::<NoSettings>(&json!({"file": "x"})).err().unwrap().reason().message;
        assert_eq!(none, "`file` is no setting; there are none");
    }
}
