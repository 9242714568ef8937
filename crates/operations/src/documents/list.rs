//! The documents of a job, in pages. Each state is found by the index that has it: what waits by the queue, what failed by the
//! failures, all others by the keys of the job, so that no page costs what other jobs have.

use std::str::FromStr;

use ingather_model::fault::Reason;
use ingather_model::key::DocumentKey;
use ingather_model::lifecycle::outcome::{FailureKind, VisitReason};
use ingather_model::limits;
use ingather_store::Reader;
use ingather_store::documents::{self, Listed};
use ingather_store::jobs::Job;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::context::{Caller, Context, journals};
use crate::jobs::named;
use crate::operation::schema;
use crate::operation::{Answering, Effect, Operation, Rest, Role, Shape, Verb, Words};
use crate::page;
use crate::problem::{Code, Result};

/// Rows that are read at once.
const ROWS: usize = 1_000;

const PAGE: &str = r#"{"documents": [{"job": "share", "document": "a.txt", "state": "waiting", "changed_run": 7,
    "waits_for": "retry", "due": 1767225600000, "code": "busy", "reason": "it is in use"},
    {"job": "share", "document": "link", "state": "skipped", "changed_run": null, "waits_for": null, "due": null,
    "code": "link", "reason": "it is a link"}], "next": "0a1b2c3d6b2037"}"#;

/// The documents of a job.
pub static LIST: Answering<ListDocuments, DocumentPage> = Answering {
    operation: Operation {
        name: "documents.list",
        summary: "The documents of a job, each with its state.",
        request: Shape::of::<ListDocuments>(
            "ListDocuments",
            &[r#"{"job": "share", "state": "failed", "limit": 1000}"#],
        ),
        item: None,
        answer: Shape::of::<DocumentPage>("DocumentPage", &[PAGE]),
        role: Role::Operator,
        effect: Effect::Reads,
        rest: Rest::At(Verb::Get, "/jobs/{job}/documents"),
        words: Words::Are("document list"),
        tool: true,
        problems: &[Code::NoSuchJob, Code::NoSuchConnector, Code::Definition, Code::Source],
    },
    run: list,
};

/// Asks for documents.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListDocuments {
    /// Name of the job.
    pub job: String,
    /// Only those in this state.
    #[serde(default)]
    pub state: Option<DocumentState>,
    /// Documents at most; a page has a bound of its own.
    #[serde(default = "page::size")]
    pub limit: u32,
    /// Where to begin: `next` of the page before.
    #[serde(default)]
    pub cursor: Option<String>,
}

/// How a document stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DocumentState {
    /// Waits for a visit.
    Waiting,
    /// Up to date, or nothing to deliver.
    Settled,
    /// Could not be read, understood or delivered.
    Failed,
    /// Left out, with a reason: by a rule, a stage, or for what it is.
    Skipped,
}

/// A document in a list.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Document {
    /// Name of the job.
    pub job: String,
    /// Its name there.
    pub document: String,
    /// How it stands.
    pub state: DocumentState,
    /// Run that wrote it last; none when the inventory does not have it.
    pub changed_run: Option<i64>,
    /// Why it waits for a visit.
    #[schemars(schema_with = "schema::visit_reason")]
    pub waits_for: Option<VisitReason>,
    /// Not before this time, milliseconds since 1970 UTC.
    pub due: Option<i64>,
    /// Stable word for what is wrong.
    pub code: Option<String>,
    /// The same as a sentence.
    pub reason: Option<String>,
}

/// Documents of a job, in an order of the program's own.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct DocumentPage {
    /// The documents.
    pub documents: Vec<Document>,
    /// Cursor of the next page, which may be empty where few of very many are in the state; none at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Where documents are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Index {
    /// All of a job, in key order.
    Keys,
    /// Those with a row in the queue, in the order of their ids.
    Queue,
    /// Those that failed or were left out, in the order of their ids.
    Failures(FailureKind),
    /// What the source has and no inventory, as it is listed now.
    Source,
}

impl DocumentState {
    const fn as_str(self) -> &'static str {
        match self {
            DocumentState::Waiting => "waiting",
            DocumentState::Settled => "settled",
            DocumentState::Failed => "failed",
            DocumentState::Skipped => "skipped",
        }
    }

    /// Where its documents are, one after the other; for the documents of all states with none.
    fn indexes(state: Option<DocumentState>) -> &'static [Index] {
        match state {
            None | Some(DocumentState::Settled) => &[Index::Keys],
            // First visits may wait without a row in the queue.
            Some(DocumentState::Waiting) => &[Index::Queue, Index::Keys],
            Some(DocumentState::Failed) => &[Index::Failures(FailureKind::Failed)],
            Some(DocumentState::Skipped) => &[Index::Failures(FailureKind::Skipped), Index::Source],
        }
    }
}

/// How far a list has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    /// Which of the indexes of the state.
    index: usize,
    /// What comes next there is behind this: a key, an id, or so many names.
    after: DocumentKey,
}

impl Place {
    /// The beginning of an index.
    fn of(index: usize) -> Place {
        Place { index, after: DocumentKey::BEFORE_ALL }
    }

    /// The place behind an id, or behind so many names.
    fn behind(self, id: i64) -> Place {
        Place { after: DocumentKey { parent_hash: id, key_hash: 0 }, ..self }
    }

    /// The id, or the number of names, that it is behind.
    fn number(self) -> i64 {
        self.after.parent_hash.max(0)
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} {}", self.index, self.after.parent_hash, self.after.key_hash)
    }
}

impl FromStr for Place {
    type Err = ();

    fn from_str(text: &str) -> std::result::Result<Place, ()> {
        let mut words = text.split(' ').map(|word| word.parse::<i64>().map_err(|_| ()));
        let mut word = || words.next().unwrap_or(Err(()));
        let index = usize::try_from(word()?).map_err(|_| ())?;
        Ok(Place { index, after: DocumentKey { parent_hash: word()?, key_hash: word()? } })
    }
}

/// A page that is filled.
struct Filling<'a> {
    job: &'a Job,
    state: Option<DocumentState>,
    /// Members that are wanted: one more than the page has tells that there is another page.
    wanted: usize,
    /// Each with the place behind it.
    found: Vec<(Document, Place)>,
    /// Rows that may still be looked through.
    may_look: usize,
}

impl Filling<'_> {
    fn is_full(&self) -> bool {
        self.found.len() == self.wanted
    }

    /// Takes what is in the state from one index on; where it broke off, none at the end of the index.
    fn fill(&mut self, reader: &Reader, index: Index, mut place: Place) -> Result<Option<Place>> {
        while !self.is_full() && self.may_look > 0 {
            let most = ROWS.min(self.may_look);
            let rows = self.rows(reader, index, place, most)?;
            let is_last = rows.len() < most;
            self.may_look -= rows.len();
            for row in rows {
                place = match index {
                    Index::Keys => Place { after: row.key, ..place },
                    _ => place.behind(row.id.0),
                };
                let is_told =
                    index == Index::Keys && self.state == Some(DocumentState::Waiting) && row.is_queued;
                let document = document(&self.job.name, row);
                if !is_told && self.state.is_none_or(|state| document.state == state) {
                    self.found.push((document, place));
                    if self.is_full() {
                        return Ok(Some(place));
                    }
                }
            }
            if is_last {
                return Ok(None);
            }
        }
        Ok(Some(place))
    }

    fn rows(&self, reader: &Reader, index: Index, place: Place, most: usize) -> Result<Vec<Listed>> {
        let job = self.job.id;
        Ok(reader.read(|sql| match index {
            Index::Keys => documents::list(sql, job, place.after, most),
            Index::Queue => documents::list_queued(sql, job, place.number(), most),
            Index::Failures(kind) => documents::list_failures(sql, job, kind, place.number(), most),
            Index::Source => Ok(Vec::new()),
        })?)
    }

    /// What the source has and the job leaves out for what it is, such as links and special files, is in no inventory: the
    /// source is listed again, and nothing is written.
    fn fill_left_out(&mut self, context: &Context<'_>, reader: Reader, place: Place) -> Result<()> {
        let engine = context.engine(reader, None, &journals(&self.job.definition));
        let mut met = 0;
        Ok(engine.left_out(self.job, &mut |skipped| {
            met += 1;
            if met > place.number() {
                let Reason { code, message } = skipped.reason;
                let document = Document {
                    job: self.job.name.clone(),
                    document: skipped.key,
                    state: DocumentState::Skipped,
                    changed_run: None,
                    waits_for: None,
                    due: None,
                    code: Some(code),
                    reason: Some(message),
                };
                self.found.push((document, place.behind(met)));
            }
            !self.is_full()
        })?)
    }
}

fn list(context: &Context<'_>, _: &Caller<'_>, request: ListDocuments) -> Result<DocumentPage> {
    page_of(context, request, limits::LIST_LOOKED_MAX)
}

/// A page that looks through so many rows at most.
pub(crate) fn page_of(context: &Context<'_>, request: ListDocuments, most: usize) -> Result<DocumentPage> {
    let ListDocuments { job, state, limit, cursor } = request;
    let reader = context.existing()?;
    let job = named(&reader, &job)?;
    let of = [LIST.operation.name, &job.name, state.map_or("", DocumentState::as_str)];
    let indexes = DocumentState::indexes(state);
    let mut place = match page::place(&of, cursor.as_deref())? {
        None => Place::of(0),
        Some(text) => {
            text.parse().ok().filter(|place: &Place| place.index < indexes.len()).ok_or_else(page::unknown)?
        }
    };
    let length = page::length(limit);
    let mut filling = Filling { job: &job, state, wanted: length + 1, found: Vec::new(), may_look: most };
    // Where it goes on when the bound of what one call looks through is met.
    let mut rest = None;
    while let Some(index) = indexes.get(place.index).filter(|_| rest.is_none()) {
        rest = match index {
            Index::Source => {
                filling.fill_left_out(context, reader.clone(), place)?;
                None
            }
            index => filling.fill(&reader, *index, place)?,
        };
        place = Place::of(place.index + 1);
    }
    if filling.is_full() {
        filling.found.truncate(length);
        rest = filling.found.last().map(|(_, place)| *place);
    }
    Ok(DocumentPage {
        documents: filling.found.into_iter().map(|(document, _)| document).collect(),
        next: rest.map(|place| page::cursor(&of, &place.to_string())),
    })
}

fn document(job: &str, row: Listed) -> Document {
    let state = match (&row.work, row.failure.as_ref().map(|(kind, _)| *kind)) {
        (Some(_), _) => DocumentState::Waiting,
        (None, Some(FailureKind::Failed)) => DocumentState::Failed,
        (None, Some(FailureKind::Skipped)) => DocumentState::Skipped,
        _ => DocumentState::Settled,
    };
    let (waits_for, due) = row.work.unzip();
    let (code, reason) = row.failure.map(|(_, Reason { code, message })| (code, message)).unzip();
    Document {
        job: job.to_owned(),
        document: row.name,
        state,
        changed_run: Some(row.changed_run),
        waits_for,
        due,
        code,
        reason,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use ingather_model::ids::{ConnectionId, Digest, DocumentId, JobId};
    use ingather_model::job::Definition;
    use ingather_store::documents::{DocumentUpdate, NewDocument};
    use ingather_store::queue::{self, Failure, VisitRequest};
    use ingather_store::{Durability, Sql, Store, StoreError, Target, jobs};

    use super::*;
    use crate::context::tests::asked_of;

    /// Documents of each job; three in four of them had their first visit.
    const COUNT: i64 = 40;

    fn job(sql: &mut Sql<'_>, name: &str) -> std::result::Result<JobId, StoreError> {
        let definition =
            serde_json::json!({"name": name, "repository": "files", "source": {"root": "/x"}, "outputs": []});
        let definition: Definition = serde_json::from_value(definition).unwrap();
        jobs::add(sql, ConnectionId(1), name, &definition, 0)
    }

    /// Fills a job, so that its documents stand between those of the other in every index; their names by state.
    fn fill(
        sql: &mut Sql<'_>,
        job: JobId,
        first: i64,
    ) -> std::result::Result<Vec<(DocumentState, String)>, StoreError> {
        let mut names = Vec::new();
        for at in 0..COUNT {
            let id = 1 + 2 * at + first;
            let key = DocumentKey { parent_hash: at % 3 - 1, key_hash: id * 7_919 % 101 };
            let name = format!("{at:02}.txt");
            let (version, access, settings) = (Digest(1), Digest(1), Digest(1));
            let new = NewDocument {
                id: DocumentId(id),
                key,
                name: name.clone(),
                version,
                access,
                identity: 1,
                container: None,
            };
            documents::add(sql, job, 1, &[new])?;
            if at % 4 > 0 {
                let update = DocumentUpdate {
                    id: DocumentId(id),
                    version,
                    access,
                    settings,
                    identity: 1,
                    acl_id: None,
                    container: None,
                    raw: None,
                };
                documents::complete(sql, 1, &[update])?;
            }
            let kind = [FailureKind::Failed, FailureKind::Skipped, FailureKind::Retrying][at as usize % 3];
            if at % 4 == 1 {
                let failure = Failure {
                    document: id,
                    kind,
                    attempts: 1,
                    attempts_max: 1,
                    code: "x".to_owned(),
                    message: "it is so".to_owned(),
                    give_up_at: None,
                };
                queue::record_failures(sql, job, 0, &[failure])?;
            }
            let waits = at % 5 == 1;
            if waits {
                queue::enqueue(
                    sql,
                    job,
                    1,
                    &[VisitRequest { document: id, due: 0, reason: VisitReason::Changed }],
                )?;
            }
            let state = match (at % 4, kind) {
                (0, _) => DocumentState::Waiting,
                _ if waits => DocumentState::Waiting,
                (1, FailureKind::Failed) => DocumentState::Failed,
                (1, FailureKind::Skipped) => DocumentState::Skipped,
                _ => DocumentState::Settled,
            };
            names.push((state, name));
        }
        Ok(names)
    }

    #[test]
    fn pages_of_every_length_hold_each_document_of_the_job_and_the_state_once() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&Target::Sqlite(folder.path().join("store.db"))).unwrap();
        let names = store
            .write(Durability::Relaxed, |sql| {
                let (one, other) = (job(sql, "one")?, job(sql, "other")?);
                fill(sql, other, 1)?;
                fill(sql, one, 0)
            })
            .unwrap();
        // What the source leaves out is listed by a repository, which a program without connectors has not.
        let states =
            [None, Some(DocumentState::Waiting), Some(DocumentState::Settled), Some(DocumentState::Failed)];
        // Also where a call looks through less than it takes to fill a page.
        let lengths = [(1, 1_000), (3, 1_000), (7, 1_000), (1_000, 1_000), (3, 5), (1_000, 5), (3, 1)];
        for (state, (limit, may_look)) in
            states.iter().flat_map(|state| lengths.map(|length| (*state, length)))
        {
            let (mut found, mut cursor) = (Vec::new(), None);
            loop {
                let request = ListDocuments { job: "one".to_owned(), state, limit, cursor };
                let page = asked_of(Some(store.reader().clone()), &[Role::Operator], |context, _| {
                    page_of(context, request, may_look)
                });
                let page = page.unwrap();
                assert!(page.documents.len() <= limit as usize);
                // A page says that there is another one only where there is, or where it could not look.
                let is_full = page.documents.len() == limit as usize;
                assert!(is_full || page.next.is_none() || may_look < 1_000);
                found.extend(page.documents.into_iter().map(|document| (document.state, document.document)));
                cursor = page.next;
                if cursor.is_none() {
                    break;
                }
            }
            let wanted: Vec<_> =
                names.iter().filter(|(is, _)| state.is_none_or(|state| *is == state)).cloned().collect();
            assert!(wanted.len() > 1, "{state:?}");
            assert_eq!(found.len(), wanted.len(), "{state:?} in pages of {limit}");
            let text = |all: Vec<(DocumentState, String)>| -> BTreeSet<String> {
                all.into_iter().map(|(state, name)| format!("{} {name}", state.as_str())).collect()
            };
            assert_eq!(text(found), text(wanted), "{state:?} in pages of {limit}");
        }
    }

    #[test]
    fn a_cursor_of_another_state_or_job_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&Target::Sqlite(folder.path().join("store.db"))).unwrap();
        let made = store.write(Durability::Relaxed, |sql| {
            let (one, other) = (job(sql, "one")?, job(sql, "other")?);
            fill(sql, other, 1)?;
            fill(sql, one, 0)
        });
        made.unwrap();
        let ask = |job: &str, state: Option<DocumentState>, cursor: Option<String>| {
            let request = ListDocuments { job: job.to_owned(), state, limit: 2, cursor };
            asked_of(Some(store.reader().clone()), &[Role::Operator], |context, caller| {
                LIST.call(context, caller, request)
            })
        };
        let next = ask("one", None, None).unwrap().next;
        assert!(next.is_some() && ask("one", None, next.clone()).is_ok());
        for (job, state) in [("other", None), ("one", Some(DocumentState::Failed))] {
            let refused = ask(job, state, next.clone()).map_err(|problem| problem.code);
            assert_eq!(refused.map(|_| ()), Err(Code::WrongUse), "{job} {state:?}");
        }
    }
}
