//! What is not plain text is read by confined processes of this program, which the program says how to start.

use std::io::Read;
use std::sync::OnceLock;

use ingather_connector::model::document::Record;
use ingather_connector::model::fault::Fault;
use ingather_connector::model::limits;
use ingather_connector::transform::Verdict;
use ingather_extract::{Extracted, Pool, Request, detect};

/// The readers of this process. A stage is opened with its settings only, and how processes are started is none.
static READERS: OnceLock<Pool> = OnceLock::new();

/// Says how files are read from now on; without it only plain text is. The first word counts.
pub fn read_files_with(pool: Pool) {
    // A second pool would be the same: both start this program.
    let _ = READERS.set(pool);
}

/// Reads a document whose type is known by now, and fills the record with what is in it.
pub(super) fn read(name: &str, record: &mut Record, content: &mut dyn Read) -> Result<Verdict, Fault> {
    let media = record.media_type.clone().unwrap_or_default();
    let Some(pool) = READERS.get().filter(|_| detect::is_readable(&media)) else { return Ok(Verdict::Pass) };
    let request = Request { name: name.to_owned(), declared: Some(media), ..Request::default() };
    let found = pool
        .extract(&request, content)
        .map_err(|error| Fault::passing("io", format!("the content cannot be read to its end: {error}")))?;
    if found.lost {
        return Err(Fault::broken("extract", found.reason.unwrap_or_default()));
    }
    fill(record, found);
    Ok(Verdict::Pass)
}

/// Fills the record: the text of parts follows that of the document.
fn fill(record: &mut Record, mut found: Extracted) {
    let mut body = String::new();
    append(&mut body, &found);
    if !body.is_empty() {
        record.body = Some(body);
    }
    record.media_type = Some(found.media_type);
    if let Some(title) = found.fields.remove("title").and_then(|titles| titles.into_iter().next()) {
        let end = ingather_extract::decode::boundary(&title, limits::TITLE_BYTES_MAX);
        title[..end].clone_into(&mut record.title);
    }
    if let Some(authors) = found.fields.remove("author") {
        record.author = Some(authors.join(", "));
    }
    // Fields of the source, such as the name, stand before those that a document tells of itself.
    for (name, values) in found.fields {
        record.fields.entry(name).or_insert(values);
    }
    if let Some(reason) = found.reason {
        record.fields.insert("extraction".to_owned(), vec![reason]);
    }
}

fn append(body: &mut String, found: &Extracted) {
    let left = limits::BODY_BYTES_MAX.saturating_sub(body.len() + 1);
    let end = ingather_extract::decode::boundary(&found.text, left);
    if !body.is_empty() && end > 0 {
        body.push('\n');
    }
    body.push_str(&found.text[..end]);
    found.parts.iter().for_each(|part| append(body, part));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_holds_what_is_in_the_document_and_its_parts() {
        let part = Extracted { text: "inner words".to_owned(), ..Extracted::default() };
        let mut found = Extracted {
            text: "outer words".to_owned(),
            media_type: "application/zip".to_owned(),
            parts: vec![part],
            reason: Some("cut".to_owned()),
            ..Extracted::default()
        };
        for (name, value) in [("title", "T"), ("author", "Ann"), ("name", "other"), ("subject", "s")] {
            found.fields.insert(name.to_owned(), vec![value.to_owned()]);
        }
        let mut record = Record { title: "a.zip".to_owned(), ..Record::default() };
        record.fields.insert("name".to_owned(), vec!["a.zip".to_owned()]);
        fill(&mut record, found);
        assert_eq!(record.body.as_deref(), Some("outer words\ninner words"));
        assert_eq!((record.title.as_str(), record.author.as_deref()), ("T", Some("Ann")));
        assert_eq!(
            (&record.fields["name"], &record.fields["subject"]),
            (&vec!["a.zip".to_owned()], &vec!["s".to_owned()])
        );
        assert_eq!(record.fields["extraction"], ["cut"]);
    }

    #[test]
    fn bodies_stay_bounded_whatever_the_parts() {
        let part = Extracted { text: "x".repeat(limits::BODY_BYTES_MAX / 2), ..Extracted::default() };
        let found = Extracted { parts: vec![part.clone(), part.clone(), part], ..Extracted::default() };
        let mut body = String::new();
        append(&mut body, &found);
        assert!(body.len() <= limits::BODY_BYTES_MAX);
    }
}
