//! Words in pictures, where somebody looks at them.

use ingather_model::limits;

use super::{Outcome, TextSink};
use crate::pictures::{self, Seen};

/// Dots that a letter needs; whatever is smaller is an icon.
const HEIGHT_MIN: u32 = 12;
const WIDTH_MIN: u32 = 24;

impl TextSink<'_> {
    /// Whether somebody looks at pictures.
    pub(crate) fn is_seeing(&self) -> bool {
        self.budget.eyes.is_some()
    }

    /// The words in a picture of this type, with as many dots as its fields say; nothing where nobody looks at such ones.
    pub(crate) fn words_in_picture(&self, picture: &[u8]) -> Option<Seen> {
        let least = |name: &str, least: u32| {
            let told = self.out.fields.get(name).and_then(|values| values.first()?.parse::<u32>().ok());
            told.is_none_or(|dots| dots >= least)
        };
        let is_readable = pictures::MEDIA.contains(&self.media_type());
        // Office programs draw the first page small under this name; its words are in the text.
        let is_repeated = self.depth > 0 && self.name().starts_with("thumbnail.");
        let is_large = self.depth == 0 || (least("width", WIDTH_MIN) && least("height", HEIGHT_MIN));
        (is_readable && is_large && !is_repeated).then(|| self.look_at(picture)).flatten()
    }

    /// The same for a picture that is made here.
    pub(crate) fn look_at(&self, picture: &[u8]) -> Option<Seen> {
        let eyes = self.budget.eyes.as_ref()?;
        if picture.len() as u64 > limits::PICTURE_BYTES_MAX {
            return Some(Err("the picture is too large".to_owned()));
        }
        Some(eyes.look(picture))
    }

    /// Writes what was seen in a picture.
    pub(crate) fn seen(&mut self, seen: Seen) -> Outcome {
        let words = seen.map_err(crate::page::ParseError)?;
        if words.trim().is_empty() {
            return Err("there are no words in the picture".into());
        }
        self.paragraph();
        self.text(words.trim());
        self.line_break();
        Ok(())
    }
}
