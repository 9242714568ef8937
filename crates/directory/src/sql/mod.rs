//! The authority `sql`: people and their tokens by two queries of a PostgreSQL database.
//!
//! Both see one state of the database, and can change nothing. A name is bound to its parameter and is never text of a query. What is not as
//! the settings say is a fault, and never a shorter list (decision 0047).

mod bounded;
mod failure;
mod server;
mod settings;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use ingather_contract::authority::{Account, Answer, Authority, AuthorityKind, Pushed};
use ingather_contract::call::CallContext;
use ingather_contract::settings as contract_settings;
use ingather_model::access::Tokens;
use ingather_model::access::authority::WITHIN_MS;
use ingather_model::fault::Fault;
use tokio_postgres::types::ToSql;
use tokio_postgres::{IsolationLevel, Row, Statement, Transaction};

use self::failure::Failure;
use self::server::{Connection, Server, in_time, settled, within};
use self::settings::{Meant, Settings};
use crate::asking::{PROBE, after, can_be_a_name, of_one_kind};
use crate::pool::Pool;

/// The `sql` authority.
pub const AUTHORITY: AuthorityKind = AuthorityKind {
    name: "sql",
    about: "People and their tokens by two queries of a PostgreSQL database.",
    schema: contract_settings::schema_of::<Settings>,
    kept: Duration::from_secs(60),
    open,
};

fn open(value: &serde_json::Value, _: Option<Arc<dyn Pushed>>) -> Result<Arc<dyn Authority>, Fault> {
    let (server, meant) = settings::read(value)?;
    Ok(Arc::new(Database { meant, pool: Pool::new(server) }))
}

struct Database {
    meant: Meant,
    pool: Pool<Server>,
}

impl Authority for Database {
    fn check(&self, _call: &CallContext) -> Result<String, Fault> {
        let until = after(Duration::from_millis(WITHIN_MS.into()));
        self.pool.ask(until, Database::checked).map_err(Failure::fault)
    }

    fn tokens(&self, _call: &CallContext, account: &Account<'_>) -> Result<Answer, Fault> {
        if !can_be_a_name(account.name) {
            return Ok(Answer::Unknown);
        }
        let until = after(account.within);
        self.pool.ask(until, |connection| self.answer(connection, account.name)).map_err(Failure::fault)
    }
}

impl Database {
    /// What is known of somebody.
    fn answer(&self, connection: &mut Connection, name: &str) -> Result<Answer, Failure> {
        in_one_state(connection, async |transaction, person, tokens| {
            self.asked(transaction, person, tokens, name).await
        })
    }

    async fn asked(
        &self,
        transaction: &Transaction<'_>,
        person: Option<&Statement>,
        tokens: &Statement,
        name: &str,
    ) -> Result<Answer, Failure> {
        let found = match person {
            Some(query) => match one_person(&rows(transaction, query, name, 2, "`person`").await?)? {
                Found::Nobody => return Ok(Answer::Unknown),
                Found::ShutOut => return Ok(Answer::Unauthorized),
                Found::Called(found) => Some(found),
            },
            None => None,
        };
        let called = found.as_deref().unwrap_or(name);
        // One more than there may be tells that there are too many.
        let rows = rows(transaction, tokens, called, self.meant.max + 1, "`tokens`").await?;
        if found.is_none() && rows.is_empty() {
            return Ok(Answer::Unknown);
        }
        let Meant { user_prefix, group_prefix, max } = &self.meant;
        let mut whole = rows.len() <= *max;
        let mut held = vec![of_one_kind(user_prefix, group_prefix, called)];
        for row in rows.iter().take(*max) {
            let text: Option<&str> = row.try_get(0).map_err(|error| Failure::of(&error, "`tokens`"))?;
            // A token that is no text may be one that denies.
            held.push(
                text.filter(|text| !text.is_empty())
                    .and_then(|text| of_one_kind(group_prefix, user_prefix, text)),
            );
        }
        whole &= held.iter().all(Option::is_some);
        let tokens: Tokens = held.into_iter().flatten().collect();
        Ok(Answer::Known(if whole { tokens } else { tokens.not_whole() }))
    }

    /// Looks whether all can be asked that questions ask. Nobody is found by the name that it asks about, and both queries are asked.
    fn checked(connection: &mut Connection) -> Result<String, Failure> {
        in_one_state(connection, async |transaction, person, tokens| {
            if let Some(query) = person {
                rows(transaction, query, PROBE, 2, "`person`").await?;
            }
            rows(transaction, tokens, PROBE, 1, "`tokens`").await
        })?;
        let query = "SELECT pg_catalog.current_setting('server_version'), current_database()::text, current_user::text";
        let failed = |error: tokio_postgres::Error| Failure::of(&error, "what it is");
        let Connection { client, until, runtime, .. } = connection;
        let row = runtime
            .block_on(in_time(*until, async { client.query_one(query, &[]).await.map_err(failed) }))?;
        let column = |at| row.try_get::<_, String>(at).map_err(failed);
        Ok(format!("PostgreSQL {} answers {} in the database {}", column(0)?, column(2)?, column(1)?))
    }
}

/// Asks within one transaction that sees the database as it was when its first query began, and can change nothing.
fn in_one_state<T>(
    connection: &mut Connection,
    ask: impl AsyncFnOnce(&Transaction<'_>, Option<&Statement>, &Statement) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let Connection { client, person, tokens, until, allowance, runtime } = connection;
    let failed = |error: tokio_postgres::Error| Failure::of(&error, "a transaction");
    let answer = runtime.block_on(in_time(*until, async {
        let begin = client.build_transaction().isolation_level(IsolationLevel::RepeatableRead);
        let transaction = begin.read_only(true).start().await.map_err(failed)?;
        transaction.batch_execute(&settled("SET LOCAL", *until)?).await.map_err(failed)?;
        let answer = ask(&transaction, person.as_ref(), tokens).await?;
        transaction.commit().await.map_err(failed)?;
        Ok(answer)
    }));
    within(allowance, answer)
}

/// What the first query says of a name.
enum Found {
    Nobody,
    ShutOut,
    /// What the database calls them.
    Called(String),
}

fn one_person(rows: &[Row]) -> Result<Found, Failure> {
    let failed = |error: tokio_postgres::Error| Failure::of(&error, "`person`");
    let wrong = |told: &str| Err(Failure::Wrong(told.to_owned()));
    let row = match rows {
        [] => return Ok(Found::Nobody),
        [row] => row,
        _ => return wrong("`person` finds more than one row for this name: nobody is known by it"),
    };
    if row.len() == 2 {
        match row.try_get(1).map_err(failed)? {
            Some(true) => {}
            Some(false) => return Ok(Found::ShutOut),
            None => {
                return wrong(
                    "`person` does not say whether this person may enter: its second column is null",
                );
            }
        }
    }
    match row.try_get::<_, Option<String>>(0).map_err(failed)? {
        Some(called) if !called.is_empty() => Ok(Found::Called(called)),
        _ => wrong("`person` finds somebody without a name: its first column is null or empty"),
    }
}

/// The first rows of a query about a name; the server makes no more of them.
async fn rows(
    transaction: &Transaction<'_>,
    query: &Statement,
    name: &str,
    most: usize,
    asked: &'static str,
) -> Result<Vec<Row>, Failure> {
    let failed = |error: tokio_postgres::Error| Failure::of(&error, asked);
    let parameters: [&(dyn ToSql + Sync); 1] = [&name];
    let portal = transaction.bind(query, &parameters).await.map_err(failed)?;
    let most = i32::try_from(most).unwrap_or(i32::MAX);
    transaction.query_portal(&portal, most).await.map_err(failed)
}
