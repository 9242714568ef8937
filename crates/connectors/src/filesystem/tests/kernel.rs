//! Our judgement beside the kernel's: who may open what, and what an ordinary user meets.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use ingather_contract::repository::Presence;
use ingather_model::access::may_see;
use ingather_testkit::suites::{self, Obstruction, RepositorySample};
use rustix::fs::XattrFlags;

use super::*;
use crate::filesystem::Disk;
use crate::filesystem::facts::Facts;
use crate::filesystem::mounts::Mounted;
use crate::unix;

const USER: u32 = 20_001;
const GROUP: u32 = 20_011;
const SEEDS: u64 = 20;
const DEPTH: usize = 5;

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// As root: runs the test of this name once more as an ordinary user, and tells whether that was done. The copy of the
/// test program lies where that user can reach it.
fn done_as_ordinary_user(name: &str) -> bool {
    if !is_root() {
        return false;
    }
    let (_guard, root) = folder();
    std::fs::set_permissions(&root, PermissionsExt::from_mode(0o755)).unwrap();
    let program = root.join("tests");
    // By another process: what another thread starts meanwhile would hold the new file open for writing.
    let copied = Command::new("cp").arg(std::env::current_exe().unwrap()).arg(&program).status().unwrap();
    assert!(copied.success());
    let user = USER.to_string();
    let output = Command::new("setpriv")
        .args(["--reuid", &user, "--regid", &user, "--clear-groups", "--inh-caps=-all"])
        .arg(program)
        .args(["--exact", name, "--nocapture"])
        .output()
        .expect("as root this test needs the program `setpriv` (util-linux)");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    true
}

/// Runs as anybody; as root it runs itself once more as an ordinary user, for root is refused nothing.
#[test]
fn it_keeps_what_a_repository_promises() {
    done_as_ordinary_user("filesystem::tests::kernel::it_keeps_what_a_repository_promises");
    let (_guard, root) = folder();
    for name in ["a", "b", "c", "sub/d", "sub/deep/e", "other/f"] {
        write(&root, name, "one");
    }
    let shut = |mode: u32| {
        std::fs::set_permissions(root.join("sub"), PermissionsExt::from_mode(mode)).unwrap();
    };
    let obstruction = Obstruction { obstruct: &|| shut(0o000), restore: &|| shut(0o755), hidden: "sub/d" };
    suites::repository(
        &crate::filesystem::REPOSITORY,
        &RepositorySample {
            source: serde_json::json!({ "root": names::escape(root.as_os_str().as_bytes()) }),
            host: HostContext { threads: 2, ..HostContext::default() },
            present: ("sub/deep/e", b"one"),
            absent: "sub/nothing",
            change: (&|| write(&root, "sub/deep/e", "two and more"), b"two and more"),
            obstruction: (!is_root()).then_some(obstruction),
            remove: &|| std::fs::remove_file(root.join("sub/deep/e")).unwrap(),
        },
    );
}

/// Runs as anybody; as root it runs itself once more as an ordinary user, for root is refused nothing.
#[test]
fn what_an_ordinary_user_cannot_read_is_blind_or_refused_and_kept() {
    if done_as_ordinary_user(
        "filesystem::tests::kernel::what_an_ordinary_user_cannot_read_is_blind_or_refused_and_kept",
    ) {
        return;
    }
    let (_guard, root) = folder();
    for name in ["open/a", "closed/deep/b", "listed_only/c", "secret"] {
        write(&root, name, "x");
    }
    let close = |name: &str, mode: u32| {
        std::fs::set_permissions(root.join(name), PermissionsExt::from_mode(mode)).unwrap();
    };
    close("closed", 0o000);
    close("listed_only", 0o400);
    close("secret", 0o000);
    let source = source(&root);
    let listed = list(&*source);
    assert_eq!(listed.keys(), ["open/a", "secret"]);
    assert_eq!(listed.proven, ["", "open/"]);
    let mut blind: Vec<_> =
        listed.blind.iter().map(|spot| (spot.scope.label(), spot.cause.as_str())).collect();
    blind.sort();
    assert_eq!(blind, [("closed/".to_owned(), "unreadable"), ("listed_only/".to_owned(), "unreadable")]);
    // Its acl is told although it cannot be read: a folder that was closed hides what is in it.
    let closed = &listed.containers[&format!("{}/closed", root.display())];
    let owner = unix::calling_user().unwrap();
    assert!(!closed.acl.admits(&owner));
    let unreadable = |fault: Fault, part: &str| {
        let reason = fault.reason();
        assert!(matches!(fault, Fault::Unreadable(_)) && reason.code == "unreadable", "{reason:?}");
        assert!(reason.message.contains(part) && reason.message.contains("permission denied"), "{reason:?}");
    };
    unreadable(fetch(&*source, "secret").unwrap_err(), "`secret` cannot be read by user");
    unreadable(fetch(&*source, "closed/deep/b").unwrap_err(), "/closed");
    unreadable(source.look(&call(), "listed_only/c").unwrap_err(), "/listed_only");
    let looked = source.look(&call(), "secret").unwrap();
    assert!(!looked.acl.admits(&owner));
    for (key, presence) in [
        ("secret", Presence::Present),
        ("closed/deep/b", Presence::Unknown),
        ("closed/gone", Presence::Unknown),
        ("listed_only/gone", Presence::Unknown),
        ("open/gone", Presence::Absent),
    ] {
        assert_eq!(source.probe(&call(), key), presence, "{key}");
    }
    close("listed_only", 0o700);
    close("closed", 0o700);
    let inner = super::source(&root.join("closed/deep"));
    close("closed", 0o000);
    let mut listing = inner.list(&call()).unwrap();
    let page = listing.next().unwrap().unwrap();
    assert!(
        page.blind[0].cause == "unreadable" && page.blind[0].message.contains("/closed"),
        "{:?}",
        page.blind
    );
    assert!(page.proven.is_empty() && page.groups.is_empty() && listing.next().is_none());
    let above = page.containers.last().unwrap();
    assert!(above.name.ends_with("/closed") && !above.acl.admits(&owner), "who may pass counts at once");
    assert_eq!(inner.probe(&call(), "b"), Presence::Unknown);
    unreadable(super::source(&root.join("secret")).check(&call()).err().unwrap(), "secret");
    close("closed", 0o700);
}

/// Numbers that look random and are the same in each run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 24) % u64::from(bound)) as u32
    }
}

/// Gives a file or folder a random owner, group and mode, and often an access list.
fn dress(dice: &mut Dice, path: &Path, folder: bool) {
    let (uid, gid) = (USER + dice.below(4), GROUP + dice.below(4));
    std::os::unix::fs::chown(path, Some(uid), Some(gid)).unwrap();
    // Most folders let most users through, else nobody would get far.
    let modes: &[u32] = if folder {
        &[0o755, 0o755, 0o755, 0o711, 0o755, 0o705, 0o701, 0o750, 0o071, 0o671, 0o715, 0o717]
    } else {
        &[0o604, 0o640, 0o044, 0o444, 0o600, 0o404, 0o240, 0o664, 0o000, 0o705]
    };
    let mode = modes[dice.below(modes.len() as u32) as usize];
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    if dice.below(5) < 2 {
        let text = random_list(dice, mode, folder);
        rustix::fs::setxattr(path, "system.posix_acl_access", &text, XattrFlags::empty())
            .expect("the folder for temporary files must lie on a file system with POSIX access lists");
    }
}

fn random_list(dice: &mut Dice, mode: u32, folder: bool) -> Vec<u8> {
    let bits = |dice: &mut Dice| if folder && dice.below(3) > 0 { 7 } else { dice.below(8) };
    let mut text = 2u32.to_le_bytes().to_vec();
    let mut put = |tag: u16, bits: u32, id: u32| {
        text.extend_from_slice(&tag.to_le_bytes());
        text.extend_from_slice(&(bits as u16).to_le_bytes());
        text.extend_from_slice(&id.to_le_bytes());
    };
    put(0x01, mode >> 6 & 7, u32::MAX);
    for user in (USER..USER + 5).filter(|_| dice.below(3) == 0).collect::<Vec<_>>() {
        put(0x02, bits(dice), user);
    }
    put(0x04, bits(dice), u32::MAX);
    for group in (GROUP..GROUP + 5).filter(|_| dice.below(3) == 0).collect::<Vec<_>>() {
        put(0x08, bits(dice), group);
    }
    put(0x10, if dice.below(5) == 0 { 0 } else { bits(dice) }, u32::MAX);
    put(0x20, mode & 7, u32::MAX);
    text
}

fn grow(dice: &mut Dice, folder: &Path, depth: usize) {
    for name in ["one", "two", "three"] {
        let file = folder.join(name);
        std::fs::write(&file, "x").unwrap();
        dress(dice, &file, false);
    }
    if depth < DEPTH {
        for name in ["left", "right"] {
            let below = folder.join(name);
            std::fs::create_dir(&below).unwrap();
            grow(dice, &below, depth + 1);
            dress(dice, &below, true);
        }
    }
}

/// Which of the files a user can open, asked of the kernel.
fn opened_by(user: &(u32, u32, Vec<u32>), files: &[PathBuf]) -> Vec<bool> {
    let (uid, gid, groups) = user;
    let mut command = Command::new("setpriv");
    command.args(["--reuid", &uid.to_string(), "--regid", &gid.to_string()]);
    match groups.iter().map(u32::to_string).collect::<Vec<_>>().join(",") {
        none if none.is_empty() => command.arg("--clear-groups"),
        groups => command.args(["--groups", &groups]),
    };
    if *uid != 0 {
        command.arg("--inh-caps=-all");
    }
    let loop_over_files = "while IFS= read -r f; do if true <\"$f\"; then echo y; else echo n; fi; done";
    let mut child = command
        .args(["sh", "-c", loop_over_files])
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("this test needs the program `setpriv` (util-linux)");
    let text: String = files.iter().map(|file| format!("{}\n", file.display())).collect();
    let mut input = child.stdin.take().unwrap();
    // The answers of one tree fit into the pipe, so that neither side waits for the other.
    input.write_all(text.as_bytes()).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    String::from_utf8(output.stdout).unwrap().lines().map(|line| line == "y").collect()
}

/// Needs several users, and a folder for temporary files with POSIX access lists.
#[test]
fn our_judgement_is_the_kernels() {
    ingather_testkit::needs!(Users);
    let users = [
        (0, 0, vec![]),
        (USER, GROUP, vec![]),
        (USER + 1, GROUP + 1, vec![GROUP + 2, GROUP]),
        (USER + 2, GROUP + 4, vec![GROUP + 3, GROUP + 1]),
        (USER + 3, GROUP + 2, vec![GROUP, GROUP + 1, GROUP + 3, GROUP + 4]),
        (USER + 4, GROUP + 9, vec![]),
    ];
    let (mut admitted, mut shut_out) = (0, 0);
    for seed in 1..=SEEDS {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let (_guard, top) = folder();
        std::fs::set_permissions(&top, PermissionsExt::from_mode(0o755)).unwrap();
        // A folder above the source counts as well.
        let above = top.join("above");
        let root = above.join("source");
        std::fs::create_dir_all(&root).unwrap();
        grow(&mut dice, &root, 1);
        dress(&mut dice, &root, true);
        dress(&mut dice, &above, true);
        let source = source(&root);
        let listed = list(&*source);
        assert_eq!(listed.items.len(), ((1 << DEPTH) - 1) * 3);
        let files: Vec<PathBuf> = listed.items.keys().map(|key| root.join(key)).collect();
        let own_acls: Vec<_> =
            listed.items.keys().map(|key| source.look(&call(), key).unwrap().acl).collect();
        for user in &users {
            let tokens = unix::tokens(user.0, user.2.iter().copied().chain([user.1]));
            let kernel = opened_by(user, &files);
            assert_eq!(kernel.len(), files.len());
            for ((key, own), kernel) in listed.items.keys().zip(&own_acls).zip(kernel) {
                let mut acls = vec![Some(own)];
                let mut container = listed.container_of.get(key);
                while let Some(name) = container {
                    acls.push(Some(&listed.containers[name].acl));
                    container = listed.containers[name].parent.as_ref();
                }
                let ours = may_see(&tokens, acls);
                assert_eq!(ours, kernel, "seed {seed}, user {user:?}, {key}");
                if ours { admitted += 1 } else { shut_out += 1 }
            }
        }
    }
    assert!(
        admitted > 1_000 && shut_out > 1_000,
        "{admitted} admitted, {shut_out} shut out: too one-sided to prove much"
    );
}

#[test]
fn on_a_mount_that_maps_owners_the_stamps_of_access_hold_the_list() {
    let (_guard, root) = folder();
    write(&root, "a", "x");
    let settings = serde_json::json!({ "root": names::escape(root.as_os_str().as_bytes()) });
    // What the file system holds stays as it is; what is shown of it is another list on each mount.
    let [plain, one, other] = [(false, 30_001_u32), (true, 30_001), (true, 30_002)].map(|(mapped, user)| {
        let mut entries = 2_u32.to_le_bytes().to_vec();
        for (tag, bits, id) in
            [(1_u16, 6_u16, u32::MAX), (2, 4, user), (4, 4, u32::MAX), (16, 4, u32::MAX), (32, 0, u32::MAX)]
        {
            entries.extend([tag.to_le_bytes(), bits.to_le_bytes()].concat());
            entries.extend(id.to_le_bytes());
        }
        let attribute = "system.posix_acl_access";
        rustix::fs::setxattr(root.join("a"), attribute, &entries, XattrFlags::empty()).unwrap();
        let host = HostContext { threads: 1, ..HostContext::default() };
        let source = crate::filesystem::source_of(&settings, &host).unwrap();
        let facts = Facts::of_name(rustix::fs::CWD, &root).unwrap();
        let mounted = source.mounted(&facts, std::fs::File::open(&root).unwrap());
        source.mounts.lock().unwrap().note(&facts, Mounted { mapped, ..mounted });
        let source = Disk(Arc::new(source));
        let item = list(&source).items["a"].clone();
        let looked = source.look(&call(), "a").unwrap();
        let (read, _) = fetch(&source, "a").unwrap();
        assert_eq!([looked.access, read.access], [item.access; 2], "one answer, whoever is asked");
        assert_eq!([looked.content, read.content], [item.content; 2]);
        // Beside the change time, which a mount would not move.
        let file = Facts::of_name(rustix::fs::CWD, root.join("a")).unwrap();
        (item.content, item.access.0[3] ^ u64::from(file.mode))
    });
    assert_eq!(plain.1, 0);
    assert!(one.1 != 0 && other.1 != 0 && one.1 != other.1);
    assert_eq!((plain.0, one.0), (one.0, other.0));
}
