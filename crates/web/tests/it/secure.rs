//! Whom the client trusts, with certificates made by openssl.

use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use ingather_web::http::{Client, ClientSettings, TlsSettings};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};

use crate::server::{ReadWrite, Server, fails, page, read, settings};

fn openssl(folder: &Path, arguments: &str) {
    let output = Command::new("openssl").args(arguments.split(' ')).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
}

const KEY: &str = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";

/// A root and a certificate by it, valid for `days` from now.
pub(crate) fn signed(folder: &Path, name: &str, host: &str, days: &str) {
    openssl(folder, &format!("req {KEY} -subj /CN={name} -keyout {name}.key -out {name}.csr"));
    std::fs::write(folder.join("extensions"), format!("subjectAltName={host}\nbasicConstraints=CA:FALSE\n"))
        .unwrap();
    openssl(
        folder,
        &format!(
            "x509 -req {days} -in {name}.csr -CA root.pem -CAkey root.key -CAcreateserial -extfile extensions -out {name}.pem"
        ),
    );
}

pub(crate) fn root(folder: &Path, name: &str) {
    openssl(folder, &format!("req -x509 {KEY} -days 2 -subj /CN={name} -keyout {name}.key -out {name}.pem"));
}

/// How a server with this certificate speaks: of the protocols it names, where there are any.
pub(crate) fn serving(
    folder: &Path,
    name: &str,
    wants_client: bool,
    protocols: &[&[u8]],
) -> Arc<ServerConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap();
    let certificate = |name: &str| CertificateDer::from_pem_file(folder.join(format!("{name}.pem"))).unwrap();
    let builder = if wants_client {
        let mut roots = RootCertStore::empty();
        roots.add(certificate("root")).unwrap();
        builder.with_client_cert_verifier(
            WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap(),
        )
    } else {
        builder.with_no_client_auth()
    };
    let key = PrivateKeyDer::from_pem_file(folder.join(format!("{name}.key"))).unwrap();
    let mut config = builder.with_single_cert(vec![certificate(name)], key).unwrap();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    Arc::new(config)
}

fn server(folder: &Path, name: &str, wants_client: bool) -> Server {
    let config = serving(folder, name, wants_client, &[]);
    let wrap = move |stream: TcpStream| -> Option<Box<dyn ReadWrite>> {
        let connection = ServerConnection::new(Arc::clone(&config)).ok()?;
        Some(Box::new(StreamOwned::new(connection, stream)))
    };
    Server::through(|_, stream| drop(stream.write_all(page("secret").as_bytes())), wrap)
}

pub(crate) fn trusting(folder: &Path) -> ClientSettings {
    let tls =
        TlsSettings { roots: Some(folder.join("root.pem")), own_roots_only: true, ..TlsSettings::default() };
    ClientSettings { tls, ..settings() }
}

fn asked(server: &Server, host: &str) -> url::Url {
    format!("https://{host}:{}/", server.port()).parse().unwrap()
}

#[test]
fn a_certificate_of_a_trusted_root_for_this_host_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    root(folder.path(), "root");
    signed(folder.path(), "good", "DNS:localhost,IP:127.0.0.1", "-days 2");
    let server = server(folder.path(), "good", false);
    let client = Client::new(trusting(folder.path())).unwrap();
    assert_eq!(read(&client, &asked(&server, "localhost")).unwrap(), b"secret");
    assert_eq!(read(&client, &asked(&server, "127.0.0.1")).unwrap(), b"secret");
    assert_eq!(fails(&Client::new(settings()).unwrap(), &asked(&server, "localhost")), "tls");
}

#[test]
fn certificates_that_prove_nothing_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    root(folder.path(), "root");
    root(folder.path(), "localhost");
    signed(folder.path(), "other", "DNS:other.example", "-days 2");
    signed(folder.path(), "expired", "DNS:localhost", "-days -1");
    let client = Client::new(trusting(folder.path())).unwrap();
    for name in ["localhost", "other", "expired"] {
        let server = server(folder.path(), name, false);
        assert_eq!(fails(&client, &asked(&server, "localhost")), "tls", "{name}");
    }
}

#[test]
fn a_server_that_wants_a_certificate_is_shown_one() {
    let folder = tempfile::tempdir().unwrap();
    root(folder.path(), "root");
    signed(folder.path(), "good", "DNS:localhost", "-days 2");
    signed(folder.path(), "me", "DNS:me", "-days 2");
    let server = server(folder.path(), "good", true);
    let mut with = trusting(folder.path());
    assert!(read(&Client::new(with.clone()).unwrap(), &asked(&server, "localhost")).is_err());
    with.tls.certificate = Some(folder.path().join("me.pem"));
    let without_key = Client::new(with.clone()).err().unwrap();
    assert_eq!(without_key.code, "bad_setting");
    with.tls.key = Some(folder.path().join("me.key"));
    assert_eq!(read(&Client::new(with).unwrap(), &asked(&server, "localhost")).unwrap(), b"secret");
}
