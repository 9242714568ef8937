//! Interned levels: classes of documents and places above them, as one run meets them (design 4.20).

use std::collections::{HashMap, HashSet};

use ingather_connector::model::access::Level;
use ingather_connector::model::ids::{ClassId, ConnectionId, Digest, PlaceId};
use ingather_connector::model::scope::Coverage;
use ingather_connector::repository::PlaceReport;
use ingather_store::mutations::{Mutation, planted};
use ingather_store::places::{self, Place};
use ingather_store::{Sql, StoreError};

type Result<T> = std::result::Result<T, StoreError>;

/// Levels kept by value, so that a document costs one look-up; beyond, they are found by digest.
const LEVELS_KEPT: usize = 100_000;

/// Classes of one connection.
pub(crate) struct Classes {
    connection: ConnectionId,
    by_level: HashMap<Level, ClassId>,
    by_digest: HashMap<Digest, ClassId>,
    /// Ids for levels of a run that writes nothing.
    pretended: i64,
}

impl Classes {
    pub(crate) fn load(sql: &mut Sql<'_>, connection: ConnectionId) -> Result<Classes> {
        let by_digest =
            places::classes(sql, connection)?.into_iter().map(|(id, digest)| (digest, id)).collect();
        Ok(Classes { connection, by_level: HashMap::new(), by_digest, pretended: 0 })
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

/// Places of one connection.
pub(crate) struct Places {
    connection: ConnectionId,
    by_name: HashMap<String, Place>,
    /// Folder of keys that a place rules, for those met in this run; none above the source.
    folders: HashMap<PlaceId, Option<String>>,
    pretended: i64,
}

fn device(identity: &str) -> &str {
    identity.split(':').next().unwrap_or(identity)
}

impl Places {
    pub(crate) fn load(sql: &mut Sql<'_>, connection: ConnectionId) -> Result<Places> {
        let by_name =
            places::list(sql, connection)?.into_iter().map(|place| (place.name.clone(), place)).collect();
        Ok(Places { connection, by_name, folders: HashMap::new(), pretended: 0 })
    }

    /// The place of that name, as met last.
    pub(crate) fn id(&self, name: &str) -> Option<PlaceId> {
        self.by_name.get(name).map(|place| place.id)
    }

    /// Whether a report changes anything: a quiet run must not write.
    pub(crate) fn knows(&self, report: &PlaceReport, level: Option<ClassId>) -> bool {
        let parent = report.parent.as_deref().map(|name| self.id(name));
        self.by_name.get(&report.name).is_some_and(|place| {
            place.identity == report.identity
                && Some(place.level) == level
                && place.wider.is_none()
                && parent.is_none_or(|parent| parent == place.parent)
        })
    }

    /// Notes that a place was met, without any change.
    pub(crate) fn note(&mut self, report: &PlaceReport) -> Option<PlaceId> {
        let id = self.id(&report.name)?;
        self.folders.insert(id, report.folder.clone());
        Some(id)
    }

    /// Takes a report in: narrowing rules at once, widening waits for [`Places::prove`].
    ///
    /// True when the folder is on another device than at its last complete listing (design 4.5); `accept` takes that for
    /// granted. `sql` is none in a run that writes nothing.
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
        if let Some(place) = self.by_name.get_mut(&report.name) {
            let same = place.identity == report.identity;
            other_device = !same && !accept && device(&place.identity) != device(&report.identity);
            if same && place.parent != parent {
                place.parent = parent;
                if let Some(sql) = sql.as_deref_mut() {
                    places::move_to(sql, place.id, parent)?;
                }
            }
            // On another device, the old place stays the one that was listed completely last; both must admit.
            if same || other_device {
                if planted(Mutation::PlaceWidenedBeforeItIsProven) && place.level != level {
                    place.level = level;
                    place.wider = None;
                    if let Some(sql) = sql.as_deref_mut() {
                        places::judge(sql, place)?;
                    }
                }
                let wider = (place.level != level).then_some(level);
                if place.wider != wider {
                    place.wider = wider;
                    if let Some(sql) = sql {
                        places::judge(sql, place)?;
                    }
                }
                self.folders.insert(place.id, report.folder.clone());
                return Ok(other_device);
            }
            if let Some(sql) = sql.as_deref_mut() {
                places::leave(sql, place.id, now)?;
            }
        }
        let id = match sql {
            Some(sql) => places::add(sql, self.connection, parent, &report.name, &report.identity, level)?,
            None => {
                self.pretended -= 1;
                PlaceId(self.pretended)
            }
        };
        let place = Place {
            id,
            parent,
            name: report.name.clone(),
            identity: report.identity.clone(),
            level,
            wider: None,
            also: Vec::new(),
        };
        self.by_name.insert(report.name.clone(), place);
        self.folders.insert(id, report.folder.clone());
        Ok(other_device)
    }

    /// Opens the places that became wider, for what this run has proven (design 4.20).
    ///
    /// `narrow` are places that rule documents which were kept or held: they stay as they are. Places below that were
    /// not proven carry the old level on.
    pub(crate) fn prove(
        &mut self,
        sql: &mut Sql<'_>,
        coverage: &Coverage,
        narrow: &HashSet<PlaceId>,
    ) -> Result<()> {
        let root_proven = coverage.folder_proven("");
        let proven: HashSet<PlaceId> = self
            .folders
            .iter()
            .filter(|(id, folder)| {
                !narrow.contains(id)
                    && folder.as_deref().map_or(root_proven, |name| coverage.folder_proven(name))
            })
            .map(|(id, _)| *id)
            .collect();
        let opening: HashMap<PlaceId, ClassId> = self
            .by_name
            .values()
            .filter(|place| place.wider.is_some() && proven.contains(&place.id))
            .map(|place| (place.id, place.level))
            .collect();
        if opening.is_empty() && self.by_name.values().all(|place| place.also.is_empty()) {
            return Ok(());
        }
        let parents: HashMap<PlaceId, Option<PlaceId>> =
            self.by_name.values().map(|place| (place.id, place.parent)).collect();
        for place in self.by_name.values_mut() {
            let before = place.clone();
            if proven.contains(&place.id) {
                place.also.clear();
                if let Some(wider) = place.wider.take() {
                    place.level = wider;
                }
            } else {
                let mut above = place.parent;
                while let Some(id) = above {
                    if let Some(old) = opening.get(&id)
                        && !place.also.contains(old)
                    {
                        place.also.push(*old);
                    }
                    above = parents.get(&id).copied().flatten();
                }
            }
            if *place != before {
                places::judge(sql, place)?;
            }
        }
        Ok(())
    }
}
