//! A dry run refuses what the run itself would refuse, in the same words, and changes nothing.

use std::path::{Path, PathBuf};

use crate::files;
use crate::people::{Person, ordinary};
use crate::sandbox::{Answer, Sandbox};

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple pie");
    files::settle(&sandbox.root());
    sandbox
}

/// Kind, size and content of what a run must not touch.
fn state(path: &Path) -> (bool, Option<Vec<u8>>) {
    let is_file = path.metadata().is_ok_and(|facts| facts.is_file());
    (path.symlink_metadata().is_ok(), is_file.then(|| std::fs::read(path).unwrap()))
}

/// Runs a sync dry and for real: the answers are the same refusal.
#[track_caller]
fn both_refuse(arguments: &[&str], run: impl Fn(&[&str]) -> Answer) -> Answer {
    let dry = run(&[arguments, &["--dry-run"]].concat());
    let real = run(arguments);
    assert!(real.code >= 2, "the run itself works: {real:#?}");
    assert_eq!((dry.code, &dry.out, &dry.err), (real.code, &real.out, &real.err), "{arguments:?}");
    dry
}

#[test]
fn a_journal_that_the_run_would_refuse_is_refused_by_the_dry_run() {
    let fresh = sandbox();
    let known = sandbox();
    known.synced(&[]);
    for sandbox in [&fresh, &known] {
        let at = |name: &str| sandbox.path().join(name);
        std::fs::write(at("essay"), "my essay\n").unwrap();
        files::tool("chmod", &["600"], &at("essay"));
        std::fs::write(at("open"), "{\"op\":\"delete\"}\n").unwrap();
        files::tool("chmod", &["644"], &at("open"));
        files::tool("mkfifo", &[], &at("pipe"));
        std::fs::create_dir(at("folder")).unwrap();
        std::fs::write(at("file"), "x").unwrap();
        let cases: [(PathBuf, &str); 7] = [
            (at("essay"), "is no journal"),
            (at("open"), "others than its owner may read"),
            (at("pipe"), "is not a file"),
            (at("folder"), "is not a file"),
            (at("none/journal"), "folder does not exist"),
            (at("file/journal"), "journal `"),
            ("/dev/null".into(), "is not a file"),
        ];
        for (file, words) in cases {
            let before = state(&file);
            let to = format!("journal:{}", file.display());
            let dry = both_refuse(&["sync", "root", "--name", "j", "--to", &to], |words| sandbox.run(words));
            assert!(dry.err.contains(words), "{dry:#?}");
            assert_eq!(state(&file), before, "{file:?}");
        }
        let to = format!("journal:{}", at("new").display());
        sandbox.run(&["sync", "root", "--name", "j", "--to", &to, "--dry-run"]).exits(0);
        assert!(!at("new").exists(), "a dry run makes no journal");
        sandbox.run(&["sync", "root", "--name", "j", "--to", &to]).exits(0);
        sandbox.run(&["sync", "root", "--name", "j", "--dry-run"]).exits(0);
    }
}

#[test]
fn a_journal_that_came_to_be_closed_is_refused_by_the_dry_run() {
    let sandbox = sandbox();
    let to = format!("journal:{}", sandbox.path().join("j").display());
    sandbox.run(&["sync", "root", "--to", &to]).exits(0);
    std::fs::write(sandbox.path().join("j"), "something else\n").unwrap();
    sandbox.write("b.txt", "banana");
    files::settle(&sandbox.root());
    let dry = both_refuse(&["sync", "root"], |words| sandbox.run(words));
    assert!(dry.err.contains("is no journal"), "{dry:#?}");
    let named = sandbox.run(&["doctor"]).exits(1);
    assert!(named.out.contains("is no journal"), "{named:#?}");
}

#[test]
fn a_folder_that_is_not_the_users_is_refused_by_the_dry_run() {
    ingather_testkit::needs!(Users);
    let sandbox = sandbox();
    let ordinary = Person::named(ordinary());
    std::fs::create_dir(sandbox.data()).unwrap();
    files::tool("chown", &[&ordinary.name], &sandbox.data());
    let to = format!("journal:{}", sandbox.path().join("j").display());
    let dry = both_refuse(&["sync", "root", "--to", &to], |words| sandbox.run_as(&ordinary, words));
    assert!(dry.err.contains("Permission denied"), "{dry:#?}");
}

#[test]
fn an_index_that_the_run_would_refuse_is_refused_by_the_dry_run() {
    let sandbox = sandbox();
    sandbox.synced(&[]);
    let other = self::sandbox();
    other.synced(&[]);
    let index = sandbox.data().join("index");
    let kept = sandbox.path().join("kept");
    std::fs::rename(&index, &kept).unwrap();
    sandbox.write("b.txt", "banana");
    files::settle(&sandbox.root());
    let copy = |from: &Path| files::tool("cp", &["-a", from.to_str().unwrap()], &index);
    let harms: [(&dyn Fn(), &str); 4] = [
        (&|| copy(&other.data().join("index")), "belongs to another store"),
        (&|| std::fs::write(&index, "x").unwrap(), "no folder"),
        (
            &|| {
                copy(&kept);
                std::fs::write(index.join("meta.json"), "{").unwrap();
            },
            "is damaged",
        ),
        (
            &|| {
                copy(&kept);
                for entry in std::fs::read_dir(&index).unwrap().map(Result::unwrap) {
                    if entry.file_name().to_string_lossy().ends_with(".fast") {
                        std::fs::write(entry.path(), "").unwrap();
                    }
                }
            },
            "is damaged",
        ),
    ];
    for (harm, words) in harms {
        let _ = std::fs::remove_dir_all(&index);
        let _ = std::fs::remove_file(&index);
        harm();
        let dry = both_refuse(&["sync", "root"], |words| sandbox.run(words));
        assert!(dry.err.contains(words), "{dry:#?}");
    }
}

#[test]
fn own_files_that_the_run_would_refuse_are_refused_by_the_dry_run() {
    for name in ["lock", "identity"] {
        let sandbox = sandbox();
        sandbox.synced(&[]);
        let file = sandbox.data().join(name);
        std::fs::remove_file(&file).unwrap();
        files::tool("mkfifo", &[], &file);
        let dry = both_refuse(&["sync", "root"], |words| sandbox.run(words));
        assert!(dry.err.contains("is no ordinary file"), "{dry:#?}");
    }
}
