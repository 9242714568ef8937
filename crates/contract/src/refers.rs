//! Sources that are found by following links, such as web sites: a listing names where to begin and proves nothing, and each visit says which
//! other documents the document leads to.
//!
//! What such a job has is what can be reached from its seeds. A run visits each document once; what no document leads to any more is
//! removed at its end, unless something that was not read to its end led to it before (`docs/decisions/0037-reach.md`).

use std::io::Read;

use ingather_model::access::Acl;
use ingather_model::document::{Links, Record};
use ingather_model::fault::{Fault, Reason};
use ingather_model::job::dates::Dates;

use crate::call::CallContext;
use crate::observed::Observed;

/// What a repository does besides whose documents lead to others. Calls may come from many threads at once.
pub trait Refers: Send + Sync {
    /// Visits one document: reads it by `read`, at most once, and says what it leads to. `read` may fill the record that the connector
    /// began; it answers with what the document says of others, read by the stages in a confined process.
    ///
    /// # Errors
    /// [`Fault::Gone`] where the source says that it is gone for good, [`Fault::Missing`] where it only says that it is not there;
    /// `Refused` when a rule of the source settings leaves it out, or the source wants no entry of it; `Unreadable` when the reader may
    /// not have it; whatever `read` returned.
    fn visit(
        &self,
        call: &CallContext,
        asked: &Asked<'_>,
        read: &mut ReadPage<'_>,
    ) -> Result<VisitAnswer, Fault>;
}

/// Consumes the content of one document and completes its record, as [`ReadContent`](crate::repository::ReadContent) does; the links that
/// were found in it.
pub type ReadPage<'a> = dyn FnMut(&mut Record, &Acl, &mut dyn Read) -> Result<Links, Fault> + 'a;

/// What a visit is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The document.
    pub key: &'a str,
    /// What its last visit left in [`Leads::memo`]. None where that would be no use: [`VisitAnswer::Unchanged`] is no answer then.
    pub memo: Option<&'a [u8]>,
}

/// What a visit found.
#[derive(Clone, Debug)]
pub enum VisitAnswer {
    /// The document is just as the last visit found it, which left the memo, and leads to the same others.
    Unchanged {
        /// Who may see it now.
        acl: Acl,
        /// What the source says of its dates now; where it says nothing of when it was written, it expires when the last visit said.
        dates: Dates,
    },
    /// It was read.
    Read(Box<Observed>, Leads),
    /// Something else of its first bin had to be fetched in its place, such as the rules of its host: it is asked for again in its turn, once.
    NotYet,
    /// It is there and is no entry, such as an address that leads to another one: outputs lose what they hold of it.
    NoEntry(Reason, Leads),
}

/// What a visit says beside the document.
#[derive(Clone, Debug, Default)]
pub struct Leads {
    /// Documents that it leads to; each once is enough.
    pub references: Vec<Reference>,
    /// Not all of these were found: what it led to before is kept.
    pub incomplete: bool,
    /// What the next visit is to be given, at most [`limits::MEMO_BYTES_MAX`](ingather_model::limits::MEMO_BYTES_MAX) bytes; a longer one is
    /// not kept.
    pub memo: Option<Vec<u8>>,
}

/// One document that another one leads to. It is in the container of that one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Its key.
    pub key: String,
    /// How many bytes of it are its parent part, as in [`Group::parent`](crate::repository::Group::parent).
    pub parent_bytes: usize,
}
