//! What differs between two pipelines, in few words: a person who changed one setting wants to read that one.

use std::collections::{BTreeMap, BTreeSet};

use ingather_model::job::{Route, Stage};
use ingather_model::run_counts::counted;
use serde_json::{Map, Value, json};

use crate::secrets;

/// Differences that are named; the others are counted.
const NAMED_MAX: usize = 5;
/// Characters of a value that are shown.
const VALUE_SHOWN: usize = 60;

/// What `given` has otherwise than `stored`, as a sentence without an end.
pub(crate) fn differences(stored: &[Stage], given: &[Stage]) -> String {
    let mut found = Vec::new();
    for (old, new) in pairs(stored, given) {
        match (old, new) {
            (Some(old), Some(new)) => {
                let mut inside = Vec::new();
                compare("", &stored[old].settings, &given[new].settings, &mut inside);
                compare("", &place(&stored[old]), &place(&given[new]), &mut inside);
                let stage = format!("stage {} `{}`", new + 1, given[new].transform);
                found.extend(inside.into_iter().map(|told| format!("{stage}: {told}")));
            }
            (Some(old), None) => {
                found.push(format!("stage {} `{}` is removed", old + 1, stored[old].transform));
            }
            (None, Some(new)) => found.push(format!("stage {} `{}` is new", new + 1, given[new].transform)),
            (None, None) => {}
        }
    }
    let more = found.len().saturating_sub(NAMED_MAX);
    found.truncate(NAMED_MAX);
    if more > 0 {
        found.push(format!("and {more} more"));
    }
    found.join(", ")
}

/// What `given` says otherwise of the places of outputs than `stored`, a clause each.
pub(crate) fn route_differences(
    stored: &BTreeMap<String, Route>,
    given: &BTreeMap<String, Route>,
) -> Vec<String> {
    let names: BTreeSet<&String> = stored.keys().chain(given.keys()).collect();
    let mut found = Vec::new();
    for name in names {
        let of = |routes: &BTreeMap<String, Route>| json!(routes.get(name).cloned().unwrap_or_default());
        compare(&format!("output `{name}`"), &of(stored), &of(given), &mut found);
    }
    found
}

/// What a stage says of its place in the pipeline.
fn place(stage: &Stage) -> Value {
    json!({ "name": stage.name, "after": stage.after, "when": stage.when })
}

/// Stages of both that are the same one, by their places, and those that one of them has alone, in order.
fn pairs(stored: &[Stage], given: &[Stage]) -> Vec<(Option<usize>, Option<usize>)> {
    // How many stages from here on can be paired, at the best.
    let mut best = vec![vec![0usize; given.len() + 1]; stored.len() + 1];
    for (old, before) in stored.iter().enumerate().rev() {
        for (new, after) in given.iter().enumerate().rev() {
            best[old][new] = match before.transform == after.transform {
                true => best[old + 1][new + 1] + 1,
                false => best[old + 1][new].max(best[old][new + 1]),
            };
        }
    }
    let (mut old, mut new) = (0, 0);
    let mut found = Vec::new();
    while old < stored.len() || new < given.len() {
        let both = old < stored.len() && new < given.len();
        if both && stored[old].transform == given[new].transform {
            found.push((Some(old), Some(new)));
            (old, new) = (old + 1, new + 1);
        } else if new == given.len() || both && best[old + 1][new] >= best[old][new + 1] {
            found.push((Some(old), None));
            old += 1;
        } else {
            found.push((None, Some(new)));
            new += 1;
        }
    }
    found
}

fn compare(name: &str, old: &Value, new: &Value, found: &mut Vec<String>) {
    match (old, new) {
        _ if old == new => {}
        // Whoever may see that they differ may not see what they are.
        _ if name.rsplit('.').next() == Some(secrets::NAME) => found.push(format!("{name} differ")),
        (Value::Object(before), Value::Object(after)) => {
            let dot = if name.is_empty() { "" } else { "." };
            let value = |of: &Map<String, Value>, key: &str| of.get(key).cloned().unwrap_or(Value::Null);
            let keys = before.keys().chain(after.keys().filter(|key| !before.contains_key(*key)));
            keys.for_each(|key| {
                compare(&format!("{name}{dot}{key}"), &value(before, key), &value(after, key), found);
            });
        }
        (Value::Array(before), Value::Array(after)) if before.len() == after.len() => {
            before.iter().zip(after).for_each(|(old, new)| compare(&format!("{name}[]"), old, new, found));
        }
        (Value::Array(before), Value::Array(after)) => {
            let lost =
                before.iter().filter(|one| !after.contains(one)).map(|one| format!("without {}", brief(one)));
            let gained =
                after.iter().filter(|one| !before.contains(one)).map(|one| format!("with {}", brief(one)));
            let told: Vec<String> = lost.chain(gained).map(|told| format!("{name} {told}")).collect();
            // The same entries, some of them more often.
            let count = |values: &[Value]| counted(values.len() as u64, "entry");
            let again = || vec![format!("{name} has {}, given {}", count(before), count(after))];
            found.extend(if told.is_empty() { again() } else { told });
        }
        _ => found.push(format!("{name} is {}, given {}", brief(old), brief(new))),
    }
}

fn brief(value: &Value) -> String {
    let text = match value {
        Value::Null => return "not set".to_owned(),
        value => value.to_string(),
    };
    match text.char_indices().nth(VALUE_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(stored: Value, given: Value) -> String {
        let stages = |value: Value| -> Vec<Stage> {
            let one = |stage: &Value| Stage {
                transform: stage[0].as_str().unwrap().to_owned(),
                settings: stage[1].clone(),
                ..Stage::default()
            };
            value.as_array().unwrap().iter().map(one).collect()
        };
        differences(&stages(stored), &stages(given))
    }

    #[test]
    fn one_changed_setting_is_all_that_is_told() {
        let stages = |value: &str| {
            json!([["text", {}], ["fields", {"set": [{"field": "a", "values": ["x"]}, {"field": "b", "values": [value]}]}],
                ["limit", {"characters": 10}]])
        };
        assert_eq!(
            told(stages("sales"), stages("research")),
            "stage 2 `fields`: set[].values[] is \"sales\", given \"research\""
        );
        assert_eq!(
            told(json!([["limit", {"characters": 10}]]), json!([["limit", {"bytes": 9}]])),
            "stage 1 `limit`: characters is 10, given not set, stage 1 `limit`: bytes is not set, given 9"
        );
    }

    #[test]
    fn passwords_differ_and_are_not_shown() {
        let stages = |password: &str| json!([["ocr", {"text": {"passwords": [password]}}], ["text", {"passwords": [password]}]]);
        assert_eq!(
            told(stages("first"), stages("second")),
            "stage 1 `ocr`: text.passwords differ, stage 2 `text`: passwords differ"
        );
    }

    #[test]
    fn stages_that_came_or_went_are_told_by_their_place() {
        let (text, allow) = (json!(["text", {}]), json!(["allow", {"extensions": ["md"]}]));
        assert_eq!(told(json!([text]), json!([allow, text])), "stage 1 `allow` is new");
        assert_eq!(told(json!([allow, text]), json!([text])), "stage 1 `allow` is removed");
        assert_eq!(
            told(json!([allow, text]), json!([text, allow])),
            "stage 1 `allow` is removed, stage 2 `allow` is new"
        );
        let more = json!(["allow", {"extensions": ["txt", "html"]}]);
        assert_eq!(
            told(json!([allow]), json!([more])),
            "stage 1 `allow`: extensions without \"md\", stage 1 `allow`: extensions with \"txt\", \
             stage 1 `allow`: extensions with \"html\""
        );
    }

    #[test]
    fn many_and_long_differences_stay_short() {
        let stage = |letter: &str| {
            let values: Vec<String> = (0..1_000).map(|n| format!("{n} {}", letter.repeat(10_000))).collect();
            json!([["fields", {"set": [{"field": "a", "values": values}]}]])
        };
        let told = told(stage("x"), stage("y"));
        assert!(told.chars().count() < 1_000 && told.ends_with("and 995 more"), "{told}");
    }
}
