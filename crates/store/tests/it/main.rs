//! The store against real databases: every test runs on SQLite and on PostgreSQL.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

mod conflicts;
mod doctor;
mod events;
mod handles;
mod health;
mod history;
mod intents;
mod jobs;
mod notices;
mod people;
mod plans;
mod secrets;
mod statements;
mod states;
mod world;
mod writers;
