//! Telling an output that judges access by what it is told, also when nothing is sent to it (decision 0015).

use std::sync::Arc;

use ingather_contract::call::Call;
use ingather_contract::output::{LOST, Says};
use ingather_model::balance::Balance;
use ingather_model::fault::Fault;
use ingather_model::ids::ConnectionId;
use ingather_model::lifecycle::outcome::RunOutcome;
use ingather_store::leases::Lease;
use ingather_store::{Durability, Store, StoreError, connections, definitions};

use super::definitions::digest_of_references;
use super::opened::Opened;
use crate::error::{self, EngineError};
use crate::run::{Run, lock};

type Result<T> = std::result::Result<T, StoreError>;

/// Who writes.
#[derive(Clone, Copy)]
pub(crate) struct Desk<'d> {
    pub(crate) store: &'d Store,
    pub(crate) lease: &'d Lease,
    pub(crate) call: &'d Call,
}

/// Tells an output all that it has to know by now, whether anything is to be sent to it or not.
pub(crate) fn tell(
    desk: Desk<'_>,
    id: ConnectionId,
    opened: &mut Opened,
    ends: Option<Says>,
) -> Result<std::result::Result<(), Fault>> {
    let Some(told) = &opened.definitions else { return Ok(Ok(())) };
    if ends.is_none() && !told.is_behind(desk.store.reader().read(definitions::access_generation)?) {
        return Ok(Ok(()));
    }
    let draft = desk.store.write(Durability::Synced, |sql| {
        desk.lease.fence(sql)?;
        opened.draft(sql, id, &[], ends)
    })?;
    if draft.is_empty() {
        return Ok(Ok(()));
    }
    if let Err(fault) = opened.tell(desk.call, &draft) {
        note_loss(desk, id, opened)?;
        return Ok(Err(fault));
    }
    let stands = opened.told_stands();
    desk.store.write(Durability::Synced, |sql| {
        desk.lease.fence(sql)?;
        definitions::confirm(sql, id, &draft.defined)?;
        definitions::drop_unneeded(sql, id, digest_of_references(&[]))?;
        stands
            .iter()
            .try_for_each(|s| connections::record_generation(sql, id, &s.identity, s.number, s.session))
    })?;
    Ok(Ok(()))
}

/// Writes down that an output has lost something that it was told, so that the next opening tells it everything anew.
pub(crate) fn note_loss(desk: Desk<'_>, id: ConnectionId, opened: &Opened) -> Result<()> {
    let Some(stands) = opened.told_stands().filter(|stands| stands.identity == LOST) else { return Ok(()) };
    desk.store.write(Durability::Synced, |sql| {
        desk.lease.fence(sql)?;
        connections::record_generation(sql, id, &stands.identity, stands.number, stands.session)
    })
}

/// What ends when a run, or what a person asked of a job, is over.
pub(crate) fn ends(job: &Arc<str>, run: Option<i64>, outcome: RunOutcome, balance: Balance) -> Says {
    Says::End { job: job.clone(), run, outcome: outcome.as_str(), balance }
}

/// Tells outputs that judge by what they are told how a run ended, after all that the inventory says by now.
pub(crate) fn tell_end(run: &Run, outcome: RunOutcome) -> error::Result<()> {
    let (Some(store), Some(lease)) = (&run.store, &run.lease) else { return Ok(()) };
    let desk = Desk { store, lease, call: &run.call };
    let balance = *lock(&run.balance);
    for queue in run.outputs.iter().filter(|queue| queue.capabilities.told) {
        if let Some(opened) = queue.output().as_mut() {
            let ends = ends(&run.author.job_name, Some(run.number), outcome, balance);
            tell(desk, queue.id, opened, Some(ends))?
                .map_err(|fault| EngineError::Output { name: queue.name.clone(), fault })?;
        }
    }
    Ok(())
}
