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

use super::pipeline::{Arrival, Passed};
use crate::error::Result;
use crate::run::Run;

/// Everything but the bodies, which stand apart in this order: for each arrival the document's, then those of what is in it.
#[derive(Serialize, Deserialize)]
struct Head {
    #[serde(flatten)]
    first: Kept,
    content: i64,
    /// What arrives at other outputs, where that is not the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    others: Vec<Kept>,
}

/// What arrives at some outputs, without bodies.
#[derive(Serialize, Deserialize)]
struct Kept {
    record: Record,
    parts: Vec<(String, std::result::Result<Record, Reason>)>,
    incomplete: bool,
    parts_only: bool,
    /// Why nothing of it is wanted there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    declined: Option<Reason>,
    /// As in [`Arrival::left`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    left: Vec<String>,
}

impl Kept {
    /// What arrived, with its bodies apart.
    fn of(arrival: &Arrival, bodies: &mut Vec<Option<String>>) -> Kept {
        let Arrival { verdict, record, parts, left, .. } = arrival;
        bodies.push(record.body.clone());
        let mut list = Vec::with_capacity(parts.list.len());
        for part in &parts.list {
            let mut record = part.record.clone();
            bodies.push(record.as_mut().ok().and_then(|record| record.body.take()));
            list.push((part.name.clone(), record));
        }
        Kept {
            record: Record { body: None, ..record.clone() },
            parts: list,
            incomplete: parts.incomplete,
            parts_only: *verdict == Verdict::PartsOnly,
            declined: if let Verdict::Decline(reason) = verdict { Some(reason.clone()) } else { None },
            left: left.clone(),
        }
    }

    fn arrival(self, bodies: &mut impl Iterator<Item = Option<String>>) -> Option<Arrival> {
        let record = Record { body: bodies.next()?, ..self.record };
        let mut parts = Parts { list: Vec::with_capacity(self.parts.len()), incomplete: self.incomplete };
        for (name, record) in self.parts {
            let body = bodies.next()?;
            parts.list.push(Component { name, record: record.map(|record| Record { body, ..record }) });
        }
        let verdict = match self.declined {
            Some(reason) => Verdict::Decline(reason),
            None if self.parts_only => Verdict::PartsOnly,
            None => Verdict::Pass,
        };
        Some(Arrival { verdict, record, parts, left: self.left, is_refused: false, is_undecided: false })
    }
}

/// What is kept of a document that was read; none when the job keeps nothing, when there is nothing to keep, and when it
/// is larger than is kept.
pub(super) fn of(run: &Run, version: Digest, passed: &Passed) -> Option<Extract> {
    if run.definition.keep != Keep::Extracted {
        return None;
    }
    packed(&run.author.hasher, version, run.stages, passed)
}

fn packed(hasher: &Hasher, version: Digest, stages: Digest, passed: &Passed) -> Option<Extract> {
    let mut bodies = Vec::new();
    let mut arrivals = passed.arrivals.iter().map(|arrival| Kept::of(arrival, &mut bodies));
    let first = arrivals.next()?;
    let others = arrivals.collect();
    let head = pack(&Head { first, content: passed.content.0, others })?;
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
pub(super) fn kept(run: &Run, document: i64, version: Digest) -> Result<Option<Passed>> {
    if run.definition.keep != Keep::Extracted {
        return Ok(None);
    }
    let found = run.reader.read(|sql| extracts::get(sql, document))?;
    let found = found.filter(|extract| extract.version.same(version) && extract.stages.same(run.stages));
    let passed = found.as_ref().and_then(unpacked);
    Ok(passed.filter(|passed| passed.arrivals.len() == run.pipeline.arrivals()))
}

fn unpacked(extract: &Extract) -> Option<Passed> {
    let head: Head = unpack(&extract.head)?;
    let mut bodies = match &extract.text {
        Some((_, text)) => unpack::<Vec<Option<String>>>(text)?,
        None => {
            let kept = head.others.iter().chain([&head.first]);
            vec![None; kept.map(|kept| kept.parts.len() + 1).sum()]
        }
    }
    .into_iter();
    let kept = std::iter::once(head.first).chain(head.others);
    let arrivals: Option<Vec<Arrival>> = kept.map(|kept| kept.arrival(&mut bodies)).collect();
    Some(Passed { arrivals: arrivals?, content: Digest(head.content), bytes: 0 })
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

    fn arrival(verdict: Verdict, record: Record, parts: Parts) -> Arrival {
        Arrival { verdict, record, parts, left: Vec::new(), is_refused: false, is_undecided: false }
    }

    fn passed(arrivals: Vec<Arrival>) -> Passed {
        Passed { arrivals, content: Digest(7), bytes: 5 }
    }

    fn pack_and_unpack(made: &Passed) -> Passed {
        let hasher = Hasher::new([1; 16]);
        unpacked(&packed(&hasher, Digest(2), Digest(3), made).unwrap()).unwrap()
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
        let parts = Parts { list, incomplete: true };
        let made = passed(vec![arrival(Verdict::PartsOnly, record.clone(), parts.clone())]);
        let again = pack_and_unpack(&made);
        assert_eq!((again.arrivals, again.content), (made.arrivals, Digest(7)));
        // What arrives at other outputs is kept beside it, and why nothing does.
        let other = Record { body: Some("other words".into()), ..record.clone() };
        let made = passed(vec![
            arrival(
                Verdict::Decline(Reason::new("condition", "it is small")),
                record.clone(),
                Parts::default(),
            ),
            Arrival { left: vec!["a.txt".to_owned()], ..arrival(Verdict::Pass, other, parts) },
            arrival(Verdict::Pass, record, Parts::default()),
        ]);
        assert_eq!(pack_and_unpack(&made).arrivals, made.arrivals);
    }

    #[test]
    fn what_was_kept_before_pipelines_were_trees_is_read() {
        let head = r#"{"record":RECORD,"parts":[],"incomplete":false,"parts_only":false,"content":7}"#;
        let record = Record { title: "t".into(), ..Record::default() };
        let head = head.replace("RECORD", &serde_json::to_string(&record).unwrap());
        let extract = Extract {
            version: Digest(2),
            stages: Digest(3),
            head: deflated(head.as_bytes()).unwrap(),
            text: None,
        };
        let made = passed(vec![arrival(Verdict::Pass, record, Parts::default())]);
        assert_eq!(unpacked(&extract).unwrap().arrivals, made.arrivals);
        let packed = packed(&Hasher::new([1; 16]), Digest(2), Digest(3), &made).unwrap();
        assert_eq!(packed.head, extract.head, "what is kept of a list is written as before");
    }

    #[test]
    fn what_has_no_text_keeps_no_text() {
        let record = Record { title: "t".into(), ..Record::default() };
        let made = passed(vec![arrival(Verdict::Pass, record, Parts::default())]);
        let hasher = Hasher::new([1; 16]);
        assert_eq!(packed(&hasher, Digest(2), Digest(3), &made).unwrap().text, None);
        assert_eq!(pack_and_unpack(&made).arrivals, made.arrivals);
    }

    #[test]
    fn what_is_damaged_is_not_used() {
        let record = Record { body: Some("words".into()), ..Record::default() };
        let made = passed(vec![arrival(Verdict::Pass, record, Parts::default())]);
        let extract = packed(&Hasher::new([1; 16]), Digest(2), Digest(3), &made).unwrap();
        let (digest, mut text) = extract.text.clone().unwrap();
        text.truncate(text.len() / 2);
        assert!(unpacked(&Extract { text: Some((digest, text)), ..extract.clone() }).is_none());
        assert!(unpacked(&Extract { head: vec![1, 2, 3], ..extract }).is_none());
    }
}
