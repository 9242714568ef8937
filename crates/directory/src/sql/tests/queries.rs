//! Queries that are not as the settings promise: a fault, never an answer.

use super::*;

fn told(database: &Database, change: &Value) -> (String, String) {
    let authority = opened(&changed(settings(database), change));
    let said = fault(ask(authority.as_ref(), "ann"));
    (said, authority.check(&call()).err().map_or_else(String::new, |fault| fault.reason().message))
}

/// What is wrong with a query whoever is asked about is told by the check as well.
#[test]
fn a_query_that_cannot_be_meant_is_a_fault_and_is_told_by_the_check() {
    let database = few();
    database.script("CREATE TYPE kind AS ENUM ('a')");
    for (change, words) in [
        (
            json!({"tokens": "SELECT of FROM public.members"}),
            "`tokens` must have one parameter, $1, for the name; it has 0",
        ),
        (json!({"tokens": "SELECT '$1'::text"}), "it has 0"),
        (json!({"tokens": "SELECT $1::text || $2::text"}), "it has 2"),
        (json!({"tokens": "SELECT $1 || $2"}), "`tokens`"),
        (json!({"tokens": "SELECT of, member FROM public.members WHERE member = $1"}), "it gives text, text"),
        (json!({"tokens": "SELECT 1 WHERE $1 = 'ann'"}), "it gives int4"),
        (json!({"tokens": "SELECT 'ann'::char(5) WHERE $1 = 'ann'"}), "it gives bpchar"),
        (json!({"tokens": "SELECT ARRAY[$1::text]"}), "it gives _text"),
        (json!({"tokens": "SELECT WHERE $1 = 'ann'"}), "it gives none"),
        (
            json!({"tokens": "SELECT of FROM public.member WHERE member = $1"}),
            "relation \"public.member\" does not exist",
        ),
        (
            json!({"tokens": "SELECT of FROM members WHERE member = $1"}),
            "relation \"members\" does not exist",
        ),
        (json!({"tokens": "SELEKT $1"}), "code 42601: syntax error"),
        (json!({"tokens": "SELECT $1::text; DELETE FROM public.members"}), "cannot insert multiple commands"),
        (json!({"tokens": "COMMIT"}), "it has 0"),
        (json!({"person": "SELECT name FROM public.people WHERE oid = $1 AND active"}), "does not exist"),
        (
            json!({"person": "SELECT active FROM public.people WHERE name = $1"}),
            "`person` must give one column",
        ),
        (
            json!({"person": "SELECT name, 'true'::text FROM public.people WHERE name = $1"}),
            "it gives text, text",
        ),
        (
            json!({"person": "SELECT name, active, 1 FROM public.people WHERE name = $1"}),
            "it gives text, bool, int4",
        ),
        (json!({"person": "SELECT $1::text FROM public.people WHERE 'a'::public.kind = $1"}), "`person`"),
    ] {
        let (said, checked) = told(&database, &change);
        assert!(said.contains(words), "{change}: {said}");
        assert_eq!(checked, said, "{change}");
    }
}

/// The driver asks for types inside types by calling itself; a table of others must not end the process.
#[test]
fn types_inside_types_are_followed_within_a_bound() {
    let database = few();
    database.script(
        "CREATE TYPE t0 AS (inner_one int);
         DO $$ BEGIN FOR n IN 1..3000 LOOP
             EXECUTE format('CREATE TYPE public.t%s AS (inner_one public.t%s)', n, n - 1);
         END LOOP; END $$",
    );
    let of = |levels: u32| json!({"tokens": format!("SELECT NULL::public.t{levels} WHERE $1 <> ''")});
    assert!(told(&database, &of(10)).0.contains("it gives t10"));
    let (said, checked) = told(&database, &of(3_000));
    assert_eq!(
        (said.as_str(), checked.as_str()),
        ("the database sent too much", "the database sent too much")
    );
}

#[test]
fn a_row_that_cannot_be_meant_is_a_fault() {
    let database = few();
    for (person, words) in [
        ("SELECT $1::text UNION ALL SELECT 'bob'", "more than one row"),
        ("SELECT $1::text FROM generate_series(1, 1000000)", "more than one row"),
        ("SELECT NULL::text WHERE $1 = 'ann'", "without a name"),
        ("SELECT ''::text, true WHERE $1 = 'ann'", "without a name"),
        ("SELECT $1::text, NULL::boolean", "may enter"),
        ("SELECT (1 / (length($1) - 3))::text", "division by zero"),
    ] {
        let said = told(&database, &json!({"person": person})).0;
        assert!(said.contains(words), "{person}: {said}");
    }
}

#[test]
fn a_query_that_writes_is_a_fault_and_writes_nothing() {
    let database = few();
    database.script(
        "CREATE SEQUENCE numbers;
         CREATE FUNCTION noted(name text) RETURNS text LANGUAGE plpgsql AS
         $$ BEGIN INSERT INTO public.groups VALUES (name); RETURN name; END $$",
    );
    let rows = database.rows();
    for tokens in [
        "WITH gone AS (DELETE FROM public.members WHERE member = $1 RETURNING of) SELECT of FROM gone",
        "INSERT INTO public.groups VALUES ($1) RETURNING name",
        "UPDATE public.people SET active = false WHERE name = $1 RETURNING name",
        "SELECT public.noted($1)",
        "SELECT nextval('public.numbers')::text WHERE $1 <> ''",
    ] {
        let (said, checked) = told(&database, &json!({ "tokens": tokens, "person": null }));
        assert!(said.contains("read-only transaction"), "{tokens}: {said}");
        // One that writes only where somebody is found is told once somebody is.
        assert!(checked.is_empty() || checked == said, "{tokens}: {checked}");
    }
    assert_eq!(database.rows(), rows);
    let free = "SELECT set_config('transaction_read_only', 'off', true) WHERE $1 <> ''";
    assert!(told(&database, &json!({"tokens": free})).0.contains("read-write mode"));
}

/// Rows that the database hides from the role may be tokens that deny.
#[test]
fn rows_that_are_hidden_from_the_role_are_a_fault() {
    let database = few();
    let role = format!("reader_{}", database.url().rsplit_once('/').unwrap().1);
    database.script(&format!(
        "CREATE ROLE {role} LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role};
         ALTER TABLE members ENABLE ROW LEVEL SECURITY;
         CREATE POLICY few ON members USING (of = 'staff')"
    ));
    let url = database.url().replace("ingather@", &format!("{role}@"));
    let said = told(&database, &json!({ "url": url })).0;
    database.script(&format!("DROP OWNED BY {role}; DROP ROLE {role}"));
    assert!(said.contains("row-level security"), "{said}");
}

/// What somebody puts in front of a function or table by its bare name does not count.
#[test]
fn names_without_a_schema_mean_what_the_system_brings() {
    let database = few();
    database.script(
        "CREATE FUNCTION lower(text) RETURNS text LANGUAGE sql AS $$ SELECT 'bob'::text $$;
         DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = public, pg_catalog', current_database()); END $$",
    );
    let person = "SELECT name FROM public.people WHERE name = lower($1)";
    let authority = opened(&changed(settings(&database), &json!({ "person": person })));
    assert_eq!(whole(ask(authority.as_ref(), "ANN")), ANN);
}

/// A session may be another one with each question, where something stands between; what holds for questions is said in each.
#[test]
fn what_a_session_was_told_is_told_by_each_question() {
    let database = few();
    let tokens = "WITH found AS MATERIALIZED (
            SELECT current_setting('row_security') || current_setting('search_path') || current_setting('transaction_read_only') word)
        SELECT word FROM found WHERE $1 <> '' AND set_config('row_security', 'on', false) = 'on'
            AND set_config('search_path', 'public', false) = 'public'
            AND set_config('default_transaction_read_only', 'off', false) = 'off'";
    let authority = opened(&changed(settings(&database), &json!({ "tokens": tokens })));
    for _ in 0..3 {
        assert_eq!(whole(ask(authority.as_ref(), "ann")), ["group:off\"\"on", "user:ann"]);
    }
}
