//! Events that are pending: who holds them, since when, and a person who frees one that its owner has forgotten.

use ingather_model::limits;
use ingather_store::events as stored;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::context::{Caller, Context};
use crate::operation::{Answering, Effect, Operation, Rest, Role, Shape, Verb, Words};
use crate::problem::{Code, Problem, Result};

const EVENTS: &str = r#"{"events": [{"name": "connection:web:login:example.org", "job": "docs",
    "document": "https://example.org/start", "taken_at": 1767225600000, "age_ms": 4000, "waiting": 31}]}"#;

/// Events that are pending.
pub static LIST: Answering<ListEvents, EventList> = Answering {
    operation: Operation {
        name: "events.list",
        summary: "Events that documents wait for: which visit holds each of them, since when, and how many documents wait; the oldest first.",
        request: Shape::of::<ListEvents>("ListEvents", &["{}"]),
        item: None,
        answer: Shape::of::<EventList>("EventList", &[EVENTS]),
        role: Role::Operator,
        effect: Effect::Reads,
        rest: Rest::At(Verb::Get, "/events"),
        words: Words::Are("event list"),
        tool: false,
        problems: &[],
    },
    run: list,
};

/// Frees an event.
pub static FREE: Answering<FreeEvent, FreedEvent> = Answering {
    operation: Operation {
        name: "events.free",
        summary: "Completes an event that its owner has forgotten: what waits for it is visited. While its owner is still at work, two visits do what one was to do.",
        request: Shape::of::<FreeEvent>("FreeEvent", &[r#"{"name": "connection:web:login:example.org"}"#]),
        item: None,
        answer: Shape::of::<FreedEvent>("FreedEvent", &[r#"{"name": "connection:web:login:example.org"}"#]),
        role: Role::Operator,
        effect: Effect::Changes,
        rest: Rest::At(Verb::Delete, "/events/{name}"),
        words: Words::Are("event free"),
        tool: false,
        problems: &[Code::NoSuchEvent],
    },
    run: free,
};

/// Asks for events.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListEvents {}

/// Events that are pending, the oldest first; of very many the oldest ones.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct EventList {
    /// The events.
    pub events: Vec<PendingEvent>,
}

/// An event that is pending.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PendingEvent {
    /// Its name: `global:…`, `connection:NAME:…` or `job:NAME:…`.
    pub name: String,
    /// Name of the job that began it; empty where that is gone.
    pub job: String,
    /// Name of the document whose visit began it; empty where that is gone.
    pub document: String,
    /// When, milliseconds since 1970 UTC.
    pub taken_at: i64,
    /// How long ago, milliseconds.
    pub age_ms: i64,
    /// How many documents wait for it.
    pub waiting: u64,
}

/// Asks to free an event.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FreeEvent {
    /// Its name.
    pub name: String,
}

/// It is not pending any more.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FreedEvent {
    /// Its name.
    pub name: String,
}

fn list(context: &Context<'_>, _: &Caller<'_>, _: ListEvents) -> Result<EventList> {
    let Some(reader) = context.host.reader()? else { return Ok(EventList { events: Vec::new() }) };
    let found = reader.read(|sql| stored::list(sql, limits::EVENTS_SHOWN_MAX))?;
    let now = context.now();
    let event = |one: stored::Pending| {
        let stored::Pending { name, job, document, taken_at, waiting } = one;
        PendingEvent { name, job, document, taken_at, age_ms: (now - taken_at).max(0), waiting }
    };
    Ok(EventList { events: found.into_iter().map(event).collect() })
}

fn free(context: &Context<'_>, _: &Caller<'_>, request: FreeEvent) -> Result<FreedEvent> {
    let FreeEvent { name } = request;
    let reader = context.existing()?;
    let writing = context.host.write_beside("event free")?;
    match context.engine(reader, Some(&writing), &[]).free_event(&name)? {
        true => Ok(FreedEvent { name }),
        false => {
            let shown: String = name.chars().take(limits::EVENT_NAME_BYTES_MAX).collect();
            let sentence =
                format!("no event `{shown}` is pending; `ingather event list` names those that are");
            Err(Problem::new(Code::NoSuchEvent, sentence))
        }
    }
}
