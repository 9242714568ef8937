//! What a document leads to, by relation, as bytes of the store: plainly a bitmap of ids where all are related in the first way.

use ingather_store::StoreError;
use roaring::RoaringTreemap;

use crate::run::id_set;

/// In place of the number of pieces that a bitmap begins with: more than there can be.
const BY_RELATION: [u8; 8] = [0xff; 8];

/// Documents that one leads to: a bitmap for each relation, in the order of the relations.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Targets(Vec<RoaringTreemap>);

impl Targets {
    /// It leads to a document as well.
    pub(super) fn insert(&mut self, relation: usize, id: i64) {
        if self.0.len() <= relation {
            self.0.resize_with(relation + 1, RoaringTreemap::new);
        }
        self.0[relation].insert(id as u64);
    }

    /// It leads to all these as well.
    pub(super) fn add(&mut self, other: &Targets) {
        if self.0.len() < other.0.len() {
            self.0.resize_with(other.0.len(), RoaringTreemap::new);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(own, others)| *own |= others);
    }

    /// All of them.
    pub(super) fn all(&self) -> RoaringTreemap {
        self.0.iter().fold(RoaringTreemap::new(), |all, of_relation| all | of_relation)
    }

    /// Each with its relation.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, i64)> {
        let with = |(relation, ids): (usize, &RoaringTreemap)| {
            ids.iter().map(|id| (relation, id as i64)).collect::<Vec<_>>()
        };
        self.0.iter().enumerate().flat_map(with)
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        match self.0.as_slice() {
            [] => id_set::to_bytes(&RoaringTreemap::new()),
            [only] => id_set::to_bytes(only),
            several => {
                let mut bytes = BY_RELATION.to_vec();
                for ids in several.iter().map(id_set::to_bytes) {
                    bytes.extend((ids.len() as u64).to_le_bytes());
                    bytes.extend(ids);
                }
                bytes
            }
        }
    }

    /// How it leads to a document, in the first way that it does.
    pub(crate) fn relation_to(&self, id: i64) -> Option<usize> {
        self.0.iter().position(|ids| ids.contains(id as u64))
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Targets, StoreError> {
        let Some(mut rest) = bytes.strip_prefix(&BY_RELATION) else {
            return Ok(Targets(vec![id_set::from_bytes(bytes)?]));
        };
        let mut targets = Targets::default();
        while let Some((length, after)) = rest.split_first_chunk::<8>() {
            let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX).min(after.len());
            let (ids, left) = after.split_at(length);
            targets.0.push(id_set::from_bytes(ids)?);
            rest = left;
        }
        Ok(targets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_is_related_in_the_first_way_is_a_plain_bitmap_and_all_else_comes_back() {
        let mut targets = Targets::default();
        assert_eq!(Targets::from_bytes(&targets.to_bytes()).unwrap().all(), RoaringTreemap::new());
        targets.insert(0, 7);
        targets.insert(0, 1 << 40);
        assert_eq!(targets.to_bytes(), id_set::to_bytes(&[7, 1 << 40].into_iter().collect()));
        targets.insert(2, 9);
        let back = Targets::from_bytes(&targets.to_bytes()).unwrap();
        assert_eq!(back, targets);
        assert_eq!(back.iter().collect::<Vec<_>>(), [(0, 7), (0, 1 << 40), (2, 9)]);
        assert_eq!(back.all().len(), 3);
    }

    #[test]
    fn bytes_that_are_cut_off_are_refused() {
        let mut targets = Targets::default();
        targets.insert(0, 7);
        targets.insert(1, 9);
        let bytes = targets.to_bytes();
        assert!(Targets::from_bytes(&bytes[..bytes.len() - 3]).is_err());
    }
}
