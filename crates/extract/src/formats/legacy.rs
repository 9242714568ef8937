//! Files in OLE containers: Word, Excel, PowerPoint and Outlook before 2007, and embedded objects; what else Outlook writes.

mod art;
mod container;
pub(crate) mod message;
pub(crate) mod object;
pub(crate) mod ole;
mod outlook;
mod properties;
mod protection;
mod slides;
pub(crate) mod store;
pub(crate) mod tnef;
mod word;
mod workbook;

use std::collections::HashSet;

pub(crate) use self::container::MAGIC;
use self::container::{Container, Storage};
use crate::Input;
use crate::decode::codepages::{codepage, narrow, utf16};
use crate::little_endian::{f64_at, u16_at, u32_at};
use crate::page::{Outcome, ParseError, TextSink};
use crate::{decode, detect};

/// Reads whatever an OLE file holds, or an old workbook without a container.
pub(crate) fn read(input: Input, sink: &mut TextSink<'_>) -> Outcome {
    let bytes = input.into_bytes()?;
    if !bytes.starts_with(&container::MAGIC) {
        if bytes.first() == Some(&9) {
            sink.set_media_type("application/vnd.ms-excel");
            return workbook::stream(&bytes, sink);
        }
        return Err("this version of the format is too old to be read".into());
    }
    let container = Container::open(bytes)?;
    storage(&container.root(), sink)
}

/// Reads what a storage holds, by the names of its streams. Slides that were saved for two versions of PowerPoint stand
/// there twice, those of the newer one in a storage of their own.
fn storage(storage: &Storage<'_>, sink: &mut TextSink<'_>) -> Outcome {
    let newer = storage.storage("PP97_DUALSTORAGE");
    let storage = newer.as_ref().unwrap_or(storage);
    properties::read(storage, sink);
    if storage.stream("EncryptedPackage").is_some() {
        let package = protection::package(storage, sink.options())?;
        crate::formats::read(sink, None, package.into());
        return Ok(());
    }
    let outcome = if let Some(bytes) = storage.stream("WordDocument") {
        sink.set_media_type("application/msword");
        word::read(storage, &bytes, sink)
    } else if let Some(bytes) = storage.stream("Workbook").or_else(|| storage.stream("Book")) {
        sink.set_media_type("application/vnd.ms-excel");
        workbook::stream(&bytes, sink)
    } else if let Some(bytes) = storage.stream("PowerPoint Document") {
        sink.set_media_type("application/vnd.ms-powerpoint");
        slides::read(storage, &bytes, sink)
    } else if storage.stream("__properties_version1.0").is_some() {
        sink.set_media_type("application/vnd.ms-outlook");
        return outlook::read(storage, sink);
    } else if let Some((_, media)) = UNREAD.iter().find(|(name, _)| storage.has(name)) {
        sink.set_media_type(media);
        return Err(ParseError(detect::unsupported(media)));
    } else if object::read(storage, sink) {
        Ok(())
    } else {
        Err(unknown(storage))
    };
    embedded(storage, sink);
    let mut met = HashSet::new();
    // Where Word and PowerPoint keep the drawings of their documents.
    for name in ["Data", "WordDocument", "Pictures"] {
        art::drawings(&storage.stream(name).unwrap_or_default(), &mut met, sink);
    }
    outcome
}

/// Streams and storages by which formats are known that have no reader.
const UNREAD: &[(&str, &str)] = &[
    ("Quill", "application/x-mspublisher"),
    ("VisioDocument", "application/vnd.visio"),
    ("   114", "application/vnd.ms-project"),
    ("MatOST", "application/vnd.ms-works"),
];

/// What is said of a container that nothing is known of, but perhaps what it calls itself.
fn unknown(storage: &Storage<'_>) -> ParseError {
    let about = storage.stream("\u{1}CompObj").unwrap_or_default();
    let length = u32_at(&about, 28) as usize;
    let name = about.get(32..).and_then(|rest| rest.get(..length.min(NAME_BYTES_MAX))).unwrap_or_default();
    let name = decode::whole(name, Some(encoding_rs::WINDOWS_1252));
    match name.trim_matches(|c: char| c.is_control() || c.is_whitespace()) {
        "" => ParseError("unsupported: a container (OLE) of a format that is not known".to_owned()),
        name => ParseError(format!("unsupported: {name}")),
    }
}

/// Bytes of what a container calls itself.
const NAME_BYTES_MAX: usize = 100;

/// Opens the objects that programs embed in storages of their own.
fn embedded(storage: &Storage<'_>, sink: &mut TextSink<'_>) {
    for child in storage.storages() {
        let name = child.name();
        if name == "ObjectPool" {
            for object in child.storages() {
                object::part(&object, sink);
            }
        } else if name.starts_with("MBD") || name.starts_with("Object ") {
            object::part(&child, sink);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::container::tests::{container, container_with};
    use crate::formats::tests::extract;

    #[test]
    fn slides_that_stand_there_for_two_versions_are_read_for_the_newer_one() {
        let slides = |words: &str| {
            let wide: Vec<u8> = words.encode_utf16().flat_map(u16::to_le_bytes).collect();
            [&[0, 0, 0xa0, 0x0f][..], &(wide.len() as u32).to_le_bytes(), &wide].concat()
        };
        let (old, new) = (slides("words of before"), slides("new words"));
        let both = container_with(
            &[("PowerPoint Document", &old)],
            "PP97_DUALSTORAGE",
            &[("PowerPoint Document", &new)],
        );
        let extracted = extract("a.ppt", &both);
        assert_eq!(extracted.media_type, "application/vnd.ms-powerpoint");
        assert!(extracted.text.contains("new words") && !extracted.text.contains("before"), "{extracted:?}");
    }

    #[test]
    fn formats_without_a_reader_are_named() {
        let extracted = extract("a.pub", &container(&[("Contents", b"CHNKINK words"), ("Quill", b"x")]));
        assert_eq!(extracted.reason.as_deref(), Some("unsupported: a Publisher document (PUB)"));
        assert_eq!((extracted.media_type.as_str(), extracted.parts.len()), ("application/x-mspublisher", 0));
        let extracted = extract("a.vsd", &container(&[("VisioDocument", b"words")]));
        assert_eq!(extracted.reason.as_deref(), Some("unsupported: a Visio drawing before 2013 (VSD)"));
        let about = [[0; 28].as_slice(), &[12, 0, 0, 0], b"Odd Program\0"].concat();
        let extracted = extract("a", &container(&[("\u{1}CompObj", &about)]));
        assert_eq!(extracted.reason.as_deref(), Some("unsupported: Odd Program"));
    }
}
