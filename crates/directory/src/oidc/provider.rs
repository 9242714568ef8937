//! A provider: what it says of itself (OpenID Connect Discovery), and its keys, which are kept for a while. Strangers may name keys that there are
//! none of, so a provider is asked again after some seconds at the earliest, by one question at a time, and few wait for that.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use ingather_contract::authority::OF_WHAT_IS_PRESENTED;
use ingather_contract::call::CallContext;
use ingather_model::fault::Fault;
use ingather_model::limits;
use jsonwebtoken::DecodingKey;
use parking_lot::Mutex;
use serde_json::Value;
use ureq::http::Uri;

use super::claims::Claims;
use super::http::{self, Http};
use super::json;
use super::keys::{self, Found, Key};
use super::settings::Meant;
use super::token::Head;

/// A provider, and what is known of it.
#[derive(Default)]
pub(super) struct Provider {
    state: Mutex<State>,
    /// Held by whoever asks it for its keys.
    asking: Mutex<()>,
    waiting: AtomicUsize,
}

#[derive(Default)]
struct State {
    known: Option<Arc<Known>>,
    /// It is not asked before, by the steady clock.
    again: i64,
    /// Why it could not be asked the last time.
    failed: Option<String>,
    /// How often it was asked.
    asked: u64,
}

/// What a provider said of itself.
pub(super) struct Known {
    pub(super) keys: Vec<Key>,
    user_info: Option<Uri>,
    http: Http,
    /// When, by the steady clock.
    at: i64,
}

/// What is wanted of what is known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Want {
    /// As it is kept.
    Kept,
    /// Newer than what was asked for so many times: it lacked a key.
    NewerThan(u64),
}

/// The key of a token.
pub(super) enum Chosen {
    Key(DecodingKey),
    /// There is none; a sentence.
    None(&'static str),
}

fn away(why: &str) -> Fault {
    Fault::passing("provider", why)
}

/// Leaves the queue at its end.
struct Place<'p>(&'p AtomicUsize);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Provider {
    /// The key that a token says it is signed by.
    pub(super) fn key(
        &self,
        meant: &Meant,
        head: &Head<'_>,
        call: &CallContext,
        until: Instant,
    ) -> Result<Chosen, Fault> {
        let (known, asked) = self.known(meant, Want::Kept, call, until)?;
        let (known, failed) = match keys::find(&known.keys, head.kid, head.algorithm) {
            Found::One(key) => return Ok(Chosen::Key(key.clone())),
            Found::Several => {
                return Ok(Chosen::None(
                    "the token does not say by which of the keys of its issuer it is signed (`kid`)",
                ));
            }
            Found::None => {
                let newer = self.known(meant, Want::NewerThan(asked), call, until)?.0;
                (newer, self.state.lock().failed.clone())
            }
        };
        match (keys::find(&known.keys, head.kid, head.algorithm), failed) {
            (Found::One(key), _) => Ok(Chosen::Key(key.clone())),
            // It may be a new one, which nobody could ask for.
            (_, Some(why)) => Err(away(&why)),
            (_, None) => Ok(Chosen::None("the token is signed by a key that its issuer does not publish")),
        }
    }

    /// What is known of the provider, and how often it was asked for that. Where it cannot be asked, what was known goes on for a while.
    fn known(
        &self,
        meant: &Meant,
        want: Want,
        call: &CallContext,
        until: Instant,
    ) -> Result<(Arc<Known>, u64), Fault> {
        let now = call.steady();
        let (known, is_due, asked) = {
            let state = self.state.lock();
            let known = state.known.clone().filter(|known| now - known.at < meant.keys_away_ms);
            let is_fresh = known.as_ref().is_some_and(|known| now - known.at < meant.keys_ms);
            let is_due = match want {
                Want::Kept => !is_fresh,
                Want::NewerThan(asked) => state.asked == asked,
            };
            (known, is_due && now >= state.again, state.asked)
        };
        match (is_due, known) {
            (true, known) => self.ask_again(meant, (known, want, asked), call, until)?,
            (false, Some(known)) => return Ok((known, asked)),
            (false, None) => {}
        }
        let state = self.state.lock();
        let known = state.known.clone().filter(|known| now - known.at < meant.keys_away_ms);
        let why = || state.failed.clone().unwrap_or_else(|| "the provider was not asked yet".to_owned());
        known.map(|known| (known, state.asked)).ok_or_else(|| away(&why()))
    }

    /// Asks the provider, unless somebody does: whoever has keys goes on with them meanwhile, and few others wait.
    fn ask_again(
        &self,
        meant: &Meant,
        (known, want, asked): (Option<Arc<Known>>, Want, u64),
        call: &CallContext,
        until: Instant,
    ) -> Result<(), Fault> {
        let goes_on = known.is_some() && want == Want::Kept;
        // Whoever has no time has asked nobody.
        // clock: sockets wait by it.
        if until <= Instant::now() {
            return if goes_on { Ok(()) } else { Err(away(http::LATE)) };
        }
        let _asking = match self.asking.try_lock() {
            Some(asking) => asking,
            None if goes_on => return Ok(()),
            None => {
                let place = Place(&self.waiting);
                if place.0.fetch_add(1, Ordering::Relaxed) >= limits::OIDC_WAITING_MAX {
                    return Err(away("many wait for the keys of the provider; ask again later"));
                }
                // Whoever holds it may have begun later, and have more time.
                let asking = self.asking.try_lock_until(until);
                asking.ok_or_else(|| away(http::LATE))?
            }
        };
        if self.state.lock().asked != asked {
            // Somebody has, meanwhile.
            return Ok(());
        }
        let learned = learn(meant, call.steady(), until);
        let mut state = self.state.lock();
        state.asked += 1;
        state.again = call.steady() + limits::OIDC_KEYS_AGAIN_MS;
        match learned {
            Ok(known) => {
                state.known = Some(Arc::new(known));
                state.failed = None;
            }
            Err(why) => state.failed = Some(why),
        }
        Ok(())
    }

    /// Claims about whoever has a token, which was verified before: else anybody could have this service ask about tokens that were made out for
    /// somebody else. They are of that person alone where their `sub` is that of the token.
    pub(super) fn user_info(
        &self,
        meant: &Meant,
        (token, verified): (&str, &Claims),
        call: &CallContext,
        until: Instant,
    ) -> Result<Claims, Fault> {
        let (known, _) = self.known(meant, Want::Kept, call, until)?;
        let at = known.user_info.as_ref().ok_or_else(|| {
            away("the provider names no address at which people are asked about (userinfo)")
        })?;
        let of_token = |why: String| Fault::refused(OF_WHAT_IS_PRESENTED, why);
        let Some(sub) = verified.get("sub").and_then(Value::as_str) else {
            return Err(of_token(
                "the token has no `sub`, by which an answer of the provider could be compared".to_owned(),
            ));
        };
        let reply = known.http.get(at, Some(token), until).map_err(|why| away(&why))?;
        match reply.status {
            200 => {}
            401 | 403 => {
                let why = "the provider tells nothing about whoever has the token; send an access token for its userinfo (scope `openid`)";
                return Err(of_token(why.to_owned()));
            }
            status => return Err(away(&http::said(at, status))),
        }
        if reply.kind == "application/jwt" {
            return Err(away("the provider signs its answers about people; let it send them as plain JSON"));
        }
        let claims = json::object(&reply.body)
            .ok_or_else(|| away("the provider answers about a person with what is no object of JSON"))?;
        match claims.get("sub").and_then(Value::as_str) == Some(sub) {
            true => Ok(claims),
            false => Err(away("the provider answers about somebody else than whose token it is (`sub`)")),
        }
    }
}

/// Asks a provider what it is, and for its keys.
pub(super) fn learn(meant: &Meant, at: i64, until: Instant) -> Result<Known, String> {
    let http = Http::new(meant.ca_file.as_deref())?;
    let told = http.object(&meant.discovery, until)?;
    let issuer = told.get("issuer").and_then(Value::as_str);
    if issuer != Some(&meant.issuer) {
        return Err(
            "what answers there is another issuer than `issuer` says; both must be the same letter by letter"
                .to_owned(),
        );
    }
    let address = |name: &str| match told.get(name) {
        None => Ok(None),
        Some(text) => {
            let at = text.as_str().and_then(|text| http::leads(&meant.discovery, text));
            at.map(Some).ok_or_else(|| format!("the provider names a `{name}` that is no address with TLS"))
        }
    };
    let at_keys = address("jwks_uri")?.ok_or("the provider does not say where its keys are (`jwks_uri`)")?;
    let user_info = if meant.user_info { address("userinfo_endpoint")? } else { None };
    let keys = keys::read(&http.object(&at_keys, until)?).map_err(str::to_owned)?;
    if keys.is_empty() {
        return Err("the provider publishes no key that tokens could be verified by".to_owned());
    }
    Ok(Known { keys, user_info, http, at })
}

impl Known {
    /// Whether people can be asked about.
    pub(super) fn has_user_info(&self) -> bool {
        self.user_info.is_some()
    }
}
