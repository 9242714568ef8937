//! How much applications may push into a source, where its settings say so: so many records in all, and so many a minute.
//!
//! One process writes, so that what it has counted itself is all there is: records are counted once, and what is pushed is added. What deletes or brings back
//! records otherwise has them counted again where that matters, so that a bound may be passed by what happens within a minute. Refused: a row with the number,
//! which all pushes into a source would wait for on PostgreSQL.

use std::collections::BTreeMap;
use std::sync::Mutex;

use ingather_contract::repository::Quotas;
use ingather_model::ids::JobId;
use ingather_model::limits;
use ingather_model::run_counts::number;
use ingather_store::documents::inbox as records;
use ingather_store::turns::lock;
use ingather_store::{Sql, StoreError};

use super::{Accepted, Ask, Push};
use crate::error::{EngineError, Refusal, Result};

/// What is known of sources with quotas.
#[derive(Debug, Default)]
pub(crate) struct Usages(Mutex<BTreeMap<JobId, Usage>>);

#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    /// Records that are there, and when they were counted, milliseconds since 1970 UTC.
    records: Option<(u64, i64)>,
    /// Until when what was pushed reaches at the steady pace, microseconds since 1970 UTC.
    until: i64,
}

impl Usages {
    /// Takes so many pushes of a minute.
    ///
    /// # Errors
    /// `Throttled` where they are too many now.
    pub(super) fn take(
        &self,
        (job, source): (JobId, &str),
        quotas: Quotas,
        (count, now): (usize, i64),
    ) -> Result<()> {
        let Some(most) = quotas.records_a_minute_max else { return Ok(()) };
        let (now, each) = (now.saturating_mul(1_000), limits::QUOTA_US / i64::from(most.max(1)));
        let mut all = lock(&self.0);
        let usage = all.entry(job).or_default();
        // A clock that was put back shuts nobody out for longer than they could have been ahead.
        let ahead_max = limits::QUOTA_US + each * limits::RECORDS_AT_ONCE_MAX as i64;
        usage.until = usage.until.clamp(now, now + ahead_max);
        let ahead = usage.until + each * count as i64;
        // A source that has rested takes one call of any size, and then none until that is made up for.
        if usage.until > now && ahead > now + limits::QUOTA_US {
            let early = (ahead - now - limits::QUOTA_US).min(usage.until - now);
            let sentence = format!(
                "source {source} takes {} records a minute (`records_a_minute_max`); push again in {} s",
                number(u64::from(most)),
                early.div_euclid(1_000_000) + 1
            );
            return Err(EngineError::refused(Refusal::Throttled, sentence));
        }
        usage.until = ahead;
        Ok(())
    }

    /// How many records the source of a job has room for, where it has a quota.
    pub(super) fn room(
        &self,
        sql: &mut Sql<'_>,
        (job, quotas, now): (JobId, Quotas, i64),
        pushes: usize,
    ) -> std::result::Result<Option<u64>, StoreError> {
        let Some(most) = quotas.records_max else { return Ok(None) };
        let known = lock(&self.0).get(&job).and_then(|usage| usage.records);
        let is_new = |at: i64, most: i64| (0..most).contains(&(now - at));
        if let Some((records, at)) = known
            && is_new(at, limits::QUOTA_COUNTED_MS)
            && (records + pushes as u64 <= most || is_new(at, limits::QUOTA_FULL_MS))
        {
            return Ok(Some(most.saturating_sub(records)));
        }
        let records = records::count(sql, job)?;
        lock(&self.0).entry(job).or_default().records = Some((records, now));
        Ok(Some(most.saturating_sub(records)))
    }

    /// Pushes into the source of a job are on disk.
    pub(super) fn note(&self, job: JobId, pushes: &[&Push], accepted: &[Accepted]) {
        let mut all = lock(&self.0);
        let Some((records, _)) = all.get_mut(&job).and_then(|usage| usage.records.as_mut()) else { return };
        for (push, accepted) in pushes.iter().zip(accepted) {
            match (&push.ask, accepted) {
                (Ask::Put(_), Accepted::Pending { was_there: false, .. }) => *records += 1,
                (Ask::Delete, Accepted::Pending { was_there: true, .. }) => {
                    *records = records.saturating_sub(1)
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_takes_as_many_as_it_may_in_a_minute_and_then_at_that_pace() {
        let (usages, quotas) =
            (Usages::default(), Quotas { records_a_minute_max: Some(60), records_max: None });
        let take = |count, second: i64| {
            usages.take((JobId(1), "tickets"), quotas, (count, 1_000_000 + second * 1_000))
        };
        assert!(take(40, 0).is_ok() && take(20, 0).is_ok());
        let refused = take(1, 0).unwrap_err().to_string();
        assert!(refused.contains("60 records a minute") && refused.ends_with("in 2 s"), "{refused}");
        assert!(take(1, 1).is_ok() && take(1, 1).is_err());
        assert!(take(10, 11).is_ok() && take(1, 11).is_err());
        assert!(take(60, 200).is_ok() && take(1, 200).is_err());
    }

    #[test]
    fn a_source_that_has_rested_takes_a_call_that_is_larger_than_a_minute() {
        let (usages, quotas) =
            (Usages::default(), Quotas { records_a_minute_max: Some(10), records_max: None });
        let take = |count, second: i64| {
            usages.take((JobId(1), "tickets"), quotas, (count, 1_000_000 + second * 1_000))
        };
        assert!(take(30, 0).is_ok());
        assert!(take(1, 60).is_err() && take(1, 119).is_err());
        assert!(take(1, 126).is_ok());
    }
}
