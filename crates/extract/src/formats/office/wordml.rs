//! Word documents as one XML file, of 2003 and of 2006.

use super::document;
use crate::Input;
use crate::page::{Outcome, TextSink};
use crate::xml::{self, Go, Met};

/// Reads a document.
pub(crate) fn read(mut input: Input, sink: &mut TextSink<'_>) -> Outcome {
    let mut value = String::new();
    let mut inside = 0;
    // Properties come first; the body is read in a second pass.
    let _ = xml::walk(&mut input, |met| {
        match met {
            Met::Open(tag) => {
                inside += usize::from(matches!(tag.name(), "DocumentProperties" | "coreProperties"));
                value.clear();
                return if tag.name() == "body" { Go::Stop } else { Go::On };
            }
            Met::Text(text) => value.push_str(text),
            Met::Close(name) if inside > 0 => {
                let field = match name {
                    "Title" | "title" => "title",
                    "Author" | "creator" => "author",
                    "Subject" | "subject" => "subject",
                    "Keywords" | "keywords" => "keywords",
                    "Created" | "created" => "created",
                    "LastSaved" | "modified" => "modified",
                    _ => "",
                };
                if !field.is_empty() {
                    sink.field(field, &value);
                }
                if matches!(name, "DocumentProperties" | "coreProperties") {
                    inside -= 1;
                }
            }
            Met::Close(_) => {}
        }
        Go::On
    });
    input.head(0)?;
    document::body(input, sink)
}

#[cfg(test)]
mod tests {
    use crate::formats::tests::extract;

    #[test]
    fn properties_and_body_are_read() {
        let extracted = extract(
            "a.xml",
            b"<?xml version='1.0'?><?mso-application progid='Word.Document'?><w:wordDocument xmlns:w='x'>\
              <o:DocumentProperties><o:Title>T</o:Title></o:DocumentProperties><w:body><w:p><w:r><w:t>words</w:t></w:r></w:p></w:body></w:wordDocument>",
        );
        assert_eq!(extracted.media_type, "application/vnd.ms-wordml");
        assert_eq!((extracted.text.as_str(), extracted.field("title")), ("words", Some("T")));
    }
}
