//! What a look or a read found of a document.

use ingather_model::access::Acl;
use ingather_model::document::Record;
use ingather_model::job::dates::Dates;
use ingather_model::key::Stamp;

/// A document as a look or a read found it.
#[derive(Clone, Debug)]
pub struct Observed {
    /// Version of the content that was read.
    pub content: Stamp,
    /// Version of the access that was read.
    pub access: Stamp,
    /// As in [`Item::identity`](crate::repository::Item::identity).
    pub identity: i64,
    /// Its own acl; [`Acl::open`] when the repository knows no access.
    pub acl: Acl,
    /// Fields, and the body when it was read.
    pub record: Record,
    /// What the source says of when it was written, and when it is to be looked at again. Where it says nothing of the first, the time of
    /// change of the record counts.
    pub dates: Dates,
}
