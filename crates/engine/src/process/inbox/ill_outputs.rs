//! What becomes of channels whose source sends to an output that is away or damaged (decision 0059): they end, each of their tickets fails once, and what was pushed stays
//! and is delivered when the output is back.

use ingather_model::fault::{Fault, Reason};
use ingather_model::lifecycle::channel::State;
use ingather_model::lifecycle::outcome::{FaultCode, OutputHealth};
use ingather_model::limits;
use ingather_store::connections::{self, Ill};
use ingather_store::documents::inbox as records;
use ingather_store::documents::inbox::channels::{self, Channel};
use ingather_store::documents::inbox::tickets::{self, Completed, Outcome};
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::jobs::{self, Job};
use ingather_store::{Durability, Sql, StoreError, states};

use crate::engine::Engine;
use crate::error::{EngineError, Result};

/// Why a channel ends: what an output of its source holds is damaged.
pub const STORE_CORRUPT: &str = "store_corrupt";
/// An output of its source was away for too long.
pub const STORE_UNAVAILABLE: &str = "store_unavailable";

/// Those of outputs that a job sends to.
pub(super) fn of_job(ill: &[Ill], job: Option<&Job>) -> Vec<Ill> {
    let sends_to = |one: &&Ill| job.is_some_and(|job| job.definition.outputs.contains(&one.name));
    ill.iter().filter(|one| sends_to(one) || failpoint(Failpoint::OthersEndToo)).cloned().collect()
}

/// When a channel ends by the outputs that its source sends to, and with which reason; none: by none of them.
pub(super) fn ends(channel: &Channel, ill: &[Ill]) -> Option<(i64, &'static str)> {
    let ends = ill.iter().filter_map(|one| match one.health.state {
        OutputHealth::Healthy => None,
        // At once.
        OutputHealth::Corrupt => Some((0, STORE_CORRUPT)),
        OutputHealth::Unavailable => {
            Some((one.health.since.saturating_add(channel.throttle_ms), STORE_UNAVAILABLE))
        }
    });
    ends.min()
}

/// Whether a channel ends, or has ended, by its outputs.
fn ended_by_outputs(channel: &Channel) -> bool {
    [STORE_CORRUPT, STORE_UNAVAILABLE].contains(&channel.reason.as_str())
}

/// What keeps the output of a source from taking what was pushed, as a part of a sentence.
pub(super) fn why(sql: &mut Sql<'_>, job: &Job) -> std::result::Result<Option<String>, StoreError> {
    let ill = of_job(&connections::ill(sql)?, Some(job));
    let sentence = |one: Ill| format!("output {} is {}: {}", one.name, one.health.state, one.health.why);
    Ok(ill.into_iter().next().map(sentence))
}

/// Why no channel may be opened into a source, if none may: what its output holds is damaged.
pub(super) fn may_open(sql: &mut Sql<'_>, job: &Job) -> std::result::Result<Result<()>, StoreError> {
    let ill = of_job(&connections::ill(sql)?, Some(job));
    let corrupt = ill.into_iter().find(|one| one.health.state == OutputHealth::Corrupt);
    Ok(corrupt.map_or(Ok(()), |one| {
        let fault = Fault::broken(FaultCode::IndexDamaged.as_str(), one.health.why);
        Err(EngineError::Output { name: one.name, fault })
    }))
}

impl Engine {
    /// Has the open tickets of a channel fail that ends by its outputs, a page after the other. Where a kill comes in between, the next look goes on.
    pub(super) fn fail_open(&self, channel: &Channel) -> Result<()> {
        let is_ending = channel.state == State::Terminating && ended_by_outputs(channel);
        if !is_ending || failpoint(Failpoint::EndedWithOpenTickets) {
            return Ok(());
        }
        let why = self.reader.read(|sql| {
            let job = jobs::get(sql, channel.job)?;
            job.map_or(Ok(None), |job| why(sql, &job))
        })?;
        let reason = reason(&channel.reason, why);
        let mut after = Some(0);
        while let Some(last) = after {
            let writer = self.writing()?;
            let _lease = self.process.keep_lease(&writer)?;
            let now = writer.call.now();
            after = writer.store.write(Durability::Synced, |sql| {
                writer.lease.fence(sql)?;
                fail_page(sql, (channel, &reason), (last, now))
            })?;
        }
        Ok(())
    }
}

/// Why a ticket of such a channel failed; `why`: what the output said, unless it is back by now.
fn reason(code: &str, why: Option<String>) -> Reason {
    let why = why.unwrap_or_else(|| "an output could not be used".to_owned());
    let sentence = format!(
        "{why}; the record stays as it was pushed, and is delivered when that is over: it need not be pushed again"
    );
    Reason::new(code, sentence)
}

/// Has open tickets of a channel fail that are behind one, a page of them; where the next page begins, if there is one.
fn fail_page(
    sql: &mut Sql<'_>,
    (channel, why): (&Channel, &Reason),
    (after, now): (i64, i64),
) -> std::result::Result<Option<i64>, StoreError> {
    let page = channels::open_tickets(sql, channel.id, after, limits::RECORDS_AT_ONCE_MAX)?;
    let Some((last, _)) = page.last() else { return Ok(None) };
    let documents: Vec<i64> = page.iter().filter_map(|(_, document)| *document).collect();
    // On PostgreSQL somebody may push or deliver one of them: what is open is looked at again when nobody can any more.
    let documents = states::hold(sql, &documents)?;
    tickets::hold_reports(sql)?;
    let mut open = tickets::open(sql, &documents)?;
    open.retain(|ticket| ticket.channel == Some(channel.id));
    // Nobody can abort any more what was pushed.
    let failed: Vec<i64> = open.iter().map(|ticket| ticket.document).collect();
    records::forget_before(sql, &failed)?;
    let ended: Vec<Completed<'_>> =
        open.iter().map(|ticket| ticket.completed(Outcome::of("failed", why))).collect();
    tickets::complete(sql, &ended, now)?;
    Ok(Some(*last))
}
