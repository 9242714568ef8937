//! What must always be true, by number: judged on a snapshot by the simulator and the doctor, or proven elsewhere.
//!
//! Numbers 1 to 15 are those of design manifoldcf 12.5; the rest is ours. A snapshot is taken in one transaction; what
//! outputs hold is read while nothing is being sent.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::LazyLock;

use crate::ids::{ConnectionId, Digest, DocumentId, JobId};
use crate::job::RunKind;
use crate::lifecycle::facts::{DocumentFacts, JobFacts};
use crate::lifecycle::{document, job, steps};

/// One statement that must always be true.
#[derive(Clone, Copy, Debug)]
pub struct Invariant {
    /// Its number; never given again.
    pub number: u32,
    /// Its name, for reports.
    pub name: &'static str,
    /// The statement.
    pub sentence: &'static str,
    /// Who judges it.
    pub judge: Judge,
}

/// Who judges an invariant.
#[derive(Clone, Copy, Debug)]
pub enum Judge {
    /// A function of a snapshot: one sentence for each breach.
    Snapshot(fn(&Snapshot) -> Vec<String>),
    /// A moment cannot show it; this says where it is proven.
    Elsewhere(&'static str),
}

/// A breach that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breach {
    /// Number of the invariant.
    pub number: u32,
    /// Name of the invariant.
    pub name: &'static str,
    /// What is wrong, with the ids.
    pub what: String,
}

/// Everything at one moment; the order of rows means nothing.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Jobs.
    pub jobs: Vec<JobRow>,
    /// Runs; older closed ones may be left out.
    pub runs: Vec<RunRow>,
    /// Documents.
    pub documents: Vec<DocumentRow>,
    /// Deliveries.
    pub deliveries: Vec<DeliveryRow>,
    /// Documents in hands, with the validity of the holder's epoch.
    pub hands: Vec<Hand>,
    /// What outputs really hold; only those that could be read have a key.
    pub entries: BTreeMap<ConnectionId, BTreeMap<String, Digest>>,
}

/// A job.
#[derive(Clone, Debug)]
pub struct JobRow {
    /// Its handle.
    pub id: JobId,
    /// Its state and facts.
    pub facts: JobFacts,
    /// Number of its latest run; 0 before the first.
    pub run: i64,
    /// The outputs that it sends to.
    pub outputs: Vec<ConnectionId>,
    /// Counters by name: `documents`, and the states of documents; a name that is left out is not checked.
    pub counts: BTreeMap<&'static str, u64>,
}

/// A run.
#[derive(Clone, Copy, Debug)]
pub struct RunRow {
    /// Its job.
    pub job: JobId,
    /// Its number.
    pub number: i64,
    /// How it looks at its source.
    pub kind: RunKind,
    /// It has not ended.
    pub open: bool,
    /// It ended by itself, not by a stop or a crash.
    pub completed: bool,
    /// Its listing ended.
    pub listed: bool,
    /// Something forbids it to remove.
    pub veto: bool,
    /// The delete guard holds its removals.
    pub removals_held: bool,
}

/// A document.
#[derive(Clone, Copy, Debug)]
pub struct DocumentRow {
    /// Its id.
    pub id: DocumentId,
    /// Its job.
    pub job: JobId,
    /// Its state and facts.
    pub facts: DocumentFacts,
    /// The run that decided its removal because it did not meet it.
    pub missed_by: Option<i64>,
    /// The run that wrote it last.
    pub changed_run: i64,
}

/// A delivery: what one output holds of one component, as claimed by one owner.
#[derive(Clone, Debug)]
pub struct DeliveryRow {
    /// Its document, the owner.
    pub document: DocumentId,
    /// Component of the document.
    pub component: i64,
    /// The output.
    pub output: ConnectionId,
    /// Address in the output; none for what is only remembered.
    pub address: Option<String>,
    /// Digest of the last intent; [`Digest::NONE`] = a removal.
    pub intended: Digest,
    /// Digest that the output confirmed.
    pub confirmed: Option<Digest>,
    /// Time of the intent, milliseconds since 1970 UTC.
    pub intent_at: i64,
    /// Time of the confirmation.
    pub confirmed_at: Option<i64>,
    /// It was declined, refused, failed or overwritten: it may differ from what was sent.
    pub excused: bool,
}

impl DeliveryRow {
    /// The output confirmed just what was sent last, and it is no removal.
    fn rests(&self) -> bool {
        self.confirmed == Some(self.intended) && self.intended.is_some() && !self.excused
    }
}

/// A document in hands.
#[derive(Clone, Copy, Debug)]
pub struct Hand {
    /// The document.
    pub document: DocumentId,
    /// The holder's epoch is the current one; writes of any other change nothing.
    pub current: bool,
}

/// Judges a snapshot; empty: nothing that a moment can show is wrong.
pub fn breaches(snapshot: &Snapshot) -> Vec<Breach> {
    let mut found = Vec::new();
    for invariant in ALL {
        if let Judge::Snapshot(judge) = invariant.judge {
            let (number, name) = (invariant.number, invariant.name);
            found.extend(judge(snapshot).into_iter().map(|what| Breach { number, name, what }));
        }
    }
    found
}

/// Whether two worlds show the same to those who search (invariant 6).
pub fn converged(one: &Snapshot, other: &Snapshot) -> bool {
    one.entries == other.entries
}

use Judge::Elsewhere;

/// Every invariant, by number.
#[rustfmt::skip]
pub const ALL: &[Invariant] = &[
    Invariant { number: 1, name: "one holder", sentence: "a document has at most one holder whose writes count", judge: Judge::Snapshot(one_holder) },
    Invariant { number: 2, name: "never forgotten", sentence: "what was possibly sent is known: no entry without a delivery, no delivery without a document", judge: Judge::Snapshot(never_forgotten) },
    Invariant { number: 3, name: "nothing held after the end", sentence: "a run ends, and orphans go, only when nothing is in hands", judge: Judge::Snapshot(nothing_held_after_the_end) },
    Invariant { number: 4, name: "a whole run is exact", sentence: "after a complete run the outputs hold the documents met and not declined, and no others of the job", judge: Judge::Snapshot(a_whole_run_is_exact) },
    Invariant { number: 5, name: "only whole runs remove", sentence: "a document leaves for not being met only by a full, completely listed run without veto or hold", judge: Judge::Snapshot(only_whole_runs_remove) },
    Invariant { number: 6, name: "runs converge", sentence: "a stop or crash at any point and another run lead to the same outputs as an undisturbed run", judge: Elsewhere("the simulator compares two worlds with invariants::converged") },
    Invariant { number: 7, name: "handed down", sentence: "a change of what a parent hands down processes each child once more, after the parent's commit", judge: Elsewhere("scenarios of carry-down") },
    Invariant { number: 8, name: "the last owner decides", sentence: "an entry leaves with its last owner and not before", judge: Judge::Snapshot(the_last_owner_decides) },
    Invariant { number: 9, name: "settled means held", sentence: "without a disposition nothing changes: what is settled is held as it was sent", judge: Judge::Snapshot(settled_means_held) },
    Invariant { number: 10, name: "stops are complete", sentence: "a run that has ended lists nothing; holds and stops are no attempts", judge: Judge::Snapshot(stops_are_complete) },
    Invariant { number: 11, name: "no bin waits for ever", sentence: "no bin waits for ever while others of its priority run; a rate of zero blocks no other", judge: Elsewhere("properties of fairness") },
    Invariant { number: 12, name: "throttles are global", sentence: "throttle limits hold with any number of processes", judge: Elsewhere("scenarios with several processes") },
    Invariant { number: 13, name: "authorities fail closed", sentence: "a dead or slow authority never widens what a user sees", judge: Elsewhere("truth tables of access and of the authority service") },
    Invariant { number: 14, name: "events are let go", sentence: "an event owner's death frees its waiters within the lease time", judge: Elsewhere("scenarios of events") },
    Invariant { number: 15, name: "connectors come back", sentence: "a missing connector suspends, an installed one resumes, without a person", judge: Elsewhere("proof of the lifecycle's arrows, S3.80 and S3.81") },
    Invariant { number: 16, name: "counts are true", sentence: "every counter equals what it counts", judge: Judge::Snapshot(counts_are_true) },
    Invariant { number: 17, name: "one open run", sentence: "a job has at most one open run, one while it works, and none at rest", judge: Judge::Snapshot(one_open_run) },
    Invariant { number: 18, name: "intent before confirmation", sentence: "nothing is confirmed before it was intended", judge: Judge::Snapshot(intent_before_confirmation) },
    Invariant { number: 19, name: "no future", sentence: "nothing was written by a run that does not exist yet, or for a job that does not exist", judge: Judge::Snapshot(no_future) },
    Invariant { number: 20, name: "owners agree", sentence: "owners of one address at rest hold the same digest", judge: Judge::Snapshot(owners_agree) },
    Invariant { number: 21, name: "facts are possible", sentence: "moves lead to the facts of every document", judge: Judge::Snapshot(facts_are_possible) },
];

fn one_holder(world: &Snapshot) -> Vec<String> {
    let mut met = BTreeSet::new();
    let live = world.hands.iter().filter(|hand| hand.current);
    live.filter(|hand| !met.insert(hand.document))
        .map(|hand| format!("document {} has two", hand.document.0))
        .collect()
}

fn never_forgotten(world: &Snapshot) -> Vec<String> {
    let mut found = Vec::new();
    let documents: HashSet<DocumentId> = world.documents.iter().map(|row| row.id).collect();
    let delivered: HashSet<DocumentId> = world.deliveries.iter().map(|row| row.document).collect();
    for row in world.deliveries.iter().filter(|row| !documents.contains(&row.document)) {
        found.push(format!("delivery of document {} without the document", row.document.0));
    }
    for row in world.documents.iter().filter(|row| row.facts.known != delivered.contains(&row.id)) {
        let (id, known) = (row.id.0, row.facts.known);
        found.push(format!("document {id} says known = {known}, its deliveries say otherwise"));
    }
    for row in world.documents.iter().filter(|row| row.facts.state == document::State::Gone) {
        found.push(format!("document {} is gone and still there", row.id.0));
    }
    let addresses = owners(world);
    for (output, entries) in &world.entries {
        for address in entries.keys().filter(|address| !addresses.contains_key(&(*output, address.as_str())))
        {
            found.push(format!("output {} holds {address}, which nobody delivered", output.0));
        }
    }
    found
}

fn nothing_held_after_the_end(world: &Snapshot) -> Vec<String> {
    use job::State::{Deleting, Ending, Resting, Starting, Sweeping};
    let quiet = jobs_in(world, &[Starting, Sweeping, Ending, Resting, Deleting]);
    let confirmed = |row: &&DocumentRow| row.facts.state == document::State::Held && quiet.contains(&row.job);
    let told = |row: &DocumentRow| {
        format!("document {} is held although job {} visits nothing", row.id.0, row.job.0)
    };
    world.documents.iter().filter(confirmed).map(told).collect()
}

fn a_whole_run_is_exact(world: &Snapshot) -> Vec<String> {
    let mut found = Vec::new();
    let good = world.deliveries.iter().filter(|row| row.rests() || row.excused);
    let holds: HashSet<(DocumentId, ConnectionId)> = good.map(|row| (row.document, row.output)).collect();
    for job in world.jobs.iter().filter(|job| job.facts.state == job::State::Resting) {
        let run = world.runs.iter().find(|run| (run.job, run.number) == (job.id, job.run));
        let whole = |run: &&RunRow| run.kind == RunKind::Full && run.completed && run.listed && !run.veto;
        let Some(run) = run.filter(whole) else { continue };
        for row in world
            .documents
            .iter()
            .filter(|row| row.job == job.id && row.facts.state == document::State::Settled)
        {
            let id = row.id.0;
            if !row.facts.seen && !row.facts.kept && !run.removals_held && !row.facts.again {
                found.push(format!("document {id} was not met by run {} and stayed", run.number));
            }
            for output in job.outputs.iter().filter(|_| row.facts.seen) {
                if !holds.contains(&(row.id, *output)) {
                    found.push(format!("document {id} was met, and output {} does not hold it", output.0));
                }
            }
        }
    }
    found
}

fn only_whole_runs_remove(world: &Snapshot) -> Vec<String> {
    let mut found = Vec::new();
    for row in world.documents.iter().filter(|row| row.facts.state == document::State::Leaving) {
        let Some(number) = row.missed_by else { continue };
        let latest = world.jobs.iter().any(|job| job.id == row.job && job.run == number);
        let run = world.runs.iter().find(|run| (run.job, run.number) == (row.job, number));
        // The removal of an older run is void: whoever meets it turns it back.
        let Some(run) = run.filter(|_| latest) else { continue };
        let whole = run.kind == RunKind::Full && run.listed && !run.veto && !run.removals_held;
        if !whole || row.facts.seen || row.facts.kept {
            found.push(format!("document {} leaves although run {number} did not prove it absent", row.id.0));
        }
    }
    found
}

fn the_last_owner_decides(world: &Snapshot) -> Vec<String> {
    let mut found = Vec::new();
    for ((output, address), rows) in owners(world) {
        let Some(entries) = world.entries.get(&output) else { continue };
        let entry = entries.get(address);
        let rests = rows.iter().find(|row| row.rests());
        let away = rows.iter().all(|row| !row.intended.is_some() && row.confirmed == Some(Digest::NONE));
        match (entry, rests) {
            (None, Some(row)) => {
                found.push(format!(
                    "output {} lost {address}, which document {} owns",
                    output.0, row.document.0
                ));
            }
            (Some(digest), Some(row)) if *digest != row.intended && rows.iter().all(|row| row.rests()) => {
                found.push(format!(
                    "output {} holds another {address} than document {} sent",
                    output.0, row.document.0
                ));
            }
            (Some(_), None) if away => found.push(format!("output {} still holds {address}", output.0)),
            _ => {}
        }
    }
    found
}

fn settled_means_held(world: &Snapshot) -> Vec<String> {
    let at_rest = |row: &&DocumentRow| row.facts.state == document::State::Settled && !row.facts.job_deleting;
    // A removal that became void is undone when the document is met; until then it is not at rest.
    let settled: HashSet<DocumentId> = world
        .documents
        .iter()
        .filter(at_rest)
        .filter(|row| row.missed_by.is_none())
        .map(|row| row.id)
        .collect();
    let loose = |row: &&DeliveryRow| {
        settled.contains(&row.document) && row.confirmed != Some(row.intended) && !row.excused
    };
    let told =
        |row: &DeliveryRow| format!("document {} is settled, output {} is not", row.document.0, row.output.0);
    world.deliveries.iter().filter(loose).map(told).collect()
}

fn stops_are_complete(world: &Snapshot) -> Vec<String> {
    use job::State::{Deleting, Ending, Gone, Resting, Sweeping};
    let quiet = |state| [Sweeping, Ending, Resting, Deleting, Gone].contains(&state);
    let listing = world.jobs.iter().filter(|job| job.facts.seeding && quiet(job.facts.state));
    listing.map(|job| format!("job {} is {} and still lists", job.id.0, job.facts.state)).collect()
}

fn counts_are_true(world: &Snapshot) -> Vec<String> {
    let mut found = Vec::new();
    for job in &world.jobs {
        for (name, said) in &job.counts {
            let counts = |row: &&DocumentRow| *name == "documents" || row.facts.state.as_str() == *name;
            let true_count = world.documents.iter().filter(|row| row.job == job.id).filter(counts).count();
            if u64::try_from(true_count) != Ok(*said) {
                found.push(format!("job {} counts {said} {name}, there are {true_count}", job.id.0));
            }
        }
    }
    found
}

fn one_open_run(world: &Snapshot) -> Vec<String> {
    let mut found = Vec::new();
    for job in &world.jobs {
        let open: Vec<i64> =
            world.runs.iter().filter(|run| run.job == job.id && run.open).map(|run| run.number).collect();
        let fits = match job.facts.state {
            job::State::Working | job::State::Sweeping => open == [job.run],
            // A start that was stopped before its run was opened has none.
            job::State::Stopping => open.is_empty() || open == [job.run],
            _ => open.is_empty(),
        };
        if !fits {
            found.push(format!(
                "job {} is {}, run {}, open runs {open:?}",
                job.id.0, job.facts.state, job.run
            ));
        }
    }
    found
}

fn intent_before_confirmation(world: &Snapshot) -> Vec<String> {
    let early = |row: &&DeliveryRow| {
        row.confirmed == Some(row.intended) && row.confirmed_at.is_none_or(|at| at < row.intent_at)
    };
    let told = |row: &DeliveryRow| format!("document {} in output {}", row.document.0, row.output.0);
    world.deliveries.iter().filter(early).map(told).collect()
}

fn no_future(world: &Snapshot) -> Vec<String> {
    let latest: BTreeMap<JobId, i64> = world.jobs.iter().map(|job| (job.id, job.run)).collect();
    let mut found = Vec::new();
    for row in &world.documents {
        match latest.get(&row.job) {
            None => found.push(format!("document {} belongs to job {}, which is gone", row.id.0, row.job.0)),
            Some(run) if row.changed_run > *run || row.missed_by > Some(*run) => {
                found.push(format!("document {} was written by a run after {run}", row.id.0));
            }
            Some(_) => {}
        }
    }
    found
}

fn owners_agree(world: &Snapshot) -> Vec<String> {
    let mut found = Vec::new();
    for ((output, address), rows) in owners(world) {
        let digests: BTreeSet<Digest> =
            rows.iter().filter(|row| row.rests()).map(|row| row.intended).collect();
        if digests.len() > 1 {
            found.push(format!("{address} in output {} has {} digests", output.0, digests.len()));
        }
    }
    found
}

fn facts_are_possible(world: &Snapshot) -> Vec<String> {
    let impossible = world.documents.iter().filter(|row| !POSSIBLE.contains(&row.facts));
    impossible.map(|row| format!("document {}: {:?}", row.id.0, row.facts)).collect()
}

/// Every set of facts that moves and changes lead to.
static POSSIBLE: LazyLock<HashSet<DocumentFacts>> = LazyLock::new(|| {
    let mut possible = HashSet::from([DocumentFacts::new(document::State::Gone)]);
    let mut open: Vec<DocumentFacts> = possible.iter().copied().collect();
    while let Some(facts) = open.pop() {
        let next = steps::DocumentStep::all().filter_map(|step| steps::document_after(facts, step));
        open.extend(next.filter(|facts| possible.insert(*facts)));
    }
    possible
});

/// Deliveries by what they claim.
fn owners(world: &Snapshot) -> BTreeMap<(ConnectionId, &str), Vec<&DeliveryRow>> {
    let mut owners: BTreeMap<_, Vec<&DeliveryRow>> = BTreeMap::new();
    for row in &world.deliveries {
        if let Some(address) = &row.address {
            owners.entry((row.output, address.as_str())).or_default().push(row);
        }
    }
    owners
}

fn jobs_in(world: &Snapshot, states: &[job::State]) -> BTreeSet<JobId> {
    world.jobs.iter().filter(|job| states.contains(&job.facts.state)).map(|job| job.id).collect()
}
