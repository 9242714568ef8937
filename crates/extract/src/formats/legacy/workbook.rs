//! Excel before 2007 ([MS-XLS]), back to its second version: records of globals, sheets and charts.

mod grid;
mod links;
mod records;
mod strings;

use std::collections::HashSet;

use encoding_rs::{Encoding, WINDOWS_1252};

use self::grid::Grid;
use self::records::{Record, Records};
use self::strings::{Shared, text};
use super::protection::{self, old::Key};
use super::{art, codepage, f64_at, u16_at, u32_at};
use crate::Options;
use crate::formats::office::number::{Format, builtin};
use crate::formats::office::sheet_header;
use crate::little_endian::packed_number;
use crate::page::{Outcome, ParseError, TextSink};

/// What holds for the whole book.
struct Book<'r> {
    /// Text is in sixteen bits where it says so. The globals decide: sheets of older books may call themselves newer.
    modern: bool,
    encoding: &'static Encoding,
    shared: Shared<'r>,
    codes: Vec<(u16, String)>,
    /// Format of each style, by number.
    styles: Vec<u16>,
    formats: Vec<Option<Format>>,
    since_1904: bool,
    /// Place of the first record of each sheet, its name, and whether it is hidden.
    sheets: Vec<(usize, String, bool)>,
}

/// Reads the stream of a workbook.
pub(super) fn stream(bytes: &[u8], sink: &mut TextSink<'_>) -> Outcome {
    match open(bytes, sink.options())? {
        Some(plain) => records(&plain, sink),
        None => records(bytes, sink),
    }
}

/// Records that are never encrypted, but for their first bytes in one kind.
const CLEAR: &[u16] = &[0x09, 0x209, 0x409, 0x809, 0x2f, 0xe1, 0x138, 0x194, 0x195, 0x196];
/// Bytes after which encryption begins anew.
const BLOCK_BYTES: usize = 1_024;

/// The same stream without its protection; nothing when it has none.
fn open(bytes: &[u8], options: &Options) -> Result<Option<Vec<u8>>, ParseError> {
    let found = Records::new(bytes).take(20).find(|(_, record)| record.kind == 0x2f);
    let Some((_, about)) = found.filter(|(_, record)| record.pieces[0].len() >= 4) else { return Ok(None) };
    let about = about.pieces[0];
    let mut found = protection::passwords(options);
    let key = found.find_map(|password| match (about.len(), u16_at(about, 0)) {
        (6.., 0) => Key::pattern(&password, u16_at(about, 2), u16_at(about, 4)),
        (6.., _) => Key::open(about.get(2..)?, &password),
        // Before the eighth version there was nothing else.
        _ => Key::pattern(&password, u16_at(about, 0), u16_at(about, 2)),
    });
    let key = key.ok_or(protection::PROTECTED)?;
    let mut plain = bytes.to_vec();
    let mut clear = Vec::new();
    let mut records = Records::new(bytes);
    loop {
        let begin = records.at;
        let Some((kind, piece)) = records.piece() else { break };
        // Of the record that names a sheet, its place is not encrypted.
        let open = if CLEAR.contains(&kind) { piece.len() } else { [0, 4][usize::from(kind == 0x85)] };
        clear.push(begin..begin + 4 + open);
        let place = begin + 4;
        key.unmask(&mut plain[place..place + piece.len()], place, open.min(piece.len()));
    }
    let is_clear = |at: usize| {
        let before = clear.partition_point(|range| range.start <= at);
        before.checked_sub(1).is_some_and(|before| clear[before].contains(&at))
    };
    key.apply(&mut plain, BLOCK_BYTES, is_clear);
    Ok(Some(plain))
}

fn records(bytes: &[u8], sink: &mut TextSink<'_>) -> Outcome {
    let mut book = Book {
        modern: false,
        encoding: WINDOWS_1252,
        shared: Shared::default(),
        codes: Vec::new(),
        styles: Vec::new(),
        formats: Vec::new(),
        since_1904: false,
        sheets: Vec::new(),
    };
    let mut depth = 0usize;
    let mut begun = false;
    let mut sheet = Sheet::default();
    let hidden_too = sink.options().hidden;
    let mut shown = true;
    let mut drawings = Vec::new();
    for (at, record) in Records::new(bytes) {
        let data = record.pieces[0];
        match record.kind {
            0x09 | 0x209 | 0x409 | 0x809 => {
                depth += 1;
                if !std::mem::replace(&mut begun, true) {
                    book.modern = record.kind == 0x809 && u16_at(data, 0) >= 0x600;
                }
                if let Some((_, name, hidden)) = book.sheets.iter().find(|(place, _, _)| *place == at) {
                    shown = hidden_too || !*hidden;
                    sheet.grid.end(sink);
                    sheet = Sheet::default();
                    if shown {
                        sink.title_line(2, name);
                    }
                }
            }
            0x0a => {
                depth = depth.saturating_sub(1);
                sheet.grid.end(sink);
                sink.line_break();
            }
            0xeb => record.pieces.iter().for_each(|piece| drawings.extend_from_slice(piece)),
            _ if !global(&mut book, &record) && shown => sheet.record(&mut book, &record, sink),
            _ => {}
        }
        if sink.is_full() {
            break;
        }
    }
    sheet.grid.end(sink);
    art::drawings(&drawings, &mut HashSet::new(), sink);
    if depth > 0 { Err("the file is cut off".into()) } else { Ok(()) }
}

/// Takes what holds for the whole book; whether it was that.
fn global<'r>(book: &mut Book<'r>, record: &Record<'r>) -> bool {
    let data = record.pieces[0];
    match record.kind {
        0x22 => book.since_1904 = u16_at(data, 0) == 1,
        0x42 => book.encoding = codepage(i32::from(u16_at(data, 0))).unwrap_or(WINDOWS_1252),
        0x85 => {
            let name = text(data.get(6..).unwrap_or_default(), book.modern, true, book.encoding);
            book.sheets.push((
                u32_at(data, 0) as usize,
                name,
                data.get(4).is_some_and(|state| state & 3 != 0),
            ));
        }
        0xfc => book.shared = Shared::read(&record.pieces),
        0x41e => {
            let code = text(data.get(2..).unwrap_or_default(), book.modern, !book.modern, book.encoding);
            book.codes.push((u16_at(data, 0), code));
        }
        0xe0 => {
            book.styles.push(u16_at(data, 2));
            book.formats.push(None);
        }
        _ => return false,
    }
    true
}

impl Book<'_> {
    /// A number in a style.
    fn number(&mut self, style: u16, value: f64) -> String {
        let style = usize::from(style);
        let Some(id) = self.styles.get(style).copied() else {
            return crate::formats::office::number::general(value);
        };
        let codes = &self.codes;
        let format = self.formats[style].get_or_insert_with(|| {
            let code = codes.iter().find(|(known, _)| *known == id);
            Format::parse(code.map_or_else(|| builtin(u32::from(id)), |(_, code)| code.as_str()))
        });
        format.show(value, self.since_1904)
    }
}

/// Labels of one sheet that are kept in mind.
const LABELS_MAX: usize = 10_000;

/// The sheet that is being read.
#[derive(Default)]
struct Sheet {
    grid: Grid,
    /// The next text is the result of a formula.
    formula: bool,
    /// Labels of a chart.
    labels: HashSet<String>,
}

impl Sheet {
    fn record(&mut self, book: &mut Book<'_>, record: &Record<'_>, sink: &mut TextSink<'_>) {
        let data = record.pieces[0];
        let style = u16_at(data, 4);
        let rest = data.get(6..).unwrap_or_default();
        match record.kind {
            0xfd => self.cell(data, &book.shared.get(u32_at(data, 6) as usize), sink),
            0x204 | 0xd6 => self.cell(data, &text(rest, book.modern, false, book.encoding), sink),
            // Version 2 and charts have three bytes of looks before the value.
            0x04 => {
                let label = text(data.get(7..).unwrap_or_default(), book.modern, true, book.encoding);
                self.cell(data, &label, sink);
                if self.labels.len() < LABELS_MAX {
                    self.labels.insert(label);
                }
            }
            0x02 => self.cell(data, &u16_at(data, 7).to_string(), sink),
            0x03 if data.len() >= 15 => {
                let shown = crate::formats::office::number::general(f64_at(data, 7));
                self.cell(data, &shown, sink);
            }
            0x203 if data.len() >= 14 => {
                let shown = book.number(style, f64_at(data, 6));
                self.cell(data, &shown, sink);
            }
            0x27e => {
                let shown = book.number(style, packed_number(u32_at(data, 6)));
                self.cell(data, &shown, sink);
            }
            0xbd => {
                for (behind, at) in (0u16..).zip((4..data.len().saturating_sub(7)).step_by(6)) {
                    let shown = book.number(u16_at(data, at), packed_number(u32_at(data, at + 2)));
                    self.cell_at(data, behind, &shown, sink);
                }
            }
            0x06 | 0x206 | 0x406 => self.formula(book, style, data, sink),
            0x207 | 0x07 if self.formula => {
                self.formula = false;
                if !sink.is_marked() {
                    sink.tab();
                }
                sink.text(&text(data, book.modern, record.kind == 0x07, book.encoding));
            }
            0x205 if data.len() >= 8 && data[7] == 0 => {
                self.cell(data, if data[6] == 0 { "FALSE" } else { "TRUE" }, sink);
            }
            0x1b6 => self.line(&strings::of_box(&record.pieces, book.encoding), sink),
            0x1c if book.modern => {
                self.line(&text(data.get(8..).unwrap_or_default(), true, false, book.encoding), sink);
            }
            0x1c => self.line(&super::narrow(data.get(6..).unwrap_or_default(), book.encoding), sink),
            0x1b8 => {
                if let Some(target) = links::target(&record.pieces.concat(), book.encoding) {
                    self.line(&target, sink);
                }
            }
            0x14 | 0x15 => {
                self.grid.end(sink);
                sheet_header(&text(data, book.modern, !book.modern, book.encoding), sink);
            }
            0x100d => {
                // Charts keep the names of their series beside their table.
                let name = text(data.get(2..).unwrap_or_default(), book.modern, true, book.encoding);
                if self.labels.insert(name.clone()) {
                    self.line(&name, sink);
                }
            }
            _ => {}
        }
    }

    /// A cell of a row.
    fn cell(&mut self, data: &[u8], shown: &str, sink: &mut TextSink<'_>) {
        self.cell_at(data, 0, shown, sink);
    }

    /// The same, so many columns behind the one that is told.
    fn cell_at(&mut self, data: &[u8], behind: u16, shown: &str, sink: &mut TextSink<'_>) {
        self.formula = false;
        self.grid.cell(u16_at(data, 0), u16_at(data, 2).saturating_add(behind), sink);
        sink.text(shown);
    }

    /// A line beside the cells.
    fn line(&mut self, text: &str, sink: &mut TextSink<'_>) {
        self.grid.end(sink);
        sink.line(text);
    }

    fn formula(&mut self, book: &mut Book<'_>, style: u16, data: &[u8], sink: &mut TextSink<'_>) {
        // Version 2 has three bytes of looks and no style.
        let at = if book.styles.is_empty() && data.len() > 16 && u16_at(data, 13) != 0xffff && data.len() < 20
        {
            7
        } else {
            6
        };
        if u16_at(data, at + 6) != 0xffff {
            let shown = book.number(style, f64_at(data, at));
            return self.cell(data, &shown, sink);
        }
        match data.get(at) {
            Some(1) => self.cell(data, if data.get(at + 2) == Some(&0) { "FALSE" } else { "TRUE" }, sink),
            Some(0) => {
                self.cell(data, "", sink);
                self.formula = true;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::container::tests::container;
    use super::*;
    use crate::formats::tests::{extract, opens};

    pub(super) fn record(kind: u16, data: &[u8]) -> Vec<u8> {
        [kind.to_le_bytes().as_slice(), &(data.len() as u16).to_le_bytes(), data].concat()
    }

    fn cell(row: u16, style: u16, value: &[u8]) -> Vec<u8> {
        [row.to_le_bytes().as_slice(), &[0, 0], &style.to_le_bytes(), value].concat()
    }

    #[test]
    fn labels_of_a_chart_keep_their_last_letter() {
        let label = |row: u8, text: &[u8]| {
            record(0x04, &[&[row, 0, 0, 0, 0, 0, 0, text.len() as u8, 0], text].concat())
        };
        let mut chart = record(0x809, &[0x80, 6, 5, 0, 0, 0, 0, 0]);
        chart.extend(label(0, b"East"));
        chart.extend(label(1, b"Total"));
        chart.extend(record(0x0a, &[]));
        assert_eq!(extract("a.xls", &container(&[("Workbook", &chart)])).text, "East\nTotal");
    }

    #[test]
    fn the_globals_of_a_book_tell_how_wide_its_text_is() {
        // As Excel saves a book for its fifth version: each sheet says that it is of the eighth.
        let globals = record(0x809, &[0, 5, 5, 0, 0, 0, 0, 0]);
        let about = |at: usize| record(0x85, &[&(at as u32).to_le_bytes()[..], &[0, 0, 3], b"Tab"].concat());
        let at = globals.len() + about(0).len() + 4;
        let sheet = [
            record(0x809, &[0, 6, 0x10, 0, 0, 0, 0, 0]),
            record(0x204, &cell(0, 0, &[3, 0, b'a', b'b', b'c'])),
            record(0x0a, &[]),
        ];
        let book = [globals, about(at), record(0x0a, &[]), sheet.concat()].concat();
        assert_eq!(extract("a.xls", &container(&[("Book", &book)])).text, "Tab\nabc");
    }

    #[test]
    fn drawings_are_read_across_records() {
        use super::super::art::tests;
        let drawing = tests::record(&tests::drawing(b"one"), 1, true);
        let mut book = record(0x809, &[0, 6, 5, 0, 0, 0, 0, 0]);
        book.extend([record(0xeb, &drawing[..60]), record(0x3c, &drawing[60..])].concat());
        book.extend(record(0x0a, &[]));
        assert_eq!(extract("a.xls", &container(&[("Workbook", &book)])).parts[0].text, "one");
    }

    /// A book with one cell whose records are encrypted by a key, behind what is said about it.
    fn protected(about: &[u8], key: &Key) -> Vec<u8> {
        let begin = [record(0x809, &[0, 6, 5, 0, 0, 0, 0, 0]), record(0x2f, about)].concat();
        // Long enough for a second block.
        let cells =
            [record(0xffff, &[0; 1_500]), record(0x204, &cell(0, 0, &[2, 0, 0, b'o', b'k']))].concat();
        let mut bytes = [begin.clone(), cells, record(0x0a, &[])].concat();
        let heads: Vec<usize> = Records::new(&bytes.clone()).map(|(at, _)| at).collect();
        let is_clear =
            |at: usize| at < begin.len() || heads.iter().any(|head| (*head..head + 4).contains(&at));
        key.apply(&mut bytes, BLOCK_BYTES, is_clear);
        container(&[("Workbook", &bytes)])
    }

    #[test]
    fn a_protected_book_is_opened_by_its_password() {
        use crate::cipher::{Hash, Rc4};
        let password: Vec<u8> = "key".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let salt = [3u8; 16];
        let short = {
            let mixed: Vec<u8> = std::iter::repeat_n([&Hash::Md5.of(&[&password])[..5], &salt].concat(), 16)
                .flatten()
                .collect();
            Hash::Md5.of(&[&mixed])[..5].to_vec()
        };
        let mut verifier = [vec![5; 16], Hash::Md5.of(&[&[5; 16]])].concat();
        Rc4::new(&Hash::Md5.of(&[&short, &[0; 4]])).apply(&mut verifier);
        let about = [&[1, 0, 1, 0, 1, 0], salt.as_slice(), &verifier].concat();
        assert_eq!(opens("a.xls", &protected(&about, &Key::Short(short)), "key").text, "ok");

        let long = Hash::Sha1.of(&[&salt, &password]);
        let mut verifier = [vec![5; 16], Hash::Sha1.of(&[&[5; 16]])].concat();
        Rc4::new(&Hash::Sha1.of(&[&long, &[0; 4]])[..16]).apply(&mut verifier);
        let header: Vec<u8> = [0x24u32, 32, 4, 0, 0x6801, 0x8004, 128, 1, 0, 0, 16]
            .into_iter()
            .flat_map(u32::to_le_bytes)
            .collect();
        let about =
            [&[1, 0, 4, 0, 2, 0], header.as_slice(), &salt, &verifier[..16], &[20, 0, 0, 0], &verifier[16..]]
                .concat();
        assert_eq!(opens("a.xls", &protected(&about, &Key::Long(long, 16)), "key").text, "ok");
    }

    #[test]
    fn sheets_are_tables_with_their_empty_cells() {
        let place = |row: u8, column: u8| vec![row, 0, column, 0, 0, 0];
        let words = |row, column, text: &[u8]| {
            let text = [&[text.len() as u8, 0, 0], text].concat();
            record(0x204, &[place(row, column), text].concat())
        };
        let bof = record(0x809, &[0, 6, 5, 0, 0, 0, 0, 0]);
        let sheet_at = (bof.len() + 13 + 4) as u32;
        let about = record(0x85, &[sheet_at.to_le_bytes().as_slice(), &[0, 0, 1, 0, b'S']].concat());
        let formula = [place(1, 2).as_slice(), &[0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0, 0, 0]].concat();
        let numbers = [place(2, 0)[..4].to_vec(), [0, 0, 6, 0, 0, 0].repeat(2), vec![1, 0]].concat();
        let sheet = [
            words(0, 0, b"one"),
            words(0, 2, b"a|b"),
            record(0x06, &formula),
            record(0x207, &[2, 0, 0, b'o', b'k']),
            record(0xbd, &numbers),
            record(0x1c, &[&[0; 8], [6, 0, 0].as_slice(), b"remark"].concat()),
            record(0x0a, &[]),
        ];
        let bytes = [bof.clone(), about, record(0x0a, &[]), bof, sheet.concat()].concat();
        let book = container(&[("Workbook", &bytes)]);
        assert_eq!(
            crate::formats::tests::marked("a.xls", &book),
            "## S\n\n| one | | a\\|b |\n| --- | --- | --- |\n| | | ok |\n| 1 | 1 |\n\nremark"
        );
        assert_eq!(extract("a.xls", &book).text, "S\none\ta|b\nok\n1\t1\nremark");
    }

    #[test]
    fn sheets_cells_formats_and_continued_strings_are_read() {
        let bof = record(0x809, &[0, 6, 5, 0, 0, 0, 0, 0]);
        let mut globals = bof.clone();
        globals.extend(record(0x41e, &[164, 0, 4, 0, 0, b'0', b'.', b'0', b'0']));
        globals.extend(record(0xe0, &[0, 0, 0, 0]));
        globals.extend(record(0xe0, &[0, 0, 164, 0]));
        // Two strings; the second one goes on in the next record, there in sixteen bits.
        globals
            .extend(record(0xfc, &[2, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, b'o', b'n', b'e', 4, 0, 0, b't', b'w']));
        globals.extend(record(0x3c, &[1, 0x1f, 0x04, 0x40, 0x04]));
        let sheet_at = (globals.len() + 4 + 9 + 4) as u32;
        globals.extend(record(0x85, &[sheet_at.to_le_bytes().as_slice(), &[0, 0, 1, 0, b'S']].concat()));
        globals.extend(record(0x0a, &[]));
        let mut sheet = bof;
        sheet.extend(record(0xfd, &cell(0, 0, &0u32.to_le_bytes())));
        sheet.extend(record(0xfd, &cell(0, 0, &1u32.to_le_bytes())));
        sheet.extend(record(0x203, &cell(1, 1, &1.5f64.to_le_bytes())));
        sheet.extend(record(0x06, &cell(2, 0, &[0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0, 0, 0])));
        sheet.extend(record(0x207, &[2, 0, 0, b'o', b'k']));
        sheet.extend(record(0x0a, &[]));
        let extracted = extract("a.xls", &container(&[("Workbook", &[globals, sheet].concat())]));
        assert_eq!(extracted.text, "S\none\ttwПр\n1.50\nok");
        assert_eq!(extracted.reason, None);
    }
}
