//! When the next request may be made: each one, also those that answer another one, such as a redirect, a form or a proof of a password.

use ingather_contract::call::CallContext;
use ingather_model::fault::Fault;
use url::Url;

/// Says when a host may be asked.
pub trait Turns: Send + Sync {
    /// Waits until a request may be made for an address.
    ///
    /// # Errors
    /// `cancelled`; or the host wants to be left alone for longer than anybody waits, with the time.
    fn take(&self, call: &CallContext, url: &Url) -> Result<(), Fault>;

    /// It was answered, or failed.
    fn over(&self, url: &Url);
}

/// All at once.
pub(super) struct Unpaced;

impl Turns for Unpaced {
    fn take(&self, _call: &CallContext, _url: &Url) -> Result<(), Fault> {
        Ok(())
    }

    fn over(&self, _url: &Url) {}
}
