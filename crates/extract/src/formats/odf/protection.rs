//! OpenDocument that a password protects: each member by itself, as the manifest says.

use std::io::Read;

use flate2::read::DeflateDecoder;
use ingather_model::limits;

use crate::cipher::{Aes, BLOCK_BYTES, Hash, derive};
use crate::decode::base64;
use crate::formats::archives::zip::Zip;
use crate::page::{Expanding, Outcome, ParseError, TextSink};
use crate::xml::{self, Go, Met};

/// What is said when no password fits.
const PROTECTED: &str = "it is protected by a password";
/// How often a password is digested at most; usual are 1,024 and 100,000.
const ROUNDS_MAX: u32 = 1_000_000;

/// How one member is protected.
#[derive(Clone, Default)]
struct Member {
    path: String,
    cipher: String,
    first: Vec<u8>,
    salt: Vec<u8>,
    rounds: u32,
    key_bytes: usize,
    start: Option<Hash>,
}

/// Opens all members that are protected, with the first password that fits.
pub(super) fn open(zip: &mut Zip, manifest: &[u8], page: &TextSink<'_>) -> Outcome {
    let members = members(manifest);
    if !members.iter().all(Member::is_known) {
        return Err("unsupported: a way of encryption that is not known".into());
    }
    let Some(first) = members.iter().find(|member| member.path == "content.xml") else {
        return Err(PROTECTED.into());
    };
    let mut passwords = page.options().passwords.iter();
    let password = passwords.find(|password| first.plain(zip, password, page).is_ok()).ok_or(PROTECTED)?;
    for member in &members {
        // What does not open now is damaged; its own reader says so.
        if let (Some(index), Ok(bytes)) = (zip.find(&member.path), member.plain(zip, password, page)) {
            zip.replace(index, bytes);
        }
    }
    Ok(())
}

impl Member {
    fn is_known(&self) -> bool {
        self.cipher.ends_with("aes256-cbc") && self.rounds <= ROUNDS_MAX && self.start.is_some()
    }

    /// What is in the member, by a password. A wrong one gives bytes that were never packed.
    fn plain(&self, zip: &mut Zip, password: &str, page: &TextSink<'_>) -> Result<Vec<u8>, ParseError> {
        let sealed = zip.find_read(&self.path, page.budget()).ok_or(PROTECTED)?;
        let start = self.start.map(|hash| hash.of(&[password.as_bytes()])).unwrap_or_default();
        let key = derive(&start, &self.salt, self.rounds, self.key_bytes);
        let packed = Aes::new(&key).ok_or(PROTECTED)?.open(&sealed, Some(&self.first));
        let mut bytes = Vec::new();
        let unpacked = Expanding::over(page.budget(), DeflateDecoder::new(packed.as_slice()));
        unpacked.take(limits::EXTRACT_WHOLE_BYTES_MAX).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

fn members(manifest: &[u8]) -> Vec<Member> {
    let (mut members, mut member) = (Vec::new(), Member::default());
    // What a damaged manifest leaves out stays closed.
    let _ = xml::walk(manifest, |met| {
        match met {
            Met::Open(tag) => {
                let value = |name: &str| tag.attribute(name).unwrap_or_default();
                let number = |name: &str, usual: u32| value(name).parse().unwrap_or(usual);
                match tag.name() {
                    "file-entry" => member = Member { path: value("full-path"), ..Member::default() },
                    "algorithm" => {
                        member.cipher = value("algorithm-name");
                        member.first = base64(&value("initialisation-vector"));
                    }
                    "start-key-generation" => {
                        let name = value("start-key-generation-name");
                        member.start = Hash::named(name.rsplit('#').next().unwrap_or_default());
                    }
                    "key-derivation" => {
                        member.salt = base64(&value("salt"));
                        member.rounds = number("iteration-count", u32::MAX);
                        member.key_bytes = number("key-size", 16) as usize;
                    }
                    _ => {}
                }
            }
            Met::Close("encryption-data")
                if member.first.len() >= BLOCK_BYTES || !member.cipher.is_empty() =>
            {
                members.push(member.clone());
            }
            _ => {}
        }
        Go::On
    });
    members
}
