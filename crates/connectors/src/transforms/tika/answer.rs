//! What a Tika server answers: a list of objects, the document first, each part with the way down to it.

use std::collections::{BTreeMap, HashMap};

use ingather_extract::Extracted;
use ingather_extract::decode::boundary;
use ingather_model::fault::Fault;
use ingather_model::limits;
use serde_json::{Map, Value};

use super::Settings;
use crate::transforms::text::PartsAs;

/// Fields by their names there and here.
const FIELDS: &[(&str, &str)] = &[
    ("dc:title", "title"),
    ("dc:creator", "author"),
    ("dc:subject", "subject"),
    ("dc:description", "description"),
    ("dc:language", "language"),
    ("dcterms:created", "created"),
    ("dcterms:modified", "modified"),
    ("meta:keyword", "keywords"),
];
/// Where a part stands: numbers of the parts on the way down, or names at servers before version 3.
const WAYS: [&str; 2] = ["X-TIKA:embedded_id_path", "X-TIKA:embedded_resource_path"];
/// Longest value of a field, bytes.
const VALUE_BYTES_MAX: usize = 64 << 10;

/// An answer, understood.
pub(super) struct Answer {
    /// The document with its parts.
    pub(super) found: Extracted,
    /// There is more text than was asked for.
    pub(super) cut_off: bool,
}

/// Reads an answer about the document of that name.
pub(super) fn read(settings: &Settings, name: &str, answer: &[u8]) -> Result<Answer, Fault> {
    let list: Vec<Map<String, Value>> = serde_json::from_slice(answer).map_err(|error| {
        Fault::broken("tika", format!("the Tika server's answer cannot be understood: {error}"))
    })?;
    let mut list = list.into_iter();
    let Some(first) = list.next() else {
        return Err(Fault::broken("tika", "the Tika server's answer says nothing about the document"));
    };
    let says = |word: &str| first.contains_key(&format!("X-TIKA:EXCEPTION:{word}"));
    let cut_off = says("write_limit_reached");
    let mut found = one(settings, name.to_owned(), &first);
    if settings.parts != PartsAs::None {
        found.over_limit = says("embedded_resource_limit_reached");
        // Parts behind the end of the text may be missing.
        found.broken_off = cut_off;
        found.parts = tree(settings, list);
    }
    Ok(Answer { found, cut_off })
}

/// The parts below the part that they are in.
fn tree(settings: &Settings, list: impl Iterator<Item = Map<String, Value>>) -> Vec<Extracted> {
    let mut children: HashMap<String, Vec<(String, Extracted)>> = HashMap::new();
    for (number, object) in list.enumerate() {
        let way = WAYS.iter().find_map(|name| object.get(*name)?.as_str()).unwrap_or_default().to_owned();
        let way = if way.is_empty() { format!("/{}", number + 1) } else { way };
        let last = way.rsplit('/').next().unwrap_or_default();
        let name = object.get("resourceName").and_then(Value::as_str).map(str::trim).unwrap_or_default();
        let name = if name.is_empty() { format!("part-{last}") } else { name.to_owned() };
        let above = way.rsplit_once('/').map(|(above, _)| above.to_owned()).unwrap_or_default();
        children.entry(above).or_default().push((way, one(settings, name, &object)));
    }
    let parts = below("", &mut children, 0);
    // What has no way down from the document is in it nevertheless.
    let lost = children.into_values().flatten().map(|(_, part)| part);
    parts.into_iter().chain(lost).collect()
}

fn below(
    way: &str,
    children: &mut HashMap<String, Vec<(String, Extracted)>>,
    depth: usize,
) -> Vec<Extracted> {
    if depth > limits::EXTRACT_DEPTH_MAX {
        return Vec::new();
    }
    let mut parts = Vec::new();
    for (way, mut part) in children.remove(way).unwrap_or_default() {
        part.parts = below(&way, children, depth + 1);
        parts.push(part);
    }
    parts
}

/// One document or part without what is in it.
fn one(settings: &Settings, name: String, object: &Map<String, Value>) -> Extracted {
    let media = values(object, "Content-Type").into_iter().next().unwrap_or_default();
    let media = media.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let mut fields: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let asked = settings.metadata.iter().map(|name| (name.as_str(), name.as_str()));
    for (theirs, ours) in FIELDS.iter().copied().chain(asked) {
        let values = values(object, theirs);
        if !values.is_empty() {
            fields.insert(ours.to_owned(), values);
        }
    }
    let text = object.get("X-TIKA:content").and_then(Value::as_str).unwrap_or_default();
    Extracted {
        name,
        media_type: if media.is_empty() { "application/octet-stream".to_owned() } else { media },
        text: squeezed(text),
        fields,
        reason: reason(object),
        ..Extracted::default()
    }
}

fn values(object: &Map<String, Value>, name: &str) -> Vec<String> {
    let list = match object.get(name) {
        Some(Value::Array(list)) => list.as_slice(),
        Some(value) => std::slice::from_ref(value),
        None => &[],
    };
    let texts = list.iter().filter_map(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
    texts.map(|text| text[..boundary(text, VALUE_BYTES_MAX)].to_owned()).collect()
}

/// Why there is no text: the first line of the exception, without the names of packages.
fn reason(object: &Map<String, Value>) -> Option<String> {
    let exceptions = ["container_exception", "embedded_exception", "runtime"];
    let told =
        exceptions.iter().find_map(|word| object.get(&format!("X-TIKA:EXCEPTION:{word}"))?.as_str())?;
    let line = told.lines().next().unwrap_or_default();
    let (class, message) = line.split_once(": ").unwrap_or((line, ""));
    let class = class.rsplit('.').next().unwrap_or_default();
    if class == "ZeroByteFileException" {
        return Some("it is empty".to_owned());
    }
    let line = if message.is_empty() { class.to_owned() } else { format!("{class}: {message}") };
    Some(format!("the Tika server could not read it: {}", &line[..boundary(&line, 1_000)]))
}

/// Text without the empty lines that stand for layout: at most one between paragraphs.
fn squeezed(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut empty = 0;
    for line in text.lines() {
        if line.trim().is_empty() {
            empty += 1;
            continue;
        }
        if !out.is_empty() {
            out.push_str(if empty > 0 { "\n\n" } else { "\n" });
        }
        empty = 0;
        out.push_str(line.trim_end());
    }
    out
}
