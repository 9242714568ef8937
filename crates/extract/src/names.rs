//! Media types by the name alone, for judging documents before they are read; who has read one asks `detect`.

use crate::detect;

/// Formats whose content speaks for itself, by lower-case extension: a name alone is believed here only.
const SPEAKING: &[(&str, &str)] = &[
    ("7z", "application/x-7z-compressed"),
    ("a", "application/x-archive"),
    ("avi", "video/x-msvideo"),
    ("bz2", "application/x-bzip2"),
    ("class", "application/java-vm"),
    ("dll", "application/x-msdownload"),
    ("exe", "application/x-msdownload"),
    ("flac", "audio/flac"),
    ("gif", "image/gif"),
    ("gz", "application/gzip"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("oga", "audio/ogg"),
    ("ogg", "audio/ogg"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("ps", "application/postscript"),
    ("psd", "image/vnd.adobe.photoshop"),
    ("rar", "application/vnd.rar"),
    ("rtf", "application/rtf"),
    ("sqlite", "application/vnd.sqlite3"),
    ("tgz", "application/gzip"),
    ("tif", "image/tiff"),
    ("tiff", "image/tiff"),
    ("wasm", "application/wasm"),
    ("wav", "audio/wav"),
    ("webp", "image/webp"),
    ("wpd", "application/vnd.wordperfect"),
    ("xz", "application/x-xz"),
    ("zip", detect::ZIP),
    ("zst", "application/zstd"),
];

/// The media type that a name promises; none when it promises nothing.
pub fn media_type(name: &str) -> Option<&'static str> {
    detect::by_extension(SPEAKING, name).or_else(|| detect::by_name(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_promises_what_its_content_usually_is() {
        for (name, media) in [
            ("a.pdf", Some("application/pdf")),
            ("A.JPG", Some("image/jpeg")),
            ("a.md", Some("text/markdown")),
            ("a.docx", Some("application/vnd.openxmlformats-officedocument.wordprocessingml.document")),
            ("README", None),
            ("a.unknown", None),
        ] {
            assert_eq!(media_type(name), media, "{name}");
        }
    }
}
