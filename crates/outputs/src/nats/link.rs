//! A connection to one of the servers of a cluster: made, asked, and given up at the first thing that goes wrong, for whatever was on its way
//! then has to be looked for in the stream.

use std::error::Error;
use std::time::{Duration, Instant};

use async_nats::jetstream::context::{
    Context, ContextBuilder, PublishError, PublishErrorKind, RequestErrorKind,
};
use async_nats::jetstream::response::Response;
use async_nats::jetstream::{self, ErrorCode};
use async_nats::{ConnectError, ConnectErrorKind, ConnectOptions, Event, ServerAddr, ServerError};
use ingather_contract::call::Cancel;
use ingather_model::fault::Fault;
use ingather_model::limits;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::watch;

use super::settings::{Login, Meant};
use super::tls;

/// Code of a fault of a server that is busy or away.
pub(super) const AWAY: &str = "server";

/// Why something was not done.
#[derive(Debug)]
pub(super) enum Failure {
    /// It may be tried again soon; nobody knows whether the server did it.
    Again(String),
    /// It holds for whatever is asked next.
    Ends(Fault),
}

/// What ends a connection, or makes it useless.
#[derive(Clone)]
enum Said {
    Ended,
    NotAllowed(String),
}

/// A connection.
pub(super) struct Link {
    pub(super) context: Context,
    /// Bytes of a message that the server takes.
    pub(super) message_bytes: usize,
    said: watch::Receiver<Option<Said>>,
    used: Instant,
}

impl Link {
    /// # Errors
    /// `Ends` for credentials and certificates that are not accepted.
    pub(super) async fn connect(meant: &Meant) -> Result<Link, Failure> {
        let (tell, said) = watch::channel(None);
        let refused = |told| Failure::Ends(Fault::refused("settings", told));
        let options = match meant.login.clone() {
            Login::Nobody => ConnectOptions::new(),
            Login::User(user, password) => ConnectOptions::with_user_and_password(user, password),
            Login::Token(token) => ConnectOptions::with_token(token),
        };
        let options = options
            .name(concat!("ingather/", env!("CARGO_PKG_VERSION")))
            .tls_client_config(tls::config(meant).map_err(refused)?)
            .connection_timeout(Duration::from_millis(limits::NATS_CONNECT_MS_MAX))
            .request_timeout(Some(Duration::from_millis(meant.timeout_ms)))
            // Credentials and texts go where the settings say and nowhere else.
            .ignore_discovered_servers()
            // Each server once: what comes after that is decided here.
            .max_reconnects(meant.servers.len())
            .event_callback(move |event| {
                let said = match event {
                    Event::Disconnected | Event::Closed => Some(Said::Ended),
                    Event::ServerError(ServerError::Other(told)) if told.contains("ermissions") => {
                        Some(Said::NotAllowed(told))
                    }
                    _ => None,
                };
                if said.is_some() {
                    // The first one says why.
                    tell.send_if_modified(|known| {
                        let is_first = known.is_none();
                        *known = known.take().or(said);
                        is_first
                    });
                }
                std::future::ready(())
            });
        let client = options.connect(here(&meant.servers).await?).await.map_err(unconnected)?;
        let message_bytes = client.max_payload();
        let context = ContextBuilder::new()
            .timeout(Duration::from_millis(meant.timeout_ms))
            // More than are ever on their way.
            .max_ack_inflight(limits::NATS_IN_FLIGHT_MAX * 4)
            .build(client);
        // clock: sockets wait by it.
        Ok(Link { context, message_bytes, said, used: Instant::now() })
    }

    /// Whether it may still be good: neither ended nor at rest for long.
    pub(super) fn is_fresh(&self) -> bool {
        self.said.borrow().is_none() && self.used.elapsed().as_millis() < limits::NATS_IDLE_MS_MAX
    }

    /// Waits for an answer, or until the connection is known to bring none.
    pub(super) async fn wait<T>(&mut self, answer: impl Future<Output = T>) -> Result<T, Failure> {
        let mut said = self.said.clone();
        let answered = tokio::select! {
            biased;
            answer = answer => Ok(answer),
            said = said.wait_for(Option::is_some) => Err(match said.as_deref() {
                Ok(Some(Said::NotAllowed(told))) => Failure::Ends(not_allowed(told)),
                _ => Failure::Again("the connection to the server was lost".to_owned()),
            }),
        };
        // clock: as above.
        self.used = Instant::now();
        answered
    }

    /// Asks the server for something about streams; `Err` inside is what it refuses.
    pub(super) async fn ask<A: DeserializeOwned>(
        &mut self,
        subject: String,
        body: &Value,
    ) -> Result<Result<A, jetstream::Error>, Failure> {
        let context = self.context.clone();
        match self.wait(context.request::<_, _, Response<A>>(subject, body)).await? {
            Ok(Response::Ok(answer)) => Ok(Ok(answer)),
            Ok(Response::Err { error }) if passes(&error) => {
                Err(Failure::Again(format!("the server is busy or away: {}", sentence(&error))))
            }
            Ok(Response::Err { error }) => Ok(Err(error)),
            Err(error) => Err(Failure::Again(match error.kind() {
                RequestErrorKind::NoResponders => {
                    "no JetStream answers at the server; switch it on there (`jetstream`), or wait for it"
                        .to_owned()
                }
                RequestErrorKind::TimedOut => "the server did not answer in time".to_owned(),
                _ => format!("the server cannot be asked: {}", sentence(&error)),
            })),
        }
    }
}

/// Where to connect to. Without TLS these are addresses of this machine alone, whatever a name is said to stand for.
async fn here(servers: &[ServerAddr]) -> Result<Vec<ServerAddr>, Failure> {
    let mut found = Vec::with_capacity(servers.len());
    for server in servers {
        if server.tls_required() {
            found.push(server.clone());
            continue;
        }
        let host = server.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        let addresses = tokio::net::lookup_host((host, server.port())).await;
        let addresses =
            addresses.map_err(|error| Failure::Again(format!("its name is not found: {error}")))?;
        let local = addresses.filter(|address| address.ip().is_loopback());
        found.extend(local.filter_map(|address| format!("nats://{address}").parse::<ServerAddr>().ok()));
    }
    match found.is_empty() {
        true => Err(Failure::Again("without TLS this machine alone is asked".to_owned())),
        false => Ok(found),
    }
}

fn unconnected(error: ConnectError) -> Failure {
    match error.kind() {
        ConnectErrorKind::AuthorizationViolation | ConnectErrorKind::Authentication => {
            Failure::Ends(Fault::refused(
                "credentials",
                "the server does not take the credentials of the settings (`user` and `password`, or `token`)",
            ))
        }
        _ if is_untrusted(&error) => Failure::Ends(Fault::refused(
            "certificate",
            format!("the certificate of the server is not accepted: {}", sentence(&error)),
        )),
        ConnectErrorKind::TimedOut => Failure::Again("the server did not answer in time".to_owned()),
        _ => Failure::Again(format!("the server cannot be asked: {}", sentence(&error))),
    }
}

fn is_untrusted(error: &(dyn Error + 'static)) -> bool {
    let mut at = Some(error);
    while let Some(error) = at {
        let inner = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        if error.is::<rustls::Error>() || inner.is_some_and(|inner| inner.is::<rustls::Error>()) {
            return true;
        }
        at = error.source();
    }
    false
}

/// What is said of a fault: one line, bounded.
pub(super) fn sentence(error: &dyn std::fmt::Display) -> String {
    let said: String = error.to_string().chars().take(limits::NATS_SAID_MAX).collect();
    said.split_whitespace().collect::<Vec<_>>().join(" ").trim_end_matches('.').to_owned()
}

/// No document is to blame, and none is to count as failed for good: a right may be given, and all is sent then.
fn not_allowed(told: &str) -> Fault {
    Fault::passing("rights", format!("the server does not let this user do that: {}", sentence(&told)))
}

/// It goes by: a leader that is being chosen, a disk or a stream that is full.
fn passes(error: &jetstream::Error) -> bool {
    let full = [
        ErrorCode::INSUFFICIENT_RESOURCES,
        ErrorCode::STORAGE_RESOURCES_EXCEEDED,
        ErrorCode::STREAM_STORE_FAILED,
    ];
    error.code() >= 500 || full.contains(&error.error_code())
}

/// What became of a message.
pub(super) enum Refusal {
    /// It is not behind the message that it was to be behind.
    Elsewhere,
    /// This one is too large, whatever becomes of others.
    TooLarge(String),
    /// Nobody knows, or all of them are refused.
    All(Failure),
}

/// What a refusal means.
pub(super) fn refusal(error: &PublishError) -> Refusal {
    let again = |told: &str| Refusal::All(Failure::Again(told.to_owned()));
    match error.kind() {
        PublishErrorKind::WrongLastMessageId | PublishErrorKind::WrongLastSequence => {
            return Refusal::Elsewhere;
        }
        PublishErrorKind::MaxPayloadExceeded => return Refusal::TooLarge(sentence(error)),
        PublishErrorKind::TimedOut => return again("the server did not acknowledge a message in time"),
        PublishErrorKind::StreamNotFound => return again("no stream takes messages at the server"),
        PublishErrorKind::BrokenPipe | PublishErrorKind::MaxAckPending => {
            return again("the connection to the server was lost");
        }
        PublishErrorKind::Other => {}
    }
    let said = error.source().and_then(|source| source.downcast_ref::<jetstream::Error>());
    let Some(said) = said else {
        return Refusal::All(Failure::Again(format!("the server cannot be asked: {}", sentence(error))));
    };
    match said.error_code() {
        ErrorCode::STREAM_MESSAGE_EXCEEDS_MAXIMUM => Refusal::TooLarge(sentence(said)),
        _ if passes(said) => Refusal::All(Failure::Again(format!(
            "the stream takes no message now; make room in it: {}",
            sentence(said)
        ))),
        // No document is to blame here either.
        _ => Refusal::All(Failure::Ends(Fault::passing(
            "stream",
            format!("the stream takes no message: {}", sentence(said)),
        ))),
    }
}

/// Pauses between attempts, each longer than the one before, until a server was asked for long enough.
pub(super) struct Patience<'c> {
    cancel: &'c Cancel,
    ends: Instant,
    next_ms: u64,
}

impl Patience<'_> {
    pub(super) fn begin(cancel: &Cancel, patience_ms: u64) -> Patience<'_> {
        // clock: sockets wait by it.
        let ends = Instant::now() + Duration::from_millis(patience_ms);
        Patience { cancel, ends, next_ms: limits::NATS_PAUSE_MS }
    }

    /// Waits before another attempt; false where none is to be made.
    pub(super) async fn wait(&mut self) -> bool {
        // clock: as above.
        let until = Instant::now() + Duration::from_millis(self.next_ms);
        self.next_ms = (self.next_ms * 2).min(limits::NATS_PAUSE_MS_MAX);
        if until > self.ends {
            return false;
        }
        // clock: as above.
        while Instant::now() < until {
            if self.cancel.cancelled() {
                return false;
            }
            tokio::time::sleep(Duration::from_millis(limits::NATS_LOOK_MS)).await;
        }
        true
    }
}
