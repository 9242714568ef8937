//! The records of one source, as its connector reads them.

use ingather_contract::inbox::{About, Inbox, ListedRecord, ReceivedRecord};
use ingather_model::access::Acl;
use ingather_model::fault::Fault;
use ingather_model::ids::JobId;
use ingather_model::key::{Hasher, parent_bytes};
use ingather_store::documents::inbox;
use ingather_store::{Reader, StoreError};

/// Reads the inventory.
pub(super) struct Records {
    pub(super) reader: Reader,
    pub(super) job: JobId,
    pub(super) hasher: Hasher,
}

impl std::fmt::Debug for Records {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "records of job {}", self.job.0)
    }
}

impl Inbox for Records {
    fn page(&self, after: i64, most: usize) -> Result<Vec<ListedRecord>, Fault> {
        let rows = self.reader.read(|sql| inbox::page(sql, self.job, after, most)).map_err(unread)?;
        let listed = |(id, key, ticket, acl): (i64, String, i64, Option<String>)| {
            Ok(ListedRecord { id, key, ticket, acl: acl_of(acl.as_deref())? })
        };
        rows.into_iter().map(listed).collect()
    }

    fn get(&self, key: &str) -> Result<Option<ReceivedRecord>, Fault> {
        let wanted = self.hasher.key(key, parent_bytes(key));
        let found = self.reader.read(|sql| inbox::find(sql, self.job, wanted));
        let Some(read) = found.map_err(unread)? else { return Ok(None) };
        let about: About = serde_json::from_str(&read.about).map_err(|error| damaged(&error))?;
        let acl = acl_of(read.acl.as_deref())?;
        Ok(Some(ReceivedRecord { ticket: read.ticket, acl, about, content: read.content }))
    }
}

fn acl_of(text: Option<&str>) -> Result<Option<Acl>, Fault> {
    text.map(|text| serde_json::from_str(text).map_err(|error| damaged(&error))).transpose()
}

fn unread(error: StoreError) -> Fault {
    Fault::passing("store", error.to_string())
}

fn damaged(error: &serde_json::Error) -> Fault {
    Fault::broken("record", format!("what is kept of it cannot be read ({error}); push it again"))
}
