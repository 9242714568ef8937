//! Slides: their text, notes, comments and diagrams, and what their layouts and masters add.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::drawing;
use super::relations::Relations;
use crate::formats::archives::zip::Zip;
use crate::page::{Outcome, Spoken, TextSink};
use crate::xml::{self, Go, Met};

/// Reads a presentation.
pub(super) fn read(zip: &mut Zip, main: &str, sink: &mut TextSink<'_>) -> Outcome {
    let relations = Relations::of(zip, main, sink.budget());
    let bytes = zip.find_read(main, sink.budget()).ok_or("its main part is missing")?;
    let mut slides = Vec::new();
    xml::walk(bytes.as_slice(), |met| {
        if let Met::Open(tag) = met
            && tag.name() == "sldId"
        {
            slides.extend(tag.relation().and_then(|id| relations.target(&id).map(str::to_owned)));
        }
        Go::On
    })?;
    let mut show = Show { authors: authors(zip, &relations, sink), ..Show::default() };
    for (number, slide) in slides.into_iter().enumerate() {
        sink.page_mark(number + 1);
        one(zip, &slide, sink, &mut show);
    }
    for kind in ["notesMaster", "handoutMaster"] {
        for target in relations.targets(kind) {
            master(zip, &target, sink, &mut show.masters);
        }
    }
    Ok(())
}

/// A slide with everything that belongs to it.
fn one(zip: &mut Zip, slide: &str, sink: &mut TextSink<'_>, show: &mut Show) {
    let Some(bytes) = zip.find_read(slide, sink.budget()) else { return };
    if !shapes(&bytes, sink, false) {
        return;
    }
    drawing::all_of(zip, slide, sink, &mut show.drawn);
    let relations = Relations::of(zip, slide, sink.budget());
    for layout in relations.targets("slideLayout") {
        master(zip, &layout, sink, &mut show.masters);
        for target in Relations::of(zip, &layout, sink.budget()).targets("slideMaster") {
            master(zip, &target, sink, &mut show.masters);
        }
    }
    for target in relations.targets("notesSlide") {
        if let Some(bytes) = zip.find_read(&target, sink.budget()) {
            shapes(&bytes, sink, false);
        }
    }
    for target in ["comments", "comment"].into_iter().flat_map(|kind| relations.targets(kind)) {
        if let Some(bytes) = zip.find_read(&target, sink.budget()) {
            remarks(&bytes, &show.authors, sink);
        }
    }
}

/// The names of those who remarked something, by number.
fn authors(zip: &mut Zip, relations: &Relations, sink: &TextSink<'_>) -> HashMap<String, String> {
    let mut authors = HashMap::new();
    for target in ["commentAuthors", "authors"].into_iter().flat_map(|kind| relations.targets(kind)) {
        let bytes = zip.find_read(&target, sink.budget()).unwrap_or_default();
        let _ = xml::walk(bytes.as_slice(), |met| {
            if let Met::Open(tag) = met
                && let (Some(id), Some(name)) = (tag.attribute("id"), tag.attribute("name"))
            {
                authors.insert(id, name);
            }
            Go::On
        });
    }
    authors
}

/// Writes remarks, each after its author; those of newer versions are paragraphs.
fn remarks(bytes: &[u8], authors: &HashMap<String, String>, sink: &mut TextSink<'_>) {
    let (mut words, mut text, mut author) = (0usize, String::new(), String::new());
    // A broken part gives what comes before the damage.
    let _ = xml::walk(bytes, |met| {
        match met {
            Met::Open(tag) => match tag.name() {
                "cm" | "reply" => {
                    // A reply stands inside what it answers.
                    sink.line(&said(&author, &std::mem::take(&mut text)));
                    let id = tag.attribute("authorId").unwrap_or_default();
                    author = authors.get(&id).cloned().unwrap_or_default();
                }
                "t" | "text" => words += 1,
                _ => {}
            },
            Met::Close(name) => match name {
                "t" | "text" => words = words.saturating_sub(1),
                "p" if !text.is_empty() => text.push('\n'),
                "cm" | "reply" => sink.line(&said(&author, &std::mem::take(&mut text))),
                _ => {}
            },
            Met::Text(piece) if words > 0 => text.push_str(piece),
            Met::Text(_) => {}
        }
        if sink.is_full() { Go::Stop } else { Go::On }
    });
}

fn said(author: &str, words: &str) -> String {
    match words.trim() {
        "" => String::new(),
        words if author.is_empty() => words.to_owned(),
        words => format!("{author}: {words}"),
    }
}

/// What holds for all slides of a presentation.
#[derive(Default)]
struct Show {
    authors: HashMap<String, String>,
    /// Drawings and masters whose text was written.
    drawn: HashSet<String>,
    masters: HashSet<String>,
}

/// What a layout or master writes on every slide; once.
fn master(zip: &mut Zip, part: &str, sink: &mut TextSink<'_>, met: &mut HashSet<String>) {
    if met.insert(part.to_owned())
        && let Some(bytes) = zip.find_read(part, sink.budget())
    {
        shapes(&bytes, sink, true);
    }
}

/// Writes the text of shapes, of a master without its placeholders, which only say where text goes. Whether the slide
/// is wanted: a hidden one may not be.
fn shapes(bytes: &[u8], sink: &mut TextSink<'_>, of_master: bool) -> bool {
    let (mut words, mut fallback, mut wanted, mut placeholder) = (0, 0, true, false);
    let (mut title, mut picture) = (false, false);
    let hidden = sink.options().hidden;
    let (mut spoken, none) = (Spoken::default(), Spoken::default());
    // A broken part gives what comes before the damage.
    let _ = xml::walk(bytes, |met| {
        match met {
            Met::Open(tag) => match tag.name() {
                "sld"
                    if !hidden
                        && tag.attribute("show").is_some_and(|show| show == "0" || show == "false") =>
                {
                    wanted = false;
                }
                "sp" => (placeholder, title) = (false, false),
                "ph" if of_master => placeholder = true,
                "ph" => {
                    title = tag.attribute("type").is_some_and(|kind| kind == "title" || kind == "ctrTitle");
                }
                // What people say of a picture for those who do not see it.
                "pic" => picture = true,
                "cNvPr" if std::mem::take(&mut picture) && !of_master && fallback == 0 => {
                    sink.line(&tag.attribute("descr").unwrap_or_default());
                }
                "tbl" => sink.table_begin(),
                // Paragraphs of a title are one heading.
                "p" if title => {
                    sink.heading(2);
                    title = false;
                }
                "t" | "text" => words += 1,
                "r" | "fld" => spoken = Spoken::default(),
                // Every run says which language it is in, and every field.
                "rPr" => spoken = spoken_by(&tag),
                "br" => sink.line_break(),
                "Fallback" => fallback += 1,
                _ => {}
            },
            Met::Close(name) => match name {
                "t" | "text" => {
                    words -= 1;
                    if name == "text" {
                        sink.line_break();
                    }
                }
                "sp" => placeholder = false,
                "p" => sink.line_break(),
                "tc" => sink.cell_end(),
                "tr" => sink.row_end(),
                "tbl" => sink.table_end(),
                "Fallback" => fallback -= 1,
                _ => {}
            },
            Met::Text(text) if words > 0 && fallback == 0 && !placeholder => {
                sink.spoken(text, &none, &spoken);
            }
            Met::Text(_) => {}
        }
        if sink.is_full() || !wanted { Go::Stop } else { Go::On }
    });
    sink.line_break();
    wanted
}

/// What a run says; its other language, `altLang`, is that of the keyboard which was not in use. PowerPoint looks at no words: runs
/// are in the language of the keyboard, so that this is what holds by default. Of 20 samples in English two say `fr-FR`.
fn spoken_by(tag: &xml::Tag<'_>) -> Spoken {
    let language = tag.attribute("lang").filter(|language| !language.is_empty()).map(Rc::from);
    Spoken { other: language.clone(), eastern: language.clone(), complex: language }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{package, relations};
    use crate::formats::tests::extract;

    #[test]
    fn titles_tables_and_slides_are_marked() {
        let slide = "<p:sld><p:sp><p:nvPr><p:ph type='title'/></p:nvPr><a:p><a:t>Title</a:t></a:p></p:sp><p:sp><p:cNvPr descr='a shape'/><a:p><a:t>words</a:t></a:p></p:sp>\
            <p:pic><p:cNvPr name='p.png' descr='red square'/></p:pic><a:tbl><a:tr><a:tc><a:p><a:t>x</a:t></a:p></a:tc><a:tc><a:p/></a:tc></a:tr></a:tbl></p:sld>";
        let bytes = package(
            "ppt/presentation.xml",
            "application/vnd.openxmlformats-officedocument.presentationml.presentation.main+xml",
            &[
                ("ppt/presentation.xml", "<p><p:sldId r:id='a'/><p:sldId r:id='a'/></p>"),
                ("ppt/_rels/presentation.xml.rels", &relations(&[("a", "slide", "s1.xml")])),
                ("ppt/s1.xml", slide),
            ],
        );
        let one = "## Title\nwords\nred square\n\n| x | |\n| --- | --- |";
        assert_eq!(
            crate::formats::tests::marked("a.pptx", &bytes),
            format!("<!-- page 1 -->\n\n{one}\n\n<!-- page 2 -->\n\n{one}")
        );
    }

    #[test]
    fn words_are_by_default_in_the_language_of_their_runs() {
        let run = |language: &str, words: &str| format!("<a:r><a:rPr {language}/><a:t>{words}</a:t></a:r>");
        for (body, language) in [
            (run("lang='de-DE' altLang='en-US'", "eins zwei") + &run("lang='en-US'", "one"), Some("de-DE")),
            (run("lang='de'", "eins") + "<a:r><a:t>without any word</a:t></a:r>", None),
            ("<a:r><a:t>one</a:t></a:r>".to_owned(), None),
            ("<a:fld><a:rPr lang='ja-JP'/><a:t>7</a:t></a:fld>".to_owned(), Some("ja-JP")),
        ] {
            let slide = format!("<p:sld><p:sp><a:p>{body}<a:endParaRPr lang='nl'/></a:p></p:sp></p:sld>");
            let bytes = package(
                "ppt/presentation.xml",
                "application/vnd.openxmlformats-officedocument.presentationml.presentation.main+xml",
                &[
                    ("ppt/presentation.xml", "<p><p:sldId r:id='a'/></p>"),
                    ("ppt/_rels/presentation.xml.rels", &relations(&[("a", "slide", "s1.xml")])),
                    ("ppt/s1.xml", &slide),
                ],
            );
            let found = extract("a.pptx", &bytes);
            assert_eq!(
                (found.field("default_language"), found.field("language")),
                (language, None),
                "{slide}"
            );
        }
    }

    #[test]
    fn slides_come_in_their_order_with_notes_and_fixed_text_of_masters() {
        let slide =
            |text: &str| format!("<p:sld><p:sp><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:sp></p:sld>");
        let layout = "<p:sldLayout><p:sp><p:nvPr><p:ph/></p:nvPr><a:p><a:t>Click to edit</a:t></a:p></p:sp>\
            <p:sp><a:p><a:t>Company</a:t></a:p></p:sp></p:sldLayout>";
        let own = relations(&[
            ("n", "notesSlide", "../notes/n1.xml"),
            ("l", "slideLayout", "../layouts/l1.xml"),
            ("c", "comments", "../c1.xml"),
        ]);
        let bytes = package(
            "ppt/presentation.xml",
            "application/vnd.openxmlformats-officedocument.presentationml.presentation.main+xml",
            &[
                (
                    "ppt/presentation.xml",
                    "<p:presentation><p:sldIdLst><p:sldId r:id='b'/><p:sldId r:id='a'/></p:sldIdLst></p:presentation>",
                ),
                (
                    "ppt/_rels/presentation.xml.rels",
                    &relations(&[
                        ("a", "slide", "slides/s1.xml"),
                        ("b", "slide", "slides/s2.xml"),
                        ("c", "commentAuthors", "authors.xml"),
                    ]),
                ),
                ("ppt/slides/s1.xml", &slide("second")),
                ("ppt/slides/s2.xml", &slide("first")),
                ("ppt/slides/_rels/s2.xml.rels", &own),
                ("ppt/notes/n1.xml", &slide("note")),
                ("ppt/layouts/l1.xml", layout),
                ("ppt/c1.xml", "<p:cmLst><p:cm authorId='7'><p:text>remark</p:text></p:cm></p:cmLst>"),
                ("ppt/authors.xml", "<p:cmAuthorLst><p:cmAuthor id='7' name='Ann'/></p:cmAuthorLst>"),
            ],
        );
        assert_eq!(extract("a.pptx", &bytes).text, "first\nCompany\nnote\nAnn: remark\nsecond");
    }
}
