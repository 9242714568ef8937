//! A server that is asked again while it is busy or away, for a bounded time, and what its answers mean.

use std::time::{Duration, Instant};

use ingather_contract::call::Cancel;
use ingather_model::fault::Fault;
use ingather_model::limits;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::http::{Failure, Http, Method, Reply, Request};
use super::settings::Meant;

/// Code of a fault that an index is not the one any more that was opened.
pub(super) const REPLACED: &str = "replaced";
/// Code of a fault of a server that is busy or away.
pub(super) const AWAY: &str = "server";

/// Behind these words servers repeat what is in a document.
const TELLING: [&str; 2] = [" Preview of field's value", " The prefix of the first immense term"];

/// A server and how it is spoken to.
pub(super) struct Server {
    http: Http,
    pub(super) request_bytes: usize,
}

/// What a server says of a fault.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Said {
    #[serde(default, rename = "type")]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) reason: Option<String>,
    /// The index that it speaks of.
    #[serde(default)]
    index: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum SaidSomehow {
    Fully(Said),
    Shortly(String),
}

#[derive(Deserialize)]
struct Refusal {
    error: SaidSomehow,
}

impl Said {
    /// Of an answer; nothing where it says nothing.
    pub(super) fn of(reply: &Reply) -> Said {
        match serde_json::from_slice::<Refusal>(&reply.body).map(|refusal| refusal.error) {
            Ok(SaidSomehow::Fully(said)) => said,
            Ok(SaidSomehow::Shortly(reason)) => Said { reason: Some(reason), ..Said::default() },
            Err(_) => Said::default(),
        }
    }

    /// Its sentence, in one line, bounded, and without the text of a document that some of them repeat.
    pub(super) fn sentence(&self) -> String {
        let reason = self.reason.as_deref().unwrap_or(&self.kind);
        let parts =
            TELLING.iter().fold(reason, |reason, words| reason.split(words).next().unwrap_or_default());
        let mut said: String = parts.chars().take(limits::OPENSEARCH_SAID_MAX).collect();
        said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        said.trim_end_matches('.').to_owned()
    }

    /// The index is not there, or is closed: what that means.
    pub(super) fn lost(&self) -> Option<Fault> {
        match self.kind.as_str() {
            "index_not_found_exception" => Some(replaced()),
            "index_closed_exception" => Some(closed(self.index.as_deref())),
            _ => None,
        }
    }

    /// It goes by: nodes that join, disks that are full, queues that are.
    pub(super) fn passes(&self, status: u16) -> bool {
        passes(status) || self.kind == "cluster_block_exception"
    }
}

fn passes(status: u16) -> bool {
    matches!(status, 408 | 425 | 429 | 500 | 502 | 503 | 504 | 507)
}

/// For how long a server is asked again, and what stops that.
pub(super) struct Waits<'c> {
    pub(super) cancel: &'c Cancel,
    pub(super) patience_ms: u64,
}

impl Waits<'_> {
    /// While changes are under way.
    pub(super) fn long(cancel: &Cancel) -> Waits<'_> {
        Waits { cancel, patience_ms: limits::OPENSEARCH_PATIENCE_MS_MAX }
    }

    /// While somebody waits to be told whether it can be used.
    pub(super) fn short(cancel: &Cancel) -> Waits<'_> {
        Waits { cancel, patience_ms: limits::OPENSEARCH_OPEN_PATIENCE_MS_MAX }
    }
}

/// Pauses between attempts, each longer than the one before, until a server was asked for long enough.
pub(super) struct Patience<'c> {
    cancel: &'c Cancel,
    ends: Instant,
    next_ms: u64,
}

impl Patience<'_> {
    pub(super) fn begin<'c>(waits: &Waits<'c>) -> Patience<'c> {
        // clock: sockets wait by it.
        let ends = Instant::now() + Duration::from_millis(waits.patience_ms);
        Patience { cancel: waits.cancel, ends, next_ms: limits::OPENSEARCH_PAUSE_MS }
    }

    /// Waits before another attempt, as long as the server asks for or a little; false where none is to be made.
    pub(super) fn wait(&mut self, rest_ms: Option<u64>) -> bool {
        let pause = rest_ms.unwrap_or(self.next_ms).clamp(self.next_ms, limits::OPENSEARCH_PAUSE_MS_MAX);
        self.next_ms = (self.next_ms * 2).min(limits::OPENSEARCH_PAUSE_MS_MAX);
        // clock: as above.
        let until = Instant::now() + Duration::from_millis(pause);
        if until > self.ends {
            return false;
        }
        // clock: as above.
        while Instant::now() < until {
            if self.cancel.cancelled() {
                return false;
            }
            #[expect(
                clippy::disallowed_methods,
                reason = "a server that is busy tells nobody when it is not any more"
            )]
            std::thread::sleep(Duration::from_millis(limits::OPENSEARCH_LOOK_MS));
        }
        true
    }
}

impl Server {
    /// # Errors
    /// `Refused` for a file that cannot be used.
    pub(super) fn new(meant: &Meant) -> Result<Server, Fault> {
        let http = Http::new(meant).map_err(|told| Fault::refused("settings", told))?;
        Ok(Server { http, request_bytes: meant.request_bytes })
    }

    /// Asks once. What does not pass by itself and holds for every request is a fault: rights that are missing, a server that is no server.
    ///
    /// # Errors
    /// `Refused`, as above.
    pub(super) fn once(&self, request: &Request<'_>) -> Result<Answer, Fault> {
        let reply = match self.http.ask(request) {
            Ok(reply) => reply,
            Err(Failure::Unanswered(told)) => return Ok(Answer::Again { told, rest_ms: None }),
            Err(Failure::Untrusted(told)) => return Err(Fault::refused("certificate", told)),
            Err(Failure::TooLarge) => return Ok(Answer::TooLarge),
        };
        let said = || Said::of(&reply).sentence();
        match reply.status {
            status if Said::of(&reply).passes(status) => {
                let told = format!("the server is busy or away ({status}): {}", said());
                Ok(Answer::Again { told, rest_ms: reply.rest_ms })
            }
            401 => Err(Fault::refused(
                "credentials",
                "the server does not take the credentials of the settings (401)",
            )),
            403 => Err(not_allowed(&Said::of(&reply))),
            status @ 300..=399 => Err(Fault::refused(
                "redirect",
                format!("the server leads elsewhere ({status}), and that is not followed"),
            )),
            // Half an answer may end like a whole one.
            200..=299 if serde_json::from_slice::<serde::de::IgnoredAny>(&reply.body).is_err() => {
                Ok(Answer::Again { told: "the answer of the server is cut off".to_owned(), rest_ms: None })
            }
            _ => Ok(Answer::Said(reply)),
        }
    }

    /// Asks until there is an answer, or for long enough.
    ///
    /// # Errors
    /// `Passing` when there was none: nobody knows whether the server did it. Those of [`Server::once`].
    pub(super) fn ask(&self, waits: &Waits<'_>, request: &Request<'_>) -> Result<Reply, Fault> {
        let mut patience = Patience::begin(waits);
        loop {
            match self.once(request)? {
                Answer::Said(reply) => return Ok(reply),
                Answer::TooLarge => return Err(Fault::broken(AWAY, "the server answers with too much")),
                Answer::Again { told, rest_ms } => {
                    if !patience.wait(rest_ms) {
                        return Err(Fault::passing(AWAY, told));
                    }
                }
            }
        }
    }

    /// Asks for JSON at a path, and expects it.
    ///
    /// # Errors
    /// Those of [`Server::ask`], and what the server refuses.
    pub(super) fn json<A: DeserializeOwned>(
        &self,
        waits: &Waits<'_>,
        method: Method,
        path: &str,
        body: &[u8],
    ) -> Result<A, Fault> {
        let request =
            Request { method, path, body, is_lines: false, answer_max: limits::OPENSEARCH_ANSWER_BYTES_MAX };
        let reply = self.ask(waits, &request)?;
        if reply.status / 100 != 2 {
            return Err(refused(&reply));
        }
        serde_json::from_slice(&reply.body).map_err(|error| {
            Fault::passing(AWAY, format!("the answer of the server cannot be understood: {error}"))
        })
    }
}

/// What one attempt led to.
pub(super) enum Answer {
    /// The server answered: it did it, or refuses it.
    Said(Reply),
    /// It may be asked again; nobody knows whether it did it.
    Again { told: String, rest_ms: Option<u64> },
    /// It answers with more than it may.
    TooLarge,
}

/// The fault of an answer that refuses what was asked.
pub(super) fn refused(reply: &Reply) -> Fault {
    let said = Said::of(reply);
    match said.lost() {
        Some(lost) => lost,
        None if reply.status == 404 => replaced(),
        None => {
            Fault::refused(AWAY, format!("the server refuses it ({}): {}", reply.status, said.sentence()))
        }
    }
}

/// The fault of a right that is missing: it holds for every change, and no document is to blame.
pub(super) fn not_allowed(said: &Said) -> Fault {
    Fault::refused("rights", format!("the server does not let this user do that: {}", said.sentence()))
}

/// Said once the index is not the one any more that was opened.
pub(super) fn replaced() -> Fault {
    Fault::passing(
        REPLACED,
        "the index was dropped or replaced while it was written to; run again, and everything is sent",
    )
}

/// Said of an index that somebody has closed: no run opens it.
fn closed(index: Option<&str>) -> Fault {
    let (named, path) = index.map_or((String::new(), "INDEX"), |index| (format!(" {index}"), index));
    Fault::passing(
        REPLACED,
        format!(
            "the index{named} is closed at its server, which lets nobody read or write it; open it there (`POST /{path}/_open`), then run again"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_says_is_one_short_line_without_a_text_of_a_document() {
        let kind = || Said { kind: "some_exception".to_owned(), ..Said::default() };
        let sentence = |reason: &str| Said { reason: Some(reason.to_owned()), ..kind() }.sentence();
        let wrong = "failed to parse field [size] of type [long] in document with id '1'. Preview of field's value: 'SECRET'";
        assert_eq!(sentence(wrong), "failed to parse field [size] of type [long] in document with id '1'");
        let immense = "one immense term in field=\"body\". The prefix of the first immense term is: '[83, 69, 67]...', original";
        assert_eq!(sentence(immense), "one immense term in field=\"body\"");
        assert_eq!(sentence("two\nlines\tand a stop."), "two lines and a stop");
        assert_eq!(sentence(&"x".repeat(9_999)).len(), limits::OPENSEARCH_SAID_MAX);
        assert_eq!(kind().sentence(), "some_exception");
    }
}
