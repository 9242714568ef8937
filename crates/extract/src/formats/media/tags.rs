//! What sound says about itself: ID3, Vorbis comments, and the atoms of MP4.

use encoding_rs::{UTF_16BE, UTF_16LE};

use crate::decode;
use crate::page::TextSink;

/// Tags of one file.
const TAGS_MAX: usize = 1_000;

/// Reads tags from the beginning of a file and its last 128 bytes.
pub(super) fn read(head: &[u8], tail: &[u8], sink: &mut TextSink<'_>) {
    match head {
        [b'I', b'D', b'3', ..] => frames(head, sink),
        [b'f', b'L', b'a', b'C', ..] => flac(head, sink),
        [b'O', b'g', b'g', b'S', ..] => ogg(head, sink),
        _ if head.get(4..8) == Some(b"ftyp") => atoms(head, sink, 0),
        _ => {}
    }
    if let Some(old) = tail.strip_prefix(b"TAG").filter(|old| old.len() == 125) {
        let text = |range: std::ops::Range<usize>| {
            decode::whole(old[range].split(|byte| *byte == 0).next().unwrap_or_default(), None)
        };
        for (field, value) in [
            ("title", text(0..30)),
            ("artist", text(30..60)),
            ("album", text(60..90)),
            ("comment", text(94..122)),
        ] {
            tag(field, &value, sink);
        }
    }
}

/// A field, whose words are text too.
fn tag(field: &str, value: &str, sink: &mut TextSink<'_>) {
    let value = value.trim_matches(['\0', ' ']);
    if !value.is_empty() && !sink.has_field(field) {
        sink.field(field, value);
        sink.line(value);
    }
}

fn field_of(name: &str) -> Option<&'static str> {
    Some(match name.to_ascii_uppercase().as_str() {
        "TIT2" | "TT2" | "TITLE" | "\u{a9}NAM" => "title",
        "TPE1" | "TP1" | "ARTIST" | "\u{a9}ART" => "artist",
        "TALB" | "TAL" | "ALBUM" | "\u{a9}ALB" => "album",
        "TCON" | "TCO" | "GENRE" | "\u{a9}GEN" => "genre",
        "TDRC" | "TYER" | "TYE" | "DATE" | "\u{a9}DAY" => "created",
        "TCOM" | "TCM" | "COMPOSER" | "\u{a9}WRT" => "composer",
        "COMM" | "COM" | "COMMENT" | "DESCRIPTION" | "\u{a9}CMT" => "comment",
        _ => return None,
    })
}

fn frames(head: &[u8], sink: &mut TextSink<'_>) {
    let version = head.get(3).copied().unwrap_or(0);
    let seven = |bytes: &[u8]| bytes.iter().fold(0usize, |sum, byte| sum << 7 | usize::from(byte & 0x7f));
    let eight = |bytes: &[u8]| bytes.iter().fold(0usize, |sum, byte| sum << 8 | usize::from(*byte));
    let end = head.get(6..10).map_or(0, seven) + 10;
    let mut rest = head.get(10..end.min(head.len())).unwrap_or_default();
    let (name_length, head_length) = if version == 2 { (3, 6) } else { (4, 10) };
    for _ in 0..TAGS_MAX {
        let Some(frame) = rest.get(..head_length).filter(|frame| frame[0] != 0) else { break };
        let size = match version {
            2 => eight(&frame[3..6]),
            3 => eight(&frame[4..8]),
            _ => seven(&frame[4..8]),
        };
        let Some(content) = rest.get(head_length..).and_then(|rest| rest.get(..size)) else { break };
        let name = String::from_utf8_lossy(&frame[..name_length]).into_owned();
        if let (Some(field), Some((charset, text))) = (field_of(&name), content.split_first()) {
            // A remark begins with its language and a label.
            let text = if field == "comment" { text.get(3..).unwrap_or_default() } else { text };
            let text = match charset {
                1 if text.starts_with(&[0xff, 0xfe]) || text.starts_with(&[0xfe, 0xff]) => {
                    decode::whole(text, None)
                }
                1 => decode::whole(text, Some(UTF_16LE)),
                2 => decode::whole(text, Some(UTF_16BE)),
                _ => decode::whole(text, None),
            };
            tag(field, text.trim_matches(['\0', '\u{feff}']).rsplit('\0').next().unwrap_or_default(), sink);
        }
        rest = &rest[head_length + size..];
    }
}

fn u32_at(bytes: &[u8], at: usize) -> usize {
    bytes
        .get(at..)
        .and_then(|rest| rest.get(..4))
        .map_or(0, |four| u32::from_le_bytes([four[0], four[1], four[2], four[3]]) as usize)
}

/// Lines of the form `TITLE=…`, each with its length.
fn comments(bytes: &[u8], sink: &mut TextSink<'_>) {
    let mut at = 4usize.saturating_add(u32_at(bytes, 0));
    let count = u32_at(bytes, at).min(TAGS_MAX);
    at = at.saturating_add(4);
    for _ in 0..count {
        let length = u32_at(bytes, at);
        let Some(line) = bytes.get(at.saturating_add(4)..).and_then(|rest| rest.get(..length)) else { break };
        if let Some((name, value)) = String::from_utf8_lossy(line).split_once('=')
            && let Some(field) = field_of(name)
        {
            tag(field, value, sink);
        }
        at += 4 + length;
    }
}

fn flac(head: &[u8], sink: &mut TextSink<'_>) {
    let mut at = 4;
    while let Some(block) = head.get(at..at + 4) {
        let length = usize::from(block[1]) << 16 | usize::from(block[2]) << 8 | usize::from(block[3]);
        if block[0] & 0x7f == 4 {
            comments(head.get(at + 4..).unwrap_or_default(), sink);
        }
        if block[0] & 0x80 != 0 {
            break;
        }
        at += 4 + length;
    }
}

fn ogg(head: &[u8], sink: &mut TextSink<'_>) {
    for mark in [b"\x03vorbis".as_slice(), b"OpusTags"] {
        if let Some(at) = head.windows(mark.len()).take(64 << 10).position(|word| word == mark) {
            comments(&head[at + mark.len()..], sink);
        }
    }
}

/// The atoms of an MP4 file, down to its tags.
fn atoms(bytes: &[u8], sink: &mut TextSink<'_>, depth: usize) {
    let big = |bytes: &[u8]| bytes.iter().fold(0usize, |sum, byte| sum << 8 | usize::from(*byte));
    let mut rest = bytes;
    for _ in 0..TAGS_MAX {
        let Some(head) = rest.get(..8) else { break };
        let size = big(&head[..4]);
        let Some(inside) = rest.get(8..size.min(rest.len())).filter(|_| size >= 8) else { break };
        match &head[4..] {
            b"moov" | b"udta" | b"ilst" if depth < 8 => atoms(inside, sink, depth + 1),
            b"meta" if depth < 8 => atoms(inside.get(4..).unwrap_or_default(), sink, depth + 1),
            name => {
                let name: String = name.iter().map(|byte| char::from(*byte)).collect();
                if let Some(field) = field_of(&name)
                    && inside.get(4..8) == Some(b"data")
                {
                    tag(field, &decode::whole(inside.get(16..).unwrap_or_default(), None), sink);
                }
            }
        }
        rest = rest.get(size..).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use crate::formats::tests::extract;

    #[test]
    fn titles_of_songs_are_read() {
        let mut bytes = b"ID3\x03\0\0\0\0\0\x20TIT2\0\0\0\x06\0\0\0Songs".to_vec();
        bytes.extend(b"TPE1\0\0\0\x05\0\0\x01\xff\xfeA\0");
        bytes.extend([0; 200]);
        let extracted = extract("a.mp3", &bytes);
        assert_eq!((extracted.field("title"), extracted.field("artist")), (Some("Songs"), Some("A")));
        let comment = b"TITLE=Tune";
        let mut flac = b"fLaC\x84\0\0\x1a\x04\0\0\0test\x01\0\0\0".to_vec();
        flac.extend((comment.len() as u32).to_le_bytes());
        flac.extend(comment);
        assert_eq!(extract("a.flac", &flac).text, "Tune");
    }
}
