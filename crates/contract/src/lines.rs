//! Changes and statements as JSON, format 2: the lines of a journal and the messages of a stream, as `docs/manual/journal.md` describes
//! them, and their JSON Schema.

use crate::output::{Change, JobContainer, Op, Says, Statement};
use ingather_model::access::Acl;
use ingather_model::access::identity::Group;
use ingather_model::document::Record;
use ingather_model::ids::{AclId, ContainerId};
use ingather_model::run_counts::RunCounts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Told by every `run` line.
pub const FORMAT: u32 = 2;

/// One line of a journal. `seq` grows from line to line. An `acl` or a `container` that no line defines, or that is null,
/// admits nobody.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "op", rename_all = "snake_case")]
#[expect(missing_docs, reason = "the manual describes each field, for people who read lines and no Rust")]
pub enum Line<'l> {
    /// A run of a job, or what a person asked of it, begins. When `state` is another one than in the `run` line before, all that
    /// was told before is void; and so it is for whoever has not taken the line of the number `follows`: lines between are lost.
    Run {
        seq: i64,
        format: u32,
        state: String,
        /// Random, another one each time that the journal is opened. Missing in lines of earlier versions.
        #[serde(skip_serializing_if = "Option::is_none")]
        opening: Option<String>,
        /// Number of the last line before, also where that is in an older file; of the last line of all in a snapshot. Missing in
        /// lines of earlier versions.
        #[serde(skip_serializing_if = "Option::is_none")]
        follows: Option<i64>,
        job: &'l str,
        run: Option<i64>,
        work: &'l str,
    },
    /// Whom an access list admits; it never changes.
    Acl {
        seq: i64,
        id: i64,
        #[schemars(with = "AsLevel")]
        level: &'l Acl,
    },
    /// The same of an authority group that has a name: tokens of another group say nothing to it. A line of its own, so that
    /// whoever does not know of groups shows what it rules to nobody.
    GroupAcl {
        seq: i64,
        id: i64,
        #[schemars(with = "String")]
        group: &'l str,
        #[schemars(with = "AsLevel")]
        level: &'l Acl,
    },
    /// Where entries are: all of these acls have to admit. In place of an earlier line of the same id.
    Container { seq: i64, id: String, acls: Option<Vec<i64>> },
    /// What has to admit to the entry at an address beside its own acl and container. In place of an earlier line of the same
    /// address.
    Also { seq: i64, address: String, also: Vec<Reference> },
    /// The entry `id` is this from now on.
    Put {
        seq: i64,
        id: &'l str,
        address: String,
        job: &'l str,
        uri: &'l str,
        version: String,
        #[schemars(with = "Map<String, Value>")]
        fields: Value,
        #[serde(flatten)]
        access: Reference,
    },
    /// Who may see the entry `id` that was put with this `version`, and stays as it is. Whoever holds another one has not been told
    /// of this one, and shows it to nobody. Null: whatever is there, as in lines of earlier versions, and where it is hidden.
    Access {
        seq: i64,
        id: &'l str,
        address: String,
        job: &'l str,
        uri: &'l str,
        version: Option<String>,
        #[schemars(with = "Map<String, Value>")]
        fields: Value,
        #[serde(flatten)]
        access: Reference,
    },
    /// There is no entry `id` any more.
    Delete {
        seq: i64,
        id: &'l str,
        address: String,
        job: &'l str,
        uri: &'l str,
        version: (),
        #[schemars(with = "Map<String, Value>")]
        fields: Value,
    },
    /// What the last `run` line began is over: by what was told a reader finds what a search finds.
    RunEnd {
        seq: i64,
        job: &'l str,
        run: Option<i64>,
        outcome: &'l str,
        #[schemars(with = "std::collections::BTreeMap<String, u64>")]
        counts: &'l RunCounts,
    },
}

/// Who may see an entry: its own access list, and where it is.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
pub struct Reference {
    /// Id of the list; none admits nobody.
    pub acl: Option<i64>,
    /// Id of the container; none admits nobody.
    pub container: Option<String>,
}

/// Whom an access list admits.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case", rename = "Level")]
#[expect(dead_code, reason = "only its schema is used: the model says the same with other types")]
enum AsLevel {
    /// Entries in order: the first whose token the user holds decides; none: not admitted.
    Ordered(Vec<AsEntry>),
    /// One of `allow` is needed, unless both are empty; any of `deny` shuts out.
    Flat { allow: Vec<String>, deny: Vec<String> },
}

/// One entry of an ordered access list.
#[derive(JsonSchema)]
#[schemars(rename = "Entry")]
#[expect(dead_code, reason = "as above")]
struct AsEntry {
    who: String,
    allow: bool,
}

/// The JSON Schema of a line.
#[must_use]
pub fn schema() -> Value {
    schemars::schema_for!(Line<'static>).to_value()
}

impl Reference {
    fn of(acl_id: Option<AclId>, container: Option<JobContainer>) -> Reference {
        Reference { acl: acl_id.map(|acl_id| acl_id.0), container: container.map(|id| id.to_string()) }
    }
}

/// A number as lines have it where it may be larger than what every reader of JSON can count to.
#[must_use]
pub fn hex(number: i64) -> String {
    format!("{number:016x}")
}

/// The line of a change.
#[must_use]
pub fn of_change(change: &Change) -> Line<'_> {
    let (seq, id, job) = (change.seq, change.id.as_str(), &*change.job_name);
    let address = hex(change.address);
    // A URI has no `#` of its own; what follows one is the component.
    let uri = id.split('#').next().unwrap_or_default();
    let nothing = || Value::Object(Map::new());
    let reference = |acl_id: Option<AclId>, container: Option<ContainerId>| {
        Reference::of(acl_id, container.map(|container| JobContainer { container, job: change.job }))
    };
    match &change.op {
        Op::Put { record, version, acl_id, container } => Line::Put {
            seq,
            id,
            address,
            job,
            uri: &record.uri,
            version: hex(version.0),
            fields: fields(record),
            access: reference(*acl_id, *container),
        },
        Op::Access { version, acl_id, container } => Line::Access {
            seq,
            id,
            address,
            job,
            uri,
            version: version.map(|version| hex(version.0)),
            fields: nothing(),
            access: reference(*acl_id, *container),
        },
        Op::Delete => Line::Delete { seq, id, address, job, uri, version: (), fields: nothing() },
    }
}

/// The line of a statement.
#[must_use]
pub fn of_statement(statement: &Statement) -> Line<'_> {
    let seq = statement.seq;
    let numbers = |acls: &Vec<AclId>| acls.iter().map(|acl_id| acl_id.0).collect();
    match &statement.says {
        Says::Begin { state, job, run, work, opening, follows } => {
            let (state, opening) = (hex(*state), Some(hex(*opening)));
            Line::Run { seq, format: FORMAT, state, opening, follows: Some(*follows), job, run: *run, work }
        }
        Says::Acl { id, group, acl } => of_acl(seq, id.0, group, acl),
        Says::Container { id, acls } => {
            Line::Container { seq, id: id.to_string(), acls: acls.as_ref().map(numbers) }
        }
        Says::Also { address, references } => {
            let also = references.iter().map(|(acl_id, container)| Reference::of(*acl_id, *container));
            Line::Also { seq, address: hex(*address), also: also.collect() }
        }
        Says::End { job, run, outcome, counts } => Line::RunEnd { seq, job, run: *run, outcome, counts },
    }
}

/// The line of an acl.
#[must_use]
pub fn of_acl<'l>(seq: i64, id: i64, group: &'l Group, level: &'l Acl) -> Line<'l> {
    match group.is_default() {
        true => Line::Acl { seq, id, level },
        false => Line::GroupAcl { seq, id, group: group.name(), level },
    }
}

/// The number of a line by its beginning; 0 where it has none, as in format 1.
#[must_use]
pub fn seq_of(beginning: &[u8]) -> i64 {
    let text = String::from_utf8_lossy(beginning);
    let number = text.split_once(r#"","seq":"#).filter(|(op, _)| !op.contains(','));
    let digits = number.map(|(_, rest)| rest.chars().take_while(char::is_ascii_digit).collect::<String>());
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

/// All that a record says but its URI; what it does not say is left out.
fn fields(record: &Record) -> Value {
    let mut fields: Map<String, Value> =
        record.fields.iter().map(|(name, values)| (name.clone(), values.as_slice().into())).collect();
    let known = [
        ("title", Some(record.title.as_str().into())),
        ("path", Some(record.path.as_str().into())),
        ("body", record.body.as_deref().map(Value::from)),
        ("media_type", record.media_type.as_deref().map(Value::from)),
        ("language", record.language.as_deref().map(Value::from)),
        ("size", record.size.map(Value::from)),
        ("modified", record.modified.map(Value::from)),
        ("created", record.created.map(Value::from)),
        ("author", record.author.as_deref().map(Value::from)),
    ];
    fields.extend(known.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    Value::Object(fields)
}
