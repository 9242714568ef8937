//! Where the links of cells in old workbooks lead ([MS-XLS] 2.4.140, [MS-OSHARED] 2.3.7.1).

use super::super::{narrow, u16_at, u32_at, utf16};
use encoding_rs::Encoding;

/// What a link leads to: an address, or a file.
const ADDRESS: [u8; 16] =
    [0xe0, 0xc9, 0xea, 0x79, 0xf9, 0xba, 0xce, 0x11, 0x8c, 0x82, 0, 0xaa, 0, 0x4b, 0xa9, 0x0b];
const FILE: [u8; 16] = [3, 3, 0, 0, 0, 0, 0, 0, 0xc0, 0, 0, 0, 0, 0, 0, 0x46];
/// Where a link begins, behind the cells that have it and what it is.
const LINK_AT: usize = 24;
/// Bytes of a file's path that say nothing here.
const RESERVED_BYTES: usize = 24;

/// Where a link leads outside of the book.
pub(super) fn target(data: &[u8], encoding: &'static Encoding) -> Option<String> {
    let flags = u32_at(data, LINK_AT + 4);
    let mut rest = data.get(LINK_AT + 8..)?;
    // The words and the frame in which it is shown come first.
    for flag in [0x10, 0x80] {
        if flags & flag != 0 {
            string(&mut rest)?;
        }
    }
    match flags & 0x101 {
        0x101 => string(&mut rest).map(utf16_to_zero),
        1 => {
            let kind = take(&mut rest, 16)?;
            if kind == ADDRESS {
                let length = u32_at(take(&mut rest, 4)?, 0) as usize;
                return take(&mut rest, length).map(utf16_to_zero);
            }
            (kind == FILE).then(|| file(rest, encoding))?
        }
        _ => None,
    }
    .filter(|target| !target.is_empty())
}

/// The path of a file, in sixteen bits where it is so.
fn file(mut rest: &[u8], encoding: &'static Encoding) -> Option<String> {
    let length = u32_at(take(&mut rest, 6)?, 2) as usize;
    let short = take(&mut rest, length)?;
    take(&mut rest, RESERVED_BYTES)?;
    match u32_at(take(&mut rest, 4)?, 0) {
        0 => Some(narrow(short, encoding).trim_end_matches('\0').to_owned()),
        _ => {
            let length = u32_at(take(&mut rest, 6)?, 0) as usize;
            let path = take(&mut rest, length)?;
            // Excel for Macintosh wrote eight bits here, too.
            Some(if is_narrow(path) { narrow(path, encoding) } else { utf16_to_zero(path) })
        }
    }
}

/// Whether a path is of eight bits where sixteen are said. Letters of sixteen bits may look like two printable ones each,
/// but not the marks between the steps of a path.
fn is_narrow(path: &[u8]) -> bool {
    path.iter().all(|byte| matches!(byte, b' '..=b'~')) && path.iter().any(|byte| b"./:\\".contains(byte))
}

fn take<'d>(rest: &mut &'d [u8], length: usize) -> Option<&'d [u8]> {
    let (taken, behind) = rest.split_at_checked(length)?;
    *rest = behind;
    Some(taken)
}

/// A text after its length.
fn string<'d>(rest: &mut &'d [u8]) -> Option<&'d [u8]> {
    let length = u32_at(take(rest, 4)?, 0) as usize;
    take(rest, length.checked_mul(2)?)
}

fn utf16_to_zero(bytes: &[u8]) -> String {
    let end = (0..bytes.len() / 2).find(|unit| u16_at(bytes, unit * 2) == 0);
    utf16(&bytes[..end.map_or(bytes.len(), |unit| unit * 2)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use encoding_rs::WINDOWS_1252;

    fn wide(text: &str) -> Vec<u8> {
        text.encode_utf16().flat_map(u16::to_le_bytes).collect()
    }

    fn link(flags: u32, pieces: &[&[u8]]) -> Vec<u8> {
        [&[0; LINK_AT][..], &[2, 0, 0, 0], &flags.to_le_bytes(), &pieces.concat()].concat()
    }

    fn counted(text: &str, by: u32) -> Vec<u8> {
        let bytes = wide(text);
        [&(bytes.len() as u32 / by).to_le_bytes()[..], &bytes].concat()
    }

    #[test]
    fn links_stand_behind_the_cells_of_a_sheet() {
        use super::super::tests::record;
        let link = link(1, &[&ADDRESS, &counted("http://a/\0", 1)]);
        let book =
            [record(0x809, &[0, 6, 5, 0, 0, 0, 0, 0]), record(0x204, &[0, 0, 0, 0, 0, 0, 1, 0, 0, b'x'])];
        let book = [book.concat(), record(0x1b8, &link[..30]), record(0x3c, &link[30..]), record(0x0a, &[])]
            .concat();
        let book = crate::formats::legacy::container::tests::container(&[("Workbook", &book)]);
        assert_eq!(crate::formats::tests::extract("a.xls", &book).text, "x\nhttp://a/");
    }

    #[test]
    fn links_lead_to_addresses_and_files() {
        let target = |data: &[u8]| target(data, WINDOWS_1252);
        let address = link(0x13, &[&counted("shown\0", 2), &ADDRESS, &counted("http://a/\0junk", 1)]);
        assert_eq!(target(&address).as_deref(), Some("http://a/"));
        let saved = link(0x181, &[&counted("frame\0", 2), &counted("x.doc\0", 2)]);
        assert_eq!(target(&saved).as_deref(), Some("x.doc"));
        let path = |long: &[u8]| link(1, &[&FILE, &[0, 0, 6, 0, 0, 0], b"a\xe4.tx\0", &[0; 24], long]);
        assert_eq!(target(&path(&[0; 4])).as_deref(), Some("aä.tx"));
        let long = [&[18, 0, 0, 0, 12, 0, 0, 0, 3, 0][..], &wide("aä.txt")].concat();
        assert_eq!(target(&path(&long)).as_deref(), Some("aä.txt"));
        let macintosh = [&[14, 0, 0, 0, 8, 0, 0, 0, 3, 0][..], b"::Docs:a"].concat();
        assert_eq!(target(&path(&macintosh)).as_deref(), Some("::Docs:a"));
        let of_two_bytes = [&[14, 0, 0, 0, 8, 0, 0, 0, 3, 0][..], &wide("\u{6f22}\u{5b57}.x")].concat();
        assert_eq!(target(&path(&of_two_bytes)).as_deref(), Some("\u{6f22}\u{5b57}.x"));
        assert_eq!(target(&link(8, &[&counted("Sheet1!A1\0", 2)])), None);
        for length in 0..address.len() {
            assert!(target(&address[..length]).is_none_or(|_| length == address.len()), "{length}");
        }
    }
}
