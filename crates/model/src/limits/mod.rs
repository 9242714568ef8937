//! table: every bound with its reason. A queue, batch, page, retry, body or wait that is not here does not exist.

mod directory;
mod oidc;
mod outputs;
mod pushed;
mod records;
mod streams;
mod web;

pub use directory::*;
pub use oidc::*;
pub use outputs::*;
pub use pushed::*;
pub use records::*;
pub use streams::*;
pub use web::*;

/// Items of one listing page; larger folders come in several pages (design store 1.3: 4,096 rows a transaction).
pub const PAGE_ITEMS_MAX: usize = 4_096;
/// Unchanged items that are joined before the run's bitmap is written (design store 3.1).
pub const QUIET_ITEMS_MAX: usize = 65_536;
/// Longest wait before the bitmap of a quiet run is written, milliseconds.
pub const QUIET_MS_MAX: i64 = 2_000;
/// Documents that wait in memory for a worker; the rest waits in the store.
pub const READY_MAX: usize = 4_096;
/// Documents that a worker takes at once.
pub const CLAIM_MAX: usize = 64;
/// Bins that a source may name for one document; more are left out.
pub const BINS_OF_A_DOCUMENT_MAX: usize = 4;
/// Bytes of the name of a bin; a longer one is cut there.
pub const BIN_NAME_BYTES_MAX: usize = 255;
/// Documents that a worker takes at once where a source names bins: their order is decided when they are taken.
pub const CLAIM_OF_BINS_MAX: usize = 8;
/// For how long a worker goes on in one place of a host with what it took at once; what is left then waits again, so that others have their
/// turn and what was found is soon known, milliseconds.
pub const PLACE_KEPT_MS: i64 = 200;
/// Rules of the throttle of one repository connection.
pub const THROTTLE_RULES_MAX: usize = 64;
/// Bytes of a pattern of such a rule.
pub const THROTTLE_PATTERN_BYTES_MAX: usize = 1_024;
/// Memory of a pattern that was read, bytes.
pub const THROTTLE_PATTERN_MEMORY_MAX: usize = 1 << 20;
/// Fastest rate that a rule can name, bytes a second; counting stays within 64 bits.
pub const THROTTLE_BYTES_PER_SECOND_MAX: u64 = 1 << 40;
/// What a throttle of bytes lets through at once, as the time in which it comes, milliseconds: long enough that readers rarely wait for
/// less than a turn of the clock.
pub const THROTTLE_BURST_MS: i64 = 100;
/// Bins of a repository connection that a throttle keeps count of; more wait until one of them is at rest.
pub const THROTTLE_BINS_MAX: usize = 16_384;
/// Longest wait of a reader for its throttle before it looks whether everything is to end, milliseconds.
pub const THROTTLE_LOOK_MS: u64 = 25;
/// Wait for bytes from which on people are told of it, milliseconds.
pub const THROTTLE_TOLD_MS: i64 = 1_000;
/// A job of a better priority whose visitors take nothing for so long holds up no other one, milliseconds: its source may hang.
pub const PRIORITY_STALL_MS: u64 = 5_000;
/// Deliveries of one intent (design store 3.3: a synced transaction costs about 0.2 ms, so not fewer than 256).
pub const DELIVERY_BATCH_MAX: usize = 2_048;
/// Deliveries from which on a batch does not wait for more.
pub const DELIVERY_BATCH_MIN: usize = 1_024;
/// Bytes of text in one delivery batch.
pub const DELIVERY_BYTES_MAX: usize = 8 << 20;
/// Changes that wait in the queue of one output; a full queue makes visits wait, so that memory stays bounded.
pub const QUEUED_MAX: usize = 2_048;
/// Bytes of text that wait for an output.
pub const QUEUED_BYTES_MAX: usize = 16 << 20;
/// Files that a connection to SQLite may have open at once: the database, its log, their shared memory, a folder that is
/// synced, and files of its own that it needs for a moment.
pub const SQLITE_HANDLES_MAX: usize = 6;
/// Longest wait of a statement for another connection of the same file, milliseconds.
pub const SQLITE_BUSY_MS: u64 = 5_000;
/// Wait between two tries of such a statement, milliseconds.
pub const SQLITE_TURN_MS: u64 = 5;
/// A statement goes on for so long once the process was asked to end, milliseconds: most are over then, and a person waits.
pub const STOPPED_STATEMENT_MS_MAX: u64 = 300;
/// Time between two looks whether the process was asked to end, while a database server works, milliseconds.
pub const STORE_LOOK_MS: u64 = 100;
/// Such times that are waited before secrets are wiped from the files of a database, while others see it as of before; then the next
/// writer does it.
pub const WIPE_LOOKS_MAX: u32 = 30;
/// Pages of SQLite that a copy takes at once, 4 MiB.
pub const SQLITE_COPY_PAGES: i32 = 1_024;
/// Pages of SQLite's log from which on it is copied into the store: 64 MB (design store 1.3).
pub const SQLITE_LOG_PAGES: u32 = 16_000;
/// Longest wait for more before a small batch is sent, while more is being made, milliseconds.
pub const SENDER_LINGER_MS: u64 = 20;
/// Longest wait of a sender that has nothing to send before it looks what an output is to be told, milliseconds.
pub const SENDER_REST_MS: u64 = 200;
/// Longest wait of the end of a run before it looks whether the run was stopped, milliseconds.
pub const DRAIN_LOOK_MS: u64 = 200;
/// Longest wait before a process looks whether its lease is to be renewed, milliseconds.
pub const LEASE_LOOK_MS: u64 = 250;
/// Age at which a lease is renewed, milliseconds: two renewals may fail before it is over.
pub const LEASE_RENEW_MS: i64 = LEASE_MS / 3;
/// Containers of a repository connection that are kept in memory (about 250 bytes each), and as many looks at them of each run; others are
/// read when they are met. Several times what waits for a worker, when each document has a folder of its own.
pub const CONTAINERS_KEPT_MAX: usize = 65_536;
/// Candidates that are judged at once.
pub const JUDGED_MAX: usize = 1_024;
/// Acls kept by value, so that a document costs one look-up; beyond, they are found by digest.
pub const ACLS_IN_MEMORY_MAX: usize = 100_000;
/// Ids that a process takes at once.
pub const ID_BLOCK: usize = 65_536;
/// Longer than any path can be.
pub const CONTAINER_CHAIN_MAX: usize = 100_000;
/// Rows of a lost output that are marked per transaction.
pub const RESET_ROWS: i64 = 10_000;
/// Attempts to meet inventory and output in step while a writer works.
pub const VERIFY_ATTEMPTS_MAX: usize = 100;
/// Folders above a document that are told.
pub const LAYERS_MAX: usize = 4_096;
/// Parts that are shown of a document after each stage; all are counted.
pub const PARTS_SHOWN_MAX: usize = 1_000;
/// Runs that are kept per job (design store 2.4).
pub const RUNS_KEPT: i64 = 1_000;
/// Milliseconds of a day.
pub const DAY_MS: i64 = 86_400_000;
/// Days that the history of a job is kept, unless the program or the job is told otherwise.
pub const HISTORY_DAYS: u32 = 90;
/// Days that it can be kept.
pub const HISTORY_DAYS_MAX: u32 = 3_650;
/// Documents in the history of one job; the oldest make room. Each takes about 200 bytes.
pub const HISTORY_ROWS_MAX: i64 = 1_000_000;
/// Failures and refusals that one run of a job notes in a history that has these alone: its counters count all, and a first run over a tree
/// of pictures should not write each of them down twice.
pub const HISTORY_FAILURES_MAX: usize = 10_000;
/// Rows of a history that are forgotten in one transaction: others that write wait for it, 20 ms at most.
pub const HISTORY_FORGOTTEN_AT_ONCE: i64 = 1_000;
/// Documents of one job that are erased and never taken in again, and addresses of all jobs: each run reads them.
pub const ERASED_MAX: u64 = 100_000;
/// Documents of a new root that are compared with the inventory before a job moves there: some seconds.
pub const MOVE_LOOKED_MAX: usize = 1_000_000;
/// Links of root on the way to a journal: as many as the kernel follows.
pub const JOURNAL_LINKS_MAX: u32 = 40;
/// Milliseconds that whoever erases a document waits for a run that stops; then it goes on behind it.
pub const ERASE_WAIT_MS_MAX: i64 = 10_000;
/// Milliseconds after which a service tries again to erase what an output still holds.
pub const ERASE_RETRY_MS: i64 = 5_000;
/// Bytes of the file that names the backups of a data directory, some 2,000 of them; then the older half is forgotten.
pub const BACKUPS_NOTED_BYTES_MAX: u64 = 262_144;
/// Characters of the sentence of a document in a history.
pub const HISTORY_MESSAGE_MAX: usize = 500;
/// Documents in the history that one report looks at: with about 200 bytes each, they are read within two seconds.
pub const REPORT_ROWS_MAX: usize = 500_000;
/// Rows of a report that are made in memory.
pub const REPORT_GROUPS_MAX: usize = 10_000;
/// Levels of paths by which a report counts.
pub const REPORT_LEVELS_MAX: u32 = 16;
/// How long a time is in which a report looks for most, unless it is told otherwise, milliseconds.
pub const REPORT_WINDOW_MS: i64 = 300_000;
/// Characters of the name of a notifier.
pub const NOTIFIER_NAME_MAX: usize = 64;
/// Notifiers that a job names, and that a service has.
pub const NOTIFIERS_MAX: usize = 100;
/// Attempts to tell somebody of one end of a run; with the waits between them, about six hours.
pub const NOTICE_ATTEMPTS_MAX: u32 = 12;
/// First and longest wait before another attempt, milliseconds; each is twice the one before.
pub const NOTICE_WAIT_MS_MIN: i64 = 15_000;
/// See [`NOTICE_WAIT_MS_MIN`].
pub const NOTICE_WAIT_MS_MAX: i64 = 3_600_000;
/// Notices that are looked at together.
pub const NOTICES_AT_ONCE: usize = 100;
/// Notices that are kept, told or not: the oldest make room.
pub const NOTICES_KEPT: i64 = 10_000;
/// Bytes of what a program is told.
pub const NOTICE_BODY_BYTES_MAX: usize = 16 << 10;
/// Characters of the error of a run, and of a notifier, in a notice.
pub const NOTICE_ERROR_MAX: usize = 1_000;
/// Time for one attempt by mail or webhook, milliseconds.
pub const NOTICE_MS_MAX: u64 = 10_000;
/// Time for a command that tells, milliseconds.
pub const NOTICE_COMMAND_MS_MAX: u64 = 30_000;
/// Time for one attempt however it is made, milliseconds: a server may answer in time again and again, and say nothing.
pub const NOTICE_WHOLE_MS_MAX: u64 = NOTICE_COMMAND_MS_MAX + 5_000;
/// Attempts that were given up, and whose threads still wait for somebody: with more, none is made.
pub const NOTICES_LEFT_MAX: usize = 8;
/// Time between two looks for the end of an attempt and for the end of the program, milliseconds.
pub const NOTICE_LOOK_MS: u64 = 50;
/// Words of a command that tells.
pub const NOTICE_COMMAND_WORDS_MAX: usize = 64;
/// People to whom one notifier writes.
pub const NOTICE_ADDRESSES_MAX: usize = 50;
/// Bytes of a file that declares notifiers, or holds a secret of one.
pub const NOTIFIERS_FILE_BYTES_MAX: u64 = 256 << 10;
/// Time between two looks of a service for history that is too old, milliseconds.
pub const HISTORY_TIDY_MS: i64 = 3_600_000;
/// Readers that are kept open (design store 1.6): as many as visit at once. To open one takes longer than most that it is asked, since it reads
/// the whole schema.
pub const SQLITE_READERS_MAX: usize = 16;
/// Of these, those that keep many pages: a few are enough where much is read one after the other.
pub const SQLITE_READERS_LARGE: usize = 4;
/// Statements that a connection keeps prepared.
pub const STATEMENTS_MAX: usize = 128;
/// Connections that are kept open when nobody uses them.
pub const POSTGRES_IDLE_MAX: usize = 4;
/// Time that a lease has left at least when something is sent, milliseconds: what is sent takes effect within it.
pub const LEASE_LEFT_MS_MIN: i64 = 3_000;
/// A lease ends by itself after this time without a renewal, milliseconds (design 4.4).
pub const LEASE_MS: i64 = 10_000;
/// Documents of one commit of a local index (design 4.7).
pub const INDEX_COMMIT_DOCUMENTS: usize = 5_000;
/// Longest time between two commits of a local index while it has changes, milliseconds (design 4.7).
pub const INDEX_COMMIT_MS: i64 = 2_000;
/// The same while changes of a continuous job are among them: they are to be found within two seconds.
pub const INDEX_COMMIT_CONTINUOUS_MS: i64 = 500;
/// Rows that the sweep reads at once.
pub const SWEEP_ROWS: usize = 65_536;
/// Documents that a deletion takes per transaction.
pub const REMOVE_BATCH: usize = 4_096;
/// Attempts at one document before it counts as failed.
pub const ATTEMPTS_MAX: u32 = 8;
/// Attempts at a document whose reader somebody else ended, or had no time: memory may have been short for a moment, but a
/// document may also be why.
pub const READER_ATTEMPTS_MAX: u32 = 3;
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
/// Text of a document and of all entries that are made of what is in it, bytes; what is beyond is cut off and said.
pub const PARTS_TEXT_BYTES_MAX: usize = 32 << 20;
/// Bytes of a document that are compared in place of a look at it, when its change time moved: whoever is shut out of another document
/// of the same claim waits for at most 64 times as many.
pub const PEEK_BYTES_MAX: u64 = 64 << 10;
/// What is kept of one document for outputs that are filled anew, bytes, packed; of larger ones nothing is, and they are read.
pub const EXTRACT_BYTES_MAX: usize = 16 << 20;
/// Documents of which what was kept is forgotten per transaction.
pub const EXTRACTS_FORGOTTEN_AT_ONCE: usize = 1_024;
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
/// Bytes of a line of a journal by which the line is known: its number stands at its beginning.
pub const JOURNAL_LINE_BEGINNING: usize = 4_096;
/// Bytes at the end of a journal that are compared before more is written: a file of the same length is another one by them.
pub const JOURNAL_TAIL_BYTES: usize = 4_096;
/// Bytes of one line of a journal that is read: the longest texts, each byte escaped.
pub const JOURNAL_LINE_BYTES_MAX: u64 = 256 << 20;
/// Access changes on their way to an output that a search takes into account; with more it answers nothing.
pub const PENDING_ACCESS_MAX: usize = 1_000_000;
/// Values of one clause of a filter: what OpenSearch and Elasticsearch take where nobody says otherwise (`index.max_terms_count`).
pub const FILTER_TERMS_MAX: usize = 65_536;
/// Jobs that a filter tells apart in what they have not looked at since it opened: three clauses each, of 1,024 that engines take.
pub const FILTER_JOBS_MAX: usize = 250;
/// Names of moved documents that a run remembers; with more, moves count for the guard like losses.
pub const MOVES_MAX: usize = 4_000_000;
/// Blind spots that a run keeps by name; the number of those beyond is kept.
pub const BLIND_SPOTS_MAX: usize = 10_000;
/// Bytes that a file is read by: one system call for most files, and little memory for each worker.
pub const READ_BUFFER_BYTES: usize = 64 << 10;
/// Listing pages of a folder tree that wait for the engine; a full queue makes the walk wait.
pub const PAGES_WAITING_MAX: usize = 8;
/// Folders that wait to be listed (about 64 bytes each); those beyond are blind spots.
pub const FOLDERS_WAITING_MAX: usize = 1_000_000;
/// Folders that a listing keeps open for the sake of their children, far below the usual 1,024 descriptors.
pub const FOLDERS_OPEN_MAX: usize = 128;
/// Folders whose way down from the root is remembered while documents in them are read (about 100 bytes each): those of
/// the documents that wait for a worker, when each has a folder of its own.
pub const FOLDERS_REACHED_MAX: usize = 2 * READY_MAX;
/// Folders that are kept open while documents in them are read: one for each reading thread (at most 8).
pub const FOLDERS_STANDING_MAX: usize = 8;
/// Mounts below one source whose places are remembered, so that another one is noticed when a document is read; beyond, only the two
/// looks at a folder tell.
pub const MOUNTS_ENTERED_MAX: usize = 4_096;
/// Folders that changed while a run went on, or just before, and are watched: about 1 KiB of the kernel's memory each.
pub const FOLDERS_WATCHED_MAX: usize = 1_024;
/// Looks at a document, and at the folders above it, of which each finds it changed while it was read (design 4.20).
pub const LOOKS_MAX: u32 = 4;
/// Bytes of text that a worker holds back for the second look at the folders that it was read in.
pub const LOOKS_BYTES_MAX: usize = 1 << 20;
/// Places that are looked at with one call.
pub const LOOKS_AT_ONCE: usize = 1_024;
/// Folders inside each other; deeper ones are blind spots, for their names alone grow with the square of the depth.
pub const FOLDER_DEPTH_MAX: usize = 4_096;
/// Names of one folder that are remembered so that a second look at it tells none twice (8 bytes each).
pub const FOLDER_NAMES_MAX: usize = 4_000_000;
/// Patterns of one setting.
pub const GLOBS_MAX: usize = 1_024;
/// Bytes of one pattern.
pub const GLOB_BYTES_MAX: usize = 65_536;
/// Bytes of a file with patterns: so many patterns as a setting takes, with comments.
pub const PATTERN_FILE_BYTES_MAX: u64 = 1 << 20;
/// Bytes of the written path of a source.
pub const ROOT_BYTES_MAX: usize = 1 << 20;
/// Bytes of one ignore file; a larger one makes its folder a blind spot.
pub const IGNORE_FILE_BYTES_MAX: u64 = 1 << 20;
/// Bytes of an access list: what Linux allows for an extended attribute.
pub const ACL_BYTES_MAX: usize = 65_536;
/// Bytes of a local account file (`passwd`, `group`) and of what `id` answers.
pub const ACCOUNTS_BYTES_MAX: u64 = 16 << 20;
/// Longest wait for the system's name service, milliseconds.
pub const ACCOUNTS_WAIT_MS_MAX: u64 = 5_000;
/// Bytes of a file that lists users and groups.
pub const LISTED_BYTES_MAX: u64 = 64 << 20;
/// Authorities of one store.
pub const AUTHORITIES_MAX: usize = 256;
/// Users that one question about access names: one person under the names of several domains.
pub const USERS_OF_A_QUESTION_MAX: usize = 32;
/// Bytes of the name of a user that authorities are asked about; longer ones are nobody's.
pub const USER_NAME_BYTES_MAX: usize = 1_024;
/// Tokens of one user that one authority gives: about what the largest directories have; more is a fault, since the rest might deny.
pub const TOKENS_OF_A_USER_MAX: usize = 100_000;
/// Longest wait for the answer of an authority that a definition may name, milliseconds.
pub const AUTHORITY_WITHIN_MS_MAX: u32 = 60_000;
/// Questions at the same time to one authority that a definition may name.
pub const AUTHORITY_AT_ONCE_MAX: u32 = 256;
/// Questions that wait for their turn, for each that one authority is asked at the same time; further ones are refused.
pub const AUTHORITY_WAITING_FOR_EACH: usize = 16;
/// Longest time that an answer of an authority may be kept, milliseconds: a day.
pub const AUTHORITY_KEPT_MS_MAX: u32 = 86_400_000;
/// Longest time that is kept that somebody is not known or may not enter, or not all they hold, milliseconds: people who were just added try soon.
pub const AUTHORITY_KEPT_SHORTLY_MS: i64 = 5_000;
/// Bytes of the answers that are kept of one authority: a million short tokens.
pub const AUTHORITY_KEPT_BYTES_MAX: usize = 100 << 20;
/// Faults of an authority one after the other from which on it is not asked for a while.
pub const AUTHORITY_FAULTS_MAX: u32 = 3;
/// First of these whiles, milliseconds; each is twice as long as the one before.
pub const AUTHORITY_REST_MS: i64 = 1_000;
/// Longest of these whiles, milliseconds.
pub const AUTHORITY_REST_MS_MAX: i64 = 30_000;
/// Rules of the mapping of one authority.
pub const MAPPING_RULES_MAX: usize = 32;
/// Bytes of a pattern or a name of such a rule.
pub const MAPPING_BYTES_MAX: usize = 1_024;
/// Memory of a pattern that was read, bytes.
pub const MAPPING_MEMORY_MAX: usize = 1 << 20;
/// File systems that stamp whole seconds where they were made long ago, and else by the kernel's tick: a stamp with a fraction of a
/// millisecond is one of those.
pub const CLOCKS_OF_TWO_AGES: &[u64] = &[
    0xef53,      // ext2, ext3, ext4
    0x794c_7630, // overlay
    0xf2f5_2010, // f2fs
];
/// Grain of the kernel's tick, milliseconds: 10 at worst, and some for its way.
pub const CLOCK_TICK_MS: i64 = 100;
/// Grain of the clock that stamps changes, by the file system's magic number: (magic, milliseconds); others have
/// [`CLOCK_GRAIN_MS`]. Local ones with nanoseconds are stamped by the kernel's own tick (10 ms at worst). FAT counts in
/// two seconds of local time. On network file systems another machine's clock stamps, which may be some seconds off.
pub const CLOCK_GRAINS: &[(u64, i64)] = &[
    (0x0102_1994, 100),    // tmpfs
    (0x5846_5342, 100),    // xfs
    (0x9123_683e, 100),    // btrfs
    (0x2fc1_2fc1, 100),    // zfs
    (0x0000_4d44, 4_000),  // fat
    (0x0000_6969, 10_000), // nfs
    (0xfe53_4d42, 10_000), // smb2
    (0xff53_4d42, 10_000), // cifs
    (0x0102_1997, 10_000), // 9p
    (0x00c3_6400, 10_000), // ceph
    (0x6573_5546, 10_000), // fuse: anything may be behind it
];
/// Bytes of a title; longer ones are cut off.
pub const TITLE_BYTES_MAX: usize = 1_024;
/// Bytes of text that wait for the threads of the search index, beside their own memory.
pub const INDEX_WAITING_BYTES_MAX: usize = 8 << 20;
/// Longest address of an entry of the search index, bytes: its library keeps no longer terms.
pub const INDEX_ID_BYTES_MAX: usize = 32 << 10;
/// Changes that the search index remembers between two commits; with more it writes them out by itself.
pub const INDEX_UNCOMMITTED_MAX: usize = 65_536;
/// Longest query of the search index, bytes.
pub const QUERY_BYTES_MAX: usize = 16_384;
/// Parts of one query beside its bare words.
pub const QUERY_CLAUSES_MAX: usize = 64;
/// Different bare words of one query that are searched.
pub const QUERY_WORDS_MAX: usize = 512;
/// Words of one query that are corrected: each costs a walk over all words of the index.
pub const QUERY_CORRECTIONS_MAX: usize = 8;
/// Words of a query that may stand for others, as `word~` and `te?t` do: each walks through a part of the dictionary.
pub const QUERY_EXPANDED_MAX: usize = 8;
/// Words that one of them stands for: each is a list of entries in each field, of some KiB while it is read.
pub const QUERY_EXPANSIONS_MAX: usize = 256;
/// Parentheses and negations inside each other in one query.
pub const QUERY_DEPTH_MAX: usize = 16;
/// Hits that one search can reach, first pages included; it holds as many in memory.
pub const SEARCH_HITS_MAX: usize = 100_000;
/// Hits of a search where nobody says how many.
pub const SEARCH_PAGE: u32 = 10;
/// Hits of one page of a search.
pub const SEARCH_PAGE_MAX: u32 = 10_000;
/// Hits that a search leaves out at the beginning; more than it reaches, so that the sentence about that is told.
pub const SEARCH_OFFSET_MAX: u32 = 1_000_000;
/// Users whose view of the search index an open searcher keeps; each is a bit for each entry.
pub const SEARCH_USERS_KEPT: usize = 8;

/// Members of a page of a list, where nobody says how many.
pub const LIST_PAGE: u32 = 100;
/// Members of one page: with names of 4 KiB and a reason each it stays below 100 MiB, and what has no index of its own, such as
/// what a source leaves out, is walked again for each page.
pub const LIST_PAGE_MAX: u32 = 10_000;
/// Documents that one call looks through for those in a state; what it has found by then is a page, and the cursor goes on.
pub const LIST_LOOKED_MAX: usize = 100_000;
/// Items of a source that are looked through for the new name of a document that a person asks about.
pub const EXPLAIN_ITEMS_MAX: usize = 1_000_000;
/// Failed documents of a job that are looked at for what keeps its folders closed.
pub const KEPT_CLOSED_LOOKED_MAX: usize = 1_000;
/// Documents that keep folders closed and are told at the end of a run.
pub const KEPT_CLOSED_TOLD_MAX: usize = 3;
/// Documents of a job whose links are looked through for what leads to the one that a person asks about.
pub const LINKS_LOOKED_MAX: usize = 1_000_000;
/// Of these, how many at once.
pub const LINKS_LOOKED_PAGE: usize = 2_000;
/// Of what leads to a document: those that are named.
pub const REFERRERS_NAMED_MAX: usize = 3;

/// Entries of an output that `verify` holds in memory (56 bytes each); more go into files beside the store.
pub const VERIFY_ENTRIES_MAX: usize = 1_000_000;
/// Entries that one `verify` removes, and those of others that it names; the next one goes on.
pub const VERIFY_UNKNOWN_MAX: usize = 1_000_000;
/// Entries and deliveries that `verify` reads at once.
pub const VERIFY_PAGE: usize = 4_096;
/// Passages that one text is cut into: each is an entry of its own in the inventory.
pub const PASSAGES_MAX: usize = 10_000;
/// Stages of one pipeline.
pub const STAGES_MAX: usize = 64;
/// Conditions inside each other in one condition of a pipeline: each level is a call inside another one.
pub const CONDITION_DEPTH_MAX: usize = 8;
/// Tests of fields in one condition: each is made for every document and everything in it.
pub const CONDITION_TESTS_MAX: usize = 64;
/// Bytes of a text or a field's name in a condition: a pattern costs its length for each character that it is compared with.
pub const CONDITION_TEXT_BYTES_MAX: usize = 256;
/// Bytes of the file that describes a pipeline.
pub const PIPELINE_FILE_BYTES_MAX: u64 = 1 << 20;
/// Bytes of a declaration of jobs: as many as the body of a request has.
pub const DECLARATION_BYTES_MAX: usize = 1 << 20;
/// Bytes of one answer of a Tika server: text, fields of all parts, and their names.
pub const TIKA_ANSWER_BYTES_MAX: u64 = 64 << 20;
/// Containers inside each other that are opened (design parts CMP-6).
pub const EXTRACT_DEPTH_MAX: usize = 8;
/// Parts of one document, at all depths: each costs some memory in the child and in the answer.
pub const EXTRACT_PARTS_MAX: usize = 10_000;
/// Links of one document that are followed: long indexes of real documentation have some thousands. A document with more counts as not read
/// to its end, so that nothing it may lead to is taken for gone.
pub const LINKS_MAX: usize = 10_000;
/// Bytes of the address of one link, and of one value that goes with it; longer ones are left out.
pub const LINK_BYTES_MAX: usize = 4 << 10;
/// Threads of a run that follow links: each waits for one answer at a time, most of the time. So many hosts are asked at once.
pub const FETCHERS: usize = 64;
/// Keys of reached documents that a run remembers, so that links to them are not looked up: 32 MiB.
pub const REACHED_KEYS_MAX: usize = 1 << 20;
/// Pieces in which the marks of a run that follows links are written before all are written in one: a run of a million pages begins with few rows
/// when it goes on.
pub const REACH_PIECES_MAX: i64 = 256;
/// For so long after its beginning another run goes on with one that follows links and did not come to its end, milliseconds: what was
/// visited a week ago is looked at again.
pub const REACH_GOES_ON_MS: i64 = 7 * 24 * 60 * 60 * 1_000;
/// After this time a source that says once more that a document is not there is believed, milliseconds: servers are restarted and sites are
/// built anew within an hour (service P8).
pub const MISSING_BELIEVED_MS: i64 = 60 * 60 * 1_000;
/// Kinds of relations between documents of one source: web sites have two.
pub const RELATIONS_MAX: usize = 8;
/// Hops that a job may allow; ways that are longer are those of traps.
pub const HOPS_MAX: u32 = 10_000;
/// Bytes that one document hands down to another: the fields of an entry of a feed, with its summary.
pub const HANDED_DOWN_BYTES_MAX: usize = 16 << 10;
/// Documents from which one is handed something down: those that were found first. A page that a thousand feeds name needs no more.
pub const HANDED_DOWN_PARENTS_MAX: usize = 256;
/// Bytes that a repository may keep with a document for its next visit: a version tag, a date, some flags.
pub const MEMO_BYTES_MAX: usize = 1 << 10;
/// Bytes of the name of an event, scope included: names of a connection, of a host and of what is done there.
pub const EVENT_NAME_BYTES_MAX: usize = 512;
/// Events that one document may wait for.
pub const PREREQUISITES_MAX: usize = 16;
/// How often a document is asked for again in a run although it did not have to wait for any event: the rules of its host have to be read, or the event was
/// completed just before. More would be a connector that never comes to an end.
pub const AGAIN_MAX: u32 = 16;
/// Pages of a chain of which each names the next one to be found in its place; what names a longer one stays as it is.
pub const IN_PLACE_WAY_MAX: usize = 1_000;
/// Events that a run names at its end for which its documents wait.
pub const EVENTS_TOLD_MAX: usize = 10;
/// Events that are shown at once: people look for one that is forgotten, and the oldest come first.
pub const EVENTS_SHOWN_MAX: usize = 1_000;
/// Bytes of all links of one document and of what goes with them: 10,000 long addresses, or the summaries of a large feed. A document with
/// more counts as not read to its end.
pub const LINKS_BYTES_MAX: usize = 4 << 20;
/// What one document tells robots, in names and orders: pages name a handful of robots.
pub const LINK_ROBOTS_MAX: usize = 64;
/// Bytes that may come out of the compression of one document (design parts CMP-6).
pub const EXTRACT_EXPANDED_BYTES_MAX: u64 = 4 << 30;
/// Bytes out of compression for each byte of a document (design parts CMP-6).
pub const EXTRACT_RATIO_MAX: u64 = 200;
/// Bytes of a document that a child holds in memory; a larger one goes through its scratch folder.
pub const EXTRACT_MEMORY_INPUT_BYTES_MAX: u64 = 64 << 20;
/// Bytes of a document or part of a format that must be in memory as a whole: a quarter of a child's memory.
pub const EXTRACT_WHOLE_BYTES_MAX: u64 = 256 << 20;
/// Memory of a child, bytes of address space.
pub const EXTRACT_MEMORY_BYTES_MAX: u64 = 1 << 30;
/// Bytes of a picture whose words are read: a scanned page has a few millions.
pub const PICTURE_BYTES_MAX: u64 = 64 << 20;
/// Memory of the process that reads one, bytes of address space.
pub const PICTURE_MEMORY_BYTES_MAX: u64 = 2 << 30;
/// Pictures of one document whose words are read: the pages of a thick book.
pub const PICTURES_MAX: usize = 1_000;
/// Time for all of them, milliseconds, at two seconds for a page.
pub const PICTURES_MS_MAX: u64 = 30 * 60_000;
/// Time for one picture, milliseconds: large scans take half a minute.
pub const PICTURE_MS_MAX: u64 = 60_000;
/// Passwords that are tried on a protected document, each with as much work as its format asks for: up to a second.
pub const EXTRACT_PASSWORDS_MAX: usize = 16;
/// Time for one document, milliseconds; children that need more are ended.
pub const EXTRACT_MS_MAX: u64 = 60_000;
/// Bytes of one answer of a child beside its text: 8 MiB of fields and names, escaped, and the marks between them. With
/// the text, and once more as what it means, it has to stay below the 100 MiB that a document may cost the program.
pub const EXTRACT_ANSWER_BYTES_MAX: usize = 24 << 20;
/// Documents that a child reads before another one takes its place, so that what leaks stays small.
pub const EXTRACT_DOCUMENTS_MAX: u32 = 1_000;
/// Time of the processor for all documents of a child, seconds: what they may take one by one, so that none is cut short for
/// those before it.
pub const EXTRACT_CHILD_SECONDS_MAX: u64 = (EXTRACT_DOCUMENTS_MAX as u64 + 1) * (EXTRACT_MS_MAX / 1_000 + 2);
/// Bytes that a child is given at once.
pub const EXTRACT_CHUNK_BYTES: usize = 256 << 10;
/// Stack of the thread that reads in a child, bytes: formats nest, and nesting is bounded in readers of ours only.
pub const EXTRACT_STACK_BYTES: usize = 64 << 20;
/// Time that a child has to start, milliseconds: a busy machine starts processes slowly.
pub const EXTRACT_START_MS_MAX: u64 = 30_000;
/// Time beyond a document's own that a child has to answer, milliseconds; its own clock ends it before.
pub const EXTRACT_GRACE_MS: u64 = 2_000;
/// Bytes of a child's scratch file: the largest document (`FILE_BYTES_MAX`) and room for a setting above it.
pub const EXTRACT_SCRATCH_BYTES_MAX: u64 = 4 << 30;
/// Longest wait for a connection to a database server, milliseconds, where its URL does not say.
pub const STORE_CONNECT_MS_MAX: u64 = 10_000;
/// Longest time in which the machine of a database server need not answer at all, milliseconds, where its URL does not say; a
/// server that is alive and slow is waited for.
pub const STORE_SILENCE_MS_MAX: u64 = 60_000;
/// Longest wait for an answer of a database server whose machine is alive, milliseconds, where its URL does not say: longer
/// than the server itself lets a statement run.
pub const STORE_ANSWER_MS_MAX: u64 = 330_000;
/// Longest time that a database server works on one statement, milliseconds: the largest ones look at a whole inventory.
pub const STORE_STATEMENT_MS_MAX: u64 = 300_000;
/// How often a transaction is run that others are in the way of. Each time, one of those that wait for each other goes on.
pub const STORE_ATTEMPTS_MAX: u32 = 8;
/// Time above which a transaction that writes is counted as slow, milliseconds: others wait for it, and a person who clicks meanwhile should
/// not notice.
pub const STORE_WRITE_SLOW_MS: u64 = 20;
/// Longest wait of a statement for what somebody else has locked, milliseconds.
pub const STORE_LOCK_MS_MAX: u64 = 60_000;
/// Bytes of a file with passwords: more than all of them together take.
pub const PASSWORD_FILE_BYTES_MAX: u64 = 1 << 20;
/// Bytes of one password. No format has longer ones, and each is copied for every document.
pub const PASSWORD_BYTES_MAX: usize = 1_024;
/// Ids between the first and the last of some documents, for each of them, up to which what is noted of them is read as one range.
pub const SPAN_FACTOR: i64 = 8;
/// Deliveries that are marked to be sent again in one transaction: others that write wait for it.
pub const RESEND_ROWS: usize = 1_000;
/// Looks of an abort for what is to be stopped: it may end between two of them.
pub const ABORT_LOOKS_MAX: usize = 8;
/// Time between two looks of a command that waits for the end of a run, milliseconds.
pub const JOB_WAIT_LOOK_MS: u64 = 500;
/// Runs of a job that were interrupted in a row, after which no other one begins by itself: something in it ends the program.
pub const INTERRUPTIONS_MAX: usize = 3;
/// Time before a run of a job begins by itself once more, milliseconds: one that fails before it is on record leaves no other trace.
pub const SCHEDULE_RETRY_MS: i64 = 60_000;
/// Definitions that are read one by one; more of them are read with all others.
pub const DEFINITIONS_SINGLY_MAX: usize = 64;
/// Shortest time between two looks at schedules, milliseconds: each is at a row of every job, and with many jobs at work a run begins or ends
/// all the time.
pub const SCHEDULE_LOOK_MS_MIN: u64 = 20;
/// Longest time between two looks at schedules, milliseconds: a clock that is put forward is noticed by then.
pub const SCHEDULE_LOOK_MS_MAX: i64 = 60_000;
/// How long a schedule is taken for what it was read as, milliseconds: the rules of time zones change while a service runs.
pub const SCHEDULE_READ_MS: i64 = 86_400_000;
/// Documents that are counted when a search says how many of a job wait to be sent again.
pub const RESENDS_COUNTED_MAX: i64 = 100_000;
/// Documents of a job that wait, of more than which nobody looks for the first date.
pub const RETRIES_LOOKED_MAX: u64 = 10_000;
/// Largest number of a change that a store can have given out: a million each second lead there in 146,000 years. An output
/// that knows a larger one was written by somebody else.
pub const SEQ_MAX: i64 = 1 << 62;
/// Longest wait for the lock of a local output, milliseconds: a process that this one starts holds a copy of the lock until it runs
/// its own program, which a loaded machine may put off.
pub const LOCK_WAIT_MS_MAX: u64 = 2_000;
/// Wait between two attempts at such a lock, milliseconds.
pub const LOCK_PAUSE_MS: u64 = 20;
/// Bytes of a schedule as it is typed.
pub const SCHEDULE_TEXT_BYTES_MAX: usize = 16 << 10;
/// Rules of one schedule: each is looked at whenever it is asked whether the job begins.
pub const SCHEDULE_RULES_MAX: usize = 64;
/// Minutes of a window or an interval: a year.
pub const SCHEDULE_MINUTES_MAX: u32 = 366 * 1_440;
/// Years that one rule names.
pub const SCHEDULE_YEARS_NAMED_MAX: usize = 100;
/// Latest year that a rule names.
pub const SCHEDULE_YEAR_MAX: i16 = 2_999;
/// Years that are searched for a day of a rule that names none: where a century has no leap day, one 29 February on a Monday may be
/// 40 years after the last, both of them counted, and nothing is rarer.
pub const SCHEDULE_YEARS_MAX: usize = 41;
/// Beginnings that are passed over in one search because clocks were put back: one in each minute of the longest such change, a day.
pub const SCHEDULE_STEPS_MAX: usize = 1_500;
/// Bytes of the name of a time zone; the longest has 32.
pub const TIME_ZONE_BYTES_MAX: usize = 64;
/// Folders that one continuous job watches: about 150 bytes of ours and 1 KiB of the kernel's memory each.
pub const WATCH_FOLDERS_MAX: usize = 262_144;
/// Folders inside each other that are watched; each keeps one open while those below it are entered.
pub const WATCH_DEPTH_MAX: usize = 256;
/// Folders that a watch names at once; with more it says that anything may have changed.
pub const WATCH_SCOPES_MAX: usize = 1_024;
/// Rest before lost watches are set anew, milliseconds: each time all folders are entered.
pub const WATCH_REST_MS: i64 = 1_000;
/// How often that rest doubles while a source is not there: eight seconds at most.
pub const WATCH_AWAY_DOUBLINGS_MAX: u32 = 3;
/// Shortest and longest rest between two passes of a continuous job, milliseconds; between them it is as long as the last pass took.
pub const PASS_REST_MS_MIN: i64 = 250;
/// See [`PASS_REST_MS_MIN`].
pub const PASS_REST_MS_MAX: i64 = 60_000;
/// The same of a source into which applications push: its passes list nothing, and whoever pushes waits for them.
pub const PUSHED_REST_MS_MIN: i64 = 5;
/// See [`PUSHED_REST_MS_MIN`].
pub const PUSHED_REST_MS_MAX: i64 = 50;
/// Rest after a pass that failed or was stopped, milliseconds.
pub const PASS_RETRY_MS: i64 = 60_000;
/// An output that is away is tried again after so long, milliseconds, and twice as late each time.
pub const OUTPUT_PROBE_MS_MIN: i64 = 1_000;
/// See [`OUTPUT_PROBE_MS_MIN`]: as late as runs that failed are made again at the latest.
pub const OUTPUT_PROBE_MS_MAX: i64 = 60_000;
/// Outputs that are tried at once, each by a thread that may wait for a minute.
pub const OUTPUT_PROBES_AT_ONCE_MAX: usize = 8;
/// An output that could be opened, and fails within so long before any run ended well with it, was not back, milliseconds: what is sent to
/// one is asked for again for a minute before it fails.
pub const OUTPUT_STEADY_MS: u64 = 300_000;
/// Time between two passes of a continuous job that cannot be watched, milliseconds.
pub const PASS_UNWATCHED_MS: i64 = 300_000;
/// Time after which a continuous job is listed although its watch told nothing, milliseconds: what the kernel does not tell, such as a
/// change that a stopped machine slept through, is found by then.
pub const PASS_WATCHED_MS: i64 = 86_400_000;
/// Minutes between two times at which a continuous job asks the seeds of a source that is found by following links, where it does not say.
pub const RESEED_MINUTES: u32 = 60;
/// The least minutes between two looks at a document of such a job, where it does not say.
pub const RECRAWL_MINUTES: u32 = 24 * 60;
/// The most of them, where it does not say.
pub const RECRAWL_MAX_MINUTES: u32 = 7 * 24 * 60;
/// Ten years: nobody means more by a number of minutes.
pub const DATE_MINUTES_MAX: u32 = 10 * 366 * 24 * 60;
/// Whatever a source says, a document is not looked at again sooner than this, milliseconds: a feed that says "at once" is asked once a minute.
pub const RECRAWL_MS_MIN: i64 = 60_000;
/// A pass begins so long after the first date that has come, milliseconds: documents whose dates are close share one.
pub const DATES_TOGETHER_MS: i64 = 5_000;
/// Time over which the delete guard adds up what passes of a continuous job remove, milliseconds.
pub const GUARD_WINDOW_MS: i64 = 3_600_000;
/// Beginnings of a schedule that are told.
pub const BEGINS_TOLD: usize = 3;

/// Changes that a service was asked for and that are kept on record: months of a busy one, and less than 20 MB.
pub const AUDIT_KEPT: i64 = 100_000;
/// How much less urgent the work of a service is than its answers, as `nice` counts: on two busy cores a person is answered first.
pub const WORK_NICENESS: i32 = 5;
/// Bytes of a file that answers about access are put on record in, before another one is begun: a month of a question each five seconds.
pub const ANSWERS_LOG_BYTES_MAX: u64 = 128 << 20;
/// Such files that are kept beside the one that is written to.
pub const ANSWERS_LOGS_KEPT: usize = 9;
/// Characters of a name that are put on record there.
pub const ANSWERS_LOG_NAME_MAX: usize = 1_000;
/// API keys of a data directory.
pub const API_KEYS_MAX: usize = 1_000;
/// Threads of a process that list and read.
pub const THREADS_MAX: u32 = 256;
/// Characters of the name of an API key.
pub const API_KEY_NAME_MAX: usize = 64;
/// Networks of reverse proxies that vouch for names.
pub const PROXIES_MAX: usize = 64;
/// Bytes of the secret of reverse proxies, at least: what `openssl rand -hex 16` makes.
pub const PROXY_SECRET_BYTES_MIN: usize = 32;
/// Bytes of the secret of reverse proxies, at most: it goes in a header.
pub const PROXY_SECRET_BYTES_MAX: usize = 1_024;
/// Bytes of a name that a reverse proxy vouches for: no account of a directory has a longer one.
pub const PROXY_NAME_BYTES_MAX: usize = 256;
/// Characters of the job that a request was about, in the log; the rest of a longer name is left out.
pub const LOG_JOB_MAX: usize = 256;
/// Bytes of the body of a request: definitions are the largest, and their stages may name long lists.
pub const HTTP_BODY_BYTES_MAX: usize = 1 << 20;
/// Values in one body.
pub const HTTP_VALUES_MAX: usize = 200_000;
/// Bytes of the first line and the headers of a request: a query of [`QUERY_BYTES_MAX`] in percent-encoding, and headers.
pub const HTTP_HEAD_BYTES_MAX: usize = 64 << 10;
/// Headers of a request.
pub const HTTP_HEADERS_MAX: usize = 64;
/// Connections over the network that a service has at once: each may hold a head and a body, 70 MB together with those of the socket.
pub const HTTP_CONNECTIONS_MAX: usize = 192;
/// Connections to its socket that a service has at once, apart from the others: no crowd at the one keeps somebody out at the other.
pub const HTTP_SOCKET_CONNECTIONS_MAX: usize = 64;
/// Connections of plug-ins that ask what users hold: a search engine has a pool of 50.
pub const HTTP_USER_ACLS_CONNECTIONS_MAX: usize = 256;
/// Operations that a service does at once: each has a thread, and most read a database that has few connections.
pub const HTTP_OPERATIONS_MAX: usize = 16;
/// Pushes that a service does at once, apart from these: they wait for the disk together, and keep nobody from searching.
pub const HTTP_PUSHES_MAX: usize = 64;
/// Bytes of bodies with more than [`HTTP_BODY_BYTES_MAX`] that a service has at once: those of eight of the largest calls.
pub const HTTP_LARGE_BODIES_BYTES_MAX: usize = 64 << 20;
/// Longest wait of a request for one of these operations to end, milliseconds: ten of the operations that a person sees as immediate.
pub const HTTP_OPERATION_WAIT_MS_MAX: u64 = 500;
/// Requests with tokens of providers that a service answers at once: half of its operations, so that strangers who make up tokens, and people
/// whose provider takes its time, leave room for others, however many providers hang.
pub const HTTP_TOKENS_MAX: usize = HTTP_OPERATIONS_MAX / 2;
/// Sentences about requests that failed with one code in the log, in each minute; the others are counted. Strangers can have a request fail as
/// often as they like, and a minute of these is a page.
pub const LOG_FAILURES_MAX: u32 = 60;
/// Characters of such a sentence: some repeat what others have chosen.
pub const LOG_FAILURE_MAX: usize = 1_024;
/// Searches of one caller in each second, unless `serve` is told otherwise: a program that answers many people asks by one key.
pub const SEARCHES_PER_SECOND: u32 = 50;
/// Seconds whose searches a caller has at once, after a time without any.
pub const SEARCH_BURST_S: i64 = 4;
/// How long the answer to a change with an `Idempotency-Key` is kept for whoever asks again, milliseconds.
pub const REPEATS_MS: i64 = 60 * 60 * 1_000;
/// Answers that are kept so; the oldest makes room.
pub const REPEATS_MAX: usize = 1_000;
/// Bytes of one of them: with more it is not kept.
pub const REPEAT_BYTES_MAX: usize = 64 << 10;
/// Characters of an `Idempotency-Key`.
pub const IDEMPOTENCY_KEY_MAX: usize = 255;
/// Streams of events that a service has open at once: each holds a connection for as long as its client wants.
pub const STREAMS_MAX: usize = 32;
/// Events that are kept for clients that come back: a day of a service with thirty runs an hour, in less than 1 MB.
pub const STREAM_EVENTS_KEPT: usize = 1_000;
/// Time between two looks at the progress of runs for a stream, milliseconds.
pub const STREAM_PROGRESS_MS: u64 = 1_000;
/// So many of these looks without anything to tell, then a client is told that the service is there.
pub const STREAM_QUIET_MAX: u32 = 15;
/// Characters of the error of a run that a stream tells; the job has all of it.
pub const STREAM_ERROR_MAX: usize = 500;
/// Bytes of a file with certificates or a key: the roots of a whole system take a quarter of it.
pub const TLS_FILE_BYTES_MAX: u64 = 1 << 20;
/// Jobs that have figures of their own among the metrics of a service; those of all others are added up. Each costs a monitoring system 14
/// series for ever.
pub const METRICS_JOBS_MAX: usize = 1_000;
/// Longest wait for the inventory until a service says that it is not ready, milliseconds: probes ask every few seconds.
pub const HTTP_READY_MS_MAX: u64 = 5_000;
/// Time for the head of a request since its connection was ready for it, milliseconds.
pub const HTTP_HEAD_MS_MAX: u64 = 10_000;
/// Time for the body of a request, milliseconds.
pub const HTTP_BODY_MS_MAX: u64 = 10_000;
/// Time within which a client takes something of what it is sent, milliseconds: whoever takes nothing for so long has gone.
pub const HTTP_WRITE_MS_MAX: u64 = 30_000;
/// Items that an answer over HTTP has beside it; more are counted.
pub const HTTP_ITEMS_MAX: usize = 10_000;
/// When to ask again after a service had no room for a request, seconds.
pub const HTTP_RETRY_AFTER_S: u64 = 1;
/// Time that requests under way have when a service stops, milliseconds.
pub const HTTP_STOP_MS_MAX: u64 = 1_000;
/// Runs that a service has under way at once: each has threads that wait, and its own rows of the inventory in memory.
pub const RUNS_AT_ONCE_MAX: usize = 64;
/// How long a login link can be used, milliseconds: as long as it takes to carry it from a terminal to a browser.
pub const LOGIN_LINK_MS: i64 = 10 * 60 * 1_000;
/// Login links that wait to be used; the oldest makes room.
pub const LOGIN_LINKS_MAX: usize = 100;
/// People who are logged in at a search page at once; the one whose time ends first makes room.
pub const SESSIONS_MAX: usize = 10_000;
/// How long somebody is logged in, milliseconds: a working day.
pub const SESSION_MS: i64 = 12 * 60 * 60 * 1_000;
/// Bytes of one piece of an answer that a client of a service reads: an item, a problem, or an answer that has no items. A client holds
/// one piece at a time, and as values they take several times as much.
pub const HTTP_PIECE_BYTES_MAX: usize = 32 << 20;
/// Members of a list that a client of a service asks for at once; with names of 4 KiB and a reason each they stay below 10 MiB.
pub const HTTP_CLIENT_PAGE: u32 = 1_000;
/// Longest wait of a client for the beginning of an answer, milliseconds: some compare a whole inventory first.
pub const HTTP_ANSWER_MS_MAX: u64 = 30 * 60_000;
