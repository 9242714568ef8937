//! Entries of an output in the order of the delivery log: sorted in memory, or by parts through files when there are many.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use ingather_model::limits;

use crate::error::{EngineError, Refusal, Result};

/// Parts into which many entries are cut, by the first bits of their order.
const PARTS: usize = 64;
/// Bytes of one entry in a file.
const BYTES: usize = 49;

/// One entry, as far as it is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    /// Hash of the address's parent, and of the address: the order of the delivery log.
    pub(super) address: (i64, i64),
    pub(super) version: i64,
    pub(super) job: i64,
    /// 0: none.
    pub(super) acl_id: i64,
    /// 0: none.
    pub(super) container: i64,
    /// It carries an address that only this store can have made.
    pub(super) ours: bool,
}

impl Entry {
    fn bytes(&self) -> [u8; BYTES] {
        let mut bytes = [0u8; BYTES];
        let words = [self.address.0, self.address.1, self.version, self.job, self.acl_id, self.container];
        for (slot, word) in bytes.chunks_exact_mut(8).zip(words) {
            slot.copy_from_slice(&word.to_le_bytes());
        }
        bytes[BYTES - 1] = u8::from(self.ours);
        bytes
    }

    fn of(bytes: &[u8; BYTES]) -> Entry {
        let mut words = [0i64; 6];
        for (word, part) in words.iter_mut().zip(bytes.chunks_exact(8)) {
            let mut eight = [0u8; 8];
            eight.copy_from_slice(part);
            *word = i64::from_le_bytes(eight);
        }
        let [parent, own, version, job, acl_id, container] = words;
        Entry { address: (parent, own), version, job, acl_id, container, ours: bytes[BYTES - 1] == 1 }
    }

    fn part(&self) -> usize {
        // Signed numbers in the order of unsigned ones.
        ((self.address.0 as u64 ^ 1 << 63) >> 58) as usize
    }
}

/// Takes entries in any order and gives them back in that of the delivery log.
pub(super) struct ExternalSort {
    folder: PathBuf,
    waiting: Vec<Entry>,
    files: Vec<BufWriter<File>>,
    most: usize,
}

impl ExternalSort {
    /// Files, where they are needed, go into a folder of their own below `data`, or into the system's for temporary files.
    pub(super) fn new(data: &Path) -> ExternalSort {
        // Of this process alone: several may verify at the same time.
        let folder = data.join(format!("verify-{}", std::process::id()));
        ExternalSort { folder, waiting: Vec::new(), files: Vec::new(), most: limits::VERIFY_ENTRIES_MAX }
    }

    pub(super) fn add(&mut self, entry: Entry) -> Result<()> {
        if self.files.is_empty() {
            self.waiting.push(entry);
            return if self.waiting.len() >= self.most { self.spill() } else { Ok(()) };
        }
        self.write(&entry)
    }

    fn spill(&mut self) -> Result<()> {
        self.clear()?;
        if std::fs::create_dir_all(&self.folder).is_err() {
            // Where the data directory takes no writes, looking is possible all the same.
            self.folder = std::env::temp_dir().join(format!("ingather-verify-{}", std::process::id()));
            std::fs::create_dir_all(&self.folder).map_err(|error| self.failed(&error))?;
        }
        for part in 0..PARTS {
            let file = File::create(self.file(part)).map_err(|error| self.failed(&error))?;
            self.files.push(BufWriter::new(file));
        }
        for entry in std::mem::take(&mut self.waiting) {
            self.write(&entry)?;
        }
        Ok(())
    }

    fn write(&mut self, entry: &Entry) -> Result<()> {
        let written = self.files[entry.part()].write_all(&entry.bytes());
        written.map_err(|error| self.failed(&error))
    }

    fn file(&self, part: usize) -> PathBuf {
        self.folder.join(part.to_string())
    }

    fn failed(&self, error: &std::io::Error) -> EngineError {
        EngineError::refused(
            Refusal::Resources,
            format!("{}: {error}; make room there, and make it writable", self.folder.display()),
        )
    }

    /// How many parts there are to be read.
    pub(super) fn parts(&mut self) -> Result<usize> {
        let flushed: std::io::Result<()> = self.files.iter_mut().try_for_each(Write::flush);
        flushed.map_err(|error| self.failed(&error))?;
        Ok(if self.files.is_empty() { 1 } else { PARTS })
    }

    /// One part, sorted; each is read once, the first first.
    pub(super) fn part(&mut self, part: usize) -> Result<Vec<Entry>> {
        let mut entries = std::mem::take(&mut self.waiting);
        if !self.files.is_empty() {
            let file = File::open(self.file(part)).map_err(|error| self.failed(&error))?;
            let count = file.metadata().map_err(|error| self.failed(&error))?.len() / BYTES as u64;
            let mut file = BufReader::new(file);
            let mut bytes = [0u8; BYTES];
            for _ in 0..count {
                file.read_exact(&mut bytes).map_err(|error| self.failed(&error))?;
                entries.push(Entry::of(&bytes));
            }
        }
        entries.sort_unstable();
        Ok(entries)
    }

    fn clear(&self) -> Result<()> {
        match std::fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(self.failed(&error)),
            _ => Ok(()),
        }
    }
}

impl Drop for ExternalSort {
    fn drop(&mut self) {
        if !self.files.is_empty() {
            // Hashes only; the next verify removes what stays behind.
            let _ = self.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn through_memory_or_files_the_order_is_that_of_the_delivery_log(
            words in proptest::collection::vec((any::<i64>(), any::<i64>(), any::<i64>(), any::<bool>()), 0..200),
            most in 1usize..300,
        ) {
            let folder = std::env::temp_dir().join(format!("ingather-sorted-{}", std::process::id()));
            let mut sorted = ExternalSort::new(&folder);
            sorted.most = most;
            let mut expected = Vec::new();
            for (parent, own, version, ours) in words {
                let job = version ^ 3;
                let entry = Entry { address: (parent, own), version, job, acl_id: own ^ 5, container: parent ^ 7, ours };
                expected.push(entry);
                sorted.add(entry).map_err(|error| TestCaseError::fail(error.to_string()))?;
            }
            expected.sort_unstable();
            let mut found = Vec::new();
            for part in 0..sorted.parts().map_err(|error| TestCaseError::fail(error.to_string()))? {
                found.extend(sorted.part(part).map_err(|error| TestCaseError::fail(error.to_string()))?);
            }
            prop_assert_eq!(found, expected);
            drop(sorted);
            // The folder above it is made for the test only.
            let _ = std::fs::remove_dir(&folder);
        }
    }
}
