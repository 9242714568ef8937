//! The digest of all bytes of a document, taken while stages read them.

use std::io::Read;

use ingather_model::fault::Fault;
use ingather_model::ids::Digest;

/// Content that is hashed as it is read.
pub(super) struct Hashing<'r> {
    content: &'r mut dyn Read,
    hash: blake3::Hasher,
    pub(super) bytes: u64,
}

impl<'r> Hashing<'r> {
    pub(super) fn new(content: &'r mut dyn Read, charset: Option<&str>) -> Hashing<'r> {
        let mut hash = blake3::Hasher::new();
        // The same bytes in another charset are another text.
        hash.update(charset.unwrap_or_default().as_bytes());
        Hashing { content, hash, bytes: 0 }
    }

    /// Reads what is left.
    pub(super) fn finish(&mut self) -> std::result::Result<(), Fault> {
        let rest = std::io::copy(self, &mut std::io::sink());
        rest.map(|_| ()).map_err(|error| Fault::passing("read", format!("reading stopped: {error}")))
    }

    pub(super) fn digest(&self) -> (Digest, u64) {
        let mut first = [0u8; 8];
        first.copy_from_slice(&self.hash.finalize().as_bytes()[..8]);
        // Zero would mean "none": an equal content must stay equal.
        let digest = i64::from_le_bytes(first).max(i64::MIN + 1);
        (Digest(if digest == 0 { 1 } else { digest }), self.bytes)
    }
}

/// The digest that a pass through the stages gives for these bytes, and how many there are.
pub(super) fn raw_digest(content: &mut dyn Read) -> std::result::Result<(Digest, u64), Fault> {
    let mut hashing = Hashing::new(content, None);
    hashing.finish()?;
    Ok(hashing.digest())
}

impl Read for Hashing<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.content.read(buffer)?;
        self.hash.update(&buffer[..read]);
        self.bytes += read as u64;
        Ok(read)
    }
}
