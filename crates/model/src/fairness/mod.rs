//! Which document is next: strict priority, then even turns of the bins (design 4.6, coverage S3.113–S3.134).
//!
//! Each bin of a priority has a *turn*, a whole number; the lowest is served first and then moves one behind the turn that
//! is being served. A document of several bins has the largest of their turns, and moves all of them. A bin that comes back or
//! is met late starts one behind as well, so neither absence nor lateness gains anything, and a bin without documents needs no
//! memory. A bin over its rate is parked until its time and stands in nobody's way; a document waits while one of its bins is
//! parked. Time is passed in: milliseconds, from any fixed point.

pub mod pace;
pub mod throttle;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::hash::Hash;
use std::sync::Arc;

/// A priority; lower numbers are served first.
pub type Priority = u8;

/// A park without an end: a bin whose rate is zero. It is lifted by parking the bin again.
pub const NEVER: i64 = i64::MAX;

/// How much a queue may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Documents, over all bins.
    pub items: usize,
    /// Bins that have documents or are parked.
    pub bins: usize,
}

/// Refused because a limit is reached; what was offered comes back and stays eligible in the store (S3.130).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full<T>(pub T);

/// A document that was taken, with what it was waiting under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken<B, T> {
    /// Its priority.
    pub priority: Priority,
    /// Its bins, sorted; park one when its rate asks for a pause.
    pub bins: Arc<[B]>,
    /// The document.
    pub item: T,
}

/// What is said of the document that is next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer<B> {
    /// It is taken.
    Takes,
    /// This bin of it is parked until this time: it stays where it is, and takes no turn.
    Parks(B, i64),
    /// Nothing is taken now.
    Stops,
}

/// Documents in memory that wait for a worker.
#[derive(Debug)]
pub struct Queue<B, T> {
    limits: Limits,
    bins: HashMap<B, Bin>,
    lines: BTreeMap<LineId, Line<B, T>>,
    by_bins: HashMap<(Priority, Arc<[B]>), LineId>,
    levels: BTreeMap<Priority, Level>,
    /// Parked bins that lines were found to wait for, by the time they wake.
    awaited: BTreeSet<(i64, B)>,
    /// Parked bins that no line was found to wait for yet.
    parked: BTreeSet<(i64, B)>,
    items: usize,
    arrivals: u64,
    /// The bins that were served last keep their place until the next call, so that they can always be parked.
    served: Option<Arc<[B]>>,
}

type LineId = u64;

/// What is known of one bin.
#[derive(Debug, Default)]
struct Bin {
    /// Its turn in each priority in which it has documents, and how many lines these are.
    turns: BTreeMap<Priority, (u64, usize)>,
    parked_until: Option<i64>,
    /// Lines that were found to wait for it while it is parked.
    waiting: BTreeSet<LineId>,
}

/// The documents of one priority that have the same bins, first in, first out.
#[derive(Debug)]
struct Line<B, T> {
    priority: Priority,
    bins: Arc<[B]>,
    items: VecDeque<T>,
    /// Its place among those that may be served; the turns of its bins may have moved on since.
    place: (u64, u64),
    /// The parked bin that it waits for.
    waits_for: Option<B>,
}

/// The lines of one priority.
#[derive(Debug, Default)]
struct Level {
    /// Turn that is being served.
    turn: u64,
    /// Lines that may be served: turn, order of arrival among equals. A line whose bins have moved on or were parked is put right when
    /// it is met.
    ready: BTreeSet<(u64, u64, LineId)>,
    /// All lines of this priority.
    lines: usize,
}

impl<B: Clone + Ord + Hash, T> Queue<B, T> {
    /// An empty queue.
    pub fn new(limits: Limits) -> Queue<B, T> {
        Queue {
            limits,
            bins: HashMap::new(),
            lines: BTreeMap::new(),
            by_bins: HashMap::new(),
            levels: BTreeMap::new(),
            awaited: BTreeSet::new(),
            parked: BTreeSet::new(),
            items: 0,
            arrivals: 0,
            served: None,
        }
    }

    /// Documents that wait.
    pub fn len(&self) -> usize {
        self.items
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.items == 0
    }

    /// Documents that are in just these bins, over all priorities.
    pub fn len_of(&self, bins: &[B]) -> usize {
        let bins = sorted(bins);
        self.lines.values().filter(|line| line.bins == bins).map(|line| line.items.len()).sum()
    }

    /// Bins that are remembered: they have documents, are parked, or were served last.
    pub fn bins(&self) -> usize {
        self.bins.len()
    }

    /// Whether a bin has documents of this priority.
    pub fn has(&self, priority: Priority, bin: &B) -> bool {
        self.bins.get(bin).is_some_and(|bin| bin.turns.contains_key(&priority))
    }

    /// Puts a document at the end of the line of its bins.
    ///
    /// # Errors
    /// [`Full`] with the document, when there is no room for it or for its bins.
    pub fn push(&mut self, priority: Priority, bins: &[B], item: T) -> Result<(), Full<T>> {
        if self.items >= self.limits.items {
            return Err(Full(item));
        }
        let bins = sorted(bins);
        self.let_go_of_served(&bins);
        let new = bins.iter().filter(|bin| !self.bins.contains_key(*bin)).count();
        if self.bins.len() + new > self.limits.bins && new > 0 {
            return Err(Full(item));
        }
        self.items += 1;
        let found = self.by_bins.get(&(priority, bins.clone()));
        if let Some(line) = found.and_then(|id| self.lines.get_mut(id)) {
            line.items.push_back(item);
            return Ok(());
        }
        let (level, id) = (self.levels.entry(priority).or_default(), self.arrivals);
        self.arrivals += 1;
        level.lines += 1;
        for bin in bins.iter() {
            let turn = self.bins.entry(bin.clone()).or_default().turns.entry(priority);
            turn.or_insert((level.turn + 1, 0)).1 += 1;
        }
        let place = (level.turn + 1, id);
        level.ready.insert((place.0, place.1, id));
        self.by_bins.insert((priority, bins.clone()), id);
        let items = VecDeque::from([item]);
        self.lines.insert(id, Line { priority, bins, items, place, waits_for: None });
        Ok(())
    }

    /// Takes the document that is next; none when none waits or each has a bin that is parked.
    ///
    /// Costs the logarithm of the number of lines, and as much for each line whose bins have moved on or are parked.
    pub fn pop(&mut self, now: i64) -> Option<Taken<B, T>> {
        self.pop_when(now, |_, _| Answer::Takes)
    }

    /// The same; `answer` is asked whether the document that is next is taken.
    pub fn pop_when(
        &mut self,
        now: i64,
        mut answer: impl FnMut(&[B], &mut T) -> Answer<B>,
    ) -> Option<Taken<B, T>> {
        self.let_go_of_served(&[]);
        self.wake(now);
        loop {
            let id = self.next_line()?;
            let line = self.lines.get_mut(&id)?;
            match answer(&line.bins, line.items.front_mut()?) {
                Answer::Takes => return self.take(id),
                // A park that is over already would ask for ever.
                Answer::Parks(bin, until) => _ = self.park(&bin, until.max(now.saturating_add(1))),
                Answer::Stops => return None,
            }
        }
    }

    /// Whether a document may be taken at this time; some that look so are found to wait for a parked bin only when they are next.
    pub fn stirs(&self, now: i64) -> bool {
        self.levels.values().any(|level| !level.ready.is_empty())
            || self.next_wake().is_some_and(|wake| wake <= now)
    }

    /// Lets a bin wait until a time; an earlier park is replaced, also by a shorter one.
    ///
    /// Always possible for a bin that has documents or was served last; false: the bin is neither, and no room is left to
    /// remember it.
    pub fn park(&mut self, bin: &B, until: i64) -> bool {
        if !self.bins.contains_key(bin) {
            if self.bins.len() >= self.limits.bins {
                return false;
            }
            self.bins.insert(bin.clone(), Bin::default());
        }
        let Some(entry) = self.bins.get_mut(bin) else { return false };
        if let Some(before) = entry.parked_until.replace(until) {
            self.parked.remove(&(before, bin.clone()));
            self.awaited.remove(&(before, bin.clone()));
        }
        let parked = if entry.waiting.is_empty() { &mut self.parked } else { &mut self.awaited };
        parked.insert((until, bin.clone()));
        true
    }

    /// When a bin wakes next that a line was found to wait for; none: there is none, or only without an end. After [`Queue::pop`] has
    /// answered none, nothing can be taken before.
    pub fn next_wake(&self) -> Option<i64> {
        self.awaited.first().map(|(until, _)| *until).filter(|until| *until != NEVER)
    }

    /// Takes out every document that `leaves` says yes to, in the order of their lines: a job was paused or stopped.
    ///
    /// Looks at every document.
    pub fn take_out(&mut self, mut leaves: impl FnMut(&T) -> bool) -> Vec<T> {
        let mut taken = Vec::new();
        let mut emptied = Vec::new();
        for (id, line) in &mut self.lines {
            for item in std::mem::take(&mut line.items) {
                if leaves(&item) { taken.push(item) } else { line.items.push_back(item) }
            }
            if line.items.is_empty() {
                emptied.push(*id);
            }
        }
        self.items -= taken.len();
        emptied.into_iter().for_each(|id| self.forget_line(id));
        taken
    }

    /// The line that is served next; those before it whose bins have moved on or are parked are put right.
    fn next_line(&mut self) -> Option<LineId> {
        loop {
            let (_, level) = self.levels.iter_mut().find(|(_, level)| !level.ready.is_empty())?;
            let (turn, arrival, id) = level.ready.pop_first()?;
            let line = self.lines.get_mut(&id)?;
            let mut latest: Option<(i64, &B)> = None;
            let mut due = turn;
            for name in line.bins.iter() {
                let Some(bin) = self.bins.get(name) else { continue };
                due = due.max(bin.turns.get(&line.priority).map_or(0, |(turn, _)| *turn));
                latest = latest.max(bin.parked_until.map(|until| (until, name)));
            }
            line.place = (due, arrival);
            if let Some((until, name)) = latest {
                let name = name.clone();
                line.waits_for = Some(name.clone());
                let waiting = &mut self.bins.get_mut(&name)?.waiting;
                if waiting.is_empty() {
                    self.parked.remove(&(until, name.clone()));
                    self.awaited.insert((until, name));
                }
                waiting.insert(id);
            } else {
                level.ready.insert((due, arrival, id));
                if due == turn {
                    return Some(id);
                }
            }
        }
    }

    /// Takes the first document of the line that is next.
    fn take(&mut self, id: LineId) -> Option<Taken<B, T>> {
        let line = self.lines.get_mut(&id)?;
        let item = line.items.pop_front()?;
        self.items -= 1;
        let (priority, bins, turn) = (line.priority, line.bins.clone(), line.place.0);
        let level = self.levels.get_mut(&priority)?;
        level.turn = turn;
        level.ready.remove(&(line.place.0, line.place.1, id));
        line.place = (turn + 1, self.arrivals);
        self.arrivals += 1;
        level.ready.insert((line.place.0, line.place.1, id));
        for name in bins.iter() {
            if let Some((at, _)) = self.bins.get_mut(name).and_then(|bin| bin.turns.get_mut(&priority)) {
                *at = turn + 1;
            }
        }
        self.served = Some(bins.clone());
        if line.items.is_empty() {
            self.forget_line(id);
        }
        Some(Taken { priority, bins, item })
    }

    /// Ends the parks whose time has come.
    fn wake(&mut self, now: i64) {
        let due = |first: Option<&(i64, B)>| first.is_some_and(|(until, _)| *until <= now && *until != NEVER);
        while due(self.parked.first()) {
            let Some((_, name)) = self.parked.pop_first() else { return };
            self.woken(&name);
        }
        while due(self.awaited.first()) {
            let Some((_, name)) = self.awaited.pop_first() else { return };
            self.woken(&name);
        }
    }

    fn woken(&mut self, name: &B) {
        let Some(bin) = self.bins.get_mut(name) else { return };
        bin.parked_until = None;
        for (priority, (turn, _)) in &mut bin.turns {
            // What it missed while it was parked is not made up for.
            *turn = (*turn).max(self.levels.get(priority).map_or(0, |level| level.turn + 1));
        }
        for id in std::mem::take(&mut bin.waiting) {
            let Some(line) = self.lines.get_mut(&id) else { continue };
            let Some(level) = self.levels.get_mut(&line.priority) else { continue };
            line.waits_for = None;
            line.place = (line.place.0.max(level.turn + 1), self.arrivals);
            self.arrivals += 1;
            level.ready.insert((line.place.0, line.place.1, id));
        }
        self.forget_bin(name);
    }

    /// A line has no documents any more.
    fn forget_line(&mut self, id: LineId) {
        let Some(line) = self.lines.remove(&id) else { return };
        self.by_bins.remove(&(line.priority, line.bins.clone()));
        if let Some(level) = self.levels.get_mut(&line.priority) {
            level.ready.remove(&(line.place.0, line.place.1, id));
            level.lines -= 1;
            if level.lines == 0 {
                self.levels.remove(&line.priority);
            }
        }
        if let Some(name) = &line.waits_for
            && let Some(bin) = self.bins.get_mut(name)
        {
            bin.waiting.remove(&id);
            if let Some(until) = bin.parked_until.filter(|_| bin.waiting.is_empty()) {
                self.awaited.remove(&(until, name.clone()));
                self.parked.insert((until, name.clone()));
            }
        }
        for name in line.bins.iter() {
            let Some(bin) = self.bins.get_mut(name) else { continue };
            if let Some((_, lines)) = bin.turns.get_mut(&line.priority) {
                *lines -= 1;
                if *lines == 0 {
                    bin.turns.remove(&line.priority);
                }
            }
            self.forget_bin(name);
        }
    }

    /// Forgets a bin that nothing keeps.
    fn forget_bin(&mut self, name: &B) {
        let idle = self.bins.get(name).is_some_and(|bin| bin.turns.is_empty() && bin.parked_until.is_none());
        if idle && !self.served.as_ref().is_some_and(|served| served.contains(name)) {
            self.bins.remove(name);
        }
    }

    /// Forgets the bins that were served last, if nothing keeps them and they are not among `but`.
    fn let_go_of_served(&mut self, but: &[B]) {
        let Some(names) = self.served.take() else { return };
        names.iter().filter(|name| !but.contains(name)).for_each(|name| self.forget_bin(name));
    }
}

/// Bins in one order, each once.
fn sorted<B: Clone + Ord>(bins: &[B]) -> Arc<[B]> {
    let mut bins = bins.to_vec();
    bins.sort_unstable();
    bins.dedup();
    bins.into()
}
