//! What became of tickets: each is told once, in order, and is so when it is told (I1).

use ingather_contract::call::Clock as _;
use ingather_model::run_counts::RunCounts;
use ingather_store::jobs::Job;

use super::super::oracle::{self, Wanted};
use super::Play;
use super::model::{Known, Source};
use super::outputs::{Looks, Right, Seen};
use crate::together::pushing::{Version, is_pushed};

impl Play {
    /// Reads what became of tickets of a source, and judges what is new of it.
    pub(super) fn told_truly(
        &self,
        job: &Job,
        source: &mut Source,
        (seen, looks, was_sound): (&mut Seen, &Looks, bool),
        found: &mut Vec<String>,
    ) {
        let all = self.stored_tickets(job);
        let (mut new, mut last) = (Vec::new(), source.reported);
        for (key, known) in &mut source.records {
            for known in known {
                let told = all.get(&known.ticket).and_then(|ticket| ticket.report.as_ref());
                let told = told.map(|report| (report.number, report.outcome.clone()));
                if known.report == told {
                    continue;
                }
                if known.report.is_some() {
                    found.push(format!(
                        "ticket {} of {key} was {:?}, and is {told:?}",
                        known.ticket, known.report
                    ));
                }
                if told.as_ref().is_some_and(|(number, _)| *number <= source.reported) {
                    found.push(format!(
                        "ticket {} of {key} is told as {told:?}, behind later ones",
                        known.ticket
                    ));
                }
                last = last.max(told.as_ref().map_or(0, |(number, _)| *number));
                known.report = told;
                new.push((key.clone(), known.ticket));
            }
        }
        source.reported = last;
        for (key, ticket) in new {
            let versions = source.records.get(&key).into_iter().flatten();
            let of = versions.filter(|known| known.ticket >= ticket).collect::<Vec<_>>();
            let Some((known, later)) = of.split_first() else { continue };
            let outcome = known.report.as_ref().map(|(_, outcome)| outcome.clone()).unwrap_or_default();
            let is_right = self.fits(job, source, (&key, known, later), (&outcome, was_sound && !seen.died));
            if !is_right {
                found.push(format!("ticket {ticket} of {key} is told as {outcome}: {known:?}"));
            }
            if matches!(outcome.as_str(), "indexed" | "unchanged" | "deleted") {
                self.delivered(job, source, (&key, known, later), (seen, looks), found);
            }
        }
    }

    /// Whether an outcome is one that a ticket may have.
    fn fits(
        &self,
        job: &Job,
        source: &Source,
        (key, known, later): (&str, &Known, &[&Known]),
        (outcome, was_sound): (&str, bool),
    ) -> bool {
        let was_there = source.before(key, known.ticket).is_some();
        let wanted = |version: &Version| {
            let outputs = job.definition.outputs.iter();
            outputs.map(|output| oracle::wanted_of(job, output, &version.text)).collect::<Vec<_>>()
        };
        match (outcome, &known.is) {
            ("superseded", _) => !later.is_empty(),
            ("aborted", _) => source.erased.get(key).is_some_and(|erased| known.ticket <= *erased),
            ("noop", None) => !was_there,
            ("deleted", None) => was_there,
            ("indexed" | "unchanged", Some(_)) => true,
            ("skipped", Some(version)) => wanted(version).contains(&Wanted::Declined),
            ("failed", Some(version)) => !was_sound || wanted(version).contains(&Wanted::Broken),
            ("failed", None) => !was_sound,
            _ => false,
        }
    }

    /// Every output holds what was told, or what came after it.
    fn delivered(
        &self,
        job: &Job,
        source: &Source,
        (key, known, later): (&str, &Known, &[&Known]),
        (seen, looks): (&mut Seen, &Looks),
        found: &mut Vec<String>,
    ) {
        let name = format!("{}{key}", oracle::root(job));
        let mut versions: Vec<Option<&Version>> =
            std::iter::once(&known).chain(later).map(|known| known.is.as_ref()).collect();
        // What is erased since is gone, or goes.
        let is_erased = source.erased.get(key).is_some_and(|erased| known.ticket <= *erased);
        versions.extend(is_erased.then_some(None));
        for output in job.definition.outputs.iter().filter(|output| !seen.says_nothing(output)) {
            let Some(look) = looks.of(output) else { continue };
            let versions = versions.clone();
            let right = Right { job, output, key, versions, defaults: &source.defaults, exactly: false };
            let differs = right.differs(look).into_iter();
            found.extend(differs.map(|told| format!("ticket {} is told, and {told}", known.ticket)));
        }
        let shows = |output: &&String| {
            let is_missed = looks.of(output).is_none_or(|look| look.misses(&name));
            !is_missed && !seen.says_nothing(output)
        };
        for output in job.definition.outputs.iter().filter(shows).collect::<Vec<_>>() {
            seen.raise(output, &name, known.ticket);
        }
    }

    /// A run of a source that met no hindrance leaves no ticket open that was due, and one over everything leaves its outputs exact.
    pub(in crate::scenario) fn exact_of_pushes(
        &mut self,
        job: &Job,
        (counts, rest): (RunCounts, &str),
        was_sound: bool,
        found: &mut Vec<String>,
    ) {
        let hindered = counts.has_failures() || counts.kept + counts.held > 0 || !was_sound;
        let Some(source) = self.pushes.sources.get(&job.name) else { return };
        if hindered || self.pushes.were_among || rest.contains("dry-run") {
            return;
        }
        let waits: Vec<String> = self
            .world
            .due(&job.name)
            .into_iter()
            .filter(|(_, wait)| wait.is_none_or(|wait| self.world.clock.now() + wait > self.pushes.began))
            .map(|(key, _)| key)
            .collect();
        for (key, known) in source.records.iter().filter(|(key, _)| !waits.contains(key)) {
            let open = known.iter().filter(|known| known.report.is_none());
            found.extend(open.map(|known| format!("ticket {} of {key} is open behind a run", known.ticket)));
        }
        if rest.contains("minimal") {
            return;
        }
        let looks = Looks::new(self);
        for output in &job.definition.outputs {
            found.extend(self.differs_from_last(job, source, output, &looks));
        }
        self.pushes.has_looked(job);
    }

    /// Tickets that have no report, and delta runs that are not drained, although the world is at rest.
    pub(in crate::scenario) fn open_tickets(&self) -> Vec<String> {
        let sources = self.pushes.sources.iter();
        let all = sources.flat_map(|(name, source)| {
            source.records.iter().flat_map(move |(key, known)| known.iter().map(move |one| (name, key, one)))
        });
        let open = all.filter(|(.., known)| known.report.is_none());
        let open = open
            .map(|(name, key, known)| format!("at rest, ticket {} of {name}, {key}, is open", known.ticket));
        let undrained = self.live_jobs().into_iter().filter(is_pushed).flat_map(|job| {
            let runs = self.stored_runs(&job).into_iter();
            let undrained = runs.filter(|run| run.last_ticket.is_some() && run.drained_at.is_none());
            undrained
                .map(move |run| format!("at rest, delta run {} of {} is not drained", run.epoch, job.name))
        });
        open.chain(undrained).collect()
    }
}
