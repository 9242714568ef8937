//! A message: a line as a journal has it, by what it is known, and what stands in its headers.

use async_nats::HeaderMap;
use async_nats::jetstream::message::PublishMessage;
use ingather_contract::lines::{self, Line};
use ingather_contract::output::{Change, Op, Says, Statement};
use ingather_model::fault::Fault;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// Told by every message.
const SCHEMA: u32 = 1;
/// Header with the number of the opening that published it.
const OPENING: &str = "Ingather-Opening";
/// Header with the number of its line.
const SEQ: &str = "Ingather-Seq";

/// Last word of the subject of a message that tells the end of a run.
const RUN_END: &str = "run_end";

/// A message of a stream: `schema`, and a line as a journal has it.
#[derive(Serialize, JsonSchema)]
struct Message<'m> {
    /// Version of this form.
    schema: u32,
    /// Of `put` and `access`: true where nobody may see the entry, whatever else is told; false where what `acl` and `container` stand for
    /// decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    hidden: Option<bool>,
    #[serde(flatten)]
    line: Line<'m>,
}

/// The JSON Schema of a message.
#[must_use]
pub fn schema() -> Value {
    schemars::schema_for!(Message<'static>).to_value()
}

/// Whose messages they are.
pub(super) struct Author {
    /// Identity of the store, and what subjects begin with: it keeps numbers of changes of one apart from those of another.
    pub(super) store: String,
    pub(super) subject: String,
    /// Number of the opening.
    pub(super) opening: i64,
}

/// What one message does at which address: equal for a message that is made again after a crash, whatever number it has then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Told {
    /// Address of the entry; none for statements.
    pub(super) address: Option<i64>,
    digest: String,
}

/// A message that is ready to be published.
pub(super) struct Item {
    pub(super) subject: String,
    /// `Nats-Msg-Id`.
    pub(super) id: String,
    pub(super) told: Told,
    pub(super) seq: i64,
    pub(super) opening: i64,
    pub(super) body: Vec<u8>,
    /// Nothing behind it is sent before it is stored, and it is not sent before all ahead of it are.
    pub(super) is_barrier: bool,
}

/// What headers of a stored message tell.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Noted {
    pub(super) id: String,
    pub(super) told: Told,
    pub(super) seq: i64,
    pub(super) opening: i64,
    /// It tells the end of a run: all that was told before it was noted.
    pub(super) is_end: bool,
}

impl Author {
    pub(super) fn change(&self, change: &Change) -> Result<Item, Fault> {
        let (verb, hidden) = match &change.op {
            Op::Put { acl_id, container, .. } => ("put", Some(acl_id.is_none() || container.is_none())),
            Op::Access { acl_id, container, .. } => ("access", Some(acl_id.is_none() || container.is_none())),
            Op::Delete => ("delete", None),
        };
        // What is sent, apart from its number: the same change has another number each time that it is sent.
        let alike = Change { seq: 0, ..change.clone() };
        let digest = self.digest(verb, &body(hidden, lines::of_change(&alike))?);
        let told = Told { address: Some(change.address), digest };
        Ok(self.item(verb, told, change.seq, body(hidden, lines::of_change(change))?, false))
    }

    pub(super) fn statement(&self, statement: &Statement) -> Result<Item, Fault> {
        let (verb, is_barrier) = match &statement.says {
            // With it begins another state, in which ids have another meaning; and all is told that a reader needs up to the end.
            Says::Begin { .. } => ("run", true),
            Says::End { .. } => (RUN_END, true),
            Says::Acl { group, .. } if group.is_default() => ("acl", false),
            Says::Acl { .. } => ("group_acl", false),
            Says::Container { .. } => ("container", false),
            Says::Also { .. } => ("also", false),
        };
        let body = body(None, lines::of_statement(statement))?;
        let told = Told { address: None, digest: self.digest(verb, &body) };
        Ok(self.item(verb, told, statement.seq, body, is_barrier))
    }

    fn digest(&self, verb: &str, body: &[u8]) -> String {
        let mut hasher = blake3::Hasher::new();
        for part in [self.store.as_bytes(), self.subject.as_bytes(), verb.as_bytes(), body] {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
        }
        hasher.finalize().to_hex().as_str()[..32].to_owned()
    }

    fn item(&self, verb: &str, told: Told, seq: i64, body: Vec<u8>, is_barrier: bool) -> Item {
        let (subject, opening) = (format!("{}.{verb}", self.subject), self.opening);
        Item { subject, id: told.id(seq), told, seq, opening, body, is_barrier }
    }
}

fn body(hidden: Option<bool>, line: Line<'_>) -> Result<Vec<u8>, Fault> {
    serde_json::to_vec(&Message { schema: SCHEMA, hidden, line })
        .map_err(|error| Fault::broken("entry", format!("it cannot be written as JSON: {error}")))
}

impl Told {
    /// By what a server knows a message that comes twice. With the number of the change in it: a change that is put, replaced and put again is
    /// three messages, however soon they follow each other. The same change after a crash has another number: it is found by what the
    /// crash left in the stream (`super::tail`).
    fn id(&self, seq: i64) -> String {
        let address = self.address.map(lines::hex).unwrap_or_default();
        format!("{address}.{}.{seq}", self.digest)
    }

    fn read(id: &str) -> Option<(Told, i64)> {
        let mut parts = id.split('.');
        let (address, digest, seq) = (parts.next()?, parts.next()?, parts.next()?);
        let address = match address {
            "" => None,
            // Addresses are hashes: all 64 bits count, and the first one is no sign there.
            hex => Some(u64::from_str_radix(hex, 16).ok()?.cast_signed()),
        };
        Some((Told { address, digest: digest.to_owned() }, seq.parse().ok()?))
    }
}

impl Item {
    /// Bytes that a server counts: its headers, and what is in it.
    pub(super) fn bytes(&self) -> usize {
        // Of the headers that are added when it is sent, none has more than these.
        const HEADERS: usize = 512;
        self.body.len() + self.id.len() * 2 + HEADERS
    }

    /// Behind which message it is to be stored, by number and, where that one was sent before it over the same connection, by its id as
    /// well: so that a message of somebody else between the two is not taken for that one.
    pub(super) fn message(&self, stream: &str, behind: u64, ahead: Option<&Item>) -> PublishMessage {
        let message = PublishMessage::build()
            .payload(self.body.clone().into())
            .message_id(&self.id)
            .header(OPENING, lines::hex(self.opening).as_str())
            .header(SEQ, self.seq.to_string().as_str())
            .expected_stream(stream)
            .expected_last_sequence(behind);
        match ahead {
            Some(ahead) => message.expected_last_message_id(&ahead.id),
            None => message,
        }
    }
}

impl Noted {
    /// What a message says of itself; none where it is none of ours.
    pub(super) fn of(subject: &str, headers: &HeaderMap) -> Option<Noted> {
        let said = |name: &str| headers.get(name).map(|value| value.as_str());
        let id = said("Nats-Msg-Id")?;
        let (told, _) = Told::read(id)?;
        let opening = u64::from_str_radix(said(OPENING)?, 16).ok()?.cast_signed();
        let is_end = subject.rsplit('.').next() == Some(RUN_END);
        Some(Noted { id: id.to_owned(), told, seq: said(SEQ)?.parse().ok()?, opening, is_end })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ingather_model::document::Record;
    use ingather_model::ids::{AclId, ContainerId, Digest};

    use super::*;

    fn author(store: &str) -> Author {
        Author { store: store.to_owned(), subject: "s".to_owned(), opening: 7 }
    }

    fn put(seq: i64, text: &str, acl: i64) -> Change {
        let record = Record { body: Some(text.to_owned()), ..Record::default() };
        let (acl_id, container) = (Some(AclId(acl)), Some(ContainerId(1)));
        let op = Op::Put { record: Arc::new(record), version: Digest(1), acl_id, container };
        let (id, document, job_name) = ("test://a".to_owned(), "a".to_owned(), "job".into());
        Change { id, address: -3, job: 1, job_name, document, seq, op }
    }

    #[test]
    fn a_message_is_known_by_what_it_does_and_by_its_number() {
        let of = |change: &Change| author("one").change(change).unwrap();
        let first = of(&put(5, "text", 1));
        assert_eq!(first.told, of(&put(9, "text", 1)).told, "the same, sent again");
        assert_ne!(
            first.id,
            of(&put(9, "text", 1)).id,
            "and a message of its own where something came between"
        );
        for other in [put(5, "other", 1), put(5, "text", 2), Change { op: Op::Delete, ..put(5, "", 1) }] {
            assert_ne!(first.told, of(&other).told);
        }
        assert_ne!(first.told, author("two").change(&put(5, "text", 1)).unwrap().told);
        assert_eq!(Told::read(&first.id), Some((first.told, 5)));
    }

    #[test]
    fn what_cannot_be_read_admits_nobody_and_says_so() {
        let hidden = |acl_id, container| {
            let Op::Put { record, version, .. } = put(1, "text", 1).op else { unreachable!("it is a put") };
            let op = Op::Put { record, version, acl_id, container };
            let item = author("one").change(&Change { op, ..put(1, "", 1) }).unwrap();
            serde_json::from_slice::<Value>(&item.body).unwrap()["hidden"].clone()
        };
        assert_eq!(hidden(Some(AclId(1)), Some(ContainerId(1))), false);
        assert_eq!(hidden(None, Some(ContainerId(1))), true);
        assert_eq!(hidden(Some(AclId(1)), None), true);
    }
}
