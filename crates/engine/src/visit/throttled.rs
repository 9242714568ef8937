//! What the throttle of a connection does to visits: content is read as fast as it may be, and a visit that would have to wait for that is put
//! back, as far as it has come.

use ingather_store::documents::links::Memo;
use std::cell::Cell;
use std::io::{self, Read};
use std::sync::Arc;

use ingather_model::ids::Digest;

use super::Visitor;
use super::parts::Deliveries;
use super::steady::Done;
use crate::dispatcher::WorkItem;
use crate::process::throttles::Admission;
use crate::run::Run;

/// What a visit has come to that was put back before its content was read: nobody is told a second time.
#[derive(Clone, Debug)]
pub(super) struct BegunVisit {
    deliveries: Deliveries,
    raw: Digest,
    steady: bool,
    looked: Option<Digest>,
    is_ahead: bool,
}

/// What the visit of a document has come to, where it was put back.
pub(super) fn begun(item: &mut WorkItem) -> Option<Arc<BegunVisit>> {
    item.begun.take()?.downcast::<BegunVisit>().ok()
}

impl<'r> Visitor<'r> {
    /// Goes on with a visit that was put back.
    pub(super) fn goes_on(run: &'r Run, item: WorkItem, begun: &BegunVisit) -> Visitor<'r> {
        let BegunVisit { deliveries, raw, steady, looked, is_ahead } = begun.clone();
        Visitor {
            run,
            item,
            deliveries,
            raw,
            steady,
            looked,
            is_ahead,
            interrupted: Cell::new(false),
            memo: Memo::default(),
            sighting: None,
        }
    }

    /// Puts it back: it is read when its throttle lets it, or the pause is over.
    pub(super) fn put_back(self) -> Done<'r> {
        let Visitor { run, mut item, deliveries, raw, steady, looked, is_ahead, .. } = self;
        item.begun = Some(Arc::new(BegunVisit { deliveries, raw, steady, looked, is_ahead }));
        run.dispatcher.put_back(item);
        Done::Handed
    }

    /// Its content, no faster than it may be read.
    pub(super) fn paced<'c>(&'c self, content: &'c mut dyn Read) -> Paced<'c> {
        let admission = self.item.admission.as_deref();
        Paced { content, admission, run: self.run, interrupted: &self.interrupted }
    }

    /// It is about to be fetched.
    pub(super) fn fetches(&self) {
        self.item.admission.iter().for_each(|admission| admission.fetches());
    }
}

/// Content that is read no faster than its throttle lets it be.
pub(super) struct Paced<'c> {
    content: &'c mut dyn Read,
    admission: Option<&'c Admission>,
    run: &'c Run,
    interrupted: &'c Cell<bool>,
}

impl Read for Paced<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(admission) = self.admission else { return self.content.read(buffer) };
        let ends = || self.run.call.cancel.cancelled() || self.run.dispatcher.rests();
        let Some(most) = admission.bytes(buffer.len(), ends) else {
            // Whatever the stages make of this, the visit is put back.
            self.interrupted.set(true);
            return Err(io::Error::other("the job rests; it is read when it goes on"));
        };
        let read = self.content.read(&mut buffer[..most]);
        admission.unread(most - read.as_ref().map_or(0, |read| *read));
        read
    }
}
