//! Pipelines as people name, try and change them, what is in documents, and what of it is found.

mod finding;
pub(crate) mod inside;
mod parts;
mod passages;
mod pictures;
mod routes;

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::files;
use crate::people::ordinary;
use crate::sandbox::Sandbox;

/// Writes a pipeline beside the source; its name.
fn pipeline(sandbox: &Sandbox, name: &str, stages: &Value) -> String {
    std::fs::write(sandbox.path().join(name), stages.to_string()).unwrap();
    name.to_owned()
}

/// `text`, and a field with that value.
fn with_field(value: &str) -> Value {
    json!([{"transform": "text"},
        {"transform": "fields", "settings": {"set": [{"field": "department", "values": [value]}]}}])
}

/// What the journal has been told since it was last asked.
struct Told(usize);

impl Told {
    fn since(&mut self, sandbox: &Sandbox) -> Vec<Value> {
        let text = std::fs::read_to_string(sandbox.path().join("changes.jsonl")).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let lines: Vec<Value> = lines.filter(|line| !line["uri"].is_null()).collect();
        let new = lines[self.0..].to_vec();
        self.0 = lines.len();
        new
    }
}

#[test]
fn a_changed_stage_sends_every_document_once_more_and_an_unchanged_one_nothing() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    sandbox.write("b.txt", "banana");
    files::settle(&sandbox.root());
    let mut told = Told(0);
    let sales = pipeline(&sandbox, "sales.json", &with_field("sales"));
    let journal = "journal:changes.jsonl";
    assert_eq!(sandbox.synced(&["--to", journal, "--to", "index", "--pipeline", &sales]).get("added"), 2);
    assert_eq!(told.since(&sandbox).len(), 2);
    for flags in [&[][..], &["--pipeline", &sales]] {
        assert_eq!(sandbox.synced(flags).get("unchanged"), 2);
        assert_eq!(told.since(&sandbox).len(), 0);
    }
    let other = pipeline(&sandbox, "other.json", &with_field("research"));
    let words = [
        "other settings: pipeline: stage 2 `fields`: set[].values[] is \"sales\", given \"research\"; add --update",
    ];
    sandbox.run(&["sync", "root", "--pipeline", &other]).refuses(2, &words);
    assert_eq!(sandbox.synced(&["--pipeline", &other, "--update"]).get("updated"), 2);
    let lines = told.since(&sandbox);
    assert_eq!(lines.len(), 2, "{lines:?}");
    for line in &lines {
        assert_eq!(
            (&line["op"], &line["fields"]["department"]),
            (&json!("put"), &json!(["research"])),
            "{line}"
        );
    }
    assert_eq!(sandbox.synced(&[]).get("unchanged"), 2);
    assert_eq!(told.since(&sandbox).len(), 0);
    for command in [&["export"][..], &["job", "show", "root"]] {
        let shown = sandbox.run(command).exits(0).out;
        assert!(shown.contains("research"), "{shown}");
    }
}

#[test]
fn passages_that_did_not_change_are_not_sent_again() {
    let sandbox = Sandbox::sqlite();
    let paragraph = |n: u32| (0..30).map(|m| format!("word{}", n * 37 + m * m)).collect::<Vec<_>>().join(" ");
    let text = (0..80).map(paragraph).collect::<Vec<_>>().join(".\n\n");
    sandbox.write("book.txt", &text);
    files::settle(&sandbox.root());
    let stages = json!([{"transform": "text"},
        {"transform": "passages", "settings": {"size": 100, "overlap": 10, "document": "drop"}}]);
    let stages = pipeline(&sandbox, "passages.json", &stages);
    let mut told = Told(0);
    sandbox.synced(&["--to", "journal:changes.jsonl", "--pipeline", &stages]);
    let first = told.since(&sandbox).len();
    assert!(first > 25, "{first}");
    sandbox.write("book.txt", &format!("A new beginning.\n\n{text}"));
    files::settle(&sandbox.root());
    sandbox.synced(&[]);
    let again = told.since(&sandbox);
    assert!(!again.is_empty() && again.len() <= 12, "{} of {first}", again.len());
    assert!(again.iter().any(|line| line["op"] == "put"), "{again:?}");
}

#[test]
fn what_a_stage_declines_is_explained() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    sandbox.write("b.md", "banana");
    std::fs::write(
        sandbox.path().join("allow.toml"),
        "[[stages]]\ntransform = \"allow\"\n\n[stages.settings]\nextensions = [\"md\"]\nmodified_from = 2020-01-31\n\n\
         [[stages]]\ntransform = \"text\"\n",
    )
    .unwrap();
    let counts = sandbox.synced(&["--pipeline", "allow.toml"]);
    assert_eq!((counts.get("added"), counts.get("skipped")), (1, 1), "{counts:?}");
    assert_eq!(sandbox.everything(), ["b.md"]);
    let told = sandbox.run(&["document", "explain", "root", "a.txt", "--json"]).exits(0).json();
    assert_eq!(told[0]["code"], "extension");
    assert!(
        told[0]["cause"].as_str().unwrap().contains("its extension \"txt\" is none of those to take"),
        "{told:?}"
    );
}

#[test]
fn forced_tokens_decide_who_finds_a_document() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    let closed = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(sandbox.root().join("a.txt"), closed).unwrap();
    let finds = |sandbox: &Sandbox| {
        let answer = sandbox.run(&["search", "apple", "--as", ordinary(), "--json"]).exits(0);
        answer.documents()
    };
    sandbox.synced(&[]);
    assert_eq!(finds(&sandbox), Vec::<String>::new());
    let stages =
        |settings: Value| json!([{"transform": "text"}, {"transform": "access", "settings": settings}]);
    let open = pipeline(&sandbox, "open.json", &stages(json!({"allow": ["unix:everyone"]})));
    sandbox.synced(&["--pipeline", &open, "--update"]);
    assert_eq!(finds(&sandbox), ["a.txt"]);
    let why = |who: &str, may_see: bool, word: &str| {
        let line = sandbox.run(&["why", who, "a.txt", "--json"]).exits(0).json().remove(0);
        assert_eq!(
            (&line["may_see"], line["layers"][0]["by"].as_str()),
            (&json!(may_see), Some(word)),
            "{line}"
        );
        assert!(line["cause"].as_str().unwrap().ends_with(word), "{line}");
    };
    let stage = "stage 2 of the pipeline, `access`";
    why(
        ordinary(),
        true,
        &format!("{stage}, decides in the place of the file's own access: it allows `unix:everyone`"),
    );
    let file = |settings: Value| {
        let file = pipeline(&sandbox, "access.json", &stages(settings));
        sandbox.synced(&["--pipeline", &file, "--update"]);
    };
    file(json!({"allow": ["unix:u:0"], "deny": ["unix:g:4294967294"]}));
    let words = "decides in the place of the file's own access: it allows only `unix:u:0`, and the user holds none of them";
    why(ordinary(), false, &format!("{stage}, {words}"));
    file(json!({"everybody": true}));
    why(
        ordinary(),
        true,
        &format!("{stage}, decides in the place of the file's own access: it allows everybody"),
    );
    file(json!({"mode": "add", "deny": ["unix:everyone"]}));
    assert_eq!(finds(&sandbox), Vec::<String>::new());
    why(ordinary(), false, &format!("{stage}, denies `unix:everyone` before the file's own access is asked"));
    // Two stages, the last of them first.
    let mut both = stages(json!({"allow": ["unix:u:0"]}));
    let add = json!({"mode": "add", "allow": ["unix:everyone"]});
    both.as_array_mut().unwrap().push(json!({"transform": "access", "settings": add}));
    sandbox.synced(&["--pipeline", &pipeline(&sandbox, "both.json", &both), "--update"]);
    let words = "decides in the place of the file's own access: it allows `unix:everyone`";
    why(ordinary(), true, &format!("stage 3 of the pipeline, `access`, after {stage}, {words}"));
    // Where the stage says nothing of a user, the file's own mode decides, and is named as such.
    file(json!({"mode": "add", "deny": ["unix:u:4294967294"]}));
    why(ordinary(), false, "the file's mode does not give others the right to read");
    let open = std::fs::Permissions::from_mode(0o604);
    std::fs::set_permissions(sandbox.root().join("a.txt"), open).unwrap();
    let told = sandbox.run(&["document", "explain", "root", "a.txt"]).exits(0).out;
    assert!(told.starts_with("the mode of `a.txt` was changed since it was last read"), "{told}");
}

#[test]
fn files_that_cannot_be_used_are_refused_with_what_to_do() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    sandbox.synced(&[]);
    for (name, text, words) in [
        ("a.json", r#"[{"transform": "txt"}]"#, &["stage 1", "`txt`", "passages, text"][..]),
        (
            "b.json",
            r#"[{"transform": "text"}, {"transform": "limit"}]"#,
            &["stage 2: limit", "`bytes`", "pipeline stages limit"],
        ),
        ("c.json", r#"[{"transform": "text", "setting": {}}]"#, &["setting", "`settings`"]),
        ("d.json", r#"[{"transform": "text""#, &["d.json", "line 1"]),
        ("e.toml", "[[stages]]\ntransform = \"text\"\nsize = [\n", &["e.toml", "line"]),
        (
            "h.json",
            r#"[{"transform": "text"}, {"transform": "tika"}]"#,
            &["only one stage can read", "leave one"],
        ),
        (
            "i.json",
            r#"[{"transform": "text"}, {"transform": "access", "settings": {"mode": "add", "deny": ["unix:u:eve"]}}]"#,
            &["stage 2: access", "nobody can hold the token at ", "`unix:u:NUMBER`", "ingather tokens"],
        ),
        ("f.yaml", "stages:", &[".json or .toml"]),
        ("g.toml", "[[stages]]\ntransform = \"allow\"\nsettings = { size = 3 }", &["stage 1: allow", "size"]),
    ] {
        std::fs::write(sandbox.path().join(name), text).unwrap();
        let before = sandbox.snapshot();
        sandbox.run(&["sync", "root", "--pipeline", name, "--update"]).refuses(2, words);
        sandbox.run(&["pipeline", "try", "root", "a.txt", "--pipeline", name]).refuses(2, words);
        assert!(before == sandbox.snapshot(), "{name}");
    }
    sandbox.run(&["sync", "root", "--pipeline", "missing.json"]).refuses(2, &["missing.json"]);
    sandbox
        .run(&["pipeline", "try", "root", "nowhere.txt"])
        .refuses(2, &["`nowhere.txt` is not there", "document list"]);
    sandbox.run(&["pipeline", "try", "nix", "a.txt"]).refuses(2, &["there is no job `nix`"]);
    sandbox.run(&["pipeline", "stages", "nix"]).refuses(2, &["`nix`", "fields"]);
}

#[test]
fn a_trial_shows_what_each_stage_changes_and_writes_nothing() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("notes/a.md", "# Plans\n\nSome words of text.");
    sandbox.synced(&[]);
    let stages = json!([
        {"transform": "text"},
        {"transform": "fields", "settings": {"set": [
            {"field": "title", "values": ["${title|.*|0u}"]}, {"field": "folder", "values": ["${path|([^/]*)/[^/]*$|1}"]}]}},
        {"transform": "passages", "settings": {"names": "position"}},
        {"transform": "access", "settings": {"allow": ["unix:g:100"]}},
    ]);
    let file = pipeline(&sandbox, "new.json", &stages);
    let before = sandbox.snapshot();
    let command = ["pipeline", "try", "root", "notes/a.md", "--pipeline", &file];
    let answer = sandbox.run(&[&command[..], &["--json"]].concat()).exits(0).json().remove(0);
    let steps = answer["stages"].as_array().unwrap();
    let kinds: Vec<&str> = steps.iter().map(|step| step["transform"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["text", "fields", "passages", "access"]);
    assert_eq!(
        (&steps[0]["before"]["title"], &steps[0]["before"]["characters"]),
        (&json!("a.md"), &Value::Null)
    );
    assert_eq!(
        (&steps[0]["after"]["title"], &steps[0]["after"]["media_type"]),
        (&json!("Plans"), &json!("text/markdown"))
    );
    assert_eq!(steps[1]["before"], steps[0]["after"]);
    assert_eq!(
        (&steps[1]["after"]["title"], &steps[1]["after"]["fields"]["folder"]),
        (&json!("PLANS"), &json!(["notes"]))
    );
    assert_eq!((&steps[2]["verdict"], &steps[2]["after"]["parts"][0]["name"]), (&json!("pass"), &json!("1")));
    assert_eq!(steps[2]["after"]["parts"][0]["beginning"], "# Plans Some words of text.");
    assert_eq!(answer["access"]["given"], json!({"flat": {"allow": ["unix:g:100"], "deny": []}}));
    assert_eq!((&answer["document"], &answer["failed"]), (&json!("notes/a.md"), &Value::Null));
    let told = sandbox.run(&command).exits(0).out;
    for line in [
        "1 text: passes it on",
        "  - title: Plans",
        "  + title: PLANS",
        "  + field folder: notes",
        "  + part 1: text/markdown",
    ] {
        assert!(told.lines().any(|told| told.starts_with(line)), "`{line}` is not in {told}");
    }
    assert!(before == sandbox.snapshot(), "a trial wrote something");
}

#[test]
fn a_trial_tells_where_a_document_is_declined_and_where_a_stage_fails() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("page.html", "<title>T</title><p>page words");
    sandbox.synced(&[]);
    // The stages of the job itself; files are read by confined readers as in a run.
    let answer = sandbox.run(&["pipeline", "try", "root", "page.html", "--json"]).exits(0).json().remove(0);
    assert_eq!(answer["stages"][0]["after"]["beginning"], "page words");
    let decline = json!([{"transform": "allow", "settings": {"extensions": ["md"]}}, {"transform": "text"}]);
    let file = pipeline(&sandbox, "allow.json", &decline);
    let told = sandbox.run(&["pipeline", "try", "root", "page.html", "--pipeline", &file]).exits(0).out;
    assert!(
        told.contains("1 allow: filters it out: its extension") && told.contains("2 text: does not get it"),
        "{told}"
    );
    let grow = json!([{"transform": "fields", "settings": {"set": [
        {"field": "x", "values": (0..600).map(|n| n.to_string()).collect::<Vec<_>>()}]}},
        {"transform": "fields", "settings": {"set": [{"field": "y", "values": ["${x}${x}"]}]}}]);
    let file = pipeline(&sandbox, "grow.json", &grow);
    let answer = sandbox
        .run(&["pipeline", "try", "root", "page.html", "--pipeline", &file, "--json"])
        .exits(1)
        .json()
        .remove(0);
    assert_eq!(
        (answer["stages"].as_array().unwrap().len(), &answer["failed"]["transform"]),
        (1, &json!("fields"))
    );
}

#[test]
fn every_stage_tells_its_settings() {
    let sandbox = Sandbox::sqlite();
    let all = sandbox.run(&["pipeline", "stages", "--json"]).exits(0).json();
    for name in ["access", "allow", "fields", "language", "limit", "null", "ocr", "passages", "text", "tika"]
    {
        assert!(all.iter().any(|stage| stage["name"] == name), "{name}");
    }
    let told = |stage: &str| sandbox.run(&["pipeline", "stages", stage]).exits(0).out;
    let has = |stage: &str, lines: &[&str]| {
        let told = told(stage);
        let mut left = told.lines();
        for line in lines {
            assert!(left.any(|told| told.starts_with(line)), "`{line}` is not in its place in:\n{told}");
        }
    };
    has("limit", &["  characters: integer, none", "      Most characters of text."]);
    has(
        "access",
        &[
            "  mode: `\"replace\"` or `\"add\"`, default `\"replace\"`",
            "      What becomes of the access",
            "      add: It stays",
            "  allow: list of string, default `[]`, up to 1024 values",
        ],
    );
    // What lies in a setting stands below it, with its own type and meaning.
    has(
        "fields",
        &[
            "  set: list of object, default `[]`, up to 1024 values",
            "      Fields to write,",
            "      field: string, required, not empty, up to 1024 characters",
            "          Name of the field.",
            "      values: list of string, required",
            "  rename: list of object",
            "      from: string, required",
        ],
    );
    assert!(told("null").lines().count() == 1);
}

#[test]
fn the_example_of_the_manual_works() {
    let sandbox = Sandbox::sqlite();
    sandbox.write(
        "share/Sales/offer.txt",
        "The offer that was made to all of them is on the table, and they will answer.",
    );
    sandbox.synced(&[]);
    let manual =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/manual/pipeline.md"))
            .unwrap();
    let example = manual.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    std::fs::write(sandbox.path().join("stages.toml"), example).unwrap();
    let command = ["pipeline", "try", "root", "share/Sales/offer.txt", "--pipeline", "stages.toml", "--json"];
    let steps = sandbox.run(&command).exits(0).json().remove(0)["stages"].take();
    assert_eq!(steps[2]["after"]["fields"]["department"], json!(["sales"]));
    assert_eq!((&steps[3]["after"]["language"], &steps[4]["verdict"]), (&json!("en"), &json!("parts_only")));
    assert_eq!(steps[4]["after"]["parts"][0]["fields"]["department"], json!(["sales"]));
}
