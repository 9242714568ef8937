//! What becomes of tickets: they are completed in the transactions that end visits, and that forget documents.

use ingather_model::ids::JobId;
use ingather_store::documents::inbox::reports;
use ingather_store::documents::inbox::tickets::{self, Completed, Outcome};
use ingather_store::documents::{self, inbox};
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::states;
use ingather_store::{Sql, StoreError};

pub(crate) use ingather_store::documents::inbox::tickets::hold_reports;

type Result<T> = std::result::Result<T, StoreError>;

/// A visit of a pushed record that is over.
pub(crate) struct Ended<'v> {
    /// Its document.
    pub(crate) document: i64,
    /// How often it was asked for when it was claimed.
    pub(crate) requests: i64,
    /// What became of the document.
    pub(crate) outcome: Outcome<'v>,
    /// Outputs have nothing of it, and are to have nothing.
    pub(crate) is_skipped: bool,
}

/// Completes the tickets that visits were asked for by. A record that was deleted before anything of it was ever sent is gone with its visit.
pub(crate) fn ended(sql: &mut Sql<'_>, job: JobId, visits: Vec<Ended<'_>>, now: i64) -> Result<()> {
    let skipped: Vec<i64> =
        visits.iter().filter(|visit| visit.is_skipped).map(|visit| visit.document).collect();
    if !skipped.is_empty() {
        let deleted = gone(sql, &skipped, now)?;
        documents::forget(sql, job, &deleted)?;
    }
    let rows: Vec<(i64, i64, Outcome<'_>)> =
        visits.into_iter().map(|visit| (visit.document, visit.requests, visit.outcome)).collect();
    tickets::visited(sql, &rows, now)
}

/// Visits of pushed records have failed and are made again: a document, the time of the next attempt, and why. Whoever has asked for it hears that.
pub(crate) fn retried(sql: &mut Sql<'_>, visits: &[(i64, i64, &str)], now: i64) -> Result<()> {
    reports::tell_retries(sql, visits, now)
}

/// Those of documents that no output holds any more which are forgotten: what was pushed again meanwhile stays, and is visited.
pub(crate) fn gone(sql: &mut Sql<'_>, documents: &[i64], now: i64) -> Result<Vec<i64>> {
    // On PostgreSQL one of them may be pushed again between the look and the change.
    states::hold(sql, documents)?;
    tickets::hold_reports(sql)?;
    let present = inbox::present(sql, documents)?;
    let gone: Vec<i64> = documents
        .iter()
        .copied()
        .filter(|id| !present.contains(id) || failpoint(Failpoint::ForgottenThoughPushed))
        .collect();
    forgotten(sql, &gone, now)?;
    Ok(gone)
}

/// A person has the document of a record erased.
pub(crate) fn erased(sql: &mut Sql<'_>, document: i64, now: i64) -> Result<()> {
    let why = Outcome { outcome: "aborted", code: "erased", message: "a person has erased it" };
    let open = tickets::open(sql, &[document])?;
    let ended: Vec<Completed<'_>> = open.iter().map(|ticket| ticket.completed(why.clone())).collect();
    if !failpoint(Failpoint::ErasedTicketOpen) {
        tickets::complete(sql, &ended, now)?;
    }
    if failpoint(Failpoint::ErasedRecordStays) { Ok(()) } else { inbox::remove(sql, &[document]) }
}

/// Documents of records that were deleted are forgotten.
fn forgotten(sql: &mut Sql<'_>, documents: &[i64], now: i64) -> Result<()> {
    let open = tickets::open(sql, documents)?;
    let ended: Vec<Completed<'_>> =
        open.iter().map(|ticket| ticket.completed(Outcome::plain("deleted"))).collect();
    if !failpoint(Failpoint::DeletedStaysOpen) {
        tickets::complete(sql, &ended, now)?;
    }
    inbox::remove(sql, documents)
}
