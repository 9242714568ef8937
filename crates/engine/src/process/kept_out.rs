//! Addresses that a person has erased (decision 0032): no run takes in what is there, whether its job knew the document when it was erased, or was
//! there at all.

use std::collections::{BTreeMap, HashMap};

use ingather_contract::repository::Repository;
use ingather_model::key::DocumentKey;
use ingather_store::erased::{self, KeptOut};
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::jobs::Job;
use ingather_store::{Durability, Sql, StoreError, documents};

use super::erasing::Erasable;
use crate::engine::Engine;
use crate::error::Result;

impl Engine {
    /// Takes that back for all jobs; false where nothing was erased there.
    ///
    /// # Errors
    /// `ReadOnly`; what the store says.
    pub fn let_in(&self, uri: &str) -> Result<bool> {
        let writer = self.writing()?;
        let _lease = self.process.keep_lease(&writer)?;
        let address = self.address_of(uri);
        Ok(writer.store.write(Durability::Synced, |sql| {
            writer.lease.fence(sql)?;
            let of_jobs = erased::let_in_of_jobs(sql, address)?;
            Ok(erased::let_in(sql, "", address)? || of_jobs)
        })?)
    }

    /// A document as a job would know it that takes in what is at an address; none where it takes nothing in there.
    pub fn would_cover(&self, job: &Job, uri: &str) -> Option<Erasable> {
        let source = self.repository(job).ok()?;
        let named = source.named(uri).ok()?;
        Some(Erasable::unknown(&self.reader.hasher(), source.as_ref(), named))
    }

    /// What runs of a job take in neither now nor later because of its address, by its key there.
    pub(crate) fn kept_out(
        &self,
        sql: &mut Sql<'_>,
        job: &Job,
        source: &dyn Repository,
    ) -> std::result::Result<HashMap<DocumentKey, KeptOut>, StoreError> {
        let mut by_key: HashMap<DocumentKey, KeptOut> = HashMap::new();
        for row in erased::kept_out(sql, &job.name)? {
            if row.job.is_empty() && failpoint(Failpoint::ErasedWhereKnownAlone) {
                continue;
            }
            let Ok(named) = source.named(&row.uri) else { continue };
            let key = self.reader.hasher().key(&named.key, named.parent_bytes);
            // What was said of this job goes before what was said of all.
            if !row.job.is_empty() || !by_key.contains_key(&key) {
                by_key.insert(key, row);
            }
        }
        by_key.retain(|_, row| !row.admitted);
        Ok(by_key)
    }

    /// What the job knows at addresses that it takes nothing in from, and that nobody has erased from it: somebody who erased it was stopped
    /// before that was said of this job, or a run had it in hands meanwhile.
    pub(super) fn known_but_kept_out(
        &self,
        job: &Job,
        source: &dyn Repository,
    ) -> Result<Vec<(Erasable, KeptOut)>> {
        Ok(self.reader.read(|sql| {
            let mut rows = self.kept_out(sql, job, source)?;
            if rows.is_empty() || failpoint(Failpoint::KnownThoughErased) {
                return Ok(Vec::new());
            }
            erased::keys(sql, job.id)?.iter().for_each(|key| drop(rows.remove(key)));
            let mut by_container: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
            rows.keys().for_each(|key| by_container.entry(key.parent_hash).or_default().push(key.key_hash));
            let mut known = Vec::new();
            for (parent_hash, key_hashes) in by_container {
                for (_, document) in documents::find(sql, job.id, parent_hash, &key_hashes)? {
                    let key = DocumentKey { parent_hash, key_hash: document.key_hash };
                    let Some(row) = rows.remove(&key) else { continue };
                    let Ok(named) = source.named(&row.uri) else { continue };
                    let unknown = Erasable::unknown(&self.reader.hasher(), source, named);
                    known.push((unknown.known_as(document.id.0), row));
                }
            }
            Ok(known)
        })?)
    }

    /// One job takes in again what is at an address, also where no other one does.
    pub(super) fn admit(
        &self,
        sql: &mut Sql<'_>,
        (uri, job): (&str, &Job),
        (at, by): (i64, &str),
    ) -> std::result::Result<bool, StoreError> {
        let address = self.address_of(uri);
        let was_kept_out = erased::let_in(sql, &job.name, address)?;
        let rows = erased::kept_out(sql, &job.name)?;
        if rows.iter().any(|row| row.address == address) {
            erased::keep_out(sql, &self.kept_out_row(uri, &job.name, (at, by), true))?;
            return Ok(true);
        }
        Ok(was_kept_out)
    }

    pub(super) fn address_of(&self, uri: &str) -> i64 {
        self.reader.hasher().hash(uri.as_bytes())
    }

    pub(super) fn kept_out_row(
        &self,
        uri: &str,
        job: &str,
        (at, by): (i64, &str),
        admitted: bool,
    ) -> KeptOut {
        let (job, uri, by) = (job.to_owned(), uri.to_owned(), by.to_owned());
        KeptOut { job, address: self.address_of(&uri), uri, at, by, admitted }
    }
}
