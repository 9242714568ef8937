//! The source of a job is elsewhere now: renamed, or mounted in another place (decision 0032). What is there is compared with the inventory by
//! a listing that writes nothing; then the job gets its new root, and is shown to nobody until a run has looked at who may see it there.

use std::collections::HashMap;
use std::sync::Arc;

use ingather_contract::repository::Repository;
use ingather_model::access::{Acl, Entry, UNIX_EVERYONE};
use ingather_model::fault::Fault;
use ingather_model::ids::{ContainerId, Digest};
use ingather_model::job::Definition;
use ingather_model::limits;
use ingather_store::containers::{self, PendingAcl};
use ingather_store::jobs::{self, Job};
use ingather_store::{Durability, StoreError, documents};

use crate::delivery::writer::Writer;
use crate::engine::Engine;
use crate::error::{EngineError, Refusal, Result};

/// How much a source is like what the inventory knows of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Likeness {
    /// Documents that the inventory knows.
    pub documents: u64,
    /// Found under their names, as they were read last.
    pub same: u64,
    /// Found under their names, and changed since.
    pub other: u64,
    /// Not known.
    pub new: u64,
    /// All of the source was looked at.
    pub is_whole: bool,
}

impl Likeness {
    /// Whether it is hardly another source: nine of ten of what is known are there as they were, or of what was looked at, where that is
    /// not all.
    pub fn is_enough(&self) -> bool {
        let of = if self.is_whole { self.documents } else { self.same + self.other + self.new };
        self.same * 10 >= of * 9
    }
}

/// A job that gets another root, and the definition that goes with it.
#[derive(Clone, Debug)]
pub struct Relocation {
    /// The job as it is stored.
    pub job: Job,
    /// Where its source is now.
    pub root: String,
    /// Its definition with that root.
    pub definition: Definition,
}

impl Relocation {
    /// The job as it will be stored.
    pub fn there(&self) -> Job {
        Job { root: self.root.clone(), definition: self.definition.clone(), ..self.job.clone() }
    }
}

impl Engine {
    /// Compares a source with what the inventory knows of a job.
    ///
    /// # Errors
    /// What the source says, or the store.
    pub fn likeness(&self, job: &Job, source: &Arc<dyn Repository>) -> Result<Likeness> {
        let hasher = self.reader.hasher();
        let documents = self.reader.read(|sql| documents::total(sql, job.id))?;
        let mut likeness = Likeness { documents, ..Likeness::default() };
        let mut looked = 0;
        let call = self.call();
        let cannot = |fault: Fault| EngineError::refused(Refusal::Source, fault.to_string());
        let mut listing = source.list(&call).map_err(cannot)?;
        while let Some(page) = listing.next() {
            let page = page.map_err(cannot)?;
            for group in &page.groups {
                let parent = hasher.hash(group.parent.as_bytes());
                let mut listed = Vec::with_capacity(group.items.len());
                for item in &group.items {
                    let key = hasher.hash(format!("{}{}", group.parent, item.name).as_bytes());
                    listed.push((key, hasher.version(key, &item.content)));
                }
                for listed in listed.chunks(limits::JUDGED_MAX) {
                    let keys: Vec<i64> = listed.iter().map(|(key, _)| *key).collect();
                    let known = self.reader.read(|sql| documents::find(sql, job.id, parent, &keys))?;
                    let known: HashMap<i64, Digest> =
                        known.into_iter().map(|(_, known)| (known.key_hash, known.version)).collect();
                    for (key, version) in listed {
                        match known.get(key) {
                            Some(known) if version.same(*known) => likeness.same += 1,
                            Some(_) => likeness.other += 1,
                            None => likeness.new += 1,
                        }
                    }
                }
                looked += group.items.len();
            }
            if call.cancel.cancelled() {
                return Err(StoreError::Stopped.into());
            }
            if looked > limits::MOVE_LOOKED_MAX {
                return Ok(likeness);
            }
        }
        likeness.is_whole = true;
        Ok(likeness)
    }

    /// Gives jobs their new roots and definitions, all of them or none. Their documents are shown to nobody from here on, until a run of each
    /// has looked at them and at all folders above them; false where somebody has changed one of the jobs since it was looked at.
    ///
    /// # Errors
    /// `Running` while one of them is worked on; `ReadOnly`; what the store says.
    pub fn relocate(&self, moves: &[Relocation]) -> Result<bool> {
        let writer = self.writing()?;
        let begun =
            |moving: &Relocation| self.process.begin(&moving.job, "move", Some(&writer), &self.cancel);
        let works = moves.iter().map(begun).collect::<Result<Vec<_>>>()?;
        for moving in moves {
            self.close(&writer, &moving.job)?;
        }
        // Behind it: should this process die in between, all of it is hidden until the next run.
        let moved = writer.store.write(Durability::Synced, |sql| {
            writer.lease.fence(sql)?;
            for Relocation { job, .. } in moves {
                if jobs::get(sql, job.id)?.is_none_or(|stored| stored.revision != job.revision) {
                    return Ok(false);
                }
            }
            for Relocation { job, root, definition } in moves {
                jobs::relocate(sql, job, root, definition)?;
            }
            Ok(true)
        })?;
        works.iter().try_for_each(|work| work.check())?;
        Ok(moved)
    }

    /// Shows the documents of a job to nobody, until a run has looked at them.
    fn close(&self, writer: &Writer, job: &Job) -> Result<()> {
        let used = self.process.containers.get(&self.reader, job.repository, job.id)?;
        let shared = used.shared();
        // The folder of the root has all documents below it; those of a source that is one file are in the folder that holds it.
        let root_folder =
            self.reader.read(|sql| containers::named(sql, job.repository, &[job.root.as_str()]))?;
        let mut closed: Vec<ContainerId> = root_folder.iter().map(|container| container.id).collect();
        if closed.is_empty() {
            closed = self.reader.read(|sql| documents::containers(sql, job.id))?;
        }
        let nobody = Acl::Ordered(vec![Entry::deny(UNIX_EVERYONE)]);
        let mut acls = shared.acls();
        let tree = shared.tree();
        let mut begun = false;
        let written = shared.write(&writer.store, |sql| {
            if std::mem::replace(&mut begun, true) {
                // The database took it back, to let another transaction pass.
                acls.lose();
            }
            writer.lease.fence(sql)?;
            let acl_id = acls.intern(sql, &nobody)?;
            for container in &closed {
                containers::add_pending(sql, PendingAcl { container: *container, job: job.id.0, acl_id })?;
            }
            Ok(())
        });
        if written.is_err() {
            acls.lose();
        }
        drop((tree, acls));
        Ok(written?)
    }
}
