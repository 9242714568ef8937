//! Secure pages through a proxy that opens a tunnel, or does not.

use std::sync::{Arc, Mutex};

use ingather_web::http::{Client, ClientSettings};
use serde_json::json;

use crate::secure::{root, serving, signed, trusting};
use crate::server::{ReadWrite, Server, fails, head_of, page, read};

/// A proxy that answers `opened` and then is the server itself, and what it was asked for through the tunnel.
fn proxy(folder: &std::path::Path, opened: &'static str) -> (Server, Arc<Mutex<Vec<String>>>) {
    let config = serving(folder, "good", false, &[]);
    let inner = Arc::<Mutex<Vec<String>>>::default();
    let noted = Arc::clone(&inner);
    let server = Server::saying(move |_, mut stream| {
        if stream.write_all(opened.as_bytes()).and_then(|()| stream.flush()).is_err() {
            return;
        }
        let mut connection = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
        let mut tunnel = rustls::Stream::new(&mut connection, &mut stream);
        let tunnel: &mut dyn ReadWrite = &mut tunnel;
        if let Some(head) = head_of(tunnel) {
            noted.lock().unwrap().push(head);
            drop(tunnel.write_all(page("secret").as_bytes()).and_then(|()| tunnel.flush()));
        }
    });
    (server, inner)
}

fn through(folder: &std::path::Path, proxy: &Server, more: serde_json::Value) -> ClientSettings {
    let mut settings = trusting(folder);
    settings.contact = Some("a@example.com".into());
    let mut value = json!({ "url": format!("http://127.0.0.1:{}", proxy.port()) });
    value.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    settings.proxy = serde_json::from_value(value).unwrap();
    settings
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    root(folder.path(), "root");
    signed(folder.path(), "good", "DNS:name.invalid", "-days 2");
    folder
}

const OPENED: &str = "HTTP/1.1 200 Connection established\r\nVia: p\r\n\r\n";

#[test]
fn a_secure_page_comes_through_a_tunnel_whose_proxy_sees_nothing_of_it() {
    let folder = folder();
    let (proxy, inner) = proxy(folder.path(), OPENED);
    let client = Client::new(through(folder.path(), &proxy, json!({}))).unwrap();
    let url = "https://name.invalid/a?b".parse().unwrap();
    assert_eq!(read(&client, &url).unwrap(), b"secret");
    let asked = &proxy.heads()[0];
    assert!(asked.starts_with("connect name.invalid:443 http/1.1\r\nhost: name.invalid:443\r\n"), "{asked}");
    assert!(!asked.contains("authorization") && !asked.contains("a?b"), "{asked}");
    let inner = inner.lock().unwrap();
    assert!(inner[0].starts_with("get /a?b http/1.1\r\n"), "{inner:?}");
}

#[test]
fn the_name_and_password_of_a_proxy_are_for_it_alone() {
    let folder = folder();
    let (proxy, inner) = proxy(folder.path(), OPENED);
    let with = through(folder.path(), &proxy, json!({ "user": "me", "password": "hush" }));
    let url = "https://name.invalid:8443/".parse().unwrap();
    assert_eq!(read(&Client::new(with).unwrap(), &url).unwrap(), b"secret");
    let asked = &proxy.heads()[0];
    assert!(asked.starts_with("connect name.invalid:8443 "), "{asked}");
    // Heads are noted in lower case.
    assert!(asked.contains("\r\nproxy-authorization: basic bwu6ahvzaa==\r\n"), "{asked}");
    assert!(!inner.lock().unwrap()[0].contains("authorization"));
}

#[test]
fn a_proxy_that_opens_no_tunnel_is_a_passing_fault_and_its_answer_is_no_page() {
    let folder = folder();
    for refusal in [
        "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"p\"\r\nContent-Length: 4\r\n\r\nfake",
        "HTTP/1.1 403 Forbidden\r\n\r\n",
        "HTTP/1.1 502 Bad Gateway\r\n\r\n<html>fake</html>",
        "HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1/\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "SSH-2.0-OpenSSH_9.2\r\n\r\n",
        "HTTP/1.1 200",
        "",
    ] {
        let proxy = Server::sending(refusal);
        let client = Client::new(through(folder.path(), &proxy, json!({}))).unwrap();
        assert_eq!(fails(&client, &"https://name.invalid/".parse().unwrap()), "proxy", "{refusal}");
    }
    let endless = Server::saying(|_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nX: ");
        while stream.write_all(&[b'a'; 4 << 10]).is_ok() {}
    });
    let client = Client::new(through(folder.path(), &endless, json!({}))).unwrap();
    assert_eq!(fails(&client, &"https://name.invalid/".parse().unwrap()), "proxy");
}

#[test]
fn a_tunnel_to_another_server_than_the_one_that_was_meant_is_refused() {
    let folder = folder();
    let (proxy, inner) = proxy(folder.path(), OPENED);
    let client = Client::new(through(folder.path(), &proxy, json!({}))).unwrap();
    assert_eq!(fails(&client, &"https://other.invalid/".parse().unwrap()), "tls");
    assert!(inner.lock().unwrap().is_empty());
}
