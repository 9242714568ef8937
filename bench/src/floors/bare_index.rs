//! Floor of a first run into the index: the bare search library with the same fields, indexed and stored alike, and its own
//! tokenizers; one commit.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use tantivy::schema::{
    BytesOptions, Field, IndexRecordOption, JsonObjectOptions, NumericOptions, Schema, TextFieldIndexing,
    TextOptions,
};
use tantivy::tokenizer::{AsciiFoldingFilter, Language, LowerCaser, SimpleTokenizer, Stemmer, TextAnalyzer};
use tantivy::{Index, IndexWriter, TantivyDocument};

use super::threads;
use crate::Result;

/// Names of the tokenizers, as the program's index has them; those behind them are the library's own.
const PLAIN: &str = "ingather_plain";
const BY_TONGUE: &str = "ingather_tongue";

/// The fields that get a value; the bench compares the whole schema with that of the program's index.
struct Fields {
    schema: Schema,
    id: Field,
    title: Field,
    body: Field,
    kept: Field,
    /// Name and path.
    names: [Field; 2],
    /// Folder and name, to order hits by.
    orders: [Field; 2],
    author: Field,
    /// Media type, ending and language.
    whole: [Field; 3],
    /// Address to job.
    numbers: [Field; 6],
    /// Digest of the text, to find equal ones by.
    text: Field,
    /// Some bits of it.
    text_bucket: Field,
    size: Field,
    modified: Field,
}

fn fields() -> Fields {
    let words = |tokenizer: &str| {
        TextFieldIndexing::default()
            .set_tokenizer(tokenizer)
            .set_index_option(IndexRecordOption::WithFreqsAndPositions)
    };
    let text = |tokenizer| TextOptions::default().set_indexing_options(words(tokenizer));
    let term = TextFieldIndexing::default().set_tokenizer("raw").set_index_option(IndexRecordOption::Basic);
    let whole = TextOptions::default().set_indexing_options(term.set_fieldnorms(false));
    let column = NumericOptions::default().set_fast();
    let mut builder = Schema::builder();
    let mut fields = Fields {
        id: builder.add_text_field("id", whole.clone()),
        title: builder.add_text_field("title", text(BY_TONGUE)),
        body: builder.add_text_field("body", text(BY_TONGUE).set_stored()),
        kept: builder.add_bytes_field("kept", BytesOptions::default().set_stored()),
        names: ["name", "path"].map(|name| builder.add_text_field(name, text(PLAIN))),
        orders: {
            // A file without a title has none.
            builder.add_text_field("title_order", TextOptions::default().set_fast("raw"));
            ["path_order", "name_order"]
                .map(|name| builder.add_text_field(name, TextOptions::default().set_fast("raw")))
        },
        author: builder.add_text_field("author", text(PLAIN)),
        whole: {
            let whole = [
                builder.add_text_field("type", whole.clone().set_fast("raw")),
                builder.add_text_field("ext", whole.clone()),
                builder.add_text_field("lang", whole),
            ];
            // What else a record tells; these files tell nothing.
            builder.add_json_field("meta", JsonObjectOptions::default().set_indexing_options(words(PLAIN)));
            whole
        },
        numbers: ["address", "class", "place", "version", "seq", "job"]
            .map(|name| builder.add_i64_field(name, column.clone())),
        text: builder.add_i64_field("text", column.clone()),
        text_bucket: builder.add_i64_field("text_bucket", NumericOptions::default().set_indexed()),
        size: builder.add_u64_field("size", column.clone()),
        modified: builder.add_i64_field("modified", column.clone()),
        schema: Schema::builder().build(),
    };
    // Files have none.
    builder.add_i64_field("created", column);
    fields.schema = builder.build();
    fields
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

/// A number for a text: equal texts have equal ones.
fn digest(text: &str) -> i64 {
    blake3::hash(text.as_bytes()).as_bytes()[..8]
        .iter()
        .fold(0, |number, byte| number << 8 | i64::from(*byte))
}

/// Indexes every file below `root`.
pub(super) fn run(root: &Path, into: &Path) -> Result<()> {
    std::fs::create_dir_all(into)?;
    let fields = fields();
    let index = Index::create_in_dir(into, fields.schema.clone())?;
    let tokens = TextAnalyzer::builder(SimpleTokenizer::default()).filter(LowerCaser);
    let english = tokens.filter(Stemmer::new(Language::English)).filter(AsciiFoldingFilter).build();
    index.tokenizers().register(BY_TONGUE, english);
    let tokens = TextAnalyzer::builder(SimpleTokenizer::default()).filter(LowerCaser);
    index.tokenizers().register(PLAIN, tokens.filter(AsciiFoldingFilter).build());
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
        let id = format!("file://{}", path.to_string_lossy());
        let below = path.strip_prefix(root)?.to_string_lossy();
        let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        let (seq, size) = (number as i64, text.len() as u64);
        // What the program keeps beside the body, under the names that it has there.
        let kept = serde_json::json!({
            "i": id, "n": id.len(), "d": below, "j": "deep", "t": name, "p": below, "l": "en",
            "m": "text/plain", "a": "owner", "f": {},
        });
        let mut document = TantivyDocument::new();
        document.add_text(fields.id, &id);
        document.add_text(fields.title, &name);
        let digest = digest(&text);
        document.add_i64(fields.text, digest);
        document.add_i64(fields.text_bucket, digest & 0xfff);
        document.add_text(fields.body, text);
        document.add_bytes(fields.kept, &serde_json::to_vec(&kept)?);
        document.add_text(fields.author, "owner");
        for (field, text) in fields.names.into_iter().zip([name.as_ref(), below.as_ref()]) {
            document.add_text(field, text);
        }
        let folder = below.rsplit_once('/').map_or("", |(folder, _)| folder);
        for (field, text) in fields.orders.into_iter().zip([folder, name.as_ref()]) {
            document.add_text(field, text.to_lowercase());
        }
        for (field, word) in fields.whole.into_iter().zip(["text/plain", "txt", "en"]) {
            document.add_text(field, word);
        }
        for (column, value) in fields.numbers.into_iter().zip([seq * 77, 1, 1, seq, seq, 1]) {
            document.add_i64(column, value);
        }
        document.add_u64(fields.size, size);
        document.add_i64(fields.modified, seq);
        writer.add_document(document)?;
    }
}
