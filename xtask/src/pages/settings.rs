//! A table of settings from their JSON Schema.

use std::fmt::Write as _;

use serde_json::Value;

/// Objects inside objects are followed this far.
const DEPTH_MAX: usize = 4;

/// One setting.
#[derive(Debug, PartialEq, Eq)]
struct Row {
    name: String,
    kind: String,
    default: String,
    limits: String,
    about: String,
    words: Vec<(String, String)>,
}

/// The settings that a schema describes, as Markdown.
pub(crate) fn table(schema: &Value) -> String {
    let mut rows = Vec::new();
    collect(schema, schema, "", DEPTH_MAX, &mut rows);
    if rows.is_empty() {
        return "It has no settings.\n".to_owned();
    }
    let mut page = match schema["description"].as_str() {
        Some(about) => format!("{}\n\n", about.trim()),
        None => String::new(),
    };
    page.push_str("| Setting | Type | Default | Limits | Meaning |\n|---|---|---|---|---|\n");
    for row in &rows {
        let Row { name, kind, default, limits, about, .. } = row;
        let _ = writeln!(page, "| `{name}` | {kind} | {default} | {limits} | {about} |");
    }
    for Row { name, words, .. } in rows.iter().filter(|row| !row.words.is_empty()) {
        let _ = writeln!(page, "\nWords of `{name}`:\n");
        for (word, about) in words {
            let _ = writeln!(page, "- `{word}`: {about}");
        }
    }
    page
}

/// The words that a setting may be, each with what it means, where the schema says so.
fn words(shape: &Value) -> Vec<(String, String)> {
    let variants = shape["oneOf"].as_array().into_iter().flatten();
    let told = variants.filter_map(|variant| {
        let about = variant["description"].as_str()?;
        Some((variant["const"].as_str()?.to_owned(), cell(about)))
    });
    told.collect()
}

fn collect(root: &Value, schema: &Value, prefix: &str, depth: usize, rows: &mut Vec<Row>) {
    let Some(properties) = schema["properties"].as_object() else { return };
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, declared) in properties {
        let shape = resolve(root, declared);
        let text = |key: &str| declared[key].as_str().or(shape[key].as_str()).unwrap_or_default();
        let default = match &declared["default"] {
            Value::Null if required.contains(&name.as_str()) => "required".to_owned(),
            Value::Null => "none".to_owned(),
            value => format!("`{value}`"),
        };
        rows.push(Row {
            name: format!("{prefix}{name}"),
            kind: kind(root, declared),
            default,
            limits: limits(declared, shape),
            about: cell(text("description")),
            words: words(shape),
        });
        if depth > 0 {
            collect(root, shape, &format!("{prefix}{name}."), depth - 1, rows);
            collect(root, resolve(root, &shape["items"]), &format!("{prefix}{name}[]."), depth - 1, rows);
        }
    }
}

/// What the schema stands for: behind references and "or null".
fn resolve<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let mut shape = schema;
    for _ in 0..DEPTH_MAX {
        if let Some(place) = shape["$ref"].as_str() {
            shape = root.pointer(place.trim_start_matches('#')).unwrap_or(&Value::Null);
        } else if let Some(some) =
            shape["anyOf"].as_array().and_then(|any| any.iter().find(|s| s["type"] != "null"))
        {
            shape = some;
        } else {
            break;
        }
    }
    shape
}

fn kind(root: &Value, schema: &Value) -> String {
    let shape = resolve(root, schema);
    let choices: Vec<String> = match (shape["enum"].as_array(), shape["oneOf"].as_array()) {
        (Some(words), _) => {
            words.iter().filter(|word| !word.is_null()).map(|word| format!("`{word}`")).collect()
        }
        (_, Some(variants)) => variants.iter().map(|variant| variant_name(root, variant)).collect(),
        _ => Vec::new(),
    };
    if !choices.is_empty() {
        return choices.join(" or ");
    }
    let names: Vec<&str> = match &shape["type"] {
        Value::String(name) => vec![name],
        Value::Array(names) => {
            names.iter().filter_map(Value::as_str).filter(|name| *name != "null").collect()
        }
        _ => vec!["any"],
    };
    match names.as_slice() {
        ["array"] => format!("list of {}", kind(root, &shape["items"])),
        ["object"] if shape["additionalProperties"].is_object() => {
            format!("names with {}", kind(root, &shape["additionalProperties"]))
        }
        names => names.join(" or "),
    }
}

fn variant_name(root: &Value, variant: &Value) -> String {
    match (&variant["const"], &variant["enum"]) {
        (Value::Null, Value::Array(words)) => {
            words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(" or ")
        }
        (Value::Null, _) if variant["oneOf"].is_null() => kind(root, variant),
        (word, _) => format!("`{word}`"),
    }
}

fn limits(declared: &Value, shape: &Value) -> String {
    const WORDS: &[(&str, &str)] = &[
        ("minimum", "at least"),
        ("maximum", "at most"),
        ("minLength", "length at least"),
        ("maxLength", "length at most"),
        ("minItems", "entries at least"),
        ("maxItems", "entries at most"),
        ("maxProperties", "entries at most"),
        ("pattern", "matches"),
        ("format", "format"),
    ];
    let limit =
        |key: &str| [declared, shape].into_iter().map(|schema| &schema[key]).find(|value| !value.is_null());
    let said = WORDS.iter().filter_map(|(key, words)| {
        let value = limit(key)?;
        Some(match value.as_str() {
            Some(text) => format!("{words} `{}`", cell(text)),
            None => format!("{words} {value}"),
        })
    });
    said.collect::<Vec<_>>().join(", ")
}

/// Text that fits a cell.
fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
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
            "| `root` | string | required | length at most 9 | The folder. Absolute \\| relative. |",
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

    #[test]
    fn a_schema_that_names_itself_ends() {
        let schema = json!({"properties": {"a": {"$ref": "#"}}});
        assert_eq!(table(&schema).matches("| any |").count(), DEPTH_MAX + 1);
    }
}
