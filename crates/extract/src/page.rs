//! What a reader of a format writes to: bounded text, fields, parts, and the reason when something is missing.

mod aside;
mod expanding;
mod languages;
mod links;
mod marks;
mod pictures;
mod series;
mod stated;

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

use ingather_model::limits;

use crate::decode::{boundary, clean};
use crate::input::{Eyes, Scratch, Spill};
use crate::{Extracted, Input, Limits, Options, Request, detect};

pub(crate) use self::expanding::Expanding;
pub use self::languages::DEFAULT as DEFAULT_LANGUAGE;
pub(crate) use self::languages::Spoken;
pub(crate) use self::links::LinkSink;
pub(crate) use self::stated::Stated;

/// Why a document could not be parsed to its end; what was written until then stays.
#[derive(Debug)]
pub(crate) struct ParseError(pub(crate) String);

impl From<io::Error> for ParseError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self("the file is cut off".to_owned()),
            _ => Self(error.to_string()),
        }
    }
}

impl From<&str> for ParseError {
    fn from(words: &str) -> Self {
        Self(words.to_owned())
    }
}

/// How reading ends.
pub(crate) type Outcome = Result<(), ParseError>;

/// What is left of the bounds of one document, shared by all its parts.
pub(crate) struct Budget {
    /// How to read.
    pub(crate) options: Options,
    /// Whether somebody follows the links of the document.
    links: bool,
    limits: Limits,
    text: Cell<usize>,
    parts: Cell<usize>,
    expanded: Cell<u64>,
    over: Cell<bool>,
    /// Whether the parts that are read now are a series, of which the first ones count.
    series: Cell<bool>,
    /// Bytes of names and fields.
    facts: Cell<usize>,
    /// Where parts that are too large for memory can go.
    scratch: Option<Rc<Scratch>>,
    /// Who looks at pictures.
    eyes: Option<Rc<Eyes>>,
    /// Reads what is found inside.
    read: ReadPart,
}

/// Reads a document or part: a page knows no reader, as readers know pages. Takes the declared media type.
pub(crate) type ReadPart = fn(&mut TextSink<'_>, Option<&str>, Input);

/// What came out of compression may be this large whatever the ratio: small files compress well.
const EXPANDED_BYTES_ALWAYS: u64 = 64 << 20;
/// Bytes of one value of a field.
const FIELD_BYTES_MAX: usize = 16 << 10;
/// Bytes of one name of a part.
const NAME_BYTES_MAX: usize = 4 << 10;
/// Bytes of names and fields, of a document and all its parts together: whoever reads the answer holds them in memory.
const FACTS_BYTES_MAX: usize = 8 << 20;
/// Values of one field.
const FIELD_VALUES_MAX: usize = 256;
/// Fields of one page.
const FIELDS_MAX: usize = 512;

impl Budget {
    pub(crate) fn new(request: &Request, input: &Input, read: ReadPart) -> Self {
        let limits = request.limits.clone();
        let expanded =
            input.len().saturating_mul(limits.ratio).max(EXPANDED_BYTES_ALWAYS).min(limits.expanded_bytes);
        Self {
            options: request.options.clone(),
            links: request.links,
            text: Cell::new(limits.text_bytes),
            parts: Cell::new(limits.parts),
            expanded: Cell::new(expanded),
            over: Cell::new(false),
            series: Cell::new(false),
            facts: Cell::new(FACTS_BYTES_MAX),
            scratch: input.scratch(),
            eyes: input.eyes().filter(|_| request.options.pictures),
            read,
            limits,
        }
    }

    /// Whether the document has more parts, or expands to more, than is read.
    pub(crate) fn is_over(&self) -> bool {
        self.over.get()
    }

    /// Says that the document has more parts, or expands to more, than is read; a series is read as far as that goes.
    fn exceed(&self) {
        if !self.series.get() {
            self.over.set(true);
        }
    }

    /// Counts bytes that came out of compression.
    pub(crate) fn expand(&self, bytes: usize) -> io::Result<()> {
        match self.expanded.get().checked_sub(bytes as u64) {
            Some(left) => {
                self.expanded.set(left);
                Ok(())
            }
            None => {
                self.expanded.set(0);
                self.exceed();
                Err(io::Error::other("more comes out of its compression than is allowed; it may be a bomb"))
            }
        }
    }

    /// Counts bytes of names and fields; whether there is room for them.
    fn take_facts(&self, bytes: usize) -> bool {
        let left = self.facts.get().checked_sub(bytes);
        left.inspect(|left| self.facts.set(*left)).is_some()
    }

    /// Takes the bytes of a part: into memory, or into the scratch file when they are many; of plain text only as many
    /// as can matter. What came before an error is there as well.
    pub(crate) fn collect(&self, name: &str, mut source: impl Read) -> (Input, io::Result<()>) {
        let mut bytes = Vec::new();
        let mut fill = |bytes: &mut Vec<u8>, most: u64| {
            source.by_ref().take(most.saturating_sub(bytes.len() as u64)).read_to_end(bytes).map(|_| ())
        };
        let outcome = fill(&mut bytes, limits::EXTRACT_CHUNK_BYTES as u64);
        if outcome.is_err() || bytes.len() < limits::EXTRACT_CHUNK_BYTES {
            return (Input::memory(bytes), outcome);
        }
        let enough = detect::bytes_that_matter(&bytes, name, self.limits.text_bytes);
        let most = self.limits.memory_input_bytes.min(limits::EXTRACT_WHOLE_BYTES_MAX);
        let outcome = outcome.and_then(|()| fill(&mut bytes, most.min(enough)));
        if outcome.is_err() || (bytes.len() as u64) < most || enough <= most {
            return (Input::memory(bytes), outcome);
        }
        match self.scratch.as_ref().map(Spill::begin) {
            Some(Ok(mut spill)) => {
                let outcome = spill.push(&bytes).and_then(|()| {
                    loop {
                        bytes.clear();
                        fill(&mut bytes, limits::EXTRACT_CHUNK_BYTES as u64)?;
                        if bytes.is_empty() || spill.len() >= enough {
                            return Ok(());
                        }
                        if spill.end(bytes.len()) > limits::EXTRACT_SCRATCH_BYTES_MAX {
                            return Err(io::Error::other("it is larger than a scratch file may be"));
                        }
                        spill.push(&bytes)?;
                    }
                });
                (spill.input(), outcome)
            }
            Some(Err(error)) => (Input::memory(bytes), Err(error)),
            None => (Input::memory(bytes), Err(io::Error::other("it is larger than can be read"))),
        }
    }
}

/// The name of a part that has none, by how many parts come before it.
fn made_up(before: usize) -> String {
    format!("part {}", before + 1)
}

/// One document or part while it is read.
pub(crate) struct TextSink<'b> {
    budget: &'b Budget,
    depth: usize,
    out: Extracted,
    /// Whether the text so far ends where a word may begin.
    at_word_start: bool,
    /// Of each part, whether people gave it its name.
    named: Vec<bool>,
    /// Where it stands among marks.
    table: marks::Table,
    /// What it says of the language of its words.
    languages: languages::Languages,
    /// What the document says of others, where somebody asks for it; parts of it are not asked.
    links: Option<Box<LinkSink>>,
}

/// Who gave a part its name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    /// Somebody: the name is part of the text.
    People,
    /// The program that wrote the document: the name tells parts apart, and is nobody's words.
    Program,
}

impl<'b> TextSink<'b> {
    pub(crate) fn new(budget: &'b Budget, depth: usize, name: &str) -> Self {
        Self {
            budget,
            depth,
            out: Extracted { name: name.to_owned(), ..Extracted::default() },
            at_word_start: true,
            named: Vec::new(),
            table: marks::Table::default(),
            languages: languages::Languages::default(),
            links: (budget.links && depth == 0).then(Box::default),
        }
    }

    pub(crate) fn options(&self) -> &'b Options {
        &self.budget.options
    }

    pub(crate) fn budget(&self) -> &'b Budget {
        self.budget
    }

    pub(crate) fn name(&self) -> &str {
        &self.out.name
    }

    pub(crate) fn media_type(&self) -> &str {
        &self.out.media_type
    }

    pub(crate) fn set_media_type(&mut self, media_type: &str) {
        media_type.clone_into(&mut self.out.media_type);
    }

    /// Whether nothing more is taken, so that a reader may stop.
    pub(crate) fn is_full(&self) -> bool {
        self.budget.text.get() == 0
    }

    /// How many parts there are so far.
    pub(crate) fn parts(&self) -> usize {
        self.out.parts.len()
    }

    /// Whether there is text already.
    pub(crate) fn has_text(&self) -> bool {
        !self.out.text.trim().is_empty()
    }

    /// Adds text; what does not fit is cut off and said.
    pub(crate) fn text(&mut self, text: &str) {
        match self.is_in_cell() && text.contains(['\n', '\r', '|']) {
            true => self.text_as_it_is(&text.replace(['\n', '\r'], " ").replace('|', "\\|")),
            false => self.text_as_it_is(text),
        }
    }

    fn text_as_it_is(&mut self, text: &str) {
        let left = self.budget.text.get();
        let kept = match text.len() <= left {
            true => text,
            false => {
                self.reason("the text is longer than is kept; the rest was cut off");
                &text[..boundary(text, left)]
            }
        };
        self.budget.text.set(if kept.len() < text.len() { 0 } else { left - kept.len() });
        // Zero bytes and other control characters are nobody's words. Those above ASCII begin with 0xC2 in UTF-8.
        let may_control = |byte| matches!(byte, 0..=0x08 | 0x0B..=0x1F | 0x7F | 0xC2);
        if kept.bytes().any(may_control) {
            self.out.text.extend(kept.chars().filter_map(|c| match c {
                '\r' | '\u{b}' | '\u{c}' | '\u{85}' => Some('\n'),
                '\t' | '\n' => Some(c),
                c if c.is_control() => None,
                c => Some(c),
            }));
        } else {
            self.out.text.push_str(kept);
        }
        if let Some(last) = kept.chars().next_back() {
            self.at_word_start = last.is_whitespace();
        }
    }

    /// Ends the line, if one has begun.
    pub(crate) fn line_break(&mut self) {
        if self.is_in_cell() {
            return self.space();
        }
        if !self.out.text.is_empty() && !self.out.text.ends_with('\n') {
            self.text("\n");
        }
    }

    /// Sets words apart.
    pub(crate) fn space(&mut self) {
        if !self.at_word_start {
            self.text(" ");
        }
    }

    /// Sets cells of a row apart.
    pub(crate) fn tab(&mut self) {
        if !self.out.text.is_empty() && !self.out.text.ends_with(['\t', '\n']) {
            self.text("\t");
        }
    }

    /// A line of its own.
    pub(crate) fn line(&mut self, text: &str) {
        let text = text.trim();
        if !text.is_empty() {
            self.line_break();
            self.text(text);
            self.line_break();
        }
    }

    /// Adds a value to a field; empty and repeated ones are left out.
    pub(crate) fn field(&mut self, name: &str, value: &str) {
        let value = value.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        let value = &value[..boundary(value, FIELD_BYTES_MAX)];
        if value.is_empty() || (self.out.fields.len() >= FIELDS_MAX && !self.out.fields.contains_key(name)) {
            return;
        }
        let value = clean(value);
        let known = self.out.fields.get(name).map_or(&[][..], Vec::as_slice);
        if known.len() >= FIELD_VALUES_MAX || known.contains(&value) {
            return;
        }
        match self.budget.take_facts(name.len() + value.len()) {
            true => self.out.fields.entry(name.to_owned()).or_default().push(value),
            false => self.reason("it has more fields than are kept; the rest was left out"),
        }
    }

    /// Whether a field has a value.
    pub(crate) fn has_field(&self, name: &str) -> bool {
        self.out.fields.contains_key(name)
    }

    /// Says why something is missing; the first reason stands.
    pub(crate) fn reason(&mut self, reason: impl Into<String>) {
        self.out.reason.get_or_insert_with(|| reason.into());
    }

    /// Says that reading ended before the end, and why.
    pub(crate) fn broken_off(&mut self, reason: impl Into<String>) {
        self.out.broken_off = true;
        self.reason(reason);
    }

    /// Opens a part and reads it. An empty name is made up from the part's number.
    pub(crate) fn part(&mut self, name: &str, declared: Option<&str>, input: impl Into<Input>) {
        let read = self.budget.read;
        self.part_by(name, |page| read(page, declared, input.into()));
    }

    /// Adds a part that `read` fills.
    pub(crate) fn part_by(&mut self, name: &str, read: impl FnOnce(&mut TextSink<'b>)) {
        self.add(name, By::People, read);
    }

    /// Opens a part whose name a program made, such as `image1.png`: the name is no text.
    pub(crate) fn inner(&mut self, name: &str, input: impl Into<Input>) {
        let read = self.budget.read;
        self.inner_by(name, |page| read(page, None, input.into()));
    }

    /// Adds a part whose name a program made, and that `read` fills.
    pub(crate) fn inner_by(&mut self, name: &str, read: impl FnOnce(&mut TextSink<'b>)) {
        self.add(name, By::Program, read);
    }

    fn add(&mut self, name: &str, by: By, read: impl FnOnce(&mut TextSink<'b>)) {
        if !self.budget.options.parts {
            return;
        }
        if self.depth >= self.budget.limits.depth {
            self.broken_off(format!(
                "parts are nested deeper than {}; the inner ones were left out",
                self.depth
            ));
            return;
        }
        let Some(left) = self.budget.parts.get().checked_sub(1) else {
            self.budget.exceed();
            self.broken_off("it has more parts than are read; the rest was left out");
            return;
        };
        let name = clean(&name[..boundary(name, NAME_BYTES_MAX)]);
        let name = match name.trim() {
            "" => None,
            name if self.budget.take_facts(name.len()) => Some(name.to_owned()),
            // Without their names parts could not be told apart from one visit to the next.
            _ if self.budget.series.get() => {
                self.budget.parts.set(0);
                self.broken_off("it has more names than are kept; the rest was left out");
                return;
            }
            _ => {
                self.budget.over.set(true);
                None
            }
        };
        self.budget.parts.set(left);
        self.named.push(name.is_some() && by == By::People);
        let mut page = TextSink::new(
            self.budget,
            self.depth + 1,
            &name.unwrap_or_else(|| made_up(self.out.parts.len())),
        );
        read(&mut page);
        self.out.parts.push(page.finish());
    }

    /// Adds a part that could not be had, with the reason.
    pub(crate) fn lost_part(&mut self, name: &str, reason: &str) {
        self.part_by(name, |page| page.reason(reason));
    }

    /// Says so when there turned out to be nothing to read.
    pub(crate) fn note_if_empty(&mut self) {
        if !self.has_text() && self.out.parts.is_empty() {
            self.reason("there is no text in it");
        }
    }

    /// The finished result.
    pub(crate) fn finish(mut self) -> Extracted {
        self.tell_language();
        self.tell_links();
        let names = self.out.parts.iter().zip(&self.named).filter(|(_, named)| **named);
        let names: Vec<String> = names.map(|(part, _)| part.name.clone()).collect();
        for name in names {
            self.line(&name);
        }
        let length = self.out.text.trim_end().len();
        self.out.text.truncate(length);
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_fields_are_bounded_together() {
        let request = Request { name: "a".to_owned(), ..Request::default() };
        let budget = Budget::new(&request, &Input::memory(Vec::new()), |_, _, _| ());
        let mut page = TextSink::new(&budget, 0, "a");
        for part in 0..1_000 {
            page.part_by(&"n".repeat(5_000), |page| {
                (0..100).for_each(|at| page.field("f", &format!("{part} {at}\u{1}{}", "x".repeat(1_000))));
            });
        }
        let found = page.finish();
        let bytes = |part: &Extracted| {
            part.name.len() + part.fields.values().flatten().map(String::len).sum::<usize>()
        };
        let all: usize = found.parts.iter().map(bytes).sum();
        assert!(
            all <= FACTS_BYTES_MAX + 1_000 * "part 1000".len() && all > FACTS_BYTES_MAX - 10_000,
            "{all}"
        );
        assert_eq!(found.parts[0].name.len(), NAME_BYTES_MAX);
        assert!(found.parts[0].fields["f"][0].starts_with("0 0 x"));
        assert_eq!((found.parts.len(), found.parts[999].name.as_str()), (1_000, "part 1000"));
        assert!(found.parts[999].reason.is_some());
    }
}
