//! Events that documents wait for, as people see them: who holds them, for how long, what waits, and what frees them.

use ingather_model::job::Definition;
use ingather_operations::Code;
use ingather_operations::jobs;
use ingather_operations::system::events;
use ingather_testkit::database::BOTH;
use ingather_testkit::together::definition;
use ingather_testkit::together::site::WEB;
use ingather_testkit::together::waiting::Waiting;
use ingather_testkit::world::FULL;

use super::service::{Lacks, Service};

/// Why a job does not work, as it is shown.
fn hold(service: &Service, job: &str) -> String {
    let shown = service.ask(&jobs::SHOW, &format!(r#"{{"job": "{job}"}}"#)).unwrap();
    serde_json::to_value(shown).unwrap()["hold"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_person_sees_who_holds_an_event_and_what_waits_and_frees_it() {
    for kind in BOTH {
        let mut waiting = Waiting::new(kind);
        waiting.world.output("two", "memory");
        let other = definition(&waiting.world, "other", "", &["two"]);
        waiting.world.job(Definition { repository: WEB.to_owned(), ..other });
        let (world, gate) = (&waiting.world, &waiting.gate);
        let service = Service::of(world, Lacks::default());
        assert!(service.ask(&events::LIST, "{}").unwrap().events.is_empty());
        let sentence =
            |documents: &str| format!("{documents} for the event `global:e`, which job docs began for `a` ");
        std::thread::scope(|scope| {
            let _opens = gate.opens_at_the_end();
            let docs = scope.spawn(|| world.run("docs", FULL).unwrap());
            gate.wait_for_somebody();
            // A run of another job has nothing to do but to wait.
            let other = scope.spawn(|| world.run("other", FULL).unwrap());
            while !hold(&service, "other").starts_with(&sentence("1 document waits")) {
                std::thread::yield_now();
            }
            world.clock.pass(4_000);
            let pending = service.ask(&events::LIST, "{}").unwrap().events;
            let event = serde_json::to_value(&pending).unwrap();
            let seen =
                ["name", "job", "document", "age_ms", "waiting"].map(|field| event[0][field].to_string());
            assert_eq!(seen, ["\"global:e\"", "\"docs\"", "\"a\"", "4000", "2"]);
            gate.open();
            // It is for its owner to complete it; nobody does.
            assert_eq!([docs, other].map(|run| run.join().unwrap().counts.waiting), [1, 1]);
        });
        let told = hold(&service, "docs");
        assert!(told.starts_with(&sentence("1 document waits")), "{told}");
        assert!(told.contains("`ingather event free 'global:e'` frees it"), "{told}");
        assert_eq!(service.ask(&events::FREE, r#"{"name": "global:e"}"#).unwrap().name, "global:e");
        let again = service.ask(&events::FREE, r#"{"name": "global:e"}"#).unwrap_err();
        assert_eq!(again.code, Code::NoSuchEvent);
        assert!(!hold(&service, "docs").contains("event"), "{}", hold(&service, "docs"));
    }
}
