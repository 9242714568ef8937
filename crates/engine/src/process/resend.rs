//! A person wants outputs to be sent again what they hold of a job: what they confirmed counts as lost. The delivery log goes on knowing that
//! they may hold it, so that what leaves the source is removed there, and no folder opens over what nobody remembers.

use std::collections::HashSet;

use ingather_store::connections::{self, Role};
use ingather_store::erased;
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::jobs::Job;
use ingather_store::queue::{VisitReason, VisitRequest};
use ingather_store::{Durability, StoreError, deliveries, queue};

use super::steering::begins_at_once;
use crate::engine::Engine;
use crate::error::{EngineError, Refusal, Result};
use ingather_model::limits;

impl Engine {
    /// How many documents of a job outputs hold something of, each counted once for each of them; of `output` alone where one is named.
    ///
    /// # Errors
    /// `NoSuchOutput` where the job has no such output; what the store says.
    pub fn to_resend(&self, job: &Job, output: Option<&str>) -> Result<u64> {
        let mut documents = 0;
        self.each_held(job, output, &mut |_, held| {
            documents += held.len() as u64;
            Ok(())
        })?;
        Ok(documents)
    }

    /// Has the next run send them again, from kept text where the source has the same version yet. How many. Safe to stop: what was marked is
    /// sent again, and the next call marks the rest.
    ///
    /// # Errors
    /// `Running` while the job is worked on; `NoSuchOutput` where the job has no such output; `Stopped`; what the store says.
    pub fn resend(&self, job: &Job, output: Option<&str>) -> Result<u64> {
        let writer = self.writing()?;
        let work = self.process.begin(job, "marking of what is sent again", Some(&writer), &self.cancel)?;
        let cancel = work.cancel();
        let mut documents = 0;
        self.each_held(job, output, &mut |connection, held| {
            work.check()?;
            if cancel.cancelled() {
                return Err(StoreError::Stopped.into());
            }
            let lost: Vec<(i64, i64)> = held.iter().map(|document| (*document, connection)).collect();
            let request =
                |document: &i64| VisitRequest { document: *document, due: 0, reason: VisitReason::Resend };
            let wanted: Vec<VisitRequest> = held.iter().map(request).collect();
            writer.store.write(Durability::Synced, |sql| {
                writer.lease.fence(sql)?;
                deliveries::unconfirm(sql, &lost)?;
                queue::enqueue(sql, job.id, 0, &wanted)
            })?;
            documents += held.len() as u64;
            Ok(())
        })?;
        if documents > 0 {
            writer.store.write(Durability::Synced, |sql| {
                writer.lease.fence(sql)?;
                begins_at_once(sql, job.id)
            })?;
        }
        Ok(documents)
    }

    /// Calls with each output of the job, and some of the documents that it holds something of.
    fn each_held(
        &self,
        job: &Job,
        output: Option<&str>,
        each: &mut dyn FnMut(i64, &[i64]) -> Result<()>,
    ) -> Result<()> {
        let outputs = &job.definition.outputs;
        if let Some(output) = output.filter(|output| !outputs.iter().any(|name| name == output)) {
            let sentence = format!(
                "job {} has no output `{output}`; name one of {}, or none for all",
                job.name,
                outputs.join(", ")
            );
            return Err(EngineError::refused(Refusal::NoSuchOutput, sentence));
        }
        let erased = self.reader.read(|sql| erased::waiting_documents(sql, job.id))?;
        let erased: HashSet<i64> = erased.into_iter().collect();
        for name in outputs.iter().filter(|name| output.is_none_or(|output| output == *name)) {
            let connection = self.reader.read(|sql| connections::find(sql, Role::Output, name))?;
            let Some(connection) = connection else { continue };
            let mut after = i64::MIN;
            loop {
                let mut held = self.reader.read(|sql| {
                    deliveries::of_output(sql, connection.id, job.id, after, limits::RESEND_ROWS)
                })?;
                let Some(last) = held.last() else { break };
                after = *last;
                // An output that has not let go of them yet is not to be sent them again.
                held.retain(|document| !erased.contains(document) || failpoint(Failpoint::ErasedIsSentAgain));
                each(connection.id.0, &held)?;
            }
        }
        Ok(())
    }
}
