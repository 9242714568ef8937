//! Unpacks bodies while they are read. The client does it itself, and with libraries that are in the program already: an HTTP library
//! would unpack a bomb to its end, and for zstd it would bring a library in C.

use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::sync::Arc;

use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use ingather_model::fault::Fault;
use ingather_model::limits::{
    WEB_CODINGS_MAX, WEB_PIECE_BYTES, WEB_RATIO_FROM_BYTES, WEB_RATIO_MAX, WEB_ZSTD_WINDOW_BYTES_MAX,
};
use parking_lot::Mutex;
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};

/// Codes of the faults of pages that are too much.
pub(super) const TOO_LARGE: &str = "too_large";
pub(super) const BOMB: &str = "bomb";

/// What requests say that answers may be packed with.
pub(super) const ACCEPTED: &str = "gzip, br, zstd, deflate";

/// The codings of headers `Content-Encoding`, in the order in which they were applied.
pub(super) fn codings<'a>(headers: impl Iterator<Item = &'a str>) -> Vec<String> {
    let words = headers.flat_map(|header| header.split(','));
    let words = words.map(|word| word.trim().to_ascii_lowercase());
    words.filter(|word| !word.is_empty() && word != "identity").collect()
}

/// Whether a body is packed besides by its coding.
pub(super) fn is_packed_on_its_way(head: &super::Head) -> bool {
    codings(head.headers("transfer-encoding")).iter().any(|coding| coding != "chunked")
}

/// The fault of a body that is packed on its way.
pub(super) fn unknown_transfer(host: &str) -> Fault {
    Fault::broken("unknown_coding", format!("`{host}` packs the page on its way, which was not asked for"))
}

/// What is in a body that is packed by `codings`.
pub(super) fn unpacked(
    wire: impl Read + Send + 'static,
    codings: &[String],
    bytes_max: u64,
) -> Result<Box<dyn Read + Send>, Fault> {
    if codings.len() > WEB_CODINGS_MAX {
        let message = format!("the page is packed {} times, {WEB_CODINGS_MAX} at most", codings.len());
        return Err(Fault::broken("too_many_codings", message));
    }
    let came = Arc::<Mutex<Came>>::default();
    let mut body: Box<dyn Read + Send> = Box::new(Counted { inner: wire, came: Arc::clone(&came) });
    for coding in codings.iter().rev() {
        body = one(body, coding)?;
    }
    let ratio_max = if codings.is_empty() { None } else { Some(WEB_RATIO_MAX) };
    Ok(Box::new(Bounded { inner: body, came, given: 0, bytes_max, ratio_max }))
}

fn one(body: Box<dyn Read + Send>, coding: &str) -> Result<Box<dyn Read + Send>, Fault> {
    Ok(match coding {
        "gzip" | "x-gzip" => Box::new(Lazy::new(body, |body| Ok(Box::new(MultiGzDecoder::new(body))))),
        "br" => Box::new(Lazy::new(body, |body| {
            Ok(Box::new(brotli_decompressor::Decompressor::new(body, WEB_PIECE_BYTES)))
        })),
        "zstd" => Box::new(Lazy::new(body, zstd)),
        "deflate" => Box::new(Lazy::new(body, deflate)),
        other => {
            let message = format!("the page is packed by `{other}`, which was not asked for");
            return Err(Fault::broken("unknown_coding", message));
        }
    })
}

/// Servers mean either of two formats by it; the standard one has a checksum in its first two bytes.
fn deflate(mut body: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>> {
    let mut head = Vec::new();
    body.by_ref().take(2).read_to_end(&mut head)?;
    let is_zlib = matches!(head[..], [first, second]
        if first & 15 == 8 && (u32::from(first) << 8 | u32::from(second)).is_multiple_of(31));
    let whole = Cursor::new(head).chain(body);
    Ok(match is_zlib {
        true => Box::new(ZlibDecoder::new(whole)),
        false => Box::new(DeflateDecoder::new(whole)),
    })
}

fn zstd(body: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>> {
    Ok(Box::new(Frames { current: Some(frame(BufReader::with_capacity(WEB_PIECE_BYTES, body))?) }))
}

/// Zstandard, which may be several frames in a row: whoever ends with the first one gives a short page.
struct Frames {
    current: Option<Frame>,
}

type Frame = StreamingDecoder<BufReader<Box<dyn Read + Send>>, FrameDecoder>;

fn frame(packed: BufReader<Box<dyn Read + Send>>) -> io::Result<Frame> {
    let mut decoder = FrameDecoder::new();
    decoder.set_max_window_size(WEB_ZSTD_WINDOW_BYTES_MAX);
    StreamingDecoder::new_with_decoder(packed, decoder).map_err(io::Error::other)
}

impl Read for Frames {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(current) = &mut self.current {
            let length = current.read(buffer)?;
            if length > 0 || buffer.is_empty() {
                return Ok(length);
            }
            let over = current.get_mut().fill_buf()?.is_empty();
            let packed = self.current.take().filter(|_| !over).map(StreamingDecoder::into_inner);
            self.current = packed.map(frame).transpose()?;
        }
        Ok(0)
    }
}

/// What makes a reader of unpacked bytes out of one of packed ones.
type Open = fn(Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>>;

/// Opened at the first read: some decoders read when they are made. A body without a byte has nothing to unpack; servers send such
/// ones with a coding.
struct Lazy {
    packed: Option<(Box<dyn Read + Send>, Open)>,
    opened: Option<Box<dyn Read + Send>>,
}

impl Lazy {
    fn new(packed: Box<dyn Read + Send>, open: Open) -> Lazy {
        Lazy { packed: Some((packed, open)), opened: None }
    }
}

impl Read for Lazy {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some((mut packed, open)) = self.packed.take() {
            let mut first = Vec::new();
            packed.by_ref().take(1).read_to_end(&mut first)?;
            if !first.is_empty() {
                self.opened = Some(open(Box::new(Cursor::new(first).chain(packed)))?);
            }
        }
        self.opened.as_mut().map_or(Ok(0), |opened| opened.read(buffer))
    }
}

/// What came over the network so far.
#[derive(Default)]
struct Came {
    bytes: u64,
    /// What ended it; decoders make errors of their own out of it.
    fault: Option<Fault>,
}

struct Counted<R> {
    inner: R,
    came: Arc<Mutex<Came>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let result = self.inner.read(buffer);
        let mut came = self.came.lock();
        match &result {
            Ok(length) => came.bytes += *length as u64,
            Err(error) => came.fault = carried(error),
        }
        result
    }
}

/// The fault that an error carries.
pub(super) fn carried(error: &io::Error) -> Option<Fault> {
    error.get_ref().and_then(|inner| inner.downcast_ref::<Fault>()).cloned()
}

struct Bounded {
    inner: Box<dyn Read + Send>,
    came: Arc<Mutex<Came>>,
    given: u64,
    bytes_max: u64,
    ratio_max: Option<u64>,
}

impl Bounded {
    fn judge(&mut self, read: io::Result<usize>) -> Result<usize, Fault> {
        let came = self.came.lock();
        let length = match (read, &came.fault) {
            (_, Some(fault)) => return Err(fault.clone()),
            (Ok(length), None) => length,
            (Err(error), None) => {
                let message = format!("the page cannot be unpacked: {error}");
                return Err(Fault::broken("bad_coding", message));
            }
        };
        self.given += length as u64;
        if self.given > self.bytes_max {
            return Err(super::body::too_large(self.bytes_max));
        }
        if self
            .ratio_max
            .is_some_and(|most| self.given > WEB_RATIO_FROM_BYTES && self.given / most > came.bytes)
        {
            let message =
                format!("{} bytes become {} and more, which no honest page does", came.bytes, self.given);
            return Err(Fault::broken(BOMB, message));
        }
        Ok(length)
    }
}

impl Read for Bounded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer);
        if read.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::Interrupted) {
            return read;
        }
        self.judge(read).map_err(io::Error::other)
    }
}
