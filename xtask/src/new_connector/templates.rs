//! table: what a new connector begins as, one text per role; `cargo x new-connector --try` compiles and tests them.

/// A source.
pub(super) const REPOSITORY: &str = r###"//! The `__name__` repository: documents that stand in its own settings. Replace them by what the source holds.

use std::collections::BTreeMap;
use std::sync::Arc;

use garde::Validate;
use ingather_connector::call::Call;
use ingather_connector::model::access::Level;
use ingather_connector::model::document::Record;
use ingather_connector::model::fault::Fault;
use ingather_connector::model::key::Stamp;
use ingather_connector::model::scope::Scope;
use ingather_connector::repository::{
    Group, Item, Listing, Observed, Page, Presence, ReadContent, Repository, RepositoryCan, RepositoryKind, Surroundings,
};
use ingather_connector::settings;
use schemars::JsonSchema;
use serde::Deserialize;

/// The `__name__` repository.
pub(crate) const REPOSITORY: RepositoryKind = RepositoryKind {
    name: "__name__",
    about: "Documents that stand in its own settings.",
    can: RepositoryCan { list: true, access: false, unique_uris: true },
    source_schema: settings::schema_of::<Source>,
    open,
};

/// What a job includes. Each field is a row of the manual, a field of the form and a rule of the validation.
#[derive(Clone, Debug, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
struct Source {
    /// Texts of the documents, by name; at most 1,000.
    #[garde(length(max = 1000))]
    documents: BTreeMap<String, String>,
}

fn open(source: &serde_json::Value, _surroundings: &Surroundings) -> Result<Arc<dyn Repository>, Fault> {
    Ok(Arc::new(__Type__ { source: settings::read(source)? }))
}

struct __Type__ {
    source: Source,
}

impl __Type__ {
    fn text(&self, key: &str) -> Result<&str, Fault> {
        self.source.documents.get(key).map(String::as_str).ok_or(Fault::Gone)
    }
}

impl Repository for __Type__ {
    fn check(&self, _call: &Call) -> Result<String, Fault> {
        Ok(format!("{} documents", self.source.documents.len()))
    }

    fn list(&self, _call: &Call) -> Result<Box<dyn Listing>, Fault> {
        let item = |(name, text): (&String, &String)| Item {
            name: name.clone(),
            content: Stamp::of(text.as_bytes()),
            access: Stamp::of(b"open"),
            identity: 0,
        };
        let items: Vec<Item> = self.source.documents.iter().map(item).collect();
        let root_empty = items.is_empty();
        let group = Group { parent: String::new(), place: None, items };
        let proven = vec![Scope::Folder(String::new())];
        Ok(Box::new(OnePage(Some(Page { groups: vec![group], proven, root_empty, ..Page::default() }))))
    }

    fn look(&self, _call: &Call, key: &str) -> Result<Observed, Fault> {
        let text = self.text(key)?;
        Ok(Observed {
            content: Stamp::of(text.as_bytes()),
            access: Stamp::of(b"open"),
            identity: 0,
            level: Level::open(),
            record: Record { uri: self.uri(key), title: key.to_owned(), path: key.to_owned(), ..Record::default() },
        })
    }

    fn fetch(&self, call: &Call, key: &str, read: &mut ReadContent<'_>) -> Result<Observed, Fault> {
        let mut observed = self.look(call, key)?;
        read(&mut observed.record, &mut self.text(key)?.as_bytes())?;
        Ok(observed)
    }

    fn probe(&self, _call: &Call, key: &str) -> Presence {
        if self.source.documents.contains_key(key) { Presence::Present } else { Presence::Absent }
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
    use ingather_connector::call::{Cancel, Clock};

    use super::*;

    struct Stopped;

    impl Clock for Stopped {
        fn now(&self) -> i64 {
            0
        }
    }

    fn call() -> Call {
        Call { clock: Arc::new(Stopped), cancel: Cancel::default() }
    }

    fn opened() -> Arc<dyn Repository> {
        let source = serde_json::json!({"documents": {"a": "text of a", "b": "text of b"}});
        (REPOSITORY.open)(&source, &Surroundings::default()).unwrap()
    }

    #[test]
    fn what_it_lists_it_reads_in_the_same_version() {
        let (repository, call) = (opened(), call());
        let mut listing = repository.list(&call).unwrap();
        let page = listing.next().unwrap().unwrap();
        assert!(listing.next().is_none());
        assert_eq!(page.proven, [Scope::Folder(String::new())]);
        assert_eq!(page.groups[0].items.len(), 2);
        for item in &page.groups[0].items {
            let mut text = String::new();
            let mut read = |_: &mut Record, content: &mut dyn std::io::Read| {
                content.read_to_string(&mut text).map(drop).map_err(|error| Fault::broken("read", error.to_string()))
            };
            let observed = repository.fetch(&call, &item.name, &mut read).unwrap();
            assert_eq!((observed.content, observed.access), (item.content, item.access));
            assert_eq!(observed.record.uri, repository.uri(&item.name));
            assert_eq!(text, format!("text of {}", item.name));
            assert_eq!(repository.probe(&call, &item.name), Presence::Present);
        }
    }

    #[test]
    fn what_is_not_there_is_gone() {
        let (repository, call) = (opened(), call());
        assert_eq!(repository.look(&call, "c").unwrap_err(), Fault::Gone);
        assert_eq!(repository.probe(&call, "c"), Presence::Absent);
    }

    #[test]
    fn settings_that_nobody_knows_are_refused() {
        let source = serde_json::json!({"documents": {}, "colour": "red"});
        assert!((REPOSITORY.open)(&source, &Surroundings::default()).is_err());
    }
}
"###;

/// A stage of the pipeline.
pub(super) const TRANSFORM: &str = r###"//! The `__name__` transform: cuts titles to a length. Replace it by what the stage is for.

use std::io::Read;
use std::sync::Arc;

use garde::Validate;
use ingather_connector::call::Call;
use ingather_connector::model::document::Record;
use ingather_connector::model::fault::Fault;
use ingather_connector::settings;
use ingather_connector::transform::{Transform, TransformKind, Verdict};
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
    fn apply(&self, _call: &Call, record: &mut Record, _content: &mut dyn Read) -> Result<Verdict, Fault> {
        record.title = record.title.chars().take(self.settings.title_characters_max).collect();
        Ok(Verdict::Pass)
    }
}

#[cfg(test)]
mod tests {
    use ingather_connector::call::{Cancel, Clock};

    use super::*;

    struct Stopped;

    impl Clock for Stopped {
        fn now(&self) -> i64 {
            0
        }
    }

    #[test]
    fn a_title_is_cut_and_nothing_else_changes() {
        let call = Call { clock: Arc::new(Stopped), cancel: Cancel::default() };
        let stage = (TRANSFORM.open)(&serde_json::json!({"title_characters_max": 3})).unwrap();
        let before = Record { title: "title".into(), uri: "x:1".into(), ..Record::default() };
        let mut record = before.clone();
        assert_eq!(stage.apply(&call, &mut record, &mut std::io::empty()).unwrap(), Verdict::Pass);
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
pub(super) const OUTPUT: &str = r###"//! The `__name__` output: keeps versions in memory. Replace it by calls to the system that holds the entries.

use std::collections::BTreeMap;
use std::ops::Bound;

use ingather_connector::call::Call;
use ingather_connector::model::fault::Fault;
use ingather_connector::output::{Change, Generation, Held, Op, Output, OutputCan, OutputKind, OutputPlace};
use ingather_connector::settings::{self, NoSettings};

/// The `__name__` output.
pub(crate) const OUTPUT: OutputKind = OutputKind {
    name: "__name__",
    about: "Keeps versions in memory.",
    can: OutputCan { commits: false, access: true, list: true },
    schema: settings::schema_of::<NoSettings>,
    open,
};

fn open(value: &serde_json::Value, _place: &OutputPlace) -> Result<Box<dyn Output>, Fault> {
    settings::read::<NoSettings>(value)?;
    Ok(Box::new(__Type__::default()))
}

#[derive(Default)]
struct __Type__ {
    entries: BTreeMap<String, Held>,
}

impl __Type__ {
    fn apply_one(&mut self, change: &Change) -> Result<(), Fault> {
        match &change.op {
            Op::Put { version, class, place, .. } => {
                let held = Held { id: change.id.clone(), version: *version, class: *class, place: *place };
                self.entries.insert(change.id.clone(), held);
            }
            Op::Access { class, place } => {
                let held = self.entries.get_mut(&change.id).ok_or(Fault::Gone)?;
                (held.class, held.place) = (*class, *place);
            }
            Op::Delete => drop(self.entries.remove(&change.id)),
        }
        Ok(())
    }
}

impl Output for __Type__ {
    fn apply(&mut self, _call: &Call, batch: &[Change]) -> Vec<Result<(), Fault>> {
        batch.iter().map(|change| self.apply_one(change)).collect()
    }

    fn commit(&mut self, _call: &Call) -> Result<Generation, Fault> {
        Ok(self.generation())
    }

    fn generation(&self) -> Generation {
        Generation { identity: "__name__".to_owned(), number: 0, seq: 0 }
    }

    fn list(&mut self, _call: &Call, after: Option<&str>, most: usize) -> Result<Vec<Held>, Fault> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        Ok(self.entries.range::<str, _>((from, Bound::Unbounded)).take(most).map(|(_, held)| held.clone()).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ingather_connector::call::{Cancel, Clock};
    use ingather_connector::model::document::Record;
    use ingather_connector::model::ids::{ClassId, Digest};

    use super::*;

    struct Stopped;

    impl Clock for Stopped {
        fn now(&self) -> i64 {
            0
        }
    }

    fn call() -> Call {
        Call { clock: Arc::new(Stopped), cancel: Cancel::default() }
    }

    fn opened() -> Box<dyn Output> {
        let place = OutputPlace { data: std::env::temp_dir(), store: "s".into() };
        (OUTPUT.open)(&serde_json::json!({}), &place).unwrap()
    }

    fn change(id: &str, seq: i64, op: Op) -> Change {
        Change { id: id.into(), address: 1, job: 1, job_name: "j".into(), document: id.into(), seq, op }
    }

    fn put(id: &str, seq: i64) -> Change {
        let op = Op::Put { record: Arc::new(Record::default()), version: Digest(seq), class: None, place: None };
        change(id, seq, op)
    }

    #[test]
    fn it_holds_what_was_put_and_not_deleted() {
        let (mut output, call) = (opened(), call());
        let batch = [put("a", 1), put("b", 2), put("a", 3), change("b", 4, Op::Delete), change("c", 5, Op::Delete)];
        assert!(output.apply(&call, &batch).iter().all(Result::is_ok));
        let held = output.list(&call, None, 10).unwrap();
        assert_eq!(held, [Held { id: "a".into(), version: Digest(3), class: None, place: None }]);
        assert_eq!(output.list(&call, Some("a"), 10).unwrap(), []);
    }

    #[test]
    fn access_changes_what_is_there_and_nothing_else() {
        let (mut output, call) = (opened(), call());
        let access = |id, seq| change(id, seq, Op::Access { class: Some(ClassId(7)), place: None });
        let answers = output.apply(&call, &[put("a", 1), access("a", 2), access("b", 3)]);
        assert_eq!(answers, [Ok(()), Ok(()), Err(Fault::Gone)]);
        let held = &output.list(&call, None, 10).unwrap()[0];
        assert_eq!((held.version, held.class), (Digest(1), Some(ClassId(7))));
    }
}
"###;

/// Something that knows users.
pub(super) const AUTHORITY: &str = r###"//! The `__name__` authority: groups that stand in its own settings. Replace them by questions to the directory.

use std::collections::BTreeMap;
use std::sync::Arc;

use garde::Validate;
use ingather_connector::authority::{Answer, Authority, AuthorityKind};
use ingather_connector::call::Call;
use ingather_connector::model::access::Tokens;
use ingather_connector::model::fault::Fault;
use ingather_connector::settings;
use schemars::JsonSchema;
use serde::Deserialize;

/// The `__name__` authority.
pub(crate) const AUTHORITY: AuthorityKind = AuthorityKind {
    name: "__name__",
    about: "Groups that stand in its own settings.",
    schema: settings::schema_of::<Settings>,
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

fn open(value: &serde_json::Value) -> Result<Arc<dyn Authority>, Fault> {
    Ok(Arc::new(__Type__ { settings: settings::read(value)? }))
}

struct __Type__ {
    settings: Settings,
}

impl Authority for __Type__ {
    fn tokens(&self, _call: &Call, user: &str) -> Result<Answer, Fault> {
        let Some(groups) = self.settings.users.get(user) else { return Ok(Answer::Unknown) };
        Ok(Answer::Known(groups.iter().map(|group| format!("__name__:g:{group}")).collect::<Tokens>()))
    }
}

#[cfg(test)]
mod tests {
    use ingather_connector::call::{Cancel, Clock};

    use super::*;

    struct Stopped;

    impl Clock for Stopped {
        fn now(&self) -> i64 {
            0
        }
    }

    #[test]
    fn a_user_holds_the_tokens_of_the_groups_and_a_stranger_none() {
        let call = Call { clock: Arc::new(Stopped), cancel: Cancel::default() };
        let settings = serde_json::json!({"users": {"ann": ["staff"]}});
        let authority = (AUTHORITY.open)(&settings).unwrap();
        let expected: Tokens = ["__name__:g:staff"].into_iter().collect();
        assert_eq!(authority.tokens(&call, "ann").unwrap(), Answer::Known(expected));
        assert_eq!(authority.tokens(&call, "Ann").unwrap(), Answer::Unknown);
    }

    #[test]
    fn settings_that_nobody_knows_are_refused() {
        assert!((AUTHORITY.open)(&serde_json::json!({"users": {}, "colour": "red"})).is_err());
    }
}
"###;
