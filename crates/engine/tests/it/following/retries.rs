//! An attempt to deliver a record fails and is made again: a channel tells it whose client has asked for that, and no other one (coverage S2.51).

use ingather_engine::Options;
use ingather_engine::inbox::Through;
use ingather_model::fault::Fault;
use ingather_model::job::{Definition, RunKind};
use ingather_store::documents::inbox::channels::NewChannel;
use ingather_store::documents::inbox::reports;
use ingather_testkit::database::BOTH;
use ingather_testkit::memory_output::{Effect, InjectedFault, locked, shared};
use ingather_testkit::together::definition;
use ingather_testkit::together::pushing::{self, PUSHED};
use ingather_testkit::together::sinks;
use ingather_testkit::world::{FULL, World};

/// A pass over what was asked for.
const PASS: Options = Options { kind: RunKind::Minimal, is_pass: true, ..FULL };

fn told(world: &World, channel: i64) -> Vec<(i64, String, String)> {
    let told = world.engine().reader.read(|sql| reports::list(sql, channel, 0, 100)).unwrap();
    told.into_iter().map(|report| (report.serial, report.kind, report.about)).collect()
}

#[test]
fn an_attempt_that_is_made_again_is_told_to_whoever_has_asked_for_it() {
    for kind in BOTH {
        let mut world = World::new(kind);
        world.output("one", "memory");
        pushing::connect(&world);
        let source = serde_json::json!({"root": "push:docs", "access": ["everybody"]});
        let made = definition(&world, "docs", "", &["one"]);
        world.job(Definition { repository: PUSHED.to_owned(), source, ..made });
        let job = world.find("docs").unwrap();
        let open = |tells_retries: bool| {
            let new = NewChannel {
                client: "client",
                opened_by: "a test",
                is_sync: false,
                lease_ms: 86_400_000,
                throttle_ms: 600_000,
                open_max: 100,
                tells_retries,
                sink: None,
            };
            world.engine().open_channel(&job, new).unwrap()
        };
        let channels = [open(true), open(false)];
        locked(&shared(&world.name, "one")).faults.push(InjectedFault {
            name: "slow".to_owned(),
            fault: Fault::passing("busy", "it has no room"),
            times: 2,
            effect: Effect::None,
        });
        for (channel, keys) in channels.iter().zip([["slow 1", "a"], ["slow 2", "b"]]) {
            let through = Through { run: None, channel: Some(*channel) };
            world.engine().accept(&job, through, keys.map(sinks::push).into()).unwrap();
        }
        world.run("docs", PASS).unwrap();
        world.clock.pass(3_600_000);
        world.run("docs", PASS).unwrap();
        let of = |kinds: &[(&str, &str)]| -> Vec<(i64, String, String)> {
            let numbered = (1..).zip(kinds);
            numbered.map(|(at, (kind, about))| (at, (*kind).to_owned(), (*about).to_owned())).collect()
        };
        let asked = [
            ("state", ""),
            ("queued", ""),
            ("queued", ""),
            ("completed", ""),
            ("retry", "it has no room"),
            ("completed", ""),
        ];
        assert_eq!(told(&world, channels[0]), of(&asked), "{kind:?}");
        let others: Vec<(&str, &str)> = asked.into_iter().filter(|(kind, _)| *kind != "retry").collect();
        assert_eq!(told(&world, channels[1]), of(&others), "{kind:?}");
    }
}
