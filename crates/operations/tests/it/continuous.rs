//! Passes of continuous jobs, and people who come between their start and their run.

use ingather_model::job::Definition;
use ingather_model::job::schedule::Schedule;
use ingather_operations::jobs;
use ingather_testkit::database::BOTH;
use ingather_testkit::together::{definition, put};

use super::service::{Lacks, Service, world_of};

const JOB: &str = r#"{"job": "docs"}"#;

#[test]
fn a_pass_that_a_pause_kept_from_beginning_begins_when_that_is_over_and_not_after_a_minute() {
    for kind in BOTH {
        let mut world = world_of(kind);
        let schedule = Some(Schedule::Continuous);
        world.job(Definition {
            schedule,
            repository: "files".to_owned(),
            ..definition(&world, "docs", "", &["memory"])
        });
        put(&world, "a", "v1");
        let service = Service::of(&world, Lacks::default());
        // The first pass is announced, and paused before it is on record.
        service.keep_back();
        service.look();
        service.ask(&jobs::PAUSE, JOB).unwrap();
        service.let_begin();
        service.join();
        assert_eq!(world.find("docs").unwrap().run, 0, "{:?}", service.logged());
        // Nobody looks between: what a service is told of at once, it looks at once.
        service.ask(&jobs::RESUME, JOB).unwrap();
        service.look();
        service.join();
        assert_eq!(world.find("docs").unwrap().run, 1, "{:?}", service.logged());
    }
}
