//! Our facts in ManifoldCF's names: one pure function for jobs, one for documents (design 4.2, coverage S3.25–S3.94).

use super::facts::{DocumentFacts, JobFacts};
use super::{document, job, words};

words! {
    /// ManifoldCF's job states, as its book names them (coverage S3.25–S3.50).
    pub enum ManifoldJobState {
        /// Not running.
        Inactive = "INACTIVE",
        /// Asked to run.
        ReadyForStartup = "READYFORSTARTUP",
        /// A process prepares the run.
        StartingUp = "STARTINGUP",
        /// Running.
        Active = "ACTIVE",
        /// Running, and a listing goes on.
        ActiveSeeding = "ACTIVESEEDING",
        /// Running, but an output's connector is missing.
        ActiveNoOutput = "ACTIVE_NOOUTPUT",
        /// Running, but the repository's connector is missing.
        ActiveUninstalled = "ACTIVE_UNINSTALLED",
        /// Running, but both are missing.
        ActiveNeither = "ACTIVE_NEITHER",
        /// As its basic state, while a listing goes on.
        ActiveSeedingNoOutput = "ACTIVESEEDING_NOOUTPUT",
        /// As its basic state, while a listing goes on.
        ActiveSeedingUninstalled = "ACTIVESEEDING_UNINSTALLED",
        /// As its basic state, while a listing goes on.
        ActiveSeedingNeither = "ACTIVESEEDING_NEITHER",
        /// The window is closed; documents are still in hands.
        ActiveWaiting = "ACTIVEWAITING",
        /// As its basic state, while a listing goes on.
        ActiveWaitingSeeding = "ACTIVEWAITINGSEEDING",
        /// The window is closed, nothing is in hands.
        ActiveWait = "ACTIVEWAIT",
        /// As its basic state, while a listing goes on.
        ActiveWaitSeeding = "ACTIVEWAITSEEDING",
        /// Paused; documents are still in hands.
        Pausing = "PAUSING",
        /// As its basic state, while a listing goes on.
        PausingSeeding = "PAUSINGSEEDING",
        /// Paused, nothing is in hands.
        Paused = "PAUSED",
        /// As its basic state, while a listing goes on.
        PausedSeeding = "PAUSEDSEEDING",
        /// Paused and outside the window; documents are still in hands.
        PausingWaiting = "PAUSINGWAITING",
        /// As its basic state, while a listing goes on.
        PausingWaitingSeeding = "PAUSINGWAITINGSEEDING",
        /// Paused and outside the window, nothing is in hands.
        PausedWait = "PAUSEDWAIT",
        /// As its basic state, while a listing goes on.
        PausedWaitSeeding = "PAUSEDWAITSEEDING",
        /// Going back to work.
        Resuming = "RESUMING",
        /// As its basic state, while a listing goes on.
        ResumingSeeding = "RESUMINGSEEDING",
        /// Nothing is left to visit; orphans are being removed.
        ShuttingDown = "SHUTTINGDOWN",
        /// The run is over; its end is not told yet.
        ReadyForNotify = "READYFORNOTIFY",
        /// The end is being told.
        NotifyingOfCompletion = "NOTIFYINGOFCOMPLETION",
        /// To stop; something is still in hands.
        Aborting = "ABORTING",
        /// As its basic state, while a listing goes on.
        AbortingSeeding = "ABORTINGSEEDING",
        /// To stop while it was being started.
        AbortingStartingUp = "ABORTINGSTARTINGUP",
        /// To stop while it was being started, and to start again.
        AbortingStartingUpForRestart = "ABORTINGSTARTINGUPFORRESTART",
        /// To stop and start again.
        AbortingForRestart = "ABORTINGFORRESTART",
        /// As its basic state, while a listing goes on.
        AbortingForRestartSeeding = "ABORTINGFORRESTARTSEEDING",
        /// Asked to be deleted.
        ReadyForDelete = "READYFORDELETE",
        /// A process prepares the deletion.
        DeleteStartingUp = "DELETESTARTINGUP",
        /// Its documents are being removed.
        Deleting = "DELETING",
        /// They should be, but an output's connector is missing.
        DeletingNoOutput = "DELETING_NOOUTPUT",
    }
}

words! {
    /// ManifoldCF's document states (coverage S3.83–S3.93), and the one that only its program has.
    pub enum ManifoldDocumentState {
        /// Never processed successfully.
        Pending = "PENDING",
        /// Waiting; processed before.
        PendingPurgatory = "PENDINGPURGATORY",
        /// In a worker, for the first time.
        Active = "ACTIVE",
        /// In a worker; processed before.
        ActivePurgatory = "ACTIVEPURGATORY",
        /// In a worker, for the first time, and wanted once more.
        ActiveNeedRescan = "ACTIVENEEDRESCAN",
        /// In a worker, processed before, and wanted once more.
        ActiveNeedRescanPurgatory = "ACTIVENEEDRESCANPURGATORY",
        /// Processed in this run.
        Completed = "COMPLETED",
        /// Processed in an earlier run, not met in this one.
        Purgatory = "PURGATORY",
        /// Processed in an earlier run, not to be cleaned up.
        Unchanged = "UNCHANGED",
        /// Chosen for clean-up.
        BeingCleaned = "BEINGCLEANED",
        /// Its job is being deleted.
        EligibleForDelete = "ELIGIBLEFORDELETE",
        /// Chosen for deletion.
        BeingDeleted = "BEINGDELETED",
        /// Beyond the hop limit, kept as a record; not in its book (design manifoldcf 2.2).
        HopcountRemoved = "HOPCOUNTREMOVED",
    }
}

/// The job's state in ManifoldCF's names; none for a job that is not there.
pub fn manifold_job_state(facts: &JobFacts) -> Option<ManifoldJobState> {
    use ManifoldJobState as Theirs;
    let theirs = match facts.state {
        job::State::Gone => return None,
        job::State::Resting => Theirs::Inactive,
        job::State::Starting if facts.taken => Theirs::StartingUp,
        job::State::Starting => Theirs::ReadyForStartup,
        job::State::Working if facts.seeding => seeding_twin(working(facts)),
        job::State::Working => working(facts),
        job::State::Sweeping => Theirs::ShuttingDown,
        job::State::Ending if facts.taken => Theirs::NotifyingOfCompletion,
        job::State::Ending => Theirs::ReadyForNotify,
        job::State::Stopping => match (facts.taken, facts.restart) {
            (true, false) => Theirs::AbortingStartingUp,
            (true, true) => Theirs::AbortingStartingUpForRestart,
            (false, false) if facts.seeding => Theirs::AbortingSeeding,
            (false, false) => Theirs::Aborting,
            (false, true) if facts.seeding => Theirs::AbortingForRestartSeeding,
            (false, true) => Theirs::AbortingForRestart,
        },
        job::State::Deleting => match (facts.prepared, facts.taken) {
            (true, _) if facts.output_missing => Theirs::DeletingNoOutput,
            (true, _) => Theirs::Deleting,
            (false, true) => Theirs::DeleteStartingUp,
            (false, false) => Theirs::ReadyForDelete,
        },
    };
    Some(theirs)
}

/// The document's state in ManifoldCF's names; none when it has none there.
///
/// A document in trouble is to ManifoldCF one that waits without a date: never processed successfully, or processed
/// before (S3.83, S3.84, S3.145).
pub fn manifold_document_state(facts: &DocumentFacts) -> Option<ManifoldDocumentState> {
    use ManifoldDocumentState as Theirs;
    use document::State as Ours;
    let waiting = if facts.known { Theirs::PendingPurgatory } else { Theirs::Pending };
    let active = if facts.known { Theirs::ActivePurgatory } else { Theirs::Active };
    let theirs = match facts.state {
        Ours::Gone => return None,
        Ours::Held => match (facts.wanted_again, facts.known) {
            (true, true) => Theirs::ActiveNeedRescanPurgatory,
            (true, false) => Theirs::ActiveNeedRescan,
            (false, _) => active,
        },
        Ours::Leaving if facts.job_deleting && facts.taken => Theirs::BeingDeleted,
        _ if facts.job_deleting => Theirs::EligibleForDelete,
        Ours::Troubled if facts.out_of_scope => Theirs::HopcountRemoved,
        Ours::Waiting | Ours::Troubled => waiting,
        Ours::Settled if facts.again => Theirs::PendingPurgatory,
        Ours::Settled if facts.seen => Theirs::Completed,
        Ours::Settled if facts.kept => Theirs::Unchanged,
        Ours::Settled => Theirs::Purgatory,
        Ours::Leaving if facts.absent => active,
        Ours::Leaving if facts.taken => Theirs::BeingCleaned,
        Ours::Leaving => Theirs::Purgatory,
    };
    Some(theirs)
}

fn working(facts: &JobFacts) -> ManifoldJobState {
    use ManifoldJobState as Theirs;
    match (facts.paused, facts.window_open, facts.draining) {
        (true, false, true) => Theirs::PausingWaiting,
        (true, false, false) => Theirs::PausedWait,
        (true, true, true) => Theirs::Pausing,
        (true, true, false) => Theirs::Paused,
        (false, false, true) => Theirs::ActiveWaiting,
        (false, false, false) => Theirs::ActiveWait,
        (false, true, _) if facts.unloaded => Theirs::Resuming,
        (false, true, _) => match (facts.repository_missing, facts.output_missing) {
            (false, false) => Theirs::Active,
            (false, true) => Theirs::ActiveNoOutput,
            (true, false) => Theirs::ActiveUninstalled,
            (true, true) => Theirs::ActiveNeither,
        },
    }
}

/// The variant of a running state while a listing goes on (S3.43, S3.49).
fn seeding_twin(basic: ManifoldJobState) -> ManifoldJobState {
    use ManifoldJobState as Theirs;
    match basic {
        Theirs::Active => Theirs::ActiveSeeding,
        Theirs::ActiveNoOutput => Theirs::ActiveSeedingNoOutput,
        Theirs::ActiveUninstalled => Theirs::ActiveSeedingUninstalled,
        Theirs::ActiveNeither => Theirs::ActiveSeedingNeither,
        Theirs::ActiveWaiting => Theirs::ActiveWaitingSeeding,
        Theirs::ActiveWait => Theirs::ActiveWaitSeeding,
        Theirs::Pausing => Theirs::PausingSeeding,
        Theirs::Paused => Theirs::PausedSeeding,
        Theirs::PausingWaiting => Theirs::PausingWaitingSeeding,
        Theirs::PausedWait => Theirs::PausedWaitSeeding,
        Theirs::Resuming => Theirs::ResumingSeeding,
        other => other,
    }
}
