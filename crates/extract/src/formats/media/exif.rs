//! What pictures say about themselves: size, camera, dates, words of people (JPEG, TIFF, PNG, GIF, WebP).

use crate::page::TextSink;

/// Entries of one list of tags.
const ENTRIES_MAX: usize = 1_000;

/// Tags of EXIF and TIFF that people look for.
const TAGS: &[(u16, &str)] = &[
    (0x0100, "width"),
    (0x0101, "height"),
    (0x010e, "description"),
    (0x010f, "camera_maker"),
    (0x0110, "camera"),
    (0x0131, "generator"),
    (0x013b, "author"),
    (0x8298, "copyright"),
    (0x9003, "created"),
    (0x9286, "comment"),
    (0xa002, "width"),
    (0xa003, "height"),
    (0x9c9b, "title"),
    (0x9c9e, "keywords"),
];

/// Reads what a picture says.
pub(super) fn read(bytes: &[u8], sink: &mut TextSink<'_>) {
    match bytes {
        [0xff, 0xd8, ..] => jpeg(bytes, sink),
        [0x89, b'P', b'N', b'G', ..] => png(bytes, sink),
        [b'I', b'I', b'*', 0, ..] | [b'M', b'M', 0, b'*', ..] => tags(bytes, sink),
        [b'G', b'I', b'F', ..] if bytes.len() > 10 => {
            size(
                sink,
                u32::from(bytes[6]) | u32::from(bytes[7]) << 8,
                u32::from(bytes[8]) | u32::from(bytes[9]) << 8,
            );
        }
        [b'R', b'I', b'F', b'F', ..] => {
            if let Some(at) = bytes.windows(4).position(|four| four == b"EXIF") {
                tags(bytes.get(at + 8..).unwrap_or_default(), sink);
            }
        }
        _ => {}
    }
}

fn size(sink: &mut TextSink<'_>, width: u32, height: u32) {
    sink.field("width", &width.to_string());
    sink.field("height", &height.to_string());
}

fn big_u16(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..).and_then(|rest| rest.get(..2)).map_or(0, |two| u16::from_be_bytes([two[0], two[1]]))
}

fn big_u32(bytes: &[u8], at: usize) -> u32 {
    u32::from(big_u16(bytes, at)) << 16 | u32::from(big_u16(bytes, at.saturating_add(2)))
}

fn jpeg(bytes: &[u8], sink: &mut TextSink<'_>) {
    let mut at = 2;
    while bytes.get(at) == Some(&0xff) {
        let kind = bytes.get(at + 1).copied().unwrap_or(0xd9);
        let length = usize::from(big_u16(bytes, at + 2));
        let Some(segment) = bytes.get(at + 4..).and_then(|rest| rest.get(..length.saturating_sub(2))) else {
            break;
        };
        match kind {
            0xe1 if segment.starts_with(b"Exif\0\0") => tags(&segment[6..], sink),
            0xfe => sink.field("comment", &String::from_utf8_lossy(segment)),
            0xc0..=0xc3 => size(sink, u32::from(big_u16(segment, 3)), u32::from(big_u16(segment, 1))),
            0xd9 | 0xda => break,
            _ => {}
        }
        at += 2 + length.max(2);
    }
}

fn png(bytes: &[u8], sink: &mut TextSink<'_>) {
    let mut at = 8;
    while let Some(kind) = bytes.get(at + 4..at + 8) {
        let length = big_u32(bytes, at) as usize;
        let Some(chunk) = bytes.get(at + 8..).and_then(|rest| rest.get(..length)) else { break };
        match kind {
            b"IHDR" => size(sink, big_u32(chunk, 0), big_u32(chunk, 4)),
            b"eXIf" => tags(chunk, sink),
            b"tEXt" | b"iTXt" => words(chunk, sink),
            b"IEND" => break,
            _ => {}
        }
        at += 12 + length;
    }
}

/// A key and its value; in the international form the value comes after two more words, and may be packed.
fn words(chunk: &[u8], sink: &mut TextSink<'_>) {
    let text = String::from_utf8_lossy(chunk);
    let mut pieces = text.split('\0');
    let (key, value) = (pieces.next().unwrap_or_default(), pieces.next_back().unwrap_or_default());
    let field = match key {
        "Title" => "title",
        "Author" => "author",
        "Description" => "description",
        "Copyright" => "copyright",
        "Software" => "generator",
        "Comment" => "comment",
        "Creation Time" => "created",
        _ => return,
    };
    sink.field(field, value);
}

/// Reads the lists of tags of a TIFF file or of the TIFF file inside a picture.
fn tags(tiff: &[u8], sink: &mut TextSink<'_>) {
    let big = tiff.starts_with(b"MM");
    let two = |at: usize| {
        let value = big_u16(tiff, at);
        if big { value } else { value.swap_bytes() }
    };
    let four = |at: usize| {
        let value = big_u32(tiff, at);
        if big { value } else { value.swap_bytes() }
    };
    let mut lists = vec![four(4) as usize];
    let mut met = 0;
    while let Some(list) = lists.pop().filter(|_| met < 4) {
        met += 1;
        let count = usize::from(two(list)).min(ENTRIES_MAX);
        for entry in (0..count).map(|number| list.saturating_add(2 + number * 12)) {
            let (tag, kind, length) =
                (two(entry), two(entry.saturating_add(2)), four(entry.saturating_add(4)) as usize);
            let value = entry.saturating_add(8);
            if tag == 0x8769 {
                lists.push(four(value) as usize);
            }
            let Some((_, field)) = TAGS.iter().find(|(known, _)| *known == tag) else { continue };
            let at = if length > 4 { four(value) as usize } else { value };
            let raw = tiff.get(at..).map(|rest| &rest[..length.min(rest.len())]).unwrap_or_default();
            let text = match kind {
                2 => crate::decode::whole(raw, None),
                3 => two(value).to_string(),
                4 => four(value).to_string(),
                // Words of Windows programs.
                1 if tag >= 0x9c00 => crate::decode::whole(raw, Some(encoding_rs::UTF_16LE)),
                7 if raw.starts_with(b"ASCII\0\0\0") => crate::decode::whole(&raw[8..], None),
                _ => continue,
            };
            sink.field(field, &text);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::formats::tests::extract;

    /// A TIFF file with these tags of text.
    fn tiff(tags: &[(u16, &str)]) -> Vec<u8> {
        let mut bytes = vec![b'I', b'I', b'*', 0, 8, 0, 0, 0];
        let mut values: Vec<u8> = Vec::new();
        let values_at = 8 + 2 + tags.len() * 12 + 4;
        bytes.extend((tags.len() as u16).to_le_bytes());
        for (tag, text) in tags {
            bytes.extend(tag.to_le_bytes());
            bytes.extend(2u16.to_le_bytes());
            bytes.extend((text.len() as u32).to_le_bytes());
            bytes.extend(((values_at + values.len()) as u32).to_le_bytes());
            values.extend(text.as_bytes());
        }
        bytes.extend([0; 4]);
        bytes.extend(values);
        bytes
    }

    #[test]
    fn a_picture_tells_its_camera_and_its_size() {
        let exif = tiff(&[(0x0110, "Camera X"), (0x013b, "Ann Author")]);
        let mut bytes = vec![0xff, 0xd8, 0xff, 0xe1];
        bytes.extend((exif.len() as u16 + 8).to_be_bytes());
        bytes.extend(b"Exif\0\0");
        bytes.extend(exif);
        bytes.extend([0xff, 0xc0, 0, 8, 8, 0, 30, 0, 40, 0, 0xff, 0xd9]);
        let extracted = extract("a.jpg", &bytes);
        assert_eq!(
            (extracted.field("camera"), extracted.field("author")),
            (Some("Camera X"), Some("Ann Author"))
        );
        assert_eq!((extracted.field("width"), extracted.field("height")), (Some("40"), Some("30")));
        assert_eq!(extracted.reason.as_deref(), Some("a picture has no text"));
    }

    #[test]
    fn words_in_a_png_are_fields() {
        let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
        bytes.extend([0, 0, 0, 10]);
        bytes.extend(b"tEXtTitle\0Mine\0\0\0\0");
        assert_eq!(extract("a.png", &bytes).field("title"), Some("Mine"));
    }
}
