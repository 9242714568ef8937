//! What one user may see, as data that an output filters by inside its query (design 4.20).

use std::collections::HashMap;
use std::sync::Arc;

use ingather_model::ids::{AclId, ContainerId, JobId};

/// A set of small numbers such as acl and container ids, which are given densely from 1 on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdSet(Vec<u64>);

impl IdSet {
    /// Adds an id; negative ones are never contained.
    pub fn insert(&mut self, id: i64) {
        let Ok(id) = usize::try_from(id) else { return };
        if self.0.len() <= id / 64 {
            self.0.resize(id / 64 + 1, 0);
        }
        self.0[id / 64] |= 1 << (id % 64);
    }

    /// The ids, smallest first.
    pub fn iter(&self) -> impl Iterator<Item = i64> {
        let bits = |(at, word): (usize, &u64)| {
            let word = *word;
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| (at * 64 + bit) as i64)
        };
        self.0.iter().enumerate().flat_map(bits)
    }

    /// Whether the id is in the set.
    pub fn contains(&self, id: i64) -> bool {
        usize::try_from(id).is_ok_and(|id| self.0.get(id / 64).is_some_and(|word| word >> (id % 64) & 1 == 1))
    }
}

impl FromIterator<i64> for IdSet {
    fn from_iter<I: IntoIterator<Item = i64>>(ids: I) -> IdSet {
        let mut set = IdSet::default();
        ids.into_iter().for_each(|id| set.insert(id));
        set
    }
}

/// Containers that admit the user, but for what some jobs have not looked at since they opened.
#[derive(Clone, Debug, Default)]
pub struct PendingContainers {
    /// Handles of the jobs that there are.
    pub jobs: IdSet,
    /// Containers that do not admit the user yet for documents of a job; 0: of jobs that are not there any more.
    pub closed: HashMap<i64, IdSet>,
}

impl PendingContainers {
    /// Whether nothing is narrower than containers say.
    pub fn is_empty(&self) -> bool {
        self.closed.is_empty()
    }

    fn closes(&self, job: Option<JobId>, container: ContainerId) -> bool {
        if self.closed.is_empty() {
            return false;
        }
        let job = job.map_or(0, |job| job.0);
        let job = if self.jobs.contains(job) { job } else { 0 };
        self.closed.get(&job).is_some_and(|closed| closed.contains(container.0))
    }
}

/// A reference to who may see something, as an entry or a row holds it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reference {
    /// The job whose reading it is.
    pub job: Option<JobId>,
    /// Its acl.
    pub acl_id: Option<AclId>,
    /// Its container.
    pub container: Option<ContainerId>,
}

/// What admits one user.
#[derive(Clone, Debug, Default)]
pub struct Admitting {
    /// Acls that admit the user.
    pub acl_ids: IdSet,
    /// Containers that admit the user, together with every container above them.
    pub containers: IdSet,
    /// What is not open yet for some jobs.
    pub pending_containers: PendingContainers,
}

impl Admitting {
    fn admits(&self, of: &Reference) -> bool {
        of.acl_id.is_some_and(|acl_id| self.acl_ids.contains(acl_id.0))
            && of.container.is_some_and(|container| {
                self.containers.contains(container.0) && !self.pending_containers.closes(of.job, container)
            })
    }
}

/// What a search may return to one user. One that is the same as before may be the same in memory: what was found by it may be kept with it.
#[derive(Clone, Debug)]
pub enum AccessFilter {
    /// Everything: for the owner of the data directory only.
    All,
    /// Entries whose acl and container both admit.
    Only {
        /// What admits.
        admitting: Arc<Admitting>,
        /// Addresses whose new access is not confirmed yet: it must admit as well.
        pending: HashMap<i64, Vec<Reference>>,
    },
}

impl AccessFilter {
    /// What is on its way; none where everything may be seen.
    pub fn pending(&self) -> Option<&HashMap<i64, Vec<Reference>>> {
        match self {
            AccessFilter::All => None,
            AccessFilter::Only { pending, .. } => Some(pending),
        }
    }

    /// Addresses whose new access does not admit, smallest first: what is there may not be returned, whatever it refers to.
    pub fn refused(&self) -> Vec<i64> {
        let AccessFilter::Only { admitting, pending } = self else { return Vec::new() };
        let refused = pending.iter().filter(|(_, new)| !new.iter().all(|new| admitting.admits(new)));
        let mut refused: Vec<i64> = refused.map(|(address, _)| *address).collect();
        refused.sort_unstable();
        refused
    }

    /// Whether an entry at `address` that refers to an acl and a container may be returned; unknown ones never.
    pub fn permits(&self, address: i64, entry: Reference) -> bool {
        match self {
            AccessFilter::All => true,
            AccessFilter::Only { admitting, pending } => {
                let new = pending.get(&address);
                admitting.admits(&entry) && new.is_none_or(|new| new.iter().all(|new| admitting.admits(new)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_references_and_pending_narrowings_shut_out() {
        let of = |acl_id: Option<i64>, container: Option<i64>| Reference {
            job: Some(JobId(1)),
            acl_id: acl_id.map(AclId),
            container: container.map(ContainerId),
        };
        let access_filter = AccessFilter::Only {
            admitting: Arc::new(Admitting {
                acl_ids: [1].into_iter().collect(),
                containers: [1, 200].into_iter().collect(),
                pending_containers: PendingContainers::default(),
            }),
            pending: HashMap::from([(7, vec![of(Some(2), Some(1))])]),
        };
        assert!(access_filter.permits(5, of(Some(1), Some(200))));
        assert!(!access_filter.permits(5, of(None, Some(1))));
        assert!(!access_filter.permits(5, of(Some(1), None)));
        assert!(!access_filter.permits(5, of(Some(-1), Some(1))));
        assert!(!access_filter.permits(7, of(Some(1), Some(1))), "the new acl does not admit");
        assert!(AccessFilter::All.permits(7, Reference::default()));
        assert_eq!((access_filter.refused(), AccessFilter::All.refused()), (vec![7], Vec::new()));
    }

    #[test]
    fn a_set_names_its_ids_in_their_order() {
        let ids = [0, 63, 64, 65, 1_000];
        let set: IdSet = ids.into_iter().rev().chain([-1]).collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), ids);
    }

    #[test]
    fn a_container_that_opened_stays_closed_for_what_a_job_has_not_looked_at() {
        let access_filter = AccessFilter::Only {
            admitting: Arc::new(Admitting {
                acl_ids: [1].into_iter().collect(),
                containers: [1, 2].into_iter().collect(),
                pending_containers: PendingContainers {
                    jobs: [4, 5].into_iter().collect(),
                    closed: HashMap::from([(4, [1].into_iter().collect()), (0, [2].into_iter().collect())]),
                },
            }),
            pending: HashMap::new(),
        };
        let permits = |job: Option<i64>, container| {
            let of = Reference {
                job: job.map(JobId),
                acl_id: Some(AclId(1)),
                container: Some(ContainerId(container)),
            };
            access_filter.permits(9, of)
        };
        assert!(!permits(Some(4), 1), "this job has not looked since");
        assert!(permits(Some(4), 2));
        assert!(permits(Some(5), 1) && permits(Some(5), 2), "this one has");
        assert!(permits(Some(3), 1) && !permits(Some(3), 2), "the job of the entry is gone");
        assert!(!permits(None, 2), "nobody knows whose entry it is");
    }
}
