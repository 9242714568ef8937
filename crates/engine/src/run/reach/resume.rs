//! A run that goes on with one that did not come to its end: what was reached counts as reached, and what is queued of it is visited.

use ingather_model::limits;
use ingather_store::documents::handed_down;
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::{documents, queue, runs};

use super::Reach;
use crate::error::Result;
use crate::run::dating::Walk;
use crate::run::{Run, id_set};

impl Reach {
    /// Reads what the run before had reached, where this one goes on with it.
    pub(crate) fn resume(&self, run: &Run) -> Result<()> {
        let (marks, seeded) = run.reader.read(|sql| {
            let marks = runs::listed_ids(sql, run.job.id, run.number)?;
            let seeded = runs::reach::find(sql, run.job.id, run.number)?;
            Ok((marks, seeded.is_some_and(|run| run.seeded_at.is_some())))
        })?;
        self.guard(run, !marks.is_empty())?;
        let mut state = self.lock();
        state.seeded = seeded;
        // Nobody knows what those that were visited led to.
        state.leads_on = !marks.is_empty();
        for bytes in &marks {
            state.ids |= id_set::from_bytes(bytes)?;
        }
        state.pieces = marks.len() as i64;
        let mut after = i64::MIN;
        while !state.ids.is_empty() && !run.stops() {
            let ids = run.reader.read(|sql| queue::waiting(sql, run.job.id, after, limits::JUDGED_MAX))?;
            let Some(last) = ids.last() else { break };
            after = *last;
            let outstanding: Vec<i64> = ids.into_iter().filter(|id| state.ids.contains(*id as u64)).collect();
            for (id, name) in run.reader.read(|sql| documents::names(sql, &outstanding))? {
                state.adopted.insert(id as u64);
                state.add(run.dispatcher.first_bin_of(&name), id);
            }
        }
        state.hands_down =
            !run.reader.read(|sql| handed_down::parents(sql, run.job.id, i64::MIN, 1))?.is_empty();
        // Whether the links of what was reached and is not queued were followed, nobody knows: of what was not visited for its date, or since outputs
        // hold it as it was named, they were still to be. Once more does no harm.
        let visited = &state.ids - &state.outstanding;
        if self.walk == Walk::ByDates {
            state.rested |= &visited;
        }
        if matches!(self.walk, Walk::ByDates | Walk::Everything)
            && !failpoint(Failpoint::NamedLeadNowhereLater)
        {
            state.passing = visited.clone();
        }
        if let Some(distances) = &mut state.distances {
            distances.expanded = visited;
        }
        run.progress.seen(state.ids.len());
        self.look(&state);
        Ok(())
    }
}
