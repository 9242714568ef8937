//! Bulk requests: an answer for each entry, whatever becomes of the others; what is busy is sent again, and nothing older wins.

use ingather_model::fault::Fault;
use ingather_model::limits;
use serde::Deserialize;
use serde_json::json;

use super::http::{Method, Reply, Request};
use super::server::{AWAY, Answer, Patience, Said, Server, Waits, not_allowed, refused};

/// What is asked for in an answer: what became of each entry and why.
const TOLD: &str = "filter_path=errors,items.*.status,items.*.error.type,items.*.error.reason,error,status";

/// One entry that is put or removed.
pub(super) struct Item {
    /// By what the engine knows it.
    pub(super) key: String,
    /// The number of its change: an entry with a larger one stays.
    pub(super) seq: i64,
    /// What it is put as; none: it is removed.
    pub(super) source: Option<Vec<u8>>,
}

/// What became of an entry.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Outcome {
    Done,
    /// The engine holds something newer there, or remembers that it did.
    Newer,
    Failed(Fault),
}

#[derive(Deserialize)]
struct Answered {
    items: Vec<AnsweredItem>,
}

/// The answer for one entry, under the name of what was asked.
#[derive(Deserialize)]
struct AnsweredItem {
    #[serde(alias = "index", alias = "delete", alias = "update")]
    of: ItemAnswer,
}

#[derive(Deserialize)]
struct ItemAnswer {
    status: u16,
    #[serde(default)]
    error: Option<Said>,
}

/// Sends entries to an index by its alias, in requests of bounded size. Of one entry there is one item.
///
/// # Errors
/// What concerns all of them and does not pass: the index is not there any more, rights are missing.
pub(super) fn send(
    server: &Server,
    waits: &Waits<'_>,
    alias: &str,
    items: &[Item],
) -> Result<Vec<Outcome>, Fault> {
    let mut bulk = Bulk {
        server,
        waits,
        path: format!("/{alias}/_bulk?require_alias=true&{TOLD}"),
        items,
        outcomes: vec![Outcome::Failed(Fault::passing(AWAY, "it was not sent")); items.len()],
    };
    let (mut together, mut bytes): (Vec<usize>, usize) = (Vec::new(), 0);
    for (at, item) in items.iter().enumerate() {
        let size = head(item).len() + item.source.as_ref().map_or(0, |source| source.len() + 1);
        if size > server.request_bytes {
            bulk.outcomes[at] = Outcome::Failed(too_large(size));
            continue;
        }
        if bytes + size > limits::OPENSEARCH_BULK_BYTES.min(server.request_bytes) && !together.is_empty() {
            bulk.settle(std::mem::take(&mut together))?;
            bytes = 0;
        }
        together.push(at);
        bytes += size;
    }
    if !together.is_empty() {
        bulk.settle(together)?;
    }
    Ok(bulk.outcomes)
}

fn too_large(size: usize) -> Fault {
    let mib = (size as f64) / f64::from(1 << 20);
    Fault::refused(
        "entry_too_large",
        format!(
            "as an entry it has {mib:.1} MiB, more than a request may have (`request_mib`, or the server's own bound)"
        ),
    )
}

/// The line that says what becomes of an entry.
fn head(item: &Item) -> Vec<u8> {
    let (key, version) = (&item.key, item.seq);
    let place = json!({"_id": key, "version": version, "version_type": "external_gte"});
    let what = if item.source.is_some() { "index" } else { "delete" };
    let mut line = json!({ what: place }).to_string().into_bytes();
    line.push(b'\n');
    line
}

struct Bulk<'b> {
    server: &'b Server,
    waits: &'b Waits<'b>,
    path: String,
    items: &'b [Item],
    outcomes: Vec<Outcome>,
}

impl Bulk<'_> {
    /// Sends some of the entries in one request, and those that the engine was too busy for again.
    fn settle(&mut self, mut waiting: Vec<usize>) -> Result<(), Fault> {
        let mut patience = Patience::begin(self.waits);
        loop {
            let guarded = waiting.iter().all(|at| self.items[*at].source.is_none());
            let body = self.body(&waiting, guarded);
            let request = Request {
                method: Method::Post,
                path: &self.path,
                body: &body,
                is_lines: true,
                answer_max: limits::OPENSEARCH_ANSWER_BYTES_MAX,
            };
            let (told, rest_ms) = match self.server.once(&request)? {
                Answer::Said(reply) if reply.status == 413 => return self.halved(&waiting, body.len()),
                Answer::Said(reply) if reply.status == 200 => match self.read(&reply, &waiting, guarded)? {
                    Some(again) if again.is_empty() => return Ok(()),
                    Some(again) => {
                        waiting = again;
                        ("the server is busy".to_owned(), None)
                    }
                    None => ("the answer of the server cannot be read".to_owned(), None),
                },
                Answer::Said(reply) => return Err(refused(&reply)),
                Answer::TooLarge => ("the server answers with too much".to_owned(), None),
                Answer::Again { told, rest_ms } => (told, rest_ms),
            };
            for at in &waiting {
                self.outcomes[*at] = Outcome::Failed(Fault::passing(AWAY, told.clone()));
            }
            if !patience.wait(rest_ms) {
                return Ok(());
            }
        }
    }

    fn body(&self, waiting: &[usize], guarded: bool) -> Vec<u8> {
        // A removal alone would make an index that is not there: with an update beside it none is made, and this one finds nothing.
        let guard: &[u8] = if guarded { b"{\"update\":{\"_id\":\"#\"}}\n{\"doc\":{}}\n" } else { b"" };
        let mut body = guard.to_vec();
        for item in waiting.iter().map(|at| &self.items[*at]) {
            body.extend(head(item));
            if let Some(source) = &item.source {
                body.extend_from_slice(source);
                body.push(b'\n');
            }
        }
        body
    }

    /// The server takes less at once than it was asked to.
    fn halved(&mut self, waiting: &[usize], bytes: usize) -> Result<(), Fault> {
        if let [one] = waiting {
            self.outcomes[*one] = Outcome::Failed(too_large(bytes));
            return Ok(());
        }
        let (first, second) = waiting.split_at(waiting.len() / 2);
        self.settle(first.to_vec())?;
        self.settle(second.to_vec())
    }

    /// Takes the answers in: which entries the engine was too busy for; none where they cannot be read.
    fn read(&mut self, reply: &Reply, waiting: &[usize], guarded: bool) -> Result<Option<Vec<usize>>, Fault> {
        let Ok(answered) = serde_json::from_slice::<Answered>(&reply.body) else { return Ok(None) };
        let skipped = usize::from(guarded);
        if answered.items.len() != waiting.len() + skipped {
            return Ok(None);
        }
        let mut again = Vec::new();
        for (at, AnsweredItem { of }) in waiting.iter().zip(answered.items.into_iter().skip(skipped)) {
            let is_removed = self.items[*at].source.is_none();
            let is_done = of.error.is_none() && matches!(of.status, 200 | 201);
            // There was none to be removed.
            let is_missing = of.error.is_none() && of.status == 404 && is_removed;
            let said = of.error.unwrap_or_default();
            if let Some(lost) = said.lost() {
                return Err(lost);
            }
            self.outcomes[*at] = match of.status {
                _ if is_done || is_missing => Outcome::Done,
                409 => Outcome::Newer,
                401 | 403 if !said.passes(of.status) => return Err(not_allowed(&said)),
                status if said.passes(status) => {
                    again.push(*at);
                    Outcome::Failed(Fault::passing(AWAY, said.sentence()))
                }
                _ => Outcome::Failed(Fault::refused(
                    "entry_refused",
                    format!("the search engine does not take it: {}", said.sentence()),
                )),
            };
        }
        Ok(Some(again))
    }
}

#[cfg(test)]
mod tests {
    use ingather_contract::call::Cancel;

    use super::*;
    use crate::opensearch::settings;

    #[test]
    fn an_entry_is_done_without_an_error_and_with_the_status_of_what_was_asked() {
        let meant = settings::read(&json!({"url": "http://127.0.0.1:9", "index": "docs"})).unwrap();
        let (server, cancel) = (Server::new(&meant).unwrap(), Cancel::default());
        let source = || Some(b"{}".to_vec());
        let items = [source(), source(), source(), None, None].map(|source| Item {
            key: "k".to_owned(),
            seq: 1,
            source,
        });
        let error = json!({"type": "some_exception", "reason": "why"});
        let body = json!({"items": [
            {"index": {"status": 201}}, {"index": {"status": 200, "error": error}}, {"index": {"status": 404}},
            {"delete": {"status": 404}}, {"delete": {"status": 409, "error": error}},
        ]});
        let outcomes = vec![Outcome::Newer; items.len()];
        let waits = Waits::short(&cancel);
        let mut bulk = Bulk { server: &server, waits: &waits, path: String::new(), items: &items, outcomes };
        let reply = Reply { status: 200, body: body.to_string().into_bytes(), rest_ms: None };
        assert_eq!(bulk.read(&reply, &[0, 1, 2, 3, 4], false).unwrap(), Some(Vec::new()));
        let is_failed = |outcome: &Outcome| matches!(outcome, Outcome::Failed(Fault::Refused(_)));
        assert_eq!(
            bulk.outcomes.iter().map(is_failed).collect::<Vec<_>>(),
            [false, true, true, false, false]
        );
        assert_eq!([&bulk.outcomes[0], &bulk.outcomes[3]], [&Outcome::Done; 2]);
        assert_eq!(bulk.outcomes[4], Outcome::Newer);
    }
}
