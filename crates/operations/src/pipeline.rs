//! Pipelines: the stages between a source and its outputs, in words.

mod differences;

pub(crate) use differences::differences;

use ingather_model::job::Stage;
use serde_json::Value;

use crate::secrets;

/// Characters of the settings of a stage that an answer shows.
const SETTINGS_SHOWN: usize = 1_000;

/// Stages as one line; settings that are not the default ones with them.
pub fn in_words(stages: &[Stage]) -> String {
    let one = |stage: &Stage| match &stage.settings {
        Value::Null => stage.transform.clone(),
        Value::Object(settings) if settings.is_empty() => stage.transform.clone(),
        settings => {
            let text: String =
                secrets::hidden(settings.clone()).to_string().chars().take(SETTINGS_SHOWN).collect();
            format!("{} {text}", stage.transform)
        }
    };
    match stages {
        [] => "none".to_owned(),
        stages => stages.iter().map(one).collect::<Vec<_>>().join(", "),
    }
}
