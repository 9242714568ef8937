//! One job of a world: brought into a state, met by an event, and looked at.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ingather_contract::call::Clock as _;
use ingather_model::fault::{Exhausted, Fault, Reason};
use ingather_model::guard::Guard;
use ingather_model::job::Definition;
use ingather_model::job::schedule::Schedule;
use ingather_model::key::DocumentKey;
use ingather_model::lifecycle::job::State;
use ingather_model::lifecycle::outcome::RunOutcome;
use ingather_operations::{Result, jobs};
use ingather_store::jobs::Job;
use ingather_store::queue::{Attention, Noted};
use ingather_store::{documents, runs};
use ingather_testkit::database::Kind;
use ingather_testkit::memory_output::locked;
use ingather_testkit::script_repository::{Meanwhile, Step};
use ingather_testkit::together::gate::Gate;
use ingather_testkit::together::{definition, put, source};
use ingather_testkit::world::World;
use serde_json::json;

use super::answers::{heard, restarted, why};
use crate::service::{Lacks, Service, hold_opening, world_of};

const MINUTE: i64 = 60_000;
const DAY: i64 = 1_440 * MINUTE;
/// Its window is open for an hour from here on.
const TWO: i64 = 120 * MINUTE;
/// Looks in a row that find a run at rest, after which it counts as such.
const LOOKS: usize = 25;
/// A job that has not come to rest by then never does.
const LONG: Duration = Duration::from_secs(120);
const JOB: &str = r#"{"job": "docs"}"#;
const MINIMAL: &str = r#"{"job": "docs", "mode": "minimal"}"#;

/// A world with one job at a time.
pub(crate) struct Play {
    pub(super) world: World,
    service: Option<Arc<Service>>,
    pub(super) lacks: Lacks,
    /// Where the run under way is held.
    gate: Gate,
    is_held: bool,
    only_removals: bool,
    delete_guard: Guard,
}

impl Drop for Play {
    fn drop(&mut self) {
        // A test that fails must not leave threads waiting.
        self.gate.open();
    }
}

impl Play {
    pub(crate) fn new(kind: Kind) -> Play {
        Play {
            world: world_of(kind),
            service: None,
            lacks: Lacks::default(),
            gate: Gate::default(),
            is_held: false,
            only_removals: false,
            delete_guard: Guard::Off,
        }
    }

    pub(crate) fn service(&self) -> Arc<Service> {
        self.service.clone().unwrap()
    }

    /// The job as it is stored.
    pub(crate) fn job(&self) -> Job {
        self.world.find("docs").unwrap()
    }

    /// A job that had a run, of a source that has changed since: `b` is another one, `d` is gone. One of each, so that whatever is in
    /// hands is all there is of its sort.
    pub(crate) fn begin(&mut self, made_by: &[String]) {
        (self.lacks, self.gate, self.is_held) = (Lacks::default(), Gate::default(), false);
        self.only_removals = made_by.iter().any(|step| step == "only removals");
        let is_guarded = made_by.iter().any(|step| step == "guarded");
        self.delete_guard = if is_guarded { Guard::Limits { percent: 1, documents: 0 } } else { Guard::Off };
        let now = self.world.clock.now();
        self.world.clock.pass(DAY - now % DAY + TWO + 10 * MINUTE);
        let schedule = Some(Schedule::read(&json!([{"hours": [2], "length_minutes": 60}])).unwrap());
        let plain = definition(&self.world, "docs", "docs/", &["memory"]);
        let repository = "files".to_owned();
        self.world.job(Definition { repository, schedule, delete_guard: self.delete_guard, ..plain });
        {
            let mut source = source(&self.world);
            source.files.clear();
            source.over();
        }
        ["a", "b", "d"].iter().for_each(|name| put(&self.world, &format!("docs/{name}"), "v1"));
        self.serve();
        self.service().ask(&jobs::START, JOB).unwrap();
        self.service().join();
        if !self.only_removals {
            put(&self.world, "docs/b", "v2");
        }
        source(&self.world).files.remove("docs/d");
        locked(&self.world.shelves["memory"]).told.clear();
        for step in made_by {
            self.step(step);
        }
    }

    /// A second job `more` of the same source, whose run is under way as well.
    pub(crate) fn another_begins(&mut self) {
        let plain = definition(&self.world, "more", "more/", &["memory"]);
        put(&self.world, "more/e", "v1");
        self.world.job(Definition { repository: "files".to_owned(), ..plain });
        self.service().ask(&jobs::START, r#"{"job": "more"}"#).unwrap();
        self.wait_until("its run is on record", |play| play.world.find("more").unwrap().run == 1);
    }

    /// Whether that one has come to its end.
    pub(crate) fn another_has_ended(&self) -> bool {
        let job = self.world.find("more").unwrap();
        let found = self.world.engine().reader.read(|sql| runs::list(sql, job.id, 1)).unwrap();
        job.state == State::Resting && found[0].outcome == Some(RunOutcome::Done)
    }

    fn serve(&mut self) {
        self.service = Some(Service::of(&self.world, self.lacks));
    }

    /// The service is gone; the next one has not looked yet.
    fn serve_anew(&mut self) {
        self.gate.open();
        self.service().let_begin();
        self.service().join();
        self.service = None;
        self.world.reopen();
        self.is_held = false;
        self.serve();
    }

    fn delete_aside(&mut self) {
        self.service().ask_aside(&jobs::DELETE, JOB);
        self.step("it is held");
        // As services look at first: this one is no deletion of an earlier program.
        self.service().look();
    }

    fn step(&mut self, step: &str) {
        match step {
            "only the first run" | "only removals" | "guarded" => {}
            "hold listing" => {
                self.is_held = true;
                source(&self.world).pauses = vec![(1, self.gate.clone())];
            }
            "hold sending" => {
                self.is_held = true;
                locked(&self.world.shelves["memory"]).gate = Some(self.gate.clone());
            }
            "b may fail once" => {
                let fault = fault(Some(180 * MINUTE), 2);
                source(&self.world).file("docs/b").fault = Some((fault, 1));
            }
            "it is time to try again" => self.world.clock.pass(200 * MINUTE),
            "hold again" => {
                self.gate = Gate::default();
                self.step("hold sending");
            }
            "hold listing and reading" => {
                // Another one: that of before may be open.
                (self.is_held, self.gate) = (true, Gate::default());
                let mut source = source(&self.world);
                // After the page of what is above, and that of the documents.
                source.pauses = vec![(3, self.gate.clone())];
                let gate = self.gate.clone();
                let steps = vec![Step(Arc::new(move |_| gate.pass()))];
                source.meanwhile = vec![Meanwhile { point: "read".to_owned(), nth: 1, steps }];
            }
            "hold opening" => {
                self.is_held = true;
                hold_opening(&self.world, &self.gate);
            }
            "hold its end" => {
                self.is_held = true;
                self.service().hold_after_run(&self.gate);
            }
            "keep back" => {
                self.is_held = true;
                self.service().keep_back();
            }
            "it is held" => self.wait_until("it is held", |play| play.gate.arrived() > 0),
            "both are held" => self.wait_until("both are held", |play| play.gate.arrived() == 2),
            "all is listed" => self.wait_until("it is listed", |play| !play.glance().lists),
            "it is let go" => {
                self.gate.open();
                self.quiet();
            }
            "its end is written" => {
                self.step("it is held");
                self.wait_until("its run has ended", |play| play.runs().iter().all(|run| run.1.is_some()));
            }
            "a day passes" => {
                let now = self.world.clock.now();
                self.world.clock.pass(DAY - now % DAY + TWO + 10 * MINUTE);
            }
            "delete aside" => self.delete_aside(),
            "without its source" => self.without(Lacks { source: true, output: false }),
            "without its output" => self.without(Lacks { source: false, output: true }),
            "without both" => self.without(Lacks { source: true, output: true }),
            event => {
                let answer = self.event(event);
                assert!(!answer.starts_with("refused"), "{event}: {answer}");
            }
        }
    }

    fn without(&mut self, lacks: Lacks) {
        self.lacks = lacks;
        self.serve_anew();
    }

    /// What whoever asks is answered, in a word or two; `-` where nobody asks.
    pub(crate) fn event(&mut self, event: &str) -> String {
        let service = self.service();
        let answer = match event {
            "start" => service.ask(&jobs::START, JOB).map(|begun| format!("begins {}", begun.mode)),
            "start minimal" => {
                service.ask(&jobs::START, MINIMAL).map(|begun| format!("begins {}", begun.mode))
            }
            "pause" => service.ask(&jobs::PAUSE, JOB).map(|paused| heard(paused.heard)),
            "resume" => service.ask(&jobs::RESUME, JOB).map(|paused| heard(paused.heard)),
            "abort" => service.ask(&jobs::ABORT, JOB).map(|aborted| match aborted {
                jobs::Aborted { stopping: true, .. } => "stops".to_owned(),
                jobs::Aborted { rests: true, .. } => "rests".to_owned(),
                _ => "nothing to stop".to_owned(),
            }),
            "restart" => restarted(service.ask(&jobs::RESTART, JOB)),
            "restart minimal" => restarted(service.ask(&jobs::RESTART, MINIMAL)),
            "delete" => service.ask(&jobs::DELETE, JOB).map(|deleted| match deleted {
                jobs::Deletion::Done(done) => format!("removed {}", done.removals.line.deleted),
                jobs::Deletion::Counted(_) => "counted".to_owned(),
            }),
            "confirm" => self.confirm(),
            "reset seeding" => service.ask(&jobs::RESET_SEEDING, JOB).map(|reset| {
                if reset.under_way { "for the run after this one" } else { "for the next run" }.to_owned()
            }),
            "resend" => {
                service.ask(&jobs::RESEND, JOB).map(|resent| format!("{} to send again", resent.documents))
            }
            event => {
                drop(service);
                self.happens(event);
                Ok("-".to_owned())
            }
        };
        answer.unwrap_or_else(|problem| format!("refused {}", problem.code.row().word))
    }

    /// What nobody asks for.
    fn happens(&mut self, event: &str) {
        match event {
            "nothing" => {}
            "window opens" => {
                self.step("a day passes");
                self.service().look();
            }
            "window closes" => {
                self.world.clock.pass(60 * MINUTE);
                self.service().look();
            }
            "the service looks" => {
                self.service().look();
            }
            "service ends" => {
                self.service().end();
                self.serve_anew();
            }
            "process dies" => {
                self.world.crash.die();
                // Its threads have to end, and can write nothing any more.
                self.service().end();
                self.serve_anew();
            }
            "connectors come" => self.without(Lacks::default()),
            "its source's goes" => self.without(Lacks { source: true, ..self.lacks }),
            "its source's comes" => self.without(Lacks { source: false, ..self.lacks }),
            "its output's goes" => self.without(Lacks { output: true, ..self.lacks }),
            "its output's comes" => self.without(Lacks { output: false, ..self.lacks }),
            "source fails" => {
                for file in source(&self.world).files.values_mut() {
                    file.fault = Some((fault(None, 1), 1));
                }
            }
            other => assert!(self.goes_or_comes(other), "there is no event `{other}`"),
        }
    }

    fn confirm(&self) -> Result<String> {
        let run = self.world.find("docs").map_or(0, |job| job.run);
        let removed = self.service().ask(&jobs::CONFIRM, &format!(r#"{{"job": "docs", "run": {run}}}"#))?;
        Ok(format!("removed {}", removed.line.deleted))
    }

    /// Meets the job with an event; what begins by it is held, too, so that it can be looked at.
    pub(crate) fn meet(&mut self, event: &str) -> String {
        let begins = Gate::default();
        let _opens = begins.opens_at_the_end();
        if !self.is_held {
            self.gate = begins.clone();
            source(&self.world).pauses = vec![(1, begins.clone())];
        }
        let answer = self.event(event);
        if !self.is_held && self.service().works().0 && self.world.find("docs").is_some() {
            // It begins, is refused, or ends.
            let begun = |play: &Play| begins.arrived() > 0 || !play.service().works().0;
            self.wait_until("it begins or is refused", begun);
        }
        std::mem::forget(_opens);
        answer
    }

    fn glance(&self) -> ingather_engine::Glance {
        let job = self.world.find("docs");
        job.map(|job| self.service().glance(job.id)).unwrap_or_default()
    }

    /// How the job stands: its state by ManifoldCF's names, the stored one, why it does not work, and what more is noted.
    pub(crate) fn stands(&self) -> String {
        let Ok(shown) = self.service().ask(&jobs::SHOW, JOB) else { return "gone".to_owned() };
        let mut stands = shown.job.manifold_state.map_or("-".to_owned(), |state| state.to_string());
        stands += &format!(" {}", shown.job.state);
        let notes = [
            (shown.works, "works".to_owned()),
            (shown.job.paused, "paused".to_owned()),
            (
                shown.job.restart.is_some(),
                format!("then {}", shown.job.restart.map_or("", |kind| kind.as_str())),
            ),
            (shown.job.rereads, "rereads".to_owned()),
            (shown.job.error.is_some(), "error".to_owned()),
        ];
        for (is_so, note) in notes {
            stands += &if is_so { format!(" {note}") } else { String::new() };
        }
        if let Some(hold) = shown.job.hold {
            stands += &format!(": {}", why(&hold));
        }
        stands
    }

    fn wait_until(&self, what: &str, is_so: impl Fn(&Play) -> bool) {
        let begun = Instant::now(); // clock: only how long a test may take
        while !is_so(self) {
            assert!(begun.elapsed() < LONG, "{what}: never; {}", self.stands());
            std::thread::park_timeout(Duration::from_millis(1));
        }
    }

    /// Nothing is held back any more; waits until nothing happens by itself.
    pub(crate) fn let_go(&mut self) {
        self.gate.open();
        self.service().let_begin();
        self.quiet();
    }

    /// Waits until nothing is under way, or a run rests; as a service does, looks whenever something has ended.
    fn quiet(&self) {
        let service = self.service();
        let begun = Instant::now(); // clock: only how long a test may take
        let (mut looks, mut looked) = (0, false);
        while looks < LOOKS {
            assert!(begun.elapsed() < LONG, "it never rests: {}", self.stands());
            let (works, ended) = service.works();
            if ended || (!works && !looked) {
                service.look();
                (looks, looked) = (0, true);
                continue;
            }
            if !works && !self.glance().works {
                return;
            }
            let glance = self.glance();
            // A deletion heeds no pause, and ends.
            let rests_paused = |job: Job| job.paused && job.state != State::Deleting;
            let is_paused = self.world.find("docs").is_some_and(rests_paused);
            // Nothing is held here, so that a listing comes to its end, however slow the machine is.
            let moves = glance.busy || glance.begins || glance.stops || glance.lists;
            let rests = glance.works && (is_paused || glance.window_closed) && !moves;
            looks = if rests { looks + 1 } else { 0 };
            std::thread::park_timeout(Duration::from_millis(1));
        }
    }

    /// Lets the job go on, as a person and the time do: the pause ends, connectors come, the window opens, a deletion is asked for again.
    pub(crate) fn go_on(&mut self) {
        self.all_comes();
        for _ in 0..4 {
            if self.world.find("docs").is_some_and(|job| job.paused) {
                self.event("resume");
                self.quiet();
            }
            // Nothing is on its way now, so what is read one after the other belongs together.
            let glance = self.glance();
            let Some(job) = self.world.find("docs") else { return };
            if job.state == State::Deleting {
                self.event("delete");
            } else if job.state != State::Resting && (glance.window_closed || !glance.works) {
                self.step("a day passes");
                self.service().look();
            }
            self.quiet();
        }
    }

    /// Another run, as it is now.
    pub(crate) fn once_more(&mut self) {
        let answer = self.event("start");
        assert_eq!(answer, "begins full");
        self.quiet();
    }

    /// How often visits of its documents have failed that are tried again.
    pub(crate) fn attempts(&self) -> u32 {
        let Some(job) = self.world.find("docs") else { return 0 };
        let noted = self.world.engine().reader.read(|sql| {
            let all = documents::list(sql, job.id, DocumentKey::BEFORE_ALL, 10)?;
            let ids: Vec<i64> = all.into_iter().map(|listed| listed.id.0).collect();
            Attention::of(sql, job.id)?.noted(sql, &ids)
        });
        noted.unwrap().values().map(Noted::attempts).sum()
    }

    fn runs(&self) -> Vec<(String, Option<String>)> {
        let Some(job) = self.world.find("docs") else { return Vec::new() };
        let found = self.world.engine().reader.read(|sql| runs::list(sql, job.id, 20)).unwrap();
        let told = |run: runs::Run| {
            (format!("{} {}", run.number, run.kind), run.outcome.map(|outcome| outcome.to_string()))
        };
        found.into_iter().rev().skip(1).map(told).collect()
    }

    /// Its runs since the first one, what the output holds, and what it was sent since.
    pub(crate) fn ends(&self) -> [String; 3] {
        let or_none = |words: Vec<String>| if words.is_empty() { "-".to_owned() } else { words.join(" ") };
        let runs = self.runs().into_iter();
        let runs: Vec<String> =
            runs.map(|(run, outcome)| format!("{run} {}", outcome.unwrap_or("open".to_owned()))).collect();
        let name = |id: &str| id.rsplit('/').next().unwrap_or_default().to_owned();
        let shelf = locked(&self.world.shelves["memory"]);
        let entries = shelf.entries.iter().map(|(id, entry)| name(id) + &entry.text[1..]);
        let mut sent: Vec<String> = shelf
            .told
            .iter()
            .map(|told| name(told) + if told.starts_with("delete") { "-" } else { "" })
            .collect();
        sent.sort_unstable();
        let runs = if runs.is_empty() { "-".to_owned() } else { runs.join(", ") };
        [runs, or_none(entries.collect()), or_none(sent)]
    }

    /// Takes the job away, for the next one.
    pub(crate) fn clear(&mut self) {
        self.gate.open();
        if self.world.find("docs").is_some() {
            let answer = self.event("delete");
            assert!(answer.starts_with("removed"), "{answer}");
        }
        locked(&self.world.shelves["memory"]).gate = None;
        self.service = None;
        self.world.reopen();
        assert!(locked(&self.world.shelves["memory"]).entries.is_empty());
    }

    /// What the log was told, for a test that fails.
    pub(crate) fn logged(&self) -> Vec<String> {
        self.service().logged()
    }
}

/// A fault that ends the job when it has come so often.
fn fault(retry_in_ms: Option<i64>, attempts: u32) -> Fault {
    let reason = Reason::new("away", "it cannot be read now");
    let when_exhausted = Exhausted::AbortJob;
    Fault::Passing { reason, retry_in_ms, attempts_max: Some(attempts), give_up_at: None, when_exhausted }
}
