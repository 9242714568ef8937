//! The stages of a job between its repository and its outputs, and the digest of what was read.
//!
//! Stages are a tree (`crates/model/src/job/mod.rs`): a document goes from the repository along each branch as far as conditions let it,
//! and what arrives at an output is what the stages on its own path made. Branches share nothing but the content, which is read once.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::sync::Arc;

use ingather_contract::call::CallContext;
use ingather_contract::registry::Registry;
use ingather_contract::transform::{Audience, Item, Transform, Verdict};
use ingather_model::access::Acl;
use ingather_model::document::{Component, INSIDE, Links, Parts, Record};
use ingather_model::fault::{Fault, Reason};
use ingather_model::ids::Digest;
use ingather_model::job::condition::Condition;
use ingather_model::job::{Definition, Route, Tree};
use ingather_store::failpoints::{Failpoint, failpoint};

use super::raw::Hashing;
pub(super) use super::raw::raw_digest;
use crate::error::{EngineError, Refusal, Result};

/// Code of the reason why a condition keeps something out.
pub const CONDITION: &str = "condition";

/// The opened stages of a job.
pub(crate) struct Pipeline {
    stages: Vec<Stage>,
    tree: Tree,
    /// Where outputs hang, each place and condition once: what arrives there is the same for all of them.
    exits: Vec<Exit>,
    /// Versions of the stages' code, for the settings digest.
    pub(crate) versions: Vec<String>,
}

struct Stage {
    transform: Arc<dyn Transform>,
    when: Option<Condition>,
    /// Every output is behind it: what it says of access counts for the document.
    is_shared: bool,
}

struct Exit {
    after: Option<usize>,
    when: Option<Condition>,
    outputs: Vec<String>,
}

/// What a pass through the pipeline gave.
#[derive(Debug)]
pub(crate) struct Passed {
    /// What arrived where outputs hang, by [`Pipeline::arrival_of`].
    pub(crate) arrivals: Vec<Arrival>,
    /// Digest of all bytes of the source; none when the document was declined.
    pub(crate) content: Digest,
    /// How many there were.
    pub(crate) bytes: u64,
}

/// What arrives of a document at some outputs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Arrival {
    /// Whether the record is wanted.
    pub(crate) verdict: Verdict,
    pub(crate) record: Record,
    /// What is in the document and wanted; names are unique, addresses and paths filled in.
    pub(crate) parts: Parts,
    /// Names of what is in it and was found, and that a condition keeps out: they go also where not all could be found.
    pub(crate) left: Vec<String>,
    /// A condition keeps out the document itself, whatever becomes of what is in it.
    pub(crate) is_refused: bool,
    /// A condition on the way could not be judged, since the document could not be read this time.
    pub(crate) is_undecided: bool,
}

impl Pipeline {
    pub(crate) fn open(definition: &Definition, registry: &Registry) -> Result<Pipeline> {
        let refused = |why: String| {
            EngineError::refused(Refusal::Definition, format!("job {}: {why}", definition.name))
        };
        let tree = definition.tree().map_err(refused)?;
        let paths: Vec<Vec<usize>> = tree.outputs.iter().map(|place| tree.path(*place)).collect();
        let mut stages = Vec::new();
        let mut versions = Vec::new();
        for (at, stage) in definition.stages.iter().enumerate() {
            let kind = registry.transform(&stage.transform).ok_or_else(|| {
                EngineError::refused(
                    Refusal::NoSuchConnector,
                    format!("job {}: there is no transform `{}`", definition.name, stage.transform),
                )
            })?;
            let opened = (kind.open)(&stage.settings);
            let transform = opened.map_err(|fault| {
                EngineError::refused(
                    Refusal::Definition,
                    format!("job {}, stage {}: {fault}", definition.name, stage.transform),
                )
            })?;
            let is_shared = paths.iter().all(|path| path.contains(&at));
            if transform.rules_access() && !is_shared {
                return Err(refused(format!(
                    "stage {} `{}` says who may see documents, which is the same in all outputs; put it where every output \
                     comes after it",
                    at + 1,
                    stage.called()
                )));
            }
            stages.push(Stage { transform, when: stage.when.clone(), is_shared });
            versions.push(format!("{} {}", kind.name, kind.version));
        }
        let exits = exits(definition, &tree);
        Ok(Pipeline { stages, tree, exits, versions })
    }

    /// What arrives at an output, by its place among [`Passed::arrivals`].
    pub(crate) fn arrival_of(&self, output: &str) -> usize {
        let is_there = |exit: &Exit| exit.outputs.iter().any(|name| name == output);
        self.exits.iter().position(is_there).expect("each output of the definition has its exit")
    }

    /// The stages that lead to an output, in order.
    pub(crate) fn path_to(&self, output: &str) -> Vec<usize> {
        match failpoint(Failpoint::BranchesDigestedTogether) {
            true => (0..self.stages.len()).collect(),
            false => self.tree.path(self.exits[self.arrival_of(output)].after),
        }
    }

    /// Whether conditions decide what gets where.
    pub(crate) fn has_conditions(&self) -> bool {
        self.stages.iter().any(|stage| stage.when.is_some())
            || self.exits.iter().any(|exit| exit.when.is_some())
    }

    /// What each stage comes after; none is the repository.
    pub(crate) fn places(&self) -> &[Option<usize>] {
        &self.tree.stages
    }

    /// How many different things arrive at outputs.
    pub(crate) fn arrivals(&self) -> usize {
        self.exits.len()
    }

    /// The stages that say who may see a document, by their position: those that every output comes after.
    fn shared(&self) -> impl Iterator<Item = (usize, &dyn Transform)> {
        let shared = self.stages.iter().enumerate().filter(|(_, stage)| stage.is_shared);
        shared.map(|(at, stage)| (at, stage.transform.as_ref()))
    }

    /// Who may see a document that its source shows to `acl`.
    pub(crate) fn access<'l>(&self, acl: &'l Acl) -> Cow<'l, Acl> {
        self.shared().fold(Cow::Borrowed(acl), |acl, (_, stage)| stage.access(acl))
    }

    /// The same, and the stages that change it, by their position.
    pub(crate) fn access_by(&self, mut acl: Acl) -> (Acl, Vec<usize>) {
        let mut positions = Vec::new();
        for (position, stage) in self.shared() {
            let after = stage.access(Cow::Borrowed(&acl)).into_owned();
            if after != acl {
                positions.push(position);
            }
            acl = after;
        }
        (acl, positions)
    }

    /// Sends one document through, and what is found in it; reads `content` to its end unless the document is declined. Takes
    /// what is in `record`, but for its time of change: dates of the document go by that. `links`: for what it says of other documents, where somebody asks.
    pub(crate) fn pass(
        &self,
        call: &CallContext,
        audience: &dyn Fn() -> Audience,
        record: &mut Record,
        content: &mut dyn Read,
        links: Option<&mut Links>,
    ) -> std::result::Result<Passed, Fault> {
        self.pass_watched(call, audience, record, (content, links), &mut |_| {})
    }

    /// As [`Pipeline::pass`]; `watch` sees what each stage made of the document and of what is in it.
    pub(crate) fn pass_watched(
        &self,
        call: &CallContext,
        audience: &dyn Fn() -> Audience,
        record: &mut Record,
        (content, mut links): (&mut dyn Read, Option<&mut Links>),
        watch: &mut dyn FnMut(&After<'_>),
    ) -> std::result::Result<Passed, Fault> {
        let mut hashing = Hashing::new(content, record.charset.as_deref());
        let modified = record.modified;
        let taken = std::mem::replace(record, Record { modified, ..Record::default() });
        let mut flows = Flows::new(self, Flow::of(taken));
        for (at, stage) in self.stages.iter().enumerate() {
            let after = self.tree.stages[at];
            let mut flow = flows.after(after);
            let mut left = flow.gate(stage.when.as_ref());
            let (now, more) =
                flow.apply(stage.transform.as_ref(), (call, audience), &mut hashing, links.as_deref_mut())?;
            left.extend(more);
            watch(&After { stage: Some(at), after, outputs: &[], flow: &flow, now, left: &left });
            flows.put(at, flow);
        }
        let mut arrivals = Vec::with_capacity(self.exits.len());
        for exit in &self.exits {
            let mut flow = flows.after(exit.after);
            let left = flow.gate(exit.when.as_ref());
            let outputs = &exit.outputs;
            let now = flow.unread.clone().filter(|_| flow.verdict == Verdict::Pass).map(Verdict::Unread);
            watch(&After { stage: None, after: exit.after, outputs, flow: &flow, now, left: &left });
            arrivals.push(flow.arrives());
        }
        let is_declined = |arrival: &Arrival| matches!(arrival.verdict, Verdict::Decline(_));
        if !arrivals.is_empty() && arrivals.iter().all(is_declined) {
            return Ok(Passed { arrivals, content: Digest::NONE, bytes: hashing.bytes });
        }
        hashing.finish()?;
        let (content, bytes) = hashing.digest();
        Ok(Passed { arrivals, content, bytes })
    }
}

fn exits(definition: &Definition, tree: &Tree) -> Vec<Exit> {
    let mut exits: Vec<Exit> = Vec::new();
    for (name, after) in definition.outputs.iter().zip(&tree.outputs) {
        let when = definition.routes.get(name).and_then(|Route { when, .. }| when.clone());
        match exits.iter_mut().find(|exit| exit.after == *after && exit.when == when) {
            Some(exit) => exit.outputs.push(name.clone()),
            None => exits.push(Exit { after: *after, when, outputs: vec![name.clone()] }),
        }
    }
    exits
}

/// What one stage made of a document and of what stages before it found in it, or what arrived at outputs.
pub(crate) struct After<'s> {
    /// The stage; none where outputs hang.
    pub(crate) stage: Option<usize>,
    /// What it comes after; none is the repository.
    pub(crate) after: Option<usize>,
    /// The outputs that hang there.
    pub(crate) outputs: &'s [String],
    flow: &'s Flow,
    now: Option<Verdict>,
    /// What is in it and is no entry because of this stage, or of the condition before it.
    pub(crate) left: &'s [(String, Verdict)],
}

impl After<'_> {
    pub(crate) fn record(&self) -> &Record {
        &self.flow.record
    }

    /// What is in it and wanted so far.
    pub(crate) fn parts(&self) -> &Parts {
        &self.flow.parts
    }

    /// What has been decided about the document itself by now.
    pub(crate) fn verdict(&self) -> &Verdict {
        self.now.as_ref().unwrap_or(&self.flow.verdict)
    }
}

/// A document on its way along one branch.
#[derive(Clone)]
struct Flow {
    record: Record,
    /// Never `Unread`: the stages behind one that could not read it go on with the record.
    verdict: Verdict,
    parts: Parts,
    names: Names,
    /// As in [`Arrival::left`].
    left: Vec<String>,
    /// As in [`Arrival::is_refused`].
    is_refused: bool,
    unread: Option<Fault>,
    is_undecided: bool,
}

impl Flow {
    fn of(record: Record) -> Flow {
        let (parts, names) = (Parts::default(), Names::default());
        let (left, is_refused) = (Vec::new(), false);
        Flow {
            record,
            verdict: Verdict::Pass,
            parts,
            names,
            left,
            is_refused,
            unread: None,
            is_undecided: false,
        }
    }

    /// Keeps out what is not as a condition says, the document and each thing in it by its own record; what is left of the things in
    /// it, and why. What could not be read is judged by its path alone, and stays where that does not decide.
    fn gate(&mut self, when: Option<&Condition>) -> Vec<(String, Verdict)> {
        let Some(when) = when else { return Vec::new() };
        let declined =
            |record: &Record| when.refusal(record).map(|why| Verdict::Decline(Reason::new(CONDITION, why)));
        let cannot_tell = matches!(self.unread, Some(Fault::Passing { .. }));
        if self.verdict == Verdict::Pass && cannot_tell && !failpoint(Failpoint::ConditionOnUnread) {
            // Nothing is removed because something failed.
            self.is_undecided = true;
        } else if self.verdict == Verdict::Pass
            && let Some(verdict) = declined(&self.record)
        {
            (self.verdict, self.is_refused) = (verdict, true);
        }
        let mut left = Vec::new();
        let Record { uri, path, .. } = &self.record;
        let declined_unread = |name: &str| {
            let is_out = when.holds_unread(uri, &path_inside(path, name)) == Some(false);
            (is_out && !failpoint(Failpoint::UnreadIsNeverKeptOut)).then(|| {
                Verdict::Decline(Reason::new(CONDITION, format!("its path is not as it says: {when}")))
            })
        };
        self.parts.list.retain(|part| {
            let verdict = match &part.record {
                Ok(record) => declined(record),
                Err(_) => declined_unread(&part.name),
            };
            let is_wanted = verdict.is_none();
            left.extend(verdict.map(|verdict| (part.name.clone(), verdict)));
            is_wanted
        });
        self.left.extend(left.iter().map(|(name, _)| name.clone()));
        left
    }

    /// Sends what is still on its way through a stage; what that says of the document now where later stages go on all the same, and
    /// what it leaves out of the things in it.
    fn apply(
        &mut self,
        stage: &dyn Transform,
        (call, audience): (&CallContext, &dyn Fn() -> Audience),
        content: &mut dyn Read,
        links: Option<&mut Links>,
    ) -> std::result::Result<(Option<Verdict>, Vec<(String, Verdict)>), Fault> {
        let Flow { record, verdict, parts, names, unread, .. } = self;
        let left = apply_inside(stage, (call, audience), record, parts, names)?;
        if *verdict != Verdict::Pass {
            return Ok((None, left));
        }
        let mut found = Parts::default();
        let mut item = Item { record, content, links, parts: &mut found, audience };
        let mut now = None;
        *verdict = match stage.apply(call, &mut item)? {
            Verdict::Unread(fault) => {
                now = Some(Verdict::Unread(fault.clone()));
                unread.get_or_insert(fault);
                Verdict::Pass
            }
            verdict => verdict,
        };
        parts.incomplete |= found.incomplete;
        parts.list.extend(found.list.into_iter().map(|part| names.give(record, part)));
        Ok((now, left))
    }

    fn arrives(self) -> Arrival {
        let Flow { record, verdict, parts, left, is_refused, unread, is_undecided, .. } = self;
        let is_empty = parts.list.is_empty() && !parts.incomplete;
        let verdict = match (verdict, unread) {
            (Verdict::Pass, Some(fault)) => Verdict::Unread(fault),
            (Verdict::Pass, None) => Verdict::Pass,
            (verdict @ Verdict::Decline(_), _) if is_empty => verdict,
            // What is in it is wanted, so it is not a document that nobody wants.
            _ => Verdict::PartsOnly,
        };
        Arrival { verdict, record, parts, left, is_refused, is_undecided }
    }
}

/// Documents behind stages, each until the last one that comes after it has taken it: only branches copy.
struct Flows {
    /// Behind the repository, and behind each stage; with how many come after it and have not had it.
    behind: Vec<(Option<Flow>, usize)>,
}

impl Flows {
    fn new(pipeline: &Pipeline, first: Flow) -> Flows {
        let mut behind: Vec<(Option<Flow>, usize)> = vec![(None, 0); pipeline.stages.len() + 1];
        let after = pipeline.tree.stages.iter().copied().chain(pipeline.exits.iter().map(|exit| exit.after));
        after.for_each(|after| behind[Flows::number(after)].1 += 1);
        behind[0].0 = Some(first);
        Flows { behind }
    }

    fn number(place: Option<usize>) -> usize {
        place.map_or(0, |at| at + 1)
    }

    fn put(&mut self, stage: usize, flow: Flow) {
        self.behind[stage + 1].0 = Some(flow);
    }

    fn after(&mut self, place: Option<usize>) -> Flow {
        let (flow, takers) = &mut self.behind[Flows::number(place)];
        *takers -= 1;
        let taken = if *takers == 0 { flow.take() } else { flow.clone() };
        taken.expect("what comes after a stage stands below it")
    }
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
        let mut item = Item { record: &mut record, content, links: None, parts: &mut found, audience };
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

fn path_inside(document: &str, name: &str) -> String {
    format!("{document}{INSIDE}{name}")
}

/// Names that components of one document have.
#[derive(Clone, Default)]
struct Names {
    taken: HashSet<String>,
    equal: HashMap<String, u32>,
}

impl Names {
    /// Gives a component that was just found a name that no other has, with a number if need be, the address of its document,
    /// and its path: later stages read them. An entry of a feed has the address of its feed as well, never that of its page: outputs know
    /// parts by the addresses of their documents, also those that are gone, of which there is no record.
    fn give(&mut self, document: &Record, found: Component) -> Component {
        let mut name = found.name.clone();
        while !self.taken.insert(name.clone()) {
            let number = self.equal.entry(found.name.clone()).or_insert(1);
            *number += 1;
            name = format!("{}~{number}", found.name);
        }
        let record = found.record.map(|record| Record {
            uri: document.uri.clone(),
            path: path_inside(&document.path, &name),
            ..record
        });
        Component { name, record }
    }
}

#[cfg(test)]
mod tests;
