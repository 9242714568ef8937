//! `queued` is part of queueing (coverage S2.23), also where it is told to a sink: the tickets of a call are *prepared*, the sink is told of them, and then all is written as without one. Nothing is
//! held meanwhile but a row for each ticket, by which whatever becomes of the call is known.
//!
//! | What the sink says | What becomes of the call |
//! |---|---|
//! | 2xx | it is accepted |
//! | anything else, or it is not reached | nothing is left of it |
//! | nothing, or nobody knows | its tickets fail: `queue_aborted`, as the sink hears when it answers again |

use ingather_contract::sink::Unheard;
use ingather_model::fault::Reason;
use ingather_store::documents::inbox::channels::{self as channel_rows, Channel};
use ingather_store::documents::inbox::prepared;
use ingather_store::documents::inbox::reports::{ChannelReport, QUEUED, ReportedTicket};
use ingather_store::documents::inbox::tickets::{self, NewTicket};
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::{Durability, Sql, StoreError};
use serde_json::Value;

use super::accepting::as_told;
use super::reporting::{listed, with_id};
use super::sinks::ToldCall;
use super::{Accepted, Ask, InboxOf, Push, Through, channels, claims};
use crate::delivery::writer::Writer;
use crate::engine::Engine;
use crate::error::{EngineError, Refusal, Result};

/// Code of a ticket that a sink may have heard of, and that was not taken.
const QUEUE_ABORTED: &str = "queue_aborted";

impl Engine {
    /// Accepts pushes through a channel whose sink hears of them first.
    pub(super) fn accept_told(
        &self,
        (writer, inbox): &(Writer, InboxOf<'_>),
        (through, channel): (Through<'_>, &Channel),
        pushes: &[&Push],
    ) -> Result<Vec<Accepted>> {
        let url = channel.sink.as_ref().map_or("", |sink| sink.url.as_str());
        let url = self.allowed(inbox, url)?;
        let telling = self.process.sinks.telling(channel.id)?;
        let call = self.prepare_told((writer, inbox), (through, channel.id), (pushes, &telling))?;
        let told = match self.sink_secret(channel.id)? {
            Ok(secret) => {
                let id = format!("{}-{call}-{QUEUED}", channel.id);
                self.tell_sink((channel.id, &id), (&url, &secret), self.queued(call, pushes))
            }
            Err(unheard) => Err(unheard),
        };
        match told {
            Err(Unheard::Refused(_)) if failpoint(Failpoint::RefusedIsTaken) => {}
            Ok(()) => self.process.sinks.heard(channel.id),
            Err(unheard) => {
                match &unheard {
                    Unheard::Lost(_) if !failpoint(Failpoint::LostIsForgotten) => {
                        self.abort_prepared((call, channel.id))?;
                    }
                    _ => self.of_prepared(|sql, now| prepared::refused(sql, (call, channel.id), now))?,
                }
                let sentence = format!("{}; none of these records is taken", unheard.why());
                return Err(EngineError::refused(Refusal::NotReported, sentence));
            }
        }
        self.accept_as((writer, inbox), (through, Some(call)), pushes).inspect_err(|_| {
            // Where this fails as well, whoever looks at channels does it.
            let _ = self.abort_prepared((call, channel.id));
        })
    }

    /// Takes numbers for the tickets of a call, and notes these; the first of them. Refused is what would be refused behind it.
    fn prepare_told(
        &self,
        (writer, inbox): (&Writer, &InboxOf<'_>),
        (through, channel): (Through<'_>, i64),
        (pushes, telling): (&[&Push], &ToldCall<'_>),
    ) -> Result<i64> {
        let job = inbox.job;
        self.in_source(writer, job, |sql, now| {
            if let Some(claim) = through.run
                && let Err(error) = claims::claimed(sql, job, claim, now)?
            {
                return Ok(Err(error));
            }
            let first = tickets::take(sql, pushes.len())?;
            // Nobody ends it between the look and the note.
            channel_rows::lock(sql, channel)?;
            if let Err(error) = channels::takes(sql, job, (channel, false))? {
                return Ok(Err(error));
            }
            let new: Vec<NewTicket<'_>> =
                pushes.iter().zip(first..).map(|(push, number)| new_ticket(push, number)).collect();
            prepared::add(sql, (job.id, channel), &new, (now, &self.asked_by))?;
            // Before anybody can see it: what nobody is telling of is ended.
            telling.of(first);
            Ok(Ok(first))
        })
    }

    /// The reports of what is about to be taken: they have no numbers, and precede all others of their tickets.
    fn queued(&self, call: i64, pushes: &[&Push]) -> Vec<Value> {
        let at = self.clock.now();
        let told = |(push, number): (&&Push, i64)| {
            let NewTicket { key, op, user_ref, .. } = new_ticket(push, number);
            let ticket = ReportedTicket {
                number,
                key: key.to_owned(),
                op: op.to_owned(),
                user_ref: user_ref.map(str::to_owned),
                outcome: None,
                code: String::new(),
                message: String::new(),
            };
            let (kind, none) = (QUEUED.to_owned(), String::new);
            let report =
                ChannelReport { serial: 0, at, kind, word: none(), about: none(), ticket: Some(ticket) };
            let mut told = with_id(format!("{number}-{QUEUED}"), &listed(report));
            if let Some(fields) = told.as_object_mut() {
                fields.remove("report");
            }
            told
        };
        pushes.iter().zip(call..).map(told).collect()
    }

    /// Ends calls that nobody is making any more: a service was killed while it told a sink of them.
    pub(super) fn end_prepared(&self) -> Result<()> {
        for (call, channel) in self.reader.read(prepared::calls)? {
            if !self.process.sinks.is_telling(call) && !failpoint(Failpoint::PreparedStays) {
                self.abort_prepared((call, channel))?;
            }
        }
        Ok(())
    }

    /// What a sink may have heard of is over, and nothing was taken of it.
    fn abort_prepared(&self, (call, channel): (i64, i64)) -> Result<()> {
        let sentence = "it was not taken, and its webhook may have heard that it is queued; push it again";
        let reason = Reason::new(QUEUE_ABORTED, sentence);
        self.of_prepared(|sql, now| prepared::aborted(sql, (call, channel), &reason, now))
    }

    fn of_prepared(
        &self,
        work: impl Fn(&mut Sql<'_>, i64) -> std::result::Result<(), StoreError>,
    ) -> Result<()> {
        let writer = self.writing()?;
        let _lease = self.process.keep_lease(&writer)?;
        let now = writer.call.now();
        writer.store.write(Durability::Synced, |sql| {
            writer.lease.fence(sql)?;
            work(sql, now)
        })?;
        Ok(())
    }
}

fn new_ticket<'p>(push: &'p Push, number: i64) -> NewTicket<'p> {
    NewTicket {
        number,
        document: None,
        key: as_told(&push.key),
        op: push.op(),
        requests: 0,
        user_ref: push.user_ref.as_deref(),
    }
}

impl Push {
    /// Its word.
    pub(super) fn op(&self) -> &'static str {
        if matches!(self.ask, Ask::Delete) { "delete" } else { "put" }
    }
}
