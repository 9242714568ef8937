//! A repository that makes its documents up, any number of them, so that only the engine and the store are measured.

use std::sync::Arc;
use std::time::Duration;

use ingather_contract::call::CallContext;
use ingather_contract::repository::{
    ContainerReport, Group, Item, Listing, Observed, Page, Presence, ReadContent, Repository,
    RepositoryCapabilities, RepositoryKind,
};
use ingather_contract::settings::{NoSettings, schema_of};
use ingather_model::access::{Acl, Entry, unix_group};
use ingather_model::document::Record;
use ingather_model::fault::Fault;
use ingather_model::key::Stamp;
use ingather_model::limits;
use ingather_model::scope::Scope;

use crate::{measure, trees};

/// Groups that acls name; a user of the query bench is in half of them.
const GROUPS: u32 = 2_000;

/// What is in it.
#[derive(Clone, Copy, Debug)]
struct MadeUp {
    documents: u64,
    /// Documents of one folder.
    each: u64,
    /// Distinct acls, of documents and of folders; 0: open to all.
    acls: u64,
    /// Bytes of each text.
    bytes: usize,
    /// Time that each fetch takes, milliseconds.
    fetch_ms: u64,
}

/// The kind; settings: `documents`, `each`, `levels`, `bytes`, `fetch_ms`.
pub(crate) static REPOSITORY: RepositoryKind = kind("synthetic", false);
/// The same with a bin for each folder.
pub(crate) static REPOSITORY_OF_BINS: RepositoryKind = kind("synthetic_bins", true);

const fn kind(name: &'static str, bins: bool) -> RepositoryKind {
    RepositoryKind {
        name,
        about: "Makes its documents up.",
        capabilities: RepositoryCapabilities {
            list: true,
            access: true,
            unique_uris: true,
            looks: false,
            bins,
        },
        source_schema: schema_of::<NoSettings>,
        open: |source, _| {
            let number = |name: &str| source[name].as_u64().unwrap_or_default();
            Ok(Arc::new(MadeUp {
                documents: number("documents"),
                each: number("each").max(1),
                acls: number("levels"),
                bytes: number("bytes") as usize,
                fetch_ms: number("fetch_ms"),
            }))
        },
    }
}

impl MadeUp {
    fn acl(self, number: u64) -> Acl {
        if self.acls == 0 {
            return Acl::open();
        }
        // The first entry makes acls distinct, the second decides.
        let number = (number % self.acls) as u32;
        Acl::Ordered(vec![
            Entry::deny(unix_group(1_000_000 + number)),
            Entry::allow(unix_group(number % GROUPS)),
        ])
    }

    fn folder(number: u64) -> String {
        format!("folder-{number:07}/")
    }

    fn item(number: u64) -> Item {
        Item {
            name: format!("document-{number:08}.txt"),
            content: Stamp([1, number, 0, 1]),
            access: Stamp([2, number, 0, 1]),
            identity: number as i64 + 1,
        }
    }

    /// The number in a key, when there is such a document.
    fn number(self, key: &str) -> Option<u64> {
        let number = key.strip_suffix(".txt")?.rsplit_once("document-")?.1.parse().ok()?;
        (number < self.documents).then_some(number)
    }
}

impl Repository for MadeUp {
    fn check(&self, _call: &CallContext) -> Result<String, Fault> {
        Ok("synthetic".to_owned())
    }

    fn list(&self, _call: &CallContext) -> Result<Box<dyn Listing>, Fault> {
        Ok(Box::new(Pages { source: *self, folder: 0, root_told: false }))
    }

    fn look(&self, _call: &CallContext, key: &str) -> Result<Observed, Fault> {
        let number = self.number(key).ok_or(Fault::Gone)?;
        let item = MadeUp::item(number);
        let record = Record {
            uri: self.uri(key),
            path: key.to_owned(),
            size: Some(self.bytes as u64),
            modified: Some(1_700_000_000_000 + number as i64),
            ..Record::default()
        };
        Ok(Observed {
            content: item.content,
            access: item.access,
            dates: Default::default(),
            identity: item.identity,
            acl: self.acl(number),
            record,
        })
    }

    fn fetch(&self, call: &CallContext, key: &str, read: &mut ReadContent<'_>) -> Result<Observed, Fault> {
        let mut observed = self.look(call, key)?;
        let number = self.number(key).ok_or(Fault::Gone)?;
        if self.fetch_ms > 0 {
            measure::pause(Duration::from_millis(self.fetch_ms));
        }
        let text = trees::text(number, self.bytes);
        read(&mut observed.record, &observed.acl, &mut text.as_bytes())?;
        Ok(observed)
    }

    fn probe(&self, _call: &CallContext, key: &str) -> Presence {
        if self.number(key).is_some() { Presence::Present } else { Presence::Absent }
    }

    fn bins(&self, key: &str) -> Vec<String> {
        key.split_once('/').map(|(folder, _)| folder.to_owned()).into_iter().collect()
    }

    fn uri(&self, key: &str) -> String {
        format!("synthetic:///{key}")
    }
}

struct Pages {
    source: MadeUp,
    folder: u64,
    root_told: bool,
}

impl Listing for Pages {
    fn next(&mut self) -> Option<Result<Page, Fault>> {
        let MadeUp { documents, each, .. } = self.source;
        let folders = documents.div_ceil(each);
        if self.folder >= folders && self.root_told {
            return None;
        }
        let mut page = Page::default();
        if !self.root_told {
            self.root_told = true;
            page.proven.push(Scope::Folder(String::new()));
            page.containers.push(ContainerReport {
                name: "/".to_owned(),
                parent: None,
                identity: "root".to_owned(),
                acl: Acl::open(),
                folder: Some(String::new()),
                stamp: Stamp::NONE,
            });
        }
        let last = folders.min(self.folder + (limits::PAGE_ITEMS_MAX as u64 / each).max(1));
        for folder in self.folder..last {
            let name = MadeUp::folder(folder);
            page.containers.push(ContainerReport {
                name: format!("/{name}"),
                parent: Some("/".to_owned()),
                identity: folder.to_string(),
                acl: self.source.acl(folder),
                folder: Some(name.clone()),
                stamp: Stamp::NONE,
            });
            let numbers = folder * each..documents.min((folder + 1) * each);
            page.groups.push(Group {
                container: Some(format!("/{name}")),
                items: numbers.map(MadeUp::item).collect(),
                parent: name.clone(),
                ..Group::default()
            });
            page.proven.push(Scope::Folder(name));
        }
        self.folder = last;
        Some(Ok(page))
    }
}
