//! Who has the entry of an address that several documents claim (design 4.7, decision 0012).

use ingather_contract::output::OutputCapabilities;
use ingather_model::ids::{ConnectionId, Digest};
use ingather_model::lifecycle::outcome::DeliveryOutcome;
use ingather_store::connections::{self, Role};
use ingather_store::deliveries::{self, Intent, Owner};
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::{Sql, StoreError};

use super::change::ChangeKind;
use super::in_flight::InFlight;
use super::next_owner::NextOwner;

/// All who claim the address of a change.
pub(super) fn owners(
    sql: &mut Sql<'_>,
    output: ConnectionId,
    intent: &Intent,
) -> std::result::Result<Vec<Owner>, StoreError> {
    if failpoint(Failpoint::ExclusionByDocument) {
        return Ok(Vec::new());
    }
    let mut owners = deliveries::owners(sql, output, intent.address_parent, intent.address)?;
    if failpoint(Failpoint::LastOwnerOfAnotherOutput) {
        let others = connections::list(sql)?.into_iter().filter(|other| other.id != output);
        for other in others.filter(|other| other.role == Role::Output) {
            owners.extend(deliveries::owners(sql, other.id, intent.address_parent, intent.address)?);
        }
    }
    Ok(owners)
}

/// Finds whether nothing has to be sent because of the other owners of an address, and who has it from now on.
pub(super) fn resolve(
    sql: &mut Sql<'_>,
    capabilities: OutputCapabilities,
    entry: &mut InFlight,
    owners: &[Owner],
) -> std::result::Result<(), StoreError> {
    let others = owners.iter().filter(|owner| owner.document != entry.intent.document);
    match entry.queued.kind {
        ChangeKind::Put { version, access } => {
            // An output that takes no access alone is sent the record again by whoever takes an entry over.
            let takes_over = owners.iter().any(|owner| {
                owner.document == entry.intent.document
                    && owner.state.confirmed == Some(version)
                    && owner.state.confirmed_acl == Some(Digest::UNKNOWN)
            });
            let is_equal = |owner: &&Owner| {
                owner.state.confirmed == Some(version)
                    && owner.state.intended == version
                    && (owner.state.confirmed_acl == Some(access) && owner.state.intended_acl == access
                        || failpoint(Failpoint::SecondOwnerOnContentAlone))
            };
            entry.unsent = if !takes_over && others.clone().any(|owner| is_equal(&owner)) {
                Some(DeliveryOutcome::Shared)
            } else if entry.is_fill() && others.clone().any(|owner| owner.state.is_confirmed()) {
                // What is kept is of an earlier look at the source than what another owner has sent may be.
                Some(DeliveryOutcome::Superseded).filter(|_| !failpoint(Failpoint::KeptTextOverAnotherOwners))
            } else {
                None
            };
        }
        ChangeKind::Access { .. } => {}
        // What one owner does not want any more belongs to the others still.
        ChangeKind::Delete => {
            let masks = capabilities.access && !entry.queued.origin.erases();
            let leaves = entry.intent.document;
            entry.next_owner = NextOwner::of(sql, (capabilities, masks), owners, leaves)?;
            let stays = entry.next_owner.is_some() && failpoint(Failpoint::LeftEntryStays);
            entry.unsent = stays.then_some(DeliveryOutcome::Shared);
        }
    }
    Ok(())
}

/// What is about to be sent may replace what other owners sent, whether it is confirmed or not.
pub(super) fn supersede(
    sql: &mut Sql<'_>,
    output: ConnectionId,
    entry: &InFlight,
) -> std::result::Result<(), StoreError> {
    match entry.queued.kind {
        _ if entry.unsent.is_some() => 0,
        ChangeKind::Put { .. } => deliveries::supersede(sql, output, false, &entry.intent)?,
        ChangeKind::Access { .. } if failpoint(Failpoint::AccessLeavesOtherOwners) => 0,
        ChangeKind::Access { .. } => deliveries::supersede(sql, output, true, &entry.intent)?,
        ChangeKind::Delete => 0,
    };
    Ok(())
}
