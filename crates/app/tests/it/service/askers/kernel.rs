//! What a service finds for somebody is what the kernel lets them open: many people of one authority, and a tree with random owners, modes and
//! access lists. `INGATHER_TEST_KERNEL_SEED` plays another tree, `INGATHER_TEST_KERNEL_SIZE` one with as many files, and a person for each 25.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use ingather_model::access::{UNIX_EVERYONE, unix_group, unix_user};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::dice::Dice;
use crate::files;
use crate::people::{Person, must};
use crate::sandbox::{Kept, Sandbox, finish};
use crate::service::runs::at_rest;
use crate::service::{Service, key};

/// Numbers that no account of a machine has, and that a namespace has.
const FIRST_USER: u32 = 30_000;
const FIRST_GROUP: u32 = 40_000;
const GROUPS: usize = 30;
const FILES: usize = 1_000;
const FILES_OF_A_FOLDER: usize = 12;
/// Rights of a file for its owner, its group, others.
const OF_FILES: [&str; 10] = [
    "rw-r--r--",
    "rw-r-----",
    "rw----r--",
    "---r--r--",
    "r--------",
    "---r-----",
    "------r--",
    "rw-rw-r--",
    "---------",
    "r--r--r--",
];
const OF_FOLDERS: [&str; 8] =
    ["rwxr-xr-x", "rwx--x--x", "rwxr-x---", "rwx-----x", "---r-xr-x", "rwx------", "rwxrwxr-x", "r-xr-xr-x"];

fn number(name: &str, else_: usize) -> usize {
    std::env::var(name).map_or(else_, |text| text.parse().unwrap())
}

struct Tree<'s> {
    dice: Dice,
    sandbox: &'s Sandbox,
    people: Vec<Person>,
    folders: Vec<PathBuf>,
    files: Vec<PathBuf>,
}

impl<'s> Tree<'s> {
    fn new(seed: u64, sandbox: &'s Sandbox, size: usize) -> Tree<'s> {
        let mut dice = Dice::new(seed);
        let person = |number: usize, dice: &mut Dice| {
            let mut groups: Vec<u32> =
                (0..1 + dice.below(5)).map(|_| FIRST_GROUP + dice.below(GROUPS) as u32).collect();
            groups.sort_unstable();
            groups.dedup();
            let uid = FIRST_USER + number as u32;
            Person { name: format!("person {number}"), uid, gid: groups[0], groups }
        };
        let people = (0..size / 25).map(|number| person(number, &mut dice)).collect();
        let mut tree = Tree { dice, folders: vec![sandbox.root()], files: Vec::new(), people, sandbox };
        while tree.files.len() < size {
            let above = tree.dice.pick(&tree.folders).clone();
            let folder = above.join(format!("d{}", tree.folders.len()));
            std::fs::create_dir(&folder).unwrap();
            for number in 0..FILES_OF_A_FOLDER.min(size - tree.files.len()) {
                let file = folder.join(format!("f{number}.txt"));
                // Each text once: copies are shown with the first one.
                std::fs::write(&file, format!("apple {}", tree.files.len())).unwrap();
                tree.files.push(file);
            }
            tree.folders.push(folder);
        }
        tree
    }

    /// Gives one in so many of all folders and files other owners, modes and access lists.
    fn change(&mut self, one_in: usize) {
        let mut list = String::new();
        // The folder where the job begins stays as it is: the tree would be closed to most.
        for at in 1..self.folders.len() + self.files.len() {
            if self.dice.once_in(one_in) {
                self.rights(at, &mut list);
            }
        }
        let file = self.sandbox.path().join("rights");
        std::fs::write(&file, list).unwrap();
        must(Command::new("setfacl").arg("--restore").arg(file).current_dir("/"));
    }

    /// The rights of one of them, as `getfacl` would write them.
    fn rights(&mut self, at: usize, list: &mut String) {
        let dice = &mut self.dice;
        let (path, is_folder) = match self.folders.get(at) {
            Some(folder) => (folder, true),
            None => (&self.files[at - self.folders.len()], false),
        };
        let rights = if is_folder && dice.once_in(2) {
            OF_FOLDERS[0]
        } else {
            dice.pick(if is_folder { &OF_FOLDERS } else { &OF_FILES[..] })
        };
        let owner = if dice.once_in(4) { 0 } else { dice.pick(&self.people).uid };
        let group = FIRST_GROUP + dice.below(GROUPS) as u32;
        writeln!(list, "# file: {}\n# owner: {owner}\n# group: {group}", path.display()).unwrap();
        writeln!(list, "user::{}\ngroup::{}\nother::{}", &rights[..3], &rights[3..6], &rights[6..]).unwrap();
        if dice.once_in(3) {
            let some: &[&str] =
                if is_folder { &["rwx", "--x", "r-x", "---", "r--"] } else { &["r--", "rw-", "---", "-w-"] };
            let users: BTreeSet<u32> = (0..=dice.below(2)).map(|_| dice.pick(&self.people).uid).collect();
            users.iter().for_each(|user| writeln!(list, "user:{user}:{}", dice.pick(some)).unwrap());
            writeln!(list, "group:{}:{}", FIRST_GROUP + dice.below(GROUPS) as u32, dice.pick(some)).unwrap();
            writeln!(list, "mask::{}", dice.pick(some)).unwrap();
        }
        list.push('\n');
    }

    /// What the kernel lets somebody open.
    fn opens(&self, person: &Person, list: &str) -> BTreeSet<String> {
        // All is read before anything is written: whoever writes the list reads nothing meanwhile.
        const OPEN: &str =
            "my @all = <STDIN>; for (@all) { chomp; print \"$_\\n\" if open(my $file, '<', $_); }";
        let mut command = person.command(Path::new("perl"));
        command.args(["-e", OPEN]).current_dir("/");
        let answer = finish(command, Some(list)).exits(0);
        let root = self.sandbox.root();
        let below = |line: &str| Path::new(line).strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
        answer.out.lines().map(below).collect()
    }

    /// Compares what each of them finds; pairs that may be opened, and that may not.
    fn compare(&self, service: &Service<'_>, when: &str) -> (usize, usize) {
        let list: String = self.files.iter().map(|path| format!("{}\n", path.display())).collect();
        let (mut open, mut closed) = (0, 0);
        for person in &self.people {
            let opens = self.opens(person, &list);
            let name = person.name.replace(' ', "+");
            let found = service
                .answer("GET", &format!("/api/v1/search?query=apple&limit=10000&as={name}&domain=tree"));
            let document = |hit: &Value| hit["document"].as_str().unwrap().to_owned();
            let found: BTreeSet<String> = found["hits"].as_array().unwrap().iter().map(document).collect();
            let (leaked, hidden) = (found.difference(&opens).next(), opens.difference(&found).next());
            assert!(
                leaked.is_none() && hidden.is_none(),
                "{when}, {person:?}: may not open, but finds {leaked:?}; may open, but does not find {hidden:?}\n{}",
                self.told(leaked.or(hidden).unwrap())
            );
            open += opens.len();
            closed += self.files.len() - opens.len();
        }
        (open, closed)
    }

    /// The rights on the way to a document, for whoever has to find out why.
    fn told(&self, document: &str) -> String {
        let path = self.sandbox.root().join(document);
        let way = path.ancestors().take_while(|path| path.starts_with(self.sandbox.root()));
        let list = |path: &Path| must(Command::new("getfacl").args(["-pn", "--"]).arg(path));
        way.map(list).collect::<Vec<String>>().join("\n")
    }

    /// Declares the people, and the tokens by which files know them.
    fn declare(&self) {
        let tokens = |person: &Person| {
            let groups = person.groups.iter().map(|group| unix_group(*group));
            let all: Vec<String> = groups.chain([unix_user(person.uid), UNIX_EVERYONE.to_owned()]).collect();
            (person.name.clone(), json!(all))
        };
        let users: serde_json::Map<String, Value> = self.people.iter().map(tokens).collect();
        let (people, declared) =
            (self.sandbox.path().join("people.json"), self.sandbox.path().join("declared.json"));
        std::fs::write(&people, json!({ "users": users }).to_string()).unwrap();
        let directory = json!({"kind": "listed", "settings": {"file": people}, "domain": "tree"});
        let text = json!({"version": 1, "authorities": {"directory": directory}}).to_string();
        std::fs::write(&declared, text).unwrap();
        self.sandbox.run(&["apply", "-f", declared.to_str().unwrap()]).exits(0);
    }
}

#[test]
fn a_service_finds_for_each_of_many_people_what_the_kernel_lets_them_open() {
    ingather_testkit::needs!(Users);
    let (seed, size) = (number("INGATHER_TEST_KERNEL_SEED", 1), number("INGATHER_TEST_KERNEL_SIZE", FILES));
    let sandbox = Sandbox::new(if seed.is_multiple_of(5) { Kept::Postgres } else { Kept::Sqlite });
    let mut tree = Tree::new(seed as u64, &sandbox, size);
    tree.change(1);
    files::settle(&sandbox.root());
    tree.declare();
    sandbox.run(&["sync", "root", "--delete-guard", "off"]).exits(0);
    let service = Service::with(&sandbox, key(&sandbox, "admin", &["admin"], None), &[]);
    let first = tree.compare(&service, &format!("seed {seed}"));
    // What the service keeps of people does not outlive a change.
    tree.change(10);
    files::settle(&sandbox.root());
    service.answer("POST", "/api/v1/jobs/root/start");
    at_rest(&service, "root");
    let second = tree.compare(&service, &format!("seed {seed}, changed"));
    service.end(Signal::TERM);
    let (open, closed) = (first.0 + second.0, first.1 + second.1);
    assert!(open > size && closed > size, "too easy: {open} may be opened, {closed} not");
}
