//! Ctrl-C, and what else asks a program to end: the first signal stops at the next batch, the second one at once; both lose
//! nothing. What only looks has nothing to bring to an end, and is over within a second.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use ingather_contract::call::Cancel;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::{exit, show};

/// Ctrl-C; a service manager; a terminal that is closed.
const SIGNALS: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

static CANCEL: OnceLock<Cancel> = OnceLock::new();
/// The signal that came first; 0 before there was one.
static FIRST: AtomicI32 = AtomicI32::new(0);

/// So far this command changes nothing of what there is.
static LOOKS: AtomicBool = AtomicBool::new(false);
/// What such a command makes on its way, and is of no use in part.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
/// Who is to be told of the first signal.
static CALLED: Mutex<Vec<Box<dyn Fn() + Send>>> = Mutex::new(Vec::new());
/// Time for such a command to end by itself: a database server is told that nobody waits any more.
const LOOKING_ENDS: Duration = Duration::from_millis(700);

/// So far this command changes nothing of what there is: the first signal ends it, whatever it is at or waits for.
pub(crate) fn looks() {
    LOOKS.store(true, Ordering::SeqCst);
    cancel();
}

/// From here on it changes something: a signal ends it at the next place where nothing is left half done.
pub(crate) fn changes() -> Cancel {
    LOOKS.store(false, Ordering::SeqCst);
    cancel()
}

/// A file or folder that is to go when the command is ended before it is whole.
pub(crate) fn unfinished(path: &Path) {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).push(path.to_owned());
}

/// Is called by the first signal, or at once when there was one already.
pub(crate) fn when_stopped(call: impl Fn() + Send + 'static) {
    CALLED.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(call));
    if stopped().is_some() {
        call_all();
    }
}

fn call_all() {
    CALLED.lock().unwrap_or_else(PoisonError::into_inner).iter().for_each(|call| call());
}

fn remove_unfinished() {
    for path in UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        // It may be gone, or have got its name already.
        let _ = if path.is_dir() { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
    }
}

/// The flag that the first signal raises.
pub(crate) fn cancel() -> Cancel {
    CANCEL
        .get_or_init(|| {
            let cancel = Cancel::default();
            ingather_store::end_statements_when(|| stopped().is_some());
            let ignored = ignored();
            // Whoever started this with `nohup`, or in the background of a script, wants it to go on.
            let heeded = SIGNALS.iter().filter(|signal| ignored >> (*signal - 1) & 1 == 0);
            // Without a handler a signal ends the program at once, which loses nothing either.
            if let Ok(signals) = Signals::new(heeded) {
                let raised = cancel.clone();
                let heed = move || heed(signals, &raised);
                let _ = std::thread::Builder::new().name("signals".to_owned()).spawn(heed);
            }
            cancel
        })
        .clone()
}

fn heed(mut signals: Signals, cancel: &Cancel) {
    for signal in signals.forever() {
        if FIRST.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst).is_err() {
            remove_unfinished();
            std::process::exit(i32::from(code()));
        }
        cancel.cancel();
        call_all();
        if LOOKS.load(Ordering::SeqCst) {
            // Nothing wakes it: the process ends by itself meanwhile, or here.
            std::thread::park_timeout(LOOKING_ENDS);
        }
        // Meanwhile it may have got the right to write.
        if LOOKS.load(Ordering::SeqCst) {
            remove_unfinished();
            show::stderr("stopped");
            std::process::exit(i32::from(code()));
        }
        show::stderr("stopping at the next batch; once more: at once");
    }
}

/// Signals that this process was told to ignore when it was started, a bit each.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Exit code of a command that was stopped.
pub(crate) fn code() -> u8 {
    stopped().unwrap_or(exit::SIGNALLED + SIGINT as u8)
}

/// Exit code that names the first signal, once there was one, as shells and service managers read it.
pub(crate) fn stopped() -> Option<u8> {
    let first = u8::try_from(FIRST.load(Ordering::SeqCst)).ok().filter(|signal| *signal != 0);
    first.map(|signal| exit::SIGNALLED + signal)
}
