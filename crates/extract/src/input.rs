//! The bytes of a document or part: in memory, or in a scratch file when they are many.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek, SeekFrom};
use std::sync::Arc;

/// Bytes that can be read from any place.
#[derive(Debug)]
pub enum Input {
    /// All of them in memory.
    Memory(Cursor<Vec<u8>>),
    /// In a file, with its length.
    File(BufReader<Arc<File>>, u64),
}

impl Input {
    /// Bytes in memory.
    pub fn memory(bytes: Vec<u8>) -> Self {
        Self::Memory(Cursor::new(bytes))
    }

    /// A file, from its beginning.
    ///
    /// # Errors
    /// When its length cannot be told.
    pub fn file(mut file: Arc<File>) -> io::Result<Self> {
        let length = file.seek(SeekFrom::End(0))?;
        file.seek(SeekFrom::Start(0))?;
        Ok(Self::File(BufReader::with_capacity(64 << 10, file), length))
    }

    /// Length, bytes.
    pub fn len(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.get_ref().len() as u64,
            Self::File(_, length) => *length,
        }
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The first bytes, at most `most`; the next read begins at the beginning.
    pub(crate) fn head(&mut self, most: usize) -> io::Result<Vec<u8>> {
        self.seek(SeekFrom::Start(0))?;
        let mut head = Vec::new();
        self.take(most as u64).read_to_end(&mut head)?;
        self.seek(SeekFrom::Start(0))?;
        Ok(head)
    }

    /// All bytes, for formats that jump about.
    pub(crate) fn into_bytes(self) -> io::Result<Vec<u8>> {
        match self {
            Self::Memory(bytes) => Ok(bytes.into_inner()),
            Self::File(mut file, length) => {
                if length > ingather_model::limits::EXTRACT_WHOLE_BYTES_MAX {
                    return Err(io::Error::other(format!(
                        "{length} bytes are too many for this format, which is read as a whole"
                    )));
                }
                let mut bytes = Vec::new();
                file.seek(SeekFrom::Start(0))?;
                file.read_to_end(&mut bytes)?;
                Ok(bytes)
            }
        }
    }

    /// Exactly the bytes of a range; an error when they are not all there.
    pub(crate) fn range(&mut self, at: u64, length: usize) -> io::Result<Vec<u8>> {
        if at.saturating_add(length as u64) > self.len() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.seek(SeekFrom::Start(at))?;
        let mut bytes = vec![0; length];
        self.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Memory(bytes) => bytes.read(buffer),
            Self::File(file, _) => file.read(buffer),
        }
    }
}

impl Seek for Input {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Self::Memory(bytes) => bytes.seek(to),
            Self::File(file, _) => file.seek(to),
        }
    }
}

impl From<Vec<u8>> for Input {
    fn from(bytes: Vec<u8>) -> Self {
        Self::memory(bytes)
    }
}
