//! Pictures and sound: what they say about themselves, and the text of drawings.

mod exif;
mod metafile;
mod tags;

use std::io::Read;

use crate::Input;
use crate::page::{Outcome, Page};

/// Bytes of a picture or sound that are looked at; what it says about itself is near its ends.
const HEAD_BYTES: u64 = 4 << 20;

/// What a picture says about itself; the text of a metafile.
pub(crate) fn image(input: Input, page: &mut Page<'_>) -> Outcome {
    if matches!(page.media_type(), "image/emf" | "image/wmf") {
        let bytes = input.into_bytes()?;
        metafile::read(&bytes, page);
        return Ok(());
    }
    let mut bytes = Vec::new();
    input.take(HEAD_BYTES).read_to_end(&mut bytes)?;
    exif::read(&bytes, page);
    Err("a picture has no text".into())
}

/// What a sound says about itself: its title, artist and album are its text.
pub(crate) fn audio(mut input: Input, page: &mut Page<'_>) -> Outcome {
    let tail_at = input.len().saturating_sub(128);
    let tail = input.range(tail_at, usize::try_from(input.len() - tail_at).unwrap_or(0))?;
    let bytes = input.head(HEAD_BYTES as usize)?;
    tags::read(&bytes, &tail, page);
    Ok(())
}
