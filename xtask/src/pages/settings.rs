//! A table of settings from their JSON Schema.

use std::fmt::Write as _;

use ingather_contract::described::{Described, described};
use serde_json::Value;

/// The settings that a schema describes, as Markdown.
pub(crate) fn table(schema: &Value) -> String {
    let rows = described(schema);
    if rows.is_empty() {
        return "It has no settings.\n".to_owned();
    }
    let mut page = match schema["description"].as_str() {
        Some(about) => format!("{}\n\n", about.trim()),
        None => String::new(),
    };
    page.push_str("| Setting | Type | Default | Limits | Meaning |\n|---|---|---|---|---|\n");
    for row in &rows {
        let Described { path, kind, default, limits, about, .. } = row;
        let (limits, about) = (cell(limits), cell(about));
        let _ = writeln!(page, "| `{path}` | {kind} | {} | {limits} | {about} |", cell(default));
    }
    for Described { path, words, .. } in rows.iter().filter(|row| !row.words.is_empty()) {
        let _ = writeln!(page, "\nWords of `{path}`:\n");
        for (word, about) in words {
            let _ = writeln!(page, "- `{word}`: {}", cell(about));
        }
    }
    page
}

/// Text that fits a cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_setting_shows_type_default_limits_and_meaning() {
        let schema = json!({
            "required": ["root"],
            "properties": {
                "root": {"type": "string", "description": "The folder.\nAbsolute | relative.", "maxLength": 9},
                "mode": {"$ref": "#/$defs/Mode", "default": "fast"},
                "more": {"anyOf": [{"$ref": "#/$defs/More"}, {"type": "null"}]},
                "users": {"type": "object", "additionalProperties": {"type": "boolean"}},
                "names": {"type": ["array", "null"], "items": {"type": "string"}},
                "rules": {"type": "array", "items": {"$ref": "#/$defs/More"}},
            },
            "$defs": {
                "Mode": {"oneOf": [
                    {"const": "fast", "type": "string", "description": "Soon."}, {"enum": ["exact", "slow"]},
                ]},
                "More": {"type": "object", "properties": {"size": {"type": "integer", "minimum": 1}}},
            },
        });
        let page = table(&schema);
        for row in [
            "| `root` | string | required | up to 9 characters | The folder. Absolute \\| relative. |",
            "| `mode` | `\"fast\"` or `\"exact\"` or `\"slow\"` | `\"fast\"` |  |  |",
            "| `more` | object | none |  |  |",
            "| `users` | names with boolean | none |  |  |",
            "| `more.size` | integer | none | at least 1 |  |",
            "| `rules[].size` | integer | none | at least 1 |  |",
            "\n\nWords of `mode`:\n\n- `fast`: Soon.\n",
        ] {
            assert!(page.contains(row), "{row} in\n{page}");
        }
        assert!(page.contains("| `names` | list of string | none |  |  |"), "{page}");
    }

    #[test]
    fn no_settings_are_said() {
        assert_eq!(table(&json!({"type": "object", "additionalProperties": false})), "It has no settings.\n");
    }
}
