//! Patterns that stand in files: they become those of the job, once, when the job is made or changed.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::sandbox::{Sandbox, finish};

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::sqlite();
    for name in ["a.txt", "b.log", "build/c.txt", "keep.tmp", "#d.txt"] {
        sandbox.write(name, name);
    }
    let raw = sandbox.root().join(std::ffi::OsStr::from_bytes(b"caf\xE9.txt"));
    std::fs::write(raw, "raw").unwrap();
    sandbox
}

fn file(sandbox: &Sandbox, name: &str, text: &[u8]) -> PathBuf {
    let path = sandbox.path().join(name);
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn patterns_of_a_file_are_those_of_the_job() {
    let sandbox = sandbox();
    file(&sandbox, "out.txt", b"# not these\r\n*.log\r\n\n   \nbuild/\n\\#*\ncaf\xE9.txt\n");
    assert_eq!(sandbox.synced(&["--exclude", "*.tmp", "--exclude-from", "out.txt"]).get("added"), 1);
    assert_eq!(sandbox.everything(), ["a.txt"]);
    let shown = sandbox.run(&["job", "show", "root", "--json"]).exits(0);
    assert!(shown.out.contains(r#""*.tmp","*.log","build/","\\#*","caf\\xE9.txt""#), "{}", shown.out);
    // Without the flag, and with the same patterns, nothing changes; the file itself is not needed any more.
    sandbox.synced(&["--exclude", "*.tmp", "--exclude-from", "out.txt"]);
    std::fs::remove_file(sandbox.path().join("out.txt")).unwrap();
    assert_eq!(sandbox.synced(&[]).get("unchanged"), 1);
    // Others are a change of the job.
    file(&sandbox, "out.txt", b"build\n");
    let answer = sandbox.run(&["sync", "root", "--exclude-from", "out.txt"]).exits(2);
    assert!(answer.err.contains("add --update"), "{answer:?}");
    assert_eq!(sandbox.synced(&["--exclude-from", "out.txt", "--update"]).get("added"), 4);
    assert_eq!(sandbox.synced(&["--no-exclude", "--update"]).get("added"), 1);
}

#[test]
fn patterns_are_taken_from_standard_input_and_those_of_files_to_take_as_well() {
    let sandbox = sandbox();
    file(&sandbox, "in.txt", b"*.txt\n*.log");
    let command = sandbox.command(&[
        "sync",
        "root",
        "--include-from",
        "in.txt",
        "--exclude-from",
        "-",
        "--exclude-from",
        "in2.txt",
    ]);
    file(&sandbox, "in2.txt", b"b*\n");
    finish(command, Some("\\#d.txt\n")).exits(0);
    assert_eq!(sandbox.everything(), ["a.txt", "caf\\xE9.txt"]);
}

#[test]
fn what_is_wrong_with_a_file_of_patterns_is_said_with_its_line_and_nothing_is_made() {
    let sandbox = sandbox();
    let many = "x\n".repeat(1_025);
    let long = vec![b'#'; (1 << 20) + 1];
    file(&sandbox, "many.txt", many.as_bytes());
    file(&sandbox, "long.txt", &long);
    file(&sandbox, "bad.txt", b"fine\n\na[b\n");
    file(&sandbox, "not.txt", b"*.log\n!keep.log\n");
    file(&sandbox, "wide.txt", b"\xFF\xFEa\0\n\0");
    file(&sandbox, "none.txt", b"# nothing\n");
    let refuses = |flags: &[&str], words: &[&str]| {
        sandbox.run(&[&["sync", "root"], flags].concat()).refuses(2, words);
        assert!(!sandbox.data().exists());
    };
    refuses(
        &["--exclude-from", "nowhere.txt"],
        &["--exclude-from: nowhere.txt cannot be read", "name a text file"],
    );
    refuses(&["--exclude-from", "root"], &["it is a folder"]);
    refuses(&["--exclude-from", "bad.txt"], &["bad.txt, line 3: ", "a[b"]);
    refuses(&["--include-from", "not.txt"], &["--include-from: not.txt, line 2: ", "`!`"]);
    refuses(&["--exclude-from", "wide.txt"], &["wide.txt, line 1: ", "UTF-8"]);
    refuses(&["--exclude-from", "none.txt"], &["has no pattern", "--no-exclude"]);
    refuses(&["--exclude-from", "many.txt"], &["many.txt, line 1025: ", "1,024 patterns at most"]);
    refuses(&["--exclude-from", "long.txt"], &["long.txt cannot be read", "more than 1"]);
    refuses(&["--exclude-from", "-", "--include-from", "-"], &["standard input can be read once"]);
}
