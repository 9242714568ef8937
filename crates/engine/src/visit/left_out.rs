//! Documents that are there, that a rule of the job leaves out now, and whose removal the delete guard holds: no listing names them any
//! more, so each run looks at their own access once. Whoever is shut out by it is shut out; nobody else is let in.

use std::sync::Arc;

use ingather_connector::model::access::Level;
use ingather_connector::model::decision::NOBODY;
use ingather_connector::model::ids::{Digest, DocumentId};
use ingather_connector::model::limits;
use ingather_store::documents::{self, Stored, Visited};
use ingather_store::mutations::{Mutation, planted};
use ingather_store::work::Cause;

use super::holdings::{self, Holdings};
use super::unchanged::Audience;
use super::{Visiting, access_digest};
use crate::board::Task;
use crate::deliver::Step;
use crate::deliver::settle::{Outcome, Visit};
use crate::error::Result;
use crate::run::Run;
use crate::sweep::Judged;

/// Looks at them, while the outputs still listen.
pub(crate) fn narrow(run: &Run, judged: &Judged) -> Result<()> {
    let held = judged.held_by_rule();
    if held.is_empty() || run.store.is_none() || planted(Mutation::HeldNotLookedAt) {
        return Ok(());
    }
    let ids: Vec<i64> = held.iter().map(|id| id as i64).collect();
    for ids in ids.chunks(limits::CLAIM_MAX) {
        let mut holdings = holdings::read(&run.reader, ids)?;
        for stored in run.reader.read(|sql| documents::get(sql, ids))? {
            if run.stops() {
                return Ok(());
            }
            // What cannot be looked at now stays as it is, as it does below a blind spot.
            let Some(level) = run.repository.level_of_left(&run.call, &stored.name) else { continue };
            let held = holdings.remove(&stored.known.id.0).unwrap_or_default();
            Visiting::of_held(run, stored, held).narrow(&level)?;
        }
    }
    Ok(())
}

impl<'r> Visiting<'r> {
    fn of_held(run: &'r Run, stored: Stored, held: Holdings) -> Visiting<'r> {
        let Stored { known, name, identity } = stored;
        let task = Task {
            id: known.id.0,
            name,
            own: known.own,
            known: Some(known),
            place: known.place,
            cause: Cause::Access,
            wanted: 0,
            version: known.version,
            access: known.access,
            identity,
            is_met: false,
        };
        Visiting { run, task, held, raw: Digest::NONE, steady: true, looked: None, is_ahead: true }
    }

    /// Sends access that admits nobody who might not find it before. Nothing of it was read: its row keeps the versions of what was.
    fn narrow(self, level: &Level) -> Result<()> {
        let class = self.class_of(level)?;
        let now = access_digest(Some(class), self.task.place);
        let access = match self.audience(class)? {
            Audience::Same | Audience::More => return Ok(()),
            Audience::Fewer if self.is_shown_as_known() => now,
            Audience::Fewer | Audience::Others => NOBODY,
        };
        let visited = Visited {
            id: DocumentId(self.task.id),
            version: self.task.version,
            access: self.task.access,
            settings: self.run.settings,
            identity: self.task.identity,
            class: Some(class),
            place: self.task.place,
            raw: None,
        };
        // What takes no access alone would have to give it up, which the guard holds.
        let tellings = self
            .access_tellings(access, |output, access| output.can.access.then_some(Step::Access { access }));
        // It settles nothing: the run counts it among what is held.
        let visit = Arc::new(Visit::new(self.task.clone(), None, Outcome::Unchanged, usize::MAX));
        for telling in tellings {
            let output = &self.run.outputs[telling.place];
            output.push(self.run, self.prepared(&visit, telling, &visited));
        }
        Ok(())
    }
}
