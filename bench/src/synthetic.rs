//! Runs of jobs whose documents are synthetic, in a process of their own, which says what each step took.

mod referring;
pub(crate) mod repository;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ingather_contract::call::{Cancel, Clock};
use ingather_contract::registry::Registry;
use ingather_contract::repository::{HostContext, RepositoryKind};
use ingather_engine::progress::Progress;
use ingather_engine::{Engine, Mode, Options, Process, Report};
use ingather_model::guard::Guard;
use ingather_model::job::hops::Hops;
use ingather_model::job::{ContentBy, Definition, Keep, RunKind, Stage};
use ingather_store::connections::{self, Role};
use ingather_store::jobs::{self, Job};
use ingather_store::leases::{self, Member};
use ingather_store::{Durability, Store, Target};
use nix::sys::resource::{UsageWho, getrusage};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{Result, measure};

static REPOSITORIES: &[&RepositoryKind] =
    &[&repository::REPOSITORY, &repository::REPOSITORY_OF_BINS, &referring::LINKED, &referring::SITE];
/// Threads of a job whose fetches take their time: none of its bins waits for one.
const SLOW_THREADS: usize = 16;

/// The time of this machine.
pub(crate) struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> i64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64)
    }
}

/// Does one step: `run`, `stop` or `delete`; the words after it: data directory, store or `-`, output, source as JSON.
pub(crate) fn run(words: &[&str]) -> Result<()> {
    let &[step, data, store, output, source] = words else {
        return Err("synthetic takes a step, a data directory, a store, an output and a source".into());
    };
    let target = match store {
        "-" => Target::Sqlite(Path::new(data).join("store.db")),
        url => Target::Postgres(url.to_owned()),
    };
    std::fs::create_dir_all(data)?;
    let begun = Instant::now();
    let store = Store::open(&target)?;
    let opened = milliseconds(begun);
    let job = job(&store, output, &serde_json::from_str(source)?)?;
    let mut told = match step {
        "run" => timed(|| Ok(json!({ "added": work(&engine(&store, data)?, &job)?.counts.added })))?,
        "stop" => stop(&store, data, &job)?,
        "delete" => timed(|| {
            let removed = engine(&store, data)?.delete(&job, Arc::default())?;
            Ok(json!({ "deleted": removed.deleted }))
        })?,
        _ => return Err(format!("there is no step {step}").into()),
    };
    told["opened_ms"] = json!(opened);
    println!("{told}");
    Ok(())
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1_000.0
}

fn processor_seconds() -> Result<f64> {
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    Ok(seconds(usage.user_time()) + seconds(usage.system_time()))
}

/// Runs something, and adds what it took to what it says.
fn timed(work: impl FnOnce() -> Result<Value>) -> Result<Value> {
    let (begun, before) = (Instant::now(), processor_seconds()?);
    let mut told = work()?;
    told["seconds"] = json!(begun.elapsed().as_secs_f64());
    told["cpu"] = json!(processor_seconds()? - before);
    Ok(told)
}

fn job(store: &Store, output: &str, source: &Value) -> Result<Job> {
    const NAME: &str = "synthetic";
    // Or one that the program has defined.
    let name = source["job"].as_str().unwrap_or(NAME);
    if let Some(job) = store.reader().read(|sql| jobs::by_name(sql, name))? {
        return Ok(job);
    }
    let now = SystemClock.now();
    let definition = Definition {
        name: NAME.to_owned(),
        repository: NAME.to_owned(),
        source: source.clone(),
        stages: vec![Stage { transform: "text".to_owned(), settings: json!({}), ..Stage::default() }],
        outputs: vec![output.to_owned()],
        routes: std::collections::BTreeMap::new(),
        retired: Vec::new(),
        delete_guard: Guard::default(),
        compare_content: false,
        keep: Keep::Nothing,
        content_by: ContentBy::Read,
        dates: Default::default(),
        priority: ingather_model::job::Priority::default(),
        history: ingather_model::job::history::History::default(),
        notify: Vec::new(),
        hops: source.get("hops").map(Hops::deserialize).transpose()?.unwrap_or_default(),
        schedule: None,
    };
    let id = store.write(Durability::Synced, |sql| {
        // Of each bin one document is fetched at a time.
        let (kind, settings) = match source["fetch_ms"].as_u64() {
            _ if source["links"].is_u64() => (referring::LINKED.name, json!({})),
            Some(_) => {
                let rule = json!({ "bins": ".*", "fetches_at_once": 1 });
                (repository::REPOSITORY_OF_BINS.name, json!({ "throttle": [rule] }))
            }
            None => (repository::REPOSITORY.name, json!({})),
        };
        let connection = connections::find_or_add(sql, Role::Repository, kind, NAME, &settings, now)?;
        jobs::add(sql, connection.id, "/", &definition, now)
    })?;
    Ok(store.reader().read(|sql| jobs::get(sql, id))?.ok_or("the job went away")?)
}

fn engine(store: &Store, data: &str) -> Result<Engine> {
    let now = SystemClock.now();
    let member = Member {
        id: format!("bench-{}-{now}", std::process::id()),
        until: 0,
        pid: i64::from(std::process::id()),
        host: data.to_owned(),
        doing: "bench".to_owned(),
    };
    let lease = store.write(Durability::Synced, |sql| leases::take(sql, &member, now))?;
    let slow = store.reader().read(jobs::list)?.iter().any(|job| job.definition.source["fetch_ms"].is_u64());
    let threads = match slow {
        true => SLOW_THREADS,
        false => std::thread::available_parallelism().map_or(1, usize::from).min(8),
    };
    Ok(Engine {
        reader: store.reader().clone(),
        writer: Some((store.clone(), lease)),
        registry: Registry { repositories: REPOSITORIES, ..ingather_connectors::ALL },
        clock: Arc::new(SystemClock),
        cancel: Cancel::default(),
        data: PathBuf::from(data),
        host: HostContext { own: Vec::new(), threads, ..HostContext::default() },
        process: std::sync::Arc::new(Process::default()),
        asked_by: String::new(),
    })
}

const OPTIONS: Options = Options {
    kind: RunKind::Full,
    mode: Mode::Write,
    guard_off: false,
    accepts_devices: false,
    rereads: false,
    goes_on: false,
    is_pass: false,
};

fn work(engine: &Engine, job: &Job) -> Result<Report> {
    let report = engine.run(job, OPTIONS, Arc::default())?;
    match &report.error {
        None => Ok(report),
        Some(error) => Err(error.clone().into()),
    }
}

/// Starts a run, stops it amid the listing, starts it again: how long each took to take effect.
fn stop(store: &Store, data: &str, job: &Job) -> Result<Value> {
    let mut told = json!({});
    for (started, stopped) in [("start_ms", "stop_ms"), ("restart_ms", "stop_again_ms")] {
        let job = store.reader().read(|sql| jobs::get(sql, job.id))?.ok_or("the job went away")?;
        let engine = engine(store, data)?;
        let progress = Arc::new(Progress::default());
        let (cancel, begun) = (engine.cancel.clone(), Instant::now());
        let (first, cancelled, ended) = std::thread::scope(|scope| {
            let running = scope.spawn(|| {
                let report = engine.run(&job, OPTIONS, progress.clone());
                (Instant::now(), report.map(|_| ()).map_err(|error| error.to_string()))
            });
            let seen = |most: u64| {
                while progress.snapshot().seen < most && !running.is_finished() {
                    measure::pause(Duration::from_micros(200));
                }
                Instant::now()
            };
            let first = seen(1);
            seen(20_000);
            cancel.cancel();
            let cancelled = Instant::now();
            (first, cancelled, running.join())
        });
        let (ended, outcome) = ended.map_err(|_| "the run panicked")?;
        outcome?;
        told[started] = json!((first - begun).as_secs_f64() * 1_000.0);
        told[stopped] = json!((ended - cancelled).as_secs_f64() * 1_000.0);
    }
    Ok(told)
}
