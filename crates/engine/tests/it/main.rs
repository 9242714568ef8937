//! The engine in worlds of its own: text scenarios, crashes at every point, random worlds against a naive model.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

mod access;
mod again;
mod bins;
mod crashes;
mod explain;
mod following;
mod history;
mod lease;
mod memory;
mod moves;
mod owners;
mod pause;
mod random_worlds;
mod repairs;
mod scenarios;
mod schedules;
mod secrets;
mod together;
mod upgrades;
