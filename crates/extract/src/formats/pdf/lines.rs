//! Glyphs with places become words and lines, in the order in which the page draws them.

use hayro_interpret::font::{Glyph, GlyphRun};
use hayro_interpret::hayro_cmap::BfString;
use hayro_interpret::kurbo::{BezPath, Point, Vec2};
use hayro_interpret::{BlendMode, ClipPath, Device, DrawMode, DrawProps, Image, ImageDrawProps, SoftMask};

/// Bytes of text of one page.
const TEXT_BYTES_MAX: usize = 8 << 20;
/// A gap of this share of the font's size sets words apart.
const WORD_GAP: f64 = 0.13;
/// A step across the line of this share of the font's size begins another line.
const LINE_STEP: f64 = 0.5;
/// A step back of this share of the font's size begins another line.
const BACK_STEP: f64 = 1.5;

/// Where a glyph ended.
struct Last {
    end: Point,
    /// Along the line, of length one.
    along: Vec2,
    size: f64,
}

/// Collects the text of a page.
#[derive(Default)]
pub(super) struct Lines {
    text: String,
    last: Option<Last>,
}

impl Lines {
    /// The text so far.
    pub(super) fn text(self) -> String {
        self.text
    }

    /// What separates a glyph at `begin` from the last one.
    fn separate(&mut self, begin: Point, along: Vec2, size: f64) {
        let Some(last) = &self.last else { return };
        let step = begin - last.end;
        let forth = step.dot(last.along);
        let across = step.cross(last.along).abs();
        let size = size.min(last.size).max(0.1);
        let turned = along.dot(last.along) < 0.9;
        if turned || across > size * LINE_STEP || forth < -size * BACK_STEP {
            if !self.text.ends_with('\n') {
                let kept = self.text.trim_end_matches(' ').len();
                self.text.truncate(kept);
                self.text.push('\n');
            }
        } else if forth > size * WORD_GAP && !self.text.ends_with([' ', '\n']) {
            self.text.push(' ');
        }
    }

    fn write(&mut self, text: &str) {
        for c in text.chars() {
            match c {
                // Letters that are set as one.
                '\u{fb00}' => self.text.push_str("ff"),
                '\u{fb01}' => self.text.push_str("fi"),
                '\u{fb02}' => self.text.push_str("fl"),
                '\u{fb03}' => self.text.push_str("ffi"),
                '\u{fb04}' => self.text.push_str("ffl"),
                '\u{fb05}' | '\u{fb06}' => self.text.push_str("st"),
                '\u{a0}' | ' ' if self.text.ends_with([' ', '\n']) || self.text.is_empty() => {}
                '\u{a0}' => self.text.push(' '),
                // Where a word may be cut, or nothing.
                '\u{ad}' | '\0' => {}
                c => self.text.push(c),
            }
        }
    }
}

impl<'a> Device<'a> for Lines {
    fn draw_glyph_run(&mut self, run: &GlyphRun<'_, 'a>, props: DrawProps<'a>, _: &DrawMode) {
        for glyph in run.glyphs() {
            if self.text.len() > TEXT_BYTES_MAX {
                return;
            }
            let transform = props.transform * glyph.transform();
            let advance = match &**glyph {
                Glyph::Outline(outline) => outline.advance_width(),
                Glyph::Type3(drawn) => drawn.advance_width(),
            };
            let begin = transform * Point::ZERO;
            let em = transform * Point::new(1_000.0, 0.0) - begin;
            let size = em.hypot();
            if !size.is_finite() || size == 0.0 {
                continue;
            }
            let along = em / size;
            self.separate(begin, along, size);
            match glyph.as_unicode() {
                Some(BfString::Char(c)) => self.write(c.encode_utf8(&mut [0; 4])),
                Some(BfString::String(text)) => self.write(&text),
                // Codes without a meaning are mostly letters as they are.
                None => {
                    let c = u8::try_from(glyph.char_code()).ok().map(char::from).filter(|c| !c.is_control());
                    self.text.extend(c);
                }
            }
            let end = begin + em * f64::from(advance.unwrap_or(500.0)) / 1_000.0;
            self.last = Some(Last { end, along, size });
        }
    }

    fn draw_path(&mut self, _: &BezPath, _: DrawProps<'a>, _: &DrawMode) {}

    fn push_clip_path(&mut self, _: &ClipPath) {}

    fn push_transparency_group(&mut self, _: f32, _: Option<SoftMask<'a>>, _: BlendMode) {}

    fn draw_image(&mut self, _: Image<'a, '_>, _: ImageDrawProps<'a>) {}

    fn pop_clip(&mut self) {}

    fn pop_transparency_group(&mut self) {}
}
