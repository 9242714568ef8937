//! The server: one request for each document, within bounds of time and size, and never further than the settings allow.

use std::io::Read;
use std::net::IpAddr;
use std::time::Duration;

use ingather_model::fault::{Exhausted, Fault, Reason};
use ingather_model::limits;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};
use ureq::{Agent, SendBody, Timeout};

use super::Settings;

/// A server that is asked for text.
pub(super) struct Server {
    agent: Agent,
    /// The address of its recursive answers.
    url: String,
}

/// What became of a document.
pub(super) enum Outcome {
    /// The answer as it came.
    Read(Vec<u8>),
    /// The server has no text for it.
    Unread(String),
    /// It has more bytes than are sent.
    TooLarge,
}

impl Server {
    /// A server by its settings; nothing is sent yet.
    pub(super) fn new(settings: &Settings) -> Result<Server, String> {
        let base = settings.url.trim_end_matches('/');
        let wrong = |why: &str| format!("it {why}; write it like http://127.0.0.1:9998");
        let uri: Uri = base.parse().map_err(|_| wrong("is no address"))?;
        if uri.scheme_str() != Some("http") {
            return Err(wrong("does not begin with http://, which is the only way to a Tika server"));
        }
        let authority = uri.authority().filter(|authority| !authority.host().is_empty());
        let authority = authority.ok_or_else(|| wrong("names no host"))?;
        if authority.as_str().contains('@') || uri.query().is_some() {
            return Err(wrong("has more than a host, a port and a path"));
        }
        let reach = Reach { private_network: settings.private_network };
        if let Ok(address) = authority.host().trim_matches(['[', ']']).parse()
            && !reach.allows(address)
        {
            return Err(reach.refusal(authority.host()));
        }
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            // The server may have gone and come back meanwhile, and a connection to a neighbour costs next to nothing.
            .max_idle_connections(0)
            .timeout_connect(Some(Duration::from_millis(settings.connect_ms)))
            .timeout_global(Some(Duration::from_millis(settings.answer_ms)))
            .build();
        let agent = Agent::with_parts(config, DefaultConnector::default(), reach);
        Ok(Server { agent, url: format!("{base}/rmeta/text") })
    }

    /// Sends a document.
    pub(super) fn read(
        &self,
        settings: &Settings,
        name: &str,
        content: &mut dyn Read,
    ) -> Result<Outcome, Fault> {
        let mut watched = Watched { content, left: settings.bytes_max, too_large: false, error: None };
        let request = self
            .agent
            .put(&self.url)
            .header("Accept", "application/json")
            .header("Content-Disposition", format!("attachment; filename*=UTF-8''{}", encoded(name)))
            .header("writeLimit", settings.characters_max.to_string())
            .header("maxEmbeddedResources", settings.parts_max.to_string());
        let sent = request.send(SendBody::from_reader(&mut watched));
        if let Some(error) = watched.error {
            return Err(Fault::passing("io", format!("the content cannot be read to its end: {error}")));
        }
        if watched.too_large {
            return Ok(Outcome::TooLarge);
        }
        let mut response = sent.map_err(|error| self.fault(settings, &error))?;
        match response.status().as_u16() {
            200 => {
                let body =
                    response.body_mut().with_config().limit(limits::TIKA_ANSWER_BYTES_MAX).read_to_vec();
                match body {
                    Ok(answer) => Ok(Outcome::Read(answer)),
                    Err(ureq::Error::BodyExceedsLimit(most)) => Ok(Outcome::Unread(format!(
                        "the Tika server answers with more than {most} bytes; lower characters_max or parts_max"
                    ))),
                    Err(error) => Err(self.fault(settings, &error)),
                }
            }
            204 => Ok(Outcome::Unread("the Tika server finds nothing in it".to_owned())),
            415 => Ok(Outcome::Unread("the Tika server has no reader for its media type".to_owned())),
            422 => {
                Ok(Outcome::Unread("the Tika server cannot read it: it is damaged or encrypted".to_owned()))
            }
            500 => {
                Err(Fault::broken("tika", format!("the Tika server {} failed at it (status 500)", self.url)))
            }
            status => Err(self.down(settings, &format!("answered with status {status}"))),
        }
    }

    fn fault(&self, settings: &Settings, error: &ureq::Error) -> Fault {
        match error {
            ureq::Error::Timeout(timeout) if !matches!(timeout, Timeout::Connect | Timeout::Resolve) => {
                let ms = settings.answer_ms;
                Fault::passing(
                    "tika",
                    format!("the Tika server {} gave no answer within {ms} ms (answer_ms)", self.url),
                )
            }
            error => self.down(settings, &format!("cannot be reached ({error})")),
        }
    }

    /// No document is to blame for that, and none fails for it.
    fn down(&self, settings: &Settings, how: &str) -> Fault {
        let message = format!("the Tika server {} {how}; start it, or correct url in the pipeline", self.url);
        Fault::Passing {
            reason: Reason::new("tika", message),
            retry_in_ms: Some(i64::from(settings.retry_ms)),
            attempts_max: None,
            give_up_at: None,
            when_exhausted: Exhausted::Keep,
        }
    }
}

/// The content of a document on its way to the server.
struct Watched<'c> {
    content: &'c mut dyn Read,
    left: u64,
    too_large: bool,
    error: Option<std::io::Error>,
}

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = loop {
            match self.content.read(buffer) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        match read {
            Ok(count) => match self.left.checked_sub(count as u64) {
                Some(left) => {
                    self.left = left;
                    Ok(count)
                }
                None => {
                    self.too_large = true;
                    Err(std::io::Error::other("it is too large"))
                }
            },
            Err(error) => {
                let told = std::io::Error::new(error.kind(), "the content cannot be read");
                self.error = Some(error);
                Err(told)
            }
        }
    }
}

/// How far documents may travel. Names are judged by what they resolve to, at each connection.
#[derive(Debug)]
struct Reach {
    private_network: bool,
}

impl Reach {
    fn allows(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        let is_private = match address {
            IpAddr::V4(address) => address.is_private(),
            IpAddr::V6(address) => address.is_unique_local(),
        };
        address.is_loopback() || self.private_network && is_private
    }

    fn refusal(&self, host: &str) -> String {
        let advice = if self.private_network {
            "documents are sent to loopback and private addresses only"
        } else {
            "documents are sent to loopback addresses only; `\"private_network\": true` allows private ones"
        };
        format!("{host} is too far away: {advice}")
    }
}

impl Resolver for Reach {
    fn resolve(
        &self,
        uri: &Uri,
        config: &ureq::config::Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let found = DefaultResolver::default().resolve(uri, config, timeout)?;
        match found.iter().all(|address| self.allows(address.ip())) {
            true => Ok(found),
            false => Err(ureq::Error::Other(self.refusal(uri.host().unwrap_or_default()).into())),
        }
    }
}

/// A name as a parameter of a header has it (RFC 8187).
fn encoded(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'.' | b'-' | b'_' => text.push(char::from(byte)),
            _ => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}
