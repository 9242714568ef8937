//! Stores that earlier versions have filled, and what everybody could find in them.
//!
//! `crates/engine/tests/stores` has one of each version of the schema that was released, by its
//! number and commit. A job over a tree, one over a folder and one over a folder in it ran; then files were removed (held by the guard),
//! and folders opened that some of the jobs did not look at afterwards.

use std::collections::BTreeSet;

use ingather_contract::access_filter::Reference;
use ingather_engine::access_filter;
use ingather_model::access::{Tokens, UNIX_EVERYONE};
use ingather_model::decision::NOBODY;
use ingather_model::ids::JobId;
use ingather_model::key::DocumentKey;
use ingather_store::connections::{self, Role};
use ingather_store::{Reader, deliveries, doctor, documents, jobs};

use crate::database::Kind;

/// A store: what made it, and its dump for each database.
#[derive(Clone, Copy, Debug)]
pub struct Filled {
    /// Number of its last step, and the commit of the program.
    pub by: &'static str,
    sqlite: &'static str,
    postgres: &'static str,
}

macro_rules! filled {
    ($by:literal) => {
        Filled {
            by: $by,
            sqlite: include_str!(concat!("../../engine/tests/stores/", $by, ".sqlite.dump")),
            postgres: include_str!(concat!("../../engine/tests/stores/", $by, ".postgres.dump")),
        }
    };
}

/// All of them, the oldest first.
pub const STORES: [Filled; 5] = [
    filled!("1-4e0e4c6"),
    filled!("3-3537420"),
    filled!("4-ad0e0b3"),
    filled!("6-42a5300"),
    filled!("7-ed1def6"),
];

/// What everybody could read when a job looked at it last; `search '*' --as nobody` of the program that made the first store found just
/// that, and that of the later ones less: the documents below `nested/deep` only once each of their jobs had looked at them.
const OPEN: [&str; 6] =
    ["nested/deep/1.txt", "nested/deep/2.txt", "open/1.txt", "open/2.txt", "open/a.tar", "open/broken.pdf"];

impl Filled {
    /// The dump for a database.
    pub fn dump(&self, kind: Kind) -> &'static str {
        if kind == Kind::Sqlite { self.sqlite } else { self.postgres }
    }
}

/// What is wrong with such a store once it was brought up to date: faults in its inventory, what is shown to more than before, what is not
/// shown that is open to all.
///
/// # Panics
/// When the store does not answer.
pub fn wrong(reader: &Reader) -> Vec<String> {
    let faults = reader.read(|sql| doctor::examine(sql, 3)).expect("the store answers");
    let mut wrong: Vec<String> = faults.iter().map(|fault| fault.check.name.to_owned()).collect();
    let shown = found(reader);
    let wider = shown.iter().filter(|name| !OPEN.contains(&name.as_str()));
    wrong.extend(wider.map(|name| format!("{name} is shown to everybody")));
    if !shown.contains("open/1.txt") {
        wrong.push(format!("only {shown:?} is shown"));
    }
    wrong
}

/// Documents that somebody finds who is nobody in particular, by any job that holds them in an output.
fn found(reader: &Reader) -> BTreeSet<String> {
    let tokens: Tokens = [UNIX_EVERYONE].into_iter().collect();
    let index = reader.read(|sql| connections::find(sql, Role::Output, "index")).expect("the store answers");
    let index = index.expect("its jobs have the index");
    let access_filter =
        access_filter::for_identity(reader, Some(index.id), &tokens.into()).expect("the store answers");
    let mut found = BTreeSet::new();
    for job in reader.read(jobs::list).expect("the store answers") {
        let listed = reader
            .read(|sql| documents::list(sql, job.id, DocumentKey::BEFORE_ALL, 1_000))
            .expect("the store answers");
        let ids: Vec<i64> = listed.iter().map(|listed| listed.id.0).collect();
        let held = reader.read(|sql| deliveries::states(sql, &ids)).expect("the store answers");
        for stored in reader.read(|sql| documents::get(sql, &ids)).expect("the store answers") {
            let shown = held.iter().any(|delivery| {
                delivery.document == stored.known.id.0
                    && delivery.state.confirmed.is_some_and(|held| held.is_some())
                    && delivery.state.confirmed_acl != Some(NOBODY)
            });
            let (acl_id, container) = (stored.known.acl_id, stored.known.container);
            if shown && access_filter.permits(0, Reference { job: Some(JobId(job.id.0)), acl_id, container })
            {
                let root = job.definition.source["root"].as_str().unwrap_or_default();
                let below = root.strip_prefix("/srv/documents").unwrap_or(root);
                found.insert(format!("{below}/{}", stored.name).trim_start_matches('/').to_owned());
            }
        }
    }
    found
}
