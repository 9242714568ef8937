//! Visits that wait for each other by events: several runs at once, people, and connectors that do not keep to the rules.

use ingather_engine::Report;
use ingather_model::job::Definition;
use ingather_model::limits;
use ingather_store::events;
use ingather_testkit::database::Kind;
use ingather_testkit::script_repository::site::Page;
use ingather_testkit::together::definition;
use ingather_testkit::together::gate::Gate;
use ingather_testkit::together::site::{WEB, site};
use ingather_testkit::together::waiting::Waiting;
use ingather_testkit::world::{FULL, World};

use super::{LONGEST, names, run, visited, world, world_on};

fn change(world: &World, name: &str, change: impl FnOnce(&mut Page)) {
    site(world, |site| change(site.page(name)));
}

/// Adds a job over the same site, which sends to an output of its own.
fn other_job(world: &mut World) {
    world.output("two", "memory");
    world.job(Definition { repository: WEB.to_owned(), ..definition(world, "other", "", &["two"]) });
}

fn gate(world: &World, name: &str) -> Gate {
    let gate = Gate::default();
    site(world, |site| site.gates.insert(name.to_owned(), gate.clone()));
    gate
}

/// Events that are pending, with the job that holds them and how many documents wait.
fn pending(world: &World) -> Vec<(String, String, u64)> {
    let pending = world.engine().reader.read(|sql| events::list(sql, limits::EVENTS_SHOWN_MAX)).unwrap();
    pending.into_iter().map(|event| (event.name, event.job, event.waiting)).collect()
}

fn is_done(report: Report) -> bool {
    report.error.is_none() && !report.counts.has_failures()
}

#[test]
fn what_waits_is_visited_when_a_run_of_another_job_completes_the_event() {
    for kind in [Kind::Sqlite, Kind::Postgres] {
        let mut world = world_on(kind, &[("a", &["d"]), ("d", &[])]);
        other_job(&mut world);
        change(&world, "a", |page| page.begins = Some("e".to_owned()));
        change(&world, "d", |page| page.completes = Some("e".to_owned()));
        let gate = gate(&world, "d");
        std::thread::scope(|scope| {
            let _opens = gate.opens_at_the_end();
            let docs = scope.spawn(|| world.run("docs", FULL).unwrap());
            gate.wait_for_somebody();
            let other = scope.spawn(|| world.run("other", FULL).unwrap());
            // Its first page waits in the queue, and nothing else of it is there to be visited.
            while pending(&world) != [("global:e".to_owned(), "docs".to_owned(), 1)] {
                std::thread::yield_now();
            }
            assert_eq!(gate.arrived(), 1);
            gate.open();
            assert!(is_done(docs.join().unwrap()) && is_done(other.join().unwrap()));
        });
        assert_eq!(pending(&world), []);
        assert_eq!(visited(&world), ["a", "a", "a", "d", "d"], "one of them was asked for twice");
        assert_eq!(world.entries("two").len(), 2);
    }
}

#[test]
fn an_event_of_one_job_is_nothing_to_another_one() {
    let mut world = world(&[("a", &["d"]), ("d", &[])]);
    other_job(&mut world);
    change(&world, "a", |page| page.begins = Some("job/e".to_owned()));
    for job in ["docs", "other"] {
        assert!(is_done(world.run(job, FULL).unwrap()), "{job}");
    }
    let held = |job: &str| (format!("job:{job}:e"), job.to_owned(), 0);
    assert_eq!(pending(&world), [held("docs"), held("other")]);
    // One of the connection is the same for both.
    change(&world, "d", |page| page.begins = Some("connection/e".to_owned()));
    change(&world, "a", |page| page.begins = None);
    assert!(is_done(world.run("docs", FULL).unwrap()));
    assert_eq!(world.run("other", FULL).unwrap().counts.waiting, 1);
    let shared = ("connection:web:e".to_owned(), "docs".to_owned(), 1);
    assert!(pending(&world).contains(&shared), "{:?}", pending(&world));
}

#[test]
fn runs_that_wait_for_each_other_come_to_their_end() {
    let mut world = world(&[("a", &["p", "g"]), ("p", &[]), ("g", &["q"]), ("q", &[])]);
    other_job(&mut world);
    change(&world, "p", |page| page.begins = Some("e".to_owned()));
    change(&world, "q", |page| page.begins = Some("f".to_owned()));
    let gate = gate(&world, "g");
    std::thread::scope(|scope| {
        let _opens = gate.opens_at_the_end();
        let docs = scope.spawn(|| world.run("docs", FULL).unwrap());
        gate.wait_for_somebody();
        while pending(&world).is_empty() {
            std::thread::yield_now();
        }
        // The other run holds what this one is about to want, and waits for what this one holds.
        site(&world, |site| site.put("a", "a v2", &["p", "q"]));
        let other = scope.spawn(|| world.run("other", FULL).unwrap());
        let both =
            [("global:e".to_owned(), "docs".to_owned(), 1), ("global:f".to_owned(), "other".to_owned(), 0)];
        while pending(&world) != both {
            std::thread::yield_now();
        }
        gate.open();
        for report in [docs.join().unwrap(), other.join().unwrap()] {
            assert_eq!((report.error, report.counts.waiting), (None, 1));
            let said = &report.notes;
            assert!(said.len() == 1 && said[0].contains("ingather event free 'global:"), "{said:?}");
        }
    });
    let names =
        |events: Vec<(String, String, u64)>| events.into_iter().map(|event| event.0).collect::<Vec<_>>();
    assert_eq!(names(pending(&world)), ["global:e", "global:f"]);
}

#[test]
fn a_person_frees_an_event_and_what_waits_for_it_is_visited_by_the_run_that_is_under_way() {
    let waiting = Waiting::new(Kind::Sqlite);
    let (world, gate) = (&waiting.world, &waiting.gate);
    std::thread::scope(|scope| {
        let _opens = gate.opens_at_the_end();
        let docs = scope.spawn(|| world.run("docs", FULL).unwrap());
        gate.wait_for_somebody();
        assert_eq!(pending(world), [("global:e".to_owned(), "docs".to_owned(), 1)]);
        assert!(world.engine().free_event("global:e").unwrap());
        assert!(!world.engine().free_event("global:e").unwrap(), "it is free");
        assert!(waiting.is_visited(LONGEST));
        gate.open();
        assert!(is_done(docs.join().unwrap()));
    });
}

#[test]
fn many_documents_wait_for_one_event_and_each_is_visited_once_when_it_is_completed() {
    let many: Vec<String> = (0..limits::READY_MAX + 1_000).map(|n| format!("h{}/{n}", n % 7)).collect();
    let world = world(&[("a", &["c"]), ("c", &[])]);
    site(&world, |site| {
        many.iter().for_each(|name| site.put(name, "v1", &[]));
        site.page("a").links.extend(many.iter().cloned());
    });
    many.iter().for_each(|name| change(&world, name, |page| page.after = vec!["e".to_owned()]));
    change(&world, "a", |page| page.begins = Some("e".to_owned()));
    change(&world, "c", |page| page.completes = Some("e".to_owned()));
    let counts = run(&world);
    assert_eq!((counts.added as usize, counts.waiting), (many.len() + 2, 0));
    let order = site(&world, |site| std::mem::take(&mut site.visited));
    assert_eq!(order[..2], ["a", "c"], "whatever waits holds up nothing else");
    assert_eq!(order.len(), many.len() + 2);
}

#[test]
fn a_document_is_asked_for_again_so_often_without_an_event_and_no_attempt_is_counted() {
    let world = world(&[("a", &["b"]), ("b", &[])]);
    let most = limits::AGAIN_MAX as usize;
    change(&world, "b", |page| page.again = vec![String::new(); most]);
    let began = ingather_contract::call::Clock::now(&world.clock);
    let counts = run(&world);
    assert_eq!((counts.added, counts.failed, counts.waiting), (2, 0, 0));
    assert_eq!(ingather_contract::call::Clock::now(&world.clock), began, "there is no delay");
    assert_eq!(visited(&world).len(), 1 + most + 1);
    // A passing fault is an attempt, and names a delay.
    change(&world, "b", |page| page.failing = 1);
    run(&world);
    assert!(ingather_contract::call::Clock::now(&world.clock) > began);
    visited(&world);
    // A connector that never comes to an end is stopped.
    change(&world, "b", |page| page.again = vec![String::new(); most + 1]);
    let counts = run(&world);
    assert_eq!((counts.failed, counts.deleted), (1, 0));
    assert_eq!(visited(&world).len(), 1 + most + 1);
    assert_eq!(names(&world), ["a", "b"]);
}

#[test]
fn a_call_with_a_name_that_is_too_long_is_a_fault_and_so_is_an_answer_that_names_too_many() {
    let long = "e".repeat(limits::EVENT_NAME_BYTES_MAX);
    let breaks: [&dyn Fn(&mut Page); 4] = [
        &|page| page.begins = Some(long.clone()),
        &|page| page.completes = Some(long.clone()),
        &|page| page.again = vec![long.clone()],
        &|page| page.after = vec![long.clone()],
    ];
    for (number, broken) in breaks.into_iter().enumerate() {
        let world = world(&[("a", &["b"]), ("b", &["c"]), ("c", &[])]);
        change(&world, if number == 3 { "c" } else { "b" }, broken);
        let counts = run(&world);
        assert_eq!((counts.added, counts.failed, counts.waiting), (1, 1, 0), "{number}");
        assert_eq!((names(&world), pending(&world)), (vec!["a".to_owned()], vec![]), "{number}");
    }
    let world = world(&[("a", &["b"]), ("b", &["c"]), ("c", &[])]);
    let after = |count: usize| (0..count).map(|n| format!("e{n}")).collect::<Vec<String>>();
    change(&world, "c", |page| page.after = after(limits::PREREQUISITES_MAX + 1));
    assert_eq!(run(&world).failed, 1);
    change(&world, "c", |page| page.after = after(limits::PREREQUISITES_MAX));
    assert_eq!(run(&world).failed, 0);
    assert_eq!(names(&world), ["a", "b", "c"]);
}

#[test]
fn an_event_that_is_begun_between_two_looks_at_the_queue_keeps_documents_that_were_handed_over() {
    // With a pace, all but one of a host wait with the dispatcher; without a time between two fetches, all of them are claimed together.
    for every_ms in [20, 0] {
        let world = world(&[("h/a", &["h/b", "h/c", "h/d"]), ("h/b", &[]), ("h/c", &[]), ("h/d", &[])]);
        site(&world, |site| {
            site.pace = Some(ingather_model::fairness::pace::Pace { at_once: 1, every_ms });
        });
        change(&world, "h/b", |page| page.begins = Some("e".to_owned()));
        change(&world, "h/c", |page| page.after = vec!["e".to_owned()]);
        change(&world, "h/d", |page| page.completes = Some("e".to_owned()));
        assert_eq!(run(&world).added, 4);
        let order = site(&world, |site| std::mem::take(&mut site.visited));
        assert_eq!(order, ["h/a", "h/b", "h/d", "h/c"], "{every_ms}");
    }
}
