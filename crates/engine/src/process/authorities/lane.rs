//! One authority and the questions that are under way to it: so many at the same time, the rest in a bounded queue; one question about a
//! name for all who ask at once; answers that are kept; and a rest where it fails again and again.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ingather_contract::authority::{Account, Answer, Authority, OF_WHAT_IS_PRESENTED, Presented, Whose};
use ingather_contract::call::CallContext;
use ingather_model::access::authority::Asking;
use ingather_model::access::identity::Group;
use ingather_model::fault::{Fault, Reason};
use ingather_model::limits;
use ingather_store::turns::{self, Monitor, lock};

use super::kept::{About, KeptAnswers};
use super::mapping::Mapping;
use crate::visit::contained;

/// An authority, ready to be asked.
pub(super) struct Lane {
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) group: Group,
    pub(super) asking: Asking,
    mapping: Result<Mapping, Reason>,
    opened: Result<Arc<dyn Authority>, Reason>,
    kept_ms: i64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Threads that ask.
    asking: u32,
    waiting: VecDeque<Arc<Question>>,
    /// What was asked and is not answered.
    under_way: HashMap<About, Arc<Question>>,
    answers: KeptAnswers,
    /// Raised where answers are forgotten: what was asked before is not kept.
    forgotten: u64,
    faults: Faults,
}

/// Faults one after the other.
#[derive(Default)]
struct Faults {
    count: u32,
    /// It is not asked before, by the steady clock.
    rests_until: i64,
    last: Option<Reason>,
}

/// One question, for all who ask it at once.
struct Question {
    about: About,
    /// What the person presented to this authority, and the time up to which that counts.
    presented: Option<(Presented, i64)>,
    forgotten: u64,
    /// Somebody has waited for it in vain.
    was_late: AtomicBool,
    done: Monitor<Option<Done>>,
}

#[derive(Clone)]
struct Done {
    outcome: Result<Arc<Answer>, Reason>,
    /// When it was asked, milliseconds since 1970.
    at: i64,
    /// The same, and when it was answered, by the steady clock.
    began: i64,
    ended: i64,
}

/// What came of a question.
#[derive(Clone)]
pub(super) struct Outcome {
    pub(super) answer: Result<Arc<Answer>, Reason>,
    /// When the authority was asked for it, milliseconds since 1970.
    pub(super) at: i64,
    pub(super) was_kept: bool,
}

/// A question that was begun.
pub(super) enum Begun {
    Now(Outcome),
    Waits(Waits),
}

pub(super) struct Waits {
    question: Arc<Question>,
    since: i64,
}

impl Lane {
    pub(super) fn new(
        (name, kind, group): (String, String, Group),
        asking: Asking,
        opened: Result<Arc<dyn Authority>, Fault>,
        kept: Duration,
    ) -> Lane {
        let mapping = Mapping::of(&asking.mapping).map_err(|why| Reason::new("settings", why));
        let kept_ms = asking.kept_ms.map_or(kept.as_millis() as i64, i64::from);
        let opened = opened.map_err(|fault| fault.reason());
        Lane { name, kind, group, asking, mapping, opened, kept_ms, state: Mutex::default() }
    }

    /// How this authority spells a name; none: it knows nobody of it.
    pub(super) fn spelled(&self, name: &str) -> Result<Option<String>, Reason> {
        let mapping = self.mapping.as_ref().map_err(Clone::clone)?;
        Ok(if name.len() > limits::USER_NAME_BYTES_MAX { None } else { mapping.of_name(name) })
    }

    /// Asks about a name as this authority spells it, and as whoever presented this to it, without waiting.
    pub(super) fn begin(
        self: &Arc<Lane>,
        name: &str,
        presented: Option<(&Presented, i64)>,
        call: &CallContext,
    ) -> Begun {
        let about = About::new(name, presented.map(|(presented, _)| presented));
        let steady = call.steady();
        let now = |answer, at, was_kept| Begun::Now(Outcome { answer, at, was_kept });
        let mut state = lock(&self.state);
        if let Some(kept) = state.answers.get(&about, steady) {
            return now(Ok(kept.answer), kept.at, true);
        }
        if let Some(reason) = state.faults.rests(steady) {
            return now(Err(reason), call.now(), false);
        }
        let waits = |question| Begun::Waits(Waits { question, since: steady });
        if let Some(question) = state.under_way.get(&about) {
            return waits(question.clone());
        }
        let room = self.asking.at_once as usize * limits::AUTHORITY_WAITING_FOR_EACH;
        if state.asking >= self.asking.at_once && state.waiting.len() >= room {
            let why =
                format!("{} questions to it are under way or wait; ask again later", state.under_way.len());
            return now(Err(Reason::new("busy", why)), call.now(), false);
        }
        let forgotten = state.forgotten;
        let question = Arc::new(Question {
            about: about.clone(),
            presented: presented.map(|(presented, until)| (presented.clone(), until)),
            forgotten,
            was_late: AtomicBool::new(false),
            done: Monitor::new(None),
        });
        if state.asking < self.asking.at_once {
            let (lane, first, its) = (self.clone(), question.clone(), call.clone());
            if let Err(error) = turns::spawn("authority".to_owned(), move || lane.work(first, &its)) {
                let why = format!("no thread can be started to ask it: {error}");
                return now(Err(Reason::new("resources", why)), call.now(), false);
            }
            state.asking += 1;
        } else {
            state.waiting.push_back(question.clone());
        }
        state.under_way.insert(about, question.clone());
        waits(question)
    }

    pub(super) fn within(&self) -> Duration {
        Duration::from_millis(self.asking.within_ms.into())
    }

    /// Asks one question after the other, until none waits.
    fn work(&self, first: Arc<Question>, call: &CallContext) {
        let mut next = Some(first);
        while let Some(question) = next {
            let done = self.ask(&question, call);
            let mut state = lock(&self.state);
            match &done.outcome {
                Ok(_) if done.ended - done.began <= self.asking.within_ms.into() => {
                    state.faults = Faults::default()
                }
                Ok(_) => state.faults.add(late(self.asking.within_ms), done.ended),
                // Else whoever presents nothing, or what does not count, would keep it from everybody.
                Err(reason) if reason.code == OF_WHAT_IS_PRESENTED => {}
                Err(reason) => state.faults.add(reason.clone(), done.ended),
            }
            self.keep(&mut state, &question, &done);
            let is_it = |one: &Arc<Question>| Arc::ptr_eq(one, &question);
            if state.under_way.get(&question.about).is_some_and(is_it) {
                state.under_way.remove(&question.about);
            }
            *question.done.lock() = Some(done);
            question.done.notify();
            next = state.waiting.pop_front();
            if next.is_none() {
                state.asking -= 1;
            }
        }
    }

    fn ask(&self, question: &Question, call: &CallContext) -> Done {
        let (at, began) = (call.now(), call.steady());
        let presented = question.presented.as_ref().map(|(presented, _)| presented);
        let account = Account { name: &question.about.name, presented, within: self.within() };
        let outcome = match &self.opened {
            Err(reason) => Err(reason.clone()),
            Ok(authority) => match contained::run(|| authority.tokens(call, &account)) {
                Err(panic) => Err(panic),
                Ok(Err(fault)) => Err(fault.reason()),
                Ok(Ok(Answer::Known(tokens))) if tokens.iter().count() > limits::TOKENS_OF_A_USER_MAX => {
                    let most = limits::TOKENS_OF_A_USER_MAX;
                    Err(Reason::new("too_many", format!("it gives more than {most} tokens to one user")))
                }
                Ok(Ok(answer)) => Ok(Arc::new(answer)),
            },
        };
        Done { outcome, at, began, ended: call.steady() }
    }

    fn keep(&self, state: &mut State, question: &Question, done: &Done) {
        let Ok(answer) = &done.outcome else { return };
        let is_whole = matches!(&**answer, Answer::Known(tokens) if tokens.are_whole());
        let most = if is_whole { self.kept_ms } else { self.kept_ms.min(limits::AUTHORITY_KEPT_SHORTLY_MS) };
        // What a token proved is so no longer than the token counts.
        let counts = question.presented.as_ref().map_or(i64::MAX, |(_, until)| until.saturating_sub(done.at));
        let most = most.min(counts);
        if most > 0 && question.forgotten == state.forgotten {
            state.answers.put(&question.about, answer.clone(), (done.at, done.began + most));
        }
    }

    /// What came of a question that was begun, within the time that it has.
    pub(super) fn wait(&self, waits: Waits, call: &CallContext) -> Outcome {
        let Waits { question, since } = waits;
        let left = since + i64::from(self.asking.within_ms) - call.steady();
        let left = Duration::from_millis(u64::try_from(left).unwrap_or_default());
        let (done, _) = question.done.wait_at_most(question.done.lock(), left, |done| done.is_none());
        let found = done.clone();
        drop(done);
        let within = self.asking.within_ms;
        match found {
            Some(Done { outcome, at, ended, .. }) if ended - since <= within.into() => {
                Outcome { answer: outcome, at, was_kept: false }
            }
            Some(done) => Outcome { answer: Err(late(within)), at: done.at, was_kept: false },
            None => {
                let at = call.now();
                let mut state = lock(&self.state);
                if !question.was_late.swap(true, Ordering::Relaxed) {
                    state.faults.add(late(within), call.steady());
                }
                // Whoever asks later asks anew; the thread that hangs is one fewer meanwhile.
                if state.under_way.get(&question.about).is_some_and(|one| Arc::ptr_eq(one, &question)) {
                    state.under_way.remove(&question.about);
                }
                Outcome { answer: Err(late(within)), at, was_kept: false }
            }
        }
    }

    /// Forgets what was answered about a name, or everything; what is under way is not kept. Of how many answers.
    pub(super) fn forget(&self, name: Option<&str>) -> usize {
        let mut state = lock(&self.state);
        state.forgotten += 1;
        state.under_way.clear();
        state.faults = Faults::default();
        match name {
            None => state.answers.clear(),
            Some(name) => state.answers.forget_name(name),
        }
    }

    /// Whose a token is, as far as this authority can tell within its own time and `left`. It is asked in the thread of whoever wants to know,
    /// and no fault here gives it a rest: nobody is known so far, and strangers are not to keep an authority from its people.
    pub(super) fn whose(
        &self,
        presented: &Presented,
        call: &CallContext,
        left: Duration,
    ) -> Result<Whose, Reason> {
        let Ok(authority) = &self.opened else { return Ok(Whose::NotOurs) };
        let within = self.within().min(left);
        contained::run(|| authority.whose(call, presented, within))?.map_err(|fault| fault.reason())
    }

    /// Whether it can be asked at all, in words.
    pub(super) fn check(&self, call: &CallContext) -> Result<String, Reason> {
        self.mapping.as_ref().map_err(Clone::clone)?;
        let authority = self.opened.as_ref().map_err(Clone::clone)?;
        contained::run(|| authority.check(call))?.map_err(|fault| fault.reason())
    }
}

fn late(within: u32) -> Reason {
    Reason::new("late", format!("it did not answer within {within} ms"))
}

impl Faults {
    /// Why it is not asked now, where it rests.
    fn rests(&self, steady: i64) -> Option<Reason> {
        self.last.clone().filter(|_| self.count >= limits::AUTHORITY_FAULTS_MAX && steady < self.rests_until)
    }

    fn add(&mut self, reason: Reason, steady: i64) {
        self.count = self.count.saturating_add(1);
        let times = self.count.saturating_sub(limits::AUTHORITY_FAULTS_MAX).min(16);
        let rest = (limits::AUTHORITY_REST_MS << times).min(limits::AUTHORITY_REST_MS_MAX);
        self.rests_until = steady + rest;
        self.last = Some(reason);
    }
}
