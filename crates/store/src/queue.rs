//! Visits that wait, and failures: rows that exist only while there is something to do or to tell.
//!
//! A row of the queue is enqueued with a reason, requested once more by each further reason, rescheduled by a retry, and
//! completed only by the visit that claimed it at the last request: what was requested meanwhile is visited again.

use std::collections::HashMap;

use ingather_model::fault::Reason;
use ingather_model::ids::{Digest, JobId};
pub use ingather_model::lifecycle::outcome::VisitReason;
use ingather_model::lifecycle::outcome::{FailureCode, FailureKind};
use ingather_model::limits;

use crate::db::{Column, Row, Sql, Value};
use crate::documents::states;
use crate::error::Result;
use crate::failpoints::{Failpoint, failpoint};
use crate::queries::{self, Statement};

/// Due date of a visit that the next run of the job makes, whenever that is.
pub const DUE_NEXT_RUN: i64 = i64::MAX;

/// A request for a visit.
#[derive(Clone, Copy, Debug)]
pub struct VisitRequest {
    /// The document.
    pub document: i64,
    /// Not before this time, milliseconds since 1970 UTC; or [`DUE_NEXT_RUN`].
    pub due: i64,
    /// Why.
    pub reason: VisitReason,
}

/// Why the last visit of a document did not end well.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The document.
    pub document: i64,
    /// Whether it is tried again.
    pub kind: FailureKind,
    /// Attempts made.
    pub attempts: i64,
    /// Attempts allowed.
    pub attempts_max: i64,
    /// Stable word.
    pub code: String,
    /// Sentence for a person.
    pub message: String,
    /// The last attempt is made by then, milliseconds since 1970 UTC; none: their number alone counts.
    pub give_up_at: Option<i64>,
}

/// Why a document stays known of which outputs hold nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftOut {
    /// Its source says that it is not there, and something leads to it.
    Missing,
    /// It has expired; its source has it still.
    Expired,
    /// It is further from the seeds than its job goes.
    TooFar,
}

impl LeftOut {
    /// Its stable word.
    pub fn code(self) -> FailureCode {
        match self {
            LeftOut::Missing => FailureCode::Missing,
            LeftOut::Expired => FailureCode::Expired,
            LeftOut::TooFar => FailureCode::TooFar,
        }
    }

    /// The same with a sentence.
    pub fn reason(self) -> Reason {
        let sentence = match self {
            LeftOut::Missing => "its source says that it is not there any more; it is a dead link",
            LeftOut::Expired => {
                "it has expired: its job keeps documents for so long; it is read again when it changes, or when the job does"
            }
            LeftOut::TooFar => {
                "each way to it from where the job begins has more hops than the job allows; see `hops` of the job"
            }
        };
        Reason::new(self.code().as_str(), sentence)
    }
}

/// Enqueues visits; for a document that waits already, requests its visit once more. Of two due dates the earlier one counts,
/// and a change of access stays the reason.
pub fn enqueue(sql: &mut Sql<'_>, job: JobId, run: i64, requests: &[VisitRequest]) -> Result<()> {
    let documents: Vec<i64> = requests.iter().map(|request| request.document).collect();
    states::counted(sql, &documents, |sql| write_requests(sql, job, run, requests))
}

/// The same, uncounted.
pub(crate) fn write_requests(
    sql: &mut Sql<'_>,
    job: JobId,
    run: i64,
    requests: &[VisitRequest],
) -> Result<()> {
    let documents: Vec<i64> = requests.iter().map(|request| request.document).collect();
    let due: Vec<i64> = requests.iter().map(|request| request.due).collect();
    let reasons: Vec<&str> = requests.iter().map(|request| request.reason.as_str()).collect();
    let columns = [
        Column::Ints(&documents),
        Column::Same(job.0),
        Column::Ints(&due),
        Column::Same(run),
        Column::Texts(&reasons),
    ];
    sql.execute_many(&queries::QUEUE_ENQUEUE, &columns)?;
    Ok(())
}

/// Enqueues visits of changed documents that are buffered: what is buffered already is so for as long; what is due by now, or for another
/// reason, stays due then.
pub fn buffer(sql: &mut Sql<'_>, job: JobId, (run, now): (i64, i64), due: &[(i64, i64)]) -> Result<()> {
    let (documents, dates): (Vec<i64>, Vec<i64>) = due.iter().copied().unzip();
    let columns = [
        Column::Ints(&documents),
        Column::Same(job.0),
        Column::Ints(&dates),
        Column::Same(run),
        Column::Same(now),
    ];
    states::counted(sql, &documents, |sql| {
        sql.execute_many(&queries::QUEUE_BUFFER, &columns)?;
        Ok(())
    })
}

/// Has visits that are buffered be due now.
pub fn release(sql: &mut Sql<'_>, documents: &[i64], now: i64) -> Result<u64> {
    sql.execute(&queries::QUEUE_RELEASE, &[Value::Ints(documents), Value::Int(now)])
}

/// Documents of a job whose visits are buffered, after `after`, by id.
pub fn buffered(sql: &mut Sql<'_>, job: JobId, (after, now): (i64, i64), most: usize) -> Result<Vec<i64>> {
    let values = [Value::Int(job.0), Value::Int(after), Value::Int(now), Value::Int(most as i64)];
    sql.query(&queries::QUEUE_BUFFERED, &values, |row| row.int(0))
}

/// How many records of a job are buffered, and since when the first of them, milliseconds since 1970 UTC.
pub fn count_buffered(sql: &mut Sql<'_>, job: JobId, now: i64) -> Result<(u64, Option<i64>)> {
    let read = |row: &Row<'_>| Ok((row.int(0)?, row.opt_int(1)?));
    let counted = sql.one(&queries::QUEUE_BUFFERED_COUNT, &[Value::Int(job.0), Value::Int(now)], read)?;
    Ok(counted.map_or((0, None), |(count, since)| (count as u64, since)))
}

/// A reason that this program does not know counts as a change, so that the document is visited.
fn visit_reason(word: &str) -> VisitReason {
    VisitReason::parse(word).unwrap_or(VisitReason::Changed)
}

/// How often visits of documents were requested, and why: `(document, requests, reason)`.
pub fn request_counts(sql: &mut Sql<'_>, ids: &[i64]) -> Result<Vec<(i64, i64, VisitReason)>> {
    sql.query(&queries::QUEUE_GET, &[Value::Ints(ids)], |row| {
        Ok((row.int(0)?, row.int(1)?, visit_reason(&row.text(2)?)))
    })
}

/// Documents of a job that wait for a visit, after `after`, by id.
pub fn waiting(sql: &mut Sql<'_>, job: JobId, after: i64, most: usize) -> Result<Vec<i64>> {
    let values = [Value::Int(job.0), Value::Int(after), Value::Int(most as i64)];
    sql.query(&queries::QUEUE_OF_JOB, &values, |row| row.int(0))
}

/// Documents of a job that wait to be sent again because an output lost them; of very many so many.
pub fn resends(sql: &mut Sql<'_>, job: JobId) -> Result<Vec<i64>> {
    let values = [Value::Int(job.0), Value::Int(limits::RESENDS_COUNTED_MAX)];
    sql.query(&queries::QUEUE_RESENDS, &values, |row| row.int(0))
}

/// Those of these documents of which a removal was sent and not confirmed.
pub fn leaving(sql: &mut Sql<'_>, ids: &[i64]) -> Result<Vec<i64>> {
    among(sql, ids, &queries::DELIVERY_LEAVING, &queries::DELIVERY_LEAVING_SPAN, |row| row.int(0))
}

/// Completes visits: `(document, requests)` as they were claimed. What was requested again meanwhile stays.
pub fn complete(sql: &mut Sql<'_>, rows: &[(i64, i64)]) -> Result<()> {
    let ids: Vec<i64> = rows.iter().map(|(document, _)| *document).collect();
    states::counted(sql, &ids, |sql| write_completions(sql, rows))
}

/// The same, uncounted.
pub(crate) fn write_completions(sql: &mut Sql<'_>, rows: &[(i64, i64)]) -> Result<()> {
    let (documents, mut counts): (Vec<i64>, Vec<i64>) = rows.iter().copied().unzip();
    if failpoint(Failpoint::CompletionWithoutWanted) {
        for (document, count) in documents.iter().zip(&mut counts) {
            *count = self::request_counts(sql, &[*document])?.first().map_or(*count, |(_, now, _)| *now);
        }
    }
    sql.execute_many(&queries::QUEUE_COMPLETE, &[Column::Ints(&documents), Column::Ints(&counts)])?;
    Ok(())
}

/// Nobody wants these visits any more, nor to know why earlier ones failed: their documents are erased.
pub fn give_up(sql: &mut Sql<'_>, ids: &[i64]) -> Result<()> {
    states::counted(sql, ids, |sql| {
        sql.execute(&queries::QUEUE_REMOVE, &[Value::Ints(ids)])?;
        sql.execute(&queries::NEXT_LOOK_REMOVE, &[Value::Ints(ids)])?;
        remove_failures(sql, ids)
    })
}

/// Documents that something leads to and that are none of the job, each with the reason: nobody waits for them, not even for a first visit, and
/// they stay known as left out.
pub fn set_aside(sql: &mut Sql<'_>, job: JobId, now: i64, whys: &[(i64, &Reason)]) -> Result<()> {
    let left_out = |(document, why): &(i64, &Reason)| Failure {
        document: *document,
        kind: FailureKind::Skipped,
        attempts: 0,
        attempts_max: 0,
        code: why.code.clone(),
        message: why.message.clone(),
        give_up_at: None,
    };
    let rows: Vec<Failure> = whys.iter().map(left_out).collect();
    let ids: Vec<i64> = whys.iter().map(|(document, _)| *document).collect();
    states::counted(sql, &ids, |sql| {
        sql.execute(&queries::QUEUE_REMOVE, &[Value::Ints(&ids)])?;
        sql.execute(&queries::DOCUMENT_SET_ASIDE, &[Value::Ints(&ids), Value::Int(Digest::UNKNOWN.0)])?;
        // What is not there leads nowhere; what has expired leads where it led, and is not looked at again.
        let of = |code: LeftOut| -> Vec<i64> {
            let is_so = |(_, why): &&(i64, &Reason)| why.code == code.code().as_str();
            whys.iter().filter(is_so).map(|(document, _)| *document).collect()
        };
        sql.execute(&queries::LINK_REMOVE, &[Value::Ints(&of(LeftOut::Missing))])?;
        sql.execute(&queries::NEXT_LOOK_REMOVE, &[Value::Ints(&of(LeftOut::Expired))])?;
        write_failures(sql, job, now, &rows)
    })
}

/// Reschedules visits: `(document, due)`.
pub fn reschedule(sql: &mut Sql<'_>, rows: &[(i64, i64)]) -> Result<()> {
    let (documents, due): (Vec<i64>, Vec<i64>) = rows.iter().copied().unzip();
    sql.execute_many(&queries::QUEUE_RESCHEDULE, &[Column::Ints(&documents), Column::Ints(&due)])?;
    Ok(())
}

/// Writes what is wrong.
pub fn record_failures(sql: &mut Sql<'_>, job: JobId, now: i64, rows: &[Failure]) -> Result<()> {
    let ids: Vec<i64> = rows.iter().map(|failure| failure.document).collect();
    states::counted(sql, &ids, |sql| write_failures(sql, job, now, rows))
}

/// The same, uncounted.
pub(crate) fn write_failures(sql: &mut Sql<'_>, job: JobId, now: i64, rows: &[Failure]) -> Result<()> {
    let ints = |field: fn(&Failure) -> i64| rows.iter().map(field).collect::<Vec<i64>>();
    let kinds: Vec<&str> = rows.iter().map(|t| t.kind.as_str()).collect();
    let codes: Vec<&str> = rows.iter().map(|t| t.code.as_str()).collect();
    let messages: Vec<&str> = rows.iter().map(|t| t.message.as_str()).collect();
    sql.execute_many(
        &queries::FAILURE_PUT,
        &[
            Column::Ints(&ints(|t| t.document)),
            Column::Same(job.0),
            Column::Texts(&kinds),
            Column::Ints(&ints(|t| t.attempts)),
            Column::Ints(&ints(|t| t.attempts_max)),
            Column::Same(now),
            Column::Texts(&codes),
            Column::Texts(&messages),
            Column::Ints(&ints(|t| t.give_up_at.unwrap_or_default())),
        ],
    )?;
    Ok(())
}

/// What was wrong with these documents is over; uncounted.
pub(crate) fn remove_failures(sql: &mut Sql<'_>, ids: &[i64]) -> Result<()> {
    sql.execute(&queries::FAILURE_OVER, &[Value::Ints(ids)])?;
    Ok(())
}

/// Which kinds of notes there are at all, so that nobody asks for the others with each page of a listing.
#[derive(Clone, Copy, Debug)]
pub struct Attention {
    requests: bool,
    failures: bool,
    removals: bool,
}

/// What is noted of a document that needs attention.
#[derive(Clone, Copy, Debug, Default)]
pub struct Noted {
    /// A visit waits: how often it was requested, and why.
    pub request: Option<(i64, VisitReason)>,
    /// Its last visit did not end well.
    pub failure: Option<NotedFailure>,
    /// A removal was sent and not confirmed.
    pub is_leaving: bool,
}

impl Noted {
    /// It failed, and is not tried again before it changes.
    pub fn has_failed(&self) -> bool {
        self.failure.is_some_and(|failure| failure.kind == FailureKind::Failed)
    }

    /// It has expired, and outputs do not hold it.
    pub fn has_expired(&self) -> bool {
        self.failure.is_some_and(|failure| failure.code == Some(FailureCode::Expired))
    }

    /// The time by which its last attempt is made, as its faults before have asked for.
    pub fn give_up_at(&self) -> Option<i64> {
        let is_retried = |failure: &NotedFailure| failure.kind == FailureKind::Retrying;
        self.failure.filter(is_retried).and_then(|failure| failure.give_up_at)
    }

    /// The source did not let this reader have it.
    pub fn is_unreadable(&self) -> bool {
        self.failure.is_some_and(|failure| failure.code == Some(FailureCode::Unreadable))
    }

    /// Attempts that were made at it before: what changes all the time has all its attempts in each run.
    pub fn attempts(&self) -> u32 {
        let counted = self.failure.filter(|failure| {
            failure.kind == FailureKind::Retrying && failure.code != Some(FailureCode::Unsteady)
        });
        let rested = i64::from(failpoint(Failpoint::RetryCountedWhilePaused));
        counted.map_or(0, |failure| u32::try_from(failure.attempts + rested).unwrap_or(u32::MAX))
    }
}

/// How the last visit of a document ended.
#[derive(Clone, Copy, Debug)]
pub struct NotedFailure {
    /// Whether it is tried again.
    pub kind: FailureKind,
    /// Attempts made.
    pub attempts: i64,
    /// What the engine goes by; none for all other codes.
    pub code: Option<FailureCode>,
    /// When the first of them was made, milliseconds since 1970 UTC.
    pub first_at: i64,
    /// The last one is made by then; none: their number alone counts.
    pub give_up_at: Option<i64>,
}

impl Attention {
    /// What there is for the documents of a job.
    ///
    /// # Errors
    /// As those of the store.
    pub fn of(sql: &mut Sql<'_>, job: JobId) -> Result<Attention> {
        let mut is_any =
            |statement, values: &[Value<'_>]| Ok(sql.one(statement, values, |row| row.int(0))?.is_some());
        Ok(Attention {
            requests: is_any(&queries::QUEUE_ANY, &[Value::Int(job.0)])?,
            failures: is_any(&queries::FAILURE_ANY, &[Value::Int(job.0)])?,
            removals: is_any(&queries::DELIVERY_LEAVING_ANY, &[])?,
        })
    }

    /// The same where visits may have failed since.
    pub fn with_failures(self) -> Attention {
        Attention { failures: true, ..self }
    }

    /// What is noted of these documents; those of which nothing is noted are left out.
    ///
    /// # Errors
    /// As those of the store.
    pub fn noted(self, sql: &mut Sql<'_>, ids: &[i64]) -> Result<HashMap<i64, Noted>> {
        let mut noted: HashMap<i64, Noted> = HashMap::new();
        if self.requests {
            let read = |row: &Row<'_>| Ok((row.int(0)?, (row.int(1)?, visit_reason(&row.text(2)?))));
            for (id, request) in among(sql, ids, &queries::QUEUE_GET, &queries::QUEUE_SPAN, read)? {
                noted.entry(id).or_default().request = Some(request);
            }
        }
        if self.failures {
            for (id, failure) in among(sql, ids, &queries::FAILURE_GET, &queries::FAILURE_SPAN, failure_of)? {
                noted.entry(id).or_default().failure = Some(failure);
            }
        }
        if self.removals {
            for id in leaving(sql, ids)? {
                noted.entry(id).or_default().is_leaving = true;
            }
        }
        Ok(noted)
    }
}

/// A kind that this program does not know counts as a failure.
fn failure_of(row: &Row<'_>) -> Result<(i64, NotedFailure)> {
    let kind = FailureKind::parse(&row.text(1)?).unwrap_or(FailureKind::Failed);
    let code = FailureCode::parse(&row.text(3)?);
    let give_up_at = Some(row.int(5)?).filter(|at| *at != 0);
    Ok((row.int(0)?, NotedFailure { kind, attempts: row.int(2)?, code, first_at: row.int(4)?, give_up_at }))
}

/// Rows of documents: of ids that are close together, as those of a folder mostly are, by one seek, and rows of others beside; else
/// by a seek for each.
pub(crate) fn among<T>(
    sql: &mut Sql<'_>,
    ids: &[i64],
    by_list: &'static Statement,
    by_span: &'static Statement,
    read: impl Fn(&Row<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    let (Some(first), Some(last)) = (ids.iter().min(), ids.iter().max()) else { return Ok(Vec::new()) };
    if last - first < ids.len() as i64 * limits::SPAN_FACTOR {
        sql.query(by_span, &[Value::Int(*first), Value::Int(*last)], read)
    } else {
        sql.query(by_list, &[Value::Ints(ids)], read)
    }
}

/// Those of these documents that wait by a row in the queue, or have a failure.
pub(crate) fn noted_at_all(sql: &mut Sql<'_>, ids: &[i64]) -> Result<Vec<i64>> {
    let mut noted = among(sql, ids, &queries::QUEUE_GET, &queries::QUEUE_SPAN, |row| row.int(0))?;
    noted.extend(among(sql, ids, &queries::FAILURE_GET, &queries::FAILURE_SPAN, |row| row.int(0))?);
    Ok(noted)
}

/// What is noted as wrong with these documents, by id.
///
/// # Errors
/// As those of the store.
pub fn failures(sql: &mut Sql<'_>, ids: &[i64]) -> Result<HashMap<i64, NotedFailure>> {
    Ok(among(sql, ids, &queries::FAILURE_GET, &queries::FAILURE_SPAN, failure_of)?.into_iter().collect())
}

/// How many documents of a job have a failure of one kind.
pub fn count_failures(sql: &mut Sql<'_>, job: JobId, kind: FailureKind) -> Result<u64> {
    let counted =
        sql.one(&queries::FAILURE_COUNT, &[Value::Int(job.0), Value::Text(kind.as_str())], |row| row.int(0))?;
    Ok(counted.unwrap_or_default() as u64)
}

/// Documents of a job that have a failure of one kind, so many at most.
///
/// # Errors
/// As those of the store.
pub fn failures_of(sql: &mut Sql<'_>, job: JobId, kind: FailureKind, most: usize) -> Result<Vec<i64>> {
    let values = [Value::Int(job.0), Value::Text(kind.as_str()), Value::Int(most as i64)];
    sql.query(&queries::FAILURE_OF_KIND, &values, |row| row.int(0))
}

/// When the first visit of a job falls due that waits beyond a time.
pub fn next_due(sql: &mut Sql<'_>, job: JobId, after: i64) -> Result<Option<i64>> {
    let values = [Value::Int(job.0), Value::Int(after)];
    Ok(sql.one(&queries::QUEUE_NEXT_DUE, &values, |row| row.opt_int(0))?.flatten())
}

/// When visits of these documents are due: `(document, due)`; those that nobody asked for are left out.
pub fn dates(sql: &mut Sql<'_>, ids: &[i64]) -> Result<Vec<(i64, i64)>> {
    sql.query(&queries::QUEUE_DATES, &[Value::Ints(ids)], |row| Ok((row.int(0)?, row.int(1)?)))
}

/// Documents of a job whose visits are due by a time, or with the next run, after `after`, by id.
pub fn due(sql: &mut Sql<'_>, job: JobId, (after, by): (i64, i64), most: usize) -> Result<Vec<i64>> {
    let values = [Value::Int(job.0), Value::Int(after), Value::Int(by), Value::Int(most as i64)];
    sql.query(&queries::QUEUE_DUE, &values, |row| row.int(0))
}

/// How many visits of a job are due by a time and were not made.
pub fn count_due(sql: &mut Sql<'_>, job: JobId, by: i64) -> Result<u64> {
    let counted = sql.one(&queries::QUEUE_OVERDUE, &[Value::Int(job.0), Value::Int(by)], |row| row.int(0))?;
    Ok(counted.unwrap_or_default() as u64)
}
