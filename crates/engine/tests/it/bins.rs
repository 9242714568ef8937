//! Which document is next where a source names bins, and how much is read where its connection has a throttle.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ingather_contract::call::Clock as _;
use ingather_engine::Engine;
use ingather_engine::progress::Progress;
use ingather_model::job::Definition;
use ingather_model::limits;
use ingather_testkit::database::Kind;
use ingather_testkit::together::bins::{
    BINNED, before_the_late_bin, between_fetches, comes, connect, first_fetch_of_a_process, of, others_go_on,
    read, read_before_the_better_job, stop_at, world_of_bins,
};
use ingather_testkit::together::{definition, put, source};
use ingather_testkit::world::{FULL, REGISTRY, World};
use serde_json::json;

/// Longer than anything that is to come takes on a busy machine.
const LONGEST: Duration = Duration::from_secs(60);

#[test]
fn bins_take_turns_whatever_the_length_of_their_lines_and_late_ones_get_nothing_for_the_time_before() {
    let before = before_the_late_bin();
    // What a claim has is read in the order of its folders, and the first one may be of one bin alone.
    let about_forty = 40 - limits::CLAIM_OF_BINS_MAX..=40 + 2 * limits::CLAIM_OF_BINS_MAX;
    assert!(before.iter().all(|read| about_forty.contains(read)), "{before:?}");
}

#[test]
fn a_bin_with_one_place_is_read_by_one_at_a_time_and_holds_up_no_other() {
    assert!(others_go_on(LONGEST));
}

#[test]
fn a_document_waits_for_all_of_its_bins() {
    let rules = json!([{"bins": "h/", "fetches_at_once": 2}, {"bins": "h/[ab]/", "fetches_at_once": 1}]);
    let world = world_of_bins(6, 2, &rules, &[("h/a/", 5), ("h/b/", 5), ("h/c/", 5), ("k/", 5)]);
    let gate = stop_at(&world, &["h/"]);
    // The other ones of `h/` wait although their own bins are free, when two of it are read.
    std::thread::scope(|scope| {
        let _opens = gate.opens_at_the_end();
        let run = scope.spawn(|| world.run("docs", FULL));
        assert!(comes(LONGEST, || of(&read(&world), &["h/", "k/"]) == [2, 5]));
        let read = read(&world);
        assert!(of(&read, &["h/a/", "h/b/"]).into_iter().all(|one| one <= 1), "{read:?}");
        gate.open();
        assert_eq!(run.join().unwrap().unwrap().counts.added, 20);
    });
}

#[test]
fn fetches_begin_no_faster_than_the_strictest_rule_says_and_the_first_one_waits_as_well() {
    assert_eq!(between_fetches(), Some(1_000));
    let rules = json!([
        {"bins": "a/", "fetches_per_minute": 60},
        {"bins": "[ab]/", "fetches_per_minute": 600},
        {"fetches_per_minute": 6_000},
    ]);
    let world = world_of_bins(1, 1, &rules, &[("a/", 4), ("b/", 10)]);
    let began = world.clock.now();
    assert_eq!(world.run("docs", FULL).unwrap().counts.added, 14);
    let source = source(&world);
    let at = |folder: &str| -> Vec<i64> {
        let read = source.fetched.iter().zip(&source.fetched_at);
        read.filter(|(name, _)| name.starts_with(folder)).map(|(_, at)| at - began).collect()
    };
    for (folder, every) in [("a/", 1_000), ("b/", 100)] {
        let times = at(folder);
        assert!(times[0] >= every && times.windows(2).all(|pair| pair[1] - pair[0] >= every), "{times:?}");
    }
    // Of a clock that goes on when somebody waits, one bin alone waits all the time.
    assert!(at("a/")[3] < 4_200, "{:?}", at("a/"));
}

/// A rule without bins is of the whole connection; a source without bins has one for each job, with its name.
#[test]
fn jobs_over_a_source_without_bins_are_limited_together_and_by_their_names() {
    let mut world = World::new(Kind::Sqlite);
    world.output("one", "memory");
    connect(&world, 0, &json!([{"fetches_per_minute": 600}, {"bins": "slow", "fetches_per_minute": 60}]));
    for name in ["slow", "fast"] {
        let root = format!("{name}/");
        world.job(Definition { repository: BINNED.to_owned(), ..definition(&world, name, &root, &["one"]) });
        (0..5).for_each(|n| put(&world, &format!("{root}{n}"), "v1"));
    }
    let mut took = Vec::new();
    for name in ["slow", "fast"] {
        let began = world.clock.now();
        assert_eq!(world.run(name, FULL).unwrap().counts.added, 5);
        took.push(world.clock.now() - began);
    }
    assert!((5_000..5_100).contains(&took[0]) && (400..600).contains(&took[1]), "{took:?}");
}

#[test]
fn content_is_read_no_faster_than_its_rate() {
    let world = world_of_bins(3, 1, &json!([{"bytes_per_second": 1_000}]), &[]);
    (0..4).for_each(|n| put(&world, &format!("a/{n}"), &"x".repeat(5_000)));
    let began = world.clock.now();
    assert_eq!(world.run("docs", FULL).unwrap().counts.added, 4);
    let took = world.clock.now() - began;
    assert!((20_000..20_000 + 4 * limits::THROTTLE_BURST_MS).contains(&took), "{took} ms for 20,000 bytes");
    assert_eq!(world.entries("one")["a/3"].text.len(), 5_000, "nothing is lost of what is paced");
}

/// What a process had used that died, nobody knows: the next one begins with nothing.
#[test]
fn a_process_that_begins_takes_all_for_used() {
    assert_eq!(first_fetch_of_a_process(), 60_000);
    let mut world = world_of_bins(1, 1, &json!([{"fetches_per_minute": 1}]), &[("a/", 1)]);
    for round in 0..3 {
        let began = world.clock.now();
        world.run("docs", FULL).unwrap();
        // It is read once more where its folder was let go of meanwhile.
        let at: Vec<i64> = source(&world).fetched_at.drain(..).map(|at| at - began).collect();
        assert_eq!(at[0], 60_000, "round {round}: {at:?}");
        put(&world, "a/000", &format!("v{round}"));
        world.reopen();
    }
}

/// A clock by which a throttle waits for good; it is told what is waited for.
#[derive(Clone)]
struct Stands(ingather_testkit::clock::HandClock);

impl ingather_contract::call::Clock for Stands {
    fn now(&self) -> i64 {
        self.0.now()
    }
}

/// Whatever a run waits for of its throttle, a stop and a pause end it at once; what was put back is read when the pause is over.
#[test]
fn a_stop_and_a_pause_end_each_wait_for_a_throttle_at_once() {
    let rules = [
        json!([{"fetches_per_minute": 1}]),
        json!([{"bytes_per_second": 1}]),
        json!([{"fetches_per_minute": 0}]),
        json!([{"bins": "a/", "fetches_at_once": 0}]),
    ];
    for rule in rules {
        let world = world_of_bins(2, 1, &rule, &[("a/", limits::READY_MAX + 50)]);
        source(&world).page_items = 1_000;
        let job = world.find("docs").unwrap();
        let engine = world.engine();
        let engine = Engine {
            reader: engine.reader.clone(),
            writer: engine.writer.clone(),
            registry: REGISTRY,
            clock: Arc::new(Stands(world.clock.clone())),
            cancel: engine.cancel.clone(),
            data: engine.data.clone(),
            host: engine.host.clone(),
            process: engine.process.clone(),
            asked_by: String::new(),
        };
        std::thread::scope(|scope| {
            let run = scope.spawn(|| engine.run(&job, FULL, Arc::new(Progress::default())));
            assert!(comes(LONGEST, || engine.process.glance(job.id).throttled.is_some()));
            assert!(engine.pause(job.id, true).unwrap());
            assert!(comes(LONGEST, || !engine.process.glance(job.id).busy));
            assert!(engine.pause(job.id, false).unwrap());
            assert!(comes(LONGEST, || engine.process.glance(job.id).throttled.is_some()));
            let began = Instant::now(); // clock: how long a person waits
            assert!(engine.stop(job.id));
            let report = run.join().unwrap().unwrap();
            let took = began.elapsed();
            assert!(report.stopped && took < Duration::from_millis(500), "{rule}: {took:?}");
        });
        assert!(read(&world).len() <= 1, "{rule}");
    }
}

/// What was claimed is read, and then nothing of the worse job while the better one has anything left to take.
#[test]
fn documents_of_a_job_of_a_better_priority_are_taken_first() {
    let read = read_before_the_better_job(2_000);
    assert!(read <= 5 * limits::CLAIM_MAX, "{read} of 2,000");
}
