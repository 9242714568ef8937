//! A webhook: one POST for each notice, signed as Standard Webhooks say, so that whoever is asked can see that it is from here, new, and the
//! same as before.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use ingather_contract::addresses::is_public;
use ingather_contract::call::CallContext;
use ingather_contract::notifier::{Notice, Notifier};
use ingather_contract::sink::{Message, Sender, Unheard};
use ingather_model::fault::Fault;
use ingather_model::limits;
use rustls::pki_types::CertificateDer;
use sha2::Sha256;
use ureq::Agent;
use ureq::http::Uri;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::DefaultConnector;

use crate::addresses::{PRIVATE, PublicAlone};
use crate::certificates;
use crate::declared::WebhookSettings;
use crate::secret::read_secret;

/// A webhook.
pub(crate) struct Webhook {
    url: Uri,
    secret_file: PathBuf,
    agent: Agent,
}

impl Webhook {
    pub(crate) fn of(settings: WebhookSettings) -> Result<Webhook, String> {
        let WebhookSettings { url, secret_file, private, ca_file } = settings;
        let parsed: Uri = url.parse().map_err(|error| format!("`url` cannot be read: {error}"))?;
        let host = parsed.host().unwrap_or_default();
        if !matches!(parsed.scheme_str(), Some("http" | "https")) || host.is_empty() {
            return Err("`url` is to begin with https:// or http://, and to name a host".to_owned());
        }
        if parsed.authority().is_some_and(|authority| authority.as_str().contains('@')) {
            return Err("`url` names a user; whoever is asked knows this service by the signature".to_owned());
        }
        let address = host.trim_start_matches('[').trim_end_matches(']').parse();
        if !private && address.is_ok_and(|address| !is_public(address)) {
            return Err(PRIVATE.to_owned());
        }
        read_secret(&secret_file)?;
        Ok(Webhook { agent: agent(private, ca_file.as_deref())?, url: parsed, secret_file })
    }
}

/// Asks servers over HTTP. `private`: also such that only this machine or its network reaches.
fn agent(private: bool, ca_file: Option<&Path>) -> Result<Agent, String> {
    let mut roots: Vec<Certificate<'static>> = Vec::new();
    let mut add = |der: CertificateDer<'_>| roots.push(Certificate::from_der(der.as_ref()).to_owned());
    // What cannot be read of the system's stands behind nothing.
    rustls_native_certs::load_native_certs().certs.into_iter().for_each(&mut add);
    ca_file.map_or(Ok(Vec::new()), certificates::read)?.into_iter().for_each(&mut add);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::Specific(Arc::new(roots)))
        .unversioned_rustls_crypto_provider(provider)
        .build();
    let config = Agent::config_builder()
        .tls_config(tls)
        .timeout_global(Some(Duration::from_millis(limits::NOTICE_MS_MAX.min(limits::SINK_ANSWER_MS))))
        // A connection that rests may be closed by the other side just when it is used: nobody could tell then whether the message came.
        .max_idle_connections(0)
        // Whoever is asked could send the notice to somebody else, inside the network.
        .max_redirects(0)
        .max_redirects_will_error(false)
        .http_status_as_error(false)
        // A proxy would look up names itself.
        .proxy(None)
        .user_agent(concat!("ingather/", env!("CARGO_PKG_VERSION")))
        .build();
    let resolver = DefaultResolver::default();
    Ok(match private {
        true => Agent::with_parts(config, DefaultConnector::default(), resolver),
        false => Agent::with_parts(config, DefaultConnector::default(), PublicAlone(resolver)),
    })
}

/// The signature of a body that is sent at a time, seconds since 1970 UTC.
fn signature(secret: &[u8], id: &str, at: i64, body: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("a key of any length is one");
    mac.update(format!("{id}.{at}.{body}").as_bytes());
    let hex: String = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("v1={hex}")
}

/// Posts a body, signed; the status of the answer.
fn post(
    agent: &Agent,
    url: &Uri,
    (secret, id): (&str, &str),
    (at, body): (i64, &str),
) -> Result<u16, ureq::Error> {
    let sent = agent
        .post(url)
        .header("content-type", "application/json")
        .header("idempotency-key", id)
        .header("ingather-timestamp", at.to_string())
        .header("ingather-signature", signature(secret.as_bytes(), id, at, body))
        .send(body)?;
    Ok(sent.status().as_u16())
}

impl Notifier for Webhook {
    fn tell(&self, call: &CallContext, notice: &Notice) -> Result<(), Fault> {
        let secret = read_secret(&self.secret_file).map_err(|why| Fault::passing("secret", why))?;
        let (at, body) = (call.clock.now().div_euclid(1_000), notice.body.to_string());
        let status = match post(&self.agent, &self.url, (&secret, &notice.id), (at, &body)) {
            Ok(status) => status,
            Err(error) => {
                let why = error.to_string();
                return Err(match why.contains(PRIVATE) {
                    true => Fault::refused("private", PRIVATE),
                    false => Fault::passing("webhook", format!("the webhook cannot be reached: {why}")),
                });
            }
        };
        match status {
            200..=299 => Ok(()),
            300..=399 => Err(Fault::refused(
                "redirect",
                format!(
                    "the webhook answers with {status}, which leads elsewhere; declare the address that it leads to"
                ),
            )),
            408 | 425 | 429 | 500.. => {
                Err(Fault::passing("webhook", format!("the webhook answers with {status}")))
            }
            _ => Err(Fault::refused("webhook", format!("the webhook refuses it with {status}"))),
        }
    }

    fn describe(&self) -> String {
        // A path may hold what only those know who may ask there.
        format!("asks {}", self.url.authority().map_or("", |authority| authority.as_str()))
    }
}

/// Sends messages to sinks of channels. Which addresses these are at is a setting of their sources; whoever may configure one says so of addresses of this network, too.
pub(crate) struct Sinks {
    agent: Agent,
}

impl Sinks {
    pub(crate) fn open() -> Result<Sinks, String> {
        Ok(Sinks { agent: agent(true, None)? })
    }
}

impl Sender for Sinks {
    fn send(&self, call: &CallContext, message: &Message<'_>) -> Result<(), Unheard> {
        let refused = |why: String| Unheard::Refused(format!("the sink {why}"));
        let url: Uri = message
            .url
            .parse()
            .map_err(|error| refused(format!("has an address that cannot be read: {error}")))?;
        let at = call.clock.now().div_euclid(1_000);
        match post(&self.agent, &url, (message.secret, message.id), (at, message.body)) {
            Ok(200..=299) => Ok(()),
            Ok(status @ 300..=399) => {
                Err(refused(format!("answers with {status}, which leads elsewhere; no redirect is followed")))
            }
            Ok(status) => Err(refused(format!("answers with {status}"))),
            Err(error) if never_came(&error) => Err(refused(format!("cannot be reached: {error}"))),
            Err(error) => Err(Unheard::Lost(format!("the sink does not answer: {error}"))),
        }
    }
}

/// Whether it is certain that nothing was sent.
fn never_came(error: &ureq::Error) -> bool {
    use std::io::ErrorKind::{AddrNotAvailable, ConnectionRefused, HostUnreachable, NetworkUnreachable};
    match error {
        ureq::Error::BadUri(_)
        | ureq::Error::HostNotFound
        | ureq::Error::ConnectionFailed
        | ureq::Error::Tls(_) => true,
        ureq::Error::Timeout(ureq::Timeout::Resolve | ureq::Timeout::Connect) => true,
        ureq::Error::Io(error) => {
            matches!(
                error.kind(),
                ConnectionRefused | AddrNotAvailable | HostUnreachable | NetworkUnreachable
            )
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests;
