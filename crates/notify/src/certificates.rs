//! Certificates that whoever runs the service trusts beside those of the system.

use std::path::Path;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

/// Reads a file of certificates.
///
/// # Errors
/// A sentence that names the file.
pub(crate) fn read(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let wrong = |why: &dyn std::fmt::Display| format!("{}: {why}; give certificates in PEM", path.display());
    let all = CertificateDer::pem_file_iter(path).map_err(|error| wrong(&error))?;
    let all = all.collect::<Result<Vec<_>, _>>().map_err(|error| wrong(&error))?;
    if all.is_empty() { Err(wrong(&"there is none in it")) } else { Ok(all) }
}
