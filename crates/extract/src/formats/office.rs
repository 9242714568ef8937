//! Office Open XML: documents, workbooks and slides, their properties, and everything embedded in them.

mod binary;
mod book;
mod document;
mod drawing;
mod lists;
pub(crate) mod number;
mod relations;
mod sheet;
mod slides;
pub(crate) mod spreadsheetml;
mod visio;
pub(crate) mod wordml;
mod workbook;

use std::collections::HashSet;

pub(crate) use self::sheet::header_text as sheet_header;

use self::relations::{Relation, Relations};
pub(crate) use self::sheet::gap;
use crate::formats::archives::zip::Zip;
use crate::page::{Outcome, TextSink};
use crate::xml::{self, Go, Met};

/// Kinds of relation whose targets are opened as parts.
const EMBEDDED: &[&str] = &[
    "oleObject",
    "package",
    "image",
    "aFChunk",
    "subDocument",
    "thumbnail",
    "control",
    "video",
    "audio",
    "media",
];

/// Those whose names can be people's.
const NAMED: &[&str] = &["package", "image", "aFChunk", "subDocument", "video", "audio", "media"];

/// Reads an office document; nothing when the ZIP file is none.
pub(crate) fn read(zip: &mut Zip, sink: &mut TextSink<'_>) -> Option<Outcome> {
    let kinds = zip.find_read("[Content_Types].xml", sink.budget())?;
    let root = Relations::of(zip, "", sink.budget());
    let main = root.kind("officeDocument").or_else(|| root.kind("document"));
    let main = main.map(|relation| relation.target.clone());
    let main = main.or_else(|| {
        [
            "word/document.xml",
            "xl/workbook.xml",
            "xl/workbook.bin",
            "ppt/presentation.xml",
            "visio/document.xml",
        ]
        .into_iter()
        .find(|name| zip.find(name).is_some())
        .map(str::to_owned)
    })?;
    let kind = content_type(&kinds, &main).unwrap_or_default();
    let reader: fn(&mut Zip, &str, &mut TextSink<'_>) -> Outcome = if kind.contains("wordprocessingml")
        || kind.contains("ms-word")
        || main.starts_with("word/")
    {
        document::read
    } else if main.ends_with(".bin") {
        binary::read
    } else if kind.contains("spreadsheetml") || kind.contains("ms-excel") || main.starts_with("xl/") {
        workbook::read
    } else if kind.contains("presentationml") || kind.contains("ms-powerpoint") || main.starts_with("ppt/") {
        slides::read
    } else if kind.contains("visio") || main.starts_with("visio/") {
        visio::read
    } else {
        return None;
    };
    if let Some(media) = media_type(&kind) {
        sink.set_media_type(&media);
    }
    properties(zip, &root, sink);
    let outcome = reader(zip, &main, sink);
    embedded(zip, sink);
    Some(outcome)
}

/// The media type of a package by that of its main part.
fn media_type(kind: &str) -> Option<String> {
    let stem = kind.strip_suffix(".main+xml").or_else(|| kind.strip_suffix(".main"))?.to_ascii_lowercase();
    Some(if stem.contains("macroenabled") && !stem.ends_with(".12") { format!("{stem}.12") } else { stem })
}

/// What the list of content types says of a part.
fn content_type(list: &[u8], part: &str) -> Option<String> {
    let mut found = None;
    let _ = xml::walk(list, |met| {
        if let Met::Open(tag) = met
            && tag.name() == "Override"
            && tag
                .attribute("PartName")
                .is_some_and(|name| name.trim_start_matches('/').eq_ignore_ascii_case(part))
        {
            found = tag.attribute("ContentType");
        }
        Go::On
    });
    found
}

/// Title, author, dates and the like.
fn properties(zip: &mut Zip, root: &Relations, sink: &mut TextSink<'_>) {
    for kind in ["core-properties", "extended-properties", "custom-properties"] {
        let Some(target) = root.kind(kind).map(|relation| relation.target.clone()) else { continue };
        let Some(bytes) = zip.find_read(&target, sink.budget()) else { continue };
        let (mut value, mut custom) = (String::new(), None);
        let _ = xml::walk(bytes.as_slice(), |met| {
            match met {
                Met::Open(tag) => {
                    value.clear();
                    if tag.name() == "property" {
                        custom = tag.attribute("name");
                    }
                }
                Met::Text(text) => value.push_str(text),
                Met::Close(name) => {
                    let field = property_field(name).map(str::to_owned);
                    let field = match &custom {
                        Some(custom) if kind == "custom-properties" => Some(format!("custom:{custom}")),
                        _ => field,
                    };
                    if let Some(field) = field {
                        sink.field(&field, &value);
                    }
                    value.clear();
                }
            }
            Go::On
        });
    }
}

/// The field of a property.
fn property_field(name: &str) -> Option<&'static str> {
    Some(match name {
        "title" => "title",
        "creator" => "author",
        "subject" => "subject",
        "description" => "description",
        "keywords" => "keywords",
        "category" => "category",
        "language" => "language",
        "lastModifiedBy" => "last_author",
        "created" => "created",
        "modified" => "modified",
        "Company" => "company",
        "Manager" => "manager",
        "Application" => "generator",
        _ => return None,
    })
}

/// Opens what is embedded anywhere in the package, each thing once.
fn embedded(zip: &mut Zip, sink: &mut TextSink<'_>) {
    let lists: Vec<String> =
        zip.names().filter(|name| name.ends_with(".rels")).filter_map(relations::owner_of).collect();
    let mut met = HashSet::new();
    let mut order = Vec::new();
    for owner in lists {
        for relation in Relations::of(zip, &owner, sink.budget()).all {
            if EMBEDDED.contains(&relation.kind.as_str())
                && !relation.external
                && met.insert(relation.target.clone())
            {
                order.push((relation.kind == "image" || relation.kind == "thumbnail", relation));
            }
        }
    }
    // Documents before pictures: what is bounded goes to those with words.
    order.sort_by_key(|(picture, _)| *picture);
    for (_, Relation { kind, target, .. }) in order {
        let Some(index) = zip.find(&target) else { continue };
        let name = target.rsplit('/').next().unwrap_or(&target).to_owned();
        match zip.part(index, sink.budget()) {
            Ok(input) if input.is_empty() => {}
            // Names of media are those of files that people chose, unless a program had none and numbered them.
            Ok(input) if NAMED.contains(&kind.as_str()) => sink.part(&name, None, input),
            Ok(input) => sink.inner(&name, input),
            Err(error) => sink.inner_by(&name, |sink| sink.reason(error.to_string())),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use crate::formats::archives::zip::tests::zip;
    use crate::formats::tests::extract;

    const RELATION: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";

    /// A list of relations: id, kind, target.
    pub(crate) fn relations(all: &[(&str, &str, &str)]) -> String {
        let each: String = all
            .iter()
            .map(|(id, kind, target)| {
                format!("<Relationship Id='{id}' Type='{RELATION}/{kind}' Target='{target}'/>")
            })
            .collect();
        format!("<Relationships>{each}</Relationships>")
    }

    /// A package whose main part is `main`, of this content type.
    pub(crate) fn package(main: &str, kind: &str, parts: &[(&str, &str)]) -> Vec<u8> {
        let kinds = format!("<Types><Override PartName='/{main}' ContentType='{kind}'/></Types>");
        let root =
            relations(&[("r1", "officeDocument", main), ("r2", "core-properties", "docProps/core.xml")]);
        let core = "<cp:coreProperties><dc:title>The title</dc:title><dc:creator>Ann</dc:creator></cp:coreProperties>";
        let mut all = vec![
            ("[Content_Types].xml", kinds.as_bytes()),
            ("_rels/.rels", root.as_bytes()),
            ("docProps/core.xml", core.as_bytes()),
        ];
        all.extend(parts.iter().map(|(name, text)| (*name, text.as_bytes())));
        zip(&all)
    }

    /// The parts of a workbook with one cell, whose words are shared.
    pub(crate) fn workbook() -> Vec<(String, String)> {
        let kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml";
        let all = [
            (
                "[Content_Types].xml",
                format!("<Types><Override PartName='/xl/workbook.xml' ContentType='{kind}'/></Types>"),
            ),
            ("_rels/.rels", relations(&[("r1", "officeDocument", "xl/workbook.xml")])),
            (
                "xl/workbook.xml",
                "<workbook><sheets><sheet name='First' r:id='a'/></sheets></workbook>".to_owned(),
            ),
            (
                "xl/_rels/workbook.xml.rels",
                relations(&[
                    ("a", "worksheet", "worksheets/sheet1.xml"),
                    ("b", "sharedStrings", "sharedStrings.xml"),
                ]),
            ),
            ("xl/worksheets/sheet1.xml", "<s><row><c t='s'><v>0</v></c></row></s>".to_owned()),
            ("xl/sharedStrings.xml", "<sst><si><t>shared words</t></si></sst>".to_owned()),
        ];
        all.into_iter().map(|(name, text)| (name.to_owned(), text)).collect()
    }

    #[test]
    fn a_package_with_macros_says_so_and_opens_what_is_embedded() {
        let bytes = package(
            "word/document.xml",
            "application/vnd.ms-word.document.macroEnabled.main+xml",
            &[
                (
                    "word/document.xml",
                    "<w:document><w:body><w:p><w:r><w:t>body</w:t></w:r></w:p></w:body></w:document>",
                ),
                (
                    "word/_rels/document.xml.rels",
                    &relations(&[
                        ("r1", "package", "embeddings/inner.txt"),
                        ("r2", "image", "/word/media/gone.png"),
                    ]),
                ),
                ("word/embeddings/inner.txt", "inner words"),
            ],
        );
        let extracted = extract("a.docm", &bytes);
        assert_eq!(extracted.media_type, "application/vnd.ms-word.document.macroenabled.12");
        assert_eq!((extracted.field("title"), extracted.field("author")), (Some("The title"), Some("Ann")));
        assert_eq!(extracted.text, "body\ninner.txt");
        assert_eq!(extracted.parts[0].text, "inner words");
    }

    #[test]
    fn names_that_programs_make_are_no_words() {
        let bytes = package(
            "word/document.xml",
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml",
            &[
                ("word/document.xml", "<w:document><w:p><w:t>body</w:t></w:p></w:document>"),
                (
                    "word/_rels/document.xml.rels",
                    &relations(&[
                        ("r1", "oleObject", "embeddings/oleObject1.bin"),
                        ("r2", "thumbnail", "/docProps/thumbnail.jpeg"),
                    ]),
                ),
                ("word/embeddings/oleObject1.bin", "some words"),
                ("docProps/thumbnail.jpeg", "\u{7}"),
            ],
        );
        let extracted = extract("a.docx", &bytes);
        assert_eq!(extracted.text, "body");
        assert_eq!(
            extracted.parts.iter().map(|part| part.name.as_str()).collect::<Vec<_>>(),
            ["oleObject1.bin", "thumbnail.jpeg"]
        );
    }
}
