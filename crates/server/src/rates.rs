//! How often somebody may search: so many times at once, and then again at a steady pace, so that one caller does not take all room from
//! the others.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use ingather_model::limits;
use ingather_operations::Asker;
use ingather_operations::problem::{Code, Problem, Result};

/// How far ahead of the steady pace somebody may be, microseconds.
const AHEAD: i64 = limits::SEARCH_BURST_S * 1_000_000;

/// How often each caller may search.
pub(crate) struct Rates {
    /// Searches in each second.
    pace: i64,
    /// By caller: until when their searches reach at the steady pace, microseconds. Who is not ahead of it is not in it.
    until: Mutex<BTreeMap<String, i64>>,
}

impl Rates {
    /// So many searches of each caller in each second.
    pub(crate) fn new(pace: u32) -> Rates {
        Rates { pace: i64::from(pace.max(1)), until: Mutex::default() }
    }

    /// Takes one search of somebody.
    ///
    /// # Errors
    /// `TooMany` when they have none.
    pub(crate) fn take(&self, asker: &Asker, now: i64) -> Result<()> {
        self.take_of(asker.key.as_ref().unwrap_or(&asker.name), now)
    }

    fn take_of(&self, who: &str, now: i64) -> Result<()> {
        let (now, each) = (now.saturating_mul(1_000), 1_000_000 / self.pace);
        let mut all = self.until.lock().unwrap_or_else(PoisonError::into_inner);
        // That bounds it: callers are keys, users of the machine, and those whom a proxy vouches for; those who rest are forgotten.
        all.retain(|_, until| *until > now);
        // A clock that was put back leaves nobody out for longer than they could have been ahead.
        let until = all.get(who).map_or(now, |until| (*until).min(now + AHEAD));
        if until + each > now + AHEAD {
            all.insert(who.to_owned(), until);
            let sentence = format!(
                "{} searches at once, and then {} each second, are all that one caller has; ask again in {} s",
                self.pace * limits::SEARCH_BURST_S,
                self.pace,
                limits::HTTP_RETRY_AFTER_S
            );
            return Err(Problem::new(Code::TooMany, sentence));
        }
        all.insert(who.to_owned(), until + each);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_caller_has_so_many_searches_at_once_and_then_a_steady_pace_of_their_own() {
        let (pace, burst, each_ms) = (10, 10 * limits::SEARCH_BURST_S, 100);
        let rates = Rates::new(pace);
        let taken =
            |who: &str, now: i64| (0..1_000).take_while(|_| rates.take_of(who, now).is_ok()).count() as i64;
        let begin = 10_000_000;
        assert_eq!(taken("ann", begin), burst);
        assert_eq!(taken("ann", begin + each_ms - 1), 0);
        assert_eq!(taken("ann", begin + each_ms), 1);
        assert_eq!(taken("bob", begin), burst, "that is nothing to anybody else");
        let after = begin + 1_000 * i64::try_from(limits::HTTP_RETRY_AFTER_S).expect("seconds");
        assert!(taken("ann", after) > 0, "as `Retry-After` says");
        let put_back = 1_000;
        assert_eq!(taken("ann", put_back), 0);
        assert!(taken("ann", put_back + each_ms) > 0, "not until the clock is there again");
        let rests = begin + AHEAD / 100;
        assert_eq!(taken("ann", rests), burst);
        assert_eq!(rates.until.lock().expect("whole").len(), 1, "who rests is forgotten");
    }
}
