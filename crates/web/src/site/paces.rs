//! How often each host is asked: as the job says, as the host's robots.txt wants it, and more slowly for a while where the host says that it is asked
//! too often. That it said so counts for all jobs of the process.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use ingather_contract::call::CallContext;
use ingather_model::fairness::pace::Pace;
use ingather_model::fault::{Exhausted, Fault, Reason};
use ingather_model::limits;
use parking_lot::Mutex;
use url::Url;

use crate::http::{Turns, pause};
use crate::urls;

/// Code of the faults of pages that are not asked for because their host wants no requests for a while.
pub(crate) const LEFT_ALONE: &str = "left_alone";

/// The paces of the hosts of one job.
pub(crate) struct Paces {
    every_ms: i64,
    at_once: u32,
    /// What their robots.txt ask of this job's robot.
    crawl_delays_ms: Mutex<HashMap<String, i64>>,
}

/// What a host said, and when it was asked last, whichever job asked.
#[derive(Clone, Copy, Default)]
struct Host {
    /// What it is slowed down to; 0: not.
    slow_ms: i64,
    /// Answers since it was slowed down or sped up last.
    answers: u32,
    /// It wants to be left alone until then, which is so long.
    alone: Option<(Instant, i64)>,
    /// When the last request was made, or answered; or is made, where somebody waits for that.
    last: Option<Instant>,
}

/// By the first bins of their pages.
static HOSTS: Mutex<Option<HashMap<String, Host>>> = Mutex::new(None);

fn now() -> Instant {
    // clock: hosts are asked in the time of the world, whatever the clock of a test says.
    Instant::now()
}

fn millis(wait_ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(wait_ms).unwrap_or(0))
}

fn known(host: &str) -> Host {
    HOSTS.lock().as_ref().and_then(|hosts| hosts.get(host)).copied().unwrap_or_default()
}

fn change<T>(host: &str, change: impl FnOnce(&mut Host) -> T) -> T {
    let mut hosts = HOSTS.lock();
    let hosts = hosts.get_or_insert_default();
    if hosts.len() >= limits::WEB_PACES_MAX && !hosts.contains_key(host) {
        // Those that nothing is known of but that they were asked some time ago are as if they were not there.
        let (now, longest) = (now(), millis(limits::WEB_DELAY_MS_MAX));
        let is_late = |at: Instant| now.saturating_duration_since(at) > longest;
        hosts.retain(|_, host| host.slow_ms > 0 || host.alone.is_some() || !host.last.is_none_or(is_late));
        if hosts.len() >= limits::WEB_PACES_MAX {
            return change(&mut Host::default());
        }
    }
    change(hosts.entry(host.to_owned()).or_default())
}

impl Host {
    /// For how long it wants to be left alone, where it still does: from when it said so, and from now.
    fn alone(&self) -> Option<(i64, Duration)> {
        let (until, named_ms) = self.alone?;
        let left = until.saturating_duration_since(now());
        (!left.is_zero()).then_some((named_ms, left))
    }
}

/// Whether a run does not wait for so long: its pages are put off to the time that the host named.
fn is_too_long(wait: Duration) -> bool {
    wait > millis(limits::WEB_SLOW_MS_MAX)
}

impl Paces {
    pub(crate) fn new(every_ms: i64, at_once: u32) -> Paces {
        Paces { every_ms, at_once, crawl_delays_ms: Mutex::default() }
    }

    /// The pace of a host, which is the first bin of its pages.
    pub(crate) fn of(&self, host: &str) -> Pace {
        let known = known(host);
        let alone = known.alone();
        if alone.is_some_and(|(_, left)| is_too_long(left)) {
            // Nothing is asked of it, and saying so to each page takes no time.
            return Pace { at_once: self.at_once, every_ms: 0 };
        }
        let slow_ms = known.slow_ms.max(alone.map_or(0, |(named_ms, _)| named_ms));
        // Who asks for fewer requests does not mean that they come at once.
        Pace { at_once: if slow_ms > 0 { 1 } else { self.at_once }, every_ms: self.own_ms(host).max(slow_ms) }
    }

    /// What the job and robots.txt say.
    fn own_ms(&self, host: &str) -> i64 {
        self.every_ms.max(self.crawl_delays_ms.lock().get(host).copied().unwrap_or(0))
    }

    /// Its robots.txt wants so much time between two requests.
    pub(super) fn wants(&self, host: &str, delay_ms: i64) {
        let mut delays = self.crawl_delays_ms.lock();
        if delays.len() < limits::WEB_PACES_MAX || delays.contains_key(host) {
            delays.insert(host.to_owned(), delay_ms.clamp(0, limits::WEB_DELAY_MS_MAX));
        }
    }

    /// It says that it is asked too often: twice as much time from now on, and before that none for as long as it names.
    pub(crate) fn slower(&self, host: &str, named_ms: Option<i64>) {
        let before = self.own_ms(host).max(limits::WEB_DELAY_MS);
        change(host, |host| {
            let slow_ms = before.max(host.slow_ms).saturating_mul(2).min(limits::WEB_SLOW_MS_MAX);
            (host.slow_ms, host.answers) = (slow_ms, 0);
            let named_ms = named_ms.unwrap_or(0).clamp(0, limits::WEB_RETRY_AFTER_MS_MAX);
            let until = now() + millis(named_ms);
            if named_ms > 0 && host.alone.is_none_or(|(before, _)| before < until) {
                host.alone = Some((until, named_ms));
            }
        });
    }

    /// It has answered: after some of those it is asked twice as often, down to what the job says.
    pub(crate) fn answered(&self, host: &str) {
        let own_ms = self.own_ms(host);
        if known(host).slow_ms == 0 {
            return;
        }
        change(host, |host| {
            host.answers += 1;
            if host.answers >= limits::WEB_SLOW_ANSWERS {
                (host.answers, host.slow_ms) = (0, host.slow_ms / 2);
                if host.slow_ms <= own_ms {
                    host.slow_ms = 0;
                }
            }
        });
    }

    /// Takes the next place in time: how long it is until then.
    fn next(&self, host: &str) -> Result<Duration, Fault> {
        let own_ms = self.own_ms(host);
        change(host, |known| {
            let now = now();
            let left = |until: Instant| until.saturating_duration_since(now);
            let alone = known.alone().map(|(_, left)| left).unwrap_or_default();
            if is_too_long(alone) {
                return Err(wants_to_be_alone(host, alone));
            }
            let every = millis(own_ms.max(known.slow_ms));
            let wait = known.last.map(|last| left(last + every)).unwrap_or_default().max(alone);
            known.last = Some(now + wait);
            Ok(wait)
        })
    }
}

fn wants_to_be_alone(host: &str, wait: Duration) -> Fault {
    let message = format!("`{host}` wants to be left alone for {} minutes more", wait.as_secs().div_ceil(60));
    Fault::Passing {
        reason: Reason::new(LEFT_ALONE, message),
        retry_in_ms: i64::try_from(wait.as_millis()).ok(),
        give_up_at: None,
        attempts_max: None,
        when_exhausted: Exhausted::Skip,
    }
}

impl Turns for Paces {
    fn take(&self, call: &CallContext, url: &Url) -> Result<(), Fault> {
        let Some(host) = urls::bins(url).into_iter().next() else { return Ok(()) };
        let wait = self.next(&host)?;
        match wait.is_zero() || pause(&call.cancel, wait) {
            true => Ok(()),
            false => Err(Fault::passing("cancelled", format!("waiting for `{host}` was stopped"))),
        }
    }

    fn over(&self, url: &Url) {
        if let Some(host) = urls::bins(url).first() {
            let now = now();
            change(host, |host| host.last = host.last.max(Some(now)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_that_is_asked_too_often_is_asked_less_and_step_by_step_more_again() {
        let paces = Paces::new(500, 4);
        assert_eq!(paces.of("a.steps"), Pace { at_once: 4, every_ms: 500 });
        paces.slower("a.steps", None);
        assert_eq!(paces.of("a.steps"), Pace { at_once: 1, every_ms: 2_000 });
        for _ in 0..20 {
            paces.slower("a.steps", None);
        }
        assert_eq!(paces.of("a.steps").every_ms, limits::WEB_SLOW_MS_MAX);
        assert_eq!(paces.of("b.steps").every_ms, 500, "others are asked as before");
        let mut seen = Vec::new();
        for _ in 0..20 * limits::WEB_SLOW_ANSWERS {
            paces.answered("a.steps");
            if seen.last() != Some(&paces.of("a.steps").every_ms) {
                seen.push(paces.of("a.steps").every_ms);
            }
        }
        assert!(seen.windows(2).all(|two| two[0] > two[1]), "{seen:?}");
        assert_eq!(paces.of("a.steps"), Pace { at_once: 4, every_ms: 500 });
    }

    #[test]
    fn a_host_is_left_alone_for_as_long_as_it_names_by_all_jobs() {
        let (one, other) = (Paces::new(0, 4), Paces::new(0, 4));
        one.slower("a.alone", Some(7_000));
        assert_eq!(other.of("a.alone"), Pace { at_once: 1, every_ms: 7_000 });
        let wait = other.next("a.alone").unwrap();
        assert!(wait > Duration::from_secs(5), "{wait:?}");
        for (named, expected) in [(3_600_000, 3_600_000), (i64::MAX, limits::WEB_RETRY_AFTER_MS_MAX)] {
            one.slower("b.alone", Some(named));
            one.slower("b.alone", Some(7_000));
            assert_eq!(other.of("b.alone").every_ms, 0, "it is not asked, and its pages are put off at once");
            match other.next("b.alone") {
                Err(Fault::Passing { retry_in_ms: Some(wait), .. }) => {
                    assert!((expected - 60_000..=expected).contains(&wait), "{wait}");
                }
                other => panic!("nobody waits for an hour in a request: {other:?}"),
            }
        }
    }

    #[test]
    fn requests_of_all_jobs_take_their_places_one_after_the_other() {
        let (polite, own) = (Paces::new(60_000, 1), Paces::new(0, 1));
        assert_eq!(own.next("a.places").unwrap(), Duration::ZERO);
        assert_eq!(own.next("a.places").unwrap(), Duration::ZERO);
        let wait = polite.next("a.places").unwrap();
        assert!(wait > Duration::from_secs(50) && wait <= Duration::from_secs(60), "{wait:?}");
        assert!(polite.next("a.places").unwrap() > Duration::from_secs(110));
    }

    #[test]
    fn what_robots_txt_wants_counts_where_it_is_more() {
        let paces = Paces::new(1_000, 1);
        paces.wants("a.wants", 10_000);
        paces.wants("b.wants", 10);
        paces.wants("c.wants", i64::MAX);
        assert_eq!(
            ["a.wants", "b.wants", "c.wants"].map(|host| paces.of(host).every_ms),
            [10_000, 1_000, limits::WEB_DELAY_MS_MAX]
        );
    }
}
