//! table: bounds of records that applications push, each with its reason where that is not plain.

/// Bytes of the key of a record that an application pushes.
pub const RECORD_KEY_BYTES_MAX: usize = 4_096;
/// Bytes of what whoever pushes a record tells its versions by.
pub const RECORD_HASH_BYTES_MAX: usize = 1_024;
/// Bytes of what is said of a record beside its content, as JSON.
pub const RECORD_ABOUT_BYTES_MAX: usize = 1 << 20;
/// Bytes of the content of one record.
pub const RECORD_CONTENT_BYTES_MAX: usize = 4 << 20;
/// Records in one call.
pub const RECORDS_AT_ONCE_MAX: usize = 1_000;
/// Bytes of the records of one call.
pub const RECORDS_BYTES_MAX: usize = 8 << 20;
/// Reports of a source that are kept: what became of tickets before is forgotten.
pub const REPORTS_KEPT: i64 = 1_000_000;
/// Tickets after which those of a source are looked at that are too many.
pub const REPORTS_FORGOTTEN_EACH: i64 = 10_000;
/// Delta runs of a source that are kept.
pub const DELTA_RUNS_KEPT: i64 = 100;
/// How long a delta run is its client's after a sign of life, milliseconds, where it says nothing else.
pub const DELTA_LEASE_MS: i64 = 300_000;
/// The longest such time, milliseconds.
pub const DELTA_LEASE_MS_MAX: i64 = 24 * 60 * 60 * 1_000;
/// A delta run that would delete more of its source than this is held: percent.
pub const DELTA_GUARD_PERCENT: u64 = 50;
/// Of a source with so many records at least.
pub const DELTA_GUARD_RECORDS_MIN: u64 = 100;
/// A delta run whose client could not read more of its source than this deletes nothing: percent.
pub const DELTA_TOUCHED_PERCENT: u64 = 10;
/// And so many records at least.
pub const DELTA_TOUCHED_MIN: u64 = 10;
