//! Tells most addresses that never had an entry without a look into the index: a Bloom filter of bounded size.

use tantivy::Searcher;

use crate::entry::Columns;

/// Bits for each address; with four probes about one address in four hundred is looked up in vain.
const BITS_EACH: usize = 16;
/// Smallest filter, bits.
const BITS_MIN: usize = 1 << 20;
/// Largest filter, bits (64 MiB): beyond 32 million entries it only gets less sharp.
const BITS_MAX: usize = 1 << 29;

/// The addresses that may have an entry.
pub(crate) struct AddressFilter {
    words: Vec<u64>,
    inserted: usize,
}

impl AddressFilter {
    /// Those of all entries of a commit.
    pub(crate) fn of(searcher: &Searcher) -> tantivy::Result<AddressFilter> {
        let entries = searcher.num_docs() as usize;
        // Twice the room, so that it is not made anew soon.
        let bits = (entries * 2 * BITS_EACH).next_power_of_two().clamp(BITS_MIN, BITS_MAX);
        let mut filter = AddressFilter { words: vec![0; bits / 64], inserted: 0 };
        for segment in searcher.segment_readers() {
            let columns = Columns::open(segment)?;
            let Some(addresses) = &columns.address else { continue };
            segment
                .doc_ids_alive()
                .filter_map(|doc| addresses.first(doc))
                .for_each(|address| filter.insert(address));
        }
        Ok(filter)
    }

    /// Makes it larger when it has become too full.
    pub(crate) fn grow(&mut self, searcher: &Searcher) -> tantivy::Result<()> {
        let bits = self.words.len() * 64;
        if self.inserted > bits / BITS_EACH && bits < BITS_MAX {
            *self = AddressFilter::of(searcher)?;
        }
        Ok(())
    }

    /// The bits of an address, which is a keyed hash already.
    fn bits(&self, address: i64) -> impl Iterator<Item = (usize, u64)> + use<> {
        let mask = self.words.len() as u64 * 64 - 1;
        let first = address as u64;
        let step = first.rotate_left(32).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        (0..4u64).map(move |probe| {
            let bit = first.wrapping_add(probe.wrapping_mul(step)) & mask;
            ((bit / 64) as usize, 1 << (bit % 64))
        })
    }

    /// Adds an address.
    pub(crate) fn insert(&mut self, address: i64) {
        self.inserted += 1;
        for (word, bit) in self.bits(address) {
            self.words[word] |= bit;
        }
    }

    /// Whether it may have an entry; false is certain.
    pub(crate) fn may_hold(&self, address: i64) -> bool {
        self.bits(address).all(|(word, bit)| self.words[word] & bit != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_inserted_may_be_held_and_little_else() {
        let mut filter = AddressFilter { words: vec![0; BITS_MIN / 64], inserted: 0 };
        let address =
            |n: u64| blake3::hash(&n.to_le_bytes()).as_bytes()[..8].try_into().map(i64::from_le_bytes);
        (0..60_000).for_each(|n| filter.insert(address(n).unwrap()));
        assert!((0..60_000).all(|n| filter.may_hold(address(n).unwrap())));
        let false_ones = (60_000..160_000).filter(|n| filter.may_hold(address(*n).unwrap())).count();
        assert!(false_ones < 1_000, "{false_ones} of 100000");
    }
}
