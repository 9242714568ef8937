//! Floor of a first run into the index: the bare search library with the same words and stored fields, one commit.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use tantivy::schema::{FAST, IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::{AsciiFoldingFilter, Language, LowerCaser, SimpleTokenizer, Stemmer, TextAnalyzer};
use tantivy::{Index, IndexWriter, TantivyDocument};

use super::threads;
use crate::Result;

/// Fields of the bare index.
struct Fields {
    schema: Schema,
    id: tantivy::schema::Field,
    body: tantivy::schema::Field,
    texts: [tantivy::schema::Field; 3],
    words: [tantivy::schema::Field; 2],
    columns: [tantivy::schema::Field; 8],
}

fn fields() -> Fields {
    let words = |tokenizer: &str| {
        TextFieldIndexing::default()
            .set_tokenizer(tokenizer)
            .set_index_option(IndexRecordOption::WithFreqsAndPositions)
    };
    let mut builder = Schema::builder();
    let plain = TextOptions::default().set_indexing_options(words("plain")).set_stored();
    let english = TextOptions::default().set_indexing_options(words("english")).set_stored();
    Fields {
        id: builder.add_text_field("id", STRING | STORED),
        body: builder.add_text_field("body", english),
        texts: ["name", "path", "author"].map(|name| builder.add_text_field(name, plain.clone())),
        words: [
            builder.add_text_field("type", STRING | STORED | FAST),
            builder.add_text_field("ext", STRING),
        ],
        columns: ["address", "class", "place", "version", "seq", "job", "size", "modified"]
            .map(|name| builder.add_i64_field(name, FAST)),
        schema: builder.build(),
    }
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => files(&entry.path(), found)?,
            false => found.push(entry.path()),
        }
    }
    Ok(())
}

/// Indexes every file below `root`.
pub(super) fn run(root: &Path, into: &Path) -> Result<()> {
    std::fs::create_dir_all(into)?;
    let fields = fields();
    let index = Index::create_in_dir(into, fields.schema.clone())?;
    let tokens = TextAnalyzer::builder(SimpleTokenizer::default()).filter(LowerCaser);
    let english = tokens.filter(Stemmer::new(Language::English)).filter(AsciiFoldingFilter).build();
    index.tokenizers().register("english", english);
    let tokens = TextAnalyzer::builder(SimpleTokenizer::default()).filter(LowerCaser);
    index.tokenizers().register("plain", tokens.filter(AsciiFoldingFilter).build());
    let mut writer: IndexWriter = index.writer_with_num_threads(threads().min(2), 128 << 20)?;
    let mut paths = Vec::new();
    files(root, &mut paths)?;
    let waiting = Mutex::new(paths.iter().enumerate());
    std::thread::scope(|scope| {
        let readers: Vec<_> =
            (0..threads()).map(|_| scope.spawn(|| add_files(&waiting, &writer, &fields, root))).collect();
        readers.into_iter().try_for_each(|reader| match reader.join() {
            Ok(done) => done.map_err(|error| error.to_string()),
            Err(_) => Err("a thread died".to_owned()),
        })
    })?;
    writer.commit()?;
    writer.wait_merging_threads()?;
    Ok(())
}

fn add_files<'p>(
    waiting: &Mutex<impl Iterator<Item = (usize, &'p PathBuf)>>,
    writer: &IndexWriter,
    fields: &Fields,
    root: &Path,
) -> std::result::Result<(), Box<dyn std::error::Error + Send + Sync>> {
    loop {
        let next = waiting.lock().map_err(|_| "a thread died")?.next();
        let Some((number, path)) = next else { return Ok(()) };
        let text = std::fs::read_to_string(path)?;
        let shown = path.to_string_lossy();
        let below = path.strip_prefix(root)?.to_string_lossy();
        let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        let (seq, size) = (number as i64, text.len() as i64);
        let mut document = TantivyDocument::new();
        document.add_text(fields.id, format!("file://{shown}"));
        document.add_text(fields.body, text);
        for (field, text) in fields.texts.into_iter().zip([name.as_ref(), below.as_ref(), "owner"]) {
            document.add_text(field, text);
        }
        for (field, word) in fields.words.into_iter().zip(["text/plain", "txt"]) {
            document.add_text(field, word);
        }
        for (column, value) in fields.columns.into_iter().zip([seq * 77, 1, 1, seq, seq, 1, size, seq]) {
            document.add_i64(column, value);
        }
        writer.add_document(document)?;
    }
}
