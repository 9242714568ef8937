//! The store against real databases: every test runs on SQLite and on PostgreSQL.

mod statements;
mod world;
