//! Archives and packed files: their members are parts.

pub(crate) mod ar;
pub(crate) mod packed;
pub(crate) mod seven;
pub(crate) mod tar;
pub(crate) mod web;
pub(crate) mod zip;

use self::zip::Zip;
use crate::Input;
use crate::detect;
use crate::formats::{odf, office};
use crate::page::{Outcome, TextSink};

/// Reads whatever comes in a ZIP: office documents, books, or members.
pub(crate) fn zipped(input: Input, page: &mut TextSink<'_>) -> Outcome {
    let mut zip = Zip::open(input)?;
    if let Some(outcome) = office::read(&mut zip, page) {
        return outcome;
    }
    if let Some(outcome) = odf::read(&mut zip, page) {
        return outcome;
    }
    if !matches!(page.media_type(), detect::ZIP | "application/java-archive") {
        page.set_media_type(detect::ZIP);
    }
    for index in 0..zip.len() {
        let name = zip.name(index).to_owned();
        if name.ends_with('/') {
            continue;
        }
        let stated = zip.stated(index);
        match zip.part(index, page.budget()) {
            Ok(input) => page.member(&name, stated, None, input),
            Err(error) => page.lost_part(&name, &error.to_string()),
        }
    }
    if zip.is_damaged() {
        page.broken_off(
            "its directory is missing or damaged, so that members may be missing; it may be cut off",
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::tar::tests::tar;
    use super::zip::tests::zip;
    use crate::Extracted;
    use crate::formats::tests::{extract, extract_within};

    /// Bytes that many zeros come out of: so many blocks of 128 KiB, four bytes each (zstd).
    fn zeros_in_zstd(blocks: usize) -> Vec<u8> {
        let mut bytes = b"\x28\xb5\x2f\xfd\x00\x38".to_vec();
        for block in 1..=blocks {
            let head = u32::from(block == blocks) | 1 << 1 | (128 << 10) << 3;
            bytes.extend(&head.to_le_bytes()[..3]);
            bytes.push(0);
        }
        bytes
    }

    fn answer(packing: &str, body: &[u8]) -> Vec<u8> {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Encoding: {packing}\r\n\r\n");
        [head.as_bytes(), body].concat()
    }

    fn office(kind: &str, main: &str, others: &[(&str, &[u8])]) -> Vec<u8> {
        let kinds =
            format!("<Types><Override PartName='/{main}' ContentType='application/vnd.{kind}'/></Types>");
        let root = format!("<R><Relationship Id='1' Type='x/officeDocument' Target='{main}'/></R>");
        zip(&[&[("[Content_Types].xml", kinds.as_bytes()), ("_rels/.rels", root.as_bytes())], others]
            .concat())
    }

    /// A ZIP file with one member of five bytes and these facts: date and time of DOS, and extra fields.
    fn dated_zip(date: u16, time: u16, extras: &[u8]) -> Vec<u8> {
        let [time, date] = [time, date].map(u16::to_le_bytes);
        let length = 5u32.to_le_bytes();
        let extra = [extras.len() as u8, 0];
        let head =
            [&[20, 0, 0, 0, 0, 0][..], &time, &date, &[0; 4], &length, &length, &[5, 0], &extra].concat();
        let local = [b"PK\x03\x04".as_slice(), &head, b"a.txt", extras, b"words"].concat();
        let listed = [b"PK\x01\x02\x14\0".as_slice(), &head, &[0; 14], b"a.txt", extras].concat();
        let numbers = [listed.len() as u32, local.len() as u32].map(u32::to_le_bytes).concat();
        [local.as_slice(), &listed, b"PK\x05\x06\0\0\0\0\x01\0\x01\0", &numbers, &[0, 0]].concat()
    }

    /// Size and time of the first member.
    fn told(name: &str, bytes: &[u8]) -> (Option<u64>, Option<i64>) {
        let found = extract(name, bytes);
        let part = found.parts.first().unwrap_or_else(|| panic!("{name}: {found:?}"));
        (part.size, part.modified)
    }

    /// 2024-01-31T12:00:00Z in milliseconds, and as Windows counts.
    const NOON: i64 = 1_706_702_400_000;
    const TICKS: u64 = 133_511_760_000_000_000;

    /// A 7z archive with one member that is not packed.
    fn dated_7z() -> Vec<u8> {
        let name: Vec<u8> = "a.txt\0".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let streams: &[u8] = &[4, 6, 0, 1, 9, 5, 0, 7, 0xb, 1, 0, 1, 1, 0, 0xc, 5, 0, 8, 0, 0];
        let files = [&[5, 1, 0x11, name.len() as u8 + 1, 0], name.as_slice(), &[0x14, 10, 1, 0]].concat();
        let header = [&[1], streams, &files, &TICKS.to_le_bytes(), &[0, 0]].concat();
        let sum = |bytes: &[u8]| {
            let mut sum = flate2::Crc::new();
            sum.update(bytes);
            sum.sum().to_le_bytes()
        };
        let lengths = [5u64.to_le_bytes(), (header.len() as u64).to_le_bytes()].concat();
        let start = [lengths.as_slice(), &sum(&header)].concat();
        [b"7z\xbc\xaf\x27\x1c\0\x04", sum(&start).as_slice(), &start, b"words", &header].concat()
    }

    #[test]
    fn members_are_as_large_and_as_old_as_their_container_says() {
        let date = 44 << 9 | 1 << 5 | 31;
        let unix = [&[0x55, 0x54, 5, 0, 1][..], &1_706_702_400u32.to_le_bytes()].concat();
        let windows =
            [&[0x0a, 0, 32, 0, 0, 0, 0, 0, 1, 0, 24, 0][..], &TICKS.to_le_bytes(), &[0; 16]].concat();
        let mut tarred = tar(&[("a.txt", b'0', b"words")]);
        tarred[136..148].copy_from_slice(b"14556433100\0");
        let fields = b"20 mtime=1706702400.5\n";
        let with_fields = tar(&[("x", b'x', fields), ("a.txt", b'0', b"words")]);
        let head = format!("{:<16}{:<12}{:<20}{:<10}`\n", "a.txt/", 1_706_702_400, 0, 5);
        let ar = [b"!<arch>\n", head.as_bytes(), b"words\n"].concat();
        let mut gz =
            flate2::GzBuilder::new().mtime(1_706_702_400).write(Vec::new(), flate2::Compression::fast());
        gz.write_all(b"words").unwrap();
        let record = "WARC/1.0\r\nWARC-Type: resource\r\nWARC-Date: 2024-01-31T12:00:00Z\r\nContent-Length: 5\r\n\r\nwords";
        let answer = "HTTP/1.1 200 OK\r\n\r\nwords";
        let arc = format!("http://a/ 0.0.0.0 20240131120000 text/plain {}\n{answer}", answer.len());
        let arc = format!("filedesc://a 0 1 t 4\n1 x\n{arc}");
        let mail = "From a\nSubject: s\nDate: Wed, 31 Jan 2024 13:00:00 +0100\n\nwords\n";
        for (name, bytes, size) in [
            ("dos.zip", dated_zip(date, 12 << 11, b""), 5),
            ("unix.zip", dated_zip(date, 9 << 11, &unix), 5),
            ("windows.zip", dated_zip(date, 9 << 11, &windows), 5),
            ("a.tar", tarred, 5),
            ("b.tar", with_fields, 5),
            ("a.ar", ar, 5),
            ("a.txt.gz", gz.finish().unwrap(), 5),
            ("a.warc", record.as_bytes().to_vec(), 5),
            ("a.arc", arc.into_bytes(), 5),
            ("a.mbox", mail.as_bytes().to_vec(), mail.len() as u64 - 7),
            ("a.7z", dated_7z(), 5),
        ] {
            assert_eq!(told(name, &bytes), (Some(size), Some(NOON)), "{name}");
        }
        // Without a directory, the member's own header says it.
        let whole = dated_zip(date, 12 << 11, b"");
        assert_eq!(told("cut.zip", &whole[..whole.len() - 30]), (Some(5), Some(NOON)));
    }

    #[test]
    fn times_that_cannot_be_are_left_out_and_the_members_are_read() {
        let hostile = |field: &[u8; 12]| {
            let mut bytes = tar(&[("a.txt", b'0', b"words")]);
            bytes[136..148].copy_from_slice(field);
            bytes
        };
        let before = [&[0x55, 0x54, 5, 0, 1][..], &(-5i32).to_le_bytes()].concat();
        for (name, bytes) in [
            ("zero.zip", dated_zip(0, 0, b"")),
            ("2107.zip", dated_zip(127 << 9 | 1 << 5 | 1, 0, b"")),
            ("before.zip", dated_zip(0, 0, &before)),
            ("short.zip", dated_zip(0, 0, &before[..7])),
            ("negative.tar", hostile(&[0xff; 12])),
            ("large.tar", hostile(b"\x80\0\x01\0\0\0\0\0\x65\xba\x39\x40")),
            ("words.tar", hostile(b"not a time\0\0")),
            (
                "huge.tar",
                tar(&[("x", b'x', b"40 mtime=999999999999999999999999999\n"), ("a.txt", b'0', b"words")]),
            ),
            (
                "digits.ar",
                [
                    b"!<arch>\n".as_slice(),
                    format!("{:<16}{:<32}{:<10}`\nwords\n", "a.txt/", "-7", 5).as_bytes(),
                ]
                .concat(),
            ),
        ] {
            assert_eq!(told(name, &bytes), (Some(5), None), "{name}");
            assert_eq!(extract(name, &bytes).parts[0].text, "words", "{name}");
        }
    }

    fn says_bomb(page: &Extracted) -> bool {
        page.reason.as_deref().is_some_and(|reason| reason.contains("bomb"))
            || page.parts.iter().any(says_bomb)
    }

    #[test]
    fn bombs_end_with_a_reason_however_they_are_packed() {
        let zeros = vec![0u8; 12 << 20];
        let words = b"words ".repeat(2 << 20);
        let mut deflated = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        deflated.write_all(&words).unwrap();
        let deflated = answer("deflate", &deflated.finish().unwrap());
        let mut gzipped = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzipped.write_all(&words).unwrap();
        let gzipped = answer("gzip", &gzipped.finish().unwrap());
        let zstd = zeros_in_zstd(96);
        let head = |name: &str, length: usize| format!("{name:<16}{:<32}{length:<10}`\n", "").into_bytes();
        let package = [
            b"!<arch>\n".to_vec(),
            head("debian-binary", 4),
            b"2.0\n".to_vec(),
            head("data.tar.zst", zstd.len()),
            zstd.clone(),
        ];
        let record = format!(
            "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a/\r\nContent-Type: application/http\r\nContent-Length: {}\r\n\r\n",
            gzipped.len()
        );
        let workbook = office(
            "ms-excel.sheet.binary.macroEnabled.main",
            "xl/workbook.bin",
            &[
                ("xl/workbook.bin", b""),
                (
                    "xl/_rels/workbook.bin.rels",
                    b"<R><Relationship Id='a' Type='x/sharedStrings' Target='s.bin'/></R>",
                ),
                ("xl/s.bin", &zeros),
            ],
        );
        let blanks = vec![b' '; 12 << 20];
        let drawing = office(
            "ms-visio.drawing.main+xml",
            "visio/document.xml",
            &[
                ("visio/document.xml", b"<VisioDocument/>"),
                (
                    "visio/_rels/document.xml.rels",
                    b"<R><Relationship Id='a' Type='x/pages' Target='pages.xml'/></R>",
                ),
                ("visio/pages.xml", &blanks),
            ],
        );
        for (name, bytes) in [
            ("a.zst", zstd),
            ("a.deb", package.concat()),
            ("a.warc", [record.as_bytes(), &gzipped].concat()),
            (
                "a.arc",
                [
                    format!("filedesc://a 0 1 t 4\n1 x\nhttp://a/ 0 1 text/html {}\n", deflated.len())
                        .as_bytes(),
                    &deflated,
                ]
                .concat(),
            ),
            ("a.xlsb", workbook),
            ("a.vsdx", drawing),
        ] {
            let limits = crate::Limits { expanded_bytes: 8 << 20, ..crate::Limits::default() };
            let page = extract_within(limits, name, &bytes);
            let is_told = page.over_limit && page.reason.is_some();
            assert!(says_bomb(&page) || is_told, "{name}: {page:?}");
        }
    }
}
