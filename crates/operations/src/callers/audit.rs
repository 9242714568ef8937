//! Changes that a service was asked for: who asked, and what became of it. What the owner of the data directory does by the command
//! line is not among them.

use ingather_store::audit as stored;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::access::people;
use crate::context::{Caller, Context};
use crate::operation::{Answering, Effect, Operation, Rest, Role, Shape, Verb, Words};
use crate::page;
use crate::problem::Result;

const CHANGES: &str = r#"{"changes": [{"number": 12, "at": 1767225600000, "caller": "key ann", "operation": "jobs.start",
    "job": "share", "api_key": "", "person": "", "outcome": "done"}, {"number": 11, "at": 1767225600000, "caller": "user 0",
    "operation": "api_keys.create", "job": "", "api_key": "ann", "person": "", "outcome": "done"}], "next": "0a1b2c3d3132"}"#;

/// What the names of operations about API keys begin with.
const OF_API_KEYS: &str = "api_keys.";
/// And those about people who are pushed.
const OF_PEOPLE: &str = "people.";
/// Characters of a name that are put on record.
const ABOUT_MAX: usize = 200;

/// Changes that a service was asked for, the latest first.
pub static LIST: Answering<ListChanges, ChangeList> = Answering {
    operation: Operation {
        name: "audit.list",
        summary: "Changes that a service was asked for, the latest first.",
        request: Shape::of::<ListChanges>("ListChanges", &[r#"{"limit": 20}"#]),
        item: None,
        answer: Shape::of::<ChangeList>("ChangeList", &[CHANGES]),
        role: Role::Admin,
        effect: Effect::Reads,
        rest: Rest::At(Verb::Get, "/audit"),
        words: Words::Are("audit"),
        tool: false,
        problems: &[],
    },
    run: list,
};

/// Asks for changes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListChanges {
    /// Changes at most; a page has a bound of its own.
    #[serde(default = "page::size")]
    pub limit: u32,
    /// Where to begin: `next` of the page before.
    #[serde(default)]
    pub cursor: Option<String>,
}

/// Changes, the latest first; a line each where lines are wanted.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ChangeList {
    /// The changes.
    pub changes: Vec<Change>,
    /// Cursor of the next page; none at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A change that a service was asked for.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// Its number.
    pub number: i64,
    /// When it was asked for, milliseconds since 1970 UTC.
    pub at: i64,
    /// Who asked: `key` and the name of an API key, or `user` and the number of a user of this machine.
    pub caller: String,
    /// Name of the operation.
    pub operation: String,
    /// The job that it is about; empty where it is about none.
    pub job: String,
    /// The API key that it is about; empty where it is about none.
    #[serde(default)]
    pub api_key: String,
    /// Who was pushed: the authority, `users` or `groups`, and the id, or the name of somebody new; empty where it is about nobody.
    #[serde(default)]
    pub person: String,
    /// `begun`, `done`, or the code of the problem. One that stays `begun` was cut off by the end of the program.
    pub outcome: String,
}

fn list(context: &Context<'_>, _: &Caller<'_>, request: ListChanges) -> Result<ChangeList> {
    let of = [LIST.operation.name];
    let before = page::number(&of, request.cursor.as_deref())?.unwrap_or(i64::MAX);
    let Some(reader) = context.host.reader()? else {
        return Ok(ChangeList { changes: Vec::new(), next: None });
    };
    let length = page::length(request.limit);
    let mut found = reader.read(|sql| stored::list(sql, before, length + 1))?;
    let more = found.len() > length;
    found.truncate(length);
    let next = found.last().filter(|_| more).map(|last| page::cursor(&of, &last.number.to_string()));
    let change = |one: stored::Change| {
        let none = String::new;
        let (job, api_key, person) = match one.operation.as_str() {
            of if of.starts_with(OF_API_KEYS) => (none(), one.about, none()),
            of if of.starts_with(OF_PEOPLE) => (none(), none(), one.about),
            _ => (one.about, none(), none()),
        };
        let stored::Change { number, at, caller, operation, outcome, .. } = one;
        Change { number, at, caller, operation, job, api_key, person, outcome }
    };
    Ok(ChangeList { changes: found.into_iter().map(change).collect(), next })
}

/// What a change is about, by its request: the name of a job, of a source or of an API key, somebody who is pushed, the root of a job that gets its name from it, or nothing that
/// has a name.
pub(crate) fn about(operation: &str, request: &Value) -> String {
    if operation.starts_with(OF_PEOPLE) {
        return people::about(request).chars().take(ABOUT_MAX).collect();
    }
    let fields =
        if operation.starts_with(OF_API_KEYS) { &["name"][..] } else { &["job", "name", "root", "source"] };
    let named = fields.iter().find_map(|field| request.get(field)?.as_str()).unwrap_or_default();
    // Whoever asks may have made one up.
    named.chars().take(ABOUT_MAX).collect()
}
