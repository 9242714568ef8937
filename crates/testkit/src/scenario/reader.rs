//! A naive reader for each job over a site: what a run may have reached of it, and what it must have.
//!
//! It hears what the site is before and after each step, and how runs end; never what the store has. A run that does not come to its end
//! may have visited any page, and the next one goes on with it: what such runs have met is what the site was at any of them.

use std::collections::{BTreeMap, BTreeSet};

use ingather_contract::call::Clock as _;
use ingather_model::fault::Fault;
use ingather_model::job::RunKind;
use ingather_model::job::hops::Hops;
use ingather_model::lifecycle::outcome::RunOutcome;
use ingather_model::limits;
use ingather_store::jobs::Job;
use ingather_store::runs;

use super::Play;
use crate::memory_output::locked;
use crate::script_repository::site::{Answer, Page};
use crate::together::site::{WEB, site};

type Names = BTreeSet<String>;

/// What all readers know.
#[derive(Clone, Debug, Default)]
pub(super) struct Readers {
    of: BTreeMap<String, Reader>,
    backup: Option<Box<Readers>>,
}

/// What one job may know of its site.
#[derive(Clone, Debug, Default)]
struct Reader {
    /// Its id: a job that is made again knows nothing.
    job: i64,
    pages: BTreeMap<String, Led>,
    /// The site at all runs since the last one that came to its end.
    sights: Vec<Sight>,
    /// An output has hindered one of these runs: what failed by that is not visited by those that go on with it.
    hindered: bool,
    /// What the runs of the last step have reached; none where there were none.
    reached: Option<Reached>,
}

/// The site as a run may have met it.
#[derive(Clone, Debug, Default)]
pub(super) struct Sight {
    pub(super) pages: BTreeMap<String, Page>,
    seeds: Vec<String>,
    /// So many of them are named.
    named: usize,
    /// Pages that a person has erased from the job.
    erased: Names,
    /// How far it goes.
    hops: Hops,
}

/// Where a page led when it was visited last.
#[derive(Clone, Debug, Default)]
struct Led {
    certain: Names,
    possible: Names,
    /// A visit of it has come to its end, and it was there.
    was_there: bool,
    missing: Option<Missing>,
}

/// Since when a page is missing.
#[derive(Clone, Copy, Debug)]
struct Missing {
    /// Not before this time.
    earliest: i64,
    /// At the latest since then, where that is known.
    latest: Option<i64>,
}

/// What runs have reached.
#[derive(Clone, Debug, Default)]
pub(super) struct Reached {
    pub(super) sights: Vec<Sight>,
    pub(super) possible: Names,
    pub(super) certain: Names,
    /// Missing pages that may be believed to be gone.
    believed: Names,
    /// Those that must be.
    surely_gone: Names,
    /// The last run came to its end.
    pub(super) is_done: bool,
    /// An output has hindered it, or one that it went on with.
    pub(super) hindered: bool,
}

/// What readers are told before a step.
pub(super) struct BeforeReading {
    /// Number of the last run, and the site, by job.
    jobs: BTreeMap<String, (i64, Sight)>,
    at: i64,
    /// No output refuses anything.
    sound: bool,
}

/// When runs were: from, to; none where clocks were put back.
type Times = Option<(i64, i64)>;

pub(super) fn is_over_a_site(job: &Job) -> bool {
    job.definition.repository == WEB
}

impl Sight {
    /// A page that is there and can be read.
    pub(super) fn readable(&self, name: &str) -> Option<&Page> {
        let page = self.pages.get(name).filter(|_| !self.erased.contains(name))?;
        (page.failing == 0 && matches!(page.answer, Answer::Text | Answer::CutOff)).then_some(page)
    }

    pub(super) fn answer(&self, name: &str) -> Answer {
        let answer = |page: &Page| page.answer.clone();
        self.pages.get(name).map_or(Answer::Fault(Fault::missing()), answer)
    }

    /// Whether it may say that it is missing.
    fn is_missing(&self, name: &str) -> bool {
        self.answer(name).is_missing()
    }

    /// Whether it answers otherwise before it answers so.
    fn fails(&self, name: &str) -> bool {
        self.pages.get(name).is_some_and(|page| page.failing > 0)
    }

    /// Whether outputs may lose what they hold of a page, wherever it is reached from.
    fn lets_go(&self, name: &str) -> bool {
        let answer = self.answer(name);
        let is_none = matches!(answer, Answer::NoEntry | Answer::Fault(Fault::Gone | Fault::Refused(_)));
        self.erased.contains(name) || is_none
    }

    /// The same, where that may have to be so for an hour.
    fn may_let_go(&self, name: &str) -> bool {
        self.lets_go(name) || self.answer(name) == Answer::ForNow
    }

    /// What can be reached of it now by whoever knows nothing else.
    pub(super) fn reachable(&self) -> Names {
        let links = |name: &str| match self.pages.get(name) {
            Some(page) if matches!(page.answer, Answer::Text | Answer::NoEntry | Answer::ForNow) => {
                page.all_links()
            }
            _ => Names::new(),
        };
        if !self.hops.counts_nothing() {
            return self.near();
        }
        closure(self.seeds.iter().cloned().collect(), &|name| self.erased.contains(name), &links)
    }

    /// The same of a job that counts hops: what is near enough by each relation, found by trying all links until nothing comes nearer.
    fn near(&self) -> Names {
        let most = self.hops.among(&["link", "redirect"]).expect("a scenario counts what there is");
        let seeds = self.seeds.iter().filter(|name| !self.erased.contains(*name));
        let mut hops: BTreeMap<String, [u32; 2]> = seeds.map(|name| (name.clone(), [0; 2])).collect();
        let is_near = |hops: &[u32; 2]| most.iter().all(|(relation, most)| hops[*relation] <= *most);
        loop {
            let before = hops.clone();
            for (name, from) in before.iter().filter(|(_, hops)| is_near(hops)) {
                let Some(page) = self.pages.get(name) else { continue };
                if !matches!(page.answer, Answer::Text | Answer::NoEntry | Answer::ForNow) {
                    continue;
                }
                let links = page.links.iter().map(|to| (0, to));
                for (relation, to) in links.chain(page.redirects.iter().map(|to| (1, to))) {
                    let is_counted = most.iter().any(|(counted, _)| *counted == relation);
                    let mut way = *from;
                    way[relation] += u32::from(is_counted);
                    let known = hops.entry(to.clone()).or_insert([u32::MAX; 2]);
                    *known = [known[0].min(way[0]), known[1].min(way[1])];
                }
            }
            if hops == before {
                break;
            }
        }
        let near = hops.into_iter().filter(|(name, hops)| is_near(hops) && !self.erased.contains(name));
        near.map(|(name, _)| name).collect()
    }
}

/// What can be reached from these names.
fn closure(from: Names, is_closed: &dyn Fn(&str) -> bool, links: &dyn Fn(&str) -> Names) -> Names {
    let mut left: Vec<String> = from.into_iter().collect();
    let mut reached = Names::new();
    while let Some(name) = left.pop() {
        if !is_closed(&name) && reached.insert(name.clone()) {
            left.extend(links(&name));
        }
    }
    reached
}

fn both(sets: impl Iterator<Item = Names>) -> Names {
    sets.reduce(|all, one| all.intersection(&one).cloned().collect()).unwrap_or_default()
}

impl Reader {
    fn led(&self, name: &str) -> Led {
        self.pages.get(name).cloned().unwrap_or_default()
    }

    /// Where a page leads as one sight has it: perhaps, and for sure.
    fn leads(&self, name: &str, sight: &Sight, believed: &Names) -> (Names, Names) {
        let led = self.led(name);
        if sight.erased.contains(name) {
            return Default::default();
        }
        let Some(page) = sight.pages.get(name).filter(|page| !page.answer.is_missing()) else {
            let is_kept = led.was_there && !believed.contains(name);
            return (led.possible, if is_kept { led.certain } else { Names::new() });
        };
        let links = page.all_links();
        let (possible, certain) = match &page.answer {
            Answer::Text | Answer::NoEntry => (links.clone(), links),
            Answer::CutOff => {
                let half = page.links[..page.links.len() / 2].iter();
                let half: Names = half.chain(&page.redirects).cloned().collect();
                (&led.possible | &half, &led.certain | &half)
            }
            Answer::ForNow => (&led.possible | &links, links),
            Answer::Fault(Fault::Gone | Fault::Refused(_)) => Default::default(),
            Answer::Fault(_) => (led.possible.clone(), led.certain.clone()),
        };
        match page.failing {
            0 => (possible, certain),
            _ => (&led.possible | &possible, &led.certain & &certain),
        }
    }

    fn all_leads(&self, name: &str, believed: &Names) -> (Names, Names) {
        let of = |sight| self.leads(name, sight, believed);
        let possible = self.sights.iter().flat_map(|sight| of(sight).0).collect();
        (possible, both(self.sights.iter().map(|sight| of(sight).1)))
    }

    /// Missing pages that may be believed to be gone, and those that must be.
    fn believed(&self, times: Times) -> (Names, Names) {
        let names: Names = self.sights.iter().flat_map(|sight| sight.pages.keys()).cloned().collect();
        let known = self.pages.keys().cloned().collect();
        let missing =
            (&names | &known).into_iter().filter(|name| self.sights.iter().any(|s| s.is_missing(name)));
        let mut believed = (Names::new(), Names::new());
        for name in missing {
            let since = self.led(&name).missing;
            let (may, must) = match (times, since) {
                (Some((_, to)), Some(since)) => {
                    let is_late = |at: &i64, since| at - since >= limits::MISSING_BELIEVED_MS;
                    let must =
                        since.latest.zip(times).is_some_and(|(latest, (from, _))| is_late(&from, latest));
                    let says_so = |sight: &Sight| sight.is_missing(&name) && !sight.fails(&name);
                    (is_late(&to, since.earliest), must && self.sights.iter().all(says_so))
                }
                (Some((from, to)), None) => (to - from >= limits::MISSING_BELIEVED_MS, false),
                (None, since) => (since.is_some(), false),
            };
            if must {
                believed.1.insert(name.clone());
            }
            if may || must {
                believed.0.insert(name);
            }
        }
        believed
    }

    /// What the runs have reached that met these sights.
    fn reach(&self, times: Times, is_done: bool) -> Reached {
        let (believed, surely_gone) = self.believed(times);
        let sights = &self.sights;
        let seeds = sights.iter().flat_map(|sight| sight.seeds.iter().cloned()).collect();
        let named = |sight: &Sight| sight.seeds.iter().take(sight.named).cloned().collect();
        let possible = closure(seeds, &|name| sights.iter().all(|s| s.erased.contains(name)), &|name| {
            self.all_leads(name, &believed).0
        });
        let is_closed = |name: &str| sights.iter().any(|sight| sight.erased.contains(name));
        // Where hops are counted, only `quiet` says what is there.
        let counts = sights.iter().any(|sight| !sight.hops.counts_nothing());
        let from = if counts { Names::new() } else { both(sights.iter().map(named)) };
        let certain = closure(from, &is_closed, &|name| self.all_leads(name, &believed).1);
        let hindered = self.hindered;
        Reached { sights: sights.clone(), possible, certain, believed, surely_gone, is_done, hindered }
    }

    /// What is known from here on.
    fn learn(&mut self, reached: &Reached, (from, to): (i64, i64)) {
        let leads: Vec<(String, (Names, Names))> = reached
            .possible
            .iter()
            .map(|name| (name.clone(), self.all_leads(name, &reached.believed)))
            .collect();
        for (name, (possible, certain)) in leads {
            let is_certain = reached.is_done && reached.certain.contains(&name);
            let is_missing = self.sights.iter().any(|sight| sight.is_missing(&name));
            let says_so = |sight: &Sight| sight.is_missing(&name) && !sight.fails(&name);
            let is_all_missing = self.sights.iter().all(says_so);
            let is_there = |sight: &Sight| {
                let leads_on = || sight.answer(&name) == Answer::NoEntry && sight.pages[&name].failing == 0;
                sight.readable(&name).is_some() || leads_on()
            };
            let is_there_for_sure = is_certain && self.sights.iter().all(is_there);
            let goes = reached.believed.contains(&name) || self.sights.iter().any(|s| s.goes(&name));
            let led = self.pages.entry(name).or_default();
            led.possible = if is_certain { possible } else { &led.possible | &possible };
            led.certain = if is_certain { certain } else { &led.certain & &certain };
            led.was_there = (led.was_there || is_there_for_sure) && !goes;
            led.missing = match (is_missing, led.missing) {
                (true, before) => {
                    let earliest = before.map_or(from, |before| before.earliest.min(from));
                    let latest = before.and_then(|before| before.latest);
                    let latest = latest.or(is_certain.then_some(to)).filter(|_| is_all_missing);
                    Some(Missing { earliest, latest })
                }
                (false, _) if is_certain => None,
                (false, before) => before.map(|before| Missing { latest: None, ..before }),
            };
        }
        for (name, led) in &mut self.pages {
            if !reached.certain.contains(name) {
                (led.certain, led.was_there) = (Names::new(), false);
                led.missing = led.missing.map(|missing| Missing { latest: None, ..missing });
            }
        }
    }
}

impl Sight {
    /// Whether its row may have gone, or counts as a dead link.
    fn goes(&self, name: &str) -> bool {
        self.erased.contains(name) || self.answer(name) == Answer::Fault(Fault::Gone)
    }
}

impl Reached {
    /// Whether outputs had to keep what they held of a page.
    pub(super) fn stays(&self, name: &str) -> bool {
        self.certain.contains(name)
            && !self.believed.contains(name)
            && !self.sights.iter().any(|sight| sight.may_let_go(name))
    }

    /// Whether outputs may hold something of a page.
    pub(super) fn may_be_held(&self, name: &str) -> bool {
        self.possible.contains(name)
            && !self.surely_gone.contains(name)
            && self.sights.iter().any(|sight| !sight.lets_go(name) || sight.fails(name))
    }

    /// Whether the guard counts a page that outputs have lost.
    pub(super) fn is_lost(&self, name: &str) -> bool {
        let is_gone = |sight: &Sight| sight.may_let_go(name) && !sight.erased.contains(name);
        !self.possible.contains(name) || self.surely_gone.contains(name) || self.sights.iter().all(is_gone)
    }
}

impl Readers {
    pub(super) fn back_up(&mut self) {
        self.backup = None;
        self.backup = Some(Box::new(self.clone()));
    }

    /// The store is as it was, if it was kept.
    pub(super) fn restore(&mut self) {
        if let Some(backup) = self.backup.clone() {
            *self = Readers { backup: Some(backup.clone()), ..*backup };
        }
    }

    /// What the runs of a job have reached in the last step.
    pub(super) fn reached(&self, job: &str) -> Option<&Reached> {
        self.of.get(job)?.reached.as_ref()
    }
}

impl Play {
    fn sites(&self) -> Vec<Job> {
        self.live_jobs().into_iter().filter(is_over_a_site).collect()
    }

    /// The site as a job meets it now: what waits for events that are pending now may not be visited, like a page that fails.
    pub(super) fn sight(&self, job: &Job) -> Sight {
        let is_pending = !self.events().is_empty();
        site(&self.world, |site| {
            let met = |page: &Page| {
                let waits = !page.after.is_empty() || page.begins.is_some() || !page.again.is_empty();
                Page { failing: page.failing.max(u32::from(waits && is_pending)), ..page.clone() }
            };
            let erased = site.pages.keys().chain(&site.seeds);
            Sight {
                erased: erased.filter(|name| self.erased.is_erased(&job.name, name)).cloned().collect(),
                pages: site.pages.iter().map(|(name, page)| (name.clone(), met(page))).collect(),
                seeds: site.seeds.clone(),
                named: site.seeding_fails_after.unwrap_or(usize::MAX),
                hops: job.definition.hops.clone(),
            }
        })
    }

    /// What readers see before a step.
    pub(super) fn before_reading(&self) -> BeforeReading {
        let jobs = self.sites().into_iter().map(|job| (job.name.clone(), (job.run, self.sight(&job))));
        let sound = self.world.shelves.values().all(|shelf| locked(shelf).is_sound());
        BeforeReading { jobs: jobs.collect(), at: self.world.clock.now(), sound }
    }

    /// Readers go along with the runs of a step.
    pub(super) fn read(&mut self, before: BeforeReading, word: &str) {
        for job in self.sites() {
            let sight = self.sight(&job);
            let last = self.world.engine().reader.read(|sql| runs::list(sql, job.id, 1));
            let last = last.expect("the store answers").into_iter().next();
            let reader = self.readers.of.entry(job.name.clone()).or_default();
            if reader.job != job.id.0 {
                *reader = Reader { job: job.id.0, ..Reader::default() };
            }
            reader.reached = None;
            let was = before.jobs.get(&job.name);
            // The steps within bring readers along themselves; and a store that is put back has no new runs.
            if matches!(word, "quiet" | "restore") || was.is_none_or(|(run, _)| *run == job.run) {
                continue;
            }
            reader.sights.extend(was.map(|(_, sight)| sight.clone()));
            reader.sights.push(sight);
            reader.hindered |= !before.sound;
            // One that has looked at a part of it alone says nothing of the rest.
            let is_done =
                last.is_some_and(|run| run.outcome == Some(RunOutcome::Done) && run.kind == RunKind::Full);
            let times = (before.at, self.world.clock.now());
            let reached = reader.reach(Some(times).filter(|_| !self.clock_was_set_back), is_done);
            reader.learn(&reached, times);
            if is_done {
                (reader.sights, reader.hindered) = (Vec::new(), false);
            }
            reader.reached = Some(reached);
        }
    }
}
