//! A service without a network: it does operations over the store of a world, has work go on in threads, and asks schedules when told to.

use std::any::Any;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, Weak};
use std::thread::JoinHandle;

use ingather_contract::call::{Cancel, Clock as _};
use ingather_contract::output::OutputKind;
use ingather_contract::registry::Registry;
use ingather_contract::repository::{RepositoryCapabilities, RepositoryKind};
use ingather_contract::settings::{NoSettings, schema_of};
use ingather_engine::progress::Progress;
use ingather_engine::{Glance, Process};
use ingather_model::access::identity::Identity;
use ingather_model::ids::JobId;
use ingather_model::job::RunKind;
use ingather_operations::jobs::{self, BySchedule};
use ingather_operations::operation::{Answering, OwnSources, Role};
use ingather_operations::system::Look;
use ingather_operations::{
    Background, Caller, Code, Context, Doing, Host, Places, Problem, Result, Work, Writing,
};
use ingather_store::jobs::Job;
use ingather_store::{Durability, Reader, connections};
use ingather_testkit::clock::HandClock;
use ingather_testkit::database::Kind;
use ingather_testkit::memory_kinds::MEMORY;
use ingather_testkit::memory_output::locked;
use ingather_testkit::script_repository::REPOSITORY;
use ingather_testkit::script_repository::site::SITE;
use ingather_testkit::together::gate::Gate;
use ingather_testkit::world::World;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

/// The connector that operations take jobs for: here a scripted source.
pub(crate) static FILES: RepositoryKind = RepositoryKind {
    name: "filesystem",
    about: "A scripted source.",
    capabilities: RepositoryCapabilities {
        list: true,
        access: true,
        unique_uris: true,
        looks: true,
        bins: false,
    },
    source_schema: schema_of::<NoSettings>,
    open: |source, host| {
        let world = source["world"].as_str().unwrap_or_default();
        let gate = locked(&OPENINGS).get_mut(world).and_then(|(opened, gate)| {
            *opened += 1;
            // A run is refused for its source before it begins, and opens it when it does.
            (*opened == 2).then(|| gate.clone())
        });
        gate.iter().for_each(Gate::pass);
        (REPOSITORY.open)(source, host)
    },
};

/// Where the next run of a world waits that opens its source, by the name of the world, with how often the source was opened since.
static OPENINGS: LazyLock<Mutex<BTreeMap<String, (usize, Gate)>>> = LazyLock::new(Mutex::default);

/// The next run of this world waits there while it opens its source.
pub(crate) fn hold_opening(world: &World, gate: &Gate) {
    locked(&OPENINGS).insert(world.name.clone(), (0, gate.clone()));
}

/// Which connectors a program has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lacks {
    /// None for the source.
    pub(crate) source: bool,
    /// None for the output.
    pub(crate) output: bool,
}

impl Lacks {
    fn registry(self) -> Registry {
        const SOURCES: &[&RepositoryKind] = &[&FILES, &SITE];
        const OUTPUTS: &[&OutputKind] = &[&MEMORY];
        let repositories = if self.source { &[] } else { SOURCES };
        let outputs = if self.output { &[] } else { OUTPUTS };
        Registry { repositories, transforms: &[], outputs, authorities: &[] }
    }
}

/// A world with an output `memory` and the connection `files` to its source.
pub(crate) fn world_of(kind: Kind) -> World {
    let mut world = World::new(kind);
    world.output("memory", "memory");
    let (settings, now) = (json!({}), world.clock.now());
    world
        .store()
        .write(Durability::Synced, |sql| {
            connections::find_or_add(sql, connections::Role::Repository, FILES.name, "files", &settings, now)
        })
        .unwrap();
    world
}

/// One service: what it has from its beginning to its end.
pub(crate) struct Service {
    itself: Weak<Service>,
    registry: Registry,
    reader: Reader,
    writing: Writing,
    cancel: Cancel,
    process: Arc<Process>,
    data: PathBuf,
    clock: HandClock,
    threads: usize,
    schedules: Mutex<BySchedule>,
    under_way: Mutex<Vec<JoinHandle<()>>>,
    /// Work that was announced and has not begun, while work is kept back.
    kept_back: Mutex<Option<Vec<Work>>>,
    log: Mutex<Vec<String>>,
    /// Where a run waits that has ended, and whose thread has not.
    after_run: Mutex<Option<Gate>>,
}

/// What shows how far a run has come, which is let go when the run has ended.
struct Watched(Option<Gate>);

impl Drop for Watched {
    fn drop(&mut self) {
        self.0.iter().for_each(Gate::pass);
    }
}

impl Service {
    /// The service of the process that lives now in a world.
    pub(crate) fn of(world: &World, lacks: Lacks) -> Arc<Service> {
        let engine = world.engine();
        let (store, lease) = engine.writer.clone().unwrap();
        Arc::new_cyclic(|itself| Service {
            itself: itself.clone(),
            registry: lacks.registry(),
            reader: engine.reader.clone(),
            writing: Writing::new(store, lease, Box::new(())),
            cancel: engine.cancel.clone(),
            process: engine.process.clone(),
            data: engine.data.clone(),
            clock: world.clock.clone(),
            threads: engine.host.threads,
            schedules: Mutex::new(BySchedule::new(Arc::new(|| {}), 1)),
            under_way: Mutex::default(),
            kept_back: Mutex::default(),
            log: Mutex::default(),
            after_run: Mutex::default(),
        })
    }

    fn context(&self) -> Context<'_> {
        let clock = Arc::new(self.clock.clone());
        Context { host: self, registry: self.registry, clock, remote: None }
    }

    /// Asks as somebody who may ask for everything.
    pub(crate) fn ask<Request, Answer>(
        &self,
        operation: &Answering<Request, Answer>,
        request: &str,
    ) -> Result<Answer>
    where
        Request: Serialize + DeserializeOwned,
        Answer: DeserializeOwned,
    {
        let nobody = || Ok(Identity::anonymous());
        let caller = Caller {
            roles: &[Role::Admin],
            identity: &nobody,
            places: Places::Any,
            name: "test",
            themselves: None,
            sources: OwnSources::All,
        };
        operation.call(&self.context(), &caller, serde_json::from_str(request).unwrap())
    }

    /// Asks in a thread of its own.
    pub(crate) fn ask_aside<Request, Answer>(
        &self,
        operation: &'static Answering<Request, Answer>,
        request: &'static str,
    ) where
        Request: Serialize + DeserializeOwned,
        Answer: DeserializeOwned,
    {
        let itself = self.itself.upgrade().unwrap();
        let asks = move || {
            if let Err(problem) = itself.ask(operation, request) {
                locked(&itself.log).push(problem.to_string());
            }
        };
        locked(&self.under_way).push(std::thread::spawn(asks));
    }

    /// Begins a run by its schedule of a job as somebody saw it, and waits for its end.
    pub(crate) fn begin_as_seen(&self, job: &Job) -> Result<()> {
        let begun = jobs::begin(&self.context(), job, RunKind::Full, "schedule").map(drop);
        self.join();
        begun
    }

    /// Does what the service does by itself now.
    pub(crate) fn look(&self) {
        let log = |line: &str| locked(&self.log).push(line.to_owned());
        locked(&self.schedules).look(&self.context(), &log).unwrap();
    }

    /// What the log was told.
    pub(crate) fn logged(&self) -> Vec<String> {
        locked(&self.log).clone()
    }

    /// From now on work that was announced waits for [`Service::let_begin`].
    pub(crate) fn keep_back(&self) {
        *locked(&self.kept_back) = Some(Vec::new());
    }

    /// What was kept back begins.
    pub(crate) fn let_begin(&self) {
        let kept_back = locked(&self.kept_back).take();
        kept_back.into_iter().flatten().for_each(|work| self.begin(work));
    }

    fn begin(&self, work: Work) {
        let itself = self.itself.upgrade().unwrap();
        let thread = std::thread::spawn(move || {
            if let Err(problem) = work(&itself.context()) {
                locked(&itself.log).push(problem.to_string());
            }
        });
        locked(&self.under_way).push(thread);
    }

    /// The next run waits there when it has ended, before its thread ends.
    pub(crate) fn hold_after_run(&self, gate: &Gate) {
        *locked(&self.after_run) = Some(gate.clone());
    }

    /// Whether work is under way, and whether some has ended since this was asked last.
    pub(crate) fn works(&self) -> (bool, bool) {
        let mut under_way = locked(&self.under_way);
        let (over, on): (Vec<_>, Vec<_>) =
            under_way.drain(..).partition(|thread: &JoinHandle<()>| thread.is_finished());
        *under_way = on;
        let (works, ended) = (!under_way.is_empty(), !over.is_empty());
        drop(under_way);
        over.into_iter().for_each(|thread| thread.join().unwrap());
        (works, ended)
    }

    /// Waits until all work has ended.
    pub(crate) fn join(&self) {
        let threads = std::mem::take(&mut *locked(&self.under_way));
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }

    /// What is under way for a job.
    pub(crate) fn glance(&self, job: JobId) -> Glance {
        self.process.glance(job)
    }

    /// Asks all work to stop, as a signal does.
    pub(crate) fn end(&self) {
        self.cancel.cancel();
    }
}

impl Background for Service {
    fn go(&self, _: Doing, work: Work) -> Result<()> {
        let mut kept_back = locked(&self.kept_back);
        match kept_back.as_mut() {
            Some(kept_back) => kept_back.push(work),
            None => self.begin(work),
        }
        Ok(())
    }
}

impl Host for Service {
    fn data(&self) -> &Path {
        &self.data
    }
    fn reader(&self) -> Result<Option<Reader>> {
        Ok(Some(self.reader.clone()))
    }
    fn reader_up_to_date(&self, _: &str) -> Result<Option<Reader>> {
        self.reader()
    }
    fn refuse_unusable(&self) -> Result<()> {
        Ok(())
    }
    fn write(&self, doing: &str) -> Result<Writing> {
        match self.cancel.cancelled() {
            true => Err(Problem::new(Code::Stopped, format!("{doing}: the service ends"))),
            false => Ok(self.writing.shared(Box::new(()))),
        }
    }
    fn background(&self) -> Option<&dyn Background> {
        Some(self)
    }
    fn holder(&self) -> Option<String> {
        Some("this service".to_owned())
    }
    fn keeps_the_store(&self) -> bool {
        true
    }
    fn cancel(&self) -> Cancel {
        self.cancel.clone()
    }
    fn process(&self) -> Arc<Process> {
        self.process.clone()
    }
    fn threads(&self) -> usize {
        self.threads
    }
    fn read_files(&self) {}
    fn own_files(&self) -> Vec<(String, String)> {
        Vec::new()
    }
    fn check_readers(&self) -> Look {
        Look::good("readers", "there are none")
    }
    fn unfinished(&self, _: &Path) {}
    fn bytes_out(&self) -> Box<dyn Write + '_> {
        Box::new(std::io::sink())
    }
    fn bytes_in(&self) -> Box<dyn Read + '_> {
        Box::new(std::io::empty())
    }
    fn watch(&self, _: Arc<Progress>) -> Box<dyn Any> {
        Box::new(Watched(locked(&self.after_run).take()))
    }
}
