//! Searching from outside: what is put is found, by those who may see it.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use ingather_contract::access_filter::{AccessFilter, Admitting, PendingContainers, Reference};

use ingather_contract::call::{CallContext, Cancel, Clock};
use ingather_contract::output::{Change, Generation, Op, Output as _, OutputContext, OutputEntry};
use ingather_contract::search::{Facet, Hit, SearchRequest, SearchResults, Sort};
use ingather_model::document::Record;
use ingather_model::fault::Fault;
use ingather_model::ids::{AclId, ContainerId, Digest};
use ingather_model::limits;
use tempfile::TempDir;

use crate::*;

mod asking;
mod compounds;
mod formats;
mod hidden;
mod ranking;
mod scripts;
mod writing;

struct Still;

impl Clock for Still {
    fn now(&self) -> i64 {
        0
    }
}

pub(crate) fn call() -> CallContext {
    CallContext { clock: Arc::new(Still), cancel: Cancel::default() }
}

pub(crate) fn open(data: &Path) -> Result<Opened, Fault> {
    open_for(data, "store-1")
}

pub(crate) fn open_for(data: &Path, store: &str) -> Result<Opened, Fault> {
    let settings = Settings { memory_mib: 32, threads: 1 };
    Opened::open(&settings, &OutputContext { data: data.to_owned(), store: store.to_owned(), session: 1 })
}

pub(crate) fn change(id: &str, seq: i64, op: Op) -> Change {
    let address = i64::from_le_bytes(blake3::hash(id.as_bytes()).as_bytes()[..8].try_into().unwrap());
    let document = id.rsplit('/').next().unwrap_or(id).to_owned();
    Change { id: id.to_owned(), address, job: 1, job_name: "docs".into(), document, seq, op }
}

pub(crate) fn put_as(id: &str, seq: i64, access: (Option<i64>, Option<i64>), record: Record) -> Change {
    let record = Record { uri: id.split('#').next().unwrap_or(id).to_owned(), ..record };
    let (acl_id, container) = (access.0.map(AclId), access.1.map(ContainerId));
    change(id, seq, Op::Put { record: Arc::new(record), version: Digest(seq), acl_id, container })
}

pub(crate) fn text(body: &str) -> Record {
    Record { body: Some(body.to_owned()), ..Record::default() }
}

pub(crate) fn put(id: &str, seq: i64, body: &str) -> Change {
    put_as(id, seq, (Some(1), Some(1)), text(body))
}

pub(crate) fn access(id: &str, seq: i64, acl_id: i64) -> Change {
    change(
        id,
        seq,
        Op::Access { version: None, acl_id: Some(AclId(acl_id)), container: Some(ContainerId(1)) },
    )
}

pub(crate) fn apply(index: &mut Opened, batch: &[Change]) {
    let answers = index.apply(&call(), batch);
    assert_eq!(answers, vec![Ok(()); batch.len()]);
}

pub(crate) fn filled(batch: &[Change]) -> (TempDir, Opened) {
    let data = TempDir::new().unwrap();
    let mut index = open(data.path()).unwrap();
    apply(&mut index, batch);
    index.commit(&call()).unwrap();
    (data, index)
}

pub(crate) fn request(query: &str, access_filter: AccessFilter) -> SearchRequest<'_> {
    SearchRequest { limit: 100, facets: true, ..SearchRequest::new(query, Arc::new(access_filter)) }
}

pub(crate) fn results(data: &Path, request: &SearchRequest<'_>) -> SearchResults {
    Searcher::open(data, "store-1").unwrap().unwrap().search(request).unwrap()
}

/// Names of the documents that a query finds, in alphabetical order.
pub(crate) fn found(data: &Path, query: &str) -> Vec<String> {
    names(&results(data, &request(query, AccessFilter::All)))
}

pub(crate) fn names(results: &SearchResults) -> Vec<String> {
    let mut names: Vec<String> = results.hits.iter().map(|hit| hit.document.clone()).collect();
    names.sort();
    names
}

fn admitting(admitting: Admitting) -> AccessFilter {
    AccessFilter::Only { admitting: Arc::new(admitting), pending: HashMap::new() }
}

pub(crate) fn only(acl_ids: &[i64], containers: &[i64]) -> AccessFilter {
    let (acl_ids, containers) = (acl_ids.iter().copied().collect(), containers.iter().copied().collect());
    admitting(Admitting { acl_ids, containers, pending_containers: PendingContainers::default() })
}

#[test]
fn what_is_put_is_found_with_everything_that_was_told_of_it() {
    let record = Record {
        title: "Annual report".into(),
        path: "finance/Report 2024.PDF".into(),
        body: Some("Revenue went up.\nCosts, too.".into()),
        media_type: Some("application/pdf".into()),
        size: Some(12_000),
        modified: Some(1_709_164_800_000),
        author: Some("Grace Hopper".into()),
        fields: [("Dc.Subject".to_owned(), vec!["Money matters".to_owned(), "x".to_owned()])].into(),
        ..Record::default()
    };
    let id = "file:///srv/finance/Report%202024.PDF";
    let part = format!("{id}#page-2");
    let (data, _index) = filled(&[
        put_as(id, 1, (Some(1), Some(1)), record),
        put(&part, 2, "Another page"),
        put("file:///b", 3, "x"),
    ]);
    let results = results(data.path(), &request("revenue", AccessFilter::All));
    let [hit] = results.hits.as_slice() else { panic!("{results:?}") };
    assert_eq!((hit.uri.as_str(), hit.component.as_str(), hit.job), (id, "", 1));
    assert_eq!((hit.title.as_str(), hit.job_name.as_str()), ("Annual report", "docs"));
    assert_eq!((hit.size, hit.modified), (Some(12_000), Some(1_709_164_800_000)));
    assert_eq!(hit.snippet.marked("[", "]"), "[Revenue] went up. Costs, too.");
    let page = found(data.path(), "page-2 OR another");
    assert_eq!(page, ["Report%202024.PDF#page-2"]);
    for query in [
        "title:report",
        "\"went up\"",
        "reven*",
        "author:hopper",
        "author:\"grace hopper\"",
        "ext:pdf",
        "ext:.PDF",
        "type:pdf",
        "type:application",
        "name:2024",
        "path:finance",
        "path:\"finance report\"",
        "type:application/pdf",
        "type:app*",
        "meta.dc.subject:money",
        "meta.Dc.Subject:\"money matters\"",
        "meta.dc.subject:mat*",
        "size:>11kb",
        "size:11k..1m",
        "modified:2024-02-29",
        "modified:>=2024-02 modified:<2024-03",
        "revenue -missing",
        "revenue missing",
        "costs NOT missing",
        "(missing OR revenue) costs",
        "report",
        "rev* cost*",
        "\"costs t\"*",
    ] {
        assert_eq!(found(data.path(), query), ["Report%202024.PDF"], "{query}");
    }
    for query in
        ["\"up went\"", "revenue -costs", "size:>12kb", "modified:2023", "ext:doc", "meta.other:money", "..."]
    {
        assert_eq!(found(data.path(), query), Vec::<String>::new(), "{query}");
    }
    assert_eq!(found(data.path(), &format!("uri:{id}")).len(), 2, "a document and its component");
    assert_eq!(found(data.path(), "uri:file:///srv/*").len(), 2);
    assert_eq!(found(data.path(), "*").len(), 3);
    assert_eq!(found(data.path(), "-revenue").len(), 2);
}

#[test]
fn words_are_found_by_their_stems_in_every_language() {
    let (data, _index) = filled(&[
        put(
            "d/en",
            1,
            "The athletes run every morning because they like it when the sun comes up over the hills.",
        ),
        put(
            "d/de",
            2,
            "In dieser Straße stehen viele alte Häuser, und die Nachbarn kennen sich seit Jahren sehr gut.",
        ),
        put(
            "d/fr",
            3,
            "Les étudiantes travaillent beaucoup pendant la semaine et elles se reposent le dimanche matin.",
        ),
        put(
            "d/es",
            4,
            "Los niños cantaban canciones alegres mientras sus padres preparaban la cena en la cocina.",
        ),
        put("d/ja", 5, "東京都は日本の首都であり、世界最大の都市の一つです。"),
        put("d/zh", 6, "北京是中华人民共和国的首都，也是政治中心。"),
        put("d/ko", 7, "서울은 대한민국의 수도이며 가장 큰 도시이다."),
    ]);
    let cases = [
        ("running", "en"),
        ("Haus", "de"),
        ("hauser", "de"),
        ("strasse", "de"),
        ("étudiante", "fr"),
        ("etudiantes", "fr"),
        ("dimanches", "fr"),
        ("canción", "es"),
        ("cantando", "es"),
        ("東京", "ja"),
        ("東京都", "ja"),
        ("中华人民共和国", "zh"),
        ("서울", "ko"),
        ("lang:de", "de"),
        ("lang:zh", "zh"),
        ("\"athletes run\"", "en"),
        ("\"alte haus\"", "de"),
        ("世", "ja"),
        ("です", "ja"),
    ];
    for (query, name) in cases {
        assert_eq!(found(data.path(), query), [name], "{query}");
    }
    assert_eq!(found(data.path(), "首都"), ["ja", "zh"]);
    assert_eq!(found(data.path(), "京東"), Vec::<String>::new(), "order of characters counts");
}

#[test]
fn nobody_finds_what_they_may_not_see() {
    let (data, _index) = filled(&[
        put_as("d/open", 1, (Some(1), Some(1)), text("secret word")),
        put_as("d/class", 2, (Some(2), Some(1)), text("secret word")),
        put_as("d/place", 3, (Some(1), Some(2)), text("secret")),
        put_as("d/no-class", 4, (None, Some(1)), text("secret")),
        put_as("d/no-place", 5, (Some(1), None), text("secret")),
        put_as("d/neither", 6, (None, None), text("secret")),
    ]);
    let see = |query: &str, access_filter: AccessFilter| {
        let results = results(data.path(), &request(query, access_filter));
        assert_eq!(results.total, results.hits.len(), "counts are filtered like hits");
        let facets = results.facets.clone().unwrap();
        assert_eq!(facets.media_types.iter().map(|facet| facet.count).sum::<usize>(), results.total);
        names(&results)
    };
    for query in ["secret", "*", "secret OR word", "-missing", "secr*", "\"secret word\" OR secret"] {
        assert_eq!(see(query, only(&[1], &[1])), ["open"], "{query}");
        assert_eq!(see(query, only(&[1, 2], &[1])), ["class", "open"], "{query}");
        assert_eq!(see(query, only(&[], &[])), Vec::<String>::new(), "{query}");
        assert_eq!(see(query, only(&[1, 2, 3], &[1, 2, 3])), ["class", "open", "place"], "{query}");
        assert_eq!(see(query, AccessFilter::All).len(), 6, "{query}");
    }
}

#[test]
fn an_access_change_on_its_way_already_counts() {
    let (data, _index) = filled(&[put("d/a", 1, "word"), put("d/b", 2, "word")]);
    let see = |acl_id: Option<i64>| {
        let address = change("d/a", 1, Op::Delete).address;
        let container = Some(ContainerId(1));
        let new = Reference { job: None, acl_id: acl_id.map(AclId), container };
        let access_filter = AccessFilter::Only {
            admitting: Arc::new(Admitting {
                acl_ids: [1].into_iter().collect(),
                containers: [1].into_iter().collect(),
                pending_containers: PendingContainers::default(),
            }),
            pending: HashMap::from([(address, vec![new])]),
        };
        names(&results(data.path(), &request("word", access_filter)))
    };
    assert_eq!(see(Some(1)), ["a", "b"]);
    assert_eq!(see(Some(2)), ["b"], "the new acl does not admit");
    assert_eq!(see(None), ["b"]);
}

#[test]
fn an_entry_is_open_for_whose_reading_it_is() {
    let by = |job: i64, change: Change| Change { job, job_name: format!("job {job}").into(), ..change };
    let (data, mut index) =
        filled(&[by(1, put("d/a", 1, "word")), by(2, put("d/b", 2, "word")), by(3, put("d/c", 3, "word"))]);
    let see = || {
        let pending_containers = PendingContainers {
            jobs: [1, 2].into_iter().collect(),
            closed: HashMap::from([(1, [1].into_iter().collect()), (0, [1].into_iter().collect())]),
        };
        let (acl_ids, containers) = ([1].into_iter().collect(), [1].into_iter().collect());
        let access_filter = admitting(Admitting { acl_ids, containers, pending_containers });
        let found = results(data.path(), &request("word", access_filter));
        (names(&found), found.hits.iter().map(|hit| hit.job).collect::<Vec<i64>>())
    };
    assert_eq!(see().0, ["b"], "job 1 has not looked since the folder opened, job 3 is gone");
    // Another job takes the entry over by a change of access, without its text.
    let op = Op::Access { version: None, acl_id: Some(AclId(1)), container: Some(ContainerId(1)) };
    let taken = Change { document: "its name".into(), ..by(2, change("d/a", 4, op)) };
    assert_eq!(index.apply(&call(), &[taken]), [Ok(())]);
    index.commit(&call()).unwrap();
    assert_eq!(see(), (vec!["b".to_owned(), "its name".to_owned()], vec![2, 2]));
}

#[test]
fn pages_hold_only_what_may_be_seen_and_join_without_gaps() {
    let batch: Vec<Change> = (0..300)
        .map(|n| {
            put_as(&format!("d/{n:03}"), n, (Some(n % 3), Some(1)), text(&"word ".repeat(1 + n as usize % 7)))
        })
        .collect();
    let (data, _index) = filled(&batch);
    let mut met = Vec::new();
    for page in 0..11 {
        let request = SearchRequest { limit: 10, offset: page * 10, ..request("word", only(&[1], &[1])) };
        let results = results(data.path(), &request);
        assert_eq!(results.total, 100);
        met.extend(results.hits.into_iter().map(|hit| hit.document));
    }
    met.sort();
    assert_eq!(met, (0..300).filter(|n| n % 3 == 1).map(|n| format!("{n:03}")).collect::<Vec<_>>());
}

#[test]
fn hits_are_sorted_counted_and_kept_to_a_job() {
    let entry = |id: &str, job: i64, modified: Option<i64>, media_type: &str| {
        let record = Record { modified, media_type: Some(media_type.to_owned()), ..text("word") };
        Change { job, ..put_as(id, job, (Some(1), Some(1)), record) }
    };
    let (data, _index) = filled(&[
        entry("d/a", 1, Some(-5), "text/plain"),
        entry("d/b", 2, Some(20), "text/html"),
        entry("d/c", 2, Some(10), "text/plain"),
        entry("d/d", 2, None, "text/plain"),
    ]);
    let order = |sort: &str| -> String {
        let request = SearchRequest { sort: Sort::read(sort).unwrap(), ..request("word", AccessFilter::All) };
        results(data.path(), &request).hits.iter().map(|hit| hit.document.as_str()).collect()
    };
    assert_eq!(order("modified"), "bcad");
    assert_eq!(order("+modified"), "acbd");
    assert_eq!(order("size").len(), 4, "a number that no entry has orders nothing and loses nothing");
    assert!(Sort::read("colour").unwrap_err().to_string().contains("cannot sort by `colour`"));
    let facets = results(data.path(), &request("word", AccessFilter::All)).facets.unwrap();
    let expected =
        [("text/plain", 3), ("text/html", 1)].map(|(value, count)| Facet { value: value.to_owned(), count });
    assert_eq!(facets.media_types, expected);
    assert_eq!(facets.jobs, [Facet { value: 2, count: 3 }, Facet { value: 1, count: 1 }]);
}

#[test]
fn a_search_sees_commits_while_the_writer_works() {
    let data = TempDir::new().unwrap();
    assert!(Searcher::open(data.path(), "store-1").unwrap().is_none());
    let mut index = open(data.path()).unwrap();
    let searcher = Searcher::open(data.path(), "store-1").unwrap().unwrap();
    apply(
        &mut index,
        &[put("d/a", 1, "The houses were built many years ago by people who lived in the village.")],
    );
    let total = |searcher: &Searcher| searcher.search(&request("house", AccessFilter::All)).unwrap().total;
    assert!(total(&searcher) == 0 && searcher.is_current());
    let generation = index.commit(&call()).unwrap();
    assert!(total(&searcher) == 0 && !searcher.is_current());
    let searcher = Searcher::open(data.path(), "store-1").unwrap().unwrap();
    assert_eq!((total(&searcher), searcher.identity_and_generation()), (1, generation));
    assert!(searcher.is_current());
    std::fs::remove_dir_all(data.path().join("index")).unwrap();
    assert!(!searcher.is_current(), "the index is gone");
}

#[test]
fn a_query_that_cannot_be_understood_is_refused() {
    let (data, _index) = filled(&[put("d/a", 1, "x")]);
    let searcher = Searcher::open(data.path(), "store-1").unwrap().unwrap();
    let refused = searcher.search(&request("x OR", AccessFilter::All)).unwrap_err();
    assert_eq!(refused.reason().code, "query");
    let far = SearchRequest { offset: usize::MAX, ..request("*", AccessFilter::All) };
    assert_eq!(searcher.search(&far).unwrap_err().reason().code, "query");
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]
    #[test]
    fn every_query_is_answered_or_refused_with_a_sentence(query in "\\PC{0,24}|[a-z東\"*():<>. -]{0,24}") {
        static INDEX: std::sync::OnceLock<(TempDir, std::sync::Mutex<Searcher>)> = std::sync::OnceLock::new();
        let (_, searcher) = INDEX.get_or_init(|| {
            let (data, _index) = filled(&[put("d/a", 1, "a b c 東京")]);
            let searcher = Searcher::open(data.path(), "store-1").unwrap().unwrap();
            (data, std::sync::Mutex::new(searcher))
        });
        if let Err(fault) = searcher.lock().unwrap().search(&request(&query, AccessFilter::All)) {
            assert_eq!(fault.reason().code, "query", "{query}: {fault}");
        }
    }
}
