//! table: what the commands about jobs, documents and stages take.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

use super::{DefineJob, values};

/// Look at jobs.
#[derive(Subcommand, Debug)]
pub(crate) enum Job {
    /// All jobs with their last run
    #[command(
        after_help = "Examples:\n  ingather job list\n  ingather job list --server http://127.0.0.1:8420\n\nExit codes: 0 answered · 2 wrong use · 3 could not work"
    )]
    List,
    /// One job in full
    #[command(
        after_help = "Examples:\n  ingather job show share\n  ingather job show share --server http://127.0.0.1:8420\n\nExit codes: 0 answered · 2 no such job · 3 could not work"
    )]
    Show {
        /// Name of the job
        job: String,
    },
    /// Its runs, newest first
    #[command(
        after_help = "Examples:\n  ingather job runs share --limit 5\n  ingather job runs share --server http://127.0.0.1:8420\n\nExit codes: 0 answered · 2 no such job · 3 could not work"
    )]
    Runs {
        /// Name of the job
        job: String,
        /// Runs at most
        #[arg(long, default_value_t = 20, allow_hyphen_values = true, value_parser = values::from_one::<1_000>)]
        limit: u32,
    },
    /// Make a job for a source, or change the one that it has, without a run
    Define(Box<DefineJob>),
    /// Run a job as it is stored, once, to its end
    #[command(after_help = "Examples:\n  ingather job start share\n  ingather job start share --minimal\n  \
        ingather job start share --server http://127.0.0.1:8420\n\n\
        It does what `ingather sync` does for the source of the job. While a service works on the data\n\
        directory, only the service starts jobs: ask it with --server.\n\n\
        Exit codes: 0 done · 1 finished, and somebody is needed · 2 no such job · 3 could not work ·\n\
        130 stopped by Ctrl-C, 143 by SIGTERM, 129 by SIGHUP")]
    Start {
        /// Name of the job
        job: String,
        /// Only what is new or changed; nothing is removed
        #[arg(long)]
        minimal: bool,
    },
    /// Stop what is under way for a job, where a service runs it
    #[command(after_help = "Example:\n  ingather job abort share --server http://127.0.0.1:8420\n\n\
        A command runs its job itself, and Ctrl-C stops it. While a service works on the data directory,\n\
        only the service stops jobs: ask it with --server.\n\n\
        Exit codes: 0 nothing runs here · 2 no such job · 3 another process works on the data directory")]
    Abort {
        /// Name of the job
        job: String,
    },
    /// Stop what is under way for a job, and begin a run at once
    #[command(after_help = "Examples:\n  ingather job restart share\n  \
        ingather job restart share --minimal --server http://127.0.0.1:8420\n\n\
        However many ask while a run is under way, one further run begins.\n\
        Without a service it does what `ingather job start` does.\n\n\
        Exit codes: 0 done, or begun by a service · 1 finished, and somebody is needed ·\n\
        2 no such job, or it is paused · 3 could not work ·\n\
        130 stopped by Ctrl-C, 143 by SIGTERM, 129 by SIGHUP")]
    Restart {
        /// Name of the job
        job: String,
        /// Only what is new or changed; nothing is removed
        #[arg(long)]
        minimal: bool,
    },
    /// Wait until no run of a job is under way
    #[command(after_help = "Examples:\n  ingather job wait share --server http://127.0.0.1:8420\n  \
        ingather job wait share --timeout 600\n\n\
        It asks twice a second. Without --server it sees a run once that is on record.\n\n\
        Exit codes: 0 its last run is done · 1 somebody is needed, or it was stopped ·\n\
        2 no such job · 3 it is still under way when the time is over, or could not work")]
    Wait {
        /// Name of the job
        job: String,
        /// Seconds at most
        #[arg(long, value_name = "SECONDS", default_value_t = 86_400, allow_hyphen_values = true, value_parser = values::from_one::<31_536_000>)]
        timeout: u32,
    },
    /// Have the next run read every document again
    #[command(
        after_help = "Examples:\n  ingather job reset-seeding share --dry-run\n  ingather job reset-seeding share\n\n\
        The next run is a full one then, as `ingather sync --reread` is. A run that is\n\
        under way goes on as it was begun. Nothing is sent again that is as it was.\n\n\
        Exit codes: 0 done · 2 no such job, or it is being deleted · 3 could not work"
    )]
    ResetSeeding {
        /// Name of the job
        job: String,
        /// Say what it leads to, and change nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Give a job another root, where its source was renamed or is mounted elsewhere
    #[command(
        after_help = "Examples:\n  ingather job move share /mnt/new --dry-run\n  ingather job move share /mnt/new\n\n\
        What is there is compared with what is known, without reading it. Nothing is read or\n\
        sent again. Until the next run has looked at who may see it there, nobody finds it.\n\
        Outputs know the documents by the addresses that they were told first; hits lead to\n\
        where the files are.\n\n\
        Exit codes: 0 done · 2 no such job, or it does not look like its source ·\n\
        3 a run is under way, or could not work"
    )]
    Move {
        /// Name of the job
        job: String,
        /// Where its source is now
        root: PathBuf,
        /// Compare, and change nothing
        #[arg(long)]
        dry_run: bool,
        /// Also where less than nine of ten are there as they were: the number that are, as a dry run says
        #[arg(long, value_name = "SAME")]
        anyway: Option<u64>,
    },
    /// Have the next run send again what outputs hold of a job
    #[command(
        after_help = "Examples:\n  ingather job resend share --dry-run\n  ingather job resend share --output index\n\n\
        What is kept of a document (`sync --keep extracted`) is sent without reading it\n\
        again, where it has not changed. Nothing is removed for it, and what leaves the\n\
        source meanwhile is removed as ever.\n\n\
        Exit codes: 0 done · 2 no such job or output, or it is being deleted ·\n\
        3 a run is under way, or could not work ·\n\
        130 stopped by Ctrl-C, 143 by SIGTERM, 129 by SIGHUP"
    )]
    Resend {
        /// Name of the job
        job: String,
        /// One of its outputs; all of them when left out
        #[arg(long, value_name = "NAME")]
        output: Option<String>,
        /// Count what is sent again, and change nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Pause a job: its run rests, and no other one begins
    #[command(after_help = "Examples:\n  ingather job pause share\n  \
        ingather job pause share --server http://127.0.0.1:8420\n  ingather job resume share\n\n\
        A pause outlasts the program. While a service works on the data directory, only the service pauses\n\
        jobs: ask it with --server.\n\n\
        Exit codes: 0 paused · 2 no such job · 3 another process works on the data directory")]
    Pause {
        /// Name of the job
        job: String,
    },
    /// End the pause of a job: its run goes on, and others begin again
    #[command(
        after_help = "Examples:\n  ingather job resume share\n  ingather job resume share --server http://127.0.0.1:8420\n\n\
        Exit codes: 0 resumed · 2 no such job, or it is not paused ·\n\
        3 another process works on the data directory"
    )]
    Resume {
        /// Name of the job
        job: String,
    },
    /// Removals that its last run holds
    #[command(
        after_help = "Examples:\n  ingather job held share\n  ingather job held share --server http://127.0.0.1:8420\n\nExit codes: 0 answered · 2 no such job · 3 could not work"
    )]
    Held {
        /// Name of the job
        job: String,
        /// Names at most
        #[arg(long, default_value_t = 100, allow_hyphen_values = true, value_parser = values::from_one::<1_000_000>)]
        limit: u32,
    },
    /// Carry out the removals that a run holds
    #[command(after_help = "Examples:\n  ingather job held share\n  ingather job confirm share --run 12\n  \
        ingather job confirm share --run 12 --server http://127.0.0.1:8420\n\n\
        Exit codes: 0 done · 1 some are there again, or an output did not confirm ·\n\
        2 no such job, or nothing is held · 3 could not work")]
    Confirm {
        /// Name of the job
        job: String,
        /// Number of the run, as `job held` shows it
        #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = values::number)]
        run: i64,
    },
    /// Delete a job, and everything that outputs hold because of it
    #[command(after_help = "Examples:\n  \
        ingather job delete share --dry-run      what would be removed\n  \
        ingather job delete share\n  \
        ingather job delete share --server http://127.0.0.1:8420\n\n\
        On a terminal it asks first. Files of the source are never touched.\n\n\
        Exit codes: 0 done · 1 an output did not confirm ·\n\
        2 no such job, or the answer was no · 3 could not work ·\n\
        130 stopped by Ctrl-C, 143 by SIGTERM, 129 by SIGHUP")]
    Delete {
        /// Name of the job
        job: String,
        /// Count what would be removed, and remove nothing
        #[arg(long)]
        dry_run: bool,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
}

/// Look at documents.
#[derive(Subcommand, Debug)]
pub(crate) enum Document {
    /// The documents of a job
    #[command(after_help = "Examples:\n  \
        ingather document list share --state failed\n  \
        ingather document list share --state skipped    what is left out, and why\n\n\
        Exit codes: 0 answered · 2 no such job · 3 could not work")]
    List {
        /// Name of the job
        job: String,
        /// Only those in this state
        #[arg(long)]
        state: Option<DocumentState>,
        /// Documents at most
        #[arg(long, default_value_t = 1_000, allow_hyphen_values = true, value_parser = values::from_one::<10_000_000>)]
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
        document: OsString,
    },
    /// Erase a document everywhere: from every output, from what is kept, from the history
    #[command(after_help = "Examples:\n  \
        ingather document erase /srv/share/notes/a.txt --dry-run   which jobs and outputs have it\n  \
        ingather document erase /srv/share/notes/a.txt\n  \
        ingather document erase share notes/a.txt                  from one job alone\n\n\
        It is done when every output has confirmed it. A run of a job that has it stops for that, and\n\
        begins anew. No run takes the document in again, whether the source still has it or not:\n\
        `ingather document erased` lists what was erased, `ingather document readmit` takes that back.\n\
        Journals hold earlier lines, and backups what they held; the answer names them.\n\
        Where nobody can be asked, such as in a pipe, it needs --yes.\n\n\
        Exit codes: 0 erased · 1 an output has not let go of it yet: it goes on by itself ·\n\
        2 no such document or job, a name of several files, the job is being deleted,\n\
        or --yes is missing · 3 could not work")]
    Erase {
        /// Name of a job, and name of the document in it; or its path or URI alone, for all jobs that have it
        #[arg(value_name = "[JOB] DOCUMENT", required = true, num_args = 1..=2)]
        names: Vec<OsString>,
        /// From this job alone
        #[arg(long, value_name = "JOB")]
        job: Option<String>,
        /// Say what holds it, and change nothing
        #[arg(long)]
        dry_run: bool,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Documents that were erased
    #[command(
        after_help = "Examples:\n  ingather document erased\n  ingather document erased --job share\n\n\
        Exit codes: 0 answered · 1 some are still held by an output · 2 no such job · 3 could not work"
    )]
    Erased {
        /// Of this job alone
        #[arg(long, value_name = "JOB")]
        job: Option<String>,
        /// Documents at most
        #[arg(long, default_value_t = 1_000, allow_hyphen_values = true, value_parser = values::from_one::<10_000_000>)]
        limit: u32,
    },
    /// Let the next run take in a document again that was erased
    #[command(after_help = "Examples:\n  \
        ingather document readmit /srv/share/notes/a.txt\n  \
        ingather document readmit share notes/a.txt                into one job alone\n\n\
        Exit codes: 0 done · 2 no such job, or it was not erased · 3 a run is under way, or could not work")]
    Readmit {
        /// Name of a job, and name of the document in it; or its path or URI alone, for all jobs
        #[arg(value_name = "[JOB] DOCUMENT", required = true, num_args = 1..=2)]
        names: Vec<OsString>,
    },
}

/// Look at stages and try them.
#[derive(Subcommand, Debug)]
pub(crate) enum Pipeline {
    /// What each stage makes of one document; nothing is written
    #[command(after_help = "Examples:\n  \
        ingather pipeline try share notes/a.txt      the stages that the job has\n  \
        ingather pipeline try share a.txt --pipeline new.toml\n                                               those of a file\n  \
        ingather pipeline try share 'a.zip!/b.txt'   what they make of something in a document\n\n\
        Exit codes: 0 tried, whatever came of it · 1 a stage failed · 2 no such job or document, or a\n\
        file that cannot be used · 3 could not work")]
    Try {
        /// Name of the job
        job: String,
        /// Name of the document below the root, its path, or its URI
        document: OsString,
        /// Stages to try instead of those of the job: a file .toml or .json
        #[arg(long, value_name = "FILE")]
        pipeline: Option<PathBuf>,
    },
    /// What stages there are, or the settings of one
    #[command(after_help = "Examples:\n  ingather pipeline stages\n  ingather pipeline stages allow\n\n\
        Exit codes: 0 answered · 2 no such stage")]
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
    /// Up to date, or nothing to deliver.
    #[value(alias = "settled")]
    Done,
    /// Could not be read, understood or delivered.
    Failed,
    /// Left out, each with its reason: by a rule, a stage, or for what it is.
    Skipped,
}
