//! How an index of ours is made, and whether one that is there is like that: nothing of a document makes a field.

use serde_json::{Map, Value, json};

/// What changes how a field takes values, so that an index with it is another one.
const FOREIGN: [&str; 9] = [
    "index",
    "doc_values",
    "enabled",
    "ignore_above",
    "normalizer",
    "null_value",
    "copy_to",
    "script",
    "ignore_malformed",
];
/// Differences that are named.
const NAMED_MAX: usize = 8;

/// The fields of an entry, by name.
pub(super) fn properties() -> Value {
    let keyword = || json!({"type": "keyword"});
    let long = || json!({"type": "long"});
    let date = || json!({"type": "date", "format": "epoch_millis"});
    let text_and = |name: &str, sub: Value| json!({"type": "text", "fields": {name: sub}});
    let short = || json!({"type": "keyword", "ignore_above": 1_024});
    json!({
        // Whose it is, which one, and who may see it.
        "id": keyword(), "store": keyword(), "address": long(), "job": long(), "job_name": short(), "document": short(),
        "version": long(), "seq": long(), "acl": long(), "container": long(),
        // What it says.
        "title": text_and("raw", short()), "body": {"type": "text"},
        "path": {"type": "keyword", "ignore_above": 8_191, "fields": {"words": {"type": "text"}}},
        "uri": {"type": "keyword", "ignore_above": 8_191}, "media_type": short(), "language": short(),
        "author": text_and("raw", short()), "size": long(), "modified": date(), "created": date(),
        "field": {"type": "keyword", "ignore_above": 8_191}, "fields": {"type": "object", "enabled": false},
    })
}

/// The mappings of an index that is made, with this beside them.
pub(super) fn mappings(meta: &Map<String, Value>) -> Value {
    json!({"dynamic": "strict", "_meta": meta, "properties": properties()})
}

/// How the mappings of an index differ from ours, a clause each.
pub(super) fn differences(mappings: &Value) -> Vec<String> {
    let mut found = Vec::new();
    if !matches!(&mappings["dynamic"], Value::String(word) if word == "strict" || word == "false") {
        found.push("`dynamic` is not `strict`, so that a document could make fields".to_owned());
    }
    if mappings.get("_source").is_some_and(|source| *source != json!({"enabled": true})) {
        found.push("`_source` does not keep entries as they are sent".to_owned());
    }
    if mappings["_routing"]["required"] == true {
        found.push("`_routing` is required".to_owned());
    }
    compare(&properties(), &mappings["properties"], "", &mut found);
    if found.len() > NAMED_MAX {
        let more = found.len() - NAMED_MAX;
        found.truncate(NAMED_MAX);
        found.push(format!("{more} more"));
    }
    found
}

fn compare(wanted: &Value, there: &Value, within: &str, found: &mut Vec<String>) {
    for (name, wanted) in wanted.as_object().into_iter().flatten() {
        let name = if within.is_empty() { name.clone() } else { format!("{within}.{name}") };
        let last = name.rsplit('.').next().unwrap_or_default();
        let Some(field) = there.get(last) else {
            found.push(format!("`{name}` is missing"));
            continue;
        };
        // An object says of itself that it is one only where it has no fields.
        let kind = field.get("type").cloned().unwrap_or_else(|| "object".into());
        if kind != wanted["type"] {
            found.push(format!("`{name}` is {kind} and not {}", wanted["type"]));
            continue;
        }
        for setting in FOREIGN.iter().chain(&["format"]) {
            if field.get(*setting) != wanted.get(*setting) {
                found.push(format!("`{setting}` of `{name}` is not as it has to be"));
            }
        }
        if let Some(wanted) = wanted.get("fields") {
            compare(wanted, field.get("fields").unwrap_or(&Value::Null), &name, found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_that_would_take_entries_otherwise_is_told_by_its_differences() {
        let ours = mappings(&Map::new());
        assert_eq!(differences(&ours), Vec::<String>::new());
        let mut other = ours.clone();
        other["properties"]["more"] = json!({"type": "text"});
        other["properties"]["body"]["analyzer"] = json!("english");
        assert_eq!(
            differences(&other),
            Vec::<String>::new(),
            "what is beside ours, and how words are cut, is theirs"
        );
        let wrong = |place: &str, value: Value| {
            let mut other = ours.clone();
            *other.pointer_mut(place).unwrap() = value;
            differences(&other).join("; ")
        };
        assert!(wrong("/dynamic", json!("true")).contains("dynamic"));
        assert_eq!(wrong("/properties/seq", json!({"type": "text"})), "`seq` is \"text\" and not \"long\"");
        assert!(
            wrong("/properties/acl", json!({"type": "long", "index": false})).contains("`index` of `acl`")
        );
        assert!(wrong("/properties/title/fields", json!({})).contains("`title.raw` is missing"));
        assert!(wrong("/properties/fields", json!({"properties": {}})).contains("`enabled` of `fields`"));
        assert!(wrong("/properties", json!({})).contains("more"));
    }
}
