//! table: what the commands about what was done take.

use clap::{Args, Subcommand};

use super::values;

/// How runs ended, and what became of single documents.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    ingather history                                   runs of all jobs\n  \
    ingather history share --since 7d --outcome failed\n  \
    ingather history share --documents --outcome failed --matching 'notes/**'\n\n\
    Of documents there are those that failed or were left out, and all that a run visited\n\
    or removed of jobs that are defined with `--history documents`. It says from when on it\n\
    knows. Times are `2026-05-01`, `2026-05-01 08:30` (of this machine), RFC 3339, or so long\n\
    ago: `90m`, `24h`, `7d`.\n\n\
    Exit codes: 0 answered · 2 wrong use, such as no such job · 3 could not work")]
pub(crate) struct History {
    /// Name of a job [default: all]
    pub(crate) job: Option<String>,
    /// Single documents in place of runs
    #[arg(long)]
    pub(crate) documents: bool,
    #[command(flatten)]
    pub(crate) time: Time,
    /// Only with this outcome. Runs: done, failed, stopped, interrupted; documents: added, updated, access, unchanged, skipped, failed,
    /// waiting, removed
    #[arg(long, value_name = "WORD")]
    pub(crate) outcome: Option<String>,
    /// Only documents whose names are so: `*` stands for anything but `/`, `**` for anything, `?` for one character
    #[arg(long, value_name = "PATTERN", requires = "documents")]
    pub(crate) matching: Option<String>,
    /// Only documents with this word for what is wrong, such as unreadable
    #[arg(long, value_name = "WORD", requires = "documents")]
    pub(crate) code: Option<String>,
    /// Lines at most
    #[arg(long, value_name = "N", default_value_t = 100, allow_hyphen_values = true, value_parser = values::from_one::<1_000_000>)]
    pub(crate) limit: u32,
}

/// A part of time.
#[derive(Args, Debug)]
pub(crate) struct Time {
    /// Not before this time
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Before this time
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
}

/// Count documents by part of the source.
#[derive(Subcommand, Debug)]
pub(crate) enum Report {
    /// What waits of a job: due now, later, or with the next run, and why
    #[command(after_help = "Example:\n  ingather report queue share\n\n\
        Exit codes: 0 answered · 2 no such job · 3 could not work")]
    Queue(OfInventory),
    /// How the documents of a job stand
    #[command(after_help = "Example:\n  ingather report status share --levels 2\n\n\
        Exit codes: 0 answered · 2 no such job · 3 could not work")]
    Status(OfInventory),
    /// When most documents and most bytes were visited
    #[command(after_help = "Example:\n  ingather report activity share --window 60 --since 24h\n\n\
        Exit codes: 0 answered · 2 wrong use, such as a job that keeps failures alone · 3 could not work")]
    Activity {
        /// Name of a job [default: all]
        job: Option<String>,
        /// Seconds that are compared
        #[arg(long, value_name = "SECONDS", default_value_t = 300, allow_hyphen_values = true, value_parser = values::from_one::<86_400>)]
        window: u32,
        #[command(flatten)]
        part: OfHistory,
    },
    /// How often what became of documents, and why
    #[command(after_help = "Example:\n  ingather report results share --since 7d --levels 2\n\n\
        Of jobs without `--history documents`, those that failed or were left out are counted.\n\n\
        Exit codes: 0 answered · 2 wrong use, such as no such job · 3 could not work")]
    Results {
        /// Name of a job [default: all]
        job: Option<String>,
        /// Only documents whose names are so: `*` stands for anything but `/`, `**` for anything, `?` for one character
        #[arg(long, value_name = "PATTERN")]
        matching: Option<String>,
        #[command(flatten)]
        part: OfHistory,
    },
}

/// What part of an inventory a report is of.
#[derive(Args, Debug)]
pub(crate) struct OfInventory {
    /// Name of the job
    pub(crate) job: String,
    /// Levels of the path by which documents are counted together; 0: all of the job
    #[arg(long, value_name = "N", default_value_t = 1, allow_hyphen_values = true, value_parser = values::up_to::<16>)]
    pub(crate) levels: u32,
}

/// What part of the history a report is of.
#[derive(Args, Debug)]
pub(crate) struct OfHistory {
    #[command(flatten)]
    pub(crate) time: Time,
    /// Levels of the path by which documents are counted together; 0: all of a job
    #[arg(long, value_name = "N", default_value_t = 1, allow_hyphen_values = true, value_parser = values::up_to::<16>)]
    pub(crate) levels: u32,
    /// Lines at most
    #[arg(long, value_name = "N", default_value_t = 100, allow_hyphen_values = true, value_parser = values::from_one::<10_000>)]
    pub(crate) limit: u32,
}
