//! The URI of a file: `file://` and the bytes of its absolute path, percent-encoded (RFC 8089, RFC 3986).

/// The URI of the file at the absolute path `path`.
pub fn of_path(path: &[u8]) -> String {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut uri = String::with_capacity(path.len() + 16);
    uri.push_str("file://");
    for &byte in path {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'.' | b'_' | b'~') {
            uri.push(char::from(byte));
        } else {
            uri.push('%');
            uri.push(char::from(HEX[usize::from(byte >> 4)]));
            uri.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
    uri
}

/// The path that a URI of [`of_path`] stands for; none when it is anything else.
pub fn path_of(uri: &str) -> Option<Vec<u8>> {
    let mut rest = uri.strip_prefix("file://")?.as_bytes();
    let mut path = Vec::with_capacity(rest.len());
    while let Some((byte, after)) = rest.split_first() {
        let (byte, after) = match (byte, after) {
            (b'%', [high, low, after @ ..]) => {
                let digit =
                    |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
                (digit(high)? * 16 + digit(low)?, after)
            }
            // What follows is a fragment or a query, never of a path: the name of something in a document may stand there.
            (b'%' | b'#' | b'?', _) => return None,
            (byte, after) => (*byte, after),
        };
        path.push(byte);
        rest = after;
    }
    (path.first() == Some(&b'/')).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_but_unreserved_bytes_and_slashes_is_encoded() {
        assert_eq!(of_path("/srv/a b/ü#?.txt".as_bytes()), "file:///srv/a%20b/%C3%BC%23%3F.txt");
        assert_eq!(of_path(b"/x\xff\n\\%"), "file:///x%FF%0A%5C%25");
        assert_eq!(of_path(b"/a-b._~"), "file:///a-b._~");
    }

    #[test]
    fn a_path_comes_back_from_its_uri() {
        for path in [&b"/srv/a b/\xff\n%"[..], "/ü#?".as_bytes()] {
            assert_eq!(path_of(&of_path(path)).as_deref(), Some(path));
        }
        for odd in
            ["http:///a", "file://host/a", "file:///a%", "file:///%zz", "file:///a.zip#b", "file:///a?b"]
        {
            assert_eq!(path_of(odd), None, "{odd}");
        }
    }
}
