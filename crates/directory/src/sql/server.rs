//! How a database is reached: the socket, TLS, the login, and the queries prepared, so that a wrong one is told before anybody asks.

use std::future::Future;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use ingather_model::limits;
use ingather_postgres::MakeRustlsConnect;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::runtime::Runtime;
use tokio_postgres::config::SslMode;
use tokio_postgres::error::SqlState;
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Config, NoTls, Statement};

use super::bounded::{Allowance, Bounded};
use super::failure::Failure;
use crate::pool::Asked;
use crate::wire::servers::{addresses, dial};
use crate::wire::stream::left;

/// Where a server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A name or an address, and a port.
    Host(String, u16),
    /// A Unix socket.
    Folder(PathBuf),
}

impl Place {
    /// Whether it stands for this machine.
    pub(super) fn is_here(&self) -> bool {
        match self {
            Place::Host(host, _) => {
                let address = host.parse::<IpAddr>();
                host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
            }
            Place::Folder(_) => true,
        }
    }
}

/// One database, who asks it, and what.
pub(super) struct Server {
    config: Config,
    place: Place,
    /// Roots that are trusted in place of those of the system.
    ca_file: Option<PathBuf>,
    person: Option<String>,
    tokens: String,
    /// Names that are being looked up.
    resolving: Arc<AtomicUsize>,
}

/// A connection with what it is asked.
pub(super) struct Connection {
    pub(super) client: Client,
    pub(super) person: Option<Statement>,
    pub(super) tokens: Statement,
    pub(super) until: Instant,
    pub(super) allowance: Allowance,
    /// Carries questions and answers on the thread of whoever asks.
    pub(super) runtime: Runtime,
}

impl Asked for Server {
    type Connection = Connection;
    type Failure = Failure;

    fn connect(&self, until: Instant) -> Result<Connection, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime =
            runtime.map_err(|error| Failure::Broken(format!("no connection can be made: {error}")))?;
        let allowance = Allowance::of(limits::SQL_LOGIN_BYTES_MAX);
        let made = runtime.block_on(in_time(until, async {
            let client = self.login(until, &allowance).await?;
            allowance.renew(limits::SQL_PREPARATION_BYTES_MAX);
            let settled = format!("{}; SET default_transaction_read_only = on", settled("SET", until)?);
            told(&client, &settled).await?;
            let person = match &self.person {
                Some(query) => Some(prepared(&client, query, Asks::Person).await?),
                None => None,
            };
            let tokens = prepared(&client, &self.tokens, Asks::Tokens).await?;
            // Each question sets its own; what is left of this one's would end another one's too soon.
            told(&client, "RESET statement_timeout").await?;
            Ok((client, person, tokens))
        }));
        let (client, person, tokens) = within(&allowance, made)?;
        allowance.renew(limits::SQL_ANSWER_BYTES_MAX);
        Ok(Connection { client, person, tokens, until, allowance, runtime })
    }

    fn begin(&self, connection: &mut Connection, until: Instant) -> Result<(), Failure> {
        connection.until = until;
        connection.allowance.renew(limits::SQL_ANSWER_BYTES_MAX);
        Ok(())
    }
}

/// Waits for no longer than there is time. Who asks on a connection that was late is never answered on it, for it is thrown away.
pub(super) async fn in_time<T>(
    until: Instant,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    tokio::time::timeout_at(until.into(), work).await.unwrap_or(Err(Failure::Late))
}

/// Where too much came, that is the reason, whatever the driver makes of the connection that ended.
pub(super) fn within<T>(allowance: &Allowance, outcome: Result<T, Failure>) -> Result<T, Failure> {
    if allowance.is_spent() { Err(Failure::TooMuch) } else { outcome }
}

impl Server {
    pub(super) fn new(
        config: Config,
        place: Place,
        ca_file: Option<PathBuf>,
        (person, tokens): (Option<String>, String),
    ) -> Server {
        Server { config, place, ca_file, person, tokens, resolving: Arc::default() }
    }

    async fn login(&self, until: Instant, allowance: &Allowance) -> Result<Client, Failure> {
        let broken = |error: std::io::Error| Failure::Broken(error.to_string());
        match &self.place {
            Place::Folder(path) => {
                let stream = UnixStream::connect(path).await.map_err(broken)?;
                self.login_on(stream, NoTls, allowance).await
            }
            Place::Host(host, port) => {
                let found = addresses((host, *port), &self.resolving, until)?;
                let socket = dial(&found, until)?;
                let is_here = socket.peer_addr().map_err(broken)?.ip().is_loopback();
                socket.set_nodelay(true).and_then(|()| socket.set_nonblocking(true)).map_err(broken)?;
                let stream = TcpStream::from_std(socket).map_err(broken)?;
                if self.config.get_ssl_mode() == SslMode::Disable {
                    if !is_here {
                        let told = format!("`{host}` is not this machine, and nothing is said without TLS");
                        return Err(Failure::Untrusted(told));
                    }
                    return self.login_on(stream, NoTls, allowance).await;
                }
                let mut trusting = self.trusting()?;
                let tls = MakeTlsConnect::<Bounded<TcpStream>>::make_tls_connect(&mut trusting, host)
                    .map_err(|_| Failure::Untrusted(format!("no certificate can be of `{host}`")))?;
                self.login_on(stream, tls, allowance).await
            }
        }
    }

    async fn login_on<S, T>(&self, stream: S, tls: T, allowance: &Allowance) -> Result<Client, Failure>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        T: TlsConnect<Bounded<S>, Stream: Send + 'static>,
    {
        let stream = Bounded { stream, allowance: allowance.clone() };
        let (client, line) = self.config.connect_raw(stream, tls).await.map_err(|error| refused(&error))?;
        tokio::spawn(line);
        Ok(client)
    }

    /// Whom connections trust. A file is read anew for each connection, so that another one counts at once.
    fn trusting(&self) -> Result<MakeRustlsConnect, Failure> {
        static OF_THE_SYSTEM: OnceLock<MakeRustlsConnect> = OnceLock::new();
        let untrusted = |refused: ingather_postgres::Refused| Failure::Untrusted(refused.0);
        let Some(file) = &self.ca_file else {
            if let Some(known) = OF_THE_SYSTEM.get() {
                return Ok(known.clone());
            }
            let none = |_| {
                Failure::Untrusted("this system trusts no roots of certificates; set `ca_file`".to_owned())
            };
            let read = ingather_postgres::verified(None).map_err(none)?;
            return Ok(OF_THE_SYSTEM.get_or_init(|| read).clone());
        };
        if std::fs::metadata(file).is_ok_and(|facts| facts.len() > limits::LDAP_CERTIFICATES_BYTES_MAX) {
            return Err(Failure::Untrusted(format!("`ca_file` {} is too large", file.display())));
        }
        ingather_postgres::verified(Some(file)).map_err(untrusted)
    }
}

fn refused(error: &tokio_postgres::Error) -> Failure {
    match Failure::of(error, "the login") {
        // What the driver says where a password is asked for and there is none.
        Failure::Wrong(told) if told.contains("password missing") => {
            Failure::Wrong("the database wants a password; set `password`".to_owned())
        }
        other => other,
    }
}

/// What holds for all questions. Names without a schema mean what the system brings and nothing else: a table that somebody else may make in
/// front of the one that is meant never counts. Rows that are hidden from the role are a fault, for they may be tokens that deny. Each question
/// says it again (`SET LOCAL`), for whatever stands between may give it another session.
pub(super) fn settled(set: &str, until: Instant) -> Result<String, Failure> {
    let millis = left(until).map(|left| left.as_millis().max(1)).map_err(|_| Failure::Late)?;
    Ok(format!("{set} search_path = ''; {set} row_security = off; {set} statement_timeout = {millis}"))
}

async fn told(client: &Client, words: &str) -> Result<(), Failure> {
    client.batch_execute(words).await.map_err(|error| Failure::of(&error, "the login"))
}

/// What a query is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asks {
    Person,
    Tokens,
}

impl Asks {
    fn named(self) -> &'static str {
        match self {
            Asks::Person => "`person`",
            Asks::Tokens => "`tokens`",
        }
    }

    /// What is wrong with columns of these kinds.
    fn misfit(self, columns: &[&Type]) -> Option<String> {
        let is_text = |kind: &Type| *kind == Type::TEXT || *kind == Type::VARCHAR;
        let fits = match (self, columns) {
            (_, [first]) => is_text(first),
            (Asks::Person, [first, second]) => is_text(first) && **second == Type::BOOL,
            _ => false,
        };
        let wanted = match self {
            Asks::Person => "one column, a text, or two, a text and a boolean",
            Asks::Tokens => "one column, a text",
        };
        let kinds: Vec<&str> = columns.iter().map(|kind| kind.name()).collect();
        let has = if kinds.is_empty() { "none".to_owned() } else { kinds.join(", ") };
        (!fits).then(|| format!("{} must give {wanted} (as in `name::text`); it gives {has}", self.named()))
    }
}

/// A query, as it can be asked about a name.
async fn prepared(client: &Client, query: &str, asks: Asks) -> Result<Statement, Failure> {
    let failed = |error: tokio_postgres::Error| Failure::of(&error, asks.named());
    // Left to itself, the server says how many parameters there are, and may not find out what they are.
    match client.prepare(query).await {
        Ok(found) if found.params().len() == 1 => {}
        Ok(found) => {
            let told = format!(
                "{} must have one parameter, $1, for the name; it has {}",
                asks.named(),
                found.params().len()
            );
            return Err(Failure::Wrong(told));
        }
        Err(error) if error.code() == Some(&SqlState::INDETERMINATE_DATATYPE) => {}
        Err(error) => return Err(failed(error)),
    }
    let statement = client.prepare_typed(query, &[Type::TEXT]).await.map_err(failed)?;
    let columns: Vec<&Type> = statement.columns().iter().map(|column| column.type_()).collect();
    // With two parameters of which one is not known, the first preparation says nothing.
    match (statement.params(), asks.misfit(&columns)) {
        ([_], None) => Ok(statement),
        ([_], Some(told)) => Err(Failure::Wrong(told)),
        _ => Err(Failure::Wrong(format!("{} must have one parameter, $1, for the name", asks.named()))),
    }
}
