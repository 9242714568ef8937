//! Sites where people log in by a form: a page for whoever is not logged in is never taken for the page that was asked for.

mod form;
pub(in crate::site) mod missing;
pub(in crate::site) mod rules;
#[cfg(test)]
mod tests;

use std::io::Read;

use ingather_contract::call::CallContext;
use ingather_contract::events::EventName;
use ingather_contract::refers::Asked;
use ingather_model::fault::{Fault, Reason};
use ingather_model::limits;
use url::Url;

use self::rules::Rules;
use super::Site;
use crate::http::{self, Answer, Body, Client, Condition, Head};
use crate::session::{LoginFailure, Session};

/// A login by a form.
pub(super) struct Login {
    rules: Rules,
    session: Session,
}

impl Login {
    pub(super) fn new(rules: Rules) -> Login {
        let session = Session::at(rules.page.host_str());
        Login { rules, session }
    }

    /// Whether an address is that of the page with the form, which is no page of the site.
    pub(super) fn is_page(&self, url: &Url) -> bool {
        self.rules.is_page(url)
    }

    /// Why an address is not asked for, where that would log out.
    pub(super) fn judge(&self, url: &Url) -> Result<(), Reason> {
        match self.rules.logs_out(url) {
            true => Err(Reason::new("logs_out", "by its name it is where one logs out")),
            false => Ok(()),
        }
    }

    /// Logs in, unless somebody did since `before`; see [`Session::renew`].
    fn renew(
        &self,
        site: &Site,
        call: &CallContext,
        asked: &Asked<'_>,
        before: u64,
    ) -> Result<Option<EventName>, Fault> {
        let client = site.client()?;
        let logging = Logging { rules: &self.rules, site, client, call };
        self.session.renew((call, asked), client, before, || {
            logging.log_in().inspect_err(|failure| {
                if !call.cancel.cancelled() {
                    site.note(self.session.passing(failure.why(), None).to_string());
                }
            })
        })
    }

    /// An answer, whether it is for whoever is not logged in; the beginning of a page is read for that.
    fn judged(&self, status: u16, answer: Result<Answer, Fault>) -> (Result<Answer, Fault>, bool) {
        if self.rules.is_out_by_status(status) {
            return (answer, true);
        }
        match answer {
            Ok(Answer::Moved(head, to)) => {
                let is_out = self.rules.is_out_by_redirect(&to);
                (Ok(Answer::Moved(head, to)), is_out)
            }
            Ok(Answer::Page(head, body)) => match begun(&head, body) {
                Ok((start, body)) => {
                    let is_out = self.rules.is_out_by_text(&start);
                    (Ok(Answer::Page(head, body.behind(start))), is_out)
                }
                Err(fault) => (Err(fault), false),
            },
            other => (other, false),
        }
    }
}

/// What a page that was asked for answers.
pub(super) enum PageAnswer {
    /// To whoever may read it.
    Page(Answer),
    /// Nothing before somebody else has logged in.
    After(EventName),
}

/// The beginning of a page of text, and the rest of it; nothing of what can be no form.
fn begun(head: &Head, mut body: Body) -> Result<(Vec<u8>, Body), Fault> {
    let mut start = Vec::new();
    let mut read = |length: u64, start: &mut Vec<u8>| {
        (&mut body).take(length).read_to_end(start).map_err(|error| http::fault_of(&error))
    };
    read(limits::SITEMAP_HEAD_BYTES as u64, &mut start)?;
    let media = head.header("content-type").unwrap_or("text/html").to_ascii_lowercase();
    let first = start.iter().find(|byte| !byte.is_ascii_whitespace() && !b"\xef\xbb\xbf".contains(byte));
    if ["html", "xml", "text/"].iter().any(|kind| media.contains(kind)) || first == Some(&b'<') {
        read(limits::WEB_LOGIN_LOOK_BYTES - start.len() as u64, &mut start)?;
    }
    Ok((start, body))
}

impl Site {
    /// What a page answers to whoever is logged in, where the job logs in there. An answer for somebody else costs one login and one more
    /// question; then it is a fault, and never the page.
    pub(super) fn ask_for_page(
        &self,
        call: &CallContext,
        asked: &Asked<'_>,
        url: &Url,
        condition: Condition<'_>,
    ) -> Result<PageAnswer, Fault> {
        let ask = || self.client()?.ask(call, url, condition);
        let Some(login) = self.login.as_ref().filter(|login| login.rules.cover(url)) else {
            return ask()?.answer().map(PageAnswer::Page);
        };
        let before = login.session.worked();
        let response = ask()?;
        let (answer, is_out) = login.judged(response.head.status, response.answer());
        if !is_out {
            return answer.map(PageAnswer::Page);
        }
        drop(answer);
        if let Some(event) = login.renew(self, call, asked, before)? {
            return Ok(PageAnswer::After(event));
        }
        let response = ask()?;
        let status = response.head.status;
        let (answer, is_out) = login.judged(status, response.answer());
        match is_out {
            false => {
                login.session.proven();
                answer.map(PageAnswer::Page)
            }
            // What is kept even from who is logged in is not for this reader, or not there.
            true if matches!(status, 401 | 403 | 404 | 410) => answer.map(PageAnswer::Page),
            true => Err(login.session.passing("it answers as to nobody, although the login worked", None)),
        }
    }
}

/// One login on its way.
struct Logging<'l> {
    rules: &'l Rules,
    site: &'l Site,
    client: &'l Client,
    call: &'l CallContext,
}

impl Logging<'_> {
    /// Fills in the form and sends it; why that did not work.
    fn log_in(&self) -> Result<(), LoginFailure> {
        let asked = self.client.ask(self.call, &self.rules.page, Condition::default());
        let (at, page) = self.followed(self.rules.page.clone(), asked)?;
        let (to, form) = self.rules.filled(&at, &page)?;
        let answered = self.client.submit(self.call, &to, &form, &at);
        let (_, page) = self.followed(to, answered)?;
        if self.rules.is_out_by_text(&page) {
            let why = "the form comes again after it was filled in; perhaps a name or password is wrong";
            return Err(LoginFailure::Refused(why.to_owned()));
        }
        match &self.rules.in_text {
            Some(text) if !text.is_match(&page) => {
                Err("the page after the form does not say what `logged_in_text` wants".into())
            }
            _ => Ok(()),
        }
    }

    /// The page that an answer leads to in the end. Nothing is sent again on the way: what is filled in goes to one address.
    fn followed(&self, at: Url, asked: Result<http::Response, Fault>) -> Result<(Url, Vec<u8>), String> {
        let (mut at, mut asked) = (at, asked);
        for _ in 0..=limits::WEB_LOGIN_REDIRECTS_MAX {
            match asked.and_then(http::Response::answer).map_err(|fault| fault.to_string())? {
                Answer::Page(_, body) => {
                    let mut page = Vec::new();
                    let read = body.take(limits::WEB_LOGIN_LOOK_BYTES).read_to_end(&mut page);
                    return read.map(|_| (at, page)).map_err(|error| http::fault_of(&error).to_string());
                }
                Answer::Moved(head, _) if matches!(head.status, 307 | 308) => {
                    return Err("it wants to have the form sent elsewhere again".into());
                }
                Answer::Moved(_, to) => {
                    let is_own = to.origin() == self.rules.page.origin() || self.rules.cover(&to);
                    if !is_own && self.site.checked.scope.judge_host(&to).is_err() {
                        return Err(format!("it leads to {to}, where nothing of the job is"));
                    }
                    asked = self.client.ask(self.call, &to, Condition::default());
                    at = to;
                }
                Answer::Absent(head) | Answer::Unchanged(head) => {
                    return Err(format!("{at} answers {}", head.status));
                }
            }
        }
        Err("it is redirected again and again".into())
    }
}
