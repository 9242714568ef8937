//! Single files that are packed: GZ, BZ2, XZ. What is inside is a part named as the file without its ending.

use std::io::{self, BufRead, BufReader, Read};

use flate2::read::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use crate::little_endian::u32_at;
use crate::page::{Expanding, Outcome, Stated, TextSink};
use crate::{Input, dates};

/// A file packed by gzip; several one after the other count as one.
pub(crate) fn gzip(mut input: Input, sink: &mut TextSink<'_>) -> Outcome {
    let head = input.head(512)?;
    let name = gzip_name(&head);
    let seconds = head.get(4..8).map(|time| u32_at(time, 0));
    let modified = seconds.and_then(|seconds| dates::stated(seconds.into()));
    unpack(MultiGzDecoder::new(BufReader::new(input)), (name, modified), sink)
}

/// A file packed by bzip2.
pub(crate) fn bzip2(input: Input, sink: &mut TextSink<'_>) -> Outcome {
    unpack(bzip2_rs::DecoderReader::new(BufReader::new(input)), (None, None), sink)
}

/// A file packed by xz.
pub(crate) fn xz(input: Input, sink: &mut TextSink<'_>) -> Outcome {
    unpack(lzma_rust2::XzReader::new(BufReader::new(input), true), (None, None), sink)
}

/// A file packed by zstd; several one after the other count as one.
pub(crate) fn zstd(input: Input, sink: &mut TextSink<'_>) -> Outcome {
    unpack(Frames { input: BufReader::new(input), frame: None }, (None, None), sink)
}

/// Frames of zstd that follow each other.
struct Frames {
    input: BufReader<Input>,
    frame: Option<Box<FrameDecoder>>,
}

impl Read for Frames {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let frame = match &mut self.frame {
                Some(frame) => frame,
                None if self.input.fill_buf()?.is_empty() => return Ok(0),
                None => {
                    let mut frame = Box::new(FrameDecoder::new());
                    match frame.init(&mut self.input) {
                        Ok(()) => {}
                        // Frames that hold nothing for people.
                        Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                            length,
                            ..
                        })) => {
                            io::copy(&mut self.input.by_ref().take(length.into()), &mut io::sink())?;
                            continue;
                        }
                        Err(error) => return Err(io::Error::other(error)),
                    }
                    self.frame.insert(frame)
                }
            };
            while frame.can_collect() == 0 && !frame.is_finished() {
                let blocks = BlockDecodingStrategy::UptoBlocks(1);
                frame.decode_blocks(&mut self.input, blocks).map_err(io::Error::other)?;
            }
            let length = frame.read(buffer)?;
            if length > 0 || buffer.is_empty() {
                return Ok(length);
            }
            self.frame = None;
        }
    }
}

/// Name and time are those that are told beside the content.
fn unpack(
    packed: impl Read,
    (name, modified): (Option<String>, Option<i64>),
    sink: &mut TextSink<'_>,
) -> Outcome {
    let name = name.unwrap_or_else(|| inner_name(sink.name()));
    let mut packed = Expanding::over(sink.budget(), packed);
    let (input, outcome) = sink.budget().collect(&name, &mut packed);
    // Of plain text no more is taken than matters; how long it is all in all is not worth unpacking it.
    let is_whole = outcome.is_ok() && matches!(packed.read(&mut [0]), Ok(0));
    if outcome.is_ok() || !input.is_empty() {
        let stated = Stated { size: Some(input.len()).filter(|_| is_whole), modified };
        sink.member(&name, stated, None, input);
    }
    Ok(outcome?)
}

/// The name without the ending that says how it is packed.
fn inner_name(name: &str) -> String {
    let name = name.rsplit('/').next().unwrap_or(name);
    match name.rsplit_once('.') {
        Some((stem, ending))
            if matches!(ending.to_lowercase().as_str(), "tgz" | "tbz" | "tbz2" | "txz" | "tzst") =>
        {
            format!("{stem}.tar")
        }
        Some((stem, _)) if !stem.is_empty() => stem.to_owned(),
        _ => name.to_owned(),
    }
}

/// The name that gzip writes beside the content.
fn gzip_name(head: &[u8]) -> Option<String> {
    let flags = *head.get(3)?;
    if flags & 8 == 0 {
        return None;
    }
    let mut rest = head.get(10..)?;
    if flags & 4 != 0 {
        let length = usize::from(u16::from_le_bytes([*rest.first()?, *rest.get(1)?]));
        rest = rest.get(2 + length..)?;
    }
    let end = rest.iter().position(|byte| *byte == 0)?;
    let name = crate::decode::whole(&rest[..end], None);
    let name = name.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::archives::tar::tests::tar;
    use crate::formats::tests::extract;
    use std::io::Write;

    fn gz(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn a_packed_archive_is_opened_twice() {
        let extracted = extract("a.tgz", &gz(&tar(&[("x.txt", b'0', b"inside")])));
        assert_eq!(extracted.parts[0].name, "a.tar");
        assert_eq!(extracted.parts[0].parts[0].text, "inside");
    }

    #[test]
    fn several_packed_files_in_a_row_are_one_and_a_cut_is_said() {
        let bytes = [gz(b"one "), gz(b"two")].concat();
        assert_eq!(extract("a.txt.gz", &bytes).parts[0].text, "one two");
        let noise: Vec<u8> = (0..5_000u32).map(|at| b'a' + (at.wrapping_mul(at) >> 7) as u8 % 26).collect();
        let bytes = gz(&noise);
        let cut = extract("a.txt.gz", &bytes[..bytes.len() / 2]);
        assert!(!cut.parts[0].text.is_empty());
        assert!(cut.reason.is_some());
    }

    #[test]
    fn frames_of_zstd_are_read_one_after_the_other() {
        // `one ` and `two`, stored; between them a frame to skip.
        let frame = |content: &[u8]| {
            let block = (content.len() as u32) << 3 | 1;
            [b"\x28\xb5\x2f\xfd\x20", [content.len() as u8].as_slice(), &block.to_le_bytes()[..3], content]
                .concat()
        };
        let skipped = b"\x50\x2a\x4d\x18\x03\0\0\0abc";
        let bytes = [frame(b"one ").as_slice(), skipped, &frame(b"two")].concat();
        assert_eq!(extract("a.txt.zst", &bytes).parts[0].text, "one two");
        assert_eq!(extract("a.txt.zst", &bytes).parts[0].name, "a.txt");
        let cut = extract("a.txt.zst", &bytes[..bytes.len() - 2]);
        assert!(cut.reason.is_some());
    }

    #[test]
    fn names_lose_their_last_ending() {
        assert_eq!(inner_name("dir/a.txt.gz"), "a.txt");
        assert_eq!(inner_name("a.TGZ"), "a.tar");
        assert_eq!(inner_name("plain"), "plain");
    }
}
