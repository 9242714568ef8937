//! Deeds around what is kept, what is not an instant, and what was missed: texts that only some people ever might read, while the
//! document, its folders or the line about it are other ones by then.

use super::World;

/// Folders, each below the one before it, with a file in the lower one.
const CHAINS: &[(&str, &str, &str)] = &[
    ("/", "s/", "s/c"),
    ("/", "d/", "d/g"),
    ("s/", "s/t/", "s/t/e"),
    ("s/", "s/t/", "s/t/f"),
    ("/", "s/t/", "s/t/e"),
];

/// Where a process dies that has read a document and has not settled it.
const UNSETTLED: &[&str] =
    &["after intent", "before send", "mid send", "after send", "before confirm", "before commit"];

impl World {
    pub(super) fn kept_or_between_looks(&mut self) {
        match self.dice.below(4) {
            0 => self.rewritten_for_others(),
            1 => self.reread_and_killed(),
            _ => self.replaced_between_looks(),
        }
    }

    /// A text that no document ever had before: whoever finds it has to have been let in to just this one.
    fn text(&mut self) -> String {
        self.texts += 1;
        format!("v{}", 100 + self.texts)
    }

    /// Some file, or the one that is given, with a text of its own for `who`, and delivered so.
    fn deliver(&mut self, name: &str, who: &str) -> &'static str {
        let text = self.text();
        self.put_as(name, &format!("{text} access:{who} readable sound steady listed included calm"));
        let job = self.covering(name);
        self.tell(&format!("run {job}"));
        job
    }

    pub(super) fn root_of(&self, name: &str) -> Option<String> {
        let start = format!("job {name} root=");
        let line = self.lines.iter().find_map(|line| line.strip_prefix(&start))?;
        line.split(' ').next().map(str::to_owned)
    }

    /// A job below whose root a file is; the first one where there is none.
    fn covering(&mut self, name: &str) -> &'static str {
        let covers = |job: &&&str| self.root_of(job).is_some_and(|root| name.starts_with(&root));
        let jobs: Vec<&'static str> = self.jobs.iter().filter(covers).copied().collect();
        let at = self.dice.below(jobs.len());
        jobs.get(at).copied().unwrap_or(self.jobs[0])
    }

    /// An output lacks what it held, or is a new one of the job, whose stages stay.
    fn lacks(&mut self, job: &str) {
        let at = self.dice.below(self.outputs.len());
        let (output, kind) = self.outputs[at];
        if kind == "committing" && !self.dice.once_in(3) {
            return self.tell(&format!("fault {output} forgets"));
        }
        if self.jobs.len() > 1 && self.dice.once_in(3) {
            let other = self.some_job();
            if other != job {
                return self.tell(&format!("delete {other}"));
            }
        }
        self.send_to(job, &format!("{output},{}", self.outputs[0].0));
    }

    /// The same job with other outputs.
    fn send_to(&mut self, job: &str, outputs: &str) {
        let mut to: Vec<&str> = outputs.split(',').collect();
        to.dedup();
        self.redefine(job, "to=", &format!("to={}", to.join(",")));
    }

    /// The same job with other words for those that begin so.
    pub(super) fn redefine(&mut self, job: &str, begin: &str, with: &str) {
        let start = format!("job {job} ");
        let Some(line) = self.lines.iter().rfind(|line| line.starts_with(&start)) else { return };
        let others = line.split(' ').filter(|word| !word.starts_with(begin));
        let line =
            others.chain([with].into_iter().filter(|with| !with.is_empty())).collect::<Vec<&str>>().join(" ");
        self.tell(&line);
    }

    /// A document gets a new version for others and cannot be read; then the source is away, and an output lacks what is kept of it.
    fn rewritten_for_others(&mut self) {
        let (before, after) = self.two_people();
        let name = self.dice.one(self.names);
        if self.dice.once_in(2) {
            let (job, output) = (self.covering(name), self.outputs[0].0);
            self.send_to(job, output);
        }
        let job = self.deliver(name, before);
        let text = self.text();
        let how = match self.dice.below(4) {
            0 => format!("quietly:{text} unreadable access:{after}"),
            1 => format!("access:{after} quietly:{text} unreadable look_failing:1"),
            2 => format!("unreadable access:{after}"),
            _ => format!("{text} unreadable access:{after}"),
        };
        self.tell(&format!("source {name} {how}"));
        let reread = if self.dice.once_in(3) { " reread" } else { "" };
        self.tell(&format!("run {job}{reread}"));
        self.away_and_lacking(job);
        self.tell(&format!("source {name} readable"));
    }

    /// A process dies behind the intent to send what it read again, which another one had been let in to by then.
    fn reread_and_killed(&mut self) {
        let (before, after) = self.two_people();
        let name = self.dice.one(self.names);
        let job = self.deliver(name, before);
        if self.dice.once_in(2) {
            // Another owner, whose leaving makes the entry this job's to send.
            let other = self.some_job();
            self.tell(&format!("run {other}"));
        }
        let text = self.text();
        if self.dice.once_in(3) {
            self.tell(&format!("source {name} {text} access:{after}"));
        } else {
            self.tell(&format!("meanwhile list 1 {name} {text} access:{after}"));
        }
        let (point, nth) = (self.dice.one(UNSETTLED), 1 + self.dice.below(2));
        self.tell(&format!("crash {point} {nth}"));
        self.tell(&format!("run {job} reread"));
        self.away_and_lacking(job);
    }

    fn away_and_lacking(&mut self, job: &str) {
        let away = if self.dice.once_in(4) { "/ unreadable" } else { "root absent" };
        self.tell(&format!("source {away}"));
        for _ in 0..1 + self.dice.below(2) {
            self.lacks(job);
        }
        self.tell(&format!("run {job}"));
        self.tell("source root present, / readable");
    }

    /// The folder above closes, and the one below is replaced by an open one, one after the other, between two looks of a listing.
    fn replaced_between_looks(&mut self) {
        let (before, after) = self.two_people();
        let at = self.dice.below(CHAINS.len());
        let (upper, lower, name) = CHAINS[at];
        self.tell(&format!(
            "source root present, {upper} readable access:open, {lower} readable access:{before}"
        ));
        let job = self.deliver(name, "open");
        // It has to be read for another reason.
        match self.dice.below(6) {
            0 => self.tell(&format!("source {name} ctime")),
            _ => {
                let stage =
                    self.dice.one(&["{\"parts\":\"drop\"}", "{\"mark\":\"m1\"}", "{\"mark\":\"m2\"}"]);
                self.redefine(job, "stage=", &format!("stage={stage}"));
            }
        }
        let nth = 1 + self.dice.below(4) / 3;
        self.tell(&format!(
            "meanwhile folder:{upper} {nth} {upper} access:{before}, {lower} replaced, {lower} access:{after}"
        ));
        match self.dice.below(6) {
            0..5 => {
                let how = self.dice.one(&["keeping:9", "failing:9"]);
                self.tell(&format!("source {name} {how}"));
            }
            _ => {
                let point = self.dice.one(UNSETTLED);
                self.tell(&format!("crash {point}"));
            }
        }
        self.tell(&format!("run {job}"));
        self.tell(&format!("source {name} sound"));
    }

    /// Whoever follows an output lacks a line about a document, whose access changes then.
    pub(super) fn missed(&mut self) {
        let told: Vec<&'static str> =
            self.outputs.iter().filter(|(_, kind)| *kind == "told").map(|(output, _)| *output).collect();
        let Some(output) = told.get(self.dice.below(told.len())) else { return self.output_fault() };
        let (before, after) = self.two_people();
        let name = self.dice.one(self.names);
        let job = self.deliver(name, before);
        let text = self.text();
        let times = 1 + self.dice.below(2);
        self.tell(&format!("fault {output} missed {name} {times}"));
        self.put_as(name, &format!("{text} access:{before}"));
        self.tell(&format!("run {job}"));
        self.tell(&format!("source {name} access:{after}"));
        self.tell(&format!("run {job}"));
    }

    fn two_people(&mut self) -> (&'static str, &'static str) {
        match self.dice.below(4) {
            0 => ("anna", "open"),
            1 => ("bert", "open"),
            2 => ("bert", "anna"),
            _ => ("anna", "bert"),
        }
    }
}
