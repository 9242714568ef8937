//! Lists and styles of Word ([MS-DOC] 2.4.6.3 and 2.9.260): which paragraphs are items, and how each list counts.

use super::looks::{Look, NO_HEADING, look_of};
use super::{u16_at, u32_at, utf16};
use crate::numbering::{Format, LEVELS, Level, Lists as Numbers};

/// Bytes of what is said of a list (LSTF), of one of its levels (LVLF), and of a list that paragraphs name (LFO).
const LIST_BYTES: usize = 28;
const LEVEL_BYTES: usize = 28;
const NAMED_BYTES: usize = 16;
/// Levels of a list in Word.
const WORD_LEVELS: usize = 9;
/// Letters of a label.
const LABEL_MAX: usize = 255;
/// Styles that stand on each other.
const STYLES_MAX: usize = 16;
/// Number of no style.
const NO_STYLE: u16 = 0xfff;
/// Bytes of a style before those that later versions added.
const STYLE_BYTES: usize = 10;

/// The lists of a document and how far they have come, and what its styles say of paragraphs.
#[derive(Default)]
pub(super) struct Lists {
    numbers: Numbers<u32>,
    /// What each style says, and the style that it stands on.
    styles: Vec<(Look, u16)>,
}

/// Reads on in bytes.
struct Bytes<'b>(&'b [u8]);

impl<'b> Bytes<'b> {
    fn take(&mut self, length: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn narrow(&mut self) -> Option<usize> {
        self.take(2).map(|two| usize::from(u16_at(two, 0)))
    }
}

impl Lists {
    /// Those that the table of a document leads to.
    pub(super) fn of(bytes: &[u8], table: &[u8]) -> Self {
        let mut lists = Self::default();
        // Damage ends what is known of lists: the words stay.
        let _ = lists.read_ways(table.get(u32_at(bytes, 0x2e2) as usize..).unwrap_or_default());
        let _ = lists.read_lists(table.get(u32_at(bytes, 0x2ea) as usize..).unwrap_or_default());
        let styles = table.get(u32_at(bytes, 0xa2) as usize..).unwrap_or_default();
        let _ = lists.read_styles(&styles[..styles.len().min(u32_at(bytes, 0xa6) as usize)]);
        lists
    }

    /// Whether the document has no list.
    pub(super) fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// Reads how lists count: all of them, then the levels of each.
    fn read_ways(&mut self, table: &[u8]) -> Option<()> {
        let mut rest = Bytes(table);
        let count = rest.narrow()?;
        let all = rest.take(count * LIST_BYTES)?;
        for one in all.chunks_exact(LIST_BYTES) {
            let way = u32_at(one, 0);
            let is_simple = one[26] & 1 == 1;
            self.numbers.add_way(way);
            for number in 0..if is_simple { 1 } else { WORD_LEVELS } {
                let read = level(&mut rest)?;
                if let Some(level) = self.numbers.level(&way, number) {
                    *level = read;
                }
            }
        }
        Some(())
    }

    /// Reads which lists there are, and what each one begins with instead.
    fn read_lists(&mut self, table: &[u8]) -> Option<()> {
        let mut rest = Bytes(table);
        let count = u32_at(rest.take(4)?, 0) as usize;
        let all = rest.take(count.checked_mul(NAMED_BYTES)?)?;
        let numbered = || all.chunks_exact(NAMED_BYTES).zip(1u32..);
        numbered().for_each(|(one, number)| self.numbers.add_list(number, u32_at(one, 0)));
        for (one, number) in numbered() {
            rest.take(4)?;
            for _ in 0..one[12] {
                let changed = rest.take(8)?;
                let flags = u32_at(changed, 4);
                let mut start = u32_at(changed, 0);
                if flags & 0x20 != 0 {
                    start = level(&mut rest)?.start;
                }
                if flags & 0x10 != 0 {
                    self.numbers.start_with(&number, flags as usize & 0xf, start);
                }
            }
        }
        Some(())
    }

    /// Reads what styles of paragraphs say.
    fn read_styles(&mut self, table: &[u8]) -> Option<()> {
        let mut rest = Bytes(table);
        let length = rest.narrow()?;
        let about = rest.take(length)?;
        let base = usize::from(u16_at(about, 2)).max(STYLE_BYTES);
        while let Some(length) = rest.narrow() {
            // Each one begins at an even place.
            let style = rest.take(length)?;
            rest.take(length % 2);
            self.styles.push(of_style(style, base).unwrap_or((Look::default(), NO_STYLE)));
        }
        Some(())
    }

    /// What is said of a paragraph, together with the styles that it stands on.
    pub(super) fn whole(&self, look: Look) -> Look {
        let (mut whole, mut style) = (look, look.style);
        for _ in 0..STYLES_MAX {
            let Some((below, next)) = self.styles.get(usize::from(style)) else { break };
            whole.level = whole.level.or(below.level);
            if whole.list.is_none() {
                whole.list = below.list;
                whole.depth = whole.depth.or(below.depth);
            }
            style = *next;
        }
        whole.level = whole.level.filter(|level| *level < NO_HEADING);
        whole
    }

    /// Counts a paragraph; its label. None when it is no item of a list; empty for bullets.
    pub(super) fn count(&mut self, look: Look) -> Option<String> {
        let list = look.list.filter(|list| *list > 0)?;
        let label = self.numbers.count(&u32::from(list), usize::from(look.depth.unwrap_or(0)));
        // A list that nobody describes is one all the same.
        Some(label.unwrap_or_default())
    }
}

/// What a style of paragraphs says, and the style that it stands on; `base` is the length of what all styles have.
fn of_style(style: &[u8], base: usize) -> Option<(Look, u16)> {
    let mut rest = Bytes(style);
    let about = rest.take(base)?;
    let (kind, below) = (u16_at(about, 2) & 0xf, u16_at(about, 2) >> 4);
    if kind != 1 {
        return None;
    }
    let name = rest.narrow()?;
    rest.take(name * 2 + 2)?;
    let length = rest.narrow()?;
    let said = rest.take(length)?;
    Some((look_of(said), below))
}

/// Reads how a level counts.
fn level(rest: &mut Bytes<'_>) -> Option<Level> {
    let about = rest.take(LEVEL_BYTES)?;
    rest.take(usize::from(about[24]) + usize::from(about[25]))?;
    let length = rest.narrow()?;
    let text = rest.take(length * 2)?;
    let format = match about[4] {
        1 => Format::UpperRoman,
        2 => Format::LowerRoman,
        3 => Format::UpperLetter,
        4 => Format::LowerLetter,
        5 => Format::Ordinal,
        22 => Format::Padded,
        23 | 255 => Format::Hidden,
        _ => Format::Decimal,
    };
    // Numbers stand in the label as they do here: as the level of which they are.
    let text = utf16(&text[..text.len().min(LABEL_MAX * 2)]);
    let text = text.chars().filter(|c| (*c as usize) < LEVELS || !c.is_control()).collect();
    Some(Level { start: u32_at(about, 0), format, text, legal: about[5] & 4 != 0 })
}

#[cfg(test)]
mod tests {
    use super::super::tests::described;
    use crate::formats::tests::{extract, marked, survives};

    /// How a level counts, its label in characters.
    fn level(start: u32, format: u8, flags: u8, text: &str) -> Vec<u8> {
        let mut bytes = start.to_le_bytes().to_vec();
        bytes.extend([format, flags]);
        bytes.resize(28, 0);
        (bytes[24], bytes[25]) = (1, 2);
        bytes.extend([7; 3]);
        bytes.extend((text.encode_utf16().count() as u16).to_le_bytes());
        bytes.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
        bytes
    }

    /// What the table says of lists and styles: one list of nine levels, one that goes on with it but begins anew, a simple one.
    fn tell(stream: &mut [u8], table: &mut Vec<u8>) {
        let mut place = |at: usize, bytes: &[u8]| {
            stream[at..at + 4].copy_from_slice(&(table.len() as u32).to_le_bytes());
            stream[at + 4..at + 8].copy_from_slice(&(bytes.len() as u32).to_le_bytes());
            table.extend(bytes);
        };
        let list =
            |number: u32, is_simple: u8| [&number.to_le_bytes()[..], &[0; 22], &[is_simple, 0]].concat();
        let mut ways = vec![2, 0];
        ways.extend([list(70, 0), list(80, 1)].concat());
        ways.extend(level(3, 0, 0, "\u{0}."));
        ways.extend(level(1, 4, 0, "\u{0}.\u{1})"));
        ways.extend(level(1, 1, 4, "\u{0}-\u{2}"));
        (3..9).for_each(|_| ways.extend(level(1, 23, 0, "\u{f0b7}")));
        ways.extend(level(1, 3, 0, "\u{0}"));
        place(0x2e2, &ways);
        let named = |way: u32, changes: u8| [&way.to_le_bytes()[..], &[0; 8], &[changes, 0, 0, 0]].concat();
        let mut lists = vec![3, 0, 0, 0];
        lists.extend([named(70, 0), named(70, 1), named(80, 0)].concat());
        lists.extend([0xff; 8]);
        lists.extend([9, 0, 0, 0, 0x10, 0, 0, 0]);
        lists.extend([0xff; 4]);
        place(0x2ea, &lists);
        // Styles: one without a word, a heading in the second level of the first list, one that stands on it.
        let style = |below: u16, said: &[u8]| {
            let mut bytes = vec![0, 0];
            bytes.extend((below << 4 | 1).to_le_bytes());
            bytes.resize(10, 0);
            bytes.extend([1, 0, b'S', 0, 0, 0]);
            bytes.extend((said.len() as u16).to_le_bytes());
            bytes.extend(said);
            let mut whole = (bytes.len() as u16).to_le_bytes().to_vec();
            whole.extend(&bytes);
            whole.resize(whole.len().next_multiple_of(2), 0);
            whole
        };
        let mut styles = vec![4, 0, 3, 0, 10, 0];
        styles.extend(style(0xfff, &[0, 0]));
        styles.extend(style(0, &[1, 0, 0x0a, 0x26, 1, 0x0b, 0x46, 1, 0]));
        styles.extend(style(1, &[20, 0]));
        place(0xa2, &styles);
    }

    #[test]
    fn items_have_the_numbers_that_word_shows() {
        let in_list = |list: u8, level: u8| vec![0, 0, 0x0a, 0x26, level, 0x0b, 0x46, list, 0];
        let plain = vec![0, 0];
        let mut paragraphs: Vec<(&[u8], Vec<u8>)> = vec![
            (b"first\r", in_list(1, 0)),
            (b"inner\r", in_list(1, 1)),
            (b"  \r", in_list(1, 1)),
            (b"deep\r", in_list(1, 2)),
            (b"bullet\r", in_list(1, 3)),
            (b"words\r", plain.clone()),
            (b"second\r", in_list(1, 0)),
            (b"heading\r", vec![1, 0]),
            (b"derived\r", vec![2, 0]),
            (b"body\r", vec![2, 0, 0x40, 0x26, 9, 0x0b, 0x46, 0, 0]),
            (b"anew\r", in_list(2, 0)),
            (b"goes on\r", in_list(2, 0)),
            (b"letter\r", in_list(3, 0)),
            (b"unknown\r", in_list(9, 0)),
        ];
        paragraphs.push((b"end", plain));
        let paragraphs: Vec<(&[u8], &[u8])> =
            paragraphs.iter().map(|(text, said)| (*text, said.as_slice())).collect();
        let document = described(&paragraphs, &|stream, table| tell(stream, table));
        assert_eq!(
            extract("a.doc", &document).text,
            "3. first\n3.a) inner\n  \n3-1 deep\nbullet\nwords\n4. second\n4.a) heading\n4.b) derived\nbody\n\
             9. anew\n10. goes on\nA letter\nunknown\nend"
        );
        let text = marked("a.doc", &document);
        assert!(
            text.starts_with("3. first\n  - 3.a) inner\n    - 3-1 deep\n      - bullet\n\nwords"),
            "{text}"
        );
        assert!(text.contains("\n\n# 4.a) heading\n\n## 4.b) derived\n\nbody\n"), "{text}");
        survives("a.doc", &document);
    }
}
