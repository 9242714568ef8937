//! A stream as its server describes it: whether it may be published to, how it is made, and what stands in it.

use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::message::StreamMessage;
use async_nats::jetstream::stream::LastRawMessageErrorKind;
use ingather_model::fault::Fault;
use ingather_model::limits;
use serde::Deserialize;
use serde_json::{Value, json};

use super::link::{Failure, Link, sentence};
use super::message::Noted;
use super::settings::{Making, Meant};

/// Code of a fault that a stream is not the one any more that was opened.
pub(super) const REPLACED: &str = "replaced";

/// What a server says of a stream.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Described {
    /// When it was made: another one of the same name was made at another time.
    pub(super) created: String,
    config: Config,
    state: State,
}

#[derive(Clone, Debug, Deserialize)]
struct Config {
    #[serde(default)]
    subjects: Vec<String>,
    #[serde(default)]
    max_msg_size: i64,
    #[serde(default)]
    max_msgs_per_subject: i64,
    #[serde(default)]
    no_ack: bool,
    #[serde(default)]
    sealed: bool,
    #[serde(default)]
    mirror: Value,
    #[serde(default)]
    sources: Value,
}

#[derive(Clone, Debug, Deserialize)]
struct State {
    last_seq: u64,
}

impl Described {
    /// Number of its last message, also of one that is gone.
    pub(super) fn last(&self) -> u64 {
        self.state.last_seq
    }

    /// Bytes of the largest message that fits both it and its server.
    pub(super) fn message_bytes(&self, server: usize) -> usize {
        usize::try_from(self.config.max_msg_size)
            .ok()
            .filter(|bytes| *bytes > 0)
            .map_or(server, |most| most.min(server))
    }

    /// Whether entries can be told by it, and by it alone.
    fn usable(&self, meant: &Meant) -> Result<(), Fault> {
        let (config, all) = (&self.config, all_subjects(meant));
        let is_some = |value: &Value| !value.is_null() && value.as_array().is_none_or(|all| !all.is_empty());
        let why = if config.subjects != [all.as_str()] {
            let takes = config.subjects.join(", ");
            format!(
                "takes {takes}, and has to take {all} and nothing else, so that only this output writes to it"
            )
        } else if is_some(&config.mirror) || is_some(&config.sources) {
            "copies another stream; an output needs one of its own".to_owned()
        } else if config.no_ack {
            "acknowledges nothing (`no_ack`), so that nobody knows what it has; let it acknowledge".to_owned()
        } else if config.sealed {
            "is sealed, so that nobody can write to it".to_owned()
        } else if config.max_msgs_per_subject > 0 {
            "keeps the last messages of a subject alone (`max_msgs_per_subject`), and would lose entries; let it keep all".to_owned()
        } else {
            return Ok(());
        };
        Err(Fault::refused(
            "stream",
            format!("stream {} {why}; change it, or name another one", meant.stream),
        ))
    }
}

/// The subjects of a stream.
fn all_subjects(meant: &Meant) -> String {
    format!("{}.>", meant.subject)
}

/// What is there by the name of a stream, if it may be published to; none when there is none.
pub(super) async fn described(link: &mut Link, meant: &Meant) -> Result<Option<Described>, Failure> {
    match link.ask::<Described>(format!("STREAM.INFO.{}", meant.stream), &json!({})).await? {
        Ok(described) => {
            described.usable(meant).map_err(Failure::Ends)?;
            enough(described.message_bytes(link.message_bytes)).map_err(Failure::Ends)?;
            Ok(Some(described))
        }
        Err(error) if error.error_code() == ErrorCode::STREAM_NOT_FOUND => Ok(None),
        Err(error) => Err(Failure::Ends(refused(meant, &error))),
    }
}

/// Access lists have to fit: entries wait for what they refer to.
fn enough(bytes: usize) -> Result<(), Fault> {
    let least = limits::NATS_MESSAGE_BYTES_MIN;
    match bytes >= least {
        true => Ok(()),
        false => Err(Fault::refused(
            "stream",
            format!(
                "a message may have {bytes} bytes, and access lists need {least}; let the server (`max_payload`) and the stream take more"
            ),
        )),
    }
}

/// What holds for whoever asks for a stream.
fn refused(meant: &Meant, error: &dyn std::fmt::Display) -> Fault {
    Fault::refused("stream", format!("stream {} cannot be used: {}", meant.stream, sentence(error)))
}

/// The fault of a stream that is missing and is not to be made.
pub(super) fn missing(meant: &Meant) -> Fault {
    let told = format!(
        "there is no stream {} at the server; make one that takes {}, or let this program make it (`create`)",
        meant.stream,
        all_subjects(meant)
    );
    Fault::refused("stream", told)
}

/// Makes a stream that keeps all that it is sent.
pub(super) async fn make(link: &mut Link, meant: &Meant, making: &Making) -> Result<(), Failure> {
    const SECOND: u64 = 1_000_000_000;
    let Making { window_s, keep_hours, stream_mib, replicas } = making;
    let bytes = i64::try_from(stream_mib << 20).ok().filter(|bytes| *bytes > 0).unwrap_or(-1);
    let keep = u64::from(*keep_hours) * 3_600 * SECOND;
    let window = u64::from(*window_s) * SECOND;
    // Servers refuse a window that is longer than messages are kept.
    let window = if keep > 0 { window.min(keep) } else { window };
    let config = json!({
        "name": meant.stream, "subjects": [all_subjects(meant)], "description": "changes that ingather tells",
        "retention": "limits", "storage": "file", "discard": "new", "max_consumers": -1, "max_msgs": -1,
        "max_msgs_per_subject": -1, "max_msg_size": -1, "max_bytes": bytes, "max_age": keep, "duplicate_window": window,
        "num_replicas": replicas,
    });
    match link.ask::<Value>(format!("STREAM.CREATE.{}", meant.stream), &config).await? {
        Ok(_) => Ok(()),
        // An attempt whose answer was lost has made it, or somebody else has: whoever asks next sees which.
        Err(error) if error.error_code() == ErrorCode::STREAM_NAME_EXIST => Ok(()),
        Err(error) => Err(Failure::Ends(refused(meant, &error))),
    }
}

/// A message of a stream by its number.
pub(super) enum Stored {
    /// One of ours.
    Ours(Noted),
    /// Somebody else's.
    Other,
    /// It was consumed, or is older than messages are kept.
    Gone,
}

/// Reads what a message says of itself.
pub(super) async fn stored(link: &mut Link, meant: &Meant, number: u64) -> Result<Stored, Failure> {
    let context = link.context.clone();
    let read = async {
        let stream = context
            .get_stream_no_info(&meant.stream)
            .await
            .map_err(|error| Failure::Again(sentence(&error)))?;
        Ok(stream.get_raw_message(number).await)
    };
    match link.wait(read).await?? {
        Ok(StreamMessage { subject, headers, .. }) => {
            Ok(Noted::of(&subject, &headers).map_or(Stored::Other, Stored::Ours))
        }
        Err(error) => match error.kind() {
            LastRawMessageErrorKind::NoMessageFound => Ok(Stored::Gone),
            LastRawMessageErrorKind::JetStream(said) if said.code() < 500 => {
                Err(Failure::Ends(refused(meant, &said)))
            }
            _ => Err(Failure::Again(format!("the server cannot be asked: {}", sentence(&error)))),
        },
    }
}

/// Said once a stream is not the one any more that was opened, or somebody else writes to it.
pub(super) fn replaced(what: &str) -> Fault {
    Fault::passing(
        REPLACED,
        format!("{what} while this program wrote to it; run again, and everything is told anew"),
    )
}
