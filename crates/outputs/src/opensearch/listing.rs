//! What an index holds, in the order of ids: a page after the other of one state of it, where the engine keeps one.

use std::collections::BTreeSet;

use ingather_contract::output::OutputEntry;
use ingather_model::fault::Fault;
use ingather_model::ids::{AclId, ContainerId, Digest};
use ingather_model::limits;
use serde::Deserialize;
use serde_json::{Value, json};

use super::entry::key;
use super::http::{Method, Request};
use super::index::{Index, refresh};
use super::server::{Server, Waits, refused};

/// Before the name of an entry that has no id of ours, such as one that was written by hand: behind every address.
const STRAY: char = '~';

/// A walk over the entries of an index.
#[derive(Default)]
pub(super) struct Listing {
    point: Option<Point>,
    /// The id that the last page ended with, and what leads the engine on from there.
    ended: Option<(String, Value)>,
    /// Entries that are no entries of ours, by what the engine knows them by.
    strays: BTreeSet<String>,
}

/// A state of an index that the engine keeps.
struct Point {
    id: String,
    /// How it is let go.
    close: (&'static str, Value),
}

#[derive(Deserialize)]
struct Page {
    #[serde(default)]
    timed_out: bool,
    #[serde(default)]
    pit_id: Option<String>,
    #[serde(default)]
    _shards: Shards,
    hits: Hits,
}

#[derive(Default, Deserialize)]
struct Shards {
    #[serde(default)]
    failed: u64,
}

#[derive(Deserialize)]
struct Hits {
    hits: Vec<Hit>,
}

#[derive(Deserialize)]
struct Hit {
    _id: String,
    #[serde(default)]
    _version: i64,
    #[serde(default)]
    sort: Value,
    #[serde(default)]
    fields: Fields,
}

/// Values of an entry as the engine sorts by them.
#[derive(Default, Deserialize)]
struct Fields {
    #[serde(default)]
    store: Vec<String>,
    #[serde(default)]
    address: Vec<i64>,
    #[serde(default)]
    job: Vec<i64>,
    #[serde(default)]
    version: Vec<i64>,
    #[serde(default)]
    seq: Vec<i64>,
    #[serde(default)]
    acl: Vec<i64>,
    #[serde(default)]
    container: Vec<i64>,
}

impl Listing {
    /// Entries after an id, at most so many.
    pub(super) fn page(
        &mut self,
        (server, waits, index): (&Server, &Waits<'_>, &Index),
        after: Option<&str>,
        most: usize,
    ) -> Result<Vec<OutputEntry>, Fault> {
        if after.is_none() {
            self.end(server, waits);
            refresh(server, waits, &index.alias)?;
            self.point = Point::open(server, waits, index)?;
            self.strays = self.without_id((server, waits, index))?;
        }
        let mut after = after.map(str::to_owned);
        let mut entries = Vec::new();
        while entries.len() < most && !after.as_deref().is_some_and(|id| id.starts_with(STRAY)) {
            let page = self.with_id((server, waits, index), after.as_deref(), most - entries.len())?;
            let Some(last) = page.last() else { break };
            after = last.sort[0].as_str().map(str::to_owned);
            self.ended = after.clone().map(|id| (id, last.sort.clone()));
            for hit in page {
                match entry(&hit, &index.mark.store) {
                    Some(entry) => entries.push(entry),
                    // Another one has that id: it is told of by what the engine knows it by.
                    None => {
                        self.strays.insert(hit._id);
                    }
                }
            }
        }
        if entries.len() < most {
            let from = after.as_deref().and_then(|id| id.strip_prefix(STRAY)).map(str::to_owned);
            let rest = self.strays.iter().filter(|stray| from.as_ref().is_none_or(|from| *stray > from));
            entries.extend(rest.take(most - entries.len()).map(|stray| foreign(format!("{STRAY}{stray}"))));
        }
        if entries.is_empty() {
            self.end(server, waits);
        }
        Ok(entries)
    }

    /// Entries with an id, in its order.
    fn with_id(
        &mut self,
        to: (&Server, &Waits<'_>, &Index),
        after: Option<&str>,
        most: usize,
    ) -> Result<Vec<Hit>, Fault> {
        let mut body = json!({
            "size": most, "sort": [{"id": {"order": "asc"}}], "_source": false, "version": true, "track_total_hits": false,
            "docvalue_fields": ["store", "address", "job", "version", "seq", "acl", "container"],
            "query": {"exists": {"field": "id"}},
        });
        match (after, &self.ended) {
            (Some(after), Some((ended, sort))) if ended == after => body["search_after"] = sort.clone(),
            (Some(after), _) => body["query"] = json!({"range": {"id": {"gt": after}}}),
            (None, _) => {}
        }
        self.search(to, body)
    }

    /// What the engine knows those by that have no id.
    fn without_id(&mut self, to: (&Server, &Waits<'_>, &Index)) -> Result<BTreeSet<String>, Fault> {
        let body = json!({
            "size": limits::OPENSEARCH_STRAYS_MAX, "sort": ["_doc"], "_source": false, "track_total_hits": false,
            "query": {"bool": {"must_not": {"exists": {"field": "id"}}}},
        });
        Ok(self.search(to, body)?.into_iter().map(|hit| hit._id).collect())
    }

    fn search(
        &mut self,
        (server, waits, index): (&Server, &Waits<'_>, &Index),
        mut body: Value,
    ) -> Result<Vec<Hit>, Fault> {
        let path = match &self.point {
            Some(point) => {
                let kept = format!("{}m", limits::OPENSEARCH_POINT_MINUTES);
                body["pit"] = json!({"id": point.id, "keep_alive": kept});
                "/_search".to_owned()
            }
            None => format!("/{}/_search", index.alias),
        };
        let page: Page = server.json(waits, Method::Post, &path, body.to_string().as_bytes())?;
        if page.timed_out || page._shards.failed > 0 {
            return Err(Fault::passing("server", "the server could not look at all of the index; ask again"));
        }
        if let (Some(point), Some(id)) = (&mut self.point, page.pit_id) {
            point.id = id;
        }
        Ok(page.hits.hits)
    }

    /// Lets the state go that the engine keeps, which it does by itself later.
    fn end(&mut self, server: &Server, waits: &Waits<'_>) {
        if let Some(point) = self.point.take() {
            let (path, body) = (point.close.0, json_with(&point.close.1, &point.id));
            drop(server.json::<Value>(waits, Method::Delete, path, body.as_bytes()));
        }
        *self = Listing::default();
    }
}

fn json_with(form: &Value, id: &str) -> String {
    match form {
        Value::Array(_) => json!({"pit_id": [id]}).to_string(),
        _ => json!({"id": id}).to_string(),
    }
}

impl Point {
    /// A state as it is now; none where the engine keeps none.
    fn open(server: &Server, waits: &Waits<'_>, index: &Index) -> Result<Option<Point>, Fault> {
        #[derive(Deserialize)]
        struct Opened {
            #[serde(alias = "pit_id")]
            id: String,
        }
        let minutes = limits::OPENSEARCH_POINT_MINUTES;
        let ways = [
            (
                format!("/{}/_search/point_in_time?keep_alive={minutes}m", index.alias),
                ("/_search/point_in_time", json!([])),
            ),
            (format!("/{}/_pit?keep_alive={minutes}m", index.alias), ("/_pit", json!({}))),
        ];
        for (path, close) in ways {
            let answer_max = limits::OPENSEARCH_ANSWER_BYTES_MAX;
            let request =
                Request { method: Method::Post, path: &path, body: b"", is_lines: false, answer_max };
            let reply = server.ask(waits, &request)?;
            if let (200, Ok(Opened { id })) = (reply.status, serde_json::from_slice(&reply.body)) {
                return Ok(Some(Point { id, close }));
            }
            // One that the engine does not know is no page of it, or an entry that is not there.
            if !matches!(reply.status, 400 | 404 | 405) {
                return Err(refused(&reply));
            }
        }
        Ok(None)
    }
}

/// An entry with an id; none where it stands in the place of another one.
fn entry(hit: &Hit, store: &str) -> Option<OutputEntry> {
    let id = hit.sort[0].as_str()?.to_owned();
    let one = |values: &[i64]| if let [one] = values { Some(*one) } else { None };
    let Fields { address, job, version, seq, acl, container, .. } = &hit.fields;
    if hit._id != key(&id) {
        return None;
    }
    if hit.fields.store != [store] {
        return Some(foreign(id));
    }
    // Whoever changes an entry by hand counts it on, and leaves the number of our change in it.
    let is_as_sent = one(seq) == Some(hit._version);
    Some(OutputEntry {
        id,
        address: one(address).unwrap_or_default(),
        job: one(job).unwrap_or_default(),
        version: one(version).filter(|_| is_as_sent).map_or(Digest::UNKNOWN, Digest),
        acl_id: one(acl).map(AclId),
        container: one(container).map(ContainerId),
    })
}

fn foreign(id: String) -> OutputEntry {
    OutputEntry { id, address: 0, job: 0, version: Digest::UNKNOWN, acl_id: None, container: None }
}
