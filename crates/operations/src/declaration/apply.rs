//! Jobs made and changed as a declaration says: counted first, then all of them stored, or none (design 4.12, 4.21).

use std::collections::BTreeSet;

use ingather_model::run_counts::RunCounts;
use ingather_store::jobs as stored;
use ingather_store::{Durability, Reader};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::authorities::{AuthorityChange, authorities};
use super::outputs::{OutputChange, outputs};
use super::repositories::{RepositoryChange, repositories};
use super::{Declaration, VERSION};
use crate::context::{Caller, Context, Places};
use crate::jobs::define::claim;
use crate::jobs::definition::allowed::refuse_of_the_machine;
use crate::jobs::definition::differences::differences;
use crate::jobs::definition::dry_run;
use crate::jobs::definition::wanted::{Terms, Wanted, store_all};
use crate::operation::schema;
use crate::operation::{Answering, Effect, Operation, Rest, Role, Shape, Verb, Words};
use crate::problem::{Code, Problem, Result};

const ASKED: &str = r#"{"declaration": {"version": 1, "repositories": {}, "outputs": {}, "jobs": [{"name": "share",
    "repository": "files", "source": {"root": "/srv/share"}, "compare_content": false}]}, "dry_run": true}"#;
const PLANNED: &str = r#"{"applied": false, "plan": "5e88a1f0c3d2b4a69788", "jobs": [{"job": "share", "change": "changes",
    "changes": ["exclude: none → drafts"], "leads_to": {"added": 0, "updated": 0, "access": 0, "unchanged": 1190,
    "skipped": 0, "failed": 0, "waiting": 0, "deleted": 10, "kept": 0, "held": 0, "partial": 0}}]}"#;
const APPLIED: &str = r#"{"applied": true, "jobs": [{"job": "share", "change": "changes",
    "changes": ["exclude: none → drafts"]}], "connections": [{"connection": "files",
    "changes": ["throttle: none → [{\"fetches_at_once\":2}]"]}], "outputs": [{"connection": "opensearch:docs",
    "changes": ["made: opensearch"], "unreached": "it was not reached, so that nobody knows whether it can be used: the server did not answer in time"}],
    "authorities": [{"connection": "directory",
    "changes": ["made: listed"]}]}"#;

/// Makes and changes jobs as a declaration says.
pub static APPLY: Answering<ApplyDeclaration, Applied> = Answering {
    operation: Operation {
        name: "declaration.apply",
        summary: "Makes and changes jobs, outputs, authorities, and throttles and groups of connections, as a declaration says, all of them or none; what it does not name stays.",
        request: Shape::of::<ApplyDeclaration>("ApplyDeclaration", &[ASKED]),
        item: None,
        answer: Shape::of::<Applied>("Applied", &[PLANNED, APPLIED]),
        role: Role::Admin,
        effect: Effect::Changes,
        rest: Rest::At(Verb::Post, "/declaration"),
        words: Words::Are("apply"),
        tool: false,
        problems: &[
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
    run: apply,
};

/// Asks to make and change jobs.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApplyDeclaration {
    /// What is wanted.
    pub declaration: Declaration,
    /// Count what it would change and what the next runs would do, and write nothing.
    #[serde(default)]
    pub dry_run: bool,
    /// The plan that a dry run named: refused when it would be another one now.
    #[serde(default)]
    pub plan: Option<String>,
    /// What changed definitions take out of outputs is not held.
    #[serde(default)]
    pub guard_off: bool,
    /// A source is meant to be everything on this machine.
    #[serde(default)]
    pub whole_machine: bool,
}

/// What changes, or has changed.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Applied {
    /// It is stored; false for what was only counted.
    pub applied: bool,
    /// Name of the plan, where it was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// The jobs of the declaration, in its order.
    pub jobs: Vec<JobChange>,
    /// The repository connections whose throttle or group changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub connections: Vec<ConnectionChange>,
    /// The outputs that are declared or change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<ConnectionChange>,
    /// The authorities that are made or change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub authorities: Vec<ConnectionChange>,
}

/// What becomes of a repository connection, an output or an authority.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConnectionChange {
    /// Its name.
    pub connection: String,
    /// What changes, a clause each.
    pub changes: Vec<String>,
    /// Of an output that is stored all the same: why its server could not be asked, and what asks it again, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreached: Option<String>,
}

/// What becomes of one job.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct JobChange {
    /// Its name.
    pub job: String,
    /// Whether it is made, changed, or as it was.
    pub change: JobChangeKind,
    /// What changes, a clause each.
    pub changes: Vec<String>,
    /// What its next run does, as far as it can be counted before; none where nothing was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::run_counts")]
    pub leads_to: Option<RunCounts>,
}

/// Whether a job is made, changed, or as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JobChangeKind {
    /// There is none of its name yet.
    Made,
    /// It is stored otherwise.
    Changes,
    /// It is as it is stored.
    Stays,
}

fn apply(context: &Context<'_>, caller: &Caller<'_>, request: ApplyDeclaration) -> Result<Applied> {
    let reader = match request.dry_run {
        true => context.host.reader()?,
        false => context.host.reader_up_to_date("apply of a declaration")?,
    };
    let terms = Terms { guard_off: request.guard_off, whole_machine: request.whole_machine };
    let repositories = repositories(context, reader.as_ref(), &request.declaration)?;
    let authorities = authorities(context, caller.places, reader.as_ref(), &request.declaration.authorities)?;
    let outputs = outputs(context, caller.places, reader.as_ref(), &request.declaration.outputs)?;
    let declared: BTreeSet<String> = request.declaration.outputs.keys().cloned().collect();
    let connections = Connections { repositories, outputs, authorities };
    let wanted = wanted(context, caller.places, reader.as_ref(), request.declaration)?;
    let mut jobs: Vec<JobChange> = wanted.iter().map(|one| change(context, one)).collect();
    for one in &wanted {
        one.check_outputs(context, reader.as_ref(), &declared)
            .and_then(|()| one.check_all(context, caller.places, reader.as_ref(), (terms, &wanted)))
            .map_err(|problem| problem.about(&format!("job {}", one.definition.name)))?;
    }
    let counted = request.dry_run || request.plan.is_some();
    let plan = if counted {
        Some(count(context, reader.as_ref(), (&wanted, &connections), terms, &mut jobs)?)
    } else {
        None
    };
    if let (Some(asked), Some(plan)) = (&request.plan, &plan)
        && asked != plan
    {
        return Err(Problem::new(
            Code::Outdated,
            format!(
                "plan {asked} is not what would be done now, which is {plan}; look at it again with a dry run"
            ),
        ));
    }
    if !request.dry_run {
        store(context, &wanted, &connections, terms)?;
    }
    let Connections { repositories, outputs, authorities } = connections;
    let connections = repositories.iter().map(RepositoryChange::change).collect();
    let outputs = outputs.iter().map(OutputChange::change).collect();
    let authorities = authorities.iter().map(AuthorityChange::change).collect();
    Ok(Applied { applied: !request.dry_run, plan, jobs, connections, outputs, authorities })
}

/// What a declaration changes of connections.
struct Connections {
    repositories: Vec<RepositoryChange>,
    outputs: Vec<OutputChange>,
    authorities: Vec<AuthorityChange>,
}

/// The jobs of a declaration as they are stored and wanted; each name once.
fn wanted(
    context: &Context<'_>,
    places: Places<'_>,
    reader: Option<&Reader>,
    declaration: Declaration,
) -> Result<Vec<Wanted>> {
    if declaration.version != VERSION {
        let sentence =
            format!("the declaration is of version {}; this program takes {VERSION}", declaration.version);
        return Err(Problem::new(Code::Definition, sentence));
    }
    let mut names = BTreeSet::new();
    let mut wanted = Vec::with_capacity(declaration.jobs.len());
    for job in declaration.jobs {
        if !names.insert(job.name.clone()) {
            let sentence = format!("job {} is declared twice; a job has one declaration", job.name);
            return Err(Problem::new(Code::Definition, sentence));
        }
        let stored = match reader {
            Some(reader) => reader.read(|sql| stored::by_name(sql, &job.name))?,
            None => None,
        };
        refuse_of_the_machine(places, &context.registry, stored.as_ref(), job.stages.as_deref())?;
        wanted.push(job.wanted(&context.registry, stored)?);
    }
    Ok(wanted)
}

fn change(context: &Context<'_>, one: &Wanted) -> JobChange {
    let kind = match (&one.stored, one.changes()) {
        (None, _) => JobChangeKind::Made,
        (Some(_), true) => JobChangeKind::Changes,
        (Some(_), false) => JobChangeKind::Stays,
    };
    let changes = differences(&context.registry, one);
    JobChange { job: one.definition.name.clone(), change: kind, changes, leads_to: None }
}

/// Counts what the next runs of the jobs that change do; the name of the plan, which is of definitions, what they change, and these
/// counts.
fn count(
    context: &Context<'_>,
    reader: Option<&Reader>,
    (wanted, connections): (&[Wanted], &Connections),
    terms: Terms,
    jobs: &mut [JobChange],
) -> Result<String> {
    let mut plan = blake3::Hasher::new();
    connections.repositories.iter().for_each(|repository| repository.put_into(&mut plan));
    connections.outputs.iter().for_each(|output| output.put_into(&mut plan));
    connections.authorities.iter().for_each(|authority| authority.put_into(&mut plan));
    for (one, job) in wanted.iter().zip(jobs).filter(|(one, _)| one.changes()) {
        let (_, report) = dry_run::count_only(context, reader.cloned(), one, terms, terms.options())
            .map_err(|problem| problem.about(&format!("job {}", one.definition.name)))?;
        if let Some(error) = report.error {
            let sentence = format!("job {}: what it leads to cannot be counted: {error}", job.job);
            return Err(Problem::unable(sentence));
        }
        job.leads_to = Some(report.counts);
        let revision = one.stored.as_ref().map(|stored| (stored.id.0, stored.revision));
        let text = serde_json::to_string(&(&one.definition, revision, report.counts)).unwrap_or_default();
        plan.update(&(text.len() as u64).to_le_bytes());
        plan.update(text.as_bytes());
    }
    Ok(plan.finalize().to_hex()[..20].to_owned())
}

fn store(context: &Context<'_>, wanted: &[Wanted], connections: &Connections, terms: Terms) -> Result<()> {
    let Connections { repositories, outputs, authorities } = connections;
    let changing: Vec<&Wanted> = wanted.iter().filter(|one| one.changes()).collect();
    if changing.is_empty() && repositories.is_empty() && outputs.is_empty() && authorities.is_empty() {
        return Ok(());
    }
    // No run of any of them begins until all are stored.
    let _claims = changing.iter().map(|one| claim(context, one)).collect::<Result<Vec<_>>>()?;
    let writing = context.host.write("apply of a declaration")?;
    // A job is refused whose outputs cannot be opened, and an output is opened by what is stored of it. One that no job uses does nothing.
    writing.store.write(Durability::Synced, |sql| {
        writing.lease.fence(sql)?;
        outputs.iter().try_for_each(|one| one.store(sql, context.now()))
    })?;
    for one in &changing {
        one.prepare(context, &writing, terms, None)
            .map_err(|problem| problem.about(&format!("job {}", one.definition.name)))?;
    }
    store_all(&writing, &changing, context.now(), |sql| {
        repositories.iter().try_for_each(|one| one.store(sql, context.now()))?;
        authorities.iter().try_for_each(|one| one.store(sql, context.now()))
    })?;
    // For what is under way, too.
    let reader = writing.store.reader();
    repositories.iter().try_for_each(|repository| repository.begin(context, reader))
}
