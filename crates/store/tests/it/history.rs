//! What is kept of runs and single documents, how it is read in pages, and how it is forgotten a little at a time.

use ingather_model::ids::{ConnectionId, JobId};
use ingather_model::job::history::{HistoryKind, HistoryOf, HistoryOutcome};
use ingather_model::job::{Definition, RunKind};
use ingather_model::lifecycle::outcome::RunOutcome;
use ingather_model::limits;
use ingather_store::runs::history::{self, Noted, Place, RunPlace};
use ingather_store::runs::{self, Begin};
use ingather_store::{Durability, Store, jobs};

use crate::world::on_both;

fn job(store: &Store, name: &str, at: i64) -> JobId {
    let definition: Definition = serde_json::from_value(
        serde_json::json!({"name": name, "repository": "files", "source": {"root": "/x"}, "outputs": []}),
    )
    .unwrap();
    store.write(Durability::Relaxed, |sql| jobs::add(sql, ConnectionId(1), name, &definition, at)).unwrap()
}

fn noted(document: i64, outcome: HistoryOutcome, name: &str) -> Noted<'_> {
    Noted { document, outcome, code: "x", name, message: "it is so", bytes: document * 10 }
}

fn run(store: &Store, job: JobId, number: i64, at: i64, outcome: RunOutcome) {
    let begin = Begin { number, kind: RunKind::Full, at, by: "key ann", notes: HistoryOf::Failures };
    store
        .write(Durability::Relaxed, |sql| {
            runs::open(sql, job, begin)?;
            runs::end(sql, job, number, at + 1, outcome, "{}", None)
        })
        .unwrap();
}

/// From when on each kind is known of a job.
fn known(store: &Store, job: JobId) -> Vec<(HistoryKind, i64)> {
    let mut known: Vec<(HistoryKind, i64)> = store
        .reader()
        .read(history::known_from)
        .unwrap()
        .into_iter()
        .filter(|(of, ..)| *of == job)
        .map(|(_, kind, at)| (kind, at))
        .collect();
    known.sort_unstable();
    known
}

#[test]
fn documents_come_latest_first_each_once_in_pages_of_one_job_or_all() {
    on_both("past", |fresh| {
        let store = Store::open(&fresh.target).unwrap();
        let (one, other) = (job(&store, "one", 0), job(&store, "other", 0));
        store
            .write(Durability::Relaxed, |sql| {
                for at in 1..=5 {
                    for of in [one, other] {
                        let rows = [
                            noted(1, HistoryOutcome::Added, "a"),
                            noted(2, HistoryOutcome::Failed, "b"),
                            noted(2, HistoryOutcome::Removed, "b"),
                        ];
                        history::note(sql, of, 7, at, &rows)?;
                        // A transaction that is made again says it again.
                        history::note(sql, of, 7, at, &rows)?;
                    }
                }
                Ok(())
            })
            .unwrap();
        for (of, all) in [(Some(one), 12), (None, 24)] {
            let (mut before, mut found) = (Place::before(i64::MAX), Vec::new());
            loop {
                let page = store.reader().read(|sql| history::list(sql, of, 2, &before, 5)).unwrap();
                let Some(last) = page.last() else { break };
                before = last.place();
                found.extend(page);
            }
            assert_eq!(found.len(), all, "{of:?}");
            assert!(found.windows(2).all(|two| two[0].at >= two[1].at && two[0] != two[1]));
            assert!(found.iter().all(|row| row.at >= 2 && row.run == 7 && row.bytes == row.document * 10));
        }
        let early = store.reader().read(|sql| history::list(sql, None, 0, &Place::before(2), 9)).unwrap();
        assert_eq!((early.len(), early[0].at), (6, 1), "what is before a time");
    });
}

#[test]
fn old_documents_are_forgotten_in_steps_and_what_is_known_begins_later() {
    on_both("forgotten", |fresh| {
        let store = Store::open(&fresh.target).unwrap();
        let (one, other) = (job(&store, "one", 3), job(&store, "other", 3));
        store
            .write(Durability::Relaxed, |sql| {
                for at in 1..=10 {
                    history::note(sql, one, 1, at, &[noted(at, HistoryOutcome::Failed, "a")])?;
                    history::note(sql, other, 1, at, &[noted(at, HistoryOutcome::Failed, "a")])?;
                }
                Ok(())
            })
            .unwrap();
        let forget =
            |most| store.write(Durability::Relaxed, |sql| history::forget(sql, one, 8, most)).unwrap();
        assert_eq!([forget(4), forget(4), forget(4)], [4, 3, 0]);
        let left =
            |of| store.reader().read(|sql| history::list(sql, Some(of), 0, &Place::before(99), 99)).unwrap();
        let times: Vec<i64> = left(one).iter().map(|row| row.at).collect();
        assert_eq!((times, left(other).len()), (vec![10, 9, 8], 10));
        let nth = |later| store.reader().read(|sql| history::nth(sql, one, later)).unwrap();
        assert_eq!([nth(0), nth(2), nth(3)], [Some(10), Some(8), None]);
        // Only what is noted at all has a time from which on it is.
        store
            .write(Durability::Relaxed, |sql| {
                history::raise(sql, one, HistoryKind::Failures, 8)?;
                history::raise(sql, one, HistoryKind::Failures, 5)?;
                history::raise(sql, one, HistoryKind::Documents, 8)
            })
            .unwrap();
        assert_eq!(known(&store, one), [(HistoryKind::Runs, 3), (HistoryKind::Failures, 8)]);
        assert_eq!(known(&store, other), [(HistoryKind::Runs, 3), (HistoryKind::Failures, 3)]);
    });
}

#[test]
fn old_runs_are_forgotten_but_for_the_last_that_was_done_and_those_behind_it() {
    on_both("old_runs", |fresh| {
        let store = Store::open(&fresh.target).unwrap();
        let of = job(&store, "one", 0);
        let left = || -> Vec<i64> {
            let all = store.reader().read(|sql| runs::list(sql, of, 99)).unwrap();
            all.iter().map(|run| run.number).collect()
        };
        let forget =
            |before| store.write(Durability::Relaxed, |sql| history::forget_runs(sql, of, before)).unwrap();
        run(&store, of, 1, 10, RunOutcome::Failed);
        run(&store, of, 2, 20, RunOutcome::Failed);
        assert_eq!((forget(99), left()), (0, vec![2, 1]), "none was done: all tell why");
        run(&store, of, 3, 30, RunOutcome::Done);
        run(&store, of, 4, 40, RunOutcome::Done);
        run(&store, of, 5, 50, RunOutcome::Failed);
        assert_eq!((forget(20), left()), (1, vec![5, 4, 3, 2]));
        assert_eq!((forget(99), left()), (2, vec![5, 4]));
        assert_eq!(known(&store, of)[0], (HistoryKind::Runs, 99));
        let by = store.reader().read(|sql| runs::list(sql, of, 1)).unwrap().remove(0).begun_by;
        assert_eq!(by.as_deref(), Some("key ann"));
    });
}

#[test]
fn runs_of_all_jobs_come_by_their_time_and_those_that_made_room_are_told() {
    on_both("past_runs", |fresh| {
        let store = Store::open(&fresh.target).unwrap();
        let (one, other) = (job(&store, "one", 0), job(&store, "other", 0));
        for number in 1..=4 {
            run(&store, one, number, number * 10, RunOutcome::Done);
            run(&store, other, number, number * 10 + 5, RunOutcome::Done);
        }
        let (mut before, mut found) = (RunPlace { at: i64::MAX, job: 0, number: 0 }, Vec::new());
        loop {
            let page = store.reader().read(|sql| history::runs(sql, 15, before, 3)).unwrap();
            let Some(last) = page.last() else { break };
            before = RunPlace { at: last.run.started_at, job: last.job.0, number: last.run.number };
            found.extend(page.into_iter().map(|past| (past.job, past.run.number)));
        }
        let wanted = [4, 3, 2].into_iter().flat_map(|number| [(other, number), (one, number)]);
        assert_eq!(found, wanted.chain([(other, 1)]).collect::<Vec<_>>());
        let of_one = store.reader().read(|sql| history::runs_of_job(sql, one, 15, 4, 9)).unwrap();
        assert_eq!(of_one.iter().map(|past| past.run.number).collect::<Vec<_>>(), [3, 2]);
        assert_eq!(known(&store, one)[0], (HistoryKind::Runs, 0));
        run(&store, one, 2 + limits::RUNS_KEPT, 70, RunOutcome::Done);
        assert_eq!(known(&store, one)[0], (HistoryKind::Runs, 20), "the first run made room");
    });
}

#[test]
fn a_job_that_asks_for_documents_knows_of_them_from_its_next_run_until_it_asks_no_more() {
    on_both("asks", |fresh| {
        let store = Store::open(&fresh.target).unwrap();
        let of = job(&store, "one", 0);
        let begin = |number, at, notes| {
            let begin = Begin { number, kind: RunKind::Full, at, by: "", notes };
            store.write(Durability::Relaxed, |sql| runs::open(sql, of, begin)).unwrap();
            known(&store, of).get(2).copied()
        };
        assert_eq!(begin(1, 10, HistoryOf::Failures), None);
        assert_eq!(begin(2, 20, HistoryOf::Documents), Some((HistoryKind::Documents, 20)));
        assert_eq!(begin(3, 30, HistoryOf::Documents), Some((HistoryKind::Documents, 20)));
        assert_eq!(begin(4, 40, HistoryOf::Failures), None);
        // It goes with the job.
        store
            .write(Durability::Relaxed, |sql| {
                jobs::delete(sql, of)?;
                jobs::forget(sql, of)
            })
            .unwrap();
        assert_eq!(known(&store, of), []);
    });
}
