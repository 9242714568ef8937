//! A database that is declared: who somebody is by its tables, and what that opens and closes.

use ingather_testkit::postgres::Postgres;
use serde_json::{Value, json};

use crate::sandbox::{Answer, Sandbox};

const PASSWORD: &str = "zebra-secret-7";
/// As the manual has it (`docs/manual/authorities.md`): two tables, and a role that may read them and do nothing else.
const PEOPLE: &str = "
    CREATE TABLE people (login text PRIMARY KEY, active boolean NOT NULL);
    CREATE TABLE members (member text NOT NULL, team text NOT NULL);
    INSERT INTO people VALUES ('ann', true), ('bob', true), ('dan', false);
    INSERT INTO members VALUES ('ann', 'editors'), ('bob', 'editors'), ('editors', 'staff'), ('bob', 'trainees');
    CREATE ROLE reader LOGIN PASSWORD 'zebra-secret-7';
    GRANT SELECT ON people, members TO reader;";
const RULES: &str = "\
hostnossl all ingather 127.0.0.1/32 trust
hostssl all reader 127.0.0.1/32 scram-sha-256
";
const PERSON: &str = "SELECT login, active FROM public.people WHERE login = $1";
const TOKENS: &str = "
    WITH RECURSIVE held AS (
        SELECT team FROM public.members WHERE member = $1
        UNION
        SELECT m.team FROM public.members m JOIN held ON m.member = held.team)
    SELECT team FROM held";

fn declaration(sandbox: &Sandbox, server: &Postgres, max: u32) -> Value {
    let access = json!({"allow": ["group:staff"], "deny": ["group:trainees"]});
    json!({
        "version": 1,
        "repositories": {"files": {"kind": "filesystem", "group": "company"}},
        "authorities": {"people": {
            "kind": "sql",
            "settings": {
                "url": server.url("localhost", "reader"),
                "password": PASSWORD,
                "tls": "start",
                "ca_file": server.root(),
                "person": PERSON,
                "tokens": TOKENS,
                "max": max,
            },
            "group": "company",
            "domain": "acme",
        }, "machine": {
            "kind": "listed", "settings": {"file": sandbox.path().join("people.json")}, "group": "company", "domain": "acme",
        }},
        "jobs": [{
            "name": "docs", "source": {"root": sandbox.root()},
            "stages": [{"transform": "text", "settings": {}}, {"transform": "access", "settings": access}],
        }],
    })
}

fn apply(sandbox: &Sandbox, declaration: &Value) {
    std::fs::write(sandbox.path().join("declaration.json"), declaration.to_string()).unwrap();
    sandbox.run(&["apply", "-f", "declaration.json"]).exits(0);
}

fn search(sandbox: &Sandbox, name: &str) -> Answer {
    sandbox.run(&["search", "apple", "--as", name, "--domain", "acme", "--json"])
}

fn company() -> (Postgres, Sandbox) {
    let server = Postgres::start(PEOPLE, RULES);
    let sandbox = Sandbox::sqlite();
    // Folders of this machine are open to its users.
    let people = json!({"users": {"ann": ["unix:everyone"], "bob": ["unix:everyone"]}});
    std::fs::write(sandbox.path().join("people.json"), people.to_string()).unwrap();
    sandbox.write("plan.txt", "apple");
    crate::files::settle(&sandbox.root());
    apply(&sandbox, &declaration(&sandbox, &server, 10));
    sandbox.run(&["sync", "docs"]).exits(0);
    (server, sandbox)
}

#[test]
fn whoever_a_database_knows_finds_what_its_rows_open_and_nothing_while_it_is_away() {
    let (mut server, sandbox) = company();
    assert_eq!(search(&sandbox, "ann").exits(0).documents(), ["plan.txt"]);
    assert_eq!(search(&sandbox, "bob").exits(0).documents(), [""; 0], "a trainee");
    search(&sandbox, "dan").refuses(2, &["may not enter"]);
    let forged = "x' OR login = 'ann";
    search(&sandbox, forged).refuses(2, &[&format!("no authority knows a user `{forged}`")]);
    let tokens = sandbox.run(&["tokens", "ann", "--domain", "acme"]).exits(0).out;
    assert_eq!(
        tokens,
        "company: group:editors\ncompany: group:staff\ncompany: unix:everyone\ncompany: user:ann\n"
    );
    let listed = sandbox.run(&["authority", "list"]).exits(0).out;
    assert!(listed.contains("answers reader in the database postgres"), "{listed}");
    let exported = sandbox.run(&["export"]).exits(0).out;
    assert!(exported.contains("\"password\"") && !exported.contains(PASSWORD), "{exported}");

    server.stop();
    assert_eq!(search(&sandbox, "ann").exits(0).documents(), [""; 0], "the database may call her a trainee");
    let told = sandbox.run(&["search", "apple", "--as", "ann", "--domain", "acme"]).exits(0).err;
    assert!(told.contains("less may be found"), "{told}");
    let tokens = sandbox.run(&["tokens", "ann", "--domain", "acme"]).exits(0);
    assert!(tokens.err.contains("the database cannot be reached"), "{tokens:?}");
    search(&sandbox, "cid").refuses(3, &["the database cannot be reached"]);
    server.go_on();
    assert_eq!(search(&sandbox, "ann").exits(0).documents(), ["plan.txt"]);
    // What a row says counts with the next question.
    server.script("INSERT INTO members VALUES ('ann', 'trainees')");
    assert_eq!(search(&sandbox, "ann").exits(0).documents(), [""; 0]);
}

#[test]
fn a_database_that_refuses_or_has_more_than_the_maximum_hides_and_says_what_to_do() {
    let (server, sandbox) = company();
    // Ann has two rows; which further ones, nobody has looked.
    apply(&sandbox, &declaration(&sandbox, &server, 1));
    assert_eq!(search(&sandbox, "ann").exits(0).documents(), [""; 0]);
    let tokens = sandbox.run(&["tokens", "ann", "--domain", "acme"]).exits(0);
    assert!(tokens.err.contains("not all tokens of ann could be asked for"), "{tokens:?}");
    apply(&sandbox, &declaration(&sandbox, &server, 2));
    assert_eq!(search(&sandbox, "ann").exits(0).documents(), ["plan.txt"]);

    for (change, words) in [
        ("REVOKE SELECT ON members FROM reader", "GRANT SELECT"),
        ("ALTER TABLE members RENAME TO teams", "name tables with their schema"),
        ("ALTER ROLE reader PASSWORD 'another'", "set `password` to that of the role in `url`"),
    ] {
        server.script(change);
        for command in [&["doctor"] as &[&str], &["authority", "list"]] {
            let told = sandbox.run(command).exits(1);
            let said = format!("{}{}", told.out, told.err);
            assert!(said.contains("people") && said.contains(words), "{change}: {told:?}");
            assert!(!said.contains("zebra-secret"), "{told:?}");
        }
        let told = sandbox.run(&["search", "apple", "--as", "ann", "--domain", "acme"]).exits(0);
        assert!(told.err.contains("less may be found") && !told.out.contains("plan.txt"), "{told:?}");
    }
}
