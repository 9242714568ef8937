//! The job that a run is asked for: found or new, as it is stored and as it is wanted.

use ingather_contract::registry::Registry;
use ingather_engine::jobs::check_pipeline;
use ingather_engine::{Report, outputs};
use ingather_model::fault::Fault;
use ingather_model::guard::Guard;
use ingather_model::job::{ContentBy, Definition, Keep, Stage};
use ingather_model::run_counts::{counted, number};
use ingather_store::connections::{self, Role};
use ingather_store::jobs::{self, Job};
use ingather_store::{Durability, Reader, Store, deliveries, documents};
use serde_json::{Value, json};

use super::SyncSource;
use crate::connections::{FILES, files};
use crate::context::Context;
use crate::jobs::{KeepWord, schedule};
use crate::pipeline;
use crate::problem::{Code, Problem, Result};

/// Characters of a job's name.
const NAME_MAX: usize = 64;
/// Deliveries that are counted at once.
const HELD_PAGE: usize = 10_000;

/// The job that a request speaks of, as it is and as it is wanted.
pub(super) struct Wanted {
    pub(super) stored: Option<Job>,
    pub(super) definition: Definition,
    pub(super) root: String,
}

pub(super) fn find(registry: &Registry, reader: Option<&Reader>, request: &SyncSource) -> Result<Wanted> {
    let stored = match reader {
        Some(reader) => find_stored(reader, request)?,
        None => None,
    };
    let definition = match &stored {
        Some(job) => job.definition.clone(),
        None => new_definition(reader, request)?,
    };
    let definition = with_changes(registry, definition, request)?;
    Ok(Wanted { stored, definition, root: request.root.clone() })
}

fn find_stored(reader: &Reader, request: &SyncSource) -> Result<Option<Job>> {
    let root = request.root.as_str();
    if let Some(name) = &request.name {
        let job = reader.read(|sql| jobs::by_name(sql, name))?;
        if let Some(job) = &job
            && job.root != root
        {
            return Err(Problem::usage(format!(
                "job {name} is for {}, not for {root}; choose another --name",
                job.root
            )));
        }
        return Ok(job);
    }
    let found = reader.read(|sql| {
        let Some(connection) = connections::find(sql, Role::Repository, FILES.1)? else {
            return Ok(Vec::new());
        };
        jobs::by_root(sql, connection.id, root)
    })?;
    if found.len() > 1 {
        let names: Vec<String> = found.into_iter().map(|job| job.name).collect();
        return Err(Problem::usage(format!(
            "{root} has several jobs: {}; say which with --name",
            names.join(", ")
        )));
    }
    Ok(found.into_iter().next())
}

fn new_definition(reader: Option<&Reader>, request: &SyncSource) -> Result<Definition> {
    let taken: Vec<String> = match reader {
        Some(reader) => reader.read(jobs::list)?.into_iter().map(|job| job.name).collect(),
        None => Vec::new(),
    };
    let root = request.root.as_str();
    let base = request.name.clone().unwrap_or_else(|| {
        let last = root.rsplit('/').find(|part| !part.is_empty()).unwrap_or("root");
        let begins_well = last.trim_start_matches(['.', '-']);
        let name: String =
            begins_well.chars().map(|c| if is_of_name(c) { c } else { '-' }).take(NAME_MAX - 8).collect();
        if name.is_empty() { "root".to_owned() } else { name }
    });
    let free = std::iter::once(base.clone()).chain((2..).map(|n| format!("{base}-{n}")));
    let name = free.into_iter().find(|name| !taken.contains(name)).unwrap_or(base);
    Ok(Definition {
        name,
        repository: FILES.1.to_owned(),
        source: json!({ "root": root }),
        stages: vec![Stage { transform: "text".to_owned(), settings: json!({}), ..Stage::default() }],
        outputs: vec!["index".to_owned()],
        routes: std::collections::BTreeMap::new(),
        retired: Vec::new(),
        delete_guard: Guard::default(),
        compare_content: false,
        keep: Keep::Nothing,
        content_by: ContentBy::Read,
        schedule: None,
    })
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || "._-".contains(c)
}

/// Refuses names that nobody can type, or that look like something else; jobs that are stored keep theirs.
pub(super) fn refuse_name(name: &str) -> Result<()> {
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

/// A definition with what the request says; what is left out changes nothing.
fn with_changes(registry: &Registry, mut definition: Definition, request: &SyncSource) -> Result<Definition> {
    if let Some(source) = definition.source.as_object_mut() {
        for (name, value) in &request.source {
            match value {
                // As in a job that never had it.
                Value::Null => drop(source.remove(name)),
                value => drop(source.insert(name.clone(), value.clone())),
            }
        }
    }
    if let Some(compares) = request.compare_content {
        definition.compare_content = compares;
    }
    if let Some(word) = request.content_by {
        definition.content_by = word.into();
    }
    match request.keep {
        Some(KeepWord::Extracted) => definition.keep = Keep::Extracted,
        Some(KeepWord::Nothing) => definition.keep = Keep::Nothing,
        None => {}
    }
    if let Some(given) = &request.schedule {
        definition.schedule = schedule::given(given).map_err(|why| Problem::new(Code::Definition, why))?;
    }
    let before = definition.outputs.clone();
    let (stages, to) = (request.stages.as_deref(), request.outputs.as_deref());
    pipeline::with_pipeline(registry, &mut definition, stages, to)
        .map_err(|why| Problem::new(Code::Definition, why))?;
    if to.is_some() {
        let left = before.into_iter().filter(|name| !definition.outputs.contains(name));
        definition.retired.extend(left);
        definition.retired.retain(|name| !definition.outputs.contains(name));
        definition.retired.dedup();
    }
    Ok(definition)
}

impl Wanted {
    /// Refuses outputs that there cannot be: nobody has to change a job before that is said.
    pub(super) fn check_outputs(&self, context: &Context<'_>) -> Result<()> {
        let kind = |name: &String| outputs::builtin(&context.registry, name).map(|_| ());
        Ok(self.definition.outputs.iter().try_for_each(kind)?)
    }

    /// Refuses settings that cannot work, and a new source that cannot be read, before anything is made.
    pub(super) fn check(&self, context: &Context<'_>) -> Result<()> {
        let kind = context
            .registry
            .repository(FILES.0)
            .ok_or_else(|| Problem::unable("this program was built without the filesystem connector"))?;
        let host = ingather_contract::repository::HostContext { own: Vec::new(), threads: 1 };
        let repository = (kind.open)(&self.definition.source, &host)
            .map_err(|fault| Problem::new(Code::Settings, fault.to_string()))?;
        if self.stored.as_ref().is_none_or(|stored| stored.definition != self.definition) {
            check_pipeline(&self.definition, &context.registry)?;
        }
        let before = self.stored.as_ref().and_then(|stored| stored.definition.schedule.as_ref());
        if let Some(schedule) = self.definition.schedule.as_ref().filter(|new| before != Some(*new)) {
            schedule::check(schedule, context.now()).map_err(|why| Problem::new(Code::Definition, why))?;
        }
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

    /// Refuses to leave an output that holds much of the job, unless the guard is off: nothing could hold these removals, which
    /// are not those of single documents.
    pub(super) fn refuse_leaving(&self, reader: &Reader, guard_off: bool) -> Result<()> {
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
    pub(super) fn may_keep_out(&self) -> bool {
        let Some(stored) = &self.stored else { return false };
        let (old, new) = (&stored.definition, &self.definition);
        let decides = new.stages.iter().any(|stage| stage.when.is_some())
            || new.routes.values().any(|route| route.when.is_some());
        decides && (&old.stages, &old.routes) != (&new.stages, &new.routes)
    }

    /// Refuses conditions that would take much of the job out of outputs, unless the guard is off: what they keep out counts like what
    /// a rule leaves out, and nothing could hold what leaves one output alone. `report` is of a run that wrote nothing.
    pub(super) fn refuse_keeping_out(&self, reader: &Reader, report: &Report, guard_off: bool) -> Result<()> {
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

    /// Stores it: new, changed, or as it was.
    pub(super) fn store(&self, store: &Store, now: i64) -> Result<Job> {
        let repository = files(store, now)?;
        let id = match &self.stored {
            Some(job) if job.definition == self.definition => job.id,
            Some(job) => {
                store.write(Durability::Synced, |sql| jobs::define(sql, job.id, &self.definition, now))?;
                job.id
            }
            None => store.write(Durability::Synced, |sql| {
                jobs::add(sql, repository.id, &self.root, &self.definition, now)
            })?,
        };
        let job = store.reader().read(|sql| jobs::get(sql, id))?;
        job.ok_or_else(|| {
            Problem::unable("the job went away while it was being stored; run the command again")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_STAGES: Registry =
        Registry { repositories: &[], transforms: &[], outputs: &[], authorities: &[] };

    fn changed(definition: Definition, request: Value) -> Definition {
        let request = serde_json::from_value(request).unwrap();
        with_changes(&NO_STAGES, definition, &request).unwrap()
    }

    #[test]
    fn what_a_request_leaves_out_stays_and_null_takes_a_setting_back() {
        let request = serde_json::from_value(json!({"root": "/srv/share"})).unwrap();
        let new = new_definition(None, &request).unwrap();
        assert_eq!((new.name.as_str(), &new.outputs), ("share", &vec!["index".to_owned()]));
        let set = changed(
            new.clone(),
            json!({"root": "/srv/share", "source": {"exclude": ["a"]}, "keep": "extracted", "compare_content": true}),
        );
        assert_eq!(set.source, json!({"root": "/srv/share", "exclude": ["a"]}));
        assert_eq!(changed(set.clone(), json!({"root": "/srv/share"})), set);
        let back = json!({"root": "/srv/share", "source": {"exclude": null}, "keep": "nothing", "compare_content": false});
        assert_eq!(changed(set, back), new);
    }

    #[test]
    fn a_schedule_is_set_kept_and_taken_back() {
        let request = serde_json::from_value(json!({"root": "/srv/share"})).unwrap();
        let new = new_definition(None, &request).unwrap();
        let set = changed(new.clone(), json!({"root": "/srv/share", "schedule": "TZ=Asia/Tokyo 0 2 * * *"}));
        assert_eq!(set.schedule.as_ref().unwrap().describe(), "daily at 02:00 Asia/Tokyo");
        assert_eq!(changed(set.clone(), json!({"root": "/srv/share"})), set);
        let rules = changed(set.clone(), json!({"root": "/srv/share", "schedule": [{"hours": [2]}]}));
        assert_eq!(rules.schedule.unwrap().describe(), "daily at 02:00 UTC");
        assert_eq!(changed(set, json!({"root": "/srv/share", "schedule": " none "})), new);
        for (schedule, says) in
            [("0 2 * *", "cron has five"), ("TZ=Middle/Earth @daily", "the time zone `Middle/Earth`")]
        {
            let request =
                serde_json::from_value(json!({"root": "/srv/share", "schedule": schedule})).unwrap();
            let refused = with_changes(&NO_STAGES, new.clone(), &request).unwrap_err().to_string();
            assert!(refused.contains(says), "{refused}");
        }
    }

    #[test]
    fn an_output_that_is_only_named_keeps_its_place_and_new_stages_take_it_away() {
        let request = serde_json::from_value(json!({"root": "/srv/share"})).unwrap();
        let new = new_definition(None, &request).unwrap();
        let when = json!({"field": "size", "above": 1.0});
        let routed =
            json!([{"output": "null", "when": when}, {"output": "index", "after": "text"}, "journal:/x"]);
        let placed = changed(new, json!({"root": "/srv/share", "outputs": routed}));
        assert_eq!(placed.outputs, ["null", "index", "journal:/x"]);
        let routes = json!({"index": {"after": "text"}, "null": {"when": when}});
        assert_eq!(serde_json::to_value(&placed.routes).unwrap(), routes);
        let named = changed(placed.clone(), json!({"root": "/srv/share", "outputs": ["null", "journal:/y"]}));
        assert_eq!(serde_json::to_value(&named.routes).unwrap(), json!({"null": {"when": when}}));
        let staged = changed(placed, json!({"root": "/srv/share", "stages": []}));
        assert!(staged.routes.is_empty() && staged.outputs.len() == 3);
        let refused = |outputs: Value| {
            let request: Value = json!({"root": "/srv/share", "outputs": outputs});
            let definition =
                new_definition(None, &serde_json::from_value(json!({"root": "/a"})).unwrap()).unwrap();
            let request = serde_json::from_value(request).unwrap();
            with_changes(&NO_STAGES, definition, &request).unwrap_err().to_string()
        };
        assert!(
            refused(json!([{"output": "null", "when": {"all": []}}]))
                .starts_with("output `null`: the condition")
        );
        assert!(
            refused(json!([{"output": "null", "after": "x"}])).starts_with("output `null` comes after `x`")
        );
        assert!(refused(json!(["null", {"output": "null", "after": "source"}])).contains("named twice"));
        assert!(
            refused(json!([{"output": "null", "after": "source"}]))
                .contains("stage 1 `text` leads to no stage")
        );
    }

    #[test]
    fn an_output_that_a_request_leaves_is_remembered_until_it_comes_back() {
        let request = serde_json::from_value(json!({"root": "/srv/share"})).unwrap();
        let new = new_definition(None, &request).unwrap();
        let left = changed(new, json!({"root": "/srv/share", "outputs": ["null", "null"]}));
        assert_eq!((left.outputs.join(","), left.retired.join(",")), ("null".to_owned(), "index".to_owned()));
        let both = changed(left, json!({"root": "/srv/share", "outputs": ["null", "index"]}));
        assert_eq!(
            (both.outputs.join(","), both.retired.join(",")),
            ("null,index".to_owned(), String::new())
        );
    }
}
