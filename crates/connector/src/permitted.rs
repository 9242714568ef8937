//! What one user may see, as data that an output filters by inside its query (design 4.20).

use std::collections::HashMap;

use ingather_model::ids::{ClassId, PlaceId};

/// A set of small numbers such as class and place ids, which are given densely from 1 on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdSet(Vec<u64>);

impl IdSet {
    /// Adds an id; negative ones are never contained.
    pub fn insert(&mut self, id: i64) {
        let Ok(id) = usize::try_from(id) else { return };
        if self.0.len() <= id / 64 {
            self.0.resize(id / 64 + 1, 0);
        }
        self.0[id / 64] |= 1 << (id % 64);
    }

    /// Whether the id is in the set.
    pub fn contains(&self, id: i64) -> bool {
        usize::try_from(id).is_ok_and(|id| self.0.get(id / 64).is_some_and(|word| word >> (id % 64) & 1 == 1))
    }
}

impl FromIterator<i64> for IdSet {
    fn from_iter<I: IntoIterator<Item = i64>>(ids: I) -> IdSet {
        let mut set = IdSet::default();
        ids.into_iter().for_each(|id| set.insert(id));
        set
    }
}

/// What a search may return.
#[derive(Clone, Debug)]
pub enum Permitted {
    /// Everything: for the owner of the data directory only.
    All,
    /// Entries whose class and place are both in these sets.
    Only {
        /// Classes that admit the user.
        classes: IdSet,
        /// Places that admit the user, together with every place above them.
        places: IdSet,
        /// Addresses whose new access is not confirmed yet: the new class and place must admit as well.
        pending: HashMap<i64, Vec<(Option<ClassId>, Option<PlaceId>)>>,
    },
}

impl Permitted {
    /// Whether an entry at `address` that refers to `class` and `place` may be returned; unknown ones never.
    pub fn permits(&self, address: i64, class: Option<ClassId>, place: Option<PlaceId>) -> bool {
        match self {
            Permitted::All => true,
            Permitted::Only { classes, places, pending } => {
                let admits = |class: Option<ClassId>, place: Option<PlaceId>| {
                    class.is_some_and(|class| classes.contains(class.0))
                        && place.is_some_and(|place| places.contains(place.0))
                };
                admits(class, place)
                    && pending
                        .get(&address)
                        .is_none_or(|new| new.iter().all(|(class, place)| admits(*class, *place)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_references_and_pending_narrowings_shut_out() {
        let pending = HashMap::from([(7, vec![(Some(ClassId(2)), Some(PlaceId(1)))])]);
        let permitted = Permitted::Only {
            classes: [1].into_iter().collect(),
            places: [1, 200].into_iter().collect(),
            pending,
        };
        assert!(permitted.permits(5, Some(ClassId(1)), Some(PlaceId(200))));
        assert!(!permitted.permits(5, None, Some(PlaceId(1))));
        assert!(!permitted.permits(5, Some(ClassId(1)), None));
        assert!(!permitted.permits(5, Some(ClassId(-1)), Some(PlaceId(1))));
        assert!(!permitted.permits(7, Some(ClassId(1)), Some(PlaceId(1))), "the new class does not admit");
        assert!(Permitted::All.permits(7, None, None));
    }
}
