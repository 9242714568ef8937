//! Trees that other programs trip over: odd names, long paths, links, pipes, rules, folders larger than a page.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;

use ingather_contract::repository::{Presence, SourceStatus};
use ingather_model::key::Stamp;
use ingather_model::{limits, names};
use rustix::fs::{Mode, OFlags};
use serde_json::json;

use super::*;

#[test]
fn every_document_is_listed_looked_at_read_and_found_by_its_name() {
    let (_guard, root) = folder();
    for name in
        [b"plain.txt".as_slice(), b"back\\slash", b"new\nline", b"not\xffutf8", "ünï/cödé.TXT".as_bytes()]
    {
        let path = root.join(OsStr::from_bytes(name));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, name).unwrap();
    }
    write(&root, "empty", "");
    let sparse = std::fs::File::create(root.join("sparse")).unwrap();
    sparse.set_len(300_000).unwrap();
    let source = source(&root);
    let listed = list(&*source);
    let expected =
        ["back\\\\slash", "empty", "new\\x0Aline", "not\\xFFutf8", "plain.txt", "sparse", "ünï/cödé.TXT"];
    assert_eq!(listed.keys(), expected);
    assert_eq!(listed.proven, ["", "ünï/"]);
    assert!(listed.blind.is_empty() && listed.skipped.is_empty() && !listed.root_empty);
    for (key, item) in &listed.items {
        let (observed, bytes) = fetch(&*source, key).unwrap();
        match key.as_str() {
            "empty" => assert!(bytes.is_empty()),
            "sparse" => assert!(bytes.len() == 300_000 && bytes.iter().all(|byte| *byte == 0)),
            key => assert_eq!(names::escape(&bytes), key),
        }
        let looked = source.look(&call(), key).unwrap();
        for (content, access, identity) in [
            (observed.content, observed.access, observed.identity),
            (looked.content, looked.access, looked.identity),
        ] {
            assert_eq!((content, access, identity), (item.content, item.access, item.identity), "{key}");
        }
        assert_ne!(item.content, Stamp::NONE);
        assert_eq!(looked.acl, observed.acl);
        assert_eq!(looked.record, observed.record);
        assert_eq!(source.probe(&call(), key), Presence::Present);
    }
    let record = source.look(&call(), "ünï/cödé.TXT").unwrap().record;
    assert_eq!(record.title, "cödé.TXT");
    assert_eq!(record.fields["ext"], ["txt"]);
    assert!(record.path.starts_with('/') && record.path.ends_with("/ünï/cödé.TXT"), "{}", record.path);
    assert!(record.uri.ends_with("/%C3%BCn%C3%AF/c%C3%B6d%C3%A9.TXT"), "{}", record.uri);
}

#[test]
fn containers_reach_from_the_top_to_every_folder() {
    let (_guard, root) = folder();
    write(&root, "a/b/c.txt", "x");
    let listed = list(&*source(&root));
    let mut container = listed.container_of["a/b/c.txt"].clone();
    assert_eq!(container, format!("{}/a/b", root.display()));
    let id = std::fs::metadata(root.join("a/b")).unwrap();
    assert_eq!(listed.containers[&container].identity, format!("{}:{}", id.dev(), id.ino()));
    assert_eq!(listed.containers[&container].folder.as_deref(), Some("a/b/"));
    assert_eq!(listed.containers[&root.display().to_string()].folder.as_deref(), Some(""));
    assert_eq!(listed.containers["/"].folder, None, "it stands above the source");
    while let Some(parent) = listed.containers[&container].parent.clone() {
        assert!(container.starts_with(&parent));
        container = parent;
    }
    assert_eq!(container, "/");
}

#[test]
fn paths_longer_than_the_kernel_takes_are_walked_and_read() {
    let (_guard, root) = folder();
    let part = "d".repeat(200);
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut at = rustix::fs::open(&root, flags, Mode::empty()).unwrap();
    // Deeper than the number of folders that are kept open, and longer than 4,096 bytes.
    let depth = limits::FOLDERS_OPEN_MAX + 20;
    for _ in 0..depth {
        rustix::fs::mkdirat(&at, part.as_str(), Mode::RWXU).unwrap();
        at = rustix::fs::openat(&at, part.as_str(), flags, Mode::empty()).unwrap();
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC;
    let file = rustix::fs::openat(&at, "deep.txt", flags, Mode::RUSR).unwrap();
    rustix::io::write(file, b"deep").unwrap();
    let source = source(&root);
    let listed = list(&*source);
    assert_eq!(listed.items.len(), 1);
    assert_eq!(listed.proven.len(), depth + 1);
    let key = listed.keys()[0].to_owned();
    assert!(key.len() > 4_096 && key.ends_with("/deep.txt"));
    assert_eq!(fetch(&*source, &key).unwrap().1, b"deep");
    assert_eq!(source.probe(&call(), &key), Presence::Present);
    assert_eq!(source.probe(&call(), &key.replace("deep.txt", "gone")), Presence::Absent);
    assert!(source.look(&call(), &key).is_ok());
}

#[test]
fn links_and_special_files_are_named_and_never_opened() {
    let (_guard, root) = folder();
    write(&root, "real/a.txt", "a");
    std::os::unix::fs::symlink("real", root.join("link_to_folder")).unwrap();
    std::os::unix::fs::symlink("..", root.join("real/loop")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", root.join("out")).unwrap();
    let fifo = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, root.join("pipe"), fifo, Mode::RWXU, 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap();
    let source = source(&root);
    let listed = list(&*source);
    assert_eq!(listed.keys(), ["real/a.txt"]);
    let codes = [
        ("link_to_folder", "link"),
        ("out", "link"),
        ("pipe", "special"),
        ("real/loop", "link"),
        ("socket", "special"),
    ];
    assert_eq!(listed.skipped, codes.map(|(key, code)| (key.to_owned(), code.to_owned())));
    for (key, code) in codes {
        // A pipe that is opened for reading would wait for a writer for ever.
        assert_eq!(fetch(&*source, key).unwrap_err().reason().code, code, "{key}");
        assert_eq!(source.look(&call(), key).unwrap_err().reason().code, code, "{key}");
        assert_eq!(source.probe(&call(), key), Presence::Excluded, "{key}");
    }
    assert_eq!(fetch(&*source, "link_to_folder/a.txt").unwrap_err().reason().code, "link");
    assert_eq!(fetch(&*source, "real/loop/real/a.txt").unwrap_err().reason().code, "link");
    assert_eq!(source.probe(&call(), "link_to_folder/a.txt"), Presence::Excluded);
    let through_link = super::source(&root.join("link_to_folder"));
    assert_eq!(through_link.list(&call()).err().unwrap().reason().code, "link");
}

#[test]
fn names_that_no_listing_gives_are_refused() {
    let (_guard, root) = folder();
    write(&root, "a/b.txt", "b");
    let source = source(&root);
    for key in
        ["", "/a/b.txt", "a//b.txt", "a/../a/b.txt", "./a/b.txt", "a/b.txt/", "\\x61/b.txt", "a\\q", "a\\x00"]
    {
        assert_eq!(fetch(&*source, key).unwrap_err().reason().code, "key", "{key}");
        assert_eq!(source.probe(&call(), key), Presence::Unknown, "{key}");
    }
    assert_eq!(fetch(&*source, "a/b.txt/c").unwrap_err(), Fault::Gone);
    assert_eq!(fetch(&*source, &"n".repeat(300)).unwrap_err(), Fault::Gone);
}

#[test]
fn hard_links_are_two_documents_and_own_files_none() {
    let (_guard, root) = folder();
    write(&root, "one", "1");
    std::fs::hard_link(root.join("one"), root.join("two")).unwrap();
    write(&root, "data/store", "s");
    write(&root, "journal", "j");
    let id = |name: &str| std::fs::metadata(root.join(name)).map(|m| (m.dev(), m.ino())).unwrap();
    let source = source_with(&root, json!({}), vec![id("journal"), id("data")]);
    let listed = list(&*source);
    assert_eq!(listed.keys(), ["one", "two"]);
    assert_eq!(listed.items["one"].identity, listed.items["two"].identity);
    assert_eq!(listed.skipped, ["data", "journal"].map(|key| (key.to_owned(), "own_file".to_owned())));
    assert_eq!(listed.proven, [""], "the data directory is not entered");
    assert_eq!(fetch(&*source, "journal").unwrap_err().reason().code, "own_file");
    assert_eq!(fetch(&*source, "data/store").unwrap_err().reason().code, "own_file");
    assert_eq!(source.probe(&call(), "data/store"), Presence::Excluded);
}

#[test]
fn rules_leave_out_the_same_in_every_call() {
    let (_guard, root) = folder();
    for name in
        ["a.md", "b.log", "build/x.md", "src/build/y.md", ".hidden/z.md", "src/.dot.md", "src/gen/keep.md"]
    {
        write(&root, name, "12345");
    }
    write(&root, "src/.gitignore", "gen/*\n!gen/keep.md\nlarge.md\n");
    write(&root, "src/gen/drop.md", "x");
    write(&root, "src/deep/large.md", "x");
    write(&root, ".git/config.md", "x");
    write(&root, "big.md", "0123456789");
    let settings = json!({"exclude": ["build/", "*.log"], "include": ["*.md"], "skip_hidden": true, "ignore_files": true, "size_max": 9});
    let source = source_with(&root, settings, Vec::new());
    let listed = list(&*source);
    assert_eq!(listed.keys(), ["a.md", "src/gen/keep.md"]);
    assert_eq!(listed.skipped, [("big.md".to_owned(), "size".to_owned())]);
    assert_eq!(listed.proven, ["", "src/", "src/deep/", "src/gen/"]);
    for (key, code) in [
        ("b.log", "excluded"),
        ("build/x.md", "excluded"),
        ("src/build/y.md", "excluded"),
        (".hidden/z.md", "hidden"),
        ("src/.dot.md", "hidden"),
        ("src/gen/drop.md", "ignored"),
        ("src/deep/large.md", "ignored"),
        ("big.md", "size"),
        ("src", "excluded"),
    ] {
        assert_eq!(source.look(&call(), key).unwrap_err().reason().code, code, "{key}");
        assert_eq!(fetch(&*source, key).unwrap_err().reason().code, code, "{key}");
        assert_eq!(source.probe(&call(), key), Presence::Excluded, "{key}");
        match source.explain(&call(), key) {
            SourceStatus::Left(reason) => assert_eq!(reason.code, code, "{key}"),
            other => panic!("{key}: {other:?}"),
        }
    }
    for key in listed.keys() {
        assert!(matches!(source.explain(&call(), key), SourceStatus::Taken(_)), "{key}");
    }
    assert!(matches!(source.explain(&call(), "build/gone.md"), SourceStatus::Absent(_)));
    assert_eq!(
        source.probe(&call(), "build/gone.md"),
        Presence::Absent,
        "what does not exist is absent first"
    );
}

#[test]
fn a_folder_larger_than_a_page_is_proven_by_its_last_page() {
    let (_guard, root) = folder();
    let count = limits::PAGE_ITEMS_MAX * 2 + 100;
    for number in 0..count {
        std::fs::write(root.join(format!("f{number}")), "").unwrap();
    }
    std::os::unix::fs::symlink("f1", root.join("link")).unwrap();
    write(&root, "sub/x", "");
    let listed = list(&*source(&root));
    assert_eq!(listed.items.len(), count + 1);
    assert_eq!(listed.proven, ["", "sub/"]);
    assert!(listed.pages >= 3);
}

#[test]
fn one_file_is_a_source_of_one_document() {
    let (_guard, root) = folder();
    write(&root, "dir/only file.txt", "x");
    write(&root, "dir/other", "x");
    let source = source(&root.join("dir/only file.txt"));
    let listed = list(&*source);
    assert_eq!(listed.keys(), ["only file.txt"]);
    assert_eq!(listed.proven, [""]);
    assert_eq!(listed.container_of["only file.txt"], root.join("dir").display().to_string());
    assert_eq!(listed.containers[&listed.container_of["only file.txt"]].folder.as_deref(), Some(""));
    assert!(source.uri("only file.txt").ends_with("/dir/only%20file.txt"), "{}", source.uri("only file.txt"));
    assert_eq!(fetch(&*source, "only file.txt").unwrap().1, b"x");
    assert_eq!(fetch(&*source, "other").unwrap_err().reason().code, "excluded");
    assert!(source.check(&call()).unwrap().contains("can be read"));
    std::fs::remove_file(root.join("dir/only file.txt")).unwrap();
    assert_eq!(source.list(&call()).err(), Some(Fault::Gone));
    assert_eq!(source.probe(&call(), "only file.txt"), Presence::Unknown, "the root itself is missing");
    let uri = source.uri("only file.txt");
    assert_eq!(
        super::source(&root.join("dir/only file.txt")).uri("only file.txt"),
        uri,
        "also when it was never met"
    );
}

#[test]
fn an_absent_or_other_root_proves_nothing() {
    let (_guard, root) = folder();
    let base = root.join("base");
    write(&base, "a", "x");
    let source = source(&base);
    assert_eq!(source.probe(&call(), "b"), Presence::Absent);
    std::fs::rename(&base, root.join("away")).unwrap();
    assert_eq!(source.list(&call()).err(), Some(Fault::Gone));
    assert_eq!(source.probe(&call(), "a"), Presence::Unknown);
    assert_eq!(source.look(&call(), "a").unwrap_err().reason().code, "root");
    assert_eq!(fetch(&*source, "a").unwrap_err().reason().code, "root");
    std::os::unix::fs::symlink("away", &base).unwrap();
    assert_eq!(fetch(&*source, "a").unwrap_err().reason().code, "root", "never a refusal of the document");
    assert_eq!(source.probe(&call(), "a"), Presence::Unknown);
    std::fs::remove_file(&base).unwrap();
    std::fs::create_dir(&base).unwrap();
    assert_eq!(source.probe(&call(), "a"), Presence::Unknown, "another folder under the same name");
    assert_eq!(source.look(&call(), "a").unwrap_err().reason().code, "root");
    let listed = list(&*source);
    assert!(listed.root_empty && listed.proven == [""]);
    assert_eq!(source.probe(&call(), "a"), Presence::Absent, "now this is the root that was listed");
    assert_eq!(source.look(&call(), "a").err(), Some(Fault::Gone));
}

#[test]
fn folders_nested_too_deep_are_blind_spots_and_the_rest_is_listed() {
    let (guard, root) = folder();
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut at = rustix::fs::open(&root, flags, Mode::empty()).unwrap();
    for _ in 0..=limits::FOLDER_DEPTH_MAX {
        rustix::fs::mkdirat(&at, "d", Mode::RWXU).unwrap();
        at = rustix::fs::openat(&at, "d", flags, Mode::empty()).unwrap();
    }
    let listed = list(&*source(&root));
    assert_eq!(listed.proven.len(), limits::FOLDER_DEPTH_MAX + 1);
    assert_eq!(listed.blind.iter().map(|spot| spot.cause.as_str()).collect::<Vec<_>>(), ["too_deep"]);
    // The library's own way of removing a folder opens all acls at once.
    let removed = std::process::Command::new("rm").arg("-rf").arg(guard.path()).status().unwrap();
    assert!(removed.success());
}

#[test]
fn many_threads_tell_the_same_and_containers_always_first() {
    let (_guard, root) = folder();
    for number in 0..600 {
        let digits = [number % 2, number % 3, number % 5, number % 7];
        write(&root, &format!("{}/{}/{}/{}/f{number}", digits[0], digits[1], digits[2], digits[3]), "");
    }
    for threads in [1, 2, 3, 8] {
        for _ in 0..10 {
            let listed = list(&*open_with(
                &root,
                json!({}),
                HostContext { own: Vec::new(), threads, ..HostContext::default() },
            ));
            assert_eq!(listed.items.len(), 600);
            assert_eq!(listed.proven.len(), 1 + 2 + 6 + 30 + 210);
        }
    }
}

/// On Linux `/proc` is always another device than `/`, and this program needs it anyway.
#[test]
fn what_the_kernel_makes_up_is_entered_only_when_it_is_the_source() {
    let others = std::fs::read_dir("/")
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    let exclude: Vec<String> = others.filter(|name| name != "proc").map(|name| format!("/{name}")).collect();
    let stays = source_with(Path::new("/"), json!({"exclude": exclude, "other_devices": false}), Vec::new());
    let listed = list(&*stays);
    assert_eq!((listed.proven, listed.items.len(), listed.blind.len()), (vec![String::new()], 0, 0));
    for settings in [json!({"exclude": exclude, "other_devices": false}), json!({"exclude": exclude})] {
        let stays = source_with(Path::new("/"), settings, Vec::new());
        assert_eq!(stays.look(&call(), "proc/version").unwrap_err().reason().code, "made_up");
        assert_eq!(stays.probe(&call(), "proc/version"), Presence::Excluded);
        let listed = list(&*stays);
        assert_eq!(listed.skipped, [("proc".to_owned(), "made_up".to_owned())]);
    }
    // Named itself, it is a folder like others.
    let enters = source_with(Path::new("/proc"), json!({"include": ["/version"]}), Vec::new());
    assert_eq!(enters.probe(&call(), "version"), Presence::Present);
    assert_eq!(enters.uri("version"), "file:///proc/version");
    let (observed, bytes) = fetch(&*enters, "version").unwrap();
    assert_eq!(observed.record.size, Some(0));
    assert!(bytes.starts_with(b"Linux"), "a file that the kernel makes up has size 0 and content");
    let everyone = [ingather_model::access::UNIX_EVERYONE].into_iter().collect();
    assert!(observed.acl.admits(&everyone), "no access lists there: the mode says everything");
}

#[test]
fn settings_that_cannot_be_meant_are_refused() {
    let refused = |settings: serde_json::Value| {
        let answer = (super::super::REPOSITORY.open)(&settings, &HostContext::default());
        answer.err().map(|fault| fault.reason().code)
    };
    let code = |code: &str| Some(code.to_owned());
    assert_eq!(refused(json!({"root": "relative"})), code("root"));
    assert_eq!(refused(json!({"root": "/a/../b"})), code("root"));
    assert_eq!(refused(json!({"root": "/a\\q"})), code("root"));
    assert_eq!(refused(json!({"root": ""})), code("settings"));
    assert_eq!(refused(json!({"root": "/a", "size_max": 0})), code("settings"));
    assert_eq!(refused(json!({"root": "/a", "exlude": []})), code("settings"));
    assert_eq!(refused(json!({"root": "/a", "include": [""]})), code("settings"));
    assert_eq!(refused(json!({"root": "/a", "include": ["{a"]})), code("glob"));
    assert_eq!(refused(json!({"root": "/no/such//place/"})), None, "a disk may be mounted later");
}
