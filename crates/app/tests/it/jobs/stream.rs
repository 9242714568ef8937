//! The program beside a real NATS: whoever consumes the stream holds what is in the source, whatever happens to either.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ingather_testkit::nats::{Client, Message, Server, Stream};
use serde_json::{Value, json};

use super::outside::{self, counted, tree};
use crate::dice::Dice;
use crate::files;
use crate::sandbox::{Answer, Sandbox};
use crate::stops::kill::killed_after;

const OUTPUT: &str = "nats:docs";

/// A sandbox with some files, whose output is declared.
fn declared(stream: &Stream, count: usize) -> Sandbox {
    let sandbox = outside::with_files(count);
    declare(&sandbox, stream.settings()).exits(0);
    sandbox
}

fn declare(sandbox: &Sandbox, settings: Value) -> Answer {
    outside::declare(sandbox, &[(OUTPUT, settings)])
}

fn synced(sandbox: &Sandbox) -> BTreeMap<String, u64> {
    sandbox.synced(&["--to", OUTPUT]).0
}

/// A consumer, which holds what the manual says that one holds.
struct Consumer {
    client: Client,
    stream: String,
    state: Value,
    last: i64,
    entries: BTreeMap<String, Value>,
    acls: BTreeSet<i64>,
    containers: BTreeSet<String>,
    /// What was told last of each address.
    told: BTreeMap<String, Value>,
    /// Operations, in their order.
    ops: Vec<String>,
}

impl Consumer {
    fn of(stream: &Stream) -> Consumer {
        Consumer {
            client: stream.client(),
            stream: stream.name.clone(),
            state: Value::Null,
            last: 0,
            entries: BTreeMap::new(),
            acls: BTreeSet::new(),
            containers: BTreeSet::new(),
            told: BTreeMap::new(),
            ops: Vec::new(),
        }
    }

    /// Takes what there is by now, at most so many messages.
    fn takes(&mut self, most: usize) -> &mut Consumer {
        for (_, message) in self.client.consume(&self.stream, "reader", most) {
            self.take(message);
        }
        self
    }

    fn take(&mut self, message: Value) {
        assert_eq!(message["schema"], 1, "{message}");
        let (op, seq) = (message["op"].as_str().unwrap().to_owned(), message["seq"].as_i64().unwrap());
        assert!(seq > self.last, "numbers grow from message to message: {message}");
        self.last = seq;
        let id = message["id"].as_str().unwrap_or_default().to_owned();
        if op == "run" && message["state"] != self.state {
            self.entries.clear();
            self.told.clear();
            self.acls.clear();
            self.containers.clear();
            self.state = message["state"].clone();
        }
        if ["put", "access", "delete"].contains(&op.as_str()) {
            let told = json!([op, message["version"], message["acl"], message["container"]]);
            assert_ne!(self.told.insert(id.clone(), told.clone()), Some(told), "it is told twice: {message}");
        }
        match op.as_str() {
            "acl" | "group_acl" => drop(self.acls.insert(message["id"].as_i64().unwrap())),
            "container" => drop(self.containers.insert(id)),
            "put" => drop(self.entries.insert(id, message)),
            // A kill leaves the program unsure of what it told last, and a deletion may be behind it: whatever there is is hidden then, be it
            // nothing.
            "access" => match self.entries.get_mut(&id) {
                None => assert_eq!(message["hidden"], true, "{message}"),
                Some(entry) => {
                    let fits = message["version"].is_null() || message["version"] == entry["version"];
                    for name in ["acl", "container", "hidden"] {
                        entry[name] = if fits { message[name].clone() } else { Value::Null };
                    }
                }
            },
            "delete" => drop(self.entries.remove(&id)),
            _ => {}
        }
        self.ops.push(op);
    }

    /// Operations since the last time.
    fn heard(&mut self) -> Vec<String> {
        std::mem::take(&mut self.ops)
    }

    #[track_caller]
    fn is_exact(&mut self, sandbox: &Sandbox) {
        self.takes(usize::MAX);
        let text = |entry: &Value| entry["fields"]["body"].as_str().unwrap_or_default().to_owned();
        let held: BTreeMap<String, String> =
            self.entries.iter().map(|(id, one)| (id.clone(), text(one))).collect();
        assert_eq!(held, tree(&sandbox.root()));
        for entry in self.entries.values() {
            assert_eq!(entry["hidden"], false, "{entry}");
            assert!(self.acls.contains(&entry["acl"].as_i64().unwrap()), "nobody knows its list: {entry}");
            assert!(
                self.containers.contains(entry["container"].as_str().unwrap()),
                "nobody knows its folder: {entry}"
            );
        }
    }
}

#[test]
fn a_consumer_follows_the_source_and_a_run_without_changes_tells_its_begin_and_end_alone() {
    let test = "a_consumer_follows_the_source_and_a_run_without_changes_tells_its_begin_and_end_alone";
    let Some(stream) = Stream::here(test) else { return };
    let sandbox = declared(&stream, 40);
    assert_eq!(synced(&sandbox), counted(&[("added", 40)]));
    let mut consumer = Consumer::of(&stream);
    consumer.is_exact(&sandbox);
    consumer.heard();
    assert_eq!(synced(&sandbox), counted(&[("unchanged", 40)]));
    consumer.is_exact(&sandbox);
    assert_eq!(consumer.heard(), ["run", "run_end"]);

    // A folder that closes is one message, whatever is below it.
    files::tool("chmod", &["0700"], &sandbox.root().join("d1"));
    synced(&sandbox);
    consumer.is_exact(&sandbox);
    let heard = consumer.heard();
    assert!(heard.contains(&"container".to_owned()) && !heard.contains(&"put".to_owned()), "{heard:?}");

    // Whoever may read a file is told without its text.
    files::tool("chmod", &["0600"], &sandbox.root().join("d2/f002.txt"));
    synced(&sandbox);
    consumer.is_exact(&sandbox);
    let heard = consumer.heard();
    assert!(heard.contains(&"access".to_owned()) && !heard.contains(&"put".to_owned()), "{heard:?}");

    sandbox.write("d3/f003.txt", "another text");
    sandbox.write("d6/new.txt", "a new text");
    std::fs::remove_file(sandbox.root().join("d4/f004.txt")).unwrap();
    files::settle(&sandbox.root());
    assert_eq!(synced(&sandbox), counted(&[("added", 1), ("updated", 1), ("deleted", 1), ("unchanged", 38)]));
    consumer.is_exact(&sandbox);

    // A stream that is dropped is made anew, and told everything.
    stream.dropped();
    synced(&sandbox);
    Consumer::of(&stream).is_exact(&sandbox);
    sandbox.run(&["verify", OUTPUT]).refuses(2, &[OUTPUT]);
}

#[test]
fn a_program_that_is_killed_anywhere_leaves_a_consumer_with_every_last_state_told_once() {
    let test = "a_program_that_is_killed_anywhere_leaves_a_consumer_with_every_last_state_told_once";
    let Some(stream) = Stream::here(test) else { return };
    let sandbox = declared(&stream, 200);
    let mut dice = Dice::new(21);
    let mut killed = 0;
    synced(&sandbox);
    let mut consumer = Consumer::of(&stream);
    for round in 0..12 {
        for n in (round % 3..200).step_by(3) {
            sandbox.write(&format!("d{}/f{n:03}.txt", n % 5), &format!("text {n} of round {round}"));
        }
        let _ = std::fs::remove_file(sandbox.root().join(format!("d{}/f{round:03}.txt", round % 5)));
        let micros = dice.below(400_000) as u64;
        let command = sandbox.command(&["sync", "root", "--to", OUTPUT, "-q"]);
        killed += usize::from(killed_after(command, Duration::from_micros(micros)));
        consumer.takes(100);
    }
    assert!(killed >= 6, "{killed} of 12 met a run");
    files::settle(&sandbox.root());
    synced(&sandbox);
    consumer.is_exact(&sandbox);
}

#[test]
fn a_server_that_dies_during_a_run_costs_no_document_and_no_message_twice() {
    let test = "a_server_that_dies_during_a_run_costs_no_document_and_no_message_twice";
    let Some(mut server) = Server::start(test, "") else { return };
    let stream = Stream::at(&server.url());
    let sandbox = declared(&stream, 300);
    synced(&sandbox);
    (0..300).for_each(|n| sandbox.write(&format!("d{}/f{n:03}.txt", n % 5), &format!("another text {n}")));
    files::settle(&sandbox.root());
    let before = stream.described()["state"]["last_seq"].as_u64().unwrap();
    std::thread::scope(|scope| {
        let run = scope.spawn(|| synced(&sandbox));
        while stream.described()["state"]["last_seq"].as_u64().is_none_or(|last| last == before) {}
        server.stop();
        server.go_on();
        assert_eq!(run.join().unwrap(), counted(&[("updated", 300)]));
    });
    Consumer::of(&stream).is_exact(&sandbox);
}

#[test]
fn a_stream_is_declared_before_a_job_names_it_and_its_secrets_are_shown_to_nobody() {
    let test = "a_stream_is_declared_before_a_job_names_it_and_its_secrets_are_shown_to_nobody";
    let Some(mut server) = Server::start(test, "authorization { user: ingather, password: hunter2narwhal }")
    else {
        return;
    };
    let stream = Stream::at(&server.url());
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "a text");
    sandbox.run(&["sync", "root", "--to", OUTPUT]).refuses(2, &[OUTPUT, "not declared", "apply"]);
    let mut settings = stream.settings();
    let wrong = json!({"servers": ["nats://nats.example.org"], "stream": "docs", "subject": "docs"});
    declare(&sandbox, wrong).refuses(2, &["servers", "tls://"]);
    (settings["user"], settings["password"]) = (json!("ingather"), json!("hunter2narwhal"));
    assert!(declare(&sandbox, settings.clone()).exits(0).out.contains("made: nats"));
    let shown = sandbox.run(&["export"]).exits(0).out;
    assert!(shown.contains("\"password\": \"(hidden)\"") && !shown.contains("hunter2narwhal"), "{shown}");
    assert_eq!(synced(&sandbox), counted(&[("added", 1)]));
    let mut command = sandbox.command(&["sync", "root", "-vv", "--to", OUTPUT]);
    command.env("INGATHER_LOG", "trace,async_nats=trace");
    let told = crate::sandbox::finish(command, None).exits(0);
    assert!(!told.err.contains("hunter2narwhal"), "{}", told.err);
    let why = [OUTPUT, "does not take the credentials"];
    settings["password"] = json!("another");
    declare(&sandbox, settings).refuses(2, &why);
    server.configure("authorization { user: ingather, password: changed }");
    server.go_on();
    sandbox.run(&["sync", "root", "--to", OUTPUT]).refuses(3, &why);
    assert!(sandbox.run(&["status"]).exits(1).out.contains(why[1]));
}

/// What was told of entries, without the first so many: operation and key, sorted, for workers send them as they are done.
fn told(stream: &Stream, without: usize) -> Vec<String> {
    let entry = |message: Message| {
        let (op, id) = (message.body["op"].as_str()?.to_owned(), message.body["id"].as_str()?.to_owned());
        Some(format!("{op} {}", id.strip_prefix("push:tickets/")?))
    };
    let mut told: Vec<String> = stream.messages().into_iter().filter_map(entry).skip(without).collect();
    told.sort();
    told
}

#[test]
fn pushed_records_go_to_the_streams_that_conditions_name_and_count_once_these_have_stored_them() {
    let test = "pushed_records_go_to_the_streams_that_conditions_name_and_count_once_these_have_stored_them";
    let Some(mut server) = Server::start(test, "") else { return };
    let (all, sales) = (Stream::at(&server.url()), Stream::at(&server.url()));
    let sandbox = Sandbox::sqlite();
    outside::declare(&sandbox, &[("nats:all", all.settings()), ("nats:sales", sales.settings())]).exits(0);
    let outputs = "stages = []\n[[outputs]]\noutput = \"nats:all\"\n[[outputs]]\noutput = \"nats:sales\"\n\
                   when = { field = \"title\", equals = \"sale\" }\n";
    std::fs::write(sandbox.path().join("routes.toml"), outputs).unwrap();
    sandbox.run(&["job", "define", "push:tickets", "--pipeline", "routes.toml"]).exits(0);
    let push = |records: &[Value]| {
        let lines: String = records.iter().map(|record| format!("{record}\n")).collect();
        std::fs::write(sandbox.path().join("records.jsonl"), lines).unwrap();
        sandbox.run(&["push", "records.jsonl", "--source", "tickets", "--json"])
    };
    let record = |key: &str, title: &str| json!({"key": key, "title": title, "text": "a text", "access": ["everybody"]});
    // Those of the first so many are known.
    let reports = |without: usize| {
        let told = sandbox.run(&["source", "reports", "tickets", "--json"]).exits(0).json();
        let report =
            |line: &Value| format!("{} {}", line["key"].as_str().unwrap(), line["outcome"].as_str().unwrap());
        let mut told: Vec<String> = told.iter().skip(without).map(report).collect();
        told.sort();
        told
    };
    push(&[record("1", "sale"), record("2", "lamp")]).exits(0);
    assert_eq!(told(&all, 0), ["put 1", "put 2"]);
    assert_eq!(told(&sales, 0), ["put 1"]);
    assert_eq!(reports(0), ["1 indexed", "2 indexed"]);
    push(&[json!({"key": "1", "delete": true})]).exits(0);
    assert_eq!((told(&all, 2), told(&sales, 1)), (vec!["delete 1".to_owned()], vec!["delete 1".to_owned()]));

    // What no stream has stored counts as told to none.
    server.stop();
    let refused = push(&[record("3", "sale"), json!({"key": "2", "delete": true})]);
    assert!(refused.code != 0 && refused.err.contains("cannot be asked"), "{refused:?}");
    assert_eq!(reports(3), [""; 0]);
    server.go_on();
    push(&[record("4", "lamp")]).exits(0);
    assert_eq!(told(&all, 3), ["delete 2", "put 3", "put 4"]);
    assert_eq!(told(&sales, 2), ["put 3"]);
    assert_eq!(reports(3), ["2 deleted", "3 indexed", "4 indexed"]);
}
