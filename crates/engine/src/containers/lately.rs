//! What was used lately: as much as fits, so that memory does not grow with what a source has.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;

/// Values by key. Nothing is let go of but by [`Lately::turn`], so that whoever uses some of them together has all of them.
#[derive(Debug)]
pub(crate) struct Lately<K, V> {
    /// Used since the last turn.
    young: HashMap<K, V>,
    /// Used before it, and not since.
    old: HashMap<K, V>,
    /// Half of what is kept, beside what is used between two turns.
    half: usize,
}

impl<K: Eq + Hash, V> Lately<K, V> {
    /// Keeps about `most`.
    pub(crate) fn new(most: usize) -> Lately<K, V> {
        Lately { young: HashMap::new(), old: HashMap::new(), half: (most / 2).max(1) }
    }

    /// Lets go of what was not used lately when there is enough that was; true when something went.
    pub(crate) fn turn(&mut self) -> bool {
        if self.young.len() < self.half {
            return false;
        }
        let gone = std::mem::replace(&mut self.old, std::mem::take(&mut self.young));
        !gone.is_empty()
    }

    /// A value, which is used.
    pub(crate) fn get<Q>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        if !self.old.is_empty()
            && let Some((key, value)) = self.old.remove_entry(key)
        {
            self.young.insert(key, value);
        }
        self.young.get_mut(key)
    }

    /// A value, which does not count as used.
    pub(crate) fn peek<Q>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        self.young.get(key).or_else(|| self.old.get(key))
    }

    pub(crate) fn insert(&mut self, key: K, value: V) {
        if !self.old.is_empty() {
            self.old.remove(&key);
        }
        self.young.insert(key, value);
    }

    /// A value, which is used; `made` where there is none.
    pub(crate) fn get_or_insert(&mut self, key: K, made: impl FnOnce() -> V) -> &mut V {
        let kept = if self.old.is_empty() { None } else { self.old.remove(&key) };
        self.young.entry(key).or_insert_with(|| kept.unwrap_or_else(made))
    }

    pub(crate) fn remove<Q>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        self.young.remove(key).or_else(|| self.old.remove(key))
    }

    pub(crate) fn clear(&mut self) {
        self.young.clear();
        self.old.clear();
    }

    /// All that is kept, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.young.iter().chain(&self.old)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_stays_and_the_rest_goes_when_there_is_too_much() {
        let mut lately = Lately::new(4);
        for n in 0..2 {
            lately.insert(n, n);
        }
        assert!(!lately.turn(), "nothing is older yet");
        assert_eq!(lately.get(&0), Some(&mut 0), "used again");
        lately.insert(2, 2);
        assert!(lately.turn(), "1 was not used");
        assert_eq!((lately.peek(&0), lately.peek(&1), lately.peek(&2)), (Some(&0), None, Some(&2)));
        lately.insert(3, 3);
        assert!(!lately.turn(), "there is room");
        assert_eq!(lately.iter().count(), 3);
    }
}
