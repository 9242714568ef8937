//! OpenDocument texts, sheets and slides; EPUB books by `book`.

mod book;
mod lists;
mod protection;
mod spoken;

use std::io::Read;

use self::lists::Lists;
use self::spoken::Languages;
use crate::formats::archives::zip::Zip;
use crate::page::{Outcome, TextSink};
use crate::xml::{self, Go, Met};

/// Reads a document or book; nothing when the ZIP file is none.
pub(crate) fn read(zip: &mut Zip, page: &mut TextSink<'_>) -> Option<Outcome> {
    let kind = zip.find_read("mimetype", page.budget()).unwrap_or_default();
    let kind = String::from_utf8_lossy(&kind).trim().to_owned();
    if kind == "application/epub+zip"
        || zip.find("META-INF/container.xml").is_some() && page.name().ends_with("epub")
    {
        page.set_media_type("application/epub+zip");
        return Some(book::read(zip, page));
    }
    let opendocument = kind.contains("opendocument") || kind.contains("vnd.sun.xml");
    let parts = ["content.xml", "META-INF/manifest.xml"].iter().all(|name| zip.find(name).is_some());
    if !opendocument && !parts {
        return None;
    }
    if opendocument {
        page.set_media_type(&kind);
    }
    Some(document(zip, page))
}

fn document(zip: &mut Zip, page: &mut TextSink<'_>) -> Outcome {
    if let Some(meta) = zip.find_read("meta.xml", page.budget()) {
        properties(&meta, page);
    }
    let manifest = zip.find_read("META-INF/manifest.xml", page.budget()).unwrap_or_default();
    if manifest.windows(15).any(|word| word == b"encryption-data") {
        protection::open(zip, &manifest, page)?;
    }
    let index = zip.find("content.xml").ok_or("its content is missing")?;
    let budget = page.budget();
    let shows = ["presentation", "graphics"].iter().any(|kind| page.media_type().contains(kind));
    let styles = zip.find_read("styles.xml", budget).unwrap_or_default();
    let outcome = body(zip.stream(index, budget)?, shows, styles_of(&styles), page);
    if !styles.is_empty() {
        page.line_break();
        // Headers and footers; damage there costs only them.
        let _ = body(styles.as_slice(), true, Styles::default(), page);
    }
    let names: Vec<String> = zip.names().map(str::to_owned).collect();
    for name in names {
        let Some(index) = zip.find(&name) else { continue };
        if let Some(object) = name.strip_suffix("/content.xml") {
            let bytes = zip.read(index, page.budget());
            page.inner_by(object, |page| {
                page.set_media_type("application/vnd.oasis.opendocument.text");
                let outcome = bytes
                    .map_err(Into::into)
                    .and_then(|bytes| body(bytes.as_slice(), false, Styles::default(), page));
                if let Err(parse_error) = outcome {
                    page.reason(parse_error.0);
                }
                page.note_if_empty();
            });
        } else if name.starts_with("Pictures/") || name.starts_with("Object ") && !name.contains('/') {
            match zip.part(index, page.budget()) {
                Ok(input) if input.is_empty() => {}
                Ok(input) => page.inner(name.rsplit('/').next().unwrap_or(&name), input),
                Err(error) => page.inner_by(&name, |page| page.reason(error.to_string())),
            }
        }
    }
    outcome
}

/// How lists and headings count, and which language words are in.
type Styles = (Lists, Languages);

/// What the styles of a document say.
fn styles_of(styles: &[u8]) -> Styles {
    let (mut lists, mut languages) = Styles::default();
    let _ = xml::walk(styles, |met| {
        match met {
            Met::Open(tag) => {
                lists.open(&tag);
                languages.open(&tag);
            }
            Met::Close(name) => {
                lists.close(name);
                languages.close(name);
            }
            Met::Text(_) => {}
        }
        Go::On
    });
    (lists, languages)
}

/// Elements whose text is left out: what was deleted, and how things look.
const SILENT: &[&str] = &["tracked-changes", "script", "automatic-styles", "binary-data", "forms"];
/// Fields that a program fills in when it shows a page: what stands there is a sample.
const FILLED: &[&str] = &["page-number", "page-count", "sheet-name", "file-name"];
/// Elements that stand apart from the words around them.
const APART: &[&str] =
    &["note", "note-citation", "annotation", "creator", "text-box", "title", "desc", "section", "list-item"];

/// Where a walk over a part stands.
#[derive(Default)]
struct Place {
    silent: usize,
    paragraphs: usize,
    annotations: usize,
    lists: Lists,
    languages: Languages,
    /// Items whose text has not begun, and the number that the last one says it has.
    items: usize,
    start: Option<u32>,
    /// Pages so far, and whether another one begins with the next paragraph.
    pages: usize,
    turned: bool,
    /// Fields hold samples: in the styles of pages, and on slides.
    samples: bool,
}

impl Place {
    /// Whether the text of an element is left out. When somebody remarked something is no word of the remark.
    fn is_silent(&self, name: &str) -> bool {
        SILENT.contains(&name)
            || (self.samples && FILLED.contains(&name))
            || (self.annotations > 0 && matches!(name, "date" | "date-string"))
    }

    fn open(&mut self, tag: &xml::Tag<'_>, page: &mut TextSink<'_>) {
        let name = tag.name();
        if self.is_silent(name) {
            self.silent += 1;
        }
        self.lists.open(tag);
        self.languages.open(tag);
        match name {
            "p" | "h" => {
                if self.paragraphs == 0 && self.silent == 0 {
                    self.begin(tag, page);
                }
                self.paragraphs += 1;
            }
            "list-item" => {
                self.items += 1;
                self.start = tag.attribute("start-value").and_then(|start| start.parse().ok());
            }
            "soft-page-break" => self.turned = true,
            "annotation" => self.annotations += 1,
            "s" if self.paragraphs > 0 => {
                let count = tag.attribute("c").and_then(|count| count.parse().ok()).unwrap_or(1usize);
                page.text(&" ".repeat(count.min(64)));
            }
            "tab" if self.paragraphs > 0 => page.text("\t"),
            "line-break" if self.paragraphs > 0 => page.text("\n"),
            "table" => {
                let name = tag.attribute("name").filter(|_| page.media_type().contains("spreadsheet"));
                name.into_iter().for_each(|name| page.title_line(2, &name));
                page.table_begin();
            }
            "page" if self.samples => {
                self.pages += 1;
                page.page_mark(self.pages);
            }
            _ => {}
        }
        if APART.contains(&name) {
            page.space();
        }
    }

    /// Begins a paragraph, a heading or an item of a list.
    fn begin(&mut self, tag: &xml::Tag<'_>, page: &mut TextSink<'_>) {
        if self.turned && !page.is_in_cell() {
            self.turned = false;
            self.pages = self.pages.max(1) + 1;
            page.page_mark(self.pages);
        }
        let level = tag.attribute("outline-level").and_then(|level| level.parse().ok()).unwrap_or(1);
        let in_item = self.items > 0 && self.lists.depth() > 0;
        match tag.name() {
            "h" => {
                page.heading(level);
                let is_numbered = tag.attribute("is-list-header").is_none_or(|header| header != "true");
                let label = match in_item {
                    true => self.lists.item(self.start),
                    false if is_numbered => self.lists.heading(usize::from(level).saturating_sub(1)),
                    false => String::new(),
                };
                if !label.is_empty() {
                    page.text(&format!("{label} "));
                }
            }
            _ if in_item => page.item(self.lists.depth() - 1, &self.lists.item(self.start)),
            // A paragraph in a cell, note or remark goes on with what is around it.
            _ if page.is_marked() && self.annotations == 0 => page.paragraph(),
            _ => {}
        }
        self.items = 0;
    }

    fn close(&mut self, name: &str, page: &mut TextSink<'_>) {
        self.lists.close(name);
        self.languages.close(name);
        match name {
            "p" | "h" => {
                self.paragraphs = self.paragraphs.saturating_sub(1);
                if self.silent == 0 {
                    page.line_break();
                }
            }
            // A paragraph in a cell ends the cell and not the line; rows do that.
            "table-cell" | "covered-table-cell" => page.cell_end(),
            "table-row" => page.row_end(),
            "table" => page.table_end(),
            "creator" if self.annotations > 0 => page.text(": "),
            "title" | "desc" if self.paragraphs == 0 => page.line_break(),
            name if APART.contains(&name) => page.space(),
            _ => {}
        }
        if self.is_silent(name) {
            self.silent = self.silent.saturating_sub(1);
        }
        if name == "annotation" {
            self.annotations = self.annotations.saturating_sub(1);
        }
    }
}

/// Writes the text of one part.
fn body(source: impl Read, samples: bool, styles: Styles, page: &mut TextSink<'_>) -> Outcome {
    let (lists, languages) = styles;
    let mut place = Place { samples, lists, languages, ..Place::default() };
    let mut described = 0usize;
    let outcome = xml::walk(source, |met| {
        match met {
            Met::Open(tag) => {
                described += usize::from(matches!(tag.full_name(), "svg:title" | "svg:desc"));
                place.open(&tag, page);
            }
            Met::Close(name) => {
                if matches!(name, "title" | "desc") {
                    described = described.saturating_sub(1);
                }
                place.close(name, page);
            }
            Met::Text(text) if place.silent == 0 && (place.paragraphs > 0 || described > 0) => {
                page.spoken(text, &place.languages.now(), &place.languages.default);
            }
            Met::Text(text) if place.silent == 0 && place.annotations > 0 => page.text(text.trim()),
            Met::Text(_) => {}
        }
        if page.is_full() { Go::Stop } else { Go::On }
    });
    page.line_break();
    outcome
}

fn properties(meta: &[u8], page: &mut TextSink<'_>) {
    let (mut value, mut custom) = (String::new(), None);
    let _ = xml::walk(meta, |met| {
        match met {
            Met::Open(tag) => {
                value.clear();
                if tag.name() == "user-defined" {
                    custom = tag.attribute("name");
                }
            }
            Met::Text(text) => value.push_str(text),
            Met::Close(name) => {
                let custom_name;
                let field = match name {
                    "title" => "title",
                    "initial-creator" | "creator" => "author",
                    "subject" => "subject",
                    "description" => "description",
                    "keyword" => "keywords",
                    "language" => "language",
                    "creation-date" => "created",
                    "date" => "modified",
                    "publisher" => "publisher",
                    "identifier" => "identifier",
                    "generator" => "generator",
                    "user-defined" => {
                        custom_name = format!("custom:{}", custom.take().unwrap_or_default());
                        &custom_name
                    }
                    _ => "",
                };
                if !field.is_empty() {
                    page.field(field, &value);
                }
            }
        }
        Go::On
    });
}

#[cfg(test)]
mod tests {
    use crate::formats::archives::zip::tests::zip;
    use crate::formats::tests::extract;

    #[test]
    fn a_text_gives_its_body_notes_and_headers() {
        let content = b"<office:document-content><office:automatic-styles><number:text>no</number:text></office:automatic-styles>\
            <text:tracked-changes><text:p>gone</text:p></text:tracked-changes>\
            <text:h>Head</text:h><text:p>one<text:s text:c='2'/>two<text:tab/>three<text:note><text:note-body><text:p>note</text:p></text:note-body></text:note></text:p>\
            <table:table table:name='T'><table:table-row><table:table-cell><text:p>a</text:p></table:table-cell><table:table-cell><text:p>b</text:p></table:table-cell></table:table-row></table:table></office:document-content>";
        let page = extract(
            "a.odt",
            &zip(&[
                ("mimetype", b"application/vnd.oasis.opendocument.text"),
                ("content.xml", content),
                ("styles.xml", b"<s><style:header><text:p>top</text:p></style:header></s>"),
                (
                    "meta.xml",
                    b"<m><dc:title>T</dc:title><meta:initial-creator>Ann</meta:initial-creator></m>",
                ),
            ]),
        );
        assert_eq!(page.media_type, "application/vnd.oasis.opendocument.text");
        assert_eq!(
            page.text.split_whitespace().collect::<Vec<_>>(),
            ["Head", "one", "two", "three", "note", "a", "b", "top"]
        );
        assert_eq!((page.field("title"), page.field("author")), (Some("T"), Some("Ann")));
    }

    #[test]
    fn remarks_notes_and_descriptions_stand_apart_and_samples_are_left_out() {
        let content = b"<office:document-content><text:p>one<office:annotation><dc:creator>Ann</dc:creator><dc:date>2009-10-05</dc:date>\
            <text:p>remark</text:p></office:annotation>two<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>note</text:p></text:note-body></text:note>three\
            <draw:frame><svg:title>Chart</svg:title><svg:desc>of sales</svg:desc></draw:frame></text:p></office:document-content>";
        let styles = b"<s><text:p>Page <text:page-number>&lt;number&gt;</text:page-number> of <text:page-count>99</text:page-count></text:p></s>";
        let page = extract(
            "a.odt",
            &zip(&[
                ("mimetype", b"application/vnd.oasis.opendocument.text"),
                ("content.xml", content),
                ("styles.xml", styles),
            ]),
        );
        assert_eq!(
            page.text.split_whitespace().collect::<Vec<_>>(),
            ["one", "Ann:", "remark", "two", "1", "note", "three", "Chart", "of", "sales", "Page", "of"]
        );
    }

    #[test]
    fn headings_lists_tables_and_pages_are_marked() {
        let content = b"<o><text:h text:outline-level='2'>Head</text:h><text:p>words</text:p>\
            <text:list><text:list-item><text:p>one</text:p><text:list><text:list-item><text:p>inner</text:p></text:list-item></text:list></text:list-item></text:list>\
            <table:table table:name='T'><table:table-row><table:table-cell><text:p>a</text:p></table:table-cell><table:table-cell><text:p>b</text:p><text:p>c</text:p></table:table-cell></table:table-row></table:table>\
            <text:soft-page-break/><text:p>next</text:p></o>";
        let bytes =
            zip(&[("mimetype", b"application/vnd.oasis.opendocument.text"), ("content.xml", content)]);
        assert_eq!(
            crate::formats::tests::marked("a.odt", &bytes),
            "## Head\n\nwords\n\n- one\n  - inner\n\n| a | b c |\n| --- | --- |\n\n<!-- page 2 -->\n\nnext"
        );
    }

    #[test]
    fn a_protected_document_is_opened_by_its_password() {
        use crate::cipher::{Hash, derive, tests::seal};
        use std::io::Write;
        let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(b"<d><text:p>secret words</text:p></d>").unwrap();
        let key = derive(&Hash::Sha256.of(&[b"key"]), &[0; 3], 5, 32);
        let content = seal(&key, &[0; 16], &encoder.finish().unwrap());
        let manifest = b"<m><manifest:file-entry manifest:full-path='content.xml'><manifest:encryption-data>\
            <manifest:algorithm manifest:algorithm-name='http://www.w3.org/2001/04/xmlenc#aes256-cbc' manifest:initialisation-vector='AAAAAAAAAAAAAAAAAAAAAA=='/>\
            <manifest:start-key-generation manifest:start-key-generation-name='http://www.w3.org/2000/09/xmldsig#sha256' manifest:key-size='32'/>\
            <manifest:key-derivation manifest:key-size='32' manifest:iteration-count='5' manifest:salt='AAAA'/>\
            </manifest:encryption-data></manifest:file-entry></m>";
        let bytes = zip(&[
            ("mimetype", b"application/vnd.oasis.opendocument.text"),
            ("content.xml", &content),
            ("META-INF/manifest.xml", manifest),
        ]);
        assert_eq!(crate::formats::tests::opens("a.odt", &bytes, "key").text, "secret words");
    }

    #[test]
    fn an_encrypted_document_says_so() {
        let page = extract(
            "a.odt",
            &zip(&[
                ("mimetype", b"application/vnd.oasis.opendocument.text"),
                ("content.xml", b"\x01\x02"),
                (
                    "META-INF/manifest.xml",
                    b"<m><file-entry full-path='content.xml'><encryption-data><algorithm algorithm-name='x'/></encryption-data></file-entry></m>",
                ),
            ]),
        );
        assert!(page.reason.is_some_and(|reason| reason.starts_with("unsupported: ")));
    }
}
