//! Removals are guarded on every way: by a listing, by changed flags, by an output that is taken out, by a deleted job.

use crate::files;
use crate::sandbox::{Sandbox, finish};

fn synced(count: usize) -> Sandbox {
    let sandbox = Sandbox::sqlite();
    (0..count).for_each(|n| sandbox.write(&format!("f{n:03}.txt"), &format!("word{n}")));
    files::settle(&sandbox.root());
    sandbox.synced(&[]);
    sandbox
}

#[test]
fn a_mistyped_pattern_removes_nothing_before_it_is_confirmed() {
    let sandbox = synced(60);
    let typo = sandbox.run(&["sync", "root", "--include", "*.TXT", "--update"]).exits(1);
    assert!(
        typo.err.contains("60 removals are held") && typo.err.contains("job confirm root --run 2"),
        "{typo:?}"
    );
    assert_eq!(sandbox.everything().len(), 60);
    assert_eq!(sandbox.run(&["job", "held", "root", "--json"]).exits(0).documents().len(), 60);
    let named = sandbox.run(&["doctor"]).exits(1);
    assert!(
        named.out.contains("60 removals are held by run 2") && named.out.contains("job confirm root"),
        "{named:?}"
    );
    // Taken back in time, nothing is lost.
    assert_eq!(sandbox.synced(&["--no-include", "--update"]).get("unchanged"), 60);
    sandbox.run(&["job", "confirm", "root", "--run", "2"]).refuses(2, &["run 2 of root is not its last one"]);
    // Meant, they go; the history says so.
    sandbox.run(&["sync", "root", "--exclude", "f0*", "--update"]).exits(1);
    let runs = sandbox.run(&["job", "runs", "root"]).exits(0);
    assert!(runs.out.contains("HELD") && runs.out.contains("done, removals held"), "{runs:?}");
    let gone = sandbox.run(&["job", "confirm", "root", "--run", "4"]).exits(0);
    assert!(gone.out.contains("60 removed"), "{gone:?}");
    assert_eq!(sandbox.everything().len(), 0);
    let run = &sandbox.run(&["job", "runs", "root", "--json"]).exits(0).json()[0];
    assert_eq!(
        (&run["counts"]["deleted"], &run["counts"]["held"], &run["guard"]),
        (&60.into(), &60.into(), &"confirmed".into())
    );
    assert!(sandbox.run(&["job", "runs", "root"]).exits(0).out.contains("done, removals confirmed"));
    // Nothing of it is held any more.
    let waited = sandbox.run(&["job", "wait", "root"]).exits(0).out;
    assert!(waited.contains("removals confirmed: ") && !waited.contains(" held"), "{waited}");
    assert!(sandbox.run(&["doctor"]).exits(0).err.contains("no problems found"));
}

#[test]
fn few_removals_by_a_flag_go_at_once_and_many_when_the_guard_is_off() {
    let sandbox = synced(60);
    assert_eq!(sandbox.synced(&["--exclude", "f00*", "--update"]).get("deleted"), 10);
    assert_eq!(sandbox.synced(&["--exclude", "*", "--update", "--delete-guard", "off"]).get("deleted"), 50);
}

#[test]
fn a_held_removal_that_the_rules_take_again_is_kept_by_its_confirmation() {
    let sandbox = synced(60);
    std::fs::create_dir(sandbox.path().join("away")).unwrap();
    for n in 0..30 {
        let name = format!("f{n:03}.txt");
        std::fs::rename(sandbox.root().join(&name), sandbox.path().join("away").join(&name)).unwrap();
    }
    sandbox.run(&["sync", "root"]).exits(1);
    std::fs::rename(sandbox.path().join("away/f003.txt"), sandbox.root().join("f003.txt")).unwrap();
    let confirmed = sandbox.run(&["job", "confirm", "root", "--run", "2"]).exits(1);
    assert!(confirmed.out.contains("29 removed, 1 kept"), "{confirmed:?}");
    assert_eq!(sandbox.everything().len(), 31);
}

#[test]
fn an_output_that_holds_much_is_not_left_without_a_word() {
    let sandbox = synced(60);
    for dry in [&["--dry-run"][..], &[]] {
        let flags = [&["sync", "root", "--to", "null", "--update"], dry].concat();
        sandbox.run(&flags).refuses(2, &["would leave output index", "60", "--delete-guard off"]);
    }
    assert_eq!(sandbox.everything().len(), 60);
    sandbox.synced(&["--to", "null", "--update", "--delete-guard", "off"]);
    assert_eq!(sandbox.everything().len(), 0);
}

#[test]
fn the_deletion_of_a_job_can_be_counted_first() {
    let sandbox = synced(60);
    let counted = sandbox.run(&["job", "delete", "root", "--dry-run"]).exits(0);
    assert!(counted.out.contains("60 documents would be removed from index"), "{counted:?}");
    assert_eq!(sandbox.everything().len(), 60);
    sandbox.run(&["job", "delete", "root"]).exits(0);
    assert_eq!(sandbox.everything().len(), 0);
}

#[test]
fn what_other_jobs_have_sent_too_is_not_said_to_be_removed() {
    let sandbox = synced(5);
    sandbox.run(&["sync", "root", "--name", "other", "--exclude", "f000*"]).exits(0);
    let counted = sandbox.run(&["job", "delete", "root", "--dry-run"]).exits(0);
    let words = "5 documents would be removed from index, but for 4 that other jobs have sent, too";
    assert!(counted.out.contains(words), "{counted:?}");
    let line = sandbox.run(&["job", "delete", "root", "--dry-run", "--json"]).exits(0).json().remove(0);
    assert_eq!(line["shared"], 4, "{line}");
    let gone = sandbox.run(&["job", "delete", "root"]).exits(0);
    assert!(gone.err.contains("4 of them stay in index, for other jobs have sent them, too"), "{gone:?}");
    assert_eq!(sandbox.everything().len(), 4);
    let alone = sandbox.run(&["job", "delete", "other"]).exits(0);
    assert!(!alone.err.contains("stay"), "{alone:?}");
}

#[test]
fn held_removals_are_listed_with_their_causes() {
    let sandbox = synced(60);
    files::remove(&sandbox.root().join("f000.txt"));
    sandbox.run(&["sync", "root", "--exclude", "f*", "--update"]).exits(1);
    let listed = sandbox.run(&["job", "held", "root"]).exits(0);
    let lines: Vec<&str> = listed.out.lines().collect();
    assert_eq!((lines[0], lines[1]), ("gone         f000.txt", "left out     f001.txt"), "{listed:?}");
    assert_eq!(lines.len(), 60);
    let first = sandbox.run(&["job", "held", "root", "--json", "--limit", "1"]).exits(0).json().remove(0);
    assert!(first["cause"].is_string(), "{first}");
    let told = sandbox.run(&["document", "explain", "root", "f001.txt"]).exits(0);
    let cause = told.out.lines().next().unwrap();
    assert!(cause.contains("exclude pattern `f*`") && cause.contains("its removal is held"), "{told:?}");
    assert!(!cause.contains("gone from the source"), "it is there: {told:?}");
}

#[test]
fn on_a_terminal_a_person_is_asked_before_a_job_is_deleted_or_the_machine_is_indexed() {
    let sandbox = synced(3);
    let typed = |command: &str, answer: &str| {
        let program = env!("CARGO_BIN_EXE_ingather");
        let mut terminal = std::process::Command::new("script");
        terminal.args(["-qec", &format!("'{program}' --data data {command}"), "/dev/null"]);
        terminal.current_dir(sandbox.path());
        finish(terminal, Some(answer))
    };
    let asked = typed("job delete root", "n\n").exits(2);
    assert!(
        asked.out.contains("remove its 3 documents from index?") && asked.out.contains("nothing was deleted"),
        "{asked:?}"
    );
    assert_eq!(sandbox.everything().len(), 3);
    let machine = typed("sync / --dry-run", "n\n").exits(2);
    assert!(machine.out.contains("everything on this machine; index all of it?"), "{machine:?}");
    typed("job delete root", "y\n").exits(0);
    assert_eq!(sandbox.run(&["job", "list", "--json"]).exits(0).out, "");
}

#[test]
fn a_dry_run_is_refused_what_the_run_is_refused() {
    let sandbox = synced(3);
    let nowhere = format!("journal:{}/nowhere/x.jsonl", sandbox.path().display());
    let cases: [(&str, i32, &str); 5] = [
        ("journal:", 2, "journal:FILE"),
        ("journal", 2, "journal:FILE"),
        ("index:", 2, "`index`"),
        ("index:foo", 2, "`index`"),
        (&nowhere, 3, "nowhere"),
    ];
    for (output, code, words) in cases {
        for dry in [&["--dry-run"][..], &[]] {
            for name in ["root", "new"] {
                let update = if name == "root" { &["--update"][..] } else { &[] };
                let flags = [&["sync", "root", "--name", name, "--to", output], update, dry].concat();
                let answer = sandbox.run(&flags).exits(code);
                assert!(
                    answer.err.contains(words) && answer.err.lines().count() == 1,
                    "{flags:?}: {answer:?}"
                );
            }
        }
    }
    assert_eq!(sandbox.run(&["job", "list", "--json"]).exits(0).json().len(), 1, "no job was made");
}

#[test]
fn what_is_held_is_no_second_problem_where_an_output_has_lost_it() {
    let sandbox = synced(60);
    std::fs::create_dir(sandbox.path().join("away")).unwrap();
    for n in 0..30 {
        let name = format!("f{n:03}.txt");
        std::fs::rename(sandbox.root().join(&name), sandbox.path().join("away").join(&name)).unwrap();
    }
    sandbox.run(&["sync", "root"]).exits(1);
    std::fs::remove_dir_all(sandbox.data().join("index")).unwrap();
    sandbox.run(&["sync", "root"]).exits(1);
    // No run sends what is not there any more.
    let told = sandbox.run(&["doctor"]).exits(1);
    assert!(told.out.contains("30 removals are held") && told.err.contains("1 problem found"), "{told:?}");
    assert!(!told.out.contains("sent again"), "{told:?}");
    let found = sandbox.run(&["search", "*", "--limit", "100"]).exits(0);
    assert!(!found.err.contains("sent again"), "{found:?}");
}
