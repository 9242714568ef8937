//! What is handed out of a version: it installs, its program works from where it was put, and it is the same whoever makes it.
#![expect(clippy::unwrap_used, reason = "a test says by a panic what is wrong")]

mod container;
mod scripts;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, Weak};

use tempfile::TempDir;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The folder of the repository.
fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Runs a command that must end well; what it prints.
#[track_caller]
fn said(command: &mut Command) -> String {
    let output = command.env("LC_ALL", "C").env("TZ", "UTC").output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:#?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The time that files of these releases bear: also where the repository has no history.
const TIME: &str = "1767225845";
const DATE: &str = "2026-01-01 00:04";

/// `cargo x release` with the program of these tests, without what a debugger needs: that is nearly half of it.
fn release(into: &Path, before: &str) {
    std::fs::create_dir(into).unwrap();
    let program = into.join("ingather");
    said(Command::new("strip").arg("-o").arg(&program).arg(env!("CARGO_BIN_EXE_ingather")));
    let command = format!("{before}; exec '{}' x release --binary \"$0\" --into \"$1\"", cargo());
    let mut shell = Command::new("sh");
    shell.args(["-c", &command]).arg(&program).arg(into.join("files")).env("SOURCE_DATE_EPOCH", TIME);
    said(shell.current_dir(repository()));
    std::fs::remove_file(program).unwrap();
}

fn cargo() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}

/// A release, of which both packages are unpacked, and the same made once more by somebody else.
struct Released {
    folder: TempDir,
}

impl Released {
    /// Made for all tests that are under way, and gone with the last of them: it is large.
    fn shared() -> Arc<Released> {
        static RELEASED: Mutex<Weak<Released>> = Mutex::new(Weak::new());
        let mut kept = RELEASED.lock().unwrap();
        kept.upgrade().unwrap_or_else(|| {
            let made = Arc::new(Released::make());
            *kept = Arc::downgrade(&made);
            made
        })
    }

    fn make() -> Released {
        let folder = tempfile::tempdir().unwrap();
        std::thread::scope(|both| {
            both.spawn(|| release(&folder.path().join("one"), "true"));
            let other =
                "umask 077; export TZ=Pacific/Auckland LANG=de_DE.UTF-8 TAR_OPTIONS=--mode=700 GZIP=-1";
            release(&folder.path().join("other"), other);
        });
        let released = Released { folder };
        for (name, unpack) in [("deb", &["dpkg-deb", "--extract"][..]), ("tar", &["tar", "-xf"])] {
            let place = released.folder.path().join(name);
            std::fs::create_dir(&place).unwrap();
            let mut command = Command::new(unpack[0]);
            command.args(&unpack[1..]).arg(released.file(name));
            if name == "deb" {
                command.arg(&place);
            }
            said(command.current_dir(&place));
        }
        released
    }

    /// Where its files are.
    fn files(&self) -> PathBuf {
        self.folder.path().join("one/files")
    }

    /// The file of the release whose name has this ending, or that of the tarball.
    fn file(&self, ending: &str) -> PathBuf {
        let ending = if ending == "tar" { "tar.gz" } else { ending };
        let names = std::fs::read_dir(self.files()).unwrap();
        let mut found =
            names.map(|entry| entry.unwrap().path()).filter(|path| path.to_string_lossy().ends_with(ending));
        found.next().unwrap_or_else(|| panic!("no {ending}"))
    }

    /// What the package brings, below the root of a system.
    fn installed(&self, path: &str) -> PathBuf {
        self.folder.path().join("deb").join(path)
    }

    /// What the tarball brings.
    fn unpacked(&self, path: &str) -> PathBuf {
        let machine = std::env::consts::ARCH;
        self.folder.path().join("tar").join(format!("ingather-{VERSION}-{machine}-linux")).join(path)
    }
}

#[test]
fn a_release_installs_and_its_program_indexes_and_finds() {
    let released = Released::shared();
    let files = released.files();
    said(Command::new("sha256sum").args(["--check", "--strict", "SHA256SUMS"]).current_dir(&files));
    let sums = std::fs::read_to_string(files.join("SHA256SUMS")).unwrap();
    assert_eq!((sums.lines().count(), std::fs::read_dir(&files).unwrap().count()), (2, 3), "{sums}");
    for (number, program) in
        [released.installed("usr/bin/ingather"), released.unpacked("ingather")].iter().enumerate()
    {
        assert_eq!(said(Command::new(program).arg("--version")), format!("ingather {VERSION}\n"));
        let place = released.folder.path().join(format!("used-{number}"));
        std::fs::create_dir_all(place.join("share")).unwrap();
        std::fs::write(place.join("share/a.txt"), "a quince from the terrace").unwrap();
        let run = |arguments: &[&str]| {
            let mut command = Command::new(program);
            command.args(["--data", "data"]).args(arguments).current_dir(&place);
            said(command.env_remove("INGATHER_DATA").env_remove("INGATHER_STORE"))
        };
        run(&["sync", "share"]);
        let found = run(&["search", "quince", "--all", "--json"]);
        assert!(found.contains("\"document\":\"a.txt\""), "{found}");
    }
}

#[test]
fn the_package_says_what_it_needs_and_its_files_are_where_a_system_looks() {
    let released = Released::shared();
    let package = released.file("deb");
    let field =
        |name: &str| said(Command::new("dpkg-deb").arg("--field").arg(&package).arg(name)).trim().to_owned();
    let architecture = said(Command::new("dpkg").arg("--print-architecture"));
    assert_eq!(
        (field("Package"), field("Version"), field("Architecture")),
        ("ingather".to_owned(), VERSION.to_owned(), architecture.trim().to_owned())
    );
    // Not more than the machine has that made it.
    let depends = field("Depends");
    let least = depends.split("libc6 (>= ").nth(1).and_then(|rest| rest.split(')').next()).expect("libc6");
    let here = said(Command::new("getconf").arg("GNU_LIBC_VERSION"));
    let here = here.trim().trim_start_matches("glibc ");
    said(Command::new("dpkg").args(["--compare-versions", least, "le", here]));
    said(Command::new("dpkg").args(["--compare-versions", least, "ge", "2.17"]));

    let listed = said(Command::new("dpkg-deb").arg("--contents").arg(&package));
    for line in listed.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let expected = match words[5] {
            "./usr/bin/ingather" => "-rwxr-xr-x",
            path if path.ends_with('/') => "drwxr-xr-x",
            _ => "-rw-r--r--",
        };
        assert_eq!((words[0], words[1]), (expected, "root/root"), "{line}");
        assert!(line.contains(DATE), "{line}");
    }
    let same = |path: &str, other: &str| {
        let (installed, unpacked) = (released.installed(path), released.unpacked(other));
        assert!(std::fs::read(&installed).unwrap() == std::fs::read(&unpacked).unwrap(), "{path}");
    };
    same("usr/bin/ingather", "ingather");
    same("usr/lib/systemd/system/ingather.service", "packaging/ingather.service");
    same("usr/lib/sysusers.d/ingather.conf", "packaging/ingather.sysusers");
    same("usr/share/doc/ingather/copyright", "LICENSE");
    same("usr/share/doc/ingather/docs/manual/upgrade.md", "docs/manual/upgrade.md");
    // The unit starts the program where the package puts it, and is one that systemd takes.
    let text =
        std::fs::read_to_string(released.installed("usr/lib/systemd/system/ingather.service")).unwrap();
    assert!(text.contains("\nExecStart=/usr/bin/ingather serve "), "{text}");
    let unit = released.folder.path().join("ingather.service");
    let program = released.installed("usr/bin/ingather");
    std::fs::write(&unit, text.replace("/usr/bin/ingather", program.to_str().unwrap())).unwrap();
    // Where there is no systemd, nobody starts the unit either.
    if let Ok(verified) = Command::new("systemd-analyze").arg("verify").arg(&unit).output() {
        let told = String::from_utf8_lossy(&verified.stderr);
        assert!(verified.status.success() && !told.contains("ingather.service"), "{told}");
    }
}

#[test]
fn the_licences_of_the_libraries_in_the_program_are_in_both_packages() {
    let released = Released::shared();
    let page = std::fs::read_to_string(released.unpacked("LIBRARIES.txt")).unwrap();
    assert!(
        page == std::fs::read_to_string(released.installed("usr/share/doc/ingather/LIBRARIES.txt")).unwrap()
    );
    for line in ["\ntantivy 0.", "\nrusqlite 0.", "\nring 0.", "\nlibmimalloc-sys 0.", "\nwhatlang 0."] {
        assert!(page.contains(line), "{line}");
    }
    let words =
        ["Permission is hereby granted", "Redistributions in binary form", "Attribution-ShareAlike 4.0"];
    assert!(words.iter().all(|words| page.contains(words)));
    assert!(!page.contains("\nprometheus-parse "), "what only tests use is not in the program");
}

#[test]
fn two_releases_of_one_program_are_equal_in_every_byte() {
    let released = Released::shared();
    let names: Vec<_> =
        std::fs::read_dir(released.files()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 3);
    for name in names {
        let bytes = |folder: PathBuf| std::fs::read(folder.join(&name)).unwrap();
        let same = bytes(released.files()) == bytes(released.folder.path().join("other/files"));
        assert!(same, "{name:?} differs");
    }
}

#[test]
fn what_is_not_of_this_version_or_of_no_time_is_not_packed() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("program");
    let says = |version: &str| {
        std::fs::write(&program, format!("#!/bin/sh\necho ingather {version}\n")).unwrap();
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    };
    let refused = |program: &Path, words: &[&str]| {
        let mut command = Command::new(cargo());
        command
            .args(["x", "release", "--binary"])
            .arg(program)
            .arg("--into")
            .arg(folder.path().join("files"));
        let output = command.current_dir(repository()).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:#?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(words.iter().all(|word| said.contains(word)), "{said}");
    };
    says("0.0.9");
    refused(&program, &["`ingather 0.0.9`", &format!("this workspace is version {VERSION}")]);
    // A script has no machine.
    says(VERSION);
    refused(&program, &["objdump", "format"]);
    refused(&folder.path().join("none"), &["cannot run", "a machine that runs its program"]);
    let mut soon = Command::new(cargo());
    soon.args(["x", "release", "--binary"]).arg(env!("CARGO_BIN_EXE_ingather")).current_dir(repository());
    let soon = soon
        .arg("--into")
        .arg(folder.path().join("files"))
        .env("SOURCE_DATE_EPOCH", "soon")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&soon.stderr);
    assert!(soon.status.code() == Some(1) && told.contains("`soon`, which is no number"), "{soon:#?}");
    assert!(!folder.path().join("files").exists(), "nothing is made");
}
