//! Writing from outside: the index holds what the changes say, and what was committed survives.

use std::io::BufRead as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::directory::CommitMetadata;
use ingather_contract::access_filter::AccessFilter;
use ingather_model::document::Record;
use ingather_model::ids::{AclId, ContainerId, Digest};
use ingather_testkit::suites::{self, OutputSample};
use tantivy::merge_policy::NoMergePolicy;
use tempfile::TempDir;

use super::*;

#[test]
fn it_keeps_what_an_output_promises() {
    let data = tempfile::tempdir().unwrap();
    let context = OutputContext { data: data.path().to_owned(), store: "store-1".to_owned(), session: 1 };
    let settings = serde_json::json!({"memory_mib": 32, "threads": 1});
    suites::output(&OUTPUT, &OutputSample { settings, context, local: true });
}

#[test]
fn a_put_replaces_and_a_delete_removes() {
    let (data, mut index) = filled(&[put("d/a", 1, "first"), put("d/b", 2, "first")]);
    apply(&mut index, &[put("d/a", 3, "second"), put("d/a", 4, "third"), change("d/b", 5, Op::Delete)]);
    apply(
        &mut index,
        &[change("d/never", 6, Op::Delete), put("d/c", 7, "third"), change("d/c", 8, Op::Delete)],
    );
    index.commit(&call()).unwrap();
    assert_eq!(found(data.path(), "*"), ["a"]);
    assert_eq!(found(data.path(), "third"), ["a"]);
}

/// The library numbers the first deletion after an opening as the commit before it. A merge of segments, of which the
/// largest had no deletion in that commit and another one had, then forgot it: the entry was there twice.
#[test]
fn a_merge_after_an_opening_forgets_no_deletion() {
    let data = TempDir::new().unwrap();
    let many: Vec<Change> = (0..10).map(|n| put(&format!("d/a{n}"), n, "words")).collect();
    let some: Vec<Change> = (0..3).map(|n| put(&format!("d/b{n}"), 20 + n, "words")).collect();
    for batch in [many, some, vec![put("d/b0", 30, "words")]] {
        let mut index = open(data.path()).unwrap();
        index.writer.set_merge_policy(Box::new(NoMergePolicy));
        apply(&mut index, &batch);
        index.commit(&call()).unwrap();
    }
    let mut index = open(data.path()).unwrap();
    apply(&mut index, &[put("d/b1", 40, "words")]);
    index.commit(&call()).unwrap();
    let Opened { writer, .. } = index;
    writer.wait_merging_threads().unwrap();
    let (index, _) = IndexDirectory::of(data.path()).open().unwrap();
    assert_eq!(index.reader().unwrap().searcher().num_docs(), 13);
}

#[test]
fn the_newest_change_wins() {
    let (data, mut index) = filled(&[put("d/a", 10, "new")]);
    apply(&mut index, &[put("d/a", 9, "old"), change("d/a", 8, Op::Delete), access("d/a", 7, 2)]);
    apply(&mut index, &[put("d/b", 5, "new"), put("d/b", 4, "old")]);
    index.commit(&call()).unwrap();
    assert_eq!(found(data.path(), "new"), ["a", "b"]);
    assert_eq!(index.list(&call(), None, 1).unwrap()[0].acl_id, Some(AclId(1)));
}

#[test]
fn an_access_change_keeps_text_and_fields() {
    let full = Record {
        title: "Houses".into(),
        modified: Some(5),
        ..text("In dieser Straße stehen viele alte Häuser, und die Nachbarn kennen sich seit Jahren.")
    };
    let (data, mut index) = filled(&[put_as("d/a", 1, (Some(1), Some(1)), full)]);
    let unscored = |access_filter| {
        let hits = results(data.path(), &request("haus", access_filter)).hits;
        hits.into_iter().map(|hit| Hit { score: 0.0, ..hit }).collect::<Vec<_>>()
    };
    let before = unscored(AccessFilter::All);
    apply(&mut index, &[access("d/a", 2, 7)]);
    apply(&mut index, &[access("d/a", 3, 8)]);
    index.commit(&call()).unwrap();
    assert_eq!(before.len(), 1);
    assert_eq!(unscored(only(&[8], &[1])), before);
    assert_eq!(results(data.path(), &request("haus", only(&[1, 7], &[1]))).total, 0);
    let entries = index.list(&call(), None, 9).unwrap();
    let address = access("d/a", 3, 8).address;
    let expected = OutputEntry {
        id: "d/a".into(),
        address,
        job: access("d/a", 3, 8).job,
        version: Digest(1),
        acl_id: Some(AclId(8)),
        container: Some(ContainerId(1)),
    };
    assert_eq!(entries, [expected]);
}

#[test]
fn an_access_change_sees_what_is_not_committed_yet() {
    let data = TempDir::new().unwrap();
    let mut index = open(data.path()).unwrap();
    apply(&mut index, &[put("d/a", 1, "one"), put("d/b", 2, "two"), access("d/a", 3, 5)]);
    apply(&mut index, &[access("d/b", 4, 6), access("d/a", 5, 7)]);
    assert_eq!(index.generation().number, 0, "what was written out in between is not a commit");
    let gone =
        index.apply(&call(), &[change("d/b", 6, Op::Delete), access("d/b", 7, 1), access("d/x", 8, 1)]);
    assert_eq!(gone, [Ok(()), Err(Fault::Gone), Err(Fault::Gone)]);
    assert_eq!(index.commit(&call()).unwrap().number, 1);
    let entries = index.list(&call(), None, 9).unwrap();
    assert_eq!(
        entries.iter().map(|entry| (entry.id.as_str(), entry.acl_id)).collect::<Vec<_>>(),
        [("d/a", Some(AclId(7)))]
    );
    assert_eq!(found(data.path(), "one"), ["a"]);
}

#[test]
fn only_commits_survive() {
    let (data, mut index) = filled(&[put("d/a", 1, "kept")]);
    let generation = index.generation();
    assert_eq!(generation.number, 1);
    apply(&mut index, &[put("d/b", 2, "lost"), change("d/a", 3, Op::Delete)]);
    drop(index);
    let mut index = open(data.path()).unwrap();
    assert_eq!(index.generation(), generation);
    assert_eq!(found(data.path(), "*"), ["a"]);
    apply(&mut index, &[put("d/b", 4, "again")]);
    assert_eq!(index.commit(&call()).unwrap(), Generation { number: 2, seq: 4, ..generation });
    assert_eq!(found(data.path(), "*"), ["a", "b"]);
}

#[test]
fn entries_are_listed_in_the_order_of_their_ids() {
    let data = TempDir::new().unwrap();
    let mut index = open(data.path()).unwrap();
    let mut ids: Vec<String> = (0..50).map(|n| format!("d/{}", (n * 37) % 50)).collect();
    for (seq, id) in ids.iter().enumerate() {
        apply(&mut index, &[put(id, seq as i64, "x")]);
        if seq % 9 == 0 {
            index.commit(&call()).unwrap();
        }
    }
    apply(&mut index, &[change("d/7", 99, Op::Delete), put("d/8", 100, "y")]);
    index.commit(&call()).unwrap();
    ids.retain(|id| id != "d/7");
    ids.sort();
    let mut listed: Vec<String> = Vec::new();
    loop {
        let page = index.list(&call(), listed.last().map(String::as_str), 6).unwrap();
        if page.is_empty() {
            break;
        }
        listed.extend(page.into_iter().map(|entry| entry.id));
    }
    assert_eq!(listed, ids);
}

#[test]
fn a_foreign_a_locked_and_a_damaged_index_are_refused_with_what_to_do() {
    let (data, index) = filled(&[put("d/a", 1, "x")]);
    let code = |opened: Result<Opened, Fault>| opened.err().map(|fault| fault.reason());
    let locked = code(open(data.path())).unwrap();
    assert_eq!(locked.code, "index_locked");
    drop(index);
    let foreign = code(open_for(data.path(), "store-2")).unwrap();
    assert_eq!(foreign.code, "foreign_index");
    std::fs::write(data.path().join("index/meta.json"), "{").unwrap();
    let damaged = code(open(data.path())).unwrap();
    assert_eq!(damaged.code, "index_damaged");
    assert!(damaged.message.contains("verify index --repair"), "{}", damaged.message);
    assert!(matches!(Searcher::open(data.path(), "store-1"), Err(Fault::Broken(_))));
}

/// Names of the index's files that say what a segment has lost.
fn lost_files(data: &Path) -> Vec<PathBuf> {
    let all = std::fs::read_dir(data.join("index")).unwrap().map(|entry| entry.unwrap().path());
    all.filter(|path| path.extension().is_some_and(|kind| kind == "del")).collect()
}

#[test]
fn a_file_that_the_next_commit_is_writing_is_no_damage_and_one_of_this_commit_is() {
    let (data, mut index) = filled(&[put("d/a", 1, "x"), put("d/b", 1, "x"), put("d/c", 1, "x")]);
    apply(&mut index, &[put("d/a", 2, "y")]);
    index.commit(&call()).unwrap();
    let context = OutputContext { data: data.path().to_owned(), store: "store-1".to_owned(), session: 0 };
    let damage = || {
        let mut seen = (OUTPUT.look.unwrap())(&serde_json::json!({}), &context).unwrap().unwrap();
        seen.damage(&call(), true).unwrap()
    };
    assert_eq!(damage(), Vec::<String>::new());
    let [own] = &lost_files(data.path())[..] else { panic!("{:?}", lost_files(data.path())) };
    let name = own.file_name().unwrap().to_str().unwrap();
    let (segment, _) = name.split_once('.').unwrap();
    let next = data.path().join(format!("index/{segment}.999999.del"));
    std::fs::write(&next, "").unwrap();
    assert_eq!(damage(), Vec::<String>::new(), "{next:?}");
    // It is written under the same name again as soon as its place in memory is given back.
    let mut bytes = std::fs::read(own).unwrap();
    bytes[0] ^= 1;
    std::fs::remove_file(own).unwrap();
    std::fs::write(own, bytes).unwrap();
    let told = damage();
    assert!(told.iter().any(|told| told.contains(name)), "{told:?}");
}

#[cfg(unix)]
#[test]
fn the_directory_is_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let (data, _index) = filled(&[]);
    assert_eq!(data.path().join("index").metadata().unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn an_index_of_a_newer_program_is_left_alone() {
    let data = TempDir::new().unwrap();
    let commit_metadata = CommitMetadata { format: schema::FORMAT + 1, ..CommitMetadata::new("store-1") };
    IndexDirectory::of(data.path())
        .create(&data.path().join("index"), schema::schema().0, &commit_metadata)
        .unwrap();
    assert_eq!(open(data.path()).err().unwrap().reason().code, "index_newer");
    assert_eq!(Searcher::open(data.path(), "store-1").err().unwrap().reason().code, "index_newer");
}

#[test]
fn an_index_that_was_killed_before_its_first_commit_is_begun_again() {
    let data = TempDir::new().unwrap();
    std::fs::create_dir(data.path().join("index")).unwrap();
    tantivy::Index::create_in_dir(data.path().join("index"), schema::schema().0).unwrap();
    assert!(Searcher::open(data.path(), "store-1").unwrap().is_none());
    let mut index = open(data.path()).unwrap();
    apply(&mut index, &[put("d/a", 1, "x")]);
    index.commit(&call()).unwrap();
    assert_eq!(found(data.path(), "x"), ["a"]);
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Put(u8, i64),
    Access(u8, i64),
    Delete(u8),
    EndOfBatch,
    Commit,
    Reopen,
}

fn step() -> impl proptest::strategy::Strategy<Value = Step> {
    use proptest::prelude::*;
    prop_oneof![
        4 => (0u8..4, 1i64..4).prop_map(|(id, acl_id)| Step::Put(id, acl_id)),
        4 => (0u8..4, 1i64..4).prop_map(|(id, acl_id)| Step::Access(id, acl_id)),
        2 => (0u8..4).prop_map(Step::Delete),
        3 => Just(Step::EndOfBatch),
        1 => Just(Step::Commit),
        1 => Just(Step::Reopen),
    ]
}

/// What an index that applies every change by itself would hold: version and acl by id.
type Model = std::collections::BTreeMap<String, (i64, i64)>;

/// Applies a batch to both and compares the answers.
fn apply_to_both(index: &mut Opened, model: &mut Model, batch: &mut Vec<Change>) {
    let answers = index.apply(&call(), batch);
    for (change, answer) in batch.drain(..).zip(answers) {
        let expected = match (&change.op, model.get_mut(&change.id)) {
            (Op::Put { acl_id, .. }, _) => {
                model.insert(change.id, (change.seq, acl_id.unwrap().0));
                Ok(())
            }
            (Op::Access { acl_id, .. }, Some(entry)) => {
                entry.1 = acl_id.unwrap().0;
                Ok(())
            }
            (Op::Access { .. }, None) => Err(Fault::Gone),
            (Op::Delete, _) => {
                model.remove(&change.id);
                Ok(())
            }
        };
        assert_eq!(answer, expected);
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(12))]
    #[test]
    fn whatever_the_batches_the_index_holds_what_the_changes_say(
        steps in proptest::collection::vec(step(), 1..50), threads in 1usize..3,
    ) {
        let data = TempDir::new().unwrap();
        let settings = Settings { memory_mib: 32, threads };
        let context = OutputContext { data: data.path().to_owned(), store: "store-1".into(), session: 1 };
        let mut index = Opened::open(&settings, &context).unwrap();
        let (mut model, mut batch) = (Model::new(), Vec::new());
        for (seq, step) in steps.into_iter().chain([Step::Commit]).enumerate() {
            let seq = seq as i64 + 1;
            let id = |id: u8| format!("d/{id}");
            match step {
                Step::Put(at, acl_id) => {
                    batch.push(put_as(&id(at), seq, (Some(acl_id), Some(1)), text(&format!("text{seq}"))));
                }
                Step::Access(at, acl_id) => batch.push(access(&id(at), seq, acl_id)),
                Step::Delete(at) => batch.push(change(&id(at), seq, Op::Delete)),
                Step::EndOfBatch => apply_to_both(&mut index, &mut model, &mut batch),
                Step::Commit | Step::Reopen => {
                    apply_to_both(&mut index, &mut model, &mut batch);
                    index.commit(&call()).unwrap();
                    if matches!(step, Step::Reopen) {
                        drop(index);
                        index = Opened::open(&settings, &context).unwrap();
                    }
                }
            }
        }
        let listed = index.list(&call(), None, 100).unwrap();
        let listed: Vec<_> = listed.into_iter().map(|entry| (entry.id, (entry.version.0, entry.acl_id.unwrap().0))).collect();
        assert_eq!(listed, model.clone().into_iter().collect::<Vec<_>>());
        for (id, (seq, _)) in &model {
            assert_eq!(found(data.path(), &format!("text{seq}")), [id.trim_start_matches("d/")]);
        }
    }
}

/// Names the directory in which a child of the test below writes until it is killed.
const KILL_VARIABLE: &str = "INGATHER_TEST_INDEX_KILL";
/// Entries of each commit of the child.
const KILL_EACH: i64 = 40;

/// Commits for ever and tells each one. Every commit also replaces the first entry.
fn write_until_killed(data: &Path) {
    let mut index = open(data).unwrap();
    loop {
        let number = index.generation().number + 1;
        let mut batch: Vec<Change> = (0..KILL_EACH)
            .map(|at| put(&format!("d/{number}-{at}"), number, &format!("n{number}")))
            .collect();
        batch.push(put("d/first", number, &format!("first AND n{number}")));
        apply(&mut index, &batch);
        println!("\ncommitted {}", index.commit(&call()).unwrap().number);
    }
}

#[test]
fn a_kill_at_any_moment_leaves_whole_commits() {
    if let Some(data) = std::env::var_os(KILL_VARIABLE) {
        return write_until_killed(Path::new(&data));
    }
    let data = TempDir::new().unwrap();
    for round in 1..=4 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "tests::writing::a_kill_at_any_moment_leaves_whole_commits", "--nocapture"])
            .env(KILL_VARIABLE, data.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = std::io::BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let told =
            lines.filter_map(|line| line.strip_prefix("committed ")?.parse::<i64>().ok()).nth(round).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        let mut index = open(data.path()).unwrap();
        let number = index.generation().number;
        assert!(number >= told, "commit {told} was told, {number} is there");
        assert_eq!(index.list(&call(), None, usize::MAX).unwrap().len() as i64, number * KILL_EACH + 1);
        assert_eq!(found(data.path(), &format!("first AND n{number}")), ["first"]);
    }
}

#[test]
fn a_cleared_index_holds_nothing_and_takes_everything_again() {
    let data = tempfile::tempdir().unwrap();
    let mut index = open(data.path()).unwrap();
    apply(&mut index, &[put("d/a", 7, "a"), put("d/b", 8, "b")]);
    assert_eq!(index.commit(&call()).unwrap().seq, 8);
    assert_eq!(index.clear(&call()).unwrap().seq, 8, "numbers that it has seen are not given out again");
    assert!(found(data.path(), "*").is_empty());
    apply(&mut index, &[put("d/a", 9, "again")]);
    index.commit(&call()).unwrap();
    assert_eq!(found(data.path(), "*"), ["a"]);
}

#[test]
fn what_a_killed_process_left_is_removed_before_anything_is_written() {
    let data = tempfile::tempdir().unwrap();
    let changes = |index: &mut Opened| {
        apply(index, &[change("d/a", 3, Op::Delete)]);
        index.commit(&call())
    };
    let mut index = open(data.path()).unwrap();
    apply(&mut index, &[put("d/a", 1, "a"), put("d/b", 2, "b")]);
    index.commit(&call()).unwrap();
    drop(index);
    // The same commit twice: once for the file that a kill before its end leaves behind, once for real.
    let copy = tempfile::tempdir().unwrap();
    let copied =
        std::process::Command::new("cp").arg("-r").arg(data.path().join("index")).arg(copy.path()).status();
    assert!(copied.unwrap().success());
    changes(&mut open(copy.path()).unwrap()).unwrap();
    let mut left = 0;
    for file in std::fs::read_dir(copy.path().join("index")).unwrap() {
        let file = file.unwrap();
        if file.file_name().to_string_lossy().ends_with(".del") {
            std::fs::copy(file.path(), data.path().join("index").join(file.file_name())).unwrap();
            left += 1;
        }
    }
    assert!(left > 0, "the commit wrote what was deleted");
    // The list of files is written before the file: a kill leaves both.
    let managed = |folder: &std::path::Path| folder.join("index/.managed.json");
    std::fs::copy(managed(copy.path()), managed(data.path())).unwrap();
    changes(&mut open(data.path()).unwrap()).unwrap();
    assert_eq!(found(data.path(), "*"), ["b"]);
}
