//! Acceptance: records, tickets and requests for visits of one call, in its transaction.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ingather_model::fault::Reason;
use ingather_model::ids::{ContainerId, Digest, DocumentId};
use ingather_model::key::{DocumentKey, parent_bytes};
use ingather_model::lifecycle::outcome::FailureKind;
use ingather_model::limits;
use ingather_store::documents::inbox::tickets::{Completed, NewTicket, Outcome};
use ingather_store::documents::inbox::{self as records, NewRecord, Record, channels};
use ingather_store::documents::{self, NewDocument};
use ingather_store::erased;
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::jobs::Job;
use ingather_store::queue::{self, VisitReason, VisitRequest};
use ingather_store::{Sql, StoreError, states};
use roaring::RoaringTreemap;

use super::buffering::Buffer;
use super::compounds::{self, Failing};
use super::{Accepted, Ask, InboxOf, Push, Put, Via, as_json, documents_of};
use crate::engine::Engine;

/// Outcome of a push of what is there so already.
const UNCHANGED: &str = "unchanged";
/// Outcome of a deletion of what is not there.
const NOOP: &str = "noop";

/// The pushes of one call, and what is known of their records as they are accepted one after the other.
struct Acceptance<'a> {
    job: &'a Job,
    container: Option<ContainerId>,
    now: i64,
    by: &'a str,
    /// By what way they come.
    via: Via,
    /// The compounds that each of the pushes says that its record is in.
    parents: Vec<Vec<DocumentKey>>,
    /// Compounds in which something failed; only asked where one of them may be unchanged.
    failing: Failing,
    keys: Vec<DocumentKey>,
    ids: HashMap<DocumentKey, i64>,
    records: HashMap<i64, Record>,
    failed: BTreeSet<i64>,
    /// Those of which something is open; only asked through a channel.
    open: BTreeSet<i64>,
    erased: BTreeSet<i64>,
    buffer: Buffer,
    /// How many new records there may be, where there is a quota.
    room: Option<u64>,
    /// The next of the numbers of new documents.
    fresh: i64,
    ticket: i64,
}

/// What follows of one call for documents: tickets that are open, in the order of their pushes.
#[derive(Default)]
struct Asked<'p> {
    fresh: Vec<NewDocument>,
    /// Records that change, by document, as they are after all pushes of the call.
    records: BTreeMap<i64, NewRecord<'p>>,
    /// Until when what changed is buffered, by document; the rest is due now.
    buffered: BTreeMap<i64, i64>,
    /// What is due now, whatever else is pushed of it.
    prompt: BTreeSet<i64>,
    tickets: Vec<(NewTicket<'p>, Ends)>,
    /// The compounds that records are in.
    parents: BTreeMap<i64, Vec<DocumentKey>>,
    /// Records that are in no other ones than these say.
    apart: BTreeSet<i64>,
}

/// What became of one push, and of its record.
pub(super) struct Taken {
    pub(super) accepted: Accepted,
    /// The document of its record, where there is one.
    pub(super) document: Option<i64>,
    /// The record is as it was.
    pub(super) stays: bool,
    /// It stays so because what was pushed cannot be taken.
    pub(super) is_refused: bool,
    /// It is, or was, a compound.
    pub(super) is_compound: bool,
    /// Its key.
    pub(super) key: DocumentKey,
}

/// What becomes of a ticket in the call that takes it.
enum Ends {
    /// It is open.
    Open,
    /// There is nothing to do.
    At(&'static str),
    /// It cannot be done.
    Failed(Reason),
}

impl Engine {
    /// Writes pushes; what became of each.
    pub(super) fn accept_in(
        &self,
        sql: &mut Sql<'_>,
        (inbox, via, now): (&InboxOf<'_>, Via, i64),
        pushes: &[&Push],
    ) -> std::result::Result<Vec<Taken>, StoreError> {
        let hasher = self.reader.hasher();
        let key = |key: &String| hasher.key(key, parent_bytes(key));
        let keys = pushes.iter().map(|push| key(&push.key)).collect();
        let by = self.asked_by.as_str();
        let mut acceptance = Acceptance::read(sql, (inbox, via, now, by), keys)?;
        let kept_out = self.kept_out(sql, inbox.job, inbox.repository.as_ref())?;
        acceptance.erased.extend(kept_out.into_keys().map(|key| key.key_hash));
        acceptance.room = self.process.usages.room(sql, (inbox.job.id, inbox.quotas, now), pushes.len())?;
        let puts = || pushes.iter().map(|push| push.ask.put());
        acceptance.parents =
            puts().map(|put| put.map_or(Vec::new(), |put| put.parents.iter().map(key).collect())).collect();
        if puts().flatten().any(|put| put.is_compound && put.if_changed) {
            acceptance.failing = compounds::failing(sql, inbox.job.id)?;
        }
        let mut asked = Asked::default();
        let mut taken = Vec::with_capacity(pushes.len());
        for (at, push) in pushes.iter().enumerate() {
            taken.push(acceptance.take(sql, (at, push), &mut asked)?);
        }
        acceptance.write(sql, asked)?;
        Ok(taken)
    }
}

impl<'a> Acceptance<'a> {
    fn read(
        sql: &mut Sql<'_>,
        (inbox, via, now, by): (&InboxOf<'a>, Via, i64, &'a str),
        keys: Vec<DocumentKey>,
    ) -> std::result::Result<Acceptance<'a>, StoreError> {
        let (job, container) = (inbox.job, inbox.container);
        let mut ids = documents_of(sql, job.id, &keys)?;
        let known: Vec<i64> = ids.values().copied().collect();
        // On PostgreSQL one of them may be forgotten meanwhile: it is a new one then.
        let known = states::hold(sql, &known)?;
        let there: BTreeSet<i64> = known.iter().copied().collect();
        ids.retain(|_, id| there.contains(id));
        let records =
            records::get(sql, &known)?.into_iter().map(|record| (record.document, record)).collect();
        let failed = queue::failures(sql, &known)?.into_iter();
        let failed = failed.filter(|(_, failure)| failure.kind == FailureKind::Failed);
        let failed = failed.map(|(id, _)| id).collect();
        let erased = erased::keys(sql, job.id)?.into_iter().map(|key| key.key_hash).collect();
        records::leave_before(sql, &known, via.channel)?;
        let open = match via.channel {
            Some(_) => records::tickets::open(sql, &known)?.iter().map(|ticket| ticket.document).collect(),
            None => BTreeSet::new(),
        };
        let buffer = Buffer::read(sql, (inbox.buffering, now), &known)?;
        let fresh = documents::take_ids(sql, "document", keys.len().max(1))?;
        let ticket = match via.told {
            Some(first) => first,
            None => records::tickets::take(sql, keys.len().max(1))?,
        };
        Ok(Acceptance {
            job,
            container,
            now,
            by,
            via,
            parents: Vec::new(),
            failing: Failing::Are(RoaringTreemap::new()),
            keys,
            ids,
            records,
            failed,
            open,
            erased,
            buffer,
            room: None,
            fresh,
            ticket,
        })
    }

    /// Accepts one push. What was pushed of its record before is superseded.
    fn take<'p>(
        &mut self,
        sql: &mut Sql<'_>,
        (at, push): (usize, &'p Push),
        asked: &mut Asked<'p>,
    ) -> std::result::Result<Taken, StoreError> {
        let key = self.keys[at];
        let known = self.ids.get(&key).copied();
        let before = known.and_then(|id| self.records.get(&id).cloned());
        let was_there = before.as_ref().is_some_and(|record| record.present);
        let was_compound = before.as_ref().is_some_and(|record| record.is_compound);
        let new = NewTicket {
            number: 0,
            document: None,
            key: as_told(&push.key),
            op: push.op(),
            requests: 0,
            user_ref: push.user_ref.as_deref(),
        };
        if let Some(ends) = self.ends_at_once((push, key), before.as_ref()) {
            if let (Ends::At(UNCHANGED), Some(id), Some(_)) = (&ends, known, self.via.epoch) {
                asked.parents.entry(id).or_default().extend(&self.parents[at]);
            }
            let taken = self.answer_at_once((new, ends), (known, was_there), asked);
            return Ok(Taken { is_compound: was_compound, key, ..taken });
        }
        let is_put = matches!(push.ask, Ask::Put(_));
        self.use_room(is_put, was_there);
        let id = known.unwrap_or_else(|| self.bring(&push.key, key, asked));
        if let Some(channel) = self.via.channel
            && self.open.insert(id)
        {
            // Where something of it is not delivered already, there is what was kept before that, or nothing that could be brought back.
            records::keep_before(sql, id, channel, was_there)?;
        }
        let accepted = self.ticket(asked, (NewTicket { document: Some(id), ..new }, Ends::Open), was_there);
        self.keep((id, push), before, asked);
        self.place((id, at), push, known.is_none(), asked);
        let is_compound = was_compound || push.ask.put().is_some_and(|put| put.is_compound);
        Ok(Taken { accepted, document: Some(id), stays: false, is_refused: false, is_compound, key })
    }

    /// How a push ends at once, after which the record is as it was. None for all others.
    fn ends_at_once(&self, (push, key): (&Push, DocumentKey), before: Option<&Record>) -> Option<Ends> {
        let was_there = before.is_some_and(|record| record.present);
        if let Err(reason) = self.check(push, key, was_there) {
            return Some(Ends::Failed(reason));
        }
        if let (Ask::Put(put), Some(before)) = (&push.ask, before)
            && put.if_changed
            && self.is_as_before(before, put)
        {
            return Some(Ends::At(UNCHANGED));
        }
        if is_stale(push, before) {
            return Some(Ends::At("stale"));
        }
        // A removal that is under way goes on, and has a ticket of its own.
        let is_put = matches!(push.ask, Ask::Put(_));
        (!is_put && !was_there && !failpoint(Failpoint::NoopIsDeleted)).then_some(Ends::At(NOOP))
    }

    /// The answer to a push that ends at once. A channel takes everything, and says in its report what is wrong with it (coverage S2.26).
    fn answer_at_once<'p>(
        &mut self,
        (new, ends): (NewTicket<'p>, Ends),
        (known, was_there): (Option<i64>, bool),
        asked: &mut Asked<'p>,
    ) -> Taken {
        let (stays, is_refused) = (!matches!(ends, Ends::At(NOOP)), matches!(ends, Ends::Failed(_)));
        let accepted = match (ends, self.via.channel) {
            (Ends::Failed(reason), None) => Accepted::Refused(reason),
            (Ends::At(UNCHANGED), None) => Accepted::Unchanged,
            (ends, _) => self.ticket(asked, (new, ends), was_there),
        };
        let key = DocumentKey { parent_hash: 0, key_hash: 0 };
        Taken { accepted, document: known, stays, is_refused, is_compound: false, key }
    }

    /// A record is this from now on; and when it is to be delivered.
    fn keep<'p>(&mut self, (id, push): (i64, &'p Push), before: Option<Record>, asked: &mut Asked<'p>) {
        let put = push.ask.put();
        let mut acl = put.and_then(|put| put.acl.as_ref()).map(as_json);
        if failpoint(Failpoint::PushedAccessStays) {
            acl = before.as_ref().map_or(acl, |before| before.acl.clone());
        }
        // Whom a record is closed to finds it no longer than it takes.
        if put.is_some() && before.as_ref().is_some_and(|is| is.present && is.acl != acl) {
            asked.prompt.insert(id);
        }
        let buffered_since = self.buffer.since(before.as_ref(), id);
        asked.buffered.extend(self.buffer.until(buffered_since).map(|until| (id, until)));
        let is_compound = put.is_some_and(|put| put.is_compound);
        let (mut hash, mut pending_hash) = (put.and_then(|put| put.hash.clone()), None);
        if is_compound && self.via.epoch.is_some() && !failpoint(Failpoint::CompoundHashAtOnce) {
            // A client that dies between a compound and what is in it has to be asked for both again.
            pending_hash = hash.take();
        }
        let record = Record {
            document: id,
            present: put.is_some(),
            ticket: self.ticket - 1,
            hash,
            acl,
            buffered_since,
            client_version: push.version.or(before.and_then(|before| before.client_version)),
            is_compound,
            pending_hash,
        };
        let content = put.map(|put| (as_json(&put.about), &put.content[..]));
        asked.records.insert(id, (record.clone(), content));
        self.records.insert(id, record);
        self.failed.remove(&id);
    }

    /// Where a record is from now on. In a delta run it may be met in one compound after the other; elsewhere its push says all of them.
    fn place(&self, (id, at): (i64, usize), push: &Push, is_new: bool, asked: &mut Asked<'_>) {
        if self.via.epoch.is_none() || push.ask.put().is_none() {
            asked.parents.remove(&id);
            if !is_new {
                asked.apart.insert(id);
            }
        }
        if !self.parents[at].is_empty() {
            asked.parents.entry(id).or_default().extend(&self.parents[at]);
        }
    }

    /// One record more, or less, of those that a quota is of.
    fn use_room(&mut self, is_put: bool, was_there: bool) {
        if let Some(room) = &mut self.room {
            *room = if is_put { room.saturating_sub(u64::from(!was_there)) } else { *room + 1 };
        }
    }

    /// Has a ticket of the next number.
    fn ticket<'p>(
        &mut self,
        asked: &mut Asked<'p>,
        (new, ends): (NewTicket<'p>, Ends),
        was_there: bool,
    ) -> Accepted {
        let ticket = self.ticket;
        self.ticket += 1;
        asked.tickets.push((NewTicket { number: ticket, ..new }, ends));
        Accepted::Pending { ticket, was_there }
    }

    /// Why a push cannot be accepted, if it cannot.
    fn check(&self, push: &Push, key: DocumentKey, was_there: bool) -> std::result::Result<(), Reason> {
        let refused = |code: &str, sentence: String| Err(Reason::new(code, sentence));
        if let Ask::Wrong(reason) = &push.ask {
            return Err(reason.clone());
        }
        if push.key.is_empty() || push.key.len() > limits::RECORD_KEY_BYTES_MAX {
            let (has, most) = (push.key.len(), limits::RECORD_KEY_BYTES_MAX);
            let sentence = format!("its key has {has} bytes; a key has from 1 to {most}");
            return refused("invalid_record", sentence);
        }
        if push.key.contains('\0') {
            return refused("invalid_record", "a key has no character with the number 0".to_owned());
        }
        if self.erased.contains(&key.key_hash) {
            let sentence = format!(
                "a person has erased it; `ingather document readmit {}` lets it in again",
                self.job.name
            );
            return refused("erased", sentence);
        }
        if self.room == Some(0) && matches!(push.ask, Ask::Put(_)) && !was_there {
            let sentence = format!(
                "source {} has as many records as it may have (`records_max`); delete some, or have its operator allow more",
                self.job.name
            );
            return refused("quota", sentence);
        }
        Ok(())
    }

    /// Whether a record is there with this hash, for the same people, and nothing is wrong with it.
    fn is_as_before(&self, before: &Record, put: &Put) -> bool {
        let is_same = put.hash.is_some() && before.hash == put.hash;
        let is_for_same =
            before.acl == put.acl.as_ref().map(as_json) || failpoint(Failpoint::UnchangedForOthers);
        let has_failed = self.failed.contains(&before.document) && !failpoint(Failpoint::FailedIsUnchanged);
        let is_failing = before.is_compound && self.failing.has(before.document);
        before.present && is_same && is_for_same && !has_failed && !is_failing
    }

    fn bring(&mut self, name: &str, key: DocumentKey, asked: &mut Asked<'_>) -> i64 {
        let id = self.fresh;
        self.fresh += 1;
        self.ids.insert(key, id);
        asked.fresh.push(NewDocument {
            id: DocumentId(id),
            key,
            name: name.to_owned(),
            version: Digest::NONE,
            access: Digest::NONE,
            identity: 0,
            container: self.container,
        });
        id
    }

    /// Writes new documents, records, requests for visits and tickets. Of several tickets of one record only the last one is open.
    fn write(&self, sql: &mut Sql<'_>, asked: Asked<'_>) -> std::result::Result<(), StoreError> {
        let Asked { fresh, records: changed, mut buffered, prompt, tickets, parents, apart } = asked;
        buffered.retain(|id, _| !prompt.contains(id));
        records::tickets::hold_reports(sql)?;
        documents::add(sql, self.job.id, self.job.run, &fresh)?;
        records::put(sql, self.job.id, &changed.into_values().collect::<Vec<_>>())?;
        records::compounds::remove(sql, &apart.into_iter().collect::<Vec<_>>())?;
        let pairs = |(id, keys): (i64, Vec<DocumentKey>)| keys.into_iter().map(move |key| (id, key));
        let parents: BTreeMap<(i64, i64, i64), (i64, DocumentKey)> = parents
            .into_iter()
            .flat_map(pairs)
            .map(|(id, key)| ((id, key.parent_hash, key.key_hash), (id, key)))
            .collect();
        let parents: Vec<(i64, DocumentKey)> = parents.into_values().collect();
        records::compounds::put(sql, self.job.id, &parents, self.via.epoch.unwrap_or_default())?;
        let last: BTreeMap<i64, i64> =
            tickets.iter().filter_map(|(ticket, _)| Some((ticket.document?, ticket.number))).collect();
        let ids: Vec<i64> = last.keys().copied().collect();
        let superseded = Outcome::plain("superseded");
        let before = if failpoint(Failpoint::SupersededStaysOpen) { &[] } else { &ids[..] };
        let open = records::tickets::open(sql, before)?;
        let mut ended: Vec<Completed<'_>> =
            open.iter().map(|ticket| ticket.completed(superseded.clone())).collect();
        let request = |id: &i64| VisitRequest { document: *id, due: self.now, reason: VisitReason::Changed };
        if !failpoint(Failpoint::PushedWithoutVisit) {
            let due = ids.iter().filter(|id| !buffered.contains_key(id));
            queue::enqueue(sql, self.job.id, self.job.run, &due.map(request).collect::<Vec<_>>())?;
            let buffered: Vec<(i64, i64)> = buffered.into_iter().collect();
            queue::buffer(sql, self.job.id, (self.job.run, self.now), &buffered)?;
        }
        let counts = queue::request_counts(sql, &ids)?;
        let requests: HashMap<i64, i64> = counts.into_iter().map(|(id, count, _)| (id, count)).collect();
        let (mut new, mut numbers) = (Vec::with_capacity(tickets.len()), Vec::with_capacity(tickets.len()));
        for (ticket, ends) in &tickets {
            let is_last = ticket.document.is_none_or(|id| last.get(&id) == Some(&ticket.number));
            let outcome = match ends {
                Ends::Open => (!is_last).then(|| superseded.clone()),
                Ends::At(word) => Some(Outcome::plain(word)),
                Ends::Failed(reason) => Some(Outcome::of("failed", reason)),
            };
            let number = ticket.number;
            ended.extend(outcome.map(|outcome| Completed { number, channel: self.via.channel, outcome }));
            let asked = ticket.document.and_then(|id| requests.get(&id)).copied().unwrap_or_default();
            new.push(NewTicket { requests: asked, ..ticket.clone() });
            numbers.push(number);
        }
        records::tickets::add(sql, self.job.id, &new, (self.now, self.by, self.via.channel))?;
        if let Some(call) = self.via.told
            && records::prepared::taken(sql, call)? != numbers.len() as u64
        {
            return Err(StoreError::Conflict("its sink is not being told of this any more".to_owned()));
        }
        if let Some(channel) = self.via.channel {
            channels::take(sql, (channel, self.via.told.is_some()), &numbers, self.now)?;
        }
        records::tickets::complete(sql, &ended, self.now)?;
        // A report has no larger number than its ticket. Now and then is enough.
        let first = self.ticket - new.len() as i64;
        match first / limits::REPORTS_FORGOTTEN_EACH == self.ticket / limits::REPORTS_FORGOTTEN_EACH {
            true => Ok(()),
            false => records::tickets::forget(sql, self.job.id, self.ticket - limits::REPORTS_KEPT),
        }
    }
}

/// Whether something newer of a record was taken before, as its client counts.
fn is_stale(push: &Push, before: Option<&Record>) -> bool {
    let newest = before.and_then(|before| before.client_version);
    newest.zip(push.version).is_some_and(|(newest, version)| version < newest)
        && !failpoint(Failpoint::StaleIsTaken)
}

/// As much of a key as a ticket has: one that is too long is no key of a record.
pub(super) fn as_told(key: &str) -> &str {
    let ends = key.char_indices().map(|(at, letter)| at + letter.len_utf8());
    let end = ends.take_while(|end| *end <= limits::RECORD_KEY_BYTES_MAX).last();
    &key[..end.unwrap_or_default()]
}
