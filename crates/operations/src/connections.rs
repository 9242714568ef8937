//! Connections to sources and outputs: which one a job speaks of, and those that are made as they are needed.

use std::path::Path;

use ingather_contract::authority::AuthorityKind;
use ingather_contract::call::CallContext;
use ingather_contract::output::OutputContext;
use ingather_engine::{Engine, outputs};
use ingather_model::fault::Fault;
use ingather_store::connections::{self, Connection, Role};
use ingather_store::{Durability, Store};
use serde_json::json;

use crate::problem::{Problem, Result};

/// Kind and name of the repository connection for folders and files of this machine.
pub(crate) const FILES: (&str, &str) = ("filesystem", "files");

/// The connection for folders and files of this machine, made when it is needed first.
pub(crate) fn files(store: &Store, now: i64) -> Result<Connection> {
    let found = store.reader().read(|sql| connections::find(sql, Role::Repository, FILES.1))?;
    Ok(match found {
        Some(connection) => connection,
        None => store.write(Durability::Synced, |sql| {
            connections::add(sql, Role::Repository, FILES.0, FILES.1, &json!({}), now)
        })?,
    })
}

/// Refuses a source inside the data directory: what is written there would be found there.
pub(crate) fn refuse_inside(data: &Path, root: &Path) -> Result<()> {
    let data = std::fs::canonicalize(data).unwrap_or_else(|_| data.to_owned());
    if root.starts_with(&data) {
        return Err(Problem::usage(format!(
            "{} lies inside the data directory {}, which is never a source; use another --data",
            root.display(),
            data.display()
        )));
    }
    Ok(())
}

/// Whether a run could open an output.
///
/// # Errors
/// What it would be told.
pub fn check_output(engine: &Engine, connection: &Connection) -> std::result::Result<(), Fault> {
    let Some(kind) = engine.registry.output(&connection.kind) else { return Ok(()) };
    let context =
        OutputContext { data: engine.data.clone(), store: engine.reader.id().to_owned(), session: 0 };
    (kind.check)(&connection.settings, &context)
}

/// Whether an authority could be asked.
///
/// # Errors
/// What everybody would be told who asks about a user.
pub(crate) fn check_authority(
    kind: &AuthorityKind,
    call: &CallContext,
) -> std::result::Result<String, Fault> {
    (kind.open)(&json!({}))?.check(call)
}

/// Refuses an output that a run could not use, without opening it for writing.
pub(crate) fn refuse_unusable(engine: &Engine, name: &str) -> Result<()> {
    let connection = match engine.reader.read(|sql| connections::find(sql, Role::Output, name))? {
        Some(known) => known,
        None => outputs::pretended(&engine.registry, name)?,
    };
    check_output(engine, &connection).map_err(|fault| Problem::unable(format!("output {name}: {fault}")))
}
