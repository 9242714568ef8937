//! Sources that are found by following links.

mod buffered;
mod events;
mod handed;
mod health;
mod places;
mod pushed;
mod random;
mod reach;
mod retries;
mod sinks;

use std::collections::BTreeMap;
use std::time::Duration;

use ingather_model::run_counts::RunCounts;
use ingather_testkit::database::Kind;
use ingather_testkit::together::site::{site, world_of_a_site};
use ingather_testkit::world::{FULL, World};

/// Longer than anything that is to come takes on a busy machine.
const LONGEST: Duration = Duration::from_secs(60);

/// A world whose site has these pages, and begins at the first one.
fn world(pages: &[(&str, &[&str])]) -> World {
    world_on(Kind::Sqlite, pages)
}

fn world_on(kind: Kind, pages: &[(&str, &[&str])]) -> World {
    let world = world_of_a_site(kind);
    site(&world, |site| {
        site.seeds = pages.first().map(|(name, _)| (*name).to_owned()).into_iter().collect();
        pages.iter().for_each(|(name, links)| site.put(name, &format!("{name} v1"), links));
    });
    world
}

fn run(world: &World) -> RunCounts {
    let report = world.run("docs", FULL).unwrap();
    assert_eq!(report.error, None);
    report.counts
}

/// Texts by name, as the output holds them.
fn held(world: &World) -> BTreeMap<String, String> {
    world.entries("one").into_iter().map(|(name, entry)| (name, entry.text)).collect()
}

fn names(world: &World) -> Vec<String> {
    held(world).into_keys().collect()
}

/// Pages that were asked for since this was asked last.
fn visited(world: &World) -> Vec<String> {
    let mut visited = site(world, |site| std::mem::take(&mut site.visited));
    visited.sort();
    visited
}
