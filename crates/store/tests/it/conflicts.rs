//! Transactions that wait for each other: one is taken back and run again, a few times.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering};

use ingather_model::limits;
use ingather_store::documents::take_ids;
use ingather_store::{Durability, Store, StoreError, Target};

use crate::world::on_both;

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
