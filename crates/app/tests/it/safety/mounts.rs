//! Another file system below the root, in a mount table of the test's own.

use std::process::Command;

use serde_json::json;

use crate::files;
use crate::people::must;
use crate::sandbox::Sandbox;

/// Tells a test that it runs in a mount table of the machine's own root.
const INSIDE: &str = "INGATHER_TEST_ROOT_MOUNTS";

/// Runs the test of this name once more in a mount table of its own, with the rights of the machine's own root, who may mount
/// what the kernel makes up; whether that is here. The table ends with the process.
pub(crate) fn root_mounts(name: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private"]).arg(std::env::current_exe().unwrap());
    let told = must(command.args(["--exact", name, "--nocapture"]).env(INSIDE, "1"));
    assert!(told.contains("1 passed"), "{told}");
    false
}

#[test]
fn a_mounted_file_system_is_listed_and_kept_when_it_is_gone() {
    ingather_testkit::needs!(Mounts);
    let sandbox = Sandbox::sqlite();
    let point = sandbox.root().join("mount");
    let mount = || files::tool("mount", &["-t", "tmpfs", "none"], &point);
    sandbox.write("a.txt", "apple");
    std::fs::create_dir(&point).unwrap();
    mount();
    sandbox.write("mount/b.txt", "banana");
    sandbox.write("mount/deep/c.txt", "cherry");
    files::settle(&sandbox.root());
    assert_eq!(sandbox.synced(&[]).get("added"), 3);
    assert_eq!(sandbox.synced(&[]).get("unchanged"), 3);

    files::tool("umount", &[], &point);
    for _ in 0..2 {
        let answer = sandbox.run(&["sync", "root", "--json", "--delete-guard", "off"]).exits(1);
        let line = &answer.json()[0];
        assert_eq!((&line["kept"], &line["deleted"]), (&json!(2), &json!(0)), "{answer:?}");
        assert_eq!(line["blind"], json!([{"scope": "mount/", "cause": "other_device"}]));
    }
    assert_eq!(sandbox.find("cherry"), ["mount/deep/c.txt"]);

    // Another file system at the same place, without one of the files; a third one has the first one's number now.
    let elsewhere = sandbox.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    files::tool("mount", &["-t", "tmpfs", "none"], &elsewhere);
    mount();
    sandbox.write("mount/b.txt", "blueberry");
    files::settle(&sandbox.root());
    let (counts, code) = sandbox.sync(&[]);
    assert_eq!((code, counts.get("updated"), counts.get("kept")), (1, 1, 1), "{counts:?}");
    assert_eq!(sandbox.find("blueberry"), ["mount/b.txt"]);
    assert_eq!(sandbox.synced(&["--accept-devices"]).get("deleted"), 1);
    assert_eq!(sandbox.everything(), ["a.txt", "mount/b.txt"]);
    assert_eq!(sandbox.synced(&[]).get("unchanged"), 2);
}
