//! What a job keeps of its documents fills an output that is new or lost, where the source cannot be looked at.

use std::os::unix::fs::PermissionsExt;

use crate::files;
use crate::people::{Person, ordinary};
use crate::sandbox::{Kept, Sandbox};

fn kept(store: Kept) -> Sandbox {
    let sandbox = Sandbox::new(store);
    for (name, text) in
        [("a.txt", "pangolin one"), ("d/b.txt", "pangolin two"), ("d/c.txt", "pangolin three")]
    {
        sandbox.write(name, text);
    }
    files::settle(&sandbox.root());
    sandbox.synced(&["--keep", "extracted"]);
    sandbox
}

fn lose_index(sandbox: &Sandbox) {
    std::fs::remove_dir_all(sandbox.data().join("index")).unwrap();
}

#[test]
fn a_lost_index_is_filled_while_the_source_is_away() {
    for store in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = kept(store);
        lose_index(&sandbox);
        let away = sandbox.path().join("away");
        std::fs::rename(sandbox.root(), &away).unwrap();
        let answer = sandbox.run(&["sync", "root"]).exits(1);
        assert!(
            answer
                .err
                .contains("is missing; nothing was removed from index: mount it, or, if it was renamed"),
            "{answer:?}"
        );
        assert!(answer.err.contains("index is new or was replaced; filling it again"), "{answer:?}");
        assert_eq!(sandbox.find("pangolin").len(), 3);
        assert_eq!(
            sandbox.run(&["search", "pangolin", "--as", "root", "--json"]).exits(0).documents().len(),
            3
        );
        sandbox.run(&["verify"]).exits(0);
        // Once it is filled, nothing is sent again.
        let (counts, _) = sandbox.sync(&[]);
        assert_eq!((counts.get("kept"), counts.get("updated")), (3, 0), "{counts:?}");
        std::fs::rename(&away, sandbox.root()).unwrap();
        assert_eq!(sandbox.synced(&[]).get("unchanged"), 3);
    }
}

#[test]
fn an_output_that_is_added_while_the_source_is_away_is_filled() {
    let sandbox = kept(Kept::Sqlite);
    std::fs::rename(sandbox.root(), sandbox.path().join("away")).unwrap();
    sandbox.run(&["sync", "root", "--to", "index", "--to", "journal:j.jsonl", "--update"]).exits(1);
    let journal = std::fs::read_to_string(sandbox.path().join("j.jsonl")).unwrap();
    assert_eq!(journal.matches("pangolin").count(), 3, "{journal}");
}

#[test]
fn a_file_and_a_folder_that_cannot_be_read_are_filled_too_and_still_count_as_such() {
    ingather_testkit::needs!(Users);
    let person = Person::named(ordinary());
    for closed in ["a.txt", "d"] {
        let sandbox = Sandbox::sqlite();
        std::os::unix::fs::chown(sandbox.path(), Some(person.uid), Some(person.gid)).unwrap();
        for (name, text) in
            [("a.txt", "pangolin one"), ("d/b.txt", "pangolin two"), ("d/c.txt", "pangolin three")]
        {
            sandbox.write(name, text);
        }
        for name in ["", "a.txt", "d", "d/b.txt", "d/c.txt"] {
            std::os::unix::fs::chown(sandbox.root().join(name), Some(person.uid), Some(person.gid)).unwrap();
        }
        files::settle(&sandbox.root());
        sandbox.run_as(&person, &["sync", "root", "--keep", "extracted"]).exits(0);
        lose_index(&sandbox);
        std::fs::set_permissions(sandbox.root().join(closed), PermissionsExt::from_mode(0o000)).unwrap();
        files::settle(&sandbox.root());
        sandbox.run_as(&person, &["sync", "root"]).exits(1);
        let found = sandbox.run_as(&person, &["search", "pangolin", "--all", "--json"]).exits(0);
        assert_eq!(found.documents().len(), 3, "{closed}: {found:?}");
        sandbox.run_as(&person, &["verify"]).exits(0);
        // Nobody but root may open it: nobody finds it.
        let stranger = sandbox.run_as(&person, &["search", "pangolin", "--as", "nobody", "--json"]).exits(0);
        let expected = if closed == "d" { 1 } else { 2 };
        assert_eq!(stranger.documents().len(), expected, "{closed}: {stranger:?}");
        // The same for an output that is new.
        let to = ["sync", "root", "--to", "index", "--to", "journal:j.jsonl", "--update"];
        let added = sandbox.run_as(&person, &to).exits(1);
        let journal = std::fs::read_to_string(sandbox.path().join("j.jsonl")).unwrap();
        let texts = ["pangolin one", "pangolin two", "pangolin three"];
        assert!(texts.iter().all(|text| journal.contains(text)), "{closed}: {added:?} {journal}");
        let again = sandbox.run_as(&person, &["sync", "root"]);
        let later = std::fs::read_to_string(sandbox.path().join("j.jsonl")).unwrap();
        let puts = |journal: &str| journal.matches("\"op\":\"put\"").count();
        assert_eq!(puts(&later), puts(&journal), "it is filled once: {again:?}");
        let failed = sandbox.run_as(&person, &["document", "list", "root", "--state", "failed"]).exits(0);
        assert_eq!(failed.out.contains("a.txt"), closed == "a.txt", "it still counts as failed: {failed:?}");
    }
}
