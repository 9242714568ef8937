//! What is inside documents, on the real program: found by its words, named, shown to the right people, and gone in time.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use crate::files;
use crate::people::must;
use crate::sandbox::{Kept, Sandbox};

/// The documents that the demo shows.
fn demo(sandbox: &Sandbox) {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/demo");
    std::fs::create_dir_all(sandbox.root()).unwrap();
    for entry in std::fs::read_dir(samples).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), sandbox.root().join(entry.file_name())).unwrap();
    }
    files::settle(&sandbox.root());
}

/// An archive of these members, in place of what was there.
pub(super) fn archive(sandbox: &Sandbox, name: &str, members: &[(&str, &str)]) {
    let folder = sandbox.path().join("members");
    std::fs::create_dir_all(&folder).unwrap();
    for (member, text) in members {
        std::fs::write(folder.join(member), text).unwrap();
    }
    std::fs::create_dir_all(sandbox.root()).unwrap();
    let mut tar = Command::new("tar");
    tar.arg("-cf").arg(sandbox.root().join(name)).arg("-C").arg(&folder);
    must(tar.args(members.iter().map(|(member, _)| member)));
    std::fs::remove_dir_all(&folder).unwrap();
    files::settle(&sandbox.root());
}

/// Path and component of each hit.
fn hits(sandbox: &Sandbox, query: &str) -> Vec<(String, String)> {
    let answer = sandbox.run(&["search", query, "--all", "--json"]).exits(0);
    let word = |line: &serde_json::Value, name: &str| line[name].as_str().unwrap().to_owned();
    let mut found: Vec<_> =
        answer.json().iter().map(|line| (word(line, "document"), word(line, "component"))).collect();
    found.sort();
    found
}

fn pair(document: &str, component: &str) -> (String, String) {
    (document.to_owned(), component.to_owned())
}

#[test]
fn sentences_in_documents_and_in_what_is_in_them_are_found() {
    let sandbox = Sandbox::sqlite();
    demo(&sandbox);
    sandbox.synced(&[]);
    for (query, document, component) in [
        ("\"lighthouse keeper\"", "report.pdf", ""),
        ("quince terrace", "figures.xlsx", ""),
        ("\"glaciers sing\"", "talk.pptx", ""),
        ("\"crates of saffron\"", "post.zip", "2026/january.eml!/offer.pdf"),
        ("\"offer is attached\"", "post.zip", "2026/january.eml"),
        ("type:application/pdf saffron", "post.zip", "2026/january.eml!/offer.pdf"),
    ] {
        assert_eq!(hits(&sandbox, query), [pair(document, component)], "{query}");
    }
    assert_eq!(hits(&sandbox, "name:offer.pdf"), [pair("post.zip", "2026/january.eml!/offer.pdf")]);
}

#[test]
fn members_are_found_by_their_own_times_and_else_by_that_of_what_they_are_in() {
    let sandbox = Sandbox::sqlite();
    let day = Duration::from_hours(24);
    let dated = |path: &Path, time: SystemTime| {
        std::fs::write(path, "whale").unwrap();
        std::fs::File::options().append(true).open(path).unwrap().set_modified(time).unwrap();
    };
    let folder = sandbox.path().join("members");
    std::fs::create_dir_all(&folder).unwrap();
    dated(&folder.join("new.txt"), SystemTime::now() - 2 * day);
    dated(&folder.join("old.txt"), SystemTime::UNIX_EPOCH + 11_500 * day);
    dated(&folder.join("none.txt"), SystemTime::UNIX_EPOCH);
    std::fs::create_dir_all(sandbox.root()).unwrap();
    let archive = sandbox.root().join("a.tar");
    let mut tar = Command::new("tar");
    must(tar.arg("-cf").arg(&archive).arg("-C").arg(&folder).args(["new.txt", "old.txt", "none.txt"]));
    let own = SystemTime::UNIX_EPOCH + 14_800 * day;
    std::fs::File::options().append(true).open(&archive).unwrap().set_modified(own).unwrap();
    files::settle(&sandbox.root());
    sandbox.synced(&[]);
    assert_eq!(hits(&sandbox, "whale modified:>7d"), [pair("a.tar", "new.txt")]);
    assert_eq!(hits(&sandbox, "whale modified:2001"), [pair("a.tar", "old.txt")]);
    assert_eq!(hits(&sandbox, "modified:2010"), [pair("a.tar", ""), pair("a.tar", "none.txt")]);
    assert_eq!(hits(&sandbox, "whale size:5").len(), 3);
    let answer = sandbox.run(&["search", "whale", "--all", "--json", "--sort", "modified"]).exits(0);
    let order: Vec<_> =
        answer.json().iter().map(|line| line["component"].as_str().unwrap().to_owned()).collect();
    assert_eq!(order, ["new.txt", "none.txt", "old.txt"]);
    // What follows the archive follows it when only its time changes.
    let later = SystemTime::UNIX_EPOCH + 15_300 * day;
    std::fs::File::options().append(true).open(&archive).unwrap().set_modified(later).unwrap();
    files::settle(&sandbox.root());
    sandbox.synced(&[]);
    assert_eq!(hits(&sandbox, "whale modified:2011"), [pair("a.tar", "none.txt")]);
}

#[test]
fn a_file_that_is_packed_alone_is_one_entry() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("notes.txt", "whale in a text");
    sandbox.write("more.txt", "whale in an archive");
    let root = sandbox.root();
    must(Command::new("gzip").arg(root.join("notes.txt")));
    must(Command::new("tar").arg("-czf").arg(root.join("more.tar.gz")).arg("-C").arg(&root).arg("more.txt"));
    std::fs::remove_file(root.join("more.txt")).unwrap();
    files::settle(&root);
    sandbox.synced(&[]);
    assert_eq!(hits(&sandbox, "whale"), [pair("more.tar.gz", "more.txt"), pair("notes.txt.gz", "")]);
    assert_eq!(hits(&sandbox, "*").len(), 3, "with the archive");
    assert_eq!(hits(&sandbox, "title:\"notes txt\" ext:gz"), [pair("notes.txt.gz", "")]);
}

#[test]
fn what_is_in_an_archive_comes_and_goes_with_it() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = Sandbox::new(kept);
        archive(&sandbox, "a.tar", &[("one.txt", "whale"), ("two.txt", "walrus"), ("three.txt", "otter")]);
        let counts = sandbox.synced(&[]);
        assert_eq!(counts.get("added"), 1, "documents are counted, not parts");
        assert_eq!(hits(&sandbox, "walrus"), [pair("a.tar", "two.txt")]);
        archive(&sandbox, "a.tar", &[("one.txt", "whale"), ("two.txt", "seal")]);
        assert_eq!(sandbox.synced(&[]).get("updated"), 1);
        assert_eq!(hits(&sandbox, "walrus OR otter"), []);
        assert_eq!(hits(&sandbox, "whale OR seal"), [pair("a.tar", "one.txt"), pair("a.tar", "two.txt")]);
        let told = sandbox.run(&["verify", "--json"]).exits(0).out;
        assert!(told.contains("\"entries\":3"), "{told}");
        let told = sandbox.run(&["document", "explain", "root", "a.tar!/two.txt"]).exits(0).out;
        assert!(told.starts_with("`a.tar!/two.txt` is up to date in index"), "{told}");
        std::fs::remove_file(sandbox.root().join("a.tar")).unwrap();
        sandbox.write("other.txt", "left");
        assert_eq!(sandbox.synced(&["--delete-guard", "off"]).get("deleted"), 1);
        assert_eq!(sandbox.everything(), ["other.txt"]);
        sandbox.run(&["doctor"]).exits(0);
    }
}

/// A ZIP file with one member as it is, or with none.
fn zip(member: Option<(&str, &[u8])>) -> Vec<u8> {
    let Some((name, content)) = member else { return [b"PK\x05\x06".as_slice(), &[0; 18]].concat() };
    let length = (content.len() as u32).to_le_bytes();
    let head =
        [&[20, 0, 0, 0, 0, 0, 0, 0, 33, 0, 0, 0, 0, 0][..], &length, &length, &[name.len() as u8, 0, 0, 0]];
    let local = [b"PK\x03\x04".as_slice(), &head.concat(), name.as_bytes(), content].concat();
    let listed = [b"PK\x01\x02\x14\0".as_slice(), &head.concat(), &[0; 14], name.as_bytes()].concat();
    let numbers = [listed.len() as u32, local.len() as u32].map(u32::to_le_bytes).concat();
    [local.as_slice(), &listed, b"PK\x05\x06\0\0\0\0\x01\0\x01\0", &numbers, &[0, 0]].concat()
}

#[test]
fn what_is_in_an_archive_that_cannot_be_opened_now_stays_and_an_empty_one_keeps_nothing() {
    let sandbox = Sandbox::sqlite();
    let write = |bytes: &[u8]| {
        std::fs::write(sandbox.root().join("a.zip"), bytes).unwrap();
        files::settle(&sandbox.root());
        sandbox.synced(&[]);
    };
    let inner = zip(Some(("deep.txt", b"whale")));
    let whole = zip(Some(("in.zip", &inner)));
    write(&whole);
    let deep = [pair("a.zip", "in.zip!/deep.txt")];
    assert_eq!(hits(&sandbox, "whale"), deep);
    // Protected by a password, in both places that say so.
    let mut closed = whole.clone();
    let listed = closed.windows(4).rposition(|four| four == b"PK\x01\x02").unwrap();
    (closed[6], closed[listed + 8]) = (1, 1);
    write(&closed);
    assert_eq!(hits(&sandbox, "whale"), deep, "it is in there still");
    write(&zip(None));
    assert_eq!(hits(&sandbox, "*"), [pair("a.zip", "")]);
    sandbox.run(&["verify"]).exits(0);
}

#[test]
fn who_may_not_read_an_archive_finds_nothing_of_what_is_in_it() {
    let sandbox = Sandbox::sqlite();
    archive(&sandbox, "a.tar", &[("one.txt", "whale")]);
    files::tool("chmod", &["755"], sandbox.path());
    sandbox.synced(&[]);
    let found = |user: &str| sandbox.run(&["search", "whale", "--as", user, "--json"]).exits(0).documents();
    assert_eq!(found("nobody"), ["a.tar"]);
    files::tool("chmod", &["600"], &sandbox.root().join("a.tar"));
    assert_eq!(sandbox.synced(&[]).get("access"), 1);
    assert_eq!(found("nobody"), [""; 0]);
    let told = sandbox.run(&["why", "nobody", "a.tar!/one.txt"]).exits(0).out;
    assert!(told.contains("may not see `a.tar!/one.txt`"), "{told}");
}

#[test]
fn an_index_that_is_gone_is_filled_from_what_is_kept() {
    let sandbox = Sandbox::sqlite();
    archive(&sandbox, "a.tar", &[("one.txt", "whale")]);
    sandbox.write("b.txt", "seal");
    files::settle(&sandbox.root());
    sandbox.synced(&["--keep", "extracted"]);
    std::fs::remove_dir_all(sandbox.data().join("index")).unwrap();
    sandbox.synced(&[]);
    assert_eq!(hits(&sandbox, "whale OR seal"), [pair("a.tar", "one.txt"), pair("b.txt", "")]);
    let answer = sandbox.run(&["sync", "root", "--keep", "nothing"]);
    answer.refuses(2, &["keep: extracted → nothing", "--update"]);
    sandbox.synced(&["--keep", "nothing", "--update"]);
    sandbox.run(&["doctor"]).exits(0);
}

#[test]
fn what_is_not_found_in_an_archive_is_explained() {
    let sandbox = Sandbox::sqlite();
    demo(&sandbox);
    let whole = std::fs::read(sandbox.root().join("post.zip")).unwrap();
    // Without its directory.
    std::fs::write(sandbox.root().join("cut.zip"), &whole[..whole.len() - 60]).unwrap();
    files::settle(&sandbox.root());
    let answer = sandbox.run(&["sync", "root"]).exits(0);
    assert!(answer.out.contains("added; 1 not read in full in "), "{answer:#?}");
    assert!(answer.err.contains("search --all 'meta.extraction:*'"), "{answer:#?}");
    assert_eq!(hits(&sandbox, "meta.extraction:*"), [pair("cut.zip", "")]);
    let explain = |name: &str| sandbox.run(&["document", "explain", "root", name]).exits(0).out;
    let told = explain("post.zip!/none.txt");
    assert!(told.starts_with("`post.zip` is read, and nothing in it is named `none.txt`"), "{told}");
    let told = explain("cut.zip");
    assert!(told.contains("members may be missing"), "{told}");
    assert_eq!(hits(&sandbox, "saffron").len(), 2, "what can be read is found");
}

#[test]
fn archives_with_too_many_members_are_counted_and_found() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("small.txt", "seal");
    let members: Vec<String> = (0..=10_000).map(|n| format!("{n}.txt")).collect();
    let members: Vec<(&str, &str)> = members.iter().map(|name| (name.as_str(), "whale")).collect();
    archive(&sandbox, "many.tar", &members);
    let partial = |flags: &[&str]| {
        let line = sandbox.run(&[&["sync", "root", "--json"], flags].concat()).exits(0).json().remove(0);
        line["partial"].as_u64().unwrap()
    };
    assert_eq!(partial(&["--dry-run"]), 1);
    assert_eq!(partial(&[]), 1);
    let runs = sandbox.run(&["job", "runs", "root", "--json"]).exits(0).json();
    assert_eq!(runs[0]["counts"]["partial"], 1, "{runs:?}");
    assert_eq!(hits(&sandbox, "whale"), [], "none of its members is an entry");
    assert_eq!(hits(&sandbox, "meta.extraction:*"), [pair("many.tar", "")]);
    assert_eq!(hits(&sandbox, "* -meta.extraction:*"), [pair("small.txt", "")]);
    let told = sandbox.run(&["document", "explain", "root", "many.tar"]).exits(0).out;
    assert!(told.contains("compound limit"), "{told}");
    assert_eq!(partial(&[]), 0, "nothing was read");
}

#[test]
fn of_a_mailbox_with_too_many_messages_the_first_ones_are_found_and_none_goes_for_it() {
    let sandbox = Sandbox::sqlite();
    let message = |n: usize| format!("From a\nSubject: s{n}\nFrom: a@b\n\nwhale{n}\n\n");
    let mailbox = |from: usize| (from..from + 10_001).map(message).collect::<String>();
    sandbox.write("post.mbox", &mailbox(0));
    let line = sandbox.run(&["sync", "root", "--json"]).exits(0).json().remove(0);
    assert_eq!((&line["added"], &line["partial"]), (&1.into(), &1.into()));
    assert_eq!(hits(&sandbox, "whale9999"), [pair("post.mbox", "s9999")]);
    assert_eq!(hits(&sandbox, "whale10000"), []);
    let told = sandbox.run(&["document", "explain", "root", "post.mbox"]).exits(0).out;
    assert!(told.contains("only the first 10000 of what is in it are read"), "{told}");
    sandbox.write("post.mbox", &mailbox(1));
    sandbox.synced(&[]);
    assert_eq!(
        hits(&sandbox, "whale0"),
        [pair("post.mbox", "s0")],
        "nobody looked for it behind the last one read"
    );
    assert_eq!(hits(&sandbox, "whale10000"), [pair("post.mbox", "s10000")]);
}

#[test]
fn of_an_archive_that_is_declined_nothing_is_kept() {
    let sandbox = Sandbox::sqlite();
    archive(&sandbox, "a.tar", &[("one.txt", "whale")]);
    sandbox.synced(&["--keep", "extracted"]);
    let pipeline = sandbox.path().join("stages.json");
    let stages =
        r#"[{"transform": "allow", "settings": {"refuse_extensions": ["tar"]}}, {"transform": "text"}]"#;
    std::fs::write(&pipeline, stages).unwrap();
    sandbox.synced(&["--pipeline", pipeline.to_str().unwrap(), "--update"]);
    let store =
        ingather_store::Reader::open(&ingather_store::Target::Sqlite(sandbox.data().join("store.db")))
            .unwrap();
    let kept = store.unwrap().read(|sql| {
        let job = ingather_store::jobs::list(sql)?[0].id;
        ingather_store::extracts::of_job(sql, job, 0, 10)
    });
    assert_eq!(kept.unwrap(), [0i64; 0]);
}

#[test]
fn a_pipeline_that_reads_nothing_says_so() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "whale");
    let pipeline = sandbox.path().join("stages.json");
    std::fs::write(&pipeline, r#"[{"transform": "null"}]"#).unwrap();
    let answer = sandbox.run(&["sync", "root", "--pipeline", pipeline.to_str().unwrap()]).exits(0);
    assert!(answer.err.contains("no stage reads documents (text or tika or ocr)"), "{answer:#?}");
}

/// Processes that threads of a process have started, with the processor time that each took, in ticks.
fn children_of(process: u32) -> Vec<(i32, u64)> {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let children: Vec<String> =
        tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok()).collect();
    let took = |child: &str| -> Option<(i32, u64)> {
        let stat = std::fs::read_to_string(format!("/proc/{child}/stat")).ok()?;
        let (_, after_name) = stat.rsplit_once(')')?;
        Some((child.parse().ok()?, after_name.split_whitespace().nth(11)?.parse().ok()?))
    };
    children.iter().flat_map(|line| line.split_whitespace()).filter_map(took).collect()
}

#[test]
fn a_reader_that_dies_costs_its_document_alone_and_explain_says_so() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("large.html", &"<p>whale <b>and</b> walrus".repeat(1_500_000));
    sandbox.write("small.txt", "seal");
    files::settle(&sandbox.root());
    let mut running = sandbox.command(&["sync", "root", "-q"]).spawn().unwrap();
    // It is amid the document once it has worked for a while.
    let amid = loop {
        let amid = children_of(running.id()).into_iter().find(|(_, ticks)| *ticks >= 10);
        if amid.is_some() || running.try_wait().unwrap().is_some() {
            break amid;
        }
    };
    let (child, _) = amid.expect("the document is read by a process of its own, for some seconds");
    must(Command::new("kill").args(["-ILL", &child.to_string()]));
    assert_eq!(running.wait().unwrap().code(), Some(1));
    assert_eq!(hits(&sandbox, "seal"), [pair("small.txt", "")]);
    let told = sandbox.run(&["document", "explain", "root", "large.html", "--json"]).exits(0).json();
    assert_eq!(told[0]["code"], "extract", "{told:?}");
    // Another process reads what is changed.
    sandbox.write("large.html", "<p>otter");
    files::settle(&sandbox.root());
    sandbox.synced(&[]);
    assert_eq!(hits(&sandbox, "otter"), [pair("large.html", "")]);
}
