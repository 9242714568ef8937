//! Web pages: readable text, title, links, language and what their head says, straight from the tags.

mod links;
mod tokens;

use std::io::Read;

use encoding_rs::Encoding;

use self::tokens::{Attributes, Token, Tokens};
use crate::decode;
use crate::page::{Outcome, TextSink};
use crate::{Input, xml};

/// Bytes of a page that are read.
const PAGE_BYTES_MAX: u64 = 64 << 20;
/// Bytes in which a page has to say its charset.
const HEAD_BYTES: usize = 8 << 10;
/// Links that are kept.
const LINKS_MAX: usize = 256;

/// Elements that begin a line of their own.
const BLOCKS: &[&str] = &[
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "br",
    "caption",
    "center",
    "dd",
    "details",
    "dialog",
    "dir",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "frame",
    "frameset",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "html",
    "legend",
    "li",
    "main",
    "menu",
    "nav",
    "ol",
    "optgroup",
    "option",
    "p",
    "pre",
    "section",
    "select",
    "summary",
    "table",
    "tbody",
    "tfoot",
    "thead",
    "tr",
    "ul",
    "title",
];
/// Elements whose text nobody reads.
const SILENT: &[&str] = &["script", "style", "template", "noembed", "noframes", "object", "applet"];
/// Elements around what a page is about.
const BOILERPLATE: &[&str] = &["nav", "header", "footer", "aside", "form", "menu"];

/// Reads a page.
pub(crate) fn read(input: Input, page: &mut TextSink<'_>) -> Outcome {
    let mut bytes = Vec::new();
    let is_cut = input.len() > PAGE_BYTES_MAX;
    let charset = input.charset();
    input.take(PAGE_BYTES_MAX).read_to_end(&mut bytes)?;
    let text = decode::whole(&bytes, charset.or_else(|| said(&bytes)));
    drop(bytes);
    let place = page.links().map(|links| {
        if is_cut {
            links.is_incomplete();
        }
        links::Place::default()
    });
    Reading { place, ..Reading::new(page) }.read(&text);
    Ok(())
}

/// Writes the text of a piece of a page, such as the body of a mail.
pub(crate) fn fragment(text: &str, page: &mut TextSink<'_>) {
    Reading::new(page).read(text);
}

/// Writes the text of a page in bytes.
pub(crate) fn fragment_bytes(bytes: &[u8], page: &mut TextSink<'_>) {
    fragment(&decode::whole(bytes, said(bytes)), page);
}

/// The charset that a page says it has: the first that a `meta` names, else that of its XML declaration.
fn said(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(HEAD_BYTES)]);
    let mut rest: &str = &head;
    while let Some(at) = rest.find('<') {
        rest = &rest[at..];
        if rest.starts_with("<!--") {
            rest = rest.split_once("-->").map_or("", |(_, rest)| rest);
            continue;
        }
        if rest.get(..5).is_some_and(|word| word.eq_ignore_ascii_case("<meta"))
            && let Some(Token::Open { attributes, .. }) = Tokens::new(rest).next()
        {
            let label = attributes.get("charset").or_else(|| {
                let content = attributes.get("content")?.to_ascii_lowercase();
                let (_, label) = content.split_once("charset")?;
                let label =
                    label.trim_start().strip_prefix('=')?.trim_start().trim_start_matches(['"', '\'']);
                label.split([';', ' ', '"', '\'']).next().map(str::to_owned)
            });
            if let Some(encoding) = label.and_then(|label| decode::labelled(&label)) {
                return Some(encoding);
            }
        }
        rest = &rest[1..];
    }
    xml::said(bytes)
}

struct Reading<'p, 'b> {
    page: &'p mut TextSink<'b>,
    title: Option<String>,
    /// Elements that are open and whose text is left out.
    silent: Vec<String>,
    pre: usize,
    links: usize,
    /// White space was met that counts if a word follows.
    pending: bool,
    /// Lists that are open: whether they are numbered, and how far they have come.
    lists: Vec<(bool, usize)>,
    /// For each table that is open, whether a cell of it is.
    tables: Vec<bool>,
    /// Where it stands for whoever follows links; a piece of a page is no page.
    place: Option<links::Place>,
}

impl<'p, 'b> Reading<'p, 'b> {
    fn new(page: &'p mut TextSink<'b>) -> Self {
        Self {
            page,
            title: None,
            silent: Vec::new(),
            pre: 0,
            links: 0,
            pending: false,
            lists: Vec::new(),
            tables: Vec::new(),
            place: None,
        }
    }

    fn read(mut self, source: &str) {
        let mut in_title = false;
        for token in Tokens::new(source) {
            match token {
                Token::Open { name, attributes } => {
                    if name == "title" && self.title.is_none() {
                        in_title = true;
                        self.title = Some(String::new());
                    }
                    self.open(&name, &attributes);
                }
                Token::Close(name) => {
                    in_title &= name != "title";
                    self.close(&name);
                }
                Token::Text(raw) if in_title => {
                    self.title.get_or_insert_default().push_str(&xml::unescape(raw));
                }
                Token::Text(raw) if self.silent.is_empty() => self.text(&xml::unescape(raw)),
                Token::Text(_) => {}
            }
            if self.page.is_full() {
                if let Some(links) = self.page.links().filter(|_| self.place.is_some()) {
                    links.is_incomplete();
                }
                break;
            }
        }
        if let Some(title) = self.title.take() {
            let words: Vec<&str> = title.split_whitespace().collect();
            self.page.field("title", &words.join(" "));
        }
    }

    fn open(&mut self, name: &str, attributes: &Attributes<'_>) {
        if let Some(place) = &mut self.place
            && let Some(links) = self.page.links()
        {
            place.open(name, attributes, links);
        }
        match name {
            "html" | "body" => {
                if let Some(language) = attributes.get("lang").or_else(|| attributes.get("xml:lang")) {
                    self.page.field("language", &language);
                }
            }
            "meta" => self.meta(attributes),
            "link" => {
                if attributes.get("rel").is_some_and(|rel| rel.eq_ignore_ascii_case("canonical"))
                    && let Some(address) = attributes.get("href")
                {
                    self.page.field("canonical", &address);
                }
            }
            "base" => {
                if let Some(address) = attributes.get("href") {
                    self.page.field("base", &address);
                }
            }
            "a" | "area" | "frame" | "iframe" => self.link(attributes),
            "pre" | "textarea" => self.pre += 1,
            "td" | "th" if !self.page.is_marked() => {
                self.pending = false;
                self.page.tab();
            }
            _ => {}
        }
        if BLOCKS.contains(&name) {
            self.pending = false;
            self.page.line_break();
        }
        if self.page.is_marked() && self.silent.is_empty() {
            self.mark_open(name);
        }
        let unwanted = !self.page.options().boilerplate && BOILERPLATE.contains(&name);
        if (SILENT.contains(&name) || unwanted) && !attributes.closed {
            self.silent.push(name.to_owned());
        }
    }

    fn close(&mut self, name: &str) {
        if let Some(place) = &mut self.place {
            place.close(name);
        }
        if let Some(at) = self.silent.iter().rposition(|open| open == name) {
            self.silent.truncate(at);
        }
        match name {
            "pre" | "textarea" => self.pre = self.pre.saturating_sub(1),
            _ => {}
        }
        if self.page.is_marked() && self.silent.is_empty() {
            self.mark_close(name);
        }
        if BLOCKS.contains(&name) {
            self.pending = false;
            self.page.line_break();
        }
    }

    /// Marks of what begins with an element. Tables that only lay a page out have no rows of several cells, or hold all of it:
    /// they cannot be told from others here, and are tables.
    fn mark_open(&mut self, name: &str) {
        match name {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => self.page.heading(name.as_bytes()[1] - b'0'),
            "p" | "blockquote" | "pre" | "dl" => self.page.paragraph(),
            "ul" | "ol" | "menu" => self.lists.push((name == "ol", 0)),
            "li" => {
                let depth = self.lists.len().saturating_sub(1);
                let label = match self.lists.last_mut() {
                    Some((true, count)) => {
                        *count += 1;
                        format!("{count}.")
                    }
                    _ => String::new(),
                };
                self.page.item(depth, &label);
            }
            "table" => {
                self.tables.push(false);
                self.page.table_begin();
            }
            "tr" => self.row_end(),
            "td" | "th" => {
                self.cell_end();
                if let Some(is_open) = self.tables.last_mut() {
                    *is_open = true;
                }
            }
            _ => return,
        }
        self.pending = false;
    }

    fn mark_close(&mut self, name: &str) {
        match name {
            "ul" | "ol" | "menu" => drop(self.lists.pop()),
            "td" | "th" => self.cell_end(),
            "tr" => self.row_end(),
            "table" => {
                self.row_end();
                if self.tables.pop().is_some() {
                    self.page.table_end();
                }
            }
            _ => return,
        }
        self.pending = false;
    }

    /// Ends the cell that is open: pages leave out ends that the next beginning tells.
    fn cell_end(&mut self) {
        if self.tables.last_mut().is_some_and(std::mem::take) {
            self.page.cell_end();
        }
    }

    fn row_end(&mut self) {
        self.cell_end();
        if !self.tables.is_empty() {
            self.page.row_end();
        }
    }

    fn meta(&mut self, attributes: &Attributes<'_>) {
        let name = attributes.get("name").or_else(|| attributes.get("property"));
        let (Some(name), Some(content)) = (name, attributes.get("content")) else { return };
        let field = match name.to_ascii_lowercase().as_str() {
            "author" | "dc.creator" | "article:author" => "author",
            "description" | "og:description" | "dc.description" => "description",
            "keywords" => "keywords",
            "robots" => "robots",
            "generator" => "generator",
            "dc.title" | "og:title" => "headline",
            "article:published_time" | "dc.date" => "published",
            "article:modified_time" => "modified",
            "dc.language" => "language",
            _ => return,
        };
        self.page.field(field, &content);
    }

    fn link(&mut self, attributes: &Attributes<'_>) {
        if let Some(page) = attributes.get("srcdoc") {
            self.page.inner_by("srcdoc", |inner| {
                crate::formats::read(inner, Some("text/html"), page.into_bytes().into())
            });
        }
        let address = attributes.get("href").or_else(|| attributes.get("src"));
        if let Some(address) = address.filter(|address| !address.starts_with("data:"))
            && self.links < LINKS_MAX
        {
            self.links += 1;
            self.page.field("links", &address);
        }
    }

    /// Text with its white space drawn together, unless it is laid out.
    fn text(&mut self, text: &str) {
        if self.pre > 0 {
            return self.page.text(text);
        }
        let mut words = text.split([' ', '\t', '\n', '\r', '\u{c}']);
        if let Some(first) = words.next() {
            self.word(first);
        }
        for word in words {
            self.pending = true;
            self.word(word);
        }
    }

    fn word(&mut self, word: &str) {
        if word.is_empty() {
            return;
        }
        if std::mem::take(&mut self.pending) {
            self.page.space();
        }
        self.page.text(word);
    }
}

#[cfg(test)]
mod tests {
    use crate::formats::tests::extract;

    #[test]
    fn a_page_gives_its_readable_text() {
        let page = extract(
            "a.html",
            b"<!DOCTYPE html><html lang=de><head><title>A &amp; B</title><meta name=robots content=noindex>\
              <link rel=canonical href='http://x/'><style>p{}</style></head><body><p>Hello <b>bo</b>ld\n  world</p>\
              <script>var a = '<p>no</p>';</script><!-- no --><table><tr><td>1<td>2</table><a href=/l>link</a>\
              <pre> a\n  b</pre>&lt;x&gt; &eacute;&#8364;</body></html>",
        );
        assert_eq!(page.text, "Hello bold world\n1\t2\nlink\n a\n  b\n<x> \u{e9}\u{20ac}");
        assert_eq!(page.field("title"), Some("A & B"));
        assert_eq!(page.field("language"), Some("de"));
        assert_eq!(page.field("robots"), Some("noindex"));
        assert_eq!(page.field("canonical"), Some("http://x/"));
        assert_eq!(page.field("links"), Some("/l"));
    }

    #[test]
    fn the_charset_that_a_page_says_is_believed_unless_it_is_utf8() {
        let text = |bytes: &[u8]| extract("a.html", bytes).text;
        assert_eq!(text(b"<meta charset=windows-1251><p>\xcf\xf0\xe8</p>"), "\u{41f}\u{440}\u{438}");
        assert_eq!(text("<meta charset=windows-1251><p>Grüße</p>".as_bytes()), "Grüße");
        assert_eq!(
            text(b"<meta http-equiv=Content-Type content='text/html; charset=Shift_JIS'><p>\x83\x65</p>"),
            "\u{30c6}"
        );
    }

    #[test]
    fn tags_that_never_end_lose_nothing_but_themselves() {
        for (source, text) in [
            ("<p>a<p>b<", "a\nb<"),
            ("<p>a</x>b<div", "ab"),
            ("<html><p>a < b & c &unknown; d</p>", "a < b & c &unknown; d"),
            ("<p>a<!-- b", "a"),
            ("<p>one<script>never closed", "one"),
        ] {
            assert_eq!(extract("a.html", source.as_bytes()).text, text, "{source}");
        }
    }

    #[test]
    fn headings_lists_and_tables_are_marked() {
        let page = b"<h1>Top</h1><p>one <b>two</b><ul><li>x<ul><li>inner</ul></ul><ol><li>n<li>m</ol>\
            <table><tr><th>h<th>i</tr><tr><td>a</td><td>b|c</td></tr></table><h3>Low</h3>end";
        assert_eq!(
            crate::formats::tests::marked("a.html", page),
            "# Top\n\none two\n\n- x\n  - inner\n1. n\n2. m\n\n| h | i |\n| --- | --- |\n| a | b\\|c |\n\n### Low\nend"
        );
    }

    #[test]
    fn boilerplate_is_left_out_when_asked() {
        let request = crate::Request {
            name: "a.html".to_owned(),
            options: crate::Options { boilerplate: false, ..crate::Options::default() },
            ..crate::Request::default()
        };
        let page = b"<html><nav>menu<p>more</nav><main>story</main><footer>legal</footer></html>";
        assert_eq!(crate::extract(&request, crate::Input::memory(page.to_vec())).text, "story");
    }
}
