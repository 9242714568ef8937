//! The ledger of a world: what the doctor finds in its store, what has not come to rest, and who claims which entry.

use std::collections::HashMap;

use ingather_model::ids::ConnectionId;
use ingather_model::key::DocumentKey;
use ingather_model::lifecycle::job::State;
use ingather_model::lifecycle::outcome::GuardState;
use ingather_store::{deliveries, doctor, documents, jobs, runs};

use super::Play;

/// Documents of a job that are read at once; worlds are small.
const DOCUMENTS_MAX: usize = 10_000;
/// Runs of a job that are looked at.
const RUNS_MAX: usize = 1_000;
/// Rows of one check that are named.
const NAMED_MAX: usize = 5;

/// A claim of a job on an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Claim {
    /// Name of the job.
    pub(super) job: String,
    /// Name of the document in the source, with what is in it, if that is meant.
    pub(super) entry: String,
    /// Name of the output.
    pub(super) output: String,
    /// A removal was sent and not confirmed, or the job is being deleted.
    pub(super) leaving: bool,
    /// The output is known to hold the record that was sent last.
    pub(super) confirmed: bool,
}

impl Play {
    /// What the doctor finds, a sentence for each check; nothing may be found between any two steps, crashes included.
    pub(super) fn breaches(&self) -> Vec<String> {
        let reader = &self.world.engine().reader;
        let faults = reader.read(|sql| doctor::examine(sql, NAMED_MAX)).expect("the store answers");
        let faults =
            faults.iter().filter(|fault| !(fault.check.goes_by_the_clock && self.clock_was_set_back));
        faults
            .map(|fault| {
                let (check, rows) = (fault.check, &fault.rows);
                format!("the doctor: {}: {} ({}, such as {rows:?})", check.found, check.name, check.number)
            })
            .collect()
    }

    /// What is not over although every job has run to its end and nothing stands in the way.
    pub(super) fn unrest(&self) -> Vec<String> {
        let reader = &self.world.engine().reader;
        let mut found = self.open_tickets();
        for job in reader.read(jobs::list).expect("the store answers") {
            let runs = reader.read(|sql| runs::list(sql, job.id, RUNS_MAX)).expect("the store answers");
            if job.state != State::Resting || runs.iter().any(|run| run.ended_at.is_none()) {
                found.push(format!("at rest, job {} is {}, or a run of it is open", job.name, job.state));
            }
            if runs.iter().any(|run| run.guard == Some(GuardState::Held)) {
                found.push(format!("at rest, removals of job {} are held", job.name));
            }
            if self.erases(&job) {
                found.push(format!("at rest, something is still to be erased from {}", job.name));
            }
            let unsettled = self.world.documents(&job.name).into_iter();
            let unsettled = unsettled.filter(|(_, state)| matches!(state.as_str(), "waiting" | "leaving"));
            found.extend(unsettled.map(|(name, state)| format!("at rest, {name} is {state}")));
        }
        found
    }

    /// Everything that may have been delivered.
    pub(super) fn claims(&self) -> Vec<Claim> {
        let outputs: HashMap<ConnectionId, &String> =
            self.world.outputs.iter().map(|(name, id)| (*id, name)).collect();
        let read = self.world.engine().reader.read(|sql| {
            let mut claims = Vec::new();
            for job in jobs::list(sql)? {
                let documents = documents::list(sql, job.id, DocumentKey::BEFORE_ALL, DOCUMENTS_MAX)?;
                let names: HashMap<i64, String> =
                    documents.into_iter().map(|row| (row.id.0, row.name)).collect();
                let ids: Vec<i64> = names.keys().copied().collect();
                let parts: HashMap<(i64, i64), String> = deliveries::components(sql, &ids)?
                    .into_iter()
                    .map(|part| ((part.document, part.id), format!("#{}", part.name)))
                    .collect();
                claims.extend(deliveries::states(sql, &ids)?.into_iter().map(|delivery| {
                    let part = parts.get(&(delivery.document, delivery.component));
                    let part = part.map(String::as_str).unwrap_or_default();
                    Claim {
                        job: job.name.clone(),
                        entry: format!("{}{}{part}", super::oracle::root(&job), names[&delivery.document]),
                        output: outputs[&delivery.output].clone(),
                        confirmed: delivery.state.is_confirmed(),
                        leaving: !delivery.state.intended.is_some() || job.state == State::Deleting,
                    }
                }));
            }
            Ok(claims)
        });
        read.expect("the store answers")
    }
}
