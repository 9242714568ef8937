//! What an authority over a database is told.

use std::path::{Path, PathBuf};

use garde::Validate;
use ingather_contract::settings;
use ingather_model::fault::Fault;
use ingather_model::limits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use super::server::{Place, Server};
use crate::reached::{Tls, absolute};

/// Where a database is, who asks it, and what it is asked.
#[derive(Clone, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub(super) struct Settings {
    /// The address of a PostgreSQL database and the role that asks, such as `postgres://ingather@db.example.org:5432/people`, without a password.
    /// `%2Frun%2Fpostgresql` as the host is the folder of a Unix socket.
    #[garde(length(bytes, min = 1, max = limits::LDAP_TEXT_BYTES_MAX))]
    #[schemars(extend("x-of-the-machine" = true))]
    url: String,
    /// The password of the role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("writeOnly" = true))]
    #[garde(length(bytes, min = 1, max = limits::LDAP_TEXT_BYTES_MAX))]
    password: Option<String>,
    /// How the server is reached: `start` with TLS, `none` without, which is for this machine alone. When left out: `start`, and for a server of this
    /// machine (`localhost`, `127.0.0.1`, a Unix socket) `none`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(skip)]
    tls: Option<Tls>,
    /// A file in PEM of the roots that the certificate of the server is checked by, in place of those of the system. It is always checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(inner(custom(absolute)))]
    #[schemars(extend("x-of-the-machine" = true))]
    ca_file: Option<PathBuf>,
    /// A query that finds one person by `$1`, the name that is asked for: its first column, a text, is what the database calls them. A second one, a
    /// boolean, may say whether they may enter. When left out, whoever has a row in `tokens` is known by the name that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[garde(length(bytes, min = 1, max = limits::SQL_QUERY_BYTES_MAX))]
    person: Option<String>,
    /// A query with one row for each token of a person, a text. `$1` is what the database calls them.
    #[garde(length(bytes, min = 1, max = limits::SQL_QUERY_BYTES_MAX))]
    tokens: String,
    /// What the token of a person begins with, before their name.
    #[serde(default = "user_prefix")]
    #[garde(length(bytes, max = limits::LDAP_NAME_BYTES_MAX))]
    user_prefix: String,
    /// What each token of `tokens` begins with; may be empty.
    #[serde(default = "group_prefix")]
    #[garde(length(bytes, max = limits::LDAP_NAME_BYTES_MAX))]
    group_prefix: String,
    /// Rows of `tokens` for one person. Who has more is kept from whatever denies anybody.
    #[serde(default = "most")]
    #[garde(range(min = 1, max = limits::TOKENS_OF_A_USER_MAX - 1))]
    max: usize,
}

fn user_prefix() -> String {
    "user:".to_owned()
}

fn group_prefix() -> String {
    "group:".to_owned()
}

fn most() -> usize {
    limits::LDAP_GROUPS
}

/// What settings mean.
pub(super) struct Meant {
    pub(super) user_prefix: String,
    pub(super) group_prefix: String,
    pub(super) max: usize,
}

/// Reads settings: the server with what it is asked, and what becomes of its answers.
pub(super) fn read(value: &Value) -> Result<(Server, Meant), Fault> {
    settings::read::<Settings>(value)?.meant().map_err(|told| Fault::refused("settings", told))
}

impl Settings {
    fn meant(self) -> Result<(Server, Meant), String> {
        let (mut config, place) = address(&self.url)?;
        let is_here = place.is_here();
        let plain = match self.tls {
            Some(Tls::None) if !is_here => {
                return Err("`tls` can be `none` for a server of this machine alone".to_owned());
            }
            Some(Tls::Start) if matches!(place, Place::Folder(_)) => {
                return Err("`tls` cannot be `start` for a Unix socket".to_owned());
            }
            Some(tls) => tls == Tls::None,
            None => is_here,
        };
        config.ssl_mode(if plain { SslMode::Disable } else { SslMode::Require });
        if let Some(password) = &self.password {
            config.password(password);
        }
        if self.user_prefix == self.group_prefix {
            let told =
                "`user_prefix` and `group_prefix` must differ: else a person could have the name of a group";
            return Err(told.to_owned());
        }
        let (person, tokens) = (self.person, self.tokens);
        let server = Server::new(config, place, self.ca_file.filter(|_| !plain), (person, tokens));
        let (user_prefix, group_prefix, max) = (self.user_prefix, self.group_prefix, self.max);
        Ok((server, Meant { user_prefix, group_prefix, max }))
    }
}

/// Who asks what where. The address is never repeated, for it may hold a password.
fn address(url: &str) -> Result<(Config, Place), String> {
    let told = || "`url` must be such as postgres://ingather@db.example.org:5432/people".to_owned();
    let has_scheme = url.starts_with("postgres://") || url.starts_with("postgresql://");
    if !has_scheme || url.contains(['?', '#']) {
        return Err(told());
    }
    let config: Config = url.parse().map_err(|_| told())?;
    if config.get_password().is_some() {
        return Err("`url` cannot hold a password; set `password`".to_owned());
    }
    let named = |text: Option<&str>| text.is_some_and(|text| !text.is_empty());
    if !named(config.get_user()) || !named(config.get_dbname()) {
        return Err(told());
    }
    let port = match config.get_ports() {
        [] => 5432,
        [port] if *port != 0 => *port,
        _ => return Err(told()),
    };
    let place = match config.get_hosts() {
        [Host::Tcp(host)] if !host.is_empty() => Place::Host(host.clone(), port),
        [Host::Unix(folder)] if folder.is_absolute() => Place::Folder(socket(folder, port)),
        _ => return Err(told()),
    };
    Ok((config, place))
}

/// The socket of a server in its folder.
fn socket(folder: &Path, port: u16) -> PathBuf {
    folder.join(format!(".s.PGSQL.{port}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(change: &Value) -> Option<String> {
        let mut settings = json!({"url": "postgres://u@db.example.org/d", "tokens": "SELECT $1"});
        for (name, value) in change.as_object().unwrap() {
            settings[name] = value.clone();
        }
        read(&settings).err().map(|fault| fault.reason().message)
    }

    #[test]
    fn what_cannot_be_meant_is_refused_without_repeating_a_password() {
        assert_eq!(told(&json!({})), None);
        assert_eq!(told(&json!({"url": "postgres://u@[::1]:7/d", "tls": "none", "password": "p"})), None);
        assert_eq!(told(&json!({"url": "postgres://u@%2Frun%2Fpostgresql/d", "password": "p"})), None);
        assert_eq!(told(&json!({"user_prefix": "", "person": "SELECT $1"})), None);
        for (wrong, words) in [
            (json!({"url": "postgres://u:TOPSECRET@h/d"}), "set `password`"),
            (json!({"url": "postgres://u@h/d?sslmode=disable"}), "such as"),
            (json!({"url": "host=h user=u dbname=d password=TOPSECRET"}), "such as"),
            (json!({"url": "postgres://h/d"}), "such as"),
            (json!({"url": "postgres://u@h"}), "such as"),
            (json!({"url": "postgres://u@/d"}), "such as"),
            (json!({"url": "postgres://u@h:0/d"}), "such as"),
            (json!({"url": "postgres://u@a,b/d"}), "such as"),
            (json!({"url": "postgres://u:TOPSECRET@h:x/d"}), "such as"),
            (json!({"tls": "none"}), "of this machine alone"),
            (json!({"url": "postgres://u@127.0.0.1.example.org/d", "tls": "none"}), "of this machine alone"),
            (json!({"url": "postgres://u@%2Frun/d", "tls": "start"}), "Unix socket"),
            (json!({"tls": "prefer"}), "must be one of start, none"),
            (json!({"ca_file": "ca.pem"}), "ca_file"),
            (json!({"tokens": ""}), "tokens"),
            (json!({"person": ""}), "person"),
            (json!({"password": ""}), "password"),
            (json!({"max": 0}), "max"),
            (json!({"user_prefix": "", "group_prefix": ""}), "must differ"),
            (json!({"sslmode": "require"}), "no setting"),
        ] {
            let told = told(&wrong).unwrap_or_default();
            assert!(told.contains(words) && !told.contains("TOPSECRET"), "{wrong}: {told}");
        }
    }
}
