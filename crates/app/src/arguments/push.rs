//! Flags of `push`, `source` and `channel`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Push records into a source.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    ingather push tickets.jsonl --source tickets --access everybody\n  \
    ingather push --full all.jsonl --source tickets       what is not in the file is deleted\n  \
    ./changes | ingather push - --source tickets --server https://ingather.example:8420\n\n\
    A line is one record, as JSON:\n  \
    {\"key\": \"17\", \"title\": \"Broken lamp\", \"text\": \"It does not light.\", \"access\": [\"unix:g:1000\"]}\n  \
    {\"key\": \"18\", \"delete\": true}\n\
    `docs/manual/push.md` has all that a record may say. A source that is not there is made, unless\n\
    a service is asked with an API key that may only push. Without a service, the records are delivered before the\n\
    command ends.\n\n\
    Exit codes: 0 done · 1 some records were refused or failed, or deletions are held ·\n\
    2 wrong use · 3 could not work")]
pub(crate) struct Push {
    /// Files with a record in each line; - for standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Name of the source
    #[arg(long, value_name = "NAME")]
    pub(crate) source: String,
    /// The files have all records of the source: it loses those that are not in them
    #[arg(long)]
    pub(crate) full: bool,
    /// Delete what is not in the files even where that is most of the source
    #[arg(long, requires = "full")]
    pub(crate) confirm: bool,
    /// Where a new source delivers [default: index]; may be given several times
    #[arg(long, value_name = "OUTPUT")]
    pub(crate) to: Vec<String>,
    /// Who may see records of a new source that say nothing of that: an access token, or `everybody`
    /// [default: nobody]; may be given several times
    #[arg(long, value_name = "TOKEN")]
    pub(crate) access: Vec<String>,
    /// What keys of a new source begin with that are addresses, such as https://tracker.example.org/: outputs have these
    /// records under them; may be given several times
    #[arg(long, value_name = "PREFIX")]
    pub(crate) address_prefix: Vec<String>,
}

/// Look at sources that applications push into.
#[derive(Subcommand, Debug)]
pub(crate) enum Source {
    /// All sources: how many records each has, and the last delta run over it
    #[command(
        after_help = "Examples:\n  ingather source list\n  ingather source list --json\n\nExit codes: 0 answered · 3 could not work"
    )]
    List,
    /// How a source stands: its records, and the last delta run over it
    #[command(
        after_help = "Example:\n  ingather source show tickets\n\nExit codes: 0 answered · 2 no such source · 3 could not work"
    )]
    Show {
        /// Name of the source
        source: String,
    },
    /// What became of pushes, in the order in which that was known
    #[command(after_help = "Examples:\n  \
        ingather source reports tickets\n  \
        ingather source reports tickets --after 1200 --json\n\n\
        Exit codes: 0 answered · 2 no such source · 3 could not work")]
    Reports {
        /// Name of the source
        source: String,
        /// The last report that was seen
        #[arg(long, value_name = "N", default_value_t = 0)]
        after: i64,
        /// Reports at most
        #[arg(long, value_name = "N")]
        limit: Option<u32>,
    },
    /// What became of one push
    #[command(
        after_help = "Example:\n  ingather source ticket 41\n\nExit codes: 0 answered · 2 no such ticket · 3 could not work"
    )]
    Ticket {
        /// Number of the ticket
        ticket: i64,
    },
    /// Take an open delta run from its client, which deletes nothing then
    #[command(
        after_help = "Example:\n  ingather source unlock tickets\n\nExit codes: 0 done · 2 no such source · 3 could not work"
    )]
    Unlock {
        /// Name of the source
        source: String,
    },
    /// Forget the hashes of all records, so that clients push them again
    ///
    /// Outputs keep what they have. For a client whose hashes did not tell all versions apart, or whose records are to be read anew.
    #[command(after_help = "Examples:\n  \
        ingather source clear tickets\n  \
        ingather source clear tickets --unlock\n\n\
        Exit codes: 0 done · 2 no such source · 3 a delta run is open, or could not work")]
    Clear {
        /// Name of the source
        source: String,
        /// Take an open delta run from its client first
        #[arg(long)]
        unlock: bool,
    },
    /// Forget the hashes of all records of all sources
    ///
    /// As `clear`, for every source that applications push into: after a fault of what all their clients have in common.
    #[command(
        name = "clear-all",
        after_help = "Examples:\n  \
        ingather source clear-all\n  \
        ingather source clear-all --yes --unlock\n\n\
        Exit codes: 0 done · 1 a source was left out · 2 nobody can be asked and --yes is missing · 3 could not work"
    )]
    ClearAll {
        /// Without asking
        #[arg(long)]
        yes: bool,
        /// Take open delta runs from their clients first
        #[arg(long)]
        unlock: bool,
    },
    /// Delete all records, also from the outputs; the source itself stays
    ///
    /// What is pushed meanwhile stays. `ingather job delete` deletes the source as well.
    #[command(after_help = "Examples:\n  \
        ingather source purge tickets\n  \
        ingather source purge tickets --yes\n\n\
        Exit codes: 0 done · 2 no such source, nobody can be asked and --yes is missing · 3 a delta run is open, or could not work")]
    Purge {
        /// Name of the source
        source: String,
        /// Without asking
        #[arg(long)]
        yes: bool,
        /// Take an open delta run from its client first
        #[arg(long)]
        unlock: bool,
    },
}

/// Look at channels that applications push through, and end them.
#[derive(Subcommand, Debug)]
pub(crate) enum Channel {
    /// All channels: what each does, and how much of what it took is not completed yet
    #[command(
        after_help = "Examples:\n  ingather channel list\n  ingather channel list --json\n\nExit codes: 0 answered · 3 could not work"
    )]
    List,
    /// How a channel stands
    #[command(
        after_help = "Example:\n  ingather channel show 7\n\nExit codes: 0 answered · 2 no such channel · 3 could not work"
    )]
    Show {
        /// Number of the channel
        channel: i64,
    },
    /// What a channel told its client, in order
    #[command(after_help = "Examples:\n  \
        ingather channel reports 7\n  \
        ingather channel reports 7 --after 84 --json\n\n\
        Exit codes: 0 answered · 2 no such channel · 3 could not work")]
    Reports {
        /// Number of the channel
        channel: i64,
        /// The last report that was seen
        #[arg(long, value_name = "N", default_value_t = 0)]
        after: i64,
        /// Reports at most
        #[arg(long, value_name = "N")]
        limit: Option<u32>,
    },
    /// Have a channel report when everything that it has taken so far is completed
    #[command(
        after_help = "Example:\n  ingather channel flush 7\n\nExit codes: 0 done · 2 no such channel, or it is over · 3 could not work"
    )]
    Flush {
        /// Number of the channel
        channel: i64,
    },
    /// Have a channel take nothing any more; what it took is carried to its end
    #[command(
        after_help = "Example:\n  ingather channel terminate 7\n\nExit codes: 0 done · 2 no such channel · 3 could not work"
    )]
    Terminate {
        /// Number of the channel
        channel: i64,
    },
    /// Have a channel take nothing any more, and drop what it took and outputs do not have yet
    #[command(
        after_help = "Example:\n  ingather channel abort 7\n\nExit codes: 0 done · 2 no such channel · 3 could not work"
    )]
    Abort {
        /// Number of the channel
        channel: i64,
    },
}
