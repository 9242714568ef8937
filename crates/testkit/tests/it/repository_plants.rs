//! Repositories with one fault each.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use ingather_contract::call::CallContext;
use ingather_contract::repository::{
    HostContext, Listing, Observed, Page, Presence, ReadContent, Repository, RepositoryCapabilities,
    RepositoryKind,
};
use ingather_contract::settings::{NoSettings, schema_of};
use ingather_model::fault::Fault;
use ingather_model::key::Stamp;
use ingather_model::scope::Scope;
use ingather_testkit::script_repository::{self, File, REPOSITORY};
use ingather_testkit::suites::{Obstruction, RepositorySample, repository_breaches};

#[derive(Clone, Copy, PartialEq)]
enum Plant {
    Twice,
    ProvesTheUnread,
    SameUri,
    AbsentOnError,
    OldBytes,
    LateItems,
    OtherVersionWhenRead,
    SwallowsErrors,
    ContainerTooLate,
    ForgetsToProve,
    GoesOnAfterATear,
    OldVersions,
    RemembersTheGone,
}

/// A repository with one fault, and what it remembers.
struct Bad(Arc<dyn Repository>, Plant, Arc<Mutex<Memory>>);

#[derive(Default)]
struct Memory {
    /// Versions that an earlier listing told.
    versions: HashMap<String, Stamp>,
    /// Names that were gone once.
    gone: HashSet<String>,
    /// Pages of a listing that nobody took to its end.
    left: VecDeque<Page>,
}

fn recall(memory: &Mutex<Memory>) -> MutexGuard<'_, Memory> {
    memory.lock().expect("no test panics while it remembers")
}

/// A listing that goes on where the one before it was broken off.
struct Continued(Arc<Mutex<Memory>>);

impl Listing for Continued {
    fn next(&mut self) -> Option<Result<Page, Fault>> {
        recall(&self.0).left.pop_front().map(Ok)
    }
}

impl Bad {
    fn pages(&self, call: &CallContext) -> Result<VecDeque<Page>, Fault> {
        let mut listing = self.0.list(call)?;
        std::iter::from_fn(|| listing.next()).collect()
    }

    fn continued(&self, call: &CallContext) -> Result<Box<dyn Listing>, Fault> {
        let mut memory = recall(&self.2);
        if memory.left.is_empty() {
            memory.left = self.pages(call)?;
        }
        Ok(Box::new(Continued(self.2.clone())))
    }

    /// Tells of each item the version that it told first.
    fn with_old_versions(&self, call: &CallContext) -> Result<Box<dyn Listing>, Fault> {
        let mut memory = recall(&self.2);
        let mut pages = self.pages(call)?;
        for group in pages.iter_mut().flat_map(|page| &mut page.groups) {
            for item in &mut group.items {
                let key = format!("{}{}", group.parent, item.name);
                item.content = *memory.versions.entry(key).or_insert(item.content);
            }
        }
        memory.left = pages;
        Ok(Box::new(Continued(self.2.clone())))
    }
}

struct BadListing(Box<dyn Listing>, Plant, Vec<Page>);

impl Listing for BadListing {
    fn next(&mut self) -> Option<Result<Page, Fault>> {
        let Some(page) = self.0.next() else { return self.2.pop().map(Ok) };
        let mut page = page.ok()?;
        match self.1 {
            Plant::Twice if !page.groups.is_empty() => {
                let mut again = page.groups[0].clone();
                again.items[0].content = Stamp::of(b"another");
                page.groups.push(again);
            }
            Plant::ProvesTheUnread => {
                page.proven.extend(page.blind.drain(..).map(|spot| spot.scope));
            }
            Plant::LateItems if !page.groups.is_empty() => {
                self.2.push(Page { groups: std::mem::take(&mut page.groups), ..Page::default() });
            }
            Plant::ContainerTooLate => {
                self.2
                    .insert(0, Page { containers: std::mem::take(&mut page.containers), ..Page::default() });
            }
            Plant::ForgetsToProve => page.proven.retain(|scope| *scope != Scope::Folder(String::new())),
            _ => {}
        }
        Some(Ok(page))
    }
}

impl Repository for Bad {
    fn check(&self, call: &CallContext) -> Result<String, Fault> {
        self.0.check(call)
    }
    fn list(&self, call: &CallContext) -> Result<Box<dyn Listing>, Fault> {
        match self.1 {
            Plant::GoesOnAfterATear => self.continued(call),
            Plant::OldVersions => self.with_old_versions(call),
            _ => Ok(Box::new(BadListing(self.0.list(call)?, self.1, Vec::new()))),
        }
    }
    fn look(&self, call: &CallContext, key: &str) -> Result<Observed, Fault> {
        let mut memory = recall(&self.2);
        if self.1 == Plant::RemembersTheGone && memory.gone.contains(key) {
            return Err(Fault::Gone);
        }
        let looked = self.0.look(call, key);
        if looked.as_ref().err() == Some(&Fault::Gone) {
            memory.gone.insert(key.to_owned());
        }
        looked
    }
    fn fetch(&self, call: &CallContext, key: &str, read: &mut ReadContent<'_>) -> Result<Observed, Fault> {
        match self.1 {
            Plant::OldBytes => {
                let mut observed = self.0.look(call, key)?;
                read(&mut observed.record, &observed.acl, &mut &b"v1"[..])?;
                Ok(observed)
            }
            Plant::SwallowsErrors => self.0.fetch(call, key, &mut |record, acl, content| {
                let _ = read(record, acl, content);
                Ok(())
            }),
            Plant::OtherVersionWhenRead => {
                let observed = self.0.fetch(call, key, read)?;
                Ok(Observed { content: Stamp::of(b"elsewhere"), ..observed })
            }
            Plant::RemembersTheGone => {
                self.look(call, key)?;
                self.0.fetch(call, key, read)
            }
            _ => self.0.fetch(call, key, read),
        }
    }
    fn probe(&self, call: &CallContext, key: &str) -> Presence {
        match self.0.probe(call, key) {
            Presence::Unknown if self.1 == Plant::AbsentOnError => Presence::Absent,
            answer => answer,
        }
    }
    fn uri(&self, key: &str) -> String {
        if self.1 == Plant::SameUri { "same://".to_owned() } else { self.0.uri(key) }
    }
}

fn bad(source: &serde_json::Value, around: &HostContext, plant: Plant) -> Result<Arc<dyn Repository>, Fault> {
    Ok(Arc::new(Bad((REPOSITORY.open)(source, around)?, plant, Arc::default())))
}

macro_rules! plants {
    ($($name:ident: $plant:ident is told by $word:literal;)*) => {
        $(
            #[test]
            fn $name() {
                static KIND: RepositoryKind = RepositoryKind {
                    name: "bad",
                    about: "has one fault",
                    capabilities: RepositoryCapabilities { list: true, access: true, unique_uris: true, looks: false, bins: false },
                    source_schema: schema_of::<NoSettings>,
                    open: |source, around| bad(source, around, Plant::$plant),
                };
                let told = check(&KIND);
                assert!(told.iter().any(|told| told.contains($word)), "{told:#?}");
            }
        )*
    };
}

plants! {
    an_item_twice_with_other_versions: Twice is told by "is listed twice";
    a_folder_proven_that_was_not_read: ProvesTheUnread is told by "would be removed";
    a_uri_for_two: SameUri is told by "share the URI";
    absent_because_of_an_error: AbsentOnError is told by "cannot be looked at, and a probe says that it is not there";
    old_bytes_under_a_new_version: OldBytes is told by "other bytes were read under its new version";
    items_after_their_proof: LateItems is told by "was proven before its last item came";
    another_version_when_read: OtherVersionWhenRead is told by "has another version than what was listed";
    errors_of_the_reader_swallowed: SwallowsErrors is told by "an error of the reader is not passed on";
    containers_after_their_items: ContainerTooLate is told by "name a container that nobody has told";
    nothing_proven: ForgetsToProve is told by "is not proven";
    a_listing_that_goes_on_after_a_tear: GoesOnAfterATear is told by "after a listing that was broken off";
    versions_of_an_earlier_listing: OldVersions is told by "changed, and its listed version did not";
    what_was_gone_once_is_gone_for_ever: RemembersTheGone is told by "was made anew and reads";
}

#[test]
fn a_sound_repository_passes() {
    assert_eq!(check(&REPOSITORY), Vec::<String>::new());
}

fn check(kind: &RepositoryKind) -> Vec<String> {
    static MADE: AtomicU64 = AtomicU64::new(0);
    let world = format!("suite {}", MADE.fetch_add(1, Ordering::Relaxed));
    let source = script_repository::shared(&world);
    script_repository::locked(&source).page_items = 2;
    let change = |name: &str, step: &dyn Fn(&mut File)| {
        let mut source = script_repository::locked(&source);
        let time = source.next_change();
        let file = source.file(name);
        (file.mtime, file.ctime) = (time, time);
        step(file);
    };
    for name in ["a", "b", "c", "d", "sub/e", "sub/f"] {
        change(name, &|file| file.content = "v1".to_owned());
    }
    let close = |shut: bool| script_repository::locked(&source).folder("sub/").unreadable = shut;
    repository_breaches(
        kind,
        &RepositorySample {
            source: serde_json::json!({"world": world}),
            host: HostContext::default(),
            present: ("a", b"v1"),
            absent: "nothing",
            change: (&|| change("a", &|file| file.content = "v2".to_owned()), b"v2"),
            obstruction: Some(Obstruction {
                obstruct: &|| close(true),
                restore: &|| close(false),
                hidden: "sub/e",
            }),
            remove: &|| {
                script_repository::locked(&source).files.remove("a");
            },
        },
    )
}
