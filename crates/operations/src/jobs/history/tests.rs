//! History as it is asked for: filters, pages that come together, what is known, and the reports over a store that a test has filled.

use ingather_model::ids::{ConnectionId, JobId};
use ingather_model::job::{Definition, RunKind};
use ingather_store::runs::{self, Begin};
use ingather_store::{Durability, Store, Target, jobs};
use serde_json::json;

use super::reports::{ACTIVITY, AskActivity, AskResults, RESULTS};
use super::*;
use crate::context::tests::asked_of;

const DAY: i64 = limits::DAY_MS;

/// A day after the runs.
struct Later;

impl ingather_contract::call::Clock for Later {
    fn now(&self) -> i64 {
        2 * DAY
    }
}

struct Kept {
    store: Store,
    _folder: tempfile::TempDir,
}

fn add(store: &Store, name: &str, history: serde_json::Value) -> JobId {
    let definition = json!({"name": name, "repository": "files", "source": {"root": "/x"}, "outputs": [], "history": history});
    let definition: Definition = serde_json::from_value(definition).unwrap();
    store.write(Durability::Relaxed, |sql| jobs::add(sql, ConnectionId(1), name, &definition, DAY)).unwrap()
}

/// A store with two jobs: `all` notes every document, `few` what failed. Each had three runs, an hour apart, the second of which failed.
fn kept() -> Kept {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&Target::Sqlite(folder.path().join("store.db"))).unwrap();
    let all = add(&store, "all", json!({"of": "documents"}));
    let few = add(&store, "few", json!({"of": "failures"}));
    for number in 1..=3 {
        let at = DAY + number * 3_600_000;
        for (job, notes) in [(all, HistoryOf::Documents), (few, HistoryOf::Failures)] {
            let begin = Begin { number, kind: RunKind::Full, at, by: "schedule", notes };
            let outcome = if number == 2 { RunOutcome::Failed } else { RunOutcome::Done };
            let row = |document: i64, outcome, name: &'static str| stored::Noted {
                document,
                outcome,
                code: if outcome == HistoryOutcome::Failed { "unreadable" } else { "" },
                name,
                message: if outcome == HistoryOutcome::Failed { "permission denied" } else { "" },
                bytes: 100 * document,
            };
            store
                .write(Durability::Relaxed, |sql| {
                    runs::open(sql, job, begin)?;
                    let failed = row(1, HistoryOutcome::Failed, "a/one.txt");
                    stored::note(sql, job, number, at + 1, &[failed])?;
                    if notes == HistoryOf::Documents {
                        let rows = [
                            row(2, HistoryOutcome::Added, "a/b/two.txt"),
                            row(3, HistoryOutcome::Updated, "three.txt"),
                        ];
                        stored::note(sql, job, number, at + 2, &rows)?;
                    }
                    runs::end(sql, job, number, at + 10, outcome, r#"{"added": 2, "failed": 1}"#, None)
                })
                .unwrap();
        }
    }
    Kept { store, _folder: folder }
}

/// Asks the operation as an operator.
fn ask<T: serde::de::DeserializeOwned>(
    kept: &Kept,
    operation: &str,
    request: serde_json::Value,
) -> Result<T> {
    let row = crate::OPERATIONS.iter().find(|one| one.name == operation).unwrap();
    let mut answer = None;
    let mut problem = None;
    let _told = asked_of(Some(kept.store.reader().clone()), &[Role::Operator], |context, caller| {
        let (host, registry, remote) = (context.host, context.registry, None);
        let context = &Context { host, registry, clock: std::sync::Arc::new(Later), remote };
        match row.call_json(context, caller, request, &mut |_| {}) {
            Ok(found) => answer = Some(found),
            Err(error) => problem = Some(error),
        }
        Ok(())
    });
    match problem {
        Some(problem) => Err(problem),
        None => Ok(serde_json::from_value(answer.unwrap()).unwrap()),
    }
}

fn asked(kept: &Kept, request: serde_json::Value) -> HistoryPage {
    ask(kept, LIST.operation.name, request).unwrap()
}

#[test]
fn runs_are_found_by_job_time_and_outcome() {
    let kept = kept();
    let found = |request: serde_json::Value| -> Vec<(String, i64)> {
        asked(&kept, request).runs.into_iter().map(|past| (past.job, past.run.run)).collect()
    };
    assert_eq!(found(json!({})).len(), 6);
    let of_all =
        |numbers: &[i64]| numbers.iter().map(|number| ("all".to_owned(), *number)).collect::<Vec<_>>();
    assert_eq!(found(json!({"job": "all"})), of_all(&[3, 2, 1]));
    assert_eq!(found(json!({"job": "all", "outcome": "failed"})), of_all(&[2]));
    let second = DAY + 2 * 3_600_000;
    assert_eq!(found(json!({"job": "all", "since": second})), of_all(&[3, 2]));
    assert_eq!(found(json!({"job": "all", "until": second})), of_all(&[1]));
    assert_eq!(found(json!({"until": second})).len(), 2);
    let page = asked(&kept, json!({"job": "all", "limit": 1}));
    assert_eq!(page.runs[0].run.begun_by.as_deref(), Some("schedule"));
    assert_eq!(page.runs[0].sentence, "done: 3 seen: 2 added, 1 failed");
    assert_eq!((page.knows_from, page.next.is_some()), (DAY, true));
}

#[test]
fn documents_are_found_by_job_outcome_name_and_code() {
    let kept = kept();
    let found = |mut request: serde_json::Value| {
        request["of"] = "documents".into();
        asked(&kept, request).documents.len()
    };
    assert_eq!(found(json!({})), 12);
    assert_eq!(found(json!({"job": "all"})), 9);
    assert_eq!(found(json!({"job": "all", "outcome": "added"})), 3);
    assert_eq!(found(json!({"name": "a/*"})), 6, "an asterisk passes no folder");
    assert_eq!(found(json!({"name": "a/**"})), 9);
    assert_eq!(found(json!({"code": "unreadable"})), 6);
    assert_eq!(found(json!({"code": "gone"})), 0);
    assert_eq!(found(json!({"since": DAY + 3 * 3_600_000})), 4);
    let failed = asked(&kept, json!({"of": "documents", "job": "few", "outcome": "failed", "limit": 1}));
    let PastDocument { document, reason, code, run, .. } = &failed.documents[0];
    assert_eq!((document.as_str(), reason.as_deref(), *run), ("a/one.txt", Some("permission denied"), 3));
    assert_eq!(code.as_deref(), Some("unreadable"));
}

#[test]
fn pages_of_any_length_lead_to_the_same_list_and_each_bound_of_looking() {
    let kept = kept();
    for request in [
        json!({}),
        json!({"job": "all"}),
        json!({"of": "documents"}),
        json!({"of": "documents", "job": "all", "outcome": "added"}),
    ] {
        let whole = asked(&kept, request.clone());
        let told = |page: &HistoryPage| -> Vec<String> {
            let runs = page.runs.iter().map(|past| format!("{} {}", past.job, past.run.run));
            runs.chain(page.documents.iter().map(|past| format!("{past:?}"))).collect()
        };
        assert_eq!(whole.next, None, "{request}");
        for (limit, may_look) in [(1, 100), (2, 100), (5, 100), (100, 1), (3, 2)] {
            let mut request: ListHistory = serde_json::from_value(request.clone()).unwrap();
            request.limit = limit;
            let reader = kept.store.reader();
            let jobs = Jobs::of(reader, request.job.as_deref()).unwrap();
            let mut found = Vec::new();
            let mut pages = 0;
            loop {
                let page = page_of(reader, &jobs, &request, may_look).unwrap();
                assert!(page.runs.len() + page.documents.len() <= limit as usize);
                found.extend(told(&page));
                pages += 1;
                assert!(pages < 50, "it comes to an end");
                let Some(next) = page.next else { break };
                request.cursor = Some(next);
            }
            assert_eq!(found, told(&whole), "{request:?} {limit} {may_look}");
        }
    }
}

#[test]
fn what_cannot_be_meant_is_refused_with_the_words_that_there_are() {
    let kept = kept();
    let refused = |request: serde_json::Value| {
        let answer: Result<HistoryPage> = ask(&kept, LIST.operation.name, request);
        answer.unwrap_err().to_string()
    };
    assert!(refused(json!({"outcome": "added"})).contains("there is done, "), "of runs");
    assert!(refused(json!({"of": "documents", "outcome": "done"})).contains("there is added, "));
    assert!(refused(json!({"name": "a"})).contains("`documents`"));
    assert!(refused(json!({"of": "documents", "name": "a".repeat(300)})).contains("at most 256 bytes"));
    assert!(refused(json!({"job": "none"})).contains("there is all, few"));
    let of_runs = asked(&kept, json!({"limit": 1})).next.unwrap();
    assert!(refused(json!({"of": "documents", "limit": 1, "cursor": of_runs})).contains("cursor"));
}

#[test]
fn a_list_of_documents_says_of_which_jobs_it_knows_failures_alone() {
    let kept = kept();
    let says = |request: serde_json::Value| asked(&kept, request).says;
    let both = says(json!({"of": "documents"}));
    assert!(both.starts_with("documents that runs visited or removed since"), "{both}");
    assert!(
        both.contains("of job few only those that failed or were left out, for they do not keep others"),
        "{both}"
    );
    let few = says(json!({"of": "documents", "job": "few"}));
    assert!(few.starts_with("of job few only those that failed"), "{few}");
    let failed = says(json!({"of": "documents", "job": "few", "outcome": "failed"}));
    assert!(failed.starts_with("documents that failed or were left out since"), "{failed}");
    let all = asked(&kept, json!({"of": "documents", "job": "all"}));
    assert_eq!(all.knows_from, DAY + 3_600_000, "from its first run that noted all");
    assert!(!all.says.contains("only"), "{}", all.says);
}

#[test]
fn results_are_counted_by_outcome_reason_and_folder() {
    let kept = kept();
    let counted = |request: serde_json::Value| -> Vec<(String, String, &'static str, u64, u64)> {
        let report: reports::ResultsReport = ask(&kept, RESULTS.operation.name, request).unwrap();
        let row = |group: reports::ResultGroup| {
            (group.job, group.bucket, group.outcome.as_str(), group.count, group.bytes)
        };
        let mut rows: Vec<_> = report.groups.into_iter().map(row).collect();
        rows.sort();
        rows
    };
    let row =
        |job: &str, bucket: &str, outcome, bytes| (job.to_owned(), bucket.to_owned(), outcome, 3, bytes);
    let all =
        [row("all", "", "updated", 900), row("all", "a/", "added", 600), row("all", "a/", "failed", 300)];
    assert_eq!(counted(json!({})), [&all[..], &[row("few", "a/", "failed", 300)]].concat());
    assert_eq!(counted(json!({"job": "all", "name": "*.txt"})), [row("all", "", "updated", 900)]);
    assert_eq!(
        counted(json!({"job": "all", "levels": 2, "name": "a/b/**"})),
        [row("all", "a/b/", "added", 600)]
    );
    let second = DAY + 2 * 3_600_000;
    let one: reports::ResultsReport =
        ask(&kept, RESULTS.operation.name, json!({"job": "few", "since": second, "limit": 1})).unwrap();
    let group = &one.groups[0];
    assert_eq!((group.count, group.first_at, group.last_at), (2, second + 1, DAY + 3 * 3_600_000 + 1));
    assert_eq!((one.knows_from, one.next), (second, None));
    assert_eq!(group.code.as_deref(), Some("unreadable"));
    let later: reports::ResultsReport =
        ask(&kept, RESULTS.operation.name, json!({"since": i64::MAX})).unwrap();
    assert_eq!((later.knows_from, later.groups.len()), (2 * DAY, 0));
    let _: AskResults = serde_json::from_value(json!({})).unwrap();
}

#[test]
fn the_busiest_times_are_of_jobs_that_keep_every_document_and_refused_without_one() {
    let kept = kept();
    let report: reports::ActivityReport =
        ask(&kept, ACTIVITY.operation.name, json!({"levels": 0, "window_ms": 2})).unwrap();
    let [all] = &report.buckets[..] else { panic!("{report:?}") };
    // Two of the three are done at the same time, and the third a millisecond before.
    let last = DAY + 3 * 3_600_000;
    assert_eq!((all.documents, all.documents_from), (3, last + 1));
    assert_eq!((all.bytes, all.bytes_from), (600, last + 1));
    let folders: reports::ActivityReport =
        ask(&kept, ACTIVITY.operation.name, json!({"job": "all", "window_ms": 86_400_000})).unwrap();
    let told: Vec<(&str, u64, u64)> =
        folders.buckets.iter().map(|one| (one.bucket.as_str(), one.documents, one.bytes)).collect();
    assert_eq!(told, [("a/", 6, 900), ("", 3, 900)]);
    let refused: Result<reports::ActivityReport> = ask(&kept, ACTIVITY.operation.name, json!({"job": "few"}));
    assert!(refused.unwrap_err().to_string().contains("--history documents"));
    let wrong: Result<reports::ActivityReport> = ask(&kept, ACTIVITY.operation.name, json!({"window_ms": 0}));
    assert!(wrong.is_err());
    let _: AskActivity = serde_json::from_value(json!({})).unwrap();
}
