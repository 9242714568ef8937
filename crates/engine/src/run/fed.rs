//! What hands documents to the visitors of a run: in turns of their bins, and as its connection's rules let them be fetched.

use ingather_contract::repository::RepositoryCapabilities;
use ingather_store::connections;
use ingather_store::jobs::Job;

use crate::delivery::author::Author;
use crate::dispatcher::Dispatcher;
use crate::dispatcher::feed::Feed;
use crate::engine::Engine;
use crate::error::{EngineError, Refusal, Result};
use crate::process::throttles::{Gate, Rules};
use crate::process::under_way::Work;

impl Engine {
    /// What hands the documents of a run to its visitors.
    pub(crate) fn dispatcher(
        &self,
        job: &Job,
        author: &Author,
        capabilities: RepositoryCapabilities,
        work: &Work,
    ) -> Result<Dispatcher> {
        let connection = self.reader.read(|sql| connections::get(sql, job.repository))?;
        let rules = connection.map(|connection| Rules::of(&connection.settings)).transpose();
        let rules = rules
            .map_err(|why| EngineError::refused(Refusal::Definition, format!("job {}: {why}", job.name)))?;
        let (call, throttles) = (self.call_of(work), self.process.throttles.clone());
        throttles.set(job.repository, rules.unwrap_or_default(), call.steady());
        let feed = Feed {
            bins: capabilities.bins.then(|| author.repository.clone()),
            job: author.job_name.as_ref().into(),
            gate: Gate::new(throttles, job.repository, self.host.threads)
                .of(author.repository.refers().map(|_| author.repository.clone())),
            call,
        };
        Ok(Dispatcher::new(self.process.visitors.clone(), job.definition.priority, feed))
    }
}
