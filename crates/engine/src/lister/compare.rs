//! A page of a listing beside what the inventory has of its documents.

use std::collections::{HashMap, HashSet};

use ingather_contract::repository::{Group, Item};
use ingather_model::ids::ContainerId;
use ingather_model::key::DocumentKey;
use ingather_model::merge::{Comparison, Known, Listed, merge};
use ingather_store::documents;
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::queue::Noted;

use super::Lister;
use crate::error::Result;

/// An item with its hashes.
pub(super) struct Hashed<'p> {
    pub(super) key: DocumentKey,
    pub(super) listed: Listed,
    pub(super) item: &'p Item,
    pub(super) parent: &'p str,
}

impl Lister<'_> {
    fn hash<'p>(&self, group: &'p Group, container: Option<ContainerId>) -> Vec<Hashed<'p>> {
        let parent_hash = self.hasher.hash(group.parent.as_bytes());
        let mut name = group.parent.clone();
        let mut hashed: Vec<Hashed<'p>> = group
            .items
            .iter()
            .map(|item| {
                name.truncate(group.parent.len());
                name.push_str(&item.name);
                let key_hash = self.hasher.hash(name.as_bytes());
                let listed = Listed {
                    key_hash,
                    version: self.hasher.version(key_hash, &item.content),
                    access: self.hasher.version(key_hash, &item.access),
                    container,
                };
                let key = DocumentKey { parent_hash, key_hash };
                Hashed { key, listed, item, parent: &group.parent }
            })
            .filter(|hashed| self.run.erased.is_empty() || !self.run.erased.contains(&hashed.key.key_hash))
            .collect();
        hashed.sort_unstable_by_key(|hashed| hashed.key.key_hash);
        hashed
    }

    pub(super) fn hash_all<'p>(&self, groups: &'p [Group]) -> Result<Vec<Vec<Hashed<'p>>>> {
        let mut containers = self.run.containers();
        containers.read_named(groups.iter().filter_map(|group| group.container.as_deref()))?;
        let mut by_group = Vec::with_capacity(groups.len());
        for group in groups {
            by_group.push(match &group.container {
                Some(name) => containers.id(name)?,
                None => None,
            });
        }
        drop(containers);
        Ok(groups.iter().zip(by_group).map(|(group, container)| self.hash(group, container)).collect())
    }

    /// Compares a page with the inventory. `whole` are parents of which the page holds all items that there are.
    pub(super) fn compare(
        &mut self,
        hashed: &[Vec<Hashed<'_>>],
        whole: &HashSet<&str>,
    ) -> Result<Vec<Comparison>> {
        let job = self.run.job.id;
        let mut ranges = Vec::new();
        let mut singles = Vec::new();
        for group in hashed {
            let Some(first) = group.first() else { continue };
            let parent = first.key.parent_hash;
            if self.empty_before && !self.parents.contains(&parent) {
                continue;
            }
            // What comes in pieces is looked up piece by piece: a range scan would read all of it each time.
            if whole.contains(first.parent) && !self.in_pieces.contains(&parent) {
                ranges.push(parent);
            } else {
                self.in_pieces.insert(parent);
                singles.push((parent, group.iter().map(|hashed| hashed.key.key_hash).collect::<Vec<i64>>()));
            }
        }
        let may_open = self.run.containers().some_may_open();
        let (rows, noted, dated) = self.run.reader.read(|sql| {
            let mut rows = documents::scan_parents(sql, job, &ranges)?;
            for (parent, key_hashes) in &singles {
                rows.extend(documents::find(sql, job, *parent, key_hashes)?);
            }
            let ids: Vec<i64> = rows.iter().map(|(_, known)| known.id.0).collect();
            self.older.note(sql, may_open, &ids)?;
            let noted = self.run.attention.noted(sql, &ids)?;
            let dated = match self.run.dating {
                Some(_) => documents::dates::seen(sql, &ids)?.into_keys().collect(),
                None => HashSet::new(),
            };
            Ok((rows, noted, dated))
        })?;
        (self.noted, self.dated) = (noted, dated);
        let mut by_parent: HashMap<i64, Vec<Known>> = HashMap::new();
        // Rows of one parent mostly follow each other: one look-up for all of them.
        for rows in rows.chunk_by(|one, next| one.0 == next.0) {
            let leaving = |known: Known| Known {
                leaving: self.noted.get(&known.id.0).is_some_and(|noted| noted.is_leaving)
                    && !failpoint(Failpoint::HalfDoneRemovalForgotten),
                ..known
            };
            let known = rows.iter().map(|(_, known)| leaving(*known));
            by_parent.entry(rows[0].0).or_default().extend(known);
        }
        let mut all = Vec::new();
        for group in hashed {
            let Some(first) = group.first() else { continue };
            let mut known = by_parent.remove(&first.key.parent_hash).unwrap_or_default();
            known.sort_unstable_by_key(|known| known.key_hash);
            let listed: Vec<Listed> = group.iter().map(|hashed| hashed.listed).collect();
            all.extend(merge(&listed, &known, self.run.settings));
        }
        Ok(all)
    }

    /// What was noted of a document before this run.
    pub(super) fn noted(&self, known: Known) -> Noted {
        self.noted.get(&known.id.0).copied().unwrap_or_default()
    }
}
