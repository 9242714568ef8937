//! Runs over sources that are found by following links (`docs/decisions/0037-reach.md`).

use ingather_contract::refers::Refers;
use ingather_contract::repository::Repository;
use ingather_model::ids::Digest;
use ingather_model::job::schedule::Schedule;
use ingather_model::limits;
use ingather_store::jobs::Job;
use ingather_store::{Durability, documents, events, runs};

use super::{Engine, Mode, Options};
use crate::error::{EngineError, Refusal, Result};
use crate::inspect::kept_closed;
use crate::lister::Lister;
use crate::run::Run;
use crate::run::dating::{self, Dating, Walk};
use crate::run::drain::drain;
use crate::run::reach::handed::withdraw;
use crate::run::reach::hops::Distances;
use crate::run::reach::{Reach, feed, left, take_due};

impl Engine {
    /// What a run goes by of dates, where its documents have any; and what it reaches, where the source is found by following links.
    /// `wants_all`: everything is looked at, whatever its date.
    pub(super) fn walks(
        &self,
        job: &Job,
        repository: &dyn Repository,
        (settings, wants_all): (Digest, bool),
        options: Options,
    ) -> Result<(Option<Dating>, Option<Reach>)> {
        let follows_links = repository.refers().is_some() && repository.pushed().is_none();
        let looked = match job.definition.schedule {
            Some(Schedule::Continuous) => self.reader.read(|sql| documents::dates::looked(sql, job.id))?,
            _ => None,
        };
        let dating = Dating::of(job, (settings, follows_links), wants_all, looked);
        let reach = self.reach(job, repository, settings, (options, dating.as_ref()))?;
        Ok((dating, reach))
    }

    /// What a run reaches, where the source is found by following links.
    fn reach(
        &self,
        job: &Job,
        repository: &dyn Repository,
        settings: Digest,
        (options, dating): (Options, Option<&Dating>),
    ) -> Result<Option<Reach>> {
        if repository.refers().is_none() {
            return Ok(None);
        }
        if options.mode == Mode::DryRun {
            return Err(EngineError::refused(
                Refusal::Definition,
                format!(
                    "job {}: what a run would find by following links cannot be told without following them; run it, or to `--to null` first",
                    job.name
                ),
            ));
        }
        let relations = repository.refers().map(Refers::relations).unwrap_or_default();
        let refused = |why| EngineError::refused(Refusal::Definition, format!("job {}: {why}", job.name));
        let hops = &job.definition.hops;
        let counted = hops.among(relations).map_err(refused)?;
        // Where all is to be read again, what another run has visited is not read by going on with it.
        let goes_by = format!(
            "{}\n{}\n{}\n{} {}\n{}\n{hops:?}",
            job.root,
            job.definition.source,
            settings.0,
            options.rereads,
            job.rereads,
            job.definition.outputs.join("\n")
        );
        let is_pushed = repository.pushed().is_some();
        let walk = dating::walk((dating, is_pushed), options.kind, options.is_pass);
        // The beginning of another run makes that void.
        let held = match walk {
            Walk::Due => self.reader.read(|sql| runs::held(sql, job.id, job.run))?,
            _ => None,
        };
        let distances = (!hops.counts_nothing()).then(|| Distances::new(counted, hops.keeps()));
        let basis = Digest::of(goes_by.as_bytes());
        Ok(Some(Reach::new(basis, (walk, held), distances, is_pushed, self.process.events.clone())))
    }

    /// Completes an event in place of its owner, who has forgotten it: what waits for it is visited. False where it was not pending.
    ///
    /// # Errors
    /// `ReadOnly` where the store is open for reading only; what it says.
    pub fn free_event(&self, name: &str) -> Result<bool> {
        let writer = self.writing()?;
        let was_pending = writer.store.write(Durability::Synced, |sql| {
            writer.lease.fence(sql)?;
            events::complete(sql, name)
        })?;
        self.process.events.completed(name);
        Ok(was_pending)
    }
}

/// Names the seeds, and visits what they lead to until nothing is left that was not visited.
pub(super) fn follow(run: &Run, reach: &Reach, lister: &mut Lister<'_>) -> Result<()> {
    reach.resume(run)?;
    if matches!(reach.walk, Walk::Due | Walk::New) {
        take_due(run, reach)?;
    }
    if reach.walk == Walk::Due {
        // It proves nothing, and needs no seed.
    } else if reach.is_seeded() && !run.author.is_pushed {
        // What was pushed since an interrupted run named all records is named by the one that goes on with it.
        lister.result.complete = true;
    } else {
        lister.list()?;
        if let Some(store) = run.store.as_ref().filter(|_| lister.result.complete) {
            store.write(Durability::Relaxed, |sql| {
                run.fence(sql)?;
                runs::reach::seeded(sql, run.job.id, run.number, run.call.now())
            })?;
        }
    }
    run.progress.waits_for("following links");
    feed(run, reach, true)
}

/// Waits for the end of all visits. What was not reached hands nothing down then, which may lead to more of them.
pub(super) fn settle(run: &Run, lister: &Lister<'_>) -> Result<()> {
    loop {
        drain(run)?;
        let Some(reach) = run.reach.as_ref().filter(|_| run.is_full && lister.result.complete) else {
            return Ok(());
        };
        if run.stops() || !withdraw(run, reach)? {
            return Ok(());
        }
    }
}

/// What a person should know of a run at its end: of its source, and of documents that it leaves to the next one.
pub(super) fn notes(run: &Run) -> Result<Vec<String>> {
    let mut notes = run.author.repository.notes();
    notes.extend(left::notes(run)?);
    if run.store.is_some() {
        let kept = run.reader.read(|sql| kept_closed::find(sql, run.job.id))?;
        notes.extend(kept.iter().take(limits::KEPT_CLOSED_TOLD_MAX).map(|one| one.sentence(&run.job)));
    }
    Ok(notes)
}
