//! Without file handles: said as such, whatever the databases make of it, and nothing is taken for damage.

use std::fs::File;
use std::process::Command;

use ingather_store::{Durability, Reader, Store, StoreError, leases};

use crate::world::{Fresh, on_both};

/// Set for the process that may open few files.
const INSIDE: &str = "INGATHER_STORE_FEW_HANDLES";
/// As many as it may have open.
const MOST: usize = 80;

/// Whether this is that process; else the test runs in one, since a limit counts for all threads.
fn few_handles(name: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("ulimit -n {MOST}; exec \"$@\""), "sh"])
        .arg(std::env::current_exe().unwrap());
    let output = command.args(["--exact", name, "--nocapture"]).env(INSIDE, "1").output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(told.contains("1 passed"), "{told}{}", String::from_utf8_lossy(&output.stderr));
    false
}

/// Opens files until only so many more can be opened.
fn leave(handles: usize) -> Vec<File> {
    let mut opened: Vec<File> = std::iter::from_fn(|| File::open("/dev/null").ok()).take(MOST).collect();
    opened.truncate(opened.len() - handles);
    opened
}

fn with_fewer_and_fewer(fresh: &Fresh) {
    let mut lacked = 0;
    for handles in 0..12 {
        let mut judge = |done: Result<(), StoreError>| match done {
            Ok(()) => {}
            Err(StoreError::Handles(_)) => lacked += 1,
            Err(other) => panic!("{:?} with {handles} handles: {other}", fresh.target),
        };
        let rest = leave(handles);
        let reader = Reader::open(&fresh.target);
        judge(reader.and_then(|reader| reader.unwrap().read(|sql| leases::members(sql).map(drop))));
        let store = Store::open(&fresh.target);
        judge(store.and_then(|store| store.write(Durability::Synced, leases::forget)));
        drop(rest);
    }
    assert!((1..24).contains(&lacked), "{:?}: {lacked}", fresh.target);
}

#[test]
fn no_handle_left_is_no_damage() {
    if few_handles("handles::no_handle_left_is_no_damage") {
        on_both("handles", with_fewer_and_fewer);
    }
}
