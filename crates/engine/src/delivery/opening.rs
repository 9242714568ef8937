//! An output that was just opened, and judges by what it is told: whether it goes on from where the store left it, was rotated, or
//! is of another history (decision 0015).

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use ingather_contract::output::{Continuity, Generation};
use ingather_model::ids::Digest;
use ingather_model::limits;
use ingather_store::connections::{self, Connection};
use ingather_store::definitions::{self, Defined, Subject};
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::leases::Lease;
use ingather_store::{Durability, Store, StoreError};

use super::definitions::{Definitions, Reference};
use super::opened::{Opened, new_session};
use super::witness::Witness;
use crate::error::{self, EngineError};

type Result<T> = std::result::Result<T, StoreError>;

/// Whether an output was told by another store, or by this one on a later day.
fn is_of_another_day(
    known: &Connection,
    (stands, continuity): (&Generation, Continuity),
    witness: &Witness,
) -> Result<bool> {
    // More than this store ever sent.
    let newer = stands.seq > known.ceiling;
    // Another opening has written since, to this file or to one that took its place.
    let here = witness.knows(known.next_session).map_err(unusable)?;
    let parted = !here.unwrap_or(known.identity.is_none()) && !failpoint(Failpoint::PutBackUnwitnessed);
    // It begins, and has lost what was confirmed: a copy of an earlier day, or another one. A new file is what a rotation leaves.
    let older = stands.number < known.generation
        && !stands.identity.is_empty()
        && !failpoint(Failpoint::OlderTakenForCut);
    // As many lines prove nothing.
    let other = continuity == Continuity::Other;
    Ok(newer || parted || older || other)
}

/// Numbers of a new state begin here: they are larger than those of any other history that a reader may have followed, in which less
/// than one number was given out in each of these; and none of them is the last one of such a history.
fn micros() -> i64 {
    // clock: histories are told apart by the machine's time, whatever a run's clock says.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_micros()).unwrap_or_default()
}

fn unusable(error: std::io::Error) -> StoreError {
    StoreError::Refused(format!("the data directory cannot be used: {error}; make room in it or free it"))
}

/// Loads what an output that was just opened was told. One that the inventory does not speak of begins a new state, which voids all
/// that it was told before, and `reset` makes all that it holds count as lost; of one that was cut or begins otherwise, as after a
/// log rotation, definitions are told again.
pub(crate) fn load(
    (store, lease): (&Store, &Lease),
    data: &Path,
    known: &Connection,
    opened: &mut Opened,
    reset: impl FnOnce() -> error::Result<()>,
) -> error::Result<()> {
    let continuity = match &known.identity {
        Some(identity) => opened.output.continuity(identity, known.next_session),
        None => Ok(Continuity::Anew),
    };
    let continuity = continuity.map_err(|fault| EngineError::Output { name: known.name.clone(), fault })?;
    opened.stands = opened.output.generation();
    let stands = opened.stands.clone();
    let witness = Witness::of(data, known.id);
    let of_another_day = is_of_another_day(known, (&stands, continuity), &witness)?;
    if of_another_day {
        tracing::warn!(
            "{} is not as the store left it, or the store is of an earlier day; filling it again",
            known.name
        );
        reset()?;
    }
    let is_known = known.identity.is_some() && !of_another_day;
    let lost = continuity != Continuity::Same || stands.number < known.generation;
    let lost = lost && !failpoint(Failpoint::CutNotNoticed);
    // What was confirmed is not less because the file that has it was moved away.
    let (state, follows) = match is_known {
        true => (known.session, known.generation.max(stands.number)),
        false => (new_session(), 0),
    };
    // On disk before the store names it.
    let session = witness.begin(new_session()).map_err(unusable)?;
    let definitions = store.write(Durability::Synced, |sql| {
        lease.fence(sql)?;
        if of_another_day {
            connections::pass_number(sql, stands.seq.min(limits::SEQ_MAX).max(micros()))?;
        }
        if lost || !is_known {
            if is_known {
                definitions::unconfirm(sql, known.id)?;
                // As if somebody had begun to tell all that entries refer to, also those of an earlier format.
                let in_use = definitions::in_use(sql, known.id)?;
                definitions::intend(sql, known.id, &untold(&in_use))?;
            } else {
                definitions::reset(sql, known.id)?;
            }
        }
        // What is in it by now was written by an opening that the store knew.
        connections::record_generation(sql, known.id, &stands.identity, stands.number.max(follows), state)?;
        // The store knows who opened the output, which is not ahead of it any more.
        connections::take_numbers(sql, known.id, Some(session), 1)?;
        Definitions::load(sql, known.id, (state, follows), lost)
    })?;
    // Before anything is sent: whoever puts the store of before back names an opening that is gone.
    witness.end_others(session).map_err(unusable)?;
    opened.session = Some(session);
    opened.definitions = Some(Box::new(definitions));
    Ok(())
}

/// Definitions that these references need, as begun.
fn untold(in_use: &[Reference]) -> Vec<Defined> {
    let subjects = in_use.iter().flat_map(|(acl_id, container, job)| {
        [acl_id.map(Subject::Acl), container.map(|container| Subject::Container(container, *job))]
    });
    let subjects: BTreeSet<Subject> = subjects.flatten().collect();
    subjects.into_iter().map(|subject| Defined { subject, seq: 0, intended: Digest::NONE }).collect()
}
