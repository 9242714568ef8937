//! Jobs made and changed without a run: whoever wants one starts it, or its schedule does.

use std::collections::BTreeSet;

use ingather_engine::Announced;
use ingather_model::job::dates::DateRules;
use ingather_model::job::hops::Hops;
use ingather_model::lifecycle::job::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::definition::asked;
use super::definition::differences::differences;
use super::definition::wanted::{Terms, Wanted};
use super::sync::{ContentByWord, SyncSource, differs};
use super::{HistoryWord, KeepWord};
use crate::context::{Caller, Context};
use crate::operation::schema;
use crate::operation::{Answering, Effect, Operation, Rest, Role, Shape, Verb, Words};
use crate::pipeline::{GivenOutput, StageSettings};
use crate::problem::{Code, Problem, Result};

/// Makes a job, or changes one.
pub static DEFINE: Answering<DefineJob, Defined> = Answering {
    operation: Operation {
        name: "jobs.define",
        summary: "Makes a job for a source, or changes the one that it has, without a run.",
        request: Shape::of::<DefineJob>(
            "DefineJob",
            &[
                r#"{"root": "/srv/share", "source": {"exclude": ["drafts"], "size_max": null}, "schedule": "0 2 * * *", "update": true}"#,
            ],
        ),
        item: None,
        answer: Shape::of::<Defined>(
            "Defined",
            &[r#"{"job": "share", "made": false, "changes": ["exclude: none → drafts"], "revision": 3}"#],
        ),
        role: Role::Admin,
        effect: Effect::Changes,
        rest: Rest::At(Verb::Post, "/jobs"),
        words: Words::Are("job define"),
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
            Code::Output,
            Code::Connector,
            Code::IndexOlder,
        ],
    },
    run: define,
};

/// Asks to make a job, or to change one. What is left out changes nothing of a job that is stored.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DefineJob {
    /// Canonical path of a folder or file, as names of documents are written: by it the job is found again.
    pub root: String,
    /// Name of the job; made from the source when left out.
    #[serde(default)]
    pub name: Option<String>,
    /// Settings of the source that are to be otherwise; null takes one back.
    #[serde(default)]
    pub source: Map<String, Value>,
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
    /// When the job runs by itself: rules for windows, an interval, a text, or `none`.
    #[serde(default)]
    #[schemars(schema_with = "schema::schedule_or_none")]
    pub schedule: Option<Value>,
    /// Change the stored job to what differs; refused otherwise.
    #[serde(default)]
    pub update: bool,
    /// What the change takes out of outputs is not held.
    #[serde(default)]
    pub guard_off: bool,
    /// The source is meant to be everything on this machine.
    #[serde(default)]
    pub whole_machine: bool,
}

impl DefineJob {
    /// The part of a run's request that says what its job is.
    pub fn of(request: SyncSource) -> DefineJob {
        DefineJob {
            root: request.root,
            name: request.name,
            source: request.source,
            outputs: request.outputs,
            stages: request.stages,
            compare_content: request.compare_content,
            content_by: request.content_by,
            keep: request.keep,
            priority: request.priority,
            hops: request.hops,
            history: request.history,
            history_days: request.history_days,
            dates: request.dates,
            notify: request.notify,
            schedule: request.schedule,
            update: request.update,
            guard_off: request.guard_off,
            whole_machine: request.whole_machine,
        }
    }

    fn into_request(self) -> SyncSource {
        SyncSource {
            root: self.root,
            name: self.name,
            source: self.source,
            outputs: self.outputs,
            stages: self.stages,
            compare_content: self.compare_content,
            content_by: self.content_by,
            keep: self.keep,
            priority: self.priority,
            hops: self.hops,
            history: self.history,
            history_days: self.history_days,
            dates: self.dates,
            notify: self.notify,
            schedule: self.schedule,
            update: self.update,
            guard_off: self.guard_off,
            whole_machine: self.whole_machine,
            ..SyncSource::default()
        }
    }
}

/// A job as it is stored now.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Defined {
    /// Its name.
    pub job: String,
    /// There was none before.
    pub made: bool,
    /// What has changed, a clause each.
    pub changes: Vec<String>,
    /// Grows with each change of its definition.
    pub revision: i64,
}

fn define(context: &Context<'_>, caller: &Caller<'_>, request: DefineJob) -> Result<Defined> {
    let request = request.into_request();
    let reader = context.host.reader_up_to_date(&format!("definition of a job for {}", request.root))?;
    let wanted = asked::find(&context.registry, caller.places, reader.as_ref(), &request)?;
    wanted.check_outputs(context, reader.as_ref(), &BTreeSet::new())?;
    let changes = differences(&context.registry, &wanted);
    if !changes.is_empty() && !request.update {
        wanted.open_source(context)?;
        return Err(differs(&wanted, &changes));
    }
    let terms = Terms { guard_off: request.guard_off, whole_machine: request.whole_machine };
    wanted.check_all(context, caller.places, reader.as_ref(), (terms, &[]))?;
    let _claim = claim(context, &wanted)?;
    let writing = context.host.write(&format!("definition of a job for {}", wanted.root))?;
    wanted.prepare(context, &writing, terms, None)?;
    let job = wanted.store(&writing, context.now())?;
    Ok(Defined { made: wanted.stored.is_none(), job: job.name, changes, revision: job.revision })
}

/// Sees that nothing works on a job while its definition changes, until the answer is dropped. Its schedule and what it keeps of its runs may
/// change beside a run, which goes on as it was begun: nothing that outputs hold depends on them.
///
/// # Errors
/// `Running` while something does, `Deleting` for a job that is to go.
pub(crate) fn claim(context: &Context<'_>, wanted: &Wanted) -> Result<Option<Announced>> {
    let Some(stored) = wanted.stored.as_ref().filter(|_| wanted.changes()) else { return Ok(None) };
    let name = &stored.name;
    if stored.state == State::Deleting {
        let sentence = format!(
            "job {name} is being deleted, and cannot be changed; let that come to its end, then make it anew"
        );
        return Err(Problem::new(Code::Deleting, sentence));
    }
    if wanted.changes_beside_runs_alone() {
        return Ok(None);
    }
    Ok(Some(context.host.process().announce(stored, &context.host.cancel())?))
}
