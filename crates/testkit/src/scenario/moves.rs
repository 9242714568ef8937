//! What people ask of jobs, and what follows: a job is where its people left it, whatever else happens. The steps that ask, and a naive model
//! that hears nothing but words and their answers.

use std::collections::{BTreeMap, BTreeSet};

use ingather_engine::EngineError;
use ingather_engine::remove::Removed;
use ingather_model::job::RunKind;
use ingather_model::lifecycle::job::State;
use ingather_model::lifecycle::outcome::RunOutcome;
use ingather_model::limits;
use ingather_store::jobs::Job;
use ingather_store::runs;

use super::steps::number;
use super::{Answer, Play};
use crate::crash::POINTS;
use crate::together::people::{Move, Word};
use crate::together::service::{Said, Served, Service, Spoken, passes};

/// Orders in which words may have had their effect that are tried at most; beyond them nothing is said of their job.
const ORDERS_MAX: usize = 200;

/// Who speaks where nobody is named.
const SOMEBODY: &str = "somebody";

/// Where people have left a job; what nobody asked for is free.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    paused: bool,
    /// The job is paused: no run later than this one begins.
    held: Option<i64>,
    /// A person has stopped it: by itself no run later than this one begins.
    aborted: Option<i64>,
    /// A later run than this one was promised.
    owed: Option<i64>,
    /// Run of this number was put down as its service ended: another one goes on.
    put_down: Option<i64>,
    gone: bool,
}

/// What people have asked for, told apart from what the store says of it: each of several places where it is not known which word came first.
#[derive(Clone, Debug, Default)]
pub(super) struct Moves {
    jobs: BTreeMap<String, BTreeSet<Place>>,
    backup: Option<Box<Moves>>,
}

/// The service of the process that lives now.
#[derive(Default)]
pub(super) struct Serving {
    /// In which process it is.
    process: u64,
    service: Service,
    /// What is said in the middle of what it does next.
    words: Vec<Word>,
}

impl Place {
    /// What follows from a word that had its effect.
    fn after(&self, spoken: &Spoken) -> Place {
        let place = self.clone();
        let begins = |owed| Place { owed, aborted: None, ..place.clone() };
        match (spoken.word.says, &spoken.answer) {
            (Move::Pause, _) => Place { paused: true, held: Some(spoken.run), ..place },
            (Move::Resume, _) => Place { paused: false, held: None, ..place },
            (Move::Abort, _) => Place { aborted: Some(spoken.run), owed: None, put_down: None, ..place },
            (Move::Start(_) | Move::Restart(_), Ok(Said::Begins(before))) => begins(Some(*before)),
            (Move::Start(_) | Move::Restart(_), _) => begins(None),
            (Move::Delete, Ok(Said::Deleted(0))) => Place { gone: true, ..Place::default() },
            // Wherever it is: nothing of it begins any more but by this.
            (Move::Delete, _) => Place::default(),
            (Move::Clock(_), _) => place,
        }
    }

    /// Why a job is not where this says.
    fn contradicts(&self, name: &str, job: Option<&Job>) -> Option<String> {
        let job = match job {
            None => return None,
            Some(_) if self.gone => return Some(format!("job {name} was deleted, and is there")),
            Some(job) if job.state == State::Deleting => return None,
            Some(job) => job,
        };
        let (run, restart) = (job.run, job.restart);
        if job.paused != self.paused {
            return Some(format!("job {name} is paused: {}, and people say: {}", job.paused, self.paused));
        }
        if let Some(held) = self.held.filter(|held| run > *held) {
            return Some(format!("job {name} was paused in run {held}, and run {run} has begun"));
        }
        if let Some(aborted) =
            self.aborted.filter(|aborted| run > *aborted && job.definition.schedule.is_none())
        {
            return Some(format!(
                "job {name} was stopped in run {aborted}, and run {run} has begun by itself"
            ));
        }
        let owed = self.owed.filter(|owed| run <= *owed && restart.is_none())?;
        Some(format!("a run of job {name} was promised behind run {owed}, and nothing is on disk of it"))
    }
}

impl Moves {
    pub(super) fn back_up(&mut self) {
        self.backup = None;
        self.backup = Some(Box::new(self.clone()));
    }

    /// The store is as it was, if it was kept.
    pub(super) fn restore(&mut self) {
        if let Some(backup) = self.backup.clone() {
            *self = Moves { backup: Some(backup.clone()), ..*backup };
        }
    }

    fn change(&mut self, name: &str, change: impl Fn(Place) -> Place) {
        let places = self.jobs.remove(name).unwrap_or_else(|| BTreeSet::from([Place::default()]));
        self.jobs.insert(name.to_owned(), places.into_iter().map(change).collect());
    }

    /// Somebody begins runs of a job in another way.
    pub(super) fn is_begun(&mut self, name: &str) {
        self.change(name, |place| Place { aborted: None, put_down: None, ..place });
    }

    /// Runs of all jobs may begin again: those that make room for somebody who erases.
    pub(super) fn all_may_begin(&mut self) {
        for places in self.jobs.values_mut() {
            let free = |place: &Place| Place { aborted: None, put_down: None, ..place.clone() };
            let others: Vec<Place> = places.iter().map(free).collect();
            places.extend(others);
        }
    }

    /// Somebody has ended the pause in another way.
    pub(super) fn is_resumed(&mut self, name: &str) {
        self.change(name, |place| Place { paused: false, held: None, ..place });
    }

    /// The job is made, or made anew.
    pub(super) fn is_made(&mut self, name: &str) {
        self.change(name, |place| if place.gone { Place::default() } else { place });
    }

    /// The job is deleted, as far as `removed` says; none: nobody knows how far.
    pub(super) fn is_deleted(&mut self, name: &str, removed: Option<&Removed>) {
        match removed {
            Some(removed) if removed.kept == 0 && !removed.stopped => {
                self.change(name, |_| Place { gone: true, ..Place::default() });
            }
            _ => drop(self.jobs.entry(name.to_owned()).or_default().insert(Place::default())),
        }
    }

    /// What was promised may be refused by what a run needs: it is not tried again.
    fn is_refused(&mut self, name: &str) {
        let free = |place: Place| Place { owed: None, ..place };
        let others: Vec<Place> = self.jobs.get(name).into_iter().flatten().cloned().map(free).collect();
        self.jobs.entry(name.to_owned()).or_default().extend(others);
    }

    /// Words about one job: in every order in which they may have had their effect.
    fn hear(&mut self, name: &str, words: &[&Spoken]) {
        let before = self.jobs.remove(name).unwrap_or_else(|| BTreeSet::from([Place::default()]));
        let mut after = BTreeSet::new();
        let orders = orders(words);
        for place in before {
            for order in &orders {
                let mut places = BTreeSet::from([place.clone()]);
                for spoken in order {
                    let moved: Vec<Place> = places.iter().map(|place| place.after(spoken)).collect();
                    match &spoken.answer {
                        _ if spoken.was_refused() => {}
                        Ok(_) => places = moved.into_iter().collect(),
                        // Nobody was told: it is so, or it is not.
                        Err(_) => places.extend(moved),
                    }
                }
                after.extend(places);
            }
        }
        if orders.len() < ORDERS_MAX {
            self.jobs.insert(name.to_owned(), after);
        }
    }

    /// Where no place of a job is what it is, why; from then on only those count that are.
    fn judge(&mut self, find: &dyn Fn(&str) -> Option<Job>, found: &mut Vec<String>) {
        for (name, places) in &mut self.jobs {
            let job = find(name);
            let why = places.iter().find_map(|place| place.contradicts(name, job.as_ref()));
            places.retain(|place| place.contradicts(name, job.as_ref()).is_none());
            found.extend(why.filter(|_| places.is_empty()));
        }
        // What was told once is not told at each step.
        self.jobs.retain(|_, places| !places.is_empty());
    }
}

/// The orders of words whose ends and beginnings allow for them.
fn orders<'s>(words: &[&'s Spoken]) -> Vec<Vec<&'s Spoken>> {
    if words.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (at, first) in words.iter().enumerate() {
        // Nobody was answered before this one began.
        if words.iter().any(|other| other.when.1 < first.when.0) {
            continue;
        }
        let mut others = words.to_vec();
        others.remove(at);
        for mut order in orders(&others) {
            order.insert(0, first);
            all.push(order);
            if all.len() >= ORDERS_MAX {
                return all;
            }
        }
    }
    all
}

/// `pause docs`, `start docs minimal`, `clock -60s`.
fn said(word: &str, rest: &str) -> Result<(Move, String), String> {
    let (job, how) = rest.split_once(' ').unwrap_or((rest, ""));
    let kind = match how {
        "" => RunKind::Full,
        "minimal" => RunKind::Minimal,
        _ => return Err(format!("nobody says `{how}`")),
    };
    let says = match word {
        "start" => Move::Start(kind),
        "restart" => Move::Restart(kind),
        "pause" => Move::Pause,
        "resume" => Move::Resume,
        "abort" => Move::Abort,
        "delete" => Move::Delete,
        "clock" => return Ok((Move::Clock(number(rest.trim_end_matches('s'))?), String::new())),
        _ => return Err(format!("nobody says `{word}`")),
    };
    Ok((says, job.to_owned()))
}

impl Play {
    /// `start docs, other minimal`, `pause docs`, …: at rest; a run that begins is waited for. `serve`: what the service does by itself.
    pub(super) fn says(&mut self, word: &str, rest: &str) -> Result<(), String> {
        let mut first = Vec::new();
        for rest in rest.split(", ").filter(|_| word != "serve") {
            let (says, job) = said(word, rest)?;
            first.push(Word { person: SOMEBODY.to_owned(), at: None, says, job });
        }
        let (before, was) = (self.open_runs(), self.before_serving());
        let is_new = self.serving.process != self.world.processes;
        let begins = matches!(word, "serve" | "start" | "restart");
        let words = if begins { std::mem::take(&mut self.serving.words) } else { Vec::new() };
        if is_new {
            self.serving = Serving { process: self.world.processes, ..Serving::default() };
        }
        let served = match begins {
            true => self.serving.service.serve(&self.world, first, words),
            false => Service::say(&self.world, first),
        };
        self.clock_was_set_back |=
            served.spoken.iter().any(|spoken| matches!(spoken.word.says, Move::Clock(..0)));
        self.answer = answer(&served);
        let lives = !(self.world.crash.dead() || self.world.crash.was_taken_over());
        self.asked();
        self.heard(&served, lives);
        if begins {
            let is_done = served.is_done && lives;
            self.by_calendar(&served, &was, is_done);
            if is_done {
                self.rests(&served, &before);
                let goes_on = |name: &&String| served.deleted.iter().any(|(other, _)| other == *name);
                let cut_off = was.0.iter().filter(|(_, was)| is_new && was.deleting).map(|(name, _)| name);
                let left: Vec<&String> = cut_off.filter(|name| !goes_on(name)).collect();
                self.found.extend(left.iter().map(|name| format!("the deletion of {name} does not go on")));
            }
        }
        Ok(())
    }

    /// `meanwhile anna before read 2 pause docs`: a word in the middle of what the service does next; `meanwhile anna then resume docs`: behind
    /// the one before it.
    pub(super) fn speaks(&mut self, person: &str, rest: &str) -> Result<(), String> {
        let (at, rest) = match rest.strip_prefix("then ") {
            Some(rest) => (None, rest),
            None => {
                let mut words = rest.splitn(4, ' ');
                let mut next = || words.next().ok_or("PERSON before|mid|after PLACE N says what?");
                let (when, place, nth, rest) = (next()?, next()?, next()?, next()?);
                if !["before", "mid", "after"].contains(&when) || !POINTS.contains(&place) {
                    return Err(format!("there is no place `{when} {place}`"));
                }
                (Some((format!("{when} {place}"), number(nth)?)), rest)
            }
        };
        let (word, rest) = rest.split_once(' ').ok_or("a word is said to a job")?;
        let (says, job) = said(word, rest)?;
        self.serving.words.push(Word { person: person.to_owned(), at, says, job });
        Ok(())
    }

    /// Runs that ended before their time: by a word, or with their service.
    fn hear_ends(&mut self, served: &Served) {
        let stopped =
            served.ran.iter().filter(|(_, ended)| ended.as_ref().is_ok_and(|report| report.stopped));
        for (name, ended) in stopped {
            let stops = |says| matches!(says, Move::Abort | Move::Restart(_));
            let was_asked =
                served.spoken.iter().any(|spoken| spoken.word.job == *name && stops(spoken.word.says));
            let number = ended.as_ref().ok().and_then(|report| report.run);
            match (was_asked, served.is_done) {
                (true, _) => {}
                (false, true) => self.found.push(format!("a run of job {name} was stopped, and by nobody")),
                (false, false) => self.moves.change(name, |place| Place { put_down: number, ..place }),
            }
        }
    }

    /// Words that were not said are not said any more.
    pub(super) fn silence(&mut self) {
        self.serving.words.clear();
    }

    fn heard(&mut self, served: &Served, lives: bool) {
        let mut by_job: BTreeMap<&str, Vec<&Spoken>> = BTreeMap::new();
        for spoken in &served.spoken {
            by_job.entry(&spoken.word.job).or_default().push(spoken);
        }
        by_job.into_iter().for_each(|(job, words)| self.moves.hear(job, &words));
        self.hear_ends(served);
        for (job, removed) in &served.deleted {
            self.moves.is_deleted(job, removed.as_ref().ok());
        }
        for (job, _) in
            served.ran.iter().filter(|(_, ended)| ended.as_ref().is_err_and(|why| refuses(why, lives)))
        {
            self.moves.is_refused(job);
        }
    }

    /// Jobs whose last run was not ended, or put down as its service ended, and that go on by themselves: with its number.
    fn open_runs(&self) -> BTreeMap<String, i64> {
        let goes_on = |job: &Job| {
            let read =
                self.world.engine().reader.read(|sql| runs::list(sql, job.id, limits::INTERRUPTIONS_MAX));
            let last = read.expect("the store answers");
            let interrupted = |run: &&runs::Run| matches!(run.outcome, None | Some(RunOutcome::Interrupted));
            let times = last.iter().take_while(interrupted).count();
            last.first().is_some_and(|run| run.outcome.is_none()) && times < limits::INTERRUPTIONS_MAX
        };
        let jobs = self.live_jobs().into_iter();
        jobs.filter(goes_on).map(|job| (job.name, job.run)).collect()
    }

    /// The service has nothing more to do: nothing that people want, and nothing that was cut off, is left.
    fn rests(&mut self, served: &Served, before: &BTreeMap<String, i64>) {
        for job in self.live_jobs().into_iter().filter(|job| !job.paused) {
            let name = &job.name;
            // What could not begin is tried again in a minute.
            let is_refused = self.world.engine().process.refused(job.id).is_some();
            let has_failed = served.ran.iter().any(|(other, ended)| other == name && ended.is_err());
            let last =
                self.world.engine().reader.read(|sql| runs::list(sql, job.id, limits::INTERRUPTIONS_MAX));
            let last = last.expect("the store answers");
            let is_over = ingather_engine::scheduler::interrupted_too_often(name, &last).is_some();
            if has_failed
                || is_refused
                || is_over
                || (job.restart.is_none() && self.is_outside_its_window(&job))
            {
                continue;
            }
            if job.state != State::Resting || job.restart.is_some() {
                self.found
                    .push(format!("the service rests, and job {name} is {}, {:?}", job.state, job.restart));
            }
            let was_stopped = served.spoken.iter().any(|spoken| spoken.word.says == Move::Abort);
            let is_stopped = was_stopped || self.moves.is_stopped(name);
            if self.moves.is_put_down(name, job.run) {
                self.found.push(format!("run {} of job {name} was put down, and does not go on", job.run));
            }
            if before.get(name).is_some_and(|run| *run == job.run) && !is_stopped {
                self.found.push(format!("run {} of job {name} was cut off, and does not go on", job.run));
            }
        }
    }

    /// Jobs are where people have left them.
    pub(super) fn left_so(&mut self, found: &mut Vec<String>) {
        let world = &self.world;
        self.moves.judge(&|name| world.find(name), found);
    }

    /// Whoever puts a world right lets everything go on.
    pub(super) fn resume_all(&mut self) -> Result<(), String> {
        for job in self.live_jobs().into_iter().filter(|job| job.paused) {
            self.line(&format!("resume {}", job.name))?;
        }
        Ok(())
    }
}

impl Moves {
    /// Whether this run was put down with its service, and is to go on.
    fn is_put_down(&self, name: &str, run: i64) -> bool {
        let places = self.jobs.get(name).filter(|places| !places.is_empty());
        places.is_some_and(|places| places.iter().all(|place| place.put_down == Some(run)))
    }

    /// Whether a person may have stopped what was to go on.
    pub(super) fn is_stopped(&self, name: &str) -> bool {
        self.jobs.get(name).is_none_or(|places| places.iter().any(|place| place.aborted.is_some()))
    }
}

/// Whether a run that was promised does not begin for this, now or later: of a process that died nobody was told.
fn refuses(why: &EngineError, lives: bool) -> bool {
    !passes(why) && (lives || !matches!(why, EngineError::Store(_)))
}

/// What is answered to a scenario: the first refusal or failure, else the last run.
fn answer(served: &Served) -> Answer {
    let failed = served.spoken.iter().find_map(|spoken| spoken.answer.as_ref().err());
    let failed = failed.or_else(|| served.ran.iter().find_map(|(_, ended)| ended.as_ref().err()));
    match (failed, served.ran.last()) {
        (Some(error), _) => Answer::Failed(error.to_string()),
        (None, Some((_, Ok(report)))) => Answer::Ran(report.clone()),
        _ => Answer::Nothing,
    }
}
