//! Title, author and dates of OLE files: their property sets ([MS-OLEPS]).

use encoding_rs::{Encoding, WINDOWS_1252};

use super::container::Storage;
use super::{codepage, narrow, u16_at, u32_at, utf16};
use crate::dates;
use crate::page::TextSink;

/// Properties of one set.
const PROPERTIES_MAX: usize = 512;

/// Fields of the first set, by number.
const SUMMARY: &[(u32, &str)] = &[
    (2, "title"),
    (3, "subject"),
    (4, "author"),
    (5, "keywords"),
    (6, "description"),
    (8, "last_author"),
    (12, "created"),
    (13, "modified"),
    (18, "generator"),
];
/// Fields of the second set, by number.
const DOCUMENT: &[(u32, &str)] = &[(2, "category"), (14, "manager"), (15, "company")];

/// Writes the fields of a storage.
pub(super) fn read(storage: &Storage<'_>, sink: &mut TextSink<'_>) {
    for (stream, fields) in
        [("\u{5}SummaryInformation", SUMMARY), ("\u{5}DocumentSummaryInformation", DOCUMENT)]
    {
        let bytes = storage.stream(stream).unwrap_or_default();
        let sets = u32_at(&bytes, 24).min(2) as usize;
        for set in 0..sets {
            let at = u32_at(&bytes, 28 + set * 20 + 16) as usize;
            let Some(section) = bytes.get(at..) else { continue };
            // The second set of the second stream holds what people made up, with names.
            write(section, if set == 0 { fields } else { &[] }, sink);
        }
    }
}

fn write(section: &[u8], fields: &[(u32, &str)], sink: &mut TextSink<'_>) {
    let count = (u32_at(section, 4) as usize).min(PROPERTIES_MAX);
    let properties: Vec<(u32, &[u8])> = (0..count)
        .filter_map(|at| {
            Some((u32_at(section, 8 + at * 8), section.get(u32_at(section, 12 + at * 8) as usize..)?))
        })
        .collect();
    let value = |wanted: u32| properties.iter().find(|(id, _)| *id == wanted).map(|(_, value)| *value);
    let page_number = value(1).map_or(0, |value| i32::from(u16_at(value, 4)));
    let wide = page_number == 1200;
    let encoding = codepage(page_number).unwrap_or(WINDOWS_1252);
    let names = if fields.is_empty() {
        value(0).map(|value| names(value, wide, encoding)).unwrap_or_default()
    } else {
        Vec::new()
    };
    for (id, bytes) in &properties {
        let custom;
        let field =
            match (fields.iter().find(|(known, _)| known == id), names.iter().find(|(known, _)| known == id))
            {
                (Some((_, field)), _) => *field,
                (None, Some((_, name))) => {
                    custom = format!("custom:{name}");
                    &custom
                }
                (None, None) => continue,
            };
        if let Some(text) = text(bytes, wide, encoding) {
            sink.field(field, &text);
        }
    }
}

/// A value as text.
fn text(value: &[u8], wide: bool, encoding: &'static Encoding) -> Option<String> {
    let length = u32_at(value, 4) as usize;
    let number = |at: usize| u32_at(value, at);
    Some(match u16_at(value, 0) {
        2 => (u16_at(value, 4) as i16).to_string(),
        3 => (number(4) as i32).to_string(),
        5 => super::f64_at(value, 4).to_string(),
        11 => (u16_at(value, 4) != 0).to_string(),
        30 if wide => utf16(value.get(8..8 + length)?),
        30 => narrow(value.get(8..8 + length)?, encoding),
        31 => utf16(value.get(8..8 + length.checked_mul(2)?)?),
        64 => dates::from_file_time(u64::from(number(4)) | u64::from(number(8)) << 32)?,
        _ => return None,
    })
}

/// The names of made-up properties.
fn names(dictionary: &[u8], wide: bool, encoding: &'static Encoding) -> Vec<(u32, String)> {
    let mut names = Vec::new();
    let mut at = 4;
    for _ in 0..(u32_at(dictionary, 0) as usize).min(PROPERTIES_MAX) {
        let (id, length) = (u32_at(dictionary, at), u32_at(dictionary, at + 4) as usize);
        let bytes = if wide { length.saturating_mul(2) } else { length };
        let Some(raw) = dictionary.get(at + 8..).and_then(|rest| rest.get(..bytes)) else { break };
        let name = if wide { utf16(raw) } else { narrow(raw, encoding) };
        names.push((id, name.trim_end_matches('\0').to_owned()));
        at += 8 + if wide { bytes.next_multiple_of(4) } else { bytes };
    }
    names
}
