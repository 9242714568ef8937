//! How settings of all authorities over directories say where servers are, and how they are reached.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::wire::servers::{Security, Server};

/// How servers at `ldap://`, and databases, are reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Tls {
    /// With TLS, which begins on the connection itself (StartTLS, where a directory is asked).
    Start,
    /// Without TLS.
    None,
}

/// The servers at these addresses.
pub(crate) fn servers(url: &[String], tls: Option<Tls>) -> Result<Vec<Server>, String> {
    let read = |(at, text): (usize, &String)| {
        server(text, tls).ok_or_else(|| {
            format!("`url[{at}]` must be such as ldaps://ldap.example.org or ldap://10.0.0.7:1389")
        })
    };
    url.iter().enumerate().map(read).collect()
}

/// Whether a password, where there is one, goes without TLS to this machine itself alone.
pub(crate) fn keeps_the_password(servers: &[Server], has_password: bool) -> Result<(), String> {
    match servers.iter().find(|server| server.security == Security::Plain && !server.is_here()) {
        Some(_) if has_password => {
            Err("`tls` cannot be `none` with `bind_password`: it would cross the network as it is".to_owned())
        }
        _ => Ok(()),
    }
}

/// Whether a path is one from the root on.
pub(crate) fn absolute(path: &Path, _: &()) -> garde::Result {
    match path.is_absolute() {
        true => Ok(()),
        false => {
            Err(garde::Error::new("must be a path from the root of the machine, such as /etc/ssl/ldap.pem"))
        }
    }
}

fn server(text: &str, tls: Option<Tls>) -> Option<Server> {
    let (scheme, rest) = text.split_once("://")?;
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    let (host, port) = match rest.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest.split_once(']')?;
            host.parse::<std::net::Ipv6Addr>().ok()?;
            (host, port.strip_prefix(':').or(port.is_empty().then_some(""))?)
        }
        None => match rest.split_once(':') {
            // A colon without a port behind it is a slip.
            Some((_, "")) => return None,
            Some(parts) => parts,
            None => (rest, ""),
        },
    };
    let fits = |c: char| c.is_ascii_alphanumeric() || ".-_:".contains(c);
    if host.is_empty() || !host.chars().all(fits) {
        return None;
    }
    let default = match scheme {
        "ldap" => 389,
        "ldaps" => 636,
        _ => return None,
    };
    let port = if port.is_empty() { default } else { port.parse().ok().filter(|port| *port != 0)? };
    let mut server = Server { host: host.to_owned(), port, security: Security::Tls };
    if scheme == "ldap" {
        server.security = match tls {
            Some(Tls::None) => Security::Plain,
            None if server.is_here() => Security::Plain,
            Some(Tls::Start) | None => Security::Start,
        };
    }
    Some(server)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        let read = |text, tls| server(text, tls).map(|server| (server.to_string(), server.security));
        let is = |text: &str, security| Some((text.to_owned(), security));
        assert_eq!(read("ldaps://a", None), is("ldaps://a:636", Security::Tls));
        assert_eq!(read("ldap://a/", None), is("ldap://a:389", Security::Start));
        assert_eq!(read("ldap://a:1389", Some(Tls::None)), is("ldap://a:1389", Security::Plain));
        assert_eq!(read("ldap://127.0.0.1:7", None), is("ldap://127.0.0.1:7", Security::Plain));
        assert_eq!(read("ldap://localhost", Some(Tls::Start)), is("ldap://localhost:389", Security::Start));
        assert_eq!(read("ldap://[::1]:7", None), is("ldap://[::1]:7", Security::Plain));
        assert_eq!(read("ldaps://[::2]", Some(Tls::None)), is("ldaps://[::2]:636", Security::Tls));
        for wrong in [
            "a",
            "http://a",
            "ldap://",
            "ldap://a:0",
            "ldap://a:",
            "ldap://a:65536",
            "ldap://u@a",
            "ldap://a/dc=x",
            "ldap://[x]",
            "ldap://[::1]7",
            "LDAP://a",
            "ldap://a b",
        ] {
            assert_eq!(read(wrong, None), None, "{wrong}");
        }
    }
}
