//! What channels tell their clients: one row for each report, written in the transaction of what it tells.

use std::collections::BTreeMap;

use super::channels;
use super::tickets;
use crate::db::{Sql, Value};
use crate::error::Result;
use crate::queries;

/// A report: something was taken.
pub const QUEUED: &str = "queued";
/// A report: what became of it.
pub const COMPLETED: &str = "completed";
/// A report: the channel is in another state.
pub const STATE: &str = "state";
/// A report: what the client asked of the channel is done.
pub const FEEDBACK: &str = "feedback";
/// Feedback: everything that was taken before a flush is completed.
pub const FLUSHED: &str = "flushed";
/// A report that a client has asked for: an attempt to deliver something failed, and is made again.
pub const RETRY: &str = "retry";

/// What a channel told its client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelReport {
    /// Its place: 1, 2, 3 …
    pub serial: i64,
    /// When, milliseconds since 1970 UTC.
    pub at: i64,
    /// [`QUEUED`], [`COMPLETED`], [`STATE`], [`FEEDBACK`] or [`RETRY`].
    pub kind: String,
    /// The state, what the feedback says, or when the next attempt is made; empty for others.
    pub word: String,
    /// Why, or what it is about.
    pub about: String,
    /// The ticket that it is about.
    pub ticket: Option<ReportedTicket>,
}

/// The ticket of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportedTicket {
    /// Its number.
    pub number: i64,
    /// Key of the record.
    pub key: String,
    /// `put` or `delete`.
    pub op: String,
    /// What the client wants back.
    pub user_ref: Option<String>,
    /// What became of it; none while it is open.
    pub outcome: Option<String>,
    /// Why, a stable word; empty where it went well.
    pub code: String,
    /// Why, for a person.
    pub message: String,
}

/// What a channel told after a report.
///
/// # Errors
/// What the database says.
pub fn list(sql: &mut Sql<'_>, id: i64, after: i64, most: usize) -> Result<Vec<ChannelReport>> {
    let values = [Value::Int(id), Value::Int(after), Value::Int(most as i64)];
    sql.query(&queries::CHANNEL_REPORT_LIST, &values, |row| {
        let kind = row.text(2)?;
        let is_over = kind == COMPLETED;
        let ticket = match (row.opt_int(3)?, row.opt_text(6)?) {
            (Some(number), Some(key)) => Some(ReportedTicket {
                number,
                key,
                op: row.opt_text(7)?.unwrap_or_default(),
                user_ref: row.opt_text(8)?,
                outcome: row.opt_text(9)?.filter(|_| is_over),
                code: row.opt_text(10)?.filter(|_| is_over).unwrap_or_default(),
                message: row.opt_text(11)?.filter(|_| is_over).unwrap_or_default(),
            }),
            _ => None,
        };
        Ok(ChannelReport {
            serial: row.int(0)?,
            at: row.int(1)?,
            kind,
            word: row.text(4)?,
            about: row.text(5)?,
            ticket,
        })
    })
}

/// Attempts to deliver records failed and are made again: channels tell so that have open tickets of them and were asked to. `tried`: a document, the time of the
/// next attempt (milliseconds since 1970 UTC), and why.
///
/// # Errors
/// What the database says.
pub fn tell_retries(sql: &mut Sql<'_>, tried: &[(i64, i64, &str)], now: i64) -> Result<()> {
    if tried.is_empty() {
        return Ok(());
    }
    tickets::hold_reports(sql)?;
    let documents: Vec<i64> = tried.iter().map(|(document, ..)| *document).collect();
    let mut of_channels: BTreeMap<i64, Vec<tickets::OpenTicket>> = BTreeMap::new();
    for ticket in tickets::open(sql, &documents)? {
        if let Some(channel) = ticket.channel {
            of_channels.entry(channel).or_default().push(ticket);
        }
    }
    for (id, open) in of_channels {
        if channels::get(sql, id)?.is_none_or(|channel| !channel.tells_retries) {
            continue;
        }
        for ticket in open {
            let of_it = tried.iter().find(|(document, ..)| *document == ticket.document);
            if let Some((_, again_at, why)) = of_it {
                let told = (again_at.to_string(), *why);
                tell_about(sql, id, (RETRY, Some(ticket.number)), (&told.0, told.1), now)?;
            }
        }
    }
    Ok(())
}

/// Tells something that is about no ticket.
pub(super) fn tell(
    sql: &mut Sql<'_>,
    id: i64,
    (kind, word, about): (&str, &str, &str),
    now: i64,
) -> Result<()> {
    tell_about(sql, id, (kind, None), (word, about), now)
}

fn tell_about(
    sql: &mut Sql<'_>,
    id: i64,
    of: (&str, Option<i64>),
    told: (&str, &str),
    now: i64,
) -> Result<()> {
    let Some(serial) = sql.one(&queries::CHANNEL_TELL, &[Value::Int(id)], |row| row.int(0))? else {
        return Ok(());
    };
    write(sql, (id, serial, now), of, told)
}

/// Tells something about tickets, behind a report.
pub(super) fn add(
    sql: &mut Sql<'_>,
    (id, last, now): (i64, i64, i64),
    kind: &str,
    tickets: &[i64],
) -> Result<()> {
    for (ticket, serial) in tickets.iter().zip(last + 1..) {
        write(sql, (id, serial, now), (kind, Some(*ticket)), ("", ""))?;
    }
    Ok(())
}

fn write(
    sql: &mut Sql<'_>,
    (id, serial, now): (i64, i64, i64),
    (kind, ticket): (&str, Option<i64>),
    (word, about): (&str, &str),
) -> Result<()> {
    let values = [
        Value::Int(id),
        Value::Int(serial),
        Value::Int(now),
        Value::Text(kind),
        Value::OptInt(ticket),
        Value::Text(word),
        Value::Text(about),
    ];
    sql.execute(&queries::CHANNEL_REPORT_ADD, &values)?;
    Ok(())
}
