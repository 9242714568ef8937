//! Reports of channels, sent to their webhooks while a service is there (decision 0057): one thread looks at all channels, and lets some be sent at a time, each by a thread that ends with its turn.

use std::sync::Arc;
use std::thread::Builder;
use std::time::Duration;

use ingather_model::limits;
use ingather_operations::Service as _;
use ingather_operations::documents::push;

use crate::exit::Result;
use crate::service::{Running, begin_thread, refuse_stopped};

impl Running {
    /// Sends reports until the service is asked to end.
    pub(crate) fn send_reports(self: &Arc<Running>) -> Result<()> {
        let running = self.clone();
        let work = move || {
            std::thread::scope(|scope| {
                while refuse_stopped().is_ok() {
                    let due = push::sinks_due(&running.context());
                    let (due, next) = due.unwrap_or_else(|problem| {
                        running.log(&format!("webhooks of channels cannot be looked at: {problem}"));
                        (Vec::new(), limits::SINK_RETRY_MS_MIN)
                    });
                    for channel in due {
                        let of_turn = &running;
                        let turn = move || {
                            if let Err(problem) = push::send_reports(&of_turn.context(), channel) {
                                of_turn
                                    .log(&format!("reports of channel {channel} cannot be sent: {problem}"));
                            }
                        };
                        if let Err(error) =
                            Builder::new().name("webhook".to_owned()).spawn_scoped(scope, turn)
                        {
                            running.log(&format!(
                                "a thread for reports of channel {channel} cannot be started: {error}"
                            ));
                            // Its turn ends with nothing sent.
                            running.context().host.process().ends_turn(channel);
                        }
                    }
                    running.reports.wait(Duration::from_millis(next.unsigned_abs()));
                }
            })
        };
        self.keep_thread(begin_thread("reports", work)?);
        Ok(())
    }
}
