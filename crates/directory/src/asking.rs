//! What all authorities over directories do alike: names that can be asked for, the time that there is, searches at one entry.

use std::time::{Duration, Instant};

use ingather_model::access;
use ingather_model::limits;

use crate::wire::message::{Scope, Search};

/// A name that is looked for so that a check goes the way of all questions.
pub(crate) const PROBE: &str = "ingather-check";

/// A time so much later.
pub(crate) fn after(within: Duration) -> Instant {
    // clock: sockets wait by it.
    Instant::now() + within
}

/// Whether anybody can be called so. Directories compare names without regard to white space around them, and some leave control
/// characters out: what is no name to a person would be the name of somebody to them.
pub(crate) fn can_be_a_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= limits::LDAP_NAME_BYTES_MAX
        && !name.chars().any(char::is_control)
        && name.trim() == name
}

/// A search at one entry.
pub(crate) fn at(dn: &str, filter: Vec<u8>, attributes: Vec<String>) -> Search {
    let attributes = asked_for(attributes.into_iter().map(Some));
    Search {
        base: dn.to_owned(),
        scope: Scope::Entry,
        filter,
        attributes,
        page: None,
        most: None,
        own_domain: false,
    }
}

/// Attributes as they are asked for: without any, a server would give all.
pub(crate) fn asked_for(names: impl IntoIterator<Item = Option<String>>) -> Vec<String> {
    let no_dn = |name: &String| !name.eq_ignore_ascii_case("dn");
    let names: Vec<String> = names.into_iter().flatten().filter(no_dn).collect();
    // RFC 4511, 4.5.1.8: no attribute at all.
    if names.is_empty() { vec!["1.1".to_owned()] } else { names }
}

/// What tokens of people begin with, where settings do not say it.
pub(crate) fn user_prefix() -> String {
    "user:".to_owned()
}

/// What tokens of groups begin with, where settings do not say it.
pub(crate) fn group_prefix() -> String {
    "group:".to_owned()
}

/// The token of a name behind a prefix; none where it would be one of another kind: of that whose prefix is `others`, or of the users and groups of
/// this machine. Nobody whom a directory lets choose the name `group:staff` or `unix:g:0` has a token of that group by it (decision 0043).
pub(crate) fn of_one_kind(prefix: &str, others: &str, name: &str) -> Option<String> {
    let token = format!("{prefix}{name}");
    let is_of = |kind: &str| kind.len() > prefix.len() && token.starts_with(kind);
    (!is_of(others) && !is_of(access::UNIX_PREFIX)).then_some(token)
}
