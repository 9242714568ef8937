//! Workbooks: sheets in their order with what is drawn on them and remarked about them.

use std::collections::{HashMap, HashSet};

use super::book::Book;
use super::number::{Format, builtin};
use super::relations::Relations;
use super::{drawing, sheet};
use crate::formats::archives::zip::Zip;
use crate::page::{Budget, Outcome, TextSink};
use crate::xml::{self, Go, Met};

/// Reads a workbook.
pub(super) fn read(zip: &mut Zip, main: &str, sink: &mut TextSink<'_>) -> Outcome {
    let relations = Relations::of(zip, main, sink.budget());
    let bytes = zip.find_read(main, sink.budget()).ok_or("its main part is missing")?;
    let (mut sheets, mut book) = (Vec::new(), Book::default());
    let hidden_too = sink.options().hidden;
    xml::walk(bytes.as_slice(), |met| {
        if let Met::Open(tag) = met {
            match tag.name() {
                "sheet" => {
                    let hidden = tag.attribute("state").is_some_and(|state| state != "visible");
                    let target = tag.relation().and_then(|id| relations.target(&id).map(str::to_owned));
                    if hidden_too || !hidden {
                        sheets.push((tag.attribute("name").unwrap_or_default(), target));
                    }
                }
                "workbookPr" => {
                    book.since_1904 =
                        tag.attribute("date1904").is_some_and(|flag| flag == "1" || flag == "true");
                }
                _ => {}
            }
        }
        Go::On
    })?;
    for target in relations.targets("styles") {
        book.formats = formats(&zip.find_read(&target, sink.budget()).unwrap_or_default());
    }
    for target in relations.targets("sharedStrings") {
        match zip.find(&target) {
            Some(index) => strings(zip, index, sink.budget(), &mut book)?,
            None => sink.reason("the strings that its cells share are missing"),
        }
    }
    let mut drawn = HashSet::new();
    for (name, target) in sheets {
        sink.title_line(2, &name);
        let Some(target) = target else { continue };
        if let Some(index) = zip.find(&target) {
            let budget = sink.budget();
            sink.table_begin();
            let outcome = sheet::read(zip.stream(index, budget)?, &book, sink);
            sink.table_end();
            outcome?;
        }
        drawing::all_of(zip, &target, sink, &mut drawn);
        let relations = Relations::of(zip, &target, sink.budget());
        relations.links().for_each(|link| sink.line(link));
        for kind in ["comments", "threadedComment"] {
            for comments in relations.targets(kind) {
                sheet::comments(&zip.find_read(&comments, sink.budget()).unwrap_or_default(), sink);
            }
        }
    }
    Ok(())
}

/// The format of each style.
fn formats(styles: &[u8]) -> Vec<Format> {
    let mut codes: HashMap<u32, String> = HashMap::new();
    let (mut formats, mut of_cells) = (Vec::new(), false);
    let _ = xml::walk(styles, |met| {
        match met {
            Met::Open(tag) => match tag.name() {
                "numFmt" => {
                    if let Some(id) = tag.attribute("numFmtId").and_then(|id| id.parse().ok()) {
                        codes.insert(id, tag.attribute("formatCode").unwrap_or_default());
                    }
                }
                "cellXfs" => of_cells = true,
                "xf" if of_cells => {
                    let id = tag.attribute("numFmtId").and_then(|id| id.parse().ok()).unwrap_or(0);
                    let code = codes.get(&id).map_or(builtin(id), String::as_str);
                    formats.push(Format::parse(code));
                }
                _ => {}
            },
            Met::Close("cellXfs") => of_cells = false,
            _ => {}
        }
        Go::On
    });
    formats
}

/// Reads the strings that all sheets share.
fn strings(zip: &mut Zip, index: usize, budget: &Budget, book: &mut Book) -> Outcome {
    let mut words = 0;
    let mut outcome = Ok(());
    xml::walk(zip.stream(index, budget)?, |met| {
        match met {
            Met::Open(tag) => match tag.name() {
                "t" => words += 1,
                // How it is spoken, after how it is written.
                "rPh" => book.push(" "),
                _ => {}
            },
            Met::Close("t") => words -= 1,
            Met::Close("si") => outcome = book.end_string(),
            Met::Text(text) if words > 0 => book.push(text),
            _ => {}
        }
        if outcome.is_err() { Go::Stop } else { Go::On }
    })?;
    outcome
}

#[cfg(test)]
mod tests {
    use super::super::tests::{package, relations};
    use crate::formats::tests::extract;

    pub(super) fn book() -> Vec<u8> {
        let sheet = "<worksheet><sheetData><row><c r='A1' t='s'><v>1</v></c><c t='inlineStr'><is><t>inline</t></is></c></row>\
            <row><c s='1'><f>A1*2</f><v>45322</v></c><c><v>1.5</v></c><c t='b'><v>1</v></c><c t='str'><v>text</v></c></row></sheetData>\
            <headerFooter><oddHeader>&amp;L&amp;\"Arial,Bold\"&amp;12Left &amp;P&amp;CMiddle</oddHeader></headerFooter></worksheet>";
        package(
            "xl/workbook.xml",
            "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml",
            &[
                (
                    "xl/workbook.xml",
                    "<workbook><sheets><sheet name='First' r:id='a'/><sheet name='Secret' state='hidden' r:id='b'/></sheets></workbook>",
                ),
                (
                    "xl/_rels/workbook.xml.rels",
                    &relations(&[
                        ("a", "worksheet", "s1.xml"),
                        ("b", "worksheet", "s2.xml"),
                        ("c", "sharedStrings", "ss.xml"),
                        ("d", "styles", "st.xml"),
                    ]),
                ),
                ("xl/s1.xml", sheet),
                ("xl/s2.xml", "<worksheet><sheetData><row><c><v>7</v></c></row></sheetData></worksheet>"),
                (
                    "xl/_rels/s1.xml.rels",
                    &relations(&[("a", "comments", "c.xml"), ("b", "drawing", "d.xml")]),
                ),
                ("xl/ss.xml", "<sst><si><t>zero</t></si><si><r><t>o</t></r><r><t>ne</t></r></si></sst>"),
                (
                    "xl/st.xml",
                    "<styleSheet><cellStyleXfs><xf numFmtId='9'/></cellStyleXfs><cellXfs><xf numFmtId='0'/><xf numFmtId='14'/></cellXfs></styleSheet>",
                ),
                (
                    "xl/c.xml",
                    "<comments><authors><author>Ann</author></authors><commentList><comment authorId='0'><text><t>remark</t></text></comment></commentList></comments>",
                ),
                ("xl/d.xml", "<wsDr><a:p><a:t>box</a:t></a:p></wsDr>"),
            ],
        )
    }

    #[test]
    fn cells_are_shown_as_people_see_them() {
        let extracted = extract("a.xlsx", &book());
        assert_eq!(
            extracted.text,
            "First\none\tinline\n1/31/24\t1.5\tTRUE\ttext\nLeft\nMiddle\nbox\nAnn: remark\nSecret\n7"
        );
    }

    #[test]
    fn sheets_are_tables_with_their_empty_cells() {
        let parts = super::super::tests::workbook();
        let row =
            "<row><c r='A1'><v>1</v></c><c r='C1'><v>2</v></c></row><row><c r='B2' t='s'><v>0</v></c></row>";
        let row_before = "<row><c t='s'><v>0</v></c></row>";
        let parts: Vec<(String, String)> =
            parts.into_iter().map(|(name, text)| (name, text.replace(row_before, row))).collect();
        let parts: Vec<(&str, &[u8])> =
            parts.iter().map(|(name, text)| (name.as_str(), text.as_bytes())).collect();
        let bytes = crate::formats::archives::zip::tests::zip(&parts);
        assert_eq!(
            crate::formats::tests::marked("a.xlsx", &bytes),
            "## First\n\n| 1 | | 2 |\n| --- | --- | --- |\n| | shared words |"
        );
    }

    #[test]
    fn relations_are_found_under_any_prefix() {
        let parts = super::super::tests::workbook();
        let parts: Vec<(String, String)> =
            parts.into_iter().map(|(name, text)| (name, text.replace("r:id", "d3p1:id"))).collect();
        let parts: Vec<(&str, &[u8])> =
            parts.iter().map(|(name, text)| (name.as_str(), text.as_bytes())).collect();
        let bytes = crate::formats::archives::zip::tests::zip(&parts);
        assert_eq!(extract("a.xlsx", &bytes).text, "First\nshared words");
    }

    #[test]
    fn hidden_sheets_are_left_out_when_asked() {
        let request = crate::Request {
            name: "a.xlsx".to_owned(),
            options: crate::Options { hidden: false, ..crate::Options::default() },
            ..crate::Request::default()
        };
        assert!(!crate::extract(&request, crate::Input::memory(book())).text.contains("Secret"));
    }
}
