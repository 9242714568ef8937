//! Connections to sources and outputs: which one a job speaks of, and those that are made as they are needed.

use std::path::Path;

use ingather_contract::output::OutputContext;
use ingather_engine::{Engine, outputs};
use ingather_model::fault::Fault;
use ingather_model::ids::ConnectionId;
use ingather_store::connections::{self, Connection, Role};
use ingather_store::{Durability, Store};
use serde_json::json;

use crate::problem::{Problem, Result};

/// Sources of one kind: who reads them, and the repository connection that their jobs share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sources {
    /// Name of the connector.
    pub(crate) connector: &'static str,
    /// Name of the connection.
    pub(crate) connection: &'static str,
    /// What roots of such sources begin with.
    roots: &'static [&'static str],
}

/// Folders and files of this machine.
pub(crate) const FILES: Sources = Sources { connector: "filesystem", connection: "files", roots: &["/"] };
/// Web sites.
const WEB: Sources = Sources { connector: "web", connection: "web", roots: &["https://", "http://"] };
/// Feeds.
const FEEDS: Sources =
    Sources { connector: "feed", connection: "feeds", roots: &["feed+https://", "feed+http://"] };

/// Wikis.
const WIKIS: Sources =
    Sources { connector: "wiki", connection: "wikis", roots: &["wiki+https://", "wiki+http://"] };

/// What applications push.
const PUSHED: Sources = Sources { connector: "pushed", connection: "pushed", roots: &["push:"] };

/// All kinds of sources; files are what is none of the others.
const ALL: &[Sources] = &[WEB, FEEDS, WIKIS, PUSHED, FILES];

impl Sources {
    /// Those that a root is one of.
    pub(crate) fn of_root(root: &str) -> Sources {
        let found = ALL.iter().find(|sources| sources.roots.iter().any(|begin| root.starts_with(begin)));
        found.copied().unwrap_or(FILES)
    }

    /// Those of a connection that is made by itself.
    pub(crate) fn of_connection(name: &str) -> Option<Sources> {
        ALL.iter().find(|sources| sources.connection == name).copied()
    }

    /// Names of all connections that are made by themselves.
    pub(crate) fn connections() -> String {
        ALL.iter().map(|sources| format!("`{}`", sources.connection)).collect::<Vec<_>>().join(", ")
    }

    /// The part of a root after which a job is called: the last one, and of wikis, which all end alike, the host.
    pub(crate) fn part_for_name(self, root: &str) -> Option<&str> {
        match self {
            WIKIS => root.split('/').nth(2).filter(|host| !host.is_empty()),
            PUSHED => root.strip_prefix("push:").filter(|name| !name.is_empty()),
            _ => root.rsplit('/').find(|part| !part.is_empty()),
        }
    }

    /// Whether they are named by paths of this machine.
    pub(crate) fn are_files(self) -> bool {
        self == FILES
    }

    /// Whether applications push what is in them.
    pub(crate) fn are_pushed(self) -> bool {
        self == PUSHED
    }

    /// Their connection, made when it is needed first.
    pub(crate) fn connected(self, store: &Store, now: i64) -> Result<Connection> {
        let found = store.reader().read(|sql| connections::find(sql, Role::Repository, self.connection))?;
        Ok(match found {
            Some(connection) => connection,
            None => store.write(Durability::Synced, |sql| {
                connections::find_or_add(
                    sql,
                    Role::Repository,
                    self.connector,
                    self.connection,
                    &json!({}),
                    now,
                )
            })?,
        })
    }
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

/// Refuses an output that a run could not use, without opening it for writing.
pub(crate) fn refuse_unusable(engine: &Engine, name: &str) -> Result<()> {
    let connection = match engine.reader.read(|sql| connections::find(sql, Role::Output, name))? {
        Some(known) => known,
        None => outputs::pretended(&engine.registry, name)?,
    };
    // What it is declared with was checked with the declaration, and is not stored before that is applied.
    if connection.id == ConnectionId(0) && outputs::is_declared(&engine.registry, &connection.kind) {
        return Ok(());
    }
    check_output(engine, &connection).map_err(|fault| Problem::unable(format!("output {name}: {fault}")))
}
