//! The other side: asks a service for operations, by the same rows of the table that it answers by.

mod answer;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Response, StatusCode, header};
use hyper::body::Incoming;
use ingather_model::limits;
use ingather_operations::in_words;
use ingather_operations::operation::{Operation, Remote, Rest, Verb};
use ingather_operations::problem::{Problem, ROWS, Result};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use serde_json::{Map, Value};
use tokio::runtime::Runtime;
use tokio_rustls::TlsConnector;

use crate::slow::Stream;
use crate::tls;
use answer::Said;

use crate::request::API;

/// What stands for itself in a path and a query.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
/// What a place on this machine begins with.
const UNIX: &str = "unix:";
const HTTP: &str = "http://";
const HTTPS: &str = "https://";

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
    Network {
        /// Host and port, as they were given.
        host: String,
        /// The same with a port in any case.
        connects: String,
        tls: Option<Encrypted>,
    },
}

/// What a connection is encrypted by, and for whom the certificate of its other end must be.
#[derive(Clone, Debug)]
struct Encrypted {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl Client {
    /// A service by its address: `unix:PATH`, `https://HOST:PORT`, or on this machine `http://HOST:PORT`. `authorities`: the file of those
    /// that are trusted to stand behind its certificate, instead of those of the system.
    ///
    /// # Errors
    /// `WrongUse` for another address: a key would go over the network for all to see.
    pub fn of(address: &str, key: Option<String>, authorities: Option<&Path>) -> Result<Client> {
        let is_encrypted = address.starts_with(HTTPS);
        if authorities.is_some() && !is_encrypted {
            return Err(Problem::usage(format!(
                "{address} needs no --server-ca; that is for {HTTPS}HOST:PORT"
            )));
        }
        if let Some(path) = address.strip_prefix(UNIX).filter(|path| !path.is_empty()) {
            return Ok(Client { place: Place::Socket(path.into()), key });
        }
        let host = address.strip_prefix(HTTP).or_else(|| address.strip_prefix(HTTPS));
        let host = host.map(|host| host.trim_end_matches('/'));
        let Some(host) = host.filter(|host| !host.is_empty() && !host.contains(['/', '@'])) else {
            return Err(Problem::usage(format!(
                "`{address}` is no address of a service; give unix:PATH, http://127.0.0.1:PORT or https://HOST:PORT"
            )));
        };
        let (name, port) = parts(host);
        let is_here = name == "localhost" || name.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback());
        if !is_here && !is_encrypted {
            return Err(Problem::usage(format!(
                "{address} is another machine, and http: encrypts nothing; ask by {HTTPS}, or through a tunnel such as `ssh -L`"
            )));
        }
        let connects = match port {
            Some(_) => host.to_owned(),
            None => format!("{host}:{}", if is_encrypted { 443 } else { 80 }),
        };
        let tls = is_encrypted.then(|| -> Result<Encrypted> {
            let name = ServerName::try_from(name.to_owned())
                .map_err(|_| Problem::usage(format!("`{name}` is no name of a host; correct it")))?;
            Ok(Encrypted { config: tls::client(authorities)?, name })
        });
        let tls = tls.transpose()?;
        Ok(Client { place: Place::Network { host: host.to_owned(), connects, tls }, key })
    }

    fn told(&self) -> String {
        match &self.place {
            Place::Socket(path) => format!("{UNIX}{}", path.display()),
            Place::Network { host, tls: None, .. } => format!("{HTTP}{host}"),
            Place::Network { host, .. } => format!("{HTTPS}{host}"),
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
            Place::Network { host, .. } => host,
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

    async fn connect(&self) -> Said<Box<dyn Stream>> {
        let told = |error: io::Error| in_words::error(&error);
        match &self.place {
            Place::Socket(path) => Ok(Box::new(tokio::net::UnixStream::connect(path).await.map_err(told)?)),
            Place::Network { connects, tls, .. } => {
                let stream = tokio::net::TcpStream::connect(connects).await.map_err(told)?;
                let Some(Encrypted { config, name }) = tls else { return Ok(Box::new(stream)) };
                let agreed = TlsConnector::from(config.clone()).connect(name.clone(), stream).await;
                Ok(Box::new(agreed.map_err(|error| tls::refused(&error))?))
            }
        }
    }

    /// Connects and sends a request; what is answered can be read from then on.
    fn sent(&self, runtime: &Runtime, request: Request<Body>) -> Said<Response<Incoming>> {
        let longest = Duration::from_millis(limits::HTTP_HEAD_MS_MAX);
        let connected = runtime.block_on(async { tokio::time::timeout(longest, self.connect()).await });
        let late = |_| format!("it has not taken the connection within {} s", longest.as_secs());
        answer::sent(runtime, connected.map_err(late)??, request)
    }
}

/// The name of a host without the brackets of an address, and its port.
fn parts(host: &str) -> (&str, Option<&str>) {
    if let Some((name, rest)) = host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return (name, rest.strip_prefix(':'));
    }
    host.rsplit_once(':').map_or((host, None), |(name, port)| (name, Some(port)))
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
            assert!(Client::of(here, None, None).is_ok(), "{here}");
        }
        for other in [
            "",
            "unix:",
            "http://",
            "https://",
            "https://host name:1",
            "127.0.0.1:1",
            "http://example.org:80",
            "http://127.0.0.1@example.org",
            "http://127.0.0.1.example.org:80",
            "http://localhost/x",
            "http://0.0.0.0:1",
        ] {
            assert!(Client::of(other, None, None).is_err(), "{other}");
        }
    }
}
