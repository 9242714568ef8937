//! Members of ZIP files that a password protects: by the old cipher of PKZIP, or by AES as WinZip does.

use std::io::{self, Read};

use super::{extra_field, u16_at};
use crate::cipher::{Aes, BLOCK_BYTES, derive};

/// Bytes of the head that the old cipher puts before a member.
const HEAD_BYTES: usize = 12;
/// Rounds by which a key of AES is derived.
const ROUNDS: u32 = 1_000;
/// Bytes by which a wrong password is told, and of the digest at the end.
const CHECK_BYTES: usize = 2;
const DIGEST_BYTES: u64 = 10;

/// What is said when no password fits.
pub(super) const PROTECTED: &str = "it is protected by a password";

/// How AES was used: bytes of the key, and how the member was packed before.
#[derive(Clone, Copy)]
pub(super) struct Strong {
    key_bytes: usize,
    pub(super) method: u16,
}

impl Strong {
    /// From the extra fields of a member.
    pub(super) fn read(extras: &[u8]) -> Option<Self> {
        let field = extra_field(extras, 0x9901)?;
        let key_bytes = match field.get(4)? {
            1 => 16,
            2 => 24,
            3 => 32,
            _ => return None,
        };
        Some(Self { key_bytes, method: u16_at(field, 5) as u16 })
    }
}

/// The bytes of a member, opened by the first password that fits.
pub(super) enum Opened<R> {
    Old(R, Box<OldKeys>),
    /// The stream of AES is used up from its end on.
    Strong(io::Take<R>, Box<Counter>),
}

/// Opens a member of `packed` bytes; `check` is the byte by which the old cipher tells a wrong password.
pub(super) fn open<R: Read>(
    mut raw: R,
    packed: Option<u64>,
    strong: Option<Strong>,
    check: u8,
    passwords: &[String],
) -> io::Result<Opened<R>> {
    let protected = || io::Error::other(PROTECTED);
    if passwords.is_empty() {
        return Err(protected());
    }
    let Some(strong) = strong else {
        let mut head = [0; HEAD_BYTES];
        raw.read_exact(&mut head)?;
        let keys = passwords.iter().find_map(|password| {
            let mut keys = OldKeys::new(password.as_bytes());
            let plain = head.map(|byte| keys.open(byte));
            (plain[HEAD_BYTES - 1] == check).then_some(keys)
        });
        return Ok(Opened::Old(raw, Box::new(keys.ok_or_else(protected)?)));
    };
    let mut salt = vec![0; strong.key_bytes / 2];
    raw.read_exact(&mut salt)?;
    let mut wanted = [0; CHECK_BYTES];
    raw.read_exact(&mut wanted)?;
    let key = passwords.iter().find_map(|password| {
        let keys = derive(password.as_bytes(), &salt, ROUNDS, strong.key_bytes * 2 + CHECK_BYTES);
        keys.ends_with(&wanted).then(|| keys[..strong.key_bytes].to_vec())
    });
    let aes = Aes::new(&key.ok_or_else(protected)?).ok_or_else(protected)?;
    let around = salt.len() as u64 + CHECK_BYTES as u64 + DIGEST_BYTES;
    let content = packed.map_or(u64::MAX, |packed| packed.saturating_sub(around));
    Ok(Opened::Strong(
        raw.take(content),
        Box::new(Counter { aes, number: 0, block: [0; BLOCK_BYTES], at: BLOCK_BYTES }),
    ))
}

impl<R: Read> Read for Opened<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Old(raw, keys) => {
                let length = raw.read(buffer)?;
                buffer[..length].iter_mut().for_each(|byte| *byte = keys.open(*byte));
                Ok(length)
            }
            Self::Strong(raw, counter) => {
                let length = raw.read(buffer)?;
                buffer[..length].iter_mut().for_each(|byte| *byte ^= counter.next());
                Ok(length)
            }
        }
    }
}

/// A stream of bytes out of AES: numbers from one on, encrypted.
pub(super) struct Counter {
    aes: Aes,
    number: u128,
    block: [u8; BLOCK_BYTES],
    at: usize,
}

impl Counter {
    fn next(&mut self) -> u8 {
        if self.at == BLOCK_BYTES {
            self.number += 1;
            self.block = self.aes.encrypt(self.number.to_le_bytes());
            self.at = 0;
        }
        self.at += 1;
        self.block[self.at - 1]
    }
}

/// The three keys of the old cipher, which change with each byte.
pub(super) struct OldKeys([u32; 3]);

impl OldKeys {
    fn new(password: &[u8]) -> Self {
        let mut keys = Self([0x1234_5678, 0x2345_6789, 0x3456_7890]);
        password.iter().for_each(|byte| keys.update(*byte));
        keys
    }

    fn update(&mut self, byte: u8) {
        let [first, second, third] = &mut self.0;
        *first = checksum(*first, byte);
        *second = second.wrapping_add(*first & 0xff).wrapping_mul(134_775_813).wrapping_add(1);
        *third = checksum(*third, (*second >> 24) as u8);
    }

    fn open(&mut self, byte: u8) -> u8 {
        let mask = self.0[2] | 2;
        let plain = byte ^ (mask.wrapping_mul(mask ^ 1) >> 8) as u8;
        self.update(plain);
        plain
    }
}

/// One step of CRC-32.
fn checksum(sum: u32, byte: u8) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut at = 0;
        while at < 256 {
            let (mut sum, mut bit) = (at as u32, 0);
            while bit < 8 {
                sum = sum >> 1 ^ if sum & 1 == 1 { 0xedb8_8320 } else { 0 };
                bit += 1;
            }
            table[at] = sum;
            at += 1;
        }
        table
    };
    sum >> 8 ^ TABLE[usize::from(sum as u8 ^ byte)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::tests::opens;

    /// A file with one member that is stored and protected, of a method with these extra fields.
    fn archive(method: u16, extras: &[u8], content: &[u8]) -> Vec<u8> {
        let size = (content.len() as u32).to_le_bytes();
        let shared = [
            &[20, 0, 1, 0],
            method.to_le_bytes().as_slice(),
            &[0, 0, 0, 0, 0, 0, 0, 0xab],
            &size,
            &size,
            &[5, 0],
            &(extras.len() as u16).to_le_bytes(),
        ]
        .concat();
        let mut bytes = [b"PK\x03\x04", shared.as_slice(), b"a.txt", extras, content].concat();
        let at = bytes.len() as u32;
        let entry = [b"PK\x01\x02\x14\0", shared.as_slice(), &[0; 14], b"a.txt", extras].concat();
        bytes.extend(&entry);
        bytes.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
        bytes.extend((entry.len() as u32).to_le_bytes());
        bytes.extend(at.to_le_bytes());
        bytes.extend([0, 0]);
        bytes
    }

    #[test]
    fn members_are_opened_by_their_password() {
        // The old cipher; its head ends with the upper byte of the checksum.
        let mut keys = OldKeys::new(b"key");
        let plain = [&[1; 11], [0xab].as_slice(), b"secret words"].concat();
        let sealed = plain.iter().map(|byte| {
            let mask = keys.0[2] | 2;
            keys.update(*byte);
            byte ^ (mask.wrapping_mul(mask ^ 1) >> 8) as u8
        });
        let page = opens("a.zip", &archive(0, &[], &sealed.collect::<Vec<u8>>()), "key");
        assert_eq!(page.parts[0].text, "secret words");

        let (salt, mut words) = ([4u8; 16], *b"secret words, and more than one block");
        let keys = derive(b"key", &salt, ROUNDS, 66);
        let aes = Aes::new(&keys[..32]).unwrap();
        let mut counter = Counter { aes, number: 0, block: [0; 16], at: 16 };
        words.iter_mut().for_each(|byte| *byte ^= counter.next());
        let content = [&salt, &keys[64..], &words, &[0; 10]].concat();
        let extras = [1, 0x99, 7, 0, 2, 0, b'A', b'E', 3, 0, 0];
        let page = opens("a.zip", &archive(99, &extras, &content), "key");
        assert_eq!(page.parts[0].text, "secret words, and more than one block");
    }
}
