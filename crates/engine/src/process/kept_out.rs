//! Addresses that a person has erased (decision 0032): no run takes in what is there, whether its job knew the document when it was erased, or was
//! there at all.

use std::collections::HashMap;

use ingather_contract::repository::Repository;
use ingather_model::key::DocumentKey;
use ingather_model::limits;
use ingather_model::run_counts::counted;
use ingather_store::erased::{self, KeptOut};
use ingather_store::jobs::Job;
use ingather_store::{Durability, Sql, StoreError};

use super::erasing::Erasable;
use crate::engine::Engine;
use crate::error::{EngineError, Refusal, Result};

impl Engine {
    /// Has an address erased: no run that begins from here on takes in what is there; of one job alone where it is named, which its name
    /// stands for, so that a job that is made again has it erased as well.
    ///
    /// # Errors
    /// `Busy` where as many addresses are erased as may be; `ReadOnly`; what the store says.
    pub fn keep_out(&self, uri: &str, job: Option<&Job>, by: &str) -> Result<()> {
        let writer = self.writing()?;
        let _lease = self.process.keep_lease(&writer)?;
        let job = job.map_or("", |job| job.name.as_str());
        if self.reader.read(|sql| erased::count_addresses(sql, job))? >= limits::ERASED_MAX {
            return Err(too_many());
        }
        let row = self.kept_out_row(uri, job, (writer.call.now(), by), false);
        Ok(writer.store.write(Durability::Synced, |sql| {
            writer.lease.fence(sql)?;
            if job.is_empty() {
                // What was said of single jobs is said of all from here on.
                erased::let_in_of_jobs(sql, row.address)?;
            }
            erased::keep_out(sql, &row)
        })?)
    }

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

    fn kept_out_row(&self, uri: &str, job: &str, (at, by): (i64, &str), admitted: bool) -> KeptOut {
        let (job, uri, by) = (job.to_owned(), uri.to_owned(), by.to_owned());
        KeptOut { job, address: self.address_of(&uri), uri, at, by, admitted }
    }
}

fn too_many() -> EngineError {
    let sentence = format!(
        "{} are erased, which is as many as may be; leave folders out by a rule (--exclude), then let in again what it leaves out \
         (`ingather document readmit`)",
        counted(limits::ERASED_MAX, "address")
    );
    EngineError::refused(Refusal::Busy, sentence)
}
