//! Texts that the program's own user cannot read any more, while their access changes: nobody finds what was read before by access that
//! came later.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::files;
use crate::people::{Accounts, Person};
use crate::sandbox::{Answer, Kept, Sandbox};

const OLD: &str = "TOPSECRET plan A";
const NEW: &str = "harmless  plan B";

/// A user who indexes what is its own, and another one who looks for it.
struct World {
    sandbox: Sandbox,
    owner: Person,
    other: Person,
    _accounts: Accounts,
}

impl World {
    fn new() -> World {
        let accounts = Accounts::make(0, &[&[], &[]]);
        let [owner, other] = accounts.people().try_into().unwrap();
        World { sandbox: Sandbox::new(Kept::Sqlite), owner, other, _accounts: accounts }
    }

    /// All that is there becomes the owner's; what was done is older than the grain of the file system's clock.
    fn owned(&self) {
        files::tool("chown", &["-R", &self.owner.name], self.sandbox.path());
        std::fs::set_permissions(self.sandbox.path(), PermissionsExt::from_mode(0o755)).unwrap();
        files::settle(&self.sandbox.root());
    }

    fn mode(&self, name: &str, mode: u32) {
        std::fs::set_permissions(self.path(name), PermissionsExt::from_mode(mode)).unwrap();
        files::settle(&self.sandbox.root());
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.sandbox.root().join(name)
    }

    fn sync(&self, flags: &[&str]) -> Answer {
        self.sandbox.run_as(&self.owner, &[&["sync", "root", "-q"], flags].concat())
    }

    fn found(&self) -> usize {
        let search = ["search", "plan", "--as", &self.other.name, "--json", "--limit", "100"];
        self.sandbox.run_as(&self.owner, &search).exits(0).documents().len()
    }
}

/// Another text of equal length, under the time of before, which only others may read.
fn replaced(world: &World, name: &str) {
    files::rewrite_unnoticed(Path::new(&world.path(name)), NEW);
    world.mode(name, 0o044);
}

#[test]
fn what_was_hidden_stays_hidden_until_it_is_read() {
    ingather_testkit::needs!(Users);
    let world = World::new();
    world.sandbox.write("f.txt", OLD);
    world.owned();
    world.mode("f.txt", 0o600);
    world.sync(&[]).exits(0);
    replaced(&world, "f.txt");
    for flags in [&[][..], &[], &["--reread"], &[]] {
        world.sync(flags).exits(1);
        assert_eq!(world.found(), 0, "{flags:?}");
        world.mode("f.txt", 0o044);
    }
    world.mode("f.txt", 0o644);
    world.sync(&[]).exits(0);
    assert_eq!(world.found(), 1);
}

#[test]
fn kept_text_is_not_sent_with_access_of_what_replaced_it() {
    ingather_testkit::needs!(Users);
    let world = World::new();
    world.sandbox.write("f.txt", OLD);
    world.owned();
    world.mode("f.txt", 0o600);
    world.sync(&["--keep", "extracted"]).exits(0);
    replaced(&world, "f.txt");
    for flags in [&[][..], &[], &["--to", "index", "--to", "null", "--update"]] {
        world.sync(flags).exits(1);
        assert_eq!(world.found(), 0, "{flags:?}");
    }
}

#[test]
fn a_folder_does_not_open_over_what_was_moved_out_of_it_and_stays() {
    ingather_testkit::needs!(Users);
    let world = World::new();
    world.sandbox.write("p/f.txt", OLD);
    world.sandbox.write("q/g.txt", NEW);
    world.owned();
    ["p", "q"].iter().for_each(|name| world.mode(name, 0o700));
    world.sync(&[]).exits(0);
    std::fs::rename(world.path("p/f.txt"), world.path("q/f.txt")).unwrap();
    world.mode("q/f.txt", 0o000);
    world.mode("p", 0o755);
    for _ in 0..2 {
        world.sync(&[]).exits(1);
        assert_eq!(world.found(), 0);
    }
    world.mode("q/f.txt", 0o644);
    world.sync(&[]).exits(0);
    assert_eq!(world.found(), 0);
}

#[test]
fn who_is_shut_out_of_a_folder_that_a_rule_leaves_out_now_is_shut_out_while_its_removals_are_held() {
    ingather_testkit::needs!(Users);
    let world = World::new();
    (0..30).for_each(|n| world.sandbox.write(&format!("p/{n}.txt"), OLD));
    world.sandbox.write("r.txt", NEW);
    world.owned();
    world.sync(&[]).exits(0);
    assert_eq!(world.found(), 31);
    world.sync(&["--update", "--exclude", "p"]).exits(1);
    assert_eq!(world.found(), 31, "held, and seen by all who saw it");
    world.mode("p", 0o700);
    world.sync(&[]).exits(1);
    assert_eq!(world.found(), 1);
}

#[test]
fn who_is_shut_out_of_a_file_that_a_rule_leaves_out_now_is_shut_out_while_its_removal_is_held() {
    ingather_testkit::needs!(Users);
    let world = World::new();
    (0..30).for_each(|n| world.sandbox.write(&format!("p/{n}.txt"), OLD));
    world.sandbox.write("r.txt", NEW);
    world.owned();
    world.sync(&[]).exits(0);
    world.mode("p/0.txt", 0o600);
    world.sync(&["--update", "--exclude", "p"]).exits(1);
    assert_eq!(world.found(), 30, "closed before the first run that holds it");
    world.mode("p/1.txt", 0o640);
    world.mode("p/2.txt", 0o600);
    world.sync(&[]).exits(1);
    assert_eq!(world.found(), 28, "held, and seen by those who may");
    let own = ["search", "plan", "--as", &world.owner.name, "--json", "--limit", "100"];
    let found = world.sandbox.run_as(&world.owner, &own).exits(0).documents().len();
    assert_eq!(found, 31, "its owner still may");
    // Opened again, it may be another text by now: nobody has looked.
    world.mode("p/2.txt", 0o644);
    world.sync(&[]).exits(1);
    assert_eq!(world.found(), 28);
    world.sync(&["--update", "--exclude", "none"]).exits(0);
    assert_eq!(world.found(), 29, "read again, as it is");
}

#[test]
fn kept_text_of_another_reading_is_not_sent_with_the_access_of_what_cannot_be_read() {
    ingather_testkit::needs!(Users);
    let world = World::new();
    world.sandbox.write("f.txt", OLD);
    world.owned();
    world.mode("f.txt", 0o600);
    world.sync(&["--keep", "extracted"]).exits(0);
    world.sandbox.write("f.txt", "harmless, and longer: plan B");
    world.mode("f.txt", 0o044);
    world.sync(&[]).exits(1);
    assert_eq!(world.found(), 0);
    // Away, and the index is lost: it is filled from what is kept.
    std::fs::rename(world.sandbox.root(), world.sandbox.path().join("away")).unwrap();
    files::remove(&world.sandbox.data().join("index"));
    world.sync(&[]).exits(1);
    assert_eq!(world.found(), 0);
}

#[test]
fn what_a_rule_leaves_out_and_is_held_is_shown_to_nobody_once_another_folder_is_in_the_place_of_its_own() {
    ingather_testkit::needs!(Users);
    let world = World::new();
    (0..30).for_each(|n| world.sandbox.write(&format!("p/{n}.txt"), OLD));
    world.sandbox.write("r.txt", NEW);
    world.owned();
    world.sync(&[]).exits(0);
    world.sync(&["--update", "--exclude", "p"]).exits(1);
    assert_eq!(world.found(), 31);
    std::fs::rename(world.path("p"), world.sandbox.path().join("aside")).unwrap();
    (0..30).for_each(|n| world.sandbox.write(&format!("p/{n}.txt"), NEW));
    world.owned();
    world.mode("p", 0o700);
    world.sync(&[]).exits(1);
    assert_eq!(world.found(), 1);
}
