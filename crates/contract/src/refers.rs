//! Sources that are found by following links, such as web sites: a listing names where to begin and proves nothing, and each visit says which
//! other documents the document leads to.
//!
//! What such a job has is what can be reached from its seeds. A run visits each document once; what no document leads to any more is
//! removed at its end, unless something that was not read to its end led to it before (`docs/decisions/0037-reach.md`).

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use ingather_model::access::Acl;
use ingather_model::document::{Links, Record};
use ingather_model::fault::{Fault, Reason};
use ingather_model::job::dates::Dates;
use ingather_model::key::Stamp;

use crate::call::CallContext;
use crate::events::{Alone, EventName, EventNames, Events};
use crate::observed::Observed;

/// What a repository does besides whose documents lead to others. Calls may come from many threads at once.
pub trait Refers: Send + Sync {
    /// Visits one document: reads it by `read`, at most once, and says what it leads to. `read` may fill the record that the connector
    /// began; it answers with what the document says of others, read by the stages in a confined process.
    ///
    /// # Errors
    /// [`Fault::Gone`] where the source says that it is gone for good, [`Fault::missing`] where it only says that it is not there;
    /// `Refused` when a rule of the source settings leaves it out by its name: it leads nowhere then. What is left out for what it
    /// answers is [`VisitAnswer::NoEntry`]. `Unreadable` when the reader may not have it, and `Broken` for an answer that says nothing of
    /// the document: both keep what it led to. Whatever `read` returned.
    fn visit(
        &self,
        call: &CallContext,
        asked: &Asked<'_>,
        read: &mut ReadPage<'_>,
    ) -> Result<VisitAnswer, Fault>;

    /// Who may see whatever there is, where its settings alone say that. Whoever was let in by other settings is shut out of what cannot be visited now.
    fn audience(&self) -> Option<&Acl> {
        None
    }

    /// How documents can be related to those that they lead to, in words of jobs that count hops: each kind by itself. At least one, at most
    /// [`limits::RELATIONS_MAX`](ingather_model::limits::RELATIONS_MAX), always the same ones in the same order.
    fn relations(&self) -> &'static [&'static str] {
        &["link"]
    }
}

/// Consumes the content of one document and completes its record, as [`ReadContent`](crate::repository::ReadContent) does; the links that
/// were found in it.
pub type ReadPage<'a> = dyn FnMut(&mut Record, &Acl, &mut dyn Read) -> Result<Links, Fault> + 'a;

/// What documents hand down to one that they lead to, by name: each value once, in order.
pub type HandedDown = BTreeMap<String, BTreeSet<String>>;

/// What a visit is asked for.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// The document.
    pub key: &'a str,
    /// What its last visit left in [`Leads::memo`]. None where that would be no use: [`VisitAnswer::Unchanged`] is no answer then.
    pub memo: Option<&'a [u8]>,
    /// What all documents that lead to it hand down. Where it is other than at the last visit, `memo` is none.
    pub handed_down: &'a HandedDown,
    /// Begins and completes events.
    pub events: &'a dyn Events,
    /// Names them.
    pub names: EventNames<'a>,
    /// What it names in [`Leads::in_place`] is not found either, so that it is asked for what it has itself: it answers as if it named nothing.
    pub stands_alone: bool,
}

/// Where nothing is handed down.
static NOTHING: HandedDown = HandedDown::new();

impl Asked<'_> {
    /// Asks for a document of which nothing is known, beside all jobs.
    pub fn of(key: &str) -> Asked<'_> {
        let names = EventNames { connection: "", job: "" };
        Asked { key, memo: None, handed_down: &NOTHING, events: &Alone, names, stands_alone: false }
    }
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
    /// It cannot be visited yet: something else of its first bin was fetched in its place, such as the rules of its host, or it has to wait for
    /// events. Nothing of this visit counts, no attempt either. It is asked for again in its turn, as soon as none of these events is pending, nor one of its
    /// own prerequisites; there is no delay, as a fault has one. Where nothing of that was pending, a document is asked for again at most
    /// [`limits::AGAIN_MAX`](ingather_model::limits::AGAIN_MAX) times in a run, and then fails.
    Again {
        /// The events, at most [`limits::PREREQUISITES_MAX`](ingather_model::limits::PREREQUISITES_MAX); the visit fails where there are more.
        after: Vec<EventName>,
    },
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
    /// It may be otherwise soon, such as behind a redirect that is called temporary: what outputs hold of it stays until it is so again an hour
    /// later, and what it led to before is kept. Only with [`VisitAnswer::NoEntry`].
    pub for_now: bool,
    /// What is found in its place. Only with [`VisitAnswer::NoEntry`].
    pub in_place: Option<InPlace>,
    /// What the next visit is to be given, at most [`limits::MEMO_BYTES_MAX`](ingather_model::limits::MEMO_BYTES_MAX) bytes; a longer one is
    /// not kept.
    pub memo: Option<Vec<u8>>,
}

/// A document that is found in place of the one that was visited, such as where that one is redirected to, or which it names as the real one. What
/// outputs hold of the visited one goes when they hold this one; while this one cannot be visited it stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InPlace {
    /// Its place in [`Leads::references`].
    pub reference: usize,
    /// The visited one has content of its own. Where the other one turns out to be no entry, or the two name each other, it is visited once more and
    /// asked for that ([`Asked::stands_alone`]).
    pub has_content: bool,
}

/// A version of a document as another one names it, such as a list of pages with their revisions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedVersion {
    /// What a visit would find in [`Observed::content`].
    pub content: Stamp,
    /// Who may see the document, as a visit would say it.
    pub acl: Acl,
}

/// One document that another one leads to. It is in the container of that one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reference {
    /// Its key.
    pub key: String,
    /// How many bytes of it are its parent part, as in [`Group::parent`](crate::repository::Group::parent).
    pub parent_bytes: usize,
    /// How the two are related: a place in [`Refers::relations`].
    pub relation: usize,
    /// What the other one is handed, at most [`limits::HANDED_DOWN_BYTES_MAX`](ingather_model::limits::HANDED_DOWN_BYTES_MAX) bytes as JSON. When
    /// it changes, the other one is visited once more.
    pub hands_down: HandedDown,
    /// Its version, where the document that leads to it knows that. Where outputs hold just this version, for those who may see it, it is not
    /// visited, and leads where it led.
    pub version: Option<NamedVersion>,
    /// Its prerequisites: it is not visited while one of these events is pending. At most
    /// [`limits::PREREQUISITES_MAX`](ingather_model::limits::PREREQUISITES_MAX); the visit that names more fails. Those of all references of a run count
    /// together, in place of those of earlier runs; where no page that was read names the document, the earlier ones do.
    pub after: Vec<EventName>,
}
