//! A change of one entry: decided by a visit, queued for its output.

use std::sync::Arc;

use ingather_model::decision::{Found, NOBODY};
use ingather_model::document::{Record, component_uri};
use ingather_model::ids::{AclId, ContainerId, Digest};
use ingather_model::key::Hasher;
use ingather_store::failpoints::{Failpoint, failpoint};

use super::author::Author;
use super::removal::PendingRemoval;
use crate::visit::outcome::{Outcome, PendingVisit};

/// Digest of what decides about access: equal references are equal access.
pub(crate) fn access_digest(acl_id: Option<AclId>, container: Option<ContainerId>) -> Digest {
    let container = container.map_or(0, |container| container.0);
    let mixed = acl_id.map_or(0, |acl_id| acl_id.0).wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64)
        ^ container.rotate_left(32);
    if mixed == 0 { NOBODY } else { Digest(mixed) }
}

/// A document, or something in it: the unit that outputs hold entries of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// 0 for the document itself.
    pub(crate) id: i64,
    /// Name inside the document; none for the document itself.
    pub(crate) name: Option<Arc<str>>,
    /// It could not be read when the document was read last: outputs hold it as it was before.
    pub(crate) kept: bool,
}

impl Part {
    /// The document itself.
    pub(crate) fn whole() -> Part {
        Part { id: 0, name: None, kept: false }
    }

    /// What is in a document by this name.
    pub(crate) fn inside(hasher: &Hasher, name: &str) -> Part {
        let id = hasher.hash(name.as_bytes());
        // Zero is the document itself.
        Part { id: if id == 0 { 1 } else { id }, name: Some(Arc::from(name)), kept: false }
    }

    /// What a look at the access of its document says of it; `kept`: the access when it was not read.
    pub(crate) fn looked(&self, access: Digest, kept: Digest) -> Found {
        match self.kept && !failpoint(Failpoint::NewAccessOnKeptComponent) {
            true => Found::Unread { access: kept },
            false => Found::Looked { access },
        }
    }

    /// Its address, by that of the document.
    pub(crate) fn uri(&self, document: String) -> String {
        match &self.name {
            Some(name) => component_uri(&document, name),
            None => document,
        }
    }
}

/// A change that a visit decided for one output and one part; nothing of it is written yet.
pub(crate) struct DecidedChange {
    /// The output, by its index in the run.
    pub(crate) output_index: usize,
    pub(crate) part: Part,
    pub(crate) record: Option<Arc<Record>>,
    pub(crate) kind: ChangeKind,
}

/// What a change does at one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChangeKind {
    Put { version: Digest, access: Digest },
    Access { access: Digest },
    Delete,
}

impl ChangeKind {
    /// What it means for the counts of the run when it is confirmed; `first`: nothing was ever confirmed before.
    pub(crate) fn outcome(self, first: bool) -> Outcome {
        match self {
            ChangeKind::Put { .. } if first => Outcome::Added,
            ChangeKind::Put { .. } => Outcome::Updated,
            ChangeKind::Access { .. } => Outcome::Access,
            ChangeKind::Delete => Outcome::Unchanged,
        }
    }
}

/// Whose change it is.
pub(crate) enum Origin {
    /// Of a visit, which its answer may complete.
    Visit(Arc<PendingVisit>),
    /// Of a removal, which its answer may complete.
    Removal(Arc<PendingRemoval>),
}

impl Origin {
    /// The document.
    pub(crate) fn document(&self) -> i64 {
        match self {
            Origin::Visit(visit) => visit.item.id,
            Origin::Removal(removal) => removal.document,
        }
    }

    /// Its name in the job.
    pub(crate) fn name(&self) -> &str {
        match self {
            Origin::Visit(visit) => &visit.item.name,
            Origin::Removal(removal) => &removal.name,
        }
    }

    /// A person has erased the document.
    pub(super) fn erases(&self) -> bool {
        matches!(self, Origin::Removal(removal) if removal.erases)
    }

    /// The visit, if it is of one.
    pub(crate) fn visit(&self) -> Option<&PendingVisit> {
        match self {
            Origin::Visit(visit) => Some(visit),
            Origin::Removal(_) => None,
        }
    }

    /// The removal, if it is of one.
    pub(crate) fn removal(&self) -> Option<&PendingRemoval> {
        match self {
            Origin::Visit(_) => None,
            Origin::Removal(removal) => Some(removal),
        }
    }

    /// In whose name it is sent.
    pub(crate) fn author(&self) -> &Arc<Author> {
        match self {
            Origin::Visit(visit) => &visit.run.author,
            Origin::Removal(removal) => &removal.ticket.author,
        }
    }
}

/// A change that waits in the queue of its output.
pub(crate) struct QueuedChange {
    pub(crate) origin: Origin,
    pub(crate) part: Part,
    pub(crate) uri: String,
    pub(crate) kind: ChangeKind,
    pub(crate) record: Option<Arc<Record>>,
    pub(crate) acl_id: Option<AclId>,
    pub(crate) container: Option<ContainerId>,
    pub(crate) first: bool,
    /// The output held this owner's record when this was decided.
    pub(crate) was_held: bool,
}

impl QueuedChange {
    /// Its run was asked to stop. Nothing of it is written: the document is visited again by the next run, as after a kill.
    pub(crate) fn is_given_up(&self) -> bool {
        self.origin.visit().is_some_and(|visit| visit.run.call.cancel.cancelled())
    }

    pub(crate) fn bytes(&self) -> usize {
        self.record.as_ref().map_or(256, |record| record.bytes())
    }
}
