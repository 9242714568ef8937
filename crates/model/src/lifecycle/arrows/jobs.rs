//! Arrows between ManifoldCF's job states (coverage S3.51–S3.82, S3.204).

use super::{Arrows, JobWay, Way};
use crate::lifecycle::job::Event;
use crate::lifecycle::projection::ManifoldJobState::{self, *};
use crate::lifecycle::steps::{JobChange, Step};

type Table = &'static [Arrows<ManifoldJobState>];

/// What ManifoldCF's book draws.
#[rustfmt::skip]
pub const BOOK: Table = &[
    Arrows::between("S3.51", "a window begins", &[(Inactive, ReadyForStartup)]),
    Arrows::between("S3.52", "the start is taken up", &[(ReadyForStartup, StartingUp)]),
    Arrows::between("S3.53", "the crawl begins", &[(StartingUp, Active), (StartingUp, ActiveNoOutput), (StartingUp, ActiveUninstalled), (StartingUp, ActiveNeither)]),
    Arrows::between("S3.54", "no active document is left", &[(Active, ShuttingDown)]),
    Arrows::between("S3.55", "no orphan is left", &[(ShuttingDown, ReadyForNotify)]),
    Arrows::between("S3.56", "the notice begins", &[(ReadyForNotify, NotifyingOfCompletion)]),
    Arrows::between("S3.57", "the notice is over", &[(NotifyingOfCompletion, Inactive)]),
    Arrows::between("S3.58", "all documents are inactive", &[(Aborting, ReadyForNotify)]),
    Arrows::between("S3.59", "the window begins", &[(ActiveWait, Active), (ActiveWait, ActiveNoOutput), (ActiveWait, ActiveUninstalled), (ActiveWait, ActiveNeither), (ActiveWaitSeeding, ActiveSeeding), (ActiveWaitSeeding, ActiveSeedingNoOutput), (ActiveWaitSeeding, ActiveSeedingUninstalled), (ActiveWaitSeeding, ActiveSeedingNeither), (PausedWaitSeeding, PausedSeeding)]),
    Arrows::between("S3.60", "the window ends", &[(Active, ActiveWait), (ActiveNoOutput, ActiveWait), (ActiveUninstalled, ActiveWait), (ActiveNeither, ActiveWait), (ActiveSeeding, ActiveWaitSeeding), (ActiveSeedingNoOutput, ActiveWaitSeeding), (ActiveSeedingUninstalled, ActiveWaitSeeding), (ActiveSeedingNeither, ActiveWaitSeeding), (Paused, PausedWait), (PausedSeeding, PausedWaitSeeding)]),
    Arrows::between("S3.61", "seeding begins", &[(Active, ActiveSeeding), (ActiveNoOutput, ActiveSeedingNoOutput), (ActiveUninstalled, ActiveSeedingUninstalled), (ActiveNeither, ActiveSeedingNeither)]),
    Arrows::between("S3.62", "seeding ends", &[(ActiveSeeding, Active), (ActiveSeedingNoOutput, ActiveNoOutput), (ActiveSeedingUninstalled, ActiveUninstalled), (ActiveSeedingNeither, ActiveNeither)]),
    Arrows::between("S3.63", "the deletion is taken up", &[(ReadyForDelete, DeleteStartingUp)]),
    Arrows::between("S3.64", "the deletion begins", &[(DeleteStartingUp, Deleting), (DeleteStartingUp, DeletingNoOutput)]),
    Arrows { id: "S3.66", what: "made; asked to be deleted", pairs: &[(Inactive, ReadyForDelete)], enter: &[Inactive], leave: &[] },
    Arrows::between("S3.67", "the start button", &[(Inactive, ReadyForStartup)]),
    Arrows { id: "S3.68", what: "no document is left", pairs: &[], enter: &[], leave: &[Deleting] },
    Arrows::between("S3.69", "abort while starting up", &[(StartingUp, AbortingStartingUp), (AbortingStartingUp, Aborting)]),
    Arrows::between("S3.70", "restart while starting up", &[(StartingUp, AbortingStartingUpForRestart), (AbortingStartingUpForRestart, AbortingForRestart)]),
    Arrows::between("S3.71", "abort after a restart while starting up", &[(AbortingStartingUpForRestart, AbortingStartingUp)]),
    Arrows::between("S3.72", "all documents are inactive", &[(AbortingForRestart, ReadyForStartup)]),
    Arrows::between("S3.73", "the window ends, then all is put down", &[(Active, ActiveWaiting), (ActiveWaiting, ActiveWait)]),
    Arrows::between("S3.74", "the window begins, then work is back", &[(ActiveWait, Resuming), (Resuming, Active)]),
    Arrows::between("S3.75", "pause, then all is put down", &[(Active, Pausing), (Pausing, Paused)]),
    Arrows::between("S3.76", "pausing while the window ends", &[(Pausing, PausingWaiting), (PausingWaiting, PausedWait)]),
    Arrows::between("S3.77", "paused while the window begins", &[(PausedWait, Paused)]),
    Arrows::between("S3.78", "resume", &[(Paused, Resuming), (PausedWait, ActiveWait), (PausingWaiting, ActiveWaiting)]),
    Arrows::between("S3.79", "abort", &[(Active, Aborting), (Paused, Aborting)]),
    Arrows::between("S3.80", "the repository's connector goes", &[(Active, ActiveUninstalled), (ActiveNoOutput, ActiveNeither), (ActiveSeeding, ActiveSeedingUninstalled), (ActiveSeedingNoOutput, ActiveSeedingNeither)]),
    Arrows::between("S3.80", "the repository's connector comes", &[(ActiveUninstalled, Active), (ActiveNeither, ActiveNoOutput), (ActiveSeedingUninstalled, ActiveSeeding), (ActiveSeedingNeither, ActiveSeedingNoOutput)]),
    Arrows::between("S3.81", "an output's connector goes", &[(Active, ActiveNoOutput), (ActiveUninstalled, ActiveNeither), (Deleting, DeletingNoOutput), (ActiveSeeding, ActiveSeedingNoOutput), (ActiveSeedingUninstalled, ActiveSeedingNeither)]),
    Arrows::between("S3.81", "an output's connector comes", &[(ActiveNoOutput, Active), (ActiveNeither, ActiveUninstalled), (DeletingNoOutput, Deleting), (ActiveSeedingNoOutput, ActiveSeeding), (ActiveSeedingNeither, ActiveSeedingUninstalled)]),
    Arrows::between("S3.82", "seeding begins", &[(Active, ActiveSeeding), (ActiveUninstalled, ActiveSeedingUninstalled), (Resuming, ResumingSeeding), (ActiveWaiting, ActiveWaitingSeeding), (Paused, PausedSeeding), (PausedWait, PausedWaitSeeding), (Pausing, PausingSeeding), (PausingWaiting, PausingWaitingSeeding), (Aborting, AbortingSeeding), (AbortingForRestart, AbortingForRestartSeeding)]),
    Arrows::between("S3.82", "seeding ends", &[(ActiveSeeding, Active), (ActiveSeedingUninstalled, ActiveUninstalled), (ResumingSeeding, Resuming), (ActiveWaitingSeeding, ActiveWaiting), (PausedSeeding, Paused), (PausedWaitSeeding, PausedWait), (PausingSeeding, Pausing), (PausingWaitingSeeding, PausingWaiting), (AbortingSeeding, Aborting), (AbortingForRestartSeeding, AbortingForRestart)]),
    Arrows::between("S3.204", "documents are due again", &[(ShuttingDown, Active)]),
];

/// What only the program has, with the section of the design that tells of it.
#[rustfmt::skip]
pub const PROGRAM: Table = &[
    Arrows::between("design manifoldcf 1.2", "seeding begins and ends while the window is closed", &[(ActiveWait, ActiveWaitSeeding), (ActiveWaitSeeding, ActiveWait)]),
    Arrows::between("design manifoldcf 1.2, crash reset", "a process lets go", &[(StartingUp, ReadyForStartup), (NotifyingOfCompletion, ReadyForNotify), (DeleteStartingUp, ReadyForDelete)]),
    Arrows::between("design manifoldcf 1.3, window closes", "with a missing connector, or while seeding", &[(ActiveNoOutput, ActiveWaiting), (ActiveUninstalled, ActiveWaiting), (ActiveNeither, ActiveWaiting), (ActiveSeeding, ActiveWaitingSeeding), (ActiveSeedingNoOutput, ActiveWaitingSeeding), (ActiveSeedingUninstalled, ActiveWaitingSeeding), (ActiveSeedingNeither, ActiveWaitingSeeding), (PausingSeeding, PausingWaitingSeeding)]),
    Arrows::between("design manifoldcf 1.3, window opens", "while seeding; or while a pause is being carried out", &[(ActiveWaitSeeding, ResumingSeeding), (PausingWaiting, Pausing), (PausingWaitingSeeding, PausingSeeding)]),
    Arrows::between("design manifoldcf 1.3, drain complete", "while seeding", &[(ActiveWaitingSeeding, ActiveWaitSeeding), (PausingSeeding, PausedSeeding), (PausingWaitingSeeding, PausedWaitSeeding)]),
    Arrows::between("design manifoldcf 1.3, resume complete", "with a missing connector, or while seeding", &[(Resuming, ActiveNoOutput), (Resuming, ActiveUninstalled), (Resuming, ActiveNeither), (ResumingSeeding, ActiveSeeding), (ResumingSeeding, ActiveSeedingNoOutput), (ResumingSeeding, ActiveSeedingUninstalled), (ResumingSeeding, ActiveSeedingNeither)]),
    Arrows::between("design manifoldcf 1.3, pause", "with a missing connector, outside the window, or while seeding", &[(ActiveNoOutput, Pausing), (ActiveUninstalled, Pausing), (ActiveNeither, Pausing), (ActiveWaiting, PausingWaiting), (ActiveWait, PausedWait), (ActiveSeeding, PausingSeeding), (ActiveSeedingNoOutput, PausingSeeding), (ActiveSeedingUninstalled, PausingSeeding), (ActiveSeedingNeither, PausingSeeding), (ActiveWaitingSeeding, PausingWaitingSeeding), (ActiveWaitSeeding, PausedWaitSeeding)]),
    Arrows::between("design manifoldcf 1.3, resume", "while seeding", &[(PausedSeeding, ResumingSeeding), (PausedWaitSeeding, ActiveWaitSeeding), (PausingWaitingSeeding, ActiveWaitingSeeding)]),
    Arrows::between("design manifoldcf 1.3, abort", "wherever a run is wanted", &[(ReadyForStartup, Aborting), (ActiveNoOutput, Aborting), (ActiveUninstalled, Aborting), (ActiveNeither, Aborting), (ActiveWaiting, Aborting), (ActiveWait, Aborting), (Pausing, Aborting), (PausingWaiting, Aborting), (PausedWait, Aborting), (ShuttingDown, Aborting), (AbortingForRestart, Aborting)]),
    Arrows::between("design manifoldcf 1.3, abort", "while seeding", &[(ActiveSeeding, AbortingSeeding), (ActiveSeedingNoOutput, AbortingSeeding), (ActiveSeedingUninstalled, AbortingSeeding), (ActiveSeedingNeither, AbortingSeeding), (ActiveWaitingSeeding, AbortingSeeding), (ActiveWaitSeeding, AbortingSeeding), (PausingSeeding, AbortingSeeding), (PausedSeeding, AbortingSeeding), (PausingWaitingSeeding, AbortingSeeding), (PausedWaitSeeding, AbortingSeeding), (AbortingForRestartSeeding, AbortingSeeding)]),
    Arrows::between("design manifoldcf 1.3, abort + restart", "wherever a run is wanted", &[(ReadyForStartup, AbortingForRestart), (Active, AbortingForRestart), (ActiveNoOutput, AbortingForRestart), (ActiveUninstalled, AbortingForRestart), (ActiveNeither, AbortingForRestart), (ActiveWaiting, AbortingForRestart), (ActiveWait, AbortingForRestart), (Pausing, AbortingForRestart), (Paused, AbortingForRestart), (PausingWaiting, AbortingForRestart), (PausedWait, AbortingForRestart)]),
    Arrows::between("design manifoldcf 1.3, abort + restart", "while seeding", &[(ActiveSeeding, AbortingForRestartSeeding), (ActiveSeedingNoOutput, AbortingForRestartSeeding), (ActiveSeedingUninstalled, AbortingForRestartSeeding), (ActiveSeedingNeither, AbortingForRestartSeeding), (ActiveWaitingSeeding, AbortingForRestartSeeding), (ActiveWaitSeeding, AbortingForRestartSeeding), (PausingSeeding, AbortingForRestartSeeding), (PausedSeeding, AbortingForRestartSeeding), (PausingWaitingSeeding, AbortingForRestartSeeding), (PausedWaitSeeding, AbortingForRestartSeeding)]),
];

/// Steps that take several arrows at once.
#[rustfmt::skip]
pub const WAYS: &[JobWay] = &[
    Way { on: Step::Move(Event::Begin), through: &[StartingUp], why: "a run in this process is taken up and opened at once" },
    Way { on: Step::Move(Event::Note), through: &[NotifyingOfCompletion], why: "nobody is to be told" },
    Way { on: Step::Move(Event::Forget), through: &[DeleteStartingUp, Deleting], why: "it never had a document" },
    Way { on: Step::Move(Event::Stop), through: &[Active, ActiveSeeding], why: "work that is being read again, or would be, is not waited for" },
    Way { on: Step::Move(Event::Interrupt), through: &[Active, ActiveSeeding, AbortingStartingUp, AbortingSeeding, Aborting, ReadyForNotify, NotifyingOfCompletion], why: "the process that would put things down is gone" },
    Way { on: Step::Change(JobChange::OpenWindow), through: &[ActiveWait, ActiveWaitSeeding], why: "what is in hands may stay there" },
    Way { on: Step::Change(JobChange::CloseWindow), through: &[Active, ActiveSeeding], why: "work that is being read again is not waited for" },
    Way { on: Step::Change(JobChange::Pause), through: &[Active, ActiveSeeding, Pausing, PausingSeeding], why: "nothing is in hands, so nothing is waited for" },
    Way { on: Step::Change(JobChange::Resume), through: &[Paused, PausedSeeding, Resuming, ResumingSeeding], why: "work is still in memory, so nothing is waited for" },
];
