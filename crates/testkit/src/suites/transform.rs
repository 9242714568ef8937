//! What a transform promises (`crates/contract/src/transform.rs`).

use std::borrow::Cow;
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};

use ingather_contract::transform::{Audience, Item, Transform, TransformKind, Verdict};
use ingather_model::access::Acl;
use ingather_model::document::{Parts, Record};
use ingather_model::fault::Fault;
use ingather_model::limits;

use super::secrets::secrets;
use super::{Breaches, call, must_be_none};

/// Checks a transform with `samples` of what it is for, beside what nobody wants to read.
///
/// # Panics
/// When a promise is broken, with one line for each.
pub fn transform(kind: &TransformKind, settings: &serde_json::Value, samples: &[(&str, &[u8])]) {
    must_be_none(kind.name, &transform_breaches(kind, settings, samples));
}

/// Gives `bytes` in pieces of `most`, then an error if there is one.
struct Pieces<'b> {
    bytes: &'b [u8],
    most: usize,
    fails: bool,
}

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.bytes.is_empty() && self.fails {
            return Err(std::io::Error::other("the disk is gone"));
        }
        let count = self.most.min(buffer.len()).min(self.bytes.len());
        let (now, later) = self.bytes.split_at(count);
        buffer[..count].copy_from_slice(now);
        self.bytes = later;
        Ok(count)
    }
}

/// More content than any memory should hold; counts what was taken of it.
struct Endless {
    left: u64,
}

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        buffer[..count].fill(b'x');
        self.left -= count as u64;
        Ok(count)
    }
}

type Applied = (Result<Verdict, Fault>, Record, Parts);

fn apply(transform: &dyn Transform, name: &str, content: &mut dyn Read) -> Option<Applied> {
    let mut record = Record {
        uri: format!("suite:///{name}"),
        title: name.to_owned(),
        path: name.to_owned(),
        ..Record::default()
    };
    let mut parts = Parts::default();
    let mut item =
        Item { record: &mut record, content, links: None, parts: &mut parts, audience: &Audience::default };
    let applied = catch_unwind(AssertUnwindSafe(|| transform.apply(&call(), &mut item)));
    applied.ok().map(|verdict| (verdict, record, parts))
}

/// As [`transform`], for tests of the suite itself.
pub fn transform_breaches(
    kind: &TransformKind,
    settings: &serde_json::Value,
    samples: &[(&str, &[u8])],
) -> Vec<String> {
    let mut found = Breaches::default();
    let faults = |settings: &serde_json::Value| (kind.open)(settings).err().into_iter().collect();
    secrets(&(kind.schema)(), settings, &faults, &mut found);
    let transform = match (kind.open)(settings) {
        Ok(transform) => transform,
        Err(fault) => {
            found.0.push(format!("it does not open: {fault}"));
            return found.0;
        }
    };
    found.unless(!kind.version.is_empty(), || "it has no version".to_owned());
    access(transform.as_ref(), &mut found);
    let noise: Vec<u8> = (0..4_096u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let long_line = vec![b'a'; 300_000];
    let nasty: [(&str, &[u8]); 7] = [
        ("empty.txt", b""),
        ("zeros.txt", &[0; 1_000]),
        ("noise.txt", &noise),
        ("mark.txt", b"\xef\xbb\xbfabc"),
        ("invalid.txt", b"abc\xff\xfe\xf0\x28\x8c\xbc"),
        ("torn.txt", b"abc\xc3"),
        ("line.txt", &long_line),
    ];
    for (name, bytes) in samples.iter().chain(&nasty) {
        one(transform.as_ref(), name, bytes, &mut found);
    }
    let sizes = 3 * limits::BODY_BYTES_MAX as u64;
    match apply(transform.as_ref(), "endless.txt", &mut Endless { left: sizes }) {
        None => found.0.push("it panics on long content".to_owned()),
        Some((_, record, parts)) => {
            let inside = parts.list.iter().filter_map(|part| part.record.as_ref().ok()).map(Record::bytes);
            let bytes = record.bytes() + inside.sum::<usize>();
            // Passages stand beside the text that they were cut from, and may overlap.
            let most = limits::BODY_BYTES_MAX * if parts.list.is_empty() { 1 } else { 3 } + (64 << 10);
            found.unless(bytes <= most, || {
                format!("{bytes} bytes in records came from {sizes} bytes of content")
            });
        }
    }
    let several = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    samples
                        .iter()
                        .map(|(name, bytes)| apply(transform.as_ref(), name, &mut &**bytes))
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or_default()).collect::<Vec<_>>()
    });
    found.unless(several.windows(2).all(|pair| pair[0] == pair[1]), || {
        "several threads get different answers".to_owned()
    });
    found.0
}

/// What it says of access, of acls that admit nobody, everybody and somebody.
fn access(transform: &dyn Transform, found: &mut Breaches) {
    let some = Acl::Flat { allow: vec!["anna".to_owned()], deny: vec!["bert".to_owned()] };
    for acl in [Acl::Ordered(Vec::new()), Acl::open(), some] {
        let given = transform.access(Cow::Borrowed(&acl)).into_owned();
        found.unless(given == transform.access(Cow::Borrowed(&acl)).into_owned(), || {
            format!("access of {} is another one the second time", acl.text())
        });
        found.unless(given == acl || transform.rules_access(), || {
            format!("it changes access of {} and does not say that it rules access", acl.text())
        });
    }
}

fn one(transform: &dyn Transform, name: &str, bytes: &[u8], found: &mut Breaches) {
    let whole = apply(transform, name, &mut &*bytes);
    if whole.is_none() {
        found.0.push(format!("it panics on {name}"));
        return;
    }
    let again = apply(transform, name, &mut &*bytes);
    found.unless(whole == again, || format!("{name} gives another result the second time"));
    let pieces = apply(transform, name, &mut Pieces { bytes, most: 1, fails: false });
    found.unless(whole == pieces, || format!("{name} gives another result in small pieces"));
    if let Some((_, record, parts)) = &whole {
        found.unless(record.uri == format!("suite:///{name}"), || {
            format!("the address of {name} was changed")
        });
        let unnamed = parts.list.iter().any(|part| part.name.is_empty());
        found.unless(!unnamed, || format!("a part of {name} has no name"));
    }
    let mut failing = Pieces { bytes, most: 3, fails: true };
    match apply(transform, name, &mut failing) {
        None => found.0.push(format!("it panics when {name} cannot be read to its end")),
        Some((verdict, ..)) => {
            // A stage that does not read so far cannot know.
            let noticed =
                verdict.is_err() || !failing.bytes.is_empty() || matches!(verdict, Ok(Verdict::Decline(_)));
            found.unless(noticed || untouched(transform, name, bytes), || {
                format!("an error while {name} is read is not passed on")
            });
        }
    }
}

/// Whether the stage stops at the last byte without asking for more.
fn untouched(transform: &dyn Transform, name: &str, bytes: &[u8]) -> bool {
    struct Asked<'b>(&'b [u8], bool);
    impl Read for Asked<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            self.1 |= self.0.is_empty();
            self.0.read(buffer)
        }
    }
    let mut asked = Asked(bytes, false);
    apply(transform, name, &mut asked);
    !asked.1
}
