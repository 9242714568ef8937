//! Drawings that old office files keep among their shapes ([MS-ODRAW]): those of Windows have words.

use std::collections::HashSet;
use std::io::Read;

use flate2::read::ZlibDecoder;
use ingather_model::limits;

use super::{u16_at, u32_at};
use crate::page::{Expanding, TextSink};

/// Drawings of one file.
const DRAWINGS_MAX: usize = 1_000;
/// Bytes of a record's head, of the digest of a drawing, and of what is said of it.
const HEAD_BYTES: usize = 8;
const DIGEST_BYTES: usize = 16;
const ABOUT_BYTES: usize = 34;
/// Records of a lower kind are drawings (EMF, WMF, PICT), those of a higher one pictures made of dots.
const KIND_OF_DRAWINGS_MAX: u16 = 0xf01c;

/// Opens the drawings in a stream. They are looked for by their heads, because what leads to them differs from program to
/// program. `met` holds the digests of those that were opened.
pub(super) fn drawings(stream: &[u8], met: &mut HashSet<Vec<u8>>, sink: &mut TextSink<'_>) {
    let mut at = 0;
    while let Some(found) = stream.get(at..).and_then(|rest| next(rest, sink.is_seeing())) {
        at += found;
        let Some((digest, bytes, length)) = drawing(&stream[at..], sink) else {
            at += 1;
            continue;
        };
        at += length;
        if met.len() < DRAWINGS_MAX && met.insert(digest) {
            sink.inner("", bytes);
        }
    }
}

/// Where the next head stands: its version and instance, then its kind. Drawings have words of their own; JPEG, PNG and TIFF have
/// some for those who look at pictures.
fn next(stream: &[u8], is_seeing: bool) -> Option<usize> {
    stream.windows(4).position(|four| match four {
        [0x40 | 0x50, 0x3d, 0x1a, 0xf0] | [0x60 | 0x70, 0x21, 0x1b, 0xf0] => true,
        [0xa0 | 0xb0, 0x46, 0x1d, 0xf0] | [0x20 | 0x30, 0x6e, 0x1d, 0xf0] => is_seeing,
        [0x00 | 0x10, 0x6e, 0x1e, 0xf0] | [0x40 | 0x50, 0x6e, 0x29, 0xf0] => is_seeing,
        _ => false,
    })
}

/// The drawing whose head stands at the beginning: its digest, its bytes, and its length in the stream.
fn drawing(record: &[u8], sink: &TextSink<'_>) -> Option<(Vec<u8>, Vec<u8>, usize)> {
    let length = u32_at(record, 4) as usize;
    let data = record.get(HEAD_BYTES..)?.get(..length)?;
    // Odd instances have a second digest.
    let digests = DIGEST_BYTES * (1 + usize::from(u16_at(record, 0) >> 4 & 1));
    if u16_at(record, 2) > KIND_OF_DRAWINGS_MAX {
        // A mark, and the picture as its program wrote it.
        let bytes = data.get(digests + 1..).filter(|bytes| !bytes.is_empty())?;
        return Some((data[..DIGEST_BYTES].to_vec(), bytes.to_vec(), HEAD_BYTES + length));
    }
    let about = data.get(digests..digests + ABOUT_BYTES)?;
    let packed = data.get(digests + ABOUT_BYTES..)?;
    let bytes = match about[32] {
        0 => {
            let mut bytes = Vec::new();
            let unpacked = Expanding::over(sink.budget(), ZlibDecoder::new(packed));
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

    use crate::formats::tests::{extract, extract_seeing};

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

    #[test]
    fn pictures_are_opened_for_those_who_look_at_them() {
        let picture = [b"GIF89a\x64\0\x64\0\0\0\0".as_slice(), &[0; 8]].concat();
        let record = |head: [u8; 4], digests: usize| {
            let data = [&vec![head[0]; 16 * digests][..], &[0xff], &picture].concat();
            [&head, (data.len() as u32).to_le_bytes().as_slice(), &data].concat()
        };
        let stream = [record([0xa0, 0x46, 0x1d, 0xf0], 1), record([0x10, 0x6e, 0x1e, 0xf0], 2)].concat();
        let book =
            super::super::container::tests::container(&[("Pictures", &stream), ("PowerPoint Document", b"")]);
        let seen = extract_seeing("a.ppt", &book, |_| Ok("seen".to_owned()));
        let texts: Vec<&str> = seen.parts.iter().map(|part| part.text.as_str()).collect();
        assert_eq!(texts, ["seen", "seen"], "{seen:?}");
        assert_eq!(extract("a.ppt", &book).parts, []);
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
