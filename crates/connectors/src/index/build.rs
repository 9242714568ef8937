//! Turns the tree of a query into a query of the library, and remembers what to highlight.

use std::collections::{BTreeMap, HashSet};
use std::ops::Bound;

use tantivy::Term;
use tantivy::query::{
    AllQuery, BooleanQuery, BoostQuery, EmptyQuery, InvertedIndexRangeQuery, Occur, PhrasePrefixQuery,
    PhraseQuery, Query, RangeQuery, TermQuery,
};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::tokenizer::TextAnalyzer;

use crate::language::is_unspaced;

use super::query::{Node, NumberField, TextField};
use super::schema::Fields;
use super::tongue::Tongue;
use super::words;

/// A hit in the title counts this much more than one in the body.
const TITLE_BOOST: f32 = 2.0;
/// A hit in the file name counts this much more than one in the body.
const NAME_BOOST: f32 = 1.5;

/// Terms that made entries match, for snippets.
#[derive(Clone, Debug, Default)]
pub(super) struct Highlights {
    /// Whole terms.
    pub(super) terms: HashSet<String>,
    /// Beginnings of terms.
    pub(super) prefixes: Vec<String>,
}

/// Builds queries for one commit.
pub(super) struct Builder<'a> {
    fields: &'a Fields,
    analyzers: Vec<TextAnalyzer>,
    /// Inside a negation nothing is highlighted.
    negations: usize,
    /// What was met.
    pub(super) highlights: Highlights,
}

impl<'a> Builder<'a> {
    /// For an index that holds texts in these tongues.
    pub(super) fn new(fields: &'a Fields, tongues: &[Tongue]) -> Builder<'a> {
        let others = tongues.iter().copied().filter(|tongue| *tongue != Tongue::PLAIN);
        let analyzers = std::iter::once(Tongue::PLAIN).chain(others).map(words::for_queries).collect();
        Builder { fields, analyzers, negations: 0, highlights: Highlights::default() }
    }

    /// The query of a tree; none when it holds nothing that could be looked for, such as a lone dash.
    pub(super) fn build(&mut self, node: &Node) -> Option<Box<dyn Query>> {
        match node {
            Node::All => Some(Box::new(AllQuery)),
            Node::Number { field, from, to } => Some(self.number(*field, *from, *to)),
            Node::Text { field, text, prefix } => self.text(field, text, *prefix),
            Node::Or(parts) => {
                let built: Vec<_> = parts.iter().filter_map(|part| self.build(part)).collect();
                any(built)
            }
            Node::Not(inner) => {
                self.negations += 1;
                let inner = self.build(inner);
                self.negations -= 1;
                let everything: Box<dyn Query> = Box::new(AllQuery);
                Some(Box::new(BooleanQuery::new(vec![(Occur::Must, everything), (Occur::MustNot, inner?)])))
            }
            Node::And(parts) => self.all(parts),
        }
    }

    fn all(&mut self, parts: &[Node]) -> Option<Box<dyn Query>> {
        let mut clauses: Vec<(Occur, Box<dyn Query>)> = Vec::with_capacity(parts.len());
        for part in parts {
            if let Node::Not(inner) = part {
                self.negations += 1;
                clauses.extend(self.build(inner).map(|inner| (Occur::MustNot, inner)));
                self.negations -= 1;
            } else {
                clauses.extend(self.build(part).map(|part| (Occur::Must, part)));
            }
        }
        if clauses.len() == 1 && clauses[0].0 == Occur::Must {
            return clauses.pop().map(|(_, only)| only);
        }
        if !clauses.is_empty() && clauses.iter().all(|(occur, _)| *occur == Occur::MustNot) {
            clauses.push((Occur::Must, Box::new(AllQuery)));
        }
        if clauses.is_empty() { None } else { Some(Box::new(BooleanQuery::new(clauses))) }
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

    fn text(&mut self, field: &TextField, text: &str, prefix: bool) -> Option<Box<dyn Query>> {
        let fields = self.fields;
        match field {
            TextField::Anywhere => {
                let body = self.words(&Base::of(fields.body), true, text, prefix);
                let title = self.words(&Base::of(fields.title), true, text, prefix);
                let name = self.words(&Base::of(fields.name), false, text, prefix);
                let boosted =
                    [(title, TITLE_BOOST), (name, NAME_BOOST)].into_iter().filter_map(|(query, boost)| {
                        query.map(|query| Box::new(BoostQuery::new(query, boost)) as Box<dyn Query>)
                    });
                any(body.into_iter().chain(boosted).collect())
            }
            TextField::Body => self.words(&Base::of(fields.body), true, text, prefix),
            TextField::Title => self.words(&Base::of(fields.title), true, text, prefix),
            TextField::Name => self.words(&Base::of(fields.name), false, text, prefix),
            TextField::Path => self.words(&Base::of(fields.path), false, text, prefix),
            TextField::Author => self.words(&Base::of(fields.author), false, text, prefix),
            TextField::Meta(name) if text.is_empty() && prefix => {
                Some(Base::meta(fields.meta, name).beginning(""))
            }
            TextField::Meta(name) => self.words(&Base::meta(fields.meta, name), false, text, prefix),
            TextField::MediaType => Some(whole(fields.media_type, &text.to_lowercase(), prefix)),
            TextField::Lang => Some(whole(fields.lang, &text.to_lowercase(), prefix)),
            TextField::Ext => Some(whole(fields.ext, &text.to_lowercase(), prefix)),
            TextField::Uri if prefix => Some(whole(fields.id, text, true)),
            // Components of a document share its URI.
            TextField::Uri => {
                any(vec![whole(fields.id, text, false), whole(fields.id, &format!("{text}#"), true)])
            }
        }
    }

    /// Words in a field: in every tongue of the index when the field has stems, else as they are.
    fn words(&mut self, base: &Base, stems: bool, text: &str, prefix: bool) -> Option<Box<dyn Query>> {
        let tongues = if stems { self.analyzers.len() } else { 1 };
        // Equal terms of several tongues are one part; order by terms keeps queries the same from run to run.
        let mut variants: BTreeMap<Vec<(usize, String)>, bool> = BTreeMap::new();
        let plain = words::terms(&mut self.analyzers[0], text);
        let single = plain.len() == 1;
        for tongue in 0..tongues {
            let mut terms = words::terms(&mut self.analyzers[tongue], text);
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
        let terms = terms.iter().map(|(position, term)| (position - first, base.term(term))).collect();
        Some(if open {
            Box::new(PhrasePrefixQuery::new_with_offset(terms))
        } else {
            Box::new(PhraseQuery::new_with_offset(terms))
        })
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
        let mut end = text.as_bytes().to_vec();
        // No byte of UTF-8 is 255, so the next larger one exists.
        match end.last_mut() {
            Some(last) => *last += 1,
            None => end.push(u8::MAX),
        }
        let mut upper = self.0.clone();
        upper.append_bytes(&end);
        Box::new(InvertedIndexRangeQuery::new(Bound::Included(self.term(text)), Bound::Excluded(upper)))
    }
}

fn whole(field: Field, text: &str, prefix: bool) -> Box<dyn Query> {
    if prefix {
        Base::of(field).beginning(text)
    } else {
        Box::new(TermQuery::new(Term::from_field_text(field, text), IndexRecordOption::Basic))
    }
}

fn is_one_unspaced(text: &str) -> bool {
    let mut found = text.chars().filter(|c| c.is_alphanumeric() || is_unspaced(*c));
    found.next().is_some_and(is_unspaced) && found.next().is_none()
}

fn any(mut parts: Vec<Box<dyn Query>>) -> Option<Box<dyn Query>> {
    if parts.len() > 1 { Some(Box::new(BooleanQuery::union(parts))) } else { parts.pop() }
}

/// Finds nothing.
pub(super) fn nothing() -> Box<dyn Query> {
    Box::new(EmptyQuery)
}
