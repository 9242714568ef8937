//! What a repository promises that is found by following links (`crates/contract/src/refers.rs`).

use ingather_contract::call::CallContext;
use ingather_contract::events::EventNames;
use ingather_contract::refers::{Asked, Leads, Refers, VisitAnswer};
use ingather_contract::repository::{HostContext, Page, Repository, RepositoryKind};
use ingather_model::document::Links;
use ingather_model::fault::Fault;
use ingather_model::limits;

use super::events::MemoryEvents;
use super::secrets::secrets;
use super::{Breaches, call, must_be_none};

/// A source that the suite may change.
pub struct ReferringSample<'a> {
    /// Settings that open it.
    pub source: serde_json::Value,
    /// What surrounds it.
    pub host: HostContext,
    /// Key of a document in it, and its bytes.
    pub present: (&'a str, &'a [u8]),
    /// A key that it does not have.
    pub absent: &'a str,
    /// Gives the document other bytes, and which.
    pub change: (&'a dyn Fn(), &'a [u8]),
}

/// Checks a repository.
///
/// # Panics
/// When a promise is broken, with one line for each.
pub fn referring(kind: &RepositoryKind, sample: &ReferringSample<'_>) {
    must_be_none(kind.name, &referring_breaches(kind, sample));
}

/// As [`referring`], for tests of the suite itself.
pub fn referring_breaches(kind: &RepositoryKind, sample: &ReferringSample<'_>) -> Vec<String> {
    let mut found = Breaches::default();
    let faults = |source: &serde_json::Value| match (kind.open)(source, &sample.host) {
        Ok(repository) => repository.check(&call()).err().into_iter().collect(),
        Err(fault) => vec![fault],
    };
    secrets(&(kind.source_schema)(), &sample.source, &faults, &mut found);
    found.unless(!kind.capabilities.list, || "it says that it lists, and names seeds alone".to_owned());
    let repository = match (kind.open)(&sample.source, &sample.host) {
        Ok(repository) => repository,
        Err(fault) => {
            found.0.push(format!("it does not open: {fault}"));
            return found.0;
        }
    };
    let Some(refers) = repository.refers() else {
        found.0.push("it does not say how it is visited".to_owned());
        return found.0;
    };
    let call = call();
    seeds(repository.as_ref(), &call, &mut found);
    names(repository.as_ref(), sample.present.0, &mut found);
    let events = MemoryEvents::default();
    let visits = Visits { repository: repository.as_ref(), refers, call: &call, events: &events };
    visits.content(sample, &mut found);
    visits.absence(sample, &mut found);
    visits.errors(sample, &mut found);
    let left = events.left();
    found.unless(left.is_empty(), || {
        format!("events are pending, or completed by who did not begin them: {left:?}")
    });
    found.0
}

/// Seeds are told with the container that they are in, and prove nothing.
fn seeds(repository: &dyn Repository, call: &CallContext, found: &mut Breaches) {
    let pages: Result<Vec<Page>, Fault> = match repository.list(call) {
        Ok(mut listing) => std::iter::from_fn(|| listing.next()).collect(),
        Err(fault) => Err(fault),
    };
    let pages = match pages {
        Ok(pages) => pages,
        Err(fault) => return found.0.push(format!("its seeds cannot be named: {fault}")),
    };
    let mut containers = Vec::new();
    let mut named = 0;
    for page in &pages {
        containers.extend(page.containers.iter().map(|container| container.name.as_str()));
        found.unless(page.proven.is_empty(), || "naming seeds proves something".to_owned());
        for group in &page.groups {
            named += group.items.len();
            let is_told = group.container.as_deref().is_some_and(|name| containers.contains(&name));
            found.unless(is_told, || {
                format!("seeds below `{}` are in no container, so that nobody sees them", group.parent)
            });
        }
    }
    found.unless(named > 0, || "it names no seed".to_owned());
}

/// A document is named by its address, and is in a few bins.
fn names(repository: &dyn Repository, key: &str, found: &mut Breaches) {
    let named = repository.named(&repository.uri(key)).map(|named| (named.key.clone(), named.parent_bytes));
    let is_same = named.as_ref().is_ok_and(|(name, parent)| name == key && key.is_char_boundary(*parent));
    found.unless(is_same, || format!("the address of `{key}` names {named:?}"));
    let bins = repository.bins(key);
    let is_few = bins.len() <= limits::BINS_OF_A_DOCUMENT_MAX && bins == repository.bins(key);
    found.unless(is_few, || format!("`{key}` is in the bins {bins:?}"));
}

/// Visits of documents of a sample.
struct Visits<'a> {
    repository: &'a dyn Repository,
    refers: &'a dyn Refers,
    call: &'a CallContext,
    events: &'a MemoryEvents,
}

impl Visits<'_> {
    fn asked<'k>(&'k self, key: &'k str, memo: Option<&'k [u8]>) -> Asked<'k> {
        let names = EventNames { connection: "suite", job: "suite" };
        Asked { memo, events: self.events, names, ..Asked::of(key) }
    }

    /// Visits a document, and again where something else was fetched in its place; what was read of it.
    fn visit(&self, key: &str, memo: Option<&[u8]>) -> (Result<VisitAnswer, Fault>, Option<Vec<u8>>) {
        let mut bytes = None;
        let mut once = || {
            self.refers.visit(self.call, &self.asked(key, memo), &mut |_, _, content| {
                let mut whole = Vec::new();
                content.read_to_end(&mut whole).map_err(|error| Fault::passing("io", error.to_string()))?;
                bytes = Some(whole);
                Ok(Links::default())
            })
        };
        for _ in 0..limits::AGAIN_MAX {
            match once() {
                Ok(VisitAnswer::Again { after }) if self.events.are_completed(&after) => {}
                answer => return (answer, bytes),
            }
        }
        (once(), bytes)
    }

    /// What is read is what is there, and what changed is never said to be as before.
    fn content(&self, sample: &ReferringSample<'_>, found: &mut Breaches) {
        let (key, bytes) = sample.present;
        let (answer, read) = self.visit(key, None);
        let Ok(VisitAnswer::Read(before, leads)) = answer else {
            return found.0.push(format!("`{key}` is there, and a visit says {answer:?}"));
        };
        found.unless(read.as_deref() == Some(bytes), || {
            format!("`{key}` has other bytes than were read of it")
        });
        let uri = self.repository.uri(key);
        found.unless(before.record.uri == uri, || {
            format!("the record of `{key}` has the address {}", before.record.uri)
        });
        self.leads(key, &leads, found);
        let memo = leads.memo.as_deref();
        if let Some(memo) = memo {
            let (again, _) = self.visit(key, Some(memo));
            let is_same = match &again {
                Ok(VisitAnswer::Unchanged { acl, .. }) => *acl == before.acl,
                Ok(VisitAnswer::Read(now, _)) => now.content == before.content,
                _ => false,
            };
            found.unless(is_same, || format!("`{key}` is as it was, and a visit says {again:?}"));
            let (garbage, _) = self.visit(key, Some(b"\xff\x00no memo"));
            let is_read = matches!(garbage, Ok(VisitAnswer::Read(..)));
            found
                .unless(is_read, || format!("with a memo that is none, a visit of `{key}` says {garbage:?}"));
        }
        (sample.change.0)();
        let (after, read) = self.visit(key, memo);
        let is_other = matches!(&after, Ok(VisitAnswer::Read(now, _)) if now.content != before.content);
        found.unless(is_other, || format!("`{key}` was changed, and a visit says {after:?}"));
        found.unless(read.as_deref() == Some(sample.change.1), || format!("of `{key}` old bytes are read"));
    }

    fn leads(&self, key: &str, leads: &Leads, found: &mut Breaches) {
        let memo = leads.memo.as_ref().map_or(0, Vec::len);
        found.unless(memo <= limits::MEMO_BYTES_MAX, || format!("the memo of `{key}` has {memo} bytes"));
        for reference in &leads.references {
            let is_cut_well = reference.key.is_char_boundary(reference.parent_bytes);
            found.unless(is_cut_well, || {
                format!("the parent part of `{}` ends inside a letter", reference.key)
            });
            let named = self.repository.named(&self.repository.uri(&reference.key)).map(|named| named.key);
            let is_same = named.as_ref() == Ok(&reference.key);
            found.unless(is_same, || {
                format!("`{key}` leads to `{}`, whose address names {named:?}", reference.key)
            });
        }
    }

    /// What is not there is never read.
    fn absence(&self, sample: &ReferringSample<'_>, found: &mut Breaches) {
        let (answer, read) = self.visit(sample.absent, None);
        let is_absent = match &answer {
            Err(Fault::Gone) => true,
            Err(fault) => fault.is_missing(),
            Ok(_) => false,
        };
        let key = sample.absent;
        found.unless(is_absent && read.is_none(), || {
            format!("`{key}` is not there, and a visit says {answer:?}")
        });
    }

    /// What a reader says of the content is what a visit says.
    fn errors(&self, sample: &ReferringSample<'_>, found: &mut Breaches) {
        let said = Fault::broken("suite", "the reader does not want it");
        let asked = self.asked(sample.present.0, None);
        let answer = self.refers.visit(self.call, &asked, &mut |_, _, _| Err(said.clone()));
        let is_said = answer.as_ref().err() == Some(&said);
        found.unless(is_said, || format!("a reader says that it cannot read, and the visit {answer:?}"));
    }
}
