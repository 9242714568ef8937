//! Problems as clients are told them: `application/problem+json` (RFC 9457), with the code that programs go by.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use ingather_model::limits;
use ingather_operations::problem::{Code, Problem};
use serde_json::{Value, json};

tokio::task_local! {
    /// The id of the request that is being answered: it is in its answer, in its problem and in the log.
    pub(crate) static REQUEST: String;
}

/// A response with a body of JSON. What a service answers is for whoever asked: no browser keeps it or takes it for a page.
pub(crate) fn json_response(status: StatusCode, kind: &'static str, value: &Value) -> Response {
    let mut response = Response::new(Body::from(value.to_string()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// A problem as a response.
pub(crate) fn response(problem: &Problem) -> Response {
    let row = problem.code.row();
    let mut told = json!({
        "type": "about:blank",
        "title": row.says,
        "status": row.status,
        "code": row.word,
        "detail": problem.to_string(),
        "next": row.next,
    });
    if let Ok(request) = REQUEST.try_with(Clone::clone) {
        told["request"] = request.into();
    }
    self::told(problem.code, "application/problem+json", &told)
}

/// A response that tells of a problem, in whatever words.
pub(crate) fn told(code: Code, kind: &'static str, told: &Value) -> Response {
    let row = code.row();
    let status = StatusCode::from_u16(row.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = json_response(status, kind, told);
    let headers = response.headers_mut();
    let challenge = match row.code {
        Code::Unauthenticated => Some("Bearer"),
        // RFC 6750, 3.1: by this word clients know that another token is wanted.
        Code::InvalidToken => Some("Bearer error=\"invalid_token\""),
        _ => None,
    };
    if let Some(challenge) = challenge {
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
    }
    if [Code::Busy, Code::TooMany, Code::Throttled, Code::AuthorityAway].contains(&row.code) {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(limits::HTTP_RETRY_AFTER_S));
    }
    response
}
