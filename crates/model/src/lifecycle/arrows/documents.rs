//! Arrows between ManifoldCF's document states (coverage S3.95–S3.105, S3.155, S3.201, S3.209–S3.218).

use super::{Arrows, DocumentWay, Way};
use crate::lifecycle::document::Event;
use crate::lifecycle::projection::ManifoldDocumentState::{self, *};
use crate::lifecycle::steps::{DocumentChange, Step};

type Table = &'static [Arrows<ManifoldDocumentState>];

/// What ManifoldCF's book draws or tells.
#[rustfmt::skip]
pub const BOOK: Table = &[
    Arrows { id: "S3.95", what: "seeded or discovered", pairs: &[], enter: &[Pending], leave: &[] },
    Arrows::between("S3.96", "given to a worker", &[(Pending, Active), (PendingPurgatory, ActivePurgatory)]),
    Arrows::between("S3.97", "put back", &[(Active, Pending), (ActivePurgatory, PendingPurgatory)]),
    Arrows::between("S3.98", "processed", &[(Active, Completed), (ActivePurgatory, Completed)]),
    Arrows { id: "S3.99", what: "deleted", pairs: &[], enter: &[], leave: &[Active, ActivePurgatory] },
    Arrows { id: "S3.100", what: "expired", pairs: &[], enter: &[], leave: &[Active, ActivePurgatory] },
    Arrows::between("S3.101", "wanted once more, then put back", &[(Active, ActiveNeedRescan), (ActiveNeedRescan, Pending), (ActivePurgatory, ActiveNeedRescanPurgatory), (ActiveNeedRescanPurgatory, PendingPurgatory)]),
    Arrows::between("S3.102", "a run starts", &[(Completed, Unchanged), (Unchanged, Purgatory)]),
    Arrows::between("S3.103", "met again", &[(Unchanged, PendingPurgatory)]),
    Arrows::between("S3.104", "met again", &[(Purgatory, PendingPurgatory)]),
    Arrows { id: "S3.105", what: "cleaned up", pairs: &[(Purgatory, BeingCleaned)], enter: &[], leave: &[BeingCleaned] },
    Arrows::between("S3.155", "what it depends on changed", &[(Completed, PendingPurgatory)]),
    Arrows::between("S3.201", "clean-up failed", &[(BeingCleaned, Purgatory)]),
    Arrows::between("S3.209", "its job is being deleted", &[(Pending, EligibleForDelete), (PendingPurgatory, EligibleForDelete), (Completed, EligibleForDelete), (Unchanged, EligibleForDelete), (Purgatory, EligibleForDelete)]),
    Arrows::between("S3.212", "deletion failed", &[(BeingDeleted, EligibleForDelete)]),
    Arrows::between("S3.213", "chosen for deletion", &[(EligibleForDelete, BeingDeleted)]),
    Arrows { id: "S3.218", what: "deleted with its job", pairs: &[], enter: &[], leave: &[BeingDeleted] },
];

/// What only the program has, and two that the design adds.
#[rustfmt::skip]
pub const PROGRAM: Table = &[
    Arrows::between("design manifoldcf 2.2", "put back after something may have been sent", &[(Active, PendingPurgatory), (ActiveNeedRescan, PendingPurgatory)]),
    Arrows::between("design manifoldcf 2.2", "beyond the hop limit", &[(Active, HopcountRemoved), (ActivePurgatory, HopcountRemoved)]),
    Arrows::between("design manifoldcf 2.2", "within the hop limit again", &[(HopcountRemoved, Pending)]),
    Arrows::between("design manifoldcf 2.3", "met again while it was being cleaned up", &[(BeingCleaned, PendingPurgatory)]),
    Arrows { id: "design manifoldcf 2.5, full", what: "not met and never sent", pairs: &[], enter: &[], leave: &[Pending, HopcountRemoved] },
    Arrows::between("design manifoldcf 2.5, full", "waiting, known, not met", &[(PendingPurgatory, Purgatory)]),
    Arrows::between("design 4.2", "its job is being deleted; the program forgets it at once", &[(HopcountRemoved, EligibleForDelete)]),
    Arrows::between("design 4.11", "taken off the clean-up: nothing was proven about its place", &[(Purgatory, Unchanged)]),
];

/// Steps that take several arrows at once.
#[rustfmt::skip]
pub const WAYS: &[DocumentWay] = &[
    Way { on: Step::Change(DocumentChange::MarkSeen), through: &[PendingPurgatory, ActivePurgatory], why: "met, looked at and found unchanged by the listing itself" },
    Way { on: Step::Change(DocumentChange::OpenRun), through: &[Unchanged], why: "the number of a run changes once for all documents" },
    Way { on: Step::Change(DocumentChange::Intend), through: &[PendingPurgatory, ActivePurgatory], why: "known as soon as it may be sent; no put-back in between" },
    Way { on: Step::Change(DocumentChange::DeleteJob), through: &[Pending, PendingPurgatory], why: "a removal that is not confirmed is carried on by the deletion" },
    Way { on: Step::Move(Event::Return), through: &[Completed, Unchanged], why: "the removal is void at the moment a later run opens" },
    Way { on: Step::Move(Event::Forget), through: &[BeingCleaned, BeingDeleted], why: "no output had to be asked" },
];
