//! Reports of a channel as server-sent events: the same ones, in their order, from behind the last one that a client has.

use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, header};
use axum::response::Response;
use hyper::body::Bytes;
use ingather_model::limits;
use ingather_operations::documents::push::channels::{REPORTS_OF, Sign};
use ingather_operations::operation::Callable;
use ingather_operations::problem::{Problem, Result};
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::Instant;

use super::{Answers, Make, Received, asked_of, waits};
use crate::request;
use crate::stream::{self, LAST_EVENT_ID};

/// Whether a request wants what an operation answers as a stream.
pub(super) fn is_wanted(operation: &dyn Callable, headers: &HeaderMap) -> bool {
    let accepts = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    operation.operation().name == REPORTS_OF.operation.name && accepts.contains("text/event-stream")
}

/// Answers with a stream that goes on until the channel has told all, or its client, its key or the service ends.
///
/// # Errors
/// What the operation says of the request; `Busy` where there are as many streams as may be.
pub(super) async fn stream(
    answers: Arc<Answers>,
    operation: &'static dyn Callable,
    (received, request): (Received, Value),
) -> Result<Response> {
    request::refuse_twice(&received.head.headers, &[LAST_EVENT_ID])?;
    let place = answers.streams.place()?;
    let id = received.head.headers.get(LAST_EVENT_ID).and_then(|id| id.to_str().ok());
    let seen = match id.map(str::parse::<i64>) {
        None => request["after"].as_i64().unwrap_or_default(),
        Some(Ok(seen)) => seen,
        Some(Err(_)) => return Err(Problem::usage("`Last-Event-ID` is the number of a report")),
    };
    let channel = request["channel"].as_i64().unwrap_or_default();
    let (sender, receiver) = mpsc::channel(1);
    let mut follower = Follower { answers, operation, received, channel, seen, _place: place };
    let first = follower.next().await?;
    tokio::spawn(follower.follow(first, sender));
    Ok(stream::response(receiver))
}

/// What sends to one client.
struct Follower {
    answers: Arc<Answers>,
    operation: &'static dyn Callable,
    received: Received,
    channel: i64,
    /// The last report that was sent.
    seen: i64,
    _place: OwnedSemaphorePermit,
}

/// Reports as they are sent.
struct Next {
    text: String,
    /// There are more now.
    more: bool,
    /// There is none behind them, ever.
    is_end: bool,
}

impl Follower {
    /// Asks as the client would: its key may have been taken back since the last time.
    async fn next(&mut self) -> Result<Next> {
        let request = json!({"channel": self.channel, "after": self.seen});
        let make: Make = Box::new(move |_, _| Ok(request));
        let (answered, _) = asked_of(&self.answers, self.operation, make, &self.received, false).await;
        let answer = answered?.answer;
        let reports = answer["reports"].as_array().cloned().unwrap_or_default();
        let text = reports.iter().map(|report| {
            let kind = report["kind"].as_str().unwrap_or_default();
            format!("id: {}\n{}", report["report"], stream::text(kind, report))
        });
        let more = answer["more"] == json!(true);
        let is_end = !more && answer["state"] == "terminated";
        self.seen = answer["last"].as_i64().unwrap_or(self.seen);
        Ok(Next { text: text.collect(), more, is_end })
    }

    async fn follow(mut self, first: Next, sender: mpsc::Sender<Bytes>) {
        let mut next = first;
        loop {
            // A client that takes nothing is cut off below this.
            if !next.text.is_empty() && sender.send(next.text.into()).await.is_err() {
                return;
            }
            if next.is_end {
                return;
            }
            if !next.more {
                let until = Instant::now() + Duration::from_millis(limits::CHANNEL_STREAM_QUIET_MS); // clock: how often a stream gives a sign of life
                let is_told = tokio::select! {
                    is_told = waits::wait(&self.answers, (self.channel, Sign::Told(self.seen)), until) => is_told,
                    () = sender.closed() => return,
                    () = self.answers.streams.ended() => return,
                };
                if !is_told && sender.send(": still here\n\n".into()).await.is_err() {
                    return;
                }
            }
            next = match self.next().await {
                Ok(next) => next,
                Err(_) => return,
            };
        }
    }
}
