//! Authorities that are declared: who somebody is by all of them, and what that opens and closes.

use serde_json::{Value, json};

use crate::sandbox::{Answer, Sandbox};

/// A sandbox with two documents for the staff that trainees do not see, and people of a directory.
fn company() -> Sandbox {
    let sandbox = Sandbox::sqlite();
    sandbox.write("plan.txt", "apple");
    sandbox.write("notes/more.txt", "apple");
    crate::files::settle(&sandbox.root());
    people(
        &sandbox,
        &json!({
            "users": {"ann": ["editors"], "bob": ["editors", "trainees"], "cid": ["unix:everyone"]},
            "groups": {"editors": ["staff", "unix:everyone"]},
            "shut_out": ["dan"],
        }),
    );
    apply(&sandbox, &declaration(&sandbox)).exits(0);
    sandbox.run(&["sync", "docs"]).exits(0);
    sandbox
}

fn people(sandbox: &Sandbox, people: &Value) {
    std::fs::write(sandbox.path().join("people.json"), people.to_string()).unwrap();
}

fn declaration(sandbox: &Sandbox) -> Value {
    let access = json!({"allow": ["staff"], "deny": ["trainees"]});
    json!({
        "version": 1,
        "repositories": {"files": {"kind": "filesystem", "group": "company"}},
        "authorities": {"directory": {
            "kind": "listed", "settings": {"file": sandbox.path().join("people.json")}, "group": "company", "domain": "acme",
            "mapping": [{"pattern": "(.+)@acme[.]example", "name": "$1", "case": "lower"}],
        }},
        "jobs": [{
            "name": "docs", "source": {"root": sandbox.root()},
            "stages": [{"transform": "text", "settings": {}}, {"transform": "access", "settings": access}],
        }],
    })
}

fn apply(sandbox: &Sandbox, declaration: &Value) -> Answer {
    std::fs::write(sandbox.path().join("declaration.json"), declaration.to_string()).unwrap();
    sandbox.run(&["apply", "-f", "declaration.json"])
}

fn found_by(sandbox: &Sandbox, name: &str) -> Vec<String> {
    sandbox.run(&["search", "apple", "--as", name, "--domain", "acme", "--json"]).exits(0).documents()
}

#[test]
fn whoever_a_directory_knows_finds_what_its_tokens_open_and_nothing_more() {
    let sandbox = company();
    let all = ["notes/more.txt", "plan.txt"];
    assert_eq!(found_by(&sandbox, "Ann@acme.example"), all);
    assert_eq!(found_by(&sandbox, "bob@acme.example"), [""; 0], "a trainee");
    assert_eq!(found_by(&sandbox, "cid@acme.example"), [""; 0]);
    assert_eq!(sandbox.everything().len(), 2);
    // Neither does a name of another domain, or one that the mapping does not fit, nor does a token of another group.
    let search =
        |name: &str, domain: &str| sandbox.run(&["search", "apple", "--as", name, "--domain", domain]);
    search("ann", "acme").refuses(2, &["no authority knows a user `ann`"]);
    search("ann@acme.example", "elsewhere")
        .refuses(2, &["no authority knows users of the domain `elsewhere`"]);
    sandbox
        .run(&["search", "apple", "--as", "ann@acme.example"])
        .refuses(2, &["no user `ann@acme.example` on this machine"]);
    let root = sandbox.run(&["search", "apple", "--as", "root", "--json"]).exits(0).documents();
    assert_eq!(root, [""; 0], "root of this machine is of another group");

    let tokens = sandbox.run(&["tokens", "ann@acme.example", "--domain", "acme"]).exits(0);
    assert_eq!(tokens.out, "company: editors\ncompany: staff\ncompany: unix:everyone\n");
    let tokens =
        &sandbox.run(&["tokens", "ann@acme.example", "--domain", "acme", "--json"]).exits(0).json()[0];
    let said = &tokens["authorities"][0];
    assert_eq!(
        (&said["authority"], &said["asked_as"], &said["answer"]),
        (&json!("directory"), &json!("ann"), &json!("known"))
    );
    let why = sandbox.run(&["why", "bob@acme.example", "plan.txt", "--domain", "acme"]).exits(0).out;
    assert!(why.contains("may not see") && why.contains("trainees"), "{why}");
}

#[test]
fn an_authority_that_cannot_be_asked_hides_what_it_may_deny_and_is_named() {
    let sandbox = company();
    let mut declared = declaration(&sandbox);
    let mut other = declared["authorities"]["directory"].clone();
    other["settings"]["file"] = json!(sandbox.path().join("missing.json"));
    declared["authorities"]["partner"] = other;
    let applied = apply(&sandbox, &declared).exits(0);
    assert!(format!("{}{}", applied.out, applied.err).contains("partner"), "{applied:?}");
    assert_eq!(found_by(&sandbox, "ann@acme.example"), [""; 0], "partner may call her a trainee");
    let why = sandbox.run(&["why", "ann@acme.example", "plan.txt", "--domain", "acme"]).exits(0).out;
    assert!(why.contains("trainees") && why.contains("the user may hold that"), "{why}");
    let tokens = sandbox.run(&["tokens", "ann@acme.example", "--domain", "acme"]).exits(0);
    assert!(
        tokens.err.contains("partner cannot be asked") && tokens.err.contains("missing.json"),
        "{tokens:?}"
    );
    let listed = sandbox.run(&["authority", "list"]).exits(1).out;
    assert!(listed.lines().any(|line| line.starts_with("directory") && line.contains(" yes ")), "{listed}");
    assert!(listed.lines().any(|line| line.starts_with("partner") && line.contains(" no ")), "{listed}");
    let doctor = sandbox.run(&["doctor"]).exits(1);
    assert!(
        format!("{}{}", doctor.out, doctor.err).contains("authority partner cannot be asked"),
        "{doctor:?}"
    );

    sandbox.run(&["authority", "delete", "partner"]).exits(0);
    assert_eq!(found_by(&sandbox, "ann@acme.example").len(), 2);
    sandbox
        .run(&["authority", "delete", "partner"])
        .refuses(2, &["no authority `partner`", "authority list"]);
    sandbox.run(&["authority", "delete", "unix"]).refuses(2, &["`unix`", "`null`"]);
    // Where none knows somebody, and one cannot be asked, nobody says that there is no such user.
    std::fs::write(sandbox.path().join("people.json"), "{").unwrap();
    sandbox
        .run(&["search", "apple", "--as", "ann@acme.example", "--domain", "acme"])
        .refuses(3, &["people.json"]);
}

#[test]
fn a_right_that_was_taken_is_gone_with_the_next_question_and_who_is_shut_out_may_not_enter() {
    let sandbox = company();
    assert_eq!(found_by(&sandbox, "ann@acme.example").len(), 2);
    people(&sandbox, &json!({"users": {"ann": ["unix:everyone"], "bob": ["staff"]}, "shut_out": ["bob"]}));
    assert_eq!(found_by(&sandbox, "ann@acme.example"), [""; 0]);
    sandbox
        .run(&["search", "x", "--as", "bob@acme.example", "--domain", "acme"])
        .refuses(2, &["may not enter"]);
}

#[test]
fn what_is_declared_of_authorities_is_exported_and_taken_back_and_what_cannot_be_meant_is_refused() {
    let sandbox = company();
    let exported: Value = serde_json::from_str(&sandbox.run(&["export"]).exits(0).out).unwrap();
    assert_eq!(exported["authorities"], declaration(&sandbox)["authorities"]);
    assert_eq!(exported["repositories"]["files"]["group"], "company");
    let again = apply(&sandbox, &exported).exits(0);
    assert!(!format!("{}{}", again.out, again.err).contains("directory"), "nothing changes: {again:?}");
    for (place, value, words) in [
        ("/authorities/directory/within_ms", json!(0), ["directory", "`within_ms`"]),
        ("/authorities/directory/mapping/0/pattern", json!("("), ["directory", "rule 1"]),
        ("/authorities/directory/kind", json!("null"), ["directory", "never changes"]),
        ("/authorities/directory/kind", json!("nothing"), ["no authority `nothing`", "listed"]),
        (
            "/authorities/directory/settings",
            json!({"file": "people.json"}),
            ["directory", "a path from the root"],
        ),
        ("/repositories/files/group", json!("others"), ["files", "a job uses it"]),
    ] {
        let mut wrong = exported.clone();
        *wrong.pointer_mut(place).unwrap_or(&mut Value::Null) = value.clone();
        if wrong == exported {
            wrong["authorities"]["directory"]["within_ms"] = value;
        }
        apply(&sandbox, &wrong).refuses(2, &words);
    }
    let mut named = exported.clone();
    named["authorities"]["a b"] = exported["authorities"]["directory"].clone();
    apply(&sandbox, &named).refuses(2, &["authority a b", "a name has"]);
    assert_eq!(
        serde_json::from_str::<Value>(&sandbox.run(&["export"]).exits(0).out).unwrap(),
        exported,
        "nothing was stored"
    );
    // In place of the users of this machine: nobody.
    let mut nobody = exported;
    nobody["authorities"]["unix"] = json!({"kind": "null"});
    apply(&sandbox, &nobody).exits(0);
    sandbox.run(&["tokens", "root"]).refuses(2, &["no authority knows a user `root`"]);
    sandbox.run(&["authority", "delete", "unix"]).exits(0);
    assert!(sandbox.run(&["tokens", "root"]).exits(0).out.contains("unix:u:0"));
}
