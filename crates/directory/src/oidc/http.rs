//! Questions to a provider over HTTP: bounded in time and bytes, with certificates that are always checked, and without TLS to this machine
//! alone. No redirect is followed: a token, and the trust in keys, go where the issuer says and nowhere else.

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use ingather_model::limits;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use ureq::config::Config;
use ureq::http::uri::Scheme;
use ureq::http::{StatusCode, Uri, header};
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};
use ureq::{Agent, Error};

/// An answer of a provider.
pub(super) struct Reply {
    pub(super) status: u16,
    /// Its kind, without what stands behind a `;`.
    pub(super) kind: String,
    pub(super) body: Vec<u8>,
}

/// Asks one provider.
pub(super) struct Http(Agent);

impl Http {
    /// Trusts the certificates of a file, else those of the system.
    pub(super) fn new(ca_file: Option<&Path>) -> Result<Http, String> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::Specific(roots(ca_file)?))
            .unversioned_rustls_crypto_provider(provider)
            .build();
        let config = Agent::config_builder()
            .tls_config(tls)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            // A proxy would look up names itself, and see what goes without TLS.
            .proxy(None)
            .user_agent(concat!("ingather/", env!("CARGO_PKG_VERSION")))
            .build();
        Ok(Http(Agent::with_parts(
            config,
            DefaultConnector::default(),
            HereWithoutTls(DefaultResolver::default()),
        )))
    }

    /// Looks at an address until a time, as whoever has this token, where one is given.
    ///
    /// # Errors
    /// A sentence that says what went wrong, without the token.
    pub(super) fn get(&self, at: &Uri, token: Option<&str>, until: Instant) -> Result<Reply, String> {
        // clock: sockets wait by it.
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(LATE.to_owned());
        }
        let mut request = self.0.get(at).config().timeout_global(Some(left)).build();
        request = request.header(header::ACCEPT, "application/json");
        if let Some(token) = token {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        let mut reply = request.call().map_err(|error| in_words(at, &error))?;
        let kind = reply.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let kind =
            kind.and_then(|kind| kind.split(';').next()).unwrap_or_default().trim().to_ascii_lowercase();
        let status = reply.status();
        let body = reply.body_mut().with_config().limit(limits::OIDC_ANSWER_BYTES_MAX);
        let body = body.read_to_vec().map_err(|error| in_words(at, &error))?;
        Ok(Reply { status: status.as_u16(), kind, body })
    }

    /// An answer that is an object of JSON.
    pub(super) fn object(&self, at: &Uri, until: Instant) -> Result<super::claims::Claims, String> {
        let reply = self.get(at, None, until)?;
        match reply.status {
            200 => super::json::object(&reply.body)
                .ok_or_else(|| format!("{} answers with what is no object of JSON", shown(at))),
            status => Err(said(at, status)),
        }
    }
}

/// Characters of an address that are shown.
const SHOWN_MAX: usize = 200;
pub(super) const LATE: &str = "the provider did not answer in time";

/// What a status says that is not wanted.
pub(super) fn said(at: &Uri, status: u16) -> String {
    match StatusCode::from_u16(status).is_ok_and(|status| status.is_redirection()) {
        true => format!("{} leads elsewhere ({status}), and that is not followed", shown(at)),
        false => format!("{} answers with {status}", shown(at)),
    }
}

/// Where something was looked for: never what stands behind a `?`, and of a long address its beginning. The provider names some of them.
fn shown(at: &Uri) -> String {
    let host = at.authority().map_or("", |authority| authority.as_str());
    let mut whole = format!("{}://{host}{}", at.scheme_str().unwrap_or_default(), at.path());
    if let Some((end, _)) = whole.char_indices().nth(SHOWN_MAX) {
        whole.truncate(end);
        whole.push('…');
    }
    whole
}

fn in_words(at: &Uri, error: &Error) -> String {
    match error {
        Error::Timeout(_) => LATE.to_owned(),
        Error::BodyExceedsLimit(_) | Error::LargeResponseHeader(..) => {
            format!("{} answers with too much", shown(at))
        }
        Error::Rustls(error) => format!("the certificate of the provider is not accepted: {error}"),
        Error::Io(error) if error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>()) => {
            format!("the certificate of the provider is not accepted: {error}")
        }
        error => format!("{} cannot be asked: {error}", shown(at)),
    }
}

/// An address that may be asked: with TLS, or without it where its name stands for this machine.
pub(super) fn address(text: &str) -> Option<Uri> {
    let at: Uri = text.parse().ok()?;
    let host = at.host()?.trim_start_matches('[').trim_end_matches(']');
    let is_here = host.eq_ignore_ascii_case("localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    let names_a_user = at.authority()?.as_str().contains('@');
    let fits = !host.is_empty() && !names_a_user && !text.contains('#');
    match at.scheme_str()? {
        "https" if fits => Some(at),
        "http" if fits && is_here => Some(at),
        _ => None,
    }
}

/// An address that is named by what was found at another one: what was asked with TLS leads nowhere without it, also on this machine.
pub(super) fn leads(from: &Uri, text: &str) -> Option<Uri> {
    address(text).filter(|at| at.scheme() == from.scheme() || at.scheme() == Some(&Scheme::HTTPS))
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

fn roots(ca_file: Option<&Path>) -> Result<Arc<Vec<Certificate<'static>>>, String> {
    static OF_THE_SYSTEM: OnceLock<Arc<Vec<Certificate<'static>>>> = OnceLock::new();
    let owned = |der: CertificateDer<'_>| Certificate::from_der(der.as_ref()).to_owned();
    let Some(file) = ca_file else {
        // Of the many roots of a system, one that cannot be read is no loss.
        let all =
            || Arc::new(rustls_native_certs::load_native_certs().certs.into_iter().map(owned).collect());
        return Ok(OF_THE_SYSTEM.get_or_init(all).clone());
    };
    let unusable =
        |what: &dyn std::fmt::Display| format!("`ca_file` {} cannot be used: {what}", file.display());
    let size = std::fs::metadata(file).map_err(|error| unusable(&error))?.len();
    if size > limits::LDAP_CERTIFICATES_BYTES_MAX {
        return Err(unusable(&"it is too large"));
    }
    let all = CertificateDer::pem_file_iter(file).map_err(|error| unusable(&error))?;
    let all: Vec<Certificate<'static>> =
        all.map(|der| der.map(owned)).collect::<Result<_, _>>().map_err(|error| unusable(&error))?;
    if all.is_empty() { Err(unusable(&"there is no certificate in it")) } else { Ok(Arc::new(all)) }
}
