//! The `fields` transform: names and values of fields as an output wants them.

mod expression;
mod properties;

use std::collections::BTreeMap;
use std::sync::Arc;

use garde::Validate;
use ingather_contract::call::CallContext;
use ingather_contract::settings;
use ingather_contract::transform::{Item, Transform, TransformKind, Verdict};
use ingather_model::document::Record;
use ingather_model::fault::Fault;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use expression::Expression;
use properties::{READABLE, WRITABLE};

/// Entries of one list of settings.
const LIST_MAX: usize = 1_024;
/// Longest name of a field, bytes.
const NAME_BYTES_MAX: usize = 1_024;
/// Longest expression, bytes.
const EXPRESSION_BYTES_MAX: usize = 65_536;

/// The `fields` transform.
pub(crate) const TRANSFORM: TransformKind = TransformKind {
    name: "fields",
    about: "Sets, renames, removes and keeps fields; values may be made of other fields with `${field}` and regular expressions.",
    version: "2",
    schema: settings::schema_of::<Settings>,
    open,
};

fn open(value: &serde_json::Value) -> Result<Arc<dyn Transform>, Fault> {
    let settings: Settings = settings::read(value)?;
    let written =
        settings.set.iter().map(|set| &set.field).chain(settings.rename.iter().map(|rename| &rename.to));
    let taken = settings.remove.iter().chain(settings.rename.iter().map(|rename| &rename.from));
    if let Some(name) = written.chain(taken).find(|name| READABLE.contains(&name.as_str())) {
        return Err(Fault::refused(
            "settings",
            format!(
                "`{name}` can be read only; what can be written beside other fields is {}",
                WRITABLE.join(", ")
            ),
        ));
    }
    let mut set = Vec::new();
    for (at, Set { field, values }) in settings.set.iter().enumerate() {
        let read = values.iter().map(|value| Expression::read(value)).collect::<Result<_, _>>();
        let wrong = |why| Fault::refused("settings", format!("set[{at}].values: {why}"));
        set.push((field.clone(), read.map_err(wrong)?));
    }
    Ok(Arc::new(Fields { settings, set }))
}

/// What becomes of fields, in this order: values of `set` are worked out of the record as it arrives; then `rename`,
/// `keep`, `remove`; then the values of `set` are written; then `lower_case_names` and `drop_empty`.
///
/// `title`, `author`, `language` and `body` are written and read like fields; `uri`, `path`, `media_type`, `size`,
/// `modified` and `created` are read like fields.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields, default)]
struct Settings {
    /// Fields to write, in the place of what they hold.
    #[garde(length(max = LIST_MAX), dive)]
    set: Vec<Set>,
    /// Fields to give another name; where there is a field of that name, the values join it.
    #[garde(length(max = LIST_MAX), dive)]
    rename: Vec<Rename>,
    /// Fields to keep, by the names that they have after `rename`; none: all. Title, author, language and text stay.
    #[garde(length(max = LIST_MAX), inner(length(bytes, min = 1, max = NAME_BYTES_MAX)))]
    keep: Vec<String>,
    /// Fields to take away; `title`, `author`, `language` and `body` can be taken away, too.
    #[garde(length(max = LIST_MAX), inner(length(bytes, min = 1, max = NAME_BYTES_MAX)))]
    remove: Vec<String>,
    /// Turns names of fields into lower case; those that are equal then are joined.
    #[garde(skip)]
    lower_case_names: bool,
    /// Takes empty values away, and fields without a value.
    #[garde(skip)]
    drop_empty: bool,
}

/// A field and its values.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
struct Set {
    /// Name of the field.
    #[garde(length(bytes, min = 1, max = NAME_BYTES_MAX))]
    field: String,
    /// Its values: text, in which `${name}` stands for each value of a field, `${name|regex}` for what matches in it, and
    /// `${name|regex|2}` for a group of the match, in lower case with `2l`, in upper case with `2u`. Several in one text
    /// give every combination. Without any value the field stays as it is. `$${` stands for `${`.
    #[garde(length(min = 1, max = LIST_MAX), inner(length(bytes, max = EXPRESSION_BYTES_MAX)))]
    values: Vec<String>,
}

/// A field and its new name.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
struct Rename {
    /// Name as it arrives.
    #[garde(length(bytes, min = 1, max = NAME_BYTES_MAX))]
    from: String,
    /// New name.
    #[garde(length(bytes, min = 1, max = NAME_BYTES_MAX))]
    to: String,
}

struct Fields {
    settings: Settings,
    set: Vec<(String, Vec<Expression>)>,
}

impl Transform for Fields {
    fn apply(&self, _call: &CallContext, item: &mut Item<'_>) -> Result<Verdict, Fault> {
        let record = &mut *item.record;
        let mut made = Vec::with_capacity(self.set.len());
        for (field, expressions) in &self.set {
            let mut values = Vec::new();
            for expression in expressions {
                let more = expression.values(record);
                values.extend(more.map_err(|why| {
                    Fault::broken("fields", format!("field `{field}` {why}; make its expression narrower"))
                })?);
            }
            made.push((field, values));
        }
        self.rename(record);
        if !self.settings.keep.is_empty() {
            record.fields.retain(|name, _| self.settings.keep.contains(name));
        }
        for name in &self.settings.remove {
            properties::write(record, name, Vec::new());
        }
        for (field, values) in made.into_iter().filter(|(_, values)| !values.is_empty()) {
            properties::write(record, field, values);
        }
        if self.settings.lower_case_names {
            let mut lower: BTreeMap<String, Vec<String>> = BTreeMap::new();
            for (name, values) in std::mem::take(&mut record.fields) {
                lower.entry(name.to_lowercase()).or_default().extend(values);
            }
            record.fields = lower;
        }
        if self.settings.drop_empty {
            for values in record.fields.values_mut() {
                values.retain(|value| !value.trim().is_empty());
            }
            record.fields.retain(|_, values| !values.is_empty());
        }
        Ok(Verdict::Pass)
    }
}

impl Fields {
    /// Gives all their new names at once, so that two can change places.
    fn rename(&self, record: &mut Record) {
        let mut moved = Vec::new();
        for Rename { from, to } in &self.settings.rename {
            let values = properties::values(record, from);
            if !values.is_empty() {
                properties::write(record, from, Vec::new());
                moved.push((to, values));
            }
        }
        for (to, values) in moved {
            let single = WRITABLE.contains(&to.as_str());
            let mut all = if single { Vec::new() } else { properties::values(record, to) };
            all.extend(values);
            properties::write(record, to, all);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::trial::{refused, without_reading};
    use super::*;
    use ingather_testkit::suites;
    use serde_json::{Value, json};

    #[test]
    fn it_keeps_what_a_transform_promises() {
        let settings = json!({"set": [{"field": "source", "values": ["${path|.*/}", "constant"]}]});
        suites::transform(&TRANSFORM, &settings, &[("a.txt", b"text")]);
    }

    fn before() -> Record {
        let mut record = Record {
            uri: "file:///a/b.txt".into(),
            title: "b.txt".into(),
            path: "/a/b.txt".into(),
            body: Some("some words".into()),
            author: Some("Ann".into()),
            size: Some(7),
            ..Record::default()
        };
        for (name, values) in [("A", &["1", ""][..]), ("b", &["2"]), ("a", &["3"]), ("empty", &[" "])] {
            record.fields.insert(name.into(), values.iter().map(|value| (*value).to_owned()).collect());
        }
        record
    }

    fn after(settings: &Value) -> Record {
        let mut record = before();
        assert_eq!(without_reading(&TRANSFORM, settings, &mut record).0.unwrap(), Verdict::Pass);
        record
    }

    /// The fields as one text.
    fn fields(settings: Value) -> String {
        let fields = after(&settings).fields;
        fields
            .into_iter()
            .map(|(name, values)| format!("{name}={}", values.join(",")))
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn fields_are_renamed_kept_removed_and_written() {
        for (settings, told) in [
            (json!({}), "A=1, a=3 b=2 empty= "),
            (json!({"rename": [{"from": "b", "to": "c"}]}), "A=1, a=3 c=2 empty= "),
            (json!({"rename": [{"from": "b", "to": "a"}]}), "A=1, a=3,2 empty= "),
            (json!({"rename": [{"from": "b", "to": "a"}, {"from": "a", "to": "b"}]}), "A=1, a=2 b=3 empty= "),
            (json!({"rename": [{"from": "author", "to": "writer"}], "keep": ["writer"]}), "writer=Ann"),
            (json!({"rename": [{"from": "none", "to": "c"}], "keep": ["c"]}), ""),
            (json!({"keep": ["a"]}), "a=3"),
            (json!({"remove": ["a", "A"]}), "b=2 empty= "),
            (json!({"lower_case_names": true}), "a=1,,3 b=2 empty= "),
            (json!({"drop_empty": true}), "A=1 a=3 b=2"),
            (json!({"keep": ["a"], "set": [{"field": "x", "values": ["1", "2"]}]}), "a=3 x=1,2"),
            (
                json!({"remove": ["b"], "keep": ["b"], "set": [{"field": "x", "values": ["${b}${size}"]}]}),
                "x=27",
            ),
            (json!({"keep": ["b"], "set": [{"field": "b", "values": ["${none}"]}]}), "b=2"),
            (
                json!({"keep": ["b"], "set": [{"field": "b", "values": ["${b}!"]}, {"field": "c", "values": ["${b}"]}]}),
                "b=2! c=2",
            ),
        ] {
            assert_eq!(fields(settings.clone()), told, "{settings}");
        }
    }

    #[test]
    fn title_author_language_and_text_are_written_like_fields() {
        let record = after(&json!({"set": [
            {"field": "title", "values": ["${path|/([^/]*)/|1u}: ${title}", "second"]},
            {"field": "author", "values": ["${author}", "Bob"]},
            {"field": "language", "values": ["en"]},
            {"field": "body", "values": ["${title}", "${body}"]},
        ]}));
        assert_eq!((record.title.as_str(), record.author.as_deref()), ("A: b.txt", Some("Ann, Bob")));
        assert_eq!(
            (record.language.as_deref(), record.body.as_deref()),
            (Some("en"), Some("b.txt\nsome words"))
        );
        assert_eq!((record.uri, record.path), (before().uri, before().path));
        let record =
            after(&json!({"remove": ["title", "author", "body"], "rename": [{"from": "b", "to": "title"}]}));
        assert_eq!((record.title.as_str(), record.author, record.body), ("", None, None));
        assert_eq!(after(&json!({"rename": [{"from": "b", "to": "title"}]})).title, "2");
    }

    #[test]
    fn what_would_not_work_is_refused_and_what_grows_too_large_breaks_that_document() {
        assert!(
            refused(&TRANSFORM, json!({"set": [{"field": "uri", "values": ["x"]}]}))
                .contains("title, author")
        );
        assert!(refused(&TRANSFORM, json!({"remove": ["size"]})).contains("`size`"));
        assert!(
            refused(&TRANSFORM, json!({"set": [{"field": "x", "values": ["${"]}]})).contains("set[0].values")
        );
        refused(&TRANSFORM, json!({"set": [{"field": "x", "values": []}]}));
        let mut record = Record::default();
        record.fields.insert("a".into(), vec!["x".to_owned(); 200]);
        let squared = json!({"set": [{"field": "x", "values": ["${a}${a}"]}]});
        let fault = without_reading(&TRANSFORM, &squared, &mut record).0.unwrap_err();
        assert!(matches!(&fault, Fault::Broken(reason) if reason.message.contains("`x`")), "{fault}");
    }
}
