//! The other side: asks a service for operations, by the same rows of the table that it answers by.

mod answer;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Response, StatusCode, header};
use hyper::body::Incoming;
use ingather_model::limits;
use ingather_operations::operation::{Operation, Remote, Rest, Verb};
use ingather_operations::problem::{Problem, ROWS, Result};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value};
use tokio::runtime::Runtime;

use crate::slow::Stream;
use answer::Said;

use crate::request::API;

/// What stands for itself in a path and a query.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
/// What a place on this machine begins with.
const UNIX: &str = "unix:";
const HTTP: &str = "http://";

/// A service, and by which key it is asked.
#[derive(Clone, Debug)]
pub struct Client {
    place: Place,
    key: Option<String>,
}

#[derive(Clone, Debug)]
enum Place {
    /// A socket of this machine.
    Socket(PathBuf),
    /// Host and port.
    Network(String),
}

impl Client {
    /// A service by its address: `unix:PATH`, or `http://HOST:PORT` on this machine.
    ///
    /// # Errors
    /// `WrongUse` for another address: a key would go over the network for all to see.
    pub fn of(address: &str, key: Option<String>) -> Result<Client> {
        if let Some(path) = address.strip_prefix(UNIX).filter(|path| !path.is_empty()) {
            return Ok(Client { place: Place::Socket(path.into()), key });
        }
        let host = address.strip_prefix(HTTP).map(|host| host.trim_end_matches('/'));
        let Some(host) = host.filter(|host| !host.is_empty() && !host.contains(['/', '@'])) else {
            return Err(Problem::usage(format!(
                "`{address}` is no address of a service; give unix:PATH or http://127.0.0.1:PORT"
            )));
        };
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        let is_here = name == "localhost"
            || name.trim_matches(['[', ']']).parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback());
        if !is_here {
            return Err(Problem::usage(format!(
                "{address} is another machine, and this version encrypts nothing; ask through a tunnel, such as `ssh -L`"
            )));
        }
        Ok(Client { place: Place::Network(host.to_owned()), key })
    }

    fn told(&self) -> String {
        match &self.place {
            Place::Socket(path) => format!("{UNIX}{}", path.display()),
            Place::Network(host) => format!("{HTTP}{host}"),
        }
    }

    /// The request over HTTP of one operation.
    fn request(
        &self,
        operation: &Operation,
        verb: Verb,
        path: &str,
        request: Value,
    ) -> Result<Request<Body>> {
        let mut fields = match request {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        // What is left out and what is none are the same in every request.
        fields.retain(|_, value| !value.is_null());
        // A list that has a cursor goes on behind a shorter page, too.
        if (operation.request.schema)().to_value()["properties"].get("cursor").is_some()
            && fields.get("limit").and_then(Value::as_u64) > Some(limits::HTTP_CLIENT_PAGE.into())
        {
            fields.insert("limit".to_owned(), limits::HTTP_CLIENT_PAGE.into());
        }
        let mut part = |part: &str| match part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) {
            Some(name) => encoded(&fields.remove(name).unwrap_or_default()),
            None => part.to_owned(),
        };
        let path = path.split('/').map(&mut part).collect::<Vec<_>>().join("/");
        let mut uri = format!("{API}{path}");
        let mut body = String::new();
        if verb == Verb::Post {
            body = Value::Object(fields).to_string();
        } else {
            let pairs: Vec<String> =
                fields.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
            uri = format!("{uri}?{}", pairs.join("&"));
        }
        let host = match &self.place {
            Place::Socket(_) => "localhost",
            Place::Network(host) => host,
        };
        let mut made = Request::builder().method(verb.as_str()).uri(uri).header(header::HOST, host);
        if !body.is_empty() {
            made = made.header(header::CONTENT_TYPE, "application/json");
        }
        if let Some(key) = &self.key {
            made = made.header(header::AUTHORIZATION, format!("Bearer {key}"));
        }
        made.body(Body::from(body)).map_err(|error| {
            Problem::usage(format!("{} cannot be asked for so: {error}; is the key whole?", operation.name))
        })
    }

    async fn connect(&self) -> io::Result<Box<dyn Stream>> {
        Ok(match &self.place {
            Place::Socket(path) => Box::new(tokio::net::UnixStream::connect(path).await?),
            Place::Network(host) => Box::new(tokio::net::TcpStream::connect(host).await?),
        })
    }

    /// Connects and sends a request; what is answered can be read from then on.
    fn sent(&self, runtime: &Runtime, request: Request<Body>) -> Said<Response<Incoming>> {
        let longest = Duration::from_millis(limits::HTTP_HEAD_MS_MAX);
        let connected = runtime.block_on(async { tokio::time::timeout(longest, self.connect()).await });
        let late = |_| format!("it has not taken the connection within {} s", longest.as_secs());
        let stream = connected.map_err(late)?.map_err(|error| error.to_string())?;
        answer::sent(runtime, stream, request)
    }
}

fn encoded(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    utf8_percent_encode(&text, PLAIN).to_string()
}

impl Remote for Client {
    fn ask(&self, operation: &Operation, request: Value, each: &mut dyn FnMut(Value)) -> Result<Value> {
        let (verb, path) = match operation.rest {
            Rest::At(verb, path) => (verb, path),
            Rest::Not(why) => {
                let name = operation.name;
                return Err(Problem::usage(format!("no service does {name}: {why}; leave --server out")));
            }
        };
        let request = self.request(operation, verb, path, request)?;
        let away = |why: String| {
            let place = self.told();
            Problem::unable(format!(
                "the service at {place} cannot be asked: {why}; is `ingather serve` running there?"
            ))
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| away(error.to_string()))?;
        let response = self.sent(&runtime, request).map_err(away)?;
        let broken = |why| {
            Problem::unable(format!("the answer of the service at {} cannot be read: {why}", self.told()))
        };
        if response.status() != StatusCode::OK {
            return Err(problem(&answer::whole(&runtime, response).map_err(broken)?));
        }
        if operation.item.is_none() {
            return answer::whole(&runtime, response).map_err(broken);
        }
        let (answer, left_out) = answer::streamed(&runtime, response, each).map_err(broken)?;
        match left_out {
            Some(0) => Ok(answer),
            left_out => Err(Problem::unable(format!(
                "the answer was cut: {} more of it did not fit; ask without --server",
                left_out.unwrap_or_default()
            ))),
        }
    }
}

/// The problem that a service tells.
fn problem(told: &Value) -> Problem {
    let sentence = told["detail"].as_str().unwrap_or("the service says no reason");
    match ROWS.iter().find(|row| told["code"] == row.word) {
        Some(row) => Problem::new(row.code, sentence),
        None => Problem::unable(sentence),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_sent_to_no_other_machine() {
        for here in ["unix:/run/x.sock", "http://127.0.0.1:8420", "http://localhost:1/", "http://[::1]:8420"]
        {
            assert!(Client::of(here, None).is_ok(), "{here}");
        }
        for other in [
            "",
            "unix:",
            "http://",
            "https://127.0.0.1",
            "127.0.0.1:1",
            "http://example.org:80",
            "http://127.0.0.1@example.org",
            "http://127.0.0.1.example.org:80",
            "http://localhost/x",
            "http://0.0.0.0:1",
        ] {
            assert!(Client::of(other, None).is_err(), "{other}");
        }
    }
}
