//! A machine that is short of something: the run ends with words that help, and the next one ends exactly at the tree.

use std::process::Command;

use crate::files;
use crate::sandbox::{Answer, Kept, Sandbox, finish};

/// Files of the tree; about 8 MB of words.
const FILES: usize = 400;

fn tree() -> Sandbox {
    let sandbox = Sandbox::new(Kept::Sqlite);
    for n in 0..FILES {
        let words: Vec<String> = (0..2_000).map(|word| format!("w{}", word * 7 + n * 13)).collect();
        sandbox.write(&format!("d{}/f{n}.txt", n % 20), &words.join(" "));
    }
    files::settle(&sandbox.root());
    sandbox
}

/// Whatever happened, it was said by words that help; who could not work at all names what is short, in one sentence.
#[track_caller]
fn ends_with_words(answer: &Answer, at: &str, short: &[&str]) {
    assert!(matches!(answer.code, 0 | 1 | 3), "{at}: {answer:#?}");
    if answer.code == 3 {
        assert_eq!(answer.err.lines().count(), 1, "{at}: {answer:#?}");
        assert!(short.iter().any(|words| answer.err.to_lowercase().contains(words)), "{at}: {answer:#?}");
    }
    assert!(!answer.err.contains("panicked"), "{at}: {answer:#?}");
    assert_eq!(answer.code == 0, answer.err.is_empty(), "{at}: {answer:#?}");
}

/// The next run puts everything right, and another one has nothing to do.
#[track_caller]
fn converges(sandbox: &Sandbox, at: &str) {
    let answer = sandbox.run(&["sync", "root", "--json", "-q"]);
    assert_eq!(answer.code, 0, "{at}: {answer:#?}");
    assert_eq!(sandbox.everything().len(), FILES, "{at}");
    assert_eq!(sandbox.synced(&[]).get("unchanged"), FILES as u64, "{at}");
}

/// Changes how the data directory is mounted. What the table says of its owner is left alone: a namespace may have no number for it.
fn remount(sandbox: &Sandbox, how: &str) {
    let options = format!("remount,{how}");
    files::tool("mount", &["--options-source=disable", "-o", &options], &sandbox.data());
}

#[test]
fn a_full_disk_is_named_and_the_next_run_goes_on() {
    ingather_testkit::needs!(Mounts);
    for size in [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 40] {
        let sandbox = tree();
        std::fs::create_dir(sandbox.data()).unwrap();
        let at = format!("{size} MB");
        files::tool(
            "mount",
            &["-t", "tmpfs", "-o", &format!("size={size}m,mode=700"), "none"],
            &sandbox.data(),
        );
        let answer = sandbox.run(&["sync", "root", "--json", "-q"]);
        ends_with_words(&answer, &at, &["no space left on device", "disk is full"]);
        assert!(size > 2 || answer.code != 0, "{at} are too few: {answer:#?}");
        remount(&sandbox, "size=400m");
        converges(&sandbox, &at);
        files::tool("umount", &[], &sandbox.data());
    }
}

#[test]
fn a_disk_that_became_read_only_is_named_and_the_next_run_goes_on() {
    ingather_testkit::needs!(Mounts);
    let sandbox = tree();
    std::fs::create_dir(sandbox.data()).unwrap();
    files::tool("mount", &["-t", "tmpfs", "-o", "mode=700", "none"], &sandbox.data());
    sandbox.synced(&[]);
    remount(&sandbox, "ro");
    let data = sandbox.data();
    let words = [data.to_str().unwrap(), "Read-only file system", "writable"];
    sandbox.run(&["sync", "root"]).refuses(3, &words);
    // Who only looks needs no right to write.
    assert_eq!(sandbox.find("w7"), ["d0/f0.txt"]);
    sandbox.run(&["verify"]).exits(0);
    sandbox.run(&["job", "list"]).exits(0);
    let told = sandbox.run(&["doctor"]).exits(1);
    assert!(told.out.contains("takes no writes, and the next run would stop there"), "{told:?}");
    sandbox.run(&["sync", "root", "--dry-run"]).exits(0);
    sandbox.run(&["backup", "backup.tar"]).exits(0);
    let restored = ["--data", "restored", "restore", "backup.tar"];
    crate::sandbox::finish(sandbox.plain(&restored), None).exits(0);
    let left = std::fs::read_dir(sandbox.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(left.filter(|name| name.to_string_lossy().starts_with('.')).count(), 0, "left over");
    assert_eq!(sandbox.run(&["document", "list", "root", "--json"]).exits(0).documents().len(), FILES);
    remount(&sandbox, "rw");
    converges(&sandbox, "writable again");
}

#[test]
fn a_store_that_another_program_locks_is_named_and_the_next_run_goes_on() {
    let sandbox = tree();
    sandbox.synced(&[]);
    let store = std::fs::File::options().write(true).open(sandbox.data().join("store.db")).unwrap();
    rustix::fs::fcntl_lock(&store, rustix::fs::FlockOperation::LockExclusive).unwrap();
    sandbox.run(&["sync", "root"]).refuses(3, &["store.db", "locked", "end the program that holds it"]);
    drop(store);
    converges(&sandbox, "unlocked");
}

/// Runs a sync under a limit of the kernel's.
fn limited(sandbox: &Sandbox, limit: &str) -> Answer {
    let plain = sandbox.command(&["sync", "root", "--json", "-q"]);
    let mut command = Command::new("prlimit");
    command.arg(limit).arg(plain.get_program()).args(plain.get_args()).current_dir(sandbox.path());
    finish(command, None)
}

/// Runs a command with so many file handles and no way to more.
pub(super) fn with_handles(sandbox: &Sandbox, handles: u32, arguments: &[&str]) -> Answer {
    let plain = sandbox.command(arguments);
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -n {handles}; exec \"$@\""), "sh"]);
    command.arg(plain.get_program()).args(plain.get_args()).current_dir(sandbox.path());
    finish(command, None)
}

/// As many as the largest of these commands may need, and somewhat more: what is below is refused, what is above works.
const HANDLES: [u32; 16] = [4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 28, 40, 64, 120, 220, 600];

#[test]
fn too_few_file_handles_are_what_every_command_names_and_nothing_is_lost() {
    let sandbox = Sandbox::sqlite();
    for n in 0..40 {
        sandbox.write(&format!("d{n}/e/f{n}.txt"), &format!("apple {n}"));
        sandbox.write(&format!("d{n}/f{n}.html"), &format!("<p>pear {n}"));
    }
    files::settle(&sandbox.root());
    let journal = sandbox.path().join("lines.jsonl");
    let to = format!("journal:{}", journal.display());
    sandbox.synced(&["--name", "lines", "--to", &to]);
    sandbox.synced(&["--name", "root"]);
    let all: [&[&str]; 19] = [
        &["sync", "root", "--name", "root", "--reread"],
        &["sync", "root", "--name", "root", "--dry-run"],
        &["search", "apple", "--all"],
        &["job", "list"],
        &["job", "show", "root"],
        &["job", "runs", "root"],
        &["document", "list", "root"],
        &["document", "explain", "root", "d1/f1.html"],
        &["pipeline", "try", "root", "d1/f1.html"],
        &["why", "root", "d1/f1.html"],
        &["tokens", "root"],
        &["doctor", "--repair"],
        &["doctor"],
        &["verify", "index"],
        &["verify", "index", "--repair"],
        &["export"],
        &["extract", "root/d1/f1.html"],
        &["journal", "snapshot", "lines.jsonl"],
        &["backup", "copy.tar"],
    ];
    for arguments in all {
        let mut refused = 0;
        for handles in HANDLES {
            let at = format!("{arguments:?} with {handles} handles");
            let answer = with_handles(&sandbox, handles, arguments);
            // A backup never overwrites one.
            let _ = std::fs::remove_file(sandbox.path().join("copy.tar"));
            // The system's own loader needs some before the program begins.
            if answer.code == 127 {
                continue;
            }
            if answer.code == 3 {
                refused += 1;
                assert_eq!((answer.out.as_str(), answer.err.lines().count()), ("", 1), "{at}: {answer:#?}");
                let lack = format!("this process may open {handles} files");
                for word in [lack.as_str(), "raise the limit", "ulimit -n"] {
                    assert!(answer.err.contains(word), "{at}: {answer:#?}");
                }
            } else if arguments[0] == "doctor" {
                // Few handles are a finding of its own.
                assert!(answer.code <= 1 && !answer.out.contains("index:"), "{at}: {answer:#?}");
            } else {
                assert_eq!(answer.code, 0, "{at}: {answer:#?}");
            }
        }
        assert!((1..HANDLES.len()).contains(&refused), "{arguments:?} was refused {refused} times");
    }
    assert_eq!(sandbox.find("apple").len(), 40);
    assert_eq!(sandbox.synced(&["--name", "root"]).get("unchanged"), 80);
}

#[test]
fn a_soft_limit_of_file_handles_is_raised_by_the_program_itself() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    let plain = sandbox.command(&["sync", "root", "-q"]);
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -Sn 12; exec \"$@\"", "sh"]);
    command.arg(plain.get_program()).args(plain.get_args()).current_dir(sandbox.path());
    finish(command, None).exits(0);
    assert_eq!(sandbox.find("apple"), ["a.txt"]);
}

#[test]
fn too_little_memory_costs_the_run_and_nothing_else() {
    for mib in [40, 80, 120, 160, 200, 280, 400] {
        let sandbox = tree();
        let at = format!("{mib} MiB");
        let answer = limited(&sandbox, &format!("--as={}", mib << 20));
        // A program that gets no memory cannot always end by itself: then the system ends it, and has the last word.
        assert!(answer.code <= 0 || !answer.err.is_empty(), "{at}: {answer:#?}");
        converges(&sandbox, &at);
    }
}

#[test]
fn a_data_directory_that_was_copied_while_it_was_written_converges_or_says_what_to_do() {
    let sandbox = tree();
    sandbox.synced(&[]);
    for round in 0..6 {
        for n in 0..FILES / 2 {
            sandbox.write(&format!("d{}/f{n}.txt", n % 20), &format!("words of round {round}"));
        }
        let mut running = sandbox.command(&["sync", "root", "-q"]).spawn().unwrap();
        let copy = sandbox.path().join(format!("copy{round}"));
        // Files vanish while they are copied: that is what happens to people, too.
        let _ = Command::new("cp").arg("-r").arg(sandbox.data()).arg(&copy).output().unwrap();
        assert!(running.wait().unwrap().success());
        let mut command = sandbox.command(&[]);
        command.arg("--data").arg(&copy).args(["sync", "root", "--json", "-q"]);
        let arguments: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
        let mut command = Command::new(command.get_program());
        // The later of two data directories counts.
        command.args(&arguments[2..]).current_dir(sandbox.path());
        let answer = finish(command, None);
        assert!(matches!(answer.code, 0 | 3), "round {round}: {answer:#?}");
        assert_eq!(answer.code == 0, answer.err.is_empty(), "round {round}: {answer:#?}");
        if answer.code == 0 {
            let mut found = Command::new(env!("CARGO_BIN_EXE_ingather"));
            found.arg("--data").arg(&copy).args(["search", &format!("\"round {round}\""), "--all", "--json"]);
            found.args(["--limit", "10000"]);
            assert_eq!(finish(found, None).exits(0).documents().len(), FILES / 2, "round {round}");
        }
    }
}

#[test]
fn every_command_on_a_full_disk_works_or_says_what_to_do_and_loses_nothing() {
    ingather_testkit::needs!(Mounts);
    let sandbox = tree();
    std::fs::create_dir(sandbox.data()).unwrap();
    files::tool("mount", &["-t", "tmpfs", "-o", "size=60m,mode=700", "none"], &sandbox.data());
    sandbox.synced(&[]);
    // Nothing is left of the room, and something is to be written.
    sandbox.write("d0/new.txt", "newcomer");
    files::settle(&sandbox.root());
    let filler = sandbox.data().join("filler");
    let mut fill = std::fs::File::create(&filler).unwrap();
    while std::io::Write::write(&mut fill, &[0; 4_096]).is_ok() {}
    drop(fill);
    let looks: [&[&str]; 9] = [
        &["search", "w7", "--all"],
        &["job", "list"],
        &["job", "show", "root"],
        &["document", "list", "root"],
        &["document", "explain", "root", "d0/f0.txt"],
        &["export"],
        &["verify"],
        &["sync", "root", "--dry-run"],
        &["backup", "elsewhere.tar"],
    ];
    for look in looks {
        let answer = sandbox.run(look);
        assert!(answer.code == 0, "{look:?}: {answer:#?}");
    }
    let named = sandbox.run(&["doctor"]).exits(1);
    assert!(named.out.contains("space: only ") && named.out.contains("make room"), "{named:?}");
    let into = format!("{}/full.tar", sandbox.data().display());
    sandbox
        .run(&["backup", &into])
        .refuses(3, &["No space left on device", "make room there, or name another place"]);
    for writer in [
        &["sync", "root", "-q"][..],
        &["verify", "--repair"],
        &["doctor", "--repair"],
        &["job", "delete", "root"],
    ] {
        let answer = sandbox.run(writer);
        assert!(
            matches!(answer.code, 0 | 1 | 3) && !answer.err.contains("panicked"),
            "{writer:?}: {answer:#?}"
        );
        assert!(answer.code != 3 || answer.err.contains("room"), "{writer:?}: {answer:#?}");
    }
    std::fs::remove_file(&filler).unwrap();
    sandbox.run(&["sync", "root", "-q"]).exits(0);
    assert_eq!(sandbox.everything().len(), FILES + 1);
    sandbox.run(&["verify"]).exits(0);
}

#[test]
fn a_restore_to_a_full_disk_names_that_disk_and_leaves_nothing() {
    ingather_testkit::needs!(Mounts);
    let sandbox = tree();
    sandbox.synced(&[]);
    sandbox.run(&["backup", "backup.tar"]).exits(0);
    let small = sandbox.path().join("small");
    std::fs::create_dir(&small).unwrap();
    files::tool("mount", &["-t", "tmpfs", "-o", "size=64k,mode=700", "none"], &small);
    let restored = ["--data", "small/new", "restore", "backup.tar"];
    let refused = finish(sandbox.plain(&restored), None).exits(3);
    assert!(refused.err.contains("small/new") && refused.err.contains("make room there"), "{refused:?}");
    assert!(!refused.err.contains("backup.tar"), "the backup is not what is full: {refused:?}");
    assert_eq!(std::fs::read_dir(&small).unwrap().count(), 0, "left over");
    files::tool("umount", &[], &small);
}
