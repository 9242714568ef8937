//! Collections of texts and questions with judgements by people, in SMART form.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use crate::Result;

/// Where they are: beside the checkout, or beside the folder of checkouts.
pub(super) const PLACES: &[&str] = &["../shared/data/relevance", "../../shared/data/relevance"];

/// One collection.
pub(super) struct Collection {
    /// As the table names it.
    pub(super) name: &'static str,
    /// Its texts.
    pub(super) documents: Vec<Document>,
    /// Questions that somebody judged.
    pub(super) queries: Vec<Query>,
}

/// One text.
pub(super) struct Document {
    /// What judgements call it.
    pub(super) name: String,
    /// Title.
    pub(super) title: String,
    /// Text without the title.
    pub(super) text: String,
}

/// One question.
pub(super) struct Query {
    /// As somebody types it.
    pub(super) text: String,
    /// Names of relevant documents.
    pub(super) relevant: HashSet<String>,
}

/// Files of a collection, and how its judgements are read.
struct Files {
    name: &'static str,
    documents: &'static str,
    queries: &'static str,
    judgements: &'static str,
    /// Whether judgements count questions from 1 instead of naming them.
    counted: bool,
    /// Place of the grade in a line of judgements, when 0 and less mean "not relevant".
    grade: Option<usize>,
}

const ALL: &[Files] = &[
    Files {
        name: "Cranfield",
        documents: "cran.all.1400",
        queries: "cran.qry",
        judgements: "cranqrel",
        counted: true,
        grade: Some(2),
    },
    Files {
        name: "CISI",
        documents: "CISI.ALL",
        queries: "CISI.QRY",
        judgements: "CISI.REL",
        counted: false,
        grade: None,
    },
];

/// All collections; none where they are not.
pub(super) fn all(root: &Path) -> Result<Option<Vec<Collection>>> {
    let Some(folder) = PLACES.iter().map(|place| root.join(place)).find(|place| place.is_dir()) else {
        return Ok(None);
    };
    ALL.iter().map(|files| read(&folder, files)).collect::<Result<_>>().map(Some)
}

fn read(folder: &Path, files: &Files) -> Result<Collection> {
    let text = |name: &str| -> Result<String> {
        let path = folder.join(name);
        let bytes = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    let mut relevant: HashMap<String, HashSet<String>> = HashMap::new();
    for line in text(files.judgements)?.lines() {
        let cells: Vec<&str> = line.split_whitespace().collect();
        let [query, document, ..] = cells.as_slice() else { continue };
        let grade = files.grade.and_then(|at| cells.get(at)?.parse::<i64>().ok()).unwrap_or(1);
        if grade > 0 {
            relevant.entry(number(query)).or_default().insert(number(document));
        }
    }
    let queries = records(&text(files.queries)?).into_iter().enumerate().filter_map(|(at, mut record)| {
        let name = if files.counted { (at + 1).to_string() } else { record.name.clone() };
        let text = one_line(&record.take('W'));
        Some(Query { text, relevant: relevant.remove(&name)? })
    });
    let queries = queries.collect();
    let documents = records(&text(files.documents)?)
        .into_iter()
        .map(|mut record| Document {
            title: one_line(&record.take('T')),
            text: record.take('W'),
            name: record.name,
        })
        .collect();
    Ok(Collection { name: files.name, documents, queries })
}

/// A number without zeros in front.
fn number(text: &str) -> String {
    text.trim_start_matches('0').to_owned()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

struct Record {
    name: String,
    fields: HashMap<char, String>,
}

impl Record {
    fn take(&mut self, field: char) -> String {
        self.fields.remove(&field).unwrap_or_default()
    }
}

fn records(text: &str) -> Vec<Record> {
    let mut records: Vec<Record> = Vec::new();
    let mut field = None;
    for line in text.lines() {
        if let Some(name) = line.strip_prefix(".I ") {
            records.push(Record { name: number(name.trim()), fields: HashMap::new() });
            field = None;
            continue;
        }
        let mark = line.strip_prefix('.').map(str::trim_end).filter(|rest| rest.len() == 1);
        match (mark.and_then(|rest| rest.chars().next()), records.last_mut()) {
            (Some(letter), _) if letter.is_ascii_uppercase() => field = Some(letter),
            (_, Some(record)) => {
                let text = record.fields.entry(field.unwrap_or(' ')).or_default();
                text.push_str(line);
                text.push('\n');
            }
            _ => {}
        }
    }
    records
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_has_its_fields() {
        let mut records = records(".I 001\n.T\nA  title\nof two lines\n.W\n.5 is a number\n.I 2\n.W\nx\n");
        assert_eq!(records.iter().map(|record| record.name.as_str()).collect::<Vec<_>>(), ["1", "2"]);
        assert_eq!(one_line(&records[0].take('T')), "A title of two lines");
        assert_eq!(records[0].take('W'), ".5 is a number\n");
    }
}
