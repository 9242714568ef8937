//! What applications push into a service: how fast it is on disk, how soon it is delivered, and what a pass over a whole source costs.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::inventory::stores;
use super::thousands;
use crate::floors::commits;
use crate::floors::queues::Queue;
use crate::measure::{at_once, pause};
use crate::page::{Goal, Line};
use crate::service::{Client, LONGEST, Service, rests, tree};
use crate::{Bench, Result};

const DATA: &str = "pushed";
/// Clients that push at once.
const CLIENTS: usize = 64;
/// Bytes of the text of a record.
const RECORD_BYTES: usize = 2_048;
/// Records of one call of a client that has many.
const LIST: usize = 1_000;
/// Records a second of a source that changes all the time.
const STEADY: usize = 500;

/// A service with a source that pushes go into.
struct Pushed {
    service: Service,
    client: Client,
}

impl Pushed {
    fn open(bench: &Bench, store: Option<&str>, output: &str) -> Result<Pushed> {
        let service = Service::start(bench, DATA, store, &[])?;
        let mut client = service.client()?;
        let job = json!({"root": "push:records", "outputs": [output], "schedule": "continuous"});
        client.change("POST", "/jobs", &job)?;
        Ok(Pushed { service, client })
    }

    /// Takes the source out of the store, which may be one that stays.
    fn close(mut self, bench: &Bench) -> Result<()> {
        self.client.change("POST", "/jobs/records/abort", &json!({}))?;
        // The pass that is under way ends first: until then the job is not deleted.
        self.client.waits("records", Instant::now(), rests)?;
        self.client.change("DELETE", "/jobs/records", &json!({}))?;
        drop(self.service);
        Ok(std::fs::remove_dir_all(bench.path(DATA))?)
    }

    /// Pushes records with numbers, in lists.
    fn fill(&mut self, count: usize, bytes: usize) -> Result<()> {
        for first in (0..count).step_by(LIST) {
            let records = (first..count.min(first + LIST)).map(|number| record(number, bytes));
            let body = format!("{{\"records\":[{}]}}", records.collect::<Vec<_>>().join(","));
            taken(&self.client.post("/sources/records/records", &body)?)?;
        }
        Ok(())
    }

    /// Waits until outputs have so many documents of the source, and nothing else; seconds since `begun`.
    fn delivered(&mut self, begun: Instant, count: usize) -> Result<f64> {
        loop {
            let shown = self.client.get("/jobs/records")?;
            let are_settled = shown["states"]["settled"].as_u64() == Some(count as u64);
            if are_settled && shown["documents"].as_u64() == Some(count as u64) {
                return Ok(begun.elapsed().as_secs_f64());
            }
            if begun.elapsed() > LONGEST {
                return Err(format!("what was pushed is not delivered: {shown}").into());
            }
            pause(Duration::from_millis(50));
        }
    }
}

fn record(number: usize, bytes: usize) -> String {
    let text = "x".repeat(bytes);
    format!(r#"{{"key":"record-{number:08}","hash":"v1","access":["everybody"],"text":"{number} {text}"}}"#)
}

/// An answer in which all was taken.
fn taken((status, body): &(u16, Vec<u8>)) -> Result<()> {
    let said = String::from_utf8_lossy(body);
    match *status == 200 && !said.contains("refused") {
        true => Ok(()),
        false => {
            Err(format!("a push was answered with {status}: {}", said.chars().take(300).collect::<String>())
                .into())
        }
    }
}

/// Pushes `count` records by so many clients at once, so many in one call, and at most so many a second where that is said; seconds until the last answer.
fn push(pushed: &Pushed, (clients, count, list): (usize, usize, usize), pace: Option<usize>) -> Result<f64> {
    let clients = (0..clients).map(|_| pushed.service.client()).collect::<Result<Vec<_>>>()?;
    let (begun, next) = (Instant::now(), AtomicUsize::new(0));
    at_once(clients, |mut client: Client| {
        loop {
            let first = next.fetch_add(list, Ordering::Relaxed);
            if first >= count {
                return Ok(());
            }
            let due = pace.map_or(0.0, |pace| first as f64 / pace as f64);
            pause(Duration::from_secs_f64(due).saturating_sub(begun.elapsed()));
            let records = (first..count.min(first + list)).map(|number| record(number, RECORD_BYTES));
            let body = format!("{{\"records\":[{}]}}", records.collect::<Vec<_>>().join(","));
            let answer = client.post("/sources/records/records", &body).map_err(|error| error.to_string())?;
            taken(&answer).map_err(|error| error.to_string())?;
        }
    })?;
    Ok(begun.elapsed().as_secs_f64())
}

/// Records of 2 KiB by 64 clients, each on disk when it is answered, beside commits alone of so many rows.
fn accepts(bench: &Bench, (name, store): (&str, Option<&str>), list: usize) -> Result<Vec<Line>> {
    let count = bench.size(100_000);
    let mut pushed = Pushed::open(bench, store, "null")?;
    // Nothing is delivered meanwhile: it is acceptance that is measured.
    pushed.client.change("POST", "/jobs/records/pause", &json!({}))?;
    let before = tree::cpu(pushed.service.pid());
    let took = push(&pushed, (CLIENTS, count, list), None)?;
    let cpu = (tree::cpu(pushed.service.pid()) - before) * 1e6 / count as f64;
    let memory = tree::mebibytes(pushed.service.pid(), "VmHWM").unwrap_or(f64::NAN);
    let floor = commits::run(&bench.path("commits.db"), (count, CLIENTS * list, RECORD_BYTES))?;
    let begun = Instant::now();
    pushed.client.change("POST", "/jobs/records/resume", &json!({}))?;
    let delivered = pushed.delivered(begun, count)?;
    pushed.close(bench)?;
    let work = format!(
        "{} records of 2 KiB by {CLIENTS} clients, {list} in a call, on disk when answered, {name}",
        thousands(count)
    );
    let ours = format!(
        "{took:.2} s, CPU {cpu:.0} µs a record, {memory:.0} MiB; delivered to `null` {delivered:.1} s later"
    );
    let beside = format!(
        "SQLite alone, {} rows in a commit: CPU {:.0} µs a row, {:.0} rows/s, a sync {:.2} ms",
        CLIENTS * list,
        floor.cpu * 1e6,
        floor.speed,
        floor.sync * 1e3
    );
    let line = |what, value, unit, goal| Line {
        work: work.clone(),
        ours: ours.clone(),
        beside: beside.clone(),
        what,
        value,
        unit,
        goal,
    };
    let speed = count as f64 / took;
    let (least, most) = match store {
        None => (Goal::Least(5_000.0), Goal::Most(2.0)),
        Some(_) => (Goal::None, Goal::None),
    };
    let mut lines =
        vec![line("records/s", speed, "", least), line("CPU", cpu / (floor.cpu * 1e6), "×", most)];
    if list == 1 && store.is_none() {
        for (queue, goal) in [(Queue::Redis, Goal::None), (Queue::JetStream, Goal::Least(0.5))] {
            let Some(theirs) = queue.measure(&bench.path("queue"), (count, CLIENTS, RECORD_BYTES))? else {
                println!("{} is not here, or too old, and was not measured", queue.name());
                continue;
            };
            let beside = format!(
                "{}: {:.0} messages/s, CPU {:.0} µs each",
                queue.name(),
                theirs.speed,
                theirs.cpu * 1e6
            );
            lines.push(Line { beside, ..line("speed", speed / theirs.speed, "×", goal) });
        }
    }
    Ok(lines)
}

/// From the answer of a push to its report, at a steady pace.
fn steady(bench: &Bench, (name, store): (&str, Option<&str>), output: &str, most: f64) -> Result<Line> {
    let seconds = if bench.small { 2 } else { 30 };
    let mut pushed = Pushed::open(bench, store, output)?;
    let count = seconds * STEADY;
    let pushed_in = push(&pushed, (8, count, 1), Some(STEADY))?;
    pushed.delivered(Instant::now(), count)?;
    let mut waited = waits(&mut pushed.client)?;
    pushed.close(bench)?;
    waited.sort_unstable();
    let at = |share: f64| waited[((waited.len() - 1) as f64 * share) as usize] as f64;
    Ok(Line {
        work: format!("accepted to completed, {STEADY} records/s for {seconds} s to `{output}`, {name}"),
        ours: format!(
            "{:.0} records/s; median {:.0} ms, p90 {:.0} ms, longest {:.0} ms",
            count as f64 / pushed_in,
            at(0.5),
            at(0.9),
            at(1.0)
        ),
        beside: "–".to_owned(),
        what: "p99",
        value: at(0.99),
        unit: "ms",
        goal: Goal::Most(most),
    })
}

/// Milliseconds from acceptance to report of all tickets of the source.
fn waits(client: &mut Client) -> Result<Vec<i64>> {
    let (mut waits, mut after) = (Vec::new(), 0);
    loop {
        let page = client.get(&format!("/sources/records/reports?after={after}&limit=1000"))?;
        for report in page["reports"].as_array().into_iter().flatten() {
            let at = |name: &str| report[name].as_i64().unwrap_or_default();
            waits.push(at("at") - at("accepted_at"));
        }
        if page["more"] != true {
            return Ok(waits);
        }
        after = page["last"].as_i64().ok_or("a page of reports has no end")?;
    }
}

/// A pass over a source that has not changed, and one that finds all of it gone.
fn delta(bench: &Bench, (name, store): (&str, Option<&str>)) -> Result<Vec<Line>> {
    // One list, where only the row itself is tried.
    let count = if bench.small { LIST } else { 1_000_000 };
    let mut pushed = Pushed::open(bench, store, "null")?;
    pushed.fill(count, 16)?;
    pushed.delivered(Instant::now(), count)?;
    let opened = pushed.client.change("POST", "/sources/records/runs", &json!({"lease_seconds": 3_600}))?;
    let (run, token) = (opened["run"].as_i64().unwrap_or_default(), opened["token"].clone());
    let path = format!("/sources/records/runs/{run}/check");
    let (before, begun) = (tree::cpu(pushed.service.pid()), Instant::now());
    check_all(&mut pushed.client, (&path, &token), count, "unchanged")?;
    let took = begun.elapsed().as_secs_f64();
    let ours = (tree::cpu(pushed.service.pid()) - before) * 1e6 / count as f64;
    let table = commits::Table::start()?;
    let mut client = table.client()?;
    check_all(&mut client, ("/check", &token), count, "new")?;
    let before = tree::cpu(table.pid());
    check_all(&mut client, ("/check", &token), count, "unchanged")?;
    let theirs = (tree::cpu(table.pid()) - before) * 1e6 / count as f64;
    drop(table);
    let end = json!({"token": token, "complete": true});
    pushed.client.change("POST", &format!("/sources/records/runs/{run}/finish"), &end)?;
    let unchanged = Line {
        work: format!("delta run over {} unchanged records, lists of {LIST}, {name}", thousands(count)),
        ours: format!("{took:.1} s, CPU {ours:.2} µs a record"),
        beside: format!("a hash table over HTTP: CPU {theirs:.2} µs a record"),
        what: "CPU above it, a record",
        value: ours - theirs,
        unit: "µs",
        goal: Goal::Most(5.0),
    };
    let mut lines = vec![unchanged];
    lines.extend(all_gone(pushed, bench, name, store.is_some(), count)?);
    Ok(lines)
}

/// Asks about all records.
fn check_all(client: &mut Client, (path, token): (&str, &Value), count: usize, wanted: &str) -> Result<()> {
    for first in (0..count).step_by(LIST) {
        let records = (first..count.min(first + LIST))
            .map(|number| format!(r#"{{"key":"record-{number:08}","hash":"v1"}}"#));
        let records = records.collect::<Vec<_>>().join(",");
        let (status, body) = client.post(path, &format!("{{\"token\":{token},\"records\":[{records}]}}"))?;
        let said = String::from_utf8_lossy(&body);
        let found = said.matches(&format!("\"{wanted}\"")).count();
        if status != 200 || found != count.min(first + LIST) - first {
            return Err(format!(
                "a check was answered with {status}, {found} {wanted}: {}",
                said.chars().take(300).collect::<String>()
            )
            .into());
        }
    }
    Ok(())
}

fn all_gone(
    mut pushed: Pushed,
    bench: &Bench,
    name: &str,
    is_postgres: bool,
    count: usize,
) -> Result<Vec<Line>> {
    let opened = pushed.client.change("POST", "/sources/records/runs", &json!({"lease_seconds": 3_600}))?;
    let run = opened["run"].as_i64().unwrap_or_default();
    let end = json!({"token": opened["token"], "complete": true, "confirm": true});
    let (begun, before) = (Instant::now(), tree::cpu(pushed.service.pid()));
    let ended = pushed.client.change("POST", &format!("/sources/records/runs/{run}/finish"), &end)?;
    let answered = begun.elapsed().as_secs_f64();
    if ended["deleted"].as_u64() != Some(count as u64) {
        return Err(format!("the end deleted other records: {ended}").into());
    }
    let took = pushed.delivered(begun, 0)?;
    let cpu = (tree::cpu(pushed.service.pid()) - before) * 1e6 / count as f64;
    pushed.close(bench)?;
    let line = |what, value, unit, goal| Line {
        work: format!("end of a delta run with {} obsolete records, to `null`, {name}", thousands(count)),
        ours: format!("{took:.1} s until all are gone, CPU {cpu:.1} µs a record"),
        beside: "–".to_owned(),
        what,
        value,
        unit,
        goal,
    };
    let least = if is_postgres { 10_000.0 } else { 40_000.0 };
    Ok(vec![
        line("removals/s", count as f64 / took, "", Goal::Least(least)),
        line("answer of the end", answered * 1e3, "ms", Goal::Most(50.0)),
    ])
}

/// What channels that rest keep, and what waits.
fn memory(bench: &Bench) -> Result<Vec<Line>> {
    let (channels, waiting) = (bench.size(10_000), bench.size(1_000_000));
    let mut pushed = Pushed::open(bench, None, "null")?;
    pushed.client.change("POST", "/jobs/records/pause", &json!({}))?;
    let facts = |pushed: &Pushed| -> BTreeMap<&'static str, f64> {
        let pid = pushed.service.pid();
        let threads = std::fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count);
        let resident = tree::mebibytes(pid, "VmRSS").unwrap_or(f64::NAN);
        BTreeMap::from([("memory", resident), ("threads", threads as f64)])
    };
    let before = facts(&pushed);
    for number in 0..channels {
        let channel =
            json!({"source": "records", "client": format!("client {number}"), "lease_seconds": 3_600});
        pushed.client.change("POST", "/channels", &channel)?;
    }
    // Beyond the time after which leases and reports are looked at.
    pause(Duration::from_secs(if bench.small { 1 } else { 10 }));
    let cpu = tree::cpu(pushed.service.pid());
    pause(Duration::from_secs(if bench.small { 1 } else { 10 }));
    let cpu = (tree::cpu(pushed.service.pid()) - cpu) * if bench.small { 100.0 } else { 10.0 };
    let rest = facts(&pushed);
    pushed.close(bench)?;
    let mut pushed = Pushed::open(bench, None, "null")?;
    pushed.client.change("POST", "/jobs/records/pause", &json!({}))?;
    pushed.fill(waiting, 16)?;
    let held = tree::mebibytes(pushed.service.pid(), "VmHWM").unwrap_or(f64::NAN);
    pushed.close(bench)?;
    let line = |work: String, ours: String, value, most| Line {
        work,
        ours,
        beside: "–".to_owned(),
        what: "memory",
        value,
        unit: "MiB",
        goal: Goal::Most(most),
    };
    let channels_work = format!("{} channels that rest, SQLite", thousands(channels));
    let threads =
        format!("{:.0} threads more; CPU {cpu:.1} % of a core", rest["threads"] - before["threads"]);
    Ok(vec![
        line(channels_work, threads, rest["memory"] - before["memory"], 100.0),
        line(
            format!("{} records that wait, SQLite", thousands(waiting)),
            "at most, whole service".to_owned(),
            held,
            300.0,
        ),
    ])
}

/// All of it.
pub(super) fn measure(bench: &Bench) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    for (name, store) in stores(bench)? {
        let store = (name, (store != "-").then_some(store.as_str()));
        for list in [1, 100] {
            lines.extend(accepts(bench, store, list)?);
        }
        for (output, most) in [("null", 50.0), ("index", 600.0)] {
            lines.push(steady(bench, store, output, most)?);
        }
        lines.extend(delta(bench, store)?);
    }
    lines.extend(memory(bench)?);
    Ok(lines)
}
