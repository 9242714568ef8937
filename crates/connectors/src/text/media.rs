//! Media types: from the first bytes where they speak, from the name where they do not.

/// Types that begin with fixed bytes.
const MAGIC: &[(&[u8], &str)] = &[
    (b"%PDF-", "application/pdf"),
    (b"%!PS", "application/postscript"),
    (b"{\\rtf", "application/rtf"),
    (b"PK\x03\x04", "application/zip"),
    (b"PK\x05\x06", "application/zip"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"II*\0", "image/tiff"),
    (b"MM\0*", "image/tiff"),
    (b"\x1f\x8b", "application/gzip"),
    (b"BZh", "application/x-bzip2"),
    (b"\xfd7zXZ\0", "application/x-xz"),
    (b"\x28\xb5\x2f\xfd", "application/zstd"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"Rar!\x1a\x07", "application/vnd.rar"),
    (b"\x7fELF", "application/x-executable"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
    (b"SQLite format 3\0", "application/vnd.sqlite3"),
    (b"OggS", "audio/ogg"),
    (b"fLaC", "audio/flac"),
    (b"ID3", "audio/mpeg"),
    (b"\0asm", "application/wasm"),
];

/// Types of text, by lower-case extension.
const TEXT: &[(&str, &str)] = &[
    ("txt", "text/plain"),
    ("text", "text/plain"),
    ("log", "text/plain"),
    ("md", "text/markdown"),
    ("markdown", "text/markdown"),
    ("rst", "text/x-rst"),
    ("adoc", "text/asciidoc"),
    ("org", "text/org"),
    ("tex", "text/x-tex"),
    ("html", "text/html"),
    ("htm", "text/html"),
    ("xhtml", "application/xhtml+xml"),
    ("xml", "application/xml"),
    ("svg", "image/svg+xml"),
    ("json", "application/json"),
    ("jsonl", "application/jsonl"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
    ("toml", "application/toml"),
    ("csv", "text/csv"),
    ("tsv", "text/tab-separated-values"),
    ("css", "text/css"),
    ("js", "text/javascript"),
    ("mjs", "text/javascript"),
    ("ts", "text/x-typescript"),
    ("tsx", "text/x-typescript"),
    ("rs", "text/x-rust"),
    ("py", "text/x-python"),
    ("rb", "text/x-ruby"),
    ("go", "text/x-go"),
    ("java", "text/x-java"),
    ("kt", "text/x-kotlin"),
    ("scala", "text/x-scala"),
    ("c", "text/x-c"),
    ("h", "text/x-c"),
    ("cc", "text/x-c++"),
    ("cpp", "text/x-c++"),
    ("hpp", "text/x-c++"),
    ("cs", "text/x-csharp"),
    ("swift", "text/x-swift"),
    ("php", "text/x-php"),
    ("pl", "text/x-perl"),
    ("lua", "text/x-lua"),
    ("sh", "text/x-shellscript"),
    ("bash", "text/x-shellscript"),
    ("sql", "application/sql"),
    ("ini", "text/plain"),
    ("cfg", "text/plain"),
    ("conf", "text/plain"),
    ("diff", "text/x-diff"),
    ("patch", "text/x-diff"),
    ("eml", "message/rfc822"),
    ("vcf", "text/vcard"),
    ("ics", "text/calendar"),
];

/// Types of files that are no text, by lower-case extension; consulted where the first bytes leave it open.
const BINARY: &[(&str, &str)] = &[
    ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ("pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    ("odt", "application/vnd.oasis.opendocument.text"),
    ("ods", "application/vnd.oasis.opendocument.spreadsheet"),
    ("odp", "application/vnd.oasis.opendocument.presentation"),
    ("epub", "application/epub+zip"),
    ("jar", "application/java-archive"),
    ("doc", "application/msword"),
    ("xls", "application/vnd.ms-excel"),
    ("ppt", "application/vnd.ms-powerpoint"),
    ("msg", "application/vnd.ms-outlook"),
    ("tar", "application/x-tar"),
    ("mp3", "audio/mpeg"),
    ("mp4", "video/mp4"),
    ("mov", "video/quicktime"),
    ("mkv", "video/x-matroska"),
    ("avif", "image/avif"),
    ("heic", "image/heic"),
    ("ico", "image/vnd.microsoft.icon"),
    ("bmp", "image/bmp"),
    ("woff2", "font/woff2"),
    ("ttf", "font/ttf"),
];

fn by_extension(table: &[(&str, &'static str)], name: &str) -> Option<&'static str> {
    let extension = name.rsplit_once('.')?.1.to_lowercase();
    table.iter().find(|(known, _)| *known == extension).map(|(_, media)| *media)
}

/// The type that the first bytes alone tell; `name` only tells containers apart.
pub(super) fn by_content(head: &[u8], name: &str) -> Option<&'static str> {
    if head.len() >= 12 && head.starts_with(b"RIFF") {
        match &head[8..12] {
            b"WEBP" => return Some("image/webp"),
            b"WAVE" => return Some("audio/wav"),
            _ => {}
        }
    }
    let media = MAGIC.iter().find(|(magic, _)| head.starts_with(magic)).map(|(_, media)| *media)?;
    let container = matches!(media, "application/zip" | "application/x-ole-storage");
    Some(if container { by_extension(BINARY, name).unwrap_or(media) } else { media })
}

/// The type of something that is not text.
pub(super) fn of_binary(name: &str) -> &'static str {
    by_extension(BINARY, name).unwrap_or("application/octet-stream")
}

/// The type of text that begins with `head`.
pub(super) fn of_text(head: &str, name: &str) -> &'static str {
    let begin = head.trim_start().as_bytes();
    let begins = |word: &[u8]| begin.get(..word.len()).is_some_and(|bytes| bytes.eq_ignore_ascii_case(word));
    if begins(b"<!doctype html") || begins(b"<html") {
        return "text/html";
    }
    let named = by_extension(TEXT, name);
    if begins(b"<?xml") {
        return named.filter(|media| media.ends_with("xml")).unwrap_or("application/xml");
    }
    named.unwrap_or("text/plain")
}

/// Whether the text of this type is for people as it is; that of the others is left to later stages.
pub(super) fn readable(media: &str) -> bool {
    !matches!(media, "text/html" | "application/xhtml+xml" | "message/rfc822")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_goes_before_the_name() {
        assert_eq!(by_content(b"%PDF-1.7", "a.txt"), Some("application/pdf"));
        assert_eq!(by_content(b"PK\x03\x04....", "a.ZIP"), Some("application/zip"));
        assert!(
            by_content(b"PK\x03\x04....", "a.Docx").is_some_and(|media| media.contains("wordprocessingml"))
        );
        assert_eq!(by_content(b"hello", "a.pdf"), None);
        assert_eq!(of_text("hello", "a.pdf"), "text/plain");
        assert_eq!(of_text(" <!DOCTYPE HTML>", "a.txt"), "text/html");
        assert_eq!(of_text("<?xml version", "a.svg"), "image/svg+xml");
        assert_eq!(of_text("<?xml version", "a.txt"), "application/xml");
        assert_eq!(of_text("fn main", "main.RS"), "text/x-rust");
        assert_eq!(of_binary("a.unknown"), "application/octet-stream");
    }
}
