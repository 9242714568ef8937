//! A query of a person beside a filter that rules what is found, whatever the query says.

use ingather_contract::access_filter::Reference;
use ingather_contract::call::CallContext;
use ingather_contract::output::{AskedResults, OutputContext};
use ingather_contract::search::{AskedEntry, AskedOutput, Hit, Snippet};
use ingather_model::document::component_of;
use ingather_model::fault::Fault;
use ingather_model::ids::{AclId, ContainerId, JobId};
use ingather_model::limits;
use serde::Deserialize;
use serde_json::{Value, json};

use super::index::{self, Index};
use super::server::{AWAY, Server, Waits};
use super::{Method, generation, settings};

/// Around what matched in a snippet: no text has these as it is read.
const MARKS: [char; 2] = ['\u{1}', '\u{2}'];
/// What is read of an entry; its text can be large.
const READ: [&str; 16] = [
    "id",
    "store",
    "address",
    "job",
    "job_name",
    "document",
    "seq",
    "acl",
    "container",
    "title",
    "path",
    "uri",
    "media_type",
    "language",
    "author",
    "size",
];

#[derive(Deserialize)]
struct Answered {
    timed_out: bool,
    _shards: Shards,
    hits: Hits,
}

#[derive(Deserialize)]
struct Shards {
    failed: u64,
}

#[derive(Deserialize)]
struct Hits {
    total: Total,
    hits: Vec<Found>,
}

#[derive(Deserialize)]
struct Total {
    value: usize,
}

#[derive(Deserialize)]
struct Found {
    #[serde(default)]
    _score: Option<f32>,
    _source: Entry,
    #[serde(default)]
    highlight: Highlight,
}

#[derive(Default, Deserialize)]
struct Highlight {
    #[serde(default)]
    body: Vec<String>,
}

#[derive(Deserialize)]
struct Entry {
    id: String,
    store: String,
    address: i64,
    job: i64,
    job_name: String,
    document: String,
    seq: i64,
    acl: Option<i64>,
    container: Option<i64>,
    title: String,
    path: String,
    uri: String,
    media_type: Option<String>,
    language: Option<String>,
    author: Option<String>,
    size: Option<i64>,
    modified: Option<i64>,
}

/// Asks the index; none where there is none of ours.
pub(super) fn ask(
    value: &Value,
    context: &OutputContext,
    call: &CallContext,
    asked: &AskedOutput<'_>,
) -> Result<Option<AskedResults>, Fault> {
    let meant = settings::read(value)?;
    let server = Server::new(&meant)?;
    let waits = Waits::short(&call.cancel);
    let described = index::usable(&server, &waits, &meant.index, &context.store)?;
    let Some(index) = described.and_then(|described| Index::of(&meant.index, described)) else {
        return Ok(None);
    };
    // By the name that has its identity in it: what took its place is not asked.
    let path = format!("/{}/_search", index.alias);
    let answer = |shows: bool| -> Result<Answered, Fault> {
        let body = query(asked, shows).to_string();
        let answered: Answered = server.json(&waits, Method::Post, &path, body.as_bytes())?;
        match answered.timed_out || answered._shards.failed > 0 {
            true => Err(Fault::passing(AWAY, "the server could not look at all of the index; ask again")),
            false => Ok(answered),
        }
    };
    // Some servers refuse to mark what matched in a very long text.
    let answered = answer(true).or_else(|_| answer(false))?;
    let hits = answered.hits.hits.into_iter().map(entry).collect();
    Ok(Some(AskedResults {
        stands: generation(&index, index.mark.seq),
        total: answered.hits.total.value,
        hits,
    }))
}

fn query(asked: &AskedOutput<'_>, shows: bool) -> Value {
    let what = match asked.query.trim() {
        "*" => json!({"match_all": {}}),
        words => json!({"simple_query_string": {
            "query": words, "fields": ["title^2", "body", "path.words", "author"], "default_operator": "and", "lenient": true,
        }}),
    };
    let mut body = json!({
        "from": asked.offset, "size": asked.limit, "track_total_hits": true,
        "query": {"bool": {"must": [what], "filter": [asked.filter]}},
        "sort": [{"_score": "desc"}, {"seq": "asc"}],
        "_source": READ.iter().chain(&["modified"]).collect::<Vec<_>>(),
    });
    if shows {
        let length = limits::OPENSEARCH_SNIPPET_CHARS;
        let of_body = json!({"fragment_size": length, "number_of_fragments": 1, "no_match_size": length});
        let [before, after] = MARKS.map(|mark| [mark.to_string()]);
        body["highlight"] = json!({"pre_tags": before, "post_tags": after, "fields": {"body": of_body}});
    }
    body
}

fn entry(Found { _score, _source: entry, highlight }: Found) -> AskedEntry {
    let inside = entry.id.strip_prefix(&entry.uri).filter(|rest| rest.starts_with('#'));
    let component = inside.and_then(component_of).map(|(_, name)| name).unwrap_or_default();
    let name = entry.path.rsplit('/').next().unwrap_or_default();
    let title = if entry.title.is_empty() { name.to_owned() } else { entry.title };
    AskedEntry {
        store: entry.store,
        seq: entry.seq,
        address: entry.address,
        reference: Reference {
            job: Some(JobId(entry.job)),
            acl_id: entry.acl.map(AclId),
            container: entry.container.map(ContainerId),
        },
        hit: Hit {
            job: entry.job,
            job_name: entry.job_name,
            document: entry.document,
            component,
            uri: entry.uri,
            link: None,
            title,
            score: _score.unwrap_or_default(),
            has_all_words: true,
            explanation: Vec::new(),
            copies: 0,
            copy_of: None,
            snippet: highlight.body.first().map(|marked| snippet(marked)).unwrap_or_default(),
            media_type: entry.media_type,
            language: entry.language,
            author: entry.author,
            modified: entry.modified,
            size: entry.size.and_then(|size| u64::try_from(size).ok()),
            path: entry.path,
        },
    }
}

/// A piece of a text on one line, with what was between marks.
fn snippet(marked: &str) -> Snippet {
    let (mut text, mut highlights, mut begun) = (String::with_capacity(marked.len()), Vec::new(), None);
    for c in marked.chars() {
        match c {
            _ if c == MARKS[0] => begun = Some(text.len()),
            _ if c == MARKS[1] => highlights.extend(begun.take().map(|begin| begin..text.len())),
            _ if c.is_whitespace() => text.push(' '),
            _ => text.push(c),
        }
    }
    Snippet { text, highlights }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_matched_is_told_by_its_bytes_and_the_filter_stands_beside_the_query() {
        let found = snippet("der \u{1}süße\u{2}\nBrei \u{1}süß\u{2}");
        assert_eq!(found.text, "der süße Brei süß");
        assert_eq!(found.marked("[", "]"), "der [süße] Brei [süß]");
        let filter = json!({"terms": {"acl": [1]}});
        let asked = AskedOutput { query: "a | -b", filter: &filter, limit: 3, offset: 6 };
        let body = query(&asked, true);
        assert_eq!(body["query"]["bool"]["filter"], json!([filter]));
        assert_eq!(body["query"]["bool"]["must"][0]["simple_query_string"]["query"], "a | -b");
        assert_eq!((&body["from"], &body["size"]), (&json!(6), &json!(3)));
        let all = query(&AskedOutput { query: " * ", ..asked }, false);
        assert_eq!(all["query"]["bool"]["must"][0], json!({"match_all": {}}));
        assert!(all.get("highlight").is_none());
    }
}
