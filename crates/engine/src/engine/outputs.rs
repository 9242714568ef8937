//! The outputs that a job sends to, open in this process.

use std::collections::BTreeMap;

use ingather_contract::secrets;
use ingather_model::job::Definition;
use ingather_model::lifecycle::outcome::OutputHealth;
use ingather_store::connections::{self, Connection, Role};
use ingather_store::jobs::{self, Job};
use ingather_store::leases::Lease;
use ingather_store::{Durability, Store};

use super::Engine;
use crate::delivery::job_output::JobOutput;
use crate::delivery::output_pool::OutputUse;
use crate::error::{EngineError, Refusal, Result};
use crate::outputs;
use crate::visit::pipeline::Pipeline;

/// The outputs of a job, what keeps them open, and what they send again by.
type OpenOutputs = (Vec<JobOutput>, Vec<OutputUse>, BTreeMap<String, serde_json::Value>);

impl Engine {
    /// The output of a connection, open in this process.
    pub(crate) fn open_output(&self, connection: &Connection) -> Result<OutputUse> {
        let writer = self.writing()?;
        let to = (&writer.store, &writer.lease);
        let open = || outputs::open(to, &self.registry, &self.data, connection, &writer.call);
        self.process.outputs.get(&writer, connection, open)
    }

    /// Tries whether an output can be opened, before a job that names it is stored.
    ///
    /// # Errors
    /// When it cannot be opened: who holds it, or what is missing.
    pub fn try_output(&self, name: &str) -> Result<()> {
        let store = self.writing()?.store;
        let open = || outputs::try_open(&store, &self.registry, &self.data, name);
        let find = || self.reader.read(|sql| connections::find(sql, Role::Output, name));
        // One without a connection is open nowhere here, unless a first run makes it just now.
        let tried = if find()?.is_none() { open() } else { Ok(()) };
        match find()? {
            Some(connection) => self.process.outputs.try_open(connection.id, open),
            None => tried,
        }
    }

    /// All that a job sends to. Why one of them cannot be opened is noted, of the job and of the output: there is no run on record that could
    /// tell of it, and the program may end.
    pub(super) fn open_outputs(
        &self,
        job: &Job,
        pipeline: &Pipeline,
        writer: Option<&(Store, Lease)>,
    ) -> Result<OpenOutputs> {
        let opened = self.opened(&job.definition, pipeline, writer.is_some());
        let (Err(error @ EngineError::Output { name, fault }), Some((store, lease))) = (&opened, writer)
        else {
            return opened;
        };
        let noted = store.write(Durability::Synced, |sql| {
            lease.fence(sql)?;
            jobs::refuse(sql, job.id, &error.to_string())?;
            self.note_fault(sql, (name, fault))
        });
        // What kept the run from beginning is the one to tell.
        if let Err(failed) = noted {
            tracing::warn!("it is not noted that a run of job {} could not begin: {failed}", job.name);
        }
        opened
    }

    fn opened(&self, definition: &Definition, pipeline: &Pipeline, writes: bool) -> Result<OpenOutputs> {
        let (mut outputs, mut uses, mut resending) = (Vec::new(), Vec::new(), BTreeMap::new());
        for name in &definition.outputs {
            let found = self.reader.read(|sql| connections::find(sql, Role::Output, name))?;
            let connection = match (found, &self.writer) {
                (Some(connection), _) => connection,
                (None, Some((store, _))) if writes => {
                    outputs::connection(store, &self.registry, name, self.clock.now())?
                }
                (None, _) => outputs::pretended(&self.registry, name)?,
            };
            let kind = self.registry.output(&connection.kind).ok_or_else(|| {
                EngineError::refused(
                    Refusal::NoSuchConnector,
                    format!("output {name}: this program has no connector `{}`", connection.kind),
                )
            })?;
            let schema = (kind.schema)();
            let counted = secrets::resending(&schema, &connection.settings);
            resending.extend(counted.map(|counted| (name.clone(), counted)));
            let shown = secrets::left_out(&schema, connection.settings.clone());
            let (path, arrival) = (pipeline.path_to(name), pipeline.arrival_of(name));
            let settings = definition.delivery_digest(&path, &pipeline.versions, &shown);
            let queue = match writes {
                true => {
                    let used = self.open_output(&connection)?;
                    let queue = used.queue();
                    // It is open with other ones: what this run sends would be noted as sent by those that it read.
                    if queue.settings != connection.settings {
                        return Err(EngineError::refused(
                            Refusal::Busy,
                            format!(
                                "the settings of output {name} were changed while other jobs send to it; run this job again when \
                                 they have ended"
                            ),
                        ));
                    }
                    uses.push(used);
                    Some(queue)
                }
                false => None,
            };
            let capabilities = kind.capabilities;
            let is_ill = connection.health.state != OutputHealth::Healthy;
            outputs.push(JobOutput { id: connection.id, capabilities, arrival, settings, is_ill, queue });
        }
        Ok((outputs, uses, resending))
    }
}
