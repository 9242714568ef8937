//! Telling an output that judges access by what it is told, also when nothing is sent to it (decision 0015).

use std::sync::Arc;

use ingather_contract::output::{LOST, Says};
use ingather_model::fault::Fault;
use ingather_model::ids::ConnectionId;
use ingather_model::lifecycle::outcome::RunOutcome;
use ingather_model::run_counts::RunCounts;
use ingather_store::{Durability, StoreError, connections, definitions};

use super::definitions::digest_of_references;
use super::opened::Opened;
use super::writer::Desk;

type Result<T> = std::result::Result<T, StoreError>;

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
        opened.draft(sql, id, &[], ends.clone())
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
pub(crate) fn ends(job: &Arc<str>, run: Option<i64>, outcome: RunOutcome, counts: RunCounts) -> Says {
    Says::End { job: job.clone(), run, outcome: outcome.as_str(), counts }
}
