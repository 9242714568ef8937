//! Reverse proxies that log people in by themselves, and vouch for their names (decision 0035). A name counts when it comes from a listed address
//! *and* with the secret: from an address alone every program of that machine could send it, and a secret alone would count from wherever it leaked to.
//! Whatever is not whole is refused, and never ignored: the request would else be answered as somebody else.

use std::net::IpAddr;

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use ingather_model::limits;
use ingather_operations::problem::{Code, Problem, Result};
use ipnet::IpNet;

/// The header with the name, where none is configured.
pub const USER: &str = "x-ingather-user";
/// The header with the secret.
const SECRET: &str = "x-ingather-proxy-secret";
/// Headers that say something else to this service, or to what carries requests.
const TAKEN: [&str; 20] = [
    "authorization",
    "connection",
    "content-length",
    "content-type",
    "cookie",
    "expect",
    "forwarded",
    "host",
    "idempotency-key",
    "if-match",
    "if-none-match",
    "keep-alive",
    "last-event-id",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "x-forwarded-for",
];
/// Characters of names beside letters and digits.
const IN_NAMES: &str = "._-@+\\";

/// Reverse proxies that vouch for whoever asks.
pub struct Proxies {
    networks: Vec<IpNet>,
    header: HeaderName,
    /// The digest of the secret: two digests are compared in a time that does not depend on them.
    secret: blake3::Hash,
}

impl Proxies {
    /// Those at these addresses, each alone or with the length of a prefix; which name somebody in this header; and know this secret.
    ///
    /// # Errors
    /// A sentence that says which of them cannot be meant.
    pub fn new(networks: &[String], header: &str, secret: &str) -> std::result::Result<Proxies, String> {
        if networks.len() > limits::PROXIES_MAX {
            return Err(format!("--proxy is given more than {} times; name networks", limits::PROXIES_MAX));
        }
        let networks =
            networks.iter().map(|text| network("--proxy", text)).collect::<std::result::Result<_, _>>()?;
        let is_free = |name: &HeaderName| *name != SECRET && !TAKEN.contains(&name.as_str());
        let name = HeaderName::try_from(header).ok().filter(is_free);
        let header = name.ok_or_else(|| {
            format!("--proxy-header {header}: it is no name of a header, or one that says something else; take one such as {USER}")
        })?;
        let bytes = limits::PROXY_SECRET_BYTES_MIN..=limits::PROXY_SECRET_BYTES_MAX;
        if !bytes.contains(&secret.len()) || !secret.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(format!(
                "the secret in the file of --proxy-secret has to have {} to {} characters, letters, digits and signs of ASCII alone; \
                 `openssl rand -hex 32` makes one",
                bytes.start(),
                bytes.end()
            ));
        }
        Ok(Proxies { networks, header, secret: blake3::hash(secret.as_bytes()) })
    }
}

/// An address, or a network that is written as its first one with the length of its prefix.
pub(crate) fn network(flag: &str, text: &str) -> std::result::Result<IpNet, String> {
    let read = text.parse::<IpAddr>().map(IpNet::from).ok().or_else(|| text.parse().ok());
    let wrong = |what: &str| Err(format!("{flag} {text}: {what}"));
    match read {
        None => {
            wrong("it is no address and no network; write one such as 10.0.0.7, 10.0.0.0/24 or fd00::/64")
        }
        Some(network) if network.prefix_len() < shortest(&network) => {
            wrong("that is a great part of all addresses; name those that are meant")
        }
        Some(network) if network.network().is_unspecified() || network.network().is_multicast() => {
            wrong("nothing connects from there; name the addresses that are meant")
        }
        Some(network) if network != network.trunc() => {
            wrong(&format!("a network begins at its first address; did you mean {}?", network.trunc()))
        }
        Some(network) if network.network().to_canonical() != network.network() => {
            wrong("that is an address of version 4 in the form of version 6; write it as one of version 4")
        }
        Some(network) => Ok(network),
    }
}

/// The shortest prefix that may be meant: 10.0.0.0/8, and what a provider gives a house.
fn shortest(network: &IpNet) -> u8 {
    match network {
        IpNet::V4(_) => 8,
        IpNet::V6(_) => 16,
    }
}

/// Whether a request says whom a proxy vouches for, rightly or not.
pub(crate) fn names_somebody(proxies: Option<&Proxies>, headers: &HeaderMap) -> bool {
    said(proxies, headers).is_some()
}

fn said<'p>(proxies: Option<&'p Proxies>, headers: &HeaderMap) -> Option<&'p str> {
    let header = proxies.map_or(USER, |proxies| proxies.header.as_str());
    [header, USER, SECRET].into_iter().find(|name| headers.contains_key(*name))
}

/// Why a name does not count.
pub(crate) fn refused(sentence: impl Into<String>) -> Problem {
    Problem::new(Code::NotVouched, sentence)
}

/// Whom a proxy vouches for; none where the request says nothing of it. `from`: the address that the request comes from, where it has one.
///
/// # Errors
/// `NotVouched` when the request says something of it, and not all of it is as it has to be.
pub(crate) fn vouched(
    proxies: Option<&Proxies>,
    headers: &HeaderMap,
    from: Option<IpAddr>,
) -> Result<Option<String>> {
    let Some(said) = said(proxies, headers) else { return Ok(None) };
    let Some(proxies) = proxies else {
        return Err(refused(format!(
            "the header `{said}` names somebody by a reverse proxy, and this service knows none; leave it out, or begin the service \
             with --proxy"
        )));
    };
    let listed = from.filter(|from| proxies.networks.iter().any(|network| network.contains(from)));
    if listed.is_none() {
        let from = from.map_or_else(|| "over the socket".to_owned(), |from| format!("from {from}"));
        return Err(refused(format!(
            "the header `{said}` came {from}, and that is no reverse proxy of this service; leave it out, or list the address with --proxy"
        )));
    }
    let secret = blake3::hash(once(headers, SECRET)?.as_bytes());
    if secret != proxies.secret {
        let sentence =
            format!("the header `{SECRET}` is not what --proxy-secret says; let the proxy send that");
        return Err(refused(sentence));
    }
    let header = proxies.header.as_str();
    if header != USER && headers.contains_key(USER) {
        let sentence =
            format!("names come in the header `{header}`, and `{USER}` is sent; send the first one alone");
        return Err(refused(sentence));
    }
    Ok(Some(name(header, once(headers, header)?)?))
}

/// The one value of a header.
fn once<'h>(headers: &'h HeaderMap, name: &str) -> Result<&'h HeaderValue> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => Ok(value),
        (None, _) => Err(refused(format!("the header `{name}` is missing; let the proxy send it"))),
        (Some(_), Some(_)) => Err(refused(format!(
            "the header `{name}` is sent twice; let the proxy replace what clients send, and not add to it"
        ))),
    }
}

/// A name as it may be: text that looks up one account and begins as names do, so that nothing takes it for a number, a flag, or two names that
/// a program in between has joined.
fn name(header: &str, value: &HeaderValue) -> Result<String> {
    let bytes = value.as_bytes();
    let why = match std::str::from_utf8(bytes) {
        _ if bytes.is_empty() => "is empty; let the proxy send it only with a name",
        _ if bytes.len() > limits::PROXY_NAME_BYTES_MAX => "is longer than a name may be",
        Err(_) => "is not in UTF-8",
        Ok(name) => {
            let begins = name.starts_with(|first: char| first.is_alphanumeric() || first == '_');
            let is_name = |letter: char| letter.is_alphanumeric() || IN_NAMES.contains(letter);
            if begins && name.chars().all(is_name) {
                return Ok(name.to_owned());
            }
            "is no name: it begins with a letter, a digit or `_`, and has no others than these and `. - @ + \\`"
        }
    };
    Err(refused(format!("what the header `{header}` holds {why}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &str = "0123456789abcdef0123456789abcdef";

    fn at(networks: &[&str]) -> Proxies {
        let networks: Vec<String> = networks.iter().map(|network| (*network).to_owned()).collect();
        Proxies::new(&networks, USER, KNOWN).expect("networks")
    }

    #[test]
    fn a_name_counts_from_listed_addresses_of_both_versions_and_from_no_other() {
        let proxies = at(&["10.1.0.0/16", "192.0.2.7", "fd00:1::/32"]);
        let mut headers = HeaderMap::new();
        headers.insert(USER, HeaderValue::from_static("ann"));
        headers.insert(SECRET, HeaderValue::from_static(KNOWN));
        let of = |from: &str| vouched(Some(&proxies), &headers, Some(from.parse().expect("an address")));
        for listed in ["10.1.0.0", "10.1.255.255", "192.0.2.7", "fd00:1:ffff::1"] {
            assert_eq!(of(listed), Ok(Some("ann".to_owned())), "{listed}");
        }
        for other in
            ["10.0.255.255", "10.2.0.0", "192.0.2.6", "192.0.2.8", "fd00:2::1", "::", "0.0.0.0", "::1"]
        {
            assert_eq!(of(other).map_err(|problem| problem.code), Err(Code::NotVouched), "{other}");
        }
        let nowhere = vouched(Some(&proxies), &headers, None);
        assert_eq!(nowhere.map_err(|problem| problem.code), Err(Code::NotVouched));
        assert_eq!(vouched(Some(&proxies), &HeaderMap::new(), None), Ok(None), "nothing is said");
    }

    #[test]
    fn networks_are_those_of_proxies_and_the_header_is_one_that_says_nothing_else() {
        let new = |network: &str, header: &str| Proxies::new(&[network.to_owned()], header, KNOWN).is_ok();
        for listed in ["10.0.0.0/8", "127.0.0.1", "fd00::/16", "::1"] {
            assert!(new(listed, USER), "{listed}");
        }
        for wrong in [
            "0.0.0.0/0",
            "0.0.0.0/1",
            "128.0.0.0/1",
            "::/1",
            "2000::/3",
            "0.0.0.0",
            "::",
            "224.0.0.0/8",
            "ff02::1",
        ] {
            assert!(!new(wrong, USER), "{wrong}");
        }
        assert!(new("10.0.0.7", "X-Remote-User"));
        for wrong in ["Idempotency-Key", "Last-Event-ID", "TE", "Host", SECRET, "a b", ""] {
            assert!(!new("10.0.0.7", wrong), "{wrong}");
        }
    }

    #[test]
    fn names_are_letters_digits_and_few_signs_and_begin_as_names_do() {
        let read = |text: &str| name(USER, &HeaderValue::from_bytes(text.as_bytes()).expect("a value"));
        let longest = "a".repeat(limits::PROXY_NAME_BYTES_MAX);
        for fits in ["ann", "_ann", "7ann", "ann.b-c_d+e@example.org", "EXAMPLE\\ann", "Jürgen", &longest] {
            assert_eq!(read(fits).as_deref(), Ok(fits));
        }
        let longer = format!("{longest}a");
        for wrong in [
            "",
            "-u",
            "+7",
            ".",
            "../ann",
            "a b",
            "a,b",
            "a:b",
            "a\tb",
            "a\u{202e}b",
            "a\u{200b}b",
            "a\u{a0}b",
            &longer,
        ] {
            assert_eq!(read(wrong).map_err(|problem| problem.code), Err(Code::NotVouched), "{wrong:?}");
        }
    }
}
