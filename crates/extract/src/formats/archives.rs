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
        match zip.part(index, page.budget()) {
            Ok(input) => page.part(&name, None, input),
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

    use super::zip::tests::zip;
    use crate::Extracted;
    use crate::formats::tests::extract_within;

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
