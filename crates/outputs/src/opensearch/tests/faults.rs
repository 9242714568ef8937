//! A network that cuts, loses and delays, and a server that is busy: exact in the end, and never an older text over a newer one.

use std::sync::atomic::{AtomicUsize, Ordering};

use ingather_testkit::search_engine::{Heard, InjectedFault, Proxy};

use super::*;

fn is_bulk(heard: &Heard) -> bool {
    heard.path.contains("/_bulk")
}

/// A proxy that does this to the first bulk requests.
fn failing(engine: &SearchEngine, first: &'static [InjectedFault]) -> (Proxy, Value) {
    let bulks = AtomicUsize::new(0);
    let proxy = Proxy::before(&engine.url, move |heard| match is_bulk(heard) {
        true => first.get(bulks.fetch_add(1, Ordering::Relaxed)).copied().unwrap_or(InjectedFault::None),
        false => InjectedFault::None,
    });
    let settings = engine.settings_by(&proxy.url);
    (proxy, settings)
}

#[test]
fn a_request_that_fails_in_any_way_is_made_again_and_every_entry_is_there_once() {
    for engine in
        SearchEngine::each("a_request_that_fails_in_any_way_is_made_again_and_every_entry_is_there_once")
    {
        let (proxy, settings) = failing(
            &engine,
            &[
                InjectedFault::CutOff,
                InjectedFault::AnswerLost,
                InjectedFault::HalfAnswer,
                InjectedFault::Refused(429),
                InjectedFault::Refused(503),
            ],
        );
        let mut output = opened(&settings, 1).unwrap();
        let names: Vec<String> = (0..200).map(|n| format!("{n:03}")).collect();
        let batch: Vec<Change> = names.iter().zip(1..).map(|(name, seq)| put(name, seq, name)).collect();
        assert!(apply(output.as_mut(), &batch).iter().all(Result::is_ok));
        assert_eq!(commit(output.as_mut()).unwrap().number, 1);
        assert_eq!(proxy.heard().iter().filter(|heard| is_bulk(heard)).count(), 6);
        let bodies: Vec<String> =
            engine.entries().values().map(|entry| entry["body"].as_str().unwrap().to_owned()).collect();
        assert_eq!(bodies, names);
        assert!(listed(output.as_mut()).iter().zip(1..).all(|(entry, seq)| entry.version == Digest(seq)));
    }
}

#[test]
fn a_request_that_arrives_late_changes_nothing_newer() {
    for engine in SearchEngine::each("a_request_that_arrives_late_changes_nothing_newer") {
        let (proxy, settings) = failing(&engine, &[InjectedFault::Held]);
        let mut output = opened(&settings, 1).unwrap();
        let first = [put("a", 1, "old"), put("b", 2, "old"), put("c", 3, "old")];
        assert!(apply(output.as_mut(), &first).iter().all(Result::is_ok));
        let second = [put("a", 4, "new"), change("b", 5, Op::Delete), access("c", 6)];
        assert!(apply(output.as_mut(), &second).iter().all(Result::is_ok));
        commit(output.as_mut()).unwrap();
        assert_eq!(proxy.release(), 1);
        let entries = engine.entries();
        let told = |name: &str| {
            entries.get(name).map(|entry| (entry["body"].as_str().unwrap(), entry["seq"].as_i64()))
        };
        assert_eq!(told("test://a"), Some(("new", Some(4))));
        assert_eq!(told("test://b"), None);
        assert_eq!(told("test://c"), Some(("old", Some(6))));
    }
}

#[test]
fn a_server_that_takes_less_at_once_gets_less_and_an_entry_alone_is_refused_by_it() {
    for engine in
        SearchEngine::each("a_server_that_takes_less_at_once_gets_less_and_an_entry_alone_is_refused_by_it")
    {
        let proxy = Proxy::before(&engine.url, |heard| match is_bulk(heard) && heard.bytes > 20_000 {
            true => InjectedFault::Refused(413),
            false => InjectedFault::None,
        });
        let mut output = opened(&engine.settings_by(&proxy.url), 1).unwrap();
        let text = "word ".repeat(1_000);
        let mut batch: Vec<Change> = (1..=20).map(|seq| put(&format!("{seq:02}"), seq, &text)).collect();
        batch.insert(7, put("large", 30, &text.repeat(5)));
        let answers = apply(output.as_mut(), &batch);
        for (at, answer) in answers.iter().enumerate() {
            match at {
                7 => assert_eq!(answer.as_ref().unwrap_err().reason().code, "entry_too_large"),
                _ => assert_eq!(answer, &Ok(()), "{at}"),
            }
        }
        assert_eq!(engine.entries().len(), 20);
    }
}

#[test]
fn whoever_stops_waits_for_no_busy_server_and_nothing_counts_as_sent() {
    for engine in SearchEngine::each("whoever_stops_waits_for_no_busy_server_and_nothing_counts_as_sent") {
        let proxy = Proxy::before(&engine.url, |heard| {
            if is_bulk(heard) { InjectedFault::Refused(429) } else { InjectedFault::None }
        });
        let mut output = opened(&engine.settings_by(&proxy.url), 1).unwrap();
        let call = call();
        call.cancel.cancel();
        let answers = output.apply(&call, &[put("a", 1, "one")]);
        assert!(matches!(&answers[..], [Err(Fault::Passing { .. })]), "{answers:?}");
        assert_eq!(proxy.heard().iter().filter(|heard| is_bulk(heard)).count(), 1);
    }
}

#[test]
fn a_refresh_counts_only_where_a_shard_has_made_it_and_none_has_failed_to() {
    for engine in SearchEngine::each("a_refresh_counts_only_where_a_shard_has_made_it_and_none_has_failed_to")
    {
        for told in [
            r#"{"_shards": {"total": 2, "successful": 0, "failed": 0}}"#,
            r#"{"_shards": {"total": 2, "successful": 1, "failed": 1}}"#,
            r#"{"_shards": {"total": 2, "failed": 0}}"#,
        ] {
            let engine = engine.another();
            // Those of its opening are answered by the server.
            let is_asked = Arc::new(std::sync::atomic::AtomicBool::new(false));
            let asked = is_asked.clone();
            let proxy = Proxy::before(&engine.url, move |heard| {
                match asked.load(Ordering::Relaxed) && heard.path.contains("/_refresh") {
                    true => InjectedFault::Told(told),
                    false => InjectedFault::None,
                }
            });
            let mut output = opened(&engine.settings_by(&proxy.url), 1).unwrap();
            assert_eq!(apply(output.as_mut(), &[put("a", 1, "one")]), [Ok(())]);
            is_asked.store(true, Ordering::Relaxed);
            let fault = commit(output.as_mut()).unwrap_err();
            let why = fault.reason().message;
            assert!(
                matches!(fault, Fault::Passing { .. }) && why.contains("all of the index"),
                "{told}: {why}"
            );
            let noted = |told: Value| told[&engine.index]["mappings"]["_meta"]["ingather"]["number"].clone();
            assert_eq!(noted(engine.done("GET", "/PATH", &Value::Null)), 0, "{told}: nothing is committed");
            is_asked.store(false, Ordering::Relaxed);
            let mut output = opened(&engine.settings(), 2).unwrap();
            assert_eq!(apply(output.as_mut(), &[put("a", 2, "one")]), [Ok(())]);
            assert_eq!(commit(output.as_mut()).unwrap().number, 1);
        }
    }
}
