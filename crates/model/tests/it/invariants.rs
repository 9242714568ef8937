//! Every planted breach is found under its number, and a sound world has none.

use std::collections::{BTreeMap, BTreeSet};

use ingather_model::ids::{ConnectionId, Digest, DocumentId, JobId};
use ingather_model::invariants::*;
use ingather_model::job::RunKind;
use ingather_model::lifecycle::facts::{DocumentFacts, JobFacts};
use ingather_model::lifecycle::{document, job};

const JOB: JobId = JobId(1);
const INDEX: ConnectionId = ConnectionId(9);

fn document(id: i64, state: document::State) -> DocumentRow {
    let facts = DocumentFacts { known: true, seen: true, ..DocumentFacts::new(state) };
    DocumentRow { id: DocumentId(id), job: JOB, facts, missed_by: None, changed_run: 3 }
}

fn delivery(id: i64, digest: i64) -> DeliveryRow {
    DeliveryRow {
        document: DocumentId(id),
        component: 0,
        output: INDEX,
        address: Some(format!("file:///{id}")),
        intended: Digest(digest),
        confirmed: Some(Digest(digest)),
        intent_at: 10,
        confirmed_at: Some(11),
        excused: false,
    }
}

/// A job at rest after a whole run, with two documents that its index holds.
fn sound() -> Snapshot {
    let run = RunRow {
        job: JOB,
        number: 3,
        kind: RunKind::Full,
        open: false,
        completed: true,
        listed: true,
        veto: false,
        removals_held: false,
    };
    let entries = BTreeMap::from([("file:///1".to_owned(), Digest(5)), ("file:///2".to_owned(), Digest(6))]);
    Snapshot {
        jobs: vec![JobRow {
            id: JOB,
            facts: JobFacts::new(job::State::Resting),
            run: 3,
            outputs: vec![INDEX],
            counts: BTreeMap::from([("documents", 2), ("waiting", 0)]),
        }],
        runs: vec![run],
        documents: vec![document(1, document::State::Settled), document(2, document::State::Settled)],
        deliveries: vec![delivery(1, 5), delivery(2, 6)],
        hands: Vec::new(),
        entries: BTreeMap::from([(INDEX, entries)]),
    }
}

/// A job that works, so that what only holds at rest does not disturb.
fn working() -> Snapshot {
    let mut world = sound();
    world.jobs[0].facts.state = job::State::Working;
    world.runs[0].open = true;
    world.runs[0].completed = false;
    world
}

fn numbers(world: &Snapshot) -> Vec<u32> {
    let numbers: BTreeSet<u32> = breaches(world).iter().map(|breach| breach.number).collect();
    numbers.into_iter().collect()
}

type Plant = (u32, &'static str, fn() -> Snapshot, fn(&mut Snapshot));

#[rustfmt::skip]
const PLANTS: &[Plant] = &[
    (1, "two holders", working, |w| w.hands = vec![Hand { document: DocumentId(1), current: true }; 2]),
    (2, "a delivery without its document", working, |w| { w.deliveries.push(delivery(7, 5)); w.deliveries[2].address = None }),
    (2, "known and not delivered", working, |w| { w.deliveries.pop(); w.entries.clear() }),
    (2, "delivered and not known", working, |w| { w.documents[0] = document(1, document::State::Waiting); w.documents[0].facts.known = false; w.jobs[0].counts.clear() }),
    (2, "an entry that nobody delivered", working, |w| { w.entries.entry(INDEX).or_default().insert("file:///x".into(), Digest(1)); }),
    (3, "held at rest", sound, |w| { w.documents[0] = document(1, document::State::Held); w.jobs[0].counts.clear() }),
    (4, "not met and not removed", sound, |w| w.documents[0].facts.seen = false),
    (4, "met and not sent to an output", sound, |w| w.jobs[0].outputs.push(ConnectionId(10))),
    (5, "removed by a minimal run", working, |w| { leave(w); w.runs[0].kind = RunKind::Minimal }),
    (5, "removed before the listing ended", working, |w| { leave(w); w.runs[0].listed = false }),
    (5, "removed against a veto", working, |w| { leave(w); w.runs[0].veto = true }),
    (5, "removed while held", working, |w| { leave(w); w.runs[0].removals_held = true }),
    (8, "an entry lost although owned", sound, |w| { w.entries.entry(INDEX).or_default().remove("file:///1"); }),
    (8, "another entry than was sent", sound, |w| { w.entries.entry(INDEX).or_default().insert("file:///1".into(), Digest(8)); }),
    (8, "an entry that stayed", working, |w| { leave(w); w.deliveries[0].intended = Digest::NONE; w.deliveries[0].confirmed = Some(Digest::NONE) }),
    (9, "settled before the output confirmed", working, |w| w.deliveries[0].confirmed = None),
    (10, "listing at rest", sound, |w| w.jobs[0].facts.seeding = true),
    (16, "a wrong sum", sound, |w| { w.jobs[0].counts.insert("documents", 3); }),
    (16, "a wrong count of a state", sound, |w| { w.jobs[0].counts.insert("waiting", 1); }),
    (17, "a run open at rest", sound, |w| w.runs[0].open = true),
    (17, "two open runs", working, |w| { let mut older = w.runs[0]; older.number = 2; w.runs.push(older) }),
    (17, "no open run at work", working, |w| w.runs[0].open = false),
    (18, "confirmed before the intent", sound, |w| w.deliveries[0].confirmed_at = Some(9)),
    (19, "written by a later run", sound, |w| w.documents[0].changed_run = 4),
    (20, "owners that disagree", working, |w| w.deliveries[1].address = w.deliveries[0].address.clone()),
    (21, "waiting and being removed", sound, |w| w.documents[0].facts.taken = true),
];

fn leave(world: &mut Snapshot) {
    world.documents[0] = document(1, document::State::Leaving);
    world.documents[0].facts.seen = false;
    world.documents[0].missed_by = Some(3);
}

#[test]
fn a_sound_world_has_no_breach() {
    assert_eq!(breaches(&sound()), []);
    assert_eq!(breaches(&working()), []);
    let mut leaving = working();
    leave(&mut leaving);
    assert_eq!(breaches(&leaving), []);
}

#[test]
fn each_planted_breach_is_found_by_its_number() {
    for (number, name, world, plant) in PLANTS {
        let mut world = world();
        plant(&mut world);
        let found = numbers(&world);
        assert!(found.contains(number), "{name}: expected {number}, found {found:?}");
    }
}

/// A plant that trips half of the list would hide that its own judge is blind.
#[test]
fn most_plants_trip_only_their_own_judge() {
    let alone = PLANTS.iter().filter(|(number, _, world, plant)| {
        let mut world = world();
        plant(&mut world);
        numbers(&world) == [*number]
    });
    assert!(alone.count() * 4 >= PLANTS.len() * 3);
}

#[test]
fn every_judge_of_snapshots_has_a_plant_and_numbers_are_in_order() {
    for (at, invariant) in ALL.iter().enumerate() {
        assert_eq!(invariant.number as usize, at + 1);
        let planted = PLANTS.iter().any(|plant| plant.0 == invariant.number);
        assert_eq!(planted, matches!(invariant.judge, Judge::Snapshot(_)), "{}", invariant.name);
    }
}

#[test]
fn what_is_allowed_is_no_breach() {
    let mut stale_holder = working();
    stale_holder.hands = vec![
        Hand { document: DocumentId(1), current: true },
        Hand { document: DocumentId(1), current: false },
    ];
    assert_eq!(numbers(&stale_holder), [] as [u32; 0]);

    let mut void_removal = working();
    leave(&mut void_removal);
    void_removal.documents[0].missed_by = Some(2);
    void_removal.runs[0].kind = RunKind::Minimal;
    assert_eq!(numbers(&void_removal), [] as [u32; 0], "the removal of an older run binds nobody");

    let mut held_back = sound();
    held_back.documents[0].facts.seen = false;
    held_back.runs[0].removals_held = true;
    assert_eq!(numbers(&held_back), [] as [u32; 0], "the delete guard keeps it");

    let mut blind = sound();
    blind.documents[0].facts.seen = false;
    blind.documents[0].facts.kept = true;
    assert_eq!(numbers(&blind), [] as [u32; 0], "its place could not be looked at");
}

#[test]
fn two_worlds_converge_when_their_outputs_hold_the_same() {
    let mut other = sound();
    assert!(converged(&sound(), &other));
    other.entries.entry(INDEX).or_default().remove("file:///1");
    assert!(!converged(&sound(), &other));
}
