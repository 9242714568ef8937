//! Who holds what.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use ingather_model::access::Acl;
use ingather_testkit::suites::{self, AuthoritySample};

use super::super::AUTHORITY;
use super::*;

#[test]
fn it_keeps_what_an_authority_promises() {
    let database = few();
    let change = json!({"password": "not asked for"});
    let cut =
        || database.script("INSERT INTO members VALUES ('ann', ''); DELETE FROM members WHERE of = 'all'");
    let obstruct = || database.script("DROP TABLE members");
    suites::authority(
        &AUTHORITY,
        &AuthoritySample {
            settings: changed(settings(&database), &change),
            known: Some(("ann", &ANN)),
            presented: None,
            cut: Some(&cut),
            obstruct: Some(&obstruct),
        },
    );
}

#[test]
fn people_are_known_shut_out_or_nobody() {
    let database = few();
    let authority = opened(&settings(&database));
    assert_eq!(whole(ask(authority.as_ref(), "ann")), ANN);
    assert_eq!(whole(ask(authority.as_ref(), "bob")), ["user:bob"]);
    assert_eq!(ask(authority.as_ref(), "dan"), Ok(Answer::Unauthorized));
    assert_eq!(ask(authority.as_ref(), "eve"), Ok(Answer::Unknown));
    let said = authority.check(&call()).unwrap();
    let name = database.url().rsplit_once('/').unwrap().1;
    assert!(said.starts_with("PostgreSQL 1") && said.contains("answers ingather"), "{said}");
    assert!(said.ends_with(&format!("in the database {name}")), "{said}");
    // Without a query for people, whoever has a row is known.
    let authority = opened(&changed(settings(&database), &json!({"person": null})));
    assert_eq!(whole(ask(authority.as_ref(), "ann")), ANN);
    assert_eq!(ask(authority.as_ref(), "bob"), Ok(Answer::Unknown));
    // Somebody is called as the database calls them, and not as they were typed.
    let any = "SELECT name::varchar FROM public.people WHERE lower(name) = lower($1)";
    let authority = opened(&changed(settings(&database), &json!({"person": any})));
    assert_eq!(whole(ask(authority.as_ref(), "ANN")), ANN);
    assert_eq!(whole(ask(authority.as_ref(), "dan")), ["group:all", "group:staff", "user:dan"]);
}

/// 500 people in 60 groups that are in each other, in circles too, and what a walk through them finds.
#[test]
fn people_hold_what_a_random_company_says() {
    let mut random = fastrand::Rng::with_seed(47);
    let mut edges: BTreeSet<(String, String)> = BTreeSet::new();
    for group in 0..60 {
        for _ in 0..random.usize(0..3) {
            edges.insert((format!("g{group}"), format!("g{}", random.usize(0..60))));
        }
    }
    for person in 0..500 {
        for _ in 0..random.usize(0..4) {
            edges.insert((format!("p{person}"), format!("g{}", random.usize(0..60))));
        }
    }
    let mut script = FEW.to_owned();
    for (member, of) in &edges {
        writeln!(script, "INSERT INTO members VALUES ('{member}', '{of}');").unwrap();
    }
    script.push_str("INSERT INTO people SELECT 'p' || n, true FROM generate_series(0, 499) n;");
    let database = Database::fresh(Kind::Postgres);
    database.script(&script);
    let authority = opened(&settings(&database));
    let mut most = 0;
    for person in 0..500 {
        let name = format!("p{person}");
        let mut met: BTreeSet<String> = BTreeSet::new();
        let mut next = vec![name.clone()];
        while let Some(member) = next.pop() {
            for (_, of) in edges.iter().filter(|(of_it, _)| *of_it == member) {
                if met.insert(of.clone()) {
                    next.push(of.clone());
                }
            }
        }
        most = most.max(met.len());
        let mut expected: Vec<String> = met.iter().map(|group| format!("group:{group}")).collect();
        expected.push(format!("user:{name}"));
        assert_eq!(whole(ask(authority.as_ref(), &name)), expected);
    }
    assert!(most > 20, "groups are in each other: {most}");
}

#[test]
fn what_cannot_be_told_of_tokens_is_not_whole() {
    let database = few();
    let of = |change: &Value| opened(&changed(settings(&database), change));
    for (row, lacks) in [("NULL", "null"), ("''", "empty")] {
        let tokens = format!("SELECT 'staff' WHERE $1 = 'ann' UNION ALL SELECT {row}::text");
        let authority = of(&json!({"tokens": tokens}));
        assert_eq!(in_part(ask(authority.as_ref(), "ann")), ["group:staff", "user:ann"], "{lacks}");
    }
    let many = "SELECT n::text FROM generate_series(1, 5) n WHERE $1 <> ''";
    let at_most = |max: usize| of(&json!({"tokens": many, "max": max}));
    assert_eq!(whole(ask(at_most(5).as_ref(), "ann")).len(), 6);
    assert_eq!(in_part(ask(at_most(4).as_ref(), "ann")).len(), 5);
    // A person whose name is spelled as a group is has no token by it, and the other way round.
    let person = "SELECT 'group:staff'::text WHERE $1 = 'ann'";
    let authority =
        of(&json!({"person": person, "tokens": "SELECT 'all'::text WHERE $1 <> ''", "user_prefix": ""}));
    assert_eq!(in_part(ask(authority.as_ref(), "ann")), ["group:all"]);
    let tokens = "SELECT 'user:bob'::text WHERE $1 = 'ann'";
    let authority = of(&json!({"tokens": tokens, "group_prefix": ""}));
    assert_eq!(in_part(ask(authority.as_ref(), "ann")), ["user:ann"]);
}

#[test]
fn rows_that_come_twice_are_one_token_and_none_at_all_is_nobody_or_a_person_alone() {
    let database = few();
    let of = |change: &Value| opened(&changed(settings(&database), change));
    let twice = "SELECT 'staff' FROM generate_series(1, 3) WHERE $1 <> '' UNION ALL SELECT 'all'";
    let authority = of(&json!({"tokens": twice, "max": 4}));
    assert_eq!(whole(ask(authority.as_ref(), "ann")), ANN);
    // Whatever is beyond the maximum is not looked at, and may be another token.
    assert_eq!(in_part(ask(of(&json!({"tokens": twice, "max": 3})).as_ref(), "ann")), ANN[1..]);
    let none = "SELECT 'staff'::text WHERE $1 IS NULL";
    assert_eq!(whole(ask(of(&json!({"tokens": none})).as_ref(), "ann")), ["user:ann"]);
    assert_eq!(ask(of(&json!({"tokens": none, "person": null})).as_ref(), "ann"), Ok(Answer::Unknown));
}

/// 10,000 tokens unless the settings say otherwise; with one more, no list that denies anybody is passed.
#[test]
fn who_has_too_many_rows_passes_no_list_that_denies() {
    let database = few();
    let many = |rows: usize| format!("SELECT 'g' || n FROM generate_series(1, {rows}) n WHERE $1 <> ''");
    let of = |rows| opened(&changed(settings(&database), &json!({"tokens": many(rows)})));
    let passes = |rows: usize, deny: &[&str]| {
        let Ok(Answer::Known(tokens)) = ask(of(rows).as_ref(), "ann") else { panic!("ann is known") };
        let list = |tokens: &[&str]| tokens.iter().map(|token| (*token).to_owned()).collect();
        Acl::Flat { allow: list(&["group:g1"]), deny: list(deny) }.admits(&tokens)
    };
    assert_eq!((passes(10_000, &["group:x"]), passes(10_001, &["group:x"])), (true, false));
    assert_eq!((passes(10_001, &[]), passes(10_000, &["group:g9"])), (true, false));
}

/// A change between the two queries is seen by both or by neither.
#[test]
fn both_queries_see_one_state() {
    let database = few();
    let slow = "SELECT name FROM public.people, pg_sleep(1.5) WHERE name = $1";
    let authority = opened(&changed(settings(&database), &json!({"person": slow})));
    let asking = std::thread::spawn(move || ask(authority.as_ref(), "ann"));
    for _ in 0..100 {
        // The question has begun once the server sleeps for it.
        let (_wait, never) = std::sync::mpsc::channel::<()>();
        let _ = never.recv_timeout(Duration::from_millis(20));
        if sleeps(&database) {
            break;
        }
    }
    assert!(sleeps(&database));
    database.script("DELETE FROM members");
    assert_eq!(whole(asking.join().unwrap()), ANN);
}

/// Whether a query sleeps in this database: who asks that is told by an error.
fn sleeps(database: &Database) -> bool {
    !database.counts("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()")
        .eq(&0)
}
