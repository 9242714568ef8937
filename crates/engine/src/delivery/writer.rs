//! Who writes in this process.

use ingather_contract::call::CallContext;
use ingather_store::Store;
use ingather_store::leases::Lease;

/// Who writes in this process, and how it calls.
#[derive(Clone)]
pub(crate) struct Writer {
    pub(crate) store: Store,
    pub(crate) lease: Lease,
    pub(crate) call: CallContext,
}

impl Writer {
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
