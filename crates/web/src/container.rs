//! The one container of all documents of a job.

use ingather_contract::repository::ContainerReport;
use ingather_model::access::Acl;
use ingather_model::key::Stamp;

/// Its name.
pub(crate) const CONTAINER: &str = "web:";

/// What a listing reports of it: everybody may pass, and each document says who may see it.
pub(crate) fn report() -> ContainerReport {
    ContainerReport {
        name: CONTAINER.to_owned(),
        parent: None,
        identity: CONTAINER.to_owned(),
        acl: Acl::open(),
        folder: Some(String::new()),
        stamp: Stamp::NONE,
    }
}
