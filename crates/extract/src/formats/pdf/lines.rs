//! Glyphs with places become words and lines, in the order in which the page draws them; lines with words of scripts that
//! run from right to left come in the order in which people read them.

use hayro_interpret::font::{Glyph, GlyphRun, PositionedGlyph};
use hayro_interpret::hayro_cmap::{BfString, WritingMode};
use hayro_interpret::kurbo::{BezPath, Point, Vec2};
use hayro_interpret::{BlendMode, ClipPath, Device, DrawMode, DrawProps, Image, ImageDrawProps, SoftMask};

use super::leftward::{self, Mark};
use super::meanings::Meanings;
use super::scans::Cover;

/// Bytes of text of one page.
const TEXT_BYTES_MAX: usize = 8 << 20;
/// A gap of this share of the font's size sets words apart.
const WORD_GAP: f64 = 0.13;
/// A step across the line of this share of the font's size begins another line.
const LINE_STEP: f64 = 0.5;
/// A step back of this share of the font's size begins another line.
const BACK_STEP: f64 = 1.5;
/// In a line that runs from right to left, a gap of so many times the font's size begins another line.
const LEFTWARD_GAP: f64 = 3.0;
/// Letters of Chinese and Japanese below each other are a column when they stand no further aside than this share of the font's size…
const COLUMN_SHIFT: f64 = 0.3;
/// …and so many times its size below the one before.
const COLUMN_STEP: std::ops::Range<f64> = 0.8..1.5;
/// What is drawn once more, no further away than this share of the font's size, is bold or has a shadow, and is read once.
const AGAIN_STEP: f64 = 0.1;
/// Shapes of letters that differ by less than this share are the same.
const ALIKE: f64 = 0.02;

/// How the script of a glyph runs.
#[derive(Clone, Copy)]
struct Script {
    /// From right to left.
    leftward: bool,
    /// Also in columns, with upright letters.
    upright: bool,
}

impl Script {
    fn of(text: &str) -> Self {
        let upright = |c: char| matches!(c, '\u{3001}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{323af}');
        Self { leftward: text.chars().any(leftward::is_strong), upright: text.chars().all(upright) }
    }
}

/// Where a glyph stood.
struct Last {
    begin: Point,
    end: Point,
    /// Whether it is of a script that is set in columns, too.
    upright: bool,
    /// Along the line, of length one.
    along: Vec2,
    size: f64,
}

/// A line that is complete.
struct Line {
    text: String,
    /// What stands where in it, when it has words from right to left.
    marks: Option<Vec<Mark>>,
    size: f64,
    above: f64,
}

/// A line as people read it.
pub(super) struct Row {
    pub(super) text: String,
    /// Size of its font.
    pub(super) size: f64,
    /// How far it stands from the line before it.
    pub(super) above: f64,
}

/// Collects the text of a page.
pub(super) struct Lines<'m> {
    meanings: &'m Meanings<'m>,
    lines: Vec<Line>,
    bytes: usize,
    /// The line that is being written, with what stands where in it.
    line: String,
    marks: Vec<Mark>,
    /// Whether it has a character of a script from right to left.
    leftward: bool,
    /// Whether its letters stand below each other, although their font is not for columns.
    column: bool,
    /// From where its places are counted, the size of its font, and how far it stands from the line before it.
    origin: Point,
    size: f64,
    above: f64,
    last: Option<Last>,
    /// How much wider than high the letter of the last run of a single letter was drawn.
    shape: f64,
    /// The codes of the last run, and where each one stood.
    run: Vec<(u32, Point)>,
    cover: Cover,
}

impl<'m> Lines<'m> {
    /// Nothing yet.
    pub(super) fn new(meanings: &'m Meanings<'m>) -> Self {
        Self {
            meanings,
            lines: Vec::new(),
            bytes: 0,
            line: String::new(),
            marks: Vec::new(),
            leftward: false,
            column: false,
            origin: Point::ZERO,
            size: 0.0,
            above: 0.0,
            last: None,
            shape: 0.0,
            run: Vec::new(),
            cover: Cover::default(),
        }
    }

    /// What pictures cover of the page.
    pub(super) fn cover(&self) -> Cover {
        self.cover
    }

    /// The lines of the page.
    pub(super) fn rows(mut self) -> Vec<Row> {
        self.end_line();
        // As other readers do, a page is taken to run in the direction of most of its words.
        let (mut from_left, mut from_right) = (0, 0);
        for c in self.lines.iter().flat_map(|line| line.text.chars()).filter(|c| c.is_alphabetic()) {
            *(if leftward::is_strong(c) { &mut from_right } else { &mut from_left }) += 1;
        }
        let read = |line: Line| {
            let text = match line.marks {
                Some(marks) => leftward::logical(&line.text, marks, from_right > from_left),
                None => line.text,
            };
            Row { text, size: line.size, above: line.above }
        };
        self.lines.into_iter().map(read).collect()
    }

    fn end_line(&mut self) {
        let text = std::mem::take(&mut self.line);
        let marks = std::mem::take(&mut self.marks);
        let leftward = std::mem::take(&mut self.leftward);
        self.column = false;
        if !text.is_empty() {
            self.bytes += text.len() + 1;
            let marks = leftward.then_some(marks);
            self.lines.push(Line { text, marks, size: self.size, above: self.above });
        }
    }

    /// What separates a glyph from the last one.
    fn separate(&mut self, placed: &Placed, script: Script) {
        let Some(last) = &self.last else { return };
        let step = placed.begin - last.end;
        let forth = step.dot(last.along);
        let across = step.cross(last.along).abs();
        let size = placed.size.min(last.size).max(0.1);
        let turned = placed.along.dot(last.along) < 0.9;
        if !turned && script.upright && self.is_below(last, placed.begin, size) {
            self.column = true;
            return;
        }
        let elsewhere = if script.leftward || self.leftward {
            let (low, high) = self.extent();
            let from = (placed.begin - self.origin).dot(last.along);
            let width = (placed.end - placed.begin).dot(placed.along);
            from - high > size * LEFTWARD_GAP || low - (from + width) > size * LEFTWARD_GAP
        } else {
            forth < -size * BACK_STEP
        };
        if turned || across > size * LINE_STEP || elsewhere {
            self.end_line();
        } else if forth > size * WORD_GAP && !self.line.ends_with(' ') && !self.line.is_empty() {
            self.line.push(' ');
        }
    }

    /// Whether a letter goes on with a column: it stands below the last one, which has nothing beside it.
    fn is_below(&self, last: &Last, begin: Point, size: f64) -> bool {
        let step = begin - last.begin;
        last.upright
            && (self.column || self.line.chars().nth(1).is_none())
            && step.dot(last.along).abs() < size * COLUMN_SHIFT
            && COLUMN_STEP.contains(&(step.cross(last.along).abs() / size))
    }

    /// Where the line begins and ends.
    fn extent(&self) -> (f64, f64) {
        let around = |(low, high): (f64, f64), mark: &Mark| (low.min(mark.from), high.max(mark.to));
        // What was drawn last is what the next glyph follows; a long line is not looked through for each of them.
        self.marks.iter().rev().take(400).fold((f64::INFINITY, f64::NEG_INFINITY), around)
    }

    fn write(&mut self, text: &str) {
        for c in text.chars() {
            match c {
                // Letters that are set as one.
                '\u{fb00}' => self.line.push_str("ff"),
                '\u{fb01}' => self.line.push_str("fi"),
                '\u{fb02}' => self.line.push_str("fl"),
                '\u{fb03}' => self.line.push_str("ffi"),
                '\u{fb04}' => self.line.push_str("ffl"),
                '\u{fb05}' | '\u{fb06}' => self.line.push_str("st"),
                '\u{a0}' | ' ' if self.line.ends_with(' ') || self.line.is_empty() => {}
                '\u{a0}' => self.line.push(' '),
                '\n' | '\r' => self.line.push(' '),
                // Where a word may be cut, or nothing.
                '\u{ad}' | '\0' => {}
                c => leftward::plain(c, &mut self.line),
            }
        }
    }

    fn glyph(&mut self, glyph: &PositionedGlyph<'_>, placed: &Placed) {
        let text = match glyph.as_unicode() {
            Some(BfString::Char(c)) => String::from(c),
            Some(BfString::String(text)) => text,
            // Codes without a meaning are mostly letters as they are.
            None => self.meanings.meaning(glyph).unwrap_or_else(|| {
                let code = u8::try_from(glyph.char_code()).ok().map(char::from);
                code.filter(|c| !c.is_control()).into_iter().collect()
            }),
        };
        let script = Script::of(&text);
        let width = (placed.end - placed.begin).dot(placed.along);
        self.separate(placed, script);
        if self.line.is_empty() {
            self.above = (placed.begin - self.origin).cross(placed.along).abs();
            (self.origin, self.size) = (placed.begin, placed.size);
        }
        let begin = self.line.len();
        self.write(&text);
        self.leftward |= script.leftward;
        let from = (placed.begin - self.origin).dot(placed.along);
        let (begin, end) = (begin as u32, self.line.len() as u32);
        self.marks.push(Mark { from, to: from + width, gap: placed.size * WORD_GAP, begin, end });
        let (begin, end, upright) = (placed.begin, placed.end, script.upright);
        self.last = Some(Last { begin, end, upright, along: placed.along, size: placed.size });
    }

    /// Whether a run is the last one once more.
    fn is_again(&mut self, run: &GlyphRun<'_, '_>, placed: &[Option<Placed>]) -> bool {
        let size = placed.iter().flatten().map(|placed| placed.size).next().unwrap_or(0.0);
        let glyphs = run.glyphs().iter().zip(placed);
        let drawn = glyphs.filter_map(|(glyph, placed)| Some((glyph.char_code(), placed.as_ref()?.begin)));
        let drawn: Vec<(u32, Point)> = drawn.collect();
        let same = |((code, begin), (before, place)): (&(u32, Point), &(u32, Point))| {
            code == before && (*begin - *place).hypot() < size * AGAIN_STEP
        };
        let is_again = drawn.len() == self.run.len() && drawn.iter().zip(&self.run).all(same);
        if !is_again {
            self.run = drawn;
        }
        is_again
    }

    /// Where the glyphs of a run stand.
    fn place(&mut self, run: &GlyphRun<'_, '_>, props: &DrawProps<'_>) -> Vec<Option<Placed>> {
        let vertical = run.writing_mode() == WritingMode::Vertical;
        let raw: Vec<Raw> = run.glyphs().iter().map(|glyph| Raw::of(glyph, props)).collect();
        let stretch = match raw.as_slice() {
            // Letters that are drawn one by one are stretched alike, or each for itself to fit in place of a missing font.
            [single] => {
                let shape = single.shape();
                let before = std::mem::replace(&mut self.shape, shape);
                if (shape - before).abs() < shape * ALIKE { shape } else { 1.0 }
            }
            run => stretch(run).unwrap_or(1.0),
        };
        let placed = |raw: &Raw| {
            let (width, height) = (raw.across.hypot(), raw.up.hypot());
            if !width.is_finite() || !height.is_finite() || width == 0.0 || height == 0.0 {
                return None;
            }
            let (along, size, length) = match vertical {
                true => (raw.up / -height, height, height),
                false => (raw.across / width, height * stretch, height * stretch * raw.advance),
            };
            Some(Placed { begin: raw.begin, end: raw.begin + along * length, along, size })
        };
        raw.iter().map(placed).collect()
    }
}

/// A glyph as it is drawn.
struct Raw {
    begin: Point,
    /// The font's size, along the line and at a right angle to it.
    across: Vec2,
    up: Vec2,
    /// How far the next one stands, in sizes of the font.
    advance: f64,
}

impl Raw {
    /// How much wider than high it is drawn.
    fn shape(&self) -> f64 {
        self.across.hypot() / self.up.hypot()
    }

    fn of(glyph: &PositionedGlyph<'_>, props: &DrawProps<'_>) -> Self {
        let transform = props.transform * glyph.transform();
        let advance = match &**glyph {
            Glyph::Outline(outline) => outline.advance_width(),
            Glyph::Type3(drawn) => drawn.advance_width(),
        };
        let begin = transform * Point::ZERO;
        Self {
            begin,
            across: transform * Point::new(1_000.0, 0.0) - begin,
            up: transform * Point::new(0.0, 1_000.0) - begin,
            advance: f64::from(advance.unwrap_or(500.0)) / 1_000.0,
        }
    }
}

struct Placed {
    begin: Point,
    end: Point,
    along: Vec2,
    size: f64,
}

/// How much wider than high the letters of a run are set. Letters of a font that stands in for one that is not there are
/// stretched one by one; then the steps between them tell it.
fn stretch(run: &[Raw]) -> Option<f64> {
    let usable = |number: &f64| number.is_finite() && *number > 0.0;
    let shapes = run.iter().map(Raw::shape).filter(usable);
    let (low, high) =
        shapes.fold((f64::INFINITY, 0.0f64), |(low, high), shape| (low.min(shape), high.max(shape)));
    if high - low <= high * ALIKE {
        return Some(high).filter(usable);
    }
    let steps = run.windows(2).map(|two| {
        let along = two[0].across / two[0].across.hypot();
        (two[1].begin - two[0].begin).dot(along) / (two[0].advance * two[0].up.hypot())
    });
    let mut steps: Vec<f64> = steps.filter(usable).collect();
    steps.sort_by(f64::total_cmp);
    steps.get(steps.len() / 2).copied().filter(|step| (0.2..5.0).contains(step))
}

impl<'a> Device<'a> for Lines<'_> {
    fn draw_glyph_run(&mut self, run: &GlyphRun<'_, 'a>, props: DrawProps<'a>, _: &DrawMode) {
        let placed = self.place(run, &props);
        if self.is_again(run, &placed) {
            return;
        }
        for (glyph, placed) in run.glyphs().iter().zip(placed) {
            if self.bytes + self.line.len() > TEXT_BYTES_MAX {
                return;
            }
            if let Some(placed) = placed {
                self.glyph(glyph, &placed);
            }
        }
    }

    fn draw_path(&mut self, _: &BezPath, _: DrawProps<'a>, _: &DrawMode) {}

    fn push_clip_path(&mut self, _: &ClipPath) {}

    fn push_transparency_group(&mut self, _: f32, _: Option<SoftMask<'a>>, _: BlendMode) {}

    fn draw_image(&mut self, image: Image<'a, '_>, props: ImageDrawProps<'a>) {
        self.cover.add(&image, &props);
    }

    fn pop_clip(&mut self) {}

    fn pop_transparency_group(&mut self) {}
}
