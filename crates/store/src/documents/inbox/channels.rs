//! Channels that applications push through (decision 0052). A channel tells its client, in one order without gaps, what it took, what became of that, and each change of
//! its state: each report is written in the transaction of what it tells.

use ingather_model::ids::JobId;
use ingather_model::lifecycle::channel::{Event, MOVES, State};
use ingather_model::lifecycle::rules;
use ingather_model::limits;

use super::prepared;
use super::reports::{COMPLETED, FEEDBACK, FLUSHED, QUEUED, STATE, add, tell};
use super::tickets::{self, Completed, Outcome};
use crate::db::{Row, Sql, Value};
use crate::documents::take_ids;
use crate::error::{Result, StoreError};
use crate::queries;
use crate::secrets::seal_sink;

/// What a client wants of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewChannel<'a> {
    /// What the client calls itself.
    pub client: &'a str,
    /// Who asks: it is theirs.
    pub opened_by: &'a str,
    /// A push is answered when all that it took is completed.
    pub is_sync: bool,
    /// How long it lives without a sign of life.
    pub lease_ms: i64,
    /// How long it may be throttled.
    pub throttle_ms: i64,
    /// How many tickets may be open.
    pub open_max: i64,
    /// It tells of attempts that failed and are made again.
    pub tells_retries: bool,
    /// Where its reports are sent, if anywhere: it has heard the first one.
    pub sink: Option<NewSink<'a>>,
}

/// Where a client wants reports sent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct NewSink<'a> {
    /// Address.
    pub url: &'a str,
    /// What they are signed with.
    pub secret: &'a str,
    /// How long it may take none.
    pub ms: i64,
}

impl std::fmt::Debug for NewSink<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The secret is shown nowhere.
        write!(f, "NewSink({})", self.url)
    }
}

/// A channel as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channel {
    /// Its number.
    pub id: i64,
    /// The job of its source.
    pub job: JobId,
    /// What its client calls itself.
    pub client: String,
    /// Who opened it.
    pub opened_by: String,
    /// As in [`NewChannel::is_sync`].
    pub is_sync: bool,
    /// What it does.
    pub state: State,
    /// Why it ends; empty while it does not.
    pub reason: String,
    /// When it was opened, milliseconds since 1970 UTC.
    pub opened_at: i64,
    /// When its state changed last.
    pub changed_at: i64,
    /// The last sign of life of its client.
    pub seen_at: i64,
    /// As in [`NewChannel::lease_ms`].
    pub lease_ms: i64,
    /// As in [`NewChannel::throttle_ms`].
    pub throttle_ms: i64,
    /// As in [`NewChannel::open_max`].
    pub open_max: i64,
    /// As in [`NewChannel::tells_retries`].
    pub tells_retries: bool,
    /// Tickets that it took.
    pub taken: i64,
    /// Those of them that are completed.
    pub completed: i64,
    /// Its last report.
    pub serial: i64,
    /// The last report that its client has, as it says.
    pub acked: i64,
    /// Where its reports are sent, if anywhere.
    pub sink: Option<Sink>,
}

/// Where reports of a channel are sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sink {
    /// Address.
    pub url: String,
    /// As in [`NewSink::ms`].
    pub ms: i64,
    /// The last report that it has.
    pub delivered: i64,
    /// It took none for so long, and is asked no more.
    pub is_lost: bool,
}

impl Channel {
    /// Tickets that are open.
    pub fn open(&self) -> i64 {
        self.taken - self.completed
    }
}

fn read(row: &Row<'_>) -> Result<Channel> {
    let state = row.text(5)?;
    let sink =
        Sink { url: row.text(17)?, ms: row.int(18)?, delivered: row.int(19)?, is_lost: row.int(20)? == 1 };
    let unknown = || StoreError::Damaged(format!("a channel is in the state `{state}`"));
    Ok(Channel {
        id: row.int(0)?,
        job: JobId(row.int(1)?),
        client: row.text(2)?,
        opened_by: row.text(3)?,
        is_sync: row.int(4)? == 1,
        state: State::parse(&state).ok_or_else(unknown)?,
        reason: row.text(6)?,
        opened_at: row.int(7)?,
        changed_at: row.int(8)?,
        seen_at: row.int(9)?,
        lease_ms: row.int(10)?,
        throttle_ms: row.int(11)?,
        open_max: row.int(12)?,
        taken: row.int(13)?,
        completed: row.int(14)?,
        serial: row.int(15)?,
        acked: row.int(16)?,
        tells_retries: row.int(21)? == 1,
        sink: Some(sink).filter(|sink| !sink.url.is_empty()),
    })
}

/// A number for a channel.
///
/// # Errors
/// What the database says.
pub fn take_number(sql: &mut Sql<'_>) -> Result<i64> {
    take_ids(sql, "channel", 1)
}

/// Opens a channel of that number into the source of a job.
///
/// # Errors
/// What the database says; `Refused` where its secret cannot be sealed.
pub fn open(sql: &mut Sql<'_>, (id, job): (i64, JobId), new: NewChannel<'_>, now: i64) -> Result<()> {
    let secret = match new.sink {
        Some(sink) => seal_sink(sql, id, sink.secret)?,
        None => String::new(),
    };
    let state = after(State::Gone, Event::Open).unwrap_or(State::Running);
    let values = [
        Value::Int(id),
        Value::Int(job.0),
        Value::Text(new.client),
        Value::Text(new.opened_by),
        Value::Int(i64::from(new.is_sync)),
        Value::Text(state.as_str()),
        Value::Int(now),
        Value::Int(new.lease_ms),
        Value::Int(new.throttle_ms),
        Value::Int(new.open_max),
        Value::Text(new.sink.map_or("", |sink| sink.url)),
        Value::Text(&secret),
        Value::Int(new.sink.map_or(0, |sink| sink.ms)),
        Value::Int(i64::from(new.tells_retries)),
    ];
    sql.execute(&queries::CHANNEL_OPEN, &values)?;
    tell(sql, id, (STATE, state.as_str(), ""), now)
}

/// One channel.
///
/// # Errors
/// What the database says.
pub fn get(sql: &mut Sql<'_>, id: i64) -> Result<Option<Channel>> {
    sql.one(&queries::CHANNEL_GET, &[Value::Int(id)], read)
}

/// One channel, which nobody else changes before the end of this transaction. What is needed of documents, and of the numbers of tickets and reports, is had before.
///
/// # Errors
/// What the database says.
pub fn lock(sql: &mut Sql<'_>, id: i64) -> Result<Option<Channel>> {
    sql.one(&queries::CHANNEL_LOCK, &[Value::Int(id)], |row| row.int(0))?;
    get(sql, id)
}

/// Channels after one, by number.
///
/// # Errors
/// What the database says.
pub fn list(sql: &mut Sql<'_>, after: i64, most: usize) -> Result<Vec<Channel>> {
    sql.query(&queries::CHANNEL_LIST, &[Value::Int(after), Value::Int(most as i64)], read)
}

/// How many channels are kept.
///
/// # Errors
/// What the database says.
pub fn count(sql: &mut Sql<'_>) -> Result<usize> {
    Ok(sql.one(&queries::CHANNEL_COUNT, &[], |row| row.int(0))?.unwrap_or_default() as usize)
}

/// The client of a channel is there.
///
/// # Errors
/// What the database says.
pub fn seen(sql: &mut Sql<'_>, id: i64, now: i64) -> Result<()> {
    sql.execute(&queries::CHANNEL_SEEN, &[Value::Int(id), Value::Int(now)])?;
    Ok(())
}

/// A service begins: all channels have their leases from now on, for no client could give a sign of life before.
///
/// # Errors
/// What the database says.
pub fn renew(sql: &mut Sql<'_>, now: i64) -> Result<()> {
    sql.execute(&queries::CHANNEL_RENEW, &[Value::Int(now)])?;
    Ok(())
}

/// A channel that takes something has taken these tickets, and says so. Where nearly as many are open as may be, it is throttled from now on. `is_told`: its sink was told
/// of them before, so that it takes them also while it is throttled.
///
/// # Errors
/// `Conflict` where it ended or was throttled meanwhile; what the database says.
pub fn take(sql: &mut Sql<'_>, (id, is_told): (i64, bool), tickets: &[i64], now: i64) -> Result<()> {
    let count = tickets.len() as i64;
    let also = if is_told { State::Throttling } else { State::Running };
    let values = [Value::Int(id), Value::Int(count), Value::Int(now), Value::Text(also.as_str())];
    let taken =
        sql.one(&queries::CHANNEL_TAKE, &values, |row| Ok((row.int(0)?, row.int(1)?, row.int(2)?)))?;
    let Some((last, open, open_max)) = taken else {
        return Err(StoreError::Conflict(format!("channel {id} ended or was throttled meanwhile")));
    };
    add(sql, (id, last - count, now), QUEUED, tickets)?;
    if open * 100 > open_max * limits::CHANNEL_THROTTLE_PERCENT {
        step(sql, id, Event::Throttle, ("", now))?;
    }
    Ok(())
}

/// Tickets of a channel are completed: it says so, and does what waited for that.
///
/// # Errors
/// What the database says.
pub(super) fn completed(sql: &mut Sql<'_>, id: i64, tickets: &[i64], now: i64) -> Result<()> {
    let count = tickets.len() as i64;
    let values = [Value::Int(id), Value::Int(count)];
    let Some(last) = sql.one(&queries::CHANNEL_COMPLETE, &values, |row| row.int(0))? else { return Ok(()) };
    add(sql, (id, last - count, now), COMPLETED, tickets)?;
    settle(sql, id, now)
}

/// Does what waits for tickets that are completed: answers flushes, lets a channel take things again, and ends one.
pub(super) fn settle(sql: &mut Sql<'_>, id: i64, now: i64) -> Result<()> {
    let first = sql.one(&queries::TICKET_FIRST_OPEN, &[Value::Int(id)], |row| row.opt_int(0))?.flatten();
    // What its sink is being told of is neither taken nor refused yet.
    let prepared = prepared::first(sql, id)?;
    let first = first.into_iter().chain(prepared).min();
    let values = [Value::Int(id), Value::Int(first.unwrap_or(i64::MAX))];
    let flushed = sql.query(&queries::CHANNEL_FLUSH_DONE, &values, |row| row.int(0))?;
    for number in &flushed {
        tell(sql, id, (FEEDBACK, FLUSHED, &number.to_string()), now)?;
    }
    if let Some(last) = flushed.last() {
        sql.execute(&queries::CHANNEL_FLUSH_REMOVE, &[Value::Int(id), Value::Int(*last)])?;
    }
    let Some(channel) = get(sql, id)? else { return Ok(()) };
    let open = channel.open();
    match channel.state {
        State::Throttling if open * 100 < channel.open_max * limits::CHANNEL_RELAX_PERCENT => {
            step(sql, id, Event::Relax, ("", now))
        }
        State::Terminating if open == 0 && prepared.is_none() => step(sql, id, Event::Finish, ("", now)),
        _ => Ok(()),
    }
}

/// Has something happen to a channel, where its state permits that, and tells it. `reason`: why it ends; the first one counts.
fn step(sql: &mut Sql<'_>, id: i64, event: Event, (reason, now): (&str, i64)) -> Result<()> {
    let Some(channel) = get(sql, id)? else { return Ok(()) };
    let Some(state) = after(channel.state, event) else { return Ok(()) };
    let values = [
        Value::Int(id),
        Value::Text(channel.state.as_str()),
        Value::Text(state.as_str()),
        Value::Text(reason),
        Value::Int(now),
    ];
    if sql.execute(&queries::CHANNEL_MOVE, &values)? == 0 {
        return Ok(());
    }
    let about = if reason.is_empty() { channel.reason.as_str() } else { reason };
    tell(sql, id, (STATE, state.as_str(), about), now)
}

/// A channel takes nothing any more, for a reason; where nothing is open, it is over.
///
/// # Errors
/// What the database says.
pub fn terminate(sql: &mut Sql<'_>, id: i64, (reason, now): (&str, i64)) -> Result<()> {
    step(sql, id, Event::Terminate, (reason, now))?;
    settle(sql, id, now)
}

/// Asks a channel to say when all tickets before one of this number are completed: it says the number then.
///
/// # Errors
/// What the database says.
pub fn flush(sql: &mut Sql<'_>, id: i64, ticket: i64, now: i64) -> Result<()> {
    sql.execute(&queries::CHANNEL_FLUSH_ADD, &[Value::Int(id), Value::Int(ticket)])?;
    settle(sql, id, now)
}

/// The client of a channel has its reports up to one.
///
/// # Errors
/// What the database says.
pub fn acknowledge(sql: &mut Sql<'_>, id: i64, serial: i64, now: i64) -> Result<()> {
    sql.execute(&queries::CHANNEL_ACK, &[Value::Int(id), Value::Int(serial), Value::Int(now)])?;
    Ok(())
}

/// Forgets reports that are as old as they are kept, and a channel that is over with its last one.
///
/// # Errors
/// What the database says.
pub fn forget_old(sql: &mut Sql<'_>, channel: &Channel, now: i64) -> Result<()> {
    let id = Value::Int(channel.id);
    let acked = now - limits::CHANNEL_REPORTS_ACKED_MS;
    let values =
        [id, Value::Int(channel.acked), Value::Int(acked), Value::Int(now - limits::CHANNEL_REPORTS_MS)];
    let Some(last) = sql.one(&queries::CHANNEL_REPORT_OLD, &values, |row| row.int(0))? else { return Ok(()) };
    sql.execute(&queries::CHANNEL_REPORT_FORGET_TICKETS, &[id, Value::Int(last)])?;
    sql.execute(&queries::CHANNEL_REPORT_FORGET, &[id, Value::Int(last)])?;
    let is_over = after(channel.state, Event::Forget) == Some(State::Gone);
    if is_over && last == channel.serial {
        sql.execute(&queries::CHANNEL_REMOVE, &[id])?;
    }
    Ok(())
}

/// Open tickets of a channel after one: `(ticket, document)`.
///
/// # Errors
/// What the database says.
pub fn open_tickets(sql: &mut Sql<'_>, id: i64, after: i64, most: usize) -> Result<Vec<(i64, Option<i64>)>> {
    let values = [Value::Int(id), Value::Int(after), Value::Int(most as i64)];
    sql.query(&queries::TICKET_OF_CHANNEL, &values, |row| Ok((row.int(0)?, row.opt_int(1)?)))
}

/// The source of a job is deleted: what is open of its channels is aborted, and they end.
pub(super) fn source_deleted(sql: &mut Sql<'_>, job: JobId, now: i64) -> Result<()> {
    let why = Outcome { outcome: "aborted", code: "source_deleted", message: "its source was deleted" };
    tickets::hold_reports(sql)?;
    for channel in sql.query(&queries::CHANNEL_OF_JOB, &[Value::Int(job.0)], read)? {
        terminate(sql, channel.id, ("source_deleted", now))?;
        loop {
            let open = open_tickets(sql, channel.id, 0, limits::RECORDS_AT_ONCE_MAX)?;
            if open.is_empty() {
                break;
            }
            let aborted = |(number, _): &(i64, Option<i64>)| Completed {
                number: *number,
                channel: Some(channel.id),
                outcome: why.clone(),
            };
            tickets::complete(sql, &open.iter().map(aborted).collect::<Vec<_>>(), now)?;
        }
    }
    Ok(())
}

fn after(state: State, event: Event) -> Option<State> {
    rules::after(MOVES, state, event)
}
