//! The other side: asks a service for operations, by the same rows of the table that it answers by.

use std::path::PathBuf;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use http_body_util::{BodyExt, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use ingather_model::limits;
use ingather_operations::operation::{Operation, Remote, Rest, Verb};
use ingather_operations::problem::{Problem, ROWS, Result};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value};
use tokio::io::{AsyncRead, AsyncWrite};

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

    async fn answer(&self, request: Request<Body>) -> std::result::Result<(StatusCode, Value), String> {
        let connect = Duration::from_millis(limits::HTTP_HEAD_MS_MAX);
        let late = |_| "it does not take the connection".to_owned();
        match &self.place {
            Place::Socket(path) => {
                let stream = tokio::time::timeout(connect, tokio::net::UnixStream::connect(path)).await;
                sent(stream.map_err(late)?.map_err(|error| error.to_string())?, request).await
            }
            Place::Network(host) => {
                let stream = tokio::time::timeout(connect, tokio::net::TcpStream::connect(host)).await;
                sent(stream.map_err(late)?.map_err(|error| error.to_string())?, request).await
            }
        }
    }
}

fn encoded(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    utf8_percent_encode(&text, PLAIN).to_string()
}

/// Sends a request and reads the whole answer.
async fn sent<S>(stream: S, request: Request<Body>) -> std::result::Result<(StatusCode, Value), String>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let told = |error: hyper::Error| error.to_string();
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(told)?;
    let connection = tokio::spawn(connection);
    let response = sender.send_request(request).await.map_err(told)?;
    let status = response.status();
    let body = Limited::new(response.into_body(), limits::HTTP_ANSWER_BYTES_MAX).collect().await;
    let body = body.map_err(|error| error.to_string())?.to_bytes();
    connection.abort();
    let value = serde_json::from_slice(&body).map_err(|error| format!("it answers no JSON: {error}"))?;
    Ok((status, value))
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
        let (status, mut answer) = runtime.block_on(self.answer(request)).map_err(away)?;
        if status != StatusCode::OK {
            return Err(problem(&answer));
        }
        if operation.item.is_none() {
            return Ok(answer);
        }
        let items = answer["items"].as_array_mut().map(std::mem::take).unwrap_or_default();
        items.into_iter().for_each(each);
        match answer["left_out"].as_u64() {
            Some(0) => Ok(answer["answer"].take()),
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
