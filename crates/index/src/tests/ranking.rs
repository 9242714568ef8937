//! What comes first, and what a question finds although not all of its words are there.

use ingather_contract::access_filter::AccessFilter;
use ingather_model::document::Record;

use super::*;

/// Names in the order of the hits, with a bar before those that lack a word.
fn ordered(data: &std::path::Path, query: &str) -> String {
    let results = results(data, &request(query, AccessFilter::All));
    let names: Vec<&str> = results.hits.iter().map(|hit| hit.document.as_str()).collect();
    assert_eq!(results.hits.iter().filter(|hit| hit.has_all_words).count(), results.complete, "{query}");
    let (all, some) = names.split_at(results.complete);
    if some.is_empty() { all.join(" ") } else { format!("{} | {}", all.join(" "), some.join(" ")) }
}

fn titled(id: &str, seq: i64, title: &str, body: &str) -> Change {
    put_as(id, seq, (Some(1), Some(1)), Record { title: title.to_owned(), ..text(body) })
}

#[test]
fn entries_with_all_words_come_first_and_operators_stay_strict() {
    let (data, _index) = filled(&[
        put(
            "d/both",
            1,
            "alpha and many other words that make this text a longer one with a beta at its end",
        ),
        put("d/one", 2, "alpha alpha alpha"),
        put("d/two", 3, "beta"),
        put("d/none", 4, "gamma"),
    ]);
    assert_eq!(ordered(data.path(), "alpha beta"), "both | one two");
    assert_eq!(ordered(data.path(), "(alpha) (beta)"), "both | one two");
    assert_eq!(ordered(data.path(), "alpha beta delta"), " | one two both");
    assert_eq!(ordered(data.path(), "+beta alpha"), "both | two");
    assert_eq!(ordered(data.path(), "alpha AND beta"), "both");
    assert_eq!(ordered(data.path(), "+alpha +missing"), "");
    assert_eq!(ordered(data.path(), "alpha beta -many"), " | one two");
    assert_eq!(ordered(data.path(), "\"alpha alpha\" beta"), " | one");
    assert_eq!(ordered(data.path(), "body:gamma alpha"), "", "a field is no choice");
    assert_eq!(
        ordered(data.path(), "alpha beta OR gamma"),
        "none both",
        "beside `OR`, neighbours are all wanted"
    );
    assert_eq!(ordered(data.path(), "alp* bet*"), "both | one two");
}

#[test]
fn a_question_is_answered_whatever_signs_it_has() {
    let (data, _index) = filled(&[put("d/a", 1, "the couette flow"), put("d/b", 2, "something else")]);
    let padding = "unknown ".repeat(199);
    for question in [
        "examples: couette",
        "what's a \"couette",
        "couette - or what?",
        "is this (couette) known",
        "couette (known",
        "1) couette 2) known :)",
        "IS THE COUETTE THEORY KNOWN AND OF WHAT USE",
        "\"couette theory\" flow",
        &format!("{padding} couette"),
    ] {
        assert_eq!(found(data.path(), question), ["a"], "{question}");
    }
    let told = results(data.path(), &request("\"couette theory\" flow", AccessFilter::All));
    assert!(told.notes.join(" ").contains("nothing has the words in quotes next to each other"), "{told:?}");
    assert_eq!(
        found(data.path(), "\"couette theory\""),
        Vec::<String>::new(),
        "alone, a phrase is what is wanted"
    );
    let beginnings: String = (0..65).map(|n| format!("n{n}* ")).collect();
    let told = results(data.path(), &request(&format!("couette {beginnings}"), AccessFilter::All));
    assert_eq!((told.total, told.notes.join(" ").contains("only the first 64 beginnings")), (1, true));
    let strict = "+a ".repeat(65);
    let searcher = Searcher::open(data.path(), "store-1").unwrap().unwrap();
    let refused = searcher.search(&request(&strict, AccessFilter::All)).unwrap_err();
    assert!(refused.to_string().contains("more than 64 parts"), "{refused}");
}

#[test]
fn quotes_are_strict_but_in_a_pasted_question() {
    let (data, _index) = filled(&[
        put("d/a", 1, "a module is checked where it matches the context of its use"),
        put("d/b", 2, "cooking matches"),
    ]);
    let ask = |query: &str| {
        let told = results(data.path(), &request(query, AccessFilter::All));
        (crate::tests::names(&told).join(" "), told.notes.join(" "))
    };
    let rest = "how can one check that it does so in the context of its module";
    let (found, notes) = ask(&format!("\"cooking matches\" {rest}"));
    assert_eq!(found, "a b");
    assert!(notes.contains("a `+` before the quotes"), "{notes}");
    for strict in [
        format!("+\"cooking matches\" {rest}"),
        format!("\"cooking matches\" {rest} -unknown"),
        format!("\"cooking match\"* {rest}"),
        "\"cooking matches\" in the context of its module".to_owned(),
    ] {
        assert_eq!(ask(&strict), ("b".to_owned(), String::new()), "{strict}");
    }
    // What is in quotes is meant as it is there, too.
    let told = results(data.path(), &request(&format!("\"coking\" {rest}"), AccessFilter::All));
    assert!(told.corrections.is_empty(), "{told:?}");
}

#[test]
fn small_words_are_asked_for_when_nothing_has_the_others() {
    let text = "The house was built and it has been there for a long time, by people who had been told of what to do.";
    let (data, _index) =
        filled(&[put("d/a", 1, text), put("d/b", 2, "Die Leute wohnen nicht gern dort und anders.")]);
    assert_eq!(found(data.path(), "what was xqzwv"), ["a"]);
    assert_eq!(found(data.path(), "what about xqzwv"), ["a"]);
    assert_eq!(found(data.path(), "what was wohnen"), ["b"], "beside others they say nothing");
}

#[test]
fn forms_of_a_word_are_one_word_in_every_language() {
    let mut batch: Vec<Change> = (0..20)
        .map(|n| {
            put(
                &format!("d/en{n:02}"),
                n,
                "The amplifiers were built and they have been tested for this purpose.",
            )
        })
        .collect();
    // Too short to tell a language: kept as it is, so that this form is rare.
    batch.push(put("d/short", 21, "amplifiers xyz"));
    batch.push(put("d/rare", 22, "The zebra was seen and it has been told of in this text for a long time."));
    let (data, _index) = filled(&batch);
    let request = SearchRequest { explain: true, ..request("amplifiers zebra", AccessFilter::All) };
    let results = results(data.path(), &request);
    let words = &results.hits[0].explanation;
    assert_eq!(
        words.iter().map(|word| (word.word.as_str(), word.entries)).collect::<Vec<_>>(),
        [("amplifiers", 21), ("zebra", 1)]
    );
    assert_eq!(results.hits[0].document, "rare", "the rarer word counts more, in whatever form it stands");
}

#[test]
fn titles_and_repeated_words_count_more_and_an_explanation_adds_up() {
    let (data, _index) = filled(&[
        titled("d/titled", 1, "Couette", "a text about flow of some length"),
        titled("d/named", 2, "Other", "a text about couette and flow of some length"),
        titled("d/third", 3, "Third", "a text about something else of some length"),
    ]);
    assert_eq!(ordered(data.path(), "couette"), "titled named");
    let explained = |query: &str| {
        let request = SearchRequest { explain: true, ..request(query, AccessFilter::All) };
        results(data.path(), &request).hits
    };
    for hit in explained("couette flow te*") {
        let sum: f32 = hit.explanation.iter().map(|word| word.score).sum();
        assert!((sum - hit.score).abs() < 1e-5 && hit.score > 0.0, "{hit:?}");
    }
    let (once, twice) = (explained("couette"), explained("couette couette"));
    assert!((twice[0].score - 2.0 * once[0].score).abs() < 1e-5);
    assert_eq!(once[0].explanation[0].occurrences, [1, 0, 0]);
}

#[test]
fn equal_scores_are_ordered_by_address_wherever_they_stand() {
    let ids: Vec<String> = (0..40).map(|n| format!("d/{n}")).collect();
    let order = |batches: Vec<Vec<Change>>| {
        let data = tempfile::TempDir::new().unwrap();
        let mut index = crate::tests::open(data.path()).unwrap();
        for batch in batches {
            crate::tests::apply(&mut index, &batch);
            index.commit(&crate::tests::call()).unwrap();
        }
        let page = |offset| {
            let request = SearchRequest { offset, limit: 10, ..request("word", AccessFilter::All) };
            results(data.path(), &request).hits.into_iter().map(|hit| hit.uri).collect::<Vec<_>>()
        };
        (0..4).flat_map(|at| page(at * 10)).collect::<Vec<String>>()
    };
    let puts: Vec<Change> = ids.iter().map(|id| put(id, 1, "word")).collect();
    let forward = order(vec![puts.clone()]);
    let mut expected = ids.clone();
    expected.sort_by_key(|id| change(id, 1, Op::Delete).address);
    assert_eq!(forward, expected);
    let backward: Vec<Change> = puts.into_iter().rev().collect();
    assert_eq!(order(backward.chunks(7).map(<[Change]>::to_vec).collect()), expected);
}

#[test]
fn order_by_a_number_keeps_entries_with_all_words_first() {
    let entry = |id: &str, modified: i64, body: &str| {
        put_as(id, 1, (Some(1), Some(1)), Record { modified: Some(modified), ..text(body) })
    };
    let (data, _index) = filled(&[
        entry("d/old", 1, "alpha beta"),
        entry("d/new", 9, "alpha"),
        entry("d/mid", 5, "beta alpha"),
    ]);
    let sort = Sort::read("modified").unwrap();
    let found = results(data.path(), &SearchRequest { sort, ..request("alpha beta", only(&[1], &[1])) });
    let names: Vec<&str> = found.hits.iter().map(|hit| hit.document.as_str()).collect();
    assert_eq!((names, found.total, found.complete), (vec!["mid", "old", "new"], 3, 2));
    assert_eq!(found.facets.unwrap().jobs[0].count, 3, "facets count both parts");
}

#[test]
fn a_word_that_nothing_has_is_corrected_to_the_nearest_then_most_frequent_visible_one() {
    let hidden = |id: &str, body: &str| put_as(id, 1, (Some(2), Some(1)), text(body));
    let (data, _index) = filled(&[
        put("d/one", 1, "The amplifiers were built by theorists who had been there and it was told of them."),
        put("d/two", 2, "a plane"),
        put("d/three", 3, "a plate"),
        put("d/four", 4, "a plate again"),
        put("d/short", 5, "xyzz pla"),
        hidden("d/hidden", "zeppelin amplifeir plabe plabe"),
    ]);
    let asked = |query: &str, access_filter: AccessFilter| {
        let found = results(data.path(), &request(query, access_filter));
        let used =
            found.corrections.iter().map(|correction| (correction.typed.clone(), correction.used.clone()));
        (found.literal(query), crate::tests::names(&found), used.collect::<Vec<_>>())
    };
    let seen = |query: &str| asked(query, only(&[1], &[1]));
    let corrected = |typed: &str, used: &str| vec![(typed.to_owned(), used.to_owned())];
    let exactly = Some("\"amplifeirs\"".to_owned());
    assert_eq!(seen("amplifeirs"), (exactly, vec!["one".into()], corrected("amplifeirs", "amplifiers")));
    assert_eq!(seen("Plabe").2, corrected("plabe", "plate"), "of two equally near ones the more frequent");
    assert_eq!(seen("plaa").2, [], "`pla` is too short to be meant");
    assert_eq!(seen("planeetx").2, [], "too far");
    assert_eq!(seen("theorsts").2, corrected("theorsts", "theorists"));
    assert_eq!(seen("heuristics").2, [], "only the stem of `theorists` is near");
    assert_eq!(seen("zeplin").2, [], "only a hidden entry has the word");
    assert_eq!(asked("zeplin", AccessFilter::All).2, corrected("zeplin", "zeppelin"));
    for literal in ["\"plabe\"", "+plabe", "plabe*", "plb", "plate2", "title:plabe"] {
        assert_eq!(seen(literal).2, [], "{literal} is not a bare word that could be mistyped");
    }
}

#[test]
fn of_words_with_equally_near_stems_the_one_is_meant_that_is_written_most_like_it() {
    let texts = [
        "All warranties that there are have been told of here, and it was said that there would be no others.",
        "Warren was there and told of it, and Warren said that there would be no such thing for any of them.",
        "Convection is what there was of it, and they said that it would be the convection of all of the air.",
        "By convection the air was there, and they have told of it that convection would be all there is.",
        "All that they have here was connected to what was there, and they would have been connected to it.",
        "There is no warranty for this program, to the extent that the law of the land does permit it.",
    ];
    let entries: Vec<_> =
        texts.iter().enumerate().map(|(at, body)| put(&format!("d/{at}"), at as i64, body)).collect();
    let (data, _index) = filled(&entries);
    for (typed, used) in [("warrenty", "warranty"), ("conected", "connected")] {
        let found = results(data.path(), &request(typed, only(&[1], &[1])));
        let corrected: Vec<&str> = found.corrections.iter().map(|correction| &*correction.used).collect();
        assert_eq!(corrected, [used], "{typed}");
    }
}
