//! Scenario files: what is done to a tree, and what the program must answer, line by line.
//!
//! A line is an action; lines set in by two spaces say what the program must answer to the action above. Words are set
//! apart by spaces or in double quotes; `\xNN` is a byte. Paths are below the root, which begins empty.
//!
//! | Action | Does |
//! |---|---|
//! | `make`, `write P TEXT`, `rm P`, `mv A B`, `touch P`, `chmod MODE P`, `chown OWNER P` | as their names say |
//! | `rewrite P TEXT` | other content, same length, same modification time |
//! | `fill P BYTES` · `tunnel DEPTH LENGTH` | a sparse file · folders too deep for one path, `end.txt` at their end |
//! | `link TARGET P` · `hardlink OLD NEW` · `fifo P` · `socket P` | the other kinds of file |
//! | `settle` | lets the clock's grain pass |
//! | `many FROM TO ACTION` | the action for each number, in place of `{n}` |
//! | `source P` | syncs this instead of the root |
//! | `snapshot` · `same` | remembers the data directory · it has not changed since |
//! | `sync FLAGS` | `{"exit":…, counters that are not zero, "blind":[[scope, cause]]}` |
//! | `search QUERY FLAGS` (with `--all` unless `--as` is there) · `held` | the documents, sorted |
//! | `documents FLAGS` | `{name: "state code"}` |
//! | `confirm RUN` | `{"exit":…,"deleted":…,"kept":…}` or, refused, `{"exit":…}`; `last` is the last run |
//! | `as USER …` | the program run by somebody else |
//!
//! `says WORDS` asks for words on standard error.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, PathBuf};

use ingather_model::names;
use serde_json::{Value, json};

use crate::files;
use crate::people::Person;
use crate::sandbox::{Answer, Counts, Kept, Sandbox};

fn text_of(file: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios").join(format!("{file}.txt"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Whether a scenario needs other users than the one who runs it.
pub(crate) fn acts_as_others(file: &str) -> bool {
    text_of(file).lines().any(|line| line.starts_with("as ") || line.starts_with("chown "))
}

/// Reads and plays a scenario.
pub(crate) fn play(file: &str, kept: Kept) {
    let text = text_of(file);
    let sandbox = Sandbox::new(kept);
    let source = sandbox.root();
    let mut player = Player { sandbox, source, run: 0, data: BTreeMap::new() };
    let lines: Vec<&str> =
        text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')).collect();
    let mut at = 0;
    let mut checked = 0;
    while at < lines.len() {
        let expected: Vec<&str> =
            lines[at + 1..].iter().take_while(|l| l.starts_with("  ")).map(|l| l.trim()).collect();
        let played = std::panic::AssertUnwindSafe(|| player.action(&words(lines[at]), &expected));
        if let Err(cause) = std::panic::catch_unwind(played) {
            panic_at(file, lines[at], kept, cause);
        }
        checked += expected.len();
        at += 1 + expected.len();
    }
    assert!(checked > 0, "{file} expects nothing");
}

fn panic_at(file: &str, line: &str, kept: Kept, cause: Box<dyn std::any::Any + Send>) -> ! {
    let why =
        cause.downcast_ref::<String>().cloned().or(cause.downcast_ref::<&str>().map(|s| (*s).to_owned()));
    panic!("scenario {file} on {kept:?}, at `{line}`: {}", why.unwrap_or_default());
}

/// Words of a line; `"…"` holds spaces.
fn words(line: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let (mut quoted, mut open) = (false, false);
    for c in line.chars() {
        match c {
            '"' => {
                quoted = !quoted;
                if !open {
                    found.push(String::new());
                    open = true;
                }
            }
            ' ' if !quoted => open = false,
            c => {
                if !open {
                    found.push(String::new());
                    open = true;
                }
                found.last_mut().unwrap().push(c);
            }
        }
    }
    found
}

struct Player {
    sandbox: Sandbox,
    source: PathBuf,
    run: i64,
    data: BTreeMap<PathBuf, Vec<u8>>,
}

impl Player {
    fn path(&self, word: &str) -> PathBuf {
        let mut path = self.sandbox.root();
        for part in PathBuf::from(OsStr::from_bytes(&names::unescape(word).unwrap())).components() {
            match part {
                Component::ParentDir => drop(path.pop()),
                Component::Normal(name) => path.push(name),
                _ => {}
            }
        }
        path
    }

    fn action(&mut self, words: &[String], expected: &[&str]) {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["many", from, to, action @ ..] => {
                for n in from.parse::<u32>().unwrap()..=to.parse().unwrap() {
                    let one: Vec<String> = action.iter().map(|w| w.replace("{n}", &n.to_string())).collect();
                    self.action(&one, &[]);
                }
            }
            ["as", user, program @ ..] => self.program(Some(&Person::named(user)), program, expected),
            ["sync" | "search" | "held" | "documents" | "confirm", ..] => {
                self.program(None, &words, expected)
            }
            words => {
                assert!(expected.is_empty(), "nothing is answered to {words:?}");
                self.change(words);
            }
        }
    }

    fn change(&mut self, words: &[&str]) {
        let at = |word: &str| self.path(word);
        match words {
            ["make", folders @ ..] => folders.iter().for_each(|p| std::fs::create_dir_all(at(p)).unwrap()),
            ["write", p, text @ ..] => {
                std::fs::create_dir_all(at(p).parent().unwrap()).unwrap();
                std::fs::write(at(p), text.join(" ")).unwrap();
            }
            ["rewrite", p, text @ ..] => files::rewrite_unnoticed(&at(p), &text.join(" ")),
            ["fill", p, bytes] => {
                std::fs::File::create(at(p)).unwrap().set_len(bytes.parse().unwrap()).unwrap()
            }
            ["tunnel", depth, length] => {
                files::tunnel(&at("."), depth.parse().unwrap(), length.parse().unwrap())
            }
            ["chmod", mode, p] => files::tool("chmod", &[mode], &at(p)),
            ["chown", owner, p] => files::tool("chown", &["-h", owner], &at(p)),
            ["link", target, p] => std::os::unix::fs::symlink(target, at(p)).unwrap(),
            ["hardlink", old, new] => std::fs::hard_link(at(old), at(new)).unwrap(),
            ["fifo", p] => files::tool("mkfifo", &[], &at(p)),
            // The file stays when its listener goes.
            ["socket", p] => drop(std::os::unix::net::UnixListener::bind(at(p)).unwrap()),
            ["touch", p] => files::touch(&at(p)),
            ["rm", p] => files::remove(&at(p)),
            ["mv", a, b] => std::fs::rename(at(a), at(b)).unwrap(),
            ["settle"] => files::settle(&self.sandbox.root()),
            ["source", p] => self.source = at(p),
            ["snapshot"] => self.data = self.sandbox.snapshot(),
            ["same"] => {
                let now = self.sandbox.snapshot();
                let differs: Vec<_> =
                    now.iter().filter(|(path, bytes)| self.data.get(*path) != Some(bytes)).collect();
                let names: Vec<_> = differs.iter().map(|(path, _)| path).collect();
                assert!(
                    differs.is_empty() && now.len() == self.data.len(),
                    "the data directory changed: {names:?}"
                );
            }
            other => panic!("unknown action {other:?}"),
        }
    }

    fn program(&mut self, person: Option<&Person>, words: &[&str], expected: &[&str]) {
        assert!(!expected.is_empty(), "say what the program must answer");
        let source = self.source.to_string_lossy().into_owned();
        let last = self.run.to_string();
        let job = "job";
        let arguments: Vec<&str> = match words {
            ["sync", flags @ ..] => [&["sync", &source, "--name", job], flags].concat(),
            ["search", query, flags @ ..] => {
                let all: &[&str] = if flags.contains(&"--as") || person.is_some() { &[] } else { &["--all"] };
                [&["search", query, "--limit", "10000"], flags, all].concat()
            }
            ["held"] => vec!["job", "held", job],
            ["documents", flags @ ..] => [&["document", "list", job], flags].concat(),
            ["confirm", run] => {
                vec!["job", "confirm", job, "--run", if *run == "last" { &last } else { run }]
            }
            other => panic!("unknown command {other:?}"),
        };
        let arguments = [&arguments[..], &["--json"]].concat();
        let answer = match person {
            Some(person) => {
                self.give_data_to(person);
                self.sandbox.run_as(person, &arguments)
            }
            None => self.sandbox.run(&arguments),
        };
        for line in expected {
            match line.strip_prefix("says ") {
                Some(words) => {
                    assert!(answer.err.contains(words), "standard error does not say so: {answer:#?}")
                }
                None => self.check(words[0], &answer, line),
            }
        }
    }

    /// A data directory belongs to whoever uses it first.
    fn give_data_to(&self, person: &Person) {
        if !self.sandbox.data().exists() {
            std::fs::create_dir(self.sandbox.data()).unwrap();
            files::tool("chmod", &["0700"], &self.sandbox.data());
            files::tool("chown", &[&person.uid.to_string()], &self.sandbox.data());
        }
    }

    fn check(&mut self, command: &str, answer: &Answer, expected: &str) {
        let wanted: Value =
            serde_json::from_str(expected).unwrap_or_else(|error| panic!("{expected} is not JSON: {error}"));
        let found = match command {
            "sync" => self.counted(answer),
            "confirm" => {
                let line = answer.json().pop().unwrap_or_else(|| json!({}));
                let mut found = json!({"exit": answer.code});
                for name in ["deleted", "kept"].iter().filter(|name| line.get(**name).is_some()) {
                    found[name] = line[name].clone();
                }
                found
            }
            "documents" => {
                let state = |line: &Value| match line["code"].as_str() {
                    Some(code) => format!("{} {code}", line["state"].as_str().unwrap()),
                    None => line["state"].as_str().unwrap().to_owned(),
                };
                answer
                    .json()
                    .iter()
                    .map(|line| (line["document"].as_str().unwrap().to_owned(), json!(state(line))))
                    .collect()
            }
            _ => json!(answer.documents()),
        };
        let same = if command == "sync" { fill(wanted.clone()) == found } else { wanted == found };
        assert!(same, "\n  expected {wanted}\n  found    {found}\n  {}", answer.err);
    }

    /// The line of a sync as scenarios write it; its balance is checked.
    fn counted(&mut self, answer: &Answer) -> Value {
        let lines = answer.json();
        if lines.is_empty() {
            return json!({"exit": answer.code, "blind": []});
        }
        assert_eq!(lines.len(), 1, "one line of JSON: {answer:#?}");
        let line = &lines[0];
        let mut found = json!({"exit": answer.code});
        for (name, n) in Counts::of(line).0 {
            found[name] = json!(n);
        }
        let spots = line["blind"].as_array().unwrap().iter();
        found["blind"] = spots.map(|spot| json!([spot["scope"], spot["cause"]])).collect();
        if let Some(run) = line["run"].as_i64() {
            self.run = run;
        }
        fill(found)
    }
}

/// With what is left out when it is nothing, and without order.
fn fill(value: Value) -> Value {
    let given = value.as_object().unwrap();
    let mut sorted: BTreeMap<String, Value> = given.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
    sorted.entry("exit".to_owned()).or_insert(json!(0));
    sorted.entry("blind".to_owned()).or_insert(json!([]));
    json!(sorted)
}
