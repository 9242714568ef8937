//! PostgreSQL: a pool of connections, statements prepared once per connection, batches as arrays.

use std::collections::HashMap;
use std::error::Error as _;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use postgres::error::SqlState;
use postgres::types::ToSql;
use postgres::{Client, Config, IsolationLevel, NoTls, Transaction};

use ingather_model::limits;

use crate::db::{Column, Durability, Row, Sql, Value};
use crate::error::{Result, StoreError};
use crate::queries::Statement;

/// Connections that are kept open when nobody uses them.
const IDLE_MAX: usize = 4;
/// Longest wait for a connection.
const CONNECT_MAX: Duration = Duration::from_millis(limits::STORE_CONNECT_MS_MAX);
/// Longest silence of the server's machine.
const SILENCE_MAX: Duration = Duration::from_millis(limits::STORE_SILENCE_MS_MAX);

pub(crate) struct Postgres {
    url: String,
    idle: Mutex<Vec<Connection>>,
}

struct Connection {
    client: Client,
    prepared: HashMap<&'static str, postgres::Statement>,
}

pub(crate) fn failed(statement: &'static str, error: &postgres::Error) -> StoreError {
    let message = match (error.as_db_error(), error.source()) {
        (Some(answer), _) => answer.message().to_owned(),
        (None, Some(cause)) => format!("{error}: {cause}"),
        (None, None) => error.to_string(),
    };
    if error.code() == Some(&SqlState::DISK_FULL) {
        return StoreError::Full(message);
    }
    if is_away(error) { StoreError::Away(message) } else { StoreError::Database { statement, message } }
}

/// Whether the server ended the connection, or cannot be reached.
fn is_away(error: &postgres::Error) -> bool {
    let ended = [SqlState::ADMIN_SHUTDOWN, SqlState::CRASH_SHUTDOWN, SqlState::CANNOT_CONNECT_NOW];
    error.is_closed()
        || error.code().is_some_and(|code| ended.contains(code))
        || error.source().is_some_and(|cause| cause.is::<std::io::Error>())
}

impl Postgres {
    pub(crate) fn open(url: &str) -> Result<Postgres> {
        let store = Postgres { url: url.to_owned(), idle: Mutex::default() };
        let connection = store.connect()?;
        store.put_back(connection);
        Ok(store)
    }

    pub(crate) fn write<T>(
        &self,
        durability: Durability,
        work: impl FnOnce(&mut Sql<'_>) -> Result<T>,
    ) -> Result<T> {
        self.with(|connection| {
            let mut transaction = connection.client.transaction().map_err(|e| failed("begin", &e))?;
            if durability == Durability::Relaxed {
                transaction
                    .batch_execute("SET LOCAL synchronous_commit = off")
                    .map_err(|e| failed("begin", &e))?;
            }
            let mut sql = Sql::Postgres(Session { transaction, prepared: &mut connection.prepared });
            let done = work(&mut sql)?;
            if let Sql::Postgres(session) = sql {
                session.transaction.commit().map_err(|e| failed("commit", &e))?;
            }
            Ok(done)
        })
    }

    pub(crate) fn read<T>(&self, work: impl FnOnce(&mut Sql<'_>) -> Result<T>) -> Result<T> {
        self.with(|connection| {
            let transaction = connection
                .client
                .build_transaction()
                .isolation_level(IsolationLevel::RepeatableRead)
                .read_only(true)
                .start()
                .map_err(|e| failed("begin", &e))?;
            work(&mut Sql::Postgres(Session { transaction, prepared: &mut connection.prepared }))
        })
    }

    fn with<T>(&self, work: impl FnOnce(&mut Connection) -> Result<T>) -> Result<T> {
        let kept = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut connection = match kept {
            Some(connection) if !connection.client.is_closed() => connection,
            _ => self.connect()?,
        };
        let done = work(&mut connection);
        if !connection.client.is_closed() {
            self.put_back(connection);
        }
        done
    }

    fn put_back(&self, connection: Connection) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < IDLE_MAX {
            idle.push(connection);
        }
    }

    fn connect(&self) -> Result<Connection> {
        let mut config: Config = self.url.parse().map_err(|e| failed("connect", &e))?;
        // A server whose machine or network is gone says nothing: what the URL does not bound is bounded here.
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_MAX);
        }
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(SILENCE_MAX);
            config
                .keepalives_idle(SILENCE_MAX / 4)
                .keepalives_interval(SILENCE_MAX / 4)
                .keepalives_retries(3);
        }
        let mut client = config.connect(NoTls).map_err(|e| failed("connect", &e))?;
        // The plans of `store.md` 1.6: indexes only, the same plan every time.
        client
            .batch_execute(
                "SET plan_cache_mode = force_generic_plan; SET enable_hashjoin = off; SET enable_mergejoin = off; \
                 SET enable_seqscan = off; SET enable_bitmapscan = off; SET client_min_messages = warning; SET jit = off",
            )
            .map_err(|e| failed("connect", &e))?;
        Ok(Connection { client, prepared: HashMap::new() })
    }
}

/// A transaction under way.
pub struct Session<'c> {
    transaction: Transaction<'c>,
    prepared: &'c mut HashMap<&'static str, postgres::Statement>,
}

/// One parameter, boxed for the driver.
type Parameter<'a> = Box<dyn ToSql + Sync + 'a>;

fn bind<'a>(value: &Value<'a>) -> Parameter<'a> {
    match *value {
        Value::Int(number) => Box::new(number),
        Value::OptInt(number) => Box::new(number),
        Value::Text(text) => Box::new(text),
        Value::OptText(text) => Box::new(text),
        Value::OptBytes(bytes) => Box::new(bytes),
        Value::Ints(numbers) => Box::new(numbers),
    }
}

fn bind_column<'a>(column: &Column<'a>, rows: usize) -> Parameter<'a> {
    match *column {
        Column::Same(number) => Box::new(vec![number; rows]),
        Column::SameText(text) => Box::new(vec![text; rows]),
        Column::Ints(numbers) => Box::new(numbers),
        Column::OptInts(numbers) => Box::new(numbers),
        Column::Texts(texts) => Box::new(texts),
        Column::OptTexts(texts) => Box::new(texts),
    }
}

impl Session<'_> {
    fn prepare(&mut self, statement: &'static Statement) -> Result<postgres::Statement> {
        if let Some(prepared) = self.prepared.get(statement.name) {
            return Ok(prepared.clone());
        }
        let prepared =
            self.transaction.prepare(statement.postgres()).map_err(|e| failed(statement.name, &e))?;
        self.prepared.insert(statement.name, prepared.clone());
        Ok(prepared)
    }

    fn run(&mut self, statement: &'static Statement, parameters: &[Parameter<'_>]) -> Result<u64> {
        let prepared = self.prepare(statement)?;
        let borrowed: Vec<&(dyn ToSql + Sync)> =
            parameters.iter().map(|p| &**p as &(dyn ToSql + Sync)).collect();
        self.transaction.execute(&prepared, &borrowed).map_err(|e| failed(statement.name, &e))
    }

    pub(crate) fn execute(&mut self, statement: &'static Statement, values: &[Value<'_>]) -> Result<u64> {
        let parameters: Vec<Parameter<'_>> = values.iter().map(bind).collect();
        self.run(statement, &parameters)
    }

    pub(crate) fn execute_many(
        &mut self,
        statement: &'static Statement,
        columns: &[Column<'_>],
    ) -> Result<u64> {
        let rows = Column::rows(columns);
        let parameters: Vec<Parameter<'_>> = columns.iter().map(|column| bind_column(column, rows)).collect();
        self.run(statement, &parameters)
    }

    pub(crate) fn query(
        &mut self,
        statement: &'static Statement,
        values: &[Value<'_>],
        keep: &mut dyn FnMut(&Row<'_>) -> Result<()>,
    ) -> Result<()> {
        let parameters: Vec<Parameter<'_>> = values.iter().map(bind).collect();
        let borrowed: Vec<&(dyn ToSql + Sync)> =
            parameters.iter().map(|p| &**p as &(dyn ToSql + Sync)).collect();
        let prepared = self.prepare(statement)?;
        let rows = self.transaction.query(&prepared, &borrowed).map_err(|e| failed(statement.name, &e))?;
        rows.iter().try_for_each(|row| keep(&Row::Postgres(row)))
    }

    pub(crate) fn script(&mut self, text: &str) -> Result<()> {
        self.transaction.batch_execute(text).map_err(|e| failed("script", &e))
    }
}
