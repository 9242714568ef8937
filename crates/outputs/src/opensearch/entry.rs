//! An entry as it is sent: what is looked for, and whose it is.

use std::borrow::Cow;
use std::collections::BTreeMap;

use ingather_contract::output::Change;
use ingather_model::document::Record;
use ingather_model::fault::Fault;
use ingather_model::ids::{AclId, ContainerId, Digest};
use ingather_model::limits;
use serde::Serialize;
use serde_json::{Map, Value};

/// Before the hash of an id that is too long: no address begins so.
const HASHED: char = '#';

/// What the engine knows an entry by: its id, or a hash of one that is longer than engines take.
pub(super) fn key(id: &str) -> Cow<'_, str> {
    if id.len() <= limits::OPENSEARCH_ID_BYTES_MAX && !id.is_empty() {
        return id.into();
    }
    format!("{HASHED}{}", blake3::hash(id.as_bytes()).to_hex()).into()
}

/// Who may see an entry, and whose it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Access {
    pub(super) acl: Option<AclId>,
    pub(super) container: Option<ContainerId>,
}

#[derive(Serialize)]
struct Source<'c> {
    id: &'c str,
    store: &'c str,
    address: i64,
    job: i64,
    job_name: &'c str,
    document: &'c str,
    version: i64,
    seq: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    acl: Option<AclId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    container: Option<ContainerId>,
    title: &'c str,
    path: &'c str,
    uri: &'c str,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<&'c str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    media_type: Option<&'c str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    language: Option<&'c str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    author: Option<&'c str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    modified: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    created: Option<i64>,
    /// `name=value`, to be filtered by.
    field: Vec<String>,
    fields: &'c BTreeMap<String, Vec<String>>,
}

/// The text of an entry that is put; `by` is the change whose access and number count, which may be a later one.
///
/// # Errors
/// `Refused` for an address that is longer than an engine keeps.
pub(super) fn source(
    store: &str,
    change: &Change,
    by: &Change,
    (record, version, access): (&Record, Digest, Access),
) -> Result<Vec<u8>, Fault> {
    if change.id.len() > limits::OPENSEARCH_TERM_BYTES_MAX {
        let most = limits::OPENSEARCH_TERM_BYTES_MAX;
        return Err(Fault::refused("address_too_long", format!("the address is longer than {most} bytes")));
    }
    let field = record.fields.iter();
    let field = field.flat_map(|(name, values)| values.iter().map(move |value| format!("{name}={value}")));
    let source = Source {
        id: &change.id,
        store,
        address: change.address,
        job: by.job,
        job_name: &by.job_name,
        document: &by.document,
        version: version.0,
        seq: by.seq,
        acl: access.acl,
        container: access.container,
        title: &record.title,
        path: &record.path,
        uri: &record.uri,
        body: record.body.as_deref(),
        media_type: record.media_type.as_deref(),
        language: record.language.as_deref(),
        author: record.author.as_deref(),
        size: record.size.map(|size| i64::try_from(size).unwrap_or(i64::MAX)),
        modified: record.modified,
        created: record.created,
        field: field.collect(),
        fields: &record.fields,
    };
    serde_json::to_vec(&source)
        .map_err(|error| Fault::broken("entry", format!("it cannot be written as JSON: {error}")))
}

/// The text of an entry that is there, with another access.
pub(super) fn with_access(mut source: Map<String, Value>, change: &Change, access: Access) -> Vec<u8> {
    let mut set = |name: &str, value: Option<i64>| match value {
        Some(value) => drop(source.insert(name.to_owned(), value.into())),
        None => drop(source.remove(name)),
    };
    set("acl", access.acl.map(|acl| acl.0));
    set("container", access.container.map(|container| container.0));
    set("job", Some(change.job));
    set("seq", Some(change.seq));
    source.insert("job_name".to_owned(), (*change.job_name).into());
    source.insert("document".to_owned(), change.document.as_str().into());
    Value::Object(source).to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_that_is_too_long_is_hashed_and_nothing_else_is_known_by_that() {
        let long = format!("file:///{}", "a".repeat(limits::OPENSEARCH_ID_BYTES_MAX));
        assert_eq!(key("file:///a"), "file:///a");
        assert_eq!(key(&long).len(), 65);
        assert!(key(&long).starts_with('#') && key(&long) != key(&format!("{long}b")));
    }
}
