//! table: bounds of questions to directories (LDAP) and databases, each with its reason.

/// Bytes of one message of a directory: somebody with 100,000 groups whose names are long, listed in one attribute.
pub const LDAP_MESSAGE_BYTES_MAX: usize = 16 << 20;
/// Bytes of all messages that answer one question.
pub const LDAP_ANSWER_BYTES_MAX: usize = 64 << 20;
/// Bytes that an entry counts for at least, since small ones take more memory than they have bytes.
pub const LDAP_ENTRY_BYTES: usize = 512;
/// Values of one entry: twice what somebody with the most tokens has.
pub const LDAP_VALUES_MAX: usize = 200_000;
/// Groups of one person, unless an authority says otherwise.
pub const LDAP_GROUPS: usize = 10_000;
/// Entries that a directory is asked for at once, in pages (RFC 2696): what Active Directory gives at most is 1,000.
pub const LDAP_PAGE: u32 = 500;
/// Groups whose groups are asked for by one search.
pub const LDAP_GROUPS_OF_A_SEARCH: usize = 50;
/// Searches that are under way at once on one connection: OpenLDAP lets 100 wait where nobody has logged in.
pub const LDAP_SEARCHES_AT_ONCE: usize = 20;
/// Connections that wait for the next question.
pub const LDAP_IDLE_MAX: usize = 10;
/// How long one waits at most, milliseconds: firewalls forget connections without a word after some minutes.
pub const LDAP_IDLE_MS_MAX: u64 = 30_000;
/// Servers of one directory.
pub const LDAP_SERVERS_MAX: usize = 16;
/// Addresses of one server that are tried.
pub const LDAP_ADDRESSES_MAX: usize = 8;
/// Names of servers that are looked up at once by one authority: the system may take longer than anybody waits.
pub const LDAP_RESOLVING_MAX: usize = 16;
/// Bytes of a name that a directory is asked for.
pub const LDAP_NAME_BYTES_MAX: usize = 256;
/// Bytes of a filter, and of any other text in the settings.
pub const LDAP_TEXT_BYTES_MAX: usize = 4_096;
/// Filters inside each other.
pub const LDAP_FILTER_DEPTH_MAX: usize = 32;
/// Bytes of a file of certificates.
pub const LDAP_CERTIFICATES_BYTES_MAX: u64 = 4 << 20;
/// Bytes of a query that an authority asks a database.
pub const SQL_QUERY_BYTES_MAX: usize = 64 << 10;
/// Bytes of what a database says until somebody is logged in: twice the longest chain of certificates that anybody has.
pub const SQL_LOGIN_BYTES_MAX: usize = 64 << 10;
/// Bytes of what it says of two queries: the types of their columns, or what is wrong with them. The driver calls itself for types inside types,
/// of which so many bytes name about a hundred.
pub const SQL_PREPARATION_BYTES_MAX: usize = 16 << 10;
/// Bytes of what a database answers to one question: 100,000 tokens with long names.
pub const SQL_ANSWER_BYTES_MAX: usize = 64 << 20;
