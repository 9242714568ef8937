//! The best hits so far, of as many as are wanted.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::rank::Ranked;

/// The best hits so far.
pub(super) struct Best {
    most: usize,
    heap: BinaryHeap<Reverse<Container>>,
}

/// Where a hit stands; larger is better. The address decides between equals, whatever stands where in the index.
struct Container {
    is_complete: bool,
    key: u128,
    address: Reverse<i64>,
    hit: Ranked,
}

impl Container {
    fn order(&self) -> (bool, u128, Reverse<i64>) {
        (self.is_complete, self.key, self.address)
    }
}

impl PartialEq for Container {
    fn eq(&self, other: &Container) -> bool {
        self.order() == other.order()
    }
}

impl Eq for Container {}

impl PartialOrd for Container {
    fn partial_cmp(&self, other: &Container) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Container {
    fn cmp(&self, other: &Container) -> std::cmp::Ordering {
        self.order().cmp(&other.order())
    }
}

impl Best {
    /// None yet, of so many at most.
    pub(super) fn new(most: usize) -> Best {
        Best { most, heap: BinaryHeap::new() }
    }

    /// Whether a hit may be among the best; only its address can still tell.
    pub(super) fn takes(&self, is_complete: bool, key: u128) -> bool {
        match self.heap.peek() {
            Some(Reverse(worst)) if self.heap.len() >= self.most => {
                (is_complete, key) >= (worst.is_complete, worst.key)
            }
            _ => self.most > 0,
        }
    }

    /// Adds a hit that [`Best::takes`].
    pub(super) fn add(&mut self, is_complete: bool, key: u128, address: i64, hit: Ranked) {
        let container = Reverse(Container { is_complete, key, address: Reverse(address), hit });
        if self.heap.len() < self.most {
            self.heap.push(container);
        } else if let Some(mut worst) = self.heap.peek_mut()
            && container.0 > worst.0
        {
            *worst = container;
        }
    }

    /// Those from `offset` on, best first.
    pub(super) fn page(self, offset: usize) -> Vec<Ranked> {
        let sorted = self.heap.into_sorted_vec();
        sorted.into_iter().skip(offset).map(|Reverse(container)| container.hit).collect()
    }
}
