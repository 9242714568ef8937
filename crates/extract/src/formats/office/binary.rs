//! Workbooks in binary parts (XLSB, [MS-XLSB]): the same package as other workbooks, with records in place of XML.

use std::collections::HashSet;
use std::io::{BufReader, Read};

use super::book::Book;
use super::number::{Format, builtin};
use super::relations::Relations;
use super::{drawing, sheet};
use crate::formats::archives::zip::Zip;
use crate::little_endian::{packed_number, u16_at, u32_at};
use crate::page::{Outcome, ParseError, TextSink};

/// Bytes of one record.
const RECORD_BYTES_MAX: usize = 16 << 20;

// Kinds of record.
const ROW: u32 = 0;
const SHARED_STRING: u32 = 19;
const CODE: u32 = 44;
const STYLE: u32 = 47;
const RICH_CELL: u32 = 62;
const BOOK: u32 = 153;
const SHEET: u32 = 156;
const HEADERS: u32 = 479;
const STYLES_BEGIN: u32 = 617;
const STYLES_END: u32 = 618;
const AUTHOR: u32 = 632;
const COMMENT: u32 = 635;
const COMMENT_TEXT: u32 = 637;

/// Reads a workbook.
pub(super) fn read(zip: &mut Zip, main: &str, sink: &mut TextSink<'_>) -> Outcome {
    let relations = Relations::of(zip, main, sink.budget());
    let mut book = Book::default();
    let mut sheets = Vec::new();
    let hidden_too = sink.options().hidden;
    records(zip, main, sink, |kind, data, _| {
        match kind {
            BOOK => book.since_1904 = u32_at(data, 0) & 1 == 1,
            SHEET => {
                // The first version had one more number.
                let target = |at: usize| relations.target(&text(data, at).0).map(str::to_owned);
                let (at, target) = match target(8) {
                    None => (12, target(12)),
                    target => (8, target),
                };
                let (name, _) = text(data, at + text(data, at).1);
                if hidden_too || u32_at(data, 0) == 0 {
                    sheets.push((name, target));
                }
            }
            _ => {}
        }
        Ok(())
    })?;
    for target in relations.targets("styles") {
        styles(zip, &target, &mut book, sink)?;
    }
    for target in relations.targets("sharedStrings") {
        records(zip, &target, sink, |kind, data, _| match kind {
            SHARED_STRING => book.add(&text(data, 1).0),
            _ => Ok(()),
        })?;
    }
    let mut drawn = HashSet::new();
    for (name, target) in sheets {
        sink.title_line(2, &name);
        let Some(target) = target else { continue };
        sink.table_begin();
        let outcome = cells(zip, &target, &book, sink);
        sink.table_end();
        outcome?;
        drawing::all_of(zip, &target, sink, &mut drawn);
        let relations = Relations::of(zip, &target, sink.budget());
        relations.links().for_each(|link| sink.line(link));
        for comments in relations.targets("comments") {
            remarks(zip, &comments, sink)?;
        }
    }
    Ok(())
}

/// The format of each style.
fn styles(zip: &mut Zip, part: &str, book: &mut Book, sink: &mut TextSink<'_>) -> Outcome {
    let (mut codes, mut of_cells) = (std::collections::HashMap::new(), false);
    records(zip, part, sink, |kind, data, _| {
        match kind {
            CODE => drop(codes.insert(u16_at(data, 0), text(data, 2).0)),
            STYLES_BEGIN => of_cells = true,
            STYLES_END => of_cells = false,
            STYLE if of_cells => {
                let id = u16_at(data, 2);
                let code = codes.get(&id).map_or(builtin(u32::from(id)), String::as_str);
                book.formats.push(Format::parse(code));
            }
            _ => {}
        }
        Ok(())
    })
}

/// Writes the cells of a sheet.
fn cells(zip: &mut Zip, part: &str, book: &Book, sink: &mut TextSink<'_>) -> Outcome {
    let (mut next, mut rows) = (0, false);
    records(zip, part, sink, |kind, data, sink| {
        let style = (u32_at(data, 4) & 0xff_ffff) as usize;
        let shown = match kind {
            ROW => {
                if std::mem::replace(&mut rows, true) {
                    sink.row_end();
                }
                next = 0;
                return Ok(());
            }
            2 => book.number(style, packed_number(u32_at(data, 8))),
            4 | 10 => if data.get(8) == Some(&0) { "FALSE" } else { "TRUE" }.to_owned(),
            5 | 9 => book.number(
                style,
                f64::from_bits(u64::from(u32_at(data, 8)) | u64::from(u32_at(data, 12)) << 32),
            ),
            6 | 8 => text(data, 8).0,
            7 => book.string(u32_at(data, 8) as usize).to_owned(),
            RICH_CELL => text(data, 9).0,
            HEADERS => {
                sink.row_end();
                sink.table_end();
                let mut at = 2;
                while at < data.len() {
                    let (header, length) = text(data, at);
                    sheet::header_text(&header, sink);
                    at += length;
                }
                return Ok(());
            }
            _ => return Ok(()),
        };
        sheet::gap(Some(u32_at(data, 0) as usize), &mut next, sink);
        sink.text(&shown);
        if sink.is_marked() {
            sink.cell_end();
        }
        Ok(())
    })?;
    sink.row_end();
    Ok(())
}

/// Writes remarks, each after its author.
fn remarks(zip: &mut Zip, part: &str, sink: &mut TextSink<'_>) -> Outcome {
    let (mut authors, mut author) = (Vec::new(), String::new());
    records(zip, part, sink, |kind, data, sink| {
        match kind {
            AUTHOR => authors.push(text(data, 0).0),
            COMMENT => author = authors.get(u32_at(data, 0) as usize).cloned().unwrap_or_default(),
            COMMENT_TEXT => {
                let words = text(data, 1).0;
                sink.line(&if author.is_empty() { words } else { format!("{author}: {words}") });
            }
            _ => {}
        }
        Ok(())
    })
}

/// Hands out the records of a part: kind and bytes.
fn records(
    zip: &mut Zip,
    part: &str,
    sink: &mut TextSink<'_>,
    mut met: impl FnMut(u32, &[u8], &mut TextSink<'_>) -> Outcome,
) -> Outcome {
    let index = zip.find(part).ok_or("a part of the workbook is missing")?;
    let budget = sink.budget();
    let mut stream = BufReader::new(zip.stream(index, budget)?);
    let mut data = Vec::new();
    while let Some(kind) = number(&mut stream, 2)? {
        let length = number(&mut stream, 4)?.ok_or("a part of the workbook is cut off")? as usize;
        if length > RECORD_BYTES_MAX {
            return Err("a record of the workbook is too long".into());
        }
        data.clear();
        stream.by_ref().take(length as u64).read_to_end(&mut data)?;
        if data.len() < length {
            return Err(ParseError("a part of the workbook is cut off".to_owned()));
        }
        met(kind, &data, sink)?;
        if sink.is_full() {
            break;
        }
    }
    Ok(())
}

/// A number in bytes of seven bits, the lowest first; nothing at the end.
fn number(stream: &mut impl Read, most: u32) -> std::io::Result<Option<u32>> {
    let mut number = 0;
    for at in 0..most {
        let mut byte = [0];
        if stream.read(&mut byte)? == 0 {
            return Ok(None);
        }
        number |= u32::from(byte[0] & 0x7f) << (7 * at);
        if byte[0] & 0x80 == 0 {
            break;
        }
    }
    Ok(Some(number))
}

/// Text in sixteen bits after its length, and how many bytes both take; none when the length says so.
fn text(data: &[u8], at: usize) -> (String, usize) {
    let count = u32_at(data, at);
    if count == u32::MAX {
        return (String::new(), 4);
    }
    let length = (count as usize).saturating_mul(2);
    let raw = data.get(at.saturating_add(4)..).unwrap_or_default();
    let raw = &raw[..length.min(raw.len())];
    let units = raw.as_chunks::<2>().0.iter().map(|two| u16::from_le_bytes(*two));
    let text = char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
    (text, length.saturating_add(4))
}

#[cfg(test)]
mod tests {
    use super::super::tests::relations;
    use crate::formats::archives::zip::tests::zip;
    use crate::formats::tests::extract;

    fn record(kind: u32, data: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for mut number in [kind, data.len() as u32] {
            while number > 0x7f {
                bytes.push((number & 0x7f) as u8 | 0x80);
                number >>= 7;
            }
            bytes.push(number as u8);
        }
        [bytes.as_slice(), data].concat()
    }

    fn text(text: &str) -> Vec<u8> {
        let units: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        [(units.len() as u32 / 2).to_le_bytes().as_slice(), &units].concat()
    }

    fn cell(kind: u32, style: u8, value: &[u8]) -> Vec<u8> {
        record(kind, &[&[0, 0, 0, 0, style, 0, 0, 0], value].concat())
    }

    fn book() -> Vec<u8> {
        let kind = "application/vnd.ms-excel.sheet.binary.macroEnabled.main";
        let types = format!("<Types><Override PartName='/xl/workbook.bin' ContentType='{kind}'/></Types>");
        let sheet = |hidden: u8, id: &str, name: &str| {
            record(super::SHEET, &[&[hidden, 0, 0, 0, 1, 0, 0, 0], text(id).as_slice(), &text(name)].concat())
        };
        let workbook = [sheet(0, "a", "First"), sheet(1, "b", "Secret")].concat();
        let styles = [
            record(super::CODE, &[&[164, 0], text("0.00").as_slice()].concat()),
            record(super::STYLES_BEGIN, &[0; 4]),
            record(super::STYLE, &[0; 16]),
            record(super::STYLE, &[0, 0, 164, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
            record(super::STYLES_END, &[]),
        ]
        .concat();
        let rich = |words: &str| [&[0], text(words).as_slice()].concat();
        let cells = [
            record(super::ROW, &[0; 17]),
            cell(7, 0, &[1, 0, 0, 0]),
            cell(2, 1, &[0, 0, 0xf8, 0x3f]),
            record(super::ROW, &[0; 17]),
            cell(5, 1, &2.5f64.to_le_bytes()),
            cell(4, 0, &[1]),
            cell(8, 0, &text("formula")),
            record(super::HEADERS, &[&[0, 0], text("&Ltop").as_slice(), &[0xff; 4]].concat()),
        ]
        .concat();
        let comments = [
            record(super::AUTHOR, &text("Ann")),
            record(super::COMMENT, &[0; 36]),
            record(super::COMMENT_TEXT, &rich("remark")),
        ]
        .concat();
        zip(&[
            ("[Content_Types].xml", types.as_bytes()),
            ("_rels/.rels", relations(&[("r", "officeDocument", "xl/workbook.bin")]).as_bytes()),
            ("xl/workbook.bin", &workbook),
            (
                "xl/_rels/workbook.bin.rels",
                relations(&[
                    ("a", "worksheet", "s1.bin"),
                    ("b", "worksheet", "s2.bin"),
                    ("c", "sharedStrings", "ss.bin"),
                    ("d", "styles", "st.bin"),
                ])
                .as_bytes(),
            ),
            ("xl/s1.bin", &cells),
            ("xl/s2.bin", &cell(6, 0, &text("hidden"))),
            ("xl/_rels/s1.bin.rels", relations(&[("a", "comments", "c.bin")]).as_bytes()),
            ("xl/c.bin", &comments),
            (
                "xl/ss.bin",
                &[record(super::SHARED_STRING, &rich("zero")), record(super::SHARED_STRING, &rich("Привет"))]
                    .concat(),
            ),
            ("xl/st.bin", &styles),
        ])
    }

    #[test]
    fn damaged_records_end_with_text_or_a_reason() {
        let mut extracted = Vec::new();
        for kind in [0u32, 2, 5, 6, 7, 8, 19, 44, 47, 62, 153, 156, 479, 617, 632, 635, 637] {
            extracted.extend(record(kind, &[0xff; 6]));
            extracted.extend(record(kind, &[]));
        }
        let parts: Vec<(&str, &[u8])> = vec![
            ("[Content_Types].xml", b"<T><Override PartName='/xl/workbook.bin' ContentType='application/vnd.ms-excel.sheet.binary.macroEnabled.main'/></T>"),
            ("xl/workbook.bin", &extracted),
        ];
        let found = extract("a.xlsb", &zip(&parts));
        assert!(found.reason.is_some(), "{found:?}");
        crate::formats::tests::survives("a.xlsb", &book());
    }

    #[test]
    fn binary_sheets_are_read_as_others_are() {
        let extracted = extract("a.xlsb", &book());
        assert_eq!(
            extracted.text,
            "First\nПривет\t1.50\n2.50\tTRUE\tformula\ntop\nAnn: remark\nSecret\nhidden"
        );
        assert_eq!(extracted.media_type, "application/vnd.ms-excel.sheet.binary.macroenabled.12");
        let mut request = crate::Request { name: "a.xlsb".to_owned(), ..crate::Request::default() };
        request.options.hidden = false;
        assert!(!crate::extract(&request, crate::Input::memory(book())).text.contains("Secret"));
    }
}
