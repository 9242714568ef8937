//! The index from outside: what is put is found, by those who may see it, and survives what a disk survives.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use ingather_connector::call::{Call, Cancel, Clock};
use ingather_connector::model::document::Record;
use ingather_connector::model::ids::{ClassId, Digest, PlaceId};
use ingather_connector::permitted::Permitted;
use tempfile::TempDir;

use super::*;

struct Still;

impl Clock for Still {
    fn now(&self) -> i64 {
        0
    }
}

pub(super) fn call() -> Call {
    Call { clock: Arc::new(Still), cancel: Cancel::default() }
}

pub(super) fn open(data: &Path) -> Result<Opened, Fault> {
    open_for(data, "store-1")
}

fn open_for(data: &Path, store: &str) -> Result<Opened, Fault> {
    let settings = Settings { memory_mib: 32, threads: 1 };
    Opened::open(&settings, &OutputPlace { data: data.to_owned(), store: store.to_owned() })
}

pub(super) fn change(id: &str, seq: i64, op: Op) -> Change {
    let address = i64::from_le_bytes(blake3::hash(id.as_bytes()).as_bytes()[..8].try_into().unwrap());
    let document = id.rsplit('/').next().unwrap_or(id).to_owned();
    Change { id: id.to_owned(), address, job: 1, job_name: "docs".into(), document, seq, op }
}

pub(super) fn put_as(id: &str, seq: i64, access: (Option<i64>, Option<i64>), record: Record) -> Change {
    let record = Record { uri: id.split('#').next().unwrap_or(id).to_owned(), ..record };
    let (class, place) = (access.0.map(ClassId), access.1.map(PlaceId));
    change(id, seq, Op::Put { record: Box::new(record), version: Digest(seq), class, place })
}

pub(super) fn text(body: &str) -> Record {
    Record { body: Some(body.to_owned()), ..Record::default() }
}

pub(super) fn put(id: &str, seq: i64, body: &str) -> Change {
    put_as(id, seq, (Some(1), Some(1)), text(body))
}

fn access(id: &str, seq: i64, class: i64) -> Change {
    change(id, seq, Op::Access { class: Some(ClassId(class)), place: Some(PlaceId(1)) })
}

pub(super) fn apply(index: &mut Opened, batch: &[Change]) {
    let answers = index.apply(&call(), batch);
    assert_eq!(answers, vec![Ok(()); batch.len()]);
}

pub(super) fn filled(batch: &[Change]) -> (TempDir, Opened) {
    let data = TempDir::new().unwrap();
    let mut index = open(data.path()).unwrap();
    apply(&mut index, batch);
    index.commit(&call()).unwrap();
    (data, index)
}

pub(super) fn request(query: &str, permitted: Permitted) -> SearchRequest<'_> {
    let permitted = Arc::new(permitted);
    SearchRequest { query, permitted, limit: 100, offset: 0, sort: None, facets: true, job: None }
}

pub(super) fn results(data: &Path, request: &SearchRequest<'_>) -> SearchResults {
    Searcher::open(data).unwrap().unwrap().search(request).unwrap()
}

/// Names of the documents that a query finds, in alphabetical order.
pub(super) fn found(data: &Path, query: &str) -> Vec<String> {
    names(&results(data, &request(query, Permitted::All)))
}

fn names(results: &SearchResults) -> Vec<String> {
    let mut names: Vec<String> = results.hits.iter().map(|hit| hit.document.clone()).collect();
    names.sort();
    names
}

fn only(classes: &[i64], places: &[i64]) -> Permitted {
    let (classes, places) = (classes.iter().copied().collect(), places.iter().copied().collect());
    Permitted::Only { classes, places, pending: HashMap::new() }
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
    let results = results(data.path(), &request("revenue", Permitted::All));
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
    let see = |query: &str, permitted: Permitted| {
        let results = results(data.path(), &request(query, permitted));
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
        assert_eq!(see(query, Permitted::All).len(), 6, "{query}");
    }
}

#[test]
fn an_access_change_on_its_way_already_counts() {
    let (data, _index) = filled(&[put("d/a", 1, "word"), put("d/b", 2, "word")]);
    let see = |class: Option<i64>| {
        let address = change("d/a", 1, Op::Delete).address;
        let pending = HashMap::from([(address, vec![(class.map(ClassId), Some(PlaceId(1)))])]);
        let (classes, places) = ([1].into_iter().collect(), [1].into_iter().collect());
        names(&results(data.path(), &request("word", Permitted::Only { classes, places, pending })))
    };
    assert_eq!(see(Some(1)), ["a", "b"]);
    assert_eq!(see(Some(2)), ["b"], "the new class does not admit");
    assert_eq!(see(None), ["b"]);
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
        let request = SearchRequest { sort: Sort::read(sort).unwrap(), ..request("word", Permitted::All) };
        results(data.path(), &request).hits.iter().map(|hit| hit.document.as_str()).collect()
    };
    assert_eq!(order("modified"), "bcad");
    assert_eq!(order("+modified"), "acbd");
    assert_eq!(order("size").len(), 4, "a number that no entry has orders nothing and loses nothing");
    assert!(Sort::read("colour").unwrap_err().to_string().contains("cannot sort by `colour`"));
    let facets = results(data.path(), &request("word", Permitted::All)).facets.unwrap();
    let expected =
        [("text/plain", 3), ("text/html", 1)].map(|(value, count)| Facet { value: value.to_owned(), count });
    assert_eq!(facets.media_types, expected);
    assert_eq!(facets.jobs, [Facet { value: 2, count: 3 }, Facet { value: 1, count: 1 }]);
    let of_job = SearchRequest { job: Some(2), ..request("word", Permitted::All) };
    assert_eq!(names(&results(data.path(), &of_job)), ["b", "c", "d"]);
}

#[test]
fn a_put_replaces_and_a_delete_removes() {
    let (data, mut index) = filled(&[put("d/a", 1, "first"), put("d/b", 2, "first")]);
    apply(&mut index, &[put("d/a", 3, "second"), put("d/a", 4, "third"), change("d/b", 5, Op::Delete)]);
    apply(
        &mut index,
        &[change("d/never", 6, Op::Delete), put("d/c", 7, "third"), change("d/c", 8, Op::Delete)],
    );
    index.commit(&call()).unwrap();
    assert_eq!(found(data.path(), "*"), ["a"]);
    assert_eq!(found(data.path(), "third"), ["a"]);
}

#[test]
fn the_newest_change_wins() {
    let (data, mut index) = filled(&[put("d/a", 10, "new")]);
    apply(&mut index, &[put("d/a", 9, "old"), change("d/a", 8, Op::Delete), access("d/a", 7, 2)]);
    apply(&mut index, &[put("d/b", 5, "new"), put("d/b", 4, "old")]);
    index.commit(&call()).unwrap();
    assert_eq!(found(data.path(), "new"), ["a", "b"]);
    assert_eq!(index.list(&call(), None, 1).unwrap()[0].class, Some(ClassId(1)));
}

#[test]
fn an_access_change_keeps_text_and_fields() {
    let full = Record {
        title: "Houses".into(),
        modified: Some(5),
        ..text("In dieser Straße stehen viele alte Häuser, und die Nachbarn kennen sich seit Jahren.")
    };
    let (data, mut index) = filled(&[put_as("d/a", 1, (Some(1), Some(1)), full)]);
    let unscored = |permitted| {
        let hits = results(data.path(), &request("haus", permitted)).hits;
        hits.into_iter().map(|hit| Hit { score: 0.0, ..hit }).collect::<Vec<_>>()
    };
    let before = unscored(Permitted::All);
    apply(&mut index, &[access("d/a", 2, 7)]);
    apply(&mut index, &[access("d/a", 3, 8)]);
    index.commit(&call()).unwrap();
    assert_eq!(before.len(), 1);
    assert_eq!(unscored(only(&[8], &[1])), before);
    assert_eq!(results(data.path(), &request("haus", only(&[1, 7], &[1]))).total, 0);
    let held = index.list(&call(), None, 9).unwrap();
    let expected =
        Held { id: "d/a".into(), version: Digest(1), class: Some(ClassId(8)), place: Some(PlaceId(1)) };
    assert_eq!(held, [expected]);
}

#[test]
fn an_access_change_sees_what_is_not_committed_yet() {
    let data = TempDir::new().unwrap();
    let mut index = open(data.path()).unwrap();
    apply(&mut index, &[put("d/a", 1, "one"), put("d/b", 2, "two"), access("d/a", 3, 5)]);
    apply(&mut index, &[access("d/b", 4, 6), access("d/a", 5, 7)]);
    assert_eq!(index.generation().number, 0, "what was written out in between is not a commit");
    let gone =
        index.apply(&call(), &[change("d/b", 6, Op::Delete), access("d/b", 7, 1), access("d/x", 8, 1)]);
    assert_eq!(gone, [Ok(()), Err(Fault::Gone), Err(Fault::Gone)]);
    assert_eq!(index.commit(&call()).unwrap().number, 1);
    let held = index.list(&call(), None, 9).unwrap();
    assert_eq!(
        held.iter().map(|held| (held.id.as_str(), held.class)).collect::<Vec<_>>(),
        [("d/a", Some(ClassId(7)))]
    );
    assert_eq!(found(data.path(), "one"), ["a"]);
}

#[test]
fn only_commits_survive() {
    let (data, mut index) = filled(&[put("d/a", 1, "kept")]);
    let generation = index.generation();
    assert_eq!(generation.number, 1);
    apply(&mut index, &[put("d/b", 2, "lost"), change("d/a", 3, Op::Delete)]);
    drop(index);
    let mut index = open(data.path()).unwrap();
    assert_eq!(index.generation(), generation);
    assert_eq!(found(data.path(), "*"), ["a"]);
    apply(&mut index, &[put("d/b", 4, "again")]);
    assert_eq!(index.commit(&call()).unwrap(), Generation { number: 2, ..generation });
    assert_eq!(found(data.path(), "*"), ["a", "b"]);
}

#[test]
fn entries_are_listed_in_the_order_of_their_ids() {
    let data = TempDir::new().unwrap();
    let mut index = open(data.path()).unwrap();
    let mut ids: Vec<String> = (0..50).map(|n| format!("d/{}", (n * 37) % 50)).collect();
    for (seq, id) in ids.iter().enumerate() {
        apply(&mut index, &[put(id, seq as i64, "x")]);
        if seq % 9 == 0 {
            index.commit(&call()).unwrap();
        }
    }
    apply(&mut index, &[change("d/7", 99, Op::Delete), put("d/8", 100, "y")]);
    index.commit(&call()).unwrap();
    ids.retain(|id| id != "d/7");
    ids.sort();
    let mut listed: Vec<String> = Vec::new();
    loop {
        let page = index.list(&call(), listed.last().map(String::as_str), 6).unwrap();
        if page.is_empty() {
            break;
        }
        listed.extend(page.into_iter().map(|held| held.id));
    }
    assert_eq!(listed, ids);
}

#[test]
fn a_search_sees_commits_while_the_writer_works() {
    let data = TempDir::new().unwrap();
    assert!(Searcher::open(data.path()).unwrap().is_none());
    let mut index = open(data.path()).unwrap();
    let mut searcher = Searcher::open(data.path()).unwrap().unwrap();
    apply(
        &mut index,
        &[put("d/a", 1, "The houses were built many years ago by people who lived in the village.")],
    );
    let total = |searcher: &Searcher| searcher.search(&request("house", Permitted::All)).unwrap().total;
    assert_eq!(total(&searcher), 0);
    let generation = index.commit(&call()).unwrap();
    searcher.reload().unwrap();
    assert_eq!((total(&searcher), searcher.identity_and_generation()), (1, generation));
}

#[test]
fn a_foreign_a_locked_and_a_damaged_index_are_refused_with_what_to_do() {
    let (data, index) = filled(&[put("d/a", 1, "x")]);
    let code = |opened: Result<Opened, Fault>| opened.err().map(|fault| fault.reason());
    let locked = code(open(data.path())).unwrap();
    assert_eq!(locked.code, "index_locked");
    drop(index);
    let foreign = code(open_for(data.path(), "store-2")).unwrap();
    assert_eq!(foreign.code, "foreign_index");
    std::fs::write(data.path().join("index/meta.json"), "{").unwrap();
    let damaged = code(open(data.path())).unwrap();
    assert_eq!(damaged.code, "index_damaged");
    assert!(damaged.message.contains("delete that directory"), "{}", damaged.message);
    assert!(matches!(Searcher::open(data.path()), Err(Fault::Broken(_))));
}

#[cfg(unix)]
#[test]
fn the_directory_is_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let (data, _index) = filled(&[]);
    assert_eq!(data.path().join("index").metadata().unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn a_query_that_cannot_be_understood_is_refused() {
    let (data, _index) = filled(&[put("d/a", 1, "x")]);
    let searcher = Searcher::open(data.path()).unwrap().unwrap();
    let refused = searcher.search(&request("title:", Permitted::All)).unwrap_err();
    assert_eq!(refused.reason().code, "query");
    let far = SearchRequest { offset: usize::MAX, ..request("*", Permitted::All) };
    assert_eq!(searcher.search(&far).unwrap_err().reason().code, "query");
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]
    #[test]
    fn every_query_is_answered_or_refused_with_a_sentence(query in "\\PC{0,24}|[a-z東\"*():<>. -]{0,24}") {
        static INDEX: std::sync::OnceLock<(TempDir, std::sync::Mutex<Searcher>)> = std::sync::OnceLock::new();
        let (_, searcher) = INDEX.get_or_init(|| {
            let (data, _index) = filled(&[put("d/a", 1, "a b c 東京")]);
            let searcher = Searcher::open(data.path()).unwrap().unwrap();
            (data, std::sync::Mutex::new(searcher))
        });
        if let Err(fault) = searcher.lock().unwrap().search(&request(&query, Permitted::All)) {
            assert_eq!(fault.reason().code, "query", "{query}: {fault}");
        }
    }
}

/// An index as a program of an earlier format left it: fewer fields, an older number, another order of fields.
fn written_by_an_older_program(data: &Path) -> Generation {
    let payload = home::Payload { format: schema::FORMAT - 1, number: 41, ..home::Payload::new("store-1") };
    let mut builder = tantivy::schema::Schema::builder();
    let kept = builder.add_bytes_field("kept", tantivy::schema::STORED);
    let body = builder.add_text_field("body", tantivy::schema::STORED);
    let id = builder.add_text_field("id", tantivy::schema::STRING);
    let columns = ["address", "class", "place", "version", "seq", "job"]
        .map(|name| builder.add_i64_field(name, tantivy::schema::FAST));
    let index = Home::of(data).create(&data.join("index"), builder.build(), &payload).unwrap();
    let mut writer: IndexWriter = index.writer_with_num_threads(1, 15_000_000).unwrap();
    for (seq, name) in ["a", "b", "gone"].into_iter().enumerate() {
        let change = put(&format!("d/{name}"), seq as i64, "");
        let record = Record { uri: change.id.clone(), title: "Old title".into(), ..Record::default() };
        let mut document = tantivy::TantivyDocument::new();
        document.add_text(id, &change.id);
        document.add_bytes(kept, &serde_json::to_vec(&Kept::of(&change, &record, Some("en"))).unwrap());
        document.add_text(body, entry::marked(Tongue::of_code("en"), "He likes running"));
        for (column, number) in columns.into_iter().zip([change.address, 1, 2, 77, change.seq, 3]) {
            document.add_i64(column, number);
        }
        writer.add_document(document).unwrap();
    }
    writer.commit().unwrap();
    writer.delete_term(Term::from_field_text(id, "d/gone"));
    let mut commit = writer.prepare_commit().unwrap();
    commit.set_payload(&payload.text());
    commit.commit().unwrap();
    payload.generation()
}

#[test]
fn an_index_of_an_older_format_rebuilds_itself_from_what_it_keeps() {
    let data = TempDir::new().unwrap();
    let generation = written_by_an_older_program(data.path());
    let older = Searcher::open(data.path()).err().unwrap();
    assert_eq!(older.reason().code, "index_older");
    let mut index = open(data.path()).unwrap();
    assert_eq!(index.generation(), generation, "what was confirmed stays confirmed");
    assert_eq!(found(data.path(), "run title:old"), ["a", "b"]);
    assert_eq!(results(data.path(), &request("run", only(&[1], &[2]))).total, 2);
    let held = index.list(&call(), None, 9).unwrap();
    assert_eq!(held.iter().map(|held| held.version).collect::<Vec<_>>(), [Digest(77), Digest(77)]);
    apply(&mut index, &[put("d/a", 9, "new")]);
    assert_eq!(index.commit(&call()).unwrap().number, 42);
    assert_eq!(found(data.path(), "run"), ["b"]);
    let left: Vec<_> =
        std::fs::read_dir(data.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["index"], "nothing is left of the old one");
}

#[test]
fn an_interrupted_rebuild_or_swap_loses_nothing() {
    let data = TempDir::new().unwrap();
    let generation = written_by_an_older_program(data.path());
    let dir = |name: &str| data.path().join(name);
    std::fs::create_dir(dir("index.new")).unwrap();
    std::fs::write(dir("index.new/half"), "x").unwrap();
    assert_eq!(open(data.path()).unwrap().generation(), generation, "a half-built one is thrown away");
    // Killed after the first of the two renames.
    std::fs::rename(dir("index"), dir("index.new")).unwrap();
    std::fs::create_dir(dir("index.old")).unwrap();
    assert_eq!(open(data.path()).unwrap().generation(), generation);
    assert_eq!(found(data.path(), "run"), ["a", "b"]);
    assert!(!dir("index.old").exists() && !dir("index.new").exists());
}

#[test]
fn an_index_of_a_newer_program_is_left_alone() {
    let data = TempDir::new().unwrap();
    let payload = home::Payload { format: schema::FORMAT + 1, ..home::Payload::new("store-1") };
    Home::of(data.path()).create(&data.path().join("index"), schema::schema().0, &payload).unwrap();
    assert_eq!(open(data.path()).err().unwrap().reason().code, "index_newer");
    assert_eq!(Searcher::open(data.path()).err().unwrap().reason().code, "index_newer");
}

#[test]
fn an_index_that_was_killed_before_its_first_commit_is_begun_again() {
    let data = TempDir::new().unwrap();
    std::fs::create_dir(data.path().join("index")).unwrap();
    tantivy::Index::create_in_dir(data.path().join("index"), schema::schema().0).unwrap();
    assert!(Searcher::open(data.path()).unwrap().is_none());
    let mut index = open(data.path()).unwrap();
    apply(&mut index, &[put("d/a", 1, "x")]);
    index.commit(&call()).unwrap();
    assert_eq!(found(data.path(), "x"), ["a"]);
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Put(u8, i64),
    Access(u8, i64),
    Delete(u8),
    EndOfBatch,
    Commit,
    Reopen,
}

fn step() -> impl proptest::strategy::Strategy<Value = Step> {
    use proptest::prelude::*;
    prop_oneof![
        4 => (0u8..4, 1i64..4).prop_map(|(id, class)| Step::Put(id, class)),
        4 => (0u8..4, 1i64..4).prop_map(|(id, class)| Step::Access(id, class)),
        2 => (0u8..4).prop_map(Step::Delete),
        3 => Just(Step::EndOfBatch),
        1 => Just(Step::Commit),
        1 => Just(Step::Reopen),
    ]
}

/// What an index that applies every change by itself would hold: version and class by id.
type Model = std::collections::BTreeMap<String, (i64, i64)>;

/// Applies a batch to both and compares the answers.
fn apply_to_both(index: &mut Opened, model: &mut Model, batch: &mut Vec<Change>) {
    let answers = index.apply(&call(), batch);
    for (change, answer) in batch.drain(..).zip(answers) {
        let expected = match (&change.op, model.get_mut(&change.id)) {
            (Op::Put { class, .. }, _) => {
                model.insert(change.id, (change.seq, class.unwrap().0));
                Ok(())
            }
            (Op::Access { class, .. }, Some(held)) => {
                held.1 = class.unwrap().0;
                Ok(())
            }
            (Op::Access { .. }, None) => Err(Fault::Gone),
            (Op::Delete, _) => {
                model.remove(&change.id);
                Ok(())
            }
        };
        assert_eq!(answer, expected);
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(24))]
    #[test]
    fn whatever_the_batches_the_index_holds_what_the_changes_say(
        steps in proptest::collection::vec(step(), 1..60), threads in 1usize..3,
    ) {
        let data = TempDir::new().unwrap();
        let settings = Settings { memory_mib: 32, threads };
        let place = OutputPlace { data: data.path().to_owned(), store: "store-1".into() };
        let mut index = Opened::open(&settings, &place).unwrap();
        let (mut model, mut batch) = (Model::new(), Vec::new());
        for (seq, step) in steps.into_iter().chain([Step::Commit]).enumerate() {
            let seq = seq as i64 + 1;
            let id = |id: u8| format!("d/{id}");
            match step {
                Step::Put(at, class) => {
                    batch.push(put_as(&id(at), seq, (Some(class), Some(1)), text(&format!("text{seq}"))));
                }
                Step::Access(at, class) => batch.push(access(&id(at), seq, class)),
                Step::Delete(at) => batch.push(change(&id(at), seq, Op::Delete)),
                Step::EndOfBatch => apply_to_both(&mut index, &mut model, &mut batch),
                Step::Commit | Step::Reopen => {
                    apply_to_both(&mut index, &mut model, &mut batch);
                    index.commit(&call()).unwrap();
                    if matches!(step, Step::Reopen) {
                        drop(index);
                        index = Opened::open(&settings, &place).unwrap();
                    }
                }
            }
        }
        let listed = index.list(&call(), None, 100).unwrap();
        let listed: Vec<_> = listed.into_iter().map(|held| (held.id, (held.version.0, held.class.unwrap().0))).collect();
        assert_eq!(listed, model.clone().into_iter().collect::<Vec<_>>());
        for (id, (seq, _)) in &model {
            assert_eq!(found(data.path(), &format!("text{seq}")), [id.trim_start_matches("d/")]);
        }
    }
}
