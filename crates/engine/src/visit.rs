//! A worker's visit to one document: look, read, pass through the pipeline, decide for every output.

mod arrivals;
pub(crate) mod audience;
pub(crate) mod completion;
pub(crate) mod contained;
mod dated;
pub(crate) mod earlier;
mod events;
pub(crate) mod extracts;
mod leads;
pub(crate) mod left_out;
pub(crate) mod outcome;
pub(crate) mod parts;
pub(crate) mod pipeline;
mod raw;
pub(crate) mod refill;
pub(crate) mod steady;
mod throttled;
mod unchanged;
mod unread;

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

use ingather_contract::repository::Observed;
use ingather_contract::transform::Verdict;
use ingather_model::access::Acl;
use ingather_model::decision::{DeliveryState, Found, NOBODY};
use ingather_model::document::{EXTRACTION, Record};
use ingather_model::fault::{Fault, Reason};
use ingather_model::ids::{AclId, Digest, DocumentId};
use ingather_model::key::Stamp;
use ingather_store::Durability;
use ingather_store::documents::links::Memo;
use ingather_store::documents::{self, DocumentUpdate};
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::queue::VisitReason;

use crate::delivery::change::{ChangeKind, DecidedChange, Origin, QueuedChange, access_digest};
use crate::dispatcher::WorkItem;
use crate::error::Result;
use crate::run::Run;
use crate::run::dating::Sighting;
use crate::run::reach::parked::still_ready;
use crate::run::visitors::Place;

use self::arrivals::Findings;
use self::completion::complete;
use self::leads::Pages;
use self::outcome::{Outcome, PendingVisit, VisitArtifacts};
use self::parts::{Deliveries, Finding};
use self::pipeline::{Arrival, CONDITION, Passed};
use self::steady::{Done, SecondLook};
use self::unchanged::Peek;

/// Visits a claim of documents; what no output has to hear of is completed here, in one transaction.
pub(crate) fn visit_all(run: &Run, items: Vec<WorkItem>, place: &mut Place<'_>) -> Result<()> {
    let known: Vec<i64> = items.iter().filter(|item| item.known.is_some()).map(|item| item.id).collect();
    let mut deliveries = parts::read(&run.reader, &known)?;
    let raws: HashMap<i64, Digest> =
        run.reader.read(|sql| documents::raws(sql, &known))?.into_iter().collect();
    let claimed = items.len();
    // What a document leads to is told before its claim is over.
    let _claim = items.first().and_then(|item| item.claim.clone());
    let items = still_ready(run, items)?;
    let mut second_look = SecondLook::new(run, &items)?;
    let mut reading = Vec::new();
    for mut item in items {
        place.wait_while_full();
        if run.stops() {
            // It stays in the store as it was; the next run goes on.
            continue;
        }
        if let Some(begun) = throttled::begun(&mut item) {
            reading.push(Visitor::goes_on(run, item, &begun));
            continue;
        }
        let deliveries = deliveries.remove(&item.id).unwrap_or_default();
        let raw = raws.get(&item.id).copied().unwrap_or(Digest::NONE);
        match Visitor::new(run, item, deliveries, raw).look()? {
            Looked::Over(done) => second_look.take(done)?,
            Looked::Reads(visitor) => reading.push(*visitor),
        }
    }
    second_look.look()?;
    // What the same people may see follows each other: the stages read it with one process.
    reading.sort_by_key(|visitor| {
        let item = &visitor.item;
        (item.container, item.known.as_ref().and_then(|known| known.acl_id))
    });
    let repository = &run.author.repository;
    let refers = run.reach.as_ref().zip(repository.refers());
    let of = |(reach, refers)| Pages::new(run, (reach, refers), &reading).map(|pages| (pages, refers));
    let mut pages = refers.map(of).transpose()?;
    // No change of access waits for the content of another document.
    for mut visitor in reading {
        place.wait_while_full();
        if run.stops() {
            continue;
        }
        if !run.dispatcher.admits(&mut visitor.item) {
            visitor.put_back();
            continue;
        }
        match &mut pages {
            Some((pages, refers)) => {
                pages.visit(visitor, *refers)?;
                if pages.is_much() {
                    pages.send(&mut second_look)?;
                }
            }
            None => second_look.take(visitor.read_and_send()?)?,
        }
    }
    if let Some((pages, _)) = &mut pages {
        pages.send(&mut second_look)?;
    }
    second_look.look()?;
    complete(second_look.quiet.iter())?;
    pages.map_or(Ok(()), |(pages, _)| pages.end())?;
    if run.dispatcher.handed_over(claimed) {
        run.notify_outputs();
    }
    Ok(())
}

/// Whether an output is known to hold just that access: masked once, it is not masked again at each attempt.
fn holds_access(state: Option<DeliveryState>, kind: ChangeKind) -> bool {
    let ChangeKind::Access { access } = kind else { return false };
    state.is_some_and(|h| h.intended_acl == access && h.confirmed_acl == Some(access))
}

/// Whether an answer is of one version of a document.
fn is_steady(observed: &Observed) -> bool {
    observed.content != Stamp::NONE && observed.access != Stamp::NONE
}

/// Why not all of a document, or of something in it, could be read, as a stage says; none where it was.
fn unread_in(Arrival { verdict, record, parts, .. }: &Arrival) -> Option<Reason> {
    let partial = |why: &str| Reason::new("partial", why);
    let said = |record: &Record| record.fields.get(EXTRACTION)?.first().map(|why| partial(why));
    let of_itself = said(record).filter(|_| !matches!(verdict, Verdict::Decline(_)));
    let of_part = || {
        parts
            .list
            .iter()
            .find_map(|part| part.record.as_ref().map_or_else(|why| Some(partial(&why.message)), said))
    };
    let of_others = || parts.incomplete.then(|| partial("not all that is in it could be read"));
    of_itself.or_else(of_part).or_else(of_others)
}

struct Visitor<'r> {
    run: &'r Run,
    item: WorkItem,
    deliveries: Deliveries,
    /// Digest of the bytes that what outputs hold was made of; none when that cannot be told.
    raw: Digest,
    /// What was looked at or read is of one version.
    steady: bool,
    /// The version of its content that a look at it has found.
    looked: Option<Digest>,
    /// Whoever must not find what outputs hold any more was shut out before it is read.
    is_ahead: bool,
    /// The job rests, or is asked to stop, while it is read: what was read is nothing.
    interrupted: Cell<bool>,
    /// What is kept with it for its next visit.
    memo: Memo,
    /// What was learned of its dates.
    sighting: Option<Sighting>,
}

/// What a look at a document led to.
enum Looked<'r> {
    /// Its visit is over, or waits for outputs.
    Over(Done<'r>),
    /// Its content is needed.
    Reads(Box<Visitor<'r>>),
}

/// A document as read, and what the pipeline made of it.
struct Read {
    observed: Observed,
    passed: Passed,
}

impl<'r> Visitor<'r> {
    fn new(run: &'r Run, item: WorkItem, deliveries: Deliveries, raw: Digest) -> Visitor<'r> {
        let interrupted = Cell::new(false);
        let (steady, is_ahead) = (true, false);
        let (looked, memo, sighting) = (None, Memo::default(), None);
        Visitor { run, item, deliveries, raw, steady, looked, is_ahead, interrupted, memo, sighting }
    }

    /// Looks at a document whose access may have changed; all others are to be read.
    fn look(mut self) -> Result<Looked<'r>> {
        if self.item.reason == VisitReason::Dates {
            return self.look_for_dates();
        }
        if self.item.reason != VisitReason::Access || self.item.known.is_none() {
            return Ok(Looked::Reads(Box::new(self)));
        }
        let observed = match self.peek() {
            Peek::AsKnown(observed) => {
                self.sees(&observed);
                let acl_id = self.acl_id(&observed)?;
                return self.show_as_known(&observed, acl_id).map(Looked::Over);
            }
            Peek::Other(observed) => *observed,
            Peek::None => match self.run.author.repository.look(&self.run.call, &self.item.name) {
                Ok(observed) => observed,
                Err(fault) => return self.fault(fault, None).map(Looked::Over),
            },
        };
        self.sees(&observed);
        self.looked = Some(self.run.author.hasher.version(self.item.key_hash, &observed.content));
        let acl_id = self.acl_id(&observed)?;
        if self.by_reference() && self.content_is_as_known(&observed, acl_id) {
            return self.show_as_known(&observed, acl_id).map(Looked::Over);
        }
        self.send_access_ahead(&observed, acl_id)?;
        Ok(Looked::Reads(Box::new(self)))
    }

    /// Reads and sends; gives the visit back when no output has to hear of it.
    fn read_and_send(mut self) -> Result<Done<'r>> {
        if let Some((update, passed)) = self.kept()? {
            self.item.admission = None;
            return self.made(update, passed);
        }
        if self.run.was_refilled(self.item.id) {
            self.item.admission = None;
            let sentence = "what is kept of it cannot be used, and its source cannot be looked at";
            return self.fault(Fault::passing("away", sentence), None);
        }
        if self.may_be_as_known() {
            match self.read_raw(None) {
                _ if self.interrupted.get() => return Ok(self.put_back()),
                Ok((observed, raw)) if self.is_as_known(&observed, raw) => {
                    self.item.admission = None;
                    self.sees(&observed);
                    let acl_id = self.acl_id(&observed)?;
                    return self.show_as_known(&observed, acl_id);
                }
                // It is another one, or cannot be read: what follows finds that as well.
                _ => {}
            }
        }
        let read = self.read();
        if self.interrupted.get() {
            return Ok(self.put_back());
        }
        // Its place is free before outputs are asked for anything.
        self.item.admission = None;
        match read {
            Ok(Read { observed, passed }) => {
                self.sees(&observed);
                let acl_id = self.acl_id(&observed)?;
                let update = DocumentUpdate { raw: Some(passed.content), ..self.update(&observed, acl_id) };
                self.made(update, passed)
            }
            Err(fault @ Fault::Unreadable(_)) => self.unreadable(fault),
            Err(fault) => self.fault(fault, None),
        }
    }

    /// The acl of what is seen of it, after the stages had their say.
    fn acl_id(&self, observed: &Observed) -> Result<AclId> {
        self.acl_id_of(&observed.acl)
    }

    fn acl_id_of(&self, acl: &Acl) -> Result<AclId> {
        let acl = self.run.pipeline.access(acl);
        let mut acls = self.run.acls();
        if let Some(id) = acls.find(&acl) {
            return Ok(id);
        }
        let Some(store) = &self.run.store else { return Ok(acls.pretend(&acl)) };
        let mut begun = false;
        let interned = store.write(Durability::Relaxed, |sql| {
            if std::mem::replace(&mut begun, true) {
                // The database took it back, to let another transaction pass.
                acls.lose();
            }
            self.run.fence(sql)?;
            acls.intern(sql, &acl)
        });
        if interned.is_err() {
            // Nobody knows whether it is in the store, and others go by it.
            acls.lose();
        }
        Ok(interned?)
    }

    fn update(&self, observed: &Observed, acl_id: AclId) -> DocumentUpdate {
        DocumentUpdate {
            id: DocumentId(self.item.id),
            version: self.run.author.hasher.version(self.item.key_hash, &observed.content),
            access: self.run.author.hasher.version(self.item.key_hash, &observed.access),
            settings: self.run.settings,
            identity: observed.identity,
            acl_id: Some(acl_id),
            container: self.item.container,
            raw: None,
        }
    }

    fn read(&self) -> std::result::Result<Read, Fault> {
        let mut passed = None;
        self.fetches();
        let observed = self.run.author.repository.fetch(
            &self.run.call,
            &self.item.name,
            &mut |record, acl, content| {
                let run = self.run;
                let audience = || run.audiences.of(self.item.container, &run.pipeline.access(acl));
                let mut content = self.paced(content);
                passed = Some(run.pipeline.pass(&run.call, &audience, record, &mut content, None)?);
                Ok(())
            },
        )?;
        let passed = passed.ok_or_else(|| Fault::broken("connector", "the connector gave no content"))?;
        self.run.progress.bytes(passed.bytes);
        Ok(Read { observed, passed })
    }

    /// What was made of it when it was read last, when it is of that version still and its access is as it was.
    fn kept(&self) -> Result<Option<(DocumentUpdate, Passed)>> {
        let Some(known) = &self.item.known else { return Ok(None) };
        let same = self.item.version.same(known.version) && self.item.access.same(known.access);
        let same = same && (self.item.is_listed || self.run.was_refilled(self.item.id));
        // What could not be read is tried first, where it is listed: filled from what is kept, it would not count as failed.
        let is_out_of_reach = self.item.noted.is_unreadable() && !self.item.is_listed;
        let failed = self.item.noted.has_failed() && !is_out_of_reach;
        if self.run.rereads || !same || known.acl_id.is_none() || failed {
            return Ok(None);
        }
        let update = DocumentUpdate {
            id: DocumentId(self.item.id),
            version: known.version,
            access: known.access,
            settings: self.run.settings,
            identity: self.item.identity,
            acl_id: known.acl_id,
            container: self.item.container,
            raw: None,
        };
        let kept = extracts::kept(self.run, self.item.id, known.version)?;
        Ok(kept.map(|passed| (update, passed)))
    }

    fn made(self, update: DocumentUpdate, passed: Passed) -> Result<Done<'r>> {
        self.made_as(update, passed, None)
    }

    /// `outcome`: what becomes of the document, whatever outputs have to be told.
    fn made_as(self, update: DocumentUpdate, passed: Passed, outcome: Option<Outcome>) -> Result<Done<'r>> {
        // Kept text that is masked is known as such, so that its folder opens for all else.
        let access = update.acl_id.map_or(NOBODY, |id| access_digest(Some(id), self.item.container));
        if let Some(reason) = passed.declined().or_else(|| self.expired()) {
            return self.send_declined(update, reason);
        }
        if let Some(fault) = passed.unread() {
            return self.unread(update, passed, fault);
        }
        let extract = extracts::of(self.run, update.version, &passed).map(Box::new);
        let partial = passed.arrivals.iter().find_map(unread_in);
        let bytes = passed.bytes;
        let Findings { findings, kept, kept_out } = self.findings(passed, access)?;
        let artifacts =
            VisitArtifacts { kept: Some(kept), extract, partial, bytes, ..VisitArtifacts::default() };
        let (changes, decided) = parts::decide_all(&self.run.outputs, &self.deliveries, findings)?;
        self.note_kept_out(&changes, &kept_out);
        self.show(update, changes, outcome.unwrap_or(decided), artifacts)
    }

    fn fault(self, fault: Fault, update: Option<DocumentUpdate>) -> Result<Done<'r>> {
        let reason = fault.reason();
        let outcome = match fault {
            Fault::Gone => Outcome::Vanished,
            Fault::Passing { .. } => Outcome::Again(fault),
            Fault::Broken(_) | Fault::Unreadable(_) => Outcome::Failed(reason),
            Fault::Refused(_) => return self.declined(reason),
        };
        // What failed is tried again when it changes: the versions that were listed are the ones that failed.
        let update = update.or_else(|| self.listed());
        match update {
            Some(update) if outcome != Outcome::Vanished && self.may_open()? => {
                let masks = self.masks();
                // What is masked has no access in its row either: what is kept of it was read while the folder was closed.
                let acl_id = update.acl_id.filter(|_| failpoint(Failpoint::HiddenRowKeepsAccess));
                let update = DocumentUpdate { acl_id, ..update };
                self.hand_over(update, masks, outcome, VisitArtifacts::default())
            }
            update => {
                Ok(Done::Quiet(Box::new(PendingVisit::new(&self.run.state, self.item, update, outcome, 0))))
            }
        }
    }

    fn listed(&self) -> Option<DocumentUpdate> {
        let known = self.item.known.as_ref();
        Some(DocumentUpdate {
            id: DocumentId(self.item.id),
            version: self.item.version,
            access: self.item.access,
            settings: self.run.settings,
            identity: self.item.identity,
            acl_id: known.and_then(|known| known.acl_id),
            container: known.map_or(self.item.container, |known| known.container),
            raw: None,
        })
    }

    fn declined(self, reason: Reason) -> Result<Done<'r>> {
        match self.listed() {
            Some(update) => self.send_declined(update, reason),
            None => Ok(Done::Handed),
        }
    }

    fn send_declined(self, update: DocumentUpdate, reason: Reason) -> Result<Done<'r>> {
        let kept_out =
            if reason.code == CONDITION { vec![true; self.run.pipeline.arrivals()] } else { vec![] };
        let declined = Found::Declined(reason);
        let findings = self.deliveries.parts().map(|part| Finding::same(part, declined.clone())).collect();
        let (changes, outcome) = parts::decide_all(&self.run.outputs, &self.deliveries, findings)?;
        self.note_kept_out(&changes, &kept_out);
        self.hand_over(update, changes, outcome, VisitArtifacts::default())
    }

    fn queued(
        &self,
        visit: &Arc<PendingVisit>,
        change: DecidedChange,
        update: &DocumentUpdate,
    ) -> QueuedChange {
        let DecidedChange { output_index, part, record, kind } = change;
        let is_masked = matches!(kind, ChangeKind::Access { access: NOBODY });
        let state = self.deliveries.of(&part, self.run.outputs[output_index].id);
        QueuedChange {
            origin: Origin::Visit(visit.clone()),
            uri: part.uri(match &record {
                Some(record) => record.uri.clone(),
                None => self.run.author.repository.uri(&self.item.name),
            }),
            part,
            kind,
            record,
            acl_id: update.acl_id.filter(|_| !is_masked),
            container: update.container,
            first: self.deliveries.is_first(),
            was_held: state.is_some_and(|state| state.is_confirmed()),
        }
    }

    /// Hands over what has to be sent; gives the visit back when that is nothing.
    fn hand_over(
        self,
        update: DocumentUpdate,
        changes: Vec<DecidedChange>,
        mut outcome: Outcome,
        mut artifacts: VisitArtifacts,
    ) -> Result<Done<'r>> {
        // What had nothing in it keeps nothing.
        artifacts.kept = artifacts.kept.filter(|_| self.deliveries.has_inside());
        (artifacts.memo, artifacts.sighting) = (self.memo.clone(), self.sighting);
        if changes.is_empty() || self.run.store.is_none() {
            for change in &changes {
                outcome = outcome.or(change.kind.outcome(self.deliveries.is_first()));
            }
            let visit =
                PendingVisit::new(&self.run.state, self.item, Some(update), outcome, 0).with(artifacts);
            return Ok(Done::Quiet(Box::new(visit)));
        }
        let visit =
            PendingVisit::new(&self.run.state, self.item.clone(), Some(update), outcome, changes.len())
                .with(artifacts);
        let visit = Arc::new(visit);
        for change in changes {
            self.run.push(change.output_index, self.queued(&visit, change, &update));
        }
        Ok(Done::Handed)
    }
}
