//! Whom the output trusts, and how it says who it is, with certificates made by openssl and a server that only listens.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::mpsc::{self, Receiver};

use ingather_testkit::search_engine::certify;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};

use super::*;

/// A server with TLS that lets in whoever shows a certificate of its root, and holds no index; where it is, and who asked.
fn listening(folder: &Path) -> (String, Receiver<String>) {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let certificate = |name: &str| CertificateDer::from_pem_file(folder.join(name)).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(certificate("root.pem")).unwrap();
    let clients =
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build().unwrap();
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let key = PrivateKeyDer::from_pem_file(folder.join("server.key")).unwrap();
    let config =
        config.with_client_cert_verifier(clients).with_single_cert(vec![certificate("server.pem")], key);
    let config = Arc::new(config.unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let Ok(connection) = ServerConnection::new(config.clone()) else { return };
            let mut stream = BufReader::new(StreamOwned::new(connection, stream));
            let mut line = String::new();
            let mut login = String::new();
            while stream.read_line(&mut line).is_ok_and(|read| read > 2) {
                if let Some(said) = line.strip_prefix("authorization: ") {
                    login = said.trim().to_owned();
                }
                line.clear();
            }
            let answer = "HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
            let is_heard = stream.get_mut().write_all(answer.as_bytes()).is_ok();
            if is_heard && tell.send(login).is_err() {
                return;
            }
        }
    });
    (url, told)
}

#[test]
fn a_server_is_trusted_by_the_roots_that_are_named_and_hears_who_asks_in_each_way() {
    let (ours, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    certify(ours.path());
    certify(other.path());
    let (url, heard) = listening(ours.path());
    let file = |folder: &Path, name: &str| folder.join(name).display().to_string();
    let (certificate, key) = (file(ours.path(), "server.pem"), file(ours.path(), "server.key"));
    let settings = |more: Value| {
        let mut settings = json!({
            "url": url, "index": "docs", "ca_file": file(ours.path(), "root.pem"), "certificate_file": certificate, "key_file": key,
        });
        for (name, value) in more.as_object().unwrap() {
            settings[name] = value.clone();
        }
        settings.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        settings
    };
    let checked = |more: Value| (OUTPUT.check)(&settings(more), &context(1));
    for (more, login) in [
        (json!({}), ""),
        (json!({"user": "ann", "password": "p:q"}), "Basic YW5uOnA6cQ=="),
        (json!({"api_key": "a2V5"}), "ApiKey a2V5"),
        (json!({"token": "to-ken"}), "Bearer to-ken"),
    ] {
        assert_eq!(checked(more), Ok(()));
        assert_eq!(heard.recv().unwrap(), login);
    }
    for (wrong, code, words) in [
        (json!({"ca_file": null}), "certificate", "certificate of the server"),
        (json!({"ca_file": file(other.path(), "root.pem")}), "certificate", "certificate of the server"),
        (json!({"ca_file": "/nowhere"}), "settings", "`ca_file`"),
        (json!({"key_file": certificate}), "settings", "no key"),
        (json!({"certificate_file": key}), "settings", "`certificate_file`"),
    ] {
        let told = checked(wrong.clone()).unwrap_err().reason();
        assert!(told.code == code && told.message.contains(words), "{wrong}: {told:?}");
    }
    // Without a certificate, or with one of others, it is not let in; nobody can tell that from a network that fails.
    let stranger = json!({"certificate_file": file(other.path(), "server.pem"), "key_file": file(other.path(), "server.key")});
    for wrong in [json!({"certificate_file": null, "key_file": null}), stranger] {
        assert!(checked(wrong.clone()).is_err(), "{wrong}");
    }
    assert!(heard.try_recv().is_err(), "who is not trusted is told nothing");
}

/// One that answers with these bytes whatever it hears, and ends the connection.
fn answering(bytes: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut heard = BufReader::new(stream.try_clone().unwrap());
            let _ = heard.read_line(&mut String::new());
            let _ = stream.write_all(bytes);
        }
    });
    url
}

#[test]
fn a_server_with_tls_that_is_asked_without_is_told_by_how_it_answers() {
    // As TLS says that what it heard is none, as some servers do by closing, and as some explain in HTTP.
    let alert: &[u8] = &[21, 3, 3, 0, 2, 2, 50];
    let explained = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 57\r\n\r\nThe plain HTTP request was sent to HTTPS port, dear client";
    for bytes in [alert, b"", explained] {
        let settings = json!({"url": answering(bytes), "index": "docs"});
        let told = (OUTPUT.check)(&settings, &context(1)).unwrap_err().reason().message;
        assert!(told.contains("TLS") && told.contains("write https://"), "{told}");
    }
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let settings = json!({"url": format!("http://{nobody}"), "index": "docs"});
    let told = (OUTPUT.check)(&settings, &context(1)).unwrap_err().reason().message;
    assert!(!told.contains("TLS"), "{told}");
}
