//! Answers of one authority that are kept for a while.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use ingather_contract::authority::{Answer, Presented};
use ingather_model::limits;

/// What a question is about: a name, and what the person presented. What one token proved is no answer about another one, nor about the name.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct About {
    pub(super) name: String,
    /// The digest: the token itself is in no list.
    presented: Option<blake3::Hash>,
}

impl About {
    pub(super) fn new(name: &str, presented: Option<&Presented>) -> About {
        let digest = |presented: &Presented| blake3::hash(presented.token().as_bytes());
        About { name: name.to_owned(), presented: presented.map(digest) }
    }
}

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

/// Answers by what was asked. The oldest go first where they become too many.
#[derive(Default)]
pub(super) struct KeptAnswers {
    by_about: HashMap<About, KeptAnswer>,
    in_order: VecDeque<(u64, About)>,
    bytes: usize,
    number: u64,
}

/// Bytes of a token beside its text, and of an answer beside its tokens, about.
const EACH_BYTES: usize = 64;

/// Bytes of an answer, about.
fn weight(answer: &Answer) -> usize {
    match answer {
        Answer::Known(tokens) => {
            EACH_BYTES + tokens.iter().map(|token| EACH_BYTES + token.len()).sum::<usize>()
        }
        Answer::Unknown | Answer::Unauthorized => EACH_BYTES,
    }
}

impl KeptAnswers {
    /// What was answered about somebody, and is so still.
    pub(super) fn get(&self, about: &About, steady: i64) -> Option<KeptAnswer> {
        self.by_about.get(about).filter(|kept| steady < kept.until).cloned()
    }

    /// Keeps an answer that was asked for `at`, to `until` by the steady clock.
    pub(super) fn put(&mut self, about: &About, answer: Arc<Answer>, (at, until): (i64, i64)) {
        self.forget(about);
        self.number += 1;
        self.bytes += weight(&answer);
        let number = self.number;
        self.by_about.insert(about.clone(), KeptAnswer { answer, at, until, number });
        self.in_order.push_back((number, about.clone()));
        if self.in_order.len() > 2 * self.by_about.len() + 16 {
            let KeptAnswers { by_about, in_order, .. } = self;
            in_order.retain(|(number, about)| by_about.get(about).is_some_and(|kept| kept.number == *number));
        }
        while self.bytes > limits::AUTHORITY_KEPT_BYTES_MAX {
            let Some((number, about)) = self.in_order.pop_front() else { break };
            // It may have been answered again since.
            if self.by_about.get(&about).is_some_and(|kept| kept.number == number) {
                self.forget(&about);
            }
        }
    }

    fn forget(&mut self, about: &About) {
        if let Some(kept) = self.by_about.remove(about) {
            self.bytes -= weight(&kept.answer);
        }
    }

    /// Forgets what is known of a name, by whatever was presented; of how many answers.
    pub(super) fn forget_name(&mut self, name: &str) -> usize {
        let gone: Vec<About> = self.by_about.keys().filter(|about| about.name == name).cloned().collect();
        gone.iter().for_each(|about| self.forget(about));
        gone.len()
    }

    /// Forgets everything; of how many.
    pub(super) fn clear(&mut self) -> usize {
        let count = self.by_about.len();
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

    /// Somebody who holds one long token.
    fn long(bytes: usize) -> Arc<Answer> {
        Arc::new(Answer::Known(["x".repeat(bytes)].into_iter().collect()))
    }

    fn about(name: &str) -> About {
        About::new(name, None)
    }

    #[test]
    fn an_answer_is_kept_to_its_time_and_the_oldest_go_first() {
        let mut kept = KeptAnswers::default();
        kept.put(&about("ann"), known(2), (7, 100));
        assert_eq!(kept.get(&about("ann"), 99).map(|one| one.at), Some(7));
        assert!(kept.get(&about("ann"), 100).is_none() && kept.get(&about("bob"), 0).is_none());
        kept.put(&about("bob"), long(limits::AUTHORITY_KEPT_BYTES_MAX - 10 * EACH_BYTES), (8, 100));
        assert!(kept.get(&about("ann"), 0).is_some(), "there is room for both");
        kept.put(&about("ann"), known(3), (9, 100));
        kept.put(&about("cid"), known(20), (9, 100));
        assert!(kept.get(&about("bob"), 0).is_none(), "the oldest by its last answer");
        assert!(kept.get(&about("ann"), 0).is_some() && kept.get(&about("cid"), 0).is_some());
        kept.forget(&about("cid"));
        assert_eq!((kept.bytes, kept.clear(), kept.bytes), (4 * EACH_BYTES + 3, 1, 0));
        for _ in 0..1_000 {
            kept.put(&about("ann"), known(0), (0, 0));
        }
        assert!(kept.in_order.len() < 32, "whoever is asked for often fills nothing");
    }

    #[test]
    fn what_one_token_proved_is_kept_for_that_token_alone_and_forgotten_with_the_name() {
        let mut kept = KeptAnswers::default();
        let by = |token: &str| About::new("ann", Some(&Presented::new(token)));
        kept.put(&by("one"), known(1), (0, 100));
        assert!(kept.get(&by("one"), 0).is_some());
        assert!(kept.get(&by("other"), 0).is_none() && kept.get(&about("ann"), 0).is_none());
        kept.put(&about("ann"), known(1), (0, 100));
        kept.put(&About::new("bob", Some(&Presented::new("one"))), known(1), (0, 100));
        assert_eq!((kept.forget_name("ann"), kept.forget_name("ann")), (2, 0));
        assert_eq!(kept.clear(), 1);
    }
}
