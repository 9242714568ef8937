//! Notifiers: what tells people and other programs of ends of runs. A failure of one changes nothing of the run that it speaks of.

use ingather_model::fault::Fault;
use ingather_model::job::notify::NotifyEvent;
use serde_json::Value;

use crate::call::CallContext;

/// What is told of the end of a run. It may come more than once, each time with the same id.
#[derive(Clone, Debug, PartialEq)]
pub struct Notice {
    /// The same for all attempts to tell one notifier of one run; another one for everything else.
    pub id: String,
    /// When it happened, milliseconds since 1970 UTC.
    pub at: i64,
    /// What.
    pub event: NotifyEvent,
    /// Name of the job.
    pub job: String,
    /// Number of the run.
    pub run: i64,
    /// A line for people, such as the subject of a mail.
    pub subject: String,
    /// A few lines for people.
    pub text: String,
    /// The same for programs: an object.
    pub body: Value,
}

/// One way of telling, with its settings.
pub trait Notifier: Send + Sync {
    /// Tells; done when whoever is told has it, as far as that can be known.
    ///
    /// # Errors
    /// `Passing` for what may work later; all others for what will not, and is not tried again.
    fn tell(&self, call: &CallContext, notice: &Notice) -> Result<(), Fault>;

    /// What it does, in words without secrets.
    fn describe(&self) -> String;
}
