//! The URI of a file: `file://` and the bytes of its absolute path, percent-encoded (RFC 8089, RFC 3986).

/// The URI of the file at the absolute path `path`.
pub(super) fn of_path(path: &[u8]) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_but_unreserved_bytes_and_slashes_is_encoded() {
        assert_eq!(of_path("/srv/a b/ü#?.txt".as_bytes()), "file:///srv/a%20b/%C3%BC%23%3F.txt");
        assert_eq!(of_path(b"/x\xff\n\\%"), "file:///x%FF%0A%5C%25");
        assert_eq!(of_path(b"/a-b._~"), "file:///a-b._~");
    }
}
