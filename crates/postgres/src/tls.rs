//! TLS to a server: what is checked of its certificate, against which roots, and with which certificate of our own.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::{Refused, Result};

/// What is checked of a server's certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Checks {
    /// Nothing: nobody listens, but anybody may answer.
    Nothing,
    /// That one of the roots stands behind it.
    Chain,
    /// And that it is for the name of the host.
    ChainAndName,
}

/// A way to servers whose certificates and names are always checked. `roots`: a file of certificates; none: those of the system.
///
/// # Errors
/// [`Refused`] naming the file that cannot be used.
pub fn verified(roots: Option<&Path>) -> Result<MakeRustlsConnect> {
    connector(Checks::ChainAndName, roots, [None, None])
}

/// A way to servers. `roots`: a file of certificates; none: those of the system. `own`: files of a certificate and its key.
///
/// # Errors
/// [`Refused`] naming the file that cannot be used.
pub(crate) fn connector(
    checks: Checks,
    roots: Option<&Path>,
    own: [Option<PathBuf>; 2],
) -> Result<MakeRustlsConnect> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let chain = match checks {
        Checks::Nothing => None,
        Checks::Chain | Checks::ChainAndName => Some(
            WebPkiServerVerifier::builder_with_provider(Arc::new(trusted(roots)?), provider.clone())
                .build()
                .map_err(|error| refuse(format!("no certificate can be checked: {error}")))?,
        ),
    };
    let verifier = Verifier { chain, names: checks == Checks::ChainAndName, provider: provider.clone() };
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| refuse(format!("TLS cannot be used: {error}")))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    let config = match own {
        [None, None] => builder.with_no_client_auth(),
        [Some(certificate), Some(key)] => {
            let chain = certificates(&certificate)?;
            let private = PrivateKeyDer::from_pem_file(&key).map_err(|error| unusable(&key, error))?;
            builder.with_client_auth_cert(chain, private).map_err(|error| unusable(&certificate, error))?
        }
        _ => return Err(refuse("a certificate needs its key: name both, sslcert and sslkey")),
    };
    Ok(MakeRustlsConnect::new(config))
}

fn refuse(sentence: impl Into<String>) -> Refused {
    Refused(sentence.into())
}

fn unusable(file: &Path, error: impl std::fmt::Display) -> Refused {
    refuse(format!("the file {} cannot be used: {error}", file.display()))
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let found: std::result::Result<Vec<_>, _> =
        CertificateDer::pem_file_iter(file).map_err(|error| unusable(file, error))?.collect();
    let found = found.map_err(|error| unusable(file, error))?;
    if found.is_empty() {
        return Err(unusable(file, "there is no certificate in it"));
    }
    Ok(found)
}

/// The roots that are trusted.
fn trusted(file: Option<&Path>) -> Result<RootCertStore> {
    let mut store = RootCertStore::empty();
    match file.filter(|file| *file != Path::new("system")) {
        Some(file) => {
            for certificate in certificates(file)? {
                store.add(certificate).map_err(|error| unusable(file, error))?;
            }
        }
        None => {
            // Of the many roots of a system, one that cannot be read is no loss.
            store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    if store.is_empty() {
        return Err(refuse(
            "there are no roots on this system to check certificates by; name a file with sslrootcert",
        ));
    }
    Ok(store)
}

/// Checks what it was asked to; signatures of the handshake in any case.
#[derive(Debug)]
struct Verifier {
    chain: Option<Arc<WebPkiServerVerifier>>,
    names: bool,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, Error> {
        let Some(chain) = &self.chain else { return Ok(ServerCertVerified::assertion()) };
        match chain.verify_server_cert(end_entity, intermediates, name, ocsp, now) {
            // The name is looked at last: all else was found right.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.names => Ok(ServerCertVerified::assertion()),
            judged => judged,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
