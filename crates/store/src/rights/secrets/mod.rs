//! Secrets of settings: sealed in what the store keeps, plain in what it hands out (decision 0036). Jobs and connections go in and come
//! out through here, and nowhere else is anything sealed or opened.
//!
//! A secret that cannot be opened is handed out sealed, with the reason: what needs it is refused with that sentence, and all else goes on.

mod key_file;
mod plain;
mod rotation;
mod sealed;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use ingather_model::job::sealed::{SEALED, sealed as sealed_text, still_sealed, stored, unopened};
use ingather_model::job::{Definition, Role};
use serde_json::Value as Json;
use zeroize::Zeroizing;

pub use self::plain::is_unwiped;
pub(crate) use self::plain::seal_what_is_plain;
pub(crate) use self::rotation::settle;
pub use self::rotation::{Rotated, rotate};
use self::sealed::Key;
use crate::db::{Sql, Value};
use crate::error::{Result, StoreError};
use crate::queries;
use crate::turns::lock;

/// The name of the key in the data directory.
pub const KEY_FILE: &str = "secrets.key";
/// What is known of the store's key.
const NOTED: &str = "secrets_key";

/// Whose settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingsOf<'a> {
    /// The source of a job, of this kind of repository.
    Source(&'a str),
    /// A stage of this kind.
    Stage(&'a str),
    /// An output of this kind.
    Output(&'a str),
    /// An authority of this kind.
    Authority(&'a str),
}

/// Which settings are secrets: the store knows no connector.
pub trait SecretPlaces: Send + Sync {
    /// Gives each secret of settings to `change`, with its place as a JSON pointer. Nothing where nobody knows which are secrets.
    fn each(&self, of: SettingsOf<'_>, settings: &mut Json, change: &mut dyn FnMut(&str, &mut Json));
}

/// What seals and opens the secrets of a store.
pub struct Secrets {
    file: PathBuf,
    places: Box<dyn SecretPlaces>,
    key: Mutex<Option<Arc<Key>>>,
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The key is shown nowhere.
        write!(f, "Secrets({})", self.file.display())
    }
}

impl Secrets {
    /// With the key in that file, which is made when the first secret is stored.
    pub fn new(file: PathBuf, places: Box<dyn SecretPlaces>) -> Secrets {
        Secrets { file, places, key: Mutex::default() }
    }

    /// Where the key is.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The key that something is sealed with.
    fn key(&self, id: &str) -> std::result::Result<Arc<Key>, String> {
        if let Some(key) = lock(&self.key).as_ref().filter(|key| key.id() == id) {
            return Ok(key.clone());
        }
        let place = self.file.display();
        // A rotation was cut off: what it has sealed opens with its key.
        if let Some(next) = self.next(id) {
            return Ok(self.keep(&Arc::new(next)));
        }
        match key_file::read(&self.file)? {
            None => Err(format!(
                "the secrets of this store are sealed with the key {id}, and {place} is not there: put it back, or name it with \
                 --secrets-key"
            )),
            Some(key) if key.id() != id => Err(format!(
                "the secrets of this store are sealed with the key {id}, and {place} holds another one, {}: put the right one there, or \
                 name it with --secrets-key",
                key.id()
            )),
            Some(key) => Ok(self.keep(&Arc::new(key))),
        }
    }

    fn keep(&self, key: &Arc<Key>) -> Arc<Key> {
        *lock(&self.key) = Some(key.clone());
        key.clone()
    }

    fn open(&self, place: &str, text: &str) -> std::result::Result<Json, String> {
        let damaged = || "it is damaged, or was moved here from another place; give it anew".to_owned();
        let (id, _) = sealed::parts(text).ok_or_else(damaged)?;
        let plain = self.key(id)?.open(place, text).ok_or_else(damaged)?;
        serde_json::from_str(&plain).map_err(|_| damaged())
    }

    /// Opens what can be opened.
    fn unseal(&self, place: &str, value: &mut Json) {
        let Some(text) = sealed_text(value) else { return };
        *value = self.open(place, text).unwrap_or_else(|why| unopened(text, &why));
    }

    /// The key to seal with: the one that the store knows, or a new one where nothing is sealed yet.
    fn key_to_seal(&self, sql: &mut Sql<'_>) -> Result<Arc<Key>> {
        let noted = |sql: &mut Sql<'_>| sql.one(&queries::META_GET, &[Value::Text(NOTED)], |row| row.text(0));
        let before = noted(sql)?;
        if let Some(id) = &before {
            match self.key(id) {
                Ok(key) => return Ok(key),
                Err(why) if is_sealing(sql)? => return Err(StoreError::Refused(why)),
                // Nothing is sealed with the one that is lost.
                Err(_) => {}
            }
        }
        let found = key_file::read(&self.file).map_err(StoreError::Refused)?;
        let key = found.map_or_else(|| key_file::make(&self.file), Ok).map_err(StoreError::Refused)?;
        let (name, id) = (Value::Text(NOTED), Value::Text(key.id()));
        match &before {
            Some(before) => sql.execute(&queries::META_REPLACE, &[name, id, Value::Text(before)])?,
            None => sql.execute(&queries::META_KEEP, &[name, id])?,
        };
        // Of two processes that begin at once one is first.
        match noted(sql)? {
            Some(id) if id != key.id() => self.key(&id).map_err(StoreError::Refused),
            _ => Ok(self.keep(&Arc::new(key))),
        }
    }

    /// Seals the plain ones of some secrets.
    fn seal(&self, sql: &mut Sql<'_>, each: impl FnOnce(&mut dyn FnMut(&str, &mut Json))) -> Result<()> {
        let mut done = Ok(());
        each(&mut |place, value| {
            if done.is_ok() {
                done = self.seal_one(sql, place, value);
            }
        });
        done
    }

    fn seal_one(&self, sql: &mut Sql<'_>, place: &str, value: &mut Json) -> Result<()> {
        // What could not be opened stays as it is stored.
        if let Some(text) = sealed_text(value) {
            *value = stored(text);
        } else if !is_nothing(value) {
            let key = self.key_to_seal(sql)?;
            let plain = Zeroizing::new(value.to_string());
            let text = key.seal(place, &plain).map_err(|why| {
                StoreError::Refused(format!("a secret cannot be sealed: {why}; nothing was stored"))
            })?;
            *value = stored(&text);
        }
        Ok(())
    }

    /// Gives each secret of a job to `change`, with what it is bound to.
    fn each_of_job(
        &self,
        (job, connector): (i64, Option<&str>),
        definition: &mut Definition,
        change: &mut dyn FnMut(&str, &mut Json),
    ) {
        if let Some(kind) = connector {
            let of = SettingsOf::Source(kind);
            self.places.each(of, &mut definition.source, &mut |pointer, value| {
                change(&bound("job", job, "source", kind, pointer), value);
            });
        }
        for (at, stage) in definition.stages.iter_mut().enumerate() {
            let (kind, part) = (&stage.transform, format!("stages/{at}"));
            self.places.each(SettingsOf::Stage(kind), &mut stage.settings, &mut |pointer, value| {
                change(&bound("job", job, &part, kind, pointer), value);
            });
        }
    }

    fn each_of_connection(
        &self,
        (connection, role, kind): (i64, Role, &str),
        settings: &mut Json,
        change: &mut dyn FnMut(&str, &mut Json),
    ) {
        let of = match role {
            // It has rules of how much is read, none of which is secret.
            Role::Repository => return,
            Role::Output => SettingsOf::Output(kind),
            Role::Authority => SettingsOf::Authority(kind),
        };
        self.places.each(of, settings, &mut |pointer, value| {
            change(&bound("connection", connection, "settings", kind, pointer), value);
        });
    }
}

/// What a secret is bound to: it opens nowhere else.
fn bound(owner: &str, handle: i64, part: &str, kind: &str, pointer: &str) -> String {
    serde_json::json!([owner, handle, part, kind, pointer]).to_string()
}

/// Whether a value is none: it tells nothing, and a store without secrets needs no key.
fn is_nothing(value: &Json) -> bool {
    match value {
        Json::Null => true,
        Json::String(text) => text.is_empty(),
        Json::Array(all) => all.is_empty(),
        Json::Object(all) => all.is_empty(),
        _ => false,
    }
}

/// Whether anything of the store is sealed.
pub fn is_sealing(sql: &mut Sql<'_>) -> Result<bool> {
    let pattern = format!("%\"{SEALED}\"%");
    Ok(sql.one(&queries::SECRET_ANY, &[Value::Text(&pattern)], |row| row.int(0))?.is_some())
}

/// The id of the key that a store's secrets are sealed with; none where there are none.
///
/// # Errors
/// What the database says.
pub fn key_wanted(sql: &mut Sql<'_>) -> Result<Option<String>> {
    match is_sealing(sql)? {
        true => sql.one(&queries::META_GET, &[Value::Text(NOTED)], |row| row.text(0)),
        false => Ok(None),
    }
}

/// The id of the key in a file; none where there is no file.
///
/// # Errors
/// A sentence with the file and what to do.
pub fn key_in(file: &Path) -> std::result::Result<Option<String>, String> {
    Ok(key_file::read(file)?.map(|key| key.id().to_owned()))
}

/// Opens the secrets of a job that was read.
pub(crate) fn open_job(
    secrets: Option<&Arc<Secrets>>,
    job: (i64, Option<&str>),
    definition: &mut Definition,
) {
    // Most have none, and are read often.
    if let Some(secrets) = secrets.filter(|_| definition.still_sealed().is_some()) {
        secrets.each_of_job(job, definition, &mut |place, value| secrets.unseal(place, value));
    }
}

/// A definition as it is stored.
pub(crate) fn seal_job(
    sql: &mut Sql<'_>,
    job: (i64, Option<&str>),
    definition: &Definition,
) -> Result<Definition> {
    let mut definition = definition.clone();
    if let Some(secrets) = sql.secrets() {
        secrets.seal(sql, |change| secrets.each_of_job(job, &mut definition, change))?;
    }
    Ok(definition)
}

/// Opens the secrets of a connection that was read.
pub(crate) fn open_connection(
    secrets: Option<&Arc<Secrets>>,
    connection: (i64, Role, &str),
    settings: &mut Json,
) {
    if let Some(secrets) = secrets.filter(|_| still_sealed(settings).is_some()) {
        secrets.each_of_connection(connection, settings, &mut |place, value| secrets.unseal(place, value));
    }
}

/// Settings of a connection as they are stored.
pub(crate) fn seal_connection(
    sql: &mut Sql<'_>,
    connection: (i64, Role, &str),
    settings: &Json,
) -> Result<Json> {
    let mut settings = settings.clone();
    if let Some(secrets) = sql.secrets() {
        secrets.seal(sql, |change| secrets.each_of_connection(connection, &mut settings, change))?;
    }
    Ok(settings)
}

/// What a secret of the sink of a channel is bound to.
fn bound_to_sink(channel: i64) -> String {
    bound("channel", channel, "sink", "webhook", "")
}

/// What reports of a channel are signed with, as it is stored.
pub(crate) fn seal_sink(sql: &mut Sql<'_>, channel: i64, secret: &str) -> Result<String> {
    let mut value = Json::String(secret.to_owned());
    if let Some(secrets) = sql.secrets() {
        // A rotation seals what it finds: nothing may be sealed with the key of before beside it.
        sql.lock_definitions()?;
        secrets.seal_one(sql, &bound_to_sink(channel), &mut value)?;
    }
    Ok(value.to_string())
}

/// What reports of a channel are signed with, or why that cannot be opened; none where there is nothing.
///
/// # Errors
/// What the database says.
pub fn open_sink(sql: &mut Sql<'_>, channel: i64) -> Result<Option<std::result::Result<String, String>>> {
    let stored = sql.one(&queries::SECRET_SINK, &[Value::Int(channel)], |row| row.text(0))?;
    let Some(stored) = stored.filter(|stored| !stored.is_empty()) else { return Ok(None) };
    let secrets = sql.secrets();
    let value: Json = serde_json::from_str(&stored).map_err(|error| {
        StoreError::Damaged(format!("the secret of channel {channel} cannot be read: {error}"))
    })?;
    let opened = match (sealed_text(&value), secrets) {
        (Some(text), Some(secrets)) => secrets.open(&bound_to_sink(channel), text),
        (Some(_), None) => Err("the key of secrets is not at hand here".to_owned()),
        (None, _) => Ok(value),
    };
    Ok(Some(opened.map(|value| value.as_str().unwrap_or_default().to_owned())))
}
