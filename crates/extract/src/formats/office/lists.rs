//! Styles and lists of word processing: which paragraphs are headings, and which number or letter stands before an item. A
//! document says how its lists count; the numbers themselves are worked out when it is shown.

use std::collections::HashMap;

use super::relations::Relations;
use crate::formats::archives::zip::Zip;
use crate::page::Budget;
use crate::xml::{self, Go, Met, Tag};

/// Levels of lists.
const LEVELS: usize = 9;
/// Styles that stand on each other.
const STYLES_MAX: usize = 16;
/// Letters of one label.
const LABEL_BYTES_MAX: usize = 100;
/// Above this, numbers are written as they are.
const ROMAN_MAX: u32 = 3_999;

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

/// How one level of a list counts.
#[derive(Clone, Default)]
struct Level {
    start: u32,
    format: String,
    text: String,
}

/// The styles and lists of a document, and how far the lists have come.
#[derive(Default)]
pub(super) struct Lists {
    styles: HashMap<String, Place>,
    /// Levels of each way to count.
    ways: HashMap<String, Vec<Level>>,
    /// Its way to count, and where levels of it begin instead.
    lists: HashMap<String, (String, HashMap<usize, u32>)>,
    /// How far each way to count has come.
    counts: HashMap<String, [Option<u32>; LEVELS]>,
    /// Lists that have begun: what they begin with instead counts once.
    begun: HashMap<String, [bool; LEVELS]>,
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
        let _ = xml::walk(bytes, |met| {
            match met {
                Met::Open(tag) => match tag.name() {
                    "style" => open = tag.attribute("styleId").map(|id| (id, Place::default())),
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
                            self.ways.insert(way.clone(), vec![Level::default(); LEVELS]);
                        }
                        "num" => {
                            let id = tag.attribute("numId").unwrap_or_default();
                            self.lists.insert(id.clone(), (String::new(), HashMap::new()));
                            list = Some(id);
                        }
                        "lvl" | "lvlOverride" => level = number("ilvl").filter(|level| *level < LEVELS),
                        "abstractNumId" => {
                            if let Some((own, _)) = list.as_ref().and_then(|list| self.lists.get_mut(list)) {
                                *own = value();
                            }
                        }
                        "startOverride" => {
                            let list = list.as_ref().and_then(|list| self.lists.get_mut(list));
                            if let (Some((_, starts)), Some(level), Ok(start)) =
                                (list, level, value().parse())
                            {
                                starts.insert(level, start);
                            }
                        }
                        name if list.is_none() => {
                            let level = level.and_then(|level| self.ways.get_mut(&way)?.get_mut(level));
                            if let Some(level) = level {
                                match name {
                                    "start" => level.start = value().parse().unwrap_or(1),
                                    "numFmt" => level.format = value(),
                                    "lvlText" => level.text = value(),
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
            style.clone_from(&below.style);
        }
        whole
    }

    /// Counts an item of a list; its label, which is empty for marks such as bullets. None when there is no such list.
    pub(super) fn count(&mut self, list: &str, level: usize) -> Option<String> {
        let level = level.min(LEVELS - 1);
        let (way, starts) = self.lists.get(list)?;
        let levels = self.ways.get(way)?;
        let counts = self.counts.entry(way.clone()).or_default();
        let begun = self.begun.entry(list.to_owned()).or_default();
        let start = levels.get(level)?.start;
        let instead = starts.get(&level).filter(|_| !std::mem::replace(&mut begun[level], true)).copied();
        counts[level] = Some(match (instead, counts[level]) {
            (Some(start), _) => start,
            (None, Some(count)) => count.saturating_add(1),
            (None, None) => start,
        });
        // Lower levels begin anew, and levels above that were left out begin.
        counts[level + 1..].fill(None);
        for (above, count) in counts[..level].iter_mut().enumerate() {
            count.get_or_insert(levels.get(above).map_or(1, |level| level.start));
        }
        Some(label(levels, counts, level))
    }
}

/// The text of a label with its numbers filled in.
fn label(levels: &[Level], counts: &[Option<u32>; LEVELS], level: usize) -> String {
    let own = &levels[level];
    if matches!(own.format.as_str(), "bullet" | "none") {
        return String::new();
    }
    let mut label = String::new();
    let mut chars = own.text.chars().peekable();
    while let Some(c) = chars.next() {
        let number =
            chars.peek().filter(|_| c == '%').and_then(|digit| digit.to_digit(10)).filter(|digit| *digit > 0);
        match number {
            Some(number) => {
                chars.next();
                let at = number as usize - 1;
                let format = levels.get(at).map_or("", |level| level.format.as_str());
                if let Some(count) = counts.get(at).copied().flatten() {
                    label.push_str(&shown(format, count));
                }
            }
            None => label.push(c),
        }
        if label.len() > LABEL_BYTES_MAX {
            break;
        }
    }
    label.trim().to_owned()
}

/// A number in a format.
fn shown(format: &str, number: u32) -> String {
    let letters = |first: u8| {
        let count = number.saturating_sub(1) / 26 + 1;
        let letter = char::from(first + (number.saturating_sub(1) % 26) as u8);
        std::iter::repeat_n(letter, (count as usize).min(20)).collect()
    };
    match format {
        "lowerLetter" => letters(b'a'),
        "upperLetter" => letters(b'A'),
        "lowerRoman" => roman(number).to_lowercase(),
        "upperRoman" => roman(number),
        "decimalZero" => format!("{number:02}"),
        "ordinal" => {
            let ending = match (number % 100, number % 10) {
                (11..=13, _) => "th",
                (_, 1) => "st",
                (_, 2) => "nd",
                (_, 3) => "rd",
                _ => "th",
            };
            format!("{number}{ending}")
        }
        "none" => String::new(),
        _ => number.to_string(),
    }
}

fn roman(number: u32) -> String {
    const SIGNS: &[(u32, &str)] = &[
        (1_000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ];
    if number > ROMAN_MAX {
        return number.to_string();
    }
    let (mut left, mut out) = (number, String::new());
    for (value, sign) in SIGNS {
        while left >= *value {
            out.push_str(sign);
            left -= value;
        }
    }
    out
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
    fn numbers_are_shown_in_their_format() {
        for (format, number, text) in [
            ("lowerLetter", 28, "bb"),
            ("upperLetter", 1, "A"),
            ("lowerRoman", 1994, "mcmxciv"),
            ("upperRoman", 4_000, "4000"),
            ("ordinal", 22, "22nd"),
            ("ordinal", 113, "113th"),
            ("decimalZero", 7, "07"),
            ("decimal", 0, "0"),
        ] {
            assert_eq!(shown(format, number), text);
        }
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
