//! People who move jobs, at rest and in the middle of what a service does, and services that go on with what was cut off.

use super::{DEATHS, World};

const PEOPLE: &[&str] = &["anna", "bert"];

/// What is said in the middle of something; what is said most often most often.
const WORDS: &[&str] =
    &["pause", "pause", "resume", "abort", "abort", "restart", "restart", "start", "delete"];

impl World {
    /// The last service, before all is put right.
    pub(super) fn end_served(&mut self) {
        if self.serves {
            self.tell("serve");
        }
    }

    /// A word, or a service with words in the middle of what it does.
    pub(super) fn move_jobs(&mut self) {
        let job = self.some_job();
        match self.dice.below(16) {
            0 => self.tell(&format!("pause {job}")),
            1 | 2 => self.tell(&format!("resume {job}")),
            3 => self.tell(&format!("abort {job}")),
            4..7 => self.served("serve"),
            7 => {
                // What is asked for while nobody works waits for a service.
                self.tell(&format!("pause {job}"));
                self.served("serve");
                self.tell(&format!("resume {job}"));
                self.served("serve");
            }
            8 => {
                let how = self.kind();
                self.served(&format!("restart {job}{how}"));
            }
            12..14 => self.later(),
            14 => self.missing(),
            9 if self.jobs.len() > 1 => {
                let all: Vec<String> =
                    self.jobs.clone().iter().map(|job| format!("{job}{}", self.kind())).collect();
                self.served(&format!("start {}", all.join(", ")));
            }
            _ => {
                let how = self.kind();
                self.served(&format!("start {job}{how}"));
            }
        }
    }

    /// When a job of such a world runs by itself.
    pub(super) fn schedule(&mut self) -> &'static str {
        if !self.serves {
            return "";
        }
        let nightly = " schedule=[{\"hours\":[2],\"length_minutes\":60}]";
        self.dice.one(&["", "", "", " schedule=every_15m", nightly])
    }

    /// Time passes, or clocks are put forward or back, and the service does what is due.
    fn later(&mut self) {
        let seconds =
            self.dice.one(&["60", "900", "1800", "3600", "14400", "86400", "86400", "-3600", "-200000"]);
        // Clocks that were put back say nothing of what is due: few worlds have them.
        let seconds = if seconds.starts_with('-') && !self.dice.once_in(4) { "90000" } else { seconds };
        self.tell(&format!("clock {seconds}s"));
        self.served("serve");
    }

    /// An output or the source is away while the service works, and comes back.
    fn missing(&mut self) {
        let at = self.dice.below(self.outputs.len());
        let (gone, back) = match self.dice.below(3) {
            0 => ("source root absent".to_owned(), "source root present".to_owned()),
            _ => (format!("fault {} gone", self.outputs[at].0), format!("fault {} back", self.outputs[at].0)),
        };
        self.tell(&gone);
        let job = self.some_job();
        if self.dice.once_in(2) {
            self.served(&format!("start {job}"));
        }
        self.tell("clock 900s");
        self.served("serve");
        if !self.dice.once_in(4) {
            self.tell(&back);
            self.tell("clock 61s");
            self.served("serve");
        }
    }

    fn kind(&mut self) -> &'static str {
        if self.dice.once_in(4) { " minimal" } else { "" }
    }

    /// A service does something, in the middle of which people speak and processes die; mostly the next one goes on.
    fn served(&mut self, line: &str) {
        if self.dice.once_in(2) {
            self.source();
        }
        for person in PEOPLE.iter().take(self.dice.below(3)) {
            for nth in 0..1 + self.dice.below(2) {
                let (word, job) = (self.dice.one(WORDS), self.some_job());
                let how = if matches!(word, "start" | "restart") { self.kind() } else { "" };
                let (place, times) = (self.dice.one(DEATHS), 1 + self.dice.below(3));
                let at = match nth > 0 && self.dice.once_in(2) {
                    true => "then".to_owned(),
                    false => format!("{place} {times}"),
                };
                self.tell(&format!("meanwhile {person} {at} {word} {job}{how}"));
            }
        }
        if self.dice.once_in(2) {
            self.die();
        }
        self.tell(line);
        if !self.dice.once_in(3) {
            self.tell("serve");
        }
    }
}
