//! Another key for the secrets of a store. It is on disk before anything is sealed with it, and takes the place of the old one when all
//! is: a program that is killed in between leaves a store that one of the two files opens, and the next writer ends what was begun.

use std::path::PathBuf;
use std::sync::Arc;

use super::sealed::Key;
use super::{NOTED, Secrets, key_file, key_wanted, open_sink, plain, seal_sink};
use crate::connections;
use crate::db::{Durability, Sql, Store, Value};
use crate::error::{Result, StoreError};
use crate::jobs;
use crate::leases::Lease;
use crate::queries;

/// Keys before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rotated {
    /// The id of the key that opens nothing any more.
    pub before: String,
    /// The id of the one that all is sealed with.
    pub after: String,
}

impl Secrets {
    /// Where the next key is until it is the key.
    pub(super) fn next_file(&self) -> PathBuf {
        let mut file = self.file.as_os_str().to_owned();
        file.push(".next");
        PathBuf::from(file)
    }

    /// The next key, where the store is sealed with it already.
    pub(super) fn next(&self, id: &str) -> Option<Key> {
        key_file::read(&self.next_file()).ok().flatten().filter(|key| key.id() == id)
    }
}

/// Ends a rotation that was cut off behind its transaction: what the store is sealed with becomes the key.
pub(crate) fn settle(store: &Store, secrets: &Secrets) -> Result<()> {
    if !secrets.next_file().exists() {
        return Ok(());
    }
    let Some(wanted) = store.reader().read(key_wanted)? else { return Ok(()) };
    match secrets.next(&wanted) {
        Some(_) => key_file::replace(&secrets.next_file(), &secrets.file).map_err(StoreError::Refused),
        None => Ok(()),
    }
}

/// Seals all secrets of a store with a new key; none where it has no secrets.
///
/// # Errors
/// `Refused` where a secret cannot be opened with the key that is there, or the new one cannot be made; all is as it was then.
pub fn rotate(store: &Store, lease: &Lease) -> Result<Option<Rotated>> {
    let Some(secrets) = store.reader().read(|sql| Ok(sql.secrets()))? else { return Ok(None) };
    let Some(before) = store.reader().read(key_wanted)? else { return Ok(None) };
    if std::fs::symlink_metadata(&secrets.file).is_ok_and(|facts| facts.is_symlink()) {
        return Err(StoreError::Refused(format!(
            "the secrets key {} is a link, and would be replaced; name the file that it leads to with --secrets-key",
            secrets.file.display()
        )));
    }
    secrets.key(&before).map_err(StoreError::Refused)?;
    // One that was left behind before anything was sealed with it.
    key_file::discard(&secrets.next_file()).map_err(StoreError::Refused)?;
    let next = Arc::new(key_file::make(&secrets.next_file()).map_err(StoreError::Refused)?);
    store.write(Durability::Synced, |sql| {
        lease.fence(sql)?;
        sql.lock_definitions()?;
        // By the old key, before the new one is noted.
        let (all, others) = (jobs::list(sql)?, connections::list(sql)?);
        let mut sealed = all.iter().find_map(|job| {
            let (place, why) = job.definition.still_sealed()?;
            Some(format!("`{place}` of job {} cannot be opened: {why}", job.name))
        });
        sealed = sealed.or_else(|| {
            others.iter().find_map(|one| {
                let (place, why) = ingather_model::job::sealed::still_sealed(&one.settings)?;
                Some(format!("`{place}` of {} {} cannot be opened: {why}", one.role.as_str(), one.name))
            })
        });
        let sinks = sinks(sql)?;
        if let Err(sentence) = &sinks {
            sealed.get_or_insert_with(|| sentence.clone());
        }
        if let Some(sentence) = sealed {
            return Err(StoreError::Refused(format!("{sentence}; nothing was changed")));
        }
        sql.execute(&queries::META_PUT, &[Value::Text(NOTED), Value::Text(next.id())])?;
        secrets.keep(&next);
        all.iter().try_for_each(|job| jobs::seal(sql, job))?;
        others.iter().try_for_each(|connection| connections::seal(sql, connection))?;
        for (channel, secret) in sinks.unwrap_or_default() {
            let sealed = seal_sink(sql, channel, &secret)?;
            sql.execute(&queries::SECRET_SEAL_SINK, &[Value::Int(channel), Value::Text(&sealed)])?;
        }
        plain::note_unwiped(sql)
    })?;
    key_file::replace(&secrets.next_file(), &secrets.file).map_err(StoreError::Refused)?;
    // What was sealed with the old key goes from the files, too.
    plain::wipe(store)?;
    Ok(Some(Rotated { before, after: next.id().to_owned() }))
}

/// What reports of channels are signed with; a sentence where one cannot be opened.
fn sinks(sql: &mut Sql<'_>) -> Result<std::result::Result<Vec<(i64, String)>, String>> {
    let channels = sql.query(&queries::SECRET_SINKS, &[], |row| row.int(0))?;
    let mut opened = Vec::with_capacity(channels.len());
    for channel in channels {
        match open_sink(sql, channel)? {
            Some(Ok(secret)) => opened.push((channel, secret)),
            Some(Err(why)) => {
                return Ok(Err(format!("the secret of channel {channel} cannot be opened: {why}")));
            }
            None => {}
        }
    }
    Ok(Ok(opened))
}
