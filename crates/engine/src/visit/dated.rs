//! What a visit learns of the dates of its document, and one that has expired: outputs get nothing of it (decision 0039).

use ingather_contract::repository::Observed;
use ingather_model::fault::Reason;
use ingather_model::job::dates::Dates;
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::queue::LeftOut;

use super::{Looked, Visitor, is_steady};
use crate::error::Result;
use crate::run::dating::Sighting;

impl<'r> Visitor<'r> {
    /// Takes note of an answer of its source.
    pub(super) fn sees(&mut self, observed: &Observed) {
        self.steady = is_steady(observed);
        let (dates, modified) = (observed.dates, observed.record.modified);
        self.sighting = Some(Sighting { dates, modified, is_as_before: false });
    }

    /// Its source says that it is as before.
    pub(super) fn is_as_before(&mut self, dates: Dates) {
        self.sighting = Some(Sighting { dates, modified: None, is_as_before: true });
    }

    /// Looks at a document for its dates alone: where it is just as outputs hold it, nothing else is wanted of it.
    pub(super) fn look_for_dates(mut self) -> Result<Looked<'r>> {
        let observed = match self.run.author.repository.look(&self.run.call, &self.item.name) {
            Ok(observed) => observed,
            Err(fault) => return self.fault(fault, None).map(Looked::Over),
        };
        self.sees(&observed);
        let acl_id = self.acl_id(&observed)?;
        let update = self.update(&observed, acl_id);
        let is_as_known = self.item.known.as_ref().is_some_and(|known| {
            update.version.same(known.version)
                && update.access.same(known.access)
                && known.acl_id == Some(acl_id)
                && known.container == self.item.container
        });
        if is_as_known && self.holds_all() && self.is_shown_as_known() {
            return self.show_as_known(&observed, acl_id).map(Looked::Over);
        }
        Ok(Looked::Reads(Box::new(self)))
    }

    /// Why outputs get nothing of it, where it has expired by what was just learned.
    pub(super) fn expired(&self) -> Option<Reason> {
        let (dating, sighting) = self.run.dating.as_ref().zip(self.sighting.as_ref())?;
        let is_judged = !sighting.is_as_before || sighting.dates.origin_at.is_some();
        let now = self.run.call.now();
        let has_expired = is_judged && dating.expires(sighting, now).is_some_and(|at| at <= now);
        (has_expired && !failpoint(Failpoint::ExpiredIsSent)).then(|| LeftOut::Expired.reason())
    }
}
