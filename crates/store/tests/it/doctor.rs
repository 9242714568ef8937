//! The doctor's checks: each finds the fault that is planted for it and nothing else, and its repair leaves a clean store.

use std::collections::BTreeSet;

use ingather_store::doctor::{self, CHECKS, NOT_YET};
use ingather_store::{Durability, Store, Target};

use crate::world::{faults, on_both};

/// A store as a few runs leave it: two jobs, an index and a journal, a document of each state; two wait for their first
/// visit, and one of them was sent already.
const SAMPLE: &str = "
INSERT INTO connection (handle, role, kind, name, settings, generation, changed_at) VALUES
 (1,'repository','filesystem','files','{}',0,1), (2,'output','index','index','{}',3,1), (3,'output','journal','journal:/j','{}',0,1),
 (7,'authority','scim','acme','{}',0,1);
INSERT INTO person VALUES (7,'a','ann','ann',NULL,1,'{}',1,1,1), (7,'b','bob','bob',NULL,1,'{}',1,1,1);
INSERT INTO person_group VALUES (7,'g','staff','staff',NULL,'{}',1,1,1), (7,'h','all','all',NULL,'{}',1,1,1);
INSERT INTO membership VALUES (7,'g','a',0), (7,'h','g',1);
INSERT INTO job (handle, name, repository, root, state, run, definition, revision, created_at) VALUES
 (4,'one',1,'/a','resting',2,'{}',1,1), (5,'two',1,'/b','working',1,'{}',1,1);
INSERT INTO run (job, number, kind, started_at, listed_at, ended_at, outcome, guard) VALUES
 (4,1,'full',1,2,3,'done','void'), (4,2,'full',4,5,6,'done',NULL);
INSERT INTO run (job, number, kind, started_at) VALUES (5,1,'full',7);
INSERT INTO listed_ids VALUES (4,2,0,''), (5,1,0,'');
INSERT INTO acl VALUES (1,1,7,'{}');
INSERT INTO container (id, connection, parent, name, identity, acl) VALUES (1,1,NULL,'/','1',1), (2,1,1,'/a','2',1);
INSERT INTO document (id, job, parent_hash, key_hash, version, access, settings, identity, acl, container, changed_run) VALUES
 (1,4,1,1,9,9,9,0,1,2,1), (2,4,1,2,9,9,9,0,1,2,2), (3,4,1,3,9,9,9,0,NULL,2,2), (4,4,1,4,0,0,9,0,1,2,2), (5,5,1,1,9,9,9,0,1,2,1),
 (6,5,1,2,9,9,0,0,NULL,2,1), (7,5,1,3,9,9,0,0,NULL,2,1);
INSERT INTO document_text (id, key_text) VALUES (1,'a'), (2,'b'), (3,'c'), (4,'d'), (5,'a'), (6,'b'), (7,'c');
INSERT INTO queue VALUES (4,4,0,2,'new',1);
INSERT INTO failure VALUES (3,4,'failed',1,8,1,'unreadable','no',0);
INSERT INTO delivery (document, component, output, address_parent, address, seq, intended, intended_acl, confirmed, confirmed_acl, intent_at, confirmed_at, outcome) VALUES
 (1,0,2,1,1,1,50,60,50,60,1,2,NULL), (1,0,3,1,1,2,50,60,50,60,1,1,NULL), (2,0,2,1,2,3,51,60,51,60,3,3,NULL),
 (4,0,2,1,4,4,52,60,NULL,NULL,4,NULL,NULL), (5,0,2,1,1,5,50,60,50,60,5,6,NULL),
 (6,0,2,1,6,6,53,60,NULL,NULL,7,NULL,NULL);
INSERT INTO delivery (document, component, output, address_parent, address, seq, intended, intended_acl, confirmed, confirmed_acl, intent_at, confirmed_at) VALUES
 (2,77,2,2,3,5,53,60,53,60,3,3);
INSERT INTO component VALUES (2,77,'inside.txt',0);
INSERT INTO tally VALUES (4,'documents',4), (4,'settled',2), (4,'failed',1), (5,'documents',3), (5,'settled',1);
INSERT INTO id_block VALUES ('document',8), ('container',3), ('acl',2), ('handle',8), ('seq',7);
";

/// Checks with a fault for each, and whether the repair leaves nothing of it.
const FAULTS: &[(&str, &str, bool)] = &[
    ("work_of_nothing", "INSERT INTO queue VALUES (99,4,0,2,'new',1)", true),
    (
        "work_of_nothing",
        "INSERT INTO queue VALUES (2,5,0,1,'changed',1); UPDATE tally SET n = 1 WHERE job = 4 AND name = 'settled'",
        true,
    ),
    ("nameless_documents", "DELETE FROM document_text WHERE id = 2", false),
    ("nameless_documents", "DELETE FROM document_text WHERE id = 3", true),
    ("names_of_nothing", "INSERT INTO document_text (id, key_text) VALUES (99,'x')", true),
    (
        "deliveries_of_nothing",
        "INSERT INTO delivery (document, component, output, address_parent, address, seq, intended, intended_acl, confirmed, confirmed_acl, intent_at, confirmed_at) VALUES (99,0,2,1,9,1,5,6,5,6,1,1)",
        false,
    ),
    ("unconfirmed", "UPDATE delivery SET confirmed = NULL WHERE document = 2", true),
    ("unconfirmed", "UPDATE delivery SET confirmed_acl = 61 WHERE document = 2", true),
    (
        "unconfirmed",
        "UPDATE delivery SET confirmed = NULL, confirmed_acl = NULL, outcome = 'lost' WHERE document = 2",
        true,
    ),
    (
        "forgotten",
        "DELETE FROM failure WHERE document = 3; DELETE FROM tally WHERE job = 4 AND name = 'failed';
         UPDATE tally SET n = 3 WHERE job = 4 AND name = 'settled'",
        true,
    ),
    ("confirmed_before_intent", "UPDATE delivery SET intent_at = 9 WHERE document = 2", true),
    ("confirmed_before_intent", "UPDATE delivery SET confirmed_at = NULL WHERE document = 2", true),
    ("owners_differ", "UPDATE delivery SET intended = 77, confirmed = 77 WHERE document = 5", true),
    ("miscounted", "UPDATE tally SET n = 3 WHERE job = 4", true),
    ("miscounted", "DELETE FROM tally WHERE job = 5", true),
    ("miscounted", "UPDATE tally SET n = 1 WHERE job = 4 AND name = 'settled'", true),
    ("miscounted", "UPDATE tally SET name = 'skipped' WHERE job = 4 AND name = 'failed'", true),
    ("below_zero", "UPDATE tally SET n = -1 WHERE job = 4", true),
    ("open_runs", "UPDATE run SET ended_at = NULL WHERE job = 4", true),
    ("later_runs", "UPDATE document SET changed_run = 3 WHERE id = 1", true),
    ("marks_of_nothing", "INSERT INTO listed_ids VALUES (4,9,0,'')", true),
    ("ids_beyond", "UPDATE id_block SET next = 5 WHERE name = 'document'", true),
    ("ids_beyond", "DELETE FROM id_block WHERE name = 'seq'", true),
    ("ids_beyond", "UPDATE id_block SET next = 5 WHERE name = 'handle'", true),
    ("held_by_older", "UPDATE run SET guard = 'held', held = '' WHERE job = 4 AND number = 1", true),
    ("held_by_older", "UPDATE run SET guard = 'held' WHERE job = 4 AND number = 2", true),
    (
        "documents_of_no_job",
        "UPDATE document SET job = 99, changed_run = 1 WHERE id = 3; DELETE FROM tally WHERE job = 4 AND name = 'failed';
         UPDATE tally SET n = 3 WHERE job = 4 AND name = 'documents'",
        true,
    ),
    (
        "documents_of_no_job",
        "UPDATE document SET job = 99 WHERE id = 2; UPDATE tally SET n = n - 1 WHERE job = 4 AND name <> 'failed'",
        false,
    ),
    ("runs_of_no_job", "INSERT INTO run (job, number, kind, started_at) VALUES (99,1,'full',1)", true),
    ("runs_of_no_job", "INSERT INTO tally VALUES (99,'other',1)", true),
    ("runs_of_no_job", "INSERT INTO blind_spot VALUES (99,1,1,'/','x','x')", true),
    ("trouble_of_nothing", "INSERT INTO failure VALUES (99,4,'failed',1,8,1,'x','x',0)", true),
    (
        "retried_by_nobody",
        "UPDATE failure SET kind = 'retrying' WHERE document = 3; DELETE FROM tally WHERE job = 4 AND name = 'failed';
         UPDATE tally SET n = 3 WHERE job = 4 AND name = 'settled'",
        true,
    ),
    ("addresses_of_nothing", "INSERT INTO delivery_uri VALUES (99,2,'x')", true),
    ("components_of_nothing", "INSERT INTO component VALUES (1,9,'nothing',0)", true),
    ("components_of_nothing", "INSERT INTO component VALUES (99,9,'nothing',0)", true),
    ("links_of_nothing", "INSERT INTO link VALUES (99,'')", true),
    ("handed_down_of_nothing", "INSERT INTO handed_down VALUES (99,1,4,'{}')", true),
    ("handed_down_of_nothing", "INSERT INTO handed_down VALUES (1,99,4,'{}')", true),
    ("records_of_nothing", "INSERT INTO record VALUES (99,4,1,1,NULL,NULL,0,NULL,0,NULL)", true),
    ("records_of_nothing", "INSERT INTO record VALUES (1,99,1,1,NULL,NULL,0,NULL,0,NULL)", true),
    ("records_of_nothing", "INSERT INTO record_parent VALUES (99,4,1,1,0)", true),
    ("records_of_nothing", "INSERT INTO record_content VALUES (1,'{}','')", true),
    ("records_of_nothing", "INSERT INTO id_block VALUES ('ticket', 9); INSERT INTO ticket VALUES (1,4,99,'k','put',1,1,'x',NULL,NULL,NULL,'c','m',NULL,NULL)", true),
    ("ids_beyond", "INSERT INTO ticket VALUES (7,4,NULL,'k','put',1,1,'x',7,1,'noop','c','m',NULL,NULL)", true),
    ("prerequisites_of_nothing", "INSERT INTO prerequisite VALUES (99,'global:e',4,0)", true),
    ("dates_of_nothing", "INSERT INTO next_look VALUES (99,1,1,'recrawl',1,0,1,1)", true),
    ("extracts_of_nothing", "INSERT INTO extract (document, version, stages, head) VALUES (99,1,1,'')", true),
    ("extracts_of_nothing", "INSERT INTO extract_text VALUES (9,'')", true),
    ("nameless_components", "DELETE FROM component WHERE document = 2", false),
    ("unknown_access", "UPDATE document SET acl = 99 WHERE id = 1", false),
    ("unknown_access", "UPDATE document SET container = 99 WHERE id = 1", false),
    ("places_below_nothing", "UPDATE container SET parent = 99 WHERE id = 2", false),
    ("places_below_nothing", "UPDATE container SET acl = 99 WHERE id = 2", false),
    ("lost_connections", "UPDATE job SET repository = 99 WHERE handle = 4", false),
    ("lost_connections", "UPDATE delivery SET output = 99 WHERE document = 2", false),
    ("people_of_no_authority", "UPDATE person SET authority = 99 WHERE id = 'b'", true),
    ("people_of_no_authority", "INSERT INTO person_group VALUES (1,'x','x','x',NULL,'{}',1,1,1)", true),
    ("people_of_no_authority", "INSERT INTO membership VALUES (99,'g','a',0)", true),
    ("members_of_nothing", "INSERT INTO membership VALUES (7,'none','a',0)", true),
    ("members_of_nothing", "INSERT INTO membership VALUES (7,'g','none',0)", true),
    ("members_of_nothing", "INSERT INTO membership VALUES (7,'h','a',1)", true),
];

/// Runs statements of a test against the database itself.
fn script(target: &Target, text: &str) {
    match target {
        Target::Sqlite(path) => rusqlite::Connection::open(path).unwrap().execute_batch(text).unwrap(),
        Target::Postgres(url) => {
            postgres::Client::connect(url, postgres::NoTls).unwrap().batch_execute(text).unwrap();
        }
    }
}

fn empty(target: &Target) {
    for table in [
        "connection",
        "job",
        "run",
        "listed_ids",
        "blind_spot",
        "acl",
        "container",
        "document",
        "document_text",
        "queue",
        "failure",
        "delivery",
        "delivery_uri",
        "component",
        "extract",
        "extract_text",
        "tally",
        "id_block",
        "record",
        "record_content",
        "ticket",
        "person",
        "person_group",
        "membership",
    ] {
        script(target, &format!("DELETE FROM \"{table}\""));
    }
    // SQLite keeps bitmaps as blobs, and takes no text for one.
    let sample = match target {
        Target::Sqlite(_) => SAMPLE.replace(",0,'')", ",0,x'')"),
        Target::Postgres(_) => SAMPLE.to_owned(),
    };
    script(target, &sample);
}

#[test]
fn each_check_finds_what_is_planted_for_it_and_a_clean_store_is_silent() {
    on_both("doctor", |fresh| {
        let store = Store::open(&fresh.target).unwrap();
        empty(&fresh.target);
        assert_eq!(faults(&store), [""; 0], "a clean store");
        for (check, fault, repaired) in FAULTS {
            empty(&fresh.target);
            let fault = match &fresh.target {
                Target::Sqlite(_) => fault.replace(",'')", ",x'')").replace("held = ''", "held = x''"),
                Target::Postgres(_) => (*fault).to_owned(),
            };
            script(&fresh.target, &fault);
            let told: Vec<&str> = faults(&store);
            // A counter below zero is a wrong counter as well.
            let also = if *check == "below_zero" { vec!["miscounted", "below_zero"] } else { vec![*check] };
            assert_eq!(told, also, "{fault}");
            let deliveries = |store: &Store| {
                let ids: Vec<i64> = (1..100).collect();
                store.reader().read(|sql| ingather_store::deliveries::states(sql, &ids)).unwrap().len()
            };
            let before = deliveries(&store);
            for _ in 0..3 {
                let faults = store.reader().read(|sql| doctor::examine(sql, 100)).unwrap();
                for fault in &faults {
                    store.write(Durability::Synced, |sql| doctor::repair(sql, fault, 10)).unwrap();
                }
            }
            assert_eq!(
                faults(&store).is_empty(),
                *repaired,
                "after the repair of {fault}: {:?}",
                faults(&store)
            );
            assert_eq!(deliveries(&store), before, "no repair drops a delivery");
        }
    });
}

#[test]
fn every_check_has_a_fault_and_every_number_is_spoken_for() {
    let failpoint: BTreeSet<&str> = FAULTS.iter().map(|(check, ..)| *check).collect();
    let checks: BTreeSet<&str> = CHECKS.iter().map(|check| check.name).collect();
    assert_eq!(failpoint, checks);
    let spoken: BTreeSet<u8> =
        CHECKS.iter().map(|check| check.number).chain(NOT_YET.iter().map(|(number, _)| *number)).collect();
    assert!((1..=20).all(|number| spoken.contains(&number)), "{spoken:?}");
}
