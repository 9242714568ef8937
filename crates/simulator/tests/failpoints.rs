//! Every planted fault is caught: by the seeds that each change is checked with, or by a text or suite that is named here.
//!
//! One fault at a time is planted in the whole process, so that this file has one test that plants, and a program of its own that it begins several times.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use ingather_model::ids::{Digest, DocumentId, JobId};
use ingather_model::key::DocumentKey;
use ingather_simulator::play::{self, Seeds, wrong_in_orders};
use ingather_store::documents::NewDocument;
use ingather_store::failpoints::{ALL, Failpoint, plant};
use ingather_store::{Durability, Store, documents, queue};
use ingather_testkit::database::{Database, Kind};
use ingather_testkit::together::dated::is_looked_at_when_it_is_due;
use ingather_testkit::together::health::How;
use ingather_testkit::together::pause::{FILES_OF_A_PAUSED_RUN, delivered_while_paused};
use ingather_testkit::together::sinks::Says;
use ingather_testkit::together::{FOUND_BY_GROUP, found_across_groups, older_report};
use ingather_testkit::together::{bins, compounds, health, sinks, waiting};

/// Seeds that are tried, the same as without a fault.
const SEEDS: u64 = 200;

/// Orders of threads in which a scenario is played that is named here, at most.
const ORDERS: u64 = 200;

/// What catches a fault that few seeds meet.
enum Check {
    /// A scenario of the engine.
    Scenario(&'static str),
    /// A suite of its own: true when it finds the fault.
    Suite(&'static str, fn() -> bool),
}

/// What finds the faults of compounds.
const IN_COMPOUNDS: Check =
    Check::Suite("an archive and folders", || !compounds::wrong(Kind::Sqlite).is_empty());

/// What finds faults of channels that end for their outputs.
const STAYS_AWAY: Check = Check::Suite("an output that stays away", || {
    !health::went(Kind::Sqlite, How::StaysAway, None).wrong.is_empty()
});

/// Faults that random worlds meet too seldom, or not in every order of threads.
const NAMED: &[(Failpoint, Check)] = &[
    (
        Failpoint::LastRuleWins,
        Check::Suite("two rules for one bin", || bins::between_fetches() < Some(1_000)),
    ),
    (
        Failpoint::ThrottleBeginsFull,
        Check::Suite("the first fetch of a process", || bins::first_fetch_of_a_process() < 60_000),
    ),
    (
        Failpoint::ParkedBinBlocks,
        Check::Suite("two bins that stand", || !bins::others_go_on(Duration::from_millis(500))),
    ),
    (
        Failpoint::PriorityInverted,
        Check::Suite("two jobs of other priorities", || bins::read_before_the_better_job(2_000) > 1_000),
    ),
    (
        Failpoint::LateBinGetsCredit,
        Check::Suite("a bin that is met late", || bins::before_the_late_bin()[0] < 20),
    ),
    (Failpoint::BlindSpotIgnored, Check::Scenario("changing_folder")),
    (Failpoint::OlderRemovalCarriedOut, Check::Scenario("held_removals")),
    (Failpoint::GuardForgetsPasses, Check::Scenario("passes")),
    (Failpoint::GuardCountedAfterDeletion, Check::Scenario("held_removals")),
    (Failpoint::ConfirmationByNumber, Check::Scenario("confirmed_set")),
    (Failpoint::CompletionWithoutWanted, Check::Suite("wanted once more", wanted_once_more_is_lost)),
    (Failpoint::SecondOwnerOnContentAlone, Check::Scenario("two_owners_access")),
    (Failpoint::PlaceWidenedBeforeItIsProven, Check::Scenario("access_changes")),
    (Failpoint::RetryCountedWhilePaused, Check::Scenario("attempts")),
    (Failpoint::HalfDoneRemovalForgotten, Check::Scenario("unconfirmed_twice")),
    (Failpoint::SettledByTheFirstOutput, Check::Suite("six outputs confirm at once", settled_too_early)),
    (Failpoint::NewAccessOnOldContent, Check::Scenario("new_access_old_content")),
    (Failpoint::AccessLeavesOtherOwners, Check::Scenario("two_owners_access")),
    (Failpoint::MovedBeforeItsNewName, Check::Scenario("moves")),
    (Failpoint::VanishedComponentStays, Check::Scenario("components")),
    (Failpoint::NewAccessOnKeptComponent, Check::Scenario("components")),
    (Failpoint::UnreadComponentGoes, Check::Scenario("components")),
    (Failpoint::IntentNotDurable, Check::Scenario("power_lost_after_a_send")),
    (Failpoint::UncertainComponentStays, Check::Scenario("unread_and_unconfirmed")),
    (Failpoint::OneCeilingForAll, Check::Scenario("store_put_back")),
    (Failpoint::SessionsIgnored, Check::Scenario("store_put_back")),
    (Failpoint::NumbersGoBack, Check::Scenario("numbers_never_go_back")),
    (Failpoint::ReplacedOutputConfirmed, Check::Scenario("replaced_while_written")),
    (Failpoint::BatchUnaware, Check::Scenario("two_owners_one_batch")),
    (Failpoint::MovedPlaceStays, Check::Scenario("replaced_above")),
    (Failpoint::BrokenListingProves, Check::Scenario("held_by_a_broken_listing")),
    (Failpoint::PlaceOpenForAllJobs, Check::Scenario("openings_by_job")),
    (Failpoint::ReplacedFolderCarriesNothing, Check::Scenario("replaced_above_the_root")),
    (Failpoint::KeptTextOverAnotherOwners, Check::Scenario("kept_text_of_another_owner")),
    (Failpoint::KeptOutStays, Check::Scenario("conditions")),
    (Failpoint::ConditionOnUnread, Check::Scenario("condition_undecided")),
    (Failpoint::UnremovedForgotten, Check::Scenario("removal_outlives_its_folder")),
    (Failpoint::MetBeforeItIsOnDisk, Check::Scenario("replaced_above_an_opening")),
    (Failpoint::UnreadIsNeverKeptOut, Check::Scenario("condition_on_what_cannot_be_read")),
    (Failpoint::SentAfterTheLease, Check::Scenario("stood_still")),
    (Failpoint::LeftPartUnread, Check::Scenario("condition_on_what_is_in_it")),
    (Failpoint::LeftFillForgotten, Check::Scenario("kept_text_left_to_a_newer")),
    (Failpoint::BranchesDigestedTogether, Check::Scenario("branches")),
    (Failpoint::NarrowingWithoutRow, Check::Scenario("held_by_a_rule_and_unconfirmed")),
    (Failpoint::AnyTellingOvertakes, Check::Suite("two owners that are told in any order", asked_for_ever)),
    (
        Failpoint::ClaimedWhilePaused,
        Check::Suite("a job that is paused in the middle of a run", || {
            delivered_while_paused(Kind::Sqlite) == FILES_OF_A_PAUSED_RUN
        }),
    ),
    (Failpoint::SilentJobKeepsClosed, Check::Scenario("openings_of_silent_jobs")),
    (Failpoint::OldTextOpens, Check::Scenario("old_text_opens")),
    (Failpoint::KeptNotLookedAtBelowAnOpening, Check::Scenario("opens_at_once")),
    (Failpoint::LeftEntryStays, Check::Scenario("left_entries")),
    (Failpoint::OneLook, Check::Scenario("folder_closes_meanwhile")),
    (Failpoint::NoOneVersion, Check::Scenario("racy_versions")),
    (Failpoint::SingleProbeLeftOut, Check::Scenario("single_probe")),
    (
        Failpoint::JudgedAfterReading,
        Check::Suite("closed and open again between two workers' looks", judged_too_late),
    ),
    (Failpoint::HeldNotLookedAt, Check::Scenario("held_by_a_rule")),
    (Failpoint::JudgedAfterListing, Check::Scenario("opens_while_it_changes")),
    (Failpoint::ChangedFolderOpens, Check::Scenario("opens_while_it_changes")),
    (
        Failpoint::OpensAsAnotherRunFound,
        Check::Suite("an older look of another run", || older_report(Kind::Sqlite) != ["bert"]),
    ),
    (Failpoint::ContentExplainedAway, Check::Scenario("content_unseen")),
    (Failpoint::AccessBeforeContent, Check::Scenario("content_unseen")),
    (Failpoint::UnmetOpens, Check::Scenario("unmet_and_kept")),
    (Failpoint::RowStandsForOutputs, Check::Scenario("row_is_not_the_output")),
    (Failpoint::BegunVisitForgotten, Check::Scenario("begun_and_taken_back")),
    (Failpoint::KeptTextUnlookedAt, Check::Scenario("row_is_not_the_output")),
    (Failpoint::ContainerToldBeforeItIsProven, Check::Scenario("told_of_access")),
    (Failpoint::NarrowingToldAtTheEnd, Check::Scenario("told_of_access")),
    (Failpoint::EntryAheadOfItsContainer, Check::Scenario("told_of_access")),
    (Failpoint::CutNotNoticed, Check::Scenario("told_of_access")),
    (Failpoint::PutBackUnwitnessed, Check::Scenario("told_and_put_back")),
    (Failpoint::OlderTakenForCut, Check::Scenario("told_and_put_back")),
    (Failpoint::KnownThoughErased, Check::Scenario("erased_and_killed")),
    (Failpoint::ErasedIsSentAgain, Check::Scenario("erased_while_an_output_is_away")),
    (Failpoint::ErasedIsJudged, Check::Scenario("erased_while_an_output_is_away")),
    (Failpoint::ErasedIsHeldOn, Check::Scenario("erased_and_held")),
    (Failpoint::ReadmittedByHalf, Check::Scenario("erased_by_half")),
    (Failpoint::ErasedWhereKnownAlone, Check::Scenario("erased_of_all_jobs")),
    (Failpoint::ToldAndNotTriedAgain, Check::Scenario("narrowed_and_tried_again")),
    (Failpoint::PauseOnlyHeard, Check::Scenario("people_and_services")),
    (Failpoint::PauseNeverEnds, Check::Scenario("people_and_services")),
    (Failpoint::AbortNotOnRecord, Check::Scenario("people_and_services")),
    (Failpoint::AbortKeepsTheNextRun, Check::Scenario("people_and_services")),
    (Failpoint::AbortedGoesOn, Check::Scenario("stopped_as_it_ends")),
    (Failpoint::AbortAtRestForgotten, Check::Scenario("people_and_services")),
    (Failpoint::StartNotOnDisk, Check::Scenario("people_and_services")),
    (Failpoint::RestartNotOnDisk, Check::Scenario("people_and_services")),
    (Failpoint::RestartOfTheFirstKind, Check::Scenario("people_and_services")),
    (Failpoint::RestartForEver, Check::Scenario("people_and_services")),
    (Failpoint::PutDownRests, Check::Scenario("people_and_services")),
    (Failpoint::CutOffRests, Check::Scenario("people_and_services")),
    (Failpoint::InterruptedForEver, Check::Scenario("people_and_services")),
    (Failpoint::StopsAllJobs, Check::Scenario("people_and_services")),
    (Failpoint::DeletionRests, Check::Scenario("people_and_services")),
    (Failpoint::DeletionNeverEnds, Check::Scenario("people_and_services")),
    (Failpoint::DueTwice, Check::Scenario("services_and_time")),
    (Failpoint::ClosedWindowIgnored, Check::Scenario("services_and_time")),
    (Failpoint::ClockAheadHolds, Check::Scenario("services_and_time")),
    (Failpoint::RefusedTriedAgain, Check::Scenario("missing_outputs")),
    (Failpoint::ReachedWithoutMark, Check::Scenario("site_goes_on")),
    (Failpoint::LeadsAfterTheDocument, Check::Scenario("site_goes_on")),
    (Failpoint::UnchangedLeadsNowhere, Check::Scenario("site_as_before")),
    (Failpoint::FailedLeadsNowhere, Check::Scenario("site_failing_pages")),
    (Failpoint::CutOffForgets, Check::Scenario("site_cut_off")),
    (Failpoint::MissingAtOnce, Check::Scenario("site_missing_pages")),
    (Failpoint::MissingAtTheSecondLook, Check::Scenario("site_missing_pages")),
    (Failpoint::MissingSinceAnotherFault, Check::Scenario("site_missing_after_faults")),
    (Failpoint::UnnamedSeedsRemove, Check::Scenario("site_seeds_broken_off")),
    (Failpoint::DeadLinkForgotten, Check::Scenario("site_gone_pages")),
    (Failpoint::MemoOfUnconfirmed, Check::Scenario("site_memo_of_unconfirmed")),
    (Failpoint::GoesOnUnderOthers, Check::Scenario("site_begins_anew")),
    (Failpoint::ShutStaysVisible, Check::Scenario("site_shut_pages")),
    (Failpoint::LinkedIslandsStay, Check::Scenario("site_islands")),
    (Failpoint::HandedDownUnnoticed, Check::Scenario("handed_down_once_more")),
    (Failpoint::WithdrawnUnnoticed, Check::Scenario("handed_down_once_more")),
    (Failpoint::UnreachedHandsDown, Check::Scenario("handed_down_unreached")),
    (Failpoint::MemoOfOtherParents, Check::Scenario("handed_down_and_killed")),
    (Failpoint::ShorterWayStops, Check::Scenario("hops_shorter_way")),
    (Failpoint::NearerForgets, Check::Scenario("hops_and_missing")),
    (Failpoint::NearerRests, Check::Scenario("hops_near_after_all")),
    (Failpoint::TooFarStays, Check::Scenario("hops")),
    (Failpoint::NamedIsEnough, Check::Scenario("named_versions_of_unconfirmed")),
    (Failpoint::NamedLeadNowhereLater, Check::Scenario("named_versions_and_killed")),
    (Failpoint::NamedExpires, Check::Scenario("dates_of_named_versions")),
    (Failpoint::NoEntryUnguarded, Check::Scenario("site_no_entries")),
    (Failpoint::ForNowIsForGood, Check::Scenario("site_for_now")),
    (Failpoint::GoesBeforeTheOther, Check::Scenario("site_in_place")),
    (Failpoint::CircleFoundNowhere, Check::Scenario("site_in_place")),
    (Failpoint::SkippedIsAwaited, Check::Scenario("site_in_place_left_out")),
    (Failpoint::EmptySeedsUnguarded, Check::Scenario("site_leads_nowhere")),
    (Failpoint::EventOfTwoOwners, Check::Scenario("events_again")),
    (Failpoint::EventsOutliveTheirProcess, Check::Scenario("events_goes_on")),
    (Failpoint::PrerequisitesForgotten, Check::Scenario("events_goes_on")),
    (
        Failpoint::CompletionWakesNobody,
        Check::Suite("an event of a run that is busy", || !waiting::is_woken(Duration::from_secs(2))),
    ),
    (Failpoint::ParkedLeadsNowhere, Check::Scenario("events_left")),
    (Failpoint::ExpiredIsSentAgain, Check::Scenario("dates_expired")),
    (Failpoint::ExpiredIsSent, Check::Scenario("dates_expired")),
    (Failpoint::RestingLeadsNowhere, Check::Scenario("dates_of_pages")),
    (Failpoint::SeedRests, Check::Scenario("dates_of_seeds")),
    (Failpoint::ChangeCountedTwice, Check::Scenario("dates_of_pages")),
    (Failpoint::DateAfterTheVisit, Check::Scenario("dates_and_kills")),
    (
        Failpoint::DueDateForgotten,
        Check::Suite("a page that falls due", || !is_looked_at_when_it_is_due(Kind::Sqlite)),
    ),
    (Failpoint::OldDatesStay, Check::Scenario("dates_of_files")),
    (Failpoint::CutOffForgotten, Check::Scenario("dates_of_attempts")),
    (Failpoint::FilterOutlivesAccess, Check::Scenario("access_changes")),
    (
        Failpoint::GroupsCross,
        Check::Suite("two authority groups in one output", || {
            found_across_groups(Kind::Sqlite, "memory") != FOUND_BY_GROUP
        }),
    ),
    (Failpoint::PassingCompletesTicket, Check::Scenario("pushed")),
    (Failpoint::TicketOfEarlierVisit, Check::Scenario("pushed_meanwhile")),
    (Failpoint::ReportNumberTwice, Check::Scenario("pushed")),
    (Failpoint::SupersededStaysOpen, Check::Scenario("pushed")),
    (Failpoint::DeletedStaysOpen, Check::Scenario("pushed")),
    (Failpoint::AcceptanceNotDurable, Check::Scenario("pushed")),
    (Failpoint::PushedWithoutVisit, Check::Scenario("pushed")),
    (Failpoint::PushedAccessStays, Check::Scenario("pushed")),
    (Failpoint::PushedContentStays, Check::Scenario("pushed")),
    (Failpoint::UnchangedForOthers, Check::Scenario("pushed")),
    (Failpoint::FailedIsUnchanged, Check::Scenario("pushed_delta_runs")),
    (Failpoint::NoopIsDeleted, Check::Scenario("pushed")),
    (Failpoint::ForgottenThoughPushed, Check::Scenario("pushed_meanwhile")),
    (Failpoint::ErasedRecordStays, Check::Scenario("pushed")),
    (Failpoint::ErasedTicketOpen, Check::Scenario("pushed")),
    (Failpoint::RecordsOutliveTheirJob, Check::Scenario("pushed")),
    (Failpoint::WatermarkIgnored, Check::Scenario("pushed_delta_runs")),
    (Failpoint::ObsoleteOfBefore, Check::Scenario("pushed_while_a_run_ends")),
    (Failpoint::MarksOutliveTheirRun, Check::Scenario("pushed_delta_runs")),
    (Failpoint::LeaseOfRunIgnored, Check::Scenario("pushed_delta_runs")),
    (Failpoint::LeaseOfRunForEver, Check::Scenario("pushed_delta_runs")),
    (Failpoint::LeaseNotRenewed, Check::Scenario("pushed_delta_runs")),
    (Failpoint::LeasesOverWithService, Check::Scenario("pushed_delta_runs")),
    (Failpoint::TokenIgnored, Check::Scenario("pushed_delta_runs")),
    (Failpoint::EndedRunGoesOn, Check::Scenario("pushed_delta_runs")),
    (Failpoint::TwoRunsAtOnce, Check::Scenario("pushed_delta_runs")),
    (Failpoint::IncompleteDeletes, Check::Scenario("pushed_delta_runs")),
    (Failpoint::AdditiveDeletes, Check::Scenario("pushed_delta_runs")),
    (Failpoint::UnreadNotCounted, Check::Scenario("pushed_delta_bounds")),
    (Failpoint::ObsoleteUnguarded, Check::Scenario("pushed_delta_bounds")),
    (Failpoint::CheckedIsUnmet, Check::Scenario("pushed_delta_runs")),
    (Failpoint::TouchedIsUnmet, Check::Scenario("pushed_delta_runs")),
    (Failpoint::PushedIsUnmet, Check::Scenario("pushed_delta_runs")),
    (Failpoint::SaidElsewhereIsUnmet, Check::Scenario("pushed_delta_runs")),
    (Failpoint::FinishedTwiceForgets, Check::Scenario("pushed_delta_runs")),
    (Failpoint::ClearedHashStays, Check::Scenario("pushed_cleared")),
    (Failpoint::ClearedUnderARun, Check::Scenario("pushed_cleared")),
    (Failpoint::GroupAnswersTurned, Check::Scenario("pushed_at_once")),
    (Failpoint::BufferedForEver, Check::Scenario("pushed_buffered")),
    (Failpoint::BufferedBeyondItsRun, Check::Scenario("pushed_buffered")),
    (Failpoint::StaleIsTaken, Check::Scenario("pushed_buffered")),
    (Failpoint::OtherParentsIgnored, IN_COMPOUNDS),
    (Failpoint::DeletedStillHolds, IN_COMPOUNDS),
    (Failpoint::FailedIsCovered, IN_COMPOUNDS),
    (Failpoint::CompoundGoesAlone, IN_COMPOUNDS),
    (Failpoint::CompoundHashAtOnce, IN_COMPOUNDS),
    (Failpoint::CoveredIsUnmet, IN_COMPOUNDS),
    (
        Failpoint::RefusedIsTaken,
        Check::Suite("a sink that says no", || !sinks::told(Kind::Sqlite, Says::No, None).wrong.is_empty()),
    ),
    (
        Failpoint::LostIsForgotten,
        Check::Suite("a sink that says nothing", || {
            !sinks::told(Kind::Sqlite, Says::Nothing, None).wrong.is_empty()
        }),
    ),
    (
        Failpoint::PreparedStays,
        Check::Suite("a death while a sink is told", || {
            !sinks::told(Kind::Sqlite, Says::Yes, Some(("after write", 1))).wrong.is_empty()
        }),
    ),
    (
        Failpoint::DamagedIsAway,
        Check::Suite("an output that is damaged", || {
            !health::went(Kind::Sqlite, How::IsDamaged, None).wrong.is_empty()
        }),
    ),
    (Failpoint::OthersEndToo, STAYS_AWAY),
    (Failpoint::EndedWithOpenTickets, STAYS_AWAY),
    (
        Failpoint::ReturnUnnoticed,
        Check::Suite("an output that comes back", || {
            !health::went(Kind::Sqlite, How::Returns, None).wrong.is_empty()
        }),
    ),
    (Failpoint::DrainedBeforeItIs, Check::Scenario("pushed_buffered")),
];

/// See `crates/engine/tests/it/crashes.rs`.
fn settled_too_early() -> bool {
    let names = ["one", "two", "three", "four", "five", "six"];
    let outputs: String = names.iter().map(|name| format!("output {name}\n")).collect();
    (2..=6).any(|nth| {
        let job = format!("job docs to={}\nwatch\nsource a v1, b v1\n", names.join(","));
        let world = format!("{outputs}{job}crash before confirm {nth}\nrun docs\nquiet\n");
        wrong_in_orders(Kind::Sqlite, &world, 100).is_some()
    })
}

/// While one worker reads, another one looks at the folder again, which was closed for a text meanwhile: about one order of threads
/// in twenty.
fn judged_too_late() -> bool {
    let names: Vec<String> = (0..9).map(|number| format!("s/{number}")).collect();
    let all = |text: &str| names.iter().map(|name| format!("{name} {text}")).collect::<Vec<_>>().join(", ");
    (3..=5).any(|closes| {
        let world = format!(
            "output one committing\njob docs to=one\nwatch\nsource {}\nmeanwhile read {closes} s/ access:anna, {}\n\
             meanwhile read {} {}, s/ access:open\nrun docs\n",
            all("v1"),
            all("v2"),
            closes + 3,
            all("v3"),
        );
        wrong_in_orders(Kind::Sqlite, &world, 30).is_some()
    })
}

/// Two jobs close an entry before they say who may see it: in some orders each takes the other's word for a record of its own.
fn asked_for_ever() -> bool {
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/../engine/tests/scenarios/told_by_two_owners.txt");
    let text = std::fs::read_to_string(scenario).expect("the scenario is there");
    wrong_in_orders(Kind::Sqlite, &text, 200).is_some()
}

fn wanted_once_more_is_lost() -> bool {
    let database = Database::fresh(Kind::Sqlite);
    let store = Store::open(&database.target).expect("a fresh store opens");
    let left = store.write(Durability::Relaxed, |sql| {
        let job = JobId(1);
        let new = NewDocument {
            id: DocumentId(7),
            key: DocumentKey { parent_hash: 1, key_hash: 7 },
            name: "seven".to_owned(),
            version: Digest(1),
            access: Digest(1),
            identity: 0,
            container: None,
        };
        documents::add(sql, job, 1, &[new])?;
        let wanted = [queue::VisitRequest { document: 7, due: 0, reason: queue::VisitReason::Changed }];
        queue::enqueue(sql, job, 1, &wanted)?;
        let taken = queue::request_counts(sql, &[7])?[0].1;
        queue::enqueue(sql, job, 1, &wanted)?;
        queue::complete(sql, &[(7, taken)])?;
        queue::waiting(sql, job, 0, 9)
    });
    left.is_ok_and(|left| left.is_empty())
}

/// Who catches a fault by name; none where it is for the simulator.
fn named(failpoint: Failpoint) -> Option<&'static Check> {
    NAMED.iter().find(|(named, _)| *named == failpoint).map(|(_, check)| check)
}

/// Who catches a fault, in words; none when nobody does. Where somebody is named, nobody else counts.
fn caught(failpoint: Failpoint) -> Option<String> {
    match named(failpoint) {
        Some(Check::Scenario(name)) => {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../engine/tests/scenarios");
            let text =
                std::fs::read_to_string(folder.join(format!("{name}.txt"))).expect("the scenario is there");
            wrong_in_orders(Kind::Sqlite, &text, ORDERS).map(|_| format!("the scenario {name}"))
        }
        Some(Check::Suite(name, finds)) => finds().then(|| format!("the suite `{name}`")),
        None => {
            let (played, failures) = play::seeds(&Seeds::of(0, SEEDS), &|_, _| {});
            let failure = failures.first()?;
            let what = failure.found[0].lines().nth(1).unwrap_or_default().trim();
            Some(format!("the simulator, after {played} seeds (seed {}: {what})", failure.seed))
        }
    }
}

/// The page that people read has every fault, in the order of the list, and who catches it here.
#[test]
fn the_page_about_reliability_lists_every_planted_fault() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reliability.md");
    let text = std::fs::read_to_string(page).expect("the page is there");
    let (_, section) = text.split_once("## Planted faults").expect("the page has a part about them");
    let section = section.split("\n## ").next().expect("a first part is always there");
    assert!(section.contains(&format!("\n{} faults can be planted", ALL.len())), "there are {}", ALL.len());
    let rows: Vec<(&str, &str)> = section
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | "))
        .skip(1)
        .collect();
    let of_page: Vec<&str> = rows.iter().map(|(what, _)| *what).collect();
    let of_list: Vec<&str> = ALL.iter().map(|(_, what)| *what).collect();
    assert_eq!(of_page, of_list, "faults of the page, and of crates/store/src/failpoints.rs");
    for ((failpoint, what), (_, by)) in ALL.iter().zip(rows) {
        let is_right = match named(*failpoint) {
            Some(Check::Scenario(name)) => by == format!("the scenario {name}"),
            Some(Check::Suite(name, _)) => by == format!("the suite `{name}`"),
            None => by.starts_with("the simulator, after "),
        };
        assert!(is_right, "`{what}` is not caught by {by}");
    }
}

/// Which of the planted faults a process goes through: one of so many parts.
const PART: &str = "INGATHER_TEST_PLANTED";

/// A fault is planted in a whole process: several of them go through the list at once, two for each core, since most faults wait for threads of theirs.
#[test]
fn every_planted_fault_is_caught() {
    if let Ok(part) = std::env::var(PART) {
        return every_one_is_caught(&part);
    }
    let parts = 2 * std::thread::available_parallelism().map_or(1, usize::from);
    let begin = |part: usize| {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "every_planted_fault_is_caught", "--nocapture"]);
        child.env(PART, format!("{part} {parts}")).stdin(Stdio::null());
        child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let begun: Vec<Child> = (0..parts).map(begin).collect();
    // Each is read by a thread of its own: one whose output nobody reads would stand still.
    let waits = begun.into_iter().map(|child| std::thread::spawn(|| child.wait_with_output().unwrap()));
    for ended in waits.collect::<Vec<_>>().into_iter().map(|ended| ended.join().unwrap()) {
        eprintln!("{}", String::from_utf8_lossy(&ended.stderr));
        assert!(ended.status.success(), "{}: {}", ended.status, String::from_utf8_lossy(&ended.stdout));
    }
}

fn every_one_is_caught(part: &str) {
    let numbers: Vec<usize> = part.split(' ').filter_map(|number| number.parse().ok()).collect();
    let [part, parts] = numbers[..] else { panic!("{PART}={part} is no part of so many") };
    let mut survived = Vec::new();
    for (failpoint, what) in ALL.iter().skip(part).step_by(parts) {
        plant(Some(*failpoint));
        let caught = caught(*failpoint);
        plant(None);
        match caught {
            Some(by) => eprintln!("{failpoint:?}: {what}\n  caught by {by}"),
            None => {
                eprintln!("{failpoint:?}: {what}\n  SURVIVED");
                survived.push(*failpoint);
            }
        }
    }
    assert!(survived.is_empty(), "nobody caught {survived:?}");
}
