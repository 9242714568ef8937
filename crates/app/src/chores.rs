//! What a service does from time to time, in a thread of its own: it forgets history that is too old.

use std::sync::Arc;
use std::time::Duration;

use ingather_model::limits;
use ingather_operations::Service as _;
use ingather_operations::jobs::history;

use crate::exit::Result;
use crate::service::{Running, begin_thread, refuse_stopped};
use crate::wiring;

impl Running {
    /// Does chores until the service is asked to end.
    pub(crate) fn do_chores(self: &Arc<Running>) -> Result<()> {
        let running = self.clone();
        let work = move || {
            let mut tidied = i64::MIN;
            while refuse_stopped().is_ok() {
                // Also when the clock was put back.
                if wiring::now().abs_diff(tidied) >= limits::HISTORY_TIDY_MS as u64 {
                    tidied = wiring::now();
                    if let Err(problem) = history::forget_old(&running.context()) {
                        running.log(&format!("old history cannot be forgotten: {problem}"));
                    }
                }
                running.chores.wait(Duration::from_millis(limits::HISTORY_TIDY_MS as u64));
            }
        };
        self.keep_thread(begin_thread("chores", work)?);
        Ok(())
    }
}
