//! The forms in which collections are published: SMART, with letters for fields; that of NPL, with a slash after each text; and
//! BEIR, with an object of JSON on each line.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use serde::Deserialize;

use super::collections::{Document, Query};
use crate::Result;

/// What a form is read from: where the files are, and what SMART leaves open.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Files {
    /// How they are written.
    pub(super) form: Form,
    /// Texts.
    pub(super) documents: String,
    /// Questions.
    pub(super) queries: String,
    /// Which texts answer which question.
    pub(super) judgements: String,
    /// SMART: letters of the fields that make up a text beside its title, in this order.
    #[serde(default = "only_text")]
    pub(super) text: String,
    /// SMART: whether judgements count questions from 1 instead of naming them.
    #[serde(default)]
    pub(super) counted: bool,
    /// SMART: place of the grade in a line of judgements, when 0 and less mean "not relevant".
    #[serde(default)]
    pub(super) grade: Option<usize>,
}

fn only_text() -> String {
    "W".to_owned()
}

/// One of the forms.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Form {
    /// `.I`, `.T` and `.W` before numbers, titles and texts.
    Smart,
    /// A number, the text, and a line with a slash.
    Npl,
    /// `_id`, `title` and `text`; judgements as a table with tabs and a head.
    Beir,
}

/// Names of relevant documents by the name of the question.
type Judgements = HashMap<String, HashSet<String>>;

/// Texts, and the questions that somebody judged.
pub(super) fn read(folder: &Path, files: &Files) -> Result<(Vec<Document>, Vec<Query>)> {
    let text = |name: &str| -> Result<String> {
        let path = folder.join(name);
        let bytes = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    let (documents, questions) = (text(&files.documents)?, text(&files.queries)?);
    let judgements = text(&files.judgements)?;
    let (documents, questions, mut relevant) = match files.form {
        Form::Smart => {
            let documents = records(&documents).into_iter().map(|mut record| Document {
                title: one_line(&record.take('T')),
                text: files.text.chars().map(|field| record.take(field)).collect(),
                name: record.name,
            });
            let questions = records(&questions).into_iter().enumerate().map(|(at, mut record)| {
                let name = if files.counted { (at + 1).to_string() } else { record.name.clone() };
                (name, one_line(&record.take('W')))
            });
            (documents.collect::<Vec<_>>(), questions.collect::<Vec<_>>(), judged(&judgements, files.grade))
        }
        Form::Npl => {
            let documents = slashed(&documents).into_iter().map(|(name, text)| {
                let title = String::new();
                Document { name, title, text }
            });
            let questions = slashed(&questions).into_iter().map(|(name, text)| (name, one_line(&text)));
            let relevant = slashed(&judgements).into_iter();
            let relevant =
                relevant.map(|(name, all)| (name, all.split_whitespace().map(str::to_owned).collect()));
            (documents.collect(), questions.collect(), relevant.collect())
        }
        Form::Beir => (beir_documents(&documents)?, beir_questions(&questions)?, beir_judged(&judgements)),
    };
    // A judgement of a text that is not there would lower every engine alike; it says that a file is not whole.
    let known: HashSet<&String> = documents.iter().map(|document| &document.name).collect();
    let lost = relevant.values().flatten().filter(|name| !known.contains(name)).count();
    if lost > 0 {
        println!("search-quality: {lost} judgements in {} are of texts that it lacks", folder.display());
    }
    let queries = questions
        .into_iter()
        .filter_map(|(name, text)| Some(Query { text, relevant: relevant.remove(&name)? }));
    let queries: Vec<Query> = queries.filter(|query| !query.relevant.is_empty()).collect();
    match documents.is_empty() || queries.is_empty() {
        true => {
            Err(format!("{} has no texts or no judged questions; see its `form`", folder.display()).into())
        }
        false => Ok((documents, queries)),
    }
}

/// Lines of judgements in SMART form: a question, a text, and perhaps a grade.
fn judged(text: &str, grade: Option<usize>) -> Judgements {
    let mut relevant = Judgements::new();
    for line in text.lines() {
        let cells: Vec<&str> = line.split_whitespace().collect();
        let [query, document, ..] = cells.as_slice() else { continue };
        if grade.and_then(|at| cells.get(at)?.parse::<i64>().ok()).unwrap_or(1) > 0 {
            relevant.entry(number(query)).or_default().insert(number(document));
        }
    }
    relevant
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

/// Names and texts of the form of NPL.
fn slashed(text: &str) -> Vec<(String, String)> {
    let mut all = Vec::new();
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    while let Some(name) = lines.next() {
        let lines = lines.by_ref().take_while(|line| line.trim() != "/");
        all.push((name.trim().to_owned(), lines.map(|line| format!("{line}\n")).collect()));
    }
    all
}

#[derive(Deserialize)]
struct Line {
    #[serde(rename = "_id")]
    id: String,
    #[serde(default)]
    title: String,
    text: String,
}

fn json_lines(text: &str) -> Result<Vec<Line>> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let read = |(at, line)| serde_json::from_str(line).map_err(|error| format!("line {}: {error}", at + 1));
    Ok(lines.map(read).collect::<std::result::Result<_, _>>()?)
}

fn beir_documents(text: &str) -> Result<Vec<Document>> {
    let lines = json_lines(text)?.into_iter();
    Ok(lines.map(|line| Document { name: line.id, title: line.title, text: line.text }).collect())
}

fn beir_questions(text: &str) -> Result<Vec<(String, String)>> {
    Ok(json_lines(text)?.into_iter().map(|line| (line.id, one_line(&line.text))).collect())
}

fn beir_judged(text: &str) -> Judgements {
    let mut relevant = Judgements::new();
    for line in text.lines().skip(1) {
        let mut cells = line.trim_end().split('\t');
        if let (Some(query), Some(document), Some(grade)) = (cells.next(), cells.next(), cells.next())
            && grade.parse::<i64>().is_ok_and(|grade| grade > 0)
        {
            relevant.entry(query.to_owned()).or_default().insert(document.to_owned());
        }
    }
    relevant
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

    fn files(form: &str) -> Files {
        let files = format!(r#"{{"form": "{form}", "documents": "d", "queries": "q", "judgements": "j"}}"#);
        serde_json::from_str(&files).unwrap()
    }

    fn read_from(
        form: &str,
        documents: &str,
        queries: &str,
        judgements: &str,
    ) -> Result<(Vec<Document>, Vec<Query>)> {
        let folder = tempfile::tempdir()?;
        for (name, text) in [("d", documents), ("q", queries), ("j", judgements)] {
            std::fs::write(folder.path().join(name), text)?;
        }
        read(folder.path(), &files(form))
    }

    #[test]
    fn every_form_tells_texts_and_judged_questions() {
        let read = [
            read_from(
                "smart",
                ".I 7\n.T\nA title\n.W\nsome text\n.I 8\n.W\nother\n",
                ".I 1\n.W\nwhat is it\n.I 2\n.W\nnobody judged it\n",
                "01 07  0 0\n",
            ),
            read_from(
                "npl",
                "\n7\nsome text\n   /\n8\nother\n   /\n",
                "1\nWHAT IS IT\n/\n2\nX\n/\n",
                "1\n 7\n/\n",
            ),
            read_from(
                "beir",
                "{\"_id\": \"7\", \"title\": \"A title\", \"text\": \"some text\"}\n{\"_id\": \"8\", \"text\": \"other\"}\n",
                "{\"_id\": \"1\", \"text\": \"what is it\", \"metadata\": {}}\n{\"_id\": \"2\", \"text\": \"x\"}\n",
                "query-id\tcorpus-id\tscore\n1\t7\t1\n2\t8\t0\n",
            ),
        ];
        for (read, title) in read.into_iter().zip(["A title", "", "A title"]) {
            let (documents, queries) = read.unwrap();
            let told: Vec<_> = documents.iter().map(|one| (one.name.as_str(), one.text.trim())).collect();
            assert_eq!(told, [("7", "some text"), ("8", "other")]);
            assert_eq!(documents[0].title, title);
            let told: Vec<_> = queries.iter().map(|query| query.text.to_lowercase()).collect();
            assert_eq!(told, ["what is it"]);
            assert_eq!(queries[0].relevant, HashSet::from(["7".to_owned()]));
        }
    }

    #[test]
    fn a_collection_in_another_form_is_refused() {
        let told = read_from("smart", "1\ntext\n/\n", "1\nx\n/\n", "1\n 1\n/\n").err().unwrap().to_string();
        assert!(told.contains("no texts"), "{told}");
        let told = read_from("beir", "text\n", "x\n", "").err().unwrap().to_string();
        assert!(told.contains("line 1"), "{told}");
    }
}
