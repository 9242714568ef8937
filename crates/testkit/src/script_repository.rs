//! A repository in memory that a scenario scripts: what is there, what cannot be read, and how a listing goes wrong.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use ingather_contract::call::CallContext;
use ingather_contract::repository::{
    ContainerReport, Listing, Observed, Presence, ReadContent, Repository, RepositoryCapabilities,
    RepositoryKind, Told, Watch, Watching,
};
use ingather_contract::settings::{NoSettings, schema_of};
use ingather_model::access::Acl;
use ingather_model::document::Record;
use ingather_model::fault::{Fault, Reason};
use ingather_model::key::Stamp;
use ingather_model::limits;
use ingather_store::turns::lock;

use crate::crash::Crash;
use crate::script_listing;
use crate::together::gate::Gate;

/// Lists folders of a scripted source: `{"world": name, "root": "d/"}`.
pub static REPOSITORY: RepositoryKind = RepositoryKind {
    name: "script",
    about: "A source in memory that a scenario scripts.",
    capabilities: RepositoryCapabilities { list: true, access: true, unique_uris: true, looks: true },
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
            acl: file.acl.clone(),
            record,
        }
    }
}

/// A watch that tells what a test wants.
struct ScriptWatch {
    source: Arc<Mutex<Source>>,
    stands: bool,
}

impl Watch for ScriptWatch {
    fn told(&mut self) -> Told {
        if !std::mem::replace(&mut self.stands, true) {
            return Told::Lost(Reason::new("begun", "the watch begins"));
        }
        locked(&self.source).told.as_mut().and_then(VecDeque::pop_front).unwrap_or(Told::Nothing)
    }

    fn grain_ms(&self) -> i64 {
        100
    }
}

impl Repository for ScriptRepository {
    fn check(&self, _call: &CallContext) -> Result<String, Fault> {
        if locked(&self.source).absent { Err(Fault::Gone) } else { Ok("it is there".to_owned()) }
    }

    fn list(&self, _call: &CallContext) -> Result<Box<dyn Listing>, Fault> {
        let mut source = locked(&self.source);
        if source.crash.reach("before list") {
            return Err(dead());
        }
        if source.absent {
            return Err(Fault::Gone);
        }
        let pages = script_listing::pages(&mut source, &self.name, &self.root);
        source.meet("list");
        Ok(Box::new(pages))
    }

    fn watch(&self, _call: &CallContext, _watching: Watching) -> Option<Box<dyn Watch>> {
        let source = self.source.clone();
        locked(&source).told.as_ref()?;
        Some(Box::new(ScriptWatch { source, stands: false }))
    }

    fn look(&self, _call: &CallContext, key: &str) -> Result<Observed, Fault> {
        let mut source = locked(&self.source);
        if source.crash.reach("before look") {
            return Err(dead());
        }
        source.meet("look");
        if let Some(file) = source.files.get_mut(&format!("{}{key}", self.root))
            && let Some((fault, times)) = &mut file.look_fault
            && *times > 0
        {
            *times -= 1;
            return Err(fault.clone());
        }
        Ok(self.observed(key, &self.find(&source, key)?))
    }

    fn stamps(&self, _call: &CallContext, containers: &[&str]) -> Vec<Stamp> {
        let mut source = locked(&self.source);
        source.meet("stamps");
        let begin = format!("/{}/", self.name);
        let stamp = |container: &&str| source.folders.get(container.strip_prefix(&begin)?).map(folder_stamp);
        containers
            .iter()
            .map(|container| stamp(container).filter(|_| !source.absent).unwrap_or(Stamp::NONE))
            .collect()
    }

    fn containers_of(&self, _call: &CallContext, key: &str) -> Result<Vec<ContainerReport>, Fault> {
        let mut source = locked(&self.source);
        self.find(&source, key)?;
        Ok(script_listing::containers_of(&mut source, &self.name, &self.root, key))
    }

    fn grain_ms(&self) -> i64 {
        100
    }

    fn fetch(&self, _call: &CallContext, key: &str, read: &mut ReadContent<'_>) -> Result<Observed, Fault> {
        let name = format!("{}{key}", self.root);
        let mut file = {
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
        if file.panics {
            // Without the hook, which would print it.
            std::panic::resume_unwind(Box::new("index out of bounds"));
        }
        if file.unreadable {
            return Err(Fault::unreadable("the reader may not open it"));
        }
        for attempt in 1.. {
            // What is read is there when it is read; who may see it, and its times, were asked for before.
            let content = {
                let mut source = locked(&self.source);
                source.meet("read");
                source.files.get(&name).map(|file| file.content.clone()).ok_or(Fault::Gone)?
            };
            let mut observed = self.observed(key, &file);
            observed.record.body = Some(content.clone());
            observed.record.size = Some(content.len() as u64);
            read(&mut observed.record, &observed.acl, &mut content.as_bytes())?;
            let now = self.find(&locked(&self.source), key)?;
            if let Some(file) = locked(&self.source).files.get_mut(&name)
                && file.racy < u32::MAX
            {
                file.racy = file.racy.saturating_sub(1);
            }
            if (now.mtime, now.ctime, now.identity) == (file.mtime, file.ctime, file.identity) {
                return Ok(observed);
            }
            if attempt == limits::READ_ATTEMPTS_MAX {
                return Ok(Observed { content: Stamp::NONE, access: Stamp::NONE, ..observed });
            }
            file = now;
        }
        Err(Fault::Gone)
    }

    fn acl_of_left_out(&self, _call: &CallContext, key: &str) -> Option<Acl> {
        let source = locked(&self.source);
        let file = source.files.get(&format!("{}{key}", self.root));
        file.filter(|file| !source.absent && !file.vanishing).map(|file| file.acl.clone())
    }

    fn probe(&self, _call: &CallContext, key: &str) -> Presence {
        let source = locked(&self.source);
        let name = format!("{}{key}", self.root);
        if source.crash.reach("before probe") {
            return Presence::Unknown;
        }
        let above = |folder: &str| source.folders.get(folder).is_some_and(|folder| folder.unreadable);
        if source.absent || above("") || name.match_indices('/').any(|(at, _)| above(&name[..=at])) {
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

    fn credentials_fingerprint(&self) -> String {
        locked(&self.source).credentials.clone()
    }
}
