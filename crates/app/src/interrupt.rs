//! Ctrl-C: the first one stops at the next batch, the second one at once; both lose nothing.

use std::sync::OnceLock;

use ingather_connector::call::Cancel;

static CANCEL: OnceLock<Cancel> = OnceLock::new();

/// The flag that the first Ctrl-C raises.
pub(crate) fn cancel() -> Cancel {
    CANCEL
        .get_or_init(|| {
            let cancel = Cancel::default();
            let raised = cancel.clone();
            // Without a handler Ctrl-C ends the program at once, which loses nothing either.
            let _ = ctrlc::set_handler(move || {
                if raised.cancelled() {
                    std::process::exit(i32::from(crate::exit::STOPPED));
                }
                raised.cancel();
                crate::show::stderr("stopping at the next batch; once more: at once");
            });
            cancel
        })
        .clone()
}
