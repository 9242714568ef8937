//! Office files that a password protects ([MS-OFFCRYPTO]): which password opens them, and what is in them then.

pub(super) mod old;

use crate::Options;
use crate::cipher::{Aes, BLOCK_BYTES, Hash};
use crate::decode::base64;
use crate::page::ParseError;
use crate::xml::{self, Go, Met, Tag};

use super::container::Storage;
use super::u32_at;

/// With this password Excel writes books that may be read and not be changed; it asks nobody for it.
const EXCEL_PASSWORD: &str = "VelvetSweatshop";
/// What is said when no password fits.
pub(super) const PROTECTED: &str = "it is protected by a password";
/// How often a password is digested at most; usual are 50,000 and 100,000.
const ROUNDS_MAX: u32 = 1_000_000;
/// How often Office 2007 digests a password.
const ROUNDS_2007: u32 = 50_000;
/// Bytes of a segment, each of which is encrypted for itself.
const SEGMENT_BYTES: usize = 4_096;

/// The passwords that are tried on an office file, in UTF-16 as they are digested.
pub(super) fn passwords(options: &Options) -> impl Iterator<Item = Vec<u8>> + '_ {
    let all = options.passwords.iter().map(String::as_str).chain([EXCEL_PASSWORD]);
    all.map(|password| password.encode_utf16().flat_map(u16::to_le_bytes).collect())
}

/// The package in a storage that protects one.
pub(super) fn package(storage: &Storage<'_>, options: &Options) -> Result<Vec<u8>, ParseError> {
    let about = storage.stream("EncryptionInfo").unwrap_or_default();
    let package = storage.stream("EncryptedPackage").unwrap_or_default();
    let opens: fn(&[u8], &[u8], &[u8]) -> Option<Vec<u8>> = match u32_at(&about, 0) {
        0x0004_0004 => Agile::open,
        0x0002_0002..=0x0002_0004 => standard,
        _ => return Err("unsupported: a way of encryption that is not known".into()),
    };
    let length = usize::try_from(u32_at(&package, 0)).unwrap_or(usize::MAX);
    let content = package.get(8..).unwrap_or_default();
    let mut bytes =
        passwords(options).find_map(|password| opens(&about, &password, content)).ok_or(PROTECTED)?;
    bytes.truncate(length);
    Ok(bytes)
}

/// A digest that is digested again and again, each time after its number.
fn spun(hash: Hash, begin: Vec<u8>, rounds: u32) -> Vec<u8> {
    (0..rounds).fold(begin, |digest, round| hash.of(&[&round.to_le_bytes(), &digest]))
}

/// Office 2007: AES block by block, SHA-1.
fn standard(about: &[u8], password: &[u8], content: &[u8]) -> Option<Vec<u8>> {
    let header = u32_at(about, 8) as usize;
    let key_bytes = u32_at(about, 12 + 16) as usize / 8;
    let verifier = about.get(12usize.checked_add(header)?..)?;
    let (salt, sealed, sealed_digest) = (verifier.get(4..20)?, verifier.get(20..36)?, verifier.get(40..72)?);
    let digest = spun(Hash::Sha1, Hash::Sha1.of(&[salt, password]), ROUNDS_2007);
    let digest = Hash::Sha1.of(&[&digest, &0u32.to_le_bytes()]);
    let half = |pad: u8| {
        let mut block = [pad; 64];
        block.iter_mut().zip(&digest).for_each(|(block, digest)| *block ^= digest);
        Hash::Sha1.of(&[&block])
    };
    let mut key = half(0x36);
    key.extend(half(0x5c));
    let aes = Aes::new(key.get(..key_bytes)?)?;
    let found = Hash::Sha1.of(&[&aes.open(sealed, None)]);
    (aes.open(sealed_digest, None).starts_with(&found)).then(|| aes.open(content, None))
}

/// Since Office 2010: AES in a chain, and everything else as XML says.
#[derive(Default)]
struct Agile {
    /// How the content is encrypted.
    content: Scheme,
    /// How its key is, by the password.
    password: Scheme,
    rounds: u32,
    verifier: Vec<u8>,
    verifier_digest: Vec<u8>,
    key: Vec<u8>,
}

#[derive(Default)]
struct Scheme {
    salt: Vec<u8>,
    key_bytes: usize,
    hash: Option<Hash>,
    /// Whether it is AES in a chain.
    known: bool,
}

impl Scheme {
    fn read(tag: &Tag<'_>) -> Self {
        let number = |name: &str| tag.attribute(name).and_then(|value| value.parse::<usize>().ok());
        let is = |name: &str, wanted: &str| tag.attribute(name).is_some_and(|value| value == wanted);
        Self {
            salt: base64(&tag.attribute("saltValue").unwrap_or_default()),
            key_bytes: number("keyBits").unwrap_or(0) / 8,
            hash: tag.attribute("hashAlgorithm").and_then(|name| Hash::named(&name)),
            known: is("cipherAlgorithm", "AES")
                && is("cipherChaining", "ChainingModeCBC")
                && number("blockSize") == Some(BLOCK_BYTES),
        }
    }
}

impl Agile {
    fn open(about: &[u8], password: &[u8], content: &[u8]) -> Option<Vec<u8>> {
        let agile = Self::read(about.get(8..)?);
        let Scheme { salt, key_bytes, hash: Some(hash), known: true } = &agile.password else { return None };
        if agile.rounds > ROUNDS_MAX {
            return None;
        }
        let digest = spun(*hash, hash.of(&[salt, password]), agile.rounds);
        let open = |purpose: [u8; 8], sealed: &[u8]| {
            let key = sized(hash.of(&[&digest, &purpose]), *key_bytes);
            Some(Aes::new(&key)?.open(sealed, Some(&sized(salt.clone(), BLOCK_BYTES))))
        };
        let input = open([0xfe, 0xa7, 0xd2, 0x76, 0x3b, 0x4b, 0x9e, 0x79], &agile.verifier)?;
        let wanted = open([0xd7, 0xaa, 0x0f, 0x6d, 0x30, 0x61, 0x34, 0x4e], &agile.verifier_digest)?;
        let found = hash.of(&[&input]);
        if found.is_empty() || !wanted.starts_with(&found) {
            return None;
        }
        let mut key = open([0x14, 0x6e, 0x0b, 0xe7, 0xab, 0xac, 0xd0, 0xd6], &agile.key)?;
        let Scheme { salt, key_bytes, hash: Some(hash), known: true } = &agile.content else { return None };
        key.truncate(*key_bytes);
        let aes = Aes::new(&key)?;
        let segments = content.chunks(SEGMENT_BYTES).zip(0u32..).flat_map(|(segment, number)| {
            let first = sized(hash.of(&[salt, &number.to_le_bytes()]), BLOCK_BYTES);
            aes.open(segment, Some(&first))
        });
        Some(segments.collect())
    }

    fn read(text: &[u8]) -> Self {
        let mut agile = Self::default();
        // What a damaged text leaves open does not fit.
        let _ = xml::walk(text, |met| {
            if let Met::Open(tag) = met {
                let value = |name: &str| base64(&tag.attribute(name).unwrap_or_default());
                match tag.name() {
                    "keyData" => agile.content = Scheme::read(&tag),
                    "encryptedKey" => {
                        agile.password = Scheme::read(&tag);
                        agile.rounds = tag
                            .attribute("spinCount")
                            .and_then(|count| count.parse().ok())
                            .unwrap_or(u32::MAX);
                        agile.verifier = value("encryptedVerifierHashInput");
                        agile.verifier_digest = value("encryptedVerifierHashValue");
                        agile.key = value("encryptedKeyValue");
                    }
                    _ => {}
                }
            }
            Go::On
        });
        agile
    }
}

/// Cut, or filled up as the format says.
fn sized(mut bytes: Vec<u8>, length: usize) -> Vec<u8> {
    bytes.resize(length, 0x36);
    bytes
}

#[cfg(test)]
mod tests {
    use super::super::container::tests::container;
    use super::*;
    use crate::cipher::tests::seal;
    use crate::formats::archives::zip::tests::zip;
    use crate::formats::tests::{extract, opens};

    fn wide(text: &str) -> Vec<u8> {
        text.encode_utf16().flat_map(u16::to_le_bytes).collect()
    }

    fn sealed_package(about: &[u8], content: &[u8], length: usize) -> Vec<u8> {
        let package = [(length as u64).to_le_bytes().as_slice(), content].concat();
        container(&[("EncryptionInfo", about), ("EncryptedPackage", &package)])
    }

    fn text(bytes: &[u8]) -> String {
        const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let digits = bytes.chunks(3).flat_map(|three| {
            let bits =
                three.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
            (0..=three.len()).map(move |at| char::from(DIGITS[(bits >> (18 - 6 * at) & 63) as usize]))
        });
        digits.collect()
    }

    /// A package as Office has written it since 2010.
    fn agile(password: &str, package: &[u8]) -> Vec<u8> {
        let (salt, key) = ([7u8; 16], [9u8; 16]);
        let digest = spun(Hash::Sha512, Hash::Sha512.of(&[&salt, &wide(password)]), 5);
        let sealed = |purpose: [u8; 8], bytes: &[u8]| {
            text(&seal(&Hash::Sha512.of(&[&digest, &purpose])[..16], &salt, bytes))
        };
        let verifier = sealed([0xfe, 0xa7, 0xd2, 0x76, 0x3b, 0x4b, 0x9e, 0x79], &[5; 16]);
        let verified =
            sealed([0xd7, 0xaa, 0x0f, 0x6d, 0x30, 0x61, 0x34, 0x4e], &Hash::Sha512.of(&[&[5; 16]]));
        let sealed_key = sealed([0x14, 0x6e, 0x0b, 0xe7, 0xab, 0xac, 0xd0, 0xd6], &key);
        let scheme = format!(
            "saltValue='{}' keyBits='128' blockSize='16' hashAlgorithm='SHA512' cipherAlgorithm='AES' cipherChaining='ChainingModeCBC'",
            text(&salt)
        );
        let about = format!(
            "\u{4}\0\u{4}\0\u{40}\0\0\0<encryption><keyData {scheme}/><p:encryptedKey spinCount='5' {scheme} \
            encryptedVerifierHashInput='{verifier}' encryptedVerifierHashValue='{verified}' encryptedKeyValue='{sealed_key}'/></encryption>"
        );
        let segments = package.chunks(SEGMENT_BYTES).zip(0u32..).flat_map(|(segment, number)| {
            seal(&key, &Hash::Sha512.of(&[&salt, &number.to_le_bytes()])[..16], segment)
        });
        sealed_package(about.as_bytes(), &segments.collect::<Vec<_>>(), package.len())
    }

    /// A package as Office 2007 wrote it.
    fn of_2007(password: &str, package: &[u8]) -> Vec<u8> {
        let digest = spun(Hash::Sha1, Hash::Sha1.of(&[&[7u8; 16], &wide(password)]), ROUNDS_2007);
        let digest = Hash::Sha1.of(&[&digest, &[0; 4]]);
        let mut block = [0x36u8; 64];
        block.iter_mut().zip(&digest).for_each(|(block, digest)| *block ^= digest);
        let aes = Aes::new(&Hash::Sha1.of(&[&block])[..16]).unwrap();
        let each = |bytes: &[u8]| -> Vec<u8> {
            bytes
                .chunks(16)
                .flat_map(|piece| {
                    let mut block = [0; 16];
                    block[..piece.len()].copy_from_slice(piece);
                    aes.encrypt(block)
                })
                .collect()
        };
        let mut about = [3u32 | 2 << 16, 0x24, 32, 0x24, 0, 0x660e, 0x8004, 128, 0x18, 0, 0]
            .into_iter()
            .flat_map(u32::to_le_bytes)
            .collect::<Vec<u8>>();
        about.extend([16, 0, 0, 0]);
        about.extend([7; 16]);
        about.extend(each(&[5; 16]));
        about.extend([20, 0, 0, 0]);
        about.extend(each(&Hash::Sha1.of(&[&[5; 16]])));
        sealed_package(&about, &each(package), package.len())
    }

    #[test]
    fn a_protected_package_is_opened_by_its_password() {
        let package = zip(&[("a.txt", &b"secret words ".repeat(1_000))]);
        for sealed in [agile, of_2007] {
            let page = opens("a.docx", &sealed("P\u{e4}ss", &package), "P\u{e4}ss");
            assert!(page.parts[0].text.starts_with("secret words"), "{page:?}");
        }
    }

    #[test]
    fn the_password_that_excel_uses_by_itself_is_known() {
        let package = zip(&[("a.txt", b"words")]);
        assert_eq!(extract("a.xlsx", &agile(EXCEL_PASSWORD, &package)).parts[0].text, "words");
    }
}
