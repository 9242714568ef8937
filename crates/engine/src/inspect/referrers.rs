//! What leads to a document of a source that is found by following links.

use ingather_contract::repository::Repository;
use ingather_model::key::DocumentKey;
use ingather_model::limits;
use ingather_store::documents;
use ingather_store::documents::links;
use ingather_store::jobs::Job;

use crate::engine::Engine;
use crate::error::Result;
use crate::run::reach::targets::Targets;

/// What leads to a document, as its pages were read last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Referrers {
    /// Some of them, each with how it is related.
    pub some: Vec<Referrer>,
    /// How many there are.
    pub total: u64,
    /// Not all that is known was looked through.
    pub is_partial: bool,
}

/// One that leads to a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Referrer {
    /// Its name in the job.
    pub document: String,
    /// How it is related, such as `link`.
    pub relation: &'static str,
}

impl Engine {
    /// What leads to a document; none for a source that is listed. Links are kept by where they come from: all of the job are looked through.
    pub(super) fn referrers(&self, job: &Job, source: &dyn Repository, id: i64) -> Result<Option<Referrers>> {
        let Some(relations) = source.refers().map(|refers| refers.relations()) else { return Ok(None) };
        let mut found = Referrers { some: Vec::new(), total: 0, is_partial: false };
        let (mut after, mut looked_at) = (DocumentKey::BEFORE_ALL, 0);
        let mut named = Vec::new();
        loop {
            let page =
                self.reader.read(|sql| documents::walk(sql, job.id, after, limits::LINKS_LOOKED_PAGE))?;
            let Some((last, _)) = page.last() else { break };
            (after, looked_at) = (*last, looked_at + page.len());
            let ids: Vec<i64> = page.iter().map(|(_, id)| *id).collect();
            for (from, bytes) in self.reader.read(|sql| links::get(sql, &ids))? {
                let Some(relation) = Targets::from_bytes(&bytes)?.relation_to(id).filter(|_| from != id)
                else {
                    continue;
                };
                found.total += 1;
                if named.len() < limits::REFERRERS_NAMED_MAX {
                    named.push((from, relations.get(relation).copied().unwrap_or_default()));
                }
            }
            if looked_at >= limits::LINKS_LOOKED_MAX {
                found.is_partial = true;
                break;
            }
        }
        for (from, relation) in named {
            let names = self.reader.read(|sql| documents::names(sql, &[from]))?;
            found.some.extend(names.into_iter().map(|(_, document)| Referrer { document, relation }));
        }
        Ok(Some(found))
    }
}
