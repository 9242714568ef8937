//! Security identifiers: bytes in the directory (MS-DTYP, 2.4.2.2), text as tokens.

use std::fmt::Write;

use crate::wire::failure::Failure;

/// The authority of Windows itself, and its first number for what domains give out.
const NT: u64 = 5;
const OF_A_DOMAIN: u32 = 21;
/// The last number of the account for people whom nobody knows.
const GUEST: u32 = 501;
const NUMBERS_MAX: usize = 15;

/// One that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sid {
    authority: u64,
    numbers: Vec<u32>,
}

impl Sid {
    /// Reads one, strictly: what is no SID may stand for a group that denies.
    pub(super) fn read(bytes: &[u8]) -> Result<Sid, Failure> {
        Sid::parsed(bytes).ok_or(Failure::Garbled("a security identifier that is none"))
    }

    fn parsed(bytes: &[u8]) -> Option<Sid> {
        let ([1, count, authority @ ..], rest) = bytes.split_first_chunk::<8>()? else { return None };
        let count = usize::from(*count);
        if !(1..=NUMBERS_MAX).contains(&count) || rest.len() != 4 * count {
            return None;
        }
        let numbers = rest.as_chunks::<4>().0.iter().map(|number| u32::from_le_bytes(*number)).collect();
        let authority = authority.iter().fold(0, |all, byte| all << 8 | u64::from(*byte));
        Some(Sid { authority, numbers })
    }

    /// Its bytes, as a filter compares them.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![1, self.numbers.len() as u8];
        bytes.extend(&self.authority.to_be_bytes()[2..]);
        self.numbers.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        bytes
    }

    /// Whether a domain gave it out; others are the same everywhere.
    pub(super) fn is_of_a_domain(&self) -> bool {
        self.authority == NT && self.numbers.first() == Some(&OF_A_DOMAIN)
    }

    /// Whether it is that of the account for guests.
    pub(super) fn is_guest(&self) -> bool {
        self.is_of_a_domain() && self.numbers.last() == Some(&GUEST)
    }
}

impl std::fmt::Display for Sid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // MS-DTYP, 2.4.2.1: beyond 32 bits it is hexadecimal.
        match u32::try_from(self.authority) {
            Ok(authority) => write!(f, "S-1-{authority}")?,
            Err(_) => write!(f, "S-1-0x{:012X}", self.authority)?,
        }
        self.numbers.iter().try_for_each(|number| f.write_char('-').and_then(|()| write!(f, "{number}")))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(bytes: &[u8]) -> Option<String> {
        Sid::read(bytes).ok().map(|sid| sid.to_string())
    }

    /// Bytes of what a text says, for texts with an authority of 32 bits.
    fn bytes(text: &str) -> Vec<u8> {
        let mut numbers = text.split('-').skip(2).map(|number| number.parse::<u64>().unwrap());
        let authority = numbers.next().unwrap().to_be_bytes();
        let numbers: Vec<u8> = numbers.flat_map(|number| (number as u32).to_le_bytes()).collect();
        [&[1, (numbers.len() / 4) as u8], &authority[2..], &numbers].concat()
    }

    #[test]
    fn bytes_are_read_as_windows_writes_them() {
        let ann = [1, 5, 0, 0, 0, 0, 0, 5, 21, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0x50, 4, 0, 0];
        assert_eq!(text(&ann), Some("S-1-5-21-1-2-3-1104".to_owned()));
        let everyone = [1, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0];
        assert_eq!(text(&everyone), Some("S-1-1-0".to_owned()));
        assert_eq!(
            text(&[1, 1, 1, 2, 3, 4, 5, 6, 255, 255, 255, 255]),
            Some("S-1-0x010203040506-4294967295".to_owned())
        );
        let is = |text: &str| Sid::read(&bytes(text)).unwrap();
        assert!(is("S-1-5-21-1-2-3-501").is_guest() && is("S-1-5-21-1-2-3-501").is_of_a_domain());
        assert!(!is("S-1-5-32-501").is_guest() && !is("S-1-5-32-544").is_of_a_domain());
        assert!(!is("S-1-1-21").is_of_a_domain());
    }

    #[test]
    fn what_is_no_sid_is_none() {
        let good = bytes("S-1-5-21-1-2-3-1104");
        for end in 0..good.len() {
            assert_eq!(text(&good[..end]), None, "{end} bytes");
        }
        assert_eq!(text(&[&good[..], &[0]].concat()), None, "one byte more");
        for (at, wrong) in [(0, 0), (0, 2), (1, 0), (1, 4), (1, 6), (1, 255)] {
            let mut bytes = good.clone();
            bytes[at] = wrong;
            assert_eq!(text(&bytes), None, "{wrong} at {at}");
        }
        let long = |count: u8| [&[1, count, 0, 0, 0, 0, 0, 5][..], &vec![1; 4 * usize::from(count)]].concat();
        assert!(text(&long(15)).is_some() && text(&long(16)).is_none());
        assert_eq!(text(&long(0)), None);
    }

    proptest! {
        #[test]
        fn what_is_read_is_what_was_written(authority in 0_u32.., numbers in proptest::collection::vec(0_u32.., 1..=15)) {
            let mut written = format!("S-1-{authority}");
            numbers.iter().for_each(|number| write!(written, "-{number}").unwrap());
            prop_assert_eq!(text(&bytes(&written)), Some(written));
        }

        /// None is read out of other bytes than its own.
        #[test]
        fn no_bytes_break_the_reader(bytes in proptest::collection::vec(0_u8.., 0..80)) {
            if let Ok(sid) = Sid::read(&bytes) {
                prop_assert_eq!(bytes.len(), 8 + 4 * sid.numbers.len());
                prop_assert_eq!(sid.bytes(), bytes);
            }
        }
    }
}
