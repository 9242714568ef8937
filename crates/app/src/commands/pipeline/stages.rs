//! `ingather pipeline stages`: what stages there are, and their settings.

use ingather_contract::described::{Described, described};
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
            show::json(&json!({"name": kind.name, "about": kind.about, "settings": schema}));
            continue;
        }
        show::line(&format!("{:<10} {}", kind.name, kind.about));
        if name.is_some() {
            described(&schema).iter().for_each(tell);
        }
    }
    Ok(exit::DONE)
}

/// A setting, with those that lie in it further to the right.
fn tell(setting: &Described) {
    let Described { depth, name, kind, default, limits, about, words, .. } = setting;
    let line = |more: usize, text: &str| show::line(&format!("{}{text}", " ".repeat(2 + depth * 4 + more)));
    let default = match default.as_str() {
        "required" | "none" => default.clone(),
        value => format!("default {value}"),
    };
    let limits = if limits.is_empty() { String::new() } else { format!(", {limits}") };
    line(0, &format!("{name}: {kind}, {default}{limits}"));
    line(4, about);
    for (word, about) in words {
        line(4, &format!("{word}: {about}"));
    }
}
