//! Long statements end when the process is asked to end. A statement that is under way is given a moment, for most are over
//! then; one that goes on is broken off, and its transaction with it: nothing of it was confirmed, and the next run does it.

use std::cell::Cell;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use ingather_model::limits;

/// Who says whether the process was asked to end.
static ASKED: OnceLock<fn() -> bool> = OnceLock::new();

/// Looks that a statement is given before its time counts: one that is short by its work is never broken off, however long
/// a busy machine takes for it.
const LOOKS_MIN: u32 = 16;
/// Steps of a statement of SQLite between two looks, some tenths of a millisecond.
pub(crate) const STEPS: i32 = 4_096;

thread_local! {
    /// Looks since the statement of this thread began, and the first of them that knew of an end.
    static UNDER_WAY: Cell<(u32, Option<Instant>)> = const { Cell::new((0, None)) };
}

/// From here on statements of this process end when `asked` says so.
pub fn end_statements_when(asked: fn() -> bool) {
    // Whoever says it twice means the same.
    let _ = ASKED.set(asked);
}

/// Whether the process was asked to end.
pub(crate) fn asked() -> bool {
    ASKED.get().is_some_and(|asked| asked())
}

/// How long a statement goes on once the process was asked to end.
pub(crate) fn grace() -> Duration {
    Duration::from_millis(limits::STOPPED_STATEMENT_MS_MAX)
}

/// A statement of this thread begins.
pub(crate) fn begins() {
    UNDER_WAY.set((0, None));
}

/// Whether the statement of this thread is to be broken off; asked at each of its looks.
pub(crate) fn breaks_off() -> bool {
    if !asked() {
        return false;
    }
    let (looks, since) = UNDER_WAY.get();
    // clock: a person waits in the machine's time, whatever a run's clock says.
    let since = since.unwrap_or_else(Instant::now);
    UNDER_WAY.set((looks.saturating_add(1), Some(since)));
    looks >= LOOKS_MIN && since.elapsed() >= grace()
}

/// Waits a little for another connection of the same file, the time `turn`; whether to try again.
#[expect(
    clippy::disallowed_methods,
    reason = "no event tells of another process; each turn is short and heeds an end"
)]
pub(crate) fn waits(turn: i32) -> bool {
    let waited = u64::try_from(turn).unwrap_or_default() * limits::SQLITE_TURN_MS;
    if waited >= limits::SQLITE_BUSY_MS || asked() {
        return false;
    }
    if crate::turns::gives_way() {
        return true;
    }
    std::thread::sleep(Duration::from_millis(limits::SQLITE_TURN_MS));
    true
}
