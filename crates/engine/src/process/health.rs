//! When outputs that are away are tried again, and how often one came back (decision 0059). How each of them stands is in the store; this is of one process.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use ingather_model::ids::ConnectionId;
use ingather_model::limits;
use ingather_store::connections::Ill;
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::turns::lock;

/// What a process knows of outputs that are away, or were until just now.
#[derive(Default)]
pub(crate) struct Health {
    away: Mutex<BTreeMap<ConnectionId, Away>>,
    /// How often an output came back.
    returns: AtomicU64,
}

/// One output.
#[derive(Clone, Copy)]
struct Away {
    /// Since when, milliseconds since 1970 UTC.
    since: i64,
    /// How long it is left alone after it was tried.
    wait: i64,
    /// When it is tried next.
    again: i64,
    /// It is being tried.
    is_tried: bool,
    /// When it could be opened again. Until a run has ended well with it, nobody knows whether it also takes something.
    back: Option<i64>,
}

impl Away {
    fn since(since: i64, again: i64) -> Away {
        Away { since, wait: limits::OUTPUT_PROBE_MS_MIN, again, is_tried: false, back: None }
    }

    fn wait_longer(&mut self, now: i64) {
        self.wait = (self.wait * 2).min(limits::OUTPUT_PROBE_MS_MAX);
        self.again = now + self.wait;
    }

    /// Whether it is to be tried; also where the clock was put back.
    fn is_due(&self, now: i64) -> bool {
        !self.is_tried && (self.again <= now || self.again > now + limits::OUTPUT_PROBE_MS_MAX)
    }
}

impl Health {
    /// A run could not use an output; since when it is away. One that could be opened a moment ago, and takes nothing, was away all the time.
    pub(crate) fn failed(&self, id: ConnectionId, now: i64) -> i64 {
        let mut away = lock(&self.away);
        let fresh = Away::since(now, now + limits::OUTPUT_PROBE_MS_MIN);
        let one = away.entry(id).or_insert(fresh);
        if let Some(back) = one.back.take() {
            match now.abs_diff(back) < limits::OUTPUT_STEADY_MS {
                true => one.wait_longer(now),
                false => *one = fresh,
            }
        }
        one.since
    }

    /// Outputs of those that are away whose turn it is to be tried, and when the next one is to be.
    pub(crate) fn give(&self, ill: &[Ill], now: i64) -> (Vec<Ill>, Option<i64>) {
        let mut away = lock(&self.away);
        let mut at_work = away.values().filter(|one| one.is_tried).count();
        let (mut due, mut next) = (Vec::new(), None::<i64>);
        for one in ill {
            let found = away.entry(one.id).or_insert(Away::since(one.health.since, now));
            if found.is_due(now) && at_work < limits::OUTPUT_PROBES_AT_ONCE_MAX {
                found.is_tried = true;
                at_work += 1;
                due.push(one.clone());
            } else if !found.is_tried {
                let again =
                    found.again.clamp(now + limits::OUTPUT_PROBE_MS_MIN, now + limits::OUTPUT_PROBE_MS_MAX);
                next = Some(next.map_or(again, |next| next.min(again)));
            }
        }
        (due, next)
    }

    /// The turn of an output is over.
    pub(crate) fn ends(&self, id: ConnectionId) {
        if let Some(one) = lock(&self.away).get_mut(&id) {
            one.is_tried = false;
        }
    }

    /// It was tried, and is still away.
    pub(crate) fn stays_away(&self, id: ConnectionId, now: i64) {
        if let Some(one) = lock(&self.away).get_mut(&id) {
            one.wait_longer(now);
        }
    }

    /// It could be opened.
    pub(crate) fn is_back(&self, id: ConnectionId, now: i64) {
        if let Some(one) = lock(&self.away).get_mut(&id) {
            one.back = Some(now);
        }
        self.came_back();
    }

    /// A run has ended well with it, or somebody has repaired it.
    pub(crate) fn is_sound(&self, id: ConnectionId) {
        lock(&self.away).remove(&id);
    }

    /// Whoever could not use an output tries it again.
    pub(crate) fn came_back(&self) {
        if !failpoint(Failpoint::ReturnUnnoticed) {
            self.returns.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How often an output came back.
    pub(crate) fn returns(&self) -> u64 {
        self.returns.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use ingather_model::lifecycle::outcome::OutputHealth;
    use ingather_store::connections;

    use super::*;

    const ID: ConnectionId = ConnectionId(7);

    fn ill(since: i64) -> [Ill; 1] {
        let health = connections::Health { state: OutputHealth::Unavailable, since, why: "away".to_owned() };
        [Ill { id: ID, name: "one".to_owned(), health }]
    }

    /// Tries it when it is due, in vain; when that was.
    fn tried(health: &Health, mut now: i64) -> i64 {
        loop {
            let (due, next) = health.give(&ill(0), now);
            if due.is_empty() {
                now = next.expect("it is tried again");
                continue;
            }
            health.stays_away(ID, now);
            health.ends(ID);
            return now;
        }
    }

    #[test]
    fn it_is_tried_after_a_second_and_twice_as_late_each_time_up_to_a_minute() {
        let health = Health::default();
        assert_eq!(health.failed(ID, 0), 0);
        let mut now = 0;
        let mut waits = Vec::new();
        for _ in 0..8 {
            let at = tried(&health, now);
            waits.push(at - now);
            now = at;
        }
        assert_eq!(waits, [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
        // Several jobs that fail with it meanwhile change nothing of that.
        assert_eq!(health.failed(ID, now + 1), 0);
        assert_eq!(tried(&health, now), now + 60_000);
    }

    #[test]
    fn one_that_can_be_opened_and_takes_nothing_was_away_all_the_time() {
        let health = Health::default();
        let steady = limits::OUTPUT_STEADY_MS as i64;
        health.failed(ID, 0);
        for (at, since) in [(1_000, 0), (5_000, 0), (5_000 + steady, 5_000 + steady)] {
            health.is_back(ID, at.min(5_000));
            assert_eq!(health.failed(ID, at), since);
        }
        assert_eq!(health.returns(), 3);
        health.is_back(ID, 900_000);
        health.is_sound(ID);
        assert_eq!(health.failed(ID, 900_001), 900_001);
    }

    #[test]
    fn one_that_another_process_has_found_away_is_tried_at_once_and_each_by_one_at_a_time() {
        let health = Health::default();
        let (due, _) = health.give(&ill(5), 100_000);
        assert_eq!(due.len(), 1);
        assert!(health.give(&ill(5), 200_000).0.is_empty());
        assert_eq!(health.failed(ID, 200_000), 5);
        health.ends(ID);
        assert_eq!(health.give(&ill(5), 200_000).0.len(), 1);
    }
}
