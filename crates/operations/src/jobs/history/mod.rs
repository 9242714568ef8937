//! History: how runs ended, and what became of single documents, as far as it is kept (decision 0030).

mod documents;
mod known;
pub mod reports;

use ingather_model::job::condition;
use ingather_model::job::history::{HistoryOf, HistoryOutcome};
use ingather_model::lifecycle::outcome::RunOutcome;
use ingather_model::limits;
use ingather_store::Reader;
use ingather_store::jobs as stored_jobs;
use ingather_store::runs::history::{self as stored, RunPlace};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::known::Jobs;
use super::Run;
use crate::context::{Caller, Context};
use crate::in_words;
use crate::operation::schema;
use crate::operation::{Answering, Effect, Operation, Rest, Role, Shape, Verb, Words};
use crate::page;
use crate::problem::{Code, Problem, Result};

/// Rows that are read at once.
const ROWS: usize = 1_000;

const PAGE: &str = r#"{"runs": [{"job": "share", "run": 7, "kind": "full", "started_at": 1767225600000, "listed_at": 1767225601000,
    "ended_at": 1767225602000, "outcome": "done", "guard": null, "counts": {"added": 1, "updated": 0, "access": 0,
    "unchanged": 0, "skipped": 0, "failed": 0, "waiting": 0, "deleted": 0, "kept": 0, "held": 0, "partial": 0}, "error": null,
    "begun_by": "schedule", "sentence": "done: 1 seen: 1 added"}], "documents": [{"job": "share", "at": 1767225601500, "run": 7,
    "document": "a.txt", "outcome": "failed", "code": "unreadable", "reason": "permission denied", "bytes": 0}],
    "knows_from": 1767139200000, "says": "runs since 2025-12-31 00:00:00", "next": "0a1b2c3d31"}"#;

/// How runs ended, and what became of single documents.
pub static LIST: Answering<ListHistory, HistoryPage> = Answering {
    operation: Operation {
        name: "history.list",
        summary: "How runs ended, and what became of single documents, the latest first.",
        request: Shape::of::<ListHistory>(
            "ListHistory",
            &[
                r#"{"job": "share", "of": "documents", "since": 1767225600000, "outcome": "failed", "name": "notes/**"}"#,
            ],
        ),
        item: None,
        answer: Shape::of::<HistoryPage>("HistoryPage", &[PAGE]),
        role: Role::Operator,
        effect: Effect::Reads,
        rest: Rest::At(Verb::Get, "/history"),
        words: Words::Are("history"),
        tool: true,
        problems: &[Code::NoSuchJob],
    },
    run: list,
};

/// Asks for history. What is left out narrows nothing.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListHistory {
    /// Of this job alone.
    #[serde(default)]
    pub job: Option<String>,
    /// Of `runs`, or of `documents`.
    #[serde(default)]
    pub of: HistoryOfWord,
    /// Not before this time, milliseconds since 1970 UTC: when a run began, or a document was done.
    #[serde(default)]
    pub since: Option<i64>,
    /// Before this time.
    #[serde(default)]
    pub until: Option<i64>,
    /// Of runs: `done`, `failed`, `stopped`, `interrupted`. Of documents: `added`, `updated`, `access`, `unchanged`, `skipped`, `failed`,
    /// `waiting`, `removed`.
    #[serde(default)]
    pub outcome: Option<String>,
    /// Of documents: only names that are so. `*` stands for anything but `/`, `**` for anything, `?` for one character.
    #[serde(default)]
    pub name: Option<String>,
    /// Of documents: only those with this stable word for what is wrong, such as `unreadable`.
    #[serde(default)]
    pub code: Option<String>,
    /// Members at most; a page has a bound of its own.
    #[serde(default = "page::size")]
    pub limit: u32,
    /// Where to begin: `next` of the page before.
    #[serde(default)]
    pub cursor: Option<String>,
}

/// What history is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HistoryOfWord {
    /// Runs.
    #[default]
    Runs,
    /// Single documents.
    Documents,
}

/// Which single documents the history of a job has, as it is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HistoryWord {
    /// Those that failed or were left out.
    Failures,
    /// Every document that a run visits or removes.
    Documents,
}

impl From<HistoryWord> for HistoryOf {
    fn from(word: HistoryWord) -> HistoryOf {
        match word {
            HistoryWord::Failures => HistoryOf::Failures,
            HistoryWord::Documents => HistoryOf::Documents,
        }
    }
}

/// History, the latest first; a line each where lines are wanted.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct HistoryPage {
    /// Runs; none where documents were asked for.
    pub runs: Vec<PastRun>,
    /// Documents; none where runs were asked for.
    pub documents: Vec<PastDocument>,
    /// From this time on all of what was asked for is known, milliseconds since 1970 UTC.
    pub knows_from: i64,
    /// What is known, in a sentence.
    pub says: String,
    /// Cursor of the next page, which may be empty where few of very many are asked for; none at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A run of a job.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PastRun {
    /// Name of the job.
    pub job: String,
    /// The run.
    #[serde(flatten)]
    pub run: Run,
    /// How it ended, in a sentence.
    pub sentence: String,
}

/// What became of a document.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PastDocument {
    /// Name of the job.
    pub job: String,
    /// When it was done, milliseconds since 1970 UTC.
    pub at: i64,
    /// Number of the run.
    pub run: i64,
    /// Its name in the job.
    pub document: String,
    /// What became of it.
    #[schemars(schema_with = "schema::history_outcome")]
    pub outcome: HistoryOutcome,
    /// Stable word for what is wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The same as a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Bytes that were read of it; 0 where nothing was, or what is kept was sent.
    pub bytes: i64,
}

fn list(context: &Context<'_>, _: &Caller<'_>, request: ListHistory) -> Result<HistoryPage> {
    let reader = context.existing()?;
    let jobs = Jobs::of(&reader, request.job.as_deref())?;
    page_of(&reader, &jobs, &request, limits::LIST_LOOKED_MAX)
}

/// A page that looks through so many rows at most.
fn page_of(reader: &Reader, jobs: &Jobs, request: &ListHistory, may_look: usize) -> Result<HistoryPage> {
    for (text, what) in [(&request.name, "name"), (&request.code, "code")] {
        if text.is_some() && request.of == HistoryOfWord::Runs {
            return Err(Problem::usage(format!(
                "`{what}` is about documents; ask for those, with `of` `documents`"
            )));
        }
        if text.as_ref().is_some_and(|text| text.len() > limits::CONDITION_TEXT_BYTES_MAX) {
            let most = limits::CONDITION_TEXT_BYTES_MAX;
            return Err(Problem::usage(format!("`{what}` has at most {most} bytes; give less of it")));
        }
    }
    match request.of {
        HistoryOfWord::Runs => runs(reader, jobs, request, may_look),
        HistoryOfWord::Documents => documents::list(reader, jobs, request, may_look),
    }
}

/// What a cursor is of: all that narrows the list.
fn list_of(request: &ListHistory) -> Vec<String> {
    let ListHistory { job, of, since, until, outcome, name, code, .. } = request;
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let time = |at: &Option<i64>| at.map_or(String::new(), |at| at.to_string());
    let of = if *of == HistoryOfWord::Runs { "runs" } else { "documents" };
    let all =
        [LIST.operation.name.to_owned(), of.to_owned(), text(job), time(since), time(until), text(outcome)];
    all.into_iter().chain([text(name), text(code)]).collect()
}

/// The word of an outcome that was asked for.
fn outcome<T: Copy>(
    asked: Option<&String>,
    parse: fn(&str) -> Option<T>,
    words: &[&str],
) -> Result<Option<T>> {
    let Some(word) = asked else { return Ok(None) };
    parse(word).map(Some).ok_or_else(|| {
        let words = words.join(", ");
        Problem::usage(format!("there is no outcome `{word}` here; there is {words}"))
    })
}

fn runs(reader: &Reader, jobs: &Jobs, request: &ListHistory, may_look: usize) -> Result<HistoryPage> {
    let wanted = outcome(request.outcome.as_ref(), RunOutcome::parse, RunOutcome::WORDS)?;
    let list = list_of(request);
    let of: Vec<&str> = list.iter().map(String::as_str).collect();
    let from = request.since.unwrap_or(i64::MIN);
    let until = request.until.unwrap_or(i64::MAX);
    let mut place = match page::place(&of, request.cursor.as_deref())? {
        Some(text) => run_place(&text).ok_or_else(page::unknown)?,
        None => RunPlace { at: until, job: i64::MIN, number: i64::MAX },
    };
    let length = page::length(request.limit);
    let (mut found, mut left, mut more) = (Vec::new(), may_look, true);
    while more && left > 0 && found.len() < length {
        let most = ROWS.min(left);
        let rows = reader.read(|sql| match jobs.one() {
            Some(job) => stored::runs_of_job(sql, job, from, place.number, most),
            None => stored::runs(sql, from, place, most),
        })?;
        more = rows.len() == most;
        left -= rows.len();
        for past in rows {
            if found.len() == length {
                more = true;
                break;
            }
            place = RunPlace { at: past.run.started_at, job: past.job.0, number: past.run.number };
            let is_wanted = wanted.is_none_or(|wanted| past.run.outcome == Some(wanted));
            if is_wanted
                && past.run.started_at < until
                && let Some(job) = jobs.name(past.job)
            {
                let run = Run::from(past.run);
                found.push(PastRun { job: job.to_owned(), sentence: sentence(&run), run });
            }
        }
    }
    let place = format!("{} {} {}", place.at, place.job, place.number);
    let known = jobs.runs();
    Ok(HistoryPage {
        runs: found,
        documents: Vec::new(),
        knows_from: known,
        says: format!("runs since {}", in_words::time(known)),
        next: more.then(|| page::cursor(&of, &place)),
    })
}

fn run_place(text: &str) -> Option<RunPlace> {
    let mut numbers = text.split(' ').map(|word| word.parse().ok());
    let mut number = || numbers.next().flatten();
    Some(RunPlace { at: number()?, job: number()?, number: number()? })
}

/// How a run ended, in a sentence.
fn sentence(run: &Run) -> String {
    let outcome = run.outcome.map_or("not ended", RunOutcome::as_str);
    let error = run.error.as_ref().map_or(String::new(), |error| format!("; {error}"));
    format!("{outcome}: {}{error}", in_words::sentence(&run.counts))
}

/// Whether a name is as a pattern says, where there is one.
fn is_named(pattern: Option<&String>, name: &str) -> bool {
    pattern.is_none_or(|pattern| condition::matches(pattern, name))
}

/// Forgets what is too old in the histories of all jobs, a little in each transaction; how many rows.
///
/// # Errors
/// What the inventory says.
pub fn forget_old(context: &Context<'_>) -> Result<u64> {
    let Some(reader) = context.host.reader()? else { return Ok(0) };
    let jobs = reader.read(stored_jobs::list)?;
    let writing = context.host.write_beside("history")?;
    let engine = context.engine(reader, Some(&writing), &[]);
    let mut forgotten = 0;
    for job in jobs {
        forgotten += engine.forget_history(&job)?;
    }
    Ok(forgotten)
}

#[cfg(test)]
mod tests;
