//! A repository in memory that a scenario scripts: what is there, what cannot be read, and how a listing goes wrong.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use ingather_connector::call::Call;
use ingather_connector::model::access::Level;
use ingather_connector::model::document::Record;
use ingather_connector::model::fault::Fault;
use ingather_connector::model::key::Stamp;
use ingather_connector::repository::{
    Listing, Observed, Presence, ReadContent, Repository, RepositoryCan, RepositoryKind,
};
use ingather_connector::settings::{NoSettings, schema_of};

use crate::crash::Crash;
use crate::script_listing;

/// Lists folders of a scripted source: `{"world": name, "root": "d/"}`.
pub static REPOSITORY: RepositoryKind = RepositoryKind {
    name: "script",
    about: "A source in memory that a scenario scripts.",
    can: RepositoryCan { list: true, access: true, unique_uris: true },
    source_schema: schema_of::<NoSettings>,
    open: |source, _| {
        let world = source["world"].as_str().unwrap_or_default().to_owned();
        let root = source["root"].as_str().unwrap_or_default().to_owned();
        Ok(Arc::new(ScriptRepository { source: shared(&world), name: world, root }))
    },
};

/// A scripted file.
#[derive(Clone, Debug)]
pub struct File {
    /// Its bytes.
    pub content: String,
    /// Time of its last change of content.
    pub mtime: i64,
    /// Time of its last change of any kind.
    pub ctime: i64,
    /// What stays when it is renamed.
    pub identity: i64,
    /// Who may see it.
    pub level: Level,
    /// Its versions cannot be told.
    pub racy: bool,
    /// The reader may not open it.
    pub unreadable: bool,
    /// Listed, and gone when it is read or probed.
    pub vanishing: bool,
    /// Not listed, and there when it is probed.
    pub unlisted: bool,
    /// Not listed, because a rule leaves it out.
    pub excluded: bool,
    /// Answer of the next reads, and of how many.
    pub fault: Option<(Fault, u32)>,
}

/// A scripted folder.
#[derive(Clone, Debug)]
pub struct Folder {
    /// It cannot be listed.
    pub unreadable: bool,
    /// It changes while it is listed.
    pub changing: bool,
    /// Number of its device.
    pub device: u64,
    /// Number of the folder on its device.
    pub inode: u64,
    /// Who may pass.
    pub level: Level,
}

/// How a listing behaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListingScript {
    /// It fails before this page, counted from 1.
    pub error: Option<usize>,
    /// That page has half its items and proves nothing before it fails.
    pub torn: bool,
    /// Every page comes twice.
    pub twice: bool,
    /// It proves intervals of names instead of folders.
    pub intervals: bool,
}

/// Everything that a scripted source holds; it outlives every engine that reads it.
#[derive(Debug)]
pub struct Source {
    /// Files by name.
    pub files: BTreeMap<String, File>,
    /// Folders that are not just as folders are; names end with `/`.
    pub folders: BTreeMap<String, Folder>,
    /// The root does not exist.
    pub absent: bool,
    /// Who reads.
    pub reader: String,
    /// How a listing behaves.
    pub listing: ListingScript,
    /// Items of a page at most.
    pub page_items: usize,
    /// Names that were read, in order.
    pub fetched: Vec<String>,
    /// Where the world dies.
    pub crash: Arc<Crash>,
    changes: i64,
}

impl Default for Source {
    fn default() -> Source {
        Source {
            files: BTreeMap::new(),
            folders: BTreeMap::new(),
            absent: false,
            reader: "reader".to_owned(),
            listing: ListingScript::default(),
            page_items: 3,
            fetched: Vec::new(),
            crash: Arc::default(),
            changes: 0,
        }
    }
}

impl Source {
    /// A number that no change had before: times and identities are made of it.
    pub fn next_change(&mut self) -> i64 {
        self.changes += 1;
        1_000 + self.changes
    }

    /// The file of that name, made when it is not there.
    pub fn file(&mut self, name: &str) -> &mut File {
        let change = self.next_change();
        self.files.entry(name.to_owned()).or_insert_with(|| File {
            content: String::new(),
            mtime: change,
            ctime: change,
            identity: change,
            level: Level::open(),
            racy: false,
            unreadable: false,
            vanishing: false,
            unlisted: false,
            excluded: false,
            fault: None,
        })
    }

    /// The folder of that name, made when it is not there.
    pub fn folder(&mut self, name: &str) -> &mut Folder {
        let inode = self.next_change() as u64;
        self.folders.entry(name.to_owned()).or_insert_with(|| Folder {
            unreadable: false,
            changing: false,
            device: 1,
            inode,
            level: Level::open(),
        })
    }
}

impl Source {
    /// Everything can be read from now on, and is listed as it is.
    pub fn heal(&mut self) {
        self.absent = false;
        self.listing = ListingScript::default();
        for folder in self.folders.values_mut() {
            (folder.unreadable, folder.changing) = (false, false);
        }
        let change = self.next_change();
        for file in self.files.values_mut() {
            if file.unreadable {
                (file.unreadable, file.ctime) = (false, change);
            }
            (file.vanishing, file.unlisted, file.racy, file.fault) = (false, false, false, None);
        }
    }
}

static SOURCES: LazyLock<Mutex<HashMap<String, Arc<Mutex<Source>>>>> = LazyLock::new(Mutex::default);

/// The source of that name, made when it is not there; kinds are opened from settings alone, so names stand for sources.
pub fn shared(name: &str) -> Arc<Mutex<Source>> {
    SOURCES.lock().unwrap_or_else(PoisonError::into_inner).entry(name.to_owned()).or_default().clone()
}

/// The source itself.
pub fn locked(source: &Mutex<Source>) -> MutexGuard<'_, Source> {
    source.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One root of a scripted source.
struct ScriptRepository {
    source: Arc<Mutex<Source>>,
    name: String,
    root: String,
}

/// Version of a file's content.
pub(crate) fn content_stamp(file: &File) -> Stamp {
    if file.racy {
        Stamp::NONE
    } else {
        Stamp([1, file.mtime as u64, file.identity as u64, file.content.len() as u64])
    }
}

/// Version of what decides about a file's access.
pub(crate) fn access_stamp(file: &File) -> Stamp {
    if file.racy { Stamp::NONE } else { Stamp([2, file.ctime as u64, 0, 0]) }
}

fn dead() -> Fault {
    Fault::passing("dead", "the process is dead")
}

impl ScriptRepository {
    fn find(&self, source: &Source, key: &str) -> Result<File, Fault> {
        let name = format!("{}{key}", self.root);
        let file =
            source.files.get(&name).filter(|file| !source.absent && !file.vanishing).ok_or(Fault::Gone)?;
        if file.excluded {
            return Err(Fault::refused("excluded", "a rule leaves it out"));
        }
        Ok(file.clone())
    }

    fn observed(&self, key: &str, file: &File) -> Observed {
        let record = Record {
            uri: self.uri(key),
            title: key.rsplit('/').next().unwrap_or_default().to_owned(),
            path: format!("{}{key}", self.root),
            size: Some(file.content.len() as u64),
            modified: Some(file.mtime),
            ..Record::default()
        };
        Observed {
            content: content_stamp(file),
            access: access_stamp(file),
            identity: file.identity,
            level: file.level.clone(),
            record,
        }
    }
}

impl Repository for ScriptRepository {
    fn check(&self, _call: &Call) -> Result<String, Fault> {
        if locked(&self.source).absent { Err(Fault::Gone) } else { Ok("it is there".to_owned()) }
    }

    fn list(&self, _call: &Call) -> Result<Box<dyn Listing>, Fault> {
        let mut source = locked(&self.source);
        if source.crash.reach("before list") {
            return Err(dead());
        }
        if source.absent {
            return Err(Fault::Gone);
        }
        Ok(Box::new(script_listing::pages(&mut source, &self.name, &self.root)))
    }

    fn look(&self, _call: &Call, key: &str) -> Result<Observed, Fault> {
        let source = locked(&self.source);
        if source.crash.reach("before look") {
            return Err(dead());
        }
        Ok(self.observed(key, &self.find(&source, key)?))
    }

    fn fetch(&self, _call: &Call, key: &str, read: &mut ReadContent<'_>) -> Result<Observed, Fault> {
        let file = {
            let mut source = locked(&self.source);
            let file = self.find(&source, key)?;
            source.fetched.push(format!("{}{key}", self.root));
            if source.crash.reach("before read") {
                return Err(dead());
            }
            if let Some(file) = source.files.get_mut(&format!("{}{key}", self.root))
                && let Some((fault, times)) = &mut file.fault
                && *times > 0
            {
                *times -= 1;
                return Err(fault.clone());
            }
            file
        };
        if file.unreadable {
            return Err(Fault::refused("unreadable", "the reader may not open it"));
        }
        let mut observed = self.observed(key, &file);
        observed.record.body = Some(file.content.clone());
        read(&mut observed.record, &observed.level, &mut file.content.as_bytes())?;
        Ok(observed)
    }

    fn probe(&self, _call: &Call, key: &str) -> Presence {
        let source = locked(&self.source);
        let name = format!("{}{key}", self.root);
        if source.crash.reach("before probe") {
            return Presence::Unknown;
        }
        let above = |folder: &str| source.folders.get(folder).is_some_and(|folder| folder.unreadable);
        if source.absent || name.match_indices('/').any(|(at, _)| above(&name[..=at])) {
            return Presence::Unknown;
        }
        match source.files.get(&name).filter(|file| !file.vanishing) {
            None => Presence::Absent,
            Some(file) if file.excluded => Presence::Excluded,
            Some(_) => Presence::Present,
        }
    }

    fn uri(&self, key: &str) -> String {
        format!("mem://{}/{}{key}", self.name, self.root)
    }

    fn reader(&self) -> String {
        locked(&self.source).reader.clone()
    }
}
