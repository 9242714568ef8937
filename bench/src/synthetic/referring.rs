//! A repository whose documents are found by following links and lead to others that it makes up: half of the links of a document as in a
//! tree, in which everything can be reached, half of them to anywhere.

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
use ingather_model::key::Stamp;

use crate::trees;

/// The kind; settings: `documents`, `links` of each, `bytes`, and `hops`, which are those of the job.
pub(crate) static REFERRING: RepositoryKind = RepositoryKind {
    name: "synthetic_links",
    about: "Makes its documents and their links up.",
    capabilities: RepositoryCapabilities {
        list: false,
        access: true,
        unique_uris: true,
        looks: false,
        bins: false,
    },
    source_schema: schema_of::<NoSettings>,
    open: |source, _| {
        let number = |name: &str| source[name].as_u64().unwrap_or_default();
        Ok(Arc::new(Linked {
            documents: number("documents"),
            links: number("links"),
            bytes: number("bytes") as usize,
        }))
    },
};

/// What is in it.
#[derive(Clone, Copy, Debug)]
struct Linked {
    documents: u64,
    links: u64,
    bytes: usize,
}

/// The container of all of them.
const CONTAINER: &str = "links:";

fn key(number: u64) -> String {
    format!("document-{number:08}.txt")
}

impl Linked {
    fn number(self, key: &str) -> Option<u64> {
        let number = key.strip_prefix("document-")?.strip_suffix(".txt")?.parse().ok()?;
        (number < self.documents).then_some(number)
    }

    fn leads(self, number: u64) -> Leads {
        let below = self.links / 2;
        let tree = (1..=below).map(|place| number * below + place).filter(|to| *to < self.documents);
        let anywhere = (below..self.links).map(|place| {
            let mixed = (number * self.links + place + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            (mixed >> 20) % self.documents
        });
        let reference = |to| Reference { key: key(to), ..Reference::default() };
        Leads { references: tree.chain(anywhere).map(reference).collect(), ..Leads::default() }
    }
}

impl Repository for Linked {
    fn check(&self, _call: &CallContext) -> Result<String, Fault> {
        Ok("synthetic".to_owned())
    }

    fn list(&self, _call: &CallContext) -> Result<Box<dyn Listing>, Fault> {
        Ok(Box::new(Seed(true)))
    }

    fn look(&self, _call: &CallContext, key: &str) -> Result<Observed, Fault> {
        let number = self.number(key).ok_or(Fault::Gone)?;
        let record = Record {
            uri: self.uri(key),
            path: key.to_owned(),
            size: Some(self.bytes as u64),
            ..Record::default()
        };
        Ok(Observed {
            content: Stamp([1, number, 0, 1]),
            access: Stamp([2, number, 0, 1]),
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
        if self.number(key).is_some() { Presence::Present } else { Presence::Absent }
    }

    fn uri(&self, key: &str) -> String {
        format!("synthetic:///{key}")
    }

    fn refers(&self) -> Option<&dyn Refers> {
        Some(self)
    }
}

impl Refers for Linked {
    fn visit(
        &self,
        call: &CallContext,
        asked: &Asked<'_>,
        read: &mut ReadPage<'_>,
    ) -> Result<VisitAnswer, Fault> {
        let mut observed = self.look(call, asked.key)?;
        let number = self.number(asked.key).ok_or(Fault::Gone)?;
        let text = trees::text(number, self.bytes);
        read(&mut observed.record, &observed.acl, &mut text.as_bytes())?;
        Ok(VisitAnswer::Read(Box::new(observed), self.leads(number)))
    }
}

/// The first document, from which all are reached.
struct Seed(bool);

impl Listing for Seed {
    fn next(&mut self) -> Option<Result<Page, Fault>> {
        if !std::mem::take(&mut self.0) {
            return None;
        }
        let item = Item { name: key(0), content: Stamp::NONE, access: Stamp::NONE, identity: 0 };
        let container = ContainerReport {
            name: CONTAINER.to_owned(),
            parent: None,
            identity: CONTAINER.to_owned(),
            acl: Acl::open(),
            folder: Some(String::new()),
            stamp: Stamp::NONE,
        };
        let group = Group { parent: String::new(), container: Some(CONTAINER.to_owned()), items: vec![item] };
        Some(Ok(Page { groups: vec![group], containers: vec![container], ..Page::default() }))
    }
}
