//! What each move and each change of a fact requires and does: the lifecycles as one function each.
//!
//! A requirement here is necessary, not sufficient: what only the store can count (nothing due, nothing left to remove)
//! is the statement's to check.

use super::facts::{DocumentFacts, JobFacts};
use super::{document, job, rules, words};

words! {
    /// A change of a job's facts that is not a move.
    pub enum JobChange {
        /// A process takes up what the state asks for.
        Take = "take",
        /// It lets go of it: done, failed or dead; a start that is let go while the job stops is over.
        LetGo = "let_go",
        /// A deletion begins to walk the inventory.
        Prepare = "prepare",
        /// A listing or a push begins; one that was decided may still begin after a pause or a stop.
        BeginListing = "begin_listing",
        /// The listing or push is over.
        EndListing = "end_listing",
        /// Workers take documents.
        TakeDocuments = "take_documents",
        /// The last document in hands is put down.
        PutDocumentsDown = "put_documents_down",
        /// The waiting documents of a job that is paused or outside its window leave memory.
        Unload = "unload",
        /// They are read again.
        Load = "load",
        /// The window opens.
        OpenWindow = "open_window",
        /// The window closes.
        CloseWindow = "close_window",
        /// A person pauses it.
        Pause = "pause",
        /// A person ends the pause.
        Resume = "resume",
        /// The repository's connector is installed.
        InstallRepository = "install_repository",
        /// The repository's connector is not installed any more.
        RemoveRepository = "remove_repository",
        /// The missing connector of an output is installed.
        InstallOutput = "install_output",
        /// The connector of an output is not installed any more.
        RemoveOutput = "remove_output",
        /// Another run is asked for; in one transaction with the stop.
        AskRestart = "ask_restart",
        /// No other run is wanted.
        DropRestart = "drop_restart",
        /// The next run looks at what is new or changed only.
        AskMinimal = "ask_minimal",
        /// The next run looks at everything.
        AskFull = "ask_full",
    }
}

words! {
    /// A change of a document's facts that is not a move.
    pub enum DocumentChange {
        /// The intent to send it is written: from here on it is known.
        Intend = "intend",
        /// It is wanted once more while it is in hands.
        Want = "want",
        /// The run met it: its bit is set.
        MarkSeen = "mark_seen",
        /// A run opens that looks at everything.
        OpenRun = "open_run",
        /// A run opens that cleans nothing up.
        OpenMinimalRun = "open_minimal_run",
        /// Its place could not be looked at.
        Keep = "keep",
        /// A date for the next look is set.
        Schedule = "schedule",
        /// Its removal is taken in hands.
        TakeRemoval = "take_removal",
        /// Its removal failed and waits again.
        PutRemovalBack = "put_removal_back",
        /// Its job is being deleted.
        DeleteJob = "delete_job",
    }
}

/// A move or a change of a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step<E, C> {
    /// A row of the table.
    Move(E),
    /// A fact beside the state.
    Change(C),
}

/// A step of a job.
pub type JobStep = Step<job::Event, JobChange>;
/// A step of a document.
pub type DocumentStep = Step<document::Event, DocumentChange>;

impl Step<job::Event, JobChange> {
    /// Every step that there is.
    pub fn all() -> impl Iterator<Item = JobStep> {
        let moves = job::Event::ALL.iter().map(|event| Step::Move(*event));
        moves.chain(JobChange::ALL.iter().map(|change| Step::Change(*change)))
    }
}

impl Step<document::Event, DocumentChange> {
    /// Every step that there is.
    pub fn all() -> impl Iterator<Item = DocumentStep> {
        let moves = document::Event::ALL.iter().map(|event| Step::Move(*event));
        moves.chain(DocumentChange::ALL.iter().map(|change| Step::Change(*change)))
    }
}

impl<E: std::fmt::Display, C: std::fmt::Display> std::fmt::Display for Step<E, C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Step::Move(event) => event.fmt(f),
            Step::Change(change) => change.fmt(f),
        }
    }
}

/// A job after a step; none: refused.
pub fn job_after(facts: JobFacts, step: JobStep) -> Option<JobFacts> {
    match step {
        Step::Move(event) => job_moved(facts, event),
        Step::Change(change) => job_changed(facts, change),
    }
}

fn job_moved(facts: JobFacts, event: job::Event) -> Option<JobFacts> {
    use job::Event as On;
    let state = rules::after(job::MOVES, facts.state, event)?;
    let put_down = !facts.draining && !facts.seeding && !facts.taken;
    let moved = JobFacts { state, ..facts };
    let (allowed, moved) = match event {
        On::Create | On::Delete => (true, JobFacts::new(state).with_surroundings(&facts)),
        On::Start | On::Stop => (true, JobFacts { unloaded: false, ..moved }),
        On::Begin => (!facts.paused && facts.window_open, JobFacts { taken: false, ..moved }),
        On::Drain => (!facts.on_hold() && !facts.draining && !facts.seeding && !facts.unloaded, moved),
        On::Reappear | On::Sweep => (!facts.on_hold(), moved),
        On::Note => (true, JobFacts { taken: false, minimal: false, restart: false, ..moved }),
        On::PutDown => (put_down && !facts.restart, moved),
        On::Restart => (put_down && facts.restart, JobFacts { restart: false, ..moved }),
        On::Interrupt => {
            (true, JobFacts { paused: facts.paused, ..JobFacts::new(state).with_surroundings(&facts) })
        }
        On::Forget => (!facts.output_missing, JobFacts::new(state)),
    };
    allowed.then_some(moved)
}

fn job_changed(facts: JobFacts, change: JobChange) -> Option<JobFacts> {
    use JobChange as On;
    use job::State::{Deleting, Ending, Gone, Resting, Starting, Stopping, Sweeping, Working};
    let is = |states: &[job::State]| states.contains(&facts.state);
    let held_back = facts.paused || !facts.window_open;
    let walking = facts.state == Deleting && facts.prepared;
    let (allowed, changed) = match change {
        On::Take => (is(&[Starting, Ending, Deleting]), JobFacts { taken: true, ..facts }),
        On::LetGo => {
            (is(&[Starting, Stopping, Ending, Deleting]) && !walking, JobFacts { taken: false, ..facts })
        }
        On::Prepare => (is(&[Deleting]) && facts.taken, JobFacts { prepared: true, ..facts }),
        On::BeginListing => (is(&[Working, Stopping]) && !facts.taken, JobFacts { seeding: true, ..facts }),
        On::EndListing => (true, JobFacts { seeding: false, ..facts }),
        On::TakeDocuments => {
            (is(&[Working]) && !facts.on_hold() && !facts.unloaded, JobFacts { draining: true, ..facts })
        }
        On::PutDocumentsDown => (true, JobFacts { draining: false, ..facts }),
        On::Unload => (is(&[Working]) && held_back && !facts.draining, JobFacts { unloaded: true, ..facts }),
        On::Load => (!held_back, JobFacts { unloaded: false, ..facts }),
        On::OpenWindow => (true, JobFacts { window_open: true, ..facts }),
        On::CloseWindow => (true, JobFacts { window_open: false, ..facts }),
        On::Pause => (true, JobFacts { paused: true, ..facts }),
        On::Resume => (true, JobFacts { paused: false, ..facts }),
        On::InstallRepository => (true, JobFacts { repository_missing: false, ..facts }),
        On::RemoveRepository => (true, JobFacts { repository_missing: true, ..facts }),
        On::InstallOutput => (true, JobFacts { output_missing: false, ..facts }),
        On::RemoveOutput => (true, JobFacts { output_missing: true, ..facts }),
        On::AskRestart => (is(&[Starting, Working, Sweeping]), JobFacts { restart: true, ..facts }),
        On::DropRestart => (true, JobFacts { restart: false, ..facts }),
        On::AskMinimal => (is(&[Resting]), JobFacts { minimal: true, ..facts }),
        On::AskFull => (is(&[Resting]), JobFacts { minimal: false, ..facts }),
    };
    (allowed && facts.state != Gone && changed != facts).then_some(changed)
}

impl JobFacts {
    /// The same with the facts that no run and no person changes.
    fn with_surroundings(self, from: &JobFacts) -> JobFacts {
        JobFacts {
            window_open: from.window_open,
            repository_missing: from.repository_missing,
            output_missing: from.output_missing,
            ..self
        }
    }
}

/// A document after a step; none: refused.
pub fn document_after(facts: DocumentFacts, step: DocumentStep) -> Option<DocumentFacts> {
    match step {
        Step::Move(event) => document_moved(facts, event),
        Step::Change(change) => document_changed(facts, change),
    }
}

fn document_moved(facts: DocumentFacts, event: document::Event) -> Option<DocumentFacts> {
    use document::Event as On;
    use document::State::Waiting;
    let state = rules::after(document::MOVES, facts.state, event)?;
    let moved = DocumentFacts { state, ..facts };
    let waits = DocumentFacts {
        wanted_again: false,
        again: false,
        absent: false,
        taken: false,
        out_of_scope: false,
        ..moved
    };
    let visited = DocumentFacts { seen: true, kept: false, ..moved };
    let unproven = facts.seen || facts.kept;
    let (allowed, moved) = match event {
        On::Meet => (true, DocumentFacts { seen: true, ..DocumentFacts::new(state) }),
        On::MeetAgain | On::Reset => (true, waits),
        On::FallDue => {
            (facts.again || (facts.state == document::State::Troubled && !facts.out_of_scope), waits)
        }
        On::Claim => (true, moved),
        On::Settle => (!facts.wanted_again, DocumentFacts { known: true, ..visited }),
        On::Rescan => (facts.wanted_again, waits),
        On::Decline => (!facts.wanted_again, DocumentFacts { known: false, out_of_scope: true, ..visited }),
        On::Retry | On::LoseHold => (true, waits),
        On::GiveUp => (!facts.wanted_again, visited),
        On::Vanish => (!facts.wanted_again, DocumentFacts { absent: true, ..moved }),
        On::Expire => {
            (facts.again || facts.state == Waiting, DocumentFacts { absent: true, again: false, ..moved })
        }
        On::Miss => (facts.known && !unproven, DocumentFacts { again: false, ..moved }),
        On::Discard => (!facts.known && !unproven, DocumentFacts::new(state)),
        On::Return => (facts.known, DocumentFacts { seen: false, kept: false, ..waits }),
        On::Disown => (facts.job_deleting, DocumentFacts { taken: true, again: false, ..moved }),
        On::Forget => (true, DocumentFacts::new(state)),
    };
    let of_deletion = matches!(event, On::Disown | On::Forget);
    (allowed && (of_deletion || !facts.job_deleting)).then_some(moved)
}

fn document_changed(facts: DocumentFacts, change: DocumentChange) -> Option<DocumentFacts> {
    use DocumentChange as On;
    use document::State::{Gone, Held, Leaving, Settled, Troubled, Waiting};
    let is = |states: &[document::State]| states.contains(&facts.state);
    let aside = is(&[Waiting, Settled, Troubled]);
    let removing = facts.state == Leaving && facts.taken;
    let (allowed, changed) = match change {
        On::Intend => (is(&[Held]), DocumentFacts { known: true, ..facts }),
        On::Want => (is(&[Held]), DocumentFacts { wanted_again: true, ..facts }),
        On::MarkSeen => (aside || is(&[Held]), DocumentFacts { seen: true, kept: false, ..facts }),
        On::OpenRun => (aside, DocumentFacts { seen: false, kept: false, ..facts }),
        On::OpenMinimalRun => (aside, DocumentFacts { seen: false, kept: true, ..facts }),
        On::Keep => (aside && !facts.seen, DocumentFacts { kept: true, ..facts }),
        On::Schedule => (is(&[Settled]) && facts.seen, DocumentFacts { again: true, ..facts }),
        On::TakeRemoval => (is(&[Leaving]) && !facts.absent, DocumentFacts { taken: true, ..facts }),
        On::PutRemovalBack => (removing, DocumentFacts { taken: false, ..facts }),
        On::DeleteJob => {
            (!is(&[Held, Gone]) && !removing, DocumentFacts { job_deleting: true, absent: false, ..facts })
        }
    };
    let of_deletion = matches!(change, On::TakeRemoval | On::PutRemovalBack);
    (allowed && (of_deletion || !facts.job_deleting) && changed != facts).then_some(changed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use job::State;

    #[test]
    fn a_stop_is_complete_only_when_nothing_is_held_and_the_listing_has_let_go() {
        let busy = JobFacts { draining: true, seeding: true, ..JobFacts::new(State::Stopping) };
        assert_eq!(job_after(busy, Step::Move(job::Event::PutDown)), None);
        let quiet = JobFacts { draining: false, ..busy };
        assert_eq!(job_after(quiet, Step::Move(job::Event::PutDown)), None);
        let still = JobFacts { seeding: false, ..quiet };
        assert_eq!(job_after(still, Step::Move(job::Event::PutDown)).unwrap().state, State::Ending);
    }

    #[test]
    fn a_job_on_hold_takes_no_document_and_ends_no_run() {
        for change in
            [JobChange::Pause, JobChange::CloseWindow, JobChange::RemoveRepository, JobChange::RemoveOutput]
        {
            let facts = job_after(JobFacts::new(State::Working), Step::Change(change)).unwrap();
            assert_eq!(job_after(facts, Step::Change(JobChange::TakeDocuments)), None, "{change}");
            assert_eq!(job_after(facts, Step::Move(job::Event::Drain)), None, "{change}");
        }
    }

    #[test]
    fn what_was_sent_is_never_discarded_and_what_is_kept_never_missed() {
        let waiting = DocumentFacts::new(document::State::Waiting);
        let known = DocumentFacts { known: true, ..waiting };
        let kept = DocumentFacts { kept: true, ..known };
        let on = |facts, event| document_after(facts, Step::Move(event));
        assert_eq!(on(known, document::Event::Discard), None);
        assert!(on(waiting, document::Event::Discard).is_some());
        assert_eq!(on(kept, document::Event::Miss), None);
        assert!(on(known, document::Event::Miss).is_some());
    }

    #[test]
    fn a_document_wanted_again_never_settles() {
        let held = DocumentFacts { wanted_again: true, ..DocumentFacts::new(document::State::Held) };
        for event in [
            document::Event::Settle,
            document::Event::GiveUp,
            document::Event::Decline,
            document::Event::Vanish,
        ] {
            assert_eq!(document_after(held, Step::Move(event)), None, "{event}");
        }
        let again = document_after(held, Step::Move(document::Event::Rescan)).unwrap();
        assert_eq!((again.state, again.wanted_again), (document::State::Waiting, false));
    }
}
