//! All that the store knows about one document, for answers to people (design 4.13).

use ingather_model::decision::DeliveryState;
use ingather_model::fault::Reason;
use ingather_model::ids::{ConnectionId, Digest, JobId};
use ingather_model::lifecycle::outcome::{DeliveryOutcome, FailureKind, VisitReason};

use crate::db::{Sql, Value};
use crate::error::Result;
use crate::queries;

/// What waits or is wrong about one document; times are milliseconds since 1970 UTC.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Run that wrote its row last.
    pub changed_run: i64,
    /// Why it waits for a visit, and until when.
    pub work: Option<(VisitReason, i64)>,
    /// What is wrong with it.
    pub failure: Option<Failure>,
}

/// Why the last visit of a document did not end well.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Whether it is tried again.
    pub kind: FailureKind,
    /// Attempts made.
    pub attempts: i64,
    /// Attempts allowed.
    pub attempts_max: i64,
    /// Since when.
    pub first_at: i64,
    /// Why.
    pub reason: Reason,
}

/// What one output was sent of a document, and what it holds.
#[derive(Clone, Debug)]
pub struct Sent {
    /// The output.
    pub output: ConnectionId,
    /// Its name.
    pub name: String,
    /// Hash of the address's parent.
    pub address_parent: i64,
    /// Hash of the address.
    pub address: i64,
    /// Digests sent and held.
    pub state: DeliveryState,
    /// When it was sent last.
    pub intent_at: i64,
    /// When the output confirmed last.
    pub confirmed_at: Option<i64>,
    /// How the last change ended, where its confirmation does not say it.
    pub outcome: Option<DeliveryOutcome>,
}

/// What waits or is wrong about a document; none when it is not known.
pub fn facts(sql: &mut Sql<'_>, document: i64) -> Result<Option<Facts>> {
    sql.one(&queries::EXPLAIN_DOCUMENT, &[Value::Int(document)], |row| {
        let failure = match row.opt_word(3, FailureKind::parse)? {
            Some(kind) => Some(Failure {
                kind,
                attempts: row.int(4)?,
                attempts_max: row.int(5)?,
                first_at: row.int(6)?,
                reason: Reason { code: row.text(7)?, message: row.text(8)? },
            }),
            None => None,
        };
        Ok(Facts {
            changed_run: row.int(0)?,
            work: row.opt_word(1, VisitReason::parse)?.zip(row.opt_int(2)?),
            failure,
        })
    })
}

/// What outputs were sent of a document, or of a component in it (0: of itself), in no order.
pub fn sent(sql: &mut Sql<'_>, document: i64, component: i64) -> Result<Vec<Sent>> {
    sql.query(&queries::EXPLAIN_DELIVERIES, &[Value::Int(document), Value::Int(component)], |row| {
        Ok(Sent {
            output: ConnectionId(row.int(0)?),
            name: row.text(1)?,
            address_parent: row.int(2)?,
            address: row.int(3)?,
            state: DeliveryState {
                intended: Digest(row.int(4)?),
                intended_acl: Digest(row.int(5)?),
                confirmed: row.opt_int(6)?.map(Digest),
                confirmed_acl: row.opt_int(7)?.map(Digest),
            },
            intent_at: row.int(8)?,
            confirmed_at: row.opt_int(9)?,
            outcome: row.opt_word(10, DeliveryOutcome::parse)?,
        })
    })
}

/// The name of another document of the job with this identity; reads all of the job.
pub fn same_identity(sql: &mut Sql<'_>, job: JobId, identity: i64, document: i64) -> Result<Option<String>> {
    let values = [Value::Int(job.0), Value::Int(identity), Value::Int(document)];
    sql.one(&queries::EXPLAIN_SAME_IDENTITY, &values, |row| row.text(0))
}
