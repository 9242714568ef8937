//! Drawings of Visio since 2013 (VSDX): the text of shapes, page by page. A shape without text of its own shows that of its
//! master.

use std::collections::HashMap;

use super::relations::Relations;
use crate::formats::archives::zip::Zip;
use crate::page::{Outcome, TextSink};
use crate::xml::{self, Go, Met, Tag};

/// The text of each shape of each master: by the number of the master, then of the shape; the outermost one is also 0.
type Masters = HashMap<(String, String), String>;

/// Reads a drawing.
pub(super) fn read(zip: &mut Zip, main: &str, page: &mut TextSink<'_>) -> Outcome {
    let relations = Relations::of(zip, main, page.budget());
    let mut masters = Masters::new();
    for list in relations.targets("masters") {
        for (number, _, target) in listed(zip, &list, "Master", page)? {
            let Some(bytes) = zip.find_read(&target, page.budget()) else { continue };
            let mut outer = true;
            // A damaged master costs its own texts.
            let _ = shapes(&bytes, |shape| {
                let text = shape.text.clone().unwrap_or_default();
                if std::mem::take(&mut outer) || shape.depth == 1 {
                    masters.entry((number.clone(), "0".to_owned())).or_insert_with(|| text.clone());
                }
                masters.insert((number.clone(), shape.number.clone()), text);
                Go::On
            });
        }
    }
    for list in relations.targets("pages") {
        for (_, name, target) in listed(zip, &list, "Page", page)? {
            page.line(&name);
            let bytes = zip.find_read(&target, page.budget()).ok_or("a page of the drawing is missing")?;
            shapes(&bytes, |shape| {
                let key = || {
                    Some((shape.master.clone()?, shape.of_master.clone().unwrap_or_else(|| "0".to_owned())))
                };
                match &shape.text {
                    Some(text) => page.line(text),
                    None => page.line(key().and_then(|key| masters.get(&key)).map_or("", String::as_str)),
                }
                if page.is_full() { Go::Stop } else { Go::On }
            })?;
        }
    }
    Ok(())
}

/// Pages or masters of a list: number, name and part.
fn listed(
    zip: &mut Zip,
    list: &str,
    element: &str,
    page: &TextSink<'_>,
) -> Result<Vec<(String, String, String)>, crate::page::ParseError> {
    let relations = Relations::of(zip, list, page.budget());
    let bytes = zip.find_read(list, page.budget()).ok_or("a list of the drawing is missing")?;
    let (mut found, mut number, mut name) = (Vec::new(), String::new(), String::new());
    xml::walk(bytes.as_slice(), |met| {
        if let Met::Open(tag) = met {
            if tag.name() == element {
                number = tag.attribute("ID").unwrap_or_default();
                name = tag.attribute("Name").or_else(|| tag.attribute("NameU")).unwrap_or_default();
            }
            if tag.name() == "Rel"
                && let Some(target) = tag.relation().and_then(|id| relations.target(&id).map(str::to_owned))
            {
                found.push((number.clone(), name.clone(), target));
            }
        }
        Go::On
    })?;
    Ok(found)
}

/// A shape.
#[derive(Default)]
struct Shape {
    number: String,
    /// Number of its master, or of that of the shape around it.
    master: Option<String>,
    /// Which shape of the master it is.
    of_master: Option<String>,
    text: Option<String>,
    /// How many shapes are around it, itself included.
    depth: usize,
    /// Whether it was handed out, as it is before the shapes in it.
    told: bool,
}

/// Hands out the shapes of a part, each before those in it. Text comes before them.
fn shapes(bytes: &[u8], mut met_shape: impl FnMut(&Shape) -> Go) -> Outcome {
    let (mut open, mut words): (Vec<Shape>, usize) = (Vec::new(), 0);
    let mut go = Go::On;
    let mut tell = |shape: Option<&mut Shape>, go: &mut Go| {
        if let Some(shape) = shape.filter(|shape| !shape.told) {
            shape.told = true;
            *go = met_shape(shape);
        }
    };
    xml::walk(bytes, |met| {
        match met {
            Met::Open(tag) => match tag.name() {
                "Shape" => {
                    tell(open.last_mut(), &mut go);
                    open.push(opened(&tag, open.last(), open.len() + 1));
                }
                "Text" => {
                    words += 1;
                    if let Some(shape) = open.last_mut() {
                        shape.text.get_or_insert_default();
                    }
                }
                _ => {}
            },
            Met::Close("Text") => words = words.saturating_sub(1),
            Met::Close("Shape") => {
                tell(open.last_mut(), &mut go);
                open.pop();
            }
            Met::Text(text) if words > 0 => {
                if let Some(own) = open.last_mut().and_then(|shape| shape.text.as_mut()) {
                    own.push_str(text);
                }
            }
            _ => {}
        }
        go
    })
}

fn opened(tag: &Tag<'_>, around: Option<&Shape>, depth: usize) -> Shape {
    let own = tag.attribute("Master");
    let of_master = tag.attribute("MasterShape");
    let master =
        own.or_else(|| around.and_then(|around| around.master.clone()).filter(|_| of_master.is_some()));
    Shape { number: tag.attribute("ID").unwrap_or_default(), master, of_master, depth, ..Shape::default() }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{package, relations};
    use crate::formats::tests::extract;

    #[test]
    fn shapes_show_their_own_text_or_that_of_their_master() {
        let masters = relations(&[("m", "master", "master1.xml")]);
        let pages = relations(&[("p", "page", "page1.xml")]);
        let bytes = package(
            "visio/document.xml",
            "application/vnd.ms-visio.drawing.main+xml",
            &[
                ("visio/document.xml", "<VisioDocument/>"),
                (
                    "visio/_rels/document.xml.rels",
                    &relations(&[("a", "masters", "masters/masters.xml"), ("b", "pages", "pages/pages.xml")]),
                ),
                (
                    "visio/masters/masters.xml",
                    "<Masters><Master ID='4' Name='Box'><Rel r:id='m'/></Master></Masters>",
                ),
                ("visio/masters/_rels/masters.xml.rels", &masters),
                (
                    "visio/masters/master1.xml",
                    "<M><Shapes><Shape ID='5'><Text>prompt</Text><Shapes><Shape ID='6'><Text>inner</Text></Shape></Shapes></Shape></Shapes></M>",
                ),
                ("visio/pages/pages.xml", "<Pages><Page ID='0' Name='Plan'><Rel r:id='p'/></Page></Pages>"),
                ("visio/pages/_rels/pages.xml.rels", &pages),
                (
                    "visio/pages/page1.xml",
                    "<P><Shapes><Shape ID='1' Master='4'><Text>o<cp IX='0'/>ne</Text><Shapes><Shape ID='2' MasterShape='6'/></Shapes></Shape>\
                    <Shape ID='3' Master='4'><Cell N='X' V='1'/></Shape><Shape ID='4' Master='4'><Text/></Shape></Shapes></P>",
                ),
            ],
        );
        let page = extract("a.vsdx", &bytes);
        assert_eq!(page.media_type, "application/vnd.ms-visio.drawing");
        assert_eq!(page.text, "Plan\none\ninner\nprompt");
        assert_eq!(page.field("title"), Some("The title"));
    }
}
