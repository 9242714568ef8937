//! Servers that are away, silent, end connections or are not who they should be.

use std::io::{Read, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use super::*;
use crate::proxies::{cutting, serving};

#[test]
fn a_server_that_is_away_silent_or_none_is_a_fault_in_time() {
    let silent = serving(|mut stream| {
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let dripping = serving(|mut stream| {
        let (_wait, never) = std::sync::mpsc::channel::<()>();
        let _ = stream.write_all(b"N\0\0\xff\xff");
        while stream.write_all(b"x").is_ok() {
            let _ = never.recv_timeout(Duration::from_millis(20));
        }
    });
    let other = serving(|mut stream| {
        let _ = stream.read(&mut [0; 1_024]);
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    let at = |url: &str| url.replace("ldap://", "postgres://u@") + "/d";
    for (url, words) in [
        ("postgres://u@127.0.0.1:1/d".to_owned(), "cannot be reached"),
        ("postgres://u@%2Fnowhere/d".to_owned(), "cannot be reached"),
        (at(&silent), "did not answer in time"),
        (at(&dripping), "did not answer in time"),
        (at(&other), "database"),
    ] {
        // clock: real sockets wait by it.
        let began = Instant::now();
        let authority = opened(&json!({"url": url, "tokens": TOKENS, "person": PERSON}));
        let said = fault(ask_within(authority.as_ref(), "ann", Duration::from_millis(300)));
        assert!(said.contains(words), "{url}: {said}");
        assert!(began.elapsed() < Duration::from_secs(5), "{url}: {:?}", began.elapsed());
    }
}

/// Cut at each byte of the answers, an answer has all tokens or is a fault.
#[test]
fn an_answer_that_is_cut_anywhere_is_whole_or_a_fault() {
    let database = few();
    let after = Arc::new(AtomicUsize::new(usize::MAX));
    let (_, rest) = database.url().split_once('@').unwrap();
    let (host, name) = rest.split_once('/').unwrap();
    let url = cutting(host.parse().unwrap(), Arc::clone(&after)).replace("ldap://", "postgres://ingather@");
    let settings = changed(settings(&database), &json!({"url": format!("{url}/{name}")}));
    let (mut faults, mut answers) = (0, 0);
    for bytes in (0..1_500).step_by(3) {
        after.store(bytes, Ordering::Relaxed);
        match ask(opened(&settings).as_ref(), "ann") {
            Err(_) => faults += 1,
            answer => {
                answers += 1;
                assert_eq!(whole(answer), ANN, "{bytes}");
            }
        }
    }
    assert!(faults > 100 && answers > 50, "{faults} faults and {answers} answers");
}

/// The driver takes whatever comes; here is a bound.
#[test]
fn more_than_anybody_needs_is_a_fault_and_is_not_kept_in_memory() {
    let database = few();
    let long = "SELECT repeat('x', $1) FROM generate_series(1, 70) WHERE $1 <> ''".replace("$1)", "1000000)");
    for query in [json!({"tokens": long}), json!({"tokens": "SELECT repeat('x', 70000000) WHERE $1 <> ''"})] {
        let authority = opened(&changed(settings(&database), &query));
        assert_eq!(fault(ask(authority.as_ref(), "ann")), "the database sent too much", "{query}");
        // Who waits for less is answered afterwards.
        assert_eq!(ask(authority.as_ref(), "eve"), Ok(Answer::Unknown));
    }
    let near = opened(&changed(settings(&database), &json!({"tokens": long.replace("70", "60")})));
    for _ in 0..2 {
        assert_eq!(
            whole(ask(near.as_ref(), "ann")).len(),
            2,
            "the same token, sixty times, for each question anew"
        );
    }
    // The head of a message of 2 GB, and what never ends: to a login, before anybody has proven anything.
    let sent = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&sent);
    let endless = serving(move |mut stream| {
        let _ = stream.read(&mut [0; 1_024]);
        let _ = stream.write_all(b"R\x7f\xff\xff\xff");
        while stream.write_all(&[0; 65_536]).is_ok() {
            counted.fetch_add(65_536, Ordering::Relaxed);
        }
    });
    let url = endless.replace("ldap://", "postgres://u@") + "/d";
    let said = fault(ask(opened(&json!({"url": url, "tokens": TOKENS})).as_ref(), "ann"));
    assert_eq!(said, "the database sent too much");
    // Most of that waits in the system.
    assert!(sent.load(Ordering::Relaxed) < 64 << 20, "{sent:?} bytes were taken");
}

#[test]
fn a_query_that_sleeps_is_a_fault_in_time_and_ends_at_the_server() {
    let database = few();
    let slow = "SELECT 'staff'::text FROM pg_sleep(60) WHERE $1 <> ''";
    let authority = opened(&changed(settings(&database), &json!({ "tokens": slow })));
    // clock: the server sleeps by its own.
    let began = Instant::now();
    let said = fault(ask_within(authority.as_ref(), "ann", Duration::from_millis(700)));
    assert!(said.contains("in time"), "{said}");
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    let asleep =
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()";
    let (_wait, never) = std::sync::mpsc::channel::<()>();
    let ended = (0..200).any(|_| {
        let _ = never.recv_timeout(Duration::from_millis(20));
        database.counts(asleep) == 0
    });
    assert!(ended, "the server goes on with a question that nobody waits for");
}

/// What little time one question had is not what the next one has on the same connection.
#[test]
fn each_question_has_its_own_time() {
    let database = few();
    let slow = "SELECT 'staff'::text FROM pg_sleep(CASE WHEN $1 = 'ann' THEN 3 ELSE 0 END) WHERE $1 <> ''";
    let authority = opened(&changed(settings(&database), &json!({"tokens": slow})));
    for _ in 0..2 {
        assert_eq!(whole(ask_within(authority.as_ref(), "bob", Duration::from_millis(2_500))).len(), 2);
        assert_eq!(whole(ask(authority.as_ref(), "ann")).len(), 2);
    }
    assert_eq!(
        database.counts("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"),
        2
    );
}

#[test]
fn who_waits_survives_the_end_of_connections_and_changes_of_tables() {
    let database = few();
    let authority = opened(&settings(&database));
    let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()";
    assert_eq!(whole(ask(authority.as_ref(), "ann")), ANN);
    for _ in 0..3 {
        assert_eq!(database.counts(end), 1, "one connection waits");
        assert_eq!(whole(ask(authority.as_ref(), "ann")), ANN);
    }
    // A statement that was prepared before gives another type now: asked anew it is as it was, or not as promised.
    database.script("ALTER TABLE members ALTER COLUMN of TYPE varchar(40)");
    assert_eq!(whole(ask(authority.as_ref(), "ann")), ANN);
    database.script("ALTER TABLE members ALTER COLUMN of TYPE char(40)");
    assert!(fault(ask(authority.as_ref(), "ann")).contains("it gives bpchar"));
    // One that ends its own connection is asked no more than once more.
    let own = "SELECT pg_terminate_backend(pg_backend_pid())::text WHERE $1 <> ''";
    let authority = opened(&changed(settings(&database), &json!({ "tokens": own })));
    assert!(fault(ask(authority.as_ref(), "ann")).contains("cannot be reached"));
}

#[test]
fn a_database_or_role_that_is_not_there_and_tls_that_is_not_there_are_faults() {
    let database = few();
    let (server, _) = database.url().rsplit_once('/').unwrap();
    for (change, words) in [
        (json!({"url": format!("{server}/no_such_database")}), "\"no_such_database\" does not exist"),
        (
            json!({"url": database.url().replace("ingather@", "no_such_role@")}),
            "\"no_such_role\" does not exist",
        ),
        (json!({"tls": "start"}), "does not support TLS"),
        (json!({"tls": "start", "ca_file": "/nowhere/roots.pem"}), "/nowhere/roots.pem"),
    ] {
        let authority = opened(&changed(settings(&database), &change));
        let said = fault(ask(authority.as_ref(), "ann"));
        assert!(said.contains(words), "{change}: {said}");
        assert!(authority.check(&call()).is_err());
    }
}
