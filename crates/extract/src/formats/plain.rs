//! Plain text of every charset, source code, tables of text, and XML without a meaning that is known.

use std::io::Read;

use encoding_rs::Encoding;
use ingather_model::limits;

use crate::Input;
use crate::decode::{self, Text};
use crate::page::{Outcome, TextSink};
use crate::xml::{self, Go, Met};

/// Text as it is.
pub(crate) fn read(mut input: Input, sink: &mut TextSink<'_>) -> Outcome {
    let mut text = Text::said(input.charset().map(Encoding::name));
    let mut buffer = vec![0; limits::READ_BUFFER_BYTES];
    let mut ended = false;
    while !ended && !text.is_full() {
        let mut length = 0;
        while length < buffer.len() && !ended {
            let more = input.read(&mut buffer[length..])?;
            length += more;
            ended = more == 0;
        }
        text.push(&buffer[..length], ended);
    }
    if text.binary {
        sink.set_media_type(crate::detect::of_binary(sink.name()));
        return Err("it begins as text and goes on as data".into());
    }
    if text.truncated {
        sink.reason("the text is longer than is kept; the rest was cut off");
    }
    if sink.media_type() == "text/markdown"
        && let Some(title) = crate::markdown::title(&text.text)
    {
        sink.field("title", &title);
    }
    sink.text(&text.text);
    Ok(())
}

/// The text between tags.
pub(crate) fn xml(input: Input, sink: &mut TextSink<'_>) -> Outcome {
    let Some(charset) = input.charset() else { return tags(input, sink) };
    let mut bytes = Vec::new();
    input.take(xml::DECODED_BYTES_MAX).read_to_end(&mut bytes)?;
    // With a byte order mark, so that its declaration does not count any more.
    let text = format!("\u{feff}{}", decode::whole(&bytes, Some(charset)));
    tags(text.as_bytes(), sink)
}

fn tags(input: impl Read, sink: &mut TextSink<'_>) -> Outcome {
    let (mut title, mut is_root) = (None, true);
    let outcome = xml::walk(input, |met| {
        match met {
            Met::Open(tag) => {
                sink.space();
                if std::mem::take(&mut is_root)
                    && let Some(language) = tag.attribute("lang")
                {
                    sink.field("language", &language);
                }
                if tag.name() == "title" && title.is_none() {
                    title = Some((String::new(), true));
                }
            }
            Met::Close(name) => {
                sink.space();
                if let Some((_, open)) = title.as_mut().filter(|_| name == "title") {
                    *open = false;
                }
            }
            Met::Text(text) => {
                sink.text(text);
                if let Some((title, _)) = title.as_mut().filter(|(_, open)| *open) {
                    title.push_str(text);
                }
            }
        }
        if sink.is_full() { Go::Stop } else { Go::On }
    });
    if let Some((title, _)) = title {
        sink.field("title", &title);
    }
    outcome
}

#[cfg(test)]
mod tests {
    use crate::formats::tests::extract;

    #[test]
    fn text_of_any_charset_is_read_and_data_is_not() {
        assert_eq!(extract("a.txt", "Grüße".as_bytes()).text, "Grüße");
        assert_eq!(extract("a.txt", b"\xff\xfeG\0r\0").text, "Gr");
        let mut late = b"line\n".repeat(50_000);
        late.push(0);
        let late = extract("a.txt", &late);
        assert_eq!((late.text.as_str(), late.media_type.as_str()), ("", "application/octet-stream"));
        assert!(late.reason.is_some_and(|reason| reason.contains("data")));
        assert_eq!(extract("a.txt", b"").reason.as_deref(), Some("it is empty"));
    }

    #[test]
    fn markdown_is_titled_by_its_first_heading() {
        assert_eq!(extract("a.md", b"intro\n# Title\n").field("title"), Some("Title"));
        assert_eq!(extract("a.txt", b"# no markdown\n").field("title"), None);
    }

    #[test]
    fn xml_gives_its_text_and_title() {
        let extracted = extract("a.xml", b"<?xml version='1.0'?><a><title>T</title><b>one</b><b>two</b></a>");
        assert_eq!(extracted.text.split_whitespace().collect::<Vec<_>>(), ["T", "one", "two"]);
        assert_eq!(extracted.field("title"), Some("T"));
        let named = extract("a.xml", b"<?xml version='1.0'?><a xml:lang='fr'><b xml:lang='en'>one</b></a>");
        assert_eq!(named.field("language"), Some("fr"));
        let cut = extract("a.xml", b"<?xml version='1.0'?><a><b>one</b><b");
        assert!(cut.text.contains("one"));
    }
}
