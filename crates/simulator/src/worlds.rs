//! A world from a seed, as the text of a scenario: outputs, jobs, and steps that change the source, the settings and the
//! time, let outputs misbehave, and let the process die.

use std::collections::BTreeSet;

mod erased;
mod kept;
mod moves;
mod outputs;
mod pushes;
mod rare;
mod routes;
mod sites;
mod walks;

pub use self::pushes::has_pushes;
use crate::dice::Dice;
use ingather_testkit::scenario::with_turns;

const FILES: &[&str] = &["a", "b", "s/c", "s/d", "s/t/e", "s/t/f", "d/g", "d/h", "d"];
const FOLDERS: &[&str] = &["s/", "s/t/", "d/", "/"];
const CONTENTS: &[&str] =
    &["v1", "v2", "v3", "v-no", "v1+a1", "v2+a1+b1", "v3+a2+b-no1", "v4+b?+a1", "v5+a3+...", "v6+a1+a2"];
const PEOPLE: &[&str] = &["open", "open", "anna", "bert", "anna+bert"];
const KINDS: &[&str] = &["memory", "committing", "committing", "plain"];
const ROOTS: &[&str] = &["", "s/", "d/", "s/t/"];
const STAGES: &[&str] = &[
    "",
    "",
    " stage={\"decline\":\"no\"}",
    " stage={\"mark\":\"m1\"}",
    " stage={\"mark\":\"m2\"}",
    " stage={\"parts\":\"keep\"}",
    " stage={\"parts\":\"drop\"}",
    " stage={\"parts\":\"keep\"} stage={\"decline\":\"no\"}",
    " stage={\"parts\":\"drop\"} stage={\"mark\":\"m1\"}",
];
const GUARDS: &[&str] = &["", "", "", " guard=10/1", " guard=30/2"];
const DEATHS: &[&str] = &[
    "before write",
    "after write",
    "before intent",
    "after intent",
    "before send",
    "mid send",
    "after send",
    "before confirm",
    "after confirm",
    "before commit",
    "after commit",
    "before read",
    "before look",
    "before probe",
    "before list",
    "after listing",
    "after begin",
    "before hold",
    "after settle",
    "before end",
    "before clear",
];

/// Where worlds with an output that is told who may see die besides.
const DEATHS_OF_TOLD: &[&str] =
    &["before tell", "after tell", "after send", "after confirm", "before confirm"];

struct World {
    dice: Dice,
    lines: Vec<String>,
    files: BTreeSet<String>,
    outputs: Vec<(&'static str, &'static str)>,
    /// Every output can tell that it does not fit the inventory, so that an old store may come back.
    all_fit: bool,
    /// Some outputs judge access by what they are told.
    some_told: bool,
    /// Jobs keep what was read, and folders are replaced while they are listed.
    keeps: bool,
    /// Outputs have conditions, and places of their own in pipelines.
    routed: bool,
    /// People erase documents, and let them in again.
    erases: bool,
    /// People move jobs, and a service works.
    serves: bool,
    /// How many jobs are over a site, and whether there are no others.
    site: Option<(usize, bool)>,
    /// How many jobs clients push into, and whether there are no others.
    pushes: Option<(usize, bool)>,
    /// What pages of the site do besides.
    walks: walks::Walks,
    /// Texts so far that nothing else ever had.
    texts: usize,
    jobs: Vec<&'static str>,
    /// Several jobs run at once.
    together: bool,
    /// Names of files that this world knows: in small worlds more happens to each.
    names: &'static [&'static str],
}

/// Whether pages of a seed's world wait for events, are too far, hand something down, are named with their versions, or have dates.
pub fn walks(seed: u64) -> bool {
    walks::Walks::of_seed(seed, sites::walks_of(seed)).is_any()
}

/// Whether no job is over files.
fn is_alone(seed: u64) -> bool {
    sites::share(seed).or(pushes::share(seed)).is_some_and(|(_, is_alone)| is_alone)
}

/// The text of a seed's world.
pub fn of_seed(seed: u64) -> String {
    let mut dice = Dice::new(seed);
    let all_fit = dice.once_in(3);
    let some_told = seed % 4 == 3;
    let mut world = World {
        dice,
        lines: Vec::new(),
        files: BTreeSet::new(),
        outputs: Vec::new(),
        all_fit,
        some_told,
        keeps: seed % 4 == 1 && !is_alone(seed),
        routed: seed % 5 == 3,
        erases: seed % 3 == 1,
        serves: seed % 5 == 4,
        site: sites::share(seed),
        pushes: pushes::share(seed),
        walks: walks::Walks::of_seed(seed, sites::walks_of(seed)),
        texts: 0,
        jobs: Vec::new(),
        together: false,
        names: FILES,
    };
    if world.dice.once_in(2) {
        let at = world.dice.below(FILES.len() - 1);
        world.names = &FILES[at..at + 1 + world.dice.below(2)];
    }
    world.begin(seed);
    let steps = 8 + world.dice.below(30);
    for _ in 0..steps {
        world.step();
    }
    world.end_served();
    world.tell("quiet");
    for job in world.jobs.clone() {
        world.tell(&format!("delete {job}"));
    }
    world.tell("quiet");
    let text = world.lines.join("\n") + "\n";
    if seed.is_multiple_of(3) { text } else { with_turns(&text, seed) }
}

impl World {
    fn tell(&mut self, line: &str) {
        self.lines.push(line.to_owned());
    }

    fn begin(&mut self, seed: u64) {
        let outputs = 1 + self.dice.below(3);
        for name in &["one", "two", "three"][..outputs] {
            let kind = match if self.all_fit { "committing" } else { self.dice.one(KINDS) } {
                "memory" if self.some_told => "told",
                "committing" if self.some_told && self.dice.once_in(2) => "told",
                kind => kind,
            };
            self.outputs.push((name, kind));
            self.tell(&format!("output {name} {kind}"));
        }
        let jobs = 1 + self.dice.below(3);
        let has_files = !is_alone(seed);
        for name in ["whole", "part", "other"].iter().take(jobs).filter(|_| has_files) {
            self.jobs.push(name);
            self.define(name);
        }
        // The other worlds stay as they were before there were such runs.
        self.together = seed % 5 == 2 && jobs > 1;
        self.begin_site();
        self.begin_pushes();
        self.tell("watch");
        if self.site.is_some() {
            self.fill_site();
        }
        for _ in 0..3 + self.dice.below(5) {
            self.put();
        }
    }

    fn define(&mut self, name: &'static str) {
        if sites::JOBS.contains(&name) {
            return self.define_over_site(name);
        }
        if pushes::JOBS.contains(&name) {
            return self.define_pushed(name);
        }
        let root = if name == "whole" { "" } else { self.dice.one(ROOTS) };
        let mut to: Vec<&str> = Vec::new();
        for (output, _) in self.outputs.clone() {
            if !self.dice.once_in(3) {
                to.push(output);
            }
        }
        if to.is_empty() {
            to.push(self.outputs[0].0);
        }
        let (stage, guard) = (self.dice.one(STAGES), self.dice.one(GUARDS));
        let compare = if self.dice.once_in(6) { " compare=content" } else { "" };
        // A job that is there keeps its root: another root is another job.
        let root = self.root_of(name).unwrap_or_else(|| root.to_owned());
        let keep = if self.keeps && !self.dice.once_in(4) { " keep=extracted" } else { "" };
        let routes = self.routes(&to, !stage.is_empty());
        let (schedule, to) = (self.schedule(), to.join(","));
        let line = format!("job {name} root={root} to={to}{stage}{guard}{compare}{keep}{schedule}{routes}");
        self.tell(&line);
    }

    fn step(&mut self) {
        if self.site.is_some() && !self.dice.once_in(3) {
            return self.site_step();
        }
        if self.pushes.is_some_and(|(_, is_alone)| self.dice.below(6) < if is_alone { 5 } else { 3 }) {
            return self.push_step();
        }
        if self.keeps && self.dice.once_in(4) {
            return self.kept_or_between_looks();
        }
        if self.some_told && self.dice.once_in(12) {
            return self.missed();
        }
        if self.erases && self.dice.once_in(5) {
            return self.people();
        }
        match self.dice.below(50) {
            _ if self.serves && self.dice.once_in(3) => self.move_jobs(),
            0..10 => self.source(),
            10..13 => self.source_fault(),
            13..22 => self.run(),
            22..30 => self.dying_run(),
            30..34 => self.output_fault(),
            34 => self.operator(),
            35 => self.time(),
            36 => self.settings(),
            37 => self.broken_listing(),
            38 | 39 => self.inventory(),
            40..43 => self.day_of_parts(),
            43 => self.held_and_broken_off(),
            44 => self.forgotten_while_written(),
            45..49 => self.meanwhile(),
            _ if self.dice.once_in(3) => self.tell("quiet"),
            _ => self.confirm(),
        }
    }

    fn put(&mut self) {
        let (name, content) = (self.dice.one(self.names), self.dice.one(CONTENTS));
        let access =
            if self.dice.once_in(4) { format!(" access:{}", self.dice.one(PEOPLE)) } else { String::new() };
        self.put_as(name, &format!("{content}{access}"));
    }

    fn put_as(&mut self, name: &str, words: &str) {
        let mut line = String::new();
        // What is a file is no folder, and the other way round.
        let folder = format!("{name}/");
        if self.files.iter().any(|file| file.starts_with(&folder)) {
            self.files.retain(|file| !file.starts_with(&folder));
            line = format!("{folder} gone, ");
        }
        let above: Vec<String> =
            self.files.iter().filter(|file| name.starts_with(&format!("{file}/"))).cloned().collect();
        for file in above {
            self.files.remove(&file);
            line.push_str(&format!("{file} gone, "));
        }
        self.files.insert(name.to_owned());
        self.tell(&format!("source {line}{name} {words}"));
    }

    fn some_file(&mut self) -> Option<String> {
        let at = self.dice.below(self.files.len());
        self.files.iter().nth(at).cloned()
    }

    fn source(&mut self) {
        let Some(file) = self.some_file() else { return self.put() };
        match self.dice.below(14) {
            0..5 => self.put(),
            5..8 => {
                self.files.remove(&file);
                self.tell(&format!("source {file} gone"));
            }
            8 => {
                let to = self.dice.one(self.names);
                let folder = |name: &str| format!("{name}/");
                let clash = self
                    .files
                    .iter()
                    .any(|f| f == to || f.starts_with(&folder(to)) || to.starts_with(&folder(f)));
                if !clash {
                    self.files.remove(&file);
                    self.files.insert(to.to_owned());
                    self.tell(&format!("source {to} move:{file}"));
                }
            }
            9 => self.move_folder(),
            10 | 11 => {
                let who = self.dice.one(PEOPLE);
                self.tell(&format!("source {file} access:{who}"));
            }
            12 => {
                let (folder, who) = (self.dice.one(FOLDERS), self.dice.one(PEOPLE));
                self.tell(&format!("source {folder} access:{who}"));
            }
            13 if self.dice.once_in(2) => {
                let content = self.dice.one(&["v1", "v2", "v3"]);
                let who = self.dice.one(PEOPLE);
                let folder = self.dice.one(FOLDERS);
                let also = self.dice.one(&[" access:", "access"]);
                let also = if also == "access" {
                    format!(", {folder} access:{who}")
                } else {
                    format!("{also}{who}")
                };
                self.tell(&format!("source {file} quietly:{content}{also}"));
            }
            _ => {
                let word = self.dice.one(&["racy", "calm", "touched", "ctime"]);
                self.tell(&format!("source {file} {word}"));
            }
        }
    }

    fn move_folder(&mut self) {
        let (from, to) = (self.dice.one(FOLDERS), self.dice.one(FOLDERS));
        if from == "/"
            || to == "/"
            || from.starts_with(to)
            || to.starts_with(from)
            || self.files.contains(to.trim_end_matches('/'))
        {
            return;
        }
        let moving: Vec<String> = self.files.iter().filter(|file| file.starts_with(from)).cloned().collect();
        self.files.retain(|file| !file.starts_with(to) && !file.starts_with(from));
        self.files.extend(moving.iter().map(|file| format!("{to}{}", &file[from.len()..])));
        self.tell(&format!("source {to} move:{from}"));
    }

    fn source_fault(&mut self) {
        let folder = self.dice.one(FOLDERS);
        let file = self.some_file();
        match (self.dice.below(12), file) {
            (0..3, _) => {
                let word = self.dice.one(&["unreadable", "readable", "changing", "quiet"]);
                self.tell(&format!("source {folder} {word}"));
            }
            (3, _) => self.tell(&format!("source {folder} replaced")),
            (4, _) => {
                let device = 1 + self.dice.below(2);
                self.tell(&format!("source {folder} device:{device}"));
            }
            (5, _) => {
                let word = self.dice.one(&["absent", "present"]);
                self.tell(&format!("source root {word}"));
            }
            (6, _) => {
                if folder == "/" {
                    self.files.clear();
                } else {
                    self.files.retain(|file| !file.starts_with(folder));
                }
                self.tell(&format!("source {folder} gone"));
            }
            (7, _) => {
                let reader = self.dice.one(&["reader", "another"]);
                self.tell(&format!("reader {reader}"));
            }
            (_, Some(file)) => {
                let word = self.dice.one(&[
                    "unreadable",
                    "readable",
                    "opened",
                    "vanishing",
                    "steady",
                    "unlisted",
                    "listed",
                    "excluded",
                    "included",
                    "failing:1",
                    "failing:3",
                    "keeping:2",
                    "failing:9",
                ]);
                self.tell(&format!("source {file} {word}"));
            }
            _ => {}
        }
    }

    fn some_job(&mut self) -> &'static str {
        let at = self.dice.below(self.jobs.len());
        self.jobs[at]
    }

    fn run(&mut self) {
        let job = self.some_job();
        if self.together && self.dice.once_in(2) {
            return self.run_together();
        }
        let how = self.dice.one(rare::RUNS);
        self.tell(&format!("run {job} {how}"));
    }

    /// Where the next deed dies, stops, or loses its work to another process; how often that place is met by then.
    fn die(&mut self) -> usize {
        let here = self.some_told && self.dice.once_in(2);
        let point = self.dice.one(if here { DEATHS_OF_TOLD } else { DEATHS });
        let nth = 1 + self.dice.below(3);
        match self.dice.below(8) {
            0 | 1 => {
                let keep = self.dice.below(9);
                self.tell(&format!("crash {point} {nth} power {keep}"));
            }
            2 => self.tell(&format!("stop {point} {nth}")),
            3 => {
                let point = self.dice.one(&[
                    "after write",
                    "after intent",
                    "after confirm",
                    "after listing",
                    "after begin",
                ]);
                let word = ["takeover", "standstill"][nth % 2];
                self.tell(&format!("{word} {point} {nth}"));
            }
            _ => self.tell(&format!("crash {point} {nth}")),
        }
        nth
    }

    fn dying_run(&mut self) {
        let nth = self.die();
        let job = self.some_job();
        match self.dice.below(12) {
            0 => self.tell(&format!("delete {job}")),
            1 => self.tell(&format!("confirm {job}")),
            _ if self.together => self.run_together(),
            _ => self.tell(&format!("run {job}{}", if nth == 3 { " paused" } else { "" })),
        }
    }

    /// All jobs at once, in one process.
    fn run_together(&mut self) {
        let jobs = self.jobs.join(", ");
        self.tell(&format!("together {jobs}"));
    }

    fn operator(&mut self) {
        let job = self.some_job();
        self.tell(&format!("delete {job}"));
        if self.dice.once_in(2) {
            self.define(job);
        }
    }

    fn confirm(&mut self) {
        let job = self.some_job();
        if self.dice.once_in(2) {
            self.tell(&format!("run {job}"));
        }
        if self.dice.once_in(2) {
            self.source();
        }
        self.tell(&format!("confirm {job}"));
    }

    fn time(&mut self) {
        let seconds = self.dice.one(&["1", "10", "120", "4000", "-5", "-90000"]);
        self.tell(&format!("clock {seconds}s"));
    }

    fn settings(&mut self) {
        let job = self.some_job();
        self.define(job);
    }
}

#[cfg(test)]
mod tests {
    use super::of_seed;

    #[test]
    fn a_seed_gives_the_same_world_again() {
        assert_eq!(of_seed(3), of_seed(3));
        assert_ne!(of_seed(3), of_seed(4));
    }
}
