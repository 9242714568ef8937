//! The text of documents: plain text, Markdown and source code decoded in this process within fixed bounds, everything
//! else by readers in processes of their own.

mod files;
mod passwords;

use std::cell::Cell;
use std::io::{ErrorKind, Read};
use std::sync::Arc;

use garde::Validate;
use ingather_contract::call::CallContext;
use ingather_contract::settings;
use ingather_contract::transform::{Audience, Item, Transform, TransformKind, Verdict};
use ingather_model::document::{Links, Parts, Record};
use ingather_model::fault::Fault;
use ingather_model::limits;

use ingather_extract::decode;
use ingather_extract::detect;
use ingather_extract::markdown;
use ingather_extract::pictures::{Seen, Sight};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[cfg(feature = "tika")]
pub(crate) use self::files::take;
pub use self::files::{read_files_with, readers_in_force};
pub use self::passwords::passwords_in;

/// The `text` transform.
pub(crate) const TRANSFORM: TransformKind = TransformKind {
    name: "text",
    about: "Finds the media type of a document, its text, its title and author, and the text of what is in it.",
    version: "13",
    schema: settings::schema_of::<TextSettings>,
    open,
};

fn open(value: &serde_json::Value) -> Result<Arc<dyn Transform>, Fault> {
    Ok(Arc::new(Text::new(settings::read(value)?)?))
}

/// How documents are read, and what becomes of what is in them.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct TextSettings {
    /// Members of archives, messages of mailboxes and attachments: entries of their own, text of the document that they are
    /// in, or left out.
    #[garde(skip)]
    parts: PartsAs,
    /// The entry of a document that has parts as entries: as it is, without its text, or none.
    #[garde(skip)]
    container: Container,
    /// Leave out hidden sheets and slides.
    #[garde(skip)]
    skip_hidden: bool,
    /// Leave out navigation, headers and footers of web pages.
    #[garde(skip)]
    skip_boilerplate: bool,
    /// Text as it is read, or with light marks of Markdown for headings, lists, tables and pages.
    #[garde(skip)]
    form: Form,
    /// Passwords that are tried in this order on protected documents. They are kept with the job's settings, sealed
    /// with the key of the store. No answer of the program shows them.
    #[garde(length(max = limits::EXTRACT_PASSWORDS_MAX), inner(length(bytes, min = 1, max = limits::PASSWORD_BYTES_MAX)))]
    #[schemars(extend("writeOnly" = true))]
    passwords: Vec<String>,
    /// A file with a password in each line, tried after those before: a whole path, and nobody but its owner may read it. Only the
    /// path is kept with the job; the file is read when a run begins.
    #[garde(inner(length(bytes, min = 1, max = 4_096)))]
    #[schemars(extend("x-of-the-machine" = true))]
    password_file: Option<String>,
    /// A variable of the environment with a password in each line, tried last. Only its name is kept with the job.
    #[garde(inner(length(bytes, min = 1, max = 1_024)))]
    #[schemars(extend("x-of-the-machine" = true))]
    password_variable: Option<String>,
}

/// The field that says in which form a text was written, when it is not plain.
pub(crate) const FORM: &str = "text_form";

/// How text is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Form {
    /// Lines, and cells of tables set apart by tabs.
    #[default]
    Plain,
    /// With the marks of Markdown; `passages` then cuts at headings and tells page and headings of each passage.
    Markdown,
}

/// What becomes of documents that are in other documents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PartsAs {
    /// Each is an entry, named such as `outer.zip!/inner/mail.eml!/report.pdf`.
    #[default]
    Entries,
    /// Their text follows that of the document.
    Text,
    /// They are not read.
    None,
}

/// What becomes of a document whose parts are entries (design parts CMP-1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Container {
    /// It is an entry like any other.
    #[default]
    Keep,
    /// It is an entry without text.
    MetadataOnly,
    /// It is no entry.
    Drop,
}

impl Container {
    /// What becomes of the entry of a document whose parts are entries now.
    pub(crate) fn keep(self, record: &mut Record) -> Verdict {
        match self {
            Container::Keep => Verdict::Pass,
            Container::MetadataOnly => {
                record.body = None;
                Verdict::Pass
            }
            Container::Drop => Verdict::PartsOnly,
        }
    }
}

pub(crate) struct Text {
    settings: TextSettings,
    /// What is seen in a picture, where somebody looks at them.
    look: Option<Box<LookAt>>,
}

/// Says what is seen in a picture.
pub(crate) type LookAt = dyn Fn(&[u8]) -> Seen + Send + Sync;

impl Text {
    /// With the passwords that the settings name.
    fn new(mut settings: TextSettings) -> Result<Text, Fault> {
        passwords::gather(&mut settings)?;
        Ok(Text { settings, look: None })
    }

    /// The same, looking at pictures.
    pub(crate) fn seeing(settings: TextSettings, look: Box<LookAt>) -> Result<Text, Fault> {
        Ok(Text { look: Some(look), ..Text::new(settings)? })
    }
}

thread_local! {
    /// What a thread reads into, one document after the other: memory that was just used costs less than other.
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

impl Transform for Text {
    fn apply(&self, call: &CallContext, item: &mut Item<'_>) -> Result<Verdict, Fault> {
        let bytes = buffer_bytes(item.record.size);
        let mut buffer = BUFFER.take();
        if buffer.len() < bytes {
            buffer.resize(bytes, 0);
        }
        let verdict = self.read(call, item, &mut buffer[..bytes]);
        item.record.charset = None;
        BUFFER.set(buffer);
        verdict
    }
}

impl Text {
    fn read(&self, call: &CallContext, item: &mut Item<'_>, buffer: &mut [u8]) -> Result<Verdict, Fault> {
        let Item { record, content, links, parts, audience } = item;
        let links = links.as_deref_mut();
        let (length, mut ended) = fill(*content, buffer)?;
        let head = &buffer[..length];
        let mut name = name_of(record).to_owned();
        let data = detect::by_content(head, &name)
            .or_else(|| decode::is_binary(head).then(|| detect::of_binary(&name)));
        if let Some(media) = data {
            record.media_type = Some(media.to_owned());
            return self.file(call, &name, (record, *audience), &mut head.chain(content), (parts, links));
        }
        let mut text = decode::Text::said(record.charset.as_deref());
        text.push(head, ended);
        let mut media = detect::of_text(&text.text, &name);
        // A server says of a page what its first letters may not show.
        let is_said_page = |media: &str| matches!(media, "text/html" | "application/xhtml+xml");
        if media == "text/plain" && record.media_type.as_deref().is_some_and(is_said_page) {
            name.push_str(".html");
            media = "text/html";
        }
        record.media_type = Some(media.to_owned());
        if !detect::is_text(media) {
            return self.file(call, &name, (record, *audience), &mut head.chain(content), (parts, links));
        }
        while !ended && !text.is_full() {
            let length;
            (length, ended) = fill(*content, buffer)?;
            text.push(&buffer[..length], ended);
        }
        if text.binary {
            record.media_type = Some(detect::of_binary(&name).to_owned());
            return Ok(Verdict::Pass);
        }
        if text.truncated {
            record.fields.insert("truncated".to_owned(), vec!["true".to_owned()]);
        }
        if media == "text/markdown"
            && let Some(title) = markdown::title(&text.text)
        {
            record.title = title;
        }
        record.body = Some(text.text);
        Ok(Verdict::Pass)
    }
}

impl Text {
    /// Has a reader of files read a document.
    fn file(
        &self,
        call: &CallContext,
        name: &str,
        whose: (&mut Record, &dyn Fn() -> Audience),
        content: &mut dyn Read,
        (parts, links): (&mut Parts, Option<&mut Links>),
    ) -> Result<Verdict, Fault> {
        let stopped = || call.cancel.cancelled();
        let mut sight = self.look.as_deref().map(|look| Sight::new(look, &stopped));
        files::read(&self.settings, sight.as_mut(), name, whose, content, parts, links)
    }
}

/// A small file needs no large buffer; one byte more tells its end in the same read.
fn buffer_bytes(size: Option<u64>) -> usize {
    let size = size.and_then(|size| usize::try_from(size).ok()).unwrap_or(limits::READ_BUFFER_BYTES);
    size.saturating_add(1).clamp(64, limits::READ_BUFFER_BYTES)
}

/// Fills the buffer as far as the content goes; the length, and whether the content ended.
fn fill(content: &mut dyn Read, buffer: &mut [u8]) -> Result<(usize, bool), Fault> {
    let mut length = 0;
    while length < buffer.len() {
        match content.read(&mut buffer[length..]) {
            Ok(0) => return Ok((length, true)),
            Ok(more) => length += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => {
                return Err(Fault::passing("io", format!("the content cannot be read to its end: {error}")));
            }
        }
    }
    Ok((length, false))
}

/// The name that an extension is taken from.
pub(crate) fn name_of(record: &Record) -> &str {
    let name = record.fields.get("name").and_then(|names| names.first());
    name.map_or_else(|| record.path.rsplit('/').next().unwrap_or_default(), String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ingather_contract::call::{Cancel, Clock};
    use ingather_testkit::suites;
    use proptest::prelude::*;

    struct Still;

    impl Clock for Still {
        fn now(&self) -> i64 {
            0
        }
    }

    fn try_apply(name: &str, content: &mut dyn Read) -> Result<Record, Fault> {
        applied(Record { path: format!("dir/{name}"), title: name.to_owned(), ..Record::default() }, content)
    }

    fn applied(mut record: Record, content: &mut dyn Read) -> Result<Record, Fault> {
        let call = CallContext { clock: Arc::new(Still), cancel: Cancel::default() };
        let parts = &mut Parts::default();
        let mut item =
            Item { record: &mut record, content, links: None, parts, audience: &Audience::default };
        open(&serde_json::json!({}))?.apply(&call, &mut item).map(|verdict| {
            assert_eq!(verdict, Verdict::Pass);
            record
        })
    }

    fn apply(name: &str, bytes: &[u8]) -> Record {
        try_apply(name, &mut &*bytes).unwrap()
    }

    #[test]
    fn it_keeps_what_a_transform_promises() {
        let samples: [(&str, &[u8]); 4] = [
            ("a.txt", b"a text of some words"),
            ("a.md", b"# Title\n\nA paragraph."),
            ("a.rs", b"fn main() {}"),
            ("a.pdf", b"%PDF-1.4"),
        ];
        suites::transform(&TRANSFORM, &serde_json::json!({}), &samples);
    }

    #[test]
    fn text_has_a_body_and_other_files_have_a_media_type_only() {
        for (name, bytes, media, body) in [
            ("a.txt", b"hello".as_slice(), "text/plain", Some("hello")),
            ("main.rs", b"fn main() {}", "text/x-rust", Some("fn main() {}")),
            ("data.json", b"{\"a\": 1}", "application/json", Some("{\"a\": 1}")),
            ("data.csv", b"a,b", "text/csv", Some("a,b")),
            ("empty", b"", "text/plain", Some("")),
            ("page.html", b"<p>x", "text/html", None),
            ("page.txt", b"<!DOCTYPE html><p>x", "text/html", None),
            ("a.pdf", b"%PDF-1.4 text", "application/pdf", None),
            ("a.png", b"\x89PNG\r\n\x1a\nxx", "image/png", None),
            ("a.bin", b"abc\0def", "application/octet-stream", None),
            ("a.mp4", b"\0\0\0\x20ftypisom", "video/mp4", None),
            ("lies.pdf", b"only text", "text/plain", Some("only text")),
        ] {
            let record = apply(name, bytes);
            assert_eq!(record.media_type.as_deref(), Some(media), "{name}");
            assert_eq!(record.body.as_deref(), body, "{name}");
            assert_eq!(record.title, name);
        }
    }

    #[test]
    fn what_a_server_says_of_a_page_counts_where_its_first_letters_say_nothing() {
        let page = format!("{}<html><title>T</title><body><p>words</p>", " ".repeat(70_000));
        for content in [page.as_str(), "garbage first <html><title>T</title><body><p>words</p>"] {
            for (said, is_page) in [(Some("text/html"), true), (Some("text/plain"), false), (None, false)] {
                let said = said.map(str::to_owned);
                let record = Record { path: "a".to_owned(), media_type: said.clone(), ..Record::default() };
                let media = applied(record, &mut content.as_bytes()).unwrap().media_type;
                assert_eq!(media.as_deref() == Some("text/html"), is_page, "{said:?}: {media:?}");
            }
        }
    }

    #[test]
    fn markdown_is_titled_by_its_first_heading() {
        let title = |text: &str| apply("a.md", text.as_bytes()).title;
        assert_eq!(title("intro\n\n# The *title* ##\n# Second\n"), "The *title*");
        assert_eq!(title("```sh\n# comment\n```\n# Real\n"), "Real");
        assert_eq!(title("## Only second level\n#hashtag\n# \n"), "a.md");
        assert_eq!(title(&format!("# {}", "ä".repeat(2_000))).len(), limits::TITLE_BYTES_MAX);
        assert_eq!(title("# Head\u{1b}[2J \u{9b}word\n"), "Head [2J  word");
        assert_eq!(apply("a.txt", b"# not markdown").title, "a.txt");
    }

    #[test]
    fn a_body_that_does_not_fit_is_cut_off_and_says_so() {
        let record = try_apply("big.txt", &mut std::io::repeat(b'x')).unwrap();
        assert_eq!(record.body.map(|body| body.len()), Some(limits::BODY_BYTES_MAX));
        assert_eq!(record.fields["truncated"], ["true"]);
    }

    #[test]
    fn a_zero_byte_far_behind_makes_it_data() {
        let mut bytes = b"line\n".repeat(50_000);
        bytes.push(0);
        let record = apply("a.txt", &bytes);
        assert_eq!((record.body, record.media_type.as_deref()), (None, Some("application/octet-stream")));
    }

    #[test]
    fn errors_of_the_content_are_passed_on() {
        struct Failing;
        impl Read for Failing {
            fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
                Err(std::io::Error::other("disk on fire"))
            }
        }
        let fault = try_apply("a.txt", &mut b"begin".as_slice().chain(Failing)).unwrap_err();
        assert!(matches!(&fault, Fault::Passing { .. }) && fault.reason().message.contains("disk on fire"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken(bytes in proptest::collection::vec(any::<u8>(), 0..2_000), name in "[a-z.]{0,8}") {
            let record = apply(&name, &bytes);
            prop_assert!(record.media_type.is_some());
            prop_assert!(record.body.is_none_or(|body| body.len() <= bytes.len() * 3 + 16));
        }
    }
}
