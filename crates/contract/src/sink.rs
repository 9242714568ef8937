//! Sinks: where channels send their reports, at addresses that the settings of a source allow (decision 0057).

use ingather_model::fault::Reason;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::CallContext;

/// What a sink is sent: a message, and what it is signed with.
pub struct Message<'a> {
    /// Where.
    pub url: &'a str,
    /// What it is signed with.
    pub secret: &'a str,
    /// What tells it from other messages: the same each time it is sent.
    pub id: &'a str,
    /// JSON.
    pub body: &'a str,
}

/// Why a sink may not have what it was sent, in a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unheard {
    /// It does not have it: it said so, or was not reached.
    Refused(String),
    /// It may have it: it was asked, and no answer came.
    Lost(String),
}

impl Unheard {
    /// The sentence.
    pub fn why(&self) -> &str {
        match self {
            Unheard::Refused(why) | Unheard::Lost(why) => why,
        }
    }
}

/// What sends messages to sinks. Calls may come from many threads at once.
pub trait Sender: Send + Sync {
    /// Sends a message; done when the sink has said that it has it. It has as long as
    /// [`SINK_ANSWER_MS`](ingather_model::limits::SINK_ANSWER_MS) for that.
    ///
    /// # Errors
    /// Whether it may have it.
    fn send(&self, call: &CallContext, message: &Message<'_>) -> Result<(), Unheard>;
}

/// Which addresses reports of a source may be sent to.
pub trait Allowed: std::fmt::Debug + Send + Sync {
    /// The address that is meant by a text, where it may be sent to.
    ///
    /// # Errors
    /// Why not, in a sentence that names the setting.
    fn address(&self, text: &str) -> Result<String, Reason>;
}

/// One report of a channel, as lists and sinks have it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ListedChannelReport {
    /// Its place: 1, 2, 3 …
    pub report: i64,
    /// When, milliseconds since 1970 UTC.
    pub at: i64,
    /// `queued`, `completed`, `state` or `feedback`; `retry` where its client has asked for it.
    pub kind: String,
    /// The state, or `flushed`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub word: String,
    /// Why the channel ends; or the number of the flush.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// Number of the ticket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket: Option<i64>,
    /// Key of the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// `put` or `delete`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub op: Option<String>,
    /// What the client wanted back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_ref: Option<String>,
    /// As in `TicketReport`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// Why, a stable word; empty where it went well.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub code: String,
    /// Why, in a sentence.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// When an attempt that failed is made again, milliseconds since 1970 UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again_at: Option<i64>,
}
