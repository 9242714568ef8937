//! Sessions at hosts where one has to log in: one visit logs in, by an event, and the others come again after that; a login that does not
//! work is not tried again and again.

use std::sync::atomic::{AtomicU64, Ordering};

use ingather_contract::call::CallContext;
use ingather_contract::events::{EventName, Events};
use ingather_contract::refers::Asked;
use ingather_model::fault::{Exhausted, Fault, Reason};
use ingather_model::limits;
use parking_lot::Mutex;

use crate::http::Client;

/// Code of what fails because nobody is logged in.
pub(crate) const LOGIN: &str = "login";

/// Whether somebody is logged in at a host, and what became of the logins so far.
pub(crate) struct Session {
    host: String,
    /// How often a login worked: whoever asked before the last time asks again.
    worked: AtomicU64,
    /// Never held while anything is asked for.
    state: Mutex<State>,
}

/// Why a login did not work.
pub(crate) enum LoginFailure {
    /// A name or a password is not taken: trying the same again at once only locks the account.
    Refused(String),
    /// Anything else; another try may do better.
    Other(String),
}

impl LoginFailure {
    pub(crate) fn why(&self) -> &str {
        let (LoginFailure::Refused(why) | LoginFailure::Other(why)) = self;
        why
    }
}

impl From<String> for LoginFailure {
    fn from(why: String) -> LoginFailure {
        LoginFailure::Other(why)
    }
}

impl From<&str> for LoginFailure {
    fn from(why: &str) -> LoginFailure {
        LoginFailure::Other(why.to_owned())
    }
}

#[derive(Default)]
struct State {
    /// Logins since one was proven to work, or since the last wait.
    tries: u32,
    /// Refusals since one was proven to work: each doubles the wait.
    refusals: u32,
    /// Nobody logs in before then, and why; milliseconds since 1970.
    wait: Option<(i64, String)>,
}

impl Session {
    pub(crate) fn at(host: Option<&str>) -> Session {
        let host = host.unwrap_or_default().to_owned();
        Session { host, worked: AtomicU64::new(0), state: Mutex::default() }
    }

    /// How often a login worked; told before a question is asked, see [`Session::renew`].
    pub(crate) fn worked(&self) -> u64 {
        self.worked.load(Ordering::SeqCst)
    }

    /// Something was answered that is answered to nobody else: the login works.
    pub(crate) fn proven(&self) {
        *self.state.lock() = State::default();
    }

    /// Why nothing is answered to this reader now.
    pub(crate) fn passing(&self, why: &str, retry_in_ms: Option<i64>) -> Fault {
        Fault::Passing {
            reason: Reason::new(LOGIN, format!("nobody is logged in at `{}`: {why}", self.host)),
            retry_in_ms,
            attempts_max: None,
            give_up_at: None,
            when_exhausted: Exhausted::Skip,
        }
    }

    /// Logs in, unless somebody did since `before`; the event after which to come again where somebody else is about to. It is pending in any
    /// job of the connection: there are sites where one login ends another.
    pub(crate) fn renew(
        &self,
        (call, asked): (&CallContext, &Asked<'_>),
        client: &Client,
        before: u64,
        log_in: impl FnOnce() -> Result<(), LoginFailure>,
    ) -> Result<Option<EventName>, Fault> {
        let event = asked.names.connection(&format!("login:{}", self.host));
        if !asked.events.begin(&event)? {
            return Ok(Some(event));
        }
        let owned = Owned { events: asked.events, event: &event };
        let renewed = self.renew_alone(call, client, before, log_in);
        owned.complete()?;
        renewed.map(|()| None)
    }

    fn renew_alone(
        &self,
        call: &CallContext,
        client: &Client,
        before: u64,
        log_in: impl FnOnce() -> Result<(), LoginFailure>,
    ) -> Result<(), Fault> {
        if self.worked() > before {
            return Ok(());
        }
        if let Some((until, why)) = self.state.lock().wait.as_ref().filter(|(until, _)| call.now() < *until) {
            return Err(self.passing(why, Some(until - call.now())));
        }
        let failed = log_in().err();
        if failed.is_some() && call.cancel.cancelled() {
            return Err(Fault::passing("cancelled", "logging in was stopped"));
        }
        if failed.is_none() {
            // What is answered to questions from before says nothing of the new session.
            client.session_begins();
            self.worked.fetch_add(1, Ordering::SeqCst);
        }
        let mut state = self.state.lock();
        (state.tries, state.wait) = (state.tries + 1, None);
        let is_refused = matches!(failed, Some(LoginFailure::Refused(_)));
        state.refusals += u32::from(is_refused);
        if is_refused || state.tries >= limits::WEB_LOGIN_ATTEMPTS_MAX {
            let why = failed.as_ref().map_or("the login works, and is asked for again", LoginFailure::why);
            let doubled = state.refusals.saturating_sub(1).min(limits::WEB_LOGIN_WAIT_DOUBLED_MAX);
            let until = call.now().saturating_add(limits::WEB_LOGIN_WAIT_MS << doubled);
            (state.tries, state.wait) = (0, Some((until, why.to_owned())));
        }
        let wait = state.wait.as_ref().map(|(until, _)| until - call.now());
        failed.map_or(Ok(()), |failure| Err(self.passing(failure.why(), wait)))
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
