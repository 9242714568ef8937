//! An output: holds entries by address. It receives batches and answers per item; the engine keeps the delivery log.

use std::sync::Arc;

use ingather_model::access::Acl;
use ingather_model::access::identity::Group;
use ingather_model::document::Record;
use ingather_model::fault::Fault;
use ingather_model::ids::{AclId, ContainerId, Digest};
use ingather_model::run_counts::RunCounts;

use crate::call::CallContext;
use crate::search::{AskedEntry, AskedOutput, SearchRequest, SearchResults};
use crate::settings::Schema;

/// A kind of output, as registered.
pub struct OutputKind {
    /// Name in definitions, such as `index`.
    pub name: &'static str,
    /// One sentence for lists and manuals.
    pub about: &'static str,
    /// What it is able to do.
    pub capabilities: OutputCapabilities,
    /// Schema of its settings.
    pub schema: fn() -> Schema,
    /// Opens it for writing; settings were checked before.
    ///
    /// # Errors
    /// A fault that says who holds it, or that it belongs to another store.
    pub open: fn(settings: &serde_json::Value, context: &OutputContext) -> Result<Box<dyn Output>, Fault>,
    /// Whether [`OutputKind::open`] could open it, asked without making, locking or changing anything. Who holds it is not
    /// asked: it may be let go by then.
    ///
    /// # Errors
    /// What `open` would answer.
    pub check: fn(settings: &serde_json::Value, context: &OutputContext) -> Result<(), Fault>,
    /// Opens it for looking, also beside a writer and where nothing can be written; makes nothing. None where it can list
    /// nothing ([`OutputCapabilities::list`]).
    pub look: Option<Look>,
    /// Takes everything that it holds away, as it is, so that opening it makes it anew: the cure for damage. None where
    /// nothing can be damaged that is not somebody's own.
    pub discard: Option<fn(settings: &serde_json::Value, context: &OutputContext) -> Result<(), Fault>>,
    /// Opens it for search. None where nothing can be searched.
    pub search: Option<OpenSearch>,
    /// Puts a copy of its last commit into a new folder, also beside a writer; where that commit stands, and none when it is not
    /// there yet. None where nothing is kept in the data directory.
    pub copy: Option<CopyOutput>,
    /// What settings say of where its entries go, in words that are the same for the same place: no two outputs may share one. None where
    /// its name says that, and for settings that say nothing of it. Secrets may be missing in the settings.
    pub place: Option<fn(settings: &serde_json::Value) -> Option<String>>,
    /// Asks the server that it is on, in the query language there. None where it is on none.
    pub ask: Option<AskServer>,
}

/// Asks a server; none where it holds nothing of this store yet.
///
/// # Errors
/// What the server refuses, or that it is away.
pub type AskServer = fn(
    settings: &serde_json::Value,
    context: &OutputContext,
    call: &CallContext,
    asked: &AskedOutput<'_>,
) -> Result<Option<AskedResults>, Fault>;

/// The answer of a server.
#[derive(Clone, Debug, PartialEq)]
pub struct AskedResults {
    /// Where the output stood when it was asked.
    pub stands: Generation,
    /// How many entries match and pass the filter.
    pub total: usize,
    /// The page that was asked for, the best first.
    pub hits: Vec<AskedEntry>,
}

/// Opens an output for looking; none when it is not there yet.
///
/// # Errors
/// A fault that says what is wrong with it, or that it belongs to another store.
pub type Look = fn(
    settings: &serde_json::Value,
    context: &OutputContext,
) -> Result<Option<Box<dyn OutputSnapshot>>, Fault>;

/// Abilities of an output; the engine and the suite go by them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputCapabilities {
    /// Applied changes are kept only from [`Output::commit`] on; nothing is confirmed before.
    pub commits: bool,
    /// Takes access by reference and applies it without the record.
    pub access: bool,
    /// Lists what it holds, for `verify`.
    pub list: bool,
    /// Judges access by what it was told ([`Output::tell`]), not by the inventory. Such an output takes access by reference and
    /// has no commits.
    pub told: bool,
}

/// Where a local output keeps its state.
#[derive(Clone, Debug)]
pub struct OutputContext {
    /// The data directory.
    pub data: std::path::PathBuf,
    /// Identity of the store that keeps the delivery log; an output that belongs to another one refuses to open.
    pub store: String,
    /// Number of this opening, which no other has: [`Generation::session`] of whatever it commits.
    pub session: i64,
}

/// One change for one address. Addresses are the unit of order and of exclusion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// URI of the document, with the component, if any, as [`ingather_model::document::component_uri`] writes it: unique in
    /// the output.
    pub id: String,
    /// Keyed hash of `id`.
    pub address: i64,
    /// Handle of the job that sends it.
    pub job: i64,
    /// Name of that job, for people.
    pub job_name: Arc<str>,
    /// Name of the document in its job.
    pub document: String,
    /// Larger than that of every earlier change of this address, whoever sent it: newest wins.
    pub seq: i64,
    /// What to do.
    pub op: Op,
}

/// What to do at an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Put the entry, replacing what is there.
    Put {
        /// The entry.
        record: Arc<Record>,
        /// Digest of record and settings.
        version: Digest,
        /// Its acl; none masks it: nobody finds it.
        acl_id: Option<AclId>,
        /// Its container; none masks it: nobody finds it.
        container: Option<ContainerId>,
    },
    /// Change the access of the entry that is there, and whose it is: [`Change::job`], [`Change::job_name`] and
    /// [`Change::document`].
    Access {
        /// The entry that is spoken of, as [`Op::Put`] numbers it; none: whatever is there is masked, or nobody knows which it is.
        version: Option<Digest>,
        /// Its acl.
        acl_id: Option<AclId>,
        /// Its container.
        container: Option<ContainerId>,
    },
    /// Take the entry out; it is no error when there is none.
    Delete,
}

/// Who may see what is below a container, as the runs of one job have proven it: entries refer to it by [`Change::job`] and the
/// container of [`Op`]. Within one state of an output ([`Says::Begin`]) it is never another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JobContainer {
    /// The container.
    pub container: ContainerId,
    /// Handle of the job.
    pub job: i64,
}

impl std::fmt::Display for JobContainer {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "{}-{}", self.container.0, self.job)
    }
}

/// Something beside entries that an output with [`OutputCapabilities::told`] is told, in the order of its changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// As [`Change::seq`].
    pub seq: i64,
    /// What it says.
    pub says: Says,
}

/// What a [`Statement`] says. What was not told of, or is told of as none, admits nobody.
#[derive(Clone, Debug, PartialEq)]
pub enum Says {
    /// A run of a job, or what a person asked of it, begins. With another state than before, all that was told before is void:
    /// the inventory does not speak of it.
    Begin {
        /// Number of the state, positive.
        state: i64,
        /// Name of the job.
        job: Arc<str>,
        /// Number of the run, as `job runs` shows it; none where it is no run.
        run: Option<i64>,
        /// `full`, `minimal`, `confirm`, `delete`.
        work: &'static str,
        /// Number of this opening, which no other one has.
        opening: i64,
        /// [`Generation::number`] where it stood when it was opened: whoever follows it and has not come that far lacks something
        /// that nobody tells again. 0 when nothing of this state was told before.
        follows: i64,
    },
    /// What an acl admits; it never changes.
    Acl {
        /// The acl.
        id: AclId,
        /// Whose tokens judge it: [`Acl::admits`] by those that somebody holds in this group.
        group: Group,
        /// Whom it admits.
        acl: Acl,
    },
    /// All that must admit at a container and above it, in place of what was told of it before.
    Container {
        /// Which.
        id: JobContainer,
        /// Acls; none: the inventory does not know all of them.
        acls: Option<Vec<AclId>>,
    },
    /// What has to admit to the entry at an address beside what the entry says, whatever it is put as meanwhile: access of it is
    /// known and on its way. In place of what was told of it before; at last nothing.
    Also {
        /// As [`Change::address`].
        address: i64,
        /// Acl and container of each.
        references: Vec<(Option<AclId>, Option<JobContainer>)>,
    },
    /// What began last ends: what was told is what a search would go by.
    End {
        /// As in [`Says::Begin`].
        job: Arc<str>,
        /// As in [`Says::Begin`].
        run: Option<i64>,
        /// `done`, `stopped`, `failed`.
        outcome: &'static str,
        /// What it did.
        counts: RunCounts,
    },
}

/// What an output holds at one address, for `verify`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputEntry {
    /// As in [`Change::id`].
    pub id: String,
    /// As in [`Change::address`], as it was sent; 0 when the entry carries none. Only the store that sent it can
    /// make one that fits the id, so it tells its own entries from foreign ones.
    pub address: i64,
    /// As in [`Change::job`].
    pub job: i64,
    /// As in [`Op::Put`].
    pub version: Digest,
    /// Class.
    pub acl_id: Option<AclId>,
    /// Place.
    pub container: Option<ContainerId>,
}

/// Where a committing output stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generation {
    /// Identity of this very output (an index that is made anew gets another one, a file that begins otherwise too).
    pub identity: String,
    /// Number of its last commit; grows by one with each. Of an output with [`OutputCapabilities::told`]: [`Change::seq`] of the last
    /// change that is in it, 0 when nobody can say.
    pub number: i64,
    /// Largest [`Change::seq`] that it has seen; 0 when it does not keep any. One above what the store has
    /// noted as sent to this output tells that the store was restored from an earlier day.
    pub seq: i64,
    /// [`OutputContext::session`] of the opening that wrote it last; 0 before there was one. After store and output were both
    /// put back to an earlier day, numbers are given out again: the session tells one commit of a number from another.
    pub session: i64,
}

/// [`Generation::identity`] of an output that has lost, while it is open, something that it was told: whatever it is told from
/// then on fails, and the next opening tells it everything anew.
pub const LOST: &str = "lost";

/// How an output with [`OutputCapabilities::told`] stands to what the delivery log noted of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Continuity {
    /// It holds what it held then, and nothing that another writer added since.
    Same,
    /// It begins anew, as a file does that was rotated: what its entries refer to is told again.
    Anew,
    /// It is another one, or has lost something: all that it holds is void.
    Other,
}

/// One output, opened for writing by one process.
pub trait Output: Send {
    /// Applies a batch; one answer per change, in order. `Err` is about that change alone.
    ///
    /// `Passing` faults are sent again, `Refused` and `Broken` are not. `Gone` in answer to [`Op::Access`] says that the
    /// output holds no such entry: the engine then sends the record.
    fn apply(&mut self, call: &CallContext, batch: &[Change]) -> Vec<Result<(), Fault>>;

    /// Takes statements in, durably, before anything that is applied later; all of them, or it fails. Asked only of outputs
    /// with [`OutputCapabilities::told`].
    ///
    /// # Errors
    /// Nobody knows which of them were taken in: they are told again.
    fn tell(&mut self, _call: &CallContext, _statements: &[Statement]) -> Result<(), Fault> {
        Err(Fault::refused("cannot_be_told", "it judges access by the inventory"))
    }

    /// Compares it with what [`Generation::identity`] said when that was noted last; `opening` is the last one that may have told it
    /// something since ([`Says::Begin`]). Asked only of outputs with [`OutputCapabilities::told`], before they are told anything.
    ///
    /// # Errors
    /// It cannot be read.
    fn continuity(&mut self, identity: &str, _opening: i64) -> Result<Continuity, Fault> {
        Ok(if self.generation().identity == identity { Continuity::Same } else { Continuity::Anew })
    }

    /// Makes everything applied so far durable. Outputs without commits return their only generation.
    ///
    /// # Errors
    /// Nothing since the last commit counts as applied.
    fn commit(&mut self, call: &CallContext) -> Result<Generation, Fault>;

    /// Where it stands now: what survived the last end of the process.
    fn generation(&self) -> Generation;

    /// Drops every entry, durably, because the delivery log does not speak of them any more; everything is sent again.
    /// [`Generation::seq`] stays, unless no store gives such numbers out. Outputs without commits have nothing that could
    /// differ from the delivery log, and do nothing.
    ///
    /// # Errors
    /// The entries are still there.
    fn clear(&mut self, _call: &CallContext) -> Result<Generation, Fault> {
        Ok(self.generation())
    }

    /// Entries after `after` in the order of their ids, at most `most`; empty at the end.
    ///
    /// # Errors
    /// `Refused` when the output cannot list.
    fn list(
        &mut self,
        call: &CallContext,
        after: Option<&str>,
        most: usize,
    ) -> Result<Vec<OutputEntry>, Fault>;
}

/// What an output holds, as one commit left it, for somebody who only looks.
pub trait OutputSnapshot: Send {
    /// Where that commit stands.
    fn generation(&self) -> Generation;

    /// As [`Output::list`].
    ///
    /// # Errors
    /// It cannot be read.
    fn list(
        &mut self,
        call: &CallContext,
        after: Option<&str>,
        most: usize,
    ) -> Result<Vec<OutputEntry>, Fault>;

    /// What of it is damaged, a clause each; `every_entry` also reads each entry and follows its id. Bounded in number.
    ///
    /// # Errors
    /// It cannot be told.
    fn damage(&mut self, call: &CallContext, every_entry: bool) -> Result<Vec<String>, Fault>;
}

/// Copies the last commit of an output into a new folder, best on the same disk.
///
/// # Errors
/// `Passing` when commits keep coming in between; `Refused` when it cannot be copied; those of a damaged output.
pub type CopyOutput =
    fn(context: &OutputContext, into: &std::path::Path) -> Result<Option<Generation>, Fault>;

/// Opens an output for search, also beside a writer; none when it is not there yet. It is looked up in the data directory of
/// the context and belongs to its store.
///
/// # Errors
/// A fault with what to do when it is another store's, of another format, damaged or cannot be read.
pub type OpenSearch = fn(context: &OutputContext) -> Result<Option<Box<dyn Search>>, Fault>;

/// An output as one commit left it, opened for search; never in the way of a writer.
pub trait Search: Send + Sync {
    /// Which output this is, and which commit is seen; what is seen may already be a little newer.
    fn generation(&self) -> Generation;

    /// Whether opening the output now would show the same commit. False where nobody can tell.
    fn is_current(&self) -> bool;

    /// Answers a query.
    ///
    /// # Errors
    /// `Refused` with code `query` and a sentence that names the place when the query cannot be understood.
    fn search(&self, request: &SearchRequest<'_>) -> Result<SearchResults, Fault>;
}

/// Looks at an output by opening it: for those whose opening makes and changes nothing, and that cannot be damaged.
pub struct AsOpened(pub Box<dyn Output>);

impl OutputSnapshot for AsOpened {
    fn generation(&self) -> Generation {
        self.0.generation()
    }

    fn list(
        &mut self,
        call: &CallContext,
        after: Option<&str>,
        most: usize,
    ) -> Result<Vec<OutputEntry>, Fault> {
        self.0.list(call, after, most)
    }

    fn damage(&mut self, _call: &CallContext, _every_entry: bool) -> Result<Vec<String>, Fault> {
        Ok(Vec::new())
    }
}
