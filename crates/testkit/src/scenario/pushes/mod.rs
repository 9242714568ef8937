//! Clients that push into sources, and their delta runs.
//!
//! ```text
//! job docs over=push to=one access=anna   a source that clients push into; who may see records that do not say it: a name, `open`, or nobody
//! job docs over=push to=one buffer=500/2000 what changes is buffered for half a second since its last change, and for two since its first one
//! push docs a v1 access:anna hash:h1 version:3, b gone, c[1-120] v1   one call; also `if_changed`, and `bad` for what cannot be taken
//! delta docs c1 open [additive] [lease:60]   a client opens a delta run; `c1:old` has the one before, `c1:wrong` a token that is none
//! delta docs c1 check a:h1, b:            which of these have to be pushed
//! delta docs c1 push a v2, b gone         pushed within it
//! delta docs c1 touch a, b                these are there, and cannot be read; also `finish [incomplete] [confirm]`, `rollback`
//! delta docs c1 delete [confirm]          what it has not met until now is deleted; it goes on
//! unlock docs                             a person takes it from its client; `renew docs`: a service begins
//! clear docs                              a person makes the source forget hashes
//! meanwhile c1 after intent 1 push docs a v2   in the middle of the next run, or of the end of a delta run, at a place as `crash` has it
//! expect answered: pending, unchanged     what the last call was answered
//! expect tickets docs: 1 a indexed, 2 b open
//! expect delta docs: 1 finished deleted 2
//! expect drained docs: 1                  delta runs of which all is done, and told
//! ```
//!
//! A model goes along, which hears of calls and their answers alone; what it does not hear, because a process died, it asks for as a client could, by tickets
//! and by how a delta run stands. What must hold, see `judge`:
//!
//! - (I1) each ticket has at most one report, which is true when it is told, and exactly one once the world is at rest;
//! - (I2) outputs hold nothing that was not accepted;
//! - (I3) what was accepted is kept as it was accepted last, whatever becomes of process and power;
//! - (I4) a delta run deletes nothing unless it is finished as complete, and never what others pushed, what its client met or touched, or what somebody said is
//!   there since it was opened;
//! - (I5) no output goes back to an older version of a record; at rest each holds the last one, for whom it names, and nothing of what is deleted;
//! - (I6) one delta run of a source is open at most, and by its token alone; of several tickets of a record that were not delivered, all but the last one are
//!   superseded;
//! - (I7) a delta run is said to be drained when nothing of it, and of what came before its end, is open, and each that was finished is at rest.

mod asked;
mod delta;
mod judge;
mod model;
mod outputs;
mod told;

use std::collections::{BTreeMap, BTreeSet};

use ingather_contract::call::Clock as _;
use ingather_engine::EngineError;
use ingather_engine::inbox::Accepted;
use ingather_engine::inbox::delta_runs::{Checked, Finished};
use ingather_model::key::DocumentKey;
use ingather_model::lifecycle::outcome::FailureKind;
use ingather_store::{Sql, documents};

use self::model::Source;
use super::{Answer, Play};
use crate::crash::POINTS;
use crate::together::people::Word;
use crate::together::pushing::{self, Answered, Ask, Called, Claimed, Request, is_pushed};

/// Tickets and documents of a source that are read at most; worlds are small.
const READ_MAX: usize = 100_000;

/// Who pushes.
pub(super) const CLIENTS: &[&str] = &["c1", "c2", "c3"];

/// What is known of sources that clients push into.
#[derive(Debug, Default)]
pub(super) struct Pushes {
    sources: BTreeMap<String, Source>,
    /// Delta runs that clients have opened, by source and client.
    claims: BTreeMap<(String, String), Vec<Claimed>>,
    /// Tokens that were given out.
    tokens: usize,
    /// Calls in the middle of what comes next.
    words: Vec<Word<Request>>,
    /// Calls of the last step.
    called: Vec<Called>,
    /// When the step began.
    began: i64,
    /// Nobody can tell in which order they had their effect.
    were_among: bool,
    /// Records whose last delivery had failed before the last step, with the names of their sources.
    failed: BTreeSet<(String, String)>,
    outputs: outputs::Seen,
    backup: Option<BTreeMap<String, Source>>,
}

impl Pushes {
    pub(super) fn back_up(&mut self) {
        self.backup = Some(self.sources.clone());
    }

    /// The store is as it was, if it was kept; what outputs hold is what they held.
    pub(super) fn restore(&mut self) {
        if let Some(backup) = &self.backup {
            self.sources.clone_from(backup);
            self.outputs.put_back();
        }
    }
}

impl Play {
    /// `push`, `delta`, `unlock`, `clear`, `renew`.
    pub(super) fn pushes(&mut self, word: &str, rest: &str) -> Result<(), String> {
        let call = self.pushes.read(word, rest)?;
        self.note_failed();
        let words = std::mem::take(&mut self.pushes.words);
        self.pushes.were_among = !words.is_empty();
        let world = &self.world;
        let (called, mut others) = pushing::among(world, words, || pushing::call(world, call));
        self.pushes.hear(&called, rest);
        self.answer = Answer::of(called.answer.as_ref().map(told).map_err(Clone::clone), Answer::Called);
        others.push(called);
        self.pushes.called = others;
        self.asked();
        Ok(())
    }

    /// `meanwhile c1 after intent 1 push docs a v2`.
    pub(super) fn pushes_meanwhile(&mut self, client: &str, rest: &str) -> Result<(), String> {
        let mut words = rest.splitn(4, ' ');
        let mut next = || words.next().ok_or("CLIENT before|mid|after PLACE N push what?");
        let (when, place, nth, rest) = (next()?, next()?, next()?, next()?);
        if !["before", "mid", "after"].contains(&when) || !POINTS.contains(&place) {
            return Err(format!("there is no place `{when} {place}`"));
        }
        let rest = rest.strip_prefix("push ").ok_or("meanwhile, clients push")?;
        let call = self.pushes.read("push", rest)?;
        let at = Some((format!("{when} {place}"), super::steps::number(nth)?));
        let (person, job) = (client.to_owned(), call.source.clone());
        self.pushes.words.push(Word { person, at, says: call, job });
        Ok(())
    }

    /// Does some work, in the middle of which clients push.
    pub(super) fn among_clients<T: Send>(
        &mut self,
        work: impl FnOnce(&crate::world::World) -> T + Send,
    ) -> T {
        let words = std::mem::take(&mut self.pushes.words);
        let world = &self.world;
        let (done, called) = pushing::among(world, words, || work(world));
        (self.pushes.called, self.pushes.were_among) = (called, true);
        done
    }

    fn note_failed(&mut self) {
        let jobs = self.live_jobs().into_iter().filter(is_pushed);
        let failed = jobs.flat_map(|job| {
            let read = |sql: &mut Sql<'_>| documents::list(sql, job.id, DocumentKey::BEFORE_ALL, READ_MAX);
            let all = self.world.engine().reader.read(read).expect("the store answers").into_iter();
            let failed =
                all.filter(|one| one.failure.as_ref().is_some_and(|(kind, _)| *kind == FailureKind::Failed));
            failed.map(move |one| (job.name.clone(), one.name)).collect::<Vec<_>>()
        });
        self.pushes.failed = failed.collect();
    }

    /// Before a step; whether no output refuses anything.
    pub(super) fn begin_pushes(&mut self) -> bool {
        self.pushes.were_among = false;
        self.pushes.called.clear();
        self.pushes.began = self.world.clock.now();
        let mut shelves = self.world.shelves.values();
        self.pushes.sources.is_empty() || shelves.all(|shelf| crate::memory_output::locked(shelf).is_sound())
    }

    /// Calls that were not made are not made any more.
    pub(super) fn drop_calls(&mut self) {
        self.pushes.words.clear();
    }

    /// Whether a step has calls of clients.
    pub(super) fn has_clients(&self) -> bool {
        !self.pushes.words.is_empty()
    }

    /// What the tickets of a source have come to.
    pub(super) fn tickets_of(&self, job: &str) -> Result<Vec<String>, String> {
        let job = self.world.find(job).ok_or("there is no such job")?;
        let told = self.stored_tickets(&job).into_values().map(|ticket| {
            let outcome = ticket.report.map_or("open".to_owned(), |report| report.outcome);
            format!("{} {} {outcome}", ticket.number, ticket.key)
        });
        Ok(told.collect())
    }

    /// How the last delta run of a source stands.
    pub(super) fn delta_of(&self, job: &str) -> Result<String, String> {
        let job = self.world.find(job).ok_or("there is no such job")?;
        let last = self.world.engine().delta_run(&job, None).map_err(|error| error.to_string())?;
        let Some(last) = last else { return Ok("nothing".to_owned()) };
        let veto = last.veto.map_or(String::new(), |veto| format!(": {veto}"));
        Ok(format!("{} {} deleted {}{veto}", last.epoch, last.state, last.deleted))
    }
}

impl Play {
    /// Delta runs of a source that are drained.
    pub(super) fn drained_of(&self, job: &str) -> Result<Vec<String>, String> {
        let job = self.world.find(job).ok_or("there is no such job")?;
        let runs = self.stored_runs(&job).into_iter().filter(|run| run.drained_at.is_some());
        Ok(runs.map(|run| run.epoch.to_string()).collect())
    }
}

impl Pushes {
    /// A client hears what it was answered.
    fn hear(&mut self, called: &Called, rest: &str) {
        if let (Ask::Open { token, .. }, Ok(Answered::Opened(epoch))) = (&called.call.ask, &called.answer) {
            let client = rest.split_whitespace().nth(1).unwrap_or_default().to_owned();
            let claimed = Claimed { epoch: *epoch, token: token.clone() };
            self.claims.entry((called.call.source.clone(), client)).or_default().push(claimed);
        }
    }
}

/// Whether an error says that nothing was done.
fn refusal(error: &EngineError) -> Option<ingather_engine::Refusal> {
    match error {
        EngineError::Refused { refusal, .. } => Some(*refusal),
        _ => None,
    }
}

/// What was answered, for a person.
fn told(answered: &Answered) -> String {
    let all = |words: Vec<String>| words.join(", ");
    match answered {
        Answered::Accepted(accepted) => all(accepted
            .iter()
            .map(|accepted| match accepted {
                Accepted::Pending { .. } => "pending".to_owned(),
                Accepted::Unchanged => "unchanged".to_owned(),
                Accepted::Refused(reason) => format!("refused {}", reason.code),
            })
            .collect()),
        Answered::Opened(epoch) => format!("run {epoch}"),
        Answered::Checked(checked) => all(checked
            .iter()
            .map(|checked| match checked {
                Checked::New => "new".to_owned(),
                Checked::Changed => "changed".to_owned(),
                Checked::Unchanged => "unchanged".to_owned(),
            })
            .collect()),
        Answered::Finished(Finished { held: Some((would, of)), .. }) => format!("held {would} of {of}"),
        Answered::Finished(Finished { veto: Some(veto), .. }) => veto.clone(),
        Answered::Finished(finished) => format!("deleted {}", finished.deleted),
        Answered::Cleared(records) => format!("cleared {records}"),
        Answered::Unlocked(was_open) => format!("was open: {was_open}"),
        Answered::Noted => "noted".to_owned(),
    }
}
