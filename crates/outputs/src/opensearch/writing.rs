//! An index that is open for writing: what is applied, committed and emptied.

use std::collections::BTreeMap;

use ingather_contract::call::{CallContext, Cancel};
use ingather_contract::output::{Change, Generation, Op, Output, OutputContext, OutputEntry};
use ingather_model::fault::Fault;
use ingather_model::ids::{AclId, ContainerId};
use ingather_model::limits;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::bulk::{self, Item, Outcome};
use super::entry::{self, Access, key};
use super::fold::{Net, fold};
use super::http::{Method, Request};
use super::index::{self, Index, Mark};
use super::listing::Listing;
use super::server::{self, Server, Waits, refused};
use super::{generation, settings};

/// An index that is open for writing.
pub(super) struct Opened {
    server: Server,
    index: Index,
    session: i64,
    /// Largest number of a change that it has seen.
    seq: i64,
    /// It was made by this opening, and nothing was sent to it.
    is_new: bool,
    /// Something went wrong: before anything else is sent it is asked whether it is still the same.
    doubt: bool,
    /// Nothing can be sent any more, and nothing that was sent is confirmed.
    ended: Option<Fault>,
    listing: Listing,
}

#[derive(Deserialize)]
struct ReadBack {
    docs: Vec<ReadEntry>,
}

#[derive(Deserialize)]
struct ReadEntry {
    _id: String,
    #[serde(default)]
    found: bool,
    #[serde(default)]
    _source: Map<String, Value>,
    #[serde(default)]
    error: Option<server::Said>,
}

impl ReadEntry {
    fn seq(&self) -> i64 {
        self.number("seq").unwrap_or_default()
    }

    fn access(&self) -> Access {
        Access { acl: self.number("acl").map(AclId), container: self.number("container").map(ContainerId) }
    }

    fn number(&self, name: &str) -> Option<i64> {
        self._source.get(name).and_then(Value::as_i64)
    }
}

impl Opened {
    /// The index that settings name, made where it is missing.
    ///
    /// # Errors
    /// What stands in the way of entries, with what to do; nothing was sent then.
    pub(super) fn open(value: &Value, context: &OutputContext) -> Result<Opened, Fault> {
        let meant = settings::read(value)?;
        let (server, cancel) = (Server::new(&meant)?, Cancel::default());
        let waits = Waits::short(&cancel);
        let (index, is_new) = Index::ready(&server, &waits, &meant.index, &context.store)?;
        let seq = if is_new { 0 } else { index::largest_seq(&server, &waits, &index)? };
        let (session, listing) = (context.session, Listing::default());
        Ok(Opened { server, index, session, seq, is_new, doubt: false, ended: None, listing })
    }

    /// Makes sure that what is sent next goes into the index that was opened, and notes who sends it.
    fn prepare(&mut self, waits: &Waits<'_>) -> Result<(), Fault> {
        if self.doubt {
            self.index.check(&self.server, waits)?;
            self.doubt = false;
        }
        if self.index.mark.session != self.session {
            let mark = Mark { session: self.session, ..self.index.mark.clone() };
            self.index.note(&self.server, waits, mark)?;
        }
        self.is_new = false;
        Ok(())
    }

    fn apply_all(&mut self, waits: &Waits<'_>, batch: &[Change]) -> Result<Vec<Result<(), Fault>>, Fault> {
        self.prepare(waits)?;
        self.seq = batch.iter().map(|change| change.seq).fold(self.seq, i64::max);
        let (nets, gone) = fold(batch);
        let mut answers: Vec<Result<(), Fault>> = vec![Ok(()); batch.len()];
        let mut answer = |net: &Net<'_>, said: &Result<(), Fault>| {
            net.places.iter().for_each(|place| answers[*place] = said.clone());
        };
        let (accesses, others): (Vec<Net<'_>>, Vec<Net<'_>>) =
            nets.into_iter().partition(|net| matches!(net.change.op, Op::Access { .. }));
        let (mut items, mut sent, mut refused) = (Vec::new(), Vec::new(), Vec::new());
        // Who may see is told first: what narrows is not to wait for texts.
        for some in accesses.chunks(limits::OPENSEARCH_READ_AT_ONCE) {
            for (net, said) in some.iter().zip(self.change_access(waits, some)?) {
                match said {
                    Err(fault @ Fault::Refused(_)) => refused.push((net, fault)),
                    said => answer(net, &said),
                }
            }
        }
        for net in &others {
            match self.item(net) {
                Ok(item) => {
                    items.push(item);
                    sent.push(net);
                }
                Err(fault) => refused.push((net, fault)),
            }
        }
        for (net, said) in sent.into_iter().zip(self.send(waits, &items)?) {
            match said {
                Err(fault @ Fault::Refused(_)) => refused.push((net, fault)),
                said => answer(net, &said),
            }
        }
        for some in refused.chunks(limits::OPENSEARCH_READ_AT_ONCE) {
            let nets: Vec<&Net<'_>> = some.iter().map(|(net, _)| *net).collect();
            for ((net, fault), out) in some.iter().zip(self.take_out(waits, &nets)?) {
                answer(net, &out.and_then(|()| Err(fault.clone())));
            }
        }
        gone.into_iter().for_each(|place| answers[place] = Err(Fault::Gone));
        Ok(answers)
    }

    fn item(&self, net: &Net<'_>) -> Result<Item, Fault> {
        let last = net.last();
        let source = match &net.change.op {
            Op::Put { record, version, .. } => Some(entry::source(
                &self.index.mark.store,
                net.change,
                last,
                (record, *version, access_of(last)),
            )?),
            Op::Access { .. } | Op::Delete => None,
        };
        Ok(Item { key: key(&net.change.id).into_owned(), seq: last.seq, source })
    }

    /// Sends entries, and finds out about those that the engine holds something newer of.
    fn send(&mut self, waits: &Waits<'_>, items: &[Item]) -> Result<Vec<Result<(), Fault>>, Fault> {
        let outcomes = bulk::send(&self.server, waits, &self.index.alias, items)?;
        self.doubt |= outcomes.iter().any(|one| matches!(one, Outcome::Failed(Fault::Passing { .. })));
        let overtaken: Vec<&str> = (items.iter().zip(&outcomes))
            .filter(|(_, outcome)| **outcome == Outcome::Newer)
            .map(|(item, _)| item.key.as_str())
            .collect();
        let there = self.read_back(waits, &overtaken)?;
        let judged = |(item, outcome): (&Item, Outcome)| match outcome {
            Outcome::Done => Ok(()),
            Outcome::Failed(fault) => Err(fault),
            Outcome::Newer => match there.get(item.key.as_str()) {
                // Newest wins.
                Some(Some(entry)) if entry.seq() >= item.seq => Ok(()),
                // It is to be out, and is.
                Some(None) if item.source.is_none() => Ok(()),
                _ => {
                    Err(Fault::passing("overtaken", "somebody else wrote to the entry in the search engine"))
                }
            },
        };
        Ok(items.iter().zip(outcomes).map(judged).collect())
    }

    /// What the index holds under these keys now, also what no search finds yet. A key that is left out is one whose entry is larger than
    /// this program sends.
    fn read_back(
        &self,
        waits: &Waits<'_>,
        keys: &[&str],
    ) -> Result<BTreeMap<String, Option<ReadEntry>>, Fault> {
        if keys.is_empty() {
            return Ok(BTreeMap::new());
        }
        let (path, body) = (format!("/{}/_mget", self.index.alias), json!({"ids": keys}).to_string());
        // One entry is always short enough, as it was sent.
        let answer_max = self.server.request_bytes as u64 + limits::OPENSEARCH_ANSWER_BYTES_MAX;
        let request =
            Request { method: Method::Post, path: &path, body: body.as_bytes(), is_lines: false, answer_max };
        let reply = match self.server.ask(waits, &request) {
            Ok(reply) => reply,
            Err(Fault::Broken(_)) if keys.len() > 1 => {
                let (first, second) = keys.split_at(keys.len() / 2);
                let mut found = self.read_back(waits, first)?;
                found.extend(self.read_back(waits, second)?);
                return Ok(found);
            }
            Err(Fault::Broken(_)) => return Ok(BTreeMap::new()),
            Err(fault) => return Err(fault),
        };
        if reply.status != 200 {
            return Err(refused(&reply));
        }
        let read: ReadBack = serde_json::from_slice(&reply.body).map_err(|error| {
            Fault::passing("server", format!("the answer of the server cannot be read: {error}"))
        })?;
        if let Some(lost) = read.docs.iter().find_map(|one| one.error.as_ref()?.lost()) {
            return Err(lost);
        }
        if let Some(said) = read.docs.iter().find_map(|one| one.error.as_ref()) {
            return Err(Fault::passing("server", said.sentence()));
        }
        let found = read.docs.into_iter();
        Ok(found.map(|one| (one._id.clone(), Some(one).filter(|one| one.found))).collect())
    }

    /// Gives entries that are there another access, without their records. Each is read and put again under the number of the change: an
    /// update of the engines' own takes no number, so that an older change could win over it.
    fn change_access(
        &mut self,
        waits: &Waits<'_>,
        nets: &[Net<'_>],
    ) -> Result<Vec<Result<(), Fault>>, Fault> {
        let keys: Vec<_> = nets.iter().map(|net| key(&net.change.id).into_owned()).collect();
        let mut there = self.read_back(waits, &keys.iter().map(String::as_str).collect::<Vec<_>>())?;
        let mut answers: Vec<Result<(), Fault>> = Vec::with_capacity(nets.len());
        let (mut items, mut places) = (Vec::new(), Vec::new());
        for (place, (net, key)) in nets.iter().zip(keys).enumerate() {
            answers.push(match there.remove(&key).flatten() {
                Some(entry) if entry.seq() >= net.change.seq => Ok(()),
                Some(entry) if self.is_ours(&entry, &net.change.id) => {
                    let source = entry::with_access(entry._source, net.change, access_of(net.change));
                    items.push(Item { key, seq: net.change.seq, source: Some(source) });
                    places.push(place);
                    Ok(())
                }
                // The record follows.
                _ => Err(Fault::Gone),
            });
        }
        let said = self.send(waits, &items)?;
        places.into_iter().zip(said).for_each(|(place, said)| answers[place] = said);
        Ok(answers)
    }

    /// Where an entry that is refused has another access than the one that is there, that one is taken out: there was no instant at which its
    /// document held the text of before and let in whom it lets in now. A removal is never too large, and fits every mapping.
    fn take_out(&mut self, waits: &Waits<'_>, refused: &[&Net<'_>]) -> Result<Vec<Result<(), Fault>>, Fault> {
        let keys: Vec<String> = refused.iter().map(|net| key(&net.change.id).into_owned()).collect();
        let mut there = self.read_back(waits, &keys.iter().map(String::as_str).collect::<Vec<_>>())?;
        let (mut items, mut places) = (Vec::new(), Vec::new());
        for (place, (net, key)) in refused.iter().zip(keys).enumerate() {
            let last = net.last();
            let goes = match there.remove(&key) {
                Some(None) => false,
                Some(Some(entry)) => {
                    entry.seq() < last.seq
                        && self.is_ours(&entry, &last.id)
                        && entry.access() != access_of(last)
                }
                // Too large to be looked at.
                None => true,
            };
            if goes {
                items.push(Item { key, seq: last.seq, source: None });
                places.push(place);
            }
        }
        let mut answers = vec![Ok(()); refused.len()];
        let said = self.send(waits, &items)?;
        places.into_iter().zip(said).for_each(|(place, said)| answers[place] = said);
        Ok(answers)
    }

    fn is_ours(&self, entry: &ReadEntry, id: &str) -> bool {
        let said = |name: &str| entry._source.get(name).and_then(Value::as_str);
        said("store") == Some(&self.index.mark.store) && said("id") == Some(id)
    }

    /// What cannot be gone on from ends this opening: nothing more is sent, and nothing that was sent is confirmed.
    fn ends<T>(&mut self, done: Result<T, Fault>) -> Result<T, Fault> {
        self.ended = self.ended.take().or(done.as_ref().err().cloned());
        done
    }
}

fn access_of(change: &Change) -> Access {
    match &change.op {
        Op::Put { acl_id, container, .. } | Op::Access { acl_id, container, .. } => {
            Access { acl: *acl_id, container: *container }
        }
        Op::Delete => Access { acl: None, container: None },
    }
}

impl Output for Opened {
    fn apply(&mut self, call: &CallContext, batch: &[Change]) -> Vec<Result<(), Fault>> {
        if batch.is_empty() {
            return Vec::new();
        }
        let applied = match &self.ended {
            Some(fault) => Err(fault.clone()),
            None => self.apply_all(&Waits::long(&call.cancel), batch),
        };
        self.ends(applied).unwrap_or_else(|fault| vec![Err(fault); batch.len()])
    }

    fn commit(&mut self, call: &CallContext) -> Result<Generation, Fault> {
        if let Some(fault) = &self.ended {
            return Err(fault.clone());
        }
        let waits = Waits::long(&call.cancel);
        let Mark { number, .. } = self.index.mark;
        let mark =
            Mark { number: number + 1, session: self.session, seq: self.seq, ..self.index.mark.clone() };
        let noted = self.index.check(&self.server, &waits);
        // What is confirmed has to be what searches find: a folder that opens then would show to others what was there before.
        let noted = noted.and_then(|()| index::refresh(&self.server, &waits, &self.index.alias));
        let noted = noted.and_then(|()| self.index.note(&self.server, &waits, mark));
        self.ends(noted)?;
        self.doubt = false;
        Ok(self.generation())
    }

    fn generation(&self) -> Generation {
        generation(&self.index, self.seq)
    }

    fn clear(&mut self, call: &CallContext) -> Result<Generation, Fault> {
        if !self.is_new {
            self.seq = if self.seq > limits::SEQ_MAX { 0 } else { self.seq };
            let anew = self.index.make_anew(&self.server, &Waits::long(&call.cancel), self.seq);
            self.ends(anew)?;
            self.is_new = true;
        }
        Ok(self.generation())
    }

    fn list(
        &mut self,
        call: &CallContext,
        after: Option<&str>,
        most: usize,
    ) -> Result<Vec<OutputEntry>, Fault> {
        self.listing.page((&self.server, &Waits::long(&call.cancel), &self.index), after, most)
    }
}
