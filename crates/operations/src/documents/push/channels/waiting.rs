//! What a call waits for that would hear too little now: a report, an end of throttling, or the end of what it pushed.

use ingather_model::lifecycle::channel::State;
use ingather_model::limits;
use ingather_store::StoreError;
use ingather_store::documents::inbox::channels;
use serde_json::{Value, json};

use super::{ChannelMode, PUSH, REPORTS_OF};
use crate::context::Context;
use crate::problem::{Code, Problem, Result};

/// What a call waits for that would hear too little now, and what it asks then.
pub struct Waiting {
    /// The channel.
    pub channel: i64,
    /// What ends the wait.
    pub sign: Sign,
    /// How long it may wait altogether, seconds.
    pub seconds: u32,
    /// What is asked then, where it is not the same again.
    pub next: Option<Value>,
}

/// What ends a wait for a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// It has told something after this report.
    Told(i64),
    /// It is not throttled any more.
    Takes,
}

/// Whether calls of an operation may wait.
pub fn may_wait(operation: &str) -> bool {
    [REPORTS_OF.operation.name, PUSH.operation.name].contains(&operation)
}

/// What [`waiting`] goes by in a request: nothing of the records.
pub fn of_waits(request: &Value) -> Value {
    json!({"channel": request["channel"], "after": request["after"], "wait_seconds": request["wait_seconds"]})
}

/// What a call waits for, where it does. `answered`: what was answered so far.
pub fn waiting(
    operation: &str,
    request: &Value,
    answered: std::result::Result<&Value, &Problem>,
) -> Option<Waiting> {
    let channel = request["channel"].as_i64()?;
    let asked = request["wait_seconds"].as_u64().map(|seconds| seconds as u32);
    let seconds = asked.unwrap_or_default().min(limits::CHANNEL_WAIT_SECONDS_MAX);
    if operation == REPORTS_OF.operation.name {
        let answer = answered.ok()?;
        let is_over = answer["state"] == State::Terminated.as_str();
        let is_empty = answer["reports"].as_array().is_some_and(Vec::is_empty);
        let sign = Sign::Told(request["after"].as_i64().unwrap_or_default());
        return (is_empty && !is_over && seconds > 0).then_some(Waiting {
            channel,
            sign,
            seconds,
            next: None,
        });
    }
    let answer = match answered {
        Err(problem) if problem.code == Code::Throttled && seconds > 0 => {
            return Some(Waiting { channel, sign: Sign::Takes, seconds, next: None });
        }
        Err(_) => return None,
        Ok(answer) => answer,
    };
    let results = answer["results"].as_array()?;
    let is_done = results.iter().all(|result| result["result"] != "pending");
    if answer["mode"] != json!(ChannelMode::Sync) || is_done || asked == Some(0) {
        return None;
    }
    let tickets: Vec<&Value> = results.iter().map(|result| &result["ticket"]).collect();
    Some(Waiting {
        channel,
        sign: Sign::Told(answer["last_report"].as_i64()?),
        seconds: asked.map_or(limits::CHANNEL_WAIT_SECONDS_MAX, |_| seconds),
        next: Some(json!({"channel": channel, "tickets": tickets, "wait_seconds": asked})),
    })
}

/// Those of waits that are over.
///
/// # Errors
/// What the store says.
pub fn over(context: &Context<'_>, waits: &[(i64, Sign)]) -> Result<Vec<bool>> {
    let reader = context.existing()?;
    Ok(reader.read(|sql| {
        let is_over = |(id, sign): &(i64, Sign)| {
            let channel = channels::get(sql, *id)?;
            Ok::<_, StoreError>(channel.is_none_or(|channel| match sign {
                Sign::Told(after) => channel.serial > *after,
                Sign::Takes => channel.state != State::Throttling,
            }))
        };
        waits.iter().map(is_over).collect()
    })?)
}
