//! Where a stream is, who publishes to it, and how it is made when it is missing.

use std::path::{Path, PathBuf};

use async_nats::ServerAddr;
use garde::Validate;
use ingather_contract::settings;
use ingather_model::fault::Fault;
use ingather_model::limits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Settings of a stream on a server. None of them changes what an entry is: another stream is known by its identity.
#[derive(Clone, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub(super) struct Settings {
    /// Addresses of the servers of one cluster, such as `tls://nats.example.org:4222`; without TLS a server of this machine alone, such as
    /// `nats://127.0.0.1:4222`. No other server is asked, whatever these tell of.
    #[garde(length(min = 1, max = limits::NATS_SERVERS_MAX), inner(length(bytes, min = 1, max = limits::NATS_TEXT_BYTES_MAX)))]
    #[schemars(extend("x-of-the-machine" = true, "x-resends" = false))]
    servers: Vec<String>,
    /// Name of the stream, which is this output's alone: letters, digits, `-` and `_`.
    #[garde(length(bytes, min = 1, max = limits::NATS_STREAM_BYTES_MAX), custom(is_stream))]
    #[schemars(extend("x-resends" = false))]
    stream: String,
    /// What subjects of messages begin with, such as `ingather.docs`; behind it, and a `.`, stands what the message says: `put`, `delete`, and
    /// so on. The stream takes `SUBJECT.>` and nothing else.
    #[garde(length(bytes, min = 1, max = limits::NATS_SUBJECT_BYTES_MAX), custom(is_subject))]
    #[schemars(extend("x-resends" = false))]
    subject: String,
    /// Who publishes, with `password`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(length(bytes, min = 1, max = limits::NATS_TEXT_BYTES_MAX))]
    #[schemars(extend("x-resends" = false))]
    user: Option<String>,
    /// The password of `user`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(length(bytes, min = 1, max = limits::NATS_SECRET_BYTES_MAX))]
    #[schemars(extend("writeOnly" = true, "x-resends" = false))]
    password: Option<String>,
    /// A token that the server asks for, in place of `user`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(length(bytes, min = 1, max = limits::NATS_SECRET_BYTES_MAX))]
    #[schemars(extend("writeOnly" = true, "x-resends" = false))]
    token: Option<String>,
    /// A file in PEM of the roots that the certificate of the server is checked by, in place of those of the system. It is always checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(inner(custom(absolute)))]
    #[schemars(extend("x-of-the-machine" = true, "x-resends" = false))]
    ca_file: Option<PathBuf>,
    /// A file in PEM of the certificate that this program shows to the server, with those between it and a root; with `key_file`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(inner(custom(absolute)))]
    #[schemars(extend("x-of-the-machine" = true, "x-resends" = false))]
    certificate_file: Option<PathBuf>,
    /// A file in PEM of the key of that certificate, without a password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(inner(custom(absolute)))]
    #[schemars(extend("x-of-the-machine" = true, "x-resends" = false))]
    key_file: Option<PathBuf>,
    /// How long an acknowledgement is waited for, seconds.
    #[serde(default = "timeout_s")]
    #[garde(range(min = 1, max = limits::NATS_TIMEOUT_S_MAX))]
    #[schemars(extend("x-resends" = false))]
    timeout_s: u32,
    /// Whether the stream is made when it is missing: in files, with the four settings below; when it is full it takes nothing new, and
    /// drops nothing.
    #[serde(default = "create")]
    #[garde(skip)]
    #[schemars(extend("x-resends" = false))]
    create: bool,
    /// Of a stream that is made: for how long it knows a message that comes twice, seconds.
    #[serde(default = "window_s")]
    #[garde(range(min = 1, max = limits::NATS_WINDOW_S_MAX))]
    #[schemars(extend("x-resends" = false))]
    window_s: u32,
    /// Of a stream that is made: for how long it keeps a message, hours, also when nobody has read it; 0 for ever.
    #[serde(default)]
    #[garde(range(max = limits::NATS_KEEP_HOURS_MAX))]
    #[schemars(extend("x-resends" = false))]
    keep_hours: u32,
    /// Of a stream that is made: how large it may become, MiB; 0 as large as the server lets it.
    #[serde(default)]
    #[garde(range(max = limits::NATS_STREAM_MIB_MAX))]
    #[schemars(extend("x-resends" = false))]
    stream_mib: u64,
    /// Of a stream that is made: on how many servers of the cluster it is kept.
    #[serde(default = "replicas")]
    #[garde(range(min = 1, max = limits::NATS_REPLICAS_MAX))]
    #[schemars(extend("x-resends" = false))]
    replicas: u32,
}

fn timeout_s() -> u32 {
    limits::NATS_TIMEOUT_S
}

fn create() -> bool {
    true
}

fn window_s() -> u32 {
    limits::NATS_WINDOW_S
}

fn replicas() -> u32 {
    1
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
}

fn is_stream(name: &str, _: &()) -> garde::Result {
    match is_word(name) {
        true => Ok(()),
        false => Err(garde::Error::new("must have letters, digits, `-` and `_`")),
    }
}

fn is_subject(text: &str, _: &()) -> garde::Result {
    match text.split('.').all(is_word) {
        true => Ok(()),
        false => {
            Err(garde::Error::new("must be words of letters, digits, `-` and `_` with a `.` between them"))
        }
    }
}

fn absolute(path: &Path, _: &()) -> garde::Result {
    match path.is_absolute() {
        true => Ok(()),
        false => {
            Err(garde::Error::new("must be a path from the root of the machine, such as /etc/ssl/nats.pem"))
        }
    }
}

/// How somebody says who they are.
#[derive(Clone)]
pub(super) enum Login {
    Nobody,
    User(String, String),
    Token(String),
}

/// How a stream is made.
#[derive(Clone)]
pub(super) struct Making {
    pub(super) window_s: u32,
    pub(super) keep_hours: u32,
    pub(super) stream_mib: u64,
    pub(super) replicas: u32,
}

/// What settings mean.
#[derive(Clone)]
pub(super) struct Meant {
    pub(super) servers: Vec<ServerAddr>,
    pub(super) stream: String,
    pub(super) subject: String,
    pub(super) login: Login,
    pub(super) ca_file: Option<PathBuf>,
    /// Certificate and key.
    pub(super) shown: Option<(PathBuf, PathBuf)>,
    pub(super) timeout_ms: u64,
    /// None: a stream that is missing is not made.
    pub(super) making: Option<Making>,
}

/// Reads settings.
///
/// # Errors
/// `Refused` with what is to be given, without what was.
pub(super) fn read(value: &Value) -> Result<Meant, Fault> {
    settings::read::<Settings>(value)?.meant().map_err(|told| Fault::refused("settings", told))
}

/// Which stream it is, in whatever order its servers are named.
pub(super) fn place(value: &Value) -> Option<String> {
    let stream = value["stream"].as_str()?;
    let mut servers = Vec::new();
    for server in value["servers"].as_array()? {
        let at: ServerAddr = server.as_str()?.parse().ok()?;
        servers.push(format!("{}:{}", at.host().to_ascii_lowercase(), at.port()));
    }
    servers.sort_unstable();
    servers.dedup();
    Some(format!("stream {stream} of {}", servers.join(" ")))
}

impl Settings {
    fn meant(self) -> Result<Meant, String> {
        let servers: Option<Vec<ServerAddr>> = self.servers.iter().map(|text| address(text)).collect();
        let Some(servers) = servers else {
            return Err(
                "each of `servers` must be such as tls://nats.example.org:4222; without TLS it is a server of this machine alone, such \
                 as nats://127.0.0.1:4222"
                    .to_owned(),
            );
        };
        let login = match (self.user, self.password, self.token) {
            (None, None, None) => Login::Nobody,
            (Some(user), Some(password), None) => Login::User(user, password),
            (None, None, Some(token)) => Login::Token(token),
            _ => {
                return Err("give `user` and `password`, or `token`, and nothing beside it".to_owned());
            }
        };
        let shown = match (self.certificate_file, self.key_file) {
            (None, None) => None,
            (Some(certificate), Some(key)) => Some((certificate, key)),
            _ => return Err("`certificate_file` and `key_file` belong together".to_owned()),
        };
        let Settings { window_s, keep_hours, stream_mib, replicas, .. } = self;
        Ok(Meant {
            servers,
            stream: self.stream,
            subject: self.subject,
            login,
            ca_file: self.ca_file,
            shown,
            timeout_ms: u64::from(self.timeout_s) * 1_000,
            making: self.create.then_some(Making { window_s, keep_hours, stream_mib, replicas }),
        })
    }
}

/// A server that may be asked: with TLS, or without it where its name stands for this machine.
fn address(text: &str) -> Option<ServerAddr> {
    let (scheme, rest) = text.split_once("://")?;
    let is_plain = scheme.eq_ignore_ascii_case("nats");
    if !is_plain && !scheme.eq_ignore_ascii_case("tls") || rest.contains(['@', '?', '#', '/']) {
        return None;
    }
    let at: ServerAddr = format!("{}://{rest}", scheme.to_ascii_lowercase()).parse().ok()?;
    let fits = !at.host().is_empty() && (!is_plain || is_here(at.host()));
    fits.then_some(at)
}

/// Whether a name stands for this machine.
pub(super) fn is_here(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(more: Value) -> Option<String> {
        let mut settings = json!({"servers": ["tls://h"], "stream": "docs", "subject": "ingather.docs"});
        let fields = settings.as_object_mut().unwrap();
        fields.extend(more.as_object().cloned().unwrap());
        read(&settings).err().map(|fault| fault.reason().message)
    }

    #[test]
    fn a_stream_is_at_one_place_however_its_servers_are_told() {
        let at = |servers: &[&str], stream: &str| {
            place(&json!({"servers": servers, "stream": stream, "token": {"sealed": 1}}))
        };
        let one = at(&["tls://a.example.org", "tls://b.example.org:4333"], "docs").unwrap();
        assert_eq!(one, "stream docs of a.example.org:4222 b.example.org:4333");
        assert_eq!(at(&["tls://B.example.org:4333", "tls://a.example.org:4222"], "docs"), Some(one.clone()));
        assert_ne!(at(&["tls://a.example.org", "tls://b.example.org:4333"], "docs2"), Some(one.clone()));
        assert_ne!(at(&["tls://a.example.org"], "docs"), Some(one));
        assert_eq!(place(&json!({"stream": "docs"})), None);
    }

    #[test]
    fn what_cannot_be_meant_is_refused_without_repeating_a_secret() {
        for fits in [
            json!({}),
            json!({"servers": ["nats://127.0.0.1:4222", "nats://localhost", "nats://[::1]:4222"]}),
            json!({"user": "u", "password": "p:q"}),
            json!({"token": "t t"}),
            json!({"certificate_file": "/c", "key_file": "/k"}),
            json!({"create": false, "keep_hours": 48, "stream_mib": 10, "replicas": 3}),
        ] {
            assert_eq!(told(fits.clone()), None, "{fits}");
        }
        for (wrong, place) in [
            (json!({"servers": []}), "servers"),
            (json!({"servers": ["nats://h"]}), "servers"),
            (json!({"servers": ["nats://10.0.0.1:4222"]}), "servers"),
            (json!({"servers": ["tls://u:TOPSECRET@h"]}), "servers"),
            (json!({"servers": ["https://h"]}), "servers"),
            (json!({"servers": ["h:4222"]}), "servers"),
            (json!({"stream": "a.b"}), "stream"),
            (json!({"subject": "a.>"}), "subject"),
            (json!({"subject": "a..b"}), "subject"),
            (json!({"subject": "$JS.API"}), "subject"),
            (json!({"user": "u"}), "password"),
            (json!({"password": "TOPSECRET"}), "user"),
            (json!({"user": "u", "password": "TOPSECRET", "token": "TOPSECRET"}), "token"),
            (json!({"certificate_file": "/c"}), "key_file"),
            (json!({"ca_file": "c"}), "ca_file"),
            (json!({"timeout_s": 0}), "timeout_s"),
            (json!({"replicas": 6}), "replicas"),
            (json!({"window_s": 0}), "window_s"),
        ] {
            let said = told(wrong.clone()).unwrap_or_default();
            assert!(said.contains(place) && !said.contains("TOPSECRET"), "{wrong}: {said}");
        }
    }
}
