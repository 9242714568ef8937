//! Embedded objects in containers: packages, and documents of other programs.

use super::container::Storage;
use super::storage;
use crate::formats::legacy::ole::package_of;
use crate::page::TextSink;

/// Opens an embedded object as a part, unless there is nothing to read in it.
pub(super) fn part(object: &Storage<'_>, sink: &mut TextSink<'_>) {
    if let Some((name, bytes)) = packaged(object).or_else(|| wrapped(object)) {
        return match name.is_empty() {
            true => sink.inner(object.name(), bytes),
            false => sink.part(&name, None, bytes),
        };
    }
    let known = ["WordDocument", "Workbook", "Book", "PowerPoint Document", "EncryptedPackage"];
    let names = object.stream_names();
    if !names.iter().any(|name| known.iter().any(|known| known.eq_ignore_ascii_case(name))) {
        return;
    }
    sink.inner_by(object.name(), |sink| {
        if let Err(parse_error) = storage(object, sink) {
            sink.reason(parse_error.0);
        }
        sink.note_if_empty();
    });
}

/// Reads a storage that wraps a single file; whether it does.
pub(super) fn read(object: &Storage<'_>, sink: &mut TextSink<'_>) -> bool {
    match packaged(object).or_else(|| wrapped(object)) {
        Some((name, bytes)) if !bytes.is_empty() => {
            sink.part(&name, None, bytes);
            true
        }
        _ => false,
    }
}

/// The content of a file that a program put into a stream as it is.
fn wrapped(object: &Storage<'_>) -> Option<(String, Vec<u8>)> {
    let bytes = ["Package", "CONTENTS"].iter().find_map(|name| object.stream(name))?;
    Some((String::new(), bytes)).filter(|(_, bytes)| !bytes.is_empty())
}

/// The name and content of a file that was dropped into a document.
fn packaged(object: &Storage<'_>) -> Option<(String, Vec<u8>)> {
    let bytes = object.stream("\u{1}Ole10Native")?;
    let package = bytes.get(4..)?;
    package_of(package).or_else(|| Some((String::new(), package.to_vec())))
}

#[cfg(test)]
mod tests {
    use super::super::container::tests::container;
    use crate::formats::legacy::ole::tests::package;
    use crate::formats::tests::extract;

    #[test]
    fn a_dropped_file_keeps_its_name() {
        let package = package("note.txt", b"dropped words");
        let native = [(package.len() as u32).to_le_bytes().as_slice(), &package].concat();
        let extracted = extract("oleObject1.bin", &container(&[("\u{1}Ole10Native", &native)]));
        assert_eq!(
            (extracted.parts[0].name.as_str(), extracted.parts[0].text.as_str()),
            ("note.txt", "dropped words")
        );
    }
}
