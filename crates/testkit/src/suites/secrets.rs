//! What connectors of every role promise of secrets in their settings (`crates/contract/src/secrets.rs`): no fault tells one.

use ingather_contract::secrets::Place;
use ingather_contract::settings::Schema;
use ingather_model::fault::Fault;
use serde_json::{Value, json};

use super::Breaches;

/// Something that no connector says by itself.
const CANARY: &str = "narwhal-7301940263";
const CANARY_NUMBER: i64 = 7_301_940_263;
/// Settings inside settings are followed this far.
const DEPTH_MAX: usize = 4;

/// Puts secrets of the right and of wrong kinds wherever the schema has one, and looks for them in all that is said then.
/// `faults` opens with these settings, asks what it may, and gives back what was refused.
pub(super) fn secrets(
    schema: &Schema,
    settings: &Value,
    faults: &dyn Fn(&Value) -> Vec<Fault>,
    found: &mut Breaches,
) {
    let mut paths = Vec::new();
    collect(&Place::of(schema), &mut Vec::new(), &mut paths);
    for path in paths {
        let wrong = [json!(CANARY), json!([CANARY]), json!({ CANARY: CANARY }), json!(CANARY_NUMBER)];
        for secret in wrong.into_iter().chain([json!([CANARY_NUMBER])]) {
            let mut tried = settings.clone();
            put(&mut tried, &path, secret);
            for fault in faults(&tried) {
                let said = format!("{fault} {fault:?}");
                found.unless(!said.contains(CANARY) && !said.contains(&CANARY_NUMBER.to_string()), || {
                    format!("it tells the secret `{}`: {fault}", path.join("."))
                });
            }
        }
    }
}

/// Names that lead to each secret.
fn collect(place: &Place<'_>, path: &mut Vec<String>, paths: &mut Vec<Vec<String>>) {
    if place.is_secret() {
        paths.push(path.clone());
    } else if path.len() < DEPTH_MAX {
        for name in place.fields() {
            path.push(name.to_owned());
            collect(&place.field(name), path, paths);
            path.pop();
        }
    }
}

fn put(settings: &mut Value, path: &[String], secret: Value) {
    match path {
        [] => *settings = secret,
        [name, rest @ ..] => {
            if !settings.is_object() {
                *settings = json!({});
            }
            put(&mut settings[name], rest, secret);
        }
    }
}
