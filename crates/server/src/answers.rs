//! Operations at work for clients: each in a thread of its own, so many at once as there may be; who comes beyond is asked to come
//! again, and nobody waits in a queue that could grow.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use ingather_model::access::identity::Identity;
use ingather_model::limits;
use ingather_operations::jobs::{self, ListJobs};
use ingather_operations::operation::{Callable, Role};
use ingather_operations::problem::{Code, Problem, Result};
use ingather_operations::{Asker, Caller, Context, Service};
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::problems::{self, json_response};
use crate::request;

/// How a connection came, as far as it tells who is at its other end.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Peer {
    /// Over the network: nobody in particular.
    Network,
    /// A user of this machine, as its kernel says.
    User(u32),
}

/// The service, and how many operations may be at work.
pub(crate) struct Answers {
    service: Arc<dyn Service>,
    free: Arc<Semaphore>,
    /// Whoever watches the service is answered when it has no room for anybody else, one at a time.
    probes: Arc<Semaphore>,
}

impl Answers {
    pub(crate) fn new(service: Arc<dyn Service>) -> Answers {
        let semaphore = |permits| Arc::new(Semaphore::new(permits));
        Answers { service, free: semaphore(limits::HTTP_OPERATIONS_MAX), probes: semaphore(1) }
    }

    pub(crate) fn log(&self, line: &str) {
        self.service.log(line);
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
        let permit = self.free.clone().try_acquire_owned().map_err(|_| {
            let sentence = format!(
                "{} requests are being answered, and there may not be more; ask again in {} s",
                limits::HTTP_OPERATIONS_MAX,
                limits::HTTP_RETRY_AFTER_S
            );
            Problem::new(Code::Busy, sentence)
        })?;
        self.work_with(permit, work).await
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

    /// Whether the inventory answers.
    pub(crate) async fn ready(&self) -> Response {
        let asked = async {
            let permit = self.probes.clone().acquire_owned().await;
            let permit = permit.map_err(|_| Problem::stopped())?;
            let work = |context: &Context<'_>| {
                let caller = Caller { roles: &[Role::Operator], identity: &|| Ok(Identity::anonymous()) };
                jobs::LIST.call(context, &caller, ListJobs { limit: 1, cursor: None }).map(drop)
            };
            self.work_with(permit, work).await
        };
        let asked = tokio::time::timeout(Duration::from_millis(limits::HTTP_READY_MS_MAX), asked);
        let asked = asked.await.unwrap_or_else(|_| {
            let waited = limits::HTTP_READY_MS_MAX / 1_000;
            let sentence =
                format!("the inventory has not answered within {waited} s; look at its disk or its server");
            Err(Problem::new(Code::Busy, sentence))
        });
        match asked {
            Ok(()) => json_response(StatusCode::OK, "application/json", &json!({"ready": true})),
            Err(problem) => problems::response(&problem),
        }
    }
}

/// Answers a request for an operation.
pub(crate) async fn answer(
    answers: Arc<Answers>,
    operation: &'static dyn Callable,
    parts: Vec<(String, String)>,
    request: Request,
) -> Response {
    match answered(&answers, operation, parts, request).await {
        Ok(value) => json_response(StatusCode::OK, "application/json", &value),
        Err(problem) => {
            if problem.code.row().status >= 500 {
                answers.log(&format!("{}: {problem}", operation.name));
            }
            problems::response(&problem)
        }
    }
}

async fn answered(
    answers: &Answers,
    operation: &'static dyn Callable,
    parts: Vec<(String, String)>,
    request: Request,
) -> Result<Value> {
    let (head, body) = request.into_parts();
    let peer = head.extensions.get::<Peer>().copied().unwrap_or(Peer::Network);
    // Before anything of the body is read: whoever has no key sends it for nothing.
    let key = presented(&head.headers)?;
    if key.is_none() && matches!(peer, Peer::Network) {
        let sentence = "this needs an API key; send `Authorization: Bearer ing_…`, or ask over the socket of the service";
        return Err(Problem::new(Code::Unauthenticated, sentence));
    }
    let body = request::body(body).await?;
    let work = move |context: &Context<'_>| {
        let asker = match (key, peer) {
            (Some(key), _) => Asker::by_key(context, &key)?,
            (None, Peer::User(user)) => Asker::of_this_machine(context, user)?,
            (None, Peer::Network) => return Err(Problem::unable("a request came from nowhere; report this")),
        };
        let request = request::request(operation, parts, &head.uri, &head.headers, &body)?;
        done(context, &asker, operation, request)
    };
    answers.work(work).await
}

/// What an operation answers; with what it handed out before, where it streams, up to a bound.
fn done(
    context: &Context<'_>,
    asker: &Asker,
    operation: &'static dyn Callable,
    request: Value,
) -> Result<Value> {
    let (mut items, mut left_out) = (Vec::new(), 0_u64);
    let answer =
        asker.ask(context, operation, request, &mut |item| match items.len() < limits::HTTP_ITEMS_MAX {
            true => items.push(item),
            false => left_out += 1,
        })?;
    Ok(match operation.item {
        Some(_) => json!({"items": items, "left_out": left_out, "answer": answer}),
        None => answer,
    })
}

/// The key that a client presents; none when it presents nothing.
///
/// # Errors
/// `Unauthenticated` for another way to say who asks: it is no reason to go on as somebody else.
fn presented(headers: &HeaderMap) -> Result<Option<String>> {
    request::refuse_twice(headers, &[header::AUTHORIZATION, header::CONTENT_TYPE, header::HOST])?;
    let Some(said) = headers.get(header::AUTHORIZATION) else { return Ok(None) };
    let said = said.to_str().ok().and_then(|said| said.split_once(' '));
    match said {
        Some((scheme, key)) if scheme.eq_ignore_ascii_case("bearer") => Ok(Some(key.trim().to_owned())),
        _ => Err(Problem::new(
            Code::Unauthenticated,
            "an API key is sent as `Authorization: Bearer ing_…`; send it so",
        )),
    }
}
