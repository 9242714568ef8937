//! The authority against a real PostgreSQL (`scripts/postgres.sh`), and against what is none.

mod answers;
mod failing;
mod names;
mod queries;
mod servers;

use std::sync::Arc;
use std::time::Duration;

use ingather_contract::authority::{Account, Answer, Authority};
use ingather_contract::call::{CallContext, Cancel, Clock};
use ingather_model::fault::Fault;
use ingather_testkit::database::{Database, Kind};
use serde_json::{Value, json};

struct Still;

impl Clock for Still {
    fn now(&self) -> i64 {
        0
    }
}

fn call() -> CallContext {
    CallContext { clock: Arc::new(Still), cancel: Cancel::default() }
}

fn ask(authority: &dyn Authority, name: &str) -> Result<Answer, Fault> {
    ask_within(authority, name, Duration::from_secs(30))
}

fn ask_within(authority: &dyn Authority, name: &str, within: Duration) -> Result<Answer, Fault> {
    authority.tokens(&call(), &Account { name, presented: None, within })
}

fn opened(settings: &Value) -> Arc<dyn Authority> {
    super::open(settings, None).unwrap()
}

/// Tokens in order, and whether the answer is whole.
fn held(answer: Result<Answer, Fault>) -> (Vec<String>, bool) {
    let Ok(Answer::Known(tokens)) = answer else { panic!("{answer:?}") };
    let mut all: Vec<String> = tokens.iter().map(str::to_owned).collect();
    all.sort();
    (all, tokens.are_whole())
}

/// Tokens in order, where the answer is whole.
fn whole(answer: Result<Answer, Fault>) -> Vec<String> {
    let (all, whole) = held(answer);
    assert!(whole, "{all:?}");
    all
}

/// Tokens in order of an answer that is not whole.
fn in_part(answer: Result<Answer, Fault>) -> Vec<String> {
    let (all, whole) = held(answer);
    assert!(!whole, "{all:?}");
    all
}

fn fault(answer: Result<Answer, Fault>) -> String {
    answer.unwrap_err().reason().message
}

/// Ann in `staff`, which is in `all`; Bob in nothing; Dan, who has left.
const FEW: &str = "
    CREATE TABLE people (name text PRIMARY KEY, active boolean NOT NULL);
    CREATE TABLE groups (name text PRIMARY KEY);
    CREATE TABLE members (member text NOT NULL, of text NOT NULL);
    INSERT INTO people VALUES ('ann', true), ('bob', true), ('dan', false);
    INSERT INTO groups VALUES ('staff'), ('all');
    INSERT INTO members VALUES ('ann', 'staff'), ('dan', 'staff'), ('staff', 'all');";
const PERSON: &str = "SELECT name, active FROM public.people WHERE name = $1";
const TOKENS: &str = "
    WITH RECURSIVE held AS (
        SELECT m.of FROM public.members m WHERE m.member = $1
        UNION SELECT m.of FROM public.members m JOIN held ON m.member = held.of)
    SELECT of FROM held";
const ANN: [&str; 3] = ["group:all", "group:staff", "user:ann"];

fn few() -> Database {
    let database = Database::fresh(Kind::Postgres);
    database.script(FEW);
    database
}

fn settings(database: &Database) -> Value {
    json!({"url": database.url(), "person": PERSON, "tokens": TOKENS})
}

/// The same with some fields changed; null takes one out.
fn changed(mut settings: Value, change: &Value) -> Value {
    for (name, value) in change.as_object().unwrap() {
        match value {
            Value::Null => drop(settings.as_object_mut().unwrap().remove(name)),
            value => settings[name] = value.clone(),
        }
    }
    settings
}
