//! The stages of a job between its repository and its outputs, and the digest of what was read.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::sync::Arc;

use ingather_contract::call::CallContext;
use ingather_contract::registry::Registry;
use ingather_contract::transform::{Audience, Item, Transform, Verdict};
use ingather_model::access::Acl;
use ingather_model::document::{Component, INSIDE, Parts, Record};
use ingather_model::fault::Fault;
use ingather_model::ids::Digest;
use ingather_model::job::Definition;

use crate::error::{EngineError, Refusal, Result};

/// The opened stages of a job.
pub(crate) struct Pipeline {
    stages: Vec<Arc<dyn Transform>>,
    /// Versions of the stages' code, for the settings digest.
    pub(crate) versions: Vec<String>,
}

/// What a pass through the pipeline gave.
#[derive(Debug)]
pub(crate) struct Passed {
    /// Whether the record is wanted.
    pub(crate) verdict: Verdict,
    /// What is in the document and wanted; names are unique, addresses and paths filled in.
    pub(crate) parts: Parts,
    /// Digest of all bytes of the source; none when the document was declined.
    pub(crate) content: Digest,
    /// How many there were.
    pub(crate) bytes: u64,
}

impl Pipeline {
    pub(crate) fn open(definition: &Definition, registry: &Registry) -> Result<Pipeline> {
        let mut stages = Vec::new();
        let mut versions = Vec::new();
        for stage in &definition.stages {
            let kind = registry.transform(&stage.transform).ok_or_else(|| {
                EngineError::refused(
                    Refusal::NoSuchConnector,
                    format!("job {}: there is no transform `{}`", definition.name, stage.transform),
                )
            })?;
            let opened = (kind.open)(&stage.settings);
            stages.push(opened.map_err(|fault| {
                EngineError::refused(
                    Refusal::Definition,
                    format!("job {}, stage {}: {fault}", definition.name, stage.transform),
                )
            })?);
            versions.push(format!("{} {}", kind.name, kind.version));
        }
        Ok(Pipeline { stages, versions })
    }

    /// Who may see a document that its source shows to `acl`.
    pub(crate) fn access<'l>(&self, acl: &'l Acl) -> Cow<'l, Acl> {
        self.stages.iter().fold(Cow::Borrowed(acl), |acl, stage| stage.access(acl))
    }

    /// The same, and the stages that change it, by their position.
    pub(crate) fn access_by(&self, mut acl: Acl) -> (Acl, Vec<usize>) {
        let mut positions = Vec::new();
        for (position, stage) in self.stages.iter().enumerate() {
            let after = stage.access(Cow::Borrowed(&acl)).into_owned();
            if after != acl {
                positions.push(position);
            }
            acl = after;
        }
        (acl, positions)
    }

    /// Sends one document through, and what is found in it; reads `content` to its end unless the document is declined.
    pub(crate) fn pass(
        &self,
        call: &CallContext,
        audience: &dyn Fn() -> Audience,
        record: &mut Record,
        content: &mut dyn Read,
    ) -> std::result::Result<Passed, Fault> {
        self.pass_watched(call, audience, record, content, &mut |_| {})
    }

    /// As [`Pipeline::pass`]; `watch` sees what each stage made of the document and of what is in it.
    pub(crate) fn pass_watched(
        &self,
        call: &CallContext,
        audience: &dyn Fn() -> Audience,
        record: &mut Record,
        content: &mut dyn Read,
        watch: &mut dyn FnMut(&After<'_>),
    ) -> std::result::Result<Passed, Fault> {
        let mut hashing = Hashing::new(content);
        let mut verdict = Verdict::Pass;
        let mut parts = Parts::default();
        let mut names = Names::default();
        let mut unread = None;
        for stage in &self.stages {
            let mut now = None;
            let left = apply_inside(stage.as_ref(), (call, audience), record, &mut parts, &mut names)?;
            if verdict == Verdict::Pass {
                let mut found = Parts::default();
                let mut item = Item { record, content: &mut hashing, parts: &mut found, audience };
                verdict = match stage.apply(call, &mut item)? {
                    Verdict::Unread(fault) => {
                        now = Some(Verdict::Unread(fault.clone()));
                        unread.get_or_insert(fault);
                        Verdict::Pass
                    }
                    verdict => verdict,
                };
                parts.incomplete |= found.incomplete;
                parts.list.extend(found.list.into_iter().map(|part| names.give(record, part)));
            }
            let verdict = now.as_ref().unwrap_or(&verdict);
            watch(&After { record, parts: &parts, verdict, left: &left });
        }
        if matches!(verdict, Verdict::Decline(_)) && parts.list.is_empty() && !parts.incomplete {
            return Ok(Passed { verdict, parts, content: Digest::NONE, bytes: hashing.bytes });
        }
        hashing.finish()?;
        let verdict = match (verdict, unread) {
            (Verdict::Pass, Some(fault)) => Verdict::Unread(fault),
            (Verdict::Pass, None) => Verdict::Pass,
            // What is in it is wanted, so it is not a document that nobody wants.
            _ => Verdict::PartsOnly,
        };
        let (content, bytes) = hashing.digest();
        Ok(Passed { verdict, parts, content, bytes })
    }
}

/// What one stage made of a document and of what stages before it found in it.
pub(crate) struct After<'s> {
    pub(crate) record: &'s Record,
    /// What is in it and wanted so far.
    pub(crate) parts: &'s Parts,
    /// What has been decided about the document itself by now.
    pub(crate) verdict: &'s Verdict,
    /// What is in it and is no entry because of this stage.
    pub(crate) left: &'s [(String, Verdict)],
}

/// Sends what earlier stages found in a document through one stage; what it leaves out, and how it says so.
fn apply_inside(
    stage: &dyn Transform,
    (call, audience): (&CallContext, &dyn Fn() -> Audience),
    document: &Record,
    parts: &mut Parts,
    names: &mut Names,
) -> std::result::Result<Vec<(String, Verdict)>, Fault> {
    let mut kept = Vec::with_capacity(parts.list.len());
    let mut left = Vec::new();
    for Component { name, record } in parts.list.drain(..) {
        let mut record = match record {
            Ok(record) => record,
            Err(reason) => {
                kept.push(Component { name, record: Err(reason) });
                continue;
            }
        };
        let mut found = Parts::default();
        let content = &mut std::io::empty();
        let mut item = Item { record: &mut record, content, parts: &mut found, audience };
        let record = match stage.apply(call, &mut item) {
            Ok(Verdict::Pass) => Some(Ok(record)),
            Ok(Verdict::Unread(fault)) => Some(Err(fault.reason())),
            Ok(verdict) => {
                left.push((name.clone(), verdict));
                None
            }
            Err(Fault::Broken(reason) | Fault::Refused(reason) | Fault::Unreadable(reason)) => {
                Some(Err(reason))
            }
            Err(fault) => return Err(fault),
        };
        let inner = |part: Component| {
            let name = format!("{name}{INSIDE}{}", part.name);
            names.give(document, Component { name, ..part })
        };
        parts.incomplete |= found.incomplete;
        let found: Vec<Component> = found.list.into_iter().map(inner).collect();
        kept.extend(record.map(|record| Component { name, record }));
        kept.extend(found);
    }
    parts.list = kept;
    Ok(left)
}

/// Names that components of one document have.
#[derive(Default)]
struct Names {
    taken: HashSet<String>,
    equal: HashMap<String, u32>,
}

impl Names {
    /// Gives a component that was just found a name that no other has, with a number if need be, the address of its document,
    /// and its path: later stages read them.
    fn give(&mut self, document: &Record, found: Component) -> Component {
        let mut name = found.name.clone();
        while !self.taken.insert(name.clone()) {
            let number = self.equal.entry(found.name.clone()).or_insert(1);
            *number += 1;
            name = format!("{}~{number}", found.name);
        }
        let record = found.record.map(|record| Record {
            uri: document.uri.clone(),
            path: format!("{}{INSIDE}{name}", document.path),
            ..record
        });
        Component { name, record }
    }
}

struct Hashing<'r> {
    content: &'r mut dyn Read,
    hash: blake3::Hasher,
    bytes: u64,
}

impl<'r> Hashing<'r> {
    fn new(content: &'r mut dyn Read) -> Hashing<'r> {
        Hashing { content, hash: blake3::Hasher::new(), bytes: 0 }
    }

    /// Reads what is left.
    fn finish(&mut self) -> std::result::Result<(), Fault> {
        let rest = std::io::copy(self, &mut std::io::sink());
        rest.map(|_| ()).map_err(|error| Fault::passing("read", format!("reading stopped: {error}")))
    }

    fn digest(&self) -> (Digest, u64) {
        let mut first = [0u8; 8];
        first.copy_from_slice(&self.hash.finalize().as_bytes()[..8]);
        // Zero would mean "none": an equal content must stay equal.
        let digest = i64::from_le_bytes(first).max(i64::MIN + 1);
        (Digest(if digest == 0 { 1 } else { digest }), self.bytes)
    }
}

/// The digest that a pass through the stages gives for these bytes, and how many there are.
pub(super) fn raw_digest(content: &mut dyn Read) -> std::result::Result<(Digest, u64), Fault> {
    let mut hashing = Hashing::new(content);
    hashing.finish()?;
    Ok(hashing.digest())
}

impl Read for Hashing<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.content.read(buffer)?;
        self.hash.update(&buffer[..read]);
        self.bytes += read as u64;
        Ok(read)
    }
}
