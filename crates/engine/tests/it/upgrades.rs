//! Stores that earlier versions have filled show nobody more than before when they are brought up to date.
//!
//! `tests/stores` has one of each version of the schema that was released, by its number and commit. A job over a tree, one over a
//! folder and one over a folder in it ran; then files were removed (held by the guard), and folders opened that some of the jobs did
//! not look at afterwards. A stop in the middle leaves them as they were: it is one transaction.

use std::collections::BTreeSet;

use ingather_connector::permitted::Reference;
use ingather_engine::who;
use ingather_store::connections::{self, Role};
use ingather_store::{Reader, Store, deliveries, doctor, documents, jobs};
use ingather_testkit::database::{BOTH, Database};
use ingather_testkit::model::access::{Tokens, UNIX_EVERYONE};
use ingather_testkit::model::decision::NOBODY;
use ingather_testkit::model::ids::JobId;

/// A store: what made it, and its dump for each database.
struct Kept {
    by: &'static str,
    sqlite: &'static str,
    postgres: &'static str,
}

macro_rules! kept {
    ($by:literal) => {
        Kept {
            by: $by,
            sqlite: include_str!(concat!("../stores/", $by, ".sqlite.dump")),
            postgres: include_str!(concat!("../stores/", $by, ".postgres.dump")),
        }
    };
}

const STORES: [Kept; 2] = [kept!("1-4e0e4c6"), kept!("3-3537420")];

/// What everybody could read when a job looked at it last; `search '*' --as nobody` of the first program found just that, and that
/// of the second one less: the documents below `nested/deep` only once each of their jobs had looked at them.
const OPEN: [&str; 6] =
    ["nested/deep/1.txt", "nested/deep/2.txt", "open/1.txt", "open/2.txt", "open/a.tar", "open/broken.pdf"];

/// Documents that somebody finds who is nobody in particular, by any job that holds them in an output.
fn found(reader: &Reader) -> BTreeSet<String> {
    let tokens: Tokens = [UNIX_EVERYONE].into_iter().collect();
    let index = reader.read(|sql| connections::find(sql, Role::Output, "index")).unwrap().unwrap();
    let permitted = who::permitted(reader, Some(index.id), &tokens).unwrap();
    let mut found = BTreeSet::new();
    for job in reader.read(jobs::list).unwrap() {
        let ids: Vec<i64> = reader
            .read(|sql| documents::list(sql, job.id, 0, 1_000))
            .unwrap()
            .iter()
            .map(|listed| listed.id.0)
            .collect();
        let held = reader.read(|sql| deliveries::holdings(sql, &ids)).unwrap();
        for stored in reader.read(|sql| documents::get(sql, &ids)).unwrap() {
            let shown = held.iter().any(|delivery| {
                delivery.document == stored.known.id.0
                    && delivery.holding.held.is_some_and(|held| held.is_some())
                    && delivery.holding.held_access != Some(NOBODY)
            });
            let (class, place) = (stored.known.class, stored.known.place);
            if shown && permitted.permits(0, Reference { job: Some(JobId(job.id.0)), class, place }) {
                let root = job.definition.source["root"].as_str().unwrap();
                let below = root.strip_prefix("/srv/documents").unwrap();
                let name = format!("{below}/{}", stored.name);
                found.insert(name.trim_start_matches('/').to_owned());
            }
        }
    }
    found
}

#[test]
fn a_store_of_every_version_shows_nobody_more_when_it_is_brought_up_to_date() {
    for kept in &STORES {
        for kind in BOTH {
            let database = Database::fresh(kind);
            database.script(if kind == BOTH[0] { kept.sqlite } else { kept.postgres });
            let store = Store::open(&database.target).unwrap();
            let wrong = store.reader().read(|sql| doctor::examine(sql, 3)).unwrap();
            let wrong: Vec<&str> = wrong.iter().map(|fault| fault.check.name).collect();
            assert_eq!(wrong, [""; 0], "{} on {kind:?}", kept.by);
            let shown = found(store.reader());
            let wider: Vec<_> = shown.iter().filter(|name| !OPEN.contains(&name.as_str())).collect();
            assert!(wider.is_empty(), "{} on {kind:?} shows {wider:?}", kept.by);
            assert!(
                shown.contains("open/1.txt"),
                "{} on {kind:?} shows what is open to all: {shown:?}",
                kept.by
            );
        }
    }
}
