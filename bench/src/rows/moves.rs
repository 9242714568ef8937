//! Moves of jobs in a service, from the request to the state that it leads to.

use std::time::{Duration, Instant};

use ingather_model::limits;
use serde_json::json;

use super::inventory::{stores, synthetic};
use super::{sync, thousands};
use crate::measure::{median, pause, run};
use crate::page::{Goal, Line};
use crate::service::{Client, Service, rests, run_of};
use crate::trees::Files;
use crate::{Bench, Result};

const DATA: &str = "moved";
/// Time after which the right to write is free that a process of the bench had: it does not give it back.
const LEASE: Duration = Duration::from_millis(limits::LEASE_MS as u64 + 1_000);
/// Files seen after which a crawl is amid its work.
pub(super) const AMID: u64 = 5_000;

/// A step with the milliseconds that it took each time.
pub(super) struct Step {
    pub(super) what: &'static str,
    pub(super) work: String,
    pub(super) took: Vec<f64>,
    pub(super) most: f64,
}

impl Step {
    pub(super) fn line(self) -> Line {
        let longest = self.took.iter().copied().fold(0.0, f64::max);
        Line {
            work: self.work,
            ours: format!("{} times: longest {longest:.1} ms", self.took.len()),
            beside: "–".to_owned(),
            what: self.what,
            value: median(self.took),
            unit: "ms",
            goal: Goal::Most(self.most),
        }
    }
}

/// Makes a job over a folder.
pub(super) fn define(client: &mut Client, name: &str, root: &std::path::Path, output: &str) -> Result<()> {
    let job = json!({"name": name, "repository": "files", "source": {"root": root},
        "stages": [{"transform": "text", "settings": {}}], "outputs": [output],
        "delete_guard": {"limits": {"percent": 10, "documents": 20}}, "compare_content": false});
    let declaration = json!({"version": 1, "repositories": {"files": {"kind": "filesystem", "settings": {}}},
        "outputs": {output: {"kind": output, "settings": {}}}, "jobs": [job]});
    client.change("POST", "/declaration", &json!({"declaration": declaration})).map(drop)
}

/// A move of a job, asked for, until a look sees what it leads to.
fn moved(
    client: &mut Client,
    job: &str,
    verb: &str,
    wanted: impl FnMut(&serde_json::Value) -> bool,
) -> Result<f64> {
    let begun = Instant::now();
    client.change("POST", &format!("/jobs/{job}/{verb}"), &json!({}))?;
    client.waits(job, begun, wanted)
}

/// Files that the run under way of a job has brought so far.
pub(super) fn amid(client: &mut Client, job: &str, files: u64) -> Result<()> {
    client.waits(job, Instant::now(), |shown| shown["documents"].as_u64() >= Some(files)).map(drop)
}

/// Starts, aborts, starts, restarts and aborts a crawl of a tree.
fn crawl(bench: &Bench, client: &mut Client, files: &Files, among: &str) -> Result<Vec<Step>> {
    let step = |what, most| Step {
        what,
        work: format!("moves of a crawl of {} files to `null`, `serve`, {among}", thousands(files.count)),
        took: Vec::new(),
        most,
    };
    let mut steps = [
        step("start to a run under way, median", 100.0),
        step("abort in mid-crawl to rest, median", 100.0),
        step("restart in mid-crawl to the next run, median", 100.0),
    ];
    for round in 0..bench.pairs {
        let name = format!("crawl-{round}");
        define(client, &name, &files.root, "null")?;
        steps[0].took.push(moved(client, &name, "start", |shown| run_of(shown) == 1)?);
        amid(client, &name, AMID.min(files.count as u64 / 4))?;
        steps[1].took.push(moved(client, &name, "abort", rests)?);
        let before = run_of(&client.get(&format!("/jobs/{name}"))?);
        steps[0].took.push(moved(client, &name, "start", |shown| run_of(shown) > before)?);
        amid(client, &name, (2 * AMID).min(files.count as u64 / 2))?;
        let before = run_of(&client.get(&format!("/jobs/{name}"))?);
        steps[2].took.push(moved(client, &name, "restart", |shown| run_of(shown) > before)?);
        steps[1].took.push(moved(client, &name, "abort", rests)?);
        client.change("DELETE", &format!("/jobs/{name}"), &json!({}))?;
    }
    Ok(steps.into())
}

fn deletion(bench: &Bench, files: &Files, name: &str, store: Option<&str>, output: &str) -> Result<Step> {
    let most = match (output, store) {
        ("index", _) => 5_000.0,
        (_, Some(_)) => 4_000.0,
        (_, None) => 2_000.0,
    };
    let mut step = Step {
        what: "deletion, median",
        work: format!(
            "deleting a job of {} files in {} folders from `{output}`, `serve`, {name}",
            thousands(files.count),
            thousands(files.folders.len())
        ),
        took: Vec::new(),
        most,
    };
    for _ in 0..if output == "null" { bench.pairs.min(3) } else { 1 } {
        let line = sync(bench, DATA, &files.root, output);
        run(&match store {
            Some(url) => line.and(["--store", url]),
            None => line,
        })?;
        let service = Service::start(bench, DATA, store, &[])?;
        let mut client = service.client()?;
        let begun = Instant::now();
        let told = client.change("DELETE", "/jobs/deep", &json!({}))?;
        step.took.push(begun.elapsed().as_secs_f64() * 1_000.0);
        if told["deleted"] != files.count {
            return Err(format!("the deletion left something: {told}").into());
        }
        drop(service);
        std::fs::remove_dir_all(bench.path(DATA))?;
    }
    Ok(step)
}

/// All of them.
pub(super) fn measure(bench: &Bench) -> Result<Vec<Line>> {
    let files = Files::deep(bench.path("deep"), bench.size(100_000))?;
    let empty = bench.path("empty");
    std::fs::create_dir_all(&empty)?;
    let mut steps = Vec::new();
    for (name, store) in stores(bench)? {
        let url = (store != "-").then_some(store.as_str());
        // Documents of a job whose connector this program does not have, so that nothing but the store is large.
        let large = bench.size(500_000);
        let source = json!({ "documents": large, "each": 100, "levels": 0, "bytes": 200 });
        synthetic("run", &bench.path(DATA), &store, "null", &source)?;
        pause(LEASE);
        let service = Service::start(bench, DATA, url, &[])?;
        let mut client = service.client()?;
        define(&mut client, "nothing", &empty, "null")?;
        let mut nothing = Step {
            what: "start to rest, median",
            work: format!(
                "run of a job over an empty folder, `serve`, {name} with {} documents",
                thousands(large)
            ),
            took: Vec::new(),
            most: 50.0,
        };
        for _ in 0..bench.pairs * 4 {
            nothing.took.push(client.runs("nothing")?.1 * 1_000.0);
            pause(Duration::from_millis(20));
        }
        steps.push(nothing);
        let among = format!("{name} with {} documents", thousands(large));
        steps.extend(crawl(bench, &mut client, &files, &among)?);
        client.change("DELETE", "/jobs/nothing", &json!({}))?;
        drop(service);
        synthetic("delete", &bench.path(DATA), &store, "null", &source)?;
        std::fs::remove_dir_all(bench.path(DATA))?;
        pause(LEASE);
        steps.push(deletion(bench, &files, name, url, "null")?);
        if url.is_none() {
            steps.push(deletion(bench, &files, name, url, "index")?);
        }
    }
    std::fs::remove_dir_all(&files.root)?;
    std::fs::remove_dir_all(&empty)?;
    Ok(steps.into_iter().map(Step::line).collect())
}
