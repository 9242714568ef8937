//! Listing: pages meet the inventory; only what is new or changed is written and handed to the workers (design 4.5).

mod compare;

use std::collections::{HashMap, HashSet};

use ingather_contract::refers::{NamedVersion, Reference};
use ingather_contract::repository::{Group, Page};
use ingather_model::access::Acl;
use ingather_model::ids::DocumentId;
use ingather_model::key::Hasher;
use ingather_model::lifecycle::outcome::FailureKind;
use ingather_model::limits;
use ingather_model::merge::{Comparison, Known};
use ingather_model::scope::{BlindSpot, Coverage, Scope};
use ingather_store::documents::{self, NewDocument};
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::queue::{self, Noted, VisitReason, VisitRequest};
use ingather_store::{Durability, runs};
use roaring::RoaringTreemap;

use self::compare::Hashed;
use crate::containers::looks;
use crate::dispatcher::WorkItem;
use crate::error::Result;
use crate::run::Run;
use crate::run::id_set;
use crate::run::reach::{self, Reach};
use crate::visit::earlier::Older;

/// What a listing has found and proven so far.
#[derive(Default)]
pub(crate) struct ListingResult {
    /// Ids of the documents that it listed.
    pub(crate) listed: RoaringTreemap,
    /// What it proved.
    pub(crate) coverage: Coverage,
    /// What it could not read; bounded, the rest is counted.
    pub(crate) blind: Vec<BlindSpot>,
    /// What something leads to, and is further from the seeds than the job goes.
    pub(crate) too_far: RoaringTreemap,
    /// The root is there and holds nothing.
    pub(crate) root_empty: bool,
    /// It came to its end.
    pub(crate) complete: bool,
    /// What new documents keep when they are renamed, for telling moves from losses; none when there were too many.
    pub(crate) new_identities: Option<HashSet<i64>>,
}

impl ListingResult {
    /// What a run has reached takes the place of what was listed. Only one that asked all seeds knows what is too far, and what leads nowhere.
    pub(crate) fn takes(&mut self, reach: &Reach, is_full: bool) {
        self.listed = reach.ids();
        if is_full {
            (self.too_far, self.root_empty) = (reach.beyond(), reach.leads_nowhere());
        }
    }
}

/// Merges pages with the inventory.
pub(crate) struct Lister<'r> {
    run: &'r Run,
    hasher: Hasher,
    pub(crate) result: ListingResult,
    /// Parents whose documents this run added, so that an empty inventory is not asked for the others.
    parents: HashSet<i64>,
    /// Parents whose items come in several pages.
    in_pieces: HashSet<i64>,
    empty_before: bool,
    /// Listed ids that are not written yet, and since when.
    unwritten: RoaringTreemap,
    written_at: i64,
    pages: i64,
    ids: std::ops::Range<i64>,
    /// Folders that are another device than before.
    foreign: HashSet<String>,
    /// Which listing of the run it is, counted from 1. Later ones only find what is as the inventory has it.
    listing: u32,
    older: Older,
    /// What is noted of documents of the last page that was compared.
    noted: HashMap<i64, Noted>,
    /// Those of them that have a date, in a job that goes by dates.
    dated: HashSet<i64>,
}

impl<'r> Lister<'r> {
    pub(crate) fn new(run: &'r Run, empty_before: bool) -> Lister<'r> {
        let result =
            ListingResult { new_identities: (!empty_before).then(HashSet::new), ..Default::default() };
        Lister {
            run,
            hasher: run.author.hasher,
            result,
            parents: HashSet::new(),
            in_pieces: HashSet::new(),
            empty_before,
            unwritten: RoaringTreemap::new(),
            written_at: run.call.now(),
            pages: 0,
            ids: 0..0,
            foreign: HashSet::new(),
            listing: 1,
            older: Older::default(),
            noted: HashMap::new(),
            dated: HashSet::new(),
        }
    }

    /// A later listing of the run: it shows what is just as the inventory has it, writes nothing of documents and asks for no visit.
    pub(crate) fn again(run: &'r Run, listing: u32) -> Lister<'r> {
        Lister { listing, ..Lister::new(run, false) }
    }

    /// Lists the whole source. A fault of the source ends the listing, not the run: what it did not prove is kept.
    pub(crate) fn list(&mut self) -> Result<()> {
        let mut listing = match self.run.author.repository.list(&self.run.call) {
            Ok(listing) => listing,
            Err(fault) => {
                self.cannot_read_root(&fault);
                return Ok(());
            }
        };
        while !self.stops() {
            match listing.next() {
                Some(Ok(page)) => self.page(&page)?,
                Some(Err(fault)) => {
                    if failpoint(Failpoint::BrokenListingProves) {
                        self.result.coverage.end();
                    }
                    self.cannot_read_root(&fault);
                    return self.write_listed();
                }
                None => {
                    self.result.complete = true;
                    self.result.coverage.end();
                    break;
                }
            }
        }
        self.write_listed()
    }

    /// Later listings come when nothing is visited any more.
    fn stops(&self) -> bool {
        if self.listing == 1 { self.run.stops() } else { self.run.sweep_stops() }
    }

    fn cannot_read_root(&mut self, fault: &ingather_model::fault::Fault) {
        let reason = fault.reason();
        let cause = if reason.code == "gone" { "absent".to_owned() } else { reason.code };
        let message = format!("{}: what is known is kept", reason.message);
        self.blind(&BlindSpot { scope: Scope::Folder(String::new()), cause, message });
    }

    fn blind(&mut self, spot: &BlindSpot) {
        self.result.coverage.blind(&spot.scope);
        if self.result.blind.len() < limits::BLIND_SPOTS_MAX {
            self.result.blind.push(spot.clone());
        }
    }

    fn page(&mut self, page: &Page) -> Result<()> {
        self.containers(page)?;
        for scope in &page.proven {
            match scope {
                Scope::Folder(name) if self.is_foreign(name) => {}
                scope => self.result.coverage.prove(scope),
            }
        }
        page.blind.iter().for_each(|spot| self.blind(spot));
        self.result.root_empty |= page.root_empty;
        let whole: HashSet<&str> = page.proven.iter().filter_map(folder_of).collect();
        if self.listing > 1 {
            return self.unchanged(&page.groups, &whole);
        }
        self.run.count(|counts| counts.skipped += page.skipped.len() as u64);
        for skipped in &page.skipped {
            tracing::debug!(document = skipped.key, reason = skipped.reason.message, "left out");
        }
        self.run.progress.seen(page.skipped.len() as u64);
        if let Some(reach) = &self.run.reach {
            return self.seeds(reach, &page.groups);
        }
        let mut items = Vec::new();
        self.groups(&page.groups, &whole, &mut items)?;
        if self.unwritten.len() as usize >= limits::QUIET_ITEMS_MAX
            || self.run.call.now() - self.written_at >= limits::QUIET_MS_MAX
        {
            self.write_listed()?;
        }
        self.run.progress.changed(items.len() as u64);
        self.run.dispatcher.push(items);
        Ok(())
    }

    fn is_foreign(&self, folder: &str) -> bool {
        !self.foreign.is_empty() && self.foreign.iter().any(|other| folder.starts_with(other.as_str()))
    }

    fn containers(&mut self, page: &Page) -> Result<()> {
        let foreign = looks::record(self.run, &page.containers, self.listing)?;
        for report in foreign {
            let Some(folder) = &report.folder else { continue };
            self.foreign.insert(folder.clone());
            self.blind(&BlindSpot {
                scope: Scope::Folder(folder.clone()),
                cause: "other_device".to_owned(),
                message: format!(
                    "{} is on another device than at its last complete listing (mounted or unmounted since?); \
                     what is known below it is kept; if the other device is to stay, run once with --accept-devices",
                    report.name
                ),
            });
        }
        Ok(())
    }

    /// Takes in what a source that is found by following links names to begin with.
    fn seeds(&mut self, reach: &Reach, groups: &[Group]) -> Result<()> {
        let mut seeds = Vec::new();
        for group in groups {
            let container = match &group.container {
                Some(name) => self.run.containers().id(name)?,
                None => None,
            };
            seeds.extend(group.items.iter().map(|item| {
                let key = format!("{}{}", group.parent, item.name);
                let named = |acl: &Acl| NamedVersion { content: item.content, acl: acl.clone() };
                let version = group.acl.as_ref().map(named);
                let reference =
                    Reference { key, parent_bytes: group.parent.len(), version, ..Reference::default() };
                (reference, container)
            }));
        }
        reach::seed(self.run, reach, &seeds)?;
        reach::feed(self.run, reach, false)
    }

    /// Marks what is just as the inventory has it.
    fn unchanged(&mut self, groups: &[Group], whole: &HashSet<&str>) -> Result<()> {
        for comparison in self.compare(&self.hash_all(groups)?, whole)? {
            if let Comparison::Same(known) = comparison {
                self.result.listed.insert(known.id.0 as u64);
            }
        }
        Ok(())
    }

    fn groups(&mut self, groups: &[Group], whole: &HashSet<&str>, items: &mut Vec<WorkItem>) -> Result<()> {
        let hashed = self.hash_all(groups)?;
        let comparisons = self.compare(&hashed, whole)?;
        let new = comparisons.iter().filter(|one| matches!(one, Comparison::New)).count();
        let mut fresh: Vec<NewDocument> = Vec::with_capacity(new);
        items.reserve(new);
        let first_item = items.len();
        for (item, comparison) in hashed.iter().flatten().zip(comparisons) {
            match comparison {
                Comparison::New => fresh.push(self.arrival(item)?),
                Comparison::Same(known) => self.same(item, known, items)?,
                Comparison::Access(known) => self.changed(item, known, VisitReason::Access, items),
                Comparison::Content(known) => self.changed(item, known, VisitReason::Changed, items),
                Comparison::Settings(known) => self.changed(item, known, VisitReason::Settings, items),
            }
        }
        self.write(&fresh, &mut items[first_item..])?;
        items.extend(fresh.into_iter().map(|new| WorkItem {
            id: new.id.0,
            name: new.name,
            key_hash: new.key.key_hash,
            known: None,
            container: new.container,
            reason: VisitReason::New,
            request_count: None,
            version: new.version,
            access: new.access,
            identity: new.identity,
            noted: Noted::default(),
            is_listed: true,
            claim: None,
            admission: None,
            begun: None,
        }));
        Ok(())
    }

    fn arrival(&mut self, item: &Hashed<'_>) -> Result<NewDocument> {
        if self.ids.is_empty() {
            let first = match &self.run.store {
                Some(store) => store.write(Durability::Relaxed, |sql| {
                    documents::take_ids(sql, "document", limits::ID_BLOCK)
                })?,
                // A run that writes nothing counts with ids that no store gives.
                None => i64::MAX / 2 + self.pages * limits::ID_BLOCK as i64,
            };
            self.pages += i64::from(self.run.store.is_none());
            self.ids = first..first + limits::ID_BLOCK as i64;
        }
        let id = self.ids.next().unwrap_or_default();
        self.note_identity(item.item.identity);
        self.parents.insert(item.key.parent_hash);
        self.note_listed(id);
        let listed = item.listed;
        Ok(NewDocument {
            id: DocumentId(id),
            key: item.key,
            name: format!("{}{}", item.parent, item.item.name),
            version: listed.version,
            access: listed.access,
            identity: item.item.identity,
            container: listed.container,
        })
    }

    /// Takes note of what a new document, or one whose first visit is not over, keeps when it is renamed.
    fn note_identity(&mut self, identity: i64) {
        if let Some(new_identities) = &mut self.result.new_identities
            && identity != 0
        {
            new_identities.insert(identity);
            if new_identities.len() > limits::MOVES_MAX {
                self.result.new_identities = None;
            }
        }
    }

    /// Adds a document to those that were listed; false when this listing named it before.
    fn note_listed(&mut self, id: i64) -> bool {
        let first = self.result.listed.insert(id as u64);
        if first {
            self.unwritten.insert(id as u64);
            self.run.progress.seen(1);
        }
        first
    }

    fn same(&mut self, item: &Hashed<'_>, known: Known, items: &mut Vec<WorkItem>) -> Result<()> {
        let noted = self.noted(known);
        let reason = if noted.request.is_some() {
            Some(VisitReason::Retry)
        } else if self.run.credentials_changed && noted.is_unreadable() {
            Some(VisitReason::Credentials)
        } else if self.run.rereads {
            Some(VisitReason::Changed)
        } else if let Some(reason) = self.looks_for_dates(known, noted) {
            Some(reason)
        } else if self.older.opens_over(self.run, known.id.0, noted, item.listed.container)? {
            Some(VisitReason::Access)
        } else {
            None
        };
        if let Some(reason) = reason {
            self.changed(item, known, reason, items);
            return Ok(());
        }
        if self.note_listed(known.id.0) {
            self.run.count(|counts| match noted.failure.map(|failure| failure.kind) {
                Some(FailureKind::Failed) => counts.failed += 1,
                Some(FailureKind::Skipped) => counts.skipped += 1,
                Some(FailureKind::Retrying) | None => counts.unchanged += 1,
            });
        }
        Ok(())
    }

    /// Why a document that is as before is looked at for its dates alone: the job goes by others now, or it has none yet. One that has
    /// expired is read, for outputs have nothing of it.
    fn looks_for_dates(&self, known: Known, noted: Noted) -> Option<VisitReason> {
        let dating = self.run.dating.as_ref()?;
        if noted.has_expired() {
            return dating.looks_at_all.then_some(VisitReason::Changed);
        }
        let is_due = dating.looks_at_all || !self.dated.contains(&known.id.0);
        (is_due && noted.failure.is_none()).then_some(VisitReason::Dates)
    }

    fn changed(&mut self, item: &Hashed<'_>, known: Known, reason: VisitReason, items: &mut Vec<WorkItem>) {
        if self.note_listed(known.id.0) {
            let reason = if known.is_settled() { reason } else { VisitReason::New };
            let noted = self.noted(known);
            if !known.is_settled() || noted.request.is_some() {
                self.note_identity(item.item.identity);
            }
            items.push(WorkItem {
                id: known.id.0,
                name: format!("{}{}", item.parent, item.item.name),
                key_hash: known.key_hash,
                known: Some(known),
                container: item.listed.container,
                reason,
                request_count: None,
                version: item.listed.version,
                access: item.listed.access,
                identity: item.item.identity,
                noted,
                is_listed: true,
                claim: None,
                admission: None,
                begun: None,
            });
        }
    }

    /// Writes what a page brought, before anybody works on it.
    fn write(&mut self, fresh: &[NewDocument], changed: &mut [WorkItem]) -> Result<()> {
        let Some(store) = &self.run.store else { return Ok(()) };
        if fresh.is_empty() && changed.is_empty() {
            return Ok(());
        }
        let run = self.run;
        let now = run.call.now();
        let request = |item: &WorkItem| VisitRequest { document: item.id, due: now, reason: item.reason };
        let mut requests: Vec<VisitRequest> = changed.iter().map(request).collect();
        let ids: Vec<i64> = changed.iter().map(|item| item.id).collect();
        let rows = store.write(Durability::Relaxed, |sql| {
            run.fence(sql)?;
            documents::add(sql, run.job.id, run.number, fresh)?;
            if failpoint(Failpoint::BitmapWithoutItsPage) {
                requests.clear();
                documents::complete(
                    sql,
                    run.number,
                    &changed.iter().filter_map(as_if_visited).collect::<Vec<_>>(),
                )?;
            }
            if ids.is_empty() {
                return Ok(Vec::new());
            }
            queue::enqueue(sql, run.job.id, run.number, &requests)?;
            queue::request_counts(sql, &ids)
        })?;
        let rows: HashMap<i64, (i64, VisitReason)> =
            rows.into_iter().map(|(id, n, cause)| (id, (n, cause))).collect();
        for item in changed {
            if let Some((request_count, reason)) = rows.get(&item.id) {
                item.request_count = Some(*request_count);
                // A look at access that waited since an earlier run still goes first.
                item.reason = if *reason == VisitReason::Access { VisitReason::Access } else { item.reason };
            }
        }
        Ok(())
    }

    fn write_listed(&mut self) -> Result<()> {
        self.written_at = self.run.call.now();
        let Some(store) = &self.run.store else { return Ok(()) };
        if self.unwritten.is_empty() {
            return Ok(());
        }
        let run = self.run;
        let bytes = id_set::to_bytes(&self.unwritten);
        store.write(Durability::Relaxed, |sql| {
            run.fence(sql)?;
            runs::add_listed_ids(sql, run.job.id, run.number, self.pages, &bytes)
        })?;
        self.pages += 1;
        self.unwritten.clear();
        Ok(())
    }
}

/// For a failpoint: a document that was met as if it had been visited.
fn as_if_visited(item: &WorkItem) -> Option<documents::DocumentUpdate> {
    let known = item.known.as_ref()?;
    Some(documents::DocumentUpdate {
        id: known.id,
        version: item.version,
        access: item.access,
        settings: known.settings,
        identity: item.identity,
        acl_id: known.acl_id,
        container: known.container,
        raw: None,
    })
}

fn folder_of(scope: &Scope) -> Option<&str> {
    match scope {
        Scope::Folder(name) => Some(name),
        Scope::Interval { .. } => None,
    }
}
