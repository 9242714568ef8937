//! Whom a connection trusts, and who it says it is.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ingather_model::fault::Reason;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use serde::{Deserialize, Serialize};

/// Certificates, as files in PEM.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TlsSettings {
    /// Roots that are trusted besides those of the system.
    pub roots: Option<PathBuf>,
    /// Trusts the roots of the file alone.
    pub own_roots_only: bool,
    /// Certificate that the program shows, with those above it.
    pub certificate: Option<PathBuf>,
    /// Its key.
    pub key: Option<PathBuf>,
}

impl TlsSettings {
    /// Reads the files.
    pub(super) fn config(&self) -> Result<ClientConfig, Reason> {
        let mut roots = RootCertStore::empty();
        if !self.own_roots_only {
            // Of the many roots of a system, one that cannot be read is no loss.
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
        if let Some(file) = &self.roots {
            for certificate in certificates(file)? {
                roots.add(certificate).map_err(|error| unusable(file, error))?;
            }
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| Reason::new("bad_setting", format!("TLS cannot be used: {error}")))?
            .with_root_certificates(roots);
        let mut config = match (&self.certificate, &self.key) {
            (None, None) => builder.with_no_client_auth(),
            (Some(certificate), Some(key)) => {
                let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| unusable(key, error))?;
                builder
                    .with_client_auth_cert(certificates(certificate)?, secret)
                    .map_err(|error| unusable(certificate, error))?
            }
            _ => return Err(Reason::new("bad_setting", "a certificate and its key belong together")),
        };
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, Reason> {
    let found: Result<Vec<_>, _> =
        CertificateDer::pem_file_iter(file).map_err(|error| unusable(file, error))?.collect();
    match found.map_err(|error| unusable(file, error))? {
        none if none.is_empty() => Err(unusable(file, "there is no certificate in it")),
        found => Ok(found),
    }
}

fn unusable(file: &Path, error: impl std::fmt::Display) -> Reason {
    Reason::new("bad_setting", format!("`{}` cannot be used: {error}", file.display()))
}
