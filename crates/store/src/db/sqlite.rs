//! SQLite: one writing connection behind a lock, a few readers.

mod checkpoints;

use ingather_model::limits;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use parking_lot::FairMutex;
use rusqlite::backup::{Backup, StepResult};
use rusqlite::config::DbConfig;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, ToSql};

use self::checkpoints::Checkpoints;
use super::write_times::WriteTimes;
use super::{Column, Durability, Row, Sql, Value, stopping};
use crate::error::{Result, StoreError, lacks_handles};
use crate::queries::Statement;
use crate::secrets::Secrets;
use crate::turns::{lock, lock_in_turn};

pub(crate) struct Sqlite {
    path: PathBuf,
    writer: Option<Writer>,
    pub(super) times: WriteTimes,
    readers: Mutex<Readers>,
    secrets: Option<Arc<Secrets>>,
}

/// Connections that read.
#[derive(Default)]
struct Readers {
    /// Those that nobody uses.
    idle: Vec<Connection>,
    /// So many are open.
    open: usize,
}

struct Writer {
    /// Fair: of several runs that write without pause none keeps the others waiting, nor a person who asks for something.
    connection: FairMutex<Connection>,
    checkpoints: Checkpoints,
}

pub(crate) fn failed(statement: &'static str, error: &rusqlite::Error) -> StoreError {
    let message = error.to_string();
    let code = error.sqlite_error_code();
    let waited = code == Some(ErrorCode::DatabaseBusy) && stopping::asked();
    if waited || code == Some(ErrorCode::OperationInterrupted) {
        return StoreError::Stopped;
    }
    // The library says only that a file cannot be opened, or that input or output failed.
    if takes_no_files(error)
        && let Err(lack) = spare_handles()
    {
        return StoreError::Handles(lack.to_string());
    }
    let extended = error.sqlite_error().map(|error| error.extended_code);
    match code {
        // The memory that readers and writers share is a file, which could not be made large enough.
        _ if extended == Some(rusqlite::ffi::SQLITE_IOERR_SHMSIZE) => StoreError::Full(message),
        Some(ErrorCode::DiskFull) => StoreError::Full(message),
        Some(ErrorCode::ReadOnly) => StoreError::ReadOnly(message),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StoreError::Damaged(message),
        _ => StoreError::Database { statement, message },
    }
}

impl Sqlite {
    pub(crate) fn open(path: &Path, writing: bool, secrets: Option<Arc<Secrets>>) -> Result<Sqlite> {
        refuse_odd(path)?;
        let writer = writing.then(|| open_writer(path)).transpose()?;
        let (path, times, readers) = (path.to_owned(), WriteTimes::default(), Mutex::default());
        Ok(Sqlite { path, writer, times, readers, secrets })
    }

    fn session<'c>(&'c self, connection: &'c Connection) -> Sql<'c> {
        Sql::Sqlite(Session { connection, secrets: self.secrets.as_ref() })
    }

    /// Writes the whole file anew, so that nothing is left in it or in its log of what was written over.
    ///
    /// # Errors
    /// `Full` and others; the store is as it was then. `Held` while somebody still reads as of before.
    pub(crate) fn write_anew(&self) -> Result<()> {
        let writer = self.writer.as_ref().ok_or_else(read_only)?;
        let connection = lock_in_turn(&writer.connection);
        connection.execute_batch("PRAGMA synchronous = FULL; VACUUM").map_err(|e| failed("vacuum", &e))?;
        let busy = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
        match busy.map_err(|e| failed("checkpoint", &e))? {
            0 => Ok(()),
            _ => Err(StoreError::Held("somebody reads the store".to_owned())),
        }
    }

    pub(crate) fn write<T>(
        &self,
        durability: Durability,
        work: impl FnOnce(&mut Sql<'_>) -> Result<T>,
    ) -> Result<T> {
        let writer = self.writer.as_ref().ok_or_else(read_only)?;
        // A panic between two statements leaves the connection usable: the transaction was rolled back.
        let connection = lock_in_turn(&writer.connection);
        let timed = self.times.begin();
        let begin = match durability {
            Durability::Synced => "PRAGMA synchronous = FULL; BEGIN IMMEDIATE",
            Durability::Relaxed => "PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE",
        };
        connection.execute_batch(begin).map_err(|e| failed("begin", &e))?;
        let rollback = Rollback(&connection);
        let done = work(&mut self.session(&connection))?;
        stopping::begins();
        connection.execute_batch("COMMIT").map_err(|e| failed("commit", &e))?;
        std::mem::forget(rollback);
        drop(timed);
        drop(connection);
        writer.checkpoints.copy_if_due(&self.path, &writer.connection, &self.times);
        Ok(done)
    }

    pub(crate) fn read<T>(&self, work: impl FnOnce(&mut Sql<'_>) -> Result<T>) -> Result<T> {
        let connection = self.reader()?;
        let counted = Counted(&self.readers);
        connection.execute_batch("BEGIN").map_err(|e| failed("begin", &e))?;
        let done = work(&mut self.session(&connection));
        connection.execute_batch("ROLLBACK").map_err(|e| failed("rollback", &e))?;
        counted.give_back(connection);
        done
    }

    /// A connection that reads, counted as open.
    fn reader(&self) -> Result<Connection> {
        let mut readers = lock(&self.readers);
        if let Some(connection) = readers.idle.pop() {
            return Ok(connection);
        }
        readers.open += 1;
        let cache = if readers.open > limits::SQLITE_READERS_LARGE { SMALL } else { LARGE };
        drop(readers);
        open_reader(&self.path, cache).inspect_err(|_| lock(&self.readers).open -= 1)
    }
}

/// A reader that is open; it is not any more when this is dropped, unless it was given back.
struct Counted<'r>(&'r Mutex<Readers>);

impl Counted<'_> {
    fn give_back(self, connection: Connection) {
        let mut readers = lock(self.0);
        if readers.idle.len() < limits::SQLITE_READERS_MAX {
            readers.idle.push(connection);
            std::mem::forget(self);
        }
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        lock(self.0).open -= 1;
    }
}

impl Sqlite {
    /// Copies the database as it is when `meanwhile` begins into the new file `into`, while others write; not when
    /// `meanwhile` answers none.
    pub(crate) fn copy<T>(
        &self,
        into: &Path,
        meanwhile: impl FnOnce(&mut Sql<'_>) -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        let source = open_reader(&self.path, LARGE)?;
        source.execute_batch("BEGIN").map_err(|e| failed("begin", &e))?;
        // The view of a transaction is that of its first read.
        source.query_row("SELECT count(*) FROM meta", [], |_| Ok(())).map_err(|e| failed("copy", &e))?;
        let Some(done) = meanwhile(&mut self.session(&source))? else {
            return Ok(None);
        };
        let mut target = Connection::open(into).map_err(|e| failed("copy", &e))?;
        let backup = Backup::new(&source, &mut target).map_err(|e| failed("copy", &e))?;
        // Step by step, and yet as of one moment: all pages are read inside the transaction above.
        loop {
            match backup.step(limits::SQLITE_COPY_PAGES).map_err(|e| failed("copy", &e))? {
                StepResult::Done => break,
                StepResult::More if stopping::asked() => return Err(StoreError::Stopped),
                StepResult::More => {}
                _ => {
                    return Err(StoreError::Refused(
                        "the store is busy and cannot be copied; try again".to_owned(),
                    ));
                }
            }
        }
        drop(backup);
        target.close().map_err(|(_, e)| failed("copy", &e))?;
        let synced = std::fs::File::open(into).and_then(|file| file.sync_all());
        synced.map_err(|error| StoreError::Refused(format!("{}: {error}", into.display())))?;
        Ok(Some(done))
    }
}

fn read_only() -> StoreError {
    StoreError::Refused("opened for reading only".to_owned())
}

/// Rolls back unless the commit was reached, also when the work panics.
struct Rollback<'c>(&'c Connection);

impl Drop for Rollback<'_> {
    fn drop(&mut self) {
        // A failed statement may have rolled back already; then this says so, which is no news.
        let _ = self.0.execute_batch("ROLLBACK");
    }
}

/// Refuses a store or a file beside it that is no file: opening a pipe waits for ever.
fn refuse_odd(path: &Path) -> Result<()> {
    for beside in ["", "-wal", "-shm", "-journal"] {
        let mut file = path.as_os_str().to_owned();
        file.push(beside);
        let file = PathBuf::from(file);
        // A link is as good as what it leads to.
        if file.metadata().is_ok_and(|facts| !facts.is_file()) {
            return Err(StoreError::Damaged(format!("{} is no ordinary file", file.display())));
        }
    }
    Ok(())
}

fn open_writer(path: &Path) -> Result<Writer> {
    let mut connection = Connection::open(path).map_err(|e| failed("open", &e))?;
    prepare(
        &mut connection,
        "PRAGMA page_size = 4096; PRAGMA journal_mode = WAL; PRAGMA cache_size = -32768;",
    )?;
    let checkpoints = Checkpoints::of(&mut connection)?;
    Ok(Writer { connection: FairMutex::new(connection), checkpoints })
}

/// Pages of a reader, as SQLite wants it: KiB, below zero. All of [`limits::SQLITE_READERS_MAX`] together keep less than 40 MiB.
const LARGE: &str = "PRAGMA query_only = 1; PRAGMA cache_size = -8192;";
const SMALL: &str = "PRAGMA query_only = 1; PRAGMA cache_size = -512;";

fn open_reader(path: &Path, cache: &'static str) -> Result<Connection> {
    let readers = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = Connection::open_with_flags(path, readers).and_then(|connection| {
        // The first look makes files beside the store.
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        Ok(connection)
    });
    let connection = match opened {
        // Where handles are short, somebody else may write.
        Err(error) if takes_no_files(&error) && has_no_log(path) && spare_handles().is_ok() => {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
            Connection::open_with_flags(unchanging(path), flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        }
        opened => opened,
    };
    let mut connection = connection.map_err(|e| failed("open", &e))?;
    prepare(&mut connection, cache)?;
    Ok(connection)
}

/// Whether a file cannot be made or grow beside the store: its disk is full, takes no writes, or is not this user's.
fn takes_no_files(error: &rusqlite::Error) -> bool {
    let codes = [ErrorCode::SystemIoFailure, ErrorCode::CannotOpen, ErrorCode::DiskFull, ErrorCode::ReadOnly];
    error.sqlite_error_code().is_some_and(|code| codes.contains(&code))
}

/// Whether as many more files can be opened as a connection opens; why not.
fn spare_handles() -> std::io::Result<()> {
    let opened: std::io::Result<Vec<_>> =
        (0..limits::SQLITE_HANDLES_MAX).map(|_| std::fs::File::open("/dev/null")).collect();
    match opened {
        Err(error) if lacks_handles(&error) => Err(error),
        _ => Ok(()),
    }
}

/// Whether no change is in the log that is not in the store yet: then nobody is writing where no file can be made, and the
/// store can be read alone.
fn has_no_log(path: &Path) -> bool {
    path.with_extension("db-wal").metadata().map_or(0, |facts| facts.len()) == 0
}

/// The name of a store that no process changes: SQLite then needs no files beside it.
fn unchanging(path: &Path) -> PathBuf {
    let mut uri = "file:".to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' => {
                uri.push(char::from(*byte))
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    PathBuf::from(uri + "?immutable=1")
}

fn prepare(connection: &mut Connection, pragmas: &str) -> Result<()> {
    connection.busy_handler(Some(stopping::waits)).map_err(|e| failed("open", &e))?;
    let looks = connection.progress_handler(stopping::STEPS, Some(stopping::breaks_off));
    looks.map_err(|e| failed("open", &e))?;
    // Plans must not depend on what is asked for: where they do, SQLite prepares a statement anew each time.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(|e| failed("open", &e))?;
    connection.execute_batch(pragmas).map_err(|e| failed("open", &e))?;
    connection
        .execute_batch("PRAGMA temp_store = MEMORY; PRAGMA foreign_keys = 0;")
        .map_err(|e| failed("open", &e))?;
    connection.set_prepared_statement_cache_capacity(limits::STATEMENTS_MAX);
    Ok(())
}

/// A transaction under way.
pub struct Session<'c> {
    connection: &'c Connection,
    pub(super) secrets: Option<&'c Arc<Secrets>>,
}

/// One parameter: a list goes in as JSON text.
enum Bound<'a> {
    Ref(ValueRef<'a>),
    Json(String),
}

impl ToSql for Bound<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Bound::Ref(value) => *value,
            Bound::Json(text) => ValueRef::Text(text.as_bytes()),
        }))
    }
}

fn text(value: &str) -> ValueRef<'_> {
    ValueRef::Text(value.as_bytes())
}

fn bind<'a>(value: &Value<'a>) -> Bound<'a> {
    Bound::Ref(match value {
        Value::Int(number) => ValueRef::Integer(*number),
        Value::OptInt(number) => number.map_or(ValueRef::Null, ValueRef::Integer),
        Value::Text(value) => text(value),
        Value::OptText(value) => value.map_or(ValueRef::Null, text),
        Value::OptBytes(bytes) => bytes.map_or(ValueRef::Null, ValueRef::Blob),
        Value::Ints(numbers) => return Bound::Json(serde_json::to_string(numbers).unwrap_or_default()),
        Value::Texts(texts) => return Bound::Json(serde_json::to_string(texts).unwrap_or_default()),
    })
}

fn cell<'a>(column: &Column<'a>, row: usize) -> ValueRef<'a> {
    match column {
        Column::Same(number) => ValueRef::Integer(*number),
        Column::SameText(value) => text(value),
        Column::Ints(rows) => ValueRef::Integer(rows[row]),
        Column::OptInts(rows) => rows[row].map_or(ValueRef::Null, ValueRef::Integer),
        Column::Texts(rows) => text(rows[row]),
        Column::OptTexts(rows) => rows[row].map_or(ValueRef::Null, text),
        Column::Bytes(rows) => ValueRef::Blob(rows[row]),
    }
}

impl Session<'_> {
    pub(crate) fn execute(&mut self, statement: &'static Statement, values: &[Value<'_>]) -> Result<u64> {
        stopping::begins();
        let run = || -> rusqlite::Result<usize> {
            let mut prepared = self.connection.prepare_cached(statement.sqlite())?;
            prepared.execute(rusqlite::params_from_iter(values.iter().map(bind)))
        };
        run().map(|n| n as u64).map_err(|e| failed(statement.name, &e))
    }

    pub(crate) fn execute_many(
        &mut self,
        statement: &'static Statement,
        columns: &[Column<'_>],
    ) -> Result<u64> {
        let run = || -> rusqlite::Result<u64> {
            let mut prepared = self.connection.prepare_cached(statement.sqlite())?;
            let mut changed = 0;
            for row in 0..Column::rows(columns) {
                for (index, column) in columns.iter().enumerate() {
                    prepared.raw_bind_parameter(index + 1, ToSqlOutput::Borrowed(cell(column, row)))?;
                }
                stopping::begins();
                changed += prepared.raw_execute()? as u64;
            }
            Ok(changed)
        };
        run().map_err(|e| failed(statement.name, &e))
    }

    pub(crate) fn query(
        &mut self,
        statement: &'static Statement,
        values: &[Value<'_>],
        keep: &mut dyn FnMut(&Row<'_>) -> Result<()>,
    ) -> Result<()> {
        stopping::begins();
        let failed = |e: rusqlite::Error| failed(statement.name, &e);
        let mut prepared = self.connection.prepare_cached(statement.sqlite()).map_err(failed)?;
        let mut rows = prepared.query(rusqlite::params_from_iter(values.iter().map(bind))).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            keep(&Row::Sqlite(row))?;
        }
        Ok(())
    }

    pub(crate) fn script(&mut self, text: &str) -> Result<()> {
        stopping::begins();
        self.connection.execute_batch(text).map_err(|e| failed("script", &e))
    }
}
