//! Whether the content of a document is what outputs hold, although something else about it changed: no change time that moved
//! explains content away (design 4.18, decision 0014).

use std::io::Read;

use ingather_contract::repository::Observed;
use ingather_model::decision::{DeliveryState, NOBODY};
use ingather_model::fault::Fault;
use ingather_model::ids::{AclId, Digest};
use ingather_model::job::ContentBy;
use ingather_model::limits;
use ingather_store::documents::DocumentUpdate;
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::queue::VisitReason;

use super::Visitor;
use super::outcome::VisitArtifacts;
use super::parts::{self, Finding};
use super::pipeline::raw_digest;
use super::steady::Done;
use crate::delivery::change::access_digest;
use crate::delivery::job_output::JobOutput;
use crate::error::Result;

/// Why the bytes of a document were not compared in place of a look; nobody is told.
const LARGE: &str = "large";

/// Who may see a document now, compared with who might before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Audience {
    Same,
    /// Nobody else, and fewer.
    Fewer,
    /// All of them, and more.
    More,
    Others,
}

/// What comparing the bytes of a small document with those that were read last led to, where it takes the place of a look.
pub(super) enum Peek {
    /// It was not compared: it is looked at.
    None,
    /// It is as it was, but for who may see it.
    AsKnown(Box<Observed>),
    /// It is another one: it is read through the stages.
    Other(Box<Observed>),
}

impl<'r> Visitor<'r> {
    /// Compares the bytes of a document of which only the change time moved, where they are few: looking at it first, and opening it once
    /// more for its bytes, costs more than they do. Nobody who is shut out waits for more than these few bytes of some others.
    pub(super) fn peek(&mut self) -> Peek {
        // Where it may not be fetched yet it is looked at alone.
        let may_fetch = self.item.admission.is_some() || !self.run.dispatcher.is_throttled();
        if !(may_fetch
            && self.may_be(Some(self.item.version))
            && !self.trusts_times()
            && self.is_listed_moved())
        {
            return Peek::None;
        }
        match self.read_raw(Some(limits::PEEK_BYTES_MAX)) {
            Ok((observed, raw)) if self.is_as_known(&observed, raw) => Peek::AsKnown(Box::new(observed)),
            // What was compared is not compared again.
            Ok((observed, _)) => {
                self.raw = Digest::NONE;
                Peek::Other(Box::new(observed))
            }
            Err(fault) => {
                if fault.reason().code != LARGE {
                    self.raw = Digest::NONE;
                }
                Peek::None
            }
        }
    }

    /// Whether the listing met it with another change time than it was read with.
    fn is_listed_moved(&self) -> bool {
        self.item.known.as_ref().is_some_and(|known| !self.item.access.same(known.access))
    }

    /// Whether every output takes access alone.
    pub(super) fn by_reference(&self) -> bool {
        self.run.outputs.iter().all(|output| output.capabilities.access)
    }

    /// Whether a visit of it began before this one and did not end: some outputs may hold what that one read, and its row speaks of
    /// what was read before.
    fn was_begun(&self) -> bool {
        let is_first = match &self.run.reach {
            // Its row was written when this run reached it.
            Some(reach) => self.item.reason == VisitReason::Changed && !reach.may_have_begun(self.item.id),
            None => self.item.is_listed,
        };
        (self.item.request_count.is_some_and(|requests| requests > 1) || !is_first)
            && !failpoint(Failpoint::BegunVisitForgotten)
    }

    /// Whether outputs hold just what was read of it last.
    pub(super) fn holds_all(&self) -> bool {
        let Some(known) = &self.item.known else { return false };
        if self.was_begun() {
            return false;
        }
        // What could not be read is not what an output holds, whatever its version says.
        let read = !self.item.noted.has_failed();
        let confirmed = self.run.outputs.iter().all(|output| self.deliveries.is_confirmed(output.id));
        read && confirmed
            && self.deliveries.is_named()
            && !known.leaving
            && known.settings == self.run.settings
    }

    /// Whether what changed cannot be the content: nothing of the document itself did, or the job trusts size and time.
    pub(super) fn content_is_as_known(&self, observed: &Observed, acl_id: AclId) -> bool {
        let Some(known) = &self.item.known else { return false };
        let moved = self.has_moved(observed);
        let elsewhere = known.container != self.item.container;
        // What was masked has no acl, and that explains nothing.
        let other_acl = known.acl_id.is_some_and(|known| known != acl_id);
        let explained = if moved { self.trusts_times() && (other_acl || elsewhere) } else { elsewhere };
        let version = self.run.author.hasher.version(self.item.key_hash, &observed.content);
        explained && version.same(known.version) && self.holds_all() && self.is_shown_as_known()
    }

    /// Whether who may find what outputs hold of it is known to be what its row says. It is not where that was masked, or where what was
    /// sent last is not confirmed: the row then speaks of what nobody holds yet. What was kept of something in it is judged apart.
    pub(super) fn is_shown_as_known(&self) -> bool {
        let Some(known) = &self.item.known else { return false };
        let access = access_digest(known.acl_id, known.container);
        let outputs = &self.run.outputs;
        let states = self.deliveries.parts().filter(|part| !part.kept).flat_map(|part| {
            let of = |output: &JobOutput| self.deliveries.of(&part, output.id);
            outputs.iter().filter_map(of).collect::<Vec<DeliveryState>>()
        });
        let mut there =
            states.filter(|state| state.confirmed != Some(Digest::NONE) || state.intended.is_some());
        let shows = |state: DeliveryState| {
            state.is_confirmed() && state.intended_acl == access && state.confirmed_acl == Some(access)
        };
        failpoint(Failpoint::RowStandsForOutputs) || (known.acl_id.is_some() && there.all(shows))
    }

    /// Whether its change time is another one than when it was read.
    pub(super) fn has_moved(&self, observed: &Observed) -> bool {
        let access = self.run.author.hasher.version(self.item.key_hash, &observed.access);
        !self.item.known.as_ref().is_some_and(|known| access.same(known.access))
    }

    fn trusts_times(&self) -> bool {
        self.run.definition.content_by == ContentBy::Times || failpoint(Failpoint::ContentExplainedAway)
    }

    /// Whether comparing the bytes with those that were read last may save the stages, and sending.
    pub(super) fn may_be_as_known(&self) -> bool {
        // Whoever asked for it to be sent has no use for this.
        let reread = self.run.rereads && self.item.is_listed && self.item.reason == VisitReason::Changed;
        self.may_be(self.looked.or(reread.then_some(self.item.version)))
    }

    /// The same for a document that was met with this version of its content.
    fn may_be(&self, version: Option<Digest>) -> bool {
        let Some(known) = &self.item.known else { return false };
        let same = version.is_some_and(|version| version.same(known.version));
        self.raw.is_some() && same && self.by_reference() && self.holds_all()
    }

    /// Reads its bytes for nothing but their digest; where there is a most, those of a larger document are left alone.
    pub(super) fn read_raw(&self, bytes_max: Option<u64>) -> std::result::Result<(Observed, Digest), Fault> {
        let mut found = (Digest::NONE, 0);
        self.fetches();
        let observed = self.run.author.repository.fetch(
            &self.run.call,
            &self.item.name,
            &mut |record, _, content| {
                let Some(most) = bytes_max else {
                    found = raw_digest(&mut self.paced(content))?;
                    return Ok(());
                };
                if record.size.is_none_or(|size| size > most) {
                    return Err(Fault::passing(LARGE, "it is not small"));
                }
                // What has more bytes than it says is not what was read before.
                found = raw_digest(&mut self.paced(&mut content.take(most + 1)))?;
                Ok(())
            },
        )?;
        self.run.progress.bytes(found.1);
        Ok((observed, found.0))
    }

    pub(super) fn is_as_known(&self, observed: &Observed, raw: Digest) -> bool {
        let Some(known) = &self.item.known else { return false };
        raw == self.raw
            && self.run.author.hasher.version(self.item.key_hash, &observed.content).same(known.version)
    }

    /// A document of which only access may have changed.
    pub(super) fn show_as_known(self, observed: &Observed, acl_id: AclId) -> Result<Done<'r>> {
        let update = self.update(observed, acl_id);
        self.show_update_as_known(update, acl_id)
    }

    /// The same, where nobody looked but at who may see it.
    pub(super) fn show_update_as_known(self, update: DocumentUpdate, acl_id: AclId) -> Result<Done<'r>> {
        if let Some(reason) = self.expired() {
            return self.send_declined(update, reason);
        }
        let access = access_digest(Some(acl_id), self.item.container);
        let kept = self.access_of_kept(access)?;
        let findings = self.deliveries.parts().map(|part| Finding::looked(part, access, kept)).collect();
        let (changes, outcome) = parts::decide_all(&self.run.outputs, &self.deliveries, findings)?;
        self.show(update, changes, outcome, VisitArtifacts::default())
    }

    pub(super) fn audience(&self, acl_id: AclId) -> Result<Audience> {
        let Some(known) = &self.item.known else { return Ok(Audience::Others) };
        let Some(before) = known.acl_id.filter(|_| known.container == self.item.container) else {
            return Ok(Audience::Others);
        };
        if before == acl_id {
            return Ok(Audience::Same);
        }
        let mut acls = self.run.acls();
        let compared = (acls.compared(acl_id, before), acls.compared(before, acl_id));
        let (fewer, more) = match compared {
            (Some(fewer), Some(more)) => (fewer, more),
            // For the first document of many that change alike.
            _ => self.run.reader.read(|sql| {
                Ok((acls.is_within(sql, acl_id, before)?, acls.is_within(sql, before, acl_id)?))
            })?,
        };
        Ok(match (fewer, more) {
            (true, _) => Audience::Fewer,
            (false, true) => Audience::More,
            (false, false) => Audience::Others,
        })
    }

    /// Access for what outputs hold until the content was looked at: both the old and the new must admit. None: it stays as it is.
    pub(super) fn access_until_read(&self, observed: &Observed, acl_id: AclId) -> Result<Option<Digest>> {
        let trusts =
            !self.has_moved(observed) || self.trusts_times() || failpoint(Failpoint::AccessBeforeContent);
        self.access_until(observed, acl_id, trusts)
    }

    /// The same ahead of the second look at the folders above it, which were judged one after the other: whatever is known of its
    /// content, nobody is let in who was not before, and nobody at all where it is in another folder now.
    pub(super) fn access_ahead(&self, observed: &Observed, acl_id: AclId) -> Result<Option<Digest>> {
        if failpoint(Failpoint::WiderAheadOfTheSecondLook) {
            return self.access_until_read(observed, acl_id);
        }
        self.access_until(observed, acl_id, failpoint(Failpoint::AccessBeforeContent))
    }

    fn access_until(&self, observed: &Observed, acl_id: AclId, trusts: bool) -> Result<Option<Digest>> {
        let now = access_digest(Some(acl_id), self.item.container);
        if self.holds_old_content(&self.update(observed, acl_id)) || !self.is_shown_as_known() {
            return Ok(Some(if failpoint(Failpoint::NewAccessOnOldContent) { now } else { NOBODY }));
        }
        Ok(match if trusts { Audience::Same } else { self.audience(acl_id)? } {
            Audience::Same | Audience::Fewer => Some(now),
            Audience::More => None,
            Audience::Others => Some(NOBODY),
        })
    }
}
