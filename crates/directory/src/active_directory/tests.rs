//! The authority against a domain by Samba, and against controllers that are broken.

mod answers;
mod entering;
mod failing;
mod scripted;
mod world;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use ingather_contract::authority::{Account, Answer, Authority};
use ingather_contract::call::{CallContext, Cancel};
use ingather_model::fault::Fault;
use ingather_testkit::clock::HandClock;
use ingather_testkit::samba::{ADMIN, DOMAIN, PASSWORD};
use serde_json::{Value, json};

/// The first of January 2026.
const NOW: i64 = 1_767_225_600_000;

fn call_at(now: i64) -> CallContext {
    CallContext { clock: Arc::new(HandClock::at(now)), cancel: Cancel::default() }
}

fn ask_at(authority: &dyn Authority, name: &str, now: i64) -> Result<Answer, Fault> {
    authority.tokens(&call_at(now), &Account { name, presented: None, within: Duration::from_secs(30) })
}

fn ask(authority: &dyn Authority, name: &str) -> Result<Answer, Fault> {
    ask_at(authority, name, NOW)
}

fn opened(settings: &Value) -> Arc<dyn Authority> {
    super::open(settings, None).unwrap()
}

/// Tokens of an answer that is whole.
fn whole(answer: Result<Answer, Fault>) -> BTreeSet<String> {
    match answer {
        Ok(Answer::Known(tokens)) if tokens.are_whole() => tokens.iter().map(str::to_owned).collect(),
        other => panic!("{other:?}"),
    }
}

fn fault<T: std::fmt::Debug>(answer: Result<T, Fault>) -> String {
    answer.unwrap_err().reason().message
}

/// Settings that ask at `url` as the administrator.
fn settings(url: &str) -> Value {
    json!({"url": [url], "bind_dn": ADMIN, "bind_password": PASSWORD, "base": DOMAIN})
}

/// The same with some fields changed.
fn changed(mut settings: Value, change: &Value) -> Value {
    for (name, value) in change.as_object().unwrap() {
        settings[name] = value.clone();
    }
    settings
}
