//! One thread at a time, and a seed that says which. Tests only.
//!
//! A thread gives its turn away where it locks, waits, starts another thread, or ends. Time passes only when every thread waits: then the one
//! whose wait is over first goes on; now and then one goes on before that. Threads that no seed drives are not touched.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fastrand::Rng;

/// Attempts at locks in a row, by whatever thread, after which whoever waits for a time goes on; and after which nobody ever will.
const ATTEMPTS: (u32, u32) = (1_000, 100_000);
/// How often time passes in a row without anybody waking another one, before it is said that nobody can go on.
const PASSES_MAX: u32 = 100_000;
/// One choice in so many lets a thread go on whose wait has a bound that is not over.
const EARLY: usize = 32;
/// A seed chooses one of these: one place in so many gives the turn away.
const GIVEN_AWAY: [usize; 5] = [1, 2, 4, 16, 64];

thread_local! {
    static MINE: RefCell<Option<Turn>> = const { RefCell::new(None) };
}

#[derive(Debug)]
struct Turns {
    seed: u64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    dice: Rng,
    /// As in [`GIVEN_AWAY`].
    one_in: usize,
    running: usize,
    threads: Vec<Stands>,
    handles: Vec<Option<std::thread::Thread>>,
    /// Milliseconds that were waited for.
    now: u64,
    /// How often time has passed since a thread last woke another one.
    passes: u32,
    /// Attempts at locks since a thread last did anything else.
    attempts: u32,
    /// How often the seed was asked.
    choices: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stands {
    Ready,
    Waits {
        on: On,
        until: Option<u64>,
    },
    /// Its wait was too long.
    Late,
    Ended,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum On {
    Place(usize),
    End(usize),
}

/// The place of a thread among those that one seed drives; none: nothing drives it.
#[derive(Clone, Debug)]
pub(super) struct Turn(Option<(Arc<Turns>, usize)>);

/// Does `work`, and all threads that it starts, in the order that a seed decides.
///
/// # Panics
/// When a thread that it has started has not ended.
pub fn play<T>(seed: u64, work: impl FnOnce() -> T) -> T {
    let mut dice = Rng::with_seed(seed);
    let one_in = GIVEN_AWAY[dice.usize(..GIVEN_AWAY.len())];
    let state = State {
        dice,
        one_in,
        running: 0,
        threads: vec![Stands::Ready],
        handles: vec![Some(std::thread::current())],
        now: 0,
        passes: 0,
        attempts: 0,
        choices: 0,
    };
    let turns = Arc::new(Turns { seed, state: Mutex::new(state) });
    let before = MINE.replace(Some(Turn(Some((turns.clone(), 0)))));
    let _back = Back(before);
    let done = work();
    let left = turns.lock().threads.iter().skip(1).filter(|thread| **thread != Stands::Ended).count();
    assert_eq!(left, 0, "threads that have not ended");
    done
}

struct Back(Option<Turn>);

impl Drop for Back {
    fn drop(&mut self) {
        MINE.set(self.0.take());
    }
}

/// How often the seed was asked so far: where two plays of one seed differ in it, something else has decided. None: no seed decides.
pub fn choices() -> Option<u64> {
    mine().map(|(turns, _)| turns.lock().choices)
}

/// A place where another thread may go on.
pub fn may_give_way() {
    let Some((turns, me)) = mine() else { return };
    let mut state = turns.lock();
    state.attempts = 0;
    let one_in = state.one_in;
    state.choices += 1;
    if state.dice.usize(..one_in) == 0 {
        turns.go_on(state, me, true);
    }
}

fn mine() -> Option<(Arc<Turns>, usize)> {
    // A thread that ends has none any more.
    MINE.try_with(|mine| mine.borrow().as_ref().and_then(|turn| turn.0.clone())).ok().flatten()
}

pub(super) fn decided() -> bool {
    mine().is_some()
}

pub(super) fn locked<G>(mut attempt: impl FnMut() -> Option<G>) -> Option<G> {
    mine()?;
    may_give_way();
    loop {
        if let Some(guard) = attempt() {
            return Some(guard);
        }
        gives_way();
    }
}

/// Lets another thread go on, which holds what this one needs; false where nothing drives this one.
pub(crate) fn gives_way() -> bool {
    let Some((turns, me)) = mine() else { return false };
    let mut state = turns.lock();
    state.attempts += 1;
    if state.attempts > ATTEMPTS.1 {
        turns.stuck(&state);
    }
    if state.attempts % ATTEMPTS.0 == 0 {
        state.let_time_pass();
    }
    turns.go_on(state, me, false);
    true
}

pub(super) fn fill(bytes: &mut [u8]) -> bool {
    mine().is_some_and(|(turns, _)| {
        turns.lock().dice.fill(bytes);
        true
    })
}

pub(super) fn notify(place: usize) {
    if let Some((turns, _)) = mine() {
        turns.lock().wake(On::Place(place));
    }
}

pub(super) fn wait<G>(place: usize, longest: Option<Duration>, guard: G) -> Result<bool, G> {
    let Some((turns, me)) = mine() else { return Err(guard) };
    drop(guard);
    Ok(turns.wait(me, On::Place(place), longest))
}

impl Turns {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self, me: usize, on: On, longest: Option<Duration>) -> bool {
        let mut state = self.lock();
        state.attempts = 0;
        let until = longest.map(|longest| state.now.saturating_add(longest.as_millis() as u64));
        state.threads[me] = Stands::Waits { on, until };
        self.go_on(state, me, false);
        let mut state = self.lock();
        let is_late = state.threads[me] == Stands::Late;
        state.threads[me] = Stands::Ready;
        is_late
    }

    /// Chooses who goes on, and returns when it is `me` again. `may_stay`: it may be the same one at once.
    fn go_on<'t>(&'t self, mut state: MutexGuard<'t, State>, me: usize, may_stay: bool) {
        let next = loop {
            match state.choose((!may_stay).then_some(me)) {
                Some(next) => break next,
                None if state.passes < PASSES_MAX && state.let_time_pass() => {}
                None if state.can_go_on(me) => break me,
                None => self.stuck(&state),
            }
        };
        state.running = next;
        if next == me {
            return;
        }
        if let Some(thread) = &state.handles[next] {
            thread.unpark();
        }
        while state.running != me && state.threads[me] != Stands::Ended {
            drop(state);
            std::thread::park();
            state = self.lock();
        }
    }

    fn stuck(&self, state: &State) -> ! {
        eprintln!("turns of seed {}: nobody can go on: {:?}", self.seed, state.threads);
        // A panic would wait for the others.
        std::process::abort();
    }
}

impl State {
    fn can_go_on(&self, thread: usize) -> bool {
        matches!(self.threads[thread], Stands::Ready | Stands::Late)
    }

    fn choose(&mut self, but: Option<usize>) -> Option<usize> {
        self.choices += 1;
        if self.dice.usize(..EARLY) == 0 {
            let waits = |stands: &Stands| matches!(stands, Stands::Waits { until: Some(_), .. });
            let early: Vec<usize> = (0..self.threads.len()).filter(|n| waits(&self.threads[*n])).collect();
            if let Some(thread) = self.dice.choice(&early).copied() {
                self.threads[thread] = Stands::Late;
            }
        }
        let ready: Vec<usize> =
            (0..self.threads.len()).filter(|n| self.can_go_on(*n) && Some(*n) != but).collect();
        self.dice.choice(&ready).copied()
    }

    /// Lets the thread go on that waits for the shortest time; false when none does.
    fn let_time_pass(&mut self) -> bool {
        let until = |stands: &Stands| match stands {
            Stands::Waits { until, .. } => *until,
            _ => None,
        };
        let first = (0..self.threads.len()).filter_map(|n| Some((until(&self.threads[n])?, n))).min();
        let Some((until, thread)) = first else { return false };
        self.now = self.now.max(until);
        self.passes += 1;
        self.threads[thread] = Stands::Late;
        true
    }

    fn wake(&mut self, from: On) {
        for stands in &mut self.threads {
            if matches!(stands, Stands::Waits { on, .. } if *on == from) {
                *stands = Stands::Ready;
                self.passes = 0;
            }
        }
    }
}

impl Turn {
    /// The turn of a thread that is about to start.
    pub(super) fn next() -> Turn {
        Turn(mine().map(|(turns, _)| {
            let mut state = turns.lock();
            state.threads.push(Stands::Ready);
            state.handles.push(None);
            let number = state.threads.len() - 1;
            drop(state);
            (turns, number)
        }))
    }

    /// The thread was not started.
    pub(super) fn never(&self) {
        if let Some((turns, number)) = &self.0 {
            turns.lock().threads[*number] = Stands::Ended;
        }
    }

    /// Does the work of the thread when it is its turn.
    pub(super) fn take(&self, work: impl FnOnce()) {
        let Some((turns, me)) = &self.0 else { return work() };
        MINE.set(Some(self.clone()));
        let mut state = turns.lock();
        state.handles[*me] = Some(std::thread::current());
        while state.running != *me {
            drop(state);
            std::thread::park();
            state = turns.lock();
        }
        drop(state);
        let _ends = Ends(turns, *me);
        work();
    }

    /// Waits for its end, so that the thread can be joined at once.
    pub(super) fn wait_for_its_end(&self) {
        let (Some((turns, it)), Some((_, me))) = (&self.0, mine()) else { return };
        while turns.lock().threads[*it] != Stands::Ended {
            turns.wait(me, On::End(*it), None);
        }
    }
}

/// Ends the turn of a thread, also where it panics.
struct Ends<'t>(&'t Arc<Turns>, usize);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        MINE.set(None);
        let mut state = self.0.lock();
        state.threads[self.1] = Stands::Ended;
        state.wake(On::End(self.1));
        self.0.go_on(state, self.1, false);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Monitor, lock, spawn_scoped};
    use super::*;

    /// Three threads that hand a number round, each when it is theirs, and what they did in between.
    fn played(seed: u64) -> Vec<(usize, u32)> {
        play(seed, || {
            let (number, told) = (Monitor::new(0u32), Mutex::new(Vec::new()));
            std::thread::scope(|scope| {
                let work = |me: usize| {
                    for round in 0..5 {
                        lock(&told).push((me, round));
                        let mut now = number.lock();
                        if me == 0 {
                            now = number.wait_at_most(now, Duration::from_secs(3_600), |now| *now > 1_000).0;
                        }
                        *now += 1;
                        drop(number.wait_while(now, |now| *now < round));
                        number.notify();
                    }
                };
                let start = |me| spawn_scoped(scope, move || work(me)).expect("a thread starts");
                let threads: Vec<_> = [0, 1, 2].map(start).into_iter().collect();
                threads.into_iter().for_each(|thread| thread.join().expect("no thread panics"));
            });
            assert_eq!(*number.lock(), 15, "whoever waits lets others change it");
            told.into_inner().expect("no thread panics")
        })
    }

    #[test]
    fn a_seed_is_one_order_and_other_seeds_are_others() {
        let orders: Vec<Vec<(usize, u32)>> = (0..40).map(played).collect();
        for (seed, order) in orders.iter().enumerate() {
            assert_eq!(&played(seed as u64), order, "seed {seed}");
        }
        let different: std::collections::BTreeSet<_> = orders.into_iter().collect();
        assert!(different.len() > 20, "{} orders", different.len());
    }

    /// Threads that wait for so many hours, in the order in which they went on.
    fn waited(seed: u64) -> Vec<u64> {
        play(seed, || {
            let (never, ended) = (Monitor::new(false), Mutex::new(Vec::new()));
            std::thread::scope(|scope| {
                let (never, ended) = (&never, &ended);
                let wait = |hours: u64| {
                    let longest = Duration::from_secs(3_600 * hours);
                    let (value, too_long) = never.wait_at_most(never.lock(), longest, |changed| !*changed);
                    drop(value);
                    assert!(too_long, "nobody changes it");
                    lock(ended).push(hours);
                };
                let start = |hours| spawn_scoped(scope, move || wait(hours)).expect("a thread starts");
                drop([9, 1, 5].map(start));
            });
            ended.into_inner().expect("no thread panics")
        })
    }

    #[test]
    fn time_passes_when_all_wait_and_few_go_on_before_it() {
        let in_order = (0..100).filter(|seed| waited(*seed) == [1, 5, 9]).count();
        assert!((60..100).contains(&in_order), "{in_order} of 100");
    }

    #[test]
    fn a_thread_that_panics_gives_its_turn_away() {
        let joined = play(3, || {
            std::thread::scope(|scope| {
                let thread = spawn_scoped(scope, || panic!("on purpose")).expect("a thread starts");
                thread.join().is_err()
            })
        });
        assert!(joined);
    }
}
