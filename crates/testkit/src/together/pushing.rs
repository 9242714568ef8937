//! Clients that push into a source: the calls of `crates/operations/src/documents/push/work.rs`, in their order, without their words.

use std::sync::Arc;

use ingather_contract::call::Clock as _;
use ingather_contract::inbox::About;
use ingather_engine::inbox::delta_runs::{Check, Checked, Claim, DeltaMode, Finished};
use ingather_engine::inbox::{self, Accepted, Push, Put, Through};
use ingather_engine::{Engine, EngineError};
use ingather_model::access::Acl;
use ingather_model::fault::Reason;
use ingather_store::Durability;
use ingather_store::connections::{self, Role};
use ingather_store::jobs::Job;
use ingather_store::turns::{self, Monitor};

use super::people::{People, Word};
use crate::world::World;

/// What roots of sources begin with that clients push into.
pub const ROOT: &str = "push:";
/// Name of the connection of all of them, and of its kind.
pub const PUSHED: &str = "pushed";

/// One record of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pushed {
    /// Its key.
    pub key: String,
    /// What it is.
    pub is: Is,
    /// What its client counts its versions by.
    pub version: Option<i64>,
}

/// What a client says of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Is {
    /// It is this from now on.
    There(Version),
    /// It is deleted.
    Gone,
    /// What cannot be taken: it stays as it was.
    Bad,
}

/// A record as it was pushed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// Its title, and its content.
    pub text: String,
    /// Who may see it; none: as its source says.
    pub acl: Option<Acl>,
    /// What the client tells its versions by.
    pub hash: Option<String>,
    /// Nothing is asked where it is there so.
    pub if_changed: bool,
}

/// A delta run, as its client knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed {
    /// Its number.
    pub epoch: i64,
    /// What proves that it is this client's.
    pub token: String,
}

/// What a client asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Records are taken.
    Push(Vec<Pushed>),
    /// A delta run begins.
    Open {
        /// It deletes nothing.
        is_additive: bool,
        /// How long it is its client's after a sign of life, milliseconds.
        lease_ms: i64,
        /// What will prove that it is this client's.
        token: String,
    },
    /// Which records have to be pushed, by key and hash.
    Check(Claimed, Vec<(String, Option<String>)>),
    /// Records are taken within a delta run.
    PushWithin(Claimed, Vec<Pushed>),
    /// These are there, and cannot be read.
    Touch(Claimed, Vec<String>),
    /// It is over: whether it was complete, and whether much may go.
    Finish(Claimed, bool, bool),
    /// What it has not met until now is deleted: whether much may go.
    DeleteObsolete(Claimed, bool),
    /// It is given up.
    RollBack(Claimed),
    /// A person takes it away.
    Unlock,
    /// A person makes the source forget what its clients tell versions by.
    Clear,
    /// A service begins.
    Renew,
}

/// A call of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Name of the job of the source.
    pub source: String,
    /// What is asked.
    pub ask: Ask,
}

/// What a call was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answered {
    /// What became of each record that was none of the bad ones.
    Accepted(Vec<Accepted>),
    /// A delta run of this number is open.
    Opened(i64),
    /// What was found of each record.
    Checked(Vec<Checked>),
    /// How it ended, or what it has deleted until now.
    Finished(Finished),
    /// How many records had a hash.
    Cleared(u64),
    /// Whether one was open.
    Unlocked(bool),
    /// It is so.
    Noted,
}

/// A call, with its answer.
#[derive(Debug)]
pub struct Called {
    /// What was asked.
    pub call: Request,
    /// What was answered.
    pub answer: Result<Answered, EngineError>,
    /// The time when it began, and when it was answered.
    pub at: (i64, i64),
}

/// Whether clients push the documents of a job.
pub fn is_pushed(job: &Job) -> bool {
    job.definition.repository == PUSHED
}

/// Adds the connection of all sources that clients push into, where it is not there yet.
///
/// # Panics
/// When the store takes no connection.
pub fn connect(world: &World) {
    let (settings, now) = (serde_json::json!({}), world.clock.now());
    let added = world.store().write(Durability::Synced, |sql| {
        connections::find_or_add(sql, Role::Repository, PUSHED, PUSHED, &settings, now).map(|_| ())
    });
    added.expect("the store takes a connection");
}

/// Makes a call.
pub fn call(world: &World, call: Request) -> Called {
    let begun = world.clock.now();
    let asked = world.known(&call.source).and_then(|job| ask(world.engine(), &job, &call.ask));
    Called { call, answer: asked, at: (begun, world.clock.now()) }
}

fn claim(claimed: &Claimed) -> Claim<'_> {
    Claim { epoch: claimed.epoch, token: &claimed.token }
}

fn ask(engine: &Engine, job: &Job, ask: &Ask) -> Result<Answered, EngineError> {
    match ask {
        Ask::Push(records) => with(records, |pushes| engine.accept(job, Through::default(), pushes)),
        Ask::Open { is_additive, lease_ms, token } => {
            let mode = if *is_additive { DeltaMode::Additive } else { DeltaMode::Full };
            engine.open_delta_run(job, (mode, *lease_ms, None), ("client", token)).map(Answered::Opened)
        }
        Ask::Check(claimed, records) => {
            let checks: Vec<Check<'_>> = records
                .iter()
                .map(|(key, hash)| Check { key, hash: hash.as_deref(), parents: &[], is_shallow: false })
                .collect();
            engine.check(job, claim(claimed), &checks).map(Answered::Checked)
        }
        Ask::PushWithin(claimed, records) => {
            let within = Through { run: Some(claim(claimed)), channel: None };
            with(records, |pushes| engine.accept(job, within, pushes))
        }
        Ask::Touch(claimed, keys) => {
            let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
            engine.touch(job, claim(claimed), &keys).map(|()| Answered::Noted)
        }
        Ask::Finish(claimed, is_complete, confirms) => {
            let how = (*is_complete, *confirms);
            engine.finish_delta_run(job, claim(claimed), how).map(Answered::Finished)
        }
        Ask::DeleteObsolete(claimed, confirms) => {
            engine.delete_obsolete(job, (claim(claimed), None), *confirms).map(Answered::Finished)
        }
        Ask::Clear => engine.clear_source(job).map(Answered::Cleared),
        Ask::RollBack(claimed) => engine.roll_back(job, claim(claimed)).map(|()| Answered::Noted),
        Ask::Unlock => engine.unlock_delta_run(job).map(Answered::Unlocked),
        Ask::Renew => engine.renew_delta_runs().map(|()| Answered::Noted),
    }
}

/// Pushes records; what became of those that can be taken.
fn with(
    records: &[Pushed],
    push: impl FnOnce(Vec<Push>) -> Result<Vec<Accepted>, EngineError>,
) -> Result<Answered, EngineError> {
    let pushes = records.iter().map(|record| {
        let ask = match &record.is {
            Is::Bad => inbox::Ask::Wrong(Reason::new("invalid_record", "it cannot be meant")),
            Is::Gone => inbox::Ask::Delete,
            Is::There(version) => inbox::Ask::Put(Box::new(Put {
                hash: version.hash.clone(),
                acl: version.acl.clone(),
                about: About { title: version.text.clone(), ..About::default() },
                content: version.text.clone().into_bytes(),
                file: None,
                if_changed: version.if_changed,
                is_compound: false,
                parents: Vec::new(),
            })),
        };
        Push { key: record.key.clone(), ask, user_ref: None, version: record.version }
    });
    let taken = push(pushes.collect())?.into_iter().zip(records).filter(|(_, record)| record.is != Is::Bad);
    Ok(Answered::Accepted(taken.map(|(accepted, _)| accepted).collect()))
}

/// Does some work, in the middle of which clients make their calls, at the places that are named with them; what both came to.
///
/// # Panics
/// When the work or a call panics.
pub fn among<T: Send>(
    world: &World,
    words: Vec<Word<Request>>,
    work: impl FnOnce() -> T + Send,
) -> (T, Vec<Called>) {
    let people = Arc::new(People::new(words));
    world.crash.heard_by(Some(people.clone()));
    let (done, called) = (Monitor::new(None), Monitor::new(Vec::new()));
    std::thread::scope(|scope| {
        let speak = |client: String| {
            let (people, called) = (&people, &called);
            let speak = move || {
                while let Some(word) = people.next(&client) {
                    let answered = call(world, word.says);
                    called.lock().push(answered);
                    people.said(&client);
                }
            };
            turns::spawn_scoped(scope, speak).expect("a thread starts")
        };
        let clients: Vec<_> = people.names().into_iter().map(speak).collect();
        let does = || *done.lock() = Some(work());
        turns::spawn_scoped(scope, does).expect("a thread starts").join().expect("the work does not panic");
        people.end();
        clients.into_iter().for_each(|client| client.join().expect("a call does not panic"));
    });
    world.crash.heard_by(None);
    let called = std::mem::take(&mut *called.lock());
    (done.lock().take().expect("the work came to its end"), called)
}
