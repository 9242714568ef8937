//! How often somebody may search: so many times at once, and then again at a steady pace, so that one caller does not take all room from
//! the others.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use ingather_model::limits;
use ingather_operations::Asker;
use ingather_operations::problem::{Code, Problem, Result};

/// How far ahead of the steady pace somebody may be, milliseconds.
const AHEAD: i64 = limits::SEARCH_BURST * limits::SEARCH_EVERY_MS;

/// By caller: until when their searches reach at the steady pace. Who is not ahead of it is not in it.
#[derive(Default)]
pub(crate) struct Rates(Mutex<BTreeMap<String, i64>>);

impl Rates {
    /// Takes one search of somebody.
    ///
    /// # Errors
    /// `TooMany` when they have none.
    pub(crate) fn take(&self, asker: &Asker, now: i64) -> Result<()> {
        self.take_of(asker.key.as_ref().unwrap_or(&asker.name), now)
    }

    fn take_of(&self, who: &str, now: i64) -> Result<()> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // That bounds it: callers are keys and users of the machine, and those who rest are forgotten.
        all.retain(|_, until| *until > now);
        // A clock that was put back leaves nobody out for longer than they could have been ahead.
        let until = all.get(who).map_or(now, |until| (*until).min(now + AHEAD));
        if until + limits::SEARCH_EVERY_MS > now + AHEAD {
            all.insert(who.to_owned(), until);
            let pace = 1_000 / limits::SEARCH_EVERY_MS;
            let sentence = format!(
                "{} searches at once, and then {pace} each second, are all that one caller has; ask again in {} s",
                limits::SEARCH_BURST,
                limits::HTTP_RETRY_AFTER_S
            );
            return Err(Problem::new(Code::TooMany, sentence));
        }
        all.insert(who.to_owned(), until + limits::SEARCH_EVERY_MS);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_caller_has_so_many_searches_at_once_and_then_a_steady_pace_of_their_own() {
        let rates = Rates::default();
        let taken =
            |who: &str, now: i64| (0..1_000).take_while(|_| rates.take_of(who, now).is_ok()).count() as i64;
        let begin = 10_000_000;
        assert_eq!(taken("ann", begin), limits::SEARCH_BURST);
        assert_eq!(taken("ann", begin + limits::SEARCH_EVERY_MS - 1), 0);
        assert_eq!(taken("ann", begin + limits::SEARCH_EVERY_MS), 1);
        assert_eq!(taken("bob", begin), limits::SEARCH_BURST, "that is nothing to anybody else");
        let after = begin + 1_000 * i64::try_from(limits::HTTP_RETRY_AFTER_S).expect("seconds");
        assert!(taken("ann", after) > 0, "as `Retry-After` says");
        let put_back = 1_000;
        assert_eq!(taken("ann", put_back), 0);
        assert!(taken("ann", put_back + limits::SEARCH_EVERY_MS) > 0, "not until the clock is there again");
        let rests = begin + 10 * AHEAD;
        assert_eq!(taken("ann", rests), limits::SEARCH_BURST);
        assert_eq!(rates.0.lock().expect("whole").len(), 1, "who rests is forgotten");
    }
}
