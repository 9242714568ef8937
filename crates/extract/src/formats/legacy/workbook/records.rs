//! The records of a workbook's stream.

use crate::formats::legacy::u16_at;

/// A record: its kind, and its bytes with those of the records that continue it.
pub(super) struct Record<'r> {
    pub(super) kind: u16,
    /// The record itself, then each one that continues it.
    pub(super) pieces: Vec<&'r [u8]>,
}

/// The records of a stream with their places.
pub(super) struct Records<'r> {
    bytes: &'r [u8],
    pub(super) at: usize,
}

impl<'r> Records<'r> {
    pub(super) fn new(bytes: &'r [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(super) fn piece(&mut self) -> Option<(u16, &'r [u8])> {
        let head = self.bytes.get(self.at..self.at + 4)?;
        let length = usize::from(u16_at(head, 2));
        let begin = self.at + 4;
        let end = (begin + length).min(self.bytes.len());
        self.at = begin + length;
        Some((u16_at(head, 0), &self.bytes[begin..end]))
    }
}

impl<'r> Iterator for Records<'r> {
    type Item = (usize, Record<'r>);

    fn next(&mut self) -> Option<(usize, Record<'r>)> {
        let mut at = self.at;
        let (mut kind, mut first) = self.piece()?;
        // Zeros fill gaps between records, and what is left of the last sector.
        while kind == 0 && first.is_empty() {
            at = self.at;
            (kind, first) = self.piece()?;
        }
        let mut pieces = vec![first];
        while self.bytes.get(self.at..self.at + 2) == Some(&[0x3c, 0])
            && let Some((_, piece)) = self.piece()
        {
            pieces.push(piece);
        }
        Some((at, Record { kind, pieces }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::record;
    use super::*;

    #[test]
    fn zeros_between_records_are_skipped() {
        let bytes = [record(0x204, &[1]), vec![0; 8], record(0x0a, &[]), vec![0; 100]].concat();
        let found: Vec<(usize, u16)> = Records::new(&bytes).map(|(at, record)| (at, record.kind)).collect();
        assert_eq!(found, [(0, 0x204), (13, 0x0a)]);
    }

    #[test]
    fn a_continued_record_that_is_cut_off_in_its_head_is_the_last() {
        for length in 2..4 {
            let bytes = [record(0x204, &[0; 9]).as_slice(), &[0x3c, 0, 9, 9][..length]].concat();
            assert_eq!(Records::new(&bytes).count(), 1);
        }
    }
}
