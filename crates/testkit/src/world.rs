//! A world of its own for one test: a store, an engine, a scripted source, outputs in memory; it can die and come back.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use ingather_contract::access_filter::Reference;
use ingather_contract::call::{Cancel, Clock as _};
use ingather_contract::registry::Registry;
use ingather_contract::repository::HostContext;
use ingather_engine::progress::Progress;
use ingather_engine::remove::Removed;
use ingather_engine::{Engine, EngineError, Mode, Options, Process, Refusal, Report, outputs};
use ingather_model::access::Tokens;
use ingather_model::access::identity::{Group, Identity};
use ingather_model::ids::{ConnectionId, JobId};
use ingather_model::job::{Definition, RunKind};
use ingather_model::key::DocumentKey;
use ingather_model::limits;
use ingather_store::connections::{self, Role};
use ingather_store::jobs::{self, Job};
use ingather_store::leases::{self, Member};
use ingather_store::{Durability, Store, Target, documents, queue};

use crate::clock::HandClock;
use crate::crash::Crash;
use crate::crash::power::{Copy, Power};
use crate::database::{Database, Kind};
use crate::memory_kinds::{COMMITTING, MEMORY, PLAIN, TOLD};
use crate::memory_output::{self, Entry, Shelf};
use crate::script_repository::site::{self, SITE};
use crate::script_repository::{self, REPOSITORY, REPOSITORY_OF_BINS, Source};
use crate::script_transform::TRANSFORM;
use crate::watch::watched;

/// Tables whose rows are of no job: the program's own, and names that are given once and for all.
const STANDING: &[&str] =
    &["meta", "migration", "process", "connection", "id_block", "part", "acl", "container"];

/// Everything that worlds are made of.
pub static REGISTRY: Registry = Registry {
    repositories: &[&REPOSITORY, &REPOSITORY_OF_BINS, &SITE, &ingather_pushed::REFERRING],
    transforms: &[&TRANSFORM],
    outputs: &[&MEMORY, &COMMITTING, &PLAIN, &TOLD],
    authorities: &[],
};

/// Longest random delay of a thread at one place: of the order of a transaction.
const DELAY_US_MAX: u64 = 300;

/// One world.
pub struct World {
    /// Its name, in which its source and its shelves are found.
    pub name: String,
    /// The time.
    pub clock: HandClock,
    /// Where it dies.
    pub crash: Arc<Crash>,
    /// What the source holds.
    pub source: Arc<Mutex<Source>>,
    /// What the outputs hold.
    pub shelves: BTreeMap<String, Arc<Mutex<Shelf>>>,
    /// Workers of a run.
    pub threads: usize,
    engine: Option<Engine>,
    repository: ConnectionId,
    /// Handles of the outputs.
    pub outputs: HashMap<String, ConnectionId>,
    pub(crate) processes: u64,
    power: Arc<Power>,
    backup: Option<Backup>,
    /// Its store.
    pub database: Database,
}

/// A store from an earlier day.
enum Backup {
    Files(Copy),
    Database(Database),
}

/// All or what is new; written.
pub const FULL: Options = Options {
    kind: RunKind::Full,
    mode: Mode::Write,
    guard_off: false,
    accepts_devices: false,
    rereads: false,
    goes_on: false,
    is_pass: false,
};

impl World {
    /// One with several workers, whose threads wait for a random time here and there where no seed decides their turns.
    pub fn with_workers(kind: Kind) -> World {
        let mut world = World::new(kind);
        world.threads = 3;
        if kind == Kind::Postgres {
            world.crash.delay(DELAY_US_MAX);
        }
        world.reopen();
        world
    }

    /// An empty world on a fresh database.
    pub fn new(kind: Kind) -> World {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let name = format!("w{}", MADE.fetch_add(1, Ordering::Relaxed));
        let source = script_repository::shared(&name);
        let crash = Arc::new(Crash::default());
        script_repository::locked(&source).crash = crash.clone();
        site::locked(&site::shared(&name)).crash = crash.clone();
        let mut world = World {
            name,
            clock: HandClock::at(1_700_000_000_000),
            crash,
            source,
            shelves: BTreeMap::new(),
            threads: 1,
            engine: None,
            repository: ConnectionId(0),
            outputs: HashMap::new(),
            processes: 0,
            power: Arc::default(),
            backup: None,
            database: Database::fresh(kind),
        };
        world.reopen();
        let now = world.clock.now();
        let settings = serde_json::json!({});
        let added = world.store().write(Durability::Synced, |sql| {
            connections::find_or_add(sql, Role::Repository, REPOSITORY.name, "source", &settings, now)
        });
        world.repository = added.expect("a fresh store takes a connection").id;
        world
    }

    /// A new process opens the store; the old one is gone without having cleaned up. Whether it had died.
    pub fn reopen(&mut self) -> bool {
        if self.crash.stood_still() {
            // The other process is dead as well.
            self.clock.pass(2 * limits::LEASE_MS);
        }
        let died = self.crash.revive();
        self.close();
        self.shelves.values().for_each(|shelf| memory_output::locked(shelf).lose_uncommitted());
        let store = Store::open(&self.database.target).expect("the store opens again");
        self.processes += 1;
        let member = member(&self.name, &format!("process {}", self.processes));
        let now = self.clock.now();
        let lease = store.write(Durability::Synced, |sql| leases::take(sql, &member, now));
        let lease = lease.expect("the lease is free");
        lease.note_extended(now);
        #[cfg(feature = "crash-points")]
        let store = store.with_crash_hook(self.hook());
        let is_third = self.processes.is_multiple_of(3);
        self.engine = Some(Engine {
            reader: store.reader().clone(),
            writer: Some((store, lease)),
            registry: REGISTRY,
            clock: Arc::new(self.clock.clone()),
            cancel: Cancel::default(),
            data: self.database.folder.path().to_owned(),
            host: HostContext { own: Vec::new(), threads: self.threads, ..HostContext::default() },
            // Each third process reads nearly every container when it is met.
            process: Arc::new(if is_third { Process::keeping(2) } else { Process::default() }),
            asked_by: "world".to_owned(),
        });
        died
    }

    /// The process ends; with the power, when that was lost.
    fn close(&mut self) {
        let lost = match (&self.database.target, self.crash.power_was_lost()) {
            (Target::Sqlite(path), Some(keep)) => Some((path.clone(), self.power.lost(path, keep))),
            _ => None,
        };
        self.engine = None;
        if let Some((path, copy)) = lost {
            copy.put(&path);
        }
    }

    /// Asked before and after every commit: where the process dies, and what a power loss would leave.
    #[cfg(feature = "crash-points")]
    fn hook(&self) -> ingather_store::crash_points::Hook {
        let (crash, power, clock) = (self.crash.clone(), self.power.clone(), self.clock.clone());
        let (name, target) = (self.name.clone(), self.database.target.clone());
        let taken = std::sync::atomic::AtomicBool::new(false);
        if let Target::Sqlite(path) = &target {
            power.opened(path);
        }
        Arc::new(move |point| {
            let lives_on = !crash.transaction(point.statements, point.committed);
            if let (true, false, Target::Sqlite(path)) = (lives_on, point.committed, &target) {
                power.commits(path, point.durability == Durability::Synced);
            }
            // Numbers that nobody uses, and a renewal that finds nothing, are no harm.
            let harmless = [["id_block/take"], ["process/renew"]].iter().any(|only| only == point.statements);
            if !point.committed && taken.load(Ordering::SeqCst) && !harmless {
                memory_output::locked(&crash.late_writes).push(point.statements.join(", "));
            }
            if point.committed && crash.takes_over() {
                let other = Store::open(&target).expect("two processes may open a store");
                let host = if crash.stood_still() { "another host" } else { name.as_str() };
                if crash.stood_still() {
                    clock.pass(2 * limits::LEASE_MS);
                }
                let member = member(host, "another process");
                let lease = other.write(Durability::Synced, |sql| leases::take(sql, &member, clock.now()));
                // One that stood still may have woken first.
                let is_kept =
                    matches!(lease, Err(ingather_store::StoreError::Held(_))) && crash.stood_still();
                assert!(lease.is_ok() || is_kept, "the lease of the same host may be taken");
                taken.store(lease.is_ok(), Ordering::SeqCst);
            }
            !lives_on
        })
    }

    /// Keeps a copy of the store as it stands; on PostgreSQL the process ends for it.
    pub fn back_up(&mut self) {
        self.backup = Some(match &self.database.target {
            Target::Sqlite(path) => Backup::Files(Copy::of(path)),
            Target::Postgres(_) => {
                self.engine = None;
                Backup::Database(self.database.copy())
            }
        });
        if self.engine.is_none() {
            self.reopen();
        }
    }

    /// Puts the copy back and opens it; only a new process begins when there is none.
    pub fn restore(&mut self) {
        if let Some(backup) = &self.backup {
            self.engine = None;
            match (backup, &self.database.target) {
                (Backup::Files(copy), Target::Sqlite(path)) => copy.put(path),
                (Backup::Database(copy), _) => self.database.put_back(copy),
                (Backup::Files(_), Target::Postgres(_)) => unreachable!("a world keeps its database"),
            }
            self.shelves.values().for_each(|shelf| memory_output::locked(shelf).fits = false);
        }
        self.reopen();
    }

    /// The engine of the process that lives now.
    pub fn engine(&self) -> &Engine {
        self.engine.as_ref().expect("a world has a process from its beginning on")
    }

    /// Its store.
    pub fn store(&self) -> &Store {
        let (store, _) = self.engine().writer.as_ref().expect("the engine of a world writes");
        store
    }

    /// Adds an output of that kind.
    pub fn output(&mut self, name: &str, kind: &str) {
        let settings = serde_json::json!({"world": self.name, "name": name});
        let now = self.clock.now();
        let added = self.store().write(Durability::Synced, |sql| {
            connections::find_or_add(sql, Role::Output, kind, name, &settings, now)
        });
        self.outputs.insert(name.to_owned(), added.expect("the store takes a connection").id);
        let shelf = memory_output::shared(&self.name, name);
        {
            let mut shelf = memory_output::locked(&shelf);
            shelf.crash = self.crash.clone();
            shelf.clock = self.clock.clone();
        }
        self.shelves.insert(name.to_owned(), shelf);
    }

    /// Adds another connection to the scripted source, of an authority group.
    pub fn connection(&self, name: &str, group: &Group) {
        let (settings, now) = (serde_json::json!({}), self.clock.now());
        let connection = (REPOSITORY.name, name);
        self.store()
            .write(Durability::Synced, |sql| {
                connections::add_in_group(sql, connection, &settings, group, now)
            })
            .expect("the store takes a connection");
    }

    /// The kind of an output.
    pub fn kind_of(&self, output: &str) -> String {
        let found = self.engine().reader.read(|sql| connections::find(sql, Role::Output, output));
        found.expect("the store answers").map(|connection| connection.kind).unwrap_or_default()
    }

    /// Adds a job, or changes it; outputs that are taken out of it are retired.
    pub fn job(&mut self, mut definition: Definition) {
        let now = self.clock.now();
        let named =
            self.engine().reader.read(|sql| connections::find(sql, Role::Repository, &definition.repository));
        let repository =
            named.expect("the store answers").map_or(self.repository, |connection| connection.id);
        let source = definition.source.to_string();
        self.store()
            .write(Durability::Synced, |sql| match jobs::by_name(sql, &definition.name)? {
                None => jobs::add(sql, repository, &source, &definition, now).map(drop),
                Some(job) => {
                    let before = job.definition.outputs.iter().chain(&job.definition.retired);
                    let retired = before.filter(|name| !definition.outputs.contains(name)).cloned();
                    definition.retired.extend(retired.collect::<Vec<_>>());
                    jobs::define(sql, &job, &definition, now)
                }
            })
            .expect("the store takes a job");
    }

    /// The job of that name.
    pub fn find(&self, name: &str) -> Option<Job> {
        self.engine().reader.read(|sql| jobs::by_name(sql, name)).expect("the store answers")
    }

    /// Names of all jobs.
    pub fn jobs(&self) -> Vec<String> {
        let jobs = self.engine().reader.read(jobs::list).expect("the store answers");
        jobs.into_iter().map(|job| job.name).collect()
    }

    /// Runs a job once.
    ///
    /// # Errors
    /// What the engine says.
    pub fn run(&self, job: &str, options: Options) -> Result<Report, EngineError> {
        let job = self.known(job)?;
        watched(|| self.engine().run(&job, options, Arc::new(Progress::default())))
    }

    /// Ends the pause of a job.
    ///
    /// # Panics
    /// When the process cannot write.
    pub fn resume(&self, job: &str) {
        if let Some(job) = self.find(job) {
            self.engine().pause(job.id, false).expect("a living process writes");
        }
    }

    /// Confirms what a run holds; none: the last run.
    ///
    /// # Errors
    /// What the engine says.
    pub fn confirm(&self, job: &str, run: Option<i64>) -> Result<Removed, EngineError> {
        let job = self.known(job)?;
        let run = run.unwrap_or(job.run);
        watched(|| self.engine().confirm(&job, run, Arc::new(Progress::default())))
    }

    /// Deletes a job.
    ///
    /// # Errors
    /// What the engine says.
    pub fn delete(&self, job: &str) -> Result<Removed, EngineError> {
        let job = self.known(job)?;
        watched(|| self.engine().delete(&job, Arc::new(Progress::default())))
    }

    pub(crate) fn known(&self, job: &str) -> Result<Job, EngineError> {
        self.find(job)
            .ok_or_else(|| EngineError::refused(Refusal::NoSuchJob, format!("there is no job {job}")))
    }

    /// What an output holds, by the name of the document in the source.
    pub fn entries(&self, output: &str) -> BTreeMap<String, Entry> {
        let prefix = format!("mem://{}/", self.name);
        let Some(shelf) = self.shelves.get(output) else { return BTreeMap::new() };
        let shelf = memory_output::locked(shelf);
        shelf.entries.iter().map(|(id, entry)| (id.replace(&prefix, ""), entry.clone())).collect()
    }

    /// Names of entries of which whoever follows an output lacks something.
    pub fn missed(&self, output: &str) -> BTreeSet<String> {
        let prefix = format!("mem://{}/", self.name);
        let Some(shelf) = self.shelves.get(output) else { return BTreeSet::new() };
        memory_output::locked(shelf).missed.keys().map(|id| id.replace(&prefix, "")).collect()
    }

    /// Names of what a user may find in an output; `""` is nobody in particular.
    pub fn sees(&self, user: &str, output: &str) -> Vec<String> {
        self.sees_as(&tokens(user).into(), output)
    }

    /// The same for somebody who is known to several groups of authorities.
    pub fn sees_as(&self, identity: &Identity, output: &str) -> Vec<String> {
        if self.kind_of(output) == TOLD.name
            && let Some(shelf) = self.shelves.get(output)
        {
            // By nothing but what it was told, as whoever follows it does.
            let shelf = memory_output::locked(shelf);
            let prefix = format!("mem://{}/", self.name);
            let entries = shelf.entries.iter().filter(|(_, entry)| shelf.rules.permits(entry, identity));
            return entries.map(|(id, _)| id.replace(&prefix, "")).collect();
        }
        self.judged(identity, output)
    }

    /// The same as the inventory judges it, whatever the output was told.
    pub fn judged(&self, identity: &Identity, output: &str) -> Vec<String> {
        if self.is_refused(output) {
            return Vec::new();
        }
        let id = self.outputs.get(output).copied();
        let Engine { reader, process, .. } = self.engine();
        let access_filter = reader.read(|sql| process.searches.access_filters.of(sql, id, identity));
        let access_filter = access_filter.expect("the store answers").expect("few changes are on their way");
        let entries = self.entries(output).into_iter();
        entries
            .filter(|(_, e)| {
                let of = Reference { job: Some(JobId(e.job)), acl_id: e.acl_id, container: e.container };
                access_filter.permits(e.address, of)
            })
            .map(|(name, _)| name)
            .collect()
    }

    /// Whether an output with commits is not the one that the inventory speaks of: `search` then answers nothing.
    fn is_refused(&self, output: &str) -> bool {
        let Some(id) = self.outputs.get(output).filter(|_| self.kind_of(output) == COMMITTING.name) else {
            return false;
        };
        let known = self.engine().reader.read(|sql| connections::get(sql, *id)).expect("the store answers");
        let stands = memory_output::locked(&self.shelves[output]).generation(false);
        known.is_some_and(|known| outputs::misfit(&known, &stands).is_some())
    }

    /// Documents of a job with their states, by name.
    pub fn documents(&self, job: &str) -> Vec<(String, String)> {
        let Some(job) = self.find(job) else { return Vec::new() };
        let reader = &self.engine().reader;
        let (rows, leaving) = reader
            .read(|sql| {
                let rows = documents::list(sql, job.id, DocumentKey::BEFORE_ALL, 100_000)?;
                let ids: Vec<i64> = rows.iter().map(|row| row.id.0).collect();
                Ok((rows, queue::leaving(sql, &ids)?))
            })
            .expect("the store answers");
        let mut states: Vec<(String, String)> = rows
            .into_iter()
            .map(|row| {
                let state = match (&row.work, &row.failure) {
                    _ if leaving.contains(&row.id.0) => "leaving".to_owned(),
                    (Some(_), _) => "waiting".to_owned(),
                    (None, Some((kind, reason))) => format!("{kind} {}", reason.code),
                    (None, None) => "settled".to_owned(),
                };
                (row.name, state)
            })
            .collect();
        states.sort();
        states
    }
}

impl World {
    /// Documents of a job that wait for a visit, with the milliseconds until it is due; none: the next run makes it.
    pub fn due(&self, job: &str) -> Vec<(String, Option<i64>)> {
        let Some(job) = self.find(job) else { return Vec::new() };
        let rows =
            self.engine().reader.read(|sql| documents::list(sql, job.id, DocumentKey::BEFORE_ALL, 100_000));
        let now = self.clock.now();
        let mut due: Vec<_> = rows
            .expect("the store answers")
            .into_iter()
            .filter_map(|row| {
                let (_, due) = row.work?;
                Some((row.name, (due != i64::MAX).then(|| due - now)))
            })
            .collect();
        due.sort();
        due
    }

    /// Rows of each table that holds what jobs have brought, if it has any.
    pub fn rows(&self) -> Vec<(String, i64)> {
        let mut rows = self.database.rows();
        rows.retain(|(table, count)| *count > 0 && !STANDING.contains(&table.as_str()));
        rows
    }
}

fn tokens(user: &str) -> Tokens {
    user.split('+').filter(|token| !token.is_empty()).collect()
}

fn member(host: &str, id: &str) -> Member {
    Member { id: id.to_owned(), until: 0, pid: 1, host: host.to_owned(), doing: "test".to_owned() }
}

impl Drop for World {
    fn drop(&mut self) {
        // The store is closed before its database goes.
        self.engine = None;
    }
}
