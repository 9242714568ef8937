//! An output that is open for writing.

use std::sync::Arc;

use ingather_contract::call::CallContext;
use ingather_contract::output::{Generation, LOST, Output, OutputCapabilities, Says, Statement};
use ingather_model::fault::Fault;
use ingather_model::ids::ConnectionId;
use ingather_store::definitions::{self, Defined};
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::{Sql, StoreError, connections};

use super::definitions::{Definitions, Draft, Reference};

/// An output that is open for writing.
pub(crate) struct Opened {
    pub(crate) capabilities: OutputCapabilities,
    /// Number of this opening, where the output keeps numbers of changes.
    pub(crate) session: Option<i64>,
    /// Where it stood when it was opened, or committed last.
    pub(crate) stands: Generation,
    /// What it was told of who may see, where it judges by that.
    pub(crate) definitions: Option<Box<Definitions>>,
    pub(crate) output: Box<dyn Output>,
}

impl Opened {
    /// Makes durable what was applied, where the output has commits.
    ///
    /// # Errors
    /// Also when it is not the output any more that was opened: what was applied before is not in it.
    pub(crate) fn commit(&mut self, call: &CallContext) -> Result<Option<Generation>, Fault> {
        if !self.capabilities.commits {
            let stands = self.told_stands();
            // It says itself what to do.
            let lost = stands.as_ref().is_some_and(|stands| stands.identity == LOST);
            return if lost { self.output.commit(call).map(Some) } else { Ok(stands) };
        }
        let done = self.output.commit(call)?;
        let is_next = done.identity == self.stands.identity && done.number == self.stands.number + 1;
        if !is_next && !failpoint(Failpoint::ReplacedOutputConfirmed) {
            return Err(Fault::passing(
                "replaced",
                "it was replaced by another one while it was written to; run again, and everything is sent",
            ));
        }
        self.stands = done.clone();
        Ok(Some(done))
    }

    /// Where an output that judges by what it was told stands now, in its state.
    pub(crate) fn told_stands(&self) -> Option<Generation> {
        let told = self.definitions.as_ref()?;
        Some(Generation { session: told.state, ..self.output.generation() })
    }
}

/// A number that no other opening of an output has.
pub(crate) fn new_session() -> i64 {
    use std::hash::{BuildHasher, Hasher};
    // Random keys of the standard library's maps; zero means that nobody has written yet.
    let random = std::hash::RandomState::new().build_hasher().finish();
    (random >> 1).max(1) as i64
}

impl Opened {
    /// A run of a job, or what a person asked of it, begins: told with what is told first.
    pub(crate) fn begin(&mut self, job: &Arc<str>, run: Option<i64>, work: &'static str) {
        if let Some(definitions) = &mut self.definitions {
            let Definitions { state, follows, .. } = **definitions;
            let (job, opening) = (job.clone(), self.session.unwrap_or_default());
            definitions.begins.push(Says::Begin { state, job, run, work, opening, follows });
        }
    }

    /// Writes the intents of what has to be told before entries with these references; what is drafted has to be told next.
    pub(crate) fn draft(
        &mut self,
        sql: &mut Sql<'_>,
        id: ConnectionId,
        references: &[Reference],
        ends: Option<Says>,
    ) -> Result<Draft, StoreError> {
        let Some(told) = &mut self.definitions else { return Ok(Draft::default()) };
        let (wanted, generation) = told.wanted(sql, id, references, ends)?;
        if wanted.is_empty() {
            told.judged = Some(generation);
            return Ok(Draft::default());
        }
        let first = connections::take_numbers(sql, id, self.session, wanted.len())?;
        let mut draft = Draft { judged: Some(generation), ..Draft::default() };
        for ((defined, says), seq) in wanted.into_iter().zip(first..) {
            draft.defined.extend(defined.map(|(subject, intended)| Defined { subject, seq, intended }));
            draft.statements.push(Statement { seq, says });
        }
        definitions::intend(sql, id, &draft.defined)?;
        Ok(draft)
    }

    /// Tells what was drafted.
    pub(crate) fn tell(&mut self, call: &CallContext, draft: &Draft) -> Result<(), Fault> {
        let Some(told) = self.definitions.as_mut().filter(|_| !draft.is_empty()) else { return Ok(()) };
        let answer = self.output.tell(call, &draft.statements);
        match &answer {
            Ok(()) => told.answered(draft),
            Err(_) => told.unanswered(draft),
        }
        answer
    }
}
