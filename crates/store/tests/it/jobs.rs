//! What is asked of many jobs at once says what is asked of each of them.

use ingather_model::ids::JobId;
use ingather_model::job::RunKind;
use ingather_model::job::history::HistoryOf;
use ingather_model::lifecycle::outcome::RunOutcome;
use ingather_store::jobs::{self, Job};
use ingather_store::{Durability, Sql, Store, StoreError, runs};

use crate::world::on_both;

pub(crate) const DEFINITION: &str =
    r#"{"name": "", "repository": "files", "source": {}, "outputs": ["index"]}"#;

/// Jobs of these names, each with as many runs as its place says, of which every second one ended well.
fn made(store: &Store, names: &[&str]) -> Vec<JobId> {
    let made = store.write(Durability::Relaxed, |sql| {
        let mut ids = Vec::new();
        for (place, name) in names.iter().enumerate() {
            let mut definition: ingather_model::job::Definition = serde_json::from_str(DEFINITION).unwrap();
            definition.name = (*name).to_owned();
            let id = jobs::add(sql, ingather_model::ids::ConnectionId(1), name, &definition, 7)?;
            for number in 1..=place as i64 {
                let notes = HistoryOf::Failures;
                let begin = runs::Begin { number, kind: RunKind::Full, at: number, by: "schedule", notes };
                runs::open(sql, id, begin)?;
                let outcome = if number % 2 == 0 { RunOutcome::Done } else { RunOutcome::Failed };
                runs::end(sql, id, number, 10 * number, outcome, "{}", None)?;
            }
            ids.push(id);
        }
        Ok(ids)
    });
    made.unwrap()
}

#[test]
fn a_page_of_jobs_goes_on_behind_a_name_in_the_order_of_bytes() {
    on_both("page", |fresh| {
        let store = Store::open(&fresh.target).unwrap();
        made(&store, &["b", "Z", "ä", "a", "_", "a-1"]);
        let mut names = Vec::new();
        let mut after = String::new();
        loop {
            let page = store.reader().read(|sql| jobs::page(sql, &after, 2)).unwrap();
            assert!(page.len() <= 2);
            let Some(last) = page.last() else { break };
            after = last.name.clone();
            names.extend(page.into_iter().map(|job| job.name));
        }
        assert_eq!(names, ["Z", "_", "a", "a-1", "b", "ä"]);
    });
}

#[test]
fn what_is_asked_of_many_jobs_is_what_each_of_them_says() {
    on_both("jobs", |fresh| {
        let store = Store::open(&fresh.target).unwrap();
        let ids = made(&store, &["never", "failed", "done", "failed again"]);
        let asked: Vec<i64> = ids.iter().map(|id| id.0).collect();
        store
            .reader()
            .read(|sql| {
                let last = runs::last(sql, &asked[1..])?;
                for id in &ids[1..] {
                    let singly = runs::list(sql, *id, 1)?.remove(0);
                    assert_eq!(format!("{:?}", last[id]), format!("{singly:?}"));
                    let good = runs::list(sql, *id, 9)?
                        .into_iter()
                        .find(|run| run.outcome == Some(RunOutcome::Done));
                    assert_eq!(format!("{:?}", runs::last_good(sql, *id)?), format!("{good:?}"));
                }
                assert!(runs::last(sql, &asked[..1])?.is_empty(), "of one that never ran");
                let all = jobs::list(sql)?;
                let named: Vec<_> = all.iter().map(|job| (job.id, job.name.clone())).collect();
                assert_eq!(jobs::names(sql)?, named);
                // A job as it was before: all that may have changed since comes from where it stands.
                let before = |job: &Job| Job { run: 99, paused: true, rereads: 9, ..job.clone() };
                for (job, current) in all.iter().zip(jobs::current(sql)?) {
                    assert_eq!(format!("{:?}", current.of(&before(job))), format!("{job:?}"));
                }
                Ok(())
            })
            .unwrap();
    });
}

#[test]
fn no_run_is_wanted_behind_one_that_somebody_has_stopped_or_that_is_over() {
    on_both("restart_stopped", |fresh| {
        let store = Store::open(&fresh.target).unwrap();
        let job = made(&store, &["docs"])[0];
        let wanted = |steps: &dyn Fn(&mut Sql<'_>) -> Result<(), StoreError>| {
            let write = store.write(Durability::Synced, |sql| {
                steps(sql)?;
                jobs::restart_stopped(sql, job, RunKind::Minimal)?;
                Ok(jobs::get(sql, job)?.unwrap().restart)
            });
            write.unwrap()
        };
        assert_eq!(wanted(&|_| Ok(())), None, "it rests");
        assert_eq!(wanted(&|sql| jobs::begin(sql, job).map(drop)), Some(RunKind::Minimal));
        let abort = |sql: &mut Sql<'_>| {
            jobs::ask_restart(sql, job, None)?;
            jobs::stop(sql, job, 1).map(drop)
        };
        assert_eq!(wanted(&abort), None, "a person has stopped it");
    });
}
