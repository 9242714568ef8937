//! table: what may be typed, with its help (design 5.1).

mod history;
mod jobs;
mod properties;
mod push;
mod refused;
mod search;
mod service;
mod sync;
pub(crate) mod values;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use ingather_model::limits;

pub(crate) use history::{History, OfHistory, OfInventory, Report, Time};
pub(crate) use jobs::{Document, DocumentState, Job, Pipeline};
pub(crate) use push::{Channel, Push, Source};
pub(crate) use search::{EngineWord, Filter, Search};
pub(crate) use service::{ApiKey, Authority, Event, LogFormat, RoleWord, Serve};
pub(crate) use sync::{ContentByWord, DefineJob, GuardWord, HistoryWord, JobSettings, KeepWord, OnOff, Sync};

/// Keeps search indexes in exact, permission-aware sync with the places where content lives.
#[derive(Parser, Debug)]
#[command(
    name = "ingather",
    version,
    max_term_width = 110,
    after_help = "Examples:\n  \
        ingather sync /srv/share                 index a folder; again: bring the index up to date\n  \
        ingather search 'annual report'          find, as the user who asks\n  \
        ingather search --as ann budget          what ann would find\n  \
        ingather job list                        what there is, and when it ran\n\n\
        Each command has a --help of its own, with examples and exit codes.\n\n\
        Exit codes: 0 done · 1 finished, and somebody is needed · 2 wrong use · 3 could not work ·\n\
        130 stopped by Ctrl-C, 143 by SIGTERM, 129 by SIGHUP"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The file that stands for standard input or output.
pub(crate) const STANDARD: &str = "-";

/// The sentence for arguments that cannot be taken, in words of this program.
pub(crate) fn refused(error: &clap::Error) -> String {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    refused::sentence(error, &words)
}

/// What every command takes.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// Data directory: store, index, lock [default: $INGATHER_DATA, else the platform's]. For its owner alone
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) data: Option<PathBuf>,
    /// Where the inventory is kept: postgres://user@host/database instead of SQLite in the data directory
    #[arg(long, value_name = "URL", global = true)]
    pub(crate) store: Option<String>,
    /// The key of the secrets in definitions; made when the first is stored [default: $INGATHER_SECRETS_KEY, else secrets.key in the data
    /// directory]
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) secrets_key: Option<PathBuf>,
    /// Threads of a sync, for listing and reading [default: as many as the machine has, at most 8]
    #[arg(long, value_name = "N", global = true, allow_hyphen_values = true, value_parser = values::from_one::<{ limits::THREADS_MAX }>)]
    pub(crate) threads: Option<u32>,
    /// Read no file where the kernel does not confine what reads it (Landlock, seccomp)
    #[arg(long, global = true, env = "INGATHER_REQUIRE_SANDBOX", hide_env = true)]
    #[arg(value_parser = clap::builder::FalseyValueParser::new())]
    pub(crate) require_sandbox: bool,
    /// Write to journals that others than their owner can read
    #[arg(long, global = true, env = "INGATHER_SHARED_JOURNAL", hide_env = true)]
    #[arg(value_parser = clap::builder::FalseyValueParser::new())]
    pub(crate) shared_journal: bool,
    /// Ask the service there, unix:PATH, http://127.0.0.1:PORT or https://HOST:PORT, instead of a data directory; the API key stands in
    /// INGATHER_API_KEY
    #[arg(long, value_name = "URL", global = true, conflicts_with_all = ["data", "store", "secrets_key"])]
    pub(crate) server: Option<String>,
    /// Trust whom the certificates in this file (PEM) stand behind, for https: [default: those of the system]
    #[arg(long, value_name = "FILE", global = true, requires = "server")]
    pub(crate) server_ca: Option<PathBuf>,

    /// Answer in JSON, one object per line
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Say nothing but errors; commands that only look still answer
    #[arg(long, short, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Say more; twice: everything
    #[arg(long, short, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
}

/// What can be done about secrets.
#[derive(Subcommand, Debug)]
pub(crate) enum Secrets {
    /// Seal all secrets with a new key, which takes the place of the old one
    #[command(after_help = "Example:\n  ingather secrets rotate\n\n\
        Keep a copy of the new file, apart from backups; those of before still need the old one.\n\
        Where several machines share a PostgreSQL database, each needs a copy of the new file.\n\n\
        Exit codes: 0 done, or nothing is sealed · 2 wrong use · 3 could not work, the old key stays")]
    Rotate,
}

/// The commands.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Bring an output up to date with a source, once
    Sync(Sync),
    /// Search the built-in index
    Search(Search),
    /// Look at jobs, run them, confirm what they hold, delete them
    #[command(
        subcommand,
        after_help = "Example:\n  ingather job show share\n\nExit codes: those of each command, see its --help"
    )]
    Job(Job),
    /// Look at documents: which there are, and why each stands as it does
    #[command(
        subcommand,
        after_help = "Examples:\n  ingather document list share --state failed\n  ingather document explain share notes/a.txt\n\n\
            Exit codes: those of each command, see its --help"
    )]
    Document(Document),
    /// Look at the stages between a source and its outputs, and try them
    #[command(
        subcommand,
        after_help = "Examples:\n  ingather pipeline stages\n  ingather pipeline try share notes/a.txt --pipeline new.toml\n\n\
            Exit codes: those of each command, see its --help"
    )]
    Pipeline(Pipeline),
    /// Say whether a user finds a document, and what decides
    #[command(after_help = "Examples:\n  \
        ingather why ann notes/a.txt            a document by its name in a job\n  \
        ingather why ann /srv/share/notes/a.txt by its path\n  \
        ingather why ann file:///srv/share/notes/a.txt\n\n\
        Exit codes: 0 answered, whatever the answer · 2 no such user or document · 3 could not work")]
    Why {
        /// Name of a user; of this machine also the number
        user: String,
        /// Name of the document in a job, its path, or its URI
        document: OsString,
        /// The authorisation domain that the name is one in
        #[arg(long, value_name = "DOMAIN", default_value = "", hide_default_value = true)]
        domain: String,
    },
    /// List the access tokens that a user holds
    #[command(
        after_help = "Examples:\n  ingather tokens ann\n  ingather tokens ann --domain acme --json | jq .authorities\n\n\
            Tokens of an authority group that has a name are shown behind it.\n\n\
            Exit codes: 0 answered · 2 no such user · 3 could not work"
    )]
    Tokens {
        /// Name of a user; of this machine also the number
        user: String,
        /// The authorisation domain that the name is one in
        #[arg(long, value_name = "DOMAIN", default_value = "", hide_default_value = true)]
        domain: String,
    },
    /// Print what a user may see as a filter for the queries of a search engine
    #[command(
        after_help = "Examples:\n  ingather filter ann --engine opensearch --output opensearch:docs\n  \
            ingather filter ann --engine opensearch --json | jq .acls\n\n\
            It belongs under `filter` of a `bool` query, or of a JSON request of Solr, and says what holds\n\
            now: ask for it before each query.\n\n\
            Exit codes: 0 answered · 2 no such user or output · 3 could not work"
    )]
    Filter(Filter),
    /// Look at authorities, which say what access tokens somebody holds; `apply` makes them
    #[command(
        subcommand,
        after_help = "Example:\n  ingather authority list\n\nExit codes: those of each command, see its --help"
    )]
    Authority(Authority),
    /// Say for each job whether all is well, and the next command where somebody is needed
    #[command(after_help = "Examples:\n  \
        ingather status\n  \
        ingather status --json | jq -r 'select(.well | not) | .needs[].says'\n\n\
        It looks at what is stored, quickly, also while a sync or a service works;\n\
        `ingather doctor` looks at sources, outputs and the machine as well.\n\n\
        Exit codes: 0 all is well · 1 somebody is needed · 2 wrong use · 3 could not work")]
    Status,
    /// Check the inventory, the outputs, the jobs and the surroundings, and say what to do
    #[command(after_help = "Examples:\n  \
        ingather doctor            look, and change nothing; also while a sync works\n  \
        ingather doctor -v         say also what is good\n  \
        ingather doctor --repair   repair what can be repaired without a loss\n\n\
        Exit codes: 0 no problem was found, or all were repaired · 1 somebody is needed ·\n\
        2 wrong use · 3 could not work")]
    Doctor {
        /// Repair what can be repaired without a loss; the next run sends what has to be sent
        #[arg(long)]
        repair: bool,
    },
    /// Check that outputs are whole and hold what the inventory says
    #[command(after_help = "Examples:\n  \
        ingather verify                  every output that can list what it holds\n  \
        ingather verify index --limit 100\n  \
        ingather verify --repair         send again what is missing or stale, remove what is in no\n                                   \
        job, make anew what is damaged; what is not ours stays\n\n\
        Without --repair nothing is written: it works beside a sync, and where nothing can be written.\n\n\
        Exit codes: 0 outputs and inventory agree · 1 something differs or is damaged ·\n\
        2 wrong use, such as an output that cannot be verified · 3 could not work")]
    Verify {
        /// Name of the output [default: all]
        output: Option<String>,
        /// Make the output hold what the inventory says
        #[arg(long)]
        repair: bool,
        /// Differences that are named for each output; with --json all of them are
        #[arg(long, value_name = "N", default_value_t = 20, allow_hyphen_values = true, value_parser = values::up_to::<1_000_000>)]
        limit: u32,
    },
    /// Write the data directory's state to one file, consistent, also while a sync works
    #[command(after_help = "Example:\n  ingather backup /backups/ingather-monday.tar\n\n\
        In it: the store, the search index, the settings as `ingather export` writes them. Not in it:\n\
        sources, journals, the key of secrets, and an inventory in PostgreSQL (--store),\n\
        which pg_dump saves.\n\n\
        Exit codes: 0 done · 2 the file exists · 3 could not work")]
    Backup {
        /// The file to make; - for standard output
        file: PathBuf,
    },
    /// Make a data directory from a backup
    #[command(
        after_help = "Example:\n  ingather restore /backups/ingather-monday.tar --data /srv/ingather\n\n\
        The data directory must not exist, or be empty. A file that is damaged or incomplete is refused,\n\
        and nothing is made. The next sync brings everything up to date and reads only what changed.\n\
        A search index that was damaged already when it was backed up is left out; the next sync makes\n\
        it anew.\n\n\
        Exit codes: 0 done · 1 restored without its search index, which was damaged ·\n\
        2 the data directory is in use · 3 could not work"
    )]
    Restore {
        /// What `ingather backup` wrote; - for standard input
        file: PathBuf,
    },
    /// Look after the key that secrets in definitions are sealed with
    #[command(
        subcommand,
        after_help = "Example:\n  ingather secrets rotate\n\nExit codes: those of each command, see its --help"
    )]
    Secrets(Secrets),
    /// Answer over HTTP, and run jobs that clients start
    Serve(Serve),
    /// Push records into a source: one in each line of a file, as JSON
    Push(Push),
    /// Look at sources that applications push into
    #[command(
        subcommand,
        after_help = "Example:\n  ingather source show tickets\n\nExit codes: those of each command, see its --help"
    )]
    Source(Source),
    /// Look at channels that applications push through, and end them
    #[command(
        subcommand,
        after_help = "Example:\n  ingather channel list\n\nExit codes: those of each command, see its --help"
    )]
    Channel(Channel),
    /// Look at events that documents wait for, and free one
    #[command(
        subcommand,
        after_help = "Example:\n  ingather event list\n\nExit codes: those of each command, see its --help"
    )]
    Event(Event),
    /// Say who may ask the service
    #[command(
        subcommand,
        after_help = "Example:\n  ingather api-key list\n\nExit codes: those of each command, see its --help"
    )]
    ApiKey(ApiKey),
    /// Changes that the service was asked for, the latest first
    #[command(
        after_help = "Example:\n  ingather audit --limit 20\n\nExit codes: 0 answered · 2 wrong use · 3 could not work"
    )]
    Audit {
        /// Changes at most
        #[arg(long, value_name = "N", default_value_t = 100, allow_hyphen_values = true, value_parser = values::from_one::<100_000>)]
        limit: u32,
    },
    /// What notifiers were told of ends of runs, the latest first
    #[command(
        after_help = "Example:\n  ingather notices --limit 20\n\nExit codes: 0 answered · 2 wrong use · 3 could not work"
    )]
    Notices {
        /// Notices at most
        #[arg(long, value_name = "N", default_value_t = 100, allow_hyphen_values = true, value_parser = values::from_one::<100_000>)]
        limit: u32,
    },
    /// How runs ended, and what became of single documents
    History(History),
    /// Count documents by folder: what waits, how they stand, what was done
    #[command(
        subcommand,
        after_help = "Example:\n  ingather report status share --levels 2\n\nExit codes: those of each command, see its --help"
    )]
    Report(Report),
    /// Write what `sync` has created as a declaration that can be kept
    #[command(
        after_help = "Example:\n  ingather export > ingather.json\n\nExit codes: 0 done · 3 could not work"
    )]
    Export,
    /// Make and change jobs as a declaration says, all of them or none
    Apply(Apply),
    /// Look at journals, which `sync --to journal:FILE` writes
    #[command(
        subcommand,
        after_help = "Example:\n  ingather journal snapshot changes.jsonl --output now.jsonl\n\n\
            Exit codes: those of each command, see its --help"
    )]
    Journal(Journal),
    /// Try the program on this machine
    #[command(
        subcommand,
        after_help = "Example:\n  ingather selftest kill\n\nExit codes: those of each command, see its --help"
    )]
    Selftest(Selftest),
    /// Show what is read out of files: text, fields and parts
    Extract(Extract),
    /// Say whether a robots.txt lets a robot read an address, and which of its lines decides
    Robots(Robots),
    /// The process that reads files for the others
    #[command(hide = true)]
    ExtractWorker,
    /// The process that reads the words in pictures
    #[command(hide = true)]
    PictureWorker { program: std::ffi::OsString, languages: std::ffi::OsString },
    /// Write completions for a shell to standard output
    #[command(
        after_help = "Example:\n  ingather completions bash > ~/.local/share/bash-completion/completions/ingather\n\n\
            Exit codes: 0 done · 2 no such shell · 3 could not write"
    )]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

impl Command {
    /// Whether another process of this program started it, which holds it.
    pub(crate) fn is_worker(&self) -> bool {
        matches!(self, Command::ExtractWorker | Command::PictureWorker { .. })
    }

    /// Whether a service can be asked for it: what is no operation, this program does itself.
    pub(crate) fn may_be_asked(&self) -> bool {
        !matches!(
            self,
            Command::Serve(_)
                | Command::Journal(_)
                | Command::Selftest(_)
                | Command::Extract(_)
                | Command::Robots(_)
                | Command::ExtractWorker
                | Command::PictureWorker { .. }
                | Command::Completions { .. }
        )
    }

    /// Properties of ManifoldCF that it was given.
    pub(crate) fn properties(&self) -> &[String] {
        match self {
            Command::Sync(Sync { properties, .. }) | Command::Serve(Serve { properties, .. }) => {
                &properties.given
            }
            _ => &[],
        }
    }

    /// Whether each line of its log is an object of JSON.
    pub(crate) fn logs_objects(&self) -> bool {
        matches!(self, Command::Serve(Serve { log_format: LogFormat::Json, .. }))
    }

    /// Whether it may read documents.
    pub(crate) fn reads_files(&self) -> bool {
        matches!(
            self,
            Command::Sync(_)
                | Command::Serve(_)
                | Command::Job(Job::Start { .. } | Job::Define(_))
                | Command::Apply(_)
                | Command::Push(_)
                | Command::Document(_)
                | Command::Pipeline(_)
                | Command::Verify { .. }
                | Command::Extract(_)
        )
    }
}

/// Make and change jobs as a declaration says.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    ingather apply -f jobs.yaml --dry-run      say what would change, what the next runs would do, and the plan\n  \
    ingather apply -f jobs.yaml --plan 5e88a1f0c3d2b4a69788\n  \
    ingather export | ingather apply -f - --data /srv/other\n\n\
    Jobs that the declaration does not name stay as they are; what it leaves out of a\n\
    job is as in a job that never had it. Nothing runs by it: `job start` does, or the\n\
    schedules of the jobs while a service works.\n\n\
    Exit codes: 0 done · 2 wrong use, or the plan is another one now · 3 could not work")]
pub(crate) struct Apply {
    /// The declaration: YAML, JSON or TOML (.toml); - for standard input
    #[arg(long, short, value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Count what would change and what the next runs would do, and store nothing
    #[arg(long, conflicts_with = "plan")]
    pub(crate) dry_run: bool,
    /// Store it only if it is what a dry run has shown: its plan
    #[arg(long, value_name = "ID")]
    pub(crate) plan: Option<String>,
    /// Do not hold what changed definitions take out of outputs
    #[arg(long, value_name = "off")]
    pub(crate) delete_guard: Option<GuardWord>,
    /// A source is meant to be /, everything on this machine
    #[arg(long)]
    pub(crate) whole_machine: bool,
}

/// Show what is read out of files.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    ingather extract report.pdf\n  \
    ingather extract --json mails/*.eml        one object for each file, parts inside\n\n\
    Exit codes: 0 done · 1 files could not be read · 2 wrong use · 3 could not work")]
pub(crate) struct Extract {
    /// Files; - for standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Leave out hidden sheets and slides
    #[arg(long)]
    pub(crate) skip_hidden_sheets: bool,
    /// Leave out navigation, headers and footers of web pages
    #[arg(long)]
    pub(crate) skip_boilerplate: bool,
    /// Leave out members, attachments and embedded objects
    #[arg(long)]
    pub(crate) skip_parts: bool,
    /// Mark headings, lists, tables and pages as in Markdown
    #[arg(long)]
    pub(crate) markdown: bool,
    /// Passwords for protected files: a text file with one in each line, tried in this order
    #[arg(long, value_name = "FILE")]
    pub(crate) passwords: Option<PathBuf>,
}

/// Say whether a robots.txt lets a robot read an address, by RFC 9309.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    ingather robots robots.txt https://example.org/docs/a.html Ingather\n  \
    curl -s https://example.org/robots.txt | ingather robots - /docs/a.html Ingather\n\n\
    Exit codes: 0 allowed · 1 not allowed · 2 wrong use · 3 could not work")]
pub(crate) struct Robots {
    /// The file; - for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// A whole address, or a path alone
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// Name of the robot
    #[arg(value_name = "AGENT")]
    pub(crate) agent: String,
}

/// Look at journals.
#[derive(Subcommand, Debug)]
pub(crate) enum Journal {
    /// Write the whole state of a journal: each entry once, and who may see it
    #[command(after_help = "Examples:\n  \
        ingather journal snapshot changes.jsonl --output now.jsonl\n  \
        ingather journal snapshot changes.jsonl.1 changes.jsonl | load-into-my-store\n\n\
        The snapshot is a journal itself. Whoever has read it follows the journal behind the seq of its\n\
        last line. It can be made while a sync works.\n\n\
        Exit codes: 0 done · 1 the files do not hold all entries: an older one is missing · 2 wrong use ·\n\
        3 could not work, such as with a file that is no journal")]
    Snapshot {
        /// The journal; where it was rotated, its files from the oldest to the newest
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Make this file, for its owner alone [default: standard output]
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}

/// Try the program on this machine.
#[derive(Subcommand, Debug)]
pub(crate) enum Selftest {
    /// Kill syncs with kill -9 at random moments, and see that nothing is lost or left over
    Kill(SelftestKill),
}

/// Kill syncs with kill -9 at random moments, and see that nothing is lost or left over.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    ingather selftest kill                       twenty kills, with SQLite\n  \
    ingather selftest kill --rounds 1000 --postgres\n  \
    ingather selftest kill --seed 7 --folder /mnt/disk-to-try\n\n\
    In a folder of its own, files and folders are written, renamed, closed and removed; what is in\n\
    archives and mails comes, goes, changes, and cannot be read for a while; a sync of them is killed,\n\
    at any instant or when it was just seen to write to the store, the index or the journal; the next\n\
    sync runs to its end. Then index and journal must hold exactly the tree, every user must find\n\
    exactly what the files let them read, and nothing may have been sent again.\n\n\
    Exit codes: 0 nothing was lost · 1 something differs, and the folder is kept · 2 wrong use ·\n\
    3 could not work · 130 stopped by Ctrl-C, 143 by SIGTERM, 129 by SIGHUP")]
pub(crate) struct SelftestKill {
    /// Kills to survive
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = values::count)]
    pub(crate) rounds: u64,
    /// Decides changes and moments [default: another one each time]
    #[arg(long, value_name = "S", value_parser = values::count)]
    pub(crate) seed: Option<u64>,
    /// Keep the inventory in a PostgreSQL that the test starts itself, and kill that, too
    #[arg(long)]
    pub(crate) postgres: bool,
    /// Where the test makes its folder [default: the system's folder for temporary files]
    #[arg(long, value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
}
