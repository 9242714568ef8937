//! Continuous jobs over sources that are found by following links: when their passes begin, and what these look at.

use ingather_model::job::RunKind;
use ingather_model::limits;
use ingather_testkit::database::BOTH;
use ingather_testkit::together::dated::{Begun, Dated, is_looked_at_when_it_is_due};
use ingather_testkit::together::site::site;

const MINUTE: i64 = 60_000;
/// After the date of a page: those whose dates are close share a pass.
const SOON: i64 = limits::DATES_TOGETHER_MS;

fn begun(after: i64, kind: RunKind, visited: &[&str]) -> Begun {
    Begun { after, kind, visited: visited.iter().map(|name| (*name).to_owned()).collect() }
}

#[test]
fn pages_are_looked_at_when_they_are_due_and_seeds_at_their_interval() {
    for kind in BOTH {
        let mut dated = Dated::new(kind, "reseed=60,recrawl=25,recrawl-max=25");
        site(&dated.world, |site| {
            site.put("a", "v1", &["b"]);
            site.put("b", "v1", &[]);
            site.seeds = vec!["a".to_owned()];
        });
        assert_eq!(dated.pass(), begun(0, RunKind::Full, &["a", "b"]), "the service begins");
        assert_eq!(dated.pass(), begun(25 * MINUTE + SOON, RunKind::Minimal, &["a", "b"]));
        site(&dated.world, |site| {
            site.put("a", "v2", &["b", "c"]);
            site.put("c", "v1", &[]);
        });
        assert_eq!(dated.pass(), begun(25 * MINUTE + SOON, RunKind::Minimal, &["a", "b", "c"]));
        // An hour after the first one, whatever is due; and only the seed is read.
        assert_eq!(dated.pass(), begun(10 * MINUTE - 2 * SOON, RunKind::Full, &["a"]));
        assert_eq!(dated.pass(), begun(15 * MINUTE + 3 * SOON, RunKind::Minimal, &["b", "c"]));
        let job = dated.world.find("docs").unwrap();
        assert_eq!(
            dated.world.engine().process.unwatched(job.id),
            None,
            "nobody is told that it should be watched"
        );
    }
}

#[test]
fn a_page_that_fails_is_tried_again_at_its_date_and_an_output_that_is_away_after_a_minute() {
    for kind in BOTH {
        let mut dated = Dated::new(kind, "reseed=600,recrawl=60,expire=30");
        site(&dated.world, |site| {
            site.put("a", "v1", &["b"]);
            site.put("b", "v1", &[]);
            site.page("b").failing = 1;
            site.page("b").dates.expires_not_before = Some(1_800_000_000_000);
            site.page("a").dates.origin_at = Some(1_700_000_000_000);
            site.seeds = vec!["a".to_owned()];
        });
        assert_eq!(dated.pass(), begun(0, RunKind::Full, &["a", "b"]));
        assert_eq!(dated.pass(), begun(limits::RETRY_WAIT_MS_MIN, RunKind::Minimal, &["b"]));
        ingather_testkit::memory_output::locked(&dated.world.shelves["one"]).is_away = true;
        // It expires, and the output does not hear of it: that is tried again, and no seed is asked for it.
        let expires = 30 * MINUTE - limits::RETRY_WAIT_MS_MIN + SOON;
        assert_eq!(dated.pass(), begun(expires, RunKind::Minimal, &[]));
        for _ in 0..20 {
            assert_eq!(dated.pass(), begun(limits::PASS_RETRY_MS, RunKind::Minimal, &[]));
        }
        assert_eq!(dated.world.entries("one").len(), 2);
        ingather_testkit::memory_output::locked(&dated.world.shelves["one"]).is_away = false;
        assert_eq!(dated.pass(), begun(limits::PASS_RETRY_MS, RunKind::Minimal, &[]));
        assert_eq!(dated.world.entries("one").len(), 1);
    }
}

#[test]
fn what_was_due_when_a_pass_was_put_off_is_due_as_before() {
    for kind in BOTH {
        let mut dated = Dated::new(kind, "reseed=600,recrawl=25,recrawl-max=25");
        site(&dated.world, |site| {
            site.put("a", "v1", &[]);
            site.seeds = vec!["a".to_owned()];
        });
        assert_eq!(dated.pass(), begun(0, RunKind::Full, &["a"]));
        dated.put_off();
        assert_eq!(dated.pass(), begun(0, RunKind::Minimal, &["a"]));
    }
}

#[test]
fn a_date_begins_a_pass_where_no_seed_is_asked() {
    for kind in BOTH {
        assert!(is_looked_at_when_it_is_due(kind));
    }
}
