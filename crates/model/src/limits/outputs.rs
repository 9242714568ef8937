//! table: bounds of search engines that are delivered to over a network, each with its reason.

/// Bytes of the address of a server, of a name and of a path in its settings.
pub const OPENSEARCH_TEXT_BYTES_MAX: usize = 4 << 10;
/// Bytes of a password, an API key or a token: tokens of large providers have some KiB.
pub const OPENSEARCH_SECRET_BYTES_MAX: usize = 16 << 10;
/// Bytes of the name of an index: the engines take 255, of which an alias of ours needs 33 beside it.
pub const OPENSEARCH_INDEX_BYTES_MAX: usize = 200;
/// Bytes of a file of certificates or of a key.
pub const OPENSEARCH_PEM_BYTES_MAX: u64 = 1 << 20;
/// How long a connection may take to be made, milliseconds.
pub const OPENSEARCH_CONNECT_MS_MAX: u64 = 10_000;
/// How long an answer may take, unless the settings say otherwise, seconds; and the most that they may say.
pub const OPENSEARCH_TIMEOUT_S: u32 = 60;
/// See [`OPENSEARCH_TIMEOUT_S`].
pub const OPENSEARCH_TIMEOUT_S_MAX: u32 = 600;
/// Bytes of a bulk request from which on the next entry goes into another one: makers of the engines advise 5 to 15 MB.
pub const OPENSEARCH_BULK_BYTES: usize = 8 << 20;
/// MiB of the largest request, unless the settings say otherwise: a server takes 100 MB by default.
pub const OPENSEARCH_REQUEST_MIB: u32 = 90;
/// The most that the settings may say of that: the engines take no larger requests, whatever they are told.
pub const OPENSEARCH_REQUEST_MIB_MAX: u32 = 2_000;
/// For how long a server that is busy or away is asked again before its changes are given back, milliseconds.
pub const OPENSEARCH_PATIENCE_MS_MAX: u64 = 60_000;
/// The same where somebody waits to be told whether an output can be used, milliseconds.
pub const OPENSEARCH_OPEN_PATIENCE_MS_MAX: u64 = 5_000;
/// Characters of the piece of a text that a hit is shown with.
pub const OPENSEARCH_SNIPPET_CHARS: usize = 160;
/// The first pause between two attempts, milliseconds; each is twice the one before it.
pub const OPENSEARCH_PAUSE_MS: u64 = 200;
/// The longest one, also where a server asks for more.
pub const OPENSEARCH_PAUSE_MS_MAX: u64 = 10_000;
/// How often is looked, while it is paused, whether to stop, milliseconds.
pub const OPENSEARCH_LOOK_MS: u64 = 50;
/// Bytes of the id of an entry: longer ones the engines refuse.
pub const OPENSEARCH_ID_BYTES_MAX: usize = 512;
/// Bytes of an address that is kept as one term: the library of the engines keeps no longer ones.
pub const OPENSEARCH_TERM_BYTES_MAX: usize = 32_766;
/// Entries whose text is read back at once, where their access changes.
pub const OPENSEARCH_READ_AT_ONCE: usize = 64;
/// How often an entry that others write to at the same time is read back.
pub const OPENSEARCH_CONFLICTS_MAX: usize = 3;
/// Bytes of an answer beside the entries that are in it: 2,048 changes with a reason each, or a page of `verify`.
pub const OPENSEARCH_ANSWER_BYTES_MAX: u64 = 32 << 20;
/// Entries that no sentence of ours stands in, such as those written by hand, that are told of.
pub const OPENSEARCH_STRAYS_MAX: usize = 10_000;
/// How long an engine keeps a state of the index for somebody who lists it, from one page to the next, minutes.
pub const OPENSEARCH_POINT_MINUTES: u32 = 10;
/// Characters of what a server says that are told.
pub const OPENSEARCH_SAID_MAX: usize = 400;
/// Bytes from which on a secret is taken out of what a server says; shorter ones are parts of other words.
pub const OPENSEARCH_HIDDEN_BYTES_MIN: usize = 4;
