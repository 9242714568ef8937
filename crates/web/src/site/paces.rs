//! How often each host is asked: as the job says, as the host's robots.txt wants it, and more slowly for a while where the host says that it is asked
//! too often.

use std::collections::HashMap;

use ingather_model::fairness::pace::Pace;
use ingather_model::limits;
use parking_lot::Mutex;

/// The paces of the hosts of one job.
pub(crate) struct Paces {
    every_ms: i64,
    at_once: u32,
    hosts: Mutex<HashMap<String, Own>>,
}

/// What one host wants beside what the job says.
#[derive(Clone, Copy, Default)]
struct Own {
    crawl_delay_ms: i64,
    /// What it is slowed down to; 0: not.
    slow_ms: i64,
    /// Answers since it was slowed down or sped up last.
    answers: u32,
}

impl Paces {
    pub(crate) fn new(every_ms: i64, at_once: u32) -> Paces {
        Paces { every_ms, at_once, hosts: Mutex::default() }
    }

    /// The pace of a host, which is the first bin of its pages.
    pub(crate) fn of(&self, host: &str) -> Pace {
        let own = self.hosts.lock().get(host).copied().unwrap_or_default();
        let every_ms = self.every_ms.max(own.crawl_delay_ms).max(own.slow_ms);
        // Who asks for fewer requests does not mean that they come at once.
        Pace { at_once: if own.slow_ms > 0 { 1 } else { self.at_once }, every_ms }
    }

    /// Its robots.txt wants so much time between two requests.
    pub(super) fn wants(&self, host: &str, delay_ms: i64) {
        self.change(host, |own| own.crawl_delay_ms = delay_ms.clamp(0, limits::WEB_DELAY_MS_MAX));
    }

    /// It says that it is asked too often: twice as much time, and at least as much as it names.
    pub(crate) fn slower(&self, host: &str, named_ms: Option<i64>) {
        let before = self.of(host).every_ms.max(limits::WEB_DELAY_MS);
        let slow_ms = before.saturating_mul(2).max(named_ms.unwrap_or(0)).min(limits::WEB_SLOW_MS_MAX);
        self.change(host, |own| (own.slow_ms, own.answers) = (slow_ms, 0));
    }

    /// It has answered: after some of those it is asked twice as often, down to what the job says.
    pub(crate) fn answered(&self, host: &str) {
        let mut hosts = self.hosts.lock();
        let Some(own) = hosts.get_mut(host).filter(|own| own.slow_ms > 0) else { return };
        own.answers += 1;
        if own.answers >= limits::WEB_SLOW_ANSWERS {
            (own.answers, own.slow_ms) = (0, own.slow_ms / 2);
            if own.slow_ms <= self.every_ms.max(own.crawl_delay_ms) {
                own.slow_ms = 0;
            }
        }
    }

    fn change(&self, host: &str, change: impl FnOnce(&mut Own)) {
        let mut hosts = self.hosts.lock();
        if hosts.len() >= limits::WEB_PACES_MAX && !hosts.contains_key(host) {
            // Those that want nothing of their own are as if they were not there.
            hosts.retain(|_, own| own.slow_ms > 0 || own.crawl_delay_ms > 0);
        }
        if hosts.len() < limits::WEB_PACES_MAX || hosts.contains_key(host) {
            change(hosts.entry(host.to_owned()).or_default());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_that_is_asked_too_often_is_asked_less_and_step_by_step_more_again() {
        let paces = Paces::new(500, 4);
        assert_eq!(paces.of("a"), Pace { at_once: 4, every_ms: 500 });
        paces.slower("a", None);
        assert_eq!(paces.of("a"), Pace { at_once: 1, every_ms: 2_000 });
        paces.slower("a", Some(7_000));
        assert_eq!(paces.of("a").every_ms, 7_000);
        paces.slower("a", Some(i64::MAX));
        assert_eq!(paces.of("a").every_ms, limits::WEB_SLOW_MS_MAX);
        assert_eq!(paces.of("b").every_ms, 500, "others are asked as before");
        let mut seen = Vec::new();
        for _ in 0..20 * limits::WEB_SLOW_ANSWERS {
            paces.answered("a");
            if seen.last() != Some(&paces.of("a").every_ms) {
                seen.push(paces.of("a").every_ms);
            }
        }
        assert!(seen.windows(2).all(|two| two[0] > two[1]), "{seen:?}");
        assert_eq!(paces.of("a"), Pace { at_once: 4, every_ms: 500 });
    }

    #[test]
    fn what_robots_txt_wants_counts_where_it_is_more() {
        let paces = Paces::new(1_000, 1);
        paces.wants("a", 10_000);
        paces.wants("b", 10);
        paces.wants("c", i64::MAX);
        assert_eq!(
            ["a", "b", "c"].map(|host| paces.of(host).every_ms),
            [10_000, 1_000, limits::WEB_DELAY_MS_MAX]
        );
    }
}
