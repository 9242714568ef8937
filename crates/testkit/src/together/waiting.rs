//! Documents of a scripted site that wait for events, in runs that are held up at other documents.

use std::time::{Duration, Instant};

use super::gate::Gate;
use super::site::{site, world_of_a_site};
use crate::database::Kind;
use crate::world::{FULL, World};

/// A run of `docs` that is held up at its page `g`, while its page `b` waits for the event `e` that its page `a` has begun.
pub struct Waiting {
    /// The world.
    pub world: World,
    /// Where the visit of `g` stands.
    pub gate: Gate,
}

impl Waiting {
    /// The world before the run.
    pub fn new(kind: Kind) -> Waiting {
        let (world, gate) = (world_of_a_site(kind), Gate::default());
        site(&world, |site| {
            site.seeds = vec!["a".to_owned()];
            site.put("a", "a v1", &["b", "g"]);
            site.page("a").begins = Some("e".to_owned());
            site.put("b", "b v1", &[]);
            site.page("b").after = vec!["e".to_owned()];
            site.put("g", "g v1", &[]);
            site.gates.insert("g".to_owned(), gate.clone());
        });
        Waiting { world, gate }
    }

    /// Whether `b` is visited within so long.
    pub fn is_visited(&self, longest: Duration) -> bool {
        let began = Instant::now();
        let is_visited = || site(&self.world, |site| site.visited.contains(&"b".to_owned()));
        while !is_visited() && began.elapsed() < longest {
            std::thread::yield_now();
        }
        is_visited()
    }
}

/// Whether a document is visited within so long after somebody has completed the event that it waits for, while its run is busy with another one.
///
/// # Panics
/// When the run fails.
pub fn is_woken(longest: Duration) -> bool {
    let waiting = Waiting::new(Kind::Sqlite);
    std::thread::scope(|scope| {
        let _opens = waiting.gate.opens_at_the_end();
        let run = scope.spawn(|| waiting.world.run("docs", FULL).expect("the run comes to its end"));
        waiting.gate.wait_for_somebody();
        waiting.world.engine().free_event("global:e").expect("the event is free");
        let is_woken = waiting.is_visited(longest);
        waiting.gate.open();
        run.join().expect("the run comes to its end");
        is_woken
    })
}
