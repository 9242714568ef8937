//! Operations about people who are pushed, in the words of SCIM (RFC 7644): paths below `/scim/v2`, bodies and errors of their own. Who asks, what it
//! may cost and what is put on record are as with all other requests.

mod asked;
mod described;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use axum::routing::any;
use ingather_operations::access::people::{PeopleKind, SCIM};
use ingather_operations::problem::{Code, Problem, Result};
use serde_json::{Value, json};

use self::asked::{Asked, What};
use crate::answers::{self, Answers};
use crate::metrics::CountedAs;
use crate::problems::{self, json_response};
use crate::routes::Parts;

/// The media type of everything that is answered.
const KIND: &str = "application/scim+json";

/// What it answers.
pub(crate) fn routes(answers: Arc<Answers>) -> Router {
    Router::new().route(&format!("{SCIM}/{{authority}}/{{*rest}}"), any(answer)).with_state(answers)
}

async fn answer(State(answers): State<Arc<Answers>>, parts: Parts, mut request: Request) -> Response {
    let part = |name: &str| {
        let parts = parts.as_ref().ok()?;
        parts.iter().find(|(known, _)| *known == name).map(|(_, text)| text.to_owned())
    };
    let (Some(authority), Some(rest)) = (part("authority"), part("rest")) else {
        return refused(&Problem::usage(
            "the path is not in UTF-8; encode names as UTF-8, then in percent-encoding",
        ));
    };
    let asked = match Asked::of(request.method(), authority, &rest) {
        Ok(asked) => asked,
        Err(problem) => return refused(&problem),
    };
    let operation = asked.operation();
    let mut response = match answered(&answers, &asked, &mut request).await {
        Ok(response) => response,
        Err(problem) => refused(&problem),
    };
    response.extensions_mut().insert(CountedAs(operation.name));
    response
}

async fn answered(answers: &Arc<Answers>, asked: &Asked, request: &mut Request) -> Result<Response> {
    // Of a job it says something else, so that nobody below sees it.
    let if_match = asked::if_match(request.headers_mut())?;
    let (of, request) = (asked.clone(), std::mem::take(request));
    let make = move |head: &axum::http::request::Parts, body: &[u8]| of.request(head, body, if_match);
    let answer = answers::told(answers, asked.operation(), Box::new(make), request).await?.answer;
    written(asked, answer)
}

/// An answer in the words of SCIM.
fn written(asked: &Asked, mut answer: Value) -> Result<Response> {
    let ok = |value: &Value| json_response(StatusCode::OK, KIND, value);
    Ok(match &asked.what {
        What::Config => ok(&described::config(&asked.authority)),
        What::ResourceTypes(id) => ok(&chosen(described::resource_types(&asked.authority), id.as_deref())?),
        What::Schemas(id) => ok(&chosen(described::schemas(&asked.authority), id.as_deref())?),
        What::List(_) | What::Search(_) => {
            let resources = answer["resources"].take();
            let count = resources.as_array().map_or(0, Vec::len);
            ok(&list(resources, count, &answer["total"], &answer["start_index"]))
        }
        What::Delete(..) => without_body(),
        // Whoever changes a large group is not sent its members again.
        What::Change(PeopleKind::Groups, _) => tagged(without_body(), &answer),
        What::Change(..) | What::Show(..) | What::Replace(..) => tagged(ok(&answer["resource"]), &answer),
        What::Create(_) => {
            let mut response = json_response(StatusCode::CREATED, KIND, &answer["resource"]);
            if let Some(Ok(location)) =
                answer["resource"]["meta"]["location"].as_str().map(HeaderValue::from_str)
            {
                response.headers_mut().insert(header::LOCATION, location);
            }
            tagged(response, &answer)
        }
    })
}

fn without_body() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}

fn tagged(mut response: Response, answer: &Value) -> Response {
    if let Some(Ok(version)) = answer["version"].as_str().map(HeaderValue::from_str) {
        response.headers_mut().insert(header::ETAG, version);
    }
    response
}

/// All of a few descriptions, or the one of this id.
fn chosen(all: Vec<Value>, id: Option<&str>) -> Result<Value> {
    let Some(id) = id else {
        let count = all.len();
        return Ok(list(all.into(), count, &count.into(), &1.into()));
    };
    let found = all.into_iter().find(|one| one["id"] == id);
    found.ok_or_else(|| Problem::new(Code::NoSuchPath, format!("`{id}` is not described here")))
}

fn list(resources: Value, count: usize, total: &Value, start_index: &Value) -> Value {
    json!({
        "schemas": ["urn:ietf:params:scim:api:messages:2.0:ListResponse"],
        "totalResults": total,
        "startIndex": start_index,
        "itemsPerPage": count,
        "Resources": resources,
    })
}

/// A problem in the words of SCIM (RFC 7644, 3.12).
fn refused(problem: &Problem) -> Response {
    let row = problem.code.row();
    let word = match problem.code {
        Code::PersonExists => Some("uniqueness"),
        Code::WrongFilter => Some("invalidFilter"),
        Code::WrongPath => Some("invalidPath"),
        Code::WrongValue => Some("invalidValue"),
        Code::WrongUse => Some("invalidSyntax"),
        _ => None,
    };
    let mut told = json!({
        "schemas": ["urn:ietf:params:scim:api:messages:2.0:Error"],
        "status": row.status.to_string(),
        "detail": problem.to_string(),
    });
    if let Some(word) = word {
        told["scimType"] = word.into();
    }
    problems::told(problem.code, KIND, &told)
}
