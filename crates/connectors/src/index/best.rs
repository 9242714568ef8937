//! The best hits so far, of as many as are wanted.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::rank::Ranked;

/// The best hits so far, by keys.
pub(super) struct Best<K> {
    most: usize,
    heap: BinaryHeap<Reverse<Container<K>>>,
}

/// Where a hit stands; larger is better. The address decides between equals, whatever stands where in the index.
pub(super) struct Container<K> {
    pub(super) key: K,
    pub(super) address: i64,
    pub(super) hit: Ranked,
}

impl<K: Ord> Container<K> {
    fn order(&self) -> (bool, &K, Reverse<i64>) {
        (self.hit.is_complete, &self.key, Reverse(self.address))
    }
}

impl<K: Ord> PartialEq for Container<K> {
    fn eq(&self, other: &Container<K>) -> bool {
        self.order() == other.order()
    }
}

impl<K: Ord> Eq for Container<K> {}

impl<K: Ord> PartialOrd for Container<K> {
    fn partial_cmp(&self, other: &Container<K>) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<K: Ord> Ord for Container<K> {
    fn cmp(&self, other: &Container<K>) -> std::cmp::Ordering {
        self.order().cmp(&other.order())
    }
}

impl<K: Ord> Best<K> {
    /// None yet, of so many at most.
    pub(super) fn new(most: usize) -> Best<K> {
        Best { most, heap: BinaryHeap::new() }
    }

    /// Whether a hit may be among the best; only its address can still tell.
    pub(super) fn takes(&self, is_complete: bool, key: &K) -> bool {
        match self.heap.peek() {
            Some(Reverse(worst)) if self.heap.len() >= self.most => {
                (is_complete, key) >= (worst.hit.is_complete, &worst.key)
            }
            _ => self.most > 0,
        }
    }

    /// Adds a hit that [`Best::takes`].
    pub(super) fn add(&mut self, container: Container<K>) {
        if self.heap.len() < self.most {
            self.heap.push(Reverse(container));
        } else if let Some(mut worst) = self.heap.peek_mut()
            && container > worst.0
        {
            *worst = Reverse(container);
        }
    }

    /// All of them, best first.
    pub(super) fn sorted(self) -> impl Iterator<Item = Container<K>> {
        self.heap.into_sorted_vec().into_iter().map(|Reverse(container)| container)
    }
}
