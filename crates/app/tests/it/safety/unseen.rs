//! Texts that are replaced by others of equal length under the time of before, while their access changes: nobody finds the old text by
//! the new access.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::files;
use crate::people::ordinary;
use crate::sandbox::Sandbox;

const OLD: &str = "salary 98765 euro";
const NEW: &str = "salary XXXXX euro";

fn mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

/// What somebody else finds.
fn found(sandbox: &Sandbox, query: &str) -> usize {
    sandbox.run(&["search", query, "--as", ordinary(), "--json"]).exits(0).documents().len()
}

/// A closed document that was read.
fn closed(name: &str) -> Sandbox {
    let sandbox = Sandbox::sqlite();
    sandbox.write(name, OLD);
    mode(&sandbox.root().join(name), 0o600);
    files::settle(&sandbox.root());
    assert_eq!(sandbox.synced(&[]).get("added"), 1);
    sandbox
}

#[test]
fn a_text_that_was_replaced_unnoticed_is_not_found_by_the_access_of_the_new_one() {
    let sandbox = closed("r.txt");
    files::rewrite_unnoticed(&sandbox.root().join("r.txt"), NEW);
    mode(&sandbox.root().join("r.txt"), 0o644);
    assert_eq!(sandbox.synced(&[]).get("updated"), 1);
    assert_eq!((found(&sandbox, "98765"), found(&sandbox, "XXXXX")), (0, 1));
    // Access alone sends nothing else, and content that is as it was is not sent.
    mode(&sandbox.root().join("r.txt"), 0o600);
    assert_eq!(sandbox.synced(&[]).get("access"), 1);
    assert_eq!(found(&sandbox, "XXXXX"), 0);
    mode(&sandbox.root().join("r.txt"), 0o644);
    assert_eq!(sandbox.synced(&[]).get("access"), 1);
    assert_eq!(found(&sandbox, "XXXXX"), 1);
}

#[test]
fn a_folder_that_was_made_anew_with_links_is_looked_at() {
    let sandbox = closed("k/r.txt");
    let [folder, copy] = ["k", "k2"].map(|name| sandbox.root().join(name));
    files::rewrite_unnoticed(&folder.join("r.txt"), NEW);
    mode(&folder.join("r.txt"), 0o644);
    std::fs::create_dir(&copy).unwrap();
    std::fs::hard_link(folder.join("r.txt"), copy.join("r.txt")).unwrap();
    files::remove(&folder);
    std::fs::rename(&copy, &folder).unwrap();
    sandbox.synced(&[]);
    assert_eq!((found(&sandbox, "98765"), found(&sandbox, "XXXXX")), (0, 1));
}

#[test]
fn a_text_that_was_replaced_unnoticed_and_narrowed_is_not_found_when_its_folder_opens() {
    let sandbox = Sandbox::sqlite();
    let [folder, file] = ["p", "p/r.txt"].map(|name| sandbox.root().join(name));
    sandbox.write("p/r.txt", OLD);
    mode(&folder, 0o700);
    files::settle(&sandbox.root());
    sandbox.synced(&[]);
    files::rewrite_unnoticed(&file, NEW);
    mode(&file, 0o640);
    sandbox.synced(&[]);
    mode(&folder, 0o755);
    mode(&file, 0o644);
    sandbox.synced(&[]);
    assert_eq!((found(&sandbox, "98765"), found(&sandbox, "XXXXX")), (0, 1));
}

#[test]
fn a_job_may_trust_times_and_reading_again_puts_right_what_that_misses() {
    let sandbox = Sandbox::sqlite();
    let file = sandbox.root().join("r.txt");
    sandbox.write("r.txt", OLD);
    sandbox.write("other.txt", "as it was");
    mode(&file, 0o600);
    files::settle(&sandbox.root());
    sandbox.synced(&["--content-by", "times"]);
    files::rewrite_unnoticed(&file, NEW);
    mode(&file, 0o644);
    files::settle(&sandbox.root());
    let counts = sandbox.synced(&[]);
    assert_eq!(counts.get("access"), 1, "{counts:?}");
    assert_eq!(found(&sandbox, "98765"), 1, "as the job has it");
    let told = sandbox.run(&["doctor"]).exits(0);
    assert!(told.out.contains("content_by") && told.out.contains("--content-by times"), "{told:#?}");
    let differs = ["content-by: times → read", "--update"];
    sandbox.run(&["sync", "root", "--content-by", "read"]).refuses(2, &differs);
    let again = sandbox.synced(&["--reread"]);
    assert_eq!((again.get("updated"), again.get("unchanged")), (1, 1));
    assert_eq!((found(&sandbox, "98765"), found(&sandbox, "XXXXX")), (0, 1));
    assert_eq!(sandbox.synced(&["--reread"]).get("unchanged"), 2);
}
