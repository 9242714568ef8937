//! What a visit of a page leaves for the next one: enough to ask for it only if it has changed, and to see whether it did.

use ingather_model::limits::{MEMO_BYTES_MAX, WEB_VALIDATOR_BYTES_MAX};

/// What is remembered of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memo {
    /// Its `ETag`, as the server wrote it.
    pub etag: Option<String>,
    /// Its `Last-Modified`, as the server wrote it.
    pub last_modified: Option<String>,
    /// Digest of its content, for servers that know neither.
    pub digest: Option<[u8; 32]>,
    /// Status of its last answer.
    pub status: u16,
    /// Digest of what its links were judged by.
    pub basis: [u64; 4],
    /// Since when its content is as it is, as its source said when it was first seen so; milliseconds since 1970.
    pub modified: Option<i64>,
    /// After which time it says that it will have changed, milliseconds: feeds say so.
    pub changes_in_ms: Option<i64>,
    /// When the first of the things in it will have changed that were to change yet when it was read; milliseconds since 1970.
    pub changes_at: Option<i64>,
}

/// First byte of a memo; another one is of another version, and says nothing.
const VERSION: u8 = 4;

impl Memo {
    /// In bytes, as the next visit gets it. A validator that is too long is left out: the page is then asked for without a condition.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        bytes.extend_from_slice(&self.status.to_le_bytes());
        self.basis.iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
        let digest = self.digest.as_ref().map_or(&[][..], |digest| digest.as_slice());
        let times = [self.modified, self.changes_in_ms, self.changes_at];
        let times = times.map(|time| time.map(i64::to_le_bytes));
        let times = times.each_ref().map(|time| time.as_ref().map_or(&[][..], |time| time.as_slice()));
        let texts = [digest, validator(&self.etag), validator(&self.last_modified)];
        for part in texts.into_iter().chain(times) {
            let length = u16::try_from(part.len()).expect("a part is shorter than the whole may be");
            bytes.extend_from_slice(&length.to_le_bytes());
            bytes.extend_from_slice(part);
        }
        debug_assert!(bytes.len() <= MEMO_BYTES_MAX);
        bytes
    }

    /// From bytes; none when they are of another version, damaged, or nothing at all.
    pub fn decode(bytes: &[u8]) -> Option<Memo> {
        let rest = bytes.strip_prefix(&[VERSION])?;
        let (status, mut rest) = rest.split_first_chunk::<2>()?;
        let mut basis = [0; 4];
        for word in &mut basis {
            let (bytes, behind) = rest.split_first_chunk::<8>()?;
            (*word, rest) = (u64::from_le_bytes(*bytes), behind);
        }
        let mut part = || {
            let (length, behind) = rest.split_first_chunk::<2>()?;
            let (part, behind) = behind.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
            rest = behind;
            Some(part)
        };
        let (digest, etag, last_modified) = (part()?, part()?, part()?);
        let mut time = || {
            let bytes = part()?;
            Some(match bytes.len() {
                0 => None,
                _ => Some(i64::from_le_bytes(bytes.try_into().ok()?)),
            })
        };
        let (modified, changes_in_ms, changes_at) = (time()?, time()?, time()?);
        let digest = match digest.len() {
            0 => None,
            _ => Some(<[u8; 32]>::try_from(digest).ok()?),
        };
        if !rest.is_empty() {
            return None;
        }
        Some(Memo {
            etag: text(etag)?,
            last_modified: text(last_modified)?,
            digest,
            status: u16::from_le_bytes(*status),
            basis,
            modified,
            changes_in_ms,
            changes_at,
        })
    }
}

fn validator(value: &Option<String>) -> &[u8] {
    let fits = value.as_deref().filter(|value| value.len() <= WEB_VALIDATOR_BYTES_MAX && can_be_sent(value));
    fits.unwrap_or_default().as_bytes()
}

/// Whether it may stand in a header of a request.
fn can_be_sent(value: &str) -> bool {
    value.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

/// A validator; the outer none when it is none that was ever written.
fn text(bytes: &[u8]) -> Option<Option<String>> {
    let text = std::str::from_utf8(bytes).ok().filter(|text| can_be_sent(text))?;
    Some((!text.is_empty()).then(|| text.to_owned()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_longest_memo_keeps_to_its_bound() {
        let longest = "a".repeat(WEB_VALIDATOR_BYTES_MAX);
        let memo = Memo {
            etag: Some(longest.clone()),
            last_modified: Some(longest.clone()),
            digest: Some([7; 32]),
            status: 200,
            basis: [u64::MAX; 4],
            modified: Some(i64::MIN),
            changes_in_ms: Some(i64::MAX),
            changes_at: Some(i64::MAX),
        };
        assert!(memo.encode().len() <= MEMO_BYTES_MAX);
        assert_eq!(Memo::decode(&memo.encode()), Some(memo.clone()));
        let longer = Memo { etag: Some(longest + "a"), ..memo.clone() };
        assert_eq!(Memo::decode(&longer.encode()), Some(Memo { etag: None, ..memo }));
    }

    #[test]
    fn what_cannot_stand_in_a_header_is_not_remembered() {
        for etag in ["\"a\"\r\nX: y", "\"\u{e9}\"", "\0"] {
            let memo = Memo { etag: Some(etag.into()), ..Memo::default() };
            assert_eq!(Memo::decode(&memo.encode()).unwrap().etag, None, "{etag:?}");
        }
    }

    #[test]
    fn a_memo_that_is_damaged_says_nothing() {
        let memo = Memo {
            etag: Some("\"a\"".into()),
            digest: Some([7; 32]),
            status: 200,
            basis: [1, 2, 3, 4],
            ..Memo::default()
        };
        let whole = memo.encode();
        for length in 0..whole.len() {
            assert_eq!(Memo::decode(&whole[..length]), None, "{length}");
        }
        assert_eq!(Memo::decode(&[whole.as_slice(), b"x"].concat()), None);
        let mut other = whole.clone();
        other[0] = VERSION + 1;
        assert_eq!(Memo::decode(&other), None);
        let mut injected = whole;
        let quote = injected.iter().position(|byte| *byte == b'"').unwrap();
        injected[quote] = b'\n';
        assert_eq!(Memo::decode(&injected), None);
    }

    proptest! {
        #[test]
        fn bytes_are_a_memo_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..96)) {
            let bytes = [&[VERSION][..], &bytes].concat();
            if let Some(memo) = Memo::decode(&bytes) {
                prop_assert_eq!(memo.encode(), bytes);
            }
        }

        #[test]
        fn a_memo_comes_back_as_it_was(etag in proptest::option::of("[ -~]{1,40}"), status: u16, digest: Option<[u8; 32]>, basis: [u64; 4], times: [Option<i64>; 3]) {
            let [modified, changes_in_ms, changes_at] = times;
            let memo = Memo { etag, last_modified: Some("Fri, 25 Jun 2010 15:00:00 GMT".into()), digest, status, basis, modified, changes_in_ms, changes_at };
            prop_assert_eq!(Memo::decode(&memo.encode()), Some(memo));
        }
    }
}
