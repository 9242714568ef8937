//! table: what the commands of the service take.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use ingather_model::limits;

use super::properties::Properties;
use super::values;

/// Answer over HTTP, and run jobs that clients start.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    ingather serve\n  \
    ingather serve --listen 127.0.0.1:9000\n  \
    ingather serve --socket /run/ingather/ingather.sock    for all users of this machine\n  \
    ingather serve --listen 0.0.0.0:8420 --tls-cert cert.pem --tls-key key.pem\n\n\
    Whoever asks over the network needs an API key (`ingather api-key create`); users of this machine\n\
    that reach the socket are known to the kernel: the owner of the data directory may do everything,\n\
    everybody else searches as themselves. As long as it runs, no `sync` writes to this data directory.\n\n\
    Exit codes: 2 wrong use · 3 could not work, or lost the right to write ·\n\
    130 stopped by Ctrl-C, 143 by SIGTERM, 129 by SIGHUP")]
pub(crate) struct Serve {
    /// Address and port; port 0 takes a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8420")]
    pub(crate) listen: SocketAddr,
    /// The certificate to speak TLS with, and those that stand behind it (PEM); read anew when it changes
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Its key (PEM), which nobody else on this machine may read
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Listen without TLS on an address that other machines reach: whoever sees the traffic has the keys. Only behind
    /// something that encrypts, such as a reverse proxy
    #[arg(long)]
    pub(crate) insecure_listen: bool,
    /// Where the socket is made; who reaches its folder can search as themselves [default: in the data directory, for its owner]
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
    /// A folder below which API keys of administrators may name sources and journals; may be given several times. The owner of the data
    /// directory, over the socket, may name any
    #[arg(long = "root", value_name = "DIR")]
    pub(crate) roots: Vec<PathBuf>,
    /// Address or network of a reverse proxy that logs people in, and names them in a header of each request; may be given several times. They
    /// search as the account of that name, and may do nothing else; see docs/manual/proxy.md
    #[arg(long = "proxy", value_name = "CIDR", requires = "proxy_secret")]
    pub(crate) proxies: Vec<String>,
    /// The header in which they name people
    #[arg(long, value_name = "NAME", requires = "proxies", default_value = ingather_server::USER)]
    pub(crate) proxy_header: String,
    /// A file with the secret that they send in the header X-Ingather-Proxy-Secret; nobody else on this machine may be able to read it
    #[arg(long, value_name = "FILE", requires = "proxies")]
    pub(crate) proxy_secret: Option<PathBuf>,
    /// Address and port where plug-ins of Apache ManifoldCF ask what users hold (`/UserACLs`), without credentials: whoever reaches it is told what
    /// anybody may see; see docs/manual/authorities.md
    #[arg(long, value_name = "ADDR")]
    pub(crate) user_acls: Option<SocketAddr>,
    /// Address or network that may ask there; may be given several times [default: this machine]
    #[arg(long = "user-acls-client", value_name = "CIDR", requires = "user_acls")]
    pub(crate) user_acls_clients: Vec<String>,
    /// A file in which each answer about access is put on record: who asked about whom, when, and a digest of the answer. It is made for its
    /// owner alone; what cannot be put on record is not answered; see docs/manual/security.md
    #[arg(long, value_name = "FILE")]
    pub(crate) answers_log: Option<PathBuf>,
    /// Answer /metrics to everybody on this machine, without a key; a reverse proxy on it must not pass that path on
    #[arg(long)]
    pub(crate) metrics_open: bool,
    /// Folders that each continuous job watches at most; one with more is listed every 5 minutes instead. The kernel has a bound for
    /// all programs of a user, too (fs.inotify.max_user_watches)
    #[arg(long, value_name = "N", default_value_t = limits::WATCH_FOLDERS_MAX)]
    pub(crate) watched_folders_max: usize,
    /// Days that the history of jobs is kept that do not say it themselves
    #[arg(long, value_name = "N", default_value_t = limits::HISTORY_DAYS, allow_hyphen_values = true, value_parser = values::from_one::<3_650>)]
    pub(crate) history_days: u32,
    /// A file (YAML, or JSON) that declares who is told of ends of runs, and how: by mail, webhook or command; see docs/manual/notifiers.md.
    /// Only its owner may be able to write to it
    #[arg(long, value_name = "FILE")]
    pub(crate) notifiers: Option<PathBuf>,
    /// Searches of each caller in each second, where a key is a caller; four times as many at once after a rest
    #[arg(long, value_name = "N", default_value_t = limits::SEARCHES_PER_SECOND, value_parser = values::from_one::<100_000>)]
    pub(crate) searches_per_second: u32,
    /// Lines of the log: text for people, or an object of JSON each for programs
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) log_format: LogFormat,
    #[command(flatten)]
    pub(crate) properties: Properties,
}

/// What lines of a log are.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogFormat {
    /// Text.
    Text,
    /// An object of JSON each.
    Json,
}

/// Look at events that documents wait for, and free one.
#[derive(Subcommand, Debug)]
pub(crate) enum Event {
    /// List events that are pending: who holds them, and what waits
    #[command(
        after_help = "Example:\n  ingather event list --server unix:DATA/ingather.sock\n\nExit codes: 0 answered · 2 wrong use · 3 could not work"
    )]
    List,
    /// Free an event that its owner has forgotten
    #[command(after_help = "Example:\n  \
        ingather event free connection:web:login:example.org --server unix:DATA/ingather.sock\n\n\
        Exit codes: 0 done · 2 wrong use, such as an event that is not pending · 3 could not work")]
    Free {
        /// Its name, as `event list` shows it
        #[arg(value_name = "NAME")]
        name: String,
    },
}

/// Look at authorities.
#[derive(Subcommand, Debug)]
pub(crate) enum Authority {
    /// List authorities: their groups and domains, and whether each can be asked
    #[command(
        after_help = "Example:\n  ingather authority list\n\nExit codes: 0 all can be asked · 1 some cannot · 2 wrong use · 3 could not work"
    )]
    List,
    /// Forget what authorities answered, so that a right that was taken is gone at once
    #[command(after_help = "Examples:\n  \
        ingather authority forget ann --server unix:DATA/ingather.sock\n  \
        ingather authority forget --server unix:DATA/ingather.sock     about everybody\n\n\
        Only a service keeps answers; see `kept_ms` in docs/manual/authorities.md.\n\n\
        Exit codes: 0 done · 2 wrong use · 3 could not work")]
    Forget {
        /// About this user alone
        #[arg(value_name = "USER")]
        user: Option<String>,
        /// The authorisation domain that the name is one in
        #[arg(long, value_name = "DOMAIN", default_value = "", hide_default_value = true, requires = "user")]
        domain: String,
    },
    /// Remove an authority: nobody holds a token from it any more
    #[command(after_help = "Example:\n  \
        ingather authority delete directory\n\n\
        Exit codes: 0 done · 2 wrong use, such as an authority that is not there · 3 could not work")]
    Delete {
        /// Its name, as `authority list` shows it
        #[arg(value_name = "NAME")]
        name: String,
    },
}

/// Say who may ask the service.
#[derive(Subcommand, Debug)]
pub(crate) enum ApiKey {
    /// Make a key; it is shown this once
    #[command(after_help = "Examples:\n  \
        ingather api-key create ann --role searcher --account ann\n  \
        ingather api-key create backup-job --role operator --days 90\n  \
        ingather api-key create tracker --role pusher --source tickets\n\n\
        Exit codes: 0 done · 2 wrong use, such as a name that is taken · 3 could not work")]
    Create {
        /// Its name, for people
        name: String,
        /// What whoever has it may do; may be given several times
        #[arg(long = "role", value_name = "ROLE", required = true)]
        roles: Vec<RoleWord>,
        /// A source into which alone it may push, by the name of its job, which need not be there yet; may be given several times, and only with the
        /// role pusher alone [default: into all]
        #[arg(long = "source", value_name = "SOURCE")]
        sources: Vec<String>,
        /// The user of this machine whose access tokens count in its searches [default: only what is open to everybody is found]
        #[arg(long, value_name = "USER")]
        account: Option<String>,
        /// The authorisation domain that the name is one in
        #[arg(
            long,
            value_name = "DOMAIN",
            default_value = "",
            hide_default_value = true,
            requires = "account"
        )]
        domain: String,
        /// Days until it expires [default: never]
        #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = values::from_one::<36_500>)]
        days: Option<u32>,
    },
    /// All keys, without their secrets
    #[command(
        after_help = "Example:\n  ingather api-key list\n\nExit codes: 0 answered · 2 wrong use · 3 could not work"
    )]
    List,
    /// Make a link that logs in at the search page as a key: once, and within ten minutes
    #[command(after_help = "Example:\n  \
        ingather api-key login-link ann --server unix:/srv/ingather/ingather.sock\n\n\
        Whoever opens it is let in; give it to one person. Only a service makes links, so that --server\n\
        is needed.\n\n\
        Exit codes: 0 done · 2 no such key, or no service was named · 3 could not work")]
    LoginLink {
        /// Name of the key
        name: String,
    },
    /// Take a key back
    #[command(
        after_help = "Example:\n  ingather api-key delete ann\n\nExit codes: 0 done · 2 no such key · 3 could not work"
    )]
    Delete {
        /// Its name
        name: String,
    },
}

/// Roles, as they are typed.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RoleWord {
    /// Everything.
    Admin,
    /// Look at jobs and documents, run jobs, decide about what they hold.
    Operator,
    /// Search.
    Searcher,
    /// Ask what users hold and may see.
    TokenReader,
    /// Push people and groups into authorities of the kind `scim`.
    Provisioner,
    /// Push records into sources.
    Pusher,
}
