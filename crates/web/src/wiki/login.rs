//! Wikis that are read by somebody who is logged in: each question says so (`assert`), so that no answer for strangers is taken for one to
//! this reader.

use ingather_contract::call::CallContext;
use ingather_contract::events::EventName;
use ingather_contract::refers::Asked;
use ingather_model::fault::Fault;

use super::answers::Answer;
use super::api::Api;
use super::settings::LoginSettings;
use crate::session::{LOGIN, LoginFailure, Session};

/// What each question of somebody who is logged in says.
const ASSERT: (&str, &str) = ("assert", "user");
/// What wikis call what became of a login; other words are theirs, and nobody is told them.
const RESULTS: &[&str] =
    &["Failed", "Throttled", "Aborted", "WrongPass", "WrongToken", "NotExists", "NeedToken"];

/// Those of them by which a name or a password is refused.
const REFUSALS: &[&str] = &["Failed", "WrongPass", "NotExists"];

/// A login by a name and a password.
pub(super) struct Login {
    settings: LoginSettings,
    session: Session,
}

/// What a question of a visit comes to.
pub(super) enum Got {
    Answer(Box<Answer>),
    /// Nothing before somebody else has logged in.
    After(EventName),
}

impl Login {
    pub(super) fn new(settings: LoginSettings, host: Option<&str>) -> Login {
        Login { settings, session: Session::at(host) }
    }

    pub(super) fn user(&self) -> &str {
        &self.settings.user
    }

    /// Asks as somebody who is logged in; an answer that nobody is costs one login and one more question.
    pub(super) fn ask(
        &self,
        api: &Api,
        call: &CallContext,
        asked: &Asked<'_>,
        question: &[(&str, &str)],
    ) -> Result<Got, Fault> {
        let question = [question, &[ASSERT]].concat();
        let before = self.session.worked();
        match api.ask(call, &question) {
            Err(fault) if fault.reason().code == LOGIN => {}
            answer => return answer.map(|answer| Got::Answer(Box::new(answer))),
        }
        let log_in = || self.log_in(api, call);
        if let Some(event) = self.session.renew((call, asked), api.client()?, before, log_in)? {
            return Ok(Got::After(event));
        }
        let answer = api.ask(call, &question)?;
        self.session.proven();
        Ok(Got::Answer(Box::new(answer)))
    }

    /// By a token, which comes with the cookie of a session; why that did not work.
    fn log_in(&self, api: &Api, call: &CallContext) -> Result<(), LoginFailure> {
        let question = [("action", "query"), ("meta", "tokens"), ("type", "login")];
        let answer = api.ask(call, &question).map_err(|fault| fault.to_string())?;
        let token = answer.query.and_then(|query| query.tokens).and_then(|tokens| tokens.logintoken);
        let token = token.ok_or("the wiki gives no token for a login")?;
        let told = [
            ("action", "login"),
            ("lgname", self.settings.user.as_str()),
            ("lgpassword", self.settings.password.as_str()),
            ("lgtoken", token.as_str()),
        ];
        let answer = api.tell(call, &told).map_err(|fault| fault.to_string())?;
        let result = answer.login.map(|login| login.result).unwrap_or_default();
        match result.as_str() {
            "Success" => Ok(()),
            result if REFUSALS.contains(&result) => Err(LoginFailure::Refused(format!(
                "the wiki answers {result}; perhaps the name or the password is wrong, or it takes bot passwords alone (Special:BotPasswords)"
            ))),
            result if RESULTS.contains(&result) => Err(format!("the wiki answers {result}").into()),
            _ => Err("the wiki does not say that the login worked".into()),
        }
    }
}
