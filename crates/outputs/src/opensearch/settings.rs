//! Where a server is, who asks it, and for how long it is waited for.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use garde::Validate;
use ingather_contract::settings;
use ingather_model::fault::Fault;
use ingather_model::limits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use ureq::http::Uri;

/// Settings of an index on a server. None of them changes what an entry is: another index is known by its identity.
#[derive(Clone, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub(super) struct Settings {
    /// Address of the server, such as `https://search.example.org:9200`; without TLS it is a server of this machine alone, such as
    /// `http://127.0.0.1:9200`.
    #[garde(length(bytes, min = 1, max = limits::OPENSEARCH_TEXT_BYTES_MAX))]
    #[schemars(extend("x-of-the-machine" = true, "x-resends" = false))]
    url: String,
    /// Name of the index: small letters, digits, `-`, `_` and `.`, a letter or a digit first. It is made when it is missing.
    #[garde(length(bytes, min = 1, max = limits::OPENSEARCH_INDEX_BYTES_MAX), custom(is_index))]
    #[schemars(extend("x-resends" = false))]
    index: String,
    /// Who asks, with `password`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(length(bytes, min = 1, max = limits::OPENSEARCH_TEXT_BYTES_MAX))]
    #[schemars(extend("x-resends" = false))]
    user: Option<String>,
    /// The password of `user`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(length(bytes, min = 1, max = limits::OPENSEARCH_SECRET_BYTES_MAX))]
    #[schemars(extend("writeOnly" = true, "x-resends" = false))]
    password: Option<String>,
    /// An API key as the server shows it encoded, in place of `user`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(length(bytes, min = 1, max = limits::OPENSEARCH_SECRET_BYTES_MAX))]
    #[schemars(extend("writeOnly" = true, "x-resends" = false))]
    api_key: Option<String>,
    /// A token that is sent as `Bearer`, in place of `user`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(length(bytes, min = 1, max = limits::OPENSEARCH_SECRET_BYTES_MAX))]
    #[schemars(extend("writeOnly" = true, "x-resends" = false))]
    token: Option<String>,
    /// A file in PEM of the roots that the certificate of the server is checked by, in place of those of the system. It is always checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(inner(custom(absolute)))]
    #[schemars(extend("x-of-the-machine" = true, "x-resends" = false))]
    ca_file: Option<PathBuf>,
    /// A file in PEM of the certificate that this program shows to the server, with those between it and a root; with `key_file`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(inner(custom(absolute)))]
    #[schemars(extend("x-of-the-machine" = true, "x-resends" = false))]
    certificate_file: Option<PathBuf>,
    /// A file in PEM of the key of that certificate, without a password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(inner(custom(absolute)))]
    #[schemars(extend("x-of-the-machine" = true, "x-resends" = false))]
    key_file: Option<PathBuf>,
    /// How long an answer is waited for, seconds.
    #[serde(default = "timeout_s")]
    #[garde(range(min = 1, max = limits::OPENSEARCH_TIMEOUT_S_MAX))]
    #[schemars(extend("x-resends" = false))]
    timeout_s: u32,
    /// MiB of the largest request, and so of the largest entry; not more than `http.max_content_length` of the server.
    #[serde(default = "request_mib")]
    #[garde(range(min = 1, max = limits::OPENSEARCH_REQUEST_MIB_MAX))]
    #[schemars(extend("x-resends" = false))]
    request_mib: u32,
}

fn timeout_s() -> u32 {
    limits::OPENSEARCH_TIMEOUT_S
}

fn request_mib() -> u32 {
    limits::OPENSEARCH_REQUEST_MIB
}

fn is_index(name: &str, _: &()) -> garde::Result {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c);
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
    match begins && name.chars().all(fits) {
        true => Ok(()),
        false => Err(garde::Error::new(
            "must have small letters, digits, `-`, `_` and `.`, a letter or a digit first",
        )),
    }
}

fn absolute(path: &Path, _: &()) -> garde::Result {
    match path.is_absolute() {
        true => Ok(()),
        false => {
            Err(garde::Error::new("must be a path from the root of the machine, such as /etc/ssl/search.pem"))
        }
    }
}

/// What settings mean.
pub(super) struct Meant {
    /// Where the server is, without a `/` at its end.
    pub(super) url: String,
    pub(super) index: String,
    /// The value of `Authorization`.
    pub(super) authorization: Option<String>,
    /// What nobody may read: the secrets, as they were given and as they are sent.
    pub(super) hidden: Vec<String>,
    pub(super) ca_file: Option<PathBuf>,
    /// Certificate and key.
    pub(super) shown: Option<(PathBuf, PathBuf)>,
    pub(super) timeout_ms: u64,
    pub(super) request_bytes: usize,
}

/// Reads settings.
///
/// # Errors
/// `Refused` with what is to be given, without what was.
pub(super) fn read(value: &Value) -> Result<Meant, Fault> {
    settings::read::<Settings>(value)?.meant().map_err(|told| Fault::refused("settings", told))
}

/// Where entries go, however the address of the server is spelt.
pub(super) fn place(value: &Value) -> Option<String> {
    let (url, index) = (value["url"].as_str()?, value["index"].as_str()?);
    let at: Uri = url.parse().ok()?;
    let (scheme, host) = (at.scheme_str()?.to_ascii_lowercase(), at.host()?.to_ascii_lowercase());
    let port = at.port_u16().unwrap_or(if scheme == "https" { 443 } else { 80 });
    let below = at.path().trim_end_matches('/');
    Some(format!("index {index} of {scheme}://{host}:{port}{below}"))
}

impl Settings {
    fn meant(self) -> Result<Meant, String> {
        let url = self.url.trim_end_matches('/').to_owned();
        if !is_address(&url) {
            return Err("`url` must be such as https://search.example.org:9200; without TLS it is a server of this machine alone, \
                        such as http://127.0.0.1:9200"
                .to_owned());
        }
        let is_header = |text: &String| text.chars().all(|c| c.is_ascii_graphic());
        let given = [&self.password, &self.api_key, &self.token].into_iter().flatten();
        let mut hidden: Vec<String> = given.cloned().collect();
        let authorization = match (self.user, self.password, self.api_key, self.token) {
            (None, None, None, None) => None,
            (Some(user), Some(password), None, None) if !user.contains(':') => {
                let both = format!("{user}:{password}");
                Some(format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(both)))
            }
            (None, None, Some(key), None) if is_header(&key) => Some(format!("ApiKey {key}")),
            (None, None, None, Some(token)) if is_header(&token) => Some(format!("Bearer {token}")),
            _ => {
                return Err(
                    "give `user` (without a colon) and `password`, or `api_key`, or `token`, and nothing beside it; neither of the \
                     latter has spaces"
                        .to_owned(),
                );
            }
        };
        let shown = match (self.certificate_file, self.key_file) {
            (None, None) => None,
            (Some(certificate), Some(key)) => Some((certificate, key)),
            _ => return Err("`certificate_file` and `key_file` belong together".to_owned()),
        };
        hidden.extend(authorization.iter().filter_map(|sent| sent.split(' ').nth(1)).map(str::to_owned));
        Ok(Meant {
            url,
            index: self.index,
            authorization,
            hidden,
            ca_file: self.ca_file,
            shown,
            timeout_ms: u64::from(self.timeout_s) * 1_000,
            request_bytes: (self.request_mib as usize) << 20,
        })
    }
}

/// Whether a server may be asked here: with TLS, or without it where its name stands for this machine.
fn is_address(text: &str) -> bool {
    let Ok(at) = text.parse::<Uri>() else { return false };
    let host = at.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    let is_here = host.eq_ignore_ascii_case("localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    let names_a_user = at.authority().is_none_or(|authority| authority.as_str().contains('@'));
    let fits = !host.is_empty() && !names_a_user && !text.contains(['?', '#']);
    match at.scheme_str() {
        Some("https") => fits,
        Some("http") => fits && is_here,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(more: Value) -> Option<String> {
        let mut settings = json!({"url": "https://h:9200", "index": "docs"});
        let fields = settings.as_object_mut().unwrap();
        fields.extend(more.as_object().cloned().unwrap());
        read(&settings).err().map(|fault| fault.reason().message)
    }

    #[test]
    fn an_index_is_at_one_place_however_its_server_is_spelt() {
        let at =
            |url: &str, index: &str| place(&json!({"url": url, "index": index, "password": {"sealed": 1}}));
        let one = at("https://search.example.org", "docs").unwrap();
        assert_eq!(one, "index docs of https://search.example.org:443");
        for same in [
            "https://SEARCH.example.org/",
            "https://search.example.org:443",
            "HTTPS://search.example.org:443/",
        ] {
            assert_eq!(at(same, "docs").as_ref(), Some(&one), "{same}");
        }
        for other in [
            "http://search.example.org",
            "https://search.example.org:9200",
            "https://search.example.org/below",
        ] {
            assert_ne!(at(other, "docs").as_ref(), Some(&one), "{other}");
        }
        assert_ne!(at("https://search.example.org", "docs2"), Some(one));
        assert_eq!(place(&json!({"index": "docs"})), None);
    }

    #[test]
    fn what_cannot_be_meant_is_refused_without_repeating_a_password() {
        for fits in [
            json!({}),
            json!({"url": "http://127.0.0.1:9200/"}),
            json!({"url": "http://[::1]:9200/below"}),
            json!({"user": "u", "password": "p:q"}),
            json!({"api_key": "abc=="}),
            json!({"token": "t"}),
            json!({"index": "docs-2.of_mine"}),
            json!({"certificate_file": "/c", "key_file": "/k"}),
        ] {
            assert_eq!(told(fits.clone()), None, "{fits}");
        }
        for (wrong, place) in [
            (json!({"url": "http://h"}), "url"),
            (json!({"url": "https://u:TOPSECRET@h"}), "url"),
            (json!({"url": "https://h?TOPSECRET"}), "url"),
            (json!({"url": "ftp://h"}), "url"),
            (json!({"index": "Docs"}), "index"),
            (json!({"index": "_docs"}), "index"),
            (json!({"index": "a,b"}), "index"),
            (json!({"user": "u"}), "password"),
            (json!({"password": "TOPSECRET"}), "user"),
            (json!({"user": "u", "password": "TOPSECRET", "token": "TOPSECRET"}), "token"),
            (json!({"api_key": "TOP\nSECRET"}), "api_key"),
            (json!({"certificate_file": "/c"}), "key_file"),
            (json!({"ca_file": "c"}), "ca_file"),
            (json!({"timeout_s": 0}), "timeout_s"),
            (json!({"request_mib": 0}), "request_mib"),
        ] {
            let told = told(wrong.clone()).unwrap_or_default();
            assert!(told.contains(place) && !told.contains("SECRET"), "{wrong}: {told}");
        }
    }
}
