//! A repository: where content lives. It lists what there is, proves ranges, and reads one document at a time.

use std::io::Read;
use std::sync::Arc;

use ingather_model::access::Acl;
use ingather_model::document::Record;
use ingather_model::fairness::pace::Pace;
use ingather_model::fault::{Fault, Reason};
use ingather_model::key::{Stamp, parent_bytes};
use ingather_model::scope::{BlindSpot, Scope};

pub use crate::observed::Observed;

use crate::call::CallContext;
use crate::inbox::{Files, Inbox};
use crate::refers::Refers;
use crate::settings::Schema;
use crate::sink::Allowed;

/// A kind of repository, as registered.
pub struct RepositoryKind {
    /// Name in definitions, such as `filesystem`.
    pub name: &'static str,
    /// One sentence for lists and manuals.
    pub about: &'static str,
    /// What it is able to do.
    pub capabilities: RepositoryCapabilities,
    /// Schema of the settings of a job that uses it (what to include).
    pub source_schema: fn() -> Schema,
    /// Opens it for one job; settings were checked against the schema before.
    pub open: fn(source: &serde_json::Value, host: &HostContext) -> Result<Arc<dyn Repository>, Fault>,
}

/// Abilities of a repository; the engine and the suite go by them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepositoryCapabilities {
    /// Lists with versions and proves ranges (design 4.5).
    pub list: bool,
    /// Reports who may see a document.
    pub access: bool,
    /// Two keys never share a URI, so that no other document of the job can own an address.
    pub unique_uris: bool,
    /// Two looks at a document or a container can be compared ([`ContainerReport::stamp`], [`Repository::stamps`]): nothing is shown
    /// that was read while either changed (design 4.20). One that cannot gives access and content in one answer, or its word
    /// is taken.
    pub looks: bool,
    /// Names bins ([`Repository::bins`]): its documents are taken in turns of them. All documents of a job over one that does not are one
    /// bin, which has the name of the job.
    pub bins: bool,
}

/// What surrounds a repository on this machine.
#[derive(Clone, Debug, Default)]
pub struct HostContext {
    /// Files and folders of the program itself (data directory, journals) by device and inode: never documents.
    pub own: Vec<(u64, u64)>,
    /// Threads that a listing may use.
    pub threads: usize,
    /// What applications have pushed into the source that is opened; none where nothing is kept for it, such as while its settings are checked.
    pub inbox: Option<Arc<dyn Inbox>>,
}

/// One source, opened for one job. All calls may come from several threads at once.
pub trait Repository: Send + Sync {
    /// Checks that the source can be reached; the sentence says what was found.
    ///
    /// # Errors
    /// [`Fault::Gone`] when the root does not exist, anything else when it cannot be read.
    fn check(&self, call: &CallContext) -> Result<String, Fault>;

    /// Begins a listing from the start.
    ///
    /// # Errors
    /// A fault when nothing at all can be listed; the run then proves nothing and removes nothing.
    fn list(&self, call: &CallContext) -> Result<Box<dyn Listing>, Fault>;

    /// Looks at one document without its content.
    ///
    /// # Errors
    /// [`Fault::Gone`] when it does not exist; `Refused` when a rule of the source settings leaves it out.
    fn look(&self, call: &CallContext, key: &str) -> Result<Observed, Fault>;

    /// Reads one document: calls `read` with the bytes, from the start again when it changed meanwhile; the last call
    /// counts. `read` may fill the record that the connector began. An answer without stamps says that what was read may be of no
    /// one version: where looks can be compared, it is shown to nobody.
    ///
    /// # Errors
    /// Those of [`Repository::look`]; `Unreadable` when the reader may not have it; whatever `read`
    /// returned.
    fn fetch(&self, call: &CallContext, key: &str, read: &mut ReadContent<'_>) -> Result<Observed, Fault>;

    /// Looks once more at containers that it has reported, by name: each stamp as in [`ContainerReport::stamp`], but for the age of what
    /// it tells, which only the first of two looks needs. [`Stamp::NONE`] for a container that is not there. Asked for few containers at
    /// a time, before anything is sent that was read in them.
    fn stamps(&self, call: &CallContext, containers: &[&str]) -> Vec<Stamp> {
        let _ = call;
        vec![Stamp::NONE; containers.len()]
    }

    /// Looks again at all containers above the document `key`, from the top down, as a listing would report them now. Asked when a
    /// container was not the same in two looks; from now on its stamp should hold still while others come and go in it.
    ///
    /// # Errors
    /// Those of [`Repository::look`].
    fn containers_of(&self, call: &CallContext, key: &str) -> Result<Vec<ContainerReport>, Fault> {
        let _ = (call, key);
        Ok(Vec::new())
    }

    /// After this time a change that was made shows in stamps, milliseconds.
    fn grain_ms(&self) -> i64 {
        0
    }

    /// Whether the document is there, asked singly before it is removed. An error counts as not known.
    fn probe(&self, call: &CallContext, key: &str) -> Presence;

    /// Who may see a document that is there and that a rule of the job leaves out, asked in each run while its removal is held. None
    /// when that cannot be told now: it stays as it is.
    fn acl_of_left_out(&self, call: &CallContext, key: &str) -> Option<Acl> {
        let _ = (call, key);
        None
    }

    /// What a document has to share with others at the source, such as its host, and the disk or the account behind it: at most
    /// [`limits::BINS_OF_A_DOCUMENT_MAX`](ingather_model::limits::BINS_OF_A_DOCUMENT_MAX) names, always the same ones for one name. Bins take turns;
    /// how much is read of each, rules of the connection say. Answered at once, from the name alone.
    fn bins(&self, key: &str) -> Vec<String> {
        let _ = key;
        Vec::new()
    }

    /// How often documents of a bin may be fetched, as its owner wants it; none where nobody says. Asked before each fetch, for the first of
    /// the bins of a document alone, and answered at once: it may change while a run goes on.
    fn pace(&self, bin: &str) -> Option<Pace> {
        let _ = bin;
        None
    }

    /// Its address: the URI of its entry in outputs.
    fn uri(&self, key: &str) -> String;

    /// Where a person finds it, as a URI: its address, unless the source has moved since outputs were told of that.
    fn place(&self, key: &str) -> String {
        self.uri(key)
    }

    /// What a person means by `text`: the name of a document, its URI, or whatever else names it at the source.
    ///
    /// # Errors
    /// The reason why it names nothing that could be a document of this source, such as a path outside its root.
    fn named(&self, text: &str) -> Result<Named, Reason> {
        Ok(Named::of(text.to_owned()))
    }

    /// Whether there may be documents below a folder, by the settings alone: false where they leave out all of it, whatever is there.
    fn may_hold(&self, folder: &str) -> bool {
        let _ = folder;
        true
    }

    /// How a name stands with the source and with the rules of the job now, asked singly because a person wants to
    /// know. The verdict comes from the code that a listing goes by, so that the two never differ.
    fn explain(&self, call: &CallContext, key: &str) -> SourceStatus {
        match self.look(call, key) {
            Ok(observed) => SourceStatus::Taken(Box::new(observed)),
            Err(fault) => SourceStatus::of_fault(fault, key),
        }
    }

    /// What a person should know of this source and has not decided about, after it was checked or listed: whole sentences.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Who reads: user, groups, credentials, never a secret itself. When it is another one than at the last complete listing,
    /// documents that could not be read are tried again.
    fn credentials_fingerprint(&self) -> String {
        String::new()
    }

    /// How it is visited, where its documents are found by following links; its listing then names seeds and proves nothing.
    fn refers(&self) -> Option<&dyn Refers> {
        None
    }

    /// What takes in what is pushed into the source, where its documents are what applications push
    /// ([`Inbox`]). Whoever pushes one asks for its visit, so that no date has it looked at; what goes was told to go, and no guard
    /// holds it.
    fn pushed(&self) -> Option<Receives> {
        None
    }

    /// Begins to watch the source for changes; none where this kind of source cannot tell of any. Returns at once; the first that is told is
    /// [`Told::Lost`] once the watch stands, or [`Told::Ended`].
    fn watch(&self, call: &CallContext, watching: Watching) -> Option<Box<dyn Watch>> {
        let _ = (call, watching);
        None
    }
}

/// How a source is to be watched.
#[derive(Clone)]
pub struct Watching {
    /// Called when there is something to tell and was nothing before: then [`Watch::told`] is to be asked. It returns at once and may be
    /// called by any thread, also while [`Watch::told`] is asked.
    pub wake: Arc<dyn Fn() + Send + Sync>,
    /// Folders that are watched at most; with more, the watch ends.
    pub folders_max: usize,
}

/// A source that is watched, until this is dropped. What it says is only when to look, and where: nothing is taken for gone, changed or
/// open because of it. It may tell of too much, and twice; what it does not tell of it has to call lost.
pub trait Watch: Send {
    /// What has happened since it was asked last; never waits.
    fn told(&mut self) -> Told;

    /// After this time a change that was told shows in versions and stamps, milliseconds.
    fn grain_ms(&self) -> i64;
}

/// What a watch says of the time since it was asked last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// Nothing has happened, or the watch does not stand yet.
    Nothing,
    /// Something changed in these scopes, or with the folders themselves.
    Changed {
        /// Where; each once, and not more than [`limits::WATCH_SCOPES_MAX`](ingather_model::limits::WATCH_SCOPES_MAX).
        scopes: Vec<Scope>,
        /// When the first of the changes was noticed, by [`CallContext::steady`].
        since: i64,
        /// When the last one was.
        until: i64,
    },
    /// Something may have changed anywhere that it did not tell; from now on it tells again.
    Lost(Reason),
    /// It cannot tell of all changes, and tells of none any more.
    Ended(Reason),
}

/// Consumes the content of one document and completes its record. The acl is the document's own as it is opened, the same
/// that the answer has when nothing changes meanwhile: content goes only where what is read for such documents goes.
pub type ReadContent<'a> = dyn FnMut(&mut Record, &Acl, &mut dyn Read) -> Result<(), Fault> + 'a;

/// A listing under way. Dropping it ends it.
pub trait Listing: Send {
    /// The next page; none when the listing is over. After a fault nothing more is to be had, and what was not proven
    /// stays unproven.
    fn next(&mut self) -> Option<Result<Page, Fault>>;
}

/// A piece of a listing. A parent's items may come in several pages; its scope is in `proven` of the last one.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// Containers, parents before children; each is known before an item names it.
    pub containers: Vec<ContainerReport>,
    /// Items by parent.
    pub groups: Vec<Group>,
    /// Ranges of which all items have now been told.
    pub proven: Vec<Scope>,
    /// Ranges that could not be read. What is known below them is kept.
    pub blind: Vec<BlindSpot>,
    /// Names that the source has but the job leaves out because of their kind (special file, link, own file).
    pub skipped: Vec<Skipped>,
    /// The root is there and holds nothing at all.
    pub root_empty: bool,
}

/// Something that will not be indexed, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Name below the root.
    pub key: String,
    /// Stable word and sentence.
    pub reason: Reason,
}

/// What takes in what applications push into a source.
#[derive(Clone, Debug)]
pub struct Receives {
    /// The container of it all.
    pub container: ContainerReport,
    /// How much of it there may be.
    pub quotas: Quotas,
    /// How long it is buffered.
    pub buffering: Buffering,
    /// What may be named as the content of records; none: no file.
    pub files: Option<Arc<dyn Files>>,
    /// Where reports may be sent.
    pub sinks: Arc<dyn Allowed>,
}

/// How long what is pushed of a record is buffered, so that what follows soon takes its place; zero: not at all (coverage S4.26).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Buffering {
    /// Since its last change, milliseconds.
    pub ms: i64,
    /// Since its first change that no output has, milliseconds.
    pub ms_max: i64,
}

/// How much applications may push into a source; none: as much as there is room for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quotas {
    /// Records that are there at once.
    pub records_max: Option<u64>,
    /// Records and deletions of a minute.
    pub records_a_minute_max: Option<u32>,
}

/// A folder or share that rules access to what is in it (design 4.20).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerReport {
    /// Absolute, unique in the connection, such as `/srv/share/notes`.
    pub name: String,
    /// Name of the container above; none at the top.
    pub parent: Option<String>,
    /// What makes it another container when it is replaced under the same name: device and inode.
    pub identity: String,
    /// Who may pass (for folders: the execute right).
    pub acl: Acl,
    /// The folder of keys that it rules directly, as in [`Scope::Folder`]; none when it stands above the source.
    pub folder: Option<String>,
    /// Equal in two looks: between them it was this container, under this name, and nobody else might pass. Told of a time before
    /// `acl` was asked for. [`Stamp::NONE`] when this look proves nothing: it changed too lately, or the source has none.
    pub stamp: Stamp,
}

/// Items that share a parent.
#[derive(Clone, Debug, Default)]
pub struct Group {
    /// Parent part of the keys, such as `notes/`; empty at the root.
    pub parent: String,
    /// Name of the container that rules them.
    pub container: Option<String>,
    /// The items, each once.
    pub items: Vec<Item>,
    /// Who may see all of them, where a source that is not listed says so with its seeds. With that, a seed that outputs hold in its version
    /// ([`Item::content`]), for those who may see it, is not visited.
    pub acl: Option<Acl>,
}

/// One document as a listing names it. Its key is the group's parent followed by `name`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Name below the parent.
    pub name: String,
    /// Version of the content; [`Stamp::NONE`] when it cannot be told (racy).
    pub content: Stamp,
    /// Version of what decides about access; [`Stamp::NONE`] when it cannot be told.
    pub access: Stamp,
    /// What stays when it is renamed (for a file: hash of device, inode, size, mtime); 0 = not known.
    pub identity: i64,
}

/// A document that a person named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// Its key.
    pub key: String,
    /// How many bytes of it are its parent part, as in [`Group::parent`].
    pub parent_bytes: usize,
}

impl Named {
    /// A key whose parent part ends with its last slash.
    pub fn of(key: String) -> Named {
        Named { parent_bytes: parent_bytes(&key), key }
    }
}

/// What a name stands for at the source, see [`Repository::explain`]; reasons are told to people as they are.
#[derive(Clone, Debug)]
pub enum SourceStatus {
    /// It is there, the job takes it, and it can be read.
    Taken(Box<Observed>),
    /// A rule of the job, or what it is, leaves it out.
    Left(Reason),
    /// It, or a folder above it, cannot be read.
    Closed(Reason),
    /// It is not there.
    Absent(Reason),
    /// Nobody can tell now.
    Unknown(Reason),
}

impl SourceStatus {
    /// What the fault of a look at `key` says about it.
    pub fn of_fault(fault: Fault, key: &str) -> SourceStatus {
        match fault {
            Fault::Gone => SourceStatus::Absent(Reason::new("absent", format!("`{key}` is not there"))),
            Fault::Unreadable(reason) => SourceStatus::Closed(reason),
            Fault::Refused(reason) => SourceStatus::Left(reason),
            Fault::Passing { reason, .. } | Fault::Broken(reason) => SourceStatus::Unknown(reason),
        }
    }
}

/// Answer to a single probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It is there.
    Present,
    /// The source says that it does not exist.
    Absent,
    /// It exists, but a rule of the job's settings leaves it out.
    Excluded,
    /// Nobody can tell now.
    Unknown,
}
