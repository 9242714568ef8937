//! What makes up the score of one hit, for people who ask why it stands where it does.

use ingather_contract::search::WordScore;
use tantivy::postings::Postings;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocAddress, DocSet, Searcher};

use crate::query::visible::{SCORED, Visible};
use crate::search::rank::{Leaf, OF_PARTS, Source, factor, saturated};
use crate::search::rarity::Rarity;

/// What every word adds to the score of the entry at `at`.
pub(crate) fn explain(
    searcher: &Searcher,
    visible: &Visible,
    leaves: &[Leaf],
    rarity: &Rarity,
    at: DocAddress,
) -> tantivy::Result<Vec<WordScore>> {
    let explained = leaves.iter().enumerate().map(|(number, leaf)| {
        let (occurrences, weighed) = occurrences(searcher, visible, leaf, rarity, (number, at))?;
        Ok(WordScore {
            word: leaf.word.clone(),
            times: leaf.times,
            entries: rarity.entries[number],
            of: visible.count,
            occurrences,
            score: rarity.weight(number, visible) * leaf.times as f32 * saturated(weighed),
        })
    });
    explained.collect()
}

/// How often an entry has a word in each field, and what that counts.
fn occurrences(
    searcher: &Searcher,
    visible: &Visible,
    leaf: &Leaf,
    rarity: &Rarity,
    (number, at): (usize, DocAddress),
) -> tantivy::Result<([u32; SCORED], f32)> {
    let mut found = ([0; SCORED], 0.0);
    let segment = searcher.segment_reader(at.segment_ord);
    let Source::Terms(terms) = &leaf.source else {
        found.1 = f32::from(u8::from(rarity.has(number, at)));
        return Ok(found);
    };
    for (field, terms) in terms.iter().enumerate() {
        let Some(first) = terms.first() else { continue };
        let norms = segment.fieldnorms_readers().get_field(first.field())?;
        let norm = norms.map_or(0, |norms| norms.fieldnorm_id(at.doc_id));
        let index = segment.inverted_index(first.field())?;
        for term in terms {
            let Some(mut postings) = index.read_postings(term, IndexRecordOption::WithFreqs)? else {
                continue;
            };
            if postings.doc() < at.doc_id {
                postings.seek(at.doc_id);
            }
            if postings.doc() == at.doc_id {
                found.0[field] += postings.term_freq();
                found.1 += postings.term_freq() as f32 * factor(field, norm, visible);
            }
        }
    }
    if found.1 == 0.0 && rarity.has_parts(number, at) {
        found.1 = OF_PARTS;
    }
    Ok(found)
}
