//! Drives the program as a person does: commands in, lines and exit codes out (design 5.1).
#![expect(clippy::unwrap_used, reason = "a test says by a panic what is wrong")]

mod access;
mod backup;
mod commands;
mod dice;
mod doctor;
mod explain;
mod files;
mod jobs;
mod people;
mod pipeline;
mod safety;
mod sandbox;
mod scenario;
mod scenarios;
#[path = "../../src/selftest/server.rs"]
mod server;
mod service;
mod stops;
mod trouble;
mod verify;
mod web;
