//! What the end of a child means: its document's own doing, or somebody else's.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use ingather_model::limits;

/// How a child came to its end.
pub(super) struct End {
    /// In words.
    pub(super) reason: String,
    /// Whether another child may come further: this one was ended by others, or had no time.
    pub(super) by_others: bool,
    /// Its time was up.
    pub(super) late: bool,
}

impl From<String> for End {
    fn from(reason: String) -> End {
        End { reason, by_others: false, late: false }
    }
}

/// What went wrong in the talk with a child, in words; nothing when it hung up, for how it ended says more.
pub(super) fn error_of(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => String::new(),
        _ => error.to_string(),
    }
}

/// What the end of a child means.
pub(super) fn end_of(status: ExitStatus) -> End {
    let memory = limits::EXTRACT_MEMORY_BYTES_MAX >> 20;
    let by_others = |what: &str| {
        let reason = format!("its reader was ended by {what}");
        End { reason, by_others: true, late: false }
    };
    match status.signal() {
        Some(libc::SIGXCPU) => "reading it took more time of the processor than is allowed".to_owned().into(),
        Some(libc::SIGABRT) => {
            format!("reading it needs more than {memory} MiB of memory, or is nested too deep").into()
        }
        Some(libc::SIGXFSZ) => "it is larger than a scratch file may be".to_owned().into(),
        // No reader does that to itself: its own limits end it in other ways, and it may send no signals.
        Some(libc::SIGKILL) => by_others("signal 9, as the system does when memory runs out"),
        Some(signal @ (libc::SIGTERM | libc::SIGINT | libc::SIGHUP | libc::SIGQUIT)) => {
            by_others(&format!("signal {signal}"))
        }
        Some(signal) => format!("its reader crashed (signal {signal})").into(),
        None => format!("its reader ended ({status})").into(),
    }
}
