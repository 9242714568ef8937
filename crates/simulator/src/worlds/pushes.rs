//! Sources that clients push into, alone or beside other jobs: single records, delta runs, clients that die, repeat a call or come late, while all goes wrong
//! that goes wrong with files.

use super::{CONTENTS, PEOPLE, STAGES, World};
use crate::dice::Dice;

/// The jobs of these sources.
pub(super) const JOBS: &[&str] = &["inbox", "feed"];

const KEYS: &[&str] = &["a", "b", "c", "d/e", "d/f", "g"];
const CLIENTS: &[&str] = &["c1", "c2", "c3"];
/// Who may see records that do not say it: mostly nobody else is meant.
const DEFAULTS: &[&str] = &[" access=open", " access=open", " access=anna", ""];
/// Where a call of a client dies.
const DEATHS: &[&str] =
    &["before write", "after write", "before other", "after other", "before listing", "after listing"];
/// Where clients speak in the middle of a run.
const PLACES: &[&str] = &[
    "after begin",
    "after listing",
    "before intent",
    "after intent",
    "before send",
    "after send",
    "before confirm",
    "after confirm",
    "after settle",
    "before end",
    "after other",
];
const RUNS: &[&str] =
    &["minimal pass", "minimal pass", "minimal pass", "minimal pass", "", "pass", "paused", "reread"];
/// What goes wrong with one record in an output.
const FAULTS: &[&str] = &["passing", "keeping", "timeout", "late", "refused", "refused", "broken", "busy"];

/// How many jobs of a world are pushed into, and whether all are. By dice of their own, so that all other worlds are as they were before clients pushed; worlds
/// whose jobs keep what they read find what is rare, and stay as they are.
pub(super) fn share(seed: u64) -> Option<(usize, bool)> {
    let mut dice = Dice::new(seed ^ 0x9054_9054);
    let is_one = dice.once_in(4) && seed % 4 != 1 && super::sites::share(seed).is_none();
    is_one.then(|| (1 + usize::from(dice.once_in(3)), dice.once_in(2)))
}

/// Whether clients push in a seed's world.
pub fn has_pushes(seed: u64) -> bool {
    share(seed).is_some()
}

impl World {
    /// Adds its jobs that are pushed into.
    pub(super) fn begin_pushes(&mut self) {
        let Some((jobs, _)) = self.pushes else { return };
        for name in &JOBS[..jobs] {
            self.jobs.push(name);
            self.define_pushed(name);
        }
    }

    pub(super) fn define_pushed(&mut self, name: &str) {
        let mut to: Vec<&str> = Vec::new();
        for (output, _) in self.outputs.clone() {
            if !self.dice.once_in(4) {
                to.push(output);
            }
        }
        if to.is_empty() {
            to.push(self.outputs[0].0);
        }
        let stage = if self.dice.once_in(2) { self.dice.one(STAGES) } else { "" };
        let (access, to) = (self.dice.one(DEFAULTS), to.join(","));
        self.tell(&format!("job {name} over=push to={to}{access}{stage}"));
    }

    /// One deed around a source.
    pub(super) fn push_step(&mut self) {
        match self.dice.below(26) {
            0..6 => self.push(),
            6..9 => self.dying_call(),
            9..13 => self.deliver_pushed(),
            13..15 => {
                self.die();
                self.deliver_pushed();
            }
            15..17 => {
                self.push();
                self.pushed_meanwhile();
                self.deliver_pushed();
            }
            17..22 => self.delta_run(),
            22 => self.failing_record(),
            23 => self.erased_record(),
            24 => {
                let word = self.dice.one(&["unlock", "renew", "clear", "clear"]);
                let job = self.source_job();
                self.tell(&format!("{word} {job}"));
            }
            _ => {
                let seconds = self.dice.one(&["30", "61", "400", "400", "4000", "-30"]);
                self.tell(&format!("clock {seconds}s"));
            }
        }
    }

    fn source_job(&mut self) -> &'static str {
        let jobs = self.pushes.map_or(1, |(jobs, _)| jobs);
        JOBS[self.dice.below(jobs)]
    }

    /// A record as it was pushed lately, mostly for the same people.
    fn again(&mut self) -> Option<String> {
        let of = |line: &String| {
            let (_, records) = line.strip_prefix("push ")?.split_once(' ')?;
            let item = records.split(", ").find(|item| item.contains(" hash:"))?;
            Some(item.trim_end_matches(" if_changed").to_owned())
        };
        let back = self.dice.below(3);
        let item = self.lines.iter().rev().filter_map(of).nth(back)?;
        if self.dice.once_in(3) {
            let words = item.split(' ').filter(|word| !word.starts_with("access:"));
            let who = self.dice.one(PEOPLE);
            return Some(format!("{} access:{who} if_changed", words.collect::<Vec<_>>().join(" ")));
        }
        Some(format!("{item} if_changed"))
    }

    /// One record of a call.
    fn record(&mut self) -> String {
        let again = if self.dice.once_in(4) { self.again() } else { None };
        if let Some(again) = again {
            return again;
        }
        let key = self.dice.one(KEYS);
        match self.dice.below(12) {
            0..3 => return format!("{key} gone"),
            3 => return format!("{key} bad"),
            _ => {}
        }
        // Mostly a text that no record ever had: whoever finds it has to have been let in to just this one.
        let text = if self.dice.once_in(3) {
            self.dice.one(CONTENTS).to_owned()
        } else {
            self.texts += 1;
            format!("v{}", 100 + self.texts)
        };
        let access =
            if self.dice.once_in(2) { format!(" access:{}", self.dice.one(PEOPLE)) } else { String::new() };
        let hash = if self.dice.once_in(3) { String::new() } else { format!(" hash:{text}") };
        let if_changed = if self.dice.once_in(3) { " if_changed" } else { "" };
        format!("{key} {text}{access}{hash}{if_changed}")
    }

    fn records(&mut self) -> String {
        let count = 1 + self.dice.below(4);
        (0..count).map(|_| self.record()).collect::<Vec<_>>().join(", ")
    }

    fn push(&mut self) {
        let (job, records) = (self.source_job(), self.records());
        self.tell(&format!("push {job} {records}"));
        // What is pushed just so once more.
        if self.dice.once_in(4) {
            self.tell(&format!("push {job} {records}"));
        }
    }

    fn deliver_pushed(&mut self) {
        let (job, how) = (self.source_job(), self.dice.one(RUNS));
        self.tell(format!("run {job} {how}").trim_end());
    }

    /// A client pushes in the middle of what comes next.
    fn pushed_meanwhile(&mut self) {
        for client in CLIENTS.iter().take(1 + self.dice.below(2)) {
            let (place, nth) = (self.dice.one(PLACES), 1 + self.dice.below(3));
            let (job, records) = (self.source_job(), self.records());
            self.tell(&format!("meanwhile {client} {place} {nth} push {job} {records}"));
        }
    }

    /// The process dies while it answers, and mostly the client asks again.
    fn dying_call(&mut self) {
        let (job, records) = (self.source_job(), self.records());
        self.die_answering();
        self.tell(&format!("push {job} {records}"));
        if self.dice.once_in(2) {
            self.tell(&format!("push {job} {records}"));
        }
    }

    fn die_answering(&mut self) {
        let (place, nth) = (self.dice.one(DEATHS), 1 + self.dice.below(2));
        match self.dice.below(6) {
            0 | 1 => {
                let keep = self.dice.below(9);
                self.tell(&format!("crash {place} {nth} power {keep}"));
            }
            2 => self.tell(&format!("takeover after other {nth}")),
            _ => self.tell(&format!("crash {place} {nth}")),
        }
    }

    /// A client goes over its source, beside others.
    fn delta_run(&mut self) {
        let (job, client) = (self.source_job(), self.dice.one(CLIENTS));
        let how = self.dice.one(&["", "", "", " additive", " lease:60", " lease:60"]);
        if self.dice.once_in(8) {
            self.die_answering();
        }
        self.tell(&format!("delta {job} {client} open{how}"));
        if self.dice.once_in(4) {
            self.signs_of_life(job, client);
        }
        for _ in 0..self.dice.below(5) {
            if self.dice.once_in(6) {
                self.die_answering();
            }
            self.delta_call(job, client);
        }
        match self.dice.below(12) {
            0 => self.tell(&format!("delta {job} {client} rollback")),
            1 => self.tell(&format!("delta {job} {client} finish incomplete")),
            2 => self.tell(&format!("unlock {job}")),
            // The client is gone.
            3 => {}
            4 => self.tell("clock 400s"),
            5 => {
                self.pushed_meanwhile();
                self.tell(&format!("delta {job} {client} finish"));
            }
            6..9 => {
                self.die_answering();
                self.tell(&format!("delta {job} {client} finish"));
                self.tell(&format!("delta {job} {client} finish"));
            }
            _ => self.tell(&format!("delta {job} {client} finish")),
        }
        if self.dice.once_in(3) {
            self.delta_call(job, client);
        }
    }

    /// A client says now and then that it lives, mostly before its lease is over.
    fn signs_of_life(&mut self, job: &str, client: &str) {
        for _ in 0..2 + self.dice.below(3) {
            let seconds = self.dice.one(&["40", "50", "59", "59", "61"]);
            self.tell(&format!("clock {seconds}s"));
            match self.dice.below(4) {
                0 => self.tell(&format!("renew {job}")),
                _ => self.tell(&format!("delta {job} {client} touch a")),
            }
        }
    }

    fn delta_call(&mut self, job: &str, client: &str) {
        let who = self.dice.one(&["", "", "", "", "", ":old", ":wrong"]);
        let key = self.dice.one(KEYS);
        match self.dice.below(13) {
            0..3 => {
                let all: Vec<String> = (0..1 + self.dice.below(4)).map(|_| self.hashed()).collect();
                self.tell(&format!("delta {job} {client}{who} check {}", all.join(", ")));
            }
            3..6 => {
                let records = self.records();
                self.tell(&format!("delta {job} {client}{who} push {records}"));
            }
            6 | 7 => self.tell(&format!("delta {job} {client}{who} touch {key}")),
            8 => {
                let other = self.dice.one(CLIENTS);
                self.tell(&format!("delta {job} {other} open lease:60"));
            }
            9 => {
                let seconds = self.dice.one(&["20", "59", "61"]);
                self.tell(&format!("clock {seconds}s"));
            }
            10 => self.deliver_pushed(),
            11 => self.tell(&format!("delta {job} {client}{who} delete")),
            _ => {
                let records = self.records();
                self.tell(&format!("push {job} {records}"));
            }
        }
    }

    /// A key with a hash, mostly one that it was pushed with.
    fn hashed(&mut self) -> String {
        let key = self.dice.one(KEYS);
        let begin = format!("{key} v");
        let of = |line: &String| {
            let record = line.split(", ").find_map(|item| item.split(&begin).nth(1))?;
            Some(format!("v{}", record.split(' ').next()?))
        };
        let hash = self.lines.iter().rev().find_map(of).filter(|_| !self.dice.once_in(4));
        format!("{key}:{}", hash.unwrap_or_else(|| "v1".to_owned()))
    }

    fn failing_record(&mut self) {
        let at = self.dice.below(self.outputs.len());
        let (output, job, key) = (self.outputs[at].0, self.source_job(), self.dice.one(KEYS));
        let (how, times) = (self.dice.one(FAULTS), 1 + self.dice.below(3));
        self.tell(&format!("fault {output} {how} push:{job}/{key} {times}"));
        self.push();
        self.texts += 1;
        let text = format!("v{}", 100 + self.texts);
        self.tell(&format!("push {job} {key} {text} hash:{text}"));
        self.deliver_pushed();
        // Whoever pushes it just so is not told that it is there.
        if self.dice.once_in(2) {
            self.tell(&format!("push {job} {key} {text} hash:{text} if_changed"));
        }
        // Behind any wait for another attempt.
        if self.dice.once_in(2) {
            self.tell("clock 400s");
            self.deliver_pushed();
        }
    }

    fn erased_record(&mut self) {
        let (job, key) = (self.source_job(), self.dice.one(KEYS));
        let word = self.dice.one(&["erase", "erase", "readmit"]);
        self.tell(&format!("{word} push:{job}/{key}"));
        self.push();
        if self.dice.once_in(2) {
            self.tell(&format!("readmit push:{job}/{key}"));
            self.push();
        }
    }
}
