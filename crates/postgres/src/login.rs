//! How to reach a server and who asks: what the URL says, and what it had better not say.

use std::ffi::OsString;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ingather_model::limits;
use percent_encoding::percent_decode_str;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::tls::{self, Checks};
use crate::{Refused, Result};

/// Words of a URL that are read here; the driver reads all others.
const OWN: [&str; 6] = ["sslmode", "sslrootcert", "sslcert", "sslkey", "passfile", "answer_timeout"];

/// All that a connection needs.
pub struct Login {
    /// For the driver.
    pub config: Config,
    /// None: without TLS.
    pub tls: Option<MakeRustlsConnect>,
    /// Longest wait for an answer of the server.
    pub answer: Duration,
}

/// Where words and files come from: the process, or a test.
struct Environment<'s> {
    variable: &'s dyn Fn(&str) -> Option<OsString>,
}

fn refuse(sentence: impl Into<String>) -> Refused {
    Refused(sentence.into())
}

impl Login {
    /// Reads a URL, and what the environment and the user's password file add to it. `setting` is what people call the URL by.
    ///
    /// # Errors
    /// [`Refused`] with what to write instead; it never repeats the URL, which may hold a password.
    pub fn read(setting: &str, url: &str) -> Result<Login> {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        read(setting, url, &Environment { variable: &variable })
    }
}

fn read(setting: &str, url: &str, environment: &Environment<'_>) -> Result<Login> {
    let (plain, own) = take_own(setting, url)?;
    let of = |name: &str| own.iter().rev().find(|(own, _)| own == name).map(|(_, value)| value.clone());
    let word = |name: &str, variable: &str| match of(name) {
        Some(value) => Some(OsString::from(value)),
        None => (environment.variable)(variable),
    };
    let mut config: Config = plain.parse().map_err(|error: tokio_postgres::Error| {
        // The cause names the word that it cannot read, never a value of it.
        let cause = std::error::Error::source(&error).map_or(String::new(), |cause| format!(": {cause}"));
        refuse(format!("the URL of {setting}: {error}{cause}"))
    })?;
    bound(&mut config);
    let answer = match of("answer_timeout") {
        None => limits::STORE_ANSWER_MS_MAX,
        Some(text) => match text.parse::<u64>() {
            Ok(seconds @ 1..=86_400) => seconds * 1_000,
            _ => {
                return Err(refuse(format!(
                    "the URL of {setting}: answer_timeout takes seconds, 1 to 86400"
                )));
            }
        },
    };
    let mode = word("sslmode", "PGSSLMODE").unwrap_or_else(|| "prefer".into());
    let roots = word("sslrootcert", "PGSSLROOTCERT").map(PathBuf::from);
    let checks = match (mode.to_str().unwrap_or_default(), &roots) {
        ("disable", _) => None,
        ("prefer", _) => Some((SslMode::Prefer, Checks::Nothing)),
        // As other programs have it: whoever names roots wants them to count.
        ("require", None) => Some((SslMode::Require, Checks::Nothing)),
        ("require" | "verify-ca", _) => Some((SslMode::Require, Checks::Chain)),
        ("verify-full", _) => Some((SslMode::Require, Checks::ChainAndName)),
        (other, _) => {
            let words = "disable, prefer, require, verify-ca or verify-full";
            return Err(refuse(format!("sslmode `{other}` is not known; it is one of {words}")));
        }
    };
    let tls = match checks {
        None => {
            config.ssl_mode(SslMode::Disable);
            None
        }
        Some((mode, checks)) => {
            config.ssl_mode(mode);
            let own = [word("sslcert", "PGSSLCERT"), word("sslkey", "PGSSLKEY")]
                .map(|file| file.map(PathBuf::from));
            Some(tls::connector(checks, roots.as_deref(), own)?)
        }
    };
    if config.get_password().is_none()
        && let Some(password) = password(&config, word("passfile", "PGPASSFILE"), environment)?
    {
        config.password(password);
    }
    Ok(Login { config, tls, answer: Duration::from_millis(answer) })
}

/// A URL without the words that are read here, and they.
fn take_own(setting: &str, url: &str) -> Result<(String, Vec<(String, String)>)> {
    let Some((beginning, query)) = url.split_once('?') else { return Ok((url.to_owned(), Vec::new())) };
    let mut own = Vec::new();
    let mut rest = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        match pair.split_once('=') {
            Some((name, value)) if OWN.contains(&name) => {
                let value = percent_decode_str(value).decode_utf8();
                let value = value.map_err(|_| refuse(format!("the URL of {setting}: {name} is no text")))?;
                own.push((name.to_owned(), value.into_owned()));
            }
            _ => rest.push(pair),
        }
    }
    let question = if rest.is_empty() { "" } else { "?" };
    Ok((format!("{beginning}{question}{}", rest.join("&")), own))
}

/// A server whose machine or network is gone says nothing: what the URL does not bound is bounded here.
fn bound(config: &mut Config) {
    let silence = Duration::from_millis(limits::STORE_SILENCE_MS_MAX);
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(Duration::from_millis(limits::STORE_CONNECT_MS_MAX));
    }
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(silence);
        config.keepalives_idle(silence / 4).keepalives_interval(silence / 4).keepalives_retries(3);
    }
}

/// The password that the URL does not hold: of the environment, else of a password file.
fn password(
    config: &Config,
    named: Option<OsString>,
    environment: &Environment<'_>,
) -> Result<Option<Vec<u8>>> {
    if let Some(password) = (environment.variable)("PGPASSWORD") {
        return Ok(Some(std::os::unix::ffi::OsStringExt::into_vec(password)));
    }
    let usual = || (environment.variable)("HOME").map(|home| Path::new(&home).join(".pgpass"));
    let Some(path) = named.as_ref().map(PathBuf::from).or_else(usual) else { return Ok(None) };
    let told = |what: &str| refuse(format!("the password file {} {what}", path.display()));
    let file = match std::fs::File::open(&path) {
        Ok(file) => file,
        // Only a file that was asked for has to be there.
        Err(_) if named.is_none() => return Ok(None),
        Err(error) => return Err(told(&format!("cannot be read: {error}"))),
    };
    let facts = file.metadata().map_err(|error| told(&format!("cannot be read: {error}")))?;
    if facts.mode() & 0o077 != 0 {
        let closed = "may be read by others; make it yours alone: chmod 600";
        return if named.is_some() { Err(told(closed)) } else { Ok(None) };
    }
    let mut text = String::new();
    file.take(limits::PASSWORD_FILE_BYTES_MAX)
        .read_to_string(&mut text)
        .map_err(|error| told(&format!("cannot be read: {error}")))?;
    let wanted = wanted(config);
    Ok(text.lines().find_map(|line| password_of(line, &wanted)).map(String::into_bytes))
}

/// Host, port, database and user as a password file names them.
fn wanted(config: &Config) -> [String; 4] {
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(name)) => name.clone(),
        Some(Host::Unix(_)) | None => "localhost".to_owned(),
    };
    let port = config.get_ports().first().copied().unwrap_or(5432).to_string();
    let user = config.get_user().unwrap_or_default().to_owned();
    let database = config.get_dbname().map_or_else(|| user.clone(), str::to_owned);
    [host, port, database, user]
}

/// The password of a line `host:port:database:user:password`, when it is for whom we want: `*` is everybody, `\` takes the
/// meaning from `:` and `\`.
fn password_of(line: &str, wanted: &[String; 4]) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }
    let mut parts = vec![(String::new(), false)];
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        let more = parts.len() < 5;
        let last = parts.last_mut()?;
        match character {
            '\\' => {
                last.0.extend(characters.next());
                last.1 = true;
            }
            ':' if more => parts.push((String::new(), false)),
            other => last.0.push(other),
        }
    }
    let (password, _) = parts.get(4)?;
    let fits =
        |(part, escaped): &(String, bool), wanted: &String| part == wanted || (part == "*" && !escaped);
    parts.iter().zip(wanted).all(|(part, wanted)| fits(part, wanted)).then(|| password.clone())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn with(variables: &[(&str, &str)], url: &str) -> Result<Login> {
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
        };
        read("--store", url, &Environment { variable: &variable })
    }

    fn password_by(variables: &[(&str, &str)], url: &str) -> Option<String> {
        let login = with(variables, url).unwrap();
        login.config.get_password().map(|bytes| String::from_utf8(bytes.to_vec()).unwrap())
    }

    fn said(outcome: Result<Login>) -> String {
        outcome.err().expect("it is refused").to_string()
    }

    #[test]
    fn a_password_comes_from_the_url_else_the_environment_else_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(".pgpass");
        std::fs::write(&file, "# mine\nother:*:*:*:no\nh:5433:d:ann:by port\n*:*:d:ann:a\\:b\\\\c:d\n")
            .unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
        let home = ("HOME", folder.path().to_str().unwrap());
        let url = "postgres://ann@h/d";
        assert_eq!(
            password_by(&[("PGPASSWORD", "env"), home], "postgres://ann:url@h/d").as_deref(),
            Some("url")
        );
        assert_eq!(password_by(&[("PGPASSWORD", "env"), home], url).as_deref(), Some("env"));
        assert_eq!(password_by(&[home], url).as_deref(), Some("a:b\\c:d"));
        assert_eq!(password_by(&[home], "postgres://ann@h:5433/d").as_deref(), Some("by port"));
        assert_eq!(password_by(&[home], "postgres://bob@h/d"), None);
        assert_eq!(password_by(&[], url), None);
        let named = format!("{url}?passfile={}", file.display());
        assert_eq!(password_by(&[], &named).as_deref(), Some("a:b\\c:d"));
        assert_eq!(password_by(&[("PGPASSFILE", file.to_str().unwrap())], url).as_deref(), Some("a:b\\c:d"));
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o640)).unwrap();
        assert!(said(with(&[], &named)).contains("chmod 600"));
        assert_eq!(password_by(&[home], url), None, "the usual file is not taken when others may read it");
        assert!(said(with(&[], &format!("{url}?passfile=/nowhere/x"))).contains("/nowhere/x cannot be read"));
    }

    #[test]
    fn words_of_the_url_are_read_and_wrong_ones_are_named_without_the_password() {
        let secret = "postgres://ann:TOPSECRET@h/d";
        for (query, words) in [
            ("?sslmode=maybe", "sslmode `maybe` is not known"),
            ("?answer_timeout=0", "answer_timeout takes seconds"),
            ("?sslmode=require&sslrootcert=/nowhere/roots.pem", "/nowhere/roots.pem"),
            ("?sslmode=require&sslcert=/nowhere/own.pem", "sslkey"),
            ("?nonsense=1", "nonsense"),
        ] {
            let said = said(with(&[], &format!("{secret}{query}")));
            assert!(said.contains(words) && !said.contains("TOPSECRET"), "{query}: {said}");
        }
        let login = with(&[], "postgres://h/d?sslmode=disable&connect_timeout=3&answer_timeout=7").unwrap();
        assert_eq!(login.config.get_connect_timeout(), Some(&Duration::from_secs(3)));
        assert_eq!((login.answer, login.tls.is_none()), (Duration::from_secs(7), true));
        assert!(with(&[("PGSSLMODE", "disable")], "postgres://h/d").unwrap().tls.is_none());
        assert_eq!(with(&[], "postgres://h/d").unwrap().config.get_ssl_mode(), SslMode::Prefer);
    }
}
