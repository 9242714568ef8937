//! table: bounds of streams of messages that are published to over a network, each with its reason.

/// Servers of one cluster that settings name.
pub const NATS_SERVERS_MAX: usize = 16;
/// Bytes of the address of a server, of a user and of a path in its settings.
pub const NATS_TEXT_BYTES_MAX: usize = 4 << 10;
/// Bytes of the name of a stream: servers take 255, and keep files by it.
pub const NATS_STREAM_BYTES_MAX: usize = 200;
/// Bytes of what subjects begin with; servers advise to stay below 256 for all of one.
pub const NATS_SUBJECT_BYTES_MAX: usize = 200;
/// Bytes of a password or a token.
pub const NATS_SECRET_BYTES_MAX: usize = 16 << 10;
/// Bytes of a file of certificates or of a key.
pub const NATS_PEM_BYTES_MAX: u64 = 1 << 20;
/// How long a connection may take to be made, milliseconds.
pub const NATS_CONNECT_MS_MAX: u64 = 10_000;
/// How long an acknowledgement may take, unless the settings say otherwise, seconds; and the most that they may say.
pub const NATS_TIMEOUT_S: u32 = 10;
/// See [`NATS_TIMEOUT_S`].
pub const NATS_TIMEOUT_S_MAX: u32 = 300;
/// For how long a stream that is made now knows a message that comes twice, unless the settings say otherwise, seconds: as servers do by
/// themselves.
pub const NATS_WINDOW_S: u32 = 120;
/// The most that the settings may say of that: servers keep such numbers in memory.
pub const NATS_WINDOW_S_MAX: u32 = 86_400;
/// Hours and MiB that the settings may bound a stream by that is made now: a hundred years, an exbibyte.
pub const NATS_KEEP_HOURS_MAX: u32 = 876_000;
/// See [`NATS_KEEP_HOURS_MAX`].
pub const NATS_STREAM_MIB_MAX: u64 = 1 << 40;
/// Copies of a stream: servers keep no more.
pub const NATS_REPLICAS_MAX: u32 = 5;
/// Bytes of the largest message that a server has to take: an access list has up to 64 KiB, and twice as much as JSON.
pub const NATS_MESSAGE_BYTES_MIN: usize = 160 << 10;
/// Messages that are on their way at once: a server far away answers 100 times a second and one, so that 256 are 25,000 in that second.
pub const NATS_IN_FLIGHT_MAX: usize = 256;
/// Bytes of them from which on the next one waits.
pub const NATS_IN_FLIGHT_BYTES: usize = 8 << 20;
/// Messages that the opening before may have left behind those that were confirmed, and that are looked at: two batches of entries.
pub const NATS_TAIL_MAX: u64 = 4_096;
/// For how long a server that is away is asked again before its changes are given back, milliseconds.
pub const NATS_PATIENCE_MS_MAX: u64 = 60_000;
/// The same where somebody waits to be told whether an output can be used, milliseconds.
pub const NATS_OPEN_PATIENCE_MS_MAX: u64 = 5_000;
/// The first pause between two attempts, milliseconds; each is twice the one before it.
pub const NATS_PAUSE_MS: u64 = 100;
/// The longest one.
pub const NATS_PAUSE_MS_MAX: u64 = 5_000;
/// How often is looked, while it is paused, whether to stop, milliseconds.
pub const NATS_LOOK_MS: u64 = 50;
/// A connection that nothing went over for so long is made anew, milliseconds: nobody answers its server meanwhile, which asks after a while
/// whether anybody is there.
pub const NATS_IDLE_MS_MAX: u128 = 30_000;
/// Characters of what a server says that are told.
pub const NATS_SAID_MAX: usize = 400;
