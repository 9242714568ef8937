//! Reports of channels, sent to their sinks (decision 0057): all but `queued` in their order, at least once; what is not taken is sent again, and changes nothing of what it tells. A sink that takes
//! nothing for too long ends its channel.

use ingather_contract::repository::Receives;
use ingather_contract::sink::{ListedChannelReport, Message, Unheard};
use ingather_model::lifecycle::channel::State;
use ingather_model::limits;
use ingather_store::documents::inbox::channels::{self, Channel};
use ingather_store::documents::inbox::reports::{self, ChannelReport, QUEUED, RETRY, STATE};
use ingather_store::documents::inbox::sinks as rows;
use ingather_store::{Durability, StoreError, jobs, secrets};
use serde_json::{Value, json};

use super::InboxOf;
use super::channels::SINK_LOST;
use super::sinks::Given;
use crate::engine::Engine;
use crate::error::{EngineError, Refusal, Result};

impl Engine {
    /// The address that reports of a source may be sent to, as a client has written it.
    pub(super) fn allowed(&self, inbox: &InboxOf<'_>, url: &str) -> Result<String> {
        inbox.sinks.address(url).map_err(|why| EngineError::refused(Refusal::Definition, why.message))
    }

    /// Tells the sink of a channel that is being opened the first report.
    pub(super) fn greet(&self, channel: i64, sink: (&str, &str)) -> Result<()> {
        let running = State::Running.as_str().to_owned();
        let (kind, word) = (STATE.to_owned(), running);
        let at = self.clock.now();
        let report = ChannelReport { serial: 1, at, kind, word, about: String::new(), ticket: None };
        let told = self.tell_sink((channel, &format!("{channel}-1")), sink, vec![numbered(channel, report)]);
        told.map_err(|unheard| {
            let sentence = format!("{}; the channel is not opened", unheard.why());
            EngineError::refused(Refusal::Sink, sentence)
        })
    }

    /// Sends reports to a sink.
    pub(super) fn tell_sink(
        &self,
        (channel, id): (i64, &str),
        (url, secret): (&str, &str),
        reports: Vec<Value>,
    ) -> std::result::Result<(), Unheard> {
        let Some(sender) = self.process.sinks.sender() else {
            return Err(Unheard::Refused("this program sends no reports; ask a service".to_owned()));
        };
        let body = json!({"channel": channel, "reports": reports}).to_string();
        sender.send(&self.call(), &Message { url, secret, id, body: &body })
    }

    /// What reports of a channel are signed with.
    pub(super) fn sink_secret(&self, channel: i64) -> Result<std::result::Result<String, Unheard>> {
        let stored = self.reader.read(|sql| secrets::open_sink(sql, channel))?;
        let none = || Err("there is none any more".to_owned());
        Ok(stored
            .unwrap_or_else(none)
            .map_err(|why| Unheard::Refused(format!("what reports are signed with cannot be opened: {why}"))))
    }

    /// Channels whose turn it is to send reports: each is sent by [`Engine::send_reports`]; and how soon to look again, milliseconds.
    ///
    /// # Errors
    /// What the store says.
    pub fn sinks_due(&self) -> Result<(Vec<i64>, i64)> {
        let sinks = &self.process.sinks;
        if sinks.sender().is_none() {
            return Ok((Vec::new(), limits::SINK_LOOK_MS_IDLE));
        }
        let (are_there, behind) = self.reader.read(|sql| match rows::any(sql)? {
            true => Ok::<_, StoreError>((true, rows::behind(sql)?)),
            false => Ok((false, Vec::new())),
        })?;
        let next = if are_there { limits::SINK_LOOK_MS } else { limits::SINK_LOOK_MS_IDLE };
        Ok((sinks.give(&behind, self.clock.now()), next))
    }

    /// Sends reports of a channel to its sink, as far as one turn goes.
    ///
    /// # Errors
    /// `ReadOnly`; what the store says. What a sink says is no error: it is asked again.
    pub fn send_reports(&self, id: i64) -> Result<()> {
        let _turn = Given::to(&self.process.sinks, id);
        let sent = self.send_turn(id);
        if sent.is_err() {
            self.process.sinks.put_off(id, self.clock.now());
        }
        sent
    }

    fn send_turn(&self, id: i64) -> Result<()> {
        for _ in 0..limits::SINK_TURN_MAX {
            let found = self.reader.read(|sql| {
                let Some(channel) = channels::get(sql, id)? else { return Ok(None) };
                let Some(sink) = channel.sink.clone().filter(|sink| !sink.is_lost) else { return Ok(None) };
                let reports = reports::list(sql, id, sink.delivered, limits::SINK_REPORTS_MAX)?;
                Ok::<_, StoreError>(Some((channel, sink, reports)))
            })?;
            let Some((channel, sink, reports)) = found else { return Ok(()) };
            let Some(last) = reports.last().map(|report| report.serial) else { return Ok(()) };
            if let Err(_unheard) = self.send_batch(&channel, &sink.url, reports)? {
                if self.process.sinks.failed(id, (sink.ms, self.clock.now())) {
                    return self.lose_sink(&channel);
                }
                return Ok(());
            }
            self.process.sinks.heard(id);
            let writer = self.writing()?;
            let _lease = self.process.keep_lease(&writer)?;
            // One that a crash takes back is sent again.
            writer.store.write(Durability::Relaxed, |sql| {
                writer.lease.fence(sql)?;
                rows::delivered(sql, id, last)
            })?;
        }
        Ok(())
    }

    /// Sends some reports, but for those that were told before they were written.
    fn send_batch(
        &self,
        channel: &Channel,
        url: &str,
        reports: Vec<ChannelReport>,
    ) -> Result<std::result::Result<(), Unheard>> {
        let told: Vec<ChannelReport> = reports.into_iter().filter(|report| report.kind != QUEUED).collect();
        let (Some(first), Some(last)) = (told.first(), told.last()) else { return Ok(Ok(())) };
        let id = format!("{}-{}-{}", channel.id, first.serial, last.serial);
        // Where its source is gone, nobody has taken back what was allowed.
        if let Some(job) = self.reader.read(|sql| jobs::get(sql, channel.job))?
            && let Some(Receives { sinks, .. }) = self.repository(&job)?.pushed()
            && let Err(why) = sinks.address(url)
        {
            return Ok(Err(Unheard::Refused(why.message)));
        }
        let secret = match self.sink_secret(channel.id)? {
            Ok(secret) => secret,
            Err(unheard) => return Ok(Err(unheard)),
        };
        let told = told.into_iter().map(|report| numbered(channel.id, report)).collect();
        Ok(self.tell_sink((channel.id, &id), (url, &secret), told))
    }

    /// The sink of a channel took nothing for too long: it is asked no more, and the channel ends.
    fn lose_sink(&self, channel: &Channel) -> Result<()> {
        // Together: whoever sees why it ended sees that nothing is sent any more.
        let lost = self.with_channel(channel.id, |sql, channel, now| {
            rows::lose(sql, channel.id)?;
            channels::terminate(sql, channel.id, (SINK_LOST, now))
        })?;
        self.release_of_channel(&lost)
    }
}

/// A report with what tells it from others.
fn numbered(channel: i64, report: ChannelReport) -> Value {
    let id = format!("{channel}-{}", report.serial);
    with_id(id, &listed(report))
}

pub(super) fn with_id(id: String, report: &impl serde::Serialize) -> Value {
    let mut told = json!(report);
    told["id"] = Value::String(id);
    told
}

/// A report as it is told.
pub fn listed(report: ChannelReport) -> ListedChannelReport {
    let ChannelReport { serial, at, kind, word, about, ticket } = report;
    let mut listed = ListedChannelReport {
        report: serial,
        at,
        kind,
        word,
        about,
        ticket: None,
        key: None,
        op: None,
        user_ref: None,
        outcome: None,
        code: String::new(),
        message: String::new(),
        again_at: None,
    };
    if let Some(ticket) = ticket {
        listed.ticket = Some(ticket.number);
        listed.key = Some(ticket.key);
        listed.op = Some(ticket.op);
        listed.user_ref = ticket.user_ref;
        listed.outcome = ticket.outcome;
        listed.code = ticket.code;
        listed.message = ticket.message;
    }
    if listed.kind == RETRY {
        listed.again_at = std::mem::take(&mut listed.word).parse().ok();
        listed.message = std::mem::take(&mut listed.about);
    }
    listed
}
