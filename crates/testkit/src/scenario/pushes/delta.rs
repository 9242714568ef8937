//! Delta runs: what their calls may be answered, and what each leaves behind (I4, I6).

use std::collections::BTreeSet;

use ingather_engine::Refusal;
use ingather_engine::inbox::Accepted;
use ingather_engine::inbox::delta_runs::{Checked, EXPIRED, FINISHED, Finished, OPEN, ROLLED_BACK, UNLOCKED};
use ingather_model::limits;
use ingather_store::documents::inbox::delta_runs::DeltaRun;

use super::model::{Delta, Lives, Source, records, taken};
use super::refusal;
use crate::together::pushing::{Answered, Ask, Called, Claimed, Is};

/// What a step is judged with.
pub(super) struct Heard<'h> {
    /// Several calls had their effect in an order that nobody knows.
    pub(super) were_among: bool,
    /// Keys of records whose last delivery had failed.
    pub(super) failed: BTreeSet<&'h str>,
}

/// Takes note of a call of a source, and of what is wrong with its answer.
pub(super) fn hear(source: &mut Source, called: &Called, heard: &Heard<'_>, found: &mut Vec<String>) {
    let refused = match &called.answer {
        Ok(_) => None,
        Err(error) => match refusal(error) {
            Some(refusal) => Some(refusal),
            None => return unheard(source, called),
        },
    };
    match &called.call.ask {
        Ask::Push(_) => match refused {
            Some(refusal) => found.push(format!("a push is refused: {refusal:?}")),
            None => stays(source, called, heard),
        },
        Ask::Open { .. } => opened(source, called, refused, found),
        Ask::Unlock => {
            let was_open = source.open().is_some();
            if called.answer.as_ref().ok() != Some(&Answered::Unlocked(was_open)) {
                found.push(format!("a run was open: {was_open}, and it is unlocked: {:?}", called.answer));
            }
            source.open().into_iter().for_each(|(_, run)| UNLOCKED.clone_into(&mut run.state));
        }
        Ask::Clear => cleared(source, (called, refused), heard, found),
        Ask::Renew => source.open().into_iter().for_each(|(_, run)| {
            run.seen = (run.seen.0.max(called.at.0), run.seen.1.max(called.at.1));
        }),
        Ask::Check(claimed, _)
        | Ask::PushWithin(claimed, _)
        | Ask::Touch(claimed, _)
        | Ask::Finish(claimed, ..)
        | Ask::DeleteObsolete(claimed, _)
        | Ask::RollBack(claimed) => {
            found.extend(claimed_otherwise(source, claimed, (called, refused)));
            let is_known = source.runs.get(&claimed.epoch).is_some_and(|run| run.token == claimed.token);
            if refused.is_none() && is_known {
                within(source, claimed, (called, heard), found);
            }
        }
    }
}

/// Nobody heard what became of it: it is so, or it is not. How a run stands is asked for afterwards.
fn unheard(source: &mut Source, called: &Called) {
    let ask = &called.call.ask;
    source.perhaps_cleared |= *ask == Ask::Clear;
    let run = match ask {
        Ask::Check(claimed, _)
        | Ask::PushWithin(claimed, _)
        | Ask::Touch(claimed, _)
        | Ask::DeleteObsolete(claimed, _)
        | Ask::Finish(claimed, ..) => source.runs.get_mut(&claimed.epoch),
        Ask::Push(_) | Ask::Renew => source.open().map(|(_, run)| run),
        Ask::Open { .. } | Ask::RollBack(_) | Ask::Unlock | Ask::Clear => None,
    };
    let Some(run) = run else { return };
    if !matches!(ask, Ask::Push(_)) {
        run.seen.1 = run.seen.1.max(called.at.1);
        run.seen.0 = run.seen.0.min(called.at.0);
    }
    let keys: Vec<String> = match ask {
        Ask::Check(_, records) => records.iter().map(|(key, _)| key.clone()).collect(),
        Ask::Touch(_, keys) => keys.clone(),
        _ => records(&called.call).iter().map(|record| record.key.clone()).collect(),
    };
    if matches!(ask, Ask::Touch(..) | Ask::PushWithin(..)) {
        run.touched.1 += keys.len() as u64;
    }
    run.perhaps.extend(keys);
}

/// What somebody pushes beside a delta run, and has no new ticket for, is there.
fn stays(source: &mut Source, called: &Called, heard: &Heard<'_>) {
    let Ok(Answered::Accepted(accepted)) = &called.answer else { return };
    let kept = taken(&called.call).zip(accepted);
    let kept = kept.filter(|(_, accepted)| !matches!(accepted, Accepted::Pending { .. }));
    let bad = records(&called.call).iter().filter(|record| record.is == Is::Bad);
    let keys: Vec<String> =
        kept.map(|(record, _)| record).chain(bad).map(|record| record.key.clone()).collect();
    if let Some((_, run)) = source.open() {
        let met = if heard.were_among { &mut run.perhaps } else { &mut run.met };
        met.extend(keys);
    }
}

fn opened(source: &mut Source, called: &Called, refused: Option<Refusal>, found: &mut Vec<String>) {
    let lives = source.open().map_or(Lives::No, |(_, run)| run.lives(called.at));
    let is_right = match refused {
        None => lives != Lives::Surely,
        Some(refusal) => refusal == Refusal::Locked && lives != Lives::No,
    };
    if !is_right {
        found.push(format!("a delta run is open: {lives:?}, and another one begins: {:?}", called.answer));
    }
    let Ok(Answered::Opened(epoch)) = &called.answer else { return };
    if source.runs.keys().next_back().is_some_and(|last| last >= epoch) {
        found.push(format!("run {epoch} comes after {:?}", source.runs.keys().next_back()));
    }
    source.open().into_iter().for_each(|(_, run)| EXPIRED.clone_into(&mut run.state));
    let watermark = source.tickets.last().copied().unwrap_or_default();
    source.runs.extend(begun(called, watermark).map(|run| (*epoch, run)));
}

fn begun(called: &Called, watermark: i64) -> Option<Delta> {
    let Ask::Open { is_additive, lease_ms, token } = &called.call.ask else { return None };
    Some(Delta {
        token: token.clone(),
        is_additive: *is_additive,
        lease_ms: *lease_ms,
        watermark,
        state: OPEN.to_owned(),
        seen: called.at,
        met: BTreeSet::new(),
        perhaps: BTreeSet::new(),
        touched: (0, 0),
        deleted: 0,
        finished: None,
    })
}

/// Whether a call is taken or refused although its delta run is not such.
fn claimed_otherwise(
    source: &Source,
    claimed: &Claimed,
    (called, refused): (&Called, Option<Refusal>),
) -> Option<String> {
    let finishes = matches!(called.call.ask, Ask::Finish(..));
    let expected: &[Option<Refusal>] = match source.runs.get(&claimed.epoch) {
        None => &[Some(Refusal::NotOpen)],
        Some(run) if run.token != claimed.token => &[Some(Refusal::WrongToken)],
        Some(run) if finishes && run.is_finished() => &[None],
        Some(run) => match run.lives(called.at) {
            Lives::Surely => &[None],
            Lives::No => &[Some(Refusal::NotOpen)],
            Lives::Perhaps => &[None, Some(Refusal::NotOpen)],
        },
    };
    let told = || {
        let run = source.runs.get(&claimed.epoch);
        let state = run.map_or("nothing", |run| run.state.as_str());
        let answer = &called.answer;
        format!("run {} is {state}, and a call of {} is answered {answer:?}", claimed.epoch, claimed.token)
    };
    (!expected.contains(&refused)).then(told)
}

/// A call that was taken.
fn within(
    source: &mut Source,
    claimed: &Claimed,
    (called, heard): (&Called, &Heard<'_>),
    found: &mut Vec<String>,
) {
    if let (Ask::Finish(_, is_complete, confirms), Ok(Answered::Finished(finished))) =
        (&called.call.ask, &called.answer)
    {
        return finish(source, claimed.epoch, (called, finished), (*is_complete, *confirms), heard, found);
    }
    if let (Ask::DeleteObsolete(_, confirms), Ok(Answered::Finished(deleted))) =
        (&called.call.ask, &called.answer)
    {
        return delete(source, claimed.epoch, (called, deleted), *confirms, heard, found);
    }
    let mut met: Vec<String> = Vec::new();
    let mut touched = 0;
    match (&called.call.ask, &called.answer) {
        (Ask::Check(_, asked), Ok(Answered::Checked(checked))) => {
            for ((key, hash), checked) in asked.iter().zip(checked) {
                let version = source.last(key).and_then(|last| last.is.as_ref());
                let is_same = version.is_some_and(|version| hash.is_some() && version.hash == *hash);
                let right = match version {
                    None => Checked::New,
                    Some(_) if is_same && !heard.failed.contains(key.as_str()) => Checked::Unchanged,
                    Some(_) => Checked::Changed,
                };
                if *checked != right && !heard.were_among {
                    found.push(format!("{key} is {right:?}, and its client is told {checked:?}"));
                }
                met.extend((*checked == Checked::Unchanged).then(|| key.clone()));
            }
        }
        (Ask::PushWithin(..), Ok(Answered::Accepted(accepted))) => {
            for (record, accepted) in taken(&called.call).zip(accepted) {
                let is_refused = matches!(accepted, Accepted::Refused(_));
                touched += u64::from(is_refused);
                met.extend((is_refused || record.is != Is::Gone).then(|| record.key.clone()));
            }
            let bad = records(&called.call).iter().filter(|record| record.is == Is::Bad);
            let bad: Vec<String> = bad.map(|record| record.key.clone()).collect();
            touched += bad.len() as u64;
            met.extend(bad);
        }
        (Ask::Touch(_, keys), _) => {
            touched = keys.len() as u64;
            met.clone_from(keys);
        }
        _ => {}
    }
    let Some(run) = source.runs.get_mut(&claimed.epoch) else { return };
    run.seen = called.at;
    run.touched = (run.touched.0 + touched, run.touched.1 + touched);
    run.met.extend(met);
    if matches!(called.call.ask, Ask::RollBack(_)) {
        ROLLED_BACK.clone_into(&mut run.state);
    }
}

/// The end of a delta run, whose deletions are in the model.
fn finish(
    source: &mut Source,
    epoch: i64,
    (called, finished): (&Called, &Finished),
    (is_complete, confirms): (bool, bool),
    heard: &Heard<'_>,
    found: &mut Vec<String>,
) {
    let Some(run) = source.runs.get(&epoch).cloned() else { return };
    if run.is_finished() {
        if run.finished.as_ref().is_some_and(|before| before != finished) {
            found.push(format!("run {epoch} ended {:?}, and now {finished:?}", run.finished));
        }
    } else {
        let (total, deleted) = (source.count(), source.deleted_by(epoch));
        let is_much =
            |n: u64| n >= limits::DELTA_TOUCHED_MIN && n * 100 > total * limits::DELTA_TOUCHED_PERCENT;
        let vetoes = |touched| !is_complete || is_much(touched);
        if finished.veto.is_some() && !vetoes(run.touched.1) {
            found.push(format!("run {epoch} deletes nothing: {:?}", finished.veto));
        }
        if finished.veto.is_none() && vetoes(run.touched.0) && !heard.were_among {
            found.push(format!("run {epoch} deletes although its client could not read everything"));
        }
        let all = total + deleted;
        let most = if run.is_additive { 0 } else { source.obsolete(&run, false).len() as u64 } + deleted;
        let least = if run.is_additive { 0 } else { source.obsolete(&run, true).len() as u64 } + deleted;
        let guards = |would: u64| {
            let is_much = would > run.deleted && would * 100 > all * limits::DELTA_GUARD_PERCENT;
            !confirms && is_much && all >= limits::DELTA_GUARD_RECORDS_MIN
        };
        let ends = finished.veto.is_none() && finished.held.is_none();
        if finished.held.is_some() && !guards(most) && !heard.were_among {
            found.push(format!("run {epoch} holds {:?}", finished.held));
        }
        if ends && guards(least) && !heard.were_among {
            found.push(format!("run {epoch} deletes {least} of {all}, and nobody has confirmed that"));
        }
        if ends && finished.deleted != deleted {
            found.push(format!(
                "run {epoch} says that it deleted {}, and it were {deleted}",
                finished.deleted
            ));
        }
        if ends && !run.is_additive {
            let left = source.obsolete(&run, true).into_iter();
            found.extend(left.map(|key| format!("run {epoch} is over, and {key} is left")));
        }
    }
    let Some(run) = source.runs.get_mut(&epoch) else { return };
    if finished.held.is_some() {
        run.seen = called.at;
    } else {
        FINISHED.clone_into(&mut run.state);
        run.finished = Some(finished.clone());
    }
}

/// What a delta run has not met until now is deleted, and the deletions are in the model.
fn delete(
    source: &mut Source,
    epoch: i64,
    (called, told): (&Called, &Finished),
    confirms: bool,
    heard: &Heard<'_>,
    found: &mut Vec<String>,
) {
    let Some(run) = source.runs.get(&epoch).cloned() else { return };
    let deleted = source.deleted_by(epoch) - run.deleted;
    if told.deleted != deleted {
        found.push(format!(
            "run {epoch} says that it has deleted {} now, and it were {deleted}",
            told.deleted
        ));
    }
    let is_nothing = told.veto.is_some() || told.held.is_some();
    if run.is_additive != told.veto.is_some() && run.touched.1 == 0 {
        found.push(format!("run {epoch} is to delete nothing: {}, and says {told:?}", run.is_additive));
    }
    if !is_nothing && !heard.were_among {
        let left = source.obsolete(&run, true).into_iter();
        found.extend(
            left.map(|key| format!("run {epoch} has deleted what it did not meet, and {key} is left")),
        );
        let all = source.count() + source.deleted_by(epoch);
        let is_much = source.deleted_by(epoch) * 100 > all * limits::DELTA_GUARD_PERCENT;
        if !confirms && is_much && all >= limits::DELTA_GUARD_RECORDS_MIN {
            found.push(format!("run {epoch} has deleted most of {all}, and nobody has confirmed that"));
        }
    }
    if let Some(run) = source.runs.get_mut(&epoch) {
        run.seen = called.at;
    }
}

/// A person makes the source forget hashes.
fn cleared(
    source: &mut Source,
    (called, refused): (&Called, Option<Refusal>),
    heard: &Heard<'_>,
    found: &mut Vec<String>,
) {
    let lives = source.open().map_or(Lives::No, |(_, run)| run.lives(called.at));
    let is_right = match refused {
        None => lives != Lives::Surely,
        Some(refusal) => refusal == Refusal::Locked && lives != Lives::No,
    };
    if !is_right {
        found.push(format!("a delta run is open: {lives:?}, and the source is cleared: {:?}", called.answer));
    }
    let Ok(Answered::Cleared(cleared)) = called.answer else { return };
    source.open().into_iter().for_each(|(_, run)| EXPIRED.clone_into(&mut run.state));
    let had = source.forget_hashes(|_| true);
    if had != cleared && !heard.were_among {
        found.push(format!("{had} records had a hash, and {cleared} are cleared"));
    }
}

/// Why the end of a delta run may not delete a record, if it may not.
pub(super) fn deletes_wrongly(
    source: &Source,
    called: &Called,
    (key, ticket): (&str, i64),
) -> Option<String> {
    let (claimed, is_complete) = match &called.call.ask {
        Ask::Finish(claimed, is_complete, _) => (claimed, *is_complete),
        Ask::DeleteObsolete(claimed, _) => (claimed, true),
        _ => return None,
    };
    let told = |why: &str| Some(format!("run {} deletes {key}, {why}", claimed.epoch));
    let Some(run) = source.runs.get(&claimed.epoch) else { return told("and was never open") };
    match source.before(key, ticket) {
        _ if run.token != claimed.token => told("and its token is another one"),
        _ if run.state != OPEN || run.lives(called.at) == Lives::No => told("and is over"),
        _ if run.is_additive => told("and is to delete nothing"),
        _ if !is_complete => told("and its client says that it is not complete"),
        None => told("which is not there"),
        Some(last) if last.ticket > run.watermark => told("which was pushed since it was opened"),
        Some(_) if run.met.contains(key) => told("which it has met"),
        Some(_) => None,
    }
}

/// Takes note of how the delta runs of a source stand, as a client could ask, where nobody heard what became of a call.
pub(super) fn stand(
    source: &mut Source,
    rows: &[DeltaRun],
    (calls, now, died): (&[&Called], i64, bool),
) -> Vec<String> {
    let mut found = Vec::new();
    let is_unheard = |called: &&&Called| called.answer.as_ref().is_err_and(|error| refusal(error).is_none());
    let unheard: Vec<&&Called> = calls.iter().filter(is_unheard).collect();
    if rows.iter().filter(|row| row.state == OPEN).count() > 1 {
        found.push("two delta runs are open".to_owned());
    }
    for row in rows {
        let Some(run) = source.runs.get_mut(&row.epoch) else {
            let is_this = |called: &&&&Called| matches!(&called.call.ask, Ask::Open { token, .. } if *token == row.token);
            match unheard.iter().find(is_this).and_then(|called| begun(called, row.watermark)) {
                Some(run) => {
                    source.open().into_iter().for_each(|(_, run)| EXPIRED.clone_into(&mut run.state));
                    source.runs.insert(row.epoch, run);
                }
                None => found.push(format!("run {} was opened by nobody", row.epoch)),
            }
            continue;
        };
        // That a service began, and that leases are counted from then on, is lost with the power: the next service says it again.
        if died {
            run.seen.0 = run.seen.0.min(row.seen_at);
        }
        run.deleted = u64::try_from(row.deleted).unwrap_or_default();
        if run.state == row.state {
            continue;
        }
        let has_expired = row.state == EXPIRED && run.lives((now, now)) != Lives::Surely;
        let ends = |called: &&Called| {
            matches!(
                called.call.ask,
                Ask::Finish(..) | Ask::RollBack(_) | Ask::Unlock | Ask::Open { .. } | Ask::Clear
            )
        };
        if run.state != OPEN || !(has_expired || unheard.iter().any(|called| ends(called))) {
            found.push(format!("run {} is {}, and on disk it is {}", row.epoch, run.state, row.state));
        }
        run.state.clone_from(&row.state);
    }
    found
}
