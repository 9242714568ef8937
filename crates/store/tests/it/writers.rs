//! Who waits to write to SQLite, which lets one write at a time.

use std::sync::mpsc::channel;

use ingather_store::{Durability, Store, Target, documents};

const WRITERS: i64 = 8;

/// Whether a thread of this process waits for something.
fn waits(thread: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat")).unwrap();
    stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('S'))
}

#[test]
fn those_who_wait_to_write_do_so_in_the_order_in_which_they_came() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&Target::Sqlite(folder.path().join("store.db"))).unwrap();
    let (came, coming) = channel();
    let (wrote, written) = channel();
    std::thread::scope(|scope| {
        let first = store.write(Durability::Relaxed, |_| {
            for number in 0..WRITERS {
                let (store, came, wrote) = (&store, came.clone(), wrote.clone());
                scope.spawn(move || {
                    came.send(rustix::thread::gettid().as_raw_nonzero().get()).unwrap();
                    // Who writes again at once comes after all who wait by then.
                    for _ in 0..2 {
                        let write = store.write(Durability::Relaxed, |sql| {
                            wrote.send(number).unwrap();
                            documents::take_ids(sql, "audit", 1)
                        });
                        write.unwrap();
                    }
                });
                let thread = coming.recv().unwrap();
                while !waits(thread) {
                    std::thread::yield_now();
                }
            }
            Ok(())
        });
        first.unwrap();
    });
    drop(wrote);
    let written: Vec<i64> = written.iter().collect();
    assert_eq!(written[..WRITERS as usize], (0..WRITERS).collect::<Vec<_>>());
    let writes = store.reader().writes();
    assert!(writes.all > 2 * WRITERS as u64 && writes.longest > std::time::Duration::ZERO);
}
