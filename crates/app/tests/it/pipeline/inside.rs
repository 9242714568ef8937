//! Questions about what is in a document: why it is no entry, what each stage makes of it, and what has the same name.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use super::parts::archive;
use super::pipeline;
use crate::files;
use crate::sandbox::{Sandbox, finish};

/// The cause that `document explain` names, with its code.
#[track_caller]
fn explained(sandbox: &Sandbox, name: &str, code: &str, words: &[&str]) -> Value {
    let line = sandbox.run(&["document", "explain", "root", name, "--json"]).exits(0).json().remove(0);
    assert_eq!(line["code"], code, "{line}");
    for word in words {
        assert!(line["cause"].as_str().unwrap().contains(word), "`{word}` is not in: {line}");
    }
    line
}

fn stages() -> Value {
    json!([
        {"transform": "text"},
        {"transform": "allow", "settings": {"refuse_extensions": ["md"]}},
        {"transform": "passages", "settings": {"size": 10, "overlap": 0, "names": "position", "document": "drop"}},
    ])
}

const WORDS: &str = "The whale sings. The walrus does not sing at all. Nobody knows why this should be so.";

#[test]
fn what_a_stage_left_out_of_a_document_is_explained_with_the_stage() {
    let sandbox = Sandbox::sqlite();
    archive(&sandbox, "a.tar", &[("one.txt", WORDS), ("notes.md", "otter")]);
    sandbox.write("b.md", "seal");
    let file = pipeline(&sandbox, "stages.json", &stages());
    sandbox.synced(&["--pipeline", &file]);
    let before = sandbox.snapshot();
    let told = explained(
        &sandbox,
        "a.tar!/notes.md",
        "extension",
        &["`a.tar!/notes.md` is left out", "stage 2 of the pipeline, `allow`, filters it out", "\"md\""],
    );
    assert_eq!(told["uri"], format!("file://{}/a.tar#notes.md", sandbox.root().display()));
    assert_eq!((&told["known"], &told["outputs"][0]["state"]), (&Value::Null, &json!("nothing")));
    let words = ["is no entry itself", "stage 3 of the pipeline, `passages`, leaves only the 2 entries"];
    explained(&sandbox, "a.tar!/one.txt", "parts_only", &words);
    // By its path and by its address as well.
    let path = format!("{}/a.tar!/notes.md", sandbox.root().display());
    explained(&sandbox, &path, "extension", &["`a.tar!/notes.md` is left out"]);
    explained(&sandbox, told["uri"].as_str().unwrap(), "extension", &["stage 2"]);
    let words = ["`a.tar` is read, and nothing in it is named `none.txt`", "pipeline try root 'a.tar'"];
    explained(&sandbox, "a.tar!/none.txt", "no_part", &words);
    explained(&sandbox, "a.tar!/one.txt!/1", "current", &["is up to date in index"]);
    // `why` says the same of what no search shows.
    let why = sandbox.run(&["why", "root", "a.tar!/notes.md"]).exits(0).out;
    assert!(
        why.contains("cannot find `a.tar!/notes.md`") && why.contains("`allow`, filters it out"),
        "{why}"
    );
    assert!(before == sandbox.snapshot(), "an explanation wrote something");
}

#[test]
fn what_is_in_a_document_that_is_not_read_is_explained_by_the_document() {
    let sandbox = Sandbox::sqlite();
    archive(&sandbox, "a.tar", &[("one.txt", "whale")]);
    let decline =
        json!([{"transform": "allow", "settings": {"refuse_extensions": ["tar"]}}, {"transform": "text"}]);
    let file = pipeline(&sandbox, "allow.json", &decline);
    sandbox.synced(&["--pipeline", &file]);
    let words = ["`a.tar!/one.txt` is left out with its document", "stage 1 of the pipeline, `allow`"];
    explained(&sandbox, "a.tar!/one.txt", "extension", &words);
    // One that came after the run, and one that went.
    archive(&sandbox, "late.tar", &[("two.txt", "walrus")]);
    let file = pipeline(&sandbox, "text.json", &json!([{"transform": "text"}]));
    sandbox.synced(&["--pipeline", &file, "--update"]);
    archive(&sandbox, "later.tar", &[("three.txt", "otter")]);
    let words = ["`later.tar!/three.txt` is there and no entry yet", "`later.tar` is not listed yet"];
    explained(&sandbox, "later.tar!/three.txt", "waiting", &words);
    files::remove(&sandbox.root().join("late.tar"));
    let words = ["`late.tar!/other.txt` is no entry", "`late.tar` was deleted at the source"];
    explained(&sandbox, "late.tar!/other.txt", "deleted", &words);
}

#[test]
fn a_trial_shows_what_each_stage_makes_of_something_in_a_document() {
    let sandbox = Sandbox::sqlite();
    archive(&sandbox, "a.tar", &[("one.txt", WORDS), ("notes.md", "otter")]);
    sandbox.synced(&[]);
    let mut stages = stages();
    // Later stages know where it lies.
    let set = json!([{"field": "of", "values": ["${path|([^/]*)!/|1}"]}]);
    stages.as_array_mut().unwrap().insert(1, json!({"transform": "fields", "settings": {"set": set}}));
    let file = pipeline(&sandbox, "stages.json", &stages);
    let before = sandbox.snapshot();
    let asked = |name: &str| {
        let answer = sandbox.run(&["pipeline", "try", "root", name, "--pipeline", &file, "--json"]);
        answer.exits(0).json().remove(0)
    };
    let answer = asked("a.tar!/one.txt");
    assert_eq!(answer["document"], "a.tar!/one.txt");
    assert_eq!(answer["uri"], format!("file://{}/a.tar#one.txt", sandbox.root().display()));
    let steps = answer["stages"].as_array().unwrap();
    let fates: Vec<&str> = steps.iter().map(|step| step["verdict"].as_str().unwrap()).collect();
    assert_eq!(fates, ["found", "pass", "pass", "parts_only"]);
    assert_eq!((&steps[0]["before"], &steps[0]["after"]["beginning"]), (&Value::Null, &json!(WORDS)));
    assert_eq!(steps[1]["after"]["fields"]["of"], json!(["a.tar"]));
    assert_eq!(
        (&steps[3]["after"]["parts_count"], &steps[3]["after"]["parts"][0]["name"]),
        (&json!(2), &json!("one.txt!/1"))
    );
    let answer = asked("a.tar!/notes.md");
    assert_eq!(
        (&answer["stages"][2]["verdict"], &answer["stages"][2]["reason"]["code"]),
        (&json!("decline"), &json!("extension"))
    );
    let fates = |name: &str| -> Vec<String> {
        let steps = asked(name)["stages"].take();
        steps.as_array().unwrap().iter().map(|step| step["verdict"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(fates("a.tar!/one.txt!/2"), ["absent", "absent", "absent", "found"]);
    assert_eq!(fates("a.tar"), ["pass", "pass", "pass", "parts_only"], "the whole, as ever");
    let told = sandbox.run(&["pipeline", "try", "root", "a.tar!/notes.md", "--pipeline", &file]).exits(0).out;
    for line in [
        "1 text: finds it",
        "2 fields: passes it on",
        "3 allow: filters it out: its extension",
        "4 passages: does not get it",
    ] {
        assert!(told.lines().any(|told| told.starts_with(line)), "`{line}` is not in {told}");
    }
    assert!(!told.contains("from the source"), "{told}");
    let words = ["nothing in `a.tar` is named `none.txt`", "pipeline try root 'a.tar'"];
    sandbox.run(&["pipeline", "try", "root", "a.tar!/none.txt"]).refuses(2, &words);
    assert!(before == sandbox.snapshot(), "a trial wrote something");
}

#[test]
fn a_name_that_leads_nowhere_is_told_with_where_it_was_looked_for() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("sub/a.txt", "apple");
    crate::files::settle(&sandbox.root());
    sandbox.synced(&[]);
    // As somebody types it who stands above the root, and mistypes it.
    let looked_at = format!("{}/root/sub/b.txt", sandbox.root().display());
    explained(&sandbox, "root/sub/b.txt", "absent", &["`root/sub/b.txt` is not there", &looked_at]);
    let why = sandbox.run(&["why", "root", "root/sub/b.txt"]).exits(0).out;
    assert!(why.contains(&looked_at), "{why}");
    sandbox.run(&["pipeline", "try", "root", "root/sub/b.txt"]).refuses(2, &["is not there", &looked_at]);
    let outside = ["document", "explain", "root", "../root/sub/a.txt"];
    sandbox.run(&outside).refuses(2, &["is not a valid name of a document", "names are below the root"]);
    explained(&sandbox, "sub/a.txt", "current", &[]);
}

#[test]
fn a_file_that_is_named_as_something_in_an_archive_is_not_mistaken_for_it() {
    let sandbox = Sandbox::sqlite();
    archive(&sandbox, "a.tar", &[("one.txt", "whale inside")]);
    // Named by its path it looks like a part, by its address it does not; `#` in a name does not make a part of it, either.
    sandbox.write("a.tar!/one.txt", "whale outside");
    sandbox.write("a.tar#one.txt", "whale beside");
    files::settle(&sandbox.root());
    sandbox.synced(&[]);
    let address = |name: &str| format!("file://{}/{name}", sandbox.root().display());
    let (whole, part) = (address("a.tar"), address("a.tar#one.txt"));
    let lines = sandbox.run(&["search", "whale", "--all", "--json"]).exits(0).json();
    let mut hits: Vec<[&str; 3]> = lines
        .iter()
        .map(|line| ["document", "component", "uri"].map(|key| line[key].as_str().unwrap()))
        .collect();
    hits.sort_unstable();
    let (folder, sharp) = (address("a.tar%21/one.txt"), address("a.tar%23one.txt"));
    let expected = [
        ["a.tar", "one.txt", whole.as_str()],
        ["a.tar!/one.txt", "", &folder],
        ["a.tar#one.txt", "", &sharp],
    ];
    assert_eq!(hits, expected);
    sandbox.run(&["verify"]).exits(0);
    // The name is the file's; the addresses tell them apart.
    let told = explained(&sandbox, "a.tar!/one.txt", "current", &["`a.tar!/one.txt` is up to date"]);
    assert_eq!((&told["uri"], &told["same_name"]), (&json!(folder), &json!(part)));
    let text = sandbox.run(&["document", "explain", "root", "a.tar!/one.txt"]).exits(0).out;
    assert!(text.contains(&format!("same name  something in another document: {part}")), "{text}");
    for (asked, uri) in [(&folder, &folder), (&part, &part), (&sharp, &sharp)] {
        assert_eq!(explained(&sandbox, asked, "current", &[])["uri"], **uri);
        let tried = sandbox.run(&["pipeline", "try", "root", asked, "--json"]).exits(0).json().remove(0);
        assert_eq!(tried["uri"], **uri);
    }
    // Who may not read the one may read the other, and one of them goes alone.
    files::tool("chmod", &["600"], &sandbox.root().join("a.tar"));
    files::settle(&sandbox.root());
    sandbox.synced(&[]);
    let found = || sandbox.run(&["search", "whale", "--as", "nobody", "--json"]).exits(0).documents();
    files::tool("chmod", &["755"], sandbox.path());
    sandbox.synced(&[]);
    assert_eq!(found(), ["a.tar!/one.txt", "a.tar#one.txt"]);
    let why = |name: &str| {
        sandbox.run(&["why", "nobody", name, "--json"]).exits(0).json().remove(0)["may_see"].take()
    };
    assert_eq!([why(&folder), why(&part), why(&sharp)], [json!(true), json!(false), json!(true)]);
    files::remove(&sandbox.root().join("a.tar!"));
    sandbox.synced(&["--delete-guard", "off"]);
    assert_eq!(sandbox.find("whale"), ["a.tar", "a.tar#one.txt"]);
    explained(&sandbox, "a.tar!/one.txt", "current", &[]);
    sandbox.run(&["verify"]).exits(0);
}

#[test]
fn equal_names_in_an_archive_are_numbered_whatever_is_declined() {
    let sandbox = Sandbox::sqlite();
    archive(&sandbox, "a.tar", &[("one.txt", "\0\u{1}\u{2}\u{3}\0\0 no text")]);
    // A tar may hold a name twice: the later one was appended.
    let folder = sandbox.path().join("more");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("one.txt"), WORDS).unwrap();
    let mut tar = std::process::Command::new("tar");
    tar.arg("-rf").arg(sandbox.root().join("a.tar")).arg("-C").arg(&folder).arg("one.txt");
    crate::people::must(&mut tar);
    files::settle(&sandbox.root());
    let stages = json!([{"transform": "text"}, {"transform": "allow", "settings": {"media_types": ["text/*", "application/x-tar"]}},
        {"transform": "passages", "settings": {"size": 10, "overlap": 0, "names": "position"}}]);
    let file = pipeline(&sandbox, "stages.json", &stages);
    sandbox.synced(&["--pipeline", &file]);
    let told = explained(&sandbox, "a.tar!/one.txt~2", "current", &[]);
    assert!(
        !told["cause"].as_str().unwrap().contains("entries of their own"),
        "those are the archive's: {told}"
    );
    explained(&sandbox, "a.tar!/one.txt~2!/1", "current", &[]);
    explained(&sandbox, "a.tar!/one.txt", "type", &["stage 2 of the pipeline, `allow`, filters it out"]);
}

/// An archive with `w.txt`, protected by the password `narwhal`.
pub(crate) const PROTECTED: &[u8] =
    b"PK\x03\x04\x0a\x00\x09\x00\x00\x005.v]b'#2\x1d\x00\x00\x00\x11\x00\x00\x00\x05\x00\x00\x00w.txtP\
    \xef\xb4'Eh\x99\x8dI\x96\x14:c\xb8\x9f\x85\xdd\x12\xd4\x0e\xa7\x06\x14\xa1\xe1\xab\xb4\xf8\x10PK\
    \x07\x08b'#2\x1d\x00\x00\x00\x11\x00\x00\x00PK\x01\x02\x1e\x03\x0a\x00\x09\x00\x00\x005.v]b'#2\x1d\
    \x00\x00\x00\x11\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\xa4\x81\x00\x00\x00\
    \x00w.txtPK\x05\x06\x00\x00\x00\x00\x01\x00\x01\x003\x00\x00\x00P\x00\x00\x00\x00\x00";

#[test]
fn a_password_in_a_wrong_setting_is_refused_by_the_name_of_that_setting_alone() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    files::settle(&sandbox.root());
    let wrong = [
        ("text", json!({"passwords": "narwhal"}), "`passwords` must be a list"),
        ("text", json!({"password_file": "narwhal"}), "password_file: it is no whole path"),
        ("text", json!({"password_file": "/narwhal"}), "password_file: the file cannot be read"),
        ("text", json!({"password_variable": "narwhal"}), "password_variable: the environment has nothing"),
        ("text", json!({"skip_hidden": "narwhal"}), "`skip_hidden` must be true or false"),
        ("text", json!({"password": "narwhal"}), "`password` is no setting"),
        ("text", json!("narwhal"), "it must be a table"),
        ("tika", json!({"url": "http://ann:narwhal@127.0.0.1:1"}), "url: it has more than a host"),
        ("limit", json!({"characters": "narwhal"}), "`characters` must be a whole number"),
        ("allow", json!({"modified_from": "narwhal"}), "modified_from: it is no date"),
        ("allow", json!({"size_max": "narwhal"}), "`size_max`"),
        ("access", json!({"allow": ["unix:narwhal"]}), "allow[0]"),
    ];
    let refused = |file: &str, said: &str| {
        let refused = sandbox.run(&["sync", "root", "--pipeline", file]);
        let told = format!("{}{}", refused.out, refused.err);
        assert!(!told.contains("narwhal"), "{file}: {told}");
        refused.refuses(2, &[said]);
    };
    for (transform, settings, said) in wrong {
        let stages = json!([{"transform": transform, "settings": settings}]);
        refused(&pipeline(&sandbox, "stages.json", &stages), said);
    }
    // So it is where the file itself cannot be read as one.
    for (settings, said) in [
        ("{ passwords = \"narwhal\" }", "`passwords` must be a list"),
        ("{ passwords = [\"narwhal\" }", "at line 3"),
        ("\"narwhal\"", "it must be a table"),
    ] {
        let text = format!("[[stages]]\ntransform = \"text\"\nsettings = {settings}\n");
        std::fs::write(sandbox.path().join("stages.toml"), text).unwrap();
        refused("stages.toml", said);
    }
    std::fs::write(sandbox.path().join("stages.json"), r#"{"stages": "narwhal"}"#).unwrap();
    refused("stages.json", "`stages` must be a list");
}

#[test]
fn passwords_come_from_a_file_or_the_environment_and_are_shown_nowhere() {
    let sandbox = Sandbox::sqlite();
    std::fs::write(sandbox.root().join("a.zip"), PROTECTED).unwrap();
    files::settle(&sandbox.root());
    let file = sandbox.path().join("passwords");
    std::fs::write(&file, "other\nnarwhal\n").unwrap();
    let stages = |settings: Value| {
        pipeline(&sandbox, "stages.json", &json!([{"transform": "text", "settings": settings}]))
    };
    let by_file = stages(json!({"password_file": file}));
    std::fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    sandbox
        .run(&["sync", "root", "--pipeline", &by_file])
        .refuses(2, &["may be read by others", "chmod 600"]);
    std::fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    sandbox.synced(&["--pipeline", &by_file]);
    assert_eq!(sandbox.find("whale"), ["a.zip"]);
    // A run without its passwords does not begin, and what was read before stays.
    std::fs::remove_file(&file).unwrap();
    let refused = sandbox.run(&["sync", "root"]);
    assert!(
        refused.code != 0 && refused.err.contains("password_file: the file cannot be read"),
        "{refused:#?}"
    );
    assert_eq!(sandbox.find("whale"), ["a.zip"]);
    let by_variable = stages(json!({"password_variable": "INGATHER_TEST_PASSWORDS"}));
    let mut command = sandbox.command(&["sync", "root", "--pipeline", &by_variable, "--update"]);
    command.env("INGATHER_TEST_PASSWORDS", "narwhal");
    finish(command, None).exits(0);
    assert_eq!(sandbox.find("whale"), ["a.zip"]);
    // One that stands in the settings opens, and no answer shows it.
    let plain = stages(json!({"passwords": ["narwhal"]}));
    let mut told = vec![sandbox.run(&["sync", "root", "--pipeline", &plain, "--update"]).exits(0)];
    assert_eq!(sandbox.find("whale"), ["a.zip"]);
    let other = stages(json!({"passwords": ["orca"]}));
    told.push(sandbox.run(&["sync", "root", "--pipeline", &other]));
    assert!(told[1].err.contains("passwords differ"), "{told:#?}");
    for arguments in [
        &["export"][..],
        &["job", "show", "root"],
        &["job", "show", "root", "--json"],
        &["job", "list", "--json"],
    ] {
        told.push(sandbox.run(arguments).exits(0));
    }
    assert!(
        told.iter().all(|told| !told.out.contains("narwhal") && !told.err.contains("narwhal")),
        "{told:#?}"
    );
    assert!(told[2].out.contains("(hidden)"));
}

#[test]
fn extract_takes_passwords_of_bounded_number_and_length() {
    let sandbox = Sandbox::sqlite();
    std::fs::write(sandbox.root().join("a.zip"), PROTECTED).unwrap();
    let extract = |passwords: &str| sandbox.run(&["extract", "root/a.zip", "--passwords", passwords]);
    let write = |text: &[u8]| std::fs::write(sandbox.path().join("passwords"), text).unwrap();
    write("\u{feff}narwhal\r\nother\r\n".as_bytes());
    assert!(extract("passwords").exits(0).out.contains("whale"), "the first password opens it");
    for (text, said) in [
        (b"narwhal\n".repeat(17), "more than 16 passwords; leave some out"),
        (b"narwhal".repeat(200), "more than 1024 bytes in line 1; shorten it"),
        (b"narwhal\n".repeat(150_000), "more than 1024 KiB; name a text file"),
        (b"narwhal\xff".to_vec(), "cannot be read: "),
        (b"\n\n".to_vec(), "has no password; name a text file"),
    ] {
        write(&text);
        assert!(!extract("passwords").err.contains("narwhal"), "{said}");
        extract("passwords").refuses(2, &["passwords", said]);
    }
    // A device without an end is read as far as a file may be long.
    extract("/dev/zero").refuses(2, &["/dev/zero", "more than 1024 KiB"]);
    extract("nowhere").refuses(2, &["nowhere cannot be read"]);
    extract("root").refuses(2, &["root cannot be read"]);
}
