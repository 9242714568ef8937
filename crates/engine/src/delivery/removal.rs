//! Documents that are on their way out of outputs: each is forgotten once the last output that holds something of it has let it go.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use ingather_model::fault::Reason;
use ingather_model::ids::{ConnectionId, Digest, JobId};
use ingather_model::job::history::HistoryOutcome;
use ingather_model::merge::Known;
use ingather_store::queue::{self, VisitReason, VisitRequest};
use ingather_store::runs::history::{self, Noted};
use ingather_store::turns::{Monitor, lock};
use ingather_store::{Sql, StoreError, documents};

use super::author::Author;
use super::output_user::OutputUser;
use crate::error::{EngineError, Result};
use crate::progress::Progress;
use crate::visit::outcome::Answers;

/// What became of documents that were to be removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// Taken out of every output, or never held by one that some other job does not still feed.
    pub deleted: u64,
    /// Never delivered anywhere; their rows are gone.
    pub forgotten: u64,
    /// Some output did not confirm, or was not told; they stay known and are tried again in the next run.
    pub kept: u64,
    /// Those of them whose names the store has lost: nobody can say what an output is to take out.
    pub unaddressable: u64,
    /// It was asked to stop before its end.
    pub stopped: bool,
}

impl Removed {
    pub(crate) fn add(&mut self, other: Removed) {
        self.deleted += other.deleted;
        self.forgotten += other.forgotten;
        self.kept += other.kept;
        self.unaddressable += other.unaddressable;
    }
}

#[derive(Default)]
struct State {
    /// Handed over, and not answered by all outputs.
    open: usize,
    removed: Removed,
    error: Option<EngineError>,
    /// Nothing more is being handed over.
    waits: bool,
}

/// Removals that are handed over together: how many are on their way, and what became of the others.
pub(crate) struct RemovalTicket {
    pub(crate) author: Arc<Author>,
    progress: Arc<Progress>,
    /// The run in whose name they are noted in the history of the job, where that has every document.
    pub(crate) noted_by: Option<i64>,
    state: Monitor<State>,
    /// Held by the sender that settles some of them.
    settles: Mutex<()>,
}

impl RemovalTicket {
    pub(crate) fn new(
        author: Arc<Author>,
        progress: Arc<Progress>,
        noted_by: Option<i64>,
    ) -> Arc<RemovalTicket> {
        let (state, settles) = (Monitor::default(), Mutex::default());
        Arc::new(RemovalTicket { author, progress, noted_by, state, settles })
    }

    /// One more document is handed over, with so many changes.
    pub(crate) fn open(
        self: &Arc<Self>,
        document: i64,
        name: &str,
        changes: usize,
        (left, erases, left_out): (Option<Left>, bool, Option<Reason>),
    ) -> Arc<PendingRemoval> {
        let mut state = self.state.lock();
        (state.open, state.waits) = (state.open + 1, false);
        drop(state);
        Arc::new(PendingRemoval {
            ticket: self.clone(),
            document,
            name: name.to_owned(),
            left,
            erases,
            left_out,
            answers: Answers::of(changes),
            is_kept: AtomicBool::new(false),
            is_complete: AtomicBool::new(false),
        })
    }

    /// Waits until all that was handed over is answered.
    ///
    /// # Errors
    /// When an output has failed meanwhile.
    pub(crate) fn wait(&self) -> Result<Removed> {
        let mut state = self.state.lock();
        state.waits = true;
        let mut state = self.state.wait_while(state, |state| state.open > 0);
        match state.error.take() {
            Some(error) => Err(error),
            None => Ok(std::mem::take(&mut state.removed)),
        }
    }

    fn over(&self, is_kept: bool) {
        let mut state = self.state.lock();
        state.open -= 1;
        match is_kept {
            true => state.removed.kept += 1,
            false => state.removed.deleted += 1,
        }
        drop(state);
        if !is_kept {
            self.progress.removed(1);
        }
        self.state.notify();
    }
}

impl OutputUser for RemovalTicket {
    fn nothing_comes(&self) -> bool {
        self.state.lock().waits
    }

    fn stops(&self) -> bool {
        self.state.lock().error.is_some()
    }

    fn fail(&self, error: EngineError) {
        self.state.lock().error.get_or_insert(error);
    }
}

/// An output that a job uses no more.
#[derive(Clone, Copy)]
pub(crate) struct Left {
    pub(crate) output: ConnectionId,
    /// Digest of what documents pass through now: those that were visited since have it in their rows.
    pub(crate) settings: Digest,
}

/// One document whose removal waits for the answers of outputs.
pub(crate) struct PendingRemoval {
    pub(crate) ticket: Arc<RemovalTicket>,
    pub(crate) document: i64,
    /// Its name in the job; empty when the store has lost it.
    pub(crate) name: String,
    /// Only one output lets it go: the job uses it no more.
    left: Option<Left>,
    /// A person has erased it: what it alone has sent stays in no output, however soon another owner sends its own.
    pub(crate) erases: bool,
    /// Something leads to it: it stays known as left out, with this reason.
    left_out: Option<Reason>,
    pub(crate) answers: Answers,
    /// Some output did not confirm.
    is_kept: AtomicBool,
    is_complete: AtomicBool,
}

impl PendingRemoval {
    /// Takes note of what one output says.
    pub(crate) fn note(&self, confirmed: bool) {
        if !confirmed {
            self.is_kept.store(true, Ordering::Release);
        }
    }

    fn is_gone(&self) -> bool {
        !self.is_kept.load(Ordering::Acquire)
    }
}

impl Drop for PendingRemoval {
    fn drop(&mut self) {
        let is_gone = self.is_complete.load(Ordering::Acquire) && self.is_gone();
        self.ticket.over(!is_gone);
    }
}

/// Removals of which outputs have answered, with the number of their answers.
pub(crate) struct Removals<'r> {
    answered: Vec<(&'r PendingRemoval, usize)>,
    /// In an order that all senders share.
    tickets: Vec<&'r Arc<RemovalTicket>>,
}

/// The same while no other sender settles removals of these tickets: of two outputs that answer at the same time one is the last, so
/// that a document goes with its last entry, in one transaction. For visits that is not needed, since a visit that is not settled
/// waits for the next run; nothing waits for a document that no output holds.
pub(crate) struct Alone<'r> {
    last: Vec<&'r PendingRemoval>,
    answered: &'r [(&'r PendingRemoval, usize)],
    _settles: Vec<MutexGuard<'r, ()>>,
}

impl<'r> Removals<'r> {
    pub(crate) fn of(answered: Vec<(&'r PendingRemoval, usize)>) -> Removals<'r> {
        let mut tickets: Vec<&Arc<RemovalTicket>> =
            answered.iter().map(|(removal, _)| &removal.ticket).collect();
        tickets.sort_unstable_by_key(|ticket| Arc::as_ptr(ticket));
        tickets.dedup_by_key(|ticket| Arc::as_ptr(ticket));
        Removals { answered, tickets }
    }

    pub(crate) fn alone(&'r self) -> Alone<'r> {
        let settles = self.tickets.iter().map(|ticket| lock(&ticket.settles)).collect();
        let is_last = |(removal, answers): &&(&PendingRemoval, usize)| removal.answers.waits_for(*answers);
        let last = self.answered.iter().filter(is_last).map(|(removal, _)| *removal).collect();
        Alone { last, answered: &self.answered, _settles: settles }
    }
}

impl Alone<'_> {
    /// Documents that applications push, and that are gone with these answers.
    pub(crate) fn pushed(&self) -> Vec<i64> {
        let of_pushed = self.last.iter().filter(|removal| removal.ticket.author.is_pushed);
        of_pushed.map(|removal| removal.document).collect()
    }

    /// Writes what follows from the last answers: nothing is known any more of what no output holds.
    pub(crate) fn write(&self, sql: &mut Sql<'_>, now: i64) -> std::result::Result<(), StoreError> {
        let mut gone: BTreeMap<(JobId, Option<Digest>), (&Author, Vec<i64>)> = BTreeMap::new();
        let mut noted: BTreeMap<(JobId, i64), Vec<Noted<'_>>> = BTreeMap::new();
        let mut aside: BTreeMap<JobId, Vec<(i64, &Reason)>> = BTreeMap::new();
        for removal in self.last.iter().filter(|removal| removal.is_gone()) {
            let left = removal.left.map(|left| left.settings);
            let job = removal.ticket.author.job;
            match &removal.left_out {
                Some(why) => aside.entry(job).or_default().push((removal.document, why)),
                None => {
                    let (_, gone) =
                        gone.entry((job, left)).or_insert_with(|| (&*removal.ticket.author, Vec::new()));
                    gone.push(removal.document);
                }
            }
            if let (Some(run), None) = (removal.ticket.noted_by, left) {
                let code = removal.left_out.as_ref().map_or("", |why| why.code.as_str());
                let row =
                    Noted { code, ..Noted::of(removal.document, &removal.name, HistoryOutcome::Removed) };
                noted.entry((job, run)).or_default().push(row);
            }
        }
        for ((job, run), rows) in noted {
            history::note(sql, job, run, now, &rows)?;
        }
        for (job, whys) in aside {
            queue::set_aside(sql, job, now, &whys)?;
        }
        for ((job, left), (author, documents)) in gone {
            let Some(settings) = left else {
                author.forget(sql, &documents, now)?;
                continue;
            };
            // What no visit has seen since the job has other outputs speaks of the outputs of before, and would fit again when this
            // one comes back: the next run looks at it.
            let unseen = documents::get(sql, &documents)?.into_iter();
            let unseen = unseen.map(|stored| stored.known).filter(|known| known.settings != settings);
            let resend =
                |known: Known| VisitRequest { document: known.id.0, due: now, reason: VisitReason::Resend };
            let requests: Vec<VisitRequest> = unseen.map(resend).collect();
            queue::enqueue(sql, job, 0, &requests)?;
        }
        Ok(())
    }

    /// They are on disk.
    pub(crate) fn counted(self) {
        self.last.iter().for_each(|removal| removal.is_complete.store(true, Ordering::Release));
        for (removal, answers) in self.answered {
            removal.answers.close(*answers);
        }
    }
}
