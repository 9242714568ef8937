//! Whom a connection trusts, and what it shows of itself. Certificates are always checked.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use ingather_model::limits;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

use super::settings::Meant;

/// How connections of these settings are made.
///
/// # Errors
/// A sentence that names a file that cannot be used.
pub(super) fn config(meant: &Meant) -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("no version of TLS can be used: {error}"))?
        .with_root_certificates(roots(meant.ca_file.as_deref())?);
    let Some((chain, file)) = &meant.shown else { return Ok(config.with_no_client_auth()) };
    let chain = certificates("certificate_file", chain)?;
    bounded("key_file", file)?;
    // What a reader of keys says may repeat a part of one.
    let wrong = || unusable("key_file", file, &"there is no key in PEM in it");
    let key = PrivateKeyDer::from_pem_file(file).map_err(|_| wrong())?;
    config
        .with_client_auth_cert(chain, key)
        .map_err(|_| unusable("key_file", file, &"it is none of the certificate in `certificate_file`"))
}

fn roots(ca_file: Option<&Path>) -> Result<Arc<RootCertStore>, String> {
    static OF_THE_SYSTEM: OnceLock<Arc<RootCertStore>> = OnceLock::new();
    let Some(file) = ca_file else {
        // Of the many roots of a system, one that cannot be read is no loss.
        let all = || {
            let mut roots = RootCertStore::empty();
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            Arc::new(roots)
        };
        return Ok(OF_THE_SYSTEM.get_or_init(all).clone());
    };
    let mut roots = RootCertStore::empty();
    for certificate in certificates("ca_file", file)? {
        roots.add(certificate).map_err(|error| unusable("ca_file", file, &error))?;
    }
    Ok(Arc::new(roots))
}

fn certificates(setting: &str, file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let unusable = |what: &dyn std::fmt::Display| unusable(setting, file, what);
    bounded(setting, file)?;
    let all = CertificateDer::pem_file_iter(file).map_err(|error| unusable(&error))?;
    let all: Vec<_> = all.collect::<Result<_, _>>().map_err(|error| unusable(&error))?;
    if all.is_empty() { Err(unusable(&"there is no certificate in it")) } else { Ok(all) }
}

fn bounded(setting: &str, file: &Path) -> Result<(), String> {
    let size = std::fs::metadata(file).map_err(|error| unusable(setting, file, &error))?.len();
    match size <= limits::NATS_PEM_BYTES_MAX {
        true => Ok(()),
        false => Err(unusable(setting, file, &"it is too large")),
    }
}

fn unusable(setting: &str, file: &Path, what: &dyn std::fmt::Display) -> String {
    format!("`{setting}` {} cannot be used: {what}", file.display())
}
