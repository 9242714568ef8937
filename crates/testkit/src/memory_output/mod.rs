//! An output in memory: what it holds outlives the engine, as with a real one; it fails, is slow and forgets as told.

mod calls;
mod injected;
mod missed;
mod stands;

use std::collections::{BTreeMap, HashMap};
use std::mem;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};

use ingather_contract::call::CallContext;
use ingather_contract::output::{
    Change, Generation, Op, Output, OutputCapabilities, OutputContext, OutputEntry, Statement,
};
use ingather_model::document::Record;
use ingather_model::fault::Fault;
use ingather_model::ids::{AclId, ContainerId, Digest};
use ingather_store::turns::lock;

pub use self::calls::Calls;
use crate::clock::HandClock;
use crate::crash::Crash;
use crate::rules::Rules;
use crate::script_repository::site::HANDED;
use crate::together::gate::Gate;

pub use self::injected::{Effect, InjectedFault};

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Keyed hash of its id.
    pub address: i64,
    /// Body, or title when there is none.
    pub text: String,
    /// Fields that a stage marked it with.
    pub mark: Option<String>,
    /// What was handed down to it.
    pub handed: Vec<String>,
    /// Digest of record and settings.
    pub version: Digest,
    /// Its acl.
    pub acl_id: Option<AclId>,
    /// Its container.
    pub container: Option<ContainerId>,
    /// The job that sent it.
    pub job: i64,
}

/// What an output holds from a commit on, and what it says about it.
#[derive(Clone, Debug, Default)]
struct Commit {
    identity: u64,
    number: i64,
    session: i64,
    entries: BTreeMap<String, Entry>,
    seq: i64,
    newest: HashMap<String, i64>,
}

/// What one output holds; it outlives every engine.
#[derive(Debug)]
pub struct Shelf {
    /// Entries as they would be found now.
    pub entries: BTreeMap<String, Entry>,
    /// What it was told of who may see.
    pub rules: Rules,
    /// Largest number of a change that was seen, and the last number of each address.
    seq: i64,
    newest: HashMap<String, i64>,
    /// The opening that writes.
    session: i64,
    committed: Commit,
    earlier: Commit,
    backup: Option<(Commit, Rules)>,
    late: Vec<Change>,
    /// What was taken of entries of which whoever follows the output has missed something, from that on.
    pub(crate) missed: BTreeMap<String, Vec<Change>>,
    /// It or the delivery log were not put back since it was opened last: whoever opens it finds out.
    pub fits: bool,
    /// How often it lost everything: it was emptied because it did not fit the delivery log, or forgot.
    pub emptied: u32,
    /// What goes wrong, the first that fits.
    pub faults: Vec<InjectedFault>,
    /// The next answers are one too few.
    pub short_answers: u32,
    /// The next batches take effect twice, and are answered twice.
    pub double_answers: u32,
    /// The next commits fail.
    pub failing_commits: u32,
    /// It forgets everything after so many changes, while it is open.
    pub forgets_after: Option<u32>,
    /// It answers no batch before this is opened.
    pub gate: Option<Gate>,
    /// It cannot be opened.
    pub is_away: bool,
    /// It cannot be opened, for what it holds is damaged.
    pub is_damaged: bool,
    /// Time that each call takes, milliseconds.
    pub slow_ms: i64,
    /// Calls since they were asked for last.
    pub calls: Calls,
    /// Operations in order, since they were asked for last.
    pub told: Vec<String>,
    /// Broken promises of the engine.
    pub violations: Vec<String>,
    records: Vec<Weak<Record>>,
    /// Most records that it was sent before, and that somebody still had in memory when it was asked to commit.
    pub records_at_commit: usize,
    commits: bool,
    told_of_access: bool,
    /// Where the world dies.
    pub crash: Arc<Crash>,
    /// The time.
    pub clock: HandClock,
}

impl Default for Shelf {
    fn default() -> Shelf {
        Shelf {
            entries: BTreeMap::new(),
            rules: Rules::default(),
            seq: 0,
            newest: HashMap::new(),
            session: 0,
            committed: Commit { identity: 1, ..Commit::default() },
            earlier: Commit { identity: 1, ..Commit::default() },
            backup: None,
            late: Vec::new(),
            missed: BTreeMap::new(),
            fits: true,
            emptied: 0,
            faults: Vec::new(),
            short_answers: 0,
            double_answers: 0,
            failing_commits: 0,
            forgets_after: None,
            gate: None,
            is_away: false,
            is_damaged: false,
            slow_ms: 0,
            calls: Calls::default(),
            told: Vec::new(),
            violations: Vec::new(),
            records: Vec::new(),
            records_at_commit: 0,
            commits: false,
            told_of_access: false,
            crash: Arc::default(),
            clock: HandClock::at(0),
        }
    }
}

impl Shelf {
    /// It loses everything, and is another one from now on.
    pub fn forget(&mut self) {
        let other = Commit { identity: self.committed.identity + 1, ..Commit::default() };
        self.earlier = other.clone();
        self.emptied += 1;
        self.stand_at(other);
    }

    /// It is cut, as a file is: it loses what it was told of who may see, and whoever follows it keeps the entries.
    pub fn cut(&mut self) {
        self.rules.cut();
        self.committed.identity += 1;
    }

    /// It is rotated, as a file is: it begins again, and whoever follows it keeps all that it was told.
    pub fn rotate(&mut self) {
        self.committed.identity += 1;
        self.seq = 0;
    }

    /// A change comes in: it may be the one before which everything is forgotten.
    fn count_down(&mut self) {
        match self.forgets_after {
            Some(0) => {
                self.forgets_after = None;
                self.forget();
            }
            Some(left) => self.forgets_after = Some(left - 1),
            None => {}
        }
    }

    /// The process that had it open is gone: what was not committed is lost.
    pub fn lose_uncommitted(&mut self) {
        if self.commits {
            self.stand_at_commit();
        }
    }

    fn stand_at_commit(&mut self) {
        self.entries = self.committed.entries.clone();
        self.newest = self.committed.newest.clone();
        self.seq = self.committed.seq;
        self.late.clear();
        self.missed.clear();
    }

    /// It was put back, or another one was put in its place: whoever opens it next finds out.
    fn stand_at(&mut self, commit: Commit) {
        self.fits = false;
        self.committed = commit;
        self.stand_at_commit();
    }

    fn make_commit(&mut self) {
        self.records.retain(|record| record.strong_count() > 0);
        self.records_at_commit = self.records_at_commit.max(self.records.len());
        let commit = Commit {
            identity: self.committed.identity,
            number: self.committed.number + 1,
            session: self.session,
            entries: self.entries.clone(),
            seq: self.seq,
            newest: self.newest.clone(),
        };
        self.earlier = std::mem::replace(&mut self.committed, commit);
    }

    /// Keeps a copy of what it holds now.
    pub fn back_up(&mut self) {
        self.take_missed();
        let now = Commit { entries: self.entries.clone(), seq: self.seq, ..self.committed.clone() };
        let copied = if self.commits { self.committed.clone() } else { now };
        self.backup = (self.commits || self.told_of_access).then(|| (copied, self.rules.clone()));
    }

    /// Puts the copy back, if there is one.
    pub fn restore(&mut self) {
        if let Some((backup, rules)) = self.backup.clone() {
            self.stand_at(backup);
            self.rules = rules;
        }
    }

    /// It stands as before its last commit: a backup was restored.
    pub fn go_back(&mut self) {
        self.stand_at(self.earlier.clone());
    }

    fn take_late(&mut self) {
        for change in mem::take(&mut self.late) {
            if self.newest.get(&change.id) == Some(&change.seq) {
                // Nobody waits for this answer any more.
                let _ = self.take(&change);
            }
        }
    }

    /// A change takes effect.
    fn take(&mut self, change: &Change) -> Result<(), Fault> {
        self.seq = self.seq.max(change.seq);
        let missed = self.missed.get_mut(&change.id).map(|missed| missed.push(change.clone())).is_some();
        match &change.op {
            Op::Put { record, version, acl_id, container } => {
                self.calls.put += 1;
                self.records.push(Arc::downgrade(record));
                self.told.push(format!("put {}", change.id));
                let entry = Entry {
                    address: change.address,
                    text: record.body.clone().unwrap_or_else(|| record.title.clone()),
                    handed: record.fields.get(HANDED).cloned().unwrap_or_default(),
                    mark: record.fields.get("mark").and_then(|marks| marks.first().cloned()),
                    version: *version,
                    acl_id: *acl_id,
                    container: *container,
                    job: change.job,
                };
                self.entries.insert(change.id.clone(), entry);
            }
            Op::Access { version, acl_id, container } => {
                self.calls.access += 1;
                self.told.push(format!("access {}", change.id));
                let Some(entry) = self.entries.get_mut(&change.id) else {
                    return if missed { Ok(()) } else { Err(Fault::Gone) };
                };
                let fits = version.is_none_or(|version| version == entry.version);
                (entry.acl_id, entry.container) = if fits { (*acl_id, *container) } else { (None, None) };
                entry.job = change.job;
            }
            Op::Delete => {
                self.calls.delete += 1;
                self.told.push(format!("delete {}", change.id));
                self.entries.remove(&change.id);
            }
        }
        Ok(())
    }
}

/// Of all worlds of this process: none of them gives its turn away here, or its order of turns would go by what the others do.
static SHELVES: LazyLock<Mutex<HashMap<String, Arc<Mutex<Shelf>>>>> = LazyLock::new(Mutex::default);

/// The shelf of an output, made when it is not there.
pub fn shared(world: &str, name: &str) -> Arc<Mutex<Shelf>> {
    let mut shelves = SHELVES.lock().unwrap_or_else(PoisonError::into_inner);
    shelves.entry(format!("{world}/{name}")).or_insert_with(|| Shelf::of_name(name)).clone()
}

/// The shelf itself.
pub fn locked<T>(shelf: &Mutex<T>) -> MutexGuard<'_, T> {
    lock(shelf)
}

pub(crate) fn open(
    settings: &serde_json::Value,
    context: &OutputContext,
    capabilities: OutputCapabilities,
) -> Result<Box<dyn Output>, Fault> {
    let text = |name: &str| settings[name].as_str().unwrap_or_default().to_owned();
    let shelf = shared(&text("world"), &text("name"));
    {
        let mut shelf = locked(&shelf);
        if let Some(fault) = shelf.opening_fault() {
            return Err(fault);
        }
        (shelf.commits, shelf.told_of_access) = (capabilities.commits, capabilities.told);
        shelf.fits = true;
        shelf.session = context.session;
        shelf.lose_uncommitted();
    }
    Ok(Box::new(MemoryOutput { shelf, capabilities }))
}

struct MemoryOutput {
    shelf: Arc<Mutex<Shelf>>,
    capabilities: OutputCapabilities,
}

impl MemoryOutput {
    fn one(&self, shelf: &mut Shelf, change: &Change) -> Result<(), Fault> {
        let earlier = shelf.newest.get(&change.id).copied().unwrap_or(i64::MIN);
        if change.seq <= earlier {
            shelf.violations.push(format!("{}: number {} after {earlier}", change.id, change.seq));
        }
        shelf.newest.insert(change.id.clone(), change.seq);
        // Seen is enough, whatever becomes of it.
        shelf.seq = shelf.seq.max(change.seq);
        if matches!(change.op, Op::Access { .. }) && !self.capabilities.access {
            shelf.violations.push(format!("{}: access without the ability", change.id));
        }
        let injected =
            shelf.faults.iter_mut().find(|injected| injected.times > 0 && change.id.contains(&injected.name));
        let Some(injected) = injected else { return shelf.take(change) };
        injected.times -= 1;
        let fault = injected.fault.clone();
        match injected.effect {
            Effect::None => {}
            Effect::AtOnce => shelf.take(change)?,
            Effect::Late => shelf.late.push(change.clone()),
            Effect::Missed => {
                shelf.missed.entry(change.id.clone()).or_default().push(change.clone());
                return Ok(());
            }
        }
        Err(fault)
    }
}

impl Output for MemoryOutput {
    fn apply(&mut self, _call: &CallContext, batch: &[Change]) -> Vec<Result<(), Fault>> {
        let dead = || Err(Fault::passing("dead", "the process is dead"));
        let gate = locked(&self.shelf).gate.clone();
        gate.iter().for_each(Gate::pass);
        let mut shelf = locked(&self.shelf);
        let crash = shelf.crash.clone();
        if crash.reach("before send") {
            return batch.iter().map(|_| dead()).collect();
        }
        let slow = shelf.slow_ms;
        shelf.clock.pass(slow);
        shelf.take_late();
        let mut answers = Vec::new();
        for (n, change) in batch.iter().enumerate() {
            if n > 0 && n == batch.len() / 2 && crash.reach("mid send") {
                return batch.iter().map(|_| dead()).collect();
            }
            shelf.count_down();
            answers.push(self.one(&mut shelf, change));
        }
        if crash.reach("after send") {
            return batch.iter().map(|_| dead()).collect();
        }
        if shelf.short_answers > 0 {
            shelf.short_answers -= 1;
            answers.pop();
        }
        if shelf.double_answers > 0 {
            shelf.double_answers -= 1;
            answers.extend(batch.iter().map(|change| shelf.take(change)));
        }
        answers
    }

    fn tell(&mut self, _call: &CallContext, statements: &[Statement]) -> Result<(), Fault> {
        let dead = || Fault::passing("dead", "the process is dead");
        let mut shelf = locked(&self.shelf);
        let crash = shelf.crash.clone();
        if crash.reach("before tell") {
            return Err(dead());
        }
        // Only what goes wrong with every change goes wrong here.
        let injected =
            shelf.faults.iter_mut().find(|injected| injected.times > 0 && injected.name.is_empty());
        let injected = injected.map(|injected| {
            injected.times -= 1;
            (injected.fault.clone(), injected.effect)
        });
        for statement in statements {
            if statement.seq <= shelf.seq {
                let seq = shelf.seq;
                shelf.violations.push(format!("a statement has the number {} after {seq}", statement.seq));
            }
            shelf.seq = shelf.seq.max(statement.seq);
            // What takes effect late does so at once: statements have no address that something newer could be sent to.
            if injected.as_ref().is_none_or(|(_, effect)| *effect != Effect::None) {
                shelf.hear(&statement.says);
            }
        }
        if crash.reach("after tell") {
            return Err(dead());
        }
        injected.map_or(Ok(()), |(fault, _)| Err(fault))
    }

    fn commit(&mut self, call: &CallContext) -> Result<Generation, Fault> {
        let mut shelf = locked(&self.shelf);
        let crash = shelf.crash.clone();
        if crash.reach("before commit") {
            return Err(Fault::passing("dead", "the process is dead"));
        }
        if shelf.failing_commits > 0 {
            shelf.failing_commits -= 1;
            shelf.lose_uncommitted();
            return Err(Fault::passing("commit", format!("the disk was full at {}", call.clock.now())));
        }
        shelf.make_commit();
        drop(shelf);
        if crash.reach("after commit") {
            return Err(Fault::passing("dead", "the process is dead"));
        }
        Ok(self.generation())
    }

    fn generation(&self) -> Generation {
        locked(&self.shelf).generation(self.capabilities.told)
    }

    fn clear(&mut self, _call: &CallContext) -> Result<Generation, Fault> {
        if self.capabilities.commits {
            let mut shelf = locked(&self.shelf);
            let crash = shelf.crash.clone();
            if crash.reach("before clear") {
                return Err(Fault::passing("dead", "the process is dead"));
            }
            shelf.entries.clear();
            shelf.make_commit();
            shelf.earlier = shelf.committed.clone();
            shelf.emptied += 1;
        }
        Ok(self.generation())
    }

    fn list(
        &mut self,
        _call: &CallContext,
        after: Option<&str>,
        most: usize,
    ) -> Result<Vec<OutputEntry>, Fault> {
        if !self.capabilities.list {
            return Err(Fault::refused("list", "it cannot list"));
        }
        let shelf = locked(&self.shelf);
        let later = shelf.entries.iter().filter(|(id, _)| after.is_none_or(|after| id.as_str() > after));
        let held = |(id, entry): (&String, &Entry)| OutputEntry {
            id: id.clone(),
            address: entry.address,
            job: entry.job,
            version: entry.version,
            acl_id: entry.acl_id,
            container: entry.container,
        };
        Ok(later.take(most).map(held).collect())
    }
}
