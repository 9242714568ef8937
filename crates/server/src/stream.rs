//! `/api/v1/stream`: what happens to jobs and runs, as server-sent events. The last ones are kept in memory, so that a client that was cut
//! off goes on behind the last one that it has; one that comes too late is told that it has lost some.

use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::Response;
use hyper::body::{Bytes, Frame};
use ingather_model::limits;
use ingather_operations::jobs::events::{Progress, RunEvent, RunHappening, Snapshot};
use ingather_operations::problem::{Code, Problem, Result};
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::time::{MissedTickBehavior, interval};

use crate::answers::Answers;
use crate::asking::Asking;
use crate::metrics::CountedAs;
use crate::problems;
use crate::request;

/// Where a client says what it has.
pub(crate) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// What is said of events that are not there any more.
const LOST: &str = "events were lost; ask for /api/v1/jobs to know how things stand";

/// All streams of a service.
pub(crate) struct Streams {
    /// What the ids of this service begin with: those of another one, or of one before it, mean nothing here.
    beginning: String,
    held: Mutex<Held>,
    /// The number of the last event; gone when the service ends.
    last: Mutex<Option<watch::Sender<u64>>>,
    free: Arc<Semaphore>,
}

#[derive(Default)]
struct Held {
    last: u64,
    /// The last events, as they are sent.
    events: VecDeque<(u64, String)>,
    /// How far runs have come, by the name of the job.
    under_way: BTreeMap<String, Weak<Progress>>,
}

/// What a stream has not sent yet.
struct Behind {
    /// Some before them are not there any more.
    lost: bool,
    text: String,
    last: u64,
}

impl Streams {
    /// Those of a service that began then.
    pub(crate) fn since(begun: i64) -> Streams {
        Streams {
            beginning: format!("{begun:x}"),
            held: Mutex::default(),
            last: Mutex::new(Some(watch::Sender::new(0))),
            free: Arc::new(Semaphore::new(limits::STREAMS_MAX)),
        }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn last(&self) -> MutexGuard<'_, Option<watch::Sender<u64>>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends all of them.
    pub(crate) fn end(&self) {
        self.last().take();
    }

    /// Comes back when the service ends.
    pub(crate) async fn ended(&self) {
        let told = self.last().as_ref().map(watch::Sender::subscribe);
        let Some(mut told) = told else { return };
        while told.changed().await.is_ok() {}
    }

    /// A place for another stream.
    ///
    /// # Errors
    /// `Busy` where there is none.
    pub(crate) fn place(&self) -> Result<OwnedSemaphorePermit> {
        self.free.clone().try_acquire_owned().map_err(|_| {
            let most = limits::STREAMS_MAX;
            Problem::new(Code::Busy, format!("{most} streams are open, and there may not be more; close one"))
        })
    }

    pub(crate) fn heard(&self, event: &RunEvent) {
        let mut held = self.held();
        match &event.what {
            RunHappening::Begun { progress, .. } => {
                held.under_way.insert(event.job.clone(), progress.clone());
            }
            RunHappening::Ended { .. } => {
                held.under_way.remove(&event.job);
            }
            RunHappening::Paused(_) => {}
        }
        for (name, told) in told(event) {
            held.last += 1;
            let number = held.last;
            held.events
                .push_back((number, format!("id: {}-{number}\n{}", self.beginning, text(name, &told))));
            if held.events.len() > limits::STREAM_EVENTS_KEPT {
                held.events.pop_front();
            }
        }
        let last = held.last;
        drop(held);
        if let Some(sender) = self.last().as_ref() {
            sender.send_replace(last);
        }
    }

    /// Where a client goes on, by the id of the last event that it has; whether that is no place of this service.
    fn beginning_of(&self, id: Option<&str>) -> (u64, bool) {
        let last = self.held().last;
        let Some(id) = id else { return (last, false) };
        let number = id.split_once('-').filter(|(beginning, _)| *beginning == self.beginning);
        let number = number.and_then(|(_, number)| number.parse().ok()).filter(|number| *number <= last);
        number.map_or((last, true), |number| (number, false))
    }

    /// The events behind a number.
    fn behind(&self, number: u64) -> Behind {
        let held = self.held();
        let first = held.events.front().map_or(held.last + 1, |(number, _)| *number);
        let events = held.events.iter().filter(|(of, _)| *of > number);
        Behind {
            lost: number + 1 < first,
            text: events.map(|(_, text)| text.as_str()).collect(),
            last: held.last,
        }
    }

    /// How far each run that is under way has come, by its job; one that ended by a fault of the program is none.
    pub(crate) fn progress(&self) -> BTreeMap<String, Snapshot> {
        let held = self.held();
        let known = held.under_way.iter();
        known.filter_map(|(job, progress)| Some((job.clone(), progress.upgrade()?.snapshot()))).collect()
    }
}

/// An event as it is sent.
pub(crate) fn text(name: &str, told: &Value) -> String {
    format!("event: {name}\ndata: {told}\n\n")
}

/// The names of what happened, and what is told of it.
fn told(event: &RunEvent) -> Vec<(&'static str, Value)> {
    let (at, job) = (event.at, &event.job);
    match &event.what {
        RunHappening::Begun { kind, .. } => {
            vec![("run.begun", json!({"at": at, "job": job, "kind": kind.as_str()}))]
        }
        RunHappening::Ended { run, outcome, counts, millis, error } => {
            let error =
                error.as_ref().map(|error| error.chars().take(limits::STREAM_ERROR_MAX).collect::<String>());
            let ended = json!({
                "at": at, "job": job, "run": run, "outcome": outcome.as_str(), "counts": counts,
                "seconds": Duration::from_millis(*millis).as_secs_f64(), "error": error,
            });
            let mut told = vec![("run.ended", ended)];
            if counts.held > 0 {
                told.push(("run.held", json!({"at": at, "job": job, "run": run, "held": counts.held})));
            }
            told
        }
        RunHappening::Paused(true) => vec![("job.paused", json!({"at": at, "job": job}))],
        RunHappening::Paused(false) => vec![("job.resumed", json!({"at": at, "job": job}))],
    }
}

/// Answers with a stream that goes on until its client, its key or the service ends.
pub(crate) async fn stream(answers: Arc<Answers>, request: Request) -> Response {
    let (head, _) = request.into_parts();
    let begun = async {
        let asking = Asking::of(&head, answers.proxies.as_ref())?;
        answers.refuse_others(&asking).await?;
        begin(answers.clone(), asking, &head.headers)
    };
    let mut response = begun.await.unwrap_or_else(|problem| problems::response(&problem));
    response.extensions_mut().insert(CountedAs("stream"));
    response
}

fn begin(answers: Arc<Answers>, asking: Asking, headers: &HeaderMap) -> Result<Response> {
    request::refuse_twice(headers, &[LAST_EVENT_ID])?;
    let streams = answers.streams.clone();
    let place = streams.place()?;
    let last = streams.last().as_ref().map(watch::Sender::subscribe).ok_or_else(Problem::stopped)?;
    let (number, lost) = streams.beginning_of(headers.get(LAST_EVENT_ID).and_then(|id| id.to_str().ok()));
    // A client that is cut off before the first event goes on from here.
    let mut first = format!("id: {}-{number}\n\n", streams.beginning);
    if lost {
        first.push_str(&text("lost", &json!({ "next": LOST })));
    }
    let (sender, receiver) = mpsc::channel(1);
    let follower = Follower { answers, streams, asking, last, number, sender, _place: place };
    tokio::spawn(follower.follow(first));
    Ok(response(receiver))
}

/// The answer whose body is a stream.
pub(crate) fn response(events: mpsc::Receiver<Bytes>) -> Response {
    let mut response = Response::new(Body::new(Events(events)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// What sends to one client.
struct Follower {
    answers: Arc<Answers>,
    streams: Arc<Streams>,
    asking: Asking,
    last: watch::Receiver<u64>,
    /// The last event that was sent.
    number: u64,
    sender: mpsc::Sender<Bytes>,
    _place: OwnedSemaphorePermit,
}

impl Follower {
    async fn follow(mut self, first: String) {
        if self.sender.send(first.into()).await.is_err() {
            return;
        }
        let mut looks = interval(Duration::from_millis(limits::STREAM_PROGRESS_MS));
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut known, mut quiet) = (BTreeMap::new(), 0);
        // Whoever was behind when they came is told at once.
        self.last.mark_changed();
        loop {
            let mut text = String::new();
            tokio::select! {
                changed = self.last.changed() => match changed {
                    Ok(()) => text.push_str(&self.events()),
                    // The service ends.
                    Err(_) => return,
                },
                _ = looks.tick() => text.push_str(&self.progress(&mut known)),
                () = self.sender.closed() => return,
            }
            if text.is_empty() {
                quiet += 1;
                if quiet < limits::STREAM_QUIET_MAX {
                    continue;
                }
                text.push_str(": still here\n\n");
            }
            quiet = 0;
            // A key may have been taken back since the last time.
            if self.answers.refuse_others(&self.asking).await.is_err() {
                return;
            }
            // A client that takes nothing is cut off below this.
            if self.sender.send(text.into()).await.is_err() {
                return;
            }
        }
    }

    fn events(&mut self) -> String {
        let behind = self.streams.behind(self.number);
        self.number = behind.last;
        match behind.lost {
            true => text("lost", &json!({ "next": LOST })) + &behind.text,
            false => behind.text,
        }
    }

    /// What has changed of the progress of runs; it has no id, for the next one says all of it again.
    fn progress(&self, known: &mut BTreeMap<String, Snapshot>) -> String {
        let now = self.streams.progress();
        let changed = now.iter().filter(|(job, snapshot)| known.get(*job) != Some(*snapshot));
        let told = changed.map(|(job, snapshot)| {
            let Snapshot { seen, known, changed, delivered, removed, bytes, waits_for } = snapshot;
            let told = json!({
                "job": job, "seen": seen, "known": known, "changed": changed, "delivered": delivered, "removed": removed,
                "bytes": bytes, "doing": waits_for,
            });
            text("run.progress", &told)
        });
        let told = told.collect();
        *known = now;
        told
    }
}

/// The body of a stream.
struct Events(mpsc::Receiver<Bytes>);

impl HttpBody for Events {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<std::result::Result<Frame<Bytes>, Self::Error>>> {
        self.0.poll_recv(context).map(|came| came.map(|bytes| Ok(Frame::data(bytes))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paused(job: &str) -> RunEvent {
        RunEvent { at: 1, job: job.to_owned(), what: RunHappening::Paused(true) }
    }

    #[test]
    fn a_client_goes_on_behind_what_it_has_and_is_told_when_that_is_too_long_ago() {
        let streams = Streams::since(255);
        assert_eq!(streams.beginning_of(Some("ff-0")), (0, false));
        let none = streams.behind(0);
        assert!(!none.lost && none.text.is_empty());
        streams.heard(&paused("a\nevent: forged"));
        streams.heard(&paused("b"));
        let behind = streams.behind(1);
        assert_eq!(behind.text, "id: ff-2\nevent: job.paused\ndata: {\"at\":1,\"job\":\"b\"}\n\n");
        assert!(!behind.lost && behind.last == 2);
        assert!(!streams.behind(0).text.contains("\nevent: forged"), "a name begins no line");
        assert_eq!(streams.beginning_of(Some("ff-2")), (2, false));
        for strange in ["ff-3", "fe-1", "1", "", "ff-", "ff--1"] {
            assert_eq!(streams.beginning_of(Some(strange)), (2, true), "{strange}");
        }
        (0..limits::STREAM_EVENTS_KEPT).for_each(|_| streams.heard(&paused("c")));
        assert!(!streams.behind(2).lost && streams.behind(1).lost);
        assert_eq!(streams.behind(1).text.matches("id: ").count(), limits::STREAM_EVENTS_KEPT);
    }
}
