//! Death at a named place: from there on nothing that the process does has any effect.

pub mod power;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ingather_contract::call::Cancel;

use crate::together::people::Meets;

/// Places by name; `write` stands for every transaction.
pub const POINTS: &[&str] = &[
    "begin", "listing", "intent", "confirm", "settle", "hold", "drain", "end", "other", "write", "send",
    "tell", "commit", "clear", "read", "look", "probe", "list",
];

/// What happens at the armed place.
#[derive(Clone, Debug)]
enum CrashEffect {
    Die,
    /// With the power: what was not synced is lost but for some commits.
    PowerLoss(usize),
    Stop(Cancel),
    /// Another process takes the work over, and this one does not know; `stands_still`: of another host, while this one stands still
    /// for longer than its lease lasts.
    TakeOver {
        stands_still: bool,
    },
}

/// Where a world dies, and whether it has.
#[derive(Debug, Default)]
pub struct Crash {
    armed: Mutex<Option<(String, u64, CrashEffect)>>,
    met: Mutex<HashMap<String, u64>>,
    dead: AtomicBool,
    power_loss: Mutex<Option<usize>>,
    takes_over: AtomicBool,
    stands_still: AtomicBool,
    taken_over: AtomicBool,
    /// What the process wrote after it had lost its lease.
    pub late_writes: Mutex<Vec<String>>,
    /// Longest random delay at each place, microseconds; 0: none.
    delay_us_max: AtomicU64,
    /// Who speaks at places.
    people: Mutex<Option<Arc<dyn Meets>>>,
}

impl Crash {
    /// Dies when `point`, such as `before intent` or `mid send`, is met for the `nth` time from now on.
    pub fn arm(&self, point: &str, nth: u64) {
        self.set(Some((point.to_owned(), nth, CrashEffect::Die)));
    }

    /// Loses the power there; `keep` chooses what survives of the commits that were not synced.
    pub fn lose_power(&self, point: &str, nth: u64, keep: usize) {
        self.set(Some((point.to_owned(), nth, CrashEffect::PowerLoss(keep))));
    }

    /// Another process takes the work over there; `stands_still`: while this one stands still.
    pub fn take_over(&self, point: &str, nth: u64, stands_still: bool) {
        self.set(Some((point.to_owned(), nth, CrashEffect::TakeOver { stands_still })));
    }

    /// Asks `cancel` to stop at that place instead.
    pub fn stop_at(&self, point: &str, nth: u64, cancel: Cancel) {
        self.set(Some((point.to_owned(), nth, CrashEffect::Stop(cancel))));
    }

    /// From now on threads wait for a random time at each place, at most so long, so that they take turns in other orders.
    pub fn delay(&self, us_max: u64) {
        self.delay_us_max.store(us_max, Ordering::Relaxed);
    }

    fn wait(&self) {
        #[cfg(feature = "crash-points")]
        ingather_store::turns::seeded::may_give_way();
        let most = self.delay_us_max.load(Ordering::Relaxed);
        if most > 0 {
            let wait = Duration::from_micros(fastrand::u64(0..=most));
            // Nothing is waited for: other orders of threads are what this is for.
            std::thread::park_timeout(wait);
        }
    }

    fn set(&self, armed: Option<(String, u64, CrashEffect)>) {
        *self.armed.lock().unwrap_or_else(PoisonError::into_inner) = armed;
        self.met.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// A new process: alive, and nothing is armed. Whether the old one had died.
    pub fn revive(&self) -> bool {
        self.set(None);
        self.takes_over.store(false, Ordering::SeqCst);
        self.stands_still.store(false, Ordering::SeqCst);
        self.taken_over.store(false, Ordering::SeqCst);
        self.dead.swap(false, Ordering::SeqCst)
    }

    /// Whether the power was lost, and what survives; asked once.
    pub fn power_was_lost(&self) -> Option<usize> {
        self.power_loss.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Whether another process is to take over now; true once.
    pub fn takes_over(&self) -> bool {
        let now = self.takes_over.swap(false, Ordering::SeqCst);
        self.taken_over.fetch_or(now, Ordering::SeqCst);
        now
    }

    /// Whether this process stood still when another one took over.
    pub fn stood_still(&self) -> bool {
        self.stands_still.load(Ordering::SeqCst)
    }

    /// Whether another process took over from the one that lives now.
    pub fn was_taken_over(&self) -> bool {
        self.taken_over.load(Ordering::SeqCst)
    }

    /// Dies at once.
    pub fn die(&self) {
        self.dead.store(true, Ordering::SeqCst);
    }

    /// Loses the power at once.
    pub fn cut_power(&self, keep: usize) {
        *self.power_loss.lock().unwrap_or_else(PoisonError::into_inner) = Some(keep);
        self.dead.store(true, Ordering::SeqCst);
    }

    /// Whether the process is dead.
    pub fn dead(&self) -> bool {
        self.dead.load(Ordering::SeqCst)
    }

    /// From now on these people hear of places; none: nobody does.
    pub fn heard_by(&self, people: Option<Arc<dyn Meets>>) {
        *self.people.lock().unwrap_or_else(PoisonError::into_inner) = people;
    }

    /// A place is met; true when the process is dead from here on.
    pub fn reach(&self, point: &str) -> bool {
        self.meet(point, true)
    }

    /// The same; `waits`: for people who speak there.
    fn meet(&self, point: &str, waits: bool) -> bool {
        self.wait();
        if self.dead() || self.dies_at(point) {
            return true;
        }
        let people = self.people.lock().unwrap_or_else(PoisonError::into_inner).clone();
        people.iter().for_each(|people| people.meet(point, waits));
        self.dead()
    }

    fn dies_at(&self, point: &str) -> bool {
        let mut met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
        let times = met.entry(point.to_owned()).or_insert(0);
        *times += 1;
        let armed = self.armed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((armed, nth, effect)) = armed.as_ref()
            && armed == point
            && nth == times
        {
            match effect {
                CrashEffect::Die => self.dead.store(true, Ordering::SeqCst),
                CrashEffect::PowerLoss(keep) => {
                    *self.power_loss.lock().unwrap_or_else(PoisonError::into_inner) = Some(*keep);
                    self.dead.store(true, Ordering::SeqCst);
                }
                CrashEffect::TakeOver { stands_still } => {
                    self.stands_still.store(*stands_still, Ordering::SeqCst);
                    self.takes_over.store(true, Ordering::SeqCst);
                }
                CrashEffect::Stop(cancel) => cancel.cancel(),
            }
        }
        self.dead()
    }

    /// A transaction with these statements is about to commit, or has.
    #[cfg(feature = "crash-points")]
    pub fn transaction(&self, statements: &[&str], committed: bool) -> bool {
        let when = if committed { "after" } else { "before" };
        // Both are counted, so that `write` and the special name can be armed alike.
        let by_name = self.meet(&format!("{when} {}", sort(statements)), false);
        by_name || self.meet(&format!("{when} write"), false)
    }
}

/// What a transaction is for, by the first of these statements that it has.
#[cfg(feature = "crash-points")]
const SORTS: &[(&str, &[&str])] = &[
    ("begin", &["job/begin"]),
    ("intent", &["delivery/intend", "delivery/intend_access"]),
    (
        "confirm",
        &[
            "definition/confirm",
            "delivery/confirm",
            "delivery/confirm_access",
            "delivery/remove",
            "delivery/end_as",
        ],
    ),
    ("listing", &["document/add", "queue/enqueue"]),
    ("settle", &["queue/complete", "queue/reschedule"]),
    ("hold", &["run/hold"]),
    ("drain", &["job/drain"]),
    ("end", &["run/end"]),
];

#[cfg(feature = "crash-points")]
fn sort(statements: &[&str]) -> &'static str {
    let has = |names: &[&str]| statements.iter().any(|statement| names.contains(statement));
    SORTS.iter().find(|(_, names)| has(names)).map_or("other", |(sort, _)| sort)
}

#[cfg(all(test, feature = "crash-points"))]
mod tests {
    use super::*;

    #[test]
    fn transactions_are_sorted_by_statements_that_there_are() {
        let there_is = |name: &&str| ingather_store::queries::ALL.iter().any(|one| one.name == *name);
        for (sort, names) in SORTS {
            assert!(names.iter().all(there_is), "{sort}: {names:?}");
            assert!(POINTS.contains(sort), "{sort} cannot be armed");
        }
    }
}
