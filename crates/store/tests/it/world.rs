//! Databases for tests: a SQLite file in a temporary folder, a fresh database of the test cluster.

use ingather_store::{Store, Target};

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
