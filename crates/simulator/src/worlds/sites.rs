//! Jobs over a site, alone or beside jobs over files: pages that lead to each other, change, fail, are missing, gone or shut, while all
//! goes wrong that goes wrong with files.

use super::{PEOPLE, STAGES, World, rare};
use crate::dice::Dice;

/// Pages of worlds; none of them has the name of a file.
pub(super) const PAGES: &[&str] = &["h/a", "h/b", "h/c", "h/u/d", "k/e", "k/f", "p"];

/// How pages answer; what is said most often is most often so.
const ANSWERS: &[&str] = &[
    "failing:1",
    "failing:3",
    "failing:9",
    "broken",
    "missing",
    "missing",
    "missing",
    "gone",
    "gone",
    "shut",
    "no_entry",
    "canonical:h/b",
    "canonical:p",
    "moved:h/a",
    "moved:k/e",
    "cut_off",
    "sound",
    "sound",
    "sound",
];

/// The first of them, and the second one, which owns the same pages.
pub(super) const JOBS: &[&str] = &["pages", "links"];

/// How many jobs of a world are over a site, and whether all are: each sixth world has some. By dice of their own, so that all other worlds
/// are as they were before there were sites.
pub(super) fn share(seed: u64) -> Option<(usize, bool)> {
    let mut dice = Dice::new(seed ^ 0x517E_517E);
    dice.once_in(6).then(|| (1 + dice.below(2), dice.once_in(2)))
}

/// Whether a world has a site, whether one job alone is over it, and whether a service works.
pub(super) fn walks_of(seed: u64) -> (bool, bool, bool) {
    (share(seed).is_some(), share(seed).is_some_and(|(jobs, _)| jobs == 1), seed % 5 == 4)
}

/// A page, or none.
pub(super) fn one_or_none(dice: &mut Dice) -> String {
    if dice.once_in(2) { String::new() } else { dice.one(PAGES).to_owned() }
}

impl World {
    /// Adds its jobs over a site; the site has pages then.
    pub(super) fn begin_site(&mut self) {
        let Some((jobs, _)) = self.site else { return };
        for name in &JOBS[..jobs] {
            self.jobs.push(name);
            self.define_over_site(name);
        }
    }

    pub(super) fn fill_site(&mut self) {
        self.begin_walks();
        let seeds = self.some_pages(1);
        self.tell(&format!("site seeds {seeds}"));
        for _ in 0..4 + self.dice.below(4) {
            self.put_page();
        }
    }

    pub(super) fn define_over_site(&mut self, name: &str) {
        let mut to: Vec<&str> = Vec::new();
        for (output, _) in self.outputs.clone() {
            if !self.dice.once_in(4) {
                to.push(output);
            }
        }
        if to.is_empty() {
            to.push(self.outputs[0].0);
        }
        // Two owners that make other entries of a page send it in turn, run after run.
        let is_owned_alone = self.site.is_none_or(|(jobs, _)| jobs == 1);
        let stage = if is_owned_alone && self.dice.once_in(3) { self.dice.one(STAGES) } else { "" };
        let guard = self.dice.one(&["", "", "", "", " guard=30/2"]);
        let keep = if self.keeps && self.dice.once_in(2) { " keep=extracted" } else { "" };
        let routes = if is_owned_alone { self.routes(&to, !stage.is_empty()) } else { String::new() };
        let (schedule, to) = (self.schedule(), to.join(","));
        let walks = self.walks.of_job();
        self.tell(&format!("job {name} over=site to={to}{stage}{guard}{keep}{schedule}{routes}{walks}"));
    }

    /// One deed around the site.
    pub(super) fn site_step(&mut self) {
        if self.walk() {
            return;
        }
        let page = self.dice.one(PAGES);
        match self.dice.below(24) {
            0..5 => self.put_page(),
            5..9 => {
                let answer = self.dice.one(ANSWERS);
                self.tell(&format!("site {page} {answer}"));
            }
            9 => {
                let seeds = self.some_pages(1);
                self.tell(&format!("site seeds {seeds}"));
            }
            10 => {
                let how = self.dice.one(&[
                    "seeds broken_off:1",
                    "seeds broken_off:0",
                    "seeds whole",
                    "seeds whole",
                ]);
                self.tell(&format!("site {how}"));
            }
            11 => {
                let how = self.dice.one(&["forgetful", "remembering"]);
                self.tell(&format!("site all {how}"));
            }
            12 => {
                let who = self.dice.one(PEOPLE);
                self.tell(&format!("site {page} access:{who}"));
            }
            13..17 => self.run_over_site(),
            17..20 => self.die_over_site(),
            20 => self.missing_for_an_hour(page),
            21 => self.island(),
            22 => {
                let seconds = self.dice.one(&["1700", "3600", "4000", "90000"]);
                self.tell(&format!("clock {seconds}s"));
            }
            _ => self.people_of_site(page),
        }
    }

    fn put_page(&mut self) {
        let page = self.dice.one(PAGES);
        let (text, leads) = (self.dice.one(&["v1", "v2", "v3", "v4"]), self.some_pages(0));
        let access = if self.dice.once_in(4) {
            self.dice.one(&[" access:anna", " access:bert", " access:open"])
        } else {
            ""
        };
        let answer = if self.dice.once_in(2) { " sound" } else { "" };
        let walking = self.walking();
        self.tell(&format!("site {page} {text} leads:{leads}{access}{answer}{walking}"));
    }

    /// At least so many names, and at most three more.
    fn some_pages(&mut self, least: usize) -> String {
        let count = least + self.dice.below(4);
        let names: Vec<&str> = (0..count).map(|_| self.dice.one(PAGES)).collect();
        names.join("+")
    }

    pub(super) fn site_job(&mut self) -> &'static str {
        let jobs = self.site.map_or(1, |(jobs, _)| jobs);
        JOBS[self.dice.below(jobs)]
    }

    fn run_over_site(&mut self) {
        let (job, how) = (self.site_job(), self.dice.one(rare::RUNS));
        self.tell(&format!("run {job} {how}"));
    }

    /// A run over the site dies, and mostly another one goes on with it, before which the site may change.
    pub(super) fn die_over_site(&mut self) {
        match self.dice.once_in(3) {
            true => {
                let page = self.dice.one(PAGES);
                self.tell(&format!("crash before read:{page}"));
            }
            false => drop(self.die()),
        }
        let job = self.site_job();
        self.tell(&format!("run {job}"));
        if self.dice.once_in(3) {
            self.put_page();
        }
        if self.dice.once_in(6) {
            self.define_over_site(job);
        }
        if !self.dice.once_in(3) {
            self.tell(&format!("run {job}"));
        }
    }

    /// A page is missing, and looked at again before and behind the hour.
    fn missing_for_an_hour(&mut self, page: &str) {
        let job = self.site_job();
        self.tell(&format!("site {page} missing"));
        self.tell(&format!("run {job}"));
        for seconds in ["1800", "1800"] {
            self.tell(&format!("clock {seconds}s"));
            match self.dice.below(4) {
                0 => self.die_over_site(),
                1 => {
                    let answer = self.dice.one(ANSWERS);
                    self.tell(&format!("site {page} {answer}"));
                    self.tell(&format!("run {job}"));
                }
                _ => self.tell(&format!("run {job}")),
            }
        }
    }

    /// Two pages lead to each other, are linked, and then are not.
    fn island(&mut self) {
        let (one, other, from) = (self.dice.one(PAGES), self.dice.one(PAGES), self.dice.one(PAGES));
        let job = self.site_job();
        self.tell(&format!(
            "site seeds {from}, {from} v5 leads:{one} sound, {one} leads:{other} sound, {other} leads:{one} sound"
        ));
        self.tell(&format!("run {job}"));
        if self.dice.once_in(3) {
            self.output_fault();
        }
        self.tell(&format!("site {from} v6 leads:"));
        match self.dice.once_in(2) {
            true => self.die_over_site(),
            false => self.run_over_site(),
        }
    }

    fn people_of_site(&mut self, page: &str) {
        let job = self.site_job();
        match self.dice.below(8) {
            0 | 1 => self.tell(&format!("erase {page}")),
            2 => self.tell(&format!("erase {page} from {job}")),
            3 => self.tell(&format!("readmit {page}")),
            4 => self.tell(&format!("run {job} erasing {page}")),
            5 => self.tell(&format!("resend {job}")),
            6 => self.tell(&format!("reset {job}")),
            _ => {
                self.tell(&format!("delete {job}"));
                if !self.dice.once_in(3) {
                    self.define_over_site(job);
                }
            }
        }
    }
}
