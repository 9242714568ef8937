//! What lies between the bytes of a sitemap and its text: gzip, the bound, the charset, and the bound of one piece.

use std::cell::Cell;
use std::io::{self, BufRead, BufReader, Cursor, Read};

use encoding_rs::{Decoder, Encoding, UTF_8};
use flate2::read::MultiGzDecoder;
use ingather_model::limits::{SITEMAP_BYTES_MAX, SITEMAP_PIECE_BYTES_MAX};

use super::Ended;

/// What went wrong below the text, which its reader knows only as an error.
#[derive(Debug, Default)]
pub(super) struct Troubles {
    unread: Cell<bool>,
    cut: Cell<bool>,
    piece: Cell<bool>,
}

impl Troubles {
    /// The end for what it is.
    pub(super) fn judge(&self, ended: Ended) -> Ended {
        let (Ended::Broken(message) | Ended::Cut(message) | Ended::Unread(message)) = &ended;
        if self.unread.get() {
            return Ended::Unread(message.clone());
        }
        if self.cut.get() {
            return Ended::Cut(format!("it has more than {SITEMAP_BYTES_MAX} bytes"));
        }
        match self.piece.get() {
            true => Ended::Cut(format!("a piece of it has more than {SITEMAP_PIECE_BYTES_MAX} bytes")),
            false => ended,
        }
    }
}

/// The text of a sitemap, in UTF-8.
pub(super) struct Layers<'a> {
    text: BufReader<Decoded<'a>>,
    troubles: &'a Troubles,
    left: usize,
}

impl<'a> Layers<'a> {
    pub(super) fn open(source: &'a mut dyn Read, troubles: &'a Troubles) -> Result<Layers<'a>, Ended> {
        let broken = |error: io::Error| Ended::Broken(error.to_string());
        let mut source = Source { source, troubles };
        let mut head = Vec::new();
        source.by_ref().take(2).read_to_end(&mut head).map_err(broken)?;
        let packed = head == [0x1f, 0x8b];
        let whole = Cursor::new(head).chain(source);
        let unpacked: Box<dyn Read + 'a> =
            if packed { Box::new(MultiGzDecoder::new(BufReader::new(whole))) } else { Box::new(whole) };
        let mut bounded = Bounded { inner: unpacked, left: SITEMAP_BYTES_MAX, troubles };
        let mut head = Vec::new();
        // What was told before a break is taken.
        bounded.by_ref().take(HEAD_BYTES).read_to_end(&mut head).or_else(|error| match head.is_empty() {
            true => Err(broken(error)),
            false => Ok(0),
        })?;
        let decoder = declared(&head).new_decoder();
        let text = Decoded {
            inner: Cursor::new(head).chain(bounded),
            decoder,
            raw: Vec::new(),
            over: false,
            done: false,
        };
        Ok(Layers { text: BufReader::new(text), troubles, left: SITEMAP_PIECE_BYTES_MAX })
    }

    /// The first byte that is no space, which stays; none in an empty text.
    pub(super) fn first(&mut self) -> Result<Option<u8>, Ended> {
        loop {
            self.next_piece();
            let text = self.fill_buf().map_err(|error| Ended::Broken(error.to_string()))?;
            let spaces = text.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            match text.get(spaces) {
                None if text.is_empty() => return Ok(None),
                first => {
                    let first = first.copied();
                    self.consume(spaces);
                    if first.is_some() {
                        return Ok(first);
                    }
                }
            }
        }
    }

    /// From here on another piece is read.
    pub(super) fn next_piece(&mut self) {
        self.left = SITEMAP_PIECE_BYTES_MAX;
    }
}

impl Read for Layers<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let text = self.fill_buf()?;
        let length = text.len().min(buffer.len());
        buffer[..length].copy_from_slice(&text[..length]);
        self.consume(length);
        Ok(length)
    }
}

impl BufRead for Layers<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.left == 0 {
            self.troubles.piece.set(true);
            return Err(io::Error::other("a piece is too long"));
        }
        let text = self.text.fill_buf()?;
        Ok(&text[..text.len().min(self.left)])
    }

    fn consume(&mut self, amount: usize) {
        self.left -= amount;
        self.text.consume(amount);
    }
}

/// Bytes in which a declaration of the charset stands.
const HEAD_BYTES: u64 = 1_024;

/// The charset that the declaration of XML names. A byte order mark, which counts for more, is seen by the decoder.
fn declared(head: &[u8]) -> &'static Encoding {
    let named = || {
        let end = head.windows(2).position(|two| two == b"?>")?;
        let declaration = std::str::from_utf8(head.get(..end)?).ok()?;
        let (_, rest) = declaration.split_once("encoding")?;
        let value = rest.trim_start().strip_prefix('=')?.trim_start();
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        Encoding::for_label(value[1..].split(quote).next()?.as_bytes())
    };
    // A declaration that can be read byte by byte is not in UTF-16, whatever it says.
    named().filter(|encoding| encoding.is_ascii_compatible()).unwrap_or(UTF_8)
}

/// Notes that the source itself failed, and not what is made of it.
struct Source<'a> {
    source: &'a mut dyn Read,
    troubles: &'a Troubles,
}

impl Read for Source<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let result = self.source.read(buffer);
        let failed = result.as_ref().is_err_and(|error| error.kind() != io::ErrorKind::Interrupted);
        self.troubles.unread.set(self.troubles.unread.get() || failed);
        result
    }
}

/// Ends with an error behind the bound.
struct Bounded<'a> {
    inner: Box<dyn Read + 'a>,
    left: u64,
    troubles: &'a Troubles,
}

impl Read for Bounded<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(buffer)?;
        match self.left.checked_sub(length as u64) {
            Some(left) => self.left = left,
            None => {
                self.troubles.cut.set(true);
                return Err(io::Error::other("it is too long"));
            }
        }
        Ok(length)
    }
}

/// Text in UTF-8, whatever it was; what cannot be decoded becomes U+FFFD.
struct Decoded<'a> {
    inner: io::Chain<Cursor<Vec<u8>>, Bounded<'a>>,
    decoder: Decoder,
    /// Bytes that were read and not decoded yet.
    raw: Vec<u8>,
    over: bool,
    /// A decoder that has come to its end may not be asked again.
    done: bool,
}

/// Bytes that are read and decoded at once.
const CHUNK_BYTES: usize = 8 << 10;

impl Read for Decoded<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !self.done {
            if self.raw.is_empty() && !self.over {
                self.raw.resize(CHUNK_BYTES, 0);
                let read = self.inner.read(&mut self.raw);
                self.raw.truncate(*read.as_ref().unwrap_or(&0));
                self.over = read? == 0;
            }
            let (result, read, written, _) = self.decoder.decode_to_utf8(&self.raw, buffer, self.over);
            self.raw.drain(..read);
            self.done = self.over && result == encoding_rs::CoderResult::InputEmpty;
            if written > 0 {
                return Ok(written);
            }
        }
        Ok(0)
    }
}
