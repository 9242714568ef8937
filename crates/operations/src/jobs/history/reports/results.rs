//! What became of documents, counted by outcome, reason and part of the source: what ManifoldCF calls a result histogram.

use std::collections::BTreeMap;

use ingather_model::job::history::HistoryOutcome;
use ingather_model::limits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Asked, bucket, counted, levels, paged, refuse_groups, refuse_levels};
use crate::context::{Caller, Context};
use crate::jobs::history::is_named;
use crate::jobs::history::known::Jobs;
use crate::operation::schema;
use crate::operation::{Answering, Effect, Operation, Rest, Role, Shape, Verb, Words};
use crate::page;
use crate::problem::{Code, Problem, Result};

const REPORT: &str = r#"{"groups": [{"job": "share", "bucket": "notes/", "outcome": "failed", "code": "unreadable", "count": 3,
    "bytes": 0, "first_at": 1767225600000, "last_at": 1767225601000}], "knows_from": 1767139200000,
    "says": "documents that failed or were left out since 2025-12-31 00:00:00", "next": "0a1b2c3d31"}"#;

/// What became of documents.
pub static RESULTS: Answering<AskResults, ResultsReport> = Answering {
    operation: Operation {
        name: "reports.results",
        summary: "How often what became of documents, by outcome, reason and part of the source.",
        request: Shape::of::<AskResults>(
            "AskResults",
            &[r#"{"job": "share", "since": 1767225600000, "levels": 2, "name": "notes/**"}"#],
        ),
        item: None,
        answer: Shape::of::<ResultsReport>("ResultsReport", &[REPORT]),
        role: Role::Operator,
        effect: Effect::Reads,
        rest: Rest::At(Verb::Get, "/reports/results"),
        words: Words::Are("report results"),
        tool: true,
        problems: &[Code::NoSuchJob],
    },
    run: report,
};

/// Asks what became of documents. Of jobs whose history has not every document, those that failed or were left out are counted.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskResults {
    /// Of this job alone.
    #[serde(default)]
    pub job: Option<String>,
    /// Not before this time, milliseconds since 1970 UTC.
    #[serde(default)]
    pub since: Option<i64>,
    /// Before this time.
    #[serde(default)]
    pub until: Option<i64>,
    /// Only names that are so: `*` stands for anything but `/`, `**` for anything, `?` for one character.
    #[serde(default)]
    pub name: Option<String>,
    /// Levels of the path by which documents are counted together; 0: all of a job.
    #[serde(default = "levels")]
    pub levels: u32,
    /// Members at most; a page has a bound of its own.
    #[serde(default = "page::size")]
    pub limit: u32,
    /// Where to begin: `next` of the page before.
    #[serde(default)]
    pub cursor: Option<String>,
}

/// What became of documents, the most frequent first; a line each where lines are wanted.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ResultsReport {
    /// A member for each outcome, reason and part of a source.
    pub groups: Vec<ResultGroup>,
    /// From this time on all is counted, milliseconds since 1970 UTC.
    pub knows_from: i64,
    /// What was counted, in a sentence.
    pub says: String,
    /// Cursor of the next page; none at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// How often the same became of documents of one part of a source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResultGroup {
    /// Name of the job.
    pub job: String,
    /// First levels of the path; empty for what is in no folder, or for the whole source.
    pub bucket: String,
    /// What became of them.
    #[schemars(schema_with = "schema::history_outcome")]
    pub outcome: HistoryOutcome,
    /// Stable word for what is wrong; none where nothing is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// How often; a document counts each time.
    pub count: u64,
    /// Bytes that were read of them.
    pub bytes: u64,
    /// When the first of them was done.
    pub first_at: i64,
    /// When the last of them was done.
    pub last_at: i64,
}

fn report(context: &Context<'_>, _: &Caller<'_>, request: AskResults) -> Result<ResultsReport> {
    let AskResults { job, since, until, name, levels, limit, cursor } = request;
    refuse_levels(levels)?;
    if name.as_ref().is_some_and(|name| name.len() > limits::CONDITION_TEXT_BYTES_MAX) {
        let most = limits::CONDITION_TEXT_BYTES_MAX;
        return Err(Problem::usage(format!("`name` has at most {most} bytes; give less of it")));
    }
    let reader = context.existing()?;
    let jobs = Jobs::of(&reader, job.as_deref())?;
    let asked = Asked { reader: &reader, jobs: &jobs, since, until };
    let mut groups: BTreeMap<(String, String, HistoryOutcome, String), (u64, u64, i64, i64)> =
        BTreeMap::new();
    let bound = asked.each(|row| {
        let Some(job) = jobs.name(row.job).filter(|_| is_named(name.as_ref(), &row.name)) else { return };
        if groups.len() > limits::REPORT_GROUPS_MAX {
            return;
        }
        let group = (job.to_owned(), bucket(&row.name, levels).to_owned(), row.outcome, row.code);
        let (count, bytes, first, _) = groups.entry(group).or_insert((0, 0, row.at, row.at));
        *count += 1;
        *bytes += u64::try_from(row.bytes).unwrap_or_default();
        // The latest come first.
        *first = row.at;
    })?;
    refuse_groups(groups.len())?;
    let group = |((job, bucket, outcome, code), (count, bytes, first_at, last_at))| {
        let code = Some(code).filter(|code: &String| !code.is_empty());
        ResultGroup { job, bucket, outcome, code, count, bytes, first_at, last_at }
    };
    let mut all: Vec<ResultGroup> = groups.into_iter().map(group).collect();
    all.sort_by_key(|group| std::cmp::Reverse(group.count));
    let of = format!("{job:?} {since:?} {until:?} {name:?} {levels}");
    let (members, next) = paged(&[RESULTS.operation.name, &of], all, limit, cursor.as_deref())?;
    let (knows_from, says) = counted(&jobs, since, bound, context.now());
    Ok(ResultsReport { groups: members, knows_from, says, next })
}
