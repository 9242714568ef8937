//! Word processing: the body, notes, comments, headers and footers, text boxes and diagrams.

use std::collections::HashSet;
use std::io::Read;

use super::drawing;
use super::lists::{self, Lists, Place};
use super::relations::Relations;
use crate::formats::archives::zip::Zip;
use crate::page::{Outcome, Spoken, TextSink};
use crate::xml::{self, Go, Met, Tag};

/// Kinds of relation that lead to more text, in the order in which it is written.
const MORE: &[&str] = &["footnotes", "endnotes", "comments", "header", "footer"];

/// Reads a document.
pub(super) fn read(zip: &mut Zip, main: &str, page: &mut TextSink<'_>) -> Outcome {
    let relations = Relations::of(zip, main, page.budget());
    let index = zip.find(main).ok_or("its main part is missing")?;
    let budget = page.budget();
    let mut lists = Lists::of(zip, &relations, budget);
    let outcome = walk(zip.stream(index, budget)?, &mut lists, page);
    let mut drawn = HashSet::new();
    drawing::all_of(zip, main, page, &mut drawn);
    for kind in MORE {
        for target in relations.targets(kind) {
            if let Some(bytes) = zip.find_read(&target, page.budget()) {
                page.line_break();
                // The body is what counts; damage beside it costs only that.
                let _ = walk(bytes.as_slice(), &mut lists, page);
            }
            drawing::all_of(zip, &target, page, &mut drawn);
        }
    }
    outcome
}

/// What a walk over a document keeps in mind.
struct Walk<'l> {
    lists: &'l mut Lists,
    /// Inside elements with text.
    words: usize,
    /// Inside elements whose text is left out.
    silent: usize,
    /// Inside the properties of a paragraph or run, where a tab is a place and not a character.
    properties: usize,
    /// Inside properties of former days.
    former: usize,
    /// What the paragraph says of its place, and whether its text has begun.
    paragraph: Place,
    begun: bool,
    /// The language of the paragraph, of the run as it says, and of both.
    around: Spoken,
    run: Place,
    spoken: Spoken,
    /// Pages so far, and whether another one begins with the next paragraph.
    pages: usize,
    turned: bool,
}

/// Elements whose text is left out: what was deleted, moved away, or stands there a second time for old programs.
const SILENT: &[&str] = &["del", "moveFrom", "Fallback", "instrText", "delText", "binData"];

/// Writes the text of one part whose styles and lists are not known.
pub(super) fn body(source: impl Read, page: &mut TextSink<'_>) -> Outcome {
    walk(source, &mut Lists::default(), page)
}

fn walk(source: impl Read, lists: &mut Lists, page: &mut TextSink<'_>) -> Outcome {
    let mut walk = Walk {
        lists,
        words: 0,
        silent: 0,
        properties: 0,
        former: 0,
        paragraph: Place::default(),
        begun: false,
        around: Spoken::default(),
        run: Place::default(),
        spoken: Spoken::default(),
        pages: 1,
        turned: false,
    };
    xml::walk(source, |met| {
        match met {
            Met::Open(tag) => walk.open(&tag, page),
            Met::Close(name) => walk.close(name, page),
            Met::Text(text) if walk.words > 0 && walk.silent == 0 => walk.text(text, page),
            Met::Text(_) => {}
        }
        if page.is_full() { Go::Stop } else { Go::On }
    })
}

impl Walk<'_> {
    fn open(&mut self, tag: &Tag<'_>, page: &mut TextSink<'_>) {
        let shown = self.properties == 0 && self.silent == 0;
        match tag.name() {
            "t" => self.words += 1,
            "r" => self.turn_to(Place::default()),
            "pPr" | "rPr" => self.properties += 1,
            "pPrChange" => self.former += 1,
            "tab" | "ptab" if shown => self.text("\t", page),
            "lastRenderedPageBreak" if shown => self.turned = true,
            "br" if shown && tag.attribute("type").is_some_and(|kind| kind == "page") => {
                self.turned = true;
                page.line_break();
            }
            "br" | "cr" if shown => self.text("\n", page),
            "noBreakHyphen" => self.text("\u{2011}", page),
            "p" if self.silent == 0 => (self.paragraph, self.begun) = (Place::default(), false),
            "tbl" if self.silent == 0 => page.table_begin(),
            "textpath" if self.silent == 0 => {
                if let Some(words) = tag.attribute("string") {
                    page.line(&words);
                }
            }
            // What people say of a picture for those who do not see it.
            "docPr" if shown => {
                if let Some(words) = tag.attribute("descr").filter(|words| !words.trim().is_empty()) {
                    page.space();
                    self.text(words.trim(), page);
                    page.space();
                }
            }
            "comment" => {
                if let Some(author) = tag.attribute("author") {
                    page.line(&author);
                }
            }
            name if SILENT.contains(&name) => self.silent += 1,
            "lang" if self.properties == 1 => {
                self.turn_to(Place { spoken: lists::spoken(tag), ..self.run.clone() });
            }
            "rStyle" if self.properties == 1 => {
                self.turn_to(Place { style: tag.attribute("val"), ..self.run.clone() });
            }
            _ if self.properties == 1 && self.former == 0 => self.paragraph.take(tag),
            _ => {}
        }
    }

    fn close(&mut self, name: &str, page: &mut TextSink<'_>) {
        match name {
            "t" => self.words = self.words.saturating_sub(1),
            "pPr" | "rPr" => self.properties = self.properties.saturating_sub(1),
            "pPrChange" => self.former = self.former.saturating_sub(1),
            "p" if self.silent == 0 => page.line_break(),
            "tc" if self.silent == 0 => page.cell_end(),
            "tr" if self.silent == 0 => page.row_end(),
            "tbl" if self.silent == 0 => page.table_end(),
            name if SILENT.contains(&name) => self.silent = self.silent.saturating_sub(1),
            _ => {}
        }
    }

    fn text(&mut self, text: &str, page: &mut TextSink<'_>) {
        if !std::mem::replace(&mut self.begun, true) {
            self.begin(page);
        }
        page.spoken(text, &self.spoken, &self.lists.default);
    }

    /// Goes on with a run that says so of its language and style.
    fn turn_to(&mut self, run: Place) {
        self.spoken = self.lists.whole(&run).spoken.or(&self.around);
        self.run = run;
    }

    /// Begins a paragraph, a heading or an item of a list.
    fn begin(&mut self, page: &mut TextSink<'_>) {
        if self.turned && !page.is_in_cell() {
            self.turned = false;
            self.pages += 1;
            page.page_mark(self.pages);
        }
        let place = self.lists.whole(&self.paragraph);
        self.around.clone_from(&place.spoken);
        let run = std::mem::take(&mut self.run);
        self.turn_to(run);
        let level = place.level.unwrap_or(0);
        let label = place.list.and_then(|list| self.lists.count(&list, level));
        match (place.outline, label) {
            (Some(outline), label) => {
                page.heading(outline + 1);
                if let Some(label) = label.filter(|label| !label.is_empty()) {
                    page.text(&format!("{label} "));
                }
            }
            (None, Some(label)) => page.item(level, &label),
            (None, None) => page.paragraph(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{package, relations};
    use crate::formats::tests::extract;

    #[test]
    fn headings_lists_tables_and_pages_are_marked() {
        let item = |level: u8, words: &str| {
            format!(
                "<w:p><w:pPr><w:numPr><w:ilvl w:val='{level}'/><w:numId w:val='1'/></w:numPr></w:pPr><w:r><w:t>{words}</w:t></w:r></w:p>"
            )
        };
        let document = format!(
            "<w:document><w:p><w:pPr><w:pStyle w:val='H'/></w:pPr><w:t>Head</w:t></w:p><w:p><w:t>words</w:t></w:p>{}{}{}\
            <w:tbl><w:tr><w:tc><w:p><w:t>a|b</w:t></w:p></w:tc><w:tc><w:p><w:t>c</w:t></w:p><w:p><w:t>d</w:t></w:p></w:tc></w:tr>\
            <w:tr><w:tc><w:p/></w:tc><w:tc><w:p><w:t>e</w:t></w:p></w:tc></w:tr></w:tbl>\
            <w:p><w:r><w:br w:type='page'/></w:r><w:r><w:lastRenderedPageBreak/><w:t>next</w:t></w:r></w:p></w:document>",
            item(0, "one"),
            item(1, "inner"),
            item(0, "two")
        );
        let bytes = package(
            "word/document.xml",
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml",
            &[
                ("word/document.xml", &document),
                (
                    "word/_rels/document.xml.rels",
                    &relations(&[("a", "styles", "styles.xml"), ("b", "numbering", "numbering.xml")]),
                ),
                ("word/styles.xml", "<s><w:style w:styleId='H'><w:name w:val='heading 2'/></w:style></s>"),
                (
                    "word/numbering.xml",
                    "<n><w:abstractNum w:abstractNumId='0'><w:lvl w:ilvl='0'><w:start w:val='1'/><w:numFmt w:val='decimal'/><w:lvlText w:val='%1.'/></w:lvl>\
                    <w:lvl w:ilvl='1'><w:start w:val='1'/><w:numFmt w:val='bullet'/><w:lvlText w:val='o'/></w:lvl></w:abstractNum>\
                    <w:num w:numId='1'><w:abstractNumId w:val='0'/></w:num></n>",
                ),
            ],
        );
        assert_eq!(
            crate::formats::tests::marked("a.docx", &bytes),
            "## Head\n\nwords\n\n1. one\n  - inner\n2. two\n\n| a\\|b | c d |\n| --- | --- |\n| | e |\n\n<!-- page 2 -->\n\nnext"
        );
        let plain = extract("a.docx", &bytes).text;
        assert_eq!(plain, "Head\nwords\n1. one\ninner\n2. two\na|b\nc\nd\ne\nnext");
    }

    #[test]
    fn words_are_in_the_language_of_their_runs_and_styles() {
        let styles = "<s><w:docDefaults><w:rPrDefault><w:rPr><w:lang w:val='en-US' w:eastAsia='ja-JP' w:bidi='ar-SA'/></w:rPr></w:rPrDefault></w:docDefaults>\
            <w:style w:type='paragraph' w:default='1' w:styleId='Normal'><w:rPr><w:lang w:val='en-GB'/></w:rPr></w:style>\
            <w:style w:styleId='G'><w:basedOn w:val='Normal'/><w:rPr><w:lang w:val='de-DE'/></w:rPr></w:style>\
            <w:style w:styleId='H'><w:basedOn w:val='G'/></w:style>\
            <w:style w:type='character' w:styleId='S'><w:rPr><w:lang w:val='es-ES'/></w:rPr></w:style></s>";
        let run = |about: &str, words: &str| format!("<w:r><w:rPr>{about}</w:rPr><w:t>{words}</w:t></w:r>");
        let german = "<w:pPr><w:pStyle w:val='H'/><w:rPr><w:lang w:val='nl-NL'/></w:rPr></w:pPr>";
        let (lang, style) = ("<w:lang w:val='fr-FR' w:eastAsia='zh-CN'/>", "<w:rStyle w:val='S'/>");
        let former = "<w:rPrChange><w:rPr><w:lang w:val='it-IT'/></w:rPr></w:rPrChange>";
        for (body, marked, default) in [
            (format!("<w:p>{}</w:p>", run("", "one two")), None, Some("en-GB")),
            (format!("<w:p>{}</w:p>", run("", "\u{5e9}\u{5dc}\u{5d5}\u{5dd}")), None, Some("ar-SA")),
            (format!("<w:p>{german}{}</w:p>", run(former, "eins zwei")), Some("de-DE"), None),
            (format!("<w:p>{german}{}{}</w:p>", run("", "a"), run(style, "uno dos")), Some("es-ES"), None),
            (
                format!("<w:p>{}{}</w:p><w:p>{}</w:p>", run("", "a"), run(lang, "un deux"), run("", "b")),
                Some("fr-FR"),
                None,
            ),
            (format!("<w:p>{}</w:p>", run(lang, "\u{6771}\u{4eac}")), Some("zh-CN"), None),
            (
                format!("<w:p>{german}{}</w:p><w:p>{}</w:p>", run("", "a"), run("", "three")),
                None,
                Some("en-GB"),
            ),
        ] {
            let bytes = package(
                "word/document.xml",
                "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml",
                &[
                    ("word/document.xml", &format!("<w:document><w:body>{body}</w:body></w:document>")),
                    ("word/_rels/document.xml.rels", &relations(&[("a", "styles", "styles.xml")])),
                    ("word/styles.xml", styles),
                ],
            );
            let found = extract("a.docx", &bytes);
            assert_eq!(
                (found.field("language"), found.field("default_language")),
                (marked, default),
                "{body}"
            );
        }
    }

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
            <w:r><w:drawing><wp:docPr name='p.png' descr='red square'/></w:drawing><w:instrText>HYPERLINK x</w:instrText></w:r><w:del><w:r><w:delText>gone</w:delText></w:r></w:del></w:p>\
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
        assert_eq!(
            words,
            ["one", "t", "red", "square", "box", "c1", "c2", "drawn", "note", "Bob", "remark", "top"]
        );
        assert!(page.text.starts_with("one\tt red square \nbox\nc1\n"), "{}", page.text);
    }
}
