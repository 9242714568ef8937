//! What parent and child say to each other: a letter, a length, and that many bytes.

use std::io::{self, Read, Write};

/// One word of the talk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum Word {
    /// Child: what holds it, as JSON; it is ready.
    Ready = b'I',
    /// Parent: a document begins; the request as JSON.
    Document = b'D',
    /// Child: more bytes, please.
    More = b'M',
    /// Parent: bytes of the document.
    Bytes = b'B',
    /// Parent: the last bytes of the document.
    Last = b'E',
    /// Parent: the document cannot be read to its end; forget it.
    Broken = b'X',
    /// Child: a picture; what are the words in it?
    Picture = b'P',
    /// Parent: the words.
    Seen = b'S',
    /// Parent: why there are none.
    Unseen = b'U',
    /// Child: what came out, as JSON.
    Result = b'R',
}

impl Word {
    fn of(byte: u8) -> Option<Self> {
        let own = [Self::Ready, Self::More, Self::Picture, Self::Result];
        let theirs = [Self::Document, Self::Bytes, Self::Last, Self::Broken, Self::Seen, Self::Unseen];
        own.into_iter().chain(theirs).find(|word| *word as u8 == byte)
    }
}

/// Bytes that a length and a word take.
const HEAD_BYTES: usize = 5;

/// Adds a word to what is to be said, with bytes that `fill` adds. What is said at once wakes the other side once.
pub(super) fn put(
    said: &mut Vec<u8>,
    word: Word,
    fill: impl FnOnce(&mut Vec<u8>) -> io::Result<()>,
) -> io::Result<()> {
    let begin = said.len();
    said.extend([word as u8, 0, 0, 0, 0]);
    fill(said)?;
    let length = u32::try_from(said.len() - begin - HEAD_BYTES)
        .map_err(|_| io::Error::other("more than fits into one message"))?;
    said[begin + 1..begin + HEAD_BYTES].copy_from_slice(&length.to_le_bytes());
    Ok(())
}

/// Says a word.
pub(super) fn write(stream: &mut impl Write, word: Word, bytes: &[u8]) -> io::Result<()> {
    let mut said = Vec::with_capacity(HEAD_BYTES + bytes.len());
    put(&mut said, word, |said| {
        said.extend_from_slice(bytes);
        Ok(())
    })?;
    stream.write_all(&said)
}

/// Hears a word with at most `most` bytes; nothing when the other side is gone.
pub(super) fn read(stream: &mut impl Read, most: usize) -> io::Result<Option<(Word, Vec<u8>)>> {
    let mut head = [0; HEAD_BYTES];
    match stream.read_exact(&mut head) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let word = Word::of(head[0]).ok_or_else(|| io::Error::other("a word that is not known"))?;
    let length = u32::from_le_bytes([head[1], head[2], head[3], head[4]]) as usize;
    if length > most {
        return Err(io::Error::other(format!("an answer of {length} bytes is too long")));
    }
    let mut bytes = vec![0; length];
    match stream.read_exact(&mut bytes) {
        Ok(()) => Ok(Some((word, bytes))),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_arrive_as_they_were_said() {
        let mut wire = Vec::new();
        write(&mut wire, Word::Bytes, b"abc").unwrap();
        write(&mut wire, Word::More, b"").unwrap();
        let mut rest = wire.as_slice();
        assert_eq!(read(&mut rest, 3).unwrap(), Some((Word::Bytes, b"abc".to_vec())));
        assert_eq!(read(&mut rest, 3).unwrap(), Some((Word::More, Vec::new())));
        assert_eq!(read(&mut rest, 3).unwrap(), None);
        assert!(read(&mut wire.as_slice(), 2).is_err(), "too long");
        assert_eq!(read(&mut &wire[..6], 3).unwrap(), None, "cut");
        assert!(read(&mut [0u8; 5].as_slice(), 3).is_err(), "unknown");
    }
}
