//! Listings of one page: of a source that is one file, or that is closed.

use ingather_contract::repository::{ContainerReport, Listing, Page};
use ingather_model::fault::Fault;
use ingather_model::scope::{BlindSpot, Scope};

/// A listing that cannot begin because a folder is closed: nothing is proven, but who may pass counts at once.
pub(super) fn closed(containers: Vec<ContainerReport>, fault: Fault) -> Result<Box<dyn Listing>, Fault> {
    let Fault::Unreadable(reason) = fault else { return Err(fault) };
    let blind = vec![BlindSpot {
        scope: Scope::Folder(String::new()),
        cause: reason.code,
        message: format!("{}: what is known is kept", reason.message),
    }];
    Ok(Box::new(Single(Some(Page { containers, blind, ..Page::default() }))))
}

/// The only page of a source that is one file, or closed.
pub(super) struct Single(pub(super) Option<Page>);

impl Listing for Single {
    fn next(&mut self) -> Option<Result<Page, Fault>> {
        self.0.take().map(Ok)
    }
}
