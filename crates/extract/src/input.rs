//! The bytes of a document or part: in memory, or in a scratch file when they are many.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::rc::Rc;
use std::sync::Arc;

use encoding_rs::{Encoding, UTF_8};

use crate::pictures::Seen;

/// Bytes that can be read from any place.
#[derive(Debug)]
pub struct Input {
    source: Source,
    scratch: Option<Rc<Scratch>>,
    eyes: Option<Rc<Eyes>>,
    charset: Option<&'static Encoding>,
}

#[derive(Debug)]
enum Source {
    Memory(Cursor<Vec<u8>>),
    File(BufReader<Section>),
}

/// Who looks at pictures for a reader.
pub(crate) struct Eyes(Box<dyn Fn(&[u8]) -> Seen>);

impl Eyes {
    pub(crate) fn new(look: impl Fn(&[u8]) -> Seen + 'static) -> Rc<Self> {
        Rc::new(Self(Box::new(look)))
    }

    /// What is seen in a picture.
    pub(crate) fn look(&self, picture: &[u8]) -> Seen {
        (self.0)(picture)
    }
}

impl std::fmt::Debug for Eyes {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Eyes")
    }
}

impl Input {
    /// Bytes in memory.
    pub fn memory(bytes: Vec<u8>) -> Self {
        Self { source: Source::Memory(Cursor::new(bytes)), scratch: None, eyes: None, charset: None }
    }

    /// The same bytes, with room for parts that are too large for memory.
    pub(crate) fn beside(mut self, scratch: &Rc<Scratch>) -> Self {
        self.scratch = Some(Rc::clone(scratch));
        self
    }

    /// The same bytes, and who looks at the pictures in them.
    pub(crate) fn seen_by(mut self, eyes: &Rc<Eyes>) -> Self {
        self.eyes = Some(Rc::clone(eyes));
        self
    }

    /// The same bytes, in the charset that their source names; what is in them has its own.
    pub(crate) fn written_in(mut self, charset: Option<&'static Encoding>) -> Self {
        // UTF-8 is recognised by itself; where a header says so of other bytes, the document knows better.
        self.charset = charset.filter(|charset| *charset != UTF_8);
        self
    }

    /// The charset that the source names, other than UTF-8.
    pub(crate) fn charset(&self) -> Option<&'static Encoding> {
        self.charset
    }

    /// Who looks at pictures.
    pub(crate) fn eyes(&self) -> Option<Rc<Eyes>> {
        self.eyes.clone()
    }

    /// Where parts that are too large for memory can go.
    pub(crate) fn scratch(&self) -> Option<Rc<Scratch>> {
        self.scratch.clone()
    }

    /// Length, bytes.
    pub fn len(&self) -> u64 {
        match &self.source {
            Source::Memory(bytes) => bytes.get_ref().len() as u64,
            Source::File(file) => file.get_ref().length,
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
        let length = self.len();
        match self.source {
            Source::Memory(bytes) => Ok(bytes.into_inner()),
            Source::File(mut file) => {
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

    /// Some of the bytes as an input of their own, at most so many as are there: without a copy when they are in a file.
    pub(crate) fn piece(&mut self, at: u64, length: u64) -> io::Result<Self> {
        let length = length.min(self.len().saturating_sub(at));
        match &self.source {
            Source::File(file) => {
                let section = file.get_ref();
                Ok(Self::section(section.piece(at, length)))
            }
            Source::Memory(_) => {
                let mut bytes = Vec::new();
                self.seek(SeekFrom::Start(at))?;
                self.take(length).read_to_end(&mut bytes)?;
                Ok(Self::memory(bytes))
            }
        }
    }

    fn section(section: Section) -> Self {
        Self {
            source: Source::File(BufReader::with_capacity(64 << 10, section)),
            scratch: None,
            eyes: None,
            charset: None,
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
        match &mut self.source {
            Source::Memory(bytes) => bytes.read(buffer),
            Source::File(file) => file.read(buffer),
        }
    }
}

impl Seek for Input {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match &mut self.source {
            Source::Memory(bytes) => bytes.seek(to),
            Source::File(file) => file.seek(to),
        }
    }
}

impl From<Vec<u8>> for Input {
    fn from(bytes: Vec<u8>) -> Self {
        Self::memory(bytes)
    }
}

/// A scratch file that is filled like a stack: what is put into it last goes first.
#[derive(Debug)]
pub(crate) struct Scratch {
    file: Arc<File>,
    used: Cell<u64>,
}

impl Scratch {
    pub(crate) fn new(file: Arc<File>) -> Rc<Self> {
        Rc::new(Self { file, used: Cell::new(0) })
    }
}

/// Bytes that are put into a room, piece by piece.
#[derive(Debug)]
pub(crate) struct Spill(Section);

impl Spill {
    /// Nothing yet, behind all that is in the room.
    pub(crate) fn begin(scratch: &Rc<Scratch>) -> io::Result<Self> {
        let begin = scratch.used.get();
        // What former documents left is not kept any longer.
        scratch.file.set_len(begin)?;
        let section = Section {
            file: Arc::clone(&scratch.file),
            begin,
            length: 0,
            place: 0,
            scratch: Some(Rc::clone(scratch)),
        };
        Ok(Self(section))
    }

    pub(crate) fn len(&self) -> u64 {
        self.0.length
    }

    /// Where the room would end with so many bytes more.
    pub(crate) fn end(&self, more: usize) -> u64 {
        self.0.begin + self.0.length + more as u64
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        let section = &mut self.0;
        section.file.write_all_at(bytes, section.begin + section.length)?;
        section.length += bytes.len() as u64;
        if let Some(scratch) = &section.scratch {
            scratch.used.set(section.begin + section.length);
        }
        Ok(())
    }

    /// What was put there, from its beginning; its place is free again when that is dropped.
    pub(crate) fn input(self) -> Input {
        Input::section(self.0)
    }
}

/// Some bytes of a file.
#[derive(Debug)]
struct Section {
    file: Arc<File>,
    begin: u64,
    length: u64,
    /// Where the next read begins, counted from `begin`.
    place: u64,
    /// The room whose end this is.
    scratch: Option<Rc<Scratch>>,
}

impl Section {
    /// Some of the bytes, which still belong to the original.
    fn piece(&self, at: u64, length: u64) -> Self {
        Self { file: Arc::clone(&self.file), begin: self.begin + at, length, place: 0, scratch: None }
    }
}

impl Drop for Section {
    fn drop(&mut self) {
        if let Some(scratch) = &self.scratch {
            scratch.used.set(self.begin);
        }
    }
}

impl Read for Section {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.length.saturating_sub(self.place);
        // At most as long as the buffer.
        let most = left.min(buffer.len() as u64) as usize;
        let length = self.file.read_at(&mut buffer[..most], self.begin + self.place)?;
        self.place += length as u64;
        Ok(length)
    }
}

impl Seek for Section {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let place = match to {
            SeekFrom::Start(place) => Some(place),
            SeekFrom::End(by) => self.length.checked_add_signed(by),
            SeekFrom::Current(by) => self.place.checked_add_signed(by),
        };
        self.place = place.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_room_is_filled_and_emptied_like_a_stack() {
        let scratch = Scratch::new(Arc::new(tempfile::tempfile().unwrap()));
        let put = |bytes: &[u8]| {
            let mut spill = Spill::begin(&scratch).unwrap();
            bytes.chunks(3).for_each(|piece| spill.push(piece).unwrap());
            spill.input()
        };
        let all = |input: &mut Input| {
            let mut text = String::new();
            input.seek(SeekFrom::Start(0)).unwrap();
            input.read_to_string(&mut text).unwrap();
            text
        };
        let mut outer = put(b"outer bytes");
        {
            let mut inner = put(b"inner");
            assert_eq!((all(&mut inner).as_str(), inner.len()), ("inner", 5));
            assert_eq!(all(&mut outer), "outer bytes");
            let mut piece = outer.piece(6, 100).unwrap();
            assert_eq!((all(&mut piece).as_str(), piece.len()), ("bytes", 5));
        }
        assert_eq!(scratch.used.get(), 11, "the piece freed nothing, the inner one its own");
        assert_eq!(all(&mut put(b"next")), "next");
        assert_eq!(all(&mut outer), "outer bytes");
        drop(outer);
        assert_eq!(scratch.used.get(), 0);
    }
}
