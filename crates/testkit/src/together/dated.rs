//! Passes of a continuous job over a site, as a service begins them, by a clock that is moved by hand.

use std::sync::Arc;

use ingather_contract::call::Clock as _;
use ingather_engine::{Engine, Options, Watches};
use ingather_model::job::dates::DateRules;
use ingather_model::job::schedule::Schedule;
use ingather_model::job::{Definition, RunKind};
use ingather_store::jobs::Job;

use super::definition;
use super::site::{WEB, connect, site};
use crate::database::Kind;
use crate::world::{FULL, World};

/// A pass that has begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begun {
    /// How long after the last one had ended, milliseconds.
    pub after: i64,
    /// How it looked.
    pub kind: RunKind,
    /// Pages that it asked for, in the order of their names.
    pub visited: Vec<String>,
}

/// A world with the continuous job `docs` over its site, and the watches of its service.
pub struct Dated {
    /// The world.
    pub world: World,
    watches: Watches,
}

impl Dated {
    /// One whose job goes by these dates, as they are typed.
    ///
    /// # Panics
    /// When these are none, or the store takes no connection.
    pub fn new(kind: Kind, dates: &str) -> Dated {
        let mut world = World::new(kind);
        world.output("one", "memory");
        connect(&world);
        let dates = DateRules::parse(dates).expect("dates are given");
        let plain = definition(&world, "docs", "", &["one"]);
        let schedule = Some(Schedule::Continuous);
        world.job(Definition { repository: WEB.to_owned(), schedule, dates, ..plain });
        Dated { world, watches: Watches::new(Arc::new(|| {}), 10) }
    }

    fn engine(&self) -> impl Fn(&Job) -> Engine + use<> {
        let Engine { reader, clock, registry, host, process, data, .. } = self.world.engine();
        let parts = (reader.clone(), clock.clone(), *registry, host.clone(), process.clone(), data.clone());
        move |_| {
            let (reader, clock, registry, host, process, data) = parts.clone();
            let (writer, cancel, asked_by) = (None, Default::default(), String::new());
            Engine { reader, writer, registry, clock, cancel, data, host, process, asked_by }
        }
    }

    fn job(&self) -> Job {
        self.world.find("docs").expect("the job is there")
    }

    /// What is due: the pass that begins now, and else when it is asked again.
    fn due(&mut self) -> Result<(Job, RunKind), Option<i64>> {
        let job = self.job();
        let (engine, process) = (self.engine(), self.world.engine().process.clone());
        let due = self.watches.look(vec![job], &engine, &process, &self.world.clock);
        let mut due = due.expect("the store answers");
        due.begins.pop().ok_or(due.again)
    }

    /// Waits until a pass is due, and begins it; after how long, and how it looks.
    fn begin(&mut self) -> (i64, RunKind) {
        let began = self.world.clock.now();
        let (job, kind) = loop {
            match self.due() {
                Ok(due) => break due,
                Err(again) => {
                    let again = again.expect("something is due");
                    self.world.clock.pass((again - self.world.clock.now()).max(1));
                }
            }
        };
        let after = self.world.clock.now() - began;
        self.watches.begin(&job, &self.engine(), &self.world.clock);
        (after, kind)
    }

    /// Waits until a pass is due, which somebody keeps from beginning.
    ///
    /// # Panics
    /// When none will ever be due, or the store fails.
    pub fn put_off(&mut self) {
        self.begin();
        self.world.engine().process.put_off(self.job().id);
    }

    /// Waits until a pass is due, and makes it.
    ///
    /// # Panics
    /// When none will ever be due, or the store fails.
    pub fn pass(&mut self) -> Begun {
        let (after, kind) = self.begin();
        site(&self.world, |site| site.visited.clear());
        // How it ends is on record.
        let _ = self.world.run("docs", Options { kind, is_pass: true, ..FULL });
        let mut visited = site(&self.world, |site| std::mem::take(&mut site.visited));
        visited.sort();
        // The end of a run is a change, too.
        let _ = self.due();
        Begun { after, kind, visited }
    }
}

/// Whether a page whose date has come is looked at, where no seed is asked for an hour.
pub fn is_looked_at_when_it_is_due(kind: Kind) -> bool {
    let mut dated = Dated::new(kind, "reseed=60,recrawl=10");
    site(&dated.world, |site| {
        site.put("a", "v1", &[]);
        site.seeds = vec!["a".to_owned()];
    });
    dated.pass();
    let second = dated.pass();
    second.kind == RunKind::Minimal && second.visited == ["a"]
}
