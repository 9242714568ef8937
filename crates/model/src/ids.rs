//! Identifiers: plain numbers with a type each, so that one cannot stand where another belongs.

use serde::{Deserialize, Serialize};

/// Makes a transparent identifier type; a macro because eight identical wrappers would hide the one that differs.
macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub i64);
    };
}

id!(
    /// A job's handle in the store; never used again after the job is gone.
    JobId
);
id!(
    /// A document of one job: process slot × 2⁴⁸ + counter, given in listing order (design store 2.1).
    DocumentId
);
id!(
    /// The handle of a connection (repository, output, authority); 0 is never given.
    ConnectionId
);
id!(
    /// An interned container: the folder or share that rules a document's access (design 4.20); never used again.
    ContainerId
);
id!(
    /// An interned acl of a document's own (design 4.20); never used again.
    AclId
);
id!(
    /// 64 bits that stand for a longer value; 0 means "none", which equals nothing.
    Digest
);

impl Digest {
    /// The digest of nothing: never equal to what was seen, so that the thing is looked at again.
    pub const NONE: Digest = Digest(0);
    /// Of what an output holds: something was sent since, and nobody knows whether it is there. Equal to no digest.
    pub const UNKNOWN: Digest = Digest(-1);

    /// Digest of bytes that come from inside (settings, acls); keys from outside go through [`crate::key::Hasher`].
    ///
    /// Never [`Digest::NONE`].
    pub fn of(bytes: &[u8]) -> Digest {
        let hash = blake3::hash(bytes);
        let mut first = [0u8; 8];
        first.copy_from_slice(&hash.as_bytes()[..8]);
        Digest(i64::from_le_bytes(first)).or_one()
    }

    /// Whether this digest stands for something.
    pub fn is_some(self) -> bool {
        self != Digest::NONE
    }

    /// Whether both digests stand for the same thing; two missing ones never do.
    pub fn same(self, other: Digest) -> bool {
        self.is_some() && self == other
    }

    /// Replaces the reserved value 0 by 1.
    pub(crate) fn or_one(self) -> Digest {
        if self.0 == 0 { Digest(1) } else { self }
    }
}
