//! A repository in memory that a scenario scripts: what is there, what cannot be read, and how a listing goes wrong.

mod reading;
pub mod server;
pub mod site;
pub mod wiki;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use ingather_contract::repository::{RepositoryCapabilities, RepositoryKind, Told};
use ingather_contract::settings::{NoSettings, schema_of};
use ingather_model::access::Acl;
use ingather_model::fault::Fault;
use ingather_model::job::dates::Dates;
use ingather_model::key::Stamp;
use ingather_store::turns::lock;

use crate::crash::Crash;
use crate::together::gate::Gate;

/// Lists folders of a scripted source: `{"world": name, "root": "d/"}`.
pub static REPOSITORY: RepositoryKind = RepositoryKind {
    name: "script",
    about: "A source in memory that a scenario scripts.",
    capabilities: RepositoryCapabilities {
        list: true,
        access: true,
        unique_uris: true,
        looks: true,
        bins: true,
    },
    source_schema: schema_of::<NoSettings>,
    open: |source, _| {
        let world = source["world"].as_str().unwrap_or_default().to_owned();
        let root = source["root"].as_str().unwrap_or_default().to_owned();
        Ok(Arc::new(ScriptRepository { source: shared(&world), name: world, root }))
    },
};

/// The same; its bins are as many of the first folders of a name as [`Source::bins`] says.
pub static REPOSITORY_OF_BINS: RepositoryKind = RepositoryKind {
    name: "script_of_bins",
    capabilities: RepositoryCapabilities { bins: true, ..REPOSITORY.capabilities },
    ..REPOSITORY
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
    pub acl: Acl,
    /// At so many looks and reads its versions cannot be told.
    pub racy: u32,
    /// The reader may not open it.
    pub unreadable: bool,
    /// Listed, and gone when it is read or probed.
    pub vanishing: bool,
    /// Not listed, and there when it is probed.
    pub unlisted: bool,
    /// Not listed, because a rule leaves it out.
    pub excluded: bool,
    /// Its reading, and the listing that names it, meets a defect of the connector.
    pub panics: bool,
    /// Answer of the next reads, and of how many.
    pub fault: Option<(Fault, u32)>,
    /// Answer of the next looks, and of how many.
    pub look_fault: Option<(Fault, u32)>,
    /// What it says of its dates.
    pub dates: Dates,
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
    pub acl: Acl,
    /// Time of its last change of any kind but its entries.
    pub ctime: i64,
}

/// A change of the source while it is read, see [`Source::meet`].
#[derive(Clone, Debug)]
pub struct Meanwhile {
    /// `list`, `folder`, `folder:s/`, `look`, `read` or `stamps`.
    pub point: String,
    /// The how-manieth time that this place is met, counted from 1.
    pub nth: u64,
    /// What changes, one after the other.
    pub steps: Vec<Step>,
}

/// One change of the source.
#[derive(Clone)]
pub struct Step(pub Arc<dyn Fn(&mut Source) + Send + Sync>);

impl std::fmt::Debug for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Deed")
    }
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
    pub credentials: String,
    /// How a listing behaves.
    pub listing: ListingScript,
    /// Items of a page at most.
    pub page_items: usize,
    /// Names that were read, in order.
    pub fetched: Vec<String>,
    /// The time of each of these reads.
    pub fetched_at: Vec<i64>,
    /// Whoever reads a file of that name waits here.
    pub gates: BTreeMap<String, Gate>,
    /// How many of the first folders of a name are bins.
    pub bins: usize,
    /// Where the world dies.
    pub crash: Arc<Crash>,
    /// What changes in the middle of the next run.
    pub meanwhile: Vec<Meanwhile>,
    /// The next listing that begins waits here before that page of its, counted from 1: what it tells then is as of its beginning.
    pub pauses: Vec<(usize, Gate)>,
    /// What its watch tells next, one answer after the other; none: it cannot be watched.
    pub told: Option<VecDeque<Told>>,
    /// What it was between changes in the middle of a run.
    pub states: Vec<Source>,
    met: HashMap<String, u64>,
    changes: i64,
}

impl Default for Source {
    fn default() -> Source {
        Source {
            files: BTreeMap::new(),
            folders: BTreeMap::new(),
            absent: false,
            credentials: "reader".to_owned(),
            listing: ListingScript::default(),
            page_items: 3,
            fetched: Vec::new(),
            fetched_at: Vec::new(),
            gates: BTreeMap::new(),
            bins: 0,
            crash: Arc::default(),
            meanwhile: Vec::new(),
            pauses: Vec::new(),
            told: None,
            states: Vec::new(),
            met: HashMap::new(),
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
            acl: Acl::open(),
            racy: 0,
            unreadable: false,
            vanishing: false,
            unlisted: false,
            excluded: false,
            panics: false,
            fault: None,
            look_fault: None,
            dates: Dates::default(),
        })
    }

    /// The folder of that name, made when it is not there.
    pub fn folder(&mut self, name: &str) -> &mut Folder {
        let ctime = self.next_change();
        let inode = ctime as u64;
        self.folders.entry(name.to_owned()).or_insert_with(|| Folder {
            unreadable: false,
            changing: false,
            device: 1,
            inode,
            acl: Acl::open(),
            ctime,
        })
    }

    /// A place in a run is met: what was to happen there happens now.
    pub(crate) fn meet(&mut self, point: &str) {
        if self.meanwhile.is_empty() {
            return;
        }
        let times = self.met.entry(point.to_owned()).or_insert(0);
        *times += 1;
        let times = *times;
        let due = |meanwhile: &Meanwhile| meanwhile.point == point && meanwhile.nth == times;
        let due: Vec<Meanwhile> = self.meanwhile.iter().filter(|other| due(other)).cloned().collect();
        for Step(step) in due.into_iter().flat_map(|meanwhile| meanwhile.steps) {
            step(self);
            let (files, folders) = (self.files.clone(), self.folders.clone());
            self.states.push(Source { files, folders, ..Source::default() });
        }
    }

    /// A run is over: what has not happened in it does not happen any more. What the source was meanwhile.
    pub fn over(&mut self) -> Vec<Source> {
        self.meanwhile.clear();
        self.met.clear();
        std::mem::take(&mut self.states)
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
            (file.vanishing, file.unlisted, file.racy) = (false, false, 0);
            (file.fault, file.look_fault) = (None, None);
        }
    }
}

/// Of all worlds of this process: none of them gives its turn away here, or its order of turns would go by what the others do.
static SOURCES: LazyLock<Mutex<HashMap<String, Arc<Mutex<Source>>>>> = LazyLock::new(Mutex::default);

/// The source of that name, made when it is not there; kinds are opened from settings alone, so names stand for sources.
pub fn shared(name: &str) -> Arc<Mutex<Source>> {
    let mut sources = SOURCES.lock().unwrap_or_else(PoisonError::into_inner);
    sources.entry(name.to_owned()).or_default().clone()
}

/// The source itself.
pub fn locked(source: &Mutex<Source>) -> MutexGuard<'_, Source> {
    lock(source)
}

/// One root of a scripted source.
struct ScriptRepository {
    source: Arc<Mutex<Source>>,
    name: String,
    root: String,
}

/// Version of a file's content.
pub(crate) fn content_stamp(file: &File) -> Stamp {
    if file.racy > 0 {
        Stamp::NONE
    } else {
        Stamp([1, file.mtime as u64, file.identity as u64, file.content.len() as u64])
    }
}

/// Version of what decides about a file's access.
pub(crate) fn access_stamp(file: &File) -> Stamp {
    if file.racy > 0 { Stamp::NONE } else { Stamp([2, file.ctime as u64, 0, 0]) }
}

/// What two looks at a folder are compared by.
pub(crate) fn folder_stamp(folder: &Folder) -> Stamp {
    Stamp([folder.device, folder.inode, folder.ctime as u64, 0])
}
