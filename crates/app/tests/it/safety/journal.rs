//! What the reader of `docs/manual/journal.md` makes of a journal is what a search finds, over random trees, jobs and kills.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::dice::Dice;
use crate::files;
use crate::people::{Accounts, Person, must};
use crate::sandbox::{Answer, Kept, Sandbox, finish};

const SEEDS: u64 = 6;
const ROUNDS: usize = 9;
/// The groups that each user is a member of.
const USERS: [&[usize]; 3] = [&[0], &[1], &[]];
const FILE_MODES: [u32; 6] = [0o644, 0o640, 0o600, 0o604, 0o044, 0o664];
const FOLDER_MODES: [u32; 6] = [0o755, 0o750, 0o700, 0o711, 0o705, 0o755];

/// Prints, as JSON, all that anybody was ever shown at some line, and what each finds at the end. Asks the reader of the manual.
const WATCH: &str = r#"
import json, sys
import journal
users = json.load(sys.stdin)
shown, now = set(), {}
def look(line=None):
    for user, (tokens, whole) in users.items():
        now[user] = sorted(key for key, entry in journal.entries.items() if journal.may_see(entry, {"": (set(tokens), whole)}))
        for key in now[user]:
            shown.add((user, key, journal.entries[key]["fields"].get("body")))
for file in sys.argv[1:]:
    for line in journal.lines(file):
        journal.take(line)
        look()
look()
print(json.dumps({"shown": sorted(shown, key=str), "now": now, "entries": len(journal.entries)}))
"#;

/// The program of the manual page, as it stands there.
pub(super) fn reader() -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/manual/journal.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, rest) = page.split_once("```python\n").unwrap();
    rest.split_once("```").unwrap().0.to_owned()
}

/// Everybody's tokens, as the program tells them.
fn tokens(sandbox: &Sandbox, people: &[Person]) -> BTreeMap<String, Value> {
    let of = |person: &Person| {
        let told = sandbox.run(&["tokens", &person.name, "--json"]).exits(0).json().remove(0);
        (person.name.clone(), serde_json::json!([told["tokens"], told["whole"]]))
    };
    people.iter().map(of).collect()
}

/// What the reader makes of journals that follow each other.
pub(super) fn read(sandbox: &Sandbox, people: &[Person], journals: &[&str]) -> Value {
    std::fs::write(sandbox.path().join("journal.py"), reader()).unwrap();
    std::fs::write(sandbox.path().join("watch.py"), WATCH).unwrap();
    let mut command = Command::new("python3");
    command.arg("watch.py").args(journals).current_dir(sandbox.path());
    let users = serde_json::to_string(&tokens(sandbox, people)).unwrap();
    finish(command, Some(&users)).exits(0).json().remove(0)
}

/// Ids of what a search finds for somebody.
fn found(sandbox: &Sandbox, person: &Person) -> Vec<String> {
    let search = ["search", "*", "--as", &person.name, "--limit", "1000", "--json"];
    let answer = sandbox.run(&search).exits(0);
    let mut ids: Vec<String> = answer.json().iter().map(id_of).collect();
    ids.sort();
    ids
}

fn id_of(hit: &Value) -> String {
    let word = |name: &str| hit[name].as_str().unwrap_or_default().to_owned();
    // Names of this test need no escaping.
    if word("component").is_empty() { word("uri") } else { format!("{}#{}", word("uri"), word("component")) }
}

/// At the end of a run, everybody finds the same by the journal as by a search. What was ever shown.
pub(super) fn agrees(sandbox: &Sandbox, people: &[Person], journals: &[&str], at: &str) -> Value {
    let read = read(sandbox, people, journals);
    for person in people {
        let now: Vec<String> = serde_json::from_value(read["now"][&person.name].clone()).unwrap();
        assert_eq!(now, found(sandbox, person), "{at}: {} by the journal, and by a search", person.name);
    }
    read
}

impl Answer {
    /// Ends with `code`, and says `words` beside the answer.
    fn told(self, code: i32, words: &str) {
        let answer = self.exits(code);
        assert!(answer.err.contains(words), "{answer:?}");
    }
}

/// A snapshot comes to what the journals come to, and no line of it shows more than the last one.
pub(super) fn snapshot_agrees(sandbox: &Sandbox, people: &[Person], journals: &[&str], at: &str) {
    let read_all = read(sandbox, people, journals);
    let _ = std::fs::remove_file(sandbox.path().join("snap.jsonl"));
    let command = [&["journal", "snapshot"], journals, &["--output", "snap.jsonl"]].concat();
    sandbox.run(&command).exits(0);
    let snap = read(sandbox, people, &["snap.jsonl"]);
    assert_eq!(snap["now"], read_all["now"], "{at}: by the snapshot, and by the journal");
    for one in snap["shown"].as_array().unwrap() {
        let now = snap["now"][one[0].as_str().unwrap()].as_array().unwrap();
        assert!(now.contains(&one[1]), "{at}: a line of the snapshot shows {one}");
    }
}

struct World<'p> {
    dice: Dice,
    people: &'p [Person],
    groups: &'p [String],
    sandbox: Sandbox,
    texts: usize,
    /// User, path, text: what somebody could open once.
    open: BTreeSet<(String, String, String)>,
}

impl World<'_> {
    fn paths(&self, folders: bool) -> Vec<PathBuf> {
        let mut command = Command::new("find");
        command.arg(self.sandbox.root()).args(["-type", if folders { "d" } else { "f" }]);
        let mut paths: Vec<PathBuf> = must(&mut command).lines().map(PathBuf::from).collect();
        paths.sort();
        paths
    }

    /// Changes one thing.
    fn change(&mut self) {
        let (files, folders) = (self.paths(false), self.paths(true));
        let folder = self.dice.pick(&folders).clone();
        match self.dice.below(9) {
            0..3 => self.write(&folder),
            3 => self.archive(&folder),
            4 if !files.is_empty() => files::remove(&self.dice.pick(&files).clone()),
            5 if !files.is_empty() => {
                let mode = *self.dice.pick(&FILE_MODES);
                let file = self.dice.pick(&files).clone();
                let group = self.dice.pick(self.groups).clone();
                files::tool("chgrp", &[&group], &file);
                std::fs::set_permissions(file, PermissionsExt::from_mode(mode)).unwrap();
            }
            6 | 7 => {
                let mode = *self.dice.pick(&FOLDER_MODES);
                let group = self.dice.pick(self.groups).clone();
                files::tool("chgrp", &[&group], &folder);
                std::fs::set_permissions(folder, PermissionsExt::from_mode(mode)).unwrap();
            }
            _ => {
                let below: Vec<PathBuf> =
                    folders.into_iter().filter(|path| path.parent() == Some(&*self.sandbox.root())).collect();
                let to = self.sandbox.root().join(format!("m{}", self.texts));
                if let (false, true) = (below.is_empty(), self.dice.once_in(2)) {
                    let from = self.dice.pick(&below).clone();
                    // The nested job keeps its root.
                    if !from.ends_with("sub") {
                        std::fs::rename(from, to).unwrap();
                    }
                }
            }
        }
    }

    fn text(&mut self) -> String {
        self.texts += 1;
        format!("text number {}", self.texts)
    }

    fn write(&mut self, folder: &Path) {
        let text = self.text();
        let at = folder.join(format!("f{}.txt", self.dice.below(4)));
        std::fs::write(at, text).unwrap();
        if self.dice.once_in(3) {
            let below = folder.join(format!("d{}", self.dice.below(2)));
            std::fs::create_dir_all(&below).unwrap();
        }
    }

    /// An archive with two members of one text.
    fn archive(&mut self, folder: &Path) {
        let (text, inside) = (self.text(), self.sandbox.path().join("inside"));
        std::fs::create_dir_all(&inside).unwrap();
        for name in ["one.txt", "two.txt"] {
            std::fs::write(inside.join(name), &text).unwrap();
        }
        let archive = folder.join("a.tar");
        must(
            Command::new("tar").arg("-C").arg(&inside).arg("-cf").arg(&archive).args(["one.txt", "two.txt"]),
        );
    }

    /// Takes note of what everybody can open now, by asking the kernel.
    fn note(&mut self) {
        for person in self.people {
            // One by one: a folder that cannot be listed may be passed through.
            let mut ask = person.command(Path::new("sh"));
            ask.args(["-c", "for file; do [ -r \"$file\" ] && echo \"$file\"; done; true", "sh"]);
            let output = ask.args(self.paths(false)).output().unwrap();
            for path in String::from_utf8(output.stdout).unwrap().lines() {
                let text = match path.ends_with(".tar") {
                    true => must(Command::new("tar").args(["-xOf", path, "one.txt"])),
                    false => std::fs::read_to_string(path).unwrap(),
                };
                self.open.insert((person.name.clone(), path.to_owned(), text));
            }
        }
    }

    /// Whoever was shown a text at any line could open it once.
    fn nobody_was_shown_more(&self, shown: &Value, at: &str) {
        for one in shown.as_array().unwrap() {
            let word = |n: usize| one[n].as_str().unwrap_or_default().to_owned();
            let (user, id, text) = (word(0), word(1), word(2).trim().to_owned());
            let path = id.trim_start_matches("file://").split('#').next().unwrap().to_owned();
            // The text of an archive itself is the names in it, which are always the same.
            let is_archive = id.ends_with(".tar");
            let could = self
                .open
                .iter()
                .any(|(who, at, held)| *who == user && *at == path && (is_archive || *held == text));
            assert!(could, "{at}: {user} was shown `{text}` of {id}");
        }
    }

    fn live(&mut self, seed: u64) -> usize {
        let jobs: [&[&str]; 2] =
            [&["sync", "root", "--name", "whole"], &["sync", "root/sub", "--name", "part"]];
        let flags = ["--to", "index", "--to", "journal:told.jsonl", "--delete-guard", "off", "-q"];
        std::fs::create_dir_all(self.sandbox.root().join("sub")).unwrap();
        std::fs::set_permissions(self.sandbox.path(), PermissionsExt::from_mode(0o755)).unwrap();
        (0..8).for_each(|_| self.change());
        let (mut shown, mut killed, mut begun) = (0, BTreeSet::new(), false);
        for round in 0..ROUNDS {
            let at = format!("seed {seed}, round {round}");
            files::settle(&self.sandbox.root());
            self.note();
            let which = self.dice.below(jobs.len());
            let job = [jobs[which], &flags[..]].concat();
            if round > 1 && self.dice.once_in(3) {
                killed_after(
                    self.sandbox.command(&job),
                    Duration::from_micros(self.dice.below(400_000) as u64),
                );
                killed.insert(which);
            } else {
                let answer = self.sandbox.run(&job);
                assert!(matches!(answer.code, 0 | 1), "{at}: {answer:?}");
                killed.remove(&which);
                // An index loses what was not committed, a journal does not: until the killed job has run again, they differ.
                let read = match killed.is_empty() {
                    true => agrees(&self.sandbox, self.people, &["told.jsonl"], &at),
                    false => read(&self.sandbox, self.people, &["told.jsonl"]),
                };
                self.nobody_was_shown_more(&read["shown"], &at);
                if self.dice.once_in(3) {
                    snapshot_agrees(&self.sandbox, self.people, &["told.jsonl"], &at);
                    let _ = std::fs::rename(
                        self.sandbox.path().join("snap.jsonl"),
                        self.sandbox.path().join("begun.jsonl"),
                    );
                    begun = true;
                }
                // Whoever began with a snapshot goes on behind it.
                if begun && killed.is_empty() {
                    agrees(&self.sandbox, self.people, &["begun.jsonl", "told.jsonl"], &at);
                }
                shown += read["shown"].as_array().unwrap().len();
            }
            (0..1 + self.dice.below(5)).for_each(|_| self.change());
        }
        shown
    }
}

/// Starts a command and kills it, unless it ends before.
fn killed_after(mut command: Command, time: Duration) {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let end = Instant::now() + time;
    while Instant::now() < end && child.try_wait().unwrap().is_none() {
        std::thread::park_timeout(Duration::from_micros(200));
    }
    let _ = child.kill();
    child.wait().unwrap();
}

#[test]
fn a_reader_of_the_journal_answers_as_a_search_does() {
    ingather_testkit::needs!(Users);
    let accounts = Accounts::make(2, &USERS);
    let people = accounts.people();
    let mut shown = 0;
    for seed in 1..=SEEDS {
        let mut world = World {
            dice: Dice::new(seed),
            people: &people,
            groups: accounts.groups(),
            sandbox: Sandbox::new(Kept::Sqlite),
            texts: 0,
            open: BTreeSet::new(),
        };
        shown += world.live(seed);
    }
    assert!(shown > 300, "too easy: {shown} times somebody was shown something");
}

#[test]
fn a_folder_that_closes_and_opens_is_told_without_its_entries() {
    ingather_testkit::needs!(Users);
    let accounts = Accounts::make(1, &[&[]]);
    let (people, sandbox) = (accounts.people(), Sandbox::sqlite());
    std::fs::set_permissions(sandbox.path(), PermissionsExt::from_mode(0o755)).unwrap();
    sandbox.write("team/salaries.txt", "salaries");
    let entries = || {
        let text = std::fs::read_to_string(sandbox.path().join("told.jsonl")).unwrap();
        text.lines().filter(|line| line.contains("\"uri\"")).count()
    };
    for mode in [0o755, 0o700, 0o755] {
        let folder = sandbox.root().join("team");
        std::fs::set_permissions(folder, PermissionsExt::from_mode(mode)).unwrap();
        files::settle(&sandbox.root());
        sandbox.synced(&["--to", "index", "--to", "journal:told.jsonl"]);
        let read = agrees(&sandbox, &people, &["told.jsonl"], &format!("{mode:o}"));
        let sees = read["now"][&people[0].name].as_array().unwrap().len();
        assert_eq!((sees, entries()), (usize::from(mode == 0o755), 1));
    }
}

#[test]
fn a_rotated_journal_defines_all_that_its_entries_refer_to() {
    ingather_testkit::needs!(Users);
    let accounts = Accounts::make(1, &[&[], &[0]]);
    let (people, sandbox) = (accounts.people(), Sandbox::sqlite());
    std::fs::set_permissions(sandbox.path(), PermissionsExt::from_mode(0o755)).unwrap();
    sandbox.write("a/one.txt", "one");
    sandbox.write("b/two.txt", "two");
    std::fs::set_permissions(sandbox.root().join("b"), PermissionsExt::from_mode(0o700)).unwrap();
    files::settle(&sandbox.root());
    let flags = ["--to", "index", "--to", "journal:told.jsonl"];
    sandbox.synced(&flags);
    let file = |name: &str| sandbox.path().join(name);
    std::fs::rename(file("told.jsonl"), file("old.jsonl")).unwrap();
    std::fs::set_permissions(sandbox.root().join("b"), PermissionsExt::from_mode(0o755)).unwrap();
    files::settle(&sandbox.root());
    sandbox.synced(&flags);
    agrees(&sandbox, &people, &["old.jsonl", "told.jsonl"], "rotated");
    snapshot_agrees(&sandbox, &people, &["old.jsonl", "told.jsonl"], "rotated");
    let told = |name: &str, op: &str| {
        let text = std::fs::read_to_string(file(name)).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter(|line| line["op"] == *op).map(|line| line["id"].to_string()).collect::<BTreeSet<_>>()
    };
    assert_eq!(told("told.jsonl", "put").len(), 0);
    assert_eq!(told("told.jsonl", "container"), told("old.jsonl", "container"));
    let first = std::fs::read_to_string(file("told.jsonl")).unwrap();
    assert!(first.starts_with("{\"op\":\"run\",\"seq\":"), "{first}");
    assert_eq!(first.matches("\"format\":2").count(), 1);
}

#[test]
fn a_snapshot_takes_the_place_of_a_journal() {
    ingather_testkit::needs!(Users);
    let accounts = Accounts::make(1, &[&[]]);
    let (people, sandbox) = (accounts.people(), Sandbox::sqlite());
    std::fs::set_permissions(sandbox.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let flags = ["--to", "index", "--to", "journal:told.jsonl"];
    for n in 0..9 {
        sandbox.write("one.txt", &format!("text {n}"));
        files::settle(&sandbox.root());
        sandbox.synced(&flags);
    }
    let file = |name: &str| sandbox.path().join(name);
    let length = |name: &str| std::fs::metadata(file(name)).unwrap().len();
    sandbox.run(&["journal", "snapshot", "told.jsonl", "-o", "snap.jsonl"]).told(0, "entries: 1");
    assert_eq!(std::fs::metadata(file("snap.jsonl")).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(length("snap.jsonl") * 3 < length("told.jsonl"), "what was replaced is left out");
    std::fs::rename(file("snap.jsonl"), file("told.jsonl")).unwrap();
    sandbox.write("two.txt", "second");
    files::settle(&sandbox.root());
    sandbox.synced(&flags);
    agrees(&sandbox, &people, &["told.jsonl"], "goes on");
}

#[test]
fn a_snapshot_of_what_is_no_whole_journal_says_so() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("one.txt", "one");
    sandbox.synced(&["--to", "journal:told.jsonl"]);
    let file = |name: &str| sandbox.path().join(name);
    let write = |name: &str, text: &str| std::fs::write(file(name), text).unwrap();
    let told = std::fs::read_to_string(file("told.jsonl")).unwrap();
    // A torn last line is not there yet.
    write("torn.jsonl", &format!("{told}{{\"op\":\"pu"));
    sandbox.run(&["journal", "snapshot", "torn.jsonl"]).told(0, "entries: 1");
    let last_run = told.find("{\"op\":\"run_end\"").unwrap();
    write("working.jsonl", &told[..last_run]);
    sandbox.run(&["journal", "snapshot", "working.jsonl"]).told(0, "has not ended");
    write("rubbish.jsonl", &format!("{told}\0\0 rubbish\n"));
    let rubbish =
        ["of `rubbish.jsonl` is no line of a journal; something else was written into it", "journal:NEW"];
    sandbox.run(&["journal", "snapshot", "rubbish.jsonl"]).refuses(3, &rubbish);
    for other in ["a text\n", "{}\n", "{\"op\":3}\n", "[1]\n", "\0\n"] {
        write("other.txt", other);
        let words = "line 1 of `other.txt` is no line of a journal; name a file that `ingather sync --to journal:FILE` wrote";
        sandbox.run(&["journal", "snapshot", "other.txt"]).refuses(3, &[words]);
    }
    write("old.jsonl", "");
    sandbox
        .run(&["journal", "snapshot", "old.jsonl"])
        .refuses(3, &["no `run` line is in `old.jsonl`", "run `ingather sync` of its job first"]);
    sandbox.run(&["journal", "snapshot", "nowhere"]).refuses(2, &["nowhere"]);
    sandbox.run(&["journal", "snapshot", "root"]).refuses(2, &["is not a file"]);
    // The file with the text is missing.
    std::fs::set_permissions(sandbox.root().join("one.txt"), PermissionsExt::from_mode(0o600)).unwrap();
    std::fs::rename(file("told.jsonl"), file("older.jsonl")).unwrap();
    sandbox.synced(&["--to", "journal:told.jsonl"]);
    sandbox.run(&["journal", "snapshot", "told.jsonl"]).told(1, "name the older files");
    sandbox.run(&["journal", "snapshot", "older.jsonl", "told.jsonl"]).told(0, "entries: 1");
    // Nothing is made in part, and nothing is written over.
    sandbox.run(&["journal", "snapshot", "rubbish.jsonl", "-o", "new.jsonl"]).exits(3);
    assert!(!file("new.jsonl").exists() && !file("new.jsonl.part").exists());
    sandbox.run(&["journal", "snapshot", "older.jsonl", "-o", "told.jsonl"]).refuses(2, &["exists"]);
}
