//! The busiest times of each part of the sources: what ManifoldCF calls maximum activity and maximum bandwidth.

use std::collections::BTreeMap;

use ingather_model::limits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::window::Busiest;
use super::{Asked, bucket, counted, levels, paged, refuse_groups, refuse_levels};
use crate::context::{Caller, Context};
use crate::jobs::history::known::Jobs;
use crate::operation::{Answering, Effect, Operation, Rest, Role, Shape, Verb, Words};
use crate::page;
use crate::problem::{Code, Problem, Result};

const REPORT: &str = r#"{"buckets": [{"job": "share", "bucket": "notes/", "documents": 120, "documents_from": 1767225600000,
    "bytes": 1048576, "bytes_from": 1767225601000}], "knows_from": 1767139200000,
    "says": "documents that runs visited or removed since 2025-12-31 00:00:00", "next": "0a1b2c3d31"}"#;

/// The busiest times.
pub static ACTIVITY: Answering<AskActivity, ActivityReport> = Answering {
    operation: Operation {
        name: "reports.activity",
        summary: "For each part of the sources, the time in which most documents and most bytes were visited.",
        request: Shape::of::<AskActivity>(
            "AskActivity",
            &[r#"{"job": "share", "window_ms": 60000, "levels": 1, "limit": 20}"#],
        ),
        item: None,
        answer: Shape::of::<ActivityReport>("ActivityReport", &[REPORT]),
        role: Role::Operator,
        effect: Effect::Reads,
        rest: Rest::At(Verb::Get, "/reports/activity"),
        words: Words::Are("report activity"),
        tool: true,
        problems: &[Code::NoSuchJob],
    },
    run: report,
};

/// Asks for the busiest times. It needs jobs whose history has every document.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskActivity {
    /// Of this job alone.
    #[serde(default)]
    pub job: Option<String>,
    /// Not before this time, milliseconds since 1970 UTC.
    #[serde(default)]
    pub since: Option<i64>,
    /// Before this time.
    #[serde(default)]
    pub until: Option<i64>,
    /// How long a time is compared, milliseconds: five minutes when left out, a day at most.
    #[serde(default = "window_ms")]
    pub window_ms: i64,
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

fn window_ms() -> i64 {
    limits::REPORT_WINDOW_MS
}

/// The busiest times, those with most bytes first; a line each where lines are wanted.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ActivityReport {
    /// A member for each part of the sources.
    pub buckets: Vec<Activity>,
    /// From this time on all is counted, milliseconds since 1970 UTC.
    pub knows_from: i64,
    /// What was counted, in a sentence.
    pub says: String,
    /// Cursor of the next page; none at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The busiest times of one part of a source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Activity {
    /// Name of the job.
    pub job: String,
    /// First levels of the path; empty for what is in no folder, or for the whole source.
    pub bucket: String,
    /// Most documents of all windows.
    pub documents: u64,
    /// When that window begins.
    pub documents_from: i64,
    /// Most bytes of all windows.
    pub bytes: u64,
    /// When that window begins; 0 where nothing was read.
    pub bytes_from: i64,
}

fn report(context: &Context<'_>, _: &Caller<'_>, request: AskActivity) -> Result<ActivityReport> {
    let AskActivity { job, since, until, window_ms, levels, limit, cursor } = request;
    refuse_levels(levels)?;
    if !(1..=limits::DAY_MS).contains(&window_ms) {
        let sentence = format!("a window has 1 to {} milliseconds, which are a day", limits::DAY_MS);
        return Err(Problem::usage(sentence));
    }
    let reader = context.existing()?;
    let jobs = Jobs::of(&reader, job.as_deref())?;
    if !jobs.some_note_all() {
        return Err(Problem::usage(match &job {
            Some(job) => format!(
                "the history of job {job} has only documents that failed or were left out; define it with `--history documents`, and its \
                 next run notes all"
            ),
            None => "no job has every document in its history; define one with `--history documents`, and its next run notes all"
                .to_owned(),
        }));
    }
    let asked = Asked { reader: &reader, jobs: &jobs, since, until };
    let mut buckets: BTreeMap<(String, String), Busiest> = BTreeMap::new();
    let bound = asked.each(|row| {
        if let Some(name) = jobs.name(row.job).filter(|_| jobs.notes_all(row.job)) {
            let place = (name.to_owned(), bucket(&row.name, levels).to_owned());
            if buckets.len() <= limits::REPORT_GROUPS_MAX {
                let bytes = u64::try_from(row.bytes).unwrap_or_default();
                buckets.entry(place).or_default().add(row.at, bytes, window_ms);
            }
        }
    })?;
    refuse_groups(buckets.len())?;
    let activity = |((job, bucket), busiest): ((String, String), Busiest)| Activity {
        job,
        bucket,
        documents: busiest.most_documents.0,
        documents_from: busiest.most_documents.1,
        bytes: busiest.most_bytes.0,
        bytes_from: busiest.most_bytes.1,
    };
    let mut all: Vec<Activity> = buckets.into_iter().map(activity).collect();
    all.sort_by_key(|one| std::cmp::Reverse((one.bytes, one.documents)));
    let of = format!("{job:?} {since:?} {until:?} {window_ms} {levels}");
    let (members, next) = paged(&[ACTIVITY.operation.name, &of], all, limit, cursor.as_deref())?;
    let (knows_from, says) = counted(&jobs, since, bound, context.now());
    Ok(ActivityReport { buckets: members, knows_from, says, next })
}
