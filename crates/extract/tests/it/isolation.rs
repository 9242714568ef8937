//! A child is held off from files, sockets and processes, and what it does wrong costs one document.

use std::io::Read;
use std::sync::atomic::{AtomicU64, Ordering};

use ingather_extract::{Loss, Request};

use super::misdeeds::{extract, pool, pool_in, readers};

#[test]
fn a_child_can_open_no_socket_no_file_and_no_process() {
    let pool = pool(1, 100);
    for misdeed in ["fork", "thread", "tcp", "udp", "unix", "read", "write", "remove", "list", "kill"] {
        let found = extract(&pool, misdeed);
        assert_eq!(found.reason.as_deref(), Some("PermissionDenied"), "{misdeed}: {found:?}");
        assert_eq!(found.text, "", "{misdeed}");
    }
    assert_eq!(pool.started(), 1, "being refused costs nobody the child");
    let in_force = pool.in_force().unwrap();
    assert!(in_force.is_whole(), "{in_force:?}");
    assert_eq!(in_force.missing(), [""; 0]);
}

/// The head of a picture.
const PICTURE: &[u8] = b"GIF89a\x64\0\x64\0\0\0\0\0\0\0\0\0\0";

#[test]
fn a_child_asks_what_is_seen_in_a_picture_and_goes_on() {
    let pool = readers(1);
    let mut request = Request { name: "a.gif".to_owned(), ..Request::default() };
    request.options.pictures = true;
    for (seen, text, reason) in
        [(Ok("words"), "words", None), (Err("too dark"), "", Some("too dark")), (Ok("more"), "more", None)]
    {
        let mut look = |picture: &[u8]| {
            assert_eq!(picture, PICTURE);
            Ok(seen.map(str::to_owned).map_err(str::to_owned))
        };
        let found = pool.extract_seeing(&request, &mut &*PICTURE, &mut look).unwrap();
        assert_eq!((found.text.as_str(), found.reason.as_deref()), (text, reason));
    }
    assert_eq!(pool.started(), 1);
    // Whoever does not want to know any more is not kept waiting, and neither is the next document.
    let stopped =
        pool.extract_seeing(&request, &mut &*PICTURE, &mut |_| Err(std::io::Error::other("stopped")));
    assert_eq!(stopped.unwrap_err().to_string(), "stopped");
    request.options.pictures = false;
    let found = pool.extract(&request, &mut &*PICTURE).unwrap();
    assert_eq!(found.reason.as_deref(), Some("a picture has no text"));
    assert_eq!(pool.started(), 2);
}

#[test]
fn a_child_has_no_file_of_its_callers_and_raises_no_limit() {
    // Open for writing in this process, and for everybody whom it starts.
    let file = tempfile::tempfile().unwrap();
    let left_open = rustix::io::fcntl_dupfd_cloexec(&file, 40).unwrap();
    rustix::io::fcntl_setfd(&left_open, rustix::io::FdFlags::empty()).unwrap();
    let pool = pool(1, 100);
    assert_eq!(extract(&pool, "handles").text, "0 open");
    for misdeed in ["raise memory", "raise files", "raise time", "lower memory"] {
        let found = extract(&pool, misdeed);
        assert_eq!(found.reason.as_deref(), Some("PermissionDenied"), "{misdeed}: {found:?}");
    }
    assert_eq!(pool.started(), 1);
}

#[test]
fn a_child_that_crashes_loops_or_eats_costs_one_document_with_a_clear_reason() {
    let pool = pool(1, 100);
    for (misdeed, reason) in [
        ("abort", "memory"),
        ("exit", "its reader ended"),
        ("loop", "reading it took"),
        ("sleep", "reading it took longer than"),
        ("memory", "memory"),
        ("stack", "nested too deep"),
        ("panic", "its reader ended"),
        ("long", "too long"),
    ] {
        let before = pool.started();
        let found = extract(&pool, misdeed);
        // One that never had the processor may have been kept from it.
        let by = if misdeed == "sleep" { Loss::ByOthers } else { Loss::ByItself };
        assert_eq!(found.lost, Some(by), "{misdeed}: {found:?}");
        let said = found.reason.unwrap_or_default();
        assert!(said.contains(reason), "{misdeed}: {said}");
        assert_eq!(found.media_type, "text/plain", "{misdeed}: the type is told all the same");
        assert_eq!(extract(&pool, "good").text, "some words", "the next document after {misdeed}");
        assert_eq!(
            pool.started() - before,
            if before == 0 { 2 } else { 1 },
            "{misdeed}: a new child takes over"
        );
    }
}

#[test]
fn children_are_used_again_and_replaced_after_a_while() {
    let pool = pool(2, 3);
    let names: Vec<String> = (0..7).map(|_| extract(&pool, "good").name).collect();
    assert_eq!(pool.started(), 3);
    assert_eq!(names[0], names[2]);
    assert_ne!(names[2], names[3]);
}

#[test]
fn a_child_reads_for_the_same_people_only() {
    let pool = pool(2, 1_000);
    let reader = |audience: i64| {
        let request = Request { name: "good".to_owned(), audience, ..Request::default() };
        pool.extract(&request, &mut b"some words".as_slice()).unwrap().name
    };
    let (ann, bob) = (reader(1), reader(2));
    assert_ne!(ann, bob);
    assert_eq!(
        [reader(1), reader(2), reader(2), reader(1)],
        [ann.clone(), bob.clone(), bob.clone(), ann.clone()]
    );
    assert_eq!(pool.started(), 2, "there is one for each");
    // There is no place for a third: it takes that of the one that was not asked for longest.
    let cid = reader(3);
    assert!(![&ann, &bob].contains(&&cid));
    assert_eq!(reader(1), ann);
    assert_ne!(reader(2), bob, "nobody else gets a child of theirs, either");
    assert_eq!(pool.started(), 4);
    assert_eq!(pool.idle().len(), 2);
}

#[test]
fn a_child_that_was_ended_while_it_waited_is_replaced_unseen() {
    let pool = pool(1, 100);
    extract(&pool, "good");
    let idle = i32::try_from(pool.idle()[0]).unwrap();
    let idle = rustix::process::Pid::from_raw(idle).unwrap();
    rustix::process::kill_process(idle, rustix::process::Signal::KILL).unwrap();
    // The socket is closed when the process is gone; until then a send may still succeed.
    rustix::process::waitid(
        rustix::process::WaitId::Pid(idle),
        rustix::process::WaitIdOptions::EXITED | rustix::process::WaitIdOptions::NOWAIT,
    )
    .unwrap();
    assert_eq!(extract(&pool, "good").text, "some words");
    assert_eq!(pool.started(), 2);
}

#[test]
fn no_child_is_left_over() {
    let first = pool(4, 100);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| extract(&first, "good"));
        }
    });
    let children = first.idle();
    assert!(!children.is_empty());
    drop(first);
    for child in children {
        assert!(!std::path::Path::new(&format!("/proc/{child}")).exists(), "{child}");
    }
}

#[test]
fn more_callers_than_children_wait_for_their_turn() {
    // Fewer documents than a child may read, so that none is replaced.
    let pool = pool(2, 1_000);
    let done = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..20 {
                    let found = extract(&pool, "good");
                    assert_eq!(found.text, "some words", "{:?}", found.reason);
                    done.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(done.into_inner(), 160);
    assert!(pool.started() <= 2, "{}", pool.started());
}

#[test]
fn a_large_document_goes_through_the_scratch_file() {
    let pool = pool(1, 100);
    let mut request = Request { name: "large.bin".to_owned(), ..Request::default() };
    request.limits.memory_input_bytes = 100_000;
    for length in [99_999usize, 3_000_000, 150_000] {
        let found = pool.extract(&request, &mut std::io::repeat(b'y').take(length as u64)).unwrap();
        assert_eq!(found.text.len(), length, "{:?}", found.reason);
    }
    assert_eq!(pool.started(), 1);
}

#[test]
fn nobody_can_take_the_names_of_scratch_files() {
    let folder = tempfile::tempdir().unwrap();
    for attempt in 0..=1_000 {
        let name = format!(".ingather-{}-0-{attempt}", std::process::id());
        std::fs::write(folder.path().join(name), "").unwrap();
    }
    let pool = pool_in(folder.path());
    assert_eq!(extract(&pool, "good").text, "some words");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1_001, "its own has no name");
}

#[test]
fn errors_of_the_source_are_passed_on_and_cost_no_child() {
    struct Failing;
    impl Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("disk on fire"))
        }
    }
    let pool = pool(1, 100);
    let request = Request { name: "good".to_owned(), ..Request::default() };
    let mut content = std::io::repeat(b'y').take(1_000_000).chain(Failing);
    let error = pool.extract(&request, &mut content).unwrap_err();
    assert_eq!(error.to_string(), "disk on fire");
    assert_eq!(extract(&pool, "good").text, "some words");
    assert_eq!(pool.started(), 1);
}
