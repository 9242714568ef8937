//! Sources that are found by following links: what is reached, what is kept, what goes, and what a crash costs.

use std::collections::{BTreeMap, BTreeSet};

use ingather_contract::call::Clock as _;
use ingather_model::fairness::pace::Pace;
use ingather_model::fault::Fault;
use ingather_model::job::{Definition, Stage};
use ingather_model::limits;
use ingather_testkit::database::Kind;
use ingather_testkit::script_repository::site::{Answer, Page};
use ingather_testkit::together::bins::comes;
use ingather_testkit::together::gate::Gate;
use ingather_testkit::together::site::{connect_as, site, world_of_a_site};
use ingather_testkit::world::{FULL, World};
use serde_json::json;

use super::{LONGEST, held, names, run, visited, world, world_on};

#[test]
fn what_can_be_reached_is_found_once_whatever_leads_to_it_and_nothing_else_is() {
    for kind in [Kind::Sqlite, Kind::Postgres] {
        let world = world_on(
            kind,
            &[
                ("a", &["b", "c", "a"]),
                ("b", &["c", "d/e"]),
                ("c", &["a", "b"]),
                ("d/e", &[]),
                ("island", &["a"]),
            ],
        );
        let counts = run(&world);
        assert_eq!((counts.added, counts.failed), (4, 0));
        assert_eq!(names(&world), ["a", "b", "c", "d/e"]);
        assert_eq!(visited(&world), ["a", "b", "c", "d/e"], "each once");
        assert_eq!(
            world.sees("anybody", "one"),
            ["a", "b", "c", "d/e"],
            "a container shows what is found by links"
        );
    }
}

#[test]
fn pages_that_are_as_before_are_neither_read_nor_sent_and_lead_where_they_led() {
    let world = world(&[("a", &["b"]), ("b", &["c"]), ("c", &["d"]), ("d", &[])]);
    run(&world);
    visited(&world);
    site(&world, |site| site.put("d", "d v2", &["e"]));
    site(&world, |site| site.put("e", "e v1", &[]));
    let counts = run(&world);
    assert_eq!((counts.unchanged, counts.updated, counts.added, counts.deleted), (3, 1, 1, 0));
    assert_eq!(site(&world, |site| site.unchanged), 3);
    assert_eq!(held(&world)["d"], "d v2");
    assert_eq!(names(&world), ["a", "b", "c", "d", "e"]);
    // A site that forgets what it said is read, and nothing of it is sent again.
    site(&world, |site| site.forgetful = true);
    let counts = run(&world);
    assert_eq!((counts.unchanged, counts.updated), (5, 0));
}

#[test]
fn what_nothing_leads_to_any_more_goes_also_where_its_pages_lead_to_each_other() {
    let world = world(&[("a", &["b", "c"]), ("b", &["c"]), ("c", &["d"]), ("d", &["c", "e"]), ("e", &["d"])]);
    run(&world);
    site(&world, |site| site.put("a", "a v2", &["b"]));
    site(&world, |site| site.put("b", "b v2", &[]));
    let counts = run(&world);
    assert_eq!(counts.deleted, 3);
    assert_eq!(names(&world), ["a", "b"]);
    assert_eq!(world.documents("docs").len(), 2, "nothing of it is known any more");
}

#[test]
fn a_page_that_fails_keeps_all_that_it_led_to_also_what_is_reached_by_that_alone() {
    let world = world(&[("a", &["b"]), ("b", &["c"]), ("c", &["d"]), ("d", &[])]);
    run(&world);
    for fault in [Fault::passing("away", "the server is away"), Fault::broken("html", "it is no page")] {
        site(&world, |site| site.page("b").answer = Answer::Fault(fault));
        site(&world, |site| site.put("c", "c v2", &["d"]));
        let counts = run(&world);
        assert_eq!((counts.deleted, counts.failed + counts.waiting), (0, 1));
        assert_eq!(names(&world), ["a", "b", "c", "d"]);
        assert_eq!(held(&world)["c"], "c v2", "what it led to is visited all the same");
    }
    site(&world, |site| site.put("b", "b v3", &[]));
    assert_eq!(run(&world).deleted, 2);
}

#[test]
fn a_page_of_which_not_all_links_were_found_keeps_those_of_before() {
    let world = world(&[("a", &["b", "c"]), ("b", &[]), ("c", &[])]);
    run(&world);
    site(&world, |site| site.put("a", "a v2", &["b", "d"]));
    site(&world, |site| site.page("a").answer = Answer::CutOff);
    assert_eq!(run(&world).deleted, 0);
    assert_eq!(names(&world), ["a", "b", "c"]);
    site(&world, |site| site.put("d", "d v1", &[]));
    site(&world, |site| site.page("a").answer = Answer::Text);
    assert_eq!(run(&world).deleted, 1);
    assert_eq!(names(&world), ["a", "b", "d"]);
}

#[test]
fn a_missing_page_is_believed_to_be_gone_when_it_is_missing_again_an_hour_later() {
    let world = world(&[("a", &["b"]), ("b", &["c"]), ("c", &[])]);
    run(&world);
    site(&world, |site| site.pages.remove("b"));
    for _ in 0..4 {
        let counts = run(&world);
        assert_eq!((counts.deleted, counts.waiting), (0, 1));
        assert_eq!(names(&world), ["a", "b", "c"], "however often it is looked at within the hour");
        world.clock.pass(limits::MISSING_BELIEVED_MS / 5);
    }
    // It was there in between: the hour begins anew.
    site(&world, |site| site.put("b", "b v2", &["c"]));
    assert_eq!(run(&world).updated, 1);
    site(&world, |site| site.pages.remove("b"));
    world.clock.pass(limits::MISSING_BELIEVED_MS);
    assert_eq!(run(&world).deleted, 0);
    world.clock.pass(limits::MISSING_BELIEVED_MS);
    let counts = run(&world);
    assert_eq!(counts.deleted, 1, "{counts:?} {:?}", world.documents("docs"));
    assert_eq!(names(&world), ["a", "c"], "it led somewhere until it was believed to be gone");
    assert_eq!(run(&world).deleted, 1);
    assert_eq!(names(&world), ["a"]);
    // The dead link stays known: the page that has it is as before, and is not read again when something is there.
    assert_eq!((run(&world).waiting, names(&world)), (0, vec!["a".to_owned()]));
    assert_eq!(world.documents("docs")[1], ("b".to_owned(), "skipped missing".to_owned()));
    // One that the source says is gone for good goes at once.
    site(&world, |site| site.put("b", "b v3", &[]));
    run(&world);
    site(&world, |site| site.page("b").answer = Answer::Fault(Fault::Gone));
    assert_eq!(run(&world).deleted, 1);
    assert_eq!(names(&world), ["a"]);
    site(&world, |site| site.page("b").answer = Answer::Text);
    assert_eq!((run(&world).unchanged, names(&world)), (1, vec!["a".to_owned(), "b".to_owned()]));
    // What nothing leads to is no dead link any more.
    site(&world, |site| site.pages.remove("b"));
    site(&world, |site| site.put("a", "a v2", &[]));
    run(&world);
    assert_eq!(world.documents("docs").len(), 1);
}

#[test]
fn a_dead_link_is_followed_when_something_is_there() {
    let world = world(&[("a", &["b", "c"]), ("b", &[])]);
    let counts = run(&world);
    assert_eq!((counts.added, counts.skipped, counts.waiting), (2, 1, 0));
    site(&world, |site| site.put("c", "c v1", &["d"]));
    site(&world, |site| site.put("d", "d v1", &[]));
    run(&world);
    assert_eq!(site(&world, |site| site.unchanged), 2);
    assert_eq!(names(&world), ["a", "b", "c", "d"]);
}

#[test]
fn a_page_that_another_fault_kept_away_before_is_missing_only_from_its_first_missing_answer_on() {
    let world = world(&[("a", &["b"]), ("b", &[])]);
    run(&world);
    site(&world, |site| site.page("b").answer = Answer::Fault(Fault::passing("away", "the server is away")));
    run(&world);
    world.clock.pass(2 * limits::MISSING_BELIEVED_MS);
    site(&world, |site| site.pages.remove("b"));
    assert_eq!(run(&world).deleted, 0, "it was never said to be missing before");
}

#[test]
fn a_page_that_wants_no_entry_leads_on_and_one_that_is_shut_is_shown_to_nobody() {
    let world = world(&[("a", &["b", "s"]), ("b", &["c"]), ("c", &[]), ("s", &[])]);
    site(&world, |site| site.page("b").answer = Answer::NoEntry);
    let counts = run(&world);
    assert_eq!((counts.added, counts.skipped), (3, 1));
    assert_eq!(names(&world), ["a", "c", "s"]);
    site(&world, |site| site.page("c").answer = Answer::NoEntry);
    site(&world, |site| site.page("s").answer = Answer::Fault(Fault::unreadable("it wants a password now")));
    let counts = run(&world);
    assert_eq!((counts.skipped, counts.deleted, counts.failed), (1, 1, 1), "what was held goes at the end");
    assert_eq!(names(&world), ["a", "s"]);
    assert_eq!(world.sees("anybody", "one"), ["a"], "who may still read it, nobody can tell");
    site(&world, |site| site.page("s").answer = Answer::Text);
    run(&world);
    assert_eq!(world.sees("anybody", "one"), ["a", "s"]);
}

#[test]
fn a_page_that_cannot_be_understood_keeps_what_it_led_to() {
    let mut world = world(&[("a", &["b"]), ("b", &[])]);
    let mut definition = world.find("docs").unwrap().definition;
    definition.stages.push(Stage {
        transform: "script".to_owned(),
        settings: json!({"broken": "v2"}),
        ..Stage::default()
    });
    world.job(definition);
    run(&world);
    site(&world, |site| site.put("a", "a v2", &[]));
    assert_eq!(run(&world).failed, 1);
    assert_eq!(names(&world), ["a", "b"]);
}

#[test]
fn seeds_that_cannot_all_be_named_remove_nothing() {
    let world = world(&[("a", &["b"]), ("b", &[]), ("z", &["y"]), ("y", &[])]);
    site(&world, |site| site.seeds.push("z".to_owned()));
    run(&world);
    site(&world, |site| site.seeding_fails_after = Some(1));
    let report = world.run("docs", FULL).unwrap();
    assert_eq!((report.counts.deleted, report.blind.len()), (0, 1));
    assert_eq!(names(&world), ["a", "b", "y", "z"]);
    site(&world, |site| (site.seeding_fails_after, site.seeds) = (None, vec!["a".to_owned()]));
    assert_eq!(run(&world).deleted, 2);
}

/// A site of so many pages, each of which leads to two further ones.
fn tree(world: &World, pages: usize) {
    site(world, |site| {
        site.seeds = vec!["p/0".to_owned()];
        for n in 0..pages {
            let links: Vec<String> =
                [2 * n + 1, 2 * n + 2].into_iter().filter(|n| *n < pages).map(|n| format!("p/{n}")).collect();
            let text = format!("{n} v1");
            site.pages.insert(format!("p/{n}"), Page { text, links, ..Page::default() });
        }
    });
}

/// Wherever a process dies, the next run visits what was not over, and nothing else; nothing is lost.
#[test]
fn a_run_goes_on_where_one_died_and_visits_nothing_again_that_was_over() {
    for nth in [1, 2, 5, 9, 17, 40, 55] {
        let mut world = world_of_a_site(Kind::Sqlite);
        tree(&world, 60);
        world.crash.arm("before read", nth);
        drop(world.run("docs", FULL));
        world.reopen();
        let over =
            world.documents("docs").into_iter().filter(|(_, state)| state == "settled").map(|(name, _)| name);
        let over: BTreeSet<String> = over.collect();
        visited(&world);
        let report = world.run("docs", FULL).unwrap();
        assert_eq!(report.error, None);
        assert_eq!(names(&world).len(), 60, "died at read {nth}");
        let again: Vec<String> = visited(&world).into_iter().filter(|name| over.contains(name)).collect();
        assert!(again.is_empty(), "died at read {nth}: {again:?}");
        // Everything is looked at again by the next one.
        run(&world);
        assert_eq!(visited(&world).len(), 60);
    }
}

/// A line of pages, of which each leads to the next one: each visit marks one.
#[test]
fn marks_of_a_long_run_are_few_rows_and_all_are_there_when_it_goes_on() {
    let mut world = world_of_a_site(Kind::Sqlite);
    let pages = 2 * limits::REACH_PIECES_MAX + 20;
    site(&world, |site| {
        site.seeds = vec!["p/0".to_owned()];
        for n in 0..pages {
            let links = vec![format!("p/{}", (n + 1) % pages)];
            site.pages.insert(format!("p/{n}"), Page { text: n.to_string(), links, ..Page::default() });
        }
    });
    world.crash.arm("before read", pages as u64 - 5);
    drop(world.run("docs", FULL));
    world.reopen();
    let marks = world.rows().into_iter().find(|(table, _)| table == "listed_ids").map_or(0, |(_, rows)| rows);
    assert!((1..=limits::REACH_PIECES_MAX).contains(&marks), "{marks} rows");
    visited(&world);
    let over = world.documents("docs").iter().filter(|(_, state)| state == "settled").count();
    run(&world);
    assert!(visited(&world).len() + over <= pages as usize, "what was over is visited again");
    assert_eq!(names(&world).len() as i64, pages);
}

#[test]
fn a_run_that_a_person_has_stopped_is_begun_anew() {
    let world = world_of_a_site(Kind::Sqlite);
    tree(&world, 60);
    let gate = Gate::default();
    site(&world, |site| site.gates.insert("p/40".to_owned(), gate.clone()));
    std::thread::scope(|scope| {
        let _opens = gate.opens_at_the_end();
        let run = scope.spawn(|| world.run("docs", FULL));
        assert!(comes(LONGEST, || site(&world, |site| site.visited.iter().any(|name| name == "p/40"))));
        assert!(world.engine().stop(world.find("docs").unwrap().id));
        gate.open();
        assert!(run.join().unwrap().unwrap().stopped);
    });
    visited(&world);
    run(&world);
    assert_eq!(visited(&world).len(), 60);
}

#[test]
fn a_run_under_other_settings_or_after_a_whole_week_does_not_go_on_with_another_one() {
    let mut world = world_of_a_site(Kind::Sqlite);
    tree(&world, 60);
    world.crash.arm("before read", 40);
    drop(world.run("docs", FULL));
    visited(&world);
    world.reopen();
    world.clock.pass(limits::REACH_GOES_ON_MS + 1);
    world.run("docs", FULL).unwrap();
    assert_eq!(visited(&world).len(), 60);
}

const PACE: Pace = Pace { at_once: 1, every_ms: 1_000 };

/// Twenty hosts with five pages each, of which each bears one fetch at once and one in a second. The first fetch of each ends only when
/// all others have begun theirs.
#[test]
fn each_host_is_asked_at_its_own_pace_and_holds_up_no_other() {
    let world = world_of_a_site(Kind::Sqlite);
    let all = Gate::default();
    site(&world, |site| {
        site.pace = Some(PACE);
        for host in 0..20 {
            let name = |n| format!("h{host}/{n}");
            site.seeds.push(name(0));
            site.gates.insert(name(0), all.clone());
            for n in 0..5 {
                let links = if n == 0 { (1..5).map(name).collect() } else { Vec::new() };
                site.pages.insert(name(n), Page { text: name(n), links, ..Page::default() });
            }
        }
    });
    let began = world.clock.now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            all.wait_for(20);
            all.open();
        });
        assert_eq!(run(&world).added, 100);
    });
    let mut at: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    site(&world, |site| {
        for (name, time) in site.visited.iter().zip(&site.visited_at) {
            at.entry(name.split_once('/').unwrap().0.to_owned()).or_default().push(time - began);
        }
    });
    for (host, times) in &at {
        let early = |n: usize| times[n] < (n as i64 + 1) * PACE.every_ms;
        assert!(
            !(0..5).any(early),
            "{host}, also of the time before the process nobody knows anything: {times:?}"
        );
    }
}

/// A host is one, whichever connections lead to it: two jobs never ask it at the same time.
#[test]
fn two_connections_share_the_pace_of_a_host() {
    let mut world = world_of_a_site(Kind::Sqlite);
    connect_as(&world, "feeds");
    let docs = world.find("docs").unwrap().definition;
    world.job(Definition { name: "other".to_owned(), repository: "feeds".to_owned(), ..docs });
    site(&world, |site| {
        site.pace = Some(PACE);
        site.seeds = (0..4).map(|n| format!("h/{n}")).collect();
        (0..4).for_each(|n| site.put(&format!("h/{n}"), "v1", &[]));
    });
    std::thread::scope(|scope| {
        for job in ["docs", "other"] {
            let world = &world;
            scope.spawn(move || assert_eq!(world.run(job, FULL).unwrap().error, None));
        }
    });
    let mut times = site(&world, |site| site.visited_at.clone());
    times.sort_unstable();
    assert_eq!(times.len(), 8);
    assert!(times.windows(2).all(|two| two[1] - two[0] >= PACE.every_ms), "{times:?}");
}
