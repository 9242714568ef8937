//! HTTP as plain as can be, so that nothing between the test and the service repairs or hides anything.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// Longest wait for an answer.
const WAIT: Duration = Duration::from_secs(150);

/// A request.
#[derive(Clone)]
pub(super) struct Request {
    head: String,
    body: String,
}

/// What was answered.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: String,
}

impl Request {
    pub(super) fn new(verb: &str, path: &str) -> Request {
        Request {
            head: format!("{verb} {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n"),
            body: String::new(),
        }
    }

    pub(super) fn header(mut self, line: &str) -> Request {
        self.head.push_str(line);
        self.head.push_str("\r\n");
        self
    }

    pub(super) fn key(self, key: &str) -> Request {
        self.header(&format!("Authorization: Bearer {key}"))
    }

    pub(super) fn body(self, body: &Value) -> Request {
        self.json_text(&body.to_string())
    }

    pub(super) fn json_text(mut self, body: &str) -> Request {
        body.clone_into(&mut self.body);
        self.header("Content-Type: application/json")
    }

    pub(super) fn scim(mut self, body: &Value) -> Request {
        self.body = body.to_string();
        self.header("Content-Type: application/scim+json")
    }

    pub(super) fn text(&self) -> String {
        format!("{}Content-Length: {}\r\n\r\n{}", self.head, self.body.len(), self.body)
    }

    #[track_caller]
    pub(super) fn send(&self, to: SocketAddr) -> Reply {
        let mut stream = connect(to);
        stream.write_all(self.text().as_bytes()).unwrap();
        reply(stream)
    }

    /// The whole answer; none where the service ended before.
    pub(super) fn try_send(&self, to: SocketAddr) -> Option<Reply> {
        let mut stream = TcpStream::connect(to).ok()?;
        stream.set_read_timeout(Some(WAIT)).unwrap();
        stream.write_all(self.text().as_bytes()).ok()?;
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).ok()?;
        let text = String::from_utf8(bytes).ok()?;
        let (head, body) = text.split_once("\r\n\r\n")?;
        let head = head.to_ascii_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        (length?.parse() == Ok(body.len())).then(|| Reply::read(&text))
    }
}

pub(super) fn connect(to: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(WAIT)).unwrap();
    stream
}

/// Reads to the end of the connection.
#[track_caller]
pub(super) fn reply(mut stream: impl Read) -> Reply {
    let mut bytes = Vec::new();
    // A service that refuses a body it has not read may reset the connection behind its answer.
    if let Err(error) = stream.read_to_end(&mut bytes) {
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "{error}");
    }
    Reply::read(&String::from_utf8(bytes).unwrap())
}

impl Reply {
    #[track_caller]
    pub(super) fn read(text: &str) -> Reply {
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no reply: {text:?}"));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        Reply { status: status.unwrap(), head: head.to_ascii_lowercase(), body: body.to_owned() }
    }

    #[track_caller]
    pub(super) fn is(self, status: u16) -> Reply {
        assert_eq!(self.status, status, "{self:#?}");
        self
    }

    /// That it is this problem, told as RFC 9457 wants it.
    #[track_caller]
    pub(super) fn refuses(self, status: u16, code: &str) -> Reply {
        let reply = self.is(status);
        assert!(reply.head.contains("content-type: application/problem+json"), "{reply:#?}");
        let told = reply.json();
        assert_eq!((told["code"].as_str(), told["status"].as_u64()), (Some(code), Some(status.into())));
        for field in ["title", "detail", "next"] {
            assert!(told[field].as_str().is_some_and(|said| said.len() > 5), "{field}: {told}");
        }
        reply
    }

    #[track_caller]
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}
