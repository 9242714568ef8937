//! The outputs of a run: opened, checked against the books, each with the queue of what waits for it.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use ingather_connector::call::Call;
use ingather_connector::model::ids::{ConnectionId, Digest, JobId};
use ingather_connector::model::limits;
use ingather_connector::output::{Output, OutputCan, OutputKind, OutputPlace};
use ingather_connector::registry::Registry;
use ingather_store::connections::{self, Connection, Role};
use ingather_store::leases::Lease;
use ingather_store::mutations::{Mutation, planted};
use ingather_store::work::{self, Cause, Wanted};
use ingather_store::{Durability, Store, StoreError, deliveries, documents};

use crate::deliver::{Prepared, SEQ};
use crate::error::{EngineError, Result};
use crate::run::Run;

/// Rows of a lost output that are marked per transaction.
const FORGET_ROWS: i64 = 10_000;

/// What waits for one output.
#[derive(Default)]
pub(crate) struct Queue {
    pub(crate) waiting: VecDeque<Prepared>,
    pub(crate) bytes: usize,
    /// No more will come.
    pub(crate) closed: bool,
}

impl Queue {
    /// Enough for a batch that need not wait for more (`store.md` 1.4: below it, commits cost more than rows).
    pub(crate) fn is_enough(&self) -> bool {
        self.waiting.len() >= limits::DELIVERY_BATCH_MIN || self.bytes >= limits::DELIVERY_BYTES_MAX
    }
}

/// One output of a run.
pub(crate) struct OutputSlot {
    pub(crate) id: ConnectionId,
    pub(crate) name: String,
    pub(crate) can: OutputCan,
    /// Digest of what it receives: stages and its own settings.
    pub(crate) settings: Digest,
    /// Other documents may claim the same addresses: owners are looked up before a send.
    pub(crate) shared: bool,
    /// None in a run that writes nothing, and once the sweep has taken it over.
    output: Mutex<Option<Box<dyn Output>>>,
    queue: Mutex<Queue>,
    changed: Condvar,
}

impl OutputSlot {
    pub(crate) fn new(
        connection: &Connection,
        can: OutputCan,
        settings: Digest,
        shared: bool,
        output: Option<Box<dyn Output>>,
    ) -> OutputSlot {
        OutputSlot {
            id: connection.id,
            name: connection.name.clone(),
            can,
            settings,
            shared,
            output: Mutex::new(output),
            queue: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// The output itself, for the one who sends.
    pub(crate) fn output(&self) -> MutexGuard<'_, Option<Box<dyn Output>>> {
        self.output.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the output over, once nothing is delivered any more.
    pub(crate) fn take_output(&self) -> Option<Box<dyn Output>> {
        self.output().take()
    }

    /// Hands a change over; waits while too much waits already.
    pub(crate) fn push(&self, run: &Run, prepared: Prepared) {
        let mut queue = self.lock();
        while !run.board.closed()
            && (queue.waiting.len() >= limits::PREPARED_MAX || queue.bytes >= limits::PREPARED_BYTES_MAX)
        {
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        let before = queue.is_enough();
        queue.bytes += prepared.bytes();
        queue.waiting.push_back(prepared);
        // The sender is woken when it may begin to wait for more, and when it need not wait any longer.
        if queue.waiting.len() == 1 || (!before && queue.is_enough()) {
            self.changed.notify_all();
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits while something holds of the queue, at most `longest`.
    pub(crate) fn wait_while<'q>(
        &'q self,
        queue: MutexGuard<'q, Queue>,
        longest: std::time::Duration,
        mut holds: impl FnMut(&Queue) -> bool,
    ) -> MutexGuard<'q, Queue> {
        let waited = self.changed.wait_timeout_while(queue, longest, |queue| holds(queue));
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Room was made, or nothing more is being made.
    pub(crate) fn notify(&self) {
        self.changed.notify_all();
    }

    /// No more will come.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }
}

/// Finds the connection of an output, adding one of the built-in names (`index`, `null`, `journal:FILE`) when missing.
pub fn connection(store: &Store, registry: &Registry, name: &str, now: i64) -> Result<Connection> {
    if let Some(found) = store.reader().read(|sql| connections::find(sql, Role::Output, name))? {
        return Ok(found);
    }
    let (kind, settings) = builtin(registry, name)?;
    Ok(store
        .write(Durability::Synced, |sql| connections::add(sql, Role::Output, kind, name, &settings, now))?)
}

/// Opens an output once and lets it go, before a job that names it is stored.
///
/// # Errors
/// When it cannot be opened: who holds it, or what is missing.
pub fn try_open(store: &Store, registry: &Registry, data: &Path, name: &str) -> Result<()> {
    let (kind, settings) = builtin(registry, name)?;
    let Some(kind) = registry.output(kind) else { return Ok(()) };
    let place = OutputPlace { data: data.to_owned(), store: store.reader().id().to_owned() };
    match (kind.open)(&settings, &place) {
        Ok(_) => Ok(()),
        Err(fault) => Err(EngineError::Output { name: name.to_owned(), fault }),
    }
}

/// The connection of an output that a run which writes nothing would add; nothing is known to be held by it.
pub(crate) fn pretended(registry: &Registry, name: &str) -> Result<Connection> {
    let (kind, settings) = builtin(registry, name)?;
    let (kind, name) = (kind.to_owned(), name.to_owned());
    Ok(Connection { id: ConnectionId(0), kind, name, settings, identity: None, generation: 0 })
}

/// Kind and settings of an output that needs no connection of its own.
pub fn builtin(registry: &Registry, name: &str) -> Result<(&'static str, serde_json::Value)> {
    let (kind, file) = match name.split_once(':') {
        Some((kind, rest)) => (kind, Some(rest)),
        None => (name, None),
    };
    let known = registry.output(kind).ok_or_else(|| {
        let names: Vec<&str> = registry.outputs.iter().map(|kind| kind.name).collect();
        EngineError::Refused(format!("there is no output `{name}`; this program has {}", names.join(", ")))
    })?;
    let schema = (known.schema)();
    let has = |part: &str| match schema.get(part) {
        Some(serde_json::Value::Object(properties)) => properties.contains_key("file"),
        Some(serde_json::Value::Array(names)) => names.iter().any(|name| name == "file"),
        _ => false,
    };
    match file {
        Some(_) if !has("properties") => Err(EngineError::Refused(format!(
            "output `{name}` cannot be: {kind} takes no file; write `{kind}`"
        ))),
        None | Some("") if has("required") => {
            Err(EngineError::Refused(format!("output `{name}` names no file; write {kind}:FILE")))
        }
        Some(file) => Ok((known.name, serde_json::json!({ "file": file }))),
        None => Ok((known.name, serde_json::json!({}))),
    }
}

/// Opens an output for writing and checks that the books speak of it.
///
/// An output that stands behind the books has lost confirmed entries; one that stands ahead of them holds entries that
/// nobody knows, and the store may give ids out again that it refers to. Either is emptied: its deliveries count as not
/// confirmed, and every document that it should hold is visited again (design 4.7, 4.17).
pub(crate) fn open(
    (store, lease): (&Store, &Lease),
    registry: &Registry,
    data: &Path,
    connection: &Connection,
    call: &Call,
) -> Result<Box<dyn Output>> {
    let failed = |fault| EngineError::Output { name: connection.name.clone(), fault };
    let (can, mut output) = open_as_it_is(store, registry, data, connection)?;
    let stands = output.generation();
    let known = connection.identity.is_some();
    let other = connection.identity.as_ref().is_some_and(|identity| *identity != stands.identity);
    let given = store.reader().read(|sql| documents::next_id(sql, SEQ))?;
    let lost = known && (other || stands.number < connection.generation);
    // An intent is on disk before it is sent: a number that was never given out comes from a later day of this store.
    let ahead = stands.seq >= given;
    if can.commits && (lost || ahead) && !planted(Mutation::ForeignIndexAccepted) {
        let why = if ahead { "holds changes that the store does not know" } else { "is new or was replaced" };
        tracing::warn!("{} {why}; filling it again", connection.name);
        forget(store, lease, connection.id)?;
        let stands = output.clear(call).map_err(failed)?;
        store.write(Durability::Synced, |sql| {
            lease.fence(sql)?;
            connections::settle(sql, connection.id, &stands.identity, stands.number)
        })?;
    }
    Ok(output)
}

/// The connector of an output.
pub(crate) fn kind<'r>(registry: &'r Registry, connection: &Connection) -> Result<&'r OutputKind> {
    registry.output(&connection.kind).ok_or_else(|| {
        EngineError::Refused(format!(
            "output {}: this program has no connector `{}`",
            connection.name, connection.kind
        ))
    })
}

/// Opens an output for writing, whether the books speak of it or not.
pub(crate) fn open_as_it_is(
    store: &Store,
    registry: &Registry,
    data: &Path,
    connection: &Connection,
) -> Result<(OutputCan, Box<dyn Output>)> {
    let kind = kind(registry, connection)?;
    let place = OutputPlace { data: data.to_owned(), store: store.reader().id().to_owned() };
    let output = (kind.open)(&connection.settings, &place)
        .map_err(|fault| EngineError::Output { name: connection.name.clone(), fault })?;
    Ok((kind.can, output))
}

fn forget(store: &Store, lease: &Lease, output: ConnectionId) -> Result<()> {
    let mut after = 0;
    loop {
        // Both in one transaction, by ranges of ids: a crash in between begins again.
        let last = store.write(Durability::Synced, |sql| {
            lease.fence(sql)?;
            let held = deliveries::all_of_output(sql, output, after, FORGET_ROWS as usize)?;
            let Some((last, _)) = held.last().copied() else { return Ok::<_, StoreError>(None) };
            deliveries::forget_output(sql, output, after, last)?;
            let mut by_job: std::collections::BTreeMap<i64, Vec<Wanted>> = std::collections::BTreeMap::new();
            for (document, owner) in held {
                by_job.entry(owner.0).or_default().push(Wanted { document, due: 0, cause: Cause::Resend });
            }
            for (owner, wanted) in by_job {
                work::want(sql, JobId(owner), 0, &wanted)?;
            }
            Ok(Some(last))
        })?;
        match last {
            Some(last) => after = last,
            None => break,
        }
    }
    Ok(())
}
