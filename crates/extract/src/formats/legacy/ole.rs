//! Embedded objects as programs hand them to each other: packages with a file in them, and how rich text writes objects.

use crate::decode::codepages::narrow;
use crate::little_endian::{u16_at, u32_at};
use crate::page::TextSink;
use crate::{decode, detect, pictures};

/// Opens a drawing that rich text holds in hexadecimal digits; other pictures have words for those who look at them.
pub(crate) fn picture_from_hex(digits: &[u8], sink: &mut TextSink<'_>) {
    let bytes = unhex(digits);
    let Some(kind) = detect::by_content(&bytes, "") else { return };
    if matches!(kind, "image/emf" | "image/wmf") || (sink.is_seeing() && pictures::MEDIA.contains(&kind)) {
        sink.inner(&format!("picture.{}", &kind[6..]), bytes);
    }
}

/// Opens an object that rich text holds in hexadecimal digits.
pub(crate) fn from_hex(digits: &[u8], sink: &mut TextSink<'_>) {
    let bytes = unhex(digits);
    // Version, kind (2 = embedded), then three names with their lengths, then the content with its length.
    if u32_at(&bytes, 4) != 2 {
        return;
    }
    let class_length = u32_at(&bytes, 8) as usize;
    let class = bytes.get(12..).and_then(|rest| rest.get(..class_length)).unwrap_or_default();
    let class = narrow(class, encoding_rs::WINDOWS_1252);
    let class = class.trim_end_matches('\0').to_owned();
    let mut at = 12usize.saturating_add(class_length);
    for _ in 0..2 {
        at = at.saturating_add(4).saturating_add(u32_at(&bytes, at) as usize);
    }
    let length = u32_at(&bytes, at) as usize;
    let Some(content) = bytes.get(at.saturating_add(4)..) else { return };
    let content = content.get(..length).unwrap_or(content);
    match package_of(content).filter(|_| class == "Package") {
        Some((name, content)) => sink.part(&name, None, content),
        None if detect::by_content(content, "") == Some(detect::OLE) => sink.inner(&class, content.to_vec()),
        None => {}
    }
}

fn unhex(digits: &[u8]) -> Vec<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).unwrap_or(0) as u8;
    digits.chunks_exact(2).map(|two| digit(two[0]) << 4 | digit(two[1])).collect()
}

/// Label, name and content: two bytes, two names, four bytes, a path, the content.
pub(crate) fn package_of(bytes: &[u8]) -> Option<(String, Vec<u8>)> {
    if u16_at(bytes, 0) != 2 {
        return None;
    }
    let (label, rest) = ended(bytes.get(2..)?)?;
    let (path, rest) = ended(rest)?;
    let rest = rest.get(4..)?;
    let path_length = u32_at(rest, 0) as usize;
    let rest = rest.get(4usize.checked_add(path_length)?..)?;
    let length = u32_at(rest, 0) as usize;
    let content = rest.get(4..)?;
    let content = content.get(..length).unwrap_or(content);
    let name = [label, path].into_iter().find(|name| !name.is_empty()).unwrap_or_default();
    let name = decode::whole(name, Some(encoding_rs::WINDOWS_1252));
    let name = name.rsplit(['\\', '/']).next().unwrap_or_default().to_owned();
    Some((name, content.to_vec()))
}

/// Bytes up to a zero, and what follows it.
fn ended(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().take(1_024).position(|byte| *byte == 0)?;
    Some((&bytes[..end], &bytes[end + 1..]))
}

#[cfg(test)]
pub(super) mod tests {
    use crate::formats::tests::extract;

    /// A file in a package.
    pub(crate) fn package(name: &str, content: &[u8]) -> Vec<u8> {
        let mut bytes = vec![2, 0];
        bytes.extend(name.as_bytes());
        bytes.extend(b"\0C:\\tmp\\x\0\0\0\x03\0");
        bytes.extend(3u32.to_le_bytes());
        bytes.extend(b"p\0\0");
        bytes.extend((content.len() as u32).to_le_bytes());
        bytes.extend(content);
        bytes
    }

    #[test]
    fn rich_text_holds_objects_in_digits() {
        let package = package("note.txt", b"dropped words");
        let mut object = [1u32.to_le_bytes(), 2u32.to_le_bytes(), 8u32.to_le_bytes()].concat();
        object.extend(b"Package\0");
        object.extend([0; 8]);
        object.extend((package.len() as u32).to_le_bytes());
        object.extend(&package);
        let digits: String = object.iter().map(|byte| format!("{byte:02x}")).collect();
        let extracted =
            extract("a.rtf", format!("{{\\rtf1 text{{\\object{{\\*\\objdata {digits}}}}}}}").as_bytes());
        assert_eq!(extracted.parts[0].text, "dropped words");
        assert_eq!(extracted.text, "text\nnote.txt");
    }
}
