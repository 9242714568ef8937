//! A worker's visit to one document: look, read, pass through the pipeline, decide for every output.

use std::collections::HashMap;
use std::sync::Arc;

use ingather_connector::model::decision::{Decision, Found, Holding, decide};
use ingather_connector::model::document::Record;
use ingather_connector::model::fault::{Fault, Reason};
use ingather_connector::model::ids::{ClassId, ConnectionId, Digest, DocumentId, PlaceId};
use ingather_connector::repository::Observed;
use ingather_connector::transform::Verdict;
use ingather_store::deliveries::{self, Delivery};
use ingather_store::documents::Visited;
use ingather_store::work::Cause;
use ingather_store::{Durability, StoreError};

use crate::board::Task;
use crate::deliver::{Prepared, Step};
use crate::error::Result;
use crate::pipeline::Passed;
use crate::run::Run;
use crate::settle::{Outcome, Settling, Visit};

/// What each output holds of one document.
type Holdings = HashMap<ConnectionId, Delivery>;

/// Visits a claim of documents; what no output has to hear of is settled here, in one transaction.
pub(crate) fn visit_all(run: &Run, tasks: Vec<Task>) -> Result<()> {
    let mut holdings = holdings_of(run, &tasks)?;
    let mut quiet = Vec::new();
    for task in tasks {
        if run.stops() {
            // It stays in the store as it was; the next run goes on.
            run.board.release(1);
            continue;
        }
        let held = holdings.remove(&task.id).unwrap_or_default();
        if let Some(visit) = (Visiting { run, task, held, ahead: 0 }).visit()? {
            quiet.push(visit);
        }
    }
    if quiet.is_empty() {
        return Ok(());
    }
    let settling = Settling::new(run, &quiet);
    if let Some(store) = &run.store {
        store.write(Durability::Relaxed, |sql| {
            run.fence(sql)?;
            settling.write(run, sql)
        })?;
    }
    settling.counted(run);
    Ok(())
}

fn holdings_of(run: &Run, tasks: &[Task]) -> Result<HashMap<i64, Holdings>> {
    let ids: Vec<i64> = tasks.iter().filter(|task| task.known.is_some()).map(|task| task.id).collect();
    let mut by_document: HashMap<i64, Holdings> = HashMap::new();
    if !ids.is_empty() {
        for delivery in run.reader.read(|sql| deliveries::holdings(sql, &ids))? {
            by_document.entry(delivery.document).or_default().insert(delivery.output, delivery);
        }
    }
    Ok(by_document)
}

/// Digest of what decides about access: equal references are equal access.
pub(crate) fn access_digest(class: ClassId, place: Option<PlaceId>) -> Digest {
    let place = place.map_or(0, |place| place.0);
    let mixed = class.0.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64) ^ place.rotate_left(32);
    Digest(if mixed == 0 { 1 } else { mixed })
}

struct Visiting<'r> {
    run: &'r Run,
    task: Task,
    held: Holdings,
    /// Intents that this visit has handed over already.
    ahead: i64,
}

/// A document as read: its record, or why it is not wanted.
struct Read {
    observed: Observed,
    passed: Passed,
}

impl Visiting<'_> {
    /// Visits; gives the visit back when no output has to hear of it.
    fn visit(mut self) -> Result<Option<Visit>> {
        if self.task.cause == Cause::Access && self.task.known.is_some() {
            let looked = self.run.repository.look(&self.run.call, &self.task.name);
            let observed = match looked {
                Ok(observed) => observed,
                Err(fault) => return self.fault(fault, None),
            };
            let class = self.class(&observed)?;
            if self.content_is_as_known(&observed, class) {
                let visited = self.visited(&observed, class);
                let found = Found::Looked { access: access_digest(class, self.task.place) };
                return self.send(visited, None, &[found]);
            }
            self.send_access_ahead(&observed, class)?;
        }
        match self.read() {
            Ok(read) => self.made(read),
            Err(fault) if fault.reason().code == "unreadable" && self.is_held() => self.unreadable(fault),
            Err(fault) => self.fault(fault, None),
        }
    }

    fn is_held(&self) -> bool {
        self.held.values().any(|delivery| delivery.holding.held.is_some_and(Digest::is_some))
    }

    /// Whether a changed access stamp is explained by owner, mode or list alone (design 4.18).
    fn content_is_as_known(&self, observed: &Observed, class: ClassId) -> bool {
        let Some(known) = &self.task.known else { return false };
        let explained = known.class != Some(class) || known.place != self.task.place;
        let confirmed = self.run.outputs.iter().all(|output| {
            self.held
                .get(&output.id)
                .is_some_and(|d| d.holding.sent.is_some() && d.holding.held == Some(d.holding.sent))
        });
        // What could not be read is not what an output holds, whatever its version says.
        let read = !self.run.failed.contains(self.task.id as u64);
        let version = self.run.hasher.version(self.task.own, &observed.content);
        explained
            && read
            && confirmed
            && !known.leaving
            && version.same(known.version)
            && known.settings == self.run.settings
    }

    fn class(&self, observed: &Observed) -> Result<ClassId> {
        let mut classes = self.run.classes();
        if let Some(id) = classes.find(&observed.level) {
            return Ok(id);
        }
        let Some(store) = &self.run.store else { return Ok(classes.pretend(&observed.level)) };
        Ok(store.write(Durability::Relaxed, |sql| {
            self.run.fence(sql)?;
            classes.intern(sql, &observed.level)
        })?)
    }

    fn visited(&self, observed: &Observed, class: ClassId) -> Visited {
        Visited {
            id: DocumentId(self.task.id),
            version: self.run.hasher.version(self.task.own, &observed.content),
            access: self.run.hasher.version(self.task.own, &observed.access),
            settings: self.run.settings,
            identity: observed.identity,
            class: Some(class),
            place: self.task.place,
        }
    }

    fn read(&self) -> std::result::Result<Read, Fault> {
        let mut passed = None;
        let observed =
            self.run.repository.fetch(&self.run.call, &self.task.name, &mut |record, content| {
                passed = Some(self.run.pipeline.pass(&self.run.call, record, content)?);
                Ok(())
            })?;
        let passed = passed.ok_or_else(|| Fault::broken("connector", "the connector gave no content"))?;
        self.run.progress.bytes(passed.bytes);
        Ok(Read { observed, passed })
    }

    fn made(self, read: Read) -> Result<Option<Visit>> {
        let class = self.class(&read.observed)?;
        let visited = self.visited(&read.observed, class);
        let access = access_digest(class, self.task.place);
        let without_times = self.run.definition.compare_content;
        let found: Vec<Found> = match read.passed.verdict {
            Verdict::Decline(reason) => vec![Found::Declined(reason); self.run.outputs.len()],
            Verdict::Pass => self
                .run
                .outputs
                .iter()
                .map(|output| Found::Made {
                    record: read.observed.record.digest(read.passed.content, output.settings, without_times),
                    access,
                })
                .collect(),
        };
        self.send(visited, Some(Arc::new(read.observed.record)), &found)
    }

    /// A known document that cannot be read now keeps its content and gets its new access at once.
    fn unreadable(mut self, fault: Fault) -> Result<Option<Visit>> {
        match self.run.repository.look(&self.run.call, &self.task.name) {
            Ok(observed) => {
                let class = self.class(&observed)?;
                self.send_access_ahead(&observed, class)?;
                let visited = self.visited(&observed, class);
                self.fault(fault, Some(visited))
            }
            Err(Fault::Gone) => self.fault(Fault::Gone, None),
            Err(_) => self.fault(fault, None),
        }
    }

    fn fault(self, fault: Fault, visited: Option<Visited>) -> Result<Option<Visit>> {
        let reason = fault.reason();
        let outcome = match fault {
            Fault::Gone => Outcome::Vanished,
            Fault::Passing { .. } => Outcome::Again(fault),
            Fault::Broken(_) => Outcome::Failed(reason),
            Fault::Refused(_) if reason.code == "unreadable" => Outcome::Failed(reason),
            Fault::Refused(_) => return self.declined(reason),
        };
        // What failed is tried again when it changes: the versions that were listed are the ones that failed.
        let visited = visited.or_else(|| self.listed());
        Ok(Some(Visit::new(self.task, visited, outcome, 0)))
    }

    fn listed(&self) -> Option<Visited> {
        let known = self.task.known.as_ref();
        Some(Visited {
            id: DocumentId(self.task.id),
            version: self.task.version,
            access: self.task.access,
            settings: self.run.settings,
            identity: self.task.identity,
            class: known.and_then(|known| known.class),
            place: known.map_or(self.task.place, |known| known.place),
        })
    }

    fn declined(self, reason: Reason) -> Result<Option<Visit>> {
        let found = vec![Found::Declined(reason); self.run.outputs.len().max(1)];
        match self.listed() {
            Some(visited) => self.send(visited, None, &found),
            None => Ok(None),
        }
    }

    /// Sends the access ahead of the content, so that a revocation never waits for a read (design 4.18).
    fn send_access_ahead(&mut self, observed: &Observed, class: ClassId) -> Result<()> {
        let visited = self.visited(observed, class);
        let found = Found::Looked { access: access_digest(class, self.task.place) };
        let steps: Vec<_> = self
            .run
            .outputs
            .iter()
            .enumerate()
            .filter(|(_, output)| decide(self.holding(output.id).as_ref(), &found) == Decision::DeliverAccess)
            .collect();
        if steps.is_empty() || self.run.store.is_none() {
            return Ok(());
        }
        // A visit of its own: it settles nothing, the one that follows does.
        let visit = Arc::new(Visit::new(self.task.clone(), None, Outcome::Unchanged, usize::MAX));
        for (place, output) in steps {
            let step = Step::Access { access: access_digest(class, self.task.place) };
            let prepared = self.prepared(&visit, output.id, step, None, &visited);
            self.run.outputs[place].push(self.run, prepared);
        }
        self.ahead = 1;
        Ok(())
    }

    fn holding(&self, output: ConnectionId) -> Option<Holding> {
        self.held.get(&output).map(|delivery| delivery.holding)
    }

    fn prepared(
        &self,
        visit: &Arc<Visit>,
        output: ConnectionId,
        step: Step,
        record: Option<Arc<Record>>,
        visited: &Visited,
    ) -> Prepared {
        let held = self.held.get(&output);
        Prepared {
            visit: visit.clone(),
            uri: record.as_ref().map_or_else(|| self.run.repository.uri(&self.task.name), |r| r.uri.clone()),
            step,
            record,
            class: visited.class,
            place: visited.place,
            seq: held.map_or(0, |delivery| delivery.seq) + self.ahead,
            first: self.is_first(output),
        }
    }

    /// Decides for every output and hands over what has to be sent; `found` is one for all, or one per output.
    fn send(self, visited: Visited, record: Option<Arc<Record>>, found: &[Found]) -> Result<Option<Visit>> {
        let mut steps = Vec::new();
        let mut outcome = Outcome::Unchanged;
        for (place, output) in self.run.outputs.iter().enumerate() {
            let found = &found[place.min(found.len() - 1)];
            match (decide(self.holding(output.id).as_ref(), found), found) {
                (Decision::Skip, _) => {}
                (Decision::Deliver, Found::Made { record, access }) => {
                    steps.push((place, Step::Put { version: *record, access: *access }));
                }
                (Decision::DeliverAccess, Found::Made { access, .. } | Found::Looked { access }) => {
                    steps.push((place, Step::Access { access: *access }));
                }
                (Decision::Record(reason), _) => outcome = Outcome::Skipped(reason),
                (Decision::Remove, Found::Declined(reason)) => {
                    outcome = Outcome::Skipped(reason.clone());
                    steps.push((place, Step::Delete));
                }
                (decision, found) => {
                    let told = format!("undecidable: {decision:?} for {found:?}");
                    return Err(StoreError::Refused(told).into());
                }
            }
        }
        if steps.is_empty() || self.run.store.is_none() {
            for (place, step) in &steps {
                let first = self.is_first(self.run.outputs[*place].id);
                outcome = outcome.or(step.outcome(first));
            }
            return Ok(Some(Visit::new(self.task, Some(visited), outcome, 0)));
        }
        let visit = Arc::new(Visit::new(self.task.clone(), Some(visited), outcome, steps.len()));
        for (place, step) in steps {
            let output = &self.run.outputs[place];
            let prepared = self.prepared(&visit, output.id, step, record.clone(), &visited);
            output.push(self.run, prepared);
        }
        Ok(None)
    }

    /// Whether the output never confirmed anything of this document.
    fn is_first(&self, output: ConnectionId) -> bool {
        self.held.get(&output).is_none_or(|d| d.holding.held.is_none() && d.outcome.is_none())
            && self.task.known.is_none_or(|known| known.class.is_none())
    }
}
