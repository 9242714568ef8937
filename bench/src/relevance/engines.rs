//! The engines that are compared: ours as somebody asks it, and others, which get every word of a question as a choice.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use ingather_contract::access_filter::AccessFilter;
use ingather_contract::call::{CallContext, Cancel, Clock};
use ingather_contract::output::{Change, Op, OutputContext};
use ingather_contract::search::SearchRequest;
use ingather_index::{OUTPUT, Searcher};
use ingather_model::document::Record;
use ingather_model::ids::{AclId, ContainerId, Digest};
use serde_json::json;
use tantivy::collector::TopDocs;
use tantivy::query::{BooleanQuery, Query, TermQuery};
use tantivy::schema::{IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions, Value};
use tantivy::tokenizer::{
    Language, LowerCaser, SimpleTokenizer, Stemmer, StopWordFilter, TextAnalyzer, TokenStream,
};
use tantivy::{Index, IndexWriter, TantivyDocument, Term};

use super::collections::{Collection, Document};
use crate::Result;

/// Answers a question with the names of at most so many documents, best first.
pub(super) type Ask = Box<dyn FnMut(&str, usize) -> Result<Vec<String>>>;

/// One engine.
pub(super) struct Engine {
    /// As the table names it.
    pub(super) name: &'static str,
    /// Fills it with a collection.
    pub(super) open: fn(&Collection) -> Result<Ask>,
}

/// Ours, with the question as it is.
pub(super) const OURS: Engine = Engine { name: super::OURS, open: ingather };

/// All of them.
pub(super) const ALL: &[Engine] = &[
    OURS,
    Engine { name: "BM25, Lucene's formula", open: bm25 },
    Engine { name: "tantivy, one field, OR", open: tantivy },
    Engine { name: "SQLite FTS5, OR", open: fts5 },
];

/// Identity of the store that the index is told of.
const STORE: &str = "search-quality";
/// Memory of a writer, bytes.
const WRITER_BYTES: usize = 64 << 20;

struct Still;

impl Clock for Still {
    fn now(&self) -> i64 {
        0
    }
}

/// The text as a page with a heading has it.
fn body(document: &Document) -> String {
    match document.title.is_empty() {
        true => document.text.clone(),
        false => format!("{}\n\n{}", document.title, document.text),
    }
}

/// A text for the index.
pub(crate) struct Text {
    /// Name of the document.
    pub(crate) name: String,
    /// Title; empty when there is none.
    pub(crate) title: String,
    /// The text.
    pub(crate) body: String,
}

fn put(number: usize, text: Text) -> Change {
    // What has no title is a plain text.
    let (ending, media_type) =
        if text.title.is_empty() { ("txt", "text/plain") } else { ("html", "text/html") };
    let path = format!("{}.{ending}", text.name);
    let id = format!("file:///srv/{path}");
    let record = Record {
        uri: id.clone(),
        title: text.title,
        path: path.clone(),
        body: Some(text.body),
        media_type: Some(media_type.to_owned()),
        ..Record::default()
    };
    let (acl_id, container) = (Some(AclId(1)), Some(ContainerId(1)));
    let seq = number as i64 + 1;
    Change {
        id,
        address: seq,
        job: 1,
        job_name: "quality".into(),
        document: text.name,
        seq,
        op: Op::Put { record: Arc::new(record), version: Digest(seq), acl_id, container },
    }
}

/// An index of texts in a folder.
pub(crate) fn fill(data: &Path, texts: impl Iterator<Item = Text>) -> Result<Searcher> {
    std::fs::create_dir_all(data)?;
    let context = OutputContext { data: data.to_owned(), store: STORE.to_owned(), session: 1 };
    let mut output = (OUTPUT.open)(&json!({}), &context)?;
    let call = CallContext { clock: Arc::new(Still), cancel: Cancel::default() };
    let changes: Vec<Change> = texts.enumerate().map(|(number, text)| put(number, text)).collect();
    for batch in changes.chunks(500) {
        output.apply(&call, batch).into_iter().collect::<std::result::Result<Vec<()>, _>>()?;
    }
    output.commit(&call)?;
    Ok(Searcher::open(data, STORE)?.ok_or("the index is not there")?)
}

fn ingather(collection: &Collection) -> Result<Ask> {
    let data = tempfile::tempdir()?;
    let texts = collection.documents.iter().map(|document| Text {
        name: document.name.clone(),
        title: document.title.clone(),
        body: body(document),
    });
    let searcher = fill(data.path(), texts)?;
    let access_filter = Arc::new(AccessFilter::All);
    Ok(Box::new(move |query, most| {
        // The folder lives as long as the question can be asked.
        let _folder = data.path();
        let request = SearchRequest { limit: most, ..SearchRequest::new(query, access_filter.clone()) };
        // What is refused finds nothing.
        let found = searcher.search(&request).map(|found| found.hits).unwrap_or_default();
        Ok(found.into_iter().map(|hit| hit.document).collect())
    }))
}

fn english(stop_words: bool) -> TextAnalyzer {
    let words = TextAnalyzer::builder(SimpleTokenizer::default()).filter(LowerCaser);
    match StopWordFilter::new(Language::English).filter(|_| !stop_words) {
        Some(filter) => words.filter(filter).filter(Stemmer::new(Language::English)).build(),
        None => words.filter(Stemmer::new(Language::English)).build(),
    }
}

fn terms(analyzer: &mut TextAnalyzer, text: &str) -> Vec<String> {
    let mut terms = Vec::new();
    analyzer.token_stream(text).process(&mut |token| terms.push(token.text.clone()));
    terms
}

/// Lucene's BM25 with its usual k1 and b, computed here: one field, English stems, no stop words, repeated words count.
fn bm25(collection: &Collection) -> Result<Ask> {
    const K1: f64 = 1.2;
    const B: f64 = 0.75;
    let mut analyzer = english(false);
    let mut postings: HashMap<String, HashMap<usize, f64>> = HashMap::new();
    let mut lengths = Vec::new();
    for (at, document) in collection.documents.iter().enumerate() {
        let words = terms(&mut analyzer, &body(document));
        lengths.push(words.len() as f64);
        for word in words {
            *postings.entry(word).or_default().entry(at).or_default() += 1.0;
        }
    }
    let names: Vec<String> = collection.documents.iter().map(|document| document.name.clone()).collect();
    let all = names.len() as f64;
    let mean = lengths.iter().sum::<f64>() / all;
    Ok(Box::new(move |query, most| {
        let mut scores: HashMap<usize, f64> = HashMap::new();
        for word in terms(&mut analyzer, query) {
            let Some(documents) = postings.get(&word) else { continue };
            let have = documents.len() as f64;
            let weight = (1.0 + (all - have + 0.5) / (have + 0.5)).ln();
            for (at, times) in documents {
                let length = K1 * (1.0 - B + B * lengths[*at] / mean);
                *scores.entry(*at).or_default() += weight * times / (times + length);
            }
        }
        let mut scores: Vec<_> = scores.into_iter().collect();
        scores.sort_by(|(a, x), (b, y)| y.total_cmp(x).then(a.cmp(b)));
        Ok(scores.into_iter().take(most).map(|(at, _)| names[at].clone()).collect())
    }))
}

fn tantivy(collection: &Collection) -> Result<Ask> {
    let mut schema = Schema::builder();
    let words =
        TextFieldIndexing::default().set_tokenizer("english").set_index_option(IndexRecordOption::WithFreqs);
    let name = schema.add_text_field("name", STRING | STORED);
    let text = schema.add_text_field("text", TextOptions::default().set_indexing_options(words));
    let index = Index::create_in_ram(schema.build());
    index.tokenizers().register("english", english(true));
    let mut writer: IndexWriter = index.writer_with_num_threads(1, WRITER_BYTES)?;
    for document in &collection.documents {
        let mut entry = TantivyDocument::new();
        entry.add_text(name, &document.name);
        entry.add_text(text, body(document));
        writer.add_document(entry)?;
    }
    writer.commit()?;
    let searcher = index.reader()?.searcher();
    let mut analyzer = english(true);
    Ok(Box::new(move |query, most| {
        let mut words = terms(&mut analyzer, query);
        words.sort();
        words.dedup();
        let any = words.into_iter().map(|word| {
            let term = Term::from_field_text(text, &word);
            Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs)) as Box<dyn Query>
        });
        let query = BooleanQuery::union(any.collect());
        let found = searcher.search(&query, &TopDocs::with_limit(most).order_by_score())?;
        found
            .into_iter()
            .map(|(_, at)| {
                let entry: TantivyDocument = searcher.doc(at)?;
                let value = entry.get_first(name);
                Ok(value.and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default())
            })
            .collect()
    }))
}

fn fts5(collection: &Collection) -> Result<Ask> {
    let database = rusqlite::Connection::open_in_memory()?;
    database.execute_batch(
        "CREATE VIRTUAL TABLE texts USING fts5(name UNINDEXED, title, body, tokenize = 'porter unicode61')",
    )?;
    for document in &collection.documents {
        database.execute(
            "INSERT INTO texts VALUES (?1, ?2, ?3)",
            rusqlite::params![document.name, document.title, body(document)],
        )?;
    }
    Ok(Box::new(move |query, most| {
        let mut words: Vec<String> = query
            .split(|character: char| !character.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(|word| format!("\"{}\"", word.to_lowercase()))
            .collect();
        words.sort();
        words.dedup();
        let mut found =
            database.prepare_cached("SELECT name FROM texts WHERE texts MATCH ?1 ORDER BY rank LIMIT ?2")?;
        let names = found.query_map(rusqlite::params![words.join(" OR "), most as i64], |row| row.get(0))?;
        Ok(names.collect::<std::result::Result<_, _>>()?)
    }))
}
