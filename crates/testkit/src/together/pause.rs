//! A person who pauses a job in the middle of its run.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ingather_engine::progress::Progress;
use ingather_engine::{EngineError, Options, Report};
use ingather_store::turns::{self, Monitor};

use super::gate::Gate;
use super::{definition, put};
use crate::database::Kind;
use crate::memory_output::locked;
use crate::world::{FULL, World};

/// How long a person waits before they pause a run, or let it go on; where a seed drives the threads, mostly less.
const PAUSE: Duration = Duration::from_millis(2);

/// Files of the run of [`delivered_while_paused`]: more than the queue of an output takes.
pub const FILES_OF_A_PAUSED_RUN: usize = 5_000;
/// Looks in a row that find nothing new, after which a run counts as at rest.
const LOOKS: usize = 200;

/// A run that a person pauses and lets go on three times, when the seed of the turns wants it, where there is one.
///
/// # Errors
/// What the run says.
pub fn run_paused(world: &World, job: &str, options: Options) -> Result<Report, EngineError> {
    let report = Mutex::default();
    std::thread::scope(|scope| {
        let work = || *turns::lock(&report) = Some(world.run(job, options));
        let run = turns::spawn_scoped(scope, work).expect("a thread starts");
        let id = world.find(job).map(|job| job.id);
        let time = Monitor::new(());
        let wait = || drop(time.wait_at_most(time.lock(), PAUSE, |()| true));
        for paused in [true, false].repeat(3) {
            wait();
            // A process that is dead, or whose work another one has taken over, would be paused for ever.
            if id.is_some_and(|id| world.engine().pause(id, paused).is_err()) {
                world.engine().cancel.cancel();
            }
        }
        run.join().expect("a run does not panic");
    });
    report.into_inner().expect("a run does not panic").expect("a run ends")
}

/// How many entries an output has once a run is at rest that was paused at its first send. The run is let go on then, and ends.
///
/// # Panics
/// When the run does not end well, or the pause is not what it is said to be.
pub fn delivered_while_paused(kind: Kind) -> usize {
    let mut world = World::new(kind);
    world.output("one", "memory");
    world.job(definition(&world, "docs", "", &["one"]));
    (0..FILES_OF_A_PAUSED_RUN).for_each(|n| put(&world, &format!("f{n}"), "v1"));
    let job = world.find("docs").expect("a job that was added");
    let gate = Gate::default();
    locked(&world.shelves["one"]).gate = Some(gate.clone());
    std::thread::scope(|scope| {
        let _opens = gate.opens_at_the_end();
        let run = scope.spawn(|| world.engine().run(&job, FULL, Arc::new(Progress::default())));
        gate.wait_for_somebody();
        assert!(world.engine().pause(job.id, true).expect("a process that writes"), "its run hears of it");
        assert!(world.find("docs").expect("it is there").paused);
        gate.open();
        let delivered = at_rest(&world);
        // One that did not rest may have ended.
        let hears = world.engine().pause(job.id, false).expect("a process that writes");
        assert!(hears || delivered == FILES_OF_A_PAUSED_RUN, "the run is still there");
        let report = run.join().expect("a run does not panic").expect("a quiet run ends well");
        assert_eq!((report.stopped, report.counts.added), (false, FILES_OF_A_PAUSED_RUN as u64));
        assert_eq!(world.entries("one").len(), FILES_OF_A_PAUSED_RUN);
        delivered
    })
}

/// Entries of the output once nothing more comes, or all are there.
fn at_rest(world: &World) -> usize {
    let (mut held, mut looks) = (0, 0);
    let time = Monitor::new(());
    while looks < LOOKS && held < FILES_OF_A_PAUSED_RUN {
        drop(time.wait_at_most(time.lock(), PAUSE, |()| true));
        let now = world.entries("one").len();
        looks = if now == held { looks + 1 } else { 0 };
        held = now;
    }
    held
}
