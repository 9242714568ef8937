//! table: what `sync` takes.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use ingather_model::job::dates::DateRules;

use super::properties::Properties;
use super::values;

/// Bring an output up to date with a source, once.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    ingather sync /srv/share\n  \
    ingather sync ~/notes --include '*.md' --exclude drafts\n  \
    ingather sync ~/work --exclude-from ~/leave-out.txt\n  \
    ingather sync /srv/share --dry-run         count what would change, and write nothing\n  \
    ingather sync /srv/share --to journal:changes.jsonl --name share-journal\n  \
    ingather sync /srv/share --update --no-exclude --size-max 20MB\n  \
    ingather sync https://docs.example.org/guide/ --set contact=me@example.org\n  \
    ingather sync --all                        every job once\n\n\
    A flag that is left out changes nothing of a job that is known; a flag that sets\n\
    something is taken back by its --no-…, such as --no-exclude. Changing a job needs --update.\n\n\
    Exit codes: 0 done · 1 documents failed or wait, folders are unreadable, removals are held ·\n\
    2 wrong use · 3 could not work · 130 stopped by Ctrl-C, 143 by SIGTERM, 129 by SIGHUP")]
pub(crate) struct Sync {
    /// A folder or one file, the address of a web site, feed or wiki (https://…, feed+https://…, wiki+https://…/api.php), or the name of a job
    #[arg(required_unless_present = "all")]
    pub(crate) source: Option<PathBuf>,
    /// Run every job as it is stored, one after the other
    #[arg(long, conflicts_with_all = ["source", "dry_run"])]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) job: JobSettings,
    /// A folder on another device than before was replaced, not unmounted: remove what it does not hold
    #[arg(long)]
    pub(crate) accept_devices: bool,
    /// Read every file again, also where nothing tells of a change; what is as it was is not sent
    #[arg(long)]
    pub(crate) reread: bool,
    /// Only what is new or changed; nothing is removed
    #[arg(long)]
    pub(crate) minimal: bool,
    /// Count what would happen, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) properties: Properties,
}

/// Make a job, or change one, without a run.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    ingather job define /srv/share --schedule 'every 15m' --server unix:/srv/ingather/ingather.sock\n  \
    ingather job define /srv/share --update --exclude drafts\n  \
    ingather job define /srv/share --update --schedule none\n\n\
    It takes what `sync` takes of a job, and runs nothing: `job start` does, or the\n\
    schedule of the job while a service works. A job that runs just now is changed when\n\
    it has ended, or was stopped with `job abort`; its schedule at any time.\n\n\
    Exit codes: 0 done · 2 wrong use, or stored with other settings and no --update · 3 could not work")]
pub(crate) struct DefineJob {
    /// A folder or one file, or the address of a web site or feed
    pub(crate) source: PathBuf,
    #[command(flatten)]
    pub(crate) job: JobSettings,
}

/// What a job is.
#[derive(Args, Debug)]
pub(crate) struct JobSettings {
    /// Output: index, null, journal:FILE, or one that was declared, as opensearch:NAME
    #[arg(long, value_name = "OUTPUT")]
    pub(crate) to: Vec<String>,
    /// Stages between the source and the outputs: a file .toml or .json, see docs/manual/pipeline.md [default: text]
    #[arg(long, value_name = "FILE")]
    pub(crate) pipeline: Option<PathBuf>,
    /// Name of the job [default: made from the source]
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Take only what matches; `*.md` matches at any depth, `notes/**` below the root; of sites whole addresses, as `**/*.pdf`
    #[arg(long, value_name = "GLOB")]
    pub(crate) include: Vec<String>,
    /// Leave out what matches, folders with all that is in them
    #[arg(long, value_name = "GLOB")]
    pub(crate) exclude: Vec<String>,
    /// Take only what matches a pattern in FILE, one in each line; as --exclude-from
    #[arg(long, value_name = "FILE")]
    pub(crate) include_from: Vec<PathBuf>,
    /// Leave out what matches a pattern in FILE, one in each line; `-` is standard input. Blank lines and lines that begin with
    /// `#` say nothing. FILE is read by this command, and its patterns are stored with the job: change them with --update
    #[arg(long, value_name = "FILE")]
    pub(crate) exclude_from: Vec<PathBuf>,
    /// Leave out what .gitignore and .ignore files name
    #[arg(long)]
    pub(crate) ignore_files: bool,
    /// Leave out files and folders whose name begins with a dot
    #[arg(long)]
    pub(crate) skip_hidden: bool,
    /// Leave out files above this size, such as 500kB, 20MB or 1GiB
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true, value_parser = values::size)]
    pub(crate) size_max: Option<u64>,
    /// Files on network and FUSE file systems are shown to whom their modes say, though others decide there [default: to root]
    #[arg(long, value_name = "on|off")]
    pub(crate) trust_modes: Option<OnOff>,
    /// Do not enter folders on which another disk is mounted
    #[arg(long)]
    pub(crate) one_file_system: bool,
    /// A file that was only touched is not sent again: compare by content
    #[arg(long)]
    pub(crate) compare_content: bool,
    /// What says that content is as it was when something else about a file changed: the content, read once, or size and time
    #[arg(long, value_name = "read|times")]
    pub(crate) content_by: Option<ContentByWord>,
    /// Keep what is read out of each document: an output that is filled anew then does not need the source
    #[arg(long, value_name = "extracted|nothing")]
    pub(crate) keep: Option<KeepWord>,
    /// A setting of the source by its name in docs/generated/connectors, such as delay_ms=500 or contact=me@example.org; a value in JSON, or a
    /// text; null takes it back. May be given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = values::setting)]
    pub(crate) set: Vec<(String, serde_json::Value)>,
    /// Which of several jobs that run in one program is read first: from 1, the first, to 10; 5 where nobody says
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u8).range(1..=10))]
    pub(crate) priority: Option<u8>,
    /// How far from where it begins a web site is followed: links on the shortest way, such as link=3; redirects are counted by redirect=1. May
    /// be given several times; hops=none goes as far as links lead
    #[arg(long, value_name = "RELATION=NUMBER|none")]
    pub(crate) hops: Vec<String>,
    /// Which single documents the history of the job has: those that failed or were left out [default], or every one that a run visits or
    /// removes, which reports of activity need
    #[arg(long, value_name = "failures|documents")]
    pub(crate) history: Option<HistoryWord>,
    /// Days that the history of the job is kept; 0: as long as the program keeps it [default: 90, or what `ingather serve` was told]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = values::up_to::<3_650>)]
    pub(crate) history_days: Option<u32>,
    /// How a continuous job goes by the dates of its documents, in minutes: reseed=60 (how often seeds are asked), recrawl=1440 and
    /// recrawl-max=10080 (the least and the longest time between two looks at a page, by how often it changes), all three of sites
    /// alone; expire=N (how long after it was written a document stays). What is not named has its default, as here, and nothing
    /// expires; none takes all back. See docs/manual/schedules.md
    #[arg(long, value_name = "WORD=MINUTES,…", value_parser = DateRules::parse)]
    pub(crate) dates: Option<DateRules>,
    /// Who is told of ends of its runs, by a service: a notifier of `ingather serve --notifiers`, and of what, such as ops:failed,held; of
    /// failed, held, interrupted, stopped, finished. May be given several times; none takes it back [default of what: failed,held,interrupted]
    #[arg(long, value_name = "NAME[:WORDS]")]
    pub(crate) notify: Vec<String>,
    /// When `ingather serve` runs the job by itself; nothing else heeds it. A line of cron such as '0 2 * * mon-fri', of the time zone of
    /// this machine unless it begins with TZ=; 'every 15m'; 'continuous'; rules for windows in JSON, see docs/manual/schedules.md; or none
    #[arg(long, value_name = "TEXT")]
    pub(crate) schedule: Option<String>,
    /// Change the stored job to these flags; what they leave out is removed, or held when it is much
    #[arg(long)]
    pub(crate) update: bool,
    /// Carry out removals of this run, or of this change of the job, without holding them
    #[arg(long, value_name = "off")]
    pub(crate) delete_guard: Option<GuardWord>,
    /// The source is meant to be /, everything on this machine
    #[arg(long)]
    pub(crate) whole_machine: bool,
    #[command(flatten)]
    pub(crate) taken_back: TakenBack,
}

/// Flags that take others back.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Taking settings back")]
pub(crate) struct TakenBack {
    /// Take everything again
    #[arg(long, conflicts_with_all = ["include", "include_from"])]
    pub(crate) no_include: bool,
    /// Leave nothing out by name any more
    #[arg(long, conflicts_with_all = ["exclude", "exclude_from"])]
    pub(crate) no_exclude: bool,
    /// Do not heed .gitignore and .ignore files any more
    #[arg(long, conflicts_with = "ignore_files")]
    pub(crate) no_ignore_files: bool,
    /// Take hidden files and folders again
    #[arg(long, conflicts_with = "skip_hidden")]
    pub(crate) no_skip_hidden: bool,
    /// Back to the largest size that is read
    #[arg(long, conflicts_with = "size_max")]
    pub(crate) no_size_max: bool,
    /// Enter mounted disks again
    #[arg(long, conflicts_with = "one_file_system")]
    pub(crate) no_one_file_system: bool,
    /// Send again what was only touched
    #[arg(long, conflicts_with = "compare_content")]
    pub(crate) no_compare_content: bool,
}

/// What a job keeps beside the inventory.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeepWord {
    /// What is read out of each document.
    Extracted,
    /// Nothing; what was kept is forgotten.
    Nothing,
}

/// Which single documents a history has.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HistoryWord {
    /// Those that failed or were left out.
    Failures,
    /// Every document that a run visits or removes.
    Documents,
}

/// What tells of content that changed.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContentByWord {
    /// The content itself: it is read once for each change of a file.
    Read,
    /// Size and time: where only owner, mode, access list or folder changed as well, the content is not read.
    Times,
}

/// The one word that the guard takes.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GuardWord {
    /// Removals are not held in this run.
    Off,
}

/// Yes or no, where neither is the same as nothing said.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnOff {
    On,
    Off,
}
