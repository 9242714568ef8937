//! table: bounds of people and groups that are pushed (SCIM), each with its reason.

/// People of one authority, and as many groups: about ten times what the largest directories push, so that whoever has the key does not fill the disk.
pub const PUSHED_MAX: i64 = 500_000;
/// Bytes of a name, and of what whoever pushes calls somebody: names are in indexes of PostgreSQL, with both of their cases.
pub const PUSHED_NAME_BYTES_MAX: usize = 256;
/// Bytes of what else is kept of a person or a group.
pub const PUSHED_BODY_BYTES_MAX: usize = 64 << 10;
/// Members of one group: an answer lists all of them.
pub const PUSHED_MEMBERS_MAX: usize = 50_000;
/// Members that one request names.
pub const PUSHED_MEMBERS_OF_A_REQUEST_MAX: usize = 20_000;
/// Changes of one request.
pub const PUSHED_OPERATIONS_MAX: usize = 1_000;
/// Values of all attributes of a person or a group together, members apart, parts of values included.
pub const PUSHED_VALUES_MAX: usize = 1_000;
/// Values inside of each other.
pub const PUSHED_DEPTH_MAX: usize = 16;
/// People or groups of one page. One of 200 is what the largest clients ask for.
pub const PUSHED_PAGE_MAX: u32 = 200;
/// Members that the groups of one page list together.
pub const PUSHED_MEMBERS_OF_A_PAGE_MAX: usize = 100_000;
/// Groups of one name, or with one id of whoever pushes, that are found; more are nobody's meaning.
pub const PUSHED_FOUND_MAX: usize = 1_000;
/// Bytes of a filter, and of a path of a change.
pub const PUSHED_FILTER_BYTES_MAX: usize = 4_096;
/// Conditions of a filter.
pub const PUSHED_CONDITIONS_MAX: usize = 16;
