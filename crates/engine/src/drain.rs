//! The end of the visits: retries that fall due soon, and the lease that is kept meanwhile.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ingather_connector::model::limits;
use ingather_store::{Durability, StoreError, documents, work};

use crate::board::Task;
use crate::error::{EngineError, Result};
use crate::lister::Shown;
use crate::run::{Run, lock};

/// Waits until nothing is due or held; retries that fall due soon are waited for (design 5.1).
pub(crate) fn drain(run: &Run, shown: &Shown) -> Result<()> {
    const LOOK: Duration = Duration::from_millis(200);
    let deadline = run.call.now() + limits::SYNC_WAIT_MS_MAX;
    loop {
        while !run.board.wait_drained(LOOK) {
            if run.call.cancel.cancelled() || run.lost_lease.load(Ordering::Relaxed) {
                return Ok(());
            }
        }
        if run.stops() || run.store.is_none() {
            return Ok(());
        }
        let now = run.call.now();
        let due = run.reader.read(|sql| work::due(sql, run.job.id, (i64::MIN, 0), now, limits::CLAIM_MAX))?;
        let again: Vec<i64> =
            due.iter().map(|due| due.document).filter(|id| shown.seen.contains(*id as u64)).collect();
        let again: Vec<i64> = again.into_iter().filter(|id| lock(&run.waiting).contains(id)).collect();
        if again.is_empty() {
            let next = if lock(&run.waiting).is_empty() { i64::MAX } else { now };
            let (earliest, _) = run.reader.read(|sql| work::next(sql, run.job.id))?;
            let soonest = earliest.unwrap_or(i64::MAX).max(next);
            if soonest > deadline || now >= deadline {
                return Ok(());
            }
            run.progress.waits_for("a retry that falls due soon");
            run.call.clock.awaited(soonest);
            run.board.pause(Duration::from_millis((soonest - run.call.now()).clamp(1, 200) as u64));
            continue;
        }
        retry(run, &again, &due)?;
    }
}

fn retry(run: &Run, ids: &[i64], due: &[work::Due]) -> Result<()> {
    let by_id: HashMap<i64, &work::Due> = due.iter().map(|due| (due.document, due)).collect();
    let stored = run.reader.read(|sql| documents::get(sql, ids))?;
    let tasks = stored.into_iter().filter_map(|stored| {
        let due = by_id.get(&stored.known.id.0)?;
        Some(Task {
            id: stored.known.id.0,
            name: stored.name,
            own: stored.known.own,
            place: stored.known.place,
            cause: due.cause,
            wanted: due.wanted,
            version: stored.known.version,
            access: stored.known.access,
            identity: stored.identity,
            known: Some(stored.known),
        })
    });
    run.board.push(tasks.collect());
    Ok(())
}

/// Keeps the lease alive while the run goes on.
pub(crate) fn renew(run: &Run) {
    const EVERY: i64 = ingather_store::leases::LEASE_MS / 3;
    let (Some(store), Some(lease)) = (&run.store, &run.lease) else { return };
    let mut renewed = run.call.now();
    while !run.board.closed() {
        run.board.pause(Duration::from_millis(250));
        let now = run.call.now();
        if now - renewed >= EVERY {
            renewed = now;
            let kept = store.write(Durability::Relaxed, |sql| lease.renew(sql, now));
            if !matches!(kept, Ok(true)) {
                run.lost_lease.store(true, Ordering::Relaxed);
                run.board.fail(EngineError::Store(StoreError::Fenced));
                return;
            }
        }
    }
}
