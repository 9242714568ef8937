//! The acls of one repository connection, interned: equal lists have one id, whichever run has met them.

use std::collections::HashMap;

use ingather_model::access::Acl;
use ingather_model::ids::{AclId, ConnectionId, Digest};
use ingather_model::limits;
use ingather_store::{Sql, StoreError, containers};

type Result<T> = std::result::Result<T, StoreError>;

/// Acls of one connection.
pub(crate) struct Acls {
    connection: ConnectionId,
    by_acl: HashMap<Acl, AclId>,
    by_digest: HashMap<Digest, AclId>,
    /// Pairs that were compared.
    within: HashMap<(AclId, AclId), bool>,
    /// A transaction failed: nobody knows which ids the store has. They are read again in the next one.
    is_lost: bool,
    /// Ids for acls of a run that writes nothing.
    pretended: i64,
}

impl Acls {
    pub(super) fn load(sql: &mut Sql<'_>, connection: ConnectionId) -> Result<Acls> {
        let mut acls = Acls {
            connection,
            by_acl: HashMap::new(),
            by_digest: HashMap::new(),
            within: HashMap::new(),
            is_lost: false,
            pretended: 0,
        };
        acls.load_again(sql)?;
        Ok(acls)
    }

    fn load_again(&mut self, sql: &mut Sql<'_>) -> Result<()> {
        self.by_digest =
            containers::acl_ids(sql, self.connection)?.into_iter().map(|(id, digest)| (digest, id)).collect();
        self.is_lost = false;
        Ok(())
    }

    /// A transaction that may have added some has failed.
    pub(crate) fn lose(&mut self) {
        self.by_acl.clear();
        self.by_digest.clear();
        self.within.clear();
        self.is_lost = true;
    }

    /// The id of an acl, if it is known.
    pub(crate) fn find(&mut self, acl: &Acl) -> Option<AclId> {
        if let Some(id) = self.by_acl.get(acl) {
            return Some(*id);
        }
        let id = *self.by_digest.get(&acl.digest())?;
        self.keep(acl, id);
        Some(id)
    }

    /// Whether the one acl surely admits nobody whom the other shuts out, where both were compared before.
    pub(crate) fn compared(&self, one: AclId, other: AclId) -> Option<bool> {
        self.within.get(&(one, other)).copied()
    }

    /// Compares them.
    pub(crate) fn is_within(&mut self, sql: &mut Sql<'_>, one: AclId, other: AclId) -> Result<bool> {
        if let Some(known) = self.compared(one, other) {
            return Ok(known);
        }
        let acls = (containers::acl(sql, one)?, containers::acl(sql, other)?);
        let within = matches!(acls, (Some(one), Some(other)) if one.is_within(&other));
        if self.within.len() >= limits::ACLS_IN_MEMORY_MAX {
            self.within.clear();
        }
        self.within.insert((one, other), within);
        Ok(within)
    }

    /// The id of an acl; a new one is written. Whoever calls this calls [`Acls::lose`] where its transaction fails.
    pub(crate) fn intern(&mut self, sql: &mut Sql<'_>, acl: &Acl) -> Result<AclId> {
        if self.is_lost {
            self.load_again(sql)?;
        }
        if let Some(id) = self.find(acl) {
            return Ok(id);
        }
        let id = containers::add_acl(sql, self.connection, acl)?;
        self.by_digest.insert(acl.digest(), id);
        self.keep(acl, id);
        Ok(id)
    }

    /// The id of an acl in a run that writes nothing: a new one gets a number that is in no store.
    pub(crate) fn pretend(&mut self, acl: &Acl) -> AclId {
        if let Some(id) = self.find(acl) {
            return id;
        }
        self.pretended -= 1;
        let id = AclId(self.pretended);
        self.by_digest.insert(acl.digest(), id);
        id
    }

    fn keep(&mut self, acl: &Acl, id: AclId) {
        if self.by_acl.len() >= limits::ACLS_IN_MEMORY_MAX {
            self.by_acl.clear();
        }
        self.by_acl.insert(acl.clone(), id);
    }
}
