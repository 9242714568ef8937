//! Other users: commands run as them, and accounts that live as long as a test.

use std::process::Command;

/// The ordinary user that `scripts/install.sh` makes.
pub(crate) const ORDINARY: &str = "ingather-test";

/// Runs a command to its end; what it wrote. A failure is a panic with what it said.
pub(crate) fn must(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| {
        panic!("{command:?} cannot be run: {error}; scripts/install.sh installs what the tests need")
    });
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Says so when the caller may not act as other users.
pub(crate) fn need_root() {
    assert!(rustix::process::geteuid().is_root(), "this test acts as several users: run it as root");
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
        let ask = |what: &str| -> Vec<u32> {
            let output = Command::new("id").args([what, name]).output().unwrap();
            assert!(output.status.success(), "there is no user {name}: scripts/install.sh makes {ORDINARY}");
            String::from_utf8(output.stdout).unwrap().split_whitespace().map(|n| n.parse().unwrap()).collect()
        };
        Person { name: name.to_owned(), uid: ask("-u")[0], gid: ask("-g")[0], groups: ask("-G") }
    }

    /// A command that runs as this user, with its groups and nothing else.
    pub(crate) fn command(&self, program: &std::path::Path) -> Command {
        need_root();
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

/// Accounts made for a test; gone with this.
pub(crate) struct Accounts {
    users: Vec<String>,
    groups: Vec<String>,
}

impl Accounts {
    /// Makes groups, and users that are members of some of them.
    pub(crate) fn make(groups: &[&str], users: &[(&str, &[&str])]) -> Accounts {
        need_root();
        let mut made = Accounts { users: Vec::new(), groups: Vec::new() };
        for (user, _) in users {
            forget("userdel", user);
        }
        for group in groups {
            forget("groupdel", group);
            must(Command::new("groupadd").arg(group));
            made.groups.push((*group).to_owned());
        }
        for (user, of) in users {
            let mut add = Command::new("useradd");
            add.args(["--user-group", "--no-create-home", "--home-dir", "/nonexistent"]);
            if !of.is_empty() {
                add.args(["--groups", &of.join(",")]);
            }
            must(add.arg(user));
            made.users.push((*user).to_owned());
        }
        made
    }
}

/// Takes away what an earlier test that was killed may have left.
fn forget(program: &str, name: &str) {
    // It need not be there.
    let _ = Command::new(program).arg(name).output();
}

impl Drop for Accounts {
    fn drop(&mut self) {
        self.users.iter().for_each(|user| forget("userdel", user));
        self.groups.iter().for_each(|group| forget("groupdel", group));
    }
}
