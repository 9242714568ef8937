//! table: bounds of records that applications push, each with its reason where that is not plain.

/// Bytes of the key of a record that an application pushes.
pub const RECORD_KEY_BYTES_MAX: usize = 4_096;
/// Bytes of what whoever pushes a record tells its versions by.
pub const RECORD_HASH_BYTES_MAX: usize = 1_024;
/// Bytes of what is said of a record beside its content, as JSON.
pub const RECORD_ABOUT_BYTES_MAX: usize = 1 << 20;
/// Bytes of the content of one record.
pub const RECORD_CONTENT_BYTES_MAX: usize = 4 << 20;
/// Bytes of the files that the records of one call name, beyond which no further one is read: as many as a call may have itself.
pub const RECORD_FILES_BYTES_MAX: usize = RECORDS_BYTES_MAX;
/// Records in one call.
pub const RECORDS_AT_ONCE_MAX: usize = 1_000;
/// Bytes of the records of one call.
pub const RECORDS_BYTES_MAX: usize = 8 << 20;
/// Records of calls that share a transaction: as many as one call may have, so that nobody who waits behind it waits longer than behind that.
pub const GROUP_RECORDS_MAX: usize = RECORDS_AT_ONCE_MAX;
/// Bytes of their keys and contents, likewise.
pub const GROUP_BYTES_MAX: usize = RECORDS_BYTES_MAX;
/// What a quota of pushes is of: a minute, microseconds.
pub const QUOTA_US: i64 = 60_000_000;
/// How long the records of a source with a quota are known after they were counted, milliseconds: deletions and aborts are not followed one by one.
pub const QUOTA_COUNTED_MS: i64 = 60_000;
/// The same of a source that is full, which somebody may be making room in.
pub const QUOTA_FULL_MS: i64 = 1_000;
/// Sources that a key names into which alone it may push: more are hardly one client's.
pub const KEY_SOURCES_MAX: usize = 64;
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

/// How long a channel lives without a sign of life of its client, milliseconds, where it says nothing else.
pub const CHANNEL_LEASE_MS: i64 = 300_000;
/// The longest such time, milliseconds.
pub const CHANNEL_LEASE_MS_MAX: i64 = 86_400_000;
/// How long a channel may be throttled before it ends, milliseconds, where its client says nothing else.
pub const CHANNEL_THROTTLE_MS: i64 = 600_000;
/// The longest such time, milliseconds.
pub const CHANNEL_THROTTLE_MS_MAX: i64 = 86_400_000;
/// Tickets of a channel that may be open, where its client says nothing else.
pub const CHANNEL_OPEN: i64 = 10_000;
/// The most that it may say.
pub const CHANNEL_OPEN_MAX: i64 = 100_000;
/// Kinds of reports that a client may ask for in one request.
pub const OPTIONAL_REPORTS_MAX: usize = 8;
/// A channel of whose tickets more than this is open, of those that may be, is throttled: percent.
pub const CHANNEL_THROTTLE_PERCENT: i64 = 80;
/// Until less than this is: percent.
pub const CHANNEL_RELAX_PERCENT: i64 = 50;
/// How long reports of a channel are kept that its client has, milliseconds.
pub const CHANNEL_REPORTS_ACKED_MS: i64 = 86_400_000;
/// How long all others are kept, milliseconds.
pub const CHANNEL_REPORTS_MS: i64 = 7 * 86_400_000;
/// Channels that are kept.
pub const CHANNELS_MAX: usize = 100_000;
/// Bytes of what a client wants back with each report: 4,096 in base64, and a little more.
pub const USER_REF_BYTES_MAX: usize = 6_144;
/// Longest time for which a change of a record is buffered, milliseconds: ten minutes.
pub const BUFFER_MS_MAX: u32 = 600_000;
/// How often leases of channels, and how long they are throttled, are looked at, milliseconds.
pub const CHANNEL_LOOK_MS: i64 = 1_000;
/// How long a call may wait for a channel, seconds.
pub const CHANNEL_WAIT_SECONDS_MAX: u32 = 60;
/// How often a stream of reports gives a sign of life where nothing is told, milliseconds.
pub const CHANNEL_STREAM_QUIET_MS: u64 = 15_000;
/// How often a push is begun anew whose channel ended or was throttled while it was at work.
pub const CHANNEL_ATTEMPTS: usize = 3;
/// Calls that may wait for channels at once: each holds a connection, and others are to have some.
pub const WAITS_MAX: usize = 96;
/// How long one beyond them waits, milliseconds.
pub const WAIT_MS_BEYOND: u64 = 500;
/// How often channels are looked at that calls wait for, milliseconds.
pub const WAITS_LOOK_MS: u64 = 20;
/// Characters of what a client calls itself.
pub const CLIENT_LETTERS_MAX: usize = 256;

/// Compounds that a record is in; more than that are refused.
pub const RECORD_PARENTS_MAX: usize = 100;

/// Records that failed for good and of which it is looked up which compounds they are in; with more of them, every compound counts as changed.
pub const FAILED_LOOKED_UP_MAX: usize = 1_000;
/// How long the sink of a channel may take nothing before the channel ends, milliseconds, where its client says nothing else.
pub const SINK_MS: i64 = 600_000;
/// The longest such time, milliseconds.
pub const SINK_MS_MAX: i64 = 86_400_000;
/// How long a sink has for one answer, milliseconds.
pub const SINK_ANSWER_MS: u64 = 10_000;
/// Reports that a sink is sent at once.
pub const SINK_REPORTS_MAX: usize = 100;
/// Sinks that reports are sent to at once.
pub const SINKS_AT_ONCE_MAX: usize = 8;
/// Messages that one sink is sent one after the other, before another one has its turn.
pub const SINK_TURN_MAX: usize = 10;
/// How soon a sink is tried again that took nothing, milliseconds; twice as late each time.
pub const SINK_RETRY_MS_MIN: i64 = 1_000;
/// The latest that is, milliseconds.
pub const SINK_RETRY_MS_MAX: i64 = 60_000;
/// How often it is looked at whether sinks are to be told something, milliseconds.
pub const SINK_LOOK_MS: i64 = 100;
/// The same while no channel sends its reports, milliseconds.
pub const SINK_LOOK_MS_IDLE: i64 = 1_000;
/// Calls that are telling sinks of what they push: half of the places of pushes, so that no sink that hangs keeps all others out.
pub const SINK_CALLS_MAX: usize = 32;
/// Calls of one channel among them.
pub const SINK_CALLS_OF_ONE_MAX: usize = 8;
/// Letters of the address of a sink.
pub const SINK_URL_MAX: usize = 2_048;
/// Letters of the secret of a sink, at least: who knows it passes for this service.
pub const SINK_SECRET_MIN: usize = 16;
/// Letters of the secret of a sink, at most.
pub const SINK_SECRET_MAX: usize = 256;
