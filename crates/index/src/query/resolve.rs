//! Puts what a query stands for in the place of what was written: the words that are like one, and jobs by their names. All
//! of it comes from the entries that the user may see.

use std::collections::BTreeSet;
use std::sync::Arc;

use ingather_contract::search::MovedJob;
use ingather_model::fault::Fault;
use ingather_model::limits;
use tantivy::postings::TermInfo;
use tantivy::query::FuzzyTermQuery;
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{InvertedIndexReader, Searcher, Term};

use crate::query::bits::Bits;
use crate::query::build::{Builder, word_fields};
use crate::query::like::{Like, Pattern};
use crate::query::moved;
use crate::query::unanswered::Unanswered;
use crate::query::visible::Visible;
use crate::query::{Node, TextField, nearest};
use crate::schema::Fields;

/// What one user sees, and the jobs that there are.
pub(crate) struct Resolver<'a> {
    pub(crate) searcher: &'a Searcher,
    pub(crate) fields: &'a Fields,
    pub(crate) visible: &'a Visible,
    pub(crate) jobs: &'a [(i64, String)],
    pub(crate) moved: &'a [MovedJob],
}

impl Resolver<'_> {
    /// The same query with what it stands for; `notes` get a sentence for each bound and each unknown name.
    ///
    /// # Errors
    /// `Refused` with code `query` when too many words stand for others.
    pub(crate) fn resolve(&self, node: Node, notes: &mut Vec<String>) -> Result<Node, Unanswered> {
        let most = limits::QUERY_EXPANDED_MAX;
        if likes(&node) > most {
            let message =
                format!("the query has more than {most} words with `~` or wildcards inside; leave some out");
            return Err(Fault::refused("query", message).into());
        }
        self.each(node, notes)
    }

    fn each(&self, node: Node, notes: &mut Vec<String>) -> Result<Node, Unanswered> {
        let mut all = |parts: Vec<Node>| {
            parts.into_iter().map(|part| self.each(part, notes)).collect::<Result<Vec<_>, _>>()
        };
        Ok(match node {
            Node::And(parts) => Node::And(all(parts)?),
            Node::Or(parts) => Node::Or(all(parts)?),
            Node::Not(inner) => Node::Not(Box::new(self.each(*inner, notes)?)),
            Node::Must(inner) => Node::Must(Box::new(self.each(*inner, notes)?)),
            Node::Like { field, like, bare } => {
                let terms = self.like(&field, &like, notes)?;
                Node::OneOf { field, written: like.written(), terms, bare }
            }
            Node::JobName { name, prefix } => Node::Jobs(self.jobs(&name, prefix, notes)?),
            Node::Text { field: field @ (TextField::Path | TextField::Uri), text, prefix, bare } => {
                moved::also(self.moved, field, text, prefix, bare)
            }
            other => other,
        })
    }

    /// Handles of the jobs of that name of which the user sees an entry. Of all others it is as if they were not there.
    fn jobs(&self, name: &str, prefix: bool, notes: &mut Vec<String>) -> tantivy::Result<Vec<i64>> {
        let seen = self.visible.jobs(self.searcher)?;
        let known = || self.jobs.iter().filter(|(id, _)| seen.contains(id));
        let wanted = name.to_lowercase();
        let is_meant = |known: &str| {
            let known = known.to_lowercase();
            if prefix { known.starts_with(&wanted) } else { known == wanted }
        };
        let found: Vec<i64> = known().filter(|(_, name)| is_meant(name)).map(|(id, _)| *id).collect();
        if found.is_empty() {
            let names = || known().map(|(_, name)| name.as_str());
            let begun = names().find(|known| known.to_lowercase().starts_with(&wanted));
            let instead = match nearest(name, names()).or(begun) {
                Some(near) => format!("`job:{near}` is one"),
                None => "`ingather search '*' --facets` names them".to_owned(),
            };
            notes.push(format!("you see nothing of a job named `{name}`; {instead}"));
        }
        Ok(found)
    }

    /// Terms that visible entries have in a field and that are like what was asked for.
    fn like(&self, field: &TextField, like: &Like, notes: &mut Vec<String>) -> tantivy::Result<Vec<String>> {
        let fields = word_fields(self.fields, field);
        let terms = match like {
            Like::Pattern(pattern) => self.matching(&fields, pattern)?,
            Like::Near { word, slips } => self.near(&fields, word, *slips)?,
        };
        let most = limits::QUERY_EXPANSIONS_MAX;
        if terms.len() > most {
            notes.push(format!(
                "`{}` stands for more than {most} words; only {most} of them are searched",
                like.written()
            ));
        }
        Ok(terms.into_iter().take(most).collect())
    }

    /// The first terms that look like a pattern, one more than are used at most.
    fn matching(&self, fields: &[Field], pattern: &Pattern) -> tantivy::Result<Vec<String>> {
        let mut found = BTreeSet::new();
        let patterns = self.stems(pattern);
        for (index, seen) in self.indexes(fields)? {
            let mut terms = index.terms().range().ge(pattern.beginning()).into_stream()?;
            let mut taken = 0;
            while taken <= limits::QUERY_EXPANSIONS_MAX && terms.advance() {
                // What is no text is no word either.
                let Ok(term) = std::str::from_utf8(terms.key()) else { continue };
                if !term.starts_with(pattern.beginning()) {
                    break;
                }
                if patterns.iter().any(|pattern| pattern.matches(term))
                    && is_seen(&index, terms.value(), seen)?
                {
                    found.insert(term.to_owned());
                    taken += 1;
                }
            }
        }
        Ok(found.into_iter().collect())
    }

    /// The pattern, and what is left of it where texts are compared by stems: `c?sts` is `c?st` there.
    fn stems(&self, pattern: &Pattern) -> Vec<Pattern> {
        let mut patterns = vec![pattern.clone()];
        let Some(example) = pattern.example() else { return patterns };
        let mut builder = Builder::new(self.searcher, self.fields, &self.visible.stemmings);
        for word in builder.forms(&example) {
            let cut = word.stems.iter().filter_map(|stem| word.plain.strip_prefix(stem.as_str()));
            let cut: BTreeSet<usize> = cut.map(|rest| rest.chars().count()).filter(|cut| *cut > 0).collect();
            patterns.extend(cut.into_iter().filter_map(|cut| pattern.without_last(cut)));
        }
        patterns
    }

    /// Terms within so many slips of a form of the word: those with one first, each by letters.
    fn near(&self, fields: &[Field], word: &str, slips: u8) -> tantivy::Result<Vec<String>> {
        let mut builder = Builder::new(self.searcher, self.fields, &self.visible.stemmings);
        let forms: BTreeSet<String> = builder.forms(word).into_iter().flat_map(|word| word.stems).collect();
        let mut all: Vec<String> = Vec::new();
        for distance in 1..=slips {
            let mut found = BTreeSet::new();
            for form in &forms {
                let near = FuzzyTermQuery::new(Term::from_field_text(self.fields.body, form), distance, true);
                let automaton = near.automaton()?;
                for (index, seen) in self.indexes(fields)? {
                    let mut terms = index.terms().search(&automaton).into_stream()?;
                    let mut taken = 0;
                    while taken <= limits::QUERY_EXPANSIONS_MAX && terms.advance() {
                        let Ok(term) = std::str::from_utf8(terms.key()) else { continue };
                        if found.contains(term) || is_seen(&index, terms.value(), seen)? {
                            found.insert(term.to_owned());
                            taken += 1;
                        }
                    }
                }
            }
            found.retain(|term| !all.contains(term));
            all.extend(found);
        }
        Ok(all)
    }

    /// The words of these fields in every segment, with what the user sees of it.
    fn indexes(&self, fields: &[Field]) -> tantivy::Result<Vec<(Arc<InvertedIndexReader>, &Bits)>> {
        let segments = self.searcher.segment_readers().iter().zip(&self.visible.segments);
        let each =
            segments.flat_map(|(segment, seen)| fields.iter().map(move |field| (segment, field, seen)));
        each.map(|(segment, field, seen)| Ok((segment.inverted_index(*field)?, seen))).collect()
    }
}

/// Whether a visible entry has the term.
fn is_seen(index: &InvertedIndexReader, info: &TermInfo, seen: &Bits) -> tantivy::Result<bool> {
    let mut postings = index.read_block_postings_from_terminfo(info, IndexRecordOption::Basic)?;
    while !postings.docs().is_empty() {
        if postings.docs().iter().any(|doc| seen.contains(*doc)) {
            return Ok(true);
        }
        postings.advance();
    }
    Ok(false)
}

/// Words that stand for others.
fn likes(node: &Node) -> usize {
    match node {
        Node::And(parts) | Node::Or(parts) => parts.iter().map(likes).sum(),
        Node::Not(inner) | Node::Must(inner) => likes(inner),
        other => usize::from(matches!(other, Node::Like { .. })),
    }
}
