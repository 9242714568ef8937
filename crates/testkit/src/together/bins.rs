//! Documents of several bins, and throttles of their connection; told here once, for the engine's tests and for the planted faults.

use std::time::{Duration, Instant};

use ingather_contract::call::Clock as _;
use ingather_model::job::Definition;
use ingather_model::limits;
use ingather_store::Durability;
use ingather_store::connections::{self, Role};
use ingather_store::jobs::Job;
use serde_json::{Value, json};

use super::gate::Gate;
use super::{definition, put, source};
use crate::database::Kind;
use crate::script_repository::REPOSITORY_OF_BINS;
use crate::world::{FULL, World};

/// Name of the connection to the scripted source that names bins.
pub const BINNED: &str = "binned";

/// Adds a connection to the scripted source: its bins are as many of the first folders of a name, and it has these rules.
///
/// # Panics
/// When the store takes none.
pub fn connect(world: &World, bins: usize, throttle: &Value) {
    source(world).bins = bins;
    let (settings, now) = (json!({ "throttle": throttle }), world.clock.now());
    world
        .store()
        .write(Durability::Synced, |sql| {
            connections::find_or_add(sql, Role::Repository, REPOSITORY_OF_BINS.name, BINNED, &settings, now)
        })
        .expect("the store takes a connection");
}

/// A job over all of it.
pub fn binned(world: &World, name: &str, output: &str) -> Definition {
    Definition { repository: BINNED.to_owned(), ..definition(world, name, "", &[output]) }
}

/// A world of so many visitors, and in it the job `docs` over files of bins: so many in each of these folders.
pub fn world_of_bins(threads: usize, bins: usize, throttle: &Value, files: &[(&str, usize)]) -> World {
    let mut world = World::new(Kind::Sqlite);
    world.threads = threads;
    world.output("one", "memory");
    world.reopen();
    connect(&world, bins, throttle);
    world.job(binned(&world, "docs", "one"));
    for (folder, count) in files {
        (0..*count).for_each(|n| put(&world, &format!("{folder}{n:03}"), "v1"));
    }
    source(&world).page_items = limits::PAGE_ITEMS_MAX;
    world
}

/// Names that were read, in order.
pub fn read(world: &World) -> Vec<String> {
    source(world).fetched.clone()
}

/// How many of these names are in each of these folders.
pub fn of(names: &[String], folders: &[&str]) -> Vec<usize> {
    folders.iter().map(|folder| names.iter().filter(|name| name.starts_with(folder)).count()).collect()
}

/// Whoever reads in these folders waits, until the answer opens.
pub fn stop_at(world: &World, folders: &[&str]) -> Gate {
    let gate = Gate::default();
    let mut source = source(world);
    let within = |name: &&String| folders.iter().any(|folder| name.starts_with(folder));
    source.gates = source.files.keys().filter(within).map(|name| (name.clone(), gate.clone())).collect();
    gate
}

/// Waits for what is to come of other threads; false when it does not come within `longest`.
pub fn comes(longest: Duration, holds: impl Fn() -> bool) -> bool {
    let began = Instant::now();
    while !holds() {
        if began.elapsed() > longest {
            return false;
        }
        std::thread::yield_now();
    }
    true
}

/// A run of one visitor that reads nothing before all is listed: what it read.
///
/// # Panics
/// When the run fails.
pub fn read_after_the_listing(world: &World) -> Vec<String> {
    let gate = stop_at(world, &[""]);
    let job = world.find("docs").expect("it was added");
    std::thread::scope(|scope| {
        let _opens = gate.opens_at_the_end();
        let run = scope.spawn(|| world.run("docs", FULL));
        gate.wait_for_somebody();
        while world.engine().process.glance(job.id).lists {
            std::thread::yield_now();
        }
        gate.open();
        run.join().expect("a run does not panic").expect("a quiet run ends well");
    });
    read(world)
}

/// How many documents of the first two bins were read when the last one of the third was, which has forty. All begin at the same turn, but
/// for one claim of whichever was listed first.
pub fn before_the_late_bin() -> Vec<usize> {
    let world = world_of_bins(1, 1, &json!([]), &[("a/", 150), ("b/", 100), ("c/", 40)]);
    let read = read_after_the_listing(&world);
    let last = read.iter().rposition(|name| name.starts_with("c/")).unwrap_or_default();
    of(&read[..=last], &["a/", "b/"])
}

/// After how many milliseconds the only document of a new process is read, of which one may be in a minute.
///
/// # Panics
/// When the run fails.
pub fn first_fetch_of_a_process() -> i64 {
    let world = world_of_bins(1, 1, &json!([{"fetches_per_minute": 1}]), &[("a/", 1)]);
    let began = world.clock.now();
    world.run("docs", FULL).expect("a quiet run ends well");
    source(&world).fetched_at[0] - began
}

/// The least time between two fetches of a bin of which one rule allows one in a second, and one after it ten.
///
/// # Panics
/// When the run fails.
pub fn between_fetches() -> Option<i64> {
    let rules =
        json!([{"bins": "a/", "fetches_per_minute": 60}, {"bins": "[ab]/", "fetches_per_minute": 600}]);
    let world = world_of_bins(1, 1, &rules, &[("a/", 4)]);
    world.run("docs", FULL).expect("a quiet run ends well");
    let times = source(&world).fetched_at.clone();
    times.windows(2).map(|pair| pair[1] - pair[0]).min()
}

/// Whether all that has no rule is read while both bins that have one place each stand.
///
/// # Panics
/// When the run fails.
pub fn others_go_on(longest: Duration) -> bool {
    let rules = json!([{"bins": "a/|b/", "fetches_at_once": 1}]);
    let world = world_of_bins(4, 1, &rules, &[("a/", 30), ("b/", 3), ("c/", 30)]);
    let gate = stop_at(&world, &["a/", "b/"]);
    std::thread::scope(|scope| {
        let _opens = gate.opens_at_the_end();
        let run = scope.spawn(|| world.run("docs", FULL));
        let goes_on = comes(longest, || of(&read(&world), &["a/", "b/", "c/"]) == [1, 1, 30]);
        gate.open();
        let report = run.join().expect("a run does not panic").expect("a quiet run ends well");
        goes_on && report.counts.added == 63
    })
}

/// How many documents of a job of priority 9 are read when a job of priority 1 has its last ones in hands, both of which have so many: from
/// then on it has nothing left to take, and a slow machine may read any number of the others before those are read.
///
/// # Panics
/// When a run fails.
pub fn read_before_the_better_job(documents: usize) -> usize {
    let mut world = World::new(Kind::Sqlite);
    world.threads = 2;
    world.output("one", "memory");
    world.reopen();
    for (name, number) in [("better", 1), ("worse", 9)] {
        let priority = number.try_into().expect("a number from 1 to 10");
        world.job(Definition { priority, ..definition(&world, name, &format!("{name}/"), &["one"]) });
        (0..documents).for_each(|n| put(&world, &format!("{name}/{n:04}"), "v1"));
    }
    source(&world).page_items = limits::PAGE_ITEMS_MAX;
    let gate = stop_at(&world, &[""]);
    std::thread::scope(|scope| {
        let _opens = gate.opens_at_the_end();
        let runs = ["worse", "better"].map(|name| {
            let job = world.find(name).expect("it was added");
            let run = scope.spawn(|| world.run(name, FULL));
            // All of it is listed before the other one begins.
            while run_is_to_list(&world, &job) {
                std::thread::yield_now();
            }
            run
        });
        gate.open();
        for run in runs {
            run.join().expect("a run does not panic").expect("a quiet run ends well");
        }
    });
    let read = read(&world);
    let in_hands = world.threads * limits::CLAIM_MAX;
    let better = read.iter().enumerate().filter(|(_, name)| name.starts_with("better/"));
    let (last, _) = better.rev().nth(in_hands).expect("more are read than are in hands at once");
    of(&read[..last], &["worse/"])[0]
}

fn run_is_to_list(world: &World, job: &Job) -> bool {
    let glance = world.engine().process.glance(job.id);
    glance.lists || !glance.busy
}
