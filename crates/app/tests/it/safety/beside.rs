//! Searches beside a sync: none fails, and none shows what its user never could read.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::Over;
use crate::people::ordinary;
use crate::sandbox::{Kept, Sandbox};

/// Searches in all; `INGATHER_TEST_SEARCHES` asks for another number.
const SEARCHES: usize = 800;
const SEARCHERS: usize = 2;

fn searches() -> usize {
    std::env::var("INGATHER_TEST_SEARCHES").map_or(SEARCHES, |number| number.parse().expect("a number"))
}

/// Files that are closed one by one, and files below a folder that is closed.
struct Tree<'s>(&'s Sandbox);

impl Tree<'_> {
    const FILES: usize = 20;

    fn mode(&self, name: &str, mode: u32) {
        std::fs::set_permissions(self.0.root().join(name), Permissions::from_mode(mode)).unwrap();
    }

    fn write_all(&self, text: &str) {
        for n in 0..Tree::FILES {
            self.0.write(&format!("single/{n}.txt"), &format!("{text} {n}"));
            self.0.write(&format!("below/{n}.txt"), &format!("{text} {n}"));
        }
    }

    /// Closed before the first secret is written.
    fn close(&self) {
        (0..Tree::FILES).for_each(|n| self.mode(&format!("single/{n}.txt"), 0o600));
        self.mode("below", 0o700);
        self.write_all("topsecret");
    }

    /// Open once the last secret is gone.
    fn open(&self) {
        self.write_all("harmless");
        (0..Tree::FILES).for_each(|n| self.mode(&format!("single/{n}.txt"), 0o644));
        self.mode("below", 0o755);
    }
}

fn search_beside_syncs(kept: Kept, searches: usize) {
    let sandbox = Sandbox::new(kept);
    let tree = Tree(&sandbox);
    tree.write_all("harmless");
    tree.open();
    sandbox.sync(&[]);
    let (made, over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let runs = std::thread::scope(|scope| {
        for _ in 0..SEARCHERS {
            scope.spawn(|| {
                let _over = Over(&over);
                while made.fetch_add(1, Ordering::Relaxed) < searches {
                    let found = sandbox.run(&["search", "topsecret", "--as", ordinary(), "--json"]).exits(0);
                    assert_eq!(found.out, "", "a text that nobody but its owner ever could read");
                }
            });
        }
        let mut runs = 0;
        while !over.load(Ordering::Relaxed) {
            tree.close();
            let (_, closed) = sandbox.sync(&[]);
            tree.open();
            let (_, opened) = sandbox.sync(&[]);
            assert_eq!((closed, opened), (0, 0));
            runs += 2;
        }
        runs
    });
    assert!(runs >= 2, "{runs} runs beside the searches");
    assert_eq!(
        sandbox.run(&["search", "harmless", "--as", ordinary(), "--json"]).exits(0).documents().len(),
        10
    );
}

#[test]
fn searches_beside_syncs_neither_fail_nor_show_what_was_closed() {
    search_beside_syncs(Kept::Sqlite, searches());
    search_beside_syncs(Kept::Postgres, searches() / 10);
}
