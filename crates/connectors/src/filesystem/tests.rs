//! What the tests of this source share: trees to list, a clock moved by hand, and a listing collected.

mod awkward;
mod changing;
mod inputs;
mod kernel;

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use ingather_contract::call::{CallContext, Cancel, Clock};
use ingather_contract::repository::{ContainerReport, HostContext, Item, Observed, Page, Repository};
use ingather_model::fault::Fault;
use ingather_model::names;
use ingather_model::scope::{BlindSpot, Scope};

/// A time at which nothing that a test makes is racy: year 2100.
pub(super) const LATER: i64 = 4_102_444_800_000;

pub(super) struct HandClock(pub(super) AtomicI64);

impl Clock for HandClock {
    fn now(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

pub(super) fn call_at(now: i64) -> CallContext {
    CallContext { clock: Arc::new(HandClock(AtomicI64::new(now))), cancel: Cancel::default() }
}

pub(super) fn call() -> CallContext {
    call_at(LATER)
}

/// Opens `root`; `more` are settings beside it.
pub(super) fn source_with(root: &Path, more: serde_json::Value, own: Vec<(u64, u64)>) -> Arc<dyn Repository> {
    open_with(root, more, HostContext { own, threads: 2, ..HostContext::default() })
}

pub(super) fn open_with(root: &Path, more: serde_json::Value, host: HostContext) -> Arc<dyn Repository> {
    let mut settings = more;
    settings["root"] = names::escape(root.as_os_str().as_bytes()).into();
    (super::REPOSITORY.open)(&settings, &host).unwrap()
}

pub(super) fn source(root: &Path) -> Arc<dyn Repository> {
    source_with(root, serde_json::json!({}), Vec::new())
}

/// A listing to its end.
#[derive(Default)]
pub(super) struct Listed {
    pub(super) items: BTreeMap<String, Item>,
    /// Key → name of its container.
    pub(super) container_of: BTreeMap<String, String>,
    pub(super) containers: BTreeMap<String, ContainerReport>,
    pub(super) proven: Vec<String>,
    pub(super) blind: Vec<BlindSpot>,
    /// Key and code.
    pub(super) skipped: Vec<(String, String)>,
    pub(super) pages: usize,
    pub(super) root_empty: bool,
}

impl Listed {
    pub(super) fn keys(&self) -> Vec<&str> {
        self.items.keys().map(String::as_str).collect()
    }

    /// Takes a page; what the contract says of its order must hold.
    fn add(&mut self, page: Page) {
        self.pages += 1;
        let size = page.groups.iter().map(|group| group.items.len()).sum::<usize>() + page.skipped.len();
        assert!(size <= ingather_model::limits::PAGE_ITEMS_MAX, "{size} entries in one page");
        for container in page.containers {
            if let Some(parent) = &container.parent {
                assert!(
                    self.containers.contains_key(parent),
                    "{} came before the container above it",
                    container.name
                );
            }
            assert!(
                self.containers.insert(container.name.clone(), container).is_none(),
                "a container came twice"
            );
        }
        for group in page.groups {
            let container = group.container.unwrap();
            assert!(self.containers.contains_key(&container), "{container} is named before it is told");
            assert!(!self.proven.contains(&group.parent), "{:?} was proven too early", group.parent);
            for item in group.items {
                let key = format!("{}{}", group.parent, item.name);
                self.container_of.insert(key.clone(), container.clone());
                assert!(self.items.insert(key, item).is_none(), "an item came twice");
            }
        }
        for scope in page.proven {
            let Scope::Folder(folder) = scope else { panic!("a folder was expected") };
            self.proven.push(folder);
        }
        self.blind.extend(page.blind);
        self.skipped.extend(page.skipped.into_iter().map(|skipped| (skipped.key, skipped.reason.code)));
        self.skipped.sort();
        self.proven.sort();
        self.root_empty |= page.root_empty;
    }
}

pub(super) fn list_at(source: &dyn Repository, call: &CallContext) -> Listed {
    let mut listing = source.list(call).unwrap();
    let mut listed = Listed::default();
    while let Some(page) = listing.next() {
        listed.add(page.unwrap());
    }
    listed
}

pub(super) fn list(source: &dyn Repository) -> Listed {
    list_at(source, &call())
}

/// Reads one document to its end.
pub(super) fn fetch(source: &dyn Repository, key: &str) -> Result<(Observed, Vec<u8>), Fault> {
    let mut bytes = Vec::new();
    let observed = source.fetch(&call(), key, &mut |_, _, content| {
        bytes.clear();
        content.read_to_end(&mut bytes).map(|_| ()).map_err(|error| Fault::passing("io", error.to_string()))
    })?;
    Ok((observed, bytes))
}

pub(super) fn write(root: &Path, name: &str, text: &str) {
    let path = root.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// A folder whose path has no link in it.
pub(super) fn folder() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    (folder, path)
}
