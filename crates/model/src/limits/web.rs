//! table: bounds of web sites, feeds and wikis, each with its reason.

/// Bytes of the address of a page: what sitemaps may name (2,048), and about what browsers and servers take.
pub const WEB_URL_BYTES_MAX: usize = 2_048;
/// Rounds of bringing an address into its one spelling; each but the last takes something away, and what goes on longer is made up.
pub const WEB_URL_ROUNDS_MAX: usize = 16;
/// Names in a list of a web job's settings, such as query parameters to drop.
pub const WEB_NAMES_MAX: usize = 256;
/// Patterns of one kind in the settings of a web job, start addresses among them.
pub const WEB_PATTERNS_MAX: usize = 1_024;
/// Bytes of one such pattern.
pub const WEB_PATTERN_BYTES_MAX: usize = 4_096;
/// Memory of the patterns of one kind once they were read, bytes.
pub const WEB_PATTERN_MEMORY_MAX: usize = 16 << 20;
/// Folders that an address may be deep, unless a job says otherwise: people build up to ten or so, traps go on.
pub const WEB_PATH_DEPTH: usize = 32;
/// Bytes of the path of an address, unless a job says otherwise.
pub const WEB_PATH_BYTES: usize = 1_024;
/// How often the same run of folders may follow itself in a path, unless a job says otherwise: `/a/b/a/b` happens, three are a loop.
pub const WEB_PATH_REPEATS: usize = 2;
/// Query parameters of an address, unless a job says otherwise.
pub const WEB_PARAMETERS: usize = 16;
/// Addresses that are alike but for their digits, unless a job says otherwise: a calendar without end has more, few archives have.
pub const WEB_ALIKE: usize = 50_000;
/// Pages of one host, equally deep and with the same parameters, that one run visits, unless a job says otherwise: a week at one each second, and
/// more than all but the largest sites have; what makes up names goes on.
pub const WEB_VISITED_ALIKE: usize = 500_000;
/// Addresses with digits that a job keeps count of, 9 bytes each; beyond, no new one is taken.
pub const WEB_ALIKE_KEPT_MAX: usize = 1 << 20;
/// Bytes of a robots.txt that are read (RFC 9309, 2.5: at least 500 KiB).
pub const ROBOTS_BYTES_MAX: usize = 500 << 10;
/// Redirects that are followed to a robots.txt (RFC 9309, 2.3.1.2: at least five).
pub const ROBOTS_REDIRECTS_MAX: usize = 5;
/// How long a robots.txt is gone by, milliseconds (RFC 9309, 2.4: not more than 24 hours).
pub const ROBOTS_KEPT_MS: i64 = 24 * 60 * 60 * 1_000;
/// When one that could not be had is asked for again, milliseconds.
pub const ROBOTS_RETRY_MS: i64 = 5 * 60 * 1_000;
/// Hosts whose robots.txt are kept; the one that was asked for longest ago makes room.
pub const ROBOTS_HOSTS_MAX: usize = 4_096;
/// Bytes of all robots.txt that are kept: those of thousands of hosts as they are, or a hundred of the largest.
pub const ROBOTS_KEPT_BYTES_MAX: usize = 64 << 20;
/// Longest pause between two requests that a robots.txt can ask for, milliseconds; a longer one would be a way to say no.
pub const ROBOTS_DELAY_MS_MAX: i64 = 60 * 60 * 1_000;
/// Sitemaps that a robots.txt can name.
pub const ROBOTS_SITEMAPS_MAX: usize = 1_000;
/// Entries of one sitemap (sitemaps.org: 50,000).
pub const SITEMAP_ENTRIES_MAX: usize = 50_000;
/// Bytes of one sitemap once unpacked (sitemaps.org: 50 MiB).
pub const SITEMAP_BYTES_MAX: u64 = 50 << 20;
/// Elements inside one another in a sitemap: the format needs three, extensions a few more.
pub const SITEMAP_DEPTH_MAX: usize = 16;
/// Bytes of one piece of a sitemap, such as an element or a comment, which is held in memory.
pub const SITEMAP_PIECE_BYTES_MAX: usize = 64 << 10;
/// Between two requests to one host where nobody says otherwise, milliseconds: what owners of sites take for polite.
pub const WEB_DELAY_MS: i64 = 1_000;
/// The longest time between two requests to one host that is set, or that a robots.txt asks for, milliseconds; a host that asks for more is slow,
/// and does not stand still for years.
pub const WEB_DELAY_MS_MAX: i64 = 60 * 60 * 1_000;
/// The longest time between two requests to one host that says it is asked too often, milliseconds.
pub const WEB_SLOW_MS_MAX: i64 = 5 * 60 * 1_000;
/// Answers in a row after which a host that was slowed down is asked twice as often.
pub const WEB_SLOW_ANSWERS: u32 = 10;
/// Sentences about a site that one run tells a person.
pub const WEB_NOTES_MAX: usize = 20;
/// Addresses that a bound left out and that are counted, 9 bytes each, for each bound; of more it is said that there are more.
pub const WEB_LEFT_OUT_COUNTED_MAX: usize = 100_000;
/// Hosts of one job whose own pace is remembered.
pub const WEB_PACES_MAX: usize = 100_000;
/// Bytes at the beginning of a document in which the first element of a sitemap or feed stands, behind comments of its makers.
pub const SITEMAP_HEAD_BYTES: usize = 8 << 10;
/// Bytes of an `ETag` or `Last-Modified` that is remembered: two of them fit into what is left, and honest ones have a tenth.
pub const WEB_VALIDATOR_BYTES_MAX: usize = 400;
/// Bytes of the head of an answer: servers send a few KiB, and most refuse to send more than 64.
pub const WEB_HEAD_BYTES_MAX: usize = 128 << 10;
/// Headers of an answer; with more, something counts up.
pub const WEB_HEADERS_MAX: usize = 200;
/// Time to reach a server and agree on a connection, unless a job says otherwise, milliseconds.
pub const WEB_CONNECT_MS: u64 = 20_000;
/// Time in which something more of an answer comes, unless a job says otherwise, milliseconds: pages that are computed take half a
/// minute.
pub const WEB_IDLE_MS: u64 = 60_000;
/// Time for a whole answer, unless a job says otherwise, milliseconds: 64 MiB at 128 KiB a second.
pub const WEB_TOTAL_MS: u64 = 10 * 60_000;
/// Bytes of a page once unpacked, unless a job says otherwise.
pub const WEB_BODY_BYTES: u64 = 64 << 20;
/// How many bytes one byte of a packed page may become, behind the first MiB: pages reach 30, tables of zeros 1,000.
pub const WEB_RATIO_MAX: u64 = 250;
/// Unpacked bytes from which on the ratio counts; what is smaller harms nobody.
pub const WEB_RATIO_FROM_BYTES: u64 = 1 << 20;
/// Packings around one another; honest servers use one.
pub const WEB_CODINGS_MAX: usize = 2;
/// Memory of a window of zstd, bytes: what HTTP allows (RFC 9659).
pub const WEB_ZSTD_WINDOW_BYTES_MAX: u64 = 8 << 20;
/// Bytes of a page that is compared with what it was before it is read, held in memory by each reader; nearly all pages have fewer.
pub const WEB_COMPARED_BYTES_MAX: usize = 1 << 20;
/// Bytes that are unpacked at once.
pub const WEB_PIECE_BYTES: usize = 8 << 10;
/// Longest time before a request looks whether the run was stopped, milliseconds.
pub const WEB_LOOK_MS: u64 = 200;
/// Longest wait that a server can ask for, milliseconds.
pub const WEB_RETRY_AFTER_MS_MAX: i64 = 24 * 60 * 60 * 1_000;
/// Connections to one host that are kept while nothing is asked.
pub const WEB_IDLE_CONNECTIONS_MAX: usize = 4;
/// How long such a connection is kept, milliseconds: less than servers keep theirs.
pub const WEB_IDLE_CONNECTION_MS: u64 = 15_000;
/// Bytes of HTTP/2 on their way that a server may send ahead of a reader, of each answer.
pub const WEB_STREAM_WINDOW_BYTES: u32 = 256 << 10;
/// Addresses of one host that are tried; most have two or four.
pub const WEB_ADDRESSES_MAX: usize = 8;
/// Threads that drive all connections of a process: they move bytes, the threads of visits unpack.
pub const WEB_NETWORK_THREADS: usize = 2;
/// Attempts at a host whose certificate is not trusted: it is rarely put right within a run.
pub const WEB_TLS_ATTEMPTS_MAX: u32 = 2;
/// How often one request is made again because its server wants another proof of a password: once because it wants one at all, and once
/// because it gave what to prove only to call it too old.
pub const WEB_DIGEST_ROUNDS_MAX: usize = 2;
/// Logins of one job at a site in a row that fail for other reasons than a refusal, or after which pages are as before: more lock accounts.
/// After a refusal there is none: the same name and password are refused again.
pub const WEB_LOGIN_ATTEMPTS_MAX: u32 = 3;
/// How long nobody logs in after that, milliseconds: accounts are unlocked, and passwords put right, within minutes at best.
pub const WEB_LOGIN_WAIT_MS: i64 = 10 * 60 * 1_000;
/// How often that time is doubled at most while logins are refused: up to 21 hours, so that an account that is locked after a few refusals a
/// day is not kept locked.
pub const WEB_LOGIN_WAIT_DOUBLED_MAX: u32 = 7;
/// Redirects before and behind the form of a login; single sign-on takes a few.
pub const WEB_LOGIN_REDIRECTS_MAX: usize = 8;
/// Bytes at the beginning of a page in which the form of a login is looked for, held in memory by each reader.
pub const WEB_LOGIN_LOOK_BYTES: u64 = 1 << 20;
/// Forms of one page that are looked at.
pub const WEB_FORMS_MAX: usize = 64;
/// Fields of one form; hidden ones come by the dozen.
pub const WEB_FORM_FIELDS_MAX: usize = 256;
/// Bytes of one cookie (RFC 6265, 6.1: at least 4,096).
pub const WEB_COOKIE_BYTES_MAX: usize = 4_096;
/// Cookies of one host or domain (RFC 6265, 6.1: at least 50); the oldest makes room.
pub const WEB_COOKIES_OF_DOMAIN_MAX: usize = 50;
/// Cookies of one job, 4 MiB at most; the oldest makes room.
pub const WEB_COOKIES_MAX: usize = 1_000;
/// Bytes of all cookies of one request: servers refuse more.
pub const WEB_COOKIE_HEADER_BYTES_MAX: usize = 8 << 10;
/// Between two requests to one wiki where nobody says otherwise, milliseconds: owners of wikis ask robots to make one request after the other, and to
/// wait when the wiki says that it lags.
pub const WIKI_DELAY_MS: i64 = 200;
/// Bytes of one answer of a wiki, unless a job says otherwise: it is held in memory, and the text of a page (2 MiB by default of MediaWiki) grows a few
/// times when it is made HTML.
pub const WIKI_ANSWER_BYTES: u64 = 16 << 20;
/// Pages that one list of a wiki names: what MediaWiki gives to everybody at once.
pub const WIKI_LIST_PAGES_MAX: usize = 500;
/// Lists that follow one another in one namespace, 50 million pages; what goes on longer has no end.
pub const WIKI_LISTS_MAX: usize = 100_000;
/// Seconds that the databases of a wiki may lag behind one another; beyond, it answers that it is to be asked later (`maxlag`, as its makers advise).
pub const WIKI_LAG_SECONDS_MAX: u32 = 5;
/// When a wiki that lags is asked again where it says nothing of that, milliseconds (its makers: at least 5 seconds).
pub const WIKI_LAG_RETRY_MS: i64 = 5_000;
/// Pages of one wiki that were asked about and not yet read: their turn has come once, and comes again soon.
pub const WIKI_LOOKED_MAX: usize = 10_000;
/// Bytes of the title of a page: MediaWiki has 255 behind the namespace.
pub const WIKI_TITLE_BYTES_MAX: usize = 512;
/// Bytes of a sentence of a wiki that people are told.
pub const WIKI_SENTENCE_BYTES_MAX: usize = 200;
