//! Web sites, feeds and wikis, by the real program over real HTTP.

mod command;
mod feeds;
mod logins;
mod sites;
mod wikis;

use ingather_testkit::script_repository::server::SiteServer;
use serde_json::Value;

use crate::sandbox::{Counts, Sandbox};

/// Settings that reach a server on this machine, as fast as it answers, for everybody to find.
const HERE: &[&str] =
    &["--set", "private_networks=[\"127.0.0.1\"]", "--set", "access=[\"everybody\"]", "--set", "delay_ms=0"];

/// Runs a job over an address once; its counters, and the exit code.
fn sync(sandbox: &Sandbox, source: &str, flags: &[&str]) -> (Counts, i32) {
    let answer = sandbox.run(&[&["sync", source, "--json"], flags].concat());
    let lines = answer.json();
    let last = lines.last().unwrap_or_else(|| panic!("{} {}", answer.out, answer.err));
    (Counts::of(last), answer.code)
}

/// Paths of the server that are found, in order.
fn found(sandbox: &Sandbox, server: &SiteServer, query: &str) -> Vec<String> {
    let answer = sandbox.run(&["search", query, "--all", "--json", "--all-copies"]).exits(0);
    let begin = server.url("");
    let path = |hit: &Value| hit["uri"].as_str().unwrap().strip_prefix(&begin).unwrap_or_default().to_owned();
    let mut paths: Vec<String> = answer.json().iter().map(path).collect();
    paths.sort();
    paths
}
