//! The command line as a client of a service: the same words, the same answers, the same exit codes.

use serde_json::json;

use super::same::{ASKED, prepared, pushed, settled, with_channel};
use super::{Service, key};
use crate::sandbox::{Answer, Kept, Sandbox, finish};

/// A command of somebody who has no data directory, but the address of a service and perhaps a key.
pub(super) fn asked(sandbox: &Sandbox, server: &str, key: Option<&str>, words: &[&str]) -> Answer {
    let mut command = sandbox.plain(&[words, &["--server", server]].concat());
    command.env_remove("INGATHER_API_KEY").env("XDG_DATA_HOME", sandbox.path().join("nowhere"));
    if let Some(key) = key {
        command.env("INGATHER_API_KEY", key);
    }
    finish(command, None)
}

#[test]
fn every_row_answers_a_client_what_it_answers_the_command_line() {
    let sandbox = prepared(Kept::Sqlite);
    pushed(&sandbox);
    let service = with_channel(&sandbox);
    let network = format!("http://{}", service.address);
    let socket = format!("unix:{}", sandbox.data().join("ingather.sock").display());
    for (name, words, ..) in ASKED {
        let words = [words, &["--json"][..]].concat();
        // A command notes that the service holds the data directory, and the service that it does so itself.
        if *name == "system.doctor" {
            let by_client = asked(&sandbox, &socket, None, &words);
            assert!(by_client.json().len() > 5, "{by_client:?}");
            continue;
        }
        let here = sandbox.run(&words);
        assert!([0, 1].contains(&here.code), "{here:?}");
        for by_client in
            [asked(&sandbox, &network, Some(&service.key), &words), asked(&sandbox, &socket, None, &words)]
        {
            let is_timed = *name == "access.tokens";
            let told = |answer: &Answer| match is_timed {
                true => answer.json().iter().map(|line| settled(line).to_string()).collect(),
                false => answer.out.clone(),
            };
            assert_eq!((by_client.code, told(&by_client)), (here.code, told(&here)), "{name}: {by_client:?}");
        }
    }
    assert!(!sandbox.path().join("nowhere").exists(), "a client makes no data directory");
}

#[test]
fn a_client_starts_and_stops_jobs_and_is_told_what_is_refused() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    sandbox.synced(&[]);
    let searcher = key(&sandbox, "ann", &["searcher"], None);
    let mut service = Service::start(&sandbox);
    let network = format!("http://{}", service.address);
    let own = service.key.clone();
    let ask = |words: &[&str]| asked(&sandbox, &network, Some(&own), words);
    let started = ask(&["job", "start", "root", "--json"]).exits(0);
    assert_eq!(started.json(), [json!({"job": "root", "mode": "full"})]);
    service.tells("run of job root: ended");
    assert_eq!(ask(&["job", "abort", "root"]).exits(0).out, "job root is not worked on here\n");
    let made = ask(&["api-key", "create", "bob", "--role", "operator", "--json"]).exits(0);
    assert!(made.json()[0]["key"].as_str().unwrap().starts_with("ing_"));
    ask(&["job", "show", "none"]).refuses(2, &["there is no job `none`"]);
    ask(&["backup", "b.tar"]).refuses(2, &["no service does system.backup", "leave --server out"]);
    ask(&["completions", "bash"]).refuses(2, &["leave --server out"]);
    asked(&sandbox, &network, Some(&searcher), &["job", "list"]).refuses(2, &["needs the role operator"]);
    asked(&sandbox, &network, Some("ing_0_0"), &["job", "list"]).refuses(2, &["no API key of this service"]);
    asked(&sandbox, &network, None, &["job", "list"]).refuses(2, &["needs an API key"]);
    asked(&sandbox, "http://192.0.2.1:1", Some(&own), &["job", "list"]).refuses(2, &["encrypts nothing"]);
    let deleted = ask(&["job", "delete", "root", "--yes", "--json"]).exits(0);
    assert_eq!(deleted.json()[0]["deleted"], 1);
    service.end(rustix::process::Signal::TERM).exits(143);
    ask(&["job", "list"]).refuses(3, &["cannot be asked", "is `ingather serve` running there?"]);
}

#[test]
fn commands_that_a_client_proposes_ask_the_same_service() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    sandbox.synced(&[]);
    let service = Service::start(&sandbox);
    let network = format!("http://{}", service.address);
    let ask = |words: &[&str]| asked(&sandbox, &network, Some(&service.key), words);
    ask(&["job", "pause", "root"]).exits(0);
    let told = ask(&["status"]).exits(1);
    let proposed = format!("`ingather job resume root --server {network}` lets it run");
    assert!(told.out.contains(&proposed), "{told:?}");
    let refused = ask(&["document", "erase", "root", "none", "--yes"]).exits(2);
    assert!(refused.err.contains(&format!("`ingather document erased --server {network}`")), "{refused:?}");
}
