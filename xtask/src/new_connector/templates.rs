//! table: what a new connector begins as, one text per role; `cargo x new-connector --try` compiles and tests them.

/// A source.
pub(super) const REPOSITORY: &str = r###"//! The `__name__` repository: documents that stand in a file of JSON. Replace the file by what the source is.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use garde::Validate;
use ingather_contract::call::CallContext;
use ingather_model::access::Acl;
use ingather_model::document::Record;
use ingather_model::fault::Fault;
use ingather_model::job::dates::Dates;
use ingather_model::key::Stamp;
use ingather_model::scope::Scope;
use ingather_contract::repository::{
    Group, Item, Listing, Observed, Page, Presence, ReadContent, Repository, RepositoryCapabilities, RepositoryKind, HostContext,
};
use ingather_contract::settings;
use schemars::JsonSchema;
use serde::Deserialize;

/// The `__name__` repository.
pub(crate) const REPOSITORY: RepositoryKind = RepositoryKind {
    name: "__name__",
    about: "Documents that stand in a file of JSON.",
    capabilities: RepositoryCapabilities { list: true, access: false, unique_uris: true, looks: false, bins: false },
    source_schema: settings::schema_of::<Source>,
    open,
};

/// What a job includes. Each field is a row of the manual, a field of the form and a rule of the validation.
#[derive(Clone, Debug, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
struct Source {
    /// The file: an object with the text of each document by its name.
    #[garde(skip)]
    file: PathBuf,
}

fn open(source: &serde_json::Value, _host: &HostContext) -> Result<Arc<dyn Repository>, Fault> {
    Ok(Arc::new(__Type__ { source: settings::read(source)? }))
}

struct __Type__ {
    source: Source,
}

impl __Type__ {
    /// What the source holds now; a source that is larger than memory is asked page by page.
    fn documents(&self) -> Result<BTreeMap<String, String>, Fault> {
        let text = std::fs::read(&self.source.file).map_err(|error| Fault::passing("__name__", error.to_string()))?;
        serde_json::from_slice(&text).map_err(|error| Fault::passing("__name__", error.to_string()))
    }

    fn text(&self, key: &str) -> Result<String, Fault> {
        self.documents()?.remove(key).ok_or(Fault::Gone)
    }

    fn observed(&self, key: &str, text: &str) -> Observed {
        Observed {
            content: Stamp::of(text.as_bytes()),
            access: Stamp::of(b"open"),
            identity: 0,
            acl: Acl::open(),
            record: Record { uri: self.uri(key), title: key.to_owned(), path: key.to_owned(), ..Record::default() },
            dates: Dates::default(),
        }
    }
}

impl Repository for __Type__ {
    fn check(&self, _call: &CallContext) -> Result<String, Fault> {
        Ok(format!("{} documents", self.documents()?.len()))
    }

    fn list(&self, call: &CallContext) -> Result<Box<dyn Listing>, Fault> {
        let items: Vec<Item> = self
            .documents()?
            .into_iter()
            .map(|(name, text)| Item { name, content: Stamp::of(text.as_bytes()), access: Stamp::of(b"open"), identity: 0 })
            .collect();
        let root_empty = items.is_empty();
        let group = Group { parent: String::new(), items, ..Group::default() };
        let proven = vec![Scope::Folder(String::new())];
        let page = Page { groups: vec![group], proven, root_empty, ..Page::default() };
        // A listing that is told to stop proves nothing.
        Ok(Box::new(OnePage((!call.cancel.cancelled()).then_some(page))))
    }

    fn look(&self, _call: &CallContext, key: &str) -> Result<Observed, Fault> {
        Ok(self.observed(key, &self.text(key)?))
    }

    fn fetch(&self, _call: &CallContext, key: &str, read: &mut ReadContent<'_>) -> Result<Observed, Fault> {
        let text = self.text(key)?;
        let mut observed = self.observed(key, &text);
        read(&mut observed.record, &observed.acl, &mut text.as_bytes())?;
        Ok(observed)
    }

    fn probe(&self, _call: &CallContext, key: &str) -> Presence {
        match self.text(key) {
            Ok(_) => Presence::Present,
            Err(Fault::Gone) => Presence::Absent,
            Err(_) => Presence::Unknown,
        }
    }

    fn uri(&self, key: &str) -> String {
        format!("__name__:{key}")
    }
}

/// A listing that fits one page; a source that is larger than memory gives pages of bounded size.
struct OnePage(Option<Page>);

impl Listing for OnePage {
    fn next(&mut self) -> Option<Result<Page, Fault>> {
        self.0.take().map(Ok)
    }
}

#[cfg(test)]
mod tests {
    use ingather_testkit::suites::{self, Obstruction, RepositorySample};
    use serde_json::json;

    use super::*;

    #[test]
    fn it_keeps_what_a_repository_promises() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("documents.json");
        let holds = |documents: serde_json::Value| std::fs::write(&file, documents.to_string()).unwrap();
        holds(json!({"a": "one", "b": "text"}));
        suites::repository(
            &REPOSITORY,
            &RepositorySample {
                source: json!({ "file": file }),
                host: HostContext::default(),
                present: ("a", b"one"),
                absent: "nothing",
                change: (&|| holds(json!({"a": "two", "b": "text"})), b"two"),
                obstruction: Some(Obstruction {
                    obstruct: &|| std::fs::write(&file, "no JSON").unwrap(),
                    restore: &|| holds(json!({"a": "two", "b": "text"})),
                    hidden: "b",
                }),
                remove: &|| holds(json!({"b": "text"})),
            },
        );
    }

    #[test]
    fn settings_that_nobody_knows_are_refused() {
        assert!((REPOSITORY.open)(&json!({"file": "f", "colour": "red"}), &HostContext::default()).is_err());
    }
}
"###;

/// A stage of the pipeline.
pub(super) const TRANSFORM: &str = r###"//! The `__name__` transform: cuts titles to a length. Replace it by what the stage is for.

use std::sync::Arc;

use garde::Validate;
use ingather_contract::call::CallContext;
use ingather_model::fault::Fault;
use ingather_contract::settings;
use ingather_contract::transform::{Item, Transform, TransformKind, Verdict};
use schemars::JsonSchema;
use serde::Deserialize;

/// The `__name__` transform.
pub(crate) const TRANSFORM: TransformKind = TransformKind {
    name: "__name__",
    about: "Cuts titles to a length.",
    version: "1",
    schema: settings::schema_of::<Settings>,
    open,
};

/// Settings of a stage. Each field is a row of the manual, a field of the form and a rule of the validation.
#[derive(Clone, Debug, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// Longest title, characters.
    #[garde(range(min = 1, max = 10_000))]
    title_characters_max: usize,
}

fn open(value: &serde_json::Value) -> Result<Arc<dyn Transform>, Fault> {
    Ok(Arc::new(__Type__ { settings: settings::read(value)? }))
}

struct __Type__ {
    settings: Settings,
}

impl Transform for __Type__ {
    fn apply(&self, _call: &CallContext, item: &mut Item<'_>) -> Result<Verdict, Fault> {
        item.record.title = item.record.title.chars().take(self.settings.title_characters_max).collect();
        Ok(Verdict::Pass)
    }
}

#[cfg(test)]
mod tests {
    use ingather_contract::call::Cancel;
    use ingather_model::document::{Parts, Record};
    use ingather_contract::transform::Audience;
    use ingather_testkit::clock::HandClock;
    use ingather_testkit::suites;

    use super::*;

    #[test]
    fn it_keeps_what_a_transform_promises() {
        let settings = serde_json::json!({"title_characters_max": 3});
        suites::transform(&TRANSFORM, &settings, &[("a.txt", b"text"), ("b.txt", b"")]);
    }

    #[test]
    fn a_title_is_cut_and_nothing_else_changes() {
        let call = CallContext { clock: Arc::new(HandClock::at(0)), cancel: Cancel::default() };
        let stage = (TRANSFORM.open)(&serde_json::json!({"title_characters_max": 3})).unwrap();
        let before = Record { title: "title".into(), uri: "x:1".into(), ..Record::default() };
        let mut record = before.clone();
        let mut parts = Parts::default();
        let content = &mut std::io::empty();
        let mut item = Item { record: &mut record, content, parts: &mut parts, audience: &Audience::default, links: None };
        assert_eq!(stage.apply(&call, &mut item).unwrap(), Verdict::Pass);
        assert_eq!(record, Record { title: "tit".into(), ..before });
    }

    #[test]
    fn settings_outside_their_bounds_are_refused() {
        assert!((TRANSFORM.open)(&serde_json::json!({"title_characters_max": 0})).is_err());
        assert!((TRANSFORM.open)(&serde_json::json!({"title_characters_max": 3, "colour": "red"})).is_err());
    }
}
"###;

/// Something that holds entries.
pub(super) const OUTPUT: &str = r###"//! The `__name__` output: keeps versions in a file. Replace it by calls to the system that holds the entries.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::{Path, PathBuf};

use garde::Validate;
use ingather_contract::call::CallContext;
use ingather_model::fault::Fault;
use ingather_model::ids::{AclId, ContainerId, Digest};
use ingather_contract::output::{
    AsOpened, Change, Generation, Op, Output, OutputCapabilities, OutputContext, OutputEntry, OutputKind,
};
use ingather_contract::settings;
use schemars::JsonSchema;
use serde::Deserialize;

/// The `__name__` output.
pub(crate) const OUTPUT: OutputKind = OutputKind {
    name: "__name__",
    about: "Keeps versions in a file.",
    capabilities: OutputCapabilities { commits: false, access: true, list: true, told: false },
    schema: settings::schema_of::<Settings>,
    open,
    check: |value, context| open(value, context).map(drop),
    look: Some(|value, context| Ok(Some(Box::new(AsOpened(open(value, context)?))))),
    discard: None,
    search: None,
    copy: None,
    place: None,
    ask: None,
};

/// Settings of the output. Each field is a row of the manual, a field of the form and a rule of the validation.
#[derive(Clone, Debug, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// The file, made when missing.
    #[garde(skip)]
    file: PathBuf,
}

/// Address, job, version, acl id and container of an entry.
type Entry = (i64, i64, Digest, Option<AclId>, Option<ContainerId>);

fn open(value: &serde_json::Value, _context: &OutputContext) -> Result<Box<dyn Output>, Fault> {
    let settings: Settings = settings::read(value)?;
    let entries = match std::fs::read(&settings.file) {
        Ok(text) => serde_json::from_slice(&text).map_err(|error| Fault::refused("__name__", error.to_string()))?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => BTreeMap::new(),
        Err(error) => return Err(Fault::passing("__name__", error.to_string())),
    };
    Ok(Box::new(__Type__ { settings, entries }))
}

struct __Type__ {
    settings: Settings,
    entries: BTreeMap<String, Entry>,
}

impl __Type__ {
    fn apply_one(&mut self, change: &Change) -> Result<(), Fault> {
        match &change.op {
            Op::Put { version, acl_id, container, .. } => {
                self.entries.insert(change.id.clone(), (change.address, change.job, *version, *acl_id, *container));
            }
            Op::Access { version, acl_id, container } => {
                let entry = self.entries.get_mut(&change.id).ok_or(Fault::Gone)?;
                // Access that was meant for another entry than this one lets nobody in.
                let is_meant = version.is_none_or(|version| version == entry.2);
                (entry.1, entry.3, entry.4) =
                    (change.job, acl_id.filter(|_| is_meant), container.filter(|_| is_meant));
            }
            Op::Delete => drop(self.entries.remove(&change.id)),
        }
        Ok(())
    }
}

/// What was answered with success stays, whatever happens to the process: a new file takes the place of the old one.
fn write(file: &Path, entries: &BTreeMap<String, Entry>) -> std::io::Result<()> {
    let new = file.with_extension("new");
    std::fs::write(&new, serde_json::to_vec(entries)?)?;
    std::fs::File::open(&new)?.sync_all()?;
    std::fs::rename(new, file)
}

impl Output for __Type__ {
    fn apply(&mut self, _call: &CallContext, batch: &[Change]) -> Vec<Result<(), Fault>> {
        let answers: Vec<_> = batch.iter().map(|change| self.apply_one(change)).collect();
        match write(&self.settings.file, &self.entries) {
            Ok(()) => answers,
            Err(error) => vec![Err(Fault::passing("__name__", error.to_string())); batch.len()],
        }
    }

    fn commit(&mut self, _call: &CallContext) -> Result<Generation, Fault> {
        Ok(self.generation())
    }

    fn generation(&self) -> Generation {
        Generation { identity: "__name__".to_owned(), number: 0, seq: 0, session: 0 }
    }

    fn list(&mut self, _call: &CallContext, after: Option<&str>, most: usize) -> Result<Vec<OutputEntry>, Fault> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let entries = self.entries.range::<str, _>((from, Bound::Unbounded)).take(most);
        let held = |(id, &(address, job, version, acl_id, container)): (&String, &Entry)| {
            OutputEntry { id: id.clone(), address, job, version, acl_id, container }
        };
        Ok(entries.map(held).collect())
    }
}

#[cfg(test)]
mod tests {
    use ingather_testkit::suites::{self, OutputSample};

    use super::*;

    #[test]
    fn it_keeps_what_an_output_promises() {
        let folder = tempfile::tempdir().unwrap();
        let context = OutputContext { data: folder.path().to_owned(), store: "store".to_owned(), session: 1 };
        let settings = serde_json::json!({ "file": folder.path().join("entries") });
        suites::output(&OUTPUT, &OutputSample { settings, context, local: false });
    }
}
"###;

/// Something that knows users.
pub(super) const AUTHORITY: &str = r###"//! The `__name__` authority: groups that stand in its own settings. Replace them by questions to the directory.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use garde::Validate;
use ingather_contract::authority::{Account, Answer, Authority, AuthorityKind, Pushed};
use ingather_contract::call::CallContext;
use ingather_model::access::Tokens;
use ingather_model::fault::Fault;
use ingather_contract::settings;
use schemars::JsonSchema;
use serde::Deserialize;

/// The `__name__` authority.
pub(crate) const AUTHORITY: AuthorityKind = AuthorityKind {
    name: "__name__",
    about: "Groups that stand in its own settings.",
    schema: settings::schema_of::<Settings>,
    // An answer of a directory is kept: a minute, say.
    kept: Duration::ZERO,
    open,
};

/// Settings of an authority. Each field is a row of the manual, a field of the form and a rule of the validation.
#[derive(Clone, Debug, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// Groups of each user, by name; at most 1,000 users.
    #[garde(length(max = 1000))]
    users: BTreeMap<String, Vec<String>>,
}

fn open(value: &serde_json::Value, _: Option<Arc<dyn Pushed>>) -> Result<Arc<dyn Authority>, Fault> {
    Ok(Arc::new(__Type__ { settings: settings::read(value)? }))
}

struct __Type__ {
    settings: Settings,
}

impl Authority for __Type__ {
    fn check(&self, _call: &CallContext) -> Result<String, Fault> {
        Ok("its users stand in its settings".to_owned())
    }

    // What waits for a directory waits no longer than `account.within`.
    fn tokens(&self, _call: &CallContext, account: &Account<'_>) -> Result<Answer, Fault> {
        let Some(groups) = self.settings.users.get(account.name) else { return Ok(Answer::Unknown) };
        // Where a directory does not tell all of them: `Tokens::not_whole`.
        Ok(Answer::Known(groups.iter().map(|group| format!("__name__:g:{group}")).collect::<Tokens>()))
    }
}

#[cfg(test)]
mod tests {
    use ingather_testkit::suites::{self, AuthoritySample};

    use super::*;

    #[test]
    fn it_keeps_what_an_authority_promises() {
        let settings = serde_json::json!({"users": {"ann": ["staff"]}});
        let known = Some(("ann", ["__name__:g:staff"].as_slice()));
        suites::authority(&AUTHORITY, &AuthoritySample { settings, known, presented: None, cut: None, obstruct: None });
    }

    #[test]
    fn settings_that_nobody_knows_are_refused() {
        assert!((AUTHORITY.open)(&serde_json::json!({"users": {}, "colour": "red"}), None).is_err());
    }
}
"###;
