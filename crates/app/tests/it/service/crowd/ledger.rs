//! What was answered to whoever asked for runs: each answered start leads to a run, or to an end that somebody asked for.

use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;

/// What somebody was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// A run begins, of this kind.
    Begins(String),
    /// Another run follows the one that is under way.
    Follows,
    /// What is wanted of the job is wanted no more.
    Ends,
    /// The next run reads everything, whatever was asked for.
    Resets,
}

/// When it was asked for, when it was answered, and of which job.
#[derive(Clone, Debug)]
struct Entry {
    job: &'static str,
    asked: i64,
    answered: i64,
    told: Told,
}

/// All that was told.
#[derive(Default)]
pub(super) struct Ledger(Mutex<Vec<Entry>>);

pub(super) fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as i64
}

impl Ledger {
    pub(super) fn note(&self, job: &'static str, asked: i64, told: Told) {
        self.0.lock().unwrap().push(Entry { job, asked, answered: now(), told });
    }

    /// Judges the runs of a job. `steady`: nobody ends, pauses or restarts it, and each answer has a run of its own.
    pub(super) fn judge(&self, job: &str, runs: &[Value], steady: bool) {
        let noted = self.0.lock().unwrap();
        let of_job: Vec<&Entry> = noted.iter().filter(|entry| entry.job == job).collect();
        let promises = of_job.iter().filter(|entry| !matches!(entry.told, Told::Ends | Told::Resets));
        for entry in promises {
            let begun = runs.iter().any(|run| run["started_at"].as_i64().unwrap() >= entry.asked);
            let ended = of_job.iter().any(|other| other.told == Told::Ends && other.answered >= entry.asked);
            assert!(begun || ended, "a run is lost: {entry:?} of {of_job:#?}, and there are {runs:#?}");
        }
        if !steady {
            return;
        }
        let mut promised: Vec<&Entry> =
            of_job.iter().copied().filter(|entry| entry.told != Told::Resets).collect();
        promised.sort_by_key(|entry| entry.asked);
        let runs: Vec<&Value> = runs.iter().rev().collect();
        assert_eq!(runs.len(), promised.len(), "runs of {job}: {promised:#?}, {runs:#?}");
        for (run, promise) in runs.iter().zip(promised) {
            // Somebody may have wanted it to be another one before it had begun.
            let was_reset = of_job.iter().any(|other| {
                other.told == Told::Resets
                    && other.answered >= promise.asked
                    && other.asked <= run["started_at"].as_i64().unwrap()
            });
            let kind = Told::Begins(run["kind"].as_str().unwrap().to_owned());
            assert!(
                kind == promise.told || (was_reset && run["kind"] == "full"),
                "{job}: {promise:?} became {run}"
            );
        }
        assert!(runs.iter().all(|run| run["outcome"] == "done"), "{runs:#?}");
    }
}
