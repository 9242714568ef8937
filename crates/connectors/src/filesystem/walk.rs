//! The parallel walk over a source: threads share folders, and send pages in which containers come before what names them.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender};
use ingather_contract::call::CallContext;
use ingather_contract::repository::{Listing, Page};
use ingather_model::fault::Fault;
use ingather_model::limits;

use super::Source;
use super::folder::{Lister, Node};

/// A folder that waits to be listed.
pub(super) struct Waiting {
    /// The folder above; none for the root.
    pub(super) parent: Option<Arc<Node>>,
    pub(super) name: Box<[u8]>,
}

/// What the threads of one walk share.
pub(super) struct Shared {
    pub(super) source: Arc<Source>,
    pub(super) call: CallContext,
    /// The root folder, open as a path.
    pub(super) root: OwnedFd,
    pub(super) root_dev: u64,
    /// Whether the root is `/`, which has no folder above.
    pub(super) root_container: String,
    /// Place above the root; none for `/`.
    pub(super) above: Option<String>,
    /// Folders that are kept open.
    pub(super) open: Arc<AtomicUsize>,
    /// Folders that wait, in all threads.
    pub(super) waiting: AtomicUsize,
    queue: Mutex<Queue>,
    wake: Condvar,
    /// Threads that look for work.
    hungry: AtomicUsize,
    stop: AtomicBool,
}

struct Queue {
    stack: Vec<Waiting>,
    /// Threads that are not waiting.
    working: usize,
}

impl Shared {
    pub(super) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.call.cancel.cancelled()
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        // A thread that panicked ends the walk; the stack itself is never half changed.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next folder for a thread that has none; none when the walk is over.
    fn take(&self) -> Option<Waiting> {
        let mut queue = self.lock();
        queue.working -= 1;
        self.hungry.fetch_add(1, Ordering::Relaxed);
        let taken = loop {
            if self.stopped() {
                break None;
            }
            if let Some(waiting) = queue.stack.pop() {
                break Some(waiting);
            }
            if queue.working == 0 {
                break None;
            }
            queue = self.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
        };
        self.hungry.fetch_sub(1, Ordering::Relaxed);
        match taken {
            Some(_) => queue.working += 1,
            None => self.wake.notify_all(),
        }
        taken
    }
}

/// Ends the walk for all when its thread panics or is stopped.
struct Leaving<'a>(&'a Shared);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() || self.0.stopped() {
            self.0.stop.store(true, Ordering::Relaxed);
            drop(self.0.lock());
            self.0.wake.notify_all();
        }
    }
}

/// The walk is to end now.
pub(super) struct Stopped;

/// Collects a page and sends it when it is full.
pub(super) struct Pages {
    pub(super) page: Page,
    /// Entries of the page that count for its size.
    pub(super) weight: usize,
    out: Sender<Page>,
}

impl Pages {
    /// Sends what there is.
    pub(super) fn send(&mut self) -> Result<(), Stopped> {
        if self.weight == 0 && self.page.proven.is_empty() {
            return Ok(());
        }
        self.weight = 0;
        self.out.send(std::mem::take(&mut self.page)).map_err(|_| Stopped)
    }

    /// Makes room for `more` entries, which must not be more than a page holds.
    pub(super) fn room_for(&mut self, more: usize) -> Result<(), Stopped> {
        if self.weight > 0 && self.weight + more > limits::PAGE_ITEMS_MAX { self.send() } else { Ok(()) }
    }
}

/// Starts a walk; `first` is the page with the containers above the root.
///
/// # Errors
/// `Passing` when the system gives no thread.
pub(super) fn start(
    source: Arc<Source>,
    call: &CallContext,
    root: super::root::Root,
    first: Page,
) -> Result<Box<dyn Listing>, Fault> {
    let threads = source.threads.max(1);
    let (out, pages) = crossbeam_channel::bounded(limits::PAGES_WAITING_MAX);
    let shared = Arc::new(Shared {
        call: call.clone(),
        root: root.folder,
        root_dev: root.facts.dev,
        root_container: source.root.text(),
        above: first.containers.last().map(|container| container.name.clone()),
        open: Arc::default(),
        waiting: AtomicUsize::new(1),
        queue: Mutex::new(Queue {
            stack: vec![Waiting { parent: None, name: Box::from(b".".as_slice()) }],
            working: threads,
        }),
        wake: Condvar::new(),
        hungry: AtomicUsize::new(0),
        stop: AtomicBool::new(false),
        source,
    });
    let mut walk = Walk { pages: Some(pages), shared, threads: Vec::new() };
    // Containers above the root go first, whichever thread takes the root.
    if out.send(first).is_err() {
        return Err(Fault::passing("threads", "the walk ended before it began"));
    }
    for _ in 0..threads {
        let (shared, out) = (walk.shared.clone(), out.clone());
        let thread = std::thread::Builder::new().name("walk".to_owned()).spawn(move || work(&shared, out));
        match thread {
            Ok(thread) => walk.threads.push(thread),
            // Those that were started do the work alone.
            Err(_) if !walk.threads.is_empty() => {
                let mut queue = walk.shared.lock();
                queue.working -= 1;
                walk.shared.wake.notify_all();
            }
            Err(error) => return Err(Fault::passing("threads", format!("no thread for the walk: {error}"))),
        }
    }
    Ok(Box::new(walk))
}

fn work(shared: &Shared, out: Sender<Page>) {
    let _leaving = Leaving(shared);
    let pages = Pages { page: Page::default(), weight: 0, out };
    let mut lister = Lister::new(shared, pages);
    // The folders that this thread found; the latest first, so that few wait.
    let mut own: Vec<Waiting> = Vec::new();
    let mut step = || -> Result<bool, Stopped> {
        let next = match own.pop() {
            Some(next) => next,
            None => {
                lister.pages.send()?;
                match shared.take() {
                    Some(next) => next,
                    None => return Ok(false),
                }
            }
        };
        shared.waiting.fetch_sub(1, Ordering::Relaxed);
        lister.list(next, &mut own)?;
        if own.len() > 1 && shared.hungry.load(Ordering::Relaxed) > 0 {
            // Others may list these folders only after the containers above them were sent.
            lister.pages.send()?;
            let half = own.len() / 2;
            shared.lock().stack.extend(own.drain(..half));
            shared.wake.notify_all();
        }
        Ok(!shared.stopped())
    };
    loop {
        match step() {
            Ok(true) => {}
            Ok(false) => return,
            Err(Stopped) => {
                shared.stop.store(true, Ordering::Relaxed);
                return;
            }
        }
    }
}

struct Walk {
    /// None after the end.
    pages: Option<Receiver<Page>>,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

impl Walk {
    /// Waits for the threads; whether all of them ended well.
    fn join(&mut self) -> bool {
        self.pages = None;
        self.threads.drain(..).filter_map(|thread| thread.join().err()).count() == 0
    }
}

impl Listing for Walk {
    fn next(&mut self) -> Option<Result<Page, Fault>> {
        if self.shared.call.cancel.cancelled() && self.pages.is_some() {
            self.shared.stop.store(true, Ordering::Relaxed);
            self.join();
            return Some(Err(Fault::passing("cancelled", "the listing was stopped")));
        }
        match self.pages.as_ref()?.recv() {
            Ok(page) => Some(Ok(page)),
            Err(_) => match self.join() {
                _ if self.shared.call.cancel.cancelled() => {
                    Some(Err(Fault::passing("cancelled", "the listing was stopped")))
                }
                true => None,
                false => Some(Err(Fault::broken(
                    "panic",
                    "a thread of the walk died of a defect; please report it",
                ))),
            },
        }
    }
}

impl Drop for Walk {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.shared.wake.notify_all();
        self.join();
    }
}
