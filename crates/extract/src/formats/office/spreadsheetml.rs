//! Workbooks as one XML file, of Excel 2003.

use crate::Input;
use crate::page::{Outcome, TextSink};
use crate::xml::{self, Go, Met};

/// Reads a workbook.
pub(crate) fn read(input: Input, sink: &mut TextSink<'_>) -> Outcome {
    let (mut data, mut number, mut value) = (0, false, String::new());
    let mut properties = 0;
    xml::walk(input, |met| {
        match met {
            Met::Open(tag) => match tag.name() {
                "Worksheet" => sink.line(&tag.attribute("Name").unwrap_or_default()),
                "Data" => {
                    data += 1;
                    number = tag.attribute("Type").is_some_and(|kind| kind == "Number");
                    value.clear();
                }
                "Cell" => sink.tab(),
                "DocumentProperties" => properties += 1,
                _ if properties > 0 => value.clear(),
                _ => {}
            },
            Met::Close(name) => match name {
                "Data" => {
                    data -= 1;
                    let general = value.trim().parse().ok().filter(|_| number).map(super::number::general);
                    sink.text(general.as_deref().unwrap_or(&value));
                }
                "Row" => sink.line_break(),
                "DocumentProperties" => properties -= 1,
                "Title" if properties > 0 => sink.field("title", &value),
                "Author" if properties > 0 => sink.field("author", &value),
                _ => {}
            },
            Met::Text(text) if data > 0 || properties > 0 => value.push_str(text),
            Met::Text(_) => {}
        }
        if sink.is_full() { Go::Stop } else { Go::On }
    })
}

#[cfg(test)]
mod tests {
    use crate::formats::tests::extract;

    #[test]
    fn sheets_rows_and_cells_are_read() {
        let extracted = extract(
            "a.xml",
            b"<?xml version='1.0'?><Workbook xmlns='urn:schemas-microsoft-com:office:spreadsheet'><Worksheet ss:Name='One'><Table>\
              <Row><Cell><Data ss:Type='String'>a</Data></Cell><Cell><Data ss:Type='Number'>1.1000000000000001</Data></Cell></Row>\
              </Table></Worksheet></Workbook>",
        );
        assert_eq!(extracted.text, "One\na\t1.1");
    }
}
