//! Paths: one for each row of the table that has one, and those that tell of the service itself.

use std::sync::Arc;

use axum::Router;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{MethodFilter, get, on};
use ingather_operations::OPERATIONS;
use ingather_operations::operation::{Rest, Verb};
use ingather_operations::problem::{Code, Problem};
use serde_json::json;

use crate::answers::{self, Answers};
use crate::description::description;
use crate::pages::pages;
use crate::people::scim;
use crate::problems::{self, json_response};
use crate::request::API;
use crate::stream;

/// What browsers have to know of the network address of a service.
#[derive(Clone, Copy)]
pub(crate) struct Site {
    /// Its port.
    pub(crate) port: u16,
    /// Whether it speaks TLS.
    pub(crate) is_encrypted: bool,
}

/// What a service answers, by path and verb.
pub(crate) fn routes(answers: Arc<Answers>, site: Site) -> Router {
    let described = Arc::new(description());
    let mut router = Router::new()
        .route(
            "/healthz",
            get(|| async { json_response(StatusCode::OK, "application/json", &json!({"ok": true})) }),
        )
        .route("/readyz", get(|State(answers): State<Arc<Answers>>| async move { answers.ready().await }))
        .route(
            "/metrics",
            get(|State(answers): State<Arc<Answers>>, request: Request| answers::metrics(answers, request)),
        )
        .route(
            &format!("{API}/stream"),
            get(|State(answers): State<Arc<Answers>>, request: Request| stream::stream(answers, request)),
        )
        .route(
            &format!("{API}/openapi.json"),
            get(|| async move { json_response(StatusCode::OK, "application/json", &described) }),
        );
    for operation in OPERATIONS {
        let Rest::At(verb, path) = operation.rest else { continue };
        let answer = move |State(answers): State<Arc<Answers>>, parts: Parts, request: Request| async move {
            let Ok(parts) = parts else { return no_text() };
            let parts = parts.iter().map(|(name, text)| (name.to_owned(), text.to_owned())).collect();
            answers::answer(answers, *operation, parts, request).await
        };
        router = router.route(&format!("{API}{path}"), on(filter(verb), answer));
    }
    router
        .with_state(answers.clone())
        .merge(scim::routes(answers.clone()))
        .merge(pages(answers, site))
        .fallback(nothing)
        .method_not_allowed_fallback(wrong_verb)
}

/// Fields in a path; none when they are no text.
pub(crate) type Parts = Result<RawPathParams, RawPathParamsRejection>;

fn no_text() -> Response {
    problems::response(&Problem::usage(
        "the path is not in UTF-8; encode names as UTF-8, then in percent-encoding",
    ))
}

fn filter(verb: Verb) -> MethodFilter {
    match verb {
        Verb::Get => MethodFilter::GET,
        Verb::Post => MethodFilter::POST,
        Verb::Delete => MethodFilter::DELETE,
    }
}

async fn nothing() -> Response {
    let sentence = format!("there is nothing at this path; {API}/openapi.json has those there are");
    problems::response(&Problem::new(Code::NoSuchPath, sentence))
}

async fn wrong_verb() -> Response {
    let sentence = format!("this path is not asked for by this verb; {API}/openapi.json has those there are");
    problems::response(&Problem::new(Code::WrongVerb, sentence))
}
