//! Questions to a wiki: one request each, and what its errors mean. Nothing that goes wrong here is ever an answer about a page.

use std::io::Read;
use std::sync::{Arc, OnceLock};

use ingather_contract::call::CallContext;
use ingather_model::fault::{Exhausted, Fault, Reason};
use ingather_model::limits;
use url::Url;
use url::form_urlencoded::Serializer;

use super::answers::{Answer, Said};
use crate::http::faults::retry_in_ms;
use crate::http::{self, Client, ClientSettings, Condition, Head, Response, fault_of};
use crate::session::LOGIN;
use crate::site::paces::{LEFT_ALONE, Paces};
use crate::urls;

/// The API of one wiki.
pub(super) struct Api {
    pub(super) url: Url,
    /// What all its documents share, first of all its host.
    pub(super) bins: Vec<String>,
    pub(super) paces: Arc<Paces>,
    settings: ClientSettings,
    /// Made when it is needed first: reading the certificates of a system takes longer than most questions about a job.
    client: OnceLock<Result<Client, Reason>>,
}

impl Api {
    pub(super) fn new(url: Url, settings: ClientSettings, paces: Arc<Paces>) -> Api {
        Api { bins: urls::bins(&url), url, paces, settings, client: OnceLock::new() }
    }

    pub(super) fn client(&self) -> Result<&Client, Fault> {
        let made = self.client.get_or_init(|| {
            Client::new(self.settings.clone()).map(|client| client.by_turns(self.paces.clone()))
        });
        made.as_ref().map_err(|reason| Fault::Refused(reason.clone()))
    }

    fn host(&self) -> &str {
        self.bins.first().map_or("", String::as_str)
    }

    /// Asks once.
    ///
    /// # Errors
    /// `Gone` where the page that was asked for is not there; else what says nothing of any page.
    pub(super) fn ask(&self, call: &CallContext, question: &[(&str, &str)]) -> Result<Answer, Fault> {
        let mut url = self.url.clone();
        url.query_pairs_mut().extend_pairs(question).extend_pairs(FORMAT).append_pair("maxlag", &max_lag());
        let asked = self.client()?.ask(call, &url, Condition::default());
        self.paced(asked.and_then(|response| self.understood(response, call.now())))
    }

    /// Sends what is secret, so that it stands in no address.
    ///
    /// # Errors
    /// As of [`Api::ask`].
    pub(super) fn tell(&self, call: &CallContext, told: &[(&str, &str)]) -> Result<Answer, Fault> {
        let form = Serializer::new(String::new()).extend_pairs(told).extend_pairs(FORMAT).finish();
        let asked = self.client()?.submit(call, &self.url, &form, &self.url);
        self.paced(asked.and_then(|response| self.understood(response, call.now())))
    }

    /// A wiki that says that it is asked too often, or that it lags, is asked less.
    fn paced(&self, answer: Result<Answer, Fault>) -> Result<Answer, Fault> {
        match &answer {
            Ok(_) => self.paces.answered(self.host()),
            Err(Fault::Passing { reason, retry_in_ms, .. })
                if reason.code != LEFT_ALONE
                    && (retry_in_ms.is_some() || reason.code == "too_many_requests") =>
            {
                self.paces.slower(self.host(), *retry_in_ms);
            }
            Err(_) => {}
        }
        answer
    }

    fn understood(&self, response: Response, now: i64) -> Result<Answer, Fault> {
        let head = response.head.clone();
        let answer = match response.answer() {
            Ok(http::Answer::Page(_, mut body)) => {
                let mut json = Vec::new();
                body.read_to_end(&mut json).map_err(|error| fault_of(&error))?;
                json
            }
            Ok(http::Answer::Moved(_, to)) => {
                let message = format!(
                    "the API of the wiki is redirected to {to}; perhaps that is to be the root of the job, or its server wants `credentials`"
                );
                return Err(Fault::broken("api_moved", message));
            }
            Ok(http::Answer::Absent(_) | http::Answer::Unchanged(_)) => {
                let message = format!(
                    "{} answers {}; the root is the address of the api.php of a wiki",
                    self.url, head.status
                );
                return Err(Fault::broken("no_api", message));
            }
            Err(fault) => return Err(fault),
        };
        let answer: Answer =
            serde_json::from_slice(&answer).map_err(|error| self.no_answer(&head, &error))?;
        match &answer.error {
            Some(said) => Err(fault(said, &head, now)),
            None => Ok(answer),
        }
    }

    fn no_answer(&self, head: &Head, error: &serde_json::Error) -> Fault {
        let media = head.header("content-type").unwrap_or_default();
        let what =
            if media.contains("html") { "with a page for people" } else { "with something else than a wiki" };
        // What is wrong is told by its place alone: the answer is text of others.
        let message = format!(
            "{} answers {what} (line {}, column {}); the root is the address of the api.php of a wiki",
            self.url,
            error.line(),
            error.column()
        );
        Fault::broken("no_wiki", message)
    }
}

/// Of each question.
const FORMAT: &[(&str, &str)] = &[("format", "json"), ("formatversion", "2")];

fn max_lag() -> String {
    limits::WIKI_LAG_SECONDS_MAX.to_string()
}

/// What an error of a wiki means.
fn fault(said: &Said, head: &Head, now: i64) -> Fault {
    let says = format!("the wiki says {}", said.sentence());
    let later = |code: &str, retry_in_ms: Option<i64>| Fault::Passing {
        reason: Reason::new(code, says.clone()),
        retry_in_ms,
        attempts_max: None,
        give_up_at: None,
        when_exhausted: Exhausted::Skip,
    };
    let named = head.header("retry-after").and_then(|text| retry_in_ms(text, now));
    match said.code.as_str() {
        "maxlag" => later("maxlag", Some(named.unwrap_or(limits::WIKI_LAG_RETRY_MS))),
        "ratelimited" | "concurrency-limit" => later("too_many_requests", named),
        "readonly" => later("server", named),
        code if code.starts_with("internal_api_error") => later("server", named),
        "assertuserfailed" | "assertnameduserfailed" | "mustbeloggedin" => later(LOGIN, None),
        "readapidenied" | "permissiondenied" | "permissionserror" | "blocked" => {
            Fault::unreadable(format!("{says}: this reader may not have it"))
        }
        "missingtitle" | "nosuchpageid" => Fault::Gone,
        _ => Fault::broken("api", says),
    }
}
