//! Repository connections as a declaration has them: how much is read of each, by all jobs together, and whose tokens judge what it rules.

use ingather_engine::outputs::is_declared;
use ingather_engine::{Rules, THROTTLE};
use ingather_model::access::identity::Group;
use ingather_model::limits;
use ingather_store::connections::{self, Role as ConnectionRole};
use ingather_store::{Reader, Sql, StoreError, jobs};
use serde_json::{Value, json};

use super::apply::ConnectionChange;
use super::{Declaration, DeclaredConnection};
use crate::connections::Sources;
use crate::context::Context;
use crate::problem::{Code, Problem, Result};
use crate::secrets;

/// A repository connection that is to be another one.
pub(super) struct RepositoryChange {
    connection: String,
    connector: String,
    before: DeclaredConnection,
    after: DeclaredConnection,
    rules: Rules,
}

impl RepositoryChange {
    fn of(name: &str, known: &DeclaredConnection, declared: &DeclaredConnection) -> Result<RepositoryChange> {
        let refuse = |why: String| Problem::new(Code::Settings, format!("connection {name}: {why}"));
        let rules = Rules::of(&declared.settings).map_err(refuse)?;
        if declared.group.as_ref().is_some_and(|group| group.len() > limits::USER_NAME_BYTES_MAX) {
            return Err(refuse(format!("`group` is longer than {} bytes", limits::USER_NAME_BYTES_MAX)));
        }
        let (connection, connector) = (name.to_owned(), known.kind.clone());
        Ok(RepositoryChange { connection, connector, before: known.clone(), after: declared.clone(), rules })
    }

    pub(super) fn change(&self) -> ConnectionChange {
        let (before, after) = (throttle(&self.before), throttle(&self.after));
        let rules = |rules: &Value| match rules.as_array() {
            Some(rules) if rules.is_empty() => "none".to_owned(),
            _ => rules.to_string(),
        };
        let group = |of: &DeclaredConnection| of.group.clone().unwrap_or_else(|| "none".to_owned());
        let changes = [
            (before != after).then(|| format!("{THROTTLE}: {} → {}", rules(&before), rules(&after))),
            self.is_regrouped().then(|| format!("group: {} → {}", group(&self.before), group(&self.after))),
        ];
        ConnectionChange {
            connection: self.connection.clone(),
            changes: changes.into_iter().flatten().collect(),
            unreached: None,
        }
    }

    fn is_regrouped(&self) -> bool {
        self.before.group != self.after.group
    }

    /// What it changes is part of the name of a plan.
    pub(super) fn put_into(&self, plan: &mut blake3::Hasher) {
        let text = json!([self.connection, self.before, self.after]).to_string();
        plan.update(&(text.len() as u64).to_le_bytes());
        plan.update(text.as_bytes());
    }

    /// Stores it, beside all other settings of its connection.
    pub(super) fn store(&self, sql: &mut Sql<'_>, now: i64) -> std::result::Result<(), StoreError> {
        let (role, settings) = (ConnectionRole::Repository, json!({}));
        let found = connections::find_or_add(sql, role, &self.connector, &self.connection, &settings, now)?;
        if self.is_regrouped() {
            if jobs::list(sql)?.iter().any(|job| job.repository == found.id) {
                // Nothing of the declaration is stored then.
                let sentence = format!(
                    "connection {}: a job uses it by now; apply the declaration again",
                    self.connection
                );
                return Err(StoreError::Refused(sentence));
            }
            let group = Group::named(self.after.group.clone().unwrap_or_default());
            connections::join(sql, found.id, &group)?;
        }
        let mut settings = found.settings;
        if let Some(fields) = settings.as_object_mut() {
            fields.remove(THROTTLE);
            let after = throttle(&self.after);
            if after != json!([]) {
                fields.insert(THROTTLE.to_owned(), after);
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

/// Rules of how much is read of a connection.
fn throttle(connection: &DeclaredConnection) -> Value {
    connection.settings.get(THROTTLE).cloned().unwrap_or_else(|| json!([]))
}

/// A connection but for its throttle and its group.
fn without(connection: &DeclaredConnection) -> DeclaredConnection {
    let mut connection = connection.clone();
    connection.group = None;
    connection.settings.as_object_mut().into_iter().for_each(|fields| drop(fields.remove(THROTTLE)));
    connection
}

/// Whether a job uses a connection: what it has taken in was judged by its group, so that it stays in that.
fn is_used(reader: Option<&Reader>, name: &str) -> Result<bool> {
    let Some(reader) = reader else { return Ok(false) };
    Ok(reader.read(|sql| {
        let found = connections::find(sql, ConnectionRole::Repository, name)?;
        let jobs = jobs::list(sql)?;
        Ok(found.is_some_and(|found| jobs.iter().any(|job| job.repository == found.id)))
    })?)
}

/// The repository connections that a declaration changes: their throttles, and the groups of those that no job uses. Nothing else of
/// connections can be otherwise than it is: this version makes those that jobs need.
///
/// # Errors
/// What cannot be meant, or is otherwise.
pub(super) fn repositories(
    context: &Context<'_>,
    reader: Option<&Reader>,
    declaration: &Declaration,
) -> Result<Vec<RepositoryChange>> {
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
            ConnectionRole::Authority => return None,
        };
        Some(DeclaredConnection { kind: kind.to_owned(), settings, group: None })
    };
    let repositories = declaration.repositories.iter().map(|one| (ConnectionRole::Repository, one));
    let built_in = |(_, one): &(&String, &DeclaredConnection)| !is_declared(&context.registry, &one.kind);
    let outputs = declaration.outputs.iter().filter(built_in).map(|one| (ConnectionRole::Output, one));
    let mut changes = Vec::new();
    for (role, (name, declared)) in repositories.chain(outputs) {
        let sentence = match known(role, name) {
            Some(known) if known == *declared => continue,
            Some(known) if role == ConnectionRole::Repository && without(&known) == without(declared) => {
                if known.group != declared.group && is_used(reader, name)? {
                    return Err(Problem::new(
                        Code::Settings,
                        format!(
                            "connection {name}: a job uses it, and what that took in is judged by its authority group, so that it stays in \
                             that; declare the group before its first job, or delete its jobs first"
                        ),
                    ));
                }
                changes.push(RepositoryChange::of(name, &known, declared)?);
                continue;
            }
            Some(known) => format!(
                "connection {name} is declared otherwise than it is ({}); of a connection this version changes the `throttle` and the \
                 `group` of a repository alone: declare it so, or leave it out",
                serde_json::to_string(&known).unwrap_or_default()
            ),
            None => format!(
                "there is no connection {name}, and this version makes those alone that it has built in: files, and outputs such as \
                 index; leave it out"
            ),
        };
        return Err(Problem::new(Code::Settings, sentence));
    }
    Ok(changes)
}
