//! Events: one owner each, no time that frees them, and who waits.

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};

use ingather_model::ids::JobId;
use ingather_store::events::{self, Holder, Lasts, Pending};
use ingather_store::leases::{self, Member};
use ingather_store::{Durability, Sql, Store, StoreError};

use crate::world::on_both;

const HOLDER: Holder<'static> = Holder { job: JobId(4), document: 7, process: "one" };

fn begin(sql: &mut Sql<'_>, name: &str) -> Result<bool, StoreError> {
    events::begin(sql, name, HOLDER, 5)
}

fn names(store: &Store) -> Vec<String> {
    let pending = store.reader().read(|sql| events::list(sql, 9)).unwrap();
    pending.into_iter().map(|event| event.name).collect()
}

#[test]
fn of_many_threads_and_processes_that_begin_an_event_at_once_just_one_owns_it() {
    on_both("events", |fresh| {
        let stores: Vec<Store> = (0..8).map(|_| Store::open(&fresh.target).unwrap()).collect();
        for round in 0..20 {
            let (start, owners, name) = (Barrier::new(16), AtomicUsize::new(0), format!("global:{round}"));
            std::thread::scope(|scope| {
                for n in 0..16 {
                    let (store, start, owners, name) = (&stores[n % 8], &start, &owners, &name);
                    scope.spawn(move || {
                        start.wait();
                        let mine = store.write(Durability::Relaxed, |sql| begin(sql, name)).unwrap();
                        owners.fetch_add(usize::from(mine), Ordering::SeqCst);
                    });
                }
            });
            assert_eq!(owners.into_inner(), 1, "{name}");
        }
    });
}

#[test]
fn an_event_is_pending_from_its_beginning_to_its_completion_and_its_name_is_all_that_it_is() {
    on_both("event", |fresh| {
        let store = Store::open(&fresh.target).unwrap();
        let write = |name: &str, what: fn(&mut Sql<'_>, &str) -> Result<bool, StoreError>| {
            store.write(Durability::Relaxed, |sql| what(sql, name)).unwrap()
        };
        let holder = |name: &str| store.reader().read(|sql| events::holder(sql, name)).unwrap();
        assert_eq!(holder("global:e"), None, "nobody has begun it: it counts as completed");
        assert!(write("global:e", begin) && !write("global:e", begin));
        assert!(write("global:e ", begin) && write("Global:e", begin), "other names are other events");
        assert_eq!(holder("global:e"), Some(HOLDER.job));
        assert!(write("global:e", events::complete));
        assert!(!write("global:e", events::complete), "it is completed, and stays so");
        assert_eq!(holder("global:e"), None);
        assert!(write("global:e", begin), "it may begin again");
    });
}

#[test]
fn events_are_freed_when_a_process_begins_or_ends_and_at_no_other_time() {
    on_both("freed", |fresh| {
        let store = Store::open(&fresh.target).unwrap();
        let take = |id: &str, now: i64| {
            let (id, host) = (id.to_owned(), "here".to_owned());
            let member = Member { id, until: 0, pid: 1, host, doing: "test".to_owned() };
            store.write(Durability::Synced, |sql| leases::take(sql, &member, now)).unwrap()
        };
        let one = take("one", 0);
        store.write(Durability::Relaxed, |sql| begin(sql, "global:e")).unwrap();
        // Its lease has lapsed long ago, and nobody else has taken it.
        let late = i64::MAX / 2;
        store.write(Durability::Relaxed, |sql| one.renew(sql, late)).unwrap();
        assert_eq!(names(&store), ["global:e"]);
        let two = take("two", late);
        assert_eq!(names(&store), [""; 0], "whoever held it is dead");
        let holder = Holder { process: "two", ..HOLDER };
        store.write(Durability::Relaxed, |sql| events::begin(sql, "global:f", holder, 5)).unwrap();
        store.write(Durability::Relaxed, |sql| two.leave(sql)).unwrap();
        assert_eq!(names(&store), [""; 0]);
    });
}

#[test]
fn what_waits_is_told_with_who_holds_the_event_and_forgotten_when_its_time_has_come() {
    on_both("waiting", |fresh| {
        let store = Store::open(&fresh.target).unwrap();
        let job = JobId(4);
        store
            .write(Durability::Relaxed, |sql| {
                begin(sql, "global:e")?;
                events::require(
                    sql,
                    job,
                    &[(1, "global:e"), (1, "global:f"), (2, "global:f")],
                    Lasts::Always,
                )?;
                events::require(sql, job, &[(1, "global:e"), (3, "global:e")], Lasts::Once)?;
                events::require(sql, JobId(5), &[(9, "global:e")], Lasts::Always)
            })
            .unwrap();
        let waiting = |ids: &[i64]| {
            let mut rows = store.reader().read(|sql| events::waiting(sql, ids)).unwrap();
            rows.sort();
            rows.into_iter().map(|(id, _)| id).collect::<Vec<i64>>()
        };
        assert_eq!(
            waiting(&[1, 2, 3, 4, 9]),
            [1, 3, 9],
            "what waits for nothing that is pending does not wait"
        );
        let of_job =
            |after| store.reader().read(|sql| events::with_prerequisites(sql, job, after, 2)).unwrap();
        assert_eq!((of_job(i64::MIN), of_job(2)), (vec![1, 2], vec![3]));
        // Those of the queue alone are waited for.
        let pending = Pending {
            name: "global:e".into(),
            job: String::new(),
            document: String::new(),
            taken_at: 5,
            waiting: 0,
        };
        assert_eq!(store.reader().read(|sql| events::list(sql, 9)).unwrap(), [pending]);
        assert_eq!(store.reader().read(|sql| events::awaited(sql, job, 9)).unwrap(), []);
        let drop = |lasts| {
            store.write(Durability::Relaxed, |sql| events::drop_prerequisites(sql, &[1, 3], lasts)).unwrap();
        };
        drop(Lasts::Once);
        assert_eq!(waiting(&[1, 3]), [1], "what a reference says outlasts a visit");
        drop(Lasts::Always);
        assert_eq!(waiting(&[1, 3]), [0; 0]);
    });
}
