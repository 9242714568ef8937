//! The suite of outputs, and what it does not ask: entries that the server refuses, long addresses, numbers that go back, strays.

use ingather_model::limits;
use ingather_testkit::suites::{self, OutputSample};

use super::*;

#[test]
fn it_keeps_what_an_output_promises() {
    for engine in SearchEngine::each("it_keeps_what_an_output_promises") {
        suites::output(
            &OUTPUT,
            &OutputSample { settings: engine.settings(), context: context(7), local: true },
        );
    }
}

#[test]
fn an_entry_that_is_refused_costs_itself_alone_and_is_named() {
    for engine in SearchEngine::each("an_entry_that_is_refused_costs_itself_alone_and_is_named") {
        // One of whoever runs the engine: whole texts are terms of it, too, and a long one is none that it takes.
        let mut theirs = crate::opensearch::template::mappings(&serde_json::Map::new());
        theirs["properties"]["body"]["fields"] = json!({"whole": {"type": "keyword"}});
        engine.done("PUT", "/PATH", &json!({"mappings": theirs}));
        let mut small = engine.settings();
        small["request_mib"] = json!(1);
        let mut output = opened(&small, 1).unwrap();
        let (large, whole) = ("word ".repeat(300_000), "SECRET ".repeat(5_000));
        let long = "x".repeat(limits::OPENSEARCH_TERM_BYTES_MAX);
        let batch = [
            put("a", 1, "one"),
            put("large", 2, &large),
            put(&long, 3, "long"),
            put("whole", 4, &whole),
            put("b", 5, "two"),
        ];
        let answers = apply(output.as_mut(), &batch);
        let codes: Vec<String> = answers
            .iter()
            .map(|answer| answer.as_ref().err().map(|fault| fault.reason().code).unwrap_or_default())
            .collect();
        assert_eq!(codes, ["", "entry_too_large", "address_too_long", "entry_refused", ""], "{answers:?}");
        assert!(
            answers
                .iter()
                .flat_map(|answer| answer.as_ref().err())
                .all(|fault| matches!(fault, Fault::Refused(_)))
        );
        let told = answers[3].as_ref().unwrap_err().reason().message;
        assert!(told.contains("body.whole") && !told.contains("83, 69, 67"), "{told}");
        assert_eq!(commit(output.as_mut()).unwrap().number, 1);
        assert_eq!(engine.entries().into_keys().collect::<Vec<_>>(), ["test://a", "test://b"]);
    }
}

#[test]
fn an_entry_whose_new_access_is_refused_is_taken_out() {
    for engine in SearchEngine::each("an_entry_whose_new_access_is_refused_is_taken_out") {
        let large = "word ".repeat(300_000);
        let first =
            [put("access", 1, &large), put("text", 2, "small"), put("same", 3, "small"), put("b", 4, "two")];
        let mut output = opened(&engine.settings(), 1).unwrap();
        assert_eq!(apply(output.as_mut(), &first), vec![Ok(()); 4]);
        commit(output.as_mut()).unwrap();
        drop(output);
        let mut small = engine.settings();
        small["request_mib"] = json!(1);
        let mut output = opened(&small, 2).unwrap();
        let mut same = put("same", 7, &large);
        if let Op::Put { acl_id, .. } = &mut same.op {
            *acl_id = Some(AclId(3));
        }
        let answers =
            apply(output.as_mut(), &[access("access", 5), put("text", 6, &large), same, access("b", 8)]);
        let is_refused = |answer: &Result<(), Fault>| matches!(answer, Err(Fault::Refused(_)));
        assert_eq!(
            answers.iter().map(is_refused).collect::<Vec<_>>(),
            [true, true, true, false],
            "{answers:?}"
        );
        // Whom the text of before lets in is known as long as that stays the same.
        assert_eq!(engine.entries().into_keys().collect::<Vec<_>>(), ["test://b", "test://same"]);
    }
}

#[test]
fn what_is_older_never_takes_the_place_of_what_is_newer() {
    for engine in SearchEngine::each("what_is_older_never_takes_the_place_of_what_is_newer") {
        let mut output = opened(&engine.settings(), 1).unwrap();
        let mut ok = |batch: &[Change]| {
            let answers = apply(output.as_mut(), batch);
            assert!(answers.iter().all(Result::is_ok), "{answers:?}");
            engine.entries()["test://a"].clone()
        };
        let shown = |entry: &Value| {
            (entry["body"].as_str().unwrap().to_owned(), entry["acl"].as_i64(), entry["seq"].as_i64())
        };
        assert_eq!(shown(&ok(&[put("a", 5, "five")])), ("five".to_owned(), Some(5), Some(5)));
        assert_eq!(shown(&ok(&[access("a", 8)])), ("five".to_owned(), Some(8), Some(8)));
        for older in [put("a", 7, "seven"), access("a", 6), change("a", 7, Op::Delete), put("a", 5, "five")] {
            assert_eq!(
                shown(&ok(std::slice::from_ref(&older))),
                ("five".to_owned(), Some(8), Some(8)),
                "{older:?}"
            );
        }
        assert_eq!(shown(&ok(&[put("a", 9, "nine")])), ("nine".to_owned(), Some(9), Some(9)));
    }
}

#[test]
fn an_address_longer_than_an_id_of_the_engine_is_an_entry_like_others() {
    for engine in SearchEngine::each("an_address_longer_than_an_id_of_the_engine_is_an_entry_like_others") {
        let mut output = opened(&engine.settings(), 1).unwrap();
        let (one, other) = (format!("{}1", "ü".repeat(400)), format!("{}2", "ü".repeat(400)));
        let batch = [put(&one, 1, "one"), put(&other, 2, "other")];
        assert!(apply(output.as_mut(), &batch).iter().all(Result::is_ok));
        let ids: Vec<String> = listed(output.as_mut()).into_iter().map(|entry| entry.id).collect();
        assert_eq!(ids, [format!("test://{one}"), format!("test://{other}")]);
        assert!(engine.entries().keys().all(|key| key.starts_with('#') && key.len() == 65));
        assert_eq!(
            apply(output.as_mut(), &[access(&one, 3), change(&other, 4, Op::Delete)]),
            [Ok(()), Ok(())]
        );
        let left = listed(output.as_mut());
        assert_eq!(
            left.iter().map(|entry| (entry.id.clone(), entry.acl_id)).collect::<Vec<_>>(),
            [(format!("test://{one}"), Some(AclId(3)))]
        );
    }
}

#[test]
fn entries_that_others_wrote_or_changed_are_told_apart() {
    for engine in SearchEngine::each("entries_that_others_wrote_or_changed_are_told_apart") {
        let mut output = opened(&engine.settings(), 1).unwrap();
        assert!(
            apply(output.as_mut(), &[put("a", 1, "one"), put("b", 2, "two"), put("c", 3, "three")])
                .iter()
                .all(Result::is_ok)
        );
        let b = engine.entries()["test://b"].clone();
        engine.done("PUT", "/PATH/_doc/copy-of-b", &b);
        engine.done("PUT", "/PATH/_doc/by-hand", &json!({"title": "planted"}));
        engine.done(
            "PUT",
            "/PATH/_doc/test:%2F%2Fd",
            &json!({"id": "test://d", "title": "planted", "address": 5}),
        );
        engine.done("POST", "/PATH/_update/test:%2F%2Fc", &json!({"doc": {"body": "altered"}}));
        let told: Vec<(String, i64, Digest)> = listed(output.as_mut())
            .into_iter()
            .map(|entry| (entry.id, entry.address, entry.version))
            .collect();
        let address = |name: &str| change(name, 0, Op::Delete).address;
        let stray = |id: &str| (id.to_owned(), 0, Digest::UNKNOWN);
        assert_eq!(
            told,
            [
                ("test://a".to_owned(), address("a"), Digest(1)),
                ("test://b".to_owned(), address("b"), Digest(2)),
                ("test://c".to_owned(), address("c"), Digest::UNKNOWN),
                stray("test://d"),
                stray("~by-hand"),
                stray("~copy-of-b"),
            ]
        );
    }
}

#[test]
fn an_entry_whose_new_form_is_refused_stays_for_those_alone_who_may_see_both() {
    for engine in
        SearchEngine::each("an_entry_whose_new_form_is_refused_stays_for_those_alone_who_may_see_both")
    {
        let mut small = engine.settings();
        small["request_mib"] = json!(1);
        let mut output = opened(&small, 1).unwrap();
        let large = "word ".repeat(300_000);
        let with_acl = |mut change: Change, to: i64| {
            if let Op::Put { acl_id, .. } = &mut change.op {
                *acl_id = Some(AclId(to));
            }
            change
        };
        let before = [with_acl(put("same", 1, "before"), 5), with_acl(put("other", 2, "before"), 5)];
        assert_eq!(apply(output.as_mut(), &before), [Ok(()), Ok(())]);
        let after = [
            with_acl(put("same", 3, &large), 5),
            with_acl(put("other", 4, &large), 6),
            put("new", 5, &large),
        ];
        let answers = apply(output.as_mut(), &after);
        assert!(answers.iter().all(|answer| matches!(answer, Err(Fault::Refused(_)))), "{answers:?}");
        let shown = |name: &str| {
            engine.entries().get(name).map(|entry| (entry["body"].clone(), entry["acl"].clone()))
        };
        assert_eq!(shown("test://same"), Some((json!("before"), json!(5))));
        assert_eq!(shown("test://other"), None, "nobody finds it");
        assert_eq!(shown("test://new"), None);
        // With the next form that is taken it is there for whom that admits.
        assert_eq!(apply(output.as_mut(), &[put("other", 6, "after")]), [Ok(())]);
        assert_eq!(shown("test://other"), Some((json!("after"), json!(6))));
    }
}
