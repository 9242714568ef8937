//! One screen that says whether all is well, and `sync` of all jobs and by name.

use serde_json::{Value, json};

use crate::sandbox::{Kept, Sandbox};

fn needs(sandbox: &Sandbox, job: &str) -> Vec<String> {
    let lines = sandbox.run(&["status", "--json"]).json();
    let line = lines.iter().find(|line| line["job"] == job).unwrap();
    assert_eq!(line["well"], json!(line["needs"].as_array().unwrap().is_empty()), "{line}");
    let check = |need: &Value| need["check"].as_str().unwrap().to_owned();
    line["needs"].as_array().unwrap().iter().map(check).collect()
}

#[test]
fn the_status_says_what_somebody_is_needed_for_and_its_exit_code_that_somebody_is() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = Sandbox::new(kept);
        // A monitor that looks at the wrong place is told.
        sandbox.run(&["status"]).refuses(3, &["nothing in", "ingather sync FOLDER"]);
        (0..40).for_each(|n| sandbox.write(&format!("{n}.txt"), "apple"));
        sandbox.synced(&[]);
        let well = sandbox.run(&["status"]).exits(0);
        assert!(well.out.ends_with("all is well\n") && well.out.contains("root"), "{well:?}");
        assert_eq!(needs(&sandbox, "root"), [""; 0]);

        (0..30).for_each(|n| std::fs::remove_file(sandbox.root().join(format!("{n}.txt"))).unwrap());
        sandbox.sync(&[]);
        assert_eq!(needs(&sandbox, "root"), ["held"]);
        let told = sandbox.run(&["status"]).exits(1);
        assert!(told.out.contains("30 removals are held by run 2"), "{told:?}");
        assert!(told.out.contains("`ingather job confirm root --run 2`"), "{told:?}");
        sandbox.run(&["job", "pause", "root"]).exits(0);
        assert_eq!(needs(&sandbox, "root"), ["held", "paused"]);
        sandbox.run(&["job", "resume", "root"]).exits(0);
        sandbox.run(&["job", "confirm", "root", "--run", "2"]).exits(0);
        assert_eq!(needs(&sandbox, "root"), [""; 0]);

        std::fs::rename(sandbox.root(), sandbox.path().join("away")).unwrap();
        sandbox.run(&["job", "start", "root"]).exits(1);
        assert_eq!(needs(&sandbox, "root"), ["blind"]);
        std::fs::rename(sandbox.path().join("away"), sandbox.root()).unwrap();
        sandbox.run(&["job", "define", "root", "--name", "second", "--to", "null"]).exits(0);
        assert_eq!(needs(&sandbox, "second"), ["last_run"], "it never ran");
        sandbox.run(&["sync", "--all"]).exits(0);
        assert_eq!((needs(&sandbox, "root"), needs(&sandbox, "second")), (vec![], vec![]));
        sandbox
            .run(&[
                "job",
                "define",
                "root",
                "--name",
                "second",
                "--to",
                "null",
                "--schedule",
                "@daily",
                "--update",
            ])
            .exits(0);
        assert_eq!(needs(&sandbox, "second"), ["unattended"], "no service heeds it");
    }
}

#[test]
fn a_run_that_could_not_begin_for_its_output_is_told_until_one_begins() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = Sandbox::new(kept);
        sandbox.write("a.txt", "apple");
        let (folder, away) = (sandbox.path().join("out"), sandbox.path().join("out-away"));
        std::fs::create_dir(&folder).unwrap();
        let output = format!("journal:{}/journal.jsonl", folder.display());
        sandbox.synced(&["--to", &output]);
        assert_eq!(needs(&sandbox, "root"), [""; 0]);

        std::fs::rename(&folder, &away).unwrap();
        assert_eq!(sandbox.run(&["sync", "root", "--to", &output]).code, 3);
        assert_eq!(needs(&sandbox, "root"), ["refused", "output"]);
        let told = sandbox.run(&["status"]).exits(1);
        let said = format!("job root: its last run could not begin: output {output}: ");
        let since = format!("output {output} is unavailable since ");
        assert!(told.out.contains(&since), "{told:?}");
        let advice = ["`ingather doctor`", "`ingather sync` of "];
        assert!(told.out.contains(&said) && !told.out.contains("all is well"), "{told:?}");
        assert!(advice.iter().all(|word| told.out.contains(word)), "{told:?}");
        let shown = sandbox.run(&["job", "show", "root", "--json"]).exits(0).json();
        let hold = shown[0]["hold"].as_str().unwrap();
        assert!(hold.starts_with("its run could not begin: output "), "{hold}");
        assert_eq!(shown[0]["run"]["outcome"], "done", "no run is on record that did not begin");

        // Who only counts begins nothing, and forgets nothing.
        sandbox.run(&["sync", "root", "--to", &output, "--dry-run"]);
        assert_eq!(needs(&sandbox, "root"), ["refused", "output"]);
        std::fs::rename(&away, &folder).unwrap();
        sandbox.synced(&["--to", &output]);
        assert_eq!(needs(&sandbox, "root"), [""; 0]);
    }
}

#[test]
fn all_jobs_run_one_after_the_other_and_the_exit_code_is_that_of_the_worst() {
    let sandbox = Sandbox::sqlite();
    (0..30).for_each(|n| sandbox.write(&format!("{n}.txt"), "apple"));
    sandbox.run(&["sync", "--all"]).refuses(3, &["ingather sync FOLDER"]);
    for (name, to) in [("a", "index"), ("b", "null"), ("c", "null")] {
        sandbox.run(&["job", "define", "root", "--name", name, "--to", to]).exits(0);
    }
    let jobs = |answer: &crate::sandbox::Answer| -> Vec<Value> {
        answer.json().iter().map(|line| line["job"].clone()).collect()
    };
    let ran = sandbox.run(&["sync", "--all", "--json"]).exits(0);
    assert_eq!(jobs(&ran), ["a", "b", "c"]);
    sandbox.run(&["job", "pause", "b"]).exits(0);
    let ran = sandbox.run(&["sync", "--all", "--json"]).exits(0);
    assert_eq!(jobs(&ran), ["a", "c"], "one that a person has paused is left out");
    assert!(ran.err.contains("job b is paused"), "{ran:?}");
    (0..25).for_each(|n| std::fs::remove_file(sandbox.root().join(format!("{n}.txt"))).unwrap());
    let ran = sandbox.run(&["sync", "--all", "--json"]).exits(1);
    assert_eq!(ran.json().iter().map(|line| line["held"].as_i64().unwrap()).collect::<Vec<_>>(), [25, 25]);
    // A name where there is no such file, and a folder of that name before it.
    let by_name = sandbox.run(&["sync", "c", "--delete-guard", "off", "--json"]).exits(0);
    assert_eq!((&by_name.json()[0]["job"], &by_name.json()[0]["deleted"]), (&json!("c"), &json!(25)));
    sandbox.run(&["sync", "nothing"]).refuses(2, &["nothing"]);
    sandbox.run(&["sync", "c", "--keep", "extracted", "--update"]).exits(0);
    assert_eq!(sandbox.run(&["job", "show", "c", "--json"]).exits(0).json()[0]["keep"], "extracted");
    for flags in [&["--name", "x"][..], &["--keep", "extracted"], &["--schedule", "none"], &["root"]] {
        sandbox.run(&[&["sync", "--all"], flags].concat()).refuses(2, &["--all"]);
    }
}
