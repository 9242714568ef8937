//! Notices: what notifiers are told of ends of runs, and what became of that. They are noted with the end of the run (decision 0030); here they are
//! sent, as often as it takes within bounds, and listed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ingather_contract::call::CallContext;
use ingather_contract::notifier::{Notice as Told, Notifier};
use ingather_model::fault::Fault;
use ingather_model::job::notify::NotifyEvent;
use ingather_model::limits;
use ingather_model::run_counts::{RunCounts, counted};
use ingather_store::runs::notices::{self as stored, NoticeState, StoredNotice};
use ingather_store::{Durability, Reader};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::context::{Caller, Context};
use crate::in_words;
use crate::operation::schema;
use crate::operation::{Answering, Effect, Operation, Rest, Role, Shape, Verb, Words};
use crate::page;
use crate::problem::Result;

const PAGE: &str = r#"{"notices": [{"id": "0a1b", "at": 1767225600000, "job": "share", "run": 7, "event": "held", "notifier": "ops",
    "state": "failed", "attempts": 12, "due": 1767225600000, "error": "the webhook answers with 500"}], "next": "0a1b2c3d31"}"#;

/// What notifiers were told.
pub static NOTICES: Answering<ListNotices, NoticeList> = Answering {
    operation: Operation {
        name: "notices.list",
        summary: "What notifiers are told of ends of runs, and what became of that, the latest first.",
        request: Shape::of::<ListNotices>("ListNotices", &[r#"{"limit": 20}"#]),
        item: None,
        answer: Shape::of::<NoticeList>("NoticeList", &[PAGE]),
        role: Role::Operator,
        effect: Effect::Reads,
        rest: Rest::At(Verb::Get, "/notices"),
        words: Words::Are("notices"),
        tool: false,
        problems: &[],
    },
    run: list,
};

/// Asks for notices.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListNotices {
    /// Notices at most; a page has a bound of its own.
    #[serde(default = "page::size")]
    pub limit: u32,
    /// Where to begin: `next` of the page before.
    #[serde(default)]
    pub cursor: Option<String>,
}

/// Notices, the latest first; a line each where lines are wanted.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct NoticeList {
    /// The notices.
    pub notices: Vec<RunNotice>,
    /// Cursor of the next page; none at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// What one notifier is told of one run.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RunNotice {
    /// The same for all attempts.
    pub id: String,
    /// When it happened, milliseconds since 1970 UTC.
    pub at: i64,
    /// Name of the job.
    pub job: String,
    /// Number of the run.
    pub run: i64,
    /// What happened.
    #[schemars(schema_with = "schema::notify_event")]
    pub event: NotifyEvent,
    /// Name of the notifier.
    pub notifier: String,
    /// `waiting`, `sent`, or `failed` where it was given up.
    #[schemars(schema_with = "schema::notice_state")]
    pub state: String,
    /// Attempts to tell it.
    pub attempts: i64,
    /// When the next attempt is made, or the last one was.
    pub due: i64,
    /// Why the last attempt failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

fn list(context: &Context<'_>, _: &Caller<'_>, request: ListNotices) -> Result<NoticeList> {
    let of = [NOTICES.operation.name];
    let place = page::place(&of, request.cursor.as_deref())?;
    let (at, id) = match &place {
        Some(place) => {
            let (at, id) = place.split_once(' ').ok_or_else(page::unknown)?;
            (at.parse().map_err(|_| page::unknown())?, id)
        }
        None => (i64::MAX, ""),
    };
    let Some(reader) = context.host.reader()? else {
        return Ok(NoticeList { notices: Vec::new(), next: None });
    };
    let length = page::length(request.limit);
    let mut found = reader.read(|sql| stored::list(sql, (at, id), length + 1))?;
    let more = found.len() > length;
    found.truncate(length);
    let next =
        found.last().filter(|_| more).map(|last| page::cursor(&of, &format!("{} {}", last.at, last.id)));
    let notice = |one: StoredNotice| RunNotice {
        job: body(&one)["job"].as_str().unwrap_or_default().to_owned(),
        id: one.id,
        at: one.at,
        run: one.run,
        event: one.event,
        notifier: one.notifier,
        state: one.state.as_str().to_owned(),
        attempts: one.attempts,
        due: one.due,
        error: one.error,
    };
    Ok(NoticeList { notices: found.into_iter().map(notice).collect(), next })
}

fn body(notice: &StoredNotice) -> Value {
    serde_json::from_str(&notice.body).unwrap_or_default()
}

/// What a notifier is told, for people and for programs.
fn told(notice: &StoredNotice) -> Told {
    let mut body = body(notice);
    let job = body["job"].as_str().unwrap_or_default().to_owned();
    let counts: Option<RunCounts> = serde_json::from_value(body["counts"].clone()).ok();
    let error = body["error"].as_str().map(str::to_owned);
    let run = notice.run;
    let subject = match notice.event {
        NotifyEvent::Failed => format!("job {job}: run {run} failed"),
        NotifyEvent::Held => format!("job {job}: run {run} holds removals, which wait for a person"),
        NotifyEvent::Interrupted => format!("job {job} rests: its run was interrupted too often"),
        NotifyEvent::Stopped => format!("job {job}: run {run} was stopped"),
        NotifyEvent::Finished => format!("job {job}: run {run} has ended"),
        NotifyEvent::Drained => format!("job {job}: all of delta run {run} is done"),
    };
    let mut lines = vec![subject.clone(), String::new()];
    lines.extend(counts.map(|counts| in_words::sentence(&counts)));
    lines.extend(error);
    lines.extend(drained(&body));
    lines.push(match notice.event {
        NotifyEvent::Held => format!(
            "`ingather job held {job}` lists them, `ingather job confirm {job} --run {run}` carries them out."
        ),
        _ => format!("`ingather job show {job}` tells more."),
    });
    let text = lines.join("\n");
    if let Some(fields) = body.as_object_mut() {
        fields.insert("id".to_owned(), json!(notice.id));
        fields.insert("event".to_owned(), json!(notice.event));
        fields.insert("at".to_owned(), json!(notice.at));
        fields.insert("says".to_owned(), json!(text));
    }
    Told { id: notice.id.clone(), at: notice.at, event: notice.event, job, run, subject, text, body }
}

/// What came of a delta run, where that is told.
fn drained(body: &Value) -> Option<String> {
    let (deleted, failed) = (body["deleted"].as_u64()?, body["failed"].as_u64()?);
    let veto = body["veto"].as_str().map_or(String::new(), |veto| format!("; it deleted nothing: {veto}"));
    Some(format!("{} deleted, {failed} failed{veto}", counted(deleted, "record")))
}

/// Tells one notifier; what came of it is noted by whoever asked.
pub type Tell<'a> = &'a dyn Fn(Arc<dyn Notifier>, Told) -> std::result::Result<(), Fault>;

/// The same in the thread of whoever asks, with this call.
pub fn here(call: CallContext) -> impl Fn(Arc<dyn Notifier>, Told) -> std::result::Result<(), Fault> {
    move |notifier, notice| notifier.tell(&call, &notice)
}

/// Tells what is due, each notifier in its order, and none again in this round that could not be told of something. When the next attempt is due,
/// milliseconds since 1970 UTC; none while nothing waits.
///
/// # Errors
/// What the inventory says. What a notifier says is noted with the notice.
pub fn send_due(
    context: &Context<'_>,
    notifiers: &BTreeMap<String, Arc<dyn Notifier>>,
    tell: Tell<'_>,
) -> Result<Option<i64>> {
    let Some(reader) = context.host.reader()? else { return Ok(None) };
    if notifiers.is_empty() {
        // Whoever began this service has left their declaration out: nobody is given up for that.
        return Ok(None);
    }
    let mut hindered: BTreeSet<String> = BTreeSet::new();
    let due = reader.read(|sql| stored::due(sql, context.now(), limits::NOTICES_AT_ONCE))?;
    for notice in due {
        if context.host.cancel().cancelled() {
            break;
        }
        let is_hindered = hindered.contains(&notice.notifier);
        let outcome = match notifiers.get(&notice.notifier) {
            _ if is_hindered => Err(Fault::passing("later", "an earlier notice could not be told")),
            Some(notifier) => tell(notifier.clone(), told(&notice)),
            None => Err(Fault::refused(
                "no_notifier",
                format!(
                    "there is no notifier `{}`; declare it (`serve --notifiers`), or change the job",
                    notice.notifier
                ),
            )),
        };
        if context.host.cancel().cancelled() && outcome.is_err() {
            // The end of the program is nobody's failure.
            break;
        }
        if matches!(outcome, Err(Fault::Passing { .. })) {
            hindered.insert(notice.notifier.clone());
        }
        note(context, &notice, outcome, is_hindered)?;
    }
    next(&reader)
}

fn next(reader: &Reader) -> Result<Option<i64>> {
    Ok(reader.read(stored::next_due)?)
}

/// Has what waits for another attempt tried at once: whoever begins a service has mended what hindered it.
///
/// # Errors
/// What the inventory says.
pub fn hasten(context: &Context<'_>) -> Result<()> {
    let Some(reader) = context.host.reader()? else { return Ok(()) };
    if next(&reader)?.is_none_or(|due| due <= context.now()) {
        return Ok(());
    }
    let writing = context.host.write_beside("notices")?;
    writing.store.write(Durability::Relaxed, |sql| {
        writing.lease.fence(sql)?;
        stored::hasten(sql, context.now())
    })?;
    Ok(())
}

/// How long after so many attempts another one is made, milliseconds.
fn wait(attempts: i64) -> i64 {
    let doublings = u32::try_from(attempts.max(1) - 1).unwrap_or(u32::MAX).min(20);
    limits::NOTICE_WAIT_MS_MIN.saturating_mul(1 << doublings).min(limits::NOTICE_WAIT_MS_MAX)
}

fn note(
    context: &Context<'_>,
    notice: &StoredNotice,
    outcome: std::result::Result<(), Fault>,
    was_put_off: bool,
) -> Result<()> {
    let now = context.now();
    let attempts = notice.attempts + 1;
    let (state, due, error) = match outcome {
        Ok(()) => (NoticeState::Sent, now, None),
        // It was not tried itself, and goes with the one before it.
        Err(_) if was_put_off && attempts < i64::from(limits::NOTICE_ATTEMPTS_MAX) => (
            NoticeState::Waiting,
            now + wait(attempts),
            notice.error.clone().or(Some("an earlier notice could not be told".to_owned())),
        ),
        Err(fault) => {
            let lasts =
                !matches!(fault, Fault::Passing { .. }) || attempts >= i64::from(limits::NOTICE_ATTEMPTS_MAX);
            let state = if lasts { NoticeState::Failed } else { NoticeState::Waiting };
            let message: String = fault.reason().message.chars().take(limits::NOTICE_ERROR_MAX).collect();
            (state, if lasts { now } else { now + wait(attempts) }, Some(message))
        }
    };
    let writing = context.host.write_beside("notice")?;
    writing.store.write(Durability::Synced, |sql| {
        writing.lease.fence(sql)?;
        stored::tried(sql, &notice.id, state, due, error.as_deref())
    })?;
    Ok(())
}

/// Forgets notices that are too old, or too many, a little in each transaction; how many.
///
/// # Errors
/// What the inventory says.
pub fn forget_old(context: &Context<'_>, days: u32) -> Result<u64> {
    let Some(reader) = context.host.reader()? else { return Ok(0) };
    let old = context.now().saturating_sub(i64::from(days) * limits::DAY_MS);
    let nth = reader.read(|sql| stored::nth(sql, limits::NOTICES_KEPT))?;
    let before = nth.map_or(old, |at| old.max(at + 1));
    let oldest = reader.read(stored::oldest)?;
    if oldest.is_none_or(|at| at >= before) {
        return Ok(0);
    }
    let writing = context.host.write_beside("notices")?;
    let mut all = 0;
    loop {
        let most = limits::HISTORY_FORGOTTEN_AT_ONCE;
        let forgotten = writing.store.write(Durability::Relaxed, |sql| {
            writing.lease.fence(sql)?;
            stored::forget(sql, before, most)
        })?;
        all += forgotten;
        if forgotten < most as u64 || context.host.cancel().cancelled() {
            return Ok(all);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_wait_twice_as_long_each_time_and_about_six_hours_in_all() {
        assert_eq!([0, 1, 2, 3].map(wait), [15_000, 15_000, 30_000, 60_000]);
        assert_eq!(wait(i64::MAX), limits::NOTICE_WAIT_MS_MAX);
        let all: i64 = (1..i64::from(limits::NOTICE_ATTEMPTS_MAX)).map(wait).sum();
        assert!((4..8).contains(&(all / 3_600_000)), "{all}");
    }

    #[test]
    fn what_is_told_says_to_people_what_to_do_and_to_programs_what_is_stored() {
        let notice = |event| {
            StoredNotice {
            id: "0f".to_owned(),
            at: 5,
            job: ingather_model::ids::JobId(1),
            run: 7,
            event,
            notifier: "ops".to_owned(),
            body: json!({"job": "share", "run": 7, "counts": RunCounts { held: 3, ..RunCounts::default() }, "error": "it is so"}).to_string(),
            state: NoticeState::Waiting,
            attempts: 0,
            due: 0,
            error: None,
        }
        };
        let held = told(&notice(NotifyEvent::Held));
        assert!(
            held.text.contains("3 held") && held.text.contains("job confirm share --run 7"),
            "{}",
            held.text
        );
        assert_eq!(
            (&held.body["id"], &held.body["event"], &held.body["run"]),
            (&json!("0f"), &json!("held"), &json!(7))
        );
        for event in NotifyEvent::ALL {
            let told = told(&notice(*event));
            assert!(told.subject.starts_with("job share") && told.text.contains("it is so"), "{told:?}");
        }
    }
}
