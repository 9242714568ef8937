//! What words and names of a query stand for.

use ingather_connector::access_filter::AccessFilter;
use ingather_connector::model::document::Record;

use super::tests::{filled, names, only, put, put_as, request, results, text};
use super::*;

#[test]
fn a_job_is_named_in_a_query_by_those_who_see_something_of_it() {
    let entry = |id: &str, job: i64, acl_id: i64| {
        let put = put_as(id, 1, (Some(acl_id), Some(1)), text("word"));
        Change { job, ..put }
    };
    let (data, _index) =
        filled(&[entry("d/a", 1, 1), entry("d/b", 2, 1), entry("d/hidden", 3, 2), entry("d/old", 9, 1)]);
    let jobs = [
        (1, "Finance 2024".to_owned()),
        (2, "wiki".to_owned()),
        (3, "wikis".to_owned()),
        (4, "empty".to_owned()),
    ];
    let ask = |query: &str, access_filter: AccessFilter| {
        let found = results(data.path(), &SearchRequest { jobs: &jobs, ..request(query, access_filter) });
        (names(&found).join(" "), found.notes.join(" "))
    };
    let seen = |query: &str| ask(query, only(&[1], &[1]));
    assert_eq!(seen("job:wiki word"), ("b".to_owned(), String::new()));
    assert_eq!(seen("job:WIKI"), ("b".to_owned(), String::new()));
    assert_eq!(seen("job:\"finance 2024\"").0, "a");
    assert_eq!(seen("job:fin*").0, "a");
    assert_eq!(seen("job:\"finance 2\"* OR job:wiki").0, "a b");
    assert_eq!(seen("word -job:wiki").0, "a old");
    assert_eq!(seen("job:wik*").0, "b", "a hidden job has no part in it");
    assert_eq!(ask("job:wik*", AccessFilter::All).0, "b hidden");
    assert_eq!(ask("job:wikis", AccessFilter::All).0, "hidden");
    let unknown =
        |name: &str| (String::new(), format!("you see nothing of a job named `{name}`; `job:wiki` is one"));
    assert_eq!(seen("job:wikis"), unknown("wikis"), "a hidden job is as one that is not there");
    assert_eq!(seen("job:wikix"), unknown("wikix"));
    assert_eq!(
        (seen("job:empty").1, seen("job:empto").1),
        (
            "you see nothing of a job named `empty`; `ingather search '*' --facets` names them".to_owned(),
            "you see nothing of a job named `empto`; `ingather search '*' --facets` names them".to_owned()
        )
    );
    assert!(seen("jobs:wiki").1.contains("`job:` is one"));
}

#[test]
fn a_word_stands_for_those_that_are_like_it() {
    let hidden = |id: &str, body: &str| put_as(id, 1, (Some(2), Some(1)), text(body));
    let (data, _index) = filled(&[
        put("d/test", 1, "test of the world"),
        put("d/text", 1, "text about a word"),
        put("d/words", 1, "words tests"),
        put_as(
            "d/named",
            1,
            (Some(1), Some(1)),
            Record {
                title: "Tent".into(),
                path: "x/wortd.txt".into(),
                author: Some("Smith".into()),
                ..text("y")
            },
        ),
        hidden("d/hidden", "tezt worzd"),
    ]);
    let ask = |query: &str, access_filter: AccessFilter| {
        let found = results(data.path(), &request(query, access_filter));
        assert_eq!((found.notes.len(), found.corrections.len()), (0, 0), "{query}: {found:?}");
        names(&found).join(" ")
    };
    let seen = |query: &str| ask(query, only(&[1], &[1]));
    assert_eq!(seen("te?t"), "named test text");
    assert_eq!(ask("te?t", AccessFilter::All), "hidden named test text");
    assert_eq!(seen("TE?T"), "named test text");
    assert_eq!(seen("wor*d"), "named test text");
    assert_eq!(seen("wor*d AND of"), "test");
    assert_eq!(seen("+wor*d -te?t"), "");
    assert_eq!(seen("title:te?t"), "named");
    assert_eq!(seen("name:wor?d"), "named");
    assert_eq!(seen("path:wo*td"), "named");
    assert_eq!(seen("author:sm?th"), "named");
    assert_eq!(seen("w?rds*"), "words");
    assert_eq!(seen("tezt~"), "named test text", "what only a hidden entry has is not among them");
    assert_eq!(seen("tect~"), "named test text");
    assert_eq!(seen("tests~"), "test words");
    assert_eq!(seen("tests~2"), "named test text words");
    assert_eq!(seen("author:smiht~"), "named");
    assert_eq!(seen("te?t word~1"), "named test text words");
    assert_eq!(seen("what?"), "", "prose");
    assert_eq!(seen("zzz?z"), "");
}

#[test]
fn words_that_stand_for_too_many_are_cut_and_too_many_of_them_refused() {
    let most = limits::QUERY_EXPANSIONS_MAX;
    let numbered = |many: usize, acl_id: i64| {
        let words: Vec<String> = (0..many).map(|n| format!("nu{n:04}x")).collect();
        put_as(&format!("d/{acl_id}"), 1, (Some(acl_id), Some(1)), text(&words.join(" ")))
    };
    let last = put("d/last", 1, "nu0999x");
    let (data, _index) = filled(&[numbered(most - 1, 1), numbered(3 * most, 2), last]);
    let ask = |access_filter: AccessFilter| {
        let found = results(data.path(), &request("nu*x", access_filter));
        (names(&found).join(" "), found.notes.join(" "))
    };
    assert_eq!(ask(only(&[1], &[1])), ("1 last".to_owned(), String::new()), "exactly as many as may be");
    let (found, note) = ask(AccessFilter::All);
    assert_eq!(found, "1 2", "the first ones by letters");
    assert_eq!(note, format!("`nu*x` stands for more than {most} words; only {most} of them are searched"));
    let searcher = Searcher::open(data.path(), "store-1").unwrap().unwrap();
    let query = "a?b ".repeat(limits::QUERY_EXPANDED_MAX);
    assert!(searcher.search(&request(&query, AccessFilter::All)).is_ok());
    let refused = searcher.search(&request(&format!("{query} c~"), AccessFilter::All)).unwrap_err();
    assert!(refused.to_string().contains("more than 8 words with `~` or wildcards"), "{refused}");
}
