//! Pages that are pictures: what is drawn of pictures on a page, put together as one picture in shades of gray.

use hayro_interpret::font::GlyphRun;
use hayro_interpret::kurbo::{Affine, BezPath, Point, Rect};
use hayro_interpret::{
    BlendMode, ClipPath, Device, DrawMode, DrawProps, Image, ImageData, ImageDrawProps, LumaData, Paint,
    SoftMask,
};
use hayro_syntax::page::{Page as Leaf, Rotation};

/// A page is a scan when pictures cover this share of it, and its own words have fewer letters: numbers that were stamped on it.
const COVER_MIN: f64 = 0.5;
const LETTERS_MAX: usize = 200;
/// Dots for a seventy-second of an inch: 300 for an inch, which is what programs that read pictures expect.
const SCALE_MAX: f64 = 300.0 / 72.0;
const SCALE_MIN: f64 = 1.0;
/// Dots of the picture of a page, and of one picture on it: a page of A4 that was scanned with 600 dots for an inch has 35
/// millions, which take some hundred megabytes while they are unpacked.
const DOTS_MAX: f64 = 25.0e6;
const IMAGE_DOTS_MAX: u64 = 40_000_000;
/// A dot is the mean of so many places, squared.
const SAMPLES: usize = 2;

/// What pictures cover of a page, counted while its words are read.
#[derive(Clone, Copy, Default)]
pub(super) struct Cover {
    area: f64,
    /// Dots for a seventy-second of an inch, of the finest of them.
    fineness: f64,
}

impl Cover {
    pub(super) fn add(&mut self, image: &Image<'_, '_>, props: &ImageDrawProps<'_>) {
        let area = props.transform.determinant().abs() * f64::from(image.width()) * f64::from(image.height());
        let [right, up, ..] = props.transform.as_coeffs();
        let fineness = right.hypot(up).recip();
        if area.is_finite() && fineness.is_finite() {
            self.area += area;
            self.fineness = self.fineness.max(fineness);
        }
    }

    /// Whether a page with so many letters is a scan.
    pub(super) fn is_scan(&self, leaf: &Leaf<'_>, letters: usize) -> bool {
        let (width, height) = leaf.base_dimensions();
        self.area >= f64::from(width) * f64::from(height) * COVER_MIN && letters < LETTERS_MAX
    }
}

/// The pictures of a page, drawn over each other on white.
pub(super) struct Scan {
    width: usize,
    height: usize,
    /// From the page to its picture.
    place: Affine,
    dots: Vec<u8>,
}

impl Scan {
    /// An empty page, as fine as what covers it: letters that are drawn larger than they were scanned are read worse.
    pub(super) fn of(leaf: &Leaf<'_>, cover: Cover) -> Self {
        let around = leaf.intersected_crop_box();
        let (width, height) = leaf.base_dimensions();
        let (width, height) = (f64::from(width), f64::from(height));
        // Pages begin at their foot, pictures at their head.
        let upright = Affine::new([1.0, 0.0, 0.0, -1.0, -around.x0, around.y0 + height]);
        let (turned, width, height) = match leaf.rotation() {
            Rotation::None => (Affine::IDENTITY, width, height),
            Rotation::Horizontal => (Affine::new([0.0, 1.0, -1.0, 0.0, height, 0.0]), height, width),
            Rotation::Flipped => (Affine::new([-1.0, 0.0, 0.0, -1.0, width, height]), width, height),
            Rotation::FlippedHorizontal => (Affine::new([0.0, -1.0, 1.0, 0.0, 0.0, width]), height, width),
        };
        let scale = cover.fineness.clamp(SCALE_MIN, SCALE_MAX).min((DOTS_MAX / (width * height)).sqrt());
        let dots = |length: f64| ((length * scale) as usize).clamp(1, DOTS_MAX as usize);
        let (columns, rows) = (dots(width), dots(height));
        // A page may be a strip of any length.
        let rows = rows.min(DOTS_MAX as usize / columns).max(1);
        let place = Affine::scale(scale) * turned * upright;
        Self { width: columns, height: rows, place, dots: vec![255; columns * rows] }
    }

    /// The picture, in a form that every program reads (PGM).
    pub(super) fn picture(self) -> Vec<u8> {
        let mut bytes = format!("P5\n{} {}\n255\n", self.width, self.height).into_bytes();
        bytes.extend(self.dots);
        bytes
    }

    /// Draws shades, each as far as it covers what is below it.
    fn draw(&mut self, (width, height): (u32, u32), transform: Affine, shade: &dyn Fn(usize) -> (u8, u8)) {
        let place = self.place * transform;
        let back = place.inverse();
        let area = place.transform_rect_bbox(Rect::new(0.0, 0.0, f64::from(width), f64::from(height)));
        if !back.is_finite() || !area.is_finite() {
            return;
        }
        let span = |from: f64, to: f64, most: usize| {
            (from.max(0.0) as usize)..(to.ceil().max(0.0) as usize).min(most)
        };
        for y in span(area.y0, area.y1, self.height) {
            for x in span(area.x0, area.x1, self.width) {
                let below = u32::from(self.dots[y * self.width + x]);
                let mut sum = 0;
                for sample in 0..SAMPLES * SAMPLES {
                    let within = |n: usize| (n as f64 + 0.5) / SAMPLES as f64;
                    let at =
                        Point::new(x as f64 + within(sample % SAMPLES), y as f64 + within(sample / SAMPLES));
                    let at = back * at;
                    let inside =
                        at.x >= 0.0 && at.y >= 0.0 && at.x < f64::from(width) && at.y < f64::from(height);
                    sum += match inside {
                        true => {
                            let (shade, cover) = shade(at.y as usize * width as usize + at.x as usize);
                            (u32::from(shade) * u32::from(cover) + below * (255 - u32::from(cover))) / 255
                        }
                        false => below,
                    };
                }
                // A mean of bytes is one.
                self.dots[y * self.width + x] = (sum / (SAMPLES * SAMPLES) as u32) as u8;
            }
        }
    }
}

/// How light a color looks.
fn luma(red: u8, green: u8, blue: u8) -> u8 {
    // A mean of bytes is one.
    ((u32::from(red) * 299 + u32::from(green) * 587 + u32::from(blue) * 114) / 1_000) as u8
}

/// A transform for dots of which there may be fewer than were promised.
fn scaled(transform: Affine, (x, y): (f32, f32)) -> Affine {
    transform * Affine::scale_non_uniform(f64::from(x), f64::from(y))
}

impl<'a> Device<'a> for Scan {
    fn draw_image(&mut self, image: Image<'a, '_>, props: ImageDrawProps<'a>) {
        if u64::from(image.width()) * u64::from(image.height()) > IMAGE_DOTS_MAX {
            return;
        }
        match image {
            Image::Raster(raster) => raster.with_rgba(
                |data, alpha| {
                    // Masks of another size than their picture are rare, and what they hide is seldom words.
                    let size = (data.width(), data.height());
                    let alpha = alpha.filter(|alpha| (alpha.width, alpha.height) == size);
                    let cover = |at: usize| alpha.as_ref().map_or(255, |alpha: &LumaData| alpha.data[at]);
                    let transform = scaled(props.transform, data.scale_factors());
                    match &data {
                        ImageData::Luma(data) => self.draw(size, transform, &|at| (data.data[at], cover(at))),
                        ImageData::Rgb(data) => self.draw(size, transform, &|at| {
                            let dot = &data.data[at * 3..at * 3 + 3];
                            (luma(dot[0], dot[1], dot[2]), cover(at))
                        }),
                    }
                },
                None,
            ),
            Image::Stencil(stencil) => stencil.with_stencil(
                |data, paint| {
                    let shade = match paint {
                        Paint::Color(color) => {
                            let [red, green, blue, _] = color.to_rgba().to_rgba8();
                            luma(red, green, blue)
                        }
                        Paint::Pattern(_) => 0,
                    };
                    let transform = scaled(props.transform, data.scale_factors);
                    self.draw((data.width, data.height), transform, &|at| (shade, data.data[at]));
                },
                None,
            ),
        }
    }

    // What is no picture has been read as words, or is none.
    fn draw_glyph_run(&mut self, _: &GlyphRun<'_, 'a>, _: DrawProps<'a>, _: &DrawMode) {}

    fn draw_path(&mut self, _: &BezPath, _: DrawProps<'a>, _: &DrawMode) {}

    fn push_clip_path(&mut self, _: &ClipPath) {}

    fn push_transparency_group(&mut self, _: f32, _: Option<SoftMask<'a>>, _: BlendMode) {}

    fn pop_clip(&mut self) {}

    fn pop_transparency_group(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::super::tests::pdf;
    use crate::Extracted;
    use crate::formats::tests::extract_seeing;

    /// The shades at the corners of a picture, one row after the other, and which side is longer.
    fn corners(picture: &[u8]) -> String {
        let head: Vec<&str> = std::str::from_utf8(&picture[..15]).unwrap().lines().collect();
        let (width, height) = head[1].split_once(' ').unwrap();
        let (width, height): (usize, usize) = (width.parse().unwrap(), height.parse().unwrap());
        let dots = &picture[picture.len() - width * height..];
        let at = |x: usize, y: usize| {
            dots[(y * (height - 1) * 9 / 10 + height / 20) * width + x * (width - 1) * 9 / 10 + width / 20]
        };
        let form = if width > height { "wide" } else { "high" };
        format!("{form} {} {} {} {}", at(0, 0), at(1, 0), at(0, 1), at(1, 1))
    }

    /// A page of 200 by 100 with a picture of four shades on all of it, more words, and other words about page and picture.
    fn scanned(content: &str, page: &str, image: &str) -> Extracted {
        let content = format!("q 200 0 0 100 0 0 cm /I1 Do Q {content}");
        let image = format!(
            "<</Type/XObject/Subtype/Image/Width 2/Height 2{image}>>stream\n\0\u{40}\u{50}\u{60}\nendstream"
        );
        let bytes = String::from_utf8(pdf(&content, "", &[&image])).unwrap();
        let with = format!("/MediaBox[0 0 200 100]{page}/Resources<</XObject<</I1 5 0 R>>");
        let bytes = bytes.replace("/MediaBox[0 0 612 792]", "").replace("/Resources<<", &with);
        extract_seeing("a.pdf", bytes.as_bytes(), |picture| Ok(corners(picture)))
    }

    const GRAY: &str = "/ColorSpace/DeviceGray/BitsPerComponent 8/Length 4";

    #[test]
    fn a_page_that_is_a_picture_is_looked_at_as_people_see_it() {
        for (turned, seen) in [
            ("", "wide 0 64 80 96"),
            ("/Rotate 90", "high 80 0 96 64"),
            ("/Rotate 180", "wide 96 80 64 0"),
            ("/Rotate 270", "high 64 96 0 80"),
            ("/CropBox[0 50 200 100]", "wide 0 64 0 64"),
        ] {
            let page = scanned("", turned, GRAY);
            assert_eq!((page.text.as_str(), page.reason.as_deref()), (seen, None), "{turned}");
        }
    }

    #[test]
    fn masks_are_drawn_in_their_color() {
        let mask = "/ImageMask true/BitsPerComponent 1/Length 2";
        // The first row of the mask is painted, the second one half.
        assert_eq!(scanned("", "", mask).text, "wide 0 0 0 255");
    }

    #[test]
    fn pages_with_words_of_their_own_are_not_looked_at() {
        let line = |row: u8| {
            let words = ["word"; 10].join(" ");
            format!("BT /F1 4 Tf 1 {} Td ({words}) Tj ET ", 90 - 10 * row)
        };
        let words: String = (0..6).map(line).collect();
        assert!(!scanned(&words, "", GRAY).text.contains("wide"));
        let stamp = scanned("BT /F1 4 Tf 1 50 Td (No. 7) Tj ET", "", GRAY);
        assert_eq!(stamp.text, "No. 7\nwide 0 64 80 96");
    }

    #[test]
    fn a_page_that_cannot_be_read_is_named() {
        let image = format!("<</Type/XObject/Subtype/Image/Width 2/Height 2{GRAY}>>stream\nabcd\nendstream");
        let bytes = String::from_utf8(pdf("q 612 0 0 792 0 0 cm /I1 Do Q", "", &[&image])).unwrap();
        let bytes = bytes.replace("/Resources<<", "/Resources<</XObject<</I1 5 0 R>>");
        let page = extract_seeing("a.pdf", bytes.as_bytes(), |_| Err("too dark".to_owned()));
        assert_eq!(page.reason.as_deref(), Some("page 1: too dark"));
    }
}
