//! Throttles of repository connections, as a declaration has them: how much is read of each, by all jobs together.

use ingather_engine::{Rules, THROTTLE};
use ingather_store::connections::{self, Role as ConnectionRole};
use ingather_store::{Reader, Sql, StoreError};
use serde_json::{Value, json};

use super::apply::ConnectionChange;
use super::{Declaration, DeclaredConnection};
use crate::connections::Sources;
use crate::context::Context;
use crate::problem::{Code, Problem, Result};
use crate::secrets;

/// The throttle of a connection that is to be another one.
pub(super) struct Throttle {
    connection: String,
    before: Value,
    after: Value,
    rules: Rules,
}

impl Throttle {
    fn of(name: &str, known: &DeclaredConnection, declared: &DeclaredConnection) -> Result<Throttle> {
        let of = |settings: &Value| settings.get(THROTTLE).cloned().unwrap_or_else(|| json!([]));
        let rules = Rules::of(&declared.settings)
            .map_err(|why| Problem::new(Code::Settings, format!("connection {name}: {why}")))?;
        let (before, after) = (of(&known.settings), of(&declared.settings));
        Ok(Throttle { connection: name.to_owned(), before, after, rules })
    }

    pub(super) fn change(&self) -> ConnectionChange {
        let word = |rules: &Value| match rules.as_array() {
            Some(rules) if rules.is_empty() => "none".to_owned(),
            _ => rules.to_string(),
        };
        let changes = vec![format!("{THROTTLE}: {} → {}", word(&self.before), word(&self.after))];
        ConnectionChange { connection: self.connection.clone(), changes }
    }

    /// What it changes is part of the name of a plan.
    pub(super) fn put_into(&self, plan: &mut blake3::Hasher) {
        let text = json!([self.connection, self.before, self.after]).to_string();
        plan.update(&(text.len() as u64).to_le_bytes());
        plan.update(text.as_bytes());
    }

    /// Stores it, beside all other settings of its connection.
    pub(super) fn store(&self, sql: &mut Sql<'_>, now: i64) -> std::result::Result<(), StoreError> {
        let Some(found) = connections::find(sql, ConnectionRole::Repository, &self.connection)? else {
            return Ok(());
        };
        let mut settings = found.settings;
        if let Some(fields) = settings.as_object_mut() {
            fields.remove(THROTTLE);
            if self.after != json!([]) {
                fields.insert(THROTTLE.to_owned(), self.after.clone());
            }
        }
        connections::declare(sql, found.id, &settings, now)
    }

    /// What is under way goes by it from now on.
    pub(super) fn begin(&self, context: &Context<'_>, reader: &Reader) -> Result<()> {
        let found =
            reader.read(|sql| connections::find(sql, ConnectionRole::Repository, &self.connection))?;
        if let Some(found) = found {
            let steady = context.call().steady();
            context.host.process().throttle(found.id, self.rules.clone(), steady);
        }
        Ok(())
    }
}

/// A connection but for its throttle.
fn without(connection: &DeclaredConnection) -> DeclaredConnection {
    let mut connection = connection.clone();
    connection.settings.as_object_mut().into_iter().for_each(|fields| drop(fields.remove(THROTTLE)));
    connection
}

/// The throttles that a declaration changes. Of connections nothing else can be otherwise than it is: this version makes those that jobs need.
///
/// # Errors
/// What cannot be meant, or is otherwise.
pub(super) fn throttles(
    context: &Context<'_>,
    reader: Option<&Reader>,
    declaration: &Declaration,
) -> Result<Vec<Throttle>> {
    let stored = reader.map(|reader| reader.read(connections::list)).transpose()?.unwrap_or_default();
    let known = |role: ConnectionRole, name: &str| -> Option<DeclaredConnection> {
        let found = stored.iter().find(|one| one.role == role && one.name == name);
        if let Some(one) = found {
            let group = (!one.group.is_default()).then(|| one.group.name().to_owned());
            let settings = secrets::hidden(&context.registry, role, &one.kind, one.settings.clone());
            return Some(DeclaredConnection { kind: one.kind.clone(), settings, group });
        }
        let (kind, settings) = match role {
            ConnectionRole::Repository => (Sources::of_connection(name)?.connector, json!({})),
            ConnectionRole::Output => ingather_engine::outputs::builtin(&context.registry, name).ok()?,
        };
        Some(DeclaredConnection { kind: kind.to_owned(), settings, group: None })
    };
    let repositories = declaration.repositories.iter().map(|one| (ConnectionRole::Repository, one));
    let outputs = declaration.outputs.iter().map(|one| (ConnectionRole::Output, one));
    let mut throttles = Vec::new();
    for (role, (name, declared)) in repositories.chain(outputs) {
        let sentence = match known(role, name) {
            Some(known) if known == *declared => continue,
            Some(known) if role == ConnectionRole::Repository && without(&known) == without(declared) => {
                throttles.push(Throttle::of(name, &known, declared)?);
                continue;
            }
            Some(known) => format!(
                "connection {name} is declared otherwise than it is ({}); of a connection this version changes the `throttle` of a \
                 repository alone: declare it so, or leave it out",
                serde_json::to_string(&known).unwrap_or_default()
            ),
            None => format!(
                "there is no connection {name}, and this version makes those alone that it has built in: files, and outputs such as \
                 index; leave it out"
            ),
        };
        return Err(Problem::new(Code::Settings, sentence));
    }
    Ok(throttles)
}
