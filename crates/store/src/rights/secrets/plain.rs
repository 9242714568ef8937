//! Secrets that an earlier program has stored as they are: sealed by the first writer, all in one transaction, and then wiped from the
//! files of the database.

use std::time::Duration;

use ingather_model::job::sealed::sealed as sealed_text;
use ingather_model::limits;
use serde_json::Value as Json;

use super::{Secrets, is_nothing};
use crate::connections::Declared;
use crate::db::{Durability, Sql, Store, Value, stopping};
use crate::error::{Result, StoreError};
use crate::jobs::Job;
use crate::{connections, jobs, queries};

/// There while what was plain may still be in files of the database.
const UNWIPED: &str = "secrets_unwiped";

/// Seals what is plain. A process that dies meanwhile leaves all of it plain or all of it sealed; the next one goes on.
pub(crate) fn seal_what_is_plain(store: &Store, secrets: &Secrets) -> Result<()> {
    if store.reader().read(|sql| plain(sql, secrets))?.is_some() {
        store.write(Durability::Synced, |sql| {
            sql.lock_definitions()?;
            if let Some(Plain { jobs: found, connections: others }) = plain(sql, secrets)? {
                found.iter().try_for_each(|job| jobs::seal(sql, job))?;
                others.iter().try_for_each(|connection| connections::seal(sql, connection))?;
                note_unwiped(sql)?;
            }
            Ok(())
        })?;
    }
    wipe(store)
}

/// Notes that what was written over may still be in files of the database.
pub(super) fn note_unwiped(sql: &mut Sql<'_>) -> Result<()> {
    let transaction = sql.one(&queries::META_TRANSACTION, &[], |row| row.text(0))?.unwrap_or_default();
    sql.execute(&queries::META_PUT, &[Value::Text(UNWIPED), Value::Text(&transaction)])?;
    Ok(())
}

/// Writes the files of the database anew, where that is to be done and nobody sees the store as of before any more.
pub(super) fn wipe(store: &Store) -> Result<()> {
    let mut looks = 0;
    while !store.reader().read(is_past)? {
        looks += 1;
        if looks == limits::WIPE_LOOKS_MAX {
            return Ok(());
        }
        if stopping::asked() {
            return Err(StoreError::Stopped);
        }
        // Nobody tells when another session has ended.
        std::thread::park_timeout(Duration::from_millis(limits::STORE_LOOK_MS));
    }
    if !store.reader().read(is_unwiped)? {
        return Ok(());
    }
    // What was written over is in free pages until the file is written anew. Where that cannot be done now, the secrets are sealed
    // all the same: the next writer tries it again.
    match store.write_anew() {
        Ok(()) => {}
        Err(StoreError::Stopped) => return Err(StoreError::Stopped),
        Err(_) => return Ok(()),
    }
    store.write(Durability::Synced, |sql| {
        sql.execute(&queries::META_DROP, &[Value::Text(UNWIPED)])?;
        Ok(())
    })
}

/// What holds secrets that are not sealed.
struct Plain {
    jobs: Vec<Job>,
    connections: Vec<Declared>,
}

fn plain(sql: &mut Sql<'_>, secrets: &Secrets) -> Result<Option<Plain>> {
    let is_plain = |value: &Json| sealed_text(value).is_none() && !is_nothing(value);
    let mut jobs = jobs::list_as_stored(sql)?;
    jobs.retain_mut(|job| {
        let mut found = false;
        let mut definition = job.definition.clone();
        let whose = (job.id.0, job.connector.as_deref());
        secrets.each_of_job(whose, &mut definition, &mut |_, value| found |= is_plain(value));
        found
    });
    let mut connections = connections::list_as_stored(sql)?;
    connections.retain_mut(|one| {
        let mut found = false;
        let whose = (one.id.0, one.role, one.kind.as_str());
        secrets.each_of_connection(whose, &mut one.settings, &mut |_, value| found |= is_plain(value));
        found
    });
    Ok((!jobs.is_empty() || !connections.is_empty()).then_some(Plain { jobs, connections }))
}

/// Whether nobody sees what was to be wiped; also where nothing is.
fn is_past(sql: &mut Sql<'_>) -> Result<bool> {
    match sql.one(&queries::META_GET, &[Value::Text(UNWIPED)], |row| row.text(0))? {
        None => Ok(true),
        Some(of) => Ok(sql.one(&queries::META_IS_PAST, &[Value::Text(&of)], |_| Ok(()))?.is_some()),
    }
}

/// Whether files of the database may still have in them what was plain.
///
/// # Errors
/// What the database says.
pub fn is_unwiped(sql: &mut Sql<'_>) -> Result<bool> {
    Ok(sql.one(&queries::META_GET, &[Value::Text(UNWIPED)], |_| Ok(()))?.is_some())
}
