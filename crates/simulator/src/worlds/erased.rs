//! People who erase documents and let them in again, who have outputs sent what they hold once more, and all read again.

use super::World;

/// Where an erasing dies besides: between its demand, what it sends and what it says then.
const DEATHS: &[&str] =
    &["before write", "after write", "before send", "after send", "before confirm", "after confirm"];

impl World {
    pub(super) fn people(&mut self) {
        let file = self.some_file().filter(|_| !self.dice.once_in(8));
        let file = file.unwrap_or_else(|| self.dice.one(self.names).to_owned());
        match self.dice.below(14) {
            0..3 => self.erase(&file),
            3..5 => {
                self.die_erasing();
                self.erase(&file);
            }
            5 => self.erase_in_a_run(&file),
            6 => {
                // An output does not let go of it, which somebody else has it do.
                self.output_fault();
                self.erase(&file);
                self.run();
            }
            7 => {
                // It is there again, in another version, and no run takes it in.
                self.erase(&file);
                self.put_as(&file, "v9+a9");
                self.run();
            }
            8..10 => self.readmit(&file),
            10 => {
                self.die_erasing();
                self.readmit(&file);
            }
            11 => {
                let job = self.some_job();
                self.tell(&format!("reset {job}"));
            }
            _ => {
                let job = self.some_job();
                let at = self.dice.below(self.outputs.len());
                let output = if self.dice.once_in(2) { "" } else { self.outputs[at].0 };
                self.tell(format!("resend {job} {output}").trim_end());
                if self.dice.once_in(2) {
                    self.erase(&file);
                }
            }
        }
    }

    fn erase(&mut self, file: &str) {
        let from = if self.dice.once_in(3) { format!(" from {}", self.some_job()) } else { String::new() };
        self.tell(&format!("erase {file}{from}"));
    }

    fn readmit(&mut self, file: &str) {
        // Mostly what was erased.
        let erased =
            self.lines.iter().rev().filter_map(|line| line.strip_prefix("erase ")?.split(' ').next());
        let erased: Vec<String> = erased.take(3).map(str::to_owned).collect();
        let at = self.dice.below(erased.len() + 1);
        let file = erased.get(at).map_or(file, String::as_str);
        let into = if self.dice.once_in(3) { format!(" into {}", self.some_job()) } else { String::new() };
        self.tell(&format!("readmit {file}{into}"));
    }

    fn die_erasing(&mut self) {
        if self.dice.once_in(3) {
            self.die();
            return;
        }
        let (point, nth) = (self.dice.one(DEATHS), 1 + self.dice.below(4));
        let power =
            if self.dice.once_in(4) { format!(" power {}", self.dice.below(9)) } else { String::new() };
        self.tell(&format!("crash {point} {nth}{power}"));
    }

    fn erase_in_a_run(&mut self, file: &str) {
        if self.dice.once_in(2) {
            self.die();
        }
        let job = self.some_job();
        if self.dice.once_in(2) {
            self.put_as(file, "v8");
        }
        self.tell(&format!("run {job} erasing {file}"));
    }
}
