//! What notifiers are to be told of ends of runs: noted with the end itself, so that neither is without the other, and kept once it is told, so
//! that nobody is told of it twice by a program that looks again.

use ingather_model::ids::{Digest, JobId};
use ingather_model::job::notify::NotifyEvent;

use crate::db::{Row, Sql, Value};
use crate::error::Result;
use crate::queries;

/// What became of a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoticeState {
    /// It is to be told.
    Waiting,
    /// It was told.
    Sent,
    /// It was given up.
    Failed,
}

impl NoticeState {
    /// Every word, in the order of the members.
    pub const WORDS: &'static [&'static str] = &["waiting", "sent", "failed"];

    /// Its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            NoticeState::Waiting => "waiting",
            NoticeState::Sent => "sent",
            NoticeState::Failed => "failed",
        }
    }

    /// The member that is called so.
    pub fn parse(word: &str) -> Option<NoticeState> {
        [NoticeState::Waiting, NoticeState::Sent, NoticeState::Failed]
            .into_iter()
            .find(|state| state.as_str() == word)
    }
}

/// What one notifier is to be told of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredNotice {
    /// The same for all attempts.
    pub id: String,
    /// When it happened, milliseconds since 1970 UTC.
    pub at: i64,
    /// The job.
    pub job: JobId,
    /// Number of the run in the job; of [`NotifyEvent::Drained`] that of the delta run.
    pub run: i64,
    /// What happened.
    pub event: NotifyEvent,
    /// Name of the notifier.
    pub notifier: String,
    /// What is told, as JSON.
    pub body: String,
    /// What became of it.
    pub state: NoticeState,
    /// Attempts to tell it.
    pub attempts: i64,
    /// Not before this time.
    pub due: i64,
    /// Why the last attempt failed.
    pub error: Option<String>,
}

/// What is to be told of a run.
#[derive(Clone, Copy, Debug)]
pub struct NewNotice<'a> {
    /// When it happened.
    pub at: i64,
    /// The job.
    pub job: JobId,
    /// Number of the run in the job.
    pub run: i64,
    /// What happened.
    pub event: NotifyEvent,
    /// Name of the notifier.
    pub notifier: &'a str,
    /// What is told, as JSON.
    pub body: &'a str,
}

/// Notes that a notifier is to be told of a run. The same run is told it once of what ended it, and once of what keeps it from going on.
pub fn add(sql: &mut Sql<'_>, notice: NewNotice<'_>) -> Result<()> {
    let NewNotice { at, job, run, event, notifier, body } = notice;
    let store = sql.one(&queries::META_GET, &[Value::Text("id")], |row| row.text(0))?.unwrap_or_default();
    let kind = match event {
        NotifyEvent::Interrupted | NotifyEvent::Drained => event.as_str(),
        _ => "end",
    };
    let about = [store.as_str(), &job.0.to_string(), &run.to_string(), kind, notifier].join("\0");
    let digest = |salt: &str| Digest::of(format!("{salt}{about}").as_bytes()).0 as u64;
    let id = format!("{:016x}{:016x}", digest("one"), digest("two"));
    let values = [
        Value::Text(&id),
        Value::Int(at),
        Value::Int(job.0),
        Value::Int(run),
        Value::Text(event.as_str()),
        Value::Text(notifier),
        Value::Text(body),
    ];
    sql.execute(&queries::NOTICE_ADD, &values).map(drop)
}

/// What is to be told by now, what is due longest first.
pub fn due(sql: &mut Sql<'_>, now: i64, most: usize) -> Result<Vec<StoredNotice>> {
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    sql.query(&queries::NOTICE_DUE, &[Value::Int(now), Value::Int(most)], read)
}

/// When the next attempt is due; none while nothing waits.
pub fn next_due(sql: &mut Sql<'_>) -> Result<Option<i64>> {
    sql.one(&queries::NOTICE_NEXT, &[], |row| row.int(0))
}

/// What waits for another attempt is due now.
pub fn hasten(sql: &mut Sql<'_>, now: i64) -> Result<u64> {
    sql.execute(&queries::NOTICE_HASTEN, &[Value::Int(now)])
}

/// Notes what came of an attempt to tell; `due`: when the next one is made, where it waits on.
pub fn tried(sql: &mut Sql<'_>, id: &str, state: NoticeState, due: i64, error: Option<&str>) -> Result<()> {
    let values = [Value::Text(id), Value::Text(state.as_str()), Value::Int(due), Value::OptText(error)];
    sql.execute(&queries::NOTICE_TRIED, &values).map(drop)
}

/// Notices before a place, the latest first.
pub fn list(sql: &mut Sql<'_>, (at, id): (i64, &str), most: usize) -> Result<Vec<StoredNotice>> {
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    sql.query(&queries::NOTICE_LIST, &[Value::Int(at), Value::Text(id), Value::Int(most)], read)
}

/// Some of what could not be told of a job, at the first attempt or at all, or that waits for the first one since `before`, the latest first.
pub fn untold(sql: &mut Sql<'_>, job: JobId, before: i64, most: usize) -> Result<Vec<StoredNotice>> {
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    sql.query(&queries::NOTICE_UNTOLD, &[Value::Int(job.0), Value::Int(most), Value::Int(before)], read)
}

/// When the notice happened that has so many later ones; none with fewer.
pub fn nth(sql: &mut Sql<'_>, later: i64) -> Result<Option<i64>> {
    sql.one(&queries::NOTICE_NTH, &[Value::Int(later)], |row| row.int(0))
}

/// When the oldest notice happened that is kept.
pub fn oldest(sql: &mut Sql<'_>) -> Result<Option<i64>> {
    sql.one(&queries::NOTICE_OLDEST, &[], |row| row.int(0))
}

/// Forgets so many of the oldest notices from before a time, told or not; how many.
pub fn forget(sql: &mut Sql<'_>, before: i64, most: i64) -> Result<u64> {
    sql.execute(&queries::NOTICE_FORGET, &[Value::Int(before), Value::Int(most)])
}

fn read(row: &Row<'_>) -> Result<StoredNotice> {
    Ok(StoredNotice {
        id: row.text(0)?,
        at: row.int(1)?,
        job: JobId(row.int(2)?),
        run: row.int(3)?,
        event: row.word(4, NotifyEvent::parse)?,
        notifier: row.text(5)?,
        body: row.text(6)?,
        state: row.word(7, NoticeState::parse)?,
        attempts: row.int(8)?,
        due: row.int(9)?,
        error: row.opt_text(10)?,
    })
}
