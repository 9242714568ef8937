//! table: faults that tests plant to see that they are caught; without the feature `mutations` none exists.
//!
//! A fault stands where it would be made: `if planted(Mutation::…)`. Which check catches which is in
//! `crates/simulator/tests/it/mutations.rs` and in `docs/reliability.md`.

/// Faults that can be planted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the sentences of ALL say what each of them does")]
pub enum Mutation {
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
    SilentJobKeepsClosed,
    OldTextOpens,
    KeptNotLookedAtBelowAnOpening,
    LeftEntryStays,
    OneLook,
    NoOneVersion,
    JudgedAfterReading,
    ChangedFolderOpens,
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
}

/// Every fault with what it does; where today's design has no place for a fault, the nearest one is planted.
#[rustfmt::skip]
pub const ALL: &[(Mutation, &str)] = &[
    (Mutation::DeleteBeforeConfirm, "a removal counts as done although the output did not confirm it"),
    (Mutation::MissingEpochCheck, "a process whose lease was taken over goes on writing"),
    (Mutation::IntentAfterSend, "an intent is committed after its batch was sent"),
    (Mutation::IntentNotDurable, "an intent is committed, and not synced before it is sent"),
    (Mutation::BlindSpotIgnored, "what lies under a blind spot counts as looked at"),
    (Mutation::InterruptedListingContinued, "a run takes over what an interrupted one had met"),
    (Mutation::OlderRemovalCarriedOut, "the removals that an older run held can be confirmed after a later run"),
    (Mutation::BitmapWithoutItsPage, "what a page found changed counts as met, and its work is not written (marks follow the page's rows today: the nearest is versions without work)"),
    (Mutation::GuardCountedAfterDeletion, "the guard counts what is still to go after the removals"),
    (Mutation::ConfirmationByNumber, "a confirmation removes whatever is absent then, not the set that was held"),
    (Mutation::CompletionWithoutWanted, "a visit takes work off that was wanted once more meanwhile"),
    (Mutation::LastOwnerOfAnotherOutput, "an owner of the address in another output keeps the entry"),
    (Mutation::ExclusionByDocument, "owners are looked for by document: two jobs do not see each other"),
    (Mutation::SecondOwnerOnContentAlone, "a second owner settles when the content is equal, whatever the access"),
    (Mutation::PlaceWidenedBeforeItIsProven, "a folder that opens up opens as soon as it is listed"),
    (Mutation::OlderSeqWins, "later intents have smaller numbers"),
    (Mutation::ConfirmationBeforeCommit, "deliveries are confirmed before the output has committed them"),
    (Mutation::ForeignIndexAccepted, "an output that does not fit the books is taken as it is"),
    (Mutation::RetryCountedWhilePaused, "a rest between two runs counts as an attempt (jobs cannot be paused yet)"),
    (Mutation::SingleProbeLeftOut, "what a listing does not name goes without being looked for singly"),
    (Mutation::HalfDoneRemovalForgotten, "a document whose removal was sent and not confirmed counts as unchanged when it is met"),
    (Mutation::SettledByTheFirstOutput, "a document is settled while another output's confirmation is not committed"),
    (Mutation::NewAccessOnOldContent, "new access is given to old content"),
    (Mutation::AccessLeavesOtherOwners, "an owner that tells about access leaves the other owners settled"),
    (Mutation::MovedBeforeItsNewName, "a moved document goes before its new name is confirmed"),
    (Mutation::VanishedComponentStays, "what a document does not hold any more keeps its entry"),
    (Mutation::NewAccessOnKeptComponent, "a component that could not be read gets the new access of its document"),
    (Mutation::UnreadComponentGoes, "a component that could not be read counts as gone"),
    (Mutation::UncertainComponentStays, "a component that could not be read stays where nobody knows what the output holds of it"),
    (Mutation::OneCeilingForAll, "an output that knows more than the store is told by the numbers of all outputs together"),
    (Mutation::SessionsIgnored, "an output that was put back with its store and went another way is told by numbers alone"),
    (Mutation::NumbersGoBack, "numbers that an emptied output has seen are given out again"),
    (Mutation::ReplacedOutputConfirmed, "an output that was made anew during a run confirms what it never held"),
    (Mutation::MovedPlaceStays, "a folder that is below another folder now stays below the one that was there"),
    (Mutation::BrokenListingProves, "a listing that broke off proves folders that it did not come to"),
    (Mutation::PlaceOpenForAllJobs, "a folder that one job has looked at opens for the documents of all jobs"),
    (Mutation::SilentJobKeepsClosed, "a job that is not run any more keeps entries closed that another job has looked at"),
    (Mutation::OldTextOpens, "a folder opens over what an output still holds of an earlier reading"),
    (Mutation::KeptNotLookedAtBelowAnOpening, "an unchanged document with a part that could not be read keeps its folder from opening"),
    (Mutation::LeftEntryStays, "an entry that a job leaves behind is not sent by the next owner"),
    (Mutation::OneLook, "what was read is sent without a second look at the folders above it"),
    (Mutation::NoOneVersion, "what may be of no one version of a document is sent"),
    (Mutation::JudgedAfterReading, "a folder that was judged only after the reading counts as judged before it"),
    (Mutation::ChangedFolderOpens, "a folder opens although it, or one above, changed since it was judged"),
    (Mutation::HeldNotLookedAt, "who is shut out of a document that a rule leaves out finds it while its removal is held"),
    (Mutation::JudgedAfterListing, "a folder that was judged only after it was listed opens by that listing"),
    (Mutation::ContentExplainedAway, "a change time that moved is explained by owner, mode or folder, and the content is not read"),
    (Mutation::AccessBeforeContent, "access that is wider goes ahead of content that was not read yet"),
    (Mutation::UnmetOpens, "a folder opens over documents that this run did not meet and that stay"),
    (Mutation::RowStandsForOutputs, "who may find what outputs hold is taken from the document's row, also where it was hidden or is not confirmed"),
    (Mutation::BegunVisitForgotten, "what an output was sent by a visit that did not end counts as what was read before"),
    (Mutation::KeptTextUnlookedAt, "kept text of a document whose change time moved is sent with its new access, although it cannot be read"),
    (Mutation::ContainerToldBeforeItIsProven, "an output that is told who may see hears of a folder's opening before it is proven"),
    (Mutation::NarrowingToldAtTheEnd, "an output that is told who may see hears at the end of the run what became narrower"),
    (Mutation::EntryAheadOfItsContainer, "an entry is sent ahead of what tells who may see it"),
    (Mutation::CutNotNoticed, "what an output that was cut has lost is not told again"),
    (Mutation::PutBackUnwitnessed, "a store that was put back is not noticed where its output was rotated"),
    (Mutation::OlderTakenForCut, "an output of an earlier day counts as one that was cut"),
    (Mutation::BatchUnaware, "a change does not see what an earlier one of its batch did to other owners"),
];

#[cfg(feature = "mutations")]
static PLANTED: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(usize::MAX);

/// Plants a fault in this process, or takes it out again.
#[cfg(feature = "mutations")]
pub fn plant(mutation: Option<Mutation>) {
    let number = mutation.map_or(usize::MAX, |mutation| mutation as usize);
    PLANTED.store(number, std::sync::atomic::Ordering::SeqCst);
}

/// Whether a fault is planted.
#[cfg(feature = "mutations")]
pub fn planted(mutation: Mutation) -> bool {
    PLANTED.load(std::sync::atomic::Ordering::Relaxed) == mutation as usize
}

/// No fault can be planted in a program.
#[cfg(not(feature = "mutations"))]
pub const fn planted(_: Mutation) -> bool {
    false
}
