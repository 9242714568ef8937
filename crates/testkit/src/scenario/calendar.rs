//! How often a service may begin runs of a job, and whether one is overdue: by a calendar that knows intervals and one window a day alone.

use std::collections::BTreeMap;

use ingather_contract::call::Clock as _;
use ingather_model::job::RunKind;
use ingather_model::job::schedule::Schedule;
use ingather_model::limits;
use ingather_store::jobs::Job;
use ingather_store::runs::{self, Run};

use super::Play;
use crate::together::people::Move;
use crate::together::service::Served;

const MINUTE: i64 = 60_000;
const DAY: i64 = 1_440 * MINUTE;

/// Schedules of worlds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plain {
    /// So long after the last beginning.
    Every(i64),
    /// Each day from then on, for so long.
    Daily(i64, i64),
}

/// What a job was before its service did something.
pub(super) struct Was {
    run: i64,
    /// Something was to go on, or was asked for.
    goes_on: bool,
    last: Option<Run>,
    /// It was to go, and its deletion had been cut off.
    pub(super) deleting: bool,
}

fn plain(schedule: &Schedule) -> Plain {
    let value = schedule.to_value();
    match value["every_minutes"].as_i64() {
        Some(minutes) => Plain::Every(minutes * MINUTE),
        None => {
            let rule = &value[0];
            let hour = rule["hours"][0].as_i64().expect("windows of worlds begin at an hour");
            let length = rule["length_minutes"].as_i64().expect("windows of worlds have an end");
            Plain::Daily(hour * 60 * MINUTE, length * MINUTE)
        }
    }
}

impl Plain {
    /// The beginning of the window that is open.
    fn open(self, now: i64) -> Option<i64> {
        let Plain::Daily(begin, length) = self else { return None };
        let today = now.div_euclid(DAY) * DAY + begin;
        [today - DAY, today].into_iter().find(|begin| (*begin..begin + length).contains(&now))
    }

    /// How many runs it may begin in this time, behind the last one.
    fn most(self, last: Option<&Run>, (from, to): (i64, i64)) -> i64 {
        match self {
            Plain::Every(length) => {
                let first = last.map_or(from, |run| from.max(run.started_at + length));
                if first > to { 0 } else { (to - first) / length + 1 }
            }
            Plain::Daily(begin, _) => {
                let begins = (to - begin).div_euclid(DAY) - (from - begin).div_euclid(DAY);
                let has_begun =
                    |begin| last.is_some_and(|run| run.started_at >= begin && run.started_at <= from);
                begins + i64::from(self.open(from).is_some_and(|begin| !has_begun(begin)))
            }
        }
    }

    /// Whether a run should have begun by now.
    fn is_overdue(self, job: &Job, runs: &[Run], now: i64) -> bool {
        match self {
            Plain::Every(length) => runs.first().is_none_or(|run| run.started_at + length <= now),
            Plain::Daily(..) => self.open(now).is_some_and(|begin| {
                let counts = |run: &Run| {
                    let was_under_way =
                        run.kind == RunKind::Full && run.ended_at.is_some_and(|at| at >= begin);
                    run.started_at >= begin || was_under_way
                };
                job.scheduled_at < begin && !runs.iter().any(counts)
            }),
        }
    }
}

impl Play {
    fn last_runs(&self, job: &Job) -> Vec<Run> {
        let read = self.world.engine().reader.read(|sql| runs::list(sql, job.id, limits::INTERRUPTIONS_MAX));
        read.expect("the store answers")
    }

    /// Whether the window of a job is closed: what was cut off waits for the next one.
    pub(super) fn is_outside_its_window(&self, job: &Job) -> bool {
        let schedule = job.definition.schedule.as_ref().map(plain);
        let is_daily = matches!(schedule, Some(Plain::Daily(..)));
        is_daily && schedule.and_then(|plain| plain.open(self.world.clock.now())).is_none()
    }

    /// All jobs, before the service does something, and the time.
    pub(super) fn before_serving(&self) -> (BTreeMap<String, Was>, i64) {
        let names = self.world.jobs().into_iter();
        let was = names.filter_map(|name| {
            let job = self.world.find(&name)?;
            let last = self.last_runs(&job).into_iter().next();
            let is_cut = job.state != ingather_model::lifecycle::job::State::Resting;
            let deleting = job.state == ingather_model::lifecycle::job::State::Deleting;
            Some((name, Was { run: job.run, goes_on: is_cut || job.restart.is_some(), last, deleting }))
        });
        (was.collect(), self.world.clock.now())
    }

    /// No run has begun that nobody asked for, or was due for; none is overdue where the service has done all that it had to.
    pub(super) fn by_calendar(
        &mut self,
        served: &Served,
        (was, from): &(BTreeMap<String, Was>, i64),
        is_done: bool,
    ) {
        let now = self.world.clock.now();
        let moves_the_clock = served.spoken.iter().any(|spoken| matches!(spoken.word.says, Move::Clock(_)));
        if self.clock_was_set_back || moves_the_clock {
            return;
        }
        for job in self.live_jobs() {
            let (name, Some(was)) = (&job.name, was.get(&job.name)) else { continue };
            let asks = |says| matches!(says, Move::Start(_) | Move::Restart(_));
            let asked =
                served.spoken.iter().filter(|spoken| spoken.word.job == *name && asks(spoken.word.says));
            let schedule = job.definition.schedule.as_ref().map(plain);
            let due = schedule.map_or(0, |plain| plain.most(was.last.as_ref(), (*from, now)));
            let most = asked.count() as i64 + i64::from(was.goes_on) + due;
            if job.run - was.run > most {
                self.found.push(format!(
                    "{} runs of job {name} have begun, and {most} may have",
                    job.run - was.run
                ));
            }
            let has_failed = served.ran.iter().any(|(other, ended)| other == name && ended.is_err());
            let is_refused = has_failed || self.world.engine().process.refused(job.id).is_some();
            // Who stops a run that is just about to begin has the schedule wait for a minute.
            if !is_done || job.paused || is_refused || self.moves.is_stopped(name) {
                continue;
            }
            let runs = self.last_runs(&job);
            if schedule.is_some_and(|plain| plain.is_overdue(&job, &runs, now)) {
                self.found.push(format!("a run of job {name} is overdue"));
            }
        }
    }
}
