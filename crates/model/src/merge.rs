//! A listing page meets the inventory: one pure function says for each item whether anything has to be done.

use crate::ids::{AclId, ContainerId, Digest, DocumentId};

/// What a page says about one item, hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Hash of the key text.
    pub key_hash: i64,
    /// Digest of key and content stamp; [`Digest::NONE`] when racy.
    pub version: Digest,
    /// Digest of key and access stamp; [`Digest::NONE`] when racy.
    pub access: Digest,
    /// The container that rules it now.
    pub container: Option<ContainerId>,
}

/// What the inventory holds of one item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// The document.
    pub id: DocumentId,
    /// Hash of the key text.
    pub key_hash: i64,
    /// Version when it was last seen.
    pub version: Digest,
    /// Access version when it was last seen.
    pub access: Digest,
    /// Settings it went through last; [`Digest::NONE`] until its first visit was settled.
    pub settings: Digest,
    /// Its own interned acl; none until it was visited.
    pub acl_id: Option<AclId>,
    /// The container that rules it.
    pub container: Option<ContainerId>,
    /// A removal waits or is half done: it counts as changed (design 4.3).
    pub leaving: bool,
}

impl Known {
    /// Whether a visit was ever settled; until then every listing that meets it asks for one.
    pub fn is_settled(&self) -> bool {
        self.settings.is_some()
    }
}

/// The outcome for one item, in the order of urgency for a known one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// Not in the inventory.
    New,
    /// Who may see it changed, or may have; content may have changed as well.
    Access(Known),
    /// Its content changed, or may have, or it was leaving.
    Content(Known),
    /// Only the settings that it passes through changed.
    Settings(Known),
    /// Nothing to do.
    Same(Known),
}

/// Compares one item with what is known of it (design 4.18); `settings` is the digest of the run's settings.
pub fn compare(listed: &Listed, known: Option<&Known>, settings: Digest) -> Comparison {
    let Some(known) = known.copied() else { return Comparison::New };
    let moved = !listed.access.same(known.access) || listed.container != known.container;
    // A document that was never read has no acl yet: its first visit brings it. When its access changed it may be
    // readable now.
    let access = known.acl_id.is_some() && moved;
    let content = !listed.version.same(known.version) || known.leaving || moved;
    if access {
        Comparison::Access(known)
    } else if content {
        Comparison::Content(known)
    } else if known.settings != settings {
        Comparison::Settings(known)
    } else {
        Comparison::Same(known)
    }
}

/// Merges the items of one parent with its inventory; both are sorted by `key_hash`, and `key_hash` is unique in each.
///
/// Rows without an item are no concern of a page: the sweep finds them by the run's bitmap.
pub fn merge(listed: &[Listed], known: &[Known], settings: Digest) -> Vec<Comparison> {
    let mut rows = known.iter().peekable();
    listed
        .iter()
        .map(|item| {
            while rows.next_if(|row| row.key_hash < item.key_hash).is_some() {}
            compare(item, rows.peek().filter(|row| row.key_hash == item.key_hash).copied(), settings)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SETTINGS: Digest = Digest(9);

    fn known(key_hash: i64) -> Known {
        Known {
            id: DocumentId(key_hash),
            key_hash,
            version: Digest(1),
            access: Digest(2),
            settings: SETTINGS,
            acl_id: Some(AclId(1)),
            container: Some(ContainerId(1)),
            leaving: false,
        }
    }

    fn listed(key_hash: i64) -> Listed {
        Listed { key_hash, version: Digest(1), access: Digest(2), container: Some(ContainerId(1)) }
    }

    #[test]
    fn what_could_not_be_read_is_read_when_its_access_changed() {
        let row = Known { acl_id: None, ..known(5) };
        assert_eq!(compare(&listed(5), Some(&row), SETTINGS), Comparison::Same(row));
        assert_eq!(
            compare(&Listed { access: Digest(3), ..listed(5) }, Some(&row), SETTINGS),
            Comparison::Content(row)
        );
    }

    #[test]
    fn each_difference_has_its_own_outcome() {
        let row = known(5);
        assert_eq!(compare(&listed(5), None, SETTINGS), Comparison::New);
        assert_eq!(compare(&listed(5), Some(&row), SETTINGS), Comparison::Same(row));
        assert_eq!(
            compare(&Listed { version: Digest(3), ..listed(5) }, Some(&row), SETTINGS),
            Comparison::Content(row)
        );
        assert_eq!(
            compare(&Listed { version: Digest::NONE, ..listed(5) }, Some(&row), SETTINGS),
            Comparison::Content(row)
        );
        assert_eq!(
            compare(&Listed { access: Digest(3), ..listed(5) }, Some(&row), SETTINGS),
            Comparison::Access(row)
        );
        assert_eq!(
            compare(&Listed { container: Some(ContainerId(2)), ..listed(5) }, Some(&row), SETTINGS),
            Comparison::Access(row)
        );
        assert_eq!(compare(&listed(5), Some(&row), Digest(8)), Comparison::Settings(row));
        let unsettled = Known { settings: Digest::NONE, acl_id: None, ..row };
        assert_eq!(compare(&listed(5), Some(&unsettled), SETTINGS), Comparison::Settings(unsettled));
        let leaving = Known { leaving: true, ..row };
        assert_eq!(compare(&listed(5), Some(&leaving), SETTINGS), Comparison::Content(leaving));
        let racy = Known { version: Digest::NONE, ..row };
        assert_eq!(
            compare(&Listed { version: Digest::NONE, ..listed(5) }, Some(&racy), SETTINGS),
            Comparison::Content(racy)
        );
    }

    #[test]
    fn the_most_urgent_difference_decides() {
        let digests = [0, 1, 2].map(Digest);
        let containers = [None, Some(ContainerId(1)), Some(ContainerId(2))];
        for (version, access, container) in
            digests.iter().flat_map(|v| digests.iter().flat_map(move |a| containers.map(|c| (*v, *a, c))))
        {
            for (acl_id, settings, leaving, racy) in [None, Some(AclId(1))].into_iter().flat_map(|acl| {
                [Digest::NONE, Digest(8), SETTINGS].into_iter().flat_map(move |settings| {
                    [(false, false), (false, true), (true, false), (true, true)]
                        .map(|(leaving, racy)| (acl, settings, leaving, racy))
                })
            }) {
                let seen = if racy { Digest::NONE } else { Digest(1) };
                let row = Known { version: seen, access: seen, acl_id, settings, leaving, ..known(5) };
                let item = Listed { version, access, container, ..listed(5) };
                // A racy digest equals nothing, on neither side.
                let is_seen = |digest: Digest| digest == Digest(1) && !racy;
                let moved = !is_seen(access) || container != Some(ContainerId(1));
                let expected = if moved && acl_id.is_some() {
                    Comparison::Access(row)
                } else if moved || leaving || !is_seen(version) {
                    Comparison::Content(row)
                } else if settings == SETTINGS {
                    Comparison::Same(row)
                } else {
                    Comparison::Settings(row)
                };
                assert_eq!(compare(&item, Some(&row), SETTINGS), expected, "{item:?} {row:?}");
                assert_eq!(row.is_settled(), settings != Digest::NONE);
            }
        }
    }

    proptest! {
        /// The merge of two sorted lists answers like a look-up of each item.
        #[test]
        fn merging_equals_looking_up(
            items in proptest::collection::btree_set(0i64..40, 0..30),
            rows in proptest::collection::btree_set(0i64..40, 0..30),
        ) {
            let items: Vec<Listed> = items.into_iter().map(listed).collect();
            let rows: Vec<Known> = rows.into_iter().map(known).collect();
            let naive: Vec<Comparison> =
                items.iter().map(|item| compare(item, rows.iter().find(|row| row.key_hash == item.key_hash), SETTINGS)).collect();
            prop_assert_eq!(merge(&items, &rows, SETTINGS), naive);
        }
    }
}
