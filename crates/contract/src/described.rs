//! Settings as people read them, from their JSON Schema: for manual pages and for the program's own help.

use serde_json::Value;

/// Objects inside objects are followed this far.
const DEPTH_MAX: usize = 4;

/// One setting, in words; choices and values stand in backquotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// How many settings it lies in.
    pub depth: usize,
    /// Its name among all, such as `set[].field`.
    pub path: String,
    /// Its own name.
    pub name: String,
    /// Its type, or the words that it may be.
    pub kind: String,
    /// Its value when nobody says any; `required` or `none` otherwise.
    pub default: String,
    /// What its value is bounded by; empty without bounds.
    pub limits: String,
    /// What it means, in one line.
    pub about: String,
    /// The words that it may be, each with what that means, where the schema says so.
    pub words: Vec<(String, String)>,
}

/// All settings of a schema, each before those that lie in it.
pub fn described(schema: &Value) -> Vec<Described> {
    let mut found = Vec::new();
    collect(schema, schema, "", 0, &mut found);
    found
}

/// The words that a setting may be, each with what it means, where the schema says so.
fn words(shape: &Value) -> Vec<(String, String)> {
    let variants = shape["oneOf"].as_array().into_iter().flatten();
    let told = variants.filter_map(|variant| {
        let about = variant["description"].as_str()?;
        Some((variant["const"].as_str()?.to_owned(), flat(about)))
    });
    told.collect()
}

fn collect(root: &Value, schema: &Value, prefix: &str, depth: usize, found: &mut Vec<Described>) {
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
        found.push(Described {
            depth,
            path: format!("{prefix}{name}"),
            name: name.clone(),
            kind: kind(root, declared),
            default,
            limits: limits(declared, shape),
            about: flat(text("description")),
            words: words(shape),
        });
        if depth < DEPTH_MAX {
            collect(root, shape, &format!("{prefix}{name}."), depth + 1, found);
            let each = resolve(root, &shape["items"]);
            collect(root, each, &format!("{prefix}{name}[]."), depth + 1, found);
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
    let limit =
        |key: &str| [declared, shape].into_iter().map(|schema| &schema[key]).find(|value| !value.is_null());
    let number = |key: &str| limit(key).and_then(Value::as_f64);
    let many = |key: &str, what: &str| {
        limit(key)
            .map(|most| format!("up to {most} {what}{}", if most.as_u64() == Some(1) { "" } else { "s" }))
    };
    let least = |key: &str, what: &str| match limit(key)?.as_u64()? {
        0 => None,
        1 => Some("not empty".to_owned()),
        least => Some(format!("at least {least} {what}s")),
    };
    let said = [
        // What no type could hold less of is not worth a word.
        limit("minimum").filter(|_| number("minimum") != Some(0.0)).map(|least| format!("at least {least}")),
        limit("maximum").map(|most| format!("at most {most}")),
        least("minLength", "character"),
        many("maxLength", "character"),
        least("minItems", "value"),
        many("maxItems", "value"),
        many("maxProperties", "value"),
        limit("pattern").and_then(Value::as_str).map(|pattern| format!("matches `{}`", flat(pattern))),
    ];
    said.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Text in one line.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_setting_stands_before_those_that_lie_in_it() {
        let schema = json!({"properties": {
            "b": {"type": "array", "items": {"properties": {"inner": {"type": "string"}}, "required": ["inner"]}},
            "a": {"type": "integer", "default": 3},
        }});
        let told: Vec<(usize, String, String)> =
            described(&schema).into_iter().map(|one| (one.depth, one.path, one.default)).collect();
        let row = |depth, path: &str, default: &str| (depth, path.to_owned(), default.to_owned());
        assert!(told.contains(&row(0, "a", "`3`")), "{told:?}");
        let at = told.iter().position(|one| *one == row(0, "b", "none")).unwrap();
        assert_eq!(told[at + 1], row(1, "b[].inner", "required"));
    }

    #[test]
    fn a_schema_that_names_itself_ends() {
        let schema = json!({"properties": {"a": {"$ref": "#"}}});
        assert_eq!(described(&schema).len(), DEPTH_MAX + 1);
    }
}
