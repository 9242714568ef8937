//! What is learned of each step: which calls were accepted, and whether they were answered, kept and reported as they have to be (I1, I3, I6).

use std::collections::{BTreeMap, BTreeSet};

use ingather_contract::call::Clock as _;
use ingather_engine::inbox::Accepted;
use ingather_model::key::DocumentKey;
use ingather_store::documents::inbox::tickets::{self, OpenTicket, Ticket};
use ingather_store::documents::inbox::{self, delta_runs};
use ingather_store::documents::{self};
use ingather_store::jobs::Job;

use super::delta::{self, Heard};
use super::model::{Known, Source, op, taken};
use super::outputs::Looks;
use super::{Play, Pushes, READ_MAX, refusal};
use crate::together::pushing::{Answered, Ask, Called, Is, Pushed, is_pushed};

impl Play {
    /// Hears what clients were answered in the last step, asks for what they did not hear, and judges it. `was_sound`: no output refused anything before it.
    pub(in crate::scenario) fn learn_pushes(&mut self, was_sound: bool) {
        let jobs: Vec<Job> = self.live_jobs().into_iter().filter(is_pushed).collect();
        if jobs.is_empty() && self.pushes.sources.is_empty() {
            return;
        }
        let mut pushes = std::mem::take(&mut self.pushes);
        let called = std::mem::take(&mut pushes.called);
        let mut found = Vec::new();
        let is_live = |name: &String, source: &mut Source| {
            jobs.iter().any(|job| job.name == *name && job.id.0 == source.job)
        };
        pushes.sources.retain(is_live);
        self.look_at_outputs(&mut pushes.outputs);
        let looks = Looks::new(self);
        for job in &jobs {
            let mut source = pushes.sources.remove(&job.name).unwrap_or_default();
            source.job = job.id.0;
            self.note_default(job, &mut source);
            self.learn(job, &mut source, (&pushes, &called), &mut found);
            self.note_versions(job, &mut source, &mut pushes.outputs);
            self.told_truly(job, &mut source, (&mut pushes.outputs, &looks, was_sound), &mut found);
            self.never_back(job, &source, (&mut pushes.outputs, &looks), &mut found);
            pushes.sources.insert(job.name.clone(), source);
        }
        self.accepted_alone(&pushes.outputs, &looks, &mut found);
        pushes.outputs.end_of_step();
        self.pushes = pushes;
        self.found.extend(found);
    }

    fn learn(
        &mut self,
        job: &Job,
        source: &mut Source,
        (pushes, called): (&Pushes, &[Called]),
        found: &mut Vec<String>,
    ) {
        let is_its =
            |called: &&Called| called.call.source == job.name || matches!(called.call.ask, Ask::Renew);
        let calls: Vec<&Called> = called.iter().filter(is_its).collect();
        let failed = pushes.failed.iter().filter(|(name, _)| *name == job.name);
        let heard =
            Heard { were_among: pushes.were_among, failed: failed.map(|(_, key)| key.as_str()).collect() };
        let all = self.stored_tickets(job);
        let lost: Vec<i64> =
            source.tickets.iter().filter(|ticket| !all.contains_key(ticket)).copied().collect();
        for ticket in lost {
            found.push(format!("ticket {ticket} of {} was accepted, and is lost", job.name));
            source.tickets.remove(&ticket);
        }
        explain(source, (&calls, &all), found);
        calls.iter().for_each(|called| delta::hear(source, called, &heard, found));
        for called in &calls {
            self.answered(job, source, (called, &heard), found);
        }
        // From here on: what was accepted before is gone with the demand for it.
        for (key, known) in &source.records {
            let name = format!("{}{key}", super::super::oracle::root(job));
            if let Some(last) = known.last().filter(|_| self.erased.is_erased(&job.name, &name)) {
                source.erased.insert(key.clone(), last.ticket);
            }
        }
        let now = self.world.clock.now();
        let runs = self.stored_runs(job);
        found.extend(delta::stand(source, &runs, (&calls, now, pushes.outputs.died)));
        drained(&runs, &all, found);
        self.kept(job, source, found);
        source.perhaps_cleared = false;
        superseded(source, &all, found);
    }

    /// Whether records were answered as they are.
    fn answered(
        &self,
        job: &Job,
        source: &Source,
        (called, heard): (&Called, &Heard<'_>),
        found: &mut Vec<String>,
    ) {
        let Ok(Answered::Accepted(answered)) = &called.answer else { return };
        for (at, (record, accepted)) in taken(&called.call).zip(answered).enumerate() {
            // What the same call asks behind it does not count.
            let later = accepted_later(&answered[at + 1..]);
            let name = format!("{}{}", super::super::oracle::root(job), record.key);
            let is_erased = self.erased.is_erased(&job.name, &name);
            match accepted {
                Accepted::Pending { ticket, was_there } => {
                    if *was_there != source.before(&record.key, *ticket).is_some() {
                        found.push(format!("{name} was there: {was_there}, as ticket {ticket} is told"));
                    }
                }
                Accepted::Refused(reason) if is_erased && reason.code == "erased" => continue,
                Accepted::Refused(reason) => found.push(format!("{name} is refused: {}", reason.code)),
                Accepted::Unchanged => {
                    let is_so = is_as_before(source, (record, later), heard.were_among);
                    // What the same call has asked before it takes the place of what failed.
                    let is_first = taken(&called.call).take(at).all(|other| other.key != record.key);
                    let has_failed = heard.failed.contains(record.key.as_str()) && is_first;
                    let has_failed = has_failed && !heard.were_among;
                    if !is_so || has_failed {
                        found.push(format!("{name} is said to be there so: {is_so}, failed: {has_failed}"));
                    }
                }
            }
            if is_erased {
                found.push(format!("{name} is erased, and taken"));
            }
        }
    }

    /// What is kept is what was accepted last.
    fn kept(&self, job: &Job, source: &mut Source, found: &mut Vec<String>) {
        let read = self.world.engine().reader.read(|sql| {
            let documents = documents::list(sql, job.id, DocumentKey::BEFORE_ALL, READ_MAX)?;
            let names: BTreeMap<i64, String> =
                documents.into_iter().map(|document| (document.id.0, document.name)).collect();
            let ids: Vec<i64> = names.keys().copied().collect();
            let mut rows = BTreeMap::new();
            for record in inbox::get(sql, &ids)?.into_iter().filter(|record| record.present) {
                let read = inbox::read(sql, record.document)?;
                rows.insert(names[&record.document].clone(), (record, read));
            }
            Ok::<_, ingather_store::StoreError>(rows)
        });
        let rows = read.expect("the store answers");
        if source.perhaps_cleared {
            let is_cleared = |key: &str| rows.get(key).is_some_and(|(record, _)| record.hash.is_none());
            source.forget_hashes(is_cleared);
        }
        let keys: BTreeSet<&String> = rows.keys().chain(source.records.keys()).collect();
        for key in keys {
            let (row, last) = (rows.get(key), source.last(key));
            let is = last.and_then(|last| Some((last.ticket, last.is.as_ref()?)));
            let is_kept = match (row, is) {
                (None, None) => true,
                (Some((record, Some(read))), Some((ticket, version))) => {
                    let acl = version.acl.as_ref().map(serde_json::to_value);
                    let kept = record.acl.as_ref().map(|acl| serde_json::from_str(acl));
                    record.ticket == ticket
                        && record.hash == version.hash
                        && read.content == version.text.as_bytes()
                        && acl.and_then(Result::ok) == kept.and_then(Result::ok)
                }
                _ => false,
            };
            if !is_kept {
                let row = row.map(|(record, _)| record);
                found.push(format!("{key} of {} is {last:?}, and kept is {row:?}", job.name));
            }
        }
    }

    /// All tickets of a source, as a client can ask for them.
    pub(super) fn stored_tickets(&self, job: &Job) -> BTreeMap<i64, Ticket> {
        let read = self.world.engine().reader.read(|sql| {
            let mut all = tickets::reports(sql, job.id, 0, READ_MAX)?;
            let documents = documents::list(sql, job.id, DocumentKey::BEFORE_ALL, READ_MAX)?;
            let ids: Vec<i64> = documents.iter().map(|document| document.id.0).collect();
            for OpenTicket { number, .. } in tickets::open(sql, &ids)? {
                all.extend(tickets::get(sql, number)?);
            }
            Ok::<_, ingather_store::StoreError>(all)
        });
        let all = read.expect("the store answers").into_iter();
        all.map(|ticket| (ticket.number, ticket)).collect()
    }

    pub(super) fn stored_runs(&self, job: &Job) -> Vec<delta_runs::DeltaRun> {
        let read = self.world.engine().reader.read(|sql| {
            let last = delta_runs::last(sql, job.id)?.map_or(0, |last| last.epoch);
            let mut rows = Vec::new();
            for epoch in 1..=last {
                rows.extend(delta_runs::get(sql, job.id, epoch)?);
            }
            Ok::<_, ingather_store::StoreError>(rows)
        });
        read.expect("the store answers")
    }
}

/// Takes in the tickets that are new: those that were promised, those of calls that nobody heard of, and those of ends of delta runs. Nobody else brings any.
fn explain(source: &mut Source, (calls, all): (&[&Called], &BTreeMap<i64, Ticket>), found: &mut Vec<String>) {
    let is_new = |(number, _): &(&i64, &Ticket)| !source.tickets.contains(number);
    let mut new: BTreeMap<i64, &Ticket> =
        all.iter().filter(is_new).map(|(number, ticket)| (*number, ticket)).collect();
    let is_of = |ticket: &Ticket, record: &Pushed| ticket.key == record.key && ticket.op == op(record);
    let mut known: Vec<(String, Known)> = Vec::new();
    for called in calls {
        let Ok(Answered::Accepted(accepted)) = &called.answer else { continue };
        for (record, accepted) in taken(&called.call).zip(accepted) {
            let Accepted::Pending { ticket, .. } = accepted else { continue };
            match new.remove(ticket).filter(|stored| is_of(stored, record)) {
                Some(_) => known.push((record.key.clone(), Known::of(record, *ticket))),
                None => {
                    found.push(format!("{} was promised ticket {ticket}, which is not there", record.key))
                }
            }
        }
    }
    for called in calls.iter().filter(|called| called.answer.is_err()) {
        if called.answer.as_ref().is_err_and(|error| refusal(error).is_some()) {
            continue;
        }
        // Its tickets from the last one on, each of the last record that it may be of: of a key that a call has twice, the first may have been there so, or
        // the last one may be as the first one made it, and have no ticket.
        let mut records: Vec<&Pushed> = taken(&called.call).collect();
        for (number, ticket) in new.clone().into_iter().rev() {
            let Some(at) = records.iter().rposition(|record| is_of(ticket, record)) else { continue };
            new.remove(&number);
            known.push((records[at].key.clone(), Known::of(records[at], number)));
            records.truncate(at);
        }
    }
    known.sort_by_key(|(_, known)| known.ticket);
    for (key, known) in known {
        let is_stale = source.newest(&key).zip(known.version).is_some_and(|(newest, is)| is < newest);
        let outcome =
            all.get(&known.ticket).and_then(|ticket| ticket.report.as_ref()).map(|report| &*report.outcome);
        if is_stale != (outcome == Some("stale")) {
            found.push(format!(
                "ticket {} of {key} is stale: {is_stale}, and is told as {outcome:?}",
                known.ticket
            ));
        }
        match is_stale {
            // It changes nothing.
            true => source.tickets.insert(known.ticket),
            false => source.add(&key, known),
        };
    }
    let deletes =
        calls.iter().find(|called| matches!(called.call.ask, Ask::Finish(..) | Ask::DeleteObsolete(..)));
    for (number, ticket) in new {
        let Some(called) = deletes.filter(|_| ticket.op == "delete") else {
            found.push(format!("ticket {number} of {} was asked for by nobody", ticket.key));
            source.tickets.insert(number);
            continue;
        };
        found.extend(delta::deletes_wrongly(source, called, (&ticket.key, number)));
        let (Ask::Finish(claimed, ..) | Ask::DeleteObsolete(claimed, _)) = &called.call.ask else { continue };
        let by = Some(claimed.epoch);
        source.add(&ticket.key, Known { ticket: number, is: None, version: None, by, report: None });
    }
}

/// The first ticket of these answers.
fn accepted_later(answers: &[Accepted]) -> i64 {
    let tickets = answers.iter().filter_map(|accepted| match accepted {
        Accepted::Pending { ticket, .. } => Some(*ticket),
        _ => None,
    });
    tickets.min().unwrap_or(i64::MAX)
}

/// Whether a record is just as a client says; where others push meanwhile, whether it was.
fn is_as_before(source: &Source, (record, before): (&Pushed, i64), were_among: bool) -> bool {
    let Is::There(version) = &record.is else { return false };
    let all = source.records.get(&record.key).into_iter().flatten();
    let is_so = |known: &Known| {
        known.is.as_ref().is_some_and(|known| known.hash == version.hash && known.acl == version.acl)
    };
    if were_among {
        all.into_iter().any(is_so)
    } else {
        source.before(&record.key, before).is_some_and(is_so)
    }
}

/// Of a delta run that is drained nothing is open (I7).
fn drained(runs: &[delta_runs::DeltaRun], all: &BTreeMap<i64, Ticket>, found: &mut Vec<String>) {
    for run in runs.iter().filter(|run| run.drained_at.is_some()) {
        let last = run.last_ticket.unwrap_or(i64::MAX);
        let open = all.range(..=last).filter(|(_, ticket)| ticket.report.is_none());
        found.extend(open.map(|(number, _)| {
            format!("delta run {} is said to be drained, and ticket {number} is open", run.epoch)
        }));
    }
}

/// Of several tickets of a record only the last one is open.
fn superseded(source: &Source, all: &BTreeMap<i64, Ticket>, found: &mut Vec<String>) {
    for (key, known) in &source.records {
        let report = |known: &Known| all.get(&known.ticket).and_then(|ticket| ticket.report.as_ref());
        // A removal that is under way goes on where there is nothing else to delete.
        let is_noop = |known: &&Known| report(known).is_some_and(|report| report.outcome == "noop");
        let known: Vec<&Known> = known.iter().filter(|known| !is_noop(known)).collect();
        let is_open = |known: &&&Known| report(known).is_none();
        let before = known.len().saturating_sub(1);
        let open = known[..before].iter().filter(is_open);
        found.extend(
            open.map(|known| {
                format!("ticket {} of {key} is open, and another one came after it", known.ticket)
            }),
        );
    }
}
