//! BER as LDAP uses it (RFC 4511, 5.1): tags of one byte, lengths that are definite.

use super::failure::Failure;

pub(crate) const BOOLEAN: u8 = 0x01;
pub(crate) const INTEGER: u8 = 0x02;
pub(crate) const OCTETS: u8 = 0x04;
pub(crate) const ENUMERATED: u8 = 0x0a;
pub(crate) const SEQUENCE: u8 = 0x30;
pub(crate) const SET: u8 = 0x31;

/// One element: its tag, its length and its content.
pub(crate) fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(content.len() + 6);
    bytes.push(tag);
    let length = content.len() as u64;
    match length {
        0..0x80 => bytes.push(length as u8),
        _ => {
            let all = length.to_be_bytes();
            let from = all.iter().position(|byte| *byte != 0).unwrap_or_default();
            bytes.push(0x80 | (all.len() - from) as u8);
            bytes.extend(&all[from..]);
        }
    }
    bytes.extend(content);
    bytes
}

/// An element that is made of others.
pub(crate) fn of(tag: u8, parts: &[Vec<u8>]) -> Vec<u8> {
    element(tag, &parts.concat())
}

/// A number that is not negative.
pub(crate) fn number(tag: u8, value: u32) -> Vec<u8> {
    let all = u64::from(value).to_be_bytes();
    // The first bit is the sign.
    let from = (0..all.len() - 1).find(|at| all[*at] != 0 || all[at + 1] >= 0x80).unwrap_or(all.len() - 1);
    element(tag, &all[from..])
}

/// Elements, one after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Elements<'b>(pub(crate) &'b [u8]);

impl<'b> Elements<'b> {
    /// The tag of the next one.
    pub(crate) fn tag(&self) -> Option<u8> {
        self.0.first().copied()
    }

    /// The next one, with its tag.
    pub(crate) fn any(&mut self) -> Result<(u8, &'b [u8]), Failure> {
        let broken = Failure::Garbled("an element that does not end");
        let (tag, rest) = self.0.split_first().ok_or(broken.clone())?;
        let (head, length) = length(rest)?.ok_or(broken.clone())?;
        let content = rest.get(head..).and_then(|rest| rest.get(..length)).ok_or(broken)?;
        self.0 = &rest[head + length..];
        Ok((*tag, content))
    }

    /// The content of the next one, which has this tag.
    pub(crate) fn next(&mut self, tag: u8) -> Result<&'b [u8], Failure> {
        match self.any()? {
            (found, content) if found == tag => Ok(content),
            _ => Err(Failure::Garbled("an element of another kind")),
        }
    }

    /// A number that is not negative.
    pub(crate) fn number(&mut self, tag: u8) -> Result<u32, Failure> {
        let content = self.next(tag)?;
        match content.first() {
            None | Some(0x80..) => Err(Failure::Garbled("a number that is none")),
            _ => content.iter().try_fold(0_u32, |all, byte| {
                let all = all.checked_mul(0x100).ok_or(Failure::Garbled("a number that is too large"))?;
                Ok(all | u32::from(*byte))
            }),
        }
    }

    /// A text.
    pub(crate) fn text(&mut self, tag: u8) -> Result<&'b str, Failure> {
        std::str::from_utf8(self.next(tag)?).map_err(|_| Failure::Garbled("a text that is not UTF-8"))
    }

    /// Whether there are no more.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// How many bytes a length takes, and what it is; none where its bytes are not all there.
pub(crate) fn length(bytes: &[u8]) -> Result<Option<(usize, usize)>, Failure> {
    let Some((first, rest)) = bytes.split_first() else { return Ok(None) };
    let count = usize::from(first & 0x7f);
    match first {
        0..=0x7f => Ok(Some((1, count))),
        0x81..=0x84 => Ok(rest
            .get(..count)
            .map(|bytes| (1 + count, bytes.iter().fold(0, |all, byte| all << 8 | usize::from(*byte))))),
        _ => Err(Failure::Garbled("a length that is none")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for size in [0, 1, 127, 128, 255, 256, 65_535, 65_536] {
            let content = vec![7; size];
            let bytes = element(OCTETS, &content);
            let mut elements = Elements(&bytes);
            assert_eq!(elements.next(OCTETS).unwrap(), content);
            assert!(elements.is_empty());
        }
        for value in [0, 1, 127, 128, 255, 256, 32_767, 32_768, u32::MAX] {
            assert_eq!(Elements(&number(INTEGER, value)).number(INTEGER), Ok(value));
        }
        assert_eq!(number(INTEGER, 128), [2, 2, 0, 128]);
    }

    proptest! {
        #[test]
        fn no_bytes_break_the_reader(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let mut elements = Elements(&bytes);
            let mut left = bytes.len();
            while !elements.is_empty() && elements.any().is_ok() {
                prop_assert!(elements.0.len() < left);
                left = elements.0.len();
            }
            let _ = (Elements(&bytes).number(INTEGER), Elements(&bytes).text(OCTETS));
        }
    }
}
