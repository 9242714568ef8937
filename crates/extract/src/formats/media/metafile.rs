//! Text of Windows metafiles ([MS-EMF], [MS-WMF]), which label the icons of embedded files.

use crate::page::Page;

fn u16_at(bytes: &[u8], at: usize) -> usize {
    bytes
        .get(at..)
        .and_then(|rest| rest.get(..2))
        .map_or(0, |two| usize::from(u16::from_le_bytes([two[0], two[1]])))
}

fn u32_at(bytes: &[u8], at: usize) -> usize {
    u16_at(bytes, at) | u16_at(bytes, at.saturating_add(2)) << 16
}

fn utf16(bytes: &[u8]) -> String {
    let units: Vec<u16> = bytes.chunks_exact(2).map(|two| u16::from_le_bytes([two[0], two[1]])).collect();
    String::from_utf16_lossy(&units)
}

/// Writes the text of a drawing.
pub(super) fn read(bytes: &[u8], page: &mut Page<'_>) {
    if bytes.starts_with(b"\x01\0\0\0") {
        enhanced(bytes, page);
    } else {
        old(bytes, page);
    }
}

/// Writes a run of text; one on another line stands on another line.
fn run(text: &str, line: usize, last: &mut Option<usize>, page: &mut Page<'_>) {
    match last.replace(line) {
        Some(before) if before == line => page.space(),
        _ => page.line_break(),
    }
    page.text(text);
}

fn enhanced(bytes: &[u8], page: &mut Page<'_>) {
    let (mut rest, mut last) = (bytes, None);
    while rest.len() >= 8 && !page.is_full() {
        let (kind, size) = (u32_at(rest, 0), u32_at(rest, 4));
        let Some(record) = rest.get(..size).filter(|_| size >= 8) else { break };
        let wide = match kind {
            84 => Some(true),
            83 => Some(false),
            _ => None,
        };
        if let Some(wide) = wide {
            let (count, at) = (u32_at(record, 44), u32_at(record, 48));
            let length = if wide { count.saturating_mul(2) } else { count };
            if let Some(raw) = record.get(at..).and_then(|rest| rest.get(..length)) {
                let text = if wide {
                    utf16(raw)
                } else {
                    encoding_rs::WINDOWS_1252.decode_without_bom_handling(raw).0.into_owned()
                };
                run(&text, u32_at(record, 40), &mut last, page);
            }
        } else if kind == 108 {
            // Small text: its options tell whether a rectangle comes before it, and how wide it is.
            let (count, options) = (u32_at(record, 16), u32_at(record, 20));
            let at = if options & 0x100 != 0 { 36 } else { 52 };
            let narrow = options & 0x200 != 0;
            if let Some(raw) = record
                .get(at..)
                .and_then(|rest| rest.get(..if narrow { count } else { count.saturating_mul(2) }))
            {
                let text =
                    if narrow { raw.iter().map(|byte| char::from(*byte)).collect() } else { utf16(raw) };
                run(&text, u32_at(record, 12), &mut last, page);
            }
        }
        rest = &rest[size..];
    }
}

fn old(bytes: &[u8], page: &mut Page<'_>) {
    let start = if bytes.starts_with(b"\xd7\xcd\xc6\x9a") { 22 } else { 0 };
    let mut rest = bytes.get(start + 18..).unwrap_or_default();
    let mut last = None;
    while rest.len() >= 6 && !page.is_full() {
        let size = u32_at(rest, 0).saturating_mul(2);
        let Some(record) = rest.get(..size).filter(|_| size >= 6) else { break };
        let (raw, line) = match u16_at(rest, 4) {
            0x0521 => {
                let count = u16_at(record, 6);
                (
                    record.get(8..).and_then(|rest| rest.get(..count)),
                    u16_at(record, 8 + count.next_multiple_of(2)),
                )
            }
            0x0a32 => {
                let at = if u16_at(record, 12) & 6 != 0 { 22 } else { 14 };
                (record.get(at..).and_then(|rest| rest.get(..u16_at(record, 10))), u16_at(record, 6))
            }
            _ => (None, 0),
        };
        if let Some(raw) = raw {
            run(&encoding_rs::WINDOWS_1252.decode_without_bom_handling(raw).0, line, &mut last, page);
        }
        rest = &rest[size..];
    }
}

#[cfg(test)]
mod tests {
    use crate::formats::tests::extract;

    #[test]
    fn the_text_of_a_metafile_is_read() {
        let mut header = vec![1u8, 0, 0, 0, 88, 0, 0, 0];
        header.resize(88, 0);
        header[40..44].copy_from_slice(b" EMF");
        let text: Vec<u8> = "Label.txt".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let mut record = vec![84u8, 0, 0, 0];
        record.extend((76 + text.len() as u32 + 2).to_le_bytes());
        record.resize(76, 0);
        record[44] = 9;
        record[48] = 76;
        record.extend(text);
        record.extend([0, 0]);
        header.extend(record);
        assert_eq!(extract("a.emf", &header).text, "Label.txt");
    }

    #[test]
    fn the_text_of_an_old_metafile_is_read() {
        let mut bytes = vec![1, 0, 9, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        bytes.extend([8, 0, 0, 0, 0x21, 5, 3, 0, b'a', b'b', b'c', 0, 1, 0, 1, 0]);
        assert_eq!(extract("a.wmf", &bytes).text, "abc");
    }
}
