//! Requests that failed, in the log: so many of each code in each minute, and how many more there were. Strangers can have any operation fail with
//! some codes as often as they like, which is neither to fill the log nor to hide what fails otherwise.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use ingather_model::limits;
use ingather_operations::problem::Code;

/// One minute, milliseconds.
const MINUTE_MS: u64 = 60_000;

/// What the log was told of.
#[derive(Default)]
pub(crate) struct Failures {
    by_code: Mutex<BTreeMap<&'static str, Minute>>,
}

#[derive(Default)]
struct Minute {
    began: i64,
    told: u32,
    left_out: u64,
}

/// What the log is told of a request that failed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// Nothing: it was told of many of them in this minute.
    Not,
    /// This one, and before it that so many were left out since the last one.
    This { left_out: u64 },
}

impl Failures {
    /// Another request failed.
    pub(crate) fn another(&self, code: Code, now: i64) -> Told {
        let mut all = self.by_code.lock().unwrap_or_else(PoisonError::into_inner);
        let minute = all.entry(code.row().word).or_default();
        let mut left_out = 0;
        // A clock that was put back begins a minute, too.
        if now.abs_diff(minute.began) >= MINUTE_MS {
            left_out = minute.left_out;
            *minute = Minute { began: now, ..Minute::default() };
        }
        if minute.told == limits::LOG_FAILURES_MAX {
            minute.left_out += 1;
            return Told::Not;
        }
        minute.told += 1;
        Told::This { left_out }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_of_each_code_are_told_in_a_minute_and_the_others_are_counted() {
        let failures = Failures::default();
        let begin = 1_000_000;
        let told = |now: i64| {
            let another = || failures.another(Code::AuthorityAway, now);
            (0..100).map(|_| another()).filter(|told| *told != Told::Not).count()
        };
        let most = limits::LOG_FAILURES_MAX as usize;
        assert_eq!(told(begin), most);
        assert_eq!(told(begin + 59_999), 0);
        assert_eq!(failures.another(Code::Store, begin), Told::This { left_out: 0 }, "another code");
        let left_out = 200 - most as u64;
        assert_eq!(failures.another(Code::AuthorityAway, begin + 60_000), Told::This { left_out });
        assert_eq!(failures.another(Code::AuthorityAway, begin + 60_001), Told::This { left_out: 0 });
        assert_eq!(told(1_000), most, "the clock was put back");
    }
}
