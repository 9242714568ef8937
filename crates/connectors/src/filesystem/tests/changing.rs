//! Sources that change under our eyes: each change happens at a known moment, when the clock is asked or a file is read.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::atomic::AtomicUsize;

use ingather_contract::repository::Presence;
use ingather_model::key::Stamp;
use ingather_model::limits;
use rustix::fs::{AtFlags, Timespec, Timestamps};
use serde_json::json;

use super::*;

/// A clock that does something each time that it is asked; it is asked once before each look at a folder.
struct Hook {
    asked: AtomicUsize,
    act: Box<dyn Fn(usize) + Send + Sync>,
}

impl Clock for Hook {
    fn now(&self) -> i64 {
        (self.act)(self.asked.fetch_add(1, Ordering::Relaxed));
        LATER
    }
}

/// A call whose clock does `act` with the number of the question; question 0 is that of `list` itself.
fn hooked(act: impl Fn(usize) + Send + Sync + 'static) -> CallContext {
    CallContext {
        clock: Arc::new(Hook { asked: AtomicUsize::new(0), act: Box::new(act) }),
        cancel: Cancel::default(),
    }
}

/// Sets a folder's time of change, so that a test does not depend on how fast the kernel's clock ticks.
fn touch(folder: &Path, second: i64) {
    let time = Timespec { tv_sec: second, tv_nsec: 0 };
    let times = Timestamps { last_access: time, last_modification: time };
    rustix::fs::utimensat(rustix::fs::CWD, folder, &times, AtFlags::empty()).unwrap();
}

fn alone(root: &Path) -> Arc<dyn Repository> {
    open_with(root, json!({}), HostContext { own: Vec::new(), threads: 1, ..HostContext::default() })
}

#[test]
fn versions_within_the_grain_of_the_clock_are_none() {
    let (_guard, root) = folder();
    write(&root, "a", "x");
    let source = source(&root);
    let changed = std::fs::metadata(root.join("a")).unwrap();
    let changed = changed.ctime() * 1_000 + changed.ctime_nsec() / 1_000_000;
    let grain_max = limits::CLOCK_GRAINS.iter().map(|(_, grain)| *grain).max().unwrap();
    for (now, racy) in
        [(changed, true), (changed - 5_000, true), (changed + 50, true), (changed + grain_max + 1, false)]
    {
        let call = call_at(now);
        let listed = list_at(&*source, &call).items["a"].clone();
        let looked = source.look(&call, "a").unwrap();
        let read = source.fetch(&call, "a", &mut |_, _, _| Ok(())).unwrap();
        let stamps =
            [listed.content, listed.access, looked.content, looked.access, read.content, read.access];
        assert!(stamps.iter().all(|stamp| (*stamp == Stamp::NONE) == racy), "{now}: {stamps:?}");
        assert!(listed.identity != 0);
    }
}

#[test]
fn a_folder_that_changes_once_is_listed_again_and_proven() {
    let (_guard, root) = folder();
    write(&root, "a", "x");
    let inside = root.clone();
    let call = hooked(move |question| {
        if question == 1 {
            write(&inside, "b", "x");
            touch(&inside, 1_000);
        }
    });
    let listed = list_at(&*alone(&root), &call);
    assert_eq!(listed.keys(), ["a", "b"]);
    assert_eq!(listed.proven, [""]);
    assert!(listed.blind.is_empty());
}

#[test]
fn a_folder_that_never_holds_still_is_a_blind_spot() {
    let (_guard, root) = folder();
    write(&root, "busy/a", "x");
    let busy = root.join("busy");
    let looks = Arc::new(AtomicUsize::new(0));
    let counted = looks.clone();
    let call = hooked(move |question| {
        counted.store(question, Ordering::Relaxed);
        touch(&busy, question as i64);
    });
    let listed = list_at(&*alone(&root), &call);
    assert_eq!(listed.proven, [""]);
    assert_eq!(listed.blind.len(), 1);
    assert_eq!(listed.blind[0].cause, "changing");
    assert_eq!(listed.blind[0].scope, Scope::Folder("busy/".into()));
    assert_eq!(listed.keys(), ["busy/a"], "what was seen is told");
    // `list` itself, the root, and the busy folder.
    assert_eq!(looks.load(Ordering::Relaxed), 1 + limits::LIST_ATTEMPTS_MAX as usize);
}

#[test]
fn a_large_folder_that_changes_tells_no_item_twice() {
    let (_guard, root) = folder();
    for number in 0..limits::PAGE_ITEMS_MAX + 500 {
        std::fs::write(root.join(format!("f{number}\\")), "").unwrap();
    }
    let inside = root.clone();
    let call = hooked(move |question| {
        if question == 1 {
            write(&inside, "late", "x");
            std::fs::remove_file(inside.join("f7\\")).unwrap();
            touch(&inside, 1_000);
        }
    });
    let listed = list_at(&*alone(&root), &call);
    assert_eq!(listed.proven, [""]);
    assert!(listed.items.contains_key("late") && !listed.items.contains_key("f7\\\\"));
    assert_eq!(listed.items.len(), limits::PAGE_ITEMS_MAX + 500);
}

/// Lists two folders, of which the one listed first removes the other one; `after` is done to the root then.
fn list_while_one_vanishes(root: &Path, after: impl Fn(&Path) + Send + Sync + 'static) -> Listed {
    write(root, "a/x", "x");
    write(root, "b/x", "x");
    touch(root, 5_000);
    let inside: PathBuf = root.to_owned();
    let call = hooked(move |question| {
        if question == 2 {
            // The walk takes the latest found first; the other one is whichever is not open now.
            let open: Vec<PathBuf> = std::fs::read_dir("/proc/self/fd")
                .unwrap()
                .filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok())
                .collect();
            let other = if open.contains(&inside.join("a")) { "b" } else { "a" };
            std::fs::remove_dir_all(inside.join(other)).unwrap();
            after(&inside);
        }
    });
    list_at(&*alone(root), &call)
}

#[test]
fn a_folder_that_was_surely_removed_is_covered_by_the_one_above() {
    let (_guard, root) = folder();
    let listed = list_while_one_vanishes(&root, |root| touch(root, 6_000));
    assert_eq!((listed.items.len(), listed.proven.len(), listed.blind.len()), (1, 2, 0));
}

#[test]
fn a_folder_that_vanishes_without_a_trace_is_a_blind_spot() {
    let (_guard, root) = folder();
    let listed = list_while_one_vanishes(&root, |root| touch(root, 5_000));
    assert_eq!((listed.items.len(), listed.proven.len()), (1, 2));
    assert_eq!(listed.blind.iter().map(|spot| spot.cause.as_str()).collect::<Vec<_>>(), ["vanished"]);
}

#[test]
fn a_file_that_grows_while_it_is_read_is_read_again() {
    changed_while_read(|count| "line\n".repeat(20 + count));
}

#[test]
fn a_file_that_shrinks_while_it_is_read_is_read_again() {
    changed_while_read(|count| "line\n".repeat(20 - count));
}

/// Reads a file that holds `text(0)` first and `text(n)` after the n-th reading.
fn changed_while_read(text: impl Fn(usize) -> String) {
    let (_guard, root) = folder();
    write(&root, "a", &text(0));
    let source = source(&root);
    for (changes, version_is_known, reads) in [(0, true, 1), (1, true, 2), (2, true, 3), (9, false, 3)] {
        write(&root, "a", &text(0));
        let mut count = 0;
        let mut last = String::new();
        let observed = source.fetch(&call(), "a", &mut |record, _, content| {
            assert!(record.body.is_none(), "each read begins anew");
            record.body = Some(String::new());
            last.clear();
            content.read_to_string(&mut last).unwrap();
            count += 1;
            if count <= changes {
                std::fs::write(root.join("a"), text(count)).unwrap();
            }
            Ok(())
        });
        let observed = observed.unwrap();
        assert_eq!(observed.content != Stamp::NONE, version_is_known, "{changes}");
        assert_eq!(observed.access != Stamp::NONE, version_is_known, "{changes}");
        assert_eq!(count, reads);
        if version_is_known {
            assert_eq!(last, std::fs::read_to_string(root.join("a")).unwrap());
            assert_eq!(observed.record.size, Some(last.len() as u64));
        }
    }
}

#[test]
fn a_file_that_is_replaced_or_removed_while_it_is_read_is_noticed() {
    let (_guard, root) = folder();
    write(&root, "a", "old");
    let source = source(&root);
    let mut texts = Vec::new();
    let replaced = source.fetch(&call(), "a", &mut |_, _, content| {
        let mut text = String::new();
        content.read_to_string(&mut text).unwrap();
        if text == "old" {
            write(&root, "next", "new");
            std::fs::rename(root.join("next"), root.join("a")).unwrap();
        }
        texts.push(text);
        Ok(())
    });
    assert!(replaced.is_ok_and(|observed| observed.content != Stamp::NONE));
    assert_eq!(texts, ["old", "new"]);
    let removed = source.fetch(&call(), "a", &mut |_, _, _| {
        std::fs::remove_file(root.join("a")).unwrap();
        Ok(())
    });
    assert_eq!(removed.err(), Some(Fault::Gone));
    assert_eq!(source.probe(&call(), "a"), Presence::Absent);
    let failed = source.fetch(&call(), "b", &mut |_, _, _| panic!("there is nothing to read"));
    assert_eq!(failed.err(), Some(Fault::Gone));
}

#[test]
fn a_fault_of_the_consumer_comes_back_as_it_is() {
    let (_guard, root) = folder();
    write(&root, "a", "x");
    let fault = Fault::broken("mine", "not understood");
    let answer = source(&root).fetch(&call(), "a", &mut |_, _, _| Err(fault.clone()));
    assert_eq!(answer.err(), Some(fault));
}

#[test]
fn a_listing_that_is_stopped_says_so_and_ends() {
    let (_guard, root) = folder();
    for number in 0..50 {
        write(&root, &format!("d{number}/x"), "x");
    }
    let call = call();
    let source = source(&root);
    let mut listing = source.list(&call).unwrap();
    assert!(listing.next().is_some_and(|page| page.is_ok()));
    call.cancel.cancel();
    let codes: Vec<String> =
        std::iter::from_fn(|| listing.next()).map(|page| page.err().unwrap().reason().code).collect();
    assert_eq!(codes, ["cancelled"]);
    let stopped = source.fetch(&call, "d1/x", &mut |_, _, content| {
        let mut bytes = Vec::new();
        content.read_to_end(&mut bytes).map(|_| ()).map_err(|error| Fault::passing("io", error.to_string()))
    });
    assert_eq!(stopped.err().unwrap().reason().code, "cancelled");
}

#[test]
fn a_listing_that_is_dropped_leaves_no_thread_behind() {
    let (_guard, root) = folder();
    // More pages than wait in the queue.
    for number in 0..(limits::PAGES_WAITING_MAX + 4) {
        for file in 0..600 {
            write(&root, &format!("d{number}/sub{}/f{file}", file % 7), "");
        }
    }
    let source = source(&root);
    let before = Arc::strong_count(&source);
    drop(source.list(&call()).unwrap());
    assert_eq!(Arc::strong_count(&source), before);
}

/// Reads a document to its end.
fn read(source: &dyn Repository, key: &str) -> Result<String, Fault> {
    fetch(source, key).map(|(_, bytes)| String::from_utf8(bytes).unwrap())
}

#[test]
fn a_folder_that_was_reached_before_is_looked_for_again_when_it_did_not_stand() {
    let (_guard, root) = folder();
    write(&root, "notes/a", "first");
    write(&root, "notes/b", "second");
    write(&root, "other/a", "third");
    let source = source(&root);
    assert_eq!(read(&*source, "notes/a").unwrap(), "first");
    assert_eq!(read(&*source, "notes/b").unwrap(), "second");
    let stood = Stands::begin(&*source, "notes/b");
    std::fs::rename(root.join("notes"), root.join("moved")).unwrap();
    assert!(
        !stood.until_now(&*source),
        "whatever was read through the folder that is open counts for nothing"
    );
    assert_eq!(source.containers_of(&call(), "notes/b").err(), Some(Fault::Gone));
    assert_eq!(read(&*source, "notes/b"), Err(Fault::Gone), "it is not there under this name any more");
    std::os::unix::fs::symlink(root.join("moved"), root.join("notes")).unwrap();
    assert_eq!(
        read(&*source, "notes/b").unwrap_err().reason().code,
        "link",
        "the same folder, behind a link"
    );
    std::fs::remove_file(root.join("notes")).unwrap();
    std::fs::rename(root.join("other"), root.join("notes")).unwrap();
    assert_eq!(read(&*source, "notes/a").unwrap(), "third");
    assert_eq!(read(&*source, "notes/b"), Err(Fault::Gone));
}

#[test]
fn a_folder_that_is_open_from_before_is_not_read_from_once_another_was_listed_in_its_place() {
    let (_guard, root) = folder();
    write(&root, "notes/a", "first");
    write(&root, "other/a", "third");
    let source = source(&root);
    list(&*source);
    assert_eq!(read(&*source, "notes/a").unwrap(), "first");
    std::fs::rename(root.join("notes"), root.join("away")).unwrap();
    std::fs::rename(root.join("other"), root.join("notes")).unwrap();
    list(&*source);
    assert_eq!(read(&*source, "notes/a").unwrap(), "third");
}

#[test]
fn a_list_that_changes_beside_a_look_never_goes_with_the_stamps_of_another_text() {
    let (_guard, root) = folder();
    write(&root, "a", "first");
    let settings = serde_json::json!({ "root": names::escape(root.as_os_str().as_bytes()) });
    let source = crate::filesystem::source_of(&settings, &HostContext::default()).unwrap();
    // Between the facts and the list somebody writes another text, and then a list that lets more people in.
    let look = |changes: usize| {
        let asked = std::cell::Cell::new(0);
        let observed = crate::filesystem::read::look_by(&source, &call(), "a", |handle| {
            asked.set(asked.get() + 1);
            if asked.get() <= changes {
                write(&root, "a", &"x".repeat(100 * changes + asked.get()));
            }
            crate::filesystem::acls::list_of_path(handle)
        });
        (observed.unwrap(), asked.get())
    };
    let (before, _) = look(0);
    let (after, asked) = look(1);
    assert_eq!((asked, after.record.size), (2, Some(101)), "looked at again as it is with that list");
    assert!(after.content != before.content && after.content == look(0).0.content);
    let (never, asked) = look(usize::from(u8::MAX));
    assert_eq!((never.content, never.access), (Stamp::NONE, Stamp::NONE));
    assert_eq!(asked, limits::READ_ATTEMPTS_MAX as usize);
}

/// First looks at containers.
struct Stands(Vec<ContainerReport>);

impl Stands {
    fn begin(source: &dyn Repository, key: &str) -> Stands {
        Stands(source.containers_of(&call(), key).unwrap())
    }

    /// Whether the second look finds all of them as the first did.
    fn until_now(&self, source: &dyn Repository) -> bool {
        let names: Vec<&str> = self.0.iter().map(|container| container.name.as_str()).collect();
        let now = source.stamps(&call(), &names);
        assert!(self.0.iter().all(|container| container.stamp != Stamp::NONE), "{:?}", self.0);
        self.0.iter().zip(now).all(|(before, now)| before.stamp == now)
    }
}

#[test]
fn containers_of_a_document_are_those_that_a_listing_tells() {
    let (_guard, root) = folder();
    write(&root, "notes/deep/a", "first");
    let source = source(&root);
    let listed = list(&*source);
    let alone = source.containers_of(&call(), "notes/deep/a").unwrap();
    let names: Vec<&str> = alone.iter().map(|container| container.name.as_str()).collect();
    assert_eq!(names.last().copied(), root.join("notes/deep").to_str());
    assert_eq!(names.first(), Some(&"/"));
    for container in &alone {
        let told = &listed.containers[&container.name];
        assert_eq!(
            (told, container.stamp),
            (&ContainerReport { stamp: told.stamp, ..container.clone() }, told.stamp)
        );
    }
    let file = super::source(&root.join("notes/deep/a"));
    let of_file = file.containers_of(&call(), "a").unwrap();
    assert_eq!(
        of_file.last().map(|container| (container.name.as_str(), container.folder.as_deref())),
        Some((names[names.len() - 1], Some("")))
    );
}

/// Whether a folder, and what is above it, stand while something happens to it; looked at long after its last change, and at once.
fn stands_while(happens: impl Fn(&Path)) -> [bool; 2] {
    [LATER, 0].map(|now| {
        let (_guard, root) = folder();
        write(&root, "above/notes/a", "first");
        let source = source(&root.join("above"));
        // Looked at as of the year 2100, nothing has changed lately.
        let containers = source.containers_of(&call_at(now), "notes/a").unwrap();
        happens(&root.join("above"));
        Stands(containers).until_now(&*source)
    })
}

#[test]
fn a_folder_that_closes_opens_moves_or_is_replaced_did_not_stand() {
    let mode = |folder: &Path, mode| {
        std::fs::set_permissions(folder, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap()
    };
    assert_eq!(stands_while(|_| ()), [true; 2]);
    assert_eq!(
        stands_while(|above| write(above, "notes/a", "as long")),
        [true; 2],
        "a file in it is no folder"
    );
    assert_eq!(stands_while(|above| mode(&above.join("notes"), 0o700)), [false; 2]);
    assert_eq!(stands_while(|above| mode(above, 0o700)), [false; 2], "the root");
    assert_eq!(stands_while(|above| mode(above.parent().unwrap(), 0o711)), [false; 2], "above the root");
    let back = |above: &Path| {
        mode(&above.join("notes"), 0o700);
        mode(&above.join("notes"), 0o755);
    };
    assert_eq!(stands_while(back), [false; 2], "closed and opened again");
    let swapped = |above: &Path| {
        write(above, "other/a", "other");
        std::fs::rename(above.join("notes"), above.join("away")).unwrap();
        std::fs::rename(above.join("other"), above.join("notes")).unwrap();
    };
    assert_eq!(stands_while(swapped), [false; 2]);
    let there_and_back = |above: &Path| {
        std::fs::rename(above.join("notes"), above.join("away")).unwrap();
        std::fs::rename(above.join("away"), above.join("notes")).unwrap();
    };
    assert_eq!(stands_while(there_and_back), [false; 2]);
    let removed = |above: &Path| std::fs::remove_dir_all(above.join("notes")).unwrap();
    assert_eq!(stands_while(removed), [false; 2]);
}

#[test]
fn a_folder_that_is_watched_stands_while_others_come_and_go_in_it() {
    let busy = |above: &Path| {
        for number in 0..100 {
            write(above, &format!("notes/{number}"), "x");
            std::fs::set_permissions(
                above.join("notes").join(number.to_string()),
                std::os::unix::fs::PermissionsExt::from_mode(0o600),
            )
            .unwrap();
            std::fs::create_dir(above.join(format!("notes/d{number}"))).unwrap();
            std::fs::remove_dir(above.join(format!("notes/d{number}"))).unwrap();
        }
    };
    assert_eq!(stands_while(busy), [false, true], "its time says that something has changed, the watch what");
}

#[test]
fn a_root_that_was_replaced_says_nothing_about_documents_that_were_read_before() {
    let (_guard, above) = folder();
    let root = above.join("root");
    write(&root, "notes/a", "first");
    let source = source(&root);
    source.fetch(&call(), "notes/a", &mut |_, _, _| Ok(())).unwrap();
    std::fs::rename(&root, above.join("away")).unwrap();
    write(&root, "notes/a", "another disk");
    let fault = source.fetch(&call(), "notes/a", &mut |_, _, _| Ok(())).unwrap_err();
    assert_eq!(fault.reason().code, "root");
}
