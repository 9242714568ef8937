//! A document may be named as the shell completes it where a person stands; what no job has is said to be there or not, with
//! the job that would have it.

use std::path::Path;

use serde_json::Value;

use crate::files;
use crate::people::ordinary;
use crate::sandbox::{Answer, Sandbox, finish};

fn run(sandbox: &Sandbox, folder: &Path, arguments: &[&str]) -> Answer {
    let mut command = sandbox.command(arguments);
    command.current_dir(folder);
    finish(command, None)
}

fn explained(sandbox: &Sandbox, folder: &Path, job: &str, document: &str) -> Value {
    run(sandbox, folder, &["document", "explain", job, document, "--json"]).exits(0).json().remove(0)
}

/// Two jobs with folders in them, and a folder that no job has.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::sqlite();
    sandbox.write("sub/a.txt", "apple");
    sandbox.write("sub/b \\ ü.txt", "banana");
    sandbox.write("same.txt", "above");
    sandbox.write("sub/same.txt", "below");
    let at = |name: &str| sandbox.path().join(name);
    std::fs::create_dir(at("other")).unwrap();
    std::fs::write(at("other/o.txt"), "orange").unwrap();
    std::fs::create_dir(at("loose")).unwrap();
    std::fs::write(at("loose/l.txt"), "lemon").unwrap();
    std::os::unix::fs::symlink(sandbox.root(), at("way")).unwrap();
    files::settle(sandbox.path());
    sandbox.synced(&[]);
    sandbox.run(&["sync", "other"]).exits(0);
    sandbox
}

#[test]
fn a_path_from_the_current_folder_names_the_document_that_lies_there() {
    let sandbox = sandbox();
    let (root, sub) = (sandbox.root(), sandbox.root().join("sub"));
    let cases: [(&Path, &str, &str); 8] = [
        (sandbox.path(), "root/sub/a.txt", "sub/a.txt"),
        (sandbox.path(), "./root/sub/../sub/a.txt", "sub/a.txt"),
        (sandbox.path(), "way/sub/a.txt", "sub/a.txt"),
        (&sub, "a.txt", "sub/a.txt"),
        (&sub, "b \\ ü.txt", "sub/b \\\\ ü.txt"),
        (&sub, "../same.txt", "same.txt"),
        // A name below the root goes first.
        (&sub, "same.txt", "same.txt"),
        (&root, "sub/a.txt", "sub/a.txt"),
    ];
    for (folder, typed, document) in cases {
        let line = explained(&sandbox, folder, "root", typed);
        assert_eq!(
            (&line["document"], &line["code"]),
            (&document.into(), &"current".into()),
            "{typed}: {line}"
        );
        assert_eq!(line["file"], Value::Null, "{line}");
        let told = run(&sandbox, folder, &["document", "explain", "root", typed]).exits(0);
        let uri = line["uri"].as_str().unwrap();
        assert!(told.out.contains(&format!("  document   {uri}\n")), "{told:#?}");
        let why = run(&sandbox, folder, &["why", ordinary(), typed, "--json"]).exits(0).json().remove(0);
        assert_eq!((&why["document"], &why["code"]), (&document.into(), &"allowed".into()), "{typed}: {why}");
        let tried =
            run(&sandbox, folder, &["pipeline", "try", "root", typed, "--json"]).exits(0).json().remove(0);
        assert_eq!(tried["document"], document, "{typed}");
    }
    // A file that came since is at the source, and not known yet.
    sandbox.write("sub/late.txt", "late");
    let late = explained(&sandbox, &sub, "root", "late.txt");
    assert_eq!((&late["document"], &late["code"]), (&"sub/late.txt".into(), &"not_listed".into()), "{late}");
}

#[test]
fn what_a_job_does_not_have_is_said_to_be_there_or_not_and_who_would_have_it() {
    let sandbox = sandbox();
    let at = |name: &str| sandbox.path().join(name).display().to_string();
    let file = |job: &str, typed: &str| explained(&sandbox, sandbox.path(), job, typed);
    let other = file("root", "other/o.txt");
    assert_eq!(other["code"], "outside", "{other}");
    let words = format!("{} is there, below the source of job other ({})", at("other/o.txt"), at("other"));
    assert_eq!(other["file"], words);
    let told = sandbox.run(&["document", "explain", "root", "other/o.txt"]).exits(0);
    assert!(told.out.contains(&format!("  file       {words}\n")), "{told:#?}");
    let loose = file("root", "loose/l.txt");
    let words = format!(
        "{} is there, and no job covers it; `ingather sync {}` makes one",
        at("loose/l.txt"),
        at("loose")
    );
    assert_eq!((&loose["code"], &loose["file"]), (&"outside".into(), &words.clone().into()), "{loose}");
    let nothing = file("root", "loose/no.txt");
    assert_eq!(nothing["code"], "absent");
    assert_eq!(nothing["file"], format!("there is nothing at {}", at("loose/no.txt")));
    let why = sandbox.run(&["why", ordinary(), "loose/l.txt"]).exits(0);
    assert!(why.out.contains("it does not exist in any job") && why.out.contains(&words), "{why:#?}");
    let why = sandbox.run(&["why", ordinary(), "loose/no.txt"]).exits(0);
    assert!(why.out.contains(&format!("there is nothing at {}", at("loose/no.txt"))), "{why:#?}");
    let found = sandbox.run(&["why", ordinary(), "other/o.txt", "--json"]).exits(0).json().remove(0);
    assert_eq!((&found["job"], &found["document"]), (&"other".into(), &"o.txt".into()), "{found}");
}

#[test]
fn a_document_whose_path_is_longer_than_a_system_call_takes_is_found_explained_and_removed() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    files::settle(&sandbox.root());
    files::tunnel(&sandbox.root(), 30, 200);
    assert_eq!(sandbox.synced(&[]).get("added"), 2);
    let folder = "d".repeat(200);
    let name = format!("{}end.txt", format!("{folder}/").repeat(30));
    assert_eq!(sandbox.find("tunnel"), [name.as_str()]);
    let told = sandbox.run(&["document", "explain", "root", &name, "--json"]).exits(0).json();
    assert_eq!(told[0]["code"], "current", "{told:?}");
    files::remove(&sandbox.root().join(folder));
    assert_eq!(sandbox.synced(&[]).get("deleted"), 1);
    assert_eq!(sandbox.everything(), ["a.txt"]);
}
