//! Databases for tests: a SQLite file in a temporary folder, or a fresh database of the test cluster.

use std::sync::atomic::{AtomicU64, Ordering};

use ingather_store::Target;

/// Which database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file.
    Sqlite,
    /// The cluster that `INGATHER_TEST_POSTGRES` names; `make test` starts one.
    Postgres,
}

/// Both.
pub const BOTH: [Kind; 2] = [Kind::Sqlite, Kind::Postgres];

/// A database that goes away with its value.
pub struct Database {
    /// Where it is.
    pub target: Target,
    /// A folder for what else a test keeps.
    pub folder: tempfile::TempDir,
    drop: Option<(String, String)>,
}

impl Database {
    /// A fresh, empty one.
    ///
    /// # Panics
    /// When there is no cluster to make it in.
    pub fn fresh(kind: Kind) -> Database {
        let folder = tempfile::tempdir().expect("tests need a temporary folder");
        if kind == Kind::Sqlite {
            return Database { target: Target::Sqlite(folder.path().join("store.db")), folder, drop: None };
        }
        static MADE: AtomicU64 = AtomicU64::new(0);
        let url = std::env::var("INGATHER_TEST_POSTGRES")
            .expect("INGATHER_TEST_POSTGRES names no cluster: run the tests with `make test`");
        let name = format!("world_{}_{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        make(&url, &name, "template1");
        let (server, _) = url.rsplit_once('/').expect("the address of the test cluster names a database");
        Database { target: Target::Postgres(format!("{server}/{name}")), folder, drop: Some((url, name)) }
    }

    /// One that is there, or is made there, and does not go away.
    pub fn at(target: Target) -> Database {
        let folder = tempfile::tempdir().expect("tests need a temporary folder");
        Database { target, folder, drop: None }
    }

    /// Its address in the cluster.
    ///
    /// # Panics
    /// When it is a file.
    pub fn url(&self) -> &str {
        match &self.target {
            Target::Postgres(url) => url,
            Target::Sqlite(_) => panic!("a file has no address"),
        }
    }

    /// Runs a script over it, such as a dump.
    ///
    /// # Panics
    /// When the database refuses it.
    pub fn script(&self, text: &str) {
        match &self.target {
            Target::Sqlite(path) => {
                let connection =
                    rusqlite::Connection::open(path).expect("a file in a temporary folder opens");
                connection.execute_batch(text).expect("the script runs");
            }
            Target::Postgres(url) => {
                let mut client =
                    postgres::Client::connect(url, postgres::NoTls).expect("the test cluster answers");
                client.batch_execute(text).expect("the script runs");
            }
        }
    }

    /// The number that a query gives, of a database of a cluster.
    ///
    /// # Panics
    /// When the database does not answer so.
    pub fn counts(&self, query: &str) -> i64 {
        let mut client =
            postgres::Client::connect(self.url(), postgres::NoTls).expect("the test cluster answers");
        client.query_one(query, &[]).expect("the query gives a row").get(0)
    }

    /// Its tables and indexes, a line each, in an order that does not depend on how they were made. Names of constraints are left out:
    /// PostgreSQL keeps those of tables that were renamed.
    ///
    /// # Panics
    /// When the database does not answer.
    pub fn schema(&self) -> Vec<String> {
        let mut lines: Vec<String> = match &self.target {
            Target::Sqlite(path) => {
                let connection =
                    rusqlite::Connection::open(path).expect("a file in a temporary folder opens");
                let mut listed = connection.prepare(SQLITE_SCHEMA).expect("every database has a catalogue");
                let rows = listed.query_map([], |row| row.get(0)).expect("the catalogue is read");
                rows.collect::<Result<_, _>>().expect("the catalogue is read")
            }
            Target::Postgres(url) => {
                let mut client =
                    postgres::Client::connect(url, postgres::NoTls).expect("the test cluster answers");
                let rows = client.query(POSTGRES_SCHEMA, &[]).expect("the catalogue is read");
                rows.iter().map(|row| row.get(0)).collect()
            }
        };
        for line in &mut lines {
            *line = line.replace('"', "").split_whitespace().collect::<Vec<_>>().join(" ");
        }
        lines.sort();
        lines
    }

    /// Its tables with how many rows each of them has, by name.
    ///
    /// # Panics
    /// When the database does not answer.
    pub fn rows(&self) -> Vec<(String, i64)> {
        let count = |table: &str| format!("SELECT count(*) FROM \"{table}\"");
        match &self.target {
            Target::Sqlite(path) => {
                let connection =
                    rusqlite::Connection::open(path).expect("a file in a temporary folder opens");
                let mut listed = connection.prepare(SQLITE_TABLES).expect("every database has a catalogue");
                let tables: Result<Vec<String>, _> =
                    listed.query_map([], |row| row.get(0)).expect("the catalogue is read").collect();
                let rows = |table: &str| connection.query_row(&count(table), [], |row| row.get(0));
                let tables = tables.expect("the catalogue is read").into_iter();
                tables.map(|table| (table.clone(), rows(&table).expect("a table is counted"))).collect()
            }
            Target::Postgres(url) => {
                let mut client =
                    postgres::Client::connect(url, postgres::NoTls).expect("the test cluster answers");
                let tables = client.query(POSTGRES_TABLES, &[]).expect("the catalogue is read");
                let tables: Vec<String> = tables.iter().map(|row| row.get(0)).collect();
                let mut rows = |table: &str| client.query_one(&count(table), &[]).map(|row| row.get(0));
                tables
                    .into_iter()
                    .map(|table| (table.clone(), rows(&table).expect("a table is counted")))
                    .collect()
            }
        }
    }

    /// A copy of it in the same cluster; nobody may have it open.
    ///
    /// # Panics
    /// When it is not in a cluster.
    pub fn copy(&self) -> Database {
        let copy = Database::fresh(Kind::Postgres);
        copy.put_back(self);
        copy
    }

    /// Becomes a copy of another one; nobody may have either open.
    ///
    /// # Panics
    /// When they are not in a cluster.
    pub fn put_back(&self, copy: &Database) {
        let ((url, name), (_, copy)) =
            self.drop.as_ref().zip(copy.drop.as_ref()).expect("databases of a cluster are copied");
        make(url, name, copy);
    }
}

const SQLITE_TABLES: &str =
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name";
const POSTGRES_TABLES: &str = "SELECT table_name::text FROM information_schema.tables WHERE table_schema = 'public' ORDER BY table_name";
const SQLITE_SCHEMA: &str = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL";
const POSTGRES_SCHEMA: &str = "
    SELECT format('%s %s %s %s %s %s', table_name,
        row_number() OVER (PARTITION BY table_name ORDER BY ordinal_position), column_name, data_type, is_nullable, column_default)
      FROM information_schema.columns WHERE table_schema = 'public'
    UNION ALL SELECT format('%s %s', conrelid::regclass, pg_get_constraintdef(oid)) FROM pg_constraint
      WHERE connamespace = 'public'::regnamespace AND contype <> 'n'
    UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'
      AND indexname NOT IN (SELECT conname FROM pg_constraint)";

/// Makes a database that holds what another one holds; what there was of its name goes.
fn make(url: &str, name: &str, from: &str) {
    let mut client = postgres::Client::connect(url, postgres::NoTls).expect("the test cluster answers");
    client
        .batch_execute(&format!("DROP DATABASE IF EXISTS \"{name}\" WITH (FORCE)"))
        .and_then(|()| client.batch_execute(&format!("CREATE DATABASE \"{name}\" TEMPLATE \"{from}\"")))
        .expect("the test cluster makes databases");
}

impl Drop for Database {
    fn drop(&mut self) {
        if let Some((url, name)) = self.drop.take()
            && let Ok(mut client) = postgres::Client::connect(&url, postgres::NoTls)
        {
            // A database that stays behind goes with the cluster.
            let _ = client.batch_execute(&format!("DROP DATABASE IF EXISTS \"{name}\" WITH (FORCE)"));
        }
    }
}
