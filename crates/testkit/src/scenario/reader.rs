//! A naive reader for each job over a site: what a run may have reached of it, and what it must have.
//!
//! It hears what the site is before and after each step, and how runs end; never what the store has. A run that does not come to its end
//! may have visited any page, and the next one goes on with it: what such runs have met is what the site was at any of them.

use std::collections::BTreeMap;

use ingather_contract::call::Clock as _;
use ingather_model::fault::Fault;
use ingather_model::job::RunKind;
use ingather_model::job::schedule::Schedule;
use ingather_model::lifecycle::outcome::RunOutcome;
use ingather_model::limits;
use ingather_store::jobs::Job;
use ingather_store::runs;

use super::Play;
use super::sight::{Bounds, Links, Names, Sight, Times, half_links, links};
use crate::memory_output::locked;
use crate::script_repository::site::{Answer, Page};
use crate::together::site::{WEB, site};

/// For sure, and perhaps.
type Both<T> = (T, T);

/// What all readers know.
#[derive(Clone, Debug, Default)]
pub(super) struct Readers {
    of: BTreeMap<String, Reader>,
    /// Pages whose visits were ever said to wait for events, or to come again.
    waits: Names,
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
    /// When the first of them was.
    since: i64,
    /// One of these runs went by dates, and did not visit what it reached before its date had come.
    rests: bool,
    /// One of them asked no seeds, or looked at what is new alone.
    is_partial: bool,
    /// An output has hindered one of these runs: what failed by that is not visited by those that go on with it.
    hindered: bool,
    /// What the runs of the last step have reached; none where there were none.
    reached: Option<Reached>,
}

/// Where a page led when it was visited last.
#[derive(Clone, Debug, Default)]
struct Led {
    certain: Links,
    possible: Links,
    /// What it may hand down.
    hands: Names,
    /// It is looked at again then at the latest, where that is known.
    due: Option<i64>,
    /// It may have said when it expires, or its job did.
    may_expire: bool,
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
    /// Pages that they cannot have reached, and that may have expired by what an earlier visit of them told.
    expiring: Names,
    /// What pages are handed: for sure, and perhaps.
    pub(super) handed: Both<BTreeMap<String, Names>>,
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
    /// In which process it was.
    process: u64,
    /// No output refuses anything.
    sound: bool,
}

pub(super) fn is_over_a_site(job: &Job) -> bool {
    job.definition.repository == WEB
}

fn both(sets: impl Iterator<Item = Names>) -> Names {
    sets.reduce(|all, one| all.intersection(&one).cloned().collect()).unwrap_or_default()
}

impl Reader {
    fn led(&self, name: &str) -> Led {
        self.pages.get(name).cloned().unwrap_or_default()
    }

    /// Where a page leads as one sight has it: perhaps, and for sure.
    fn leads(&self, name: &str, sight: &Sight, believed: &Names) -> (Links, Links) {
        let led = self.led(name);
        if sight.erased.contains(name) {
            return Default::default();
        }
        let Some(page) = sight.pages.get(name).filter(|page| !page.answer.is_missing()) else {
            let is_kept = led.was_there && !believed.contains(name);
            return (led.possible, if is_kept { led.certain } else { Links::new() });
        };
        let links = links(page);
        let (possible, certain) = match &page.answer {
            Answer::Text | Answer::NoEntry => (links.clone(), links),
            Answer::CutOff => {
                let half = half_links(page, page.links.len() / 2);
                (&led.possible | &half, &led.certain | &half)
            }
            Answer::ForNow | Answer::InPlace(..) => (&led.possible | &links, links),
            Answer::Fault(Fault::Gone | Fault::Refused(_)) => Default::default(),
            Answer::Fault(_) => (led.possible.clone(), led.certain.clone()),
        };
        match page.failing {
            0 if sight.waits.contains(name) => (&led.possible | &possible, certain),
            0 => (possible, certain),
            _ => (&led.possible | &possible, &led.certain & &certain),
        }
    }

    fn all_leads(&self, name: &str, (sights, believed): (&[Sight], &Names)) -> (Links, Links) {
        let of = |sight| self.leads(name, sight, believed);
        let possible = sights.iter().flat_map(|sight| of(sight).0).collect();
        let certain = sights.iter().map(|sight| of(sight).1);
        let certain = certain.reduce(|all, one| all.intersection(&one).cloned().collect());
        (possible, certain.unwrap_or_default())
    }

    /// What a page hands down: for sure, and perhaps.
    fn hands(&self, name: &str, sights: &[Sight]) -> Both<Names> {
        let now = |sight: &Sight| sight.pages.get(name).map(|page| page.hands.clone()).unwrap_or_default();
        let is_certain =
            sights.iter().all(|sight| sight.is_read_to_its_end(name) && !sight.erased.contains(name));
        let certain = if is_certain { both(sights.iter().map(now)) } else { Names::new() };
        (certain, self.led(name).hands.into_iter().chain(sights.iter().flat_map(now)).collect())
    }

    /// Missing pages that may be believed to be gone, and those that must be.
    fn believed(&self, sights: &[Sight], times: Times) -> (Names, Names) {
        let names: Names = sights.iter().flat_map(|sight| sight.pages.keys()).cloned().collect();
        let known = self.pages.keys().cloned().collect();
        let missing = (&names | &known).into_iter().filter(|name| sights.iter().any(|s| s.is_missing(name)));
        let mut believed = (Names::new(), Names::new());
        for name in missing {
            let since = self.led(&name).missing;
            let (may, must) = match (times, since) {
                (Some((_, to)), Some(since)) => {
                    let is_late = |at: &i64, since| at - since >= limits::MISSING_BELIEVED_MS;
                    let must =
                        since.latest.zip(times).is_some_and(|(latest, (from, _))| is_late(&from, latest));
                    let says_so = |sight: &Sight| sight.is_missing(&name) && !sight.fails(&name);
                    (is_late(&to, since.earliest), must && sights.iter().all(says_so))
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

    /// The site as these runs have met it for sure: what waits for its date, or has expired, is said of it.
    fn dated_sights(&self, times: Times) -> Vec<Sight> {
        let seeds = both(self.sights.iter().map(Sight::named_seeds));
        let is_visited = |name: &str| {
            let is_due = |(from, _): (i64, i64)| self.led(name).due.is_some_and(|due| due <= from);
            let is_asked = seeds.contains(name) && !self.is_partial;
            is_asked || !self.pages.contains_key(name) || times.is_some_and(is_due)
        };
        let sights = self.sights.iter().cloned().map(|mut sight| {
            if self.rests || self.is_partial && sight.rules.is_some() {
                sight.fail(&|name| !is_visited(name));
            }
            sight.age(times, &|name| self.led(name).may_expire);
            sight
        });
        sights.collect()
    }

    /// What the runs have reached that met these sights.
    fn reach(&self, times: Times, is_done: bool) -> Reached {
        let sights = self.dated_sights(times);
        let (believed, surely_gone) = self.believed(&sights, times);
        let seeds = sights.iter().flat_map(|sight| sight.seeds.iter().cloned()).collect();
        let is_erased = |name: &str| sights.iter().all(|sight| sight.erased.contains(name));
        let leads = |name: &str| self.all_leads(name, (&sights, &believed));
        let possible = Bounds::widest(sights.iter()).within(seeds, &is_erased, &|name| leads(name).0);
        let is_closed = |name: &str| sights.iter().any(|sight| sight.erased.contains(name));
        let seeds = both(sights.iter().map(Sight::named_seeds));
        let certain = Bounds::narrowest(sights.iter()).within(seeds, &is_closed, &|name| leads(name).1);
        let mut handed: Both<BTreeMap<String, Names>> = Default::default();
        // Where not all seeds are named, what was reached by others stays, and hands down what it did, to whom it led: nobody has asked what
        // it says now.
        let names_all = sights.iter().all(|sight| sight.named > sight.seeds.len());
        let others = self.pages.keys().filter(|name| !names_all && !possible.contains(*name));
        for name in possible.iter().chain(others) {
            let (mut leads, hands) = (leads(name), self.hands(name, &sights));
            if !possible.contains(name) {
                leads.0.extend(self.led(name).possible);
            }
            for (_, to) in leads.0 {
                handed.1.entry(to).or_default().extend(hands.1.iter().cloned());
            }
            for (_, to) in leads.1.into_iter().filter(|_| certain.contains(name)) {
                handed.0.entry(to).or_default().extend(hands.0.iter().cloned());
            }
        }
        let hindered = self.hindered;
        let expires = |(name, led): &(&String, &Led)| led.may_expire && !possible.contains(*name);
        let expiring = self.pages.iter().filter(expires).map(|(name, _)| name.clone()).collect();
        Reached { sights, possible, certain, believed, surely_gone, expiring, handed, is_done, hindered }
    }

    /// What is known from here on.
    fn learn(&mut self, reached: &Reached, (from, to): (i64, i64)) {
        let sights = &reached.sights;
        // By their last visits, which are over.
        let visited: Vec<Sight> =
            sights.iter().cloned().map(|sight| Sight { waits: Names::new(), ..sight }).collect();
        let known = |name: &String| {
            let leads = self.all_leads(name, (&visited, &reached.believed));
            (name.clone(), leads, self.hands(name, sights).1)
        };
        let known: Vec<(String, (Links, Links), Names)> = reached.possible.iter().map(known).collect();
        for (name, (possible, certain), hands) in known {
            let due = self.due(&name, reached, to);
            let is_certain = reached.is_done && reached.certain.contains(&name);
            let is_missing = sights.iter().any(|sight| sight.is_missing(&name));
            let says_so = |sight: &Sight| sight.is_missing(&name) && !sight.fails(&name);
            let is_all_missing = sights.iter().all(says_so);
            let is_there = |sight: &Sight| {
                let leads_on = || sight.answer(&name) == Answer::NoEntry && sight.pages[&name].failing == 0;
                sight.readable(&name).is_some() || leads_on()
            };
            let is_there_for_sure = is_certain && sights.iter().all(is_there);
            let goes = reached.believed.contains(&name) || sights.iter().any(|s| s.goes(&name));
            let led = self.pages.entry(name.clone()).or_default();
            led.possible = if is_certain { possible } else { &led.possible | &possible };
            led.certain = if is_certain { certain } else { &led.certain & &certain };
            // What could not be read to its end, or is not there for now, hands down what it did before.
            let is_read = is_certain && sights.iter().all(|sight| sight.is_read_to_its_end(&name));
            led.hands = if is_read {
                sights
                    .iter()
                    .filter_map(|sight| sight.pages.get(&name))
                    .flat_map(|page| page.hands.clone())
                    .collect()
            } else {
                hands
            };
            led.may_expire |=
                sights.iter().any(|sight| sight.may_have_expired(&name) || sight.can_expire(&name));
            led.due = due;
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
                (led.certain, led.was_there) = (Links::new(), false);
                led.missing = led.missing.map(|missing| Missing { latest: None, ..missing });
            }
        }
    }

    /// When a page is looked at again at the latest, whether it was looked at until now or its date had not come.
    fn due(&self, name: &str, reached: &Reached, now: i64) -> Option<i64> {
        let is_read = |sight: &Sight| sight.readable(name).is_some() && !sight.can_expire(name);
        let is_met = reached.is_done && !reached.hindered && reached.certain.contains(name);
        // As the site was, whatever was to be visited of it.
        if !(is_met && self.sights.iter().all(is_read)) || self.led(name).may_expire {
            return None;
        }
        let by = self.sights.iter().map(|sight| sight.looked_at_by(name, now));
        let by = by.collect::<Option<Vec<i64>>>()?.into_iter().max()?;
        match reached.sights.iter().any(|sight| sight.fails(name)) {
            false => Some(by),
            true => self.led(name).due.map(|due| due.max(by)),
        }
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
        // What expires goes because its job says so, and is not counted.
        if self.expiring.contains(name) || self.sights.iter().any(|sight| sight.may_have_expired(name)) {
            return false;
        }
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

    /// The site as a job meets it now.
    fn sight(&self, job: &Job) -> Sight {
        let is_continuous = job.definition.schedule == Some(Schedule::Continuous);
        site(&self.world, |site| {
            let erased = site.pages.keys().chain(&site.seeds);
            Sight {
                erased: erased.filter(|name| self.erased.is_erased(&job.name, name)).cloned().collect(),
                pages: site.pages.clone(),
                seeds: site.seeds.clone(),
                named: site.seeding_fails_after.unwrap_or(usize::MAX),
                hops: job.definition.hops.clone(),
                rules: is_continuous.then_some(job.definition.dates),
                ..Sight::default()
            }
        })
    }

    /// The same, of a job that has looked at everything just now.
    pub(super) fn sight_at_rest(&self, job: &Job) -> Sight {
        let (mut sight, now) = (self.sight(job), self.world.clock.now());
        sight.age(Some((now, now)), &|_| false);
        sight
    }

    /// What readers see before a step.
    pub(super) fn before_reading(&mut self) -> BeforeReading {
        let waits = |page: &Page| !(page.after.is_empty() && page.again.is_empty()) || page.begins.is_some();
        let waiting: Names = site(&self.world, |site| {
            let waiting = site.pages.iter().filter(|(_, page)| waits(page));
            waiting.map(|(name, _)| name.clone()).collect()
        });
        self.readers.waits.extend(waiting);
        let jobs = self.sites().into_iter().map(|job| (job.name.clone(), (job.run, self.sight(&job))));
        let sound = self.world.shelves.values().all(|shelf| locked(shelf).is_sound());
        let (at, process) = (self.world.clock.now(), self.world.processes);
        BeforeReading { jobs: jobs.collect(), at, process, sound }
    }

    /// Readers go along with the runs of a step.
    pub(super) fn read(&mut self, before: BeforeReading, (word, rest): (&str, &str)) {
        // A run visits what waits for events, unless one is pending at its end, which another process does not know. Of several runs one may have
        // ended before it was completed.
        let is_known = before.process == self.world.processes && word == "run";
        let may_wait = !(is_known && self.events().is_empty());
        let is_pass = word == "run" && rest.split(' ').any(|word| word == "pass");
        for job in self.sites() {
            let sight = self.sight(&job);
            let last = self.world.engine().reader.read(|sql| runs::list(sql, job.id, 1));
            let last = last.expect("the store answers").into_iter().next();
            let Readers { of, waits, .. } = &mut self.readers;
            let reader = of.entry(job.name.clone()).or_default();
            if reader.job != job.id.0 {
                *reader = Reader { job: job.id.0, ..Reader::default() };
            }
            reader.reached = None;
            let was = before.jobs.get(&job.name);
            // The steps within bring readers along themselves; and a store that is put back has no new runs.
            if matches!(word, "quiet" | "restore") || was.is_none_or(|(run, _)| *run == job.run) {
                continue;
            }
            if reader.sights.is_empty() {
                (reader.since, reader.rests, reader.is_partial) = (before.at, false, false);
            }
            reader.is_partial |= last.as_ref().is_none_or(|run| run.kind == RunKind::Minimal);
            reader.rests |= is_pass && sight.rules.is_some();
            for mut sight in was.map(|(_, sight)| sight.clone()).into_iter().chain([sight]) {
                if may_wait {
                    sight.fail(&|name| waits.contains(name));
                }
                sight.waits.clone_from(waits);
                reader.sights.push(sight);
            }
            reader.hindered |= !before.sound;
            // One that has looked at a part of it alone says nothing of the rest.
            let is_done =
                last.is_some_and(|run| run.outcome == Some(RunOutcome::Done) && run.kind == RunKind::Full);
            let times = (before.at, self.world.clock.now());
            let all_times = Some((reader.since, times.1)).filter(|_| !self.clock_was_set_back);
            let reached = reader.reach(all_times, is_done);
            reader.learn(&reached, times);
            if is_done {
                (reader.sights, reader.hindered) = (Vec::new(), false);
            }
            reader.reached = Some(reached);
        }
    }
}
