//! What an operation is given: the program around it, who asks, and the parts to work with.

use std::any::Any;
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ingather_contract::call::{CallContext, Cancel, Clock};
use ingather_contract::registry::Registry;
use ingather_contract::repository::HostContext;
use ingather_engine::authorities::ByToken;
use ingather_engine::progress::Progress;
use ingather_engine::{Engine, Process};
use ingather_model::access::identity::Identity;
use ingather_model::ids::JobId;
use ingather_model::job::Definition;
use ingather_store::leases::Lease;
use ingather_store::secrets::KEY_FILE;
use ingather_store::{Durability, Reader, Store};

use crate::callers::answers_log::AnswersLog;
use crate::callers::links::Links;
pub use crate::callers::places::Places;
use crate::jobs::events::{Listener, RunEvent};
use crate::operation::{OwnSources, Remote, Role};
use crate::problem::{Code, Problem, Result};
use crate::system::Look;

/// The program around the operations. A command opens and locks for each of them; a service does so once.
pub trait Host {
    /// The data directory.
    fn data(&self) -> &Path;

    /// Where the key of secrets is.
    fn secrets_key(&self) -> PathBuf {
        self.data().join(KEY_FILE)
    }

    /// The inventory for reading; none when there is none yet.
    ///
    /// # Errors
    /// When it is there and cannot be read.
    fn reader(&self) -> Result<Option<Reader>>;

    /// The same for a run: an inventory of an earlier version is brought up to date first, and `doing` told meanwhile.
    ///
    /// # Errors
    /// As [`Host::reader`], and what hinders that.
    fn reader_up_to_date(&self, doing: &str) -> Result<Option<Reader>>;

    /// Refuses what [`Host::write`] would refuse of the data directory, without a write.
    ///
    /// # Errors
    /// What it would say.
    fn refuse_unusable(&self) -> Result<()>;

    /// The right to write, until it is dropped; `doing` is told to whoever wants it meanwhile.
    ///
    /// # Errors
    /// When somebody else has it, or nothing can be written.
    fn write(&self, doing: &str) -> Result<Writing>;

    /// The same for what nothing else may write beside: repairs, which compare what is with what should be.
    ///
    /// # Errors
    /// As [`Host::write`], and while anything else writes.
    fn write_alone(&self, doing: &str) -> Result<Writing> {
        self.write(doing)
    }

    /// The same for what no repair looks at: keys, the record of changes, pauses.
    ///
    /// # Errors
    /// As [`Host::write`].
    fn write_beside(&self, doing: &str) -> Result<Writing> {
        self.write(doing)
    }

    /// Folders below which callers from elsewhere may name sources and files of outputs: paths without links.
    fn roots(&self) -> &[PathBuf] {
        &[]
    }

    /// Names of the notifiers that there are; none where nobody knows.
    fn notifiers(&self) -> Option<Vec<String>> {
        None
    }

    /// What goes on with work after its caller was answered; none in a program that ends with its answer.
    fn background(&self) -> Option<&dyn Background> {
        None
    }

    /// Where answers about access are put on record; none where they are not.
    fn answers_log(&self) -> Option<&AnswersLog> {
        None
    }

    /// The login links of a service; none where nobody logs in.
    fn links(&self) -> Option<&Links> {
        None
    }

    /// Who has the right to write, in words; none when nobody does, or nobody here can tell.
    fn holder(&self) -> Option<String>;

    /// Whether the inventory is in the data directory itself, so that nobody works on it from elsewhere.
    fn keeps_the_store(&self) -> bool;

    /// The flag that asks to stop.
    fn cancel(&self) -> Cancel;

    /// What all engines of the program share, so that each output is open once.
    fn process(&self) -> Arc<Process>;

    /// Threads for listing and reading.
    fn threads(&self) -> usize;

    /// Makes ready what reads files; asked before a source may be read.
    fn read_files(&self);

    /// What is wrong with the program's own files in the data directory, and what to do about each.
    fn own_files(&self) -> Vec<(String, String)>;

    /// Whether the processes that read files can be started, and what holds them.
    fn check_readers(&self) -> Look;

    /// Is told of a file or folder that is to go when the program is ended before it is whole.
    fn unfinished(&self, path: &Path);

    /// Takes bytes that are asked for without a file to put them in.
    fn bytes_out(&self) -> Box<dyn Write + '_>;

    /// Gives bytes that come without a file.
    fn bytes_in(&self) -> Box<dyn Read + '_>;

    /// Tells whoever watches what happens to a run.
    fn tell(&self, _: &RunEvent) {}

    /// Shows how far something has come, until the answer is dropped.
    fn watch(&self, progress: Arc<Progress>) -> Box<dyn Any>;
}

/// Work that goes on after its caller was answered; what it did, in a sentence.
pub type Work = Box<dyn FnOnce(&Context<'_>) -> Result<String> + Send>;

/// What goes on with work after its caller was answered: a service.
pub trait Background {
    /// Begins work in a thread of its own, and tells whoever watches the service when it fails.
    ///
    /// # Errors
    /// `Busy` while as much is under way as may be, `Resources` when no thread can be started.
    fn go(&self, doing: Doing, work: Work) -> Result<()>;
}

/// What whoever watches a service is told of work.
#[derive(Clone, Debug)]
pub struct Doing {
    /// What it is.
    pub words: String,
    /// Its end is told, too, if it ends well.
    pub tells_end: bool,
}

impl Doing {
    /// Work of which the end is told.
    pub fn told(words: String) -> Doing {
        Doing { words, tells_end: true }
    }

    /// Work that comes again and again: only that it failed is told.
    pub fn quiet(words: String) -> Doing {
        Doing { words, tells_end: false }
    }
}

/// A change that a client asked for, for a log that programs read.
#[derive(Clone, Copy, Debug)]
pub struct LogEntry<'a> {
    /// Name of the operation.
    pub event: &'static str,
    /// `done`, or the code of its problem.
    pub outcome: &'static str,
    /// The job that it is about; empty where it is about none.
    pub job: &'a str,
    /// Who asked.
    pub caller: &'a str,
    /// The id of the request.
    pub request: &'a str,
}

/// A program around operations that others than its own thread can ask, each with a context of its own.
pub trait Service: Send + Sync {
    /// What an operation is given.
    fn context(&self) -> Context<'_>;

    /// Tells whoever watches the service, in one line.
    fn log(&self, line: &str);

    /// Notes a change that a client asked for, where the log is for programs; people have the record of changes.
    fn note(&self, entry: &LogEntry<'_>);

    /// Lets somebody hear of what happens to runs from now on, to the end of the program.
    fn listen(&self, listener: Listener);
}

/// The right to write, as long as this lives.
pub struct Writing {
    /// The inventory.
    pub store: Store,
    /// What fences each write.
    pub lease: Lease,
    _part: Box<dyn Any + Send + Sync>,
    right: Arc<Right>,
}

/// A right that was taken; given back with the last that writes by it.
struct Right {
    store: Store,
    lease: Lease,
    _lock: Box<dyn Any + Send + Sync>,
}

impl Writing {
    /// A right that was taken; `lock` is let go with it.
    pub fn new(store: Store, lease: Lease, lock: Box<dyn Any + Send + Sync>) -> Writing {
        let right = Arc::new(Right { store: store.clone(), lease: lease.clone(), _lock: lock });
        Writing { store, lease, _part: Box::new(()), right }
    }

    /// The same right for one more who writes; `part` is let go when that one has ended.
    pub fn shared(&self, part: Box<dyn Any + Send + Sync>) -> Writing {
        let Writing { store, lease, right, .. } = self;
        Writing { store: store.clone(), lease: lease.clone(), _part: part, right: right.clone() }
    }
}

impl Drop for Right {
    fn drop(&mut self) {
        // What is left on record is taken over by the next writer of this directory anyway.
        let _ = self.store.write(Durability::Relaxed, |sql| self.lease.leave(sql));
    }
}

/// Who asks.
pub struct Caller<'a> {
    /// Who they are, for what is kept of what they began: `command line`, `key` and a name, `user` and a number.
    pub name: &'a str,
    /// What they may do.
    pub roles: &'a [Role],
    /// Who they are to each group of authorities by the word of the program, asked for when needed.
    pub identity: &'a dyn Fn() -> Result<Identity>,
    /// Where sources and files of outputs may lie that they name.
    pub places: Places<'a>,
    /// Who they are by the token that they presented, where they ask about themselves, and may ask about nobody else.
    pub themselves: Option<&'a ByToken>,
    /// Into which sources they may push.
    pub sources: OwnSources<'a>,
}

impl Caller<'_> {
    /// Whether they have a role.
    pub fn has(&self, role: Role) -> bool {
        self.roles.contains(&role) || self.roles.contains(&Role::Admin)
    }

    /// Refuses whoever has not this role, for `what` they ask.
    ///
    /// # Errors
    /// `Forbidden`.
    pub fn needs(&self, role: Role, what: &str) -> Result<()> {
        if self.has(role) {
            return Ok(());
        }
        Err(Problem::new(
            Code::Forbidden,
            format!("{what} needs the role {}; ask an administrator for it", role.as_str()),
        ))
    }
}

/// What every operation is given.
pub struct Context<'a> {
    /// The program around it.
    pub host: &'a dyn Host,
    /// Kinds that are linked in.
    pub registry: Registry,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The service that does all of it, where this program only asks one.
    pub remote: Option<&'a dyn Remote>,
}

impl Context<'_> {
    /// The inventory for reading, or the sentence that says how to begin.
    ///
    /// # Errors
    /// `NothingYet`, or what [`Host::reader`] says.
    pub fn existing(&self) -> Result<Reader> {
        self.host.reader()?.ok_or_else(|| {
            let data = self.host.data().display();
            Problem::new(
                Code::NothingYet,
                format!("there is nothing in {data} yet; begin with `ingather sync FOLDER`"),
            )
        })
    }

    /// An engine over the data directory; `writing` gives it the right to write. `own_files` are never documents.
    pub fn engine(&self, reader: Reader, writing: Option<&Writing>, own_files: &[String]) -> Engine {
        self.host.read_files();
        let own = [identity(self.host.data()), identity(&self.host.secrets_key())];
        let mut own: Vec<(u64, u64)> = own.into_iter().flatten().collect();
        own.extend(own_files.iter().filter_map(|file| identity(file.as_ref())));
        Engine {
            reader,
            writer: writing.map(|writing| (writing.store.clone(), writing.lease.clone())),
            registry: self.registry,
            clock: self.clock.clone(),
            cancel: self.host.cancel(),
            data: self.host.data().to_owned(),
            host: HostContext { own, threads: self.host.threads(), ..HostContext::default() },
            process: self.host.process(),
            asked_by: String::new(),
        }
    }

    /// The context of a call that is made outside a run.
    pub fn call(&self) -> CallContext {
        CallContext { clock: self.clock.clone(), cancel: self.host.cancel() }
    }

    /// Milliseconds since 1970 UTC.
    pub fn now(&self) -> i64 {
        self.clock.now()
    }

    /// Whether somebody works on this job now, or may do so where nobody here can tell.
    pub(crate) fn works_on(&self, job: JobId) -> bool {
        match self.host.background() {
            Some(_) => self.host.process().works_on(job),
            None => self.may_work(),
        }
    }

    /// Whether somebody may work on a job now: with a store that others share, nobody here can tell.
    pub(crate) fn may_work(&self) -> bool {
        !self.host.keeps_the_store() || self.host.holder().is_some()
    }
}

/// Device and inode of a path, when it is there.
pub fn identity(path: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(path).ok().map(|facts| (facts.dev(), facts.ino()))
}

/// Files that the outputs of a job write to: they are never documents of it.
pub fn journals(definition: &Definition) -> Vec<String> {
    definition.outputs.iter().filter_map(|name| name.strip_prefix("journal:")).map(str::to_owned).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::jobs::{self, ListJobs};

    struct Still;

    impl Clock for Still {
        fn now(&self) -> i64 {
            0
        }
    }

    /// A program that has an inventory for reading, or nothing: whoever asks it for something was let through.
    struct Program(Option<Reader>);

    impl Host for Program {
        fn data(&self) -> &Path {
            Path::new("")
        }
        fn reader(&self) -> Result<Option<Reader>> {
            Ok(self.0.clone())
        }
        fn reader_up_to_date(&self, _: &str) -> Result<Option<Reader>> {
            Ok(self.0.clone())
        }
        fn refuse_unusable(&self) -> Result<()> {
            Ok(())
        }
        fn write(&self, _: &str) -> Result<Writing> {
            Err(Problem::unable("nothing can be written"))
        }
        fn holder(&self) -> Option<String> {
            None
        }
        fn keeps_the_store(&self) -> bool {
            true
        }
        fn cancel(&self) -> Cancel {
            Cancel::default()
        }
        fn process(&self) -> Arc<Process> {
            Arc::default()
        }
        fn threads(&self) -> usize {
            1
        }
        fn read_files(&self) {}
        fn own_files(&self) -> Vec<(String, String)> {
            Vec::new()
        }
        fn unfinished(&self, _: &Path) {}
        fn bytes_out(&self) -> Box<dyn Write + '_> {
            Box::new(std::io::sink())
        }
        fn bytes_in(&self) -> Box<dyn Read + '_> {
            Box::new(std::io::empty())
        }
        fn check_readers(&self) -> Look {
            Look::good("readers", "there are none")
        }
        fn watch(&self, _: Arc<Progress>) -> Box<dyn Any> {
            Box::new(())
        }
    }

    /// Asks a program without an inventory, as somebody with these roles.
    pub(crate) fn asked<A>(
        roles: &[Role],
        ask: impl FnOnce(&Context<'_>, &Caller<'_>) -> Result<A>,
    ) -> Option<Code> {
        asked_of(None, roles, ask).err().map(|problem| problem.code)
    }

    /// Asks a program with this inventory, as somebody with these roles.
    pub(crate) fn asked_of<A>(
        reader: Option<Reader>,
        roles: &[Role],
        ask: impl FnOnce(&Context<'_>, &Caller<'_>) -> Result<A>,
    ) -> Result<A> {
        asked_within(reader, roles, OwnSources::All, ask)
    }

    /// The same as somebody who may push into these sources.
    pub(crate) fn asked_within<A>(
        reader: Option<Reader>,
        roles: &[Role],
        sources: OwnSources<'_>,
        ask: impl FnOnce(&Context<'_>, &Caller<'_>) -> Result<A>,
    ) -> Result<A> {
        let registry = Registry { repositories: &[], transforms: &[], outputs: &[], authorities: &[] };
        let context = Context { host: &Program(reader), registry, clock: Arc::new(Still), remote: None };
        let identity = || Ok(Identity::anonymous());
        let (name, places) = ("a test", Places::Any);
        ask(&context, &Caller { name, roles, identity: &identity, places, themselves: None, sources })
    }

    #[test]
    fn whoever_lacks_the_role_is_refused_before_anything_is_looked_at() {
        let list = |roles: &[Role]| {
            asked(roles, |context, caller| {
                jobs::LIST.call(context, caller, ListJobs { limit: 1, cursor: None })
            })
        };
        assert_eq!(list(&[]), Some(Code::Forbidden));
        assert_eq!(list(&[Role::Searcher, Role::TokenReader]), Some(Code::Forbidden));
        assert_eq!(list(&[Role::Operator]), None);
        assert_eq!(list(&[Role::Admin]), None);
    }
}
