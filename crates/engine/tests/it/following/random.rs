//! Random sites beside a naive reader, with processes that die at any read.

use std::collections::{BTreeMap, BTreeSet};

use ingather_model::fault::Fault;
use ingather_testkit::database::Kind;
use ingather_testkit::script_repository::site::{Answer, Page, Site};
use ingather_testkit::together::site::{site, world_of_a_site};
use ingather_testkit::world::FULL;

use super::held;

/// Numbers that look drawn.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % sides
    }
}

/// What a naive reader of the site knows: texts that are to be held, and where pages led when they were visited last.
#[derive(Default)]
struct Naive {
    texts: BTreeMap<String, String>,
    led: BTreeMap<String, BTreeSet<String>>,
    /// Pages that have ever answered, as far as they are known still: where they are missing, that is not believed within the hour.
    answered: BTreeSet<String>,
}

/// What becomes of a page that names another one in its place.
enum Fate {
    Goes,
    Stays,
    /// One of these is read as a page of its own.
    Alone(Vec<String>),
}

impl Naive {
    /// What becomes of it, where these pages name others, each with a text of its own or without.
    fn fate(&self, site: &Site, named: &BTreeMap<String, (String, bool)>, page: &str) -> Fate {
        let mut way = vec![page.to_owned()];
        while let Some((other, _)) = named.get(way.last().unwrap()) {
            if let Some(at) = way.iter().position(|name| name == other) {
                let with_text: Vec<String> =
                    way[at..].iter().filter(|name| named[*name].1).cloned().collect();
                return if with_text.is_empty() { Fate::Stays } else { Fate::Alone(with_text) };
            }
            way.push(other.clone());
        }
        let end = way.pop().unwrap();
        let nearest = way.into_iter().rev().find(|name| named[name].1);
        match site.pages.get(&end).map(|page| &page.answer) {
            _ if self.texts.contains_key(&end) => Fate::Goes,
            None if self.answered.contains(&end) => Fate::Stays,
            None | Some(Answer::NoEntry | Answer::ForNow | Answer::Fault(Fault::Gone)) => {
                nearest.map_or(Fate::Goes, |name| Fate::Alone(vec![name]))
            }
            _ => Fate::Stays,
        }
    }

    /// Decides about all pages that name others. Of a circle any one may be the first: the one that is held.
    fn settle(&mut self, site: &Site, reached: &BTreeSet<String>, held: &BTreeMap<String, String>) {
        let named = reached.iter().filter_map(|name| match &site.pages.get(name)?.answer {
            Answer::InPlace(to, has_text) => Some((name.clone(), (to.clone(), *has_text))),
            _ => None,
        });
        let mut named: BTreeMap<String, (String, bool)> = named.collect();
        loop {
            let fates: Vec<(String, Fate)> =
                named.keys().map(|name| (name.clone(), self.fate(site, &named, name))).collect();
            let mut alone = BTreeSet::new();
            for (name, fate) in &fates {
                if let Fate::Alone(any) = fate {
                    let is_held = |name: &&String| held.get(*name) == Some(&site.pages[*name].text);
                    let mut first: Vec<&String> = any.iter().filter(is_held).collect();
                    assert!(
                        first.len() == 1,
                        "one of {any:?} stands for {name}, and {held:?} are held: {:#?}",
                        site.pages
                    );
                    alone.extend(first.pop().cloned());
                }
            }
            for name in &alone {
                named.remove(name);
                self.texts.insert(name.clone(), site.pages[name].text.clone());
                self.led.insert(name.clone(), site.pages[name].all_links());
            }
            if alone.is_empty() {
                let goes = fates.iter().filter(|(_, fate)| matches!(fate, Fate::Goes));
                goes.for_each(|(name, _)| drop(self.texts.remove(name)));
                return;
            }
        }
    }

    fn run(&mut self, site: &Site, held: &BTreeMap<String, String>) {
        let mut reached: BTreeSet<String> = site.seeds.iter().cloned().collect();
        let mut left: Vec<String> = site.seeds.clone();
        while let Some(name) = left.pop() {
            let before = self.led.get(&name).cloned().unwrap_or_default();
            let page = site.pages.get(&name);
            let now: BTreeSet<String> = page.map(Page::all_links).unwrap_or_default();
            let leads = match page.map(|page| &page.answer) {
                None => before,
                Some(Answer::Text) => {
                    self.texts.insert(name.clone(), page.unwrap().text.clone());
                    now
                }
                Some(Answer::NoEntry) => {
                    self.texts.remove(&name);
                    now
                }
                // What is held may stay, and leads where it led.
                Some(Answer::InPlace(..)) if self.texts.contains_key(&name) => {
                    before.union(&now).cloned().collect()
                }
                Some(Answer::InPlace(..)) => now,
                // Within the hour: what is held stays, and so do the links.
                Some(Answer::ForNow) => before.union(&now).cloned().collect(),
                Some(Answer::CutOff) => {
                    self.texts.insert(name.clone(), page.unwrap().text.clone());
                    let links = &page.unwrap().links;
                    before.union(&links[..links.len() / 2].iter().cloned().collect()).cloned().collect()
                }
                Some(Answer::Fault(Fault::Gone)) => {
                    self.texts.remove(&name);
                    BTreeSet::new()
                }
                Some(Answer::Fault(_)) => before,
            };
            match page.map(|page| &page.answer) {
                None => {}
                Some(Answer::Fault(Fault::Gone)) => drop(self.answered.remove(&name)),
                Some(_) => drop(self.answered.insert(name.clone())),
            }
            left.extend(leads.iter().filter(|name| reached.insert((*name).clone())).cloned());
            self.led.insert(name, leads);
        }
        self.texts.retain(|name, _| reached.contains(name));
        self.settle(site, &reached, held);
        self.led.retain(|name, _| reached.contains(name));
        self.answered.retain(|name| reached.contains(name));
    }
}

fn change(dice: &mut Dice, site: &mut Site, round: u64) {
    for _ in 0..dice.roll(6) {
        let name = format!("h{}/{}", dice.roll(2), dice.roll(7));
        let links = (0..dice.roll(4)).map(|_| format!("h{}/{}", dice.roll(2), dice.roll(7))).collect();
        let text = format!("{name} {round} {}", dice.roll(3));
        let other = format!("h{}/{}", dice.roll(2), dice.roll(7));
        let answer = match dice.roll(12) {
            9 | 10 if other != name => Answer::InPlace(other.clone(), true),
            11 if other != name => Answer::InPlace(other.clone(), false),
            0 => Answer::NoEntry,
            1 => Answer::CutOff,
            8 => Answer::ForNow,
            2 => Answer::Fault(Fault::Gone),
            3 => Answer::Fault(Fault::broken("html", "it is no page")),
            4 => Answer::Fault(Fault::passing_soon("away", "the server is away", 2)),
            _ => Answer::Text,
        };
        let redirects = if matches!(answer, Answer::InPlace(..)) { vec![other] } else { Vec::new() };
        match dice.roll(5) {
            0 => drop(site.pages.remove(&name)),
            1 => (site.page(&name).answer, site.page(&name).redirects) = (answer, redirects),
            _ => drop(site.pages.insert(name, Page { text, links, redirects, answer, ..Page::default() })),
        }
    }
    site.forgetful = dice.roll(4) == 0;
}

/// Sites that change at random, whose pages fail, are cut off, are missing, or gone, and processes that die at any read.
#[test]
fn random_sites_are_held_as_a_naive_reader_has_them() {
    for seed in 1..=80_u64 {
        let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let mut world = world_of_a_site(if seed % 20 == 0 { Kind::Postgres } else { Kind::Sqlite });
        let mut naive = Naive::default();
        site(&world, |site| site.seeds = vec!["h0/0".to_owned(), "h1/1".to_owned()]);
        for round in 0..6 {
            site(&world, |site| change(&mut dice, site, round));
            let dies = dice.roll(3) == 0;
            if dies {
                world.crash.arm("before read", 1 + dice.roll(8));
                drop(world.run("docs", FULL));
                world.reopen();
                // The run that goes on with it does not ask again about pages that name others and were never held.
                world.run("docs", FULL).unwrap();
            }
            // Within the hour: what is missing is never believed.
            world.run("docs", FULL).unwrap();
            let held = held(&world);
            site(&world, |site| (0..1 + u8::from(dies)).for_each(|_| naive.run(site, &held)));
            if held != naive.texts {
                let pages = site(&world, |site| {
                    format!("{:#?}\n{:?} {:?}", site.pages, site.visited, site.forgetful)
                });
                panic!(
                    "seed {seed}, round {round}: {pages}\n{:?}\n{:#?}\n{:?}\n{:?}",
                    world.documents("docs"),
                    naive.led,
                    held,
                    naive.texts
                );
            }
        }
    }
}
