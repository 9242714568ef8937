//! Interned levels: classes of documents and places above them, as one run meets them (design 4.20).

pub(crate) mod looks;
pub(crate) mod openings;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ingather_connector::model::access::Level;
use ingather_connector::model::ids::{ClassId, ConnectionId, Digest, JobId, PlaceId};
use ingather_connector::model::key::Stamp;
use ingather_connector::model::scope::Coverage;
use ingather_connector::repository::PlaceReport;
use ingather_store::mutations::{Mutation, planted};
use ingather_store::places::{self, Narrow};
use ingather_store::{Sql, StoreError, documents};

type Result<T> = std::result::Result<T, StoreError>;

/// Levels kept by value, so that a document costs one look-up; beyond, they are found by digest.
const LEVELS_KEPT: usize = 100_000;

/// Classes of one connection.
pub(crate) struct Classes {
    connection: ConnectionId,
    by_level: HashMap<Level, ClassId>,
    by_digest: HashMap<Digest, ClassId>,
    /// Pairs that were compared.
    within: HashMap<(ClassId, ClassId), bool>,
    /// Ids for levels of a run that writes nothing.
    pretended: i64,
}

impl Classes {
    pub(crate) fn load(sql: &mut Sql<'_>, connection: ConnectionId) -> Result<Classes> {
        let by_digest =
            places::classes(sql, connection)?.into_iter().map(|(id, digest)| (digest, id)).collect();
        Ok(Classes { connection, by_level: HashMap::new(), by_digest, within: HashMap::new(), pretended: 0 })
    }

    /// The class of a level, if it is known.
    pub(crate) fn find(&mut self, level: &Level) -> Option<ClassId> {
        if let Some(id) = self.by_level.get(level) {
            return Some(*id);
        }
        let id = *self.by_digest.get(&level.digest())?;
        self.keep(level, id);
        Some(id)
    }

    /// Whether the one class surely admits nobody whom the other shuts out.
    pub(crate) fn is_within(&mut self, sql: &mut Sql<'_>, one: ClassId, other: ClassId) -> Result<bool> {
        if let Some(known) = self.within.get(&(one, other)) {
            return Ok(*known);
        }
        let levels = (places::level(sql, one)?, places::level(sql, other)?);
        let within = matches!(levels, (Some(one), Some(other)) if one.is_within(&other));
        if self.within.len() >= LEVELS_KEPT {
            self.within.clear();
        }
        self.within.insert((one, other), within);
        Ok(within)
    }

    /// The class of a level; a new one is written.
    pub(crate) fn intern(&mut self, sql: &mut Sql<'_>, level: &Level) -> Result<ClassId> {
        if let Some(id) = self.find(level) {
            return Ok(id);
        }
        let id = places::add_class(sql, self.connection, level)?;
        self.by_digest.insert(level.digest(), id);
        self.keep(level, id);
        Ok(id)
    }

    /// The class of a level in a run that writes nothing: a new one gets a number that is in no store.
    pub(crate) fn pretend(&mut self, level: &Level) -> ClassId {
        if let Some(id) = self.find(level) {
            return id;
        }
        self.pretended -= 1;
        let id = ClassId(self.pretended);
        self.by_digest.insert(level.digest(), id);
        id
    }

    fn keep(&mut self, level: &Level, id: ClassId) {
        if self.by_level.len() >= LEVELS_KEPT {
            self.by_level.clear();
        }
        self.by_level.insert(level.clone(), id);
    }
}

/// Places of one connection, as the runs of one job meet them.
pub(crate) struct Places {
    connection: ConnectionId,
    job: JobId,
    by_name: HashMap<Arc<str>, Place>,
    /// Names of those that were not replaced.
    names: HashMap<PlaceId, Arc<str>>,
    /// Folder of keys that a place rules, for those met in this run; none above the source.
    folders: HashMap<PlaceId, Option<String>>,
    /// Places that have opened, or may have, and are not proven for this job.
    narrow: HashSet<PlaceId>,
    /// Numbers of the looks that found something else than the one before.
    looks: u64,
    pretended: i64,
}

/// A place as it was looked at last.
struct Place {
    id: PlaceId,
    parent: Option<PlaceId>,
    identity: Box<str>,
    level: ClassId,
    look: Look,
}

/// One look at a place: what was read in it later, and before another look found the same, was read under its level.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    /// As in [`PlaceReport::stamp`].
    pub(crate) stamp: Stamp,
    /// Number of the first of all looks in a row that found just this.
    pub(crate) number: u64,
    /// The listing that has shown what is in it since, counted from 1; 0: none.
    pub(crate) listing: u32,
}

impl Look {
    const NONE: Look = Look { stamp: Stamp::NONE, number: 0, listing: 0 };
}

fn device(identity: &str) -> &str {
    identity.split(':').next().unwrap_or(identity)
}

impl Places {
    pub(crate) fn load(sql: &mut Sql<'_>, connection: ConnectionId, job: JobId) -> Result<Places> {
        let narrow = places::narrow_of(sql, job)?.into_iter().map(|(place, _)| place).collect();
        let mut loaded = Places {
            connection,
            job,
            by_name: HashMap::new(),
            names: HashMap::new(),
            folders: HashMap::new(),
            narrow,
            looks: 0,
            pretended: 0,
        };
        for places::Place { id, parent, name, identity, level } in places::list(sql, connection)? {
            loaded.keep(&name, Place { id, parent, identity: identity.into(), level, look: Look::NONE });
        }
        Ok(loaded)
    }

    fn keep(&mut self, name: &str, place: Place) {
        let name: Arc<str> = name.into();
        self.names.insert(place.id, name.clone());
        self.by_name.insert(name, place);
    }

    /// The number of the last look.
    pub(crate) fn looks(&self) -> u64 {
        self.looks
    }

    /// The place itself and those above it, to the top; none when one of them was replaced.
    pub(crate) fn chain(&self, place: PlaceId) -> Option<Vec<PlaceId>> {
        let mut chain = Vec::new();
        let mut at = Some(place);
        while let Some(id) = at {
            chain.push(id);
            at = self.by_name.get(self.names.get(&id)?)?.parent;
        }
        Some(chain)
    }

    /// Name and last look of a place that was not replaced.
    pub(crate) fn look(&self, place: PlaceId) -> Option<(Arc<str>, Look)> {
        let name = self.names.get(&place)?;
        Some((name.clone(), self.by_name.get(name)?.look))
    }

    /// Places that a listing has proven, and that open for this job or are below one that does.
    pub(crate) fn opening(&self, coverage: &Coverage) -> HashSet<PlaceId> {
        if self.narrow.is_empty() {
            return HashSet::new();
        }
        let met = self
            .folders
            .iter()
            .filter(|(_, folder)| coverage.folder_proven(folder.as_deref().unwrap_or_default()));
        met.map(|(id, _)| *id).filter(|id| self.names.contains_key(id) && self.may_open(Some(*id))).collect()
    }

    /// The folder of keys of a place that was met in this run.
    pub(crate) fn folder(&self, place: PlaceId) -> Option<&str> {
        self.folders.get(&place)?.as_deref()
    }

    /// The place of that name, as met last.
    pub(crate) fn id(&self, name: &str) -> Option<PlaceId> {
        self.by_name.get(name).map(|place| place.id)
    }

    /// The place of that name and its level, as met last.
    pub(crate) fn level(&self, name: &str) -> Option<(PlaceId, ClassId)> {
        self.by_name.get(name).map(|place| (place.id, place.level))
    }

    /// Notes that a place was met by a listing (0: by a single look), if its report changes nothing: a quiet run must not write.
    pub(crate) fn stands(&mut self, report: &PlaceReport, level: Option<ClassId>, listing: u32) -> bool {
        let parent = report.parent.as_deref().map(|name| self.id(name));
        let same = self.by_name.get(report.name.as_str()).is_some_and(|place| {
            *place.identity == *report.identity
                && Some(place.level) == level
                && parent.is_none_or(|parent| parent == place.parent)
        });
        if same {
            self.note(report, listing);
        }
        same
    }

    /// Notes that a place was met, and what the look at it found.
    pub(crate) fn note(&mut self, report: &PlaceReport, listing: u32) {
        let Some(place) = self.by_name.get_mut(report.name.as_str()) else { return };
        self.folders.insert(place.id, report.folder.clone());
        let look = &mut place.look;
        if look.stamp != report.stamp || report.stamp == Stamp::NONE {
            self.looks += 1;
            *look = Look { stamp: report.stamp, number: self.looks, listing };
        } else if listing > 0 {
            look.listing = listing;
        }
    }

    /// Takes a report in: what is narrower rules at once and for all jobs, what is wider waits for [`Places::prove`].
    ///
    /// A folder of another identity, or below a folder of another identity, is another place: each document below it is looked
    /// at before it belongs there. True when the folder is on another device than at its last complete listing (design 4.5);
    /// `accept` takes that for granted. `sql` is none in a run that writes nothing.
    pub(crate) fn meet(
        &mut self,
        mut sql: Option<&mut Sql<'_>>,
        report: &PlaceReport,
        level: ClassId,
        accept: bool,
        now: i64,
    ) -> Result<bool> {
        let parent = report.parent.as_deref().and_then(|name| self.id(name));
        let mut other_device = false;
        if let Some(place) = self.by_name.get_mut(report.name.as_str()) {
            let same = *place.identity == *report.identity
                && (place.parent == parent || planted(Mutation::MovedPlaceStays));
            other_device = *place.identity != *report.identity
                && !accept
                && device(&place.identity) != device(&report.identity);
            // On another device, the old place stays the one that was listed completely last; both must admit.
            if same || other_device {
                if place.level != level {
                    let before = std::mem::replace(&mut place.level, level);
                    self.narrow.insert(place.id);
                    if let Some(sql) = sql {
                        let before =
                            if planted(Mutation::PlaceWidenedBeforeItIsProven) { level } else { before };
                        places::judge(sql, self.connection, place.id, level, before)?;
                    }
                }
                self.folders.insert(place.id, report.folder.clone());
                return Ok(other_device);
            }
            let replaced = place.id;
            self.names.remove(&replaced);
            if let Some(sql) = sql.as_deref_mut() {
                places::leave(sql, replaced, now)?;
            }
        }
        let id = match sql {
            Some(sql) => places::add(sql, self.connection, parent, &report.name, &report.identity, level)?,
            None => {
                self.pretended -= 1;
                PlaceId(self.pretended)
            }
        };
        let identity = report.identity.as_str().into();
        self.keep(&report.name, Place { id, parent, identity, level, look: Look::NONE });
        self.folders.insert(id, report.folder.clone());
        Ok(other_device)
    }

    /// Whether any place may open for this job.
    pub(crate) fn some_may_open(&self) -> bool {
        !self.narrow.is_empty()
    }

    /// Whether a place, or one above it, may open for this job at the end of the run: what outputs hold of an earlier reading
    /// was never meant for whom it opens to. A place that was replaced may.
    pub(crate) fn may_open(&self, place: Option<PlaceId>) -> bool {
        if self.narrow.is_empty() {
            return false;
        }
        let mut at = place;
        while let Some(id) = at {
            let place = self.names.get(&id).and_then(|name| self.by_name.get(name));
            let Some(place) = place else { return true };
            if self.narrow.contains(&id) {
                return true;
            }
            at = place.parent;
        }
        false
    }

    /// Opens the places that became wider, for the documents of this run's job, where it has looked at all of them (design
    /// 4.20). What other jobs have below them stays as it is.
    ///
    /// `unproven` are places that rule documents of which an output holds something else than was looked at: they stay as they
    /// are. Places below that were not proven carry on what opens above them.
    pub(crate) fn prove(
        &self,
        sql: &mut Sql<'_>,
        coverage: &Coverage,
        unproven: &HashSet<PlaceId>,
    ) -> Result<()> {
        let root_proven = coverage.folder_proven("");
        let is_proven = |id: PlaceId| {
            !unproven.contains(&id)
                && self.folders.get(&id).is_some_and(|folder| {
                    folder.as_deref().map_or(root_proven, |name| coverage.folder_proven(name))
                })
        };
        let mut opening: HashMap<PlaceId, Vec<ClassId>> = HashMap::new();
        for (place, class) in
            places::narrow_of(sql, self.job)?.into_iter().filter(|(place, _)| is_proven(*place))
        {
            opening.entry(place).or_default().push(class);
        }
        if opening.is_empty() {
            return Ok(());
        }
        let names = places::names(sql, self.connection)?;
        let above: HashMap<PlaceId, Option<PlaceId>> = names.iter().map(|(id, p, _)| (*id, *p)).collect();
        for (id, parent, _) in
            names.iter().filter(|(id, _, name)| !is_proven(*id) && self.is_below_root(name))
        {
            let mut at = *parent;
            while let Some(place) = at.filter(|place| is_proven(*place)) {
                for class in opening.get(&place).into_iter().flatten() {
                    places::narrow(sql, Narrow { place: *id, job: self.job.0, class: *class })?;
                }
                at = above.get(&place).copied().flatten();
            }
        }
        if planted(Mutation::PlaceOpenForAllJobs) {
            for narrow in places::all_narrow(sql)? {
                places::open(sql, narrow.place, JobId(narrow.job))?;
            }
        }
        opening.keys().try_for_each(|place| places::open(sql, *place, self.job))
    }

    /// Forgets what is kept narrow for this job where it has nothing: folders that are not there any more, were replaced, or never had
    /// a document of it. What it reads there from now on, it reads by what they are then.
    pub(crate) fn forget(&self, sql: &mut Sql<'_>) -> Result<()> {
        let mut left: HashSet<PlaceId> =
            places::narrow_of(sql, self.job)?.into_iter().map(|(place, _)| place).collect();
        left.retain(|place| !self.folders.contains_key(place));
        if left.is_empty() {
            return Ok(());
        }
        let names = places::names(sql, self.connection)?;
        let above: HashMap<PlaceId, Option<PlaceId>> = names.iter().map(|(id, p, _)| (*id, *p)).collect();
        let mut ruled = HashSet::new();
        for place in documents::places(sql, self.job)? {
            let mut at = Some(place);
            while let Some(id) = at.filter(|id| ruled.insert(*id)) {
                at = above.get(&id).copied().flatten();
            }
        }
        left.retain(|place| !ruled.contains(place));
        // Until it is told elsewhere, an entry may be where its document was before.
        if left.is_empty() || documents::is_access_unconfirmed(sql, self.job)? {
            return Ok(());
        }
        left.into_iter().try_for_each(|place| places::open(sql, place, self.job))
    }

    /// Whether documents of this job may be below a place.
    fn is_below_root(&self, name: &str) -> bool {
        let is_root = |place: &Place| self.folders.get(&place.id).is_some_and(|f| f.as_deref() == Some(""));
        let root = self.by_name.iter().find(|(_, place)| is_root(place));
        root.is_none_or(|(root, _)| name.starts_with(root.trim_end_matches('/')))
    }
}
