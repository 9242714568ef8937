//! What can go wrong with one document or one call, as data that the retry rule reads (design 4.14).

use serde::{Deserialize, Serialize};

use crate::lifecycle::outcome::{FailureCode, FaultCode};
use crate::limits;

/// A failure, told so that the engine knows what follows and a person knows what to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fault {
    /// It may work later: network, lock, back-pressure.
    Passing {
        /// Why, with a stable code.
        reason: Reason,
        /// Earliest sensible time for another attempt, milliseconds from now; none: the retry rule decides.
        retry_in_ms: Option<i64>,
        /// How many attempts are sensible; none: as many as at any document.
        attempts_max: Option<u32>,
        /// The last attempt is made by then, milliseconds since 1970 UTC, however many are left; none: attempts alone count. Of several
        /// faults of one document the earliest such time counts.
        #[serde(default)]
        give_up_at: Option<i64>,
        /// What happens when the attempts, or the time for them, are used up.
        when_exhausted: Exhausted,
    },
    /// It was answered with no, and will be until something changes.
    Refused(Reason),
    /// The source does not let this reader have it. It counts as failed, and outputs keep what they hold of it until then for those who
    /// may still see it; it is tried again when it changes, and when another reader asks.
    Unreadable(Reason),
    /// It is not there any more.
    Gone,
    /// It cannot be read or understood as it is.
    Broken(Reason),
}

/// What follows when the last attempt failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exhausted {
    /// The document counts as failed, the run goes on.
    Skip,
    /// The run ends with an error.
    AbortJob,
    /// The document keeps what outputs hold and is looked at again in the next run.
    Keep,
    /// The document counts as gone. It is the time that counts here, and not the attempts: the source has to say the same once more, no
    /// earlier than the fault asks for another attempt (service P8).
    Vanish,
}

/// A stable code and a sentence for a person: lower case, no full stop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// Stable word such as `unreadable`; texts of `explain` and filters of lists go by it.
    pub code: String,
    /// What happened, to what.
    pub message: String,
}

impl Reason {
    /// A reason from its code and sentence.
    pub fn new(code: &str, message: impl Into<String>) -> Reason {
        Reason { code: code.to_owned(), message: message.into() }
    }
}

impl Fault {
    /// A passing fault with the default rule and [`Exhausted::Skip`].
    pub fn passing(code: &str, message: impl Into<String>) -> Fault {
        Fault::Passing {
            reason: Reason::new(code, message),
            retry_in_ms: None,
            attempts_max: None,
            give_up_at: None,
            when_exhausted: Exhausted::Skip,
        }
    }

    /// A passing fault that goes by within a few attempts or lasts.
    pub fn passing_soon(code: &str, message: impl Into<String>, attempts_max: u32) -> Fault {
        Fault::Passing {
            reason: Reason::new(code, message),
            retry_in_ms: None,
            attempts_max: Some(attempts_max),
            give_up_at: None,
            when_exhausted: Exhausted::Skip,
        }
    }

    /// The source says that something is not there and may be wrong, as the answer 404 often is: believed when it says so again after an hour.
    pub fn missing() -> Fault {
        Fault::Passing {
            reason: Reason::new(
                FailureCode::Missing.as_str(),
                "its source says that it is not there; that is believed when it says so again, an hour later or in a run after that",
            ),
            retry_in_ms: Some(limits::MISSING_BELIEVED_MS),
            attempts_max: None,
            give_up_at: None,
            when_exhausted: Exhausted::Vanish,
        }
    }

    /// The same of an answer that may be another one soon, such as a temporary redirect.
    pub fn missing_for_now(why: &Reason) -> Fault {
        let message = format!(
            "{}; that is believed when it is so again, an hour later or in a run after that",
            why.message
        );
        Fault::Passing {
            reason: Reason::new(FailureCode::Missing.as_str(), message),
            retry_in_ms: Some(limits::MISSING_BELIEVED_MS),
            attempts_max: None,
            give_up_at: None,
            when_exhausted: Exhausted::Vanish,
        }
    }

    /// Whether the source says that something is not there, and may be wrong.
    pub fn is_missing(&self) -> bool {
        matches!(self, Fault::Passing { when_exhausted: Exhausted::Vanish, .. })
    }

    /// How many attempts may be made, where `most` may be made at any document.
    pub fn attempts_max(&self, most: u32) -> u32 {
        match self {
            Fault::Passing { attempts_max: Some(max), .. } => most.min(*max),
            _ => most,
        }
    }

    /// The time by which it asks for the last attempt.
    pub fn give_up_at(&self) -> Option<i64> {
        match self {
            Fault::Passing { give_up_at, .. } => *give_up_at,
            _ => None,
        }
    }

    /// A refusal.
    pub fn refused(code: &str, message: impl Into<String>) -> Fault {
        Fault::Refused(Reason::new(code, message))
    }

    /// Something that this reader may not have; its code is [`FailureCode::Unreadable`].
    pub fn unreadable(message: impl Into<String>) -> Fault {
        Fault::Unreadable(Reason::new(FailureCode::Unreadable.as_str(), message))
    }

    /// Something that cannot be read or understood.
    pub fn broken(code: &str, message: impl Into<String>) -> Fault {
        Fault::Broken(Reason::new(code, message))
    }

    /// Its code, where callers go by it.
    pub fn code(&self) -> Option<FaultCode> {
        FaultCode::parse(&self.reason().code)
    }

    /// The reason, for people and reports.
    pub fn reason(&self) -> Reason {
        match self {
            Fault::Passing { reason, .. }
            | Fault::Refused(reason)
            | Fault::Unreadable(reason)
            | Fault::Broken(reason) => reason.clone(),
            Fault::Gone => Reason::new("gone", "it is not there any more"),
        }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.reason().message)
    }
}

impl std::error::Error for Fault {}
