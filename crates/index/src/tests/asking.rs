//! What words and names of a query stand for.

use ingather_contract::access_filter::AccessFilter;
use ingather_contract::search::MovedJob;
use ingather_model::document::Record;

use super::*;
use crate::search::copies;
use crate::stemming::Stemming;

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

/// Titles in the order of the hits, page by page.
fn titles(data: &std::path::Path, sort: &str, limit: usize) -> Vec<String> {
    let page = |offset| {
        let sort = Sort::read(sort).unwrap();
        let request = SearchRequest { sort, offset, limit, ..request("word", AccessFilter::All) };
        results(data, &request).hits.into_iter().map(|hit| hit.title)
    };
    (0..12).step_by(limit).flat_map(page).collect()
}

#[test]
fn titles_and_paths_order_hits_by_letters_whatever_segment_they_are_in() {
    let entry = |number: usize, title: &str, path: &str| {
        let record = Record { title: title.into(), path: path.into(), ..text("word") };
        put_as(&format!("d/{number}"), 1, (Some(1), Some(1)), record)
    };
    let entries = [
        entry(0, "beta", "/z/1"),
        entry(1, "Äpfel", "/y/2"),
        entry(2, "alpha two", "/x/3"),
        entry(3, "Alpha", "/w/4"),
        entry(4, "", "/v/Alps.txt"),
        entry(5, "same", "/u/6"),
        entry(6, "Same", "/t/7"),
        entry(7, "same", "/s/8"),
    ];
    let data = tempfile::TempDir::new().unwrap();
    let mut index = crate::tests::open(data.path()).unwrap();
    for batch in entries.chunks(3) {
        crate::tests::apply(&mut index, batch);
        index.commit(&crate::tests::call()).unwrap();
    }
    let mut equal = [5, 6, 7];
    equal.sort_by_key(|at| entries[*at].address);
    let equal = equal.map(|at| if at == 6 { "Same" } else { "same" });
    let sorted = [["Alpha", "alpha two", "Alps.txt", "Äpfel", "beta"].as_slice(), &equal].concat();
    for limit in [1, 3, 12] {
        assert_eq!(titles(data.path(), "title", limit), sorted, "pages of {limit}");
        assert_eq!(titles(data.path(), "+title", limit), sorted);
    }
    let backwards = [["same", "beta"].as_slice(), &["Äpfel", "Alps.txt", "alpha two", "Alpha"]].concat();
    let told: Vec<String> =
        titles(data.path(), "-title", 3).into_iter().map(|title| title.replace('S', "s")).collect();
    assert_eq!(told[2..].iter().map(String::as_str).collect::<Vec<_>>()[..], backwards[..], "{told:?}");
    let by_path = titles(data.path(), "path", 3);
    assert_eq!(by_path[2..], ["same", "Alps.txt", "Alpha", "alpha two", "Äpfel", "beta"]);
    let mut backwards = titles(data.path(), "-path", 5);
    backwards.reverse();
    assert_eq!(backwards, by_path);
    assert!(Sort::read("+score").unwrap_err().to_string().contains("size, title and path"));
}

#[test]
fn hits_are_ordered_by_folder_then_name_and_by_title_or_name_in_one_segment_as_in_many() {
    let paths = ["b", "a/z", "a", "a/b/c", "a-b/c", "", "a/Ä", "a/b", "z/", "a/ä b", "c/a/ä"];
    let titles = ["", "b", "Z", "a b", "", "", "", "a"];
    let mut made = Vec::new();
    for (at, path) in paths.iter().enumerate() {
        for (nth, title) in titles.iter().enumerate() {
            let record =
                Record { title: (*title).into(), path: (*path).into(), ..text(&format!("word {at} {nth}")) };
            made.push((
                tokenizers::for_order(path.rsplit_once('/').map_or("", |(folder, _)| folder)),
                tokenizers::for_order(path.rsplit('/').next().unwrap()),
                tokenizers::for_order(title),
                put_as(&format!("d/{at}-{nth}"), 1, (Some(1), Some(1)), record),
            ));
        }
    }
    for commits in [1, 4, 29] {
        let data = tempfile::TempDir::new().unwrap();
        let mut index = crate::tests::open(data.path()).unwrap();
        let all: Vec<Change> = made.iter().map(|(.., change)| change.clone()).collect();
        for batch in all.chunks(all.len().div_ceil(commits)) {
            crate::tests::apply(&mut index, batch);
            index.commit(&crate::tests::call()).unwrap();
        }
        for sort in ["+path", "-path", "+title", "-title"] {
            let key = |(folder, name, title, _): &(String, String, String, Change)| match &sort[1..] {
                "path" => (folder.clone(), name.clone()),
                _ => (if title.is_empty() { name.clone() } else { title.clone() }, String::new()),
            };
            let mut expected: Vec<_> =
                made.iter().map(|one| (key(one), one.3.address, &one.3.document)).collect();
            expected.sort_by(|a, b| {
                let by_key = if sort.starts_with('+') { a.0.cmp(&b.0) } else { b.0.cmp(&a.0) };
                // Those with nothing to be ordered by come last, whatever the direction.
                let nothing =
                    |one: &((String, String), i64, &String)| one.0.0.is_empty() && one.0.1.is_empty();
                nothing(a).cmp(&nothing(b)).then(by_key).then(a.1.cmp(&b.1))
            });
            let request = SearchRequest {
                sort: Sort::read(sort).unwrap(),
                limit: 100,
                folds: false,
                ..request("word", AccessFilter::All)
            };
            let told: Vec<String> =
                results(data.path(), &request).hits.into_iter().map(|hit| hit.document).collect();
            let expected: Vec<String> = expected.into_iter().map(|(.., document)| document.clone()).collect();
            assert_eq!(told, expected, "{sort}, {commits} commits");
        }
    }
}

#[test]
fn a_path_is_asked_below_the_root_of_the_job_or_from_that_of_the_machine() {
    let entry = |document: &str, component: &str| {
        let inside = if component.is_empty() { String::new() } else { format!("!/{component}") };
        let record = Record { path: format!("/srv/team share/{document}{inside}"), ..text("word") };
        let id = ingather_kit::file_uri::of_path(format!("/srv/team share/{document}").as_bytes());
        let id = match component {
            "" => id,
            _ => ingather_model::document::component_uri(&id, component),
        };
        Change { document: document.to_owned(), ..put_as(&id, 1, (Some(1), Some(1)), record) }
    };
    let (data, _index) = filled(&[
        entry("finance/plan 2024.txt", ""),
        entry("finance/old/offers.zip", ""),
        entry("finance/old/offers.zip", "in/a.txt"),
        entry("share", ""),
    ]);
    let found = |query: &str| {
        let found = results(data.path(), &request(query, AccessFilter::All));
        let mut paths: Vec<String> =
            found.hits.into_iter().map(|hit| hit.path.replace("/srv/team share/", "")).collect();
        paths.sort();
        paths.join(" ")
    };
    assert_eq!(found("path:srv"), "", "what stands above the root is the same for all");
    assert_eq!(found("path:share"), "share", "the root itself is no part of it");
    assert_eq!(found("path:finance/old"), "finance/old/offers.zip finance/old/offers.zip!/in/a.txt");
    assert_eq!(found("path:\"plan 2024\""), "finance/plan 2024.txt");
    assert_eq!(found("path:in/a.txt"), "finance/old/offers.zip!/in/a.txt");
    let all = "finance/old/offers.zip finance/old/offers.zip!/in/a.txt finance/plan 2024.txt share";
    assert_eq!(found("path:\"/srv/team share\""), all);
    assert_eq!(
        found("path:\"/srv/team share/finance/old/\""),
        "finance/old/offers.zip finance/old/offers.zip!/in/a.txt"
    );
    assert_eq!(
        found("path:\"/srv/team share/finance/old/offers.zip!/in\""),
        "finance/old/offers.zip!/in/a.txt"
    );
    assert_eq!(found("path:\"/srv/team share/fin\""), "", "whole names");
    assert_eq!(found("path:\"/srv/team share/fin\"* -path:old"), "finance/plan 2024.txt");
    assert_eq!(found("path:/srv/team"), "");
}

#[test]
fn what_has_the_same_text_is_shown_once_and_copies_are_those_that_the_asker_sees() {
    let entry = |id: &str, acl_id: i64, title: &str, body: &str| {
        let record = Record { title: title.into(), ..text(body) };
        put_as(id, 1, (Some(acl_id), Some(1)), record)
    };
    let same = "alpha beta in a text that stands in several places";
    let (data, _index) = filled(&[
        entry("d/best", 1, "alpha", same),
        entry("d/copy", 1, "other", same),
        entry("d/hidden", 2, "alpha alpha", same),
        entry("d/part", 1, "third", "alpha and nothing else"),
        entry("d/blank1", 1, "alpha", " "),
        entry("d/blank2", 1, "alpha", " "),
    ]);
    let ask = |query: &str, folds: bool, access_filter: AccessFilter| {
        let found = results(data.path(), &SearchRequest { folds, ..request(query, access_filter) });
        let hits = found.hits.iter().map(|hit| {
            let of = hit.copy_of.as_deref().map(|of| format!("={of}")).unwrap_or_default();
            format!("{}+{}{of}", hit.document, hit.copies)
        });
        (found.total, hits.collect::<Vec<_>>().join(" "))
    };
    let seen = |query: &str, folds: bool| ask(query, folds, only(&[1], &[1]));
    assert_eq!(seen("+alpha +places", true), (2, "best+1".to_owned()), "the best of them");
    assert_eq!(seen("+alpha +places", false), (2, "best+1 copy+1=d/best".to_owned()));
    let (total, all) = ask("+alpha +places", true, AccessFilter::All);
    assert!(total == 3 && all.ends_with("+2"), "{all}");
    assert_eq!(seen("beta title:other", true), (1, "copy+1".to_owned()), "the one that matches is shown");
    let (total, all) = seen("alpha", true);
    assert_eq!((total, all.matches("blank").count(), all.matches("best").count()), (5, 2, 1), "{all}");
    let paged = |offset| {
        let request =
            SearchRequest { folds: true, offset, limit: 1, ..request("beta nothing", only(&[1], &[1])) };
        results(data.path(), &request)
            .hits
            .iter()
            .map(|hit| hit.document.clone())
            .collect::<Vec<_>>()
            .join(" ")
    };
    let pages = [paged(0), paged(1), paged(2)];
    assert!(pages.contains(&"part".to_owned()) && pages[2].is_empty(), "{pages:?}");
}

#[test]
fn any_value_of_a_field_and_words_with_signs_are_found() {
    let of = |path: &str, author: Option<&str>, body: &str| Record {
        path: path.into(),
        author: author.map(Into::into),
        ..text(body)
    };
    let (data, _index) = filled(&[
        put_as("d/a", 1, (Some(1), Some(1)), of("a.txt", Some("Ann"), "C++ and Rust")),
        put_as(
            "d/b",
            1,
            (Some(1), Some(1)),
            Record { size: Some(0), modified: Some(-1), ..of("b", None, "C# or vitamin c") },
        ),
        put_as("d/hidden", 1, (Some(2), Some(1)), of("c.txt", Some("Bob"), "C++ C#")),
    ]);
    let seen = |query: &str| {
        let found = results(data.path(), &request(query, only(&[1], &[1])));
        assert_eq!((found.notes.len(), found.corrections.len()), (0, 0), "{query}: {found:?}");
        names(&found).join(" ")
    };
    assert_eq!(seen("author:*"), "a");
    assert_eq!(seen("-author:*"), "b");
    assert_eq!(seen("ext:*"), "a");
    assert_eq!(seen("name:* path:* body:* uri:*"), "a b");
    assert_eq!((seen("title:*"), seen("created:*")), (String::new(), String::new()));
    assert_eq!(
        (seen("size:*").as_str(), seen("modified:*").as_str()),
        ("b", "b"),
        "zero and before 1970, too"
    );
    assert_eq!(seen("C++"), "a");
    assert_eq!(seen("\"c++ and rust\""), "a");
    assert_eq!(seen("c#"), "b");
    assert_eq!(seen("body:c"), "a b");
    let found = results(data.path(), &request("C++", only(&[1], &[1])));
    assert_eq!(found.hits[0].snippet.marked("[", "]"), "[C++] and Rust");
}

#[test]
fn what_was_moved_is_found_by_where_it_is_and_by_its_address() {
    let entry = |id: &str, job: i64| Change { job, ..put(id, 1, "word") };
    let (data, _index) = filled(&[
        entry("file:///old/in/a%20b.txt", 1),
        entry("file:///old/c.zip", 1),
        entry("file:///old/c.zip#inner.txt", 1),
        entry("file:///new/other", 2),
        entry("file:///old/kept", 3),
    ]);
    let moved = [MovedJob { job: 1, place: "file:///new/".to_owned(), address: "file:///old/".to_owned() }];
    let ask = |query: &str| {
        let found =
            results(data.path(), &SearchRequest { moved: &moved, ..request(query, AccessFilter::All) });
        let mut uris: Vec<String> =
            found.hits.iter().map(|hit| hit.uri.trim_start_matches("file://").to_owned()).collect();
        uris.sort();
        uris.dedup();
        uris.join(" ")
    };
    let all = "/new/other /old/c.zip /old/in/a%20b.txt";
    assert_eq!(ask("path:/new"), all);
    assert_eq!(ask("path:/new/"), all);
    assert_eq!(ask("path:/ne*"), all);
    assert_eq!(ask("path:\"/new/in/a b.txt\""), "/old/in/a%20b.txt");
    assert_eq!(ask("path:/new/in*"), "/old/in/a%20b.txt");
    assert_eq!(ask("path:/new/c.zip"), "/old/c.zip");
    assert_eq!(ask("path:/newer"), "");
    assert_eq!(ask("uri:file:///new/c.zip"), "/old/c.zip");
    assert_eq!(ask("uri:file:///new/in*"), "/old/in/a%20b.txt");
    assert_eq!(ask("uri:file:///ne*"), all);
    // Another job has no part in that, and what a query leaves out it leaves out by where it is.
    assert_eq!(ask("path:/new/kept"), "");
    assert_eq!(ask("word -path:/new"), "/old/kept");
    assert_eq!(ask("path:/old/in"), "/old/in/a%20b.txt");
}

#[test]
fn texts_that_are_found_in_the_same_place_are_no_copies_of_each_other() {
    let bucket = |body: &str| copies::bucket(copies::digest(&entry::marked(Stemming::PLAIN, body)).unwrap());
    let bodies = |at: usize| format!("alpha {at}");
    let like = (1..).map(bodies).find(|body| bucket(body) == bucket("alpha 0")).unwrap();
    let entry = |id: &str, body: &str| put_as(id, 1, (Some(1), Some(1)), text(body));
    let (data, _index) =
        filled(&[entry("d/a", "alpha 0"), entry("d/b", &like), entry("d/c", "alpha 0"), entry("d/e", &like)]);
    let found =
        results(data.path(), &SearchRequest { folds: true, ..request("alpha", AccessFilter::All) }).hits;
    assert_eq!(found.iter().map(|hit| hit.copies).collect::<Vec<_>>(), [1, 1]);
}
