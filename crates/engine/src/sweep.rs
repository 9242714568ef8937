//! The sweep: what the run did not meet, judged by what its listing proved; removed, kept or held (design 4.11).

use std::collections::{BTreeMap, HashMap, HashSet};

use ingather_contract::repository::Presence;
use ingather_model::guard::Guard;
use ingather_model::ids::ContainerId;
use ingather_model::job::dates::Action;
use ingather_model::key::DocumentKey;
use ingather_model::lifecycle::outcome::{FailureCode, RunOutcome};
use ingather_model::limits;
use ingather_model::run_counts;
use ingather_model::scope::{Absence, BlindSpot};
use ingather_store::documents::{self, Stored, dates};
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::queue::LeftOut;
use ingather_store::{Durability, queue, runs};
use roaring::RoaringTreemap;

use crate::containers::openings;
use crate::error::Result;
use crate::lister::ListingResult;
use crate::remove::{Removed, Remover};
use crate::run::Run;
use crate::run::reach::Reach;
use crate::run::{guard_window, id_set};
use ingather_store::turns::lock;

/// What the sweep found, before anything is removed.
#[derive(Default)]
pub(crate) struct Judged {
    /// Looked at completely, probed singly, and not there.
    absent: RoaringTreemap,
    /// The same file was met under another name.
    moved: RoaringTreemap,
    /// There, but a rule of the job leaves it out now.
    filtered: RoaringTreemap,
    /// One of them in each place.
    filtered_in: BTreeMap<ContainerId, String>,
    /// Under a blind spot, not looked at, or there after all.
    kept: u64,
    /// All documents that the run did not meet; none when it stopped before it had asked for all.
    unmet: Option<RoaringTreemap>,
    /// What is gone or filtered and some output may hold: what the guard counts.
    to_go: RoaringTreemap,
    /// The guard holds all of that.
    held: bool,
}

impl Judged {
    /// Documents that are there, that a rule leaves out now, and whose removal is held.
    pub(crate) fn held_by_rule(&self) -> RoaringTreemap {
        if self.held { &self.filtered & &self.to_go } else { RoaringTreemap::new() }
    }

    /// The folders of what a rule leaves out, each with the name of one document in it.
    pub(crate) fn folders_of_filtered(&self) -> &BTreeMap<ContainerId, String> {
        &self.filtered_in
    }
}

/// Judges everything that the run did not meet. `known` counts the job's documents before the run.
pub(crate) fn judge(run: &Run, result: &mut ListingResult, known: u64) -> Result<Judged> {
    result.listed -= &*lock(&run.vanished);
    if failpoint(Failpoint::InterruptedListingContinued) {
        let runs = run.reader.read(|sql| runs::list(sql, run.job.id, 2))?;
        for before in runs.iter().filter(|before| before.outcome == Some(RunOutcome::Interrupted)) {
            for ids in run.reader.read(|sql| runs::listed_ids(sql, run.job.id, before.number))? {
                result.listed |= id_set::from_bytes(&ids)?;
            }
        }
    }
    let mut judged = match run.reach.as_ref().filter(|_| run.is_due_pass()) {
        Some(reach) => judge_due(run, reach)?,
        None => judge_all(run, result)?,
    };
    if failpoint(Failpoint::LinkedIslandsStay) {
        let absent: Vec<i64> = judged.absent.iter().map(|id| id as i64).collect();
        for (_, targets) in run.reader.read(|sql| documents::links::get(sql, &absent))? {
            judged.absent -= id_set::from_bytes(&targets)?;
        }
    }
    let guard = if run.guard_off { Guard::Off } else { run.definition.delete_guard };
    // What a rule leaves out now counts like what is gone: a mistyped pattern empties an output, too. What no output holds costs
    // nothing, as files that came and went while they were listed.
    judged.to_go = held_somewhere(run, &(&judged.absent | &judged.filtered))?;
    let counted = if failpoint(Failpoint::GuardCountedAfterDeletion) { 0 } else { judged.to_go.len() };
    let before = if run.is_pass { guard_window::removed_before(run)? } else { 0 };
    // The root's emptiness is news only where something was before, and a first run has nothing to lose.
    judged.held =
        known > 0 && counted > 0 && guard.holds(counted + before, known + before, result.root_empty);
    Ok(judged)
}

/// What a pass judges that has looked at what was due alone: what its source says is gone, and what the run before held and this one has not
/// reached. That nothing leads to it the pass before has proven; it would not be on record as held any more.
fn judge_due(run: &Run, reach: &Reach) -> Result<Judged> {
    let held = match &reach.held_before {
        Some(bytes) => id_set::from_bytes(bytes)?,
        None => RoaringTreemap::new(),
    };
    let absent = (held - reach.ids()) | &*lock(&run.vanished);
    Ok(Judged { absent, ..Judged::default() })
}

fn judge_all(run: &Run, result: &ListingResult) -> Result<Judged> {
    let mut judged = Judged::default();
    let mut unmet = RoaringTreemap::new();
    let mut after = DocumentKey { parent_hash: i64::MIN, key_hash: i64::MIN };
    let mut missing: Vec<i64> = Vec::new();
    loop {
        let rows = run.reader.read(|sql| documents::walk(sql, run.job.id, after, limits::SWEEP_ROWS))?;
        let Some((last, _)) = rows.last() else { break };
        after = *last;
        for (key, id) in rows.iter().filter(|(_, id)| !result.listed.contains(*id as u64)) {
            unmet.insert(*id as u64);
            // What is erased goes by itself: no listing takes it in, and neither the guard nor a fault of an output keeps it.
            if !run.erased.contains(&key.key_hash) || failpoint(Failpoint::ErasedIsJudged) {
                missing.push(*id);
            }
        }
        for ids in missing.chunks(limits::JUDGED_MAX) {
            let stored = run.reader.read(|sql| documents::get(sql, ids))?;
            // Whose name the store has lost cannot be looked for.
            judged.kept += (ids.len() - stored.len()) as u64;
            for stored in stored {
                judge_one(run, result, &stored, &mut judged);
            }
            if run.stops() {
                return Ok(judged);
            }
        }
        missing.clear();
    }
    judged.unmet = Some(unmet);
    Ok(judged)
}

fn judge_one(run: &Run, result: &ListingResult, stored: &Stored, judged: &mut Judged) {
    let id = stored.known.id.0 as u64;
    let keep = |judged: &mut Judged| judged.kept += u64::from(!run.was_refilled(stored.known.id.0));
    if run.reach.is_some() {
        // Nothing leads to it: no look at it is needed for that. Where not all seeds were named, nobody knows.
        let proves = result.complete || failpoint(Failpoint::UnnamedSeedsRemove);
        if result.too_far.contains(id) && failpoint(Failpoint::TooFarStays) {
            keep(judged);
        } else if result.too_far.contains(id) {
            // Something leads to it, and a rule of the job leaves it out.
            judged.filtered.insert(id);
        } else if proves || lock(&run.vanished).contains(id) {
            judged.absent.insert(id);
        } else {
            keep(judged);
        }
        return;
    }
    if result.coverage.judge(&stored.name) != Absence::Proven && !failpoint(Failpoint::BlindSpotIgnored) {
        return keep(judged);
    }
    let presence = match failpoint(Failpoint::SingleProbeLeftOut) {
        true => Presence::Absent,
        false => run.author.repository.probe(&run.call, &stored.name),
    };
    match presence {
        Presence::Present | Presence::Unknown => keep(judged),
        Presence::Excluded => {
            judged.filtered.insert(id);
            let container =
                stored.known.container.filter(|_| judged.filtered_in.len() < limits::FOLDERS_WAITING_MAX);
            if let Some(container) = container {
                judged.filtered_in.entry(container).or_insert_with(|| stored.name.clone());
            }
        }
        Presence::Absent => {
            let moved = result
                .new_identities
                .as_ref()
                .is_some_and(|new_identities| new_identities.contains(&stored.identity));
            if moved && stored.identity != 0 {
                judged.moved.insert(id);
            } else {
                judged.absent.insert(id);
            }
        }
    }
}

/// Removes what is proven to be gone, unless the guard holds it. Containers that do not open because they never stood still.
pub(crate) fn sweep(
    run: &Run,
    result: &ListingResult,
    judged: Judged,
    remover: Option<&mut Remover>,
) -> Result<Vec<BlindSpot>> {
    let Judged { absent, moved, filtered, kept, to_go, held, unmet, .. } = judged;
    let never_held = (&absent | &filtered) - &to_go;
    let mut kept = kept;
    let unsettled = if run.unsettled() && !failpoint(Failpoint::MovedBeforeItsNewName) {
        moved_to_unsettled(run, &moved)?
    } else {
        RoaringTreemap::new()
    };
    kept += unsettled.len();
    let mut leaving: Vec<i64> = ((&moved - &unsettled) | never_held).iter().map(|id| id as i64).collect();
    if held {
        run.count(|counts| counts.held = to_go.len());
    } else {
        leaving.extend(to_go.iter().map(|id| id as i64));
    }
    run.count(|counts| counts.kept = kept);
    let (Some(store), Some(remover)) = (&run.store, remover) else {
        let leaving: RoaringTreemap = leaving.iter().map(|id| *id as u64).collect();
        let deleted = held_somewhere(run, &leaving)?.len();
        run.count(|counts| counts.deleted = deleted);
        return Ok(Vec::new());
    };
    if held {
        let bytes = id_set::to_bytes(&to_go);
        store.write(Durability::Synced, |sql| {
            run.fence(sql)?;
            runs::hold(sql, run.job.id, run.number, &bytes)
        })?;
    }
    // Before they go: after a crash they are counted twice rather than not at all.
    guard_window::note(run, store, if held { None } else { Some(to_go.len()) })?;
    let dead = dead_links(run);
    let (dead, leaving): (Vec<i64>, Vec<i64>) = leaving.into_iter().partition(|id| dead.contains(*id as u64));
    let (too_far, leaving): (Vec<i64>, Vec<i64>) =
        leaving.into_iter().partition(|id| result.too_far.contains(*id as u64));
    let mut left_out = run.reach.as_ref().map(|reach| reach.leaving(&dead)).unwrap_or_default();
    left_out.extend(unnoted(run, too_far)?.into_iter().map(|id| (id, LeftOut::TooFar.reason())));
    let mut removed = remover.remove(&leaving)?;
    removed.add(remover.set_aside(left_out)?);
    run.count(|counts| counts.skipped += result.too_far.len());
    let Removed { deleted, kept: not_confirmed, .. } = removed;
    run.count(|counts| {
        counts.deleted = deleted;
        counts.kept += not_confirmed;
    });
    if not_confirmed > 0 {
        run.complain(&format!(
            "an output did not confirm {}; the next run tries again",
            run_counts::counted(not_confirmed, "removal")
        ));
    }
    match unmet {
        Some(mut unmet) if result.complete && !run.sweep_stops() => {
            // What was reached and not looked at opens nothing.
            unmet |= run.reach.as_ref().map(Reach::rested).unwrap_or_default();
            openings::open(run, store, result, &unmet)
        }
        _ => Ok(Vec::new()),
    }
}

/// What is gone and is led to stays known as a dead link. Nothing leads to what is pushed.
fn dead_links(run: &Run) -> RoaringTreemap {
    match &run.reach {
        Some(reach) if !run.author.is_pushed && !failpoint(Failpoint::DeadLinkForgotten) => {
            reach.ids() & &*lock(&run.vanished)
        }
        _ => RoaringTreemap::new(),
    }
}

/// Those of the documents that are too far which nobody knows as such yet, or which an output may hold.
fn unnoted(run: &Run, too_far: Vec<i64>) -> Result<Vec<i64>> {
    let mut unnoted = Vec::new();
    for ids in too_far.chunks(limits::JUDGED_MAX) {
        let held = held_somewhere(run, &ids.iter().map(|id| *id as u64).collect())?;
        let (noted, waits) =
            run.reader.read(|sql| Ok((queue::failures(sql, ids)?, queue::request_counts(sql, ids)?)))?;
        let waits: HashSet<i64> = waits.into_iter().map(|(id, ..)| id).collect();
        let is_noted = |id: &i64| {
            noted.get(id).is_some_and(|noted| noted.code == Some(FailureCode::TooFar)) && !waits.contains(id)
        };
        unnoted.extend(ids.iter().filter(|id| held.contains(**id as u64) || !is_noted(id)));
    }
    Ok(unnoted)
}

/// Takes out of outputs what has expired. Its document stays known: its source has it still, and what it leads to is known by it. What an output
/// does not let go of now keeps its date, and is tried again by the next pass.
pub(crate) fn expire(run: &Run, remover: &mut Remover) -> Result<()> {
    let now = run.call.now();
    let (mut deleted, mut kept) = (0, 0);
    let mut after = (i64::MIN, i64::MIN);
    while !run.sweep_stops() {
        let due = run.reader.read(|sql| dates::due(sql, run.job.id, (after, now), limits::JUDGED_MAX))?;
        let Some((at, last, _)) = due.last() else { break };
        after = (*at, *last);
        let ids: Vec<i64> =
            due.iter().filter(|(.., action)| *action == Action::Expire).map(|(_, id, _)| *id).collect();
        let whys = ids.into_iter().map(|id| (id, LeftOut::Expired.reason())).collect();
        let removed = remover.set_aside(whys)?;
        deleted += removed.deleted;
        kept += removed.kept;
    }
    run.count(|counts| {
        counts.deleted += deleted;
        counts.kept += kept;
    });
    if kept > 0 {
        run.complain(&format!(
            "an output did not confirm that {} left it; the next pass tries again",
            run_counts::counted(kept, "expired document")
        ));
    }
    Ok(())
}

/// Those documents that some output may hold: the others are forgotten without a word.
fn held_somewhere(run: &Run, documents: &RoaringTreemap) -> Result<RoaringTreemap> {
    let mut held = RoaringTreemap::new();
    let ids: Vec<i64> = documents.iter().map(|id| id as i64).collect();
    for ids in ids.chunks(limits::JUDGED_MAX) {
        let deliveries = run.reader.read(|sql| ingather_store::deliveries::states(sql, ids))?;
        held.extend(deliveries.iter().map(|delivery| delivery.document as u64));
    }
    Ok(held)
}

/// Moved documents whose new name is not confirmed yet: they stay until it is (design 4.11).
fn moved_to_unsettled(run: &Run, moved: &RoaringTreemap) -> Result<RoaringTreemap> {
    let mut identities: HashSet<i64> = HashSet::new();
    let mut after = i64::MIN;
    loop {
        let ids = run.reader.read(|sql| queue::waiting(sql, run.job.id, after, limits::JUDGED_MAX))?;
        let Some(last) = ids.last() else { break };
        after = *last;
        identities
            .extend(run.reader.read(|sql| documents::identities(sql, &ids))?.into_iter().map(|(_, i)| i));
    }
    let failed: Vec<i64> = run.failed_now();
    for ids in failed.chunks(limits::JUDGED_MAX) {
        identities
            .extend(run.reader.read(|sql| documents::identities(sql, ids))?.into_iter().map(|(_, i)| i));
    }
    let mut staying = RoaringTreemap::new();
    let ids: Vec<i64> = moved.iter().map(|id| id as i64).collect();
    for ids in ids.chunks(limits::JUDGED_MAX) {
        let known: HashMap<i64, i64> =
            run.reader.read(|sql| documents::identities(sql, ids))?.into_iter().collect();
        staying.extend(
            ids.iter()
                .filter(|id| known.get(id).is_some_and(|i| identities.contains(i)))
                .map(|id| *id as u64),
        );
    }
    Ok(staying)
}
