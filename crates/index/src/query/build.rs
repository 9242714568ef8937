//! Turns the tree of a query into conditions with queries of the library, and remembers what to highlight.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Bound;

use ingather_model::document::{INSIDE, component_uri};
use ingather_model::names;
use tantivy::query::{
    BooleanQuery, InvertedIndexRangeQuery, PhrasePrefixQuery, PhraseQuery, Query, RangeQuery, TermQuery,
};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::tokenizer::{TextAnalyzer, TokenStream};
use tantivy::{Searcher, SegmentReader, Term};

use ingather_kit::file_uri as uri;
use ingather_kit::language::is_unspaced;

use crate::query::condition::Condition;
use crate::query::ranges::NumberField;
use crate::query::visible::scored;
use crate::query::{Node, TextField};
use crate::schema::Fields;
use crate::stemming::Stemming;
use crate::tokenizers::{self, folding};

/// First parts of media types.
const FAMILIES: &[&str] =
    &["application", "audio", "font", "image", "message", "model", "multipart", "text", "video"];

/// Terms that made entries match, for snippets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Highlights {
    /// Whole terms.
    pub(crate) terms: HashSet<String>,
    /// Beginnings of terms.
    pub(crate) prefixes: Vec<String>,
}

/// One word of a query.
pub(crate) struct Forms {
    /// As it was written, in lower case.
    pub(crate) written: String,
    /// Whether an apostrophe joins it to the word before, as `t` in `don't`.
    pub(crate) is_joined: bool,
    /// Whether it is meant as it is, since it stands in quotes.
    pub(crate) is_quoted: bool,
    /// The same, folded.
    pub(crate) plain: String,
    /// All that finds it where texts are compared by stems, in order.
    pub(crate) stems: BTreeSet<String>,
}

/// Builds queries for one user and commit.
pub(crate) struct Builder<'a> {
    fields: &'a Fields,
    searcher: &'a Searcher,
    analyzers: Vec<TextAnalyzer>,
    /// Inside a negation nothing is highlighted.
    negations: usize,
    /// What was met.
    pub(crate) highlights: Highlights,
}

impl<'a> Builder<'a> {
    /// For texts with these stemmings.
    pub(crate) fn new(searcher: &'a Searcher, fields: &'a Fields, stemmings: &[Stemming]) -> Builder<'a> {
        let others = stemmings.iter().copied().filter(|stemming| *stemming != Stemming::PLAIN);
        let analyzers = std::iter::once(Stemming::PLAIN).chain(others).map(tokenizers::for_queries).collect();
        Builder { fields, searcher, analyzers, negations: 0, highlights: Highlights::default() }
    }

    /// The condition of a tree; none when it holds nothing that could be looked for, such as a lone dash.
    pub(crate) fn build(&mut self, node: &Node) -> Option<Condition> {
        match node {
            Node::All => Some(Condition::All),
            Node::Jobs(jobs) => Some(Condition::Any(jobs.iter().map(|job| self.job(*job)).collect())),
            Node::OneOf { field, terms, .. } => Some(self.one_of(field, terms)),
            // What these stand for was put in their place.
            Node::JobName { .. } | Node::Like { .. } => None,
            Node::Number { field, from, to } => Some(Condition::Query(self.number(*field, *from, *to))),
            Node::Text { field, text, prefix, .. } => self.text(field, text, *prefix).map(Condition::Query),
            Node::Must(inner) => self.build(inner),
            Node::Or(parts) => {
                let built: Vec<_> = parts.iter().filter_map(|part| self.build(part)).collect();
                (!built.is_empty()).then_some(Condition::Any(built))
            }
            Node::Not(inner) => {
                self.negations += 1;
                let inner = self.build(inner);
                self.negations -= 1;
                Some(Condition::Not(Box::new(inner?)))
            }
            Node::And(parts) => self.all(parts),
        }
    }

    /// The condition of all these.
    pub(crate) fn all<'n>(&mut self, parts: impl IntoIterator<Item = &'n Node>) -> Option<Condition> {
        let built: Vec<_> = parts.into_iter().filter_map(|part| self.build(part)).collect();
        (!built.is_empty()).then_some(Condition::Each(built))
    }

    fn number(&self, field: NumberField, from: Option<i64>, to: Option<i64>) -> Box<dyn Query> {
        let bound = |value: i64| match field {
            NumberField::Size => Term::from_field_u64(self.fields.size, value.max(0) as u64),
            NumberField::Modified => Term::from_field_i64(self.fields.modified, value),
            NumberField::Created => Term::from_field_i64(self.fields.created, value),
        };
        let lower = from.map_or(Bound::Unbounded, |value| Bound::Included(bound(value)));
        let upper = to.map_or(Bound::Unbounded, |value| Bound::Excluded(bound(value)));
        Box::new(RangeQuery::new(lower, upper))
    }

    fn job(&self, job: i64) -> Condition {
        let only = Bound::Included(Term::from_field_i64(self.fields.job, job));
        Condition::Query(Box::new(RangeQuery::new(only.clone(), only)))
    }

    /// One of the terms that a word stands for, in a field.
    pub(crate) fn one_of(&mut self, field: &TextField, terms: &[String]) -> Condition {
        if self.negations == 0 {
            self.highlights.terms.extend(terms.iter().cloned());
        }
        let fields = word_fields(self.fields, field);
        let terms =
            fields.iter().flat_map(|field| terms.iter().map(|term| Term::from_field_text(*field, term)));
        let all: Vec<Box<dyn Query>> =
            terms.map(|term| Box::new(TermQuery::new(term, IndexRecordOption::Basic)) as _).collect();
        any(all).map_or(Condition::Any(Vec::new()), Condition::Query)
    }

    /// The query of words in a field.
    pub(crate) fn text(&mut self, field: &TextField, text: &str, prefix: bool) -> Option<Box<dyn Query>> {
        let fields = self.fields;
        if text.is_empty() && prefix {
            return any_value(fields, field);
        }
        match field {
            TextField::Anywhere => {
                let body = self.words(&Base::of(fields.body), true, text, prefix);
                let title = self.words(&Base::of(fields.title), true, text, prefix);
                let name = self.words(&Base::of(fields.name), false, text, prefix);
                any([body, title, name].into_iter().flatten().collect())
            }
            TextField::Body => self.words(&Base::of(fields.body), true, text, prefix),
            TextField::Title => self.words(&Base::of(fields.title), true, text, prefix),
            TextField::Name => self.words(&Base::of(fields.name), false, text, prefix),
            TextField::Path if text.starts_with('/') => any(self.at_or_below(text, prefix)),
            TextField::Path => self.words(&Base::of(fields.path), false, text, prefix),
            TextField::Author => self.words(&Base::of(fields.author), false, text, prefix),
            TextField::Meta(name) => self.words(&Base::meta(fields.meta, name), false, text, prefix),
            TextField::MediaType if !prefix && !text.contains('/') => any(self.kinds(&text.to_lowercase())),
            TextField::MediaType => Some(whole(fields.media_type, &text.to_lowercase(), prefix)),
            TextField::Lang => Some(whole(fields.lang, &text.to_lowercase(), prefix)),
            TextField::Ext => {
                let ending = text.strip_prefix('.').unwrap_or(text);
                Some(whole(fields.ext, &ending.to_lowercase(), prefix))
            }
            TextField::Uri if prefix => Some(whole(fields.id, text, true)),
            // Components of a document share its URI.
            TextField::Uri => {
                any(vec![whole(fields.id, text, false), whole(fields.id, &format!("{text}#"), true)])
            }
        }
    }

    /// What is at a place or below it, for a path from the root of the machine as hits show it; below several, when `prefix`.
    fn at_or_below(&self, path: &str, prefix: bool) -> Vec<Box<dyn Query>> {
        let bytes = |text| names::unescape(text).unwrap_or(Cow::Borrowed(str::as_bytes(text))).into_owned();
        let id = self.fields.id;
        let path = if prefix { path } else { path.trim_end_matches('/') };
        let uri = uri::of_path(&bytes(path));
        let mut found = vec![whole(id, &uri, prefix)];
        if !prefix {
            found.extend(["/", "#"].map(|after| whole(id, &format!("{uri}{after}"), true)));
        }
        if let Some((document, component)) = path.split_once(INSIDE) {
            let uri = component_uri(&uri::of_path(&bytes(document)), component);
            found.push(whole(id, &uri, prefix));
            found.extend((!prefix).then(|| whole(id, &format!("{uri}/"), true)));
            found.extend((!prefix).then(|| whole(id, &format!("{uri}{INSIDE}"), true)));
        }
        found
    }

    /// What people mean by a kind without a slash: the first or the second part of a media type, or the ending of the name.
    fn kinds(&self, text: &str) -> Vec<Box<dyn Query>> {
        let second =
            FAMILIES.iter().map(|first| whole(self.fields.media_type, &format!("{first}/{text}"), false));
        let first = whole(self.fields.media_type, &format!("{text}/"), true);
        let ending = whole(self.fields.ext, text.strip_prefix('.').unwrap_or(text), false);
        second.chain([first, ending]).collect()
    }

    /// The words of a text with their forms: as they are, and their stems.
    pub(crate) fn forms(&mut self, text: &str) -> Vec<Forms> {
        let mut forms: Vec<Forms> = Vec::new();
        let mut plain = self.analyzers[0].token_stream(text);
        while plain.advance() {
            let token = plain.token();
            let written = text[token.offset_from..token.offset_to].to_lowercase();
            let stems = BTreeSet::from([token.text.clone()]);
            let before = text[..token.offset_from].strip_suffix(['\'', '’']);
            let is_joined = before.is_some_and(|before| before.ends_with(char::is_alphabetic));
            forms.push(Forms { written, is_joined, is_quoted: false, plain: token.text.clone(), stems });
        }
        drop(plain);
        for analyzer in &mut self.analyzers[1..] {
            for ((_, stem), forms) in tokenizers::terms(analyzer, text).into_iter().zip(&mut forms) {
                forms.stems.insert(stem);
            }
        }
        forms
    }

    /// Words in a field: with every stemming of the index when the field has stems, else as they are.
    fn words(&mut self, base: &Base, stems: bool, text: &str, prefix: bool) -> Option<Box<dyn Query>> {
        let stemmings = if stems { self.analyzers.len() } else { 1 };
        // Equal terms of several stemmings are one part; order by terms keeps queries the same from run to run.
        let mut variants: BTreeMap<Vec<(usize, String)>, bool> = BTreeMap::new();
        let plain = tokenizers::terms(&mut self.analyzers[0], text);
        let single = plain.len() == 1;
        for stemming in 0..stemmings {
            let mut terms = tokenizers::terms(&mut self.analyzers[stemming], text);
            if prefix && !single {
                // The last word is unfinished and has no stem.
                if let (Some(last), Some(plain)) = (terms.last_mut(), plain.last()) {
                    last.clone_from(plain);
                }
            }
            variants.insert(terms, prefix && !single);
        }
        if single && (prefix || is_one_unspaced(text)) {
            variants.insert(plain, true);
        }
        let built =
            variants.into_iter().filter_map(|(terms, open)| self.variant(base, terms, open)).collect();
        any(built)
    }

    /// The most terms of one segment that begin so.
    fn words_beginning(&self, base: &Base, text: &str) -> u32 {
        let (from, to) = base.range(text);
        let count = |segment: &SegmentReader| -> tantivy::Result<u32> {
            let index = segment.inverted_index(from.field())?;
            let range = index.terms().range().ge(from.serialized_value_bytes());
            let mut found = range.lt(to.serialized_value_bytes()).into_stream()?;
            let mut count = 0;
            while found.advance() {
                count += 1;
            }
            Ok(count)
        };
        // A segment that cannot be read is told by the search itself.
        self.searcher.segment_readers().iter().filter_map(|segment| count(segment).ok()).max().unwrap_or(0)
    }

    fn variant(&mut self, base: &Base, terms: Vec<(usize, String)>, open: bool) -> Option<Box<dyn Query>> {
        if self.negations == 0 {
            let last = terms.len().checked_sub(1)?;
            for (at, (_, term)) in terms.iter().enumerate() {
                if open && at == last {
                    self.highlights.prefixes.push(term.clone());
                } else {
                    self.highlights.terms.insert(term.clone());
                }
            }
        }
        if let [(_, only)] = terms.as_slice() {
            return Some(if open {
                base.beginning(only)
            } else {
                Box::new(TermQuery::new(base.term(only), IndexRecordOption::WithFreqs))
            });
        }
        let first = terms.first()?.0;
        let most = terms.last().filter(|_| open).map_or(0, |(_, last)| self.words_beginning(base, last));
        let terms = terms.iter().map(|(position, term)| (position - first, base.term(term))).collect();
        Some(if open {
            let mut phrase = PhrasePrefixQuery::new_with_offset(terms);
            // All words that begin so are followed: which of them, must not depend on what else the index holds.
            phrase.set_max_expansions(most);
            Box::new(phrase)
        } else {
            Box::new(PhraseQuery::new_with_offset(terms))
        })
    }
}

/// Fields of the index in which single words of a field of the query are.
pub(crate) fn word_fields(fields: &Fields, field: &TextField) -> Vec<Field> {
    match field {
        TextField::Anywhere => scored(fields).to_vec(),
        TextField::Title => vec![fields.title],
        TextField::Body => vec![fields.body],
        TextField::Name => vec![fields.name],
        TextField::Path => vec![fields.path],
        TextField::Author => vec![fields.author],
        TextField::Uri | TextField::MediaType | TextField::Lang | TextField::Ext | TextField::Meta(_) => {
            Vec::new()
        }
    }
}

/// The beginning of all terms of a field, or of one name of metadata.
struct Base(Term);

impl Base {
    fn of(field: Field) -> Base {
        Base(Term::from_field_text(field, ""))
    }

    fn meta(field: Field, name: &str) -> Base {
        // A dot would separate acls; our names have only one.
        let mut term = Term::from_field_json_path(field, &name.replace('.', "\\."), false);
        term.append_type_and_str("");
        Base(term)
    }

    fn term(&self, text: &str) -> Term {
        let mut term = self.0.clone();
        term.append_bytes(text.as_bytes());
        term
    }

    fn beginning(&self, text: &str) -> Box<dyn Query> {
        let (from, to) = self.range(text);
        Box::new(InvertedIndexRangeQuery::new(Bound::Included(from), Bound::Excluded(to)))
    }

    /// The first term that begins so, and the first after all of them.
    fn range(&self, text: &str) -> (Term, Term) {
        let mut end = text.as_bytes().to_vec();
        // No byte of UTF-8 is 255, so the next larger one exists.
        match end.last_mut() {
            Some(last) => *last += 1,
            None => end.push(u8::MAX),
        }
        let mut upper = self.0.clone();
        upper.append_bytes(&end);
        (self.term(text), upper)
    }
}

/// Whatever has a value in the field; none for all fields together.
fn any_value(fields: &Fields, field: &TextField) -> Option<Box<dyn Query>> {
    let base = match field {
        TextField::Anywhere => return None,
        TextField::Title => Base::of(fields.title),
        TextField::Body => Base::of(fields.body),
        TextField::Name => Base::of(fields.name),
        TextField::Path => Base::of(fields.path),
        TextField::Author => Base::of(fields.author),
        TextField::Uri => Base::of(fields.id),
        TextField::MediaType => Base::of(fields.media_type),
        TextField::Lang => Base::of(fields.lang),
        TextField::Ext => Base::of(fields.ext),
        TextField::Meta(name) => Base::meta(fields.meta, name),
    };
    Some(base.beginning(""))
}

fn whole(field: Field, text: &str, prefix: bool) -> Box<dyn Query> {
    if prefix {
        Base::of(field).beginning(text)
    } else {
        Box::new(TermQuery::new(Term::from_field_text(field, text), IndexRecordOption::Basic))
    }
}

/// Whether this is one character of a script without spaces, which stands for all pairs that begin with it.
pub(crate) fn is_one_unspaced(text: &str) -> bool {
    let letters = text.trim_matches(|c: char| !c.is_alphanumeric() && !is_unspaced(c));
    letters.starts_with(is_unspaced) && folding::unspaced_length(letters) == letters.len()
}

fn any(mut parts: Vec<Box<dyn Query>>) -> Option<Box<dyn Query>> {
    if parts.len() > 1 { Some(Box::new(BooleanQuery::union(parts))) } else { parts.pop() }
}
