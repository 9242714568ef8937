//! A person who erases documents and lets them in again: the calls of `crates/operations/src/documents/erasure.rs` and `erased.rs`, in their
//! order, without their words.

use std::sync::Mutex;
use std::time::Duration;

use ingather_engine::{Engine, EngineError, Erasable, Options, Refusal, Report};
use ingather_model::lifecycle::job::State;
use ingather_store::StoreError;
use ingather_store::jobs::{self, Job};
use ingather_store::turns::{self, Monitor};

use crate::world::World;

/// Who asks.
pub const PERSON: &str = "anna";
/// How long a person waits before they erase something in the middle of a run; where a seed drives the threads, mostly less.
const PAUSE: Duration = Duration::from_millis(2);
/// Longest wait for the end of a run that makes room, and how often it is waited for: clocks of worlds stand still meanwhile.
const LOOK: Duration = Duration::from_millis(100);
const LOOKS: usize = 300;

/// How far it has come in one job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErasedFrom {
    /// Its name.
    pub job: String,
    /// Outputs that have not let go, and why; none: it is done.
    pub left: Vec<(String, String)>,
}

/// The address of a file, or of a record, which has that of its name.
pub fn address(world: &World, file: &str) -> String {
    if file.starts_with(super::pushing::ROOT) {
        file.to_owned()
    } else {
        format!("mem://{}/{file}", world.name)
    }
}

/// Erases a file from one job, or from all.
///
/// # Errors
/// `Key` where no job knows it; `NoSuchJob`; what the engine says.
pub fn erase(world: &World, file: &str, from: Option<&str>) -> Result<Vec<ErasedFrom>, EngineError> {
    let (engine, place) = (world.engine(), address(world, file));
    let asked = asked(world, from)?;
    let mut documents = known(engine, &asked, &place)?;
    if documents.is_empty() {
        return Err(EngineError::refused(Refusal::Key, format!("no job knows a document {file}")));
    }
    let of_job = asked.first().filter(|_| from.is_some());
    engine.want_erased((&place, PERSON), of_job, &documents)?;
    if from.is_none() {
        // A run under way may have it in hands although its job does not know it yet.
        let is_found = |job: &Job| documents.iter().any(|(other, _)| other.id == job.id);
        let mut others = self::asked(world, None)?;
        others.retain(|job| !is_found(job) && engine.process.works_on(job.id));
        let covers = |job: Job| engine.would_cover(&job, &place).map(|document| (job, document));
        let others: Vec<(Job, Erasable)> = others.into_iter().filter_map(covers).collect();
        if !others.is_empty() {
            engine.want_erased((&place, PERSON), None, &others)?;
        }
        documents.extend(others);
    }
    let erase = |(job, document): &(Job, Erasable)| {
        erase_from(engine, job, document).map(|left| ErasedFrom { job: job.name.clone(), left })
    };
    documents.iter().map(erase).collect()
}

fn erase_from(engine: &Engine, job: &Job, document: &Erasable) -> Result<Vec<(String, String)>, EngineError> {
    for _ in 0..LOOKS {
        if engine.is_erased(job, document)? {
            return Ok(Vec::new());
        }
        engine.make_way(job)?;
        match engine.erase(job) {
            Ok(erasing) => {
                let this = erasing.into_iter().find(|one| one.name == document.name);
                // Somebody has stopped it before its turn came.
                return this.map(|one| one.left).ok_or(EngineError::Store(StoreError::Stopped));
            }
            Err(EngineError::Refused { refusal: Refusal::Running, .. }) => {
                engine.process.wait_for_end(job.id, LOOK);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(vec![(String::new(), "the job is worked on".to_owned())])
}

/// Lets a file into one job again, or into all.
///
/// # Errors
/// `Key` where it was not erased; `NoSuchJob`; what the engine says.
pub fn readmit(world: &World, file: &str, into: Option<&str>) -> Result<(), EngineError> {
    let (engine, place) = (world.engine(), address(world, file));
    let erased = |jobs: &[Job]| -> Result<Vec<(Job, Erasable)>, EngineError> {
        Ok(known(engine, jobs, &place)?.into_iter().filter(|(_, document)| document.is_erased()).collect())
    };
    let found = erased(&asked(world, into)?)?;
    let others = erased(&asked(world, None)?)?.into_iter();
    let others = others.filter(|(job, _)| found.iter().all(|(other, _)| other.id != job.id)).count();
    let of_all = |document: &Erasable| document.kept_out.as_ref().is_some_and(|row| row.job.is_empty());
    // It is erased of all jobs no more once the last one that covers it has it again.
    let ends = into.is_none() || (others == 0 && found.iter().any(|(_, document)| of_all(document)));
    for (job, document) in &found {
        engine.readmit(job, document, (&place, PERSON))?;
    }
    let was_erased = ends && engine.let_in(&place)?;
    if found.is_empty() && !was_erased {
        return Err(EngineError::refused(Refusal::Key, format!("no document {file} was erased")));
    }
    Ok(())
}

/// A run in the middle of which a person erases a file from all jobs, when the seed of the turns wants it, where there is one.
pub fn run_erasing(
    world: &World,
    job: &str,
    options: Options,
    file: &str,
) -> (Result<Report, EngineError>, Result<Vec<ErasedFrom>, EngineError>) {
    let report = Mutex::default();
    let erased = std::thread::scope(|scope| {
        let work = || *turns::lock(&report) = Some(world.run(job, options));
        let run = turns::spawn_scoped(scope, work).expect("a thread starts");
        let time = Monitor::new(());
        drop(time.wait_at_most(time.lock(), PAUSE, |()| true));
        let erased = erase(world, file, None);
        run.join().expect("a run does not panic");
        erased
    });
    let report = report.into_inner().expect("a run does not panic");
    (report.expect("a run ends"), erased)
}

/// Jobs that somebody asks about: one, or all that are not being deleted.
fn asked(world: &World, job: Option<&str>) -> Result<Vec<Job>, EngineError> {
    let mut jobs = world.engine().reader.read(jobs::list)?;
    jobs.retain(|other| other.state != State::Deleting && job.is_none_or(|job| job == other.name));
    match job {
        Some(job) if jobs.is_empty() => {
            Err(EngineError::refused(Refusal::NoSuchJob, format!("there is no job {job}")))
        }
        _ => Ok(jobs),
    }
}

fn known(engine: &Engine, jobs: &[Job], place: &str) -> Result<Vec<(Job, Erasable)>, EngineError> {
    let mut known = Vec::new();
    for job in jobs {
        known.extend(engine.erasable(job, place)?.map(|document| (job.clone(), document)));
    }
    Ok(known)
}
