//! Measures what a first run into the search index costs beside a bare program with the same terms and stored fields.
//!
//! `cargo run --release -p ingather-connectors --example index_cost -- [documents] [bytes] [commit each] [small words]`;
//! small words: how many of 5 words are common English ones (0 = the language must be told from letters).

use std::sync::Arc;
use std::time::Instant;

use ingather_connector::call::{Call, Cancel, Clock};
use ingather_connector::model::document::Record;
use ingather_connector::model::ids::{ClassId, Digest, PlaceId};
use ingather_connector::output::{Change, Op, OutputPlace};
use tantivy::schema::{FAST, IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::{AsciiFoldingFilter, Language, LowerCaser, SimpleTokenizer, Stemmer, TextAnalyzer};
use tantivy::{Index, IndexWriter, TantivyDocument};

struct Still;

impl Clock for Still {
    fn now(&self) -> i64 {
        0
    }
}

/// Processor time of this process in seconds, all threads.
fn processor_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

const WORDS: &str = "the of and to in that is was for it with as his on be at by had not are but from or have an they \
    which one you were all her she there would their we him been has when who will no more if out so up said what its \
    about than into them can only other time new some could these two may first then do any like my now over such our \
    man me even most made after also did many off before must well back through years much where your way down should";

/// English text of about `bytes` bytes: small words and rarer ones, always the same for the same number.
fn text(number: u64, bytes: usize, small: u64) -> String {
    let common: Vec<&str> = WORDS.split_whitespace().collect();
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut out = String::with_capacity(bytes + 16);
    while out.len() < bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        if state % 5 < small {
            out.push_str(common[(state >> 20) as usize % common.len()]);
        } else {
            // About 30,000 rarer words, the smaller numbers more often.
            let rank = ((state >> 20) % 30_000) * ((state >> 40) % 1_000) / 1_000;
            for step in 0..3 {
                let syllable = (rank * 7 + step * 131) % 400;
                out.push(char::from(b'b' + (syllable % 20) as u8));
                out.push(b"aeiou"[syllable as usize / 20 % 5].into());
            }
            out.push_str(["", "ing", "ed", "s"][(state >> 60) as usize % 4]);
        }
        out.push(if state.is_multiple_of(17) { '\n' } else { ' ' });
    }
    out
}

fn record(number: u64, bytes: usize, small: u64) -> Record {
    Record {
        uri: format!("file:///srv/share/folder-{}/document-{number}.txt", number / 100),
        path: format!("folder-{}/document-{number}.txt", number / 100),
        body: Some(text(number, bytes, small)),
        media_type: Some("text/plain".into()),
        size: Some(bytes as u64),
        modified: Some(1_700_000_000_000 + number as i64),
        author: Some("alice".into()),
        ..Record::default()
    }
}

fn ours(records: &[Record], each: usize) -> f64 {
    let data = tempfile::TempDir::new().expect("a temporary directory");
    let place = OutputPlace { data: data.path().to_owned(), store: "store".into() };
    let mut index =
        (ingather_connectors::index::OUTPUT.open)(&serde_json::json!({}), &place).expect("a new index opens");
    let call = Call { clock: Arc::new(Still), cancel: Cancel::default() };
    let job_name: Arc<str> = "share".into();
    let mut used = 0.0;
    let mut since = 0;
    for (batch, part) in records.chunks(512).enumerate() {
        let changes: Vec<Change> = part
            .iter()
            .enumerate()
            .map(|(at, record)| {
                let hash = blake3::hash(record.uri.as_bytes());
                let address = i64::from_le_bytes(hash.as_bytes()[..8].try_into().expect("eight bytes"));
                let seq = (batch * 512 + at) as i64;
                let op = Op::Put {
                    record: std::sync::Arc::new(record.clone()),
                    version: Digest(seq + 1),
                    class: Some(ClassId(1)),
                    place: Some(PlaceId(1)),
                };
                let document = record.path.clone();
                Change {
                    id: record.uri.clone(),
                    address,
                    job: 1,
                    job_name: job_name.clone(),
                    document,
                    seq,
                    op,
                }
            })
            .collect();
        let before = processor_seconds();
        let answers = index.apply(&call, &changes);
        assert!(answers.iter().all(Result::is_ok));
        since += part.len();
        if since >= each {
            index.commit(&call).expect("a commit");
            since = 0;
        }
        used += processor_seconds() - before;
    }
    let before = processor_seconds();
    index.commit(&call).expect("a commit");
    drop(index);
    used + processor_seconds() - before
}

fn bare(records: &[Record], each: usize) -> f64 {
    let data = tempfile::TempDir::new().expect("a temporary directory");
    let words = |tokenizer: &str| {
        TextFieldIndexing::default()
            .set_tokenizer(tokenizer)
            .set_index_option(IndexRecordOption::WithFreqsAndPositions)
    };
    let mut builder = Schema::builder();
    let id = builder.add_text_field("id", STRING | STORED);
    let body = builder
        .add_text_field("body", TextOptions::default().set_indexing_options(words("english")).set_stored());
    let plain = TextOptions::default().set_indexing_options(words("plain")).set_stored();
    let texts = ["name", "path", "author"].map(|name| builder.add_text_field(name, plain.clone()));
    let media_type = builder.add_text_field("type", STRING | STORED | FAST);
    let ext = builder.add_text_field("ext", STRING);
    let columns = ["address", "class", "place", "version", "seq", "job", "size", "modified"]
        .map(|name| builder.add_i64_field(name, FAST));
    let index = Index::create_in_dir(data.path(), builder.build()).expect("a new index");
    let tokens = TextAnalyzer::builder(SimpleTokenizer::default()).filter(LowerCaser);
    let english = tokens.filter(Stemmer::new(Language::English)).filter(AsciiFoldingFilter).build();
    index.tokenizers().register("english", english);
    let tokens = TextAnalyzer::builder(SimpleTokenizer::default()).filter(LowerCaser);
    index.tokenizers().register("plain", tokens.filter(AsciiFoldingFilter).build());
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(2);
    let mut writer: IndexWriter = index.writer_with_num_threads(threads, 128 << 20).expect("a writer");
    let before = processor_seconds();
    for (number, record) in records.iter().enumerate() {
        let mut document = TantivyDocument::new();
        document.add_text(id, &record.uri);
        document.add_text(body, record.body.as_deref().unwrap_or_default());
        let name = record.path.rsplit('/').next().unwrap_or_default();
        let author = record.author.as_deref().unwrap_or_default();
        for (field, text) in texts.into_iter().zip([name, &record.path, author]) {
            document.add_text(field, text);
        }
        document.add_text(media_type, "text/plain");
        document.add_text(ext, "txt");
        let seq = number as i64;
        let size = record.size.unwrap_or(0) as i64;
        for (column, value) in columns.into_iter().zip([seq * 77, 1, 1, seq, seq, 1, size, seq]) {
            document.add_i64(column, value);
        }
        writer.add_document(document).expect("room for a document");
        if (number + 1) % each == 0 {
            writer.commit().expect("a commit");
        }
    }
    writer.commit().expect("a commit");
    drop(writer);
    processor_seconds() - before
}

#[expect(clippy::print_stdout, reason = "a measurement speaks to the person who runs it")]
fn main() {
    let mut numbers = std::env::args().skip(1).map(|text| text.parse::<usize>().expect("a number"));
    let documents = numbers.next().unwrap_or(20_000);
    let bytes = numbers.next().unwrap_or(2_048);
    let each = numbers.next().unwrap_or(5_000);
    let small = numbers.next().unwrap_or(3) as u64;
    let records: Vec<Record> = (0..documents as u64).map(|number| record(number, bytes, small)).collect();
    println!("{documents} documents of {bytes} bytes, a commit each {each}");
    for round in 1..=3 {
        let started = Instant::now();
        let bare = bare(&records, each) / documents as f64 * 1e6;
        let between = started.elapsed();
        let ours = ours(&records, each) / documents as f64 * 1e6;
        let (first, second) = (between.as_secs_f64(), (started.elapsed() - between).as_secs_f64());
        println!(
            "round {round}: bare {bare:.1} µs, index {ours:.1} µs of processor time each, {:.2} times \
             (seconds: {first:.2}, {second:.2})",
            ours / bare
        );
    }
}
