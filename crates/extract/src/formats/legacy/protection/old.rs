//! Protection of the formats before 2007: a stream of bytes by RC4, begun anew every so often, or a pattern of sixteen bytes.

use crate::cipher::{Hash, Rc4};

use super::super::{u16_at, u32_at};

/// A key that a password opened.
pub(in super::super) enum Key {
    /// Five bytes, digested with MD5.
    Short(Vec<u8>),
    /// A digest with SHA-1, and how many bytes of it make a key.
    Long(Vec<u8>, usize),
    /// A pattern that is repeated.
    Pattern([u8; 16]),
}

impl Key {
    /// The key of a header, if the password is its own. The header begins with the version of its way to encrypt.
    pub(in super::super) fn open(header: &[u8], password: &[u8]) -> Option<Self> {
        match (u16_at(header, 0), u16_at(header, 2)) {
            (1, 1) => {
                let (salt, digest) = (header.get(4..20)?, Hash::Md5.of(&[password]));
                let mixed: Vec<&[u8]> = std::iter::repeat_n([&digest[..5], salt], 16).flatten().collect();
                let key = Self::Short(Hash::Md5.of(&mixed)[..5].to_vec());
                key.fits(header.get(20..52)?, Hash::Md5).then_some(key)
            }
            (2..=4, 2) => {
                let length = u32_at(header, 8) as usize;
                let bits = match u32_at(header, 12 + 16) {
                    0 => 40,
                    bits => bits,
                };
                let verifier = header.get(12usize.checked_add(length)?..)?;
                let (salt, rest) = (verifier.get(4..20)?, verifier.get(20..60)?);
                let sealed = [&rest[..16], &rest[20..40]].concat();
                let key = Self::Long(Hash::Sha1.of(&[salt, password]), bits as usize / 8);
                key.fits(&sealed, Hash::Sha1).then_some(key)
            }
            _ => None,
        }
    }

    /// The key by the pattern of a password, if it is that of this key and digest.
    pub(in super::super) fn pattern(password: &[u8], key: u16, digest: u16) -> Option<Self> {
        // Of each character the lower byte, or the upper one.
        let narrow = |two: &[u8]| if two[0] == 0 { two[1] } else { two[0] };
        let password: Vec<u8> = password.chunks_exact(2).map(narrow).take(15).collect();
        (pattern_digest(&password) == digest).then(|| Self::Pattern(pattern(&password, key)))
    }

    /// Whether a verifier and its digest, encrypted one after the other, agree.
    fn fits(&self, sealed: &[u8], hash: Hash) -> bool {
        let mut plain = sealed.to_vec();
        let Some(mut stream) = self.stream(0) else { return false };
        stream.apply(&mut plain);
        let (verifier, digest) = plain.split_at(16);
        hash.of(&[verifier]) == digest
    }

    /// The stream of a block.
    fn stream(&self, block: u32) -> Option<Rc4> {
        let block = block.to_le_bytes();
        match self {
            Self::Short(key) => Some(Rc4::new(&Hash::Md5.of(&[key, &block]))),
            Self::Long(digest, bytes) => {
                let mut key = Hash::Sha1.of(&[digest, &block]);
                key.truncate(*bytes);
                // Keys of forty bits are filled up.
                key.resize(if *bytes == 5 { 16 } else { key.len() }, 0);
                Some(Rc4::new(&key))
            }
            Self::Pattern(_) => None,
        }
    }

    /// Decrypts the bytes of a stream that are not clear; the stream of the cipher begins anew every `block_bytes`.
    pub(in super::super) fn apply(
        &self,
        bytes: &mut [u8],
        block_bytes: usize,
        is_clear: impl Fn(usize) -> bool,
    ) {
        for (block, number) in bytes.chunks_mut(block_bytes).zip(0u32..) {
            let Some(mut stream) = self.stream(number) else { return };
            for (at, byte) in block.iter_mut().enumerate() {
                let mask = stream.next();
                if !is_clear(number as usize * block_bytes + at) {
                    *byte ^= mask;
                }
            }
        }
    }

    /// Decrypts the bytes of a record of a workbook by a pattern, from `first` on: they begin at `place` of the stream.
    pub(in super::super) fn unmask(&self, record: &mut [u8], place: usize, first: usize) {
        let Self::Pattern(pattern) = self else { return };
        let begin = place + record.len();
        for (at, byte) in record.iter_mut().enumerate().skip(first) {
            *byte = byte.rotate_left(3) ^ pattern[(begin + at) % 16];
        }
    }
}

/// What Excel keeps to tell whether a password is the right one ([MS-OFFCRYPTO] 2.3.7.1).
fn pattern_digest(password: &[u8]) -> u16 {
    let length = password.len() as u8;
    let turned = |digest: u16| (digest >> 14) & 1 | (digest << 1) & 0x7fff;
    let digest = password.iter().rev().fold(0u16, |digest, byte| turned(digest ^ u16::from(*byte)));
    digest ^ u16::from(length) ^ 0xce4b
}

const PADDING: [u8; 15] =
    [0xbb, 0xff, 0xff, 0xba, 0xff, 0xff, 0xb9, 0x80, 0x00, 0xbe, 0x0f, 0x00, 0xbf, 0x0f, 0x00];

/// The sixteen bytes of a pattern ([MS-OFFCRYPTO] 2.3.7.2).
fn pattern(password: &[u8], key: u16) -> [u8; 16] {
    let filled: Vec<u8> = password.iter().chain(&PADDING).copied().take(16).collect();
    let key = key.to_le_bytes();
    std::array::from_fn(|at| (filled[at] ^ key[at % 2]).rotate_left(2))
}
