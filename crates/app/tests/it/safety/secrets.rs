//! Secrets in definitions are sealed at rest, told nowhere, and open only with their key, in their place (decision 0036).

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use ingather_store::Target;
use ingather_testkit::database::Database;
use serde_json::json;

use crate::files;
use crate::pipeline::inside::PROTECTED;
use crate::sandbox::{Answer, Kept, Sandbox, finish};
use crate::stops::upgrade::comes;

/// The password of the archive.
pub(crate) const OPENS: &str = "narwhal";
/// One that is tried in vain, and that nothing has by chance.
pub(crate) const PLANTED: &str = "c6f1e0-gymnospermous-40b9";

/// A source with a protected archive, and the file of a pipeline with its password.
fn protected(kept: Kept) -> (Sandbox, PathBuf) {
    let sandbox = Sandbox::new(kept);
    std::fs::write(sandbox.root().join("a.zip"), PROTECTED).unwrap();
    files::settle(&sandbox.root());
    let file = pipeline_of(&sandbox, &[PLANTED, OPENS]);
    (sandbox, file)
}

fn pipeline_of(sandbox: &Sandbox, passwords: &[&str]) -> PathBuf {
    let stages = json!({"stages": [{"transform": "text", "settings": {"passwords": passwords}}]});
    let file = sandbox.path().join("stages.json");
    std::fs::write(&file, stages.to_string()).unwrap();
    file
}

/// A job that reads the archive, in both kinds of store.
pub(crate) fn synced(kept: Kept) -> Sandbox {
    let (sandbox, file) = protected(kept);
    sandbox.synced(&["--pipeline", file.to_str().unwrap()]);
    assert_eq!(sandbox.find("whale"), ["a.zip"]);
    sandbox
}

fn key(sandbox: &Sandbox) -> PathBuf {
    sandbox.data().join("secrets.key")
}

/// The inventory, wherever it is.
pub(crate) fn database(sandbox: &Sandbox) -> Database {
    match sandbox.database() {
        Some(database) => Database::at(database.target.clone()),
        None => Database::at(Target::Sqlite(sandbox.data().join("store.db"))),
    }
}

fn asked(database: &Database, question: &str) -> String {
    match &database.target {
        Target::Sqlite(file) => {
            let connection = rusqlite::Connection::open(file).unwrap();
            connection.query_row(question, [], |row| row.get(0)).unwrap()
        }
        Target::Postgres(url) => {
            let mut client = postgres::Client::connect(url, postgres::NoTls).unwrap();
            client.query_one(question, &[]).unwrap().get(0)
        }
    }
}

/// The definition of a job as it is stored.
fn definition(sandbox: &Sandbox, job: &str) -> String {
    asked(&database(sandbox), &format!("SELECT definition FROM job WHERE name = '{job}'"))
}

pub(crate) fn redefine(sandbox: &Sandbox, job: &str, definition: &str) {
    let definition = definition.replace('\'', "''");
    database(sandbox).script(&format!("UPDATE job SET definition = '{definition}' WHERE name = '{job}';"));
}

fn has(bytes: &[u8], word: &str) -> bool {
    bytes.windows(word.len()).any(|window| window == word.as_bytes())
}

/// That no password stands in a file of the store, once nobody sees the database as it was before: transactions of other databases of
/// the server count, such as those of other tests.
#[track_caller]
pub(crate) fn wiped(sandbox: &Sandbox, at: &str) {
    let mut left = Vec::new();
    let is_wiped = || {
        left = found(sandbox);
        left.is_empty() || sandbox.run(&["sync", "root"]).code != 0
    };
    assert!(comes(is_wiped) && left.is_empty(), "{at}: {left:?}");
}

/// Where a password stands in files, or in any row of a database; nowhere, if all is well.
pub(crate) fn found(sandbox: &Sandbox) -> Vec<String> {
    let mut found = Vec::new();
    for word in [PLANTED, OPENS] {
        for (file, bytes) in sandbox.snapshot() {
            if has(&bytes, word) {
                found.push(format!("{word} in {}", file.display()));
            }
        }
        if sandbox.url().is_some() {
            // All rows of all tables, and the file of the one with the definitions.
            let rows = asked(&database(sandbox), "SELECT database_to_xml(true, false, '')::text");
            assert!(rows.contains("$sealed"), "the database was not read");
            database(sandbox).script("CHECKPOINT;");
            // What is long is in a file of its own.
            let file = "SELECT string_agg(encode(pg_read_binary_file(pg_relation_filepath(part)), 'escape'), '') \
                FROM (SELECT oid AS part FROM pg_class WHERE relname = 'job' \
                UNION ALL SELECT reltoastrelid FROM pg_class WHERE relname = 'job') parts";
            let file = asked(&database(sandbox), file);
            if rows.contains(word) || file.contains(word) {
                found.push(format!("{word} in the database"));
            }
        }
    }
    found
}

fn says(answer: &Answer, words: &[&str]) {
    let told = format!("{}{}", answer.out, answer.err);
    for word in words {
        assert!(told.contains(word), "`{word}` is not in {told}");
    }
}

#[test]
fn a_password_is_in_no_byte_that_is_kept_and_in_no_answer() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let (sandbox, file) = protected(kept);
        let file = file.to_str().unwrap();
        let backup = sandbox.path().join("backup.tar");
        let mut told = Vec::new();
        for arguments in [
            &["sync", "root", "-vv", "--pipeline", file][..],
            &["sync", "root", "-vv", "--pipeline", file],
            &["sync", "root", "-vv", "--reread", "--json"],
            &["pipeline", "try", "root", "a.zip"],
            &["document", "explain", "root", "a.zip"],
            &["export"],
            &["job", "show", "root", "--json"],
            &["job", "list", "--json"],
            &["history", "--json"],
            &["history", "--documents", "--json"],
            &["status", "--json"],
            &["audit", "--json"],
            &["doctor", "--json"],
            &["backup", backup.to_str().unwrap()],
        ] {
            let answer = sandbox.run(arguments);
            assert!(answer.code <= 1, "{arguments:?}: {answer:#?}");
            told.push(answer);
        }
        says(&told[1], &["unchanged"]);
        // One that fails, too.
        let other = pipeline_of(&sandbox, &[PLANTED]);
        told.push(sandbox.run(&["sync", "root", "-vv", "--update", "--pipeline", other.to_str().unwrap()]));
        told.push(sandbox.run(&["document", "explain", "root", "a.zip"]));
        let refused =
            json!({"stages": [{"transform": "text", "settings": {"passwords": [PLANTED], "x": OPENS}}]});
        std::fs::write(&other, refused.to_string()).unwrap();
        told.push(sandbox.run(&["sync", "root", "--update", "--pipeline", other.to_str().unwrap()]).exits(2));
        for answer in &told {
            for word in [PLANTED, OPENS] {
                assert!(!answer.out.contains(word) && !answer.err.contains(word), "{answer:#?}");
            }
        }
        assert!(definition(&sandbox, "root").contains("$sealed"));
        assert_eq!(found(&sandbox), [""; 0]);
        let archive = std::fs::read(&backup).unwrap();
        let secret = std::fs::read_to_string(key(&sandbox)).unwrap();
        let (_, digits) = secret.trim().split_once(':').unwrap();
        for word in [PLANTED, OPENS, digits] {
            assert!(!has(&archive, word), "{word} is in the backup");
        }
        let facts = std::fs::metadata(key(&sandbox)).unwrap();
        assert_eq!(facts.permissions().mode() & 0o777, 0o600);
        for (file, bytes) in sandbox.snapshot() {
            assert!(file == key(&sandbox) || !has(&bytes, digits), "the key is in {}", file.display());
        }
    }
}

#[test]
fn without_secrets_there_is_no_key() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    files::settle(&sandbox.root());
    sandbox.synced(&[]);
    assert!(!key(&sandbox).exists());
}

/// What holds while the key cannot be used: the job is refused by the sentence, and all else goes on.
#[track_caller]
fn refused_and_kept(sandbox: &Sandbox, words: &[&str]) {
    let before = definition(sandbox, "root");
    let answer = sandbox.run(&["sync", "root"]);
    assert!(answer.code > 1, "{answer:#?}");
    says(&answer, words);
    says(&sandbox.run(&["doctor"]).exits(1), words);
    says(&sandbox.run(&["status"]).exits(1), &["job root: `", "cannot be opened"]);
    for arguments in [&["job", "list"][..], &["status"], &["job", "show", "root"], &["export"]] {
        let answer = sandbox.run(arguments);
        assert!(answer.code <= 1, "{arguments:?}: {answer:#?}");
        assert!(!answer.out.contains("$sealed"), "{arguments:?}: {answer:#?}");
    }
    assert_eq!(sandbox.find("whale"), ["a.zip"], "nothing is lost");
    assert_eq!(definition(sandbox, "root"), before, "nothing is changed");
    // Another one needs none.
    sandbox.run(&["sync", "other", "--name", "other"]).exits(0);
}

#[test]
fn a_key_that_is_missing_another_one_open_to_others_or_damaged_stops_the_jobs_that_need_it_alone() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = synced(kept);
        std::fs::create_dir(sandbox.path().join("other")).unwrap();
        std::fs::write(sandbox.path().join("other/b.txt"), "banana").unwrap();
        let (key, away) = (key(&sandbox), sandbox.path().join("away.key"));
        let whole = std::fs::read_to_string(&key).unwrap();

        std::fs::rename(&key, &away).unwrap();
        refused_and_kept(&sandbox, &["secrets.key is not there", "--secrets-key"]);
        assert!(!key.exists(), "none is made in its place");
        // A secret of another job is not sealed with a second key.
        let stages = pipeline_of(&sandbox, &["orca"]);
        let arguments = ["sync", "other", "--name", "third", "--pipeline", stages.to_str().unwrap()];
        let third = sandbox.run(&arguments);
        says(&third, &["secrets.key is not there"]);
        assert!(third.code > 1 && !key.exists());

        let other = Sandbox::sqlite();
        std::fs::write(other.root().join("a.zip"), PROTECTED).unwrap();
        other.synced(&["--pipeline", stages.to_str().unwrap()]);
        std::fs::copy(other.data().join("secrets.key"), &key).unwrap();
        refused_and_kept(&sandbox, &["secrets.key holds", "--secrets-key"]);

        std::fs::write(&key, &whole[..whole.len() / 2]).unwrap();
        refused_and_kept(&sandbox, &["secrets.key is damaged"]);

        std::fs::write(&key, &whole).unwrap();
        std::fs::set_permissions(&key, Permissions::from_mode(0o640)).unwrap();
        refused_and_kept(&sandbox, &["chmod 600"]);

        // Named where it is, or put back, it works as before, and nothing is sent again.
        std::fs::remove_file(&key).unwrap();
        let named = sandbox.run(&["sync", "root", "--secrets-key", away.to_str().unwrap()]);
        says(&named.exits(0), &["unchanged"]);
        let mut command = sandbox.command(&["sync", "root"]);
        command.env("INGATHER_SECRETS_KEY", &away);
        finish(command, None).exits(0);
        std::fs::rename(&away, &key).unwrap();
        let counts = sandbox.synced(&[]);
        assert_eq!(counts.get("unchanged"), 1, "{counts:?}");
    }
}

#[test]
fn a_lost_key_is_replaced_once_nothing_is_sealed_with_it() {
    let sandbox = synced(Kept::Sqlite);
    std::fs::remove_file(key(&sandbox)).unwrap();
    let file = pipeline_of(&sandbox, &[]);
    sandbox.run(&["sync", "root", "--update", "--pipeline", file.to_str().unwrap()]);
    let file = pipeline_of(&sandbox, &[PLANTED, OPENS]);
    sandbox.synced(&["--update", "--pipeline", file.to_str().unwrap()]);
    assert!(key(&sandbox).exists());
    assert_eq!(sandbox.find("whale"), ["a.zip"]);
    assert_eq!(found(&sandbox), [""; 0]);
}

#[test]
fn a_sealed_secret_opens_nowhere_else_and_a_changed_one_nowhere() {
    let sandbox = synced(Kept::Sqlite);
    std::fs::create_dir(sandbox.path().join("other")).unwrap();
    std::fs::write(sandbox.path().join("other/a.zip"), PROTECTED).unwrap();
    let file = pipeline_of(&sandbox, &["orca"]);
    sandbox.run(&["sync", "other", "--name", "other", "--pipeline", file.to_str().unwrap()]);
    let stored = definition(&sandbox, "root");
    let sealed_in = |definition: &str| -> String {
        let value: serde_json::Value = serde_json::from_str(definition).unwrap();
        value["stages"][0]["settings"]["passwords"]["$sealed"].as_str().unwrap().to_owned()
    };
    let (own, theirs) = (sealed_in(&stored), sealed_in(&definition(&sandbox, "other")));
    let refused = |job: &str, folder: &str, words: &[&str]| {
        let answer = sandbox.run(&["sync", folder, "--name", job]);
        assert!(answer.code > 1, "{answer:#?}");
        says(&answer, words);
    };
    let moved = ["moved here from another place"];
    // Of another job; of another place of the same job; with another byte; cut off.
    redefine(&sandbox, "root", &stored.replace(&own, &theirs));
    refused("root", "root", &moved);
    let settings = format!("{{\"passwords\":{{\"$sealed\":\"{own}\"}}}}");
    assert!(stored.contains(&settings), "{stored}");
    let twice = format!("{{\"transform\":\"text\",\"settings\":{settings}}}");
    let before = format!("{{\"transform\":\"limit\",\"settings\":{{\"characters\":9}}}},{twice}");
    assert!(stored.contains(&twice), "{stored}");
    redefine(&sandbox, "root", &stored.replace(&twice, &before));
    refused("root", "root", &moved);
    let last = own.chars().last().unwrap();
    let flipped = format!("{}{}", &own[..own.len() - 4], if last == 'A' { "BBBB" } else { "AAAA" });
    for damaged in [flipped.as_str(), &own[..own.len() - 8], "", "1.x"] {
        redefine(&sandbox, "root", &stored.replace(&own, damaged));
        refused("root", "root", &moved);
        assert_eq!(sandbox.find("whale"), ["a.zip"]);
    }
    // In a place that is shown it stays what it is.
    let shown = stored.replace(&settings, &format!("{{\"password_variable\":{{\"$sealed\":\"{own}\"}}}}"));
    redefine(&sandbox, "root", &shown);
    let told = sandbox.run(&["job", "show", "root", "--json"]);
    assert!(!told.out.contains(OPENS) && !told.out.contains(PLANTED), "{told:#?}");
    assert!(sandbox.run(&["sync", "root"]).code > 1);
    redefine(&sandbox, "root", &stored);
    sandbox.synced(&[]);
}

#[test]
fn what_looks_sealed_is_taken_from_nobody() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    files::settle(&sandbox.root());
    let file = sandbox.path().join("stages.json");
    for settings in [json!({"passwords": {"$sealed": "1.x.y"}}), json!({"passwords": [{"$sealed": 1}]})] {
        let stages = json!({"stages": [{"transform": "text", "settings": settings}]});
        std::fs::write(&file, stages.to_string()).unwrap();
        let answer = sandbox.run(&["sync", "root", "--pipeline", file.to_str().unwrap()]);
        answer.refuses(2, &["`$sealed`", "give the secret itself"]);
    }
}

#[test]
fn a_key_that_lies_in_a_source_is_no_document() {
    let (sandbox, file) = protected(Kept::Sqlite);
    let key = sandbox.root().join("key");
    let named = ["--pipeline", file.to_str().unwrap(), "--secrets-key", key.to_str().unwrap()];
    sandbox.synced(&named);
    assert!(key.exists() && !self::key(&sandbox).exists());
    sandbox.synced(&["--reread", "--secrets-key", key.to_str().unwrap()]);
    assert!(sandbox.everything().iter().all(|document| document == "a.zip"));
}

#[test]
fn a_backup_has_no_key_and_says_which_one_is_needed() {
    let sandbox = synced(Kept::Sqlite);
    let backup = sandbox.path().join("backup.tar");
    let made = sandbox.run(&["backup", backup.to_str().unwrap()]).exits(0);
    says(&made, &["which is in no backup", "secrets.key"]);
    let there = sandbox.path().join("there");
    std::fs::rename(sandbox.data(), &there).unwrap();
    let restored = sandbox.run(&["restore", backup.to_str().unwrap()]).exits(0);
    says(&restored, &["which is in no backup", "secrets.key", "--secrets-key"]);
    assert!(!key(&sandbox).exists());
    let refused = sandbox.run(&["sync", "root"]);
    says(&refused, &["secrets.key is not there"]);
    assert!(refused.code > 1);
    std::fs::copy(there.join("secrets.key"), key(&sandbox)).unwrap();
    let counts = sandbox.synced(&[]);
    assert_eq!(counts.get("unchanged"), 1, "{counts:?}");
    assert_eq!(sandbox.find("whale"), ["a.zip"]);
}

/// Makes of a store one as a program of before has left it: the password as it is, and written over once before.
pub(crate) fn as_before(sandbox: &Sandbox) {
    let stored: serde_json::Value = serde_json::from_str(&definition(sandbox, "root")).unwrap();
    let mut plain = stored;
    plain["stages"][0]["settings"]["passwords"] = json!([PLANTED, OPENS, "x".repeat(900)]);
    redefine(sandbox, "root", &plain.to_string());
    plain["stages"][0]["settings"]["passwords"] = json!([PLANTED, OPENS]);
    redefine(sandbox, "root", &plain.to_string());
    database(sandbox)
        .script("DELETE FROM migration WHERE number = 18; DELETE FROM meta WHERE name = 'secrets_key';");
    if key(sandbox).exists() {
        std::fs::remove_file(key(sandbox)).unwrap();
    }
}

#[test]
fn a_store_of_before_is_sealed_by_its_first_writer_and_nothing_plain_is_left_in_its_files() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = synced(kept);
        as_before(&sandbox);
        let plain = definition(&sandbox, "root");
        assert!(plain.contains(PLANTED));
        assert!(!sandbox.run(&["job", "list"]).exits(3).err.contains(PLANTED));
        let counts = sandbox.synced(&[]);
        assert_eq!(counts.get("unchanged"), 1, "nothing is read or sent again: {counts:?}");
        assert!(definition(&sandbox, "root").contains("$sealed"));
        wiped(&sandbox, "sealed");
        let looked = sandbox.run(&["doctor"]).exits(0);
        says(&looked, &["sealed with the key in"]);
        sandbox.synced(&["--reread"]);
        assert_eq!(sandbox.find("whale"), ["a.zip"]);
    }
}

#[test]
fn another_key_opens_all_and_the_one_before_nothing() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = synced(kept);
        let (key, before) = (key(&sandbox), definition(&sandbox, "root"));
        let old = std::fs::read(&key).unwrap();
        let rotated = sandbox.run(&["secrets", "rotate", "--json"]).exits(0).json().remove(0);
        assert_ne!(rotated["before"], rotated["key"]);
        assert_eq!(rotated["file"], key.display().to_string());
        let new = std::fs::read(&key).unwrap();
        assert!(new != old && !sandbox.data().join("secrets.key.next").exists());
        assert_eq!(std::fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
        let after = definition(&sandbox, "root");
        assert!(after.contains(&format!("\"1.{}.", rotated["key"].as_str().unwrap())), "{after}");
        let (_, sealed) = before.split_once("$sealed\":\"").unwrap();
        let (sealed, _) = sealed.split_once('"').unwrap();
        for (file, bytes) in sandbox.snapshot() {
            assert!(!has(&bytes, sealed), "what the old key opens is in {}", file.display());
        }
        assert_eq!(sandbox.synced(&[]).get("unchanged"), 1, "nothing is sent again");
        assert_eq!(found(&sandbox), [""; 0]);
        std::fs::write(&key, &old).unwrap();
        let refused = sandbox.run(&["sync", "root"]);
        says(&refused, &["secrets.key holds"]);
        // Nor is another one put in its place by somebody who has not the right one.
        says(&sandbox.run(&["secrets", "rotate"]).exits(3), &["secrets.key holds"]);
        std::fs::write(&key, &new).unwrap();
        sandbox.run(&["secrets", "rotate"]).exits(0);
        sandbox.synced(&["--reread"]);
        assert_eq!(sandbox.find("whale"), ["a.zip"]);
    }
    let none = Sandbox::sqlite();
    none.write("a.txt", "apple");
    files::settle(&none.root());
    none.synced(&[]);
    says(&none.run(&["secrets", "rotate"]).exits(0), &["nothing is sealed"]);
    assert!(!key(&none).exists());
}

#[test]
fn a_rotation_that_was_cut_off_is_ended_by_the_next_writer() {
    let sandbox = synced(Kept::Sqlite);
    let (key, next) = (key(&sandbox), sandbox.data().join("secrets.key.next"));
    let old = std::fs::read(&key).unwrap();
    sandbox.run(&["secrets", "rotate"]).exits(0);
    // All is sealed, and the new key has not the name yet.
    let new = std::fs::read(&key).unwrap();
    std::fs::rename(&key, &next).unwrap();
    std::fs::write(&key, &old).unwrap();
    std::fs::set_permissions(&key, Permissions::from_mode(0o600)).unwrap();
    says(&sandbox.run(&["sync", "root", "--dry-run"]).exits(0), &["unchanged"]);
    assert!(next.exists(), "who only looks changes nothing");
    assert_eq!(sandbox.synced(&[]).get("unchanged"), 1);
    assert!(std::fs::read(&key).unwrap() == new && !next.exists());
    // One that nothing was sealed with stands in nobody's way.
    std::fs::write(&next, &old).unwrap();
    std::fs::set_permissions(&next, Permissions::from_mode(0o600)).unwrap();
    assert_eq!(sandbox.synced(&[]).get("unchanged"), 1);
    assert_eq!(std::fs::read(&key).unwrap(), new);
    sandbox.run(&["secrets", "rotate"]).exits(0);
    assert!(!next.exists() && std::fs::read(&key).unwrap() != old);
    assert_eq!(sandbox.synced(&[]).get("unchanged"), 1);
}

#[test]
fn a_folder_without_the_right_to_make_a_key_stores_no_secret() {
    let (sandbox, file) = protected(Kept::Sqlite);
    let key = Path::new("/nowhere/at/all/secrets.key");
    let arguments = ["sync", "root", "--pipeline", file.to_str().unwrap(), "--secrets-key"];
    let refused = sandbox.run(&[&arguments[..], &[key.to_str().unwrap()]].concat());
    assert!(refused.code > 1, "{refused:#?}");
    says(&refused, &["the secrets key /nowhere/at/all/secrets.key cannot be made"]);
    for (file, bytes) in sandbox.snapshot() {
        assert!(!has(&bytes, PLANTED), "{}", file.display());
    }
}
