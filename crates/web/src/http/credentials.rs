//! Names and passwords for sites: each goes to the one host that it was given for, and nowhere else, whatever redirects say.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use ingather_model::fault::Reason;
use serde::{Deserialize, Serialize};
use url::Url;

use super::digest::Digest;

/// What a host is told so that it gives its pages.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CredentialSettings {
    /// Such as `https://example.com:8443`: scheme, host and port have to be the same, so that nothing secret goes over a plain
    /// connection that was meant for a secure one.
    pub origin: String,
    /// What it is told.
    #[serde(flatten)]
    pub secret: Secret,
}

/// A secret.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Secret {
    /// Name and password, with each request (RFC 7617).
    Basic {
        /// Name.
        user: String,
        /// Password.
        password: String,
    },
    /// Name and password, of which a digest proves that they are known (RFC 7616). The password is never sent.
    Digest {
        /// Name.
        user: String,
        /// Password.
        password: String,
    },
    /// A token, with each request (RFC 6750).
    Bearer(String),
}

impl std::fmt::Debug for CredentialSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CredentialSettings").field("origin", &self.origin).finish_non_exhaustive()
    }
}

/// Credentials that were checked, for each origin.
#[derive(Default)]
pub(super) struct Credentials(Vec<(url::Origin, Told)>);

/// What a host is told.
pub(super) enum Told {
    /// The value of a header, with each request.
    Always(HeaderValue),
    /// A proof, once it has asked for one.
    Proof(Digest),
}

impl Credentials {
    pub(super) fn of(settings: &[CredentialSettings]) -> Result<Credentials, Reason> {
        settings.iter().map(one).collect::<Result<_, _>>().map(Credentials)
    }

    /// What is told to the host of an address.
    pub(super) fn of_host(&self, url: &Url) -> Option<&Told> {
        let origin = url.origin();
        self.0.iter().find(|(of, _)| *of == origin).map(|(_, told)| told)
    }
}

fn one(settings: &CredentialSettings) -> Result<(url::Origin, Told), Reason> {
    let bad =
        |why: &str| Reason::new("bad_setting", format!("`credentials` have some that cannot be used: {why}"));
    let url = Url::parse(&settings.origin).map_err(|error| bad(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(bad("write where they are for as `https://host`"));
    }
    let text = match &settings.secret {
        Secret::Basic { user, .. } | Secret::Digest { user, .. } if user.contains(':') => {
            return Err(bad("a name cannot have a colon"));
        }
        Secret::Digest { user, password } => {
            let is_plain = |text: &str| text.chars().all(|letter| !letter.is_control());
            return match is_plain(user) {
                true => Ok((url.origin(), Told::Proof(Digest::new(user, password)))),
                false => Err(bad("they have signs that cannot be sent")),
            };
        }
        Secret::Basic { user, password } => {
            format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
        }
        Secret::Bearer(token) => format!("Bearer {token}"),
    };
    let mut header = HeaderValue::from_str(&text).map_err(|_| bad("they have signs that cannot be sent"))?;
    header.set_sensitive(true);
    Ok((url.origin(), Told::Always(header)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(value: serde_json::Value) -> Result<Credentials, Reason> {
        Credentials::of(&[serde_json::from_value(value).unwrap()])
    }

    #[test]
    fn a_secret_goes_to_its_origin_and_nowhere_else() {
        let secret = serde_json::json!({ "origin": "https://example.com", "basic": { "user": "a", "password": "b:c" } });
        let known = of(secret).unwrap();
        let told = |url: &str| match known.of_host(&Url::parse(url).unwrap()) {
            Some(Told::Always(header)) => Some(header.to_str().unwrap().to_owned()),
            _ => None,
        };
        assert_eq!(told("https://example.com:443/x").as_deref(), Some("Basic YTpiOmM="));
        for other in [
            "http://example.com/",
            "https://example.com:8443/",
            "https://www.example.com/",
            "https://example.com.evil.org/",
        ] {
            assert_eq!(told(other), None, "{other}");
        }
    }

    #[test]
    fn secrets_that_cannot_be_sent_are_refused_and_never_shown() {
        for bad in [
            serde_json::json!({ "origin": "ftp://example.com", "bearer": "hush" }),
            serde_json::json!({ "origin": "https://example.com", "bearer": "hush\r\nX: y" }),
            serde_json::json!({ "origin": "https://example.com", "basic": { "user": "a:b", "password": "hush" } }),
        ] {
            let settings: CredentialSettings = serde_json::from_value(bad.clone()).unwrap();
            assert!(!format!("{settings:?}").contains("hush"));
            let reason = of(bad).err().unwrap();
            assert!(reason.code == "bad_setting" && !reason.message.contains("hush"), "{reason:?}");
        }
    }
}
