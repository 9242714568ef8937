//! Judges by the columns of an entry whether a user may see it, and whether it is of the job that was asked for (design 4.20).

use std::sync::Arc;

use ingather_connector::model::ids::{ClassId, JobId, PlaceId};
use ingather_connector::permitted::{Permitted, Reference};
use tantivy::columnar::Column;
use tantivy::{DocId, SegmentReader};

/// What an entry must satisfy.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    /// What the user may see.
    pub(super) permitted: Arc<Permitted>,
    /// Only entries of this job.
    pub(super) job: Option<i64>,
}

/// The rule with the columns of one segment.
pub(super) struct Judge {
    rule: Rule,
    class: Option<Column<i64>>,
    place: Option<Column<i64>>,
    /// Opened only when there are access changes on their way.
    address: Option<Column<i64>>,
    job: Option<Column<i64>>,
}

impl Judge {
    /// None when everything passes.
    pub(super) fn open(rule: &Rule, reader: &SegmentReader) -> tantivy::Result<Option<Judge>> {
        let columns = reader.fast_fields();
        let mut judge = Judge { rule: rule.clone(), class: None, place: None, address: None, job: None };
        if rule.job.is_some() {
            judge.job = columns.column_opt("job")?;
        }
        match &*rule.permitted {
            Permitted::All if rule.job.is_none() => return Ok(None),
            Permitted::All => {}
            Permitted::Only { pending, narrow, .. } => {
                if !narrow.is_empty() {
                    judge.job = columns.column_opt("job")?;
                }
                judge.class = columns.column_opt("class")?;
                judge.place = columns.column_opt("place")?;
                if !pending.is_empty() {
                    judge.address = columns.column_opt("address")?;
                }
            }
        }
        Ok(Some(judge))
    }

    pub(super) fn passes(&self, doc: DocId) -> bool {
        let of = |column: &Option<Column<i64>>| column.as_ref().and_then(|column| column.first(doc));
        if self.rule.job.is_some() && of(&self.job) != self.rule.job {
            return false;
        }
        match &*self.rule.permitted {
            Permitted::All => true,
            Permitted::Only { pending, .. } => {
                // Without an address nobody can tell what is on its way to the entry.
                let address = if pending.is_empty() { Some(0) } else { of(&self.address) };
                address.is_some_and(|address| {
                    let entry = Reference {
                        job: of(&self.job).map(JobId),
                        class: of(&self.class).map(ClassId),
                        place: of(&self.place).map(PlaceId),
                    };
                    self.rule.permitted.permits(address, entry)
                })
            }
        }
    }
}
