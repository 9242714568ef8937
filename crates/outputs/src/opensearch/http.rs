//! Requests to one server: bounded in time and bytes, with certificates that are always checked, and without TLS to this machine alone. No
//! redirect is followed: credentials and texts go where the settings say and nowhere else.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ingather_model::limits;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use ureq::config::Config;
use ureq::http::{Response, Uri, header};
use ureq::tls::{Certificate, ClientCert, PrivateKey, RootCerts, TlsConfig};
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};
use ureq::{Agent, Body, Error, RequestBuilder};

use super::settings::Meant;

/// What is asked.
#[derive(Clone, Copy)]
pub(super) enum Method {
    Get,
    Put,
    Post,
    Delete,
}

/// One request; the path begins with `/`.
pub(super) struct Request<'r> {
    pub(super) method: Method,
    pub(super) path: &'r str,
    /// JSON, or lines of it; none where nothing is sent.
    pub(super) body: &'r [u8],
    /// The body is lines of JSON.
    pub(super) is_lines: bool,
    /// Bytes that an answer may have.
    pub(super) answer_max: u64,
}

/// An answer.
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
    /// How long the server asks to be left alone, milliseconds.
    pub(super) rest_ms: Option<u64>,
}

/// Why there is no answer.
pub(super) enum Failure {
    /// Nobody knows whether the server did what it was asked.
    Unanswered(String),
    /// It is no server that may be asked.
    Untrusted(String),
    /// The answer has more bytes than it may have.
    TooLarge,
}

/// Asks one server.
pub(super) struct Http {
    agent: Agent,
    url: String,
    authorization: Option<String>,
    /// As JSON writes it between its quotes.
    hidden: Vec<String>,
}

impl Http {
    /// # Errors
    /// A sentence that names a file that cannot be used.
    pub(super) fn new(meant: &Meant) -> Result<Http, String> {
        let shown = meant.shown.as_ref().map(|(chain, key)| shown(chain, key)).transpose()?;
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::Specific(roots(meant.ca_file.as_deref())?))
            .client_cert(shown)
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .build();
        let config = Agent::config_builder()
            .tls_config(tls)
            .timeout_global(Some(Duration::from_millis(meant.timeout_ms)))
            .timeout_connect(Some(Duration::from_millis(limits::OPENSEARCH_CONNECT_MS_MAX)))
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            // A proxy would look up names itself, and see what goes without TLS.
            .proxy(None)
            .user_agent(concat!("ingather/", env!("CARGO_PKG_VERSION")))
            .build();
        let resolver = HereWithoutTls(DefaultResolver::default());
        Ok(Http {
            agent: Agent::with_parts(config, DefaultConnector::default(), resolver),
            url: meant.url.clone(),
            authorization: meant.authorization.clone(),
            hidden: meant.hidden.iter().map(|secret| in_json(secret)).collect(),
        })
    }

    /// Asks once.
    pub(super) fn ask(&self, request: &Request<'_>) -> Result<Reply, Failure> {
        let at = format!("{}{}", self.url, request.path);
        let agent = &self.agent;
        let answer = match (request.method, request.body.is_empty()) {
            (Method::Get, _) => self.with_headers(agent.get(&at), request).call(),
            (Method::Delete, true) => self.with_headers(agent.delete(&at), request).call(),
            (Method::Delete, false) => {
                self.with_headers(agent.delete(&at), request).force_send_body().send(request.body)
            }
            (Method::Put, _) => self.with_headers(agent.put(&at), request).send(request.body),
            (Method::Post, _) => self.with_headers(agent.post(&at), request).send(request.body),
        };
        let is_plain = !self.url.starts_with("https://");
        let read = answer.and_then(|answer| read(answer, request.answer_max));
        let mut reply = read.map_err(|error| in_words(error, is_plain))?;
        if is_plain && reply.status == 400 && String::from_utf8_lossy(&reply.body).contains("HTTPS") {
            return Err(Failure::Untrusted("the server speaks TLS; write https:// in `url`".to_owned()));
        }
        // Nothing else is told to people. What an index holds is put back as it was read.
        if reply.status >= 400 || request.is_lines {
            reply.body = without(reply.body, &self.hidden);
        }
        Ok(reply)
    }

    fn with_headers<B>(&self, builder: RequestBuilder<B>, request: &Request<'_>) -> RequestBuilder<B> {
        let kind = if request.is_lines { "application/x-ndjson" } else { "application/json" };
        let builder = builder.header(header::ACCEPT, "application/json");
        let builder = match request.body.is_empty() {
            true => builder,
            false => builder.header(header::CONTENT_TYPE, kind),
        };
        match &self.authorization {
            Some(authorization) => builder.header(header::AUTHORIZATION, authorization),
            None => builder,
        }
    }
}

fn in_json(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted.trim_matches('"').to_owned()
}

/// An answer without secrets that the server repeats in it. Very short ones are in other words as well.
fn without(body: Vec<u8>, hidden: &[String]) -> Vec<u8> {
    let long = hidden.iter().filter(|secret| secret.len() >= limits::OPENSEARCH_HIDDEN_BYTES_MIN);
    long.fold(body, |body, secret| match String::from_utf8(body) {
        Ok(text) if text.contains(secret.as_str()) => text.replace(secret.as_str(), "(hidden)").into_bytes(),
        Ok(text) => text.into_bytes(),
        Err(not_text) => not_text.into_bytes(),
    })
}

fn read(mut answer: Response<Body>, answer_max: u64) -> Result<Reply, Error> {
    let text = |name| answer.headers().get(name).and_then(|value: &header::HeaderValue| value.to_str().ok());
    let rest_ms = text("retry-after").and_then(|seconds| seconds.parse::<u64>().ok());
    let rest_ms = rest_ms.map(|seconds| seconds.saturating_mul(1_000));
    let status = answer.status().as_u16();
    let body = answer.body_mut().with_config().limit(answer_max).read_to_vec()?;
    Ok(Reply { status, body, rest_ms })
}

/// `is_plain`: it was asked without TLS.
fn in_words(error: Error, is_plain: bool) -> Failure {
    match error {
        Error::Timeout(_) => Failure::Unanswered("the server did not answer in time".to_owned()),
        Error::BodyExceedsLimit(_) | Error::LargeResponseHeader(..) => Failure::TooLarge,
        Error::Rustls(error) => {
            Failure::Untrusted(format!("the certificate of the server is not accepted: {error}"))
        }
        Error::Io(error) if error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>()) => {
            Failure::Untrusted(format!("the certificate of the server is not accepted: {error}"))
        }
        error => {
            let hint =
                if is_plain && speaks_otherwise(&error) { "; does it speak TLS? write https://" } else { "" };
            Failure::Unanswered(format!("the server cannot be asked: {error}{hint}"))
        }
    }
}

/// Whether somebody is there who answers in no HTTP, or not at all.
fn speaks_otherwise(error: &Error) -> bool {
    match error {
        Error::Protocol(_) | Error::Http(_) => true,
        Error::Io(error) => matches!(
            error.kind(),
            ErrorKind::ConnectionReset
                | ErrorKind::ConnectionAborted
                | ErrorKind::UnexpectedEof
                | ErrorKind::BrokenPipe
        ),
        _ => false,
    }
}

/// Without TLS gives addresses of this machine alone, whatever a name is said to stand for.
#[derive(Debug)]
struct HereWithoutTls(DefaultResolver);

impl Resolver for HereWithoutTls {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, Error> {
        let found = self.0.resolve(uri, config, timeout)?;
        if uri.scheme_str() == Some("https") {
            return Ok(found);
        }
        let mut here = self.empty();
        found.iter().filter(|address| address.ip().is_loopback()).for_each(|address| here.push(*address));
        match here.is_empty() {
            true => Err(Error::Io(std::io::Error::other("without TLS this machine alone is asked"))),
            false => Ok(here),
        }
    }
}

fn owned(der: CertificateDer<'_>) -> Certificate<'static> {
    Certificate::from_der(der.as_ref()).to_owned()
}

fn roots(ca_file: Option<&Path>) -> Result<Arc<Vec<Certificate<'static>>>, String> {
    static OF_THE_SYSTEM: OnceLock<Arc<Vec<Certificate<'static>>>> = OnceLock::new();
    let Some(file) = ca_file else {
        // Of the many roots of a system, one that cannot be read is no loss.
        let all =
            || Arc::new(rustls_native_certs::load_native_certs().certs.into_iter().map(owned).collect());
        return Ok(OF_THE_SYSTEM.get_or_init(all).clone());
    };
    Ok(Arc::new(certificates("ca_file", file)?))
}

fn certificates(setting: &str, file: &Path) -> Result<Vec<Certificate<'static>>, String> {
    let unusable = |what: &dyn std::fmt::Display| unusable(setting, file, what);
    bounded(setting, file)?;
    let all = CertificateDer::pem_file_iter(file).map_err(|error| unusable(&error))?;
    let all: Vec<Certificate<'static>> =
        all.map(|der| der.map(owned)).collect::<Result<_, _>>().map_err(|error| unusable(&error))?;
    if all.is_empty() { Err(unusable(&"there is no certificate in it")) } else { Ok(all) }
}

fn shown(chain: &Path, key: &Path) -> Result<ClientCert, String> {
    let chain = certificates("certificate_file", chain)?;
    bounded("key_file", key)?;
    // What a reader of keys says may repeat a part of one.
    let wrong = |_| unusable("key_file", key, &"there is no key in PEM in it");
    let read = std::fs::read(key).map_err(|error| unusable("key_file", key, &error))?;
    PrivateKeyDer::from_pem_slice(&read).map_err(wrong)?;
    let pem = PrivateKey::from_pem(&read)
        .map_err(|_| unusable("key_file", key, &"there is no key in PEM in it"))?;
    Ok(ClientCert::new_with_certs(&chain, pem))
}

fn bounded(setting: &str, file: &Path) -> Result<(), String> {
    let size = std::fs::metadata(file).map_err(|error| unusable(setting, file, &error))?.len();
    match size <= limits::OPENSEARCH_PEM_BYTES_MAX {
        true => Ok(()),
        false => Err(unusable(setting, file, &"it is too large")),
    }
}

fn unusable(setting: &str, file: &Path, what: &dyn std::fmt::Display) -> String {
    format!("`{setting}` {} cannot be used: {what}", file.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_that_a_server_repeats_is_not_told() {
        let hidden =
            ["p\"ss-WORD".to_owned(), "aW5nOnBhc3M=".to_owned(), "ab".to_owned()].map(|one| in_json(&one));
        let said =
            serde_json::json!({"error": "bad Basic aW5nOnBhc3M= for ing:p\"ss-WORD, about"}).to_string();
        let told = String::from_utf8(without(said.into_bytes(), &hidden)).unwrap();
        assert_eq!(told, r#"{"error":"bad Basic (hidden) for ing:(hidden), about"}"#);
        assert_eq!(without(vec![0xff, 1], &hidden), [0xff, 1]);
    }
}
