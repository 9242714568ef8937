//! Login links: whoever opens one is logged in at the search page as the API key that it was made for, once and soon (decision 0025). They
//! are in memory alone, by a digest of the secret in them.

use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use ingather_model::limits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::callers::api_keys;
use crate::context::{Caller, Context};
use crate::operation::{Answering, Effect, Operation, Rest, Role, Shape, Verb, Words};
use crate::problem::{Code, Problem, Result};

/// What the path of a link begins with.
pub const PATH: &str = "/login/";

/// Makes a login link.
pub static LOGIN_LINK: Answering<MakeLoginLink, LoginLink> = Answering {
    operation: Operation {
        name: "api_keys.login_link",
        summary: "Makes a link that logs whoever opens it in at the search page as an API key, once and within ten minutes.",
        request: Shape::of::<MakeLoginLink>("MakeLoginLink", &[r#"{"name": "ann"}"#]),
        item: None,
        answer: Shape::of::<LoginLink>(
            "LoginLink",
            &[r#"{"name": "ann", "url": "http://127.0.0.1:8420/login/5e88", "until": 1767226200000}"#],
        ),
        role: Role::Admin,
        effect: Effect::Changes,
        rest: Rest::At(Verb::Post, "/api-keys/{name}/login-link"),
        words: Words::Are("api-key login-link"),
        tool: false,
        problems: &[Code::NoSuchApiKey, Code::Unauthenticated],
    },
    run: make,
};

/// Asks for a login link.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MakeLoginLink {
    /// Name of the API key.
    pub name: String,
}

/// A login link.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct LoginLink {
    /// Name of the API key.
    pub name: String,
    /// What to open in a browser; whoever has it is let in, so that it is for one person.
    pub url: String,
    /// When it is void, milliseconds since 1970 UTC.
    pub until: i64,
}

/// The links of a service.
#[derive(Default)]
pub struct Links {
    /// Where the service answers.
    site: OnceLock<String>,
    /// By the digest of the secret: the public part of the key, and when the link is void.
    waiting: Mutex<BTreeMap<[u8; 32], (String, i64)>>,
}

impl Links {
    /// Says where the service answers, such as `http://127.0.0.1:8420`.
    pub fn answers_at(&self, site: String) {
        self.site.get_or_init(|| site);
    }

    fn add(&self, secret: &str, key: String, now: i64) -> i64 {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|_, (_, until)| *until > now);
        if waiting.len() >= limits::LOGIN_LINKS_MAX {
            let oldest = waiting.iter().min_by_key(|(_, (_, until))| *until).map(|(digest, _)| *digest);
            oldest.and_then(|oldest| waiting.remove(&oldest));
        }
        let until = now + limits::LOGIN_LINK_MS;
        waiting.insert(*blake3::hash(secret.as_bytes()).as_bytes(), (key, until));
        until
    }

    /// The public part of the key of a link that was opened; none when it is void. From here on it is.
    pub fn open(&self, secret: &str, now: i64) -> Option<String> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let (key, until) = waiting.remove(blake3::hash(secret.as_bytes()).as_bytes())?;
        (until > now).then_some(key)
    }
}

fn make(context: &Context<'_>, _: &Caller<'_>, request: MakeLoginLink) -> Result<LoginLink> {
    let MakeLoginLink { name } = request;
    let Some((links, site)) = context.host.links().and_then(|links| Some((links, links.site.get()?))) else {
        let socket = context.host.data().join("ingather.sock");
        return Err(Problem::usage(format!(
            "only a service makes login links; ask one: `ingather api-key login-link {name} --server unix:{}`",
            socket.display()
        )));
    };
    let key = api_keys::named(context, &name)?;
    if !key.roles.iter().any(|role| [Role::Admin, Role::Searcher].contains(role)) {
        return Err(Problem::usage(format!(
            "the API key {name} may not search, and the link leads to the search page; take one with the role searcher"
        )));
    }
    let secret = api_keys::random()?;
    let until = links.add(&secret, key.id, context.now());
    Ok(LoginLink { name, url: format!("{site}{PATH}{secret}"), until })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_opens_once_and_for_ten_minutes_and_there_are_never_more_than_the_bound() {
        let links = Links::default();
        let until = links.add("one", "key".to_owned(), 0);
        assert_eq!(until, limits::LOGIN_LINK_MS);
        assert_eq!(links.open("two", 1), None);
        assert_eq!(links.open("one", until - 1).as_deref(), Some("key"));
        assert_eq!(links.open("one", 1), None, "it was opened");
        links.add("late", "key".to_owned(), 0);
        assert_eq!(links.open("late", until), None, "its time is over");
        for n in 0..=limits::LOGIN_LINKS_MAX {
            links.add(&n.to_string(), "key".to_owned(), n as i64);
        }
        assert_eq!(links.open("0", 1), None, "the oldest has made room");
        assert!(links.open("1", 1).is_some());
    }
}
