//! Styles and lists of word processing: which paragraphs are headings, which number or letter stands before an item, and which
//! language words are in. A document says how its lists count; the numbers themselves are worked out when it is shown.

use std::collections::HashMap;

use super::relations::Relations;
use crate::formats::archives::zip::Zip;
use crate::numbering::{Format, LEVELS, Lists as Numbers};
use crate::page::{Budget, Spoken};
use crate::xml::{self, Go, Met, Tag};

/// Styles that stand on each other.
const STYLES_MAX: usize = 16;

/// What a paragraph or style says of its place.
#[derive(Clone, Default)]
pub(super) struct Place {
    /// Number of its list, and level in it.
    pub(super) list: Option<String>,
    pub(super) level: Option<usize>,
    /// Level of its heading, from 0.
    pub(super) outline: Option<u8>,
    /// The style that it stands on.
    pub(super) style: Option<String>,
    /// The language of its words.
    pub(super) spoken: Spoken,
}

/// What `w:lang` says.
pub(super) fn spoken(tag: &Tag<'_>) -> Spoken {
    let of = |name: &str| tag.attribute(name).filter(|language| !language.is_empty()).map(Into::into);
    Spoken { other: of("val"), eastern: of("eastAsia"), complex: of("bidi") }
}

impl Place {
    /// Takes what a tag inside the properties of a paragraph says.
    pub(super) fn take(&mut self, tag: &Tag<'_>) {
        let value = || tag.attribute("val");
        match tag.name() {
            "pStyle" | "basedOn" => self.style = value(),
            "numId" => self.list = value(),
            "ilvl" => self.level = value().and_then(|level| level.parse().ok()),
            "outlineLvl" => {
                self.outline = value().and_then(|level| level.parse().ok()).filter(|level| *level < 9)
            }
            _ => {}
        }
    }
}

/// The styles and lists of a document, and how far the lists have come.
#[derive(Default)]
pub(super) struct Lists {
    styles: HashMap<String, Place>,
    numbers: Numbers<String>,
    /// The language of words of which nothing is said.
    pub(super) default: Spoken,
}

impl Lists {
    /// Reads the styles and lists that belong to a document.
    pub(super) fn of(zip: &mut Zip, relations: &Relations, budget: &Budget) -> Self {
        let mut lists = Self::default();
        for target in relations.targets("styles") {
            lists.read_styles(&zip.find_read(&target, budget).unwrap_or_default());
        }
        for target in relations.targets("numbering") {
            lists.read_ways(&zip.find_read(&target, budget).unwrap_or_default());
        }
        lists
    }

    fn read_styles(&mut self, bytes: &[u8]) {
        let mut open: Option<(String, Place)> = None;
        let mut is_default = true;
        let _ = xml::walk(bytes, |met| {
            match met {
                Met::Open(tag) => match tag.name() {
                    "style" => {
                        open = tag.attribute("styleId").map(|id| (id, Place::default()));
                        // What every paragraph stands on is said of no words.
                        is_default =
                            tag.attribute("default").is_some_and(|value| value == "1" || value == "true");
                    }
                    "lang" if is_default => self.default = spoken(&tag).or(&self.default),
                    "lang" => {
                        if let Some((_, place)) = &mut open {
                            place.spoken = spoken(&tag);
                        }
                    }
                    "name" => {
                        let name = tag.attribute("val").unwrap_or_default().to_ascii_lowercase();
                        let level = name.strip_prefix("heading ").and_then(|level| level.parse::<u8>().ok());
                        let level =
                            level.and_then(|level| level.checked_sub(1)).or((name == "title").then_some(0));
                        if let Some((_, place)) = &mut open {
                            place.outline = place.outline.or(level.filter(|level| *level < 9));
                        }
                    }
                    _ => {
                        if let Some((_, place)) = &mut open {
                            place.take(&tag);
                        }
                    }
                },
                Met::Close("style") => self.styles.extend(open.take()),
                _ => {}
            }
            Go::On
        });
    }

    fn read_ways(&mut self, bytes: &[u8]) {
        let (mut way, mut list, mut level) = (String::new(), None::<String>, None::<usize>);
        let _ = xml::walk(bytes, |met| {
            match met {
                Met::Open(tag) => {
                    let value = || tag.attribute("val").unwrap_or_default();
                    let number =
                        |name: &str| tag.attribute(name).and_then(|level| level.parse::<usize>().ok());
                    match tag.name() {
                        "abstractNum" => {
                            way = tag.attribute("abstractNumId").unwrap_or_default();
                            self.numbers.add_way(way.clone());
                        }
                        "num" => list = tag.attribute("numId"),
                        "lvl" | "lvlOverride" => level = number("ilvl").filter(|level| *level < LEVELS),
                        "abstractNumId" => {
                            if let Some(list) = &list {
                                self.numbers.add_list(list.clone(), value());
                            }
                        }
                        "startOverride" => {
                            if let (Some(list), Some(level), Ok(start)) = (&list, level, value().parse()) {
                                self.numbers.start_with(list, level, start);
                            }
                        }
                        name if list.is_none() => {
                            let level = level.and_then(|level| self.numbers.level(&way, level));
                            if let Some(level) = level {
                                match name {
                                    "start" => level.start = value().parse().unwrap_or(1),
                                    "numFmt" => level.format = format(&value()),
                                    "lvlText" => level.text = label(&value()),
                                    "isLgl" => level.legal = !matches!(value().as_str(), "0" | "false"),
                                    _ => {}
                                }
                            }
                        }
                        _ => {}
                    }
                }
                Met::Close("num") => list = None,
                Met::Close("lvl" | "lvlOverride") => level = None,
                _ => {}
            }
            Go::On
        });
    }

    /// What a paragraph says, together with the styles that it stands on.
    pub(super) fn whole(&self, place: &Place) -> Place {
        let mut whole = place.clone();
        let mut style = place.style.clone();
        for _ in 0..STYLES_MAX {
            let Some(below) = style.as_ref().and_then(|style| self.styles.get(style)) else { break };
            if whole.list.is_none() {
                whole.list.clone_from(&below.list);
                whole.level = whole.level.or(below.level);
            }
            whole.outline = whole.outline.or(below.outline);
            whole.spoken = whole.spoken.or(&below.spoken);
            style.clone_from(&below.style);
        }
        whole
    }

    /// Counts an item of a list; its label, which is empty for bullets. None when there is no such list.
    pub(super) fn count(&mut self, list: &str, level: usize) -> Option<String> {
        self.numbers.count(&list.to_owned(), level)
    }
}

/// A format by its name.
fn format(name: &str) -> Format {
    match name {
        "lowerLetter" => Format::LowerLetter,
        "upperLetter" => Format::UpperLetter,
        "lowerRoman" => Format::LowerRoman,
        "upperRoman" => Format::UpperRoman,
        "decimalZero" => Format::Padded,
        "ordinal" => Format::Ordinal,
        "bullet" | "none" => Format::Hidden,
        _ => Format::Decimal,
    }
}

/// A label with the level of each number, from 0, where the document writes `%1`.
fn label(text: &str) -> String {
    let mut label = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let digit = chars.peek().filter(|_| c == '%').and_then(|digit| digit.to_digit(10));
        match digit.and_then(|digit| char::from_u32(digit.checked_sub(1)?)) {
            Some(level) => {
                chars.next();
                label.push(level);
            }
            None => label.push(c),
        }
    }
    label
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_count_as_they_say() {
        let mut lists = Lists::default();
        lists.read_ways(
            b"<n><abstractNum abstractNumId='7'><lvl ilvl='0'><start val='3'/><numFmt val='decimal'/><lvlText val='%1.'/></lvl>\
            <lvl ilvl='1'><start val='1'/><numFmt val='lowerLetter'/><lvlText val='%1.%2)'/></lvl>\
            <lvl ilvl='2'><start val='1'/><numFmt val='bullet'/><lvlText val='o'/></lvl></abstractNum>\
            <num numId='1'><abstractNumId val='7'/></num>\
            <num numId='2'><abstractNumId val='7'/><lvlOverride ilvl='0'><startOverride val='9'/></lvlOverride></num></n>",
        );
        let labels: Vec<String> =
            [("1", 0), ("1", 1), ("1", 1), ("1", 2), ("1", 0), ("1", 1), ("2", 0), ("2", 0)]
                .into_iter()
                .map(|(list, level)| lists.count(list, level).unwrap())
                .collect();
        assert_eq!(labels, ["3.", "3.a)", "3.b)", "", "4.", "4.a)", "9.", "10."]);
        assert_eq!(lists.count("5", 0), None);
    }

    #[test]
    fn styles_stand_on_each_other() {
        let mut lists = Lists::default();
        lists.read_styles(
            b"<s><style styleId='A'><name val='heading 2'/></style><style styleId='B'><name val='Own'/><basedOn val='A'/>\
            <pPr><numPr><ilvl val='1'/><numId val='4'/></numPr></pPr></style><style styleId='C'><basedOn val='C'/></style></s>",
        );
        let whole = lists.whole(&Place { style: Some("B".to_owned()), ..Place::default() });
        assert_eq!((whole.outline, whole.list.as_deref(), whole.level), (Some(1), Some("4"), Some(1)));
        lists.whole(&Place { style: Some("C".to_owned()), ..Place::default() });
    }
}
