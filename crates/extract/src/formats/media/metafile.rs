//! Text of Windows metafiles ([MS-EMF], [MS-WMF]), which label the icons of embedded files.

mod fonts;

use encoding_rs::Encoding;

use self::fonts::{Font, Fonts};
use crate::page::TextSink;

fn u16_at(bytes: &[u8], at: usize) -> usize {
    bytes
        .get(at..)
        .and_then(|rest| rest.get(..2))
        .map_or(0, |two| usize::from(u16::from_le_bytes([two[0], two[1]])))
}

fn u32_at(bytes: &[u8], at: usize) -> usize {
    u16_at(bytes, at) | u16_at(bytes, at.saturating_add(2)) << 16
}

/// Sixteen bits each.
fn wide(bytes: &[u8]) -> Vec<u16> {
    bytes.chunks_exact(2).map(|two| u16::from_le_bytes([two[0], two[1]])).collect()
}

fn narrow(bytes: &[u8], encoding: &'static Encoding) -> Vec<u16> {
    encoding.decode_without_bom_handling(bytes).0.encode_utf16().collect()
}

/// Writes the text of a drawing.
pub(super) fn read(bytes: &[u8], sink: &mut TextSink<'_>) {
    if bytes.starts_with(b"\x01\0\0\0") {
        enhanced(bytes, sink);
    } else {
        old(bytes, sink);
    }
}

/// A gap of this share of the width of the line's letters sets words apart.
const WORD_GAP: f64 = 0.5;
/// The same in drawings that draw their spaces.
const WORD_GAP_BESIDE_SPACES: f64 = 1.0;
/// Letters of a run without widths, up to which it is taken for letters that are drawn one by one. Of longer runs the widths
/// that are guessed are too far off.
const LETTERS_GUESSED_MAX: usize = 2;

/// How text is placed beside its point, as `SetTextAlign` tells: the point is the right end, or the middle.
const ALIGN_RIGHT: usize = 2;
const ALIGN_CENTER: usize = 6;
/// Text begins where the last one ended, or where the drawing has moved to.
const ALIGN_MOVES: usize = 1;

/// A run of text as a drawing places it.
struct Run {
    x: i32,
    y: i32,
    text: Vec<u16>,
    /// How far each letter reaches, if the drawing says so.
    widths: Vec<i32>,
}

/// Runs become words and lines: some programs draw each letter, or each half of one, by itself.
#[derive(Default)]
struct Runs {
    line: Vec<u16>,
    y: Option<i32>,
    /// Where the last run ended.
    end: Option<i32>,
    /// How many letters of the line have a width, and their sum.
    letters: usize,
    width: i32,
    /// Whether spaces are drawn as letters are.
    draws_spaces: bool,
    /// The fonts, how text is placed, and where text begins that moves.
    fonts: Fonts,
    align: usize,
    place: (i32, i32),
}

impl Runs {
    fn add(&mut self, mut run: Run, sink: &mut TextSink<'_>) {
        let told = run.widths.iter().fold(0i32, |sum, width| sum.saturating_add(*width));
        let guessed = || self.fonts.now.width_of(&run.text).filter(|_| run.text.len() <= LETTERS_GUESSED_MAX);
        let width = if told == 0 { guessed().unwrap_or(0) } else { told };
        if self.align & ALIGN_MOVES != 0 {
            (run.x, run.y) = self.place;
            self.place.0 = run.x.saturating_add(width);
        } else if self.align & ALIGN_CENTER == ALIGN_CENTER {
            run.x = run.x.saturating_sub(width / 2);
        } else if self.align & ALIGN_RIGHT != 0 {
            run.x = run.x.saturating_sub(width);
        }
        let halves = |line: &[u16]| {
            matches!((line.last(), run.text.first()), (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)))
        };
        if halves(&self.line) {
            self.y = Some(run.y);
        } else if self.y != Some(run.y) {
            self.write(sink);
            self.y = Some(run.y);
        } else if !self.follows(run.x) {
            self.line.push(u16::from(b' '));
        }
        self.line.extend(&run.text);
        self.draws_spaces |= run.text == [u16::from(b' ')];
        self.letters += if told == 0 { run.text.len() } else { run.widths.len() };
        self.width = self.width.saturating_add(width);
        self.end = (width > 0).then(|| run.x.saturating_add(width));
    }

    /// Whether a run at `x` goes on with the word of the last one.
    fn follows(&self, x: i32) -> bool {
        let letter = f64::from(self.width) / self.letters.max(1) as f64;
        let gap = if self.draws_spaces { WORD_GAP_BESIDE_SPACES } else { WORD_GAP };
        self.end.is_some_and(|end| (f64::from(x) - f64::from(end)).abs() < letter * gap)
    }

    /// Ends the line.
    fn write(&mut self, sink: &mut TextSink<'_>) {
        let line = std::mem::take(&mut self.line);
        sink.line(&String::from_utf16_lossy(&line));
        (self.end, self.letters, self.width) = (None, 0, 0);
    }
}

fn enhanced(bytes: &[u8], sink: &mut TextSink<'_>) {
    let (mut rest, mut runs) = (bytes, Runs::default());
    while rest.len() >= 8 && !sink.is_full() {
        let (kind, size) = (u32_at(rest, 0), u32_at(rest, 4));
        let Some(record) = rest.get(..size).filter(|_| size >= 8) else { break };
        let run = match kind {
            83 | 84 => enhanced_run(record, kind == 84, runs.fonts.now.encoding),
            108 => small_run(record),
            _ => None,
        };
        match (kind, run) {
            (_, Some(run)) => runs.add(run, sink),
            (22, _) => runs.align = u32_at(record, 8),
            (27, _) => runs.place = (u32_at(record, 8) as i32, u32_at(record, 12) as i32),
            (37, _) => runs.fonts.choose(u32_at(record, 8)),
            (40, _) => runs.fonts.forget(u32_at(record, 8)),
            (82, _) => {
                let (height, width) = (u32_at(record, 12) as i32, u32_at(record, 16) as i32);
                let set = record.get(35).copied().unwrap_or_default();
                runs.fonts.keep(u32_at(record, 8), Font::of(height, width, set));
            }
            _ => {}
        }
        rest = &rest[size..];
    }
    runs.write(sink);
}

fn enhanced_run(record: &[u8], is_wide: bool, encoding: &'static Encoding) -> Option<Run> {
    let (count, at, widths_at) = (u32_at(record, 44), u32_at(record, 48), u32_at(record, 72));
    let length = if is_wide { count.saturating_mul(2) } else { count };
    let raw = record.get(at..)?.get(..length)?;
    let widths = record.get(widths_at..).filter(|_| widths_at > 0).and_then(|rest| rest.get(..count * 4));
    Some(Run {
        x: u32_at(record, 36) as i32,
        y: u32_at(record, 40) as i32,
        text: if is_wide { wide(raw) } else { narrow(raw, encoding) },
        widths: widths.unwrap_or_default().chunks_exact(4).map(|four| u32_at(four, 0) as i32).collect(),
    })
}

/// Small text: its options tell whether a rectangle comes before it, and how wide its characters are.
fn small_run(record: &[u8]) -> Option<Run> {
    let (count, options) = (u32_at(record, 16), u32_at(record, 20));
    let at = if options & 0x100 != 0 { 36 } else { 52 };
    let is_narrow = options & 0x200 != 0;
    let raw = record.get(at..)?.get(..if is_narrow { count } else { count.saturating_mul(2) })?;
    Some(Run {
        x: u32_at(record, 8) as i32,
        y: u32_at(record, 12) as i32,
        text: if is_narrow { raw.iter().map(|byte| u16::from(*byte)).collect() } else { wide(raw) },
        widths: Vec::new(),
    })
}

fn old(bytes: &[u8], sink: &mut TextSink<'_>) {
    let start = if bytes.starts_with(b"\xd7\xcd\xc6\x9a") { 22 } else { 0 };
    let mut rest = bytes.get(start + 18..).unwrap_or_default();
    let mut runs = Runs::default();
    while rest.len() >= 6 && !sink.is_full() {
        let size = u32_at(rest, 0).saturating_mul(2);
        let Some(record) = rest.get(..size).filter(|_| size >= 6) else { break };
        match old_run(record, runs.fonts.now.encoding) {
            Some(run) => runs.add(run, sink),
            None => old_state(record, &mut runs),
        }
        rest = &rest[size..];
    }
    runs.write(sink);
}

fn signed_at(record: &[u8], at: usize) -> i32 {
    i32::from(u16_at(record, at) as u16 as i16)
}

/// Takes what a record says of the text that follows: things are made under the first number that is free.
fn old_state(record: &[u8], runs: &mut Runs) {
    match u16_at(record, 4) {
        0x02fb => {
            let set = record.get(19).copied().unwrap_or_default();
            runs.fonts.keep_next(Some(Font::of(signed_at(record, 6), signed_at(record, 8), set)));
        }
        // Pens, brushes, palettes and regions.
        0x02fa | 0x02fc | 0x00f7 | 0x01f9 | 0x0142 | 0x06ff => runs.fonts.keep_next(None),
        0x012d => runs.fonts.choose(u16_at(record, 6)),
        0x01f0 => runs.fonts.forget(u16_at(record, 6)),
        0x012e => runs.align = u16_at(record, 6),
        0x0214 => runs.place = (signed_at(record, 8), signed_at(record, 6)),
        _ => {}
    }
}

fn old_run(record: &[u8], encoding: &'static Encoding) -> Option<Run> {
    let signed = |at: usize| signed_at(record, at);
    match u16_at(record, 4) {
        0x0521 => {
            let count = u16_at(record, 6);
            let after = 8 + count.next_multiple_of(2);
            let text = narrow(record.get(8..)?.get(..count)?, encoding);
            Some(Run { x: signed(after + 2), y: signed(after), text, widths: Vec::new() })
        }
        0x0a32 => {
            let (count, at) = (u16_at(record, 10), if u16_at(record, 12) & 6 != 0 { 22 } else { 14 });
            let after = at + count.next_multiple_of(2);
            let widths = record.get(after..).and_then(|rest| rest.get(..count * 2)).unwrap_or_default();
            let widths = widths.chunks_exact(2).map(|two| i32::from(i16::from_le_bytes([two[0], two[1]])));
            let text = narrow(record.get(at..)?.get(..count)?, encoding);
            Some(Run { x: signed(8), y: signed(6), text, widths: widths.collect() })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::formats::tests::extract;

    /// A drawing with runs of text: where each stands, its units, and how wide they are.
    fn drawing(runs: &[(u32, &[u16], &[u32])]) -> Vec<u8> {
        let mut bytes = vec![1u8, 0, 0, 0, 88, 0, 0, 0];
        bytes.resize(88, 0);
        bytes[40..44].copy_from_slice(b" EMF");
        for (x, units, widths) in runs {
            let text = units.len() * 2;
            let mut record = vec![0u8; 76];
            let size = 76 + text.next_multiple_of(4) + widths.len() * 4;
            let mut put = |at: usize, number: u32| record[at..at + 4].copy_from_slice(&number.to_le_bytes());
            put(0, 84);
            put(4, size as u32);
            put(36, *x);
            put(44, units.len() as u32);
            put(48, 76);
            put(72, if widths.is_empty() { 0 } else { 76 + text.next_multiple_of(4) as u32 });
            record.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
            record.resize(76 + text.next_multiple_of(4), 0);
            record.extend(widths.iter().flat_map(|width| width.to_le_bytes()));
            bytes.extend(record);
        }
        bytes
    }

    fn units(text: &str) -> Vec<u16> {
        text.encode_utf16().collect()
    }

    #[test]
    fn the_text_of_a_metafile_is_read() {
        let runs = [(0, units("Label")), (90, units("b.txt"))];
        let runs: Vec<(u32, &[u16], &[u32])> =
            runs.iter().map(|(x, text)| (*x, &text[..], &[][..])).collect();
        assert_eq!(extract("a.emf", &drawing(&runs)).text, "Label b.txt");
    }

    #[test]
    fn letters_that_are_drawn_one_by_one_are_words() {
        let letters = [(240, "A", 96), (335, "p", 58), (401, "t", 58), (500, "T", 77)];
        let letters: Vec<(u32, Vec<u16>, [u32; 1])> =
            letters.iter().map(|(x, text, width)| (*x, units(text), [*width])).collect();
        let runs: Vec<(u32, &[u16], &[u32])> =
            letters.iter().map(|(x, text, width)| (*x, &text[..], &width[..])).collect();
        assert_eq!(extract("a.emf", &drawing(&runs)).text, "Apt T");
        // Both halves of one letter.
        let halves = units("\u{1f600}");
        let runs: [(u32, &[u16], &[u32]); 2] = [(0, &halves[..1], &[10]), (10, &halves[1..], &[10])];
        assert_eq!(extract("a.emf", &drawing(&runs)).text, "\u{1f600}");
    }

    #[test]
    fn the_text_of_an_old_metafile_is_read() {
        let mut bytes = vec![1, 0, 9, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        bytes.extend([8, 0, 0, 0, 0x21, 5, 3, 0, b'a', b'b', b'c', 0, 1, 0, 1, 0]);
        assert_eq!(extract("a.wmf", &bytes).text, "abc");
        // Each letter by itself, with its width: places of 0, 9, 20 and 60, each letter 10 wide.
        let mut bytes = bytes[..18].to_vec();
        for (x, letter) in [(0, b'w'), (9, b'o'), (20, b'r'), (60, b'd')] {
            bytes.extend([9, 0, 0, 0, 0x32, 0x0a, 0, 0, x, 0, 1, 0, 0, 0, letter, 0, 10, 0]);
        }
        assert_eq!(extract("a.wmf", &bytes).text, "wor d");
    }

    /// An old drawing of records.
    fn old(records: &[(u16, Vec<u8>)]) -> Vec<u8> {
        let mut bytes = vec![1, 0, 9, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        for (kind, data) in records {
            let words = 3 + data.len().div_ceil(2);
            bytes.extend((words as u32).to_le_bytes());
            bytes.extend(kind.to_le_bytes());
            bytes.extend(data);
            bytes.resize(bytes.len() + data.len() % 2, 0);
        }
        bytes
    }

    fn numbers(all: &[i16]) -> Vec<u8> {
        all.iter().flat_map(|number| number.to_le_bytes()).collect()
    }

    /// A font of that height and charset, made as the second thing and chosen.
    fn font(height: i16, set: u8) -> Vec<(u16, Vec<u8>)> {
        let font =
            [numbers(&[height, 0, 0, 0, 400]), vec![0, 0, 0, set, 0, 0, 0, 0], b"Any".to_vec()].concat();
        vec![(0x02fa, numbers(&[0; 5])), (0x02fb, font), (0x012d, numbers(&[1]))]
    }

    /// A letter or more without widths.
    fn letters(x: i16, text: &[u8]) -> (u16, Vec<u8>) {
        let mut data = numbers(&[text.len() as i16]);
        data.extend(text);
        data.resize(data.len().next_multiple_of(2), 0);
        data.extend(numbers(&[50, x]));
        (0x0521, data)
    }

    #[test]
    fn letters_without_widths_are_words_by_their_font() {
        // 100 high: w 72, o 55, r 33, d 55 wide, and 28 between words.
        let each = [(0, "w"), (72, "o"), (128, "r"), (161, "d"), (244, "t"), (272, "wo")];
        let each = each.map(|(x, text)| letters(x, text.as_bytes()));
        assert_eq!(extract("a.wmf", &old(&[font(-100, 0), each.to_vec()].concat())).text, "word two");
        // Nobody knows how wide they are.
        assert_eq!(extract("a.wmf", &old(&each)).text, "w o r d t wo");
        // Runs of more letters may have been drawn in a font that is much narrower.
        let runs = [letters(0, b"long"), letters(200, b"run")];
        assert_eq!(extract("a.wmf", &old(&[font(-100, 0), runs.to_vec()].concat())).text, "long run");
    }

    #[test]
    fn letters_are_placed_as_the_drawing_says() {
        let align = |how: i16| vec![(0x012e, numbers(&[how]))];
        let right = [letters(55, b"a"), letters(110, b"b"), letters(250, b"c")].to_vec();
        assert_eq!(extract("a.wmf", &old(&[font(-100, 0), align(2), right].concat())).text, "ab c");
        let begin = (0x0214, numbers(&[50, 0]));
        let moving =
            [begin, letters(9, b"a"), letters(9, b"b"), (0x0214, numbers(&[50, 300])), letters(9, b"c")];
        assert_eq!(extract("a.wmf", &old(&[font(-100, 0), align(1), moving.to_vec()].concat())).text, "ab c");
    }

    #[test]
    fn text_is_in_the_charset_of_its_font() {
        let words = [letters(0, b"\xcf\xf0\xe8\xe2\xe5\xf2")];
        assert_eq!(extract("a.wmf", &old(&[font(-100, 204), words.to_vec()].concat())).text, "Привет");
    }

    #[test]
    fn small_text_without_widths_is_words_by_its_font() {
        let mut bytes = drawing(&[]);
        let mut record = |kind: u32, data: &[u8]| {
            bytes.extend(kind.to_le_bytes());
            bytes.extend((data.len() as u32 + 8).to_le_bytes());
            bytes.extend(data);
        };
        let four = |all: &[i32]| all.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
        record(82, &[four(&[7, -100, 0, 0, 0, 400]), vec![0; 68]].concat());
        record(37, &four(&[7]));
        for (x, letter) in [(0, b'w'), (72, b'o'), (183, b'w'), (255, b'e')] {
            record(108, &[four(&[x, 50, 1, 0x300, 0, 0, 0]), vec![letter, 0, 0, 0]].concat());
        }
        assert_eq!(extract("a.emf", &bytes).text, "wo we");
    }

    #[test]
    fn damaged_drawings_cost_no_reader() {
        let each = [letters(0, b"w"), letters(72, b"o"), (0x012e, numbers(&[1])), letters(0, b"word")];
        crate::formats::tests::survives("a.wmf", &old(&[font(-100, 204), each.to_vec()].concat()));
    }
}
