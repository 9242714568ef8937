//! Whether outputs take what they are sent (decision 0059): what runs find, trying those that are away, and what follows when they are back.

use ingather_model::fault::Fault;
use ingather_model::ids::ConnectionId;
use ingather_model::lifecycle::outcome::{FaultCode, OutputHealth};
use ingather_store::connections::{self, Connection, Health, Ill, Role};
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::{Durability, Sql, StoreError};

use super::Engine;
use crate::error::{EngineError, Result};
use crate::process::Process;
use crate::run::Run;

/// What a fault of an output says of it: only one whose own files are damaged needs somebody who repairs it. A panic of ours is no damage.
pub(crate) fn health_by(fault: &Fault) -> OutputHealth {
    let is_damaged = matches!(fault, Fault::Broken(_)) && fault.code() == Some(FaultCode::IndexDamaged);
    match is_damaged && !failpoint(Failpoint::DamagedIsAway) {
        true => OutputHealth::Corrupt,
        false => OutputHealth::Unavailable,
    }
}

/// The turn of an output that is tried, until it is dropped.
struct Turn<'p> {
    process: &'p Process,
    id: ConnectionId,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.process.health.ends(self.id);
    }
}

impl Process {
    /// How often an output came back: whoever could not use one tries again when that grows.
    pub fn returned_outputs(&self) -> u64 {
        self.health.returns()
    }

    /// An output whose turn it was is not tried.
    pub fn ends_probe(&self, id: ConnectionId) {
        self.health.ends(id);
    }
}

impl Engine {
    /// Takes note of why an output could not be used. What is damaged stays so, whatever else is wrong with it, until a run has ended well with it or somebody has repaired it.
    pub(crate) fn note_fault(
        &self,
        sql: &mut Sql<'_>,
        (name, fault): (&str, &Fault),
    ) -> std::result::Result<(), StoreError> {
        let Some(found) = connections::find(sql, Role::Output, name)? else { return Ok(()) };
        let (state, now) = (health_by(fault), self.clock.now());
        if state == OutputHealth::Unavailable && found.health.state == OutputHealth::Corrupt {
            return Ok(());
        }
        let since = match state {
            OutputHealth::Unavailable => self.process.health.failed(found.id, now),
            OutputHealth::Healthy | OutputHealth::Corrupt => now,
        };
        connections::note_health(sql, found.id, (state, &fault.to_string()), since)?;
        Ok(())
    }

    /// A run is over that had its outputs open: takes note of what failed of them, or that they are well. Where they were, nothing is written.
    pub(super) fn note_outputs(&self, run: &Run, errors: [Option<&EngineError>; 2]) {
        let failed: Vec<(&str, &Fault)> = errors
            .into_iter()
            .flatten()
            .filter_map(|error| match error {
                EngineError::Output { name, fault } => Some((name.as_str(), fault)),
                EngineError::Store(_) | EngineError::Refused { .. } => None,
            })
            .collect();
        let noted = match failed.is_empty() {
            true => run.outputs.iter().try_for_each(|output| self.note_sound(output.id, output.is_ill)),
            false => {
                self.note_health(|sql| failed.iter().try_for_each(|failed| self.note_fault(sql, *failed)))
            }
        };
        // How the run ended is the one to tell.
        if let Err(error) = noted {
            tracing::warn!("it is not noted how the outputs of job {} are: {error}", run.job.name);
        }
    }

    /// An output has taken what it was sent, or was repaired.
    pub(crate) fn note_sound(&self, id: ConnectionId, was_ill: bool) -> Result<()> {
        self.process.health.is_sound(id);
        if !was_ill {
            return Ok(());
        }
        let now = self.clock.now();
        self.note_health(|sql| {
            connections::note_health(sql, id, (OutputHealth::Healthy, ""), now).map(drop)
        })?;
        self.process.health.came_back();
        Ok(())
    }

    fn note_health(&self, note: impl Fn(&mut Sql<'_>) -> std::result::Result<(), StoreError>) -> Result<()> {
        let writer = self.writing()?;
        let _lease = self.process.keep_lease(&writer)?;
        writer.store.write(Durability::Synced, |sql| {
            writer.lease.fence(sql)?;
            note(sql)
        })?;
        Ok(())
    }

    /// Outputs that are away and whose turn it is to be tried: each is tried by [`Engine::probe_output`]; and when the next one is to be, milliseconds since 1970 UTC.
    ///
    /// # Errors
    /// What the store says.
    pub fn probes_due(&self) -> Result<(Vec<Ill>, Option<i64>)> {
        let mut ill = self.reader.read(connections::ill)?;
        // Somebody repairs what is damaged.
        ill.retain(|one| one.health.state == OutputHealth::Unavailable);
        Ok(self.process.health.give(&ill, self.clock.now()))
    }

    /// Tries whether an output that is away can be opened again; whether it can.
    ///
    /// # Errors
    /// `ReadOnly`; what the store says. What the output says is no error.
    pub fn probe_output(&self, one: &Ill) -> Result<bool> {
        let _turn = Turn { process: &self.process, id: one.id };
        let tried = self.try_output(&one.name);
        let now = self.clock.now();
        if self.cancel.cancelled() {
            // It may have taken a minute: the program ends, and writes nothing any more.
            return Ok(false);
        }
        match tried {
            Ok(()) => {
                self.note_health(|sql| {
                    // Somebody may have found damage meanwhile.
                    let found = connections::get(sql, one.id)?;
                    match found.map(|found| found.health.state) {
                        Some(OutputHealth::Unavailable) => {
                            connections::note_health(sql, one.id, (OutputHealth::Healthy, ""), now).map(drop)
                        }
                        _ => Ok(()),
                    }
                })?;
                self.process.health.is_back(one.id, now);
                Ok(true)
            }
            Err(error) => {
                self.process.health.stays_away(one.id, now);
                let EngineError::Output { fault, .. } = &error else { return Err(error) };
                self.note_health(|sql| self.note_fault(sql, (&one.name, fault)))?;
                Ok(false)
            }
        }
    }

    /// Of a repair that went well: the output is well.
    pub(crate) fn note_repaired(&self, connection: &Connection) -> Result<()> {
        let found = self.reader.read(|sql| connections::get(sql, connection.id))?;
        let health = found.map_or_else(Health::default, |found| found.health);
        self.note_sound(connection.id, health.state != OutputHealth::Healthy)
    }
}
