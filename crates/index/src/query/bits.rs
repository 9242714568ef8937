//! A set of the entries of one segment.

/// One bit for each entry.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bits(Vec<u64>);

impl Bits {
    /// None of so many entries.
    pub(crate) fn none(entries: u32) -> Bits {
        Bits(vec![0; (entries as usize).div_ceil(64)])
    }

    /// Adds an entry.
    pub(crate) fn insert(&mut self, doc: u32) {
        self.0[doc as usize / 64] |= 1 << (doc % 64);
    }

    /// Whether the entry is in the set.
    pub(crate) fn contains(&self, doc: u32) -> bool {
        self.0.get(doc as usize / 64).is_some_and(|word| word >> (doc % 64) & 1 == 1)
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// Those from `from` on and before `to`, in order; both are whole words of bits.
    pub(crate) fn within(&self, from: u32, to: u32) -> impl Iterator<Item = u32> + '_ {
        let words = self.0.iter().enumerate().take(to as usize / 64).skip(from as usize / 64);
        words.flat_map(|(at, word)| {
            let mut rest = *word;
            std::iter::from_fn(move || {
                let bit = rest.trailing_zeros();
                rest &= rest.wrapping_sub(1);
                (bit < 64).then_some(at as u32 * 64 + bit)
            })
        })
    }

    /// Keeps only those that are in `other` too.
    pub(crate) fn keep(&mut self, other: &Bits) {
        self.0.iter_mut().zip(&other.0).for_each(|(own, other)| *own &= other);
    }

    /// Adds those of `other`.
    pub(crate) fn add(&mut self, other: &Bits) {
        self.0.iter_mut().zip(&other.0).for_each(|(own, other)| *own |= other);
    }

    /// Takes those of `other` out.
    pub(crate) fn remove(&mut self, other: &Bits) {
        self.0.iter_mut().zip(&other.0).for_each(|(own, other)| *own &= !other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_in_the_set_that_were_put_there() {
        let mut bits = Bits::none(200);
        [0, 63, 64, 199].into_iter().for_each(|doc| bits.insert(doc));
        assert!(bits.contains(63) && !bits.contains(62) && !bits.contains(10_000));
        assert_eq!(bits.within(0, 256).collect::<Vec<_>>(), [0, 63, 64, 199]);
        assert_eq!(bits.within(64, 128).collect::<Vec<_>>(), [64]);
        let mut other = Bits::none(200);
        other.insert(64);
        bits.keep(&other);
        assert_eq!((bits.count(), bits.contains(64)), (1, true));
        other.insert(5);
        bits.add(&other);
        assert_eq!(bits.within(0, 256).collect::<Vec<_>>(), [5, 64]);
        bits.remove(&other);
        assert_eq!(bits.count(), 0);
    }
}
