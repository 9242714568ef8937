//! Deeds of a scenario: they change the source, the outputs, the time, or ask the engine for something.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use ingather_engine::Mode;
use ingather_model::access::Acl;
use ingather_model::guard::Guard;
use ingather_model::job::condition::Condition;
use ingather_model::job::dates::DateRules;
use ingather_model::job::schedule::Schedule;
use ingather_model::job::{ContentBy, Definition, Keep, RunKind, Stage};

use super::changes::change;
use super::pushes::CLIENTS;
use super::{Answer, Play};
use crate::memory_output::{Shelf, locked};
use crate::script_repository::{self, ListingScript, Meanwhile, Step};
use crate::together;
use crate::together::pause::run_paused;
use crate::world::{FULL, REGISTRY};

/// Where the source may change in the middle of a run: once it was listed, a folder (`folder:s/t/`: that one) was looked at, a document
/// is looked at or read, folders are looked at for the second time.
const PLACES: &[&str] = &["list", "folder", "look", "read", "stamps"];

/// Who speaks in the middle of what the service does.
const PEOPLE: &[&str] = &["anna", "bert"];

pub(super) fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("`{text}` is no number"))
}

pub(super) fn acl(text: &str) -> Acl {
    if text == "open" {
        return Acl::open();
    }
    Acl::Flat { allow: text.split('+').map(str::to_owned).collect(), deny: Vec::new() }
}

impl Play {
    pub(super) fn step(&mut self, word: &str, rest: &str) -> Result<(), String> {
        match word {
            "output" => self.add_output(rest),
            "job" => self.define(rest),
            "source" => self.source(rest),
            "site" => self.change_site(rest),
            "free" => self.free(rest),
            "meanwhile" => self.meanwhile(rest),
            "listing" => self.listing(rest),
            "reader" => {
                script_repository::locked(&self.world.source).credentials = rest.to_owned();
                Ok(())
            }
            "fault" => self.fault(rest),
            "crash" | "stop" | "takeover" | "standstill" => self.arm(word, rest),
            "power" => {
                self.world.crash.cut_power(number(rest)?);
                self.reopen();
                Ok(())
            }
            "backup" => self.back_up(rest),
            "restore" => self.restore(rest),
            "watch" => Ok(()),
            "quiet" => self.converge(),
            "clock" => {
                let seconds = number::<i64>(rest.trim_end_matches('s'))?;
                self.world.clock.pass(seconds * 1_000);
                self.clock_was_set_back |= seconds < 0;
                Ok(())
            }
            "run" | "delete" | "confirm" => self.ask(word, rest),
            "start" | "pause" | "resume" | "abort" | "restart" | "serve" => self.says(word, rest),
            "push" | "delta" | "unlock" | "clear" | "renew" => self.pushes(word, rest),
            "resend" => {
                self.resend(rest);
                Ok(())
            }
            "reset" => {
                self.reset(rest);
                Ok(())
            }
            "erase" | "readmit" => self.erase(word, rest),
            // Its threads have begun by it.
            "turns" => Ok(()),
            "together" => self.run_together(rest),
            _ => Err(format!("there is no step `{word}`")),
        }
    }

    /// `backup`: the store; `backup one`: that output; `backup all`: store and outputs together.
    fn back_up(&mut self, what: &str) -> Result<(), String> {
        if matches!(what, "" | "all") {
            self.world.back_up();
            self.erased.back_up();
            self.moves.back_up();
            self.readers.back_up();
            self.pushes.back_up();
        }
        self.shelves(what)?.for_each(|shelf| locked(shelf).back_up());
        Ok(())
    }

    /// The same for what was kept last; nothing happens where nothing was.
    fn restore(&mut self, what: &str) -> Result<(), String> {
        self.shelves(what)?.for_each(|shelf| locked(shelf).restore());
        if matches!(what, "" | "all") {
            self.world.restore();
            self.erased.restore();
            self.moves.restore();
            self.readers.restore();
            self.pushes.restore();
            self.books_restored();
        }
        Ok(())
    }

    fn shelves<'s>(&'s self, what: &'s str) -> Result<impl Iterator<Item = &'s Arc<Mutex<Shelf>>>, String> {
        if !matches!(what, "" | "all") && !self.world.shelves.contains_key(what) {
            return Err(format!("there is no output `{what}`"));
        }
        let named = self.world.shelves.iter().filter(move |(name, _)| what == "all" || *name == what);
        Ok(named.map(|(_, shelf)| shelf))
    }

    fn add_output(&mut self, rest: &str) -> Result<(), String> {
        let (name, kind) = rest.split_once(' ').unwrap_or((rest, "memory"));
        REGISTRY.output(kind).ok_or_else(|| format!("there is no kind `{kind}`"))?;
        self.world.output(name, kind);
        Ok(())
    }

    fn define(&mut self, rest: &str) -> Result<(), String> {
        let mut words = rest.split_whitespace();
        let name = words.next().ok_or("a job has a name")?;
        let mut definition = Definition {
            name: name.to_owned(),
            repository: "source".to_owned(),
            source: serde_json::json!({"world": self.world.name, "root": ""}),
            stages: Vec::new(),
            outputs: Vec::new(),
            routes: BTreeMap::new(),
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
        };
        for word in words {
            let (key, value) = word.split_once('=').ok_or_else(|| format!("`{word}` has no `=`"))?;
            match key {
                "root" => definition.source["root"] = value.into(),
                "over" | "access" | "buffer" => self.over((key, value), &mut definition)?,
                "to" => definition.outputs = value.split(',').map(str::to_owned).collect(),
                "guard" if value == "off" => definition.delete_guard = Guard::Off,
                "guard" if value == "default" => definition.delete_guard = Guard::default(),
                "guard" => {
                    let (percent, documents) = value.split_once('/').ok_or("guard=PERCENT/DOCUMENTS")?;
                    definition.delete_guard =
                        Guard::Limits { percent: number(percent)?, documents: number(documents)? };
                }
                // link:2,redirect:1, and `,keep` where what is too far by now stays.
                "hops" => {
                    let most = value.split(',').filter_map(|word| word.split_once(':'));
                    let most: Result<BTreeMap<&str, u32>, String> =
                        most.map(|(relation, most)| Ok((relation, number(most)?))).collect();
                    let too_far = if value.ends_with(",keep") { "keep" } else { "remove" };
                    let hops = serde_json::json!({"most": most?, "too_far": too_far});
                    definition.hops = serde_json::from_value(hops).map_err(|error| error.to_string())?;
                }
                "keep" if value == "extracted" => definition.keep = Keep::Extracted,
                "content_by" if value == "times" => definition.content_by = ContentBy::Times,
                "compare" => definition.compare_content = value == "content",
                "schedule" => {
                    let value =
                        serde_json::from_str(value).unwrap_or_else(|_| value.replace('_', " ").into());
                    definition.schedule = Some(Schedule::read(&value)?);
                }
                "dates" => definition.dates = DateRules::parse(value)?,
                "stage" => definition.stages.push(stage(value)?),
                "route" => {
                    let (output, route) = value.split_once(':').ok_or("route=OUTPUT:{…}")?;
                    let route = serde_json::from_str(route).map_err(|error| error.to_string())?;
                    definition.routes.insert(output.to_owned(), route);
                }
                _ => return Err(format!("a job has no `{key}`")),
            }
        }
        self.erased.jobs.insert(name.to_owned());
        self.moves.is_made(name);
        self.world.job(definition);
        Ok(())
    }

    /// What a job is over that is not over files; and who may see records that do not say it.
    fn over(&self, (key, value): (&str, &str), definition: &mut Definition) -> Result<(), String> {
        match (key, value) {
            ("over", "site") => {
                together::site::connect(&self.world);
                definition.repository = together::site::WEB.to_owned();
            }
            ("over", "push") => {
                together::pushing::connect(&self.world);
                definition.repository = together::pushing::PUSHED.to_owned();
                definition.source =
                    serde_json::json!({"root": format!("{}{}", together::pushing::ROOT, definition.name)});
            }
            ("buffer", times) => {
                let (ms, most) = times.split_once('/').ok_or("buffer=500/2000")?;
                definition.source["buffer_ms"] = number::<u32>(ms)?.into();
                definition.source["buffer_ms_max"] = number::<u32>(most)?.into();
            }
            ("access", "open") => definition.source["access"] = serde_json::json!(["everybody"]),
            ("access", who) => definition.source["access"] = who.split('+').collect(),
            _ => return Err(format!("nothing is over {value}")),
        }
        Ok(())
    }

    fn source(&mut self, rest: &str) -> Result<(), String> {
        let mut source = script_repository::locked(&self.world.source);
        for item in rest.split(", ") {
            let mut words = item.split_whitespace();
            let name = words.next().ok_or("a name is missing")?;
            for word in words {
                change(&mut source, name, word)?;
            }
        }
        Ok(())
    }

    /// `meanwhile read 2 s/ access:anna, s/a v2`: changes of the source when it is read for the second time in the next run.
    fn meanwhile(&mut self, rest: &str) -> Result<(), String> {
        if let Some((person, rest)) = rest.split_once(' ').filter(|(who, _)| PEOPLE.contains(who)) {
            return self.speaks(person, rest);
        }
        if let Some((client, rest)) = rest.split_once(' ').filter(|(who, _)| CLIENTS.contains(who)) {
            return self.pushes_meanwhile(client, rest);
        }
        let mut words = rest.splitn(3, ' ');
        let point =
            words.next().filter(|point| PLACES.contains(&point.split(':').next().unwrap_or_default()));
        let point = point.ok_or_else(|| format!("when? one of {PLACES:?}"))?.to_owned();
        let nth = number(words.next().unwrap_or_default())?;
        let mut steps = Vec::new();
        for item in words.next().unwrap_or_default().split(", ") {
            let mut words = item.split_whitespace();
            let name = words.next().ok_or("a name is missing")?.to_owned();
            for word in words.map(str::to_owned) {
                let name = name.clone();
                // What is not there by then does not change.
                steps.push(Step(Arc::new(move |source| {
                    if name.ends_with('/') || source.files.contains_key(&name) {
                        drop(change(source, &name, &word));
                    }
                })));
            }
        }
        script_repository::locked(&self.world.source).meanwhile.push(Meanwhile { point, nth, steps });
        Ok(())
    }

    fn listing(&mut self, rest: &str) -> Result<(), String> {
        let mut script = ListingScript::default();
        for word in rest.split_whitespace() {
            match word.split_once(':') {
                Some(("error", page)) => script.error = Some(number(page)?),
                Some(("torn", page)) => (script.error, script.torn) = (Some(number(page)?), true),
                None if word == "twice" => script.twice = true,
                None if word == "intervals" => script.intervals = true,
                None if word == "fine" => {}
                _ => return Err(format!("a listing has no `{word}`")),
            }
        }
        script_repository::locked(&self.world.source).listing = script;
        Ok(())
    }

    fn ask(&mut self, what: &str, rest: &str) -> Result<(), String> {
        let mut words = rest.split_whitespace();
        let job = words.next().ok_or("which job?")?;
        let mut options = FULL;
        let (mut run, mut paused, mut erasing) = (None, false, None);
        while let Some(word) = words.next() {
            match word {
                "minimal" => options.kind = RunKind::Minimal,
                "dry-run" => options.mode = Mode::DryRun,
                "guard-off" => options.guard_off = true,
                "reread" => options.rereads = true,
                "pass" => options.is_pass = true,
                "accept-devices" => options.accepts_devices = true,
                "paused" => paused = true,
                "erasing" => erasing = Some(words.next().ok_or("erasing what?")?),
                number_of_run => run = Some(number(number_of_run)?),
            }
        }
        self.moves.is_begun(job);
        if let Some(file) = erasing {
            return self.run_erasing(job, options, file);
        }
        self.answer = match what {
            "run" if self.has_clients() => {
                let ran = self.among_clients(|world| world.run(job, options));
                Answer::of(ran, Answer::Ran)
            }
            "run" if paused => Answer::of(run_paused(&self.world, job, options), Answer::Ran),
            "run" => Answer::of(self.world.run(job, options), Answer::Ran),
            "delete" => {
                let removed = self.world.delete(job);
                self.moves.is_deleted(job, removed.as_ref().ok());
                Answer::of(removed, Answer::Removed)
            }
            _ => Answer::of(self.world.confirm(job, run), Answer::Removed),
        };
        self.asked();
        if paused {
            // A process that died in between left it so.
            self.world.resume(job);
            self.moves.is_resumed(job);
        }
        Ok(())
    }

    /// `resend docs`: all outputs of the job; `resend docs one`: that one.
    fn resend(&mut self, rest: &str) {
        let (job, output) = rest.split_once(' ').map_or((rest, None), |(job, output)| (job, Some(output)));
        let resent = self.world.known(job).and_then(|job| self.world.engine().resend(&job, output));
        self.answer = Answer::of(resent, Answer::Resent);
        self.asked();
    }

    /// `together docs, other`: full runs of these jobs at the same time; the answer is that of the first one that failed, or of the last one.
    fn run_together(&mut self, rest: &str) -> Result<(), String> {
        let jobs: Vec<&str> = rest.split(", ").collect();
        jobs.iter().for_each(|job| self.moves.is_begun(job));
        let answers = crate::together::run_together(&self.world, &jobs).into_iter();
        let answers: Vec<Answer> = answers.map(|(_, answer)| Answer::of(answer, Answer::Ran)).collect();
        let failed = answers.iter().position(|answer| matches!(answer, Answer::Failed(_)));
        let at = failed.unwrap_or(answers.len() - 1);
        self.answer = answers.into_iter().nth(at).unwrap_or_default();
        self.asked();
        Ok(())
    }

    fn reset(&mut self, job: &str) {
        let reset = self.world.known(job).and_then(|job| self.world.engine().reset_seeding(job.id));
        self.answer = Answer::of(reset, |()| Answer::Nothing);
        self.asked();
    }

    /// Another process comes, in which nobody holds what the one before it held.
    fn reopen(&mut self) {
        self.world.reopen();
        let left = self.events().into_iter();
        self.found.extend(left.map(|event| format!("nobody holds the event {event}, and it is pending")));
    }

    /// What was asked for is over, or died.
    pub(super) fn asked(&mut self) {
        let stopped = self.world.engine().cancel.cancelled();
        if self.world.crash.dead() || self.world.crash.was_taken_over() || stopped {
            self.reopen();
        }
        // What was not met in this step is not armed for the next one.
        self.world.crash.revive();
        self.silence();
        self.drop_calls();
        let states = script_repository::locked(&self.world.source).over();
        self.changed_meanwhile = !states.is_empty();
        states.iter().for_each(|state| self.invariants.note(state));
    }
}

/// A stage by its settings, with its `name`, `after` and `when` among them. Conditions ask for `body` and `mark`.
fn stage(text: &str) -> Result<Stage, String> {
    let mut settings: serde_json::Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let fields = settings.as_object_mut().ok_or("settings of a stage are an object")?;
    let mut take = |name: &str| fields.shift_remove(name);
    let (name, after, when) = (take("name"), take("after"), take("when"));
    let word = |value: Option<serde_json::Value>| value.and_then(|value| value.as_str().map(str::to_owned));
    let when = when.map(|when| Condition::read(&when)).transpose()?;
    Ok(Stage { transform: "script".to_owned(), settings, name: word(name), after: word(after), when })
}
