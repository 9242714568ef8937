//! Answers of one authority that are kept for a while.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use ingather_contract::authority::Answer;
use ingather_model::limits;

/// An answer, and when it was asked for.
#[derive(Clone)]
pub(super) struct KeptAnswer {
    pub(super) answer: Arc<Answer>,
    /// Milliseconds since 1970.
    pub(super) at: i64,
    /// By the clock that is never put back.
    until: i64,
    number: u64,
}

/// Answers by name. The oldest go first where they become too many.
#[derive(Default)]
pub(super) struct KeptAnswers {
    by_name: HashMap<String, KeptAnswer>,
    in_order: VecDeque<(u64, String)>,
    tokens: usize,
    number: u64,
}

fn weight(answer: &Answer) -> usize {
    match answer {
        Answer::Known(tokens) => 1 + tokens.iter().count(),
        Answer::Unknown | Answer::Unauthorized => 1,
    }
}

impl KeptAnswers {
    /// What was answered about a name, and is so still.
    pub(super) fn get(&self, name: &str, steady: i64) -> Option<KeptAnswer> {
        self.by_name.get(name).filter(|kept| steady < kept.until).cloned()
    }

    /// Keeps an answer that was asked for `at`, to `until` by the steady clock.
    pub(super) fn put(&mut self, name: &str, answer: Arc<Answer>, (at, until): (i64, i64)) {
        self.forget(name);
        self.number += 1;
        self.tokens += weight(&answer);
        let number = self.number;
        self.by_name.insert(name.to_owned(), KeptAnswer { answer, at, until, number });
        self.in_order.push_back((number, name.to_owned()));
        if self.in_order.len() > 2 * self.by_name.len() + 16 {
            let KeptAnswers { by_name, in_order, .. } = self;
            in_order.retain(|(number, name)| by_name.get(name).is_some_and(|kept| kept.number == *number));
        }
        while self.tokens > limits::AUTHORITY_KEPT_TOKENS_MAX {
            let Some((number, name)) = self.in_order.pop_front() else { break };
            // It may have been answered again since.
            if self.by_name.get(&name).is_some_and(|kept| kept.number == number) {
                self.forget(&name);
            }
        }
    }

    /// Forgets what is known of a name.
    pub(super) fn forget(&mut self, name: &str) {
        if let Some(kept) = self.by_name.remove(name) {
            self.tokens -= weight(&kept.answer);
        }
    }

    /// Forgets everything; of how many.
    pub(super) fn clear(&mut self) -> usize {
        let count = self.by_name.len();
        *self = KeptAnswers { number: self.number, ..KeptAnswers::default() };
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(count: usize) -> Arc<Answer> {
        Arc::new(Answer::Known((0..count).map(|n| n.to_string()).collect()))
    }

    #[test]
    fn an_answer_is_kept_to_its_time_and_the_oldest_go_first() {
        let mut kept = KeptAnswers::default();
        kept.put("ann", known(2), (7, 100));
        assert_eq!(kept.get("ann", 99).map(|one| one.at), Some(7));
        assert!(kept.get("ann", 100).is_none() && kept.get("bob", 0).is_none());
        kept.put("bob", known(limits::AUTHORITY_KEPT_TOKENS_MAX - 10), (8, 100));
        assert!(kept.get("ann", 0).is_some(), "there is room for both");
        kept.put("ann", known(3), (9, 100));
        kept.put("cid", known(20), (9, 100));
        assert!(kept.get("bob", 0).is_none(), "the oldest by its last answer");
        assert!(kept.get("ann", 0).is_some() && kept.get("cid", 0).is_some());
        kept.forget("cid");
        assert_eq!((kept.tokens, kept.clear(), kept.tokens), (4, 1, 0));
        for _ in 0..1_000 {
            kept.put("ann", known(0), (0, 0));
        }
        assert!(kept.in_order.len() < 32, "whoever is asked for often fills nothing");
    }
}
