//! What flows from a repository through the pipeline to the outputs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ids::Digest;

/// One indexable item with its text and fields; times are milliseconds since 1970 UTC, sizes bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Where a person finds it.
    pub uri: String,
    /// Title; empty when there is none.
    pub title: String,
    /// Path or other place as shown to people; the same whatever job names the document, so that equal owners agree.
    pub path: String,
    /// Plain text; none when the pipeline made none.
    pub body: Option<String>,
    /// Media type, such as `text/plain`.
    pub media_type: Option<String>,
    /// ISO 639-1 code of the language of `body`.
    pub language: Option<String>,
    /// Size of the original.
    pub size: Option<u64>,
    /// Last change of the original's content.
    pub modified: Option<i64>,
    /// When the original was made.
    pub created: Option<i64>,
    /// Author or owner, as the source names them.
    pub author: Option<String>,
    /// Everything else, by name; values in order.
    pub fields: BTreeMap<String, Vec<String>>,
}

impl Record {
    /// Digest of all that an output would hold of it; `content` is the digest of the bytes behind `body`, which stands
    /// for them. `without_times` leaves the times out (a job that compares by content).
    pub fn digest(&self, content: Digest, settings: Digest, without_times: bool) -> Digest {
        let mut hash = blake3::Hasher::new();
        let mut text = |value: &str| {
            hash.update(&(value.len() as u64).to_le_bytes());
            hash.update(value.as_bytes());
        };
        text(&self.uri);
        text(&self.title);
        text(&self.path);
        for part in [&self.media_type, &self.language, &self.author] {
            text(part.as_deref().unwrap_or("\u{0}"));
        }
        for (name, values) in &self.fields {
            text(name);
            values.iter().for_each(|value| text(value));
        }
        let times = if without_times { [None, None] } else { [self.modified, self.created] };
        for number in
            [Some(content.0), Some(settings.0), self.size.map(|size| size as i64), times[0], times[1]]
        {
            hash.update(&[u8::from(number.is_some())]);
            hash.update(&number.unwrap_or(0).to_le_bytes());
        }
        // Without a digest of the source's bytes the text speaks for itself.
        if !content.is_some() {
            hash.update(self.body.as_deref().unwrap_or_default().as_bytes());
        }
        let mut first = [0u8; 8];
        first.copy_from_slice(&hash.finalize().as_bytes()[..8]);
        Digest(i64::from_le_bytes(first)).or_one()
    }

    /// Bytes of text that it carries, for batches that are bounded by size.
    pub fn bytes(&self) -> usize {
        self.body.as_deref().map_or(0, str::len)
            + self.uri.len()
            + self.fields.values().flatten().map(String::len).sum::<usize>()
            + 256
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_tells_what_an_output_would_notice() {
        let record = Record { uri: "file:///a".into(), modified: Some(5), ..Record::default() };
        let digest = |record: &Record| record.digest(Digest(7), Digest(1), false);
        assert_eq!(digest(&record), digest(&record.clone()));
        assert_ne!(digest(&record), digest(&Record { modified: Some(6), ..record.clone() }));
        assert_ne!(digest(&record), digest(&Record { title: "t".into(), ..record.clone() }));
        assert_ne!(digest(&record), record.digest(Digest(8), Digest(1), false));
        assert_ne!(digest(&record), record.digest(Digest(7), Digest(2), false));
        let touched = Record { modified: Some(6), ..record.clone() };
        assert_eq!(record.digest(Digest(7), Digest(1), true), touched.digest(Digest(7), Digest(1), true));
    }

    #[test]
    fn neighbouring_texts_do_not_run_into_each_other() {
        let one = Record { title: "ab".into(), path: "c".into(), ..Record::default() };
        let two = Record { title: "a".into(), path: "bc".into(), ..Record::default() };
        assert_ne!(one.digest(Digest(1), Digest(1), false), two.digest(Digest(1), Digest(1), false));
    }
}
