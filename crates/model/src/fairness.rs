//! Which document is next: strict job priority, then even turns of the bins (design 4.6, coverage S3.113–S3.134).
//!
//! Each bin of a priority has a *turn*, a whole number; the lowest is served first and then moves one behind the turn that
//! is being served. A bin that comes back or is met late starts one behind as well, so neither absence nor lateness gains
//! anything, and a bin without documents needs no memory. A bin over its rate is parked until its time and stands in
//! nobody's way. Time is passed in: milliseconds, from any fixed point.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::hash::Hash;

/// A job's priority; lower numbers are served first.
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
    /// Its job's priority.
    pub priority: Priority,
    /// Its bin; park it when its rate asks for a pause.
    pub bin: B,
    /// The document.
    pub item: T,
}

/// Documents in memory that wait for a worker.
#[derive(Debug)]
pub struct Queue<B, T> {
    limits: Limits,
    bins: HashMap<B, Bin<T>>,
    levels: BTreeMap<Priority, Level<B>>,
    /// Parked bins that have documents, by the time they wake.
    parked: BTreeSet<(i64, B)>,
    /// Parked bins that have none: remembered so that a document that comes before its time waits.
    parked_empty: BTreeSet<(i64, B)>,
    items: usize,
    arrivals: u64,
    /// The bin that was served last keeps its place until the next call, so that it can always be parked.
    served: Option<B>,
}

/// What is known of one bin.
#[derive(Debug)]
struct Bin<T> {
    lines: BTreeMap<Priority, Line<T>>,
    parked_until: Option<i64>,
}

/// The documents of one bin in one priority, first in, first out.
#[derive(Debug)]
struct Line<T> {
    items: VecDeque<T>,
    turn: u64,
    arrival: u64,
}

/// The bins of one priority.
#[derive(Debug)]
struct Level<B> {
    /// Turn that is being served.
    turn: u64,
    /// Bins that may be served: turn, order of arrival among equals, name.
    ready: BTreeSet<(u64, u64, B)>,
    /// Lines of this priority, parked ones included.
    lines: usize,
}

impl<B: Clone + Ord + Hash, T> Queue<B, T> {
    /// An empty queue.
    pub fn new(limits: Limits) -> Queue<B, T> {
        Queue {
            limits,
            bins: HashMap::new(),
            levels: BTreeMap::new(),
            parked: BTreeSet::new(),
            parked_empty: BTreeSet::new(),
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

    /// Documents of one bin, over all priorities.
    pub fn len_of(&self, bin: &B) -> usize {
        self.bins.get(bin).map_or(0, |bin| bin.lines.values().map(|line| line.items.len()).sum())
    }

    /// Bins that are remembered: they have documents, are parked, or were served last.
    pub fn bins(&self) -> usize {
        self.bins.len()
    }

    /// Puts a document at the end of the line of its bin.
    ///
    /// # Errors
    /// [`Full`] with the document, when there is no room for it or for its bin.
    pub fn push(&mut self, priority: Priority, bin: B, item: T) -> Result<(), Full<T>> {
        if self.items >= self.limits.items {
            return Err(Full(item));
        }
        self.let_go_of_served(Some(&bin));
        if !self.bins.contains_key(&bin) && self.bins.len() >= self.limits.bins {
            return Err(Full(item));
        }
        self.items += 1;
        let level = self.levels.entry(priority).or_insert_with(Level::new);
        let entry = self.bins.entry(bin.clone()).or_insert_with(Bin::new);
        if let Some(until) = entry.parked_until
            && entry.lines.is_empty()
        {
            self.parked_empty.remove(&(until, bin.clone()));
            self.parked.insert((until, bin.clone()));
        }
        if let Some(line) = entry.lines.get_mut(&priority) {
            line.items.push_back(item);
            return Ok(());
        }
        let line = Line { items: VecDeque::from([item]), turn: level.turn + 1, arrival: self.arrivals };
        self.arrivals += 1;
        level.lines += 1;
        if entry.parked_until.is_none() {
            level.ready.insert((line.turn, line.arrival, bin));
        }
        entry.lines.insert(priority, line);
        Ok(())
    }

    /// Takes the document that is next; none when none waits or all their bins are parked.
    ///
    /// Costs the logarithm of the number of bins, and as much for each bin whose time has come.
    pub fn pop(&mut self, now: i64) -> Option<Taken<B, T>> {
        self.let_go_of_served(None);
        self.wake(now);
        let (&priority, level) = self.levels.iter_mut().find(|(_, level)| !level.ready.is_empty())?;
        let (turn, _, name) = level.ready.pop_first()?;
        level.turn = turn;
        let bin = self.bins.get_mut(&name)?;
        let line = bin.lines.get_mut(&priority)?;
        let item = line.items.pop_front()?;
        self.items -= 1;
        if line.items.is_empty() {
            bin.lines.remove(&priority);
            level.lines -= 1;
            if level.lines == 0 {
                self.levels.remove(&priority);
            }
        } else {
            (line.turn, line.arrival) = (turn + 1, self.arrivals);
            self.arrivals += 1;
            level.ready.insert((line.turn, line.arrival, name.clone()));
        }
        if bin.lines.is_empty() {
            self.served = Some(name.clone());
        }
        Some(Taken { priority, bin: name, item })
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
            self.bins.insert(bin.clone(), Bin::new());
        }
        let Some(entry) = self.bins.get_mut(bin) else { return false };
        if let Some(before) = entry.parked_until.replace(until) {
            self.parked.remove(&(before, bin.clone()));
            self.parked_empty.remove(&(before, bin.clone()));
        }
        for (priority, line) in &entry.lines {
            if let Some(level) = self.levels.get_mut(priority) {
                level.ready.remove(&(line.turn, line.arrival, bin.clone()));
            }
        }
        let parked = if entry.lines.is_empty() { &mut self.parked_empty } else { &mut self.parked };
        parked.insert((until, bin.clone()));
        true
    }

    /// When a bin with documents wakes next; none: none is parked, or only without an end.
    pub fn next_wake(&self) -> Option<i64> {
        self.parked.first().map(|(until, _)| *until).filter(|until| *until != NEVER)
    }

    /// Takes out every document that `leaves` says yes to, in the order of their lines: a job was paused or stopped.
    ///
    /// Looks at every document.
    pub fn take_out(&mut self, mut leaves: impl FnMut(&T) -> bool) -> Vec<T> {
        let mut taken = Vec::new();
        let mut emptied = Vec::new();
        for (name, bin) in &mut self.bins {
            let had = !bin.lines.is_empty();
            bin.lines.retain(|priority, line| {
                let before = std::mem::take(&mut line.items);
                for item in before {
                    if leaves(&item) { taken.push(item) } else { line.items.push_back(item) }
                }
                if line.items.is_empty()
                    && let Some(level) = self.levels.get_mut(priority)
                {
                    level.lines -= 1;
                    level.ready.remove(&(line.turn, line.arrival, name.clone()));
                }
                !line.items.is_empty()
            });
            if had && bin.lines.is_empty() {
                emptied.push(name.clone());
            }
        }
        self.levels.retain(|_, level| level.lines > 0);
        self.items -= taken.len();
        for name in emptied {
            match self.bins.get(&name).and_then(|bin| bin.parked_until) {
                Some(until) => {
                    self.parked.remove(&(until, name.clone()));
                    self.parked_empty.insert((until, name));
                }
                None => {
                    self.bins.remove(&name);
                }
            }
        }
        taken
    }

    /// Ends the parks whose time has come.
    fn wake(&mut self, now: i64) {
        let due = |first: Option<&(i64, B)>| first.is_some_and(|(until, _)| *until <= now && *until != NEVER);
        while due(self.parked_empty.first()) {
            if let Some((_, name)) = self.parked_empty.pop_first() {
                self.bins.remove(&name);
            }
        }
        while due(self.parked.first()) {
            let Some((_, name)) = self.parked.pop_first() else { return };
            let Some(bin) = self.bins.get_mut(&name) else { continue };
            bin.parked_until = None;
            for (priority, line) in &mut bin.lines {
                let Some(level) = self.levels.get_mut(priority) else { continue };
                // What it missed while it was parked is not made up for.
                line.turn = line.turn.max(level.turn + 1);
                line.arrival = self.arrivals;
                self.arrivals += 1;
                level.ready.insert((line.turn, line.arrival, name.clone()));
            }
        }
    }

    /// Forgets the bin that was served last, if nothing keeps it and it is not `but`.
    fn let_go_of_served(&mut self, but: Option<&B>) {
        let Some(name) = self.served.take() else { return };
        let idle = self.bins.get(&name).is_some_and(|bin| bin.lines.is_empty() && bin.parked_until.is_none());
        if idle && but != Some(&name) {
            self.bins.remove(&name);
        }
    }
}

impl<B: Ord> Level<B> {
    fn new() -> Level<B> {
        Level { turn: 0, ready: BTreeSet::new(), lines: 0 }
    }
}

impl<T> Bin<T> {
    fn new() -> Bin<T> {
        Bin { lines: BTreeMap::new(), parked_until: None }
    }
}
