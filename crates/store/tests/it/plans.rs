//! Every statement's plan on both databases: no scan of a table that grows, no sort, unless it is named here with why.

use ingather_store::{Target, queries};

use crate::world::on_both;

/// Statements that read a whole small table, or sort a few rows, and why that is right.
const ALLOWED: &[(&str, &str)] = &[
    ("migration/", "a handful of rows"),
    ("process/", "one row for each process"),
    ("connection/list", "a handful of rows, for people"),
    ("connection/ill", "a handful of rows, in their order"),
    ("connection/healths", "as above, for whoever watches a service"),
    ("api_key/list", "a handful of rows, for people"),
    ("job/list", "one row for each job, sorted by name for people"),
    ("job/page", "as above, in the order of bytes"),
    ("job/names", "as above"),
    ("job/current", "as above"),
    ("job/by_root", "jobs of one root, sorted"),
    ("acl/all", "judging a user takes every acl"),
    ("container/all", "judging a user takes every container"),
    ("acl/list", "read once for each run"),
    ("container/list", "read once for each run"),
    ("document/unproven", "asked at the end of a run while a folder opens"),
    ("document/containers", "asked at the end of a run that keeps a folder narrow which it did not meet"),
    ("document/lock", "a list of ids, in their order"),
    ("person/lock", "as above"),
    ("person_group/lock", "as above"),
    ("extract_text/lock", "a list of digests, in their order"),
    ("delivery/unconfirmed", "asked when an output comes back to a job that it was about to leave"),
    ("container_pending/all", "what opened and was not looked at since: at rest empty"),
    ("container_pending/sent_again", "asked when entries of jobs that are gone are narrower: at rest never"),
    ("definition/list", "read once for each run, for outputs that are told"),
    ("definition/in_use", "asked when an output was cut"),
    ("definition/pending", "walks the partial index of access changes that wait"),
    ("delivery/pending_access", "walks the partial index of access changes that wait"),
    ("delivery/leaving_any", "the first row of the partial index of removals that are not confirmed"),
    ("delivery/left", "a list of ids that is made unique"),
    ("record_parent/with_children", "a list of keys that is made unique"),
    ("delivery/drop_dangling", "walks one output after every entry of it was looked at"),
    ("delta_run/renew", "asked once, as a service begins"),
    ("channel/renew", "as above"),
    ("channel/of_job", "channels of one source, in their order, as it is deleted"),
    ("channel/count", "asked when a channel is opened; there are so many at most"),
    ("channel/has_sinks", "walks the partial index of channels that send their reports"),
    ("channel/sinks", "as above"),
    ("ticket_prepared/calls", "rows of calls that are telling webhooks now: at rest empty"),
    ("secret/any", "asked as a store is opened, and by people; of channels there are so many at most"),
    ("secret/sinks", "asked when secrets are sealed with another key"),
    ("event/", "events that are pending: a handful of rows"),
    ("erased/waiting", "walks the partial index of what is still to be erased"),
    ("notice/next", "the first row of the partial index of notices that wait"),
    ("notice/oldest", "the first row of an index"),
    ("notice/nth", "as many rows of an index as are kept, once an hour"),
    ("doctor/", "checks and repairs read everything, when a person asks"),
    ("explain/same_identity", "asked by a person about one document that is gone"),
];

fn allowed(name: &str) -> bool {
    ALLOWED.iter().any(|(begins, _)| name.starts_with(begins))
}

/// Tables that never hold more than a handful of rows.
const SMALL: &[&str] = &[
    "meta",
    "id_block",
    "process",
    "part",
    "connection",
    "job",
    "api_key",
    "migration",
    "json_each",
    "tally",
    "history_from",
    "event",
    "j",
    "up",
];

/// How PostgreSQL is to plan here, whatever little the tables of a test hold.
const AS_WRITERS: &str = "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; \
    SET enable_bitmapscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off";

#[test]
fn no_statement_scans_or_sorts_what_grows() {
    on_both("plans", |fresh| {
        let bad = match &fresh.target {
            Target::Sqlite(path) => on_sqlite(&rusqlite::Connection::open(path).unwrap()),
            Target::Postgres(url) => {
                on_postgres(&mut postgres::Client::connect(url, postgres::NoTls).unwrap())
            }
        };
        assert!(bad.is_empty(), "{}", bad.join("\n"));
    });
}

/// What must cost what waits, not what is held: the index of those that wait, and the one of all that must not be walked.
const FROM_WHAT_WAITS: &[(&queries::Statement, &str, &str)] = &[
    // Asked by every search.
    (&queries::DELIVERY_PENDING_ACCESS, "queue_access", "delivery_address"),
    // Asked by every start of a run.
    (&queries::DELIVERY_LEAVING_ANY, "delivery_leaving", "delivery_address"),
    // Asked with each page of a listing while any removal is not confirmed.
    (&queries::DELIVERY_LEAVING_SPAN, "delivery_leaving", "delivery_address"),
    // Asked for each new folder of a source that has more of them than are kept in memory.
    (&queries::CONTAINER_NAMED, "container_name", "container_connection"),
    // Lists for people: a page of those in a state, or of one job, however many there are of others.
    (&queries::DOCUMENT_LIST_FAILURES, "failure_job", "document_key"),
    (&queries::DOCUMENT_LIST_QUEUED, "queue_job", "document_key"),
    (&queries::DOCUMENT_LIST, "document_key", "failure_job"),
];

#[test]
fn what_waits_is_found_without_walking_all_that_is_held() {
    on_both("waiting", |fresh| {
        for (statement, waits, held) in FROM_WHAT_WAITS {
            let plan = match &fresh.target {
                Target::Sqlite(path) => plan_on_sqlite(&rusqlite::Connection::open(path).unwrap(), statement),
                Target::Postgres(url) => {
                    let mut client = postgres::Client::connect(url, postgres::NoTls).unwrap();
                    client.batch_execute(AS_WRITERS).unwrap();
                    plan_on_postgres(&mut client, statement)
                }
            };
            assert!(plan.iter().any(|step| step.contains(waits)), "{}: {plan:?}", statement.name);
            assert!(!plan.iter().any(|step| step.contains(held)), "{}: {plan:?}", statement.name);
        }
    });
}

fn plan_on_sqlite(connection: &rusqlite::Connection, statement: &queries::Statement) -> Vec<String> {
    let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {}", statement.sqlite())).unwrap();
    let nulls =
        rusqlite::params_from_iter(std::iter::repeat_n(rusqlite::types::Null, plan.parameter_count()));
    plan.query_map(nulls, |row| row.get(3)).unwrap().map(Result::unwrap).collect()
}

fn plan_on_postgres(client: &mut postgres::Client, statement: &queries::Statement) -> Vec<String> {
    let count = client.prepare(statement.postgres()).unwrap().params().len();
    client.batch_execute(&format!("PREPARE plan AS {}", statement.postgres().trim())).unwrap();
    let nulls = vec!["NULL"; count].join(", ");
    let call = if count == 0 { "plan".to_owned() } else { format!("plan({nulls})") };
    let rows = client.query(&format!("EXPLAIN EXECUTE {call}"), &[]).unwrap();
    client.batch_execute("DEALLOCATE plan").unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

fn on_sqlite(connection: &rusqlite::Connection) -> Vec<String> {
    let mut bad = Vec::new();
    for statement in queries::ALL.iter().filter(|statement| !allowed(statement.name)) {
        let steps = plan_on_sqlite(connection, statement);
        // For each row of another table, all rows of an output.
        let each = steps.iter().position(|step| step.starts_with("CORRELATED")).unwrap_or(steps.len());
        for step in &steps[each..] {
            if step.ends_with("(output=?)") {
                bad.push(format!("{} on SQLite, for each row: {step}", statement.name));
            }
        }
        for step in steps {
            let scanned = step.strip_prefix("SCAN ").and_then(|rest| rest.split(' ').next());
            // The subquery is the one row that is being written.
            let grows = scanned.is_some_and(|table| {
                !SMALL.contains(&table) && table != "CONSTANT" && table != "(subquery-1)"
            });
            if grows || step.contains("TEMP B-TREE") {
                bad.push(format!("{} on SQLite: {step}", statement.name));
            }
        }
    }
    bad
}

fn on_postgres(client: &mut postgres::Client) -> Vec<String> {
    client.batch_execute(AS_WRITERS).unwrap();
    let mut bad = Vec::new();
    for statement in queries::ALL.iter().filter(|statement| !allowed(statement.name)) {
        for step in plan_on_postgres(client, statement) {
            let scanned = step.split("Seq Scan on ").nth(1).and_then(|rest| rest.split(' ').next());
            let grows = scanned.is_some_and(|table| !SMALL.contains(&table));
            if grows || step.contains("Sort  (") {
                bad.push(format!("{} on PostgreSQL: {}", statement.name, step.trim()));
            }
        }
    }
    bad
}
