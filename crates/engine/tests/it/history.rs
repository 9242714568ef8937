//! What a run notes of single documents is what it counts, and is noted with it; a run that notes nothing pays nothing.

use std::collections::BTreeMap;

use ingather_contract::call::Clock as _;
use ingather_engine::Options;
use ingather_model::fault::Fault;
use ingather_model::job::history::{History, HistoryKind, HistoryOf, HistoryOutcome};
use ingather_model::job::notify::{Notify, NotifyEvent};
use ingather_model::job::{Definition, RunKind};
use ingather_model::limits;
use ingather_store::runs::history::{self, PastDocument, Place};
use ingather_store::runs::{self, Begin, notices};
use ingather_store::{Durability, jobs};
use ingather_testkit::database::{BOTH, Kind};
use ingather_testkit::together::{definition, put, source};
use ingather_testkit::world::{FULL, World};

fn world(kind: Kind, of: HistoryOf) -> World {
    world_that_tells(kind, of, vec![NotifyEvent::Finished])
}

fn world_that_tells(kind: Kind, of: HistoryOf, on: Vec<NotifyEvent>) -> World {
    let mut world = World::new(kind);
    world.output("one", "memory");
    let history = History { of, days: None };
    let notify = vec![Notify { to: "ops".to_owned(), on }];
    world.job(Definition { history, notify, ..definition(&world, "docs", "", &["one"]) });
    world
}

fn past(world: &World) -> Vec<PastDocument> {
    let most = 2 * limits::HISTORY_FAILURES_MAX;
    world.engine().reader.read(|sql| history::list(sql, None, 0, &Place::before(i64::MAX), most)).unwrap()
}

/// How often each outcome is noted of a run.
fn noted(world: &World, run: i64) -> BTreeMap<HistoryOutcome, u64> {
    let mut noted = BTreeMap::new();
    for row in past(world).into_iter().filter(|row| row.run == run) {
        *noted.entry(row.outcome).or_default() += 1;
    }
    noted
}

/// A run, and what it noted.
fn run(world: &World) -> (ingather_engine::Report, BTreeMap<HistoryOutcome, u64>) {
    let report = world.run("docs", FULL).unwrap();
    let noted = noted(world, report.run.unwrap());
    (report, noted)
}

#[test]
fn what_a_run_notes_of_every_document_is_what_it_counts() {
    for kind in BOTH {
        let world = world(kind, HistoryOf::Documents);
        (0..5).for_each(|n| put(&world, &format!("f{n}"), "v1"));
        put(&world, "broken", "v1");
        source(&world).file("broken").fault = Some((Fault::broken("torn", "it is torn"), 1));
        let (first, noted) = run(&world);
        assert_eq!((first.counts.added, first.counts.failed), (5, 1));
        assert_eq!(noted, BTreeMap::from([(HistoryOutcome::Added, 5), (HistoryOutcome::Failed, 1)]));
        let failed = past(&world).into_iter().find(|row| row.outcome == HistoryOutcome::Failed).unwrap();
        assert_eq!((failed.name.as_str(), failed.code.as_str()), ("broken", "torn"));
        assert_eq!(failed.message, "it is torn");
        let read = past(&world).into_iter().filter(|row| row.outcome == HistoryOutcome::Added);
        assert!(read.clone().all(|row| row.bytes == 2), "{:?}", read.collect::<Vec<_>>());
        put(&world, "f0", "v2");
        source(&world).files.remove("f1");
        let (second, noted) = run(&world);
        assert_eq!((second.counts.updated, second.counts.deleted), (1, 1));
        assert_eq!(noted, BTreeMap::from([(HistoryOutcome::Updated, 1), (HistoryOutcome::Removed, 1)]));
        // What is as it was is not visited.
        let (third, noted) = run(&world);
        assert_eq!((third.counts.seen(), noted.len()), (5, 0));
        world.delete("docs").unwrap();
        assert_eq!(past(&world), []);
    }
}

#[test]
fn a_job_that_does_not_ask_notes_failures_alone_and_as_many_as_a_run_may() {
    let world = world(Kind::Sqlite, HistoryOf::Failures);
    put(&world, "good", "v1");
    let (_, noted) = run(&world);
    assert!(noted.is_empty(), "{noted:?}");
    let from = |kind| {
        let known = world.engine().reader.read(history::known_from).unwrap();
        known.into_iter().find(|(_, known, _)| *known == kind).map(|(_, _, at)| at)
    };
    let since = from(HistoryKind::Failures);
    let many = limits::HISTORY_FAILURES_MAX + 50;
    for n in 0..many {
        put(&world, &format!("f{n}"), "v1");
        source(&world).file(&format!("f{n}")).fault = Some((Fault::broken("torn", "it is torn"), 9));
    }
    let (report, noted) = run(&world);
    assert_eq!(report.counts.failed, many as u64, "the counters have all");
    assert_eq!(noted, BTreeMap::from([(HistoryOutcome::Failed, limits::HISTORY_FAILURES_MAX as u64)]));
    assert!(from(HistoryKind::Failures) > since, "what it could not note is not said to be known");
    assert_eq!(from(HistoryKind::Documents), None);
}

#[test]
fn the_end_of_a_run_is_noted_for_who_is_told_with_the_run_itself_and_once() {
    for kind in BOTH {
        let world = world(kind, HistoryOf::Failures);
        put(&world, "a", "v1");
        run(&world);
        run(&world);
        let due = world.engine().reader.read(|sql| notices::due(sql, i64::MAX, 9)).unwrap();
        let mut runs: Vec<i64> = due.iter().map(|notice| notice.run).collect();
        runs.sort_unstable();
        assert_eq!(runs, [1, 2]);
        let body: serde_json::Value = serde_json::from_str(&due[0].body).unwrap();
        assert_eq!(
            (&body["outcome"], &body["job"], &body["begun_by"]),
            (&"done".into(), &"docs".into(), &"world".into())
        );
    }
}

fn due(world: &World) -> Vec<(i64, NotifyEvent, String)> {
    let due = world.engine().reader.read(|sql| notices::due(sql, i64::MAX, 99)).unwrap();
    let outcome = |body: &str| {
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        body["outcome"].as_str().unwrap().to_owned()
    };
    let mut due: Vec<_> =
        due.iter().map(|notice| (notice.run, notice.event, outcome(&notice.body))).collect();
    due.sort_unstable();
    due
}

/// A run that a crash ended is over, too, although another one goes on with it.
#[test]
fn the_end_of_a_run_that_was_interrupted_is_noted_as_it_is_closed_and_once() {
    for kind in BOTH {
        let mut world = world(kind, HistoryOf::Failures);
        put(&world, "a", "v1");
        run(&world);
        let job = world.find("docs").unwrap().id;
        let (at, notes) = (world.clock.now(), HistoryOf::Failures);
        let begun = world.store().write(Durability::Synced, |sql| {
            let number = jobs::begin(sql, job)?.unwrap();
            runs::open(sql, job, Begin { number, kind: RunKind::Full, at, by: "world", notes })
        });
        begun.unwrap();
        world.reopen();
        run(&world);
        let told = |run, outcome: &str| (run, NotifyEvent::Finished, outcome.to_owned());
        let expected = [told(1, "done"), told(2, "interrupted"), told(3, "done")];
        assert_eq!(due(&world), expected, "{kind:?}");
    }
}

/// Nothing of such a run fails, and nothing of it is done: of passes, which come by themselves, the first one is told.
#[test]
fn a_source_that_is_gone_is_told_as_a_failure() {
    for kind in BOTH {
        let on = vec![NotifyEvent::Failed, NotifyEvent::Finished];
        let world = world_that_tells(kind, HistoryOf::Failures, on);
        put(&world, "a", "v1");
        run(&world);
        source(&world).absent = true;
        let (report, _) = run(&world);
        assert_eq!((report.counts.deleted, report.error), (0, None));
        let pass = Options { is_pass: true, ..FULL };
        for _ in 0..2 {
            world.run("docs", pass).unwrap();
        }
        source(&world).absent = false;
        world.run("docs", pass).unwrap();
        source(&world).absent = true;
        world.run("docs", pass).unwrap();
        let failed = |run| (run, NotifyEvent::Failed, "done".to_owned());
        let expected = [(1, NotifyEvent::Finished, "done".to_owned()), failed(2), failed(6)];
        assert_eq!(due(&world), expected, "{kind:?}");
        let body = world.engine().reader.read(|sql| notices::due(sql, i64::MAX, 9)).unwrap();
        let of_second: serde_json::Value =
            serde_json::from_str(&body.iter().find(|notice| notice.run == 2).unwrap().body).unwrap();
        assert!(of_second["error"].as_str().is_some_and(|error| !error.is_empty()), "{of_second}");
    }
}

/// Each new file is younger than the grain of the clock that stamps it at first, which nobody wants to read of.
#[test]
fn what_changes_as_it_is_read_is_noted_once() {
    for kind in BOTH {
        let world = world(kind, HistoryOf::Documents);
        put(&world, "still", "v1");
        put(&world, "moves", "v1");
        source(&world).file("moves").racy = u32::MAX;
        let (first, noted) = run(&world);
        assert_eq!((first.counts.added, first.counts.waiting), (1, 1), "{kind:?}");
        let expected = [(HistoryOutcome::Added, 1), (HistoryOutcome::Waiting, 1)];
        assert_eq!(noted, BTreeMap::from(expected), "{kind:?}: the last look counts");
        source(&world).file("moves").racy = 2;
        let (second, noted) = run(&world);
        assert_eq!(second.counts.added, 1, "{kind:?}");
        assert_eq!(noted, BTreeMap::from([(HistoryOutcome::Added, 1)]), "{kind:?}");
    }
}
