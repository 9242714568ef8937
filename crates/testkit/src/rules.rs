//! What an output was told of who may see, and judging by nothing else: the oracle for outputs that are told.

use std::collections::HashMap;

use ingather_contract::output::{JobContainer, Says};
use ingather_model::access::Acl;
use ingather_model::access::identity::{Group, Identity};
use ingather_model::ids::AclId;

use crate::memory_output::Entry;

/// What an output was told of who may see.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    state: i64,
    /// Beginnings and ends.
    pub heard: Vec<String>,
    acls: HashMap<AclId, (Group, Acl)>,
    containers: HashMap<JobContainer, Option<Vec<AclId>>>,
    also: HashMap<i64, Vec<(Option<AclId>, Option<JobContainer>)>>,
}

impl Rules {
    /// Whether somebody may see an entry.
    pub fn permits(&self, entry: &Entry, identity: &Identity) -> bool {
        let own = (entry.acl_id, entry.container.map(|container| JobContainer { container, job: entry.job }));
        let also = self.also.get(&entry.address);
        also.into_iter().flatten().chain([&own]).all(|(acl_id, container)| {
            let admits = |acl_id: &AclId| {
                self.acls.get(acl_id).is_some_and(|(group, acl)| identity.passes(group, acl))
            };
            let acls = container.and_then(|id| self.containers.get(&id)?.as_ref());
            acl_id.is_some_and(|acl_id| admits(&acl_id)) && acls.is_some_and(|acls| acls.iter().all(admits))
        })
    }

    /// It loses all but its state, and what whoever follows it keeps with each entry.
    pub(crate) fn cut(&mut self) {
        let also = std::mem::take(&mut self.also);
        *self = Rules { state: self.state, also, ..Rules::default() };
    }

    /// Takes a statement in. True when all that was told before is void; an error when no output may be told such a thing.
    pub(crate) fn hear(&mut self, says: &Says) -> Result<bool, String> {
        match says {
            Says::Begin { state, job, .. } => {
                let is_void = *state != self.state && self.state != 0;
                if is_void {
                    *self = Rules::default();
                }
                self.state = *state;
                self.heard.push(format!("begin {job}"));
                return Ok(is_void);
            }
            Says::Acl { id, group, acl } => {
                let told = (group.clone(), acl.clone());
                let before = self.acls.insert(*id, told.clone());
                if before.is_some_and(|before| before != told) {
                    return Err(format!("acl {} is another one", id.0));
                }
            }
            Says::Container { id, acls } => {
                let unknown = acls.iter().flatten().find(|acl| !self.acls.contains_key(acl));
                let told =
                    unknown.map(|acl| format!("container {id} has the acl {}, which was not told", acl.0));
                self.containers.insert(*id, acls.clone());
                return told.map_or(Ok(false), Err);
            }
            Says::Also { address, references } => {
                self.also.insert(*address, references.clone());
            }
            Says::End { job, .. } => self.heard.push(format!("end {job}")),
        }
        Ok(false)
    }
}
