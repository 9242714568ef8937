//! What a query asks of each entry: what must hold, which words may be missing, and which words order the hits.

use std::collections::HashMap;

use ingather_model::fault::Fault;
use ingather_model::limits;
use tantivy::schema::Field;
use tantivy::{Searcher, Term};

use crate::query::build::{Builder, Forms, Highlights, is_one_unspaced};
use crate::query::condition::Condition;
use crate::query::stop_words::{self, Word};
use crate::query::visible::{SCORED, Visible, scored};
use crate::query::{Node, TextField};
use crate::schema::Fields;
use crate::search::rank::{Leaf, Source, Wanted};
use crate::search::rarity::Rarity;
use crate::search::spelling::Corrections;
use crate::tokenizers::compounds::Compounds;

/// A question of so many words beside those in quotes is prose that somebody has pasted: its quotes set off terms, and no entry that
/// has the rest may be lost for them.
const PASTED_WORDS_MIN: usize = 12;

/// What is asked.
pub(crate) struct Plan {
    /// Words that order the hits.
    pub(crate) leaves: Vec<Leaf>,
    strict: Option<Condition>,
    needs_bare: bool,
    /// Whether words that say little were left out.
    leaves_out: bool,
    /// Whether phrases stand beside bare words.
    pub(crate) has_phrases: bool,
    /// What to highlight.
    pub(crate) highlights: Highlights,
    /// What a person may want to know.
    pub(crate) notes: Vec<String>,
}

/// How a query is read when it finds nothing as it stands.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    /// Phrases beside bare words are bare words, too: nothing has them.
    pub(crate) phrases_are_words: bool,
    /// Words that say little count, too: nothing has any of the others.
    pub(crate) keeps_small_words: bool,
    /// What is searched instead of bare words that nothing has.
    pub(crate) corrections: Corrections,
}

impl Plan {
    /// What a query asks of the entries that somebody sees.
    ///
    /// # Errors
    /// `Refused` with code `query` when it has too many parts.
    pub(crate) fn of(
        node: &Node,
        (searcher, fields): (&Searcher, &Fields),
        visible: &Visible,
        reading: &Reading,
    ) -> Result<Plan, Fault> {
        let mut parts = Vec::new();
        flatten(node, &mut parts);
        let (mut bare, mut strict): (Vec<&Node>, Vec<&Node>) =
            parts.into_iter().partition(|part| is_bare(part));
        let is_pasted = is_pasted(&bare, &strict);
        let has_phrases = !is_pasted && !bare.is_empty() && strict.iter().any(|part| is_phrase(part));
        if reading.phrases_are_words || is_pasted {
            bare.extend(strict.extract_if(.., |part| is_phrase(part)));
        }
        if strict.iter().map(|part| size(part)).sum::<usize>() > limits::QUERY_CLAUSES_MAX {
            let most = limits::QUERY_CLAUSES_MAX;
            let message =
                format!("the query has more than {most} parts beside its bare words; leave some out");
            return Err(Fault::refused("query", message));
        }
        let builder = Builder::new(searcher, fields, &visible.stemmings);
        let mut planner = Planner {
            builder,
            fields: scored(fields),
            leaves: Vec::new(),
            known: HashMap::new(),
            notes: is_pasted.then(pasted).into_iter().collect(),
            leaves_out: false,
            compounds: visible.stemmings.iter().filter_map(|stemming| Compounds::of(*stemming)).collect(),
        };
        planner.bare(&bare, visible, reading);
        let has_bare = !planner.leaves.is_empty();
        let mut is_word_required = false;
        for part in &strict {
            planner.strict(part);
            let is_word = matches!(part, Node::Must(_)) || is_phrase(part);
            is_word_required |= is_word && planner.builder.build(part).is_some();
        }
        let strict = match planner.builder.all(strict.iter().copied()) {
            // Signs by which nothing can be looked for find nothing; they do not turn into everything.
            None if !has_bare => Some(Condition::Any(Vec::new())),
            built => built,
        };
        Ok(Plan {
            leaves: planner.leaves,
            strict,
            needs_bare: has_bare && !is_word_required,
            leaves_out: planner.leaves_out,
            has_phrases,
            highlights: planner.builder.highlights,
            notes: planner.notes,
        })
    }

    /// Bare words that no visible entry has.
    pub(crate) fn unknown<'p>(&'p self, rarity: &'p Rarity) -> impl Iterator<Item = &'p str> {
        let leaves = self.leaves.iter().enumerate();
        let unknown = leaves.filter(|(at, leaf)| leaf.may_be_slip && !rarity.is_known(*at));
        unknown.map(|(_, leaf)| leaf.written.as_str())
    }

    /// Whether all that it asks of bare words is not there, and it left some out that say little.
    pub(crate) fn needs_small_words(&self, rarity: &Rarity) -> bool {
        let mut bare = self.leaves.iter().enumerate().filter(|(_, leaf)| leaf.is_bare);
        self.leaves_out && bare.all(|(at, _)| !rarity.is_known(at))
    }

    /// The same for ranking.
    pub(crate) fn wanted(&self) -> Wanted<'_> {
        Wanted { leaves: &self.leaves, strict: self.strict.as_ref(), needs_bare: self.needs_bare }
    }
}

/// The parts of a query: parentheses around what stands next to each other, as in many a question, change nothing.
fn flatten<'n>(node: &'n Node, parts: &mut Vec<&'n Node>) {
    match node {
        Node::And(inner) => inner.iter().for_each(|part| flatten(part, parts)),
        other => parts.push(other),
    }
}

/// Whether a query is a long question that has phrases in quotes and no other sign.
fn is_pasted(bare: &[&Node], strict: &[&Node]) -> bool {
    let is_plain = |part: &&Node| is_phrase(part) && matches!(part, Node::Text { prefix: false, .. });
    bare.len() >= PASTED_WORDS_MIN && !strict.is_empty() && strict.iter().all(is_plain)
}

/// What a person may want to know of that.
fn pasted() -> String {
    format!(
        "in a question of {PASTED_WORDS_MIN} words or more, what stands in quotes is searched as words; a `+` before the quotes wants them \
         next to each other"
    )
}

fn is_bare(part: &Node) -> bool {
    matches!(part, Node::Text { bare: true, .. } | Node::OneOf { bare: true, .. })
}

fn is_phrase(part: &Node) -> bool {
    matches!(part, Node::Text { field: TextField::Anywhere, bare: false, .. })
}

/// Parts of a query.
fn size(node: &Node) -> usize {
    match node {
        Node::And(parts) | Node::Or(parts) => parts.iter().map(size).sum(),
        Node::Not(inner) | Node::Must(inner) => size(inner),
        _ => 1,
    }
}

/// The scored fields in which a field of the query is looked for; none: it only filters.
fn scored_in(field: &TextField) -> Option<[bool; SCORED]> {
    match field {
        TextField::Anywhere => Some(EVERYWHERE),
        TextField::Title => Some([true, false, false]),
        TextField::Body => Some([false, true, false]),
        TextField::Name => Some([false, false, true]),
        _ => None,
    }
}

struct Planner<'a> {
    builder: Builder<'a>,
    fields: [Field; SCORED],
    leaves: Vec<Leaf>,
    /// Where the leaf of a word stands, by what it looks for.
    known: HashMap<Key, usize>,
    notes: Vec<String>,
    leaves_out: bool,
    /// Lists of words that others are put together from.
    compounds: Vec<&'static Compounds>,
}

/// What a leaf looks for, the fields in which it does, and whether it is a bare word.
type Key = (String, [bool; SCORED], bool);

/// Words are looked for in all scored fields.
const EVERYWHERE: [bool; SCORED] = [true; SCORED];

fn terms_of<'t>(field: Field, texts: impl IntoIterator<Item = &'t String>) -> Vec<Term> {
    texts.into_iter().map(|text| Term::from_field_text(field, text)).collect()
}

impl Planner<'_> {
    fn bare(&mut self, parts: &[&Node], visible: &Visible, reading: &Reading) {
        let mut words = Vec::new();
        let mut beginnings = Vec::new();
        let mut expanded = Vec::new();
        for part in parts {
            if let Node::OneOf { written, terms, .. } = part {
                expanded.push((written, terms));
            }
            let Node::Text { text, prefix, bare, .. } = part else { continue };
            let mut forms = self.builder.forms(text);
            forms.iter_mut().for_each(|word| word.is_quoted = !bare);
            if *prefix || is_one_unspaced(text) {
                beginnings.extend(forms.pop());
            }
            words.append(&mut forms);
        }
        let written: Vec<Word<'_>> =
            words.iter().map(|word| Word { text: &word.written, is_joined: word.is_joined }).collect();
        let left_out = match beginnings.is_empty() && expanded.is_empty() && !reading.keeps_small_words {
            true => stop_words::among(&written, &visible.stemmings),
            false => vec![false; written.len()],
        };
        self.leaves_out = left_out.contains(&true);
        let kept = words.into_iter().zip(left_out).filter(|(_, left_out)| !left_out);
        for (word, _) in kept {
            let correction = reading.corrections.get(&word.written).filter(|_| !word.is_quoted);
            let used = correction.and_then(|used| self.builder.forms(used).pop());
            let word = used.unwrap_or(word);
            self.builder.highlights.terms.extend(word.stems.iter().cloned());
            self.word(word, EVERYWHERE, true);
        }
        let most = limits::QUERY_CLAUSES_MAX;
        if beginnings.len() > most {
            beginnings.truncate(most);
            self.notes.push(format!("only the first {most} beginnings of words are searched"));
        }
        for word in beginnings {
            self.beginning(&TextField::Anywhere, word.plain, EVERYWHERE, true);
        }
        for (written, terms) in expanded {
            self.builder.highlights.terms.extend(terms.iter().cloned());
            self.one_of(written, terms, EVERYWHERE, true);
        }
        let most = limits::QUERY_WORDS_MAX;
        if self.leaves.len() > most {
            self.leaves.truncate(most);
            self.known.clear();
            self.notes.push(format!("only the first {most} different words are searched"));
        }
    }

    /// Words of what must hold order the hits, too, whatever joins them.
    fn strict(&mut self, node: &Node) {
        match node {
            Node::And(parts) | Node::Or(parts) => parts.iter().for_each(|part| self.strict(part)),
            Node::Must(inner) => self.strict(inner),
            Node::OneOf { field, written, terms, .. } => {
                if let Some(scored_in) = scored_in(field) {
                    self.one_of(written, terms, scored_in, false);
                }
            }
            Node::All | Node::Not(_) | Node::Number { .. } | Node::Jobs(_) => {}
            Node::JobName { .. } | Node::Like { .. } => {}
            Node::Text { field, text, prefix, .. } => {
                let Some(scored_in) = scored_in(field) else { return };
                let mut forms = self.builder.forms(text);
                let open = (*prefix || is_one_unspaced(text)).then(|| forms.pop()).flatten();
                if let Some(word) = open.filter(|_| forms.is_empty()) {
                    self.beginning(field, word.plain, scored_in, false);
                }
                forms.into_iter().for_each(|word| self.word(word, scored_in, false));
            }
        }
    }

    fn word(&mut self, word: Forms, scored_in: [bool; SCORED], is_bare: bool) {
        if let Some(at) = self.known.get(&(word.plain.clone(), scored_in, is_bare)) {
            self.leaves[*at].times += 1;
            return;
        }
        let [title, body, name] = self.fields;
        let stems = |field| terms_of(field, &word.stems);
        // Names are compared by words, not by stems.
        let mut terms = [stems(title), stems(body), vec![Term::from_field_text(name, &word.plain)]];
        terms.iter_mut().zip(scored_in).filter(|(_, wanted)| !wanted).for_each(|(terms, _)| terms.clear());
        let source = Source::Terms(terms);
        let parts = if is_bare { self.parts(&word.written) } else { None };
        self.leaf((word.plain, scored_in, is_bare), word.written, !word.is_quoted, source);
        if let Some(leaf) = self.leaves.last_mut() {
            leaf.parts = parts;
        }
    }

    /// Where all words are from which a bare word is put together in a language of what the user sees.
    fn parts(&mut self, word: &str) -> Option<Condition> {
        let parts: Vec<&str> =
            self.compounds.iter().map(|compounds| compounds.cut(word)).find(|cut| !cut.is_empty())?;
        let each = parts.into_iter().filter_map(|part| self.builder.text(&TextField::Anywhere, part, false));
        Some(Condition::Each(each.map(Condition::Query).collect()))
    }

    fn leaf(&mut self, key: Key, written: String, may_be_slip: bool, source: Source) {
        let (word, _, is_bare) = key.clone();
        self.known.insert(key, self.leaves.len());
        self.leaves.push(Leaf {
            word,
            written,
            is_bare,
            may_be_slip: is_bare && may_be_slip,
            times: 1,
            source,
            parts: None,
        });
    }

    /// All terms that one word stands for count as its forms.
    fn one_of(&mut self, written: &str, terms: &[String], scored_in: [bool; SCORED], is_bare: bool) {
        let key = (written.to_owned(), scored_in, is_bare);
        if let Some(at) = self.known.get(&key) {
            self.leaves[*at].times += 1;
            return;
        }
        let mut all = self.fields.map(|field| terms_of(field, terms));
        all.iter_mut().zip(scored_in).filter(|(_, wanted)| !wanted).for_each(|(terms, _)| terms.clear());
        self.leaf(key, written.to_owned(), false, Source::Terms(all));
    }

    fn beginning(&mut self, field: &TextField, plain: String, scored_in: [bool; SCORED], is_bare: bool) {
        let key = (format!("{plain}*"), scored_in, is_bare);
        if let Some(at) = self.known.get(&key) {
            self.leaves[*at].times += 1;
        } else if let Some(query) = self.builder.text(field, &plain, true) {
            self.leaf(key, plain, false, Source::Set(Condition::Query(query)));
        }
    }
}
