//! Who writes in this process.

use ingather_contract::call::CallContext;
use ingather_store::leases::Lease;
use ingather_store::{Durability, Store, StoreError};

use crate::error::Result;

/// Who writes in this process, and how it calls.
#[derive(Clone)]
pub(crate) struct Writer {
    pub(crate) store: Store,
    pub(crate) lease: Lease,
    pub(crate) call: CallContext,
}

impl Writer {
    /// Extends the lease.
    ///
    /// # Errors
    /// `Fenced` where another process has taken over; a store that is away was not taken over by anybody.
    pub(crate) fn extend_lease(&self) -> Result<()> {
        let (now, steady) = (self.call.now(), self.call.steady());
        if !self.store.write(Durability::Relaxed, |sql| self.lease.renew(sql, now))? {
            return Err(StoreError::Fenced.into());
        }
        self.lease.note_extended(steady);
        Ok(())
    }

    pub(crate) fn desk(&self) -> Desk<'_> {
        Desk { store: &self.store, lease: &self.lease, call: &self.call }
    }
}

/// The same, borrowed.
#[derive(Clone, Copy)]
pub(crate) struct Desk<'d> {
    pub(crate) store: &'d Store,
    pub(crate) lease: &'d Lease,
    pub(crate) call: &'d CallContext,
}
