//! What all authorities over directories do alike: names that can be asked for, the time that there is, searches at one entry.

use std::collections::HashSet;
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

/// Whether two spellings are those of one name: letter by letter, but for case. Directories take more for the same: forms of Unicode,
/// letters that are not seen, spaces, accents. Whoever chooses such a name elsewhere is not who is called so here. Both directions of case
/// count, for some signs that only look like a letter become it in one of them (the Kelvin sign a `k`).
pub(crate) fn is_one_name(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase() && one.to_uppercase() == other.to_uppercase()
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
    let mut names: Vec<String> = names.into_iter().flatten().filter(no_dn).collect();
    let mut seen = HashSet::new();
    names.retain(|name| seen.insert(name.to_ascii_lowercase()));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_compared_letter_by_letter_but_for_case() {
        for (one, other) in [
            ("ann", "ann"),
            ("ann", "ANN"),
            ("Ann", "aNN"),
            ("Zoë", "ZOË"),
            ("ΝΙΚΟΣ", "νικος"),
            ("ann smith", "ANN Smith"),
            ("ａｎｎ", "ＡＮＮ"),
        ] {
            assert!(is_one_name(one, other) && is_one_name(other, one), "{one:?} {other:?}");
        }
        for (one, other) in [
            ("ann", "bob"),
            ("ann", "an"),
            ("ann", "ánn"),
            ("ann", "ａｎｎ"),
            ("ann", "ⓐnn"),
            ("ann", "𝐚nn"),
            ("ann", "ªnn"),
            ("ann", "an\u{34f}n"),
            ("ann", "ann\u{ad}"),
            ("ann smith", "ann  smith"),
            ("ann smith", "ann\u{a0}smith"),
            ("zo\u{eb}", "zoe\u{308}"),
            // Signs that case alone makes a letter.
            ("karl", "\u{212a}arl"),
            ("\u{e5}sa", "\u{212b}sa"),
            ("\u{3c9}", "\u{2126}"),
            ("sam", "\u{17f}am"),
            ("ina", "\u{131}na"),
            ("i\u{307}na", "\u{130}na"),
            ("strasse", "stra\u{df}e"),
            ("stra\u{df}e", "stra\u{1e9e}e"),
            ("fi", "\u{fb01}"),
        ] {
            assert!(!is_one_name(one, other) && !is_one_name(other, one), "{one:?} {other:?}");
        }
    }

    #[test]
    fn an_attribute_is_asked_for_once() {
        let asked = |names: &[&str]| asked_for(names.iter().map(|name| Some((*name).to_owned())));
        assert_eq!(asked(&["uid", "mail", "UID"]), ["uid", "mail"]);
        assert_eq!(asked(&["dn"]), ["1.1"]);
    }
}
