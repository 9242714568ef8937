//! All operations of the push side, asked about a source that is not one of theirs.

use ingather_model::ids::ConnectionId;
use ingather_store::documents::inbox::channels::{self, NewChannel};
use ingather_store::documents::inbox::tickets::{self, NewTicket};
use ingather_store::{Durability, Sql, Store, StoreError, Target, jobs};
use serde_json::Value;
use tempfile::TempDir;

use super::OwnSources;
use crate::OPERATIONS;
use crate::context::tests::asked_within;
use crate::jobs::definition::asked::plain;
use crate::operation::{Callable, Role};

/// Operations that are about no source, and tell of none. One that tells of any does not belong here.
const OF_NO_SOURCE: [&str; 1] = ["push.capabilities"];

/// An inventory, and where it is.
struct Kept {
    store: Store,
    _folder: TempDir,
}

fn kept(fill: impl Fn(&mut Sql<'_>) -> Result<(), StoreError>) -> Kept {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&Target::Sqlite(folder.path().join("store.db"))).unwrap();
    store.write(Durability::Relaxed, |sql| fill(sql)).unwrap();
    Kept { store, _folder: folder }
}

/// What the examples of requests name: a source, a ticket of it, and channels of whoever asks.
fn fill(sql: &mut Sql<'_>) -> Result<(), StoreError> {
    let root = "push:tickets";
    let job = jobs::add(sql, ConnectionId(1), root, &plain("tickets".to_owned(), root), 0)?;
    let ticket = NewTicket { number: 41, document: None, key: "17", op: "put", requests: 0, user_ref: None };
    tickets::add(sql, job, &[ticket], (0, "a test", None))?;
    let (client, opened_by) = ("tracker", "a test");
    let new = NewChannel {
        client,
        opened_by,
        is_sync: false,
        lease_ms: 1_000,
        throttle_ms: 1_000,
        open_max: 10,
        tells_retries: false,
        sink: None,
    };
    loop {
        let id = channels::take_number(sql)?;
        channels::open(sql, (id, job), new, 0)?;
        if id >= 7 {
            return Ok(());
        }
    }
}

fn of_pushers() -> impl Iterator<Item = &'static &'static dyn Callable> {
    OPERATIONS.iter().filter(|one| one.role == Role::Pusher)
}

/// What is answered, word for word.
fn answer(kept: &Kept, one: &dyn Callable, request: &str, sources: OwnSources<'_>) -> String {
    let request: Value = serde_json::from_str(request).unwrap();
    let mut items = Vec::new();
    let answer =
        asked_within(Some(kept.store.reader().clone()), &[Role::Pusher], sources, |context, caller| {
            one.call_json(context, caller, request, &mut |item| items.push(item))
        });
    format!("{items:?} {answer:?}")
}

#[test]
fn whoever_may_push_into_other_sources_alone_is_answered_as_if_a_source_were_not_there() {
    let (with, without) = (kept(fill), kept(|_| Ok(())));
    let (other, own) = (["other".to_owned()], ["other".to_owned(), "tickets".to_owned()]);
    assert!(of_pushers().count() > 10);
    for one in of_pushers() {
        for request in one.request.examples {
            let of = |kept: &Kept, sources: OwnSources<'_>| answer(kept, *one, request, sources);
            let (name, none) = (one.name, of(&without, OwnSources::Only(&other)));
            assert_eq!(of(&with, OwnSources::Only(&other)), none, "{name} tells of a source of others");
            assert_eq!(of(&with, OwnSources::Only(&[])), none, "{name} tells of a source of others");
            assert_eq!(of(&with, OwnSources::Only(&own)), of(&with, OwnSources::All), "{name}");
            // What is asked for is there, and would be told.
            let is_about_none = OF_NO_SOURCE.contains(&name);
            assert_eq!(of(&with, OwnSources::All) == none, is_about_none, "{name}: {none}");
        }
    }
}

#[test]
fn what_is_left_of_a_source_that_is_gone_is_nobodys_who_may_push_into_some_alone() {
    let gone = kept(|sql| {
        fill(sql)?;
        for job in jobs::list(sql)? {
            jobs::delete(sql, job.id)?;
            jobs::forget(sql, job.id)?;
        }
        Ok(())
    });
    let own = ["tickets".to_owned()];
    let without = kept(|_| Ok(()));
    for one in of_pushers() {
        for request in one.request.examples {
            let left = answer(&gone, *one, request, OwnSources::Only(&own));
            assert_eq!(left, answer(&without, *one, request, OwnSources::Only(&own)), "{}", one.name);
        }
    }
}
