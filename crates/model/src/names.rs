//! Names of documents whose source speaks bytes: injective text, accepted back by every command (design 5.1).

use std::borrow::Cow;

/// Writes `bytes` as text: UTF-8 stays as it is, `\` becomes `\\`, other bytes and control characters `\xNN`.
pub fn escape(bytes: &[u8]) -> Cow<'_, str> {
    // Most names are plain ASCII, which takes no decoding to tell; without a way out in the middle, several bytes are compared at once.
    let plain = bytes.iter().fold(true, |plain, byte| plain & matches!(byte, b' '..=b'~') & (*byte != b'\\'));
    if let Ok(text) = std::str::from_utf8(bytes)
        && (plain || !text.chars().any(|c| c == '\\' || c.is_control()))
    {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(bytes.len() + 8);
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '\\' => out.push_str("\\\\"),
                c if c.is_control() => {
                    let mut buffer = [0u8; 4];
                    push_hex(&mut out, c.encode_utf8(&mut buffer).as_bytes());
                }
                c => out.push(c),
            }
        }
        push_hex(&mut out, chunk.invalid());
    }
    Cow::Owned(out)
}

/// Reads a name back into the bytes that [`escape`] was given.
///
/// # Errors
/// A sentence that names the first place that cannot be read: a lone `\`, or `\x` without two hexadecimal digits.
pub fn unescape(name: &str) -> Result<Cow<'_, [u8]>, String> {
    if !name.contains('\\') {
        return Ok(Cow::Borrowed(name.as_bytes()));
    }
    let mut out = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some(at) = rest.find('\\') {
        out.extend_from_slice(&rest.as_bytes()[..at]);
        let after = &rest.as_bytes()[at + 1..];
        match after.first() {
            Some(b'\\') => {
                out.push(b'\\');
                rest = &rest[at + 2..];
            }
            Some(b'x') if after.len() >= 3 && after[1..3].iter().all(u8::is_ascii_hexdigit) => {
                let digit = |byte: u8| (byte as char).to_digit(16).unwrap_or(0) as u8;
                out.push(digit(after[1]) * 16 + digit(after[2]));
                rest = &rest[at + 4..];
            }
            _ => {
                return Err(format!(
                    "`{name}` has a lone backslash; write it as `\\\\`, or a byte as `\\xNN`"
                ));
            }
        }
    }
    out.extend_from_slice(rest.as_bytes());
    Ok(Cow::Owned(out))
}

fn push_hex(out: &mut String, bytes: &[u8]) {
    for byte in bytes {
        out.push_str("\\x");
        for half in [byte >> 4, byte & 15] {
            out.push(char::from_digit(u32::from(half), 16).unwrap_or('0').to_ascii_uppercase());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn writes_what_the_design_says() {
        assert_eq!(escape("über/a b.txt".as_bytes()), "über/a b.txt");
        assert_eq!(escape(b"a\\b"), "a\\\\b");
        assert_eq!(escape(b"a\nb\xff"), "a\\x0Ab\\xFF");
        assert!(unescape("a\\q").is_err());
        assert!(unescape("a\\x4").is_err());
    }

    proptest! {
        #[test]
        fn every_byte_string_comes_back(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let name = escape(&bytes);
            prop_assert_eq!(unescape(&name).unwrap(), bytes.as_slice());
        }

        #[test]
        fn a_name_that_reads_is_the_only_one_for_its_bytes(name in "[a-z\\\\x0-9F]{0,12}") {
            if let Ok(bytes) = unescape(&name) {
                let written = escape(&bytes);
                prop_assert_eq!(unescape(&written).unwrap(), bytes.as_ref());
            }
        }
    }
}
