//! What is asked of a source that applications push into, done.

use ingather_engine::Engine;
use ingather_engine::inbox::delta_runs::{self as engine_runs, Check, Checked, Claim};
use ingather_engine::inbox::{Accepted, Ask, Push, Through};
use ingather_model::fault::Reason;
use ingather_model::limits;
use ingather_model::run_counts::number;
use ingather_store::Reader;
use ingather_store::documents::inbox::{self, tickets};
use ingather_store::jobs::{self, Job};
use ingather_store::queue;
use serde_json::Value;

use super::items::{PushedItem, are_keys};
use super::runs::HeldObsolete;
use super::{
    BeginDeltaRun, CheckRecords, CheckedItem, CheckedRecords, DeltaMode, DeltaRunLook, EndedDeltaRun,
    FinishDeltaRun, Ledger, ListReports, ListedReport, OpenedDeltaRun, PushRecords, PushResult,
    PushedRecords, ReportList, RollBackDeltaRun, ShowDeltaRun, ShowTicket, TicketLook, TicketReport,
    TouchRecords, Touched, UnlockSource, Unlocked, VisitRecords, VisitedRecords,
};
use crate::callers::api_keys;
use crate::connections::Sources;
use crate::context::{Caller, Context};
use crate::page;
use crate::problem::{Code, Problem, Result};

/// The job of a source. Whoever may only push is told of no other job, and of no source that is not theirs.
pub(super) fn source_of(reader: &Reader, name: &str, caller: &Caller<'_>) -> Result<Job> {
    let found = caller.source(reader.read(|sql| jobs::by_name(sql, name))?);
    found.filter(|job| Sources::of_root(&job.root).are_pushed()).ok_or_else(|| {
        let sentence = format!(
            "there is no source `{name}` that applications push into; whoever may define jobs makes it: `ingather job define push:{name}`"
        );
        Problem::new(Code::NoSuchJob, sentence)
    })
}

/// Does something with the job of a source, as the engine that may write.
pub(super) fn with<T>(
    context: &Context<'_>,
    (source, caller): (&str, &Caller<'_>),
    work: impl FnOnce(&Engine, &Job) -> Result<T>,
) -> Result<T> {
    let reader = context.existing()?;
    let job = source_of(&reader, source, caller)?;
    let writing = context.host.write_beside("push")?;
    let engine = context.engine(writing.store.reader().clone(), Some(&writing), &[]);
    work(&Engine { asked_by: caller.name.to_owned(), ..engine }, &job)
}

pub(super) fn digest(token: &str) -> String {
    blake3::hash(token.as_bytes()).to_hex().to_string()
}

pub(super) fn refuse_too_many(count: usize) -> Result<()> {
    if count <= limits::RECORDS_AT_ONCE_MAX {
        return Ok(());
    }
    let sentence =
        format!("{} records at once; send at most {}", number(count as u64), limits::RECORDS_AT_ONCE_MAX);
    Err(Problem::new(Code::TooLarge, sentence))
}

/// What is asked of a record as it was sent; what cannot be kept is wrong. Its client wants to know of one that cannot even be read.
pub(super) fn push_of(record: Value) -> Push {
    // No database has the character U+0000 in a text.
    let text = |field: &str| record[field].as_str().map(|text| text.replace('\0', "\u{fffd}"));
    let (key, user_ref) = (text("key").unwrap_or_default(), text("user_ref"));
    let wrong = |why: String| Ask::Wrong(Reason::new("invalid_record", why));
    let version = record["version"].as_i64();
    let (key, user_ref, ask) = match PushedItem::read(record) {
        Err(why) => (key, user_ref, wrong(why)),
        Ok(item) if item.delete => (item.key, item.user_ref, Ask::Delete),
        Ok(item) => {
            let (key, user_ref) = (item.key.clone(), item.user_ref.clone());
            (key, user_ref, item.put().map_or_else(wrong, |put| Ask::Put(Box::new(put))))
        }
    };
    // One that is too long comes back with no report.
    let user_ref = user_ref.filter(|text| text.len() <= limits::USER_REF_BYTES_MAX);
    Push { key, ask, user_ref, version }
}

impl From<Accepted> for PushResult {
    fn from(accepted: Accepted) -> PushResult {
        match accepted {
            Accepted::Pending { ticket, was_there } => {
                PushResult::Pending { ticket, was_there: Some(was_there) }
            }
            Accepted::Unchanged => PushResult::Unchanged,
            Accepted::Refused(reason) => PushResult::Refused { code: reason.code, message: reason.message },
        }
    }
}

pub(super) fn records(
    context: &Context<'_>,
    caller: &Caller<'_>,
    request: PushRecords,
) -> Result<PushedRecords> {
    let PushRecords { source, run, token, records } = request;
    refuse_too_many(records.len())?;
    if run.is_some() != token.is_some() {
        return Err(Problem::usage("`run` and `token` stand together: what `push.begin` answered"));
    }
    let pushes = records.into_iter().map(push_of).collect();
    let digest = token.as_deref().map(digest);
    let claim = run.zip(digest.as_deref()).map(|(epoch, token)| Claim { epoch, token });
    let through = Through { run: claim, channel: None };
    let accepted = with(context, (&source, caller), |engine, job| Ok(engine.accept(job, through, pushes)?))?;
    Ok(PushedRecords { results: accepted.into_iter().map(PushResult::from).collect() })
}

pub(super) fn ticket(context: &Context<'_>, caller: &Caller<'_>, request: ShowTicket) -> Result<TicketLook> {
    let no_such = || {
        Problem::new(
            Code::NoSuchTicket,
            format!("there is no ticket {}, or its report was forgotten", request.ticket),
        )
    };
    let reader = context.existing()?;
    let found = reader.read(|sql| {
        let Some(ticket) = tickets::get(sql, request.ticket)? else { return Ok(None) };
        let job = caller.source(jobs::get(sql, ticket.job)?);
        Ok(job.map(|job| (ticket, job.name)))
    })?;
    let (ticket, source) = found.ok_or_else(no_such)?;
    let report = ticket.report.map(|report| TicketReport {
        report: report.number,
        at: report.at,
        outcome: report.outcome,
        code: report.code,
        message: report.message,
    });
    let tickets::Ticket { number, key, op, accepted_at, .. } = ticket;
    Ok(TicketLook { ticket: number, source, key, op, accepted_at, report })
}

pub(super) fn reports(
    context: &Context<'_>,
    caller: &Caller<'_>,
    request: ListReports,
) -> Result<ReportList> {
    let reader = context.existing()?;
    let job = source_of(&reader, &request.source, caller)?;
    let length = page::length(request.limit);
    let mut found = reader.read(|sql| tickets::reports(sql, job.id, request.after, length + 1))?;
    let more = found.len() > length;
    found.truncate(length);
    let listed = |ticket: tickets::Ticket| {
        let report = ticket.report?;
        Some(ListedReport {
            report: report.number,
            ticket: ticket.number,
            key: ticket.key,
            op: ticket.op,
            accepted_at: ticket.accepted_at,
            at: report.at,
            outcome: report.outcome,
            code: report.code,
            message: report.message,
        })
    };
    let reports: Vec<ListedReport> = found.into_iter().filter_map(listed).collect();
    let last = reports.last().map_or(request.after, |last| last.report);
    Ok(ReportList { reports, last, more })
}

pub(super) fn begin(
    context: &Context<'_>,
    caller: &Caller<'_>,
    request: BeginDeltaRun,
) -> Result<OpenedDeltaRun> {
    let BeginDeltaRun { source, mode, of, client, lease_seconds } = request;
    are_keys(of.as_slice()).map_err(Problem::usage)?;
    let lease_ms = lease_seconds.map_or(limits::DELTA_LEASE_MS, |seconds| i64::from(seconds) * 1_000);
    if !(1_000..=limits::DELTA_LEASE_MS_MAX).contains(&lease_ms) {
        let most = limits::DELTA_LEASE_MS_MAX / 1_000;
        return Err(Problem::usage(format!("`lease_seconds` is from 1 to {most}")));
    }
    let token = api_keys::random()?;
    let client: String = client
        .map_or(caller.name.to_owned(), |client| format!("{client} ({})", caller.name))
        .chars()
        .take(limits::CLIENT_LETTERS_MAX)
        .collect();
    let mode = match mode {
        DeltaMode::Full => engine_runs::DeltaMode::Full,
        DeltaMode::Additive => engine_runs::DeltaMode::Additive,
    };
    let run = with(context, (&source, caller), |engine, job| {
        Ok(engine.open_delta_run(job, (mode, lease_ms, of.as_deref()), (&client, &digest(&token)))?)
    })?;
    Ok(OpenedDeltaRun { run, token, lease_seconds: (lease_ms / 1_000) as u32 })
}

pub(super) fn check(
    context: &Context<'_>,
    caller: &Caller<'_>,
    request: CheckRecords,
) -> Result<CheckedRecords> {
    let CheckRecords { source, run, token, records } = request;
    refuse_too_many(records.len())?;
    let digest = digest(&token);
    let checks = checks_of(&records)?;
    let checked = with(context, (&source, caller), |engine, job| {
        Ok(engine.check(job, Claim { epoch: run, token: &digest }, &checks)?)
    })?;
    let word = |checked: Checked| match checked {
        Checked::New => CheckedItem::New,
        Checked::Changed => CheckedItem::Changed,
        Checked::Unchanged => CheckedItem::Unchanged,
    };
    Ok(CheckedRecords { results: checked.into_iter().map(word).collect() })
}

/// What is said of records beside their keys, as the engine takes it.
fn checks_of(records: &[Ledger]) -> Result<Vec<Check<'_>>> {
    let check = |record: &'_ Ledger| are_keys(&record.parents).map_err(Problem::usage);
    records.iter().try_for_each(check)?;
    Ok(records
        .iter()
        .map(|Ledger { key, hash, parents, shallow }| Check {
            key,
            hash: hash.as_deref(),
            parents,
            is_shallow: *shallow,
        })
        .collect())
}

pub(super) fn visit(
    context: &Context<'_>,
    caller: &Caller<'_>,
    request: VisitRecords,
) -> Result<VisitedRecords> {
    let VisitRecords { source, run, token, records } = request;
    refuse_too_many(records.len())?;
    let visits = checks_of(&records)?;
    let found = with(context, (&source, caller), |engine, job| {
        Ok(engine.visit(job, Claim { epoch: run, token: &digest(&token) }, &visits)?)
    })?;
    let unknown = records.iter().zip(found).filter(|(_, found)| !found).map(|(record, _)| record.key.clone());
    Ok(VisitedRecords { run, unknown: unknown.collect() })
}

pub(super) fn touch(context: &Context<'_>, caller: &Caller<'_>, request: TouchRecords) -> Result<Touched> {
    let TouchRecords { source, run, token, keys } = request;
    refuse_too_many(keys.len())?;
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    with(context, (&source, caller), |engine, job| {
        engine.touch(job, Claim { epoch: run, token: &digest(&token) }, &keys)?;
        Ok(Touched { run })
    })
}

pub(super) fn finish(
    context: &Context<'_>,
    caller: &Caller<'_>,
    request: FinishDeltaRun,
) -> Result<EndedDeltaRun> {
    let FinishDeltaRun { source, run, token, complete, confirm } = request;
    with(context, (&source, caller), |engine, job| {
        let claim = Claim { epoch: run, token: &digest(&token) };
        let finished = engine.finish_delta_run(job, claim, (complete, confirm))?;
        let held = finished.held.map(HeldObsolete::from);
        Ok(EndedDeltaRun { run, deleted: finished.deleted, veto: finished.veto, held })
    })
}

pub(super) fn roll_back(
    context: &Context<'_>,
    caller: &Caller<'_>,
    request: RollBackDeltaRun,
) -> Result<EndedDeltaRun> {
    let RollBackDeltaRun { source, run, token } = request;
    with(context, (&source, caller), |engine, job| {
        engine.roll_back(job, Claim { epoch: run, token: &digest(&token) })?;
        Ok(EndedDeltaRun { run, deleted: 0, veto: None, held: None })
    })
}

pub(super) fn look(
    context: &Context<'_>,
    caller: &Caller<'_>,
    request: ShowDeltaRun,
) -> Result<DeltaRunLook> {
    let reader = context.existing()?;
    let job = source_of(&reader, &request.source, caller)?;
    look_at(&reader, job, context.now())
}

/// How the source of a job stands at a time.
pub(super) fn look_at(reader: &Reader, job: Job, now: i64) -> Result<DeltaRunLook> {
    let (run, records, (buffered, buffered_since)) = reader.read(|sql| {
        Ok::<_, ingather_store::StoreError>((
            inbox::delta_runs::last(sql, job.id)?,
            inbox::count(sql, job.id)?,
            queue::count_buffered(sql, job.id, now)?,
        ))
    })?;
    let of_source =
        DeltaRunLook { source: job.name, records, buffered, buffered_since, ..DeltaRunLook::default() };
    Ok(run.map_or(of_source.clone(), |run| DeltaRunLook {
        run: Some(run.epoch),
        mode: run.mode,
        client: run.client,
        state: run.state,
        opened_at: run.opened_at,
        seen_at: run.seen_at,
        lease_seconds: run.lease_ms / 1_000,
        ended_at: run.ended_at,
        touched: run.touched,
        veto: run.veto,
        deleted: run.deleted,
        drained_at: run.drained_at,
        of: run.compound,
        ..of_source
    }))
}

pub(super) fn unlock(context: &Context<'_>, caller: &Caller<'_>, request: UnlockSource) -> Result<Unlocked> {
    let UnlockSource { source } = request;
    let was_open = with(context, (&source, caller), |engine, job| Ok(engine.unlock_delta_run(job)?))?;
    Ok(Unlocked { source, was_open })
}

/// A service begins: clients of delta runs and channels that are open have their leases from now on.
///
/// # Errors
/// What hinders the write.
pub fn renew_leases(context: &Context<'_>) -> Result<()> {
    let Some(reader) = context.host.reader()? else { return Ok(()) };
    let writing = context.host.write_beside("delta runs and channels")?;
    let engine = context.engine(reader, Some(&writing), &[]);
    engine.renew_delta_runs()?;
    Ok(engine.renew_channels()?)
}

/// Ends channels whose clients are gone, or that were throttled for too long; when that is due next, milliseconds since 1970 UTC. `forgets`: also forgets old reports.
///
/// # Errors
/// What hinders the write.
pub fn tend_channels(context: &Context<'_>, forgets: bool) -> Result<Option<i64>> {
    let Some(reader) = context.host.reader()? else { return Ok(None) };
    let writing = context.host.write_beside("channels")?;
    Ok(context.engine(reader, Some(&writing), &[]).tend_channels(forgets)?)
}

/// Channels whose turn it is to send reports: each is sent by [`send_reports`]; and how soon to look again, milliseconds.
///
/// # Errors
/// What the store says.
pub fn sinks_due(context: &Context<'_>) -> Result<(Vec<i64>, i64)> {
    match context.host.reader()? {
        Some(reader) => Ok(context.engine(reader, None, &[]).sinks_due()?),
        None => Ok((Vec::new(), limits::SINK_LOOK_MS_IDLE)),
    }
}

/// Sends reports of a channel to its webhook, as far as one turn goes.
///
/// # Errors
/// What hinders the write; what the webhook says is no error.
pub fn send_reports(context: &Context<'_>, channel: i64) -> Result<()> {
    let reader = context.existing()?;
    let writing = context.host.write_beside("reports of channels")?;
    Ok(context.engine(reader, Some(&writing), &[]).send_reports(channel)?)
}
