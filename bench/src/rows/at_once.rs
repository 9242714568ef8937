//! What a service does at once amid a crawl: it goes by other settings, and it ends.

use std::time::Instant;

use serde_json::{Value, json};

use super::inventory::stores;
use super::moves::{AMID, Step, amid, define};
use super::thousands;
use crate::page::Line;
use crate::service::{Client, Service, rests};
use crate::trees::Files;
use crate::{Bench, Result};

const DATA: &str = "at-once";

fn throttle(client: &mut Client, rules: Value) -> Result<()> {
    let files = json!({"kind": "filesystem", "settings": {"throttle": rules}});
    let declaration = json!({"version": 1, "repositories": {"files": files}});
    client.change("POST", "/declaration", &json!({"declaration": declaration})).map(drop)
}

fn documents(shown: &Value) -> u64 {
    shown["documents"].as_u64().unwrap_or_default()
}

/// Both, in a store.
fn of_store(bench: &Bench, files: &Files, name: &str, store: Option<&str>) -> Result<[Step; 2]> {
    let among = format!("a crawl of {} files to `null`, `serve`, {name}", thousands(files.count));
    let step =
        |what, most, work: &str| Step { what, work: format!("{work} {among}"), took: Vec::new(), most };
    let mut steps = [
        step("throttle taken back to the next document, median", 1_000.0, "other settings amid"),
        step("SIGTERM to the end of the program, median", 2_000.0, "stop amid"),
    ];
    for _ in 0..bench.pairs {
        let service = Service::start(bench, DATA, store, &[])?;
        let mut client = service.client()?;
        define(&mut client, "crawl", &files.root, "null")?;
        throttle(&mut client, json!([{ "fetches_per_minute": 0 }]))?;
        client.change("POST", "/jobs/crawl/start", &json!({}))?;
        client.waits("crawl", Instant::now(), |shown| {
            shown["hold"].as_str().is_some_and(|hold| hold.contains("its throttle"))
        })?;
        let begun = Instant::now();
        throttle(&mut client, json!([]))?;
        steps[0].took.push(client.waits("crawl", begun, |shown| documents(shown) > 0)?);
        amid(&mut client, "crawl", AMID.min(files.count as u64 / 4))?;
        let begun = Instant::now();
        drop(service);
        steps[1].took.push(begun.elapsed().as_secs_f64() * 1_000.0);
        let service = Service::start(bench, DATA, store, &[])?;
        let mut client = service.client()?;
        // The run that was put down goes on by itself; it may have ended by now.
        client.ask("POST", "/jobs/crawl/abort", Some(&json!({})))?;
        client.waits("crawl", Instant::now(), rests)?;
        client.change("DELETE", "/jobs/crawl", &json!({}))?;
        drop(service);
        std::fs::remove_dir_all(bench.path(DATA))?;
    }
    Ok(steps)
}

/// All of it.
pub(super) fn measure(bench: &Bench) -> Result<Vec<Line>> {
    let files = Files::deep(bench.path("deep"), bench.size(100_000))?;
    let mut steps = Vec::new();
    for (name, store) in stores(bench)? {
        steps.extend(of_store(bench, &files, name, (store != "-").then_some(store.as_str()))?);
    }
    std::fs::remove_dir_all(&files.root)?;
    Ok(steps.into_iter().map(Step::line).collect())
}
