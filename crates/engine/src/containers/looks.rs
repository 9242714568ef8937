//! Two looks at containers: what was read between them was read under the access that was judged; whatever was not goes to nobody, and
//! opens nothing (design 4.20, decision 0013).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ingather_contract::repository::ContainerReport;
use ingather_model::fault::Fault;
use ingather_model::ids::ContainerId;
use ingather_model::key::Stamp;
use ingather_model::limits;
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::{Sql, StoreError};

use crate::containers::Look;
use crate::error::Result;
use crate::run::Run;

/// Takes reports of containers in, from a listing (counted from 1) or from a single look (0). Those that are on another device than at
/// their last complete listing.
pub(crate) fn record<'p>(
    run: &Run,
    reports: &'p [ContainerReport],
    listing: u32,
) -> Result<Vec<&'p ContainerReport>> {
    let mut acls = run.acls();
    let mut containers = run.containers();
    let named = |report: &'p ContainerReport| std::iter::once(&report.name).chain(&report.parent);
    containers.read_named(reports.iter().flat_map(named).map(String::as_str))?;
    let mut changed = Vec::new();
    for report in reports {
        let acl = acls.find(&report.acl);
        if !changed.is_empty() || !containers.stands(report, acl, listing)? {
            changed.push(report);
        }
    }
    let accept = run.accepts_devices;
    let now = run.call.now();
    let (mut foreign, mut recorded) = (Vec::new(), Vec::with_capacity(changed.len()));
    let mut begun = false;
    let mut record_all = |mut sql: Option<&mut Sql<'_>>| -> std::result::Result<(), StoreError> {
        if std::mem::replace(&mut begun, true) {
            // The database took back what was recorded, to let another transaction pass.
            acls.lose();
            containers.tree.lose();
            foreign.clear();
            recorded.clear();
        }
        if let Some(sql) = sql.as_deref_mut() {
            containers.tree.find_again(sql)?;
        }
        for report in &changed {
            let acl = match sql.as_deref_mut() {
                Some(sql) => acls.intern(sql, &report.acl)?,
                None => acls.pretend(&report.acl),
            };
            if containers.tree.record(sql.as_deref_mut(), report, acl, accept, now)? {
                foreign.push(*report);
            }
            if failpoint(Failpoint::MetBeforeItIsOnDisk) {
                containers.note(report, Some(acl), listing)?;
            }
            recorded.push((*report, acl));
        }
        Ok(())
    };
    if !changed.is_empty() {
        let done = match &run.store {
            Some(store) => run.shared.write(store, |sql| {
                run.fence(sql)?;
                record_all(Some(sql))
            }),
            None => record_all(None),
        };
        if let Err(error) = done {
            // Nothing of it may be taken for known: other runs go by it.
            acls.lose();
            containers.tree.lose();
            return Err(error.into());
        }
        // Not before it is on disk: what is above them may have to be read, and that shows nothing of a transaction under way.
        for (report, acl) in recorded {
            containers.note(report, Some(acl), listing)?;
        }
    }
    run.audiences.note(reports, |name| containers.acl(name))?;
    Ok(foreign)
}

/// Looks at containers and all above them, kept for as long as documents in them are read: a run that meets more than it keeps has let go
/// of them by then.
pub(crate) type KeptLooks = BTreeMap<ContainerId, Look>;

/// How often a look that is gone is made again before documents are read.
const LOST_LOOKS_MAX: usize = 3;

/// The looks at the containers of these documents, before they are read; those that are gone are made again. Empty where none is gone.
pub(crate) fn kept<'n>(
    run: &Run,
    documents: impl Iterator<Item = (ContainerId, &'n str)>,
) -> Result<KeptLooks> {
    let mut kept = KeptLooks::new();
    if !run.containers().forgets() {
        return Ok(kept);
    }
    let by_container: BTreeMap<ContainerId, &str> = documents.collect();
    for (container, name) in by_container {
        for _ in 0..LOST_LOOKS_MAX {
            // What cannot be looked at now is so when it is read, which says why.
            if keep(run, container, &mut kept)? || again(run, name)?.is_err() {
                break;
            }
        }
    }
    Ok(kept)
}

/// Keeps the looks at a container and all above it; false where one of them is gone.
fn keep(run: &Run, container: ContainerId, kept: &mut KeptLooks) -> Result<bool> {
    let mut containers = run.containers();
    let Some(chain) = containers.chain(container)? else { return Ok(true) };
    let mut all = true;
    for id in chain {
        let Some((_, look)) = containers.look(id)? else { continue };
        match look.is_made() {
            true => drop(kept.insert(id, look)),
            false => all &= kept.contains_key(&id),
        }
    }
    Ok(all)
}

/// Those of `containers` that stood, with all above them, from a look whose number is at most `since` until now; or from one of `kept`, which was made
/// before.
pub(crate) fn standing(
    run: &Run,
    containers: &BTreeSet<ContainerId>,
    since: u64,
    kept: &KeptLooks,
) -> Result<BTreeSet<ContainerId>> {
    stood(run, containers, kept, |look| look.number <= since || failpoint(Failpoint::JudgedAfterReading))
}

/// The same for containers whose content the listing of that number has shown since they were looked at.
pub(crate) fn standing_since(
    run: &Run,
    containers: &BTreeSet<ContainerId>,
    listing: u32,
) -> Result<BTreeSet<ContainerId>> {
    let none = KeptLooks::new();
    stood(run, containers, &none, |look| look.listing == listing || failpoint(Failpoint::JudgedAfterListing))
}

fn stood(
    run: &Run,
    asked: &BTreeSet<ContainerId>,
    kept: &KeptLooks,
    counts: impl Fn(&Look) -> bool,
) -> Result<BTreeSet<ContainerId>> {
    if failpoint(Failpoint::OneLook) {
        return Ok(asked.clone());
    }
    // In their order, so that those below one container are looked at together; some at once, for there may be as many as the source has.
    let sorted: Vec<ContainerId> = asked.iter().copied().collect();
    let mut stood = BTreeSet::new();
    for some in sorted.chunks(limits::LOOKS_AT_ONCE) {
        stood.extend(stood_at_once(run, some, kept, &counts)?);
    }
    Ok(stood)
}

fn stood_at_once(
    run: &Run,
    asked: &[ContainerId],
    kept: &KeptLooks,
    counts: impl Fn(&Look) -> bool,
) -> Result<Vec<ContainerId>> {
    let mut looked: BTreeMap<ContainerId, (Arc<str>, Stamp)> = BTreeMap::new();
    let mut chains: Vec<(ContainerId, Vec<ContainerId>)> = Vec::with_capacity(asked.len());
    let mut containers = run.containers();
    containers.read_some(asked)?;
    for container in asked {
        let Some(chain) = containers.chain(*container)? else { continue };
        for id in &chain {
            let Some((name, look)) = containers.look(*id)? else { continue };
            let is_of_use = |look: &&Look| look.stamp != Stamp::NONE;
            let look = Some(&look).filter(|look| look.is_made() && counts(look)).or(kept.get(id));
            if let Some(look) = look.filter(is_of_use) {
                looked.entry(*id).or_insert((name, look.stamp));
            }
        }
        chains.push((*container, chain));
    }
    drop(containers);
    let looked: Vec<(ContainerId, (Arc<str>, Stamp))> = looked.into_iter().collect();
    let mut stood: BTreeSet<ContainerId> = BTreeSet::new();
    for some in looked.chunks(limits::LOOKS_AT_ONCE) {
        let names: Vec<&str> = some.iter().map(|(_, (name, _))| &**name).collect();
        let stamps = run.author.repository.stamps(&run.call, &names);
        let same = some.iter().zip(stamps).filter(|((_, (_, before)), now)| before == now);
        stood.extend(same.map(|((id, _), _)| *id));
    }
    let all = chains.into_iter().filter(|(_, chain)| chain.iter().all(|id| stood.contains(id)));
    Ok(all.map(|(id, _)| id).collect())
}

/// Looks again at all containers above a document: the container that it is in now.
pub(crate) fn again(run: &Run, key: &str) -> Result<std::result::Result<Option<ContainerId>, Fault>> {
    let reports = match run.author.repository.containers_of(&run.call, key) {
        Ok(reports) => reports,
        Err(fault) => return Ok(Err(fault)),
    };
    record(run, &reports, 0)?;
    match reports.last() {
        Some(report) => Ok(Ok(run.containers().id(&report.name)?)),
        None => Ok(Ok(None)),
    }
}
