//! A visit from its claim to the transaction that completes it: one outcome per document and run.

use std::sync::Arc;

use ingather_model::fault::Reason;
use ingather_model::job::Keep;
use ingather_model::lifecycle::outcome::{FailureCode, FailureKind};
use ingather_model::limits;
use ingather_model::retry::{self, Attempts, Next};
use ingather_model::run_counts::{Counter, RunCounts};
use ingather_store::documents::inbox::tickets::Outcome as TicketOutcome;
use ingather_store::documents::links;
use ingather_store::events::{self, Lasts};
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::queue::{self, Failure, VisitReason, VisitRequest};
use ingather_store::runs::history::Noted;
use ingather_store::states::{self, EndedVisit};
use ingather_store::{Durability, Sql, StoreError, deliveries, extracts};

use super::outcome::{Outcome, PendingVisit};
use crate::dispatcher::WorkItem;
use crate::error::Result;
use crate::run::dating::{self, DatedVisit};
use crate::run::history;
use crate::run::reach::Reach;
use crate::run::state::RunState;
use crate::run::tickets;

/// A visit that is complete, with the rows that follow from its outcome; worked out before the transaction.
struct CompletedVisit<'v> {
    visit: &'v PendingVisit,
    outcome: Outcome,
    failure: Option<Failure>,
    again_at: Option<i64>,
}

impl CompletedVisit<'_> {
    /// What became of the ticket that this visit was asked for by; none while that is not known.
    fn ticket(&self) -> Option<tickets::Ended<'_>> {
        let item = &self.visit.item;
        // Whoever pushed it hears that it is found by a part of it alone.
        let done = |word| match &self.visit.artifacts.partial {
            Some(why) => TicketOutcome::of(word, why),
            None => TicketOutcome::plain(word),
        };
        let outcome = match &self.outcome {
            Outcome::Updated | Outcome::Added | Outcome::Access => done("indexed"),
            Outcome::Unchanged => done("unchanged"),
            Outcome::Skipped(reason) => TicketOutcome::of("skipped", reason),
            Outcome::Failed(reason) => TicketOutcome::of("failed", reason),
            Outcome::Again(_) if failpoint(Failpoint::PassingCompletesTicket) => {
                TicketOutcome::plain("indexed")
            }
            Outcome::Again(_) | Outcome::Vanished => return None,
        };
        let is_skipped = matches!(self.outcome, Outcome::Skipped(_));
        Some(tickets::Ended { document: item.id, requests: item.request_count?, outcome, is_skipped })
    }

    /// Its document, when the next attempt is made, and why; none where there is none.
    fn retry(&self) -> Option<(i64, i64, &str)> {
        let failure = self.failure.as_ref().filter(|failure| failure.kind == FailureKind::Retrying)?;
        Some((self.visit.item.id, self.again_at?, &failure.message))
    }

    fn visited(&self) -> DatedVisit<'_> {
        let PendingVisit { item, update, artifacts, .. } = self.visit;
        // What is tried again keeps its version until it is over: a change counts once, however often it was sent.
        let is_changed = self.visit.was_read()
            && item
                .known
                .as_ref()
                .zip(*update)
                .is_some_and(|(known, update)| known.is_settled() && !update.version.same(known.version));
        let expired = FailureCode::Expired.as_str();
        let is_expired = self.failure.as_ref().is_some_and(|failure| failure.code == expired);
        DatedVisit { document: item.id, sighting: artifacts.sighting.as_ref(), is_changed, is_expired }
    }
}

/// Visits of one run that are over.
struct Completion<'v> {
    run: &'v Arc<RunState>,
    completed: Vec<CompletedVisit<'v>>,
    /// Documents that may have waited for events once.
    waited: Vec<i64>,
}

/// Rows of visits that are over, for the transaction that ends them; [`Completions::counted`] after its commit.
pub(crate) struct Completions<'v> {
    by_run: Vec<Completion<'v>>,
}

impl<'v> Completions<'v> {
    /// Works out what follows.
    pub(crate) fn new(visits: impl IntoIterator<Item = &'v PendingVisit>) -> Completions<'v> {
        let mut by_run: Vec<Completion<'v>> = Vec::new();
        for visit in visits {
            let completed = follow(&visit.run, visit, visit.run.call.now());
            // An output has changes of few runs at a time.
            match by_run.iter_mut().find(|of| Arc::ptr_eq(of.run, &visit.run)) {
                Some(of) => of.completed.push(completed),
                None => by_run.push(Completion {
                    run: &visit.run,
                    completed: vec![completed],
                    waited: Vec::new(),
                }),
            }
        }
        for Completion { run, completed, waited } in &mut by_run {
            if let Some(reach) = &run.reach {
                *waited = reach.waited_once(completed.iter().map(|completed| completed.visit.item.id));
            }
        }
        Completions { by_run }
    }

    /// Locks, on PostgreSQL, what they and acceptances of pushes both change, before anything of them is written; and so many other documents that are removed
    /// in the same transaction.
    pub(crate) fn hold(&self, sql: &mut Sql<'_>, others: Vec<i64>) -> std::result::Result<(), StoreError> {
        hold(sql, &self.by_run, others)
    }

    /// Writes them.
    pub(crate) fn write(&self, sql: &mut Sql<'_>) -> std::result::Result<(), StoreError> {
        self.by_run.iter().try_for_each(|completion| completion.write(sql))
    }

    /// Counts them, once they are on disk. Their runs go on when they are dropped.
    pub(crate) fn counted(&self) {
        self.by_run.iter().for_each(Completion::counted);
    }
}

impl Completion<'_> {
    fn write(&self, sql: &mut Sql<'_>) -> std::result::Result<(), StoreError> {
        let run = self.run;
        let mut ended = Vec::with_capacity(self.completed.len());
        let mut unkept = Vec::new();
        for completed in &self.completed {
            let item = &completed.visit.item;
            let is_vanished = completed.outcome == Outcome::Vanished;
            let mut end =
                EndedVisit { document: item.id, is_new: item.known.is_none(), ..EndedVisit::default() };
            // A first visit that is not over gets its row now.
            let waits = |due| Some(VisitRequest { document: item.id, due, reason: VisitReason::Retry });
            match completed.again_at {
                Some(at) if item.request_count.is_none() => end.request = waits(at),
                Some(at) => end.again = Some(at),
                None if is_vanished && item.request_count.is_none() => end.request = waits(run.call.now()),
                // What vanished keeps its work row until the sweep has decided.
                None if is_vanished => {}
                None => {
                    (end.done, end.update) = (item.request_count, completed.visit.update);
                    if let Some(kept) = &completed.visit.artifacts.kept {
                        deliveries::keep_components(sql, item.id, kept)?;
                    }
                    if run.reach.is_some() {
                        links::keep_memo(sql, item.id, &completed.visit.artifacts.memo)?;
                    }
                    match &completed.visit.artifacts.extract {
                        Some(extract) => extracts::put(sql, item.id, extract)?,
                        None if completed.visit.was_read() => unkept.push(item.id),
                        None => {}
                    }
                }
            }
            if matches!(completed.outcome, Outcome::Skipped(_)) {
                unkept.push(item.id);
            }
            // Where the process dies before the sweep, since when a page is missing is known still.
            let is_mended = completed.failure.is_none() && !(is_vanished && run.reach.is_some());
            end.is_mended = is_mended && run.had_failure(item);
            end.failure.clone_from(&completed.failure);
            ended.push(end);
        }
        // Nothing is kept of what nobody wants, and nothing of before where something else was read and is not kept.
        if !unkept.is_empty() && run.definition.keep == Keep::Extracted {
            extracts::forget(sql, &unkept)?;
        }
        events::drop_prerequisites(sql, &self.waited, Lasts::Once)?;
        states::end(sql, run.job.id, run.number, run.call.now(), &ended)?;
        if run.author.is_pushed {
            let ended = self.completed.iter().filter_map(CompletedVisit::ticket).collect();
            tickets::ended(sql, run.job.id, ended, run.call.now())?;
            let retries: Vec<(i64, i64, &str)> =
                self.completed.iter().filter_map(CompletedVisit::retry).collect();
            tickets::retried(sql, &retries, run.call.now())?;
        }
        if !failpoint(Failpoint::DateAfterTheVisit) {
            self.date(sql)?;
        }
        history::note(sql, run, run.call.now(), self.noted().collect())
    }

    /// Writes when its documents are looked at next, where they have dates.
    fn date(&self, sql: &mut Sql<'_>) -> std::result::Result<(), StoreError> {
        let run = self.run;
        let Some(dating) = &run.dating else { return Ok(()) };
        let is_over = |completed: &&CompletedVisit<'_>| completed.again_at.is_none();
        let visited: Vec<DatedVisit<'_>> =
            self.completed.iter().filter(is_over).map(CompletedVisit::visited).collect();
        dating::write(sql, &run.job, dating, &visited, run.call.now())
    }

    /// What of it the history of the job is to have.
    fn noted(&self) -> impl Iterator<Item = Noted<'_>> {
        let run = self.run;
        self.completed
            .iter()
            .filter(move |completed| history::wants(run, &completed.outcome, completed.again_at))
            .map(move |completed| {
                let PendingVisit { item, artifacts, .. } = completed.visit;
                let why =
                    |field: fn(&Failure) -> &str| completed.failure.as_ref().map(field).unwrap_or_default();
                Noted {
                    code: why(|failure| &failure.code),
                    message: history::beginning(why(|failure| &failure.message)),
                    bytes: i64::try_from(artifacts.bytes).unwrap_or(i64::MAX),
                    ..Noted::of(item.id, &item.name, history::word(run, item.id, &completed.outcome))
                }
            })
    }

    fn counted(&self) {
        let run = self.run;
        if let Some(store) = run.store.as_ref().filter(|_| failpoint(Failpoint::DateAfterTheVisit)) {
            drop(store.write(Durability::Relaxed, |sql| self.date(sql)));
        }
        history::noted(run, self.noted().count());
        run.count(|counts| {
            for completed in &self.completed {
                count_once(run, counts, completed);
            }
        });
        for completed in &self.completed {
            if let Some(failure) = &completed.failure {
                let name = &completed.visit.item.name;
                tracing::debug!(
                    document = name,
                    code = failure.code,
                    reason = failure.message,
                    "not indexed"
                );
            }
        }
    }
}

/// Locks what ends of visits and acceptances of pushes both change, in one order: documents, then numbers of reports, then counters.
fn hold(
    sql: &mut Sql<'_>,
    completions: &[Completion<'_>],
    others: Vec<i64>,
) -> std::result::Result<(), StoreError> {
    let pushed = completions.iter().filter(|completion| completion.run.author.is_pushed);
    let mut documents = others;
    documents.extend(pushed.flat_map(|of| of.completed.iter().map(|completed| completed.visit.item.id)));
    if documents.is_empty() {
        return Ok(());
    }
    states::hold(sql, &documents)?;
    tickets::hold_reports(sql)
}

/// Ends visits in a transaction of their own. It may be lost: they are then made again.
pub(crate) fn complete<'v>(visits: impl IntoIterator<Item = &'v PendingVisit>) -> Result<()> {
    for completion in Completions::new(visits).by_run {
        let run = completion.run;
        if let Some(store) = &run.store {
            store.write(Durability::Relaxed, |sql| {
                run.fence(sql)?;
                hold(sql, std::slice::from_ref(&completion), Vec::new())?;
                completion.write(sql)
            })?;
        }
        completion.counted();
    }
    Ok(())
}

fn follow<'v>(run: &RunState, visit: &'v PendingVisit, now: i64) -> CompletedVisit<'v> {
    let outcome = visit.outcome();
    let id = visit.item.id;
    let most = match &outcome {
        Outcome::Again(fault) => fault.attempts_max(limits::ATTEMPTS_MAX),
        _ => limits::ATTEMPTS_MAX,
    };
    let failure = |kind: FailureKind, attempts: i64, reason: Reason| Failure {
        document: id,
        kind,
        attempts,
        attempts_max: i64::from(most),
        code: reason.code,
        message: reason.message,
        give_up_at: None,
    };
    let (outcome, failure, again_at) = match outcome {
        Outcome::Skipped(reason) => {
            (Outcome::Skipped(reason.clone()), Some(failure(FailureKind::Skipped, 0, reason)), None)
        }
        Outcome::Failed(reason) => {
            (Outcome::Failed(reason.clone()), Some(failure(FailureKind::Failed, 1, reason)), None)
        }
        Outcome::Again(fault) => {
            let made = run.attempt(&visit.item);
            let reason = fault.reason();
            let since = if fault.is_missing() { run.missing_since(&visit.item, now) } else { now };
            let is_believed = fault.is_missing() && is_believed_early(made);
            let give_up_at = run.cut_off(&visit.item, fault.give_up_at());
            let attempts = Attempts { made, most: limits::ATTEMPTS_MAX, since, give_up_at };
            match retry::after(&fault, attempts, now) {
                Next::Again { .. } if is_believed => (Outcome::Vanished, None, None),
                Next::Again { at } => {
                    let failure = failure(FailureKind::Retrying, i64::from(made), reason);
                    (Outcome::Again(fault), Some(Failure { give_up_at, ..failure }), Some(at))
                }
                Next::Vanish => (Outcome::Vanished, None, None),
                Next::Keep => {
                    // Looked at again in the next run, whenever that is: its version stays as it was.
                    (
                        Outcome::Again(fault),
                        Some(failure(FailureKind::Retrying, i64::from(made), reason)),
                        Some(queue::DUE_NEXT_RUN),
                    )
                }
                next => {
                    if next == Next::AbortJob {
                        run.abort(&reason.message);
                    }
                    (
                        Outcome::Failed(reason.clone()),
                        Some(failure(FailureKind::Failed, i64::from(made), reason)),
                        None,
                    )
                }
            }
        }
        other => (other, None, None),
    };
    CompletedVisit { visit, outcome, failure, again_at }
}

/// Whether a planted fault has a page be gone that was missing so often.
fn is_believed_early(made: u32) -> bool {
    failpoint(Failpoint::MissingAtOnce) || (failpoint(Failpoint::MissingAtTheSecondLook) && made > 1)
}

/// Counts a document once, also where the run has visited it before: as what the last visit found, or as new.
fn count_once(run: &RunState, counts: &mut RunCounts, completed: &CompletedVisit<'_>) {
    let item = &completed.visit.item;
    let Some(reach) = &run.reach else {
        count(run, counts, completed);
        return;
    };
    let before = reach.counted(item.id);
    let is_there = matches!(completed.outcome, Outcome::Updated | Outcome::Access | Outcome::Unchanged);
    if before == Some(Counter::Added) && is_there {
        visit_over(run, reach, item, before);
        return;
    }
    if let Some(before) = before {
        *counts.counter(before) -= 1;
    }
    let now = count(run, counts, completed);
    visit_over(run, reach, item, now);
}

fn visit_over(run: &RunState, reach: &Reach, item: &WorkItem, counted: Option<Counter>) {
    if reach.visit_over(item, counted, || run.dispatcher.first_bin_of(&item.name)) {
        run.dispatcher.stir();
    }
}

/// Counts a visit: as what, where it is over.
fn count(run: &RunState, counts: &mut RunCounts, completed: &CompletedVisit<'_>) -> Option<Counter> {
    let id = completed.visit.item.id;
    let waited = run.was_waiting(&completed.visit.item, completed.again_at);
    if waited {
        counts.waiting -= 1;
    }
    // Some outputs may have taken a new document before another one made it wait.
    let first = run.is_fresh(id, completed.again_at.is_some() && completed.visit.item.known.is_none());
    let is_over = !matches!(completed.outcome, Outcome::Failed(_) | Outcome::Again(_) | Outcome::Vanished);
    counts.partial += u64::from(completed.visit.artifacts.partial.is_some() && is_over);
    let counted = match &completed.outcome {
        Outcome::Updated | Outcome::Access if first => Counter::Added,
        Outcome::Unchanged => Counter::Unchanged,
        Outcome::Access => Counter::Access,
        Outcome::Updated => Counter::Updated,
        Outcome::Added => Counter::Added,
        Outcome::Skipped(_) => Counter::Skipped,
        Outcome::Failed(_) => {
            run.note_failed(id);
            Counter::Failed
        }
        Outcome::Again(_) => {
            counts.waiting += 1;
            return None;
        }
        Outcome::Vanished => {
            run.note_vanished(id);
            return None;
        }
    };
    *counts.counter(counted) += 1;
    Some(counted)
}
