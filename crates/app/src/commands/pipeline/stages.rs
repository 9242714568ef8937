//! `ingather pipeline stages`: what stages there are, and their settings.

use serde_json::{Value, json};

use super::{GivenStage, checked};
use crate::arguments::Global;
use crate::exit::{self, Failure, Result};
use crate::show;

/// What stages there are, or one with its settings.
pub(super) fn run(global: &Global, name: Option<&str>) -> Result<u8> {
    let chosen: Vec<_> = ingather_connectors::TRANSFORMS
        .iter()
        .filter(|kind| name.is_none_or(|name| name == kind.name))
        .collect();
    if let (Some(name), true) = (name, chosen.is_empty()) {
        let stage = GivenStage { transform: name.to_owned(), settings: Value::Null };
        return Err(Failure::usage(checked(stage).err().unwrap_or_default()));
    }
    for kind in chosen {
        let schema = (kind.schema)().to_value();
        if global.json {
            show::line(&json!({"name": kind.name, "about": kind.about, "settings": schema}).to_string());
            continue;
        }
        show::line(&format!("{:<10} {}", kind.name, kind.about));
        for (setting, of) in schema["properties"].as_object().filter(|_| name.is_some()).into_iter().flatten()
        {
            let words: Vec<&str> =
                of["description"].as_str().unwrap_or_default().split_whitespace().collect();
            let default = of.get("default").filter(|value| !value.is_null());
            let default = default.map_or(String::new(), |value| format!(" [default: {value}]"));
            show::line(&format!("  {setting}: {}{default}", words.join(" ")));
            for (word, about) in words_of(&schema, of) {
                show::line(&format!("    {word}: {about}"));
            }
        }
    }
    Ok(exit::DONE)
}

/// The words that a setting may be, each with what it means.
fn words_of(schema: &Value, setting: &Value) -> Vec<(String, String)> {
    let shape = setting["$ref"].as_str().and_then(|place| schema.pointer(place.trim_start_matches('#')));
    let variants = shape.and_then(|shape| shape["oneOf"].as_array()).into_iter().flatten();
    let told = variants.filter_map(|variant| {
        let about: Vec<&str> = variant["description"].as_str()?.split_whitespace().collect();
        Some((variant["const"].as_str()?.to_owned(), about.join(" ")))
    });
    told.collect()
}
