//! Transactions that wait for each other: one is taken back and run again, a few times.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Barrier, mpsc};
use std::time::Duration;

use ingather_model::access::Acl;
use ingather_model::ids::{ConnectionId, Digest, JobId};
use ingather_model::job::history::HistoryOf;
use ingather_model::job::{Definition, RunKind};
use ingather_model::key::DocumentKey;
use ingather_model::limits;
use ingather_store::documents::{self, take_ids};
use ingather_store::events::{self, Holder};
use ingather_store::extracts::{self, Extract};
use ingather_store::leases::{self, Member};
use ingather_store::queue::{self, VisitReason, VisitRequest};
use ingather_store::runs::{self, Begin};
use ingather_store::{Durability, Sql, Store, StoreError, Target, containers, doctor, erased, jobs};

use crate::jobs::DEFINITION;
use crate::world::{at_once, new_document, on_both};

#[test]
fn of_two_transactions_that_wait_for_each_other_both_come_to_their_end() {
    on_both("conflicts", |fresh| {
        let store = Store::open(&fresh.target).unwrap();
        // SQLite lets in one writer at a time, so that they cannot meet.
        let meet = matches!(fresh.target, Target::Postgres(_)).then(|| Barrier::new(2));
        let runs = AtomicU32::new(0);
        let take_both = |first: &'static str, second: &'static str| {
            let mut is_first = true;
            store.write(Durability::Synced, |sql| {
                runs.fetch_add(1, Ordering::Relaxed);
                take_ids(sql, first, 1)?;
                if std::mem::take(&mut is_first)
                    && let Some(meet) = &meet
                {
                    meet.wait();
                }
                take_ids(sql, second, 1)
            })
        };
        let (one, other) = std::thread::scope(|scope| {
            let one = scope.spawn(|| take_both("left", "right"));
            let other = scope.spawn(|| take_both("right", "left"));
            (one.join().unwrap(), other.join().unwrap())
        });
        assert!(one.is_ok() && other.is_ok(), "{one:?} {other:?}");
        // Whoever was taken back may be first again, and in the way once more.
        let most = if meet.is_some() { 2 * limits::STORE_ATTEMPTS_MAX } else { 2 };
        let least = if meet.is_some() { 3 } else { 2 };
        assert!((least..=most).contains(&runs.into_inner()), "one of them was in the way");
        let next = |name| store.write(Durability::Synced, |sql| take_ids(sql, name, 1)).unwrap();
        let fresh = next("nobody has asked for this one");
        assert_eq!([next("left"), next("right")], [fresh + 2; 2], "what was taken back is not counted");
    });
}

#[test]
fn a_transaction_that_is_always_in_the_way_ends_with_an_error() {
    on_both("conflict", |fresh| {
        let store = Store::open(&fresh.target).unwrap();
        let mut runs = 0;
        let done: Result<(), StoreError> = store.write(Durability::Relaxed, |_| {
            runs += 1;
            Err(StoreError::Conflict("deadlock detected".to_owned()))
        });
        assert!(matches!(done, Err(StoreError::Conflict(_))));
        let most = if matches!(fresh.target, Target::Postgres(_)) { limits::STORE_ATTEMPTS_MAX } else { 1 };
        assert_eq!(runs, most);
    });
}

#[test]
fn a_text_that_two_documents_have_goes_with_the_last_of_them_and_stays_for_one_that_comes() {
    on_both("texts", |fresh| {
        let store = Store::open(&fresh.target).unwrap();
        let made = Extract {
            version: Digest(1),
            stages: Digest(2),
            head: b"head".to_vec(),
            text: Some((7, b"text".to_vec())),
        };
        let put = |sql: &mut Sql<'_>, document| extracts::put(sql, document, &made);
        let forget = |sql: &mut Sql<'_>, document| extracts::forget(sql, &[document]);
        let kept = |document| store.reader().read(|sql| extracts::get(sql, document)).unwrap();
        let texts = || {
            let faults = store.reader().read(|sql| doctor::examine(sql, 5)).unwrap();
            faults
                .iter()
                .filter(|fault| fault.check.name == "extracts_of_nothing")
                .map(|f| f.rows.len())
                .sum::<usize>()
        };
        at_once(&store, |sql| put(sql, 1), |sql| put(sql, 2));
        assert_eq!((kept(1), kept(2)), (Some(made.clone()), Some(made.clone())));
        // No document is there, so that each of the two is a fault; a text without a document is one more.
        assert_eq!(texts(), 2);
        at_once(&store, |sql| forget(sql, 1), |sql| forget(sql, 2));
        assert_eq!(texts(), 0, "each of two that go leaves the text to the other one");
        at_once(&store, |sql| put(sql, 1), |sql| put(sql, 2));
        at_once(&store, |sql| forget(sql, 1), |sql| put(sql, 3));
        at_once(
            &store,
            |sql| put(sql, 4),
            |sql| {
                forget(sql, 2)?;
                forget(sql, 3)
            },
        );
        assert_eq!((kept(4), texts()), (Some(made.clone()), 1), "it goes although a document has it");
    });
}

#[test]
fn of_two_who_change_a_definition_at_once_neither_undoes_what_the_other_has_changed() {
    on_both("definitions", |fresh| {
        let store = Store::open(&fresh.target).unwrap();
        let definition: Definition = serde_json::from_str(DEFINITION).unwrap();
        let add = |sql: &mut Sql<'_>| jobs::add(sql, ConnectionId(1), "/srv", &definition, 7);
        let job = store.write(Durability::Synced, add).unwrap();
        let change = |sql: &mut Sql<'_>, change: &dyn Fn(&mut Definition)| {
            let seen = jobs::get(sql, job)?.unwrap();
            let mut definition = seen.definition.clone();
            change(&mut definition);
            jobs::define(sql, &seen, &definition, 8)
        };
        at_once(
            &store,
            |sql| change(sql, &|definition| definition.outputs.push("null".to_owned())),
            |sql| change(sql, &|definition| definition.retired.push("gone".to_owned())),
        );
        let now = store.reader().read(|sql| jobs::get(sql, job)).unwrap().unwrap();
        assert_eq!((now.definition.outputs.len(), now.definition.retired.len()), (2, 1));
    });
}

fn with_a_job(store: &Store, name: &str) -> JobId {
    let mut definition: Definition = serde_json::from_str(DEFINITION).unwrap();
    definition.name = name.to_owned();
    store.write(Durability::Synced, |sql| jobs::add(sql, ConnectionId(1), "/srv", &definition, 7)).unwrap()
}

fn problems(store: &Store, check: &str) -> usize {
    let faults = store.reader().read(|sql| doctor::examine(sql, 5)).unwrap();
    faults.iter().filter(|fault| fault.check.name == check).map(|fault| fault.rows.len()).sum()
}

#[test]
fn what_is_put_while_a_document_is_forgotten_goes_with_it() {
    on_both("forgotten_texts", |fresh| {
        let store = Store::open(&fresh.target).unwrap();
        let made = |digest| Extract {
            version: Digest(1),
            stages: Digest(2),
            head: b"head".to_vec(),
            text: Some((digest, b"text".to_vec())),
        };
        store.write(Durability::Synced, |sql| extracts::put(sql, 1, &made(7))).unwrap();
        at_once(&store, |sql| extracts::put(sql, 1, &made(8)), |sql| extracts::forget(sql, &[1]));
        assert_eq!(store.reader().read(|sql| extracts::get(sql, 1)).unwrap(), None);
        assert_eq!(problems(&store, "extracts_of_nothing"), 0, "a text of an erased document would stay");
    });
}

fn member(id: &str, host: &str) -> Member {
    let (id, host, doing) = (id.to_owned(), host.to_owned(), "test".to_owned());
    Member { id, until: 0, pid: 1, host, doing }
}

#[test]
fn an_event_that_is_begun_while_the_work_is_taken_over_does_not_outlive_its_process() {
    on_both("last_events", |fresh| {
        let store = Store::open(&fresh.target).unwrap();
        let old =
            store.write(Durability::Synced, |sql| leases::take(sql, &member("old", "here"), 0)).unwrap();
        let holder = Holder { job: JobId(1), document: 1, process: "old" };
        at_once(
            &store,
            |sql| {
                old.fence(sql)?;
                events::begin(sql, "global:e", holder, 5).map(drop)
            },
            |sql| leases::take(sql, &member("new", "here"), 5).map(drop),
        );
        assert_eq!(store.reader().read(|sql| events::holder(sql, "global:e")).unwrap(), None);
        let fenced = store.write(Durability::Synced, |sql| old.fence(sql));
        assert!(matches!(fenced, Err(StoreError::Fenced)));
    });
}

#[test]
fn a_lease_that_is_just_renewed_is_not_taken_over() {
    on_both("renewed", |fresh| {
        let store = Store::open(&fresh.target).unwrap();
        let old =
            store.write(Durability::Synced, |sql| leases::take(sql, &member("old", "there"), 0)).unwrap();
        let late = limits::LEASE_MS + 5;
        let renew = |sql: &mut Sql<'_>| old.renew(sql, late).map(|renewed| assert!(renewed));
        at_once(&store, renew, |sql| match leases::take(sql, &member("new", "here"), late) {
            Err(StoreError::Held(_)) => Ok(()),
            other => other.map(drop),
        });
        // It goes on to send for as long as its lease lasts, without another look.
        store.write(Durability::Synced, |sql| old.fence(sql)).unwrap();
    });
}

#[test]
fn of_two_who_let_go_of_what_a_run_holds_at_once_neither_puts_back_what_the_other_has_taken() {
    on_both("held", |fresh| {
        let store = Store::open(&fresh.target).unwrap();
        let job = with_a_job(&store, "");
        let begin = Begin { number: 1, kind: RunKind::Full, at: 1, by: "test", notes: HistoryOf::Failures };
        let hold = |sql: &mut Sql<'_>| {
            runs::open(sql, job, begin)?;
            runs::hold(sql, job, 1, &[1, 2, 3])
        };
        store.write(Durability::Synced, hold).unwrap();
        let let_go = |sql: &mut Sql<'_>, document: u8| {
            let seen = runs::held(sql, job, 1)?.unwrap();
            let left: Vec<u8> = seen.iter().copied().filter(|held| *held != document).collect();
            runs::hold_on(sql, job, 1, &seen, &left)
        };
        at_once(&store, |sql| let_go(sql, 1), |sql| let_go(sql, 2));
        assert_eq!(store.reader().read(|sql| runs::held(sql, job, 1)).unwrap(), Some(vec![3]));
    });
}

#[test]
fn a_job_that_is_changed_while_it_moves_has_moved_or_whoever_moves_it_is_told() {
    on_both("moved", |fresh| {
        let store = Store::open(&fresh.target).unwrap();
        let id = with_a_job(&store, "");
        let job = |sql: &mut Sql<'_>| jobs::get(sql, id).map(Option::unwrap);
        let seen = store.reader().read(job).unwrap();
        let has_moved = AtomicU32::new(0);
        at_once(
            &store,
            |sql| {
                let mut definition = seen.definition.clone();
                definition.outputs.push("null".to_owned());
                jobs::define(sql, &seen, &definition, 8)
            },
            |sql| {
                let is_as_seen = job(sql)?.revision == seen.revision;
                if is_as_seen {
                    jobs::relocate(sql, &seen, "/there", &seen.definition)?;
                }
                has_moved.store(u32::from(is_as_seen), Ordering::Relaxed);
                Ok(())
            },
        );
        let root = store.reader().read(job).unwrap().root;
        assert_eq!(root == "/there", has_moved.into_inner() == 1, "{root}");
    });
}

#[test]
fn nothing_is_left_of_what_is_written_for_a_job_that_goes_at_this_moment() {
    on_both("jobs_that_go", |fresh| {
        let store = Store::open(&fresh.target).unwrap();
        let (before, acl, container) = store
            .write(Durability::Synced, |sql| {
                let of = ConnectionId(1);
                let before = containers::add_acl(sql, of, &Acl::Flat { allow: vec![], deny: vec![] })?;
                let acl = containers::add_acl(sql, of, &Acl::Ordered(vec![]))?;
                Ok((before, acl, containers::add(sql, of, None, "/srv", "1:1", before)?))
            })
            .unwrap();
        let key = DocumentKey { parent_hash: 1, key_hash: 2 };
        let erase = |sql: &mut Sql<'_>, job| erased::begin(sql, job, key, ("a.txt", 3, true), (4, "ann"));
        let judge = |sql: &mut Sql<'_>| containers::judge(sql, ConnectionId(1), container, acl, before);
        for (name, goes_first) in [("one", true), ("two", false)] {
            for judges in [true, false] {
                let job = with_a_job(&store, name);
                store.write(Durability::Synced, |sql| jobs::delete(sql, job)).unwrap();
                let write = |sql: &mut Sql<'_>| if judges { judge(sql) } else { erase(sql, job) };
                let go = |sql: &mut Sql<'_>| jobs::forget(sql, job);
                if goes_first {
                    at_once(&store, go, write);
                } else {
                    at_once(&store, write, go);
                }
                let (pending, waiting) = store
                    .reader()
                    .read(|sql| {
                        Ok::<_, StoreError>((containers::pending_of(sql, job)?, erased::waiting(sql)?))
                    })
                    .unwrap();
                assert_eq!((pending, waiting), (Vec::new(), Vec::new()), "{name} {judges}");
            }
        }
        // What the entries of jobs that are gone were read under rules them on.
        let of_gone = store.reader().read(|sql| containers::pending_of(sql, JobId(0))).unwrap();
        assert_eq!(of_gone, [(container, before)]);
    });
}

#[test]
fn nobody_waits_for_a_visit_of_a_document_that_is_forgotten_at_this_moment() {
    on_both("forgotten_visits", |fresh| {
        let store = Store::open(&fresh.target).unwrap();
        let job = with_a_job(&store, "");
        store
            .write(Durability::Synced, |sql| documents::add(sql, job, 0, &[new_document(1), new_document(2)]))
            .unwrap();
        let forget = |sql: &mut Sql<'_>, id| documents::forget(sql, job, &[id]).map(drop);
        let enqueue = |sql: &mut Sql<'_>, document| {
            queue::enqueue(sql, job, 0, &[VisitRequest { document, due: 0, reason: VisitReason::Resend }])
        };
        at_once(&store, |sql| forget(sql, 1), |sql| enqueue(sql, 1));
        at_once(&store, |sql| enqueue(sql, 2), |sql| forget(sql, 2));
        assert_eq!((problems(&store, "work_of_nothing"), problems(&store, "miscounted")), (0, 0));
    });
}

#[test]
fn of_two_programs_that_bring_a_store_up_to_date_at_once_one_does_it_and_both_go_on() {
    on_both("upgrades", |fresh| {
        // Who writes is alone on SQLite.
        let Target::Postgres(url) = &fresh.target else { return };
        let client = || postgres::Client::connect(url, postgres::NoTls).unwrap();
        // As the last step found it.
        client()
            .batch_execute("DELETE FROM migration WHERE number = 23; ALTER TABLE connection DROP asking")
            .unwrap();
        let (mut holder, mut watcher) = (client(), client());
        let mut hold = holder.transaction().unwrap();
        hold.batch_execute("LOCK TABLE connection").unwrap();
        let (ended, ends) = mpsc::channel();
        let opened = std::thread::scope(|scope| {
            let both = [ended.clone(), ended].map(|ended| {
                scope.spawn(move || {
                    let opened = Store::open(&fresh.target).map(drop);
                    let _ = ended.send(());
                    opened
                })
            });
            let waiting = "SELECT count(*) FROM pg_stat_activity \
                           WHERE datname = current_database() AND wait_event_type = 'Lock'";
            // Both have looked by then; where the machine is slow, one comes later, and sees less.
            for _ in 0..100 {
                let are_both = watcher.query_one(waiting, &[]).unwrap().get::<_, i64>(0) == 2;
                if are_both || ends.recv_timeout(Duration::from_millis(20)).is_ok() {
                    break;
                }
            }
            hold.rollback().unwrap();
            both.map(|one| one.join().unwrap())
        });
        assert!(opened.iter().all(Result::is_ok), "{opened:?}");
    });
}
