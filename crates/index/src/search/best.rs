//! The best hits so far, of as many as are wanted; of those with the same text only the best, where that is wanted.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use tantivy::DocAddress;

use crate::search::rank::Ranked;

/// The best hits so far, by keys.
pub(crate) struct Best<K> {
    most: usize,
    folds: bool,
    sorted: BTreeSet<Position<K>>,
    /// Where those are that have a text, by its digest; empty when copies are wanted.
    texts: HashMap<i64, Position<K>>,
}

/// The place of a hit in the ranking; larger is better. The address decides between equals, whatever stands where in the index.
#[derive(Clone)]
pub(crate) struct Position<K> {
    pub(crate) key: K,
    pub(crate) address: i64,
    pub(crate) hit: Ranked,
}

impl<K: Ord> Position<K> {
    fn order(&self) -> (bool, &K, Reverse<i64>, Reverse<DocAddress>) {
        // Two entries with one address are as good as impossible; none of them may be lost.
        (self.hit.is_complete, &self.key, Reverse(self.address), Reverse(self.hit.at))
    }
}

impl<K: Ord> PartialEq for Position<K> {
    fn eq(&self, other: &Position<K>) -> bool {
        self.order() == other.order()
    }
}

impl<K: Ord> Eq for Position<K> {}

impl<K: Ord> PartialOrd for Position<K> {
    fn partial_cmp(&self, other: &Position<K>) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<K: Ord> Ord for Position<K> {
    fn cmp(&self, other: &Position<K>) -> std::cmp::Ordering {
        self.order().cmp(&other.order())
    }
}

impl<K: Ord + Clone> Best<K> {
    /// None yet, of so many at most; each text once, when `folds`.
    pub(crate) fn new(most: usize, folds: bool) -> Best<K> {
        Best { most, folds, sorted: BTreeSet::new(), texts: HashMap::new() }
    }

    /// Whether a hit may be among the best; only its text can still tell.
    pub(crate) fn takes(&self, is_complete: bool, key: &K, address: i64) -> bool {
        match self.worst() {
            Some(worst) => {
                let floor = (worst.hit.is_complete, &worst.key, Reverse(worst.address));
                (is_complete, key, Reverse(address)) >= floor
            }
            None => self.most > 0,
        }
    }

    /// Whether hits are only counted.
    pub(crate) fn wants_none(&self) -> bool {
        self.most == 0
    }

    /// The hit that the next better one pushes out; none while there is room.
    pub(crate) fn worst(&self) -> Option<&Position<K>> {
        self.sorted.first().filter(|_| self.sorted.len() >= self.most)
    }

    /// Adds a hit that [`Best::takes`]. A text that was pushed out by better ones comes back only with a hit that is better
    /// than they are, so that the best of each text is kept whatever the order in which they come.
    pub(crate) fn add(&mut self, position: Position<K>) {
        if let Some(text) = position.hit.text.filter(|_| self.folds) {
            if let Some(known) = self.texts.get(&text) {
                if *known >= position {
                    return;
                }
                self.sorted.remove(known);
            }
            self.texts.insert(text, position.clone());
        }
        self.sorted.insert(position);
        if self.sorted.len() > self.most
            && let Some(worst) = self.sorted.pop_first()
            && let Some(text) = worst.hit.text
        {
            self.texts.remove(&text);
        }
    }

    /// All of them, best first.
    pub(crate) fn sorted(self) -> impl Iterator<Item = Position<K>> {
        self.sorted.into_iter().rev()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_best_of_each_text_are_kept_in_whatever_order_they_come(
            made in proptest::collection::vec((0u128..20, 0i64..8, proptest::option::of(0i64..6)), 0..60),
            most in 1usize..8,
        ) {
            let positions: Vec<Position<u128>> = made.iter().enumerate().map(|(at, (key, address, text))| {
                let at = DocAddress::new(0, at as u32);
                let hit = Ranked { at, score: 0.0, is_complete: key % 2 == 0, text: *text, copy_of: None };
                Position { key: *key, address: *address, hit }
            }).collect();
            for folds in [false, true] {
                let mut best = Best::new(most, folds);
                for position in &positions {
                    if best.takes(position.hit.is_complete, &position.key, position.address) {
                        best.add(position.clone());
                    }
                }
                let mut sorted = positions.clone();
                sorted.sort_by(|a, b| b.cmp(a));
                let mut texts = std::collections::HashSet::new();
                sorted.retain(|one| !folds || one.hit.text.is_none_or(|text| texts.insert(text)));
                sorted.truncate(most);
                let told: Vec<DocAddress> = best.sorted().map(|one| one.hit.at).collect();
                prop_assert_eq!(told, sorted.iter().map(|one| one.hit.at).collect::<Vec<_>>());
            }
        }
    }
}
