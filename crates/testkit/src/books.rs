//! table: what must be true of the rows of a store, each as a query that finds nothing (`store.md` 4.2).
//!
//! The queries read the tables themselves, not through the store's own statements: a mistake in those must not hide here.

use ingather_store::Target;

/// When a query has to find nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    /// Between any two deeds, crashes included.
    Always,
    /// When every job has run to its end and nothing stands in the way.
    AtRest,
}
use When::{Always, AtRest};

/// Number in `store.md` 4.2, when, what is wrong, and the query that finds it: its first column says where.
const QUERIES: &[(u32, When, &str, &str)] = &[
    (
        1,
        Always,
        "work without a document",
        "SELECT w.document FROM work w LEFT JOIN document d ON d.id = w.document WHERE d.id IS NULL",
    ),
    (
        2,
        Always,
        "a document without its name",
        "SELECT d.id FROM document d LEFT JOIN document_text t ON t.id = d.id WHERE t.id IS NULL",
    ),
    (
        2,
        Always,
        "a name without its document",
        "SELECT t.id FROM document_text t LEFT JOIN document d ON d.id = t.id WHERE d.id IS NULL",
    ),
    (
        3,
        Always,
        "a delivery without its document",
        "SELECT v.document FROM delivery v LEFT JOIN document d ON d.id = v.document WHERE d.id IS NULL",
    ),
    (
        3,
        Always,
        "an address without its document",
        "SELECT v.document FROM delivery_uri v LEFT JOIN document d ON d.id = v.document WHERE d.id IS NULL",
    ),
    (
        4,
        Always,
        "settled, and an output does not hold what was sent",
        "SELECT v.document FROM delivery v LEFT JOIN work w ON w.document = v.document LEFT JOIN trouble t ON t.document = v.document \
       JOIN document d ON d.id = v.document WHERE d.settings <> 0 AND (v.held IS DISTINCT FROM v.sent OR v.held_access IS DISTINCT FROM v.sent_access) AND v.sent <> 0 AND v.outcome IS NULL AND w.document IS NULL AND t.document IS NULL",
    ),
    (4, AtRest, "a removal that was never confirmed", "SELECT v.document FROM delivery v WHERE v.sent = 0"),
    (
        5,
        AtRest,
        "forgotten: neither waiting, nor in trouble, nor delivered",
        "SELECT d.id FROM document d LEFT JOIN work w ON w.document = d.id LEFT JOIN trouble t ON t.document = d.id LEFT JOIN delivery v ON v.document = d.id \
       WHERE w.document IS NULL AND t.document IS NULL AND v.document IS NULL",
    ),
    (
        7,
        Always,
        "two owners of one address at rest hold different digests",
        "SELECT v.address FROM delivery v WHERE v.held = v.sent AND v.held <> 0 AND v.outcome IS NULL GROUP BY v.output, v.address_parent, v.address HAVING count(DISTINCT v.held) > 1",
    ),
    (
        8,
        Always,
        "a wrong count of documents",
        "SELECT j.handle FROM job j WHERE (SELECT count(*) FROM document d WHERE d.job = j.handle) <> (SELECT coalesce(sum(n), 0) FROM tally t WHERE t.job = j.handle AND t.name = 'documents')",
    ),
    (9, Always, "a count below zero", "SELECT job FROM tally GROUP BY job, name HAVING sum(n) < 0"),
    (
        10,
        Always,
        "two open runs of one job",
        "SELECT job FROM run WHERE ended_at IS NULL GROUP BY job HAVING count(*) > 1",
    ),
    (
        11,
        Always,
        "written by a run that does not exist yet",
        "SELECT d.id FROM document d JOIN job j ON j.handle = d.job WHERE d.changed_run > j.run",
    ),
    (
        11,
        Always,
        "marks of a run that does not exist",
        "SELECT s.job FROM seen s LEFT JOIN run r ON r.job = s.job AND r.number = s.run WHERE r.job IS NULL",
    ),
    (
        12,
        Always,
        "a document's id that was not given out yet",
        "SELECT d.id FROM document d WHERE d.id >= coalesce((SELECT next FROM id_block WHERE name = 'document'), 1)",
    ),
    (
        12,
        Always,
        "a place's id that was not given out yet",
        "SELECT p.id FROM place p WHERE p.id >= coalesce((SELECT next FROM id_block WHERE name = 'place'), 1)",
    ),
    (
        12,
        Always,
        "an intent's number that was not given out yet",
        "SELECT v.document FROM delivery v WHERE v.seq >= coalesce((SELECT next FROM id_block WHERE name = 'seq'), 1)",
    ),
    (
        14,
        Always,
        "documents of a job that is gone",
        "SELECT d.id FROM document d LEFT JOIN job j ON j.handle = d.job WHERE j.handle IS NULL",
    ),
    (
        14,
        Always,
        "work of a job that is gone",
        "SELECT d.document FROM work d LEFT JOIN job j ON j.handle = d.job WHERE j.handle IS NULL",
    ),
    (
        14,
        Always,
        "runs of a job that is gone",
        "SELECT d.job FROM run d LEFT JOIN job j ON j.handle = d.job WHERE j.handle IS NULL",
    ),
    (
        14,
        Always,
        "counters of a job that is gone",
        "SELECT d.job FROM tally d LEFT JOIN job j ON j.handle = d.job WHERE j.handle IS NULL",
    ),
    (
        14,
        Always,
        "marks or blind spots of a job that is gone",
        "SELECT d.job FROM (SELECT job FROM seen UNION SELECT job FROM blind_spot) d LEFT JOIN job j ON j.handle = d.job WHERE j.handle IS NULL",
    ),
    (
        15,
        Always,
        "trouble without a document",
        "SELECT t.document FROM trouble t LEFT JOIN document d ON d.id = t.document WHERE d.id IS NULL",
    ),
    (
        15,
        Always,
        "waits for another attempt without a visit",
        "SELECT t.document FROM trouble t LEFT JOIN work w ON w.document = t.document WHERE t.kind = 'retrying' AND w.document IS NULL",
    ),
    (
        16,
        Always,
        "a part that nobody holds",
        "SELECT p.number FROM part p LEFT JOIN process q ON q.id = p.process WHERE p.process IS NOT NULL AND q.id IS NULL",
    ),
    (16, Always, "more attempts than allowed", "SELECT document FROM trouble WHERE attempts > attempts_max"),
    (
        20,
        Always,
        "a class that does not exist",
        "SELECT d.id FROM document d LEFT JOIN access_class c ON c.id = d.class WHERE d.class IS NOT NULL AND c.id IS NULL",
    ),
    (
        20,
        Always,
        "a place that does not exist",
        "SELECT d.id FROM document d LEFT JOIN place p ON p.id = d.place WHERE d.place IS NOT NULL AND p.id IS NULL",
    ),
    (
        20,
        Always,
        "a place whose parent or level does not exist",
        "SELECT p.id FROM place p LEFT JOIN place a ON a.id = p.parent LEFT JOIN access_class c ON c.id = p.level WHERE (p.parent IS NOT NULL AND a.id IS NULL) OR c.id IS NULL",
    ),
    (
        21,
        Always,
        "a delivery to an output that does not exist",
        "SELECT v.document FROM delivery v LEFT JOIN connection c ON c.handle = v.output WHERE c.handle IS NULL",
    ),
    (
        22,
        AtRest,
        "a visit that waits",
        "SELECT document FROM work UNION SELECT id FROM document WHERE settings = 0",
    ),
    (
        23,
        AtRest,
        "a run that is open, or a job that does not rest",
        "SELECT handle FROM job WHERE state <> 'resting' UNION SELECT job FROM run WHERE ended_at IS NULL",
    ),
    (
        24,
        AtRest,
        "removals that are still held",
        "SELECT r.job FROM run r JOIN job j ON j.handle = r.job AND j.run = r.number WHERE r.guard = 'held'",
    ),
];

/// What is wrong, a sentence each. Only SQLite is looked at: the rows are the same on both.
pub fn breaches(target: &Target, at_rest: bool) -> Vec<String> {
    let Target::Sqlite(path) = target else { return Vec::new() };
    let connection = rusqlite::Connection::open(path).expect("a test's store can be read");
    let mut found = Vec::new();
    for (number, when, what, query) in QUERIES {
        if *when == AtRest && !at_rest {
            continue;
        }
        let mut statement = connection.prepare(query).expect("the queries are right");
        let rows = statement.query_map([], |row| row.get::<_, i64>(0)).expect("the queries are right");
        let ids: Vec<String> = rows.flatten().take(5).map(|id| id.to_string()).collect();
        if !ids.is_empty() {
            found.push(format!("the books, {number}: {what}: {}", ids.join(", ")));
        }
    }
    found
}

/// A claim of a job on an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Name of the job.
    pub job: String,
    /// Name of the document in the job, with the component if any.
    pub entry: String,
    /// Name of the output.
    pub output: String,
    /// A removal was sent and not confirmed, or the job is being deleted.
    pub leaving: bool,
}

/// Everything that may have been delivered.
pub fn claims(target: &Target) -> Vec<Claim> {
    let Target::Sqlite(path) = target else { return Vec::new() };
    let connection = rusqlite::Connection::open(path).expect("a test's store can be read");
    let mut statement = connection
        .prepare(
            "SELECT j.name, t.key_text || coalesce('#' || m.name, ''), c.name, v.sent = 0 OR j.state = 'deleting' FROM delivery v \
             JOIN document d ON d.id = v.document JOIN document_text t ON t.id = d.id \
             JOIN job j ON j.handle = d.job JOIN connection c ON c.handle = v.output \
             LEFT JOIN component m ON m.document = v.document AND m.component = v.component",
        )
        .expect("the query is right");
    let rows = statement.query_map([], |row| {
        Ok(Claim { job: row.get(0)?, entry: row.get(1)?, output: row.get(2)?, leaving: row.get(3)? })
    });
    rows.expect("the query is right").flatten().collect()
}
