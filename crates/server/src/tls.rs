//! TLS: the certificate of a service, which is read anew when its files change, and what a client trusts.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ingather_model::limits;
use ingather_operations::in_words;
use ingather_operations::problem::{Problem, Result};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{CertificateError, ClientConfig, Error, RootCertStore, ServerConfig};

/// What is spoken inside.
const HTTP: &[u8] = b"http/1.1";
/// Everybody else on the machine.
const OTHERS: u32 = 0o007;

/// A certificate and its key, as their files have them.
pub struct Tls {
    certificate: PathBuf,
    key: PathBuf,
    held: Mutex<Held>,
}

struct Held {
    config: Arc<ServerConfig>,
    /// The files that were looked at last, also in vain.
    seen: [Option<Stamp>; 2],
}

/// What tells that a file is another one: device, inode, size, time of its content and of its name or rights.
type Stamp = [i64; 7];

impl Tls {
    /// Of two files in PEM: the certificate with those that stand behind it, and its key.
    ///
    /// # Errors
    /// Which of them cannot be used, and why.
    pub fn of(certificate: PathBuf, key: PathBuf) -> Result<Tls> {
        let seen = [stamp(&certificate), stamp(&key)];
        let config = server(&certificate, &key)?;
        Ok(Tls { certificate, key, held: Mutex::new(Held { config, seen }) })
    }

    /// What the next connection is encrypted with. Files that have changed are read; where they cannot be used, what was used before still is.
    pub(crate) fn current(&self, log: &dyn Fn(&str)) -> Arc<ServerConfig> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let found = [stamp(&self.certificate), stamp(&self.key)];
        if found != held.seen {
            held.seen = found;
            match server(&self.certificate, &self.key) {
                Ok(config) => {
                    held.config = config;
                    log(&format!("the certificate {} was read anew", self.certificate.display()));
                }
                Err(problem) => log(&format!("{problem}; the certificate from before stays in use")),
            }
        }
        held.config.clone()
    }
}

fn stamp(file: &Path) -> Option<Stamp> {
    let facts = std::fs::metadata(file).ok()?;
    let [device, inode, size] = [facts.dev(), facts.ino(), facts.size()].map(u64::cast_signed);
    Some([device, inode, size, facts.mtime(), facts.mtime_nsec(), facts.ctime(), facts.ctime_nsec()])
}

fn unusable(file: &Path, why: impl std::fmt::Display) -> Problem {
    Problem::usage(format!("the file {} cannot be used for TLS: {why}", file.display()))
}

fn read(file: &Path) -> Result<Vec<u8>> {
    let failed = |error: std::io::Error| unusable(file, in_words::error(&error));
    let mut text = Vec::new();
    let opened = File::open(file).map_err(failed)?;
    opened.take(limits::TLS_FILE_BYTES_MAX + 1).read_to_end(&mut text).map_err(failed)?;
    match text.len() as u64 > limits::TLS_FILE_BYTES_MAX {
        true => Err(unusable(file, format!("it has more than {} bytes", limits::TLS_FILE_BYTES_MAX))),
        false => Ok(text),
    }
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let text = read(file)?;
    let found: std::result::Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let found = found.map_err(|error| unusable(file, error))?;
    match found.is_empty() {
        true => Err(unusable(file, "there is no certificate in it; give one in PEM")),
        false => Ok(found),
    }
}

fn server(certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>> {
    let chain = certificates(certificate)?;
    let mode = std::fs::metadata(key).map_err(|error| unusable(key, in_words::error(&error)))?.mode();
    if mode & OTHERS != 0 {
        let why = "every user of this machine could take the key; `chmod o= FILE` keeps it from them";
        return Err(unusable(key, why));
    }
    let private = PrivateKeyDer::from_pem_slice(&read(key)?).map_err(|error| {
        unusable(key, format!("{error}; give the key of the certificate, without a password"))
    })?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(certificate, error))?
        .with_no_client_auth()
        .with_single_cert(chain, private)
        .map_err(|error| match error {
            Error::InconsistentKeys(_) => unusable(key, "it is the key of another certificate"),
            error => unusable(certificate, error),
        })?;
    config.alpn_protocols = vec![HTTP.to_vec()];
    Ok(Arc::new(config))
}

/// What a client trusts: the authorities in a file, or those of the system.
///
/// # Errors
/// When there are none.
pub(crate) fn client(authorities: Option<&Path>) -> Result<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    match authorities {
        Some(file) => {
            for certificate in certificates(file)? {
                roots.add(certificate).map_err(|error| unusable(file, error))?;
            }
        }
        None => {
            // Of the many of a system, one that cannot be read is no loss.
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    if roots.is_empty() {
        return Err(Problem::usage(
            "this machine knows no authorities to check certificates by; name a file of them with --server-ca",
        ));
    }
    let mut config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| Problem::unable(format!("TLS cannot be used: {error}")))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![HTTP.to_vec()];
    Ok(Arc::new(config))
}

/// Why a client does not trust what answers, in words.
pub(crate) fn refused(error: &std::io::Error) -> String {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
    match inner {
        Some(Error::InvalidCertificate(CertificateError::UnknownIssuer)) => {
            "no authority that is trusted stands behind its certificate; name one with --server-ca FILE"
                .to_owned()
        }
        Some(Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        )) => "its certificate is for another name; ask by the name that it is for".to_owned(),
        Some(Error::InvalidCertificate(
            CertificateError::Expired | CertificateError::ExpiredContext { .. },
        )) => "its certificate has expired; ask whoever runs it for a new one".to_owned(),
        Some(Error::InvalidMessage(_)) => "it does not speak TLS; ask it by http:".to_owned(),
        _ => in_words::error(error),
    }
}
