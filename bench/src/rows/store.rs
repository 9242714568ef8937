//! The store alone: what one document costs in it, beside the figures that its schema was chosen by.

use std::path::Path;

use ingather_model::ids::{AclId, ConnectionId, ContainerId, Digest, DocumentId, JobId};
use ingather_model::key::DocumentKey;
use ingather_model::limits;
use ingather_store::deliveries::{self, Answered, Confirmed, Intent};
use ingather_store::documents::{self, DocumentUpdate, NewDocument};
use ingather_store::{Durability, Store, Target, explain};

use super::search::queries::milliseconds;
use super::thousands;
use crate::measure::median;
use crate::page::{Goal, Line};
use crate::{Bench, Result};

/// Documents of one folder.
const EACH: usize = 100;
/// Documents that are explained: each is asked about singly.
const EXPLAINED: usize = 1_000;
const JOB: JobId = JobId(1);
const OUTPUT: ConnectionId = ConnectionId(2);

type Step = fn(&Store, usize) -> Result<()>;

/// Each step with the microseconds of processor time per document that the layout took where it was chosen
/// (SQLite, 111,200 documents, keys of a folder beside each other, batches of 4,096 and 512).
const STEPS: &[(&str, f64, Step)] = &[
    ("list new", 3.0, list_new),
    ("intent", 2.0, intend),
    ("confirm and settle", 2.6, confirm),
    ("list again, one range scan for each folder", 0.24, list_again),
    ("walk in key order, as a sweep does", 0.06, walk),
    ("explain", 5.0, ask),
];

/// One line for each step.
pub(super) fn measure(bench: &Bench) -> Result<Vec<Line>> {
    let count = bench.size(111_200);
    let rounds =
        (0..bench.pairs).map(|_| round(&bench.path("store.db"), count)).collect::<Result<Vec<_>>>()?;
    let line = |(at, (name, figure, _)): (usize, &(&str, f64, Step))| {
        let each = median(rounds.iter().map(|round| round[at]));
        Line {
            work: format!("the store alone, {} documents in folders of {EACH}: {name}", thousands(count)),
            ours: format!("CPU {each:.2} µs per document"),
            beside: format!("when the schema was chosen: {figure:.2} µs"),
            what: "CPU",
            value: each / figure,
            unit: "×",
            goal: Goal::Most(1.3),
        }
    };
    Ok(STEPS.iter().enumerate().map(line).collect())
}

/// Microseconds per document of each step, in a new store.
fn round(path: &Path, count: usize) -> Result<Vec<f64>> {
    let store = Store::open(&Target::Sqlite(path.to_owned()))?;
    let mut each = Vec::new();
    for (name, _, step) in STEPS {
        let begun = milliseconds();
        step(&store, count)?;
        let documents = if *name == "explain" { EXPLAINED.min(count) } else { count };
        each.push((milliseconds() - begun) * 1e3 / documents as f64);
    }
    drop(store);
    for end in ["", "-wal", "-shm"] {
        let file = path.with_extension(format!("db{end}"));
        if file.exists() {
            std::fs::remove_file(file)?;
        }
    }
    Ok(each)
}

/// Scatters numbers as a hash does.
fn scattered(number: usize) -> i64 {
    (number as i64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64)
}

/// Hash of the folder of a document.
fn folder(document: usize) -> i64 {
    scattered(document / EACH).rotate_left(17)
}

fn id(document: usize) -> i64 {
    document as i64 + 1
}

/// Numbers of documents in batches.
fn batches(count: usize, size: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    (0..count).step_by(size).map(move |first| first..count.min(first + size))
}

fn list_new(store: &Store, count: usize) -> Result<()> {
    for batch in batches(count, limits::PAGE_ITEMS_MAX / EACH * EACH) {
        let first = batch.start;
        // As a listing does: ids in the order of keys, folder by folder.
        let mut numbers: Vec<usize> = batch.collect();
        numbers.sort_unstable_by_key(|number| (number / EACH, scattered(*number)));
        let new: Vec<NewDocument> = numbers
            .into_iter()
            .enumerate()
            .map(|(container, number)| NewDocument {
                id: DocumentId(id(first + container)),
                key: DocumentKey { parent_hash: folder(number), key_hash: scattered(number) },
                name: format!(
                    "some/folder/of/the/source/folder-{:06}/document-{number:08}.txt",
                    number / EACH
                ),
                version: Digest(scattered(number) ^ 1),
                access: Digest(scattered(number) ^ 2),
                identity: scattered(number) ^ 3,
                container: Some(ContainerId(1)),
            })
            .collect();
        store.write(Durability::Relaxed, |sql| documents::add(sql, JOB, 1, &new))?;
    }
    Ok(())
}

fn intend(store: &Store, count: usize) -> Result<()> {
    for batch in batches(count, limits::DELIVERY_BATCH_MAX) {
        let intents: Vec<Intent> = batch
            .map(|number| Intent {
                document: id(number),
                component: 0,
                address_parent: folder(number) ^ 4,
                address: scattered(number) ^ 4,
                seq: id(number),
                intended: Digest(scattered(number) ^ 5),
                intended_acl: Digest(1),
            })
            .collect();
        store.write(Durability::Synced, |sql| deliveries::intend(sql, OUTPUT, 1, false, &intents))?;
    }
    Ok(())
}

fn confirm(store: &Store, count: usize) -> Result<()> {
    for batch in batches(count, limits::DELIVERY_BATCH_MAX) {
        let answered = |number| Answered { document: id(number), component: 0, seq: id(number) };
        let rows: Vec<Answered> = batch.clone().map(answered).collect();
        let update: Vec<DocumentUpdate> = batch
            .map(|number| DocumentUpdate {
                id: DocumentId(id(number)),
                version: Digest(scattered(number) ^ 1),
                access: Digest(scattered(number) ^ 2),
                raw: Some(Digest(scattered(number) ^ 6)),
                settings: Digest(7),
                identity: scattered(number) ^ 3,
                acl_id: Some(AclId(1)),
                container: Some(ContainerId(1)),
            })
            .collect();
        store.write(Durability::Synced, |sql| {
            deliveries::confirm(sql, OUTPUT, 2, Confirmed::Record, &rows)?;
            documents::complete(sql, 1, &update)
        })?;
    }
    Ok(())
}

fn list_again(store: &Store, count: usize) -> Result<()> {
    for batch in batches(count, limits::PAGE_ITEMS_MAX / EACH * EACH) {
        let parents: Vec<i64> = batch.step_by(EACH).map(folder).collect();
        store.reader().read(|sql| documents::scan_parents(sql, JOB, &parents))?;
    }
    Ok(())
}

fn walk(store: &Store, _: usize) -> Result<()> {
    let mut after = DocumentKey { parent_hash: i64::MIN, key_hash: i64::MIN };
    loop {
        let rows = store.reader().read(|sql| documents::walk(sql, JOB, after, limits::SWEEP_ROWS))?;
        let Some((last, _)) = rows.last() else { return Ok(()) };
        after = *last;
    }
}

fn ask(store: &Store, count: usize) -> Result<()> {
    for number in (0..count).step_by((count / EXPLAINED).max(1)).take(EXPLAINED) {
        store.reader().read(|sql| explain::facts(sql, id(number)))?.ok_or("a document is missing")?;
    }
    Ok(())
}
