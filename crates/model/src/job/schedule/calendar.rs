//! What a schedule means at an instant: which window is open, whether a run begins, and when to look again.

use jiff::tz::TimeZone;

use super::moments::Moments;
use super::{Schedule, Start};
use crate::job::run_kind::RunKind;

const MINUTE_MS: i64 = 60_000;

/// A schedule with the time zones that it names. Times are milliseconds since 1970 UTC.
#[derive(Clone, Debug)]
pub struct Calendar(Form);

#[derive(Clone, Debug)]
enum Form {
    Every {
        interval_ms: i64,
        kind: RunKind,
    },
    Windows(Vec<Windows>),
    /// No time begins a run of it: a watch does.
    Continuous,
}

/// The windows of one rule.
#[derive(Clone, Debug)]
struct Windows {
    begins: Moments,
    length_ms: Option<i64>,
    start: Start,
    kind: RunKind,
}

/// A window, with both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its first instant.
    pub begin: i64,
    /// The first instant after it; none: it has no end.
    pub end: Option<i64>,
    /// When in it a run may begin.
    pub start: Start,
    /// The run that begins in it.
    pub kind: RunKind,
}

/// What is remembered of a job between two questions whether it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// When its last run began, by whatever.
    pub begun: Option<i64>,
    /// When this was asked last, or the last run ended, or the job was made or got the schedule: what is later (coverage S3.229). Windows that began
    /// up to then are not begun in any more by rules that start at the beginning. A service that is to make up for nothing that it
    /// missed while it was off names its own start.
    pub at: i64,
    /// The same for windows of full runs, of which a minimal run takes no turn: where the last run was minimal, its beginning stands in place of
    /// its end.
    pub full_at: i64,
}

impl Calendar {
    pub(super) fn of(
        schedule: &Schedule,
        zone: &dyn Fn(&str) -> Option<TimeZone>,
    ) -> Result<Calendar, String> {
        let rules = match schedule {
            Schedule::Every(every) => {
                let interval_ms = i64::from(every.minutes) * MINUTE_MS;
                return Ok(Calendar(Form::Every { interval_ms, kind: every.kind }));
            }
            Schedule::Windows(rules) => rules,
            Schedule::Continuous => return Ok(Calendar(Form::Continuous)),
        };
        let mut windows = Vec::with_capacity(rules.len());
        for rule in rules {
            let zone = zone(&rule.time_zone).ok_or_else(|| {
                format!(
                    "the time zone `{}` of the schedule is not known; write a name of the IANA database such as `Europe/Berlin`, or `UTC`",
                    rule.time_zone
                )
            })?;
            windows.push(Windows {
                begins: rule.moments(zone),
                length_ms: rule.length_minutes.map(|minutes| i64::from(minutes) * MINUTE_MS),
                start: rule.start,
                kind: rule.kind,
            });
        }
        Ok(Calendar(Form::Windows(windows)))
    }

    /// The window that is open; of several the one that ends last, then that of a full run. An interval and a continuous job have none and are always open.
    pub fn window_at(&self, now: i64) -> Option<Window> {
        self.windows().filter_map(|windows| windows.at(now)).max_by_key(last_to_end)
    }

    /// Whether a run that heeds windows may work: one is open, or there are none to heed.
    pub fn is_open(&self, now: i64) -> bool {
        !matches!(self.0, Form::Windows(_)) || self.window_at(now).is_some()
    }

    /// When the next window begins after an instant; of an interval, when the next run begins if the last one began then. None: it
    /// begins no more, as on a 30 February.
    pub fn next_begin(&self, after: i64) -> Option<i64> {
        match &self.0 {
            Form::Every { interval_ms, .. } => after.checked_add(*interval_ms),
            Form::Windows(windows) => windows.iter().filter_map(|windows| windows.begins.next(after)).min(),
            Form::Continuous => None,
        }
    }

    /// Whether a run of a job that rests begins now: in which window, and so of which kind. Of several windows that would begin one, that
    /// of a full run, which does what a minimal one does; then the one that ends last. A job that works is not asked: what falls due
    /// meanwhile begins no second run.
    pub fn due(&self, asked: Asked, now: i64) -> Option<Window> {
        match &self.0 {
            Form::Every { interval_ms, kind } => {
                let window = Window { begin: now, end: None, start: Start::Begin, kind: *kind };
                waits_until(*interval_ms, asked.begun, now).is_none().then_some(window)
            }
            Form::Windows(all) => {
                let fresh = |windows: &Windows| {
                    let window = windows.at(now)?;
                    let at = if window.kind == RunKind::Full { asked.full_at } else { asked.at };
                    let missed = window.start == Start::Begin && window.begin <= at;
                    (!missed && !windows.has_begun(window, asked.begun, now)).then_some(window)
                };
                let order = |window: &Window| (window.kind == RunKind::Full, last_to_end(window));
                all.iter().filter_map(fresh).max_by_key(order)
            }
            Form::Continuous => None,
        }
    }

    /// When an answer of [`Calendar::due`] or [`Calendar::is_open`] may be another one than now; none: never. A run that is due now
    /// and does not begin has no part in it.
    pub fn next_change(&self, asked: Asked, now: i64) -> Option<i64> {
        match &self.0 {
            Form::Every { interval_ms, .. } => waits_until(*interval_ms, asked.begun, now),
            Form::Windows(_) => {
                let closes = self.window_at(now).and_then(|window| window.end);
                [self.next_begin(now), closes].into_iter().flatten().min()
            }
            Form::Continuous => None,
        }
    }

    fn windows(&self) -> impl Iterator<Item = &Windows> {
        match &self.0 {
            Form::Every { .. } | Form::Continuous => [].iter(),
            Form::Windows(windows) => windows.iter(),
        }
    }
}

impl Windows {
    /// The one that is open: of those of one rule, which are of one length, the last to begin is the last to end.
    fn at(&self, now: i64) -> Option<Window> {
        let begin = self.begins.last(now)?;
        let end = self.length_ms.map(|length| begin.saturating_add(length));
        let window = Window { begin, end, start: self.start, kind: self.kind };
        end.is_none_or(|end| now < end).then_some(window)
    }

    /// Whether a run has begun in a window that is open. A beginning that is said to be later than now, because the clock was put back, counts as
    /// far as the window goes, so that a small correction begins no second run, and a large one does not keep the job from running.
    fn has_begun(&self, window: Window, begun: Option<i64>, now: i64) -> bool {
        begun.is_some_and(|begun| {
            let ends = || window.end.or_else(|| self.begins.next(now));
            begun >= window.begin && (begun <= now || ends().is_some_and(|end| begun < end))
        })
    }
}

/// When an interval after the last beginning is over; none: it is. A beginning that is said to be further ahead than an interval is none.
fn waits_until(interval_ms: i64, begun: Option<i64>, now: i64) -> Option<i64> {
    let begun = begun.filter(|begun| begun.saturating_sub(now) <= interval_ms)?;
    begun.checked_add(interval_ms).filter(|at| *at > now)
}

/// By which the window that ends last is the greatest, and of those that end together that of a full run.
fn last_to_end(window: &Window) -> (i64, bool, i64) {
    (window.end.unwrap_or(i64::MAX), window.kind == RunKind::Full, window.begin)
}
