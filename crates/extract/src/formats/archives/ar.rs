//! Archives of `ar`, in which libraries and Debian packages come; both families of long names.

use crate::Input;
use crate::page::{Outcome, Stated, TextSink};
use crate::{dates, decode};

/// How each one begins.
pub(crate) const MAGIC: &[u8] = b"!<arch>\n";
/// Bytes of the head of a member.
const HEAD_BYTES: usize = 60;
/// Bytes of the table of long names, and of one of them.
const NAMES_BYTES_MAX: usize = 16 << 20;
const NAME_BYTES_MAX: usize = 64 << 10;

/// Members are parts.
pub(crate) fn read(mut input: Input, sink: &mut TextSink<'_>) -> Outcome {
    let mut at = MAGIC.len() as u64;
    let mut names = Vec::new();
    let mut first = true;
    while at < input.len() {
        let Ok(head) = input.range(at, HEAD_BYTES) else { return Err("the archive is cut off".into()) };
        let size = std::str::from_utf8(&head[48..58]).ok().and_then(|size| size.trim().parse::<u64>().ok());
        let size = size.filter(|_| head.ends_with(b"`\n")).ok_or("a header of the archive is damaged")?;
        let (mut data, mut length) = (at + HEAD_BYTES as u64, size);
        at = data.saturating_add(size).saturating_add(size & 1);
        let raw = head[..16].trim_ascii_end();
        let name = match raw {
            // Tables of symbols, and of long names.
            b"/" | b"/SYM64/" | b"__.SYMDEF" | b"__.SYMDEF SORTED" => continue,
            b"//" => {
                let most = usize::try_from(size).unwrap_or(usize::MAX).min(NAMES_BYTES_MAX);
                names = input.range(data, most)?;
                continue;
            }
            [b'/', place @ ..] => long_name(&names, place).unwrap_or_default(),
            [b'#', b'1', b'/', count @ ..] => {
                let count = std::str::from_utf8(count).ok().and_then(|count| count.parse::<usize>().ok());
                let count = count.filter(|count| *count <= NAME_BYTES_MAX && *count as u64 <= size);
                let count = count.ok_or("a name in the archive is damaged")?;
                let name = text(&input.range(data, count)?);
                data += count as u64;
                length -= count as u64;
                name
            }
            raw => text(raw.strip_suffix(b"/").unwrap_or(raw)),
        };
        if std::mem::take(&mut first) && name == "debian-binary" {
            sink.set_media_type("application/vnd.debian.binary-package");
            continue;
        }
        let member = input.piece(data, length)?;
        let whole = member.len() == length;
        let seconds = std::str::from_utf8(&head[16..28]).ok().and_then(|time| time.trim().parse().ok());
        let stated = Stated { size: Some(length), modified: seconds.and_then(dates::stated) };
        sink.member(&name, stated, None, member);
        if !whole {
            return Err("the archive is cut off".into());
        }
    }
    Ok(())
}

/// A name in the table of long names: it ends with a slash and a line break.
fn long_name(names: &[u8], place: &[u8]) -> Option<String> {
    let place: usize = std::str::from_utf8(place).ok()?.parse().ok()?;
    let rest = names.get(place..)?;
    let end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
    Some(text(rest[..end].strip_suffix(b"/").unwrap_or(&rest[..end])))
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    decode::whole(&bytes[..end], None)
}

#[cfg(test)]
mod tests {
    use crate::formats::archives::tar::tests::tar;
    use crate::formats::tests::extract;

    fn ar(members: &[(&str, &[u8])]) -> Vec<u8> {
        let mut bytes = super::MAGIC.to_vec();
        for (name, content) in members {
            bytes.extend(
                format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 100_644, content.len())
                    .as_bytes(),
            );
            bytes.extend(*content);
            bytes.resize(bytes.len().next_multiple_of(2), b'\n');
        }
        bytes
    }

    #[test]
    fn members_are_parts_under_their_short_and_long_names() {
        let extracted = extract(
            "a.ar",
            &ar(&[
                ("/", b"symbols"),
                ("//", b"a name that is long.txt/\nother/\n"),
                ("a.txt/", b"one"),
                ("/0", b"two"),
                ("#1/8", b"bsd.txt\0three"),
            ]),
        );
        let parts: Vec<_> =
            extracted.parts.iter().map(|part| (part.name.as_str(), part.text.as_str())).collect();
        assert_eq!(parts, [("a.txt", "one"), ("a name that is long.txt", "two"), ("bsd.txt", "three")]);
        let cut = extract("a.ar", &ar(&[("a.txt/", b"words that are cut")])[..80]);
        assert!(cut.broken_off && !cut.parts[0].text.is_empty());
    }

    #[test]
    fn a_package_of_debian_is_known_and_opened() {
        let data = tar(&[("./usr/share/doc/a", b'0', b"words")]);
        let extracted = extract("a.deb", &ar(&[("debian-binary", b"2.0\n"), ("data.tar", &data)]));
        assert_eq!(extracted.media_type, "application/vnd.debian.binary-package");
        assert_eq!(extracted.parts[0].parts[0].text, "words");
    }
}
