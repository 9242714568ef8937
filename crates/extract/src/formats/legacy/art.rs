//! Drawings that old office files keep among their shapes ([MS-ODRAW]): those of Windows have words.

use std::collections::HashSet;
use std::io::Read;

use flate2::read::ZlibDecoder;
use ingather_model::limits;

use super::{u16_at, u32_at};
use crate::page::{Expanding, Page};

/// Drawings of one file.
const DRAWINGS_MAX: usize = 1_000;
/// Bytes of a record's head, of the digest of a drawing, and of what is said of it.
const HEAD_BYTES: usize = 8;
const DIGEST_BYTES: usize = 16;
const ABOUT_BYTES: usize = 34;

/// Opens the drawings in a stream. They are looked for by their heads, because what leads to them differs from program to
/// program. `met` holds the digests of those that were opened.
pub(super) fn drawings(stream: &[u8], met: &mut HashSet<Vec<u8>>, page: &mut Page<'_>) {
    let mut at = 0;
    while let Some(found) = stream.get(at..).and_then(next) {
        at += found;
        let Some((digest, bytes, length)) = drawing(&stream[at..], page) else {
            at += 1;
            continue;
        };
        at += length;
        if met.len() < DRAWINGS_MAX && met.insert(digest) {
            page.inner("", bytes);
        }
    }
}

/// Where the next head of a drawing stands: its version and instance, then its kind.
fn next(stream: &[u8]) -> Option<usize> {
    stream
        .windows(4)
        .position(|four| matches!(four, [0x40 | 0x50, 0x3d, 0x1a, 0xf0] | [0x60 | 0x70, 0x21, 0x1b, 0xf0]))
}

/// The drawing whose head stands at the beginning: its digest, its bytes, and its length in the stream.
fn drawing(record: &[u8], page: &Page<'_>) -> Option<(Vec<u8>, Vec<u8>, usize)> {
    let length = u32_at(record, 4) as usize;
    let data = record.get(HEAD_BYTES..)?.get(..length)?;
    // Odd instances have a second digest.
    let digests = DIGEST_BYTES * (1 + usize::from(u16_at(record, 0) >> 4 & 1));
    let about = data.get(digests..digests + ABOUT_BYTES)?;
    let packed = data.get(digests + ABOUT_BYTES..)?;
    let bytes = match about[32] {
        0 => {
            let mut bytes = Vec::new();
            let unpacked = Expanding::over(page.budget(), ZlibDecoder::new(packed));
            // What comes before damage is still a drawing.
            let _ = unpacked.take(limits::EXTRACT_WHOLE_BYTES_MAX).read_to_end(&mut bytes);
            bytes
        }
        _ => packed.to_vec(),
    };
    (!bytes.is_empty()).then(|| (data[..DIGEST_BYTES].to_vec(), bytes, HEAD_BYTES + length))
}

#[cfg(test)]
pub(super) mod tests {
    use std::io::Write;

    /// A record with a drawing that is packed or not.
    pub(in super::super) fn record(drawing: &[u8], digest: u8, is_packed: bool) -> Vec<u8> {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(drawing).unwrap();
        let packed = if is_packed { encoder.finish().unwrap() } else { drawing.to_vec() };
        let mut data = vec![digest; 16];
        data.extend([0; 32]);
        data.extend([if is_packed { 0 } else { 0xfe }, 0xfe]);
        data.extend(packed);
        [&[0x60, 0x21, 0x1b, 0xf0], (data.len() as u32).to_le_bytes().as_slice(), &data].concat()
    }

    /// A drawing with a word.
    pub(in super::super) fn drawing(word: &[u8; 3]) -> Vec<u8> {
        let mut bytes = vec![1, 0, 9, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        bytes.extend([8, 0, 0, 0, 0x21, 5, 3, 0]);
        bytes.extend(word);
        bytes.extend([0, 1, 0, 1, 0]);
        bytes
    }
}
