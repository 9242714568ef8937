//! An end for calls that hang.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// A call that takes longer than this hangs, also on a machine that is busy with much else.
const HANGS: Duration = Duration::from_secs(600);

/// Ends the test when `work` hangs, instead of waiting for ever.
pub(crate) fn watched<T>(work: impl FnOnce() -> T) -> T {
    let (done, over) = channel::<()>();
    std::thread::scope(|scope| {
        let watcher = scope.spawn(move || {
            if let Err(RecvTimeoutError::Timeout) = over.recv_timeout(HANGS) {
                // A panic here would wait for the hanging threads.
                std::process::abort();
            }
        });
        let result = work();
        drop(done);
        watcher.join().expect("the watcher does not panic");
        result
    })
}
