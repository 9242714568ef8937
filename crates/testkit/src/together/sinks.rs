//! A client that pushes through a channel with a sink, which takes, refuses or loses what it is told, while the process dies where it is told to: here once, for the engine's tests and for
//! the planted faults.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ingather_contract::call::CallContext;
use ingather_contract::inbox::About;
use ingather_contract::sink::{Message, Sender, Unheard};
use ingather_engine::inbox::channels::BY_CLIENT;
use ingather_engine::inbox::{Accepted, Ask, Push, Put, Through};
use ingather_engine::{EngineError, Options, Refusal};
use ingather_model::job::{Definition, RunKind};
use ingather_model::lifecycle::channel::State;
use ingather_store::documents::inbox::channels::{NewChannel, NewSink};
use ingather_store::documents::inbox::prepared;
use serde_json::Value;

use super::definition;
use super::pushing::{self, PUSHED};
use crate::database::Kind;
use crate::world::{FULL, World};

/// A pass over what was asked for.
const PASS: Options = Options { kind: RunKind::Minimal, is_pass: true, ..FULL };
/// What is pushed.
const KEYS: [&str; 2] = ["a", "b"];

/// What a sink does with what it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Says {
    /// It takes it.
    Yes,
    /// It does not.
    No,
    /// It takes it, and nobody hears that.
    Nothing,
}

/// A sink.
struct Sink(Mutex<Heard>);

struct Heard {
    /// What it does with what is being queued; it takes all else.
    says: Says,
    /// What it has, in the order in which it came.
    reports: Vec<Value>,
}

impl Sink {
    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Different reports of a kind, by ticket.
    fn by_ticket(&self, kind: &str) -> BTreeMap<i64, BTreeSet<String>> {
        let mut found: BTreeMap<i64, BTreeSet<String>> = BTreeMap::new();
        for report in self.heard().reports.iter().filter(|report| report["kind"] == kind) {
            let (ticket, id) = (report["ticket"].as_i64(), report["id"].as_str());
            found.entry(ticket.unwrap_or_default()).or_default().insert(id.unwrap_or_default().to_owned());
        }
        found
    }
}

impl Sender for Sink {
    fn send(&self, _: &CallContext, message: &Message<'_>) -> Result<(), Unheard> {
        let body: Value = serde_json::from_str(message.body).expect("a message is JSON");
        let reports = body["reports"].as_array().cloned().unwrap_or_default();
        let mut heard = self.heard();
        let is_queued = reports.iter().any(|report| report["kind"] == "queued");
        let says = if is_queued { heard.says } else { Says::Yes };
        if says == Says::No {
            return Err(Unheard::Refused("the sink says no".to_owned()));
        }
        heard.reports.extend(reports);
        match says {
            Says::Nothing => Err(Unheard::Lost("the sink says nothing".to_owned())),
            _ => Ok(()),
        }
    }
}

/// What came of it.
#[derive(Debug)]
pub struct Told {
    /// What is wrong, in words; nothing where all is well.
    pub wrong: Vec<String>,
    /// Whether the process died.
    pub died: bool,
}

/// Pushes through a channel whose sink says this of what is being queued; the process dies where `dies` says, and another one goes on.
///
/// # Panics
/// When the world cannot be made.
pub fn told(kind: Kind, says: Says, dies: Option<(&str, u64)>) -> Told {
    let mut world = source(kind);
    let sink = Arc::new(Sink(Mutex::new(Heard { says: Says::Yes, reports: Vec::new() })));
    world.engine().process.report_by(sink.clone());
    let new = NewChannel {
        client: "client",
        opened_by: "a test",
        is_sync: false,
        lease_ms: 86_400_000,
        throttle_ms: 600_000,
        open_max: 100,
        tells_retries: false,
        sink: Some(NewSink { url: "https://sink.example/1", secret: "narwhals sing at night", ms: 600_000 }),
    };
    let job = world.find("docs").expect("it is there");
    let channel = world.engine().open_channel(&job, new).expect("a channel is opened");
    sink.heard().says = says;
    if let Some((point, nth)) = dies {
        world.crash.arm(point, nth);
    }
    let through = Through { run: None, channel: Some(channel) };
    let pushed = world.engine().accept(&job, through, KEYS.map(push).into());
    let mut ended = go_on(&world, channel);
    let died = world.crash.dead();
    if died {
        world.reopen();
        world.engine().process.report_by(sink.clone());
        ended = go_on(&world, channel);
    }
    let mut wrong = judge(&world, &sink, channel);
    if let Err(error) = ended {
        wrong.push(format!("it does not come to its end: {error}"));
    }
    if !died {
        wrong.extend(answered(&sink, says, &pushed));
    }
    Told { wrong, died }
}

/// A record whose text is its key.
pub fn push(key: &str) -> Push {
    let put = Put {
        hash: None,
        acl: None,
        about: About { title: key.to_owned(), ..About::default() },
        content: key.as_bytes().to_vec(),
        file: None,
        if_changed: false,
        is_compound: false,
        parents: Vec::new(),
    };
    Push { key: key.to_owned(), ask: Ask::Put(Box::new(put)), user_ref: None, version: None }
}

/// The source `docs`, whose reports may be sent to `https://sink.example/`.
fn source(kind: Kind) -> World {
    let mut world = World::new(kind);
    world.output("one", "memory");
    pushing::connect(&world);
    let source = serde_json::json!({"root": "push:docs", "access": ["everybody"], "webhooks": ["https://sink.example/"]});
    let made = definition(&world, "docs", "", &["one"]);
    world.job(Definition { repository: PUSHED.to_owned(), source, ..made });
    world
}

/// What a service does until a channel is over and its sink has everything.
fn go_on(world: &World, channel: i64) -> Result<(), EngineError> {
    let engine = world.engine();
    engine.tend_channels(false)?;
    world.run("docs", PASS)?;
    engine.terminate_channel(channel, BY_CLIENT)?;
    loop {
        let (due, _) = engine.sinks_due()?;
        if due.is_empty() {
            return Ok(());
        }
        due.into_iter().try_for_each(|channel| engine.send_reports(channel))?;
    }
}

/// What is wrong in the end, whatever happened.
fn judge(world: &World, sink: &Sink, channel: i64) -> Vec<String> {
    let mut wrong = Vec::new();
    let completed = sink.by_ticket("completed");
    for ticket in sink.by_ticket("queued").keys() {
        let reports = completed.get(ticket).map_or(0, BTreeSet::len);
        if reports != 1 {
            wrong.push(format!("ticket {ticket} was queued, and completed by {reports} reports"));
        }
    }
    let queued: BTreeSet<String> = {
        let heard = sink.heard();
        let queued = heard.reports.iter().filter(|report| report["kind"] == "queued");
        queued.filter_map(|report| report["key"].as_str().map(str::to_owned)).collect()
    };
    for name in world.entries("one").into_keys() {
        if !queued.iter().any(|key| name.ends_with(&format!("/{key}"))) {
            wrong.push(format!("{name} is in the output, and nobody was told that it is queued"));
        }
    }
    let engine = world.engine();
    let found = engine.channel(channel).ok().flatten();
    let is_over = found.as_ref().is_some_and(|found| {
        let delivered = found.sink.as_ref().map(|sink| sink.delivered);
        found.state == State::Terminated && delivered == Some(found.serial)
    });
    let last = sink.heard().reports.last().map(|report| report["word"].clone());
    if !is_over || last != Some("terminated".into()) {
        wrong.push(format!("the channel is not over, or its sink has not heard so: {found:?}"));
    }
    match engine.reader.read(prepared::calls) {
        Ok(calls) if calls.is_empty() => {}
        other => wrong.push(format!("calls are left: {other:?}")),
    }
    wrong
}

/// What is wrong of the answer to the client where nothing died.
fn answered(sink: &Sink, says: Says, pushed: &Result<Vec<Accepted>, EngineError>) -> Vec<String> {
    let is_refused = matches!(pushed, Err(EngineError::Refused { refusal: Refusal::NotReported, .. }));
    let is_right = match says {
        Says::Yes => pushed.as_ref().is_ok_and(|accepted| accepted.len() == KEYS.len()),
        Says::No => is_refused && sink.by_ticket("completed").is_empty(),
        Says::Nothing => {
            let heard = sink.heard();
            let completed = heard.reports.iter().filter(|report| report["kind"] == "completed");
            is_refused && completed.filter(|report| report["code"] == "queue_aborted").count() == KEYS.len()
        }
    };
    if is_right { Vec::new() } else { vec![format!("{says:?} came to {pushed:?}")] }
}
