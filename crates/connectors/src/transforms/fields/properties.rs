//! Fields by name, those among them that a record has a place of its own for.

use ingather_extract::decode::boundary;
use ingather_model::document::Record;
use ingather_model::limits;

use super::super::truncated;

/// Properties of a record that can be written under these names.
pub(super) const WRITABLE: [&str; 4] = ["title", "author", "language", "body"];
/// Those that can be read only.
pub(super) const READABLE: [&str; 6] = ["uri", "path", "media_type", "size", "modified", "created"];

/// Longest value of another field, bytes.
const VALUE_BYTES_MAX: usize = 64 << 10;

/// The values under a name.
pub(super) fn values(record: &Record, name: &str) -> Vec<String> {
    let text = |value: &str| if value.is_empty() { Vec::new() } else { vec![value.to_owned()] };
    let option = |value: &Option<String>| value.iter().cloned().collect();
    let number = |value: Option<i64>| value.iter().map(i64::to_string).collect();
    match name {
        "title" => text(&record.title),
        "uri" => text(&record.uri),
        "path" => text(&record.path),
        "body" => option(&record.body),
        "media_type" => option(&record.media_type),
        "language" => option(&record.language),
        "author" => option(&record.author),
        "size" => record.size.iter().map(u64::to_string).collect(),
        "modified" => number(record.modified),
        "created" => number(record.created),
        _ => record.fields.get(name).cloned().unwrap_or_default(),
    }
}

/// Writes values under a name; none take it away. A title and a language are the first of them.
pub(super) fn write(record: &mut Record, name: &str, values: Vec<String>) {
    let first = |values: Vec<String>| values.into_iter().next();
    match name {
        "title" => record.title = cut(first(values).unwrap_or_default(), limits::TITLE_BYTES_MAX),
        "language" => record.language = first(values).map(|value| cut(value, 35)),
        "author" => {
            let joined = cut(values.join(", "), VALUE_BYTES_MAX);
            record.author = Some(joined).filter(|author| !author.is_empty());
        }
        "body" => {
            let body = values.join("\n");
            if body.len() > limits::BODY_BYTES_MAX {
                truncated(record);
            }
            record.body = Some(cut(body, limits::BODY_BYTES_MAX)).filter(|body| !body.is_empty());
        }
        _ if values.is_empty() => drop(record.fields.remove(name)),
        _ => {
            let values = values.into_iter().map(|value| cut(value, VALUE_BYTES_MAX)).collect();
            record.fields.insert(name.to_owned(), values);
        }
    }
}

fn cut(mut text: String, most: usize) -> String {
    text.truncate(boundary(&text, most));
    text
}
