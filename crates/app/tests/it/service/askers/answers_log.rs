//! Answers about access are put on record, where that is wanted: no answer without a line, and no line without its answer.

use std::os::unix::fs::PermissionsExt;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::service::http::Request;
use crate::service::{Service, key};

use super::{SEARCH, two_files};

#[test]
fn each_answer_about_access_is_on_record_and_what_cannot_be_is_not_given() {
    let sandbox = two_files();
    let file = sandbox.path().join("answers.jsonl");
    let admin = key(&sandbox, "admin", &["admin"], None);
    let flags = ["--answers-log", file.to_str().unwrap(), "--user-acls", "127.0.0.1:0"];
    let mut service = Service::with(&sandbox, admin, &flags);
    let told = service.tells("plug-ins of ManifoldCF ask at http://");
    let plug_ins = told.trim().rsplit("//").next().unwrap().trim_end_matches("/UserACLs").parse().unwrap();

    let tokens = service.ask("GET", "/api/v1/authority/tokens?user=root").is(200);
    service.ask("GET", "/api/v1/authority/tokens?user=no-such-user").refuses(404, "no_such_user");
    service.ask("GET", "/api/v1/authority/why?user=root&document=open.txt").is(200);
    service.ask("GET", "/api/v1/authority/filter?user=root&engine=solr&output=index").is(200);
    service.ask("GET", SEARCH).is(200);
    service.ask("GET", &format!("{SEARCH}&as=root")).is(200);
    service.ask("GET", &format!("{SEARCH}&all=true")).is(200);
    service.ask("GET", "/api/v1/jobs").is(200);
    let acls = Request::new("GET", "/UserACLs?username=root&username_1=x%0Ay").send(plug_ins).is(200);

    let text = std::fs::read_to_string(&file).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let about = |line: &Value| {
        let users =
            line["users"].as_array().unwrap().iter().map(|user| user["user"].as_str().unwrap().to_owned());
        let everything = line["everything"].as_bool().unwrap_or_default();
        let word = |field: &str| line[field].as_str().unwrap().to_owned();
        (word("caller"), word("operation"), users.collect::<Vec<_>>(), everything, word("outcome"))
    };
    let line = |caller: &str, operation: &str, users: &[&str], everything, outcome: &str| {
        let users = users.iter().map(|user| (*user).to_owned()).collect::<Vec<_>>();
        (caller.to_owned(), operation.to_owned(), users, everything, outcome.to_owned())
    };
    let expected = [
        line("key admin", "access.tokens", &["root"], false, "done"),
        line("key admin", "access.tokens", &["no-such-user"], false, "no_such_user"),
        line("key admin", "access.why", &["root"], false, "done"),
        line("key admin", "access.filter", &["root"], false, "done"),
        line("key admin", "search", &[], false, "done"),
        line("key admin", "search", &["root"], false, "done"),
        line("key admin", "search", &[], true, "done"),
        line("127.0.0.1", "authority.user_acls", &["root", "x\ny"], false, "done"),
    ];
    assert_eq!(lines.iter().map(about).collect::<Vec<_>>(), expected);
    // Whoever kept an answer can show that it is the one on record.
    let digest = |answer: &str| json!(blake3::hash(answer.as_bytes()).to_hex().to_string());
    assert_eq!((&lines[0]["digest"], &lines[7]["digest"]), (&digest(&tokens.body), &digest(&acls.body)));
    assert_eq!(lines[1].get("digest"), None, "a refusal tells nothing");
    assert!(!text.contains("unix:"), "what somebody holds is not in it: {text}");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);

    // Where the file cannot be begun anew, nothing is answered.
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    for path in ["/api/v1/authority/tokens?user=root", SEARCH] {
        let refused = service.ask("GET", path);
        assert!(
            refused.status >= 400 && !refused.body.contains("unix:") && !refused.body.contains("apple"),
            "{refused:?}"
        );
    }
    let refused = Request::new("GET", "/UserACLs?username=root").send(plug_ins);
    assert!(refused.status >= 400 && !refused.body.contains("TOKEN"), "{refused:?}");
    service.ask("GET", "/api/v1/jobs").is(200);
    service.end(Signal::TERM);
    sandbox
        .run(&["serve", "--listen", "127.0.0.1:0", "--answers-log", file.to_str().unwrap()])
        .refuses(3, &["answers.jsonl"]);
}
