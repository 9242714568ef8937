//! Clients of the push side: REST by hand, and the small clients in Python and TypeScript, are asked the same and answer the same; what a network
//! does to them is no harm; and the programs of their page do what it says.

mod cases;
mod proxy;
mod rest;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use self::cases::{Case, cases};
use self::proxy::{Fault, Proxy};
use self::rest::Rest;
use super::Service;
use crate::sandbox::Sandbox;
use crate::service::http::Request;
use crate::service::key;
use crate::stops::upgrade::comes;

/// Does steps of cases, each with an answer.
trait Driver {
    fn ask(&mut self, step: &Value) -> Value;
}

/// A driver that is a program.
struct Script {
    child: Child,
    tells: Option<ChildStdin>,
    hears: BufReader<ChildStdout>,
}

impl Script {
    fn start(command: &mut Command) -> Script {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (tells, hears) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Script { child, tells, hears }
    }
}

impl Driver for Script {
    fn ask(&mut self, step: &Value) -> Value {
        writeln!(self.tells.as_ref().unwrap(), "{step}").unwrap();
        let mut line = String::new();
        self.hears.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error} in the answer {line:?}"))
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        // It ends with its input.
        self.tells = None;
        drop(self.child.wait());
    }
}

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn driver(name: &str) -> PathBuf {
    here("crates/app/tests/it/service/continuous/clients").join(name)
}

/// Whether Python, Node.js and a compiler of TypeScript are here; else the test is named as not run.
fn has_languages(test: &str) -> bool {
    let works = |program: &str| {
        let output = Command::new(program).arg("--version").output();
        output.is_ok_and(|output| output.status.success())
    };
    let has = ["python3", "node", "tsc"].into_iter().all(works);
    if !has {
        ingather_testkit::rights::not_run(
            test,
            "it needs python3, node and tsc; scripts/install.sh brings them",
        );
    }
    has
}

/// The client in TypeScript as Node.js of any version reads it, with its driver, in a folder of its own. It is checked on the way.
fn compiled(sandbox: &Sandbox) -> PathBuf {
    let folder = sandbox.path().join("js");
    let flags = "--strict --noUnusedLocals --noUnusedParameters --noImplicitReturns --target es2022 --module es2022 --lib es2022,dom,dom.iterable";
    let mut command = Command::new("tsc");
    command.args(flags.split(' ')).arg("--outDir").arg(&folder).arg(here("clients/typescript/ingather.ts"));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    std::fs::copy(driver("driver.mjs"), folder.join("driver.mjs")).unwrap();
    std::fs::write(folder.join("package.json"), r#"{"type": "module"}"#).unwrap();
    folder
}

fn python(address: SocketAddr) -> Script {
    let mut command = Command::new("python3");
    command.arg("-B").arg(driver("driver.py")).arg(here("clients/python")).arg(format!("http://{address}"));
    Script::start(&mut command)
}

fn typescript(address: SocketAddr, folder: &Path) -> Script {
    let mut command = Command::new("node");
    command.arg(folder.join("driver.mjs")).arg(format!("http://{address}"));
    Script::start(&mut command)
}

/// One of the two clients, by its name.
fn client(name: &str, address: SocketAddr, folder: &Path) -> Script {
    match name {
        "python" => python(address),
        _ => typescript(address, folder),
    }
}

fn define(sandbox: &Sandbox, source: &str) {
    sandbox.run(&["job", "define", &format!("push:{source}"), "--schedule", "continuous"]).exits(0);
}

/// A service whose log somebody reads: a pipe that is full would hold it.
fn serving(sandbox: &Sandbox) -> Service<'_> {
    let mut service = Service::start(sandbox);
    let mut log = service.take_log();
    std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
    service
}

/// What the suite does to a source in the middle of a case.
struct Meanwhile<'s> {
    service: &'s Service<'s>,
    source: String,
    opened: Value,
}

impl Meanwhile<'_> {
    fn does(&mut self, what: &str) {
        let source = format!("/api/v1/sources/{}", self.source);
        let post = |path: &str, body: &Value| {
            let request = Request::new("POST", &format!("{source}/{path}")).key(&self.service.key);
            request.body(body).send(self.service.address)
        };
        match what {
            "open" => self.opened = post("runs", &json!({})).is(200).json(),
            "give up" => {
                let body = json!({"token": self.opened["token"]});
                post(&format!("runs/{}/rollback", self.opened["run"]), &body).is(200);
            }
            "unlock" => drop(self.service.ask("DELETE", &format!("{source}/lock")).is(200)),
            "take over" => {
                let mut opened = Value::Null;
                assert!(comes(|| {
                    let answer = post("runs", &json!({}));
                    opened = answer.json();
                    answer.status == 200
                }));
                let body = json!({"token": opened["token"]});
                post(&format!("runs/{}/rollback", opened["run"]), &body).is(200);
            }
            other => panic!("nobody does {other}"),
        }
    }
}

/// Plays a case, and sees that each answer is the one that it names.
fn play(
    case: Case,
    name: &str,
    asked: &mut dyn Driver,
    service: &Service<'_>,
    keys: &BTreeMap<&str, String>,
) {
    let source = format!("{name}-{}", case.name);
    let mut tickets = BTreeSet::new();
    let mut meanwhile = Meanwhile { service, source: source.clone(), opened: Value::Null };
    asked.ask(&json!({"do": "use", "source": source, "key": keys["pusher"]}));
    for (number, (mut step, expected)) in case.steps.into_iter().enumerate() {
        if let Some(what) = step["service"].as_str() {
            meanwhile.does(what);
            continue;
        }
        if let Some(caller) = step["caller"].as_str() {
            step["key"] = json!(keys[caller]);
            step["source"] = json!(step["source"].as_str().unwrap_or(&source));
        }
        let mut answer = asked.ask(&step);
        let given = answer.as_object_mut().unwrap().remove("tickets");
        let what = || format!("{name}, {}, step {number}, {}", case.name, step["do"]);
        for ticket in given.iter().flat_map(|given| given.as_array().unwrap()) {
            assert!(tickets.insert(ticket.as_i64().unwrap()), "{}: a ticket twice", what());
        }
        let words = answer["results"].as_array().into_iter().flatten();
        let count = words.filter(|word| *word == "pending" || *word == "replaced").count();
        let given = given.map_or(0, |given| given.as_array().unwrap().len());
        assert_eq!(given, count, "{}: a ticket for each that is taken", what());
        same(&answer, &expected, &what());
    }
}

/// That an answer is the one that is expected, told in few words where it is not.
#[track_caller]
fn same(answer: &Value, expected: &Value, what: &str) {
    let short = |value: &Value| value.to_string().chars().take(600).collect::<String>();
    assert!(answer == expected, "{what}: {} instead of {}", short(answer), short(expected));
}

#[test]
fn rest_and_both_clients_answer_the_same_to_the_same_steps() {
    if !has_languages("rest_and_both_clients_answer_the_same_to_the_same_steps") {
        return;
    }
    let sandbox = Sandbox::sqlite();
    for driver in ["rest", "python", "typescript"] {
        cases().iter().for_each(|case| define(&sandbox, &format!("{driver}-{}", case.name)));
    }
    let searcher = key(&sandbox, "searcher", &["searcher"], None);
    let other = if searcher.ends_with('0') { '1' } else { '0' };
    let keys = BTreeMap::from([
        ("pusher", key(&sandbox, "pusher", &["pusher"], None)),
        ("nobody", format!("{}{other}", &searcher[..searcher.len() - 1])),
        ("searcher", searcher),
    ]);
    let folder = compiled(&sandbox);
    let service = serving(&sandbox);
    let drivers: [(&str, Box<dyn Driver>); 3] = [
        ("rest", Box::new(Rest::new(service.address))),
        ("python", Box::new(python(service.address))),
        ("typescript", Box::new(typescript(service.address, &folder))),
    ];
    for (name, mut driver) in drivers {
        cases().into_iter().for_each(|case| play(case, name, driver.as_mut(), &service, &keys));
    }
    service.end(rustix::process::Signal::TERM);
    sandbox.run(&["verify"]).exits(0);
}

/// All reports of a source: key and outcome.
fn reports(service: &Service<'_>, source: &str) -> Vec<(String, String)> {
    let (mut all, mut after) = (Vec::new(), 0);
    loop {
        let page = service.answer("GET", &format!("/api/v1/sources/{source}/reports?after={after}"));
        let text = |one: &Value, field: &str| one[field].as_str().unwrap().to_owned();
        all.extend(
            page["reports"].as_array().unwrap().iter().map(|one| (text(one, "key"), text(one, "outcome"))),
        );
        if page["more"] == false {
            return all;
        }
        after = page["last"].as_i64().unwrap();
    }
}

/// Each request that writes came as often as its faults let it, always by one key, and not before the proxy had said.
fn judge(proxy: &Proxy) {
    let mut by_key: BTreeMap<String, Vec<proxy::Seen>> = BTreeMap::new();
    for seen in proxy.seen().into_iter().filter(|seen| !seen.key.is_empty()) {
        by_key.entry(seen.key.clone()).or_default().push(seen);
    }
    assert!(by_key.len() >= 10, "{by_key:?}");
    for attempts in by_key.values() {
        assert!(attempts.iter().all(|one| one.path == attempts[0].path), "{attempts:?}");
        let (last, before) = attempts.split_last().unwrap();
        assert!(last.fault.is_none() && before.len() <= 7, "{attempts:?}");
        for (this, next) in before.iter().zip(&attempts[1..]) {
            let waited = next.at.duration_since(this.at);
            assert!(this.fault != Some(Fault::Busy) || waited >= Duration::from_secs(1), "{waited:?}");
        }
    }
    let met: BTreeSet<String> = proxy.seen().iter().map(|seen| format!("{:?}", seen.fault)).collect();
    assert_eq!(met.len(), 5, "all faults, and none: {met:?}");
}

#[test]
fn what_a_network_cuts_off_or_puts_off_is_done_once() {
    if !has_languages("what_a_network_cuts_off_or_puts_off_is_done_once") {
        return;
    }
    let sandbox = Sandbox::sqlite();
    ["python", "typescript"].iter().for_each(|name| define(&sandbox, name));
    let pusher = key(&sandbox, "pusher", &["pusher"], None);
    let folder = compiled(&sandbox);
    let service = serving(&sandbox);
    let lamps = |keys: std::ops::Range<usize>| -> Vec<Value> {
        keys.map(|n| json!({"key": n.to_string(), "text": "lamp", "access": ["everybody"]})).collect()
    };
    for name in ["python", "typescript"] {
        let proxy = Proxy::before(service.address);
        let mut client = client(name, proxy.address, &folder);
        client.ask(&json!({"do": "use", "source": name, "key": pusher}));
        let mut tickets = BTreeSet::new();
        let mut ask = |step: Value, expected: Value| {
            let mut answer = client.ask(&step);
            let given = answer.as_object_mut().unwrap().remove("tickets");
            tickets.extend(given.iter().flat_map(|given| given.as_array().unwrap()).map(Value::to_string));
            same(&answer, &expected, &format!("{name}, {}", step["do"]));
        };
        let words = |word: &str, count: usize| json!({"results": vec![word; count]});
        ask(json!({"do": "push", "records": lamps(0..2_500)}), words("pending", 2_500));
        ask(json!({"do": "wait"}), json!({"outcomes": vec!["indexed"; 2_500]}));
        ask(json!({"do": "delete", "keys": ["0", "1"]}), words("replaced", 2));
        ask(json!({"do": "wait"}), json!({"outcomes": ["deleted", "deleted"]}));
        // A run that opens, renews its lease and ends, all of it more than once.
        ask(json!({"do": "delta"}), json!({"opened": true}));
        ask(json!({"do": "push", "records": lamps(2..4), "slow": true}), words("unchanged", 2));
        ask(json!({"do": "push", "records": lamps(4..2_400)}), words("unchanged", 2_396));
        ask(json!({"do": "end"}), json!({"deleted": 100, "veto": false}));
        assert_eq!(tickets.len(), 2_502, "{name}: a ticket for each");
        assert!(proxy.seen().iter().any(|seen| seen.path.ends_with("/touch")), "{name}: a lease renewed");
        assert!(comes(|| reports(&service, name).len() == 2_602), "{}", reports(&service, name).len());
        let mut outcomes: BTreeMap<String, usize> = BTreeMap::new();
        reports(&service, name)
            .into_iter()
            .for_each(|(_, outcome)| *outcomes.entry(outcome).or_default() += 1);
        let expected = [("deleted".to_owned(), 102), ("indexed".to_owned(), 2_500)];
        assert_eq!(outcomes, expected.into(), "{name}: each ticket once");
        judge(&proxy);
    }
    service.end(rustix::process::Signal::TERM);
    sandbox.run(&["verify"]).exits(0);
}

/// Lists that came since so many requests, each once: records and bytes.
fn lists(proxy: &Proxy, since: usize) -> Vec<(usize, usize)> {
    let mut keys = BTreeSet::new();
    let seen = proxy.seen().into_iter().skip(since).filter(|seen| seen.path.ends_with("/records"));
    seen.filter(|seen| keys.insert(seen.key.clone())).map(|seen| (seen.records, seen.bytes)).collect()
}

#[test]
fn small_records_share_calls_large_ones_do_not_and_programs_say_how_much_one_has() {
    if !has_languages("small_records_share_calls_large_ones_do_not_and_programs_say_how_much_one_has") {
        return;
    }
    let sandbox = Sandbox::sqlite();
    ["python", "typescript"].iter().for_each(|name| define(&sandbox, name));
    let pusher = key(&sandbox, "pusher", &["pusher"], None);
    let folder = compiled(&sandbox);
    let service = serving(&sandbox);
    let records = |sizes: &[usize]| -> Vec<Value> {
        let numbered = sizes.iter().enumerate();
        numbered.map(|(n, size)| json!({"key": n.to_string(), "text": "x".repeat(*size)})).collect()
    };
    for name in ["python", "typescript"] {
        let proxy = Proxy::before(service.address);
        let mut client = client(name, proxy.address, &folder);
        let mut lists_of = |step: Value| {
            let since = proxy.seen().len();
            client.ask(&step);
            lists(&proxy, since)
        };
        let counts = |lists: &[(usize, usize)]| lists.iter().map(|(count, _)| *count).collect::<Vec<usize>>();
        // As much as the service takes; no time ends a list here.
        lists_of(json!({"do": "use", "source": name, "key": pusher}));
        let push = |records: Vec<Value>| json!({"do": "push", "records": records, "linger": 1_000});
        assert_eq!(counts(&lists_of(push(records(&[1; 1_001])))), [1_000, 1]);
        let deletions = (0..1_001).map(|n| json!({"key": n.to_string(), "delete": true})).collect();
        assert_eq!(counts(&lists_of(push(deletions))), [1_000, 1]);
        assert_eq!(counts(&lists_of(push(records(&[3 << 20; 5])))), [2, 2, 1]);
        // As much as a program with little memory wants.
        let little = json!({"do": "use", "source": name, "key": pusher, "records_at_once": 100, "bytes_at_once": 65_536});
        lists_of(little);
        assert_eq!(counts(&lists_of(push(records(&[1; 250])))), [100, 100, 50]);
        let sent = lists_of(push(records(&[20_000; 7])));
        assert_eq!(counts(&sent), [3, 3, 1]);
        assert!(sent.iter().all(|(_, bytes)| *bytes <= 65_536), "{sent:?}");
        assert_eq!(counts(&lists_of(push(records(&[1, 1 << 20, 1])))), [1, 1, 1]);
        // One key is no list of its letters.
        let since = proxy.seen().len();
        assert_eq!(client.ask(&json!({"do": "delete", "keys": "12"})), json!({"misused": true}));
        assert!(lists(&proxy, since).is_empty());
    }
    service.end(rustix::process::Signal::TERM);
}

/// The first block of a language on the page of the clients.
fn block(language: &str) -> String {
    let page = std::fs::read_to_string(here("clients/README.md")).unwrap();
    let (_, rest) = page.split_once(&format!("```{language}\n")).unwrap();
    rest.split_once("```").unwrap().0.to_owned()
}

#[test]
fn programs_of_ten_lines_on_the_page_of_the_clients_push_100_records_as_they_stand() {
    if !has_languages("programs_of_ten_lines_on_the_page_of_the_clients_push_100_records_as_they_stand") {
        return;
    }
    for language in ["python", "js"] {
        let program = block(language);
        let lines = program.lines().filter(|line| !line.is_empty()).count();
        assert!(lines <= 10, "{lines} lines of {language}");
        let sandbox = Sandbox::sqlite();
        define(&sandbox, "tickets");
        let pusher = key(&sandbox, "pusher", &["pusher"], None);
        let folder = compiled(&sandbox);
        let service = serving(&sandbox);
        let file = folder.join(format!("push.{language}"));
        std::fs::write(&file, &program).unwrap();
        let mut command = Command::new(if language == "js" { "node" } else { "python3" });
        command.arg(&file).env("PYTHONPATH", here("clients/python")).env("PYTHONDONTWRITEBYTECODE", "1");
        command.env("INGATHER_URL", format!("http://{}", service.address)).env("INGATHER_KEY", &pusher);
        let output = command.output().unwrap();
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{language}: {}", String::from_utf8_lossy(&output.stderr));
        let expected: String = (0..100).map(|n| format!("{n} indexed\n")).collect();
        assert_eq!(told, expected, "{language}");
        let found =
            sandbox.run(&["search", "lamp", "--as", "nobody", "--limit", "200", "--json"]).documents();
        assert_eq!(found.len(), 100, "{language}");
    }
}
