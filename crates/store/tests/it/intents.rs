//! Several changes of one document, in one batch or at once: both databases end as if they had come one after the other.

use std::sync::mpsc;
use std::time::Duration;

use ingather_model::ids::{AclId, ConnectionId, ContainerId, Digest, DocumentId, JobId};
use ingather_model::key::DocumentKey;
use ingather_store::deliveries::{self, Answered, Confirmed, Intent};
use ingather_store::doctor;
use ingather_store::documents::{self, NewDocument};
use ingather_store::{Durability, Sql, Store};

use crate::world::{new_document, on_both};

const OUTPUT: ConnectionId = ConnectionId(2);

fn intent(document: i64, seq: i64, intended: i64, access: i64) -> Intent {
    let (intended, intended_acl) = (Digest(intended), Digest(access));
    Intent { document, component: 0, address_parent: 7, address: document, seq, intended, intended_acl }
}

/// What the delivery log says of documents 1 and 2: number, sent and held access.
fn access(store: &Store) -> Vec<(i64, i64, Option<i64>)> {
    let mut confirmed = store.reader().read(|sql| deliveries::states(sql, &[1, 2])).unwrap();
    confirmed.sort_by_key(|delivery| delivery.document);
    let row = |d: &deliveries::Delivery| {
        (d.seq, d.state.intended_acl.0, d.state.confirmed_acl.map(|access| access.0))
    };
    confirmed.iter().map(row).collect()
}

#[test]
fn of_two_intents_for_one_document_in_one_batch_the_later_one_stands() {
    on_both("intents", |fresh| {
        let store = Store::open(&fresh.target).unwrap();
        let write = |access_only: bool, intents: &[Intent]| {
            store
                .write(Durability::Synced, |sql| deliveries::intend(sql, OUTPUT, 1, access_only, intents))
                .unwrap();
        };
        let confirm = |what, rows: &[(i64, i64)]| {
            let answered = |&(document, seq)| Answered { document, component: 0, seq };
            let rows: Vec<Answered> = rows.iter().map(answered).collect();
            store.write(Durability::Synced, |sql| deliveries::confirm(sql, OUTPUT, 2, what, &rows)).unwrap();
        };
        write(false, &[intent(1, 1, 50, 60), intent(2, 2, 51, 60)]);
        confirm(Confirmed::Record, &[(1, 1), (2, 2)]);
        assert_eq!(access(&store), [(1, 60, Some(60)), (2, 60, Some(60))]);
        // Masked, and shown to others once it was read; enough rows that no plan keeps their order by chance.
        let twice: Vec<Intent> = (3..=40).map(|n| intent(1 + n % 2, n, 0, 100 + n)).collect();
        write(true, &twice);
        assert_eq!(access(&store), [(40, 140, Some(-1)), (39, 139, Some(-1))]);
        confirm(Confirmed::Access, &(3..=40).map(|n| (1 + n % 2, n)).collect::<Vec<_>>());
        assert_eq!(access(&store), [(40, 140, Some(140)), (39, 139, Some(139))]);
        write(false, &[intent(1, 41, 52, 61), intent(1, 42, 53, 62)]);
        assert_eq!(access(&store)[0], (42, 62, Some(-1)));
    });
}

#[test]
fn access_that_is_held_and_told_once_more_is_still_confirmed() {
    on_both("once_more", |fresh| {
        let store = Store::open(&fresh.target).unwrap();
        let told = |access_only: bool, at: i64, intent: Intent, confirmed: bool| {
            let what = if access_only { Confirmed::Access } else { Confirmed::Record };
            let write = store.write(Durability::Synced, |sql| {
                deliveries::intend(sql, OUTPUT, at, access_only, &[intent])?;
                let answered = [Answered { document: 1, component: 0, seq: intent.seq }];
                deliveries::confirm(sql, OUTPUT, at, what, if confirmed { &answered } else { &[] })
            });
            write.unwrap();
        };
        let early = || {
            let faults = store.reader().read(|sql| doctor::examine(sql, 5)).unwrap();
            faults.iter().any(|fault| fault.check.name == "confirmed_before_intent")
        };
        told(false, 1, intent(1, 1, 50, 60), true);
        told(true, 2, intent(1, 2, 0, 70), true);
        // The process dies before it is confirmed.
        told(true, 3, intent(1, 3, 0, 70), false);
        assert!(!early());
        assert_eq!(access(&store), [(3, 70, Some(70))], "no older number counts any more");
        told(true, 4, intent(1, 4, 0, 71), false);
        assert_eq!(access(&store), [(4, 71, Some(70))]);
        told(true, 5, intent(1, 5, 0, 70), false);
        assert_eq!(access(&store), [(5, 70, Some(-1))], "nobody knows what is held");
    });
}

#[test]
fn of_two_judgements_about_one_document_in_one_batch_the_later_one_stands() {
    on_both("judgements", |fresh| {
        let store = Store::open(&fresh.target).unwrap();
        let new = new_document(1);
        let known = store.write(Durability::Synced, |sql| {
            documents::add(sql, JobId(1), 1, std::slice::from_ref(&new))?;
            let rows: Vec<_> = (1..=20).map(|n| (1, Some(AclId(n)), Some(ContainerId(n)))).collect();
            documents::set_access(sql, &[&[(1, None, None)], &rows[..]].concat())?;
            documents::get(sql, &[1])
        });
        let known = known.unwrap().remove(0).known;
        assert_eq!((known.acl_id, known.container), (Some(AclId(20)), Some(ContainerId(20))));
    });
}

/// A narrower access that one job told for a while leaves no difference behind once it has told again what both want.
#[test]
fn jobs_that_want_the_same_of_an_address_do_not_differ_whoever_told_it_last() {
    on_both("differ", |fresh| {
        let store = Store::open(&fresh.target).unwrap();
        let new = |id: i64| NewDocument {
            id: DocumentId(id),
            key: DocumentKey { parent_hash: id, key_hash: id },
            name: "a".to_owned(),
            version: Digest(1),
            access: Digest(1),
            identity: 0,
            container: None,
        };
        let sent = |document: i64, seq: i64, intended: i64, access: i64| {
            let intent = Intent { address: 9, ..intent(document, seq, intended, access) };
            let answered = [Answered { document, component: 0, seq }];
            let write = store.write(Durability::Synced, |sql| {
                deliveries::supersede(sql, OUTPUT, false, &intent)?;
                deliveries::intend(sql, OUTPUT, seq, false, &[intent])?;
                deliveries::confirm(sql, OUTPUT, seq, Confirmed::Record, &answered)
            });
            write.unwrap();
        };
        let differ = |loser, winner| {
            let read = |sql: &mut Sql<'_>| deliveries::superseded(sql, OUTPUT, JobId(loser), JobId(winner));
            store.reader().read(read).unwrap()
        };
        for job in [1, 2] {
            store.write(Durability::Synced, |sql| documents::add(sql, JobId(job), 1, &[new(job)])).unwrap();
        }
        sent(1, 1, 50, 60);
        sent(2, 2, 51, 60);
        assert_eq!((differ(1, 2), differ(2, 1)), (1, 0), "another record");
        sent(2, 3, 50, 61);
        assert_eq!((differ(1, 2), differ(2, 1)), (1, 0), "another access");
        sent(2, 4, 50, 60);
        assert_eq!((differ(1, 2), differ(2, 1)), (0, 0));
    });
}

#[test]
fn two_outputs_that_give_up_a_component_at_once_leave_no_name_of_it() {
    on_both("components", |fresh| {
        const OTHER: ConnectionId = ConnectionId(3);
        let store = Store::open(&fresh.target).unwrap();
        let part = |seq| Intent { component: 5, ..intent(1, seq, 50, 60) };
        store
            .write(Durability::Synced, |sql| {
                deliveries::remember_components(sql, &[(1, 5, "part")])?;
                deliveries::intend(sql, OUTPUT, 1, false, &[part(1)])?;
                deliveries::intend(sql, OTHER, 1, false, &[part(2)])
            })
            .unwrap();
        let answered = |seq| Answered { document: 1, component: 5, seq };
        let (began, begins) = mpsc::channel();
        let (ended, ends) = mpsc::channel();
        std::thread::scope(|scope| {
            let store = &store;
            scope.spawn(move || {
                begins.recv().unwrap();
                store
                    .write(Durability::Synced, |sql| {
                        deliveries::remove(sql, OTHER, &[answered(2)])?;
                        // Nobody listens any more once the first has ended: that is how it must be.
                        let _ = ended.send(());
                        Ok(())
                    })
                    .unwrap();
            });
            store
                .write(Durability::Synced, |sql| {
                    deliveries::remove(sql, OUTPUT, &[answered(1)])?;
                    began.send(()).unwrap();
                    // Whoever does not wait for this transaction comes through meanwhile.
                    let _ = ends.recv_timeout(Duration::from_millis(300));
                    Ok(())
                })
                .unwrap();
        });
        assert!(store.reader().read(|sql| deliveries::components(sql, &[1])).unwrap().is_empty());
    });
}
