//! Outputs as a declaration has them: those whose settings have no room in a name, such as an index on a server.

use std::collections::BTreeMap;

use ingather_contract::output::OutputContext;
use ingather_contract::secrets as places_of_secrets;
use ingather_engine::outputs::{builtin, is_declared};
use ingather_model::fault::Fault;
use ingather_store::connections::{self, Role};
use ingather_store::{Reader, Sql, StoreError};
use serde_json::{Value, json};

use super::DeclaredConnection;
use super::apply::ConnectionChange;
use super::declared_job::unknown_secret;
use crate::context::{Context, Places};
use crate::problem::{Code, Problem, Result};
use crate::secrets;

/// An output that is declared, or is to have other settings.
pub(super) struct OutputChange {
    name: String,
    kind: &'static str,
    /// As they are shown.
    before: Option<Value>,
    after: Value,
    settings: Value,
    /// Why its server could not be asked whether that can be.
    unreached: Option<String>,
}

impl OutputChange {
    pub(super) fn change(&self) -> ConnectionChange {
        let changes = match &self.before {
            None => vec![format!("made: {}", self.kind)],
            Some(before) if *before == self.after => vec!["settings: another secret".to_owned()],
            Some(before) => {
                let names = before.as_object().into_iter().chain(self.after.as_object());
                let mut names: Vec<&String> = names.flat_map(|fields| fields.keys()).collect();
                names.sort_unstable();
                names.dedup();
                let shown = |value: Option<&Value>| value.map_or("none".to_owned(), Value::to_string);
                let pairs =
                    names.iter().map(|name| (name, before.get(name.as_str()), self.after.get(name.as_str())));
                let changed = pairs.filter(|(_, before, after)| before != after);
                changed
                    .map(|(name, before, after)| format!("{name}: {} → {}", shown(before), shown(after)))
                    .collect()
            }
        };
        let unreached = self.unreached.as_ref().map(|why| {
            format!("it was not reached, so that nobody knows whether it can be used: {why}; `ingather doctor` looks at it again")
        });
        ConnectionChange { connection: self.name.clone(), changes, unreached }
    }

    /// What it changes is part of the name of a plan.
    pub(super) fn put_into(&self, plan: &mut blake3::Hasher) {
        let text = json!([self.name, self.before, self.after]).to_string();
        plan.update(&(text.len() as u64).to_le_bytes());
        plan.update(text.as_bytes());
    }

    pub(super) fn store(&self, sql: &mut Sql<'_>, now: i64) -> std::result::Result<(), StoreError> {
        let found = connections::find_or_add(sql, Role::Output, self.kind, &self.name, &self.settings, now)?;
        connections::declare(sql, found.id, &self.settings, now)
    }
}

/// The outputs that a declaration makes or changes, of kinds that are declared.
///
/// # Errors
/// What cannot be meant, what whoever asks may not name, and an index that cannot be used; not that a server is away.
pub(super) fn outputs(
    context: &Context<'_>,
    places: Places<'_>,
    reader: Option<&Reader>,
    given: &BTreeMap<String, DeclaredConnection>,
) -> Result<Vec<OutputChange>> {
    let mut changes = Vec::new();
    for (name, after) in given.iter().filter(|(_, one)| is_declared(&context.registry, &one.kind)) {
        changes.extend(change(context, places, reader, (name, after))?);
    }
    refuse_shared(context, reader, &changes)?;
    Ok(changes)
}

/// Refuses a place that two outputs would fill: they would empty it in turns. What was declared so before is not refused for another one.
fn refuse_shared(context: &Context<'_>, reader: Option<&Reader>, changes: &[OutputChange]) -> Result<()> {
    let place = |kind: &str, settings: &Value| context.registry.output(kind)?.place?(settings);
    let stored = reader.map(|reader| reader.read(connections::list)).transpose()?.unwrap_or_default();
    let changes_too = |name: &str| changes.iter().any(|change| change.name == name);
    let stays = stored.iter().filter(|one| one.role == Role::Output && !changes_too(&one.name));
    let mut taken: BTreeMap<String, &str> =
        stays.filter_map(|one| Some((place(&one.kind, &one.settings)?, one.name.as_str()))).collect();
    for change in changes {
        let Some(at) = place(change.kind, &change.settings) else { continue };
        if let Some(other) = taken.get(&at) {
            let sentence = format!(
                "output {}: output {other} fills {at} already, and each output has a place of its own; name another index, or have jobs name \
                 {other}",
                change.name
            );
            return Err(Problem::new(Code::Settings, sentence));
        }
        taken.insert(at, &change.name);
    }
    Ok(())
}

fn change(
    context: &Context<'_>,
    places: Places<'_>,
    reader: Option<&Reader>,
    (name, given): (&str, &DeclaredConnection),
) -> Result<Option<OutputChange>> {
    let refuse = |why: &str| Problem::new(Code::Settings, format!("output {name}: {why}"));
    let (kind, _) = builtin(&context.registry, name)?;
    if kind != given.kind {
        return Err(refuse(&format!("its name begins with its kind, as in {}:docs", given.kind)));
    }
    if given.group.is_some() {
        return Err(refuse("an output has no `group`"));
    }
    let Some(known_kind) = context.registry.output(kind) else { return Ok(None) };
    let known = reader
        .map(|reader| reader.read(|sql| connections::find(sql, Role::Output, name)))
        .transpose()?
        .flatten();
    let known = known.map(|known| known.settings);
    let schema = (known_kind.schema)();
    let settings = places_of_secrets::restored(&schema, given.settings.clone(), known.as_ref())
        .map_err(|place| refuse(&unknown_secret(&format!("settings.{place}"))))?;
    if known.as_ref() == Some(&settings) {
        return Ok(None);
    }
    // Before they are looked at, which tells of what there is.
    if let Places::Below(_) = places {
        let place = places_of_secrets::Place::of(&schema);
        let is_new = |(field, value): &(&String, &Value)| {
            place.field(field).is_of_the_machine()
                && known.as_ref().and_then(|known| known.get(field.as_str())) != Some(value)
        };
        if let Some((field, _)) = settings.as_object().into_iter().flatten().find(is_new) {
            let sentence = format!(
                "output {name}: `settings.{field}` names something of the machine of the service or its network; only its owner sets it, \
                 over the socket of the service or without one"
            );
            return Err(Problem::new(Code::OutsideRoots, sentence));
        }
    }
    // Where there is no inventory yet, no index can be its own.
    let store = reader.map_or_else(String::new, |reader| reader.id().to_owned());
    let to = OutputContext { data: context.host.data().to_owned(), store, session: 0 };
    // A server that is away for now keeps nobody from declaring what is on it.
    let unreached = match (known_kind.check)(&settings, &to) {
        Ok(()) => None,
        Err(fault @ Fault::Passing { .. }) => Some(fault.reason().message),
        Err(fault) => return Err(refuse(&fault.reason().message)),
    };
    let shown = |settings: Value| secrets::hidden(&context.registry, Role::Output, kind, settings);
    let (before, after) = (known.map(shown), shown(settings.clone()));
    Ok(Some(OutputChange { name: name.to_owned(), kind, before, after, settings, unreached }))
}
