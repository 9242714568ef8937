//! An index that was dropped, made anew, brought back or is somebody else's is noticed before anything is written into it.

use super::*;

#[test]
fn an_index_that_is_dropped_is_noticed_and_what_takes_its_place_is_left_alone() {
    for engine in
        SearchEngine::each("an_index_that_is_dropped_is_noticed_and_what_takes_its_place_is_left_alone")
    {
        let mut output = opened(&engine.settings(), 1).unwrap();
        assert!(apply(output.as_mut(), &[put("a", 1, "one")]).iter().all(Result::is_ok));
        let before = commit(output.as_mut()).unwrap();
        let (_, described) = engine.ask("GET", "/PATH", &Value::Null);
        let alias = described[&engine.index]["aliases"].as_object().unwrap().keys().next().unwrap().clone();
        for batch in [vec![put("b", 2, "two")], vec![change("a", 3, Op::Delete)], vec![access("a", 4)]] {
            let mut output = opened(&engine.settings(), 1).unwrap();
            // So that nothing but the changes is asked for next.
            assert_eq!(apply(output.as_mut(), &[put("sent", 1, "before")]), [Ok(())]);
            engine.done("DELETE", "/PATH", &Value::Null);
            // As a server makes it for whoever writes to a name that is free.
            engine.done("PUT", "/PATH/_doc/other", &json!({"of": "others"}));
            let answers = apply(output.as_mut(), &batch);
            assert!(
                answers.iter().all(|answer| answer.as_ref().is_err_and(|f| f.reason().code == "replaced")),
                "{answers:?}"
            );
            assert_eq!(commit(output.as_mut()).unwrap_err().reason().code, "replaced");
            assert_eq!(engine.entries().into_keys().collect::<Vec<_>>(), ["other"]);
            assert_eq!(
                engine.ask("GET", &format!("/{alias}"), &Value::Null).0,
                404,
                "nothing is made under its other name"
            );
            let refused = opened(&engine.settings(), 1).err().unwrap();
            assert!(matches!(&refused, Fault::Refused(why) if why.message.contains("dynamic")), "{refused}");
            engine.done("DELETE", "/PATH", &Value::Null);
            let anew = opened(&engine.settings(), 2).unwrap().generation();
            assert!(anew.identity != before.identity && anew.number == 0 && anew.seq == 0, "{anew:?}");
        }
    }
}

#[test]
fn an_index_that_was_brought_back_from_a_snapshot_is_another_one() {
    for engine in SearchEngine::each("an_index_that_was_brought_back_from_a_snapshot_is_another_one") {
        let mut output = opened(&engine.settings(), 1).unwrap();
        assert!(apply(output.as_mut(), &[put("a", 1, "one")]).iter().all(Result::is_ok));
        let first = commit(output.as_mut()).unwrap();
        engine.done("PUT", "/_snapshot/PATH", &json!({"type": "fs", "settings": {"location": engine.index}}));
        engine.done("PUT", "/_snapshot/PATH/one?wait_for_completion=true", &json!({"indices": engine.index}));
        let restore = || {
            engine.done(
                "POST",
                "/_snapshot/PATH/one/_restore?wait_for_completion=true",
                &json!({"indices": engine.index}),
            );
        };
        // Over an index that stays, it is of an earlier commit.
        assert!(apply(output.as_mut(), &[put("a", 2, "two")]).iter().all(Result::is_ok));
        let second = commit(output.as_mut()).unwrap();
        assert!(apply(output.as_mut(), &[put("b", 3, "two")]).iter().all(Result::is_ok));
        engine.done("POST", "/PATH/_close", &Value::Null);
        restore();
        assert_eq!(commit(output.as_mut()).unwrap_err().reason().code, "replaced");
        let back = opened(&engine.settings(), 2).unwrap().generation();
        assert!(
            back != second && (back.identity != second.identity || back.number < second.number),
            "{back:?} {second:?}"
        );
        // In the place of one that was dropped, it is another one.
        engine.done("DELETE", "/PATH", &Value::Null);
        restore();
        assert_ne!(opened(&engine.settings(), 3).unwrap().generation().identity, first.identity);
        engine.done("DELETE", "/_snapshot/PATH/one", &Value::Null);
        engine.done("DELETE", "/_snapshot/PATH", &Value::Null);
    }
}

#[test]
fn an_index_that_somebody_made_is_taken_over_where_it_is_empty_and_as_entries_need_it() {
    for engine in SearchEngine::each(
        "an_index_that_somebody_made_is_taken_over_where_it_is_empty_and_as_entries_need_it",
    ) {
        let refused = |what: &str| {
            let settings = engine.settings();
            let (checked, opened) = ((OUTPUT.check)(&settings, &context(1)), opened(&settings, 1).err());
            for fault in [checked.err(), opened] {
                let told = fault.map(|fault| fault.reason().message).unwrap_or_default();
                assert!(told.contains(what), "`{what}` is not in: {told}");
            }
            engine.done("DELETE", "/PATH", &Value::Null);
        };
        let mut ours = crate::opensearch::template::mappings(&serde_json::Map::new());
        ours["_meta"] = json!({"of": "somebody"});
        engine.done(
            "PUT",
            "/PATH",
            &json!({"mappings": ours, "settings": {"index": {"number_of_shards": 2}}}),
        );
        let mut output = opened(&engine.settings(), 1).unwrap();
        assert!(apply(output.as_mut(), &[put("a", 1, "one")]).iter().all(Result::is_ok));
        commit(output.as_mut()).unwrap();
        let (_, described) = engine.ask("GET", "/PATH", &Value::Null);
        assert_eq!(described[&engine.index]["mappings"]["_meta"]["of"], "somebody");
        let other = OutputContext { store: "store-2".to_owned(), ..context(1) };
        let told = (OUTPUT.open)(&engine.settings(), &other).err().unwrap().reason().message;
        assert!(told.contains("another store"), "{told}");
        engine.done("DELETE", "/PATH", &Value::Null);

        let mut drifted = ours.clone();
        drifted["properties"]["acl"] = json!({"type": "text"});
        engine.done("PUT", "/PATH", &json!({"mappings": drifted}));
        refused("`acl` is \"text\" and not \"long\"");
        engine.done("PUT", "/PATH", &json!({"mappings": ours}));
        engine.done("PUT", "/PATH/_doc/1", &json!({"title": "of somebody"}));
        refused("holds entries of others");
        engine.done(
            "PUT",
            &format!("/{}-behind", engine.index),
            &json!({"aliases": {engine.index.clone(): {}}}),
        );
        let told = opened(&engine.settings(), 1).err().unwrap().reason().message;
        assert!(told.contains("is an alias of"), "{told}");
        engine.done("DELETE", &format!("/{}-behind", engine.index), &Value::Null);
    }
}

#[test]
fn an_index_is_emptied_by_making_it_anew_and_numbers_go_on() {
    for engine in SearchEngine::each("an_index_is_emptied_by_making_it_anew_and_numbers_go_on") {
        let mut output = opened(&engine.settings(), 1).unwrap();
        assert!(apply(output.as_mut(), &[put("a", 41, "one")]).iter().all(Result::is_ok));
        let before = commit(output.as_mut()).unwrap();
        let anew = output.clear(&call()).unwrap();
        assert!(anew.identity != before.identity && (anew.number, anew.seq) == (0, 41), "{anew:?}");
        assert_eq!(engine.entries().len(), 0);
        assert_eq!(apply(output.as_mut(), &[put("a", 42, "one")]), [Ok(())]);
        assert_eq!(commit(output.as_mut()).unwrap().number, 1);
    }
}

#[test]
fn what_nobody_committed_is_told_by_the_opening_that_sent_it_and_by_its_numbers() {
    for engine in
        SearchEngine::each("what_nobody_committed_is_told_by_the_opening_that_sent_it_and_by_its_numbers")
    {
        let mut output = opened(&engine.settings(), 5).unwrap();
        assert_eq!(apply(output.as_mut(), &[put("a", 1, "one")]), [Ok(())]);
        let committed = commit(output.as_mut()).unwrap();
        assert_eq!((committed.number, committed.session, committed.seq), (1, 5, 1));
        let stands = |session| {
            let generation = opened(&engine.settings(), session).unwrap().generation();
            (generation.number, generation.session, generation.seq)
        };
        assert_eq!(stands(6), (1, 5, 1), "an opening that sends nothing leaves no trace");
        // Killed before its commit: with something that is there, and with something that is gone.
        let mut killed = opened(&engine.settings(), 7).unwrap();
        assert_eq!(apply(killed.as_mut(), &[put("b", 20, "two")]), [Ok(())]);
        assert_eq!(stands(8), (1, 7, 20));
        let mut killed = opened(&engine.settings(), 9).unwrap();
        assert_eq!(apply(killed.as_mut(), &[change("b", 30, Op::Delete)]), [Ok(())]);
        assert_eq!(stands(10), (1, 9, 1));
        let looked = (OUTPUT.look.unwrap())(&engine.settings(), &context(0)).unwrap().unwrap().generation();
        assert_eq!((looked.number, looked.session), (1, 9));
        // Somebody else has written since: what this one does is not confirmed.
        assert_eq!(commit(output.as_mut()).unwrap_err().reason().code, "replaced");
    }
}

#[test]
fn an_index_that_somebody_has_closed_is_told_with_how_it_is_opened() {
    for engine in SearchEngine::each("an_index_that_somebody_has_closed_is_told_with_how_it_is_opened") {
        let mut output = opened(&engine.settings(), 1).unwrap();
        assert!(apply(output.as_mut(), &[put("a", 1, "one")]).iter().all(Result::is_ok));
        let before = commit(output.as_mut()).unwrap();
        let told = |fault: Option<Fault>, path: &str| {
            let fault = fault.unwrap();
            let told = fault.reason().message;
            assert!(told.contains("is closed") && told.contains(path), "{told}");
            assert!(matches!(fault, Fault::Passing { .. }), "{told}");
        };
        engine.done("POST", "/PATH/_close", &Value::Null);
        for batch in [vec![put("b", 2, "two")], vec![change("a", 3, Op::Delete)], vec![access("a", 4)]] {
            apply(output.as_mut(), &batch).into_iter().for_each(|answer| told(answer.err(), "/_open`"));
        }
        let path = format!("`POST /{}/_open`", engine.index);
        told(opened(&engine.settings(), 2).err(), &path);
        told((OUTPUT.look.unwrap())(&engine.settings(), &context(0)).err(), &path);
        engine.done("POST", "/PATH/_open", &Value::Null);
        assert_eq!(opened(&engine.settings(), 2).unwrap().generation(), before);
    }
}
