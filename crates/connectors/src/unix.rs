//! Users and groups of the local machine: the authority `unix`, and names of owners.
//!
//! Its answer is not whole where the system told the user and not all of the groups: the group file is longer than what is
//! read of it, the name service fails while it lists the groups (`id -G` prints the first ones and fails), or its list is
//! longer than what is read. A name service that leaves groups out without a word cannot be told from one that has none.

use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ingather_contract::authority::{Account as Asked, Answer, Authority, AuthorityKind, Pushed};
use ingather_contract::call::CallContext;
use ingather_contract::settings::{self, NoSettings};
use ingather_model::access::{Tokens, UNIX_EVERYONE, unix_group, unix_user};
use ingather_model::fault::Fault;
use ingather_model::limits;
use ingather_model::run_counts::counted;

/// The `unix` authority.
pub const AUTHORITY: AuthorityKind = AuthorityKind {
    name: "unix",
    about: "Users and groups of the machine, by name or number.",
    schema: settings::schema_of::<NoSettings>,
    kept: Duration::ZERO,
    open,
};

fn open(value: &serde_json::Value, _: Option<Arc<dyn Pushed>>) -> Result<Arc<dyn Authority>, Fault> {
    settings::read::<NoSettings>(value)?;
    Ok(Arc::new(Accounts::of_this_machine()))
}

/// The tokens of the user that runs this process: effective user and group, and its other groups.
///
/// # Errors
/// `Passing` when the system does not tell the groups.
pub fn calling_user() -> Result<Tokens, Fault> {
    let groups = rustix::process::getgroups().map_err(|errno| {
        Fault::passing("accounts", format!("the groups of this process cannot be read: {errno}"))
    })?;
    let groups = groups.into_iter().chain([rustix::process::getegid()]).map(|group| group.as_raw());
    Ok(tokens(rustix::process::geteuid().as_raw(), groups))
}

/// The tokens of a user with these groups.
pub(crate) fn tokens(uid: u32, groups: impl IntoIterator<Item = u32>) -> Tokens {
    groups.into_iter().map(unix_group).chain([unix_user(uid), UNIX_EVERYONE.to_owned()]).collect()
}

/// Where accounts are looked up.
struct Accounts {
    passwd: PathBuf,
    group: PathBuf,
    /// Says whether other sources than the two files are asked.
    switch: PathBuf,
    /// Asks all sources; it is told a user and answers numbers.
    program: PathBuf,
}

/// A user as the system knows them.
struct Found {
    uid: u32,
    groups: Vec<u32>,
    /// Whether these are all of the groups.
    whole: bool,
}

/// Numbers that the program answered.
struct Answered {
    numbers: Vec<u32>,
    /// Whether it ended well, and what it said was read to its end.
    whole: bool,
}

impl Authority for Accounts {
    fn check(&self, _call: &CallContext) -> Result<String, Fault> {
        let own = rustix::process::geteuid().as_raw().to_string();
        if self.files_are_all()? {
            let count = accounts(&read_bounded(&self.passwd).map_err(fault)?).count();
            read_lines(&self.group).map_err(fault)?;
            return Ok(format!("the files of this machine name {}", counted(count as u64, "user")));
        }
        self.ask("-u", &own).map(|_| "the name service of this machine answers".to_owned())
    }

    fn tokens(&self, _call: &CallContext, account: &Asked<'_>) -> Result<Answer, Fault> {
        let user = account.name;
        if !speakable(user) {
            return Ok(Answer::Unknown);
        }
        // A group that another source names may be one that a file shuts out: then the files alone do not suffice.
        let answer = match self.files_are_all()? {
            true => self.by_files(user)?,
            false => None,
        };
        Ok(match answer.map_or_else(|| self.by_program(user), |found| Ok(Some(found)))? {
            Some(Found { uid, groups, whole }) => {
                let tokens = tokens(uid, groups);
                Answer::Known(if whole { tokens } else { tokens.not_whole() })
            }
            None => Answer::Unknown,
        })
    }
}

impl Accounts {
    fn of_this_machine() -> Accounts {
        Accounts {
            passwd: "/etc/passwd".into(),
            group: "/etc/group".into(),
            switch: "/etc/nsswitch.conf".into(),
            program: "id".into(),
        }
    }

    /// Whether the system takes users and groups from the two files alone.
    fn files_are_all(&self) -> Result<bool, Fault> {
        let text = match read_bounded(&self.switch) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(true),
            other => other.map_err(fault)?,
        };
        let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
        let sources = lines.filter_map(|line| line.split_once(':')).filter_map(|(base, sources)| {
            matches!(base.trim(), "passwd" | "group" | "initgroups").then_some(sources)
        });
        Ok(sources.flat_map(str::split_whitespace).all(|source| source == "files"))
    }

    /// User and groups by the two files; none when they do not know the user.
    fn by_files(&self, user: &str) -> Result<Option<Found>, Fault> {
        let passwd = read_bounded(&self.passwd).map_err(fault)?;
        let by_number = |account: &Account<'_>| user.parse() == Ok(account.uid);
        let found = accounts(&passwd).find(|account| account.name == user);
        let Some(account) = found.or_else(|| accounts(&passwd).find(by_number)) else { return Ok(None) };
        let mut groups = vec![account.gid];
        let (text, whole) = read_lines(&self.group).map_err(fault)?;
        for line in text.lines() {
            let mut parts = line.split(':').skip(2);
            let (Some(Ok(gid)), Some(members)) = (parts.next().map(str::parse), parts.next()) else {
                continue;
            };
            if members.split(',').any(|member| member.trim() == account.name) {
                groups.push(gid);
            }
        }
        Ok(Some(Found { uid: account.uid, groups, whole }))
    }

    /// User and groups by the system's name service; none when it does not know the user.
    fn by_program(&self, user: &str) -> Result<Option<Found>, Fault> {
        let uid = self.ask("-u", user)?;
        if !uid.whole {
            return Ok(None);
        }
        let groups = self.ask("-G", user)?;
        match (uid.numbers.as_slice(), groups) {
            ([uid], Answered { numbers, whole }) if !numbers.is_empty() => {
                Ok(Some(Found { uid: *uid, groups: numbers, whole }))
            }
            // It went away meanwhile.
            (_, Answered { whole: false, .. }) => Ok(None),
            _ => Err(Fault::passing("accounts", format!("`id` answered something odd about user `{user}`"))),
        }
    }

    /// Runs the program for a limited time.
    fn ask(&self, question: &str, user: &str) -> Result<Answered, Fault> {
        let failed =
            |what: String| Fault::passing("accounts", format!("user `{user}` cannot be looked up: {what}"));
        let mut child = Command::new(&self.program)
            .args([question, "--", user])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| failed(format!("`{}` cannot be run: {error}", self.program.display())))?;
        let (answer, answered) = crossbeam_channel::bounded(1);
        if let Some(output) = child.stdout.take() {
            std::thread::spawn(move || {
                let mut text = String::new();
                let read = output.take(limits::ACCOUNTS_BYTES_MAX + 1).read_to_string(&mut text);
                // Nobody listens any more after the time is up.
                let _ = answer.send(read.map(|_| text));
            });
        }
        let text = answered.recv_timeout(Duration::from_millis(limits::ACCOUNTS_WAIT_MS_MAX));
        if text.is_err() {
            // It may have ended by itself just now.
            let _ = child.kill();
        }
        let status = child.wait().map_err(|error| failed(error.to_string()))?;
        let mut text = text
            .map_err(|_| failed("the name service did not answer in time".to_owned()))?
            .map_err(|error| failed(error.to_string()))?;
        let cut = text.len() as u64 > limits::ACCOUNTS_BYTES_MAX;
        if cut {
            // The last number may go on.
            text.truncate(text.rfind(char::is_whitespace).unwrap_or_default());
        }
        let whole = status.success() && !cut;
        match text.split_whitespace().map(str::parse).collect::<Result<Vec<u32>, _>>() {
            Ok(numbers) => Ok(Answered { numbers, whole }),
            Err(_) if !status.success() => Ok(Answered { numbers: Vec::new(), whole }),
            Err(_) => Err(failed("`id` answered something that is not a number".to_owned())),
        }
    }
}

/// Whether a name can be that of a user and is safe to hand to a program.
fn speakable(user: &str) -> bool {
    !user.is_empty()
        && user.len() <= 256
        && !user.starts_with('-')
        && !user.chars().any(|c| c.is_control() || c.is_whitespace() || matches!(c, ':' | ',' | '/'))
}

fn fault(error: std::io::Error) -> Fault {
    Fault::passing("accounts", format!("the accounts of this machine cannot be read: {error}"))
}

/// One line of the account file.
struct Account<'a> {
    name: &'a str,
    uid: u32,
    gid: u32,
}

fn accounts(text: &str) -> impl Iterator<Item = Account<'_>> {
    text.lines().filter_map(|line| {
        let mut parts = line.split(':');
        let (name, _, uid, gid) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        Some(Account { name, uid: uid.parse().ok()?, gid: gid.parse().ok()? })
    })
}

fn read_bounded(path: impl AsRef<Path>) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(limits::ACCOUNTS_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limits::ACCOUNTS_BYTES_MAX {
        return Err(std::io::Error::other(format!("larger than {} bytes", limits::ACCOUNTS_BYTES_MAX)));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The lines of a file as far as its text is bounded, and whether these are all.
fn read_lines(path: impl AsRef<Path>) -> std::io::Result<(String, bool)> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(limits::ACCOUNTS_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    let whole = bytes.len() as u64 <= limits::ACCOUNTS_BYTES_MAX;
    if !whole {
        // The last line may go on.
        bytes.truncate(bytes.iter().rposition(|byte| *byte == b'\n').unwrap_or_default());
    }
    Ok((String::from_utf8_lossy(&bytes).into_owned(), whole))
}

/// Names of owners, from the local account file as it was at the first question.
#[derive(Default)]
pub(crate) struct Owners(OnceLock<HashMap<u32, String>>);

impl Owners {
    /// The name of a user, or `uid:N`.
    pub(crate) fn name(&self, uid: u32) -> String {
        let names = self.0.get_or_init(|| {
            let text = read_bounded("/etc/passwd").unwrap_or_default();
            let mut names = HashMap::new();
            for account in accounts(&text) {
                names.entry(account.uid).or_insert_with(|| account.name.to_owned());
            }
            names
        });
        names.get(&uid).cloned().unwrap_or_else(|| format!("uid:{uid}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ingather_contract::call::{Cancel, Clock};
    use ingather_testkit::suites::{self, AuthoritySample};

    #[test]
    fn it_keeps_what_an_authority_promises() {
        let settings = serde_json::json!({});
        let known = ("root", [unix_user(0), UNIX_EVERYONE.to_owned()]);
        let tokens = known.1.each_ref().map(String::as_str);
        let sample = AuthoritySample {
            settings,
            known: Some((known.0, &tokens)),
            presented: None,
            cut: None,
            obstruct: None,
        };
        suites::authority(&AUTHORITY, &sample);
    }

    thread_local! {
        /// Where the accounts of a made machine are.
        static MACHINE: tempfile::TempDir = tempfile::tempdir().unwrap();
    }

    #[test]
    fn it_keeps_what_an_authority_promises_where_groups_and_accounts_cannot_be_read() {
        let made = || MACHINE.with(|folder| machine(folder.path(), "group: files\n", "exit 1"));
        static KIND: AuthorityKind = AuthorityKind {
            open: |_, _| {
                Ok(Arc::new(MACHINE.with(|folder| Accounts {
                    passwd: folder.path().join("passwd"),
                    group: folder.path().join("group"),
                    switch: folder.path().join("nsswitch.conf"),
                    program: folder.path().join("id"),
                })))
            },
            ..AUTHORITY
        };
        let Accounts { passwd, group, .. } = made();
        let cut = || {
            let more = "x".repeat(limits::ACCOUNTS_BYTES_MAX as usize);
            std::fs::write(&group, format!("long:x:51:{more}\nstaff:x:50:ann\n")).unwrap();
        };
        let obstruct = || std::fs::remove_file(&passwd).unwrap();
        let known = ("ann", ["unix:u:7", "unix:g:70", "unix:g:50", UNIX_EVERYONE].as_slice());
        let settings = serde_json::json!({});
        suites::authority(
            &KIND,
            &AuthoritySample {
                settings,
                known: Some(known),
                presented: None,
                cut: Some(&cut),
                obstruct: Some(&obstruct),
            },
        );
    }

    struct Still;

    impl Clock for Still {
        fn now(&self) -> i64 {
            0
        }
    }

    /// A machine with three accounts; `program` is what its name service answers with.
    fn machine(folder: &Path, switch: &str, program: &str) -> Accounts {
        use std::os::unix::fs::PermissionsExt;
        let write = |name: &str, text: &str| {
            let path = folder.join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let accounts = Accounts {
            passwd: write(
                "passwd",
                "root:x:0:0::/:/sh\nann:x:7:70::/:/sh\n8:x:9:90::/:/sh\nbob:x:8:80::/:/sh\nodd\n",
            ),
            group: write("group", "staff:x:50:bob,ann\nann:x:70:\nothers:x:51:annabel\nodd:x:y:ann\n"),
            switch: write("nsswitch.conf", switch),
            program: write("id", &format!("#!/bin/sh\n{program}\n")),
        };
        std::fs::set_permissions(&accounts.program, PermissionsExt::from_mode(0o755)).unwrap();
        accounts
    }

    fn ask(accounts: &Accounts, user: &str) -> Result<Answer, Fault> {
        let call = CallContext { clock: Arc::new(Still), cancel: Cancel::default() };
        accounts.tokens(&call, &Asked { name: user, presented: None, within: Duration::from_secs(1) })
    }

    fn known(uid: u32, groups: &[u32]) -> Result<Answer, Fault> {
        Ok(Answer::Known(tokens(uid, groups.iter().copied())))
    }

    #[test]
    fn files_alone_answer_when_the_machine_has_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let accounts = machine(folder.path(), "passwd: files # ldap\ngroup:  files\nhosts: dns\n", "exit 1");
        assert_eq!(ask(&accounts, "ann"), known(7, &[70, 50]));
        assert_eq!(ask(&accounts, "7"), known(7, &[70, 50]), "by number");
        assert_eq!(ask(&accounts, "8"), known(9, &[90]), "a name goes before a number");
        assert_eq!(ask(&accounts, "nobody-here"), Ok(Answer::Unknown));
    }

    #[test]
    fn other_sources_are_asked_through_the_system() {
        let folder = tempfile::tempdir().unwrap();
        let program = "case $1 in -u) echo 7;; -G) echo 70 50 99;; esac; [ $2 = -- ] && [ $3 = ann ]";
        let accounts = machine(folder.path(), "passwd: files\ngroup: files ldap\n", program);
        assert_eq!(ask(&accounts, "ann"), known(7, &[70, 50, 99]), "the groups of both");
        assert_eq!(ask(&accounts, "zoe"), Ok(Answer::Unknown));
    }

    #[test]
    fn an_answer_that_is_odd_or_missing_is_a_fault_and_never_a_user() {
        let folder = tempfile::tempdir().unwrap();
        for program in ["echo seven", "echo 7 8", "true"] {
            let accounts = machine(folder.path(), "group: sss\n", program);
            assert_eq!(ask(&accounts, "ann").unwrap_err().reason().code, "accounts", "{program}");
        }
        let mut accounts = machine(folder.path(), "group: sss\n", "true");
        accounts.program = folder.path().join("missing");
        assert_eq!(ask(&accounts, "ann").unwrap_err().reason().code, "accounts");
        accounts = machine(folder.path(), "group: files\n", "true");
        accounts.group = folder.path().join("missing");
        assert_eq!(ask(&accounts, "ann").unwrap_err().reason().code, "accounts");
    }

    #[test]
    fn groups_that_cannot_all_be_read_make_an_answer_that_is_not_whole() {
        let part = |groups: &[u32]| Ok(Answer::Known(tokens(7, groups.iter().copied()).not_whole()));
        let folder = tempfile::tempdir().unwrap();
        let files = machine(folder.path(), "group: files\n", "exit 1");
        let more = "x".repeat(limits::ACCOUNTS_BYTES_MAX as usize);
        std::fs::write(&files.group, format!("staff:x:50:ann\nlong:x:51:ann,{more}\nlast:x:52:ann\n"))
            .unwrap();
        assert_eq!(ask(&files, "ann"), part(&[70, 50]), "the group file is longer than what is read");

        let service = |program: &str| ask(&machine(folder.path(), "group: sss\n", program), "ann");
        assert_eq!(service("echo 7; [ $1 = -u ]"), part(&[7]), "`id` lists the first group, and fails");
        let endless = "case $1 in -u) echo 7;; -G) echo 70 50; head -c 17000000 /dev/zero | tr '\\0' ' '; echo 51;; esac";
        assert_eq!(service(endless), part(&[70, 50]), "`id` lists more than is read");
        assert_eq!(service("[ $1 = -u ] && echo 7"), Ok(Answer::Unknown), "went away meanwhile");
        assert_eq!(service("echo seven; [ $1 = -u ]").unwrap_err().reason().code, "accounts");
    }

    #[test]
    fn what_cannot_be_a_name_reaches_no_program() {
        let folder = tempfile::tempdir().unwrap();
        let accounts = machine(folder.path(), "group: sss\n", "echo 0");
        for user in ["", "-u", "a b", "a:b", "a\nb", "../a", &"n".repeat(300)] {
            assert_eq!(ask(&accounts, user), Ok(Answer::Unknown), "{user:?}");
        }
    }

    #[test]
    fn this_process_is_the_user_that_the_authority_knows() {
        let own = calling_user().unwrap();
        let uid = rustix::process::geteuid().as_raw();
        assert!(own.holds(&unix_user(uid)) && own.holds(UNIX_EVERYONE));
        assert!(own.holds(&unix_group(rustix::process::getegid().as_raw())));
        assert_eq!(Owners::default().name(0), "root");
        assert_eq!(Owners::default().name(4_000_000_000), "uid:4000000000");
    }
}
