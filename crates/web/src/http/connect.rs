//! Connections: a name is asked for, each of its addresses is judged, and the one that was judged is connected to. Nothing else opens
//! connections, so that neither a redirect nor a second answer of a name server leads past the guard.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use http::Extensions;
use hyper::Uri;
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use ingather_model::limits::WEB_ADDRESSES_MAX;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tower_service::Service;

use super::addresses::{Closed, Guard};
use super::proxy::Proxy;
use super::resolve::Resolve;

/// Opens connections.
#[derive(Clone)]
pub(super) struct Connector(pub(super) Arc<Parts>);

pub(super) struct Parts {
    pub(super) guard: Guard,
    pub(super) resolver: Arc<dyn Resolve>,
    pub(super) tls: TlsConnector,
    pub(super) proxy: Option<Proxy>,
    pub(super) connect: Duration,
}

/// Whether a connection has brought an answer.
#[derive(Clone, Debug, Default)]
pub(super) struct HasAnswered(Arc<AtomicBool>);

impl HasAnswered {
    pub(super) fn note(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Whether the connection on which a request failed had brought an answer before: it was kept since then.
    pub(super) fn before(error: &legacy::Error) -> bool {
        let mut extras = Extensions::new();
        error.connect_info().iter().for_each(|connected| connected.get_extras(&mut extras));
        extras.get::<HasAnswered>().is_some_and(|answered| answered.0.load(Ordering::SeqCst))
    }
}

/// Why there is no connection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ConnectError {
    #[error(
        "`{0}` leads to an address that only this machine or its network reaches; where that is meant, allow its network, as by \
         `--set 'private_networks=[\"{example}\"]'`", example = network_of(.0)
    )]
    Private(String),
    #[error(
        "`{0}` is a public server, whose owner has to be able to write to somebody: name a contact, as by `--set contact=me@example.org`"
    )]
    NoContact(String),
    #[error("the name `{0}` is not known: {1}")]
    Name(String, String),
    #[error("`{0}` cannot be reached at port {1}: {2}")]
    Connect(String, u16, String),
    #[error("`{0}` cannot be reached in time")]
    Late(String),
    #[error("no secure connection to `{0}`: {1}")]
    Tls(String, String),
    #[error("the proxy does not connect to `{0}`: {1}")]
    Proxy(String, String),
}

/// A network in which a host may be meant to be. What a name leads to is not told: whoever may name pages need not know the network.
fn network_of(host: &str) -> &str {
    match host {
        "localhost" => "127.0.0.0/8",
        host if host.parse::<IpAddr>().is_ok() => host,
        _ => "10.0.0.0/8",
    }
}

impl Service<Uri> for Connector {
    type Response = TokioIo<Wire>;
    type Error = ConnectError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, ConnectError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let parts = Arc::clone(&self.0);
        Box::pin(async move {
            let host = uri.host().unwrap_or_default().to_owned();
            let late = ConnectError::Late(host.clone());
            let wire = tokio::time::timeout(parts.connect, parts.open(&uri, host)).await;
            wire.unwrap_or(Err(late)).map(TokioIo::new)
        })
    }
}

impl Parts {
    async fn open(&self, uri: &Uri, host: String) -> Result<Wire, ConnectError> {
        let secure = uri.scheme_str() == Some("https");
        let port = uri.port_u16().unwrap_or(if secure { 443 } else { 80 });
        let bare = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let plain = match &self.proxy {
            None => self.direct(&bare, port).await?,
            Some(proxy) => {
                self.judge_behind_proxy(&bare)?;
                // Whoever wrote the settings meant this proxy, wherever it is.
                let mut plain = connect(&proxy.host, &self.addresses(&proxy.host, proxy.port).await?).await?;
                if secure {
                    let asked = proxy.tunnel(&mut plain, &host, port).await;
                    asked.map_err(|error| ConnectError::Proxy(host.clone(), error.to_string()))?;
                }
                plain
            }
        };
        if !secure {
            return Ok(Wire { stream: Box::new(plain), is_http2: false, to_proxy: self.proxy.is_some() });
        }
        let tls = |error: &dyn std::fmt::Display| {
            let said = error.to_string();
            // What answers in plain text begins with no record of TLS.
            let is_plain = said.contains("InvalidContentType");
            let why = if is_plain { format!("port {port} does not speak https; perhaps http") } else { said };
            ConnectError::Tls(host.clone(), why)
        };
        let name = ServerName::try_from(bare).map_err(|error| tls(&error))?;
        let stream = self.tls.connect(name, plain).await.map_err(|error| tls(&error))?;
        let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        Ok(Wire { stream: Box::new(stream), is_http2, to_proxy: false })
    }

    async fn direct(&self, host: &str, port: u16) -> Result<TcpStream, ConnectError> {
        let found = self.addresses(host, port).await?;
        let mut open = Vec::new();
        let mut closed = None;
        for address in found {
            match self.guard.judge(address.ip()) {
                Ok(()) => open.push(address),
                Err(why) => closed = Some(why),
            }
        }
        match closed {
            // A name with addresses of both kinds is a way around: the open ones alone are used.
            Some(why) if open.is_empty() => Err(refused(host, why)),
            _ => connect(host, &open).await,
        }
    }

    async fn addresses(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, ConnectError> {
        // What is written out is no name: nobody is asked what it means.
        if let Ok(address) = host.parse::<IpAddr>() {
            return Ok(vec![SocketAddr::new(address, port)]);
        }
        let found = self.resolver.addresses(host, port).await;
        let mut found = found.map_err(|error| ConnectError::Name(host.to_owned(), error.to_string()))?;
        found.truncate(WEB_ADDRESSES_MAX);
        Ok(found)
    }

    /// Behind a proxy, names are looked up there; an address that is written out is judged here.
    fn judge_behind_proxy(&self, host: &str) -> Result<(), ConnectError> {
        match host.parse::<IpAddr>() {
            Ok(address) => self.guard.judge(address).map_err(|why| refused(host, why)),
            Err(_) if !self.guard.has_contact => Err(refused(host, Closed::NoContact)),
            Err(_) => Ok(()),
        }
    }
}

fn refused(host: &str, why: Closed) -> ConnectError {
    match why {
        Closed::Private => ConnectError::Private(host.to_owned()),
        Closed::NoContact => ConnectError::NoContact(host.to_owned()),
    }
}

async fn connect(host: &str, addresses: &[SocketAddr]) -> Result<TcpStream, ConnectError> {
    let mut last = (0, "it has no address".to_owned());
    for address in addresses {
        match TcpStream::connect(address).await {
            Ok(stream) => {
                // A request is one packet; waiting for more to send would only make it late.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Err(error) => last = (address.port(), error.to_string()),
        }
    }
    Err(ConnectError::Connect(host.to_owned(), last.0, last.1))
}

/// Both ways of a connection, encrypted or not.
pub(super) trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

/// One connection.
pub(super) struct Wire {
    stream: Box<dyn Duplex>,
    is_http2: bool,
    to_proxy: bool,
}

impl Connection for Wire {
    fn connected(&self) -> Connected {
        let connected = Connected::new().proxy(self.to_proxy).extra(HasAnswered::default());
        if self.is_http2 { connected.negotiated_h2() } else { connected }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
