//! Who may see what is read, as one number: stages keep documents apart that differ in it (design 4.9).

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::{Arc, RwLock};

use ingather_contract::repository::ContainerReport;
use ingather_contract::transform::Audience;
use ingather_model::access::{Acl, UNIX_EVERYONE};
use ingather_model::ids::{AclId, ContainerId};
use ingather_store::{StoreError, turns};

use crate::containers::lately::Lately;

type Result<T> = std::result::Result<T, StoreError>;

/// The acls above documents, by container, as a run has met them: different acls only, in no order, since all must admit.
/// Containers that differ in nothing share them.
pub(crate) struct Audiences {
    listed: RwLock<Listed>,
    /// Another one in each process, so that nobody can look for acls that hash alike.
    hasher: RandomState,
}

struct Listed {
    above: Lately<ContainerId, Arc<[u64]>>,
    /// Acls of containers, each hashed once.
    acls: Lately<AclId, u64>,
}

impl Audiences {
    /// Keeps those of about `most` containers.
    pub(crate) fn new(most: usize) -> Audiences {
        let listed = Listed { above: Lately::new(most), acls: Lately::new(most) };
        Audiences { listed: RwLock::new(listed), hasher: RandomState::new() }
    }

    /// Takes note of containers, parents before children; `known` knows them and their acls by name.
    pub(crate) fn note(
        &self,
        reports: &[ContainerReport],
        mut known: impl FnMut(&str) -> Result<Option<(ContainerId, AclId)>>,
    ) -> Result<()> {
        let mut listed = turns::write(&self.listed);
        let Listed { above, acls } = &mut *listed;
        above.turn();
        acls.turn();
        for report in reports {
            let Some((container, acl_id)) = known(&report.name)? else { continue };
            let parent = match &report.parent {
                Some(parent) => known(parent)?.map(|(parent, _)| parent),
                None => None,
            };
            // Below a container that was not met, nobody can say who may see what.
            let outer: Arc<[u64]> = match parent.map(|parent| above.get(&parent)) {
                None => Arc::default(),
                Some(Some(outer)) => outer.clone(),
                Some(None) => continue,
            };
            let own = match acls.get(&acl_id) {
                Some(own) => *own,
                None => {
                    let own = self.number(&report.acl);
                    acls.insert(acl_id, own);
                    own
                }
            };
            above.insert(container, with(outer, own));
        }
        Ok(())
    }

    /// Who may see a document of this acl there.
    pub(crate) fn of(&self, container: Option<ContainerId>, acl: &Acl) -> Audience {
        let listed = turns::read(&self.listed);
        let number = match container.map(|container| (container, listed.above.peek(&container))) {
            None => self.hasher.hash_one(with(Arc::default(), self.number(acl))),
            Some((_, Some(outer))) => self.hasher.hash_one(with(outer.clone(), self.number(acl))),
            // One that is not known is like no other.
            Some((container, None)) => self.hasher.hash_one((container, acl)),
        };
        Audience(number as i64)
    }

    fn number(&self, acl: &Acl) -> u64 {
        self.hasher.hash_one(plain(acl))
    }
}

fn with(outer: Arc<[u64]>, own: u64) -> Arc<[u64]> {
    match outer.binary_search(&own) {
        Ok(_) => outer,
        Err(at) => {
            let mut all = outer.to_vec();
            all.insert(at, own);
            all.into()
        }
    }
}

/// An acl without the entries that change nothing: those before the last one that say the same of some as it says of all
/// users of the machine.
fn plain(acl: &Acl) -> Acl {
    let mut plain = acl.clone();
    if let Acl::Ordered(entries) = &mut plain
        && let Some(last) = entries.pop_if(|last| last.who == UNIX_EVERYONE)
    {
        while entries.pop_if(|entry| entry.allow == last.allow).is_some() {}
        entries.push(last);
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use ingather_model::access::{Entry, unix_group, unix_user};
    use ingather_model::key::Stamp;

    fn mode(owner: u32, group: u32, bits: [bool; 3]) -> Acl {
        let entry = |who, allow| Entry { who, allow };
        Acl::Ordered(vec![
            Entry::allow(unix_user(0)),
            entry(unix_user(owner), bits[0]),
            entry(unix_group(group), bits[1]),
            entry(UNIX_EVERYONE.to_owned(), bits[2]),
        ])
    }

    fn report(name: &str, parent: Option<&str>, acl: Acl) -> ContainerReport {
        let (name, parent) = (name.to_owned(), parent.map(str::to_owned));
        ContainerReport { name, parent, identity: String::new(), acl, folder: None, stamp: Stamp::NONE }
    }

    fn id(name: &str) -> Option<ContainerId> {
        let known = ["/", "/a", "/a/b", "/c", "/c/b", "/d", "/unknown"];
        known.iter().position(|known| *known == name).map(|at| ContainerId(at as i64))
    }

    /// The id of an acl for each of the containers: of different acls, or of the same.
    fn known(name: &str) -> Result<Option<(ContainerId, AclId)>> {
        Ok(id(name).map(|id| (id, AclId(id.0))))
    }

    const OPEN: [bool; 3] = [true; 3];
    const GROUP: [bool; 3] = [true, true, false];

    #[test]
    fn the_same_people_are_one_audience_and_others_are_others() {
        let audiences = Audiences::new(16);
        let noted = audiences.note(
            &[
                report("/", None, mode(0, 0, OPEN)),
                report("/a", Some("/"), mode(1, 1, OPEN)),
                report("/a/b", Some("/a"), mode(1, 5, GROUP)),
                report("/c", Some("/"), mode(2, 2, OPEN)),
                report("/c/b", Some("/c"), mode(1, 5, GROUP)),
                report("/d", Some("/"), mode(1, 6, GROUP)),
            ],
            known,
        );
        noted.unwrap();
        let of = |name: &str, acl: &Acl| audiences.of(id(name), acl);
        let open = mode(7, 7, OPEN);
        assert_eq!(of("/a", &open), of("/c", &mode(8, 8, OPEN)), "everybody, whoever owns it");
        assert_eq!(of("/a/b", &open), of("/c/b", &open), "closed in the same way in two places");
        assert_eq!(of("/a/b", &open), of("/a/b", &mode(1, 5, GROUP)), "closed twice");
        assert_ne!(of("/a", &open), of("/a/b", &open));
        assert_ne!(of("/d", &open), of("/c/b", &open));
        assert_ne!(of("/a", &mode(7, 7, GROUP)), of("/a", &mode(7, 8, GROUP)));
        assert_ne!(of("/a", &open), of("/a", &Acl::open()), "also those who are not known");
        assert_ne!(of("/unknown", &open), of("/", &open), "a place that was not met is like no other");
    }

    #[test]
    fn entries_that_deny_what_is_open_to_others_count() {
        let audiences = Audiences::new(16);
        let shut_out = mode(7, 7, [false, true, true]);
        assert_ne!(audiences.of(None, &shut_out), audiences.of(None, &mode(7, 7, OPEN)));
        assert_eq!(audiences.of(None, &shut_out), audiences.of(None, &mode(7, 9, [false, true, true])));
    }
}
