//! The visit of a document that leads to others: what it leads to is on disk before anything of it is sent, so that no crash between the two
//! loses what can be reached by it alone.

use ingather_contract::refers::{Asked, Leads, Refers, VisitAnswer};
use ingather_model::document::Links;
use ingather_model::fault::{Fault, Reason};
use ingather_model::ids::{AclId, DocumentId};
use ingather_model::lifecycle::outcome::{FailureCode, FailureKind};
use ingather_model::limits;
use ingather_model::merge::Known;
use ingather_store::documents::{DocumentUpdate, links};
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::queue::NotedFailure;

use super::Visitor;
use super::outcome::{Outcome, VisitArtifacts};
use super::pipeline::Passed;
use super::steady::{Done, SecondLook};
use crate::error::Result;
use crate::run::Run;
use crate::run::reach::{self, Found, Reach};

/// Visits of one claim whose documents were read, and of which nothing is sent yet.
pub(super) struct Pages<'r> {
    run: &'r Run,
    reach: &'r Reach,
    read: Vec<(Visitor<'r>, Page)>,
    found: Vec<Found>,
    bytes: u64,
}

/// What the visit of one document found.
enum Page {
    Unchanged { acl_id: AclId },
    Read { update: DocumentUpdate, passed: Passed },
    NoEntry(Reason),
    Fault(Fault),
}

/// Why a document is none that was never there.
fn dead_link() -> Reason {
    Reason::new(FailureCode::Missing.as_str(), "its source says that it is not there; it is a dead link")
}

impl<'r> Pages<'r> {
    pub(super) fn new(run: &'r Run, reach: &'r Reach) -> Pages<'r> {
        Pages { run, reach, read: Vec::new(), found: Vec::new(), bytes: 0 }
    }

    /// Reads one document; it is sent with the others.
    pub(super) fn visit(&mut self, mut visitor: Visitor<'r>, refers: &dyn Refers) -> Result<()> {
        let mut passed = None;
        let memo = visitor.memo()?;
        let asked = Asked { key: &visitor.item.name, memo: memo.as_deref() };
        let visited = visitor.read_page(refers, &asked, &mut passed);
        if visitor.interrupted.get() {
            visitor.put_back();
            return Ok(());
        }
        // Its place is free before outputs are asked for anything.
        visitor.item.admission = None;
        if matches!(visited, Ok(VisitAnswer::NotYet)) && self.reach.is_first_delay(visitor.item.id) {
            visitor.put_back();
            return Ok(());
        }
        let (page, leads) = match visited {
            Ok(VisitAnswer::Unchanged { acl, dates }) if memo.is_some() => {
                visitor.is_as_before(dates);
                let acl_id = visitor.acl_id_of(&acl)?;
                if visitor.needs_record(acl_id) {
                    self.reach.read_anyway(visitor.item.id);
                    visitor.put_back();
                    return Ok(());
                }
                visitor.memo = memo;
                let leads = if failpoint(Failpoint::UnchangedLeadsNowhere) { None } else { Some(None) };
                (Page::Unchanged { acl_id }, leads)
            }
            Ok(VisitAnswer::NotYet) => {
                let fault = Fault::broken("connector", "the connector puts it off again and again");
                (Page::Fault(fault), Some(None))
            }
            Ok(VisitAnswer::Unchanged { .. }) => {
                let fault = Fault::broken("connector", "the connector compared it with nothing");
                (Page::Fault(fault), Some(None))
            }
            Ok(VisitAnswer::Read(observed, mut leads)) => {
                visitor.memo = leads.memo.take().filter(|memo| memo.len() <= limits::MEMO_BYTES_MAX);
                visitor.sees(&observed);
                match passed {
                    Some(passed) => {
                        let acl_id = visitor.acl_id(&observed)?;
                        let update =
                            DocumentUpdate { raw: Some(passed.content), ..visitor.update(&observed, acl_id) };
                        self.bytes += passed.bytes;
                        (Page::Read { update, passed }, Some(Some(leads)))
                    }
                    None => {
                        let fault = Fault::broken("connector", "the connector gave no content");
                        (Page::Fault(fault), Some(None))
                    }
                }
            }
            Ok(VisitAnswer::NoEntry(reason, leads)) => (Page::NoEntry(reason), Some(Some(leads))),
            // Nothing is lost by believing at once that what was never there is not there. The dead link stays known: where the page that
            // has it is as before, nobody reads it again.
            Err(fault) if (fault.is_missing() || fault == Fault::Gone) && visitor.is_dead() => {
                (Page::NoEntry(dead_link()), None)
            }
            // What is left out, and what is gone for good, leads nowhere.
            Err(fault @ (Fault::Refused(_) | Fault::Gone)) => (Page::Fault(fault), None),
            Err(fault) if failpoint(Failpoint::FailedLeadsNowhere) => (Page::Fault(fault), None),
            Err(fault) => (Page::Fault(fault), Some(None)),
        };
        let (id, container) = (visitor.item.id, visitor.item.container);
        let leads = leads.unwrap_or_else(|| Some(Leads::default()));
        self.found.push(Found { id, container, leads });
        self.read.push((visitor, page));
        Ok(())
    }

    /// Whether what was read is so much that it is to be sent before more is read.
    pub(super) fn is_much(&self) -> bool {
        self.bytes >= limits::LOOKS_BYTES_MAX as u64
    }

    /// Writes down what the documents lead to, and then sends what was read.
    pub(super) fn send(&mut self, second_look: &mut SecondLook<'r>) -> Result<()> {
        let again = match failpoint(Failpoint::LeadsAfterTheDocument) {
            true => Vec::new(),
            false => self.write()?,
        };
        self.bytes = 0;
        for (visitor, page) in std::mem::take(&mut self.read) {
            let done = match again.contains(&visitor.item.id) {
                true => visitor.put_back(),
                false => visitor.page(page)?,
            };
            second_look.take(done)?;
        }
        Ok(())
    }

    /// All that was read is sent: nothing is left to be written, but for a planted fault.
    pub(super) fn end(mut self) -> Result<()> {
        if failpoint(Failpoint::LeadsAfterTheDocument) { self.write().map(drop) } else { Ok(()) }
    }

    /// Writes down what the documents lead to: those that are to be read once more.
    fn write(&mut self) -> Result<Vec<i64>> {
        reach::find(self.run, self.reach, &std::mem::take(&mut self.found))
    }
}

impl<'r> Visitor<'r> {
    fn read_page(
        &self,
        refers: &dyn Refers,
        asked: &Asked<'_>,
        passed: &mut Option<Passed>,
    ) -> std::result::Result<VisitAnswer, Fault> {
        self.fetches();
        let visited = refers.visit(&self.run.call, asked, &mut |record, acl, content| {
            let run = self.run;
            let audience = || run.audiences.of(self.item.container, &run.pipeline.access(acl));
            let mut links = Links::default();
            let mut content = self.paced(content);
            *passed =
                Some(run.pipeline.pass(&run.call, &audience, record, &mut content, Some(&mut links))?);
            Ok(links)
        });
        self.run.progress.bytes(passed.as_ref().map_or(0, |passed| passed.bytes));
        visited
    }

    /// Whether it was not there when a visit of it came to its end last, or none ever did and no output was sent anything of it.
    fn is_dead(&self) -> bool {
        let is_dead_link = |failure: NotedFailure| {
            failure.kind == FailureKind::Skipped && failure.code == Some(FailureCode::Missing)
        };
        let was_settled = self.item.known.as_ref().is_some_and(Known::is_settled);
        (!was_settled && self.deliveries.all().next().is_none())
            || self.item.noted.failure.is_some_and(is_dead_link)
    }

    /// What the last visit left, where it is enough to hear that nothing has changed since.
    fn memo(&self) -> Result<Option<Vec<u8>>> {
        let must_read = self.run.reach.as_ref().is_some_and(|reach| reach.must_read(self.item.id));
        let is_confirmed =
            self.holds_all() && self.is_shown_as_known() || failpoint(Failpoint::MemoOfUnconfirmed);
        let is_enough = !must_read && !self.run.rereads && is_confirmed;
        if !is_enough {
            return Ok(None);
        }
        Ok(self.run.reader.read(|sql| links::memo(sql, self.item.id))?)
    }

    /// Whether somebody else may see it now, and some output takes that only with what was read.
    fn needs_record(&self, acl_id: AclId) -> bool {
        !self.by_reference() && self.item.known.as_ref().is_none_or(|known| known.acl_id != Some(acl_id))
    }

    fn page(self, page: Page) -> Result<Done<'r>> {
        match page {
            Page::Unchanged { acl_id } => {
                let known = self.item.known.as_ref();
                let update = DocumentUpdate {
                    id: DocumentId(self.item.id),
                    version: known.map_or(self.item.version, |known| known.version),
                    access: known.map_or(self.item.access, |known| known.access),
                    settings: self.run.settings,
                    identity: self.item.identity,
                    acl_id: Some(acl_id),
                    container: self.item.container,
                    raw: None,
                };
                self.show_update_as_known(update, acl_id)
            }
            Page::Read { update, passed } => self.made(update, passed),
            Page::NoEntry(reason) => self.declined(reason),
            Page::Fault(Fault::Unreadable(reason)) if !failpoint(Failpoint::ShutStaysVisible) => {
                self.shut(reason)
            }
            Page::Fault(fault) => self.fault(fault, None),
        }
    }

    /// What its source does not let us read any more is shown to nobody: who may still read it, nobody can tell.
    fn shut(self, reason: Reason) -> Result<Done<'r>> {
        let outcome = Outcome::Failed(reason);
        match self.listed() {
            Some(update) => {
                let masks = self.masks();
                let update = DocumentUpdate { acl_id: None, ..update };
                self.hand_over(update, masks, outcome, VisitArtifacts::default())
            }
            None => Ok(Done::Handed),
        }
    }
}
