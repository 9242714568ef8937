//! Who asks, by what the head of a request says: an API key, a token of a provider, a name that a reverse proxy vouches for, or over the socket nothing, since the kernel
//! says it. Two that say different things are no reason to go by one of them.

use std::net::IpAddr;

use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, header};
use ingather_operations::operation::Role;
use ingather_operations::problem::{Code, Problem, Result};
use ingather_operations::{Asker, Context, Presented};

use crate::proxies::{self, Proxies};
use crate::request;

/// How a connection came, as far as it tells who is at its other end.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Peer {
    /// Over the network: nobody in particular, on this machine or elsewhere.
    Network {
        /// Its address, of version 4 where it is one of these in the form of version 6.
        from: IpAddr,
    },
    /// A user of this machine, as its kernel says.
    User(u32),
}

/// Who asks, as they say.
#[derive(Clone)]
pub(crate) enum Asking {
    /// Whoever has this key.
    Key(String),
    /// Whose this token is; nobody has looked at it so far.
    Token(Presented),
    /// Whom a reverse proxy vouches for.
    Vouched(String),
    /// A user of this machine, as its kernel says.
    User(u32),
}

impl Asking {
    /// What the head of a request says.
    ///
    /// # Errors
    /// `Unauthenticated` when it names nobody, `NotVouched` when it names somebody for whom no proxy of this service vouches.
    pub(crate) fn of(head: &Parts, proxies: Option<&Proxies>) -> Result<Asking> {
        if let Some(vouched) = Asking::vouched(&head.headers, &head.extensions, proxies)? {
            return Ok(Asking::Vouched(vouched));
        }
        match (presented(&head.headers)?, peer(&head.extensions)?) {
            (Some(text), _) if is_token(&text) => Ok(Asking::Token(Presented::new(&text))),
            (Some(key), _) => Ok(Asking::Key(key)),
            (None, Peer::User(user)) => Ok(Asking::User(user)),
            (None, Peer::Network { .. }) => {
                let sentence = "this needs an API key: send `Authorization: Bearer ing_…`, set INGATHER_API_KEY for the command line, or ask over the socket of the service";
                Err(Problem::new(Code::Unauthenticated, sentence))
            }
        }
    }

    /// The name of whom a proxy vouches for; none where the request says nothing of it.
    ///
    /// # Errors
    /// `NotVouched` when it says so, and no proxy of this service does, or when it says by an API key as well who asks.
    pub(crate) fn vouched(
        headers: &HeaderMap,
        extensions: &Extensions,
        proxies: Option<&Proxies>,
    ) -> Result<Option<String>> {
        let from = match peer(extensions)? {
            Peer::Network { from } => Some(from),
            Peer::User(_) => None,
        };
        let Some(name) = proxies::vouched(proxies, headers, from)? else { return Ok(None) };
        if headers.contains_key(header::AUTHORIZATION) {
            return Err(proxies::refused(
                "the request has `Authorization` beside a name that a proxy vouches for; a proxy that asks for passwords or keys itself must \
                 not pass them on",
            ));
        }
        Ok(Some(name))
    }

    /// Who that is.
    pub(crate) fn asker(&self, context: &Context<'_>) -> Result<Asker> {
        match self {
            Asking::Key(key) => Asker::by_key(context, key),
            Asking::Token(presented) => Asker::by_token(context, presented),
            Asking::Vouched(name) => Ok(Asker::vouched_for(name)),
            Asking::User(user) => Asker::of_this_machine(context, *user),
        }
    }

    /// Refuses whoever is no operator.
    pub(crate) fn refuse_others(&self, context: &Context<'_>) -> Result<()> {
        // No token makes an operator. Whoever watches the service is not to wait until a provider has said whose it is.
        if let Asking::Token(_) = self {
            return Err(Problem::new(
                Code::Forbidden,
                "who presents a token of a provider searches, and does nothing else",
            ));
        }
        self.asker(context)?.needs(Role::Operator, "whoever watches the service")
    }
}

/// Whether that is shaped as a token with a signature (RFC 7515, 7.1), which no API key is.
fn is_token(text: &str) -> bool {
    text.bytes().filter(|byte| *byte == b'.').count() == 2
}

fn peer(extensions: &Extensions) -> Result<Peer> {
    let peer = extensions.get::<Peer>().copied();
    peer.ok_or_else(|| Problem::unable("a request came from nowhere; report this"))
}

/// The key that a client presents; none when it presents nothing.
///
/// # Errors
/// `Unauthenticated` for another way to say who asks: it is no reason to go on as somebody else.
fn presented(headers: &HeaderMap) -> Result<Option<String>> {
    request::refuse_twice(headers, &[header::AUTHORIZATION, header::CONTENT_TYPE, header::HOST])?;
    let Some(said) = headers.get(header::AUTHORIZATION) else { return Ok(None) };
    let said = said.to_str().ok().and_then(|said| said.split_once(' '));
    match said {
        Some((scheme, key)) if scheme.eq_ignore_ascii_case("bearer") => Ok(Some(key.trim().to_owned())),
        _ => Err(Problem::new(
            Code::Unauthenticated,
            "an API key is sent as `Authorization: Bearer ing_…`; send it so",
        )),
    }
}
