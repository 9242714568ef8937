//! Word before 2007 ([MS-DOC]) and Word 6 and 95: the pieces that make up the text, and what its marks mean.

mod deleted;
mod lists;
mod looks;
mod marks;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, WINDOWS_1252};

use self::lists::Lists;
use self::marks::Writer;
use super::container::Storage;
use super::protection::{self, old::Key};
use super::{narrow, u16_at, u32_at, utf16};
use crate::decode::codepages::charset;
use crate::page::{Outcome, ParseError, TextSink};

/// Version of the format from which on text may have sixteen bits (Word 97).
const WORD_97: u16 = 0xc1;

/// A run of text in the file.
struct Piece {
    /// Where it begins.
    at: usize,
    characters: usize,
    wide: bool,
}

/// Reads a document.
pub(super) fn read(storage: &Storage<'_>, bytes: &[u8], page: &mut TextSink<'_>) -> Outcome {
    let flags = u16_at(bytes, 10);
    let modern = u16_at(bytes, 2) >= WORD_97;
    let table = storage.stream(if flags & 0x0200 != 0 { "1Table" } else { "0Table" }).unwrap_or_default();
    if flags & PROTECTED == 0 {
        return text(bytes, &table, modern, page);
    }
    let header = table.get(..u32_at(bytes, 14) as usize).filter(|_| modern && flags & MASKED == 0);
    let header = header.ok_or("unsupported: a document of Word that is protected in its oldest way")?;
    let key = protection::passwords(page.options()).find_map(|password| Key::open(header, &password));
    let key = key.ok_or(protection::PROTECTED)?;
    let (mut plain, mut plain_table) = (bytes.to_vec(), table.clone());
    key.apply(&mut plain, BLOCK_BYTES, |at| at < CLEAR_BYTES);
    key.apply(&mut plain_table, BLOCK_BYTES, |at| at < header.len());
    text(&plain, &plain_table, modern, page)
}

/// Flags of a document that is protected, and of one that is so by a mask.
const PROTECTED: u16 = 0x0100;
const MASKED: u16 = 0x8000;
/// Bytes at the beginning of a protected document that are not, and after which encryption begins anew.
const CLEAR_BYTES: usize = 68;
const BLOCK_BYTES: usize = 512;

/// Writes the text that is listed in a document and its table.
fn text(bytes: &[u8], table: &[u8], modern: bool, page: &mut TextSink<'_>) -> Outcome {
    let flags = u16_at(bytes, 10);
    let pieces = match modern {
        true => pieces(table, u32_at(bytes, 0x1a2), u32_at(bytes, 0x1a6), true),
        false if flags & 4 != 0 => pieces(bytes, u32_at(bytes, 0x160), u32_at(bytes, 0x164), false),
        false => Vec::new(),
    };
    // The main text, notes, headers, remarks, boxes: one after the other.
    let counts: &[usize] = if modern {
        &[0x4c, 0x50, 0x54, 0x5c, 0x60, 0x64, 0x68]
    } else {
        &[0x34, 0x38, 0x3c, 0x44, 0x48, 0x4c, 0x50]
    };
    let lengths: Vec<usize> = counts.iter().map(|at| u32_at(bytes, *at) as usize).collect();
    let total = lengths.iter().fold(0usize, |sum, length| sum.saturating_add(*length));
    let pieces = match pieces.is_empty() {
        false => pieces,
        true => vec![Piece { at: u32_at(bytes, 0x18) as usize, characters: total, wide: false }],
    };
    let encoding = if modern { WINDOWS_1252 } else { of_fonts(bytes, &pieces) };
    let lists = if modern { Lists::of(bytes, table) } else { Lists::default() };
    let mut text = String::new();
    let pieces = deleted::without(pieces, total, if modern { bytes } else { &[] }, table);
    // Where the marks stand that end paragraphs.
    let mut ends = Vec::new();
    for piece in &pieces {
        let length = if piece.wide { piece.characters.saturating_mul(2) } else { piece.characters };
        let Some(rest) = bytes.get(piece.at..) else {
            write(&text, &ends, || Writer::of(bytes, table, lists), page);
            return Err(ParseError("the file is cut off".to_owned()));
        };
        let raw = &rest[..length.min(rest.len())];
        if modern && (page.is_marked() || !lists.is_empty()) {
            let width = if piece.wide { 2 } else { 1 };
            let units = raw
                .chunks_exact(width)
                .map(|unit| u16::from(unit[0]) | u16::from(*unit.get(1).unwrap_or(&0)) << 8);
            let marks =
                units.enumerate().filter(|(_, unit)| char::from_u32(u32::from(*unit)).is_some_and(is_end));
            ends.extend(marks.map(|(number, _)| piece.at + number * width));
        }
        text.push_str(&if piece.wide { utf16(raw) } else { narrow(raw, encoding) });
    }
    write(&text, &ends, || Writer::of(bytes, table, lists), page);
    Ok(())
}

/// The pieces that a table lists: a prefix of formatting, then places in the text, then places in the file.
fn pieces(table: &[u8], at: u32, length: u32, modern: bool) -> Vec<Piece> {
    let Some(mut rest) = table.get(at as usize..).map(|rest| &rest[..rest.len().min(length as usize)]) else {
        return Vec::new();
    };
    while rest.first() == Some(&1) {
        rest = rest.get(3 + usize::from(u16_at(rest, 1))..).unwrap_or_default();
    }
    if rest.first() != Some(&2) {
        return Vec::new();
    }
    let plc = rest.get(5..).unwrap_or_default();
    let plc = &plc[..plc.len().min(u32_at(rest, 1) as usize)];
    let count = plc.len().saturating_sub(4) / 12;
    (0..count)
        .map(|piece| {
            let (begin, end) = (u32_at(plc, piece * 4), u32_at(plc, piece * 4 + 4));
            let place = u32_at(plc, (count + 1) * 4 + piece * 8 + 2);
            let narrow = !modern || place & 0x4000_0000 != 0;
            let at = if modern && narrow { (place & 0x3fff_ffff) / 2 } else { place };
            Piece { at: at as usize, characters: end.saturating_sub(begin) as usize, wide: !narrow }
        })
        .collect()
}

/// The charset of an old document: the one of its language, or of one of its fonts when the text looks like it. A font says
/// in which charset its text is, and a document may have many fonts.
fn of_fonts(bytes: &[u8], pieces: &[Piece]) -> &'static Encoding {
    let language = of_language(u16_at(bytes, 6));
    let table = bytes.get(u32_at(bytes, 0xd0) as usize..).unwrap_or_default();
    let mut fonts = table.get(2..(u32_at(bytes, 0xd4) as usize).min(table.len())).unwrap_or_default();
    let mut known = vec![language];
    while let (Some(length), Some(number)) = (fonts.first(), fonts.get(4)) {
        known.extend(charset(i32::from(*number)));
        fonts = fonts.get(usize::from(*length) + 1..).unwrap_or_default();
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    for piece in pieces {
        let text = bytes.get(piece.at..).unwrap_or_default();
        detector.feed(&text[..piece.characters.min(text.len())], false);
    }
    detector.feed(b"", true);
    let likeliest = detector.guess(None, Utf8Detection::Deny);
    if known.contains(&likeliest) { likeliest } else { language }
}

/// The charset that old versions used for a language.
pub(super) fn of_language(language: u16) -> &'static Encoding {
    match language & 0x3ff {
        0x02 | 0x19 | 0x22 | 0x23 => encoding_rs::WINDOWS_1251,
        0x05 | 0x0e | 0x15 | 0x18 | 0x1a | 0x1b | 0x24 => encoding_rs::WINDOWS_1250,
        0x08 => encoding_rs::WINDOWS_1253,
        0x11 => encoding_rs::SHIFT_JIS,
        0x1f => encoding_rs::WINDOWS_1254,
        0x04 => encoding_rs::GBK,
        0x12 => encoding_rs::EUC_KR,
        _ => WINDOWS_1252,
    }
}

/// Whether a character ends a paragraph, a cell or a row.
fn is_end(c: char) -> bool {
    matches!(c, '\r' | '\u{c}' | '\u{7}')
}

/// Writes text, with marks where they are wanted, and with the labels of lists where the document says where paragraphs end.
fn write(text: &str, ends: &[usize], writer: impl FnOnce() -> Writer, page: &mut TextSink<'_>) {
    if ends.is_empty() {
        let mut out = String::with_capacity(text.len());
        shown(text, &mut |c, _| out.push(plain(c)));
        return page.text(&out);
    }
    let mut writer = writer();
    shown(text, &mut |c, before| match is_end(c) {
        true if page.is_marked() => writer.end(ends.get(before).copied(), c == '\u{7}', page),
        true => writer.end_plain(ends.get(before).copied(), plain(c), page),
        false => writer.push(plain(c)),
    });
    writer.finish(page);
}

/// What a character stands for in text without marks.
fn plain(c: char) -> char {
    match c {
        '\r' | '\u{b}' | '\u{c}' | '\u{e}' => '\n',
        '\u{7}' => '\t',
        '\u{1e}' => '\u{2011}',
        c => c,
    }
}

/// Hands out text without the instructions of fields; each character with how many ends of paragraphs are before it.
fn shown(text: &str, each: &mut dyn FnMut(char, usize)) {
    // For each open field, whether its result has begun.
    let mut fields: Vec<bool> = Vec::new();
    let mut instruction = String::new();
    let mut ends = 0;
    for c in text.chars() {
        let before = ends;
        ends += usize::from(is_end(c));
        match c {
            '\u{13}' => {
                instruction.clear();
                fields.push(false);
            }
            '\u{14}' => {
                if let Some(result) = fields.last_mut() {
                    *result = true;
                }
            }
            '\u{15}' => {
                // A formula is its instruction and has no result.
                if fields.pop() == Some(false) && instruction.trim_start().starts_with("EQ ") {
                    instruction.chars().for_each(|c| each(c, before));
                }
            }
            c if fields.contains(&false) => instruction.push(c),
            '\r' | '\u{7}' | '\u{b}' | '\u{c}' | '\u{e}' | '\u{1e}' | '\t' => each(c, before),
            c if c < ' ' => {}
            c => each(c, before),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::container::tests::container;
    use super::Key;
    use crate::formats::tests::extract;

    /// A document of two pieces, the second one in sixteen bits.
    fn document(narrow: &[u8], wide: &str) -> Vec<u8> {
        document_of(narrow, wide, &|_, _| {})
    }

    /// The same, changed by somebody.
    fn document_of(narrow: &[u8], wide: &str, change: &dyn Fn(&mut Vec<u8>, &mut Vec<u8>)) -> Vec<u8> {
        let units: Vec<u8> = wide.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let mut stream = vec![0u8; 0x400];
        stream[..4].copy_from_slice(&[0xec, 0xa5, 0xc1, 0]);
        let (first, second) = (narrow.len() as u32, wide.encode_utf16().count() as u32);
        stream[0x4c..0x50].copy_from_slice(&(first + second).to_le_bytes());
        stream.extend(narrow);
        let wide_at = stream.len() as u32;
        stream.extend(units);
        let mut table = vec![1, 2, 0, 9, 9, 2];
        table.extend(28u32.to_le_bytes());
        for number in [0, first, first + second] {
            table.extend(number.to_le_bytes());
        }
        for place in [0x4000_0000 | (0x400 * 2), wide_at] {
            table.extend([0, 0]);
            table.extend(place.to_le_bytes());
            table.extend([0, 0]);
        }
        stream[0x1a6..0x1aa].copy_from_slice(&(table.len() as u32).to_le_bytes());
        change(&mut stream, &mut table);
        container(&[("WordDocument", &stream), ("0Table", &table)])
    }

    #[test]
    fn what_was_deleted_is_no_text_and_opens_no_field() {
        // A page of runs: kept, deleted, kept.
        let text = b"kept gone \x13 HYPERLINK \x14more\x15\r";
        let bytes = document_of(text, " words", &|stream, table| {
            let at = 0x400u32;
            stream.resize(0x600, 0);
            let mut page = vec![0u8; 512];
            for (run, place) in [at, at + 5, at + 11, at + text.len() as u32].into_iter().enumerate() {
                page[run * 4..run * 4 + 4].copy_from_slice(&place.to_le_bytes());
            }
            page[17] = 200;
            page[400..404].copy_from_slice(&[3, 0, 8, 0x81]);
            page[511] = 3;
            stream.extend(page);
            stream[0xfa..0xfe].copy_from_slice(&(table.len() as u32).to_le_bytes());
            stream[0xfe..0x102].copy_from_slice(&12u32.to_le_bytes());
            for number in [at, at + text.len() as u32, 3] {
                table.extend(number.to_le_bytes());
            }
        });
        assert_eq!(extract("a.doc", &bytes).text, "kept more\n words");
    }

    /// A document of paragraphs, each with what is said of it: its style, and changes to that. Somebody changes stream and table.
    pub(super) fn described(
        paragraphs: &[(&[u8], &[u8])],
        change: &dyn Fn(&mut Vec<u8>, &mut Vec<u8>),
    ) -> Vec<u8> {
        let text: Vec<u8> = paragraphs.iter().flat_map(|(text, _)| text.iter().copied()).collect();
        // One page of runs at 0x800, and the list of pages behind the list of pieces.
        let mut runs = vec![0u8; 512];
        let (mut at, mut about_at) = (0x400u32, 510);
        runs[511] = paragraphs.len() as u8;
        for (number, (text, about)) in paragraphs.iter().enumerate() {
            let padded = [about, [0].as_slice()].concat();
            let halves = padded.len() / 2;
            about_at = (about_at - 2 - halves * 2) & !1;
            let odd = about.len() % 2 == 1;
            runs[about_at] = if odd { about.len().div_ceil(2) as u8 } else { 0 };
            runs[about_at + 1] = (about.len() / 2) as u8;
            let begin = about_at + if odd { 1 } else { 2 };
            runs[begin..begin + about.len()].copy_from_slice(about);
            runs[number * 4..number * 4 + 4].copy_from_slice(&at.to_le_bytes());
            at += text.len() as u32;
            runs[(number + 1) * 4..(number + 1) * 4 + 4].copy_from_slice(&at.to_le_bytes());
            runs[(paragraphs.len() + 1) * 4 + number * 13] = (about_at / 2) as u8;
        }
        let pages: Vec<u8> = [0x400, at, 4].iter().flat_map(|number: &u32| number.to_le_bytes()).collect();
        document_of(&text, "", &|stream, table| {
            stream.resize(0x800, 0);
            stream.extend(&runs);
            stream[0x102..0x106].copy_from_slice(&(table.len() as u32).to_le_bytes());
            stream[0x106..0x10a].copy_from_slice(&(pages.len() as u32).to_le_bytes());
            table.extend(&pages);
            change(stream, table);
        })
    }

    #[test]
    fn headings_lists_and_tables_are_marked() {
        let paragraphs: [(&[u8], &[u8]); 8] = [
            (b"The \x13 TITLE \x14title\x15\r", &[1, 0]),
            (b"words\x0bmore\r", &[0, 0]),
            (b"one\r", &[0, 0, 0x0b, 0x46, 1, 0]),
            (b"inner\r", &[0, 0, 0x0a, 0x26, 1, 0x0b, 0x46, 1, 0]),
            (b"a\x07b|c\x07", &[0, 0, 0x16, 0x24, 1]),
            (b"\x07", &[0, 0, 0x16, 0x24, 1, 0x17, 0x24, 1]),
            (b"low\r", &[0, 0, 0x08, 0xd6, 3, 0, 9, 9, 0x40, 0x26, 2]),
            (b"end\r", &[0, 0]),
        ];
        let document = described(&paragraphs, &|_, _| {});
        assert_eq!(
            crate::formats::tests::marked("a.doc", &document),
            "# The title\n\nwords\nmore\n\n- one\n  - inner\n\n| a | b\\|c |\n| --- | --- |\n\n### low\n\nend"
        );
        assert_eq!(
            extract("a.doc", &document).text,
            "The title\nwords\nmore\none\ninner\na\tb|c\t\tlow\nend"
        );
        crate::formats::tests::survives("a.doc", &document);
    }

    #[test]
    fn pieces_are_joined_and_fields_show_their_result() {
        let page = extract(
            "a.doc",
            &document(b"caf\xe9 \x13 HYPERLINK x \x14link\x15 \x13 INDEX \x15\r", "Прив\u{7}ет\r"),
        );
        assert_eq!(page.media_type, "application/msword");
        assert_eq!(page.text, "caf\u{e9} link \nПрив\tет");
    }

    #[test]
    fn an_old_document_is_in_the_charset_of_its_fonts() {
        let text = encoding_rs::WINDOWS_1251.encode("Компания предлагает со склада в Москве").0;
        let document = |charset: u8| {
            let mut stream = vec![0u8; 0x400];
            stream[..4].copy_from_slice(&[0xdc, 0xa5, 0x68, 0]);
            stream[6..8].copy_from_slice(&[9, 4]);
            stream[0x18..0x1c].copy_from_slice(&0x400u32.to_le_bytes());
            stream[0x34] = text.len() as u8;
            let fonts = [&[9, 0, 6, 0, 0, 0, charset, 0, b'A', 0], text.as_ref()].concat();
            stream[0xd0..0xd4].copy_from_slice(&(0x400 + text.len() as u32).to_le_bytes());
            stream[0xd4] = 10;
            stream.extend(text.as_ref());
            stream.extend(&fonts[..10]);
            extract("a.doc", &container(&[("WordDocument", &stream)])).text
        };
        assert_eq!(document(204), "Компания предлагает со склада в Москве");
        assert!(document(0).starts_with('\u{ca}'), "a western font says otherwise");
    }

    #[test]
    fn drawings_are_read_once() {
        use super::super::art::tests::{drawing, record};
        let mut stream = vec![0u8; 0x400];
        stream[..4].copy_from_slice(&[0xec, 0xa5, 0xc1, 0]);
        let data = [b"head".to_vec(), record(&drawing(b"one"), 1, true), record(&drawing(b"two"), 2, false)];
        let again = [stream, record(&drawing(b"one"), 1, true)].concat();
        let page = extract("a.doc", &container(&[("WordDocument", &again), ("Data", &data.concat())]));
        assert_eq!(page.parts.iter().map(|part| part.text.as_str()).collect::<Vec<_>>(), ["one", "two"]);
    }

    #[test]
    fn a_protected_document_is_opened_by_its_password() {
        use crate::cipher::{Hash, Rc4};
        let password: Vec<u8> = "key".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let digest = Hash::Sha1.of(&[&[3u8; 16], &password]);
        let mut verifier = [vec![5; 16], Hash::Sha1.of(&[&[5; 16]])].concat();
        Rc4::new(&Hash::Sha1.of(&[&digest, &[0; 4]])[..16]).apply(&mut verifier);
        let header: Vec<u8> = [2u32 << 16 | 4, 0x24, 32, 4, 0, 0x6801, 0x8004, 128, 1, 0, 0, 16]
            .into_iter()
            .flat_map(u32::to_le_bytes)
            .collect();
        let header = [header.as_slice(), &[3; 16], &verifier[..16], &[20, 0, 0, 0], &verifier[16..]].concat();
        let mut stream = vec![0u8; 0x400];
        stream[..4].copy_from_slice(&[0xec, 0xa5, 0xc1, 0]);
        stream[11] = 1;
        stream[14..18].copy_from_slice(&(header.len() as u32).to_le_bytes());
        stream[0x18..0x1c].copy_from_slice(&0x400u32.to_le_bytes());
        stream[0x4c] = 12;
        stream.extend(b"secret words");
        Key::Long(digest, 16).apply(&mut stream, super::BLOCK_BYTES, |at| at < super::CLEAR_BYTES);
        let bytes = container(&[("WordDocument", &stream), ("0Table", &header)]);
        assert_eq!(crate::formats::tests::opens("a.doc", &bytes, "key").text, "secret words");
    }

    #[test]
    fn an_encrypted_document_says_so() {
        let mut stream = vec![0u8; 0x400];
        stream[11] = 1;
        assert_eq!(
            extract("a.doc", &container(&[("WordDocument", &stream)])).reason.as_deref(),
            Some("unsupported: a document of Word that is protected in its oldest way")
        );
    }
}
