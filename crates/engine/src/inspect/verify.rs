//! What an output really holds, beside what the delivery log says that it holds (design 4.17): one pass over both.

use ingather_contract::output::{OutputContext, OutputSnapshot};
use ingather_model::fault::Fault;
use ingather_model::ids::JobId;
use ingather_model::limits;
use ingather_store::connections::{self, Connection};
use ingather_store::jobs::{self, Job};
use ingather_store::leases::Lease;
use ingather_store::{Sql, Store};

use crate::delivery::opened::Opened;
use crate::engine::Engine;
use crate::error::{EngineError, Refusal, Result};
use crate::outputs;

mod log;
mod pass;

use pass::{Pass, Side};

/// How an entry and the delivery log differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The delivery log says that it is there, and it is not.
    Missing,
    /// It is there with another version or another access than was confirmed.
    Stale,
    /// It is ours, and no job has it.
    Orphaned,
    /// It is not ours.
    Foreign,
}

/// One difference.
#[derive(Clone, Debug)]
pub struct Difference {
    /// Which.
    pub kind: Kind,
    /// Address of the entry.
    pub id: String,
    /// Job and name of the document, when the delivery log knows it.
    pub document: Option<(String, String)>,
}

/// What was found in one output.
#[derive(Clone, Debug, Default)]
pub struct Verified {
    /// Entries that the output holds.
    pub entries: u64,
    /// Deliveries in the delivery log.
    pub deliveries: u64,
    /// See [`Kind::Missing`].
    pub missing: u64,
    /// See [`Kind::Stale`].
    pub stale: u64,
    /// See [`Kind::Orphaned`].
    pub orphaned: u64,
    /// See [`Kind::Foreign`].
    pub foreign: u64,
    /// Addresses for which something is on its way: the next run settles them, and nothing is said about them now.
    pub on_their_way: u64,
    /// Entries that are not there any more, of documents that are gone from the source and whose removal is held: nothing can send them
    /// again, and a person confirms the removal.
    pub held_and_lost: u64,
    /// What of the output itself is damaged, a clause each.
    pub damage: Vec<String>,
    /// It was damaged, and is empty and new now: everything is to be sent again.
    pub made_anew: bool,
    /// The output as a whole is not the one that the delivery log speaks of, and how.
    pub mismatch: Option<String>,
    /// Jobs that have something to send again, after a repair.
    pub to_send: Vec<JobId>,
    /// Orphaned entries that were removed, by a repair.
    pub removed: u64,
    /// Entries, stale or orphaned, that are still to be removed; after a repair more than one can remove.
    pub left_over: u64,
}

impl Verified {
    /// Whether the output is whole, and holds what the inventory says.
    pub fn agrees(&self) -> bool {
        self.missing + self.stale + self.orphaned + self.foreign == 0
            && self.mismatch.is_none()
            && self.damage.is_empty()
    }
}

impl Engine {
    /// Compares what an output holds with the inventory, and tells each difference; both are seen as they were at one
    /// instant, also beside a writer. `repair` marks what is missing or stale as not held, so that the jobs in
    /// [`Verified::to_send`] send it again, removes what is stale or orphaned, and makes an output anew that is damaged; what
    /// is not ours is only told.
    ///
    /// # Errors
    /// `Refused` when the output cannot list what it holds; `Busy` when it is to be repaired while jobs of this process send to it; what
    /// the store or the output says.
    pub fn verify(
        &self,
        connection: &Connection,
        repair: bool,
        tell: &mut dyn FnMut(&Difference),
    ) -> Result<Verified> {
        let writer = match (&self.writer, repair) {
            (Some(writer), true) => Some(writer.clone()),
            (None, true) => {
                return Err(EngineError::refused(Refusal::ReadOnly, "the store is open for reading only"));
            }
            (_, false) => None,
        };
        let _lease = repair.then(|| self.process.keep_lease(&self.writing()?)).transpose()?;
        let _alone = repair.then(|| self.process.outputs.repair(connection)).transpose()?;
        let mut attempts = 1..=limits::VERIFY_ATTEMPTS_MAX;
        loop {
            let again =
                attempts.next().is_some_and(|attempt| attempt < limits::VERIFY_ATTEMPTS_MAX && !repair);
            let mut verified = Ok(None);
            self.reader.read(|sql| {
                verified = self.verify_once(sql, connection, writer.as_ref(), again, tell);
                Ok(())
            })?;
            if let Some(verified) = verified? {
                if repair {
                    self.note_repaired(connection)?;
                }
                return Ok(verified);
            }
        }
    }

    /// None when a writer came in between and there may be another attempt.
    fn verify_once(
        &self,
        sql: &mut Sql<'_>,
        connection: &Connection,
        writer: Option<&(Store, Lease)>,
        again: bool,
        tell: &mut dyn FnMut(&Difference),
    ) -> Result<Option<Verified>> {
        let connection = connections::get(sql, connection.id)?.unwrap_or_else(|| connection.clone());
        let (looking, damage) = self.look_at(&connection, true)?;
        if let (Some((store, lease)), false) = (writer, damage.is_empty()) {
            return self.make_anew((store, lease), &connection, damage).map(Some);
        }
        let side = match (writer, looking) {
            (Some(writer), looking) => {
                drop(looking);
                Side::Writing(self.open_for_repair(writer, &connection)?)
            }
            (None, Some(looking)) => Side::Looking(looking),
            (None, None) => Side::Nothing,
        };
        let found = Verified { damage, ..Verified::default() };
        let mut pass = Pass::new(self, sql, side, connection, writer.cloned(), found, tell)?;
        let ahead = pass.whole();
        if ahead && again {
            return Ok(None);
        }
        // What cannot be opened cannot be compared.
        if matches!(pass.side, Side::Nothing) && !pass.found.damage.is_empty() {
            return Ok(Some(pass.found));
        }
        // A newer number cannot be had: whatever a repair sent would count as older.
        let beyond = pass.side.generation().is_some_and(|stands| stands.seq > limits::SEQ_MAX);
        if let (true, true, Some(why)) = (writer.is_some(), beyond, &pass.found.mismatch) {
            let fault = Fault::refused("seq", format!("{why}; nothing was repaired"));
            return Err(EngineError::Output { name: pass.connection.name, fault });
        }
        pass.distrust()?;
        pass.over(sql).map(Some)
    }

    /// One that goes by what it is told has to be told the whole, as before a run; any other one stays as it is until it was looked at.
    fn open_for_repair(&self, (store, lease): &(Store, Lease), connection: &Connection) -> Result<Opened> {
        if !outputs::kind(&self.registry, connection)?.capabilities.told {
            return outputs::open_as_it_is(store, &self.registry, &self.data, connection);
        }
        let mut opened = outputs::open((store, lease), &self.registry, &self.data, connection, &self.call())?;
        opened.begin(&pass::AUTHOR.into(), None, "repair");
        Ok(opened)
    }

    /// An output opened for looking, and what of it is damaged; none when it is not there, or so damaged that it cannot
    /// be opened.
    ///
    /// # Errors
    /// `Refused` when it cannot list what it holds; what the output says.
    pub fn look_at(
        &self,
        connection: &Connection,
        every_entry: bool,
    ) -> Result<(Option<Box<dyn OutputSnapshot>>, Vec<String>)> {
        let failed = |fault| EngineError::Output { name: connection.name.clone(), fault };
        let kind = outputs::kind(&self.registry, connection)?;
        let look = kind
            .look
            .ok_or_else(|| failed(Fault::refused("list", "it is append-only and cannot be verified")))?;
        let context =
            OutputContext { data: self.data.clone(), store: self.reader.id().to_owned(), session: 0 };
        let looking = match look(&connection.settings, &context) {
            Err(Fault::Broken(reason)) => return Ok((None, vec![reason.message])),
            looking => looking.map_err(failed)?,
        };
        let Some(mut looking) = looking else { return Ok((None, Vec::new())) };
        let damage = looking.damage(&self.call(), every_entry).map_err(failed)?;
        Ok((Some(looking), damage))
    }

    /// Takes a damaged output away and makes it anew; everything that it should hold is sent again.
    fn make_anew(
        &self,
        (store, lease): (&Store, &Lease),
        connection: &Connection,
        damage: Vec<String>,
    ) -> Result<Verified> {
        let failed = |fault| EngineError::Output { name: connection.name.clone(), fault };
        let kind = outputs::kind(&self.registry, connection)?;
        let discard = kind
            .discard
            .ok_or_else(|| failed(Fault::refused("damaged", "it is damaged and cannot be made anew")))?;
        let context =
            OutputContext { data: self.data.clone(), store: self.reader.id().to_owned(), session: 0 };
        discard(&connection.settings, &context).map_err(failed)?;
        drop(outputs::open((store, lease), &self.registry, &self.data, connection, &self.call())?);
        let jobs = store.reader().read(jobs::list)?;
        let holds = |job: &Job| job.definition.outputs.contains(&connection.name);
        let to_send = jobs.iter().filter(|job| holds(job)).map(|job| job.id).collect();
        Ok(Verified { damage, made_anew: true, to_send, ..Verified::default() })
    }
}
