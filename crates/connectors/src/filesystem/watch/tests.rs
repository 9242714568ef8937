//! Watches over real folders. Nothing here depends on how fast the kernel tells: what has to be told is waited for.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use ingather_contract::repository::{HostContext, Repository};
use serde_json::json;

use super::super::tests::{call, folder, open_with, write};
use super::*;

/// Longer than any machine takes.
const LONG: Duration = Duration::from_secs(60);

struct Watched {
    watch: Box<dyn Watch>,
    woken: Receiver<()>,
}

impl Watched {
    fn over(source: &Arc<dyn Repository>, folders_max: usize) -> Watched {
        let (wake, woken) = channel();
        let wake = Arc::new(move || wake.send(()).unwrap_or_default());
        let watch = source.watch(&call(), Watching { wake, folders_max }).unwrap();
        Watched { watch, woken }
    }

    /// One that stands.
    fn of(root: &Path, more: serde_json::Value) -> Watched {
        let host = HostContext { own: Vec::new(), threads: 1, ..HostContext::default() };
        let mut watched = Watched::over(&open_with(root, more, host), 1_000);
        assert_eq!(watched.code(), "lost begun");
        watched
    }

    /// What it tells next.
    fn next(&mut self) -> Told {
        loop {
            self.woken.recv_timeout(LONG).expect("it tells something");
            match self.watch.told() {
                Told::Nothing => {}
                told => return told,
            }
        }
    }

    fn code(&mut self) -> String {
        match self.next() {
            Told::Lost(reason) => format!("lost {}", reason.code),
            Told::Ended(reason) => format!("ended {}", reason.code),
            other => panic!("{other:?}"),
        }
    }

    /// Waits until it says that something was lost.
    fn loses(&mut self, code: &str) {
        loop {
            match self.next() {
                Told::Changed { .. } => {}
                Told::Lost(reason) => break assert_eq!(reason.code, code),
                told => panic!("{told:?}"),
            }
        }
    }

    /// Waits until it tells of a folder; all that it told of until then.
    fn tells(&mut self, wanted: &str) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        while !all.iter().any(|folder| folder == wanted) {
            let Told::Changed { scopes, since, until } = self.next() else {
                panic!("`{wanted}` is not told")
            };
            assert!(since <= until && !scopes.is_empty());
            all.extend(
                scopes
                    .iter()
                    .map(Scope::label)
                    .map(|folder| if folder == "/" { String::new() } else { folder }),
            );
        }
        all
    }
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn each_kind_of_change_names_its_folder_and_nothing_else_is_told() {
    let (_guard, root) = folder();
    write(&root, "a/b/one", "x");
    write(&root, "c/two", "x");
    let mut watched = Watched::of(&root, json!({}));
    let changes: [(&str, &dyn Fn()); 7] = [
        ("a/b/", &|| write(&root, "a/b/new", "x")),
        ("a/b/", &|| write(&root, "a/b/one", "longer")),
        ("a/b/", &|| chmod(&root.join("a/b/one"), 0o600)),
        ("a/b/", &|| fs::remove_file(root.join("a/b/new")).unwrap()),
        ("a/b/", &|| chmod(&root.join("a/b"), 0o700)),
        ("c/", &|| fs::rename(root.join("a/b/one"), root.join("c/one")).unwrap()),
        ("", &|| write(&root, "top", "x")),
    ];
    for (n, (folder, change)) in changes.iter().enumerate() {
        change();
        let told = watched.tells(folder);
        // A change of the folder itself is told of the one above as well; what is told of one change may be told twice.
        let above = (n >= 4).then_some("a/");
        let may: Vec<&str> = changes[..=n].iter().map(|(folder, _)| *folder).chain(above).collect();
        assert!(told.iter().all(|one| may.contains(&one.as_str())), "{n}: {told:?}");
    }
}

#[test]
fn a_folder_that_comes_is_watched_with_all_below_it_before_it_is_told() {
    let (_guard, root) = folder();
    let (_elsewhere, other) = folder();
    write(&other, "tree/deep/er/file", "x");
    let mut watched = Watched::of(&root, json!({}));
    fs::create_dir_all(root.join("made/in/one/go")).unwrap();
    fs::rename(other.join("tree"), root.join("tree"))
        .unwrap_or_else(|_| copy(&other.join("tree"), &root.join("tree")));
    watched.tells("tree/deep/er/");
    write(&root, "tree/deep/er/more", "x");
    watched.tells("tree/deep/er/");
    write(&root, "made/in/one/go/file", "x");
    watched.tells("made/in/one/go/");
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to.join("deep/er")).unwrap();
    fs::copy(from.join("deep/er/file"), to.join("deep/er/file")).unwrap();
}

#[test]
fn what_is_in_a_folder_that_was_moved_is_told_under_its_new_name() {
    let (_guard, root) = folder();
    write(&root, "a/b/c/file", "x");
    fs::create_dir(root.join("z")).unwrap();
    let mut watched = Watched::of(&root, json!({}));
    fs::rename(root.join("a"), root.join("z/a")).unwrap();
    watched.tells("z/a/b/c/");
    let told = {
        write(&root, "z/a/b/c/file", "longer");
        watched.tells("z/a/b/c/")
    };
    assert!(told.iter().all(|folder| folder != "a/b/c/"), "{told:?}");
    // Another one under the old name.
    write(&root, "a/b/c/file", "x");
    watched.tells("a/b/c/");
    write(&root, "a/b/c/file", "longer");
    watched.tells("a/b/c/");
}

#[test]
fn after_a_storm_of_renames_each_folder_is_told_under_the_name_that_it_has() {
    let (_guard, root) = folder();
    let name = |n: usize| root.join(format!("folder{}", n % 7));
    for n in 0..6 {
        write(&root, &format!("folder{n}/in/side/id"), &n.to_string());
    }
    let mut watched = Watched::of(&root, json!({}));
    // One name of the seven is always free: the folders go round.
    for free in (2..=601).rev() {
        fs::rename(name(free + 6), name(free)).unwrap();
    }
    write(&root, "last", "x");
    watched.tells("");
    let mut left: Vec<String> =
        (0..7).filter(|n| name(*n).exists()).map(|n| format!("folder{n}/in/side/")).collect();
    assert_eq!(left.len(), 6);
    while let Some(folder) = left.pop() {
        fs::write(root.join(&folder).join("new"), "x").unwrap();
        watched.tells(&folder);
    }
}

#[test]
fn more_folders_than_may_be_watched_end_it_at_the_beginning_and_later() {
    let (_guard, root) = folder();
    fs::create_dir_all(root.join("a/b")).unwrap();
    let source =
        open_with(&root, json!({}), HostContext { own: Vec::new(), threads: 1, ..HostContext::default() });
    assert_eq!(Watched::over(&source, 2).code(), "ended folders");
    let mut watched = Watched::over(&source, 3);
    assert_eq!(watched.code(), "lost begun");
    fs::create_dir(root.join("a/c")).unwrap();
    let told = loop {
        match watched.next() {
            Told::Changed { .. } => {}
            told => break told,
        }
    };
    let Told::Ended(reason) = &told else { panic!("{told:?}") };
    assert_eq!(reason.message, "it has more than 3 folders");
    assert_eq!(watched.watch.told(), told, "it stays ended");
}

#[test]
fn folders_nested_too_deep_end_it() {
    let (_guard, root) = folder();
    let deep: PathBuf = std::iter::repeat_n("d", limits::WATCH_DEPTH_MAX + 1).collect();
    fs::create_dir_all(root.join(deep)).unwrap();
    let source =
        open_with(&root, json!({}), HostContext { own: Vec::new(), threads: 1, ..HostContext::default() });
    assert_eq!(Watched::over(&source, 1_000).code(), "ended depth");
}

/// A watch whose thread stands still in its next call of `wake`, until the sender is dropped.
fn held(source: &Arc<dyn Repository>, folders_max: usize) -> (Watched, Sender<()>) {
    let (wake, woken) = channel();
    let (release, hold) = channel::<()>();
    let next: Arc<Mutex<Option<Receiver<()>>>> = Arc::default();
    let of_wake = next.clone();
    let wake = move || {
        // Before its owner hears it, who sets the next one then.
        let hold = of_wake.lock().unwrap().take();
        wake.send(()).unwrap_or_default();
        // The end of its sender is an error as well.
        hold.into_iter().for_each(|hold| hold.recv_timeout(LONG).unwrap_or_default());
    };
    let watch = source.watch(&call(), Watching { wake: Arc::new(wake), folders_max }).unwrap();
    let mut watched = Watched { watch, woken };
    assert_eq!(watched.code(), "lost begun");
    *next.lock().unwrap() = Some(hold);
    (watched, release)
}

#[test]
fn what_the_kernel_could_not_keep_is_lost_and_from_then_on_it_tells_again() {
    let (_guard, root) = folder();
    write(&root, "a/one", "x");
    write(&root, "b/two", "x");
    let source =
        open_with(&root, json!({}), HostContext { own: Vec::new(), threads: 1, ..HostContext::default() });
    let (mut watched, release) = held(&source, 1_000);
    write(&root, "a/one", "longer");
    // The thread stands in `wake` from here on.
    assert!(matches!(watched.next(), Told::Changed { .. }));
    let most = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
    // Each event beside another one, or the kernel makes one of both.
    for _ in 0..=most.trim().parse::<u32>().unwrap() / 2 {
        chmod(&root.join("a/one"), 0o600);
        chmod(&root.join("b/two"), 0o600);
    }
    fs::create_dir_all(root.join("nobody/told")).unwrap();
    drop(release);
    watched.loses("overflow");
    write(&root, "nobody/told/file", "x");
    watched.tells("nobody/told/");
}

#[test]
fn more_folders_than_are_told_singly_are_everything() {
    let (_guard, root) = folder();
    (0..=limits::WATCH_SCOPES_MAX).for_each(|n| write(&root, &format!("{n}/file"), "x"));
    let source =
        open_with(&root, json!({}), HostContext { own: Vec::new(), threads: 1, ..HostContext::default() });
    let (mut watched, release) = held(&source, 10_000);
    (0..=limits::WATCH_SCOPES_MAX).for_each(|n| write(&root, &format!("{n}/file"), "longer"));
    // The first time it woke its owner for the first of them.
    watched.woken.recv_timeout(LONG).unwrap();
    drop(release);
    assert_eq!(watched.code(), "lost many");
}

#[test]
fn a_root_that_goes_and_comes_back_is_watched_anew() {
    let (_guard, above) = folder();
    let root = above.join("root");
    write(&root, "a/one", "x");
    let mut watched = Watched::of(&root, json!({}));
    fs::rename(&root, above.join("old")).unwrap();
    watched.loses(GONE);
    write(&root, "b/two", "x");
    watched.loses("back");
    write(&root, "b/two", "longer");
    watched.tells("b/");
}

#[test]
fn access_to_folders_above_the_source_is_told() {
    let (_guard, above) = folder();
    let root = above.join("in/root");
    write(&root, "a/one", "x");
    let mut watched = Watched::of(&root, json!({}));
    // What comes beside the source is no change of it.
    write(&above, "in/beside", "x");
    chmod(&above.join("in/beside"), 0o600);
    write(&root, "a/one", "longer");
    assert_eq!(watched.tells("a/"), ["a/"]);
    chmod(&above.join("in"), 0o700);
    // What is told of one change may be told twice.
    assert!(watched.tells("").iter().all(|folder| ["", "a/"].contains(&folder.as_str())));
}

#[test]
fn what_is_left_out_and_where_links_lead_is_not_watched() {
    let (_guard, root) = folder();
    let (_elsewhere, other) = folder();
    write(&root, "skip/in/one", "x");
    write(&root, "take/one", "x");
    std::os::unix::fs::symlink(&other, root.join("link")).unwrap();
    let mut watched = Watched::of(&root, json!({"exclude": ["skip/", "*.tmp"]}));
    write(&root, "skip/in/one", "longer");
    write(&root, "skip/two/three", "x");
    write(&other, "file", "x");
    write(&root, "take/half.tmp", "x");
    write(&root, "take/one", "longer");
    assert_eq!(watched.tells("take/"), ["take/"]);
}

#[test]
fn an_ignore_file_that_changes_changes_what_is_watched() {
    let (_guard, root) = folder();
    write(&root, "build/one", "x");
    write(&root, ".gitignore", "build/\n");
    let mut watched = Watched::of(&root, json!({"ignore_files": true}));
    write(&root, "build/two", "x");
    write(&root, "other", "x");
    assert_eq!(watched.tells(""), [""]);
    fs::remove_file(root.join(".gitignore")).unwrap();
    watched.loses("ignore_files");
    write(&root, "build/three", "x");
    watched.tells("build/");
}

#[test]
fn what_can_never_be_read_ends_it() {
    let (_guard, root) = folder();
    write(&root, "a/.gitignore", "");
    let text = fs::OpenOptions::new().write(true).open(root.join("a/.gitignore")).unwrap();
    text.set_len(limits::IGNORE_FILE_BYTES_MAX + 1).unwrap();
    let source = open_with(
        &root,
        json!({"ignore_files": true}),
        HostContext { own: Vec::new(), threads: 1, ..HostContext::default() },
    );
    assert_eq!(Watched::over(&source, 1_000).code(), "ended io");
}

#[test]
fn what_is_mounted_or_unmounted_below_the_source_is_lost_and_what_is_elsewhere_is_none_of_it() {
    ingather_testkit::needs!(Mounts);
    let (_guard, root) = folder();
    let (_elsewhere, other) = folder();
    write(&root, "at/below", "x");
    let run = |program: &str, words: &[&str], at: &Path| {
        assert!(std::process::Command::new(program).args(words).arg(at).status().unwrap().success());
    };
    let mut watched = Watched::of(&root, json!({}));
    run("mount", &["-t", "tmpfs", "none"], &other);
    write(&root, "at/below", "longer");
    watched.tells("at/");
    run("mount", &["-t", "tmpfs", "none"], &root.join("at"));
    watched.loses("mounts");
    write(&root, "at/above/file", "x");
    watched.tells("at/above/");
    run("umount", &[], &root.join("at"));
    watched.loses("mounts");
    write(&root, "at/below", "x");
    watched.tells("at/");
    run("umount", &[], &other);
}

#[test]
fn a_file_of_the_program_itself_is_never_told() {
    use std::os::unix::fs::MetadataExt;
    let (_guard, root) = folder();
    write(&root, "logs/journal", "x");
    write(&root, "in/data/store", "x");
    let id = |name: &str| fs::metadata(root.join(name)).map(|facts| (facts.dev(), facts.ino())).unwrap();
    let host =
        HostContext { own: vec![id("logs/journal"), id("in/data")], threads: 1, ..HostContext::default() };
    let mut watched = Watched::over(&open_with(&root, json!({}), host), 1_000);
    assert_eq!(watched.code(), "lost begun");
    write(&root, "in/data/store", "longer");
    write(&root, "in/data/new/one", "x");
    fs::OpenOptions::new().append(true).open(root.join("logs/journal")).unwrap().set_len(9).unwrap();
    chmod(&root.join("in/data"), 0o700);
    write(&root, "seen", "x");
    assert_eq!(watched.tells(""), [""]);
}

#[test]
fn a_single_file_is_watched_without_those_beside_it() {
    let (_guard, above) = folder();
    write(&above, "one", "x");
    write(&above, "other", "x");
    let mut watched = Watched::of(&above.join("one"), json!({}));
    write(&above, "other", "longer");
    let told = watched.watch.told();
    fs::rename(above.join("other"), above.join("one")).unwrap();
    watched.tells("");
    assert_eq!(told, Told::Nothing);
}

#[test]
fn a_watch_that_is_dropped_ends_at_once() {
    let (_guard, root) = folder();
    write(&root, "a/one", "x");
    let Watched { watch, woken } = Watched::of(&root, json!({}));
    drop(watch);
    // Whoever it would have woken is let go of.
    assert_eq!(woken.recv_timeout(LONG), Err(std::sync::mpsc::RecvTimeoutError::Disconnected));
}
