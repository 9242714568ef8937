//! Languages of OpenDocument: styles of paragraphs and of words name them, and stand on each other.

use std::collections::HashMap;

use crate::page::Spoken;
use crate::xml::Tag;

/// Styles of which a document remembers the language; longer names are none.
const STYLES_MAX: usize = 10_000;
const NAME_BYTES_MAX: usize = 256;
/// Styles that stand on each other.
const DEPTH_MAX: usize = 16;
/// Whose styles matter.
const FAMILIES: [&str; 2] = ["paragraph", "text"];
const PARAGRAPHS: usize = 0;
const WORDS: usize = 1;
/// The style that every paragraph without another one stands on, as programs name it.
const STANDARD: &str = "Standard";

/// What one style says.
#[derive(Debug, Default)]
struct Style {
    parent: Option<String>,
    spoken: Spoken,
}

/// The styles of a document, and the elements with words that are open.
#[derive(Debug, Default)]
pub(super) struct Languages {
    /// Those of paragraphs and of words, by name.
    styles: [HashMap<String, Style>; FAMILIES.len()],
    /// The style that is read and its family; without a name one that holds by default.
    reading: Option<(Option<usize>, Option<String>, Style)>,
    /// The language of words of which nothing is said.
    pub(super) default: Spoken,
    /// Of each paragraph and span that is open, what it and those around it say.
    around: Vec<Spoken>,
}

/// What properties of text say; a document writes `none` and `zxx` where it wants nothing checked.
fn spoken(tag: &Tag<'_>) -> Spoken {
    let of = |name: &str| {
        let is_language = |language: &String| !matches!(language.as_str(), "" | "none" | "zxx");
        tag.attribute(name).filter(is_language).map(Into::into)
    };
    Spoken { other: of("language"), eastern: of("language-asian"), complex: of("language-complex") }
}

impl Languages {
    /// Takes what an element says.
    pub(super) fn open(&mut self, tag: &Tag<'_>) {
        let name = |name: &str| tag.attribute(name).filter(|name| name.len() <= NAME_BYTES_MAX);
        match tag.name() {
            "default-style" | "style" => {
                let style = Style { parent: name("parent-style-name"), ..Style::default() };
                let own = name("name").filter(|own| own != STANDARD && tag.name() == "style");
                let family = name("family").unwrap_or_default();
                let family = FAMILIES.iter().position(|known| *known == family);
                self.reading = Some((family, own, style));
            }
            "text-properties" => {
                if let Some((_, _, style)) = &mut self.reading {
                    style.spoken = spoken(tag);
                }
            }
            "p" | "h" | "span" => {
                let family = if tag.name() == "span" { WORDS } else { PARAGRAPHS };
                let own = self.whole(family, name("style-name"));
                let spoken = self.around.last().map_or(own.clone(), |around| own.or(around));
                self.around.push(spoken);
            }
            _ => {}
        }
    }

    pub(super) fn close(&mut self, name: &str) {
        match name {
            "default-style" | "style" => match self.reading.take() {
                Some((Some(family), Some(own), style)) if self.styles[family].len() < STYLES_MAX => {
                    self.styles[family].insert(own, style);
                }
                Some((family, None, style)) => {
                    // Sheets and drawings have defaults of their own, which count where there is none for paragraphs.
                    self.default = match family {
                        Some(PARAGRAPHS) => style.spoken.or(&self.default),
                        _ => self.default.or(&style.spoken),
                    };
                }
                _ => {}
            },
            "p" | "h" | "span" => {
                self.around.pop();
            }
            _ => {}
        }
    }

    /// What a style says, with those that it stands on.
    fn whole(&self, family: usize, name: Option<String>) -> Spoken {
        let (mut whole, mut next) = (Spoken::default(), name.as_ref());
        for _ in 0..DEPTH_MAX {
            let Some(style) = next.and_then(|name| self.styles[family].get(name)) else { break };
            whole = whole.or(&style.spoken);
            next = style.parent.as_ref();
        }
        whole
    }

    /// What is said of the words that come now.
    pub(super) fn now(&self) -> Spoken {
        self.around.last().cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use crate::formats::archives::zip::tests::zip;
    use crate::formats::tests::{extract, survives};

    const STYLES: &str = "<s><style:default-style style:family='table-cell'><style:text-properties fo:language='fr'/></style:default-style>\
        <style:default-style style:family='paragraph'><style:text-properties fo:language='en' style:language-asian='none'/></style:default-style>\
        <style:style style:name='Standard' style:family='paragraph'/>\
        <style:style style:name='Wort' style:family='paragraph' style:parent-style-name='Standard'><style:text-properties fo:language='de' fo:country='DE'/></style:style>\
        <style:style style:name='Kreis' style:family='paragraph' style:parent-style-name='Kreis'/></s>";

    fn text(body: &str) -> Vec<u8> {
        let content = format!(
            "<o><office:automatic-styles><style:style style:name='P1' style:family='paragraph' style:parent-style-name='Wort'/>\
            <style:style style:name='T1' style:family='text'><style:text-properties fo:language='es' style:language-asian='ja'/></style:style>\
            <style:style style:name='T2' style:family='text'/></office:automatic-styles>{body}</o>"
        );
        zip(&[
            ("mimetype", b"application/vnd.oasis.opendocument.text"),
            ("content.xml", content.as_bytes()),
            ("styles.xml", STYLES.as_bytes()),
        ])
    }

    #[test]
    fn words_are_in_the_language_of_their_styles() {
        for (body, marked, default) in [
            ("<text:p>one two</text:p>", None, Some("en")),
            (
                "<text:p text:style-name='P1'>eins <text:span text:style-name='T2'>zwei</text:span></text:p><text:p>one</text:p>",
                Some("de"),
                None,
            ),
            (
                "<text:p text:style-name='P1'>a<text:span text:style-name='T1'>uno dos</text:span></text:p>",
                Some("es"),
                None,
            ),
            ("<text:p><text:span text:style-name='T1'>東京都</text:span> a</text:p>", Some("ja"), None),
            ("<text:p text:style-name='Kreis'>one</text:p>", None, Some("en")),
            ("<text:p>東京都</text:p>", None, None),
        ] {
            let found = extract("a.odt", &text(body));
            assert_eq!(
                (found.field("language"), found.field("default_language")),
                (marked, default),
                "{body}"
            );
        }
    }

    #[test]
    fn what_a_document_names_as_a_whole_counts_before_its_styles() {
        let content = "<o><text:p text:style-name='Wort'>eins</text:p></o>";
        let found = extract(
            "a.odt",
            &zip(&[
                ("mimetype", b"application/vnd.oasis.opendocument.text"),
                ("content.xml", content.as_bytes()),
                ("styles.xml", STYLES.as_bytes()),
                ("meta.xml", b"<m><dc:language>nl-NL</dc:language></m>"),
            ]),
        );
        assert_eq!(found.fields["language"], ["nl-NL"]);
    }

    #[test]
    fn damaged_styles_cost_no_reader() {
        survives(
            "a.odt",
            &text(
                "<text:p text:style-name='P1'>eins <text:span text:style-name='T1'>uno</text:span></text:p>",
            ),
        );
    }
}
