//! Brings the schema up to date: numbered steps with checksums, forward only.

use ingather_model::ids::Digest;

use crate::db::{Durability, Sql, Value, Writer};
use crate::error::{Result, StoreError};
use crate::{queries, turns};

/// Every step: number, name, text. A step that was released is never changed.
const STEPS: &[(i64, &str, &str)] = &[
    (1, "start", include_str!("../migrations/0001_start.sql")),
    (2, "sessions", include_str!("../migrations/0002_sessions.sql")),
    (3, "openings", include_str!("../migrations/0003_openings.sql")),
    (4, "raw", include_str!("../migrations/0004_raw.sql")),
    (5, "definitions", include_str!("../migrations/0005_definitions.sql")),
    (6, "unread", include_str!("../migrations/0006_unread.sql")),
    (7, "words", include_str!("../migrations/0007_words.sql")),
    (8, "container_names", include_str!("../migrations/0008_container_names.sql")),
    (9, "groups", include_str!("../migrations/0009_groups.sql")),
    (10, "service", include_str!("../migrations/0010_service.sql")),
    (11, "callers", include_str!("../migrations/0011_callers.sql")),
    (12, "restart", include_str!("../migrations/0012_restart.sql")),
    (13, "removed", include_str!("../migrations/0013_removed.sql")),
    (14, "history", include_str!("../migrations/0014_history.sql")),
    (15, "erased", include_str!("../migrations/0015_erased.sql")),
    (16, "states", include_str!("../migrations/0016_states.sql")),
    (17, "erased_addresses", include_str!("../migrations/0017_erased_addresses.sql")),
    (18, "sealed", include_str!("../migrations/0018_sealed.sql")),
    (19, "links", include_str!("../migrations/0019_links.sql")),
    (20, "handed_down", include_str!("../migrations/0020_handed_down.sql")),
    (21, "events", include_str!("../migrations/0021_events.sql")),
    (22, "dates", include_str!("../migrations/0022_dates.sql")),
    (23, "authorities", include_str!("../migrations/0023_authorities.sql")),
    (24, "people", include_str!("../migrations/0024_people.sql")),
    (25, "inbox", include_str!("../migrations/0025_inbox.sql")),
    (26, "channels", include_str!("../migrations/0026_channels.sql")),
    (27, "key_sources", include_str!("../migrations/0027_key_sources.sql")),
    (28, "buffered", include_str!("../migrations/0028_buffered.sql")),
    (29, "webhooks", include_str!("../migrations/0029_webhooks.sql")),
    (30, "compounds", include_str!("../migrations/0030_compounds.sql")),
    (31, "retries", include_str!("../migrations/0031_retries.sql")),
    (32, "health", include_str!("../migrations/0032_health.sql")),
];

/// What a new store begins with: all tables as the steps leave them. Running the steps instead, which rename and add, takes seven times
/// as long, and half of the time of a first run over a few files.
const SCHEMA: &str = include_str!("../migrations/schema.sql");

const LEDGER: &str = "CREATE TABLE IF NOT EXISTS migration (number BIGINT PRIMARY KEY, name TEXT NOT NULL, \
                      checksum BIGINT NOT NULL) /*clustered*/;";

/// Applies the steps that are missing, all in one transaction, so that whoever looks meanwhile sees the store as it was before or as
/// it is afterwards; gives a new store its identity and secret.
pub(crate) fn bring_up(writer: &Writer<'_>) -> Result<()> {
    writer.run(Durability::Synced, |sql| {
        let ledger = translate(LEDGER, sql);
        sql.script(&ledger)?;
        if !sql.is_sqlite() {
            // Of two programs that begin at once, of two hosts, the later one finds all of it done.
            sql.script("LOCK TABLE migration IN SHARE ROW EXCLUSIVE MODE")?;
        }
        let applied = applied(sql)?;
        judge(&applied)?;
        let is_new = applied.is_empty();
        if is_new {
            let script = translate(SCHEMA, sql);
            sql.script(&script)?;
            identify(sql)?;
        }
        for (number, name, text) in
            STEPS.iter().filter(|(n, ..)| !applied.iter().any(|(known, _)| known == n))
        {
            if !is_new {
                let script = translate(text, sql);
                sql.script(&script)?;
            }
            let checksum = Digest::of(text.as_bytes()).0;
            let noted = [Value::Int(*number), Value::Text(name), Value::Int(checksum)];
            sql.execute(&queries::MIGRATION_NOTE, &noted)?;
        }
        Ok(())
    })
}

/// Whether there is a store at all; its schema must be exactly ours.
pub(crate) fn check(sql: &mut Sql<'_>) -> Result<bool> {
    if sql.one(&queries::MIGRATION_LEDGER, &[], |row| row.int(0))? == Some(0) {
        return Ok(false);
    }
    let applied = applied(sql)?;
    judge(&applied)?;
    if applied.len() < STEPS.len() {
        return Err(StoreError::Older);
    }
    Ok(!applied.is_empty())
}

fn applied(sql: &mut Sql<'_>) -> Result<Vec<(i64, i64)>> {
    sql.query(&queries::MIGRATION_LIST, &[], |row| Ok((row.int(0)?, row.int(1)?)))
}

fn judge(applied: &[(i64, i64)]) -> Result<()> {
    let known = STEPS.last().map_or(0, |(number, ..)| *number);
    for (number, checksum) in applied {
        match STEPS.iter().find(|(step, ..)| step == number) {
            None => return Err(StoreError::Newer { found: *number, known }),
            Some((.., text)) if Digest::of(text.as_bytes()).0 != *checksum => {
                return Err(StoreError::Checksum(*number));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

/// SQLite refuses PostgreSQL's words in STRICT tables (design store 2.1).
fn translate(text: &str, sql: &Sql<'_>) -> String {
    if sql.is_sqlite() {
        text.replace("BIGINT", "INTEGER")
            .replace("DOUBLE PRECISION", "REAL")
            .replace("BYTEA", "BLOB")
            .replace("/*table*/", "STRICT")
            .replace("/*clustered*/", "STRICT, WITHOUT ROWID")
    } else {
        // Names may be longer than what an ordered index of PostgreSQL takes.
        text.replace("/*hash*/", "USING hash")
    }
}

fn identify(sql: &mut Sql<'_>) -> Result<()> {
    let random = turns::random()
        .map_err(|error| StoreError::Refused(format!("the system gives no random numbers: {error}")))?;
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    for (name, value) in [("secret", hex(&random[..16])), ("id", hex(&random[16..]))] {
        sql.execute(&queries::META_PUT, &[Value::Text(name), Value::Text(&value)])?;
    }
    Ok(())
}
