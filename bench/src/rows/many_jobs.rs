//! A service with two thousand jobs: what it costs while nothing happens, and how soon it answers while a hundred of them list again and
//! again.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::thousands;
use crate::measure::{Line as Command, pause, run};
use crate::page::{Goal, Line};
use crate::service::{Client, Service, tree};
use crate::{Bench, Result};

const DATA: &str = "many";
/// Files of a job that lists without pause, in folders of a hundred; the others have one.
const FILES: usize = 1_000;
/// Threads that begin runs again.
const STARTERS: usize = 4;
/// How long an idle service is looked at: its schedules are looked at once a minute.
const IDLE: Duration = Duration::from_secs(120);

/// The jobs and their sources.
struct Jobs {
    root: PathBuf,
    all: usize,
    busy: usize,
}

impl Jobs {
    /// Defines them all. Those that are not busy have a schedule that is far away.
    fn define(bench: &Bench) -> Result<Jobs> {
        let jobs = Jobs { root: bench.path("sources"), all: bench.size(2_000), busy: bench.size(100) };
        let mut declared = Vec::new();
        for number in 0..jobs.all {
            let root = jobs.root.join(name(number));
            let is_busy = number < jobs.busy;
            for file in 0..if is_busy { FILES } else { 1 } {
                let folder = root.join(format!("part-{:02}", file / 100));
                std::fs::create_dir_all(&folder)?;
                let text = crate::trees::text((number * FILES + file) as u64, 256);
                std::fs::write(folder.join(format!("file-{file:04}.txt")), text)?;
            }
            let mut job = json!({
                "name": name(number), "repository": "files", "source": {"root": root},
                "stages": [{"transform": "text", "settings": {}}], "outputs": ["index"],
                "delete_guard": {"limits": {"percent": 10, "documents": 20}}, "compare_content": false,
            });
            if !is_busy {
                job["schedule"] = json!([{"months": [1], "days_of_month": [1], "hours": [number % 24],
                    "years": [2999], "time_zone": "Europe/Berlin"}]);
            }
            declared.push(job);
        }
        let declaration = json!({"version": 1, "repositories": {"files": {"kind": "filesystem", "settings": {}}},
            "outputs": {"index": {"kind": "index", "settings": {}}}, "jobs": declared});
        let file = bench.path("many.json");
        std::fs::write(&file, declaration.to_string())?;
        let apply = Command::new(&bench.program).and(["--data"]).and([bench.path(DATA)]);
        run(&apply.and(["apply", "-f"]).and([&file]))?;
        Ok(jobs)
    }

    fn clear(bench: &Bench) -> Result<()> {
        for name in ["sources", DATA] {
            std::fs::remove_dir_all(bench.path(name))?;
        }
        Ok(())
    }
}

fn name(number: usize) -> String {
    format!("job-{number:04}")
}

/// Nothing happens.
pub(super) fn idle(bench: &Bench) -> Result<Vec<Line>> {
    let jobs = Jobs::define(bench)?;
    let service = Service::start(bench, DATA, None, &[])?;
    service.client()?.get("/jobs")?;
    pause(Duration::from_secs(2));
    let length = if bench.small { Duration::from_secs(1) } else { IDLE };
    let before = tree::cpu(service.pid());
    pause(length);
    let share = (tree::cpu(service.pid()) - before) / length.as_secs_f64() * 100.0;
    let memory = |name| tree::mebibytes(service.pid(), name).unwrap_or(f64::NAN);
    let resident = memory("VmRSS");
    let line = |what, value, unit, most| Line {
        work: format!(
            "idle `serve`, {} jobs defined, {} of them with schedules, {} s",
            thousands(jobs.all),
            thousands(jobs.all - jobs.busy),
            length.as_secs()
        ),
        ours: format!(
            "CPU {share:.3} % of a core, {resident:.0} MiB, of which anonymous {:.0}",
            memory("RssAnon")
        ),
        beside: "–".to_owned(),
        what,
        value,
        unit,
        goal: Goal::Most(most),
    };
    let lines = vec![line("CPU", share, "% of a core", 0.1), line("memory", resident, "MiB", 100.0)];
    drop(service);
    Jobs::clear(bench)?;
    Ok(lines)
}

/// Jobs whose run is to begin.
struct Wanted {
    sender: Mutex<Sender<String>>,
    receiver: Mutex<Receiver<String>>,
}

impl Wanted {
    fn new() -> Wanted {
        let (sender, receiver) = channel();
        Wanted { sender: Mutex::new(sender), receiver: Mutex::new(receiver) }
    }

    fn add(&self, job: String) {
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        // The other end is beside this one.
        let _ = sender.send(job);
    }

    fn take(&self) -> Option<String> {
        let receiver = self.receiver.lock().unwrap_or_else(PoisonError::into_inner);
        receiver.recv_timeout(Duration::from_millis(50)).ok()
    }
}

/// What goes on while answers are measured.
#[derive(Default)]
struct Load {
    is_over: AtomicBool,
    runs: AtomicUsize,
    refused: AtomicUsize,
}

/// Begins runs until it is over; one that is refused for another reason than that it works is asked for again.
fn begin_again(mut client: Client, wanted: &Wanted, load: &Load) -> std::result::Result<(), String> {
    while !load.is_over.load(Ordering::Relaxed) {
        let Some(job) = wanted.take() else { continue };
        let answer = client.ask("POST", &format!("/jobs/{job}/start"), Some(&json!({})));
        let answer = answer.map_err(|error| error.to_string())?;
        match answer.status {
            200 => {}
            // Its end is told.
            409 if answer.body["code"] == "running" => {}
            409 | 503 => {
                load.refused.fetch_add(1, Ordering::Relaxed);
                pause(Duration::from_millis(5));
                wanted.add(job);
            }
            status => return Err(format!("start of {job}: {status} {}", answer.body)),
        }
    }
    Ok(())
}

/// What a person asks for, with the figures of each.
struct Asked {
    milliseconds: BTreeMap<&'static str, Vec<f64>>,
    memory: f64,
    /// Starts that were told that as many runs are under way as may be.
    refused: usize,
}

impl Asked {
    fn time(&mut self, what: &'static str, client: &mut Client, verb: &str, path: &str) -> Result<Value> {
        let begun = Instant::now();
        let answer = client.ask(verb, path, (verb == "POST").then_some(&json!({})))?;
        self.milliseconds.entry(what).or_default().push(begun.elapsed().as_secs_f64() * 1_000.0);
        match answer.status {
            200 => Ok(answer.body),
            409 if answer.body["code"] == "running" => Ok(Value::Null),
            503 if answer.body["code"] == "busy" => {
                self.refused += 1;
                Ok(Value::Null)
            }
            _ => Err(format!("{verb} {path}: {}", answer.body).into()),
        }
    }
}

/// Asks for each thing in turn.
fn ask_all(service: &Service, jobs: &Jobs, rounds: usize, wanted: &Wanted) -> Result<Asked> {
    let mut client = service.client()?;
    let mut asked = Asked { milliseconds: BTreeMap::new(), memory: 0.0, refused: 0 };
    for round in 0..rounds {
        let busy = name(round % jobs.busy);
        let still = name(jobs.busy + round % (jobs.all - jobs.busy));
        asked.time("list", &mut client, "GET", "/jobs")?;
        asked.time("show", &mut client, "GET", &format!("/jobs/{busy}"))?;
        asked.time("search", &mut client, "GET", "/search?query=other+people&limit=10&all=true")?;
        asked.time("start", &mut client, "POST", &format!("/jobs/{still}/start"))?;
        asked.time("pause", &mut client, "POST", &format!("/jobs/{busy}/pause"))?;
        asked.time("resume", &mut client, "POST", &format!("/jobs/{busy}/resume"))?;
        asked.time("abort", &mut client, "POST", &format!("/jobs/{busy}/abort"))?;
        // It may have been at rest, so that no end of it is told.
        wanted.add(busy);
        let memory = tree::mebibytes(service.pid(), "RssAnon").unwrap_or(f64::NAN);
        asked.memory = asked.memory.max(memory);
    }
    Ok(asked)
}

/// The longest transactions that `/metrics` tells of: of all, those over the bound, and the longest in milliseconds.
fn writes(client: &mut Client) -> Result<(f64, f64, f64)> {
    let text = client.text("/metrics")?;
    let figure = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.and_then(|value| value.trim().parse::<f64>().ok()).ok_or_else(|| format!("no {name}"))
    };
    Ok((
        figure("ingather_store_writes_total")?,
        figure("ingather_store_slow_writes_total")?,
        figure("ingather_store_longest_write_seconds")? * 1_000.0,
    ))
}

/// Asks while the load goes on.
fn measured(bench: &Bench, service: &Service, jobs: &Jobs, (wanted, load): (&Wanted, &Load)) -> Result<Told> {
    let (rounds, warm) =
        if bench.small { (3, Duration::from_millis(100)) } else { (1_000, Duration::from_secs(5)) };
    pause(warm);
    // Each on a connection of its own: one that rests is closed.
    let before = writes(&mut service.client()?)?;
    let (begun, cpu, runs) = (Instant::now(), tree::cpu(service.pid()), load.runs.load(Ordering::Relaxed));
    let asked = ask_all(service, jobs, rounds, wanted)?;
    let seconds = begun.elapsed().as_secs_f64();
    let cores = (tree::cpu(service.pid()) - cpu) / seconds;
    let each = (load.runs.load(Ordering::Relaxed) - runs) as f64 / seconds;
    Ok((asked, cores, each, before, writes(&mut service.client()?)?))
}

/// A hundred jobs list without pause, and somebody asks.
pub(super) fn busy(bench: &Bench) -> Result<Vec<Line>> {
    let jobs = Jobs::define(bench)?;
    let first = Service::start(bench, DATA, None, &[])?;
    let mut client = first.client()?;
    for number in 0..jobs.busy {
        client.runs(&name(number))?;
    }
    // What first runs leave in memory is no part of it.
    drop(first);
    let service = Service::start(bench, DATA, None, &["--searches-per-second", "1000"])?;
    let mut client = service.client()?;
    let (wanted, load) = (Wanted::new(), Load::default());
    let ended = service.ended()?;
    let told = std::thread::scope(|scope| -> Result<_> {
        let (wanted, load) = (&wanted, &load);
        scope.spawn(move || {
            for job in ended.take_while(|_| !load.is_over.load(Ordering::Relaxed)) {
                load.runs.fetch_add(1, Ordering::Relaxed);
                if (0..jobs.busy).any(|number| name(number) == job) {
                    wanted.add(job);
                }
            }
        });
        let clients = (0..STARTERS).map(|_| service.client()).collect::<Result<Vec<_>>>()?;
        let starters: Vec<_> = clients
            .into_iter()
            .map(|client| scope.spawn(move || begin_again(client, wanted, load)))
            .collect();
        (0..jobs.busy).for_each(|number| wanted.add(name(number)));
        let told = measured(bench, &service, &jobs, (wanted, load));
        load.is_over.store(true, Ordering::Relaxed);
        for starter in starters {
            starter.join().map_err(|_| "a thread that begins runs died")??;
        }
        // A last end, which the stream tells and so ends; there is room for it once others have ended.
        let last = format!("/jobs/{}/start", name(jobs.all - 1));
        while client.ask("POST", &last, Some(&json!({})))?.status != 200 {
            pause(Duration::from_millis(5));
        }
        told
    });
    drop(service);
    let lines = lines_of(&jobs, &load, told?);
    Jobs::clear(bench)?;
    Ok(lines)
}

type Told = (Asked, f64, f64, (f64, f64, f64), (f64, f64, f64));

fn lines_of(jobs: &Jobs, load: &Load, (asked, cores, each, before, after): Told) -> Vec<Line> {
    let (written, slow) = (after.0 - before.0, after.1 - before.1);
    let ours = format!(
        "{each:.0} runs/s with {cores:.2} cores; {} starts of the load and {} that were measured refused for want of room; {written:.0} write transactions, longest {:.1} ms",
        load.refused.load(Ordering::Relaxed),
        asked.refused,
        after.2
    );
    let line = |what, value, unit, most, beside| Line {
        work: format!(
            "{} of {} jobs list {FILES} files each without pause, `serve`, SQLite, output `index`, once",
            jobs.busy,
            thousands(jobs.all)
        ),
        ours: ours.clone(),
        beside,
        what,
        value,
        unit,
        goal: Goal::Most(most),
    };
    let mut lines = Vec::new();
    for (what, mut figures) in asked.milliseconds {
        figures.sort_by(f64::total_cmp);
        let at = |share: f64| figures[((figures.len() as f64 * share) as usize).min(figures.len() - 1)];
        let title = match what {
            "list" => "list, p99",
            "show" => "show, p99",
            "search" => "search, p99",
            "start" => "start, p99",
            "pause" => "pause, p99",
            "resume" => "resume, p99",
            _ => "abort, p99",
        };
        let beside = format!("its p50 {:.1} ms, longest {:.1} ms", at(0.5), at(1.0));
        lines.push(line(title, at(0.99), "ms", 50.0, beside));
    }
    lines.push(line(
        "write transactions over 20 ms",
        slow / written.max(1.0) * 100.0,
        "%",
        0.0,
        "–".to_owned(),
    ));
    lines.push(line("anonymous memory", asked.memory, "MiB", 300.0, "–".to_owned()));
    lines
}
