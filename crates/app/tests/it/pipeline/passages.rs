//! Passages of documents whose structure is known: they are cut at headings, and tell headings, pages and their number.

use serde_json::{Value, json};

use super::pipeline;
use crate::files;
use crate::sandbox::Sandbox;

/// A ZIP file of stored members, without the directory at its end.
pub(super) fn package(members: &[(&str, &str)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, content) in members {
        let length = (content.len() as u32).to_le_bytes();
        bytes.extend(b"PK\x03\x04\x14\0\0\0\0\0\0\0\0\0\0\0\0\0");
        bytes.extend([length, length].concat());
        bytes.extend((name.len() as u16).to_le_bytes());
        bytes.extend([0, 0]);
        bytes.extend([name.as_bytes(), content.as_bytes()].concat());
    }
    bytes
}

/// The document in Word's format: its headings and list are known by their styles.
fn word() -> Vec<u8> {
    let paragraph = |about: &str, text: &str| format!("<w:p><w:pPr>{about}</w:pPr><w:r>{text}</w:r></w:p>");
    let styled = |style: &str, text: &str| {
        paragraph(&format!("<w:pStyle w:val='{style}'/>"), &format!("<w:t>{text}</w:t>"))
    };
    let body = [
        styled("One", "Terms"),
        styled("Body", "Who buys agrees."),
        styled("Two", "Payment"),
        styled("Item", "within thirty days"),
        styled("Item", "by transfer"),
        "<w:tbl><w:tr><w:tc><w:p><w:r><w:t>rate</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>four</w:t></w:r></w:p></w:tc></w:tr></w:tbl>".to_owned(),
        paragraph("<w:pStyle w:val='Two'/>", "<w:br w:type='page'/><w:t>Delivery</w:t>"),
        styled("Body", "By rail."),
    ];
    let relation = |id: &str, kind: &str, target: &str| {
        format!("<Relationship Id='{id}' Type='http://x/relationships/{kind}' Target='{target}'/>")
    };
    package(&[
        (
            "[Content_Types].xml",
            "<Types><Override PartName='/word/document.xml' ContentType='application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml'/></Types>",
        ),
        ("_rels/.rels", &format!("<R>{}</R>", relation("a", "officeDocument", "word/document.xml"))),
        (
            "word/_rels/document.xml.rels",
            &format!(
                "<R>{}{}</R>",
                relation("a", "styles", "styles.xml"),
                relation("b", "numbering", "numbers.xml")
            ),
        ),
        (
            "word/styles.xml",
            "<w:styles><w:style w:styleId='One'><w:name w:val='heading 1'/></w:style><w:style w:styleId='Two'><w:name w:val='heading 2'/></w:style>\
            <w:style w:styleId='Item'><w:pPr><w:numPr><w:numId w:val='1'/></w:numPr></w:pPr></w:style></w:styles>",
        ),
        (
            "word/numbers.xml",
            "<w:numbering><w:abstractNum w:abstractNumId='7'><w:lvl w:ilvl='0'><w:start w:val='1'/><w:numFmt w:val='decimal'/><w:lvlText w:val='%1.'/></w:lvl></w:abstractNum>\
            <w:num w:numId='1'><w:abstractNumId w:val='7'/></w:num></w:numbering>",
        ),
        ("word/document.xml", &format!("<w:document><w:body>{}</w:body></w:document>", body.concat())),
    ])
}

/// The same in OpenDocument.
fn open_document() -> Vec<u8> {
    let content = "<office:document-content><office:automatic-styles><text:list-style style:name='L'>\
        <text:list-level-style-number text:level='1' style:num-format='1' style:num-suffix='.'/></text:list-style></office:automatic-styles>\
        <office:body><text:h text:outline-level='1'>Terms</text:h><text:p>Who buys agrees.</text:p><text:h text:outline-level='2'>Payment</text:h>\
        <text:list text:style-name='L'><text:list-item><text:p>within thirty days</text:p></text:list-item><text:list-item><text:p>by transfer</text:p></text:list-item></text:list>\
        <table:table><table:table-row><table:table-cell><text:p>rate</text:p></table:table-cell><table:table-cell><text:p>four</text:p></table:table-cell></table:table-row></table:table>\
        <text:soft-page-break/><text:h text:outline-level='2'>Delivery</text:h><text:p>By rail.</text:p></office:body></office:document-content>";
    package(&[("mimetype", "application/vnd.oasis.opendocument.text"), ("content.xml", content)])
}

/// The same as a PDF of two pages, without a table: headings are known by the size of their letters alone.
fn pages() -> Vec<u8> {
    let page = |lines: &[(u32, u32, &str)]| {
        let drawn: String = lines
            .iter()
            .map(|(size, y, text)| format!("BT /F {size} Tf 72 {y} Td ({text}) Tj ET\n"))
            .collect();
        format!("<</Length {}>>stream\n{drawn}\nendstream", drawn.len())
    };
    let first = page(&[
        (24, 700, "Terms"),
        (10, 660, "Who buys agrees."),
        (16, 620, "Payment"),
        (10, 580, "1. within thirty days"),
        (10, 568, "2. by transfer"),
    ]);
    let second = page(&[(16, 700, "Delivery"), (10, 660, "By rail.")]);
    let leaf = |content: u32| {
        format!(
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents {content} 0 R/Resources<</Font<</F 7 0 R>>>>>>"
        )
    };
    let objects = [
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        "<</Type/Pages/Kids[3 0 R 4 0 R]/Count 2>>".to_owned(),
        leaf(5),
        leaf(6),
        first,
        second,
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>".to_owned(),
    ];
    let objects: String =
        (1..).zip(&objects).map(|(number, object)| format!("{number} 0 obj\n{object}\nendobj\n")).collect();
    format!("%PDF-1.4\n{objects}trailer<</Root 1 0 R>>\n%%EOF").into_bytes()
}

/// What a web page and rich text say of the same, neither of which has pages.
const WEB: &str = "<title>t</title><h1>Terms</h1><p>Who buys agrees.</p><h2>Payment</h2><ol><li>within thirty days</li><li>by transfer</li></ol>\
    <table><tr><td>rate</td><td>four</td></tr></table><h2>Delivery</h2><p>By rail.</p>";
const RICH: &str = "{\\rtf1\\pard\\outlinelevel0 Terms\\par\\pard Who buys agrees.\\par\\pard\\outlinelevel1 Payment\\par\
    \\pard\\ls1{\\listtext 1.\\tab}within thirty days\\par\\pard\\ls1{\\listtext 2.\\tab}by transfer\\par\
    \\trowd\\cellx1\\cellx2\\pard\\intbl rate\\cell four\\cell\\row\\pard\\outlinelevel1 Delivery\\par\\pard By rail.\\par}";

#[test]
fn passages_of_known_documents_tell_headings_pages_and_their_number() {
    let sandbox = Sandbox::sqlite();
    let write = |name: &str, bytes: &[u8]| std::fs::write(sandbox.root().join(name), bytes).unwrap();
    write("a.docx", &word());
    write("a.odt", &open_document());
    write("a.pdf", &pages());
    write("a.html", WEB.as_bytes());
    write("a.rtf", RICH.as_bytes());
    files::settle(&sandbox.root());
    let stages = json!([
        {"transform": "text", "settings": {"form": "markdown"}},
        {"transform": "passages", "settings": {"size": 30, "overlap": 0, "position": true, "document": "drop"}},
    ]);
    let stages = pipeline(&sandbox, "stages.json", &stages);
    sandbox.synced(&["--pipeline", &stages, "--to", "journal:told.jsonl"]);
    let told = std::fs::read_to_string(sandbox.path().join("told.jsonl")).unwrap();
    let told: Vec<Value> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (name, has_pages, has_table) in [
        ("a.docx", true, true),
        ("a.odt", true, true),
        ("a.pdf", true, false),
        ("a.html", false, true),
        ("a.rtf", false, true),
    ] {
        let of = |line: &&Value| line["op"] == "put" && line["uri"].as_str().unwrap().ends_with(name);
        let mut passages: Vec<&Value> = told.iter().filter(of).collect();
        let field = |passage: &Value, name: &str| passage["fields"][name].clone();
        passages.sort_by_key(|passage| field(passage, "passage").to_string());
        let place = |number: &str, headings: &str, page: &str| {
            let page = if has_pages { json!([page]) } else { Value::Null };
            [json!([number]), json!([headings]), page]
        };
        let places: Vec<[Value; 3]> =
            passages.iter().map(|one| ["passage", "headings", "page"].map(|name| field(one, name))).collect();
        let wanted = [
            place("1", "Terms", "1"),
            place("2", "Terms > Payment", "1"),
            place("3", "Terms > Delivery", "2"),
        ];
        assert_eq!(places, wanted, "{name}: {passages:#?}");
        let table = if has_table { "\n\n| rate | four |\n| --- | --- |" } else { "" };
        let texts: Vec<String> = passages
            .iter()
            .map(|one| field(one, "body").as_str().unwrap_or_default().trim().to_owned())
            .collect();
        assert_eq!(
            texts,
            [
                "# Terms\n\nWho buys agrees.".to_owned(),
                format!("## Payment\n\n1. within thirty days\n2. by transfer{table}"),
                "## Delivery\n\nBy rail.".to_owned(),
            ],
            "{name}"
        );
    }
}
