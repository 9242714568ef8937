//! The job that a request speaks of: found or new, with what the request says.

use ingather_contract::registry::Registry;
use ingather_model::guard::Guard;
use ingather_model::job::history::History;
use ingather_model::job::hops::Hops;
use ingather_model::job::notify::Notify;
use ingather_model::job::schedule::Schedule;
use ingather_model::job::{ContentBy, Definition, Keep, Stage};
use ingather_model::limits;
use ingather_store::Reader;
use ingather_store::connections::{self, Role};
use ingather_store::jobs::{self, Job};
use serde_json::{Value, json};

use super::allowed::refuse_of_the_machine;
use super::wanted::{NAME_MAX, Wanted, is_of_name};
use crate::connections::Sources;
use crate::context::Places;
use crate::jobs::sync::SyncSource;
use crate::jobs::{KeepWord, schedule};
use crate::pipeline;
use crate::problem::{Code, Problem, Result};

/// The job that a request speaks of.
pub(crate) fn find(
    registry: &Registry,
    places: Places<'_>,
    reader: Option<&Reader>,
    request: &SyncSource,
) -> Result<Wanted> {
    let stored = match reader {
        Some(reader) => find_stored(reader, request)?,
        None => None,
    };
    refuse_of_the_machine(places, registry, stored.as_ref(), request.stages.as_deref())?;
    let definition = match &stored {
        Some(job) => job.definition.clone(),
        None => new_definition(reader, request)?,
    };
    let mut definition = with_changes(registry, definition, request)?;
    if stored.is_none() {
        // Nothing has got anything of it yet.
        definition.retired.clear();
    }
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
                "job {name} is for {}, not for {root}; where its source is there now, `ingather job move {name} {root}` comes first, else \
                 choose another --name",
                job.root
            )));
        }
        return Ok(job);
    }
    let found = reader.read(|sql| {
        let Some(connection) = connections::find(sql, Role::Repository, Sources::of_root(root).connection)?
        else {
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
        let last = Sources::of_root(root).part_for_name(root).unwrap_or("root");
        let begins_well = last.trim_start_matches(['.', '-']);
        let name: String =
            begins_well.chars().map(|c| if is_of_name(c) { c } else { '-' }).take(NAME_MAX - 8).collect();
        if name.is_empty() { "root".to_owned() } else { name }
    });
    let free = std::iter::once(base.clone()).chain((2..).map(|n| format!("{base}-{n}")));
    let name = free.into_iter().find(|name| !taken.contains(name)).unwrap_or(base);
    Ok(plain(name, root))
}

/// A job of which nothing else is said.
pub(crate) fn plain(name: String, root: &str) -> Definition {
    // Whoever pushes is told that it will be found.
    let schedule = Sources::of_root(root).are_pushed().then_some(Schedule::Continuous);
    Definition {
        name,
        repository: Sources::of_root(root).connection.to_owned(),
        source: json!({ "root": root }),
        stages: vec![Stage { transform: "text".to_owned(), settings: json!({}), ..Stage::default() }],
        outputs: vec!["index".to_owned()],
        routes: std::collections::BTreeMap::new(),
        retired: Vec::new(),
        delete_guard: Guard::default(),
        compare_content: false,
        keep: Keep::Nothing,
        content_by: ContentBy::Read,
        dates: Default::default(),
        priority: ingather_model::job::Priority::default(),
        history: History::default(),
        notify: Vec::new(),
        hops: Hops::default(),
        schedule,
    }
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
    if let Some(number) = request.priority {
        definition.priority = number.try_into().map_err(|why| Problem::new(Code::Definition, why))?;
    }
    if let Some(hops) = &request.hops {
        definition.hops = hops.clone();
    }
    if let Some(word) = request.history {
        definition.history.of = word.into();
    }
    if let Some(days) = request.history_days {
        definition.history.days = (days > 0).then_some(days);
    }
    if let Some(dates) = request.dates {
        definition.dates = dates;
    }
    if let Some(given) = &request.notify {
        definition.notify = notifies(given).map_err(|why| Problem::new(Code::Definition, why))?;
    }
    if let Some(given) = &request.schedule {
        definition.schedule = schedule::given(given).map_err(|why| Problem::new(Code::Definition, why))?;
    }
    let before = definition.outputs.clone();
    let (stages, to) = (request.stages.as_deref(), request.outputs.as_deref());
    pipeline::with_pipeline(registry, &mut definition, stages, to)
        .map_err(|why| Problem::new(Code::Definition, why))?;
    if to.is_some() {
        retire(&mut definition, before);
    }
    Ok(definition)
}

/// Who is told of ends of runs, as it is typed: each notifier once.
///
/// # Errors
/// A sentence that says what cannot be meant.
pub(crate) fn notifies(given: &[String]) -> std::result::Result<Vec<Notify>, String> {
    if given.len() > limits::NOTIFIERS_MAX {
        return Err(format!("a job names at most {} notifiers", limits::NOTIFIERS_MAX));
    }
    let found =
        given.iter().map(|text| Notify::parse(text)).collect::<std::result::Result<Vec<_>, String>>()?;
    let twice = |one: &&Notify| found.iter().filter(|other| other.to == one.to).count() > 1;
    match found.iter().find(twice) {
        Some(twice) => {
            Err(format!("notifier {} is named twice; name it once, with all that it is told of", twice.to))
        }
        None => Ok(found),
    }
}

/// Remembers the outputs that a definition leaves: the next run takes out of them what they hold of the job.
pub(crate) fn retire(definition: &mut Definition, before: Vec<String>) {
    let left = before.into_iter().filter(|name| !definition.outputs.contains(name));
    definition.retired.extend(left);
    definition.retired.retain(|name| !definition.outputs.contains(name));
    definition.retired.dedup();
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
    fn what_is_kept_of_runs_is_set_kept_and_taken_back() {
        let request = serde_json::from_value(json!({"root": "/srv/share"})).unwrap();
        let new = new_definition(None, &request).unwrap();
        let set =
            changed(new.clone(), json!({"root": "/srv/share", "history": "documents", "history_days": 7}));
        assert_eq!(set.history.describe(), "documents, 7 days");
        assert_eq!(changed(set.clone(), json!({"root": "/srv/share"})), set);
        assert_eq!(
            changed(set, json!({"root": "/srv/share", "history": "failures", "history_days": 0})),
            new
        );
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
