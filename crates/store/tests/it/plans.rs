//! Every statement's plan on both databases: no scan of a table that grows, no sort, unless it is named here with why.

use ingather_store::{Target, queries};

use crate::world::on_both;

/// Statements that read a whole small table, or sort a few rows, and why that is right.
const ALLOWED: &[(&str, &str)] = &[
    ("migration/", "a handful of rows"),
    ("process/", "one row for each process"),
    ("connection/list", "a handful of rows, for people"),
    ("job/list", "one row for each job, sorted by name for people"),
    ("job/by_root", "jobs of one root, sorted"),
    ("access_class/all", "judging a user takes every class"),
    ("place/all", "judging a user takes every place"),
    ("access_class/list", "read once for each run"),
    ("place/list", "read once for each run"),
    ("delivery/pending_access", "walks the partial index of access changes that wait"),
    ("delivery/leaving", "walks the partial index of removals that are not confirmed"),
    ("delivery/left", "a list of ids that is made unique"),
    ("delivery/drop_dangling", "walks one output after every entry of it was looked at"),
    ("doctor/", "checks and repairs read everything, when a person asks"),
    ("explain/same_identity", "asked by a person about one document that is gone"),
];

fn allowed(name: &str) -> bool {
    ALLOWED.iter().any(|(begins, _)| name.starts_with(begins))
}

/// Tables that never hold more than a handful of rows.
const SMALL: &[&str] =
    &["meta", "id_block", "process", "part", "connection", "job", "migration", "json_each", "tally"];

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

/// Every search asks this: it must cost what waits, not what is held.
#[test]
fn access_on_its_way_is_found_from_what_waits() {
    on_both("plans", |fresh| {
        let statement = &queries::DELIVERY_PENDING_ACCESS;
        let plan: Vec<String> = match &fresh.target {
            Target::Sqlite(path) => {
                let connection = rusqlite::Connection::open(path).unwrap();
                let mut plan =
                    connection.prepare(&format!("EXPLAIN QUERY PLAN {}", statement.sqlite())).unwrap();
                plan.query_map([0, 0], |row| row.get(3)).unwrap().map(Result::unwrap).collect()
            }
            Target::Postgres(url) => {
                let mut client = postgres::Client::connect(url, postgres::NoTls).unwrap();
                client.batch_execute(&format!("PREPARE plan AS {}", statement.postgres().trim())).unwrap();
                client.batch_execute(AS_WRITERS).unwrap();
                let rows = client.query("EXPLAIN EXECUTE plan(0, 0)", &[]).unwrap();
                rows.iter().map(|row| row.get(0)).collect()
            }
        };
        assert!(plan.iter().any(|step| step.contains("work_access")), "{plan:?}");
        assert!(!plan.iter().any(|step| step.contains("delivery_address")), "{plan:?}");
    });
}

fn on_sqlite(connection: &rusqlite::Connection) -> Vec<String> {
    let mut bad = Vec::new();
    for statement in queries::ALL.iter().filter(|statement| !allowed(statement.name)) {
        let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {}", statement.sqlite())).unwrap();
        let count = plan.parameter_count();
        let nulls = rusqlite::params_from_iter(std::iter::repeat_n(rusqlite::types::Null, count));
        let steps: Vec<String> =
            plan.query_map(nulls, |row| row.get(3)).unwrap().map(Result::unwrap).collect();
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
        let count = client.prepare(statement.postgres()).unwrap().params().len();
        let text = statement.postgres().trim();
        client.batch_execute(&format!("PREPARE plan AS {text}")).unwrap();
        let nulls = vec!["NULL"; count].join(", ");
        let call = if count == 0 { "plan".to_owned() } else { format!("plan({nulls})") };
        let rows = client.query(&format!("EXPLAIN EXECUTE {call}"), &[]).unwrap();
        client.batch_execute("DEALLOCATE plan").unwrap();
        for step in rows.iter().map(|row| row.get::<_, String>(0)) {
            let scanned = step.split("Seq Scan on ").nth(1).and_then(|rest| rest.split(' ').next());
            let grows = scanned.is_some_and(|table| !SMALL.contains(&table));
            if grows || step.contains("Sort  (") {
                bad.push(format!("{} on PostgreSQL: {}", statement.name, step.trim()));
            }
        }
    }
    bad
}
