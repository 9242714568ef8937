//! Keys of documents: the text that a repository gives, hashed into two numbers that keep a folder together.

use std::hash::Hasher as _;

use siphasher::sip::SipHasher24;

use crate::ids::Digest;

/// Keyed hash of everything that comes from outside; the key belongs to the store, so that nobody can craft collisions.
#[derive(Clone, Copy)]
pub struct Hasher {
    secret: [u8; 16],
}

/// Where a document stands in the inventory (design store 2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocumentKey {
    /// Hash of the part that the connector names as parent (folder, prefix, container).
    pub parent_hash: i64,
    /// Hash of the whole text.
    pub key_hash: i64,
}

impl DocumentKey {
    /// Before every document: where a walk in key order begins.
    pub const BEFORE_ALL: DocumentKey = DocumentKey { parent_hash: i64::MIN, key_hash: i64::MIN };
}

/// What a source says about a version: opaque, equal means unchanged, [`Stamp::NONE`] means "cannot be told".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stamp(pub [u64; 4]);

impl Stamp {
    /// No statement: the document is read again in the next run (design 4.5, racy versions).
    pub const NONE: Stamp = Stamp([0; 4]);

    /// A stamp of a textual version such as an entity tag.
    pub fn of(bytes: &[u8]) -> Stamp {
        let hash = blake3::hash(bytes);
        let mut words = [0u64; 4];
        for (word, part) in words.iter_mut().zip(hash.as_bytes().chunks_exact(8)) {
            let mut eight = [0u8; 8];
            eight.copy_from_slice(part);
            *word = u64::from_le_bytes(eight);
        }
        Stamp(words)
    }
}

/// Bytes of the parent part of a name whose folders are parted by slashes: up to its last slash, which belongs to it.
pub fn parent_bytes(name: &str) -> usize {
    name.rfind('/').map_or(0, |slash| slash + 1)
}

impl Hasher {
    /// A hasher with the store's secret of 16 bytes.
    pub fn new(secret: [u8; 16]) -> Hasher {
        Hasher { secret }
    }

    /// Hash of a text: the same for equal bytes in one store, unrelated elsewhere.
    pub fn hash(&self, bytes: &[u8]) -> i64 {
        let mut sip = SipHasher24::new_with_key(&self.secret);
        sip.write(bytes);
        sip.finish() as i64
    }

    /// The key of `text`, whose first `parent_bytes` bytes are its parent part.
    ///
    /// # Panics
    /// When `parent_bytes` is beyond the end of `text`: a connector's mistake, caught by its suite.
    pub fn key(&self, text: &str, parent_bytes: usize) -> DocumentKey {
        DocumentKey {
            parent_hash: self.hash(&text.as_bytes()[..parent_bytes]),
            key_hash: self.hash(text.as_bytes()),
        }
    }

    /// Hashes of an address's parent and of the address: entries of one folder are next to each other in the delivery log.
    pub fn address(&self, uri: &str) -> (i64, i64) {
        (self.hash(&uri.as_bytes()[..parent_bytes(uri)]), self.hash(uri.as_bytes()))
    }

    /// Digest of a version under its key: another text under the same key never looks unchanged (design store 2.1).
    ///
    /// [`Digest::NONE`] for [`Stamp::NONE`].
    pub fn version(&self, key_hash: i64, stamp: &Stamp) -> Digest {
        if *stamp == Stamp::NONE {
            return Digest::NONE;
        }
        // One piece: the hash is fast in itself, and each piece costs as much again.
        let mut bytes = [0u8; 40];
        // `key_hash` already stands for the key text under the same secret.
        let words = [key_hash as u64, stamp.0[0], stamp.0[1], stamp.0[2], stamp.0[3]];
        for (eight, word) in bytes.chunks_exact_mut(8).zip(words) {
            eight.copy_from_slice(&word.to_le_bytes());
        }
        Digest(self.hash(&bytes)).or_one()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_keeps_its_documents_together() {
        let hasher = Hasher::new([7; 16]);
        let a = hasher.key("notes/a.txt", 6);
        let b = hasher.key("notes/b.txt", 6);
        assert_eq!(a.parent_hash, b.parent_hash);
        assert_ne!(a.key_hash, b.key_hash);
        assert_ne!(hasher.key("a.txt", 0).parent_hash, a.parent_hash);
    }

    #[test]
    fn a_version_belongs_to_its_key_and_none_equals_nothing() {
        let hasher = Hasher::new([7; 16]);
        let stamp = Stamp::of(b"etag");
        assert_ne!(hasher.version(1, &stamp), hasher.version(2, &stamp));
        assert!(!hasher.version(1, &Stamp::NONE).same(hasher.version(1, &Stamp::NONE)));
        assert!(hasher.version(1, &stamp).same(hasher.version(1, &stamp)));
    }

    /// Stored versions are compared for years: another digest would have everything read and sent again.
    #[test]
    fn a_version_stays_what_it_was() {
        let mut sip = SipHasher24::new_with_key(&[7; 16]);
        for word in [5u64, 1, 2, 3, 4] {
            sip.write(&word.to_le_bytes());
        }
        assert_eq!(Hasher::new([7; 16]).version(5, &Stamp([1, 2, 3, 4])), Digest(sip.finish() as i64));
    }

    proptest::proptest! {
        /// Of what people and files name, equal texts alone have equal keys, and only a common parent keeps them together.
        #[test]
        fn keys_are_equal_for_equal_texts_alone(one in "[ab/\\\\é\n]{0,6}", other in "[ab/\\\\é\n]{0,6}") {
            let hasher = Hasher::new([7; 16]);
            let (a, b) = (hasher.key(&one, parent_bytes(&one)), hasher.key(&other, parent_bytes(&other)));
            proptest::prop_assert_eq!(a.key_hash == b.key_hash, one == other);
            proptest::prop_assert_eq!(a.parent_hash == b.parent_hash, one[..parent_bytes(&one)] == other[..parent_bytes(&other)]);
            let stamp = Stamp::of(one.as_bytes());
            let same = hasher.version(a.key_hash, &stamp).same(hasher.version(b.key_hash, &stamp));
            proptest::prop_assert_eq!(same, one == other);
        }
    }

    #[test]
    fn another_secret_gives_other_hashes() {
        assert_ne!(Hasher::new([1; 16]).hash(b"x"), Hasher::new([2; 16]).hash(b"x"));
    }
}
