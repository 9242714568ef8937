//! Tickets: what was asked of a record, and the one report of what became of it.

use std::collections::{BTreeMap, HashMap};

use ingather_model::fault::Reason;
use ingather_model::ids::JobId;

use crate::db::{Column, Row, Sql, Value};
use crate::documents::inbox::channels;
use crate::documents::{next_id, take_ids};
use crate::error::Result;
use crate::failpoints::{Failpoint, failpoint};
use crate::queries;

/// What is asked of a record.
#[derive(Clone, Debug)]
pub struct NewTicket<'a> {
    /// Its number, of [`take`].
    pub number: i64,
    /// The document of the record; none where there is none, and nothing has to be done.
    pub document: Option<i64>,
    /// Key of the record.
    pub key: &'a str,
    /// `put` or `delete`.
    pub op: &'a str,
    /// How often visits of the document were asked for, this one included: a visit that was claimed before does not end the ticket.
    pub requests: i64,
    /// What its client wants back with each report.
    pub user_ref: Option<&'a str>,
}

/// A ticket that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenTicket {
    /// Its number.
    pub number: i64,
    /// The document of its record.
    pub document: i64,
    /// As in [`NewTicket::requests`].
    pub requests: i64,
    /// Through which channel it was pushed.
    pub channel: Option<i64>,
}

/// A ticket that is over.
#[derive(Clone, Debug)]
pub struct Completed<'a> {
    /// Its number.
    pub number: i64,
    /// Through which channel it was pushed.
    pub channel: Option<i64>,
    /// What became of it.
    pub outcome: Outcome<'a>,
}

impl OpenTicket {
    /// It is over.
    pub fn completed<'a>(&self, outcome: Outcome<'a>) -> Completed<'a> {
        Completed { number: self.number, channel: self.channel, outcome }
    }
}

/// What became of a ticket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome<'a> {
    /// Stable word.
    pub outcome: &'a str,
    /// Why, a stable word; empty where it went well.
    pub code: &'a str,
    /// Why, for a person.
    pub message: &'a str,
}

impl<'a> Outcome<'a> {
    /// One that needs no reason.
    pub fn plain(outcome: &'a str) -> Outcome<'a> {
        Outcome { outcome, code: "", message: "" }
    }

    /// One with its reason.
    pub fn of(outcome: &'a str, reason: &'a Reason) -> Outcome<'a> {
        Outcome { outcome, code: &reason.code, message: &reason.message }
    }
}

/// A ticket as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ticket {
    /// Its number.
    pub number: i64,
    /// The job of its source.
    pub job: JobId,
    /// Key of the record.
    pub key: String,
    /// `put` or `delete`.
    pub op: String,
    /// When it was accepted, milliseconds since 1970 UTC.
    pub accepted_at: i64,
    /// Through which channel it was pushed.
    pub channel: Option<i64>,
    /// What became of it; none while it is open.
    pub report: Option<Report>,
}

/// What became of a ticket, as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Its place among all reports: later ones have larger numbers.
    pub number: i64,
    /// When that was known, milliseconds since 1970 UTC.
    pub at: i64,
    /// Stable word.
    pub outcome: String,
    /// Why, a stable word; empty where it went well.
    pub code: String,
    /// Why, for a person.
    pub message: String,
}

/// Numbers for so many tickets: the first of them.
///
/// # Errors
/// What the database says.
pub fn take(sql: &mut Sql<'_>, count: usize) -> Result<i64> {
    take_ids(sql, "ticket", count)
}

/// Adds tickets of one call, pushed by somebody, through a channel or through none.
///
/// # Errors
/// What the database says.
pub fn add(
    sql: &mut Sql<'_>,
    job: JobId,
    tickets: &[NewTicket<'_>],
    (now, by, channel): (i64, &str, Option<i64>),
) -> Result<()> {
    let ints = |field: fn(&NewTicket<'_>) -> i64| tickets.iter().map(field).collect::<Vec<i64>>();
    let documents: Vec<Option<i64>> = tickets.iter().map(|ticket| ticket.document).collect();
    let keys: Vec<&str> = tickets.iter().map(|ticket| ticket.key).collect();
    let ops: Vec<&str> = tickets.iter().map(|ticket| ticket.op).collect();
    let user_refs: Vec<Option<&str>> = tickets.iter().map(|ticket| ticket.user_ref).collect();
    let columns = [
        Column::Ints(&ints(|ticket| ticket.number)),
        Column::Same(job.0),
        Column::OptInts(&documents),
        Column::Texts(&keys),
        Column::Texts(&ops),
        Column::Ints(&ints(|ticket| ticket.requests)),
        Column::Same(now),
        Column::SameText(by),
        Column::OptInts(&vec![channel; tickets.len()]),
        Column::OptTexts(&user_refs),
    ];
    sql.execute_many(&queries::TICKET_ADD, &columns)?;
    Ok(())
}

/// Tickets of documents that are open.
///
/// # Errors
/// What the database says.
pub fn open(sql: &mut Sql<'_>, documents: &[i64]) -> Result<Vec<OpenTicket>> {
    sql.query(&queries::TICKET_OPEN, &[Value::Ints(documents)], |row| {
        Ok(OpenTicket {
            number: row.int(0)?,
            document: row.int(1)?,
            requests: row.int(2)?,
            channel: row.opt_int(3)?,
        })
    })
}

/// Whether a ticket of a job up to one is open.
///
/// # Errors
/// What the database says.
pub fn is_open_until(sql: &mut Sql<'_>, job: JobId, last: i64) -> Result<bool> {
    let open =
        sql.one(&queries::TICKET_OPEN_UNTIL, &[Value::Int(job.0), Value::Int(last)], |row| row.int(0))?;
    Ok(open.is_some())
}

/// How many tickets of a job beyond one and up to another one failed.
///
/// # Errors
/// What the database says.
pub fn count_failed(sql: &mut Sql<'_>, job: JobId, (after, last): (i64, i64)) -> Result<i64> {
    let values = [Value::Int(job.0), Value::Int(after), Value::Int(last)];
    Ok(sql.one(&queries::TICKET_FAILED_WITHIN, &values, |row| row.int(0))?.unwrap_or_default())
}

/// Has the numbers of reports to itself: before the counters of states and a channel, in every transaction that may need them. Else two transactions of one source
/// wait for each other on PostgreSQL, a second each time.
///
/// # Errors
/// What the database says.
pub fn hold_reports(sql: &mut Sql<'_>) -> Result<()> {
    // Who writes into SQLite is alone.
    if sql.is_sqlite() { Ok(()) } else { take_ids(sql, "report", 0).map(drop) }
}

/// Says what became of tickets, each once, and tells their channels: one that was completed before stays as it is.
///
/// # Errors
/// What the database says.
pub fn complete(sql: &mut Sql<'_>, tickets: &[Completed<'_>], now: i64) -> Result<()> {
    if tickets.is_empty() {
        return Ok(());
    }
    let first = match failpoint(Failpoint::ReportNumberTwice) {
        true => next_id(sql, "report")?,
        false => take_ids(sql, "report", tickets.len())?,
    };
    let mut told: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    let (of_channels, others): (Vec<_>, Vec<_>) =
        tickets.iter().zip(first..).partition(|(ticket, _)| ticket.channel.is_some());
    write_reports(sql, &others, now)?;
    for row in &of_channels {
        let (ticket, _) = row;
        // A channel is told of those alone that were open.
        let is_new = write_reports(sql, std::slice::from_ref(row), now)? > 0;
        if let Some(channel) = ticket.channel.filter(|_| is_new) {
            told.entry(channel).or_default().push(ticket.number);
        }
    }
    // In the order of their numbers: whoever locks two of them does so in this order.
    for (channel, tickets) in told {
        channels::completed(sql, channel, &tickets, now)?;
    }
    Ok(())
}

/// Writes what became of tickets, each with the number of its report; of how many that was not known.
fn write_reports(sql: &mut Sql<'_>, rows: &[(&Completed<'_>, i64)], now: i64) -> Result<u64> {
    if rows.is_empty() {
        return Ok(0);
    }
    let (numbers, reports): (Vec<i64>, Vec<i64>) =
        rows.iter().map(|(ticket, report)| (ticket.number, *report)).unzip();
    let said = |field: for<'a> fn(&Outcome<'a>) -> &'a str| {
        rows.iter().map(|(ticket, _)| field(&ticket.outcome)).collect::<Vec<&str>>()
    };
    let columns = [
        Column::Ints(&numbers),
        Column::Ints(&reports),
        Column::Same(now),
        Column::Texts(&said(|outcome| outcome.outcome)),
        Column::Texts(&said(|outcome| outcome.code)),
        Column::Texts(&said(|outcome| outcome.message)),
    ];
    sql.execute_many(&queries::TICKET_COMPLETE, &columns)
}

/// Says what became of documents, each by a visit that was claimed after so many requests: their open tickets, but for those that were asked for
/// since.
///
/// # Errors
/// What the database says.
pub fn visited(sql: &mut Sql<'_>, visits: &[(i64, i64, Outcome<'_>)], now: i64) -> Result<()> {
    let documents: Vec<i64> = visits.iter().map(|(document, ..)| *document).collect();
    if documents.is_empty() {
        return Ok(());
    }
    let by_document: HashMap<i64, (i64, &Outcome<'_>)> =
        visits.iter().map(|(document, requests, outcome)| (*document, (*requests, outcome))).collect();
    let ended = |ticket: &OpenTicket| {
        let (requests, outcome) = by_document.get(&ticket.document)?;
        let is_of_it = ticket.requests <= *requests || failpoint(Failpoint::TicketOfEarlierVisit);
        is_of_it.then(|| ticket.completed((*outcome).clone()))
    };
    let open = open(sql, &documents)?;
    let delivered: Vec<i64> =
        open.iter().filter(|ticket| ended(ticket).is_some()).map(|ticket| ticket.document).collect();
    super::forget_before(sql, &delivered)?;
    let ended: Vec<Completed<'_>> = open.iter().filter_map(ended).collect();
    complete(sql, &ended, now)
}

/// One ticket.
///
/// # Errors
/// What the database says.
pub fn get(sql: &mut Sql<'_>, number: i64) -> Result<Option<Ticket>> {
    sql.one(&queries::TICKET_GET, &[Value::Int(number)], read)
}

/// Tickets of a job that were completed, after a report, in the order of their reports.
///
/// # Errors
/// What the database says.
pub fn reports(sql: &mut Sql<'_>, job: JobId, after: i64, most: usize) -> Result<Vec<Ticket>> {
    let values = [Value::Int(job.0), Value::Int(after), Value::Int(most as i64)];
    sql.query(&queries::TICKET_REPORTS, &values, read)
}

/// Forgets reports of a job up to one.
///
/// # Errors
/// What the database says.
pub fn forget(sql: &mut Sql<'_>, job: JobId, report: i64) -> Result<()> {
    sql.execute(&queries::TICKET_FORGET, &[Value::Int(job.0), Value::Int(report)])?;
    Ok(())
}

fn read(row: &Row<'_>) -> Result<Ticket> {
    let report = match row.opt_int(5)? {
        Some(number) => Some(Report {
            number,
            at: row.opt_int(6)?.unwrap_or_default(),
            outcome: row.opt_text(7)?.unwrap_or_default(),
            code: row.text(8)?,
            message: row.text(9)?,
        }),
        None => None,
    };
    Ok(Ticket {
        number: row.int(0)?,
        job: JobId(row.int(1)?),
        key: row.text(2)?,
        op: row.text(3)?,
        accepted_at: row.int(4)?,
        channel: row.opt_int(10)?,
        report,
    })
}
