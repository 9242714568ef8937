//! Repositories whose documents are found by following links and lead to others that they make up.

use std::sync::Arc;

use ingather_contract::call::CallContext;
use ingather_contract::refers::{Asked, Leads, ReadPage, Reference, Refers, VisitAnswer};
use ingather_contract::repository::{
    ContainerReport, Group, Item, Listing, Observed, Page, Presence, ReadContent, Repository,
    RepositoryCapabilities, RepositoryKind,
};
use ingather_contract::settings::{NoSettings, schema_of};
use ingather_model::access::Acl;
use ingather_model::document::{Links, Record};
use ingather_model::fault::Fault;
use ingather_model::key::{Stamp, parent_bytes};
use url::Url;

use crate::sites::lists;
use crate::trees;

/// Documents that lead to others, half of the links as in a tree, in which everything can be reached, half of them to anywhere. Settings:
/// `documents`, `links` of each, `bytes`, and `hops`, which are those of the job.
pub(crate) static LINKED: RepositoryKind = RepositoryKind {
    name: "synthetic_links",
    about: "Makes its documents and their links up.",
    capabilities: CAPABILITIES,
    source_schema: schema_of::<NoSettings>,
    open: |source, _| {
        let number = |name: &str| source[name].as_u64().unwrap_or_default();
        Ok(Arc::new(Referring(Linked {
            documents: number("documents"),
            links: number("links"),
            bytes: number("bytes") as usize,
        })))
    },
};

/// Takes the place of web sites: what a job finds in a site of lists, without asking for its pages.
pub(crate) static SITE: RepositoryKind = RepositoryKind {
    name: "web",
    about: "Makes up what a site would answer.",
    capabilities: CAPABILITIES,
    source_schema: schema_of::<NoSettings>,
    open: |source, _| {
        let root = Url::parse(source["root"].as_str().unwrap_or_default());
        let root = root.map_err(|error| Fault::refused("root", error.to_string()))?;
        Ok(Arc::new(Referring(Lists { root })))
    },
};

const CAPABILITIES: RepositoryCapabilities =
    RepositoryCapabilities { list: false, access: true, unique_uris: true, looks: false, bins: false };

/// Bytes of a page of a site.
const PAGE_BYTES: usize = 200;

/// What the documents are.
trait Documents: Send + Sync {
    /// The one from which all are reached, and their container.
    fn seed(&self) -> (String, &'static str);

    /// What a document leads to; none where there is no such document.
    fn leads_to(&self, key: &str) -> Option<Vec<String>>;

    /// Its text.
    fn text(&self, key: &str) -> String;
}

struct Linked {
    documents: u64,
    links: u64,
    bytes: usize,
}

impl Linked {
    fn key(number: u64) -> String {
        format!("synthetic:///document-{number:08}.txt")
    }

    fn number(&self, key: &str) -> Option<u64> {
        let number = key.rsplit_once("document-")?.1.strip_suffix(".txt")?.parse().ok()?;
        (number < self.documents).then_some(number)
    }
}

impl Documents for Linked {
    fn seed(&self) -> (String, &'static str) {
        (Linked::key(0), "links:")
    }

    fn leads_to(&self, key: &str) -> Option<Vec<String>> {
        let (number, below) = (self.number(key)?, self.links / 2);
        let tree = (1..=below).map(|place| number * below + place).filter(|to| *to < self.documents);
        let anywhere = (below..self.links).map(|place| {
            let mixed = (number * self.links + place + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            (mixed >> 20) % self.documents
        });
        Some(tree.chain(anywhere).map(Linked::key).collect())
    }

    fn text(&self, key: &str) -> String {
        trees::text(self.number(key).unwrap_or_default(), self.bytes)
    }
}

struct Lists {
    root: Url,
}

impl Documents for Lists {
    fn seed(&self) -> (String, &'static str) {
        (self.root.to_string(), "web:")
    }

    fn leads_to(&self, key: &str) -> Option<Vec<String>> {
        let page = Url::parse(key).ok()?;
        let links = lists::links(page.path(), 0)?;
        Some(links.iter().filter_map(|link| Some(page.join(link).ok()?.to_string())).collect())
    }

    fn text(&self, key: &str) -> String {
        trees::text(key.len() as u64, PAGE_BYTES)
    }
}

struct Referring<D>(D);

impl<D: Documents> Repository for Referring<D> {
    fn check(&self, _call: &CallContext) -> Result<String, Fault> {
        Ok("synthetic".to_owned())
    }

    fn list(&self, _call: &CallContext) -> Result<Box<dyn Listing>, Fault> {
        Ok(Box::new(Seed(Some(self.0.seed()))))
    }

    fn look(&self, _call: &CallContext, key: &str) -> Result<Observed, Fault> {
        self.0.leads_to(key).ok_or(Fault::Gone)?;
        let record = Record { uri: key.to_owned(), path: key.to_owned(), ..Record::default() };
        Ok(Observed {
            content: Stamp::of(key.as_bytes()),
            access: Stamp::of(b"everybody"),
            dates: Default::default(),
            identity: 0,
            acl: Acl::open(),
            record,
        })
    }

    fn fetch(&self, call: &CallContext, key: &str, read: &mut ReadContent<'_>) -> Result<Observed, Fault> {
        let answer = self.visit(call, &Asked::of(key), &mut |record, acl, content| {
            read(record, acl, content).map(|()| Links::default())
        })?;
        match answer {
            VisitAnswer::Read(observed, _) => Ok(*observed),
            _ => Err(Fault::broken("connector", "every document is read")),
        }
    }

    fn probe(&self, _call: &CallContext, key: &str) -> Presence {
        if self.0.leads_to(key).is_some() { Presence::Present } else { Presence::Absent }
    }

    fn uri(&self, key: &str) -> String {
        key.to_owned()
    }

    fn refers(&self) -> Option<&dyn Refers> {
        Some(self)
    }
}

impl<D: Documents> Refers for Referring<D> {
    fn visit(
        &self,
        call: &CallContext,
        asked: &Asked<'_>,
        read: &mut ReadPage<'_>,
    ) -> Result<VisitAnswer, Fault> {
        let mut observed = self.look(call, asked.key)?;
        let text = self.0.text(asked.key);
        read(&mut observed.record, &observed.acl, &mut text.as_bytes())?;
        let links = self.0.leads_to(asked.key).ok_or(Fault::Gone)?.into_iter();
        let references =
            links.map(|key| Reference { parent_bytes: parent_bytes(&key), key, ..Reference::default() });
        let leads = Leads { references: references.collect(), ..Leads::default() };
        Ok(VisitAnswer::Read(Box::new(observed), leads))
    }
}

/// The first document.
struct Seed(Option<(String, &'static str)>);

impl Listing for Seed {
    fn next(&mut self) -> Option<Result<Page, Fault>> {
        let (key, container) = self.0.take()?;
        let (parent, name) = key.split_at(parent_bytes(&key));
        let item = Item { name: name.to_owned(), content: Stamp::NONE, access: Stamp::NONE, identity: 0 };
        let group = Group {
            parent: parent.to_owned(),
            container: Some(container.to_owned()),
            items: vec![item],
            ..Group::default()
        };
        let container = ContainerReport {
            name: container.to_owned(),
            parent: None,
            identity: container.to_owned(),
            acl: Acl::open(),
            folder: Some(String::new()),
            stamp: Stamp::NONE,
        };
        Some(Ok(Page { groups: vec![group], containers: vec![container], ..Page::default() }))
    }
}
