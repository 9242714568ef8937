//! Word processing: the body, notes, comments, headers and footers, text boxes and diagrams.

use std::collections::HashSet;
use std::io::Read;

use super::drawing;
use super::relations::Relations;
use crate::formats::archives::zip::Zip;
use crate::page::{Outcome, Page};
use crate::xml::{self, Go, Met, Tag};

/// Kinds of relation that lead to more text, in the order in which it is written.
const MORE: &[&str] = &["footnotes", "endnotes", "comments", "header", "footer"];

/// Reads a document.
pub(super) fn read(zip: &mut Zip, main: &str, page: &mut Page<'_>) -> Outcome {
    let relations = Relations::of(zip, main, page.budget());
    let index = zip.find(main).ok_or("its main part is missing")?;
    let budget = page.budget();
    let outcome = body(zip.stream(index, budget)?, page);
    let mut drawn = HashSet::new();
    drawing::all_of(zip, main, page, &mut drawn);
    for kind in MORE {
        for target in relations.targets(kind) {
            if let Some(bytes) = zip.find_read(&target, page.budget()) {
                page.line_break();
                // The body is what counts; damage beside it costs only that.
                let _ = body(bytes.as_slice(), page);
            }
            drawing::all_of(zip, &target, page, &mut drawn);
        }
    }
    outcome
}

/// What a walk over a document keeps in mind.
#[derive(Default)]
struct Place {
    /// Inside elements with text.
    words: usize,
    /// Inside elements whose text is left out.
    silent: usize,
    /// Inside the properties of a paragraph, where a tab is a place and not a character.
    properties: usize,
}

/// Elements whose text is left out: what was deleted, moved away, or stands there a second time for old programs.
const SILENT: &[&str] = &["del", "moveFrom", "Fallback", "instrText", "delText", "binData"];

/// Writes the text of one part.
pub(super) fn body(source: impl Read, page: &mut Page<'_>) -> Outcome {
    let mut place = Place::default();
    xml::walk(source, |met| {
        match met {
            Met::Open(tag) => open(&tag, &mut place, page),
            Met::Close(name) => close(name, &mut place, page),
            Met::Text(text) if place.words > 0 && place.silent == 0 => page.text(text),
            Met::Text(_) => {}
        }
        if page.is_full() { Go::Stop } else { Go::On }
    })
}

fn open(tag: &Tag<'_>, place: &mut Place, page: &mut Page<'_>) {
    match tag.name() {
        "t" => place.words += 1,
        "pPr" | "rPr" => place.properties += 1,
        "tab" | "ptab" if place.properties == 0 && place.silent == 0 => page.text("\t"),
        "br" | "cr" if place.properties == 0 && place.silent == 0 => page.text("\n"),
        "noBreakHyphen" => page.text("\u{2011}"),
        "textpath" if place.silent == 0 => {
            if let Some(words) = tag.attribute("string") {
                page.line(&words);
            }
        }
        "comment" => {
            if let Some(author) = tag.attribute("author") {
                page.line(&author);
            }
        }
        name if SILENT.contains(&name) => place.silent += 1,
        _ => {}
    }
}

fn close(name: &str, place: &mut Place, page: &mut Page<'_>) {
    match name {
        "t" => place.words = place.words.saturating_sub(1),
        "pPr" | "rPr" => place.properties = place.properties.saturating_sub(1),
        "p" if place.silent == 0 => page.line_break(),
        "tc" if place.silent == 0 => page.tab(),
        "tr" if place.silent == 0 => page.line_break(),
        name if SILENT.contains(&name) => place.silent = place.silent.saturating_sub(1),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{package, relations};
    use crate::formats::tests::extract;

    #[test]
    fn samples_for_other_documents_are_left_out() {
        let document = "<w:document><w:sdt><w:sdtPr><w:showingPlcHdr/></w:sdtPr><w:sdtContent><w:p><w:t>Click here</w:t></w:p></w:sdtContent></w:sdt></w:document>";
        let bytes = package(
            "word/document.xml",
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml",
            &[
                ("word/document.xml", document),
                ("word/_rels/document.xml.rels", &relations(&[("g", "glossaryDocument", "glossary.xml")])),
                (
                    "word/glossary.xml",
                    "<w:glossaryDocument><w:p><w:t>sample</w:t></w:p></w:glossaryDocument>",
                ),
            ],
        );
        assert_eq!(extract("a.docx", &bytes).text, "Click here", "what the document shows is its text");
    }

    #[test]
    fn body_notes_comments_headers_and_text_boxes_are_read_once() {
        let document = "<w:document><w:body><w:p><w:pPr><w:tabs><w:tab/></w:tabs></w:pPr><w:r><w:t>one</w:t><w:tab/><w:t>t</w:t></w:r>\
            <w:r><w:instrText>HYPERLINK x</w:instrText></w:r><w:del><w:r><w:delText>gone</w:delText></w:r></w:del></w:p>\
            <mc:AlternateContent><mc:Choice><w:txbxContent><w:p><w:t>box</w:t></w:p></w:txbxContent></mc:Choice>\
            <mc:Fallback><w:p><w:t>box</w:t></w:p></mc:Fallback></mc:AlternateContent>\
            <w:tbl><w:tr><w:tc><w:p><w:t>c1</w:t></w:p></w:tc><w:tc><w:p><w:t>c2</w:t></w:p></w:tc></w:tr></w:tbl></w:body></w:document>";
        let rels = relations(&[
            ("a", "footnotes", "footnotes.xml"),
            ("b", "comments", "comments.xml"),
            ("c", "header", "header1.xml"),
            ("d", "diagramData", "diagrams/data1.xml"),
        ]);
        let bytes = package(
            "word/document.xml",
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml",
            &[
                ("word/document.xml", document),
                ("word/_rels/document.xml.rels", &rels),
                ("word/footnotes.xml", "<w:footnotes><w:p><w:t>note</w:t></w:p></w:footnotes>"),
                (
                    "word/comments.xml",
                    "<w:comments><w:comment w:author='Bob'><w:p><w:t>remark</w:t></w:p></w:comment></w:comments>",
                ),
                ("word/header1.xml", "<w:hdr><w:p><w:t>top</w:t></w:p></w:hdr>"),
                ("word/diagrams/data1.xml", "<d><a:p><a:r><a:t>drawn</a:t></a:r></a:p></d>"),
            ],
        );
        let page = extract("a.docx", &bytes);
        assert_eq!(
            page.media_type,
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
        );
        let words: Vec<&str> = page.text.split_whitespace().collect();
        assert_eq!(words, ["one", "t", "box", "c1", "c2", "drawn", "note", "Bob", "remark", "top"]);
        assert!(page.text.starts_with("one\tt\nbox\nc1\n"), "{}", page.text);
    }
}
