//! Who may write: one lease per process, checked in every transaction that writes (design 4.4).

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::db::{Sql, Value};
use crate::error::{Result, StoreError};
use crate::failpoints::{Failpoint, failpoint};
use crate::{events, queries};
use ingather_model::limits;

/// The part that stands for all work while one process does everything.
const WHOLE: i64 = 0;

/// The right of this process to write; clones are the same one.
#[derive(Clone, Debug)]
pub struct Lease {
    /// Identity of this process, never used again.
    pub process: String,
    epoch: i64,
    /// When it was extended last, by the steady clock of this process; before anything when nobody has noted it.
    extended: Arc<AtomicI64>,
}

/// A process on record.
#[derive(Clone, Debug)]
pub struct Member {
    /// Its identity.
    pub id: String,
    /// When its lease ends unless renewed, milliseconds since 1970 UTC.
    pub until: i64,
    /// Its process id on its host.
    pub pid: i64,
    /// Name of its host and data directory.
    pub host: String,
    /// What it does, for a person.
    pub doing: String,
}

/// Processes on record.
pub fn members(sql: &mut Sql<'_>) -> Result<Vec<Member>> {
    sql.query(&queries::PROCESS_LIST, &[], |row| {
        Ok(Member {
            id: row.text(0)?,
            until: row.int(2)?,
            pid: row.int(3)?,
            host: row.text(4)?,
            doing: row.text(5)?,
        })
    })
}

/// When the process began that may write now, as its identity says it; none where there is none. No run that began before is one of its own.
pub fn since(sql: &mut Sql<'_>, now: i64) -> Result<Option<i64>> {
    let alive = members(sql)?.into_iter().filter(|member| member.until > now);
    Ok(alive.filter_map(|member| member.id.rsplit('-').next().and_then(|at| at.parse().ok())).min())
}

/// Takes the whole work, and completes all events. Members of the same `host` are dead: the caller holds the lock of their data directory.
///
/// # Errors
/// [`StoreError::Held`] when a live member of another host is on record.
pub fn take(sql: &mut Sql<'_>, member: &Member, now: i64) -> Result<Lease> {
    for other in members(sql)? {
        if other.host != member.host && other.until > now {
            return Err(StoreError::Held(format!(
                "process {} on {} works on this store ({}); wait for it, or stop it",
                other.pid, other.host, other.doing
            )));
        }
        let seen = [Value::Text(&other.id), Value::Int(other.until)];
        if sql.execute(&queries::PROCESS_TAKE_OVER, &seen)? == 0 {
            // It counts on its lease from then on.
            return Err(StoreError::Conflict(format!(
                "process {} was just renewed, or has ended",
                other.pid
            )));
        }
    }
    let values = [
        Value::Text(&member.id),
        Value::Int(0),
        Value::Int(now + limits::LEASE_MS),
        Value::Int(member.pid),
        Value::Text(&member.host),
        Value::Text(&member.doing),
    ];
    sql.execute(&queries::PROCESS_JOIN, &values)?;
    let epoch =
        sql.one(&queries::PART_TAKE, &[Value::Int(WHOLE), Value::Text(&member.id)], |row| row.int(0))?;
    // Behind it: it has waited for whoever held the work, and an event that such a one began last would stay for ever.
    events::free_all(sql)?;
    let extended = Arc::new(AtomicI64::new(i64::MIN));
    Ok(Lease { process: member.id.clone(), epoch: epoch.unwrap_or(1), extended })
}

/// Forgets every process on record: in a copy of a store none of them is alive.
pub fn forget(sql: &mut Sql<'_>) -> Result<()> {
    for member in members(sql)? {
        sql.execute(&queries::PROCESS_LEAVE, &[Value::Text(&member.id)])?;
    }
    Ok(())
}

impl Lease {
    /// Refuses the transaction when another process took over.
    ///
    /// # Errors
    /// [`StoreError::Fenced`].
    pub fn fence(&self, sql: &mut Sql<'_>) -> Result<()> {
        if failpoint(Failpoint::MissingEpochCheck) {
            return Ok(());
        }
        let values = [Value::Int(WHOLE), Value::Text(&self.process), Value::Int(self.epoch)];
        sql.one(&queries::PART_FENCE, &values, |row| row.int(0))?.map(|_| ()).ok_or(StoreError::Fenced)
    }

    /// Extends the lease; false when it was taken over.
    pub fn renew(&self, sql: &mut Sql<'_>, now: i64) -> Result<bool> {
        Ok(sql.execute(
            &queries::PROCESS_RENEW,
            &[Value::Text(&self.process), Value::Int(now + limits::LEASE_MS)],
        )? == 1)
    }

    /// Notes that it was extended: `steady` was read before the transaction that did so, which is on disk.
    pub fn note_extended(&self, steady: i64) {
        self.extended.store(steady, Ordering::Relaxed);
    }

    /// Whether nobody else may take it over yet, `for_ms` milliseconds after `steady`.
    pub fn outlasts(&self, steady: i64, for_ms: i64) -> bool {
        let until = self.extended.load(Ordering::Relaxed).saturating_add(limits::LEASE_MS);
        steady.saturating_add(for_ms) <= until
    }

    /// Gives the work back at an orderly end; the events that it holds are completed.
    pub fn leave(&self, sql: &mut Sql<'_>) -> Result<()> {
        events::leave(sql, &self.process)?;
        sql.execute(&queries::PROCESS_LEAVE, &[Value::Text(&self.process)])?;
        Ok(())
    }
}
