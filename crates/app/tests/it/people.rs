//! Other users: commands run as them, and accounts that live as long as a test.

use std::process::Command;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// An ordinary user: the one that `scripts/install.sh` makes, or one that systems have where nobody may make any.
pub(crate) fn ordinary() -> &'static str {
    static NAME: LazyLock<&str> = LazyLock::new(|| {
        let list = std::fs::read_to_string("/etc/passwd").unwrap();
        let made = "ingather-test";
        if list.lines().any(|line| line.split(':').next() == Some(made)) { made } else { "nobody" }
    });
    *NAME
}

/// Runs a command to its end; what it wrote. A failure is a panic with what it said.
pub(crate) fn must(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| {
        panic!("{command:?} cannot be run: {error}; scripts/install.sh installs what the tests need")
    });
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Refuses a test that would work for root alone, and says so to root as well.
pub(crate) fn need_users() {
    assert!(
        ingather_testkit::rights::acts_as_others(),
        "this test acts as several users: begin it with `needs!(Users)`"
    );
}

/// Numbers of a user: its own, its group's, and all its groups.
#[derive(Clone, Debug)]
pub(crate) struct Person {
    pub(crate) name: String,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) groups: Vec<u32>,
}

impl Person {
    pub(crate) fn named(name: &str) -> Person {
        need_users();
        let ask = |what: &str| -> Vec<u32> {
            let output = Command::new("id").args([what, name]).output().unwrap();
            assert!(output.status.success(), "there is no user {name}");
            String::from_utf8(output.stdout).unwrap().split_whitespace().map(|n| n.parse().unwrap()).collect()
        };
        Person { name: name.to_owned(), uid: ask("-u")[0], gid: ask("-g")[0], groups: ask("-G") }
    }

    /// A command that runs as this user, with its groups and nothing else.
    pub(crate) fn command(&self, program: &std::path::Path) -> Command {
        let groups: Vec<String> = self.groups.iter().map(u32::to_string).collect();
        let mut command = Command::new("setpriv");
        command
            .arg(format!("--reuid={}", self.uid))
            .arg(format!("--regid={}", self.gid))
            .arg(format!("--groups={}", groups.join(",")))
            .arg("--inh-caps=-all")
            .arg(program);
        command
    }
}

/// Accounts made for a test; gone with this. Their names end with the number of this process, since other tests may run.
pub(crate) struct Accounts {
    users: Vec<String>,
    groups: Vec<String>,
}

/// How the names of all of them begin.
const PREFIX: &str = "ingather-t";

impl Accounts {
    /// Makes as many groups, and a user for each list of numbers of groups that it is a member of; no two calls share names.
    pub(crate) fn make(groups: usize, users: &[&[usize]]) -> Accounts {
        need_users();
        forget_left_over();
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let call = MADE.fetch_add(1, Ordering::Relaxed);
        let name = |sort: char, n: usize| format!("{PREFIX}{sort}{n}c{call}-{}", std::process::id());
        let mut made = Accounts { users: Vec::new(), groups: Vec::new() };
        for n in 0..groups {
            made.groups.push(name('g', n));
            patiently(Command::new("groupadd").arg(name('g', n)));
        }
        for (n, of) in users.iter().enumerate() {
            let of: Vec<String> = of.iter().map(|group| name('g', *group)).collect();
            let mut add = Command::new("useradd");
            add.args(["--user-group", "--no-create-home", "--home-dir", "/nonexistent"]);
            if !of.is_empty() {
                add.args(["--groups", &of.join(",")]);
            }
            made.users.push(name('u', n));
            patiently(add.arg(name('u', n)));
        }
        made
    }

    pub(crate) fn people(&self) -> Vec<Person> {
        self.users.iter().map(|name| Person::named(name)).collect()
    }

    pub(crate) fn groups(&self) -> &[String] {
        &self.groups
    }
}

/// Runs a command that another process may keep from the list of accounts for a moment.
fn patiently(command: &mut Command) {
    let deadline = Instant::now() + Duration::from_secs(150);
    loop {
        let output = command.output().unwrap_or_else(|error| panic!("{command:?} cannot be run: {error}"));
        if output.status.success() {
            return;
        }
        let why = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(why.contains("lock") && Instant::now() < deadline, "{command:?}: {why}");
        std::thread::park_timeout(Duration::from_millis(50));
    }
}

/// Takes away what a test that was killed has left.
fn forget_left_over() {
    for (list, program) in [("/etc/passwd", "userdel"), ("/etc/group", "groupdel")] {
        let text = std::fs::read_to_string(list).unwrap();
        for name in
            text.lines().filter_map(|line| line.split(':').next()).filter(|name| name.starts_with(PREFIX))
        {
            let Some(owner) = name.rsplit_once('-').and_then(|(_, pid)| pid.parse::<u32>().ok()) else {
                continue;
            };
            if !std::path::Path::new(&format!("/proc/{owner}")).exists() {
                // Another test may do the same at this moment.
                let _ = Command::new(program).arg(name).output();
            }
        }
    }
}

impl Drop for Accounts {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // What goes wrong here must not hide what went wrong before; the next test takes away what is left.
            self.users.iter().for_each(|user| drop(Command::new("userdel").arg(user).output()));
            self.groups.iter().for_each(|group| drop(Command::new("groupdel").arg(group).output()));
            return;
        }
        self.users.iter().for_each(|user| patiently(Command::new("userdel").arg(user)));
        self.groups.iter().for_each(|group| patiently(Command::new("groupdel").arg(group)));
    }
}
