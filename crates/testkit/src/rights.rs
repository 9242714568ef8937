//! Tests that act as several users, mount, or use devices: whoever may not is helped by a user namespace or by `sudo`, else the test is named.
//!
//! Such a test begins with [`needs!`](crate::needs). Where the caller has the rights it goes on; else it runs once more as a process
//! that has them. Where no such process can be made, it is written to the file that `INGATHER_TEST_NOT_RUN` names, whose lines
//! `cargo x ci` shows; with `CI=true` it fails.

use std::cell::Cell;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

/// What a test needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rights {
    /// To act as any of several users, to give files to them, and to make accounts.
    Users,
    /// Those of the machine's own root: device nodes, and file systems that the kernel makes up.
    Machine,
    /// A file system that the test serves by itself.
    Fuse,
    /// A mount table of the test's own, which ends with its process.
    Mounts,
}

/// At the beginning of a test: ends it here where it was done by another process, or cannot be.
#[macro_export]
macro_rules! needs {
    ($rights:ident) => {{
        fn here() {}
        if !$crate::rights::goes_on($crate::rights::Rights::$rights, std::any::type_name_of_val(&here)) {
            return;
        }
    }};
}

/// The ordinary user that `scripts/install.sh` makes; a namespace has its own.
const ORDINARY: &str = "ingather-test";
/// Tells a test that it was started for its rights.
const INSIDE: &str = "INGATHER_TEST_RIGHTS";
/// Tells a test that it runs in a mount table of its own.
const MOUNTS: &str = "INGATHER_TEST_MOUNTS";
/// Names the file that tells what was not run.
const NOT_RUN: &str = "INGATHER_TEST_NOT_RUN";

/// Whether the test that `here` stands in goes on in this process; if not, it was run by another one, or named as not run.
///
/// # Panics
/// When it fails there; when it cannot be run and `CI=true` says that nothing may be missing.
pub fn goes_on(rights: Rights, here: &str) -> bool {
    let enough = match rights {
        Rights::Users => is_root_of_users(),
        Rights::Machine => is_root_of_the_machine(),
        Rights::Fuse => std::fs::File::options().read(true).write(true).open("/dev/fuse").is_ok(),
        Rights::Mounts => std::env::var_os(MOUNTS).is_some(),
    };
    if enough {
        ACTS_AS_OTHERS.with(|acts| acts.set(acts.get() || rights == Rights::Users));
        return true;
    }
    let (_, name) = here.split_once("::").expect("a function is in a crate");
    let name = name.rsplit_once("::").map_or(name, |(test, _)| test);
    let mounts = rights == Rights::Mounts && *MOUNT_TABLES;
    let is_started = std::env::var_os(INSIDE).is_some();
    assert!(mounts || !is_started, "{name} was started with rights that are not enough for it");
    let program = std::env::current_exe().expect("a test has a program");
    let command = match rights {
        Rights::Users if *NAMESPACES => Some(in_a_namespace(&program)),
        Rights::Mounts if mounts => Some(in_a_mount_table(&program)),
        _ if *SUDO => Some(by_sudo(&program)),
        _ => None,
    };
    let Some(mut command) = command else {
        not_run(
            name,
            match rights {
                Rights::Users => "it needs root, subordinate ids (newuidmap, /etc/subuid), or `sudo -n`",
                Rights::Machine => "it needs the machine's root, or `sudo -n`",
                Rights::Fuse => "it needs the right to open /dev/fuse, or `sudo -n`",
                Rights::Mounts => "it needs the right to a mount table of its own (unshare), or `sudo -n`",
            },
        );
        return false;
    };
    let output = command.args(["--exact", name, "--nocapture"]).output().expect("a process can be started");
    let told = String::from_utf8_lossy(&output.stdout);
    let is_done = output.status.success() && told.contains("1 passed");
    assert!(is_done, "{name}, by {command:?}: {told}{}", String::from_utf8_lossy(&output.stderr));
    false
}

/// Says that a test was not run, to whoever reads the summary.
///
/// # Panics
/// With `CI=true`: nothing may be missing then.
pub fn not_run(name: &str, why: &str) {
    assert!(std::env::var("CI").as_deref() != Ok("true"), "{name} cannot be run here: {why}");
    eprintln!("{name} was not run: {why}");
    if let Some(file) = std::env::var_os(NOT_RUN) {
        let list = std::fs::File::options().append(true).create(true).open(file);
        list.and_then(|mut list| list.write_all(format!("{name}: {why}\n").as_bytes()))
            .expect("the list of what was not run takes a line");
    }
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

/// How many users this process can become: those that its namespace has numbers for.
fn users() -> u64 {
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    map.lines().filter_map(|line| line.split_whitespace().nth(2)?.parse::<u64>().ok()).sum()
}

fn is_root_of_users() -> bool {
    is_root() && users() > 60_000
}

fn is_root_of_the_machine() -> bool {
    is_root() && users() == u64::from(u32::MAX)
}

fn works(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

const UNSHARE: [&str; 4] = ["--user", "--map-root-user", "--map-auto", "--mount"];
static NAMESPACES: LazyLock<bool> = LazyLock::new(|| works("unshare", &[&UNSHARE[..], &["true"]].concat()));
const MOUNT_TABLE: [&str; 2] = ["--mount", "--map-root-user"];
static MOUNT_TABLES: LazyLock<bool> =
    LazyLock::new(|| works("unshare", &[&MOUNT_TABLE[..], &["true"]].concat()));
static SUDO: LazyLock<bool> = LazyLock::new(|| works("sudo", &["-n", "true"]));

thread_local! {
    /// Whether the test of this thread has said that it acts as several users.
    static ACTS_AS_OTHERS: Cell<bool> = const { Cell::new(false) };
}

/// Whether the test of this thread began with `needs!(Users)`. As root it would work without, and for nobody else.
pub fn acts_as_others() -> bool {
    ACTS_AS_OTHERS.with(Cell::get)
}

fn in_a_mount_table(program: &Path) -> Command {
    let mut command = Command::new("unshare");
    command.args(MOUNT_TABLE).arg(program).env(MOUNTS, "1");
    command
}

fn by_sudo(program: &Path) -> Command {
    let mut command = Command::new("sudo");
    command.args(["-n", "env"]);
    // It begins with an empty environment.
    let ours = std::env::vars().filter(|(name, _)| name.starts_with("INGATHER_") || name == "CI");
    command.args(ours.map(|(name, value)| format!("{name}={value}")));
    command.arg(format!("{INSIDE}=1")).arg(format!("PATH={}", path_of_root())).arg(program);
    command
}

/// Root of a namespace in which the subordinate ids of the caller are users.
fn in_a_namespace(program: &Path) -> Command {
    let mut command = Command::new("unshare");
    command.args(UNSHARE).args(["sh", "-euc", NAMESPACE, "sh", ORDINARY]);
    let beside = program.parent().and_then(Path::parent).unwrap_or(program).to_owned();
    // What the caller does not reach either needs no way to it.
    for folder in [crate::workspace(), beside].iter().filter_map(|folder| folder.canonicalize().ok()) {
        if let Some(closed) = closed_above(&folder) {
            command.arg(closed).arg(folder);
        }
    }
    // Its temporary files are where all of its users may have some.
    command.arg("--").arg(program);
    command.env(INSIDE, "1").env("TMPDIR", "/mnt/tmp").env("PATH", path_of_root());
    command
}

/// Where root finds programs: `useradd` and its like are in no folder that many systems name to ordinary users.
fn path_of_root() -> String {
    let own = std::env::var("PATH").unwrap_or_default();
    format!("{own}:/usr/local/sbin:/usr/sbin:/sbin")
}

/// The outermost folder above that other users may not pass.
fn closed_above(folder: &Path) -> Option<PathBuf> {
    let above: Vec<&Path> = folder.ancestors().skip(1).collect();
    let is_closed = |folder: &&&Path| std::fs::metadata(folder).is_ok_and(|facts| facts.mode() & 0o001 == 0);
    above.iter().rev().find(is_closed).map(|closed| closed.to_path_buf())
}

/// Prepares the namespace and becomes the program: a list of accounts of its own, which can be added to, and in place of homes that others
/// may not enter, folders with nothing in them but what the test needs. Arguments: the ordinary user, pairs of closed folder and
/// folder below it, `--`, the program.
const NAMESPACE: &str = r#"
ordinary=$1; shift
mount -t tmpfs -o mode=755 none /mnt
mkdir /mnt/etc
mkdir -m 1777 /mnt/tmp
cp -rP --preserve=mode,links /etc/. /mnt/etc/ 2>/dev/null || true
for list in shadow gshadow; do [ -e "/mnt/etc/$list" ] || : >"/mnt/etc/$list"; done
mount --bind /mnt/etc /etc
id "$ordinary" >/dev/null 2>&1 || useradd --user-group --no-create-home --home-dir /nonexistent --shell /bin/sh "$ordinary"
here=$PWD
count=0
for word in "$@"; do
    [ "$word" != -- ] || break
    count=$((count + 1))
    # Of a pair, the second is what is kept.
    [ $((count % 2)) = 0 ] || continue
    mkdir "/mnt/$count"
    mount --rbind "$word" "/mnt/$count"
done
count=0
while [ "$1" != -- ]; do
    count=$((count + 2))
    if ! [ -e "$1/.of-a-test" ]; then
        mount -t tmpfs -o mode=755 none "$1"
        : >"$1/.of-a-test"
    fi
    mkdir -p "$2"
    mount --rbind "/mnt/$count" "$2"
    shift 2
done
shift
cd "$here"
exec "$@"
"#;

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, chown};

    use super::*;

    #[test]
    fn whoever_needs_users_can_make_some_and_give_files_to_them() {
        crate::needs!(Users);
        assert!(works("groupadd", &["--help"]) && works("useradd", &["--help"]));
        let folder = tempfile::tempdir().unwrap();
        let given = folder.path().join("given");
        std::fs::write(&given, "text").unwrap();
        chown(&given, Some(20_001), Some(20_011)).unwrap();
        let facts = std::fs::metadata(&given).unwrap();
        assert_eq!((facts.uid(), facts.gid()), (20_001, 20_011));
    }

    #[test]
    fn whoever_needs_mounts_has_a_table_of_its_own() {
        crate::needs!(Mounts);
        let folder = tempfile::tempdir().unwrap();
        assert!(works("mount", &["-t", "tmpfs", "none", folder.path().to_str().unwrap()]));
        assert!(works("umount", &[folder.path().to_str().unwrap()]));
    }

    /// As root: runs the tests above as an ordinary user, who by default finds only what is for ordinary users.
    #[test]
    fn an_ordinary_user_gets_the_rights_or_reads_what_was_not_run() {
        if !is_root_of_the_machine() {
            // In an ordinary user's own run, the tests above are such tests.
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o1777)).unwrap();
        let (program, list) = (folder.path().join("tests"), folder.path().join("list"));
        // By another process: what another thread starts meanwhile would hold the new file open for writing.
        assert!(works(
            "cp",
            &[std::env::current_exe().unwrap().to_str().unwrap(), program.to_str().unwrap()]
        ));
        for test in [
            "whoever_needs_users_can_make_some_and_give_files_to_them",
            "whoever_needs_mounts_has_a_table_of_its_own",
        ] {
            let name = format!("rights::tests::{test}");
            let mut command = Command::new("setpriv");
            command.args([&format!("--reuid={ORDINARY}"), &format!("--regid={ORDINARY}"), "--init-groups"]);
            command.arg("--inh-caps=-all").arg(&program).args(["--exact", &name, "--nocapture"]);
            command
                .current_dir("/")
                .env_clear()
                .env("PATH", "/usr/local/bin:/usr/bin:/bin")
                .env(NOT_RUN, &list);
            let output = command.output().expect("a process can be started");
            let told = [output.stdout, output.stderr].concat();
            let told = String::from_utf8_lossy(&told);
            assert!(output.status.success() && told.contains("1 passed"), "{told}");
            let missing = std::fs::read_to_string(&list).unwrap_or_default();
            assert_eq!(told.contains("was not run"), missing.contains(&name), "{told}\n{missing}");
        }
    }
}
