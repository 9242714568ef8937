//! table: what may be typed, with its help (design 5.1).

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

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
        ingather job list                        what there is, and when it ran"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command takes.
#[derive(Args, Debug, Clone)]
pub(crate) struct Global {
    /// Data directory: store, index, lock [default: $INGATHER_DATA, else the platform's]. For its owner alone
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) data: Option<PathBuf>,
    /// Where the inventory is kept: postgres://user@host/database instead of SQLite in the data directory
    #[arg(long, value_name = "URL", global = true)]
    pub(crate) store: Option<String>,
    /// Threads for listing and reading [default: as many as the machine has, at most 8]
    #[arg(long, value_name = "N", global = true, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) threads: Option<u16>,
    /// Answer in JSON, one object per line
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Say nothing but errors and results
    #[arg(long, short, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Say more; twice: everything
    #[arg(long, short, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
}

/// The commands.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Bring an output up to date with a source, once
    Sync(Sync),
    /// Search the built-in index
    Search(Search),
    /// Look at jobs, confirm what they hold, delete them
    #[command(subcommand, after_help = "Example:\n  ingather job show share")]
    Job(Job),
    /// Look at documents: which there are, and why each stands as it does
    #[command(
        subcommand,
        after_help = "Examples:\n  ingather document list share --state failed\n  ingather document explain share notes/a.txt"
    )]
    Document(Document),
    /// Look at the stages between a source and its outputs, and try them
    #[command(
        subcommand,
        after_help = "Examples:\n  ingather pipeline stages\n  ingather pipeline try share notes/a.txt --pipeline new.toml"
    )]
    Pipeline(Pipeline),
    /// Say whether a user finds a document, and what decides
    #[command(after_help = "Examples:\n  \
        ingather why ann notes/a.txt            a document by its name in a job\n  \
        ingather why ann /srv/share/notes/a.txt by its path\n  \
        ingather why ann file:///srv/share/notes/a.txt\n\n\
        Exit codes: 0 answered, whatever the answer · 2 no job has such a source · 3 could not work")]
    Why {
        /// A local user: name or number
        user: String,
        /// Name of the document in a job, its path, or its URI
        document: String,
    },
    /// List the access tokens that a user holds
    #[command(after_help = "Example:\n  ingather tokens ann")]
    Tokens {
        /// A local user: name or number
        user: String,
    },
    /// Check the books and the surroundings, and say what to do
    #[command(after_help = "Examples:\n  \
        ingather doctor            look, and change nothing; also while a sync works\n  \
        ingather doctor -v         say also what is good\n  \
        ingather doctor --repair   put right what can be put right\n\n\
        Exit codes: 0 nothing is wrong, or all of it was put right · 1 something was found ·\n\
        2 wrong use · 3 could not work")]
    Doctor {
        /// Put right what can be put right without a loss; the next run sends what has to be sent
        #[arg(long)]
        repair: bool,
    },
    /// Compare what outputs really hold with the books
    #[command(after_help = "Examples:\n  \
        ingather verify                  every output that can list what it holds\n  \
        ingather verify index --limit 100\n  \
        ingather verify --repair         send what is missing or stale, take out what is ours and in no job;\n                                   \
        what is not ours is named and left\n\n\
        Exit codes: 0 outputs and books agree, or were made to · 1 something differs ·\n\
        2 wrong use, such as an output that cannot list · 3 could not work")]
    Verify {
        /// Name of the output [default: all]
        output: Option<String>,
        /// Make the output hold what the books say
        #[arg(long)]
        repair: bool,
        /// Differences that are named for each output; with --json all of them are
        #[arg(long, value_name = "N", default_value_t = 20)]
        limit: u32,
    },
    /// Write the data directory's state to one file, consistent, also while a sync works
    #[command(after_help = "Example:\n  ingather backup /backups/ingather-monday.tar\n\n\
        In it: the store, the search index, the settings as `ingather export` writes them. Not in it: sources, journals,\n\
        and an inventory in PostgreSQL (--store), which pg_dump saves.\n\n\
        Exit codes: 0 done · 2 the file exists · 3 could not work")]
    Backup {
        /// The file to make
        file: PathBuf,
    },
    /// Make a data directory from a backup
    #[command(
        after_help = "Example:\n  ingather restore /backups/ingather-monday.tar --data /srv/ingather\n\n\
        The data directory must not exist, or be empty. A file that is damaged or incomplete is refused, and nothing is made.\n\
        The next sync brings everything up to date, without reading again what did not change.\n\n\
        Exit codes: 0 done · 2 the data directory is in use · 3 could not work"
    )]
    Restore {
        /// What `ingather backup` wrote
        file: PathBuf,
    },
    /// Write what `sync` has created as a declaration that can be kept
    #[command(after_help = "Example:\n  ingather export > ingather.json")]
    Export,
    /// Try the program on this machine
    #[command(subcommand, after_help = "Example:\n  ingather selftest kill")]
    Selftest(Selftest),
    /// Show what is read out of files: text, fields and parts
    Extract(Extract),
    /// The process that reads files for the others
    #[command(hide = true)]
    ExtractWorker,
    /// The process that reads the words in pictures
    #[command(hide = true)]
    PictureWorker { program: std::ffi::OsString, languages: std::ffi::OsString },
    /// Write completions for a shell to standard output
    #[command(
        after_help = "Example:\n  ingather completions bash > ~/.local/share/bash-completion/completions/ingather"
    )]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// Show what is read out of files.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    ingather extract report.pdf\n  \
    ingather extract --json mails/*.eml        one object for each file, parts inside\n\n\
    Exit codes: 0 done · 1 files could not be read · 2 wrong use · 3 could not work")]
pub(crate) struct Extract {
    /// Files
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

/// Bring an output up to date with a source, once.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    ingather sync /srv/share\n  \
    ingather sync ~/notes --include '*.md' --exclude drafts\n  \
    ingather sync /srv/share --dry-run         what would change, exactly, without a write\n  \
    ingather sync /srv/share --to journal:changes.jsonl --name share-journal\n\n\
    Exit codes: 0 done · 1 documents failed or wait, scopes could not be read, or removals are held ·\n\
    2 wrong use · 3 could not work · 130 stopped by Ctrl-C")]
pub(crate) struct Sync {
    /// A folder or one file
    pub(crate) source: PathBuf,
    /// Output: index, null, journal:FILE
    #[arg(long, value_name = "OUTPUT")]
    pub(crate) to: Vec<String>,
    /// Stages between the source and the outputs: a file .toml or .json, see docs/manual/pipeline.md [default: text]
    #[arg(long, value_name = "FILE")]
    pub(crate) pipeline: Option<PathBuf>,
    /// Name of the job [default: made from the source]
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Take only what matches; `*.md` matches at any depth, `notes/**` below the root
    #[arg(long, value_name = "GLOB")]
    pub(crate) include: Vec<String>,
    /// Leave out what matches, folders with all that is in them
    #[arg(long, value_name = "GLOB")]
    pub(crate) exclude: Vec<String>,
    /// Leave out what .gitignore and .ignore files name
    #[arg(long)]
    pub(crate) ignore_files: bool,
    /// Leave out files and folders whose name begins with a dot
    #[arg(long)]
    pub(crate) skip_hidden: bool,
    /// Leave out files above this size, bytes
    #[arg(long, value_name = "BYTES")]
    pub(crate) size_max: Option<u64>,
    /// A file that was only touched is not sent again: compare by content
    #[arg(long)]
    pub(crate) compare_content: bool,
    /// Keep what is read out of each document, so that an output that is filled anew does not need the source
    #[arg(long, value_name = "extracted|nothing")]
    pub(crate) keep: Option<KeepWord>,
    /// Change the stored job to these flags, and remove what they leave out
    #[arg(long)]
    pub(crate) update: bool,
    /// Carry out removals of this run without asking
    #[arg(long, value_name = "off")]
    pub(crate) delete_guard: Option<GuardWord>,
    /// A folder on another device than before was replaced, not unmounted: remove what it does not hold
    #[arg(long)]
    pub(crate) accept_devices: bool,
    /// Only what is new or changed; nothing is removed
    #[arg(long)]
    pub(crate) minimal: bool,
    /// Count what would happen, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// What a job keeps beside the books.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeepWord {
    /// What is read out of each document.
    Extracted,
    /// Nothing; what was kept is forgotten.
    Nothing,
}

/// The one word that the guard takes.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GuardWord {
    /// Removals are not held in this run.
    Off,
}

/// Search the built-in index.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    ingather search '\"annual report\" type:text/* modified:>2024-01-01'\n  \
    ingather search '*' --sort modified --limit 5\n  \
    ingather search budget --as ann\n\n\
    Without --as: as the local user who calls. See docs/manual/search.md for the query language.")]
pub(crate) struct Search {
    /// What to find; `*` finds everything
    pub(crate) query: String,
    /// As this local user: name or number
    #[arg(long = "as", value_name = "USER", conflicts_with = "all")]
    pub(crate) user: Option<String>,
    /// Unfiltered, for the owner of the data directory
    #[arg(long)]
    pub(crate) all: bool,
    /// Hits at most
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(0..=10_000))]
    pub(crate) limit: u32,
    /// Hits to leave out at the beginning
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    pub(crate) offset: u32,
    /// Order: score, modified, created, size; `+` before the last three for the smallest first [default: score]
    #[arg(long, value_name = "FIELD")]
    pub(crate) sort: Option<String>,
    /// Also count hits by media type and by job
    #[arg(long)]
    pub(crate) facets: bool,
}

/// Look at jobs.
#[derive(Subcommand, Debug)]
pub(crate) enum Job {
    /// All jobs with their last run
    #[command(after_help = "Example:\n  ingather job list")]
    List,
    /// One job in full
    #[command(after_help = "Example:\n  ingather job show share")]
    Show {
        /// Name of the job
        job: String,
    },
    /// Its runs, newest first
    #[command(after_help = "Example:\n  ingather job runs share --limit 5")]
    Runs {
        /// Name of the job
        job: String,
        /// Runs at most
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1_000))]
        limit: u32,
    },
    /// Removals that its last run holds
    #[command(after_help = "Example:\n  ingather job held share")]
    Held {
        /// Name of the job
        job: String,
        /// Names at most
        #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
        limit: u32,
    },
    /// Carry out the removals that a run holds
    #[command(after_help = "Example:\n  ingather job held share\n  ingather job confirm share --run 12")]
    Confirm {
        /// Name of the job
        job: String,
        /// Number of the run, as `job held` shows it
        #[arg(long, value_name = "N")]
        run: i64,
    },
    /// Delete a job, and everything that outputs hold because of it
    #[command(after_help = "Example:\n  ingather job delete share")]
    Delete {
        /// Name of the job
        job: String,
    },
}

/// Look at documents.
#[derive(Subcommand, Debug)]
pub(crate) enum Document {
    /// The documents of a job
    #[command(after_help = "Example:\n  ingather document list share --state failed")]
    List {
        /// Name of the job
        job: String,
        /// Only those in this state
        #[arg(long)]
        state: Option<DocumentState>,
        /// Documents at most
        #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
        limit: u32,
    },
    /// Why a document stands as it does, whether it is known or not
    #[command(after_help = "Examples:\n  \
        ingather document explain share notes/a.txt\n  \
        ingather document explain share /srv/share/notes/a.txt\n  \
        ingather document explain share 'a.zip!/b.txt'\n\n\
        Exit codes: 0 answered, whatever the answer · 2 no such job · 3 could not work")]
    Explain {
        /// Name of the job
        job: String,
        /// Name of the document below the root, its path, or its URI
        document: String,
    },
}

/// Look at stages and try them.
#[derive(Subcommand, Debug)]
pub(crate) enum Pipeline {
    /// What each stage makes of one document; nothing is written
    #[command(after_help = "Examples:\n  \
        ingather pipeline try share notes/a.txt                       the stages that the job has\n  \
        ingather pipeline try share notes/a.txt --pipeline new.toml   those of a file\n  \
        ingather pipeline try share 'a.zip!/b.txt'                    what they make of something in a document\n\n\
        Exit codes: 0 tried, whatever came of it · 1 a stage failed · 2 no such job or document, or a file that cannot\n\
        be used · 3 could not work")]
    Try {
        /// Name of the job
        job: String,
        /// Name of the document below the root, its path, or its URI
        document: String,
        /// Stages to try instead of those of the job: a file .toml or .json
        #[arg(long, value_name = "FILE")]
        pipeline: Option<PathBuf>,
    },
    /// What stages there are, or the settings of one
    #[command(after_help = "Examples:\n  ingather pipeline stages\n  ingather pipeline stages allow")]
    Stages {
        /// Name of the stage
        stage: Option<String>,
    },
}

/// States that a list can be narrowed to.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DocumentState {
    /// Waits for a visit.
    Waiting,
    /// Delivered, or nothing to deliver.
    Settled,
    /// Could not be read, understood or delivered.
    Failed,
    /// Left out by a rule.
    Skipped,
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
    In a folder of its own, files and folders are written, renamed, closed and removed; a sync of them is killed, at \
    any instant or when it was just seen to write to the store, the index or the journal; the next sync runs to its \
    end. Then index and journal must hold exactly the tree, every user must find exactly what the files let them \
    read, and nothing may have been sent again without need. Exit code 1 and a kept folder when something differs.")]
pub(crate) struct SelftestKill {
    /// Kills to survive
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) rounds: u64,
    /// Decides changes and moments [default: another one each time]
    #[arg(long, value_name = "S")]
    pub(crate) seed: Option<u64>,
    /// Keep the inventory in a PostgreSQL that the test starts itself, and kill that, too
    #[arg(long)]
    pub(crate) postgres: bool,
    /// Where the test makes its folder [default: the system's folder for temporary files]
    #[arg(long, value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
}
