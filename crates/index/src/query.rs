//! The query language, read into a tree: `docs/manual/search.md` is its manual.

pub(crate) mod bits;
pub(crate) mod build;
pub(crate) mod condition;
pub(crate) mod edits;
pub(crate) mod filter;
pub(crate) mod like;
mod moved;
pub(crate) mod plan;
mod prose;
pub(crate) mod ranges;
pub(crate) mod resolve;
pub(crate) mod stop_words;
pub(crate) mod unanswered;
pub(crate) mod visible;

use std::ops::Range;

use ingather_contract::search::Zone;
use ingather_kit::language;
use ingather_model::fault::Fault;
use ingather_model::limits;

use crate::query::edits::edits;
use crate::query::like::Like;
use crate::query::ranges::NumberField;

/// A query as it was written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    /// Everything.
    All,
    /// All of these.
    And(Vec<Node>),
    /// Any of these.
    Or(Vec<Node>),
    /// Not this.
    Not(Box<Node>),
    /// This, also where words beside it may be missing: it was written with `+` or `AND`.
    Must(Box<Node>),
    /// Words, one or more next to each other; the last may go on when `prefix`. `bare`: a word without field or quotes.
    Text { field: TextField, text: String, prefix: bool, bare: bool },
    /// Words that are nearly this one, or look like it.
    Like { field: TextField, like: Like, bare: bool },
    /// One of these terms, which a word was found to stand for: never written, but made of the one above.
    OneOf { field: TextField, written: String, terms: Vec<String>, bare: bool },
    /// What jobs of that name sent; all whose names begin so, when `prefix`.
    JobName { name: String, prefix: bool },
    /// What one of these jobs sent: never written, but made of the one above.
    Jobs(Vec<i64>),
    /// A number in a range; the end is excluded.
    Number { field: NumberField, from: Option<i64>, to: Option<i64> },
}

/// Where words are looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TextField {
    /// Title, body and file name.
    Anywhere,
    /// Title.
    Title,
    /// Body.
    Body,
    /// Last part of the path.
    Name,
    /// Path.
    Path,
    /// Author.
    Author,
    /// Whole URI.
    Uri,
    /// Whole media type.
    MediaType,
    /// Whole language code.
    Lang,
    /// Whole ending of the file name.
    Ext,
    /// Metadata of that name, lower case.
    Meta(String),
}

impl TextField {
    /// Whether it is compared by single words, of which one can be nearly what was typed.
    fn has_words(&self) -> bool {
        use TextField::{Anywhere, Author, Body, Name, Path, Title};
        matches!(self, Anywhere | Title | Body | Name | Path | Author)
    }
}

const FIELDS: &[(&str, TextField)] = &[
    ("title", TextField::Title),
    ("body", TextField::Body),
    ("name", TextField::Name),
    ("path", TextField::Path),
    ("author", TextField::Author),
    ("uri", TextField::Uri),
    ("type", TextField::MediaType),
    ("lang", TextField::Lang),
    ("ext", TextField::Ext),
];
const JOB: &str = "job";
const NUMBERS: &[(&str, NumberField)] =
    &[("size", NumberField::Size), ("modified", NumberField::Modified), ("created", NumberField::Created)];

/// What was read, and what a person may want to know about how.
#[derive(Debug, PartialEq)]
pub(crate) struct Parsed {
    /// The query.
    pub(crate) node: Node,
    /// Signs that were taken as words, a sentence each.
    pub(crate) notes: Vec<String>,
}

/// Reads a query. What only looks like a sign of the language, such as a colon or a lone double quote in a question, is
/// read as words, with a note.
///
/// # Errors
/// `Refused` with code `query` and one sentence that names the character where it cannot be understood.
pub(crate) fn parse(query: &str, zone: Zone) -> Result<Parsed, Fault> {
    if query.len() > limits::QUERY_BYTES_MAX {
        return Err(Fault::refused(
            "query",
            format!("the query is longer than {} bytes; leave some of it out", limits::QUERY_BYTES_MAX),
        ));
    }
    let lone = prose::lone_parentheses(query);
    let text: String = query
        .char_indices()
        .map(|(at, character)| if lone.binary_search(&at).is_ok() { ' ' } else { character })
        .collect();
    let is_sentence = prose::is_sentence_in_capitals(&text);
    let mut parser = Parser { text: &text, at: 0, zone, has_operators: !is_sentence, notes: Vec::new() };
    if let Some(first) = lone.first() {
        let character = query[..*first].chars().count() + 1;
        parser
            .notes
            .push(format!("the parenthesis at character {character} has no partner and is passed over"));
    }
    if is_sentence {
        let note = "the query is a sentence in capitals, so that `AND`, `OR` and `NOT` are searched as words";
        parser.notes.push(note.to_owned());
    }
    let node =
        parser.any_of(0)?.ok_or_else(|| parser.wrong(0, "the query is empty; `*` finds everything"))?;
    Ok(Parsed { node, notes: parser.notes })
}

impl Node {
    /// The same, wanted in any case.
    fn must(self) -> Node {
        match self {
            Node::Must(_) | Node::Not(_) => self,
            other => Node::Must(Box::new(other)),
        }
    }
}

/// The name that differs least from `name`, by one or two letters and at most half of them.
pub(crate) fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let near = known.map(|known| (edits(name, known), known));
    let near = near.filter(|(edits, known)| *edits <= 2 && edits * 2 <= known.chars().count());
    near.min_by_key(|(edits, _)| *edits).map(|(_, known)| known)
}

/// Words in a field; `*` alone is any value of it.
fn text_node(field: TextField, text: &str, bare: bool) -> Node {
    if let Some(like) = field.has_words().then(|| Like::read(text)).flatten() {
        return Node::Like { field, like, bare };
    }
    let begins = text.strip_suffix('*');
    Node::Text { field, text: begins.unwrap_or(text).to_owned(), prefix: begins.is_some(), bare }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    zone: Zone,
    /// Whether `AND`, `OR` and `NOT` join words.
    has_operators: bool,
    notes: Vec<String>,
}

impl<'a> Parser<'a> {
    fn wrong(&self, at: usize, message: &str) -> Fault {
        let character = self.text.get(..at).unwrap_or(self.text).chars().count() + 1;
        Fault::refused("query", format!("query, character {character}: {message}"))
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn space(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    /// Takes `word` when it stands here as a word of its own.
    fn takes_word(&mut self, word: &str) -> bool {
        let Some(rest) = self.text[self.at..].strip_prefix(word) else { return false };
        let alone = rest.chars().next().is_none_or(|c| c.is_whitespace() || c == '(' || c == ')' || c == '"');
        if alone {
            self.at += word.len();
        }
        alone
    }

    /// Takes a word in capitals that joins others.
    fn takes_operator(&mut self, word: &str) -> bool {
        self.has_operators && self.takes_word(word)
    }

    fn any_of(&mut self, depth: usize) -> Result<Option<Node>, Fault> {
        let mut parts = Vec::new();
        loop {
            let from = self.at;
            let part = self.all_of(depth)?;
            let went_on = {
                self.space();
                self.takes_or()
            };
            match part {
                Some(part) => parts.push(part),
                None if parts.is_empty() && !went_on => return Ok(None),
                None => return Err(self.wrong(from, "`OR` needs something on both sides")),
            }
            if !went_on {
                return Ok(if parts.len() == 1 { parts.pop() } else { Some(Node::Or(parts)) });
            }
        }
    }

    fn all_of(&mut self, depth: usize) -> Result<Option<Node>, Fault> {
        let mut parts: Vec<Node> = Vec::new();
        let mut joined = false;
        loop {
            self.space();
            let from = self.at;
            if self.takes_operator("AND") || self.takes_word("&&") {
                self.space();
                if parts.is_empty() || self.peek().is_none_or(|c| c == ')') {
                    return Err(self.wrong(from, "`AND` needs something on both sides"));
                }
                joined = true;
                let before = parts.pop().map(Node::must);
                parts.extend(before);
                continue;
            }
            let before = self.at;
            let over = self.peek().is_none_or(|c| c == ')') || self.takes_or();
            if over {
                self.at = before;
                return Ok(if parts.len() > 1 { Some(Node::And(parts)) } else { parts.pop() });
            }
            let part = self.one(depth)?;
            parts.push(if std::mem::take(&mut joined) { part.must() } else { part });
        }
    }

    fn takes_or(&mut self) -> bool {
        self.takes_operator("OR") || self.takes_word("||")
    }

    /// Takes what has no letter and no digit up to the next space or closing parenthesis, such as a dash between words.
    fn takes_punctuation(&mut self) -> bool {
        let rest = &self.text[self.at..];
        let word = &rest[..rest.find(|c: char| c.is_whitespace() || c == ')').unwrap_or(rest.len())];
        let is_word = word.contains(|c: char| c.is_alphanumeric() || matches!(c, '(' | '"' | '*'));
        let begins = self.text[..self.at].chars().next_back().is_none_or(char::is_whitespace);
        let takes = begins && !is_word;
        self.at += if takes { word.len() } else { 0 };
        takes
    }

    fn one(&mut self, depth: usize) -> Result<Node, Fault> {
        let from = self.at;
        if depth > limits::QUERY_DEPTH_MAX {
            let message = format!("more than {} parts are nested here", limits::QUERY_DEPTH_MAX);
            return Err(self.wrong(from, &message));
        }
        if self.takes_punctuation() {
            return Ok(Node::Text {
                field: TextField::Anywhere,
                text: String::new(),
                prefix: false,
                bare: true,
            });
        }
        let sign = self.peek().filter(|c| matches!(c, '-' | '!' | '+'));
        if sign == Some('+') {
            self.at += 1;
            return Ok(self.one(depth + 1)?.must());
        }
        if sign.is_some() || self.takes_operator("NOT") {
            self.at += usize::from(sign.is_some());
            self.space();
            if self.peek().is_none_or(|c| c == ')') {
                return Err(self.wrong(from, "there is nothing after this negation"));
            }
            return Ok(Node::Not(Box::new(self.one(depth + 1)?)));
        }
        if self.text[self.at..].starts_with('(') {
            self.at += 1;
            let inner = self.any_of(depth + 1)?;
            self.space();
            // Each parenthesis that is left has its partner.
            self.at += usize::from(self.peek() == Some(')'));
            return inner.ok_or_else(|| self.wrong(from, "there is nothing in these parentheses"));
        }
        self.clause()
    }

    fn clause(&mut self) -> Result<Node, Fault> {
        if let Some(text) = self.quoted() {
            let prefix = self.takes_star();
            return Ok(Node::Text { field: TextField::Anywhere, text, prefix, bare: false });
        }
        let word = self.bare();
        let Some(colon) = self.text[word.clone()].find(':') else {
            return match &self.text[word] {
                "*" => Ok(Node::All),
                text => Ok(text_node(TextField::Anywhere, text, true)),
            };
        };
        let name = self.text[word.start..word.start + colon].to_lowercase();
        let value = word.start + colon + 1..word.end;
        let is_quoted = value.is_empty() && self.peek() == Some('"');
        if name == JOB && (is_quoted || !value.is_empty()) {
            return Ok(self.job(is_quoted, value));
        }
        let number = NUMBERS.iter().find(|(known, _)| *known == name).map(|(_, field)| *field);
        let field = match name.strip_prefix("meta.") {
            Some(meta) if !meta.is_empty() => Some(TextField::Meta(meta.to_owned())),
            _ => FIELDS.iter().find(|(known, _)| *known == name).map(|(_, field)| field.clone()),
        };
        match (number, field) {
            (Some(number), _) if !value.is_empty() => self.number_node(number, value),
            (_, Some(field)) if is_quoted => {
                let text = match self.quoted() {
                    Some(text) => text,
                    None => self.text[self.bare()].to_owned(),
                };
                if field == TextField::Lang && self.peek() != Some('*') {
                    return Ok(self.lang(&text));
                }
                Ok(Node::Text { field, text, prefix: self.takes_star(), bare: false })
            }
            (_, Some(TextField::Lang)) if !value.is_empty() => Ok(self.lang(&self.text[value])),
            (_, Some(field)) if !value.is_empty() => Ok(text_node(field, &self.text[value], false)),
            _ => {
                self.note_colon(&name, &self.text[word.clone()]);
                Ok(text_node(TextField::Anywhere, &self.text[word], true))
            }
        }
    }

    fn job(&mut self, is_quoted: bool, value: Range<usize>) -> Node {
        if is_quoted {
            let name = self.quoted().unwrap_or_else(|| self.text[self.bare()].to_owned());
            return Node::JobName { name, prefix: self.takes_star() };
        }
        let text = &self.text[value];
        let begins = text.strip_suffix('*');
        Node::JobName { name: begins.unwrap_or(text).to_owned(), prefix: begins.is_some() }
    }

    /// Says that a word with a colon was taken as words; of numbers such as `12:30` nobody expects anything else.
    fn note_colon(&mut self, name: &str, word: &str) {
        if name.starts_with(|first: char| first.is_numeric()) {
            return;
        }
        let fields = FIELDS.iter().map(|(name, _)| *name).chain([JOB]);
        let known = || fields.clone().chain(NUMBERS.iter().map(|(name, _)| *name));
        let note = match nearest(name, known()) {
            Some(known) if known == name => {
                format!("nothing follows `{known}:`, so that it is searched as a word")
            }
            Some(near) => {
                format!("`{name}` is no field, so that `{word}` is searched as words; `{near}:` is one")
            }
            None => format!(
                "`{name}` is no field, so that `{word}` is searched as words; fields are {} and meta.NAME",
                known().collect::<Vec<_>>().join(", ")
            ),
        };
        self.notes.push(note);
    }

    /// A language by its code; one that was named, or has a longer code, by what it means, with a note. Of one that nobody knows,
    /// the one that is spelled nearly so is told.
    fn lang(&mut self, text: &str) -> Node {
        let long = Some(text).filter(|text| text.len() == 3).and_then(language::named);
        if let Some(code) = language::by_name(text).or(long) {
            self.notes.push(format!("`lang:{text}` is searched as `lang:{code}`"));
            return text_node(TextField::Lang, code, false);
        }
        // A stage may have given entries a tag such as `de-at`.
        if language::named(text).is_none() && !text.ends_with('*') {
            let names = language::names();
            let near = nearest(&text.to_lowercase(), names.iter().map(String::as_str));
            let instead = match near.and_then(language::by_name) {
                Some(code) => format!("`lang:{code}` is one"),
                None => "write a code of two letters, such as `lang:de`, or a name".to_owned(),
            };
            self.notes.push(format!("no language is known as `{text}`; {instead}"));
        }
        text_node(TextField::Lang, text, false)
    }

    fn number_node(&self, field: NumberField, value: Range<usize>) -> Result<Node, Fault> {
        if &self.text[value.clone()] == "*" {
            return Ok(Node::Number { field, from: Some(i64::MIN), to: None });
        }
        let range = ranges::read(field, &self.text[value.clone()], &self.zone);
        let (from, to) = range.map_err(|form| self.wrong(value.start, form))?;
        Ok(Node::Number { field, from, to })
    }

    /// The characters up to the next space, parenthesis or quote.
    fn bare(&mut self) -> Range<usize> {
        let from = self.at;
        let rest = &self.text[from..];
        let end = rest.find(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | '"'));
        self.at = from + end.unwrap_or(rest.len());
        from..self.at
    }

    /// The text in double quotes that begins here. One that nothing closes is passed over, with a note.
    fn quoted(&mut self) -> Option<String> {
        let from = self.at;
        let mut characters = self.text[from..].strip_prefix('"')?.char_indices();
        let mut out = String::new();
        while let Some((offset, character)) = characters.next() {
            match character {
                '"' => {
                    self.at = from + 1 + offset + 1;
                    return Some(out);
                }
                '\\' => out.extend(characters.next().map(|(_, character)| character)),
                character => out.push(character),
            }
        }
        self.at = from + 1;
        let character = self.text[..from].chars().count() + 1;
        self.notes.push(format!(
            "the double quote at character {character} is not closed, so that what follows it is searched as words"
        ));
        None
    }

    fn takes_star(&mut self) -> bool {
        let star = self.peek() == Some('*');
        self.at += usize::from(star);
        star
    }
}

#[cfg(test)]
mod tests;
