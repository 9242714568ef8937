//! Who is logged in at the search page: a random word in a cookie for each of them, in memory alone, so that a service that is started again
//! knows nobody.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ingather_model::limits;
use ingather_operations::api_keys;
use ingather_operations::problem::Result;

/// Somebody who is logged in.
#[derive(Clone)]
pub(super) struct Session {
    /// The public part of their key; it is judged anew at every request.
    pub(super) key: String,
    /// As whom they search, in words.
    pub(super) whose: String,
    /// What their forms have to hold.
    pub(super) form: String,
    until: i64,
}

/// All of them.
#[derive(Default)]
pub(super) struct Sessions(Mutex<BTreeMap<String, Session>>);

impl Sessions {
    fn all(&self) -> MutexGuard<'_, BTreeMap<String, Session>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins one; its word. Where there are too many, the one that ends first makes room.
    pub(super) fn begin(&self, key: String, whose: String, now: i64) -> Result<String> {
        let (word, form) = (api_keys::random()?, api_keys::random()?);
        let mut all = self.all();
        all.retain(|_, session| session.until > now);
        if all.len() >= limits::SESSIONS_MAX {
            let first = all.iter().min_by_key(|(_, session)| session.until).map(|(word, _)| word.clone());
            first.and_then(|first| all.remove(&first));
        }
        all.insert(word.clone(), Session { key, whose, form, until: now + limits::SESSION_MS });
        Ok(word)
    }

    /// The session of a word, while it lasts.
    pub(super) fn get(&self, word: &str, now: i64) -> Option<Session> {
        self.all().get(word).filter(|session| session.until > now).cloned()
    }

    /// Ends one.
    pub(super) fn end(&self, word: &str) {
        self.all().remove(word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_ends_by_itself_and_there_are_never_more_than_the_bound() {
        let sessions = Sessions::default();
        let words: Vec<String> = (0..=limits::SESSIONS_MAX)
            .map(|n| sessions.begin("key".to_owned(), "ann".to_owned(), n as i64).expect("random words"))
            .collect();
        let now = limits::SESSIONS_MAX as i64;
        assert_eq!(sessions.all().len(), limits::SESSIONS_MAX);
        assert!(sessions.get(&words[0], now).is_none() && sessions.get(&words[1], now).is_some());
        assert!(sessions.get(&words[1], 1 + limits::SESSION_MS).is_none(), "its time is over");
        sessions.end(&words[2]);
        assert!(sessions.get(&words[2], now).is_none());
    }
}
