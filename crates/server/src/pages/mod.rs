//! The search page at `/`: for people, without any script. Whoever gives an API key searches as the account of that key, by the same
//! operation as everybody else.

mod html;
mod sessions;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use axum::routing::{get, post};
use ingather_operations::problem::{Code, Problem, Result};
use ingather_operations::search::{Found, SEARCH};
use ingather_operations::{Asker, Context, api_keys};
use serde_json::json;

use crate::answers::Answers;
use crate::request;
use sessions::{Session, Sessions};

/// The cookie of somebody who is logged in.
const SESSION: &str = "ingather_session";
/// The cookie of somebody who is about to log in: the form holds the same word.
const FORM: &str = "ingather_form";
/// Nothing is run, nothing is fetched from elsewhere, nobody puts the page into theirs.
const POLICY: &str =
    "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

struct Pages {
    answers: Arc<Answers>,
    sessions: Sessions,
}

/// The pages.
pub(crate) fn pages(answers: Arc<Answers>) -> Router {
    let pages = Arc::new(Pages { answers, sessions: Sessions::default() });
    Router::new()
        .route("/", get(search))
        .route("/login", post(login))
        .route("/logout", post(logout))
        .route(
            "/style.css",
            get(|| async { text("text/css; charset=utf-8", include_str!("style.css").to_owned()) }),
        )
        .with_state(pages)
}

fn text(kind: &'static str, text: String) -> Response {
    let mut response = Response::new(Body::from(text));
    let headers = response.headers_mut();
    let mut set = |name, value| headers.insert(name, HeaderValue::from_static(value));
    set(header::CONTENT_TYPE, kind);
    set(header::CONTENT_SECURITY_POLICY, POLICY);
    set(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(header::X_FRAME_OPTIONS, "DENY");
    set(header::REFERRER_POLICY, "no-referrer");
    set(header::CACHE_CONTROL, "no-store");
    response
}

fn page(status: StatusCode, html: String) -> Response {
    let mut response = text("text/html; charset=utf-8", html);
    *response.status_mut() = status;
    response
}

fn with_cookie(mut response: Response, name: &str, value: &str) -> Response {
    let ends = if value.is_empty() { "; Max-Age=0" } else { "" };
    let cookie = format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict{ends}");
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}

fn cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    let all = headers.get_all(header::COOKIE).into_iter().filter_map(|line| line.to_str().ok());
    let mut pairs = all.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(known, _)| *known == name).map(|(_, value)| value.to_owned())
}

/// Asks for a key, with a word that only this browser has.
fn ask_for_key(status: StatusCode, wrong: Option<&str>) -> Response {
    match api_keys::random() {
        Ok(form) => with_cookie(page(status, html::login(&form, wrong)), FORM, &form),
        Err(problem) => page(StatusCode::INTERNAL_SERVER_ERROR, html::login("", Some(&problem.to_string()))),
    }
}

fn to_search() -> Response {
    let mut response = page(StatusCode::SEE_OTHER, String::new());
    response.headers_mut().insert(header::LOCATION, HeaderValue::from_static("/"));
    response
}

fn status(problem: &Problem) -> StatusCode {
    StatusCode::from_u16(problem.code.row().status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

async fn search(State(pages): State<Arc<Pages>>, request: Request) -> Response {
    let now = pages.answers.now();
    let session = cookie(request.headers(), SESSION).and_then(|word| pages.sessions.get(&word, now));
    let Some(session) = session else { return ask_for_key(StatusCode::OK, None) };
    let fields = match request::pairs(request.uri().query().unwrap_or_default()) {
        Ok(fields) => fields,
        Err(problem) => return shown(&session, "", Some(Err(problem)), 0),
    };
    let field = |name: &str| fields.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    let query = field("q").unwrap_or_default();
    let offset: u32 = field("offset").and_then(|offset| offset.parse().ok()).unwrap_or(0);
    if query.trim().is_empty() {
        return shown(&session, "", None, 0);
    }
    let (key, asked) = (session.key.clone(), query.clone());
    let found = pages.answers.work(move |context| find(context, &key, &asked, offset)).await;
    if found.as_ref().is_err_and(|problem| problem.code == Code::Unauthenticated) {
        return ask_for_key(
            StatusCode::UNAUTHORIZED,
            Some("Your API key is not valid any more. Log in with another one."),
        );
    }
    shown(&session, &query, Some(found), offset)
}

fn shown(session: &Session, query: &str, found: Option<Result<Found>>, offset: u32) -> Response {
    let status = match &found {
        Some(Err(problem)) => status(problem),
        _ => StatusCode::OK,
    };
    let found = found.map(|found| found.map_err(|problem| problem.to_string()));
    page(status, html::found(&session.form, query, found, offset))
}

fn find(context: &Context<'_>, key: &str, query: &str, offset: u32) -> Result<Found> {
    let asker = Asker::by_key(context, key)?;
    let request = json!({
        "query": query, "limit": html::HITS, "offset": offset, "facets": true, "folds": true, "advise": false,
    });
    let found = asker.ask(context, &SEARCH, request, &mut |_| {})?;
    serde_json::from_value(found)
        .map_err(|error| Problem::unable(format!("the answer cannot be read: {error}")))
}

async fn fields(request: Request) -> Result<(HeaderMap, Vec<(String, String)>)> {
    let (head, body) = request.into_parts();
    let body = request::body(body).await?;
    let text = std::str::from_utf8(&body).map_err(|_| Problem::usage("the form is not in UTF-8"))?;
    Ok((head.headers, request::pairs(text)?))
}

fn value<'f>(fields: &'f [(String, String)], name: &str) -> &'f str {
    fields.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value.as_str())
}

async fn login(State(pages): State<Arc<Pages>>, request: Request) -> Response {
    let (headers, fields) = match fields(request).await {
        Ok(read) => read,
        Err(problem) => return ask_for_key(status(&problem), Some(&problem.to_string())),
    };
    let (form, key) = (value(&fields, "form"), value(&fields, "key").trim().to_owned());
    if form.is_empty() || cookie(&headers, FORM).as_deref() != Some(form) {
        return ask_for_key(StatusCode::FORBIDDEN, Some("This form is of another time. Send this one."));
    }
    let presented = key.clone();
    let known = pages.answers.work(move |context| {
        Asker::by_key(context, &presented)?;
        Ok(context.now())
    });
    let begun = known.await.and_then(|now| pages.sessions.begin(key, now));
    match begun {
        Ok(word) => with_cookie(with_cookie(to_search(), SESSION, &word), FORM, ""),
        Err(problem) => ask_for_key(status(&problem), Some(&problem.to_string())),
    }
}

async fn logout(State(pages): State<Arc<Pages>>, request: Request) -> Response {
    let Ok((headers, fields)) = fields(request).await else {
        return ask_for_key(StatusCode::BAD_REQUEST, None);
    };
    let word = cookie(&headers, SESSION).unwrap_or_default();
    let Some(session) = pages.sessions.get(&word, pages.answers.now()) else { return to_search() };
    if value(&fields, "form") != session.form {
        return page(
            StatusCode::FORBIDDEN,
            html::found(
                &session.form,
                "",
                Some(Err("This form is of another time. Send this one.".to_owned())),
                0,
            ),
        );
    }
    pages.sessions.end(&word);
    with_cookie(to_search(), SESSION, "")
}
