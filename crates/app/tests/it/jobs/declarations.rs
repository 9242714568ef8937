//! Jobs made and changed as a file says.

use serde_json::{Value, json};

use crate::sandbox::{Kept, Sandbox};

fn apply(sandbox: &Sandbox, text: &str, flags: &[&str]) -> crate::sandbox::Answer {
    std::fs::write(sandbox.path().join("jobs.yaml"), text).unwrap();
    sandbox.run(&[&["apply", "-f", "jobs.yaml"], flags].concat())
}

fn two(sandbox: &Sandbox) -> String {
    let root = sandbox.root().display().to_string();
    format!(
        "version: 1\njobs:\n  - name: texts\n    source:\n      root: {root}\n      include: ['*.txt']\n    schedule: 0 2 * * *\n\
         \x20 - name: all\n    source: {{root: {root}}}\n    outputs: ['null']\n    delete_guard: off\n"
    )
}

#[test]
fn a_declaration_makes_jobs_that_run_as_they_are_declared_and_an_export_of_them_changes_nothing() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = Sandbox::new(kept);
        sandbox.write("a.txt", "apple");
        sandbox.write("b.md", "apple");
        let made = apply(&sandbox, &two(&sandbox), &[]).exits(0);
        assert_eq!(made.out, "job texts: made\njob all: made\n", "{made:?}");
        assert_eq!(sandbox.run(&["job", "start", "texts", "--json"]).exits(0).json()[0]["added"], 1);
        assert_eq!(sandbox.run(&["job", "start", "all", "--json"]).exits(0).json()[0]["added"], 2);
        let shown = sandbox.run(&["job", "show", "texts", "--json"]).exits(0).json();
        assert!(shown[0]["schedule"]["words"].as_str().unwrap().starts_with("daily at 02:00"), "{shown:?}");
        let exported = sandbox.run(&["export"]).exits(0).out;
        for ending in ["json", "yaml"] {
            let file = format!("again.{ending}");
            std::fs::write(sandbox.path().join(&file), &exported).unwrap();
            let again = sandbox.run(&["apply", "-f", &file]).exits(0);
            assert_eq!(again.out, "job all: as it is\njob texts: as it is\n");
            assert_eq!(again.err, "");
        }
        assert_eq!(sandbox.run(&["export"]).exits(0).out, exported);
        let counts = sandbox.run(&["job", "start", "texts", "--json"]).exits(0).json()[0].clone();
        assert_eq!(
            (&counts["unchanged"], &counts["updated"]),
            (&json!(1), &json!(0)),
            "nothing is sent again"
        );
    }
}

#[test]
fn a_plan_says_what_comes_of_it_stores_nothing_and_is_refused_when_it_is_another_one() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    sandbox.write("b.md", "apple");
    apply(&sandbox, &two(&sandbox), &[]).exits(0);
    sandbox.run(&["job", "start", "texts"]).exits(0);
    let wider = two(&sandbox).replace("['*.txt']", "['*.txt', '*.md']");
    let before = sandbox.run(&["export"]).exits(0).out;
    let planned = apply(&sandbox, &wider, &["--dry-run"]).exits(0);
    assert!(planned.out.contains("job texts: would change: include: *.txt → *.txt, *.md\n"), "{planned:?}");
    assert!(planned.out.contains("  its next run: 2 seen: 1 added, 1 unchanged\n"), "{planned:?}");
    assert!(planned.out.contains("job all: as it is\n"), "{planned:?}");
    assert_eq!(sandbox.run(&["export"]).exits(0).out, before, "a plan stores nothing");
    let told = apply(&sandbox, &wider, &["--dry-run", "--json"]).exits(0).json();
    let plan = told[0]["plan"].as_str().unwrap().to_owned();
    assert!(planned.out.contains(&plan), "the same plan has the same name: {planned:?}");
    assert_eq!((&told[0]["applied"], &told[0]["jobs"][0]["leads_to"]["added"]), (&json!(false), &json!(1)));
    // The world moves on.
    sandbox.write("c.md", "apple");
    apply(&sandbox, &wider, &["--plan", &plan]).refuses(2, &["is not what would be done now"]);
    assert_eq!(sandbox.run(&["export"]).exits(0).out, before);
    std::fs::remove_file(sandbox.root().join("c.md")).unwrap();
    apply(&sandbox, &wider, &["--plan", &plan]).exits(0);
    assert_eq!(sandbox.run(&["job", "start", "texts", "--json"]).exits(0).json()[0]["added"], 1);
    // Its jobs are other ones than then, so that the same words are another plan.
    apply(&sandbox, &wider, &["--plan", &plan]).refuses(2, &["is not what would be done now"]);
}

#[test]
fn of_a_declaration_with_one_wrong_job_nothing_is_stored_and_the_sentence_says_where_it_is_wrong() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    sandbox.synced(&["--name", "kept"]);
    let before = sandbox.run(&["export"]).exits(0).out;
    let good = two(&sandbox);
    for (text, words) in [
        (good.replace("delete_guard: off", "delete_gard: off"), &["jobs.yaml", "delete_gard", "line 11"][..]),
        (good.replace("version: 1", "version: [1"), &["jobs.yaml", "line"]),
        (good.replace("version: 1", "version: 7"), &["version 7"]),
        (good.replace("name: all", "name: texts"), &["job texts is declared twice"]),
        (good.replace("['null']", "[nowhere]"), &["job all", "nowhere"]),
        (good.replace("['null']", "[]"), &["job all", "no output"]),
        (good.replace("include:", "inclde:"), &["job texts", "inclde"]),
        (good.replace("0 2 * * *", "0 2 * *"), &["job texts", "cron has five"]),
        (
            good.replace(&format!("{{root: {}}}", sandbox.root().display()), "{root: /none/such}"),
            &["job all", "/none/such"],
        ),
        (format!("{good}outputs:\n  x: {{kind: index}}\n"), &["connection x"]),
        (
            good.replace("    schedule", "    stages: [{transform: none-such}]\n    schedule"),
            &["job texts", "none-such"],
        ),
        ("a: &a [x]\n".repeat(3) + "b: [*a, *a", &["jobs.yaml"]),
        ("\u{7}".to_owned(), &["jobs.yaml"]),
    ] {
        let answer = apply(&sandbox, &text, &[]);
        answer.refuses(2, words);
        assert_eq!(sandbox.run(&["export"]).exits(0).out, before, "{text}");
    }
    std::fs::write(sandbox.path().join("jobs.json"), "{\n\"version\": 1,\n\"job\": []}").unwrap();
    sandbox.run(&["apply", "-f", "jobs.json"]).refuses(2, &["`job`", "line 3 column"]);
    std::fs::write(sandbox.path().join("jobs.toml"), "version = 1\n[[jobs]]\nnme = 1\n").unwrap();
    sandbox.run(&["apply", "-f", "jobs.toml"]).refuses(2, &["nme", "line 3"]);
    sandbox.run(&["apply", "-f", "none.yaml"]).refuses(2, &["none.yaml", "cannot be read"]);
    // A job that is stored for another source is another one.
    let moved = good
        .replace("name: all", "name: kept")
        .replace(&format!("{{root: {}}}", sandbox.root().display()), "{root: /}");
    apply(&sandbox, &moved, &["--whole-machine"]).refuses(2, &["job kept", "take another name"]);
}

#[test]
fn an_output_that_a_declaration_leaves_loses_what_it_holds_and_much_of_it_is_asked_for() {
    let sandbox = Sandbox::sqlite();
    (0..30).for_each(|n| sandbox.write(&format!("{n}.txt"), "apple"));
    sandbox.synced(&[]);
    let exported: Value = serde_json::from_str(&sandbox.run(&["export"]).exits(0).out).unwrap();
    let mut left = exported.clone();
    left["jobs"][0]["outputs"] = json!(["null"]);
    apply(&sandbox, &left.to_string(), &[]).refuses(2, &["would leave output index", "--delete-guard off"]);
    apply(&sandbox, &left.to_string(), &["--delete-guard", "off"]).exits(0);
    sandbox.run(&["job", "start", "root"]).exits(0);
    assert_eq!(sandbox.everything().len(), 0);
    // And back again: the definition remembers nothing of that.
    apply(&sandbox, &exported.to_string(), &["--delete-guard", "off"]).exits(0);
    sandbox.run(&["job", "start", "root"]).exits(0);
    assert_eq!(sandbox.everything().len(), 30);
}

#[test]
fn a_secret_that_an_export_hides_stays_as_it_is_stored_and_is_asked_for_elsewhere() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    let stage = json!({"transform": "text", "settings": {"passwords": ["narwhal"]}});
    let job =
        json!({"name": "root", "source": {"root": sandbox.root().display().to_string()}, "stages": [stage]});
    let text = json!({"version": 1, "jobs": [job]}).to_string();
    apply(&sandbox, &text, &[]).exits(0);
    let exported = sandbox.run(&["export"]).exits(0).out;
    assert!(exported.contains("(hidden)") && !exported.contains("narwhal"), "{exported}");
    let again = apply(&sandbox, &exported, &[]).exits(0);
    assert_eq!(again.out, "job root: as it is\n", "the secret is as it was");
    let renamed = exported.replace("\"root\",\n", "\"other\",\n");
    assert_ne!(renamed, exported);
    apply(&sandbox, &renamed, &[]).refuses(2, &["job other", "stages[0].settings.passwords", "is hidden"]);
}

/// A throttle of the connection is declared, shown and taken back; it limits what is read, and a wrong one stores nothing.
#[test]
fn a_throttle_is_declared_limits_what_is_read_and_is_taken_back() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = Sandbox::new(kept);
        sandbox.write("a.txt", &"apple ".repeat(1_000));
        let with = |settings: &str| {
            format!("{}repositories:\n  files: {{kind: filesystem, settings: {settings}}}\n", two(&sandbox))
        };
        apply(&sandbox, &two(&sandbox), &[]).exits(0);
        let before = sandbox.run(&["export"]).exits(0).out;
        for (wrong, why) in [
            ("{throttle: [{bins: '('}]}", "limits nothing"),
            ("{throttle: [{bins: '(', fetches_at_once: 1}]}", "the pattern `(` of `bins` cannot be read"),
            ("{throttle: [{bytes: 1}]}", "unknown field `bytes`"),
            ("{speed: 1}", "changes the `throttle` and the `group` of a repository alone"),
        ] {
            apply(&sandbox, &with(wrong), &[]).refuses(2, &[why]);
        }
        let slow = "{throttle: [{bins: texts, bytes_per_second: 6000}]}";
        let planned = apply(&sandbox, &with(slow), &["--dry-run"]).exits(0);
        let change = "connection files: would change: throttle: none → [{\"bins\":\"texts\",\"bytes_per_second\":6000}]\n";
        assert!(planned.out.contains(change), "{planned:?}");
        assert_eq!(sandbox.run(&["export"]).exits(0).out, before, "nothing of it is stored");
        apply(&sandbox, &with(slow), &[]).exits(0);
        let exported: Value = serde_json::from_str(&sandbox.run(&["export"]).exits(0).out).unwrap();
        assert_eq!(
            exported["repositories"]["files"]["settings"],
            json!({"throttle": [{"bins": "texts", "bytes_per_second": 6000}]})
        );
        let seconds =
            |job: &str| sandbox.run(&["job", "start", job, "--json"]).exits(0).json()[0]["seconds"].clone();
        assert!(seconds("texts").as_f64().unwrap() >= 0.9, "6,000 bytes at 6,000 a second");
        apply(&sandbox, &with("{}"), &[]).exits(0);
        assert!(!sandbox.run(&["export"]).exits(0).out.contains("throttle"));
    }
}

#[test]
fn a_priority_is_declared_shown_changed_and_taken_back_and_one_out_of_bounds_is_refused() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    let root = sandbox.root().display().to_string();
    let with =
        |more: &str| format!("version: 1\njobs:\n  - name: texts\n    source: {{root: {root}}}\n{more}");
    apply(&sandbox, &with("    priority: 0\n"), &[])
        .refuses(2, &["a priority is a number from 1 (first) to 10; 0 is none"]);
    apply(&sandbox, &with("    priority: 2\n"), &[]).exits(0);
    let shown = || sandbox.run(&["job", "show", "texts"]).exits(0).out;
    assert!(shown().contains("priority   2\n"), "{}", shown());
    let exported: Value = serde_json::from_str(&sandbox.run(&["export"]).exits(0).out).unwrap();
    assert_eq!(exported["jobs"][0]["priority"], 2);
    let changed =
        sandbox.run(&["job", "define", &root, "--name", "texts", "--priority", "7", "--update"]).exits(0);
    assert!(format!("{changed:?}").contains("priority: 2 → 7"), "{changed:?}");
    assert!(shown().contains("priority   7\n"));
    sandbox
        .run(&["job", "define", &root, "--name", "texts", "--priority", "11", "--update"])
        .refuses(2, &["11"]);
    let back = apply(&sandbox, &with(""), &[]).exits(0);
    assert!(back.out.contains("priority: 7 → 5"), "{back:?}");
    assert!(!shown().contains("priority"));
}
