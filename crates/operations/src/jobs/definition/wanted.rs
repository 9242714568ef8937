//! A job as it is stored and as it is wanted: found or new, refused or stored.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ingather_contract::refers::Refers;
use ingather_contract::registry::Registry;
use ingather_contract::repository::{HostContext, Repository};
use ingather_engine::jobs::check_pipeline;
use ingather_engine::{Mode, Options, Report, outputs};
use ingather_model::fault::Fault;
use ingather_model::job::notify::Notify;
use ingather_model::job::schedule::Schedule;
use ingather_model::job::{ADDRESSES, Definition, RunKind};
use ingather_model::names;
use ingather_model::run_counts::{RunCounts, counted, number};
use ingather_store::connections::{self, Declared, Role};
use ingather_store::jobs::{self, Job};
use ingather_store::{Durability, Reader, Sql, StoreError, deliveries, documents};

use super::dry_run;
use crate::connections::Sources;
use crate::context::{Context, Places, Writing, journals};
use crate::jobs::moving::addresses::{Placed, refuse_borrowed, refuse_clashes};
use crate::jobs::schedule;
use crate::problem::{Code, Problem, Result};

/// Setting of sources that applications push into: which keys are addresses.
const ADDRESS_PREFIXES: &str = "address_prefixes";
/// Characters of a job's name.
pub(super) const NAME_MAX: usize = 64;
/// Outputs that are named to whoever names one that there is not.
const NAMED_MAX: usize = 20;
/// Deliveries that are counted at once.
const HELD_PAGE: usize = 10_000;

/// A job, as it is stored and as it is wanted.
pub(crate) struct Wanted {
    pub(crate) stored: Option<Job>,
    pub(crate) definition: Definition,
    pub(crate) root: String,
}

/// What a person said beside a definition.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Terms {
    /// What the definition takes out of outputs is not held.
    pub(crate) guard_off: bool,
    /// The source is meant to be everything on this machine.
    pub(crate) whole_machine: bool,
}

impl Terms {
    /// A run by these terms that takes the source as it is.
    pub(crate) fn options(self) -> Options {
        Options {
            kind: RunKind::Full,
            mode: Mode::Write,
            guard_off: self.guard_off,
            accepts_devices: false,
            rereads: false,
            goes_on: false,
            is_pass: false,
        }
    }
}

pub(super) fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || "._-".contains(c)
}

/// Refuses names that nobody can type, or that look like something else; jobs that are stored keep theirs.
pub(crate) fn refuse_name(name: &str) -> Result<()> {
    let short = name.chars().count() <= NAME_MAX;
    if short
        && !name.is_empty()
        && !name.starts_with(['.', '-'])
        && name.chars().all(|c| is_of_name(c) || c == ' ')
    {
        return Ok(());
    }
    Err(Problem::usage(format!(
        "{:?} is not a valid name for a job; use letters, digits, spaces, `_`, and `.` or `-` but not at the beginning, at most {NAME_MAX} characters",
        name.chars().take(NAME_MAX).collect::<String>()
    )))
}

/// The path of a source, of its name.
pub(crate) fn path_of(root: &str) -> Result<PathBuf> {
    let bytes = names::unescape(root).map_err(Problem::usage)?;
    Ok(PathBuf::from(OsStr::from_bytes(&bytes)))
}

impl Wanted {
    /// Refuses what cannot be stored, before anything is made; [`Wanted::check_outputs`] comes first. `all` are the jobs that are stored
    /// together.
    pub(crate) fn check_all(
        &self,
        context: &Context<'_>,
        places: Places<'_>,
        reader: Option<&Reader>,
        (terms, all): (Terms, &[Wanted]),
    ) -> Result<()> {
        self.refuse_another_root()?;
        let is_new = self.stored.is_none();
        match Sources::of_root(&self.root).are_files() {
            true => self.refuse_folder(context, places, terms)?,
            false => self.refuse_address(&context.registry, places)?,
        }
        if is_new {
            refuse_name(&self.definition.name)?;
        }
        self.refuse_other_addresses(places)?;
        self.refuse_clashing_addresses(context, reader, all)?;
        let known = self.stored.as_ref().map(|job| journals(&job.definition)).unwrap_or_default();
        for file in journals(&self.definition).iter().filter(|file| !known.contains(file)) {
            places.refuse_elsewhere(Path::new(file))?;
        }
        self.check(context)?;
        reader.map_or(Ok(()), |reader| self.refuse_leaving(reader, terms.guard_off))
    }

    /// Refuses addresses by which an output would know other files, as far as something changes that they depend on.
    fn refuse_clashing_addresses(
        &self,
        context: &Context<'_>,
        reader: Option<&Reader>,
        all: &[Wanted],
    ) -> Result<()> {
        // What two jobs find at one address of the web is one document.
        let are_files = |root: &str| Sources::of_root(root).are_files();
        if !self.changes() || self.changes_beside_runs_alone() || !are_files(&self.root) {
            return Ok(());
        }
        let stored = reader.map_or(Ok(Vec::new()), |reader| reader.read(jobs::list))?;
        let is_wanted = |job: &Job| all.iter().any(|one| one.definition.name == job.name);
        let others = stored.iter().filter(|job| !is_wanted(job) && are_files(&job.root));
        let others: Vec<Placed<'_>> = others.map(Placed::of).collect();
        refuse_borrowed(self.placed(), &others)?;
        let wanted = all.iter().filter(|one| are_files(&one.root));
        let all = others.into_iter().chain(wanted.map(Wanted::placed));
        refuse_clashes(&context.registry, self.placed(), all)
    }

    fn placed(&self) -> Placed<'_> {
        Placed {
            name: &self.definition.name,
            root: &self.root,
            definition: &self.definition,
            is_new: self.stored.is_none(),
        }
    }

    /// What addresses begin with changes with the root of a job, by its move alone; else outputs would hold entries that nobody takes out.
    fn refuse_other_addresses(&self, places: Places<'_>) -> Result<()> {
        let of = |definition: &Definition, name: &str| {
            definition.source.get(name).filter(|said| !said.is_null()).cloned()
        };
        if let Some(stored) = &self.stored
            && of(&stored.definition, ADDRESS_PREFIXES) != of(&self.definition, ADDRESS_PREFIXES)
        {
            let name = &stored.name;
            let sentence = format!(
                "`source.{ADDRESS_PREFIXES}` of job {name} says under which addresses outputs hold its records, and cannot change; \
                 `ingather job delete {name}`, then make it anew and push everything again"
            );
            return Err(Problem::new(Code::Definition, sentence));
        }
        let said = |definition: &Definition| of(definition, ADDRESSES);
        let wanted = said(&self.definition);
        match &self.stored {
            Some(stored) if said(&stored.definition) == wanted => Ok(()),
            Some(stored) => {
                let sentence = format!(
                    "`source.{}` of job {} changes by `ingather job move` alone; leave it as it is",
                    ADDRESSES, stored.name
                );
                Err(Problem::new(Code::Definition, sentence))
            }
            None => match wanted.as_ref().and_then(|wanted| wanted.as_str()) {
                Some(addresses) => places.refuse_elsewhere(&path_of(addresses)?),
                None => Ok(()),
            },
        }
    }

    /// A job is of one source: what is asked of its root here is asked of what its runs read.
    fn refuse_another_root(&self) -> Result<()> {
        let said = |definition: &Definition| definition.source.get("root").cloned();
        let wanted = said(&self.definition);
        let is_own = wanted == Some(self.root.as_str().into())
            || self.stored.as_ref().is_some_and(|stored| said(&stored.definition) == wanted);
        if is_own {
            return Ok(());
        }
        Err(Problem::new(
            Code::Definition,
            format!(
                "`source.root` of job {0} is not its root, {1}; leave it out, define a job for that other source, or, where its own is there \
                 now, `ingather job move {0}`",
                self.definition.name, self.root
            ),
        ))
    }

    /// Refuses outputs that there cannot be: nobody has to change a job before that is said. `declared` are those that are declared with it.
    pub(crate) fn check_outputs(
        &self,
        context: &Context<'_>,
        reader: Option<&Reader>,
        declared: &BTreeSet<String>,
    ) -> Result<()> {
        let known = declared_outputs(context, reader)?;
        for name in &self.definition.outputs {
            let kind = name.split(':').next().unwrap_or_default();
            let has_declared = outputs::is_declared(&context.registry, kind);
            let refused = match outputs::builtin(&context.registry, name) {
                Ok(_) if !has_declared || declared.contains(name) || known.contains(name) => continue,
                Ok(_) => outputs::undeclared(name),
                Err(refused) => refused,
            };
            let forms = known.iter().map(|name| format!("`--to {name}`")).take(NAMED_MAX);
            let forms = forms.collect::<Vec<String>>().join(", ");
            // Whoever has misspelt one of a kind that is never declared looks for none of these.
            let is_other = context.registry.output(kind).is_some() && !has_declared;
            return Err(match is_other || forms.is_empty() {
                true => refused.into(),
                false => Problem::from(refused).with(&format!("; declared so far: {forms}")),
            });
        }
        Ok(())
    }

    /// Opens its source, or refuses settings that cannot work: nobody has to change a job before that is said. Nothing is asked of the source.
    pub(crate) fn open_source(&self, context: &Context<'_>) -> Result<Arc<dyn Repository>> {
        let connector = Sources::of_root(&self.root).connector;
        let kind = context.registry.repository(connector).ok_or_else(|| {
            Problem::unable(format!("this program was built without the connector `{connector}`"))
        })?;
        let host = HostContext { threads: 1, ..HostContext::default() };
        (kind.open)(&self.definition.source, &host)
            .map_err(|fault| Problem::new(Code::Settings, fault.to_string()))
    }

    /// Refuses settings that cannot work, and a new source that cannot be read, before anything is made.
    fn check(&self, context: &Context<'_>) -> Result<()> {
        let repository = self.open_source(context)?;
        if self.stored.as_ref().is_none_or(|stored| stored.definition != self.definition) {
            check_pipeline(&self.definition, &context.registry)?;
        }
        let before = self.stored.as_ref().and_then(|stored| stored.definition.schedule.as_ref());
        if let Some(schedule) = self.definition.schedule.as_ref().filter(|new| before != Some(*new)) {
            schedule::check(schedule, context.now()).map_err(|why| Problem::new(Code::Definition, why))?;
        }
        let relations = repository.refers().map(Refers::relations).unwrap_or_default();
        self.definition.hops.among(relations).map_err(|why| Problem::new(Code::Definition, why))?;
        let is_continuous = self.definition.schedule == Some(Schedule::Continuous);
        self.definition
            .dates
            .check(is_continuous, !self.lists(&context.registry))
            .map_err(|why| Problem::new(Code::Definition, why))?;
        self.refuse_unknown_notifiers(context)?;
        self.definition.history.check().map_err(|why| Problem::new(Code::Definition, why))?;
        if self.stored.is_some() {
            return Ok(());
        }
        repository.check(&context.call()).map(drop).map_err(|fault| match fault {
            Fault::Gone => {
                Problem::new(Code::Source, format!("{} does not exist; nothing was changed", self.root))
            }
            // Too few file handles, a disk that fails: nobody wrote anything wrong.
            fault @ Fault::Passing { .. } => Problem::unable(format!("{fault}; nothing was changed")),
            fault => Problem::new(Code::Source, format!("{fault}; nothing was changed")),
        })
    }

    /// Refuses names of notifiers that a service has not, where a service is asked: elsewhere nobody knows which there will be.
    fn refuse_unknown_notifiers(&self, context: &Context<'_>) -> Result<()> {
        let Some(there) = context.host.notifiers() else { return Ok(()) };
        let known = self.stored.as_ref().map_or(&[][..], |job| &job.definition.notify);
        let mut new = self.definition.notify.iter().filter(|notify| !known.contains(notify));
        match new.find(|notify| !there.contains(&notify.to)) {
            None => Ok(()),
            Some(Notify { to, .. }) => {
                let names = if there.is_empty() { "none".to_owned() } else { there.join(", ") };
                let sentence = format!(
                    "there is no notifier `{to}`; whoever runs the service declares them (`ingather serve --notifiers`), there is {names}"
                );
                Err(Problem::new(Code::Definition, sentence))
            }
        }
    }

    /// Refuses to leave an output that holds much of the job, unless the guard is off: nothing could hold these removals, which
    /// are not those of single documents.
    fn refuse_leaving(&self, reader: &Reader, guard_off: bool) -> Result<()> {
        let Some(stored) = self.stored.as_ref().filter(|_| !guard_off) else { return Ok(()) };
        let known = reader.read(|sql| documents::total(sql, stored.id))?;
        for name in stored.definition.outputs.iter().filter(|name| !self.definition.outputs.contains(name)) {
            let Some(connection) = reader.read(|sql| connections::find(sql, Role::Output, name))? else {
                continue;
            };
            let (mut held, mut after) = (0, 0);
            loop {
                let page = reader
                    .read(|sql| deliveries::of_output(sql, connection.id, stored.id, after, HELD_PAGE))?;
                let Some(last) = page.last() else { break };
                after = *last;
                held += page.len() as u64;
            }
            if stored.definition.delete_guard.holds(held, known, false) {
                return Err(Problem::usage(format!(
                    "job {} would leave output {name}, which holds {} of its documents; name both with --to, or add \
                     --delete-guard off",
                    stored.name,
                    number(held)
                )));
            }
        }
        Ok(())
    }

    /// Whether a change of the pipeline may let conditions keep documents from outputs that hold them.
    fn may_keep_out(&self) -> bool {
        let Some(stored) = &self.stored else { return false };
        let (old, new) = (&stored.definition, &self.definition);
        let decides = new.stages.iter().any(|stage| stage.when.is_some())
            || new.routes.values().any(|route| route.when.is_some());
        decides && (&old.stages, &old.routes) != (&new.stages, &new.routes)
    }

    /// Refuses conditions that would take much of the job out of outputs, unless the guard is off: what they keep out counts like what
    /// a rule leaves out, and nothing could hold what leaves one output alone. `report` is of a run that wrote nothing.
    pub(crate) fn refuse_keeping_out(&self, reader: &Reader, report: &Report, guard_off: bool) -> Result<()> {
        let Some(stored) = self.stored.as_ref().filter(|_| !guard_off && self.may_keep_out()) else {
            return Ok(());
        };
        let known = reader.read(|sql| documents::total(sql, stored.id))?;
        let is_whole = report.error.is_none() && !report.stopped;
        let unjudged = if is_whole { report.counts.waiting + report.counts.kept } else { known };
        if self.definition.delete_guard.holds(report.kept_out, known, false) {
            return Err(Problem::usage(format!(
                "the conditions of the pipeline would take {} of {} of job {} out of outputs that hold them; \
                 change the conditions, or add --delete-guard off",
                number(report.kept_out),
                counted(known, "document"),
                stored.name
            )));
        }
        if self.definition.delete_guard.holds(report.kept_out + unjudged, known, false) {
            return Err(Problem::usage(format!(
                "nobody can tell what the conditions of the pipeline would take out of outputs: {} of {} of job {} could not be looked \
                 at; run the command again when the source can be read, or add --delete-guard off",
                number(unjudged),
                counted(known, "document"),
                stored.name
            )));
        }
        Ok(())
    }

    /// Whether its source can be listed, so that what a run would do can be counted before.
    fn lists(&self, registry: &Registry) -> bool {
        let kind = registry.repository(Sources::of_root(&self.root).connector);
        kind.is_none_or(|kind| kind.capabilities.list)
    }

    /// Whether it is to be stored otherwise than it is.
    pub(crate) fn changes(&self) -> bool {
        self.stored.as_ref().is_none_or(|stored| stored.definition != self.definition)
    }

    /// Whether nothing is to be otherwise but what no run depends on: its schedule and its priority, its history, and who is told of it.
    pub(crate) fn changes_beside_runs_alone(&self) -> bool {
        let with_those = |stored: &Job| Definition {
            schedule: self.definition.schedule.clone(),
            history: self.definition.history,
            notify: self.definition.notify.clone(),
            priority: self.definition.priority,
            ..stored.definition.clone()
        };
        self.stored.as_ref().is_some_and(|stored| with_those(stored) == self.definition)
    }

    /// Makes ready what storing it needs: outputs that are new to it can be opened, and its conditions take nothing out of outputs
    /// that should be held. What the next run will do, where that is to be counted, or the conditions ask for it.
    pub(crate) fn prepare(
        &self,
        context: &Context<'_>,
        writing: &Writing,
        terms: Terms,
        counts: Option<Options>,
    ) -> Result<Option<RunCounts>> {
        let mut leads_to = None;
        let lists = self.lists(&context.registry);
        if !lists && self.may_keep_out() && !terms.guard_off {
            return Err(Problem::usage(
                "nobody can tell what the conditions of the pipeline would take out of outputs, before the links of the source were followed; \
                 add --delete-guard off",
            ));
        }
        if lists && (counts.is_some() || (self.may_keep_out() && !terms.guard_off)) {
            let reader = writing.store.reader();
            let options = counts.unwrap_or_else(|| terms.options());
            let report = dry_run::report(context, reader.clone(), self, options)?;
            self.refuse_keeping_out(reader, &report, terms.guard_off)?;
            leads_to = Some(report.counts);
        }
        let before = self.stored.as_ref().map_or(&[][..], |job| &job.definition.outputs);
        let engine = context.engine(writing.store.reader().clone(), Some(writing), &[]);
        self.definition
            .outputs
            .iter()
            .filter(|name| !before.contains(name))
            .try_for_each(|name| engine.try_output(name))?;
        Ok(leads_to)
    }

    /// Stores it, and answers as it is stored.
    pub(crate) fn store(&self, writing: &Writing, now: i64) -> Result<Job> {
        if let Some(stored) = self.stored.as_ref().filter(|_| !self.changes()) {
            return Ok(stored.clone());
        }
        let stored = store_all(writing, &[self], now, |_| Ok(()))?;
        stored.into_iter().next().ok_or_else(outdated)
    }
}

/// Names of the outputs that were declared, since no name has room for their settings.
fn declared_outputs(context: &Context<'_>, reader: Option<&Reader>) -> Result<Vec<String>> {
    let known = reader.map(|reader| reader.read(connections::list)).transpose()?.unwrap_or_default();
    let is_declared =
        |one: &Declared| one.role == Role::Output && outputs::is_declared(&context.registry, &one.kind);
    Ok(known.into_iter().filter(is_declared).map(|one| one.name).collect())
}

/// Stores jobs, all of them or none, and answers as they are stored; `beside` is what is stored with them.
///
/// # Errors
/// `Outdated` when somebody changed one of them since it was looked at.
pub(crate) fn store_all(
    writing: &Writing,
    wanted: &[&Wanted],
    now: i64,
    beside: impl Fn(&mut Sql<'_>) -> std::result::Result<(), StoreError>,
) -> Result<Vec<Job>> {
    let repository = |one: &&Wanted| Sources::of_root(&one.root).connected(&writing.store, now);
    let repositories = wanted.iter().map(repository).collect::<Result<Vec<_>>>()?;
    let stored = writing.store.write(Durability::Synced, |sql| {
        writing.lease.fence(sql)?;
        // Before anything is written: all of them are as they were seen, or none is changed.
        for one in wanted {
            let found = jobs::by_name(sql, &one.definition.name)?;
            let is_as_seen = match (&one.stored, &found) {
                (Some(seen), Some(found)) => (seen.id, seen.revision) == (found.id, found.revision),
                (seen, found) => seen.is_none() && found.is_none(),
            };
            if !is_as_seen {
                return Ok(None);
            }
        }
        // First what jobs are of: a connection may become one of another group as long as none uses it.
        beside(sql)?;
        let mut stored = Vec::with_capacity(wanted.len());
        for (one, repository) in wanted.iter().zip(&repositories) {
            let id = match &one.stored {
                Some(job) => {
                    if one.changes() {
                        jobs::define(sql, job, &one.definition, now)?;
                    }
                    job.id
                }
                None => jobs::add(sql, repository.id, &one.root, &one.definition, now)?,
            };
            stored.extend(jobs::get(sql, id)?);
        }
        Ok(Some(stored))
    })?;
    stored.ok_or_else(outdated)
}

fn outdated() -> Problem {
    Problem::new(
        Code::Outdated,
        "the job was changed or deleted while this was asked; look again, then ask again",
    )
}
