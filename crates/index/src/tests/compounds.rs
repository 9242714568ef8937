//! Words that are put together from others are found by these, and the other way round.

use ingather_contract::access_filter::AccessFilter;
use ingather_model::document::Record;

use super::*;

fn german(id: &str, seq: i64, title: &str, body: &str) -> Change {
    let record = Record { title: title.to_owned(), language: Some("de".to_owned()), ..text(body) };
    put_as(id, seq, (Some(1), Some(1)), record)
}

/// Names in the order of the hits, with a bar before those that lack a word.
fn ordered(data: &std::path::Path, query: &str) -> String {
    let results = results(data, &request(query, AccessFilter::All));
    let names: Vec<&str> = results.hits.iter().map(|hit| hit.document.as_str()).collect();
    let (all, some) = names.split_at(results.complete);
    if some.is_empty() { all.join(" ") } else { format!("{} | {}", all.join(" "), some.join(" ")) }
}

#[test]
fn a_question_for_a_part_finds_the_compound() {
    let (data, _index) = filled(&[
        german("d/key", 1, "", "Der Haustürschlüssel liegt unter der Matte."),
        german("d/title", 2, "Kündigungsfristen", "Wer gehen will, muss warten."),
        put("d/plain", 3, "Haustürschlüssel in a text of no language"),
    ]);
    assert_eq!(ordered(data.path(), "Schlüssel"), "key");
    assert_eq!(ordered(data.path(), "tür"), "key");
    assert_eq!(ordered(data.path(), "Türen AND Matte"), "key");
    assert_eq!(ordered(data.path(), "Frist"), "title");
    assert_eq!(ordered(data.path(), "title:kündigung"), "title");
    assert_eq!(ordered(data.path(), "\"der Haustürschlüssel liegt\""), "key", "words stay neighbours");
    assert_eq!(ordered(data.path(), "\"der Schlüssel liegt\""), "key");
    let hits = results(data.path(), &request("schlüssel", AccessFilter::All)).hits;
    let snippet = &hits[0].snippet;
    let marked: Vec<&str> = snippet.highlights.iter().map(|range| &snippet.text[range.clone()]).collect();
    assert_eq!(marked, ["Haustürschlüssel"], "the whole word is shown as what matched");
}

#[test]
fn dutch_compounds_are_found_by_their_parts_too() {
    let (data, _index) = filled(&[
        put(
            "d/whole",
            1,
            "De sleutels van de huisdeuren liggen bij de buren, en niemand weet waarom dat zo is.",
        ),
        put("d/apart", 2, "De deur van het huis stond open toen wij thuis kwamen, en de hond was weg."),
        put(
            "d/english",
            3,
            "The word huisdeuren is in a text that is written in another language than that.",
        ),
    ]);
    assert_eq!(ordered(data.path(), "+deur lang:nl"), "apart whole");
    assert_eq!(ordered(data.path(), "huisdeur lang:nl"), "whole | apart");
    assert_eq!(ordered(data.path(), "deur lang:en"), "");
}

#[test]
fn a_compound_is_found_by_its_parts_behind_what_has_it() {
    let (data, _index) = filled(&[
        german("d/has", 1, "", "Die Haustür klemmt schon wieder, und niemand will etwas dagegen tun."),
        german("d/longer", 2, "", "Der Haustürschlüssel ist weg."),
        german("d/apart", 3, "", "Die Tür des Hauses ist offen."),
        german("d/half", 4, "", "Die Tür der Wohnung ist offen."),
    ]);
    assert_eq!(ordered(data.path(), "Haustür"), "has | longer apart");
    assert_eq!(ordered(data.path(), "+Haustür"), "has");
    assert_eq!(ordered(data.path(), "Haustür klemmt"), "has | longer apart");
    assert_eq!(ordered(data.path(), "Haustür offen").split(" | ").last(), Some("apart has half longer"));
}

#[test]
fn what_is_there_in_parts_is_not_corrected() {
    let (data, _index) = filled(&[
        german("d/apart", 1, "", "Die Tür des Hauses ist offen, die Haustüre auch nicht mehr zu sehen."),
        german("d/near", 2, "", "Die Wohnungstor ist kein Wort."),
        german("d/flat", 3, "", "Die Tür der Wohnung ist offen."),
    ]);
    let results = results(data.path(), &request("Wohnungstür", AccessFilter::All));
    assert!(results.corrections.is_empty(), "{:?}", results.corrections);
    assert_eq!(ordered(data.path(), "Wohnungstür"), " | flat");
}
