//! What people have erased: the steps that ask for it, and what follows for outputs, whatever else happens.

use std::collections::{BTreeMap, BTreeSet};

use ingather_engine::{EngineError, Options};
use ingather_store::StoreError;
use ingather_store::erased;
use ingather_store::jobs::Job;

use super::oracle::file_of;
use super::{Answer, Play, oracle};
use crate::memory_output::locked;
use crate::together::erasing::{self, ErasedFrom};

/// By name of the job, or of none for all, and by name of the file: true where that job takes it in all the same.
type Rows = BTreeMap<(String, String), bool>;

/// Erased documents of a job that are listed at most; worlds are small.
const LISTED_MAX: usize = 10_000;

/// What people asked for, told apart from what the store says of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Ledger {
    rows: Rows,
    /// Of these jobs nothing of these files is anywhere: somebody was told so, or the job has run since and met no hindrance.
    gone: BTreeSet<(String, String)>,
    /// Names of all jobs that ever were.
    pub(super) jobs: BTreeSet<String>,
    /// Outputs that were put back, or forgot, since a run has compared them.
    unproven: BTreeSet<String>,
    backup: Option<Box<Ledger>>,
}

impl Ledger {
    /// Whether a job takes a file in no more.
    pub(super) fn is_erased(&self, job: &str, file: &str) -> bool {
        let row = |job: &str| self.rows.get(&(job.to_owned(), file.to_owned()));
        row(job).or_else(|| row("")).is_some_and(|admitted| !admitted)
    }

    pub(super) fn back_up(&mut self) {
        self.backup = None;
        self.backup = Some(Box::new(self.clone()));
    }

    /// The store is as it was, if it was kept: what was asked for since is forgotten with it.
    pub(super) fn restore(&mut self) {
        if let Some(backup) = self.backup.clone() {
            let jobs = std::mem::take(&mut self.jobs);
            *self = Ledger { jobs, backup: Some(backup.clone()), ..*backup };
        }
    }

    /// What follows where a file is erased from one job, or from all.
    fn erased(&self, file: &str, from: Option<&str>) -> Rows {
        let mut rows = self.rows.clone();
        if from.is_none() {
            rows.retain(|(_, other), _| other != file);
        }
        rows.insert((from.unwrap_or_default().to_owned(), file.to_owned()), false);
        rows
    }
}

/// What was answered, for a person.
pub(super) fn told(jobs: &[ErasedFrom]) -> String {
    let left = |(output, why): &(String, String)| format!("{output}: {why}");
    let told = |from: &ErasedFrom| match from.left.is_empty() {
        true => from.job.clone(),
        false => format!("{} but {}", from.job, from.left.iter().map(left).collect::<Vec<_>>().join(" and ")),
    };
    jobs.iter().map(told).collect::<Vec<_>>().join(", ")
}

impl Play {
    /// `erase a.txt [from docs]`, `readmit a.txt [into docs]`.
    pub(super) fn erase(&mut self, word: &str, rest: &str) -> Result<(), String> {
        let words: Vec<&str> = rest.split_whitespace().collect();
        // A run that makes room begins again by itself.
        self.moves.all_may_begin();
        let (file, job) = match (word, &words[..]) {
            (_, [file]) => (*file, None),
            ("erase", [file, "from", job]) | ("readmit", [file, "into", job]) => (*file, Some(*job)),
            _ => return Err("erase FILE [from JOB], or readmit FILE [into JOB]".to_owned()),
        };
        if word == "erase" {
            let erased = erasing::erase(&self.world, file, job);
            return self.note_erased((file, job), erased, None);
        }
        let readmitted = erasing::readmit(&self.world, file, job);
        let is_done = readmitted.is_ok();
        self.answer = Answer::of(readmitted, |()| Answer::Nothing);
        self.asked();
        // It is several transactions, and which rows it leaves depends on the jobs that are there: what matters is who has it again.
        self.erased.rows = self.stored()?;
        let jobs = self.live_jobs();
        let again = jobs.iter().filter(|of| job.is_none_or(|job| of.name == job));
        let kept_out = again.filter(|of| is_done && self.erased.is_erased(&of.name, file));
        let kept_out: Vec<String> =
            kept_out.map(|of| format!("{} takes {file} in no more", of.name)).collect();
        self.found.extend(kept_out);
        self.forget_readmitted();
        Ok(())
    }

    /// A run in the middle of which a person erases a file.
    pub(super) fn run_erasing(&mut self, job: &str, options: Options, file: &str) -> Result<(), String> {
        self.moves.all_may_begin();
        let (ran, erased) = erasing::run_erasing(&self.world, job, options, file);
        self.note_erased((file, None), erased, Some(Answer::of(ran, Answer::Ran)))
    }

    /// What was asked for is on disk, all of it or nothing; `answer`: what else was asked for.
    fn note_erased(
        &mut self,
        (file, from): (&str, Option<&str>),
        erased: Result<Vec<ErasedFrom>, EngineError>,
        answer: Option<Answer>,
    ) -> Result<(), String> {
        let (before, wanted) = (self.erased.rows.clone(), self.erased.erased(file, from));
        let done: Option<Vec<ErasedFrom>> = erased.as_ref().ok().cloned();
        self.answer = answer.unwrap_or_else(|| Answer::of(erased, Answer::Erased));
        self.asked();
        let now = self.stored()?;
        if now != wanted && (done.is_some() || now != before) {
            self.found.push(format!("{file} is erased, and on disk is {now:?}"));
        }
        self.erased.rows = now;
        let gone = done.into_iter().flatten().filter(|from| from.left.is_empty());
        self.erased.gone.extend(gone.map(|from| (from.job, file.to_owned())));
        Ok(())
    }

    fn forget_readmitted(&mut self) {
        let Ledger { gone, .. } = &self.erased;
        let gone = gone.iter().filter(|(job, file)| self.erased.is_erased(job, file)).cloned().collect();
        self.erased.gone = gone;
    }

    /// What the store says that people have asked for.
    fn stored(&self) -> Result<Rows, String> {
        let prefix = erasing::address(&self.world, "");
        let read = self.world.engine().reader.read(|sql| {
            let mut rows = Rows::new();
            for job in std::iter::once("").chain(self.erased.jobs.iter().map(String::as_str)) {
                let of = erased::kept_out(sql, job)?;
                rows.extend(
                    of.into_iter().map(|row| ((row.job, row.uri.replace(&prefix, "")), row.admitted)),
                );
            }
            Ok(rows)
        });
        read.map_err(|error: StoreError| error.to_string())
    }

    /// Documents that were erased from a job, and whether that is done.
    pub(super) fn erased_from(&self, job: &str) -> Result<String, String> {
        let job = self.world.find(job).ok_or("there is no such job")?;
        let read = self.world.engine().reader.read(|sql| {
            let mut listed =
                erased::list(sql, (job.id, ingather_model::key::DocumentKey::BEFORE_ALL), LISTED_MAX)?;
            listed.retain(|one| one.job == job.id);
            Ok(listed)
        });
        let mut names: Vec<String> = read
            .map_err(|error: StoreError| error.to_string())?
            .into_iter()
            .map(|one| format!("{} {}", one.name, if one.done_at.is_some() { "done" } else { "waiting" }))
            .collect();
        names.sort();
        Ok(if names.is_empty() { "nothing".to_owned() } else { names.join(", ") })
    }

    /// Whether something that was erased from a job is held still.
    pub(super) fn erases(&self, job: &Job) -> bool {
        self.world.engine().reader.read(erased::waiting).expect("the store answers").contains(&job.id)
    }

    /// A run of this job has met no hindrance: nothing of what was erased from it is anywhere.
    pub(super) fn note_ran(&mut self, job: &Job) {
        self.erased.unproven.retain(|output| !job.definition.outputs.contains(output));
        let files: BTreeSet<&String> = self.erased.rows.keys().map(|(_, file)| file).collect();
        let covered = files.into_iter().filter(|file| file.starts_with(&oracle::root(job)));
        let erased = covered.filter(|file| self.erased.is_erased(&job.name, file));
        let erased: Vec<(String, String)> = erased.map(|file| (job.name.clone(), file.clone())).collect();
        self.erased.gone.extend(erased);
    }

    /// Outputs that are not what they were: what they hold says nothing before a run has compared it.
    pub(super) fn note_outputs(&mut self) {
        let shelves = self.world.shelves.iter();
        let put_back = shelves.filter(|(_, shelf)| !locked(shelf).fits).map(|(output, _)| output.clone());
        self.erased.unproven.extend(put_back);
    }

    /// What was erased stays erased, and nothing of it is anywhere once that was said.
    pub(super) fn erased_stay(&mut self, found: &mut Vec<String>) {
        match self.stored() {
            Ok(now) if now == self.erased.rows => {}
            now => found.push(format!("erased are {:?}, and on disk is {now:?}", self.erased.rows)),
        }
        if self.erased.gone.is_empty() {
            return;
        }
        let claims = self.claims();
        let live: BTreeSet<String> = self.live_jobs().into_iter().map(|job| job.name).collect();
        let gone = |job: &str, file: &str| self.erased.gone.contains(&(job.to_owned(), file.to_owned()));
        for claim in &claims {
            if live.contains(&claim.job) && gone(&claim.job, file_of(&claim.entry)) {
                found.push(format!("{} has {} in {}, which is erased", claim.job, claim.entry, claim.output));
            }
        }
        let files: BTreeSet<&str> = self.erased.gone.iter().map(|(_, file)| file.as_str()).collect();
        for output in self.world.shelves.keys().filter(|output| !self.erased.unproven.contains(*output)) {
            let missed = self.world.missed(output);
            let is_claimed =
                |name: &str| claims.iter().any(|claim| claim.entry == name && claim.output == *output);
            let entries = self.world.entries(output);
            let over = entries.keys().filter(|name| files.contains(file_of(name)) && !missed.contains(*name));
            found.extend(
                over.filter(|name| !is_claimed(name))
                    .map(|name| format!("{output} holds {name}, which is erased")),
            );
        }
    }
}
