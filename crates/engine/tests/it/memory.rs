//! What a run has in memory while an output has not confirmed what it was sent.

use ingather_testkit::database::BOTH;
use ingather_testkit::memory_output::locked;
use ingather_testkit::together::{definition, put};
use ingather_testkit::world::{FULL, World};

#[test]
fn what_was_sent_is_not_in_memory_any_more_when_the_output_commits_it() {
    for kind in BOTH {
        let mut world = World::new(kind);
        world.output("index", "committing");
        world.job(definition(&world, "docs", "", &["index"]));
        (0..30).for_each(|number| put(&world, &format!("{number}"), "v1"));
        let report = world.run("docs", FULL).unwrap();
        assert_eq!(report.counts.added, 30);
        assert_eq!(locked(&world.shelves["index"]).records_at_commit, 0);
    }
}
