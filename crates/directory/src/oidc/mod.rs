//! The authority `oidc`: people who present a token of an OpenID provider, and what its claims say that they hold.
//!
//! A token is read (`token.rs`), its key is looked up (`provider.rs`, `keys.rs`), its signature verified (`signatures.rs`), and its claims are
//! compared with the settings; only then is anything of it believed. What of it becomes a name and tokens of access is in `claims.rs`. Nobody is
//! known by name alone, for a provider cannot be asked about a name (decision 0046).

mod claims;
mod http;
mod json;
mod keys;
mod provider;
mod settings;
mod signatures;
#[cfg(test)]
mod tests;
mod token;

use std::sync::Arc;
use std::time::{Duration, Instant};

use ingather_contract::authority::{
    Account, Answer, Authority, AuthorityKind, OF_WHAT_IS_PRESENTED, Presented, Pushed, Whose,
};
use ingather_contract::call::CallContext;
use ingather_contract::settings as contract_settings;
use ingather_model::access::authority::WITHIN_MS;
use ingather_model::fault::Fault;

use self::claims::Claims;
use self::provider::{Chosen, Provider};
use self::settings::{Meant, Settings};
use self::token::Unverified;
use crate::asking::after;

/// The `oidc` authority.
pub const AUTHORITY: AuthorityKind = AuthorityKind {
    name: "oidc",
    about: "People who present a token of an OpenID provider, such as Keycloak or Entra ID, and the groups that its claims name.",
    schema: contract_settings::schema_of::<Settings>,
    kept: Duration::from_secs(60),
    open,
};

fn open(value: &serde_json::Value, _: Option<Arc<dyn Pushed>>) -> Result<Arc<dyn Authority>, Fault> {
    Ok(Arc::new(Issuer { meant: settings::read(value)?, provider: Provider::default() }))
}

struct Issuer {
    meant: Meant,
    provider: Provider,
}

/// A token that was verified, and counts.
struct Verified {
    name: String,
    claims: Claims,
    until: i64,
}

/// Why a token is that of nobody.
enum Not {
    /// It is of another issuer, or no token.
    Ours,
    /// It does not count; a sentence.
    Counting(String),
}

impl Authority for Issuer {
    fn check(&self, call: &CallContext) -> Result<String, Fault> {
        let until = after(Duration::from_millis(WITHIN_MS.into()));
        let known = provider::learn(&self.meant, call.steady(), until)
            .map_err(|why| Fault::passing("provider", why))?;
        if self.meant.user_info && !known.has_user_info() {
            return Err(Fault::refused(
                "provider",
                "the provider names no address at which people are asked about (userinfo)",
            ));
        }
        let keys = known.keys.len();
        Ok(format!(
            "it is {} and publishes {keys} {}",
            self.meant.issuer,
            if keys == 1 { "key" } else { "keys" }
        ))
    }

    fn tokens(&self, call: &CallContext, account: &Account<'_>) -> Result<Answer, Fault> {
        let refused = |why: String| Fault::refused(OF_WHAT_IS_PRESENTED, why);
        let Some(presented) = account.presented else {
            return Err(refused(
                "its provider tells nothing about a name alone; let the person ask with a token of their own, or give this authority a \
                 domain or a group of its own"
                    .to_owned(),
            ));
        };
        let until = after(account.within);
        let verified = match self.verify(presented.token(), call, until)? {
            Ok(verified) => verified,
            Err(Not::Ours) => {
                return Err(refused("what was presented is no token of this provider".to_owned()));
            }
            Err(Not::Counting(why)) => return Err(refused(why)),
        };
        if verified.name != account.name {
            return Err(refused("the token that was presented is that of somebody else".to_owned()));
        }
        let told = match self.meant.user_info {
            true => {
                self.provider.user_info(&self.meant, (presented.token(), &verified.claims), call, until)?
            }
            false => verified.claims,
        };
        Ok(claims::answer(&self.meant, &verified.name, &told))
    }

    fn whose(&self, call: &CallContext, presented: &Presented, within: Duration) -> Result<Whose, Fault> {
        Ok(match self.verify(presented.token(), call, after(within))? {
            Ok(Verified { name, until, .. }) => Whose::Person { name, until },
            Err(Not::Ours) => Whose::NotOurs,
            Err(Not::Counting(why)) => Whose::Refused(why),
        })
    }
}

impl Issuer {
    /// Verifies a token, the way to every word that is believed of it.
    fn verify(
        &self,
        token: &str,
        call: &CallContext,
        until: Instant,
    ) -> Result<Result<Verified, Not>, Fault> {
        let Some(unverified) = Unverified::read(token).filter(|token| token.is_of(&self.meant.issuer)) else {
            return Ok(Err(Not::Ours));
        };
        let not = |why: String| Ok(Err(Not::Counting(why)));
        let head = match unverified.head() {
            Ok(head) => head,
            Err(why) => return not(why),
        };
        let key = match self.provider.key(&self.meant, &head, call, until)? {
            Chosen::Key(key) => key,
            Chosen::None(why) => return not(why.to_owned()),
        };
        if !signatures::is_by(&key, head.algorithm, unverified.signed.as_bytes(), unverified.signature) {
            return not("the signature of the token is not by its issuer".to_owned());
        }
        let claims = unverified.verified();
        let counted = token::counts(&self.meant, &claims, call.now())
            .and_then(|until| Ok((until, claims::name(&self.meant, &claims)?)));
        match counted {
            Ok((until, name)) => Ok(Ok(Verified { name, claims, until })),
            Err(why) => not(why),
        }
    }
}
