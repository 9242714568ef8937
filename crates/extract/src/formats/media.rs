//! Pictures and sound: what they say about themselves, and the text of drawings.

mod exif;
mod metafile;
mod tags;

use std::io::Read;

use ingather_model::limits;

use crate::Input;
use crate::page::{Outcome, TextSink};

/// Bytes of a picture or sound that are looked at; what it says about itself is near its ends.
const HEAD_BYTES: u64 = 4 << 20;

/// What a picture says about itself; the text of a metafile.
pub(crate) fn image(input: Input, sink: &mut TextSink<'_>) -> Outcome {
    if matches!(sink.media_type(), "image/emf" | "image/wmf") {
        let bytes = input.into_bytes()?;
        metafile::read(&bytes, sink);
        return Ok(());
    }
    let mut bytes = Vec::new();
    let most = if sink.is_seeing() { limits::PICTURE_BYTES_MAX + 1 } else { HEAD_BYTES };
    input.take(most).read_to_end(&mut bytes)?;
    exif::read(&bytes[..bytes.len().min(HEAD_BYTES as usize)], sink);
    match sink.words_in_picture(&bytes) {
        Some(seen) => sink.seen(seen),
        None => Err("a picture has no text".into()),
    }
}

/// What a sound says about itself: its title, artist and album are its text.
pub(crate) fn audio(mut input: Input, sink: &mut TextSink<'_>) -> Outcome {
    let tail_at = input.len().saturating_sub(128);
    let tail = input.range(tail_at, usize::try_from(input.len() - tail_at).unwrap_or(0))?;
    let bytes = input.head(HEAD_BYTES as usize)?;
    tags::read(&bytes, &tail, sink);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::formats::tests::{extract, extract_seeing, tar};

    /// The head of a picture with so many dots.
    fn picture(width: u16, height: u16) -> Vec<u8> {
        let (width, height) = (width.to_le_bytes(), height.to_le_bytes());
        [b"GIF89a", width.as_slice(), &height, &[0; 20]].concat()
    }

    #[test]
    fn words_in_a_picture_are_its_text_where_somebody_looks() {
        let words = |_: &[u8]| Ok("seen words\n".to_owned());
        assert_eq!(extract_seeing("a.gif", &picture(100, 100), words).text, "seen words");
        assert_eq!(extract("a.gif", &picture(100, 100)).reason.as_deref(), Some("a picture has no text"));
        let reason = |seen: Result<&'static str, &'static str>| {
            let look = move |_: &[u8]| seen.map(str::to_owned).map_err(str::to_owned);
            extract_seeing("a.gif", &picture(100, 100), look).reason.unwrap()
        };
        assert_eq!(reason(Ok(" ")), "there are no words in the picture");
        assert_eq!(reason(Err("no light")), "no light");
    }

    #[test]
    fn icons_and_small_first_pages_in_other_documents_are_not_looked_at() {
        let archive = tar(&[
            ("a.gif", b'0', &picture(16, 16)),
            ("b.gif", b'0', &picture(60, 20)),
            ("thumbnail.gif", b'0', &picture(60, 20)),
        ]);
        let found = extract_seeing("a.tar", &archive, |_| Ok("words".to_owned()));
        let texts: Vec<&str> = found.parts.iter().map(|part| part.text.as_str()).collect();
        assert_eq!(texts, ["", "words", ""]);
    }
}
