//! Databases for tests: a SQLite file in a temporary folder, a fresh database of the test cluster; and what several tests do with them.

use std::sync::mpsc;
use std::time::Duration;

use ingather_model::ids::{Digest, DocumentId};
use ingather_model::key::DocumentKey;
use ingather_store::documents::NewDocument;
use ingather_store::{Durability, Sql, Store, StoreError, Target, doctor};

/// A store that goes away with its folder or database.
pub(crate) struct Fresh {
    pub target: Target,
    _folder: tempfile::TempDir,
    database: Option<(String, String)>,
}

impl Drop for Fresh {
    fn drop(&mut self) {
        if let Some((url, name)) = self.database.take()
            && let Ok(mut client) = postgres::Client::connect(&url, postgres::NoTls)
        {
            let _ = client.batch_execute(&format!("DROP DATABASE \"{name}\" WITH (FORCE)"));
        }
    }
}

/// Runs `check` on both databases. PostgreSQL is found by `INGATHER_TEST_POSTGRES`; `make test` starts one.
pub(crate) fn on_both(name: &str, check: impl Fn(&Fresh)) {
    let folder = tempfile::tempdir().unwrap();
    let target = Target::Sqlite(folder.path().join("store.db"));
    Store::open(&target).unwrap();
    check(&Fresh { target, _folder: folder, database: None });
    let url = std::env::var("INGATHER_TEST_POSTGRES")
        .expect("INGATHER_TEST_POSTGRES names no cluster: run the tests with `make test`");
    let database = format!("store_{name}_{}", std::process::id());
    let mut client = postgres::Client::connect(&url, postgres::NoTls).unwrap();
    client.batch_execute(&format!("DROP DATABASE IF EXISTS \"{database}\"")).unwrap();
    client.batch_execute(&format!("CREATE DATABASE \"{database}\"")).unwrap();
    let target = Target::Postgres(match url.rsplit_once('/') {
        Some((server, _)) => format!("{server}/{database}"),
        None => panic!("{url} names no database"),
    });
    Store::open(&target).unwrap();
    check(&Fresh { target, _folder: tempfile::tempdir().unwrap(), database: Some((url, database)) });
}

/// Long enough for a transaction that nothing keeps from ending; a slow machine sees less, and nothing that is not there.
const UNDISTURBED: Duration = Duration::from_millis(300);

/// Two changes of one store at once: the other one is under way before the first one is committed, and may wait for it.
pub(crate) fn at_once<A: Send, B: Send>(
    store: &Store,
    first: impl Fn(&mut Sql<'_>) -> Result<A, StoreError>,
    other: impl Fn(&mut Sql<'_>) -> Result<B, StoreError> + Send,
) -> (A, B) {
    let (goes, going) = mpsc::channel();
    let (ended, ends) = mpsc::channel();
    std::thread::scope(|scope| {
        let second = scope.spawn(move || {
            // None where the first one has failed before.
            going.recv().ok()?;
            let done = store.write(Durability::Synced, other).unwrap();
            let _ = ended.send(());
            Some(done)
        });
        let first = move |sql: &mut Sql<'_>| {
            let done = first(sql)?;
            // Where it was taken back, the other one has begun, or is over.
            let _ = goes.send(());
            let _ = ends.recv_timeout(UNDISTURBED);
            Ok(done)
        };
        let done = store.write(Durability::Synced, first).unwrap();
        (done, second.join().unwrap().unwrap())
    })
}

/// Words of the checks of the doctor that find something.
pub(crate) fn faults(store: &Store) -> Vec<&'static str> {
    let faults = store.reader().read(|sql| doctor::examine(sql, 100)).unwrap();
    faults.iter().map(|fault| fault.check.name).collect()
}

/// A document that is new.
pub(crate) fn new_document(id: i64) -> NewDocument {
    NewDocument {
        id: DocumentId(id),
        key: DocumentKey { parent_hash: 1, key_hash: id },
        name: id.to_string(),
        version: Digest(1),
        access: Digest(1),
        identity: 0,
        container: None,
    }
}
