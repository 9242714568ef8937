//! PostgreSQL: a pool of connections, statements prepared once per connection, batches as arrays.

use std::cell::Cell;
use std::collections::HashMap;
use std::error::Error as _;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{CancelToken, Client, IsolationLevel, NoTls, Transaction};

use ingather_model::limits;
use ingather_postgres::{Login, MakeRustlsConnect};

use crate::db::write_times::WriteTimes;
use crate::db::{Column, Durability, Row, Sql, Value, stopping};
use crate::error::{Result, StoreError, lacks_handles};
use crate::queries::Statement;
use crate::secrets::Secrets;
use crate::turns::lock;

pub(crate) struct Postgres {
    login: Login,
    idle: Mutex<Vec<Connection>>,
    /// Connections made so far; see [`Sql::connections_made`].
    made: AtomicU64,
    pub(super) times: WriteTimes,
    secrets: Option<Arc<Secrets>>,
}

struct Connection {
    client: Client,
    prepared: HashMap<&'static str, tokio_postgres::Statement>,
    line: Line,
}

/// What carries questions and answers of one connection, on the thread of whoever asks.
struct Line {
    runtime: Runtime,
    /// Longest wait for an answer.
    answer: Duration,
    /// What tells the server that a question is over; none before there is a connection.
    broken_off: Option<(CancelToken, Option<MakeRustlsConnect>)>,
    /// An answer did not come in time: whatever comes now is no answer to what is asked next.
    silent: Cell<bool>,
}

impl Line {
    fn ask<T>(
        &self,
        statement: &'static str,
        question: impl Future<Output = std::result::Result<T, tokio_postgres::Error>>,
    ) -> Result<T> {
        self.wait(statement, question, true)
    }

    /// The same for what ends a transaction, which is short and is never broken off.
    fn end<T>(
        &self,
        statement: &'static str,
        question: impl Future<Output = std::result::Result<T, tokio_postgres::Error>>,
    ) -> Result<T> {
        self.wait(statement, question, false)
    }

    fn wait<T>(
        &self,
        statement: &'static str,
        question: impl Future<Output = std::result::Result<T, tokio_postgres::Error>>,
        heeds: bool,
    ) -> Result<T> {
        if self.silent.get() {
            return Err(self.away());
        }
        let waiting = async {
            let mut question = std::pin::pin!(question);
            // clock: an answer is waited for in the machine's time, whatever a run's clock says.
            let begun = Instant::now();
            let mut asked: Option<Instant> = None;
            loop {
                match tokio::time::timeout(Duration::from_millis(limits::STORE_LOOK_MS), question.as_mut())
                    .await
                {
                    Ok(answer) => return answer.map_err(|error| failed(statement, &error)),
                    Err(_) if begun.elapsed() >= self.answer => {
                        self.silent.set(true);
                        return Err(self.away());
                    }
                    Err(_) if heeds && stopping::asked() => {}
                    Err(_) => continue,
                }
                // clock: as above.
                if asked.get_or_insert_with(Instant::now).elapsed() >= stopping::grace() {
                    return self.break_off(question).await;
                }
            }
        };
        self.runtime.block_on(waiting)
    }

    /// Tells the server that nobody waits any more, and waits a moment for it to say so.
    async fn break_off<T>(
        &self,
        question: impl Future<Output = std::result::Result<T, tokio_postgres::Error>>,
    ) -> Result<T> {
        let told = async {
            match &self.broken_off {
                Some((token, Some(tls))) => token.cancel_query(tls.clone()).await,
                Some((token, None)) => token.cancel_query(NoTls).await,
                None => Ok(()),
            }?;
            question.await
        };
        match tokio::time::timeout(stopping::grace(), told).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(_)) => {}
            Err(_) => self.silent.set(true),
        }
        Err(StoreError::Stopped)
    }

    fn away(&self) -> StoreError {
        StoreError::Away(format!("it has not answered for {} seconds", self.answer.as_secs()))
    }
}

/// A transaction was in the way of another one, and was ended for it.
///
/// Of two that look for a name and then add it, the second one finds it when it looks again.
const CONFLICTS: [SqlState; 3] =
    [SqlState::T_R_DEADLOCK_DETECTED, SqlState::T_R_SERIALIZATION_FAILURE, SqlState::UNIQUE_VIOLATION];

pub(crate) fn failed(statement: &'static str, error: &tokio_postgres::Error) -> StoreError {
    let message = match (error.as_db_error(), error.source()) {
        (Some(answer), _) => answer.message().to_owned(),
        (None, Some(cause)) => format!("{error}: {cause}"),
        (None, None) => error.to_string(),
    };
    if error.code() == Some(&SqlState::DISK_FULL) {
        return StoreError::Full(message);
    }
    if error.code().is_some_and(|code| CONFLICTS.contains(code)) {
        return StoreError::Conflict(format!("{message} (in {statement})"));
    }
    let cause = error.source().and_then(|cause| cause.downcast_ref::<std::io::Error>());
    if cause.is_some_and(lacks_handles) {
        return StoreError::Handles(message);
    }
    if is_away(error) { StoreError::Away(message) } else { StoreError::Database { statement, message } }
}

/// Whether the server ended the connection, or cannot be reached.
fn is_away(error: &tokio_postgres::Error) -> bool {
    let ended = [SqlState::ADMIN_SHUTDOWN, SqlState::CRASH_SHUTDOWN, SqlState::CANNOT_CONNECT_NOW];
    error.is_closed()
        || error.code().is_some_and(|code| ended.contains(code))
        || error.source().is_some_and(|cause| cause.is::<std::io::Error>())
}

impl Postgres {
    pub(crate) fn open(url: &str, secrets: Option<Arc<Secrets>>) -> Result<Postgres> {
        let login = Login::read("--store", url).map_err(|refused| StoreError::Refused(refused.0))?;
        let (idle, times) = (Mutex::default(), WriteTimes::default());
        let store = Postgres { login, idle, made: AtomicU64::new(0), times, secrets };
        let connection = store.connect()?;
        store.put_back(connection);
        Ok(store)
    }

    pub(crate) fn write<T>(
        &self,
        durability: Durability,
        mut work: impl FnMut(&mut Sql<'_>) -> Result<T>,
    ) -> Result<T> {
        let mut attempt = 1;
        loop {
            match self.write_once(durability, &mut work) {
                // The other one goes on, so that trying again at once finds it further on.
                Err(StoreError::Conflict(_)) if attempt < limits::STORE_ATTEMPTS_MAX => attempt += 1,
                done => return done,
            }
        }
    }

    fn write_once<T>(
        &self,
        durability: Durability,
        work: impl FnOnce(&mut Sql<'_>) -> Result<T>,
    ) -> Result<T> {
        self.with(|connection| {
            let _timed = self.times.begin();
            let made = self.made.load(Ordering::Acquire);
            let Connection { client, prepared, line } = connection;
            let transaction = line.ask("begin", client.transaction())?;
            if durability == Durability::Relaxed {
                line.ask("begin", transaction.batch_execute("SET LOCAL synchronous_commit = off"))?;
            }
            let mut sql = Sql::Postgres(Session {
                transaction: Some(transaction),
                prepared,
                line,
                made,
                secrets: self.secrets.as_ref(),
            });
            let done = work(&mut sql)?;
            if let Sql::Postgres(mut session) = sql
                && let Some(transaction) = session.transaction.take()
            {
                line.end("commit", transaction.commit())?;
            }
            Ok(done)
        })
    }

    pub(crate) fn read<T>(&self, work: impl FnOnce(&mut Sql<'_>) -> Result<T>) -> Result<T> {
        self.with(|connection| {
            let made = self.made.load(Ordering::Acquire);
            let Connection { client, prepared, line } = connection;
            let begin =
                client.build_transaction().isolation_level(IsolationLevel::RepeatableRead).read_only(true);
            let transaction = line.ask("begin", begin.start())?;
            work(&mut Sql::Postgres(Session {
                transaction: Some(transaction),
                prepared,
                line,
                made,
                secrets: self.secrets.as_ref(),
            }))
        })
    }

    /// Writes the tables of definitions anew, so that nothing is left in their files of what was written over.
    ///
    /// # Errors
    /// What the server says; the tables are as they were then.
    pub(crate) fn write_anew(&self) -> Result<()> {
        self.with(|Connection { client, line, .. }| {
            // Each alone: a transaction cannot have it.
            line.ask("vacuum", client.batch_execute("VACUUM FULL job"))?;
            line.ask("vacuum", client.batch_execute("VACUUM FULL connection"))?;
            line.ask("vacuum", client.batch_execute("VACUUM FULL channel"))
        })
    }

    fn with<T>(&self, work: impl FnOnce(&mut Connection) -> Result<T>) -> Result<T> {
        let kept = lock(&self.idle).pop();
        let mut connection = match kept {
            Some(connection) if !connection.client.is_closed() => connection,
            _ => self.connect()?,
        };
        let done = work(&mut connection);
        if !connection.client.is_closed() && !connection.line.silent.get() {
            self.put_back(connection);
        }
        done
    }

    fn put_back(&self, connection: Connection) {
        let mut idle = lock(&self.idle);
        if idle.len() < limits::POSTGRES_IDLE_MAX {
            idle.push(connection);
        }
    }

    fn connect(&self) -> Result<Connection> {
        let Login { config, tls, answer } = &self.login;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| match lacks_handles(&error) {
            true => StoreError::Handles(error.to_string()),
            false => StoreError::Refused(format!("no connection can be made: {error}")),
        })?;
        // A server that was stopped takes connections, for its kernel does, and says nothing on them.
        let hosts = u32::try_from(config.get_hosts().len().max(1)).unwrap_or(1);
        let most = config.get_connect_timeout().copied().unwrap_or(*answer).saturating_mul(hosts);
        let line = Line { runtime, answer: most.min(*answer), broken_off: None, silent: Cell::new(false) };
        let client = match tls {
            Some(tls) => line.ask("connect", async {
                let (client, connection) = config.connect(tls.clone()).await?;
                tokio::spawn(connection);
                Ok(client)
            }),
            None => line.ask("connect", async {
                let (client, connection) = config.connect(NoTls).await?;
                tokio::spawn(connection);
                Ok(client)
            }),
        };
        let client = client.map_err(wants_password)?;
        self.made.fetch_add(1, Ordering::AcqRel);
        // The plans of design store 1.6: indexes only, the same plan every time.
        let settings = format!(
            "SET plan_cache_mode = force_generic_plan; SET enable_hashjoin = off; SET enable_mergejoin = off; \
             SET enable_seqscan = off; SET enable_bitmapscan = off; SET client_min_messages = warning; SET jit = off; \
             SET lock_timeout = {}; SET statement_timeout = {}",
            limits::STORE_LOCK_MS_MAX,
            limits::STORE_STATEMENT_MS_MAX,
        );
        line.ask("connect", client.batch_execute(&settings))?;
        let broken_off = Some((client.cancel_token(), tls.clone()));
        Ok(Connection {
            client,
            prepared: HashMap::new(),
            line: Line { answer: *answer, broken_off, ..line },
        })
    }
}

/// A server that asked for a password which nobody gave: where it belongs.
fn wants_password(error: StoreError) -> StoreError {
    match error {
        StoreError::Database { message, .. } if message.contains("password missing") => StoreError::Refused(
            "the database server wants a password; give it in PGPASSWORD, in ~/.pgpass, or in a file that PGPASSFILE or \
             passfile= in the URL names"
                .to_owned(),
        ),
        other => other,
    }
}

/// A transaction under way.
pub struct Session<'c> {
    /// None when it is over.
    transaction: Option<Transaction<'c>>,
    prepared: &'c mut HashMap<&'static str, tokio_postgres::Statement>,
    line: &'c Line,
    /// Connections that had been made when it began.
    pub(super) made: u64,
    pub(super) secrets: Option<&'c Arc<Secrets>>,
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        if let Some(transaction) = self.transaction.take() {
            // Where this fails, the connection is over, and the transaction with it.
            let _ = self.line.end("rollback", transaction.rollback());
        }
    }
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
        Value::Texts(texts) => Box::new(texts),
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
        Column::Bytes(bytes) => Box::new(bytes),
    }
}

impl<'c> Session<'c> {
    fn transaction(&self) -> Result<&Transaction<'c>> {
        self.transaction.as_ref().ok_or_else(|| StoreError::Refused("the transaction is over".to_owned()))
    }

    fn prepare(&mut self, statement: &'static Statement) -> Result<tokio_postgres::Statement> {
        if let Some(prepared) = self.prepared.get(statement.name) {
            return Ok(prepared.clone());
        }
        let prepared = self.line.ask(statement.name, self.transaction()?.prepare(statement.postgres()))?;
        self.prepared.insert(statement.name, prepared.clone());
        Ok(prepared)
    }

    fn run(&mut self, statement: &'static Statement, parameters: &[Parameter<'_>]) -> Result<u64> {
        let prepared = self.prepare(statement)?;
        let borrowed: Vec<&(dyn ToSql + Sync)> =
            parameters.iter().map(|p| &**p as &(dyn ToSql + Sync)).collect();
        self.line.ask(statement.name, self.transaction()?.execute(&prepared, &borrowed))
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
        let rows = self.line.ask(statement.name, self.transaction()?.query(&prepared, &borrowed))?;
        rows.iter().try_for_each(|row| keep(&Row::Postgres(row)))
    }

    pub(crate) fn script(&mut self, text: &str) -> Result<()> {
        self.line.ask("script", self.transaction()?.batch_execute(text))
    }
}
