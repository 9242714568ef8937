//! Hosts that bear some fetches at once and want no time between them: their pages are claimed and written down together.

use ingather_model::fairness::pace::Pace;
use ingather_model::limits;
use ingather_testkit::database::BOTH;
use ingather_testkit::together::bins::comes;
use ingather_testkit::together::gate::Gate;
use ingather_testkit::together::site::{site, world_of_a_site};
use ingather_testkit::world::{FULL, World};

use super::{LONGEST, names, run, visited, world};

/// Pages of the host beside the first one.
const PAGES: usize = 64;

/// A world whose site has one host, which bears so many fetches at once; its first page leads to all others.
fn world_of_a_host(world: World, at_once: u32) -> World {
    site(&world, |site| {
        site.pace = Some(Pace { at_once, every_ms: 0 });
        site.seeds = vec!["h/0".to_owned()];
        let links: Vec<String> = (1..=PAGES).map(|n| format!("h/{n}")).collect();
        site.put("h/0", "first", &links.iter().map(String::as_str).collect::<Vec<_>>());
        links.iter().for_each(|name| site.put(name, name, &[]));
    });
    world
}

#[test]
fn pages_that_follow_each_other_in_one_place_are_written_down_together_and_never_more_at_once_are_asked_for()
{
    for kind in BOTH {
        let world = world_of_a_host(world_of_a_site(kind), 4);
        assert_eq!(run(&world).added as usize, PAGES + 1);
        assert_eq!(visited(&world).len(), PAGES + 1, "each once");
        let before = world.engine().reader.writes().all;
        assert_eq!(run(&world).unchanged as usize, PAGES + 1);
        let writes = world.engine().reader.writes().all - before;
        assert!(writes < PAGES as u64, "{kind:?}: {writes} transactions for {} pages", PAGES + 1);
        let (now, most) = site(&world, |site| site.at_once);
        assert_eq!(now, 0);
        assert!(most <= 4, "{most} at once");
    }
}

/// What was claimed with the page that is being read waits again.
#[test]
fn a_paused_job_asks_for_nothing_more_of_what_it_has_claimed() {
    let world = world_of_a_host(world(&[]), 1);
    let gate = Gate::default();
    site(&world, |site| site.gates.insert("h/3".to_owned(), gate.clone()));
    let job = world.find("docs").unwrap();
    std::thread::scope(|scope| {
        let _opens = gate.opens_at_the_end();
        let run = scope.spawn(|| world.run("docs", FULL));
        gate.wait_for_somebody();
        let asked = || site(&world, |site| site.visited.len());
        let before = asked();
        assert!(world.engine().pause(job.id, true).unwrap());
        gate.open();
        // What had been asked for is delivered; then nothing is under way.
        assert!(comes(LONGEST, || world.entries("one").len() == before));
        assert_eq!(asked(), before);
        assert!(world.engine().pause(job.id, false).unwrap());
        assert_eq!(run.join().unwrap().unwrap().counts.added as usize, PAGES + 1);
    });
    assert_eq!(visited(&world).len(), PAGES + 1, "each once");
}

/// A host that answers that it is asked too often is asked less from the next page on, also of what was claimed before.
#[test]
fn a_host_that_wants_time_between_two_fetches_meanwhile_gets_it() {
    let world = world_of_a_host(world(&[]), 1);
    let gate = Gate::default();
    site(&world, |site| site.gates.insert("h/3".to_owned(), gate.clone()));
    std::thread::scope(|scope| {
        let _opens = gate.opens_at_the_end();
        let run = scope.spawn(|| world.run("docs", FULL));
        gate.wait_for_somebody();
        let before = site(&world, |site| {
            site.pace = Some(Pace { at_once: 1, every_ms: 1_000 });
            site.visited.len()
        });
        gate.open();
        assert_eq!(run.join().unwrap().unwrap().counts.added as usize, PAGES + 1);
        let times = site(&world, |site| site.visited_at.split_off(before - 1));
        assert!(times.windows(2).all(|two| two[1] - two[0] >= 1_000), "{times:?}");
    });
    assert_eq!(names(&world).len(), PAGES + 1);
}

/// Others have their turn after some time, and what was found is known.
#[test]
fn what_was_claimed_waits_again_when_its_place_was_kept_for_long() {
    let world = world_of_a_host(world(&[]), 1);
    let gate = Gate::default();
    site(&world, |site| site.gates.insert("h/1".to_owned(), gate.clone()));
    std::thread::scope(|scope| {
        let _opens = gate.opens_at_the_end();
        let run = scope.spawn(|| world.run("docs", FULL));
        gate.wait_for_somebody();
        world.clock.pass(limits::PLACE_KEPT_MS);
        gate.open();
        assert_eq!(run.join().unwrap().unwrap().counts.added as usize, PAGES + 1);
    });
    let order = site(&world, |site| site.visited.clone());
    let behind = format!("h/{}", 1 + limits::CLAIM_OF_BINS_MAX);
    assert_eq!(order[..3], ["h/0".to_owned(), "h/1".to_owned(), behind]);
    assert_eq!(visited(&world).len(), PAGES + 1, "each once");
}
