//! table: what `search` takes.

use clap::{Args, ValueEnum};
use ingather_model::limits;

use super::values;

/// Search the built-in index.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    ingather search '\"annual report\" type:text/* modified:>2024-01-01'\n  \
    ingather search '*' --sort modified --limit 5\n  \
    ingather search which travel costs are paid back\n  \
    ingather search budget --as ann\n\n\
    Without --as: as the local user who calls. See docs/manual/search.md for the query language.\n\n\
    Exit codes: 0 answered, also when nothing was found ·\n\
    2 wrong use, such as a query that cannot be read · 3 could not work")]
pub(crate) struct Search {
    /// What to find, in one argument or several; `*` finds everything
    #[arg(required = true, value_name = "QUERY")]
    pub(crate) query: Vec<String>,
    /// As this user: a name, or the number of a user of this machine
    #[arg(long = "as", value_name = "USER", conflicts_with = "all")]
    pub(crate) user: Option<String>,
    /// The authorisation domain that the name is one in
    #[arg(long, value_name = "DOMAIN", requires = "user")]
    pub(crate) domain: Option<String>,
    /// Unfiltered, for the owner of the data directory
    #[arg(long)]
    pub(crate) all: bool,
    /// Hits at most
    #[arg(long, value_name = "N", default_value_t = limits::SEARCH_PAGE, allow_hyphen_values = true, value_parser = values::up_to::<{ limits::SEARCH_PAGE_MAX }>)]
    pub(crate) limit: u32,
    /// Hits to leave out at the beginning
    #[arg(long, value_name = "N", default_value_t = 0, allow_hyphen_values = true, value_parser = values::up_to::<{ limits::SEARCH_OFFSET_MAX }>)]
    pub(crate) offset: u32,
    /// Order: score, modified, created, size, title, path; `+` before the last five for the smallest first, `-` for the
    /// largest [default: score]
    #[arg(long, value_name = "FIELD", allow_hyphen_values = true)]
    pub(crate) sort: Option<String>,
    /// Ask this output on a server in the place of the index, in the query language there
    #[arg(long, value_name = "NAME", conflicts_with_all = ["sort", "facets", "explain_score"])]
    pub(crate) output: Option<String>,
    /// Show every hit, also those that have the text of one before; `--json` always does
    #[arg(long)]
    pub(crate) all_copies: bool,
    /// Also count hits by media type and by job
    #[arg(long)]
    pub(crate) facets: bool,
    /// Also tell what each word adds to the score of a hit
    #[arg(long)]
    pub(crate) explain_score: bool,
}

/// Whom a filter is for, and in whose query language.
#[derive(Args, Debug)]
pub(crate) struct Filter {
    /// Name of a user; of this machine also the number
    pub(crate) user: String,
    /// The query language
    #[arg(long, value_name = "ENGINE")]
    pub(crate) engine: EngineWord,
    /// The output that is searched [default: the only one of this engine]
    #[arg(long, value_name = "NAME")]
    pub(crate) output: Option<String>,
    /// The authorisation domain that the name is one in
    #[arg(long, value_name = "DOMAIN", default_value = "", hide_default_value = true)]
    pub(crate) domain: String,
}

/// A search engine, for its query language.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EngineWord {
    /// OpenSearch 2 and 3.
    Opensearch,
    /// Elasticsearch 8 and 9.
    Elasticsearch,
    /// Solr 9.
    Solr,
}
