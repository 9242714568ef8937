//! Every bound with its reason. A queue, batch, page, retry, body or wait that is not here does not exist.

/// Items of one listing page; larger folders come in several pages (`store.md` 1.3: 4,096 rows a transaction).
pub const PAGE_ITEMS_MAX: usize = 4_096;
/// Unchanged items that are joined before the run's bitmap is written (`store.md` 3.1).
pub const QUIET_ITEMS_MAX: usize = 65_536;
/// Longest wait before the bitmap of a quiet run is written, milliseconds.
pub const QUIET_MS_MAX: i64 = 2_000;
/// From this many items of one parent on, a range scan beats single look-ups (`store.md` 3.1).
pub const RANGE_SCAN_ITEMS_MIN: usize = 8;
/// Documents that wait in memory for a worker; the rest waits in the store.
pub const READY_MAX: usize = 16_384;
/// Documents that a worker takes at once.
pub const CLAIM_MAX: usize = 64;
/// Deliveries of one intent (`store.md` 3.3: a synced transaction costs about 0.2 ms, so not fewer than 256).
pub const DELIVERY_BATCH_MAX: usize = 512;
/// Bytes of text in one delivery batch.
pub const DELIVERY_BYTES_MAX: usize = 16 << 20;
/// Prepared deliveries that wait for an output; a full queue makes workers wait.
pub const PREPARED_MAX: usize = 2_048;
/// Bytes of text that wait for an output.
pub const PREPARED_BYTES_MAX: usize = 64 << 20;
/// Documents of one commit of a local index (design 4.7).
pub const INDEX_COMMIT_DOCUMENTS: usize = 5_000;
/// Longest time between two commits of a local index while it has changes, milliseconds (design 4.7).
pub const INDEX_COMMIT_MS: i64 = 2_000;
/// Rows that the sweep reads at once.
pub const SWEEP_ROWS: usize = 65_536;
/// Documents that a deletion takes per transaction.
pub const REMOVE_BATCH: usize = 4_096;
/// Attempts at one document before it counts as failed.
pub const ATTEMPTS_MAX: u32 = 8;
/// First wait before another attempt, milliseconds.
pub const RETRY_WAIT_MS_MIN: i64 = 1_000;
/// Longest wait before another attempt, milliseconds.
pub const RETRY_WAIT_MS_MAX: i64 = 300_000;
/// `sync` waits for retries that fall due within this time, milliseconds (design 5.1).
pub const SYNC_WAIT_MS_MAX: i64 = 30_000;
/// Files above this size are not read, bytes; a setting of the job.
pub const FILE_BYTES_MAX: u64 = 1 << 30;
/// Text that is kept of one document, bytes; what is beyond is cut off and said.
pub const BODY_BYTES_MAX: usize = 8 << 20;
/// A version taken within this time of the change that it describes is racy, milliseconds (design 4.5).
pub const CLOCK_GRAIN_MS: i64 = 2_000;
/// A file that changes while it is read is read this often at most (design 4.5).
pub const READ_ATTEMPTS_MAX: u32 = 3;
/// A folder that changes while it is listed is listed this often at most, then it is a blind spot (design 4.5).
pub const LIST_ATTEMPTS_MAX: u32 = 3;
/// Removals up to this number never trip the guard (design 4.11).
pub const GUARD_DOCUMENTS: u64 = 20;
/// Share of a job's documents that may go in one run without being confirmed, per cent (design 4.11).
pub const GUARD_PERCENT: u64 = 10;
/// Access changes on their way to an output that a search takes into account; with more it answers nothing.
pub const PENDING_ACCESS_MAX: usize = 1_000_000;
/// Names of moved documents that a run remembers; with more, moves count for the guard like losses.
pub const MOVES_MAX: usize = 4_000_000;
/// Blind spots that a run keeps by name; the number of those beyond is kept.
pub const BLIND_SPOTS_MAX: usize = 10_000;
/// Bytes of text that wait for the threads of the search index, beside their own memory.
pub const INDEX_WAITING_BYTES_MAX: usize = 32 << 20;
/// Longest address of an entry of the search index, bytes: its library keeps no longer terms.
pub const INDEX_ID_BYTES_MAX: usize = 32 << 10;
/// Changes that the search index remembers between two commits; with more it writes them out by itself.
pub const INDEX_UNCOMMITTED_MAX: usize = 65_536;
/// Longest query of the search index, bytes.
pub const QUERY_BYTES_MAX: usize = 4_096;
/// Parts of one query.
pub const QUERY_CLAUSES_MAX: usize = 64;
/// Parentheses and negations inside each other in one query.
pub const QUERY_DEPTH_MAX: usize = 16;
/// Hits that one search can reach, first pages included; it holds as many in memory.
pub const SEARCH_HITS_MAX: usize = 100_000;
