//! Several runs in one process at the same time: what they share is one truth for all of them, and none waits for what is another one's.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use ingather_contract::call::Clock as _;
use ingather_engine::progress::Progress;
use ingather_engine::{EngineError, Refusal};
use ingather_model::access::Acl;
use ingather_model::job::{Definition, Stage};
use ingather_model::limits;
use ingather_store::leases::{self, Member};
use ingather_store::{Durability, StoreError, containers, doctor};
use ingather_testkit::database::{BOTH, Kind};
use ingather_testkit::memory_output::locked;
use ingather_testkit::script_repository::{Meanwhile, Step};
use ingather_testkit::together::gate::Gate;
use ingather_testkit::together::{definition, let_in, older_report, only, put, run_together, source};
use ingather_testkit::world::{FULL, World};

const USERS: [&str; 3] = ["", "anna", "bert"];

/// What the doctor finds; nothing may be found.
fn doctor(world: &World) -> Vec<String> {
    let faults = world.engine().reader.read(|sql| doctor::examine(sql, 5)).unwrap();
    faults.iter().map(|fault| format!("{}: {:?}", fault.check.name, fault.rows)).collect()
}

/// Texts of an output by name, and who finds them.
fn shown(world: &World, output: &str) -> BTreeMap<String, (String, Vec<&'static str>)> {
    let sees = USERS.map(|user| (user, world.sees(user, output).into_iter().collect::<BTreeSet<_>>()));
    let who = |name: &String| {
        sees.iter().filter(|(_, sees)| sees.contains(name)).map(|(user, _)| *user).collect::<Vec<_>>()
    };
    let entries = world.entries(output).into_iter();
    entries.map(|(name, entry)| (name.clone(), (entry.text, who(&name)))).collect()
}

/// Containers and acls that there are twice.
fn twice(world: &World) -> Vec<String> {
    let reader = &world.engine().reader;
    let repository = world.find("whole").unwrap().repository;
    let listed = reader.read(|sql| containers::list(sql, repository, 10_000)).unwrap();
    let mut names = BTreeSet::new();
    listed.into_iter().map(|one| one.name).filter(|name| !names.insert(name.clone())).collect()
}

fn shared_world(kind: Kind) -> World {
    let mut world = World::new(kind);
    world.threads = 3;
    world.output("index", "committing");
    world.reopen();
    world.job(definition(&world, "whole", "", &["index"]));
    world.job(definition(&world, "part", "s/", &["index"]));
    for n in 0..60 {
        put(&world, &format!("s/{}/{n}", n % 7), "v1");
        put(&world, &format!("d/{}/{n}", n % 5), "v1");
    }
    let_in(&world, "s/3/", only("anna"));
    let_in(&world, "s/4/", only("bert"));
    world
}

/// Folders close and open while both runs are at it, documents are written again, and a folder is replaced.
fn changes() -> Vec<Meanwhile> {
    let change = |folder: &'static str, acl: fn() -> Acl, file: &'static str, text: &'static str| {
        let step = Step(Arc::new(move |source| {
            let now = source.next_change();
            let changed = source.folder(folder);
            (changed.acl, changed.ctime) = (acl(), now);
            let now = source.next_change();
            let file = source.file(file);
            (file.content, file.mtime, file.ctime) = (text.to_owned(), now, now);
        }));
        vec![step]
    };
    let replaced = Step(Arc::new(|source| {
        let now = source.next_change();
        let folder = source.folder("s/5/");
        (folder.inode, folder.ctime) = (now as u64, now);
    }));
    let meanwhile = |point: &str, nth, steps| Meanwhile { point: point.to_owned(), nth, steps };
    vec![
        meanwhile("read", 5, change("s/1/", || only("anna"), "s/1/1", "v2")),
        meanwhile("read", 20, change("s/3/", Acl::open, "s/3/3", "v2")),
        meanwhile("read", 40, vec![replaced]),
        meanwhile("stamps", 3, change("s/2/", || only("bert"), "s/2/2", "v2")),
        meanwhile("stamps", 4, change("s/4/", || only("anna"), "s/4/4", "v2")),
    ]
}

/// Whatever anybody finds, that user might see this text at one time: what nobody was ever let in to is what these folders hold.
fn too_wide(world: &World) -> Vec<String> {
    let never =
        [("", "s/4/4"), ("bert", "s/4/4 v2"), ("anna", "s/2/2 v2"), ("", "s/1/1 v2"), ("bert", "s/1/1 v2")];
    let mut found = Vec::new();
    for (name, (text, who)) in shown(world, "index") {
        for (user, what) in never {
            if who.contains(&user) && (what == name || what == format!("{name} {text}")) {
                found.push(format!("`{user}` finds {name} {text}"));
            }
        }
    }
    found
}

#[test]
fn two_jobs_over_the_same_folders_at_once_come_to_what_they_come_to_one_after_the_other() {
    for kind in BOTH {
        for round in 0..if kind == Kind::Sqlite { 6 } else { 2 } {
            let world = shared_world(kind);
            if round % 2 == 1 {
                world.crash.delay(200);
            }
            source(&world).meanwhile = changes();
            for (job, report) in run_together(&world, &["whole", "part"]) {
                let report = report.unwrap_or_else(|error| panic!("{kind:?} {job}: {error}"));
                assert_eq!(report.error, None, "{kind:?} {job}");
            }
            assert_eq!(doctor(&world), [""; 0], "{kind:?}");
            assert_eq!(twice(&world), [""; 0], "{kind:?}: two rows of one container");
            assert_eq!(too_wide(&world), [""; 0], "{kind:?}");
            source(&world).over();
            // The same once more over what is known, with everything changing back.
            let_in(&world, "s/1/", Acl::open());
            let_in(&world, "s/2/", only("anna"));
            for (job, report) in run_together(&world, &["part", "whole"]) {
                assert_eq!(report.unwrap_or_else(|error| panic!("{kind:?} {job}: {error}")).error, None);
            }
            assert_eq!(doctor(&world), [""; 0], "{kind:?}");
            for _ in 0..3 {
                for job in ["whole", "part"] {
                    world.clock.pass(400_000);
                    world.run(job, FULL).unwrap();
                }
            }
            let other = shared_world(kind);
            let (files, folders) = {
                let source = source(&world);
                (source.files.clone(), source.folders.clone())
            };
            {
                let mut source = source(&other);
                (source.files, source.folders) = (files, folders);
            }
            for job in ["whole", "part"] {
                other.run(job, FULL).unwrap();
            }
            assert_eq!(shown(&world, "index"), shown(&other, "index"), "{kind:?}");
            let pending = world.engine().reader.read(containers::all_pending).unwrap();
            assert_eq!(pending, [], "{kind:?}: at rest nothing is kept closed");
            for shelf in world.shelves.values() {
                assert_eq!(locked(shelf).violations, [""; 0]);
            }
        }
    }
}

#[test]
fn what_an_older_look_of_another_run_tells_opens_nothing() {
    for kind in BOTH {
        assert_eq!(older_report(kind), ["bert"], "{kind:?}");
    }
}

/// The first of two runs that meet a list of access and a folder for the first time is not disturbed by the other one.
#[test]
fn runs_that_meet_the_same_new_folders_and_lists_at_once_have_them_once() {
    for kind in BOTH {
        let mut world = World::new(kind);
        for output in ["one", "two", "three", "four"] {
            world.output(output, "memory");
        }
        let jobs = [("whole", "one"), ("b", "two"), ("c", "three"), ("d", "four")];
        for (job, output) in jobs {
            world.job(definition(&world, job, "", &[output]));
        }
        for n in 0..40 {
            put(&world, &format!("s{}/{n}", n % 20), "v1");
            let_in(&world, &format!("s{}/", n % 20), only(&format!("user {}", n % 20)));
            source(&world).file(&format!("s{}/{n}", n % 20)).acl = only(&format!("owner {n}"));
        }
        for (job, report) in run_together(&world, &jobs.map(|(job, _)| job)) {
            assert_eq!(report.unwrap_or_else(|error| panic!("{kind:?} {job}: {error}")).error, None);
        }
        assert_eq!(twice(&world), [""; 0], "{kind:?}");
        assert_eq!(doctor(&world), [""; 0], "{kind:?}");
        let of = |output: &str| {
            let entries = world.entries(output).into_iter();
            entries.map(|(name, entry)| (name, entry.acl_id, entry.container)).collect::<Vec<_>>()
        };
        assert_eq!(of("one").len(), 40);
        assert!(jobs.iter().all(|(_, output)| of(output) == of("one")), "{kind:?}: one id for one thing");
    }
}

/// Ten jobs, and one more that has an output which does not answer: how many documents each of the ten has, and the other one in all.
const EACH: usize = 200;
const MANY: usize = limits::QUEUED_MAX + 3 * limits::DELIVERY_BATCH_MAX;

fn ten_jobs(world: &mut World) -> Vec<String> {
    let mut jobs = Vec::new();
    for n in 0..10 {
        let (job, output) = (format!("job{n}"), format!("own{n}"));
        world.output(&output, "memory");
        world.job(definition(world, &job, &format!("j{n}/"), &[&output, "shared"]));
        (0..EACH).for_each(|file| put(world, &format!("j{n}/{file}"), "v1"));
        jobs.push(job);
    }
    jobs
}

#[test]
fn an_output_that_hangs_stalls_nothing_but_the_claims_of_its_own_job() {
    for kind in BOTH {
        let mut world = World::new(kind);
        world.threads = 4;
        world.output("shared", "committing");
        world.output("hangs", "memory");
        world.reopen();
        source(&world).page_items = 1_000;
        let jobs = ten_jobs(&mut world);
        let many = if kind == Kind::Sqlite { MANY } else { limits::QUEUED_MAX / 2 };
        (0..many).for_each(|file| put(&world, &format!("h/{file}"), "v1"));
        world.job(definition(&world, "hanging", "h/", &["hangs", "shared"]));
        let gate = Gate::default();
        locked(&world.shelves["hangs"]).gate = Some(gate.clone());
        let names: Vec<&str> = jobs.iter().map(String::as_str).collect();
        let all_change = |text: &str| {
            for job in 0..10 {
                (0..EACH).for_each(|file| put(&world, &format!("j{job}/{file}"), text));
            }
        };
        let held = |output: &str| world.entries(output).keys().filter(|name| name.starts_with("h/")).count();
        let all_run = |what: &str| {
            // clock: printed for whoever reads it; nothing is judged by it.
            let began = Instant::now();
            for (job, report) in run_together(&world, &names) {
                let report = report.unwrap_or_else(|error| panic!("{kind:?} {job}: {error}"));
                assert_eq!((report.error, report.counts.seen()), (None, EACH as u64), "{kind:?} {job}");
            }
            eprintln!("{kind:?}: ten jobs of {EACH} documents {what}: {:?}", began.elapsed());
        };
        all_run("for the first time");
        all_change("v2");
        std::thread::scope(|scope| {
            let _opens = gate.opens_at_the_end();
            let hanging = scope.spawn(|| world.run("hanging", FULL));
            gate.wait_for_somebody();
            all_run("beside an output that hangs");
            // What is claimed before its queue is full comes to the other output, however long that takes; the rest is not claimed.
            while held("shared") < many.min(limits::QUEUED_MAX - world.threads * limits::CLAIM_MAX) {
                std::thread::yield_now();
            }
            let most = limits::QUEUED_MAX + limits::DELIVERY_BATCH_MAX;
            assert!(held("shared") <= most, "{kind:?}: {}", held("shared"));
            assert_eq!(world.entries("hangs").len(), 0);
            gate.open();
            let report = hanging.join().unwrap().unwrap();
            assert_eq!((report.error, report.counts.added), (None, many as u64), "{kind:?}");
        });
        assert_eq!([held("hangs"), held("shared")], [many; 2], "{kind:?}");
        all_change("v3");
        all_run("alone");
        assert_eq!(doctor(&world), [""; 0], "{kind:?}");
    }
}

#[test]
fn a_run_that_is_stopped_alone_stops_nothing_else() {
    for kind in BOTH {
        let mut world = World::new(kind);
        world.output("one", "memory");
        for (job, root) in [("whole", ""), ("part", "s/")] {
            world.job(definition(&world, job, root, &["one"]));
        }
        (0..30).for_each(|n| put(&world, &format!("s/{n}"), "v1"));
        put(&world, "a", "v1");
        let (one, other) = (world.find("whole").unwrap(), world.find("part").unwrap());
        assert!(!world.engine().stop(one.id), "nothing is under way");
        let (paused, answers) = (Gate::default(), Gate::default());
        source(&world).pauses = vec![(3, paused.clone())];
        std::thread::scope(|scope| {
            let _opens = (paused.opens_at_the_end(), answers.opens_at_the_end());
            let stopped = scope.spawn(|| world.run("whole", FULL));
            paused.wait_for_somebody();
            locked(&world.shelves["one"]).gate = Some(answers.clone());
            let goes_on = scope.spawn(|| world.run("part", FULL));
            answers.wait_for_somebody();
            assert!(world.engine().stop(one.id));
            paused.open();
            answers.open();
            let stopped = stopped.join().unwrap().unwrap();
            assert_eq!((stopped.stopped, stopped.error), (true, None), "{kind:?}");
            let done = goes_on.join().unwrap().unwrap();
            assert_eq!((done.stopped, done.error, done.counts.seen()), (false, None, 30), "{kind:?}");
        });
        assert!(!world.engine().cancel.cancelled() && !world.engine().stop(other.id));
        let whole = world.run("whole", FULL).unwrap();
        assert_eq!((whole.stopped, whole.counts.seen()), (false, 31), "{kind:?}");
        assert_eq!(world.entries("one").len(), 31);
        assert_eq!(doctor(&world), [""; 0], "{kind:?}");
    }
}

fn is_busy<T: std::fmt::Debug>(result: Result<T, EngineError>) -> bool {
    match result {
        Err(EngineError::Refused { refusal: Refusal::Running, message }) => {
            assert!(message.contains("job whole is under way in this process"), "{message}");
            true
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_run_that_was_announced_keeps_others_out_and_stops_before_it_begins() {
    for kind in BOTH {
        let mut world = World::new(kind);
        world.output("one", "memory");
        world.job(definition(&world, "whole", "", &["one"]));
        let found = world.engine().reader.read(|sql| ingather_store::jobs::by_name(sql, "whole"));
        let job = found.unwrap().unwrap();
        put(&world, "a", "v1");
        let process = world.engine().process.clone();
        let cancel = &world.engine().cancel;
        assert!(!process.works_on(job.id) && !process.stop(job.id));
        let announced = process.announce(&job, cancel).unwrap();
        assert!(process.works_on(job.id));
        assert!(is_busy(process.announce(&job, cancel).map(drop)));
        let progress = || std::sync::Arc::new(ingather_engine::progress::Progress::default());
        assert!(is_busy(world.engine().delete(&job, progress()).map(|_| ())), "it would be gone");
        // It is stopped although nothing of it has begun yet.
        assert!(process.stop(job.id));
        let stopped = world.run("whole", FULL);
        assert!(matches!(stopped, Err(EngineError::Store(StoreError::Stopped))), "{kind:?}: {stopped:?}");
        assert_eq!(world.find("whole").unwrap().run, 0, "nothing of it is on record");
        drop(announced);
        assert!(!process.works_on(job.id));
        let done = world.run("whole", FULL).unwrap();
        assert_eq!((done.stopped, done.counts.seen()), (false, 1), "{kind:?}");
        assert!(!cancel.cancelled());
    }
}

#[test]
fn a_job_that_is_worked_on_is_refused_a_second_time() {
    for kind in BOTH {
        let mut world = World::new(kind);
        world.output("one", "memory");
        world.job(definition(&world, "whole", "", &["one"]));
        put(&world, "a", "v1");
        let gate = Gate::default();
        locked(&world.shelves["one"]).gate = Some(gate.clone());
        std::thread::scope(|scope| {
            let _opens = gate.opens_at_the_end();
            let first = scope.spawn(|| world.run("whole", FULL));
            gate.wait_for_somebody();
            assert!(is_busy(world.run("whole", FULL)));
            assert!(is_busy(world.delete("whole")));
            // A run that writes nothing is in nobody's way.
            let dry = ingather_engine::Options { mode: ingather_engine::Mode::DryRun, ..FULL };
            assert_eq!(world.run("whole", dry).unwrap().counts.seen(), 1);
            gate.open();
            assert_eq!(first.join().unwrap().unwrap().error, None);
        });
        // What is held is refused to be confirmed as long as the job runs.
        source(&world).files.clear();
        source(&world).folder("");
        put(&world, "b", "v1");
        let job = world.find("whole").unwrap();
        let gate = Gate::default();
        locked(&world.shelves["one"]).gate = Some(gate.clone());
        std::thread::scope(|scope| {
            let _opens = gate.opens_at_the_end();
            let deletion = scope.spawn(|| world.delete("whole"));
            gate.wait_for_somebody();
            assert!(is_busy(world.run("whole", FULL)));
            assert!(is_busy(world.engine().delete(&job, Arc::new(Progress::default()))));
            gate.open();
            assert_eq!(deletion.join().unwrap().unwrap().deleted, 1);
        });
        assert!(world.find("whole").is_none() && world.entries("one").is_empty(), "{kind:?}");
        assert_eq!(doctor(&world), [""; 0], "{kind:?}");
    }
}

/// While an output does not answer, a deletion lasts: the lease is renewed, and when another process has taken over, all work ends with that.
#[test]
fn the_lease_is_renewed_during_removals_and_all_work_ends_when_it_is_lost() {
    for kind in BOTH {
        let mut world = World::new(kind);
        world.output("one", "memory");
        world.output("two", "memory");
        world.job(definition(&world, "whole", "", &["one"]));
        world.job(definition(&world, "other", "", &["two"]));
        put(&world, "a", "v1");
        world.run("whole", FULL).unwrap();
        let gates = ["one", "two"].map(|output| {
            let gate = Gate::default();
            locked(&world.shelves[output]).gate = Some(gate.clone());
            gate
        });
        let until = || world.engine().reader.read(leases::members).unwrap()[0].until;
        std::thread::scope(|scope| {
            let _opens = gates.each_ref().map(Gate::opens_at_the_end);
            let deletion = scope.spawn(|| world.delete("whole"));
            gates[0].wait_for_somebody();
            world.clock.pass(limits::LEASE_RENEW_MS);
            while until() < world.clock.now() + limits::LEASE_MS {
                std::thread::yield_now();
            }
            let run = scope.spawn(|| world.run("other", FULL));
            gates[1].wait_for_somebody();
            let host = world.name.clone();
            let another =
                Member { id: "another".to_owned(), until: 0, pid: 2, host, doing: "test".to_owned() };
            let now = world.clock.now();
            world.store().write(Durability::Synced, |sql| leases::take(sql, &another, now)).unwrap();
            world.clock.pass(limits::LEASE_RENEW_MS);
            gates.iter().for_each(Gate::open);
            let fenced = |error: EngineError| matches!(error, EngineError::Store(StoreError::Fenced));
            assert!(fenced(deletion.join().unwrap().unwrap_err()), "{kind:?}");
            assert!(fenced(run.join().unwrap().unwrap_err()), "{kind:?}");
        });
    }
}

/// Two jobs make different records of the same documents, and each finds their access changed: what one of them sends as access alone
/// must not be taken for the access of the record that the other one has sent meanwhile.
#[test]
fn access_that_the_record_of_another_owner_overtakes_hides_nothing_for_good() {
    for kind in BOTH {
        let mut world = World::new(kind);
        world.threads = 3;
        world.output("one", "told");
        world.job(definition(&world, "whole", "", &["one"]));
        let settings = serde_json::json!({"mark": "m1"});
        let marks = Stage { transform: "script".to_owned(), settings, ..Stage::default() };
        world.job(Definition { stages: vec![marks], ..definition(&world, "part", "s/", &["one"]) });
        let names: Vec<String> = (0..20).map(|n| format!("s/{n}")).collect();
        for name in &names {
            put(&world, name, "v1");
        }
        for round in 0..4 {
            for name in &names {
                let mut source = source(&world);
                let change = source.next_change();
                let file = source.file(name);
                (file.acl, file.ctime) = (only(USERS[1 + round % 2]), change);
            }
            for (job, report) in run_together(&world, &["whole", "part"]) {
                assert_eq!(report.unwrap_or_else(|error| panic!("{kind:?} {job}: {error}")).error, None);
            }
        }
        for job in ["whole", "part", "whole", "part"] {
            world.run(job, FULL).unwrap();
        }
        let found: BTreeSet<String> = world.sees("bert", "one").into_iter().collect();
        assert_eq!(found, names.iter().cloned().collect(), "{kind:?}");
    }
}

/// A process that keeps fewer containers in memory than stand above one document leaves none of them waiting for want of a quiet moment. It may
/// read one twice.
#[test]
fn what_is_read_where_hardly_any_containers_are_kept_is_shown() {
    for kind in BOTH {
        let mut world = World::new(kind);
        // Each third process keeps hardly any containers.
        world.reopen();
        world.reopen();
        world.output("one", "memory");
        world.job(definition(&world, "docs", "", &["one"]));
        let names: Vec<String> = (0..12).map(|n| format!("a/b/c{}/d{n}/f{n}", n % 3)).collect();
        names.iter().for_each(|name| put(&world, name, "v1"));
        let first = world.run("docs", FULL).unwrap();
        assert_eq!((first.counts.added, first.counts.waiting), (12, 0), "{kind:?}");

        names.iter().step_by(2).for_each(|name| put(&world, name, "v2"));
        let second = world.run("docs", FULL).unwrap();
        assert_eq!((second.counts.updated, second.counts.waiting), (6, 0), "{kind:?}");
        let held = |name: &String| world.entries("one")[name].clone();
        let shown = names.iter().step_by(2).all(|name| format!("{:?}", held(name)).contains("v2"));
        assert!(shown, "{kind:?}: {:?}", world.entries("one"));
    }
}
