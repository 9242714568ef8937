//! `ingather serve`: takes the right to write, listens, and answers until somebody ends it.

use std::fs::Permissions;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use ingather_model::access::unix_user;
use ingather_operations::access::{AskTokens, TOKENS};
use ingather_operations::answers_log::AnswersLog;
use ingather_operations::api_keys::{self, CreateApiKey, KeyAccount, ListApiKeys};
use ingather_operations::context::identity;
use ingather_operations::links::{LOGIN_LINK, MakeLoginLink};
use ingather_operations::operation::Role;
use ingather_operations::{Host as _, Service as _};
use ingather_server::{Front, Listening, Proxies, Stop, Tls, UserAcls};

use super::sync::source;
use crate::arguments::{Global, Serve};
use crate::exit::{self, Code, Failure, Result};
use crate::service::{Given, Running};
use crate::wiring::caller;
use crate::{interrupt, show, systemd};

/// Everybody who reaches a socket that was named may connect: who that is, its folder says, and the kernel tells who each of them is.
const FOR_ALL: u32 = 0o666;
/// In the data directory, which is its owner's alone, so is the socket.
const FOR_ITS_OWNER: u32 = 0o600;
/// Name of the socket in the data directory.
const SOCKET: &str = "ingather.sock";

pub(crate) fn run(global: &Global, serve: &Serve) -> Result<u8> {
    let tls = match (&serve.tls_cert, &serve.tls_key) {
        (Some(certificate), Some(key)) => Some(Tls::of(certificate.clone(), key.clone())?),
        _ => None,
    };
    if !serve.listen.ip().is_loopback() && tls.is_none() && !serve.insecure_listen {
        return Err(Failure::usage(format!(
            "{} can be reached from other machines, and nothing would be encrypted; add --tls-cert and --tls-key, listen on \
             127.0.0.1 behind a reverse proxy with TLS, or add --insecure-listen",
            serve.listen
        )));
    }
    let proxies = proxies(serve)?;
    let stop = Stop::default();
    let running = Running::begin(global, stop.clone(), given(serve)?)?;
    let network = TcpListener::bind(serve.listen).map_err(|error| {
        Failure::unable(format!(
            "cannot listen on {}: {}; choose another address with --listen",
            serve.listen,
            exit::in_words(&error)
        ))
    })?;
    let user_acls = user_acls(serve)?;
    let socket = match &serve.socket {
        Some(path) => Socket::make(path.clone(), FOR_ALL),
        None => Socket::make(running.folder().join(SOCKET), FOR_ITS_OWNER),
    }?;
    let address = network.local_addr().map_err(|error| Failure::unable(error.to_string()))?;
    interrupt::when_stopped(move || {
        systemd::tell(systemd::STOPPING);
        stop.stop();
    });
    let scheme = if tls.is_some() { "https" } else { "http" };
    running.log(&format!("listening on {scheme}://{address} and {}", socket.path.display()));
    if let Some(address) = user_acls.as_ref().and_then(UserAcls::address) {
        running.log(&format!("plug-ins of ManifoldCF ask at http://{address}/UserACLs"));
    }
    if let Some(links) = running.links() {
        links.answers_at(format!("{scheme}://{}", reached(address)));
    }
    first_key(&running, &socket.path)?;
    // It hears of runs from the first one on.
    let mut front = Front::new(running.clone())
        .with_open_metrics(serve.metrics_open)
        .with_search_rate(serve.searches_per_second)
        .with_proxies(proxies);
    if let Some(every) = systemd::alive_every() {
        front = front.with_sign_of_life(every, || systemd::tell(systemd::ALIVE));
    }
    running.keep_history(serve.history_days);
    running.send_reports()?;
    running.do_chores(serve.history_days)?;
    running.heed_schedules(serve.watched_folders_max)?;
    let Socket { path, listener } = socket;
    let made = identity(&path);
    systemd::tell(systemd::READY);
    let served = front.serve(Listening { network, tls, socket: listener, user_acls }, running.stop());
    running.finish();
    // It leads nowhere any more; another one in its place is somebody else's.
    if identity(&path) == made {
        let _ = std::fs::remove_file(path);
    }
    served.map_err(|error| Failure::unable(format!("cannot serve: {}", exit::in_words(&error))))?;
    running.log("ended");
    match running.lost() {
        Some(lost) => Err(Failure::new(Code::TakenOver, format!("the service ends: {lost}"))),
        None => Ok(exit::DONE),
    }
}

/// What the command names that is looked at before anything is begun.
fn given(serve: &Serve) -> Result<Given> {
    let notifiers = crate::chores::notifiers(serve.notifiers.as_deref())?;
    let answers_log = serve.answers_log.clone().map(AnswersLog::open).transpose()?;
    Ok(Given { roots: roots(&serve.roots)?, notifiers, answers_log })
}

/// Reverse proxies whose word counts, where some are named.
fn proxies(serve: &Serve) -> Result<Option<Proxies>> {
    let Some(file) = &serve.proxy_secret else { return Ok(None) };
    let wrong = |why: String| Failure::usage(format!("--proxy-secret {}: {why}", file.display()));
    let secret = ingather_notify::read_secret(file).map_err(wrong)?;
    Proxies::new(&serve.proxies, &serve.proxy_header, &secret).map(Some).map_err(Failure::usage)
}

/// Where plug-ins of ManifoldCF ask, where they may.
fn user_acls(serve: &Serve) -> Result<Option<UserAcls>> {
    let Some(address) = serve.user_acls else { return Ok(None) };
    let listener = TcpListener::bind(address).map_err(|error| {
        Failure::unable(format!(
            "cannot listen on {address}: {}; choose another address with --user-acls",
            exit::in_words(&error)
        ))
    })?;
    UserAcls::new(listener, &serve.user_acls_clients).map(Some).map_err(Failure::usage)
}

/// Folders as they are found without links, and addresses of the web as they are.
fn roots(given: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let canonical = |root: &PathBuf| {
        if root.to_string_lossy().contains("://") {
            return source::canonical(root);
        }
        let found = std::fs::canonicalize(root);
        found.map_err(|error| {
            Failure::usage(format!(
                "--root {}: {}; name a folder that is there",
                root.display(),
                exit::in_words(&error)
            ))
        })
    };
    given.iter().map(canonical).collect()
}

/// A socket that was made.
struct Socket {
    path: PathBuf,
    listener: UnixListener,
}

impl Socket {
    fn make(path: PathBuf, mode: u32) -> Result<Socket> {
        let failed = |error: std::io::Error| {
            Failure::unable(format!(
                "the socket {} cannot be made: {}; name another place with --socket, at most 107 bytes long",
                path.display(),
                exit::in_words(&error)
            ))
        };
        make_way(&path)?;
        let listener = UnixListener::bind(&path).map_err(failed)?;
        std::fs::set_permissions(&path, Permissions::from_mode(mode)).map_err(failed)?;
        Ok(Socket { listener, path })
    }
}

/// Removes a socket that a service has left which was killed; nothing else.
fn make_way(path: &Path) -> Result<()> {
    let Ok(facts) = std::fs::symlink_metadata(path) else { return Ok(()) };
    let refused =
        |why: &str| Failure::unable(format!("{} {why}; name another place with --socket", path.display()));
    if !facts.file_type().is_socket() {
        return Err(refused("is there, and no socket"));
    }
    if UnixStream::connect(path).is_ok() {
        return Err(refused("is the socket of a program that runs"));
    }
    std::fs::remove_file(path).map_err(|error| refused(&format!("cannot be removed: {error}")))
}

/// Makes the first key, when there is none and a person is there to be told it: a log would keep it.
fn first_key(running: &Running, socket: &Path) -> Result<()> {
    let context = running.context();
    if !api_keys::LIST.call(&context, &caller(), ListApiKeys {})?.api_keys.is_empty() {
        return Ok(());
    }
    if !show::is_terminal_out() {
        running.log(&format!(
            "there is no API key yet, and no terminal to show one: `ingather api-key create NAME --role admin --server unix:{}` makes one",
            socket.display()
        ));
        return Ok(());
    }
    let account = own_account(running);
    let request = CreateApiKey {
        name: "admin".to_owned(),
        roles: vec![Role::Admin],
        account,
        sources: None,
        expires_at: None,
    };
    let created = api_keys::CREATE.call(&context, &caller(), request)?;
    show::line(&format!("API key of the administrator, shown this once: {}", created.key));
    let link = LOGIN_LINK.call(&context, &caller(), MakeLoginLink { name: created.kept.name })?;
    show::line(&format!("to log in with a browser, once and within ten minutes: {}", link.url));
    Ok(())
}

/// Whoever runs this, by the name that their environment says, where the machine knows it as theirs: what they may read they find at the page.
fn own_account(running: &Running) -> Option<KeyAccount> {
    let name = ["LOGNAME", "USER"].iter().find_map(|word| std::env::var(word).ok())?;
    let request = AskTokens { user: name.clone(), domain: String::new() };
    let held = TOKENS.call(&running.context(), &caller(), request).ok()?;
    let own = unix_user(rustix::process::geteuid().as_raw());
    held.tokens.contains(&own).then(|| KeyAccount { system: "unix".to_owned(), domain: String::new(), name })
}

/// Where a browser of this machine reaches an address to listen on, which may stand for all that the machine has.
fn reached(address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => (Ipv4Addr::LOCALHOST, address.port()).into(),
        IpAddr::V6(ip) if ip.is_unspecified() => (Ipv6Addr::LOCALHOST, address.port()).into(),
        _ => address,
    }
}
