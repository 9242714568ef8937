//! What a journal writes, refuses, and stands at.

use super::*;
use ingather_contract::call::{Cancel, Clock};
use ingather_contract::output::{JobContainer, Op, Says};
use ingather_model::access::Acl;
use ingather_model::access::identity::Group;
use ingather_model::document::Record;
use ingather_model::ids::{AclId, ContainerId};
use ingather_model::run_counts::RunCounts;
use ingather_testkit::suites::{self, OutputSample};
use serde_json::json;
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;

struct Still;

impl Clock for Still {
    fn now(&self) -> i64 {
        0
    }
}

fn call() -> CallContext {
    CallContext { clock: Arc::new(Still), cancel: Cancel::default() }
}

fn open_at(path: &Path) -> Result<Box<dyn Output>, Fault> {
    let context = OutputContext { data: path.parent().unwrap().to_owned(), store: "s".into(), session: 1 };
    (OUTPUT.open)(&json!({ "file": path }), &context)
}

#[test]
fn it_keeps_what_an_output_promises() {
    let folder = tempfile::tempdir().unwrap();
    let context = OutputContext { data: folder.path().to_owned(), store: "s".into(), session: 1 };
    let settings = json!({ "file": folder.path().join("journal") });
    suites::output(&OUTPUT, &OutputSample { settings, context, local: false });
}

fn change(id: &str, op: Op) -> Change {
    Change { id: id.into(), address: 1, job: 1, job_name: "notes".into(), document: "a".into(), seq: 1, op }
}

fn lines(path: &Path) -> Vec<Value> {
    std::fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn each_change_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let mut journal = open_at(&path).unwrap();
    let record = Record {
        uri: "file:///a".into(),
        title: "A".into(),
        body: Some("one\ntwo".into()),
        size: Some(7),
        fields: [("ext".to_owned(), vec!["txt".to_owned()])].into(),
        ..Record::default()
    };
    let access = (Some(AclId(3)), None);
    let put =
        Op::Put { record: Arc::new(record), version: Digest(-1), acl_id: access.0, container: access.1 };
    let batch = [
        change("file:///a#x", put),
        change(
            "file:///a#x",
            Op::Access { version: None, acl_id: access.0, container: Some(ContainerId(4)) },
        ),
        change("file:///a#x", Op::Delete),
    ];
    assert_eq!(journal.apply(&call(), &batch), vec![Ok(()); 3]);
    assert_eq!(
        lines(&path),
        [
            json!({"op": "put", "seq": 1, "id": "file:///a#x", "address": "0000000000000001", "job": "notes", "uri": "file:///a",
                "version": "ffffffffffffffff", "acl": 3, "container": null,
                "fields": {"ext": ["txt"], "title": "A", "path": "", "body": "one\ntwo", "size": 7}}),
            json!({"op": "access", "seq": 1, "id": "file:///a#x", "address": "0000000000000001", "job": "notes",
                "uri": "file:///a", "version": null, "fields": {}, "acl": 3, "container": "4-1"}),
            json!({"op": "delete", "seq": 1, "id": "file:///a#x", "address": "0000000000000001", "job": "notes",
                "uri": "file:///a", "version": null, "fields": {}}),
        ]
    );
    assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
}

fn statement(seq: i64, says: Says) -> Statement {
    Statement { seq, says }
}

#[test]
fn who_may_see_is_told_in_lines_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let mut journal = open_at(&path).unwrap();
    let id = JobContainer { container: ContainerId(4), job: 1 };
    let statements = [
        statement(
            5,
            Says::Begin {
                state: 10,
                job: "notes".into(),
                run: Some(2),
                work: "full",
                opening: 11,
                follows: 4,
            },
        ),
        statement(6, Says::Acl { id: AclId(3), group: Group::default(), acl: Acl::open() }),
        statement(7, Says::Acl { id: AclId(4), group: Group::named("mails"), acl: Acl::open() }),
        statement(8, Says::Container { id, acls: Some(vec![AclId(3)]) }),
        statement(9, Says::Also { address: 1, references: vec![(None, Some(id))] }),
        statement(
            10,
            Says::End { job: "notes".into(), run: Some(2), outcome: "done", counts: RunCounts::default() },
        ),
    ];
    journal.tell(&call(), &statements).unwrap();
    let told = lines(&path);
    assert_eq!(
        told[..5],
        [
            json!({"op": "run", "seq": 5, "format": 2, "state": "000000000000000a", "opening": "000000000000000b", "follows": 4, "job": "notes", "run": 2, "work": "full"}),
            json!({"op": "acl", "seq": 6, "id": 3, "level": {"flat": {"allow": [], "deny": []}}}),
            json!({"op": "group_acl", "seq": 7, "id": 4, "group": "mails", "level": {"flat": {"allow": [], "deny": []}}}),
            json!({"op": "container", "seq": 8, "id": "4-1", "acls": [3]}),
            json!({"op": "also", "seq": 9, "address": "0000000000000001", "also": [{"acl": null, "container": "4-1"}]}),
        ]
    );
    assert_eq!((&told[5]["op"], &told[5]["counts"]["seen"]), (&json!("run_end"), &Value::Null));
    assert_eq!((&told[5]["outcome"], &told[5]["counts"]["added"]), (&json!("done"), &json!(0)));
}

/// A run of an opening begins.
fn begins(seq: i64, opening: i64) -> Statement {
    let job = "n".into();
    statement(seq, Says::Begin { state: 1, job, run: None, work: "full", opening, follows: 0 })
}

/// How the file at a path stands to an identity, when `opening` was the last one.
fn continuity(path: &Path, identity: &str, opening: i64) -> Continuity {
    open_at(path).unwrap().continuity(identity, opening).unwrap()
}

#[test]
fn a_journal_is_known_by_the_line_that_its_last_opening_began_with() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let mut journal = open_at(&path).unwrap();
    assert_eq!((journal.generation().identity.as_str(), journal.generation().number), ("", 0));
    journal.tell(&call(), &[begins(5, 20)]).unwrap();
    journal.apply(&call(), &[change("a", Op::Delete)]);
    let first = journal.generation().identity;
    drop(journal);
    let kept = std::fs::read(&path).unwrap();
    let mut journal = open_at(&path).unwrap();
    assert_eq!(journal.continuity(&first, 20).unwrap(), Continuity::Same);
    journal.tell(&call(), &[begins(7, 21)]).unwrap();
    let stands = journal.generation();
    assert_eq!((stands.number, stands.seq), (7, 7));
    drop(journal);
    assert_eq!(continuity(&path, &stands.identity, 21), Continuity::Same, "as it was left");
    assert_eq!(continuity(&path, &first, 21), Continuity::Same, "nobody confirmed what the last one wrote");
    assert_eq!(continuity(&path, &first, 22), Continuity::Other, "who wrote on is none of this history");
    let whole = std::fs::read(&path).unwrap();
    let is = |bytes: &[u8], identity: &str, opening| {
        std::fs::write(&path, bytes).unwrap();
        continuity(&path, identity, opening)
    };
    assert_eq!(is(&kept, &stands.identity, 21), Continuity::Other, "of an earlier day");
    assert_eq!(
        is(&whole[kept.len()..], &first, 21),
        Continuity::Anew,
        "the last opening began it, and nobody confirmed that"
    );
    assert_eq!(is(&whole[kept.len()..], &stands.identity, 21), Continuity::Other, "its beginning is gone");
    let snapshot =
        String::from_utf8(whole[kept.len()..].to_vec()).unwrap().replace("\"follows\":0", "\"follows\":7");
    assert_eq!(is(snapshot.as_bytes(), &stands.identity, 21), Continuity::Anew, "a snapshot");
    let longer = snapshot.clone() + &snapshot.replace("\"seq\":7", "\"seq\":8");
    assert_eq!(is(longer.as_bytes(), &stands.identity, 21), Continuity::Other, "somebody wrote to it");
    assert_eq!(is(b"", &stands.identity, 21), Continuity::Anew, "rotated");
    assert_eq!(is(b"", LOST, 21), Continuity::Other);
    // As long, with as many lines and the same numbers.
    let text = String::from_utf8(whole).unwrap();
    let other = text.replace("0000000000000015", "0000000000000017");
    assert_eq!(is(other.as_bytes(), &stands.identity, 21), Continuity::Other, "another history");
    // Of an earlier version, which tells of no openings.
    let old = "{\"op\":\"run\",\"seq\":5}\n";
    let digest = first_line(old.as_bytes());
    assert_eq!(is(old.as_bytes(), &digest, 0), Continuity::Same);
    assert_eq!(is(text.as_bytes(), &digest, 0), Continuity::Other);
    // Of format 1: it is gone on with, and no line of it has a number.
    let old = "{\"op\":\"delete\",\"id\":\"a\",\"x\":\",\\\"seq\\\":4\"}\n";
    std::fs::write(&path, old).unwrap();
    assert_eq!(open_at(&path).unwrap().generation().number, 0);
}

#[test]
fn a_journal_that_others_cut_or_write_to_while_it_is_open_takes_no_more_lines() {
    let whole = format!("{}\n", json!({"op": "delete", "seq": 1, "id": "a"})).repeat(200);
    let bytes = whole.as_bytes();
    let last = bytes.len() / 200;
    let shorter = bytes[..bytes.len() - last].to_vec();
    let other = whole.replace("\"a\"", "\"b\"").into_bytes();
    let longer = [bytes, &bytes[..last]].concat();
    for (now, why) in
        [(Vec::new(), "cut"), (shorter, "put back"), (other, "of the same length"), (longer, "written to")]
    {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        std::fs::write(&path, bytes).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        let mut journal = open_at(&path).unwrap();
        // In place: it stays the same file.
        std::fs::write(&path, &now).unwrap();
        for _ in 0..2 {
            let answers = journal.apply(&call(), &[change("c", Op::Delete)]);
            assert!(
                matches!(&answers[..], [Err(fault)] if fault.reason().code == "lost"),
                "{why}: {answers:?}"
            );
        }
        assert!(journal.commit(&call()).is_err(), "{why}");
        assert_eq!(journal.generation().identity, LOST, "{why}");
        assert_eq!(std::fs::read(&path).unwrap(), now, "{why}: what is there stays as it is");
    }
}

#[test]
fn a_torn_last_line_is_cut_off_and_the_rest_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path).unwrap();
    let whole = format!("{}\n", json!({"op": "delete"}));
    // Longer than one read backwards.
    for rest in ["pu".to_owned(), "x".repeat(limits::READ_BUFFER_BYTES * 2 + 3)] {
        let torn = format!("{{\"op\":\"{rest}");
        std::fs::write(&path, format!("{whole}{torn}")).unwrap();
        let mut journal = open_at(&path).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), whole);
        assert_eq!(journal.apply(&call(), &[change("a", Op::Delete)]), [Ok(())]);
        assert_eq!(lines(&path).len(), 2);
        std::fs::write(&path, &torn).unwrap();
        drop(journal);
        drop(open_at(&path).unwrap());
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 0, "nothing but a torn line");
    }
}

#[test]
fn what_is_no_journal_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("essay");
    for text in ["x", "my essay without an end", "a line\nand another", "{\"op\": 1}\n"] {
        std::fs::write(&path, text).unwrap();
        assert_eq!(open_at(&path).err().unwrap().reason().code, "journal");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
}

#[test]
fn one_process_holds_it_and_odd_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let held = open_at(&path).unwrap();
    assert_eq!(open_at(&path).err().unwrap().reason().code, "locked");
    drop(held);
    assert!(open_at(&path).is_ok());
    assert_eq!(open_at(folder.path()).err().unwrap().reason().code, "journal");
    assert_eq!(open_at(&folder.path().join("no/journal")).err().unwrap().reason().code, "journal");
    assert_eq!(open_at(Path::new("/dev/null")).err().unwrap().reason().code, "journal");
    let context = OutputContext { data: folder.path().to_owned(), store: "s".into(), session: 1 };
    assert_eq!((OUTPUT.open)(&json!({"file": "here"}), &context).err().unwrap().reason().code, "settings");
}

#[test]
fn a_full_disk_confirms_nothing_and_leaves_no_torn_line() {
    let file = OpenOptions::new().read(true).append(true).open("/dev/full").unwrap();
    let (first, tail) = (String::new(), Vec::new());
    let (name, begun) = ("j".into(), None);
    let mut journal = Journal { file, name, first, begun, seq: 0, end: 0, tail, torn: false, lost: false };
    let answers = journal.apply(&call(), &[change("a", Op::Delete), change("b", Op::Delete)]);
    assert!(answers.iter().all(|answer| matches!(answer, Err(Fault::Passing { .. }))), "{answers:?}");
    assert!(journal.torn, "what may have been written is cut off before the next line");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    std::fs::write(&path, "{}\n{\"half").unwrap();
    let file = OpenOptions::new().read(true).append(true).open(&path).unwrap();
    let mut journal = Journal { file, end: 3, tail: b"{}\n".to_vec(), torn: true, ..journal };
    assert_eq!(journal.apply(&call(), &[change("a", Op::Delete)]), [Ok(())]);
    assert_eq!(lines(&path).len(), 2);
}
