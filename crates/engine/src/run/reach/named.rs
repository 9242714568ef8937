//! Documents that seeds and links name, before anybody knows whether they are new.

use ingather_contract::refers::{Leads, Reference};
use ingather_model::ids::ContainerId;
use ingather_model::key::DocumentKey;
use ingather_store::queue::{self, VisitReason, VisitRequest};
use ingather_store::{Sql, StoreError};

use crate::run::Run;

/// Documents that are to be visited once more, by name.
pub(super) type Again = Vec<(i64, String)>;

/// What one document leads to, as its visit found it.
#[derive(Debug)]
pub(crate) struct Found {
    /// The document.
    pub(crate) id: i64,
    /// The container that it is in, and what it leads to with it.
    pub(crate) container: Option<ContainerId>,
    /// None: to what it led to before.
    pub(crate) leads: Option<Leads>,
}

/// One document that is named by a seed or a link.
pub(super) struct Named<'f> {
    pub(super) key: DocumentKey,
    pub(super) reference: &'f Reference,
    pub(super) container: Option<ContainerId>,
}

/// A document that is named; none where a person has erased it, or its name is no name.
pub(super) fn name<'f>(
    run: &Run,
    reference: &'f Reference,
    container: Option<ContainerId>,
) -> Option<Named<'f>> {
    let hasher = run.author.hasher;
    let parent = reference.key.as_bytes().get(..reference.parent_bytes)?;
    let key =
        DocumentKey { parent_hash: hasher.hash(parent), key_hash: hasher.hash(reference.key.as_bytes()) };
    (!run.erased.contains(&key.key_hash)).then_some(Named { key, reference, container })
}

impl Found {
    /// Whether it hands anything down.
    pub(super) fn hands_down(&self) -> bool {
        let references = self.leads.iter().flat_map(|leads| &leads.references);
        references.into_iter().any(|reference| !reference.hands_down.is_empty())
    }
}

/// Asks for visits of what was reached.
pub(super) fn request(run: &Run, sql: &mut Sql<'_>, reached: &[i64]) -> std::result::Result<(), StoreError> {
    let now = run.call.now();
    let of = |id: &i64| VisitRequest { document: *id, due: now, reason: VisitReason::Changed };
    let requests: Vec<VisitRequest> = reached.iter().map(of).collect();
    queue::enqueue(sql, run.job.id, run.number, &requests)
}
