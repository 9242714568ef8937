//! Clients speak in the very moment in which something else is done to a record, in both orders, where two transactions can meet: it is pushed again as
//! its deletion is forgotten, and checked as its delta run deletes what it has not met.

use std::sync::Arc;
use std::time::Duration;

use ingather_engine::Options;
use ingather_engine::inbox::delta_runs::Checked;
use ingather_model::job::{Definition, RunKind};
use ingather_store::documents::inbox::tickets;
use ingather_store::turns::Monitor;
use ingather_testkit::database::{Database, Kind};
use ingather_testkit::together::definition;
use ingather_testkit::together::gate::Gate;
use ingather_testkit::together::people::Meets;
use ingather_testkit::together::pushing::{
    self, Answered, Ask, Claimed, Is, PUSHED, Pushed, Request, Version,
};
use ingather_testkit::world::{FULL, World};

/// A pass over what was asked for.
const PASS: Options = Options { kind: RunKind::Minimal, is_pass: true, ..FULL };

/// Transactions that wait for a lock of another one.
const WAITING: &str =
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";

/// Longest wait for what has to come.
const LONGEST: Duration = Duration::from_secs(20);

/// Stops at places of one thread, until another one has come to where it waits.
struct Meeting {
    /// Whoever meets this first lets the client push.
    first: &'static str,
    /// Whoever meets this then goes on once somebody waits for a lock that it holds.
    holds: &'static str,
    /// How often both were met.
    met: Monitor<(bool, bool)>,
    pushes: Gate,
    database: String,
}

impl std::fmt::Debug for Meeting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} and {}", self.first, self.holds)
    }
}

impl Meets for Meeting {
    fn meet(&self, place: &str, _waits: bool) {
        let mut met = self.met.lock();
        let is_first = place == self.first && !met.0;
        if is_first {
            met.0 = true;
            self.pushes.open();
            if self.first != self.holds {
                // The client has to be inside of its transaction before this one goes on.
                let (_held, too_long) = self.met.wait_at_most(met, LONGEST, |met| !met.1);
                assert!(!too_long, "nobody comes to `{}`", self.holds);
                return;
            }
        }
        let holds = place == self.holds && met.0 && !met.1;
        if !holds {
            return;
        }
        met.1 = true;
        drop(met);
        self.met.notify();
        let database = Database::at(ingather_store::Target::Postgres(self.database.clone()));
        let time = Monitor::new(());
        let looks = LONGEST.as_millis() / 2;
        let waits = (0..looks).any(|_| {
            drop(time.wait_at_most(time.lock(), Duration::from_millis(2), |()| true));
            database.counts(WAITING) > 0
        });
        assert!(waits, "nobody waits for what is locked at `{place}`");
    }
}

fn push(world: &World, text: Option<&str>) -> i64 {
    let version = |text: &str| Version {
        text: text.to_owned(),
        acl: None,
        hash: Some(text.to_owned()),
        if_changed: false,
    };
    let is = text.map_or(Is::Gone, |text| Is::There(version(text)));
    let ask = Ask::Push(vec![Pushed { key: "a".to_owned(), is, version: None }]);
    let called = pushing::call(world, Request { source: "docs".to_owned(), ask });
    match called.answer.unwrap() {
        Answered::Accepted(accepted) => match accepted[..] {
            [ingather_engine::inbox::Accepted::Pending { ticket, .. }] => ticket,
            ref other => panic!("one record is accepted, and not {other:?}"),
        },
        other => panic!("records are accepted, and not {other:?}"),
    }
}

/// Does something, and what a client asks as these places are met; what both came to.
fn at_once<T, C: Send>(
    world: &World,
    (first, holds): (&'static str, &'static str),
    work: impl FnOnce() -> T,
    asks: impl FnOnce() -> C + Send,
) -> (T, C) {
    let pushes = Gate::default();
    let database = world.database.url().to_owned();
    let met = Monitor::new((false, false));
    let meeting = Arc::new(Meeting { first, holds, met, pushes: pushes.clone(), database });
    world.crash.heard_by(Some(meeting));
    let both = std::thread::scope(|scope| {
        let _opens = pushes.opens_at_the_end();
        let client = scope.spawn(|| {
            pushes.pass();
            asks()
        });
        let done = work();
        (done, client.join().unwrap())
    });
    world.crash.heard_by(None);
    both
}

/// The source `docs` that clients push into, on PostgreSQL.
fn source() -> World {
    let mut world = World::new(Kind::Postgres);
    world.output("one", "memory");
    pushing::connect(&world);
    let source = serde_json::json!({"root": "push:docs", "access": ["everybody"]});
    let made = definition(&world, "docs", "", &["one"]);
    world.job(Definition { repository: PUSHED.to_owned(), source, ..made });
    world
}

/// Deletes a record, and pushes it again as these places are met: what the output holds, and what became of the three tickets.
fn pushed_again(first: &'static str, holds: &'static str) -> (Vec<String>, Vec<String>) {
    let world = source();
    let put = push(&world, Some("v1"));
    world.run("docs", PASS).unwrap();
    let delete = push(&world, None);
    let passes = || drop(world.run("docs", PASS).unwrap());
    let ((), again) = at_once(&world, (first, holds), passes, || push(&world, Some("v2")));
    world.run("docs", PASS).unwrap();
    let outcome = |number: i64| {
        let ticket = world.engine().reader.read(|sql| tickets::get(sql, number)).unwrap().unwrap();
        ticket.report.map_or("open".to_owned(), |report| report.outcome)
    };
    let held =
        world.entries("one").into_iter().map(|(name, entry)| format!("{name} {}", entry.text)).collect();
    (held, [put, delete, again].map(outcome).to_vec())
}

#[test]
fn a_record_that_is_pushed_while_its_deletion_is_forgotten_is_a_new_one() {
    let (held, outcomes) = pushed_again("before confirm", "before confirm");
    assert_eq!(held, ["push:docs/a v2"]);
    assert_eq!(outcomes, ["indexed", "deleted", "indexed"]);
}

#[test]
fn a_record_that_was_pushed_before_its_deletion_is_forgotten_stays() {
    let (held, outcomes) = pushed_again("before send", "before listing");
    assert_eq!(held, ["push:docs/a v2"]);
    assert_eq!(outcomes, ["indexed", "superseded", "indexed"]);
}

/// A delta run deletes what it has not met, and its client checks the record as these places are met: how many are deleted, and what the client hears.
fn checked_again(first: &'static str, holds: &'static str) -> (u64, Checked) {
    let world = source();
    push(&world, Some("v1"));
    let claimed = Claimed { epoch: 1, token: "token".to_owned() };
    let ask = |ask: Ask| pushing::call(&world, Request { source: "docs".to_owned(), ask }).answer.unwrap();
    let (is_additive, lease_ms, token) = (false, 300_000, claimed.token.clone());
    assert_eq!(ask(Ask::Open { is_additive, lease_ms, token }), Answered::Opened(1));
    let deletes = || ask(Ask::DeleteObsolete(claimed.clone(), true));
    let checks = || ask(Ask::Check(claimed.clone(), vec![("a".to_owned(), Some("v1".to_owned()))]));
    match at_once(&world, (first, holds), deletes, checks) {
        (Answered::Finished(finished), Answered::Checked(checked)) => (finished.deleted, checked[0].clone()),
        other => panic!("it deletes, and its client is told how a record stands: {other:?}"),
    }
}

#[test]
fn a_record_that_is_checked_before_its_delta_run_deletes_it_is_met() {
    assert_eq!(checked_again("after other", "before other"), (0, Checked::Unchanged));
}

#[test]
fn a_record_that_is_checked_after_its_delta_run_has_deleted_it_is_new() {
    assert_eq!(checked_again("before listing", "before listing"), (1, Checked::New));
}

#[test]
fn what_is_in_a_compound_stays_and_goes_with_it() {
    for kind in [Kind::Sqlite, Kind::Postgres] {
        assert_eq!(ingather_testkit::together::compounds::wrong(kind), [""; 0]);
    }
}
