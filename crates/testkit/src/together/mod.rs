//! Two runs over the same folders that meet in one order: told here once, for the engine's tests and for the planted faults.

pub mod gate;

use std::sync::MutexGuard;

use ingather_engine::{EngineError, Report};
use ingather_model::access::Acl;
use ingather_model::guard::Guard;
use ingather_model::job::{ContentBy, Definition, Keep};

use self::gate::Gate;
use crate::database::Kind;
use crate::memory_output::locked;
use crate::script_repository::{self, Source};
use crate::world::{FULL, World};

/// A job over a folder of the scripted source.
pub fn definition(world: &World, name: &str, root: &str, outputs: &[&str]) -> Definition {
    Definition {
        name: name.to_owned(),
        repository: "source".to_owned(),
        source: serde_json::json!({"world": world.name, "root": root}),
        stages: Vec::new(),
        outputs: outputs.iter().map(|name| (*name).to_owned()).collect(),
        routes: std::collections::BTreeMap::new(),
        retired: Vec::new(),
        delete_guard: Guard::Off,
        compare_content: false,
        keep: Keep::Nothing,
        content_by: ContentBy::Read,
    }
}

/// Only this user.
pub fn only(user: &str) -> Acl {
    Acl::Flat { allow: vec![user.to_owned()], deny: Vec::new() }
}

/// What the source holds, to be changed.
pub fn source(world: &World) -> MutexGuard<'_, Source> {
    script_repository::locked(&world.source)
}

/// Puts a file.
pub fn put(world: &World, name: &str, content: &str) {
    let mut source = source(world);
    let change = source.next_change();
    let file = source.file(name);
    (file.content, file.mtime, file.ctime) = (content.to_owned(), change, change);
}

/// Closes or opens a folder.
pub fn let_in(world: &World, folder: &str, acl: Acl) {
    let mut source = source(world);
    let change = source.next_change();
    let folder = source.folder(folder);
    (folder.acl, folder.ctime) = (acl, change);
}

/// Runs of these jobs at the same time.
pub fn run_together<'n>(world: &World, jobs: &[&'n str]) -> Vec<(&'n str, Result<Report, EngineError>)> {
    std::thread::scope(|scope| {
        let runs: Vec<_> = jobs.iter().map(|job| (*job, scope.spawn(|| world.run(job, FULL)))).collect();
        let ended = |(job, run): (&'n str, std::thread::ScopedJoinHandle<'_, _>)| {
            (job, run.join().expect("a run does not panic"))
        };
        runs.into_iter().map(ended).collect()
    })
}

/// A run that has listed a folder while it let anna in tells so only after another run has found that it lets bert in instead, and has read
/// what was written since. Whoever finds that text at the end of the other run, while the first one still waits: `anna` never might see it.
///
/// # Panics
/// When a run fails.
pub fn older_report(kind: Kind) -> Vec<&'static str> {
    let mut world = World::new(kind);
    world.output("one", "memory");
    world.output("two", "memory");
    for (job, output) in [("first", "one"), ("second", "two")] {
        world.job(definition(&world, job, "", &[output]));
    }
    let_in(&world, "s/", only("anna"));
    put(&world, "s/x", "v1");
    put(&world, "z/y", "v1");
    for job in ["first", "second"] {
        world.run(job, FULL).expect("a quiet run ends well");
    }
    // Its pages are made now. The folder is in the third one: after what is above, and the root.
    let (before, after, answers) = (Gate::default(), Gate::default(), Gate::default());
    source(&world).pauses = vec![(3, before.clone()), (4, after.clone())];
    locked(&world.shelves["one"]).gate = Some(answers.clone());
    std::thread::scope(|scope| {
        let _open = [&before, &after, &answers].map(Gate::opens_at_the_end);
        let second = scope.spawn(|| world.run("second", FULL));
        before.wait_for_somebody();
        let_in(&world, "s/", only("bert"));
        put(&world, "s/x", "v2");
        let first = scope.spawn(|| world.run("first", FULL));
        answers.wait_for_somebody();
        before.open();
        after.wait_for_somebody();
        answers.open();
        first.join().expect("a run does not panic").expect("the first run ends well");
        let users = ["anna", "bert"];
        let finds = users.into_iter().filter(|user| world.sees(user, "one").contains(&"s/x".to_owned()));
        let found: Vec<&str> = finds.collect();
        after.open();
        second.join().expect("a run does not panic").expect("the second run ends well");
        found
    })
}
