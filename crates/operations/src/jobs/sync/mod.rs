//! One run of a job, to its end: the job is found by its source or made, changed where that was asked for, and run.

use std::collections::BTreeSet;
use std::sync::Arc;

use ingather_engine::inspect::overlaps::{self, Overlap};
use ingather_engine::progress::Progress;
use ingather_engine::{Engine, Mode, Options, Report};
use ingather_model::job::dates::DateRules;
use ingather_model::job::hops::Hops;
use ingather_model::job::{ContentBy, RunKind};
use ingather_model::run_counts::{RunCounts, counted};
use ingather_model::scope::Scope;
use ingather_store::jobs::Job;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::context::{Caller, Context, Places, journals};
use crate::jobs::definition::asked;
use crate::jobs::definition::differences::differences;
use crate::jobs::definition::dry_run;
use crate::jobs::definition::wanted::{Terms, Wanted};
use crate::jobs::{HistoryWord, KeepWord, Resends, events, resends};
use crate::operation::schema;
use crate::operation::{Effect, Operation, Rest, Role, Shape, Streaming, Words};
use crate::pipeline::{GivenOutput, StageSettings};
use crate::problem::{Code, Problem, Result};
use crate::system::jobs::tried_again;

const CHANGING: &str = r#"{"job": "share", "changes": ["exclude: none → drafts"], "leads_to": {"added": 0, "updated": 0,
    "access": 0, "unchanged": 1190, "skipped": 0, "failed": 0, "waiting": 0, "deleted": 10, "kept": 0, "held": 0,
    "partial": 0}}"#;
const SYNCED: &str = r#"{"job": "share", "run": 7, "seen": 1200, "added": 1, "updated": 2, "access": 0, "unchanged": 1196,
    "skipped": 0, "failed": 1, "waiting": 0, "deleted": 3, "kept": 4, "held": 0,
    "blind": [{"scope": "notes/", "cause": "unreadable"}], "seconds": 1.25, "partial": 0, "root": "/srv/share",
    "outputs": ["index"], "stopped": false, "error": null, "unread": [{"scope": "notes/", "cause": "unreadable",
    "message": "permission denied", "is_root": false}], "notes": ["a sentence about the source"],
    "resends": [{"sentence": "job notes: 3 documents are still to be sent again", "root": "/srv/notes"}],
    "overlaps": ["a sentence about another job"]}"#;

/// Brings an output up to date with a source, once.
pub static SYNC: Streaming<SyncSource, Changing, Synced> = Streaming {
    operation: Operation {
        name: "jobs.sync",
        summary: "Brings outputs up to date with a source, once: finds or makes its job, changes it, runs it to its end.",
        request: Shape::of::<SyncSource>(
            "SyncSource",
            &[
                r#"{"root": "/srv/share", "source": {"exclude": ["drafts"], "size_max": null}, "schedule": "0 2 * * *", "update": true}"#,
            ],
        ),
        item: Some(Shape::of::<Changing>("Changing", &[CHANGING])),
        answer: Shape::of::<Synced>("Synced", &[SYNCED]),
        role: Role::Admin,
        effect: Effect::Changes,
        rest: Rest::Not(
            "a call that lasts as long as a run: a client asks for `jobs.define` and `jobs.start`, and looks at `jobs.show` until it has ended",
        ),
        words: Words::Are("sync"),
        tool: false,
        problems: &[
            Code::Differs,
            Code::Outdated,
            Code::OutsideRoots,
            Code::WholeMachine,
            Code::Settings,
            Code::NoSuchOutput,
            Code::NoSuchConnector,
            Code::Definition,
            Code::Source,
            Code::Deleting,
            Code::Paused,
            Code::Output,
            Code::Connector,
            Code::IndexOlder,
        ],
    },
    run: sync,
};

/// Asks for a run. What is left out changes nothing of a job that is known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SyncSource {
    /// Canonical path of a folder or file, as names of documents are written: by it the job is found again.
    pub root: String,
    /// Name of the job; made from the source when left out.
    #[serde(default)]
    pub name: Option<String>,
    /// Settings of the source that are to be otherwise; null takes one back.
    #[serde(default)]
    pub source: serde_json::Map<String, serde_json::Value>,
    /// Outputs, by name, or with their places in the pipeline.
    #[serde(default)]
    pub outputs: Option<Vec<GivenOutput>>,
    /// Stages between the source and the outputs, each checked by its transform.
    #[serde(default)]
    pub stages: Option<Vec<StageSettings>>,
    /// A touched file is read, and not sent again.
    #[serde(default)]
    pub compare_content: Option<bool>,
    /// What says that content is as it was.
    #[serde(default)]
    pub content_by: Option<ContentByWord>,
    /// What is kept beside the inventory.
    #[serde(default)]
    pub keep: Option<KeepWord>,
    /// Which of several jobs is read first: from 1, the first, to 10.
    #[serde(default)]
    #[schemars(range(min = 1, max = 10))]
    pub priority: Option<u8>,
    /// How far from where it begins the job goes, by relation: `{"most": {"link": 3}}`; with nothing in `most`, as far as links lead.
    #[serde(default)]
    #[schemars(schema_with = "schema::hops_or_none")]
    pub hops: Option<Hops>,
    /// Which single documents its history has.
    #[serde(default)]
    pub history: Option<HistoryWord>,
    /// Days that its history is kept; 0: as long as the program keeps it.
    #[serde(default)]
    pub history_days: Option<u32>,
    /// How a continuous job goes by the dates of its documents, minutes; an empty object takes all of it back.
    #[serde(default)]
    #[schemars(schema_with = "schema::dates")]
    pub dates: Option<DateRules>,
    /// Who is told of ends of its runs, and of what: `ops:failed,held`; an empty list: nobody.
    #[serde(default)]
    pub notify: Option<Vec<String>>,
    /// When the job runs by itself, by a service: rules for windows, an interval, or a text: a line of cron, `every 15m`, or `none`. A
    /// text that names no time zone is of that of this machine.
    #[serde(default)]
    #[schemars(schema_with = "schema::schedule_or_none")]
    pub schedule: Option<Value>,
    /// Change the stored job to what differs; refused otherwise.
    #[serde(default)]
    pub update: bool,
    /// Removals are not held in this run.
    #[serde(default)]
    pub guard_off: bool,
    /// A folder on another device than before was replaced.
    #[serde(default)]
    pub accepts_devices: bool,
    /// Every document is read again.
    #[serde(default)]
    pub rereads: bool,
    /// Only what is new or changed; nothing is removed.
    #[serde(default)]
    pub minimal: bool,
    /// Count what would happen, and write nothing.
    #[serde(default)]
    pub dry_run: bool,
    /// The source is meant to be everything on this machine.
    #[serde(default)]
    pub whole_machine: bool,
    /// Also tell what changed settings lead to, before that is done, and what else a person should know afterwards.
    #[serde(default)]
    pub advise: bool,
}

/// What tells of content that changed, as it is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ContentByWord {
    /// The content itself.
    Read,
    /// Size and time.
    Times,
}

impl From<ContentByWord> for ContentBy {
    fn from(word: ContentByWord) -> ContentBy {
        match word {
            ContentByWord::Read => ContentBy::Read,
            ContentByWord::Times => ContentBy::Times,
        }
    }
}

/// A job is about to change, and what that leads to: handed out before it is done.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Changing {
    /// Name of the job.
    pub job: String,
    /// What changes, a clause each.
    pub changes: Vec<String>,
    /// What the run will do, as far as it can be counted before.
    #[schemars(schema_with = "schema::run_counts")]
    pub leads_to: RunCounts,
}

/// What a run did, or would do.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Synced {
    /// What became of the documents.
    #[serde(flatten)]
    pub line: SyncedLine,
    /// Canonical root of the source.
    pub root: String,
    /// The outputs.
    pub outputs: Vec<String>,
    /// It was asked to stop before its end.
    pub stopped: bool,
    /// Why it ended early.
    pub error: Option<String>,
    /// For each of the scopes that could not be read, in their order, what a person is told of it.
    pub unread: Vec<Unread>,
    /// What a person should know of the source.
    pub notes: Vec<String>,
    /// What other jobs have to send again.
    pub resends: Vec<Resends>,
    /// What other jobs send in another form: a sentence each.
    pub overlaps: Vec<String>,
}

/// What became of the documents of a run, as the command line writes it with `--json`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SyncedLine {
    /// Name of the job.
    pub job: String,
    /// Number of the run; none when nothing was written.
    pub run: Option<i64>,
    /// Documents that the source named: the sum of the seven that follow.
    pub seen: u64,
    /// Delivered for the first time.
    pub added: u64,
    /// Delivered again with other content or fields.
    pub updated: u64,
    /// Delivered with other access alone.
    pub access: u64,
    /// Nothing had to be sent.
    pub unchanged: u64,
    /// Not wanted by a rule or an output.
    pub skipped: u64,
    /// Could not be read, understood or delivered.
    pub failed: u64,
    /// Will be tried again later.
    pub waiting: u64,
    /// Removed from every output.
    pub deleted: u64,
    /// Not seen, and not known to be gone.
    pub kept: u64,
    /// Not seen, held until confirmed.
    pub held: u64,
    /// Scopes that could not be read.
    pub blind: Vec<Blind>,
    /// How long it took.
    pub seconds: f64,
    /// Of those seen: not all that is in them could be read.
    pub partial: u64,
}

impl SyncedLine {
    /// The line of a run that took so many milliseconds.
    pub fn of(
        job: String,
        run: Option<i64>,
        counts: RunCounts,
        unread: &[Unread],
        millis: i64,
    ) -> SyncedLine {
        let blind = |spot: &Unread| Blind { scope: spot.scope.clone(), cause: spot.cause.clone() };
        SyncedLine {
            job,
            run,
            seen: counts.seen(),
            added: counts.added,
            updated: counts.updated,
            access: counts.access,
            unchanged: counts.unchanged,
            skipped: counts.skipped,
            failed: counts.failed,
            waiting: counts.waiting,
            deleted: counts.deleted,
            kept: counts.kept,
            held: counts.held,
            blind: unread.iter().map(blind).collect(),
            seconds: millis as f64 / 1000.0,
            partial: counts.partial,
        }
    }
}

/// A scope that could not be read.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Blind {
    /// The scope.
    pub scope: String,
    /// Stable word.
    pub cause: String,
}

/// What a person is told of a scope that could not be read.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Unread {
    /// The scope.
    pub scope: String,
    /// Stable word.
    pub cause: String,
    /// Why, in a sentence.
    pub message: String,
    /// It is the whole source.
    pub is_root: bool,
}

impl Synced {
    fn of(job: &Job, report: Report) -> Synced {
        let unread = |spot: ingather_model::scope::BlindSpot| Unread {
            scope: spot.scope.label(),
            is_root: matches!(&spot.scope, Scope::Folder(folder) if folder.is_empty()),
            cause: spot.cause,
            message: spot.message,
        };
        let unread: Vec<Unread> = report.blind.into_iter().map(unread).collect();
        let line = SyncedLine::of(job.name.clone(), report.run, report.counts, &unread, report.millis);
        Synced {
            line,
            root: job.root.clone(),
            outputs: job.definition.outputs.clone(),
            stopped: report.stopped,
            error: report.error,
            unread,
            notes: report.notes,
            resends: Vec::new(),
            overlaps: Vec::new(),
        }
    }

    /// Its counters.
    pub fn counts(&self) -> RunCounts {
        let line = &self.line;
        RunCounts {
            added: line.added,
            updated: line.updated,
            access: line.access,
            unchanged: line.unchanged,
            skipped: line.skipped,
            failed: line.failed,
            waiting: line.waiting,
            deleted: line.deleted,
            kept: line.kept,
            held: line.held,
            partial: line.partial,
        }
    }
}

fn sync(
    context: &Context<'_>,
    caller: &Caller<'_>,
    request: SyncSource,
    each: &mut dyn FnMut(Changing),
) -> Result<Synced> {
    let asked = Asked { places: caller.places, of: Of::Any, by: caller.name };
    run_job(context, asked, request, each)
}

/// Which jobs a run may be of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    /// One that is made when there is none.
    Any,
    /// One that is stored: it may have been deleted since somebody asked for the run.
    Stored,
    /// The same, for a pass of a continuous job.
    Pass,
}

impl Of {
    fn admits(self, wanted: &Wanted) -> Result<()> {
        if self == Of::Any || wanted.stored.is_some() {
            return Ok(());
        }
        let name = &wanted.definition.name;
        Err(Problem::new(Code::NoSuchJob, format!("there is no job `{name}` any more; it was deleted")))
    }
}

/// Who wants a run, and of what.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    /// Those that whoever asks may name.
    pub(super) places: Places<'a>,
    /// Which job.
    pub(super) of: Of,
    /// Who asks, for the history.
    pub(super) by: &'a str,
}

/// Does it; whoever asks may.
pub(super) fn run_job(
    context: &Context<'_>,
    Asked { places, of, by }: Asked<'_>,
    mut request: SyncSource,
    each: &mut dyn FnMut(Changing),
) -> Result<Synced> {
    let reader = match request.dry_run {
        true => context.host.reader()?,
        false => context.host.reader_up_to_date(&format!("sync of {}", request.root))?,
    };
    let wanted = asked::find(&context.registry, places, reader.as_ref(), &request)?;
    of.admits(&wanted)?;
    if wanted.stored.as_ref().is_some_and(|job| job.rereads > 0) {
        request.minimal = false;
    }
    wanted.check_outputs(context, reader.as_ref(), &BTreeSet::new())?;
    let changes = differences(&context.registry, &wanted);
    if !changes.is_empty() && !request.update {
        wanted.open_source(context)?;
        return Err(differs(&wanted, &changes));
    }
    let terms = Terms { guard_off: request.guard_off, whole_machine: request.whole_machine };
    wanted.check_all(context, places, reader.as_ref(), (terms, &[]))?;
    if request.dry_run {
        let (job, report) = dry_run::count_only(context, reader, &wanted, terms, options(&request))?;
        return Ok(Synced::of(&job, report));
    }
    let writing = context.host.write(&format!("sync of {}", wanted.root))?;
    // Else the change of its definition would have a pass of a continuous job begin before this run. A run that was begun is announced already.
    let announced = wanted.stored.as_ref().filter(|_| of == Of::Any);
    let announced = announced.map(|job| context.host.process().announce(job, &context.host.cancel()));
    let _announced = announced.transpose()?;
    let advises = !changes.is_empty() && request.advise;
    let leads_to = wanted.prepare(context, &writing, terms, advises.then(|| options(&request)))?;
    if let Some(leads_to) = leads_to.filter(|_| advises) {
        each(Changing { job: wanted.definition.name.clone(), changes, leads_to });
    }
    let job = wanted.store(&writing, context.now())?;
    let engine = context.engine(writing.store.reader().clone(), Some(&writing), &journals(&job.definition));
    let engine = Engine { asked_by: by.to_owned(), ..engine };
    let progress = Arc::new(Progress::default());
    let watch = context.host.watch(progress.clone());
    let goes_on = context.host.background().is_some();
    let options = Options { goes_on, is_pass: of == Of::Pass, ..options(&request) };
    events::begun(context, &job.name, options.kind, &progress);
    let report = engine.run(&job, options, progress);
    drop(watch);
    events::ended(context, &job.name, &report);
    let mut synced = Synced::of(&job, report?);
    if synced.line.waiting > 0
        && let Some(why) = tried_again(&engine.reader, job.id)?
    {
        synced.notes.push(format!(
            "{} will be tried again, such as {why}; `ingather document list {} --state waiting` has all of them",
            counted(synced.line.waiting, "document"),
            job.name
        ));
    }
    if !goes_on && !synced.stopped {
        // A service does so from time to time.
        engine.forget_history(&job)?;
    }
    if request.advise {
        synced.resends = resends(writing.store.reader(), Some(job.id))?;
        let found = engine.reader.read(|sql| overlaps::of_job(sql, &job))?;
        synced.overlaps = found.iter().map(overlap_in_words).collect();
    }
    Ok(synced)
}

/// A stored job is changed only where that was asked for.
pub(super) fn differs(wanted: &Wanted, changes: &[String]) -> Problem {
    Problem::new(
        Code::Differs,
        format!(
            "job {} is stored with other settings: {}; add --update to change it, or leave the flags out",
            wanted.definition.name,
            changes.join("; ")
        ),
    )
}

fn options(request: &SyncSource) -> Options {
    let kind = if request.minimal { RunKind::Minimal } else { RunKind::Full };
    Options {
        kind,
        mode: Mode::Write,
        guard_off: request.guard_off,
        accepts_devices: request.accepts_devices,
        rereads: request.rereads,
        goes_on: false,
        is_pass: false,
    }
}

/// The sentence for documents that two jobs send in different forms: what is found is what the last one sent, and a person has
/// to decide which is wanted.
pub fn overlap_in_words(found: &Overlap) -> String {
    let Overlap { job, other, output, documents } = found;
    let count = ingather_model::run_counts::counted(*documents, "document");
    format!(
        "jobs {job} and {other} send the same {count} to {output} in different forms, and {output} holds those of \
         {other}, which sent last; give one of the jobs another output (--to) or the same stages (--pipeline), over sites also the same \
         `access`, or delete one"
    )
}
