//! Operations at work for clients: each in a thread of its own, so many at once as there may be; who comes beyond waits for a moment, as
//! the connections that there may be bound how many wait, and is then asked to come again.

mod done;
mod reports;
mod waits;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use ingather_model::access::identity::Identity;
use ingather_model::limits;
use ingather_model::run_counts::number;
use ingather_operations::documents::push::channels::{self, Waiting};
use ingather_operations::jobs::{self, ListJobs, figures};
use ingather_operations::operation::{Callable, Effect, OwnSources, Role};
use ingather_operations::problem::{Code, Problem, Result};
use ingather_operations::search::SEARCH;
use ingather_operations::{Caller, Context, LogEntry, Places, Service};
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use self::done::{at_most, change, done, look, named_job};
use self::waits::Waits;
use crate::asking::{Asking, Peer};
use crate::failures::{Failures, Told};
use crate::metrics::{self, CountedAs, Metrics};
use crate::problems::{self, REQUEST, json_response};
use crate::proxies::{self, Proxies};
use crate::rates::Rates;
use crate::repeats::Repeats;
use crate::request;
use crate::stream::Streams;

/// The service, and how many operations may be at work.
pub(crate) struct Answers {
    service: Arc<dyn Service>,
    free: Arc<Semaphore>,
    /// How many pushes may be at work beside these.
    pushes: Arc<Semaphore>,
    /// KiB of large bodies that there is room for.
    large_bodies: Arc<Semaphore>,
    /// How many who present a token may be answered.
    tokens: Arc<Semaphore>,
    /// Sentences in the log about requests that failed.
    failures: Failures,
    /// Whoever watches the service is answered when it has no room for anybody else, one at a time.
    probes: Arc<Semaphore>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) streams: Arc<Streams>,
    /// Calls that wait for what channels tell.
    pub(crate) waits: Waits,
    repeats: Arc<Repeats>,
    pub(crate) rates: Arc<Rates>,
    /// When it began, and how many requests have come since: their ids.
    begun: i64,
    requests: AtomicU64,
    /// Everybody on this machine may see the metrics.
    pub(crate) open_metrics: bool,
    /// Reverse proxies that vouch for whoever asks.
    pub(crate) proxies: Option<Proxies>,
}

impl Answers {
    pub(crate) fn new(service: Arc<dyn Service>) -> Answers {
        let semaphore = |permits| Arc::new(Semaphore::new(permits));
        let metrics = Arc::new(Metrics::new());
        let begun = service.context().now();
        let streams = Arc::new(Streams::since(begun));
        let (counted, told) = (metrics.clone(), streams.clone());
        service.listen(Box::new(move |event| {
            counted.heard(event);
            told.heard(event);
        }));
        let free = semaphore(limits::HTTP_OPERATIONS_MAX);
        Answers {
            service,
            free,
            pushes: semaphore(limits::HTTP_PUSHES_MAX),
            large_bodies: semaphore(limits::HTTP_LARGE_BODIES_BYTES_MAX >> 10),
            tokens: semaphore(limits::HTTP_TOKENS_MAX),
            failures: Failures::default(),
            probes: semaphore(1),
            metrics,
            streams,
            waits: Waits::default(),
            repeats: Arc::default(),
            rates: Arc::new(Rates::new(limits::SEARCHES_PER_SECOND)),
            begun,
            requests: AtomicU64::new(0),
            open_metrics: false,
            proxies: None,
        }
    }

    pub(crate) fn log(&self, line: &str) {
        self.service.log(line);
    }

    /// Tells the log of a request that failed, unless it was told of many in this minute.
    fn log_failure(&self, operation: &'static str, problem: &Problem, request: &str) {
        let Told::This { left_out } = self.failures.another(problem.code, self.now()) else { return };
        if left_out > 0 {
            let word = problem.code.row().word;
            self.log(&format!(
                "{} more requests failed with {word}, which are not told one by one",
                number(left_out)
            ));
        }
        let told = problem.in_the_log();
        // Others may have chosen what it repeats, such as an address.
        let told = at_most(&told, limits::LOG_FAILURE_MAX);
        self.log(&format!("{operation}: {told} (request {request})"));
    }

    pub(crate) fn note(&self, entry: &LogEntry<'_>) {
        self.service.note(entry);
    }

    /// The id of another request.
    pub(crate) fn next_request(&self) -> String {
        format!("{:x}-{:x}", self.begun, self.requests.fetch_add(1, Ordering::Relaxed))
    }

    /// The time, milliseconds since 1970 UTC.
    pub(crate) fn now(&self) -> i64 {
        self.service.context().now()
    }

    /// Lets something work in a thread of its own.
    pub(crate) async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Context<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.work_of(Effect::Reads, work).await
    }

    /// The same of an operation: pushes have places of their own.
    async fn work_of<T: Send + 'static>(
        &self,
        effect: Effect,
        work: impl FnOnce(&Context<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (places, most, of) = match effect {
            Effect::Pushes => (&self.pushes, limits::HTTP_PUSHES_MAX, "pushes"),
            Effect::Reads | Effect::Changes => (&self.free, limits::HTTP_OPERATIONS_MAX, "requests"),
        };
        let permit = permit(places, 1).await.ok_or_else(|| busy(most, of))?;
        self.work_with(permit, work).await
    }

    /// Room for a large body, for whom the service knows; none is needed for a small one.
    async fn room_for(&self, bytes: usize, asking: &Asking) -> Result<Option<OwnedSemaphorePermit>> {
        if bytes <= limits::HTTP_BODY_BYTES_MAX {
            return Ok(None);
        }
        let asking = asking.clone();
        self.work(move |context| asking.asker(context)).await?;
        let room = permit(&self.large_bodies, bytes.div_ceil(1 << 10) as u32).await;
        let most = limits::HTTP_LARGE_BODIES_BYTES_MAX >> 20;
        room.map(Some).ok_or_else(|| busy(most, "MiB of large bodies"))
    }

    /// A place among those who present a token, for whoever does: had before the place of an operation, and as long as that. Whose token it is, and
    /// what the person holds, may have to be asked a provider: others are not to wait as long as that hangs.
    async fn place_of_token(&self, asking: &Asking) -> Result<Option<OwnedSemaphorePermit>> {
        let Asking::Token(_) = asking else { return Ok(None) };
        let permit = permit(&self.tokens, 1).await;
        permit.map(Some).ok_or_else(|| busy(limits::HTTP_TOKENS_MAX, "requests with tokens"))
    }

    async fn work_with<T: Send + 'static>(
        &self,
        permit: OwnedSemaphorePermit,
        work: impl FnOnce(&Context<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let service = self.service.clone();
        let worked = tokio::task::spawn_blocking(move || {
            let worked = work(&service.context());
            drop(permit);
            worked
        });
        // Who watches the service has been told of the panic.
        worked.await.unwrap_or_else(|_| Err(Problem::unable("the service failed at it; its log says how")))
    }

    /// Looks at the inventory for whoever watches the service: also while there is no room for anybody else, and for a bounded time.
    pub(crate) async fn watch<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Context<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let looked = async {
            let permit = self.probes.clone().acquire_owned().await;
            self.work_with(permit.map_err(|_| Problem::stopped())?, look).await
        };
        let looked = tokio::time::timeout(Duration::from_millis(limits::HTTP_READY_MS_MAX), looked);
        looked.await.unwrap_or_else(|_| {
            let waited = limits::HTTP_READY_MS_MAX / 1_000;
            let sentence =
                format!("the inventory has not answered within {waited} s; look at its disk or its server");
            Err(Problem::new(Code::Busy, sentence))
        })
    }

    /// Refuses whoever is no operator.
    pub(crate) async fn refuse_others(&self, asking: &Asking) -> Result<()> {
        let asking = asking.clone();
        self.watch(move |context| asking.refuse_others(context)).await
    }

    /// Whether the inventory answers.
    pub(crate) async fn ready(&self) -> Response {
        let asked = self.watch(|context| {
            let caller = Caller {
                name: "readiness",
                roles: &[Role::Operator],
                identity: &|| Ok(Identity::anonymous()),
                places: Places::Below(&[]),
                themselves: None,
                sources: OwnSources::All,
            };
            jobs::LIST.call(context, &caller, ListJobs { limit: 1, cursor: None }).map(drop)
        });
        match asked.await {
            Ok(()) => json_response(StatusCode::OK, "application/json", &json!({"ready": true})),
            Err(problem) => problems::response(&problem),
        }
    }
}

fn busy(most: usize, of: &str) -> Problem {
    let after = limits::HTTP_RETRY_AFTER_S;
    let sentence =
        format!("{most} {of} are being answered, and there may not be more; ask again in {after} s");
    Problem::new(Code::Busy, sentence)
}

/// So many of the places, waited for. Most operations take milliseconds: many who ask in the same moment are answered one after another.
async fn permit(places: &Arc<Semaphore>, count: u32) -> Option<OwnedSemaphorePermit> {
    let free = places.clone().acquire_many_owned(count);
    let free = tokio::time::timeout(Duration::from_millis(limits::HTTP_OPERATION_WAIT_MS_MAX), free);
    free.await.ok()?.ok()
}

/// Answers `/metrics`: to operators, and where it was said so to everybody on this machine.
pub(crate) async fn metrics(answers: Arc<Answers>, request: Request) -> Response {
    let (head, _) = request.into_parts();
    let is_here = matches!(head.extensions.get(), Some(Peer::Network { from }) if from.is_loopback());
    // Whoever says who they are is answered as that.
    let is_nameless = !head.headers.contains_key(header::AUTHORIZATION)
        && !proxies::names_somebody(answers.proxies.as_ref(), &head.headers);
    let asking = match answers.open_metrics && is_here && is_nameless {
        true => Ok(None),
        false => Asking::of(&head, answers.proxies.as_ref()).map(Some),
    };
    let free = answers.free.available_permits() + answers.pushes.available_permits();
    let at_work = limits::HTTP_OPERATIONS_MAX + limits::HTTP_PUSHES_MAX - free;
    let (counted, runs) = (answers.metrics.clone(), answers.streams.progress().len());
    let work = move |context: &Context<'_>| {
        if let Some(asking) = asking? {
            asking.refuse_others(context)?;
        }
        counted.text(at_work, runs, &figures::watched(context)?)
    };
    match answers.watch(work).await {
        Ok(text) => {
            let mut response = Response::new(Body::from(text));
            let headers = response.headers_mut();
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(metrics::KIND));
            headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
            response
        }
        Err(problem) => problems::response(&problem),
    }
}

/// Answers a request for an operation; where it waits for what a channel tells, when that was told, or its time is over.
pub(crate) async fn answer(
    answers: Arc<Answers>,
    operation: &'static dyn Callable,
    parts: Vec<(String, String)>,
    request: Request,
) -> Response {
    let begun = Instant::now(); // clock: how long a caller waits, which nothing that is kept goes by
    let answered = async {
        let received = Received::of(&answers, operation, request).await?;
        if reports::is_wanted(operation, &received.head.headers) {
            let Received { head, body, .. } = &received;
            let request = request::request(operation, parts, &head.uri, &head.headers, body)?;
            return reports::stream(answers.clone(), operation, (received, request)).await;
        }
        let mut asked: Option<Value> = None;
        loop {
            let (parts, again) = (parts.clone(), asked.clone());
            let make: Make = match again {
                None => Box::new(move |head, body| {
                    request::request(operation, parts, &head.uri, &head.headers, body)
                }),
                Some(again) => Box::new(move |_, _| Ok(again)),
            };
            let (answered, waiting) = asked_of(&answers, operation, make, &received, asked.is_none()).await;
            let Some(waiting) = waiting else { return answered.map(|answered| answered.response()) };
            let until = begun + Duration::from_secs(u64::from(waiting.seconds));
            if !waits::wait(&answers, (waiting.channel, waiting.sign), until).await {
                return answered.map(|answered| answered.response());
            }
            asked = waiting.next.or(asked);
        }
    };
    let mut response = answered.await.unwrap_or_else(|problem| problems::response(&problem));
    response.extensions_mut().insert(CountedAs(operation.name));
    response
}

/// Makes the request of an operation, of the head and the body of one over HTTP.
pub(crate) type Make = Box<dyn FnOnce(&Parts, &[u8]) -> Result<Value> + Send>;

/// What an operation answers, for whoever tells it in words of their own; the log is told of failures.
///
/// # Errors
/// What the operation says, or what hinders the answer.
pub(crate) async fn told(
    answers: &Answers,
    operation: &'static dyn Callable,
    make: Make,
    request: Request,
) -> Result<Answered> {
    let received = Received::of(answers, operation, request).await?;
    asked_of(answers, operation, make, &received, true).await.0
}

/// A request that has come, whole.
struct Received {
    head: Arc<Parts>,
    body: Bytes,
    asking: Asking,
    _room: Option<OwnedSemaphorePermit>,
}

impl Received {
    async fn of(answers: &Answers, operation: &'static dyn Callable, request: Request) -> Result<Received> {
        let (head, body) = request.into_parts();
        // Before anything of the body is read: whoever has no key sends it for nothing.
        let asking = Asking::of(&head, answers.proxies.as_ref())?;
        let most = match operation.operation().effect {
            Effect::Pushes => limits::RECORDS_BYTES_MAX,
            Effect::Reads | Effect::Changes => limits::HTTP_BODY_BYTES_MAX,
        };
        let bytes = request::refuse_too_large(&body, most)?;
        let _room = answers.room_for(bytes, &asking).await?;
        let body = request::body(body, most).await?;
        Ok(Received { head: Arc::new(head), body, asking, _room })
    }
}

/// What an operation has answered, and what is said of that in the head.
pub(crate) struct Answered {
    pub(crate) answer: Value,
    /// What tells this definition of a job from others.
    tag: Option<String>,
    /// It was done before.
    is_repeated: bool,
}

impl Answered {
    fn plain(answer: Value) -> Answered {
        Answered { answer, tag: None, is_repeated: false }
    }

    fn response(&self) -> Response {
        let mut response = json_response(StatusCode::OK, "application/json", &self.answer);
        let headers = response.headers_mut();
        if let Some(Ok(tag)) = self.tag.as_ref().map(|tag| HeaderValue::from_str(&format!("\"{tag}\""))) {
            headers.insert(header::ETAG, tag);
        }
        if self.is_repeated {
            headers.insert("idempotent-replayed", HeaderValue::from_static("true"));
        }
        response
    }
}

/// What an operation answers, and what a caller waits for who would hear too little; the log is told of failures. `is_whole`: it is done as the request says, and not a
/// look at what became of that.
async fn asked_of(
    answers: &Answers,
    operation: &'static dyn Callable,
    make: Make,
    received: &Received,
    is_whole: bool,
) -> (Result<Answered>, Option<Waiting>) {
    let of_token = match answers.place_of_token(&received.asking).await {
        Ok(of_token) => of_token,
        Err(problem) => return (Err(problem), None),
    };
    let (repeats, rates, service) = (answers.repeats.clone(), answers.rates.clone(), answers.service.clone());
    let id = REQUEST.try_with(Clone::clone).unwrap_or_default();
    let Received { head, body, asking, .. } = received;
    let (head, body, asking) = (head.clone(), body.clone(), asking.clone());
    let work = move |context: &Context<'_>| {
        let _of_token = of_token;
        let asker = asking.asker(context)?;
        let request = make(&head, &body)?;
        let for_waits = channels::may_wait(operation.name).then(|| channels::of_waits(&request));
        let work = || {
            // Whoever may not ask is told no more than that.
            if !asker.may(operation, &request) {
                if operation.effect != Effect::Reads {
                    // On no record of changes, which it could push out; the log says who tried, and is not to be filled with that either.
                    rates.take(&asker, context.now())?;
                    let job = named_job(&request);
                    let (event, outcome) = (operation.name, Code::Forbidden.row().word);
                    service.note(&LogEntry { event, outcome, job, caller: &asker.name, request: &id });
                }
                return done(context, &asker, operation, request).map(Answered::plain);
            }
            // Whoever asks about themselves by a token has no other bound.
            if operation.name == SEARCH.operation.name || !asker.has(operation.role) {
                rates.take(&asker, context.now())?;
            }
            if operation.effect == Effect::Reads || !is_whole {
                return look(context, &asker, operation, request);
            }
            let job = named_job(&request).to_owned();
            let changed = change(context, &repeats, &asker, operation, &head.headers, request);
            let outcome = changed.as_ref().map_or_else(|problem| problem.code.row().word, |_| "done");
            service.note(&LogEntry {
                event: operation.name,
                outcome,
                job: &job,
                caller: &asker.name,
                request: &id,
            });
            changed
        };
        let answered = work();
        let waiting = for_waits.and_then(|request| {
            channels::waiting(operation.name, &request, answered.as_ref().map(|answered| &answered.answer))
        });
        Ok((answered, waiting))
    };
    let (answered, waiting) = match answers.work_of(operation.effect, work).await {
        Ok(told) => told,
        Err(problem) => (Err(problem), None),
    };
    if let Err(problem) = &answered
        && problem.code.row().status >= 500
    {
        let request = REQUEST.try_with(Clone::clone).unwrap_or_default();
        answers.log_failure(operation.name, problem, &request);
    }
    (answered, waiting)
}
