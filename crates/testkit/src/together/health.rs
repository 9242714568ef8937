//! Two sources that clients push into, each through a channel into an output of its own, one of which is away, fails or is damaged for a time: here once, for the engine's tests and for the
//! planted faults.

use std::collections::BTreeMap;
use std::sync::Arc;

use ingather_contract::call::Clock as _;
use ingather_engine::inbox::Through;
use ingather_engine::{Engine, EngineError, Options, Watches};
use ingather_model::job::schedule::Schedule;
use ingather_model::job::{Definition, RunKind};
use ingather_model::lifecycle::channel::State;
use ingather_model::lifecycle::outcome::OutputHealth;
use ingather_model::limits;
use ingather_store::connections::{self, Role};
use ingather_store::documents::inbox::channels::NewChannel;
use ingather_store::documents::inbox::reports::{self, ChannelReport};
use ingather_store::jobs::Job;

use super::pushing::{self, PUSHED};
use super::{definition, sinks};
use crate::database::Kind;
use crate::memory_output::locked;
use crate::world::{FULL, World};

/// A pass over what was asked for.
const PASS: Options = Options { kind: RunKind::Minimal, is_pass: true, ..FULL };
/// How long a channel may be throttled.
const THROTTLE_MS: i64 = 600_000;
/// The output that something is wrong with, and the source that is sent to it; then those that are well.
const ILL: (&str, &str) = ("one", "docs");
const WELL: (&str, &str) = ("two", "notes");

/// What is wrong with the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// It is away, and comes back soon.
    Returns,
    /// It fails once, while it is sent something, and can be opened again.
    FailsOnce,
    /// It is away for longer than a channel may be throttled.
    StaysAway,
    /// What it holds is damaged.
    IsDamaged,
}

/// What came of it.
#[derive(Debug)]
pub struct Went {
    /// What is wrong, in words; nothing where all is well.
    pub wrong: Vec<String>,
    /// Whether the process died.
    pub died: bool,
}

/// A world in which something is wrong with one of two outputs.
struct Outputs {
    world: World,
    watches: Watches,
    /// The channel into each source, first that of the output that something is wrong with.
    channels: [i64; 2],
    wrong: Vec<String>,
}

/// Pushes into both sources while something is wrong with the output of one; the process dies where `dies` says, while channels are tended, and another one goes on. In the end
/// the output is well.
///
/// # Panics
/// When the world cannot be made.
pub fn went(kind: Kind, how: How, dies: Option<(&str, u64)>) -> Went {
    let mut outputs = Outputs::new(kind);
    outputs.push("before");
    outputs.passes_end_well();
    outputs.fails(how);
    outputs.push("meanwhile");
    outputs.meets_it(how);
    let mut died = false;
    match how {
        How::Returns | How::FailsOnce => outputs.comes_back(how),
        How::StaysAway | How::IsDamaged => died = outputs.ends_its_channel(how, dies),
    }
    locked(&outputs.world.shelves[ILL.0]).heal();
    outputs.delivers(how);
    Went { wrong: outputs.wrong, died }
}

impl Outputs {
    fn new(kind: Kind) -> Outputs {
        let mut world = World::new(kind);
        pushing::connect(&world);
        for (output, kind, job) in [(ILL.0, "committing", ILL.1), (WELL.0, "memory", WELL.1)] {
            world.output(output, kind);
            let source = serde_json::json!({"root": format!("push:{job}"), "access": ["everybody"]});
            let made = definition(&world, job, "", &[output]);
            let schedule = Some(Schedule::Continuous);
            world.job(Definition { repository: PUSHED.to_owned(), source, schedule, ..made });
        }
        let channels = [ILL.1, WELL.1].map(|job| {
            let job = world.find(job).expect("it is there");
            world.engine().open_channel(&job, new_channel()).expect("a channel is opened")
        });
        Outputs { world, watches: Watches::new(Arc::new(|| {}), 10), channels, wrong: Vec::new() }
    }

    fn is(&mut self, is_so: bool, what: &str) {
        if !is_so {
            self.wrong.push(what.to_owned());
        }
    }

    fn fails(&self, how: How) {
        let mut shelf = locked(&self.world.shelves[ILL.0]);
        match how {
            How::Returns | How::StaysAway => shelf.is_away = true,
            How::FailsOnce => shelf.failing_commits = 1,
            How::IsDamaged => shelf.is_damaged = true,
        }
    }

    fn push(&mut self, key: &str) {
        for (job, channel) in [ILL.1, WELL.1].into_iter().zip(self.channels) {
            let job = self.world.find(job).expect("it is there");
            let through = Through { run: None, channel: Some(channel) };
            let accepted = self.world.engine().accept(&job, through, vec![sinks::push(key)]);
            self.is(accepted.is_ok(), &format!("{key} is not taken: {accepted:?}"));
        }
    }

    /// A look of the service: the jobs whose passes begin, each with how it ended, and when to look again.
    fn look(&mut self) -> (BTreeMap<String, Result<(), EngineError>>, Option<i64>) {
        let jobs: Vec<Job> = [ILL.1, WELL.1].iter().filter_map(|job| self.world.find(job)).collect();
        let (engine, world) = (reading(self.world.engine()), &self.world);
        let process = &world.engine().process;
        let due = self.watches.look(jobs, &engine, process, &world.clock).expect("the store answers");
        let mut ended = BTreeMap::new();
        for (job, _) in due.begins {
            self.watches.begin(&job, &engine, &world.clock);
            ended.insert(job.name.clone(), world.run(&job.name, PASS).map(drop));
        }
        (ended, due.again)
    }

    /// Everything that was pushed is delivered, as the service begins passes.
    fn passes_end_well(&mut self) {
        self.world.clock.pass(limits::PUSHED_REST_MS_MAX);
        let (ended, _) = self.look();
        let both = ended.len() == 2 && ended.values().all(Result::is_ok);
        self.is(both, &format!("not both passes end well: {ended:?}"));
        // They have ended, and rest from now on.
        self.look();
    }

    fn health(&self) -> connections::Health {
        let found = self.world.engine().reader.read(|sql| connections::find(sql, Role::Output, ILL.0));
        found.expect("the store answers").expect("it is there").health
    }

    fn reports(&self, channel: i64) -> Vec<ChannelReport> {
        let read = self.world.engine().reader.read(|sql| reports::list(sql, channel, 0, 1_000));
        read.expect("the store answers")
    }

    /// The pass of one source fails, and that is noted; the other one goes on.
    fn meets_it(&mut self, how: How) {
        self.world.clock.pass(limits::PUSHED_REST_MS_MAX);
        let now = self.world.clock.now();
        let (ended, _) = self.look();
        let is_right = matches!(ended.get(ILL.1), Some(Err(EngineError::Output { .. })))
            && matches!(ended.get(WELL.1), Some(Ok(())));
        self.is(is_right, &format!("passes ended so: {ended:?}"));
        let state = if how == How::IsDamaged { OutputHealth::Corrupt } else { OutputHealth::Unavailable };
        let health = self.health();
        let is_noted = health.state == state && health.since == now && !health.why.is_empty();
        self.is(is_noted, &format!("the output is noted as {health:?}"));
        let (ended, again) = self.look();
        let waits = ended.is_empty() && again.is_some_and(|again| again <= now + limits::PASS_RETRY_MS);
        self.is(waits, &format!("the pass that failed is made again so: {ended:?} {again:?}"));
    }

    /// What a service does with outputs that are away: how many it has tried, and how many are back.
    fn probes(&mut self) -> (usize, usize) {
        let engine = self.world.engine();
        let (due, _) = engine.probes_due().expect("the store answers");
        let back = due.iter().map(|one| engine.probe_output(one).expect("the store answers"));
        (due.len(), back.filter(|back| *back).count())
    }

    /// It is tried after one second and after two more; then it is back, and the pass is made at once.
    fn comes_back(&mut self, how: How) {
        let tried = self.probes();
        self.is(tried == (0, 0), "an output is tried as soon as it has failed");
        self.world.clock.pass(limits::OUTPUT_PROBE_MS_MIN);
        if how == How::Returns {
            let tried = self.probes();
            self.is(tried == (1, 0), &format!("it was tried so: {tried:?}"));
            self.tends();
            locked(&self.world.shelves[ILL.0]).heal();
            let tried = self.probes();
            self.is(tried == (0, 0), "it is tried again at once");
            self.world.clock.pass(2 * limits::OUTPUT_PROBE_MS_MIN);
        }
        let tried = self.probes();
        self.is(tried == (1, 1), &format!("it is back, and was tried so: {tried:?}"));
        let health = self.health();
        self.is(health.state == OutputHealth::Healthy, &format!("it is back, and noted as {health:?}"));
    }

    fn tends(&mut self) {
        if let Err(error) = self.world.engine().tend_channels(false)
            && !self.world.crash.dead()
        {
            self.wrong.push(format!("channels are not tended: {error}"));
        }
    }

    /// Its channel ends, at once or when it was away for as long as a channel may be throttled; whether the process died over it.
    fn ends_its_channel(&mut self, how: How, dies: Option<(&str, u64)>) -> bool {
        if how == How::StaysAway {
            self.world.clock.pass(THROTTLE_MS - 1);
            self.tends();
            let state = self.state(self.channels[0]);
            self.is(state == Some(State::Running), &format!("it is {state:?} before its time"));
            self.world.clock.pass(1);
        }
        if let Some((point, nth)) = dies {
            self.world.crash.arm(point, nth);
        }
        self.tends();
        let died = self.world.crash.dead();
        if !died {
            // Nothing is armed any more.
            self.world.crash.revive();
        } else {
            self.world.reopen();
            self.watches = Watches::new(Arc::new(|| {}), 10);
            self.tends();
        }
        let reason = if how == How::IsDamaged { "store_corrupt" } else { "store_unavailable" };
        let found = self.world.engine().channel(self.channels[0]).ok().flatten();
        let is_over =
            found.as_ref().is_some_and(|one| one.state == State::Terminated && one.reason == reason);
        self.is(is_over, &format!("the channel of the output stands so: {found:?}"));
        let failed: Vec<ChannelReport> = self.reports(self.channels[0]);
        let failed =
            failed.iter().filter_map(|report| report.ticket.as_ref()).filter(|ticket| ticket.code == reason);
        let outcomes: Vec<_> = failed.map(|ticket| (ticket.key.clone(), ticket.outcome.clone())).collect();
        let is_right = outcomes == [("meanwhile".to_owned(), Some("failed".to_owned()))];
        self.is(is_right, &format!("these tickets failed for it: {outcomes:?}"));
        if how == How::IsDamaged {
            let job = self.world.find(ILL.1).expect("it is there");
            let opened = self.world.engine().open_channel(&job, new_channel());
            self.is(
                matches!(opened, Err(EngineError::Output { .. })),
                &format!("another one is opened: {opened:?}"),
            );
            self.world.clock.pass(10 * limits::OUTPUT_PROBE_MS_MAX);
            let tried = self.probes();
            self.is(tried == (0, 0), "what is damaged is tried, and nobody has repaired it");
        }
        died
    }

    fn state(&self, channel: i64) -> Option<State> {
        self.world.engine().channel(channel).ok().flatten().map(|channel| channel.state)
    }

    /// The output is well: what was pushed is delivered, each ticket was completed once, and the other channel goes on.
    fn delivers(&mut self, how: How) {
        if how == How::StaysAway {
            self.world.clock.pass(limits::OUTPUT_PROBE_MS_MAX);
            let tried = self.probes();
            self.is(tried == (1, 1), &format!("it is back, and was tried so: {tried:?}"));
        }
        if how == How::IsDamaged {
            // Somebody has put it right; nobody has told the service.
            self.world.clock.pass(limits::PASS_RETRY_MS);
        } else {
            self.world.clock.pass(limits::PUSHED_REST_MS_MAX);
        }
        let (ended, _) = self.look();
        let is_right = matches!(ended.get(ILL.1), Some(Ok(())));
        self.is(is_right, &format!("its pass is not made again: {ended:?}"));
        let health = self.health();
        self.is(health.state == OutputHealth::Healthy, &format!("in the end it is noted as {health:?}"));
        self.push_on_the_other();
        for output in [ILL.0, WELL.0] {
            let held: Vec<String> = self.world.entries(output).into_keys().collect();
            let has = |key: &str| held.iter().any(|name| name.ends_with(&format!("/{key}")));
            let has_all = has("before") && has("meanwhile");
            self.is(has_all, &format!("output {output} holds {held:?}"));
        }
        for channel in self.channels {
            let mut kinds: BTreeMap<i64, Vec<String>> = BTreeMap::new();
            for report in self.reports(channel) {
                if let Some(ticket) = report.ticket {
                    kinds.entry(ticket.number).or_default().push(report.kind);
                }
            }
            let are_right = kinds.values().all(|kinds| kinds == &["queued", "completed"]);
            self.is(are_right, &format!("tickets of channel {channel} were reported so: {kinds:?}"));
        }
    }

    /// The channel of the other source goes on.
    fn push_on_the_other(&mut self) {
        let job = self.world.find(WELL.1).expect("it is there");
        let through = Through { run: None, channel: Some(self.channels[1]) };
        let accepted = self.world.engine().accept(&job, through, vec![sinks::push("after")]);
        self.is(accepted.is_ok(), &format!("the channel of the other output takes nothing: {accepted:?}"));
        let ran = self.world.run(WELL.1, PASS);
        self.is(ran.is_ok(), &format!("the pass of the other output fails: {ran:?}"));
        let state = self.state(self.channels[1]);
        self.is(state == Some(State::Running), &format!("the channel of the other output is {state:?}"));
    }
}

fn new_channel() -> NewChannel<'static> {
    NewChannel {
        client: "client",
        opened_by: "a test",
        is_sync: false,
        lease_ms: 86_400_000,
        throttle_ms: THROTTLE_MS,
        open_max: 100,
        tells_retries: false,
        sink: None,
    }
}

/// Engines that read beside this one.
fn reading(engine: &Engine) -> impl Fn(&Job) -> Engine + use<> {
    let Engine { reader, clock, registry, host, process, data, .. } = engine;
    let of_job = (reader.clone(), clock.clone(), *registry, host.clone(), process.clone(), data.clone());
    move |_| {
        let (reader, clock, registry, host, process, data) = of_job.clone();
        let (cancel, asked_by) = (Default::default(), String::new());
        Engine { reader, writer: None, registry, clock, cancel, data, host, process, asked_by }
    }
}
