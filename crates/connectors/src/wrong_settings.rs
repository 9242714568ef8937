//! What somebody typed into a setting may be a password that was meant for another one: no refusal tells it.

use std::path::Path;

use ingather_contract::output::OutputContext;
use ingather_contract::repository::HostContext;
use ingather_contract::secrets::Place;
use ingather_model::fault::Fault;
use schemars::Schema;
use serde_json::{Value, json};

use crate::ALL;

/// What no sentence may have in it.
const PASSWORD: &str = "hunter2narwhal";
/// Settings inside each other that are filled.
const DEPTH_MAX: usize = 4;

/// The password as people may have typed it: with what leads a reader of the setting further into it.
fn typed() -> Vec<Value> {
    let around = [
        "",
        "/",
        "http://",
        "http://ann:",
        "${",
        "${a|(",
        "${a|",
        "2024-",
        "unix:",
        "text/",
        "\\x",
        "*[",
        "[",
    ];
    let mut typed: Vec<Value> = around.iter().map(|before| json!(format!("{before}{PASSWORD}"))).collect();
    typed.extend([
        json!({ PASSWORD: 1 }),
        json!({"field": PASSWORD, "values": PASSWORD}),
        json!([[PASSWORD]]),
    ]);
    typed
}

/// Values for a place with the password somewhere in them.
fn planted(place: &Place<'_>, depth: usize) -> Vec<Value> {
    let mut values = typed();
    let lists: Vec<Value> = values.iter().map(|value| json!([value])).collect();
    values.extend(lists);
    if depth < DEPTH_MAX {
        let inner = |place: &Place<'_>| -> Vec<Value> {
            let fields = place.fields();
            fields
                .iter()
                .flat_map(|name| {
                    planted(&place.field(name), depth + 1).into_iter().map(|value| json!({ *name: value }))
                })
                .collect()
        };
        values.extend(inner(place));
        values.extend(inner(&place.entry()).into_iter().map(|value| json!([value])));
    }
    values
}

/// Hands all settings of a kind with a password in a wrong place to `open`; how many were refused.
fn refused(kind: &str, schema: &Schema, open: &dyn Fn(&Value) -> Option<Fault>) -> usize {
    let root = Place::of(schema);
    let mut settings = vec![json!(PASSWORD), json!([PASSWORD]), json!({"no_such_setting": PASSWORD})];
    for name in root.fields() {
        settings.extend(planted(&root.field(name), 0).into_iter().map(|value| json!({ name: value })));
    }
    let faults: Vec<(Value, String)> = settings
        .into_iter()
        .filter_map(|value| Some((value.clone(), open(&value)?.reason().message)))
        .collect();
    for (value, said) in &faults {
        // A name is named, one that is no setting as one that a table has for a wrong value: it is a slip of the name and no value.
        let is_name = said.contains(&format!("`{PASSWORD}` is no setting"))
            || said.contains(&format!(".{PASSWORD}` must be "));
        assert!(is_name || !said.contains(PASSWORD), "{kind}: {said:?} for {value}");
    }
    faults.len()
}

#[test]
fn no_connector_tells_what_was_typed_into_a_setting_that_it_refuses() {
    let folder = tempfile::tempdir().unwrap();
    let context = OutputContext { data: folder.path().to_owned(), store: "0".to_owned(), session: 0 };
    for kind in ALL.transforms {
        let count = refused(kind.name, &(kind.schema)(), &|value| (kind.open)(value).err());
        assert!(count > 2, "{}", kind.name);
    }
    for kind in ALL.authorities {
        let count = refused(kind.name, &(kind.schema)(), &|value| {
            // As with outputs: a file that can be named so.
            let is_path = value["file"].as_str().is_some_and(|file| Path::new(file).is_absolute());
            (kind.open)(value, None).err().filter(|_| !is_path)
        });
        assert!(count > 2, "{}", kind.name);
    }
    for kind in ALL.outputs {
        let count = refused(kind.name, &(kind.schema)(), &|value| {
            // A file that can be named so is no wrong setting.
            let is_path = value["file"].as_str().is_some_and(|file| Path::new(file).is_absolute());
            (kind.check)(value, &context).err().filter(|_| !is_path)
        });
        assert!(count > 2, "{}", kind.name);
    }
    let host = || HostContext { own: Vec::new(), threads: 1, ..HostContext::default() };
    for kind in ALL.repositories {
        let count = refused(kind.name, &(kind.source_schema)(), &|value| {
            let mut value = value.clone();
            if let Some(fields) = value.as_object_mut().filter(|fields| !fields.contains_key("root")) {
                let root = match kind.name {
                    "web" => json!("http://localhost/"),
                    "feed" => json!("feed+http://localhost/"),
                    "wiki" => json!("wiki+http://localhost/api.php"),
                    _ => json!(folder.path()),
                };
                fields.insert("root".to_owned(), root);
            }
            // Root and patterns are typed behind the command, where every person of the machine reads them: of many, the wrong one
            // is named.
            let is_typed = |fault: &Fault| ["root", "glob"].contains(&fault.reason().code.as_str());
            (kind.open)(&value, &host()).err().filter(|fault| !is_typed(fault))
        });
        assert!(count > 2, "{}", kind.name);
    }
}
