//! A proxy on the way to servers: plain requests go through it as they are, secure ones through a tunnel that it opens.

use std::io;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ingather_model::fault::Reason;
use ingather_model::limits::WEB_HEAD_BYTES_MAX;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use url::Url;

/// A proxy, as in settings.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProxySettings {
    /// Such as `http://proxy.example.com:3128`.
    pub url: String,
    /// Name that it is told.
    #[serde(default)]
    pub user: Option<String>,
    /// Password that it is told.
    #[serde(default)]
    #[schemars(extend("writeOnly" = true))]
    pub password: Option<String>,
}

impl std::fmt::Debug for ProxySettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProxySettings").field("url", &self.url).finish_non_exhaustive()
    }
}

/// A proxy that was checked.
pub(super) struct Proxy {
    pub(super) host: String,
    pub(super) port: u16,
    /// Value of the header `Proxy-Authorization`.
    pub(super) authorization: Option<String>,
}

impl Proxy {
    pub(super) fn of(settings: &ProxySettings) -> Result<Proxy, Reason> {
        let bad = |why: &str| {
            Reason::new("bad_setting", format!("the proxy `{}` cannot be used: {why}", settings.url))
        };
        let url = Url::parse(&settings.url).map_err(|error| bad(&error.to_string()))?;
        if url.scheme() != "http" || !url.username().is_empty() || url.password().is_some() {
            return Err(bad("write it as `http://host:port`, with its name and password apart"));
        }
        let host = url.host_str().ok_or_else(|| bad("it has no host"))?;
        let password = settings.password.as_deref().unwrap_or_default();
        let authorization = settings
            .user
            .as_ref()
            .map(|user| format!("Basic {}", STANDARD.encode(format!("{user}:{password}"))));
        Ok(Proxy {
            host: host.trim_start_matches('[').trim_end_matches(']').to_owned(),
            port: url.port_or_known_default().unwrap_or(80),
            authorization,
        })
    }

    /// Asks for a tunnel; `host` as in an address.
    pub(super) async fn tunnel(&self, stream: &mut TcpStream, host: &str, port: u16) -> io::Result<()> {
        let mut request = format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n");
        if let Some(authorization) = &self.authorization {
            request.push_str(&format!("Proxy-Authorization: {authorization}\r\n"));
        }
        request.push_str("\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut head = Vec::new();
        // Byte by byte, so that nothing of the tunnel is taken.
        while !head.ends_with(b"\r\n\r\n") {
            if head.len() >= WEB_HEAD_BYTES_MAX {
                return Err(io::Error::other("its answer has no end"));
            }
            head.push(stream.read_u8().await?);
        }
        let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
        let line = String::from_utf8_lossy(line);
        let status = line.split(' ').nth(1).unwrap_or_default();
        match line.starts_with("HTTP/1.") && status.len() == 3 && status.starts_with('2') {
            true => Ok(()),
            false => Err(io::Error::other(format!("it answers `{line}`"))),
        }
    }
}
