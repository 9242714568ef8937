//! An index on a server: what it says of itself, how it is made, and whether it is still the one that was opened.
//!
//! An index of ours has a second name, an alias with its identity in it, and every request goes to that: where the index is dropped and
//! made anew by somebody else, the name is gone, and nothing is written into what took its place.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher, RandomState};

use ingather_model::fault::Fault;
use ingather_model::limits;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::http::{Method, Request};
use super::server::{AWAY, REPLACED, Said, Server, Waits, refused, replaced};
use super::template;

/// Version of the form of entries.
const FORMAT: u32 = 1;
/// Where in the `_meta` of an index this program writes.
const OURS: &str = "ingather";

/// What this program notes in an index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Mark {
    /// Version of the form of entries.
    pub(super) format: u32,
    /// Identity of the store that the entries are of.
    pub(super) store: String,
    /// What tells it from every other index.
    pub(super) identity: String,
    /// Number of the last commit.
    pub(super) number: i64,
    /// The opening that wrote last, noted before its first change.
    pub(super) session: i64,
    /// Largest number of a change that is committed.
    pub(super) seq: i64,
}

/// An index as the server describes it.
pub(super) struct Described {
    pub(super) uuid: String,
    pub(super) mark: Option<Mark>,
    /// What others note in it, too.
    meta: Map<String, Value>,
    aliases: Vec<String>,
    mappings: Value,
}

#[derive(Deserialize)]
struct Answered {
    #[serde(default)]
    aliases: BTreeMap<String, Value>,
    #[serde(default)]
    mappings: Value,
    settings: AnsweredSettings,
}

#[derive(Deserialize)]
struct AnsweredSettings {
    index: AnsweredIndex,
}

#[derive(Deserialize)]
struct AnsweredIndex {
    uuid: String,
}

/// An index of ours that is open.
pub(super) struct Index {
    /// Its name.
    name: String,
    /// The name that has its identity in it.
    pub(super) alias: String,
    uuid: String,
    pub(super) mark: Mark,
    meta: Map<String, Value>,
}

/// Asks what an index, or what an alias leads to, is; none where there is none.
fn describe(server: &Server, waits: &Waits<'_>, name: &str) -> Result<Option<(String, Described)>, Fault> {
    let path = format!("/{name}");
    let answer_max = limits::OPENSEARCH_ANSWER_BYTES_MAX;
    let request = Request { method: Method::Get, path: &path, body: b"", is_lines: false, answer_max };
    let reply = server.ask(waits, &request)?;
    match reply.status {
        404 => return Ok(None),
        200 => {}
        _ => return Err(refused(&reply)),
    }
    let unreadable = |why: String| Fault::refused("index", format!("{name} cannot be understood: {why}"));
    let all: BTreeMap<String, Answered> =
        serde_json::from_slice(&reply.body).map_err(|error| unreadable(error.to_string()))?;
    let mut all = all.into_iter();
    let (Some((index, Answered { aliases, mappings, settings })), None) = (all.next(), all.next()) else {
        return Err(unreadable("the name leads to several indices; leave it one".to_owned()));
    };
    let meta = mappings["_meta"].as_object().cloned().unwrap_or_default();
    let mark = match meta.get(OURS) {
        Some(mark) => Some(
            serde_json::from_value(mark.clone())
                .map_err(|error| unreadable(format!("what this program noted in it was changed: {error}")))?,
        ),
        None => None,
    };
    let aliases = aliases.into_keys().collect();
    Ok(Some((index, Described { uuid: settings.index.uuid, mark, meta, aliases, mappings })))
}

/// What is there by the name of an index, if it may be written to by this store: its mark is none where it is to be taken over.
///
/// # Errors
/// It is another store's, is of another form, holds entries of others, or is an alias.
pub(super) fn usable(
    server: &Server,
    waits: &Waits<'_>,
    name: &str,
    store: &str,
) -> Result<Option<Described>, Fault> {
    let Some((index, described)) = describe(server, waits, name)? else { return Ok(None) };
    let refuse = |why: String| Err(Fault::refused("index", format!("index {name} {why}")));
    if index != name {
        return refuse(format!("is an alias of {index}; name that, or another one"));
    }
    let differences = template::differences(&described.mappings);
    if !differences.is_empty() {
        let what = differences.join("; ");
        return refuse(format!(
            "is not as entries need it ({what}); nothing was sent; mend it, or name another one"
        ));
    }
    match &described.mark {
        Some(mark) if mark.store != store => {
            refuse("belongs to another store; name another one, or use the store that filled it".to_owned())
        }
        Some(mark) if mark.format != FORMAT => refuse(format!(
            "is of form {}, and this program writes form {FORMAT}; use the program that filled it, or name another one",
            mark.format
        )),
        None if first(server, waits, name, (json!({"match_all": {}}), json!("_doc")))?.is_some() => {
            refuse("holds entries of others; name another one, or empty it".to_owned())
        }
        _ => Ok(Some(described)),
    }
}

#[derive(Deserialize)]
struct Found {
    timed_out: bool,
    _shards: Shards,
    hits: Hits,
}

#[derive(Deserialize)]
struct Shards {
    #[serde(default)]
    successful: u64,
    failed: u64,
}

#[derive(Deserialize)]
struct Refreshed {
    _shards: Shards,
}

#[derive(Deserialize)]
struct Hits {
    hits: Vec<Hit>,
}

#[derive(Deserialize)]
struct Hit {
    #[serde(default)]
    sort: Vec<Value>,
}

/// What the first entry of those that a query finds is sorted by, in an index as it is now; none where there is none.
fn first(
    server: &Server,
    waits: &Waits<'_>,
    name: &str,
    (query, sort): (Value, Value),
) -> Result<Option<Value>, Fault> {
    refresh(server, waits, name)?;
    let body =
        json!({"size": 1, "query": query, "sort": [sort], "_source": false, "track_total_hits": false});
    let found: Found =
        server.json(waits, Method::Post, &format!("/{name}/_search"), body.to_string().as_bytes())?;
    if found.timed_out || found._shards.failed > 0 {
        return Err(Fault::passing(AWAY, "the server could not look at all of the index; ask again"));
    }
    Ok(found.hits.hits.into_iter().next().map(|hit| hit.sort.into_iter().next().unwrap_or_default()))
}

/// Makes visible to searches what was written.
///
/// # Errors
/// A part of the index still shows what was there before.
pub(super) fn refresh(server: &Server, waits: &Waits<'_>, name: &str) -> Result<(), Fault> {
    let Refreshed { _shards } = server.json(waits, Method::Post, &format!("/{name}/_refresh"), b"")?;
    match _shards.failed == 0 && _shards.successful > 0 {
        true => Ok(()),
        false => {
            Err(Fault::passing(AWAY, "the server could not show all of the index to searches; run again"))
        }
    }
}

/// Largest number of a change of this store in an index, with what nobody committed.
pub(super) fn largest_seq(server: &Server, waits: &Waits<'_>, index: &Index) -> Result<i64, Fault> {
    let ours = json!({"term": {"store": index.mark.store}});
    let seq = first(server, waits, &index.alias, (ours, json!({"seq": {"order": "desc"}})))?;
    Ok(seq.and_then(|seq| seq.as_i64()).unwrap_or_default().max(index.mark.seq))
}

impl Index {
    /// What was described, where it has a mark.
    pub(super) fn of(name: &str, described: Described) -> Option<Index> {
        let Described { uuid, mark, meta, .. } = described;
        let mark = mark?;
        Some(Index { name: name.to_owned(), alias: alias(name, &mark), uuid, mark, meta })
    }

    /// The index by a name, made or taken over where it has to be; true where it was made now.
    ///
    /// # Errors
    /// Those of [`usable`], and what the server refuses.
    pub(super) fn ready(
        server: &Server,
        waits: &Waits<'_>,
        name: &str,
        store: &str,
    ) -> Result<(Index, bool), Fault> {
        let there = usable(server, waits, name, store)?;
        let is_new = there.is_none();
        let described = match there {
            None => {
                make(server, waits, name, &new_mark(store))?;
                usable(server, waits, name, store)?.ok_or_else(replaced)?
            }
            Some(described) => described,
        };
        let aliases = described.aliases.clone();
        let mark = described.mark.clone();
        let mut index =
            match Index::of(name, Described { mark: mark.clone().or(Some(new_mark(store))), ..described }) {
                Some(index) => index,
                None => return Err(replaced()),
            };
        if !aliases.contains(&index.alias) {
            let add = json!({"actions": [{"add": {"index": name, "alias": index.alias, "is_hidden": true}}]});
            server.json::<Value>(waits, Method::Post, "/_aliases", add.to_string().as_bytes())?;
        }
        if mark.is_none() {
            index.note(server, waits, index.mark.clone())?;
        }
        Ok((index, is_new))
    }

    /// By what it is known: it is another one when it was made anew, and when it was brought back from a snapshot.
    pub(super) fn identity(&self) -> String {
        format!("{}/{}", self.mark.identity, self.uuid)
    }

    /// Whether it is the one that was opened, as it was noted last.
    ///
    /// # Errors
    /// It is not; or nobody knows.
    pub(super) fn check(&self, server: &Server, waits: &Waits<'_>) -> Result<(), Fault> {
        let described = describe(server, waits, &self.alias)?;
        let is_same = described.is_some_and(|(name, described)| {
            name == self.name && described.uuid == self.uuid && described.mark.as_ref() == Some(&self.mark)
        });
        if is_same { Ok(()) } else { Err(replaced()) }
    }

    /// Notes another mark in it.
    ///
    /// # Errors
    /// Nobody knows which one it has.
    pub(super) fn note(&mut self, server: &Server, waits: &Waits<'_>, mark: Mark) -> Result<(), Fault> {
        let mut meta = self.meta.clone();
        meta.insert(OURS.to_owned(), serde_json::to_value(&mark).unwrap_or_default());
        let body = json!({"_meta": meta}).to_string();
        let acknowledged: Value =
            server.json(waits, Method::Put, &format!("/{}/_mapping", self.alias), body.as_bytes())?;
        if acknowledged["acknowledged"] != true {
            return Err(Fault::passing(REPLACED, "the server did not note a commit in time; run again"));
        }
        self.mark = mark;
        Ok(())
    }

    /// Makes it anew, without an entry, under the same name; numbers of changes go on.
    ///
    /// # Errors
    /// It is as it was, or is not there.
    pub(super) fn make_anew(&mut self, server: &Server, waits: &Waits<'_>, seq: i64) -> Result<(), Fault> {
        self.check(server, waits)?;
        let path = format!("/{}", self.name);
        let answer_max = limits::OPENSEARCH_ANSWER_BYTES_MAX;
        let request = Request { method: Method::Delete, path: &path, body: b"", is_lines: false, answer_max };
        let reply = server.ask(waits, &request)?;
        if reply.status != 200 && Said::of(&reply).lost().is_none() {
            return Err(refused(&reply));
        }
        let store = self.mark.store.clone();
        make(server, waits, &self.name, &Mark { seq, ..new_mark(&store) })?;
        let (index, _) = Index::ready(server, waits, &self.name, &store)?;
        *self = index;
        Ok(())
    }
}

fn alias(name: &str, mark: &Mark) -> String {
    format!("{name}-{}", mark.identity)
}

fn new_mark(store: &str) -> Mark {
    // Keys of the standard library's maps are random.
    let random = || RandomState::new().build_hasher().finish();
    let identity = format!("{:016x}{:016x}", random(), random());
    Mark { format: FORMAT, store: store.to_owned(), identity, number: 0, session: 0, seq: 0 }
}

fn make(server: &Server, waits: &Waits<'_>, name: &str, mark: &Mark) -> Result<(), Fault> {
    let mut meta = Map::new();
    meta.insert(OURS.to_owned(), serde_json::to_value(mark).unwrap_or_default());
    let body = json!({
        "mappings": template::mappings(&meta), "aliases": {alias(name, mark): {"is_hidden": true}},
    });
    let (path, body) = (format!("/{name}"), body.to_string());
    let answer_max = limits::OPENSEARCH_ANSWER_BYTES_MAX;
    let request =
        Request { method: Method::Put, path: &path, body: body.as_bytes(), is_lines: false, answer_max };
    let reply = server.ask(waits, &request)?;
    // An attempt whose answer was lost has made it: whoever asks next sees whose it is.
    let exists = Said::of(&reply).kind == "resource_already_exists_exception";
    if reply.status / 100 == 2 || exists { Ok(()) } else { Err(refused(&reply)) }
}
