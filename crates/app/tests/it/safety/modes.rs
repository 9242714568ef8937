//! File systems whose modes the kernel of this machine does not go by: what lies there is root's alone until a person says else.

use crate::people::ordinary;
use crate::sandbox::Sandbox;

/// Files that the kernel makes up on a file system with rules of its own.
const MADE_UP: &str = "/proc/sys/kernel/random";

#[test]
fn modes_that_others_made_up_show_nothing_until_a_person_says_so() {
    let sandbox = Sandbox::sqlite();
    let names = |user: &str| {
        let found = sandbox.run(&["search", "name:poolsize", "--as", user, "--json"]).exits(0);
        found.documents()
    };
    let first = sandbox.run(&["sync", MADE_UP, "--name", "made-up"]).exits(0);
    for word in ["documents on `/proc` (proc) are shown to root alone", "--trust-modes on"] {
        assert!(first.err.contains(word), "`{word}`: {first:#?}");
    }
    assert_eq!(names(ordinary()), [""; 0]);
    assert_eq!(names("root"), ["poolsize"]);
    let told = sandbox.run(&["doctor"]).exits(1);
    assert!(told.out.contains("source_access") && told.out.contains("made-up"), "{told:#?}");
    // Said once, either way, it is said no more.
    let open =
        sandbox.run(&["sync", MADE_UP, "--name", "made-up", "--trust-modes", "on", "--update"]).exits(0);
    assert!(!open.err.contains("root alone"), "{open:#?}");
    assert_eq!(names(ordinary()), ["poolsize"]);
    let closed =
        sandbox.run(&["sync", MADE_UP, "--name", "made-up", "--trust-modes", "off", "--update"]).exits(0);
    assert!(!closed.err.contains("root alone"), "{closed:#?}");
    assert_eq!(names(ordinary()), [""; 0]);
    sandbox.run(&["sync", MADE_UP, "--name", "made-up"]).exits(0);
    assert_eq!(names(ordinary()), [""; 0]);
    sandbox.run(&["doctor"]).exits(0);
}
