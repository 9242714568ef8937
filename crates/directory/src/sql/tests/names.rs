//! Names are data, whatever is in them.

use super::*;

const ODD: [&str; 22] = [
    "'",
    "''",
    "\"",
    "\\",
    "\\'",
    "ann'",
    "ann\\",
    "ann' --",
    "ann'/*",
    "' OR '1'='1",
    "ann' OR name = 'bob",
    "'; DROP TABLE people; --",
    "'); DELETE FROM public.members; --",
    "$1",
    "$$ann$$",
    "E'\\x61nn'",
    "%",
    "_nn",
    "a%",
    "ａｎｎ",
    "ann\u{200b}",
    "{\"name\": \"ann\"}",
];

#[test]
fn names_of_all_kinds_find_nobody_else_and_change_nothing() {
    let database = few();
    let rows = database.rows();
    for person in [json!(PERSON), Value::Null] {
        let authority = opened(&changed(settings(&database), &json!({"person": person})));
        for name in ODD {
            assert_eq!(ask(authority.as_ref(), name), Ok(Answer::Unknown), "{name}");
        }
        let mut random = fastrand::Rng::with_seed(1);
        let letters: Vec<char> = "an'\"\\;-%$1_( )*ü\u{301}".chars().collect();
        for _ in 0..300 {
            let name: String =
                (0..random.usize(1..8)).map(|_| letters[random.usize(0..letters.len())]).collect();
            if name != "ann" {
                assert_eq!(ask(authority.as_ref(), &name), Ok(Answer::Unknown), "{name}");
            }
        }
        assert_eq!(whole(ask(authority.as_ref(), "ann")), ANN);
    }
    assert_eq!(database.rows(), rows);
}

#[test]
fn people_with_odd_names_are_known_by_them() {
    let database = few();
    let all = ODD.map(|name| format!("'{}'", name.replace('\'', "''"))).join("), (");
    database.script(&format!(
        "INSERT INTO people SELECT name, true FROM (VALUES ({all})) odd (name);
         INSERT INTO members SELECT name, 'of ' || name FROM (VALUES ({all})) odd (name)"
    ));
    let authority = opened(&settings(&database));
    for name in ODD {
        assert_eq!(
            whole(ask(authority.as_ref(), name)),
            [format!("group:of {name}"), format!("user:{name}")]
        );
    }
}

/// What can be no name is asked nowhere: there is no server.
#[test]
fn what_is_no_name_is_nobody_without_a_question() {
    let authority = opened(&json!({"url": "postgres://u@127.0.0.1:1/d", "tokens": TOKENS}));
    let long = "x".repeat(257);
    for name in ["", " ann", "ann ", "an\0n", "ann\n", "\u{7f}", "ann\u{a0}", &long] {
        assert_eq!(ask(authority.as_ref(), name), Ok(Answer::Unknown), "{name:?}");
    }
    assert!(fault(ask(authority.as_ref(), &"x".repeat(256))).contains("cannot be reached"));
}
