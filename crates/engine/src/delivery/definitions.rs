//! What an output that judges access by what it is told has to be told, and when (decision 0015): who may see an entry before
//! the entry, what became narrower before anything that is sent later, what became wider once the inventory says so.
//!
//! The inventory is what a search goes by; whatever it says may be told at any time. What was told and not confirmed is told again.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use ingather_contract::output::{Change, JobContainer, Op, Says, Statement};
use ingather_model::decision::NOBODY;
use ingather_model::ids::{AclId, ConnectionId, ContainerId, Digest, JobId};
use ingather_model::limits;
use ingather_store::containers::{self, PendingAcl, Ruled};
use ingather_store::definitions::{self, Defined, Pending, Subject};
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::{Sql, StoreError, jobs};

use super::change::access_digest;

type Result<T> = std::result::Result<T, StoreError>;

/// What an entry says about who may see it: acl, container, handle of the job.
pub(crate) type Reference = (Option<AclId>, Option<ContainerId>, i64);

/// What an entry will refer to; none when it goes.
pub(crate) fn reference(change: &Change) -> Option<Reference> {
    match change.op {
        Op::Put { acl_id, container, .. } | Op::Access { acl_id, container, .. } => {
            Some((acl_id, container, change.job))
        }
        Op::Delete => None,
    }
}

/// What one output was told, as far as it has answered.
pub(crate) struct Definitions {
    /// Number that is told with every beginning.
    pub(crate) state: i64,
    /// Number of the last thing that was told in it before.
    pub(super) follows: i64,
    pub(super) told: HashMap<Subject, Digest>,
    /// Number of the last change of containers that the output was told of.
    pub(super) judged: Option<i64>,
    /// What is to be told first.
    pub(super) begins: Vec<Says>,
    /// Acls that the output may not have been told.
    pub(super) untold: Vec<AclId>,
}

/// What is to be said, and what it defines, with its digest.
pub(super) type Wanted = (Option<(Subject, Digest)>, Says);

/// Statements that are on disk as intents.
#[derive(Default)]
pub(crate) struct Draft {
    pub(super) statements: Vec<Statement>,
    pub(crate) defined: Vec<Defined>,
    pub(super) judged: Option<i64>,
}

impl Draft {
    pub(crate) fn is_empty(&self) -> bool {
        self.statements.is_empty()
    }
}

impl Definitions {
    /// What is known of an output that was just opened. `anew`: it was cut, or begins otherwise.
    pub(super) fn load(
        sql: &mut Sql<'_>,
        output: ConnectionId,
        (state, follows): (i64, i64),
        anew: bool,
    ) -> Result<Definitions> {
        let (mut told, mut untold) = (HashMap::new(), Vec::new());
        for (subject, intended, confirmed) in definitions::list(sql, output)? {
            let is_told = confirmed == Some(intended);
            let is_known = match subject {
                // What a reader cannot do without is told again to whoever begins with a file that was cut.
                Subject::Also(_) => is_told && !anew,
                _ => is_told,
            };
            // Where nobody knows what was said last, it is told again.
            match subject {
                _ if is_known => {
                    told.insert(subject, intended);
                }
                Subject::Container(..) | Subject::Also(_) => {
                    told.insert(subject, Digest::NONE);
                }
                Subject::Acl(acl_id) => untold.push(acl_id),
                Subject::Entries(_) => {}
            }
        }
        Ok(Definitions { state, follows, told, judged: None, begins: Vec::new(), untold })
    }

    /// Whether the entries of a job are known to refer to what is told.
    pub(crate) fn refer(&self, job: JobId) -> bool {
        self.told.contains_key(&Subject::Entries(job))
    }

    pub(crate) fn note_entries(&mut self, defined: Defined) {
        self.told.insert(defined.subject, defined.intended);
    }

    /// Whether there may be something to tell, beside what entries need.
    pub(crate) fn is_behind(&self, generation: i64) -> bool {
        !self.begins.is_empty() || !self.untold.is_empty() || self.judged != Some(generation)
    }

    /// What has to be told before entries with these references; `ends` after all else.
    pub(super) fn wanted(
        &self,
        sql: &mut Sql<'_>,
        output: ConnectionId,
        references: &[Reference],
        ends: Option<Says>,
    ) -> Result<(Vec<Wanted>, i64)> {
        let generation = definitions::access_generation(sql)?;
        let also = if ends.is_some() { self.also(sql, output)? } else { Vec::new() };
        let beside = also.iter().flat_map(|(_, references)| references).copied().collect::<Vec<Reference>>();
        let references = || references.iter().chain(&beside);
        let mut acl_ids: BTreeSet<AclId> = references().filter_map(|(acl_id, ..)| *acl_id).collect();
        acl_ids.extend(&self.untold);
        let container =
            |(_, container, job): &Reference| Some(JobContainer { container: (*container)?, job: *job });
        let mut containers: BTreeSet<JobContainer> = references().filter_map(container).collect();
        let is_told = |id: &JobContainer| self.told.get(&Subject::Container(id.container, id.job));
        containers.retain(|id| !is_told(id).copied().is_some_and(Digest::is_some));
        let is_behind =
            self.judged != Some(generation) && !failpoint(Failpoint::NarrowingToldAtTheEnd) || ends.is_some();
        if is_behind {
            containers.extend(self.told.keys().filter_map(|subject| match *subject {
                Subject::Container(container, job) => Some(JobContainer { container, job }),
                _ => None,
            }));
        }
        let mut changed = Vec::new();
        if !containers.is_empty() {
            let chains = if is_behind { Chains::all(sql)? } else { Chains::of(sql, &containers)? };
            for id in containers {
                let acls = chains.acls(id);
                let (subject, digest) = (Subject::Container(id.container, id.job), digest(acls.as_deref()));
                if self.told.get(&subject) != Some(&digest) {
                    acl_ids.extend(acls.iter().flatten());
                    changed.push((Some((subject, digest)), Says::Container { id, acls }));
                }
            }
        }
        acl_ids.retain(|acl_id| !self.told.contains_key(&Subject::Acl(*acl_id)));
        let acl_ids: Vec<i64> = acl_ids.into_iter().map(|acl_id| acl_id.0).collect();
        let acls = if acl_ids.is_empty() { Vec::new() } else { definitions::acls(sql, &acl_ids)? };
        let acls = acls.into_iter().map(|(id, acl, group)| {
            let subject = (Subject::Acl(id), acl.digest());
            (Some(subject), Says::Acl { id, group, acl })
        });
        let begins = self.begins.iter().map(|begins| (None, begins.clone()));
        let also = also.into_iter().map(|(address, references)| {
            let container = |(acl_id, container, job): Reference| {
                (acl_id, container.map(|container| JobContainer { container, job }))
            };
            let subject = (Subject::Also(address), digest_of_references(&references));
            (
                Some(subject),
                Says::Also { address, references: references.into_iter().map(container).collect() },
            )
        });
        let ends = ends.into_iter().map(|ends| (None, ends));
        Ok((begins.chain(acls).chain(changed).chain(also).chain(ends).collect(), generation))
    }

    /// Addresses at which something else has to admit now than was told last.
    fn also(&self, sql: &mut Sql<'_>, output: ConnectionId) -> Result<Vec<(i64, Vec<Reference>)>> {
        let pending = definitions::pending(sql, output, limits::PENDING_ACCESS_MAX + 1)?;
        if pending.len() > limits::PENDING_ACCESS_MAX {
            return Err(StoreError::Refused(
                "more access changes are on their way than an output can be told of; run `ingather sync` again".to_owned(),
            ));
        }
        let told = self.told.keys().filter_map(|subject| match subject {
            Subject::Also(address) => Some((*address, Vec::new())),
            _ => None,
        });
        let mut also: BTreeMap<i64, Vec<Reference>> = told.collect();
        for Pending { address, reference, confirmed } in pending {
            // What the entry says itself need not be said beside it.
            if confirmed != Some(access_digest(reference.0, reference.1)) {
                also.entry(address).or_default().push(reference);
            }
        }
        also.values_mut().for_each(|references| references.sort_unstable());
        also.retain(|address, references| {
            self.told.get(&Subject::Also(*address)) != Some(&digest_of_references(references))
        });
        Ok(also.into_iter().collect())
    }

    /// The output has answered.
    pub(super) fn answered(&mut self, draft: &Draft) {
        for defined in &draft.defined {
            match defined.subject {
                Subject::Also(_) if defined.intended == digest_of_references(&[]) => {
                    self.told.remove(&defined.subject);
                }
                subject => {
                    self.told.insert(subject, defined.intended);
                }
            }
        }
        self.judged = draft.judged;
        self.begins.clear();
        self.untold.clear();
    }

    /// Nobody knows what was taken in.
    pub(super) fn unanswered(&mut self, draft: &Draft) {
        for defined in draft.defined.iter().filter(|one| may_change(one.subject)) {
            self.told.insert(defined.subject, Digest::NONE);
        }
        self.judged = None;
    }
}

fn digest(acls: Option<&[AclId]>) -> Digest {
    let Some(acls) = acls else { return NOBODY };
    Digest::of(&acls.iter().flat_map(|acl_id| acl_id.0.to_le_bytes()).collect::<Vec<u8>>())
}

pub(super) fn digest_of_references(references: &[Reference]) -> Digest {
    let number = |(acl_id, container, job): &Reference| {
        [acl_id.map_or(0, |acl_id| acl_id.0), container.map_or(0, |container| container.0), *job]
    };
    Digest::of(&references.iter().flat_map(number).flat_map(i64::to_le_bytes).collect::<Vec<u8>>())
}

fn may_change(subject: Subject) -> bool {
    matches!(subject, Subject::Container(..) | Subject::Also(_))
}

/// Containers, by what is needed to judge them.
struct Chains {
    containers: HashMap<ContainerId, (AclId, Option<ContainerId>)>,
    pending: HashMap<(ContainerId, i64), Vec<AclId>>,
    jobs: HashSet<i64>,
}

impl Chains {
    fn all(sql: &mut Sql<'_>) -> Result<Chains> {
        let (ruled, pending) = (containers::all(sql)?, containers::all_pending(sql)?);
        Chains::from(sql, ruled, pending)
    }

    fn of(sql: &mut Sql<'_>, containers: &BTreeSet<JobContainer>) -> Result<Chains> {
        let ids: BTreeSet<i64> = containers.iter().map(|id| id.container.0).collect();
        let ruled = definitions::above(sql, &ids.into_iter().collect::<Vec<i64>>())?;
        let met: Vec<i64> = ruled.iter().map(|container| container.id.0).collect();
        let pending = definitions::pending_at(sql, &met)?;
        Chains::from(sql, ruled, pending)
    }

    fn from(sql: &mut Sql<'_>, ruled: Vec<Ruled>, pending: Vec<PendingAcl>) -> Result<Chains> {
        let containers =
            ruled.into_iter().map(|container| (container.id, (container.acl, container.parent))).collect();
        let mut by_container: HashMap<(ContainerId, i64), Vec<AclId>> = HashMap::new();
        for pending in pending.into_iter().filter(|_| !failpoint(Failpoint::ContainerToldBeforeItIsProven)) {
            by_container.entry((pending.container, pending.job)).or_default().push(pending.acl_id);
        }
        let jobs = jobs::names(sql)?.into_iter().map(|(job, _)| job.0).collect();
        Ok(Chains { containers, pending: by_container, jobs })
    }

    /// All that must admit, in order; none when the chain is broken, or longer than any path.
    fn acls(&self, id: JobContainer) -> Option<Vec<AclId>> {
        let job = if self.jobs.contains(&id.job) { id.job } else { 0 };
        let mut acls = BTreeSet::new();
        let mut at = Some(id.container);
        for _ in 0..limits::CONTAINER_CHAIN_MAX {
            let Some(container) = at else { return Some(acls.into_iter().collect()) };
            let (acl, parent) = self.containers.get(&container)?;
            acls.insert(*acl);
            acls.extend(self.pending.get(&(container, job)).into_iter().flatten());
            at = *parent;
        }
        None
    }
}
