//! Feeds: what they say of themselves, each entry as a part, and where the entries lead to whoever follows links. Many feeds
//! are no XML that a strict reader would take; what somebody would see in them counts.

mod addresses;
mod facts;
mod json;
mod markup;
mod moments;
mod names;
mod pace;
mod people;
mod texts;

use std::collections::HashSet;
use std::io::Read;

use ingather_model::limits;
use md5::{Digest, Md5};

use self::facts::{Around, Facts};
use self::markup::{Element, Piece, Pieces, Scope};
use super::plain;
use crate::page::{DEFAULT_LANGUAGE, Outcome, Stated, TextSink};
use crate::{Input, dates, decode, detect, xml};

pub(crate) use self::json::read as read_json;

/// Bytes of a feed that are read, as of a web page.
const FEED_BYTES_MAX: u64 = 64 << 20;
/// Letters of its text by which an entry without a title is called.
const TITLE_LETTERS_MAX: usize = 100;

/// Reads a feed of XML.
pub(crate) fn read(input: Input, page: &mut TextSink<'_>) -> Outcome {
    let mut bytes = Vec::new();
    let is_cut = input.len() > FEED_BYTES_MAX;
    let charset = input.charset();
    input.take(FEED_BYTES_MAX).read_to_end(&mut bytes)?;
    let said = || charset.or_else(|| xml::said(&bytes));
    let source = decode::wide(&bytes).unwrap_or_else(|| decode::whole(&bytes, said()));
    if detect::feed_format(&source).is_none() {
        // It is one by its name only.
        return plain::xml(bytes.into(), page);
    }
    drop(bytes);
    let outline = Outline::of(&source);
    let is_atom = outline.format.starts_with("Atom");
    let mut feed = Facts::default();
    for element in &outline.about {
        match element.name.as_str() {
            "channel" => of_attributes(element, &mut feed),
            _ => feed.take(element, Around { is_atom, depth: 0, page }),
        }
    }
    if let Some(language) = outline.scope.language.as_deref() {
        feed.language.get_or_insert_with(|| language.to_owned());
    }
    feed.field("format", &outline.format);
    let mut writing = Writing::new(page);
    writing.feed(&feed);
    let outcome = writing.entries(|add| {
        for element in &outline.entries {
            if !add(&|page| of_entry(element, Around { is_atom, depth: 0, page })) {
                break;
            }
        }
        Ok(())
    });
    if is_cut || !outline.is_ended {
        page.broken_off("the feed is cut off; there may be more entries");
    }
    outcome
}

/// What an entry says: by elements, and in CDF by attributes.
fn of_entry(element: &Element<'_>, around: Around<'_, '_>) -> Facts {
    let mut entry = Facts::default();
    for child in element.children() {
        entry.take(&child, around);
    }
    of_attributes(element, &mut entry);
    if let Some(language) = element.scope.language.as_deref().filter(|_| !entry.is_marked()) {
        entry.language.get_or_insert_with(|| language.to_owned());
    }
    entry
}

/// What the attributes of an entry or of a channel say (CDF, RDF).
fn of_attributes(element: &Element<'_>, facts: &mut Facts) {
    if let Some(address) = element.attribute("href")
        && facts.links.is_empty()
    {
        let address = element.scope.address(&address);
        facts.links.push(facts::Reference { address, rel: "alternate".to_owned(), about: Vec::new() });
    }
    if let Some(time) = element.attribute("lastmod").and_then(|written| facts::Moment::of(&written)) {
        facts.modified.get_or_insert(time);
    }
    if let Some(about) = element.attribute("about") {
        facts.id.get_or_insert(about);
    }
}

/// A feed cut into its entries and what is said of all of them.
struct Outline<'a> {
    format: String,
    scope: Scope,
    about: Vec<Element<'a>>,
    entries: Vec<Element<'a>>,
    /// Whether its last tag is there.
    is_ended: bool,
}

impl<'a> Outline<'a> {
    fn of(source: &'a str) -> Self {
        let mut outline = Self {
            format: String::new(),
            scope: Scope::default(),
            about: Vec::new(),
            entries: Vec::new(),
            is_ended: false,
        };
        let mut pieces = Pieces::new(source);
        let mut root: Option<(&str, String)> = None;
        let mut scope = Scope::default();
        while let Some(piece) = pieces.next() {
            match (piece, &root) {
                (Piece::Open { name, attributes, empty }, None) => {
                    scope = scope.inside(attributes);
                    outline.scope = scope.clone();
                    root = Some((name, scope.name(name)));
                    outline.format = detect::feed_format(source).unwrap_or_default();
                    outline.is_ended = empty;
                    if scope.name(name) == "channel" {
                        outline.channel((name, attributes), &scope);
                    }
                }
                (Piece::Open { name, attributes, empty: false }, Some((_, root)))
                    if scope.name(name) == "channel" =>
                {
                    scope = scope.inside(attributes);
                    if scope.language.is_some() {
                        outline.scope = scope.clone();
                    }
                    if root != "channel" {
                        outline.channel((name, attributes), &scope);
                    }
                }
                (Piece::Open { name, attributes, empty }, Some(_)) => {
                    let element = Element::after(&mut pieces, (name, attributes, empty), &scope);
                    outline.add(element);
                }
                (Piece::Close(name), Some((root, _))) => {
                    outline.is_ended |= name.eq_ignore_ascii_case(root);
                }
                _ => {}
            }
        }
        outline
    }

    /// What the tag of a channel says; its elements are taken one by one.
    fn channel(&mut self, (name, attributes): (&'a str, &'a str), scope: &Scope) {
        if self.about.len() < limits::EXTRACT_PARTS_MAX {
            self.about.push(Element::after(&mut Pieces::new(""), (name, attributes, true), scope));
        }
    }

    fn add(&mut self, element: Element<'a>) {
        let (all, most) = match matches!(element.name.as_str(), "item" | "entry") {
            // One more than is read tells that there are more.
            true => (&mut self.entries, limits::EXTRACT_PARTS_MAX + 1),
            false => (&mut self.about, limits::EXTRACT_PARTS_MAX),
        };
        if all.len() < most {
            all.push(element);
        }
    }
}

/// Writes a feed and its entries.
struct Writing<'p, 'b> {
    page: &'p mut TextSink<'b>,
    /// Names of the entries so far.
    told: HashSet<String>,
    /// Language of the feed, which its entries have by default.
    language: Option<String>,
}

/// What an entry says, once there is room for it.
type Make<'e> = dyn Fn(&TextSink<'_>) -> Facts + 'e;

impl<'p, 'b> Writing<'p, 'b> {
    fn new(page: &'p mut TextSink<'b>) -> Self {
        Self { page, told: HashSet::new(), language: None }
    }

    /// What is said of the feed itself.
    fn feed(&mut self, feed: &Facts) {
        self.language = feed.spoken().map(str::to_owned);
        let fields = feed.all(self.page);
        fields.iter().for_each(|(name, value)| self.page.field(name, value));
        if let Some(title) = feed.titled() {
            let title = title.in_one_line(self.page);
            self.page.title_line(1, &title);
        }
        if let (Some(words), _) = feed.body() {
            self.page.paragraph();
            words.write(self.page);
            self.page.line_break();
        }
        let Some(links) = self.page.links() else { return };
        for link in &feed.links {
            let about = link.about.iter().map(|(name, value)| ((*name).to_owned(), vec![value.clone()]));
            links.add(&link.address, &link.rel, about.collect());
        }
        feed.pace.milliseconds().into_iter().for_each(|pace| links.changes_in_ms(pace));
    }

    /// The entries that `each` gives one by one, until it is told that there is no room for more.
    fn entries(&mut self, each: impl FnOnce(&mut dyn FnMut(&Make<'_>) -> bool) -> Outcome) -> Outcome {
        let (told, language) = (&mut self.told, self.language.as_deref());
        self.page.series(|page| {
            each(&mut |make| {
                let has_room = page.goes_on();
                if has_room {
                    let entry = make(page);
                    add(page, &entry, language, told);
                }
                has_room
            })
        })
    }
}

/// Adds an entry, unless the same one is there already.
fn add(page: &mut TextSink<'_>, entry: &Facts, language: Option<&str>, told: &mut HashSet<String>) {
    let Some(name) = name_of(entry, page, told) else { return };
    let fields = entry.all(page);
    let title = match entry.titled() {
        Some(title) => title.in_one_line(page),
        None => beginning(&entry.body().0.map(|words| words.in_one_line(page)).unwrap_or_default()),
    };
    page.item(0, "");
    page.text(&title);
    let following = page.links().is_some();
    // Where there is no page, what goes with the entry is what it is about.
    if let Some(address) = entry.address().or_else(|| entry.linked("enclosure")).filter(|_| following) {
        let about = entry.told(page, limits::LINK_BYTES_MAX);
        if let Some(links) = page.links() {
            links.add(address, "entry", about);
        }
    }
    if let Some((links, seconds)) = page.links().zip(entry.valid_until) {
        links.changes_at(seconds.saturating_mul(1_000));
    }
    page.inner_by(&name, |part| {
        let (body, short) = entry.body();
        part.set_media_type(if body.is_some_and(|words| words.is_markup) {
            detect::HTML
        } else {
            detect::PLAIN
        });
        part.stated(Stated { size: None, modified: entry.changed().and_then(dates::stated) });
        part.field("title", &title);
        // Of an entry, descriptions are its words, and no field but in a shorter form.
        let fields = fields.iter().filter(|(name, _)| name != "description");
        fields.for_each(|(name, value)| part.field(name, value));
        if entry.spoken().is_none() {
            part.field(DEFAULT_LANGUAGE, language.unwrap_or_default());
        }
        if let Some(short) = short {
            let short = short.shown(part);
            part.field("summary", &short);
        }
        if let Some(body) = body {
            body.write(part);
        }
    });
}

/// The first words of a text.
fn beginning(text: &str) -> String {
    match text.char_indices().nth(TITLE_LETTERS_MAX) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

/// What an entry is called inside its feed, the same at every visit and wherever it stands: its id, its address, or its
/// words. Several that go by the same name are told apart by their words, and the same one is taken once.
fn name_of(entry: &Facts, page: &TextSink<'_>, told: &mut HashSet<String>) -> Option<String> {
    let words = || {
        let title = entry.titled().map(|title| title.in_one_line(page)).unwrap_or_default();
        let time = entry.published.as_ref().or(entry.created.as_ref()).map(facts::Moment::shown);
        let mut hash = Md5::new();
        hash.update(title.as_bytes());
        hash.update(time.unwrap_or_default().as_bytes());
        if title.is_empty() || entry.id.is_some() || entry.address().is_some() {
            hash.update(entry.body().0.map(|words| words.text.as_bytes()).unwrap_or_default());
        }
        hash.finalize()[..8].iter().map(|byte| format!("{byte:02x}")).collect::<String>()
    };
    let words = words();
    let name = match entry.id.as_deref().or(entry.address()) {
        Some(name) => name.to_owned(),
        None => format!("entry {words}"),
    };
    let with_words = format!("{name} {words}");
    let is_new = told.insert(with_words.clone());
    if told.insert(name.clone()) {
        return Some(name);
    }
    is_new.then_some(with_words)
}

#[cfg(test)]
mod tests;
