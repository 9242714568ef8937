//! A webhook against a server that listens: what it is sent, and what follows from each answer.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::thread::JoinHandle;

use ingather_contract::call::{Cancel, Clock};
use ingather_model::job::notify::NotifyEvent;

use super::*;

struct At(i64);

impl Clock for At {
    fn now(&self) -> i64 {
        self.0
    }
}

fn notice() -> Notice {
    Notice {
        id: "0f1e".to_owned(),
        at: 1,
        event: NotifyEvent::Failed,
        job: "share".to_owned(),
        run: 7,
        subject: String::new(),
        text: String::new(),
        body: serde_json::json!({"job": "share", "says": "größer"}),
    }
}

/// Answers one request; the port, and what was sent.
fn answers(answer: &'static str) -> (u16, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut sent = Vec::new();
        let mut buffer = [0; 4_096];
        loop {
            let read = stream.read(&mut buffer).unwrap();
            sent.extend(&buffer[..read]);
            let text = String::from_utf8_lossy(&sent).into_owned();
            if read == 0 || text.split_once("\r\n\r\n").is_some_and(|(_, body)| body.ends_with('}')) {
                write!(stream, "HTTP/1.1 {answer}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
                    .unwrap();
                return text;
            }
        }
    });
    (port, server)
}

/// A folder with a secret in it, and the settings of a webhook there.
fn settings(url: String, private: bool) -> (tempfile::TempDir, WebhookSettings) {
    let folder = tempfile::tempdir().unwrap();
    let secret_file = folder.path().join("secret");
    std::fs::write(&secret_file, "s3cret\n").unwrap();
    std::fs::set_permissions(&secret_file, PermissionsExt::from_mode(0o600)).unwrap();
    (folder, WebhookSettings { url, secret_file, private, ca_file: None })
}

fn told(url: String, private: bool) -> Result<(), Fault> {
    let (_folder, settings) = settings(url, private);
    let call = CallContext { clock: Arc::new(At(1_767_225_600_999)), cancel: Cancel::default() };
    Webhook::of(settings).unwrap().tell(&call, &notice())
}

/// What openssl says of a text with that key.
fn by_openssl(text: &str) -> String {
    let mut openssl = Command::new("openssl");
    openssl.args(["dgst", "-sha256", "-hmac", "s3cret"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = openssl.spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let said = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    said.trim().rsplit(' ').next().unwrap().to_owned()
}

#[test]
fn a_webhook_is_sent_the_notice_with_its_id_and_a_signature_that_others_can_check() {
    let (port, server) = answers("204 No Content");
    told(format!("http://127.0.0.1:{port}/hook?a=1"), true).unwrap();
    let sent = server.join().unwrap();
    let (head, body) = sent.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /hook?a=1 HTTP/1.1\r\n"), "{head}");
    assert_eq!(body, notice().body.to_string());
    let header = |name: &str| {
        let line = head
            .lines()
            .find_map(|line| line.split_once(": ").filter(|(known, _)| known.eq_ignore_ascii_case(name)));
        line.unwrap_or_else(|| panic!("no {name}: {head}")).1.to_owned()
    };
    assert_eq!(header("idempotency-key"), "0f1e");
    assert_eq!(header("ingather-timestamp"), "1767225600");
    let signed = by_openssl(&format!("0f1e.1767225600.{body}"));
    assert_eq!(header("ingather-signature"), format!("v1={signed}"));
}

#[test]
fn a_redirect_is_not_followed_and_only_what_may_pass_is_tried_again() {
    for (answer, is_passing, says) in [
        ("302 Found\r\nlocation: http://169.254.169.254/", false, "leads elsewhere"),
        ("404 Not Found", false, "refuses it with 404"),
        ("401 Unauthorized", false, "refuses it with 401"),
        ("429 Too Many Requests", true, "answers with 429"),
        ("503 Service Unavailable", true, "answers with 503"),
    ] {
        let (port, server) = answers(answer);
        let fault = told(format!("http://127.0.0.1:{port}/"), true).unwrap_err();
        server.join().unwrap();
        assert_eq!(matches!(fault, Fault::Passing { .. }), is_passing, "{answer}: {fault}");
        assert!(fault.to_string().contains(says), "{answer}: {fault}");
    }
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let nobody = told(format!("http://{free}/"), true).unwrap_err();
    assert!(
        matches!(nobody, Fault::Passing { .. }) && nobody.to_string().contains("cannot be reached"),
        "{nobody}"
    );
}

#[test]
fn an_address_inside_is_asked_only_where_that_is_declared() {
    let refused = |url: &str| Webhook::of(settings(url.to_owned(), false).1).err().unwrap_or_default();
    for url in ["http://127.0.0.1:1/", "http://10.1.2.3/", "https://[::1]/", "http://[::ffff:127.0.0.1]/"] {
        assert!(refused(url).contains("private: true"), "{url}: {}", refused(url));
    }
    assert!(refused("ftp://example.org/").contains("https:// or http://"));
    assert!(refused("http:///x").contains("url"));
    assert!(refused("https://me:secret@example.org/").contains("names a user"));
    // A name is judged by what it stands for when it is asked, and nobody is connected to.
    let (port, server) = answers("200 OK");
    let fault = told(format!("http://localhost:{port}/"), false).unwrap_err();
    assert!(matches!(fault, Fault::Refused(_)) && fault.to_string().contains("private: true"), "{fault}");
    told(format!("http://localhost:{port}/"), true).unwrap();
    assert!(server.join().unwrap().starts_with("POST"));
}

#[test]
fn a_secret_that_others_can_read_is_none() {
    let (_folder, settings) = settings("https://example.org/".to_owned(), false);
    std::fs::set_permissions(&settings.secret_file, PermissionsExt::from_mode(0o640)).unwrap();
    assert!(Webhook::of(settings).err().unwrap().contains("`chmod go=`"));
}
