//! The servers of a directory: the first that can be reached is asked.

use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::time::{Duration, Instant};

use ingather_model::limits;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};

use super::connection::Connection;
use super::failure::Failure;
use super::stream::{Timed, left};
use crate::pool::Asked;

/// How a connection becomes secure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Security {
    /// TLS from the first byte on.
    Tls,
    /// StartTLS.
    Start,
    /// Not at all.
    Plain,
}

/// One server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Server {
    /// Name or address, the latter without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) security: Security,
}

impl Server {
    /// Whether its name stands for this machine.
    pub(crate) fn is_here(&self) -> bool {
        let address = self.host.parse::<IpAddr>();
        self.host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
    }
}

impl std::fmt::Display for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let scheme = if self.security == Security::Tls { "ldaps" } else { "ldap" };
        match self.host.contains(':') {
            true => write!(f, "{scheme}://[{}]:{}", self.host, self.port),
            false => write!(f, "{scheme}://{}:{}", self.host, self.port),
        }
    }
}

/// Who logs in.
#[derive(Clone)]
pub(crate) struct Login {
    pub(crate) dn: String,
    pub(crate) password: String,
}

/// All servers of a directory, and how they are reached.
pub(crate) struct Servers {
    pub(crate) servers: Vec<Server>,
    /// Roots that are trusted in place of those of the system.
    pub(crate) ca_file: Option<PathBuf>,
    pub(crate) login: Option<Login>,
    /// Names that are being looked up.
    pub(crate) resolving: Arc<AtomicUsize>,
}

impl Asked for Servers {
    type Connection = Connection;
    type Failure = Failure;

    /// A connection to the first server that can be reached, logged in; each has its share of the time that is left.
    fn connect(&self, until: Instant) -> Result<Connection, Failure> {
        let mut failures: Vec<(&Server, Failure)> = Vec::new();
        for (at, server) in self.servers.iter().enumerate() {
            let share = left(until)? / (self.servers.len() - at) as u32;
            // clock: sockets wait by it.
            match self.connect_to(server, Instant::now() + share) {
                Ok(mut connection) => {
                    connection.begin(until)?;
                    return Ok(connection);
                }
                Err(failure) if failure.is_of_one_server() => failures.push((server, failure)),
                Err(failure) => return Err(failure),
            }
        }
        match failures.as_slice() {
            [(server, Failure::Broken(what))] => Err(Failure::Broken(format!("{server}: {what}"))),
            [(_, failure)] => Err(failure.clone()),
            all => {
                let told: Vec<String> =
                    all.iter().map(|(server, failure)| format!("{server}: {failure}")).collect();
                Err(Failure::Broken(format!("no server of it answers; {}", told.join("; "))))
            }
        }
    }

    fn begin(&self, connection: &mut Connection, until: Instant) -> Result<(), Failure> {
        connection.begin(until)
    }
}

impl Servers {
    fn connect_to(&self, server: &Server, until: Instant) -> Result<Connection, Failure> {
        let socket = dial(&addresses((&server.host, server.port), &self.resolving, until)?, until)?;
        socket.set_nodelay(true)?;
        let mut connection = Connection::plain(Timed { socket, until });
        if server.security != Security::Plain {
            let config = self.config()?;
            let name = ServerName::try_from(server.host.clone())
                .map_err(|_| Failure::Untrusted(format!("no certificate can be of `{}`", server.host)))?;
            if server.security == Security::Start {
                connection.start_tls()?;
            }
            connection.secure(config, name)?;
        }
        if let Some(login) = &self.login {
            connection.bind(&login.dn, &login.password)?;
        }
        Ok(connection)
    }

    /// Whom connections trust. A file is read anew for each connection, so that another one counts at once.
    fn config(&self) -> Result<Arc<ClientConfig>, Failure> {
        static OF_THE_SYSTEM: OnceLock<Arc<ClientConfig>> = OnceLock::new();
        match &self.ca_file {
            Some(file) => Ok(Arc::new(trusting(certificates(file)?)?)),
            None => match OF_THE_SYSTEM.get() {
                Some(config) => Ok(Arc::clone(config)),
                None => {
                    let mut roots = RootCertStore::empty();
                    // Of the many roots of a system, one that cannot be read is no loss.
                    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
                    let config = Arc::new(trusting(roots)?);
                    Ok(Arc::clone(OF_THE_SYSTEM.get_or_init(|| config)))
                }
            },
        }
    }
}

/// Where a server is. The system may look for a name for longer than anybody waits: a thread of its own does, and there are few.
pub(crate) fn addresses(
    (host, port): (&str, u16),
    resolving: &Arc<AtomicUsize>,
    until: Instant,
) -> Result<Vec<SocketAddr>, Failure> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let failed = |what: &dyn std::fmt::Display| {
        Failure::Broken(format!("the name `{host}` cannot be looked up: {what}"))
    };
    let resolving = Arc::clone(resolving);
    if resolving.fetch_add(1, Ordering::Relaxed) >= limits::LDAP_RESOLVING_MAX {
        resolving.fetch_sub(1, Ordering::Relaxed);
        return Err(failed(&"too many names are being looked up"));
    }
    let (answer, answered) = mpsc::sync_channel(1);
    let asked = (host.to_owned(), port);
    std::thread::spawn(move || {
        let found = asked.to_socket_addrs().map(|all| all.take(limits::LDAP_ADDRESSES_MAX).collect());
        resolving.fetch_sub(1, Ordering::Relaxed);
        // Nobody may wait any more.
        let _ = answer.send(found);
    });
    let found: std::io::Result<Vec<SocketAddr>> =
        answered.recv_timeout(left(until)?).map_err(|_| Failure::Late)?;
    match found {
        Ok(none) if none.is_empty() => Err(failed(&"it has no address")),
        Ok(all) => Ok(all),
        Err(error) => Err(failed(&error)),
    }
}

/// A socket to the first address that takes it.
pub(crate) fn dial(addresses: &[SocketAddr], until: Instant) -> Result<TcpStream, Failure> {
    let mut failed = Failure::Broken("it has no address".to_owned());
    for (at, address) in addresses.iter().enumerate() {
        let share: Duration = left(until)? / (addresses.len() - at) as u32;
        match TcpStream::connect_timeout(address, share.max(Duration::from_millis(1))) {
            Ok(socket) => return Ok(socket),
            Err(error) => failed = Failure::from(error),
        }
    }
    Err(failed)
}

fn trusting(roots: RootCertStore) -> Result<ClientConfig, Failure> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Failure::Untrusted(format!("TLS cannot be used: {error}")))?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

/// The certificates of a file in PEM.
fn certificates(file: &Path) -> Result<RootCertStore, Failure> {
    let unusable = |what: &dyn std::fmt::Display| {
        Failure::Untrusted(format!("`ca_file` {} cannot be used: {what}", file.display()))
    };
    let size = std::fs::metadata(file).map_err(|error| unusable(&error))?.len();
    if size > limits::LDAP_CERTIFICATES_BYTES_MAX {
        return Err(unusable(&"it is too large"));
    }
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(file).map_err(|error| unusable(&error))? {
        roots.add(certificate.map_err(|error| unusable(&error))?).map_err(|error| unusable(&error))?;
    }
    match roots.is_empty() {
        true => Err(unusable(&"there is no certificate in it")),
        false => Ok(roots),
    }
}
