//! Where the threads of a process meet: locks, waits, and threads themselves. In a program these are the standard library's. In a test
//! a seed may decide which thread goes on at each of these places ([`seeded`]), so that one seed is one order of turns, on any machine and
//! under any load.
//!
//! Locks go on after a panic: what they guard is only ever replaced as a whole.

#[cfg(feature = "crash-points")]
pub mod seeded;
#[cfg(not(feature = "crash-points"))]
mod unseeded;

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering, fence};
use std::sync::{
    Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError,
};
use std::thread::{Builder, JoinHandle, Scope, ScopedJoinHandle};
use std::time::Duration;

use parking_lot::{FairMutex, FairMutexGuard};
#[cfg(feature = "crash-points")]
use seeded as turns;
#[cfg(not(feature = "crash-points"))]
use unseeded as turns;

pub(crate) use turns::gives_way;

/// Locks.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    turns::locked(|| tried(mutex.try_lock()))
        .unwrap_or_else(|| mutex.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Locks, after all who have waited for it.
pub(crate) fn lock_in_turn<T: ?Sized>(mutex: &FairMutex<T>) -> FairMutexGuard<'_, T> {
    turns::locked(|| mutex.try_lock()).unwrap_or_else(|| mutex.lock())
}

/// Locks for reading.
pub fn read<T: ?Sized>(guarded: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    turns::locked(|| tried(guarded.try_read()))
        .unwrap_or_else(|| guarded.read().unwrap_or_else(PoisonError::into_inner))
}

/// Locks for writing.
pub fn write<T: ?Sized>(guarded: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    turns::locked(|| tried(guarded.try_write()))
        .unwrap_or_else(|| guarded.write().unwrap_or_else(PoisonError::into_inner))
}

/// Random bytes of the system; those of the seed where one decides, since documents are visited in the order of their keyed names.
pub fn random() -> io::Result<[u8; 32]> {
    let mut random = [0u8; 32];
    if !turns::fill(&mut random) {
        io::Read::read_exact(&mut std::fs::File::open("/dev/urandom")?, &mut random)?;
    }
    Ok(random)
}

fn tried<G>(guard: std::result::Result<G, TryLockError<G>>) -> Option<G> {
    match guard {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// A value, and the word that it has changed.
#[derive(Debug, Default)]
pub struct Monitor<T> {
    value: Mutex<T>,
    changed: Condvar,
    /// Threads that wait, or look whether they have to: to say something to nobody is a call of the kernel as well.
    waiting: AtomicUsize,
}

/// Counts a thread among those that wait, from before it looks whether it has to.
struct Counted<'m>(&'m AtomicUsize);

impl<'m> Counted<'m> {
    fn new(waiting: &'m AtomicUsize) -> Counted<'m> {
        waiting.fetch_add(1, Ordering::Relaxed);
        // Either it sees what has changed, or whoever changed it sees that it waits: also where that is a word beside the lock.
        fence(Ordering::SeqCst);
        Counted(waiting)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl<T> Monitor<T> {
    /// One that holds `value`.
    pub fn new(value: T) -> Monitor<T> {
        Monitor { value: Mutex::new(value), changed: Condvar::new(), waiting: AtomicUsize::new(0) }
    }

    /// Locks the value.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        lock(&self.value)
    }

    /// Says that the value, or what is waited for beside it, has changed. Whoever waits looks again; whoever is about to wait has looked
    /// before, where this is called without its lock.
    pub fn notify(&self) {
        turns::notify(self.place());
        if self.is_awaited() {
            self.changed.notify_all();
        }
    }

    /// Says it to one of those who wait, where it does not matter to whom.
    pub fn notify_one(&self) {
        turns::notify(self.place());
        if self.is_awaited() {
            self.changed.notify_one();
        }
    }

    fn is_awaited(&self) -> bool {
        fence(Ordering::SeqCst);
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// Waits while `holds` says so of the value.
    pub fn wait_while<'m>(
        &'m self,
        mut value: MutexGuard<'m, T>,
        mut holds: impl FnMut(&mut T) -> bool,
    ) -> MutexGuard<'m, T> {
        let _counted = Counted::new(&self.waiting);
        while holds(&mut value) {
            value = self.wait(value, None).0;
        }
        value
    }

    /// The same, at most `longest`; whether it was too long.
    pub fn wait_at_most<'m>(
        &'m self,
        value: MutexGuard<'m, T>,
        longest: Duration,
        mut holds: impl FnMut(&mut T) -> bool,
    ) -> (MutexGuard<'m, T>, bool) {
        let _counted = Counted::new(&self.waiting);
        if !turns::decided() {
            let waited = self.changed.wait_timeout_while(value, longest, holds);
            let (value, over) = waited.unwrap_or_else(PoisonError::into_inner);
            return (value, over.timed_out());
        }
        let mut value = value;
        while holds(&mut value) {
            let over;
            (value, over) = self.wait(value, Some(longest));
            if over {
                let holds = holds(&mut value);
                return (value, holds);
            }
        }
        (value, false)
    }

    fn wait<'m>(&'m self, value: MutexGuard<'m, T>, longest: Option<Duration>) -> (MutexGuard<'m, T>, bool) {
        match turns::wait(self.place(), longest, value) {
            Ok(over) => (self.lock(), over),
            Err(value) => (self.changed.wait(value).unwrap_or_else(PoisonError::into_inner), false),
        }
    }

    fn place(&self) -> usize {
        std::ptr::from_ref(&self.changed).addr()
    }
}

/// A thread that was started by [`spawn`].
#[derive(Debug)]
pub struct Thread {
    handle: Option<JoinHandle<()>>,
    turn: turns::Turn,
}

/// Starts a thread.
///
/// # Errors
/// When the system has none to give.
pub fn spawn(name: String, work: impl FnOnce() + Send + 'static) -> io::Result<Thread> {
    let turn = turns::Turn::next();
    let mine = turn.clone();
    let handle = Builder::new().name(name).spawn(move || mine.take(work));
    Ok(Thread { handle: Some(handle.inspect_err(|_| turn.never())?), turn })
}

impl Thread {
    /// Waits until it has ended; an error if it panicked.
    ///
    /// # Errors
    /// What it panicked with.
    pub fn join(mut self) -> std::thread::Result<()> {
        self.turn.wait_for_its_end();
        self.handle.take().map_or(Ok(()), JoinHandle::join)
    }
}

/// A thread that was started by [`spawn_scoped`]; its end is waited for, at the latest, when this is dropped.
#[derive(Debug)]
pub struct ScopedThread<'scope> {
    handle: Option<ScopedJoinHandle<'scope, ()>>,
    turn: turns::Turn,
}

/// Starts a thread of a scope.
///
/// # Errors
/// When the system has none to give.
pub fn spawn_scoped<'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() + Send + 'scope,
) -> io::Result<ScopedThread<'scope>> {
    let turn = turns::Turn::next();
    let mine = turn.clone();
    let handle = Builder::new().spawn_scoped(scope, move || mine.take(work));
    Ok(ScopedThread { handle: Some(handle.inspect_err(|_| turn.never())?), turn })
}

impl ScopedThread<'_> {
    /// Waits until it has ended; an error if it panicked.
    ///
    /// # Errors
    /// What it panicked with.
    pub fn join(mut self) -> std::thread::Result<()> {
        self.turn.wait_for_its_end();
        self.handle.take().map_or(Ok(()), ScopedJoinHandle::join)
    }
}

impl Drop for ScopedThread<'_> {
    fn drop(&mut self) {
        // The scope waits for it without a turn to give.
        self.turn.wait_for_its_end();
    }
}
