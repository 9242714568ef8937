//! What a search finds for a user is what the kernel lets that user open, for random trees with modes and access lists.

mod active_directory;
mod authorities;
mod directory;
mod search_engine;
mod sql;

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use ingather_testkit::search_engine::SearchEngine;

use crate::dice::Dice;
use crate::files;
use crate::people::{Accounts, Person};
use crate::sandbox::{Kept, Sandbox, finish};

const SEEDS: u64 = 20;
/// The groups that each user is a member of.
const USERS: [&[usize]; 4] = [&[0], &[0, 1], &[1], &[]];
/// Among them those that shut a class out which a later one would let in.
const FILE_MODES: [u32; 12] =
    [0o644, 0o604, 0o640, 0o600, 0o444, 0o404, 0o044, 0o004, 0o060, 0o000, 0o664, 0o064];
const FOLDER_MODES: [u32; 12] =
    [0o755, 0o711, 0o705, 0o750, 0o700, 0o701, 0o710, 0o770, 0o755, 0o775, 0o055, 0o744];

#[test]
fn a_search_finds_what_the_kernel_lets_open() {
    ingather_testkit::needs!(Users);
    let accounts = Accounts::make(2, &USERS);
    let people = accounts.people();
    let next = AtomicU64::new(1);
    let (open, closed) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed > SEEDS {
                        break;
                    }
                    let (may, may_not) = World::new(seed, &people, accounts.groups()).live();
                    open.fetch_add(may, Ordering::Relaxed);
                    closed.fetch_add(may_not, Ordering::Relaxed);
                }
            });
        }
    });
    let (open, closed) = (open.into_inner(), closed.into_inner());
    assert!(open > 500 && closed > 500, "too easy: {open} may be opened, {closed} not");
}

struct World<'p> {
    seed: u64,
    dice: Dice,
    people: &'p [Person],
    groups: &'p [String],
    sandbox: Sandbox,
    source: PathBuf,
    folders: Vec<PathBuf>,
    files: Vec<PathBuf>,
    /// What is filled and asked beside the built-in index.
    engine: Option<SearchEngine>,
    /// Pairs of user and file that the kernel admits, and those that it does not.
    judged: (u64, u64),
}

impl<'p> World<'p> {
    fn new(seed: u64, people: &'p [Person], groups: &'p [String]) -> World<'p> {
        let sandbox = Sandbox::new(if seed.is_multiple_of(5) { Kept::Postgres } else { Kept::Sqlite });
        // The source lies below folders that may be closed as well.
        let source = sandbox.root().join("above/source");
        std::fs::create_dir_all(&source).unwrap();
        let folders = vec![sandbox.root(), sandbox.root().join("above"), source.clone()];
        let mut world = World {
            seed,
            dice: Dice::new(seed),
            people,
            groups,
            sandbox,
            source,
            folders,
            files: Vec::new(),
            engine: None,
            judged: (0, 0),
        };
        world.grow(world.source.clone(), 5);
        world
    }

    fn grow(&mut self, folder: PathBuf, levels: usize) {
        for n in 0..=self.dice.below(3) {
            self.file(folder.join(format!("f{n}.txt")));
        }
        for n in 0..if levels == 0 { 0 } else { 1 + self.dice.below(2) } {
            let below = folder.join(format!("d{n}"));
            std::fs::create_dir(&below).unwrap();
            self.folders.push(below.clone());
            self.grow(below, levels - 1);
        }
    }

    fn file(&mut self, path: PathBuf) {
        std::fs::write(&path, "some text").unwrap();
        self.files.push(path);
    }

    fn live(mut self) -> (u64, u64) {
        for path in [self.folders.clone(), self.files.clone()].concat() {
            if !self.dice.once_in(3) {
                self.change(&path);
            }
        }
        self.compare("at first");
        for round in 1..=2 {
            for path in [self.folders.clone(), self.files.clone()].concat() {
                if self.dice.once_in(5) {
                    self.change(&path);
                }
            }
            if round == 2 {
                self.rebuild();
            }
            self.compare(&format!("after change {round}"));
        }
        self.judged
    }

    /// Another owner, mode or access list.
    fn change(&mut self, path: &Path) {
        let folder = path.is_dir();
        if self.dice.once_in(2) {
            let owner = if self.dice.once_in(4) { 0 } else { self.dice.pick(self.people).uid };
            let group = *self.dice.pick(&self.dice_groups());
            std::os::unix::fs::chown(path, Some(owner), Some(group)).unwrap();
        }
        let open = folder && self.dice.once_in(2);
        let mode =
            if open { 0o755 } else { *self.dice.pick(if folder { &FOLDER_MODES } else { &FILE_MODES }) };
        files::tool("setfacl", &["-b"], path);
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
        if self.dice.once_in(3) {
            let rights: &[&str] =
                if folder { &["rwx", "--x", "r-x", "---", "r--"] } else { &["r--", "rw-", "---", "-w-"] };
            let mut entries = Vec::new();
            for _ in 0..=self.dice.below(2) {
                entries.push(format!("u:{}:{}", self.dice.pick(self.people).name, self.dice.pick(rights)));
            }
            entries.push(format!("g:{}:{}", self.dice.pick(self.groups), self.dice.pick(rights)));
            if self.dice.once_in(2) {
                entries.push(format!("m::{}", self.dice.pick(rights)));
            }
            let entries = entries.join(",");
            files::tool("setfacl", &["-m", &entries], path);
        }
    }

    fn dice_groups(&self) -> Vec<u32> {
        self.people.iter().flat_map(|person| person.groups.clone()).chain([0]).collect()
    }

    /// A file goes and another comes under its name, a folder is renamed, a new one comes.
    fn rebuild(&mut self) {
        let again = self.dice.pick(&self.files).clone();
        std::fs::remove_file(&again).unwrap();
        std::fs::write(&again, "another text").unwrap();
        let below: Vec<PathBuf> =
            self.folders.iter().filter(|f| f.parent() != Some(&self.source)).cloned().collect();
        let old = below.last().unwrap().clone();
        let new = self.source.join("renamed");
        std::fs::rename(&old, &new).unwrap();
        let moved = |path: &PathBuf| path.strip_prefix(&old).map_or(path.clone(), |rest| new.join(rest));
        self.files = self.files.iter().map(moved).collect();
        let fresh = self.source.join("fresh");
        std::fs::create_dir(&fresh).unwrap();
        self.change(&fresh);
        self.file(fresh.join("x.txt"));
    }

    fn compare(&mut self, when: &str) {
        if self.seed.is_multiple_of(2) {
            files::settle(&self.sandbox.root());
        }
        let source = self.source.to_string_lossy();
        let outputs: &[&str] =
            if self.engine.is_some() { &["--to", "index", "--to", search_engine::OUTPUT] } else { &[] };
        let sync = [&["sync", &*source, "--json", "--delete-guard", "off"], outputs].concat();
        let told = self.sandbox.run(&sync).exits(0);
        let every: BTreeSet<String> = self.sandbox.everything().into_iter().collect();
        assert_eq!(every.len(), self.files.len(), "seed {}, {when}: {told:?}", self.seed);
        for person in self.people {
            let opens = self.opens(person);
            self.judged.0 += opens.len() as u64;
            self.judged.1 += (self.files.len() - opens.len()) as u64;
            let found = self
                .sandbox
                .run(&["search", "*", "--as", &person.name, "--json", "--limit", "10000"])
                .exits(0)
                .documents()
                .into_iter()
                .collect::<BTreeSet<String>>();
            self.are_the_same((when, person), &opens, &found);
            if let Some(engine) = &self.engine {
                let found = search_engine::found(engine, &self.sandbox, person);
                self.are_the_same((&format!("{when}, by the search engine"), person), &opens, &found);
                let found = search_engine::asked(&self.sandbox, person, "*");
                self.are_the_same((&format!("{when}, by `search --output`"), person), &opens, &found);
            }
        }
    }

    fn are_the_same(
        &self,
        (when, person): (&str, &Person),
        opens: &BTreeSet<String>,
        found: &BTreeSet<String>,
    ) {
        let leaked: Vec<_> = found.difference(opens).collect();
        let hidden: Vec<_> = opens.difference(found).collect();
        assert!(
            leaked.is_empty() && hidden.is_empty(),
            "seed {}, {when}, {person:?}:\nmay not open, but finds {leaked:?}\nmay open, but does not find {hidden:?}\n{}",
            self.seed,
            self.rights(leaked.first().or(hidden.first()).unwrap()),
        );
    }

    /// What the kernel lets somebody open.
    fn opens(&self, person: &Person) -> BTreeSet<String> {
        const OPEN: &str = r#"while IFS= read -r f; do { true <"$f"; } 2>/dev/null && echo "$f"; done; true"#;
        let mut command = person.command(Path::new("sh"));
        command.args(["-c", OPEN]).current_dir("/");
        let list: String = self.files.iter().map(|path| format!("{}\n", path.display())).collect();
        let answer = finish(command, Some(&list)).exits(0);
        let below =
            |line: &str| Path::new(line).strip_prefix(&self.source).unwrap().to_str().unwrap().to_owned();
        answer.out.lines().map(below).collect()
    }

    /// The rights on the way to a document, for whoever has to find out why.
    fn rights(&self, document: &str) -> String {
        let path = self.source.join(document);
        let way: Vec<_> = path.ancestors().take_while(|p| p.starts_with(self.sandbox.root())).collect();
        way.iter()
            .map(|path| {
                crate::people::must(std::process::Command::new("getfacl").args(["-cp", "--"]).arg(path))
            })
            .zip(&way)
            .map(|(list, path)| format!("{}: {}\n", path.display(), list.replace('\n', " ")))
            .collect()
    }
}

#[test]
fn an_authority_that_answers_nothing_is_named_and_shows_nothing() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    sandbox.synced(&[]);
    // What the system is asked by for users that its files do not name: here it answers nothing, and says that all is well.
    let programs = sandbox.path().join("programs");
    std::fs::create_dir(&programs).unwrap();
    std::fs::write(programs.join("id"), "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(programs.join("id"), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    for arguments in
        [&["search", "apple", "--as", "somebody-else"][..], &["why", "somebody-else", "root/a.txt"]]
    {
        let mut command = sandbox.command(arguments);
        command.env("PATH", format!("{}:{}", programs.display(), std::env::var("PATH").unwrap()));
        crate::sandbox::finish(command, None).refuses(3, &["`id` answered something odd", "somebody-else"]);
    }
}
