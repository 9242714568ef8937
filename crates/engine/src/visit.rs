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
use ingather_store::mutations::{Mutation, planted};
use ingather_store::work::Cause;
use ingather_store::{Durability, StoreError};

use crate::board::Task;
use crate::deliver::{Prepared, Step};
use crate::error::Result;
use crate::outputs::OutputSlot;
use crate::pipeline::Passed;
use crate::run::Run;
use crate::settle::{Outcome, Settling, Visit};

/// What each output holds of one document.
type Holdings = HashMap<ConnectionId, Delivery>;

/// Visits a claim of documents; what no output has to hear of is settled here, in one transaction.
pub(crate) fn visit_all(run: &Run, tasks: Vec<Task>) -> Result<()> {
    let mut holdings = holdings_of(run, &tasks)?;
    let claimed = tasks.len();
    let mut quiet = Vec::new();
    let mut reading = Vec::new();
    for task in tasks {
        if run.stops() {
            // It stays in the store as it was; the next run goes on.
            run.board.release(1);
            continue;
        }
        let held = holdings.remove(&task.id).unwrap_or_default();
        match (Visiting { run, task, held }).look()? {
            Looked::Over(visit) => quiet.extend(visit),
            Looked::Reads(visiting) => reading.push(visiting),
        }
    }
    // No change of access waits for the content of another document.
    for visiting in reading {
        if run.stops() {
            run.board.release(1);
            continue;
        }
        quiet.extend(visiting.read_and_send()?);
    }
    settle(run, quiet.iter().collect())?;
    if run.board.visited(claimed) {
        run.outputs.iter().for_each(OutputSlot::notify);
    }
    Ok(())
}

/// Ends visits in a transaction of their own. It may be lost: they are then made again.
pub(crate) fn settle(run: &Run, visits: Vec<&Visit>) -> Result<()> {
    if visits.is_empty() {
        return Ok(());
    }
    let settling = Settling::new(run, visits);
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

/// Access of an entry without a class: nobody finds it.
const NOBODY: Digest = Digest(1);

/// Digest of what decides about access: equal references are equal access.
pub(crate) fn access_digest(class: Option<ClassId>, place: Option<PlaceId>) -> Digest {
    let place = place.map_or(0, |place| place.0);
    let mixed = class.map_or(0, |class| class.0).wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64)
        ^ place.rotate_left(32);
    if mixed == 0 { NOBODY } else { Digest(mixed) }
}

struct Visiting<'r> {
    run: &'r Run,
    task: Task,
    held: Holdings,
}

/// What a look at a document led to.
enum Looked<'r> {
    /// Its visit is over, or waits for outputs.
    Over(Option<Visit>),
    /// Its content is needed.
    Reads(Visiting<'r>),
}

/// A document as read: its record, or why it is not wanted.
struct Read {
    observed: Observed,
    passed: Passed,
}

impl<'r> Visiting<'r> {
    /// Looks at a document whose access may have changed; all others are to be read.
    fn look(self) -> Result<Looked<'r>> {
        if self.task.cause != Cause::Access || self.task.known.is_none() {
            return Ok(Looked::Reads(self));
        }
        let observed = match self.run.repository.look(&self.run.call, &self.task.name) {
            Ok(observed) => observed,
            Err(fault) => return self.fault(fault, None).map(Looked::Over),
        };
        let class = self.class(&observed)?;
        let by_reference = self.run.outputs.iter().all(|output| output.can.access);
        if by_reference && self.content_is_as_known(&observed, class) {
            let visited = self.visited(&observed, class);
            let found = Found::Looked { access: access_digest(Some(class), self.task.place) };
            return self.send(visited, None, &[found]).map(Looked::Over);
        }
        self.send_access_ahead(&observed, class)?;
        Ok(Looked::Reads(self))
    }

    /// Reads and sends; gives the visit back when no output has to hear of it.
    fn read_and_send(self) -> Result<Option<Visit>> {
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
        let access = access_digest(Some(class), self.task.place);
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
    ///
    /// It has failed only when every output has the access: otherwise nothing would ask for it any more.
    fn unreadable(self, fault: Fault) -> Result<Option<Visit>> {
        let observed = match self.run.repository.look(&self.run.call, &self.task.name) {
            Ok(observed) => observed,
            Err(Fault::Gone) => return self.fault(Fault::Gone, None),
            Err(_) => return self.fault(fault, None),
        };
        let class = self.class(&observed)?;
        let mut visited = self.visited(&observed, class);
        let access = self.access_of_old_content(&visited);
        if let Some(known) = self.task.known.as_ref().filter(|_| self.holds_old_content(&visited)) {
            // Asked for again in the next run: what outputs hold is of that version still.
            visited.version = known.version;
        }
        let found = Found::Looked { access };
        let steps = self.access_steps(&found).map(|place| {
            // Without the record such an output cannot be told: it must not show it to the wrong people.
            let by_reference = self.run.outputs[place].can.access;
            (place, if by_reference { Step::Access { access } } else { Step::Delete })
        });
        let steps: Vec<_> = steps.collect();
        self.hand_over(visited, None, steps, Outcome::Failed(fault.reason()))
    }

    /// Outputs that hold the document with other access, by place.
    fn access_steps(&self, found: &Found) -> impl Iterator<Item = usize> {
        let outputs = self.run.outputs.iter().enumerate();
        outputs
            .filter(|(_, output)| decide(self.holding(output.id).as_ref(), found) == Decision::DeliverAccess)
            .map(|(place, _)| place)
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
    fn send_access_ahead(&self, observed: &Observed, class: ClassId) -> Result<()> {
        let found = Found::Looked { access: access_digest(Some(class), self.task.place) };
        let steps: Vec<usize> =
            self.access_steps(&found).filter(|place| self.run.outputs[*place].can.access).collect();
        if steps.is_empty() || self.run.store.is_none() {
            return Ok(());
        }
        let visited = self.visited(observed, class);
        let access = self.access_of_old_content(&visited);
        // A visit of its own: it settles nothing, the one that follows does.
        let visit = Arc::new(Visit::new(self.task.clone(), None, Outcome::Unchanged, usize::MAX));
        for place in steps {
            let prepared = self.prepared(&visit, Step::Access { access }, None, &visited);
            self.run.outputs[place].push(self.run, prepared);
        }
        Ok(())
    }

    /// Access for the content that outputs hold while the new one was not read: as the document has it now, if its content
    /// is as it was; otherwise nobody's, for the new access was never meant for the old content.
    fn access_of_old_content(&self, visited: &Visited) -> Digest {
        let hidden = self.holds_old_content(visited) && !planted(Mutation::NewAccessOnOldContent);
        if hidden { NOBODY } else { access_digest(visited.class, visited.place) }
    }

    fn holds_old_content(&self, visited: &Visited) -> bool {
        let id = self.task.id as u64;
        // What failed has the version of what was not sent, unless it could only not be read.
        let unsent = self.run.failed.contains(id) && !self.run.unreadable.contains(id);
        unsent || !self.task.known.as_ref().is_some_and(|known| visited.version.same(known.version))
    }

    fn holding(&self, output: ConnectionId) -> Option<Holding> {
        self.held.get(&output).map(|delivery| delivery.holding)
    }

    fn prepared(
        &self,
        visit: &Arc<Visit>,
        step: Step,
        record: Option<Arc<Record>>,
        visited: &Visited,
    ) -> Prepared {
        let hidden = matches!(step, Step::Access { access: NOBODY });
        Prepared {
            visit: visit.clone(),
            uri: record.as_ref().map_or_else(|| self.run.repository.uri(&self.task.name), |r| r.uri.clone()),
            step,
            record,
            class: visited.class.filter(|_| !hidden),
            place: visited.place,
            first: self.is_first(),
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
                (Decision::DeliverAccess, Found::Made { record, access }) if !output.can.access => {
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
        self.hand_over(visited, record, steps, outcome)
    }

    /// Hands over what has to be sent; gives the visit back when that is nothing.
    fn hand_over(
        self,
        visited: Visited,
        record: Option<Arc<Record>>,
        steps: Vec<(usize, Step)>,
        mut outcome: Outcome,
    ) -> Result<Option<Visit>> {
        if steps.is_empty() || self.run.store.is_none() {
            for (_, step) in &steps {
                outcome = outcome.or(step.outcome(self.is_first()));
            }
            return Ok(Some(Visit::new(self.task, Some(visited), outcome, 0)));
        }
        let visit = Arc::new(Visit::new(self.task.clone(), Some(visited), outcome, steps.len()));
        for (place, step) in steps {
            self.run.outputs[place].push(self.run, self.prepared(&visit, step, record.clone(), &visited));
        }
        Ok(None)
    }

    /// Whether no output ever confirmed anything of this document, or all of them have let it go since.
    fn is_first(&self) -> bool {
        let was_held =
            |delivery: &Delivery| matches!(delivery.outcome.as_deref(), Some("overwritten" | "lost"));
        !self.is_held() && !self.held.values().any(was_held)
    }
}
