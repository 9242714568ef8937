//! The outputs of jobs: found by their names, opened, and checked against the delivery log.

use ingather_model::limits;
use std::collections::HashSet;
use std::path::Path;

use ingather_contract::call::CallContext;
use ingather_contract::output::{Generation, OutputContext, OutputKind};
use ingather_contract::registry::Registry;
use ingather_model::access::identity::Group;
use ingather_model::fault::Fault;
use ingather_model::ids::{ConnectionId, JobId};
use ingather_store::connections::{self, Connection, Health, Role};
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::leases::Lease;
use ingather_store::queue::{self, VisitReason, VisitRequest};
use ingather_store::{Durability, Reader, Store, StoreError, deliveries, documents, jobs};

pub(crate) use crate::delivery::misfit::UNDER_REPAIR;
pub use crate::delivery::misfit::{Misfit, misfit};

use crate::delivery::opened::{Opened, new_session};
use crate::delivery::opening;
use crate::error::{EngineError, Refusal, Result};

/// Finds the connection of an output, adding one of the built-in names (`index`, `null`, `journal:FILE`) when missing.
pub fn connection(store: &Store, registry: &Registry, name: &str, now: i64) -> Result<Connection> {
    if let Some(found) = store.reader().read(|sql| connections::find(sql, Role::Output, name))? {
        return Ok(found);
    }
    let (kind, settings) = builtin(registry, name)?;
    if is_declared(registry, kind) {
        return Err(undeclared(name));
    }
    Ok(store.write(Durability::Synced, |sql| {
        connections::find_or_add(sql, Role::Output, kind, name, &settings, now)
    })?)
}

/// Opens an output once and lets it go. Where this process has it open, it is not opened beside that: most outputs let nobody else in.
///
/// # Errors
/// When it cannot be opened: who holds it, or what is missing.
pub(crate) fn try_open(store: &Store, registry: &Registry, data: &Path, name: &str) -> Result<()> {
    let (kind, settings) = match store.reader().read(|sql| connections::find(sql, Role::Output, name))? {
        Some(found) => (found.kind, found.settings),
        None => builtin(registry, name).map(|(kind, settings)| (kind.to_owned(), settings))?,
    };
    let Some(kind) = registry.output(&kind) else { return Ok(()) };
    let context = OutputContext {
        data: data.to_owned(),
        store: store.reader().id().to_owned(),
        session: new_session(),
    };
    let failed = |fault| EngineError::Output { name: name.to_owned(), fault };
    let opened = (kind.open)(&settings, &context).map_err(failed)?;
    if kind.capabilities.commits {
        refuse_anothers(store.reader(), name, &opened.generation())?;
    }
    Ok(())
}

/// Refuses what is another output's of this store, which its settings did not tell: the two would empty it in turns.
fn refuse_anothers(reader: &Reader, name: &str, stands: &Generation) -> Result<()> {
    let Some(other) = anothers(reader, name, stands)? else { return Ok(()) };
    let told = format!(
        "it leads to what output {other} fills; give one of the two another place, and `ingather apply` that; where {other} was given another \
         place since, a run of a job of it comes first"
    );
    Err(EngineError::Output { name: name.to_owned(), fault: Fault::refused("shared", told) })
}

/// The other output of a store that what was opened belongs to; none: it is nobody else's here.
///
/// # Errors
/// What the store says.
pub fn anothers(reader: &Reader, name: &str, stands: &Generation) -> Result<Option<String>> {
    if stands.identity == UNDER_REPAIR {
        return Ok(None);
    }
    Ok(reader.read(|sql| {
        for one in
            connections::list(sql)?.into_iter().filter(|one| one.role == Role::Output && one.name != name)
        {
            let found = connections::find(sql, Role::Output, &one.name)?;
            if found.is_some_and(|found| found.identity.as_ref() == Some(&stands.identity)) {
                return Ok::<_, StoreError>(Some(one.name));
            }
        }
        Ok(None)
    })?)
}

/// The connection of an output that the first run would add; nothing is known to be held by it.
pub fn pretended(registry: &Registry, name: &str) -> Result<Connection> {
    let (kind, settings) = builtin(registry, name)?;
    let (kind, name) = (kind.to_owned(), name.to_owned());
    Ok(Connection {
        id: ConnectionId(0),
        kind,
        name,
        settings,
        group: Group::default(),
        identity: None,
        generation: 0,
        session: 0,
        next_session: 0,
        ceiling: 0,
        health: Health::default(),
    })
}

/// Whether outputs of a kind have settings that no name has room for: they are declared before a job names them.
pub fn is_declared(registry: &Registry, kind: &str) -> bool {
    let schema = registry.output(kind).map(|known| (known.schema)());
    let required = schema.as_ref().and_then(|schema| schema.get("required")?.as_array());
    required.into_iter().flatten().any(|setting| setting != "file")
}

/// The refusal of an output that has to be declared and is not.
pub fn undeclared(name: &str) -> EngineError {
    EngineError::refused(
        Refusal::NoSuchOutput,
        format!(
            "output `{name}` is not declared; give its settings under `outputs` of a declaration, and `ingather apply` that"
        ),
    )
}

/// Kind and settings of an output by its name; of one that is declared ([`is_declared`]) none of those that it is declared with.
pub fn builtin(registry: &Registry, name: &str) -> Result<(&'static str, serde_json::Value)> {
    let (kind, file) = match name.split_once(':') {
        Some((kind, rest)) => (kind, Some(rest)),
        None => (name, None),
    };
    let known = registry.output(kind).ok_or_else(|| {
        let names: Vec<&str> = registry.outputs.iter().map(|kind| kind.name).collect();
        EngineError::refused(
            Refusal::NoSuchOutput,
            format!("there is no output `{name}`; this program has {}", names.join(", ")),
        )
    })?;
    if is_declared(registry, kind) {
        let fits = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        return match file {
            Some(rest)
                if !rest.is_empty() && rest.len() <= limits::API_KEY_NAME_MAX && rest.chars().all(fits) =>
            {
                Ok((known.name, serde_json::json!({})))
            }
            _ => Err(EngineError::refused(
                Refusal::NoSuchOutput,
                format!(
                    "output `{name}` cannot be: write {kind}:NAME, where NAME has 1 to {} letters, digits, `.`, `_` and `-`",
                    limits::API_KEY_NAME_MAX
                ),
            )),
        };
    }
    let schema = (known.schema)();
    let has = |part: &str| match schema.get(part) {
        Some(serde_json::Value::Object(properties)) => properties.contains_key("file"),
        Some(serde_json::Value::Array(names)) => names.iter().any(|name| name == "file"),
        _ => false,
    };
    match file {
        Some(_) if !has("properties") => Err(EngineError::refused(
            Refusal::NoSuchOutput,
            format!("output `{name}` cannot be: {kind} takes no file; write `{kind}`"),
        )),
        None | Some("") if has("required") => Err(EngineError::refused(
            Refusal::NoSuchOutput,
            format!("output `{name}` names no file; write {kind}:FILE"),
        )),
        Some(file) => Ok((known.name, serde_json::json!({ "file": file }))),
        None => Ok((known.name, serde_json::json!({}))),
    }
}

/// Opens an output for writing and checks that the delivery log speaks of it.
///
/// An output that stands behind the delivery log has lost confirmed entries; one that stands ahead of it holds entries that
/// nobody knows, and the store may give ids out again that it refers to. Either is emptied: its deliveries count as not
/// confirmed, and every document that it should hold is visited again (design 4.7, 4.17).
pub(crate) fn open(
    (store, lease): (&Store, &Lease),
    registry: &Registry,
    data: &Path,
    connection: &Connection,
    call: &CallContext,
) -> Result<Opened> {
    let failed = |fault| EngineError::Output { name: connection.name.clone(), fault };
    let mut opened = open_as_it_is(store, registry, data, connection)?;
    if opened.capabilities.told {
        let reset = || reset(store, lease, connection);
        opening::load((store, lease), data, connection, &mut opened, reset)?;
    }
    if !opened.capabilities.commits {
        return Ok(opened);
    }
    let stands = opened.stands.clone();
    let mut known = connection.clone();
    if failpoint(Failpoint::OneCeilingForAll) {
        known.ceiling = store.reader().read(|sql| documents::next_id(sql, connections::SEQ))? - 1;
    }
    let misfit = misfit(&known, &stands).filter(|_| !failpoint(Failpoint::ForeignIndexAccepted));
    if let Some(misfit) = misfit {
        let why = match misfit {
            Misfit::Newer => "holds changes that the store does not know",
            Misfit::Replaced | Misfit::Older | Misfit::Parted => "is new or was replaced",
        };
        tracing::warn!("{} {why}; filling it again", connection.name);
        reset(store, lease, connection)?;
        let now = opened.output.clear(call).map_err(failed)?;
        record_generation(store, lease, (connection.id, opened.session), &now, now.seq)?;
        opened.stands = now;
    } else if (stands.number, stands.session) != (connection.generation, connection.session) {
        // A process that died before it confirmed: from here on this is where the output stands.
        record_generation(store, lease, (connection.id, None), &stands, 0)?;
    }
    Ok(opened)
}

/// Notes where an output stands, and that numbers up to `seen` are used up.
fn record_generation(
    store: &Store,
    lease: &Lease,
    (id, session): (ConnectionId, Option<i64>),
    stands: &Generation,
    seen: i64,
) -> Result<()> {
    store.write(Durability::Synced, |sql| {
        lease.fence(sql)?;
        if seen > 0 {
            if !failpoint(Failpoint::NumbersGoBack) {
                connections::pass_number(sql, seen)?;
            }
            // The output is not ahead of this store any more.
            connections::take_numbers(sql, id, session, 1)?;
        }
        connections::record_generation(sql, id, &stands.identity, stands.number, stands.session)
    })?;
    Ok(())
}

/// The connector of an output.
pub(crate) fn kind<'r>(registry: &'r Registry, connection: &Connection) -> Result<&'r OutputKind> {
    registry.output(&connection.kind).ok_or_else(|| {
        EngineError::refused(
            Refusal::NoSuchConnector,
            format!("output {}: this program has no connector `{}`", connection.name, connection.kind),
        )
    })
}

/// Opens an output for writing, whether the delivery log speaks of it or not.
pub(crate) fn open_as_it_is(
    store: &Store,
    registry: &Registry,
    data: &Path,
    connection: &Connection,
) -> Result<Opened> {
    let kind = kind(registry, connection)?;
    let session = new_session();
    let context = OutputContext { data: data.to_owned(), store: store.reader().id().to_owned(), session };
    let output = (kind.open)(&connection.settings, &context)
        .map_err(|fault| EngineError::Output { name: connection.name.clone(), fault })?;
    let stands = output.generation();
    if kind.capabilities.commits {
        refuse_anothers(store.reader(), &connection.name, &stands)?;
    }
    let session = (kind.capabilities.commits || kind.capabilities.told).then_some(session);
    Ok(Opened { capabilities: kind.capabilities, session, stands, definitions: None, output })
}

/// What an output was confirmed to hold counts as lost. Jobs that still use it send it again.
fn reset(store: &Store, lease: &Lease, Connection { id: output, name, .. }: &Connection) -> Result<()> {
    let output = *output;
    let mut after = 0;
    let leaving: HashSet<i64> = store
        .reader()
        .read(jobs::list)?
        .into_iter()
        .filter(|job| job.definition.retired.contains(name))
        .map(|job| job.id.0)
        .collect();
    loop {
        // Both in one transaction, by ranges of ids: a crash in between begins again.
        let last = store.write(Durability::Synced, |sql| {
            lease.fence(sql)?;
            let held = deliveries::all_of_output(sql, output, after, limits::RESET_ROWS as usize)?;
            let Some((last, _)) = held.last().copied() else { return Ok::<_, StoreError>(None) };
            deliveries::reset_output(sql, output, after, last)?;
            let mut by_job: std::collections::BTreeMap<i64, Vec<VisitRequest>> =
                std::collections::BTreeMap::new();
            for (document, owner) in held.into_iter().filter(|(_, owner)| !leaving.contains(&owner.0)) {
                by_job.entry(owner.0).or_default().push(VisitRequest {
                    document,
                    due: 0,
                    reason: VisitReason::Resend,
                });
            }
            for (owner, wanted) in by_job {
                queue::enqueue(sql, JobId(owner), 0, &wanted)?;
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
