//! The search page at `/`: for people, without any script. Whoever gives an API key searches as the account of that key, by the same
//! operation as everybody else; whom a reverse proxy vouches for does so without a key.

mod html;
mod sessions;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use axum::routing::{get, post};
use ingather_operations::operation::Role;
use ingather_operations::problem::{Code, Problem, Result};
use ingather_operations::search::{Found, SEARCH};
use ingather_operations::{Asker, Context, api_keys, links};
use serde_json::json;

use crate::answers::Answers;
use crate::asking::Asking;
use crate::rates::Rates;
use crate::request;
use crate::routes::{Parts, Site};
use sessions::{Session, Sessions};

/// Nothing is run, nothing is fetched from elsewhere, nobody puts the page into theirs.
const POLICY: &str =
    "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

struct Pages {
    answers: Arc<Answers>,
    sessions: Sessions,
    /// Cookies go over TLS alone.
    is_encrypted: bool,
    /// The cookie of somebody who is logged in. Cookies know no ports: its name has that of the service, so that services of one machine
    /// do not take each other's.
    session: String,
    /// The cookie of somebody who is about to log in: the form holds the same word.
    form: String,
}

/// The pages.
pub(crate) fn pages(answers: Arc<Answers>, site: Site) -> Router {
    let Site { port, is_encrypted } = site;
    // A browser takes such a name from nobody but this host, and over TLS alone.
    let beginning = if is_encrypted { "__Host-" } else { "" };
    let pages = Arc::new(Pages {
        answers,
        sessions: Sessions::default(),
        is_encrypted,
        session: format!("{beginning}ingather_session_{port}"),
        form: format!("{beginning}ingather_form_{port}"),
    });
    Router::new()
        .route("/", get(search))
        .route("/login", post(login))
        .route(&format!("{}{{secret}}", links::PATH), get(open_link))
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

fn cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    let all = headers.get_all(header::COOKIE).into_iter().filter_map(|line| line.to_str().ok());
    let pairs = all.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let mut values = pairs.filter(|(known, _)| *known == name).map(|(_, value)| value.to_owned());
    // Two of one name: one of them is somebody else's.
    values.next().filter(|value| values.all(|other| other == *value))
}

impl Pages {
    fn with_cookie(&self, mut response: Response, name: &str, value: &str) -> Response {
        let ends = if value.is_empty() { "; Max-Age=0" } else { "" };
        let secure = if self.is_encrypted { "; Secure" } else { "" };
        let cookie = format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict{secure}{ends}");
        if let Ok(cookie) = HeaderValue::from_str(&cookie) {
            response.headers_mut().append(header::SET_COOKIE, cookie);
        }
        response
    }

    /// Asks for a key, with a word that only this browser has.
    fn ask_for_key(&self, status: StatusCode, wrong: Option<&str>) -> Response {
        match api_keys::random() {
            Ok(form) => self.with_cookie(page(status, html::login(&form, wrong)), &self.form, &form),
            Err(problem) => {
                page(StatusCode::INTERNAL_SERVER_ERROR, html::login("", Some(&problem.to_string())))
            }
        }
    }
}

impl Pages {
    /// Lets somebody in, or says why not.
    fn begun(&self, known: Result<Entry>) -> Response {
        match known.and_then(|(key, whose, now)| self.sessions.begin(key, whose, now)) {
            Ok(word) => {
                let begun = self.with_cookie(to_search(), &self.session, &word);
                self.with_cookie(begun, &self.form, "")
            }
            Err(problem) => self.ask_for_key(status(&problem), Some(&problem.to_string())),
        }
    }
}

/// As whom a key searches, in words.
///
/// # Errors
/// `Forbidden` when it may not.
fn whose(asker: &Asker) -> Result<String> {
    if !asker.has(Role::Searcher) {
        let roles: Vec<&str> = asker.roles.iter().map(|role| role.as_str()).collect();
        let sentence = format!(
            "This API key may not search: it has the role {}, and searching needs the role searcher. {ANOTHER}",
            roles.join(" and ")
        );
        return Err(Problem::new(Code::Forbidden, sentence));
    }
    let name = asker.name.trim_start_matches("key ");
    Ok(match asker.account() {
        Some(account) => format!("You search as {account}, by the API key {name}."),
        None => format!(
            "The API key {name} has no account: only what is open to everybody, known or not, is found. {ANOTHER}"
        ),
    })
}

/// How somebody gets a key to search with.
const ANOTHER: &str =
    "For a key that searches as a person: ingather api-key create NAME --role searcher --account USER";

fn to_search() -> Response {
    let mut response = page(StatusCode::SEE_OTHER, String::new());
    response.headers_mut().insert(header::LOCATION, HeaderValue::from_static("/"));
    response
}

fn status(problem: &Problem) -> StatusCode {
    StatusCode::from_u16(problem.code.row().status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// Somebody at the page.
struct Reader {
    who: Who,
    /// As whom they search, in words.
    whose: String,
    /// What the form has to hold by which they log out; none where they are known without having logged in here.
    form: Option<String>,
}

enum Who {
    /// Whoever has logged in by the key of this public part.
    Key(String),
    /// Whom a reverse proxy vouches for.
    Vouched(String),
}

impl From<Session> for Reader {
    fn from(session: Session) -> Reader {
        Reader { who: Who::Key(session.key), whose: session.whose, form: Some(session.form) }
    }
}

impl Pages {
    fn vouched(&self, request: &Request) -> Result<Option<String>> {
        Asking::vouched(request.headers(), request.extensions(), self.answers.proxies.as_ref())
    }

    /// Who reads the page; none for somebody who has to log in. What a proxy says of this request counts before what a cookie says of earlier ones.
    fn reader(&self, request: &Request) -> Result<Option<Reader>> {
        if let Some(name) = self.vouched(request)? {
            let whose = format!("You search as {name}, by the word of a reverse proxy.");
            return Ok(Some(Reader { who: Who::Vouched(name), whose, form: None }));
        }
        let word = cookie(request.headers(), &self.session);
        Ok(word.and_then(|word| self.sessions.get(&word, self.answers.now())).map(Reader::from))
    }

    /// The answer to whoever wants to log in or out and says by a proxy who they are: they are known, or refused.
    fn known_already(&self, request: &Request) -> Option<Response> {
        match self.vouched(request) {
            Ok(None) => None,
            Ok(Some(_)) => Some(to_search()),
            Err(problem) => Some(self.ask_for_key(status(&problem), Some(&problem.to_string()))),
        }
    }
}

async fn search(State(pages): State<Arc<Pages>>, request: Request) -> Response {
    let reader = match pages.reader(&request) {
        Ok(Some(reader)) => reader,
        Ok(None) => return pages.ask_for_key(StatusCode::OK, None),
        Err(problem) => return pages.ask_for_key(status(&problem), Some(&problem.to_string())),
    };
    let fields = match request::pairs(request.uri().query().unwrap_or_default()) {
        Ok(fields) => fields,
        Err(problem) => return shown(&reader.whose, reader.form.as_deref(), "", Some(Err(problem)), 0),
    };
    let field = |name: &str| fields.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    let query = field("q").unwrap_or_default();
    let offset: u32 = field("offset").and_then(|offset| offset.parse().ok()).unwrap_or(0);
    if query.trim().is_empty() {
        return shown(&reader.whose, reader.form.as_deref(), "", None, 0);
    }
    let Reader { who, whose, form } = reader;
    let (asked, rates) = (query.clone(), pages.answers.rates.clone());
    let found = pages.answers.work(move |context| find(context, &rates, &who, &asked, offset)).await;
    if found.as_ref().is_err_and(|problem| problem.code == Code::Unauthenticated) {
        return pages.ask_for_key(
            StatusCode::UNAUTHORIZED,
            Some("Your API key is not valid any more. Log in with another one."),
        );
    }
    shown(&whose, form.as_deref(), &query, Some(found), offset)
}

fn shown(
    whose: &str,
    form: Option<&str>,
    query: &str,
    found: Option<Result<Found>>,
    offset: u32,
) -> Response {
    let status = match &found {
        Some(Err(problem)) => status(problem),
        _ => StatusCode::OK,
    };
    let found = found.map(|found| found.map_err(|problem| problem.to_string()));
    page(status, html::found(form, whose, query, found, offset))
}

fn find(context: &Context<'_>, rates: &Rates, who: &Who, query: &str, offset: u32) -> Result<Found> {
    let asker = match who {
        Who::Key(key) => Asker::let_in(context, key)?,
        Who::Vouched(name) => Asker::vouched_for(name),
    };
    rates.take(&asker, context.now())?;
    let request = json!({
        "query": query, "limit": html::HITS, "offset": offset, "facets": true, "folds": true, "advise": true,
    });
    let found = asker.ask(context, &SEARCH, request, &mut |_| {})?;
    serde_json::from_value(found)
        .map_err(|error| Problem::unable(format!("the answer cannot be read: {error}")))
}

async fn fields(request: Request) -> Result<(HeaderMap, Vec<(String, String)>)> {
    let (head, body) = request.into_parts();
    let body = request::body(body, ingather_model::limits::HTTP_BODY_BYTES_MAX).await?;
    let text = std::str::from_utf8(&body).map_err(|_| Problem::usage("the form is not in UTF-8"))?;
    Ok((head.headers, request::pairs(text)?))
}

fn value<'f>(fields: &'f [(String, String)], name: &str) -> &'f str {
    fields.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value.as_str())
}

async fn login(State(pages): State<Arc<Pages>>, request: Request) -> Response {
    if let Some(answer) = pages.known_already(&request) {
        return answer;
    }
    let (headers, fields) = match fields(request).await {
        Ok(read) => read,
        Err(problem) => return pages.ask_for_key(status(&problem), Some(&problem.to_string())),
    };
    let (form, presented) = (value(&fields, "form"), value(&fields, "key").trim().to_owned());
    if form.is_empty() || cookie(&headers, &pages.form).as_deref() != Some(form) {
        return pages
            .ask_for_key(StatusCode::FORBIDDEN, Some("This form is of another time. Send this one."));
    }
    let known = pages.answers.work(move |context| entry(context, Asker::by_key(context, &presented)?));
    pages.begun(known.await)
}

/// Logs whoever opens a link in as the key that it was made for.
async fn open_link(State(pages): State<Arc<Pages>>, secret: Parts, request: Request) -> Response {
    // Programs that show what is behind a link ask so; the link is for a person.
    if request.method() != Method::GET {
        return page(StatusCode::OK, String::new());
    }
    if let Some(answer) = pages.known_already(&request) {
        return answer;
    }
    let secret = secret.ok().and_then(|secret| Some(secret.iter().next()?.1.to_owned())).unwrap_or_default();
    let known = pages.answers.work(move |context| {
        let key = context.host.links().and_then(|links| links.open(&secret, context.now()));
        let key = key.ok_or_else(|| Problem::new(Code::Unauthenticated, VOID))?;
        entry(context, Asker::let_in(context, &key)?)
    });
    pages.begun(known.await)
}

/// What is said of a link that lets nobody in.
const VOID: &str = "This link was opened before, or is older than ten minutes. For another one: ingather api-key login-link NAME";

/// What a session begins with: the public part of a key, as whom it searches, and the time.
type Entry = (String, String, i64);

fn entry(context: &Context<'_>, asker: Asker) -> Result<Entry> {
    let whose = whose(&asker)?;
    let key = asker.key.ok_or_else(|| Problem::unable("only a key logs in; report this"))?;
    Ok((key, whose, context.now()))
}

async fn logout(State(pages): State<Arc<Pages>>, request: Request) -> Response {
    if let Some(answer) = pages.known_already(&request) {
        return answer;
    }
    let Ok((headers, fields)) = fields(request).await else {
        return pages.ask_for_key(StatusCode::BAD_REQUEST, None);
    };
    let word = cookie(&headers, &pages.session).unwrap_or_default();
    let Some(session) = pages.sessions.get(&word, pages.answers.now()) else { return to_search() };
    if value(&fields, "form") != session.form {
        return page(
            StatusCode::FORBIDDEN,
            html::found(
                Some(&session.form),
                &session.whose,
                "",
                Some(Err("This form is of another time. Send this one.".to_owned())),
                0,
            ),
        );
    }
    pages.sessions.end(&word);
    pages.with_cookie(to_search(), &pages.session, "")
}
