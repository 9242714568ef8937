//! Indexes of earlier formats: rebuilt from what they keep, and searched until then.

use std::path::Path;

use ingather_contract::output::{Generation, Output as _};
use ingather_model::document::Record;
use ingather_model::ids::Digest;
use tantivy::{IndexWriter, Term};
use tempfile::TempDir;

use super::*;
use crate::directory::CommitMetadata;
use crate::entry::StoredFields;
use crate::stemming::Stemming;

/// An index as a program of an earlier format left it: fewer fields, an older number, another order of fields.
fn written_by_an_older_program(data: &Path) -> Generation {
    let commit_metadata = CommitMetadata { format: 1, number: 41, ..CommitMetadata::new("store-1") };
    let mut builder = tantivy::schema::Schema::builder();
    let kept = builder.add_bytes_field("kept", tantivy::schema::STORED);
    let body = builder.add_text_field("body", tantivy::schema::STORED);
    let id = builder.add_text_field("id", tantivy::schema::STRING);
    let columns = ["address", "class", "place", "version", "seq", "job"]
        .map(|name| builder.add_i64_field(name, tantivy::schema::FAST));
    let index =
        IndexDirectory::of(data).create(&data.join("index"), builder.build(), &commit_metadata).unwrap();
    let mut writer: IndexWriter = directory::writer(&index, 1, 15_000_000, data).unwrap();
    for (seq, name) in ["a", "b", "gone"].into_iter().enumerate() {
        let change = put(&format!("d/{name}"), seq as i64, "");
        let record = Record { uri: change.id.clone(), title: "Old title".into(), ..Record::default() };
        let mut document = tantivy::TantivyDocument::new();
        document.add_text(id, &change.id);
        document
            .add_bytes(kept, &serde_json::to_vec(&StoredFields::of(&change, &record, Some("en"))).unwrap());
        document.add_text(body, entry::marked(Stemming::of_code("en"), "He likes running"));
        for (column, number) in columns.into_iter().zip([change.address, 1, 2, 77, change.seq, 3]) {
            document.add_i64(column, number);
        }
        writer.add_document(document).unwrap();
    }
    writer.commit().unwrap();
    writer.delete_term(Term::from_field_text(id, "d/gone"));
    let mut commit = writer.prepare_commit().unwrap();
    commit.set_payload(&commit_metadata.text());
    commit.commit().unwrap();
    commit_metadata.generation()
}

#[test]
fn an_index_of_an_older_format_rebuilds_itself_from_what_it_keeps() {
    let data = TempDir::new().unwrap();
    let generation = written_by_an_older_program(data.path());
    let older = Searcher::open(data.path(), "store-1").err().unwrap();
    assert_eq!(older.reason().code, "index_older");
    let mut index = open(data.path()).unwrap();
    assert_eq!(index.generation(), generation, "what was confirmed stays confirmed");
    assert_eq!(found(data.path(), "run title:old"), ["a", "b"]);
    assert_eq!(results(data.path(), &request("run", only(&[1], &[2]))).total, 2);
    let entries = index.list(&call(), None, 9).unwrap();
    assert_eq!(entries.iter().map(|entry| entry.version).collect::<Vec<_>>(), [Digest(77), Digest(77)]);
    apply(&mut index, &[put("d/a", 9, "new")]);
    assert_eq!(index.commit(&call()).unwrap().number, 42);
    assert_eq!(found(data.path(), "run"), ["b"]);
    let left: Vec<_> =
        std::fs::read_dir(data.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["index"], "nothing is left of the old one");
}

#[test]
fn an_index_of_the_format_before_answers_until_it_is_rebuilt() {
    let data = TempDir::new().unwrap();
    let (of_today, _) = schema::schema();
    let mut builder = tantivy::schema::Schema::builder();
    for (_, field) in of_today.fields() {
        if !["title_order", "path_order", "name_order", "text", "text_bucket"].contains(&field.name()) {
            builder.add_field(field.clone());
        }
    }
    let of_then = builder.build();
    let fields = schema::Fields::of(&of_then).unwrap();
    let commit_metadata = CommitMetadata { format: 2, ..CommitMetadata::new("store-1") };
    let index = IndexDirectory::of(data.path())
        .create(&data.path().join("index"), of_then, &commit_metadata)
        .unwrap();
    let mut writer: IndexWriter<entry::Entry> =
        directory::writer(&index, 1, 15_000_000, data.path()).unwrap();
    for (seq, name) in ["b", "a"].into_iter().enumerate() {
        let change = put(&format!("d/{name}"), seq as i64, "");
        let record = Record { uri: change.id.clone(), title: name.into(), ..Record::default() };
        let kept = StoredFields::of(&change, &record, Some("en"));
        let numbers = entry::Numbers {
            address: change.address,
            job: 3,
            seq: change.seq,
            version: 77,
            acl_id: Some(1),
            container: Some(2),
            size: None,
            modified: None,
            created: None,
        };
        let body = entry::marked(Stemming::of_code("en"), "He likes running");
        writer.add_document(entry::Entry::new(&fields, &kept, &numbers, Some(&body), None)).unwrap();
    }
    let mut commit = writer.prepare_commit().unwrap();
    commit.set_payload(&commit_metadata.text());
    commit.commit().unwrap();
    drop(writer);

    let mut before = results(data.path(), &SearchRequest { folds: true, ..request("run", only(&[1], &[2])) });
    before.hits.sort_by(|one, other| one.document.cmp(&other.document));
    let names: Vec<&str> = before.hits.iter().map(|hit| hit.document.as_str()).collect();
    assert_eq!(names, ["a", "b"], "nobody knows that their texts are equal");
    assert!(before.notes.iter().any(|note| note.contains("older version")), "{:?}", before.notes);
    assert_eq!(results(data.path(), &request("run", only(&[9], &[2]))).total, 0, "access rules as ever");
    let directory = IndexDirectory::of(data.path());
    let (old, of_it) = directory.open().unwrap();
    let settings = Settings { memory_mib: 32, threads: 1 };
    let mut told = Vec::new();
    let mut report = |done, all| told.push((done, all, found(data.path(), "run")));
    rebuild::rebuild(&settings, &directory, &old, &of_it, &mut report).unwrap();
    drop(old);
    assert_eq!(told, [(2, 2, vec!["a".to_owned(), "b".to_owned()])], "it answers beside the rebuild, too");
    let after = results(data.path(), &SearchRequest { folds: true, ..request("run", only(&[1], &[2])) });
    assert_eq!((after.hits.len(), after.hits[0].copies), (1, 1));
    assert!(after.notes.is_empty(), "{:?}", after.notes);
}

#[test]
fn an_interrupted_rebuild_or_swap_loses_nothing() {
    let data = TempDir::new().unwrap();
    let generation = written_by_an_older_program(data.path());
    let dir = |name: &str| data.path().join(name);
    std::fs::create_dir(dir("index.new")).unwrap();
    std::fs::write(dir("index.new/half"), "x").unwrap();
    assert_eq!(open(data.path()).unwrap().generation(), generation, "a half-built one is thrown away");
    // Killed after the first of the two renames.
    std::fs::rename(dir("index"), dir("index.new")).unwrap();
    std::fs::create_dir(dir("index.old")).unwrap();
    assert_eq!(open(data.path()).unwrap().generation(), generation);
    assert_eq!(found(data.path(), "run"), ["a", "b"]);
    assert!(!dir("index.old").exists() && !dir("index.new").exists());
}
