//! A PostgreSQL database of its own for one test.

use std::sync::atomic::{AtomicU64, Ordering};

use postgres::{Client, NoTls};

/// Where the tests find a server.
const VARIABLE: &str = "INGATHER_TEST_POSTGRES";

/// A fresh database; dropped with this.
pub(crate) struct Database {
    server: String,
    name: String,
}

impl Database {
    pub(crate) fn new() -> Database {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let server = std::env::var(VARIABLE).unwrap_or_else(|_| {
            panic!("{VARIABLE} is not set; start the tests with `sh scripts/postgres.sh cargo test -p ingather-app`")
        });
        let name = format!("ingather_app_{}_{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let database = Database { server, name };
        database.server_do(&format!("CREATE DATABASE {}", database.name));
        database
    }

    /// What `--store` takes.
    pub(crate) fn url(&self) -> String {
        let (server, _) = self.server.rsplit_once('/').unwrap();
        format!("{server}/{}", self.name)
    }

    fn server_do(&self, statement: &str) {
        let mut client = Client::connect(&self.server, NoTls)
            .unwrap_or_else(|error| panic!("{VARIABLE} names a server that does not answer: {error}"));
        client.batch_execute(statement).unwrap();
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.server_do(&format!("DROP DATABASE {} WITH (FORCE)", self.name));
        }
    }
}
