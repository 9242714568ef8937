//! Outputs that are new or have lost what they held, filled from what a job keeps of its documents, where the source cannot be
//! looked at (design 4.19): it is away, or a folder of it cannot be read.

use ingather_model::job::Keep;
use ingather_model::key::DocumentKey;
use ingather_model::limits;
use ingather_model::scope::Absence;
use ingather_store::documents::Stored;
use ingather_store::queue::{self, VisitReason, VisitRequest};
use ingather_store::{Durability, documents, extracts};

use crate::error::Result;
use crate::lister::ListingResult;
use crate::run::Run;
use crate::run::recall::recall;
use ingather_store::turns::lock;

/// Hands every document to the workers that no listing met, that nothing proves to be gone, that an output lacks, and of
/// which something is kept. They are sent as the inventory knows them: what was read, to whom it was open.
pub(crate) fn refill(run: &Run, result: &ListingResult) -> Result<()> {
    let incomplete = !result.complete || !result.blind.is_empty();
    let Some(store) = run.store.as_ref().filter(|_| incomplete && run.definition.keep == Keep::Extracted)
    else {
        return Ok(());
    };
    let mut after = DocumentKey { parent_hash: i64::MIN, key_hash: i64::MIN };
    while !run.stops() {
        let rows = run.reader.read(|sql| documents::walk(sql, run.job.id, after, limits::SWEEP_ROWS))?;
        let Some((last, _)) = rows.last() else { break };
        after = *last;
        let unmet: Vec<i64> =
            rows.iter().map(|(_, id)| *id).filter(|id| !result.listed.contains(*id as u64)).collect();
        for ids in unmet.chunks(limits::CLAIM_MAX) {
            let (stored, wanted) =
                run.reader.read(|sql| Ok((documents::get(sql, ids)?, queue::request_counts(sql, ids)?)))?;
            let lost =
                |id: i64| wanted.iter().any(|(of, _, cause)| *of == id && *cause == VisitReason::Resend);
            let lacks = |stored: &&Stored| {
                let known = &stored.known;
                let waits = wanted.iter().any(|(of, ..)| *of == known.id.0);
                // What waits for anything else waits for the source.
                let unsent = lost(known.id.0) || (!waits && known.settings != run.settings);
                // Of what was masked nobody knows to whom that which is kept was open.
                let is_open = known.acl_id.is_some();
                known.is_settled()
                    && is_open
                    && unsent
                    && result.coverage.judge(&stored.name) != Absence::Proven
            };
            let mut ids: Vec<i64> = stored.iter().filter(lacks).map(|stored| stored.known.id.0).collect();
            if ids.is_empty() {
                continue;
            }
            ids = run.reader.read(|sql| extracts::kept(sql, &ids, run.stages))?;
            let now = run.call.now();
            let wanted: Vec<VisitRequest> = ids
                .iter()
                .map(|id| VisitRequest { document: *id, due: now, reason: VisitReason::Resend })
                .collect();
            store.write(Durability::Relaxed, |sql| {
                run.fence(sql)?;
                queue::enqueue(sql, run.job.id, run.number, &wanted)
            })?;
            lock(&run.refilled).extend(ids.iter().map(|id| *id as u64));
            recall(run, &ids)?;
        }
    }
    Ok(())
}
