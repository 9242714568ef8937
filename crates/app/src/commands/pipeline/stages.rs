//! `ingather pipeline stages`: what stages there are, and their settings.

use ingather_contract::described::{Described, described};
use ingather_operations::pipeline::{ListStages, STAGES};

use crate::arguments::Global;
use crate::exit::{self, Result};
use crate::show;
use crate::wiring::{Program, caller};

/// What stages there are, or one with its settings.
pub(super) fn run(global: &Global, stage: Option<String>) -> Result<u8> {
    let one = stage.is_some();
    let found = STAGES.call(&Program::nowhere(global)?.context(), &caller(), ListStages { stage })?;
    for kind in &found.stages {
        if global.json {
            show::answer(kind);
            continue;
        }
        show::line(&format!("{:<10} {}", kind.name, kind.about));
        if one {
            described(&kind.settings).iter().for_each(tell);
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
