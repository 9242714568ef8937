//! Tickets that the sink of a channel is being told of, before anything is taken (decision 0057): so a call that a kill cuts off is known, and what the sink may have heard has an end.

use ingather_model::fault::Reason;
use ingather_model::ids::JobId;
use ingather_model::limits;

use super::channels;
use super::tickets::{self, Completed, NewTicket, Outcome};
use crate::db::{Column, Sql, Value};
use crate::error::Result;
use crate::queries;

/// Notes what the sink of a channel is about to be told of: tickets of one call, which begins with the first of them.
///
/// # Errors
/// What the database says.
pub fn add(
    sql: &mut Sql<'_>,
    (job, channel): (JobId, i64),
    prepared: &[NewTicket<'_>],
    (now, by): (i64, &str),
) -> Result<()> {
    let Some(first) = prepared.first() else { return Ok(()) };
    let numbers: Vec<i64> = prepared.iter().map(|ticket| ticket.number).collect();
    let keys: Vec<&str> = prepared.iter().map(|ticket| ticket.key).collect();
    let ops: Vec<&str> = prepared.iter().map(|ticket| ticket.op).collect();
    let user_refs: Vec<Option<&str>> = prepared.iter().map(|ticket| ticket.user_ref).collect();
    let columns = [
        Column::Ints(&numbers),
        Column::Same(first.number),
        Column::Same(channel),
        Column::Same(job.0),
        Column::Texts(&keys),
        Column::Texts(&ops),
        Column::Same(now),
        Column::SameText(by),
        Column::OptTexts(&user_refs),
    ];
    sql.execute_many(&queries::TICKET_PREPARED_ADD, &columns)?;
    Ok(())
}

/// Calls whose tickets sinks are being told of: `(call, channel)`.
///
/// # Errors
/// What the database says.
pub fn calls(sql: &mut Sql<'_>) -> Result<Vec<(i64, i64)>> {
    let most = Value::Int(limits::CHANNELS_MAX as i64);
    sql.query(&queries::TICKET_PREPARED_CALLS, &[most], |row| Ok((row.int(0)?, row.int(1)?)))
}

/// The first ticket that the sink of a channel is being told of.
///
/// # Errors
/// What the database says.
pub fn first(sql: &mut Sql<'_>, channel: i64) -> Result<Option<i64>> {
    Ok(sql.one(&queries::TICKET_PREPARED_FIRST, &[Value::Int(channel)], |row| row.opt_int(0))?.flatten())
}

/// The tickets of a call are taken by this transaction; how many they are.
///
/// # Errors
/// What the database says.
pub fn taken(sql: &mut Sql<'_>, call: i64) -> Result<u64> {
    sql.execute(&queries::TICKET_PREPARED_REMOVE, &[Value::Int(call)])
}

/// A sink does not have what it was told of: nothing is left of the call.
///
/// # Errors
/// What the database says.
pub fn refused(sql: &mut Sql<'_>, (call, channel): (i64, i64), now: i64) -> Result<()> {
    channels::lock(sql, channel)?;
    sql.execute(&queries::TICKET_PREPARED_REMOVE, &[Value::Int(call)])?;
    // A channel may have ended meanwhile, and a flush may have waited.
    channels::settle(sql, channel, now)
}

/// A sink may have what it was told of, and nothing of that is done: each ticket of the call fails for this reason, and has its two reports.
///
/// # Errors
/// What the database says.
pub fn aborted(sql: &mut Sql<'_>, (call, channel): (i64, i64), reason: &Reason, now: i64) -> Result<()> {
    let rows = sql.query(&queries::TICKET_PREPARED_OF_CALL, &[Value::Int(call)], |row| {
        let told = (row.int(0)?, row.text(2)?, row.text(3)?, row.opt_text(6)?);
        Ok((told, JobId(row.int(1)?), row.int(4)?, row.text(5)?))
    })?;
    let Some((_, job, prepared_at, by)) = rows.first() else { return Ok(()) };
    tickets::hold_reports(sql)?;
    let ticket = |(number, key, op, user_ref): &(i64, String, String, Option<String>)| {
        (*number, key.clone(), op.clone(), user_ref.clone())
    };
    let told: Vec<(i64, String, String, Option<String>)> =
        rows.iter().map(|(told, ..)| ticket(told)).collect();
    let new: Vec<NewTicket<'_>> = told
        .iter()
        .map(|(number, key, op, user_ref)| NewTicket {
            number: *number,
            document: None,
            key,
            op,
            requests: 0,
            user_ref: user_ref.as_deref(),
        })
        .collect();
    tickets::add(sql, *job, &new, (*prepared_at, by, Some(channel)))?;
    let numbers: Vec<i64> = told.iter().map(|(number, ..)| *number).collect();
    sql.execute(&queries::TICKET_PREPARED_REMOVE, &[Value::Int(call)])?;
    channels::take(sql, (channel, true), &numbers, now)?;
    let outcome = Outcome::of("failed", reason);
    let ended =
        |number: &i64| Completed { number: *number, channel: Some(channel), outcome: outcome.clone() };
    tickets::complete(sql, &numbers.iter().map(ended).collect::<Vec<_>>(), now)
}
