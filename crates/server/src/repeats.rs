//! Changes that are asked for again: with the same `Idempotency-Key` a change is done once, and whoever has lost its answer gets it again.
//! Answers are in memory alone, so that a service that is started again knows none of them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::http::{HeaderMap, HeaderName};
use ingather_model::limits;
use ingather_operations::problem::{Code, Problem, Result};
use serde_json::Value;

use crate::request;

/// Where a client names its request.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// What was asked for so, by whom and under which key.
#[derive(Default)]
pub(crate) struct Repeats(Mutex<BTreeMap<(String, String), Asked>>);

struct Asked {
    /// Of the operation and its request.
    digest: blake3::Hash,
    at: i64,
    /// None while it is being done.
    answer: Option<Value>,
}

/// A change that is done for the first time.
pub(crate) struct First {
    repeats: Arc<Repeats>,
    of: (String, String),
    is_kept: bool,
}

/// What there is for a key.
pub(crate) enum Known {
    /// Nothing: it is to be done, and what comes of it to be told.
    No(First),
    /// Its answer.
    Answered(Value),
}

/// The key in a head; none where there is none.
///
/// # Errors
/// `WrongUse` for one that is too long or no text.
pub(crate) fn key(headers: &HeaderMap) -> Result<Option<String>> {
    request::refuse_twice(headers, &[IDEMPOTENCY_KEY])?;
    let Some(key) = headers.get(IDEMPOTENCY_KEY) else { return Ok(None) };
    let length = 1..=limits::IDEMPOTENCY_KEY_MAX;
    let key = key.to_str().ok().filter(|key| length.contains(&key.len()));
    key.map(|key| Some(key.to_owned())).ok_or_else(|| {
        Problem::usage(format!(
            "an Idempotency-Key has 1 to {} characters of ASCII; take a random one for each request",
            limits::IDEMPOTENCY_KEY_MAX
        ))
    })
}

impl Repeats {
    fn all(&self) -> MutexGuard<'_, BTreeMap<(String, String), Asked>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What there is for a request of somebody under a key.
    ///
    /// # Errors
    /// `KeyReused` when another request has the key, `Running` while this one is being done.
    pub(crate) fn look(
        self: &Arc<Repeats>,
        who: &str,
        key: String,
        operation: &str,
        request: &Value,
        now: i64,
    ) -> Result<Known> {
        let digest = blake3::hash(format!("{operation} {request}").as_bytes());
        let of = (who.to_owned(), key);
        let mut all = self.all();
        all.retain(|_, asked| asked.answer.is_none() || asked.at > now - limits::REPEATS_MS);
        match all.get(&of) {
            Some(asked) if asked.digest != digest => Err(Problem::new(
                Code::KeyReused,
                "this Idempotency-Key was sent with another request; take a new one for each request",
            )),
            Some(Asked { answer: Some(answer), .. }) => Ok(Known::Answered(answer.clone())),
            Some(_) => Err(Problem::new(
                Code::Running,
                "the request with this Idempotency-Key is being answered; ask again when that has ended",
            )),
            None => {
                if all.len() >= limits::REPEATS_MAX {
                    let answered = all.iter().filter(|(_, asked)| asked.answer.is_some());
                    let oldest = answered.min_by_key(|(_, asked)| asked.at).map(|(of, _)| of.clone());
                    oldest.and_then(|oldest| all.remove(&oldest));
                }
                all.insert(of.clone(), Asked { digest, at: now, answer: None });
                Ok(Known::No(First { repeats: self.clone(), of, is_kept: false }))
            }
        }
    }
}

impl First {
    /// Keeps the answer. What was not done may be asked for again, under the same key.
    pub(crate) fn done(mut self, answer: &Value) {
        if answer.to_string().len() > limits::REPEAT_BYTES_MAX {
            return;
        }
        if let Some(asked) = self.repeats.all().get_mut(&self.of) {
            asked.answer = Some(answer.clone());
            self.is_kept = true;
        }
    }
}

impl Drop for First {
    fn drop(&mut self) {
        if !self.is_kept {
            self.repeats.all().remove(&self.of);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_is_kept_for_whoever_asked_for_an_hour_and_a_change_that_failed_is_not() {
        let repeats = Arc::new(Repeats::default());
        let look = |who: &str, key: &str, request: Value, now: i64| {
            repeats.look(who, key.to_owned(), "jobs.start", &request, now)
        };
        let refused = |known: Result<Known>| known.err().map(|problem| problem.code);
        let share = json!({"job": "share"});
        let Ok(Known::No(first)) = look("ann", "1", share.clone(), 0) else { panic!("it is the first") };
        assert_eq!(refused(look("ann", "1", share.clone(), 0)), Some(Code::Running));
        drop(first);
        let Ok(Known::No(first)) = look("ann", "1", share.clone(), 0) else { panic!("nothing was done") };
        first.done(&json!({"done": 1}));
        let Ok(Known::Answered(answer)) = look("ann", "1", share.clone(), 1) else { panic!("it was done") };
        assert_eq!(answer, json!({"done": 1}));
        assert_eq!(refused(look("ann", "1", json!({"job": "other"}), 1)), Some(Code::KeyReused));
        assert!(matches!(look("bob", "1", share.clone(), 1), Ok(Known::No(_))), "it is Ann's key");
        assert!(matches!(look("ann", "1", share.clone(), limits::REPEATS_MS), Ok(Known::No(_))));
        let Ok(Known::No(long)) = look("ann", "2", share.clone(), 0) else { panic!("it is the first") };
        long.done(&json!("x".repeat(limits::REPEAT_BYTES_MAX)));
        assert!(matches!(look("ann", "2", share.clone(), 0), Ok(Known::No(_))));
        for n in 0..limits::REPEATS_MAX + 5 {
            let Ok(Known::No(first)) = look("carl", &n.to_string(), share.clone(), n as i64) else {
                panic!("{n} is the first")
            };
            first.done(&json!(n));
        }
        assert!(repeats.all().len() <= limits::REPEATS_MAX, "{}", repeats.all().len());
    }
}
