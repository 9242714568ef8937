//! How long what changes is buffered (coverage S4.26): the row of the record is the slot, and the date of its visit says when that is released. What is
//! pushed meanwhile takes its place, and supersedes its ticket; nothing of it is kept anywhere else.

use std::collections::HashMap;

use ingather_contract::repository::Buffering;
use ingather_model::ids::JobId;
use ingather_model::limits;
use ingather_store::documents::inbox::Record;
use ingather_store::documents::inbox::channels::{self, Channel};
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::jobs::{self, Job};
use ingather_store::queue::{self, DUE_NEXT_RUN};
use ingather_store::{Durability, Sql, StoreError, states};

use crate::engine::Engine;
use crate::error::Result;

/// What a call knows of records that are buffered.
pub(super) struct Buffer {
    buffering: Buffering,
    now: i64,
    /// When visits of its documents are due.
    dates: HashMap<i64, i64>,
}

impl Buffer {
    pub(super) fn read(
        sql: &mut Sql<'_>,
        (buffering, now): (Buffering, i64),
        known: &[i64],
    ) -> std::result::Result<Buffer, StoreError> {
        let dates = if buffering.ms > 0 { queue::dates(sql, known)? } else { Vec::new() };
        Ok(Buffer { buffering, now, dates: dates.into_iter().collect() })
    }

    /// Since when a record is buffered that changes now: since now, but for one that is.
    pub(super) fn since(&self, before: Option<&Record>, document: i64) -> i64 {
        let due = self.dates.get(&document).copied().unwrap_or_default();
        let is_waiting = due > self.now && due != DUE_NEXT_RUN;
        match before {
            Some(before) if is_waiting && before.buffered_since > 0 => before.buffered_since,
            _ => self.now,
        }
    }

    /// Until when a record is buffered that changes now; none: it is not.
    pub(super) fn until(&self, since: i64) -> Option<i64> {
        let longest =
            if failpoint(Failpoint::BufferedForEver) { i64::MAX } else { since + self.buffering.ms_max };
        let until = (self.now + self.buffering.ms).min(longest);
        (until > self.now).then_some(until)
    }
}

impl Engine {
    /// Has all be delivered now that is buffered of a source.
    ///
    /// # Errors
    /// `ReadOnly`; what the store says.
    pub(super) fn release_buffered(&self, job: JobId) -> Result<()> {
        if failpoint(Failpoint::BufferedBeyondItsRun) {
            return Ok(());
        }
        let page = |sql: &mut Sql<'_>, after, now| {
            let page = queue::buffered(sql, job, (after, now), limits::RECORDS_AT_ONCE_MAX)?;
            let last = page.last().copied();
            Ok((last, page))
        };
        self.release(job, page)
    }

    /// Has all be delivered now that came through a channel and is buffered.
    ///
    /// # Errors
    /// Those of [`Engine::release_buffered`].
    pub(super) fn release_of_channel(&self, channel: &Channel) -> Result<()> {
        let page = |sql: &mut Sql<'_>, after, _| {
            let open = channels::open_tickets(sql, channel.id, after, limits::RECORDS_AT_ONCE_MAX)?;
            let last = open.last().map(|(number, _)| *number);
            Ok((last, open.into_iter().filter_map(|(_, document)| document).collect()))
        };
        self.release(channel.job, page)
    }

    /// Whether a source buffers what changes. What one buffered that does not any more was released by the run that its new settings began.
    fn buffers(&self, job: &Job) -> bool {
        let receives = self.repository(job).ok().and_then(|repository| repository.pushed());
        receives.is_none_or(|receives| receives.buffering.ms > 0)
    }

    /// Releases documents, page by page, in a transaction each; a page says behind what the next one begins.
    fn release(
        &self,
        job: JobId,
        page: impl Fn(&mut Sql<'_>, i64, i64) -> std::result::Result<(Option<i64>, Vec<i64>), StoreError>,
    ) -> Result<()> {
        let job = self.reader.read(|sql| jobs::get(sql, job))?;
        // Most sources buffer nothing; nothing is looked for then.
        let Some(job) = job.filter(|job| self.buffers(job)) else { return Ok(()) };
        let (mut after, writer) = (Some(i64::MIN), self.writing()?);
        while let Some(last) = after {
            let _lease = self.process.keep_lease(&writer)?;
            let now = writer.call.now();
            let (next, documents) = self.reader.read(|sql| page(sql, last, now))?;
            after = next;
            if documents.is_empty() {
                continue;
            }
            writer.store.write(Durability::Synced, |sql| {
                writer.lease.fence(sql)?;
                // In the order in which all calls lock.
                let known = states::hold(sql, &documents)?;
                queue::release(sql, &known, now)
            })?;
            self.process.pushed(job.id, now);
        }
        Ok(())
    }
}
