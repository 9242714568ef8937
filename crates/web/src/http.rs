//! Asks servers for pages, over HTTP/1.1 and 2: blocking for its callers, bounded in time, bytes and addresses, and without a word of
//! its own about what an answer is good for: redirects are told and not followed.
//!
//! It stands on hyper and not on a client with more comfort, because a search index must not become a way into the network it stands
//! in: here one piece of code opens connections, and judges the very address that it connects to.

mod addresses;
mod body;
mod connect;
mod cookies;
mod credentials;
mod decode;
mod digest;
pub(crate) mod faults;
mod proxy;
mod request;
mod resolve;
mod tls;
mod turns;
mod waiting;

use std::sync::Arc;
use std::time::Duration;

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use ingather_contract::call::CallContext;
use ingather_model::fault::{Fault, Reason};
use ingather_model::limits;
use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use tokio_rustls::TlsConnector;
use url::Url;

pub use body::{Body, fault_of};
pub(crate) use body::{is_too_much, too_large};
pub use credentials::{CredentialSettings, Secret};
pub use proxy::ProxySettings;
pub use resolve::{Found, Resolve};
pub use tls::TlsSettings;
pub use turns::Turns;

use addresses::Guard;
use body::{Times, WireBody};
use connect::{Connector, HasAnswered, Parts};
use credentials::{Credentials, Told};
use request::Outgoing;
pub(crate) use waiting::pause;
use waiting::{network, now, watched};

/// How servers are asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ClientSettings {
    /// Name of the robot, as in robots.txt.
    pub agent: String,
    /// A mail or web address for owners of sites; without it no public server is asked.
    pub contact: Option<String>,
    /// Networks that may be reached although they are not public, such as `10.0.0.0/8`.
    pub private_networks: Vec<IpNet>,
    /// What hosts are told so that they give their pages.
    pub credentials: Vec<CredentialSettings>,
    /// Origins that share their cookies, as `https://host`: those of a login.
    pub session_origins: Vec<String>,
    /// A proxy for all requests.
    pub proxy: Option<ProxySettings>,
    /// Certificates.
    pub tls: TlsSettings,
    /// Milliseconds for a connection.
    pub connect_ms: u64,
    /// Milliseconds in which something more of an answer comes.
    pub idle_ms: u64,
    /// Milliseconds for a whole answer.
    pub total_ms: u64,
    /// Bytes of a page once unpacked.
    pub body_bytes_max: u64,
}

impl Default for ClientSettings {
    fn default() -> ClientSettings {
        ClientSettings {
            agent: concat!("Ingather/", env!("CARGO_PKG_VERSION")).to_owned(),
            contact: None,
            private_networks: Vec::new(),
            credentials: Vec::new(),
            session_origins: Vec::new(),
            proxy: None,
            tls: TlsSettings::default(),
            connect_ms: limits::WEB_CONNECT_MS,
            idle_ms: limits::WEB_IDLE_MS,
            total_ms: limits::WEB_TOTAL_MS,
            body_bytes_max: limits::WEB_BODY_BYTES,
        }
    }
}

/// Asks for pages; all calls may come from many threads at once.
pub struct Client {
    client: legacy::Client<Connector, Full<Bytes>>,
    agent: HeaderValue,
    credentials: Credentials,
    cookies: cookies::Jar,
    proxy_authorization: Option<HeaderValue>,
    settings: ClientSettings,
    turns: Arc<dyn Turns>,
}

/// What is asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Condition<'a> {
    /// Only if it does not have this `ETag` any more.
    pub etag: Option<&'a str>,
    /// Only if it was changed since this date, as the server wrote it.
    pub last_modified: Option<&'a str>,
}

impl Condition<'_> {
    fn is_none(&self) -> bool {
        self.etag.is_none() && self.last_modified.is_none()
    }
}

/// The head of an answer.
#[derive(Clone, Debug)]
pub struct Head {
    /// Status.
    pub status: u16,
    headers: HeaderMap,
}

/// What a server answers, whatever it means.
#[derive(Debug)]
pub struct Response {
    /// Its head.
    pub head: Head,
    body: WireAndBound,
    url: Url,
    conditional: bool,
    now: i64,
}

struct WireAndBound(WireBody, u64);

impl std::fmt::Debug for WireAndBound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("..")
    }
}

/// What an answer means for a page.
#[derive(Debug)]
pub enum Answer {
    /// It is as the condition says.
    Unchanged(Head),
    /// It is elsewhere, for good with 301 and 308.
    Moved(Head, Url),
    /// It is not there: 404, or 410 for good.
    Absent(Head),
    /// Here it is.
    Page(Head, Body),
}

impl Head {
    /// The first header of a name, where it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers(name).next()
    }

    /// All headers of a name, where they are text.
    pub fn headers<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> + use<'a> {
        let name = HeaderName::from_bytes(name.as_bytes()).ok();
        let values = name.map(|name| self.headers.get_all(name).into_iter());
        values.into_iter().flatten().filter_map(|value| std::str::from_utf8(value.as_bytes()).ok())
    }
}

impl Client {
    /// Checks settings, and reads the certificates that they name.
    ///
    /// # Errors
    /// `bad_setting`.
    pub fn new(settings: ClientSettings) -> Result<Client, Reason> {
        Client::resolving(settings, Arc::new(resolve::System))
    }

    /// The same, with another resolver than that of the machine.
    ///
    /// # Errors
    /// `bad_setting`.
    pub fn resolving(settings: ClientSettings, resolver: Arc<dyn Resolve>) -> Result<Client, Reason> {
        let bad = |why: String| Reason::new("bad_setting", why);
        let agent = match &settings.contact {
            Some(contact) => format!("{} (+{contact})", settings.agent),
            None => settings.agent.clone(),
        };
        let agent = HeaderValue::from_str(&agent)
            .map_err(|_| bad("the agent and the contact may have plain characters only".into()))?;
        let proxy = settings.proxy.as_ref().map(proxy::Proxy::of).transpose()?;
        let proxy_authorization = proxy.as_ref().and_then(|proxy| proxy.authorization.as_deref());
        let proxy_authorization = proxy_authorization
            .map(HeaderValue::from_str)
            .transpose()
            .map_err(|_| bad("the name and password of the proxy cannot be sent".into()))?;
        let connector = Connector(Arc::new(Parts {
            guard: Guard {
                private: settings.private_networks.clone(),
                has_contact: settings.contact.as_ref().is_some_and(|contact| !contact.trim().is_empty()),
            },
            resolver,
            tls: TlsConnector::from(Arc::new(settings.tls.config()?)),
            proxy,
            connect: Duration::from_millis(settings.connect_ms),
        }));
        let client = legacy::Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .timer(TokioTimer::new())
            .pool_idle_timeout(Duration::from_millis(limits::WEB_IDLE_CONNECTION_MS))
            .pool_max_idle_per_host(limits::WEB_IDLE_CONNECTIONS_MAX)
            .http1_max_buf_size(limits::WEB_HEAD_BYTES_MAX)
            .http1_max_headers(limits::WEB_HEADERS_MAX)
            .http2_max_header_list_size(limits::WEB_HEAD_BYTES_MAX as u32)
            .http2_initial_stream_window_size(limits::WEB_STREAM_WINDOW_BYTES)
            .build(connector);
        let credentials = Credentials::of(&settings.credentials)?;
        let origins = settings.session_origins.iter().map(|text| Url::parse(text).map(|url| url.origin()));
        let session_origins = origins.collect::<Result<_, _>>().map_err(|error| bad(error.to_string()))?;
        Ok(Client {
            client,
            agent,
            credentials,
            cookies: cookies::Jar::shared_by(session_origins),
            proxy_authorization,
            settings,
            turns: Arc::new(turns::Unpaced),
        })
    }

    /// The same, making each of its requests when it may.
    #[must_use]
    pub fn by_turns(self, turns: Arc<dyn Turns>) -> Client {
        Client { turns, ..self }
    }

    /// Asks for a page, and waits for the head of the answer.
    ///
    /// # Errors
    /// `private_address` (refused where the address is written out, broken where a name leads to it); `no_contact`, `bad_answer`,
    /// `head_too_large` (broken); `dns`, `connect`, `tls`, `proxy`, `timeout`, `cut_off`, `cancelled` (passing).
    pub fn ask(&self, call: &CallContext, url: &Url, condition: Condition<'_>) -> Result<Response, Fault> {
        self.send(call, &Outgoing { url, condition, form: None })
    }

    /// Sends a form that was filled in on `page`, encoded as in an address, and waits for the head of the answer.
    ///
    /// # Errors
    /// As of [`Client::ask`].
    pub fn submit(&self, call: &CallContext, url: &Url, form: &str, page: &Url) -> Result<Response, Fault> {
        self.send(call, &Outgoing { url, condition: Condition::default(), form: Some((form, page)) })
    }

    /// From now on cookies are of a new session: answers to earlier requests set none.
    pub(crate) fn session_begins(&self) {
        self.cookies.session_begins();
    }

    fn send(&self, call: &CallContext, asked: &Outgoing<'_>) -> Result<Response, Fault> {
        let url = asked.url;
        let host = url.host_str().unwrap_or_default();
        let idle = Duration::from_millis(self.settings.idle_ms);
        let (mut given, mut rounds, mut was_kept) = (None, 0, false);
        loop {
            self.turns.take(call, url)?;
            let end = now() + Duration::from_millis(self.settings.total_ms);
            let session = self.cookies.session();
            let (request, proof) = self.request(asked, call.now())?;
            let answer = network().block_on(watched(&call.cancel, idle, end, self.client.request(request)));
            self.turns.over(url);
            let answer = match answer.map_err(|waited| waited.fault(host))? {
                Ok(answer) => answer,
                // A server may close a connection that was kept just when it is asked over it; that says nothing of the page. A form is sent once.
                Err(error)
                    if asked.form.is_none()
                        && HasAnswered::before(&error)
                        && faults::has_no_answer(&error)
                        && !std::mem::replace(&mut was_kept, true) =>
                {
                    continue;
                }
                Err(error) => return Err(faults::of_request(&error, host)),
            };
            answer.extensions().get::<HasAnswered>().into_iter().for_each(HasAnswered::note);
            let (parts, incoming) = answer.into_parts();
            let head = Head { status: parts.status.as_u16(), headers: parts.headers };
            let is_late = session != self.cookies.session();
            for cookie in head.headers(header::SET_COOKIE.as_str()).filter(|_| !is_late) {
                self.cookies.take(url, cookie, call.now());
            }
            if head.status == 401
                && rounds < limits::WEB_DIGEST_ROUNDS_MAX
                && let Some(Told::Proof(digest)) = self.credentials.of_host(url)
                && digest.asked_again(
                    head.headers(header::WWW_AUTHENTICATE.as_str()),
                    proof.as_ref(),
                    &mut given,
                )
            {
                rounds += 1;
                continue;
            }
            let times = Times { idle, end, cancel: call.cancel.clone() };
            let wire = WireBody::new(incoming, times, host.to_owned());
            return Ok(Response {
                head,
                body: WireAndBound(wire, self.settings.body_bytes_max),
                url: url.clone(),
                conditional: !asked.condition.is_none(),
                now: call.now(),
            });
        }
    }
}

impl Response {
    /// What it means for a page.
    ///
    /// # Errors
    /// `unreadable` (401, 403); `too_many_requests`, `server` (passing, with the time that the server names); `client_status`,
    /// `no_content`, `unasked_unchanged`, `bad_redirect`, `partial`, `bad_status`, and those of codings (broken).
    pub fn answer(self) -> Result<Answer, Fault> {
        let host = self.url.host_str().unwrap_or_default();
        match self.head.status {
            206 => Err(faults::of_part(host)),
            // Nobody asked for a part; whatever it is, it is not the page.
            200 if self.head.header(header::CONTENT_RANGE.as_str()).is_some() => Err(faults::of_part(host)),
            // What the connection leaves packed nobody asked for: its text would be that of the packing.
            200 | 203 if decode::is_packed_on_its_way(&self.head) => Err(decode::unknown_transfer(host)),
            status @ (204 | 205) => {
                let message =
                    format!("`{host}` answers {status}: it has nothing to say, and nothing of the page");
                Err(Fault::broken("no_content", message))
            }
            200 | 203 => {
                let codings = decode::codings(self.head.headers(header::CONTENT_ENCODING.as_str()));
                let body = Body::of(self.body.0, &codings, self.body.1)?;
                Ok(Answer::Page(self.head, body))
            }
            304 if self.conditional => Ok(Answer::Unchanged(self.head)),
            304 => {
                let message = format!("`{host}` says that nothing has changed, and was not asked that");
                Err(Fault::broken("unasked_unchanged", message))
            }
            301 | 302 | 303 | 307 | 308 => {
                let location = self.head.header(header::LOCATION.as_str());
                let to = location.and_then(|location| self.url.join(location).ok());
                let message = || format!("`{host}` moves the page and does not say where to");
                let to = to.ok_or_else(|| Fault::broken("bad_redirect", message()))?;
                Ok(Answer::Moved(self.head, to))
            }
            404 | 410 => Ok(Answer::Absent(self.head)),
            status => {
                let after = self.head.header(header::RETRY_AFTER.as_str());
                Err(faults::of_status(status, host, after, self.now))
            }
        }
    }
}
