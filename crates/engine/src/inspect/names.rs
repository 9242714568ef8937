//! What a person asks about by a name: a document, or something in one.

use ingather_contract::repository::{Named, Repository};
use ingather_model::document::{INSIDE, component_of, component_uri};
use ingather_model::fault::Reason;
use ingather_model::merge::Known;
use ingather_store::jobs::Job;
use ingather_store::{deliveries, documents};

use crate::engine::Engine;
use crate::error::Result;

/// How far a text leads that a person typed for a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Leads {
    /// Neither the store nor the source has it.
    Nowhere,
    /// It is at the source, and the store does not know it.
    AtSource,
    /// The store knows it.
    Known,
}

/// A document, or something in one, that outputs may hold, by the name that a person asked with.
pub(crate) struct ItemName {
    pub(crate) named: Named,
    /// Its number and name inside the document.
    pub(crate) component: Option<(i64, String)>,
}

impl ItemName {
    /// Its name as it is shown to people.
    pub(super) fn shown(&self) -> String {
        match &self.component {
            Some((_, name)) => format!("{}{INSIDE}{name}", self.named.key),
            None => self.named.key.clone(),
        }
    }

    /// Its address, of that of its document.
    pub(super) fn uri(&self, document: String) -> String {
        match &self.component {
            Some((_, name)) => component_uri(&document, name),
            None => document,
        }
    }
}

/// Where a name leads that no output was sent anything of.
pub(super) struct Target {
    pub(super) named: Named,
    /// What is asked about in it; none for the document itself.
    pub(super) part: Option<String>,
}

impl Target {
    pub(super) fn whole(named: Named) -> Target {
        Target { named, part: None }
    }
}

/// The ways to take a name for that of something in a document: `outer.zip!/inner.txt`, or an address.
fn within(text: &str) -> Vec<(&str, String)> {
    let marks = text.match_indices(INSIDE);
    let mut ways: Vec<(&str, String)> =
        marks.map(|(at, mark)| (&text[..at], text[at + mark.len()..].to_owned())).collect();
    ways.extend(component_of(text));
    ways
}

impl Engine {
    /// What `text` names among all that is known; a document goes before something in another one of the same name.
    pub(crate) fn known_item(
        &self,
        job: &Job,
        source: &dyn Repository,
        text: &str,
    ) -> Result<Option<ItemName>> {
        if let Ok(named) = source.named(text)
            && self.find(job, &named)?.is_some()
        {
            return Ok(Some(ItemName { named, component: None }));
        }
        self.inside(job, source, text)
    }

    /// What `text` names inside a document that is known.
    pub(super) fn inside(&self, job: &Job, source: &dyn Repository, text: &str) -> Result<Option<ItemName>> {
        for (document, component) in within(text) {
            let Ok(named) = source.named(document) else { continue };
            let Some(known) = self.find(job, &named)? else { continue };
            let id = self.reader.read(|sql| deliveries::component(sql, known.id.0, &component))?;
            if let Some(id) = id {
                return Ok(Some(ItemName { named, component: Some((id, component)) }));
            }
        }
        Ok(None)
    }

    /// What `text` names that is not known: a document, or something in one, at the source; else something in a document
    /// that is known.
    pub(super) fn target(
        &self,
        job: &Job,
        source: &dyn Repository,
        text: &str,
    ) -> Result<std::result::Result<Target, Reason>> {
        if let Some(target) = self.at_source(source, text) {
            return Ok(Ok(target));
        }
        for (document, part) in within(text) {
            let Ok(named) = source.named(document) else { continue };
            if self.find(job, &named)?.is_some() {
                return Ok(Ok(Target { named, part: Some(part) }));
            }
        }
        Ok(source.named(text).map(Target::whole))
    }

    /// What `text` names at the source now: a document, or else something in one; none when neither is there.
    pub(super) fn at_source(&self, source: &dyn Repository, text: &str) -> Option<Target> {
        let there = |text: &str| {
            source.named(text).ok().filter(|named| source.look(&self.call(), &named.key).is_ok())
        };
        let whole = there(text).map(Target::whole);
        whole.or_else(|| {
            let mut ways = within(text).into_iter();
            ways.find_map(|(document, part)| Some(Target { named: there(document)?, part: Some(part) }))
        })
    }

    /// What the store knows of a document.
    fn find(&self, job: &Job, named: &Named) -> Result<Option<Known>> {
        let key = self.reader.hasher().key(&named.key, named.parent_bytes);
        let found = self.reader.read(|sql| documents::find(sql, job.id, key.parent_hash, &[key.key_hash]))?;
        Ok(found.into_iter().next().map(|(_, known)| known))
    }

    /// What `text` names of a job, when the store knows it.
    pub(super) fn known_by(&self, job: &Job, text: &str) -> Result<Option<ItemName>> {
        match self.repository(job) {
            // A job whose source cannot even be named knows nothing by any name.
            Err(_) => Ok(None),
            Ok(source) => self.known_item(job, source.as_ref(), text),
        }
    }

    /// How far `text` leads in a job.
    ///
    /// # Errors
    /// What the store says.
    pub fn leads(&self, job: &Job, text: &str) -> Result<Leads> {
        let Ok(source) = self.repository(job) else { return Ok(Leads::Nowhere) };
        if self.known_item(job, source.as_ref(), text)?.is_some() {
            return Ok(Leads::Known);
        }
        Ok(self.at_source(source.as_ref(), text).map_or(Leads::Nowhere, |_| Leads::AtSource))
    }
}
