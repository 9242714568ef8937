//! A job as it is declared: whole, so that what is left out is as in a job that never had it.

use std::collections::BTreeMap;

use ingather_contract::registry::Registry;
use ingather_contract::secrets;
use ingather_model::guard::Guard;
use ingather_model::job::dates::DateRules;
use ingather_model::job::history::{History, HistoryOf};
use ingather_model::job::hops::Hops;
use ingather_model::job::notify::Notify;
use ingather_model::job::{ADDRESSES, ContentBy, Definition, Keep, Priority, Route, Stage};
use ingather_store::jobs::Job;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::connections::{FILES, Sources};
use crate::jobs::definition::asked::{notifies, plain, retire};
use crate::jobs::definition::wanted::Wanted;
use crate::jobs::sync::ContentByWord;
use crate::jobs::{HistoryWord, KeepWord, schedule};
use crate::operation::schema;
use crate::pipeline::{self, GivenOutput, RoutedOutput, StageSettings};
use crate::problem::{Code, Problem, Result};

/// A job as it can be asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeclaredJob {
    /// Its name: by it a stored job is found.
    pub name: String,
    /// Name of the repository connection; `files` when left out.
    #[serde(default = "files")]
    pub repository: String,
    /// What to include: settings of the source, among them its `root`.
    pub source: Map<String, Value>,
    /// Stages between the source and the outputs; `text` alone when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stages: Option<Vec<StageSettings>>,
    /// Names of the outputs; `index` when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outputs: Option<Vec<String>>,
    /// Where outputs come in the pipeline, by name, but for those that get all that leaves the last stage.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub routes: BTreeMap<String, DeclaredRoute>,
    /// When removals are held: `"off"`, or `{"limits": {"percent": 10, "documents": 20}}`, which is what it is when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::guard_or_none")]
    pub delete_guard: Option<Guard>,
    /// Compare by content alone: a touched file is read, and not sent again.
    #[serde(default)]
    pub compare_content: bool,
    /// What is kept beside the inventory; nothing when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<KeepWord>,
    /// What says that content is as it was; the content when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_by: Option<ContentByWord>,
    /// Which of several jobs is read first: from 1, the first, to 10; 5 when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10))]
    pub priority: Option<u8>,
    /// How far from where it begins the job goes, by relation: `{"most": {"link": 3}}`; as far as links lead when left out.
    #[serde(default, skip_serializing_if = "Hops::counts_nothing")]
    #[schemars(schema_with = "schema::hops_or_none")]
    pub hops: Hops,
    /// Which single documents its history has; `failures` when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<HistoryWord>,
    /// Days that its history is kept; as long as the program keeps it when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history_days: Option<u32>,
    /// How a continuous job goes by the dates of its documents, minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::dates")]
    pub dates: Option<DateRules>,
    /// Who is told of ends of its runs, and of what: `ops:failed,held`; nobody when left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notify: Vec<String>,
    /// When the job runs by itself: rules for windows, an interval, or a text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::schedule_or_none")]
    pub schedule: Option<Value>,
}

/// Where an output comes in the pipeline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeclaredRoute {
    /// The stage before it, or `source`; without one, the last of the list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Which documents it gets of those: a condition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<Value>,
}

fn files() -> String {
    FILES.connection.to_owned()
}

impl DeclaredJob {
    /// A definition that shows no secrets.
    pub(super) fn of(definition: Definition) -> DeclaredJob {
        let stage = |stage: Stage| StageSettings {
            transform: stage.transform,
            settings: stage.settings,
            name: stage.name,
            after: stage.after,
            when: stage.when.map(|when| when.to_value()),
        };
        let route =
            |route: Route| DeclaredRoute { after: route.after, when: route.when.map(|when| when.to_value()) };
        let source = match definition.source {
            Value::Object(settings) => settings,
            // Hidden as a whole, for nobody knows its connector.
            other => Map::from_iter([("settings".to_owned(), other)]),
        };
        DeclaredJob {
            name: definition.name,
            repository: definition.repository,
            source,
            stages: Some(definition.stages.into_iter().map(stage).collect()),
            outputs: Some(definition.outputs),
            routes: definition.routes.into_iter().map(|(name, one)| (name, route(one))).collect(),
            delete_guard: Some(definition.delete_guard),
            compare_content: definition.compare_content,
            keep: (definition.keep == Keep::Extracted).then_some(KeepWord::Extracted),
            content_by: (definition.content_by == ContentBy::Times).then_some(ContentByWord::Times),
            priority: (definition.priority != Priority::default()).then(|| definition.priority.number()),
            hops: definition.hops,
            history: (definition.history.of == HistoryOf::Documents).then_some(HistoryWord::Documents),
            history_days: definition.history.days,
            dates: (!definition.dates.is_default()).then_some(definition.dates),
            notify: definition.notify.iter().map(Notify::describe).collect(),
            schedule: definition.schedule.and_then(|schedule| serde_json::to_value(schedule).ok()),
        }
    }

    /// The job that is wanted; `stored` is that of the same name.
    ///
    /// # Errors
    /// What cannot be meant, with the name of the job.
    pub(super) fn wanted(self, registry: &Registry, stored: Option<Job>) -> Result<Wanted> {
        let name = self.name.clone();
        let wrong = |code, why: String| Problem::new(code, format!("job {name}: {why}"));
        let root = self.root().map_err(|(code, why)| wrong(code, why))?;
        if let Some(stored) = stored.as_ref().filter(|stored| stored.root != root) {
            let sentence = format!(
                "it is stored for {}, not for {root}; where its source is there now, `ingather job move {name} {root}` comes first, else take \
                 another name",
                stored.root
            );
            return Err(wrong(Code::Definition, sentence));
        }
        let before = stored.as_ref().map(|job| &job.definition);
        let mut definition = plain(self.name.clone(), &root);
        definition.source = self.source_of(registry, before).map_err(|why| wrong(Code::Settings, why))?;
        let (stages, outputs) =
            self.pipeline(registry, before).map_err(|why| wrong(Code::Definition, why))?;
        pipeline::with_pipeline(registry, &mut definition, stages.as_deref(), outputs.as_deref())
            .map_err(|why| wrong(Code::Definition, why))?;
        definition.delete_guard = self.delete_guard.unwrap_or_default();
        definition.compare_content = self.compare_content;
        definition.keep =
            if self.keep == Some(KeepWord::Extracted) { Keep::Extracted } else { Keep::Nothing };
        definition.content_by = self.content_by.map_or(ContentBy::Read, ContentBy::from);
        definition.priority = self
            .priority
            .map_or(Ok(Priority::default()), Priority::try_from)
            .map_err(|why| wrong(Code::Definition, why))?;
        definition.hops = self.hops.clone();
        definition.history = History {
            of: self.history.map_or(HistoryOf::Failures, HistoryOf::from),
            days: self.history_days.filter(|days| *days > 0),
        };
        definition.dates = self.dates.unwrap_or_default();
        definition.notify = notifies(&self.notify).map_err(|why| wrong(Code::Definition, why))?;
        let given = self.schedule.as_ref().filter(|given| !given.is_null());
        definition.schedule =
            given.map_or(Ok(None), schedule::given).map_err(|why| wrong(Code::Definition, why))?;
        if let Some(before) = before {
            definition.retired.clone_from(&before.retired);
            retire(&mut definition, before.outputs.clone());
            // Where outputs know its documents is no setting that somebody chooses.
            let known = before.source.get(ADDRESSES).cloned();
            if let (Some(known), Some(source)) = (known, definition.source.as_object_mut()) {
                let given = source.entry(ADDRESSES).or_insert(Value::Null);
                if given.is_null() {
                    *given = known;
                }
            }
        }
        Ok(Wanted { stored, definition, root })
    }

    /// The root of its source, which its connection reads.
    fn root(&self) -> std::result::Result<String, (Code, String)> {
        let Some(sources) = Sources::of_connection(&self.repository) else {
            let sentence = format!(
                "there is no repository connection `{}`; this version has {}",
                self.repository,
                Sources::connections()
            );
            return Err((Code::Definition, sentence));
        };
        let Some(root) = self.source.get("root").and_then(Value::as_str).map(str::to_owned) else {
            return Err((
                Code::Settings,
                "its source has no `root`; name a folder, a file, or the address of a site".to_owned(),
            ));
        };
        if Sources::of_root(&root) != sources {
            let sentence = format!(
                "{root} is read by the connection `{}`, and not by `{}`",
                Sources::of_root(&root).connection,
                self.repository
            );
            return Err((Code::Settings, sentence));
        }
        Ok(root)
    }

    /// Settings of the source, with hidden secrets as they are stored.
    fn source_of(
        &self,
        registry: &Registry,
        before: Option<&Definition>,
    ) -> std::result::Result<Value, String> {
        let given = Value::Object(self.source.clone());
        let connector = Sources::of_connection(&self.repository).unwrap_or(FILES).connector;
        let Some(kind) = registry.repository(connector) else { return Ok(given) };
        secrets::restored(&(kind.source_schema)(), given, before.map(|before| &before.source))
            .map_err(|place| unknown_secret(&format!("source.{place}")))
    }

    /// Stages and outputs as they are asked for, with hidden secrets of stages as they are stored in the same place.
    fn pipeline(
        &self,
        registry: &Registry,
        before: Option<&Definition>,
    ) -> std::result::Result<(Option<Vec<StageSettings>>, Option<Vec<GivenOutput>>), String> {
        let mut stages = self.stages.clone();
        for (place, stage) in stages.iter_mut().flatten().enumerate() {
            let stored = before.and_then(|before| before.stages.get(place));
            let stored = stored.filter(|stored| stored.transform == stage.transform);
            let Some(kind) = registry.transform(&stage.transform) else { continue };
            let given = std::mem::take(&mut stage.settings);
            stage.settings =
                secrets::restored(&(kind.schema)(), given, stored.map(|stored| &stored.settings))
                    .map_err(|secret| unknown_secret(&format!("stages[{place}].settings.{secret}")))?;
        }
        let names = self.outputs.clone().unwrap_or_else(|| plain(String::new(), "").outputs);
        if let Some(name) = self.routes.keys().find(|name| !names.contains(name)) {
            return Err(format!("`routes` names {name}, which is none of its outputs"));
        }
        if names.is_empty() {
            return Err("it has no output; name one, such as `index`".to_owned());
        }
        let routed = |output: String| {
            let route = self.routes.get(&output).cloned();
            let (after, when) = route.map_or((None, None), |route| (route.after, route.when));
            GivenOutput::Routed(RoutedOutput { output, after, when })
        };
        Ok((stages, Some(names.into_iter().map(routed).collect())))
    }
}

pub(super) fn unknown_secret(place: &str) -> String {
    format!("`{place}` is hidden in what `export` writes, and none is stored; give it")
}
