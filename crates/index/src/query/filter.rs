//! Judges by the columns of an entry whether a user may see it (design 4.20).

use std::sync::Arc;

use ingather_contract::access_filter::{AccessFilter, Reference};
use ingather_model::ids::{AclId, ContainerId, JobId};
use tantivy::columnar::Column;
use tantivy::{DocId, SegmentReader};

/// What a user may see, with the columns of one segment.
pub(crate) struct Judge {
    access_filter: Arc<AccessFilter>,
    acl_id: Option<Column<i64>>,
    container: Option<Column<i64>>,
    /// Opened only when there are access changes on their way.
    address: Option<Column<i64>>,
    job: Option<Column<i64>>,
}

impl Judge {
    /// None when everything passes.
    pub(crate) fn open(
        access_filter: &Arc<AccessFilter>,
        reader: &SegmentReader,
    ) -> tantivy::Result<Option<Judge>> {
        let columns = reader.fast_fields();
        let mut judge = Judge {
            access_filter: Arc::clone(access_filter),
            acl_id: None,
            container: None,
            address: None,
            job: None,
        };
        match &**access_filter {
            AccessFilter::All => return Ok(None),
            AccessFilter::Only { pending, admitting } => {
                if !admitting.pending_containers.is_empty() {
                    judge.job = columns.column_opt("job")?;
                }
                judge.acl_id = columns.column_opt("class")?;
                judge.container = columns.column_opt("place")?;
                if !pending.is_empty() {
                    judge.address = columns.column_opt("address")?;
                }
            }
        }
        Ok(Some(judge))
    }

    pub(crate) fn passes(&self, doc: DocId) -> bool {
        let of = |column: &Option<Column<i64>>| column.as_ref().and_then(|column| column.first(doc));
        match &*self.access_filter {
            AccessFilter::All => true,
            AccessFilter::Only { pending, .. } => {
                // Without an address nobody can tell what is on its way to the entry.
                let address = if pending.is_empty() { Some(0) } else { of(&self.address) };
                address.is_some_and(|address| {
                    let entry = Reference {
                        job: of(&self.job).map(JobId),
                        acl_id: of(&self.acl_id).map(AclId),
                        container: of(&self.container).map(ContainerId),
                    };
                    self.access_filter.permits(address, entry)
                })
            }
        }
    }
}
