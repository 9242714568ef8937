//! People who move jobs in the middle of what a service does: each says one word after the other, at the places that a scenario names.

use std::collections::{BTreeMap, BTreeSet};

use ingather_model::job::RunKind;
use ingather_store::turns::Monitor;

/// What a person may say to a job, or do to the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// A run is to begin.
    Start(RunKind),
    /// Its run rests, and no other begins.
    Pause,
    /// The pause ends.
    Resume,
    /// Its run stops, and nothing goes on by itself.
    Abort,
    /// Its run stops, and another one begins.
    Restart(RunKind),
    /// It goes, with all that outputs hold of it.
    Delete,
    /// The clock is put forward or back, seconds.
    Clock(i64),
}

/// One word of a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word<S = Move> {
    /// Who says it.
    pub person: String,
    /// The place, as a crash has it, and the how-manieth time that it is met; none: at the same one, behind what they said before.
    pub at: Option<(String, u64)>,
    /// What is said.
    pub says: S,
    /// To which job.
    pub job: String,
}

/// Where the service stands, for those who wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stands {
    #[default]
    Works,
    /// It rests, and does not go on by itself: who has not spoken yet does now.
    Rests,
    /// It has nothing more to do: whoever has not spoken stays silent.
    Over,
}

#[derive(Debug)]
struct State<S> {
    met: BTreeMap<String, u64>,
    /// What each of them has still to say.
    left: BTreeMap<String, Vec<Word<S>>>,
    /// Who waits for what they have asked for, and says nothing meanwhile.
    busy: BTreeSet<String>,
    stands: Stands,
}

impl<S> State<S> {
    fn is_due(&self, word: &Word<S>) -> bool {
        let met = |(place, nth): &(String, u64)| self.met.get(place).is_some_and(|times| times >= nth);
        word.at.as_ref().is_none_or(met)
    }

    /// Whether somebody is to speak now who has not.
    fn holds(&self) -> bool {
        let idle = self.left.iter().filter(|(person, _)| !self.busy.contains(*person));
        idle.filter_map(|(_, words)| words.first()).any(|word| self.is_due(word))
    }
}

/// People, and how often each place was met.
#[derive(Debug)]
pub struct People<S = Move>(Monitor<State<S>>);

/// Who is told of places that are met.
pub trait Meets: std::fmt::Debug + Send + Sync {
    /// A place is met. `waits`: whoever has come there goes on when those have spoken whose word it is; not in the middle of a transaction,
    /// which they may need.
    fn meet(&self, place: &str, waits: bool);
}

impl<S: Clone + std::fmt::Debug + Send + Sync> Meets for People<S> {
    fn meet(&self, place: &str, waits: bool) {
        let mut state = self.0.lock();
        *state.met.entry(place.to_owned()).or_insert(0) += 1;
        self.0.notify();
        if waits {
            drop(self.0.wait_while(state, |state| state.holds() && state.stands != Stands::Over));
        }
    }
}

impl<S: Clone> People<S> {
    /// With these words, each person's in their order.
    pub fn new(words: Vec<Word<S>>) -> People<S> {
        let mut left: BTreeMap<String, Vec<Word<S>>> = BTreeMap::new();
        for word in words {
            left.entry(word.person.clone()).or_default().push(word);
        }
        let (met, busy, stands) = (BTreeMap::new(), BTreeSet::new(), Stands::Works);
        People(Monitor::new(State { met, left, busy, stands }))
    }

    /// Who they are.
    pub fn names(&self) -> Vec<String> {
        self.0.lock().left.keys().cloned().collect()
    }

    /// The next word of a person, once it is due; none where there is none, or nothing is left that it could be said to.
    pub fn next(&self, person: &str) -> Option<Word<S>> {
        let waits = |state: &mut State<S>| {
            let next = state.left.get(person).and_then(|words| words.first());
            next.is_some_and(|word| state.stands == Stands::Works && !state.is_due(word))
        };
        let state = self.0.wait_while(self.0.lock(), waits);
        let next = state.left.get(person).and_then(|words| words.first()).cloned();
        next.filter(|word| state.stands != Stands::Over || state.is_due(word))
    }

    /// A person begins what takes long, and may need those who wait at its place: they go on.
    pub fn asks(&self, person: &str) {
        self.0.lock().busy.insert(person.to_owned());
        self.0.notify();
    }

    /// It was said, and answered: whoever waits at its place goes on.
    pub fn said(&self, person: &str) {
        let mut state = self.0.lock();
        state.busy.remove(person);
        if let Some(words) = state.left.get_mut(person)
            && !words.is_empty()
        {
            words.remove(0);
        }
        drop(state);
        self.0.notify();
    }

    /// Whether anybody has a word left.
    pub fn is_silent(&self) -> bool {
        self.0.lock().left.values().all(Vec::is_empty)
    }

    /// What is under way rests: whoever waits for a place waits in vain.
    pub fn rest(&self) {
        self.stand(Stands::Rests);
    }

    /// What rested goes on.
    pub fn go_on(&self) {
        self.stand(Stands::Works);
    }

    /// Nothing more comes.
    pub fn end(&self) {
        self.stand(Stands::Over);
    }

    fn stand(&self, stands: Stands) {
        self.0.lock().stands = stands;
        self.0.notify();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(person: &str, at: Option<(&str, u64)>, says: Move) -> Word {
        let at = at.map(|(place, nth)| (place.to_owned(), nth));
        Word { person: person.to_owned(), at, says, job: "docs".to_owned() }
    }

    #[test]
    fn a_word_waits_for_its_place_or_for_the_rest_and_is_not_said_after_the_end() {
        let words = vec![
            word("anna", Some(("before read", 2)), Move::Pause),
            word("anna", None, Move::Resume),
            word("bert", Some(("before read", 9)), Move::Abort),
        ];
        let people = People::new(words);
        people.meet("before read", true);
        people.meet("before read", false);
        people.meet("before send", false);
        assert_eq!(people.next("anna").map(|word| word.says), Some(Move::Pause));
        people.said("anna");
        assert_eq!(people.next("anna").map(|word| word.says), Some(Move::Resume), "at once");
        people.said("anna");
        people.meet("before read", true);
        people.rest();
        assert_eq!(people.next("bert").map(|word| word.says), Some(Move::Abort));
        people.end();
        assert_eq!(people.next("bert"), None);
        assert!(!people.is_silent());
    }
}
