//! A service in one thread of a test: what people ask of jobs, and what it does by itself. The calls of `crates/operations/src/jobs/`
//! (`start.rs`, `restart.rs`, `pause.rs`, `removal.rs`, `by_schedule.rs`), in their order, without their words.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use ingather_contract::call::Clock as _;
use ingather_engine::progress::Progress;
use ingather_engine::remove::Removed;
use ingather_engine::scheduler::{Look, Scheduler};
use ingather_engine::{Aborted, Announced, EngineCode, EngineError, Met, Options, Refusal, Report};
use ingather_model::ids::JobId;
use ingather_model::job::RunKind;
use ingather_model::job::schedule::bundled_zone;
use ingather_model::lifecycle::job::State;
use ingather_model::limits;
use ingather_store::StoreCode;
use ingather_store::jobs::{self, Job};
use ingather_store::turns::{self, Monitor, ScopedThread};

use super::people::{Move, People, Word};
use crate::watch::watched;
use crate::world::{FULL, World};

/// How long the service waits for something to happen before it looks whether everything rests.
const LOOK: Duration = Duration::from_millis(2);
/// Looks in a row that find nothing new, after which what is paused counts as at rest.
const LOOKS: usize = 8;
/// The same where nothing says why it rests: it hangs, and is ended with its service. No run takes so long on a machine that is busy.
const LOOKS_AT_WORK: usize = 10_000;
/// Runs of one job in one piece of work, after which the service is ended: where runs take longer than an interval, they never end.
const RUNS_MAX: usize = 6;

/// What one process remembers of what it does by itself.
pub struct Service {
    scheduler: Scheduler,
    /// Deletions that the end of an earlier process cut off; none before the first look.
    cut_off: Option<BTreeSet<JobId>>,
    /// When a run was begun by itself, and the number of the run before it.
    tried: BTreeMap<JobId, (i64, i64)>,
    /// How often an output had come back by the last look.
    returns: u64,
    /// Jobs whose run was begun here by itself: it heeds windows.
    begun: BTreeSet<JobId>,
}

/// What a word was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// What the word asks for is so.
    Noted,
    /// A run begins that has a later number than this one.
    Begins(i64),
    /// A run is about to begin, or somebody else has begun it.
    BeginsAnyway,
    /// What is left of a job that is to go: so many documents.
    Deleted(u64),
}

/// A word that was said.
#[derive(Clone, Debug)]
pub struct Spoken {
    /// The word.
    pub word: Word,
    /// What was answered.
    pub answer: Result<Said, EngineError>,
    /// The number of the last run of its job by then.
    pub run: i64,
    /// When it was begun and answered, among all that was said.
    pub when: (u64, u64),
}

/// What was done.
#[derive(Debug, Default)]
pub struct Served {
    /// What was said, in the order of the answers.
    pub spoken: Vec<Spoken>,
    /// How runs ended, by the names of their jobs.
    pub ran: Vec<(String, Result<Report, EngineError>)>,
    /// Deletions that went on.
    pub deleted: Vec<(String, Result<Removed, EngineError>)>,
    /// The service has nothing more to do; else it was ended, or died.
    pub is_done: bool,
}

impl Spoken {
    /// Whether the word had no effect, for sure.
    pub fn was_refused(&self) -> bool {
        let refused = |refusal: &Refusal| self.answer.as_ref().is_err_and(|error| is(error, *refusal));
        match self.word.says {
            // What was to go on may not do so although something else is under way.
            Move::Abort => refused(&Refusal::NoSuchJob),
            _ => {
                [Refusal::Paused, Refusal::Running, Refusal::Deleting, Refusal::NoSuchJob].iter().any(refused)
            }
        }
    }
}

/// A run that was begun, and has no thread yet.
struct Begun {
    job: Job,
    kind: RunKind,
    announced: Announced,
}

#[derive(Default)]
struct Desk {
    begun: Vec<Begun>,
    served: Served,
    under_way: usize,
    /// Grows with all that whoever looks should know.
    changes: u64,
    clock: u64,
}

impl Desk {
    /// One more moment.
    fn now(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }
}

impl Default for Service {
    fn default() -> Service {
        Service {
            scheduler: Scheduler::new(|schedule| schedule.calendar(&bundled_zone)),
            cut_off: None,
            tried: BTreeMap::new(),
            returns: 0,
            begun: BTreeSet::new(),
        }
    }
}

impl Service {
    /// Says these words, which begin nothing before the last of them was said, and does what there is to do, until nothing is; `words` are said
    /// in the middle of that. Work that rests because people have paused it is ended with the service once nobody has anything to say.
    pub fn serve(&mut self, world: &World, first: Vec<Word>, words: Vec<Word>) -> Served {
        let people = Arc::new(People::new(words));
        world.crash.heard_by(Some(people.clone()));
        let office = Office { world, desk: Monitor::default() };
        watched(|| {
            std::thread::scope(|scope| {
                first.into_iter().for_each(|word| office.say(word, || {}));
                let speak = |person: String| {
                    let (people, office) = (&people, &office);
                    let speak = move || office.listen(people, &person);
                    turns::spawn_scoped(scope, speak).expect("a thread starts")
                };
                let persons: Vec<_> = people.names().into_iter().map(speak).collect();
                let mut works = Vec::new();
                let mut start = |work| works.push(turns::spawn_scoped(scope, work).expect("a thread starts"));
                let mut is_done = self.work(&office, &people, &mut start);
                people.end();
                let join = |thread: ScopedThread<'_>| thread.join().expect("nobody panics");
                persons.into_iter().for_each(join);
                // Whoever has spoken last may have begun something.
                is_done = self.work(&office, &people, &mut start) && is_done;
                works.into_iter().for_each(join);
                office.desk.lock().served.is_done = is_done;
            });
        });
        world.crash.heard_by(None);
        let mut desk = office.desk.lock();
        // What somebody has begun as the service ended: it begins by itself later.
        desk.begun.clear();
        std::mem::take(&mut desk.served)
    }

    /// Says these words at rest; nothing is begun by itself.
    pub fn say(world: &World, words: Vec<Word>) -> Served {
        let office = Office { world, desk: Monitor::default() };
        watched(|| words.into_iter().for_each(|word| office.say(word, || {})));
        let mut desk = office.desk.lock();
        std::mem::take(&mut desk.served)
    }

    /// Looks and begins until nothing is left; false where the service was ended before.
    fn work<'o>(
        &mut self,
        office: &'o Office<'o>,
        people: &People,
        start: &mut dyn FnMut(Box<dyn FnOnce() + Send + 'o>),
    ) -> bool {
        let world = office.world;
        let mut runs: BTreeMap<JobId, usize> = BTreeMap::new();
        let mut rests = 0;
        loop {
            let over =
                world.crash.dead() || world.crash.was_taken_over() || world.engine().cancel.cancelled();
            let seen = office.desk.lock().changes;
            let mut begins = Vec::new();
            if over {
                // A process that is dead, or whose work another one has taken over, would be paused for ever.
                world.engine().cancel.cancel();
            } else {
                begins = self.look(office, start);
            }
            begins.append(&mut office.desk.lock().begun);
            for begun in begins {
                let times = runs.entry(begun.job.id).or_default();
                *times += 1;
                if *times > RUNS_MAX {
                    world.engine().cancel.cancel();
                }
                start(office.run(begun));
            }
            let desk = office.desk.lock();
            if desk.under_way == 0 && desk.begun.is_empty() && desk.changes == seen {
                return !over;
            }
            let (desk, too_long) = office.desk.wait_at_most(desk, LOOK, |desk| desk.changes == seen);
            drop(desk);
            rests = if too_long { rests + 1 } else { 0 };
            let longest = if office.is_paused() { LOOKS } else { LOOKS_AT_WORK };
            match rests {
                0 => people.go_on(),
                _ if rests < longest => {}
                _ if people.is_silent() => world.engine().cancel.cancel(),
                _ => people.rest(),
            }
        }
    }

    /// One look, as `BySchedule::look`: the runs that begin.
    fn look<'o>(
        &mut self,
        office: &'o Office<'o>,
        start: &mut dyn FnMut(Box<dyn FnOnce() + Send + 'o>),
    ) -> Vec<Begun> {
        let engine = office.world.engine();
        let (process, now) = (&engine.process, office.world.clock.now());
        let Ok(look) = self.scheduler.look(&engine.reader, now, &|job| process.works_on(job)) else {
            return Vec::new();
        };
        let Look { begins, rests, deletions, windows, .. } = look;
        self.begun.retain(|job| process.works_on(*job));
        for (job, closed) in windows.iter().filter(|(job, _)| self.begun.contains(job)) {
            process.close_window(*job, *closed);
        }
        let cut_off = self.cut_off.get_or_insert_with(|| deletions.iter().map(|job| job.id).collect());
        deletions.into_iter().filter(|job| cut_off.remove(&job.id)).for_each(|job| start(office.delete(job)));
        for job in rests {
            // Whoever asks next is told why it could not be closed.
            let _closed = engine.abort(&job);
        }
        let returns = process.returned_outputs();
        if self.returns != returns {
            self.returns = returns;
            self.tried.clear();
        }
        self.tried.retain(|_, (at, _)| now.abs_diff(*at) < limits::SCHEDULE_RETRY_MS as u64);
        let mut begun = Vec::new();
        for (job, kind) in begins {
            let (id, is_asked) = (job.id, job.restart.is_some());
            if self.tried.get(&id).is_some_and(|(_, before)| *before == job.run && !is_asked) {
                continue;
            }
            self.tried.insert(id, (now, job.run));
            match office.begin_due(job, kind) {
                Ok(Some(run)) => {
                    if !is_asked {
                        self.begun.insert(id);
                    }
                    begun.push(run);
                }
                Ok(None) => drop(self.tried.remove(&id)),
                Err(error) => note_refused(office.world, id, &error),
            }
        }
        begun
    }
}

/// What people and threads of one piece of work share.
struct Office<'w> {
    world: &'w World,
    desk: Monitor<Desk>,
}

impl<'w> Office<'w> {
    fn change(&self, change: impl FnOnce(&mut Desk)) {
        let mut desk = self.desk.lock();
        change(&mut desk);
        desk.changes += 1;
        drop(desk);
        self.desk.notify();
    }

    /// Says what a person has to say, each word when it is due.
    fn listen(&self, people: &People, person: &str) {
        while let Some(word) = people.next(person) {
            let is_long = word.says == Move::Delete;
            self.say(word, || {
                if is_long {
                    people.asks(person);
                }
            });
            people.said(person);
        }
    }

    /// Says one word; `asks` is called before.
    fn say(&self, word: Word, asks: impl FnOnce()) {
        let begun = self.desk.lock().now();
        asks();
        let answer = self.answer(&word);
        let run = self.world.find(&word.job).map_or(0, |job| job.run);
        self.change(|desk| {
            let when = (begun, desk.now());
            desk.served.spoken.push(Spoken { word, answer, run, when });
        });
    }

    fn answer(&self, word: &Word) -> Result<Said, EngineError> {
        let engine = self.world.engine();
        if let Move::Clock(seconds) = word.says {
            self.world.clock.pass(seconds * 1_000);
            return Ok(Said::Noted);
        }
        let job = self.world.known(&word.job)?;
        match word.says {
            Move::Start(kind) => self.start(&job, kind),
            Move::Pause => engine.pause(job.id, true).map(|_| Said::Noted),
            // Where it is not paused, nothing is to be done.
            Move::Resume if !job.paused => Ok(Said::Noted),
            Move::Resume => engine.pause(job.id, false).map(|_| Said::Noted),
            Move::Abort => self.abort(&job).map(|()| Said::Noted),
            Move::Restart(kind) => self.restart(&job, kind),
            _ => engine.delete(&job, Arc::new(Progress::default())).map(|removed| {
                let left = removed.kept + u64::from(removed.stopped);
                Said::Deleted(left)
            }),
        }
    }

    /// `jobs.start`: what was begun is on disk before it is answered.
    fn start(&self, job: &Job, kind: RunKind) -> Result<Said, EngineError> {
        refuse(job)?;
        let engine = self.world.engine();
        let kind = if job.rereads > 0 { RunKind::Full } else { kind };
        let announced = engine.process.announce(job, &engine.cancel)?;
        let before = self.world.known(&job.name)?.run;
        engine.want_run(job, kind, false)?;
        self.change(|desk| desk.begun.push(Begun { job: job.clone(), kind, announced }));
        Ok(Said::Begins(before))
    }

    /// `jobs.restart`.
    fn restart(&self, job: &Job, kind: RunKind) -> Result<Said, EngineError> {
        refuse(job)?;
        let engine = self.world.engine();
        if engine.restart(job, kind)? == Met::Run {
            return Ok(Said::Begins(job.run));
        }
        match self.start(job, kind) {
            // Somebody else has begun it since, which comes to the same.
            Err(error) if is(&error, Refusal::Running) && engine.process.works_on(job.id) => {
                Ok(Said::BeginsAnyway)
            }
            begun => begun,
        }
    }

    /// `jobs.abort`.
    fn abort(&self, job: &Job) -> Result<(), EngineError> {
        let engine = self.world.engine();
        let is_wanted = job.restart.is_some() || job.state != State::Resting;
        if (is_wanted || engine.process.works_on(job.id)) && !engine.abort_beginning(job.id)? {
            let _found: Aborted = engine.abort(job)?;
        }
        Ok(())
    }

    /// A run that begins by itself; none where the job was changed since it was looked at.
    fn begin_due(&self, job: Job, kind: RunKind) -> Result<Option<Begun>, EngineError> {
        refuse(&job)?;
        let engine = self.world.engine();
        let announced = engine.process.announce(&job, &engine.cancel)?;
        let facts = |job: &Job| (job.run, job.state, job.restart, job.paused);
        let now = engine.reader.read(|sql| jobs::get(sql, job.id))?;
        let is_current = now.is_some_and(|now| facts(&now) == facts(&job));
        Ok(is_current.then_some(Begun { job, kind, announced }))
    }

    /// A run in its thread, and what becomes of its demand where it could not begin.
    fn run<'o>(&'o self, Begun { job, kind, announced }: Begun) -> Box<dyn FnOnce() + Send + 'o> {
        self.desk.lock().under_way += 1;
        let kind = if job.rereads > 0 { RunKind::Full } else { kind };
        let options = Options { kind, goes_on: true, ..FULL };
        Box::new(move || {
            let engine = self.world.engine();
            // As it is stored now.
            let ended = self.world.known(&job.name);
            let ended = ended.and_then(|job| engine.run(&job, options, Arc::new(Progress::default())));
            let stopped = announced.was_stopped();
            if let Err(error) = &ended {
                if !stopped {
                    note_refused(self.world, job.id, error);
                }
                if stopped || !passes(error) {
                    // What the store says is told by the run.
                    let _wanted = engine.want_no_run(job.id, stopped);
                }
            }
            drop(announced);
            self.change(|desk| {
                desk.served.ran.push((job.name, ended));
                desk.under_way -= 1;
            });
        })
    }

    /// A deletion that was cut off.
    fn delete<'o>(&'o self, job: Job) -> Box<dyn FnOnce() + Send + 'o> {
        self.desk.lock().under_way += 1;
        Box::new(move || {
            let removed = self.world.engine().delete(&job, Arc::new(Progress::default()));
            self.change(|desk| {
                desk.served.deleted.push((job.name, removed));
                desk.under_way -= 1;
            });
        })
    }

    /// Whether something that is under way waits for a person, or for its window.
    fn is_paused(&self) -> bool {
        let engine = self.world.engine();
        let Ok(all) = engine.reader.read(jobs::list) else { return false };
        let glances = all.iter().map(|job| (job, engine.process.glance(job.id)));
        let works: Vec<_> = glances.filter(|(_, glance)| glance.works).collect();
        !works.is_empty() && works.iter().all(|(job, glance)| job.paused || glance.window_closed)
    }
}

/// Why a run did not begin, for whoever asks; what passes without anybody's doing is no reason.
fn note_refused(world: &World, job: JobId, error: &EngineError) {
    if !passes(error) && !is(error, Refusal::Deleting) && !is(error, Refusal::NoSuchJob) {
        world.engine().process.note_refused(job, &error.to_string());
    }
}

fn is(error: &EngineError, refusal: Refusal) -> bool {
    error.code() == EngineCode::Refused(refusal)
}

/// Whether a run that could not begin does so by itself, once a pause, other work on the job, or the end of the service is over.
pub(crate) fn passes(error: &EngineError) -> bool {
    let is_stopped = error.code() == EngineCode::Store(StoreCode::Stopped);
    is_stopped || [Refusal::Paused, Refusal::Stopped, Refusal::Running].iter().any(|one| is(error, *one))
}

/// What is said before anything is begun.
fn refuse(job: &Job) -> Result<(), EngineError> {
    let refused = |refusal, what| Err(EngineError::refused(refusal, format!("job {} is {what}", job.name)));
    match job.state {
        State::Deleting => refused(Refusal::Deleting, "being deleted"),
        _ if job.paused => refused(Refusal::Paused, "paused"),
        _ => Ok(()),
    }
}
