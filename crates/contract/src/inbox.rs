//! What applications push into a source: kept by the engine, read by the connector whose documents they are.

use std::collections::BTreeMap;

use ingather_model::access::Acl;
use ingather_model::fault::{Fault, Reason};
use serde::{Deserialize, Serialize};

/// The records of one source, each as it was pushed last. Calls may come from many threads at once.
pub trait Inbox: std::fmt::Debug + Send + Sync {
    /// Records that are to be there, after an id, by id.
    ///
    /// # Errors
    /// When they cannot be read now.
    fn page(&self, after: i64, most: usize) -> Result<Vec<ListedRecord>, Fault>;

    /// One record; none where it was deleted, or never pushed.
    ///
    /// # Errors
    /// When it cannot be read now.
    fn get(&self, key: &str) -> Result<Option<ReceivedRecord>, Fault>;
}

/// Files that clients may name as the content of records. Calls may come from many threads at once.
pub trait Files: std::fmt::Debug + Send + Sync {
    /// The content of one, of at most so many bytes.
    ///
    /// # Errors
    /// `path_forbidden` for what is no file that may be named, `content_unavailable`, `too_large`: with a sentence for whoever pushes.
    fn read(&self, path: &str, most: u64) -> Result<Vec<u8>, Reason>;
}

/// A record as a listing has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedRecord {
    /// The id that the listing goes on behind.
    pub id: i64,
    /// Its key.
    pub key: String,
    /// The ticket of what was pushed of it last: its version.
    pub ticket: i64,
    /// Who may see it; none where that was left out.
    pub acl: Option<Acl>,
}

/// A record with all that was pushed of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceivedRecord {
    /// As in [`ListedRecord::ticket`].
    pub ticket: i64,
    /// Who may see it; none where that was left out.
    pub acl: Option<Acl>,
    /// What else is said of it.
    pub about: About,
    /// Its content.
    pub content: Vec<u8>,
}

/// What is said of a record beside its content; times are milliseconds since 1970 UTC.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct About {
    /// Title; empty when there is none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// Media type of the content, such as `text/plain`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// ISO 639-1 code of its language.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// Author or owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// Last change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modified: Option<i64>,
    /// When it was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<i64>,
    /// It stands for what is in it: outputs are to have nothing of itself.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_dropped: bool,
    /// Everything else, by name; values in order.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub fields: BTreeMap<String, Vec<String>>,
}
