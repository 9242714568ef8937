//! Channels (decision 0052): what a client pushes through one is reported to it, each piece exactly once, until the channel ends. What time does to channels is done here;
//! what completed tickets do, in the transactions that complete them (`ingather_store::documents::inbox::channels`).

use std::collections::HashMap;

use ingather_model::ids::JobId;
use ingather_model::lifecycle::channel::State;
use ingather_model::limits;
use ingather_store::connections::{self, Ill};
use ingather_store::documents::inbox::channels::{self, Channel, NewChannel, NewSink};
use ingather_store::documents::inbox::tickets::Outcome;
use ingather_store::documents::inbox::{self as records, Record};
use ingather_store::jobs::{self, Job};
use ingather_store::queue::{self, VisitReason, VisitRequest};
use ingather_store::{Durability, Sql, StoreError, states};

use super::ill_outputs;
pub use super::ill_outputs::{STORE_CORRUPT, STORE_UNAVAILABLE};
use crate::engine::Engine;
use crate::error::{EngineError, Refusal, Result};

/// Why a channel ends: its client asked.
pub const BY_CLIENT: &str = "client";
/// Somebody else asked.
pub const BY_PERSON: &str = "person";
/// What it took and did not deliver was dropped.
pub const ABORTED: &str = "aborted";
/// Its client gave no sign of life for as long as its lease.
pub const LEASE: &str = "lease";
/// It was throttled for too long.
pub const THROTTLED: &str = "throttle_timeout";
/// Its sink took nothing for too long.
pub const SINK_LOST: &str = "sink_lost";
/// What becomes of a ticket that an abort drops.
const DROPPED: Outcome<'static> = Outcome {
    outcome: "aborted",
    code: "aborted",
    message: "its channel was aborted before it was delivered",
};

impl Engine {
    /// Opens a channel into the source of a job; its number. Where it has a sink, that has taken the first report.
    ///
    /// # Errors
    /// `Definition` where nothing can be pushed into the source, or its reports may not be sent there; `Sink`; `Busy` where there are as many channels as may be; `Deleting`;
    /// `ReadOnly`; `Output` where one that the source sends to is damaged; what the store says.
    pub fn open_channel(&self, job: &Job, new: NewChannel<'_>) -> Result<i64> {
        let (writer, inbox) = self.inbox_of(job)?;
        let Some(sink) = new.sink else {
            return self.in_source(&writer, job, |sql, now| {
                if let Err(error) = may_open(sql, job)? {
                    return Ok(Err(error));
                }
                let id = channels::take_number(sql)?;
                channels::open(sql, (id, job.id), new, now)?;
                Ok(Ok(id))
            });
        };
        let url = self.allowed(&inbox, sink.url)?;
        let taken = self.in_source(&writer, job, |sql, _| match may_open(sql, job)? {
            Ok(()) => Ok(Ok(channels::take_number(sql)?)),
            Err(error) => Ok(Err(error)),
        });
        let id = taken?;
        self.greet(id, (&url, sink.secret))?;
        let sink = NewSink { url: &url, ..sink };
        self.in_source(&writer, job, |sql, now| {
            if let Err(error) = may_open(sql, job)? {
                return Ok(Err(error));
            }
            channels::open(sql, (id, job.id), NewChannel { sink: Some(sink), ..new }, now)?;
            Ok(Ok(()))
        })?;
        Ok(id)
    }

    /// One channel.
    ///
    /// # Errors
    /// What the store says.
    pub fn channel(&self, id: i64) -> Result<Option<Channel>> {
        Ok(self.reader.read(|sql| channels::get(sql, id))?)
    }

    /// Has a channel take nothing any more, for a reason; what it took is carried to its end. Asked again, nothing changes.
    ///
    /// # Errors
    /// `NoSuchChannel`; `ReadOnly`; what the store says.
    pub fn terminate_channel(&self, id: i64, reason: &str) -> Result<Channel> {
        let work =
            |sql: &mut Sql<'_>, channel: &Channel, now| channels::terminate(sql, channel.id, (reason, now));
        let channel = self.with_channel(id, work)?;
        self.release_of_channel(&channel)?;
        Ok(channel)
    }

    /// Has a channel take nothing any more, and drops what it took and no visit has delivered: these records are as they were before. What somebody else has pushed over, or was
    /// told to be there, is carried to its end. Asked again, it goes on.
    ///
    /// # Errors
    /// `NoSuchChannel`; `ReadOnly`; what the store says.
    pub fn abort_channel(&self, id: i64) -> Result<Channel> {
        let channel = self.terminate_channel(id, ABORTED)?;
        let mut after = Some(0);
        while let Some(last) = after {
            let writer = self.writing()?;
            let _lease = self.process.keep_lease(&writer)?;
            let now = writer.call.now();
            after = writer.store.write(Durability::Synced, |sql| {
                writer.lease.fence(sql)?;
                drop_open(sql, &channel, (last, now))
            })?;
            self.process.pushed(channel.job, now);
        }
        self.channel(id)?.ok_or_else(|| no_such(id))
    }

    /// Asks a channel to say when everything that it has taken is completed; the number that it says then.
    ///
    /// # Errors
    /// `NoSuchChannel`; `Ended` where it is over; `ReadOnly`; what the store says.
    pub fn flush_channel(&self, id: i64) -> Result<i64> {
        let writer = self.writing()?;
        let _lease = self.process.keep_lease(&writer)?;
        let now = writer.call.now();
        let (number, channel) = writer.store.write(Durability::Synced, |sql| {
            writer.lease.fence(sql)?;
            let number = records::tickets::take(sql, 1)?;
            let Some(channel) = channels::lock(sql, id)? else { return Ok(Err(no_such(id))) };
            if channel.state == State::Terminated {
                return Ok(Err(ended(&channel)));
            }
            channels::seen(sql, id, now)?;
            channels::flush(sql, id, number, now)?;
            Ok(Ok((number, channel)))
        })??;
        self.release_of_channel(&channel)?;
        Ok(number)
    }

    /// The client of a channel gives a sign of life.
    ///
    /// # Errors
    /// `NoSuchChannel`; `ReadOnly`; what the store says.
    pub fn channel_lives(&self, id: i64) -> Result<Channel> {
        self.with_channel(id, |sql, channel, now| channels::seen(sql, channel.id, now))
    }

    /// The client of a channel has its reports up to one.
    ///
    /// # Errors
    /// `NoSuchChannel`; `ReadOnly`; what the store says.
    pub fn acknowledge_reports(&self, id: i64, serial: i64) -> Result<Channel> {
        let work = |sql: &mut Sql<'_>, channel: &Channel, now| {
            channels::acknowledge(sql, channel.id, serial.min(channel.serial), now)
        };
        self.with_channel(id, work)
    }

    /// A service begins: no client could give a sign of life before, so that all channels have their leases from now on.
    ///
    /// # Errors
    /// `ReadOnly`; what the store says.
    pub fn renew_channels(&self) -> Result<()> {
        let writer = self.writing()?;
        let _lease = self.process.keep_lease(&writer)?;
        let now = writer.call.now();
        writer.store.write(Durability::Relaxed, |sql| {
            writer.lease.fence(sql)?;
            channels::renew(sql, now)
        })?;
        // An abort that was cut off goes on.
        for channel in self.channels()?.filter(|channel| channel.reason == ABORTED) {
            if channel.state == State::Terminating {
                self.abort_channel(channel.id)?;
            }
        }
        Ok(())
    }

    fn channels(&self) -> Result<impl Iterator<Item = Channel>> {
        Ok(self.reader.read(|sql| channels::list(sql, 0, limits::CHANNELS_MAX))?.into_iter())
    }

    /// Ends channels whose clients are gone, that were throttled for too long, or whose outputs are away or damaged; when that is due next, milliseconds since 1970 UTC.
    /// `forgets`: also forgets reports that are as old as they are kept.
    ///
    /// # Errors
    /// `ReadOnly`; what the store says.
    pub fn tend_channels(&self, forgets: bool) -> Result<Option<i64>> {
        self.end_prepared()?;
        let writer = self.writing()?;
        let now = writer.call.now();
        let (ill, jobs) = self.reader.read(|sql| {
            let ill = connections::ill(sql)?;
            let jobs = if ill.is_empty() { Vec::new() } else { jobs::list(sql)? };
            Ok((ill, jobs))
        })?;
        let jobs: HashMap<JobId, Job> = jobs.into_iter().map(|job| (job.id, job)).collect();
        let mut next = None;
        for channel in self.channels()? {
            let due = due(&channel, &ill_outputs::of_job(&ill, jobs.get(&channel.job)));
            if let Some(due) = due.filter(|due| now < *due) {
                next = Some(next.map_or(due, |next: i64| next.min(due)));
            }
            let is_due = due.is_some_and(|due| now >= due);
            if forgets || is_due {
                let _lease = self.process.keep_lease(&writer)?;
                writer.store.write(Durability::Relaxed, |sql| {
                    writer.lease.fence(sql)?;
                    tend(sql, channel.id, now)
                })?;
            }
            // Also of one that had ended before this look, where a kill came in between or its sink was being told of something.
            let stands = if is_due { self.channel(channel.id)? } else { Some(channel) };
            stands.map_or(Ok(()), |channel| self.fail_open(&channel))?;
        }
        Ok(next)
    }

    /// Does something of a channel in one transaction, on disk when this returns; how it stands then.
    pub(super) fn with_channel(
        &self,
        id: i64,
        work: impl Fn(&mut Sql<'_>, &Channel, i64) -> std::result::Result<(), StoreError>,
    ) -> Result<Channel> {
        let writer = self.writing()?;
        let _lease = self.process.keep_lease(&writer)?;
        let now = writer.call.now();
        let done = writer.store.write(Durability::Synced, |sql| {
            writer.lease.fence(sql)?;
            let Some(channel) = channels::lock(sql, id)? else { return Ok(None) };
            work(sql, &channel, now)?;
            channels::get(sql, id)
        })?;
        done.ok_or_else(|| no_such(id))
    }
}

/// Whether there may be one more into the source of a job.
fn may_open(sql: &mut Sql<'_>, job: &Job) -> std::result::Result<Result<()>, StoreError> {
    let most = limits::CHANNELS_MAX;
    if channels::count(sql)? < most {
        return ill_outputs::may_open(sql, job);
    }
    let sentence = format!(
        "{most} channels are kept, and there may not be more; end some with `ingather channel terminate`, and acknowledge their reports"
    );
    Ok(Err(EngineError::refused(Refusal::Busy, sentence)))
}

/// When a channel ends if nothing happens to it; `ill`: outputs of its source that are away or damaged.
fn due(channel: &Channel, ill: &[Ill]) -> Option<i64> {
    let lease = channel.seen_at.saturating_add(channel.lease_ms);
    let throttled = channel.changed_at.saturating_add(channel.throttle_ms);
    let by_output = ill_outputs::ends(channel, ill).map(|(at, _)| at);
    match channel.state {
        State::Running => [Some(lease), by_output].into_iter().flatten().min(),
        State::Throttling => [Some(lease), by_output, Some(throttled)].into_iter().flatten().min(),
        State::Terminating | State::Terminated | State::Gone => None,
    }
}

fn tend(sql: &mut Sql<'_>, id: i64, now: i64) -> std::result::Result<(), StoreError> {
    let Some(channel) = channels::lock(sql, id)? else { return Ok(()) };
    let ill = connections::ill(sql)?;
    let job = if ill.is_empty() { None } else { jobs::get(sql, channel.job)? };
    let ill = ill_outputs::of_job(&ill, job.as_ref());
    if due(&channel, &ill).is_some_and(|due| now >= due) {
        let by_output = ill_outputs::ends(&channel, &ill).filter(|(at, _)| now >= *at);
        let is_silent = now >= channel.seen_at.saturating_add(channel.lease_ms);
        let reason = match by_output {
            _ if is_silent => LEASE,
            Some((_, reason)) => reason,
            None => THROTTLED,
        };
        channels::terminate(sql, id, (reason, now))?;
    }
    channels::forget_old(sql, &channel, now)
}

/// Why nothing can be pushed through a channel, if nothing can. `is_told`: its sink was told of it, so that it is taken also while too much is open, or the channel ends; not
/// where that drops what it took.
pub(super) fn takes(
    sql: &mut Sql<'_>,
    job: &Job,
    (id, is_told): (i64, bool),
) -> std::result::Result<Result<()>, StoreError> {
    let Some(channel) = channels::get(sql, id)?.filter(|channel| channel.job == job.id) else {
        return Ok(Err(no_such(id)));
    };
    Ok(match channel.state {
        State::Running => Ok(()),
        State::Throttling if is_told => Ok(()),
        State::Terminating if is_told && channel.reason != ABORTED => Ok(()),
        State::Throttling => {
            let why = ill_outputs::why(sql, job)?.map(|why| format!(" ({why})")).unwrap_or_default();
            let sentence = format!(
                "channel {id} takes nothing more while {} of {} tickets are open{why}; push again when reports say that they are completed",
                channel.open(),
                channel.open_max
            );
            Err(EngineError::refused(Refusal::Throttled, sentence))
        }
        State::Terminating | State::Terminated | State::Gone => Err(ended(&channel)),
    })
}

/// Drops what a channel took behind a ticket and no visit has delivered, a page of it; where the next page begins, if there is one.
fn drop_open(
    sql: &mut Sql<'_>,
    channel: &Channel,
    (after, now): (i64, i64),
) -> std::result::Result<Option<i64>, StoreError> {
    let page = channels::open_tickets(sql, channel.id, after, limits::RECORDS_AT_ONCE_MAX)?;
    let Some((last, _)) = page.last() else { return Ok(None) };
    let documents: Vec<i64> = page.iter().filter_map(|(_, document)| *document).collect();
    // On PostgreSQL somebody may push or deliver one of them: what is open is looked at again when nobody can any more.
    let documents = states::hold(sql, &documents)?;
    records::tickets::hold_reports(sql)?;
    let open = records::tickets::open(sql, &documents)?;
    let (mut dropped, mut ended) = (Vec::new(), Vec::new());
    let compounds = records::get(sql, &documents)?.into_iter().filter(|record| record.is_compound);
    let compounds: Vec<i64> = compounds.map(|record| record.document).collect();
    for ticket in open.iter().filter(|ticket| ticket.channel == Some(channel.id)) {
        let document = ticket.document;
        let before = records::before(sql, document)?;
        let Some(before) = before.filter(|before| before.channel == channel.id) else { continue };
        let back = Record {
            document,
            present: before.present,
            ticket: if before.present { before.ticket } else { ticket.number },
            hash: before.hash,
            acl: before.acl,
            buffered_since: 0,
            client_version: before.client_version,
            is_compound: compounds.contains(&document),
            pending_hash: None,
        };
        let content = before.present.then_some((before.about, &before.content[..]));
        records::put(sql, channel.job, &[(back, content)])?;
        dropped.push(document);
        ended.push(ticket.completed(DROPPED));
    }
    records::forget_before(sql, &dropped)?;
    // A visit that has begun may deliver what is dropped: another one puts that right.
    let request =
        |document: &i64| VisitRequest { document: *document, due: now, reason: VisitReason::Changed };
    let run = jobs::get(sql, channel.job)?.map_or(0, |job| job.run);
    queue::enqueue(sql, channel.job, run, &dropped.iter().map(request).collect::<Vec<_>>())?;
    records::tickets::complete(sql, &ended, now)?;
    Ok(Some(*last))
}

pub(super) fn no_such(id: i64) -> EngineError {
    let sentence = format!("there is no channel {id}, or it ended so long ago that it was forgotten");
    EngineError::refused(Refusal::NoSuchChannel, sentence)
}

fn ended(channel: &Channel) -> EngineError {
    let sentence =
        format!("channel {} is {} ({}); open another one", channel.id, channel.state, channel.reason);
    EngineError::refused(Refusal::Ended, sentence)
}
