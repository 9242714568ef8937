//! Documents that others name with their version (coverage S1.11–S1.14): one that outputs hold just so is not visited, and leads where it led.

use std::collections::{BTreeMap, HashMap, HashSet};

use ingather_model::ids::{AclId, ConnectionId, Digest};
use ingather_model::key::{DocumentKey, Stamp};
use ingather_model::limits;
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::{Sql, StoreError, deliveries, documents, queue};

use super::named::Named;
use crate::run::Run;

/// Versions that all who name a document agree about; who may see it then.
pub(super) type Versions = HashMap<DocumentKey, Option<(Digest, AclId)>>;

/// The versions that documents are named with; asked before anything is locked. What nobody may see who is known yet has none.
pub(super) fn of(run: &Run, named: &[Named<'_>]) -> Versions {
    let mut versions = Versions::new();
    // Where dates are gone by that are new, each document is asked for its own.
    if run.rereads || run.dating.as_ref().is_some_and(|dating| dating.looks_at_all) {
        return versions;
    }
    for named in named {
        let Some(version) = &named.reference.version else {
            // Somebody names it without: it is looked at.
            versions.entry(named.key).and_modify(|known| *known = None);
            continue;
        };
        let digest = run.author.hasher.version(named.key.key_hash, &version.content);
        let acl = run.acls().find(&run.pipeline.access(&version.acl));
        let told = acl.filter(|_| version.content != Stamp::NONE).map(|acl| (digest, acl));
        versions
            .entry(named.key)
            .and_modify(|known| *known = known.filter(|known| Some(*known) == told))
            .or_insert(told);
    }
    versions.retain(|_, version| version.is_some());
    versions
}

/// Those of the documents that were reached which outputs hold as they are named, for those who may see them.
pub(super) fn as_named(
    run: &Run,
    sql: &mut Sql<'_>,
    versions: &Versions,
    (ids, reached): (&HashMap<DocumentKey, i64>, &BTreeMap<i64, String>),
) -> Result<HashSet<i64>, StoreError> {
    let wanted: HashMap<i64, (Digest, AclId)> = versions
        .iter()
        .filter_map(|(key, version)| Some((*ids.get(key)?, (*version)?)))
        .filter(|(id, _)| reached.contains_key(id))
        .collect();
    let mut as_named = HashSet::new();
    let all: Vec<i64> = wanted.keys().copied().collect();
    for ids in all.chunks(limits::JUDGED_MAX) {
        let same = documents::get(sql, ids)?.into_iter().map(|stored| stored.known).filter(|known| {
            wanted.get(&known.id.0).is_some_and(|(version, acl)| {
                version.same(known.version) && known.acl_id == Some(*acl) && known.settings == run.settings
            })
        });
        let same: Vec<i64> = same.map(|known| known.id.0).collect();
        if same.is_empty() {
            continue;
        }
        let confirmed = confirmed(run, sql, &same)?;
        let waits: HashSet<i64> = queue::request_counts(sql, &same)?.into_iter().map(|(id, ..)| id).collect();
        let failed = queue::failures(sql, &same)?;
        let dates = documents::dates::seen(sql, &same)?;
        // Of one that is to expire by now it is asked when it was written.
        let expires =
            |id: &i64| dates.get(id).and_then(|seen| seen.expires).is_some_and(|at| at <= run.call.now());
        let is_held = |id: &i64| {
            (confirmed.contains(id) || failpoint(Failpoint::NamedIsEnough))
                && !waits.contains(id)
                && !failed.contains_key(id)
                && (!expires(id) || failpoint(Failpoint::NamedExpires))
        };
        as_named.extend(same.into_iter().filter(is_held));
    }
    Ok(as_named)
}

/// Those of these documents of which every output of the job holds just what it was sent last.
fn confirmed(run: &Run, sql: &mut Sql<'_>, ids: &[i64]) -> Result<HashSet<i64>, StoreError> {
    let mut outputs: HashMap<i64, HashSet<ConnectionId>> = HashMap::new();
    let mut open = HashSet::new();
    for delivery in deliveries::states(sql, ids)? {
        let state = &delivery.state;
        match state.is_confirmed() && state.confirmed_acl == Some(state.intended_acl) {
            true => _ = outputs.entry(delivery.document).or_default().insert(delivery.output),
            false => _ = open.insert(delivery.document),
        }
    }
    let is_in_all = |id: &i64| {
        let held = outputs.get(id);
        run.outputs.iter().all(|output| held.is_some_and(|held| held.contains(&output.id)))
            && !open.contains(id)
    };
    Ok(ids.iter().copied().filter(is_in_all).collect())
}
