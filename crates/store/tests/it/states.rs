//! Counters of documents by state: exact after every change, whichever comes at once.

use ingather_model::ids::{Digest, DocumentId, JobId};
use ingather_model::job::dates::{Action, Seen};
use ingather_model::key::DocumentKey;
use ingather_model::lifecycle::outcome::FailureKind;
use ingather_store::documents::dates::{self, NextLook};
use ingather_store::documents::{self, DocumentUpdate, NewDocument};
use ingather_store::queue::{self, Failure, LeftOut, VisitReason, VisitRequest};
use ingather_store::states::{self, EndedVisit, States};
use ingather_store::{Durability, Sql, Store, StoreError, Target, doctor};

use crate::world::{new_document, on_both};

const JOB: JobId = JobId(1);

/// As a connection and a job that rests.
const WITH_A_JOB: &str = "INSERT INTO job (handle, name, repository, root, state, run, definition, revision, created_at) VALUES \
                          (1,'one',1,'/a','resting',1,'{}',1,1)";

fn script(target: &Target, text: &str) {
    match target {
        Target::Sqlite(path) => rusqlite::Connection::open(path).unwrap().execute_batch(text).unwrap(),
        Target::Postgres(url) => {
            postgres::Client::connect(url, postgres::NoTls).unwrap().batch_execute(text).unwrap();
        }
    }
}

fn update(id: i64) -> DocumentUpdate {
    DocumentUpdate {
        id: DocumentId(id),
        version: Digest(2),
        access: Digest(2),
        settings: Digest(3),
        identity: 0,
        acl_id: None,
        container: None,
        raw: None,
    }
}

fn failure(id: i64, kind: FailureKind) -> Failure {
    let (code, message) = ("busy".to_owned(), "it is in use".to_owned());
    Failure { document: id, kind, attempts: 1, attempts_max: 8, code, message, give_up_at: None }
}

#[test]
fn dates_come_in_their_order_and_go_with_their_documents() {
    on_both("dates", |fresh| {
        let store = Store::open(&fresh.target).unwrap();
        script(&fresh.target, WITH_A_JOB);
        let look = |document: i64, due: i64, action| {
            let expires = (action == Action::Expire).then_some(due);
            let seen = Seen { since: 1, changes: 2, origin: expires, expires };
            NextLook { document, due, action, seen }
        };
        store
            .write(Durability::Relaxed, |sql| {
                documents::add(
                    sql,
                    JOB,
                    1,
                    &[new_document(1), new_document(2), new_document(3), new_document(4)],
                )?;
                dates::put(sql, JOB, &[look(1, 30, Action::Recrawl), look(2, 10, Action::Recrawl)])?;
                dates::put(sql, JOB, &[look(3, 10, Action::Expire), look(1, 20, Action::Recrawl)])
            })
            .unwrap();
        let reader = store.reader();
        let due = |after, by| reader.read(|sql| dates::due(sql, JOB, (after, by), 2)).unwrap();
        let first = (i64::MIN, i64::MIN);
        assert_eq!(due(first, 30), [(10, 2, Action::Recrawl), (10, 3, Action::Expire)]);
        assert_eq!(due((10, 3), 30), [(20, 1, Action::Recrawl)]);
        assert_eq!(due((10, 3), 19), []);
        let first = |after| reader.read(|sql| dates::first(sql, JOB, after)).unwrap();
        assert_eq!([first(9), first(10), first(20)], [Some(10), Some(20), None]);
        let resting = |now| {
            let mut ids = reader.read(|sql| dates::resting(sql, &[1, 2, 3, 4], now)).unwrap();
            ids.sort_unstable();
            ids
        };
        assert_eq!(
            [resting(5), resting(15)],
            [vec![1, 2, 3], vec![1, 3]],
            "what expires is not looked at any more"
        );
        let seen = reader.read(|sql| dates::seen(sql, &[1, 3, 4])).unwrap();
        assert_eq!((seen.len(), seen[&1].expires, seen[&3].expires), (2, None, Some(10)));
        assert_eq!((seen[&1].origin, seen[&3].origin), (None, Some(10)));
        store
            .write(Durability::Relaxed, |sql| {
                queue::set_aside(sql, JOB, 7, &[(3, &LeftOut::Expired.reason())])
            })
            .unwrap();
        assert_eq!(resting(15), [1, 3], "it has expired");
        store
            .write(Durability::Relaxed, |sql| {
                documents::forget(sql, JOB, &[1])?;
                dates::note_looked(sql, JOB, Digest(-5))
            })
            .unwrap();
        let left = |sql: &mut Sql<'_>| Ok((dates::seen(sql, &[1, 2, 3])?.len(), dates::looked(sql, JOB)?));
        assert_eq!(reader.read(left).unwrap(), (1, Some(Digest(-5))));
        store.write(Durability::Relaxed, |sql| dates::leave(sql, JOB)).unwrap();
        assert_eq!(reader.read(left).unwrap().0, 0);
    });
}

#[test]
fn a_cut_off_is_kept_with_its_failure_and_visits_are_found_by_their_dates() {
    on_both("cut_off", |fresh| {
        let store = Store::open(&fresh.target).unwrap();
        script(&fresh.target, WITH_A_JOB);
        let at = |document, due| VisitRequest { due, ..request(document) };
        store
            .write(Durability::Relaxed, |sql| {
                documents::add(sql, JOB, 1, &[new_document(1), new_document(2), new_document(3)])?;
                let cut_off = Failure { give_up_at: Some(99), ..failure(1, FailureKind::Retrying) };
                queue::record_failures(sql, JOB, 5, &[cut_off, failure(2, FailureKind::Retrying)])?;
                queue::enqueue(sql, JOB, 1, &[at(1, 9), at(2, 30), at(3, queue::DUE_NEXT_RUN)])
            })
            .unwrap();
        let read = |sql: &mut Sql<'_>| {
            let noted = queue::Attention::of(sql, JOB)?.noted(sql, &[1, 2])?;
            Ok((queue::due(sql, JOB, (0, 10), 9)?, queue::dates(sql, &[2, 4])?, noted))
        };
        let (due, dates, noted) = store.reader().read(read).unwrap();
        assert_eq!((due, dates), (vec![1, 3], vec![(2, 30)]));
        assert_eq!((noted[&1].give_up_at(), noted[&2].give_up_at()), (Some(99), None));
    });
}

fn request(document: i64) -> VisitRequest {
    VisitRequest { document, due: 9, reason: VisitReason::Changed }
}

/// What a visit may end in. `is_new` is what the run takes it for, which need not be so.
fn ended(sql: &mut Sql<'_>, id: i64, way: u64, is_new: bool) -> Result<EndedVisit, StoreError> {
    let requested = queue::request_counts(sql, &[id])?.first().map(|found| found.1);
    let end = EndedVisit { document: id, is_new, ..EndedVisit::default() };
    let failed = |kind| Some(failure(id, kind));
    Ok(match (way % 5, requested) {
        (0, None) => EndedVisit { request: Some(request(id)), failure: failed(FailureKind::Retrying), ..end },
        (0, Some(_)) => EndedVisit { again: Some(20), failure: failed(FailureKind::Retrying), ..end },
        (1, done) => {
            EndedVisit { done, update: Some(update(id)), failure: failed(FailureKind::Failed), ..end }
        }
        (2, done) => {
            EndedVisit { done, update: Some(update(id)), failure: failed(FailureKind::Skipped), ..end }
        }
        (_, None) => EndedVisit { update: Some(update(id)), is_mended: way.is_multiple_of(2), ..end },
        (_, done) => EndedVisit { done, update: Some(update(id)), is_mended: true, ..end },
    })
}

/// What a walk over all rows finds.
fn by_hand(store: &Store) -> States {
    let all = store.reader().read(|sql| documents::list(sql, JOB, DocumentKey::BEFORE_ALL, 1_000)).unwrap();
    let mut states = States { documents: all.len() as u64, ..States::default() };
    for document in all {
        *match (document.work, document.failure.map(|(kind, _)| kind)) {
            (Some(_), _) => &mut states.waiting,
            (None, Some(FailureKind::Failed)) => &mut states.failed,
            (None, Some(FailureKind::Skipped)) => &mut states.skipped,
            (None, _) => &mut states.settled,
        } += 1;
    }
    states
}

fn is_exact(store: &Store, after: &str) {
    let told = store.reader().read(|sql| states::of(sql, JOB)).unwrap();
    assert_eq!(told, by_hand(store), "{after}");
    let faults = store.reader().read(|sql| doctor::examine(sql, 9)).unwrap();
    let counters: Vec<_> =
        faults.iter().filter(|fault| ["miscounted", "below_zero"].contains(&fault.check.name)).collect();
    assert!(
        counters.is_empty(),
        "{after}: {:?}",
        counters.iter().map(|fault| &fault.rows).collect::<Vec<_>>()
    );
}

#[test]
fn counters_of_states_are_exact_after_every_change() {
    on_both("states", |fresh| {
        let store = Store::open(&fresh.target).unwrap();
        script(&fresh.target, WITH_A_JOB);
        let mut dice = 7_u64;
        let mut throw = move || {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            dice >> 33
        };
        let mut next = 1;
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..300 {
            let (what, way) = (throw() % 7, throw());
            let ids: Vec<i64> = (0..1 + throw() % 4).map(|_| 1 + (throw() % 12) as i64).collect();
            let ids: Vec<i64> = std::collections::BTreeSet::from_iter(ids).into_iter().collect();
            let there: Vec<i64> = store
                .reader()
                .read(|sql| documents::get(sql, &ids))
                .unwrap()
                .iter()
                .map(|found| found.known.id.0)
                .collect();
            let added: Vec<NewDocument> =
                ids.iter().filter(|id| !there.contains(id)).map(|id| new_document(*id)).collect();
            let requests: Vec<VisitRequest> = there.iter().map(|id| request(*id)).collect();
            let change = store.write(Durability::Relaxed, |sql| match what {
                0 | 1 => documents::add(sql, JOB, 1, &added),
                2 => queue::enqueue(sql, JOB, 1, &requests),
                3 if way % 3 == 0 => documents::forget(sql, JOB, &there).map(drop),
                3 => doctor::queue(sql, there.iter().copied()),
                _ => {
                    let ends = there
                        .iter()
                        .enumerate()
                        .map(|(n, id)| ended(sql, *id, way + n as u64, (way >> 4).is_multiple_of(2)));
                    let ends = ends.collect::<Result<Vec<_>, _>>()?;
                    states::end(sql, JOB, 2, 5, &ends)
                }
            });
            change.unwrap();
            next += 1;
            is_exact(&store, &format!("change {next}: {what} {way} {there:?}"));
            let States { documents: _, waiting, settled, failed, skipped } = by_hand(&store);
            seen.extend(
                [waiting > 0, settled > 0, failed > 0, skipped > 0]
                    .iter()
                    .enumerate()
                    .filter(|it| *it.1)
                    .map(|it| it.0),
            );
        }
        assert_eq!(seen.len(), 4, "each state was met: {seen:?}");
    });
}

/// Of what is asked for while a visit ends, one transaction sees what the other has done.
#[test]
fn counters_of_states_are_exact_when_visits_are_asked_for_as_they_end() {
    on_both("states_at_once", |fresh| {
        let store = Store::open(&fresh.target).unwrap();
        script(&fresh.target, WITH_A_JOB);
        let ids: Vec<i64> = (1..=40).collect();
        store
            .write(Durability::Relaxed, |sql| {
                documents::add(sql, JOB, 1, &ids.iter().map(|id| new_document(*id)).collect::<Vec<_>>())
            })
            .unwrap();
        for round in 0..20 {
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    for ids in ids.chunks(4) {
                        let ask = |sql: &mut Sql<'_>| {
                            let requests: Vec<VisitRequest> =
                                ids.iter().rev().map(|id| request(*id)).collect();
                            queue::enqueue(sql, JOB, 1, &requests)
                        };
                        store.write(Durability::Relaxed, ask).unwrap();
                    }
                });
                scope.spawn(|| {
                    for ids in ids.chunks(5) {
                        let end = |sql: &mut Sql<'_>| {
                            let ends = ids.iter().map(|id| ended(sql, *id, 3, round == 0));
                            let ends = ends.collect::<Result<Vec<_>, _>>()?;
                            states::end(sql, JOB, 2, 5, &ends)
                        };
                        store.write(Durability::Relaxed, end).unwrap();
                    }
                });
            });
            is_exact(&store, &format!("round {round}"));
        }
    });
}
