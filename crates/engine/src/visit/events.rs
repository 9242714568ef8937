//! Events as a visit begins and completes them.

use ingather_contract::events::{EventName, Events};
use ingather_contract::refers::{Leads, VisitAnswer};
use ingather_model::fault::Fault;
use ingather_model::limits;
use ingather_store::events::{self, Holder};
use ingather_store::{Durability, StoreError};

use crate::run::Run;

/// The events of the visit of one document.
pub(super) struct VisitEvents<'r> {
    run: &'r Run,
    document: i64,
}

impl<'r> VisitEvents<'r> {
    pub(super) fn new(run: &'r Run, document: i64) -> VisitEvents<'r> {
        VisitEvents { run, document }
    }
}

impl Events for VisitEvents<'_> {
    fn begin(&self, name: &EventName) -> Result<bool, Fault> {
        named(name)?;
        let (run, document) = (self.run, self.document);
        // A run that writes nothing is refused before it begins.
        let (Some(store), Some(lease)) = (&run.store, &run.lease) else { return Ok(true) };
        let begun = store.write(Durability::Relaxed, |sql| {
            lease.fence(sql)?;
            let holder = Holder { job: run.job.id, document, process: &lease.process };
            events::begin(sql, name.as_str(), holder, run.call.now())
        });
        begun.map_err(fault)
    }

    fn complete(&self, name: &EventName) -> Result<(), Fault> {
        named(name)?;
        let Some(store) = &self.run.store else { return Ok(()) };
        let completed = store.write(Durability::Relaxed, |sql| {
            self.run.fence(sql)?;
            events::complete(sql, name.as_str())
        });
        completed.map_err(fault)?;
        if let Some(reach) = &self.run.reach {
            reach.events.completed(name.as_str());
        }
        Ok(())
    }
}

fn fault(error: StoreError) -> Fault {
    Fault::passing("store", format!("an event cannot be begun or completed: {error}"))
}

fn named(name: &EventName) -> Result<(), Fault> {
    match name.is_too_long() {
        true => Err(broken(format!("the name of an event has over {} bytes", limits::EVENT_NAME_BYTES_MAX))),
        false => Ok(()),
    }
}

fn broken(sentence: String) -> Fault {
    Fault::broken("connector", sentence)
}

/// An answer whose documents wait for no more events than may be: one that is left out would not be waited for.
pub(super) fn bounded(answer: VisitAnswer) -> Result<VisitAnswer, Fault> {
    let judged = |after: &[EventName]| {
        after.iter().try_for_each(named)?;
        match after.len() > limits::PREREQUISITES_MAX {
            true => Err(broken(format!("a document waits for over {} events", limits::PREREQUISITES_MAX))),
            false => Ok(()),
        }
    };
    match &answer {
        VisitAnswer::Unchanged { .. } => {}
        VisitAnswer::Again { after } => judged(after)?,
        VisitAnswer::Read(_, Leads { references, .. })
        | VisitAnswer::NoEntry(_, Leads { references, .. }) => {
            references.iter().try_for_each(|reference| judged(&reference.after))?;
        }
    }
    Ok(answer)
}
