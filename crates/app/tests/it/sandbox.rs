//! A folder with a source and a data directory in it, and the program run over them.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ingather_store::Target;
use ingather_testkit::database::{Database, Kind};
use serde_json::Value;

use crate::people::Person;

/// Where the inventory is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    Sqlite,
    Postgres,
}

/// What a command answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Answer {
    /// The lines of standard output, each of them JSON.
    pub(crate) fn json(&self) -> Vec<Value> {
        let read = |line| serde_json::from_str(line).unwrap_or_else(|_| panic!("not JSON: {line}"));
        self.out.lines().map(read).collect()
    }

    /// The documents that its lines name, in order.
    pub(crate) fn documents(&self) -> Vec<String> {
        let mut found: Vec<String> =
            self.json().iter().map(|line| line["document"].as_str().unwrap().to_owned()).collect();
        found.sort();
        found
    }

    /// That it ended with this code; the answer itself for more.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Answer {
        assert_eq!(self.code, code, "exit code; {self:#?}");
        self
    }

    /// That standard error says all of this in one sentence with this exit code, and nothing went to standard output.
    #[track_caller]
    pub(crate) fn refuses(self, code: i32, words: &[&str]) {
        let answer = self.exits(code);
        assert_eq!(answer.out, "", "{answer:#?}");
        let lines: Vec<&str> = answer.err.lines().collect();
        assert_eq!(lines.len(), 1, "one sentence: {answer:#?}");
        for word in words {
            assert!(lines[0].contains(word), "`{word}` is not in: {}", lines[0]);
        }
    }
}

/// What became of the parts of a run, checked for its balance.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(crate) struct Counts(pub(crate) BTreeMap<String, u64>);

/// The counters that make up `seen`.
const SEEN: [&str; 7] = ["added", "updated", "access", "unchanged", "skipped", "failed", "waiting"];
/// The counters beside it.
const UNSEEN: [&str; 3] = ["deleted", "kept", "held"];

impl Counts {
    /// Reads the line that `sync --json` ends with; checks the equation of design 5.1.
    #[track_caller]
    pub(crate) fn of(line: &Value) -> Counts {
        let number = |name: &str| line[name].as_u64().unwrap_or_else(|| panic!("no number {name}: {line}"));
        let sum: u64 = SEEN.iter().map(|name| number(name)).sum();
        assert_eq!(number("seen"), sum, "the balance of {line}");
        let all = SEEN.iter().chain(&UNSEEN).map(|name| ((*name).to_owned(), number(name)));
        Counts(all.filter(|(_, n)| *n > 0).collect())
    }

    pub(crate) fn get(&self, name: &str) -> u64 {
        self.0.get(name).copied().unwrap_or_default()
    }
}

/// A source, a data directory, and the program.
pub(crate) struct Sandbox {
    folder: tempfile::TempDir,
    database: Option<Database>,
}

impl Sandbox {
    pub(crate) fn new(kept: Kept) -> Sandbox {
        // In memory where that can be: many files, and a clock of fine grain.
        let base = Path::new("/dev/shm");
        let base = if base.is_dir() { base.to_owned() } else { std::env::temp_dir() };
        let folder = tempfile::Builder::new().prefix("ingather-app-").tempdir_in(base).unwrap();
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
        for name in ["root", "temporary"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        let database = (kept == Kept::Postgres).then(|| Database::fresh(Kind::Postgres));
        Sandbox { folder, database }
    }

    pub(crate) fn sqlite() -> Sandbox {
        Sandbox::new(Kept::Sqlite)
    }

    /// The sandbox itself.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.path().join("root")
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.path().join("data")
    }

    /// Where a service puts files for a moment's use.
    pub(crate) fn temporary(&self) -> PathBuf {
        self.path().join("temporary")
    }

    /// Writes a file below the root, with the folders that it needs.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.root().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// What `--store` takes, where the inventory is not in the data directory.
    pub(crate) fn url(&self) -> Option<&str> {
        match &self.database.as_ref()?.target {
            Target::Postgres(url) => Some(url),
            Target::Sqlite(_) => None,
        }
    }

    /// The database of the inventory, where it is not in the data directory.
    pub(crate) fn database(&self) -> Option<&Database> {
        self.database.as_ref()
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        self.with_data(Command::new(env!("CARGO_BIN_EXE_ingather")), arguments)
    }

    /// A command that is told itself where its data directory is.
    pub(crate) fn plain(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ingather"));
        command
            .args(arguments)
            .current_dir(self.path())
            .env_remove("INGATHER_DATA")
            .env_remove("INGATHER_STORE");
        command
    }

    fn with_data(&self, mut command: Command, arguments: &[&str]) -> Command {
        command.arg("--data").arg(self.data());
        if let Some(url) = self.url() {
            command.args(["--store", url]);
        }
        command
            .args(arguments)
            .current_dir(self.path())
            .env_remove("INGATHER_DATA")
            .env_remove("INGATHER_STORE");
        command
    }

    /// The same as another user, from a copy that everybody may run.
    pub(crate) fn command_as(&self, person: &Person, arguments: &[&str]) -> Command {
        let program = self.path().join("ingather");
        if !program.exists() {
            // By another process: what another thread starts meanwhile would hold the new file open for writing.
            crate::files::tool("cp", &[env!("CARGO_BIN_EXE_ingather")], &program);
            std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        }
        self.with_data(person.command(&program), arguments)
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Answer {
        finish(self.command(arguments), None)
    }

    pub(crate) fn run_as(&self, person: &Person, arguments: &[&str]) -> Answer {
        finish(self.command_as(person, arguments), None)
    }

    /// `sync root FLAGS --json`: its counters, checked, and the exit code.
    #[track_caller]
    pub(crate) fn sync(&self, flags: &[&str]) -> (Counts, i32) {
        let answer = self.run(&[&["sync", "root", "--json"], flags].concat());
        let lines = answer.json();
        assert_eq!(lines.len(), 1, "one line of JSON: {answer:#?}");
        (Counts::of(&lines[0]), answer.code)
    }

    /// A sync that must end well.
    #[track_caller]
    pub(crate) fn synced(&self, flags: &[&str]) -> Counts {
        let (counts, code) = self.sync(flags);
        assert_eq!(code, 0, "{counts:?}");
        counts
    }

    /// What a search of everything finds, unfiltered.
    #[track_caller]
    pub(crate) fn everything(&self) -> Vec<String> {
        self.run(&["search", "*", "--all", "--limit", "10000", "--json"]).exits(0).documents()
    }

    /// What a query finds, unfiltered.
    #[track_caller]
    pub(crate) fn find(&self, query: &str) -> Vec<String> {
        self.run(&["search", query, "--all", "--limit", "10000", "--json"]).exits(0).documents()
    }

    /// Every file of the data directory with its content; SQLite's shared memory is no content.
    pub(crate) fn snapshot(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        let mut folders = vec![self.data()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
                let path = entry.path();
                if entry.file_type().unwrap().is_dir() {
                    folders.push(path);
                } else if !path.to_string_lossy().ends_with("-shm") {
                    found.insert(path.clone(), std::fs::read(path).unwrap());
                }
            }
        }
        found
    }
}

/// Runs a command to its end, with `input` typed into it.
pub(crate) fn finish(mut command: Command, input: Option<&str>) -> Answer {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut typed = child.stdin.take().unwrap();
    if let Some(input) = input {
        typed.write_all(input.as_bytes()).unwrap();
    }
    drop(typed);
    let output = child.wait_with_output().unwrap();
    Answer {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}
