//! An answer tells nothing of entries that the user may not see.

use ingather_contract::access_filter::AccessFilter;
use ingather_model::document::Record;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use super::*;

/// A few words, so that hidden and visible entries share most of them; some are near to each other.
const WORDS: &[&str] = &[
    "amplifier",
    "amplifiers",
    "houses",
    "haus",
    "running",
    "flow",
    "flows",
    "zeppelin",
    "zepelin",
    "walrus",
    "walruses",
    "東京都",
    "ete",
    "the",
    "der",
    "report",
    "reports",
    "and",
    "xylophone",
    // Compounds and their parts, where the language is German.
    "haustür",
    "tür",
    "arbeitszeit",
    "zeit",
];
const LANGUAGES: &[Option<&str>] = &[None, Some("en"), Some("de"), Some("fr")];
const TYPES: &[&str] = &["text/plain", "text/html"];

#[derive(Clone, Debug)]
struct Made {
    title: Vec<&'static str>,
    body: Vec<&'static str>,
    language: Option<&'static str>,
    media_type: &'static str,
}

fn made() -> impl Strategy<Value = Made> {
    let word = || proptest::sample::select(WORDS);
    let words = |most| proptest::collection::vec(word(), 0..most);
    let language = proptest::sample::select(LANGUAGES);
    // Many texts are the same as others.
    let body = prop_oneof![2 => words(12), 1 => words(2)];
    (words(3), body, language, proptest::sample::select(TYPES))
        .prop_map(|(title, body, language, media_type)| Made { title, body, language, media_type })
}

fn query() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        6 => proptest::sample::select(WORDS).prop_map(str::to_owned),
        1 => proptest::sample::select(WORDS).prop_map(|word| word[..3].to_owned() + "*"),
        1 => proptest::sample::select(WORDS).prop_map(|word| format!("+{word}")),
        1 => proptest::sample::select(WORDS).prop_map(|word| format!("-{word}")),
        1 => proptest::sample::select(WORDS).prop_map(|word| format!("\"the {word}\"")),
        1 => proptest::sample::select(WORDS).prop_map(|word| format!("\"the {}\"*", &word[..3])),
        1 => proptest::sample::select(WORDS).prop_map(|word| format!("title:{word}")),
        1 => proptest::sample::select(WORDS).prop_map(|word| format!("{word}~")),
        1 => proptest::sample::select(&["w*s", "z?ppelin", "+ze*lin", "-a?plifier*", "title:re*t*"][..])
            .prop_map(str::to_owned),
        1 => proptest::sample::select(&["job:docs", "job:hidden", "job:hiddem", "-job:d*", "job:h*"][..])
            .prop_map(str::to_owned),
        1 => proptest::sample::select(&["OR", "lang:de", "*", "zeplin", "walrsu", "amplifeirs", "fo:x", "zeithaus", "haustuer"][..])
            .prop_map(str::to_owned),
    ];
    proptest::collection::vec(part, 1..5).prop_map(|parts| parts.join(" "))
}

fn entry(id: &str, made: &Made, acl_id: i64) -> Change {
    let record = Record {
        title: made.title.join(" "),
        language: made.language.map(str::to_owned),
        media_type: Some(made.media_type.to_owned()),
        ..text(&made.body.join(" "))
    };
    // What is hidden is of a job of its own.
    Change { job: acl_id, ..put_as(id, 1, (Some(acl_id), Some(1)), record) }
}

/// What a user sees of an index with these hidden entries, asked all of these.
fn answers(shown: &[Made], hidden: &[Made], queries: &[String]) -> Vec<String> {
    let shown = shown.iter().enumerate().map(|(at, made)| entry(&format!("d/shown{at}"), made, 1));
    let hidden = hidden.iter().enumerate().map(|(at, made)| entry(&format!("d/hidden{at}"), made, 2));
    let data = tempfile::TempDir::new().unwrap();
    let mut index = open(data.path()).unwrap();
    // Hidden entries stand before and between the others, in segments of their own and in common ones.
    let mut all: Vec<Change> = hidden.chain(shown).collect();
    all.sort_by_key(|change| change.address);
    for batch in all.chunks(19) {
        apply(&mut index, batch);
        index.commit(&call()).unwrap();
    }
    let searcher = Searcher::open(data.path(), "store-1").unwrap().unwrap();
    let answer = |(at, query): (usize, &String)| {
        let jobs = [(1, "docs".to_owned()), (2, "hidden".to_owned())];
        let request = SearchRequest {
            explain: true,
            folds: at % 2 == 0,
            jobs: &jobs,
            ..request(query, only(&[1], &[1]))
        };
        format!("{:?}", searcher.search(&request))
    };
    queries.iter().enumerate().map(answer).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 64, ..ProptestConfig::with_cases(8) })]
    #[test]
    fn indexes_that_differ_in_hidden_entries_answer_the_same(
        shown in proptest::collection::vec(made(), 1..16),
        hidden in proptest::collection::vec(made(), 0..40),
        others in proptest::collection::vec(made(), 0..40),
        queries in proptest::collection::vec(query(), 8),
    ) {
        let told = answers(&shown, &hidden, &queries);
        for ((query, one), other) in queries.iter().zip(told).zip(answers(&shown, &others, &queries)) {
            prop_assert_eq!(one, other, "{}", query);
        }
    }
}

#[test]
fn slips_are_corrected_to_words_of_visible_entries_alone() {
    let words = || proptest::collection::vec("[a-c]{4,6}", 1..12);
    let corrected = std::cell::Cell::new(0);
    let mut runner =
        TestRunner::new(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(24) });
    runner
        .run(&(words(), words(), words()), |(shown, hidden, typed)| {
            let entries = [
                put_as("d/hidden", 1, (Some(2), Some(1)), text(&hidden.join(" "))),
                put_as("d/shown", 1, (Some(1), Some(1)), text(&shown.join(" "))),
            ];
            let (data, _index) = filled(&entries);
            let found = results(data.path(), &request(&typed.join(" "), only(&[1], &[1])));
            for correction in &found.corrections {
                prop_assert!(shown.contains(&correction.used), "{correction:?}");
                prop_assert!(!shown.contains(&correction.typed), "{correction:?}");
                corrected.set(corrected.get() + 1);
            }
            Ok(())
        })
        .unwrap();
    assert!(corrected.get() > 0, "nothing was tried");
}

#[test]
fn scores_say_nothing_of_how_many_hidden_entries_have_a_word() {
    let many = |acl_id: i64| {
        (0..50).map(move |n| put_as(&format!("d/{n}"), n, (Some(acl_id), Some(1)), text("zeppelin")))
    };
    let pair = ["alpha zeppelin", "alpha walrus"].into_iter().enumerate();
    let pair = pair.map(|(at, body)| put_as(&format!("d/pair{at}"), 60, (Some(1), Some(1)), text(body)));
    let (data, _index) = filled(&many(2).chain(pair).collect::<Vec<_>>());
    let searcher = Searcher::open(data.path(), "store-1").unwrap().unwrap();
    let score = |query: &str, access_filter: AccessFilter| {
        searcher.search(&request(query, access_filter)).unwrap().hits[0].score
    };
    let seen = |query: &str| score(query, only(&[1], &[1]));
    assert_eq!(seen("zeppelin").to_bits(), seen("walrus").to_bits());
    assert!(
        score("zeppelin", AccessFilter::All) < score("walrus", AccessFilter::All),
        "who sees them all has their figures"
    );
}
