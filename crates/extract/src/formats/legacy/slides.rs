//! PowerPoint before 2007 ([MS-PPT]): the slides that are still there, their notes, remarks and embedded documents.

use std::collections::HashMap;
use std::io::Read;

use encoding_rs::WINDOWS_1252;
use flate2::read::ZlibDecoder;
use ingather_model::limits;

use super::container::Storage;
use super::{narrow, u16_at, u32_at, utf16};
use crate::page::{Expanding, Outcome, TextSink};

/// Records inside each other.
const DEPTH_MAX: usize = 64;

const DOCUMENT: u16 = 0x03e8;
const SLIDE_LIST: u16 = 0x0ff0;
const SLIDE_PLACE: u16 = 0x03f3;
const TEXT_HEAD: u16 = 0x0f9f;
const TEXT_WIDE: u16 = 0x0fa0;
const TEXT_NARROW: u16 = 0x0fa8;
const STRING: u16 = 0x0fba;
const OBJECT: u16 = 0x1011;
const REMARK: u16 = 0x2ee0;
const EDIT: u16 = 0x0ff5;
const DIRECTORY: u16 = 0x1772;
const SHAPE: u16 = 0xf004;
const PLACEHOLDER: u16 = 0x0bc3;
const FOOTERS: u16 = 0x0fd9;

/// One record.
#[derive(Clone, Copy)]
struct Record<'r> {
    kind: u16,
    instance: u16,
    container: bool,
    data: &'r [u8],
}

/// The records that follow each other in `bytes`.
fn records(bytes: &[u8]) -> impl Iterator<Item = Record<'_>> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let head = rest.get(..8)?;
        let length = (u32_at(head, 4) as usize).min(rest.len() - 8);
        let (data, after) = rest[8..].split_at(length);
        rest = after;
        let first = u16_at(head, 0);
        Some(Record { kind: u16_at(head, 2), instance: first >> 4, container: first & 15 == 15, data })
    })
}

/// Reads a presentation.
pub(super) fn read(storage: &Storage<'_>, bytes: &[u8], sink: &mut TextSink<'_>) -> Outcome {
    let current = storage.stream("Current User").unwrap_or_default();
    if u32_at(&current, 12) == 0xf3d1_c4df {
        return Err("unsupported: slides of PowerPoint before 2007 that a password protects".into());
    }
    let (places, document) = directory(bytes, u32_at(&current, 16) as usize);
    let document = document.and_then(|id| record_at(bytes, *places.get(&id)?));
    let Some(document) = document.filter(|record| record.kind == DOCUMENT) else {
        // The way to the slides is damaged: whatever is found is better than nothing.
        for record in records(bytes) {
            text(record, sink, false, 0);
        }
        return Err("its directory is damaged; deleted slides may be among the text".into());
    };
    let lists: Vec<Record<'_>> = records(document.data).filter(|record| record.kind == SLIDE_LIST).collect();
    // Slides, then masters, then notes.
    for instance in [0, 1, 2] {
        for list in lists.iter().filter(|list| list.instance == instance) {
            slides(bytes, &places, *list, sink);
        }
    }
    for footer in records(document.data).filter(|record| record.kind == FOOTERS) {
        text(footer, sink, false, 0);
    }
    let mut objects: Vec<usize> = places.into_values().collect();
    objects.sort_unstable();
    for object in
        objects.into_iter().filter_map(|at| record_at(bytes, at)).filter(|record| record.kind == OBJECT)
    {
        embedded(object, sink);
    }
    Ok(())
}

/// The slides of a list: their outline, then what else stands on them.
fn slides(bytes: &[u8], places: &HashMap<u32, usize>, list: Record<'_>, sink: &mut TextSink<'_>) {
    let (is_shown, masters) = (list.instance == 0, list.instance == 1);
    let mut slide: Option<Record<'_>> = None;
    let (mut number, mut title) = (0, false);
    for record in records(list.data) {
        if record.kind == SLIDE_PLACE {
            if let Some(slide) = slide.take() {
                text(slide, sink, masters, 0);
            }
            sink.line_break();
            number += 1;
            if is_shown {
                sink.page_mark(number);
            }
            slide = places.get(&u32_at(record.data, 0)).and_then(|at| record_at(bytes, *at));
        } else if !masters {
            titled(record, &mut title, sink, |sink| text(record, sink, false, 0));
        }
    }
    if let Some(slide) = slide {
        text(slide, sink, masters, 0);
    }
}

fn record_at(bytes: &[u8], at: usize) -> Option<Record<'_>> {
    records(bytes.get(at..)?).next()
}

/// Where each object of the newest version begins, and the number of the document itself.
fn directory(bytes: &[u8], current: usize) -> (HashMap<u32, usize>, Option<u32>) {
    let (mut places, mut document) = (HashMap::new(), None);
    let mut at = current;
    let mut edits = 0;
    while let Some(edit) = record_at(bytes, at).filter(|record| record.kind == EDIT && edits < 10_000) {
        edits += 1;
        document = document.or(Some(u32_at(edit.data, 16)));
        if let Some(list) =
            record_at(bytes, u32_at(edit.data, 12) as usize).filter(|record| record.kind == DIRECTORY)
        {
            let mut rest = list.data;
            while rest.len() >= 4 {
                let head = u32_at(rest, 0);
                let (first, count) = (head & 0xf_ffff, head >> 20);
                for number in 0..count {
                    let place = rest.get(4 + number as usize * 4..).filter(|rest| rest.len() >= 4);
                    if let Some(place) = place {
                        // Newer versions come first.
                        places.entry(first + number).or_insert(u32_at(place, 0) as usize);
                    }
                }
                rest = rest.get(4 + count as usize * 4..).unwrap_or_default();
            }
        }
        let before = u32_at(edit.data, 8) as usize;
        if before == 0 || before >= at {
            break;
        }
        at = before;
    }
    (places, document)
}

/// Writes all text in a record; of masters without the placeholders, which only say where text goes.
fn text(record: Record<'_>, sink: &mut TextSink<'_>, of_master: bool, depth: usize) {
    if sink.is_full() || depth > DEPTH_MAX {
        return;
    }
    match record.kind {
        TEXT_WIDE => write(&utf16(record.data), sink),
        TEXT_NARROW => write(&narrow(record.data, WINDOWS_1252), sink),
        STRING if depth > 0 => write(&utf16(record.data), sink),
        REMARK => remark(record.data, sink),
        SHAPE if of_master && asks_for_text(record.data, 0) => {}
        FOOTERS => {
            for string in records(record.data).filter(|record| record.kind == STRING) {
                write(&utf16(string.data), sink);
            }
        }
        // Names of programs, sounds, links and looks are no words of the slide.
        0x0409 | 0x07d5 | 0x07e4 | 0x0fc8 | 0x1772 | 0x03f2 | 0x0fb4 => {}
        0x138b => {
            // Strings in here are names of tags; remarks are not.
            for inner in records(record.data).filter(|inner| inner.kind == REMARK) {
                text(inner, sink, of_master, depth + 1);
            }
        }
        _ if record.container => {
            let mut title = false;
            for inner in records(record.data).filter(|inner| inner.kind != STRING) {
                titled(inner, &mut title, sink, |sink| text(inner, sink, of_master, depth + 1));
            }
        }
        _ => {}
    }
}

/// Writes a record of those that follow each other, as a title when the one before says so.
fn titled<'b>(
    record: Record<'_>,
    title: &mut bool,
    sink: &mut TextSink<'b>,
    text: impl FnOnce(&mut TextSink<'b>),
) {
    match record.kind {
        TEXT_HEAD => *title = matches!(u32_at(record.data, 0), 0 | 6),
        TEXT_WIDE | TEXT_NARROW if *title && sink.is_marked() => {
            let words = match record.kind {
                TEXT_WIDE => utf16(record.data),
                _ => narrow(record.data, WINDOWS_1252),
            };
            sink.title_line(2, words.replace(['\r', '\n', '\u{b}'], " ").trim_matches('*'));
        }
        TEXT_WIDE | TEXT_NARROW => {
            sink.paragraph();
            text(sink);
        }
        _ => text(sink),
    }
}

/// Whether a shape of a master only says where title or text go; headers and footers of a master are its own.
fn asks_for_text(data: &[u8], depth: usize) -> bool {
    depth < 8
        && records(data).any(|record| match record.kind {
            PLACEHOLDER => !matches!(record.data.get(4), Some(7..=10)),
            _ => record.container && asks_for_text(record.data, depth + 1),
        })
}

/// A remark: its author, its text.
fn remark(data: &[u8], sink: &mut TextSink<'_>) {
    let strings: Vec<(u16, String)> = records(data)
        .filter(|record| record.kind == STRING)
        .map(|record| (record.instance, utf16(record.data)))
        .collect();
    let of = |instance: u16| {
        strings.iter().find(|(known, _)| *known == instance).map_or("", |(_, text)| text.as_str())
    };
    sink.line(&format!("{}: {}", of(0), of(1)));
}

fn write(text: &str, sink: &mut TextSink<'_>) {
    // A star stands where a number or date is filled in.
    if text != "*" {
        sink.line_break();
        sink.text(&text.replace(['\r', '\u{b}'], "\n"));
        sink.line_break();
    }
}

/// Opens an embedded document, which may be packed.
fn embedded(object: Record<'_>, sink: &mut TextSink<'_>) {
    let bytes = match object.instance {
        0 => object.data.to_vec(),
        _ => {
            let mut bytes = Vec::new();
            let packed = ZlibDecoder::new(object.data.get(4..).unwrap_or_default());
            let outcome = Expanding::over(sink.budget(), packed)
                .take(limits::EXTRACT_WHOLE_BYTES_MAX)
                .read_to_end(&mut bytes);
            // Its length is told before it; some programs leave out the mark of its end.
            let is_whole = !bytes.is_empty() && bytes.len() >= u32_at(object.data, 0) as usize;
            match outcome {
                Err(error) if !is_whole => return sink.lost_part("", &format!("it is damaged: {error}")),
                Ok(_) if bytes.is_empty() => return sink.lost_part("", "it is damaged: nothing is in it"),
                _ => bytes,
            }
        }
    };
    // Settings of macros and controls come in the same way.
    if bytes.starts_with(&super::container::MAGIC) {
        sink.part("", None, bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::super::container::tests::container;
    use crate::formats::tests::extract;
    use std::io::Write;

    fn record(kind: u16, instance: u16, container: bool, data: &[u8]) -> Vec<u8> {
        let first = instance << 4 | if container { 15 } else { 0 };
        [first.to_le_bytes().as_slice(), &kind.to_le_bytes(), &(data.len() as u32).to_le_bytes(), data]
            .concat()
    }

    /// A presentation whose document and further objects, from number 2 on, are these, after bytes of an older version.
    fn presentation(old: &[u8], document: Vec<u8>, objects: &[Vec<u8>]) -> (Vec<u8>, Vec<u8>) {
        let mut bytes = old.to_vec();
        let mut places = vec![];
        for object in std::iter::once(&document).chain(objects) {
            places.push(bytes.len() as u32);
            bytes.extend(object);
        }
        let directory_at = bytes.len() as u32;
        let count = places.len() as u32;
        let entries = std::iter::once(1 | count << 20).chain(places);
        let entries: Vec<u8> = entries.flat_map(u32::to_le_bytes).collect();
        bytes.extend(record(super::DIRECTORY, 0, false, &entries));
        let edit_at = bytes.len() as u32;
        let edit: Vec<u8> = [0, 0, 0, directory_at, 1].into_iter().flat_map(u32::to_le_bytes).collect();
        bytes.extend(record(super::EDIT, 0, false, &edit));
        let mut current = vec![0u8; 20];
        current[16..20].copy_from_slice(&edit_at.to_le_bytes());
        (current, bytes)
    }

    #[test]
    fn an_embedded_document_without_the_mark_of_its_end_is_opened() {
        let mut native = b"\x1a\0\0\0\x02\0a.txt\0x\0\0\0\x03\0\x01\0\0\0\0".to_vec();
        native.extend(b"\x05\0\0\0inner");
        let inner = container(&[("\u{1}Ole10Native", &native)]);
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(&inner).unwrap();
        encoder.flush().unwrap();
        let packed = [(inner.len() as u32).to_le_bytes().to_vec(), encoder.get_ref().clone()].concat();
        let object = |packed: &[u8]| record(super::OBJECT, 1, false, packed);
        let document = record(super::DOCUMENT, 0, true, &[]);
        let read = |packed: &[u8]| {
            let (current, bytes) = presentation(&[], document.clone(), &[object(packed)]);
            extract("a.ppt", &container(&[("Current User", &current), ("PowerPoint Document", &bytes)]))
        };
        assert_eq!(read(&packed).parts[0].parts[0].text, "inner");
        let cut = read(&packed[..packed.len() / 2]);
        assert!(cut.parts[0].reason.as_deref().is_some_and(|reason| reason.contains("damaged")));
    }

    #[test]
    fn titles_and_slides_are_marked() {
        let texts = |kind: u32, text: &[u8]| {
            [
                record(super::TEXT_HEAD, 0, false, &kind.to_le_bytes()),
                record(super::TEXT_NARROW, 0, false, text),
            ]
            .concat()
        };
        let place = |number: u32| {
            record(super::SLIDE_PLACE, 0, false, &[&number.to_le_bytes(), [0; 16].as_slice()].concat())
        };
        let list = [place(2), texts(0, b"First\x0btitle"), texts(1, b"one\rtwo"), place(3)].concat();
        let document = record(super::DOCUMENT, 0, true, &record(super::SLIDE_LIST, 0, true, &list));
        let second = record(0x03ee, 0, true, &[texts(6, b"Second"), texts(4, b"more")].concat());
        let (current, bytes) = presentation(&[], document, &[record(0x03ee, 0, true, &[]), second]);
        let show = container(&[("Current User", &current), ("PowerPoint Document", &bytes)]);
        assert_eq!(
            crate::formats::tests::marked("a.ppt", &show),
            "<!-- page 1 -->\n\n## First title\n\none\ntwo\n\n<!-- page 2 -->\n\n## Second\n\nmore"
        );
        assert_eq!(extract("a.ppt", &show).text, "First\ntitle\none\ntwo\nSecond\nmore");
    }

    #[test]
    fn the_newest_slides_are_read_and_old_ones_are_not() {
        let old = record(0x03ee, 0, true, &record(super::TEXT_NARROW, 0, false, b"old words"));
        let slide = record(0x03ee, 0, true, &record(super::TEXT_WIDE, 0, false, &[0x1f, 4, 0x40, 4]));
        let mut place = 2u32.to_le_bytes().to_vec();
        place.extend([0; 16]);
        let list =
            [record(super::SLIDE_PLACE, 0, false, &place), record(super::TEXT_NARROW, 0, false, b"outline")]
                .concat();
        let document = record(super::DOCUMENT, 0, true, &record(super::SLIDE_LIST, 0, true, &list));
        let (current, bytes) = presentation(&old, document, &[slide]);
        let extracted =
            extract("a.ppt", &container(&[("Current User", &current), ("PowerPoint Document", &bytes)]));
        assert_eq!(extracted.text, "outline\nПр");
        let lost = extract("a.ppt", &container(&[("PowerPoint Document", &bytes)]));
        assert!(lost.text.contains("old words") && lost.reason.is_some());
    }
}
