//! What pages of a site and their jobs do besides: they wait for events, are too far, hand something down, are named with their versions, and
//! have dates. Each of it by dice of its own, so that worlds without it are as they were.

use super::World;
use crate::dice::Dice;

const EVENTS: &[&str] = &["e", "e", "f", "job/e", "connection/e"];
const HOPS: &[&str] = &[
    "",
    " hops=link:0",
    " hops=link:1",
    " hops=link:1",
    " hops=link:2",
    " hops=link:2,redirect:1",
    " hops=link:3,redirect:0",
    " hops=redirect:0",
    " hops=redirect:1",
    " hops=link:1,keep",
    " hops=link:2,redirect:0,keep",
];
const HANDS: &[&str] = &["", "x", "x", "y", "x+y", "y+z"];
const SCHEDULES: &[&str] = &[
    "",
    " schedule=continuous dates=recrawl=10,recrawl-max=20",
    " schedule=continuous dates=recrawl=10,recrawl-max=60",
    " schedule=continuous dates=recrawl=10,recrawl-max=20,expire=30",
    " schedule=continuous dates=recrawl=10,recrawl-max=60,expire=90",
    " schedule=continuous dates=recrawl=30,recrawl-max=30,expire=5",
];
const DATES: &[&str] = &[
    "undated",
    "undated",
    "origin:-1500",
    "origin:0",
    "origin:2000",
    "origin:9000",
    "revisit:..900",
    "revisit:3000..",
    "expires:..2400",
    "expires:4000..",
    "expires:1000..5000",
];
const PASSES: &[&str] = &["pass", "pass", "pass", "pass minimal", "pass minimal", "minimal", "reread", ""];
const SECONDS: &[&str] = &["1", "60", "300", "600", "1200", "1800", "3600", "7200"];

/// What a world over a site has of it.
#[derive(Clone, Debug)]
pub(super) struct Walks {
    dice: Dice,
    events: bool,
    hops: bool,
    hands: bool,
    named: bool,
    dates: bool,
    /// Texts so far.
    texts: usize,
}

impl Walks {
    /// Of a seed. What is handed down, two owners of a page may be handed otherwise, and services of worlds begin nothing by dates.
    pub(super) fn of_seed(seed: u64, (has_site, is_owned_alone, serves): (bool, bool, bool)) -> Walks {
        let draws = |number: u64| has_site && Dice::new(seed ^ number).once_in(3);
        Walks {
            dice: Dice::new(seed ^ 0x0DD5_0DD5),
            events: draws(0xE7E7_E7E7),
            hops: draws(0x4095_4095),
            hands: draws(0x4A2D_4A2D) && is_owned_alone,
            named: draws(0x2A3E_2A3E),
            dates: draws(0xDA7E_DA7E) && !serves,
            texts: 0,
        }
    }

    /// Whether it has anything of it.
    pub(super) fn is_any(&self) -> bool {
        self.events || self.hops || self.hands || self.named || self.dates
    }

    /// What the definition of a job has besides.
    pub(super) fn of_job(&mut self) -> String {
        let mut words = String::new();
        if self.hops {
            words.push_str(self.dice.one(HOPS));
        }
        if self.dates {
            words.push_str(self.dice.one(SCHEDULES));
        }
        words
    }

    /// What a page says besides.
    fn of_page(&mut self, some: &dyn Fn(&mut Dice) -> String) -> String {
        let mut words = String::new();
        if (self.hops || self.hands) && self.dice.once_in(2) {
            words.push_str(&format!(" redirects:{}", some(&mut self.dice)));
        }
        if self.hands && self.dice.once_in(2) {
            words.push_str(&format!(" hands:{}", self.dice.one(HANDS)));
        }
        if self.named && self.dice.once_in(3) {
            words.push_str(" named");
        }
        if self.dates && self.dice.once_in(2) {
            words.push_str(&format!(" {}", self.dice.one(DATES)));
        }
        if self.events && self.dice.once_in(2) {
            let event = self.dice.one(EVENTS);
            let word = match self.dice.below(8) {
                0 | 1 => format!("after:{event}"),
                2 => "after:e+f".to_owned(),
                3 => "after:".to_owned(),
                4 => format!("begins:{event}"),
                5 => "begins: completes:".to_owned(),
                6 => format!("completes:{event}"),
                _ => format!("again:{}", self.dice.one(&["", "e", "f"])),
            };
            words.push_str(&format!(" {word}"));
        }
        words
    }
}

impl World {
    /// What is said of the site before it has pages.
    pub(super) fn begin_walks(&mut self) {
        if self.walks.named {
            self.tell("site all versioned");
        }
    }

    /// What a page says besides.
    pub(super) fn walking(&mut self) -> String {
        self.walks.of_page(&super::sites::one_or_none)
    }

    /// One step around it, or none.
    pub(super) fn walk(&mut self) -> bool {
        if !self.walks.is_any() || !self.walks.dice.once_in(3) {
            return false;
        }
        let steps: [(bool, fn(&mut World)); 5] = [
            (self.walks.events, World::event),
            (self.walks.hops, World::hop),
            (self.walks.hands, World::hand),
            (self.walks.named, World::name),
            (self.walks.dates, World::date),
        ];
        let steps: Vec<fn(&mut World)> = steps.into_iter().filter(|(has, _)| *has).map(|of| of.1).collect();
        let step = steps[self.walks.dice.below(steps.len())];
        step(self);
        true
    }

    fn page_of_walk(&mut self) -> &'static str {
        self.walks.dice.one(super::sites::PAGES)
    }

    /// A text that no page had before.
    fn text_of_walk(&mut self) -> String {
        self.walks.texts += 1;
        format!("v{}", 1_000 + self.walks.texts)
    }

    fn run_or_die(&mut self) {
        match self.walks.dice.below(3) {
            0 => self.die_over_site(),
            _ => {
                let job = self.site_job();
                self.tell(&format!("run {job}"));
            }
        }
    }

    /// One page begins an event, another one completes it, and a third one waits; or nobody completes it, and a person frees it.
    fn event(&mut self) {
        let (event, from) = (self.walks.dice.one(EVENTS), self.page_of_walk());
        let (waits, completes) = (self.page_of_walk(), self.page_of_walk());
        if self.walks.dice.once_in(4) {
            return self.tell("free all");
        }
        let text = self.text_of_walk();
        let how = match self.walks.dice.below(4) {
            0 => format!("{completes} failing:1 completes:{event}"),
            1 => format!("{completes} completes:"),
            _ => format!("{completes} completes:{event}"),
        };
        let waits = match self.walks.dice.once_in(4) {
            true => format!("{waits} again:{event}"),
            false => format!("{waits} after:{event}"),
        };
        let led = waits.split(' ').next().unwrap_or_default().to_owned();
        self.tell(&format!(
            "site seeds {from}, {from} {text} leads:{led}+{completes} begins:{event} sound, {waits} sound, {how}"
        ));
        self.run_or_die();
        if self.walks.dice.once_in(2) {
            self.tell(&format!("site {from} begins:"));
        }
    }

    /// A line of pages, and bounds that leave some of them out, by links or by a shorter way.
    fn hop(&mut self) {
        let job = self.site_job();
        if self.walks.dice.once_in(2) {
            let hops = self.walks.dice.one(HOPS);
            self.redefine(job, "hops=", hops.trim());
            return self.run_or_die();
        }
        let line: Vec<&str> = (0..4).map(|_| self.page_of_walk()).collect();
        let relation = self.walks.dice.one(&["leads", "leads", "redirects"]);
        let steps: Vec<String> =
            line.windows(2).map(|two| format!("{} {relation}:{} sound", two[0], two[1])).collect();
        self.tell(&format!("site seeds {}, {}", line[0], steps.join(", ")));
        self.run_or_die();
        if self.walks.dice.once_in(2) {
            let (near, far) = (line[0], line[2 + self.walks.dice.below(2)]);
            self.tell(&format!("site {near} leads:{}+{far}", line[1]));
            self.run_or_die();
        }
    }

    /// Something else is handed down, or whoever did so leads nowhere, or is not reached any more.
    fn hand(&mut self) {
        let (parent, child, other) = (self.page_of_walk(), self.page_of_walk(), self.page_of_walk());
        let hands = self.walks.dice.one(HANDS);
        if self.walks.dice.once_in(2) {
            self.tell(&format!(
                "site seeds {other}, {other} leads:{parent}+{child} sound, {parent} leads:{child} hands:x sound"
            ));
            self.run_or_die();
        }
        match self.walks.dice.below(5) {
            0 => self.tell(&format!("site {parent} leads:")),
            1 => self.tell(&format!("site {other} leads:{child}")),
            2 => self.tell(&format!("erase {parent}")),
            3 => self.tell(&format!("site {parent} hands:{hands} failing:1")),
            _ => self.tell(&format!("site {parent} hands:{hands}")),
        }
        self.run_or_die();
    }

    /// A page names others with their versions, which change or stay, and are held or not.
    fn name(&mut self) {
        let (list, one, other) = (self.page_of_walk(), self.page_of_walk(), self.page_of_walk());
        let text = self.text_of_walk();
        self.tell(&format!("site seeds {list}, {list} named leads:{one}+{other} sound"));
        self.run_or_die();
        match self.walks.dice.below(4) {
            0 => self.output_fault(),
            1 => self.tell(&format!("site {one} {text}")),
            2 => self.tell(&format!("site {one} leads:{other}")),
            _ => self.tell(&format!("site {one} access:anna")),
        }
        self.run_or_die();
    }

    /// Time passes, and passes look at what is due.
    fn date(&mut self) {
        for _ in 0..1 + self.walks.dice.below(3) {
            match self.walks.dice.below(4) {
                0 => {
                    let page = self.page_of_walk();
                    let date = self.walks.dice.one(DATES);
                    self.tell(&format!("site {page} {date}"));
                }
                1 => {
                    let (page, text) = (self.page_of_walk(), self.text_of_walk());
                    self.tell(&format!("site {page} {text}"));
                }
                _ => {}
            }
            let seconds = self.walks.dice.one(SECONDS);
            self.tell(&format!("clock {seconds}s"));
            if self.walks.dice.once_in(6) {
                self.die();
            }
            let (job, how) = (self.site_job(), self.walks.dice.one(PASSES));
            self.tell(format!("run {job} {how}").trim_end());
        }
    }
}
