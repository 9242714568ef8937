//! What differs between two pipelines, in few words: a person who changed one setting wants to read that one.

use std::collections::{BTreeMap, BTreeSet};

use ingather_contract::registry::Registry;
use ingather_contract::secrets::Place;
use ingather_contract::settings::Schema;
use ingather_model::job::{Route, Stage};
use ingather_model::run_counts::counted;
use serde_json::{Map, Value, json};

/// Differences that are named; the others are counted.
const NAMED_MAX: usize = 5;
/// Characters of a value that are shown.
const VALUE_SHOWN: usize = 60;

/// What `given` has otherwise than `stored`, as a sentence without an end.
pub(crate) fn differences(registry: &Registry, stored: &[Stage], given: &[Stage]) -> String {
    let mut found = Vec::new();
    for (old, new) in pairs(stored, given) {
        match (old, new) {
            (Some(old), Some(new)) => {
                let mut inside = Vec::new();
                let schema = registry.transform(&given[new].transform).map(|kind| (kind.schema)());
                // What nobody knows may be a secret.
                let schema = schema.unwrap_or_else(all_secret);
                compare(("", &Place::of(&schema)), &stored[old].settings, &given[new].settings, &mut inside);
                let open = Schema::default();
                compare(("", &Place::of(&open)), &place(&stored[old]), &place(&given[new]), &mut inside);
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

/// Settings of which each is a secret.
fn all_secret() -> Schema {
    schemars::json_schema!({"additionalProperties": {"writeOnly": true}})
}

/// What `given` says otherwise of the places of outputs than `stored`, a clause each.
pub(crate) fn route_differences(
    stored: &BTreeMap<String, Route>,
    given: &BTreeMap<String, Route>,
) -> Vec<String> {
    let names: BTreeSet<&String> = stored.keys().chain(given.keys()).collect();
    let mut found = Vec::new();
    let open = Schema::default();
    for name in names {
        let of = |routes: &BTreeMap<String, Route>| json!(routes.get(name).cloned().unwrap_or_default());
        let output = format!("output `{name}`");
        compare((&output, &Place::of(&open)), &of(stored), &of(given), &mut found);
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

fn compare((name, place): (&str, &Place<'_>), old: &Value, new: &Value, found: &mut Vec<String>) {
    match (old, new) {
        _ if old == new => {}
        // Whoever may see that they differ may not see what they are.
        _ if place.is_secret() => found.push(format!("{name} differ")),
        (Value::Object(before), Value::Object(after)) => {
            let dot = if name.is_empty() { "" } else { "." };
            let value = |of: &Map<String, Value>, key: &str| of.get(key).cloned().unwrap_or(Value::Null);
            let keys = before.keys().chain(after.keys().filter(|key| !before.contains_key(*key)));
            keys.for_each(|key| {
                compare(
                    (&format!("{name}{dot}{key}"), &place.field(key)),
                    &value(before, key),
                    &value(after, key),
                    found,
                );
            });
        }
        (Value::Array(before), Value::Array(after)) if before.len() == after.len() => {
            let inside = (&*format!("{name}[]"), &place.entry());
            before.iter().zip(after).for_each(|(old, new)| compare(inside, old, new, found));
        }
        (Value::Array(before), Value::Array(after)) => {
            let entry = place.entry();
            let brief = |one: &Value| brief(&entry, one);
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
        _ => found.push(format!("{name} is {}, given {}", brief(place, old), brief(place, new))),
    }
}

fn brief(place: &Place<'_>, value: &Value) -> String {
    let text = match place.hidden(value.clone()) {
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
    use ingather_contract::transform::TransformKind;
    use ingather_model::fault::Fault;

    fn told(stored: Value, given: Value) -> String {
        let stages = |value: Value| -> Vec<Stage> {
            let one = |stage: &Value| Stage {
                transform: stage[0].as_str().unwrap().to_owned(),
                settings: stage[1].clone(),
                ..Stage::default()
            };
            value.as_array().unwrap().iter().map(one).collect()
        };
        let registry = Registry { repositories: &[], transforms: &STAGES, outputs: &[], authorities: &[] };
        differences(&registry, &stages(stored), &stages(given))
    }

    macro_rules! stage {
        ($name:literal) => {
            &TransformKind {
                name: $name,
                about: "",
                version: "1",
                schema: || {
                    let passwords = json!({"properties": {"passwords": {"writeOnly": true}}});
                    let mut schema = schemars::json_schema!({"additionalProperties": {"items": passwords}});
                    schema.insert("properties".to_owned(), json!({
                        "text": passwords, "passwords": {"writeOnly": true},
                    }));
                    schema
                },
                open: |_| Err(Fault::refused("test", "never opened")),
            }
        };
    }

    static STAGES: [&TransformKind; 5] =
        [stage!("text"), stage!("ocr"), stage!("fields"), stage!("limit"), stage!("allow")];

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
        let servers = |all: Value| json!([["text", {"servers": all}]]);
        let server = |name: &str| json!({"name": name, "passwords": ["narwhal"]});
        for (stored, given) in [(json!([server("a")]), json!([])), (json!(null), json!([server("a")]))] {
            let told = told(servers(stored), servers(given));
            assert!(!told.contains("narwhal") && told.contains("servers"), "{told}");
        }
        assert_eq!(told(json!([["odd", {"a": 1}]]), json!([["odd", {"a": 2}]])), "stage 1 `odd`: a differ");
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
