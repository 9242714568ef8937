//! The only file that knows there are two databases: opening, transactions, statements, rows.

pub(crate) mod postgres;
mod row;
mod sqlite;
pub(crate) mod stopping;
mod write_times;

use std::hash::Hash;
use std::path::PathBuf;
use std::sync::Arc;

use self::sqlite::Sqlite;
use crate::error::{Result, StoreError};
use crate::migrate;
use crate::queries::Statement;
use crate::secrets::{Secrets, seal_what_is_plain, settle};

use self::postgres::Postgres;
pub use self::row::Row;
pub use self::write_times::Writes;

/// Where the store is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A SQLite file; made when it is not there.
    Sqlite(PathBuf),
    /// A PostgreSQL database by URL.
    Postgres(String),
}

/// Whether a transaction must be on disk when it returns (design 4.7: intents, confirmations and run moves must).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// On disk.
    Synced,
    /// May be lost with the power, never in part.
    Relaxed,
}

/// A store that may be written. Clones share it.
#[derive(Clone)]
pub struct Store {
    reader: Reader,
    #[cfg(feature = "crash-points")]
    crash: Option<crate::crash_points::Hook>,
}

/// A store that may only be read. Clones share it.
#[derive(Clone)]
pub struct Reader {
    backend: Arc<Backend>,
    secret: [u8; 16],
    id: Arc<str>,
}

enum Backend {
    Sqlite(Sqlite),
    Postgres(Postgres),
}

impl Store {
    /// Opens the store for writing, making or migrating it first.
    ///
    /// # Errors
    /// [`StoreError::Newer`] and [`StoreError::Checksum`] when its schema is not ours; nothing is changed then.
    pub fn open(target: &Target) -> Result<Store> {
        Store::open_with(target, None)
    }

    /// The same, where secrets are sealed and opened; else they are kept and handed out as they are.
    ///
    /// # Errors
    /// As [`Store::open`]; `Refused` where secrets that are stored as they are cannot be sealed.
    pub fn open_with(target: &Target, secrets: Option<Arc<Secrets>>) -> Result<Store> {
        let backend = Backend::open(target, true, secrets.clone())?;
        migrate::bring_up(&backend.writer())?;
        let store = Store {
            reader: Reader::over(backend)?,
            #[cfg(feature = "crash-points")]
            crash: None,
        };
        if let Some(secrets) = secrets {
            settle(&store, &secrets)?;
            seal_what_is_plain(&store, &secrets)?;
        }
        Ok(store)
    }

    /// Leaves nothing in the files of the database of what was written over in definitions.
    pub(crate) fn write_anew(&self) -> Result<()> {
        match &*self.reader.backend {
            Backend::Sqlite(sqlite) => sqlite.write_anew(),
            Backend::Postgres(postgres) => postgres.write_anew(),
        }
    }

    /// The same store, whose transactions ask `hook` whether the process is still alive.
    #[cfg(feature = "crash-points")]
    pub fn with_crash_hook(mut self, hook: crate::crash_points::Hook) -> Store {
        self.crash = Some(hook);
        self
    }

    /// Runs one transaction; an error rolls all of it back.
    ///
    /// PostgreSQL may end one of several transactions that wait for each other. `work` is then run again, a few times: what it does in
    /// memory must be the same however often it runs, or be taken back where this fails.
    ///
    /// # Errors
    /// Those of `work`, and of the commit.
    pub fn write<T>(&self, durability: Durability, work: impl FnMut(&mut Sql<'_>) -> Result<T>) -> Result<T> {
        #[cfg(feature = "crash-points")]
        if let Some(hook) = &self.crash {
            let mut work = work;
            return crate::crash_points::write(hook, durability, |guarded| {
                self.reader.backend.writer().run(durability, |sql| {
                    let done = work(sql)?;
                    guarded()?;
                    Ok(done)
                })
            });
        }
        self.reader.backend.writer().run(durability, work)
    }

    /// The reading side.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }
}

impl Reader {
    /// Opens the store for reading beside a writer; none when there is none yet.
    ///
    /// # Errors
    /// As [`Store::open`]; a schema that is older than ours is refused too, since a reader does not migrate.
    pub fn open(target: &Target) -> Result<Option<Reader>> {
        Reader::open_with(target, None)
    }

    /// The same, where secrets are opened as far as their key is there.
    ///
    /// # Errors
    /// As [`Reader::open`].
    pub fn open_with(target: &Target, secrets: Option<Arc<Secrets>>) -> Result<Option<Reader>> {
        if let Target::Sqlite(path) = target
            && !path.exists()
        {
            return Ok(None);
        }
        let backend = Backend::open(target, false, secrets)?;
        if !backend.read(migrate::check)? {
            return Ok(None);
        }
        Reader::over(backend).map(Some)
    }

    fn over(backend: Backend) -> Result<Reader> {
        let meta = |name: &'static str| {
            backend.read(|sql| sql.one(&crate::queries::META_GET, &[Value::Text(name)], |row| row.text(0)))
        };
        let lost = || StoreError::Refused("the store has lost its identity; restore a backup".to_owned());
        let secret = meta("secret")?.as_deref().and_then(parse_secret).ok_or_else(lost)?;
        let id = meta("id")?.ok_or_else(lost)?.into();
        Ok(Reader { backend: Arc::new(backend), secret, id })
    }

    /// Reads in one snapshot.
    ///
    /// # Errors
    /// Those of `work`.
    pub fn read<T>(&self, work: impl FnOnce(&mut Sql<'_>) -> Result<T>) -> Result<T> {
        self.backend.read(work)
    }

    /// Copies the store into the new file `into`, as it is when `meanwhile` begins, which reads in the same snapshot.
    /// Writers go on beside it. Nothing is copied when `meanwhile` answers none.
    ///
    /// # Errors
    /// `Refused` for PostgreSQL, which has programs of its own for that; those of `meanwhile`.
    pub fn copy<T>(
        &self,
        into: &std::path::Path,
        meanwhile: impl FnOnce(&mut Sql<'_>) -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        match &*self.backend {
            Backend::Sqlite(sqlite) => sqlite.copy(into, meanwhile),
            Backend::Postgres(_) => {
                Err(StoreError::Refused("a PostgreSQL store is copied with pg_dump".to_owned()))
            }
        }
    }

    /// How long transactions have taken that this program wrote with.
    pub fn writes(&self) -> Writes {
        match &*self.backend {
            Backend::Sqlite(sqlite) => sqlite.times.read(),
            Backend::Postgres(postgres) => postgres.times.read(),
        }
    }

    /// The hasher of this store's keys.
    pub fn hasher(&self) -> ingather_model::key::Hasher {
        ingather_model::key::Hasher::new(self.secret)
    }

    /// Identity of this store: outputs with local state belong to one.
    pub fn id(&self) -> &str {
        &self.id
    }
}

fn parse_secret(text: &str) -> Option<[u8; 16]> {
    let mut secret = [0; 16];
    for (byte, pair) in secret.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    (text.len() == 32).then_some(secret)
}

/// The writing connection of a backend.
pub(crate) enum Writer<'b> {
    Sqlite(&'b Sqlite),
    Postgres(&'b Postgres),
}

impl Writer<'_> {
    pub(crate) fn run<T>(
        &self,
        durability: Durability,
        work: impl FnMut(&mut Sql<'_>) -> Result<T>,
    ) -> Result<T> {
        match self {
            Writer::Sqlite(sqlite) => sqlite.write(durability, work),
            Writer::Postgres(postgres) => postgres.write(durability, work),
        }
    }
}

impl Backend {
    fn open(target: &Target, writing: bool, secrets: Option<Arc<Secrets>>) -> Result<Backend> {
        Ok(match target {
            Target::Sqlite(path) => Backend::Sqlite(Sqlite::open(path, writing, secrets)?),
            Target::Postgres(url) => Backend::Postgres(Postgres::open(url, secrets)?),
        })
    }

    fn writer(&self) -> Writer<'_> {
        match self {
            Backend::Sqlite(sqlite) => Writer::Sqlite(sqlite),
            Backend::Postgres(postgres) => Writer::Postgres(postgres),
        }
    }

    fn read<T>(&self, work: impl FnOnce(&mut Sql<'_>) -> Result<T>) -> Result<T> {
        match self {
            Backend::Sqlite(sqlite) => sqlite.read(work),
            Backend::Postgres(postgres) => postgres.read(work),
        }
    }
}

/// A value for one parameter.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    /// A number.
    Int(i64),
    /// A number or NULL.
    OptInt(Option<i64>),
    /// A text.
    Text(&'a str),
    /// A text or NULL.
    OptText(Option<&'a str>),
    /// Bytes or NULL.
    OptBytes(Option<&'a [u8]>),
    /// A list of numbers, for `any_of($n)`.
    Ints(&'a [i64]),
    /// A list of texts, for `any_of($n)`.
    Texts(&'a [&'a str]),
}

/// One parameter of a statement that runs once per row.
#[derive(Clone, Copy, Debug)]
pub enum Column<'a> {
    /// The same number in every row.
    Same(i64),
    /// The same text in every row.
    SameText(&'a str),
    /// A number per row.
    Ints(&'a [i64]),
    /// A number or NULL per row.
    OptInts(&'a [Option<i64>]),
    /// A text per row.
    Texts(&'a [&'a str]),
    /// A text or NULL per row.
    OptTexts(&'a [Option<&'a str>]),
    /// Bytes per row.
    Bytes(&'a [&'a [u8]]),
}

impl Column<'_> {
    pub(crate) fn len(&self) -> Option<usize> {
        match self {
            Column::Same(_) | Column::SameText(_) => None,
            Column::Ints(rows) => Some(rows.len()),
            Column::OptInts(rows) => Some(rows.len()),
            Column::Texts(rows) => Some(rows.len()),
            Column::OptTexts(rows) => Some(rows.len()),
            Column::Bytes(rows) => Some(rows.len()),
        }
    }

    /// Number of rows that the columns speak of.
    ///
    /// # Panics
    /// When they differ: a mistake in this crate.
    pub(crate) fn rows(columns: &[Column<'_>]) -> usize {
        let mut lengths = columns.iter().filter_map(Column::len);
        let first = lengths.next().unwrap_or(0);
        assert!(lengths.all(|length| length == first), "columns of different lengths");
        first
    }
}

/// Cuts rows into parts that name nothing twice: one statement of PostgreSQL takes either of two rows for one thing,
/// where SQLite takes them in order.
pub(crate) fn once_each<T, K: Eq + Hash>(rows: &[T], key: fn(&T) -> K) -> impl Iterator<Item = &[T]> {
    let mut left = rows;
    std::iter::from_fn(move || {
        let mut met = std::collections::HashSet::with_capacity(left.len());
        let once = left.iter().take_while(|row| met.insert(key(row))).count();
        let (part, rest) = left.split_at(once);
        left = rest;
        (!part.is_empty()).then_some(part)
    })
}

/// A transaction or a snapshot: runs statements.
pub enum Sql<'c> {
    /// SQLite.
    #[doc(hidden)]
    Sqlite(sqlite::Session<'c>),
    /// PostgreSQL.
    #[doc(hidden)]
    Postgres(postgres::Session<'c>),
}

impl Sql<'_> {
    /// Connections to a server that this program had made when the transaction began; 0 of SQLite. As long as it stays the same, no
    /// server has come back from a crash without what it had not put on disk: counters in the store have gone forward alone.
    pub(crate) fn connections_made(&self) -> u64 {
        match self {
            Sql::Sqlite(_) => 0,
            Sql::Postgres(session) => session.made,
        }
    }

    /// Runs a statement; the number of rows it changed.
    ///
    /// # Errors
    /// What the database says.
    pub fn execute(&mut self, statement: &'static Statement, values: &[Value<'_>]) -> Result<u64> {
        #[cfg(feature = "crash-points")]
        crate::crash_points::note(statement.name);
        match self {
            Sql::Sqlite(session) => session.execute(statement, values),
            Sql::Postgres(session) => session.execute(statement, values),
        }
    }

    /// Runs a statement once per row of the columns; the number of rows changed in all.
    ///
    /// # Errors
    /// What the database says.
    pub fn execute_many(&mut self, statement: &'static Statement, columns: &[Column<'_>]) -> Result<u64> {
        if Column::rows(columns) == 0 {
            return Ok(0);
        }
        #[cfg(feature = "crash-points")]
        crate::crash_points::note(statement.name);
        match self {
            Sql::Sqlite(session) => session.execute_many(statement, columns),
            Sql::Postgres(session) => session.execute_many(statement, columns),
        }
    }

    /// Reads all rows of a statement.
    ///
    /// # Errors
    /// What the database says, or `read`.
    pub fn query<T>(
        &mut self,
        statement: &'static Statement,
        values: &[Value<'_>],
        mut read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        #[cfg(feature = "crash-points")]
        crate::crash_points::note(statement.name);
        let mut rows = Vec::new();
        let mut keep = |row: &Row<'_>| {
            rows.push(read(row)?);
            Ok(())
        };
        match self {
            Sql::Sqlite(session) => session.query(statement, values, &mut keep)?,
            Sql::Postgres(session) => session.query(statement, values, &mut keep)?,
        }
        Ok(rows)
    }

    /// Reads all rows that a statement finds for a list of numbers, its last parameter: one call per number on SQLite,
    /// one call in all on PostgreSQL.
    ///
    /// # Errors
    /// As [`Sql::query`].
    pub fn query_each<T>(
        &mut self,
        statement: &'static Statement,
        fixed: &[Value<'_>],
        numbers: &[i64],
        mut read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut values = fixed.to_vec();
        if !self.is_sqlite() {
            values.push(Value::Ints(numbers));
            return self.query(statement, &values, read);
        }
        let mut rows = Vec::new();
        for number in numbers {
            values.truncate(fixed.len());
            values.push(Value::Int(*number));
            rows.extend(self.query(statement, &values, &mut read)?);
        }
        Ok(rows)
    }

    /// Reads the first row, if any.
    ///
    /// # Errors
    /// As [`Sql::query`].
    pub fn one<T>(
        &mut self,
        statement: &'static Statement,
        values: &[Value<'_>],
        read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        Ok(self.query(statement, values, read)?.into_iter().next())
    }

    /// Waits until no transaction that takes names of components off is under way, and keeps them out until this one ends; with
    /// `removes`, those that bring some as well. On PostgreSQL two transactions do not see each other's work: of two outputs that
    /// give up the same component at once, each would leave its name to the other. On SQLite a writer is alone.
    pub(crate) fn lock_components(&mut self, removes: bool) -> Result<()> {
        // A number of our own, in the database's space of such numbers: "ingather" in ASCII.
        const COMPONENTS: i64 = 0x696E_6761_7468_6572;
        let kind = if removes { "" } else { "_shared" };
        match self {
            Sql::Sqlite(_) => Ok(()),
            Sql::Postgres(session) => {
                session.script(&format!("SELECT pg_advisory_xact_lock{kind}({COMPONENTS})"))
            }
        }
    }

    /// Waits until no transaction that changes definitions or settings is under way, and keeps others off them until this one ends: whoever
    /// writes all of them anew would undo what another one changes meanwhile. On SQLite a writer is alone.
    pub(crate) fn lock_definitions(&mut self) -> Result<()> {
        match self {
            Sql::Sqlite(_) => Ok(()),
            Sql::Postgres(session) => {
                session.script("LOCK TABLE job, connection IN SHARE ROW EXCLUSIVE MODE")
            }
        }
    }

    /// What seals and opens the secrets of this store.
    pub(crate) fn secrets(&self) -> Option<Arc<Secrets>> {
        match self {
            Sql::Sqlite(session) => session.secrets.cloned(),
            Sql::Postgres(session) => session.secrets.cloned(),
        }
    }

    /// Runs a script of several statements; for migrations only.
    pub(crate) fn script(&mut self, text: &str) -> Result<()> {
        match self {
            Sql::Sqlite(session) => session.script(text),
            Sql::Postgres(session) => session.script(text),
        }
    }

    /// Whether this is SQLite; for the migrator's translation and for tests of plans.
    pub(crate) fn is_sqlite(&self) -> bool {
        matches!(self, Sql::Sqlite(_))
    }
}
