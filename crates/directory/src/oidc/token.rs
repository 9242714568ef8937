//! A token (RFC 7519) as it comes: what it says of itself is read strictly, and believed only once its signature was found to be by a key of the
//! provider. What is checked beside that is RFC 8725, as far as it is for whoever takes tokens.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ingather_model::limits;
use jsonwebtoken::Algorithm;
use serde_json::Value;

use super::claims::Claims;
use super::json;
use super::settings::Meant;
use super::signatures::ALGORITHMS;

/// Kinds of tokens by their head: without a kind, as ID tokens are, or an access token (RFC 9068). Tokens of other kinds are signed by the same
/// keys and say something else, such as that somebody has logged out.
const KINDS: [&str; 4] = ["jwt", "application/jwt", "at+jwt", "application/at+jwt"];

/// A token that nobody has verified.
pub(super) struct Unverified<'t> {
    head: Claims,
    claims: Claims,
    /// What was signed: head and claims as they stand there.
    pub(super) signed: &'t str,
    pub(super) signature: &'t str,
}

/// What the head of a token says of its signature.
pub(super) struct Head<'t> {
    pub(super) algorithm: Algorithm,
    pub(super) kid: Option<&'t str>,
}

impl<'t> Unverified<'t> {
    /// Reads a token; none where it is none.
    pub(super) fn read(token: &'t str) -> Option<Unverified<'t>> {
        if token.len() > limits::OIDC_TOKEN_BYTES_MAX {
            return None;
        }
        let (signed, signature) = token.rsplit_once('.')?;
        let (head, claims) = signed.split_once('.')?;
        let part = |text: &str| json::object(&URL_SAFE_NO_PAD.decode(text).ok()?);
        Some(Unverified { head: part(head)?, claims: part(claims)?, signed, signature })
    }

    /// Whether it says that this issuer has issued it.
    pub(super) fn is_of(&self, issuer: &str) -> bool {
        self.claims.get("iss").and_then(Value::as_str) == Some(issuer)
    }

    /// How it says that it is signed.
    ///
    /// # Errors
    /// A sentence where that is a way that does not count.
    pub(super) fn head(&self) -> Result<Head<'_>, String> {
        let text = |name: &str| match self.head.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str())),
            Some(_) => Err(format!("the head of the token has a `{name}` that is no text")),
        };
        // RFC 7515, 4.1.11: what is critical has to be understood, and nothing of that is here.
        if self.head.contains_key("crit") {
            return Err("the token needs something that is not understood here (`crit`)".to_owned());
        }
        // What anybody may have written is not said again.
        if text("typ")?.is_some_and(|kind| !KINDS.iter().any(|one| one.eq_ignore_ascii_case(kind))) {
            return Err(
                "it is a token of another kind (`typ`); send an access token or an ID token".to_owned()
            );
        }
        let algorithm = text("alg")?.unwrap_or_default();
        let found = ALGORITHMS.iter().find(|(name, _)| *name == algorithm);
        let algorithm = found.map(|(_, algorithm)| *algorithm).ok_or_else(|| {
            let all: Vec<&str> = ALGORITHMS.iter().map(|(name, _)| *name).collect();
            format!("the token is not signed by an algorithm that counts: {}", all.join(", "))
        })?;
        Ok(Head { algorithm, kid: text("kid")? })
    }

    /// What it says, now that its signature is known to be by its issuer.
    pub(super) fn verified(self) -> Claims {
        self.claims
    }
}

/// Whether a token that was verified counts for this service at this time, milliseconds since 1970; up to when, without leeway.
///
/// # Errors
/// A sentence that says why it does not count.
pub(super) fn counts(meant: &Meant, claims: &Claims, now: i64) -> Result<i64, String> {
    let leeway = i64::from(meant.leeway_s) * 1_000;
    let Some(until) = time(claims, "exp")? else {
        return Err("the token does not say when it expires (`exp`)".to_owned());
    };
    if now.saturating_sub(leeway) >= until {
        return Err("the token has expired; log in anew".to_owned());
    }
    if time(claims, "nbf")?.is_some_and(|from| now.saturating_add(leeway) < from) {
        return Err(
            "the token does not count yet; compare the clocks of the provider and of this machine".to_owned()
        );
    }
    let said = |name: &str| claims.get(name).and_then(Value::as_str);
    let is_ours = match claims.get("aud") {
        Some(Value::String(one)) => meant.audiences.contains(one),
        Some(Value::Array(all)) if all.iter().all(Value::is_string) => {
            all.iter().filter_map(Value::as_str).any(|one| meant.audiences.iter().any(|ours| ours == one))
        }
        _ => false,
    };
    if !is_ours {
        return Err("the token is made out for another audience (`aud`) than this service".to_owned());
    }
    if let Some(clients) = &meant.clients {
        let by = said("azp").or(said("client_id"));
        if !by.is_some_and(|by| clients.iter().any(|one| one == by)) {
            return Err("the token was given to a program (`azp`) that is not to search here".to_owned());
        }
    }
    // Whoever sends it would have to prove that they have a key (RFC 9449, RFC 8705), which nobody looks at here.
    if claims.contains_key("cnf") {
        return Err(
            "the token is bound to a key of whoever asked for it (`cnf`), and that is not looked at here"
                .to_owned(),
        );
    }
    // RFC 8417: that something happened to somebody is no proof of who asks, even where its head has no kind.
    if claims.contains_key("events") {
        return Err("the token tells of an event; send an access token or an ID token".to_owned());
    }
    Ok(until)
}

/// A time in a claim, milliseconds since 1970.
fn time(claims: &Claims, name: &str) -> Result<Option<i64>, String> {
    let Some(value) = claims.get(name) else { return Ok(None) };
    match value.as_f64().filter(|seconds| seconds.is_finite()) {
        // A time beyond what can be counted is as far away as can be.
        Some(seconds) => Ok(Some((seconds * 1_000.0) as i64)),
        None => Err(format!("the token has a claim `{name}` that is no time")),
    }
}
