//! Lists of OpenDocument: how each style of lists counts, and how far the lists of a document have come.

use std::collections::HashMap;

use crate::numbering::{Counter, Format, LEVELS, Level};
use crate::xml::Tag;

/// Styles of lists, and lists, of which a document remembers how they count; longer names and ids are none.
const STYLES_MAX: usize = 10_000;
const LISTS_MAX: usize = 100_000;
const NAME_BYTES_MAX: usize = 256;

/// The lists of a document.
#[derive(Default)]
pub(super) struct Lists {
    /// Levels of each style; the style of headings has no name.
    styles: HashMap<String, Vec<Level>>,
    /// The style whose levels are read.
    style: Option<String>,
    /// Styles of the lists that are open, the outermost first.
    around: Vec<String>,
    /// Lists so far, the one that is open, and which one has an id, or is the last of its style.
    counters: Vec<Counter>,
    current: usize,
    by_id: HashMap<String, usize>,
    by_style: HashMap<String, usize>,
    headings: Counter,
}

impl Lists {
    /// How many lists are open, one inside the other.
    pub(super) fn depth(&self) -> usize {
        self.around.len()
    }

    /// Takes what an element says of lists.
    pub(super) fn open(&mut self, tag: &Tag<'_>) {
        let name = |name: &str| tag.attribute(name).filter(|name| name.len() <= NAME_BYTES_MAX);
        match tag.name() {
            "list-style" => self.style = name("name"),
            "outline-style" => self.style = Some(String::new()),
            "list-level-style-number" | "list-level-style-bullet" | "outline-level-style" => {
                self.read_level(tag);
            }
            "list" => {
                // A list inside another one counts as that one says, unless it has a style of its own.
                let style = name("style-name").or_else(|| self.around.last().cloned()).unwrap_or_default();
                if self.around.is_empty() {
                    self.begin(tag, name("id"), &style);
                }
                self.around.push(style);
            }
            _ => {}
        }
    }

    pub(super) fn close(&mut self, name: &str) {
        match name {
            "list-style" | "outline-style" => self.style = None,
            "list" => {
                self.around.pop();
            }
            _ => {}
        }
    }

    fn read_level(&mut self, tag: &Tag<'_>) {
        let number = |name: &str| tag.attribute(name).and_then(|number| number.parse::<u32>().ok());
        let Some(style) = self.style.clone() else { return };
        if self.styles.len() >= STYLES_MAX && !self.styles.contains_key(&style) {
            return;
        }
        let Some(at) = number("level").and_then(|level| (level as usize).checked_sub(1)) else { return };
        let levels = self.styles.entry(style).or_default();
        if at >= LEVELS {
            return;
        }
        while levels.len() <= at {
            levels.push(Level { start: 1, format: Format::Hidden, ..Level::default() });
        }
        let format = match tag.attribute("num-format").as_deref() {
            Some("1") => Format::Decimal,
            Some("a") => Format::LowerLetter,
            Some("A") => Format::UpperLetter,
            Some("i") => Format::LowerRoman,
            Some("I") => Format::UpperRoman,
            _ => Format::Hidden,
        };
        // Numbers of levels above come first, as many as it says.
        let above = at.saturating_sub(number("display-levels").unwrap_or(1).saturating_sub(1) as usize)..at;
        let above = above.filter(|above| levels[*above].format != Format::Hidden);
        let shown: Vec<String> =
            above.chain([at]).filter_map(|level| char::from_u32(level as u32)).map(String::from).collect();
        let around = |name: &str| tag.attribute(name).unwrap_or_default();
        let text = format!("{}{}{}", around("num-prefix"), shown.join("."), around("num-suffix"));
        levels[at] = Level { start: number("start-value").unwrap_or(1), format, text, legal: false };
    }

    /// Begins a list: a new one, or one that goes on with the numbers of another.
    fn begin(&mut self, tag: &Tag<'_>, id: Option<String>, style: &str) {
        let before = match tag.attribute("continue-list") {
            Some(id) => self.by_id.get(&id).copied(),
            None => tag
                .attribute("continue-numbering")
                .filter(|goes_on| goes_on == "true")
                .and_then(|_| self.by_style.get(style).copied()),
        };
        self.current = before.unwrap_or_else(|| {
            self.counters.truncate(LISTS_MAX - 1);
            self.counters.push(Counter::default());
            self.counters.len() - 1
        });
        if self.counters.len() < LISTS_MAX {
            self.by_id.extend(id.map(|id| (id, self.current)));
            self.by_style.insert(style.to_owned(), self.current);
        }
    }

    /// Counts an item of the innermost list; its label, which is empty for bullets.
    pub(super) fn item(&mut self, start: Option<u32>) -> String {
        let levels = self.around.last().and_then(|style| self.styles.get(style));
        let (Some(levels), Some(counter)) = (levels, self.counters.get_mut(self.current)) else {
            return String::new();
        };
        counter.count(levels, self.around.len() - 1, start)
    }

    /// Counts a heading; its label.
    pub(super) fn heading(&mut self, level: usize) -> String {
        match self.styles.get("") {
            Some(levels) => self.headings.count(levels, level, None),
            None => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::formats::archives::zip::tests::zip;
    use crate::formats::tests::{extract, marked, survives};

    const STYLES: &[u8] = b"<s><text:outline-style><text:outline-level-style text:level='1' style:num-format='I' style:num-suffix='.'/>\
        <text:outline-level-style text:level='2' style:num-format='' text:display-levels='2'/>\
        <text:outline-level-style text:level='3' style:num-format='1' text:display-levels='3'/></text:outline-style></s>";
    const CONTENT: &[u8] = b"<o><office:automatic-styles><text:list-style style:name='L'>\
        <text:list-level-style-number text:level='1' style:num-format='1' style:num-suffix='.' text:start-value='3'/>\
        <text:list-level-style-number text:level='2' style:num-format='a' style:num-prefix='(' style:num-suffix=')' text:display-levels='2'/>\
        <text:list-level-style-bullet text:level='3' text:bullet-char='o'/></text:list-style></office:automatic-styles>\
        <text:h text:outline-level='1'>Head</text:h><text:h text:outline-level='3'>Deep</text:h>\
        <text:h text:outline-level='1' text:is-list-header='true'>Bare</text:h><text:h text:outline-level='2'>Plain</text:h>\
        <text:list xml:id='x' text:style-name='L'><text:list-header><text:p>before</text:p></text:list-header>\
        <text:list-item><text:p>one</text:p><text:p>more</text:p><text:list><text:list-item><text:p>inner</text:p>\
        <text:list><text:list-item><text:p>bullet</text:p></text:list-item></text:list></text:list-item></text:list></text:list-item>\
        <text:list-item text:start-value='7'><text:p>seven</text:p></text:list-item></text:list>\
        <text:list text:style-name='L'><text:list-item><text:p>anew</text:p></text:list-item></text:list>\
        <text:list text:style-name='L' text:continue-numbering='true'><text:list-item><text:p>goes on</text:p></text:list-item></text:list>\
        <text:list text:style-name='L' text:continue-list='x'><text:list-item><text:p>eight</text:p></text:list-item></text:list>\
        <text:list text:style-name='U'><text:list-item><text:p>unknown</text:p></text:list-item></text:list></o>";

    #[test]
    fn items_and_headings_have_the_numbers_that_are_shown() {
        let bytes = zip(&[
            ("mimetype", b"application/vnd.oasis.opendocument.text"),
            ("content.xml", CONTENT),
            ("styles.xml", STYLES),
        ]);
        assert_eq!(
            extract("a.odt", &bytes).text,
            "I. Head\nI.1 Deep\nBare\nPlain\nbefore\n3. one\nmore\n(3.a) inner\nbullet\n7. seven\n3. anew\n4. goes on\n8. eight\nunknown"
        );
        let text = marked("a.odt", &bytes);
        assert!(text.starts_with("# I. Head\n\n### I.1 Deep\n\n# Bare\n\n## Plain\n\n"), "{text}");
        assert!(
            text.contains("\n3. one\n") && text.contains("\n  - (3.a) inner\n    - bullet\n7. seven\n"),
            "{text}"
        );
        survives("a.odt", &bytes);
    }
}
