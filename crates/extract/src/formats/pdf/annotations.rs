//! What is pinned to the pages of a PDF: remarks, files, and links that lead out of it.

use hayro_syntax::object::{Array, Dict, Name};

use super::{ITEMS_MAX, attachment, text_of};
use crate::page::TextSink;

/// Writes what people remarked on a page, each after its author, and where its links lead, and takes files that are pinned to it.
pub(super) fn read(leaf: &Dict<'_>, page: &mut TextSink<'_>) {
    let Some(all) = leaf.get::<Array<'_>>("Annots") else { return };
    // A link over several lines is one for each line, and has the same address.
    let mut addresses: Vec<String> = Vec::new();
    for remark in all.iter::<Dict<'_>>().take(ITEMS_MAX) {
        let kind = remark.get::<Name<'_>>("Subtype");
        let kind = kind.as_ref().map(|kind| kind.as_ref()).unwrap_or_default();
        if let Some(file) = remark.get::<Dict<'_>>("FS") {
            attachment("", &file, page);
        }
        match kind {
            b"Link" => {
                let address = remark.get::<Dict<'_>>("A").map(|action| text_of(&action, "URI"));
                if let Some(address) = address.filter(|address| addresses.last() != Some(address)) {
                    addresses.push(address);
                }
            }
            // Windows of remarks and the places of fields repeat what stands elsewhere.
            b"Popup" | b"Widget" => {}
            _ => {
                let (author, words) = (text_of(&remark, "T"), text_of(&remark, "Contents"));
                match words.trim().is_empty() || author.trim().is_empty() {
                    true => page.line(&words),
                    false => page.line(&format!("{author}: {words}")),
                }
            }
        }
    }
    addresses.iter().for_each(|address| page.line(address));
}

#[cfg(test)]
mod tests {
    use crate::formats::pdf::tests::pdf;
    use crate::formats::tests::extract;

    /// A file with one page and these annotations.
    fn annotated(annotations: &str) -> Vec<u8> {
        let text = String::from_utf8(pdf("BT /F1 12 Tf 72 700 Td (word) Tj ET", "", &[])).unwrap();
        text.replace("/Contents 4 0 R", &format!("/Annots[{annotations}]/Contents 4 0 R")).into_bytes()
    }

    #[test]
    fn a_remark_stands_after_its_author() {
        let bytes = annotated("<</Subtype/Text/T(Ann)/Contents(too long)>> <</Subtype/Text/T(Ann)>>");
        assert_eq!(extract("a.pdf", &bytes).text, "word\nAnn: too long");
    }

    #[test]
    fn links_are_read_by_their_addresses_once_for_all_their_lines() {
        let link = "<</Subtype/Link/A<</S/URI/URI(https://example.org/a)>>>>";
        let inside = "<</Subtype/Link/Dest[3 0 R/Fit]/Contents(next)>>";
        let bytes = annotated(&[link, link, inside].concat());
        assert_eq!(extract("a.pdf", &bytes).text, "word\nhttps://example.org/a");
    }
}
