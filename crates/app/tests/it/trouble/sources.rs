//! What is never meant to be indexed: file systems that the kernel makes up, the whole machine, pipes and devices.

use std::process::Command;

use serde_json::json;

use crate::files;
use crate::safety::mounts::root_mounts;
use crate::sandbox::{Sandbox, finish};

/// Types of mounts that are tried.
const MADE_UP: [&str; 11] = [
    "proc",
    "sysfs",
    "devtmpfs",
    "cgroup",
    "cgroup2",
    "debugfs",
    "tracefs",
    "securityfs",
    "bpf",
    "mqueue",
    "devpts",
];

#[test]
fn what_this_kernel_can_make_up_is_left_out_wherever_it_is_mounted() {
    ingather_testkit::needs!(Machine);
    if !root_mounts("trouble::sources::what_this_kernel_can_make_up_is_left_out_wherever_it_is_mounted") {
        return;
    }
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    let known = std::fs::read_to_string("/proc/filesystems").unwrap();
    let mut mounted = 0;
    for kind in known.lines().filter_map(|line| line.split('\t').nth(1)).filter(|kind| MADE_UP.contains(kind))
    {
        let point = sandbox.root().join(kind);
        std::fs::create_dir(&point).unwrap();
        let mut mount = Command::new("mount");
        match mount.args(["-t", kind, "none"]).arg(&point).output().unwrap().status.success() {
            true => mounted += 1,
            // Some can be mounted once, or not in a container.
            false => std::fs::remove_dir(&point).unwrap(),
        }
    }
    assert!(mounted > 0, "none of them can be mounted");
    files::settle(&sandbox.root().join("a.txt"));
    let counts = sandbox.synced(&[]);
    assert_eq!((counts.get("added"), counts.get("skipped")), (1, mounted), "{counts:?}");
    let listed = sandbox.run(&["document", "list", "root", "--state", "skipped"]).exits(0).out;
    assert_eq!(
        listed.lines().filter(|line| line.contains("  made_up: ")).count() as u64,
        mounted,
        "{listed}"
    );
}

#[test]
fn a_device_is_skipped_named_and_never_opened() {
    ingather_testkit::needs!(Machine);
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    // Who reads it comes to no end.
    let mut make = Command::new("mknod");
    crate::people::must(make.arg(sandbox.root().join("zero")).args(["c", "1", "5"]));
    files::settle(&sandbox.root());
    let counts = sandbox.synced(&[]);
    assert_eq!((counts.get("added"), counts.get("skipped")), (1, 1), "{counts:?}");
    let listed = sandbox.run(&["document", "list", "root", "--state", "skipped", "--json"]).exits(0).json();
    assert_eq!(
        (&listed[0]["document"], &listed[0]["code"]),
        (&json!("zero"), &json!("special")),
        "{listed:?}"
    );
}

#[test]
fn made_up_file_systems_are_not_entered_and_disks_are_unless_a_flag_says_so() {
    ingather_testkit::needs!(Mounts);
    let sandbox = Sandbox::sqlite();
    // As they are mounted on this machine: in a mount table of its own a test may not mount new ones.
    let mut made_up = Vec::new();
    let table = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    for line in table.lines() {
        let (before, after) = line.split_once(" - ").unwrap();
        let (at, kind) = (before.split(' ').nth(4).unwrap(), after.split(' ').next().unwrap());
        if !MADE_UP.contains(&kind) || made_up.contains(&kind) {
            continue;
        }
        let point = sandbox.root().join(kind);
        std::fs::create_dir(&point).unwrap();
        let mut mount = Command::new("mount");
        if mount.args(["--rbind", at]).arg(&point).output().unwrap().status.success() {
            made_up.push(kind);
        } else {
            std::fs::remove_dir(&point).unwrap();
        }
    }
    assert!(made_up.contains(&"proc") && made_up.contains(&"sysfs"), "{made_up:?}");
    let disk = sandbox.root().join("disk");
    std::fs::create_dir(&disk).unwrap();
    files::tool("mount", &["-t", "tmpfs", "none"], &disk);
    sandbox.write("a.txt", "apple");
    sandbox.write("disk/b.txt", "banana");
    files::settle(&disk);
    files::settle(&sandbox.root().join("a.txt"));
    let counts = sandbox.synced(&[]);
    assert_eq!((counts.get("added"), counts.get("skipped")), (2, made_up.len() as u64), "{counts:?}");
    let skipped = sandbox.run(&["document", "list", "root", "--state", "skipped"]).exits(0);
    for kind in made_up {
        assert!(skipped.out.contains(&format!("{kind}  made_up: ")), "{skipped:?}");
    }
    let told = sandbox.run(&["document", "explain", "root", "proc/version", "--json"]).exits(0).json();
    assert_eq!(told[0]["code"], "made_up", "{told:?}");
    // Staying on one disk is a setting that can be taken back.
    assert_eq!(sandbox.synced(&["--one-file-system", "--update"]).get("deleted"), 1);
    assert_eq!(sandbox.everything(), ["a.txt"]);
    assert_eq!(sandbox.synced(&["--no-one-file-system", "--update"]).get("added"), 1);
}

#[test]
fn the_whole_machine_is_indexed_only_when_somebody_says_so() {
    let sandbox = Sandbox::sqlite();
    for dry in [&[][..], &["--dry-run"]] {
        let words = ["everything on this machine", "--whole-machine"];
        sandbox.run(&[&["sync", "/"], dry].concat()).refuses(2, &words);
    }
    assert!(!sandbox.data().exists(), "nothing was made");
    let names =
        std::fs::read_dir("/").unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let exclude: Vec<String> = names.map(|name| format!("/{name}")).collect();
    let mut flags = vec!["sync", "/", "--whole-machine", "--dry-run"];
    exclude.iter().for_each(|name| flags.extend(["--exclude", name]));
    sandbox.run(&flags).exits(0);
}

#[test]
fn extract_opens_nothing_but_files_of_a_bounded_size() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    files::tool("mkfifo", &[], &sandbox.root().join("fifo"));
    let _socket = std::os::unix::net::UnixListener::bind(sandbox.root().join("socket")).unwrap();
    std::fs::File::create(sandbox.root().join("giant")).unwrap().set_len(10 << 30).unwrap();
    for name in ["root/fifo", "root/socket", "/dev/zero", "/dev/tty"] {
        sandbox.run(&["extract", name]).refuses(1, &[name, "special file"]);
    }
    sandbox.run(&["extract", "root/giant"]).refuses(1, &["too large", "10.0 GiB", "1.0 GiB"]);
    sandbox.run(&["extract", "root"]).refuses(1, &["it is a folder"]);
    let read = finish(sandbox.command(&["extract", "-", "--json"]), Some("words from a pipe")).exits(0);
    assert_eq!(read.json()[0]["text"], json!("words from a pipe"));
}
