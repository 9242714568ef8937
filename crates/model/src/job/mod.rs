//! What a job is: a source, what to include, a pipeline with its outputs, and how careful it is.

pub mod condition;
pub mod dates;
pub mod estimate;
pub mod history;
pub mod hops;
pub mod notify;
pub mod passes;
mod run_kind;
pub mod schedule;
pub mod sealed;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::guard::Guard;
use crate::ids::Digest;
use crate::lifecycle::words;
use condition::Condition;
use dates::DateRules;
use history::History;
use hops::Hops;
use notify::Notify;
pub use run_kind::RunKind;
use schedule::Schedule;

/// The setting of a source that says what addresses of its documents begin with in outputs, where that is not its root.
pub const ADDRESSES: &str = "addresses";

/// The definition of a job, as stored, exported and compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Definition {
    /// Name, unique among jobs.
    pub name: String,
    /// Name of the repository connection.
    pub repository: String,
    /// What to include: the connector's own settings for a job, checked by it.
    pub source: serde_json::Value,
    /// Stages between the repository and the outputs: a tree, each stage behind the one that it comes after. One that does not say
    /// where it comes is behind the one before it, so that a plain list is a chain.
    #[serde(default)]
    pub stages: Vec<Stage>,
    /// Names of the output connections, in order, without repeats.
    pub outputs: Vec<String>,
    /// Where outputs come in the pipeline, by name. One that is not named here gets all that leaves the last stage.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub routes: BTreeMap<String, Route>,
    /// Outputs that were taken out and may still hold entries; the next run takes these out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub retired: Vec<String>,
    /// When removals are held.
    #[serde(default)]
    pub delete_guard: Guard,
    /// Compare by content alone: a touched file is read, but not sent again.
    #[serde(default)]
    pub compare_content: bool,
    /// What is kept beside the inventory.
    #[serde(default, skip_serializing_if = "Keep::is_nothing")]
    pub keep: Keep,
    /// What says that content is as it was although something about its document has changed.
    #[serde(default, skip_serializing_if = "ContentBy::is_read")]
    pub content_by: ContentBy,
    /// Which job's documents are taken first where several run in one process; no digest has it.
    #[serde(default, skip_serializing_if = "Priority::is_usual")]
    pub priority: Priority,
    /// When it runs by itself; none: only when somebody asks. No digest has it, for nothing that outputs hold depends on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Schedule>,
    /// How far from its seeds it goes, where its source is found by following links.
    #[serde(default, skip_serializing_if = "Hops::counts_nothing")]
    pub hops: Hops,
    /// How it goes by the dates of its documents, where it is continuous. No digest of what outputs hold has it.
    #[serde(default, skip_serializing_if = "DateRules::is_default")]
    pub dates: DateRules,
    /// What is kept of what its runs did.
    #[serde(default, skip_serializing_if = "History::is_default")]
    pub history: History,
    /// Who is told of ends of its runs, beside those who are told of all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notify: Vec<Notify>,
}

/// What says that content is as it was when its document changed in some other way (design 4.18).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContentBy {
    /// The content: it is read once, and compared.
    #[default]
    Read,
    /// Its size and time, where another owner, mode, access list or folder may be all that changed.
    Times,
}

/// Which of several jobs goes first: 1 before 2, and so on. While documents of a better one wait that can be taken, none of a worse one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct Priority(u8);

impl Priority {
    /// The worst one.
    pub const LAST: u8 = 10;

    /// Its number.
    pub fn number(self) -> u8 {
        self.0
    }

    fn is_usual(&self) -> bool {
        *self == Priority::default()
    }
}

impl Default for Priority {
    fn default() -> Priority {
        Priority(5)
    }
}

impl TryFrom<u8> for Priority {
    type Error = String;

    fn try_from(number: u8) -> Result<Priority, String> {
        match (1..=Priority::LAST).contains(&number) {
            true => Ok(Priority(number)),
            false => {
                Err(format!("a priority is a number from 1 (first) to {}; {number} is none", Priority::LAST))
            }
        }
    }
}

impl From<Priority> for u8 {
    fn from(priority: Priority) -> u8 {
        priority.0
    }
}

impl ContentBy {
    fn is_read(&self) -> bool {
        *self == ContentBy::Read
    }
}

/// What a job keeps of its documents beside the inventory (design 4.19).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Keep {
    /// Nothing: an output that is filled anew is filled from the source.
    #[default]
    Nothing,
    /// What the pipeline made of each, packed: an output that is filled anew does not need the source.
    Extracted,
}

impl Keep {
    fn is_nothing(&self) -> bool {
        *self == Keep::Nothing
    }
}

/// One stage of a pipeline.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// Kind of the transform.
    pub transform: String,
    /// Its settings, checked by it.
    #[serde(default)]
    pub settings: serde_json::Value,
    /// What others call it that come after it; without one, the kind of its transform.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The stage before it, which stands above it in the list, or [`SOURCE`]; without one, that just above it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// What gets into it, and so to all that comes after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<Condition>,
}

impl Stage {
    /// What others call it.
    pub fn called(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.transform)
    }

    /// What it does to what gets into it, wherever it stands.
    fn alone(&self) -> Stage {
        Stage { transform: self.transform.clone(), settings: self.settings.clone(), ..Stage::default() }
    }
}

/// Where an output comes in a pipeline, and what gets there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// The stage before it, or [`SOURCE`]; without one, the last of the list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// What the output gets of that which leaves the stage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<Condition>,
}

impl Route {
    /// Whether it says nothing: the output gets all that leaves the last stage.
    pub fn is_plain(&self) -> bool {
        *self == Route::default()
    }
}

/// The name by which stages and outputs come right after the repository.
pub const SOURCE: &str = "source";

/// What comes after what in a pipeline, by places in the list of stages; none is the repository. A stage stands below the one that it
/// comes after, so nothing goes round in a circle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// What each stage comes after.
    pub stages: Vec<Option<usize>>,
    /// What each output comes after.
    pub outputs: Vec<Option<usize>>,
}

impl Tree {
    /// The stages that lead to a place and the one there, in the order in which a document meets them.
    pub fn path(&self, mut place: Option<usize>) -> Vec<usize> {
        let mut path = Vec::new();
        while let Some(at) = place {
            path.push(at);
            place = self.stages[at];
        }
        path.reverse();
        path
    }
}

impl Definition {
    /// What addresses of its documents begin with in place of the root, since the job was moved; none where it was not.
    pub fn addresses(&self) -> Option<&str> {
        self.source.get(ADDRESSES).and_then(serde_json::Value::as_str)
    }

    /// What comes after what.
    ///
    /// # Errors
    /// A sentence that names the stage or the output whose `after` leads nowhere, or the stage that leads to no output.
    pub fn tree(&self) -> Result<Tree, String> {
        let mut stages = Vec::with_capacity(self.stages.len());
        for (at, stage) in self.stages.iter().enumerate() {
            let who = || format!("stage {} `{}`", at + 1, stage.called());
            if stage.called() == SOURCE {
                return Err(format!("{} has the name of the source; give it another `name`", who()));
            }
            stages.push(self.place(stage.after.as_deref(), at).map_err(|why| format!("{} {why}", who()))?);
        }
        let mut outputs = Vec::with_capacity(self.outputs.len());
        for name in &self.outputs {
            let after = self.routes.get(name).and_then(|route| route.after.as_deref());
            let place = self.place(after, self.stages.len());
            outputs.push(place.map_err(|why| format!("output `{name}` {why}"))?);
        }
        let leads = |at: usize| stages.iter().chain(&outputs).any(|after| *after == Some(at));
        if let Some(at) = (0..stages.len()).find(|at| !outputs.is_empty() && !leads(*at)) {
            return Err(format!(
                "stage {} `{}` leads to no stage and no output; name it in the `after` of an output, or take it away",
                at + 1,
                self.stages[at].called()
            ));
        }
        Ok(Tree { stages, outputs })
    }

    /// The place of the stage that `after` names among those above `at`.
    fn place(&self, after: Option<&str>, at: usize) -> Result<Option<usize>, String> {
        let Some(after) = after else { return Ok(at.checked_sub(1)) };
        if after == SOURCE {
            return Ok(None);
        }
        let named = |stage: &(usize, &Stage)| stage.1.called() == after;
        let mut found = self.stages.iter().enumerate().take(at).filter(named);
        match (found.next(), found.next()) {
            (Some((place, _)), None) => Ok(Some(place)),
            (Some(_), Some(_)) => {
                Err(format!("comes after `{after}`, and several stages are called so; give each a `name`"))
            }
            (None, _) => Err(format!(
                "comes after `{after}`, and no stage above it is called so; name one of those, or `{SOURCE}`"
            )),
        }
    }

    /// Digest of all that changes what outputs receive; a schedule or a guard is not in it (design 4.7).
    ///
    /// `versions` are the versions of the stages' code, in order. `outputs` are, by name, those settings of outputs of which another
    /// value sends everything again: an output without such a setting is not among them, and counts by its name alone.
    pub fn settings_digest(
        &self,
        versions: &[String],
        outputs: &BTreeMap<String, serde_json::Value>,
    ) -> Digest {
        let mut text = serde_json::json!([self.stages, versions, self.outputs, self.compare_content]);
        if let Some(all) = text.as_array_mut() {
            if self.keep == Keep::Extracted {
                // What was not kept yet is read once more, and not sent.
                all.push("keep extracted".into());
            }
            if !self.routes.is_empty() {
                all.push(serde_json::json!(self.routes));
            }
            if !outputs.is_empty() {
                all.push(serde_json::json!(["outputs", outputs]));
            }
        }
        Digest::of(text.to_string().as_bytes())
    }

    /// Digest of what a document goes through before it is what outputs receive. Where all of them receive the same, another output
    /// changes nothing of it.
    pub fn stages_digest(&self, versions: &[String]) -> Digest {
        let mut text = serde_json::json!([self.stages, versions]);
        if let (false, Some(all)) = (self.routes.is_empty(), text.as_array_mut()) {
            all.push(serde_json::json!([self.outputs, self.routes]));
        }
        Digest::of(text.to_string().as_bytes())
    }

    /// Digest of what one output receives: its own settings and the stages that lead to it, not the other outputs or their branches.
    /// Conditions on the way are not in it: they decide whether it receives something, and not what that is.
    pub fn delivery_digest(
        &self,
        path: &[usize],
        versions: &[String],
        output_settings: &serde_json::Value,
    ) -> Digest {
        let stages: Vec<Stage> = path.iter().map(|at| self.stages[*at].alone()).collect();
        let versions: Vec<&String> = path.iter().map(|at| &versions[*at]).collect();
        let text = serde_json::json!([stages, versions, output_settings]);
        Digest::of(text.to_string().as_bytes())
    }
}

words! {
    /// The role of a connection.
    pub enum Role {
        /// Where content lives.
        Repository = "repository",
        /// What holds entries.
        Output = "output",
        /// What says which access tokens somebody holds.
        Authority = "authority",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn definition(stages: serde_json::Value, outputs: &[&str], routes: serde_json::Value) -> Definition {
        let value = json!({"name": "docs", "repository": "files", "source": {}, "stages": stages, "outputs": outputs, "routes": routes});
        serde_json::from_value(value).unwrap()
    }

    fn versions(definition: &Definition) -> Vec<String> {
        definition.stages.iter().map(|stage| format!("{} 1", stage.transform)).collect()
    }

    /// The digests as they were made before pipelines were trees.
    #[test]
    fn the_digests_of_a_list_stay_as_they_were() {
        let stages = json!([{"transform": "allow", "settings": {"size_max": 9}}, {"transform": "text", "settings": {}}]);
        let list = definition(stages.clone(), &["one", "two"], json!({}));
        let versions = versions(&list);
        let settings = json!({"folder": "x"});
        let of = |value: serde_json::Value| Digest::of(value.to_string().as_bytes());
        let plain = json!([{"transform": "allow", "settings": {"size_max": 9}}, {"transform": "text", "settings": {}}]);
        assert_eq!(
            list.settings_digest(&versions, &BTreeMap::new()),
            of(json!([plain, versions, ["one", "two"], false]))
        );
        assert_eq!(list.stages_digest(&versions), of(json!([plain, versions])));
        let path = list.tree().unwrap().path(Some(1));
        assert_eq!(list.delivery_digest(&path, &versions, &settings), of(json!([plain, versions, settings])));
        let kept = Definition { keep: Keep::Extracted, ..list.clone() };
        let text = json!([plain, versions, ["one", "two"], false, "keep extracted"]);
        assert_eq!(kept.settings_digest(&versions, &BTreeMap::new()), of(text));
        let outputs = BTreeMap::from([("two".to_owned(), json!({"mapping": "x"}))]);
        let text = json!([plain, versions, ["one", "two"], false, "keep extracted", ["outputs", {"two": {"mapping": "x"}}]]);
        assert_eq!(kept.settings_digest(&versions, &outputs), of(text));
        // What is stored and shown stays, too.
        let stored = serde_json::to_value(&list).unwrap();
        assert_eq!((stored["stages"].clone(), stored.get("routes")), (plain, None));
    }

    #[test]
    fn a_list_is_a_chain_and_a_branch_comes_after_what_it_names() {
        let list = definition(json!([{"transform": "a"}, {"transform": "b"}]), &["one"], json!({}));
        assert_eq!(list.tree().unwrap(), Tree { stages: vec![None, Some(0)], outputs: vec![Some(1)] });
        let tree = definition(
            json!([{"transform": "a"}, {"transform": "b"}, {"transform": "b", "name": "c", "after": "a"}, {"transform": "d"}]),
            &["one", "two", "three"],
            json!({"one": {"after": "b"}, "three": {"after": "source"}}),
        );
        let built = tree.tree().unwrap();
        assert_eq!(built.stages, [None, Some(0), Some(0), Some(2)]);
        assert_eq!(built.outputs, [Some(1), Some(3), None]);
        assert_eq!(built.path(Some(3)), [0, 2, 3]);
    }

    #[test]
    fn what_leads_nowhere_is_refused_by_name() {
        let refused = |stages, routes| definition(stages, &["one"], routes).tree().unwrap_err();
        let (a, b) = (json!({"transform": "a"}), json!({"transform": "b", "after": "a"}));
        assert!(
            refused(json!([b, a]), json!({})).starts_with("stage 1 `b` comes after `a`, and no stage above")
        );
        assert!(refused(json!([a, a, b]), json!({})).contains("several stages are called so"));
        assert!(
            refused(json!([a, b]), json!({"one": {"after": "c"}}))
                .starts_with("output `one` comes after `c`")
        );
        assert!(
            refused(json!([a, b]), json!({"one": {"after": "a"}})).starts_with("stage 2 `b` leads to no")
        );
        assert!(refused(json!([{"transform": "source"}]), json!({})).contains("the name of the source"));
    }

    #[test]
    fn an_output_is_digested_by_its_own_path() {
        let stages = |other: &str| {
            json!([{"transform": "a"}, {"transform": "b", "settings": {"x": 1}},
                {"transform": "c", "after": "a", "settings": {"y": other}, "when": {"field": "size", "above": 1}}])
        };
        let routes = json!({"one": {"after": "b"}, "two": {"after": "c"}});
        let digests = |definition: &Definition| {
            let (tree, versions) = (definition.tree().unwrap(), versions(definition));
            let of =
                |at: usize| definition.delivery_digest(&tree.path(tree.outputs[at]), &versions, &json!({}));
            (
                [of(0), of(1)],
                definition.settings_digest(&versions, &BTreeMap::new()),
                definition.stages_digest(&versions),
            )
        };
        let before = digests(&definition(stages("m"), &["one", "two"], routes.clone()));
        let after = digests(&definition(stages("n"), &["one", "two"], routes));
        assert_eq!(before.0[0], after.0[0], "another branch has changed");
        assert_ne!(before.0[1], after.0[1]);
        assert!(before.1 != after.1 && before.2 != after.2, "what is read goes another way");
        let chain = definition(
            json!([{"transform": "a"}, {"transform": "b", "settings": {"x": 1}}]),
            &["one"],
            json!({}),
        );
        assert_eq!(digests_of_first(&chain), before.0[0], "the same stages in a list");
    }

    fn digests_of_first(definition: &Definition) -> Digest {
        let tree = definition.tree().unwrap();
        definition.delivery_digest(&tree.path(tree.outputs[0]), &versions(definition), &json!({}))
    }
}
