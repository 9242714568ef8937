//! Two runs over the same folders that meet in one order, and two sources that meet in one output: told here once, for the engine's
//! tests and for the planted faults.

pub mod bins;
pub mod compounds;
pub mod dated;
pub mod erasing;
pub mod gate;
pub mod health;
pub mod pause;
pub mod people;
pub mod pushing;
pub mod service;
pub mod sinks;
pub mod site;
pub mod waiting;

use std::sync::{Mutex, MutexGuard};

use ingather_engine::{EngineError, Report};
use ingather_model::access::identity::{Group, Identity};
use ingather_model::access::{Acl, Entry, Tokens};
use ingather_model::guard::Guard;
use ingather_model::job::{ContentBy, Definition, Keep};
use ingather_store::turns;

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
        dates: Default::default(),
        priority: ingather_model::job::Priority::default(),
        history: ingather_model::job::history::History::default(),
        notify: Vec::new(),
        hops: Default::default(),
        schedule: None,
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
    let reports: Vec<Mutex<Option<Result<Report, EngineError>>>> =
        jobs.iter().map(|_| Mutex::default()).collect();
    std::thread::scope(|scope| {
        let run = |(job, report): (&&str, &'_ Mutex<_>)| *turns::lock(report) = Some(world.run(job, FULL));
        let start = |one| turns::spawn_scoped(scope, move || run(one)).expect("a thread starts");
        let runs: Vec<_> = jobs.iter().zip(&reports).map(start).collect();
        runs.into_iter().for_each(|run| run.join().expect("a run does not panic"));
    });
    let reports = reports.into_iter().map(|report| report.into_inner().expect("a run does not panic"));
    jobs.iter().copied().zip(reports.map(|report| report.expect("a run ends"))).collect()
}

/// Two systems with tokens of the same spelling, in one output: each connection is judged by the tokens of its own authority group.
/// What somebody finds who is `ann` to both, of the `staff` in the files, and of the `guests` in the mails.
///
/// # Panics
/// When a run fails.
pub fn found_across_groups(kind: Kind, output: &str) -> Vec<String> {
    let mut world = World::new(kind);
    world.output("one", output);
    let [files, mails] = ["", "mails"].map(Group::named);
    world.connection("mails", &mails);
    for (job, repository) in [("files", "source"), ("mails", "mails")] {
        let root = format!("{job}/");
        let_in(&world, &root, Acl::Flat { allow: vec!["ann".to_owned()], deny: Vec::new() });
        let staff = || vec!["staff".to_owned()];
        let everybody_else = Acl::Ordered(vec![Entry::deny("staff"), Entry::allow("ann")]);
        let acls = [
            ("for_staff", Acl::Flat { allow: staff(), deny: Vec::new() }),
            ("not_for_staff", everybody_else),
            ("not_for_guests", Acl::Flat { allow: vec!["ann".to_owned()], deny: vec!["guests".to_owned()] }),
        ];
        for (name, acl) in acls {
            put(&world, &format!("{root}{name}"), "v1");
            source(&world).file(&format!("{root}{name}")).acl = acl;
        }
        world.job(Definition {
            repository: repository.to_owned(),
            ..definition(&world, job, &root, &["one"])
        });
        world.run(job, FULL).expect("a quiet run ends well");
    }
    let tokens = |text: &str| text.split(' ').collect::<Tokens>();
    let ann = Identity::anonymous().with(files, tokens("ann staff")).with(mails, tokens("ann guests"));
    world.sees_as(&ann, "one")
}

/// What is found there where nothing crosses.
pub const FOUND_BY_GROUP: [&str; 3] = ["files/for_staff", "files/not_for_guests", "mails/not_for_staff"];

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
