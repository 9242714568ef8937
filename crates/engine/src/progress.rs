//! Live counters of a run, for a progress bar or a status page; the counts at the end are exact, these are in time.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use ingather_store::turns::lock;

/// What a run does whose documents are all done but for those that are tried again soon.
pub const RETRY: &str = "waiting for documents that are tried again soon";

/// What a run does that has nothing left to do but for events that another run may complete.
pub const EVENT: &str = "waiting for an event that another run is to complete";

/// Counters that grow while a run goes on.
#[derive(Debug, Default)]
pub struct Progress {
    seen: AtomicU64,
    known: AtomicU64,
    changed: AtomicU64,
    delivered: AtomicU64,
    removed: AtomicU64,
    bytes: AtomicU64,
    waits_for: Mutex<&'static str>,
}

/// The counters at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Documents that the listing named.
    pub seen: u64,
    /// Documents that the inventory had when the run began.
    pub known: u64,
    /// Documents that had to be looked at.
    pub changed: u64,
    /// Changes that outputs confirmed.
    pub delivered: u64,
    /// Documents removed.
    pub removed: u64,
    /// Bytes of content read.
    pub bytes: u64,
    /// What the run is doing or waiting for, for a person.
    pub waits_for: &'static str,
}

impl Progress {
    /// The counters now.
    pub fn snapshot(&self) -> Snapshot {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Snapshot {
            seen: get(&self.seen),
            known: get(&self.known),
            changed: get(&self.changed),
            delivered: get(&self.delivered),
            removed: get(&self.removed),
            bytes: get(&self.bytes),
            waits_for: *lock(&self.waits_for),
        }
    }

    pub(crate) fn seen(&self, n: u64) {
        self.seen.fetch_add(n, Ordering::Relaxed);
    }

    pub(crate) fn known(&self, documents: u64) {
        self.known.store(documents, Ordering::Relaxed);
    }

    pub(crate) fn changed(&self, n: u64) {
        self.changed.fetch_add(n, Ordering::Relaxed);
    }

    pub(crate) fn delivered(&self, n: u64) {
        self.delivered.fetch_add(n, Ordering::Relaxed);
    }

    pub(crate) fn removed(&self, n: u64) {
        self.removed.fetch_add(n, Ordering::Relaxed);
    }

    pub(crate) fn bytes(&self, n: u64) {
        self.bytes.fetch_add(n, Ordering::Relaxed);
    }

    pub(crate) fn waits_for(&self, what: &'static str) {
        *lock(&self.waits_for) = what;
    }
}
