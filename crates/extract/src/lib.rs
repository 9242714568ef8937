//! Text, fields and parts out of any file: readers of formats, and the pool of confined processes that runs them.
//!
//! [`Pool::extract`] is the way in for callers; [`extract`] is what happens inside a child, and in tests of readers.

mod cipher;
mod dates;
pub mod decode;
pub mod detect;
mod formats;
mod input;
mod isolation;
mod little_endian;
pub mod markdown;
pub mod names;
mod numbering;
mod page;
pub mod pictures;
mod xml;

use std::collections::BTreeMap;

use ingather_model::document::Links;
use serde::{Deserialize, Serialize};

pub use formats::{holds_documents, is_feed, is_readable};
pub use input::Input;
pub use isolation::confine::{self, InForce};
pub use isolation::pool::{Pool, Settings};
pub use isolation::worker;
pub use page::DEFAULT_LANGUAGE;

/// What a file is, and what is in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extracted {
    /// The name it goes by: of the file, or of the member or attachment.
    pub name: String,
    /// Media type, such as `application/pdf`; by content first, by name second.
    pub media_type: String,
    /// Readable text; the names of parts stand at its end.
    pub text: String,
    /// Title, author, dates and the like by name (`title`, `author`, `created`, `modified`, `subject`, `keywords`, …).
    pub fields: BTreeMap<String, Vec<String>>,
    /// Of a part: bytes, where what it is in says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Of a part: when it last changed, where what it is in or a message itself says so; milliseconds since 1970 UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified: Option<i64>,
    /// Members, attachments, messages and embedded objects, in order.
    pub parts: Vec<Extracted>,
    /// Why there is no text, or not all of it.
    pub reason: Option<String>,
    /// The reader came to no end; no reader says so of itself.
    #[serde(skip)]
    pub lost: Option<Loss>,
    /// Reading broke off: there may be more parts than those that are told.
    #[serde(default)]
    pub broken_off: bool,
    /// Of the document as a whole: it has more parts, or expands to more bytes, than are read.
    #[serde(default)]
    pub over_limit: bool,
    /// Of the document as a whole: what it says of other documents, where somebody asked for it and its format has links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub links: Option<Box<Links>>,
}

/// How a document came to lose its reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// It crashed, or took too much of something: it would again.
    ByItself,
    /// The reader was ended by somebody else, or kept from its work: another one may come to an end.
    ByOthers,
}

impl Extracted {
    /// The first value of a field.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.get(name)?.first().map(String::as_str)
    }
}

/// What somebody wants to have read, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Name of the file; its extension helps where the content leaves the type open.
    pub name: String,
    /// Media type that the source declares, if any; it counts less than the content.
    pub declared: Option<String>,
    /// Charset that the source names for the document itself; it counts more than what stands in the document, and less than its
    /// byte order mark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub charset: Option<String>,
    /// How to read.
    pub options: Options,
    /// Bounds.
    pub limits: Limits,
    /// Somebody follows the links of the document: they come with the answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub links: bool,
    /// Who may see what comes out; equal numbers are the same people. A child never reads for others than those that it has
    /// read for before.
    #[serde(skip)]
    pub audience: i64,
}

/// What people may want differently.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Hidden sheets and slides are read too.
    pub hidden: bool,
    /// Navigation, headers and footers of web pages are kept.
    pub boilerplate: bool,
    /// Members, attachments and embedded objects are opened.
    pub parts: bool,
    /// Headings, lists, tables and pages are marked as in Markdown.
    pub markdown: bool,
    /// Somebody looks at pictures, and says what the words in them are.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub pictures: bool,
    /// Passwords that are tried in this order on what is protected.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub passwords: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            hidden: true,
            boilerplate: true,
            parts: true,
            markdown: false,
            pictures: false,
            passwords: Vec::new(),
        }
    }
}

/// Bounds of one document; the numbers and reasons stand in `ingather_model::limits`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Bytes of text, of the document and all its parts together.
    pub text_bytes: usize,
    /// Containers inside each other.
    pub depth: usize,
    /// Parts at all depths.
    pub parts: usize,
    /// Bytes that may come out of compression.
    pub expanded_bytes: u64,
    /// Bytes out of compression for each byte of the document.
    pub ratio: u64,
    /// Bytes of a document that are held in memory; larger ones are read from a scratch file.
    pub memory_input_bytes: u64,
    /// Time for one document, milliseconds.
    pub time_ms: u64,
}

impl Default for Limits {
    fn default() -> Self {
        use ingather_model::limits as all;
        Self {
            text_bytes: all::BODY_BYTES_MAX,
            depth: all::EXTRACT_DEPTH_MAX,
            parts: all::EXTRACT_PARTS_MAX,
            expanded_bytes: all::EXTRACT_EXPANDED_BYTES_MAX,
            ratio: all::EXTRACT_RATIO_MAX,
            memory_input_bytes: all::EXTRACT_MEMORY_INPUT_BYTES_MAX,
            time_ms: all::EXTRACT_MS_MAX,
        }
    }
}

/// Reads a document in this process: only for what runs inside a child, and for tests.
pub fn extract(request: &Request, input: Input) -> Extracted {
    let budget = page::Budget::new(request, &input, formats::read);
    let mut page = page::TextSink::new(&budget, 0, &request.name);
    let charset = request.charset.as_deref().and_then(decode::labelled);
    formats::read(&mut page, request.declared.as_deref(), input.written_in(charset));
    let mut found = page.finish();
    found.over_limit = budget.is_over();
    found
}
