//! Numbers and letters before the items of lists: a document says how its lists count, and the labels themselves are worked out
//! when it is shown.

use std::collections::HashMap;
use std::hash::Hash;

/// Levels of lists: Word has nine, OpenDocument ten.
pub(crate) const LEVELS: usize = 10;
/// Ways to count, and lists, of one document of Word.
const WAYS_MAX: usize = 20_000;
const LISTS_MAX: usize = 100_000;
/// Letters of one label.
const LABEL_BYTES_MAX: usize = 100;
/// Above this, numbers are written as they are.
const ROMAN_MAX: u32 = 3_999;

/// How a number is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Format {
    #[default]
    Decimal,
    /// With a zero before numbers of one digit.
    Padded,
    UpperLetter,
    LowerLetter,
    UpperRoman,
    LowerRoman,
    /// As in `1st`.
    Ordinal,
    /// Not at all: a bullet or nothing stands there.
    Hidden,
}

/// How one level of a list counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Level {
    pub(crate) start: u32,
    pub(crate) format: Format,
    /// The label; where the number of a level belongs, the character with the number of that level, from 0.
    pub(crate) text: String,
    /// All numbers in it are decimal.
    pub(crate) legal: bool,
}

/// How far the levels of a list have come.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counter([Option<u32>; LEVELS]);

impl Counter {
    /// Counts an item; it has the number `instead` where there is one. Gives its label, which is empty for bullets.
    pub(crate) fn count(&mut self, levels: &[Level], level: usize, instead: Option<u32>) -> String {
        let level = level.min(LEVELS - 1);
        let Some(own) = levels.get(level) else { return String::new() };
        let next = self.0[level].map_or(own.start, |count| count.saturating_add(1));
        self.0[level] = Some(instead.unwrap_or(next));
        // Lower levels begin anew, and levels above that were left out begin.
        self.0[level + 1..].fill(None);
        for (above, count) in self.0[..level].iter_mut().enumerate() {
            count.get_or_insert(levels[above].start);
        }
        self.label(levels, own)
    }

    fn label(&self, levels: &[Level], own: &Level) -> String {
        let mut label = String::new();
        if own.format == Format::Hidden {
            return label;
        }
        for c in own.text.chars() {
            match (c as usize) < LEVELS {
                true => {
                    let format = levels.get(c as usize).map_or(Format::Hidden, |level| level.format);
                    let format = if own.legal { Format::Decimal } else { format };
                    label.extend(self.0[c as usize].map(|count| shown(format, count)));
                }
                false => label.push(c),
            }
            if label.len() > LABEL_BYTES_MAX {
                break;
            }
        }
        label.trim().to_owned()
    }
}

/// A list: the way in which it counts, and where levels of it begin instead.
struct List<K> {
    way: K,
    starts: HashMap<usize, u32>,
    /// Levels that have begun: what they begin with instead counts once.
    begun: [bool; LEVELS],
}

/// The lists of a document of Word. Lists that count in the same way go on with each other's numbers.
pub(crate) struct Lists<K> {
    ways: HashMap<K, (Vec<Level>, Counter)>,
    lists: HashMap<K, List<K>>,
}

impl<K> Default for Lists<K> {
    fn default() -> Self {
        Self { ways: HashMap::new(), lists: HashMap::new() }
    }
}

impl<K: Hash + Eq> Lists<K> {
    /// Whether there is no list.
    pub(crate) fn is_empty(&self) -> bool {
        self.lists.is_empty()
    }

    /// Adds a way to count, unless there are too many.
    pub(crate) fn add_way(&mut self, way: K) {
        if self.ways.len() >= WAYS_MAX {
            return;
        }
        self.ways.insert(way, (vec![Level::default(); LEVELS], Counter::default()));
    }

    /// A level of a way to count.
    pub(crate) fn level(&mut self, way: &K, level: usize) -> Option<&mut Level> {
        self.ways.get_mut(way)?.0.get_mut(level)
    }

    /// Adds a list that counts in a way, unless there are too many.
    pub(crate) fn add_list(&mut self, list: K, way: K) {
        if self.lists.len() >= LISTS_MAX {
            return;
        }
        self.lists.insert(list, List { way, starts: HashMap::new(), begun: [false; LEVELS] });
    }

    /// Says that a level of a list begins with another number than others that count in the same way.
    pub(crate) fn start_with(&mut self, list: &K, level: usize, start: u32) {
        if let Some(list) = self.lists.get_mut(list) {
            list.starts.insert(level, start);
        }
    }

    /// Counts an item of a list; its label, which is empty for bullets. None when there is no such list.
    pub(crate) fn count(&mut self, list: &K, level: usize) -> Option<String> {
        let level = level.min(LEVELS - 1);
        let list = self.lists.get_mut(list)?;
        let (levels, counter) = self.ways.get_mut(&list.way)?;
        let has_begun = std::mem::replace(&mut list.begun[level], true);
        let instead = list.starts.get(&level).filter(|_| !has_begun).copied();
        Some(counter.count(levels, level, instead))
    }
}

/// A number in a format.
fn shown(format: Format, number: u32) -> String {
    let letters = |first: u8| {
        let count = number.saturating_sub(1) / 26 + 1;
        let letter = char::from(first + (number.saturating_sub(1) % 26) as u8);
        std::iter::repeat_n(letter, (count as usize).min(20)).collect()
    };
    match format {
        Format::LowerLetter => letters(b'a'),
        Format::UpperLetter => letters(b'A'),
        Format::LowerRoman => roman(number).to_lowercase(),
        Format::UpperRoman => roman(number),
        Format::Padded => format!("{number:02}"),
        Format::Ordinal => {
            let ending = match (number % 100, number % 10) {
                (11..=13, _) => "th",
                (_, 1) => "st",
                (_, 2) => "nd",
                (_, 3) => "rd",
                _ => "th",
            };
            format!("{number}{ending}")
        }
        Format::Hidden => String::new(),
        Format::Decimal => number.to_string(),
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
    fn numbers_are_shown_in_their_format() {
        for (format, number, text) in [
            (Format::LowerLetter, 28, "bb"),
            (Format::UpperLetter, 1, "A"),
            (Format::LowerRoman, 1994, "mcmxciv"),
            (Format::UpperRoman, 4_000, "4000"),
            (Format::Ordinal, 22, "22nd"),
            (Format::Ordinal, 113, "113th"),
            (Format::Padded, 7, "07"),
            (Format::Decimal, 0, "0"),
        ] {
            assert_eq!(shown(format, number), text);
        }
    }

    #[test]
    fn numbers_of_other_levels_stand_in_labels() {
        let level = |format: Format, text: &str, legal: bool| Level {
            start: 1,
            format,
            text: text.to_owned(),
            legal,
        };
        let levels = [
            level(Format::UpperRoman, "Part \0:", false),
            level(Format::LowerLetter, "\0.\u{1})", false),
            level(Format::Decimal, "\0.\u{1}.\u{2}", true),
            level(Format::Hidden, "o", false),
        ];
        let mut counter = Counter::default();
        let mut count = |level: usize, instead: Option<u32>| counter.count(&levels, level, instead);
        assert_eq!(
            [
                count(0, None),
                count(2, None),
                count(1, Some(5)),
                count(2, None),
                count(3, None),
                count(0, None)
            ],
            ["Part I:", "1.1.1", "I.e)", "1.5.1", "", "Part II:"]
        );
        assert_eq!(count(9, None), "");
    }
}
