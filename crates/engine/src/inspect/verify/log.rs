//! The inventory of one output by address, and what an entry is to it.

use ingather_model::ids::{ConnectionId, Digest};
use ingather_model::lifecycle::outcome::DeliveryOutcome;
use ingather_model::limits;
use ingather_store::Sql;
use ingather_store::deliveries::{self, LogRow};

use crate::delivery::change::access_digest;
use crate::error::Result;
use crate::inspect::external_sort::Entry;

/// The delivery log of an output by address, all owners of one address at a time.
pub(super) struct DeliveryLog {
    after: (i64, i64),
    rows: std::vec::IntoIter<LogRow>,
    ended: bool,
}

impl Default for DeliveryLog {
    fn default() -> DeliveryLog {
        DeliveryLog { after: (i64::MIN, i64::MIN), rows: Vec::new().into_iter(), ended: false }
    }
}

impl DeliveryLog {
    pub(super) fn next(&mut self, sql: &mut Sql<'_>, output: ConnectionId) -> Result<Option<Vec<LogRow>>> {
        if self.rows.len() == 0 && !self.ended {
            let mut most = limits::VERIFY_PAGE;
            let mut page = deliveries::log(sql, output, self.after, most)?;
            // The owners of one address are never cut apart.
            while page.len() == most
                && page.first().map(|row| row.address) == page.last().map(|row| row.address)
            {
                most *= 2;
                page = deliveries::log(sql, output, self.after, most)?;
            }
            self.ended = page.len() < most;
            if let (false, Some(last)) = (self.ended, page.last().map(|row| row.address)) {
                page.retain(|row| row.address != last);
            }
            self.after = page.last().map_or(self.after, |row| row.address);
            self.rows = page.into_iter();
        }
        let Some(first) = self.rows.next() else { return Ok(None) };
        let address = first.address;
        let mut group = vec![first];
        while self.rows.as_slice().first().is_some_and(|row| row.address == address) {
            group.extend(self.rows.next());
        }
        Ok(Some(group))
    }
}

/// Nothing is known to be at this address, whatever is there.
pub(super) fn is_lost(row: &LogRow) -> bool {
    row.outcome == Some(DeliveryOutcome::Lost)
}

pub(super) fn is_confirmed(row: &LogRow) -> bool {
    row.state.intended.is_some() && row.state.confirmed == Some(row.state.intended)
}

/// Whether the entry is what this owner had confirmed; access that is on its way is not asked for.
///
/// In an output of another day (`parted`) equal numbers may mean other jobs and other people: there all of them have to be
/// those that the inventory has now.
pub(super) fn is_as_confirmed(row: &LogRow, entry: &Entry, parted: bool) -> bool {
    let digest = access_digest(row.acl_id, row.container);
    let settled = row.state.confirmed_acl == Some(digest) && row.state.intended_acl == digest;
    let access = row.acl_id.map_or(0, |acl_id| acl_id.0) == entry.acl_id
        && row.container.map_or(0, |container| container.0) == entry.container;
    let of_job = row.job.is_some_and(|job| job.0 == entry.job);
    Digest(entry.version) == row.state.intended && if parted { access && of_job } else { access || !settled }
}
