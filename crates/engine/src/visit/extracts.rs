//! What the pipeline made of a document, kept for outputs that are filled anew (design 4.19).

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use ingather_contract::transform::Verdict;
use ingather_model::document::{Component, Parts, Record};
use ingather_model::fault::Reason;
use ingather_model::ids::Digest;
use ingather_model::job::Keep;
use ingather_model::key::Hasher;
use ingather_model::limits;
use ingather_store::Durability;
use ingather_store::extracts::{self, Extract};
use serde::{Deserialize, Serialize};

use super::pipeline::Passed;
use crate::error::Result;
use crate::run::Run;

/// Everything but the bodies, which stand apart in this order: the document's, then those of what is in it.
#[derive(Serialize, Deserialize)]
struct Head {
    record: Record,
    parts: Vec<(String, std::result::Result<Record, Reason>)>,
    incomplete: bool,
    parts_only: bool,
    content: i64,
}

/// What is kept of a document that was read; none when the job keeps nothing, when there is nothing to keep, and when it
/// is larger than is kept.
pub(super) fn of(run: &Run, version: Digest, record: &Record, passed: &Passed) -> Option<Extract> {
    if run.definition.keep != Keep::Extracted || matches!(passed.verdict, Verdict::Decline(_)) {
        return None;
    }
    packed(&run.author.hasher, version, run.stages, record, passed)
}

fn packed(
    hasher: &Hasher,
    version: Digest,
    stages: Digest,
    record: &Record,
    passed: &Passed,
) -> Option<Extract> {
    let mut bodies = vec![record.body.clone()];
    let mut head = Head {
        record: Record { body: None, ..record.clone() },
        parts: Vec::with_capacity(passed.parts.list.len()),
        incomplete: passed.parts.incomplete,
        parts_only: passed.verdict == Verdict::PartsOnly,
        content: passed.content.0,
    };
    for part in &passed.parts.list {
        let mut record = part.record.clone();
        bodies.push(record.as_mut().ok().and_then(|record| record.body.take()));
        head.parts.push((part.name.clone(), record));
    }
    let head = pack(&head)?;
    let text = match bodies.iter().any(Option::is_some) {
        true => {
            let written = serde_json::to_vec(&bodies).ok()?;
            Some((hasher.hash(&written), deflated(&written)?))
        }
        false => None,
    };
    let bytes = head.len() + text.as_ref().map_or(0, |(_, text)| text.len());
    (bytes <= limits::EXTRACT_BYTES_MAX).then_some(Extract { version, stages, head, text })
}

/// The document as it was read when it was of this version; none when nothing usable is kept: then it is read.
pub(super) fn kept(run: &Run, document: i64, version: Digest) -> Result<Option<(Record, Passed)>> {
    if run.definition.keep != Keep::Extracted {
        return Ok(None);
    }
    let found = run.reader.read(|sql| extracts::get(sql, document))?;
    let found = found.filter(|extract| extract.version.same(version) && extract.stages.same(run.stages));
    Ok(found.as_ref().and_then(unpacked))
}

fn unpacked(extract: &Extract) -> Option<(Record, Passed)> {
    let head: Head = unpack(&extract.head)?;
    let mut bodies = match &extract.text {
        Some((_, text)) => unpack::<Vec<Option<String>>>(text)?,
        None => vec![None; head.parts.len() + 1],
    }
    .into_iter();
    let record = Record { body: bodies.next()?, ..head.record };
    let mut parts = Parts { list: Vec::with_capacity(head.parts.len()), incomplete: head.incomplete };
    for ((name, record), body) in head.parts.into_iter().zip(bodies) {
        parts.list.push(Component { name, record: record.map(|record| Record { body, ..record }) });
    }
    let verdict = if head.parts_only { Verdict::PartsOnly } else { Verdict::Pass };
    Some((record, Passed { verdict, parts, content: Digest(head.content), bytes: 0 }))
}

/// Forgets what is kept of a job that keeps nothing any more.
pub(crate) fn forget_unwanted(run: &Run) -> Result<()> {
    let Some(store) = run.store.as_ref().filter(|_| run.definition.keep == Keep::Nothing) else {
        return Ok(());
    };
    loop {
        let most = limits::EXTRACTS_FORGOTTEN_AT_ONCE;
        let ids = run.reader.read(|sql| extracts::of_job(sql, run.job.id, 0, most))?;
        if ids.is_empty() || run.call.cancel.cancelled() {
            return Ok(());
        }
        store.write(Durability::Relaxed, |sql| {
            run.fence(sql)?;
            extracts::forget(sql, &ids)
        })?;
    }
}

fn pack(value: &impl Serialize) -> Option<Vec<u8>> {
    deflated(&serde_json::to_vec(value).ok()?)
}

fn deflated(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut packed = DeflateEncoder::new(Vec::with_capacity(bytes.len() / 3), Compression::fast());
    packed.write_all(bytes).ok()?;
    packed.finish().ok()
}

fn unpack<T: for<'de> Deserialize<'de>>(packed: &[u8]) -> Option<T> {
    // Written by this program within its bounds; a damaged one must not fill the memory.
    let most = (limits::BODY_BYTES_MAX + limits::PARTS_TEXT_BYTES_MAX) as u64 * 4;
    serde_json::from_reader(std::io::BufReader::new(DeflateDecoder::new(packed).take(most))).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(verdict: Verdict, parts: Parts) -> Passed {
        Passed { verdict, parts, content: Digest(7), bytes: 5 }
    }

    fn pack_and_unpack(record: &Record, made: &Passed) -> (Record, Passed) {
        let hasher = Hasher::new([1; 16]);
        unpacked(&packed(&hasher, Digest(2), Digest(3), record, made).unwrap()).unwrap()
    }

    #[test]
    fn what_is_kept_is_what_was_made() {
        let record = Record { uri: "x:1".into(), body: Some("own words".into()), ..Record::default() };
        let inner = Record { title: "t".into(), body: Some("inner words".into()), ..Record::default() };
        let list = vec![
            Component { name: "a".into(), record: Ok(inner) },
            Component { name: "b".into(), record: Err(Reason::new("closed", "it is encrypted")) },
            Component { name: "c".into(), record: Ok(Record::default()) },
        ];
        let made = passed(Verdict::PartsOnly, Parts { list, incomplete: true });
        let (again, found) = pack_and_unpack(&record, &made);
        assert_eq!((again, found.parts, found.verdict), (record, made.parts, Verdict::PartsOnly));
        assert_eq!(found.content, Digest(7));
    }

    #[test]
    fn what_has_no_text_keeps_no_text() {
        let record = Record { title: "t".into(), ..Record::default() };
        let made = passed(Verdict::Pass, Parts::default());
        let hasher = Hasher::new([1; 16]);
        assert_eq!(packed(&hasher, Digest(2), Digest(3), &record, &made).unwrap().text, None);
        assert_eq!(pack_and_unpack(&record, &made).0, record);
    }

    #[test]
    fn what_is_damaged_is_not_used() {
        let record = Record { body: Some("words".into()), ..Record::default() };
        let made = passed(Verdict::Pass, Parts::default());
        let extract = packed(&Hasher::new([1; 16]), Digest(2), Digest(3), &record, &made).unwrap();
        let (digest, mut text) = extract.text.clone().unwrap();
        text.truncate(text.len() / 2);
        assert!(unpacked(&Extract { text: Some((digest, text)), ..extract.clone() }).is_none());
        assert!(unpacked(&Extract { head: vec![1, 2, 3], ..extract }).is_none());
    }
}
