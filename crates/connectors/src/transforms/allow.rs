//! The `allow` transform: declines what nobody wants to find, by what is known of a document before it is read.

use std::sync::Arc;

use garde::Validate;
use ingather_contract::call::CallContext;
use ingather_contract::settings;
use ingather_contract::transform::{Item, Transform, TransformKind, Verdict};
use ingather_extract::names;
use ingather_model::document::Record;
use ingather_model::fault::{Fault, Reason};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::transforms::text::name_of;
use ingather_kit::literal;

/// Entries of one list.
const LIST_MAX: usize = 1_024;
/// Longest entry, bytes.
const ENTRY_BYTES_MAX: usize = 256;
/// What stands for names without an extension.
const NO_EXTENSION: &str = ".";

/// The `allow` transform.
pub(crate) const TRANSFORM: TransformKind = TransformKind {
    name: "allow",
    about: "Filters documents by media type, extension, size or age; before `text`, what it filters out is not even read.",
    version: "1",
    schema: settings::schema_of::<Settings>,
    open,
};

fn open(value: &serde_json::Value) -> Result<Arc<dyn Transform>, Fault> {
    let mut settings: Settings = settings::read(value)?;
    let modified_from = match &settings.modified_from {
        None => None,
        Some(text) => Some(literal::date(text).ok_or_else(|| {
            let message = "modified_from: it is no date; write it like 2024-01-31 or 2024-01-31T08:00";
            Fault::refused("settings", message)
        })?),
    };
    for extension in settings.extensions.iter_mut().chain(&mut settings.refuse_extensions) {
        if extension != NO_EXTENSION {
            *extension = extension.trim_start_matches('.').to_lowercase();
        }
    }
    let lists = [
        ("media_types", &mut settings.media_types),
        ("refuse_media_types", &mut settings.refuse_media_types),
    ];
    for (setting, list) in lists {
        for (at, media) in list.iter_mut().enumerate() {
            *media = media.trim().to_ascii_lowercase();
            if !media.contains('/') {
                let message =
                    format!("{setting}[{at}] has no slash; write it like application/pdf or text/*");
                return Err(Fault::refused("settings", message));
            }
        }
    }
    Ok(Arc::new(Allow { settings, modified_from: modified_from.map(|range| range.start) }))
}

/// What a document must be. What is not known of it, such as the size of a part, decides nothing; a media type that
/// neither source nor name tells is `application/octet-stream`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields, default)]
struct Settings {
    /// Media types to take, such as `application/pdf` or `text/*`; none: all. Before `text` by what the source says, else
    /// by the name; after it by what the document is.
    #[garde(length(max = LIST_MAX), inner(length(bytes, min = 1, max = ENTRY_BYTES_MAX)))]
    media_types: Vec<String>,
    /// Media types to decline; they win over those to take.
    #[garde(length(max = LIST_MAX), inner(length(bytes, min = 1, max = ENTRY_BYTES_MAX)))]
    refuse_media_types: Vec<String>,
    /// Extensions to take, such as `pdf`, in any case; `.` stands for names without one; none: all.
    #[garde(length(max = LIST_MAX), inner(length(bytes, min = 1, max = ENTRY_BYTES_MAX)))]
    extensions: Vec<String>,
    /// Extensions to decline; they win over those to take.
    #[garde(length(max = LIST_MAX), inner(length(bytes, min = 1, max = ENTRY_BYTES_MAX)))]
    refuse_extensions: Vec<String>,
    /// Smallest size: bytes, or a text such as `10kb`.
    #[serde(deserialize_with = "literal::read_size_if_any")]
    #[schemars(schema_with = "literal::size_schema")]
    #[garde(skip)]
    size_min: Option<u64>,
    /// Largest size: bytes, or a text such as `20MB`.
    #[serde(deserialize_with = "literal::read_size_if_any")]
    #[schemars(schema_with = "literal::size_schema")]
    #[garde(skip)]
    size_max: Option<u64>,
    /// Earliest modification, such as `2024-01-31` or `2024-01-31T08:00`, UTC.
    #[garde(skip)]
    modified_from: Option<String>,
}

struct Allow {
    settings: Settings,
    /// Milliseconds since 1970 UTC.
    modified_from: Option<i64>,
}

impl Transform for Allow {
    fn apply(&self, _call: &CallContext, item: &mut Item<'_>) -> Result<Verdict, Fault> {
        let record = &*item.record;
        let reason = self.by_type(record).or_else(|| self.by_extension(record));
        let reason = reason.or_else(|| self.by_size(record)).or_else(|| self.by_age(record));
        Ok(reason.map_or(Verdict::Pass, Verdict::Decline))
    }
}

impl Allow {
    fn by_type(&self, record: &Record) -> Option<Reason> {
        let Settings { media_types, refuse_media_types, .. } = &self.settings;
        if media_types.is_empty() && refuse_media_types.is_empty() {
            return None;
        }
        let (media, known) = media_type(record);
        let is_in = |list: &[String]| list.iter().any(|pattern| matches(pattern, &media));
        let hint = if known { "" } else { ", because neither its source nor its name tells another" };
        if is_in(refuse_media_types) {
            return Some(Reason::new("type", format!("its media type {media}{hint} is one to decline")));
        }
        let wanted = media_types.is_empty() || is_in(media_types);
        (!wanted)
            .then(|| Reason::new("type", format!("its media type {media}{hint} is none of those to take")))
    }

    fn by_extension(&self, record: &Record) -> Option<Reason> {
        let Settings { extensions, refuse_extensions, .. } = &self.settings;
        if extensions.is_empty() && refuse_extensions.is_empty() {
            return None;
        }
        let extension = extension(name_of(record));
        let named = match extension.as_str() {
            NO_EXTENSION => "its name has no extension, which".to_owned(),
            extension => format!("its extension {extension:?}"),
        };
        if refuse_extensions.contains(&extension) {
            return Some(Reason::new("extension", format!("{named} is one to decline")));
        }
        let wanted = extensions.is_empty() || extensions.contains(&extension);
        (!wanted).then(|| Reason::new("extension", format!("{named} is none of those to take")))
    }

    fn by_size(&self, record: &Record) -> Option<Reason> {
        let size = record.size?;
        let told = |limit: u64, word: &str| {
            Reason::new("size", format!("its {size} bytes are {word} than the {limit} that a stage allows"))
        };
        match (self.settings.size_min, self.settings.size_max) {
            (Some(least), _) if size < least => Some(told(least, "fewer")),
            (_, Some(most)) if size > most => Some(told(most, "more")),
            _ => None,
        }
    }

    fn by_age(&self, record: &Record) -> Option<Reason> {
        let (modified, from) = (record.modified?, self.modified_from?);
        let limit = self.settings.modified_from.as_deref().unwrap_or_default();
        (modified < from).then(|| Reason::new("age", format!("it was last modified before {limit}")))
    }
}

/// The media type without parameters, and whether anything tells it.
fn media_type(record: &Record) -> (String, bool) {
    if let Some(media) = &record.media_type {
        return (media.split(';').next().unwrap_or_default().trim().to_ascii_lowercase(), true);
    }
    match names::media_type(name_of(record)) {
        Some(media) => (media.to_owned(), true),
        None => ("application/octet-stream".to_owned(), false),
    }
}

fn matches(pattern: &str, media: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => beginning == "*/" || media.starts_with(beginning),
        None => media == pattern,
    }
}

/// What follows the last dot of a name, in lower case; a dot at the beginning only hides a file.
fn extension(name: &str) -> String {
    match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() && !extension.is_empty() => extension.to_lowercase(),
        _ => NO_EXTENSION.to_owned(),
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
        suites::transform(
            &TRANSFORM,
            &json!({"extensions": ["md"]}),
            &[("a.txt", b"text"), ("a.md", b"# x")],
        );
    }

    /// The code of the reason for which a document is declined; nothing of its content is ever read.
    fn judged(settings: &Value, record: &Record) -> String {
        let mut after = record.clone();
        let (verdict, _) = without_reading(&TRANSFORM, settings, &mut after);
        assert_eq!(&after, record, "a judge changes nothing");
        match verdict.unwrap() {
            Verdict::Pass => String::new(),
            Verdict::Decline(reason) => reason.code,
            Verdict::PartsOnly | Verdict::Unread(_) => panic!("it looks at no content"),
        }
    }

    fn named(name: &str) -> Record {
        Record { path: format!("dir.d/{name}"), ..Record::default() }
    }

    #[test]
    fn nothing_is_read_of_what_is_declined_by_type_extension_size_or_age() {
        let pdf = json!({"media_types": ["application/pdf", "text/*"]});
        let refuse = json!({"refuse_media_types": ["image/*"], "refuse_extensions": ["TMP", "."]});
        let sized = json!({"size_min": 1, "size_max": 100});
        let young = json!({"modified_from": "2024-01-31"});
        let of = |name: &str, media: &str| Record { media_type: Some(media.into()), ..named(name) };
        let size = |size| Record { size: Some(size), ..named("a") };
        let modified = |modified| Record { modified: Some(modified), ..named("a") };
        for (settings, record, code) in [
            (&pdf, named("a.pdf"), ""),
            (&pdf, named("A.PDF"), ""),
            (&pdf, named("a.md"), ""),
            (&pdf, named("a.docx"), "type"),
            (&pdf, named("unknown"), "type"),
            (&pdf, of("unknown", "application/pdf"), ""),
            (&pdf, of("a.pdf", "image/png"), "type"),
            (&pdf, of("a.bin", "Text/HTML; charset=utf-8"), ""),
            (&refuse, named("a.png"), "type"),
            (&refuse, named("a.tmp"), "extension"),
            (&refuse, named("README"), "extension"),
            (&refuse, named(".hidden"), "extension"),
            (&refuse, named("a.tar.gz"), ""),
            (&json!({"extensions": ["gz", ".md"]}), named("a.tar.gz"), ""),
            (&json!({"extensions": ["gz", ".md"]}), named("a.md"), ""),
            (&json!({"extensions": ["gz", ".md"]}), named("a.txt"), "extension"),
            (&json!({"extensions": ["."]}), named("README"), ""),
            (&sized, size(0), "size"),
            (&sized, size(1), ""),
            (&sized, size(100), ""),
            (&sized, size(101), "size"),
            (&sized, named("a"), ""),
            (&young, modified(1_706_659_199_999), "age"),
            (&young, modified(1_706_659_200_000), ""),
            (&young, named("a"), ""),
        ] {
            assert_eq!(judged(settings, &record), code, "{settings} {record:?}");
        }
    }

    #[test]
    fn what_no_document_could_match_is_refused() {
        assert!(refused(&TRANSFORM, json!({"media_types": ["pdf"]})).contains("application/pdf"));
        assert!(refused(&TRANSFORM, json!({"modified_from": "yesterday"})).contains("2024-01-31"));
        refused(&TRANSFORM, json!({"colour": "red"}));
    }
}
