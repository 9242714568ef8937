//! Tape archives, with the long names of both families.

use std::io::{self, Read, Seek, SeekFrom};

use crate::Input;
use crate::page::{Outcome, Stated, TextSink};
use crate::{dates, decode};

/// Bytes of a long name or of the fields of one member.
const HEADER_BYTES_MAX: u64 = 1 << 20;

/// Members are parts.
pub(crate) fn read(mut input: Input, sink: &mut TextSink<'_>) -> Outcome {
    let mut at = 0;
    let (mut long_name, mut time) = (None, None);
    loop {
        let Ok(header) = input.range(at, 512) else {
            // Some programs leave out the two empty blocks at the end.
            return if at >= input.len() { Ok(()) } else { Err("the archive is cut off".into()) };
        };
        if header.iter().all(|byte| *byte == 0) {
            return Ok(());
        }
        let size = number(&header[124..136]).ok_or("a header of the archive is damaged")?;
        let data = at + 512;
        at = data.saturating_add(size.div_ceil(512).saturating_mul(512));
        match header[156] {
            b'L' => long_name = Some(text(&content(&mut input, data, size.min(HEADER_BYTES_MAX))?)),
            b'x' => {
                let fields = content(&mut input, data, size.min(HEADER_BYTES_MAX))?;
                long_name = value_of(&fields, "path").or(long_name);
                time = value_of(&fields, "mtime").or(time);
            }
            0 | b'0' | b'7' => {
                let name = long_name.take().unwrap_or_else(|| name_of(&header));
                let modified = modified(&header, time.take().as_deref());
                if name.ends_with('/') {
                    continue;
                }
                let member = input.piece(data, size)?;
                let whole = member.len() == size;
                sink.member(&name, Stated { size: Some(size), modified }, None, member);
                if !whole {
                    return Err("the archive is cut off".into());
                }
            }
            // Links, devices, folders and fields for all: nothing to read.
            _ => (long_name, time) = (None, None),
        }
    }
}

fn content(input: &mut Input, at: u64, size: u64) -> io::Result<Vec<u8>> {
    input.seek(SeekFrom::Start(at))?;
    let mut bytes = Vec::new();
    input.take(size).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Octal digits, or binary when the first bit is set.
fn number(field: &[u8]) -> Option<u64> {
    if field[0] & 0x80 != 0 {
        return Some(field[4..].iter().fold(0u64, |sum, byte| sum << 8 | u64::from(*byte)));
    }
    let digits = std::str::from_utf8(field).ok()?.trim_matches(['\0', ' ']);
    if digits.is_empty() { Some(0) } else { u64::from_str_radix(digits, 8).ok() }
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    decode::whole(&bytes[..end], None)
}

fn name_of(header: &[u8]) -> String {
    let name = text(&header[..100]);
    let prefix = if &header[257..263] == b"ustar\0" { text(&header[345..500]) } else { String::new() };
    if prefix.is_empty() { name } else { format!("{prefix}/{name}") }
}

/// When a member was changed: by its field, which may have a fraction, or by its header.
fn modified(header: &[u8], field: Option<&str>) -> Option<i64> {
    let whole = field.and_then(|field| field.split('.').next()?.parse().ok());
    // Binary times before 1970 have all bits set; those beyond 64 bits are none.
    let field = &header[136..148];
    let is_large = field[0] & 0x80 != 0 && field[..4] != [0x80, 0, 0, 0];
    let seconds = || number(field).filter(|_| !is_large).and_then(|seconds| i64::try_from(seconds).ok());
    whole.or_else(seconds).and_then(dates::stated)
}

/// One of the fields of a member, such as `30 path=name\n`.
fn value_of(fields: &[u8], name: &str) -> Option<String> {
    let fields = String::from_utf8_lossy(fields);
    let value = |line: &str| line.split_once(' ')?.1.strip_prefix(name)?.strip_prefix('=').map(str::to_owned);
    fields.lines().find_map(value)
}

#[cfg(test)]
pub(crate) mod tests {
    use crate::formats::tests::extract;

    /// A tape archive with these members.
    pub(crate) fn tar(members: &[(&str, u8, &[u8])]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (name, kind, content) in members {
            let mut header = [0u8; 512];
            header[..name.len()].copy_from_slice(name.as_bytes());
            header[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
            header[148..156].fill(b' ');
            header[156] = *kind;
            header[257..263].copy_from_slice(b"ustar\0");
            let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
            header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
            bytes.extend(header);
            bytes.extend(*content);
            bytes.resize(bytes.len().next_multiple_of(512), 0);
        }
        bytes.extend([0; 1024]);
        bytes
    }

    #[test]
    fn members_are_parts_under_their_long_names() {
        let long = "d/".repeat(80) + "a.txt";
        let bytes = tar(&[
            ("x", b'L', long.as_bytes()),
            ("short", b'0', b"one"),
            ("dir/", b'5', b""),
            ("b.txt", 0, b"two"),
        ]);
        let extracted = extract("a.tar", &bytes);
        assert_eq!(extracted.media_type, "application/x-tar");
        assert_eq!(
            extracted.parts.iter().map(|part| (part.name.as_str(), part.text.as_str())).collect::<Vec<_>>(),
            [(long.as_str(), "one"), ("b.txt", "two")]
        );
    }

    #[test]
    fn what_is_cut_off_is_said() {
        let bytes = tar(&[("a.txt", b'0', &[b'x'; 2000])]);
        let extracted = extract("a.tar", &bytes[..1500]);
        assert_eq!(extracted.parts[0].text.len(), 988);
        assert!(extracted.reason.is_some_and(|reason| reason.contains("cut off")));
    }
}
