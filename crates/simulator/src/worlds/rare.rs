//! What is rare in worlds by chance and has found most: several steps that belong together.

use super::{CONTENTS, FOLDERS, PEOPLE, World};

/// One file in its days: parts of it come, go, and cannot be read or found for a while.
const DAYS: &[&str] = &[
    "v1+a1+b1",
    "v1+a1",
    "v1+b1",
    "v2+a?+b1",
    "v2+a1+b?",
    "v2+a?+b?",
    "v3+a2+...",
    "v3+...",
    "v4+a2+b2",
    "v4+b2+a2",
    "v1",
    "v5+a1+c1",
];

/// How a run is asked for; often as it is.
pub(super) const RUNS: &[&str] =
    &["", "", "", "pass", "paused", "minimal", "guard-off", "accept-devices", "dry-run"];

impl World {
    /// Files change in the middle of a run, and folders close and open, also above the root: one change after the other.
    pub(super) fn meanwhile(&mut self) {
        for _ in 0..1 + self.dice.below(3) {
            let mut point = self.dice.one(&["list", "list", "look", "read", "read", "stamps"]);
            if self.keeps && self.dice.once_in(3) {
                point = "folder";
            }
            let nth = 1 + self.dice.below(3);
            let mut steps = Vec::new();
            for _ in 0..1 + self.dice.below(4) {
                let who = self.dice.one(PEOPLE);
                let folder = self.dice.one(FOLDERS);
                let step = match (self.dice.below(8), self.some_file()) {
                    (0..2, Some(file)) => format!("{file} {}", self.dice.one(CONTENTS)),
                    (2, Some(file)) => format!("{file} access:{who}"),
                    (3, Some(file)) => format!("{file} {} access:{who}", self.dice.one(CONTENTS)),
                    (4, _) => format!("{folder} replaced"),
                    _ => format!("{folder} access:{who}"),
                };
                steps.push(step);
            }
            self.tell(&format!("meanwhile {point} {nth} {}", steps.join(", ")));
        }
        self.run();
    }

    /// Parts of a file come, go, or cannot be read, while who may see it changes.
    pub(super) fn day_of_parts(&mut self) {
        let Some(file) = self.some_file() else { return self.put() };
        for _ in 0..1 + self.dice.below(2) {
            let content = self.dice.one(DAYS);
            self.tell(&format!("source {file} {content}"));
            let who = self.dice.one(PEOPLE);
            match self.dice.below(4) {
                0 => self.tell(&format!("source {file} access:{who}")),
                1 => {
                    let folder = self.dice.one(FOLDERS);
                    self.tell(&format!("source {folder} access:{who}"));
                }
                2 => self.output_fault(),
                _ => {}
            }
            match self.dice.below(3) {
                0 => self.dying_run(),
                _ => self.run(),
            }
        }
    }

    /// Much goes, and the listing breaks off before or behind it; somebody confirms what is held, or nobody does.
    pub(super) fn held_and_broken_off(&mut self) {
        let job = self.some_job();
        for _ in 0..1 + self.dice.below(3) {
            if let Some(file) = self.some_file() {
                self.files.remove(&file);
                self.tell(&format!("source {file} gone"));
            }
        }
        if self.dice.once_in(3) {
            self.move_folder();
        }
        for _ in 0..1 + self.dice.below(2) {
            let page = 1 + self.dice.below(5);
            let how = self.dice.one(&["error", "torn"]);
            self.tell(&format!("listing {how}:{page}"));
            match self.dice.below(4) {
                0 => self.dying_run(),
                1 => self.tell(&format!("run {job} minimal")),
                _ => self.tell(&format!("run {job}")),
            }
        }
        self.tell("listing fine");
        if self.dice.once_in(2) {
            self.tell(&format!("confirm {job}"));
        }
    }

    /// An output is made anew while it is written to: by visits, in the middle of a removal, by the deletion of a job.
    pub(super) fn forgotten_while_written(&mut self) {
        let at = self.dice.below(self.outputs.len());
        let (output, kind) = self.outputs[at];
        if kind != "committing" {
            return self.output_fault();
        }
        let after = self.dice.below(4);
        if let (true, Some(file)) = (self.dice.once_in(2), self.some_file()) {
            self.files.remove(&file);
            self.tell(&format!("source {file} gone"));
        }
        self.tell(&format!("fault {output} forgets:{after}"));
        let job = self.some_job();
        match self.dice.below(6) {
            0 => self.tell(&format!("delete {job}")),
            1 => self.tell(&format!("confirm {job}")),
            2 => self.dying_run(),
            _ => self.tell(&format!("run {job} guard-off")),
        }
    }

    pub(super) fn broken_listing(&mut self) {
        let page = 1 + self.dice.below(5);
        let how = self.dice.one(&["error", "torn"]);
        let job = self.some_job();
        self.tell(&format!("listing {how}:{page}"));
        self.tell(&format!("run {job}"));
        self.tell("listing fine");
    }

    /// Copies of the store and of outputs are made and put back, or the power goes.
    pub(super) fn inventory(&mut self) {
        let at = self.dice.below(self.outputs.len());
        let (output, kind) = self.outputs[at];
        match self.dice.below(8) {
            0 | 1 if self.all_fit => self.tell("backup"),
            2 if self.all_fit => self.tell("restore"),
            3 if self.all_fit => self.tell("backup all"),
            4 if self.all_fit => self.tell("restore all"),
            5 if kind == "committing" => self.tell(&format!("backup {output}")),
            6 if kind == "committing" => self.tell(&format!("restore {output}")),
            _ => {
                let keep = self.dice.below(9);
                self.tell(&format!("power {keep}"));
            }
        }
    }
}
