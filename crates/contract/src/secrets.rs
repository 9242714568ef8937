//! Secrets in settings: a field is one where its schema says `writeOnly`, as JSON Schema has it for what is given and never
//! shown. One rule for connectors of every role: no answer, message, log or export shows its value, and no digest is made of it.

use schemars::Schema;
use serde_json::Value;

/// What stands in the place of a secret.
pub const HIDDEN: &str = "(hidden)";
/// What the schema of an output says of a field: true where another value changes what the output holds, so that everything is sent
/// again; false where it does not, such as where the output is and how it is reached. Of a field that says nothing, another value
/// counts with what is sent for another reason.
pub const RESENDS: &str = "x-resends";
/// What the schema of a setting says where it names something of this machine or its network that the program reaches with its own rights:
/// a file, a variable, a program, a server. Who asks from elsewhere does not choose it.
pub const OF_THE_MACHINE: &str = "x-of-the-machine";
/// References and alternatives of a schema that are followed at one place; what leads further counts as a secret.
const SHAPES_MAX: usize = 64;

/// A place in settings, by what their schema says of it.
#[derive(Clone, Debug)]
pub struct Place<'s> {
    root: &'s Value,
    shapes: Vec<&'s Value>,
    is_secret: bool,
    resends: Option<bool>,
}

impl<'s> Place<'s> {
    /// The settings themselves.
    pub fn of(schema: &'s Schema) -> Place<'s> {
        Place::at(schema.as_value(), vec![schema.as_value()])
    }

    /// What all of these schemas, and all that they refer to, say of a place.
    fn at(root: &'s Value, mut shapes: Vec<&'s Value>) -> Place<'s> {
        let mut next = 0;
        while let Some(shape) = shapes.get(next).copied().filter(|_| shapes.len() <= SHAPES_MAX) {
            let refers = shape["$ref"].as_str().and_then(|place| root.pointer(place.trim_start_matches('#')));
            let others = ["anyOf", "oneOf", "allOf"].into_iter().filter_map(|word| shape[word].as_array());
            shapes.extend(refers.into_iter().chain(others.flatten()));
            next += 1;
        }
        let is_secret =
            shapes.len() > SHAPES_MAX || shapes.iter().any(|shape| shape["writeOnly"] == Value::Bool(true));
        let said = |on: bool| shapes.iter().any(|shape| shape[RESENDS] == Value::Bool(on));
        // Where one shape says so and another one not, more is sent rather than less.
        let resends = if said(true) { Some(true) } else { said(false).then_some(false) };
        Place { root, shapes, is_secret, resends }
    }

    /// Whether the value here is a secret, with all that is in it.
    pub fn is_secret(&self) -> bool {
        self.is_secret
    }

    /// Whether the value here names something of this machine ([`OF_THE_MACHINE`]).
    pub fn is_of_the_machine(&self) -> bool {
        self.shapes.len() > SHAPES_MAX
            || self.shapes.iter().any(|shape| shape[OF_THE_MACHINE] == Value::Bool(true))
    }

    /// The place of a field.
    pub fn field(&self, name: &str) -> Place<'s> {
        let of =
            |shape: &&'s Value| shape["properties"].get(name).or_else(|| shape.get("additionalProperties"));
        Place::at(self.root, self.shapes.iter().filter_map(of).collect())
    }

    /// The place of each entry of a list.
    pub fn entry(&self) -> Place<'s> {
        Place::at(self.root, self.shapes.iter().filter_map(|shape| shape.get("items")).collect())
    }

    /// Names of the fields that the schema knows here.
    pub fn fields(&self) -> Vec<&'s str> {
        let names = self.shapes.iter().filter_map(|shape| shape["properties"].as_object());
        let mut names: Vec<&str> = names.flat_map(|fields| fields.keys().map(String::as_str)).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// A value here to be shown: each secret is there, and says that it is hidden.
    pub fn hidden(&self, mut value: Value) -> Value {
        self.each(&mut value, &mut |value| match value {
            Value::Null => {}
            Value::Array(all) => all.iter_mut().for_each(|value| *value = HIDDEN.into()),
            value => *value = HIDDEN.into(),
        });
        value
    }

    /// Changes each secret of a value here.
    fn each(&self, value: &mut Value, change: &mut dyn FnMut(&mut Value)) {
        match value {
            value if self.is_secret => change(value),
            Value::Object(fields) => {
                fields.iter_mut().for_each(|(name, value)| self.field(name).each(value, change));
            }
            Value::Array(all) => {
                let place = self.entry();
                all.iter_mut().for_each(|value| place.each(value, change));
            }
            _ => {}
        }
    }
}

/// Gives each secret of settings to `change`, with its place as a JSON pointer.
pub fn each_secret(schema: &Schema, settings: &mut Value, change: &mut dyn FnMut(&str, &mut Value)) {
    each_below(&Place::of(schema), settings, "", change);
}

fn each_below(place: &Place<'_>, value: &mut Value, pointer: &str, change: &mut dyn FnMut(&str, &mut Value)) {
    match value {
        value if place.is_secret => change(pointer, value),
        Value::Object(fields) => fields.iter_mut().for_each(|(name, value)| {
            let inner = format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"));
            each_below(&place.field(name), value, &inner, change);
        }),
        Value::Array(all) => {
            let entry = place.entry();
            for (at, value) in all.iter_mut().enumerate() {
                each_below(&entry, value, &format!("{pointer}/{at}"), change);
            }
        }
        _ => {}
    }
}

/// Settings to be shown ([`Place::hidden`]).
pub fn hidden(schema: &Schema, settings: Value) -> Value {
    Place::of(schema).hidden(settings)
}

/// Settings that were shown and come back, with each hidden secret as it is `stored` at the same place.
///
/// # Errors
/// The place of a secret that is hidden and not stored, such as `servers[1].password`.
pub fn restored(schema: &Schema, mut settings: Value, stored: Option<&Value>) -> Result<Value, String> {
    restore(&Place::of(schema), &mut settings, stored, "")?;
    Ok(settings)
}

fn restore(place: &Place<'_>, value: &mut Value, stored: Option<&Value>, name: &str) -> Result<(), String> {
    match value {
        value if place.is_secret => {
            let is_hidden = match &*value {
                Value::Array(all) => all.iter().any(|one| one == HIDDEN),
                one => *one == HIDDEN,
            };
            if is_hidden {
                *value = stored.cloned().ok_or_else(|| name.to_owned())?;
            }
            Ok(())
        }
        Value::Object(fields) => fields.iter_mut().try_for_each(|(field, value)| {
            let inner = if name.is_empty() { field.clone() } else { format!("{name}.{field}") };
            restore(&place.field(field), value, stored.and_then(|stored| stored.get(field)), &inner)
        }),
        Value::Array(all) => {
            let entry = place.entry();
            all.iter_mut().enumerate().try_for_each(|(at, value)| {
                restore(&entry, value, stored.and_then(|stored| stored.get(at)), &format!("{name}[{at}]"))
            })
        }
        _ => Ok(()),
    }
}

/// Settings to make a digest of what was sent of: as they are but for their secrets and what says that it changes nothing
/// ([`RESENDS`]), so that another password, or one at all, sends nothing again.
pub fn left_out(schema: &Schema, mut settings: Value) -> Value {
    without(&Place::of(schema), &mut settings);
    settings
}

fn without(place: &Place<'_>, value: &mut Value) {
    let counts = |place: &Place<'_>| !place.is_secret && place.resends != Some(false);
    match value {
        value if !counts(place) => *value = Value::Null,
        Value::Object(fields) => {
            fields.retain(|name, _| counts(&place.field(name)));
            fields.iter_mut().for_each(|(name, value)| without(&place.field(name), value));
        }
        Value::Array(all) => {
            let entry = place.entry();
            all.iter_mut().for_each(|value| without(&entry, value));
        }
        _ => {}
    }
}

/// The fields of settings of which another value sends everything again ([`RESENDS`]); none of them where there are none.
pub fn resending(schema: &Schema, settings: &Value) -> Option<Value> {
    let place = Place::of(schema);
    let fields = settings.as_object()?.iter().filter(|(name, value)| {
        let place = place.field(name);
        place.resends == Some(true) && !place.is_secret && !value.is_null()
    });
    let counted: serde_json::Map<String, Value> = fields
        .map(|(name, value)| {
            (name.clone(), left_out(schema, serde_json::json!({ name: value }))[name].take())
        })
        .collect();
    (!counted.is_empty()).then_some(Value::Object(counted))
}

/// A text about settings without any secret that they hold.
pub fn scrubbed(schema: &Schema, settings: &Value, text: &str) -> String {
    let mut secrets = Vec::new();
    Place::of(schema).each(&mut settings.clone(), &mut |value| collect(value, &mut secrets));
    // A secret that is in another one is looked for behind it.
    secrets.sort_unstable_by_key(|secret: &String| std::cmp::Reverse(secret.len()));
    secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret, HIDDEN))
}

/// Whether a text has in it what a value, or anything in it, holds.
pub(crate) fn tells(value: &Value, text: &str) -> bool {
    let mut held = Vec::new();
    collect(value, &mut held);
    held.iter().any(|held| text.contains(held.as_str()))
}

/// All spellings of what is in a secret: as it is, and as a program writes it between quotes.
fn collect(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::Number(number) => found.push(number.to_string()),
        Value::String(text) if text.is_empty() => {}
        Value::String(text) => {
            found.extend([text.clone(), text.escape_debug().to_string()]);
            found.push(value.to_string().trim_matches('"').to_owned());
        }
        Value::Array(all) => all.iter().for_each(|value| collect(value, found)),
        Value::Object(fields) => fields.iter().for_each(|(name, value)| {
            found.push(name.clone());
            collect(value, found);
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema() -> Schema {
        let schema = json!({
            "properties": {
                "user": {"type": "string"},
                "password": {"type": "string", "writeOnly": true},
                "inner": {"anyOf": [{"$ref": "#/$defs/Inner"}, {"type": "null"}]},
                "all": {"type": "array", "items": {"$ref": "#/$defs/Inner"}},
                "headers": {"type": "object", "additionalProperties": {"type": "string", "writeOnly": true}},
            },
            "$defs": {"Inner": {"properties": {
                "keys": {"type": "array", "items": {"type": "string"}, "writeOnly": true},
                "again": {"$ref": "#/$defs/Inner"},
            }}},
        });
        Schema::try_from(schema).unwrap()
    }

    #[test]
    fn secrets_are_hidden_and_left_out_wherever_they_are_and_nothing_else_changes() {
        let settings = json!({
            "user": "ann", "password": "p", "inner": {"keys": ["a", "b"], "again": {"keys": "c"}},
            "all": [{"keys": null}, {"keys": ["d"]}], "headers": {"x": "e"}, "unknown": ["f"],
        });
        let shown = json!({
            "user": "ann", "password": "(hidden)",
            "inner": {"keys": ["(hidden)", "(hidden)"], "again": {"keys": "(hidden)"}},
            "all": [{"keys": null}, {"keys": ["(hidden)"]}], "headers": {"x": "(hidden)"}, "unknown": ["f"],
        });
        assert_eq!(hidden(&schema(), settings.clone()), shown);
        let digested = json!({
            "user": "ann", "inner": {"again": {}}, "all": [{}, {}], "headers": {}, "unknown": ["f"],
        });
        assert_eq!(left_out(&schema(), settings), digested);
    }

    #[test]
    fn each_secret_is_met_once_with_the_pointer_that_leads_to_it() {
        let mut settings = json!({
            "user": "ann", "password": "p", "inner": {"keys": ["a", "b"], "again": {"keys": "c"}},
            "all": [{"keys": null}, {"keys": ["d"]}], "headers": {"a/b~c": "e"}, "unknown": ["f"],
        });
        let before = settings.clone();
        let mut met = Vec::new();
        each_secret(&schema(), &mut settings, &mut |pointer, value| {
            assert_eq!(before.pointer(pointer), Some(&*value), "{pointer}");
            met.push(pointer.to_owned());
        });
        met.sort_unstable();
        let pointers = [
            "/all/0/keys",
            "/all/1/keys",
            "/headers/a~1b~0c",
            "/inner/again/keys",
            "/inner/keys",
            "/password",
        ];
        assert_eq!(met, pointers);
    }

    #[test]
    fn what_sends_again_is_what_says_so_and_no_secret() {
        let schema = json!({"properties": {
            "mapping": {"$ref": "#/$defs/Mapping"},
            "url": {"type": "string", "x-resends": false},
            "token": {"type": "string", "writeOnly": true, "x-resends": true},
            "other": {"type": "string"},
        }, "$defs": {"Mapping": {"x-resends": true, "properties": {"key": {"writeOnly": true}, "host": {"x-resends": false}}}}});
        let schema = Schema::try_from(schema).unwrap();
        let settings =
            json!({"mapping": {"a": 1, "key": "k", "host": "h"}, "url": "u", "token": "t", "other": "o"});
        assert_eq!(resending(&schema, &settings), Some(json!({"mapping": {"a": 1}})));
        assert_eq!(left_out(&schema, settings), json!({"mapping": {"a": 1}, "other": "o"}));
        for none in [
            json!({"url": "u", "other": "o", "token": "t"}),
            json!({"mapping": null}),
            json!({}),
            json!(null),
        ] {
            assert_eq!(resending(&schema, &none), None, "{none}");
        }
    }

    #[test]
    fn a_text_is_scrubbed_of_every_spelling_of_a_secret() {
        let settings = json!({"user": "ann", "password": "hun\"ter", "headers": {"x": "hun\"ter2"}});
        let text = format!("ann: hun\"ter, hun\"ter2, {:?} and {}", "hun\"ter", json!("hun\"ter2"));
        let told = "ann: (hidden), (hidden), \"(hidden)\" and \"(hidden)\"";
        assert_eq!(scrubbed(&schema(), &settings, &text), told);
    }

    #[test]
    fn a_schema_that_refers_to_itself_without_end_hides() {
        let circle = Schema::try_from(json!({"anyOf": [{"$ref": "#"}, {"$ref": "#"}]})).unwrap();
        assert!(Place::of(&circle).is_secret());
    }

    #[test]
    fn what_was_hidden_comes_back_as_it_is_stored_and_is_asked_for_where_it_is_not() {
        let schema = schemars::json_schema!({ "type": "object", "properties": {
            "name": { "type": "string" },
            "keys": { "type": "array", "writeOnly": true },
            "servers": { "type": "array", "items": { "type": "object", "properties": { "password": { "writeOnly": true } } } },
        }});
        let stored = serde_json::json!({"name": "n", "keys": ["a", "b"], "servers": [{"password": "x"}, {"password": "y"}]});
        let shown = hidden(&schema, stored.clone());
        assert_eq!(restored(&schema, shown.clone(), Some(&stored)), Ok(stored.clone()));
        let mut other = shown.clone();
        other["servers"][0]["password"] = "new".into();
        other["name"] = HIDDEN.into();
        let back = restored(&schema, other, Some(&stored)).unwrap();
        assert_eq!(
            (&back["servers"][0]["password"], &back["servers"][1]["password"]),
            (&"new".into(), &"y".into())
        );
        assert_eq!(back["name"], HIDDEN, "what is no secret is what it says");
        assert_eq!(restored(&schema, shown.clone(), None), Err("keys".to_owned()));
        let fewer = serde_json::json!({"keys": ["a"], "servers": [{"password": "x"}]});
        assert_eq!(restored(&schema, shown, Some(&fewer)), Err("servers[1].password".to_owned()));
    }
}
