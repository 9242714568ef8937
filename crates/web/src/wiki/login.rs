//! Sessions of wikis: one visit logs in, by an event, and the others come again after that. Each question says that it is asked by somebody who is logged in
//! (`assert`), so that no answer for strangers is taken for one to this reader.

use std::sync::atomic::{AtomicU64, Ordering};

use ingather_contract::call::CallContext;
use ingather_contract::events::{EventName, Events};
use ingather_contract::refers::Asked;
use ingather_model::fault::{Exhausted, Fault, Reason};
use ingather_model::limits;
use parking_lot::Mutex;

use super::answers::Answer;
use super::api::{Api, LOGIN};
use super::settings::LoginSettings;

/// What each question of somebody who is logged in says.
const ASSERT: (&str, &str) = ("assert", "user");
/// What wikis call what became of a login; other words are theirs, and nobody is told them.
const RESULTS: &[&str] =
    &["Failed", "Throttled", "Aborted", "WrongPass", "WrongToken", "NotExists", "NeedToken"];

/// A login, and what became of it so far.
pub(super) struct Login {
    settings: LoginSettings,
    /// How often it worked: whoever asked before the last time asks again.
    worked: AtomicU64,
    /// Never held while anything is asked for.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Since a question was answered.
    tries: u32,
    /// Nobody logs in before then, and why; milliseconds since 1970.
    wait: Option<(i64, String)>,
}

/// What a question of a visit comes to.
pub(super) enum Got {
    Answer(Box<Answer>),
    /// Nothing before somebody else has logged in.
    After(EventName),
}

impl Login {
    pub(super) fn new(settings: LoginSettings) -> Login {
        Login { settings, worked: AtomicU64::new(0), state: Mutex::default() }
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
        let before = self.worked.load(Ordering::SeqCst);
        match api.ask(call, &question) {
            Err(fault) if fault.reason().code == LOGIN => {}
            answer => return answer.map(|answer| Got::Answer(Box::new(answer))),
        }
        let event = asked.names.connection(&format!("login:{}", api.url.host_str().unwrap_or_default()));
        if !asked.events.begin(&event)? {
            return Ok(Got::After(event));
        }
        let owned = Owned { events: asked.events, event: &event };
        let renewed = self.renew(api, call, before);
        owned.complete()?;
        renewed?;
        let answer = api.ask(call, &question)?;
        *self.state.lock() = State::default();
        Ok(Got::Answer(Box::new(answer)))
    }

    fn renew(&self, api: &Api, call: &CallContext, before: u64) -> Result<(), Fault> {
        if self.worked.load(Ordering::SeqCst) > before {
            return Ok(());
        }
        if let Some((until, why)) = self.state.lock().wait.as_ref().filter(|(until, _)| call.now() < *until) {
            return Err(passing(why, Some(until - call.now())));
        }
        let failed = self.log_in(api, call).err();
        if call.cancel.cancelled() {
            return Err(Fault::passing("cancelled", "logging in was stopped"));
        }
        if failed.is_none() {
            // What is answered to questions from before says nothing of the new session.
            api.client()?.session_begins();
            self.worked.fetch_add(1, Ordering::SeqCst);
        }
        let mut state = self.state.lock();
        (state.tries, state.wait) = (state.tries + 1, None);
        if state.tries >= limits::WEB_LOGIN_ATTEMPTS_MAX {
            let why =
                failed.clone().unwrap_or_else(|| "the login works, and the wiki asks for it again".into());
            *state =
                State { tries: 0, wait: Some((call.now().saturating_add(limits::WEB_LOGIN_WAIT_MS), why)) };
        }
        let wait = state.wait.as_ref().map(|(until, _)| until - call.now());
        failed.map_or(Ok(()), |why| Err(passing(&why, wait)))
    }

    /// By a token, which comes with the cookie of a session; why that did not work.
    fn log_in(&self, api: &Api, call: &CallContext) -> Result<(), String> {
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
            result if RESULTS.contains(&result) => Err(format!(
                "the wiki answers {result}; perhaps the name or the password is wrong, or it takes bot passwords alone (Special:BotPasswords)"
            )),
            _ => Err("the wiki does not say that the login worked".into()),
        }
    }
}

fn passing(why: &str, retry_in_ms: Option<i64>) -> Fault {
    Fault::Passing {
        reason: Reason::new(LOGIN, format!("nobody is logged in at the wiki: {why}")),
        retry_in_ms,
        attempts_max: None,
        give_up_at: None,
        when_exhausted: Exhausted::Skip,
    }
}

/// An event that this visit has begun; completed also where logging in panics: no time frees it.
struct Owned<'l> {
    events: &'l dyn Events,
    event: &'l EventName,
}

impl Owned<'_> {
    fn complete(self) -> Result<(), Fault> {
        let completed = self.events.complete(self.event);
        std::mem::forget(self);
        completed
    }
}

impl Drop for Owned<'_> {
    fn drop(&mut self) {
        // Nobody hears of a fault here: a panic is on its way.
        let _ = self.events.complete(self.event);
    }
}
