//! What the index really holds: entries that were taken, altered or planted behind the program's back are all found.

use std::collections::BTreeMap;
use std::sync::Arc;

use ingather_contract::call::{CallContext, Cancel, Clock};
use ingather_contract::output::{Change, Op, Output, OutputContext};
use ingather_model::document::Record;
use ingather_model::ids::{AclId, ContainerId, Digest};
use ingather_store::db::Value as Parameter;
use ingather_store::{Durability, Reader, Sql, Store, Target, queries};
use serde_json::Value;

use crate::files;
use crate::sandbox::{Kept, Sandbox};

struct Still;

impl Clock for Still {
    fn now(&self) -> i64 {
        0
    }
}

fn call() -> CallContext {
    CallContext { clock: Arc::new(Still), cancel: Cancel::default() }
}

fn synced(kept: Kept, count: usize) -> Sandbox {
    let sandbox = Sandbox::new(kept);
    (0..count).for_each(|n| sandbox.write(&format!("d{}/f{n:04}.txt", n % 7), &format!("word{n}")));
    files::settle(&sandbox.root());
    sandbox.synced(&[]);
    sandbox
}

fn reader(sandbox: &Sandbox) -> Reader {
    let target = match sandbox.url() {
        Some(url) => Target::Postgres(url.to_owned()),
        None => Target::Sqlite(sandbox.data().join("store.db")),
    };
    Reader::open(&target).unwrap().unwrap()
}

/// Opens the index as its own connector does, behind the program's back.
fn behind(sandbox: &Sandbox, work: impl FnOnce(&mut dyn Output, &Reader)) {
    let reader = reader(sandbox);
    let context = OutputContext { data: sandbox.data(), store: reader.id().to_owned(), session: 1 };
    let kind = ingather_connectors::ALL.output("index").unwrap();
    let mut index = (kind.open)(&serde_json::json!({}), &context).unwrap();
    work(index.as_mut(), &reader);
    index.commit(&call()).unwrap();
}

fn uri(sandbox: &Sandbox, name: &str) -> String {
    format!("file://{}/{name}", sandbox.root().display())
}

fn change(id: &str, address: i64, op: Op) -> Change {
    // Newer than all that the store has given out: the repair must overtake it.
    Change {
        id: id.to_owned(),
        address,
        job: 3,
        job_name: "root".into(),
        document: id.to_owned(),
        seq: 1_000_000,
        op,
    }
}

fn put(text: &str, version: i64, acl_id: i64) -> Op {
    let record = Record { title: text.into(), body: Some(text.into()), ..Record::default() };
    Op::Put {
        record: Arc::new(record),
        version: Digest(version),
        acl_id: Some(AclId(acl_id)),
        container: Some(ContainerId(1)),
    }
}

fn apply(index: &mut dyn Output, changes: &[Change]) {
    assert!(index.apply(&call(), changes).iter().all(Result::is_ok));
}

/// The summary of `verify --json`, and how often each difference was told.
#[track_caller]
fn verify(sandbox: &Sandbox, flags: &[&str], code: i32) -> (Value, BTreeMap<String, usize>) {
    let mut lines = sandbox.run(&[&["verify", "--json"], flags].concat()).exits(code).json();
    let summary = lines.pop().unwrap();
    let mut told = BTreeMap::new();
    for line in lines {
        assert!(line["id"].as_str().unwrap().contains("://"), "{line}");
        *told.entry(line["difference"].as_str().unwrap().to_owned()).or_insert(0) += 1;
    }
    for (kind, count) in &told {
        assert_eq!(summary[kind], *count, "{summary}");
    }
    (summary, told)
}

fn counts(found: &(Value, BTreeMap<String, usize>)) -> [u64; 4] {
    ["missing", "stale", "orphaned", "foreign"].map(|kind| found.0[kind].as_u64().unwrap())
}

#[test]
fn what_was_taken_altered_or_planted_is_found_and_put_right_but_for_what_is_foreign() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = synced(kept, 300);
        assert_eq!(counts(&verify(&sandbox, &[], 0)), [0; 4]);
        let names: Vec<String> = sandbox.everything();
        behind(&sandbox, |index, reader| {
            let hash = |id: &str| reader.hasher().hash(id.as_bytes());
            for name in &names[..50] {
                let id = uri(&sandbox, name);
                apply(index, &[change(&id, hash(&id), Op::Delete)]);
            }
            for (at, name) in names[50..100].iter().enumerate() {
                let id = uri(&sandbox, name);
                // Half with another content, half with another access only.
                match at % 2 {
                    0 => apply(index, &[change(&id, hash(&id), put("forged", 7, 1))]),
                    _ => apply(
                        index,
                        &[change(
                            &id,
                            hash(&id),
                            Op::Access { version: None, acl_id: Some(AclId(99)), container: None },
                        )],
                    ),
                }
            }
            for n in 0..50 {
                let id = format!("other://planted/{n}");
                apply(index, &[change(&id, n, put("planted", 1, 1))]);
            }
            for n in 0..20 {
                let id = uri(&sandbox, &format!("never/{n}.txt"));
                apply(index, &[change(&id, hash(&id), put("left over", 1, 1))]);
            }
        });
        let found = verify(&sandbox, &[], 1);
        assert_eq!(counts(&found), [50, 50, 20, 50], "{}", found.0);
        assert_eq!(found.1.values().sum::<usize>(), 170, "each is told");
        let text = sandbox.run(&["verify", "index", "--limit", "3"]).exits(1);
        assert!(text.out.contains("50 missing, 50 stale, 20 orphaned, 50 foreign"), "{text:?}");
        assert!(text.out.contains("… and 167 more") && text.err.contains("--repair"), "{text:?}");
        assert_eq!(counts(&verify(&sandbox, &[], 1)), [50, 50, 20, 50], "looking changes nothing");
        // What is foreign stays, and is still told.
        let repaired = verify(&sandbox, &["--repair"], 1);
        assert_eq!(
            (&repaired.0["repaired"], &repaired.0["removed"]),
            (&true.into(), &20.into()),
            "{}",
            repaired.0
        );
        assert_eq!(counts(&verify(&sandbox, &[], 1)), [0, 0, 0, 50]);
        assert_eq!(sandbox.find("forged").len() + sandbox.find("\"left over\"").len(), 0);
        assert_eq!(sandbox.find("planted").len(), 50);
        assert_eq!(sandbox.everything().len(), 350);
        // Neither the index nor the sources are begun anew: the delivery log fits again.
        assert_eq!(sandbox.synced(&[]).get("unchanged"), 300);
        // What this test wrote itself is not its owner's alone; nothing else is wrong.
        sandbox.run(&["doctor", "--repair"]).exits(0);
        assert_eq!(sandbox.run(&["doctor"]).exits(0).out, "");
    }
}

#[test]
fn an_index_that_was_begun_anew_is_filled_again_at_once() {
    let sandbox = synced(Kept::Sqlite, 40);
    std::fs::remove_dir_all(sandbox.data().join("index")).unwrap();
    let found = verify(&sandbox, &[], 1);
    assert_eq!(counts(&found), [40, 0, 0, 0]);
    assert!(found.0["mismatch"].as_str().unwrap().contains("not there any more"), "{}", found.0);
    verify(&sandbox, &["--repair"], 0);
    assert_eq!(counts(&verify(&sandbox, &[], 0)), [0; 4]);
    assert_eq!(sandbox.everything().len(), 40);
    assert_eq!(sandbox.synced(&[]).get("unchanged"), 40);
}

#[test]
fn a_number_that_no_store_gives_out_is_named_and_the_next_sync_begins_anew() {
    let sandbox = synced(Kept::Sqlite, 10);
    behind(&sandbox, |index, _| {
        let planted = change("other://planted", 5, put("planted", 1, 1));
        apply(index, &[Change { seq: i64::MAX - 1, ..planted }]);
    });
    let found = verify(&sandbox, &[], 1);
    assert!(found.0["mismatch"].as_str().unwrap().contains("which no store gives out"), "{}", found.0);
    let words =
        ["output index", "9223372036854775806", "next `ingather sync` empties it", "nothing was repaired"];
    sandbox.run(&["verify", "--repair"]).refuses(3, &words);
    sandbox.synced(&["-q"]);
    assert_eq!(counts(&verify(&sandbox, &[], 0)), [0; 4]);
    assert_eq!(sandbox.everything().len(), 10);
    assert_eq!(sandbox.synced(&[]).get("unchanged"), 10);
}

#[test]
fn a_document_whose_name_is_lost_is_kept_and_said_until_a_repair_finds_its_entry() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = synced(kept, 10);
        let target = match sandbox.url() {
            Some(url) => Target::Postgres(url.to_owned()),
            None => Target::Sqlite(sandbox.data().join("store.db")),
        };
        let store = Store::open(&target).unwrap();
        let lose = |sql: &mut Sql<'_>| sql.execute(&queries::DOCUMENT_TEXT_REMOVE, &[Parameter::Ints(&[3])]);
        assert_eq!(store.write(Durability::Synced, lose).unwrap(), 1);
        drop(store);
        assert_eq!(sandbox.synced(&[]).get("unchanged"), 10);
        let refused = sandbox.run(&["job", "delete", "root"]).exits(1);
        assert!(refused.err.contains("the names of 1 document are lost"), "{refused:?}");
        assert!(refused.err.contains("ingather verify --repair"), "{refused:?}");
        assert!(!refused.err.contains("did not confirm"), "{refused:?}");
        assert_eq!(sandbox.everything().len(), 1, "its entry, and no other, is left");
        assert_eq!(counts(&verify(&sandbox, &[], 1)), [0, 0, 1, 0]);
        verify(&sandbox, &["--repair"], 0);
        assert_eq!(sandbox.everything(), [""; 0]);
        sandbox.run(&["job", "delete", "root"]).exits(0);
        assert_eq!(sandbox.run(&["job", "list", "--json"]).exits(0).out, "");
    }
}

#[test]
fn what_is_in_a_document_and_lost_its_name_is_taken_out_and_sent_anew() {
    let sandbox = Sandbox::sqlite();
    ["a.txt", "b.txt"].iter().for_each(|name| sandbox.write(name, "words"));
    let packed = sandbox.path().join("packed");
    std::fs::create_dir(&packed).unwrap();
    ["one.txt", "two.txt"].iter().for_each(|name| std::fs::write(packed.join(name), name).unwrap());
    let archive = sandbox.root().join("pack.tar").display().to_string();
    files::tool("tar", &["-cf", &archive, "-C", packed.to_str().unwrap(), "one.txt"], "two.txt".as_ref());
    files::settle(&sandbox.root());
    sandbox.synced(&[]);
    let all = sandbox.everything();
    assert_eq!(all.len(), 5, "{all:?}");
    let store = Store::open(&Target::Sqlite(sandbox.data().join("store.db"))).unwrap();
    let lose = |sql: &mut Sql<'_>| sql.execute(&queries::COMPONENT_REMOVE, &[Parameter::Ints(&[1, 2, 3])]);
    assert_eq!(store.write(Durability::Synced, lose).unwrap(), 2);
    drop(store);
    assert!(sandbox.run(&["doctor"]).exits(1).out.contains("nameless_components"));
    assert_eq!(counts(&verify(&sandbox, &[], 1)), [0, 0, 2, 0]);
    verify(&sandbox, &["--repair"], 0);
    assert_eq!(sandbox.everything().len(), 3);
    sandbox.synced(&[]);
    assert_eq!(sandbox.everything(), all);
    assert_eq!(sandbox.run(&["doctor"]).exits(0).out, "");
    assert_eq!(counts(&verify(&sandbox, &[], 0)), [0; 4]);
}

#[test]
fn a_source_that_is_away_keeps_what_has_to_be_sent_waiting() {
    let sandbox = synced(Kept::Sqlite, 10);
    behind(&sandbox, |index, reader| {
        let id = uri(&sandbox, "d0/f0000.txt");
        apply(index, &[change(&id, reader.hasher().hash(id.as_bytes()), Op::Delete)]);
    });
    let away = sandbox.path().join("away");
    std::fs::rename(sandbox.root(), &away).unwrap();
    let repaired = sandbox.run(&["verify", "--repair"]).exits(1);
    assert!(repaired.err.contains("1 document is still to be sent again"), "{repaired:?}");
    // Nothing is said to be there that is not.
    let found = verify(&sandbox, &[], 0);
    assert_eq!((&found.0["on_their_way"], &found.0["missing"]), (&1.into(), &0.into()));
    std::fs::rename(&away, sandbox.root()).unwrap();
    sandbox.synced(&[]);
    assert_eq!(sandbox.everything().len(), 10);
}

#[test]
fn two_owners_of_an_entry_and_outputs_that_cannot_list_are_understood() {
    let sandbox = synced(Kept::Sqlite, 10);
    sandbox.run(&["sync", "root", "--name", "second", "--to", "index", "--to", "journal:j"]).exits(0);
    sandbox.run(&["sync", "root", "--name", "third", "--compare-content"]).exits(0);
    assert_eq!(counts(&verify(&sandbox, &["index"], 0)), [0; 4]);
    let all = sandbox.run(&["verify"]).exits(0);
    assert!(all.err.contains("journal") && all.err.contains("append-only"), "{all:?}");
    let journal = format!("journal:{}/j", sandbox.path().display());
    sandbox.run(&["verify", &journal]).refuses(2, &["append-only"]);
    sandbox.run(&["verify", "nonsense"]).refuses(2, &["no output `nonsense`", "index"]);
}

#[test]
fn entries_of_held_removals_that_are_lost_are_told_apart_from_what_is_on_its_way() {
    let sandbox = synced(Kept::Sqlite, 60);
    (0..50)
        .for_each(|n| std::fs::remove_file(sandbox.root().join(format!("d{}/f{n:04}.txt", n % 7))).unwrap());
    sandbox.run(&["sync", "root"]).exits(1);
    std::fs::remove_dir_all(sandbox.data().join("index")).unwrap();
    sandbox.run(&["sync", "root"]).exits(1);
    let found = verify(&sandbox, &[], 0);
    assert_eq!((&found.0["held_and_lost"], &found.0["on_their_way"]), (&50.into(), &0.into()));
    let told = sandbox.run(&["verify"]).exits(0);
    assert!(told.err.contains("50 entries of documents whose removal is held"), "{told:?}");
    assert!(told.err.contains("`ingather job held JOB`"), "{told:?}");
    sandbox.run(&["job", "confirm", "root", "--run", "3"]).exits(0);
    assert_eq!(verify(&sandbox, &[], 0).0["held_and_lost"], 0);
}
