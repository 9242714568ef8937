//! table: faults that tests plant to see that they are caught; without the feature `failpoints` none exists.
//!
//! A fault stands where it would be made: `if failpoint(Failpoint::…)`. Which check catches which is in
//! `crates/simulator/tests/failpoints.rs` and in `docs/reliability.md`.

/// Faults that a build for tests can switch on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the sentences of ALL say what each of them does")]
pub enum Failpoint {
    DeleteBeforeConfirm,
    MissingEpochCheck,
    IntentAfterSend,
    IntentNotDurable,
    BlindSpotIgnored,
    InterruptedListingContinued,
    OlderRemovalCarriedOut,
    BitmapWithoutItsPage,
    GuardCountedAfterDeletion,
    ConfirmationByNumber,
    CompletionWithoutWanted,
    LastOwnerOfAnotherOutput,
    ExclusionByDocument,
    SecondOwnerOnContentAlone,
    PlaceWidenedBeforeItIsProven,
    OlderSeqWins,
    ConfirmationBeforeCommit,
    ForeignIndexAccepted,
    RetryCountedWhilePaused,
    SingleProbeLeftOut,
    HalfDoneRemovalForgotten,
    SettledByTheFirstOutput,
    NewAccessOnOldContent,
    AccessLeavesOtherOwners,
    MovedBeforeItsNewName,
    VanishedComponentStays,
    NewAccessOnKeptComponent,
    UnreadComponentGoes,
    UncertainComponentStays,
    OneCeilingForAll,
    SessionsIgnored,
    NumbersGoBack,
    ReplacedOutputConfirmed,
    BatchUnaware,
    MovedPlaceStays,
    BrokenListingProves,
    PlaceOpenForAllJobs,
    ReplacedFolderCarriesNothing,
    KeptTextOverAnotherOwners,
    NarrowingWithoutRow,
    AnyTellingOvertakes,
    SilentJobKeepsClosed,
    OldTextOpens,
    KeptNotLookedAtBelowAnOpening,
    LeftEntryStays,
    OneLook,
    NoOneVersion,
    JudgedAfterReading,
    ChangedFolderOpens,
    OpensAsAnotherRunFound,
    JudgedAfterListing,
    HeldNotLookedAt,
    ContentExplainedAway,
    AccessBeforeContent,
    UnmetOpens,
    RowStandsForOutputs,
    BegunVisitForgotten,
    KeptTextUnlookedAt,
    ContainerToldBeforeItIsProven,
    NarrowingToldAtTheEnd,
    EntryAheadOfItsContainer,
    CutNotNoticed,
    PutBackUnwitnessed,
    OlderTakenForCut,
    HiddenRowKeepsAccess,
    KeptBesideAnIntent,
    KeptOutStays,
    ConditionOnUnread,
    UnremovedForgotten,
    UnreadIsNeverKeptOut,
    MetBeforeItIsOnDisk,
    ToldAndNotTriedAgain,
    LeftPartUnread,
    LeftFillForgotten,
    LooksAboveLost,
    BranchesDigestedTogether,
    WiderAheadOfTheSecondLook,
    AnyVersionSpokenOf,
    GroupsCross,
}

/// Every fault with what it does; where today's design has no place for a fault, the nearest one stands for it.
#[rustfmt::skip]
pub const ALL: &[(Failpoint, &str)] = &[
    (Failpoint::DeleteBeforeConfirm, "a removal counts as done although the output did not confirm it"),
    (Failpoint::MissingEpochCheck, "a process whose lease was taken over goes on writing"),
    (Failpoint::IntentAfterSend, "an intent is committed after its batch was sent"),
    (Failpoint::IntentNotDurable, "an intent is committed, and not synced before it is sent"),
    (Failpoint::BlindSpotIgnored, "what lies under a blind spot counts as looked at"),
    (Failpoint::InterruptedListingContinued, "a run takes over what an interrupted one had met"),
    (Failpoint::OlderRemovalCarriedOut, "the removals that an older run held can be confirmed after a later run"),
    (Failpoint::BitmapWithoutItsPage, "what a page found changed counts as met, and its work is not written (marks follow the page's rows today: the nearest is versions without work)"),
    (Failpoint::GuardCountedAfterDeletion, "the guard counts what is still to go after the removals"),
    (Failpoint::ConfirmationByNumber, "a confirmation removes whatever is absent then, not the set that was held"),
    (Failpoint::CompletionWithoutWanted, "a visit takes work off that was wanted once more meanwhile"),
    (Failpoint::LastOwnerOfAnotherOutput, "an owner of the address in another output keeps the entry"),
    (Failpoint::ExclusionByDocument, "owners are looked for by document: two jobs do not see each other"),
    (Failpoint::SecondOwnerOnContentAlone, "a second owner settles when the content is equal, whatever the access"),
    (Failpoint::PlaceWidenedBeforeItIsProven, "a folder that opens up opens as soon as it is listed"),
    (Failpoint::OlderSeqWins, "later intents have smaller numbers"),
    (Failpoint::ConfirmationBeforeCommit, "deliveries are confirmed before the output has committed them"),
    (Failpoint::ForeignIndexAccepted, "an output that does not fit the delivery log is taken as it is"),
    (Failpoint::RetryCountedWhilePaused, "a rest between two runs counts as an attempt (jobs cannot be paused yet)"),
    (Failpoint::SingleProbeLeftOut, "what a listing does not name goes without being looked for singly"),
    (Failpoint::HalfDoneRemovalForgotten, "a document whose removal was sent and not confirmed counts as unchanged when it is met"),
    (Failpoint::SettledByTheFirstOutput, "a document is settled while another output's confirmation is not committed"),
    (Failpoint::NewAccessOnOldContent, "new access is given to old content"),
    (Failpoint::AccessLeavesOtherOwners, "an owner that tells about access leaves the other owners settled"),
    (Failpoint::MovedBeforeItsNewName, "a moved document goes before its new name is confirmed"),
    (Failpoint::VanishedComponentStays, "what a document does not hold any more keeps its entry"),
    (Failpoint::NewAccessOnKeptComponent, "a component that could not be read gets the new access of its document"),
    (Failpoint::UnreadComponentGoes, "a component that could not be read counts as gone"),
    (Failpoint::UncertainComponentStays, "a component that could not be read stays where nobody knows what the output holds of it"),
    (Failpoint::OneCeilingForAll, "an output that knows more than the store is told by the numbers of all outputs together"),
    (Failpoint::SessionsIgnored, "an output that was put back with its store and went another way is told by numbers alone"),
    (Failpoint::NumbersGoBack, "numbers that an emptied output has seen are given out again"),
    (Failpoint::ReplacedOutputConfirmed, "an output that was made anew during a run confirms what it never held"),
    (Failpoint::MovedPlaceStays, "a folder that is below another folder now stays below the one that was there"),
    (Failpoint::BrokenListingProves, "a listing that broke off proves folders that it did not come to"),
    (Failpoint::PlaceOpenForAllJobs, "a folder that one job has looked at opens for the documents of all jobs"),
    (
        Failpoint::ReplacedFolderCarriesNothing,
        "what opens above a replaced folder above the root opens for what outputs hold below that one",
    ),
    (
        Failpoint::KeptTextOverAnotherOwners,
        "an output is filled from what is kept of an earlier look over what another owner has sent since",
    ),
    (
        Failpoint::NarrowingWithoutRow,
        "no row says that what a rule leaves out and the guard holds is to be closed, until an output has confirmed it",
    ),
    (Failpoint::AnyTellingOvertakes, "what another owner has told about access alone asks for the record again"),
    (Failpoint::SilentJobKeepsClosed, "a job that is not run any more keeps entries closed that another job has looked at"),
    (Failpoint::OldTextOpens, "a folder opens over what an output still holds of an earlier reading"),
    (Failpoint::KeptNotLookedAtBelowAnOpening, "an unchanged document with a part that could not be read keeps its folder from opening"),
    (Failpoint::LeftEntryStays, "an entry that a job leaves behind is not sent by the next owner"),
    (Failpoint::OneLook, "what was read is sent without a second look at the folders above it"),
    (Failpoint::NoOneVersion, "what may be of no one version of a document is sent"),
    (Failpoint::JudgedAfterReading, "a folder that was judged only after the reading counts as judged before it"),
    (Failpoint::ChangedFolderOpens, "a folder opens although it, or one above, changed since it was judged"),
    (Failpoint::OpensAsAnotherRunFound, "a folder opens by what another run has found, which nobody has proven for these documents"),
    (Failpoint::HeldNotLookedAt, "who is shut out of a document that a rule leaves out finds it while its removal is held"),
    (Failpoint::JudgedAfterListing, "a folder that was judged only after it was listed opens by that listing"),
    (Failpoint::ContentExplainedAway, "a change time that moved is explained by owner, mode or folder, and the content is not read"),
    (Failpoint::AccessBeforeContent, "access that is wider goes ahead of content that was not read yet"),
    (Failpoint::UnmetOpens, "a folder opens over documents that this run did not meet and that stay"),
    (Failpoint::RowStandsForOutputs, "who may find what outputs hold is taken from the document's row, also where it was hidden or is not confirmed"),
    (Failpoint::BegunVisitForgotten, "what an output was sent by a visit that did not end counts as what was read before"),
    (Failpoint::KeptTextUnlookedAt, "kept text of a document whose change time moved is sent with its new access, although it cannot be read"),
    (Failpoint::ContainerToldBeforeItIsProven, "an output that is told who may see hears of a folder's opening before it is proven"),
    (Failpoint::NarrowingToldAtTheEnd, "an output that is told who may see hears at the end of the run what became narrower"),
    (Failpoint::EntryAheadOfItsContainer, "an entry is sent ahead of what tells who may see it"),
    (Failpoint::CutNotNoticed, "what an output that was cut has lost is not told again"),
    (Failpoint::PutBackUnwitnessed, "a store that was put back is not noticed where its output was rotated"),
    (Failpoint::OlderTakenForCut, "an output of an earlier day counts as one that was cut"),
    (Failpoint::HiddenRowKeepsAccess, "the row of a document that is hidden gets the access of a look at what was not read"),
    (Failpoint::KeptBesideAnIntent, "kept text stays beside the intent to send another reading, and the row has the access of that one"),
    (Failpoint::KeptOutStays, "what a condition keeps from an output stays there when another output gets it"),
    (Failpoint::UnremovedForgotten, "what is kept closed in a folder that is gone is forgotten, although an output holds what was to be removed from there"),
    (Failpoint::ToldAndNotTriedAgain, "what is to be tried again, and is held by a rule, is not tried again once its access was told"),
    (Failpoint::MetBeforeItIsOnDisk, "where more folders than fit into memory are listed, what is above a replaced one is read before that is on disk"),
    (Failpoint::UnreadIsNeverKeptOut, "what cannot be read in a document stays in an output that a condition by its path keeps it from"),
    (Failpoint::LeftPartUnread, "a part that a condition keeps out counts as one that could not be read"),
    (Failpoint::LeftFillForgotten, "what is kept is left to another owner's text for good, be it newer"),
    (Failpoint::LooksAboveLost, "where more folders than fit into memory are listed, looks above those that open are let go of"),
    (Failpoint::ConditionOnUnread, "a condition is judged by a document that could not be read this time"),
    (Failpoint::BranchesDigestedTogether, "what an output receives is digested by all branches of the pipeline"),
    (Failpoint::WiderAheadOfTheSecondLook, "access that goes ahead of the second look at folders lets people in"),
    (Failpoint::AnyVersionSpokenOf, "access that is told alone speaks of whatever is held, also of a version of before"),
    (Failpoint::GroupsCross, "what a repository connection rules is judged by tokens of another authority group"),
    (Failpoint::BatchUnaware, "a change does not see what an earlier one of its batch did to other owners"),
];

#[cfg(feature = "failpoints")]
static ON: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(usize::MAX);

/// Plants a fault in this process, or takes it out again.
#[cfg(feature = "failpoints")]
pub fn plant(failpoint: Option<Failpoint>) {
    let number = failpoint.map_or(usize::MAX, |failpoint| failpoint as usize);
    ON.store(number, std::sync::atomic::Ordering::SeqCst);
}

/// Whether a fault is switched on.
#[cfg(feature = "failpoints")]
pub fn failpoint(failpoint: Failpoint) -> bool {
    ON.load(std::sync::atomic::Ordering::Relaxed) == failpoint as usize
}

/// No fault can be switched on in a program.
#[cfg(not(feature = "failpoints"))]
pub const fn failpoint(_: Failpoint) -> bool {
    false
}
