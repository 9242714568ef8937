//! What protects documents: digests, keys and ciphers, only for opening.

use aes::cipher::{Array, BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use aes::{Aes128, Aes192, Aes256};
use hmac::{Hmac, Mac};
use md5::Md5;
use sha1::Sha1;
use sha2::digest::Digest;
use sha2::{Sha256, Sha384, Sha512};

/// Bytes of a block of AES.
pub(crate) const BLOCK_BYTES: usize = 16;

/// A digest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Hash {
    Md5,
    Sha1,
    Sha256,
    Sha384,
    Sha512,
}

impl Hash {
    /// By the name that documents give it.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name.to_ascii_uppercase().replace('-', "").as_str() {
            "MD5" => Self::Md5,
            "SHA1" => Self::Sha1,
            "SHA256" => Self::Sha256,
            "SHA384" => Self::Sha384,
            "SHA512" => Self::Sha512,
            _ => return None,
        })
    }

    /// The digest of all pieces together.
    pub(crate) fn of(self, pieces: &[&[u8]]) -> Vec<u8> {
        fn all<D: Digest>(pieces: &[&[u8]]) -> Vec<u8> {
            pieces.iter().fold(D::new(), |digest, piece| digest.chain_update(piece)).finalize().to_vec()
        }
        match self {
            Self::Md5 => all::<Md5>(pieces),
            Self::Sha1 => all::<Sha1>(pieces),
            Self::Sha256 => all::<Sha256>(pieces),
            Self::Sha384 => all::<Sha384>(pieces),
            Self::Sha512 => all::<Sha512>(pieces),
        }
    }
}

/// A key out of a password, by PBKDF2 with HMAC and SHA-1.
pub(crate) fn derive(password: &[u8], salt: &[u8], rounds: u32, length: usize) -> Vec<u8> {
    let mac = |pieces: &[&[u8]]| -> Vec<u8> {
        // A key of any length is fine.
        let Ok(mac) = <Hmac<Sha1> as KeyInit>::new_from_slice(password) else { return Vec::new() };
        pieces.iter().fold(mac, |mac, piece| mac.chain_update(piece)).finalize().into_bytes().to_vec()
    };
    let mut key = Vec::new();
    for block in 1u32.. {
        if key.len() >= length {
            break;
        }
        let mut last = mac(&[salt, &block.to_be_bytes()]);
        let mut sum = last.clone();
        for _ in 1..rounds {
            last = mac(&[&last]);
            sum.iter_mut().zip(&last).for_each(|(sum, last)| *sum ^= last);
        }
        key.extend(sum);
    }
    key.truncate(length);
    key
}

/// AES with a key of 128, 192 or 256 bits.
pub(crate) enum Aes {
    Short(Box<Aes128>),
    Middle(Box<Aes192>),
    Long(Box<Aes256>),
}

impl Aes {
    pub(crate) fn new(key: &[u8]) -> Option<Self> {
        Some(match key.len() {
            16 => Self::Short(Box::new(Aes128::new_from_slice(key).ok()?)),
            24 => Self::Middle(Box::new(Aes192::new_from_slice(key).ok()?)),
            32 => Self::Long(Box::new(Aes256::new_from_slice(key).ok()?)),
            _ => return None,
        })
    }

    /// Decrypts one block.
    fn decrypt(&self, block: [u8; BLOCK_BYTES]) -> [u8; BLOCK_BYTES] {
        let mut block = Array::from(block);
        match self {
            Self::Short(key) => key.decrypt_block(&mut block),
            Self::Middle(key) => key.decrypt_block(&mut block),
            Self::Long(key) => key.decrypt_block(&mut block),
        }
        block.into()
    }

    /// Encrypts one block, for ciphers that make a stream of it.
    pub(crate) fn encrypt(&self, block: [u8; BLOCK_BYTES]) -> [u8; BLOCK_BYTES] {
        let mut block = Array::from(block);
        match self {
            Self::Short(key) => key.encrypt_block(&mut block),
            Self::Middle(key) => key.encrypt_block(&mut block),
            Self::Long(key) => key.encrypt_block(&mut block),
        }
        block.into()
    }

    /// Blocks that are encrypted each for itself, or chained when there is a first vector. What is no whole block is left out.
    pub(crate) fn open(&self, bytes: &[u8], first: Option<&[u8]>) -> Vec<u8> {
        let mut before = [0u8; BLOCK_BYTES];
        if let Some(first) = first {
            before.iter_mut().zip(first).for_each(|(to, from)| *to = *from);
        }
        let mut out = Vec::with_capacity(bytes.len());
        for block in bytes.as_chunks::<BLOCK_BYTES>().0 {
            let mut plain = self.decrypt(*block);
            if first.is_some() {
                plain.iter_mut().zip(&before).for_each(|(plain, before)| *plain ^= before);
                before = *block;
            }
            out.extend(plain);
        }
        out
    }
}

/// RC4, which is a stream of bytes.
pub(crate) struct Rc4 {
    state: [u8; 256],
    i: u8,
    j: u8,
}

impl Rc4 {
    pub(crate) fn new(key: &[u8]) -> Self {
        let mut state = std::array::from_fn(|at| at as u8);
        let mut j = 0u8;
        for at in 0..256 {
            j = j.wrapping_add(state[at]).wrapping_add(key.get(at % key.len().max(1)).copied().unwrap_or(0));
            state.swap(at, usize::from(j));
        }
        Self { state, i: 0, j: 0 }
    }

    /// The next byte of the stream.
    pub(crate) fn next(&mut self) -> u8 {
        self.i = self.i.wrapping_add(1);
        self.j = self.j.wrapping_add(self.state[usize::from(self.i)]);
        self.state.swap(usize::from(self.i), usize::from(self.j));
        let sum = self.state[usize::from(self.i)].wrapping_add(self.state[usize::from(self.j)]);
        self.state[usize::from(sum)]
    }

    pub(crate) fn apply(&mut self, bytes: &mut [u8]) {
        bytes.iter_mut().for_each(|byte| *byte ^= self.next());
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Blocks in a chain, encrypted; what is no whole block is filled up.
    pub(crate) fn seal(key: &[u8], first: &[u8], bytes: &[u8]) -> Vec<u8> {
        let aes = Aes::new(key).unwrap();
        let mut before: [u8; BLOCK_BYTES] = first.try_into().unwrap();
        let mut out = Vec::new();
        for piece in bytes.chunks(BLOCK_BYTES) {
            let mut block = before;
            block.iter_mut().zip(piece).for_each(|(block, byte)| *block ^= byte);
            before = aes.encrypt(block);
            out.extend(before);
        }
        out
    }

    fn hex(text: &str) -> Vec<u8> {
        text.as_bytes()
            .chunks(2)
            .map(|two| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap())
            .collect()
    }

    #[test]
    fn ciphers_and_keys_agree_with_their_published_vectors() {
        // FIPS 197, appendix C.1.
        let aes = Aes::new(&hex("000102030405060708090a0b0c0d0e0f")).unwrap();
        let (plain, sealed) =
            (hex("00112233445566778899aabbccddeeff"), hex("69c4e0d86a7b0430d8cdb78070b4c55a"));
        assert_eq!(aes.open(&sealed, None), plain);
        assert_eq!(aes.encrypt(plain.clone().try_into().unwrap()).to_vec(), sealed);
        // With a chain the first vector is part of the first block.
        assert_eq!(aes.open(&sealed, Some(&plain)), vec![0; 16]);
        // RFC 6229, key of 40 bits.
        let mut stream = Rc4::new(&hex("0102030405"));
        assert_eq!((0..8).map(|_| stream.next()).collect::<Vec<_>>(), hex("b2396305f03dc027"));
        // RFC 6070.
        assert_eq!(derive(b"password", b"salt", 2, 20), hex("ea6c014dc72d6f8ccd1ed92ace1d41f0d8de8957"));
        assert_eq!(
            derive(b"password", b"salt", 1, 25)[..20],
            hex("0c60c80f961f0e71f3a9b524af6012062fe037a6")
        );
        assert_eq!(
            Hash::named("SHA-1").unwrap().of(&[b"a", b"bc"]),
            hex("a9993e364706816aba3e25717850c26c9cd0d89d")
        );
    }
}
