//! Why one document stands as it does, whether the store knows it or not (design 4.13).

use std::sync::Arc;

use ingather_contract::repository::{Named, Repository, SourceStatus};
use ingather_model::access::Acl;
use ingather_model::document::{EXTRACTION, INSIDE, component_uri};
use ingather_model::fault::Reason;
use ingather_model::ids::AclId;
use ingather_model::lifecycle::outcome::{DeliveryOutcome, FaultCode};
use ingather_model::limits;
use ingather_store::deliveries::Owner;
use ingather_store::explain::{self, Facts};
use ingather_store::jobs::{self, Job};
use ingather_store::runs::{self, KnownBlindSpot};
use ingather_store::{containers, deliveries, documents, erased};

use super::facts::{Case, Holder, Row};
use super::names::{ItemName, Target};
use super::referrers::Referrers;
use super::stage_acl::StageAcl;
use super::trial::{Fate, Seen};
use super::{cause, kept_closed, parts};
use crate::engine::Engine;
use crate::error::{EngineError, Refusal, Result};
use crate::run::id_set;
use crate::visit::pipeline::{CONDITION, Pipeline};

/// Why one document stands as it does.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// Its name in the job.
    pub document: String,
    /// Where a person finds it.
    pub uri: String,
    /// The address by which outputs know it, where that is another one.
    pub address: Option<String>,
    /// Stable word, and the sentence that names the cause.
    pub cause: Reason,
    /// How it stands at the source now, in a sentence.
    pub source: String,
    /// What the store knows of it; none when it does not know it.
    pub known: Option<Facts>,
    /// What each output of the job holds of it.
    pub outputs: Vec<Holder>,
    /// The address of something in another document that is shown by the same name.
    pub same_name: Option<String>,
    /// Other jobs that have the same document.
    pub also_in: Vec<String>,
    /// What leads to it, where the job knows it and its source is found by following links.
    pub referrers: Option<Referrers>,
    /// What it waits for.
    pub waits_for: Option<String>,
    /// Not before this time, milliseconds since 1970 UTC.
    pub due: Option<i64>,
    /// When it is looked at next.
    pub next: String,
}

/// The blind spot that a name lies in, the nearest of them.
fn nearest<'s>(spots: &'s [KnownBlindSpot], name: &str) -> Option<&'s KnownBlindSpot> {
    let above = spots.iter().filter(|spot| spot.scope == "/" || name.starts_with(&spot.scope));
    above.max_by_key(|spot| spot.scope.len())
}

impl Engine {
    /// Explains the document that `text` names: by its name in the job, its path or its URI. Writes nothing.
    ///
    /// # Errors
    /// What the store says, or a source whose settings cannot be used.
    pub fn explain(&self, job: &Job, text: &str) -> Result<Explanation> {
        let repository = self.repository(job)?;
        let item_name = match self.known_item(job, repository.as_ref(), text)? {
            Some(item_name) => item_name,
            None => match self.target(job, repository.as_ref(), text)? {
                Ok(Target { named, part: None }) => ItemName { named, component: None },
                Ok(Target { named, part: Some(part) }) => {
                    return self.explain_part(job, repository.as_ref(), &named, &part);
                }
                Err(reason) => return self.foreign(job, text, reason),
            },
        };
        let name = item_name.named.key.as_str();
        let row = self.row(job, &item_name)?;
        let mut status = repository.explain(&self.call(), name);
        if let SourceStatus::Absent(reason) = &status
            && FaultCode::parse(&reason.code) == Some(FaultCode::Key)
        {
            return Err(EngineError::refused(Refusal::Key, reason.message.clone()));
        }
        let stage_acl = self.take_over_stages(job, &mut status);
        let run = self.reader.read(|sql| runs::list(sql, job.id, 1))?.into_iter().next();
        let spots = self.reader.read(|sql| runs::blind_spots(sql, job.id, job.run))?;
        let blind = nearest(&spots, name);
        let version = match (&status, &row) {
            (SourceStatus::Taken(observed), Some(row)) => {
                Some(self.reader.hasher().version(row.known.key_hash, &observed.content))
            }
            _ => None,
        };
        let moved_to = self.moved_to(job, &repository, &status, row.as_ref())?;
        let case = Case {
            name: &item_name.shown(),
            job,
            run: run.as_ref(),
            blind,
            status: &status,
            stage_acl: stage_acl.as_ref(),
            version,
            moved_to: moved_to.as_deref(),
        };
        let mut cause = cause::decisive(&case, row.as_ref());
        // What has no version that counts has its reasons all the same.
        if matches!(cause.code.as_str(), "current" | "racy") {
            cause = self.read_in_part(job, repository.as_ref(), &item_name)?.unwrap_or(cause);
        }
        let cause = self.with_kept_closed(job, row.as_ref(), cause)?;
        let id = row.as_ref().map(|row| row.known.id.0);
        let look_at =
            self.reader.read(|sql| id.map_or(Ok(None), |id| documents::dates::next_look(sql, id)))?;
        let (waits_for, due, next) = cause::next(&case, row.as_ref(), look_at);
        let outputs = self.holders(job, repository.as_ref(), &item_name, (&status, row.as_ref()))?;
        let told = Explanation {
            uri: item_name.uri(repository.place(name)),
            address: address(repository.as_ref(), name).map(|address| item_name.uri(address)),
            cause,
            source: cause::source(&status),
            outputs,
            same_name: self.same_name(job, repository.as_ref(), &item_name)?,
            also_in: self.also_in(job, &repository.place(name))?,
            referrers: id.map_or(Ok(None), |id| self.referrers(job, repository.as_ref(), id))?,
            known: row.map(|row| row.facts),
            waits_for,
            due,
            next,
            document: item_name.shown(),
        };
        self.unless_erased(job, repository.as_ref(), &item_name, told)
    }

    /// The cause, and what keeps the folder of the document closed to those whom it lets in since, where something does.
    fn with_kept_closed(&self, job: &Job, row: Option<&Row>, cause: Reason) -> Result<Reason> {
        let known = row.and_then(|row| Some((row.known.id.0, row.known.container?)));
        let Some(known) = known else { return Ok(cause) };
        let kept = self.reader.read(|sql| kept_closed::about(sql, job, known))?;
        Ok(match kept {
            Some(kept) => Reason { message: format!("{}; {kept}", cause.message), ..cause },
            None => cause,
        })
    }

    /// What a person has erased is explained by that alone.
    fn unless_erased(
        &self,
        job: &Job,
        source: &dyn Repository,
        item_name: &ItemName,
        told: Explanation,
    ) -> Result<Explanation> {
        let named = &item_name.named;
        let key = self.reader.hasher().key(&named.key, named.parent_bytes);
        let (found, kept_out) = self.reader.read(|sql| {
            Ok((erased::find(sql, job.id, key)?, self.kept_out(sql, job, source)?.remove(&key)))
        })?;
        let is_done = found.as_ref().is_none_or(|found| found.done_at.is_some());
        let Some(by) = found.map(|found| found.by).or(kept_out.map(|kept_out| kept_out.by)) else {
            return Ok(told);
        };
        let (code, how) = match is_done {
            true => ("erased", "was erased"),
            false => ("erasing", "is being erased, and some output has not let go of it yet"),
        };
        let sentence =
            format!("`{}` {how}: {by} asked for it, and no run of job {} takes it in", named.key, job.name);
        let next = format!("not before `ingather document readmit {} {}`", job.name, named.key);
        Ok(Explanation { cause: Reason::new(code, sentence), waits_for: None, due: None, next, ..told })
    }

    /// Who may see a document of a job that its source shows to `acl`, and what the stages impose; a job whose stages
    /// cannot be opened changes nothing.
    pub(super) fn shown_to(&self, job: &Job, acl: Acl) -> (Acl, Option<StageAcl>) {
        match Pipeline::open(&job.definition, &self.registry) {
            Ok(pipeline) => {
                (pipeline.access(&acl).into_owned(), StageAcl::by(&pipeline, &job.definition.stages))
            }
            Err(_) => (acl, None),
        }
    }

    /// What each output holds, and which conditions keep what was asked about from those that hold nothing of it: for these it is read
    /// once more, as a visit would.
    fn holders(
        &self,
        job: &Job,
        source: &dyn Repository,
        item_name: &ItemName,
        (status, row): (&SourceStatus, Option<&Row>),
    ) -> Result<Vec<Holder>> {
        let mut outputs = cause::holders(job, row);
        let lacks = outputs.iter().any(|holder| holder.state == "nothing");
        if !lacks || !matches!(status, SourceStatus::Taken(_)) {
            return Ok(outputs);
        }
        let pipeline = match Pipeline::open(&job.definition, &self.registry) {
            Ok(pipeline) if pipeline.has_conditions() => pipeline,
            // A job whose stages cannot be opened is told so when it runs.
            Ok(_) | Err(_) => return Ok(outputs),
        };
        let part = item_name.component.as_ref().map(|(_, name)| name.as_str());
        // What cannot be read just now tells no reason.
        let Ok(course) = self.send(source, &pipeline, &job.definition.stages, &item_name.named.key, part)
        else {
            return Ok(outputs);
        };
        for exit in course.exits {
            let Fate::Declined(reason) = exit.fate else { continue };
            let nothing = |holder: &&mut Holder| holder.output == exit.output && holder.state == "nothing";
            if let (CONDITION, Some(holder)) = (reason.code.as_str(), outputs.iter_mut().find(nothing)) {
                holder.state = "kept_out";
                holder.sentence = format!("a condition keeps it out: {}", reason.message);
            }
        }
        Ok(outputs)
    }

    /// Why what was asked about is found by less than its text, when it is: it is read once more, as a visit would.
    fn read_in_part(
        &self,
        job: &Job,
        source: &dyn Repository,
        item_name: &ItemName,
    ) -> Result<Option<Reason>> {
        let pipeline = Pipeline::open(&job.definition, &self.registry)?;
        let part = item_name.component.as_ref().map(|(_, name)| name.as_str());
        let course = self.send(source, &pipeline, &job.definition.stages, &item_name.named.key, part);
        // What cannot be read just now is up to date all the same.
        let Ok(course) = course else { return Ok(None) };
        if course.fault.is_some() {
            return Ok(None);
        }
        let steps = if part.is_some() { course.inside } else { course.whole };
        let Some(last) = steps.into_iter().last() else { return Ok(None) };
        if let Fate::Unreadable(reason) = &last.fate {
            return Ok(Some(cause::kept_unread(&item_name.shown(), reason)));
        }
        // What is in it has the text.
        let has_it_inside =
            |seen: &Seen| seen.parts_count > 0 && !seen.record.fields.contains_key(EXTRACTION);
        let seen = last.seen.filter(|seen| part.is_some() || !has_it_inside(seen));
        Ok(seen.and_then(|seen| cause::in_part(&item_name.shown(), &seen)))
    }

    /// Why outputs hold nothing of something in a document: it is sent through the stages once more.
    fn explain_part(
        &self,
        job: &Job,
        source: &dyn Repository,
        named: &Named,
        part: &str,
    ) -> Result<Explanation> {
        let pipeline = Pipeline::open(&job.definition, &self.registry)?;
        let course = self.send(source, &pipeline, &job.definition.stages, &named.key, Some(part));
        let told = self.explain(job, &named.key)?;
        let uri = component_uri(&source.place(&named.key), part);
        let address = address(source, &named.key).map(|address| component_uri(&address, part));
        Ok(Explanation {
            document: format!("{}{INSIDE}{part}", named.key),
            cause: parts::cause(&job.name, &named.key, part, course, &told.cause),
            known: None,
            outputs: cause::holders(job, None),
            same_name: None,
            also_in: self.also_in(job, &uri)?,
            uri,
            address,
            ..told
        })
    }

    /// The address of something in another document that is shown by the name of this document.
    fn same_name(&self, job: &Job, source: &dyn Repository, item_name: &ItemName) -> Result<Option<String>> {
        if item_name.component.is_some() {
            return Ok(None);
        }
        let other = self
            .inside(job, source, &item_name.named.key)?
            .filter(|other| other.shown() == item_name.named.key);
        Ok(other.map(|other| other.uri(source.place(&other.named.key))))
    }

    fn foreign(&self, job: &Job, text: &str, reason: Reason) -> Result<Explanation> {
        Ok(Explanation {
            document: text.to_owned(),
            uri: String::new(),
            address: None,
            source: reason.message.clone(),
            cause: reason,
            known: None,
            outputs: Vec::new(),
            same_name: None,
            also_in: self.also_in(job, text)?,
            referrers: None,
            waits_for: None,
            due: None,
            next: format!("never by job {}", job.name),
        })
    }

    /// The row of a document with all that belongs to it; none when the store does not know it.
    pub(super) fn row(&self, job: &Job, item_name: &ItemName) -> Result<Option<Row>> {
        let ItemName { named, component } = item_name;
        let key = self.reader.hasher().key(&named.key, named.parent_bytes);
        let row = self.reader.read(|sql| {
            let found = documents::find(sql, job.id, key.parent_hash, &[key.key_hash])?;
            let Some((_, known)) = found.into_iter().next() else { return Ok(None) };
            let id = known.id.0;
            let Some(facts) = explain::facts(sql, id)? else { return Ok(None) };
            let mut sent = explain::sent(sql, id, component.as_ref().map_or(0, |(id, _)| *id))?;
            let inside = if component.is_some() { 0 } else { deliveries::component_count(sql, id)? };
            let mut held_for = Vec::new();
            for one in &mut sent {
                let owners = deliveries::owners(sql, one.output, one.address_parent, one.address)?;
                let other = owners.iter().find(|owner| owner.document != id && owner.holds_its_own());
                // What another one sent over it may be what it would send itself, by now.
                let is_equal = |other: &Owner| {
                    (other.state.intended, other.state.intended_acl)
                        == (one.state.intended, one.state.intended_acl)
                };
                if one.outcome == Some(DeliveryOutcome::Superseded)
                    && let Some(other) = other.filter(|other| is_equal(other))
                {
                    (one.outcome, one.state) = (Some(DeliveryOutcome::Shared), other.state);
                }
                held_for.push(match other {
                    Some(owner) => jobs::get(sql, owner.job)?.map(|job| job.name),
                    None => None,
                });
            }
            let held = runs::held(sql, job.id, job.run)?;
            let listed = runs::list(sql, job.id, 1)?.first().is_some_and(|run| run.listed_at.is_some());
            let seen = if listed { Some(runs::listed_ids(sql, job.id, job.run)?) } else { None };
            let acl = containers::acls(sql)?.into_iter().find(|(acl_id, _)| Some(*acl_id) == known.acl_id);
            let acl = acl.map(|(_, acl): (AclId, Acl)| acl);
            Ok(Some((known, facts, sent, inside, held_for, held, seen, acl)))
        })?;
        let Some((known, facts, sent, inside, held_for, held, seen, acl)) = row else { return Ok(None) };
        let id = known.id.0 as u64;
        let is_held_back = match held {
            Some(bytes) => id_set::from_bytes(&bytes)?.contains(id),
            None => false,
        };
        let seen = match seen {
            Some(pages) => {
                let mut is_listed = false;
                for bytes in pages {
                    is_listed |= id_set::from_bytes(&bytes)?.contains(id);
                }
                Some(is_listed)
            }
            None => None,
        };
        Ok(Some(Row { known, facts, sent, inside, held_for, is_held_back, seen, acl }))
    }

    /// Who may see what is there by the stages of its job as well; what they impose.
    fn take_over_stages(&self, job: &Job, status: &mut SourceStatus) -> Option<StageAcl> {
        let SourceStatus::Taken(observed) = status else { return None };
        let (acl, stage_acl) = self.shown_to(job, observed.acl.clone());
        observed.acl = acl;
        stage_acl
    }

    /// The name that a document has now which is not where it was.
    fn moved_to(
        &self,
        job: &Job,
        repository: &Arc<dyn Repository>,
        status: &SourceStatus,
        row: Option<&Row>,
    ) -> Result<Option<String>> {
        match (status, row) {
            (SourceStatus::Absent(_), Some(row)) => self.new_name(job, repository, row),
            _ => Ok(None),
        }
    }

    /// Of these, the name in the store, or else at the source.
    fn new_name(&self, job: &Job, repository: &Arc<dyn Repository>, row: &Row) -> Result<Option<String>> {
        let id = row.known.id.0;
        let identities = self.reader.read(|sql| documents::identities(sql, &[id]))?;
        let Some((_, identity)) = identities.into_iter().next().filter(|(_, identity)| *identity != 0) else {
            return Ok(None);
        };
        let other = self.reader.read(|sql| explain::same_identity(sql, job.id, identity, id))?;
        if other.is_some() {
            return Ok(other);
        }
        // A source that cannot be listed now tells nothing; the answer is then that it is not there.
        let Ok(mut listing) = repository.list(&self.call()) else { return Ok(None) };
        let mut looked_at = 0;
        while let Some(Ok(page)) = listing.next() {
            for group in &page.groups {
                if let Some(item) = group.items.iter().find(|item| item.identity == identity) {
                    return Ok(Some(format!("{}{}", group.parent, item.name)));
                }
                looked_at += group.items.len();
            }
            if looked_at > limits::EXPLAIN_ITEMS_MAX {
                break;
            }
        }
        Ok(None)
    }

    /// Other jobs that know what `uri` names.
    fn also_in(&self, job: &Job, uri: &str) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for other in self.reader.read(jobs::list)?.into_iter().filter(|other| other.id != job.id) {
            if self.known_by(&other, uri)?.is_some() {
                names.push(other.name);
            }
        }
        Ok(names)
    }
}

/// The address of a document, where that is not its place.
fn address(source: &dyn Repository, key: &str) -> Option<String> {
    Some(source.uri(key)).filter(|address| *address != source.place(key))
}
