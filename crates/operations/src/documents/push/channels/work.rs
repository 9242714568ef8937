//! What is asked of channels, done.

use ingather_engine::inbox::Through;
use ingather_engine::inbox::channels as engine_channels;
use ingather_engine::inbox::delta_runs::Claim;
use ingather_engine::inbox::reporting;
use ingather_model::lifecycle::channel::State;
use ingather_model::limits;
use ingather_store::documents::inbox::channels::{self, Channel, NewChannel, NewSink};
use ingather_store::documents::inbox::{reports, tickets};
use ingather_store::jobs::{self, Job};
use ingather_store::{Sql, StoreError};

use super::super::PushResult;
use super::super::work::{digest, push_of, refuse_too_many, with};
use super::{
    AcknowledgeReports, AskCapabilities, Capabilities, ChannelList, ChannelLook, ChannelMode,
    ChannelReportList, ChannelWebhook, Flush, ListChannelReports, ListChannels, NameChannel, OpenChannel,
    OptionalReport, PushThrough, PushedThrough, WantedWebhook,
};
use crate::context::{Caller, Context};
use crate::operation::Role;
use crate::page;
use crate::problem::{Code, Problem, Result};

pub(super) fn capabilities(
    context: &Context<'_>,
    _: &Caller<'_>,
    _: AskCapabilities,
) -> Result<Capabilities> {
    let is_service = context.host.background().is_some();
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
    let mut transports = words(if is_service { &["log", "long_poll", "event_stream"] } else { &["log"] });
    if sends_reports(context) {
        transports.push("webhook".to_owned());
    }
    Ok(Capabilities {
        version: 1,
        functions: words(&["records", "delta_runs", "channels"]),
        modes: if is_service {
            vec![ChannelMode::Async, ChannelMode::Sync]
        } else {
            vec![ChannelMode::Async]
        },
        throttle: true,
        transports,
        reports: words(&["queued", "completed", "state", "feedback"]),
        optional_reports: vec![OptionalReport::Retry],
        list_items_max: limits::RECORDS_AT_ONCE_MAX,
        list_bytes_max: limits::RECORDS_BYTES_MAX,
        content_bytes_max: limits::RECORD_CONTENT_BYTES_MAX,
        user_ref_bytes_max: limits::USER_REF_BYTES_MAX,
        open_max: limits::CHANNEL_OPEN_MAX,
    })
}

pub(super) fn open(context: &Context<'_>, caller: &Caller<'_>, request: OpenChannel) -> Result<ChannelLook> {
    let OpenChannel {
        source,
        client,
        mode,
        lease_seconds,
        throttle_seconds,
        open_max,
        optional_reports,
        webhook,
    } = request;
    let is_sync = mode == ChannelMode::Sync;
    if is_sync && context.host.background().is_none() {
        let sentence = "nothing delivers beside this command, so that no push could wait for that; ask a service, with --server";
        return Err(Problem::new(Code::UnsupportedMode, sentence));
    }
    let sink = webhook.as_ref().map(sink).transpose()?;
    let lease_ms =
        millis(("lease_seconds", lease_seconds), (limits::CHANNEL_LEASE_MS, limits::CHANNEL_LEASE_MS_MAX))?;
    let throttle_ms = millis(
        ("throttle_seconds", throttle_seconds),
        (limits::CHANNEL_THROTTLE_MS, limits::CHANNEL_THROTTLE_MS_MAX),
    )?;
    let open_max = open_max.unwrap_or(limits::CHANNEL_OPEN);
    if !(1..=limits::CHANNEL_OPEN_MAX).contains(&open_max) {
        return Err(Problem::usage(format!("`open_max` is from 1 to {}", limits::CHANNEL_OPEN_MAX)));
    }
    let client: String = client.chars().take(limits::CLIENT_LETTERS_MAX).collect();
    let opened_by = caller.name;
    let tells_retries = optional_reports.contains(&OptionalReport::Retry);
    let new = NewChannel {
        client: &client,
        opened_by,
        is_sync,
        lease_ms,
        throttle_ms,
        open_max,
        tells_retries,
        sink,
    };
    let id = with(context, (&source, caller), |engine, job| {
        if new.sink.is_some() && !sends_reports(context) {
            let sentence = "nothing here sends reports; ask a service of a program that was built with `webhook`, or read them from the log";
            return Err(Problem::new(Code::UnsupportedMode, sentence));
        }
        Ok(engine.open_channel(job, new)?)
    })?;
    let (channel, job) = channel_of(context, caller, id)?;
    Ok(look(channel, job.as_ref()))
}

fn sends_reports(context: &Context<'_>) -> bool {
    context.host.background().is_some() && context.host.process().can_report()
}

fn sink(wanted: &WantedWebhook) -> Result<NewSink<'_>> {
    let bounds = limits::SINK_SECRET_MIN..=limits::SINK_SECRET_MAX;
    if !bounds.contains(&wanted.secret.len()) {
        let sentence = format!("`webhook.secret` has from {} to {} bytes", bounds.start(), bounds.end());
        return Err(Problem::usage(sentence));
    }
    let usual = (limits::SINK_MS, limits::SINK_MS_MAX);
    let ms = millis(("webhook.sink_seconds", wanted.sink_seconds), usual)?;
    Ok(NewSink { url: &wanted.url, secret: &wanted.secret, ms })
}

fn millis((name, seconds): (&str, Option<u32>), (usual, most): (i64, i64)) -> Result<i64> {
    let millis = seconds.map_or(usual, |seconds| i64::from(seconds) * 1_000);
    match (1_000..=most).contains(&millis) {
        true => Ok(millis),
        false => Err(Problem::usage(format!("`{name}` is from 1 to {}", most / 1_000))),
    }
}

/// A channel with the job of its source, where it is of whoever asks, or they are an operator: others are told of none.
fn channel_of(context: &Context<'_>, caller: &Caller<'_>, id: i64) -> Result<(Channel, Option<Job>)> {
    let reader = context.existing()?;
    let found = reader.read(|sql| {
        let Some(channel) = channels::get(sql, id)? else { return Ok(None) };
        let job = jobs::get(sql, channel.job)?;
        Ok::<_, StoreError>(Some((channel, job)))
    })?;
    let found = found.filter(|(channel, job)| is_theirs(caller, channel) && caller.is_told_of(job.as_ref()));
    found.ok_or_else(|| no_such(id))
}

fn is_theirs(caller: &Caller<'_>, channel: &Channel) -> bool {
    channel.opened_by == caller.name || caller.has(Role::Operator)
}

/// So many channels after one that are of whoever asks. Where they may see some sources alone, nothing counts that is of others.
fn theirs(
    sql: &mut Sql<'_>,
    caller: &Caller<'_>,
    (mut after, most): (i64, usize),
) -> std::result::Result<Vec<(Channel, Option<Job>)>, StoreError> {
    let length = most.max(limits::LIST_PAGE_MAX as usize);
    let mut found = Vec::new();
    loop {
        let page = channels::list(sql, after, length)?;
        let is_last = page.len() < length;
        for channel in page {
            after = channel.id;
            if !is_theirs(caller, &channel) {
                continue;
            }
            let job = jobs::get(sql, channel.job)?;
            if caller.is_told_of(job.as_ref()) {
                found.push((channel, job));
            }
            if found.len() == most {
                return Ok(found);
            }
        }
        if is_last {
            return Ok(found);
        }
    }
}

fn no_such(id: i64) -> Problem {
    let sentence =
        format!("there is no channel {id} of yours, or it ended so long ago that it was forgotten");
    Problem::new(Code::NoSuchChannel, sentence)
}

fn look(channel: Channel, job: Option<&Job>) -> ChannelLook {
    let credits = credits(&channel);
    ChannelLook {
        channel: channel.id,
        source: job.map_or(String::new(), |job| job.name.clone()),
        client: channel.client,
        opened_by: channel.opened_by,
        mode: if channel.is_sync { ChannelMode::Sync } else { ChannelMode::Async },
        state: channel.state.as_str().to_owned(),
        reason: channel.reason,
        opened_at: channel.opened_at,
        changed_at: channel.changed_at,
        seen_at: channel.seen_at,
        lease_seconds: channel.lease_ms / 1_000,
        throttle_seconds: channel.throttle_ms / 1_000,
        open_max: channel.open_max,
        optional_reports: if channel.tells_retries { vec![OptionalReport::Retry] } else { Vec::new() },
        taken: channel.taken,
        completed: channel.completed,
        credits,
        last_report: channel.serial,
        acknowledged: channel.acked,
        webhook: channel.sink.map(|sink| ChannelWebhook {
            url: sink.url.split('?').next().unwrap_or_default().to_owned(),
            sink_seconds: sink.ms / 1_000,
            delivered: sink.delivered,
            lost: sink.is_lost,
        }),
    }
}

/// How many more tickets a channel takes before it is throttled.
fn credits(channel: &Channel) -> i64 {
    match channel.state {
        State::Running => {
            (channel.open_max * limits::CHANNEL_THROTTLE_PERCENT / 100 + 1 - channel.open()).max(0)
        }
        _ => 0,
    }
}

pub(super) fn list(context: &Context<'_>, caller: &Caller<'_>, request: ListChannels) -> Result<ChannelList> {
    let Some(reader) = context.host.reader()? else {
        return Ok(ChannelList { channels: Vec::new(), last: request.after, more: false });
    };
    let length = page::length(request.limit);
    let mut found = reader.read(|sql| theirs(sql, caller, (request.after, length + 1)))?;
    let more = found.len() > length;
    found.truncate(length);
    let last = found.last().map_or(request.after, |(channel, _)| channel.id);
    let channels = found.into_iter().map(|(channel, job)| look(channel, job.as_ref())).collect();
    Ok(ChannelList { channels, last, more })
}

pub(super) fn show(context: &Context<'_>, caller: &Caller<'_>, request: NameChannel) -> Result<ChannelLook> {
    let (channel, job) = channel_of(context, caller, request.channel)?;
    Ok(look(channel, job.as_ref()))
}

pub(super) fn push(
    context: &Context<'_>,
    caller: &Caller<'_>,
    request: PushThrough,
) -> Result<PushedThrough> {
    let PushThrough { channel: id, run, token, records, tickets: asked, wait_seconds: _ } = request;
    refuse_too_many(records.len().max(asked.len()))?;
    if run.is_some() != token.is_some() {
        return Err(Problem::usage("`run` and `token` stand together: what `push.begin` answered"));
    }
    if !records.is_empty() && !asked.is_empty() {
        return Err(Problem::usage("`records` are pushed, or `tickets` are asked for; leave one out"));
    }
    let (channel, job) = channel_of(context, caller, id)?;
    if !asked.is_empty() {
        return became(context, &channel, &asked);
    }
    let job = job.ok_or_else(|| no_such(id))?;
    let digest = token.as_deref().map(digest);
    let claim = run.zip(digest.as_deref()).map(|(epoch, token)| Claim { epoch, token });
    let through = Through { run: claim, channel: Some(id) };
    let pushes = records.into_iter().map(push_of).collect();
    let accepted =
        with(context, (&job.name, caller), |engine, job| Ok(engine.accept(job, through, pushes)?))?;
    let results: Vec<PushResult> = accepted.into_iter().map(PushResult::from).collect();
    let numbers = results.iter().filter_map(|result| match result {
        PushResult::Pending { ticket, .. } => Some(*ticket),
        _ => None,
    });
    let (channel, _) = channel_of(context, caller, id)?;
    // Some are completed already: what cannot be taken, and what is as it was.
    became(context, &channel, &numbers.collect::<Vec<_>>())
}

/// What became of tickets of a channel.
fn became(context: &Context<'_>, channel: &Channel, asked: &[i64]) -> Result<PushedThrough> {
    let reader = context.existing()?;
    let tickets = reader.read(|sql| {
        asked.iter().map(|number| tickets::get(sql, *number)).collect::<std::result::Result<Vec<_>, _>>()
    })?;
    let result = |(ticket, number): (Option<tickets::Ticket>, &i64)| {
        let ticket = ticket.filter(|ticket| ticket.channel == Some(channel.id)).ok_or_else(|| {
            Problem::usage(format!("ticket {number} is none of channel {}, or was forgotten", channel.id))
        })?;
        Ok(match ticket.report {
            None => PushResult::Pending { ticket: ticket.number, was_there: None },
            Some(report) => PushResult::Completed {
                ticket: ticket.number,
                outcome: report.outcome,
                code: report.code,
                message: report.message,
            },
        })
    };
    let results = tickets.into_iter().zip(asked).map(result).collect::<Result<Vec<_>>>()?;
    let mode = if channel.is_sync { ChannelMode::Sync } else { ChannelMode::Async };
    Ok(PushedThrough { results, mode, credits: credits(channel), last_report: channel.serial })
}

pub(super) fn reports(
    context: &Context<'_>,
    caller: &Caller<'_>,
    request: ListChannelReports,
) -> Result<ChannelReportList> {
    let reader = context.existing()?;
    let length = page::length(request.limit);
    // The state first: what is told until it is terminated is seen then.
    let (channel, _) = channel_of(context, caller, request.channel)?;
    let mut found = reader.read(|sql| reports::list(sql, channel.id, request.after, length + 1))?;
    let more = found.len() > length;
    found.truncate(length);
    let last = found.last().map_or(request.after, |report| report.serial);
    let reports = found.into_iter().map(reporting::listed).collect();
    Ok(ChannelReportList { reports, last, more, state: channel.state.as_str().to_owned() })
}

/// Does something with a channel, as the engine that may write.
fn steer<T>(
    context: &Context<'_>,
    caller: &Caller<'_>,
    id: i64,
    work: impl FnOnce(&ingather_engine::Engine, &str) -> Result<T>,
) -> Result<(T, Option<Job>)> {
    let (channel, job) = channel_of(context, caller, id)?;
    let writing = context.host.write_beside("push")?;
    let engine = context.engine(writing.store.reader().clone(), Some(&writing), &[]);
    let reason = match channel.opened_by == caller.name {
        true => engine_channels::BY_CLIENT,
        false => engine_channels::BY_PERSON,
    };
    Ok((work(&engine, reason)?, job))
}

pub(super) fn acknowledge(
    context: &Context<'_>,
    caller: &Caller<'_>,
    request: AcknowledgeReports,
) -> Result<ChannelLook> {
    let (channel, job) = steer(context, caller, request.channel, |engine, _| {
        Ok(engine.acknowledge_reports(request.channel, request.report)?)
    })?;
    Ok(look(channel, job.as_ref()))
}

pub(super) fn heartbeat(
    context: &Context<'_>,
    caller: &Caller<'_>,
    request: NameChannel,
) -> Result<ChannelLook> {
    let (channel, job) =
        steer(context, caller, request.channel, |engine, _| Ok(engine.channel_lives(request.channel)?))?;
    Ok(look(channel, job.as_ref()))
}

pub(super) fn flush(context: &Context<'_>, caller: &Caller<'_>, request: NameChannel) -> Result<Flush> {
    let (flush, _) =
        steer(context, caller, request.channel, |engine, _| Ok(engine.flush_channel(request.channel)?))?;
    Ok(Flush { channel: request.channel, flush })
}

pub(super) fn terminate(
    context: &Context<'_>,
    caller: &Caller<'_>,
    request: NameChannel,
) -> Result<ChannelLook> {
    let (channel, job) = steer(context, caller, request.channel, |engine, reason| {
        Ok(engine.terminate_channel(request.channel, reason)?)
    })?;
    Ok(look(channel, job.as_ref()))
}

pub(super) fn abort(context: &Context<'_>, caller: &Caller<'_>, request: NameChannel) -> Result<ChannelLook> {
    let (channel, job) =
        steer(context, caller, request.channel, |engine, _| Ok(engine.abort_channel(request.channel)?))?;
    Ok(look(channel, job.as_ref()))
}
