//! What flows from a repository through the pipeline to the outputs.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::fault::Reason;
use crate::ids::Digest;

/// Field in which a stage says why it read less than all of a document.
pub const EXTRACTION: &str = "extraction";

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
    /// Charset that the source names for the content where that is not UTF-8, for the stage that reads it; no output holds it.
    #[serde(skip)]
    pub charset: Option<String>,
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

    /// The values under a name, those that a record has a place of its own for among them; sizes and times in digits.
    pub fn values(&self, name: &str) -> Vec<Cow<'_, str>> {
        let own: Option<Cow<'_, str>> = match name {
            "title" => Some(self.title.as_str().into()).filter(|title: &Cow<'_, str>| !title.is_empty()),
            "uri" => Some(self.uri.as_str().into()),
            "path" => Some(self.path.as_str().into()),
            "body" => self.body.as_deref().map(Cow::from),
            "media_type" => self.media_type.as_deref().map(Cow::from),
            "language" => self.language.as_deref().map(Cow::from),
            "author" => self.author.as_deref().map(Cow::from),
            "size" => self.size.map(|size| size.to_string().into()),
            "modified" => self.modified.map(|time| time.to_string().into()),
            "created" => self.created.map(|time| time.to_string().into()),
            _ => {
                let values = self.fields.get(name).into_iter().flatten();
                return values.map(|value| value.as_str().into()).collect();
            }
        };
        own.into_iter().collect()
    }

    /// Bytes of text that it carries, for batches that are bounded by size.
    pub fn bytes(&self) -> usize {
        self.body.as_deref().map_or(0, str::len)
            + self.uri.len()
            + self.fields.values().flatten().map(String::len).sum::<usize>()
            + 256
    }
}

/// Something inside a document that becomes an entry of its own: a member, an attachment, a message, a passage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Component {
    /// Its name inside the document, such as `inner/mail.eml!/report.pdf`: the same at every visit.
    pub name: String,
    /// What it is, or why it could not be read this time: then outputs keep what they hold of it. Address (that of the
    /// document) and path are the pipeline's to fill in.
    pub record: Result<Record, Reason>,
}

/// The components that were found in a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// They, in order.
    pub list: Vec<Component>,
    /// Not all could be found: outputs keep what they hold of those that are not in the list.
    pub incomplete: bool,
}

/// What a document says of other documents, for repositories that find documents by following links.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Links {
    /// The links, in the order of the document, at most [`limits::LINKS_MAX`](crate::limits::LINKS_MAX).
    pub list: Vec<Link>,
    /// Not all that the document has are in `list`: it was cut off, or has more than are kept.
    pub incomplete: bool,
    /// The address that relative ones are relative to, where the document names one.
    pub base: Option<String>,
    /// The address that the document says it has.
    pub canonical: Option<String>,
    /// What the document tells robots, each by the name of the robot that it is for (`robots`: all of them), such as `("robots", "noindex")`.
    pub robots: Vec<(String, String)>,
    /// After which time it says that it will have changed, milliseconds.
    pub changes_in_ms: Option<i64>,
    /// When each of the things in it says that it will have changed, such as an entry of a feed when it is not valid any more; milliseconds
    /// since 1970 UTC, in any order. It is looked at again at the first of these times that is to come (S1.18).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes_at: Vec<i64>,
}

/// A link as a document has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// Where it leads, as it is written: perhaps relative.
    pub address: String,
    /// How the documents are related, as HTML's `rel` says it: words with spaces between; empty where nothing is said. `entry`: the page that
    /// an entry of a feed is about.
    pub rel: String,
    /// What the document says of the other one, by name, such as the title and the author of an entry.
    pub fields: BTreeMap<String, Vec<String>>,
}

/// Field of an entry of a feed with the address of the page that it is about. Nothing else inside a document has it: whoever opens such a hit
/// goes there.
pub const ENTRY_LINK: &str = "link";

/// Between the name of a container and the name of what is in it.
pub const INSIDE: &str = "!/";

/// Address of a component: that of its document with the component's name as fragment (RFC 3986 3.5).
pub fn component_uri(document: &str, component: &str) -> String {
    let mut uri = String::with_capacity(document.len() + 1 + component.len());
    uri.push_str(document);
    uri.push('#');
    for byte in component.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' => uri.push(char::from(byte)),
            _ if b"-._~!$&'()*+,;=:@/?".contains(&byte) => uri.push(char::from(byte)),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

/// The address of the document and the component's name, of an address that [`component_uri`] made.
pub fn component_of(uri: &str) -> Option<(&str, String)> {
    let (document, written) = uri.split_once('#')?;
    let mut bytes = Vec::with_capacity(written.len());
    let mut rest = written.as_bytes();
    while let [first, after @ ..] = rest {
        let number = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        match (first, number.and_then(|two| u8::from_str_radix(two, 16).ok())) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    Some((document, String::from_utf8(bytes).ok()?))
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

    #[test]
    fn a_component_is_a_fragment_of_its_document() {
        let uri = component_uri("file:///a/outer.zip", "in ner/mail.eml!/ä#b.pdf");
        assert_eq!(uri, "file:///a/outer.zip#in%20ner/mail.eml!/%C3%A4%23b.pdf");
        let told = ("file:///a/outer.zip", "in ner/mail.eml!/ä#b.pdf".to_owned());
        assert_eq!(component_of(&uri), Some(told));
        assert_eq!(component_of("file:///a"), None);
        assert_eq!(component_of("a#50%"), Some(("a", "50%".to_owned())));
    }
}
