//! The `passages` transform: cuts texts into passages that are entries of their own, for vector stores and for answers.

mod cut;
mod sections;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use garde::Validate;
use ingather_contract::call::CallContext;
use ingather_contract::settings;
use ingather_contract::transform::{Item, Transform, TransformKind, Verdict};
use ingather_model::document::{Component, Record};
use ingather_model::fault::Fault;
use ingather_model::limits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::sections::Section;
use super::truncated;
use crate::transforms::text::{Container, FORM};

/// The `passages` transform.
pub(crate) const TRANSFORM: TransformKind = TransformKind {
    name: "passages",
    about: "Cuts texts at paragraphs and sentences into passages that are entries of their own, for vector stores.",
    version: "3",
    schema: settings::schema_of::<Settings>,
    open,
};

/// What passages cannot have of their document, and why.
const OWN: [(&str, &str); 2] = [("size", "they have none"), ("media_type", "they have one of their own")];

fn open(value: &serde_json::Value) -> Result<Arc<dyn Transform>, Fault> {
    let settings: Settings = settings::read(value)?;
    if settings.overlap > settings.size / 2 {
        let (size, overlap) = (settings.size, settings.overlap);
        let message =
            format!("overlap: {overlap} is more than half of the size {size}; give less, or a larger size");
        return Err(Fault::refused("settings", message));
    }
    // What would be given and dropped without a word.
    if let Some((own, why)) = OWN.iter().find(|(own, _)| settings.fields.iter().any(|field| field == own)) {
        return Err(Fault::refused(
            "settings",
            format!("fields: `{own}` cannot be given to passages; {why}"),
        ));
    }
    Ok(Arc::new(Passages { settings }))
}

/// How texts are cut. A text with marks of Markdown is cut at its headings first. A passage ends with a paragraph where it can, else with a sentence, else with a word, and never
/// where a passage before it was only just begun: all but the last have at least half of the size. At most 10,000 are made of
/// a text; the document of a longer one has the field `truncated`.
#[derive(Clone, Debug, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields, default)]
struct Settings {
    /// Most words or characters of a passage, those that it shares with the one before included.
    #[garde(range(min = 10, max = 100_000))]
    size: usize,
    /// What is counted.
    #[garde(skip)]
    unit: Unit,
    /// Words or characters at the end of a passage with which the next one begins; at most half of the size.
    #[garde(skip)]
    overlap: usize,
    /// How passages are named inside their document.
    #[garde(skip)]
    names: Names,
    /// The entry of a document that was cut: as it is, without its text, or none.
    #[garde(skip)]
    document: Container,
    /// Passages have the title of their document. A new title sends them again.
    #[garde(skip)]
    title: bool,
    /// Passages have a field `passage` with their number in the document, from 1. Text that is inserted sends all that
    /// follow it again, for their number is another one.
    #[garde(skip)]
    position: bool,
    /// Passages of a text with marks of Markdown have a field `page`, the pages that they stand on, and a field `headings`, the
    /// headings that they stand under, such as `Terms > Payment`. Text that moves to another page sends its passages again.
    #[garde(skip)]
    place: bool,
    /// Fields of the document that its passages have, too, and its times, `modified` and `created`: then a document that was
    /// only touched sends them again.
    #[garde(length(max = 1_024), inner(length(bytes, min = 1, max = 1_024)))]
    fields: Vec<String>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            size: 250,
            unit: Unit::default(),
            overlap: 30,
            names: Names::default(),
            document: Container::default(),
            title: true,
            position: false,
            place: true,
            fields: Vec::new(),
        }
    }
}

/// What is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Unit {
    /// Words; where a script puts no space between words, characters.
    #[default]
    Words,
    /// Characters, white space between words included.
    Characters,
}

/// How passages are named inside their document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Names {
    /// By a digest of their text, equal ones with a number: what did not change keeps its name, wherever it stands.
    #[default]
    Content,
    /// By their number, from 1: names are short and in order, and text that is inserted changes all that follow it.
    Position,
}

struct Passages {
    settings: Settings,
}

impl Transform for Passages {
    fn apply(&self, _call: &CallContext, item: &mut Item<'_>) -> Result<Verdict, Fault> {
        let Settings { size, overlap, unit, .. } = self.settings;
        let Some(body) = &item.record.body else { return Ok(Verdict::Pass) };
        let is_marked = is_marked(item.record);
        let sections = if is_marked { sections::sections(body) } else { Vec::new() };
        let by_characters = unit == Unit::Characters;
        let mut passages: Vec<(&str, Option<&Section>)> = match is_marked {
            false => cut::passages(body, size, overlap, by_characters)
                .into_iter()
                .map(|text| (text, None))
                .collect(),
            true => {
                let mut all = Vec::new();
                for section in &sections {
                    let texts = cut::passages(&section.text, size, overlap, by_characters);
                    all.extend(texts.into_iter().map(|text| (text, Some(section))));
                }
                all
            }
        };
        let mut more_than_fit = passages.len() > limits::PASSAGES_MAX;
        passages.truncate(limits::PASSAGES_MAX);
        if passages.is_empty() {
            return Ok(Verdict::Pass);
        }
        let mut equal: HashMap<String, u32> = HashMap::new();
        let mut bytes = 0;
        for (place, (text, section)) in passages.into_iter().enumerate() {
            let name = match self.settings.names {
                Names::Position => (place + 1).to_string(),
                Names::Content => numbered(&mut equal, &digest(text)),
            };
            let record = self.passage(item.record, place + 1, text, section);
            bytes += record.bytes();
            if bytes > limits::PARTS_TEXT_BYTES_MAX {
                more_than_fit = true;
                break;
            }
            item.parts.list.push(Component { name, record: Ok(record) });
        }
        if more_than_fit {
            truncated(item.record);
        }
        Ok(self.settings.document.keep(item.record))
    }
}

impl Passages {
    fn passage(&self, document: &Record, number: usize, text: &str, section: Option<&Section>) -> Record {
        let copied = self.settings.fields.iter();
        let copied = copied.filter_map(|name| document.fields.get_key_value(name));
        let mut fields: BTreeMap<String, Vec<String>> =
            copied.map(|(name, values)| (name.clone(), values.clone())).collect();
        if self.settings.position {
            fields.insert("passage".to_owned(), vec![number.to_string()]);
        }
        if let Some(section) = section.filter(|_| self.settings.place) {
            let pages: Vec<String> = section.pages(text).iter().map(usize::to_string).collect();
            let headings = section.headings.join(" > ");
            let headings = (!headings.is_empty()).then_some(headings).into_iter().collect();
            for (name, values) in [("page", pages), ("headings", headings)] {
                if !values.is_empty() {
                    fields.insert(name.to_owned(), values);
                }
            }
        }
        let has = |name: &str| self.settings.fields.iter().any(|field| field == name);
        Record {
            modified: document.modified.filter(|_| has("modified")),
            created: document.created.filter(|_| has("created")),
            title: if self.settings.title { document.title.clone() } else { String::new() },
            body: Some(text.to_owned()),
            media_type: Some(if section.is_some() { "text/markdown" } else { "text/plain" }.to_owned()),
            language: document.language.clone(),
            author: document.author.clone(),
            fields,
            ..Record::default()
        }
    }
}

/// Whether the text of a document has the marks of Markdown: by its type, or because the stage `text` wrote them.
fn is_marked(record: &Record) -> bool {
    record.media_type.as_deref() == Some("text/markdown")
        || record.fields.get(FORM).is_some_and(|forms| forms.iter().any(|form| form == "markdown"))
}

/// Sixteen hexadecimal digits; two passages of one document that share them by chance still have two names.
fn digest(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..16].to_owned()
}

fn numbered(equal: &mut HashMap<String, u32>, name: &str) -> String {
    let number = equal.entry(name.to_owned()).or_default();
    *number += 1;
    if *number == 1 { name.to_owned() } else { format!("{name}-{number}") }
}

#[cfg(test)]
mod tests {
    use super::super::trial::{refused, without_reading};
    use super::*;
    use ingather_model::document::Parts;
    use ingather_testkit::suites;
    use serde_json::{Value, json};

    #[test]
    fn it_keeps_what_a_transform_promises() {
        suites::transform(&TRANSFORM, &json!({}), &[("a.txt", b"text")]);
    }

    fn document(body: &str) -> Record {
        let mut record = Record {
            title: "Report".into(),
            body: Some(body.into()),
            language: Some("en".into()),
            size: Some(9),
            modified: Some(5),
            ..Record::default()
        };
        record.fields.insert("department".into(), vec!["sales".into()]);
        record
    }

    fn cut(settings: &Value, body: &str) -> (Record, Parts, Verdict) {
        let mut record = document(body);
        let (verdict, parts) = without_reading(&TRANSFORM, settings, &mut record);
        (record, parts, verdict.unwrap())
    }

    fn names(parts: &Parts) -> Vec<&str> {
        parts.list.iter().map(|part| part.name.as_str()).collect()
    }

    fn paragraphs(numbers: std::ops::Range<u32>) -> String {
        let words = |n: u32| (0..12).map(|m| format!("w{}", n * 31 + m * m)).collect::<Vec<_>>().join(" ");
        numbers.map(|n| format!("{}. {}.", words(n), words(n + 7))).collect::<Vec<_>>().join("\n\n")
    }

    #[test]
    fn passages_that_did_not_change_keep_their_names_when_text_is_inserted_before_them() {
        let text = paragraphs(0..300);
        let settings = json!({"size": 100, "overlap": 10});
        let (_, before, _) = cut(&settings, &text);
        let (_, after, _) = cut(&settings, &format!("A new beginning, quite short.\n\n{text}"));
        let old: std::collections::HashSet<&str> = names(&before).into_iter().collect();
        let kept = names(&after).into_iter().filter(|name| old.contains(name)).count();
        assert!(before.list.len() > 60, "{}", before.list.len());
        assert!(kept + 6 >= before.list.len(), "{kept} of {} kept their names", before.list.len());
        let (_, again, _) = cut(&settings, &text);
        assert_eq!(before, again);
        let by_position = json!({"size": 100, "overlap": 10, "names": "position"});
        assert_eq!(names(&cut(&by_position, &text).1)[..3], ["1", "2", "3"]);
    }

    #[test]
    fn passages_have_the_times_of_their_document_when_they_are_asked_for() {
        let times = |settings: Value| {
            let (_, parts, _) = cut(&settings, "one two three");
            parts.list[0].record.as_ref().map(|passage| (passage.modified, passage.created)).unwrap()
        };
        assert_eq!(times(json!({})), (None, None));
        assert_eq!(times(json!({"fields": ["modified", "department"]})), (Some(5), None));
    }

    #[test]
    fn equal_passages_are_numbered() {
        let (_, parts, _) =
            cut(&json!({"size": 10, "overlap": 0}), &"one two three four five six seven. ".repeat(3));
        let first = digest("one two three four five six seven.");
        assert_eq!(names(&parts), [first.clone(), format!("{first}-2"), format!("{first}-3")]);
    }

    #[test]
    fn passages_of_a_marked_text_end_at_headings_and_tell_where_they_stand() {
        let body = format!(
            "# Terms\n\n{}\n\n## Payment\n\n<!-- page 2 -->\n\n{}\n\n<!-- page 3 -->\n\n{}",
            paragraphs(0..1),
            paragraphs(1..2),
            paragraphs(2..3)
        );
        let mut record = document(&body);
        record.fields.insert(FORM.to_owned(), vec!["markdown".to_owned()]);
        let settings = json!({"size": 60, "overlap": 0});
        let (_, parts) = without_reading(&TRANSFORM, &settings, &mut record);
        let told: Vec<(Vec<String>, Vec<String>)> = parts
            .list
            .iter()
            .map(|part| part.record.clone().unwrap().fields)
            .map(|mut fields| (fields.remove("headings").unwrap(), fields.remove("page").unwrap()))
            .collect();
        let place = |headings: &str, pages: &[&str]| {
            (vec![headings.to_owned()], pages.iter().map(|page| (*page).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(told, [place("Terms", &["1"]), place("Terms > Payment", &["1", "2", "3"])]);
        let last = parts.list[1].record.as_ref().unwrap();
        assert!(
            last.body.as_deref().is_some_and(|body| body.starts_with("## Payment") && !body.contains("<!--"))
        );
        assert_eq!(last.media_type.as_deref(), Some("text/markdown"));
        let (_, parts) = without_reading(&TRANSFORM, &json!({"place": false}), &mut record);
        assert!(parts.list.iter().all(|part| part.record.as_ref().unwrap().fields.is_empty()));
    }

    #[test]
    fn a_passage_has_of_its_document_what_was_asked_for() {
        let passage = |settings: Value| cut(&settings, "Some words.").1.list[0].record.clone().unwrap();
        let plain = passage(json!({}));
        assert_eq!((plain.title.as_str(), plain.language.as_deref()), ("Report", Some("en")));
        assert_eq!(
            (plain.fields.len(), plain.modified, plain.size),
            (0, None, None),
            "times would send it again"
        );
        let full = passage(json!({"title": false, "position": true, "fields": ["department", "none"]}));
        assert_eq!(full.title, "");
        assert_eq!(
            (&full.fields["passage"][0], &full.fields["department"][0]),
            (&"1".to_owned(), &"sales".to_owned())
        );
        assert_eq!(full.fields.len(), 2);
    }

    #[test]
    fn the_document_is_kept_without_its_text_or_not_at_all() {
        for (word, verdict, body) in [
            ("keep", Verdict::Pass, Some("Some words.")),
            ("metadata_only", Verdict::Pass, None),
            ("drop", Verdict::PartsOnly, Some("Some words.")),
        ] {
            let (record, parts, told) = cut(&json!({"document": word}), "Some words.");
            assert_eq!((told, record.body.as_deref(), parts.list.len()), (verdict, body, 1), "{word}");
        }
        let (_, parts, verdict) = cut(&json!({"document": "drop"}), " \n ");
        assert_eq!((parts.list.len(), verdict), (0, Verdict::Pass), "without a passage the document stays");
    }

    #[test]
    fn their_number_is_bounded_and_settings_that_cannot_work_are_refused() {
        let (record, parts, _) =
            cut(&json!({"size": 10, "overlap": 0}), &"word ".repeat(11 * limits::PASSAGES_MAX));
        assert_eq!(parts.list.len(), limits::PASSAGES_MAX);
        assert_eq!(record.fields["truncated"], ["true"]);
        assert!(refused(&TRANSFORM, json!({"size": 20, "overlap": 11})).contains("half"));
        refused(&TRANSFORM, json!({"size": 1}));
        assert!(
            refused(&TRANSFORM, json!({"fields": ["size"]})).contains("`size` cannot be given to passages")
        );
    }
}
