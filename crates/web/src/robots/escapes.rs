//! One spelling for paths and rules, so that octets can be compared (RFC 9309, 2.2.2).

/// The path of a request. Stars and dollars that stand in it are escaped, because in rules they are escaped when meant.
pub(super) fn of_path(path: &[u8]) -> Vec<u8> {
    let mut result = Vec::with_capacity(path.len());
    let mut in_query = false;
    let mut at = 0;
    while let Some(byte) = path.get(at) {
        match byte {
            b'*' => result.extend_from_slice(b"%2A"),
            b'$' => result.extend_from_slice(b"%24"),
            _ => {
                at += copy_one(path, at, &mut in_query, &mut result);
                continue;
            }
        }
        at += 1;
    }
    if result.is_empty() {
        result.push(b'/');
    }
    result
}

/// The octets of a rule between its stars; `in_query` goes on from piece to piece.
pub(super) fn of_rule(piece: &[u8], in_query: &mut bool) -> Vec<u8> {
    let mut result = Vec::with_capacity(piece.len());
    let mut at = 0;
    while let Some(byte) = piece.get(at) {
        if *byte == b'$' {
            result.extend_from_slice(b"%24");
            at += 1;
        } else {
            at += copy_one(piece, at, in_query, &mut result);
        }
    }
    result
}

/// Marks that are plain in the value of a query, escaped or not: the standard's own example takes `?u=https://a` and
/// `?u=https%3A%2F%2Fa` for one. In a path they differ.
const PLAIN_IN_QUERY: &[u8] = b":/?@!'(),;";

/// Copies an octet or an escape in its one spelling; gives how many octets were taken.
fn copy_one(text: &[u8], at: usize, in_query: &mut bool, result: &mut Vec<u8>) -> usize {
    let byte = text[at];
    if byte == b'%'
        && let Some(code) = text.get(at + 1..at + 3)
        && let Some(octet) = hex(code)
    {
        let plain = octet.is_ascii_alphanumeric()
            || b"-._~".contains(&octet)
            || (*in_query && PLAIN_IN_QUERY.contains(&octet));
        match plain {
            true => result.push(octet),
            false => push_escape(octet, result),
        }
        return 3;
    }
    *in_query |= byte == b'?';
    match byte {
        0x21..=0x7e => result.push(byte),
        _ => push_escape(byte, result),
    }
    1
}

fn hex(code: &[u8]) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(code[0])? * 16 + digit(code[1])?).ok()
}

fn push_escape(octet: u8, result: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    result.extend_from_slice(&[b'%', DIGITS[usize::from(octet >> 4)], DIGITS[usize::from(octet & 15)]]);
}
