//! Continuous jobs: which passes their watches begin, by a clock that is moved by hand.

use std::collections::VecDeque;
use std::sync::Arc;

use ingather_contract::call::Clock as _;
use ingather_contract::repository::Told;
use ingather_engine::{Engine, Options, Watches};
use ingather_model::fault::{Fault, Reason};
use ingather_model::job::Definition;
use ingather_model::job::schedule::Schedule;
use ingather_model::limits;
use ingather_store::jobs::Job;
use ingather_testkit::database::{BOTH, Kind};
use ingather_testkit::script_repository::locked;
use ingather_testkit::together::{definition, put};
use ingather_testkit::world::{FULL, World};

const PASS: Options = Options { is_pass: true, ..FULL };
const GRAIN: i64 = 100;

/// A world with a continuous job `docs`, and the watches of its service.
struct Watched {
    world: World,
    watches: Watches,
}

impl Watched {
    fn new(kind: Kind, can_be_watched: bool) -> Watched {
        let mut world = World::new(kind);
        world.output("one", "memory");
        let schedule = Some(Schedule::Continuous);
        world.job(Definition { schedule, ..definition(&world, "docs", "", &["one"]) });
        put(&world, "a", "v1");
        locked(&world.source).told = can_be_watched.then(VecDeque::new);
        Watched { world, watches: Watches::new(Arc::new(|| {}), 10) }
    }

    fn engine(&self) -> impl Fn(&Job) -> Engine + use<> {
        let engine = self.world.engine();
        let Engine { reader, clock, registry, host, process, .. } = engine;
        let of_job = (reader.clone(), clock.clone(), *registry, host.clone(), process.clone());
        let data = engine.data.clone();
        move |_| {
            let (reader, clock, registry, host, process) = of_job.clone();
            Engine {
                reader,
                writer: None,
                registry,
                clock,
                cancel: Default::default(),
                data: data.clone(),
                host,
                process,
                asked_by: String::new(),
            }
        }
    }

    /// What is due: whether a pass begins now, and else in how many milliseconds it is asked again.
    fn due(&mut self) -> Result<(), Option<i64>> {
        self.due_by(self.world.find("docs").unwrap())
    }

    /// The same, of a job as it was read.
    fn due_by(&mut self, job: Job) -> Result<(), Option<i64>> {
        let (engine, process) = (self.engine(), self.world.engine().process.clone());
        let due = self.watches.look(vec![job], &engine, &process, &self.world.clock).unwrap();
        match due.begins.as_slice() {
            [] => Err(due.again.map(|again| again - self.world.clock.now())),
            [_] => Ok(()),
            more => panic!("{more:?}"),
        }
    }

    /// Waits until a pass is due, and makes it; after how long.
    fn pass(&mut self) -> i64 {
        let begin = self.world.clock.now();
        while let Err(again) = self.due() {
            self.world.clock.pass(again.expect("something is due").max(1));
        }
        let waited = self.world.clock.now() - begin;
        let (job, engine) = (self.world.find("docs").unwrap(), self.engine());
        self.watches.begin(&job, &engine, &self.world.clock);
        // How it ends is on record.
        let _ = self.world.run("docs", PASS);
        // The end of a run is a change, too.
        let _ = self.due();
        waited
    }

    /// After some time something changes, and a pass begins; its job as it was then.
    fn begin_another(&mut self) -> Job {
        self.world.clock.pass(10_000);
        self.change();
        self.world.clock.pass(GRAIN);
        assert_eq!(self.due(), Ok(()));
        let (job, engine) = (self.world.find("docs").unwrap(), self.engine());
        self.watches.begin(&job, &engine, &self.world.clock);
        job
    }

    fn tell(&self, told: Told) {
        locked(&self.world.source).told.as_mut().unwrap().push_back(told);
    }

    fn change(&self) {
        let now = self.world.clock.steady();
        self.tell(Told::Changed { scopes: Vec::new(), since: now, until: now });
    }

    fn unwatched(&self) -> Option<String> {
        self.world.engine().process.unwatched(self.world.find("docs").unwrap().id)
    }
}

fn because(code: &str) -> Reason {
    Reason::new(code, format!("it is {code}"))
}

#[test]
fn a_service_begins_with_a_pass_and_each_change_and_each_loss_begins_another_one() {
    for kind in BOTH {
        let mut watched = Watched::new(kind, true);
        assert_eq!(watched.pass(), GRAIN, "the watch stands from now on");
        assert_eq!(watched.due(), Err(Some(limits::PASS_WATCHED_MS)), "and nothing changes");
        watched.world.clock.pass(10_000);
        watched.change();
        assert_eq!(watched.pass(), GRAIN);
        watched.world.clock.pass(10_000);
        watched.tell(Told::Lost(because("lost")));
        assert_eq!(watched.pass(), GRAIN);
        assert_eq!(watched.unwatched(), None);
        assert_eq!(watched.pass(), limits::PASS_WATCHED_MS, "once a day all the same");
    }
}

#[test]
fn what_is_told_while_a_pass_is_about_to_begin_is_taken_by_it_unless_it_is_too_young() {
    let mut watched = Watched::new(Kind::Sqlite, true);
    watched.pass();
    watched.world.clock.pass(10_000);
    watched.change();
    assert_eq!(watched.due(), Err(Some(GRAIN)));
    watched.world.clock.pass(GRAIN);
    // The watch is not asked again before the pass begins.
    watched.change();
    assert_eq!(watched.pass(), 0);
    assert_eq!(watched.pass(), limits::PASS_REST_MS_MIN, "it was younger than the grain");
    assert_eq!(watched.due(), Err(Some(limits::PASS_WATCHED_MS)));
}

#[test]
fn a_watch_that_ends_is_opened_with_each_pass_and_makes_the_job_one_that_is_listed_at_intervals() {
    let mut watched = Watched::new(Kind::Sqlite, true);
    watched.pass();
    watched.world.clock.pass(10_000);
    watched.tell(Told::Ended(because("full")));
    assert_eq!(watched.pass(), 0, "something may have changed");
    let sentence = "is listed every 5 minutes instead of being watched: it is full";
    assert_eq!(
        watched.due(),
        Err(Some(limits::PASS_REST_MS_MIN)),
        "the watch that was opened with the pass stands"
    );
    assert_eq!(watched.unwatched(), None);
    watched.pass();
    watched.world.clock.pass(10_000);
    watched.tell(Told::Ended(because("full")));
    // From here on there is none.
    assert_eq!(watched.due(), Ok(()));
    assert_eq!(watched.unwatched().as_deref(), Some(sentence));
    locked(&watched.world.source).told = None;
    watched.pass();
    assert_eq!(watched.due(), Err(Some(limits::PASS_UNWATCHED_MS)));
    assert_eq!(
        watched.unwatched().as_deref(),
        Some("is listed every 5 minutes instead of being watched: its source tells nobody of changes")
    );
}

#[test]
fn a_source_that_cannot_be_watched_is_listed_at_intervals_from_the_beginning() {
    let mut watched = Watched::new(Kind::Sqlite, false);
    assert_eq!(watched.pass(), 0);
    assert_eq!(watched.pass(), limits::PASS_UNWATCHED_MS);
    assert!(watched.unwatched().is_some());
}

#[test]
fn a_document_that_waits_begins_the_next_pass_and_keeps_none_open() {
    let mut watched = Watched::new(Kind::Sqlite, true);
    watched.pass();
    watched.world.clock.pass(10_000);
    put(&watched.world, "b", "v1");
    locked(&watched.world.source).file("b").fault = Some((Fault::passing("busy", "it is busy"), 1));
    watched.change();
    watched.pass();
    let waits = watched.pass();
    assert!((limits::PASS_REST_MS_MIN..=2 * limits::RETRY_WAIT_MS_MIN).contains(&waits), "{waits}");
    let shelf = ingather_testkit::memory_output::locked(&watched.world.shelves["one"]);
    assert!(shelf.entries.keys().any(|address| address.ends_with("/b")), "{:?}", shelf.entries.keys());
    drop(shelf);
    assert_eq!(watched.due(), Err(Some(limits::PASS_WATCHED_MS)));
}

#[test]
fn a_pass_that_ends_after_its_job_was_read_is_not_taken_for_one_that_failed() {
    let mut watched = Watched::new(Kind::Sqlite, true);
    watched.pass();
    let read_before = watched.begin_another();
    let _ = watched.world.run("docs", PASS);
    assert_eq!(watched.due_by(read_before), Err(Some(limits::PASS_WATCHED_MS)));
}

#[test]
fn a_pass_that_could_not_look_is_made_again_after_a_minute_and_a_pause_lets_none_begin() {
    let mut watched = Watched::new(Kind::Sqlite, true);
    watched.pass();
    let job = watched.begin_another();
    watched.watches.refused(job.id, &watched.world.clock);
    assert_eq!(watched.due(), Err(Some(limits::PASS_RETRY_MS)));
    watched.world.engine().pause(job.id, true).unwrap();
    watched.world.clock.pass(limits::PASS_RETRY_MS);
    assert_eq!(watched.due(), Err(None));
    watched.world.engine().pause(job.id, false).unwrap();
    assert_eq!(watched.pass(), 0, "what was told is not forgotten");
}
