//! The visit of a document that leads to others: what it leads to is on disk before anything of it is sent, so that no crash between the two
//! loses what can be reached by it alone.

use std::collections::HashMap;

use ingather_contract::events::{EventName, EventNames};
use ingather_contract::refers::{Asked, HandedDown, Leads, Refers, VisitAnswer};
use ingather_contract::repository::Observed;
use ingather_model::document::Links;
use ingather_model::fault::{Fault, Reason};
use ingather_model::ids::{AclId, Digest, DocumentId};
use ingather_model::lifecycle::outcome::{FailureCode, FailureKind};
use ingather_model::limits;
use ingather_model::merge::Known;
use ingather_store::documents::links::Memo;
use ingather_store::documents::{DocumentUpdate, links};
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::queue::NotedFailure;

use super::events::{VisitEvents, bounded};
use super::outcome::{Outcome, VisitArtifacts};
use super::pipeline::Passed;
use super::steady::{Done, SecondLook};
use super::{Visitor, unread_in};
use crate::error::Result;
use crate::run::Run;
use crate::run::reach::in_place::{self, Elsewhere};
use crate::run::reach::{self, Found, Reach, handed, parked};

/// Visits of one claim whose documents were read, and of which nothing is sent yet.
pub(super) struct Pages<'r> {
    run: &'r Run,
    reach: &'r Reach,
    read: Vec<(Visitor<'r>, Page)>,
    found: Vec<Found>,
    bytes: u64,
    /// How many relations the source has.
    relations: usize,
    /// What is known of each, read for all of them at once.
    told: HashMap<i64, Told>,
}

/// What a visit is told of its document: what is handed down to it, the digest of that, and what its last visit left, where that could be
/// enough.
type Told = (HandedDown, Digest, Option<Memo>);

/// What the visit of one document found.
enum Page {
    Unchanged { acl_id: AclId },
    Read { update: DocumentUpdate, passed: Passed },
    NoEntry(Reason),
    Fault(Fault),
}

/// A document that leads to no other one.
fn nowhere() -> Option<Leads> {
    Some(Leads::default())
}

/// What a connector does that it may not.
fn broken(sentence: &str) -> (Page, Option<Leads>) {
    (Page::Fault(Fault::broken("connector", sentence)), None)
}

/// Why a document is none that was never there.
fn dead_link() -> Reason {
    Reason::new(FailureCode::Missing.as_str(), "its source says that it is not there; it is a dead link")
}

impl<'r> Pages<'r> {
    /// For visits of these documents.
    pub(super) fn new(
        run: &'r Run,
        (reach, refers): (&'r Reach, &dyn Refers),
        visitors: &[Visitor<'r>],
    ) -> Result<Pages<'r>> {
        let relations = refers.relations().len();
        let mut told = HashMap::new();
        // Nothing is handed down to what is pushed, and no visit of it leaves a memo.
        if !run.author.is_pushed {
            run.reader.read(|sql| {
                for visitor in visitors {
                    let id = visitor.item.id;
                    let (handed_down, digest) = handed::to(sql, id)?;
                    let memo = visitor.may_be_as_before().then(|| links::memo(sql, id)).transpose()?;
                    told.insert(id, (handed_down, digest, memo));
                }
                Ok(())
            })?;
        }
        Ok(Pages { run, reach, read: Vec::new(), found: Vec::new(), bytes: 0, relations, told })
    }

    /// Reads one document; it is sent with the others.
    pub(super) fn visit(&mut self, mut visitor: Visitor<'r>, refers: &dyn Refers) -> Result<()> {
        if parked::has_to_wait(self.run, self.reach, visitor.item.id)? {
            return Ok(());
        }
        let mut passed = None;
        let (handed_down, handed, memo) =
            self.told.remove(&visitor.item.id).unwrap_or_else(|| (HandedDown::new(), Digest::NONE, None));
        let memo = memo.and_then(|memo| visitor.memo(memo, handed));
        visitor.memo.handed = handed;
        let told = (memo.as_deref(), &handed_down);
        let visited = visitor.read_page(refers, told, &mut passed).and_then(bounded);
        if visitor.interrupted.get() {
            visitor.put_back();
            return Ok(());
        }
        let elsewhere = match &visited {
            Ok(VisitAnswer::NoEntry(_, leads)) => in_place::elsewhere(self.run, leads),
            _ => None,
        };
        // Its place is free before outputs are asked for anything.
        visitor.item.admission = None;
        if let Ok(VisitAnswer::Again { after }) = &visited {
            match self.again(visitor, after)? {
                None => return Ok(()),
                Some(failed) => visitor = failed,
            }
        }
        if let (Ok(VisitAnswer::Unchanged { acl, dates }), Some(_)) = (&visited, &memo) {
            visitor.is_as_before(*dates);
            let acl_id = visitor.acl_id_of(acl)?;
            if visitor.needs_record(acl_id) {
                self.reach.read_anyway(visitor.item.id);
                visitor.put_back();
                return Ok(());
            }
            visitor.memo.memo = memo;
            let leads = failpoint(Failpoint::UnchangedLeadsNowhere).then(Leads::default);
            self.note(visitor, (Page::Unchanged { acl_id }, None), leads);
            return Ok(());
        }
        let (page, leads) = match visited {
            Ok(VisitAnswer::Read(observed, leads)) if self.is_sound(&leads) => match passed {
                Some(passed) => self.read(&mut visitor, &observed, (passed, leads))?,
                None => broken("the connector gave no content"),
            },
            Ok(VisitAnswer::NoEntry(reason, leads)) if self.is_sound(&leads) => {
                self.no_entry(&visitor, reason, leads)?
            }
            Ok(VisitAnswer::Read(..) | VisitAnswer::NoEntry(..)) => {
                broken("the connector says of a document more than it may")
            }
            Ok(VisitAnswer::Again { .. }) => broken("the connector puts it off again and again"),
            Ok(VisitAnswer::Unchanged { .. }) => broken("the connector compared it with nothing"),
            // Nothing is lost by believing at once that what was never there is not there. The dead link stays known: where the page that
            // has it is as before, nobody reads it again.
            Err(fault) if (fault.is_missing() || fault == Fault::Gone) && visitor.is_dead() => {
                (Page::NoEntry(dead_link()), nowhere())
            }
            // What is left out by its name, and what is gone for good, leads nowhere.
            Err(Fault::Refused(reason)) => (Page::NoEntry(reason), nowhere()),
            Err(Fault::Gone) => (Page::Fault(Fault::Gone), nowhere()),
            Err(fault) if failpoint(Failpoint::FailedLeadsNowhere) => (Page::Fault(fault), nowhere()),
            Err(fault) => (Page::Fault(fault), None),
        };
        self.note(visitor, (page, elsewhere), leads);
        Ok(())
    }

    /// The document was visited: it is sent once what it leads to is on disk.
    fn note(
        &mut self,
        visitor: Visitor<'r>,
        (page, elsewhere): (Page, Option<Elsewhere>),
        leads: Option<Leads>,
    ) {
        let (id, container) = (visitor.item.id, visitor.item.container);
        self.reach.found_elsewhere(id, elsewhere, matches!(page, Page::NoEntry(_)));
        // Nothing leads to what is pushed, and it leads nowhere.
        if !self.run.author.is_pushed {
            self.found.push(Found { id, container, leads });
        }
        self.read.push((visitor, page));
    }

    /// What was read of a document. Where not all of it could be read, not all that it leads to is known.
    fn read(
        &mut self,
        visitor: &mut Visitor<'r>,
        observed: &Observed,
        (passed, mut leads): (Passed, Leads),
    ) -> Result<(Page, Option<Leads>)> {
        // Whether it stands alone the next visit has to ask anew.
        let is_kept = |memo: &Vec<u8>| {
            memo.len() <= limits::MEMO_BYTES_MAX && !self.reach.stands_alone(visitor.item.id)
        };
        let memo = leads.memo.take().filter(is_kept);
        visitor.memo.memo = memo;
        visitor.sees(observed);
        let acl_id = visitor.acl_id(observed)?;
        let update = DocumentUpdate { raw: Some(passed.content), ..visitor.update(observed, acl_id) };
        self.bytes += passed.bytes;
        leads.incomplete |=
            passed.unread().is_some() || passed.arrivals.iter().any(|arrival| unread_in(arrival).is_some());
        Ok((Page::Read { update, passed }, Some(leads)))
    }

    /// What its source wants no entry of, or not for now. What outputs hold stays then until it is so again an hour later; and for as long it
    /// leads to what it led to before.
    fn no_entry(
        &self,
        visitor: &Visitor<'r>,
        reason: Reason,
        mut leads: Leads,
    ) -> Result<(Page, Option<Leads>)> {
        if !leads.for_now || failpoint(Failpoint::ForNowIsForGood) {
            // As long as outputs may keep it, what only its earlier text leads to stays, too.
            leads.incomplete |= leads.in_place.is_some() && visitor.is_held();
            return Ok((Page::NoEntry(reason), Some(leads)));
        }
        leads.incomplete = !visitor.is_so_for_long();
        let why = Reason::new(FailureCode::ForNow.as_str(), reason.message.as_str());
        if visitor.is_held() {
            // Where that is believed by now. What it leads to is known by it from then on.
            self.reach.leaves(visitor.item.id, why);
            return Ok((Page::Fault(Fault::missing_for_now(&reason)), Some(leads)));
        }
        Ok((Page::NoEntry(why), Some(leads)))
    }

    /// Whether a connector keeps to what it may say of those that a document leads to.
    fn is_sound(&self, leads: &Leads) -> bool {
        leads
            .references
            .iter()
            .all(|reference| reference.relation < self.relations && handed::is_small(&reference.hands_down))
            && leads.in_place.is_none_or(|in_place| in_place.reference < leads.references.len())
    }

    /// A visit asks for its document again; given back where it has done so too often.
    fn again(&self, visitor: Visitor<'r>, after: &[EventName]) -> Result<Option<Visitor<'r>>> {
        if parked::put_off(self.run, self.reach, visitor.item.id, after)? {
            return Ok(None);
        }
        if self.reach.may_come_again(visitor.item.id) {
            visitor.put_back();
            return Ok(None);
        }
        Ok(Some(visitor))
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
        (memo, handed_down): (Option<&[u8]>, &HandedDown),
        passed: &mut Option<Passed>,
    ) -> std::result::Result<VisitAnswer, Fault> {
        self.fetches();
        let asked = Asked {
            key: &self.item.name,
            memo,
            handed_down,
            events: &VisitEvents::new(self.run, self.item.id),
            names: EventNames { connection: &self.run.definition.repository, job: &self.run.job.name },
            stands_alone: self.run.reach.as_ref().is_some_and(|reach| reach.stands_alone(self.item.id)),
        };
        let visited = refers.visit(&self.run.call, &asked, &mut |record, acl, content| {
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

    /// Whether an output may hold something of it.
    fn is_held(&self) -> bool {
        self.deliveries.all().next().is_some()
    }

    /// Whether it has answered so for now for an hour.
    fn is_so_for_long(&self) -> bool {
        let is_old = |first_at: i64| self.run.call.now() - first_at >= limits::MISSING_BELIEVED_MS;
        self.item.noted.failure.is_some_and(|failure| {
            matches!(failure.code, Some(FailureCode::ForNow | FailureCode::Missing))
                && is_old(failure.first_at)
        })
    }

    /// Whether it was not there when a visit of it came to its end last, or none ever did and no output was sent anything of it.
    fn is_dead(&self) -> bool {
        let is_dead_link = |failure: NotedFailure| {
            failure.kind == FailureKind::Skipped && failure.code == Some(FailureCode::Missing)
        };
        // What was only set aside was never visited.
        let was_visited = |known: &Known| known.is_settled() && known.settings != Digest::UNKNOWN;
        let was_settled = self.item.known.as_ref().is_some_and(was_visited);
        (!was_settled && !self.is_held()) || self.item.noted.failure.is_some_and(is_dead_link)
    }

    /// Whether it is enough to hear that nothing has changed since its last visit, as far as outputs go.
    fn may_be_as_before(&self) -> bool {
        let is_confirmed = self.holds_all() && self.is_shown_as_known();
        !self.run.rereads && (is_confirmed || failpoint(Failpoint::MemoOfUnconfirmed))
    }

    /// What the last visit left, where that is enough.
    fn memo(&self, kept: Memo, handed: Digest) -> Option<Vec<u8>> {
        let must_read = self.run.reach.as_ref().is_some_and(|reach| reach.must_read(self.item.id));
        // Handed something else, it may be another entry.
        let is_as_handed = kept.handed == handed || failpoint(Failpoint::MemoOfOtherParents);
        kept.memo.filter(|_| !must_read && is_as_handed)
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
            // It goes with all that is gone, at the end of the run, so that the delete guard counts it.
            Page::NoEntry(reason) if self.is_held() && !failpoint(Failpoint::NoEntryUnguarded) => {
                self.run.reach.iter().for_each(|reach| reach.leaves(self.item.id, reason.clone()));
                self.fault(Fault::Gone, None)
            }
            Page::NoEntry(reason) => self.declined(reason),
            Page::Fault(Fault::Unreadable(reason)) if !failpoint(Failpoint::ShutStaysVisible) => {
                self.shut(reason)
            }
            Page::Fault(fault) if fault != Fault::Gone && self.is_for_fewer()? => self.shut(fault.reason()),
            Page::Fault(fault) => self.fault(fault, None),
        }
    }

    /// Whether outputs may show it to somebody whom the settings of its source do not let in any more: what cannot be visited would be shown to
    /// them until it can.
    fn is_for_fewer(&self) -> Result<bool> {
        let audience = self.run.author.repository.refers().and_then(Refers::audience);
        let known = self.item.known.as_ref().and_then(|known| known.acl_id);
        let (Some(audience), Some(known)) = (audience, known) else { return Ok(false) };
        let now = self.acl_id_of(audience)?;
        let mut acls = self.run.acls();
        Ok(known != now && !self.run.reader.read(|sql| acls.is_within(sql, known, now))?)
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
